"""Random Python functions of the language that is translated: `python random_functions.py COUNT [SEED] [TIER …]`.

Each is run by Python, and translated on each tier, with the same arguments: the values, or the classes of the exceptions, are
equal. Gradients are compared with central differences, where these settle. The texts are made by a grammar with typed
expressions, so that most functions end without an error.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import vlad
from vlad.data.raised import Raised

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run

MOST_TURNS = 400  # statements that a function may execute in Python


class Text:
    """The text of one random function of a real, a whole number and a list of reals: `f(x, n, xs)`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.reals = ["x"]
        self.wholes = ["n"]
        self.lists = ["xs"]
        self.changing: list[str] = []  # lists that the function made itself
        self.dicts: list[str] = []  # with the keys a and b, and now and then c
        self.records: list[str] = []
        self.functions: list[tuple[str, int]] = []
        self.protected: set[str] = set()  # variables that a loop or a function relies on
        self.loops = 0
        self.serial = 0

    def one_of(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def fresh(self, base: str) -> str:
        self.serial += 1
        return f"{base}{self.serial}"

    # Expressions.

    def real(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.15):
            variable = self.random.choice([*self.reals, *self.reals, *self.wholes])
            number = self.one_of(f"{self.random.randint(-3, 3)}", f"{self.random.uniform(-2, 2):.2f}")
            return variable if self.chance(0.6) else number
        less = depth - 1
        kinds: list[Callable[[], str]] = [
            lambda: f"({self.real(less)} {self.one_of('+', '-', '*')} {self.real(less)})",
            lambda: f"({self.real(less)} {self.one_of('+', '-', '*')} {self.real(less)})",
            lambda: f"({self.real(less)} / ({self.real(less)} ** 2 + 1.5))",
            lambda: f"math.{self.one_of('sin', 'cos', 'tanh', 'atan', 'fabs')}({self.real(less)})",
            lambda: f"math.sqrt({self.one_of('', 'abs')}({self.real(less)}) + 0.5)",
            lambda: f"({self.real(less)} if {self.truth(less)} else {self.real(less)})",
            lambda: f"(-{self.real(less)})",
            lambda: f"abs({self.real(less)})",
            lambda: f"{self.one_of('min', 'max')}({self.real(less)}, {self.real(less)})",
            lambda: f"({self.real(less)} % {self.one_of('3', '2.5', '-2')})",
            lambda: f"({self.real(less)} // {self.one_of('2', '1.5')})",
            lambda: f"{self.items(less)}[{self.whole(less)} % 2 - {self.one_of('0', '1', '2')}]",
            lambda: f"sum({self.items(less)})",
            lambda: self.generated(less),
            lambda: f"(lambda a, b: a * b - {self.real(0)})({self.real(less)}, {self.real(less)})",
            lambda: f"({self.real(less)} {self.one_of('and', 'or')} {self.real(less)})",
        ]
        kinds += [lambda: f"{self.record(less)}.{self.one_of('x', 'y', 'norm', 'turned().x')}"]
        if self.functions:
            kinds += [lambda: self.called(less)] * 2
        if self.dicts:
            kinds += [lambda: self.of_dict(less)] * 2
        return self.random.choice(kinds)()

    def record(self, depth: int) -> str:
        kinds: list[Callable[[], str]] = [lambda: f"Point({self.real(depth - 1)}, y={self.real(0)})"]
        if self.records:
            kinds += [lambda: str(self.random.choice(self.records))] * 2
        if depth > 0:
            kinds += [
                lambda: f"({self.record(depth - 1)} {self.one_of('+', '-')} {self.record(0)})",
                lambda: f"{self.record(depth - 1)}._replace(x={self.real(0)})",
            ]
        return self.random.choice(kinds)()

    def of_dict(self, depth: int) -> str:
        own = self.random.choice(self.dicts)
        kinds: list[Callable[[], str]] = [
            lambda: f"{own}[{self.one_of(chr(34) + 'a' + chr(34), chr(34) + 'b' + chr(34))}]",
            lambda: f'{own}.get("c", {self.real(depth - 1)})',
            lambda: f"sum({own}.values())",
            lambda: f'{{k: v * {self.real(0)} for k, v in {own}.items()}}["a"]',
            lambda: f'({own}["c"] if "c" in {own} else {self.real(0)})',
            lambda: f"len({own})",
            lambda: f'{{**{own}, "b": {self.real(0)}}}["b"]',
        ]
        return self.random.choice(kinds)()

    def called(self, depth: int) -> str:
        name, count = self.random.choice(self.functions)
        return f"{name}({', '.join([self.real(depth) for _ in range(count)])})"

    def generated(self, depth: int) -> str:
        variable = self.fresh("g")
        self.reals.append(variable)
        inner = self.real(depth)
        self.reals.remove(variable)
        condition = f" if {variable} > {self.random.uniform(-1, 1):.1f}" if self.chance(0.4) else ""
        return f"sum({inner} for {variable} in {self.items(0)}{condition})"

    def whole(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return self.one_of(self.random.choice(self.wholes), str(self.random.randint(0, 4)))
        less = depth - 1
        return self.one_of(
            lambda: f"({self.whole(less)} {self.one_of('+', '-', '*')} {self.whole(less)})",
            lambda: f"({self.whole(less)} % {self.random.randint(2, 5)})",
            lambda: f"({self.whole(less)} // {self.random.randint(1, 3)})",
            lambda: f"len({self.items(0)})",
        )()  # type: ignore[no-any-return]  # one_of returns any choice

    def truth(self, depth: int) -> str:
        less = depth - 1
        kinds: list[Callable[[], str]] = [
            lambda: f"{self.real(less)} {self.one_of('<', '>', '<=', '>=')} {self.real(less)}",
            lambda: f"{self.whole(less)} {self.one_of('==', '!=')} {self.whole(less)}",
            lambda: f"{self.whole(less)} % 2",
        ]
        if depth > 0:
            kinds += [
                lambda: f"({self.truth(less)} {self.one_of('and', 'or')} {self.truth(less)})",
                lambda: f"(not {self.truth(less)})",
                lambda: f"({self.real(0)} < {self.real(less)} <= {self.real(less)})",
                lambda: f"(not {self.items(0)})",
                lambda: f"({self.whole(0)} in [0, 2, {self.whole(less)}])",
            ]
        return self.random.choice(kinds)()

    def items(self, depth: int) -> str:
        """A list that has at least two items in most cases."""
        if depth <= 0 or self.chance(0.4):
            return str(self.random.choice(self.lists))
        less = depth - 1
        variable = self.fresh("c")
        self.reals.append(variable)
        inner = self.real(less)
        self.reals.remove(variable)
        return self.one_of(  # type: ignore[no-any-return]  # one_of returns any choice
            f"[{inner} for {variable} in {self.items(0)}]",
            f"[{self.real(less)}, {self.real(less)}, {self.real(0)}]",
            f"({self.items(0)} + [{self.real(less)}])",
            f"{self.items(0)}[{self.one_of('0', '1', '-2', '')}:{self.one_of('', '3', '-1')}]",
            f"list(reversed({self.items(0)}))",
            f"sorted({self.items(0)})",
            f"[p * q for p, q in zip({self.items(0)}, {self.items(0)})]",
        )

    # Statements.

    def add(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def target(self) -> str:
        """A variable that may be assigned, or a new one."""
        free = [one for one in self.reals if one not in self.protected]
        return self.random.choice(free) if free and self.chance(0.6) else self.fresh("v")

    def block(self, indent: int, depth: int, count: int) -> None:
        known = list(self.reals), list(self.lists), list(self.functions), list(self.changing)
        structures = list(self.dicts), list(self.records)
        start = len(self.lines)
        for _ in range(count):
            self.statement(indent, depth)
        if len(self.lines) == start:
            self.add(indent, "pass")
        if indent > 1:
            self.dicts, self.records = structures
            # what a branch binds may be unbound afterwards; now and then that is read, too
            keep = [one for one in self.reals if one not in known[0]] if self.chance(0.05) else []
            self.reals, self.lists, self.functions, self.changing = (
                known[0] + keep,
                known[1],
                known[2],
                known[3],
            )

    def statement(self, indent: int, depth: int) -> None:
        kinds: list[Callable[[int, int], None]] = [self.assigns, self.assigns, self.increases, self.swaps]
        kinds += [
            self.makes_list,
            self.appends,
            self.sets_item,
            self.makes_dict,
            self.sets_key,
            self.makes_record,
        ]
        if depth > 0:
            kinds += [
                self.matches,
                self.branches,
                self.branches,
                self.counts,
                self.goes_through,
                self.repeats,
            ]
            if not self.loops and indent == 1:
                kinds += [self.defines]
        if self.loops:
            kinds += [self.leaves]
        if indent > 1:
            kinds += [self.returns]
        self.random.choice(kinds)(indent, depth)

    def assigns(self, indent: int, depth: int) -> None:
        value, target = self.real(2), self.target()
        self.add(indent, f"{target} = {value}")
        if target not in self.reals:
            self.reals.append(target)

    def increases(self, indent: int, depth: int) -> None:
        free = [one for one in self.reals if one not in self.protected]
        if free:
            self.add(indent, f"{self.random.choice(free)} {self.one_of('+=', '-=', '*=')} {self.real(1)}")

    def swaps(self, indent: int, depth: int) -> None:
        first, second = self.real(1), self.real(1)
        a, b = self.target(), self.target()
        if a != b:
            self.add(indent, f"{a}, {b} = {first}, {second}")
            self.reals += [one for one in (a, b) if one not in self.reals]

    def makes_list(self, indent: int, depth: int) -> None:
        name = self.fresh("l")
        value = self.one_of(
            "[]", f"[{self.real(1)}, {self.real(1)}]", f"[{self.real(1)}] * {self.random.randint(2, 4)}"
        )
        self.add(indent, f"{name} = {value}")
        if value != "[]":
            self.lists.append(name)
        self.changing.append(name)

    def appends(self, indent: int, depth: int) -> None:
        usable = [one for one in self.changing if one not in self.protected]
        if usable:
            self.add(indent, f"{self.random.choice(usable)}.append({self.real(1)})")

    def sets_item(self, indent: int, depth: int) -> None:
        usable = [one for one in self.changing if one in self.lists and one not in self.protected]
        if usable:
            self.add(
                indent,
                f"{self.random.choice(usable)}[{self.whole(1)} % 2] {self.one_of('=', '+=')} {self.real(1)}",
            )

    def makes_dict(self, indent: int, depth: int) -> None:
        own = self.fresh("d")
        self.add(indent, f'{own} = {{"a": {self.real(1)}, "b": {self.real(1)}}}')
        self.dicts.append(own)

    def sets_key(self, indent: int, depth: int) -> None:
        usable = [one for one in self.dicts if one not in self.protected]
        if usable:
            own = self.random.choice(usable)
            key, operator = self.one_of(('"a"', "="), ('"b"', "+="), ('"c"', "="))
            self.add(indent, f"{own}[{key}] {operator} {self.real(1)}")

    def makes_record(self, indent: int, depth: int) -> None:
        usable = [one for one in self.records if one not in self.protected]
        own = self.random.choice(usable) if usable and self.chance(0.6) else self.fresh("p")
        self.add(indent, f"{own} = {self.record(2)}")
        if own not in self.records:
            self.records.append(own)

    def matches(self, indent: int, depth: int) -> None:
        subject = self.one_of(
            f"({self.whole(1)}, {self.real(1)})",
            f"[{self.whole(1)}, {self.real(1)}, {self.real(0)}]",
            self.record(1),
        )
        self.add(indent, f"match {subject}:")
        for kind in self.random.sample(range(6), self.random.randint(1, 3)):
            bound = self.fresh("m")
            pattern = [
                f"(0, {bound})", f"(1 | 2, {bound}) if {bound} > {self.real(0)}", f"[_, *_, {bound}]", f"Point(x={bound})",
                f"Point({bound}, _) if {self.truth(0)}", f"(_, {bound}, _)",
            ][kind]  # fmt: skip
            self.add(indent + 1, f"case {pattern}:")
            self.reals.append(bound)
            self.block(indent + 2, depth - 1, self.random.randint(1, 2))
            if bound in self.reals:
                self.reals.remove(bound)
        if self.chance(0.6):
            self.add(indent + 1, "case _:")
            self.block(indent + 2, depth - 1, 1)

    def branches(self, indent: int, depth: int) -> None:
        self.add(indent, f"if {self.truth(2)}:")
        self.block(indent + 1, depth - 1, self.random.randint(1, 2))
        if self.chance(0.3):
            self.add(indent, f"elif {self.truth(1)}:")
            self.block(indent + 1, depth - 1, self.random.randint(1, 2))
        if self.chance(0.6):
            self.add(indent, "else:")
            self.block(indent + 1, depth - 1, self.random.randint(1, 2))

    def looped(
        self, indent: int, depth: int, head: str, reals: list[str], wholes: list[str], first: str = ""
    ) -> None:
        self.add(indent, head)
        self.reals += reals
        self.wholes += wholes
        through = [
            one for one in (*self.lists, *self.dicts) if one in head
        ]  # a list is not changed in a loop over it
        protected = {*reals, *wholes, *through} - self.protected
        self.protected |= protected
        self.loops += 1
        if first:
            self.add(indent + 1, first)
        self.block(indent + 1, depth - 1, self.random.randint(1, 3))
        self.loops -= 1
        self.protected -= protected
        self.reals = [one for one in self.reals if one not in reals]
        self.wholes = [one for one in self.wholes if one not in wholes]
        if self.chance(0.2):
            self.add(indent, "else:")
            self.block(indent + 1, 0, 1)

    def counts(self, indent: int, depth: int) -> None:
        i = self.fresh("i")
        bounds = self.one_of("n", "3", "1, 5", "4, 0, -1", "0, 6, 2", f"len({self.items(0)})")
        self.looped(indent, depth, f"for {i} in range({bounds}):", [], [i])

    def goes_through(self, indent: int, depth: int) -> None:
        e, i = self.fresh("e"), self.fresh("i")
        kind = self.random.randrange(5 if self.dicts else 4)
        if kind == 4:
            self.looped(indent, depth, f"for {i}, {e} in {self.random.choice(self.dicts)}.items():", [e], [])
        elif kind == 0:
            self.looped(indent, depth, f"for {e} in {self.items(1)}:", [e], [])
        elif kind == 1:
            self.looped(indent, depth, f"for {i}, {e} in enumerate({self.items(1)}):", [e], [i])
        elif kind == 2:
            other = self.fresh("e")
            self.looped(
                indent, depth, f"for {e}, {other} in zip({self.items(1)}, {self.items(0)}):", [e, other], []
            )
        else:
            self.looped(indent, depth, f"for {e} in reversed({self.items(0)}):", [e], [])

    def repeats(self, indent: int, depth: int) -> None:
        w = self.fresh("w")
        self.add(indent, f"{w} = {self.random.randint(1, 4)}")
        condition = f" and {self.truth(1)}" if self.chance(0.4) else ""
        self.looped(indent, depth, f"while {w} > 0{condition}:", [], [w], f"{w} -= 1")

    def leaves(self, indent: int, depth: int) -> None:
        self.add(indent, f"if {self.truth(1)}:")
        self.add(indent + 1, self.one_of("break", "continue"))

    def returns(self, indent: int, depth: int) -> None:
        if self.chance(0.4):
            self.add(indent, f"return {self.real(2)}")

    def defines(self, indent: int, depth: int) -> None:
        name, count = self.fresh("f"), self.random.randint(1, 2)
        names = [self.fresh("a") for _ in range(count)]
        outer = self.reals, self.wholes, self.lists, self.changing, self.functions, self.loops
        structures, self.dicts, self.records = (self.dicts, self.records), [], []
        captured = [one for one in self.reals if self.chance(0.3)]
        self.protected |= {*captured, "n", "xs"}
        self.reals, self.wholes, self.lists, self.changing, self.loops = (
            [*captured, *names],
            ["n"],
            ["xs"],
            [],
            0,
        )
        self.add(indent, f"def {name}({', '.join(names)}):")
        before = set(self.protected)
        self.protected |= set(captured)
        for _ in range(self.random.randint(0, 2)):
            self.statement(indent + 1, 1)
        self.add(indent + 1, f"return {self.real(2)}")
        self.protected = before
        self.reals, self.wholes, self.lists, self.changing, self.functions, self.loops = outer
        self.dicts, self.records = structures
        self.functions.append((name, count))

    def text(self) -> str:
        self.add(0, "def f(x, n, xs):")
        self.block(1, 3, self.random.randint(2, 6))
        kind = self.random.randrange(3)
        self.add(
            1,
            f"return {self.real(3)}" if kind else f"return {self.real(1)}, [{self.real(1)}, {self.real(1)}]",
        )
        return "\n".join(self.lines) + "\n"


class Point(NamedTuple):
    """A class that the functions use."""

    x: float
    y: float

    def __add__(self, other: Any) -> Point:
        return Point(self.x + other.x, self.y - other.y)

    def __sub__(self, other: Any) -> Point:
        return Point(self.x - other.x, self.y * other.y)

    @property
    def norm(self) -> float:
        return math.sqrt(self.x * self.x + self.y * self.y + 0.5)

    def turned(self) -> Point:
        return self._replace(x=self.y, y=-self.x)


class TooLong(Exception):
    """A function that runs for too long to be compared."""


def function_of(text: str, name: str) -> Callable[..., Any]:
    """The function f of a text, which is registered as notebooks do."""
    names: dict[str, Any] = {"math": math, "Point": Point, "__name__": "random_functions"}
    run(text, name, names)
    found: Callable[..., Any] = names["f"]
    return found


def outcome(call: Callable[[], Any]) -> Any:
    """The value of a call, or the class of Python's that its exception has."""
    try:
        return call()
    except Exception as error:
        if isinstance(
            error, NameError
        ):  # of a comprehension or a generator, its class depends on Python's version
            return "NameError"
        own = [kind for kind in type(error).__mro__ if kind.__module__ == "builtins"]
        return (
            own[0].__name__
            if not isinstance(error, vlad.VladError) or isinstance(error, Raised)
            else f"{error}"
        )


def same(a: Any, b: Any, tolerance: float = 1e-9) -> bool:
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return (
            type(a) is type(b)
            and len(a) == len(b)
            and all(same(p, q, tolerance) for p, q in zip(a, b, strict=True))
        )
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key], tolerance) for key in a)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) or (a != a and b != b)
    return bool(a == b)


def limited(function: Callable[..., Any], infinite: list[float]) -> Callable[..., Any]:
    """The function in Python; raises TooLong after many lines. It puts variables that are not finite into a list."""

    def call(*arguments: Any) -> Any:
        left = MOST_TURNS * 20

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise TooLong
            if not infinite:
                values = frame.f_locals.values()
                infinite.extend([one for one in values if type(one) is float and not math.isfinite(one)])
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            return function(*arguments)
        finally:
            sys.settrace(before)

    return call


ARGUMENTS = [(0.7, 3, [0.3, -1.2, 2.0]), (-1.3, 2, [1.5, 0.25]), (2.5, 5, [-0.4, 0.9, 1.1, -2.2])]


def slope(f: Callable[..., Any], x: float, n: int, xs: list[float]) -> float | None:
    """The central difference by x, if it settles, and is the one from either side."""
    found = []
    middle = outcome(lambda: f(x, n, list(xs)))
    for h in (1e-5, 1e-6):
        values = [outcome(lambda: f(x + h, n, list(xs))), outcome(lambda: f(x - h, n, list(xs)))]  # noqa: B023  # called at once
        if not all(isinstance(value, float | int) for value in values):
            return None
        found.append((values[0] - values[1]) / (2 * h))
        sides = (values[0] - middle) / h, (middle - values[1]) / h
        if not math.isclose(*sides, rel_tol=1e-2, abs_tol=1e-2):
            return None
    return found[1] if math.isclose(*found, rel_tol=1e-3, abs_tol=1e-3) and abs(found[1]) < 1e6 else None


def differences(seed: int, sessions: list[vlad.Session]) -> list[str]:
    """What differs between Python and the translation of one function."""
    text = Text(seed).text()
    function = function_of(text, f"<random {seed}>")
    infinite: list[float] = []
    checked = limited(function, infinite)
    found = []
    for session in sessions:
        translated = session.function(function)
        for arguments in ARGUMENTS:
            x, n, xs = arguments
            infinite.clear()
            try:
                expected = outcome(lambda: checked(x, n, list(xs)))  # noqa: B023  # it is called at once
            except TooLong:
                continue
            if expected == "TooLong":
                continue
            got = outcome(lambda: translated(x, n, list(xs)))  # noqa: B023  # it is called at once
            if got == "OverflowError" and not isinstance(expected, str):
                continue  # a float beyond 2**53 may be a whole number of Python's, which has all digits: an error that says so
            if not same(expected, got):
                found.append(f"{session.tiers.policy} f{arguments}: Python {expected!r}, translated {got!r}")
            elif isinstance(expected, float):
                by_differences = slope(function, x, n, xs)
                by = outcome(lambda: vlad.grad(translated, argnums=0)(x, n, list(xs)))  # noqa: B023  # it is called at once
                if infinite and by != by:
                    continue  # by the chain rule a slope of 0 times one that is infinite; a finite gradient is compared
                if by_differences is not None and not (
                    isinstance(by, float) and same(by_differences, by, 1e-3 * max(1.0, abs(by)))
                ):
                    found.append(
                        f"{session.tiers.policy} gradient{arguments}: difference {by_differences!r}, gradient {by!r}"
                    )
    return found


def main(count: int, seed: int, tiers: list[str]) -> int:
    wrong = 0
    for number in range(seed, seed + count):
        sessions = [vlad.Session(tier=tier) for tier in tiers]
        started = time.monotonic()
        found = differences(number, sessions)
        if found:
            wrong += 1
            print(f"seed {number}:", *found, sep="\n  ", flush=True)
        if time.monotonic() - started > 10:
            print(f"seed {number}: {time.monotonic() - started:.1f} s", flush=True)
        for session in sessions:
            session.close()
    print(f"{count} functions, {wrong} differ")
    return wrong


if __name__ == "__main__":
    sys.exit(
        main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, sys.argv[3:] or ["evaluate"]) > 0
    )
