"""`vmap` on a GPU: one kernel with a thread for each row. Values and errors are those of tier 0; everywhere on a mock of CuPy
(pretended_cupy.py), with a GPU on it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pretended_cupy
import pytest
from amounts import THOROUGH
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_cuda_programs import alike, home, on_a_gpu, unit

import vlad
from vlad import VladError
from vlad.compile.emit import row_launches
from vlad.data import devices

sys.path.insert(0, str(Path(__file__).parent.parent / "ad"))
from programs import expressions

PROGRAMS = """
(define (rosenbrock x)
  (let loop ((i 0) (s 0))
    (if (= i (- (car (shape x)) 1))
        s
        (let ((a (tensor-ref x i)) (b (tensor-ref x (+ i 1))))
          (loop (+ i 1) (+ s (* 100 (square (- b (* a a)))) (square (- 1 a))))))))
(define (gradients xs) ((vmap (gradient rosenbrock)) xs))

(define (normal-distribution x) (* 0.5 (erfc (- (/ x (sqrt 2))))))
(define (call-price s v k)
  (let ((d (/ (+ (log (/ s k)) (* 0.5 v v)) v)))
    (- (* s (normal-distribution d)) (* k (normal-distribution (- d v))))))
(define (option s v k)
  (let ((by-s (derivative-F (lambda (s) (call-price s v k)))))
    (list (call-price s v k) (by-s s) ((derivative-F by-s) s)
          ((derivative-F (lambda (v) ((derivative-F (lambda (s) (call-price s v k))) s))) v))))
(define (options s v k) ((vmap option) s v k))

(define (root f x)
  (let ((step (/ (f x) ((derivative-F f) x)))) (if (< (abs step) 1e-10) x (root f (- x step)))))
(define (roots a) ((vmap (lambda (a) (root (lambda (x) (- (* x x) a)) 1))) a))

(define (angle k steps)
  (let loop ((i 0) (angle 1) (speed 0))
    (if (= i steps)
        angle
        (let ((speed (- speed (* 0.02 k (sin angle))))) (loop (+ i 1) (+ angle (* 0.02 speed)) speed)))))
(define (pendulums k) ((vmap (lambda (k) (cons (angle k 100) ((derivative-F (lambda (k) (angle k 100))) k)))) k))
(define (fits k) ((vmap (lambda (k) ((gradient (lambda (k) (square (angle k (floor (* 40 k)))))) k))) k))

(define (saddle a)
  ((vmap (lambda (a)
     (let ((best (lambda (x) (argmin (lambda (y) (- (square (- y (* a x))) (* 0.1 x y))) 0.5 1e-8))))
       (let loop ((x 1) (n 0)) (if (= n 5) x (loop (- x (* 0.1 ((derivative-F (lambda (x) (* x (best x)))) x))) (+ n 1))))))) a))

(define (answers x v)
  ((vmap (lambda (x v) (list (> x 1) (as-type (* x v) 'float32) (outer v v) (if (> x 1) (+ x 1) (sum v))))) x v))
(define (pairs xs ys) ((vmap (lambda (x) ((vmap (lambda (y) (sin (* x y)))) ys))) xs))
(define (shared w xs) ((vmap (lambda (w x) (sum (tanh (* w x)))) #:axes '(#f 0)) w xs))
(define (after x) (let ((y ((vmap (lambda (x) (if (> x 1) (* x x) x))) x))) (list (sum y) (tensor-ref y 1) y)))
(define (twice x) ((vmap (lambda (y) (* y 2))) ((vmap (lambda (x) (if (> x 1) (* x x) x))) x)))
(define (loss w x y) (square (- (sum (tanh (* w x))) y)))
(define (total w xs ys) (sum ((vmap loss #:axes '(#f 0 0)) w xs ys)))
(define (by-shared w xs ys) ((value-and-gradient (lambda (w) (total w xs ys))) w))
(define (by-rows w xs ys) ((gradient (lambda (xs ys) (sum ((vmap loss #:axes '(#f 1 0)) w xs ys)))) (transpose xs) ys))
(define (by-closed w xs ys)
  (hessian-of (lambda (w) (sum ((vmap (lambda (x y) (let ((z (dot w x))) (if (< z y) (* z y (sin z)) (cube z))))) xs ys))) w))
(define (hessian-of f w) (list ((hessian f) w) (hvp-F f w w) ((gradient-R (lambda (w) (sum (square ((gradient-R f) w))))) w)))
(define (by-loops c xs)
  ((gradient (lambda (c) (sum ((vmap (lambda (x)
      (let turns ((i 0) (s x)) (if (> i (* 9 x)) s (turns (+ i 1) (sin (+ s (* c x)))))))) xs)))) c))
(define (in-one-list x)
  ((vmap (lambda (x) (fold + 0 (let turns ((i 0) (l '())) (if (> i (* 5 x)) l (turns (+ i 1) (cons (* i x) l))))))) x))
(define (states x)
  ((vmap (lambda (x) (let loop ((v (tensor (list x 1 2))) (n 0)) (if (> n (* 10 x)) v (loop (sin (+ v n)) (+ n 1)))))) x))
(define (two-states x)
  ((vmap (lambda (x)
     (let loop ((v (as-type (tensor (list x 1)) 'float32)) (w (tensor (list 0 x))) (u #[1 2]) (n 0))
       (if (> n (* 5 x)) (list v w u) (loop (* 0.5 v) u (+ u (tensor-set w 1 n)) (+ n 1)))))) x))
"""
R = np.random.default_rng(4)
XS, MATRIX = R.uniform(0.5, 2, 40), R.uniform(0.5, 1.5, (40, 5))
CALLS: dict[str, tuple[Any, ...]] = {
    "gradients": (MATRIX,), "options": (XS, XS[::-1].copy() / 3, XS * 1.1), "roots": (XS,), "pendulums": (XS,), "fits": (XS,),
    "saddle": (XS[:7],), "answers": (XS, MATRIX), "pairs": (XS, XS[:3]), "shared": (MATRIX[0], MATRIX), "after": (XS,),
    "twice": (XS,), "in-one-list": (XS,), "states": (XS,), "two-states": (XS,), "by-loops": (0.7, XS),
    **dict.fromkeys(("by-shared", "by-rows", "by-closed"), (MATRIX[0], MATRIX, XS)),
}  # fmt: skip


def session_on(device: str, tier: str) -> vlad.Session:
    session = vlad.Session(device=device, tier=tier)
    session.run_text(PROGRAMS, "rows.vlad")
    return session


def called(session: vlad.Session, name: str, operands: tuple[Any, ...], device: str) -> Any:
    there = devices.device_named(device)
    return home(
        session[name](*[there.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]), device
    )


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    session = session_on("cpu", "evaluate")
    return {name: called(session, name, operands, "cpu") for name, operands in CALLS.items()}


@pytest.mark.parametrize("turn", range(len(pretended_cupy.WAYS)))
def test_rows_are_those_of_tier_0(
    turn: int, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_launches, "FIRST_WORDS", 16)  # the tapes do not fit at first
    with pretended_cupy.pretended(pretended_cupy.WAYS[turn]):
        session = session_on("cuda", "compile")
        for name in list(CALLS) if THOROUGH else list(CALLS)[turn :: len(pretended_cupy.WAYS)]:
            pretended_cupy.launched.clear()
            found = called(session, name, CALLS[name], "cuda")
            assert alike(found, expected[name]), name
            assert any(kernel.startswith("rows_") for kernel in pretended_cupy.launched), name
            assert session.tiers.entries[id(session[name].value)].reason is None, name


@pytest.mark.gpu
def test_rows_on_a_gpu(expected: dict[str, Any]) -> None:
    on_a_gpu()
    sessions = {device: session_on(device, "compile") for device in ("cuda", "cpu")}
    for name, operands in CALLS.items():
        found = [called(sessions["cuda"], name, operands, "cuda") for _ in range(2)]
        assert alike(found[0], expected[name]), name
        assert alike(found[0], found[1], 0.0), name
        assert alike(found[0], called(sessions["cpu"], name, operands, "cpu")), name
        assert sessions["cuda"].tiers.entries[id(sessions["cuda"][name].value)].reason is None, name


@pytest.mark.gpu
def test_many_rows_on_a_gpu() -> None:
    """More rows than threads at once, where the tapes are long."""
    on_a_gpu()
    k = np.random.default_rng(0).uniform(0.1, 300, 30_000)
    found = [called(session_on(device, "compile"), "fits", (k,), device) for device in ("cuda", "cpu")]
    assert alike(*found, 1e-6)


@pytest.fixture
def cupy() -> Iterator[Any]:
    with pretended_cupy.pretended() as module:
        yield module


@st.composite
def rows(draw: st.DrawFn) -> str:
    """Procedures of a real and a vector, with loops whose lengths the real determines."""

    def inner(*variables: str) -> str:
        return draw(expressions(variables, draw(st.integers(1, 3))))

    loop = f"""(let turns ((i 0) (a {inner("x", "y")}))
        (if (< i (+ 1 (* 2 (abs x)))) (turns (+ i 1) (sin (+ a {inner("a", "x", "z")}))) a))"""
    nested = f"((derivative (lambda (w) {inner('w', 'x', 'y')})) (sin x))"
    branch = f"(if (< y x) {inner('x', 'y', 'z')} (tanh {inner('x', 'z')}))"
    taped = f"((gradient (lambda (x) {loop})) x)"
    states = f"""(sum (let turns ((i 0) (a (* {inner("x", "y")} v)))
        (if (< i (* 2 (abs x))) (turns (+ i 1) (sin (+ a {inner("x", "z")}))) a)))"""
    kinds = [loop, nested, branch, taped, states, inner("x", "y", "z")]
    parts = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    return f"(lambda (x v) (let ((y (tensor-ref v 0)) (z (tanh (sum v)))) (cons (+ y z {' '.join(parts)}) (* x v))))"


POINT = (np.array([-1.2, 0.3, 1.7, 2.4]), np.array([[0.5, 1.0], [-0.4, 2.0], [1.5, -1.0], [0.2, 0.1]]))
MODES = """(lambda (x v) (list ((vmap {f}) x v) (jvp (vmap {f}) (cons x v) (cons #[1 0.5 -1 2] v))
  ((gradient-R (lambda (c) (sum ((vmap (lambda (x v) (* c (car ({f} (* c x) v))))) x v)))) 0.9)))"""


@settings(
    max_examples=500 if THOROUGH else 4, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(f=rows(), way=st.sampled_from(pretended_cupy.WAYS))
def test_random_rows(f: str, way: str) -> None:
    text = MODES.replace("{f}", f)
    expected = vlad.Session(tier="evaluate").eval(text)(*POINT)
    pretended_cupy.launched.clear()
    with pretended_cupy.pretended(way) as module:
        session = vlad.Session(device="cuda", tier="compile")
        found = home(session.eval(text)(*map(module.asarray, POINT)), "cuda")
        # what recurses is left to tier 0, and so are tangents that are known to be zero in some branches only
        if {entry.reason for entry in session.tiers.entries.values()} == {None}:
            assert any(name.startswith("rows_") for name in pretended_cupy.launched), f
    assert alike(found, expected, 1e-9), f


ERRORS = {  # the lowest row that fails, in any order of threads
    '(lambda (x) ((vmap (lambda (x) (if (< x 2) x (error "bad" x)))) x))': (2,),
    "(lambda (x) ((vmap (lambda (x) (tensor-ref #[7 8] x))) x))": (2,),
    "(lambda (x) ((vmap (lambda (x) (let loop ((n 0)) (if (= n 40) (tensor-ref #[7 8] x) (loop (+ n 1)))))) x))": (2,),
    "(lambda (x) ((vmap (lambda (y) ((vmap (lambda (x) (if (< (+ x y) 4) x (error \"bad\" x)))) x))) x))": (3, 1),
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors_tell_the_lowest_row(text: str, cupy: Any) -> None:
    x = np.arange(4.0)
    caught = []
    for how in ({"tier": "evaluate"}, {"tier": "compile", "device": "cuda"}):
        session = vlad.Session(**how)  # type: ignore[arg-type]
        f = session.eval(text)
        with pytest.raises(VladError) as error:
            f(cupy.asarray(x) if "device" in how else x)
        caught.append((error.value.code, error.value.message, error.value.rows, str(error.value.span)))
    assert caught[0] == caught[1] and caught[0][2] == ERRORS[text]
    assert any(name.startswith("rows_") for name in pretended_cupy.launched)


@pytest.mark.parametrize("way", pretended_cupy.WAYS)
def test_rows_end_when_their_time_does(way: str) -> None:
    """The host waits beside the kernel, whose threads end when it tells them; the session goes on."""
    with pretended_cupy.pretended(way) as module, pretended_cupy.asynchronous():
        session = vlad.Session(device="cuda", tier="compile")
        session.run_text(
            "(define (f x) ((vmap (lambda (x) (let loop ((y x)) (if (> x 2) (loop (+ y 1)) y)))) x))",
            "f.vlad",
        )
        x = np.array([1.0, 2.0])
        for _ in range(2):
            assert alike(home(session["f"](module.asarray(x)), "cuda"), x)
            with pytest.raises(vlad.LimitExceeded, match="longer than 1 seconds"):
                session.eval("(f #[2 3])", limits=vlad.Limits(seconds=1))


def test_a_loop_over_states_needs_no_memory(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The array that a turn hands to the next one is no garbage of the row."""
    monkeypatch.setattr(row_launches, "FIRST_WORDS", 16)
    loop = "(let loop ((v (tensor (list x 1 2))) (n 0)) (if (= n 300) v (loop (sin (+ v n)) (+ n 1))))"
    text = f"(lambda (x) ((vmap (lambda (x) {loop})) x))"
    pretended_cupy.launched.clear()
    found = home(vlad.Session(device="cuda", tier="compile").eval(text)(cupy.asarray(XS)), "cuda")
    assert pretended_cupy.launched.count("rows_0") == 1
    assert alike(found, vlad.Session(tier="evaluate").eval(text)(XS))


def test_a_row_without_enough_memory(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tier 0 computes the result."""
    monkeypatch.setattr(pretended_cupy.Device, "mem_info", (1 << 17, 1 << 30))
    session = session_on("cuda", "compile")
    f = session.eval("(lambda (x) ((vmap (lambda (k) ((gradient (lambda (k) (angle k 2000))) k))) x))")
    found = f(cupy.asarray(np.array([1.0, 2.0]))).get()
    expected = session_on("cpu", "evaluate").eval("(lambda (k) ((gradient (lambda (k) (angle k 2000))) k))")
    assert alike(found, np.array([expected(1.0), expected(2.0)]))


DEPENDENT = [  # loops whose turns need others: the host runs them, one after the other
    "(loop (+ i 1) (tensor-set x i (tensor-ref x 0)) s)", "(loop (+ i 1) (tensor-set x (- 3 i) i) s)",
    "(loop (+ i 1) (tensor-set x i i) (+ s i))", "(loop (+ i 2) (tensor-set x i i) s)",
    "(if (> i 2) (* 2 x) (loop (+ i 1) (tensor-set x i i) s))",
]  # fmt: skip


@pytest.mark.parametrize("text", DEPENDENT)
def test_loops_whose_turns_depend_on_each_other(text: str, cupy: Any) -> None:
    text = f"(lambda (x) (let loop ((i 0) (x x) (s 1)) (if (= i 4) (* s x) {text})))"
    x = np.array([3.0, 1, 4, 1])
    emission = unit(text, (x,), cupy).cuda
    assert emission is not None and not emission.loops
    session = vlad.Session(device="cuda", tier="compile")
    assert alike(
        home(session.eval(text)(cupy.asarray(x)), "cuda"), vlad.Session(tier="evaluate").eval(text)(x)
    )


def test_large_rows_are_shared_by_threads(cupy: Any) -> None:
    """A product of matrices in each row is no work for one thread."""
    emission = unit("(lambda (x) ((vmap (lambda (a) (matmul a a))) x))", (np.ones((3, 40, 40)),), cupy).cuda
    assert emission is not None and not emission.loops


LEFT = {
    "(lambda (x) ((vmap (lambda (x) (let down ((x x)) (if (< x 1) x (* 0.5 (down (- x 1))))))) x))": "call themselves",
    "(lambda (x) ((vmap (lambda (x) (begin (display x) x))) x))": "print",
}


@pytest.mark.parametrize("text", LEFT)
def test_what_is_left_to_tier_0(text: str, cupy: Any) -> None:
    session = vlad.Session(device="cuda", tier="compile", write=lambda text: None)
    f = session.eval(text)
    f(cupy.asarray(XS))
    entry = session.tiers.entries[id(f.value)]
    assert entry.reason is not None and LEFT[text] in entry.reason, entry.reason
