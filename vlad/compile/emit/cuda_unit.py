"""First-order code → code for a GPU: Python that allocates and launches, and the CUDA text of its kernels.

In: an optimized Program, all of whose tensors are on the device cuda.  Out: `Emission`; `loaded` makes a callable of it, from
leaves to leaves: arrays of CuPy with one axis, floats and bools. Python executes branches, loops and calls. A real that a kernel
computes stays on the GPU, and computations with it run there; the host waits for it only where the program branches on it, passes
it to a procedure or returns it. CuPy computes products of large matrices, with cuBLAS. A loop whose turns are independent
(ir/row_loops.py), as that of `vmap`, is one launch, with a thread for each turn (cuda_functions.py).

`Unbounded` is raised for programs that build structures of unknown size, print, or recurse other than in loops: they stay on
tier 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vlad.compile.emit import cuda_loops
from vlad.compile.emit.c_text import within_comment
from vlad.compile.emit.cuda_functions import RowKernel, RowKernels, refusal, row_kernels
from vlad.compile.emit.cuda_loops import Launches
from vlad.compile.emit.host_division import Division
from vlad.compile.emit.row_launches import row_launcher
from vlad.compile.ir.matrix_products import Matrix, Product, as_product
from vlad.compile.ir.program import (
    Block,
    Branch,
    Compute,
    Data,
    Each,
    Fail,
    Function,
    Immediate,
    Invoke,
    Leaf,
    Program,
    Return,
    Slot,
    Statement,
    Static,
    TailInvoke,
    Yield,
    blocks,
    components,
    leaves_read,
    leaves_within,
    slots_bound,
)
from vlad.compile.ir.refusals import Failed, Unbounded
from vlad.compile.ir.rewriting import leaf_kind
from vlad.compile.ir.row_loops import RowLoop, callees, row_loop
from vlad.compile.loops.write_groups import Unfit
from vlad.core.loop_nests import SIZES, Kernel, Output, Read, Step, Write
from vlad.core.types import Type, Types
from vlad.data.tensors import Tensor, entries_there
from vlad.data.values import FALSE, NUMBERS, TRUE, Primitive, Value


@dataclass(frozen=True, slots=True)
class Emission:
    """`host` is Python text that defines `entry` and uses the names that `loaded` provides; `kernels` are functions of `cuda`,
    `rows` scalar rows and `data` tensors that it uses; `loops`: the kernels that execute turns of the program's loops."""

    host: str
    cuda: str
    kernels: tuple[str, ...]
    rows: dict[str, Primitive]
    data: tuple[Tensor, ...]
    loops: tuple[RowKernel, ...] = ()

    @property
    def text(self) -> str:
        """For display."""
        return f"{self.cuda}\n/* Python's part:\n\n{within_comment(self.host)}*/\n"


def emit(program: Program, types: Types, crossing: Iterable[Type]) -> Emission:
    """`crossing`: the types of the operands and the result. Raises Unbounded."""
    for type_ in crossing:
        _check(types, type_)
    loops = [loop for loop in map(row_loop, program.functions) if loop is not None and refusal(loop) is None]
    division = Division(program, {loop.function: loop for loop in loops})
    if _are_recursive(division):
        raise _left_out("procedures that call themselves other than in a loop are")
    own = [loop for loop in loops if loop.function in division.functions]
    threads = row_kernels(program, own) if own else None
    unit = _Unit(division, threads)
    try:
        texts = [_Body(unit, function).text() for function in division.functions]
    except Unfit as unfit:
        raise _left_out(f"{unfit.reason} is") from None
    (entry,) = program.entries
    host = "\n".join([*texts, f"entry = {_called(entry)}", ""])
    shared, functions, called = [], unit.functions, unit.called
    if threads is not None:
        shared, functions, called = [threads.text], functions | threads.functions, called | threads.called
    return Emission(
        host, cuda_loops.text([*shared, *functions.values()], called), tuple(functions), unit.rows, tuple(unit.data),
        () if threads is None else tuple(threads.kernels.values()),
    )  # fmt: skip


def _are_recursive(division: Division) -> bool:
    """Does the host execute a procedure that calls itself, other than a loop?"""
    calls = {function: callees(division.bodies[function]) for function in division.functions}
    component = components(division.functions, calls)
    for function, targets in calls.items():
        ends = [block.end for block in blocks(division.bodies[function])]
        loops = sum([type(end) is TailInvoke and end.function is function for end in ends])
        if sum([component[callee] == component[function] for callee in targets]) > loops:
            return True
    return False


def _check(types: Types, type_: Type) -> None:
    """Raises Unbounded unless a type consists only of numbers and tensors."""
    type_ = types.canonical(type_)
    if type_.kind in ("union", "string"):
        raise _left_out("strings, and structures whose size is known only when the program runs, are")
    for part in type_.parts:
        _check(types, part)


def loaded(emission: Emission, xp: Any) -> Callable[..., tuple[Any, ...]]:
    """`xp` is CuPy, which compiles the text here."""
    names: dict[str, Any] = {
        "Failed": Failed, "nan": float("nan"), "inf": float("inf"), "matmul": xp.matmul,
        "empty": lambda size, kind: xp.empty(size, dtype=getattr(xp, kind)),
        "full": lambda size, number, kind: xp.full(size, number, dtype=getattr(xp, kind)),
        "copy": lambda array: xp.array(array, copy=True),
        "view": lambda array, start, shape, strides: xp.lib.stride_tricks.as_strided(array[start:], shape, strides),
    }  # fmt: skip
    names |= {name: _on_floats(row) for name, row in emission.rows.items()}
    names |= {f"data{number}": entries_there(tensor, xp) for number, tensor in enumerate(emission.data)}
    if emission.kernels:
        module = xp.RawModule(code=emission.cuda, options=cuda_loops.OPTIONS)
        names |= {name: module.get_function(name) for name in emission.kernels}
        names |= {one.name: row_launcher(one, names[one.name], xp) for one in emission.loops}
    exec(compile(emission.host, "<cuda>", "exec"), names)
    entry: Callable[..., tuple[Any, ...]] = names["entry"]
    return entry


def _on_floats(row: Primitive) -> Callable[..., float | bool]:
    """A scalar row on floats and Python's bools; in its fast form, if it has one."""
    takes = row.type.parameters

    def complete(*operands: float | bool) -> float | bool:
        given: list[Value] = [
            operand if kind in NUMBERS else TRUE if operand else FALSE
            for operand, kind in zip(operands, takes, strict=True)
        ]
        found = row.value(*given)
        return found is TRUE if found is TRUE or found is FALSE else found

    if not row.python or not NUMBERS.issuperset(takes):
        return complete
    operands = ", ".join(row.operands)
    names: dict[str, Any] = {"complete": complete, **row.uses}
    text = f"try:\n    return {row.python}\n  except Exception:\n    return complete({operands})"
    exec(f"def fast({operands}):\n  {text}", names)
    fast: Callable[..., float | bool] = names["fast"]
    return fast


def _left_out(what: str) -> Unbounded:
    return Unbounded(f"{what} not compiled for cuda yet")


def _called(function: Function) -> str:
    return f"f{function.serial}"


class _Unit:
    """The parts that the functions of a program share."""

    def __init__(self, division: Division, threads: RowKernels | None) -> None:
        self.division = division
        self.threads = threads
        self.functions: dict[str, str] = {}  # of the CUDA text, by name
        self.called: set[str] = set()  # functions of C
        self.rows: dict[str, Primitive] = {}
        self.data: list[Tensor] = []
        self._launches: dict[tuple[Kernel, str], Launches] = {}
        self._row_names: dict[Primitive, str] = {}

    def launches(self, kernel: Kernel, kinds: str) -> Launches:
        """Equal kernels share their functions."""
        found = self._launches.get((kernel, kinds))
        if found is None:
            name = f"kernel_{len(self._launches)}"
            found = cuda_loops.launches(kernel, kinds, name, self.called)
            self._launches[kernel, kinds] = found
            self.functions |= {launch.name: launch.text for launch in found.launches}
        return found

    def row(self, row: Primitive) -> str:
        if row.needs_machine or row.name == "where":
            raise _left_out(f"`{row.name}` of reals is")
        name = self._row_names.setdefault(row, f"row{len(self._row_names)}")
        self.rows[name] = row
        return name

    def tensor(self, tensor: Tensor) -> str:
        self.data.append(tensor)
        return f"data{len(self.data) - 1}"


class _Body:
    """The text of a function."""

    def __init__(self, unit: _Unit, function: Function) -> None:
        self.unit = unit
        self.function = function
        self.body = unit.division.bodies[function]
        self.lines: list[str] = []
        self.depth = 1
        self.names: dict[Slot, str] = {}
        self.there: set[Slot] = set()  # reals and booleans that are on the GPU, as arrays of one entry
        self.fetched: dict[Slot, str] = {}  # those of them that have been copied to the host
        self.data: dict[Data, str] = {}
        self.readers: dict[Leaf, list[object]] = {}
        for block in blocks(self.body):
            for node in (*block.statements, block.end):
                for leaf in leaves_read(node):
                    self.readers.setdefault(leaf, []).append(node)

    def text(self) -> str:
        function = self.function
        head = f"def {_called(function)}({', '.join(map(self.name, function.parameters))}):"
        ends = [block.end for block in blocks(self.body)]
        loop = self.unit.division.loops.get(function)
        if loop is not None:
            self.launch(loop)
        elif any(type(end) is TailInvoke and end.function is function for end in ends):
            self.line("while True:")
            self.depth += 1
        self.block(self.body, ())
        return "\n".join([head, *self.lines])

    def launch(self, loop: RowLoop) -> None:
        """All turns of a loop at once."""
        assert self.unit.threads is not None
        names = [self.name(slot) for slot in self.function.parameters]
        for at in loop.answers:
            if self.function not in self.unit.division.fresh:
                self.line(f"{names[at]} = copy({names[at]})")
        counter = names[loop.counter]
        given = "".join([f"{names[at]}, " for at in loop.given]).rstrip()
        self.line(f"{self.unit.threads.kernels[self.function].name}({counter}, {loop.end!r}, ({given}))")
        self.line(f"{counter} = {loop.end!r}")

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def name(self, slot: Slot) -> str:
        return self.names.setdefault(slot, f"v{len(self.names)}")

    # Leaves.

    def leaf(self, leaf: Leaf) -> str:
        """The text of a leaf, on the host or the GPU."""
        if type(leaf) is Slot:
            return self.name(leaf)
        if type(leaf) is Data:
            if leaf not in self.data:
                self.data[leaf] = self.unit.tensor(leaf.tensor)
            return self.data[leaf]
        if isinstance(leaf, Immediate | Static):
            raise _left_out("structures whose size is known only when the program runs are")
        return repr(leaf)

    def here(self, leaf: Leaf) -> str:
        """The text of a leaf on the host: a real on the GPU is copied."""
        if type(leaf) is not Slot or leaf not in self.there:
            return self.leaf(leaf)
        if leaf not in self.fetched:
            name = self.fetched[leaf] = f"{self.name(leaf)}_here"
            self.line(f"{name} = {self.name(leaf)}.item(){' != 0' if leaf.kind == 'b' else ''}")
        return self.fetched[leaf]

    def all_here(self, leaves: Sequence[Leaf]) -> str:
        """The elements of a tuple of leaves on the host."""
        return "".join([f"{text}, " for text in [self.here(leaf) for leaf in leaves]]).rstrip()

    # Blocks.

    def block(self, block: Block, targets: tuple[Slot, ...]) -> None:
        before = dict(self.fetched)
        done = list(self.moved(block.statements))
        for statement, idle in zip(done, _idle(done, block), strict=True):
            self.statement(statement)
            if idle:  # later allocations use their memory
                self.line(" = ".join([*sorted([self.name(slot) for slot in idle]), "None"]))
        self.end(block, targets)
        self.fetched = before

    def moved(self, given: list[Statement]) -> Iterator[Statement]:
        """The statements, in which computations with reals on the GPU are kernels, each with as many of them as possible."""
        waiting: list[Compute] = []
        for statement in given:
            if type(statement) is Each:
                self.there |= {slot for slot in statement.slots if slot.kind != "p"}
            elif type(statement) is Compute and not self.there.isdisjoint(statement.operands):
                self.there.add(statement.slot)
                waiting.append(statement)
                continue
            own = {compute.slot for compute in waiting}
            if type(statement) in (Branch, Invoke) or not own.isdisjoint(leaves_read(statement)):
                yield from self.at_once(waiting)
                waiting = []
            yield statement
        yield from self.at_once(waiting)

    def at_once(self, computes: list[Compute]) -> Iterator[Each]:
        """The kernel of one turn that executes them."""
        if not computes:
            return
        own = {compute.slot for compute in computes}
        operands = list(dict.fromkeys([o for compute in computes for o in compute.operands if o not in own]))
        numbers: dict[Leaf, int] = {leaf: number for number, leaf in enumerate(operands)}
        steps = []
        for compute in computes:
            steps.append(Step(compute.row, tuple([numbers[leaf] for leaf in compute.operands])))
            numbers[compute.slot] = len(numbers)
        slots = [
            compute.slot
            for compute in computes
            if any(node not in computes for node in self.readers.get(compute.slot, []))
        ]
        kernel = Kernel(
            (), tuple([Read(number, None) for number in range(len(operands))]), tuple(steps),
            (Output(None),) * len(slots),
            tuple([Write(number, numbers[slot], None) for number, slot in enumerate(slots)]),
        )  # fmt: skip
        if slots:
            yield Each(tuple(slots), kernel, tuple(operands), computes[0].span)

    def end(self, block: Block, targets: tuple[Slot, ...]) -> None:
        end = block.end
        match end:
            case Yield():
                for slot, leaf in zip(targets, end.leaves, strict=True):
                    self.line(f"{self.name(slot)} = {self.here(leaf)}")
                if not targets:
                    self.line("pass")
            case Return():
                self.line(f"return ({self.all_here(end.leaves)})")
            case TailInvoke() if end.function is self.function:
                leaves = self.all_here(end.operands)
                if leaves:
                    self.line(f"{', '.join(map(self.name, self.function.parameters))}, = {leaves}")
                self.line("continue")
            case TailInvoke():
                self.line(f"return {_called(end.function)}({self.all_here(end.operands)})")
            case Fail():
                self.line(f"raise Failed({end.what!r})")
            case _:
                self.line("raise Failed('it never returns')")

    # Statements.

    def statement(self, statement: Statement) -> None:
        match statement:
            case Compute():
                self.compute(statement)
            case Each():
                self.each(statement)
            case Invoke():
                call = f"{_called(statement.function)}({self.all_here(statement.operands)})"
                slots = "".join([f"{self.name(slot)}, " for slot in statement.slots])
                self.line(f"{slots}= {call}" if slots else call)
            case Branch():
                self.line(f"if {self.here(statement.test)}:")
                self.arm(statement.consequent, statement.slots)
                self.line("else:")
                self.arm(statement.alternative, statement.slots)
            case _:
                raise _left_out(
                    "programs that print, read or count their steps are" if hasattr(statement, "what")
                    else "structures whose size is known only when the program runs are"
                )  # fmt: skip

    def compute(self, statement: Compute) -> None:
        types = statement.row.type.parameters
        operands = [
            f"float({text})" if type_ in NUMBERS and leaf_kind(leaf) == "b" else text
            for type_, leaf, text in zip(
                types, statement.operands, map(self.here, statement.operands), strict=True
            )
        ]
        row = self.unit.row(statement.row)
        self.line(f"{self.name(statement.slot)} = {row}({', '.join(operands)})")

    def arm(self, block: Block, targets: tuple[Slot, ...]) -> None:
        self.depth += 1
        self.block(block, targets)
        self.depth -= 1

    def each(self, statement: Each) -> None:
        product = as_product(statement.kernel)
        if product is not None:
            self.product(product, statement)
            return
        kinds = "".join(
            [
                "r" if leaf in self.there else "p" if leaf_kind(leaf) == "p" else "d"
                for leaf in statement.operands
            ]
        )
        found = self.unit.launches(statement.kernel, kinds)
        operands = [
            f"float({self.leaf(leaf)})"
            if leaf_kind(leaf) == "b" and leaf not in self.there
            else self.leaf(leaf)
            for leaf in statement.operands
        ]
        outputs = [self.name(slot) for slot in statement.slots]
        rooms = [f"room{number}" for number in range(len(found.rooms))]
        for name, output, fill in zip(outputs, statement.kernel.outputs, found.fills, strict=True):
            size = 1 if output.size is None else output.size
            kind = "float64" if output.size is None else output.kind
            made = f"empty({size}, {kind!r})" if fill is None else f"full({size}, {fill!r}, {kind!r})"
            self.line(
                f"{name} = copy({operands[output.base]})" if output.base is not None else f"{name} = {made}"
            )
        for name, size in zip(rooms, found.rooms, strict=True):
            self.line(f"{name} = empty({size}, 'float64')")
        actual = [*operands, *outputs, *rooms]
        for launch in found.launches:
            given = "".join([f"{actual[number]}, " for number in launch.parameters])
            call = f"{launch.name}(({launch.blocks},), ({launch.threads},), ("
            if launch.passes > 1:
                self.line(f"for turn in range({launch.passes}): {call}{given}turn))")
            else:
                self.line(f"{call}{given.rstrip()}))")
        if rooms:
            self.line(" = ".join([*rooms, "None"]))

    def product(self, product: Product, statement: Each) -> None:
        (slot,), (output,) = statement.slots, statement.kernel.outputs
        extents = statement.kernel.extents
        batch = sorted(product.batch, key=lambda axis: -product.result.access.strides[axis])
        self.line(f"{self.name(slot)} = empty({output.size}, {output.kind!r})")

        def view(name: str, one: Matrix, rows: int, columns: int) -> str:
            shape = (*[extents[axis] for axis in batch], rows, columns)
            own = (1, one.distance) if one.transposed else (one.distance, 1)
            strides = [
                SIZES[output.kind] * stride
                for stride in (*[one.access.strides[axis] for axis in batch], *own)
            ]
            return f"view({name}, {one.access.offset}, {shape}, {tuple(strides)})"

        left = view(
            self.leaf(statement.operands[product.left.operand]), product.left, product.rows, product.terms
        )
        right = view(
            self.leaf(statement.operands[product.right.operand]),
            product.right,
            product.terms,
            product.columns,
        )
        result = view(self.name(slot), product.result, product.rows, product.columns)
        self.line(f"matmul({left}, {right}, out={result})")


def _idle(done: list[Statement], block: Block) -> list[list[Slot]]:
    """For each statement of a block, the arrays made in the block that are not read after it."""
    made = {slot for statement in done for slot in slots_bound(statement) if slot.kind == "p"}
    read: set[Leaf] = set(leaves_read(block.end))
    found: list[list[Slot]] = []
    for statement in reversed(done):
        own = leaves_within(statement)
        found.append([leaf for leaf in own - read if type(leaf) is Slot and leaf in made])
        read |= own
    return found[::-1]
