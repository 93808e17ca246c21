"""The rows of products, of systems of linear equations, and of Cholesky's factor (arrays.py has the conventions).

The rows of determinants.py and decompositions.py share functions of this file: the check that a
matrix is square, the estimate of time, and in compiled programs the factors P L U, from which solutions and
determinants are computed. The work itself is LAPACK's: the array library calls it, or a routine of compiled programs
(core/loop_nests.Routine).

The file is long because the rows of one subject stand in one table, with their rules for types.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vlad.core.extents import real_of
from vlad.core.loop_nests import Access, Kernel, Output, Read, Routine, Step, Write, broadcast, contiguous
from vlad.core.types import is_tensor
from vlad.data.devices import checking_singularity, device_of
from vlad.data.errors import Kind, VladError
from vlad.data.tensors import Array, expect_together, made, namespace, operands_of, quiet, shape_text
from vlad.data.values import FALSE, Primitive, Value
from vlad.primitives.arrays import array_of, constant, flag, lengths_of, reals, row
from vlad.primitives.elementwise import library, unlike
from vlad.primitives.numbers import invalid
from vlad.primitives.products import expect_multiplications, product
from vlad.primitives.shaping import in_shape
from vlad.primitives.type_rules import (
    Shape,
    as_kind,
    broadcast_shape,
    copied,
    filled,
    kind_of,
    known,
    loops,
    provided,
    reduced,
    repeated,
    reshaped,
    shape_of,
    unfit,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def _matmul(a: Value, b: Value) -> Value:
    x, y = array_of("matmul", a), array_of("matmul", b)
    if not x.ndim or not y.ndim:
        raise invalid("matmul", "tensors", a, b, of=(Kind.TENSOR,))
    try:
        with quiet():
            return made(product(library("matmul", a, b), *operands_of((a, b))))
    except ValueError:
        hint = "the last axis of the first and the last but one of the second have to be equal"
        raise unlike("matmul", (a, b), hint) from None


def _abstract_matmul(w: AbstractMachine, a: Any, b: Any) -> Any:
    """Sums over the last axis of a and the last but one of b."""
    if not is_tensor(a.type) or not is_tensor(b.type):
        return w.invalid("matmul")
    own_a, own_b = shape_of(a), shape_of(b)
    rows, columns = _as_matrices(own_a, own_b)
    batch = broadcast_shape([rows[:-2], columns[:-2]])
    if rows[-1] != columns[-2] or batch is None:
        return w.misfit("matmul", own_a, own_b)
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
    """The shapes of the operands of a product, with vectors as matrices."""
    return a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)


def _product_shape(a: Shape, b: Shape) -> Shape:
    """The shape of a product, with vectors as matrices. Raises VladError."""
    left, right = _as_matrices(a, b)
    batch = broadcast_shape([left[:-2], right[:-2]])
    if batch is None or len(left) < 2 or len(right) < 2:
        raise VladError(
            "wrong-shape",
            f"Shapes given to matmul do not fit: {shape_text(a)} and {shape_text(b)}",
            name="matmul",
        )
    return (*batch, left[-2], right[-1])


def _dot(a: Value, b: Value) -> Value:
    x, y = array_of("dot", a), array_of("dot", b)
    if x.ndim != 1 or x.shape != y.shape:
        raise unlike("dot", (a, b), "dot takes two vectors of one length")
    with quiet():
        return made(library("dot", a, b).matmul(*operands_of((a, b))))


def _abstract_dot(w: AbstractMachine, a: Any, b: Any) -> Any:
    if len(shape_of(a)) != 1 or shape_of(a) != shape_of(b):
        return w.misfit("dot", shape_of(a), shape_of(b))
    own = [Access(0, (1,)), Access(0, (1,))]
    return loops(
        w, shape_of(a), [a, b], own, (), steps=[(w.machine.table["*"], (0, 1))], combine="+",
    )  # fmt: skip


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


def _abstract_outer(w: AbstractMachine, a: Any, b: Any) -> Any:
    if len(shape_of(a)) != 1 or len(shape_of(b)) != 1:
        return w.misfit("outer", shape_of(a), shape_of(b))
    return w.apply(w.machine.table["*"], [reshaped(w, a, (*shape_of(a), 1)), b])


# Multiplications of the decompositions, relative to the cube of a matrix's rows; the routines cannot be interrupted.
EFFORTS = {
    "solve": 0.7, "inverse": 2.0, "det": 0.7, "log-det": 0.7, "cholesky": 0.4, "eigh": 12.0, "qr": 4.0, "svd": 24.0,
    "singular": 24.0,
}  # fmt: skip
# Rows of the largest matrices that compiled code decomposes, as it does not check whether there is time.
MOST_ROWS = {
    "triangular": 4096, "orthogonal": 768, "spectrum": 512, "singular": 384, "factors": 1536, "triangle": 1536,
}  # fmt: skip


def expect_work(effort: float, shape: Shape, columns: int = 0) -> None:
    """Raise NoTime if the work on matrices of a shape, and on `columns` columns for each, would exceed the time limit."""
    *batch, n, m = shape
    expect_multiplications(math.prod(batch) * (effort * n * m * min(n, m) + columns * n**2))


def expect_few_rows(w: AbstractMachine, routine: str, rows: int, columns: int = 0) -> None:
    """Leave matrices whose work exceeds that of square ones with `rows` rows to tier 0, which estimates the
    time: compiling saves little of that much work.
    """
    columns = columns or rows
    if rows * columns * min(rows, columns) > MOST_ROWS[routine] ** 3:
        w.left_out("matrices of so many rows, to be taken apart, are")


def square_matrix(name: str, a: Value) -> Array:
    """A square matrix, or several on leading axes. Raises VladError, or NoTime if its decomposition would exceed
    the time limit.
    """
    if not _is_square(array_of(name, a)):
        raise unlike(name, (a,), f"{name} takes a square matrix, or several along leading axes")
    return matrix(name, a)


def matrix(name: str, a: Value) -> Array:
    """The same for any numbers of rows and columns."""
    if array_of(name, a).ndim < 2:
        raise unlike(name, (a,), f"{name} takes a matrix, or several along leading axes")
    expect_work(EFFORTS[name], a.shape)
    return reals(a.array)


def _is_square(x: Array) -> bool:
    return x.ndim > 1 and bool(x.shape[-1] == x.shape[-2])


def matrix_shape(w: AbstractMachine, name: str, a: Any) -> Shape | None:
    """The shape of one or several matrices of reals; None, and an error, for any other operand."""
    shape = shape_of(a)
    if not is_tensor(a.type):
        w.invalid(name)
    elif len(shape) < 2:
        w.misfit(name, shape)
    else:
        return shape
    return None


def square_shape(w: AbstractMachine, name: str, a: Any) -> Shape | None:
    """The same for square matrices."""
    shape = matrix_shape(w, name, a)
    if shape is not None and shape[-1] != shape[-2]:
        w.misfit(name, shape)
        return None
    return shape


def parts_of(x: Array, rule: Callable[[Array], Sequence[Array]]) -> tuple[Array, ...]:
    """The parts of a decomposition by a library's rule. nan for a matrix with an entry that is not finite, for which the results
    of libraries are undefined, and for one whose decomposition fails.
    """
    from numpy.linalg import LinAlgError  # the other libraries' is an alias of it

    xp = namespace(x)
    is_found = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    are_all = bool(xp.all(is_found))
    try:
        with quiet():
            parts = rule(x if are_all else xp.where(is_found, x, 0.0))
        if are_all:
            return tuple(parts)
    except LinAlgError:
        if x.ndim > 2:  # the library does not report which of several matrices failed
            found = [parts_of(x[index, ...], rule) for index in range(x.shape[0])]
            return tuple([xp.stack(of_each) for of_each in zip(*found, strict=True)])
        parts, is_found = rule(xp.zeros_like(x)), xp.zeros_like(is_found)
    return tuple([
        xp.where(is_found if part.ndim == x.ndim else is_found[..., 0], part, xp.nan) for part in parts
    ])  # fmt: skip


def unit_matrix(x: Array) -> Array:
    """The unit matrix, of the shape and kind of x."""
    return device_of(x).make("eye", x.shape[-1], dtype=x.dtype)


def in_doubles(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a row that computes in float64 only: results for float32 are converted back."""

    def abstract(w: AbstractMachine, *operands: Any) -> Any:
        kinds = {kind_of(x) for x in operands if is_tensor(x.type)}
        if kinds <= {"float64"}:
            return rule(w, *operands)
        result = rule(w, *[as_kind(w, x, "float64") if is_tensor(x.type) else x for x in operands])
        return result if kinds != {"float32"} or result is None else single(w, result)

    def single(w: AbstractMachine, result: Any) -> Any:
        if result.type.kind == "pair":
            return w.pair(*[single(w, part) for part in w.parts(result)])
        return as_kind(w, result, "float32")

    return abstract


def factors_of(w: AbstractMachine, a: Any) -> tuple[Any, Any]:
    """P L U of each matrix, and whether one is singular (core/loop_nests.Routine)."""
    *batch, n, _ = shape_of(a)
    expect_few_rows(w, "factors", n)
    size = math.prod(batch) * (n * n + n)
    routine = Routine("factors", (Output(size), Output(None)), n, 0, tuple(batch))
    found, status = w.loops(routine, [a], [w.types.tensor((size,)), w.types.real])
    return found, status


def _solve(a: Value, b: Value) -> Value:
    x, columns = _system("solve", a, b)
    expect_work(EFFORTS["solve"], x.shape, columns.shape[-1])
    width = columns.shape[-1]
    if not width:  # CuPy divides by the number of columns
        columns = device_of(columns).make("zeros", (*columns.shape[:-1], 1), dtype=columns.dtype)
    solved = regular("solve", x, lambda: namespace(x).linalg.solve(x, columns))[..., :width]
    return made(solved[..., 0] if len(lengths_of(b)) == 1 else solved)


def _system(name: str, a: Value, b: Value) -> tuple[Array, Array]:
    """The matrices and right-hand sides, broadcast to one batch, as not all libraries do so. Raises VladError."""
    x, y = array_of(name, a), array_of(name, b)
    hint = (
        f"{name} takes square matrices and a vector or matrices of as many rows; leading axes are broadcast"
    )
    if not _is_square(x) or not y.ndim or y.shape[-2 if y.ndim > 1 else 0] != x.shape[-1]:
        raise unlike(name, (a, b), hint)
    xp, x, y = library(name, a, b), reals(x), reals(y)
    columns = y[:, None] if y.ndim == 1 else y
    batch = broadcast_shape([x.shape[:-2], columns.shape[:-2]])
    if batch is None:
        raise unlike(name, (a, b), hint)
    return xp.broadcast_to(x, batch + x.shape[-2:]), xp.broadcast_to(columns, batch + columns.shape[-2:])


def _column_shape(shape: Shape, of_b: Shape) -> Shape:
    """The shape of t with columns, where b is a vector and t one or several."""
    return (*shape, 1) if len(of_b) == 1 else shape


def _abstract_solve(w: AbstractMachine, a: Any, b: Any) -> Any:
    return _abstract_system(w, "solve", a, b, lambda columns, batch: solution(w, "solve", a, columns, batch))


def _abstract_system(w: AbstractMachine, name: str, a: Any, b: Any, rule: Callable[[Any, Shape], Any]) -> Any:
    """Apply the rule to b as columns and the batch, and return the result in the shape of solutions for b."""
    own_a, own_b = shape_of(a), shape_of(b)
    if not is_tensor(a.type) or not is_tensor(b.type):
        return w.invalid(name)
    columns = _column_shape(own_b, own_b)
    batch = broadcast_shape([own_a[:-2], columns[:-2]])
    if len(own_a) < 2 or own_a[-1] != own_a[-2] or columns[-2] != own_a[-1] or batch is None:
        return w.misfit(name, own_a, own_b)
    x = rule(reshaped(w, b, columns), batch)
    return None if x is None else reshaped(w, x, shape_of(x)[:-1]) if len(own_b) == 1 else x


def _solve_triangular(name: str, a: Value, b: Value, upper: Value) -> Value:
    x, columns = _system(name, a, b)
    expect_work(0.0, x.shape, columns.shape[-1])
    xp = namespace(x)
    if bool(xp.any((x == 0) & (unit_matrix(x) == 1))):
        hint = f"{_of_shape(array_of(name, a).shape)} has a 0 on its diagonal"
        raise VladError(
            "singular-matrix", SINGULAR[name], hint=hint if name != "qr" else DEPENDENT, name=name
        )
    with quiet():
        solved = _substituted(x, columns, flag("solve-triangular", "upper", upper))
    return made(solved[..., 0] if len(lengths_of(b)) == 1 else solved)


DEPENDENT = "there are no slopes where one of the first columns is made of those before it"


def _substituted(x: Array, b: Array, upper: bool) -> Array:
    """Solve a triangular system by halves. The standard has no function for it, and
    those for general matrices factor the matrix again, and use the other triangle.
    """
    n = x.shape[-1]
    if n < 2:
        return b / x if n else b
    h, xp = n // 2, namespace(x)
    first, second = slice(0, h), slice(h, n)
    if upper:
        first, second = second, first
    begun = _substituted(x[..., first, first], b[..., first, :], upper)
    rest = b[..., second, :] - x[..., second, first] @ begun
    ended = _substituted(x[..., second, second], rest, upper)
    return xp.concat([ended, begun] if upper else [begun, ended], axis=-2)


def _abstract_solve_triangular(name: str, w: AbstractMachine, a: Any, b: Any, upper: Any) -> Any:
    turned = flag("solve-triangular", "upper", known(w, upper))
    apply, table = w.apply, w.machine.table

    def rule(columns: Any, batch: Shape) -> Any:
        *own, n, _ = shape_of(a)
        shape = (*batch, n, shape_of(columns)[-1])
        if not n or 0 in batch:
            return filled(w, shape, 0.0)
        expect_few_rows(w, "triangular", n)
        lower = a if not turned else a.transposed or apply(table["swap"], [a])
        zeros = apply(table["="], [diagonal_of(w, a), w.constant(0.0)])
        count = reduced(w, zeros, range(len(own) + 1), False, "+")
        return _checked(
            w, count, SINGULAR[name],
            lambda: _by_factors(w, "triangular", lower, columns, shape, tuple(own), turned),
        )  # fmt: skip

    return _abstract_system(w, name, a, b, rule)


def triangular(name: str, doc: str, shown: str, **columns: Any) -> Primitive:
    """A row that solves triangular systems; `shown` is its name in errors."""
    rule = functools.partial(_abstract_solve_triangular, shown)
    return row(
        name, "a b upper", doc, functools.partial(_solve_triangular, shown), linear="b", room=2.5,
        abstract=in_doubles(rule),
        forward=f"""(let ((change (matmul (triangle da upper) (as-columns r b))))
            (reshape-like ({name} a (- (as-columns db b) change) upper) r))""",
        reverse={
            "a": f"""(let ((g ({name} (swap a) (as-columns s b) (not upper))))
                (sum-like (triangle (negate (matmul g (swap (as-columns r b)))) upper) a))""",
            "b": f"""(let ((g ({name} (swap a) (as-columns s b) (not upper))))
                (reshape-like (sum-like g (as-columns b b)) b))""",
        }, **columns,
    )  # fmt: skip


def diagonal_of(w: AbstractMachine, a: Any) -> Any:
    """The diagonals of square matrices."""
    shape = shape_of(a)
    return copied(w, a, shape[:-1], Access(0, (*contiguous(shape)[:-2], shape[-1] + 1)))


AS_PRIMAL = "a sensitivity has the shape of its primal"


def _triangle(t: Value, upper: Value) -> Value:
    x = array_of("solve-triangular", t)
    if x.ndim < 2:
        raise unlike("solve-triangular", (t,), AS_PRIMAL)
    return made(namespace(x).tril(x) if upper is FALSE else namespace(x).triu(x))


def _abstract_triangle(w: AbstractMachine, t: Any, upper: Any) -> Any:
    if len(shape_of(t)) < 2:
        return unfit(w, t, (1, 1))
    *_, n, m = shape_of(t)
    reads = (Read(None, Access(0, (1, 0))), Read(None, Access(0, (0, 1))))
    order = (1, 0) if known(w, upper) is FALSE else (0, 1)
    kernel = Kernel(
        (n, m), reads, (Step(w.machine.table["<="], order),), (Output(n * m, kind="bool"),),
        (Write(0, 2, Access(0, (m, 1))),),
    )  # fmt: skip
    (is_in_it,) = w.loops(kernel, [], [w.types.tensor((n, m), "bool")])
    return w.apply(w.machine.table["where"], [is_in_it, t, w.constant(0.0)])


def _inverse(a: Value) -> Value:
    x = square_matrix("inverse", a)
    return made(regular("inverse", x, lambda: namespace(x).linalg.inv(x)))


def _abstract_inverse(w: AbstractMachine, a: Any) -> Any:
    shape = square_shape(w, "inverse", a)
    if shape is None:
        return None
    return solution(
        w, "inverse", a, w.apply(w.machine.table["eye"], [w.constant(real_of(shape[-1]))]), shape[:-2]
    )


def regular(name: str, matrix: Array, rule: Callable[[], Array]) -> Array:
    from numpy.linalg import LinAlgError  # the other libraries' is an alias of it

    try:
        with quiet(), checking_singularity(matrix):
            return rule()
    except LinAlgError:
        hint = f"{_of_shape(matrix.shape)} has the determinant 0"
        raise VladError("singular-matrix", SINGULAR[name], hint=hint, name=name) from None


def _of_shape(shape: Shape) -> str:
    """The matrix that an error refers to. The libraries do not report which of several it is."""
    return f"{'one of the matrices' if len(shape) > 2 else 'the matrix'}, of shape {shape_text(shape)},"


SINGULAR = {
    name: f"Matrix given to {name} is singular"
    for name in ("solve", "solve-triangular", "inverse", "log-det", "qr")
}


def solution(w: AbstractMachine, name: str, a: Any, b: Any, batch: Shape) -> Any:
    """The x for which a x = b, matrices over all of the batch. A transposed matrix, as in derivatives, uses the factors
    of the matrix itself, which exist already.
    """
    *own, n, _ = shape_of(a)
    m = shape_of(b)[-1]
    shape = (*batch, n, m)
    if not n or 0 in batch:
        return filled(w, shape, 0.0)
    factors, status = factors_of(w, a.transposed or a)

    turned = a.transposed is not None
    return _checked(
        w, status, SINGULAR[name], lambda: _by_factors(w, "solution", factors, b, shape, tuple(own), turned)
    )


def _by_factors(
    w: AbstractMachine, name: str, factors: Any, b: Any, shape: Shape, own: Shape, turned: bool
) -> Any:
    """Solutions of a shape, by a routine and the factors of matrices with a shape of their own."""
    *batch, n, m = shape
    strides = broadcast(own, batch).strides
    routine = Routine(name, (Output(math.prod(shape)),), n, m, tuple(batch), strides, turned)
    columns = b if shape_of(b) == shape else repeated(w, b, shape)
    return w.loops(routine, [factors, columns], [w.types.tensor(shape)])[0]


def _checked(w: AbstractMachine, status: Any, error: str, rule: Callable[[], Any]) -> Any:
    """Apply the rule if a routine returned 0, else raise the error."""
    return provided(w, [w.apply(w.machine.table["="], [status, w.constant(0.0)])], error, rule)


def symmetric_part(x: Array) -> Array:
    with quiet():
        total = x + namespace(x).matrix_transpose(x)
        total /= 2
        return total


def abstract_symmetric_part(w: AbstractMachine, a: Any) -> Any:
    apply, table = w.apply, w.machine.table
    return apply(table["/"], [apply(table["+"], [a, apply(table["swap"], [a])]), w.constant(2.0)])


def _cholesky(a: Value) -> Value:
    from numpy.linalg import LinAlgError

    x = symmetric_part(square_matrix("cholesky", a))
    xp = namespace(x)
    try:
        with quiet(), checking_singularity(x):
            factor = xp.linalg.cholesky(x)
    except LinAlgError:
        raise _not_definite(x.shape) from None
    if not bool(xp.all(xp.where(unit_matrix(x) == 1, factor, 1.0) > 0)):  # a library that does not raise
        raise _not_definite(x.shape)
    return made(factor)


NOT_DEFINITE = "Matrix given to cholesky is not positive definite"


def _not_definite(shape: Shape) -> VladError:
    symmetric = "of one that is not symmetric the symmetric part is taken"
    hint = f"{_of_shape(shape)} has an eigenvalue that is not positive; {symmetric}"
    return VladError("not-definite", NOT_DEFINITE, hint=hint, name="cholesky")


def _abstract_cholesky(w: AbstractMachine, a: Any) -> Any:
    shape = square_shape(w, "cholesky", a)
    if shape is None or 0 in shape:
        return None if shape is None else filled(w, shape, 0.0)
    expect_few_rows(w, "triangle", shape[-1])
    routine = Routine("triangle", (Output(math.prod(shape)), Output(None)), shape[-1], 0, shape[:-2])
    results = [w.types.tensor(shape), w.types.real]
    factor, status = w.loops(routine, [abstract_symmetric_part(w, a)], results)
    return _checked(w, status, NOT_DEFINITE, lambda: factor)


def _half_lower(t: Value) -> Value:
    """The weights that make a triangular matrix of a symmetric one: 1 below the diagonal, 1/2 on it, 0 above."""
    xp, x = namespace(t.like), t.like
    return made(xp.tril(device_of(x).make("ones", x.shape[-2:], dtype=x.dtype)) - unit_matrix(x) / 2)


def _abstract_half_lower(w: AbstractMachine, t: Any) -> Any:
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
             "a": """(let ((g (matmul (as-product s a b) (swap (as-column b)))))
                (reshape-like (sum-like g (as-row a)) a))""",
             "b": """(let ((g (matmul (swap (as-row a)) (as-product s a b))))
                (reshape-like (sum-like g (as-column b)) b))""",
         }),
    in_shape("as-row", "t", "A vector as a matrix of one row.", lambda t: (1, *t) if len(t) == 1 else t),
    in_shape("as-column", "t", "A vector as a matrix of one column.", lambda t: (*t, 1) if len(t) == 1 else t),
    in_shape("as-product", "x a b", "A product of a and b in the shape that it has if vectors are matrices.",
         lambda x, a, b: _product_shape(a, b)),
    row("outer", "a b",
        "The products of all entries of two vectors.\n(outer #[1 2] #[3 4])  ⇒ #[[3 4] [6 8]]",
        linear="a b", value=_outer, abstract=_abstract_outer,
         forward="(accumulate (outer da b) (outer a db))",
         reverse={"a": "(sum-like (matmul s b) a)", "b": "(sum-like (matmul a s) b)"}),
    row("solve", "a b",
        "The x for which a x = b, a square matrix.\n(solve #[[2 0] [0 4]] #[2 4])  ⇒ #[1 1]",
        linear="b", value=_solve,
         abstract=in_doubles(_abstract_solve), room=1.25,
         forward="(reshape-like (solve a (- (as-columns db b) (matmul da (as-columns r b)))) r)",
         reverse={
             "a": """(let ((g (solve (swap a) (as-columns s b))))
                (sum-like (negate (matmul g (swap (as-columns r b)))) a))""",
             "b": """(let ((g (solve (swap a) (as-columns s b))))
                (reshape-like (sum-like g (as-columns b b)) b))""",
         }),
    triangular(
        "solve-triangular", "The x for which a x = b, using only the lower triangle of a, or the upper one.\n"
        "(solve-triangular #[[2 0] [1 4]] #[2 9])  ⇒ #[1 2]\n(solve-triangular #[[2 1] [7 4]] #[4 8] #:upper #t)  ⇒ #[1 2]",
        "solve-triangular", keywords={"upper": FALSE}),
    row("triangle", "t upper", "The lower triangles of matrices, or the upper ones, else 0.", _triangle, linear="t", hidden=True,
         room=1.25, abstract=_abstract_triangle, forward="(triangle dt upper)", reverse={"t": "(triangle s upper)"}),
    in_shape("as-columns", "t b", "Columns for solve, a vector or several: as matrices, where b is a vector.", _column_shape),
    row("inverse", "a",
        "The inverse of a square matrix.\n(inverse #[[2 0] [0 4]])  ⇒ #[[0.5 0] [0 0.25]]",
        _inverse, abstract=in_doubles(_abstract_inverse), room=1.25,
         forward="(negate (matmul r (matmul da r)))",
         reverse={"a": "(negate (matmul (swap r) (matmul s (swap r))))"}),
    # Murray 2016, Differentiation of the Cholesky decomposition, section 3; the matrix is made symmetric first
    row("cholesky", "a",
        "The lower triangular matrix whose product with its own transpose is a.\n"
        "(cholesky #[[4 0] [0 9]])  ⇒ #[[2 0] [0 3]]", _cholesky,
         abstract=in_doubles(_abstract_cholesky), room=3.25,
         forward="""(let* ((e (* 0.5 (+ da (swap da)))) (inner (solve r (swap (solve r e)))))
            (matmul r (* inner (half-lower r))))""",
         reverse={"a": """(let* ((u (swap r)) (inner (* (matmul u s) (half-lower r)))
                                 (g (solve u (swap (solve u (swap inner))))))
            (* 0.5 (+ g (swap g))))"""}),
    constant("half-lower", "t", "The lower triangle of a matrix, with half its diagonal, else 0.", _half_lower, hidden=True,
             abstract=_abstract_half_lower),
]  # fmt: skip
