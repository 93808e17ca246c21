"""The rows of products of tensors, and of systems of linear equations (arrays.py has the conventions)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest

from vlad.devices import checking_singularity
from vlad.errors import VladError
from vlad.primitives.arrays import (
    array_of,
    constant,
    reals,
    row,
)
from vlad.primitives.elementwise import library, unlike
from vlad.primitives.numbers import invalid
from vlad.tensors import Array, made, namespace, numbers, quiet
from vlad.values import TRUE, Primitive, Value, list_of


def _matmul(a: Value, b: Value) -> Value:
    x, y = array_of("matmul", a), array_of("matmul", b)
    if not x.ndim or not y.ndim:
        raise invalid("matmul", "tensors", a, b)
    try:
        with quiet():
            return made(library("matmul", a, b).matmul(numbers(a), numbers(b)))
    except ValueError:
        hint = "the last axis of the first and the last but one of the second have to be equal"
        raise unlike("matmul", (a, b), hint) from None


def _matrix_dims(t: Value, as_row: Value) -> Value:
    """The shape of a tensor as matmul takes it: a vector is a row or a column."""
    shape = t.shape
    if len(shape) == 1:
        shape = (1, *shape) if as_row is TRUE else (*shape, 1)
    return list_of([float(length) for length in shape])


def _product_dims(a: Value, b: Value) -> Value:
    """The shape of a product, had vectors been matrices."""
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    pairs = zip_longest(left[-3::-1], right[-3::-1], fillvalue=1)
    batch = [y if x == 1 else x for x, y in pairs][::-1]
    return list_of([float(length) for length in (*batch, left[-2], right[-1])])


def _dot(a: Value, b: Value) -> Value:
    x, y = array_of("dot", a), array_of("dot", b)
    if x.ndim != 1 or x.shape != y.shape:
        raise unlike("dot", (a, b), "dot takes two vectors of one length")
    with quiet():
        return made(library("dot", a, b).matmul(numbers(a), numbers(b)))


def _outer(a: Value, b: Value) -> Value:
    x, y = array_of("outer", a), array_of("outer", b)
    if x.ndim != 1 or y.ndim != 1:
        raise unlike("outer", (a, b), "outer takes two vectors")
    library("outer", a, b)
    return made(numbers(a)[:, None] * numbers(b)[None, :])


def _solve(a: Value, b: Value) -> Value:
    x, y = array_of("solve", a), array_of("solve", b)
    if x.ndim != 2 or x.shape[0] != x.shape[1] or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise unlike("solve", (a, b), "solve takes a square matrix and a vector or matrix of as many rows")
    xp = library("solve", a, b)
    return _solved("solve", x, lambda: xp.linalg.solve(reals(x), reals(y)))


def _inverse(a: Value) -> Value:
    x = array_of("inverse", a)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise unlike("inverse", (a,), "inverse takes a square matrix")
    return _solved("inverse", x, lambda: namespace(x).linalg.inv(reals(x)))


def _solved(name: str, matrix: Array, rule: Callable[[], Array]) -> Value:
    from numpy.linalg import LinAlgError  # the other libraries' own is this one

    try:
        with checking_singularity(matrix):
            return made(rule())
    except LinAlgError:
        raise VladError(
            "singular-matrix", f"Matrix given to {name} is singular", hint="its determinant is 0"
        ) from None


def _norm(t: Value) -> Value:
    array = reals(array_of("norm", t))
    xp = namespace(array)
    with quiet():
        return float(xp.sqrt(xp.sum(array * array)))


def _solve_slope(g: Value, x: Value) -> Value:
    a, b = g.array, x.array
    return made(-(a[:, None] * b[None, :]) if a.ndim == 1 else -(a @ namespace(b).matrix_transpose(b)))


ROWS: list[Primitive] = [
    row("dot", "a b", "The inner product of two vectors.",
         linear="a b", value=_dot, forward="(accumulate (dot da b) (dot a db))",
         reverse={"a": "(sum-like (* s b) a)", "b": "(sum-like (* s a) b)"}),
    row("matmul", "a b", "The product of matrices; a vector is a row on the left, a column on the right.",
         linear="a b", value=_matmul,
         forward="(accumulate (matmul da b) (matmul a db))",
         reverse={
             "a": """(let ((m (reshape s (product-dims a b))))
                (let ((g (matmul m (swap (reshape b (matrix-dims b #f))))))
                  (reshape (sum-like g (reshape a (matrix-dims a #t))) (shape a))))""",
             "b": """(let ((m (reshape s (product-dims a b))))
                (let ((g (matmul (swap (reshape a (matrix-dims a #t))) m)))
                  (reshape (sum-like g (reshape b (matrix-dims b #f))) (shape b))))""",
         }),
    constant("matrix-dims", "t as-row", "The shape of a vector as a matrix.", linear="t", value=_matrix_dims, hidden=True),
    constant("product-dims", "a b", "The shape of a product of matrices.", linear="a b", value=_product_dims, hidden=True),
    row("outer", "a b", "The products of all entries of two vectors.", linear="a b", value=_outer,
         forward="(accumulate (outer da b) (outer a db))",
         reverse={"a": "(sum-like (matmul s b) a)", "b": "(sum-like (matmul a s) b)"}),
    row("norm", "t", "The square root of the sum of the squares.", forward="(/ (sum (* t dt) #f #f) (where (= r 0) 1 r))",
         value=_norm, reverse={"t": "(* s (/ t (where (= r 0) 1 r)))"}),
    row("solve", "a b", "The x for which a x = b, a square matrix.", linear="b", value=_solve,
         forward="(solve a (complete r (accumulate db (negate (matmul da r)))))",
         reverse={"a": "(solve-slope (solve (swap a) s) r)", "b": "(solve (swap a) s)"}),
    row("solve-slope", "g x", "Minus g times x transposed.", linear="g x", hidden=True, value=_solve_slope,
         forward="(accumulate (solve-slope dg x) (solve-slope g dx))",
         reverse={"g": "(negate (matmul s x))", "x": "(negate (matmul (swap s) g))"}),
    row("inverse", "a", "The inverse of a square matrix.", _inverse, forward="(negate (matmul r (matmul da r)))",
         reverse={"a": "(negate (matmul (swap r) (matmul s (swap r))))"}),
]  # fmt: skip
