"""First-order functions → CUDA: the turns of loops (ir/row_loops.py), each of which a thread of a GPU executes.

In: the loops of a program.  Out: `RowKernels`: for each loop a function of the CUDA text, and what the host needs to launch it.
The text of a function is that of c_function.py, with another run-time (`THREAD`): a call takes the thread's state, memory is the
thread's own part of an area, and an error records the row and ends the thread.

An array of constant size that does not outlive its block, or that a loop only hands from turn to turn, is a variable of the
thread, so in registers or local memory; other arrays, and the boxes of tapes, are allocated in the thread's part of the area. It
is freed by the row, and earlier where a function returns no pointers, or a loop's next turn has none. There is no collector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from vlad.compile.emit.c_function import FunctionText, operands_of
from vlad.compile.emit.c_loops import CLoopPrinter
from vlad.compile.emit.c_text import c_name, comment
from vlad.compile.emit.definitions import Definitions
from vlad.compile.emit.facts import Facts
from vlad.compile.emit.host_division import MOST_TURNS
from vlad.compile.emit.loop_text import C_KINDS
from vlad.compile.emit.needs import Needs
from vlad.compile.emit.sharing import sharing_in
from vlad.compile.ir.program import (
    Block,
    Box,
    Compute,
    Each,
    Effect,
    End,
    Fail,
    Function,
    Invoke,
    Leaf,
    Load,
    Program,
    Return,
    Slot,
    Statement,
    Store,
    TailInvoke,
    Unreachable,
    blocks,
    components,
    leaves_read,
    statements,
)
from vlad.compile.ir.row_loops import RowLoop, callees
from vlad.compile.loops import order
from vlad.compile.loops.ir import Alias, Allocate
from vlad.compile.runtime.functions import is_for_hosts
from vlad.core.expressions import functions_called
from vlad.core.loop_nests import Output, Step, words
from vlad.data.values import Primitive

CODES = 16  # bits of a status for the kind of an error; the others are the row
TURNS = 1 << 14  # of loops in a thread, after which it asks whether it has to end

THREAD = f"""\
#ifndef VLAD_EXIT
#define VLAD_EXIT asm volatile("exit;")
#endif
typedef struct {{
  long row, turns; unsigned long long *status; char *top, *end; long const volatile *stop;
}} vlad_thread;
__device__ static void vlad_thread_fail(vlad_thread *own, int failure) {{
  atomicMin(own->status, (unsigned long long)own->row << {CODES} | (unsigned long long)failure);
  VLAD_EXIT;
}}
__device__ static char *vlad_thread_array(vlad_thread *own, long bytes) {{
  char *found = own->top;
  if (bytes > own->end - found) {{
    own->status[1] = 1;
    VLAD_EXIT;
  }}
  own->top = found + bytes;
  return found;
}}
__device__ static void vlad_thread_turn(vlad_thread *own) {{
  if (!(++own->turns & {TURNS - 1}) && *own->stop) VLAD_EXIT;
}}
#define vlad_fail(number) vlad_thread_fail(own, number)
#define vlad_array(words) vlad_thread_array(own, 8 * (words))
#define vlad_top (own->top)"""


@final
@dataclass(frozen=True, slots=True)
class RowKernel:
    """`name`: of the CUDA function; its operands are the loop's, without the counter. `failures`: what each error means that it
    can end in; `allocates`: it needs an area; `loops`: it may run for any time."""

    name: str
    failures: tuple[str, ...]
    allocates: bool
    loops: bool


@final
@dataclass(frozen=True, slots=True)
class RowKernels:
    """`text`: what the functions share; `functions`: by name; `called`: functions of C."""

    text: str
    functions: dict[str, str]
    called: frozenset[str]
    kernels: dict[Function, RowKernel]


def refusal(loop: RowLoop) -> str | None:
    """Why a GPU does not execute a loop's turns in threads."""
    if type(loop.end) is not float:
        return "rows whose number is known only in a call are"
    body = replace(loop.function, body=loop.turn)
    within = [body, *_called(body)]
    if sharing_in(within, Facts(within)).remembering:
        return "rows with structures that share parts are"
    targets = {function: callees(function.body) for function in within}
    component = components(within, targets)
    for function in within:
        for one in statements(function.body):
            if type(one) is Invoke and component[one.function] == component[function]:
                return "procedures that call themselves other than in a loop are"
            if isinstance(one, Effect | Load | Store):
                return "rows that print, read or count their steps are"
            if type(one) is Each and (not one.is_loop or not _is_small(one)):
                return "rows with operations on large tensors are"
            for row in _rows(one):
                if is_for_hosts(functions_called(row.c)):
                    return f"`{row.name}` is"
    return None


def _rows(one: Statement) -> list[Primitive]:
    """The scalar rows that a statement applies."""
    if type(one) is Compute:
        return [one.row]
    return [step.row for step in one.kernel.steps if type(step) is Step] if type(one) is Each else []


def _is_small(loop: Each) -> bool:
    sizes = [
        0 if number in _bases(loop) else output.size or 0 for number, output in enumerate(loop.kernel.outputs)
    ]
    return all(type(size) is int and size <= MOST_TURNS for size in (loop.kernel.turns, *sizes))


def _bases(loop: Each) -> list[int]:
    return [number for number, output in enumerate(loop.kernel.outputs) if output.base is not None]


def _called(function: Function) -> list[Function]:
    """The functions that a function calls, directly or through others."""
    found = [*dict.fromkeys(callees(function.body))]
    for one in found:  # grows during the loop
        found += [callee for callee in dict.fromkeys(callees(one.body)) if callee not in found]
    return found


def row_kernels(program: Program, loops: Iterable[RowLoop]) -> RowKernels:
    turns: dict[Function, Function] = {}
    functions: list[Function] = []
    writes: dict[Each, dict[int, int]] = {}
    for loop in loops:
        name = f"turn of {loop.function.name}"  # another loop may call the function itself
        own = replace(loop.function, name=name, results="", result_cells=[], body=loop.turn, origin=None)
        turns[loop.function] = own
        functions += [own, *[one for one in _called(own) if one not in functions]]
        writes |= loop.writes
    program = replace(program, functions=functions, entries=list(turns.values()))
    unit = _Unit(program)
    texts = [_ThreadText(unit, members, writes).text() for members in unit.facts.together]
    heads = [_prototype(unit, function) for function in functions]
    static = [f"__device__ {line}" for line in unit.static_lines]
    parts = [THREAD, *[one.text for one in unit.structures.values()], *static, *heads, *texts]
    kernels: dict[Function, RowKernel] = {}
    entries: dict[str, str] = {}
    failures = tuple([fail.what for fail in unit.failures])
    for number, (function, turn) in enumerate(turns.items()):
        name = f"rows_{number}"
        within = {turn, *_called(turn)}
        fails = any(type(block.end) is Fail for one in within for block in blocks(one.body))
        allocates = not unit.allocating.isdisjoint(within)
        loops_within = not unit.facts.loops.isdisjoint(within)
        kernels[function] = RowKernel(name, failures if fails else (), allocates, loops_within)
        entries[name] = _entry(name, turn, next(loop.counter for loop in loops if loop.function is function))
    return RowKernels("\n".join(parts), entries, frozenset(unit.needs.functions), kernels)


def _entry(name: str, turn: Function, counter: int) -> str:
    """The function that is launched: each thread executes the rows of its number, and those at a distance of all threads."""
    kinds = {"d": "double", "b": "long", "p": "void *__restrict__"}
    given = [f"{kinds[slot.kind]} x{at}" for at, slot in enumerate(turn.parameters) if at != counter]
    actual = ", ".join(
        ["(double)own.row" if at == counter else f"x{at}" for at in range(len(turn.parameters))]
    )
    takes = ", ".join(
        [
            *given,
            "long begin",
            "long end",
            "long *__restrict__ status",
            "double *__restrict__ area",
            "long words",
            "long stop",
        ]
    )
    return f"""\
extern "C" __global__ void {name}({takes}) {{
  long const number = blockIdx.x * (long)blockDim.x + threadIdx.x;
  vlad_thread own;
  own.turns = 0;
  own.stop = (long const volatile *)stop;
  own.status = (unsigned long long *)status;
  own.end = (char *)(area + (number + 1) * words);
  for (own.row = begin + number; own.row < end; own.row += gridDim.x * (long)blockDim.x) {{
    own.top = (char *)(area + number * words);
    {c_name(turn)}(&own, {actual});
  }}
}}"""


def _prototype(unit: Definitions, function: Function) -> str:
    kinds = ", ".join(["vlad_thread *", *[unit.slot_type(slot) for slot in function.parameters]])
    return f"__device__ static {unit.result_type(function.results)} {c_name(function)}({kinds});"


class _Unit(Definitions):
    def __init__(self, program: Program) -> None:
        super().__init__(program, alone=True)
        self.allocating: set[Function] = set()  # functions that allocate in the area


class _ThreadText(FunctionText):
    """The text of a function that a thread executes; `writes`: the loops over arrays that store rows of results."""

    unit: _Unit

    def __init__(self, unit: _Unit, members: list[Function], writes: Mapping[Each, dict[int, int]]) -> None:
        super().__init__(unit, members)
        self.unit = unit
        for loop, outputs in writes.items():
            self.taken[loop] = self.taken.get(loop, {}) | outputs
        alone = members[0] if len(members) == 1 else None
        self.carried = {} if alone is None else _carried(alone, self.taken)
        self.own = {slot for function in members for slot in _variables(function, self.taken, self.carried)}

    def text(self) -> str:
        self.gathers = self.drops = self.nests = self.packs = False
        pointed = any(slot.kind == "p" for f in self.members for slot in f.parameters)
        if self.allocates and (self.releases or (self.loops and pointed)):
            self.line("char *const mark = vlad_top;")
        for slot, output in self.carried.items():
            self.line(f"{C_KINDS[output.kind]} {self.name(slot)}_own[{output.size}];")
        for function in self.members:
            ends = [block.end for block in blocks(function.body)]
            returned = {leaf for end in ends if type(end) is Return for leaf in end.leaves}
            is_copied = not returned.isdisjoint(self.carried)
            if is_copied or any(self._is_in_area(one) for one in statements(function.body)):
                self.unit.allocating.add(function)
        return self._one() if len(self.members) == 1 else self._several()

    def _is_in_area(self, one: object) -> bool:
        if type(one) is Box:
            return True
        return type(one) is Each and any(
            slot.kind == "p" and slot not in self.own and number not in self.taken.get(one, {})
            for number, slot in enumerate(one.slots)
        )

    def _signature(self, name: str, parameters: str, function: Function) -> str:
        takes = ", ".join(["vlad_thread *own", *([parameters] if parameters else [])])
        return f"__device__ static {self.unit.result_type(function.results)} {name}({takes})"

    def call(self, name: str, operands: Iterable[str]) -> str:
        return super().call(name, ["own", *operands])

    def step(self) -> None:
        self.line("vlad_thread_turn(own);")

    def return_(self, leaves: list[str]) -> None:
        if len(leaves) < 2:
            super().return_(leaves)
            return
        both = self.temporary("both")  # C++ has no compound literals
        self.line(f"{self.unit.result_type(self.function.results)} {both} = {{{', '.join(leaves)}}};")
        super().return_([both])

    def again(self, end: TailInvoke) -> None:
        """Arrays that a turn hands to the next one are copied to the loop's own."""
        leaves = list(end.operands)
        for at, slot in enumerate(end.function.parameters):
            if slot in self.carried and leaves[at] is not slot:
                self.line(self._copy(f"{self.name(slot)}_own", self.leaf(leaves[at]), self.carried[slot]))
                self.line(f"{self.name(slot)} = {self.name(slot)}_own;")
                leaves[at] = slot
        if self.carried and self.allocates and not self._keeps_more(end.function):
            self.line("vlad_top = mark;")
        super().again(TailInvoke(end.function, tuple(leaves), end.span))

    def _keeps_more(self, function: Function) -> bool:
        return any(slot.kind == "p" and slot not in self.carried for slot in function.parameters)

    def _copy(self, to: str, of: str, output: Output) -> str:
        return f"for (int k = 0; k < {output.size}; k++) {to}[k] = ((const {C_KINDS[output.kind]} *){of})[k];"

    def _kept(self, leaf: Leaf) -> Leaf:
        """A leaf that is returned: a copy of an array that ends with the function."""
        if type(leaf) is not Slot or leaf not in self.carried:
            return leaf
        kept, output = Slot("p", leaf.name), self.carried[leaf]
        name, kind = self.name(kept), C_KINDS[output.kind]
        self.line(f"{kind} *const {name} = ({kind} *)vlad_array({words(output.size or 0, output.kind)}L);")
        self.line(self._copy(name, self.name(leaf), output))
        return kept

    def end(self, block: Block, targets: tuple[Slot, ...]) -> None:
        if type(block.end) is Return and not self.carried.keys().isdisjoint(block.end.leaves):
            block = Block([], Return(tuple(map(self._kept, block.end.leaves))))
        if type(block.end) is Fail:
            self.line(f"vlad_fail({self.unit.failure(block.end)}); /* {comment(block.end.what)} */")
        if type(block.end) in (Fail, Unreachable):  # the C compiler does not know
            self.return_nothing()
        else:
            super().end(block, targets)

    def return_nothing(self) -> None:
        results = self.function.results
        self.return_(["0"] * len(results))

    def box(self, statement: Box) -> None:
        type_, name = self.unit.box_type(statement.member), self.name(statement.slot)
        self.line(f"{type_} *{name} = ({type_} *)vlad_array({statement.member.size // 8}L);")
        self.fill(statement)

    def work(self, statement: Each, operands: list[str], outputs: list[str]) -> list[str]:
        given = operands_of(statement.operands, operands, self.unit.counters)
        own = [name for slot, name in zip(statement.slots, outputs, strict=True) if slot in self.own]
        taken = self.taken.get(statement, {})
        found = order.loops_in_a_thread(statement.kernel, given, outputs, taken)
        printer = _ThreadLoops([one.name for one in given], outputs, self.unit.needs, own)
        for body in (found.declared, *[nest.body for nest in found.nests], found.converted):
            printer.body(body)
        return printer.lines


class _ThreadLoops(CLoopPrinter):
    """`own`: the outputs that are variables of the thread."""

    def __init__(
        self, operands: Sequence[str], outputs: Sequence[str], needs: Needs, own: Sequence[str]
    ) -> None:
        super().__init__(operands, outputs, needs)
        self.own = own

    def allocate(self, statement: Allocate) -> None:
        name, kind = self.style.array(statement.array), self.kinds[statement.array.kind]
        if name in self.own:
            size = statement.words * 8
            self.line(f"double {name}_words[{max(1, size // 8)}];")
            self.line(f"{kind} *const {name} = ({kind} *){name}_words;")
        else:
            self.line(f"{kind} *const {name} = ({kind} *)vlad_array({statement.words}L);")

    def alias(self, statement: Alias) -> None:
        array, of = self.style.array(statement.array), self.style.array(statement.of)
        kind = self.kinds[statement.array.kind]
        self.line(f"{kind} *const {array} = ({kind} *){of};")


MOST_CARRIED = 64  # entries of an array that a loop hands from turn to turn in a variable


def _carried(function: Function, taken: Mapping[Each, Mapping[int, int]]) -> dict[Slot, Output]:
    """The parameters of a loop that are small arrays, which each turn makes anew, as outputs of loops over arrays."""
    nodes = [node for block in blocks(function.body) for node in (*block.statements, block.end)]
    made: dict[Leaf, Output] = {}
    for node in nodes:
        if type(node) is Each and node.is_loop:
            made |= zip(node.slots, node.kernel.outputs, strict=True)
    turns = [node for node in nodes if type(node) is TailInvoke and node.function is function]
    over = {loop.operands[operand] for loop, by in taken.items() for operand in by.values()}
    found: dict[Slot, Output] = {}
    for at, slot in enumerate(function.parameters):
        handed = [turn.operands[at] for turn in turns if turn.operands[at] is not slot]
        outputs = [made.get(leaf) for leaf in handed]
        first = next((output for output in outputs if output is not None), None)
        is_own = slot.kind == "p" and slot not in over and all(map(_is_short, outputs))
        if is_own and first is not None and not any(_keeps(node, slot, function, at) for node in nodes):
            found[slot] = first
    return found


def _is_short(output: Output | None) -> bool:
    return output is not None and type(output.size) is int and output.size <= MOST_CARRIED


def _keeps(node: Statement | End, slot: Slot, function: Function, at: int) -> bool:
    """Does a statement or end keep the array, other than to hand it to the next turn as it is, or to return it?"""
    places = [number for number, leaf in enumerate(leaves_read(node)) if leaf is slot]
    if not places or type(node) is Each or type(node) is Return:
        return False
    if type(node) is TailInvoke and node.function is function:
        return places != [at]
    return type(node) is not Invoke or "p" in node.function.results


def _variables(
    function: Function, taken: Mapping[Each, Mapping[int, int]], carried: Mapping[Slot, Output]
) -> set[Slot]:
    """The new arrays of a function that only loops over arrays read, and procedures that return no pointers; and the loop itself,
    which copies them (`carried`)."""
    elsewhere: set[Leaf] = set()
    made: set[Slot] = set()
    for block in blocks(function.body):
        end = block.end
        if type(end) is TailInvoke and end.function is function:
            handed = zip(function.parameters, end.operands, strict=True)
            elsewhere.update([leaf for slot, leaf in handed if slot not in carried])
        else:
            elsewhere.update(leaves_read(end))
        for one in block.statements:
            if type(one) is Each:
                over = taken.get(one, {})
                elsewhere.update([one.operands[operand] for operand in over.values()])
                made.update(
                    [slot for number, slot in enumerate(one.slots) if slot.kind == "p" and number not in over]
                )
            elif type(one) is not Invoke or "p" in one.function.results:
                elsewhere.update(leaves_read(one))
    return made - elsewhere
