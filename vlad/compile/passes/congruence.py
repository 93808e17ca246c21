"""First-order code → first-order code: parameters, results and fields of equal values are found, across functions.

In: a Program.  Out: the same, changed in place. Called by order.py. A loop that carries one value twice, as derivatives of
derivatives carry several equal tapes, has two parameters that are equal if the results of the loop's body are, which only
holds if the parameters are equal: so equality is assumed first, and refuted (the optimistic value numbering of Alpern, Wegman and
Zadeck, POPL 1988, between functions and through boxes). The duplicates are then dead, and dead-code removes them. What a box has
computed of its own fields, such as the sine of one, is not computed again where it is opened.
"""

from __future__ import annotations

from collections.abc import Iterable

from vlad.compile.ir.acting import acting_functions
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
    Return,
    Slot,
    Statement,
    Switch,
    TailInvoke,
    Unbox,
    Yield,
    inner_blocks,
    leaves_read,
    slots_bound,
)
from vlad.compile.ir.rewriting import fixed_cells, operation, same_operands, substitute
from vlad.control.gil_yield import yield_gil

# Operations that cost less than the read of a field of a box: rematerialization.py computes them again.
CHEAP = {"+", "-", "*", "negate"}
# A field that each box computes of its other fields, or of constants: the name of the row, and the operands
Relation = tuple[str, tuple[int | str, ...]]
# For each of a function's parameters or results, or a member's fields: the first one of equal value.
Classes = list[int]


def find_congruences(program: Program, outlines: Outlines | None = None) -> bool:
    """Replace each leaf by the first one in its scope that has the same value. Returns whether there were any."""
    found = _Congruences(program, outlines or Outlines())
    found.refute()
    return found.replace()


class _Congruences:
    """The assumptions, and the leaves that they make equal."""

    def __init__(self, program: Program, outlines: Outlines) -> None:
        self.functions = program.functions
        self.outlines = outlines
        self.acting = acting_functions(program.functions, outlines)
        self.parameters: dict[Function, Classes] = {}
        self.results: dict[Function, Classes] = {}
        self.fields: dict[Member, Classes] = {}
        self.equal: dict[Function, dict[Slot, Leaf]] = {}
        self.callers: dict[Function, dict[Function, None]] = {f: {} for f in program.functions}
        self.readers: dict[Member, dict[Function, None]] = {}
        for f in program.functions:
            self.parameters[f] = (
                list(range(len(f.parameters)))
                if f in program.entries
                else _first_equal(zip([slot.kind for slot in f.parameters], f.parameter_cells, strict=True))
            )
            self.results[f] = _first_equal(zip(f.results, f.result_cells, strict=True))
            outline = outlines[f]
            for callee in outline.callees:
                self.callers[callee][f] = None
            for statement in outline.statements:
                if type(statement) is Unbox:
                    self.readers.setdefault(statement.member, {})[f] = None
        fixed = fixed_cells(program, outlines)
        for cell, members in program.members.items():
            for member in members:
                pointers = iter(member.cells)
                kinds = [(kind, next(pointers) if kind == "p" else None) for kind in member.kinds]
                self.fields[member] = list(range(len(kinds))) if cell in fixed else _first_equal(kinds)
        self.relations = _relations(
            program.functions, outlines, {m for cell in fixed for m in program.members.get(cell, ())}
        )

    def refute(self) -> None:
        """Split classes until what is assumed of each function follows from what is assumed of the others."""
        self.waiting = dict.fromkeys(self.functions)
        while self.waiting:
            function = next(iter(self.waiting))
            del self.waiting[function]
            yield_gil()
            self.equal[function] = _Numbering(self, function).equal

    def split(self, classes: Classes, leaves: Iterable[object]) -> bool:
        """Separate members of a class for which there are different leaves. Returns whether there were any."""
        refined = _first_equal(zip(classes, leaves, strict=True))
        is_new = refined != classes
        classes[:] = refined
        return is_new

    def call(self, node: Invoke | TailInvoke, operands: tuple[object, ...]) -> None:
        if self.split(self.parameters[node.function], operands):
            self.waiting[node.function] = None

    def end(self, function: Function, results: Iterable[object]) -> None:
        if self.split(self.results[function], results):
            self.waiting.update(self.callers[function])

    def box(self, member: Member, leaves: tuple[object, ...]) -> None:
        if self.split(self.fields[member], leaves):
            self.waiting.update(self.readers.get(member, {}))

    def replace(self) -> bool:
        for function, equal in self.equal.items():
            if equal:
                substitute(function.body, equal)
                self.outlines.changed(function)
        return any(self.equal.values())


class _Numbering:
    """Numbers the values of one function under the assumptions, and refutes those that its calls, results and boxes contradict.
    `equal`: the slots that can be replaced, each by the first leaf of equal value.
    """

    def __init__(self, all: _Congruences, function: Function) -> None:
        self.all = all
        self.function = function
        self.equal: dict[Slot, Leaf] = {}
        self.boxes: dict[Slot, Box] = {}
        self.unite(tuple(function.parameters), all.parameters[function])
        self.walk(function.body, {})

    def first(self, leaf: Leaf) -> Leaf:
        return self.equal.get(leaf, leaf) if type(leaf) is Slot else leaf

    def read(self, leaves: Iterable[Leaf]) -> tuple[Leaf, ...]:
        return tuple([self.first(leaf) for leaf in leaves])

    def unite(self, slots: tuple[Slot, ...], classes: Classes) -> None:
        for index, slot in enumerate(slots):
            if classes[index] != index:
                self.equal[slot] = slots[classes[index]]

    def walk(self, block: Block, known: dict[object, tuple[Slot, ...]]) -> None:
        """`known`: the operations whose results are in scope."""
        for statement in block.statements:
            self.number(statement, known)
        end = block.end
        if type(end) is Return:
            self.all.end(self.function, same_operands(self.read(end.leaves)))
        elif type(end) is TailInvoke:
            self.all.call(end, same_operands(self.read(end.operands)))
            self.all.end(self.function, self.all.results[end.function])

    def number(self, statement: Statement, known: dict[object, tuple[Slot, ...]]) -> None:
        operands = self.read(leaves_read(statement))
        slots = slots_bound(statement)
        if type(statement) is Invoke:
            self.all.call(statement, same_operands(operands))
        elif type(statement) is Box:
            self.all.box(statement.member, same_operands(operands))
            self.boxes[statement.slot] = statement
        key = operation(statement, operands)
        if key is not None and not (type(statement) is Invoke and statement.function in self.all.acting):
            found = known.setdefault(key, slots)
            if found is not slots and len(found) == len(slots):
                self.equal.update(zip(slots, self.read(found), strict=True))
                return
        match statement:
            case Invoke():
                if slots:
                    self.unite(slots, self.all.results[statement.function])
            case Unbox():
                made = self.boxes.get(operands[0]) if type(operands[0]) is Slot else None
                if made is not None and made.member is statement.member:
                    self.equal.update(zip(slots, self.read(made.leaves), strict=True))
                else:
                    self.unite(slots, self.all.fields[statement.member])
                    self.relate(statement, known)
            case Branch() | Switch():
                for inner in inner_blocks(statement):
                    self.walk(inner, dict(known))
                self.join(statement)

    def relate(self, unbox: Unbox, known: dict[object, tuple[Slot, ...]]) -> None:
        """Take what a box has computed of its fields for known."""
        for index, (name, places) in self.all.relations.get(unbox.member, {}).items():
            operands = [unbox.slots[place] if type(place) is int else place for place in places]
            read = [self.first(one) if type(one) is Slot else one for one in operands]
            known.setdefault(("compute", name, *read), (unbox.slots[index],))

    def join(self, choice: Branch | Switch) -> None:
        """Number the results of a choice: two are equal if they are equal in each arm, and one is a leaf that all arms yield."""
        arms = [self.read(block.end.leaves) for block in inner_blocks(choice) if type(block.end) is Yield]
        if not arms:
            return
        keys = list(zip(*[same_operands(leaves) for leaves in arms], strict=True))
        kinds = [slot.kind for slot in choice.slots]
        self.unite(choice.slots, _first_equal(zip(kinds, keys, strict=True)))
        if len(arms) > 1:  # then no arm binds what all yield
            for slot, leaf, key in zip(choice.slots, arms[0], keys, strict=True):
                if len(set(key)) == 1:
                    self.equal[slot] = leaf


def _relations(
    functions: Iterable[Function], outlines: Outlines, fixed: set[Member]
) -> dict[Member, dict[int, Relation]]:
    """By field: the operation whose result it is, in all boxes."""
    made: dict[Slot, Compute] = {}
    boxes: dict[Member, list[Box]] = {}
    for function in functions:
        for statement in outlines[function].statements:
            if type(statement) is Compute and statement.row.name not in CHEAP:
                made[statement.slot] = statement
            elif type(statement) is Box and statement.member not in fixed:
                boxes.setdefault(statement.member, []).append(statement)
    found: dict[Member, dict[int, Relation]] = {}
    for member, several in boxes.items():
        of_each = [_computed(box, made) for box in several]
        common = {
            i: relation
            for i, relation in of_each[0].items()
            if all(one.get(i) == relation for one in of_each)
        }
        if common:
            found[member] = common
    return found


def _computed(box: Box, made: dict[Slot, Compute]) -> dict[int, Relation]:
    """The fields of a box that are results of operations on its fields, or on constants."""
    places = {leaf: index for index, leaf in reversed([*enumerate(box.leaves)]) if type(leaf) is Slot}
    found: dict[int, Relation] = {}
    for index, leaf in enumerate(box.leaves):
        compute = made.get(leaf) if type(leaf) is Slot else None
        if compute is None:
            continue
        operands: list[int | str] = []
        for operand in compute.operands:
            if type(operand) is float:
                operands.append(operand.hex())
            elif type(operand) is Slot and operand in places:
                operands.append(places[operand])
        if len(operands) == len(compute.operands):
            found[index] = compute.row.name, tuple(operands)
    return found


def _first_equal(keys: Iterable[object]) -> Classes:
    """For each key the index of the first one equal to it."""
    indices: dict[object, int] = {}
    return [indices.setdefault(key, index) for index, key in enumerate(keys)]
