"""First-order code → first-order code: what makes no difference goes, what is done twice is done once.

In: a Program as specialize.py makes it.  Out: the same program, changed in place, with the same answers and errors.

    dead      leaves that no answer, test or error depends on: parameters, results, fields of boxes included. That drops
              sensitivities nobody reads, and leaves on a loop's tape what the way back needs
    merged    functions that do the same, found as the states of an automaton are minimised: a derivative that nothing depends
              on is the function it came from
    inlined   procedures that are small or called once, so that the rest sees through them
    dissolved boxes that are only looked into (scalar_replacement.py)
    shared    operations and calls on the same operands: everything is pure
"""

from __future__ import annotations

from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Each,
    Effect,
    End,
    Fail,
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
    Static,
    Store,
    Switch,
    TailInvoke,
    Unbox,
    Unreachable,
    Yield,
    blocks,
    check,
    inner_blocks,
    leaves_read,
    makes,
    statements,
)
from vlad.compile.ir.rewriting import (
    callees,
    fixed_cells,
    looping,
    put,
    put_last,
    reachable,
    replace_leaves,
    same_operands,
    substitute,
)
from vlad.compile.passes.reboxing import keep_boxed, reuse_boxes
from vlad.compile.passes.rematerialization import rematerialize
from vlad.compile.passes.scalar_replacement import dissolve
from vlad.control.gil_yield import make_way
from vlad.data.values import TRUE, Boolean

SMALL = 40  # statements of a function that is inlined wherever it is called
LARGEST = 4000  # statements of a function into which others are inlined
ROUNDS = 4
CHECKING = False  # on in the tests: each pass's result is checked


def optimize(program: Program) -> Program:
    for _ in range(ROUNDS):
        before = sum([len(statements(function.body)) for function in program.functions])
        for one in (drop_dead, merge, inline, share_all, dissolve):
            one(program)
            make_way()
            if CHECKING:
                check(program, one.__name__)
        if sum([len(statements(function.body)) for function in program.functions]) == before:
            break
    return program


def finish(program: Program) -> Program:
    """What would hinder the rest, had it been done before."""
    for last in (keep_boxed, rematerialize, share_all, drop_dead, reuse_boxes, take_together):
        last(program)
        make_way()
        if CHECKING:
            check(program, f"the last {last.__name__}")
    return program


def take_together(program: Program) -> None:
    """The steps of a straight piece of code are counted at its beginning."""
    for function in program.functions:
        for block in blocks(function.body):
            first: Effect | None = None
            kept: list[Statement] = []
            for statement in block.statements:
                if type(statement) is Effect and statement.what == "step":
                    if first is not None:
                        (count,), (more,) = first.operands, statement.operands
                        assert type(count) is type(more) is float
                        first.operands = (count + more,)
                        continue
                    first = statement
                elif type(statement) not in (Compute, Each, Box, Unbox, Load):
                    first = None
                kept.append(statement)
            block.statements = kept


# What is dead.


class _Liveness:
    """Marks the leaves that something depends on, through calls and boxes, from the entry's results and all control."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.functions = reachable(program)
        self.live: set[Slot] = set()
        self.results: set[tuple[Function, int]] = set()
        self.fields: set[tuple[Member, int]] = set()
        self.parameters: dict[Slot, tuple[Function, int]] = {}
        self.definitions: dict[Slot, tuple[Statement, int]] = {}
        self.calls: dict[Function, list[Invoke | TailInvoke]] = {f: [] for f in self.functions}
        self.tail_callers: dict[Function, list[Function]] = {f: [] for f in self.functions}
        self.boxes: dict[Member, list[Box]] = {}
        self.ends: dict[Function, list[Return | TailInvoke]] = {}
        self.total = total_functions(self.functions)
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
        for cell in fixed_cells(self.program):
            for member in self.program.members.get(cell, ()):
                for index in range(len(member.kinds)):
                    self._field(member, index)
        for entry in self.program.entries:
            for index in range(len(entry.results)):
                self._result(entry, index)
            for slot in entry.parameters:  # they stay, so whoever calls the entry has to provide them
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
        """Does which arm is taken matter, whatever it yields?"""
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
        for caller in self.tail_callers[function]:  # what is answered in its place has the same results
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


def total_functions(functions: list[Function]) -> set[Function]:
    """Functions that do nothing but answer: no failure, no effect, no call of one that has them. Whether a loop ends that
    answers at all is not asked: whose result nobody reads need not be waited for."""
    returning = returning_functions(functions)
    total = {
        f
        for f in functions
        if not has_effect(f)
        and f in returning
        and answers(f.body)
        and not any(type(block.end) is Fail for block in blocks(f.body))
    }
    shrunk = True
    while shrunk:
        less = {f for f in total if not total.issuperset(callees(f))}
        total -= less
        shrunk = bool(less)
    return total


def returning_functions(functions: list[Function]) -> set[Function]:
    """Those of which some way leads to an answer; of an endless loop, none does."""
    ends = {f: [block.end for block in blocks(f.body)] for f in functions}
    returning = {f for f in functions if any(type(end) is Return for end in ends[f])}
    grown = True
    while grown:
        more = {
            f
            for f in functions
            if f not in returning
            and any(type(end) is TailInvoke and end.function in returning for end in ends[f])
        }
        returning |= more
        grown = bool(more)
    return returning


def answers(block: Block) -> bool:
    """Does every path of a body end in an answer, rather than nowhere?"""
    if type(block.end) is not Unreachable:
        return True
    last = block.statements[-1] if block.statements else None
    return type(last) in (Branch, Switch) and all(answers(inner) for inner in inner_blocks(last))  # type: ignore[arg-type]


def drop_dead(program: Program) -> None:
    liveness = _Liveness(program)
    liveness.mark()
    program.functions = liveness.functions
    live = liveness.live
    fixed = fixed_cells(program)
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
    for function in program.functions:
        for block in blocks(function.body):
            block.statements = [s for s in block.statements if _stays(s, liveness)]
            for statement in block.statements:
                _narrow(statement, live, kept_parameters, kept_results, kept_fields)
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
            member.tagged = len(boxed) > 1
    for function in program.functions:
        _unbox_empty(function)


def _unbox_empty(function: Function) -> None:
    """A box without fields is its member's number."""
    empty: dict[Slot, Leaf] = {}
    for block in blocks(function.body):
        for statement in block.statements:
            if type(statement) is Box and not statement.member.boxed:
                empty[statement.slot] = Immediate(statement.member.index)
        block.statements = [
            s
            for s in block.statements
            if not (type(s) in (Box, Unbox) and not s.member.boxed)  # type: ignore[union-attr]
        ]
    substitute(function.body, empty)


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
) -> None:
    """Take the dead leaves out of a statement that stays."""
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


# What is the same.


def merge(program: Program) -> None:
    """One function for those that do the same (Hopcroft's partition, refined from signatures by bodies)."""
    functions = program.functions
    entries = {
        entry: number for number, entry in enumerate(program.entries)
    }  # each is called by its own name
    numbers: dict[object, int] = {}
    group: dict[Function, int] = {}
    called: dict[Function, list[Function]] = {}
    for f in functions:
        kinds = "".join([slot.kind for slot in f.parameters])
        body, called[f] = shape(f)
        group[f] = numbers.setdefault((kinds, f.results, entries.get(f, 0), body), len(numbers))
    while True:
        count, numbers = len(numbers), {}
        refined = {f: (group[f], *[group[callee] for callee in called[f]]) for f in functions}
        group = {f: numbers.setdefault(refined[f], len(numbers)) for f in functions}
        if len(numbers) == count:
            break
    first: dict[int, Function] = {}
    chosen = {f: first.setdefault(group[f], f) for f in functions}
    if len(first) == len(functions):
        return
    for function in first.values():
        for statement in statements(function.body):
            if type(statement) is Invoke:
                statement.function = chosen[statement.function]
        for block in blocks(function.body):
            if type(block.end) is TailInvoke:
                block.end.function = chosen[block.end.function]
    program.functions = reachable(program)


def shape(function: Function) -> tuple[object, list[Function]]:
    """A function's body with its slots numbered and without its callees, and these in order."""
    called: list[Function] = []
    numbers: dict[Slot, int] = {slot: index for index, slot in enumerate(function.parameters)}

    def leaf(leaf: Leaf) -> object:
        if type(leaf) is Slot:
            return ("slot", numbers[leaf])
        if type(leaf) is float:
            return ("real", leaf.hex())
        return leaf if type(leaf) is not Static else id(leaf)

    def define(slots: tuple[Slot, ...]) -> None:
        for slot in slots:
            numbers[slot] = len(numbers)

    def block(one: Block) -> tuple[object, ...]:
        return (*[statement(s) for s in one.statements], end(one.end))

    def end(one: End) -> object:
        match one:
            case TailInvoke():
                called.append(one.function)
                return ("tail", *[leaf(x) for x in one.operands])
            case Fail():
                return ("fail", one.what, id(one.span))
        return (type(one).__name__, *[leaf(x) for x in leaves_read(one)])

    def statement(one: Statement) -> object:
        read = tuple([leaf(x) for x in leaves_read(one)])
        match one:
            case Compute():
                described: object = ("compute", one.row.name, read)
                define((one.slot,))
            case Each():
                described = ("each", one.work, read)
                define(one.slots)
            case Invoke():
                described = ("invoke", len(one.slots), read)
                called.append(one.function)
                define(one.slots)
            case Load():
                described = ("load", id(one.cell))
                define(one.slots)
            case Store():
                described = ("store", id(one.cell), read)
            case Effect():
                described = ("effect", one.what, one.text, read)
                define(one.slots)
            case Box():
                described = ("box", id(one.member), read)
                define((one.slot,))
            case Unbox():
                described = ("unbox", id(one.member), read)
                define(one.slots)
            case Branch():
                described = ("branch", read, block(one.consequent), block(one.alternative), len(one.slots))
                define(one.slots)
            case Switch():
                described = ("switch", read, *[(id(m), block(b)) for m, b in one.cases], len(one.slots))
                define(one.slots)
        return described

    return block(function.body), called


# What is in place.


def inline(program: Program) -> None:
    """Replace calls by bodies, callees first."""
    functions = program.functions
    counts: dict[Function, int] = {}
    for function in functions:
        for callee in callees(function):
            counts[callee] = counts.get(callee, 0) + 1
    recursive = looping(functions)
    taping = _taping(functions)
    sizes = {f: len(statements(f.body)) for f in functions}
    for function in reversed(functions):
        budget = LARGEST - sizes[function]
        for block in blocks(function.body):
            for call in (*block.statements, block.end):
                if not isinstance(call, Invoke | TailInvoke):
                    continue
                callee = call.function
                if callee in program.entries or callee in recursive or callee is function or callee in taping:
                    continue
                size = sizes[callee]
                if (size > SMALL and counts[callee] > 1) or size > budget:
                    continue
                goes_on = True
                if type(call) is TailInvoke:
                    put_last(block, call)
                elif type(call) is Invoke and answers(callee.body):
                    goes_on = put(block, call)
                else:
                    continue
                budget -= size
                sizes[function] += size
                if not goes_on:
                    break
    program.functions = reachable(program)


def _taping(functions: list[Function]) -> set[Function]:
    """Functions that answer plain numbers but have others allocate for them: what those leave is freed when they answer."""
    allocating = {f for f in functions if any(makes(s) for s in statements(f.body))}
    grown = True
    while grown:
        more = {f for f in functions if f not in allocating and not allocating.isdisjoint(callees(f))}
        allocating |= more
        grown = bool(more)
    return {f for f in functions if "p" not in f.results and any(g in allocating for g in callees(f))}


# What is done twice.


def share_all(program: Program) -> None:
    acting = acting_functions(program.functions)
    for function in program.functions:
        make_way()
        share(function, acting)


def has_effect(function: Function) -> bool:
    return any(type(statement) in (Effect, Store) for statement in statements(function.body))


def acting_functions(functions: list[Function]) -> set[Function]:
    """Those that the outside may notice."""
    acting = {f for f in functions if has_effect(f)}
    grown = bool(acting)
    while grown:
        more = {f for f in functions if f not in acting and not acting.isdisjoint(callees(f))}
        acting |= more
        grown = bool(more)
    return acting


def share(function: Function, acting: set[Function]) -> None:
    """Give each operation on the same operands one slot, within the reach of the first. What is done where a test has not failed
    comes behind the test, not within it: there it reaches further."""
    replaced: dict[Slot, Leaf] = {}

    def new(leaf: Leaf) -> Leaf:
        while type(leaf) is Slot and leaf in replaced:
            leaf = replaced[leaf]
        return leaf

    def walk(block: Block, known: dict[object, tuple[Slot, ...]], own: set[Leaf]) -> None:
        """`own`: the results of scalar operations of the block itself."""
        kept: list[Statement] = []
        for statement in block.statements:
            replace_leaves(statement, new)
            if type(statement) is Compute:
                own.add(statement.slot)
                constant = folded(statement)
                if constant is not None:
                    replaced[statement.slot] = constant
                    continue
            key, slots = operation(statement)
            if type(statement) is Invoke and statement.function in acting:
                key = None
            found = known.get(key) if key is not None else None
            if found is not None and len(found) == len(slots):
                replaced.update(zip(slots, found, strict=True))
                continue
            if key is not None:
                known[key] = slots
            if type(statement) is Unbox and type(statement.pointer) is Slot:
                made = boxes.get(statement.pointer)
                if made is not None and made.member is statement.member:
                    replaced.update(zip(statement.slots, made.leaves, strict=True))
                    continue
            if type(statement) is Box:
                boxes[statement.slot] = statement
            settled = _settled(statement, boxes)
            if settled is not None:
                walk(settled, known, own)
                kept += settled.statements
                if type(settled.end) is Yield:
                    assert type(statement) in (Branch, Switch)
                    replaced.update(zip(statement.slots, settled.end.leaves, strict=True))  # type: ignore[union-attr]
                    continue
                block.end = settled.end
                break
            guarded = _guarded(statement)
            if guarded is not None:
                assert type(statement) is Branch
                guard, rest, holds = guarded
                walk(guard.alternative if holds else guard.consequent, dict(known), set())
                kept.append(guard)
                if type(guard.test) is Slot and guard.test in own:
                    replaced[guard.test] = holds
                walk(rest, known, own)
                kept += rest.statements
                if type(rest.end) is Yield:
                    replaced.update(zip(statement.slots, rest.end.leaves, strict=True))
                    continue
                block.end = rest.end
                break
            for inner in inner_blocks(statement):
                walk(inner, dict(known), set())
            kept.append(statement)
        block.statements = kept
        replace_leaves(block.end, new)

    boxes: dict[Slot, Box] = {}
    walk(function.body, {}, set())


def _guarded(statement: Statement) -> tuple[Branch, Block, bool] | None:
    """Of a branch one arm of which is an error: that alone, the other arm, and for which answer to the test it is taken."""
    if type(statement) is not Branch:
        return None
    arms = statement.consequent, statement.alternative
    fails = [type(arm.end) is Fail for arm in arms]
    if fails[0] == fails[1]:
        return None
    nothing = Block([], Yield(()))
    rest = arms[fails.index(False)]
    if fails[0]:
        return Branch((), statement.test, arms[0], nothing, statement.span), rest, False
    return Branch((), statement.test, nothing, arms[1], statement.span), rest, True


def folded(statement: Compute) -> Leaf | None:
    """The result of an operation on constants; None where that is not known, or not to be."""
    row = statement.row
    if row.name == "unknown-real" or not all(type(leaf) in (float, bool) for leaf in statement.operands):
        return None
    if any(type(leaf) is bool for leaf in statement.operands):
        first = statement.operands[0]
        return not first if row.name == "not" else None
    value = row.value(*statement.operands)
    return value is TRUE if isinstance(value, Boolean) else float(value)


def operation(statement: Statement) -> tuple[object, tuple[Slot, ...]]:
    """What a statement does, if doing it once is enough, and its slots."""
    match statement:
        case Compute():
            return ("compute", statement.row.name, *same_operands(statement.operands)), (statement.slot,)
        case Each():
            return ("each", statement.work, *same_operands(statement.operands)), statement.slots
        case Invoke():
            return ("invoke", statement.function, *same_operands(statement.operands)), statement.slots
        case Unbox():
            return ("unbox", statement.member, *same_operands((statement.pointer,))), statement.slots
        case Load():
            return ("load", id(statement.cell)), statement.slots
        case Box():
            return ("box", statement.member, *same_operands(statement.leaves)), (statement.slot,)
    return None, ()


def _settled(statement: Statement, boxes: dict[Slot, Box]) -> Block | None:
    """The arm that a branch or switch is known to take."""
    if type(statement) is Switch and type(statement.pointer) is Slot and statement.pointer in boxes:
        made = boxes[statement.pointer].member
        return next(block for member, block in statement.cases if member is made)
    if type(statement) is Branch and type(statement.test) is bool:
        return statement.consequent if statement.test else statement.alternative
    if type(statement) is Switch and type(statement.pointer) in (Immediate, Static):
        index = statement.pointer.member if type(statement.pointer) is Immediate else -1
        for member, block in statement.cases:
            if member.index == index or (
                type(statement.pointer) is Static and member is statement.pointer.member
            ):
                return block
    if type(statement) is Switch and len(statement.cases) == 1:
        return statement.cases[0][1]
    return None
