"""The common check of programs with tensors: compiled results equal those of tier 0, including the kind of every number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sessions import shared_for

import vlad
from vlad import VladError

DOUBLES, FLOATS = (1e-9, 1e-11), (2e-6, 1e-6)  # relative and absolute
A = np.arange(6.0).reshape(2, 3) + 0.5
Q = A.astype("float32")
V, W = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])


def same(a: Any, b: Any, tolerance: tuple[float, float] = DOUBLES) -> bool:
    """Equal up to rounding, of the same shapes and kinds."""
    if isinstance(a, np.ndarray):
        alike = isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
        if a.dtype.kind == "f":
            r, size = FLOATS if a.dtype == np.float32 else tolerance
            return alike and np.allclose(a, b, rtol=r, atol=size, equal_nan=True)
        return alike and np.array_equal(a, b)
    if type(a) is float:
        return type(b) is float and bool(np.isclose(a, b, *tolerance, equal_nan=True))
    if isinstance(a, list | tuple):
        return (
            type(a) is type(b)
            and len(a) == len(b)
            and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
        )
    return bool(type(a) is type(b) and a == b)


def answer(session: vlad.Session, text: str, operands: tuple[Any, ...]) -> list[Any]:
    """The results of the first and the second call of a procedure; an error's message and place."""
    try:
        f = session.eval(text)
        return [f(*operands), f(*operands)]
    except VladError as error:
        place = None if error.span is None else (error.span.line, error.span.column)
        return [error.message, place]


def agree(text: str, *operands: Any, compiled: bool = True) -> list[Any]:
    """The results of both tiers, which must agree. `compiled`: the procedure must be compiled, and its result is used. Results
    computed from floats have their precision.
    """
    evaluating, compiling = shared_for(text, "evaluate"), shared_for(text, "compile")
    expected, found = [answer(session, text, operands) for session in (evaluating, compiling)]
    has_floats = "float32" in text or any(getattr(x, "dtype", None) == np.float32 for x in operands)
    assert same(expected, found, FLOATS if has_floats else DOUBLES), (text, operands, expected, found)
    if compiled:
        assert compiling.tiers.disagreements == 0
        assert {entry.reason for entry in compiling.tiers.entries.values()} == {None}, text
    return found


def side_by_side(session: vlad.Session, texts: Sequence[str], count: int) -> Callable[..., list[Any]]:
    """The results of several functions of the same `count` operands, as one program: the C compiler runs once instead of for each
    of them. Each has operands of its own, so that nothing is computed once for two of them.
    """
    names = [[f"of-{place}-{n}" for n in range(count)] for place in range(len(texts))]
    calls = [f"({text} {' '.join(own)})" for text, own in zip(texts, names, strict=True)]
    whole = session.eval(f"(lambda ({' '.join(itertools.chain(*names))}) (list {' '.join(calls)}))")
    return lambda *operands: whole(*operands * len(texts))
