"""Derivatives of tensor operations: in both modes, nested, compared with each other and with differences."""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from amounts import THOROUGH

import vlad
from vlad.compile.ir.refusals import MOST_VARIANTS

# Examples are drawn of so many random shapes; and tests are at those of them that have all features of the others and at least so
# many, or, if each shape is compiled separately, at that which has most of them. (More than fifty were required.)
MOST = 55
EACH_COMPILED = os.environ.get("VLAD_TIER") == "compile"
EXAMPLES = 1 if EACH_COMPILED else MOST if THOROUGH else 8

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


def seed_of(seed: int, place: int) -> int:
    """The seed of one of several operands, which lie in memory in every combination of ways."""
    return seed + place * (7 + seed // len(LAYOUTS))


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
    """Numbers of a shape, whose entries lie in memory in one of several ways, which seeds one after the other take in turn.

    With a share they lie apart: each in a cell of its own of so many from low to high, none of which are near each other or
    the ends of cells, nor near the numbers with another share.
    """
    r = np.random.default_rng(seed)
    layout = layouts[seed % len(layouts)]
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


Drawn = Callable[..., Any]  # takes a generator of random numbers


def at_shapes(
    draw: Drawn,
    count: int = EXAMPLES,
    key: Callable[[Any], Any] = lambda drawn: drawn,
    kinds: Callable[[Any], set[Any]] = lambda drawn: set(),
) -> Callable[[Any], Any]:
    """Calls a test with `drawn` and `seed` for each of so many examples, no two of the same shapes.

    `draw` makes an example with a generator of random numbers, and with those parameters of the test that it has, too; `key` is
    the shapes of one, `kinds` what else of it has to occur. A failure states the example.
    """
    parameters = [*inspect.signature(draw).parameters.values()][1:]
    names = [one.name for one in parameters if one.default is inspect.Parameter.empty]

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def at_each(**given: Any) -> None:
            named = {name: given[name] for name in names}
            found = examples(lambda r: draw(r, **named), count, key, kinds, str(sorted(named.items())))
            for seed, drawn in enumerate(found):
                try:
                    test(**given, drawn=drawn, seed=seed)
                except Exception as error:
                    error.add_note(f"This is the example {drawn}, with seed {seed}.")
                    raise

        whole = inspect.signature(test)
        fixtures = [one for name, one in whole.parameters.items() if name not in ("drawn", "seed")]
        at_each.__signature__ = whole.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return at_each

    return decorate


def examples(
    draw: Drawn, count: int, key: Callable[[Any], Any], kinds: Callable[[Any], set[Any]], seed: str
) -> list[Any]:
    """So many of `MOST` drawn ones, of different shapes, or more: first those that together have all features of the others."""
    r, found = Random(seed), dict[Any, Any]()
    for _ in range(20 * MOST):
        drawn = draw(r)
        found.setdefault(key(drawn), drawn)
        if len(found) == MOST:
            break
    assert len(found) >= count, f"there are {len(found)} different shapes instead of {count}"
    own = {shapes: features(shapes) | kinds(drawn) for shapes, drawn in found.items()}
    missing, chosen = set[Any]().union(*own.values()), list[Any]()
    while missing:
        chosen.append(max(own, key=lambda shapes: len(own[shapes] & missing)))
        missing -= own[chosen[-1]]
    several = [*chosen, *[shapes for shapes in found if shapes not in chosen]]
    return [found[shapes] for shapes in several[: count if EACH_COMPILED else max(count, len(chosen))]]


def features(shapes: Any) -> set[Any]:
    """Of a shape: how many axes there are, and whether some are empty or of length 1. Of several: those of each."""
    if not isinstance(shapes, tuple):
        return set()
    if all(isinstance(length, int) for length in shapes):
        return {f"{len(shapes)} axes", *[f"length {length}" for length in shapes if length < 2]}
    return {(place, feature) for place, shape in enumerate(shapes) for feature in features(shape)}


def a_length(r: Random, least: int = 0, most: int = 4) -> int:
    """Of an axis: seldom 0, which makes all of a tensor empty."""
    return r.choice([n for n in (*[*range(1, most + 1)] * (12 // most), 0) if n >= least])


LONGEST = (1, 12, 6, 4, 2)  # by how many axes there are


def a_shape(r: Random, least: int = 0, shortest: int = 0, most: int = 12) -> tuple[int, ...]:
    """A shape of up to four axes, the shorter the more there are."""
    rank = r.choice([rank for rank in (0, 1, 1, 2, 2, 2, 3, 3, 3, 4) if rank >= shortest])
    return tuple([a_length(r, least, min(most, LONGEST[rank])) for _ in range(rank)])


def several(r: Random, most: int = 2) -> tuple[int, ...]:
    """The leading axes of several matrices or vectors, if there are several."""
    return tuple([a_length(r, most=3) for _ in range(r.randint(0, most))])


STEP = 1e-4


def check(session: vlad.Session, f: Any, x: Any, seed: int) -> None:
    """Derivatives to the third of a weighted sum of the function's results, in every way.

    Differences of the fourth order (Fornberg 1988) are accurate to about ten digits.
    """
    value = f(x)
    if isinstance(value, list):
        f = session["flattening"](f)
        value = f(x)
    d, e, w = [
        random(seed + k, s, -1, 1) for k, s in ((1, np.shape(x)), (2, np.shape(x)), (3, np.shape(value)))
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
    if EACH_COMPILED:  # rather than on tier 0, for want of room
        assert all(len(entry.variants) < MOST_VARIANTS for entry in session.tiers.entries.values())
