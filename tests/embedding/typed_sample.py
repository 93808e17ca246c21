"""A type-checked user program: `mypy --strict` and `pyright` find no errors in it. test_typed.py runs it."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import vlad


@vlad.primitive(partials="(* -2 (* x (bump x)))")
def bump(x: float) -> float:
    return float(np.exp(-x * x))


@vlad.primitive
def level(x: float, y: float) -> float:
    return x * y


@level.reverse
def _(x: float, y: float, s: float) -> tuple[float, float]:
    return s * y, s * x


def session() -> vlad.Session:
    made = vlad.Session(tier="evaluate", limits=vlad.Limits(seconds=10))
    made.define(bump)
    made["level"] = level

    @made.define
    def half(x: float) -> float:
        return x / 2

    assert_type(half(3.0), float)
    return made


def slope(f: vlad.Procedure, at: float) -> float:
    value, gradient = vlad.value_and_grad(f)(at)
    assert vlad.grad(f)(at) == gradient and vlad.jvp(f, at, 1.0) == (value, gradient)
    back_value, back = vlad.vjp(f, at)
    assert (back_value, back(1.0)) == (value, gradient)
    return float(gradient)


def total(f: vlad.Procedure, numbers: dict[str, float]) -> dict[str, float]:
    found: dict[str, float] = vlad.grad(f, 0)(numbers)
    return found


def refused(made: vlad.Session) -> tuple[str, str | None]:
    try:
        made.eval("(car 1)", "wrong.vlad", limits=vlad.Limits(fuel=1000))
    except vlad.LimitExceeded:
        raise
    except vlad.VladError as error:
        place = error.span
        assert place is not None
        return f"{place.line}:{place.column} {error.message}", error.hint
    raise AssertionError


def way(made: vlad.Session) -> list[tuple[str, int]]:
    made.eval("(define (inner x) (+ 1 (car x)))\n(define (outer x) (* 2 (inner x)))", "wrong.vlad")
    try:
        made.eval("(outer 1)")
    except vlad.VladError as error:
        assert repr(error.backtrace) == "[<inner at wrong.vlad:1:24>, <outer at wrong.vlad:2:24>]"
        return [(entry.procedure, entry.span.line) for entry in error.backtrace if entry.span is not None]
    raise AssertionError


def named(made: vlad.Session) -> list[str]:
    made.rate = 0.5
    made["count"] = 3
    rows: vlad.Procedure = vlad.jacobian(made.eval("(lambda (x) (list x (* x x)))"))
    assert rows(3.0) == [1.0, 6.0]
    del made["count"]
    names: dict[str, Any] = dict(made)
    return [name for name in made if names[name] == made.rate]


def main() -> None:
    made = session()
    assert_type(bump(1.0), float)
    f: vlad.Procedure = made.eval("(lambda (x) (* x (bump (half (* 2 x)))))")
    assert abs(slope(made.eval("(lambda (x) (* x (bump x)))"), 0.0) - 1.0) < 1e-12
    assert f(0.0) == 0.0
    assert total(made.eval("(lambda (q) (* 3 (cdr (car q))))"), {"a": 1.0}) == {"a": 3.0}
    assert refused(made)[0].startswith("1:1")
    assert_type(way(made), list[tuple[str, int]])
    assert way(made) == [("inner", 1), ("outer", 2)]
    again = vlad.loads(vlad.dumps(made.eval("(lambda (x) (* x x))")), made)
    assert again(3.0) == 9.0
    compiled: vlad.Procedure = vlad.compile(vlad.Session(tier="auto").eval("(lambda (x) (* x x))"), 1.0)
    assert compiled(3.0) == 9.0
    assert named(made) == ["rate"] and len(made) > 1
    print("the types are right")


if __name__ == "__main__":
    main()
