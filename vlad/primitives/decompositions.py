"""The rows of matrix decompositions: eigh, qr and svd (arrays.py has the conventions).

They return a structure of all parts, so that a derivative is one statement; the sensitivity of an unused part
is the known zero, and products with it are not computed. A convention fixes the choices that a decomposition leaves open,
as tiers and devices would otherwise return different vectors: the largest entry of a vector is positive, and so is the diagonal
of R in qr.

The rate at which a vector turns towards another is inversely proportional to the difference of their values, which is
among the `gaps`. Vectors of values that are equal up to rounding are not unique: a tangent that couples them has no derivative,
which infinities express that become nan, and one that does not couple them contributes 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from vlad.control.budget import expect_arrays
from vlad.core.extents import real_of
from vlad.core.loop_nests import Access, Output, Routine, contiguous
from vlad.data.devices import device_of
from vlad.data.tensors import Array, kind_name, made, namespace, operands_of, quiet
from vlad.data.values import NIL, Primitive, Value, list_of
from vlad.primitives.arrays import array_of, constant, lengths_of, row
from vlad.primitives.data import boolean
from vlad.primitives.determinants import abstract_singular
from vlad.primitives.linear_algebra import (
    abstract_symmetric_part,
    diagonal_of,
    expect_few_rows,
    in_doubles,
    matrix,
    matrix_shape,
    parts_of,
    square_matrix,
    square_shape,
    symmetric_part,
    triangular,
    unit_matrix,
)
from vlad.primitives.shaping import in_shape
from vlad.primitives.type_rules import (
    Shape,
    copied,
    filled,
    kind_of,
    known,
    put_together,
    reduced,
    reshaped,
    shape_of,
    unfit,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

# Entries of a vector whose ratio is above this count as equally large: rounding does not choose between them.
ALIKE = 0.999
# By kind, the bound of the rounding error of a value, relative to the largest value and the number of rows. It is above LAPACK's
# bound, as derivatives of values that close are meaningless.
ROUNDING = {"float64": 2.0**-48, "float32": 2.0**-19}


def _eigh(a: Value) -> Value:
    x = symmetric_part(square_matrix("eigh", a))
    values, vectors = parts_of(x, lambda x: namespace(x).linalg.eigh(x))
    return made(values), made(vectors * _signs(vectors))


def _signs(vectors: Array) -> Array:
    """For each column 1, or -1 if its sign is to be changed."""
    xp = namespace(vectors)
    if not vectors.size:
        return vectors
    sizes = xp.abs(vectors)
    is_large = sizes >= ALIKE * xp.max(sizes, axis=-2, keepdims=True)
    first = xp.argmax(xp.astype(is_large, vectors.dtype), axis=-2, keepdims=True)
    return xp.sign(xp.take_along_axis(vectors, first, axis=-2))


def _abstract_eigh(w: AbstractMachine, a: Any) -> Any:
    shape = square_shape(w, "eigh", a)
    if shape is None:
        return None
    *batch, n, _ = shape
    line = (*batch, n)
    if 0 in shape:
        return w.pair(filled(w, line, 0.0), filled(w, shape, 0.0))
    expect_few_rows(w, "spectrum", n)
    routine = Routine("spectrum", (Output(math.prod(line)), Output(math.prod(shape))), n, 0, tuple(batch))
    results = [w.types.tensor(line), w.types.tensor(shape)]
    return w.pair(*w.loops(routine, [abstract_symmetric_part(w, a)], results))


def _qr(a: Value) -> Value:
    q, r = parts_of(matrix("qr", a), _positive_on_its_diagonal)
    return made(q), made(r)


def _positive_on_its_diagonal(x: Array) -> tuple[Array, Array]:
    xp, k = namespace(x), min(x.shape[-2:])
    q, r = xp.linalg.qr(x)
    unit = device_of(x).make("eye", k, dtype=x.dtype)
    is_negative = xp.any((unit == 1) & (r[..., :k] < 0), axis=-1)
    signs = 1.0 - 2.0 * xp.astype(is_negative, x.dtype)
    return q * signs[..., None, :], xp.triu(r * signs[..., :, None])


def _abstract_qr(w: AbstractMachine, a: Any) -> Any:
    shape = matrix_shape(w, "qr", a)
    if shape is None:
        return None
    *batch, m, n = shape
    k = min(m, n)
    shapes = (*batch, m, k), (*batch, k, n)
    if 0 in shape:
        return w.pair(*[filled(w, one, 0.0) for one in shapes])
    expect_few_rows(w, "orthogonal", m, n)
    routine = Routine("orthogonal", tuple([Output(math.prod(one)) for one in shapes]), m, n, tuple(batch))
    return w.pair(*w.loops(routine, [a], [w.types.tensor(one) for one in shapes]))


def _svd(a: Value) -> Value:
    x = matrix("svd", a)
    u, sizes, v = parts_of(x, lambda x: namespace(x).linalg.svd(x, full_matrices=False))
    signs = _signs(u)
    turned = v * namespace(x).matrix_transpose(signs) if v.size else v
    return list_of([made(u * signs), made(sizes), made(turned)])


def _abstract_svd(w: AbstractMachine, a: Any) -> Any:
    shape = matrix_shape(w, "svd", a)
    if shape is None:
        return None
    *batch, m, n = shape
    k = min(m, n)
    if 0 in shape:
        parts = [filled(w, (*batch, *sides), 0.0) for sides in ((m, k), (k,), (k, n))]
    else:
        parts = list(abstract_singular(w, a))
    result = w.constant(NIL)
    for part in reversed(parts):
        result = w.pair(part, result)
    return result


def _gaps(values: Value, c: Value) -> Value:
    x = array_of("eigh", values)
    if not x.size:
        return made(x[..., None, :] * x[..., :, None])
    expect_arrays(3.5, x.size * x.shape[-1])
    xp = namespace(x)
    with quiet():
        gaps = x[..., None, :] + c * x[..., :, None]
        least = ROUNDING[kind_name(x.dtype)] * x.shape[-1] * xp.max(xp.abs(x), axis=-1, keepdims=True)
        found = xp.where(xp.abs(gaps) > least[..., None], gaps, 0.0)
        return made(xp.where(unit_matrix(x) == 1, math.inf, found) if c else found)


def _abstract_gaps(w: AbstractMachine, values: Any, c: Any) -> Any:
    *batch, n = shape_of(values)
    apply, table, constant = w.apply, w.machine.table, w.constant
    if 0 in shape_of(values):
        return filled(w, (*batch, n, n), 0.0, kind_of(values))
    columns, rows = reshaped(w, values, (*batch, 1, n)), reshaped(w, values, (*batch, n, 1))
    gaps = apply(table["+"], [columns, apply(table["*"], [c, rows])])
    top = reduced(w, apply(table["abs"], [values]), [len(batch)], True, "max")
    rounding = ROUNDING[kind_of(values) or "float64"] * n
    least = apply(table["*"], [constant(rounding), reshaped(w, top, (*batch, 1, 1))])
    is_far = apply(table[">"], [apply(table["abs"], [gaps]), least])
    found = apply(table["where"], [is_far, gaps, constant(0.0)])
    return apply(table["where"], [_on_it(w, n), constant(math.inf), found]) if known(w, c) else found


def _on_it(w: AbstractMachine, n: int) -> Any:
    """The mask of the diagonal."""
    apply, table, constant = w.apply, w.machine.table, w.constant
    return apply(table["="], [apply(table["eye"], [constant(real_of(n))]), constant(1.0)])


def _over(x: Value, gap: Value) -> Value:
    pull, divisor = operands_of((x, gap))
    xp = namespace(pull)
    with quiet():
        return made(xp.where(pull == 0, 0.0, pull / divisor))


def _abstract_over(w: AbstractMachine, x: Any, gap: Any) -> Any:
    apply, table, nothing = w.apply, w.machine.table, w.constant(0.0)
    is_still = apply(table["="], [x, nothing])
    return apply(table["where"], [is_still, nothing, apply(table["/"], [x, gap])])


def _first_columns(t: Value) -> Value:
    x = array_of("qr", t)
    return made(x[..., : min(x.shape[-2:])])


def _abstract_first_columns(w: AbstractMachine, t: Any) -> Any:
    if len(shape_of(t)) < 2:
        return unfit(w, t, (1, 1))
    *batch, m, n = shape_of(t)
    return copied(w, t, (*batch, m, min(m, n)), Access(0, contiguous(shape_of(t))))


def _as_first_columns(x: Value, t: Value) -> Value:
    first = array_of("qr", x)
    n = lengths_of(t)[-1]
    rest = device_of(first).make("zeros", (*first.shape[:-1], n - first.shape[-1]), dtype=first.dtype)
    return made(namespace(first).concat([first, rest], axis=-1))


def _abstract_as_first_columns(w: AbstractMachine, x: Any, t: Any) -> Any:
    own, n = shape_of(x), shape_of(t)[-1]
    if len(own) < 2 or own[-1] > n:
        return unfit(w, x, (1, n))
    return put_together(w, (*own[:-1], n), [(x, own, (0,) * len(own))])


def _diagonal(t: Value) -> Value:
    x = array_of("diagonal", t)
    xp = namespace(x)
    return made(xp.sum(xp.where(unit_matrix(x) == 1, x, 0.0), axis=-1))


def _abstract_diagonal(w: AbstractMachine, t: Any) -> Any:
    shape = shape_of(t)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return unfit(w, t, (1, 1))
    return diagonal_of(w, t)


def _as_diagonal(t: Value) -> Value:
    x = array_of("diagonal", t)
    expect_arrays(1, x.size * x.shape[-1])
    return made(namespace(x).where(unit_matrix(x) == 1, x[..., None, :], 0.0))


def _abstract_as_diagonal(w: AbstractMachine, t: Any) -> Any:
    if not shape_of(t):
        return unfit(w, t, (1,))
    *batch, n = shape_of(t)
    return w.apply(w.machine.table["where"], [_on_it(w, n), reshaped(w, t, (*batch, 1, n)), w.constant(0.0)])


def _is_taller(shape: Shape) -> bool:
    return len(shape) > 1 and shape[-2] > shape[-1]


ROWS: list[Primitive] = [
    # Giles 2008, An extended collection of matrix derivative results, section 3.1; the matrix is made symmetric first
    row("eigh", "a",
        "The pair of the eigenvalues of a symmetric matrix, ascending, and the matrix of the eigenvectors, its columns.\n"
        "(eigh #[[3 0] [0 2]])  ⇒ (#[2 3] . #[[0 1] [1 0]])", _eigh, abstract=in_doubles(_abstract_eigh), room=5,
         forward="""(let* ((v (cdr r)) (e (* 0.5 (+ da (swap da)))) (inner (matmul (swap v) (matmul e v))))
            (cons (on-diagonal inner) (matmul v (over inner (gaps (car r) -1)))))""",
         reverse={"a": """(let* ((v (cdr r)) (turning (over (matmul (swap v) (cdr s)) (gaps (car r) -1)))
                                 (g (matmul v (matmul (accumulate (as-diagonal (car s)) turning) (swap v)))))
            (* 0.5 (+ g (swap g))))"""}),
    # Seeger, Hetzel, Dai, Meissner, Lawrence 2017, Auto-differentiating linear algebra, on the transpose. `first` are the leading
    # columns, at most as many as rows: dQ R + Q dR = dA for these determines dQ, and for all columns dR
    row("qr", "a",
        "The pair of q, with orthonormal columns, and r, upper triangular, whose product is a.\n"
        "(round-to 6 (qr #[[3 1] [4 2]]))  ⇒ (#[[0.6 -0.8] [0.8 0.6]] . #[[5 2.2] [0 0.4]])", _qr,
         abstract=in_doubles(_abstract_qr), room=5,
         forward="""(let* ((q (car r)) (t (cdr r)) (first (swap (first-columns t))) (change (matmul (swap q) da))
                           (x (swap (solve-factor first (swap (first-columns da)) #f)))
                           (inner (matmul (swap q) x)) (lower (triangle inner #f)) (turning (- lower (swap lower))))
            (cons (+ x (matmul q (- turning inner))) (triangle (- change (matmul turning t)) #t)))""",
         reverse={"a": """(let* ((q (car r)) (t (cdr r)) (st (triangle (cdr s) #t)) (own (matmul (swap q) (car s)))
                                 (w (- own (matmul st (swap t))))
                                 (x (accumulate (matmul q (- (triangle (- w (swap w)) #f) own)) (car s))))
            (accumulate (matmul q st) (as-first-columns (swap (solve-factor (first-columns t) (swap x) #t)) a)))"""}),
    triangular("solve-factor", "solve-triangular for the derivatives of qr.", "qr", hidden=True),
    row("first-columns", "t", "The first columns of a matrix, as many as there are rows at most.", _first_columns, linear="t",
         hidden=True, abstract=_abstract_first_columns, forward="(first-columns dt)",
         reverse={"t": "(as-first-columns s t)"}),
    row("as-first-columns", "x t", "The transpose of first-columns: a matrix with the columns of t, those of x and zeros.",
         _as_first_columns, linear="x", hidden=True, room=2, abstract=_abstract_as_first_columns,
         forward="(as-first-columns dx t)", reverse={"x": "(first-columns s)"}),
    # Townsend 2016, Differentiating the singular value decomposition; with quotients by differences and sums of singular values,
    # not by differences of squares: the skew part of p needs no difference, and squares overflow
    row("svd", "a",
        "The list of u, with orthonormal columns, the singular values s, and v, with orthonormal rows: a is (matmul (* u s) v).\n"
        "(car (cdr (svd #[[0 2] [1 0]])))  ⇒ #[2 1]", _svd, abstract=in_doubles(_abstract_svd), room=5,
         forward="""(let* ((u (car r)) (l (car (cdr r))) (v (car (cdr (cdr r))))
                           (line (as-line (on-diagonal (gaps l 0))))
                           (x (matmul (swap u) da)) (y (matmul da (swap v))) (p (matmul (swap u) y))
                           (even (over (* 0.5 (+ p (swap p))) (gaps l -1))) (odd (over (* 0.5 (- p (swap p))) (gaps l 1)))
                           (du (matmul u (+ even odd))) (dv (matmul (swap (- even odd)) v)))
            (cons (if (taller a) (+ du (over (- y (matmul u p)) line)) du)
              (cons (on-diagonal p)
                (cons (if (taller (swap a)) (+ dv (over (- x (matmul p v)) (swap line))) dv) '()))))""",
         reverse={"a": """(let* ((u (car r)) (l (car (cdr r))) (v (car (cdr (cdr r))))
                                 (su (car s)) (sl (car (cdr s))) (sv (car (cdr (cdr s))))
                                 (line (as-line (on-diagonal (gaps l 0))))
                                 (h (over su line)) (k (over sv (swap line)))
                                 (e (matmul (swap u) su)) (d (matmul v (swap sv)))
                                 (even (over (accumulate e d) (gaps l -1))) (odd (over (- e d) (gaps l 1)))
                                 (turning (* 0.5 (accumulate (accumulate even (swap even)) (- odd (swap odd)))))
                                 (g (matmul u (matmul (accumulate (as-diagonal sl) turning) v))))
            (accumulate g (accumulate
              (if (taller a) (matmul (- h (matmul u (matmul (swap u) h))) v) zero)
              (if (taller (swap a)) (matmul u (- k (matmul (matmul k (swap v)) v))) zero))))"""}),
    constant("taller", "t", "Has a matrix more rows than columns?", hidden=True,
              abstract=lambda w, t: w.truth(_is_taller(shape_of(t))), value=lambda t: boolean(_is_taller(lengths_of(t)))),
    row("gaps", "l c", "In row i and column j l_j + c l_i, 0 where it is but rounding; on the diagonal, unless c is 0, infinity.",
         _gaps, linear="l", hidden=True, abstract=_abstract_gaps, forward="(+ (as-line dl) (* c (swap (as-line dl))))",
         reverse={"l": "(+ (sum s -2 #f) (* c (sum s -1 #f)))"}),
    row("over", "x gap", "A quotient that is 0 if x is, for any divisor.", _over, linear="x", hidden=True, room=2.25,
         abstract=_abstract_over, forward="(- (over dx gap) (over (* r dgap) gap))",
         reverse={"x": "(over s gap)", "gap": "(negate (sum-like (over (* s r) gap) gap))"}),
    in_shape("as-line", "t", "A vector, or several, as matrices of one row.", lambda t: (*t[:-1], 1, *t[-1:])),
    row("on-diagonal", "t", "The diagonals of square matrices.", _diagonal, linear="t", hidden=True, room=1.25,
         abstract=_abstract_diagonal, forward="(on-diagonal dt)", reverse={"t": "(as-diagonal s)"}),
    row("as-diagonal", "t", "Matrices with this on their diagonals, else 0.", _as_diagonal, linear="t", hidden=True,
         abstract=_abstract_as_diagonal, forward="(as-diagonal dt)", reverse={"t": "(on-diagonal s)"}),
]  # fmt: skip
