"""The rows of products of tensors, and of systems of linear equations (arrays.py has the conventions)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vlad.core.kernels import Access, broadcast, contiguous
from vlad.core.types import is_tensor
from vlad.devices import checking_singularity, device_of
from vlad.errors import VladError
from vlad.primitives.arrays import (
    array_of,
    constant,
    reals,
    row,
)
from vlad.primitives.elementwise import library, unlike
from vlad.primitives.kernels import (
    Shape,
    as_reals,
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
            return made(library("matmul", a, b).matmul(numbers(a), numbers(b)))
    except ValueError:
        hint = "the last axis of the first and the last but one of the second have to be equal"
        raise unlike("matmul", (a, b), hint) from None


def _abstract_matmul(w: Any, a: Any, b: Any) -> Any:
    """Sums over the last axis of one and the last but one of the other."""
    if not is_tensor(a.type) or not is_tensor(b.type):
        return w.fail("Argument to matmul is invalid")
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
    own = [Access(0, (1,)), Access(0, (1,))]
    return loops(
        w, shape_of(a), [a, b], own, (), steps=[(w.machine.table["*"], (0, 1))], combine="+",
    )  # fmt: skip


def _abstract_outer(w: Any, a: Any, b: Any) -> Any:
    if len(shape_of(a)) != 1 or len(shape_of(b)) != 1:
        return w.fail(
            f"Shapes given to outer do not fit: {shape_text(shape_of(a))} and {shape_text(shape_of(b))}"
        )
    return w.apply(w.machine.table["*"], [reshaped(w, a, (*shape_of(a), 1)), b])


def _abstract_norm(w: Any, t: Any) -> Any:
    if not is_number(t):
        return w.fail("Argument to norm is invalid")
    table, t = w.machine.table, as_reals(w, t)
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
        return made(library("dot", a, b).matmul(numbers(a), numbers(b)))


def _outer(a: Value, b: Value) -> Value:
    x, y = array_of("outer", a), array_of("outer", b)
    if x.ndim != 1 or y.ndim != 1:
        raise unlike("outer", (a, b), "outer takes two vectors")
    library("outer", a, b)
    return made(numbers(a)[:, None] * numbers(b)[None, :])


def _square(name: str, a: Value) -> Array:
    """A matrix of as many rows as columns, or several on leading axes."""
    if not _is_square(array_of(name, a)):
        raise unlike(name, (a,), f"{name} takes a square matrix, or several along leading axes")
    return reals(a.array)


def _is_square(x: Array) -> bool:
    return x.ndim > 1 and bool(x.shape[-1] == x.shape[-2])


def _solve(a: Value, b: Value) -> Value:
    x, y = array_of("solve", a), array_of("solve", b)
    if not _is_square(x) or not y.ndim or y.shape[-2 if y.ndim > 1 else 0] != x.shape[-1]:
        raise unlike("solve", (a, b), _SOLVED)
    xp, x, y = library("solve", a, b), reals(x), reals(y)
    columns = y[:, None] if y.ndim == 1 else y
    batch = broadcast_shape([x.shape[:-2], columns.shape[:-2]])
    if batch is None:
        raise unlike("solve", (a, b), _SOLVED)
    matrices = [
        xp.broadcast_to(one, batch + one.shape[-2:]) for one in (x, columns)
    ]  # not all libraries do it
    solved = _regular("solve", x, lambda: xp.linalg.solve(*matrices))
    return made(solved[..., 0] if y.ndim == 1 else solved)


_SOLVED = "solve takes square matrices and a vector or matrices of as many rows; leading axes are broadcast"


def _column_dims(t: Value, b: Value) -> Value:
    """The shape of t with columns, where b is a vector and t one or several."""
    shape = (*t.shape, 1) if len(b.shape) == 1 else t.shape
    return list_of([float(length) for length in shape])


def _inverse(a: Value) -> Value:
    x = _square("inverse", a)
    return made(_regular("inverse", x, lambda: namespace(x).linalg.inv(x)))


def _regular(name: str, matrix: Array, rule: Callable[[], Array]) -> Array:
    from numpy.linalg import LinAlgError  # the other libraries' own is this one

    try:
        with quiet(), checking_singularity(matrix):
            return rule()
    except LinAlgError:
        raise VladError(
            "singular-matrix", f"Matrix given to {name} is singular", hint="its determinant is 0"
        ) from None


def _det(a: Value) -> Value:
    x = _square("det", a)
    with quiet():
        return made(namespace(x).linalg.det(x))


def _unit(x: Array) -> Array:
    """The unit matrix beside x."""
    return device_of(x).make("eye", x.shape[-1], dtype=x.dtype)


def _cofactor(a: Value) -> Value:
    """det(U) det(V) U diag(the product of the other singular values, for each) V: exact where a is singular."""
    x = _square("det", a)
    xp = namespace(x)
    u, sizes, v = xp.linalg.svd(x)
    others = xp.prod(xp.where(_unit(x) == 1, 1.0, sizes[..., None, :]), axis=-1)
    orientation = xp.linalg.det(u) * xp.linalg.det(v)
    return made(orientation[..., None, None] * ((u * others[..., None, :]) @ v))


def _bordered(a: Value) -> Value:
    x = _square("det", a)
    xp = namespace(x)
    u, sizes, v = xp.linalg.svd(x)
    least = xp.finfo(x.dtype).eps * x.shape[-1]
    if x.shape[-1] > 1 and bool(xp.any(sizes[..., -2] <= least * sizes[..., 0])):
        raise VladError(
            "singular-matrix", "Matrix given to det has no second derivative here",
            hint="where the rank is two or more below the number of rows, det has a first derivative only",
        )  # fmt: skip
    whole = _zero_bordered_array(x)
    if x.shape[-1]:
        whole[..., :-1, -1], whole[..., -1, :-1] = u[..., :, -1], v[..., -1, :]
    else:
        whole[...] = 1.0
    return made(whole)


def _zero_bordered_array(x: Array) -> Array:
    n = x.shape[-1]
    whole = device_of(x).make("zeros", (*x.shape[:-2], n + 1, n + 1), dtype=x.dtype)
    whole[..., :-1, :-1] = x
    return whole


def _corner(t: Value) -> Value:
    xp, x = namespace(t.like), t.like
    last = device_of(x).make("arange", x.shape[-1]) == x.shape[-1] - 1
    return made(xp.astype(last[:, None] & last[None, :], x.dtype))


def _cholesky(a: Value) -> Value:
    from numpy.linalg import LinAlgError

    x = _square("cholesky", a)
    xp = namespace(x)
    try:
        with quiet(), checking_singularity(x):
            factor = xp.linalg.cholesky((x + xp.matrix_transpose(x)) / 2)
    except LinAlgError:
        raise _not_definite() from None
    if not bool(xp.all(xp.where(_unit(x) == 1, factor, 1.0) > 0)):  # a library that does not raise
        raise _not_definite()
    return made(factor)


def _not_definite() -> VladError:
    return VladError(
        "not-definite", "Matrix given to cholesky is not positive definite",
        hint="all its eigenvalues are to be positive; of a matrix that is not symmetric the symmetric part is taken",
    )  # fmt: skip


def _half_lower(t: Value) -> Value:
    """Of which a triangular matrix is made of a symmetric one: 1 below the diagonal, 1/2 on it, 0 above."""
    xp, x = namespace(t.like), t.like
    return made(xp.tril(device_of(x).make("ones", x.shape[-2:], dtype=x.dtype)) - _unit(x) / 2)


def _norm(t: Value) -> Value:
    array = reals(array_of("norm", t))
    xp = namespace(array)
    with quiet():
        return float(xp.sqrt(xp.sum(array * array)))


# The derivative of the cofactors C of a along e, at matrices of any rank but the lowest. Let m be a, bordered by its last
# singular vectors u and v, and k the inverse of m, which exists where a has all singular values but one. Then det a is
# det m times the last entry of k (by Cramer's rule), and C is, without its border,
#     det(m) (k_nn kᵀ - kᵀ J kᵀ),   J zero but for its last entry, 1:
# constant vectors u and v serve all matrices near a, so this has the derivatives of C, whatever the order.
_COFACTOR_SLOPE = """(let* ((m (bordered a)) (k (inverse m)) (j (corner k)) (e (zero-bordered E)) (t (swap k))
        (dk (negate (matmul k (matmul e k)))) (dt (swap dk)) (last (sum (* k j) '(-2 -1) #t))
        (c (- (* last t) (matmul t (matmul j t))))
        (dc (- (+ (* (sum (* dk j) '(-2 -1) #t) t) (* last dt)) (+ (matmul dt (matmul j t)) (matmul t (matmul j dt))))))
    (unbordered (* (spread (det m) k '(-2 -1)) (+ (* (sum (* t e) '(-2 -1) #t) c) dc))))"""


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
         forward="""(let ((x (reshape r (column-dims r b))))
            (reshape (solve a (- (reshape db (column-dims b b)) (matmul da x))) (shape r)))""",
         reverse={
             "a": """(let ((g (solve (swap a) (reshape s (column-dims s b)))))
                (sum-like (negate (matmul g (swap (reshape r (column-dims r b))))) a))""",
             "b": """(let ((g (solve (swap a) (reshape s (column-dims s b)))))
                (reshape (sum-like g (reshape b (column-dims b b))) (shape b)))""",
         }),
    constant("column-dims", "t b", "The shape of t as columns, where b is a vector.", linear="t b", value=_column_dims,
             hidden=True),
    row("inverse", "a", "The inverse of a square matrix.", _inverse, forward="(negate (matmul r (matmul da r)))",
         reverse={"a": "(negate (matmul (swap r) (matmul s (swap r))))"}),
    row("det", "a", "The determinant of a square matrix.", _det, forward="(sum (* (cofactor a) da) '(-2 -1) #f)",
         reverse={"a": "(* (spread s a '(-2 -1)) (cofactor a))"}),
    row("cofactor", "a", "The matrix of the cofactors: the slope of det.", _cofactor, hidden=True,
         forward=_COFACTOR_SLOPE.replace("E", "da"), reverse={"a": _COFACTOR_SLOPE.replace("E", "s")}),
    row("bordered", "a", "A matrix with its last singular vectors as one column and one row more.", _bordered, hidden=True,
         forward="(zero-bordered da)", reverse={"a": "(unbordered s)"}),
    row("zero-bordered", "t", "A matrix with zeros as one column and one row more.", linear="t", hidden=True,
         value=lambda t: made(_zero_bordered_array(t.array)), forward="(zero-bordered dt)", reverse={"t": "(unbordered s)"}),
    row("unbordered", "t", "A matrix without its last column and row.", linear="t", hidden=True,
         value=lambda t: made(t.array[..., :-1, :-1]), forward="(unbordered dt)", reverse={"t": "(zero-bordered s)"}),
    constant("corner", "t", "Zeros like a matrix, with 1 in the last entry.", _corner, hidden=True),
    # Murray 2016, Differentiation of the Cholesky decomposition, section 3; the matrix is made symmetric first
    row("cholesky", "a", "The lower triangular matrix whose product with its own transpose is a.", _cholesky,
         forward="""(let* ((e (* 0.5 (+ da (swap da)))) (inner (solve r (swap (solve r e)))))
            (matmul r (* inner (half-lower r))))""",
         reverse={"a": """(let* ((u (swap r)) (inner (* (matmul u s) (half-lower r)))
                                 (g (solve u (swap (solve u (swap inner))))))
            (* 0.5 (+ g (swap g))))"""}),
    constant("half-lower", "t", "Of what a symmetric matrix keeps in a triangular one.", _half_lower, hidden=True),
]  # fmt: skip
