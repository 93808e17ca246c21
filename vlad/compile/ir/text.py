"""First-order code → text, for `vlad show --stage first-order` and the tests of passes.

In: a Program.  Out: a form for each union, each array's cell, each global and each function; the first function is the entry
unless a form states another. Names are unique. A slot's kind is written where the slot is bound; for a parameter or result that
is a pointer, its target. parse.py reads the text back, except for places in the source, the origins of functions, and extents
that only a call determines, `(extent n0)`.

    (union u0 (real d) (pair d u0))   the members of a union, with the kinds of their leaves
    (array a0 12)                     the entries of a tensor: 12 words
    (function f_0 (x:d l:u0) (d u0)   from a real and a pointer to a real and a pointer
      (t:d (* x x))                   t is x times x
      (p:p (box u0 pair t l))         p is a new box
      (return t p))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Data,
    Each,
    Effect,
    End,
    Fail,
    Failure,
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
    statements,
)
from vlad.core.extents import Extent
from vlad.core.loop_nests import Access, Choice, Kernel, Output, Read, Routine, Step, Write
from vlad.core.types import Cell
from vlad.data.tensors import kind_name
from vlad.data.values import Global
from vlad.data.write import atom_text, entry_text, string_text, symbol_text

INDENT = "  "


MOST_ENTRIES = 16  # of a tensor that is part of the program and is written out


def program_text(program: Program) -> str:
    names = _Names(program)
    forms = [*names.declarations(program), *[_Printer(names).function(f) for f in program.functions]]
    if program.entries != program.functions[:1]:
        forms.append(f"(entries {' '.join(map(function_name, program.entries))})")
    return "\n".join(forms)


def function_name(function: Function) -> str:
    return symbol_text(f"{function.name or 'λ'}_{function.serial}")


class _Names:
    """The names of a program's cells, members and globals."""

    def __init__(self, program: Program) -> None:
        self.cells: dict[Cell, str] = {}
        self.members: dict[Member, str] = {}
        self.globals: dict[Global, str] = {}
        used: dict[str, int] = {}
        for cell, members in program.members.items():
            letter = "a" if members and members[0].entries else "u"
            used[letter] = used.get(letter, -1) + 1
            self.cells[cell] = f"{letter}{used[letter]}"
            names = [member.name for member in members]
            for member in members:
                is_unique = names.count(member.name) == 1
                self.members[member] = symbol_text(
                    member.name if is_unique else f"{member.name}.{member.index}"
                )
        self.tags = self._tags(program, used.get("u", -1) + 1)
        taken: set[str] = set()
        for variable in program.variables:
            self.globals[variable] = symbol_text(_unused(variable.name, taken))

    def _tags(self, program: Program, first: int) -> dict[Cell, str]:
        """Names for unions reduced to the number of the member: the members of a `case` on such a number are not those of the
        union (passes/scalar_replacement.py). They are numbered as the unions are, after them, as they are when read back."""
        found: dict[Cell, str] = {}
        for function in program.functions:
            for statement in statements(function.body):
                if type(statement) is Switch and self._is_of_tags(statement):
                    cell = statement.cases[0][0].cell
                    found.setdefault(cell, f"u{first + len(found)}")
        return found

    def _is_of_tags(self, switch: Switch) -> bool:
        return any(member not in self.members for member, _ in switch.cases)

    def of_cases(self, switch: Switch) -> tuple[str, list[str]]:
        """The name of the union on which a switch dispatches, and the names of the members of its cases."""
        cell = switch.cases[0][0].cell
        named = {member.index: name for member, name in self.members.items() if member.cell is cell}
        of = self.tags[cell] if self._is_of_tags(switch) else self.cells[cell]
        return of, [named[member.index] for member, _ in switch.cases]

    def declarations(self, program: Program) -> Iterator[str]:
        for cell, members in program.members.items():
            if members and members[0].entries:
                yield f"(array {self.cells[cell]} {members[0].entries})"
            else:
                yield f"({' '.join(['union', self.cells[cell], *map(self._declared, members)])})"
        for cell, name in self.tags.items():
            yield f"({' '.join(['union', name, *[f'({self.members[m]})' for m in program.members[cell]]])})"
        for variable, kinds in program.variables.items():
            yield f"(global {self.globals[variable]} {kinds or '()'})"

    def _declared(self, member: Member) -> str:
        return f"({' '.join([self.members[member], *self.kinds(member.kinds, member.cells)])})"

    def kinds(self, kinds: str, cells: Iterable[Cell | None]) -> list[str]:
        """A word for each leaf: for a pointer, the cell that it points to."""
        pointees = iter([cell for cell in cells if cell is not None])
        found = [next(pointees, None) if kind == "p" else None for kind in kinds]
        return [
            kind if cell is None else self.cells.get(cell, "p")
            for kind, cell in zip(kinds, found, strict=True)
        ]


def _unused(name: str, taken: set[str]) -> str:
    """The name, numbered if it is taken already."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found


class _Printer:
    """Prints one function."""

    def __init__(self, all_names: _Names) -> None:
        self.all = all_names
        self.names: dict[Slot, str] = {}
        self.used: set[str] = set()
        self.lines: list[str] = []

    def function(self, function: Function) -> str:
        kinds = "".join([slot.kind for slot in function.parameters])
        pointees = self.all.kinds(kinds, function.parameter_cells)
        parameters = [
            self.bound(slot, pointee) for slot, pointee in zip(function.parameters, pointees, strict=True)
        ]
        results = self.all.kinds(function.results, function.result_cells)
        self.lines.append(f"(function {function_name(function)} {_list(parameters)} {_list(results)}")
        self.block(function.body, 1)
        return "\n".join(self.lines) + ")"

    def block(self, block: Block, depth: int) -> None:
        """A line for each statement and for the end of the block. Arms are indented."""
        for statement in block.statements:
            self.statement(statement, depth)
        self.lines.append(INDENT * depth + self.end(block.end))

    def statement(self, statement: Statement, depth: int) -> None:
        if type(statement) is Branch:
            head, arms = (
                f"if {self.leaf(statement.test)}",
                [("then", statement.consequent), ("else", statement.alternative)],
            )
        elif type(statement) is Switch:
            union, members = self.all.of_cases(statement)
            cases = [block for _, block in statement.cases]
            head, arms = (
                f"case {union} {self.leaf(statement.pointer)}",
                list(zip(members, cases, strict=True)),
            )
        else:
            self.lines.append(INDENT * depth + self.plain(statement))
            return
        at = len(self.lines)
        for name, block in arms:
            self.lines.append(f"{INDENT * (depth + 1)}({name}")
            self.block(block, depth + 2)
            self.lines[-1] += ")"
        self.lines[-1] += "))"
        # after the arms, as their results are bound here
        self.lines.insert(at, f"{INDENT * depth}({self.slots(statement.slots)} ({head}")

    def plain(self, statement: Statement) -> str:
        match statement:
            case Compute():
                return f"({self.bound_after(statement.slot, [statement.row.name, *self.leaves(statement.operands)])})"
            case Each():
                work = (
                    _kernel(statement.work) if type(statement.work) is Kernel else _routine(statement.routine)
                )
                return self.binding(statement.slots, [work, *self.leaves(statement.operands)])
            case Invoke():
                callee = function_name(statement.function)
                return self.binding(statement.slots, ["call", callee, *self.leaves(statement.operands)])
            case Effect():
                text = [string_text(statement.text)] if statement.text else []
                if statement.shape is not None:
                    text.append(f"(shape {_list(statement.shape)})")
                return self.binding(
                    statement.slots, ["effect", statement.what, *text, *self.leaves(statement.operands)]
                )
            case Load():
                return self.binding(statement.slots, ["load", self.all.globals[statement.cell]])
            case Store():
                stored = ["store", self.all.globals[statement.cell], *self.leaves(statement.leaves)]
                return f"({' '.join(stored)})"
            case Box():
                made = ["box", self.member(statement.member), *self.leaves(statement.leaves)]
                return f"({self.bound_after(statement.slot, made)})"
            case Unbox():
                return self.binding(
                    statement.slots, ["unbox", self.member(statement.member), self.leaf(statement.pointer)]
                )
        raise AssertionError(statement)

    def end(self, end: End) -> str:
        match end:
            case Yield() | Return():
                word = "yield" if type(end) is Yield else "return"
                return f"({' '.join([word, *self.leaves(end.leaves)])})"
            case TailInvoke():
                return f"({' '.join(['tail-call', function_name(end.function), *self.leaves(end.operands)])})"
            case Fail():
                about = "" if end.about is Failure.OTHER else f" {end.about.name.lower()}"
                name = "" if end.name is None else f" {symbol_text(end.name)}"
                return f"(fail {string_text(end.what)}{about}{name})"
            case Unreachable():
                return "(unreachable)"

    def binding(self, slots: tuple[Slot, ...], words: Iterable[str]) -> str:
        text = " ".join(words)  # before slots are named: operands are bound earlier
        return f"({self.slots(slots)} ({text}))"

    def bound_after(self, slot: Slot, words: Iterable[str]) -> str:
        text = " ".join(words)
        return f"{self.bound(slot)} ({text})"

    def slots(self, slots: tuple[Slot, ...]) -> str:
        names = [self.bound(slot) for slot in slots]
        return names[0] if len(names) == 1 else f"({' '.join(names)})"

    def bound(self, slot: Slot, pointee: str = "") -> str:
        """The name of a slot where it is bound, with its kind, or its target if that is known."""
        name = _unused(slot.name, self.used)
        self.names[slot] = symbol_text(name)
        return symbol_text(f"{name}:{pointee or slot.kind}")

    def member(self, member: Member) -> str:
        return f"{self.all.cells[member.cell]} {self.all.members[member]}"

    def leaves(self, leaves: Iterable[Leaf]) -> list[str]:
        return [self.leaf(leaf) for leaf in leaves]

    def leaf(self, leaf: Leaf) -> str:
        match leaf:
            case Slot():
                return self.names[leaf]
            case bool():
                return "#t" if leaf else "#f"
            case float():
                return atom_text(leaf, True)
            case Immediate():
                return f"(immediate {leaf.member})"
            case Static():
                return f"({' '.join(['static', self.member(leaf.member), *self.leaves(leaf.leaves)])})"
            case Data():
                array = leaf.tensor.array
                numbers = map(entry_text, array.reshape(-1)) if array.size <= MOST_ENTRIES else ["…"]
                return f"(data {kind_name(array.dtype)} {_list(array.shape)} {' '.join(numbers)})"
            case Extent():
                return f"(extent {leaf})"
        raise AssertionError(leaf)


def _kernel(kernel: Kernel) -> str:
    parts = [
        _list(kernel.extents),
        *[_read(read) for read in kernel.reads],
        *[_step(step) for step in kernel.steps],
        *[_write(kernel, write) for write in kernel.writes],
    ]
    return f"loops {' '.join(parts)}"


def _read(read: Read) -> str:
    source = "position" if read.operand is None else f"operand {read.operand}"
    return f"({source}{_access(read.access)}{_of_kind(read.kind)})"


def _step(step: Step | Choice) -> str:
    if type(step) is Choice:
        return f"(in {_list(map(_list, step.box))} {' '.join(map(_value, step.values))})"
    return f"({' '.join([step.row.name, *map(_value, step.values)])}{_of_kind(step.kind)})"


def _of_kind(kind: str) -> str:
    return "" if kind == "float64" else f" {kind}"


def _write(kernel: Kernel, write: Write) -> str:
    combine = f"{write.combine}= " if write.combine else ""
    output = _output(kernel.outputs[write.output])
    return f"(output {write.output} {output}{_access(write.access)} {combine}{_value(write.value)})"


def _output(output: Output) -> str:
    words = [output.kind, "real" if output.size is None else str(output.size)]
    words += [] if output.fill is None else [f"fill {atom_text(output.fill, True)}"]
    words += [] if output.base is None else [f"base {output.base}"]
    return _list(words)


def _access(access: Access | None) -> str:
    if access is None:
        return ""
    more = [_list([f"%{value}", stride]) for value, stride in access.at]
    return f" {_list([access.offset, *access.strides, *more])}"


def _value(value: int) -> str:
    return f"%{value}"


def _routine(routine: Routine) -> str:
    """The numbers of rows and columns follow the extents; fields that differ from their defaults come last."""
    words = ["routine", routine.name, _list(routine.extents), str(routine.rows), str(routine.columns)]
    words += [f"(output {_output(output)})" for output in routine.outputs]
    words += [f"(factors {_list(routine.factors)})"] * bool(routine.factors)
    words += ["(transposed)"] * routine.transposed
    words += [f"(kind {routine.kind})"] * (routine.kind != "float64")
    return " ".join(words)


def _list(items: Iterable[object]) -> str:
    return f"({' '.join(map(str, items))})"
