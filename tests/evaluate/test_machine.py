"""Guarantees of the evaluator: proper tail calls, depth bounded by memory, limits, interrupts, the same output every time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import interruptible

import vlad

ROOT = Path(__file__).parents[2]
LOOP = "(define ((loop n) x) (let go ((i 0) (y x)) (if (= i n) y (go (+ i 1) (sin (* y x))))))"
GRADIENT = "(define ((grad f) x) (cdr ((cdr ((*j f) (*j x))) 1)))"


def in_process(code: str, before: str = "") -> str:
    """The output of Python code in a process of its own, started by a shell."""
    command = f"{before} exec {sys.executable} -c '{code}'"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, cwd=ROOT, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


MEASURED = f"""
import resource, vlad
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
session = vlad.Session()
session.eval("{GRADIENT} {LOOP}")
session.eval("((grad (loop 100)) 0.7)")
before = peak()
session.eval("TEXT")
print(peak() - before)
"""


def growth(text: str, before: str = "") -> int:
    """By how many bytes the peak of a process grows while it evaluates."""
    return int(in_process(MEASURED.replace("TEXT", text), before))


def test_a_million_calls_deep() -> None:
    session = vlad.Session()
    session.eval("(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1)))))")
    assert session.eval("(count 1000000)") == 1e6


def test_ten_million_turns_in_constant_memory() -> None:
    assert growth("((loop 10000000) 0.7)") < 1_000_000


def test_the_gradient_of_a_million_turns_on_a_small_stack() -> None:
    assert growth("((grad (loop 1000000)) 0.7)", "ulimit -s 8192;") < 500 * 1_000_000


def test_mutual_tail_calls_take_no_depth() -> None:
    session = vlad.Session(limits=vlad.Limits(depth=1_000))
    session.eval("(define (ev n) (if (= n 0) #t (od (- n 1)))) (define (od n) (if (= n 0) #f (ev (- n 1))))")
    assert session.eval("(ev 1000000)") is True


def test_endless_recursion_ends_in_an_error() -> None:
    session = vlad.Session()
    with pytest.raises(vlad.LimitExceeded) as caught:
        session.eval("(define (f x) (+ 1 (f x))) (f 1)")
    assert caught.value.code == "too-deep"
    assert session.eval("(+ 1 2)") == 3


@pytest.mark.parametrize("text", ["(let f ((x 1)) (f x))", "(define (g x) (h x)) (define (h x) (g x)) (g 1)"])
@pytest.mark.parametrize(
    ("limits", "code"),
    [(vlad.Limits(fuel=10_000), "out-of-fuel"), (vlad.Limits(seconds=0.2), "out-of-time")],
)
def test_limits_end_endless_loops(text: str, limits: vlad.Limits, code: str) -> None:
    session = vlad.Session(limits=limits)
    begin = time.monotonic()
    with pytest.raises(vlad.LimitExceeded) as caught:
        session.eval(text)
    assert caught.value.code == code
    assert time.monotonic() - begin < 5
    assert session.eval("(* 6 7)") == 42


def test_the_memory_limit_ends_a_growing_structure() -> None:
    text = "(let f ((l (quote ()))) (f (cons (cons l 1.5) l)))"
    code = f"""
import vlad
session = vlad.Session(limits=vlad.Limits(memory=300), tier="evaluate")  # compiled, the unused list is not made
try:
    session.eval("{text}")
except vlad.LimitExceeded as error:
    print(error.code, session.eval("(+ 1 2)"))
"""
    assert in_process(code) == "out-of-memory 3.0\n"


def test_fuel_is_the_same_every_time() -> None:
    session = vlad.Session(metered=True)
    session.eval(GRADIENT + LOOP)
    costs = set()
    for _ in range(3):
        before = session.steps
        session.eval("((grad (loop 1000)) 0.7)")
        costs.add(session.steps - before)
    assert len(costs) == 1


@pytest.mark.parametrize(
    "program",
    [
        "(let f ((x 1)) (f x))",
        "(define (f x) (+ 1 (f x))) (let g () (begin (f 1) (g)))",
        GRADIENT + LOOP + "((grad (loop 1e9)) 1)",
    ],
    ids=["loop", "recursion", "gradient"],
)
def test_an_interrupt_ends_the_command_at_once(program: str, tmp_path: Path) -> None:
    path = tmp_path / "endless.vlad"
    path.write_text(f'(display "begun\\n") {program}', encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    if "(f 1)" in program:
        environment["VLAD_TIER"] = (
            "evaluate"  # compiled, the recursion reaches its limit before it can be interrupted
        )
    with interruptible(
        [sys.executable, "-m", "vlad", str(path)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)  # into the evaluation
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    assert time.monotonic() - begin < 5


def test_output_does_not_depend_on_the_environment(tmp_path: Path) -> None:
    outputs = set()
    example = str(ROOT / "examples" / "hessian-vector.vlad")
    for seed, locale, folder in (("0", "C", ROOT), ("1", "C.UTF-8", tmp_path), ("4711", "POSIX", Path("/"))):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "LC_ALL": locale}
        parts = []
        for arguments in (
            ["--metered", example],
            ["show", example, "--stage", "reverse"],
            ["expand", example],
        ):
            command = [sys.executable, "-m", "vlad", *arguments]
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment, cwd=folder, timeout=60
            )
            assert done.returncode == 0, done.stderr
            parts.append(done.stdout)
        outputs.add("\n".join(parts))
    assert len(outputs) == 1


def test_adapters_follow_the_tuple_rule() -> None:
    """Procedures of 1 to 7 parameters, called on every number of operands that the rule allows."""
    session = vlad.Session()
    for arity in range(1, 8):
        names = [f"p{i}" for i in range(arity)]
        session.eval(f"(define (f{arity} {' '.join(names)}) (list {' '.join(names)}))")
        for given in range(1, 9):
            plain = [str(float(i)) for i in range(8)][: max(given, arity)]
            last = " ".join(plain[given - 1 :])
            packed = last if len(plain) == given else f"(cons* {last})"
            text = f"(f{arity} {' '.join([*plain[: given - 1], packed])})"
            expected: list[object] = [float(i) for i in range(min(arity, len(plain)))]
            if len(plain) > arity:
                rest: object = float(len(plain) - 1)
                for i in range(len(plain) - 2, arity - 2, -1):
                    rest = (float(i), rest)
                expected[-1] = rest
            assert session.eval(text) == expected, text


def test_redefinitions_are_seen_by_old_code() -> None:
    session = vlad.Session()
    session.eval("(define (f x) (g x)) (define (g x) (* 2 x)) (define (h p) (car p))")
    assert session.eval("(f 3)") == 6
    assert session.eval("(h (cons 1 2))") == 1
    session.eval("(define (g x) (* 3 x)) (define (car p) 'mine)")
    assert session.eval("(f 3)") == 9
    assert session.eval("(h (cons 1 2))") == "mine"


@pytest.mark.slow_compiled
def test_deep_source_and_deep_data() -> None:
    session = vlad.Session()
    depth = 50_000
    assert session.eval("(+ 1 " * depth + "0" + ")" * depth) == depth
    assert session.eval(f"(length '({'1 ' * depth}))") == depth
    session.eval("(define (nest n x) (if (= n 0) x (nest (- n 1) (cons x '()))))")
    assert session.eval("(equal? (nest 500000 1) (nest 500000 1))") is True
    assert session.eval("(equal? (plus (nest 100000 1) (zero (nest 100000 1))) (nest 100000 1))") is True


def test_frames_of_the_systems_own_text_are_not_shown() -> None:
    """Between the library's lambda and the program's is a procedure of a text that users cannot read."""
    session = vlad.Session(tier="evaluate")
    with pytest.raises(vlad.VladError) as caught:
        session.eval("((hessian (lambda (x) (sin (car x)))) 3)")
    shown = [
        (line.procedure, line.span.source.name) for line in caught.value.backtrace if line.span is not None
    ]
    assert shown == [
        ("reverse of reverse of an anonymous procedure", "<expression>"),
        ("reverse of an anonymous procedure", "stdlib/calculus.vlad"),
    ]
    assert "<core>" not in str(caught.value)
