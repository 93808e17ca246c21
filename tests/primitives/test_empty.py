"""Reductions of tensors without entries, on both tiers: kind, shape and entries of the results, and derivatives."""

from __future__ import annotations

import pytest
from running import TIERS, printed

pytestmark = pytest.mark.any_compiler

EMPTY = {
    "(logsumexp (zeros 0))": "-inf.0",
    "(logsumexp (zeros '(0 3)))": "-inf.0",
    "(logsumexp (zeros '(0 3)) #:axis 0)": "#[-inf.0 -inf.0 -inf.0]",
    "(logsumexp (zeros '(0 2)) #:axis 0 #:keep #t)": "#[[-inf.0 -inf.0]]",
    "(logsumexp (zeros '(0 3)) #:axis 1)": "#[]",
    "(logsumexp (zeros '(1 0 2)) #:axis '(0 1))": "#[-inf.0 -inf.0]",
    "(logsumexp (as-type (zeros '(0 2)) 'float32) #:axis 0)": "#<tensor float32 [-inf.0 -inf.0]>",
    "((gradient logsumexp) (zeros 0))": "#[]",
    "(shape ((gradient (lambda (x) (sum (logsumexp x #:axis 0)))) (zeros '(0 3))))": "(0 3)",
    "(jvp-F (lambda (x) (logsumexp x #:axis 0)) (zeros '(0 2)) (zeros '(0 2)))": "(#[-inf.0 -inf.0] . #[0 0])",
    "(shape ((hessian logsumexp) (zeros 0)))": "(0 0)",
    **{
        f"(let ((r ({name} (zeros '{shape}) #:axis {axis}))) (list (dtype r) (shape r)))": f"({kind} {left})"
        for name, kind in (("maximum", "float64"), ("minimum", "float64"), ("argmax", "int64"), ("argminimum", "int64"))
        for shape, axis, left in (("(0 3)", 1, "(0)"), ("(3 0)", 0, "(0)"), ("(2 0 3)", -1, "(2 0)"))
    },
    "(shape ((gradient (lambda (x) (sum (maximum x #:axis 1)))) (zeros '(0 3))))": "(0 3)",
    "(shape (cdr (jvp-F (lambda (x) (minimum x #:axis 1)) (zeros '(0 3)) (zeros '(0 3)))))": "(0)",
}  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
def test_of_nothing(tier: str) -> None:
    texts = list(EMPTY)
    lines = printed("\n".join(texts), tier).splitlines()
    assert dict(zip(texts, lines, strict=True)) == EMPTY
