"""First-order code → first-order code: dead code elimination.

In: a Program.  Out: the same, changed in place. Called by order.py. Liveness is interprocedural and goes through boxes: leaves on
which no result, test or error depends are removed, including parameters, results and fields of boxes. So unused sensitivities are
not computed, and a loop's tape contains only what the reverse phase needs.
"""

from __future__ import annotations

from collections.abc import Iterable

from vlad.compile.ir.acting import total_functions
from vlad.compile.ir.outlines import Flow, Outlines
from vlad.compile.ir.program import (
    Box,
    Branch,
    Effect,
    Function,
    Immediate,
    Invoke,
    Leaf,
    Member,
    Program,
    Return,
    Slot,
    Statement,
    Store,
    Switch,
    TailInvoke,
    Unbox,
    Yield,
    blocks,
    inner_blocks,
    leaves_read,
    slots_bound,
)
from vlad.compile.ir.rewriting import fixed_cells, reachable, substitute


def drop_dead(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether anything was removed."""
    outlines = outlines or Outlines()
    liveness = _Liveness(program, outlines)
    liveness.mark()
    changed = liveness.functions != program.functions
    program.functions = liveness.functions
    narrowing = _Narrowing(program, liveness)
    changed |= narrowing.narrows
    for function in program.functions:
        flow = outlines[function].flow
        if narrowing.concerns(function, flow) or liveness.has_dead(flow):
            removes, narrows = narrowing.rewrite(function)
            changed |= removes
            if removes or narrows:
                outlines.changed(function)
    narrowing.finish()
    for cell, members in program.members.items():
        boxed = [member for member in members if member.boxed and cell not in liveness.fixed]
        for member in boxed:
            changed |= member.tagged != (len(boxed) > 1)
            member.tagged = len(boxed) > 1
    for function in program.functions:
        if any(_is_empty(statement) for statement in outlines[function].statements):
            _unbox_empty(function)
            outlines.changed(function)
            changed = True
    return changed


class _Liveness:
    """Marks live leaves, through calls and boxes, from the entries' results and all control flow."""

    def __init__(self, program: Program, outlines: Outlines) -> None:
        self.program = program
        self.functions = reachable(program, outlines.calls_of(program.functions))
        self.live: set[Slot] = set()
        self.results: set[tuple[Function, int]] = set()
        self.fields: set[tuple[Member, int]] = set()
        self.parameters: dict[Slot, tuple[Function, int]] = {}
        self.calls: dict[Function, list[Invoke | TailInvoke]] = {f: [] for f in self.functions}
        self.tail_callers: dict[Function, list[Function]] = {f: [] for f in self.functions}
        self.boxes: dict[Member, list[Box]] = {}
        self.outlines = outlines
        self.total = total_functions(self.functions, outlines)
        self.fixed = fixed_cells(program, outlines)
        self._work: list[Slot] = []

    def mark(self) -> None:
        reads: dict[Slot, tuple[Leaf, ...]] = {}
        read_results: dict[Slot, tuple[Function, int]] = {}
        read_fields: dict[Slot, tuple[Member, int]] = {}
        flows = {function: self.outlines[function].flow for function in self.functions}
        for function, flow in flows.items():
            for index, slot in enumerate(function.parameters):
                self.parameters[slot] = function, index
            reads |= flow.reads
            read_results |= flow.results
            read_fields |= flow.fields
            for member, made in flow.boxes.items():
                self.boxes.setdefault(member, []).extend(made)
            for call in self.outlines[function].calls:
                self.calls[call.function].append(call)
                if type(call) is TailInvoke:
                    self.tail_callers[call.function].append(function)
        for cell in self.fixed:
            for member in self.program.members.get(cell, ()):
                for index in range(len(member.kinds)):
                    self._field(member, index)
        for entry in self.program.entries:
            for index in range(len(entry.results)):
                self._result(entry, index)
            self._leaves(entry.parameters)  # an entry's parameters are its interface
        for flow in flows.values():
            self._leaves(flow.roots)
            for choice in flow.choices:
                if self.decides(choice, flow):
                    self._leaves(leaves_read(choice))
        self._spread(reads, read_results, read_fields)

    def _spread(
        self,
        reads: dict[Slot, tuple[Leaf, ...]],
        read_results: dict[Slot, tuple[Function, int]],
        read_fields: dict[Slot, tuple[Member, int]],
    ) -> None:
        live, work = self.live, self._work
        while work:
            slot = work.pop()
            for leaf in reads.get(slot, ()):
                if type(leaf) is Slot and leaf not in live:
                    live.add(leaf)
                    work.append(leaf)
            if slot in read_results:
                self._result(*read_results[slot])
            elif slot in read_fields:
                self._field(*read_fields[slot])
            elif slot in self.parameters:
                function, index = self.parameters[slot]
                self._leaves([call.operands[index] for call in self.calls[function]])

    def decides(self, choice: Statement, flow: Flow) -> bool:
        """Whether the choice of an arm matters apart from its results."""
        return choice in flow.deciding or not self.total.issuperset(flow.choices.get(choice, ()))

    def stays(self, statement: Statement, flow: Flow) -> bool:
        if not self.live.isdisjoint(slots_bound(statement)):
            return True
        match statement:
            case Invoke():
                return statement.function not in self.total
            case Effect() | Store():
                return True
            case Branch() | Switch():
                return self.decides(statement, flow)
        return False

    def has_dead(self, flow: Flow) -> bool:
        """Whether there are dead statements in a function, or results of them."""
        return not (
            self.live.issuperset(flow.slots)
            and all(self.stays(statement, flow) for statement in flow.slotless)
        )

    def _leaves(self, leaves: Iterable[Leaf]) -> None:
        for leaf in leaves:
            if type(leaf) is Slot and leaf not in self.live:
                self.live.add(leaf)
                self._work.append(leaf)

    def _result(self, function: Function, index: int) -> None:
        if (function, index) in self.results:
            return
        self.results.add((function, index))
        for end in self.outlines[function].ends:
            if type(end) is Return:
                self._leaves((end.leaves[index],))
            else:
                self._result(end.function, index)
        for caller in self.tail_callers[function]:  # a tail call has the same results
            self._result(caller, index)

    def _field(self, member: Member, index: int) -> None:
        if (member, index) not in self.fields:
            self.fields.add((member, index))
            self._leaves([box.leaves[index] for box in self.boxes.get(member, ())])


class _Narrowing:
    """Removes what is dead: of functions parameters and results, of members fields; each by the indices of those that stay, if
    some do not.
    """

    def __init__(self, program: Program, liveness: _Liveness) -> None:
        self.liveness = liveness
        self.parameters: dict[Function, list[int]] = {}
        self.results: dict[Function, list[int]] = {}
        self.fields: dict[Member, list[int]] = {}
        live = liveness.live
        for f in program.functions:
            if f not in program.entries and not live.issuperset(f.parameters):
                self.parameters[f] = [i for i, slot in enumerate(f.parameters) if slot in live]
            kept = [i for i in range(len(f.results)) if (f, i) in liveness.results]
            if len(kept) < len(f.results):
                self.results[f] = kept
        for cell, members in program.members.items():
            for member in members if cell not in liveness.fixed else ():
                kept = [i for i in range(len(member.kinds)) if (member, i) in liveness.fields]
                if len(kept) < len(member.kinds):
                    self.fields[member] = kept
        self.functions = self.parameters.keys() | self.results.keys()

    @property
    def narrows(self) -> bool:
        return bool(self.functions or self.fields)

    def concerns(self, function: Function, flow: Flow) -> bool:
        return not (
            function not in self.functions
            and self.functions.isdisjoint(self.liveness.outlines[function].called)
            and self.fields.keys().isdisjoint(flow.members)
        )

    def rewrite(self, function: Function) -> tuple[bool, bool]:
        """Returns whether statements, or results of choices, were removed, and whether others lost dead leaves."""
        removes, narrows = False, function in self.functions
        liveness, flow = self.liveness, self.liveness.outlines[function].flow
        for block in self.liveness.outlines[function].blocks:
            kept = [s for s in block.statements if liveness.stays(s, flow)]
            removes |= len(kept) < len(block.statements)
            block.statements = kept
            for statement in kept:
                match statement:
                    case Branch() | Switch():
                        removes |= self._choice(statement)
                    case Invoke() | Box() | Unbox():
                        narrows |= self._part(statement)
            end = block.end
            if type(end) is TailInvoke and end.function in self.parameters:
                end.operands = tuple([end.operands[i] for i in self.parameters[end.function]])
                narrows = True
            elif type(end) is Return and function in self.results:
                end.leaves = tuple([end.leaves[i] for i in self.results[function]])
        return removes, narrows

    def _choice(self, statement: Branch | Switch) -> bool:
        kept = [i for i, slot in enumerate(statement.slots) if slot in self.liveness.live]
        if len(kept) == len(statement.slots):
            return False
        statement.slots = tuple([statement.slots[i] for i in kept])
        for block in inner_blocks(statement):
            if type(block.end) is Yield:
                block.end.leaves = tuple([block.end.leaves[i] for i in kept])
        return True

    def _part(self, statement: Invoke | Box | Unbox) -> bool:
        if type(statement) is Invoke:
            called = statement.function
            if called in self.parameters:
                statement.operands = tuple([statement.operands[i] for i in self.parameters[called]])
            if called in self.results and statement.slots:
                statement.slots = tuple([statement.slots[i] for i in self.results[called]])
            return called in self.functions
        assert type(statement) is Box or type(statement) is Unbox
        if statement.member not in self.fields:
            return False
        kept = self.fields[statement.member]
        if type(statement) is Box:
            statement.leaves = tuple([statement.leaves[i] for i in kept])
        elif type(statement) is Unbox:
            statement.slots = tuple([statement.slots[i] for i in kept])
        return True

    def finish(self) -> None:
        """Remove them where they are declared."""
        for function, kept in self.parameters.items():
            function.parameters = [function.parameters[i] for i in kept]
            function.parameter_cells = [function.parameter_cells[i] for i in kept]
        for function, kept in self.results.items():
            function.results = "".join([function.results[i] for i in kept])
            function.result_cells = [function.result_cells[i] for i in kept]
        for member, kept in self.fields.items():
            pointers = iter(member.cells)
            cells = [next(pointers) if kind == "p" else None for kind in member.kinds]
            member.cells = tuple([c for c in [cells[i] for i in kept] if c is not None])
            member.kinds = "".join([member.kinds[i] for i in kept])


def _unbox_empty(function: Function) -> None:
    """A box without fields becomes its member's number."""
    empty: dict[Slot, Leaf] = {}
    for block in blocks(function.body):
        kept: list[Statement] = []
        for statement in block.statements:
            if _is_empty(statement):
                if type(statement) is Box:
                    empty[statement.slot] = Immediate(statement.member.index)
            else:
                kept.append(statement)
        block.statements = kept
    substitute(function.body, empty)


def _is_empty(statement: Statement) -> bool:
    return (type(statement) is Box or type(statement) is Unbox) and not statement.member.boxed
