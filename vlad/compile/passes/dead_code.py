"""First-order code → first-order code: dead code elimination.

In: a Program.  Out: the same, changed in place. Called by order.py. Liveness is interprocedural and goes through boxes: leaves on
which no result, test or error depends are removed, including parameters, results and fields of boxes. So unused sensitivities are
not computed, and a loop's tape contains only what the reverse phase needs.
"""

from __future__ import annotations

from vlad.compile.ir.acting import total_functions
from vlad.compile.ir.program import (
    Box,
    Branch,
    Compute,
    Each,
    Effect,
    Function,
    Immediate,
    Invoke,
    Leaf,
    Load,
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
    statements,
)
from vlad.compile.ir.rewriting import calls_of, fixed_cells, reachable, substitute


def drop_dead(program: Program) -> bool:
    """Returns whether anything was removed."""
    liveness = _Liveness(program)
    liveness.mark()
    changed = liveness.functions != program.functions
    program.functions = liveness.functions
    live = liveness.live
    fixed = liveness.fixed
    kept_parameters = {
        f: [i for i, slot in enumerate(f.parameters) if f in program.entries or slot in live]
        for f in program.functions
    }
    kept_results = {
        f: [i for i in range(len(f.results)) if (f, i) in liveness.results] for f in program.functions
    }
    kept_fields: dict[Member, list[int]] = {}
    for cell, members in program.members.items():
        for member in members:
            if member.boxed and cell not in fixed:
                kept_fields[member] = [i for i in range(len(member.kinds)) if (member, i) in liveness.fields]
    changed |= any(
        len(kept_parameters[f]) < len(f.parameters) or len(kept_results[f]) < len(f.results)
        for f in program.functions
    ) or any(len(kept) < len(member.kinds) for member, kept in kept_fields.items())
    for function in program.functions:
        for block in blocks(function.body):
            kept_statements = [s for s in block.statements if _stays(s, liveness)]
            changed |= len(kept_statements) < len(block.statements)
            block.statements = kept_statements
            for statement in block.statements:
                changed |= _narrow(statement, live, kept_parameters, kept_results, kept_fields)
            end = block.end
            if type(end) is TailInvoke:
                end.operands = tuple([end.operands[i] for i in kept_parameters[end.function]])
            elif type(end) is Return:
                end.leaves = tuple([end.leaves[i] for i in kept_results[function]])
    for function in program.functions:
        function.parameters, function.parameter_cells = (
            [function.parameters[i] for i in kept_parameters[function]],
            [function.parameter_cells[i] for i in kept_parameters[function]],
        )
        function.results, function.result_cells = (
            "".join([function.results[i] for i in kept_results[function]]),
            [function.result_cells[i] for i in kept_results[function]],
        )
    for member, kept in kept_fields.items():
        pointers = iter(member.cells)
        cells = [next(pointers) if kind == "p" else None for kind in member.kinds]
        member.cells = tuple([c for c in [cells[i] for i in kept] if c is not None])
        member.kinds = "".join([member.kinds[i] for i in kept])
    for cell in {member.cell for member in kept_fields}:
        boxed = [member for member in program.members[cell] if member.boxed]
        for member in boxed:
            changed |= member.tagged != (len(boxed) > 1)
            member.tagged = len(boxed) > 1
    for function in program.functions:
        changed |= _unbox_empty(function)
    return changed


class _Liveness:
    """Marks live leaves, through calls and boxes, from the entries' results and all control flow."""

    def __init__(self, program: Program) -> None:
        self.program = program
        called = calls_of(program.functions)
        self.functions = reachable(program, called)
        self.live: set[Slot] = set()
        self.results: set[tuple[Function, int]] = set()
        self.fields: set[tuple[Member, int]] = set()
        self.parameters: dict[Slot, tuple[Function, int]] = {}
        self.definitions: dict[Slot, tuple[Statement, int]] = {}
        self.calls: dict[Function, list[Invoke | TailInvoke]] = {f: [] for f in self.functions}
        self.tail_callers: dict[Function, list[Function]] = {f: [] for f in self.functions}
        self.boxes: dict[Member, list[Box]] = {}
        self.ends: dict[Function, list[Return | TailInvoke]] = {}
        self.total = total_functions(self.functions, called)
        self.fixed = fixed_cells(program)
        self._work: list[Slot] = []

    def mark(self) -> None:
        for function in self.functions:
            for index, slot in enumerate(function.parameters):
                self.parameters[slot] = function, index
            for statement in statements(function.body):
                self._define(statement)
            ends = [block.end for block in blocks(function.body)]
            self.ends[function] = [end for end in ends if type(end) is Return or type(end) is TailInvoke]
            for end in self.ends[function]:
                if type(end) is TailInvoke:
                    self.calls[end.function].append(end)
                    self.tail_callers[end.function].append(function)
        for cell in self.fixed:
            for member in self.program.members.get(cell, ()):
                for index in range(len(member.kinds)):
                    self._field(member, index)
        for entry in self.program.entries:
            for index in range(len(entry.results)):
                self._result(entry, index)
            for slot in entry.parameters:  # an entry's parameters are its interface
                self._leaf(slot)
        for function in self.functions:
            for block in blocks(function.body):
                for statement in block.statements:
                    if type(statement) in (Branch, Switch) and self.decides(statement):
                        self._leaf(leaves_read(statement)[0])
                    elif type(statement) in (Effect, Store):
                        for leaf in leaves_read(statement):
                            self._leaf(leaf)
        while self._work:
            self._spread(self._work.pop())

    def _define(self, statement: Statement) -> None:
        match statement:
            case Compute():
                self.definitions[statement.slot] = statement, 0
            case Box():
                self.definitions[statement.slot] = statement, 0
                self.boxes.setdefault(statement.member, []).append(statement)
            case Each() | Invoke() | Effect() | Load() | Unbox() | Branch() | Switch():
                for index, slot in enumerate(statement.slots):
                    self.definitions[slot] = statement, index
                if type(statement) is Invoke:
                    self.calls[statement.function].append(statement)

    def decides(self, statement: Statement) -> bool:
        """Whether the choice of an arm matters apart from its results."""
        for block in inner_blocks(statement):
            for inner in blocks(block):
                if type(inner.end) is not Yield:
                    return True
                if any(
                    type(s) in (Effect, Store) or (type(s) is Invoke and s.function not in self.total)
                    for s in inner.statements
                ):
                    return True
        return False

    def _leaf(self, leaf: Leaf) -> None:
        if type(leaf) is Slot and leaf not in self.live:
            self.live.add(leaf)
            self._work.append(leaf)

    def _result(self, function: Function, index: int) -> None:
        if (function, index) in self.results:
            return
        self.results.add((function, index))
        for end in self.ends[function]:
            if type(end) is Return:
                self._leaf(end.leaves[index])
            else:
                self._result(end.function, index)
        for caller in self.tail_callers[function]:  # a tail call has the same results
            self._result(caller, index)

    def _field(self, member: Member, index: int) -> None:
        if (member, index) not in self.fields:
            self.fields.add((member, index))
            for box in self.boxes.get(member, ()):
                self._leaf(box.leaves[index])

    def _spread(self, slot: Slot) -> None:
        if slot in self.parameters:
            function, index = self.parameters[slot]
            for call in self.calls[function]:
                self._leaf(call.operands[index])
            return
        statement, index = self.definitions[slot]
        match statement:
            case Compute() | Each():
                for leaf in statement.operands:
                    self._leaf(leaf)
            case Invoke():
                self._result(statement.function, index)
            case Effect() | Load():
                return  # its operands are live anyway
            case Unbox():
                self._leaf(statement.pointer)
                self._field(statement.member, index)
            case Branch() | Switch():
                self._leaf(leaves_read(statement)[0])
                for block in inner_blocks(statement):
                    if type(block.end) is Yield:
                        self._leaf(block.end.leaves[index])


def _unbox_empty(function: Function) -> bool:
    """A box without fields becomes its member's number. Returns whether there is one."""
    empty: dict[Slot, Leaf] = {}
    found = False
    for block in blocks(function.body):
        kept: list[Statement] = []
        for statement in block.statements:
            if (type(statement) is Box or type(statement) is Unbox) and not statement.member.boxed:
                found = True
                if type(statement) is Box:
                    empty[statement.slot] = Immediate(statement.member.index)
            else:
                kept.append(statement)
        block.statements = kept
    substitute(function.body, empty)
    return found


def _stays(statement: Statement, liveness: _Liveness) -> bool:
    live = liveness.live
    match statement:
        case Compute() | Box():
            return statement.slot in live
        case Invoke():
            return statement.function not in liveness.total or any(slot in live for slot in statement.slots)
        case Each() | Unbox():
            return any(slot in live for slot in statement.slots)
        case Effect() | Store():
            return True
        case Load():
            return any(slot in live for slot in statement.slots)
    return any(slot in live for slot in statement.slots) or liveness.decides(statement)


def _narrow(
    statement: Statement,
    live: set[Slot],
    parameters: dict[Function, list[int]],
    results: dict[Function, list[int]],
    fields: dict[Member, list[int]],
) -> bool:
    """Remove the dead leaves from a statement that stays. Returns whether results of a branch are among them."""
    match statement:
        case Invoke():
            statement.operands = tuple([statement.operands[i] for i in parameters[statement.function]])
            if statement.slots:
                statement.slots = tuple([statement.slots[i] for i in results[statement.function]])
        case Box():
            if statement.member in fields:
                statement.leaves = tuple([statement.leaves[i] for i in fields[statement.member]])
        case Unbox():
            if statement.member in fields:
                statement.slots = tuple([statement.slots[i] for i in fields[statement.member]])
        case Branch() | Switch():
            kept = [i for i, slot in enumerate(statement.slots) if slot in live]
            if len(kept) < len(statement.slots):
                statement.slots = tuple([statement.slots[i] for i in kept])
                for block in inner_blocks(statement):
                    if type(block.end) is Yield:
                        block.end.leaves = tuple([block.end.leaves[i] for i in kept])
                return True
    return False
