"""Sums of products over several axes, which the library computes block by block: convolutions, their transposes, and einsums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import same
from sessions import shared
from test_row_loops import flat

import vlad

pytestmark = pytest.mark.any_compiler


def by_definition(x: Any, w: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """A convolution, entry by entry of the filters."""
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    out, _, *window = w.shape
    high, wide = [
        (n - dilation * (size - 1) - 1) // stride + 1 for n, size in zip(x.shape[2:], window, strict=True)
    ]
    parts = np.stack(np.split(x, groups, axis=1), axis=1)
    filters = w.reshape(groups, out // groups, *w.shape[1:])
    total: Any = 0
    for i, j in np.ndindex(*window):
        rows, columns = [
            slice(at * dilation, at * dilation + (count - 1) * stride + 1, stride)
            for at, count in ((i, high), (j, wide))
        ]
        total = total + np.einsum("ngchw,gfc->ngfhw", parts[..., rows, columns], filters[..., i, j])
    return total.reshape(len(x), out, high, wide)


# Images, filters, stride, padding, dilation, groups: of terms and of places that are cut into blocks, of a few large places of
# many images, of images of one entry, and of results that lie apart.
LARGE = [
    ((2, 6, 9, 9), (8, 6, 3, 3), 1, 1, 1, 1), ((1, 130, 8, 8), (5, 130, 3, 3), 1, 1, 1, 1),
    ((5, 40, 3, 2), (30, 40, 3, 1), 2, 1, 1, 1), ((2, 5, 41, 43), (7, 5, 2, 3), 1, 0, 1, 1),
    ((2, 16, 12, 12), (20, 16, 1, 1), 1, 0, 1, 1), ((2, 16, 13, 13), (20, 16, 1, 1), 2, 0, 1, 1),
    ((2, 10, 15, 15), (12, 5, 3, 3), 2, 1, 2, 2), ((9, 64, 1, 1), (70, 64, 1, 1), 1, 0, 1, 1),
    ((3, 24, 7, 7), (24, 12, 2, 2), 3, 1, 1, 2),
]  # fmt: skip
ALL = """(lambda (x w c) (let ((f (lambda (x w) (sum (* c (conv2d x w {0}))))) (g (lambda (x w) (sum (square (conv2d x w {0}))))))
  (list (conv2d x w {0}) ((gradient (lambda (x) (f x w))) x) ((gradient (lambda (w) (f x w))) w) ((gradient g) x w)
        (hvp (lambda (x) (g x w)) x (cos x)) (hvp (lambda (w) (g x w)) w (cos w)))))"""


@pytest.mark.parametrize("case", LARGE)
def test_convolutions(case: Any) -> None:
    """Their values by definition, each gradient as the transpose that the inner products show, and all else as on tier 0."""
    images, filters, stride, padding, dilation, groups = case
    numbers = np.random.default_rng(1)
    x, w = numbers.normal(size=images), numbers.normal(size=filters)
    expected = by_definition(x, w, stride, padding, dilation, groups)
    c = numbers.normal(size=expected.shape)
    text = ALL.format(f"#:stride {stride} #:padding {padding} #:dilation {dilation} #:groups {groups}")
    found = shared("compile").eval(text)(x, w, c)
    assert same(found[0], expected)
    total = (c * expected).sum()
    assert [(found[1] * x).sum(), (found[2] * w).sum()] == pytest.approx([total, total], rel=1e-9)
    assert same(found, shared("evaluate").eval(text)(x, w, c))
    floats = [one.astype("float32") for one in (x, w, c)]
    for one, exact in zip(flat(shared("compile").eval(text)(*floats)), flat(found), strict=True):
        assert one.dtype == np.float32
        assert np.allclose(one, exact, rtol=1e-4, atol=1e-5 * np.abs(exact).max())


EINSUMS = {
    "nchw,fchw->nf": ((6, 5, 4, 6), (7, 5, 4, 6)), "ndh,hde->ne": ((50, 6, 8), (8, 6, 9)),
    "bid,bjde->bije": ((3, 11, 12), (3, 7, 12, 9)), "abk,kcd->acbd": ((7, 8, 12), (12, 5, 6)),
    "abk,kcd->dbca": ((7, 8, 12), (12, 5, 6)), "kab,cak->abc": ((30, 4, 40), (30, 4, 30)),
}  # fmt: skip


@pytest.mark.parametrize("labels", EINSUMS)
def test_einsums(labels: str) -> None:
    numbers = np.random.default_rng(2)
    a, b = [numbers.normal(size=shape) for shape in EINSUMS[labels]]
    text = f"""(lambda (a b) (let ((f (lambda (a b) (einsum "{labels}" a b))))
      (list (f a b) ((gradient (lambda (a b) (sum (square (f a b))))) a b))))"""
    found = shared("compile").eval(text)(a, b)
    assert same(found[0], np.einsum(labels, a, b))
    assert same(found, shared("evaluate").eval(text)(a, b))


@pytest.mark.system_compiler
def test_the_bits_are_the_same_for_any_number_of_threads() -> None:
    numbers = np.random.default_rng(3)
    x, w = numbers.normal(size=(5, 24, 20, 20)), numbers.normal(size=(32, 24, 3, 3))
    text = "(lambda (x w) (list (conv2d x w) ((gradient (lambda (x w) (sum (sin (conv2d x w))))) x w)))"
    found = [flat(vlad.Session(tier="compile", threads=count).eval(text)(x, w)) for count in (1, 2, 5)]
    for other in found[1:]:
        assert [one.tobytes() for one in other] == [one.tobytes() for one in found[0]]
    for one, exact in zip(found[0], flat(shared("evaluate").eval(text)(x, w)), strict=True):
        np.testing.assert_allclose(one, exact, rtol=1e-9, atol=1e-9)


def test_any_number_of_images() -> None:
    """Compiled once for many, and none."""
    numbers = np.random.default_rng(4)
    w = numbers.normal(size=(16, 8, 3, 3))
    text = "(lambda (x w) (list (conv2d x w) ((gradient (lambda (x w) (sum (square (conv2d x w))))) x w)))"
    f, exact = [vlad.Session(tier=tier).eval(text) for tier in ("compile", "evaluate")]
    for count in (3, 5, 1, 0, 40):
        x = numbers.normal(size=(count, 8, 7, 7))
        assert same(f(x, w), exact(x, w)), count
