"""Kernels → C text: nested loops over constant extents, which a C compiler unrolls where short and vectorises where long.

In: a kernel, the names of its operands and of its outputs.  Out: lines. What is combined over the innermost loops is gathered in
a local variable; sums there may be taken in any order, which `#pragma omp simd` says without leave for anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from vlad.compile.functions import applied
from vlad.compile.products import Product, as_product
from vlad.core.kernels import START, Access, Kernel, Write

SMALL = 64  # turns of a kernel that is written out, turn by turn
FEWEST_SIMD = 8  # turns of an innermost loop that are worth taking in parallel
ORDER = {"max": ">", "min": "<"}


def kernel_lines(
    kernel: Kernel,
    operands: Sequence[str],
    outputs: Sequence[str],
    real: Callable[[float], str],
    expressions: list[str],
    given_up: Collection[int] = (),
) -> list[str]:
    """The lines of a kernel; `outputs` are declared here. `expressions`: the rows' C, for whoever has to declare functions.
    `given_up`: operands that nobody reads later, so that an output may begin as one of them instead of its copy."""
    return _Emitter(kernel, operands, outputs, real, expressions, given_up).lines()


class _Emitter:
    def __init__(
        self, kernel: Kernel, operands: Sequence[str], outputs: Sequence[str], real: Callable[[float], str],
        expressions: list[str], given_up: Collection[int],
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.given_up = given_up
        self.operands = operands
        self.outputs = outputs
        self.real = real
        self.expressions = expressions
        self.axes = loop_order(kernel)
        self.found: list[str] = []
        self.levels = self._levels()  # by value: how many of the outer loops enclose where it is found
        # by write: how many of the outer loops enclose the variable in which it is gathered; None where it is not
        self.depths = [self._depth(write) for write in kernel.writes]

    def _levels(self) -> list[int]:
        """What is the same in all turns of the inner loops is found before these: a loop into which the C compiler has moved a
        load of such a value itself, it does not vectorise any more (gcc 12, where `exp` is called)."""
        kernel = self.kernel
        if not kernel.turns:  # what would be found might not be there
            return [len(self.axes)] * (len(kernel.reads) + len(kernel.steps))
        levels: list[int] = []
        for read in kernel.reads:
            moving = (
                []
                if read.access is None
                else [n for n, axis in enumerate(self.axes, 1) if read.access.strides[axis]]
            )
            places = [] if read.access is None else [levels[value] for value, _ in read.access.at]
            levels.append(max([0, *moving, *places]))
        for step in kernel.steps:
            levels.append(max([0, *[levels[value] for value in step.values]]))
        return levels

    def _depth(self, write: Write) -> int | None:
        if not write.combine:
            return None
        if write.access is None:
            return 0
        if write.access.at:
            return None
        depth = len(self.axes)
        while depth and write.access.strides[self.axes[depth - 1]] == 0:
            depth -= 1
        return depth if depth < len(self.axes) else None

    def _is_part(self, write: Write, depth: int) -> bool:
        """Is what the innermost loops gather only a part, because there was something before, or an outer loop is summed over as
        well?"""
        if self.kernel.outputs[write.output].base is not None:
            return True
        return write.access is not None and any(write.access.strides[axis] == 0 for axis in self.axes[:depth])

    def _product(self, product: Product) -> list[str]:
        """A call of the library, or one for each index of the axes that all have in common."""
        (name,), (output,) = self.outputs, self.kernel.outputs
        self._line(0, f"double *restrict {name} = vlad_array({output.size}L);")
        for depth, axis in enumerate(product.batch):
            self._line(depth, f"for (long i{axis} = 0; i{axis} < {self.kernel.extents[axis]}; i{axis}++)")
        arrays = [f"(const double *){self.operands[one.operand]}" for one in (product.left, product.right)]
        starts = [
            self._start(one.access, product.batch) for one in (product.left, product.right, product.result)
        ]
        left, right = product.left, product.right
        self._line(
            len(product.batch),
            f"vlad_product({int(left.transposed)}, {int(right.transposed)}, {product.rows}L, {product.columns}L, "
            f"{product.terms}L, {arrays[0]} + {starts[0]}, {left.distance}L, {arrays[1]} + {starts[1]}, {right.distance}L, "
            f"{name} + {starts[2]}, {product.result.distance}L);",
        )
        return self.found

    def _start(self, access: Access, batch: Sequence[int]) -> str:
        """Where a matrix begins."""
        kept = tuple([stride if axis in batch else 0 for axis, stride in enumerate(access.strides)])
        return f"({position_text(Access(access.offset, kept), self.kernel.extents)})"

    def lines(self) -> list[str]:
        kernel = self.kernel
        product = as_product(kernel)
        if product is not None:
            return self._product(product)
        gathered = {
            write.output
            for write, depth in zip(kernel.writes, self.depths, strict=True)
            if depth is not None and not self._is_part(write, depth)
        }
        for number, (output, name) in enumerate(zip(kernel.outputs, self.outputs, strict=True)):
            if output.size is None:
                combine = next(write.combine for write in kernel.writes if write.output == number)
                start = f" = {self.real(START[combine])}" if combine else ""
                self._line(0, f"double {name}{start};")
                continue
            self._line(0, f"double *restrict {name} = vlad_array({output.size}L);")
            combines = [write.combine for write in kernel.writes if write.output == number and write.combine]
            if output.base is not None and output.base in self.given_up:
                self.found[-1] = f"double *restrict {name} = {self.operands[output.base]};"
                continue
            if output.base is not None:
                base = self.operands[output.base]
                self._line(
                    0, f"for (long i = 0; i < {output.size}; i++) {name}[i] = ((const double *){base})[i];"
                )
                continue
            fill = output.fill
            if combines and (number not in gathered or kernel.turns == 0):
                fill = START[combines[0]]
            if fill is not None:
                self._line(0, f"for (long i = 0; i < {output.size}; i++) {name}[i] = {self.real(fill)};")
        self._line(0, "{")
        self._loops(0)
        self._line(0, "}")
        return self.found

    def _line(self, depth: int, text: str) -> None:
        self.found.append("  " * depth + text)

    def _loops(self, depth: int) -> None:
        """The loops from one of the outer ones on inwards."""
        here = [write for write, own in zip(self.kernel.writes, self.depths, strict=True) if own == depth]
        for write in here:
            if write.access is not None:
                self._line(depth + 1, f"double {self._gathered(write)} = {self.real(START[write.combine])};")
            if write.combine in ORDER:
                self._line(depth + 1, f"double {self._gathered(write)}__nan = 0.0;")
        self._values(depth)
        if depth == len(self.axes):
            self._writes(depth + 1)
        else:
            axis = self.axes[depth]
            extent = self.kernel.extents[axis]
            if self.kernel.turns <= SMALL:
                self._line(0, f"#pragma GCC unroll {extent}")
            elif depth == len(self.axes) - 1 and extent >= FEWEST_SIMD:
                self._simd()
            self._line(depth + 1, f"for (long i{axis} = 0; i{axis} < {extent}; i{axis}++) {{")
            self._loops(depth + 1)
            self._line(depth + 1, "}")
        for write in here:
            gathered = self._gathered(write)
            if write.combine in ORDER:
                self._line(depth + 1, f"if ({gathered}__nan) {gathered} = (0.0 / 0.0);")
            if write.access is not None:
                entry = entry_text(self.outputs[write.output], write.access, self.kernel.extents)
                self._line(
                    depth + 1,
                    stored_text(entry, gathered, write.combine if self._is_part(write, depth) else ""),
                )

    def _simd(self) -> None:
        """Let the turns of the innermost loop be taken in parallel: outputs are new arrays, so they do not meet."""
        if any(write.access is not None and write.access.at for write in self.kernel.writes):
            return  # at places that nobody knows, they may
        clauses: dict[str, list[str]] = {}
        for write, own in zip(self.kernel.writes, self.depths, strict=True):
            if own is not None:
                clauses.setdefault(write.combine, []).append(self._gathered(write))
                if write.combine in ORDER:
                    clauses.setdefault("+", []).append(f"{self._gathered(write)}__nan")
            elif write.combine and write.access is None:
                return
        texts = [f" reduction({sign}: {', '.join(names)})" for sign, names in clauses.items()]
        self._line(0, f"#pragma omp simd{''.join(texts)}")

    def _gathered(self, write: Write) -> str:
        """The variable of what is combined. No other name has two underscores in a row."""
        output = self.outputs[write.output]
        return output if write.access is None else f"{output}__{write.value}"

    def _values(self, level: int) -> None:
        """What is found inside so many loops."""
        kernel = self.kernel
        for number, read in enumerate(kernel.reads):
            if self.levels[number] != level:
                continue
            if read.operand is None:
                assert read.access is not None
                text = f"(double)({position_text(read.access, self.kernel.extents)})"
            elif read.access is None:
                text = self.operands[read.operand]
            else:
                text = entry_text(
                    f"((const double *){self.operands[read.operand]})", read.access, self.kernel.extents
                )
            self._line(level + 1, f"double x{number} = {text};")
        for number, step in enumerate(kernel.steps, start=len(kernel.reads)):
            if self.levels[number] != level:
                continue
            actual = {name: f"x{value}" for name, value in zip(step.row.operands, step.values, strict=True)}
            self.expressions.append(step.row.c)
            self._line(level + 1, f"double x{number} = {applied(step.row.c, actual)};")

    def _writes(self, depth: int) -> None:
        kernel = self.kernel
        for write, own in zip(kernel.writes, self.depths, strict=True):
            if own is not None:
                place, value = self._gathered(write), f"x{write.value}"
                if write.combine in ORDER:
                    sign = ORDER[write.combine]
                    self._line(depth, f"{place} = {value} {sign} {place} ? {value} : {place};")
                    self._line(depth, f"{place}__nan += {value} != {value};")
                    continue
            elif write.access is None:
                place = self.outputs[write.output]
            else:
                place = entry_text(self.outputs[write.output], write.access, self.kernel.extents)
            self._line(depth, stored_text(place, f"x{write.value}", write.combine))


def position_text(access: Access, extents: Sequence[int]) -> str:
    """Where an entry is, over indices i0, i1, … and values x0, x1, …"""
    terms = [
        f"i{axis}" if stride == 1 else f"{stride} * i{axis}"
        for axis, stride in enumerate(access.strides)
        if stride and extents[axis] != 1
    ]
    terms += [f"{stride} * (long)x{value}" for value, stride in access.at]
    if access.offset or not terms:
        terms.append(str(access.offset))
    return " + ".join(terms)


def entry_text(array: str, access: Access, extents: Sequence[int]) -> str:
    return f"{array}[{position_text(access, extents)}]"


def stored_text(place: str, value: str, combine: str) -> str:
    """A value put, or combined with what is there."""
    match combine:
        case "":
            return f"{place} = {value};"
        case "max" | "min":  # nan stays, whatever comes
            return f"if ({value} {ORDER[combine]} {place} || {value} != {value}) {place} = {value};"
    return f"{place} = {place} {combine} {value};"


def loop_order(kernel: Kernel) -> list[int]:
    """The axes, outer loops first: innermost the one along which most is read and written side by side. Axes of length 1 need
    no loop."""
    axes = [axis for axis, extent in enumerate(kernel.extents) if extent != 1]
    if len(axes) < 2:
        return axes
    accesses = [read.access for read in kernel.reads] + [write.access for write in kernel.writes]
    strided = [access for access in accesses if access is not None]

    def jumps(axis: int) -> int:
        return sum([abs(access.strides[axis]) > 1 for access in strided])

    def is_summed(axis: int) -> bool:
        return any(
            write.combine and (write.access is None or write.access.strides[axis] == 0)
            for write in kernel.writes
        )

    if kernel.turns <= SMALL:
        return sorted(axes, key=is_summed)  # all in registers: sums are best finished one by one
    # of axes along which nothing jumps one that is not summed over is the better: its turns do not wait for each other
    inner = min(reversed(axes), key=lambda axis: (jumps(axis), is_summed(axis)))
    return [*[axis for axis in axes if axis != inner], inner]
