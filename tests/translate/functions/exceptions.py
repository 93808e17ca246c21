"""Classes of exceptions of one's own."""

from __future__ import annotations

from typing import Any


class Stop(ValueError):
    pass


class Left(Exception):
    """What is left of a search, with a default and an attribute of the class."""

    code = 7

    def __init__(self, message: str, value: float, step: float = 0.5) -> None:
        super().__init__(message)
        self.value = value
        self.step = value * step if step > 0 else step

    def half(self) -> float:
        return self.value / 2


class Further(Left):
    def __init__(self, value: float) -> None:
        words = f"further {value:.1f}"
        Left.__init__(self, words, value, step=3.0)
        self.message = words.upper()


class Shown(Exception):
    def __init__(self, a: float, *rest: float) -> None:
        self.a = a
        self.rest = rest

    def __str__(self) -> str:
        return f"{self.a:.2f} and {len(self.rest)} more"


class Missing(KeyError):
    pass


def _searched(x: float, kind: float) -> float:
    if kind == 0:
        raise Stop("large")
    if kind == 1:
        raise Left("negative", x * x)
    if kind == 2:
        raise Further(x + 2)
    if kind == 3:
        raise Shown(x, 1.0, 2.0)
    if kind == 4:
        raise Missing("key")
    if kind == 5:
        raise Left(step=-1.0, value=x, message="by name")
    if kind == 6:
        raise OSError("no file")
    if kind == 7:
        raise Stop
    return x * 2


def _of_each(x: float, kind: float) -> Any:
    try:
        return _searched(x, kind)
    except Stop as e:
        return x, str(e), e.args
    except Further as e:
        return "further", e.value, e.step, e.args, str(e), e.message
    except Left as e:
        kinds = isinstance(e, (Stop, Shown))
        return (
            e.value,
            e.step,
            str(e),
            e.half(),
            e.code,
            isinstance(e, Further),
            isinstance(e, Exception),
            kinds,
        )
    except (Shown, Missing, OSError) as e:
        return str(e), e.args


def of_each(x: float = 3.0) -> list[Any]:
    return [_of_each(x, kind) for kind in range(9)]


def _of_bases(x: float, kind: float) -> float:
    try:
        y = _searched(x, kind)
    except ValueError:
        y = x**2
    except LookupError:
        y = x**3
    except Left:
        y = x**4
    except EnvironmentError:
        y = x**5
    except Exception:
        y = x**6
    return y


def of_bases(x: float = 1.1) -> float:
    total = 0.0
    for kind in range(9):
        total += _of_bases(x, kind)
    return total


def of_an_attribute(x: float = 3.0) -> float:
    try:
        _searched(x, 1)
    except Left as left:
        return left.value * left.step
    return 0.0


def kept_and_raised(x: float = 3.0) -> tuple[float, bool, list[str]]:
    errors = [Left("kept", x), Stop("other"), ValueError("plain")]
    found = []
    for error in errors:
        try:
            raise error
        except (Stop, Left) as got:
            found.append(str(got))
        except ValueError as got:
            found.append(str(got.args[0]))
    try:
        raise errors[0]
    except Left as got:
        return got.value, isinstance(got, ValueError), found


def stopped(x: float = 2.0) -> float:
    n = 0.0
    try:
        while True:
            n += 1
            if n * x > 9:
                raise Stop(f"after {n:.0f}", n * x)
    except Stop as stop:
        return stop.args[1] * n


def raised_to_python(x: float = 2.0) -> float:
    raise Further(x)


def _named(x: float, value: Any) -> Any:
    try:
        if value is None:
            raise Stop("none")
        if not isinstance(value, (list, str)):
            raise TypeError(f"found {type(value)}")
        return 1 / (x - x)
    except (TypeError, ArithmeticError, Stop) as e:
        return type(e).__name__, len(e.args), type(value).__name__, value.__class__.__name__


def names_of_classes(x: float = 2.5) -> list[Any]:
    values: list[Any] = ["a", [x], (x,), {"a": x}, None, True, {1, 2}, Left("a", x)]
    return [_named(x, value) for value in values] + [type(x).__name__, f"{type(x)} {type([])} {type(Stop(1))}"[-45:-12]]
