"""Random programs of winds, parameters, guards, escapes and continuations, and a machine that computes their answers.

The machine follows R7RS and Racket: a continuation is a chain of frames; `shift` takes those up to the nearest `reset`, and what
leaves a frame of a wind or enters it does what is to be done there. Numbers are duals, so an answer has its derivative by x.
A program is a tuple of a word and its parts. It notes what happens in one number, `log`.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

DEFINITIONS = """
(define p (make-parameter 2))
(define c (ref 1))
(define log (ref 0))
(define (note v) (set-ref! log (+ (* 0.5 (deref log)) v)) v)
(define (change v) (set-ref! c (* 0.5 (+ (deref c) v))) v)
(define (begun) (set-ref! c 1) (set-ref! log 0))
"""
MOST_STEPS = 20_000
Program = tuple[Any, ...]


class Dual(NamedTuple):
    value: float
    slope: float = 0.0


def plus(a: Dual, b: Dual) -> Dual:
    return Dual(a.value + b.value, a.slope + b.slope)


def times(a: Dual, b: Dual) -> Dual:
    return Dual(a.value * b.value, a.value * b.slope + a.slope * b.value)


class Frame(NamedTuple):
    """The method `to_KIND` of the machine takes its parts, when it gets a value."""

    kind: str
    parts: tuple[Any, ...] = ()


class TooLong(Exception):
    pass


class Error(NamedTuple):
    """What the system raises."""


Chain = Any  # None, or (frame, chain)


class Machine:
    """Runs one program."""

    def __init__(self, x: Dual) -> None:
        self.x = x
        self.log, self.c, self.p = Dual(0.0), Dual(1.0), Dual(2.0)
        self.made = 0
        self.chain: Chain = None

    def run(self, program: Program) -> Dual:
        """The answer plus the log."""
        self.control: tuple[Program, dict[str, Any]] | None = (program, {"x": self.x})
        self.value: Any = None
        for _ in range(MOST_STEPS):
            if self.control is not None:
                form, names = self.control
                getattr(self, f"eval_{form[0]}")(names, *form[1:])
            elif self.chain is None:
                return plus(self.value, self.log)
            else:
                frame, self.chain = self.chain
                getattr(self, f"to_{frame.kind}")(*frame.parts)
        raise TooLong

    def next(self, form: Program, names: dict[str, Any], kind: str = "", *parts: Any) -> None:
        """Evaluate a form, whose value goes to a new frame, if there is a kind."""
        if kind:
            self.chain = (Frame(kind, parts), self.chain)
        self.control = form, names

    def answer(self, value: Any) -> None:
        self.control, self.value = None, value

    def noted(self, v: Dual) -> None:
        self.log = plus(times(Dual(0.5), self.log), v)

    def leave(self, frame: Frame) -> None:
        if frame.kind == "wind":
            self.noted(plus(Dual(frame.parts[1]), self.p))
        elif frame.kind == "parameter":
            self.p = frame.parts[1]

    def enter(self, frame: Frame) -> Frame:
        """The frame as it stands in the chain."""
        if frame.kind == "wind":
            self.noted(plus(Dual(frame.parts[0]), self.p))
        if frame.kind == "parameter":
            frame = Frame("parameter", (frame.parts[0], self.p))
            self.p = frame.parts[0]
        return frame

    def left(self, ends: Any) -> tuple[list[Frame], Frame]:
        """Leave the frames up to the first for which `ends` holds, which is left as well unless it is a reset's."""
        frames = []
        while True:
            frame, rest = self.chain
            if ends(frame) and frame.kind == "reset":
                return frames, frame
            self.chain = rest
            self.leave(frame)
            if ends(frame):
                return frames, frame
            frames.append(frame)

    def raised(self, v: Any) -> None:
        while True:
            _, frame = self.left(lambda frame: frame.kind == "guard")
            name, of_error, least, handler, names = frame.parts
            if isinstance(v, Error):
                return self.next(of_error, names)
            if v.value > least:
                return self.next(handler, {**names, name: v})

    # Forms.

    def eval_number(self, names: dict[str, Any], value: float) -> None:
        self.answer(Dual(value))

    def eval_name(self, names: dict[str, Any], name: str) -> None:
        self.answer(names[name])

    def eval_p(self, names: dict[str, Any]) -> None:
        self.answer(self.p)

    def eval_c(self, names: dict[str, Any]) -> None:
        self.answer(self.c)

    def eval_add(self, names: dict[str, Any], a: Program, b: Program) -> None:
        self.next(a, names, "first", plus, b, names)

    def eval_multiply(self, names: dict[str, Any], a: Program, b: Program) -> None:
        self.next(a, names, "first", times, b, names)

    def to_first(self, operation: Any, b: Program, names: dict[str, Any]) -> None:
        self.next(b, names, "second", operation, self.value)

    def to_second(self, operation: Any, first: Dual) -> None:
        self.answer(operation(first, self.value))

    def eval_less(self, names: dict[str, Any], a: str, b: str, then: Program, otherwise: Program) -> None:
        self.next(then if names[a].value < names[b].value else otherwise, names)

    def eval_let(self, names: dict[str, Any], name: str, value: Program, body: Program) -> None:
        self.next(value, names, "let", name, body, names)

    def to_let(self, name: str, body: Program, names: dict[str, Any]) -> None:
        self.next(body, {**names, name: self.value})

    def eval_begin(self, names: dict[str, Any], first: Program, then: Program) -> None:
        self.next(first, names, "let", "_", then, names)

    def eval_reset(self, names: dict[str, Any], body: Program) -> None:
        self.next(body, names, "reset")

    def to_reset(self) -> None:
        pass

    def eval_shift(self, names: dict[str, Any], k: str, body: Program) -> None:
        frames, _ = self.left(lambda frame: frame.kind == "reset")
        self.next(body, {**names, k: ("continuation", frames)})

    def eval_wind(self, names: dict[str, Any], before: int, after: int, body: Program) -> None:
        frame = self.enter(Frame("wind", (before, after)))
        self.next(body, names, *frame[:1], *frame.parts)

    def to_wind(self, before: int, after: int) -> None:
        self.leave(Frame("wind", (before, after)))

    def eval_parameterize(self, names: dict[str, Any], value: Program, body: Program) -> None:
        self.next(value, names, "inner", body, names)

    def to_inner(self, body: Program, names: dict[str, Any]) -> None:
        frame = self.enter(Frame("parameter", (self.value, None)))
        self.next(body, names, "parameter", *frame.parts)

    def to_parameter(self, inner: Dual, outer: Dual) -> None:
        self.leave(Frame("parameter", (inner, outer)))

    def eval_note(self, names: dict[str, Any], value: Program) -> None:
        self.next(value, names, "note")

    def to_note(self) -> None:
        self.noted(self.value)

    def eval_change(self, names: dict[str, Any], value: Program) -> None:
        self.next(value, names, "change")

    def to_change(self) -> None:
        self.c = times(Dual(0.5), plus(self.c, self.value))

    def eval_guard(
        self,
        names: dict[str, Any],
        name: str,
        of_error: Program,
        least: float,
        handler: Program,
        body: Program,
    ) -> None:
        self.next(body, names, "guard", name, of_error, least, handler, names)

    def to_guard(self, *parts: Any) -> None:
        pass

    def eval_raise(self, names: dict[str, Any], value: Program) -> None:
        self.next(value, names, "raise")

    def to_raise(self) -> None:
        self.raised(self.value)

    def eval_fail(self, names: dict[str, Any]) -> None:
        self.raised(Error())

    def eval_escaping(self, names: dict[str, Any], k: str, body: Program) -> None:
        self.made += 1
        self.next(body, {**names, k: ("escape", self.made)}, "own", self.made)

    def to_own(self, number: int) -> None:
        pass

    def eval_procedure(self, names: dict[str, Any], f: str, name: str, body: Program, then: Program) -> None:
        self.next(then, {**names, f: ("procedure", (name, body, names))})

    def eval_call(self, names: dict[str, Any], f: str, operand: Program) -> None:
        self.next(operand, names, "apply", names[f])

    def to_apply(self, f: tuple[str, Any]) -> None:
        kind, held = f
        if kind == "procedure":
            name, body, names = held
            self.next(body, {**names, name: self.value})
        elif kind == "continuation":
            self.chain = (Frame("reset"), self.chain)
            for frame in reversed(held):
                self.chain = (self.enter(frame), self.chain)
        else:
            own, chain = Frame("own", (held,)), self.chain
            while chain is not None and chain[0] != own:
                chain = chain[1]
            if chain is None:
                self.raised(Error())
            else:
                self.left(lambda frame: frame == own)


def written(form: Program) -> str:
    """A program as a text."""
    word, parts = form[0], [written(one) if isinstance(one, tuple) else one for one in form[1:]]
    return TEXTS[word].format(*parts)


TEXTS = {
    "number": "{}", "name": "{}", "p": "(p)", "c": "(deref c)", "add": "(+ {} {})", "multiply": "(* {} {})",
    "less": "(if (< {} {}) {} {})", "let": "(let (({} {})) {})", "begin": "(begin {} {})", "reset": "(reset {})",
    "shift": "(shift {} {})",
    "wind": "(dynamic-wind (lambda () (note (+ {} (p)))) (lambda () {2}) (lambda () (note (+ {1} (p)))))".replace("{}", "{0}"),
    "parameterize": "(parameterize ((p {})) {})", "note": "(note {})", "change": "(change {})", "raise": "(raise {})",
    "guard": "(guard ({0} ((error? {0}) {1}) ((> {0} {2}) {3})) {4})", "fail": "(car x)",
    "escaping": "(call/cc (lambda ({}) {}))", "procedure": "(let (({} (lambda ({}) {}))) {})", "call": "({} {})",
}  # fmt: skip


class Programs:
    """Draws programs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def program(self) -> Program:
        body = ("reset", self.form(self.random.randint(4, 8), ["x"], []))
        last = ("multiply", ("number", 3.0), ("name", "last"))
        return ("guard", "last", ("number", -77.0), -1e300, last, body)

    def leaf(self, numbers: list[str]) -> Program:
        return self.random.choice(
            [
                ("name", self.random.choice(numbers)),
                ("number", self.random.choice([0.5, 1.0, 2.0, -1.0])),
                ("p",),
                ("c",),
            ]
        )

    def form(self, depth: int, numbers: list[str], procedures: list[str]) -> Program:
        if depth == 0:
            return self.leaf(numbers)

        def part(more: tuple[str, ...] = (), callable: tuple[str, ...] = ()) -> Program:
            return self.form(depth - 1, [*numbers, *more], [*procedures, *callable])

        draw = self.random
        if procedures and draw.random() < 0.25:
            return ("call", draw.choice(procedures), part())
        kinds = {
            "add": 8, "multiply": 8, "less": 4, "let": 6, "begin": 4, "reset": 6, "shift": 16, "wind": 12, "parameterize": 11,
            "guard": 6, "raise": 4, "fail": 1, "escaping": 6, "note": 2, "change": 2, "procedure": 5,
        }  # fmt: skip
        (kind,) = draw.choices(list(kinds), list(kinds.values()))
        one, other = self.name("a"), self.name("b")
        if kind in ("add", "multiply", "begin", "parameterize"):
            return (kind, part(), part())
        if kind in ("reset", "raise", "note", "change"):
            return (kind, part())
        if kind == "less":
            return (kind, draw.choice(numbers), draw.choice(numbers), part(), part())
        if kind == "let":
            return (kind, one, part(), part((one,)))
        if kind == "wind":
            return (kind, draw.randint(1, 9), draw.randint(1, 9), part())
        if kind in ("shift", "escaping"):
            return (kind, one, part((), (one, one)))
        if kind == "guard":
            return (kind, one, self.leaf(numbers), draw.choice([-100.0, 0.5, 3.0]), part((one,)), part())
        if kind == "procedure":
            return (kind, one, other, part((other,)), part((), (one,)))
        return (kind,)
