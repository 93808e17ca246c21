"""Loops of the loop language → CUDA text. The printer makes no decisions; compile/loops/ does.

In: a kernel and where its operands are.  Out: `Launches`, in the order in which they run: for each function of the kernel its
text, and its grid. CUDA uses the same rules for rows and the same functions.c as C, and does not fuse products with sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vlad.compile.emit.loop_text import C_KINDS, CStyle, LoopPrinter
from vlad.compile.loops.ir import (
    BLOCK_INDEX,
    THREAD_INDEX,
    Accumulate,
    Array,
    Element,
    GridFunction,
    Leader,
    Origin,
    Parameter,
    Position,
    Scalar,
    Speculate,
    Statement,
    Thread,
    Together,
)
from vlad.compile.loops.order import parallel_loops
from vlad.compile.loops.text import PEOPLE
from vlad.compile.loops.write_groups import Unfit
from vlad.compile.runtime.functions import definitions, is_for_hosts, uses_long_doubles
from vlad.core.expressions import functions_called
from vlad.core.loop_nests import Kernel, Step

OPTIONS = ("-std=c++17", "--fmad=false")  # of the CUDA compiler
HEAD = """\
#define powl(x, y) pow((double)(x), (double)(y))
#define logl(x) log((double)(x))
#define cosl(x) cos((double)(x))
#define sinl(x) sin((double)(x))
"""  # a GPU has no long doubles
OWN = {BLOCK_INDEX: "blockIdx.x", THREAD_INDEX: "threadIdx.x"}  # CUDA's names for variables
ATOMIC = {"int64": "unsigned long long", "int32": "unsigned int"}  # types with an atomic addition in CUDA


@dataclass(frozen=True, slots=True)
class Launch:
    """A function of the CUDA text, and the numbers of its blocks and of the threads of each. `parameters` numbers arrays and
    reals: the kernel's operands, then its outputs, then the temporary arrays. The function is run `passes` times in sequence; if
    that is more than once, the number of the run is its last argument."""

    name: str
    text: str
    blocks: int
    threads: int
    parameters: tuple[int, ...]
    passes: int = 1


@dataclass(frozen=True, slots=True)
class Launches:
    """The launches of a kernel; `fills` and `rooms`: as in loops/lower_parallel.py."""

    launches: tuple[Launch, ...]
    fills: tuple[float | None, ...]
    rooms: tuple[int, ...]


def launches(kernel: Kernel, kinds: str, name: str, functions: set[str]) -> Launches:
    """`kinds`, `name`: as in loops/lower_parallel.py. The functions of C that are called are added to `functions`. Raises
    Unfit."""
    for step in kernel.steps:
        if type(step) is Step and is_for_hosts(functions_called(step.row.c)):
            raise Unfit(f"`{step.row.name}`")
    found = parallel_loops(kernel, kinds, name)
    return Launches(
        tuple([_launch(function, functions) for function in found.functions]), found.fills, found.rooms
    )


def text(functions: Iterable[str], called: Iterable[str]) -> str:
    """The complete CUDA text of functions, with the functions of C that they call."""
    called = list(called)
    needed = definitions(called).replace("static inline ", "__device__ static inline ")
    return "\n".join([*([HEAD] if uses_long_doubles(called) else []), needed, *functions, ""])


def _launch(function: GridFunction, functions: set[str]) -> Launch:
    printer = _Printer("long" if function.is_long else "int")
    printer.body(function.nest.body)
    functions |= printer.style.functions
    parameters = [_parameter(one) for one in function.parameters]
    if function.passes > 1:
        parameters.append("long pass")
    head = f'extern "C" __global__ void {function.name}({", ".join(parameters)}) {{'
    numbers = tuple([one.number for one in function.parameters])
    body = "\n".join([head, *printer.lines, "}"])
    return Launch(function.name, body, function.blocks, function.threads, numbers, function.passes)


def _parameter(parameter: Parameter) -> str:
    array, name = parameter.array, PEOPLE.array(parameter.array)
    if not parameter.is_array:
        return f"double {name}"
    return f"{'const ' if array.is_given else ''}{C_KINDS[array.kind]} *__restrict__ {name}"


class _Style(CStyle):
    def __init__(self, index: str) -> None:
        super().__init__()
        self.kinds = {**C_KINDS, "index": index}

    def name(self, name: str) -> str:
        return OWN.get(name, name)

    def address(self, array: Array) -> str:
        return self.array(array)

    def scalar(self, scalar: Scalar) -> str:
        return f"*{super().scalar(scalar)}" if scalar.is_there else super().scalar(scalar)


class _Printer(LoopPrinter):
    def __init__(self, index: str) -> None:
        super().__init__(_Style(index), index)
        self.depth = 1

    def statement(self, statement: Statement) -> None:
        index = self.kinds["index"]
        match statement:
            case Thread(name=name, count=count):
                self.line(f"{index} {name} = blockIdx.x * ({index})blockDim.x + threadIdx.x;")
                self.line(f"if ({name} >= {count}) return;")
            case Leader():
                self.line("if (threadIdx.x > 0) return;")
            case Together():
                self.together(statement)
            case Speculate():
                self.line(f"int {statement.flag} = {self.text(statement.far)};")
                (_, attempt), *_ = statement.attempts
                self.body(attempt)
                self.within(f"if ({statement.flag}) ", statement.otherwise)
            case Accumulate(is_atomic=True, kind=kind):
                assert type(statement.target) is Element
                type_ = ATOMIC.get(kind, C_KINDS[kind])
                place = self.style.place(statement.target)
                self.line(f"atomicAdd(({type_} *)&{place}, ({type_}){self.text(statement.value)});")
            case _:
                super().statement(statement)

    def together(self, statement: Together) -> None:
        array = Array(Origin.SHARED, statement.name, statement.kind)
        name, shared, half = statement.name, self.style.array(array), statement.threads // 2
        self.line(f"__shared__ {self.kinds[statement.kind]} {shared}[{statement.threads}];")
        self.line(f"{shared}[threadIdx.x] = {name};")
        self.line("__syncthreads();")
        self.line(f"for (int half = {half}; half > 0; half /= 2) {{")
        self.line("if (threadIdx.x < half) {")
        own, other = [
            Element(array, Position(0, indices))
            for indices in (((THREAD_INDEX, 1),), ((THREAD_INDEX, 1), ("half", 1)))
        ]
        self.accumulate(Accumulate(own, other, statement.combine, statement.gathering))
        self.line("}")
        self.line("__syncthreads();")
        self.line("}")
        self.line(f"{name} = {shared}[0];")
