"""Products of matrices → C text: calls of the library.

In: a product or a contraction (matrix_products.py), its kernel, the names of its operands and of its output, which is declared.
Out: lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlad.compile.emit.c_numbers import long_text
from vlad.compile.emit.loop_text import C_KINDS
from vlad.compile.emit.needs import Needs
from vlad.compile.ir.matrix_products import Axes, Contraction, Product
from vlad.compile.loops.text import text_of
from vlad.compile.loops.values import position
from vlad.compile.runtime.functions import marked
from vlad.core.extents import at_most
from vlad.core.loop_nests import Access, Kernel

# After so many, a product polls `vlad_stop`: the library cannot be interrupted.
MANY_MULTIPLICATIONS = 1 << 30
# With so many, a contraction is shared among threads, and can be interrupted.
MANY_TURNS = 1 << 20


def product_lines(
    product: Product, kernel: Kernel, operands: Sequence[str], output: str, needs: Needs
) -> list[str]:
    """A call, or one for each index of the axes that the operands and the result share."""
    lines = [
        f"{'  ' * depth}for (long i{axis} = 0; i{axis} < {kernel.extents[axis]}; i{axis}++)"
        for depth, axis in enumerate(product.batch)
    ]
    real, function = C_KINDS[product.kind], marked("vlad_product@f", product.kind)
    left, right, result = product.left, product.right, product.result
    arrays = [f"(const {real} *){operands[one.operand]}" for one in (left, right)]
    starts = [_start(one.access, product.batch, kernel) for one in (left, right, result)]
    rows, each = long_text(product.rows), product.columns * product.terms
    step = most = f"({MANY_MULTIPLICATIONS} / {each} + 1)"
    is_long = True
    if type(each) is int:
        count = max(1, MANY_MULTIPLICATIONS // each)
        step, most, is_long = str(count), long_text(count), not at_most(product.rows, count)
    places = [f"{arrays[0]} + {starts[0]}", f"{output} + {starts[2]}"]
    calls = []
    if is_long:
        calls += [
            f"for (long row = 0; row < {product.rows}; row += {step}) {{",
            needs.stop(turns=kernel.turns),
        ]
        rows = f"(row + {step} < {product.rows} ? {most} : {long_text(product.rows)} - row)"
        places[0] += f" + row * {long_text(1 if left.transposed else left.distance)}"
        places[1] += f" + row * {long_text(result.distance)}"
    columns, terms = long_text(product.columns), long_text(product.terms)
    apart = [long_text(one.distance) for one in (left, right, result)]
    calls.append(
        f"{function}({int(left.transposed)}, {int(right.transposed)}, {rows}, {columns}, {terms}, {places[0]}, {apart[0]}, "
        f"{arrays[1]} + {starts[1]}, {apart[1]}, {places[1]}, {apart[2]});"
    )
    if is_long:
        calls.append("}")
    return [*lines, *["  " * len(product.batch) + line for line in calls]]


def contraction_lines(
    of: Contraction, kernel: Kernel, operands: Sequence[str], output: str, needs: Needs
) -> list[str]:
    """A call of a function of the run-time, which divides the result into blocks, and shares these among threads."""
    (size,) = [one.size or 0 for one in kernel.outputs]
    if not at_most(kernel.turns, MANY_TURNS - 1):
        needs.threads = True
        needs.stop(turns=kernel.turns)  # the function polls
    real, groups = C_KINDS[of.kind], (of.batch, of.rows, of.columns, of.terms)
    names = ("batch", "rows", "columns", "terms")
    given = [
        f"(const {real} *){operands[operand]} + {long_text(start)}"
        for operand, start in zip((of.left, of.right), of.starts, strict=False)
    ]
    values = [
        *given,
        f"{output} + {long_text(of.starts[2])}",
        long_text(size),
        str(int(of.adds)),
        str(int(of.clears)),
    ]
    axes = ", ".join(
        [
            f"{{{len(_axes_of(group))}, {group.whole}, {name}}}"
            for group, name in zip(groups, names, strict=True)
        ]
    )
    return [
        "{",
        *[
            f"  {_constant(group)}const struct vlad_axis {name}[] = {{{', '.join(_axes_of(group))}}};"
            for group, name in zip(groups, names, strict=True)
        ],
        f"  struct vlad_contraction given = {{{{{axes}}}, {', '.join(values)}}};",
        f"  {marked('vlad_contract@f', of.kind)}(&given);",
        "}",
    ]


def _constant(group: Axes) -> str:
    return "static " if all(type(one.length) is int for one in group.of) else ""


def _axes_of(group: Axes) -> list[str]:
    """At least one axis."""
    if not group.of:
        return ["{1, {0, 0, 0}}"]
    return [f"{{{one.length}, {{{one.left}, {one.right}, {one.result}}}}}" for one in group.of]


def _start(access: Access, batch: Sequence[int], kernel: Kernel) -> str:
    """The position of the first entry of a matrix."""
    kept = tuple([stride if axis in batch else 0 for axis, stride in enumerate(access.strides)])
    return f"({text_of(position(Access(access.offset, kept), kernel.extents))})"
