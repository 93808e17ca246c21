"""Divisions by one number in the turns of a loop: one of them is made, the others follow by multiplication, to the same last bit.

In: a kernel, how many loops enclose where each value is found.  Out: which of its steps are such quotients, and the C for them.
A derivative of a quotient divides three times by one number, and its loops wait for nothing but divisions.

a/y from q = 1/y: t = aq is off by a unit or two in the last place, a - ty is exact by a fused multiply-add, and t + (a - ty)q
rounds as a/y does (P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990). Nothing of it
may overflow or lose digits for being small, so numbers that are `far` from 1 are looked out for, and where there is one the loop
is run once more, with divisions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from vlad.core.loop_nests import Choice, Kernel, Step

FEWEST_TURNS = 64  # of an innermost loop that is worth having twice
# By kind, as powers of two: how far from 1 a divisor, and a dividend, may be.
FAR = {"float64": (100, 900), "float32": (24, 100)}
ENDING = {"float64": "", "float32": "f"}
# Where it pays: a fused product and sum that is no call, and for floats, of which more are divided at a time, the widest vectors.
PAYS = {"float64": "defined(__FP_FAST_FMA)", "float32": "defined(__FP_FAST_FMAF) && defined(__AVX512F__)"}


@final
@dataclass(frozen=True, slots=True)
class Quotients:
    """`divisors`: of values that are quotients, by their numbers. `kept`: values 1/y that are there as well, by their divisors.
    `dividends`: how far from 1 those may be that are not such quotients themselves, by the number of the quotient."""

    divisors: Mapping[int, int]
    kept: Mapping[int, int]
    dividends: Mapping[int, int]
    kind: str

    def reciprocal(self, divisor: int) -> str:
        return f"x{self.kept[divisor]}" if divisor in self.kept else f"q{divisor}"

    def found(self, divisor: int) -> str:
        """The reciprocal of a divisor, where nobody else takes it."""
        return f"{'float' if self.kind == 'float32' else 'double'} q{divisor} = 1 / x{divisor};"

    def text(self, value: int, dividend: str, sign: str = "") -> str:
        """A quotient; with the sign "-" its negative, by the negative divisor: of -fma(x, y, z) gcc 12 makes another fma,
        which is 0 where that is -0."""
        divisor = self.divisors[value]
        reciprocal = f"{sign}{self.reciprocal(divisor)}"
        return f"vlad_divided{ENDING[self.kind]}({dividend}, {sign}x{divisor}, {reciprocal})"

    def negated(
        self, kernel: Kernel, step: Step | Choice, constants: Mapping[int, float]
    ) -> tuple[int, str] | None:
        """The quotient that a step is the negative of, or the negative's negative, and the sign; None where it is neither."""
        of = _negated(step, constants)
        if of is None or of in self.divisors:
            return None if of is None else (of, "-")
        before = (
            self.negated(kernel, kernel.steps[of - len(kernel.reads)], constants)
            if of >= len(kernel.reads)
            else None
        )
        return None if before is None else (before[0], "" if before[1] else "-")

    def is_far_divisor(self, divisor: int) -> str:
        return f"vlad_is_far_divisor{ENDING[self.kind]}(x{divisor}, {self._limit(FAR[self.kind][0])})"

    def is_far(self, value: int, dividend: str) -> str:
        return f"vlad_is_far{ENDING[self.kind]}({dividend}, {self._limit(self.dividends[value])})"

    def _limit(self, exponent: int) -> str:
        return f"0x1p{exponent}{ENDING[self.kind]}"


def quotients(
    kernel: Kernel, levels: Sequence[int], innermost: int, constants: Mapping[int, float]
) -> Quotients | None:
    """What is worth doing so in a kernel's innermost loop, which may be run twice if it only stores; `levels`: how many loops
    enclose where a value is found, all being `innermost`; `constants`: what is known of values."""
    if any(write.combine for write in kernel.writes):
        return None
    if any(output.base is not None for output in kernel.outputs):  # which may lie where an operand does
        return None
    found: dict[str, dict[int, list[int]]] = {}
    kept: dict[int, int] = {}
    for number, step in enumerate(kernel.steps, start=len(kernel.reads)):
        if type(step) is not Step or step.row.name != "/" or step.kind not in FAR:
            continue
        dividend, divisor = step.values
        if kernel.kind_of(divisor) != step.kind or _is_power(constants.get(divisor)):
            continue
        others = found.setdefault(step.kind, {})
        if constants.get(dividend) == 1.0 and divisor not in kept and divisor not in others:
            kept[divisor] = number
        elif levels[number] == innermost:
            others.setdefault(divisor, []).append(number)
    for kind, by_divisor in found.items():
        chosen = {
            value: divisor
            for divisor, values in by_divisor.items()
            for value in values
            if len(values) + (divisor in kept) > (levels[divisor] == innermost)
        }
        dividends = _dividends(kernel, chosen, *FAR[kind])
        if dividends:
            divisors = set(chosen.values())
            return Quotients(chosen, {y: one for y, one in kept.items() if y in divisors}, dividends, kind)
    return None


def _dividends(kernel: Kernel, chosen: Mapping[int, int], divisor: int, dividend: int) -> dict[int, int]:
    """A quotient of one that is not far from 1 is not much farther. None where so many are taken in turn that it may be."""
    found: dict[int, int] = {}
    roots: dict[int, tuple[int, int]] = {}  # by quotient: the first of its turn, and how many come before
    for value in sorted(chosen):
        root, before = roots.get(kernel.steps[value - len(kernel.reads)].values[0], (value, -1))
        roots[value] = root, before + 1
        found[root] = min(found.get(root, dividend), dividend - (before + 1) * divisor)
    return found if min(found.values(), default=0) > 0 else {}


def _negated(step: Step | Choice, constants: Mapping[int, float]) -> int | None:
    """The value that a step is the negative of."""
    if type(step) is not Step:
        return None
    first, last = step.values[0], step.values[-1]
    match step.row.name, constants.get(first), constants.get(last):
        case ("negate", _, _) | ("*" | "/", _, -1.0):
            return first
        case "*", -1.0, _:
            return last
    return None


def _is_power(constant: float | None) -> bool:
    """Of two: C compilers multiply by such a divisor's reciprocal themselves."""
    return constant is not None and abs(math.frexp(constant)[0]) == 0.5
