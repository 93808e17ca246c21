"""Derivatives of tensor operations: in both modes, nested, compared with each other and with differences."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

import vlad

# Of random shapes: more than fifty were required; but each is compiled separately if everything is.
EXAMPLES = 4 if os.environ.get("VLAD_TIER") == "compile" else 55

SETUP = """
(define (first-R h x d) (sum (* ((gradient-R h) x) d)))
(define (first-F h x d) ((derivative-F (lambda (t) (h (+ x (* t d))))) 0))
(define (second first-1 first-2) (lambda (h x d e) (first-1 (lambda (y) (first-2 h y d)) x e)))
(define second-RR (second first-R first-R))
(define second-RF (second first-R first-F))
(define second-FR (second first-F first-R))
(define second-FF (second first-F first-F))
(define (third-R h x d) (first-R (lambda (z) (second-RR h z d d)) x d))
(define (third-F h x d) (first-F (lambda (z) (second-FR h z d d)) x d))
(define (weighted f w) (lambda (x) (sum (* w (f x)))))
(define (flat l)
  (cond ((null? l) '()) ((tensor? l) (tensor->list (reshape l -1))) ((real? l) (list l))
        (else (append (flat (car l)) (flat (cdr l))))))
(define (flattening f) (lambda (x) (tensor (flat (f x)))))
"""


@functools.cache
def procedure(session: vlad.Session, text: str) -> Any:
    """Cached by text: so it is transformed, and compiled, only once."""
    return session.eval(text)


# Not smooth if entries are equal or whole, or hardly so if all of them are.
APART = {"max", "min", "maximum", "minimum", "max-pool", "abs", "sign", "relu", "floor", "where", "if", "det", "quotient",
         "modulo", "remainder", "batch-norm", "batch-statistics", "sorted"}  # fmt: skip
CELLS = 256


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\s()'#\[\]\"]+", text))


LAYOUTS = ["side by side", "with steps", "backwards", "turned", "repeated"]


def operand(text: str, seed: int, shape: tuple[int, ...], low: float, high: float, place: int = 0) -> Any:
    """Random numbers for a text, the first or the second operand of it."""
    if words(text) & APART:
        return random(seed, shape, low, high, share=(0.25, 0.75)[place])
    return random(seed, shape, low, high, layouts=LAYOUTS)


def random(
    seed: int,
    shape: tuple[int, ...],
    low: float,
    high: float,
    share: float | None = None,
    layouts: Sequence[str] = LAYOUTS[:-1],
) -> Any:
    """Numbers of a shape, whose entries lie in memory in one of several ways.

    With a share they lie apart: each in a cell of its own of so many from low to high, none of which are near each other or
    the ends of cells, nor near the numbers with another share.
    """
    r = np.random.default_rng(seed)
    layout = layouts[r.integers(len(layouts))]
    axis = int(r.integers(max(1, len(shape))))

    def numbers(shape: tuple[int, ...]) -> Any:
        if share is None:
            return r.uniform(low, high, shape)
        cells = r.choice(CELLS, math.prod(shape), replace=False)
        return (low + (high - low) * (cells + share) / CELLS).reshape(shape)

    def along(length: int) -> tuple[int, ...]:
        return (*shape[:axis], length, *shape[axis + 1 :])

    def every(step: int) -> tuple[slice, ...]:
        return (slice(None),) * axis + (slice(None, None, step),)

    if not shape:
        return float(numbers(()))
    if layout == "with steps":
        wide = np.zeros(along(2 * shape[axis]))
        wide[every(2)] = numbers(shape)
        return wide[every(2)]
    if layout == "backwards":
        return numbers(shape)[every(-1)]
    if layout == "turned":
        order = r.permutation(len(shape))
        return np.transpose(numbers(tuple([shape[k] for k in order])), np.argsort(order))
    if layout == "repeated":
        return np.broadcast_to(numbers(along(1)), shape)
    return numbers(shape)


# Of the test that runs: the shapes of the operands of its examples so far, and whether one failed.
BEEN: set[Any] = set()
FAILED = "failed"


def at_shapes(count: int = EXAMPLES, **drawn: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """Passes drawn examples to a test, no two of the same shapes; the test calls `only_once` with each.

    Hypothesis alone counts different numbers as different examples: half of sixty examples repeated shapes.
    """

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def tried(*fixtures: Any, **named: Any) -> None:
            try:
                test(*fixtures, **named)
            except UnsatisfiedAssumption:
                raise
            except Exception:
                BEEN.add(FAILED)
                raise

        examples = settings(max_examples=count, deadline=None)(given(**drawn)(tried))

        @functools.wraps(examples)
        def counted(*fixtures: Any, **named: Any) -> None:
            BEEN.clear()
            examples(*fixtures, **named)
            assert len(BEEN) == count, f"it was at {len(BEEN)} different shapes instead of {count}"

        return counted

    return decorate


def only_once(shapes: Any) -> None:
    """Goes on if no example was of these shapes.

    Or after one failed: then a simpler one that fails, too, is looked for, and has to fail whenever it is tried.
    """
    assume(FAILED in BEEN or shapes not in BEEN)
    BEEN.add(shapes)


def lengths(least: int = 0, most: int = 4) -> st.SearchStrategy[int]:
    """Of axes: seldom 0, which makes all of a tensor empty."""
    return st.sampled_from([n for n in (*[*range(1, most + 1)] * (12 // most), 0) if n >= least])


LONGEST = (1, 12, 6, 4, 2)  # by how many axes there are


def shapes(least: int = 0, shortest: int = 0, most: int = 12) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of up to four axes, the shorter the more there are; the simplest, with which hypothesis begins, has none."""
    ranks = st.sampled_from([rank for rank in (0, 1, 1, 2, 2, 2, 3, 3, 3, 4) if rank >= shortest])
    return ranks.flatmap(lambda rank: st.tuples(*[lengths(least, min(most, LONGEST[rank]))] * rank))


seeds = st.integers(0, 10_000)


STEP = 1e-4


def check(session: vlad.Session, f: Any, x: Any, seed: int) -> None:
    """Derivatives to the third of a weighted sum of the function's results, in every way.

    Differences of the fourth order (Fornberg 1988) are accurate to about ten digits.
    """
    if isinstance(f(x), list):
        f = session["flattening"](f)
    d, e, w = [
        random(seed + k, s, -1, 1) for k, s in ((1, np.shape(x)), (2, np.shape(x)), (3, np.shape(f(x))))
    ]
    h = session["weighted"](f, w)

    def along(direction: Any, of: Any) -> Any:
        near, far = [of(x + step * direction) - of(x - step * direction) for step in (STEP, 2 * STEP)]
        return (8 * near - far) / (12 * STEP)

    slope = along(d, h)
    firsts = [session[name](h, x, d) for name in ("first-R", "first-F")]
    assert firsts == pytest.approx([slope] * 2, rel=1e-6, abs=1e-8 * max(1.0, abs(slope)))
    curve = along(e, lambda at: session["first-R"](h, at, d))
    seconds = [session[name](h, x, d, e) for name in ("second-RR", "second-RF", "second-FR", "second-FF")]
    assert seconds == pytest.approx([curve] * 4, rel=1e-6, abs=1e-8 * max(1.0, abs(curve)))
    assert seconds == pytest.approx([seconds[0]] * 4, rel=1e-11, abs=1e-11 * max(1.0, abs(curve)))
    thirds = [session[name](h, x, d) for name in ("third-R", "third-F")]
    assert thirds[0] == pytest.approx(thirds[1], rel=1e-10, abs=1e-10 * max(1.0, abs(thirds[1])))
