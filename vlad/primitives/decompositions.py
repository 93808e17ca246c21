"""The row of the decomposition of symmetric matrices (arrays.py has the conventions).

It answers both parts, a structure, so that each derivative is stated of all of them; of a part that nobody uses the sensitivity
is the known zero, and what is multiplied by it is not computed. What a decomposition leaves open is fixed by a convention
here, or the tiers and devices would answer different vectors: the largest entry of a vector is positive.

A vector turns towards another the faster the nearer their values are: its slope is divided by their difference, which is
`reciprocal-gaps`. Of values that are equal, to rounding, no vectors are better than others. There the quotient counts as 0.
"""

from __future__ import annotations

import math
from typing import Any

from vlad.core.kernels import Output, Routine
from vlad.devices import device_of
from vlad.primitives.arrays import array_of, row
from vlad.primitives.kernels import filled, kind_of, reduced, reshaped, shape_of, unfit
from vlad.primitives.linear_algebra import (
    abstract_symmetric_part,
    diagonal_of,
    expect_few_rows,
    in_doubles,
    parts_of,
    square_matrix,
    square_shape,
    symmetric_part,
    unit_matrix,
)
from vlad.primitives.shaping import in_shape
from vlad.tensors import Array, kind_name, made, namespace, quiet
from vlad.values import Primitive, Value

# Entries of a vector that differ by less than this factor are equally large: rounding does not choose between them.
ALIKE = 0.999
# By kind, what rounding may move a value by, in terms of the largest one and the number of rows.
ROUNDING = {"float64": 2.0**-52, "float32": 2.0**-23}


def _eigh(a: Value) -> Value:
    x = symmetric_part(square_matrix("eigh", a))
    values, vectors = parts_of(x, lambda x: namespace(x).linalg.eigh(x))
    return made(values), made(vectors * _signs(vectors))


def _signs(vectors: Array) -> Array:
    """For each column 1, or -1 where it is to be turned."""
    xp, rows = namespace(vectors), vectors.shape[-2]
    if not vectors.size:
        return vectors
    sizes = xp.abs(vectors)
    is_large = sizes >= ALIKE * xp.max(sizes, axis=-2, keepdims=True)
    places = device_of(vectors).make("arange", rows)[:, None]
    first = xp.min(xp.where(is_large, places, rows), axis=-2, keepdims=True)
    points_down = xp.any((places == first) & (vectors < 0), axis=-2, keepdims=True)
    return 1.0 - 2.0 * xp.astype(points_down, vectors.dtype)


def _abstract_eigh(w: Any, a: Any) -> Any:
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


def _reciprocal_gaps(values: Value, c: Value) -> Value:
    x = array_of("eigh", values)
    if not x.size:
        return made(x[..., None, :] * x[..., :, None])
    xp = namespace(x)
    with quiet():
        gaps = x[..., None, :] + c * x[..., :, None]
        least = ROUNDING[kind_name(x.dtype)] * x.shape[-1] * xp.max(xp.abs(x), axis=-1, keepdims=True)
        is_far = xp.abs(gaps) > least[..., None]
        return made(xp.where(is_far, 1.0 / xp.where(is_far, gaps, 1.0), 0.0))


def _abstract_reciprocal_gaps(w: Any, values: Any, c: Any) -> Any:
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
    inverse = apply(table["/"], [constant(1.0), apply(table["where"], [is_far, gaps, constant(1.0)])])
    return apply(table["where"], [is_far, inverse, constant(0.0)])


def _diagonal(t: Value) -> Value:
    x = array_of("diagonal", t)
    xp = namespace(x)
    return made(xp.sum(xp.where(unit_matrix(x) == 1, x, 0.0), axis=-1))


def _abstract_diagonal(w: Any, t: Any) -> Any:
    shape = shape_of(t)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return unfit(w, t, (1, 1))
    return diagonal_of(w, t)


def _as_diagonal(t: Value) -> Value:
    x = array_of("diagonal", t)
    return made(namespace(x).where(unit_matrix(x) == 1, x[..., None, :], 0.0))


def _abstract_as_diagonal(w: Any, t: Any) -> Any:
    if not shape_of(t):
        return unfit(w, t, (1,))
    *batch, n = shape_of(t)
    apply, table, constant = w.apply, w.machine.table, w.constant
    is_on_it = apply(table["="], [apply(table["eye"], [constant(float(n))]), constant(1.0)])
    return apply(table["where"], [is_on_it, reshaped(w, t, (*batch, 1, n)), constant(0.0)])


ROWS: list[Primitive] = [
    # Giles 2008, An extended collection of matrix derivative results, section 3.1; the matrix is made symmetric first
    row("eigh", "a",
        "The pair of the eigenvalues of a symmetric matrix, ascending, and the matrix of the eigenvectors, its columns.\n"
        "(eigh #[[3 0] [0 2]])  ⇒ (#[2 3] . #[[0 1] [1 0]])", _eigh, abstract=in_doubles(_abstract_eigh),
         forward="""(let* ((v (cdr r)) (e (* 0.5 (+ da (swap da)))) (inner (matmul (swap v) (matmul e v))))
            (cons (diagonal inner) (matmul v (* (reciprocal-gaps (car r) -1) inner))))""",
         reverse={"a": """(let* ((v (cdr r)) (turning (* (reciprocal-gaps (car r) -1) (matmul (swap v) (cdr s))))
                                 (g (matmul v (matmul (accumulate (as-diagonal (car s)) turning) (swap v)))))
            (* 0.5 (+ g (swap g))))"""}),
    row("reciprocal-gaps", "l c", "In row i and column j the reciprocal of l_j + c l_i; 0 where that is 0, to rounding.",
         _reciprocal_gaps, hidden=True, abstract=_abstract_reciprocal_gaps,
         forward="(negate (* (* r r) (+ (as-line dl) (* c (swap (as-line dl))))))",
         reverse={"l": "(let ((g (* s (* r r)))) (negate (+ (sum g -2 #f) (* c (sum g -1 #f)))))"}),
    in_shape("as-line", "t", "A vector, or several, as matrices of one row.", lambda t: (*t[:-1], 1, *t[-1:])),
    row("diagonal", "t", "What is on the diagonals of square matrices.", _diagonal, linear="t", hidden=True,
         abstract=_abstract_diagonal, forward="(diagonal dt)", reverse={"t": "(as-diagonal s)"}),
    row("as-diagonal", "t", "Matrices with this on their diagonals, else 0.", _as_diagonal, linear="t", hidden=True,
         abstract=_abstract_as_diagonal, forward="(as-diagonal dt)", reverse={"t": "(diagonal s)"}),
]  # fmt: skip
