"""First-order code → text, for `vlad show --stage first-order` and the tests of passes.

In: a Program.  Out: a form for each function. Slots that share a name are numbered; a slot's kind is shown at its binding.
"""

from __future__ import annotations

from collections.abc import Iterable

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
)
from vlad.core.loop_nests import Access, Choice, Kernel, Output, Read, Routine, Step, Write
from vlad.data.tensors import kind_name
from vlad.data.write import atom_text

INDENT = "  "


def program_text(program: Program) -> str:
    return "\n".join([_Printer().function(function) for function in program.functions])


def function_name(function: Function) -> str:
    return f"{function.name or 'λ'}_{function.serial}"


class _Printer:
    """Prints one function."""

    def __init__(self) -> None:
        self.names: dict[Slot, str] = {}
        self.used: dict[str, int] = {}
        self.lines: list[str] = []

    def function(self, function: Function) -> str:
        parameters = " ".join([self.bound(slot) for slot in function.parameters])
        head = f"(function {function_name(function)} ({parameters}) {function.results or '()'}"
        self.lines.append(head)
        self.block(function.body, 1)
        return "\n".join(self.lines) + ")"

    def block(self, block: Block, depth: int) -> None:
        """A line for each statement, and for the end. Arms are indented."""
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
            head, arms = (
                f"case {self.leaf(statement.pointer)}",
                [(_member(member), block) for member, block in statement.cases],
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
                text = [_quoted(statement.text)] if statement.text else []
                return self.binding(
                    statement.slots, ["effect", statement.what, *text, *self.leaves(statement.operands)]
                )
            case Load():
                return self.binding(statement.slots, ["load", statement.cell.name])
            case Store():
                return f"({' '.join(['store', statement.cell.name, *self.leaves(statement.leaves)])})"
            case Box():
                made = ["box", _member(statement.member), *self.leaves(statement.leaves)]
                return f"({self.bound_after(statement.slot, made)})"
            case Unbox():
                return self.binding(
                    statement.slots, ["unbox", _member(statement.member), self.leaf(statement.pointer)]
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
                return f"(fail {_quoted(end.what)})"
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

    def bound(self, slot: Slot) -> str:
        """The name of a slot at its binding, with its kind."""
        number = self.used[slot.name] = self.used.get(slot.name, 0) + 1
        self.names[slot] = name = slot.name if number == 1 else f"{slot.name}_{number}"
        return f"{name}:{slot.kind}"

    def leaves(self, leaves: Iterable[Leaf]) -> list[str]:
        return [self.leaf(leaf) for leaf in leaves]

    def leaf(self, leaf: Leaf) -> str:
        match leaf:
            case Slot():
                return self.names.get(leaf) or f"?{leaf.name}"
            case bool():
                return "#t" if leaf else "#f"
            case float():
                return atom_text(leaf, True)
            case Immediate():
                return f"(immediate {leaf.member})"
            case Static():
                return f"({' '.join(['static', _member(leaf.member), *self.leaves(leaf.leaves)])})"
            case Data():
                array = leaf.tensor.array
                return f"(data {kind_name(array.dtype)} {_list(array.shape)})"
        raise AssertionError(leaf)


def _member(member: Member) -> str:
    return f"{member.name or 'member'}.{member.index}"


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
    return f"({source}{_access(read.access)})"


def _step(step: Step | Choice) -> str:
    if type(step) is Choice:
        return f"(in {_list(map(_list, step.box))} {' '.join(map(_value, step.values))})"
    kind = "" if step.kind == "float64" else f" {step.kind}"
    return f"({step.row.name} {' '.join(map(_value, step.values))}{kind})"


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
    return f"{routine.name} {_list(routine.extents)} {routine.rows} {routine.columns}"


def _list(items: Iterable[object]) -> str:
    return f"({' '.join(map(str, items))})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
