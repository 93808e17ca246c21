"""Calls in other processes: `vlad.map`, gradients over data, `parallel-map`."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import vlad
from vlad import Limits, Session, VladError
from vlad.session import parallel
from vlad.session.executors import Processes, executor_of
from vlad.session.parallel import _Sum

pytestmark = pytest.mark.any_compiler

TEXT = """
(define (root a) (let loop ((i 0) (x a)) (if (= i 30) x (loop (+ i 1) (- x (* 0.1 (- (* x x) a)))))))
(define (scaled a x) (* a (sin (* a x))))
(define-record-type point (make-point x y) point? (x point-x) (y point-y))
"""


class Inline:
    """An executor that calls at once, with arguments and results that have travelled, and counts bytes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def submit(self, work: Callable[..., Any], *operands: Any) -> Future[Any]:
        packed = pickle.dumps((work, operands))
        self.sizes.append(len(packed))
        future: Future[Any] = Future()
        again, given = pickle.loads(packed)
        try:
            future.set_result(pickle.loads(pickle.dumps(again(*given))))
        except Exception as error:
            future.set_exception(error)
        return future


class ByMap:
    """An executor that has `map` only."""

    def map(self, work: Callable[..., Any], tasks: Any) -> Iterator[Any]:
        return map(work, tasks)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session() as one:
        one.eval(TEXT)
        yield one


@vlad.function
def settled(x, start=1.0, steps=20):
    y = start
    for _ in range(steps):
        y = y - 0.1 * (y * y - x)
    return y


@vlad.function
def misfit(w, x, y):
    return ((x @ w - y) ** 2).mean()


class TestMap:
    @pytest.mark.parametrize("kind", ["processes", "pool", "threads", "inline", "map"])
    def test_results_have_the_bits_of_a_serial_run(self, session: Session, kind: str) -> None:
        items = [0.5 + number / 4 for number in range(40)]
        made = {"pool": lambda: ProcessPoolExecutor(2), "threads": lambda: ThreadPoolExecutor(3)}
        executor = {"processes": 2, "inline": Inline(), "map": ByMap()}.get(kind) or made[kind]()
        for f in (session["root"], vlad.grad(session["root"]), settled, vlad.grad(settled, "x")):
            expected = [f(item) for item in items]
            assert vlad.map(f, items) == expected
            for chunks in (1, 7, 100):
                assert vlad.map(f, items, executor=executor, chunks=chunks) == expected
        if not isinstance(executor, int | Inline | ByMap):
            executor.shutdown()

    def test_several_arguments_and_any_values(self, session: Session) -> None:
        f = session.eval("(lambda (x y) (list x y 'a #t (lambda (z) (* x z))))")
        (x, y, *others, g), _ = vlad.map(f, [1.0, 2.0], [np.ones(2), "text"], executor=Inline())
        assert (x, y.tolist(), others, g(5.0)) == (1.0, [1.0, 1.0], ["a", True], 5.0)

    def test_a_plain_python_function(self) -> None:
        def square(x):
            return x * x

        assert vlad.map(square, [1.0, 2.0], executor=Inline()) == [1.0, 4.0]

    def test_nothing_to_do(self, session: Session) -> None:
        assert vlad.map(session["root"], [], executor=Inline()) == []

    @pytest.mark.parametrize("executor", [None, 2, Inline()])
    def test_the_first_error_in_order_with_its_item(self, session: Session, executor: Any) -> None:
        f = session.eval('(lambda (x) (if (> x 3) (error "too large:" x) x))')
        with pytest.raises(VladError, match="too large: 4") as caught:
            vlad.map(f, [float(number) for number in range(10)], executor=executor, chunks=4)
        assert caught.value.__notes__ == ["in item 4 of vlad.map"]
        assert str(caught.value).startswith(
            "<expression>:1:25: Error: too large: 4\n    1 | (lambda (x) (if (> x 3) (error"
        )

    def test_progress_counts_items(self, session: Session) -> None:
        seen: list[tuple[int, int]] = []
        vlad.map(
            session["root"], [1.0] * 10, executor=Inline(), chunks=3, progress=lambda *now: seen.append(now)
        )
        assert seen == [(3, 10), (6, 10), (10, 10)]

    def test_a_procedure_travels_once_a_part(self, session: Session) -> None:
        big = session.eval("(let ((w (ones 10000))) (lambda (x) (* x (sum w))))")
        executor = Inline()
        vlad.map(big, [1.0] * 100, executor=executor, chunks=4)
        assert len(executor.sizes) == 4

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"executor": "none"}, "The executor"),
            ({"executor": 0}, "The executor"),
            ({"executor": object()}, "The executor"),
            ({"chunks": 0}, "chunks"),
            ({"chunks": 1.5}, "chunks"),
        ],
    )
    def test_wrong_options(self, session: Session, given: dict[str, Any], message: str) -> None:
        with pytest.raises(VladError, match=message) as caught:
            vlad.map(session["root"], [1.0], **given)
        assert caught.value.code == "invalid-argument"

    def test_iterables_of_two_lengths(self, session: Session) -> None:
        with pytest.raises(VladError, match="have 1 and 2 items"):
            vlad.map(session["scaled"], [1.0], [1.0, 2.0])


class TestWorkers:
    def test_limits_hold_in_them(self) -> None:
        with Session(limits=Limits(fuel=1000), tier="evaluate") as limited:
            f = limited.eval("(lambda (n) (let loop ((i 0)) (if (< i n) (loop (+ i 1)) i)))")
            assert vlad.map(f, [10.0], executor=Inline()) == [10.0]
            with pytest.raises(vlad.LimitExceeded):
                vlad.map(f, [1e6], executor=Inline())

    def test_capabilities_do_not_grow_in_them(self, tmp_path: Path) -> None:
        (tmp_path / "secret.csv").write_text("1,2\n")
        with Session.confined() as confined:
            f = confined.eval("(lambda (path) (load-csv path))")
            with pytest.raises(VladError) as caught:
                vlad.map(f, [str(tmp_path / "secret.csv")], executor=Inline())
        assert caught.value.code == "not-permitted"

    def test_a_lost_process_is_replaced(self, session: Session, tmp_path: Path) -> None:
        """All workers are killed after the first part, as for want of memory."""
        killed = tmp_path / "killed"

        def progress(done: int, of: int) -> None:
            if not killed.exists():
                killed.touch()
                for child in multiprocessing.active_children():
                    os.kill(child.pid or 0, signal.SIGKILL)

        items = [float(number) for number in range(200)]
        executor = Processes(2)
        found = vlad.map(settled, items, executor=executor, chunks=50, progress=progress)
        assert killed.exists()
        assert found == [settled(item) for item in items]
        executor.stop()

    def test_a_pool_that_is_broken_is_an_error(self, session: Session) -> None:
        with ProcessPoolExecutor(1) as pool:
            pid = pool.submit(os.getpid).result()
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(VladError) as caught:
                for _ in range(100):
                    vlad.map(session["root"], [1.0] * 8, executor=pool)
                    time.sleep(0.05)
        assert caught.value.code == "lost-worker"

    def test_what_is_interrupted_ends_everywhere(self, session: Session) -> None:
        executor = Processes(2)
        endless = session.eval("(lambda (x) (let loop ((i 0)) (if (< i 1e18) (loop (+ i x)) i)))")
        process = os.getpid()
        alarm = threading.Timer(0.7, lambda: os.kill(process, signal.SIGINT))
        alarm.start()
        with pytest.raises(KeyboardInterrupt):
            vlad.map(endless, [1.0] * 8, executor=executor)
        alarm.join()
        assert vlad.map(session["root"], [2.0], executor=executor) == [session["root"](2.0)]
        executor.stop()

    def test_a_number_of_processes_is_one_pool(self) -> None:
        assert executor_of(3) is executor_of(3)


class Model(NamedTuple):
    weights: Any
    bias: float


@dataclass(frozen=True)
class Line:
    slope: float
    level: float


class TestOverData:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(53, 4))
    y = x @ np.arange(4.0)

    def test_it_is_the_gradient_over_all_rows(self) -> None:
        w = np.ones(4)
        value, gradient = vlad.value_and_grad(misfit, "w")(w, self.x, self.y)
        found = vlad.value_and_grad(misfit, data=(self.x, self.y), reduce="mean", chunks=7)(w)
        assert np.isclose(found[0], value, rtol=1e-14) and np.allclose(found[1], gradient, rtol=1e-13)

    def test_equal_bits_for_any_number_of_workers(self) -> None:
        w, results = np.linspace(0.0, 1.0, 4), []
        for executor in (None, 1, 2, 3, Inline(), ByMap()):
            g = vlad.value_and_grad(misfit, data=(self.x, self.y), reduce="mean", chunks=7, executor=executor)
            results += [g(w), g(w)]
        assert len({(value, gradient.tobytes()) for value, gradient in results}) == 1

    def test_the_data_travel_once(self) -> None:
        executor = Inline()
        g = vlad.value_and_grad(misfit, data=(self.x, self.y), reduce="mean", chunks=4, executor=executor)
        first = g(np.ones(4))
        assert g(np.ones(4))[0] == first[0]
        before, after = executor.sizes[:4], executor.sizes[4:]
        assert len(after) == 4 and sum(before) - sum(after) > self.x.nbytes

    def test_a_worker_that_has_lost_the_data_gets_them_again(self) -> None:
        g = vlad.value_and_grad(misfit, data=(self.x, self.y), reduce="mean", chunks=4, executor=Inline())
        first = g(np.ones(4))
        parallel._parts.clear()
        assert g(np.ones(4))[0] == first[0]

    @pytest.mark.parametrize("executor", [None, Inline()])
    def test_any_structure_of_parameters(self, executor: Any) -> None:
        def of_model(model, x):
            return ((x @ model.weights + model.bias) ** 2).sum()

        def of_line(line, scale, x):
            return sum([(line.slope * one + line.level) * scale["by"] for one in x])

        model = Model(np.ones(4), 0.5)
        value, slope = vlad.value_and_grad(of_model, data=self.x, reduce="sum", executor=executor)(model)
        expected = vlad.value_and_grad(of_model, 0)(model, self.x)
        assert type(slope) is Model and np.isclose(value, expected[0])
        assert np.allclose(slope.weights, expected[1].weights) and np.isclose(slope.bias, expected[1].bias)
        numbers = [1.0, 2.0, 3.0, 4.0, 5.0]
        over = vlad.value_and_grad(of_line, data=numbers, reduce="sum", chunks=2, executor=executor)
        assert over(Line(2.0, 1.0), {"by": 3.0}) == (105.0, (Line(45.0, 15.0), {"by": 35.0}))
        by_one = vlad.value_and_grad(of_line, 1, data=numbers, reduce="sum", chunks=2, executor=executor)
        assert by_one(Line(2.0, 1.0), {"by": 3.0}) == (105.0, {"by": 35.0})

    @pytest.mark.parametrize(
        ("data", "reduce", "message"),
        [
            (np.ones(3), None, "reduce"),
            ((np.ones(3), np.ones(2)), "sum", "2 and 3 rows"),
            (np.ones(0), "sum", "0 rows"),
            (1.0, "sum", "The data contain"),
        ],
    )
    def test_wrong_data(self, data: Any, reduce: Any, message: str) -> None:
        with pytest.raises(VladError, match=message):
            vlad.value_and_grad(misfit, data=data, reduce=reduce)

    @pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 100])
    def test_sums_are_a_tree_of_few_sums(self, count: int) -> None:
        total = _Sum[str](lambda a, b: f"({a}{b})")
        for number in range(count):
            total.add(chr(97 + number % 26))
            assert len(total.sums) <= count.bit_length()
        text = total.result()
        assert text.count("(") == count - 1
        assert "".join(c for c in text if c.isalpha()) == "".join(chr(97 + n % 26) for n in range(count))


FORMS = [
    "(map point-x (parallel-map (lambda (x) (make-point x 1)) '(1 2)))",
    "(parallel-map point-x (list (make-point 1 2) (make-point 3 4)))",
    "((gradient (lambda (x) (list-sum (map point-x (parallel-map (lambda (p) (make-point (* x (point-x p)) 1))"
    " (list (make-point 1 2) (make-point 3 4))))))) 2)",
    "(point-y ((gradient (lambda (p) (list-sum (parallel-map (lambda (q) (* (point-x q) (point-y q))) (list p p)))))"
    " (make-point 2 3)))",
    "(parallel-map (lambda (x) (list x 'a \"b\" #t)) '(1 2))",
    "(parallel-map root '(1 2 3))",
    "(parallel-map root '())",
    "((gradient (lambda (xs) (fold + 0 (parallel-map root xs)))) '(1 2 3))",
    "((gradient-F (lambda (xs) (fold + 0 (parallel-map root xs)))) '(1 2 3))",
    "((derivative-F (lambda (a) (total a '(1 2 3)))) 0.5)",
    "((derivative-F (derivative-R (lambda (a) (total a '(1 2 3))))) 0.5)",
    "((derivative-R (derivative-F (lambda (a) (total a '(1 2 3))))) 0.5)",
    "((derivative-R (derivative-R (lambda (a) (total a '(1 2 3))))) 0.5)",
    "((hessian (lambda (xs) (fold + 0 (parallel-map cube xs)))) '(1 2))",
    "((gradient (lambda (l) (car (parallel-map (lambda (x) (* x x)) l)))) (list 1 2 3))",
    "((derivative-R (lambda (a) ((car (parallel-map (lambda (y) (lambda (z) (* a y z))) (list 3 2))) 5))) 2)",
    "(environment (car ((gradient (lambda (fs) (fold + 0 (parallel-map (lambda (f) (f 3)) fs))))"
    " (list (let ((b 2)) (lambda (x) (* b x)))))))",
    "((gradient (lambda (z) (guard (e ((number? e) (* e e)) (#t 0))"
    " (list-sum (parallel-map (lambda (x) (raise (* z x))) '(3)))))) 2)",
    "(guard (e (#t e)) (parallel-map (lambda (x) (if (> x 2) (raise (list x 'b)) x)) '(1 2 3 4)))",
    "((gradient (lambda (w) (fold + 0 (parallel-map (lambda (v) (dot v w)) '(#[1 2] #[3 4]))))) #[1 1])",
    "((derivative (lambda (x) (caar (parallel-map (lambda (y) (cons (* x y) 'b)) '(3 2))))) 1)",
]


@pytest.fixture(scope="module", params=["evaluate", "compile"])
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Session, Session]]:
    with Session(tier=request.param) as serial, Session(tier=request.param, executor=Inline()) as spread:
        for one in (serial, spread):
            one.eval(TEXT + "(define (total a xs) (fold + 0 (parallel-map (lambda (x) (scaled a x)) xs)))")
        yield serial, spread


@pytest.mark.parametrize("form", FORMS)
def test_workers_compute_what_map_computes(both: tuple[Session, Session], form: str) -> None:
    serial, spread = (one.eval(form) for one in both)
    np.testing.assert_equal(serial, spread)


def test_the_derivative_by_what_the_procedure_captures() -> None:
    """It is a sum over the items, which workers add in another order."""
    form = "((gradient (lambda (a) (fold + 0 (parallel-map (lambda (x) (* a (sin (* a x)))) '(1 2 3))))) 0.5)"
    with Session(tier="evaluate") as serial, Session(tier="evaluate", executor=2) as spread:
        assert np.isclose(serial.eval(form), spread.eval(form), rtol=1e-15)


def test_output_appears_in_the_order_of_the_items() -> None:
    written: list[str] = []
    with Session(executor=2, write=written.append) as one:
        one.eval("(parallel-map (lambda (x) (display x)) '(1 2 3 4 5 6))")
    assert "".join(written) == "123456"


def test_an_error_of_a_worker_is_that_of_the_program() -> None:
    with Session(executor=Inline()) as one, pytest.raises(VladError, match="<expression>:1:39: Error: no 3"):
        one.eval('(parallel-map (lambda (x) (if (> x 2) (error "no" x) x)) \'(1 2 3 4))')


def test_an_error_that_the_system_raises_in_a_worker() -> None:
    with Session(executor=Inline()) as one:
        found = one.eval("(guard (e (#t (error-message e))) (parallel-map (lambda (x) (car x)) '(3 4)))")
    assert found == "Argument to car is invalid"


def test_programs_that_are_built_have_no_workers() -> None:
    with Session(tier="compile") as one:
        assert one.eval("(parallel-map square '(1 2 3))") == [1.0, 4.0, 9.0]


def test_nothing_is_left_behind(session: Session) -> None:
    executor = Inline()
    vlad.map(session["root"], [1.0] * 40, executor=executor)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        vlad.map(session["root"], [1.0] * 40, executor=executor)
    executor.sizes.clear()
    gc.collect()
    assert len(gc.get_objects()) < before + 200


def test_processes_end_with_their_owner() -> None:
    """Also if it is killed, and runs no code at its end."""
    text = (
        "import os, vlad, multiprocessing, sys\n"
        "f = vlad.Session().eval('(lambda (x) x)')\n"
        "vlad.map(f, [1.0], executor=1)\n"
        "print(multiprocessing.active_children()[0].pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    worker = int(done.stdout)
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists():
            return
        time.sleep(0.1)
    raise AssertionError("the worker is still there")
