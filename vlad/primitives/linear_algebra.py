"""The rows of products of tensors, and of systems of linear equations (arrays.py has the conventions)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vlad.core.kernels import Access, broadcast, contiguous
from vlad.core.types import is_tensor
from vlad.errors import VladError
from vlad.primitives.arrays import (
    array_of,
    constant,
    library,
    numpy,
    row,
)
from vlad.primitives.elementwise import unlike
from vlad.primitives.kernels import (
    Shape,
    broadcast_shape,
    is_number,
    known,
    loops,
    reduced,
    reshaped,
    shape_of,
)
from vlad.primitives.numbers import invalid
from vlad.tensors import Array, made, namespace, numbers, quiet, shape_text
from vlad.values import TRUE, Primitive, Value, list_of


def _matmul(a: Value, b: Value) -> Value:
    x, y = array_of("matmul", a), array_of("matmul", b)
    if not x.ndim or not y.ndim:
        raise invalid("matmul", "tensors", a, b)
    try:
        with quiet():
            return made(library(a, b).matmul(numbers(a), numbers(b)))
    except ValueError:
        hint = "the last axis of the first and the last but one of the second have to be equal"
        raise unlike("matmul", (a, b), hint) from None


def _abstract_matmul(w: Any, a: Any, b: Any) -> Any:
    """Sums over the last axis of one and the last but one of the other."""
    if not is_tensor(a.type) or not is_tensor(b.type):
        return w.fail("Argument to matmul is invalid")
    if a.type.of.kind == b.type.of.kind == "i":
        return w.left_out("tensors of integers are")
    own_a, own_b = shape_of(a), shape_of(b)
    rows, columns = _as_matrices(own_a, own_b)
    batch = broadcast_shape([rows[:-2], columns[:-2]])
    if rows[-1] != columns[-2] or batch is None:
        return w.fail(f"Shapes given to matmul do not fit: {shape_text(own_a)} and {shape_text(own_b)}")
    extents = (*batch, rows[-2], columns[-1], rows[-1])
    left, right = broadcast(rows[:-2], batch).strides, broadcast(columns[:-2], batch).strides
    left = tuple([stride * rows[-2] * rows[-1] for stride in left])
    right = tuple([stride * columns[-2] * columns[-1] for stride in right])
    accesses = [Access(0, (*left, rows[-1], 0, 1)), Access(0, (*right, 0, 1, columns[-1]))]
    whole = (*batch, rows[-2], columns[-1])
    shape = batch + (own_a[-2:-1] if len(own_a) > 1 else ()) + (own_b[-1:] if len(own_b) > 1 else ())
    return loops(
        w, extents, [a, b], accesses, shape, steps=[(w.machine.table["*"], (0, 1))],
        write=Access(0, (*contiguous(whole), 0)) if shape else None, combine="+",
    )  # fmt: skip


def _as_matrices(a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """The shapes of the operands of a product, were vectors matrices."""
    return a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)


def _abstract_dot(w: Any, a: Any, b: Any) -> Any:
    if len(shape_of(a)) != 1 or shape_of(a) != shape_of(b):
        return w.fail(
            f"Shapes given to dot do not fit: {shape_text(shape_of(a))} and {shape_text(shape_of(b))}"
        )
    return reduced(w, w.apply(w.machine.table["*"], [a, b]), [0], False, "+")


def _abstract_outer(w: Any, a: Any, b: Any) -> Any:
    if len(shape_of(a)) != 1 or len(shape_of(b)) != 1:
        return w.fail(
            f"Shapes given to outer do not fit: {shape_text(shape_of(a))} and {shape_text(shape_of(b))}"
        )
    return w.apply(w.machine.table["*"], [reshaped(w, a, (*shape_of(a), 1)), b])


def _abstract_norm(w: Any, t: Any) -> Any:
    if not is_number(t):
        return w.fail("Argument to norm is invalid")
    table = w.machine.table
    squares = w.apply(table["*"], [t, t])
    total = reduced(w, squares, range(len(shape_of(t))), False, "+") if is_tensor(t.type) else squares
    return w.apply(table["sqrt"], [total])


def _matrix_dims(t: Value, as_row: Value) -> Value:
    """The shape of a tensor as matmul takes it: a vector is a row or a column."""
    return list_of([float(length) for length in _matrix_shape(t.shape, as_row)])


def _matrix_shape(shape: Shape, as_row: Value) -> Shape:
    return shape if len(shape) != 1 else (1, *shape) if as_row is TRUE else (*shape, 1)


def _product_dims(a: Value, b: Value) -> Value:
    """The shape of a product, had vectors been matrices."""
    return list_of([float(length) for length in _product_shape(a.shape, b.shape)])


def _product_shape(a: Shape, b: Shape) -> Shape:
    left, right = _as_matrices(a, b)
    batch = broadcast_shape([left[:-2], right[:-2]])
    assert batch is not None
    return (*batch, left[-2], right[-1])


def _dot(a: Value, b: Value) -> Value:
    x, y = array_of("dot", a), array_of("dot", b)
    if x.ndim != 1 or x.shape != y.shape:
        raise unlike("dot", (a, b), "dot takes two vectors of one length")
    with quiet():
        return made(library(a, b).vecdot(numbers(a), numbers(b)))


def _outer(a: Value, b: Value) -> Value:
    x, y = array_of("outer", a), array_of("outer", b)
    if x.ndim != 1 or y.ndim != 1:
        raise unlike("outer", (a, b), "outer takes two vectors")
    return made(numbers(a)[:, None] * numbers(b)[None, :])


def _solve(a: Value, b: Value) -> Value:
    x, y = array_of("solve", a), array_of("solve", b)
    if x.ndim != 2 or x.shape[0] != x.shape[1] or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise unlike("solve", (a, b), "solve takes a square matrix and a vector or matrix of as many rows")
    return _solved("solve", lambda: library(a, b).linalg.solve(x, y))


def _inverse(a: Value) -> Value:
    x = array_of("inverse", a)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise unlike("inverse", (a,), "inverse takes a square matrix")
    return _solved("inverse", lambda: namespace(x).linalg.inv(x))


def _solved(name: str, rule: Callable[[], Array]) -> Value:
    try:
        return made(rule())
    except numpy().linalg.LinAlgError:
        raise VladError(
            "singular-matrix", f"Matrix given to {name} is singular", hint="its determinant is 0"
        ) from None


def _norm(t: Value) -> Value:
    array = array_of("norm", t)
    with quiet():
        return float(library(t).linalg.norm(numbers(t).reshape(-1) if array.ndim else array.reshape(-1)))


def _solve_slope(g: Value, x: Value) -> Value:
    a, b = g.array, x.array
    return made(-(a[:, None] * b[None, :]) if a.ndim == 1 else -(a @ b.T))


ROWS: list[Primitive] = [
    row("dot", "a b", "The inner product of two vectors.",
         linear="a b", value=_dot, abstract=_abstract_dot, forward="(accumulate (dot da b) (dot a db))",
         reverse={"a": "(sum-like (* s b) a)", "b": "(sum-like (* s a) b)"}),
    row("matmul", "a b", "The product of matrices; a vector is a row on the left, a column on the right.",
         linear="a b", value=_matmul, abstract=_abstract_matmul,
         forward="(accumulate (matmul da b) (matmul a db))",
         reverse={
             "a": """(let ((m (reshape s (product-dims a b))))
                (let ((g (matmul m (swap (reshape b (matrix-dims b #f))))))
                  (reshape (sum-like g (reshape a (matrix-dims a #t))) (shape a))))""",
             "b": """(let ((m (reshape s (product-dims a b))))
                (let ((g (matmul (swap (reshape a (matrix-dims a #t))) m)))
                  (reshape (sum-like g (reshape b (matrix-dims b #f))) (shape b))))""",
         }),
    constant("matrix-dims", "t as-row", "The shape of a vector as a matrix.", linear="t", value=_matrix_dims, hidden=True,
             abstract=lambda w, t, as_row: w.value(list_of([float(n) for n in _matrix_shape(shape_of(t), known(w, as_row))]))),
    constant("product-dims", "a b", "The shape of a product of matrices.", linear="a b", value=_product_dims, hidden=True,
             abstract=lambda w, a, b: w.value(list_of([float(n) for n in _product_shape(shape_of(a), shape_of(b))]))),
    row("outer", "a b", "The products of all entries of two vectors.", linear="a b", value=_outer, abstract=_abstract_outer,
         forward="(accumulate (outer da b) (outer a db))",
         reverse={"a": "(sum-like (matmul s b) a)", "b": "(sum-like (matmul a s) b)"}),
    row("norm", "t", "The square root of the sum of the squares.", forward="(/ (sum (* t dt) #f #f) (where (= r 0) 1 r))",
         value=_norm, abstract=_abstract_norm, reverse={"t": "(* s (/ t (where (= r 0) 1 r)))"}),
    row("solve", "a b", "The x for which a x = b, a square matrix.", linear="b", value=_solve,
         forward="(solve a (complete r (accumulate db (negate (matmul da r)))))",
         reverse={"a": "(solve-slope (solve (swap a) s) r)", "b": "(solve (swap a) s)"}),
    row("solve-slope", "g x", "Minus g times x transposed.", linear="g x", hidden=True, value=_solve_slope,
         forward="(accumulate (solve-slope dg x) (solve-slope g dx))",
         reverse={"g": "(negate (matmul s x))", "x": "(negate (matmul (swap s) g))"}),
    row("inverse", "a", "The inverse of a square matrix.", _inverse, forward="(negate (matmul r (matmul da r)))",
         reverse={"a": "(negate (matmul (swap r) (matmul s (swap r))))"}),
]  # fmt: skip
