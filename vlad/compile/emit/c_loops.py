"""Kernels → C text: nested loops over constant extents, which a C compiler unrolls where short and vectorises where long.

In: a kernel, the names of its operands and of its outputs.  Out: lines, one nest of loops for each piece of a kernel that
chooses (reindex.py). What is combined over the innermost loops is gathered in a local variable, sums of floats in a double; sums
there may be taken in any order, which `#pragma omp simd` says without leave for anything else.

The file is long because a loop nest is written by one class, whose methods share what is known of it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from vlad.compile.emit.blas_calls import product_lines
from vlad.compile.emit.functions import is_vectored, single
from vlad.compile.emit.loop_text import (
    C_KINDS,
    SIMD,
    combined_text,
    entry_text,
    gathering_type,
    loop_order,
    number_text,
    operand_texts,
    position_text,
    step_text,
    stored_text,
)
from vlad.compile.emit.multiple_accumulators import (
    FEWEST_IN_PART,
    IN_LANES,
    LANES,
    MOST_IN_LANES,
    MOST_STEPS_IN_PART,
    ORDER,
    PARTS,
    Gathered,
    block,
    in_lanes,
    in_parts,
)
from vlad.compile.emit.needs import Needs
from vlad.compile.emit.quotients import FEWEST_TURNS, PAYS, Quotients, quotients
from vlad.compile.emit.scaling import scaled
from vlad.compile.emit.vectorize import SUMS, WIDE, Wide, called, is_of_host, is_wide, kept_entry, nonnegative
from vlad.compile.ir.matrix_products import as_product
from vlad.compile.ir.reindex import pieces
from vlad.core.loop_nests import SHORT, Choice, Kernel, Output, Read, Step, Write, is_apart, start
from vlad.core.types import is_of_reals

FEWEST_SIMD = 8  # turns of an innermost loop that are worth taking in parallel
# Somebody may want to end what takes long: in kernels of so many turns it is asked each time after so many, if they have more
# than one loop.
MANY_TURNS, TURNS_A_LOOK = 1 << 22, 1 << 16
# Four turns at once are a tenth less where turns are long and wait for nothing. What says so does not go with `omp simd`, and so
# it is for who tries hardest: with -O2 gcc 12 does not vectorise of itself.
UNROLLED = ["#pragma GCC ivdep", "#pragma GCC unroll 4"]
FEWEST_UNROLLED, FEWEST_STEPS_UNROLLED = 256, 8
NOWHERE: Mapping[str, Place] = {}
NO_PLACES: Mapping[int, int] = {}


class Place(NamedTuple):
    """The C for where an array is to lie if that is not null, and the condition of the preprocessor for that; "" if there is
    none."""

    text: str
    condition: str = ""


def looks(kernel: Kernel) -> bool:
    """Does the text of a kernel ask whether to end?"""
    return kernel.turns >= MANY_TURNS


def kernel_lines(
    kernel: Kernel,
    operands: Sequence[str],
    outputs: Sequence[str],
    real: Callable[[float], str],
    needs: Needs,
    taken: Mapping[int, int] = NO_PLACES,
    places: Mapping[str, Place] = NOWHERE,
) -> list[str]:
    """The lines of a kernel; `outputs` are declared here. `needs`: notes what it takes of the run-time.
    `taken`: by output, an operand that is dead afterwards, whose buffer it may reuse (buffer_reuse.py). `places`: where outputs
    are to lie."""
    product = as_product(kernel)
    if product is not None:
        array = _array(kernel.outputs[0], outputs[0], places, needs)
        return [*array, *product_lines(product, kernel, operands, outputs[0], needs)]
    emitters = _emitters(kernel, operands, outputs, real, needs)
    lines = _declared(kernel, operands, outputs, emitters, taken, places, needs)
    if _when_over(emitters) == WIDE:
        emitters[0].over = {operands[operand] for operand in taken.values()}
    return [*lines, *[line for emitter in emitters for line in emitter.lines()], *emitters[0].answered()]


def _emitters(
    kernel: Kernel,
    operands: Sequence[str],
    outputs: Sequence[str],
    real: Callable[[float], str],
    needs: Needs,
) -> list[_Emitter]:
    parts = pieces(kernel, operands)
    return [_Emitter(*part, outputs, real, needs, len(parts) > 1) for part in parts]


def when_over(kernel: Kernel, operands: Sequence[str]) -> str | None:
    """Where outputs lie in the place of operands that they may have: a condition of the preprocessor, "" for everywhere, None for
    nowhere. `operands`: their C as far as these are numbers."""
    if as_product(kernel) is not None:
        return None
    return _when_over(_emitters(kernel, operands, [""] * len(kernel.outputs), repr, Needs()))


def _when_over(emitters: Sequence[_Emitter]) -> str | None:
    conditions = {emitter.when_over for emitter in emitters}
    return conditions.pop() if len(conditions) == 1 and (len(emitters) == 1 or "" in conditions) else None


def _array(output: Output, name: str, places: Mapping[str, Place], needs: Needs) -> list[str]:
    """The declaration of a new array."""
    new = needs.array(output)
    begin = f"{C_KINDS[output.kind]} *restrict {name} = "
    if name not in places:
        return [f"{begin}{new};"]
    place = places[name]
    return _where(place.condition, [f"{begin}{place.text} ? {place.text} : {new};"], [f"{begin}{new};"])


def _where(condition: str, lines: list[str], others: list[str]) -> list[str]:
    return [f"#if {condition}", *lines, "#else", *others, "#endif"] if condition else lines


def _declared(
    kernel: Kernel,
    operands: Sequence[str],
    outputs: Sequence[str],
    emitters: Sequence[_Emitter],
    taken: Mapping[int, int],
    places: Mapping[str, Place],
    needs: Needs,
) -> list[str]:
    """The outputs, with what they hold before the loops."""
    lines: list[str] = []
    condition = _when_over(emitters)
    for number, (output, name) in enumerate(zip(kernel.outputs, outputs, strict=True)):
        combine = next((write.combine for write in kernel.writes if write.output == number), "")
        if output.size is None:
            lines += emitters[0].real_output(number)
            continue
        base = None if output.base is None else operands[output.base]
        if number in taken and base is not None:
            lines.append(f"{C_KINDS[output.kind]} *{name} = {base};")
            continue
        new = _array(output, name, places, needs)
        if number in taken and condition is not None:
            over = f"{C_KINDS[output.kind]} *{name} = {operands[taken[number]]};"
            lines += _where(condition, [over], new)
            continue
        lines += new
        if base is not None:
            text = f"((const {C_KINDS[output.kind]} *){base})[i]"
        elif combine and not (kernel.turns and emitters[0].gathers_all(number)):
            text = emitters[0].number(start(combine, output.kind), output.kind)
        elif output.fill is not None:
            text = emitters[0].number(output.fill, output.kind)
        else:
            continue
        lines.append(f"for (long i = 0; i < {output.size}; i++) {name}[i] = {text};")
    return lines


class _Emitter:
    """Writes out the loops of a kernel that chooses nothing, whose outputs are declared."""

    def __init__(
        self, kernel: Kernel, operands: Sequence[str], outputs: Sequence[str], real: Callable[[float], str],
        needs: Needs, is_piece: bool = False,
    ) -> None:  # fmt: skip
        """`is_piece`: others write to the same outputs."""
        self.kernel = kernel
        self.is_piece = is_piece
        self.operands = operands
        self.outputs = outputs
        self.real = real
        self.needs = needs
        self.axes = loop_order(kernel)
        self.found: list[str] = []
        self.levels = self._levels()  # by value: how many of the outer loops enclose where it is found
        # by write: how many of the outer loops enclose the variable in which it is gathered; None where it is not
        self.depths = [self._depth(write) for write in kernel.writes]
        self.look = self._look()
        self.constants = self._constants()
        self.scaled = scaled(kernel, self.constants)
        self.quotients = self._quotients()
        self.multiplies = False  # are quotients computed by reciprocals at present?
        self.over: Collection[str] = ()  # operands over which outputs lie though a loop may be run twice
        self.divides_again = False  # are such operands read from where vectorize.py keeps them at present?

    @property
    def when_over(self) -> str | None:
        """Where outputs may lie over operands; as the function of this name. Not where a loop may be run twice, unless it is one
        that keeps them so long. In short loops, which are written out, the C compiler finds out by itself what may be taken
        together, if nothing lies over anything."""
        if self.kernel.turns <= SHORT:
            return None
        if self.quotients is None:
            return ""
        return WIDE if is_wide(self.kernel, self.levels, self.axes, self.quotients) else None

    def _quotients(self) -> Quotients | None:
        """None where the innermost loop is not worth having twice."""
        if not self.axes or self.kernel.turns <= SHORT or self.kernel.extents[self.axes[-1]] < FEWEST_TURNS:
            return None
        return quotients(self.kernel, self.levels, len(self.axes), self.constants)

    def _constants(self) -> dict[int, float]:
        """What is known of the values that are read."""
        known = {}
        for number, read in enumerate(self.kernel.reads):
            if read.operand is not None and read.access is None:
                with contextlib.suppress(ValueError):
                    known[number] = float(self.operands[read.operand].strip("()"))
        return known

    def _inside(self, depth: int) -> int:
        """The turns of the loops within one of the outer ones."""
        return math.prod([self.kernel.extents[axis] for axis in self.axes[depth + 1 :]])

    def _look(self) -> int | None:
        """In which of the outer loops is it asked whether to end? Never in the innermost one, which may be taken in parallel."""
        if not looks(self.kernel) or len(self.axes) < 2:
            return None
        outer = range(len(self.axes) - 1)
        return max([depth for depth in outer if self._inside(depth) >= TURNS_A_LOOK], default=0)

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
        """Is what the innermost loops gather only a part, because there was something before, or turns of the outer loops meet at
        one place?"""
        if self.is_piece or self.kernel.outputs[write.output].base is not None:
            return True
        strides = () if write.access is None else write.access.strides
        return not is_apart(self.axes[:depth], strides, self.kernel.extents)

    def lines(self) -> list[str]:
        self._line(0, "{")
        self._loops(0)
        self._line(0, "}")
        return self.found

    def gathers_all(self, output: int) -> bool:
        """Is each entry of an output gathered in one variable, so that nothing needs to be there before?"""
        return any(
            write.output == output and depth is not None and not self._is_part(write, depth)
            for write, depth in zip(self.kernel.writes, self.depths, strict=True)
        )

    def real_output(self, output: int) -> list[str]:
        """Its declaration, and that of the variable in which it is gathered."""
        write = next(write for write in self.kernel.writes if write.output == output)
        name, gathered = self.outputs[output], self._gathered(write)
        if not write.combine:
            return [f"double {name};"]
        own = [f"{self._kind_gathered(write)} {gathered}{self._start_of(write)};"]
        return own if gathered == name else [f"double {name};", *own]

    def answered(self) -> list[str]:
        """Reals that were gathered as numbers of another kind."""
        return [
            f"{self.outputs[write.output]} = ({C_KINDS[self._kind_of(write)]}){self._gathered(write)};"
            for write in self.kernel.writes
            if write.combine and write.access is None and self._gathered(write) != self.outputs[write.output]
        ]

    def number(self, number: float, kind: str) -> str:
        return number_text(number, kind, self.real)

    def _line(self, depth: int, text: str) -> None:
        self.found.append("  " * depth + text)

    def _lines(self, depth: int, lines: Iterable[str]) -> None:
        for line in lines:
            self._line(0 if line.startswith("#") else depth, line)

    def _loops(self, depth: int) -> None:
        """The loops from one of the outer ones on inwards."""
        here = [write for write, own in zip(self.kernel.writes, self.depths, strict=True) if own == depth]
        for write in here:
            if write.access is not None:
                self._line(
                    depth + 1, f"{self._kind_gathered(write)} {self._gathered(write)}{self._start_of(write)};"
                )
            if self._looks_for_nan(write):
                self._line(depth + 1, f"{self._kind_gathered(write)} {self._gathered(write)}__nan = 0;")
        self._values(depth)
        if depth == len(self.axes):
            self._writes(depth + 1)
        else:
            if self.quotients is not None and depth == len(self.axes) - 1:
                self._multiplying(depth, self.quotients)
            self._loop(depth)
        for write in here:
            gathered, output, kind = self._gathered(write), self.outputs[write.output], self._kind_of(write)
            if self._looks_for_nan(write):
                self._line(depth + 1, f"if ({gathered}__nan) {gathered} = (0.0 / 0.0);")
            if write.access is not None:
                combine = write.combine if self._is_part(write, depth) else ""
                entry = entry_text(output, write.access, self.kernel.extents)
                self._line(depth + 1, stored_text(entry, gathered, combine, kind))

    def _loop(self, depth: int) -> None:
        kernel, axis = self.kernel, self.axes[depth]
        extent = kernel.extents[axis]
        if self._is_search(depth):
            pragma = self._simd(range(1, PARTS))
            self._lines(depth + 1, in_parts(self._turn(depth), axis, extent, self._all_gathered(), pragma))
            return
        if self._is_short_row(depth):
            turn, gathered = self._turn(depth), self._all_gathered()
            lines = in_lanes(turn, axis, extent, gathered, [SIMD])
            if all(one.combine == "+" for one in gathered) and self._is_left_to_the_compiler():
                loop = block(f"for (long i{axis} = 0; i{axis} < {extent}; i{axis}++) ", turn)
                lines = ["#ifdef VLAD_FAST_MATH", *loop, "#else", *lines, "#endif"]
            self._lines(depth + 1, lines)
            return
        is_innermost = depth == len(self.axes) - 1
        if is_innermost and self._is_long_sum() and is_wide(kernel, self.levels, self.axes):
            self._either(depth)
            return
        if is_innermost and self._calls_vectors() and is_wide(kernel, self.levels, self.axes, self.quotients):
            if not any(map(is_of_host, self._inner_steps())):
                self._either(depth)
                return
            has_vectors = "if (vlad_has_vectors())"
            self.needs.expressions.append(has_vectors)
            self.needs.vectors = True
            self._line(0, f"#if {WIDE}")
            self._line(depth + 1, has_vectors)
            self._wide(depth)
            self._line(depth + 1, "else")
            self._line(0, "#endif")
            self._line(depth + 1, "{")
            self._plain(depth)
            self._line(depth + 1, "}")
            return
        self._plain(depth)

    def _either(self, depth: int) -> None:
        """The loop in vectors, where there are such."""
        self._line(0, f"#if {WIDE}")
        self._wide(depth)
        self._line(0, "#else")
        self._plain(depth)
        self._line(0, "#endif")

    def _plain(self, depth: int) -> None:
        """The loop as C has loops."""
        axis = self.axes[depth]
        extent, begin = self.kernel.extents[axis], 0
        for end in self._ends(depth):
            if self.kernel.turns <= SHORT:
                self._line(0, f"#pragma GCC unroll {extent}")
            elif depth == len(self.axes) - 1 and extent >= FEWEST_SIMD:
                self.found += self._simd()
            self._line(depth + 1, f"for (long i{axis} = {begin}; i{axis} < {end}; i{axis}++) {{")
            if depth == self.look:
                now = "" if self._inside(depth) >= TURNS_A_LOOK else f"!(i{axis} % {TURNS_A_LOOK}) && "
                self._line(depth + 2, self.needs.stop(now))
            self._loops(depth + 1)
            self._line(depth + 1, "}")
            begin = end

    def _ends(self, depth: int) -> list[int]:
        """Where a loop ends: the innermost one in two parts, where one vector does not take all of a short row of exponentials.
        By itself, gcc takes what is left over one at a time."""
        kernel, extent = self.kernel, self.kernel.extents[self.axes[depth]]
        left = extent % LANES
        is_single = any(output.kind == "float32" for output in kernel.outputs)
        fewest = 4 if is_single else 2  # in the smallest vector
        is_innermost = depth == len(self.axes) - 1 and kernel.turns > SHORT
        if is_innermost and left >= fewest and LANES < extent < MOST_IN_LANES and self._is_vectored():
            return [extent - left, extent]
        return [extent]

    def _is_search(self, depth: int) -> bool:
        """Does the innermost loop but look for the greatest or least of long rows?"""
        kernel = self.kernel
        return (
            depth == len(self.axes) - 1
            and kernel.extents[self.axes[depth]] >= PARTS * FEWEST_IN_PART
            and len(kernel.steps) <= MOST_STEPS_IN_PART
            and self.quotients is None
            and all(
                write.combine in ORDER and own is not None
                for write, own in zip(kernel.writes, self.depths, strict=True)
            )
        )

    def _is_short_row(self, depth: int) -> bool:
        """Does the innermost loop gather from a short row of reals?"""
        kernel = self.kernel
        gathers = [write for write, own in zip(kernel.writes, self.depths, strict=True) if own is not None]
        return (
            depth == len(self.axes) - 1
            and kernel.turns > SHORT
            and FEWEST_SIMD <= kernel.extents[self.axes[depth]] < MOST_IN_LANES
            and self.quotients is None
            and self._is_parallel()
            and bool(gathers)
            and all(write.combine in IN_LANES and is_of_reals(self._kind_of(write)) for write in gathers)
        )

    def _turn(self, depth: int) -> list[str]:
        """The lines of a turn of the innermost loop."""
        return self._apart(depth, lambda: self._loops(depth + 1))

    def _turn_values(self, depth: int) -> list[str]:
        """Those of them that find what is to be written."""
        return self._apart(depth, lambda: self._values(depth + 1))

    def _apart(self, depth: int, write: Callable[[], None]) -> list[str]:
        begun = len(self.found)
        write()
        turn = self.found[begun:]
        del self.found[begun:]
        own = "  " * (depth + 2)
        return [line.removeprefix(own) for line in turn]

    def _all_gathered(self) -> list[Gathered]:
        return [
            Gathered(
                self._gathered(write), self._kind_gathered(write), write.combine, self._looks_for_nan(write)
            )
            for write, own in zip(self.kernel.writes, self.depths, strict=True)
            if own is not None
        ]

    def _multiplying(self, depth: int, quotients: Quotients) -> None:
        """The innermost loop with products in the place of quotients, and the question whether it is to be run again."""
        before = {y for y in quotients.divisors.values() if self.levels[y] <= depth}
        far = [quotients.is_far_divisor(y) for y in sorted(before)]
        self._line(depth + 1, f"int far = {' | '.join(far) or '0'};")
        pays = PAYS[quotients.kind]
        if is_wide(self.kernel, self.levels, self.axes, quotients):
            self._line(0, f"#if {WIDE}")
            if self.over:
                self._line(depth + 1, "if (!far)")
            self._wide(depth)
            self._line(0, f"#elif {pays}")
        else:
            self._line(0, f"#if {pays}")
        self.multiplies = True
        self._loop(depth)
        self.multiplies = False
        self._line(0, "#else")
        self._line(depth + 1, "far = 1;")
        self._line(0, "#endif")
        self._line(depth + 1, "if (far)")

    def _wide(self, depth: int) -> None:
        """The innermost loop in vectors."""
        kernel = self.kernel
        inner = [number for number, level in enumerate(self.levels) if level == len(self.axes)]
        reads = {number: self._read(read) for number, read in enumerate(kernel.reads) if number in inner}
        writes = [
            (entry_text(self.outputs[write.output], write.access, kernel.extents), write.value)
            for write in kernel.writes
            if write.access is not None and not write.combine
        ]
        sums = [(self._gathered(write), write.value) for write in kernel.writes if write.combine]
        positive = nonnegative(kernel, self.constants)
        quotients = self.quotients or Quotients({}, {}, {}, kernel.outputs[0].kind)
        kept = [number for number, read in enumerate(kernel.reads) if self._is_over(read)]
        wide = Wide(kernel, inner, quotients, positive, self.scaled, self.real, kept)
        turn = self._turn(depth)
        self.divides_again = True
        again = self._turn(depth)
        self.divides_again = False
        lines = wide.loops(self.axes[depth], reads, writes, sums, self._turn_values(depth), turn, again)
        self._lines(depth + 1, lines)
        self.needs.expressions += lines

    def _is_over(self, read: Read) -> bool:
        return read.operand is not None and self.operands[read.operand] in self.over

    def _is_parallel(self) -> bool:
        """May the turns of the innermost loop be taken in parallel? Outputs are new arrays, so they do not meet; at places that
        nobody knows, they may."""
        return not any(
            (write.access is not None and write.access.at)
            or (write.combine and write.access is None and own is None)
            for write, own in zip(self.kernel.writes, self.depths, strict=True)
        )

    def _simd(self, parts: Collection[int] = ()) -> list[str]:
        """What lets the turns of the innermost loop be taken in parallel. `parts`: the numbers of variables that there are beside
        each in which something is gathered."""
        if not self._is_parallel():
            return []
        clauses: dict[str, list[str]] = {}
        for name, _, combine, looks_for_nan in self._all_gathered():
            sides = ["", *[f"__{part}" for part in parts]]
            clauses.setdefault(combine, []).extend([name + side for side in sides])
            if looks_for_nan:
                clauses.setdefault("+", []).extend([f"{name}__nan{side}" for side in sides])
        if self.multiplies:
            clauses["|"] = ["far"]
        texts = [f" reduction({sign}: {', '.join(names)})" for sign, names in clauses.items()]
        pragma = f"{SIMD}{''.join(texts)}"
        if clauses and clauses.keys() <= {"+", "*"} and self._is_left_to_the_compiler():
            return ["#ifndef VLAD_FAST_MATH", pragma, "#endif"]
        if self._is_long_sum() and not clauses:
            return ["#ifdef VLAD_UNROLLS", *UNROLLED, "#else", pragma, "#endif"]
        return [pragma]

    def _is_left_to_the_compiler(self) -> bool:
        """Where it may reorder sums, it does so by itself, and better: gcc took twice as long with the pragma. But without that,
        it takes an exponential at a time in short rows."""
        return not self._is_vectored()

    def _is_long_sum(self) -> bool:
        """Are there many turns of many sums and products, and of nothing else?"""
        inner = self._inner_steps()
        is_long = (
            self.kernel.extents[self.axes[-1]] >= FEWEST_UNROLLED and len(inner) >= FEWEST_STEPS_UNROLLED
        )
        return is_long and all(type(step) is Step and step.row.name in SUMS for step in inner)

    def _calls_vectors(self) -> bool:
        """Does it call functions of which there are better ones, for vectors?"""
        return any(
            called(step) and not self._is_root(step) for step in self._inner_steps() if type(step) is Step
        )

    def _inner_steps(self) -> list[Step | Choice]:
        """What is found in each turn of the innermost loop."""
        return [
            step
            for number, step in enumerate(self.kernel.steps, start=len(self.kernel.reads))
            if self.levels[number] == len(self.axes)
        ]

    def _is_vectored(self) -> bool:
        """Does it call functions that take vectors?"""
        return is_vectored(
            [step_text(self.kernel, step) for step in self._inner_steps() if type(step) is Step]
        )

    def _gathered(self, write: Write) -> str:
        """The variable of what is combined. No other name has two underscores in a row."""
        output = self.outputs[write.output]
        if write.access is not None:
            return f"{output}__{write.value}"
        return output if self._kind_gathered(write) == "double" else f"{output}__all"

    def _kind_of(self, write: Write) -> str:
        return self.kernel.outputs[write.output].kind

    def _kind_gathered(self, write: Write) -> str:
        """The type of that variable: sums and products of floats are those of doubles, those of integers wrap."""
        kind = self._kind_of(write)
        return (
            "float" if kind == "float32" and write.combine in ORDER else gathering_type(kind, write.combine)
        )

    def _start_of(self, write: Write) -> str:
        kind = self._kind_of(write)
        return f" = {self.number(start(write.combine, kind), kind)}"

    def _looks_for_nan(self, write: Write) -> bool:
        """Does the variable not see a nan by itself?"""
        return write.combine in ORDER and is_of_reals(self._kind_of(write))

    def _values(self, level: int) -> None:
        """What is found inside so many loops."""
        kernel = self.kernel
        for number, read in enumerate(kernel.reads):
            if self.levels[number] == level:
                is_kept = self.divides_again and self._is_over(read)
                text = kept_entry(number, self.axes[-1]) if is_kept else self._read(read)
                self._line(level + 1, f"{C_KINDS[read.kind]} x{number} = {text};")
                self._divisor(level, number)
        for number, step in enumerate(kernel.steps, start=len(kernel.reads)):
            assert type(step) is Step
            if self.levels[number] != level:
                continue
            text = self._text(number, step)
            if self.multiplies and self.quotients is not None:
                text = self._by_products(level, number, step, self.quotients) or text
            self.needs.expressions.append(text)
            self._line(level + 1, f"{C_KINDS[step.kind]} x{number} = {text};")
            self._divisor(level, number)

    def _by_products(self, level: int, number: int, step: Step, quotients: Quotients) -> str:
        """A quotient, or the negative of one; nothing where it is neither."""
        if number in quotients.divisors:
            dividend = operand_texts(self.kernel, step)["x"]
            if number in quotients.dividends:
                far = quotients.is_far(number, dividend)
                self.needs.expressions.append(far)
                self._line(level + 1, f"far |= {far};")
            return quotients.text(number, dividend)
        found = quotients.negated(self.kernel, step, self.constants)
        if found is None:
            return ""
        of, sign = found
        negated = self.kernel.steps[of - len(self.kernel.reads)]
        assert type(negated) is Step
        return quotients.text(of, operand_texts(self.kernel, negated)["x"], sign)

    def _read(self, read: Read) -> str:
        if read.operand is None:
            assert read.access is not None
            return f"({C_KINDS[read.kind]})({position_text(read.access, self.kernel.extents)})"
        if read.access is None:
            return self.operands[read.operand]
        array = f"((const {C_KINDS[read.kind]} *){self.operands[read.operand]})"
        return entry_text(array, read.access, self.kernel.extents)

    def _text(self, number: int, step: Step) -> str:
        if number in self.scaled:
            of, factor = self.scaled[number]
            text = f"x{of} * {self.real(factor)}"
        elif self._is_root(step):
            text = f"vlad_root({operand_texts(self.kernel, step)['x']})"
        else:
            return step_text(self.kernel, step)
        return single(text) if step.kind == "float32" else text

    def _is_root(self, step: Step) -> bool:
        return step.row.name == "expt" and self.constants.get(step.values[1]) == 0.5

    def _divisor(self, level: int, number: int) -> None:
        """What is to be known of a value by which others are divided."""
        quotients = self.quotients
        if quotients is None or number not in quotients.divisors.values():
            return
        is_inside = level == len(self.axes)
        if is_inside and not self.multiplies:
            return
        if number not in quotients.kept:
            self._line(level + 1, quotients.found(number))
        far = quotients.is_far_divisor(number)
        self.needs.expressions.append(far)
        if is_inside:
            self._line(level + 1, f"far |= {far};")

    def _writes(self, depth: int) -> None:
        kernel = self.kernel
        for write, own in zip(kernel.writes, self.depths, strict=True):
            if own is not None:
                place, value = self._gathered(write), combined_text(self.kernel, write)
                if write.combine in ORDER:
                    sign = ORDER[write.combine]
                    self._line(depth, f"{place} = {value} {sign} {place} ? {value} : {place};")
                    if self._looks_for_nan(write):
                        self._line(depth, f"{place}__nan += {value} != {value};")
                    continue
            elif write.access is None:
                place = self.outputs[write.output]
            else:
                place = entry_text(self.outputs[write.output], write.access, self.kernel.extents)
            self._line(
                depth,
                stored_text(place, combined_text(self.kernel, write), write.combine, self._kind_of(write)),
            )
