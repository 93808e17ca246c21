"""Kernels → CUDA text: for each a function that a GPU runs in many threads at once, or two.

In: a kernel and where its operands are.  Out: `Launch`es, to be done in their order. A turn of the loops is a thread's; what is
combined over some axes is gathered by one thread or by the threads of a block, as a tree, and where that would leave most of
the GPU idle in parts, which a second launch combines. Which turns meet where does not depend on time, so every run
answers the same, to the last bit; but `atomicAdd`, for sums at places that are computed, takes them as they come.

C's rules for rows are CUDA's as well (functions.c, too), and no product is fused with a sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vlad.compile.emit.c_text import constant_text
from vlad.compile.emit.functions import definitions, is_for_hosts
from vlad.compile.emit.loop_text import (
    C_KINDS,
    combined_text,
    entry_text,
    gathering_type,
    loop_order,
    number_text,
    position_text,
    step_text,
    stored_text,
)
from vlad.core.loop_nests import Access, Box, Choice, Kernel, Step, Write, is_apart, start

THREADS = 256  # of a block
FEWEST_THREADS = 32  # that run in step, whether there is something for all of them or not
WANTED = 1 << 17  # threads at once, to keep a large GPU busy
FEWEST_TERMS = {"thread": 64, "block": 8}  # that a thread gathers, before there are more threads
LARGEST_INT = (1 << 31) - 1
MOST_PARAMETERS = 500  # of a function: there is room for 4 KiB
OPTIONS = ("-std=c++17", "--fmad=false")  # for the compiler of CUDA
HEAD = """\
#define powl(x, y) pow((double)(x), (double)(y))
#define logl(x) log((double)(x))
#define cosl(x) cos((double)(x))
#define sinl(x) sin((double)(x))
"""  # to a GPU long doubles are doubles


class Unfit(Exception):
    """A kernel that cannot be run in parallel; `reason` is for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Launch:
    """A function of the CUDA text, run in so many blocks of threads. Its parameters are the arrays and reals with these numbers:
    the kernel's operands, then its outputs, then the rooms for parts. With `passes` it is run as often, one run after the
    other, and told the number of the run last."""

    name: str
    text: str
    blocks: int
    threads: int
    parameters: tuple[int, ...]
    passes: int = 1


@dataclass(frozen=True, slots=True)
class Launches:
    """What a kernel becomes. `fills`: what each output holds before, None where that does not matter (or it begins as its
    base); `rooms`: how many words of 8 bytes each room for parts has."""

    launches: tuple[Launch, ...]
    fills: tuple[float | None, ...]
    rooms: tuple[int, ...]


def launches(kernel: Kernel, kinds: str, name: str, expressions: list[str]) -> Launches:
    """`kinds`, for each operand: p an array, d a real that is handed over, r one that lies on the GPU. The functions' names
    begin with `name`. Raises Unfit."""
    emitter = _Emitter(kernel, kinds, name, expressions)
    for group in _groups(kernel):
        emitter.group(group)
    fills = tuple([_fill(kernel, number) for number in range(len(kernel.outputs))])
    return Launches(tuple(emitter.found), fills, tuple(emitter.rooms))


def text(functions: Iterable[str], expressions: Iterable[str]) -> str:
    """The whole CUDA text of some functions."""
    needed = definitions(expressions).replace("static inline ", "__device__ static inline ")
    return "\n".join([*([HEAD] if "long double" in needed else []), needed, *functions, ""])


@dataclass(frozen=True, slots=True)
class _Group:
    """Writes that are done in the same way: `kept` are the axes whose turns are done at once, `gathered` those over which is
    combined, `passed` those one turn of which has to wait for the one before, for both write to the same places."""

    writes: tuple[Write, ...]
    kept: tuple[int, ...]
    gathered: tuple[int, ...]
    passed: tuple[int, ...]

    def gathering(self) -> list[tuple[str, Write]]:
        """The writes, with the variables in which they are gathered."""
        return [(f"g{number}", write) for number, write in enumerate(self.writes)]


def _groups(kernel: Kernel) -> list[_Group]:
    """Writes to one output are done one after the other, for they may meet."""
    if not kernel.turns:
        return []
    found: dict[object, list[Write]] = {}
    ways = [_ways(kernel, write) for write in kernel.writes]
    for number, write in enumerate(kernel.writes):
        before = sum([other.output == write.output for other in kernel.writes[:number]])
        found.setdefault((ways[number], before if kernel.turns > 1 else 0), []).append(write)
    return [_Group(tuple(writes), *_ways(kernel, writes[0])) for writes in found.values()]


def _ways(kernel: Kernel, write: Write) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The axes along which a write's turns are done at once, gathered, and one after the other."""
    axes = loop_order(kernel)
    if write.access is not None and write.access.at:
        if write.combine not in ("", "+"):
            raise Unfit(f"a {write.combine} at places that are computed")
        return tuple(axes), (), ()
    strides = [0] * len(kernel.extents) if write.access is None else write.access.strides
    gathered = [axis for axis in axes if strides[axis] == 0]
    kept: list[int] = []
    for axis in sorted(set(axes) - set(gathered), key=lambda axis: -kernel.extents[axis]):
        if is_apart([*kept, axis], strides, kernel.extents):
            kept.append(axis)
    passed = [axis for axis in axes if axis not in kept and axis not in gathered]
    if not write.combine and (gathered or passed):
        raise Unfit("a place that is written several times")
    return tuple([axis for axis in axes if axis in kept]), tuple(gathered), tuple(passed)


def _is_part(kernel: Kernel, write: Write) -> bool:
    """Is what a turn's threads gather combined with what is there?"""
    if not write.combine:
        return False
    alone = sum([other.output == write.output for other in kernel.writes]) == 1
    at_once = kernel.turns and not (write.access is not None and write.access.at)
    return not (
        alone and at_once and kernel.outputs[write.output].base is None and not _ways(kernel, write)[2]
    )


def _fill(kernel: Kernel, number: int) -> float | None:
    combined = [write for write in kernel.writes if write.output == number and write.combine]
    if any(_is_part(kernel, write) for write in combined):
        return start(combined[0].combine, kernel.outputs[number].kind)
    return kernel.outputs[number].fill


class _Emitter:
    def __init__(self, kernel: Kernel, kinds: str, name: str, expressions: list[str]) -> None:
        self.kernel = kernel
        self.kinds = kinds
        self.name = name
        self.expressions = expressions
        self.found: list[Launch] = []
        self.rooms: list[int] = []
        self.gathering: list[str] = []  # of what type the numbers in each room are
        self.index = "int" if self._reach() < LARGEST_INT - THREADS else "long"
        self.lines: list[str] = []

    def _reach(self) -> int:
        """Beyond the largest number that is computed with."""
        kernel = self.kernel
        accesses = [read.access for read in kernel.reads] + [write.access for write in kernel.writes]
        ends = [
            abs(access.offset)
            + sum([abs(s) * e for s, e in zip(access.strides, kernel.extents, strict=True)])
            for access in accesses
            if access is not None
        ]
        return max([kernel.turns + WANTED, *ends])

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def group(self, group: _Group) -> None:
        if not group.gathered:
            self._turn_by_turn(group)
            return
        extents = self.kernel.extents
        places = math.prod([extents[axis] for axis in group.kept])
        terms = math.prod([extents[axis] for axis in group.gathered])
        by_block = loop_order(self.kernel)[-1] in group.gathered and terms >= FEWEST_THREADS
        threads = _power_of_two(terms) if by_block else 1  # for each place
        fewest = FEWEST_TERMS["block" if by_block else "thread"]
        parts = max(1, min(_quotient(WANTED, places * threads), terms // (fewest * threads)))
        if parts == 1:
            self._gather(group, threads, places, terms, 1, [])
            return
        rooms = [
            len(self.kinds) + len(self.kernel.outputs) + len(self.rooms) + n for n in range(len(group.writes))
        ]
        self.rooms += [places * parts] * len(group.writes)
        self.gathering += [self._gathers(write) for write in group.writes]
        self._gather(group, threads, places, terms, parts, rooms)
        self._gather_parts(group, places, parts, rooms)

    # The functions.

    def _turn_by_turn(self, group: _Group) -> None:
        turns = math.prod([self.kernel.extents[axis] for axis in group.kept])
        self._own_number("i", turns)
        self._indices(1, group.kept, "i")
        self._passed_indices(group)
        self._values(1)
        for write in group.writes:
            self._store(1, write, combined_text(self.kernel, write))
        self._finish(group, [], _quotient(turns, THREADS), THREADS)

    def _gather(
        self, group: _Group, threads: int, places: int, terms: int, parts: int, rooms: Sequence[int]
    ) -> None:
        """For each place, or each part of one, a thread or a block that takes one term after the other."""
        own = places * parts
        if threads == 1:
            self._own_number("own", own)
        number = "own" if threads == 1 else "blockIdx.x"
        if parts == 1:
            self.line(1, f"{self.index} place = {number};")
        elif threads == 1:  # neighbours in a row are at places side by side
            self.line(1, f"{self.index} place = own % {places}, part = own / {places};")
        else:
            self.line(1, f"{self.index} place = blockIdx.x / {parts}, part = blockIdx.x % {parts};")
        self._indices(1, group.kept, "place")
        self._passed_indices(group)
        for name, write in group.gathering():
            self._begin(name, write)
        length = _quotient(terms, parts)
        first = ["threadIdx.x"] if threads > 1 else []
        if parts > 1:
            first.append(f"part * {length}")
            self.line(1, f"{self.index} end = part * {length} + {length};")
            self.line(1, f"if (end > {terms}) end = {terms};")
        begin, end = " + ".join(first) or "0", "end" if parts > 1 else str(terms)
        self.line(1, f"for ({self.index} term = {begin}; term < {end}; term += {threads}) {{")
        self._indices(2, group.gathered, "term")
        self._values(2)
        for name, write in group.gathering():
            self.line(
                2, stored_text(name, combined_text(self.kernel, write), write.combine, self._kind(write))
            )
        self.line(1, "}")
        self._together(group, threads)
        self._store_gathered(group, "place" if parts == 1 else f"place * {parts} + part", rooms)
        self._finish(
            group, rooms, own if threads > 1 else _quotient(own, THREADS), threads if threads > 1 else THREADS
        )

    def _gather_parts(self, group: _Group, places: int, parts: int, rooms: Sequence[int]) -> None:
        """For each place a block that combines its parts."""
        threads = _power_of_two(parts)
        self.line(1, f"{self.index} place = blockIdx.x;")
        self._indices(1, group.kept, "place")
        self._passed_indices(group)
        for (name, write), room in zip(group.gathering(), rooms, strict=True):
            self._begin(name, write)
            self.line(1, f"for ({self.index} part = threadIdx.x; part < {parts}; part += {threads}) {{")
            self.line(2, f"{self._gathers(write)} x = {self._variable(room)}[place * {parts} + part];")
            self.line(2, stored_text(name, "x", write.combine, self._kind(write)))
            self.line(1, "}")
        self._together(group, threads)
        self._store_gathered(group, "", [])
        self._finish(group, rooms, places, threads)

    def _together(self, group: _Group, threads: int) -> None:
        """What the threads of a block have gathered, combined in pairs; all of them know it then."""
        if threads == 1:
            return
        self.line(1, "int own = threadIdx.x;")
        for name, write in group.gathering():
            shared, type_ = f"shared_{name}", self._gathers(write)
            both = stored_text(f"{shared}[own]", f"{shared}[own + half]", write.combine, self._kind(write))
            self.line(1, f"__shared__ {type_} {shared}[{threads}];")
            self.line(1, f"{shared}[own] = {name};")
            self.line(1, "__syncthreads();")
            self.line(1, f"for (int half = {threads // 2}; half > 0; half /= 2) {{")
            self.line(2, f"if (own < half) {{ {both} }}")
            self.line(2, "__syncthreads();")
            self.line(1, "}")
            self.line(1, f"{name} = {shared}[0];")
        self.line(1, "if (own > 0) return;")

    def _kind(self, write: Write) -> str:
        return self.kernel.outputs[write.output].kind

    def _gathers(self, write: Write) -> str:
        return gathering_type(self._kind(write), write.combine)

    def _begin(self, name: str, write: Write) -> None:
        """The variable in which a write is gathered."""
        kind = self._kind(write)
        self.line(
            1,
            f"{self._gathers(write)} {name} = {number_text(start(write.combine, kind), kind, constant_text)};",
        )

    def _store_gathered(self, group: _Group, part: str, rooms: Sequence[int]) -> None:
        for number, (name, write) in enumerate(group.gathering()):
            if rooms:
                self.line(1, f"{self._variable(rooms[number])}[{part}] = {name};")
            else:
                self._store(1, write, name)

    def _finish(self, group: _Group, rooms: Sequence[int], blocks: int, threads: int) -> None:
        """The function of the lines so far."""
        body, self.lines = self.lines, []
        text = "\n".join(body)
        numbers = [
            number
            for number in range(len(self.kinds) + len(self.kernel.outputs) + len(self.rooms))
            if _mentions(text, self._variable(number))
        ]
        passes = math.prod([self.kernel.extents[axis] for axis in group.passed])
        if len(numbers) > MOST_PARAMETERS:
            raise Unfit("an operation of so many operands")
        parameters = [self._parameter(number) for number in numbers]
        if group.passed:
            parameters.append("long pass")
        name = f"{self.name}_{len(self.found)}"
        head = f'extern "C" __global__ void {name}({", ".join(parameters)}) {{'
        self.found.append(Launch(name, f"{head}\n{text}\n}}", blocks, threads, tuple(numbers), passes))

    # Parameters.

    def _variable(self, number: int) -> str:
        outputs = len(self.kinds), len(self.kinds) + len(self.kernel.outputs)
        if number < outputs[0]:
            return f"a{number}"
        return f"o{number - outputs[0]}" if number < outputs[1] else f"p{number - outputs[1]}"

    def _parameter(self, number: int) -> str:
        outputs, name = number - len(self.kinds), self._variable(number)
        if outputs >= len(self.kernel.outputs):
            return f"{self.gathering[outputs - len(self.kernel.outputs)]} *__restrict__ {name}"
        if outputs >= 0:
            output = self.kernel.outputs[outputs]
            return f"{'double' if output.size is None else C_KINDS[output.kind]} *__restrict__ {name}"
        if self.kinds[number] == "d":
            return f"double {name}"
        kind = next((read.kind for read in self.kernel.reads if read.operand == number), "float64")
        return f"const {C_KINDS[kind]} *__restrict__ {name}"

    # Statements.

    def _own_number(self, name: str, count: int) -> None:
        self.line(1, f"{self.index} {name} = blockIdx.x * ({self.index})blockDim.x + threadIdx.x;")
        self.line(1, f"if ({name} >= {count}) return;")

    def _indices(self, depth: int, axes: Sequence[int], number: str) -> None:
        """The indices of a turn, the last axis first."""
        inner = 1
        for axis in reversed(axes):
            extent = self.kernel.extents[axis]
            quotient = number if inner == 1 else f"{number} / {inner}"
            text = quotient if axis == axes[0] else f"{quotient} % {extent}"
            self.line(depth, f"{self.index} i{axis} = {text};")
            inner *= extent

    def _passed_indices(self, group: _Group) -> None:
        self._indices(1, group.passed, f"({self.index})pass")

    def _values(self, depth: int) -> None:
        """All values. What is chosen nowhere is not read, for it might not be there; other values may come of that, which nobody
        takes either."""
        kernel = self.kernel
        taken = self._taken(depth)
        for number, read in enumerate(kernel.reads):
            if read.operand is None:
                assert read.access is not None
                text = f"({C_KINDS[read.kind]})({position_text(read.access, kernel.extents)})"
            elif read.access is not None:
                text = entry_text(f"a{read.operand}", read.access, kernel.extents)
                text = f"{taken[number]} ? {text} : 0" if taken[number] else text
            else:
                text = f"a{read.operand}" if self.kinds[read.operand] == "d" else f"*a{read.operand}"
            self.line(depth, f"{C_KINDS[read.kind]} x{number} = {text};")
        for number, step in enumerate(kernel.steps, start=len(kernel.reads)):
            if type(step) is Choice:
                first, second = step.values
                kind = C_KINDS[kernel.kind_of(number)]
                self.line(depth, f"{kind} x{number} = c{number} ? x{first} : x{second};")
                continue
            assert type(step) is Step
            if is_for_hosts(step.row.c):
                raise Unfit(f"`{step.row.name}`")
            text = step_text(kernel, step)
            self.expressions.append(text)
            self.line(depth, f"{C_KINDS[step.kind]} x{number} = {text};")

    def _taken(self, depth: int) -> list[str]:
        """For each value the variable that says whether a turn takes it; "" where every turn does. Those of the choices, too."""
        kernel, first = self.kernel, len(self.kernel.reads)
        takers: list[list[str]] = [[] for _ in range(first + len(kernel.steps))]  # "": one in every turn
        for write in kernel.writes:
            takers[write.value].append("")
            for value, _ in write.access.at if write.access is not None else ():
                takers[value].append("")
        found = [""] * len(takers)
        for number in reversed(range(len(takers))):
            if takers[number] and "" not in takers[number]:
                found[number] = f"t{number}"
                self.line(depth, f"int t{number} = {' || '.join(dict.fromkeys(takers[number]))};")
            step = kernel.steps[number - first] if number >= first else None
            if type(step) is Choice:
                self.line(depth, f"int c{number} = {_inside(step.box, kernel.extents)};")
                both = f"{found[number]} && " if found[number] else ""
                takers[step.values[0]].append(f"({both}c{number})")
                takers[step.values[1]].append(f"({both}!c{number})")
            elif step is not None:
                for value in step.values:
                    takers[value].append(found[number])
            else:
                access = kernel.reads[number].access
                for value, _ in access.at if access is not None else ():
                    takers[value].append(found[number])
        return found

    def _store(self, depth: int, write: Write, value: str) -> None:
        access = Access(0, (0,) * len(self.kernel.extents)) if write.access is None else write.access
        place = entry_text(f"o{write.output}", access, self.kernel.extents)
        kind, is_real = self._kind(write), write.access is None
        if access.at and write.combine:
            unsigned = {"int64": "unsigned long long", "int32": "unsigned int"}.get(kind, C_KINDS[kind])
            self.line(depth, f"atomicAdd(({unsigned} *)&{place}, ({unsigned}){value});")
        else:
            combine = write.combine if _is_part(self.kernel, write) else ""
            if is_real and write.combine:  # it has been combined as what it is
                value = f"({C_KINDS[kind]}){value}"
            self.line(depth, stored_text(place, value, combine, "float64" if is_real else kind))


def _inside(box: Box, extents: Sequence[int]) -> str:
    """Is a turn in a box?"""
    tests = []
    for axis, ((begin, end), extent) in enumerate(zip(box, extents, strict=True)):
        index = f"i{axis}" if extent != 1 else "0"  # of such an axis there are no indices
        tests += [f"{index} >= {begin}"] if begin > 0 else []
        tests += [f"{index} < {end}"] if end < extent else []
    return " && ".join(tests) or "1"


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _quotient(a: int, b: int) -> int:
    """Rounded up."""
    return -(-a // b)


def _power_of_two(count: int) -> int:
    """Threads for so many terms."""
    return min(THREADS, max(FEWEST_THREADS, 1 << (count - 1).bit_length()))
