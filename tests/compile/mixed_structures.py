"""Random programs whose lists, pairs and trees mix reals with other values, and programs whose loops go to zero, infinity or
nan; each is run on both tiers, which must return the same result, or raise the same error.

    python tests/compile/mixed_structures.py [COUNT [FIRST]] [--loops]

runs the programs FIRST, FIRST + 1, … and reports each difference. The structures are built at run time, so that their
types are unions: of recursion, `map`, `append`, `filter`, loops, quoted data and the list of arguments.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import random
import re
import signal
import sys
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script: `agreement` needs `sessions`
from agreement import DOUBLES, FLOATS, same

import vlad
from vlad import VladError
from vlad.compile.native import toolchain
from vlad.control import debug
from vlad.data.tensors import Tensor
from vlad.data.values import Zero
from vlad.python.convert import Procedure

# A description of a structure, computed by compiled code: distinguishes reals and tensors from each other and from other values.
VIEW = """(define (view s)
  (cond ((pair? s) (cons (view (car s)) (view (cdr s)))) ((real? s) (list 'real s)) ((tensor? s) (list 'tensor s))
        ((procedure? s) (list 'procedure (view (environment s)))) (else s)))
"""
TOTALS = [
    """(define (total s)
  (cond ((real? s) REAL) ((pair? s) (+ (total (car s)) (total (cdr s)))) ((real-tensor? s) (sum TENSOR)) (else REST)))
""",
    """(define (total s)
  (if (pair? s) (+ (* 0.5 (total (car s))) (total (cdr s))) (if (real? s) REAL (if (procedure? s) (total (environment s)) REST))))
""",
    """(define (total s)
  (let walk ((s s) (all 0))
    (cond ((null? s) all) ((pair? s) (walk (cdr s) (walk (car s) all))) ((real? s) (+ all REAL)) (else (* 2 all)))))
""",
    """(define (total s)
  (fold (lambda (e all) (if (real? e) (let ((s e)) (+ all REAL)) (if (real-tensor? e) (+ all (sum e)) all))) 0
    (if (pair? s) s '())))
""",
]
REALS = [
    "s",
    "(* s s)",
    "(sin s)",
    "(* 3 s)",
    "(exp (* 0.1 s))",
    "(sqrt (+ 4 (* s s)))",
    "(if (> s 1) (* s s) 0)",
    "1",
]
TENSORS = ["s", "(* s s)", "(tanh s)", "(* 2 s)"]
ARGUMENTS: list[list[Any]] = [
    [1.0, 2.0, np.array([1.0, 2.0])],
    [0.5, "text", True, np.array([3.0]), []],
    [np.array([1.0, 2.0]), 0.25, [1.5, "a"], np.array([[1.0, 2.0]])],
    [np.float32([1.0, 2.0]), 0.0, False],
    [[], [0.5], [[1.0, 2.0], "s"]],
    [2.0, np.array([1, 2])],
]
CALLS = [(0.0, 0.5), (1.0, 2.0), (3.0, 0.75)]


class Draw:
    """The choices of one program. It has few kinds of elements: compiling many together takes long."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        kinds = [self.tensor, self.tensor, self.other, self.other, self.procedure]
        count = self.random.choices([1, 2, 3], [0.6, 0.3, 0.1])[0]
        self.elements = [self.real, self.real] + [
            lambda kind=kind: kind for kind in [make() for make in self.random.sample(kinds, count)]
        ]

    def of(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def real(self) -> str:
        """`n` counts down or up; `x` is a number that is given."""
        return self.of("n", "x", "(* x n)", "(* 0.5 n)", "0.5", "2", "0", "(- x n)", "(sin x)")

    def tensor(self) -> str:
        return self.of(
            "#[1 2]", "(ones (list 2))", "(* x #[1 2])", "#[3 4 5]", "(* n #[1 2])", "#[[1 2] [3 4]]", "(tensor 5)",
            "(as-type #[1 2] 'float32)", "(* x (as-type #[1 3] 'float32))", "(zeros '(2))",
            "(as-type #[1 2] 'int64)", "(= #[1 2] x)",
        )  # fmt: skip

    def other(self) -> str:
        return self.of(
            "'a", "'b", '"text"', '"other"', "#t", "#f", "(> n 1)", "'()", '(if (> x 1) \'a "s")', "(< x 1)"
        )

    def procedure(self) -> str:
        return self.of(
            "(lambda (u) (* u x))", "(lambda (u) (+ u n))", "sin", "(lambda (u) (* u (sum #[1 2])))", "(lambda (u) u)",
            "(let ((k (* 2 n))) (lambda (u) (+ k x)))",
        )  # fmt: skip

    def entry(self, depth: int = 1) -> str:
        if depth > 0 and self.chance(0.1):
            return self.structure(depth - 1)
        return self.random.choice(self.elements)()

    def structure(self, depth: int) -> str:
        parts = [self.entry(depth) for _ in range(self.random.randrange(1, 4))]
        return self.of(
            f"(list {' '.join(parts)})",
            f"(cons {parts[0]} {parts[-1]})",
            f"(if (> n 1) {parts[0]} {parts[-1]})",
            f"(if (> x 1) (list {parts[0]}) {parts[-1]})",
        )

    def several(self) -> str:
        """An element that may be of one kind or another."""
        test = self.of("(> n 1)", "(= n 2)", "(even? n)", "(> x 1)", "(< x n)")
        return f"(if {test} {self.entry()} {self.entry()})" if self.chance(0.6) else self.entry()

    def ending(self) -> str:
        return (
            "'()"
            if self.chance(0.3)
            else self.of(f"(list {self.entry()})", self.structure(1), f"(list {self.entry()} {self.entry()})")
        )

    def made(self) -> str:
        """An expression of a structure, by n and x."""
        entry, several, ending, made = self.entry, self.several, self.ending, self.made
        kept = (
            "(real? e)",
            "(not (pair? e))",
            "(not (real? e))",
            "(or (tensor? e) (real? e))",
            "(not (symbol? e))",
        )
        ways = [
            lambda: f"(let make ((n n)) (if (< n 1) {ending()} (cons {several()} (make (- n 1)))))",
            lambda: f"(let make ((n n)) (if (< n 1) {ending()} (cons {several()} (make (- n 1)))))",
            lambda: f"(let make ((n n)) (if (< n 1) {ending()} (list {several()} (make (- n 1)))))",
            lambda: f"(let make ((n n)) (if (< n 1) {entry()} (cons (make (- n 1)) (make (- n 2)))))",
            lambda: f"(map (lambda (n) {several()}) (iota n))",
            lambda: f"(append (map (lambda (n) {several()}) (iota n)) {ending()})",
            lambda: f"(append {ending()} (map (lambda (n) {several()}) (iota n)))",
            lambda: (
                f"(let loop ((i 0) (all {ending()}))"
                f" (if (= i n) all (loop (+ i 1) (let ((n i)) (cons {several()} all)))))"
            ),
            lambda: (
                f"(let loop ((n n) (all '())) (if (< n 1) all (loop (- n 1) (cons {several()} (cons {several()} all)))))"
            ),
            lambda: f"(filter (lambda (e) {self.of(*kept)}) {made()})",
            lambda: (
                f"(list-tail '(1 a {self.of('(2 b)', '#t', '#[1 2]')} \"s\" 2.5 {self.of('#f', '()', '(3 . 4)')} 4 5) n)"
            ),
            lambda: f"(if (> n 1) {ending()} {made()})",
            lambda: "l", lambda: "l", lambda: f"(cons {entry()} l)", lambda: "(append l l)", lambda: "(reverse l)",
            lambda: f"(list {entry()} {made()})", lambda: f"(cons {entry()} {made()})",
        ]  # fmt: skip
        return self.random.choice(ways)()

    def total(self) -> str:
        real, tensor = self.of(*REALS), self.of(*TENSORS)
        rest = self.of("0", "1", "x", "(if (procedure? s) (s 1.5) 0)")
        return self.of(*TOTALS).replace("REAL", real).replace("TENSOR", tensor).replace("REST", rest)

    def loss(self) -> str:
        """A procedure from a structure to a real, mostly."""
        return self.of(
            "total", "total", "total", "total", "(lambda (q) (car q))", "(lambda (q) (square (car q)))",
            "(lambda (q) (if (real? (car q)) (square (car q)) 0))", "(lambda (q) 3)", "(lambda (q) x)", "(lambda (q) (length q))",
            "(lambda (q) (* (total q) (total q)))", "(lambda (q) (if (pair? q) (total (car q)) (total q)))",
            "(lambda (q) (fold + 0 (filter real? q)))",
            "(lambda (q) (let ((r (filter real? q))) (if (null? r) 0 (square (car r)))))",
            "(lambda (q) (total (map-reals (lambda (u) (* u u)) q)))", "(lambda (q) (total (reverse q)))",
            "(lambda (q) (dot-product q q))", "(lambda (q) (total (list (car q) x (cdr q))))", "(lambda (q) (exp (total q)))",
            "(lambda (q) (total (filter (lambda (e) (not (symbol? e))) q)))", "(lambda (q) (total (append q (list x 'a))))",
        )  # fmt: skip

    def other_procedure(self) -> str:
        """From a structure to a structure."""
        return self.of(
            "(lambda (q) q)", "cdr", "reverse", "(lambda (q) (map-reals sin q))", "(lambda (q) (list (total q) 'a q))",
            "(lambda (q) (cons (total q) q))", "(lambda (q) (filter real? q))", "(lambda (q) (append q q))",
            "(lambda (q) (map (lambda (e) (if (real? e) (* e e) e)) q))", "(lambda (q) (k*v x q))", "(lambda (q) (list x 'a))",
            "(lambda (q) (if (> x 1) q (list (car q))))", "(lambda (q) (list-tail q 1))",
        )  # fmt: skip

    def direction(self) -> str:
        return self.of(
            "s",
            "(zero s)",
            "((gradient f) s)",
            "(k*v 2 s)",
            "(map-reals (lambda (u) (* 0 u)) s)",
            "(map-reals cos s)",
        )

    def operated(self) -> str:
        """Results of operations on s and f, which are given."""
        optimizer = self.of("(sgd 0.1)", "(momentum 0.1 0.9)", "(adam 0.1)", "(adamw 0.1 0.5)")
        g = self.other_procedure()
        return self.of(
            "((gradient f) s)", "((gradient f) s)", "((gradient f) s)", "((gradient-F f) s)", "((value-and-gradient f) s)",
            "(cdr ((cdr ((J f) (J s))) 1))", f"(jvp f s {self.direction()})", f"(jvp {g} s {self.direction()})",
            f"(jvp-R f s {self.direction()})", f"(jvp-R {g} s {self.direction()})",
            f"(let ((both (vjp {g} s))) ((cdr both) (car both)))", f"(let ((both (vjp {g} s))) ((cdr both) (zero (car both))))",
            f"(let ((both (vjp-F {g} s))) ((cdr both) (car both)))", "((cdr (vjp f s)) 2)", "((cdr (vjp f s)) 0)",
            f"(hvp f s {self.direction()})", f"(hvp-R f s {self.direction()})", f"((jacobian {g}) s)", "((jacobian f) s)",
            "((hessian f) s)", f"((jacobian-F {g}) s)", "((hessian-F f) s)",
            "(zero s)", "(zero ((gradient f) s))", f"(plus s {self.direction()})", f"(plus (zero s) {self.direction()})",
            "(map-reals (lambda (u) (* 2 u)) s)",
            f"(v+ s {self.direction()})", f"(v- s {self.direction()})", f"(k*v x {self.direction()})",
            f"(v+k*v s x {self.direction()})",
            f"(map-reals2 + s {self.direction()})", f"(list (dot-product s {self.direction()}))", f"(optimize {optimizer} f s 2)",
            f"(optimize {optimizer} f s (+ n 1))", "((gradient (lambda (q) (total ((gradient f) q)))) s)",
            "((gradient-F (lambda (q) (total ((gradient-R f) q)))) s)",
            "((derivative (lambda (u) (map-reals (lambda (e) (* u e)) s))) x)", "((derivative (lambda (u) (cons u s))) x)",
            "((derivative (lambda (u) (total (cons u s)))) x)", "((derivative-R (lambda (u) (f (cons u s)))) x)",
            "((derivative (lambda (u) (f (map-reals (lambda (e) (* u e)) s)))) x)",
            "(let loop ((i 0) (s s)) (if (= i n) s (loop (+ i 1) (v+k*v s 0.1 ((gradient f) s)))))",
            "(let loop ((i 0) (s s)) (if (= i n) s (loop (+ i 1) (zero s))))",
            "(list s ((gradient f) s))", "(append s ((gradient f) s))",
        )  # fmt: skip

    def probed(self) -> str:
        """The expression that is computed from r."""
        return self.of(
            "r", "(view r)", "(list r (view r))", "(list r (view r))", "(list (filter real? r) r)",
            "(map (lambda (e) (list (real? e) (tensor? e))) r)",
            "(list (equal? r s) (view r))", "(total r)", "(list (length r) (filter (lambda (e) (not (real? e))) r))",
            "(begin (write r) (view r))", "(begin (display r) r)", "(let ((g ((gradient total) r))) (list g (view g)))",
            "(view (map-reals (lambda (u) (+ u 1)) r))", "(list (dot-product r r) (view (zero r)))", "(view (fold cons '() r))",
        )  # fmt: skip

    def program(self) -> str:
        total, made, loss, operated, probed = (
            self.total(),
            self.made(),
            self.loss(),
            self.operated(),
            self.probed(),
        )
        if self.chance(0.1):
            operated = f"(let ((s (cdr s))) {operated})"
        return f"""(lambda (n x l)
{VIEW}{total}
(let* ((s {made}) (f {loss}) (r {operated})) {probed}))"""


def loop_program(seed: int) -> str:
    """A loop whose variables become zero, infinite or nan, and its derivatives."""
    draw = Draw(seed)

    def term(depth: int) -> str:
        if depth == 0:
            return draw.of("s", "s", "t", "x", "i", "0", "1", "n", "2")
        return draw.of(
            f"(+ {term(depth - 1)} {term(depth - 1)})", f"(- {term(depth - 1)} {term(depth - 1)})",
            f"(* {term(depth - 1)} {term(depth - 1)})", f"(* {term(depth - 1)} {term(depth - 1)})",
            f"(/ {term(depth - 1)} {term(0)})", f"(if (> {term(0)} {term(0)}) {term(depth - 1)} {term(depth - 1)})",
            f"(sqrt {term(depth - 1)})", f"(log {term(depth - 1)})", f"(exp {term(depth - 1)})", f"(square {term(depth - 1)})",
            f"(max {term(0)} {term(depth - 1)})", f"(abs {term(depth - 1)})",
            f"(where (> {term(0)} 0) {term(0)} {term(depth - 1)})",
            f"(* 1e200 {term(depth - 1)})", f"(- {term(0)} {term(0)})", f"(floor {term(depth - 1)})", f"(expt {term(0)} 2)",
        )  # fmt: skip

    start, other = (
        draw.of("x", "1", "0", "(* x x)", "(- x x)", "1e160", "(log 0)"),
        draw.of("x", "1", "0", "2", "(/ 1 0)"),
    )
    answer = draw.of("s", "t", "(+ s t)", "(* s t)", "(list s t)", "(cons s x)")
    step = f"(loop (+ i 1) {term(2)} {term(draw.random.randrange(3))})"
    body = f"(let loop ((i 0) (s {start}) (t {other})) (if (= i n) {answer} {step}))"
    if answer in ("(list s t)", "(cons s x)"):
        operated = draw.of(
            "((derivative f) x)",
            "((derivative-R f) x)",
            "(jvp f x 1)",
            "((cdr (vjp f x)) (f x))",
            "(f x)",
            "((jacobian f) x)",
        )
    else:
        operated = draw.of(
            "((derivative f) x)", "((derivative-R f) x)", "((derivative f) x)", "((derivative-R f) x)", "(f x)",
            "((derivative (derivative f)) x)", "((derivative-R (derivative f)) x)", "((derivative (derivative-R f)) x)",
            "((value-and-gradient f) x)", "(jvp f x 2)", "((gradient (lambda (q) (f (car q)))) (list x 'a #[1 2]))",
            "((gradient (lambda (q) (* (f (car q)) (sum (cdr q))))) (cons x #[1 2]))", "(map f (list x 0 1))",
        )  # fmt: skip
    return f"(lambda (n x l) (let* ((f (lambda (x) {body})) (r {operated})) r))"


ERROR = "error"
MINUS_ZERO = re.compile(r"(?<![\w.])-0(?![\w.])")
REAL = re.compile(r"((?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]))")


def has_float32(value: Any) -> bool:
    if isinstance(value, list):
        return any(has_float32(part) for part in value)
    return getattr(value, "dtype", None) == np.float32


def _times_zero(zero: Zero, other: Any = 0.0) -> Any:
    return zero if np.isfinite(numbers(other)).all() else math.nan


def _zero_over(zero: Zero, other: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return math.nan if np.isnan(0 / numbers(other)).any() else zero


def numbers(value: Any) -> Any:
    if isinstance(value, Zero):
        return np.zeros(())
    return np.asarray(value.array if isinstance(value, Tensor) else value)


@contextmanager
def unknown_zeros() -> Iterator[None]:
    """Tier 0, where a known zero is a number for products and quotients."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("__mul__", "__rmul__"):
            patch.setattr(Zero, name, _times_zero)
        patch.setattr(Zero, "__truediv__", _zero_over)
        yield


def is_between(found: Any, one: Any, other: Any, tolerance: tuple[float, float]) -> bool:
    """Whether each number of a result is that of one of two others."""
    if same(one, found, tolerance) or same(other, found, tolerance):
        return True
    if isinstance(found, np.ndarray):
        if not all(
            isinstance(a, np.ndarray) and a.dtype == found.dtype and a.shape == found.shape
            for a in (one, other)
        ):
            return False
        return is_between(found.tolist(), one.tolist(), other.tolist(), tolerance)
    if not isinstance(found, list | tuple):
        return False
    return all(type(a) is type(found) and len(a) == len(found) for a in (one, other)) and all(
        is_between(*parts, tolerance) for parts in zip(found, one, other, strict=True)
    )


SECONDS = 2  # of the processor for one program, on both tiers
DEEPEST = 20_000  # frames: a program that nests more in this time would not end


class Stopped(BaseException):
    """A program takes too long."""


def pieces(text: str) -> list[str | float]:
    """A text in which numbers are numbers, as their last digits may differ."""
    return [float(piece) if index % 2 else piece for index, piece in enumerate(REAL.split(text))]


def plain(value: Any) -> Any:
    """A result without parts that belong to one session."""
    if isinstance(value, Procedure):
        return "a procedure"
    if isinstance(value, list | tuple):
        return type(value)([plain(part) for part in value])
    return value


class Pair:
    """A session for each tier, in which many programs run one after the other."""

    def __init__(self) -> None:
        self.written: list[list[str]] = [[], []]
        self.sessions = [
            vlad.Session(tier=tier, write=written.append)
            for tier, written in zip(("evaluate", "compile"), self.written, strict=True)
        ]
        for session in self.sessions:
            session.eval('(import "optimizers") (import "linear-algebra")')

    def answers(self, tier: int, text: str, calls: list[tuple[Any, ...]]) -> list[Any]:
        session, written = self.sessions[tier], self.written[tier]
        found: list[Any] = []
        try:
            f = session.eval(text)
        except VladError as error:
            return [(ERROR, error.message)]
        for operands in calls:
            written.clear()
            try:
                found.append(plain(f(*operands)))
            except VladError as error:
                place = None if error.span is None else (error.span.line, error.span.column)
                found.append((ERROR, error.message, place))
            # the last digits of float32 may differ, and the sign of a zero
            text = "".join(written)
            found.append("float32" if "float32" in text else pieces(MINUS_ZERO.sub("0", text)))
        return found

    def compared(self, text: str, calls: list[tuple[Any, ...]]) -> tuple[str, Any]:
        """The outcome of the program: "compiled", "refused", "disagrees" (compiled code raised an error that tier 0 did not),
        "knows less" (a known zero was a number), "differs".
        """
        compiling = self.sessions[1]
        before = compiling.tiers.disagreements
        known = set(compiling.tiers.entries)
        expected, found = [self.answers(tier, text, calls) for tier in (0, 1)]
        has_floats = "float32" in text or any(
            has_float32(operand) for operands in calls for operand in operands
        )
        tolerance = FLOATS if has_floats else DOUBLES
        if not same(expected, found, tolerance):
            # compiled, a zero that a loop may also give as a number is one (docs/conventions.md)
            with unknown_zeros():
                unknowing = self.answers(0, text, calls)
            if not is_between(found, expected, unknowing, tolerance):
                return "differs", (expected, found)
            return "knows less", None
        if compiling.tiers.disagreements > before:
            return "disagrees", None
        reasons = {entry.reason for key, entry in compiling.tiers.entries.items() if key not in known}
        if all(
            type(answer) is tuple and type(answer[0]) is str and answer[0] == ERROR
            for answer in expected[::2]
        ):
            return "error", None
        return ("compiled", None) if reasons == {None} else ("refused", reasons)


def program(seed: int, loops: bool) -> tuple[str, list[tuple[Any, ...]]]:
    """A text and the operands of its calls."""
    chooser = random.Random(-1 - seed)
    text = loop_program(seed) if loops else Draw(seed).program()
    return text, [(n, x, chooser.choice(ARGUMENTS)) for n, x in (LOOPED if loops else CALLS)]


def file_of(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else code.co_filename


# Files of the callbacks of weak references.
CALLBACKS = [kind.__init__.__code__.co_filename for kind in (weakref.WeakSet, weakref.WeakValueDictionary)]
LOOPED = [(0.0, 0.5), (1.0, 0.0), (3.0, 2.0), (6.0, -1.0)]
PROGRAMS_A_SESSION = 100


def run(
    count: int, first: int = 0, loops: bool = False, report: Callable[[str], None] = print
) -> Counter[str]:
    """The programs from `first` on: how they ended."""

    def stop(number: int, frame: FrameType | None) -> None:
        callbacks = [*CALLBACKS, *[file_of(callback) for callback in gc.callbacks]]
        if frame is not None and frame.f_code.co_filename in callbacks:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.01, 1.0)  # in a callback it would be lost
            return
        depth = 0
        while frame is not None and frame.f_code is not Pair.compared.__code__:
            frame, depth = frame.f_back, depth + 1
        if frame is not None:  # not once the program has ended, nor while the alarm is handled
            raise Stopped(depth)

    debug.rungs |= {debug.TRACEBACKS}
    ends: Counter[str] = Counter()
    pair: Pair | None = None
    previous = signal.signal(signal.SIGVTALRM, stop)
    try:
        for seed in range(first, first + count):
            if pair is None or (seed - first) % PROGRAMS_A_SESSION == 0:
                pair = Pair()
            text, calls = program(seed, loops)
            try:
                # again after a second, for an exception may be lost where Python tidies up
                signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 1.0)
                end, what = pair.compared(text, calls)
            except Stopped as stopped:
                end, what, pair = "endless" if stopped.args[0] > DEEPEST else "too long", None, None
            except Exception:
                end, what, pair = "fault", traceback.format_exc(limit=-4), None
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            ends[end] += 1
            if end in ("differs", "disagrees", "endless", "fault"):
                report(f"; {seed} {end} {what}\n{text}\n")
    finally:
        signal.signal(signal.SIGVTALRM, previous)
    return ends


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--loops", action="store_true")
    parser.add_argument("--show", action="store_true", help="only print the programs")
    given = parser.parse_args()
    if given.show:
        for seed in range(given.first, given.first + given.count):
            print(program(seed, given.loops)[0])
        return
    os.environ.setdefault("VLAD_CACHE", "off")
    compiler = toolchain.boxed_compiler()
    if compiler:  # the fastest, for code that runs once
        os.environ.setdefault("VLAD_CC", compiler)
    began = time.monotonic()
    for first in range(given.first, given.first + given.count, 100):
        ends = run(
            min(100, given.first + given.count - first),
            first,
            given.loops,
            lambda text: print(text, flush=True),
        )
        print(f"; {first}: {dict(ends)}, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    main()
