"""Innermost loops of sums, products and quotients, in vectors of eight reals that C is given as such, four at a time.

In: a kernel, its quotients (quotients.py) if it has any, and the C of its entries.  Out: the lines of its loop.

Of reciprocals, every fourth vector's is found in steps of products and sums, beside the divisions of the others: a processor
divides in one place, and waits for it, and multiplies and adds in two.

The steps are Newton's, from the 14 bits that the processor looks up: 28, then all but the last one, rounded upwards, then all
(P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990). A divisor whose bits are all
ones is the exception of that theorem: its reciprocal comes out too small from below, but right from above.

Whether a number was too far from 1 for that, nobody asks in the loop: the processor notes what overflows, loses digits for being
small, or is no number. Where it has noted anything, the loop is run again, with divisions; where it has not, all has been
computed as if numbers had no bounds.

A negation is put off until it is the difference in the place of a sum, or needs to be there: -(a b) for (-a) b, and b - a for
(-a) + b, are the same to the last bit, and so is the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from vlad.compile.quotients import Quotients
from vlad.core.kernels import Access, Kernel, Step

WIDE = "defined(VLAD_WIDE)"
LENGTH, VECTORS = 8, 4  # reals in a vector, vectors in a turn of the loop
TAKEN = LENGTH * VECTORS
FEWEST_WIDE = 256  # entries of a row: to look at the processor's notes takes as long as some vectors
# Entries of long rows are fetched from so far before they are asked for: processors do, but not on to the next page of memory.
FEWEST_FETCHED, AHEAD = 1 << 15, 384
# In rows that are worth it no vector is written across two lines of the cache; then mostly none is read so either.
FEWEST_ALIGNED = 1 << 11
NO_QUOTIENTS = Quotients({}, {}, {}, "float64")
SUMS = ("+", "-", "*", "negate")
NONNEGATIVE = ("abs", "exp", "sqrt")


def is_wide(kernel: Kernel, levels: Sequence[int], axes: Sequence[int], quotients: Quotients) -> bool:
    """Is the innermost loop of such rows alone, over entries side by side, and does it but store? `levels`: how many loops
    enclose where each value is found."""
    axis, innermost = axes[-1], len(axes)

    def is_beside(access: Access | None) -> bool:
        return access is not None and not access.at and access.strides[axis] == 1

    inner = [number for number, level in enumerate(levels) if level == innermost]
    steps = [kernel.steps[number - len(kernel.reads)] for number in inner if number >= len(kernel.reads)]
    reads = [kernel.reads[number] for number in inner if number < len(kernel.reads)]
    divisors = set(quotients.divisors.values())
    rows = (*SUMS, "/") if divisors else SUMS
    return (
        quotients.kind == "float64"
        and kernel.extents[axis] >= FEWEST_WIDE
        and all(levels[divisor] == innermost for divisor in divisors)
        and all(kernel.kind_of(number) == "float64" for number in range(len(levels)))
        and all(output.kind == "float64" and output.base is None for output in kernel.outputs)
        and all(read.operand is not None and is_beside(read.access) for read in reads)
        and all(type(step) is Step and step.row.name in rows for step in steps)
        and all(is_beside(write.access) and not write.combine for write in kernel.writes)
        and all(levels[write.value] == innermost for write in kernel.writes)
    )


def nonnegative(kernel: Kernel, constants: Mapping[int, float]) -> set[int]:
    """The values that are not below zero, as sums of squares: who divides by one need not look at its sign, and of zeros there is
    a note."""
    found = {value for value, constant in constants.items() if constant >= 0}
    for number, step in enumerate(kernel.steps, start=len(kernel.reads)):
        if type(step) is not Step:
            continue
        is_square = step.row.name == "*" and len(set(step.values)) == 1
        if (
            is_square
            or step.row.name in NONNEGATIVE
            or (step.row.name in ("+", "*", "/") and found.issuperset(step.values))
        ):
            found.add(number)
    return found


@final
@dataclass(slots=True)
class Wide:
    """Writes such a loop. `inner`: the values that are found in it; `positive`: those that are not below zero; `scaled`:
    scaling.py's; `real`: the C of a number."""

    kernel: Kernel
    inner: Sequence[int]
    quotients: Quotients
    positive: Collection[int]
    scaled: Mapping[int, tuple[int, float]]
    real: Callable[[float], str]
    # of variables that hold a value with the other sign
    negated: set[int] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)

    def loops(
        self, axis: int, reads: Mapping[int, str], writes: Sequence[tuple[str, int]], one: Sequence[str]
    ) -> list[str]:
        """The loop over whole turns, and one over what is left at both ends. `reads`: the C of the entries that are read;
        `writes`: the C of those that are written, and what each is; `one`: the lines for a single entry."""
        extent, index = self.kernel.extents[axis], f"i{axis}"
        start = f"vlad_wide_start(&{writes[0][0]})" if extent >= FEWEST_ALIGNED else "0"
        begin, end = ([], [])
        if self.quotients.divisors:
            begin, end = ["  unsigned before = vlad_wide_begin();"], ["  far |= vlad_wide_end(before);"]
        return [
            "{",
            f"  long {index} = 0, start = {start}, begin = start;",
            *begin,
            f"  for (; begin <= {extent - TAKEN}; begin += {TAKEN}) {{",
            f"#pragma GCC unroll {VECTORS}",
            f"    for (long part = 0; part < {VECTORS}; part++) {{",
            f"      long {index} = begin + {LENGTH} * part;",
            *[f"      {line}" for line in self._turn(extent, reads, writes)],
            "    }",
            "  }",
            *end,
            f"  for ({index} = start ? 0 : begin; {index} < {extent}; {index} = {index} + 1 == start ? begin : {index} + 1) {{",
            *[f"    {line}" for line in one],
            "  }",
            "}",
        ]

    def _turn(self, extent: int, reads: Mapping[int, str], writes: Sequence[tuple[str, int]]) -> list[str]:
        """The lines for a vector."""
        if extent >= FEWEST_FETCHED:
            places = [*reads.values(), *[place for place, _ in writes]]
            once = {place[: place.index("[")]: place for place in places}
            self.lines += [f"__builtin_prefetch(&{place} + {AHEAD});" for place in once.values()]
        for number in self.inner:
            if number in reads:
                self._found(number, f"vlad_wide_at(&{reads[number]})")
            else:
                step = self.kernel.steps[number - len(self.kernel.reads)]
                assert type(step) is Step
                self._found(number, *self._text(number, step))
        for place, value in writes:
            self.lines.append(f"*(vlad_wide *)&{place} = {'-' if value in self.negated else ''}x{value};")
        return self.lines

    def _found(self, number: int, text: str, is_negated: bool = False) -> None:
        is_divisor = number in self.quotients.divisors.values()
        if is_negated and is_divisor:
            text = f"-({text})"
        elif is_negated:
            self.negated.add(number)
        self.lines.append(f"vlad_wide x{number} = {text};")
        if is_divisor and number not in self.quotients.kept:
            self.lines.append(f"vlad_wide q{number} = {self._reciprocal(number)};")

    def _reciprocal(self, divisor: int) -> str:
        name = "vlad_wide_reciprocal_of_positive" if divisor in self.positive else "vlad_wide_reciprocal"
        return f"{name}(x{divisor}, part == {VECTORS - 1})"

    def _text(self, number: int, step: Step) -> tuple[str, bool]:
        """A step's C, and whether that is of the other sign."""
        if number in self.quotients.kept.values():
            return self._reciprocal(step.values[1]), False
        if number in self.quotients.divisors:
            return self._quotient(number, step), step.values[0] in self.negated
        if number in self.scaled:
            of, factor = self.scaled[number]
            return f"x{of} * {self.real(-factor if of in self.negated else factor)}", False
        signs = [value in self.negated for value in step.values]
        x, y = f"x{step.values[0]}", f"x{step.values[-1]}"
        match step.row.name, signs:
            case "negate", [is_negated]:
                return x, not is_negated
            case "*" | "/" as sign, [left, right]:
                return f"{x} {sign} {y}", left != right
            case "+", [True, True] if x == y:
                return f"{x} + {y}", True
            case "+" | "-" as sign, [left, right]:  # -(x + y) is no zero of the sign that -x - y is
                second = right == (sign == "+")
                if left and not second:
                    return f"{y} - {x}", False
                return f"{'-' if left else ''}{x} {'-' if second else '+'} {y}", False
        raise AssertionError(step.row.name)

    def _quotient(self, number: int, step: Step) -> str:
        dividend, divisor = step.values[0], self.quotients.divisors[number]
        name = "vlad_wide_divided_by_positive" if divisor in self.positive else "vlad_wide_divided"
        # of a number that is the same for all a vector, a zero's sign included
        text = f"x{dividend}" if dividend in self.inner else f"(x{dividend} - (vlad_wide){{0}})"
        return f"{name}({text}, x{divisor}, {self.quotients.reciprocal(divisor)})"
