"""Derivatives of what tensors go through: in both modes, nested, beside each other and beside differences."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import pytest

import vlad

# Of random shapes, each of which is compiled for itself where everything is.
EXAMPLES = 4 if os.environ.get("VLAD_TIER") == "compile" else 60

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
    """The same for the same text: so it is transformed, and compiled, but once."""
    return session.eval(text)


def random(seed: int, shape: tuple[int, ...], low: float, high: float) -> Any:
    """Numbers of a shape, of which every other time the entries do not lie side by side."""
    r = np.random.default_rng(seed)
    whole = r.uniform(low, high, (*shape[:-1], 2 * shape[-1])) if shape else r.uniform(low, high)
    if not shape:
        return float(whole)
    return whole[..., ::2] if seed % 2 else np.ascontiguousarray(whole[..., ::2])


def check(session: vlad.Session, f: Any, x: Any, seed: int) -> None:
    """Derivatives to the third of a weighted sum of what the function answers, every way."""
    if isinstance(f(x), list):
        f = session["flattening"](f)
    d, e, w = [
        random(seed + k, s, -1, 1) for k, s in ((1, np.shape(x)), (2, np.shape(x)), (3, np.shape(f(x))))
    ]
    h = session["weighted"](f, w)

    def along(direction: Any, of: Any) -> Any:
        return (of(x + 1e-5 * direction) - of(x - 1e-5 * direction)) / 2e-5

    slope = along(d, h)
    firsts = [session[name](h, x, d) for name in ("first-R", "first-F")]
    assert firsts == pytest.approx([slope] * 2, rel=1e-6, abs=1e-6 * max(1.0, abs(slope)))
    curve = along(e, lambda at: session["first-R"](h, at, d))
    seconds = [session[name](h, x, d, e) for name in ("second-RR", "second-RF", "second-FR", "second-FF")]
    assert seconds == pytest.approx([curve] * 4, rel=1e-5, abs=1e-5 * max(1.0, abs(curve)))
    assert seconds == pytest.approx([seconds[0]] * 4, rel=1e-11, abs=1e-11 * max(1.0, abs(curve)))
    thirds = [session[name](h, x, d) for name in ("third-R", "third-F")]
    assert thirds[0] == pytest.approx(thirds[1], rel=1e-10, abs=1e-10 * max(1.0, abs(thirds[1])))
