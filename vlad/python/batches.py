"""Procedures on many arguments at once, for Python: `vlad.vmap`.

In: procedures of a session.  Out: procedures of the same session; the language's `vmap` computes their results
(primitives/batches.py).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from vlad.data.errors import VladError, WrongOption
from vlad.data.values import Value
from vlad.python.call_errors import AXES, reword_rows
from vlad.python.convert import RESTRUCTURES
from vlad.python.derivatives import Derived, Gradient, made_by_operator, session_procedure

Axis = int | str | None


class Batched(Derived):
    """A procedure on rows."""

    __slots__ = ()

    def reword(self, error: VladError, arguments: tuple[Any, ...]) -> None:
        super().reword(error, arguments)
        reword_rows(error)


class BatchedGradient(Gradient):
    """A gradient, or the like, on rows: its results have the structure of the arguments."""

    __slots__ = ()

    reshapes = RESTRUCTURES

    def reword(self, error: VladError, arguments: tuple[Any, ...]) -> None:
        super().reword(error, arguments)
        reword_rows(error)

    def _like_arguments(self, value: Value, arguments: tuple[Any, ...]) -> Any:
        assert isinstance(self.of, Gradient)
        return self.of._like_arguments(value, arguments)

    def _shaped(self, leaves: tuple[Any, ...]) -> Any:
        return NotImplemented


_NOT_GIVEN: Any = object()


def vmap(f: Any = _NOT_GIVEN, *, axes: Axis | Sequence[Any] = 0) -> Any:
    """The procedure that maps f over the rows of its arguments, and puts the answers together.

    The rows of an array are its parts along its first axis; numbers and other values without axes are the same for each row. A
    number in an answer becomes an array, and an array gets one axis more, in front. `axes` is another axis, None for what all
    rows share, or "list" for a list of rows; or a sequence of these, one for each argument. Usable as a decorator, with and
    without axes. Raises VladError if `f` is no procedure of a session and no Python function, and WrongOption for other axes.
    """
    if f is _NOT_GIVEN:
        return functools.partial(vmap, axes=axes)
    f = session_procedure(f, "mapped")
    text = "" if type(axes) is int and axes == 0 else f"(lambda (operator f) (vmap f #:axes {_text(axes)}))"
    kind = BatchedGradient if isinstance(f, Gradient) else Batched
    return made_by_operator(kind, f, "vmap", text)


def _text(axes: Any) -> str:
    if axes is None:
        return "#f"
    if type(axes) is int:
        return str(axes)
    if axes == "list":
        return "'list"
    if isinstance(axes, list | tuple) and axes:
        return f"(list {' '.join(map(_text, axes))})"
    raise WrongOption(
        "invalid-argument", f"vmap: axes is {axes!r}",
        hint=AXES,
    )  # fmt: skip
