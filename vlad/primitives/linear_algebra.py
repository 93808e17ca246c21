"""The rows of products of tensors, and of systems of linear equations (arrays.py has the conventions)."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

from vlad.core.kernels import Access, Kernel, Output, Read, Routine, Step, Write, broadcast, contiguous
from vlad.core.types import is_real, is_tensor
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
    as_kind,
    as_number,
    as_reals,
    broadcast_shape,
    copied,
    entry_by_entry,
    filled,
    is_number,
    kind_of,
    known,
    loops,
    provided,
    put_together,
    reduced,
    repeated,
    reshaped,
    shape_of,
    unfit,
)
from vlad.primitives.numbers import invalid
from vlad.primitives.products import expect_multiplications, product
from vlad.tensors import (
    Array,
    Tensor,
    expect_together,
    kind_name,
    made,
    namespace,
    numbers,
    operands_of,
    quiet,
    shape_text,
)
from vlad.values import TRUE, Primitive, Value, list_of


def _matmul(a: Value, b: Value) -> Value:
    x, y = array_of("matmul", a), array_of("matmul", b)
    if not x.ndim or not y.ndim:
        raise invalid("matmul", "tensors", a, b)
    try:
        with quiet():
            return made(product(library("matmul", a, b), *operands_of((a, b))))
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
        write=Access(0, (*contiguous(whole), 0)) if shape else None, combine="" if rows[-1] == 1 else "+",
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


# Squares go wrong long before what they are squares of: they overflow, and below the least normal number they lose their digits.
# By kind: the least root of a sum of squares that is right to the last digit; a power of two that brings any vector whose root
# is less, or by whose reciprocal any whose root is infinite, to where it is; the least normal number and the largest one.
MAGNITUDES = {
    "float64": (2.0**-485, 2.0**600, 2.0**-1022, sys.float_info.max),
    "float32": (2.0**-51, 2.0**86, 2.0**-126, 2.0**128 - 2.0**104),
}
DIGITS = (
    2.0**53
)  # by which a sum is larger than the least normal number, where it is none the worse for parts that are too small


def _abstract_norm(w: Any, t: Any) -> Any:
    if not is_number(t):
        return w.fail("Argument to norm is invalid")
    apply, table, t = w.apply, w.machine.table, as_reals(w, t)
    if not is_tensor(t.type):
        return apply(table["abs"], [t])
    root, (least, power, *_) = _abstract_root(w, t), MAGNITUDES[kind_of(t) or ""]

    def scaled() -> Any:
        infinities = apply(table["="], [apply(table["abs"], [t]), w.constant(math.inf)])
        is_infinite = apply(table[">"], [_abstract_total(w, infinities), w.constant(0.0)])
        large = apply(table[">"], [root, w.constant(1.0)])
        by = w.constant(1.0)  # squares of floats are in reach of doubles
        if kind_of(t) == "float64":
            by = _either(w, large, w.constant(1 / power), w.constant(power))
        found = _abstract_root(w, apply(table["*"], [as_kind(w, t, "float64"), by]))
        return _either(w, is_infinite, w.constant(math.inf), apply(table["/"], [found, by]))

    sound = _is_within(w, root, least, sys.float_info.max)
    if w.machine.device != "cpu":  # what is on a GPU is not waited for
        return _either(w, sound, root, scaled())
    return w.each(sound, lambda sound: _decided(w, "norm", sound, lambda: root, scaled))


def _abstract_total(w: Any, t: Any) -> Any:
    return reduced(w, t, range(len(shape_of(t))), False, "+") if is_tensor(t.type) else t


def _abstract_root(w: Any, t: Any) -> Any:
    """Of the sum of the squares."""
    return w.apply(w.machine.table["sqrt"], [_abstract_total(w, w.apply(w.machine.table["*"], [t, t]))])


def _is_within(w: Any, x: Any, least: float, most: float) -> Any:
    """Is a real in an interval? nan is not."""
    apply, table = w.apply, w.machine.table
    near = apply(table["min"], [apply(table["max"], [x, w.constant(least)]), w.constant(most)])
    return apply(table["="], [x, near])


def _either(w: Any, test: Any, a: Any, b: Any) -> Any:
    """One of two reals, both of which are found."""
    return entry_by_entry(w, w.machine.table["where"], [as_number(w, test), a, b])


def _decided(w: Any, name: str, test: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """One of two, the other of which is not found."""
    if test.type.kind == "constant":
        return a() if test.type.of is TRUE else b()
    return w.branch((w.key, name), test, a, b, False)


def _abstract_scale(w: Any, t: Any, size: Any) -> tuple[Any, Any]:
    """As _scale."""
    apply, table, one = w.apply, w.machine.table, w.constant(1.0)
    _, power, least, most = MAGNITUDES[kind_of(t) or "float64"]
    sound = _is_within(w, size, least, most)
    none = apply(table["="], [size, w.constant(0.0)])

    def power_of_two() -> Any:
        large = apply(table[">"], [size, one])
        return w.each(large, lambda large: _decided(
            w, "far", large, lambda: w.constant(1 / power), lambda: w.constant(power)
        ))  # fmt: skip

    def rescaled() -> Any:
        if kind_of(t) == "float32":
            return apply(table["*"], [size, by])
        return _abstract_root(w, apply(table["*"], [t, by]))

    def unless_none(rule: Callable[[], Any]) -> Any:
        return w.each(none, lambda none: _decided(w, "none", none, lambda: one, rule))

    def unless_sound(name: str, usual: Any, rule: Callable[[], Any]) -> Any:
        return w.each(sound, lambda sound: _decided(w, name, sound, lambda: usual, lambda: unless_none(rule)))

    by = unless_sound("scale", one, power_of_two)
    return by, unless_sound("scaled", size, rescaled)


def _abstract_heading(w: Any, t: Any, size: Any) -> Any:
    if not is_number(t) or not is_real(size.type):
        return w.fail("Argument to norm is invalid")
    t = as_reals(w, t)
    by, size = _abstract_scale(w, t, size)
    return w.apply(w.machine.table["/"], [w.apply(w.machine.table["*"], [t, by]), size])


def _abstract_along(w: Any, t: Any, size: Any, x: Any) -> Any:
    if not is_number(t) or not is_real(size.type) or not is_number(x):
        return w.fail("Argument to norm is invalid")
    apply, table, t = w.apply, w.machine.table, as_reals(w, t)
    products = apply(table["*"], [t, x])
    if products is None:
        return None
    total, (*_, least, most) = _abstract_total(w, products), MAGNITUDES[kind_of(t) or "float64"]
    length = apply(table["abs"], [total])
    sound = _is_within(
        w, _either(w, _is_within(w, size, least, most), length, w.constant(0.0)), least * DIGITS, most
    )

    def entries() -> Any:
        return _abstract_total(w, apply(table["*"], [_abstract_heading(w, t, size), x]))

    return w.each(
        sound, lambda sound: _decided(w, "along", sound, lambda: apply(table["/"], [total, size]), entries)
    )


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
        return made(library("dot", a, b).matmul(*operands_of((a, b))))


def _outer(a: Value, b: Value) -> Value:
    x, y = array_of("outer", a), array_of("outer", b)
    if x.ndim != 1 or y.ndim != 1:
        raise unlike("outer", (a, b), "outer takes two vectors")
    library("outer", a, b)
    x, y = operands_of((a, b))
    columns, line = x[:, None], y[None, :]
    expect_together(columns, line)
    with quiet():
        return made(columns * line)


def _square(name: str, a: Value) -> Array:
    """A matrix of as many rows as columns, or several on leading axes. Raises VladError; or NoTime, where to take it apart would
    take longer than there is."""
    if not _is_square(array_of(name, a)):
        raise unlike(name, (a,), f"{name} takes a square matrix, or several along leading axes")
    expect_work(EFFORTS[name], a.shape)
    return reals(a.array)


# Multiplications, in terms of the cube of a matrix's rows, of the routines that take one apart; nobody can interrupt them.
EFFORTS = {"solve": 0.7, "inverse": 2.0, "det": 0.7, "cholesky": 0.4, "singular": 24.0}
MOST_ROWS = {
    "singular": 384,
    "factors": 1536,
    "triangle": 1536,
}  # that compiled code takes apart, which is not asked


def expect_work(effort: float, shape: Shape, columns: int = 0) -> None:
    """Raises NoTime where the work on matrices of a shape, and on so many columns for each, would take longer than there is."""
    *batch, n, _ = shape
    expect_multiplications(math.prod(batch) * (effort * n**3 + columns * n**2))


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
    expect_work(EFFORTS["solve"], (*batch, *x.shape[-2:]), columns.shape[-1])
    matrices = [
        xp.broadcast_to(one, batch + one.shape[-2:]) for one in (x, columns)
    ]  # not all libraries do it
    solved = _regular("solve", x, lambda: xp.linalg.solve(*matrices))
    return made(solved[..., 0] if y.ndim == 1 else solved)


_SOLVED = "solve takes square matrices and a vector or matrices of as many rows; leading axes are broadcast"


def _column_dims(t: Value, b: Value) -> Value:
    """The shape of t with columns, where b is a vector and t one or several."""
    shape = t.shape if type(t) is Tensor else ()
    return list_of([float(length) for length in _column_shape(shape, b.shape)])


def _column_shape(shape: Shape, of_b: Shape) -> Shape:
    return (*shape, 1) if len(of_b) == 1 else shape


def _abstract_square(w: Any, name: str, a: Any) -> Shape | None:
    """The shape of one or several square matrices of reals; None, and an error, for anything else."""
    shape = shape_of(a)
    if not is_tensor(a.type):
        w.fail(f"Argument to {name} is invalid")
    elif len(shape) < 2 or shape[-1] != shape[-2]:
        w.fail(f"Shapes given to {name} do not fit: {shape_text(shape)}")
    else:
        return shape
    return None


def _in_doubles(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a row that is computed in float64 only: of float32 the answer is made float32."""

    def abstract(w: Any, *operands: Any) -> Any:
        kinds = {kind_of(x) for x in operands if is_tensor(x.type)}
        if kinds <= {"float64"}:
            return rule(w, *operands)
        result = rule(w, *[as_kind(w, x, "float64") if is_tensor(x.type) else x for x in operands])
        if kinds != {"float32"} or result is None or not is_tensor(result.type):
            return result
        return as_kind(w, result, "float32")

    return abstract


def _checked(w: Any, status: Any, error: str, rule: Callable[[], Any]) -> Any:
    """The rule, where a routine has answered 0."""
    return provided(w, [w.apply(w.machine.table["="], [status, w.constant(0.0)])], error, rule)


def _expect_few(w: Any, routine: str, rows: int) -> None:
    """Larger matrices are left to tier 0, which estimates how long it takes: of that much work little is saved by compiling."""
    if rows > MOST_ROWS[routine]:
        w.left_out("matrices of so many rows, to be taken apart, are")


def _factors(w: Any, a: Any) -> tuple[Any, Any]:
    """P L U of each matrix, and whether one is singular (core/kernels.Routine)."""
    *batch, n, _ = shape_of(a)
    _expect_few(w, "factors", n)
    size = math.prod(batch) * (n * n + n)
    routine = Routine("factors", (Output(size), Output(None)), n, 0, tuple(batch))
    found, status = w.loops(routine, [a], [w.types.tensor((size,)), w.types.real])
    return found, status


def _solution(w: Any, name: str, a: Any, b: Any, batch: Shape) -> Any:
    """The x for which a x = b, matrices over all of the batch. For a transposed matrix, as derivatives have it, the factors are
    those of the matrix itself, which are there already."""
    *own, n, _ = shape_of(a)
    m = shape_of(b)[-1]
    shape = (*batch, n, m)
    if not n or 0 in batch:
        return filled(w, shape, 0.0)
    factors, status = _factors(w, a.transposed or a)

    def solved() -> Any:
        strides = broadcast(own, batch).strides
        turned = a.transposed is not None
        routine = Routine("solution", (Output(math.prod(shape)),), n, m, batch, strides, turned)
        columns = b if shape_of(b) == shape else repeated(w, b, shape)
        return w.loops(routine, [factors, columns], [w.types.tensor(shape)])[0]

    return _checked(w, status, SINGULAR[name], solved)


def _abstract_solve(w: Any, a: Any, b: Any) -> Any:
    own_a, own_b = shape_of(a), shape_of(b)
    if not is_tensor(a.type) or not is_tensor(b.type):
        return w.fail("Argument to solve is invalid")
    columns = _column_shape(own_b, own_b)
    batch = broadcast_shape([own_a[:-2], columns[:-2]])
    if len(own_a) < 2 or own_a[-1] != own_a[-2] or columns[-2] != own_a[-1] or batch is None:
        return w.fail(f"Shapes given to solve do not fit: {shape_text(own_a)} and {shape_text(own_b)}")
    x = _solution(w, "solve", a, reshaped(w, b, columns), batch)
    return None if x is None else reshaped(w, x, shape_of(x)[:-1]) if len(own_b) == 1 else x


def _inverse(a: Value) -> Value:
    x = _square("inverse", a)
    return made(_regular("inverse", x, lambda: namespace(x).linalg.inv(x)))


def _abstract_inverse(w: Any, a: Any) -> Any:
    shape = _abstract_square(w, "inverse", a)
    if shape is None:
        return None
    return _solution(
        w, "inverse", a, w.apply(w.machine.table["eye"], [w.constant(float(shape[-1]))]), shape[:-2]
    )


def _regular(name: str, matrix: Array, rule: Callable[[], Array]) -> Array:
    from numpy.linalg import LinAlgError  # the other libraries' own is this one

    try:
        with quiet(), checking_singularity(matrix):
            return rule()
    except LinAlgError:
        hint = f"{_of_shape(matrix.shape)} has the determinant 0"
        raise VladError("singular-matrix", SINGULAR[name], hint=hint) from None


def _of_shape(shape: Shape) -> str:
    """Which matrix an error speaks of. Of several the libraries do not say which."""
    return f"{'one of the matrices' if len(shape) > 2 else 'the matrix'}, of shape {shape_text(shape)},"


SINGULAR = {name: f"Matrix given to {name} is singular" for name in ("solve", "inverse")}


def _det(a: Value) -> Value:
    x = _square("det", a)
    with quiet():
        return made(namespace(x).linalg.det(x))


def _abstract_det(w: Any, a: Any) -> Any:
    shape = _abstract_square(w, "det", a)
    if shape is None:
        return None
    *batch, n, _ = shape
    if 0 in shape:
        return filled(w, tuple(batch), 1.0) if batch else w.constant(1.0)
    routine = Routine("determinant", (Output(math.prod(batch) if batch else None),), n, 0, tuple(batch))
    result = w.types.tensor(tuple(batch)) if batch else w.types.real
    return w.loops(routine, [_factors(w, a)[0]], [result])[0]


def _unit(x: Array) -> Array:
    """The unit matrix beside x."""
    return device_of(x).make("eye", x.shape[-1], dtype=x.dtype)


def _singular(x: Array) -> tuple[Array, ...]:
    """U, the singular values and Vᵀ; nan where a library does not find them, as of a matrix in which nan is."""
    from numpy.linalg import LinAlgError

    xp = namespace(x)
    expect_work(EFFORTS["singular"], x.shape)
    try:
        with quiet():
            u, sizes, v = xp.linalg.svd(x)
    except LinAlgError:
        if x.ndim > 2:  # one of several, and it does not say which
            found = [_singular(x[index, ...]) for index in range(x.shape[0])]
            return tuple([xp.stack(parts) for parts in zip(*found, strict=True)])
        unknown = xp.full_like(x, xp.nan)
        return unknown, unknown[..., 0], unknown
    return u, sizes, v


def _abstract_singular(w: Any, a: Any) -> tuple[Any, Any, Any]:
    *batch, n, _ = shape = shape_of(a)
    _expect_few(w, "singular", n)
    whole, row = Output(math.prod(shape)), Output(math.prod(batch) * n)
    routine = Routine("singular", (whole, row, whole), n, 0, tuple(batch))
    tensor = w.types.tensor
    u, sizes, v = w.loops(routine, [a], [tensor(shape), tensor((*batch, n)), tensor(shape)])
    return u, sizes, v


def _cofactor(a: Value) -> Value:
    """det(U) det(V) U diag(the product of the other singular values, for each) V: exact where a is singular."""
    x = _square("det", a)
    xp = namespace(x)
    u, sizes, v = _singular(x)
    with quiet():
        others = xp.prod(xp.where(_unit(x) == 1, 1.0, sizes[..., None, :]), axis=-1)
        orientation = xp.linalg.det(u) * xp.linalg.det(v)
        return made(orientation[..., None, None] * ((u * others[..., None, :]) @ v))


def _abstract_cofactor(w: Any, a: Any) -> Any:
    shape = _abstract_square(w, "det", a)
    if shape is None or 0 in shape:
        return None if shape is None else filled(w, shape, 0.0)
    *batch, n, _ = shape
    apply, table = w.apply, w.machine.table
    u, sizes, v = _abstract_singular(w, a)
    unit = apply(table["eye"], [w.constant(float(n))])
    test = apply(table["="], [unit, w.constant(1.0)])
    spread = repeated(w, reshaped(w, sizes, (*batch, 1, n)), shape)
    others = reduced(w, apply(table["where"], [test, w.constant(1.0), spread]), [len(batch) + 1], False, "*")
    product = apply(table["matmul"], [apply(table["*"], [u, reshaped(w, others, (*batch, 1, n))]), v])
    orientation = apply(table["*"], [_abstract_det(w, u), _abstract_det(w, v)])
    orientation = reshaped(w, orientation, (*batch, 1, 1)) if batch else orientation
    return apply(table["*"], [orientation, product])


# The cofactors of matrices over nilpotent numbers, which have their derivatives of every order, at matrices of every rank.
#
# Numbers a + b e, where e e = 0, have derivatives as their second parts; those of second order are numbers whose a and b are such
# numbers with another e, and so on: 2 to the p parts for p derivatives. `cofactors` takes matrices of such numbers, their parts
# on a first axis, and answers the same. So its derivative along E is the second half of what it answers for twice as many parts,
# its operand's and E's, and that is all there is to say. It is symmetrical, as the cofactors are the slope of det, under the
# product of numbers that is the last part of (x y): s is what is summed with the parts of x in reverse.
#
# Of a matrix B, turned so that its first part is diagonal and falls, let Z be the last p + 1 rows and columns, R the others.
# What is in R has an inverse, a finite series. With the Schur complement C = B_ZZ - B_ZR inv(B_RR) B_RZ
#     adjugate of B = det(B_RR) (det C inv(B_RR) + (1 - inv(B_RR) B) adjugate(C) (1 - B inv(B_RR)))
# and nothing divides by C: its determinant and adjugate are polynomials, here by Faddeev and LeVerrier. So it does not matter
# what is 0 in it, or nearly. If there are zeros in R, too, all is 0, and det(B_RR) says so; of what is nearly 0 there, each term
# has more factors than divisors, as it is differentiated p times only.


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
    """Of matrices of nilpotent numbers the first part of which is diagonal; Z is of r rows. `inverses`: of the diagonal in R,
    else 0; `volume`: its product there. These are arrays of a library, or what is known of them; `of` is what has no operator."""
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


class _Arrays:
    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def trace(self, x: Array) -> Array:
        return self.xp.sum(x * _unit(x), axis=(-2, -1), keepdims=True)

    def columns(self, x: Array, count: int) -> Array:
        return x[..., x.shape[-1] - count :]

    def rows(self, x: Array, count: int) -> Array:
        return x[..., x.shape[-2] - count :, :]


def _expect_parts(x: Array) -> None:
    """Raises VladError where these are no matrices by parts: numbers of parts are powers of two."""
    if x.ndim < 3 or not x.shape[0] or x.shape[0] & (x.shape[0] - 1):
        raise VladError(
            "wrong-shape", f"Shapes given to det do not fit: {shape_text(x.shape)}", hint=_AS_PRIMAL
        )


_AS_PRIMAL = "a sensitivity has the shape of its primal"


def _cofactors(a: Value) -> Value:
    x = _square("det", a)
    _expect_parts(x)
    if 0 in x.shape:
        return made(x)
    xp, n, r = namespace(x), x.shape[-1], min(x.shape[0].bit_length(), x.shape[-1])
    u, sizes, v = _singular(x[0, ...])
    with quiet():
        turned, back, sizes, unit = (
            xp.matrix_transpose(u),
            xp.matrix_transpose(v),
            sizes[..., None, :],
            _unit(x),
        )
        parts = [unit * sizes, *[turned @ x[k, ...] @ back for k in range(1, x.shape[0])]]
        regular = device_of(x).make("arange", n) < n - r
        inverses = xp.where(regular, 1.0 / xp.where(sizes == 0, 1.0, sizes), 0.0)
        volume = xp.prod(sizes[..., : n - r], axis=-1, keepdims=True)
        found = _adjugates(parts, unit, inverses, volume, r, _Arrays(xp))
        orientation = (xp.linalg.det(u) * xp.linalg.det(v))[..., None, None]
        return made(xp.stack([orientation * (u @ xp.matrix_transpose(y) @ v) for y in found]))


class _Expression:
    """What is known of a matrix, with Python's operators."""

    def __init__(self, w: Any, x: Any) -> None:
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


def _abstract_cofactors(w: Any, a: Any) -> Any:
    shape = _abstract_square(w, "det", a)
    if shape is None:
        return None
    if len(shape) < 3 or not shape[0] or shape[0] & (shape[0] - 1):
        return unfit(w, a, (1, 1, 1))
    if 0 in shape:
        return a
    count, *batch, n, _ = shape
    if count > 4:  # C compilers take minutes for so many products of parts
        return w.left_out("fourth derivatives of det are")
    own, r = (*batch, n, n), min(count.bit_length(), n)
    apply, table, constant = w.apply, w.machine.table, w.constant

    def by(name: str, *operands: Any) -> Any:
        return apply(table[name], [constant(x) if type(x) is float else x for x in operands])

    given = [copied(w, a, own, Access(k * math.prod(own), contiguous(own))) for k in range(count)]
    u, sizes, v = _abstract_singular(w, given[0])
    orientation = by("*", _abstract_det(w, u), _abstract_det(w, v))
    orientation = reshaped(w, orientation, (*batch, 1, 1)) if batch else orientation
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
    answers = [by("*", orientation, by("matmul", by("matmul", u, by("swap", y.x)), v)) for y in found]
    return _abstract_stacked(w, answers, own)


def _abstract_stacked(w: Any, parts: Sequence[Any], own: Shape) -> Any:
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
        raise unlike("det", (t,), _AS_PRIMAL)
    h = x.shape[0] // 2
    return made(x[h:, ...] if number else x[:h, ...])


def _placed(t: Value, number: Value) -> Value:
    x = _parted(t)
    if number not in (0.0, 1.0):
        raise unlike("det", (t,), _AS_PRIMAL)
    zeros = namespace(x).zeros_like(x)
    return made(namespace(x).concat([zeros, x] if number else [x, zeros], axis=0))


def _mirrored(t: Value) -> Value:
    x = _parted(t)
    return made(namespace(x).flip(x, axis=0))


def _by_parts(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The type rule of a row whose first operand has parts."""

    def abstract(w: Any, t: Any, *more: Any) -> Any:
        shape = shape_of(t)
        if len(shape) < 3 or not shape[0] or shape[0] & (shape[0] - 1):
            return unfit(w, t, (1, 1, 1))
        if not all(known(w, number) in (0.0, 1.0) for number in more):
            return w.fail("Shapes given to det do not fit")
        return rule(w, t, *[int(known(w, number)) for number in more])

    return abstract


def _abstract_half(w: Any, t: Any, number: int) -> Any:
    count, *own = shape_of(t)
    if count < 2:
        return unfit(w, t, (2, *own))
    first = number * (count // 2) * math.prod(own)
    return copied(w, t, (count // 2, *own), Access(first, contiguous(shape_of(t))))


def _abstract_placed(w: Any, t: Any, number: int) -> Any:
    count, *own = shape = shape_of(t)
    return put_together(w, (2 * count, *own), [(t, shape, (number * count, *[0] * len(own)))])


def _abstract_mirrored(w: Any, t: Any) -> Any:
    count, *own = shape_of(t)
    size = math.prod(own)
    parts = [copied(w, t, tuple(own), Access(k * size, contiguous(own))) for k in reversed(range(count))]
    return _abstract_stacked(w, parts, tuple(own))


def _cholesky(a: Value) -> Value:
    from numpy.linalg import LinAlgError

    x = _square("cholesky", a)
    xp = namespace(x)
    try:
        with quiet(), checking_singularity(x):
            factor = xp.linalg.cholesky((x + xp.matrix_transpose(x)) / 2)
    except LinAlgError:
        raise _not_definite(x.shape) from None
    if not bool(xp.all(xp.where(_unit(x) == 1, factor, 1.0) > 0)):  # a library that does not raise
        raise _not_definite(x.shape)
    return made(factor)


NOT_DEFINITE = "Matrix given to cholesky is not positive definite"


def _abstract_cholesky(w: Any, a: Any) -> Any:
    shape = _abstract_square(w, "cholesky", a)
    if shape is None or 0 in shape:
        return None if shape is None else filled(w, shape, 0.0)
    _expect_few(w, "triangle", shape[-1])
    apply, table = w.apply, w.machine.table
    symmetric = apply(table["/"], [apply(table["+"], [a, apply(table["swap"], [a])]), w.constant(2.0)])
    routine = Routine("triangle", (Output(math.prod(shape)), Output(None)), shape[-1], 0, shape[:-2])
    factor, status = w.loops(routine, [symmetric], [w.types.tensor(shape), w.types.real])
    return _checked(w, status, NOT_DEFINITE, lambda: factor)


def _abstract_half_lower(w: Any, t: Any) -> Any:
    if len(shape_of(t)) < 2:
        return unfit(w, t, (1, 1))
    n = shape_of(t)[-1]
    table, constant = w.machine.table, w.constant
    reads = (Read(None, Access(0, (1, 0))), Read(None, Access(0, (0, 1))), *[Read(k, None) for k in range(3)])
    row, column, none, half, one = range(5)
    steps = (
        Step(table["="], (row, column)), Step(table["where"], (5, half, none)),
        Step(table["<"], (column, row)), Step(table["where"], (7, one, 6)),
    )  # fmt: skip
    kernel = Kernel((n, n), reads, steps, (Output(n * n),), (Write(0, 8, Access(0, (n, 1))),))
    return w.loops(kernel, [constant(0.0), constant(0.5), constant(1.0)], [w.types.tensor((n, n))])[0]


def _not_definite(shape: Shape) -> VladError:
    symmetric = "of one that is not symmetric the symmetric part is taken"
    hint = f"{_of_shape(shape)} has an eigenvalue that is not positive; {symmetric}"
    return VladError("not-definite", NOT_DEFINITE, hint=hint)


def _half_lower(t: Value) -> Value:
    """Of which a triangular matrix is made of a symmetric one: 1 below the diagonal, 1/2 on it, 0 above."""
    xp, x = namespace(t.like), t.like
    return made(xp.tril(device_of(x).make("ones", x.shape[-2:], dtype=x.dtype)) - _unit(x) / 2)


def _norm(t: Value) -> Value:
    array = reals(array_of("norm", t))
    xp = namespace(array)
    with quiet():
        root = float(xp.sqrt(xp.sum(array * array)))
        least, power, *_ = MAGNITUDES[kind_name(array.dtype)]
        if least <= root < math.inf:
            return root
        if bool(xp.any(xp.isinf(array))):
            return math.inf
        by = 1.0  # squares of floats are in reach of doubles
        if array.dtype == xp.float64:
            by = 1 / power if root > 1 else power
        scaled = xp.astype(array, xp.float64, copy=False) * by
        return float(xp.sqrt(xp.sum(scaled * scaled))) / by


def _scale(array: Array, size: Value) -> tuple[float, float]:
    """A power of two and the norm of an array multiplied by it, of which quotients are taken: 1 and the norm itself, where that
    is a normal number. 1 and 1 for zeros."""
    if type(size) is not float:
        raise invalid("norm", "a norm", size)
    _, power, least, most = MAGNITUDES[kind_name(array.dtype)]
    if least <= size <= most:
        return 1.0, size
    if size == 0:
        return 1.0, 1.0
    by, xp = 1 / power if size > 1 else power, namespace(array)
    if array.dtype == xp.float32:
        return by, size * by
    scaled = array * by
    return by, float(xp.sqrt(xp.sum(scaled * scaled)))


def _heading(t: Value, size: Value) -> Value:
    array = reals(array_of("norm", t))
    with quiet():
        by, size = _scale(array, size)
        return made((array if by == 1 else array * by) / size)


def _along(t: Value, size: Value, x: Value) -> Value:
    array, other = reals(array_of("norm", t)), numbers(x)
    if type(x) is not Tensor and type(x) is not float:
        raise invalid("norm", "a tensor", x)
    xp, (*_, least, most) = library("norm", t, x), MAGNITUDES[kind_name(array.dtype)]
    try:
        with quiet():
            total = float(xp.sum(array * other))
            if least * DIGITS <= abs(total) <= most and type(size) is float and least <= size <= most:
                return total / size
            return float(xp.sum(numbers(_heading(t, size)) * other))
    except ValueError:
        raise unlike("norm", (t, x)) from None


# The slope of heading, which is symmetrical, along E. At zero norm has no curvature, as hypot has none at the origin.
_HEADING_SLOPE = """(let ((e (- E (* (heading t size) (along t size E)))))
    (/ (* (where (= size 0) 0 1) e) (where (= size 0) 1 size)))"""
_OWN_SLOPE = _HEADING_SLOPE.replace("(heading t size)", "r")


# Of cofactors, along E; which is no matrix of nilpotent numbers yet in the case of cofactor.
_COFACTORS_SLOPE = "(half (cofactors (accumulate (placed A 0) (placed E 1))) 1)"
_COFACTOR_SLOPE = f"""(let* ((parts (cons 1 (shape a))) (a1 (reshape a parts)) (e1 (reshape E parts)))
    (reshape {_COFACTORS_SLOPE.replace("A", "a1").replace("E", "e1")} (shape a)))"""


ROWS: list[Primitive] = [
    row("dot", "a b", "The inner product of two vectors.\n(dot #[1 2 3] #[4 5 6])  ⇒ 32",
         linear="a b", value=_dot, abstract=_abstract_dot, forward="(accumulate (dot da b) (dot a db))",
         reverse={"a": "(sum-like (* s b) a)", "b": "(sum-like (* s a) b)"}),
    row("matmul", "a b",
        "The product of matrices; a vector is a row on the left, a column on the right.\n"
        "(matmul #[[1 2] [3 4]] #[1 1])  ⇒ #[3 7]\n(matmul #[[1 2] [3 4]] (eye 2))  ⇒ #[[1 2] [3 4]]",
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
    row("outer", "a b",
        "The products of all entries of two vectors.\n(outer #[1 2] #[3 4])  ⇒ #[[3 4] [6 8]]",
        linear="a b", value=_outer, abstract=_abstract_outer,
         forward="(accumulate (outer da b) (outer a db))",
         reverse={"a": "(sum-like (matmul s b) a)", "b": "(sum-like (matmul a s) b)"}),
    row("norm", "t",
        "The square root of the sum of the squares.\n(norm #[3 4])  ⇒ 5\n"
        "((gradient norm) #[3 4])  ⇒ #[0.6 0.8]", forward="(along t r dt)",
         value=_norm, abstract=_abstract_norm, reverse={"t": "(* s (heading t r))"}),
    # size is the norm of t always: that it changes with t is in what is said of t
    row("heading", "t size", "A tensor, divided by its norm; 0 at 0.", _heading, hidden=True, abstract=_abstract_heading,
         forward=_OWN_SLOPE.replace("E", "dt"), reverse={"t": _OWN_SLOPE.replace("E", "s")}),
    row("along", "t size x", "The part of x in the direction of t.", _along, hidden=True, linear="x", abstract=_abstract_along,
         forward=f"(accumulate (along t size dx) (sum (* {_HEADING_SLOPE.replace('E', 'dt')} x) #f #f))",
         reverse={"t": f"(* s {_HEADING_SLOPE.replace('E', 'x')})", "x": "(* s (heading t size))"}),
    row("solve", "a b",
        "The x for which a x = b, a square matrix.\n(solve #[[2 0] [0 4]] #[2 4])  ⇒ #[1 1]",
        linear="b", value=_solve,
         abstract=_in_doubles(_abstract_solve),
         forward="""(let ((x (reshape r (column-dims r b))))
            (reshape (solve a (- (reshape db (column-dims b b)) (matmul da x))) (shape r)))""",
         reverse={
             "a": """(let ((g (solve (swap a) (reshape s (column-dims s b)))))
                (sum-like (negate (matmul g (swap (reshape r (column-dims r b))))) a))""",
             "b": """(let ((g (solve (swap a) (reshape s (column-dims s b)))))
                (reshape (sum-like g (reshape b (column-dims b b))) (shape b)))""",
         }),
    constant("column-dims", "t b", "The shape of t as columns, where b is a vector.", linear="t b", value=_column_dims,
             hidden=True,
             abstract=lambda w, t, b: w.value(list_of([float(n) for n in _column_shape(shape_of(t), shape_of(b))]))),
    row("inverse", "a",
        "The inverse of a square matrix.\n(inverse #[[2 0] [0 4]])  ⇒ #[[0.5 0] [0 0.25]]",
        _inverse, abstract=_in_doubles(_abstract_inverse),
         forward="(negate (matmul r (matmul da r)))",
         reverse={"a": "(negate (matmul (swap r) (matmul s (swap r))))"}),
    row("det", "a",
        "The determinant of a square matrix.\n(round-to 6 (det #[[1 2] [3 4]]))  ⇒ -2\n"
        "((gradient det) #[[2 0] [0 4]])  ⇒ #[[4 0] [0 2]]", _det, abstract=_in_doubles(_abstract_det),
         forward="(sum (* (cofactor a) da) '(-2 -1) #f)",
         reverse={"a": "(* (spread s a '(-2 -1)) (cofactor a))"}),
    row("cofactor", "a", "The matrix of the cofactors: the slope of det.", _cofactor, hidden=True,
         abstract=_in_doubles(_abstract_cofactor),
         forward=_COFACTOR_SLOPE.replace("E", "da"), reverse={"a": _COFACTOR_SLOPE.replace("E", "s")}),
    row("cofactors", "a", "The same of matrices whose entries have parts, on a first axis.", _cofactors, hidden=True,
         abstract=_in_doubles(_abstract_cofactors),
         forward=_COFACTORS_SLOPE.replace("A", "a").replace("E", "da"),
         reverse={"a": f"(mirrored {_COFACTORS_SLOPE.replace('A', 'a').replace('E', '(mirrored s)')})"}),
    row("half", "t k", "The first or second half of the parts.", _half, linear="t", hidden=True,
         abstract=_by_parts(_abstract_half), forward="(half dt k)", reverse={"t": "(placed s k)"}),
    row("placed", "t k", "Twice as many parts, of which one half is 0.", _placed, linear="t", hidden=True,
         abstract=_by_parts(_abstract_placed), forward="(placed dt k)", reverse={"t": "(half s k)"}),
    row("mirrored", "t", "The parts in reverse.", _mirrored, linear="t", hidden=True, abstract=_by_parts(_abstract_mirrored),
         forward="(mirrored dt)", reverse={"t": "(mirrored s)"}),
    # Murray 2016, Differentiation of the Cholesky decomposition, section 3; the matrix is made symmetric first
    row("cholesky", "a",
        "The lower triangular matrix whose product with its own transpose is a.\n"
        "(cholesky #[[4 0] [0 9]])  ⇒ #[[2 0] [0 3]]", _cholesky,
         abstract=_in_doubles(_abstract_cholesky),
         forward="""(let* ((e (* 0.5 (+ da (swap da)))) (inner (solve r (swap (solve r e)))))
            (matmul r (* inner (half-lower r))))""",
         reverse={"a": """(let* ((u (swap r)) (inner (* (matmul u s) (half-lower r)))
                                 (g (solve u (swap (solve u (swap inner))))))
            (* 0.5 (+ g (swap g))))"""}),
    constant("half-lower", "t", "Of what a symmetric matrix keeps in a triangular one.", _half_lower, hidden=True,
             abstract=_abstract_half_lower),
]  # fmt: skip
