"""The rows of determinants, which have derivatives of every order at matrices of every rank (arrays.py has the conventions).

The derivative of det is the matrix of cofactors, which exists even without an inverse: `cofactor` computes it from the singular
values, and its own derivatives are those of `cofactors`, the same function of matrices over nilpotent numbers.

Numbers a + b e, where e e = 0, have derivatives as their second parts; those of second order are numbers whose a and b are such
numbers with another e, and so on: 2 to the p parts for p derivatives. `cofactors` takes matrices of such numbers, with the parts
on a first axis, and returns the same. So its derivative along E is the second half of its result for twice as many parts,
those of its operand followed by those of E. It is symmetric, as the cofactors are the gradient of det, under the
product of numbers that is the last part of (x y): s is summed with the parts of x in reverse.

Of a matrix B, rotated so that its first part is diagonal and decreasing, let Z be the last p + 1 rows and columns, R the others.
The block of R has an inverse, a finite series. With the Schur complement C = B_ZZ - B_ZR inv(B_RR) B_RZ
    adjugate of B = det(B_RR) (det C inv(B_RR) + (1 - inv(B_RR) B) adjugate(C) (1 - B inv(B_RR)))
and nothing divides by C: its determinant and adjugate are polynomials, here by Faddeev and LeVerrier. So entries of C may be
0, or nearly. If R has zeros, too, the result is 0 by det(B_RR); for nearly zero values in R, each term
has more factors than divisors, as it is differentiated p times only.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vlad.core.extents import real_of
from vlad.core.loop_nests import Access, Output, Routine, contiguous
from vlad.data.devices import device_of
from vlad.data.errors import VladError
from vlad.data.tensors import Array, made, namespace, quiet, shape_text
from vlad.data.values import Primitive, Value
from vlad.primitives.arrays import array_of, row
from vlad.primitives.elementwise import unlike
from vlad.primitives.linear_algebra import (
    AS_PRIMAL,
    EFFORTS,
    expect_few_rows,
    expect_work,
    factors_of,
    in_doubles,
    parts_of,
    regular,
    solution,
    square_matrix,
    square_shape,
    unit_matrix,
)
from vlad.primitives.type_rules import (
    Shape,
    copied,
    filled,
    known,
    loops,
    put_together,
    reduced,
    repeated,
    reshaped,
    shape_of,
    unfit,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def _det(a: Value) -> Value:
    x = square_matrix("det", a)
    with quiet():
        return made(namespace(x).linalg.det(x))


def _abstract_det(w: AbstractMachine, a: Any) -> Any:
    shape = square_shape(w, "det", a)
    if shape is None:
        return None
    *batch, n, _ = shape
    if 0 in shape:
        return filled(w, tuple(batch), 1.0) if batch else w.constant(1.0)
    routine = Routine("determinant", (Output(math.prod(batch) if batch else None),), n, 0, tuple(batch))
    result = w.types.tensor(tuple(batch)) if batch else w.types.real
    return w.loops(routine, [factors_of(w, a)[0]], [result])[0]


def _log_det(a: Value) -> Value:
    x = square_matrix("log-det", a)
    with quiet():
        return made(namespace(x).linalg.slogdet(x)[1])


def _abstract_log_det(w: AbstractMachine, a: Any) -> Any:
    """The sum of the logarithms of the diagonals of U."""
    shape = square_shape(w, "log-det", a)
    if shape is None:
        return None
    *batch, n, _ = shape
    if 0 in shape:
        return filled(w, tuple(batch), 0.0) if batch else w.constant(0.0)
    strides = [stride * (n * n + n) for stride in contiguous(batch)]
    table = w.machine.table
    return loops(
        w, (*batch, n), [factors_of(w, a)[0]], [Access(0, (*strides, n + 1))], tuple(batch),
        steps=[(table["abs"], (0,)), (table["log"], (1,))],
        write=Access(0, (*contiguous(batch), 0)) if batch else None, combine="+",
    )  # fmt: skip


def _transposed_inverse(a: Value) -> Value:
    x = square_matrix("log-det", a)
    xp = namespace(x)
    return made(xp.matrix_transpose(regular("log-det", x, lambda: xp.linalg.inv(x))))


def _abstract_transposed_inverse(w: AbstractMachine, a: Any) -> Any:
    shape = square_shape(w, "log-det", a)
    if shape is None:
        return None
    apply, table = w.apply, w.machine.table
    unit = apply(table["eye"], [w.constant(real_of(shape[-1]))])
    inverse = solution(w, "log-det", a, unit, shape[:-2])
    return None if inverse is None else apply(table["swap"], [inverse])


def _singular(x: Array) -> tuple[Array, ...]:
    """U, the singular values and Vᵀ."""
    expect_work(EFFORTS["singular"], x.shape)
    return parts_of(x, lambda x: namespace(x).linalg.svd(x, full_matrices=False))


def abstract_singular(w: AbstractMachine, a: Any) -> tuple[Any, Any, Any]:
    *batch, m, n = shape_of(a)
    k = min(m, n)
    expect_few_rows(w, "singular", m, n)
    shapes = (*batch, m, k), (*batch, k), (*batch, k, n)
    outputs = tuple([Output(math.prod(shape)) for shape in shapes])
    routine = Routine("singular", outputs, m, n, tuple(batch))
    u, sizes, v = w.loops(routine, [a], [w.types.tensor(shape) for shape in shapes])
    return u, sizes, v


def _orientation(u: Array, v: Array) -> Array:
    """det(U) det(V) of orthogonal matrices: 1 or -1, broadcast against matrices."""
    xp = namespace(u)
    return (xp.linalg.det(u) * xp.linalg.det(v))[..., None, None]


def _abstract_orientation(w: AbstractMachine, u: Any, v: Any) -> Any:
    found = w.apply(w.machine.table["*"], [_abstract_det(w, u), _abstract_det(w, v)])
    *batch, _, _ = shape_of(u)
    return reshaped(w, found, (*batch, 1, 1)) if batch else found


def _cofactor(a: Value) -> Value:
    """det(U) det(V) U diag(the product of the other singular values, for each) V: accurate if a is singular, too."""
    x = square_matrix("det", a)
    xp = namespace(x)
    u, sizes, v = _singular(x)
    with quiet():
        others = xp.prod(xp.where(unit_matrix(x) == 1, 1.0, sizes[..., None, :]), axis=-1)
        return made(_orientation(u, v) * ((u * others[..., None, :]) @ v))


def _abstract_cofactor(w: AbstractMachine, a: Any) -> Any:
    shape = square_shape(w, "det", a)
    if shape is None or 0 in shape:
        return None if shape is None else filled(w, shape, 0.0)
    *batch, n, _ = shape
    apply, table = w.apply, w.machine.table
    u, sizes, v = abstract_singular(w, a)
    unit = apply(table["eye"], [w.constant(real_of(n))])
    test = apply(table["="], [unit, w.constant(1.0)])
    spread = repeated(w, reshaped(w, sizes, (*batch, 1, n)), shape)
    others = reduced(w, apply(table["where"], [test, w.constant(1.0), spread]), [len(batch) + 1], False, "*")
    product = apply(table["matmul"], [apply(table["*"], [u, reshaped(w, others, (*batch, 1, n))]), v])
    return apply(table["*"], [_abstract_orientation(w, u, v), product])


def _times(x: Sequence[Any], y: Sequence[Any], product: Callable[[Any, Any], Any]) -> list[Any]:
    """The product of nilpotent numbers, or matrices of them, by their parts; None is 0."""
    if len(x) == 1:
        return [None if x[0] is None or y[0] is None else product(x[0], y[0])]
    h = len(x) // 2
    cross = _plus(_times(x[:h], y[h:], product), _times(x[h:], y[:h], product))
    return _times(x[:h], y[:h], product) + cross


def _plus(x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
    return [b if a is None else a if b is None else a + b for a, b in zip(x, y, strict=True)]


def _adjugates(parts: Sequence[Any], unit: Any, inverses: Any, volume: Any, r: int, of: Any) -> list[Any]:
    """Adjugates of matrices of nilpotent numbers whose first part is diagonal; R and Z, of r rows, are as in the module's
    docstring. `inverses`: of the diagonal in R, else 0; `volume`: the product of the diagonal in R. These are arrays of a
    library, or operands of type rules; `of` has the operations without an operator.
    """
    matmul, scale = operator.matmul, operator.mul
    inverse, volumes = [unit * inverses], [volume]
    while len(inverse) < len(parts):
        relative = _times(inverse, parts[len(inverse) : 2 * len(inverse)], matmul)
        volumes += _times(volumes, [of.trace(x) for x in relative], scale)
        inverse += [-x for x in _times(relative, inverse, matmul)]
    columns, rows = [of.columns(x, r) for x in parts], [of.rows(x, r) for x in parts]
    left = [-x for x in _times(inverse, columns, matmul)]
    right = [-x for x in _times(rows, inverse, matmul)]
    left[0], right[0] = left[0] + of.columns(unit, r), right[0] + of.rows(unit, r)
    complement = _times(right, columns, matmul)
    one = of.rows(of.columns(unit, r), r)
    adjugate, power = [one, *[None] * (len(parts) - 1)], complement
    for j in range(1, r):
        adjugate = [x + of.trace(x) * (one / float(-j)) for x in power]
        power = _times(complement, adjugate, matmul)
    sign = (-1.0) ** (r - 1)
    determinant = [of.trace(x) * (sign / r) for x in power]
    outer = _times(_times(left, [None if x is None else x * sign for x in adjugate], matmul), right, matmul)
    return _times(volumes, _plus(_times(determinant, inverse, scale), outer), scale)


def _is_by_parts(shape: Shape) -> bool:
    """Whether this is the shape of matrices with parts, whose number is a power of two."""
    return len(shape) >= 3 and shape[0] > 0 and not shape[0] & (shape[0] - 1)


def _expect_parts(x: Array) -> None:
    """Raise VladError unless these are matrices with parts."""
    if not _is_by_parts(x.shape):
        raise VladError(
            "wrong-shape",
            f"Shapes given to det do not fit: {shape_text(x.shape)}",
            hint=AS_PRIMAL,
            name="det",
        )


def _cofactors(a: Value) -> Value:
    x = square_matrix("det", a)
    _expect_parts(x)
    if 0 in x.shape:
        return made(x)
    xp, n, r = namespace(x), x.shape[-1], min(x.shape[0].bit_length(), x.shape[-1])
    u, sizes, v = _singular(x[0, ...])
    with quiet():
        turned, back = xp.matrix_transpose(u), xp.matrix_transpose(v)
        sizes, unit = sizes[..., None, :], unit_matrix(x)
        parts = [unit * sizes, *[turned @ x[k, ...] @ back for k in range(1, x.shape[0])]]
        regular = device_of(x).make("arange", n) < n - r
        inverses = xp.where(regular, 1.0 / xp.where(sizes == 0, 1.0, sizes), 0.0)
        volume = xp.prod(sizes[..., : n - r], axis=-1, keepdims=True)
        found = _adjugates(parts, unit, inverses, volume, r, _Arrays(xp))
        orientation = _orientation(u, v)
        return made(xp.stack([orientation * (u @ xp.matrix_transpose(y) @ v) for y in found]))


class _Arrays:
    """Operations without an operator, on arrays of a library."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def trace(self, x: Array) -> Array:
        return self.xp.sum(x * unit_matrix(x), axis=(-2, -1), keepdims=True)

    def columns(self, x: Array, count: int) -> Array:
        return x[..., x.shape[-1] - count :]

    def rows(self, x: Array, count: int) -> Array:
        return x[..., x.shape[-2] - count :, :]


def _abstract_cofactors(w: AbstractMachine, a: Any) -> Any:
    shape = square_shape(w, "det", a)
    if shape is None:
        return None
    if not _is_by_parts(shape):
        return unfit(w, a, (1, 1, 1))
    if 0 in shape:
        return a
    count, *batch, n, _ = shape
    if count > 4:  # C compilers need minutes for so many products of parts
        return w.left_out("fourth derivatives of det are")
    own, r = (*batch, n, n), min(count.bit_length(), n)
    apply, table, constant = w.apply, w.machine.table, w.constant

    def by(name: str, *operands: Any) -> Any:
        return apply(table[name], [constant(x) if type(x) is float else x for x in operands])

    given = [copied(w, a, own, Access(k * math.prod(own), contiguous(own))) for k in range(count)]
    u, sizes, v = abstract_singular(w, given[0])
    orientation = _abstract_orientation(w, u, v)
    turned, back, sizes = by("swap", u), by("swap", v), reshaped(w, sizes, (*batch, 1, n))
    unit = by("eye", float(n))
    parts = [by("*", unit, sizes), *[by("matmul", by("matmul", turned, x), back) for x in given[1:]]]
    inverses, volume = filled(w, (*batch, 1, n), 0.0), filled(w, (*batch, 1, 1), 1.0)
    if r < n:
        own_r = (*batch, 1, n - r)
        regular = copied(w, sizes, own_r, Access(0, contiguous((*batch, 1, n))))
        inverse = by("/", 1.0, by("where", by("=", regular, 0.0), 1.0, regular))
        inverses = put_together(w, (*batch, 1, n), [(inverse, own_r, (0,) * len(own_r))])
        volume = reduced(w, regular, [len(batch) + 1], True, "*")
    parts = [_Expression(w, x) for x in parts]
    unit, inverses, volume = [_Expression(w, x) for x in (unit, inverses, volume)]
    found = _adjugates(parts, unit, inverses, volume, r, _Expressions())
    results = [by("*", orientation, by("matmul", by("matmul", u, by("swap", y.x)), v)) for y in found]
    return _abstract_stacked(w, results, own)


class _Expression:
    """A matrix of a type rule, with Python's operators."""

    def __init__(self, w: AbstractMachine, x: Any) -> None:
        self.w = w
        self.x = x

    def _by(self, name: str, *operands: Any) -> _Expression:
        known = [y.x if type(y) is _Expression else self.w.constant(y) for y in operands]
        return _Expression(self.w, self.w.apply(self.w.machine.table[name], known))

    def __add__(self, other: Any) -> _Expression:
        return self._by("+", self, other)

    def __rsub__(self, other: Any) -> _Expression:
        return self._by("-", other, self)

    def __mul__(self, other: Any) -> _Expression:
        return self._by("*", self, other)

    def __truediv__(self, other: Any) -> _Expression:
        return self._by("/", self, other)

    def __matmul__(self, other: Any) -> _Expression:
        return self._by("matmul", self, other)

    def __neg__(self) -> _Expression:
        return self._by("negate", self)


class _Expressions:
    """Operations without an operator, on matrices of type rules."""

    def trace(self, y: _Expression) -> _Expression:
        w, x = y.w, y.x
        *batch, n, _ = shape_of(x)
        strides = contiguous(shape_of(x))[:-2]
        write = Access(0, (*contiguous(tuple(batch)), 0))
        diagonal = Access(0, (*strides, n + 1))
        return _Expression(
            w, loops(w, (*batch, n), [x], [diagonal], (*batch, 1, 1), write=write, combine="+")
        )

    def columns(self, y: _Expression, count: int) -> _Expression:
        return self._last(y, shape_of(y.x)[-2], count)

    def rows(self, y: _Expression, count: int) -> _Expression:
        return self._last(y, count, shape_of(y.x)[-1])

    def _last(self, y: _Expression, rows: int, columns: int) -> _Expression:
        *batch, n, m = shape = shape_of(y.x)
        access = Access((n - rows) * m + m - columns, contiguous(shape))
        return _Expression(y.w, copied(y.w, y.x, (*batch, rows, columns), access))


def _abstract_stacked(w: AbstractMachine, parts: Sequence[Any], own: Shape) -> Any:
    """Tensors of one shape along a new first axis."""
    placed = [(reshaped(w, x, (1, *own)), (1, *own), (k, *[0] * len(own))) for k, x in enumerate(parts)]
    return put_together(w, (len(parts), *own), placed)


def _parted(t: Value) -> Array:
    x = array_of("det", t)
    _expect_parts(x)
    return x


def _half(t: Value, number: Value) -> Value:
    x = _parted(t)
    if number not in (0.0, 1.0) or x.shape[0] < 2:
        raise unlike("det", (t,), AS_PRIMAL)
    h = x.shape[0] // 2
    return made(x[h:, ...] if number else x[:h, ...])


def _placed(t: Value, number: Value) -> Value:
    x = _parted(t)
    if number not in (0.0, 1.0):
        raise unlike("det", (t,), AS_PRIMAL)
    zeros = namespace(x).zeros_like(x)
    return made(namespace(x).concat([zeros, x] if number else [x, zeros], axis=0))


def _mirrored(t: Value) -> Value:
    x = _parted(t)
    return made(namespace(x).flip(x, axis=0))


def _by_parts(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The type rule of a row whose first operand has parts."""

    def abstract(w: AbstractMachine, t: Any, *more: Any) -> Any:
        shape = shape_of(t)
        if not _is_by_parts(shape):
            return unfit(w, t, (1, 1, 1))
        if not all(known(w, number) in (0.0, 1.0) for number in more):
            return w.misfit("det")
        return rule(w, t, *[int(known(w, number)) for number in more])

    return abstract


def _abstract_half(w: AbstractMachine, t: Any, number: int) -> Any:
    count, *own = shape_of(t)
    if count < 2:
        return unfit(w, t, (2, *own))
    first = number * (count // 2) * math.prod(own)
    return copied(w, t, (count // 2, *own), Access(first, contiguous(shape_of(t))))


def _abstract_placed(w: AbstractMachine, t: Any, number: int) -> Any:
    count, *own = shape = shape_of(t)
    return put_together(w, (2 * count, *own), [(t, shape, (number * count, *[0] * len(own)))])


def _abstract_mirrored(w: AbstractMachine, t: Any) -> Any:
    count, *own = shape_of(t)
    size = math.prod(own)
    parts = [copied(w, t, tuple(own), Access(k * size, contiguous(own))) for k in reversed(range(count))]
    return _abstract_stacked(w, parts, tuple(own))


# The derivative of cofactors along E; the operand of `cofactor` has no parts yet.
_COFACTORS_SLOPE = "(half (cofactors (accumulate (placed A 0) (placed E 1))) 1)"
_COFACTOR_SLOPE = f"""(let* ((parts (cons 1 (shape a))) (a1 (reshape a parts)) (e1 (reshape E parts)))
    (reshape-like {_COFACTORS_SLOPE.replace("A", "a1").replace("E", "e1")} a))"""


ROWS: list[Primitive] = [
    row("det", "a",
        "The determinant of a square matrix.\n(round-to 6 (det #[[1 2] [3 4]]))  ⇒ -2\n"
        "((gradient det) #[[2 0] [0 4]])  ⇒ #[[4 0] [0 2]]", _det, abstract=in_doubles(_abstract_det),
         forward="(sum (* (cofactor a) da) '(-2 -1) #f)",
         reverse={"a": "(* (spread s a '(-2 -1)) (cofactor a))"}),
    row("log-det", "a",
        "The logarithm of the absolute value of the determinant, which may itself overflow or underflow.\n"
        "(log-det (eye 3))  ⇒ 0\n(round-to 4 (log-det (* 1e200 (eye 2))))  ⇒ 921.034\n(log-det #[[1 2] [2 4]])  ⇒ -inf.0\n"
        "((gradient log-det) #[[2 0] [0 4]])  ⇒ #[[0.5 0] [0 0.25]]", _log_det, abstract=in_doubles(_abstract_log_det),
         forward="(sum (* (transposed-inverse a) da) '(-2 -1) #f)",
         reverse={"a": "(* (spread s a '(-2 -1)) (transposed-inverse a))"}),
    row("transposed-inverse", "a", "The gradient of log-det.", _transposed_inverse, hidden=True, room=1.25,
         abstract=in_doubles(_abstract_transposed_inverse),
         forward="(negate (matmul r (matmul (swap da) r)))", reverse={"a": "(negate (matmul r (matmul (swap s) r)))"}),
    row("cofactor", "a", "The matrix of cofactors: the gradient of det.", _cofactor, hidden=True, room=5,
         abstract=in_doubles(_abstract_cofactor),
         forward=_COFACTOR_SLOPE.replace("E", "da"), reverse={"a": _COFACTOR_SLOPE.replace("E", "s")}),
    row("cofactors", "a", "The same of matrices whose entries have parts, on a first axis.", _cofactors, hidden=True, room=16,
         abstract=in_doubles(_abstract_cofactors),
         forward=_COFACTORS_SLOPE.replace("A", "a").replace("E", "da"),
         reverse={"a": f"(mirrored {_COFACTORS_SLOPE.replace('A', 'a').replace('E', '(mirrored s)')})"}),
    row("half", "t k", "The first or second half of the parts.", _half, linear="t", hidden=True,
         abstract=_by_parts(_abstract_half), forward="(half dt k)", reverse={"t": "(placed s k)"}),
    row("placed", "t k", "Twice as many parts, of which one half is 0.", _placed, linear="t", hidden=True, room=3,
         abstract=_by_parts(_abstract_placed), forward="(placed dt k)", reverse={"t": "(half s k)"}),
    row("mirrored", "t", "The parts in reverse.", _mirrored, linear="t", hidden=True, abstract=_by_parts(_abstract_mirrored),
         forward="(mirrored dt)", reverse={"t": "(mirrored s)"}),
]  # fmt: skip
