"""Finds the values of a turn that equal values of the previous turn, or their negatives.

In: the variables of a turn.  Out: `Moved`. Called by vectorize.py: differences of neighbours, as in the gradient of a sum over
them, compute for an entry much that they have computed for the previous one; it is taken from the previous vector, shifted by one
entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import final

from vlad.compile.loops.ir import Element, Let, Value
from vlad.compile.loops.scaling import operand_name
from vlad.compile.loops.walking import operands_of
from vlad.core.expressions import Binary, Call, Convert, Expression, Name, Number, Unary

ODD = ("*", "/")  # negating one operand negates the result, to the last bit


@final
class Moved:
    """`inner`: the variables of a turn, in their order; `wanted`: those that are written; `kept`: for quotients, the reciprocal
    that they also depend on."""

    def __init__(self, inner: Mapping[str, Let], wanted: Sequence[str], kept: Mapping[str, str]) -> None:
        self.inner, self.kept = inner, kept
        self.signs: dict[tuple[str, str], int] = {}
        self.sources: dict[str, tuple[str, int]] = {}  # by variable: the previous turn's, and the sign
        live = [name for name in inner if name in self._reached(wanted)]
        self._choose(wanted, live)
        self.order: list[str] = []  # of evaluation: variables follow those that they depend on
        needed = self._reached(wanted)
        for name in inner:
            if name in needed:
                self._put(name)

    def _step(self, name: str) -> Value | None:
        """The value of a variable; None if it is read, or computed before the loop."""
        value = self.inner[name].value if name in self.inner else None
        return None if type(value) is Element else value

    def _found_from(self, name: str) -> list[str]:
        """The variables of this turn on which one depends."""
        if name in self.sources:
            return [self.sources[name][0]]
        step = self._step(name)
        names = [] if step is None else [operand_name(one) for one in operands_of(step)]
        found = [one for one in names if one in self.inner]
        kept = self.kept.get(name)
        return found if kept is None or kept == name else [*found, kept]

    def _reached(self, wanted: Sequence[str]) -> set[str]:
        reached: set[str] = set()
        work = list(wanted)
        while work:
            name = work.pop()
            if name not in reached:
                reached.add(name)
                work += self._found_from(name)
        return reached

    def _choose(self, wanted: Sequence[str], live: Sequence[str]) -> None:
        """Top-down, so that the operands of a moved value need not be computed. Of the loads that could be moved, every other one
        is: a load may cross two lines of the cache, and a move costs as much as a sum or a product. Half of each was fastest for
        a Hessian-vector product, for any alignment of its arrays (Zen 4: with none moved it took 1.1 to 1.2 times as long, with
        all moved 1.06 to 1.08)."""
        work, seen, is_moved = list(wanted), set[str](), False
        while work:
            name = work.pop(0)
            if name in seen:
                continue
            seen.add(name)
            found = next(((other, sign) for other in live if (sign := self._sign(name, other))), None)
            if found is not None and self._step(name) is None:
                is_moved = not is_moved
            if found is not None and (is_moved or self._step(name) is not None):
                self.sources[name] = found
            work += self._found_from(name)

    def _put(self, name: str) -> None:
        if name not in self.order:
            for one in self._found_from(name):
                self._put(one)
            self.order.append(name)

    def _sign(self, a: str, b: str) -> int:
        """1 if a variable equals another one of the previous turn, -1 if it is its negative, else 0."""
        if (a, b) not in self.signs:
            self.signs[a, b] = self._found(a, b)
        return self.signs[a, b]

    def _found(self, a: str, b: str) -> int:
        if a not in self.inner or b not in self.inner:
            return int(a == b)
        one, other = self._step(a), self._step(b)
        if type(one) is Unary:
            return -self._operand_sign(one.operand, Name(b))
        if type(other) is Unary:
            return -self._operand_sign(Name(a), other.operand)
        if one is None and other is None:
            return self._is_read_before(a, b)
        if one is None or other is None or _operation(one) != _operation(other):
            return 0
        signs = [self._operand_sign(x, y) for x, y in zip(operands_of(one), operands_of(other), strict=True)]
        if _operation(one) in ODD:
            return math.prod(signs)
        return int(min(signs) == 1)  # a sum that is zero has the sign + either way

    def _operand_sign(self, a: Expression, b: Expression) -> int:
        if type(a) is Number and type(b) is Number:
            return int(a == b) - int(a.value == -b.value)
        if type(a) is Number or type(b) is Number:
            return 0
        return self._sign(operand_name(a), operand_name(b))

    def _is_read_before(self, a: str, b: str) -> int:
        one, other = self.inner[a].value, self.inner[b].value
        if one.array != other.array:
            return 0
        near, far = one.position, other.position
        return int(near == replace(far, offset=far.offset - 1))


def _operation(value: Value) -> object:
    match value:
        case Binary():
            return value.operator
        case Call():
            return value.function
        case Convert():
            return value.kind
    return type(value)
