"""Innermost loops of sums, products and quotients, in vectors that C is given as such, four at a time: of eight reals or sixteen
floats. Or of functions of which there are better ones than the C library's (functions.py), and of sums of what they answer.

In: a kernel, its quotients (quotients.py) if it has any, and the C of its entries.  Out: the lines of its loop.

Of reciprocals, every fourth vector's is found in steps of products and sums, beside the divisions of the others: a processor
divides in one place, and waits for it, and multiplies and adds in two.

The steps are Newton's, from the 14 bits that the processor looks up: 28, then all but the last one, rounded upwards, then all
(P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990). A divisor whose bits are all
ones is the exception of that theorem: its reciprocal comes out too small from below, but right from above.

Whether a number was too far from 1 for that, nobody asks in the loop: the processor notes what overflows, loses digits for being
small, or is no number. Where it has noted anything, the loop is run again, with divisions; where it has not, all has been
computed as if numbers had no bounds. A loop that writes over what it reads is run in blocks, and keeps what it has read of one,
which the nearest cache holds, until nothing was noted: so the gradient of a logsumexp has one array less to go through.

A negation is put off until it is the difference in the place of a sum, or needs to be there: -(a b) for (-a) b, and b - a for
(-a) + b, are the same to the last bit, and so is the sign of a zero.

Differences of neighbours, as in the gradient of a sum over them, find much of an entry that they have found of the one before:
that is taken from the vector before, moved by one place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

from vlad.compile.emit.functions import BETTER, OWN, single
from vlad.compile.emit.loop_text import SIMD, operand_texts
from vlad.compile.emit.quotients import Quotients
from vlad.core.loop_nests import SIZES, Access, Choice, Kernel, Step, Write, words

WIDE = "defined(VLAD_WIDE)"
LENGTH, VECTORS = 64, 4  # bytes of a vector, vectors in a turn of the loop
# What follows is of words of 8 bytes: reals, or two floats.
FEWEST_WIDE = 256  # in a row: to look at the processor's notes takes as long as some vectors
# Entries of long rows are fetched from so far before they are asked for: processors do, but not on to the next page of memory.
FEWEST_FETCHED, AHEAD = 1 << 15, 384
# In rows that are worth it no vector is written across two lines of the cache; then mostly none is read so either.
FEWEST_ALIGNED = 1 << 11
# Entries of a block, a multiple of those of a turn. They are no part of a procedure's frame, which may be one of many on the
# stack: a library is called by one thread at a time.
BLOCK = 1024
KINDS = ("float64", "float32")
SUMS = ("+", "-", "*", "negate")
ODD = ("*", "/")  # of the negative they are the negative, to the last bit
NONNEGATIVE = ("abs", "exp", "sqrt")
_CALL = re.compile(rf"({'|'.join(BETTER)})\(\{{x\}}(, \{{y\}})?\)")


def kept_entry(number: int, axis: int) -> str:
    """The C of an entry that has been read in this block, and may have been written over."""
    return f"kept{number}[i{axis} - first]"


def called(step: Step | Choice) -> str:
    """The function of vectors that is a step, "" if none."""
    found = _CALL.fullmatch(step.row.c) if type(step) is Step else None
    return "" if found is None else found[1]


def is_of_host(step: Step | Choice) -> bool:
    """Is that function the host's, if it knows one?"""
    return type(step) is Step and bool(called(step)) and (called(step), step.kind) not in OWN


def is_wide(
    kernel: Kernel, levels: Sequence[int], axes: Sequence[int], quotients: Quotients | None = None
) -> bool:
    """Is the innermost loop of such rows alone, over entries side by side, and does it but store, or where it calls functions,
    sum up? `levels`: how many loops enclose where each value is found."""
    axis, innermost, kind = axes[-1], len(axes), kernel.outputs[0].kind

    def is_beside(access: Access | None) -> bool:
        return access is not None and not access.at and access.strides[axis] == 1

    def is_sum(write: Write) -> bool:
        access = write.access
        return write.combine == "+" and (access is None or (not access.at and access.strides[axis] == 0))

    inner = [number for number, level in enumerate(levels) if level == innermost]
    steps = [kernel.steps[number - len(kernel.reads)] for number in inner if number >= len(kernel.reads)]
    reads = [kernel.reads[number] for number in inner if number < len(kernel.reads)]
    divisors = set() if quotients is None else set(quotients.divisors.values())
    calls = any(map(called, steps))
    rows = (*SUMS, "/") if divisors or calls else SUMS
    return (
        kind in KINDS
        and (quotients is None or (quotients.kind == kind and not calls))
        and words(kernel.extents[axis], kind) >= FEWEST_WIDE
        and all(
            kernel.kind_of(number) in (KINDS if level < innermost else (kind,))
            for number, level in enumerate(levels)
        )
        and all(output.kind == kind and output.base is None for output in kernel.outputs)
        and all(read.operand is not None and is_beside(read.access) for read in reads)
        and all(type(step) is Step and (step.row.name in rows or called(step)) for step in steps)
        and all(
            (is_beside(write.access) and not write.combine)
            or (calls and kind == "float64" and is_sum(write))  # of floats sums are of another width
            for write in kernel.writes
        )
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


def _indented(lines: Sequence[str]) -> list[str]:
    """But for what is told to the compiler."""
    return [line if line.startswith("#") else f"  {line}" for line in lines]


@final
class Moved:
    """Which values are others of the turn before, or their negatives. `inner`, `quotients`, `scaled`: as Wide's."""

    def __init__(
        self,
        kernel: Kernel,
        inner: Collection[int],
        quotients: Quotients,
        scaled: Mapping[int, tuple[int, float]],
    ) -> None:
        self.kernel, self.inner, self.quotients, self.scaled = kernel, inner, quotients, scaled
        self.signs: dict[tuple[int, int], int] = {}
        self.sources: dict[int, tuple[int, int]] = {}  # of a value: the other one, and the sign
        wanted = [write.value for write in kernel.writes]
        live = sorted(self._reached(wanted))
        self._choose(wanted, live)
        self.order: list[int] = []  # nothing comes before what it is found from
        needed = self._reached(wanted)
        for value in inner:
            if value in needed:
                self._put(value)

    def _step(self, value: int) -> Step | None:
        """None for what is read, or found before the loop."""
        number = value - len(self.kernel.reads)
        step = self.kernel.steps[number] if number >= 0 and value in self.inner else None
        assert step is None or type(step) is Step
        return step

    def _found_from(self, value: int) -> list[int]:
        """The values of this turn that one is found from."""
        if value in self.sources:
            return [self.sources[value][0]]
        if value in self.scaled:
            return [self.scaled[value][0]]
        step = self._step(value)
        values = [] if step is None else [one for one in step.values if one in self.inner]
        kept = self.quotients.kept.get(self.quotients.divisors.get(value, -1))
        return values if kept is None or kept == value else [*values, kept]

    def _reached(self, wanted: Sequence[int]) -> set[int]:
        reached: set[int] = set()
        work = list(wanted)
        while work:
            value = work.pop()
            if value not in reached:
                reached.add(value)
                work += self._found_from(value)
        return reached

    def _choose(self, wanted: Sequence[int], live: Sequence[int]) -> None:
        """From above, so that what a moved value would have been found from is not needed. Of what is read, every other one that
        could be is moved: a load may go over two lines of the cache, and moving takes the place of a sum or a product. Half of
        each was the best of a Hessian-vector product, wherever its arrays lay (Zen 4: with none moved it took 1.1 to 1.2
        times as long, with all moved 1.06 to 1.08)."""
        work, seen, is_moved = list(wanted), set[int](), False
        while work:
            value = work.pop(0)
            if value in seen:
                continue
            seen.add(value)
            found = next(((other, sign) for other in live if (sign := self._sign(value, other))), None)
            if found is not None and self._step(value) is None:
                is_moved = not is_moved
            if found is not None and (is_moved or self._step(value) is not None):
                self.sources[value] = found
            work += self._found_from(value)

    def _put(self, value: int) -> None:
        if value not in self.order:
            for one in self._found_from(value):
                self._put(one)
            self.order.append(value)

    def _sign(self, a: int, b: int) -> int:
        """1 where a value is another one of the turn before, -1 where it is its negative, else 0."""
        if (a, b) not in self.signs:
            self.signs[a, b] = self._found(a, b)
        return self.signs[a, b]

    def _found(self, a: int, b: int) -> int:
        if a not in self.inner or b not in self.inner:
            return int(a == b)
        one, other = self._step(a), self._step(b)
        if one is not None and one.row.name == "negate":
            return -self._sign(one.values[0], b)
        if other is not None and other.row.name == "negate":
            return -self._sign(a, other.values[0])
        if one is None and other is None:
            return self._is_read_before(a, b)
        if one is None or other is None:
            return 0
        if a in self.scaled and b in self.scaled:
            (x, factor), (y, by) = self.scaled[a], self.scaled[b]
            sign = self._sign(x, y) if abs(factor) == abs(by) else 0
            return sign if factor == by else -sign
        if (one.row, one.kind) != (other.row, other.kind):
            return 0
        signs = [self._sign(x, y) for x, y in zip(one.values, other.values, strict=True)]
        if one.row.name in ODD:
            return math.prod(signs)
        return int(min(signs) == 1)  # a sum that is zero has the sign + either way

    def _is_read_before(self, a: int, b: int) -> int:
        one, other = self.kernel.reads[a], self.kernel.reads[b]
        if one.access is None or other.access is None or one.operand != other.operand:
            return 0
        near, far = one.access, other.access
        return int(near == replace(far, offset=far.offset - 1) and one.kind == other.kind)


@final
@dataclass(slots=True)
class Wide:
    """Writes such a loop. `inner`: the values that are found in it; `positive`: those that are not below zero; `scaled`:
    scaling.py's; `real`: the C of a number; `kept`: the reads that are written over though the loop may be run
    again."""

    kernel: Kernel
    inner: Sequence[int]
    quotients: Quotients
    positive: Collection[int]
    scaled: Mapping[int, tuple[int, float]]
    real: Callable[[float], str]
    kept: Collection[int]
    moved: Moved = field(init=False)
    # in a turn: of calls one, for what is left over at the ends is computed one by one
    vectors: int = field(init=False)
    # of variables that hold a value with the other sign
    negated: set[int] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.moved = Moved(self.kernel, self.inner, self.quotients, self.scaled)
        first = len(self.kernel.reads)
        calls = any(called(self.kernel.steps[number - first]) for number in self.inner if number >= first)
        self.vectors = 1 if calls else VECTORS

    def loops(
        self,
        axis: int,
        reads: Mapping[int, str],
        writes: Sequence[tuple[str, int]],
        sums: Sequence[tuple[str, int]],
        values: Sequence[str],
        one: Sequence[str],
        again: Sequence[str],
    ) -> list[str]:
        """The loop over whole turns, and one over what is left at both ends. `reads`: the C of the entries that are read;
        `writes`: the C of those that are written, and what each is; `sums`: variables, and what is added to each; `one`: the
        lines for a single entry, of which `values` find what is written; `again`: the same from what has been kept."""
        extent, index, kind = self.kernel.extents[axis], f"i{axis}", self.kernel.outputs[0].kind
        is_aligned = bool(writes) and words(extent, kind) >= FEWEST_ALIGNED
        start = f"vlad_wide_start(&{writes[0][0]})" if is_aligned else "0"
        length = LENGTH // SIZES[kind]
        taken = length * self.vectors
        last = "last" if self.kept else extent - taken
        turns = [
            f"for (; begin <= {last}; begin += {taken}) {{",
            f"#pragma GCC unroll {self.vectors}",
            f"  for (long part = 0; part < {self.vectors}; part++) {{",
            f"    long {index} = begin + {length} * part;",
            *[
                f"    {line}"
                for line in self._turn(index, words(extent, kind) >= FEWEST_FETCHED, reads, writes, sums)
            ],
            "  }",
            "}",
        ]
        if self.quotients.divisors:
            end = "if (vlad_wide_end(before))" if self.kept else "far |= vlad_wide_end(before);"
            turns = ["unsigned before = vlad_wide_begin();", *turns, end]
        if self.kept:
            turns = [
                *[f"static double kept{number}[{BLOCK}];" for number in self.kept],
                f"while (begin <= {extent - taken}) {{",
                f"  long first = begin, last = begin + {BLOCK - taken};",
                f"  if (last > {extent - taken}) last = {extent - taken};",
                *_indented(turns),
                SIMD,
                f"  for (long {index} = first; {index} < begin; {index}++) {{",
                *_indented(_indented(again)),
                "  }",
                "}",
            ]
        text = [
            "{",
            f"  long {index} = 0, start = {start}, begin = start;",
            *[f"  {line}" for line in self._before(index, values)],
            *[f"  vlad_wide sum{number} = {{0}};" for number in range(len(sums))],
            *_indented(turns),
            *[
                f"  for (long lane = 0; lane < {length}; lane++) {name} += sum{number}[lane];"
                for number, (name, _) in enumerate(sums)
            ],
            f"  for ({index} = start ? 0 : begin; {index} < {extent}; {index} = {index} + 1 == start ? begin : {index} + 1) {{",
            *[f"    {line}" for line in one],
            "  }",
            "}",
        ]
        return [single(line) for line in text] if kind == "float32" else text

    def _turn(
        self,
        index: str,
        is_fetched: bool,
        reads: Mapping[int, str],
        writes: Sequence[tuple[str, int]],
        sums: Sequence[tuple[str, int]],
    ) -> list[str]:
        """The lines for a vector."""
        if is_fetched:
            places = [*reads.values(), *[place for place, _ in writes]]
            once = {place[: place.index("[")]: place for place in places}
            ahead = 8 * AHEAD // SIZES[self.kernel.outputs[0].kind]
            self.lines += [f"__builtin_prefetch(&{place} + {ahead});" for place in once.values()]
        for number in self.moved.order:
            if number in self.moved.sources:
                source, _ = self.moved.sources[number]
                self._found(
                    number, f"vlad_wide_moved(before{source}, x{source})", self._is_moved_negated(number)
                )
            elif number in reads:
                self._found(number, f"vlad_wide_at(&{reads[number]})")
                if number in self.kept:
                    self.lines.append(f"*(vlad_wide *)&{kept_entry(number, int(index[1:]))} = x{number};")
            else:
                step = self.kernel.steps[number - len(self.kernel.reads)]
                assert type(step) is Step
                self._found(number, *self._text(number, step))
        for place, value in writes:
            self.lines.append(f"*(vlad_wide *)&{place} = {'-' if value in self.negated else ''}x{value};")
        for number, (_, value) in enumerate(sums):
            self.lines.append(f"sum{number} {'-' if value in self.negated else '+'}= x{value};")
        self.lines += [f"before{source} = x{source};" for source in self._sources()]
        return self.lines

    def _sources(self) -> list[int]:
        return sorted({source for source, _ in self.moved.sources.values()})

    def _before(self, index: str, values: Sequence[str]) -> list[str]:
        """What is to be taken from the vector before the first one; only the last place of that is."""
        if not self.moved.sources:
            return []
        lines = [f"vlad_wide {', '.join([f'before{source}' for source in self._sources()])};"]
        lines += ["{", f"  long {index} = begin;", *[f"  {line}" for line in values]]
        for value, (source, _) in self.moved.sources.items():
            sign = "-" if self._is_moved_negated(value) else ""
            lines.append(f"  before{source} = {sign}(x{value} - (vlad_wide){{0}});")
        return [*lines, "}"]

    def _is_moved_negated(self, value: int) -> bool:
        """Does the variable from which a value is taken hold its negative?"""
        source, sign = self.moved.sources[value]
        return (sign < 0) != (source in self.negated)

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
        return f"{name}(x{divisor}, part == {self.vectors - 1})"

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
        operands = operand_texts(self.kernel, step)
        if called(step):
            texts = zip(step.values, operands.values(), strict=True)
            return f"vlad_wide_{called(step)}({', '.join([self._operand(*text) for text in texts])})", False
        x, y = operands["x"], operands.get("y", "")
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
        given = operand_texts(self.kernel, step)["x"]
        name = "vlad_wide_divided_by_positive" if divisor in self.positive else "vlad_wide_divided"
        operands = (
            self._vector(dividend, given),
            self._vector(divisor, f"x{divisor}"),
            self._vector(divisor, self.quotients.reciprocal(divisor)),
        )
        return f"{name}({', '.join(operands)})"

    def _operand(self, number: int, text: str) -> str:
        return self._vector(number, f"{'-' if number in self.negated else ''}{text}")

    def _vector(self, number: int, text: str) -> str:
        """A number that is the same for all a vector as one, a zero's sign included."""
        return text if number in self.inner else f"({text} - (vlad_wide){{0}})"
