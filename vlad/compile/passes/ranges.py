"""Tests whose results follow from the ranges of numbers are decided: value range propagation (Harrison 1977).

In: a Program.  Out: the same, changed in place. Called by order.py.

A counter of a loop begins at a whole number and grows by a whole number up to a bound. So an index by it, of which the program
tests whether it is whole, not negative and less than an extent, needs none of these tests. The range of a number is known from
arithmetic (core/ranges.py), and in the arms of a branch from its test; that of a parameter is what all calls of its function
have in common, and that of a field what all boxes of its member have: a derivative takes its indices from a tape.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, TypeAlias

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Function,
    Invoke,
    Leaf,
    Member,
    Program,
    Slot,
    Statement,
    Switch,
    TailInvoke,
    Unbox,
    Unreachable,
    Yield,
    leaves_read,
)
from vlad.compile.ir.rewriting import fixed_cells, reachable, replace_leaves
from vlad.core.extents import Extent, are_same
from vlad.core.ranges import EXACT, Range, joined

INDEXING = frozenset(
    {"floor", "whole?"}
)  # without these no index is tested, and a program has little use for ranges
PATIENCE = 3  # changes of a function's parameters, after which bounds that change are moved on to others
MOST_BOUNDS = 100
FINITE = math.nextafter(math.inf, 0.0)
NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}


ANY = Range(-math.inf, math.inf, False)


# What a test of a leaf, or a value of a boolean, implies: the value of a boolean.
Implied: TypeAlias = "tuple[Leaf, bool]"


def use_ranges(program: Program, outlines: Outlines | None = None) -> bool:
    """Whether it has changed the program."""
    outlines = outlines or Outlines()
    functions = reachable(program, outlines.calls_of(program.functions))
    if not any(
        type(one) is Compute and one.row.name in INDEXING
        for function in functions
        for one in outlines[function].statements
    ):
        return False
    ranges = _Ranges(program, functions, outlines)
    changed = [function for function in functions if function in ranges.parameters and ranges.apply(function)]
    for function in changed:
        outlines.changed(function)
    return bool(changed)


class _Ranges:
    """The ranges of all functions' parameters, and of the fields of boxes: the least fixed point, found by analysing functions
    until none changes.
    """

    def __init__(self, program: Program, functions: list[Function], outlines: Outlines) -> None:
        self._outlines = outlines
        self.parameters: dict[Function, list[Range | None]] = {}
        self.fields: dict[Member, list[Range | None]] = {}  # of the members of which a box has been found
        for cell in fixed_cells(program, outlines):  # callers make boxes of these
            self.fields.update({one: [None] * len(one.kinds) for one in program.members.get(cell, ())})
        self.readers: dict[Member, dict[Function, None]] = {}  # the functions that take apart boxes
        self._changes: dict[Function | Member, int] = {}
        bounds = sorted({bound + by for bound in _constants(functions, outlines) for by in (-1.0, 0.0, 1.0)})
        self._bounds = bounds if len(bounds) <= MOST_BOUNDS else []
        self._waiting: dict[Function, None] = {}
        for entry in program.entries:
            self.call(entry, [None] * len(entry.parameters))
        while self._waiting:
            function = next(iter(self._waiting))
            del self._waiting[function]
            _Walk(self, function, False)

    def call(self, function: Function, found: list[Range | None]) -> None:
        """Note the ranges of a call's operands."""
        if function not in self.parameters:  # a counter begins below the extent at which it ends
            for at, extent in self._ends_at(function):
                start = found[at]
                if start is not None and start.below is None and start.is_below(extent + 1):
                    found[at] = Range(start.low, start.high, start.whole, extent + 1)
        new = self._joined(function, self.parameters.get(function), found)
        if new is not None:
            self.parameters[function] = new
            self._waiting[function] = None

    def _ends_at(self, function: Function) -> list[tuple[int, Extent]]:
        """The parameters that a function compares with an extent, of equality."""
        places = {slot: at for at, slot in enumerate(function.parameters)}
        found = []
        for one in self._outlines[function].statements:
            if type(one) is Compute and one.row.name == "=":
                for x, y in (one.operands, one.operands[::-1]):
                    if type(x) is Slot and x in places and type(y) is Extent:
                        found.append((places[x], y))
        return found

    def box(self, member: Member, found: list[Range | None]) -> None:
        """Note the ranges of the leaves of a box."""
        new = self._joined(member, self.fields.get(member), found)
        if new is not None:
            self.fields[member] = new
            self._waiting.update(self.readers.get(member, {}))

    def _joined(
        self, of: Function | Member, known: list[Range | None] | None, found: list[Range | None]
    ) -> list[Range | None] | None:
        """What is known together with what is found, if it is less."""
        if known is None:
            return found
        new = [joined(old, one) for old, one in zip(known, found, strict=True)]
        if all(a is b is None or (a and b and a.is_same(b)) for a, b in zip(known, new, strict=True)):
            return None
        count = self._changes[of] = self._changes.get(of, 0) + 1
        if count > PATIENCE:
            new = [self._widened(old, one) for old, one in zip(known, new, strict=True)]
        return new

    def _widened(self, old: Range | None, new: Range | None) -> Range | None:
        """The range with bounds that have changed moved on, to the next one of which a test may depend."""
        if old is None or new is None:
            return None
        low, high, bounds = new.low, new.high, self._bounds
        if low != old.low:
            at = bisect_right(bounds, low)
            low = bounds[at - 1] if at else -math.inf
        if high != old.high:
            at = bisect_left(bounds, high)
            high = bounds[at] if at < len(bounds) else math.inf
        return Range(low, high, new.whole, new.below if are_same(new.below, old.below) else None)

    def apply(self, function: Function) -> bool:
        return _Walk(self, function, True).changed


def _constants(functions: list[Function], outlines: Outlines) -> set[float]:
    """The whole numbers that tests compare with."""
    tests = [
        one
        for function in functions
        for one in outlines[function].statements
        if type(one) is Compute and one.slot.kind == "b"
    ]
    return {leaf for test in tests for leaf in test.operands if type(leaf) is float and leaf.is_integer()}


class _Walk:
    """One function: what is known at each place of it. With `changes`, the function is changed accordingly."""

    def __init__(self, ranges: _Ranges, function: Function, changes: bool) -> None:
        self.ranges = ranges
        self.function = function
        self.changes = changes
        self.changed = False
        self.known: dict[Slot, Range] = {}
        self.truth: dict[Slot, bool] = {}  # in the arms of branches on them
        self.same: dict[Slot, Leaf] = {}  # what replaces a slot
        self.tests: dict[Slot, Compute] = {}
        self.implied: dict[tuple[Slot, bool], list[Implied]] = {}
        self._trail: list[tuple[dict[Slot, Any], Slot, Any]] = []
        for slot, range_ in zip(function.parameters, ranges.parameters[function], strict=True):
            if range_ is not None:
                self.known[slot] = range_
        self.block(function.body)

    # What is known.

    def leaf(self, leaf: Leaf) -> Leaf:
        return self.same.get(leaf, leaf) if type(leaf) is Slot else leaf

    def range(self, leaf: Leaf) -> Range | None:
        if type(leaf) is Slot:
            return self.known.get(leaf)
        if type(leaf) is float:
            return None if math.isnan(leaf) else Range(leaf, leaf, leaf.is_integer())
        if type(leaf) is Extent:
            return Range(-math.inf, math.inf, True, leaf + 1)
        return None

    def value(self, leaf: Leaf) -> bool | None:
        """That of a boolean."""
        return leaf if type(leaf) is bool else self.truth.get(leaf) if type(leaf) is Slot else None

    def _set(self, where: dict[Slot, Any], slot: Slot, what: Any) -> None:
        self._trail.append((where, slot, where.get(slot)))
        where[slot] = what

    def _undo(self, mark: int) -> None:
        while len(self._trail) > mark:
            where, slot, before = self._trail.pop()
            if before is None:
                del where[slot]
            else:
                where[slot] = before

    # What follows.

    def decided(self, name: str, operands: tuple[Leaf, ...]) -> bool | None:
        """The result of a test, if it is known."""
        found = [self.range(leaf) for leaf in operands]
        if name == "whole?":
            return True if found[0] and found[0].whole else None
        if name in ("finite?", "infinite?"):
            return name == "finite?" if found[0] and found[0].is_finite else None
        if name == "not":
            value = self.value(operands[0])
            return None if value is None else not value
        if name not in SWAPPED or len(operands) != 2 or None in found:
            return None
        (a, b), (x, y) = found, operands
        assert a is not None and b is not None
        if name == "=":
            if (x is y and type(x) is Slot) or a.low == a.high == b.low == b.high:
                return True
            return False if a.high < b.low or a.low > b.high else None
        if name in (">", ">="):
            name, a, b, x, y = SWAPPED[name], b, a, y, x
        if name == "<":
            is_less = a.high < b.low or (type(y) is Extent and a.is_below(y))
            return True if is_less else False if a.low >= b.high else None
        is_not_more = a.high <= b.low or (type(y) is Extent and a.whole and a.is_below(y + 1))
        return True if is_not_more else False if a.low > b.high else None

    def assume(self, leaf: Leaf, value: bool) -> None:
        """In an arm of a branch: the value of a boolean, and what it implies."""
        work: list[Implied] = [(leaf, value)]
        while work:
            leaf, value = work.pop()
            if type(leaf) is not Slot or leaf in self.truth:
                continue
            self._set(self.truth, leaf, value)
            work += self.implied.get((leaf, value), ())
            test = self.tests.get(leaf)
            if test is not None:
                self._assume_test(test, value, work)

    def _assume_test(self, test: Compute, value: bool, work: list[Implied]) -> None:
        name = test.row.name
        operands = tuple([self.leaf(leaf) for leaf in test.operands])
        if name == "not":
            work.append((operands[0], not value))
        elif (name in ("whole?", "finite?") and value) or (name == "infinite?" and not value):
            (x,) = operands
            found = self.range(x)
            if type(x) is Slot and (found is not None or name != "infinite?"):
                self._restrict(x, Range(-FINITE, FINITE, name == "whole?"))
        elif name in SWAPPED and len(operands) == 2:
            x, y = operands
            a, b = self.range(x), self.range(y)
            if not value:
                if a is None or b is None:
                    return  # either may be nan
                if name == "=":
                    self._exclude(x, a, b, y)
                    self._exclude(y, b, a, x)
                    return
                name = NEGATED[name]
            self._restrict(x, _compared(name, b, y))
            self._restrict(y, _compared(SWAPPED[name], a, x))

    def _exclude(self, leaf: Leaf, own: Range, other: Range, value: Leaf) -> None:
        """A whole number is not another one: a bound that is that number moves."""
        if type(leaf) is not Slot or not own.whole:
            return
        if type(value) is Extent:
            if are_same(own.below, value + 1):
                self._restrict(leaf, Range(own.low, own.high, True, value))
        elif own.is_exact and other.low == other.high and (own.low == other.low or own.high == other.low):
            self._restrict(
                leaf, Range(own.low + (own.low == other.low), own.high - (own.high == other.low), True)
            )

    def _restrict(self, leaf: Leaf, to: Range) -> None:
        """A number is in a range, too, and not nan."""
        if type(leaf) is not Slot:
            return
        old = self.known.get(leaf) or ANY
        whole = old.whole or to.whole
        high, low = min(old.high, to.high), max(old.low, to.low)
        if whole and abs(low) < EXACT:
            low = float(math.ceil(low))
        if whole and abs(high) < EXACT:
            high = float(math.floor(high))
        below = to.below if old.below is None or to.below is not None else old.below
        self._set(self.known, leaf, Range(low, high, whole, below))

    # The walk.

    def block(self, block: Block) -> bool:
        """Whether its end is reached, as far as is known by now."""
        made: list[Statement] = []
        for statement in block.statements:
            if self.changes and self.same:
                replace_leaves(statement, self.leaf)
            if type(statement) is Branch:
                value = self.value(statement.test)
                if value is not None:
                    arm = statement.consequent if value else statement.alternative
                    self.changed = True
                    reached = self.block(arm)
                    made += arm.statements
                    if type(arm.end) is not Yield:  # the rest of the block is that of the arm
                        if self.changes:
                            block.statements, block.end = made, arm.end
                        return reached
                    if not reached:
                        return False
                    self.same.update(
                        zip(statement.slots, [self.leaf(one) for one in arm.end.leaves], strict=True)
                    )
                    continue
                made.append(statement)
                arms = [(statement.consequent, True), (statement.alternative, False)]
                if not self._choice(statement, arms):
                    return self._end(block, made)
            elif type(statement) is Switch:
                made.append(statement)
                if not self._choice(statement, [(case, None) for _, case in statement.cases]):
                    return self._end(block, made)
            elif type(statement) is not Compute or not self._compute(statement):
                made.append(statement)
                if type(statement) is Invoke:
                    self.ranges.call(statement.function, self._read(statement.operands))
                elif type(statement) is Box:
                    self.ranges.box(statement.member, self._read(statement.leaves))
                elif type(statement) is Unbox and not self._unbox(statement):
                    return False
        if self.changes:
            block.statements = made
            replace_leaves(block.end, self.leaf)
        if type(block.end) is TailInvoke:
            self.ranges.call(block.end.function, self._read(block.end.operands))
        return True

    def _read(self, leaves: tuple[Leaf, ...]) -> list[Range | None]:
        return [self.range(self.leaf(leaf)) for leaf in leaves]

    def _unbox(self, statement: Unbox) -> bool:
        """Note the ranges of a box's leaves. Whether there is one: until one has been found, what follows is not reached."""
        fields = self.ranges.fields.get(statement.member)
        self.ranges.readers.setdefault(statement.member, {})[self.function] = None
        if fields is None:
            return self.changes or not statement.slots
        self.known.update(
            {slot: range_ for slot, range_ in zip(statement.slots, fields, strict=True) if range_ is not None}
        )
        return True

    def _end(self, block: Block, made: list[Statement]) -> bool:
        """No arm of the last statement yields anything: what follows is never reached."""
        if self.changes:
            block.statements, block.end = made, Unreachable()
        return False

    def _compute(self, statement: Compute) -> bool:
        """Note the range of a result; whether it is that of something else, and need not be computed."""
        slot, name = statement.slot, statement.row.name
        operands = tuple([self.leaf(leaf) for leaf in statement.operands])
        if slot.kind == "b":
            value = self.decided(name, operands)
            if value is None:
                self.tests[slot] = statement
                return False
            self.truth[slot] = value
            self.same[slot] = value
            self.changed = True
            return True
        found = [self.range(leaf) for leaf in operands]
        rule = statement.row.range_of
        if rule is None or None in found:
            return False
        result = rule(*found)
        if len(found) == 1 and result is found[0]:
            self.same[slot] = operands[0]
            self.changed = True
            return True
        if result is not None:
            self.known[slot] = result
        return False

    def _choice(self, statement: Branch | Switch, arms: Iterable[tuple[Block, bool | None]]) -> bool:
        """The arms of a branch or the cases of a switch, and what their results have in common; whether any yields."""
        test = self.leaf(leaves_read(statement)[0])
        results: list[tuple[bool | None, list[tuple[Leaf, Range | None, bool | None]]]] = []
        # the only arm that yields is the last: what is known in it holds afterwards
        ordered = sorted(arms, key=lambda arm: type(arm[0].end) is Yield)
        yielding = sum(type(arm.end) is Yield for arm, _ in ordered)
        for arm, value in ordered:
            mark = len(self._trail)
            if value is not None:
                self.assume(test, value)
            if self.block(arm) and type(arm.end) is Yield:
                leaves = [self.leaf(leaf) for leaf in arm.end.leaves]
                results.append((value, [(leaf, self.range(leaf), self.value(leaf)) for leaf in leaves]))
                if yielding == 1:
                    break
            self._undo(mark)
        for at, slot in enumerate(statement.slots):
            self._yielded(slot, test, [(value, *found[at]) for value, found in results])
        return bool(results)

    def _yielded(
        self, slot: Slot, test: Leaf, found: list[tuple[bool | None, Leaf, Range | None, bool | None]]
    ) -> None:
        if slot.kind == "d" and found:
            range_ = found[0][2]
            for _, _, other, _ in found[1:]:
                range_ = joined(range_, other)
            if range_ is not None:
                self.known[slot] = range_
        elif slot.kind == "b" and len(found) == 1:
            ((_, leaf, _, _),) = found
            for value in (False, True):
                self.implied[slot, value] = [(leaf, value)]
        elif slot.kind == "b" and len(found) == 2:
            for (_, _, _, one), (arm, leaf, _, _) in (found, found[::-1]):
                if (
                    one is not None and arm is not None
                ):  # if the result is another one, it is that of the other arm
                    self.implied[slot, not one] = [(test, arm), (leaf, not one)]


def _compared(relation: str, other: Range | None, leaf: Leaf) -> Range:
    """The range of what has a relation to another number: to this leaf, whose range is `other`."""
    low, high, below = (
        (other.low, other.high, other.below) if other is not None else (-math.inf, math.inf, None)
    )
    match relation:
        case "<":
            bound = leaf if type(leaf) is Extent else below
            return Range(-math.inf, math.nextafter(high, -math.inf), False, bound)
        case "<=":
            return Range(-math.inf, high, False, below)
        case ">":
            return Range(math.nextafter(low, math.inf), math.inf, False)
        case ">=":
            return Range(low, math.inf, False)
    return Range(low, high, other is not None and other.whole, below)
