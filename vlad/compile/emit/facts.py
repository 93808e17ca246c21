"""Interprocedural facts on first-order functions: which ones allocate, which can fail, which loops keep all their allocations.

In: the functions of a program (program.py).  Out: `Facts`. Used by the emitters of C and CUDA.
"""

from __future__ import annotations

from vlad.compile.ir.matrix_products import by_library
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Each,
    Effect,
    Fail,
    Function,
    Immediate,
    Invoke,
    Leaf,
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
    components,
    inner_blocks,
    leaves_read,
    leaves_within,
    makes,
    slots_bound,
    statements,
)
from vlad.compile.loops.lower import polls
from vlad.compile.loops.parts import may_be_divided
from vlad.compile.passes.uniqueness import Owning
from vlad.core.extents import estimate
from vlad.core.loop_nests import Kernel, Step

# Steps of straight-line code after which it polls `vlad_stop`: some milliseconds. A kernel executes several steps at a time, and
# more of sums and products.
LONG = 1 << 20
STEPS_AT_A_TIME, SUMS_AT_A_TIME = 4, 64
SUMS = ("+", "-", "*", "negate")

NO_OWNING: Owning = {}


class Facts:
    """The functions that allocate, that call themselves outside tail position (`recursive`), that do so or are called by one that
    does (`nested`: many of its calls may be open beside theirs), that are recursive or loop, or call one that does (`repeats`),
    that execute many steps without a loop (`long`), that can fail, …

    `owning`: the loops that overwrite their base, by the output's number; they allocate nothing for it."""

    def __init__(self, functions: list[Function], owning: Owning = NO_OWNING) -> None:
        calls: dict[Function, list[Function]] = {}
        tails: dict[Function, list[Function]] = {}
        self.allocates: set[Function] = set()
        self.fails: set[Function] = set()
        self.loops: set[Function] = set()
        self.acts: set[Function] = set()
        self.counts = self.quotes = self.shows_tensors = False
        for function in functions:
            all_statements = statements(function.body)
            calls[function] = [s.function for s in all_statements if type(s) is Invoke]
            ends = [block.end for block in blocks(function.body)]
            tails[function] = [end.function for end in ends if type(end) is TailInvoke]
            if any(_allocates(s, owning) for s in all_statements):
                self.allocates.add(function)
            if function in tails[function]:
                self.loops.add(function)
            effects = {s.what for s in all_statements if type(s) is Effect}
            self.counts |= "step" in effects
            self.quotes |= "quoted" in effects
            self.shows_tensors |= "tensor" in effects
            if effects - {"step", "measure"}:
                self.acts.add(function)
            kernels = [s.kernel for s in all_statements if type(s) is Each and s.is_loop]
            takes_long = any(polls(kernel) or may_be_divided(kernel) for kernel in kernels)
            if effects or takes_long or any(type(end) in (Fail, Unreachable) for end in ends):
                self.fails.add(function)
        self.callees = {function: [*calls[function], *tails[function]] for function in functions}
        self.component = components(functions, self.callees)
        self.recursive = {
            f for f in functions if any(self.component[f] == self.component[g] for g in calls[f])
        }
        self.nested = set(self.recursive)
        called = list(self.recursive)
        while called:
            new = [callee for callee in self.callees[called.pop()] if callee not in self.nested]
            self.nested.update(new)
            called += new
        by_number: dict[int, list[Function]] = {}
        tail_component = components(functions, tails)
        for function in functions:
            by_number.setdefault(tail_component[function], []).append(function)
        self.together = list(by_number.values())  # loops of several functions are one
        self.loops |= {f for members in self.together if len(members) > 1 for f in members}
        self._spread(self.allocates, functions)
        self.repeats = self.loops | self.recursive
        self._spread(self.repeats, functions)
        self.long = self._long(functions)
        self.fails |= self.loops | self.recursive | self.allocates | self.long
        self._spread(self.fails, functions)

    def _long(self, functions: list[Function]) -> set[Function]:
        """The functions that execute many steps, including those of their callees: procedures of two calls each double them. A
        function that polls `vlad_stop` counts as none for its callers."""
        found: set[Function] = set()
        steps: dict[Function, int] = {f: 0 for f in functions if f in self.loops or f in self.recursive}
        work = list(functions)
        while work:
            function = work[-1]
            missing = [callee for callee in self.callees[function] if callee not in steps]
            if function in steps or not missing:
                work.pop()
                if function not in steps:
                    steps[function] = _steps(function, steps)
                    if steps[function] >= LONG:
                        found.add(function)
                        steps[function] = 0
            else:
                work += missing
        return found

    def _spread(self, has: set[Function], functions: list[Function]) -> None:
        """Extend a set of functions by their callers."""
        grown = True
        while grown:
            grown = False
            for function in functions:
                if function not in has and any(callee in has for callee in self.callees[function]):
                    has.add(function)
                    grown = True


def _allocates(statement: Statement, owning: Owning) -> bool:
    if type(statement) is not Each or statement not in owning:
        return makes(statement)
    return any(slot.kind == "p" for n, slot in enumerate(statement.slots) if n != owning[statement])


def _steps(function: Function, of: dict[Function, int]) -> int:
    """The number of steps of a function; `of`: the numbers of its callees."""
    ends = [block.end for block in blocks(function.body)]
    count = sum([of[end.function] for end in ends if type(end) is TailInvoke])
    for statement in statements(function.body):
        count += 1
        if type(statement) is Invoke:
            count += of[statement.function]
        elif type(statement) is Each and statement.is_loop:
            count += _kernel_steps(statement.kernel)
        elif type(statement) is Each:
            count += estimate(statement.routine.turns) // STEPS_AT_A_TIME
    return count


def _kernel_steps(kernel: Kernel) -> int:
    """The number of steps in all turns. Choices are made outside the loops; the library computes products of matrices."""
    if by_library(kernel) is not None:
        return estimate(kernel.turns) // SUMS_AT_A_TIME
    steps = [step.row.name for step in kernel.steps if type(step) is Step]
    sums = len([name for name in steps if name in SUMS])
    others = 1 + len(steps) - sums
    return (
        estimate(kernel.turns) * sums // SUMS_AT_A_TIME + estimate(kernel.turns) * others // STEPS_AT_A_TIME
    )


def drops(function: Function, facts: Facts) -> bool:
    """Does it return a pointer, but drop one that a loop or a recursion returned to it? So does what runs a tape back."""
    if "p" not in function.results or function not in facts.allocates:
        return False
    within = statements(function.body)
    made = _made(within, facts)
    if not made or any(type(s) is Store for s in within):
        return False
    ends = [block.end for block in blocks(function.body)]
    results = [leaf for end in ends if type(end) is not Yield for leaf in leaves_read(end)]
    return not made <= _reached(results, within)


def _made(within: list[Statement], facts: Facts) -> set[Slot]:
    """The pointers that a loop or a recursion returns to these statements."""
    return {
        slot
        for s in within
        if type(s) is Invoke and s.function in facts.allocates and s.function in facts.repeats
        for slot in s.slots
        if slot.kind == "p"
    }


def _reached(leaves: list[Leaf], within: list[Statement]) -> set[Leaf]:
    """These leaves, and what they are made of or taken from."""
    reached: set[Leaf] = set()
    sources: dict[Leaf, list[Leaf]] = {}
    for s in within:
        if type(s) is Box:
            sources[s.slot] = [*s.leaves]
        elif type(s) is Unbox:
            sources |= {slot: [s.pointer] for slot in s.slots}
        elif type(s) is Branch or type(s) is Switch:
            for block in inner_blocks(s):
                if type(block.end) is Yield:
                    for slot, leaf in zip(s.slots, block.end.leaves, strict=True):
                        sources.setdefault(slot, []).append(leaf)
    work = list(leaves)
    while work:
        leaf = work.pop()
        if leaf not in reached:
            reached.add(leaf)
            work += sources.get(leaf, ())
    return reached


def hands_on(function: Function, facts: Facts) -> bool:
    """Does each of its calls of itself hand on all pointers that the caller holds, among them one that a loop or a recursion
    returned? Then the operands of the last call reach all that was allocated since the first one and is needed, and the rest can
    be collected, as between the turns of a loop. Tail calls are loops already."""
    if function not in facts.recursive or function not in facts.allocates:
        return False
    within = statements(function.body)
    together = {f for f in facts.callees[function] if facts.component[f] == facts.component[function]}
    if together != {function} or any(type(s) is Store for s in within):
        return False
    given: list[Leaf] = []
    found: list[list[tuple[Block, int]]] = []  # for each call: the blocks around it, each with a position
    work: list[tuple[Block, list[tuple[Block, int]]]] = [(function.body, [])]
    same = set(function.parameters)  # that all calls hand on as they are: older than the first call
    while work:
        block, around = work.pop()
        if type(block.end) is TailInvoke and block.end.function is function:
            same.intersection_update(_unchanged(function, block.end))
        for index, statement in enumerate(block.statements):
            if type(statement) is Invoke and statement.function is function:
                same.intersection_update(_unchanged(function, statement))
                given += statement.operands
                found.append([*around, (block, index)])
            work += [(inner, [*around, (block, index)]) for inner in inner_blocks(statement)]
    if _made(within, facts).isdisjoint(_reached(given, within)):
        return False
    return all(_read_after(path) <= same for path in found)


def _unchanged(function: Function, call: Invoke | TailInvoke) -> list[Slot]:
    return [slot for slot, leaf in zip(function.parameters, call.operands, strict=True) if leaf is slot]


def _read_after(path: list[tuple[Block, int]]) -> set[Slot]:
    """The pointers that are read after a statement, and were there before it."""
    read: set[Leaf] = set()
    new: set[Slot] = set()
    for block, index in path:
        read.update(leaves_read(block.end))
        new.update(slots_bound(block.statements[index]))
        for statement in block.statements[index + 1 :]:
            read |= leaves_within(statement)
            inner = [s for part in inner_blocks(statement) for s in statements(part)]
            new.update([slot for s in (statement, *inner) for slot in slots_bound(s)])
    return {leaf for leaf in read if type(leaf) is Slot and leaf.kind == "p" and leaf not in new}


def grows_only(function: Function, facts: Facts) -> bool:
    """Does a loop keep everything that it allocates, as one that writes a tape does? Then it needs no collection."""
    parameters = [slot for slot in function.parameters if slot.kind == "p"]
    turns: list[tuple[TailInvoke, list[Statement]]] = []
    work: list[tuple[Block, list[Statement]]] = [(function.body, [])]
    while work:
        block, before = work.pop()
        path = [*before, *block.statements]
        for index, statement in enumerate(block.statements):
            work += [(inner, [*before, *block.statements[: index + 1]]) for inner in inner_blocks(statement)]
        if type(block.end) is TailInvoke and block.end.function is function:
            turns.append((block.end, path))
    outside = {slot: slot for slot in parameters}  # pointers that reach only boxes allocated before the loop
    taken = {s.pointer: s for _, path in turns for s in path if type(s) is Unbox}
    source = {slot: unbox.pointer for unbox in taken.values() for slot in unbox.slots}
    changed = True
    while changed:
        changed = False
        for end, _ in turns:
            for slot, leaf in zip(function.parameters, end.operands, strict=True):
                while type(leaf) is Slot and leaf in source:
                    leaf = source[leaf]
                if slot in outside and not (isinstance(leaf, Immediate | Static) or leaf in outside):
                    del outside[slot]
                    changed = True
    for end, path in turns:
        boxes: dict[Leaf, tuple[Leaf, ...]] = {s.slot: s.leaves for s in path if type(s) is Box}
        boxes |= {slot: () for s in path if type(s) is Each for slot in s.slots if slot.kind == "p"}
        inner = [s for s in path for block in inner_blocks(s) for s in statements(block)]
        if any(
            type(s) is Invoke and s.function in facts.allocates and "p" in s.function.results for s in path
        ):
            return False
        if any(makes(s) for s in inner if s not in path):
            return False
        kept: set[Leaf] = set()
        reach = [leaf for leaf in end.operands if type(leaf) is Slot]
        while reach:
            leaf = reach.pop()
            if leaf not in kept:
                kept.add(leaf)
                reach += [inner for inner in boxes[leaf] if type(inner) is Slot] if leaf in boxes else []
        if not kept.issuperset(boxes) or any(slot not in kept for slot in parameters if slot not in outside):
            return False
    return True
