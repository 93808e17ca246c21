"""Text → first-order code: the inverse of text.py. Tests of single passes use it: text in, text out.

In: the output of text.py, and the table of primitives.  Out: a Program. The text lacks places in the source and the origins of
functions (`Function.origin`). Raises VladError for other text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
)
from vlad.core.loop_nests import Access, Choice, Kernel, Output, Read, Routine, Step, Write
from vlad.core.types import Cell
from vlad.data.errors import VladError
from vlad.data.source import Source
from vlad.data.tensors import from_entries
from vlad.data.values import TRUE, Global, Primitive, String
from vlad.reader.parser import Form, Literal, Name, Syntax, read

Rows = Mapping[str, Primitive]


def read_program(text: str, rows: Rows) -> Program:
    """Raises VladError."""
    return _Reader(rows).program(read(Source("first-order code", text)))


class _Reader:
    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.cells: dict[str, Cell] = {}
        self.members: dict[Cell, list[Member]] = {}
        self.member_names: dict[tuple[str, str], Member] = {}
        self.variables: dict[Global, str] = {}
        self.globals: dict[str, Global] = {}
        self.functions: dict[str, Function] = {}

    def program(self, forms: Sequence[Syntax]) -> Program:
        heads = {"union": self.declare, "array": self.declare, "function": self.declare_function}
        for form in forms:  # all names, before any is used
            head, name, *_ = _items(form)
            if _name(head) in heads:
                heads[_name(head)](form)
            elif _name(head) == "global":
                cell = self.globals[_name(name)] = Global(_name(name))
                self.variables[cell] = _kinds(_items(form)[2])
        entries = list(self.functions.values())[:1]
        for form in forms:
            head, *rest = _items(form)
            match _name(head):
                case "union":
                    self.union(rest)
                case "function":
                    self.function(rest)
                case "entries":
                    entries = [self.functions[_name(name)] for name in rest]
                case "array" | "global":
                    continue
                case other:
                    raise _invalid(f"`{other}` is no form of a program", form)
        return Program(list(self.functions.values()), self.members, entries, self.variables)

    def declare(self, form: Syntax) -> None:
        kind, name, *rest = _items(form)
        cell = self.cells[_name(name)] = Cell(len(self.cells) + 1)
        self.members[cell] = []
        if _name(kind) == "array":
            self.members[cell].append(Member(cell, 0, "", (), "tensor", _integer(rest[0])))

    def union(self, rest: Sequence[Syntax]) -> None:
        union, *members = rest
        cell = self.cells[_name(union)]
        for index, form in enumerate(members):
            name, *kinds = _items(form)
            pointees = tuple([self.cells[_name(kind)] for kind in kinds if _name(kind) in self.cells])
            member = Member(cell, index, self.kinds(kinds), pointees, _name(name))
            self.members[cell].append(member)
            self.member_names[_name(union), _name(name)] = member
        boxed = [member for member in self.members[cell] if member.boxed]
        for member in boxed:
            member.tagged = len(boxed) > 1

    def kinds(self, kinds: Sequence[Syntax]) -> str:
        return "".join(["p" if _name(kind) in self.cells else _name(kind) for kind in kinds])

    def member(self, union: Syntax, name: Syntax) -> Member:
        found = self.member_names.get((_name(union), _name(name)))
        if found is None:
            raise _invalid(f"{_name(union)} has no member {_name(name)}", name)
        return found

    def declare_function(self, form: Syntax) -> None:
        _, name, parameters, results, *_ = _items(form)
        words = [_name(word).rpartition(":") for word in _items(parameters)]
        pointees = [self.cells.get(kind) for _, _, kind in words]
        slots = [
            Slot(kind if cell is None else "p", slot)
            for (slot, _, kind), cell in zip(words, pointees, strict=True)
        ]
        own, _, serial = _name(name).rpartition("_")
        self.functions[_name(name)] = Function(
            own,
            int(serial),
            slots,
            pointees,
            self.kinds(_items(results)),
            [self.cells.get(_name(result)) for result in _items(results)],
            Block(),
            None,
        )

    def function(self, rest: Sequence[Syntax]) -> None:
        name, parameters, _, *body = rest
        function = self.functions[_name(name)]
        written = [_name(word).rpartition(":")[0] for word in _items(parameters)]
        body_reader = _Body(self, dict(zip(written, function.parameters, strict=True)))
        function.body = body_reader.block(body)


class _Body:
    """Reads the body of a function. `slots`: by name, which is unique in a function."""

    def __init__(self, all_: _Reader, slots: dict[str, Slot]) -> None:
        self.all = all_
        self.slots = slots

    def block(self, forms: Sequence[Syntax]) -> Block:
        *statements, end = forms
        return Block([self.statement(statement) for statement in statements], self.end(end))

    def end(self, form: Syntax) -> End:
        head, *rest = _items(form)
        match _name(head):
            case "yield":
                return Yield(self.leaves(rest))
            case "return":
                return Return(self.leaves(rest))
            case "tail-call":
                return TailInvoke(self.all.functions[_name(rest[0])], self.leaves(rest[1:]), None)
            case "fail":
                about = Failure[_name(rest[1]).upper()] if rest[1:] else Failure.OTHER
                return Fail(_string(rest[0]), None, about, _name(rest[2]) if rest[2:] else None)
            case "unreachable":
                return Unreachable()
        raise _invalid(f"`{_name(head)}` does not end a block", form)

    def statement(self, form: Syntax) -> Statement:
        head, *rest = _items(form)
        if isinstance(head, Name) and head.symbol.name == "store":
            return Store(self.all.globals[_name(rest[0])], self.leaves(rest[1:]))
        word, *operands = _items(rest[0])
        made = self.right_hand_side(_name(word), operands, word)
        slots = self.bound(head)  # after the arms, whose slots come first in C
        if isinstance(made, Compute | Box):
            (made.slot,) = slots
        elif not isinstance(made, Store):
            made.slots = slots
        return made

    def right_hand_side(self, word: str, operands: list[Syntax], at: Syntax) -> Statement:
        """A statement without its slots, which the caller sets."""
        match word:
            case "if":
                test, consequent, alternative = operands
                arms = [self.block(_items(arm)[1:]) for arm in (consequent, alternative)]
                return Branch((), self.leaf(test), arms[0], arms[1], None)
            case "case":
                union, pointer, *arms_ = operands
                cases = [(_items(arm)[0], _items(arm)[1:]) for arm in arms_]
                return Switch(
                    (),
                    self.leaf(pointer),
                    [(self.all.member(union, name), self.block(block)) for name, block in cases],
                    None,
                )
            case "loops":
                count = _number_of_parts(operands)
                return Each((), self.kernel(operands[:count]), self.leaves(operands[count:]), None)
            case "routine":
                count = _number_of_parts(operands)
                return Each((), self.routine(operands[:count]), self.leaves(operands[count:]), None)
            case "call":
                return Invoke((), self.all.functions[_name(operands[0])], self.leaves(operands[1:]), None)
            case "effect":
                what, *rest = operands
                has_text = bool(rest) and isinstance(rest[0], Literal) and type(rest[0].value) is String
                text = _string(rest[0]) if has_text else ""
                rest = rest[has_text:]
                shape = _integers_of(rest.pop(0)) if rest and _begins(rest[0], "shape") else None
                return Effect(_name(what), (), self.leaves(rest), text, None, shape)
            case "load":
                return Load((), self.all.globals[_name(operands[0])], None)
            case "box":
                union, name, *leaves = operands
                return Box(_NOWHERE, self.all.member(union, name), self.leaves(leaves))
            case "unbox":
                union, name, pointer = operands
                return Unbox((), self.all.member(union, name), self.leaf(pointer))
        return Compute(_NOWHERE, self.row(at), self.leaves(operands), None)

    def bound(self, syntax: Syntax) -> tuple[Slot, ...]:
        found = []
        for word in _items(syntax) if isinstance(syntax, Form) else [syntax]:
            name, _, kind = _name(word).rpartition(":")
            slot = self.slots[name] = Slot(kind, name)
            found.append(slot)
        return tuple(found)

    def leaves(self, words: Sequence[Syntax]) -> tuple[Leaf, ...]:
        return tuple([self.leaf(word) for word in words])

    def leaf(self, syntax: Syntax) -> Leaf:
        if isinstance(syntax, Literal):
            return syntax.value if type(syntax.value) is float else syntax.value is TRUE
        if isinstance(syntax, Name):
            if syntax.symbol.name not in self.slots:
                raise _invalid(f"`{syntax.symbol.name}` is not bound", syntax)
            return self.slots[syntax.symbol.name]
        head, *rest = _items(syntax)
        match _name(head):
            case "immediate":
                return Immediate(_integer(rest[0]))
            case "static":
                union, name, *leaves = rest
                return Static(self.all.member(union, name), self.leaves(leaves))
            case "data":
                kind, shape, *numbers = rest
                if any(isinstance(number, Name) for number in numbers):
                    raise _invalid("the entries of this tensor are not in the text", syntax)
                letter, make = _ENTRIES[_name(kind)]
                entries = struct.pack(f"{len(numbers)}{letter}", *map(make, self.leaves(numbers)))
                return Data(from_entries(entries, _integers(shape), _name(kind)))
        raise _invalid(f"`{_name(head)}` is no leaf", syntax)

    def row(self, syntax: Syntax) -> Primitive:
        row = self.all.rows.get(_name(syntax))
        if row is None:
            raise _invalid(f"`{_name(syntax)}` is no primitive", syntax)
        return row

    def kernel(self, parts: Sequence[Syntax]) -> Kernel:
        extents, *forms = parts
        reads: list[Read] = []
        steps: list[Step | Choice] = []
        outputs: dict[int, Output] = {}
        writes: list[Write] = []
        for form in forms:
            head, *rest = _items(form)
            match _name(head):
                case "operand":
                    number, *others = rest
                    reads.append(Read(_integer(number), *_access_and_kind(others)))
                case "position":
                    reads.append(Read(None, *_access_and_kind(rest)))
                case "in":
                    box = tuple([(low, high) for low, high in map(_integers, _items(rest[0]))])
                    steps.append(Choice(box, (_value(rest[1]), _value(rest[2]))))
                case "output":
                    number, output, *others = rest
                    outputs[_integer(number)] = _output(output)
                    writes.append(_write(_integer(number), others))
                case _:
                    values = [_value(word) for word in rest if _is_value(word)]
                    kind = _name(rest[-1]) if rest and not _is_value(rest[-1]) else "float64"
                    steps.append(Step(self.row(head), tuple(values), kind))
        in_order = tuple([outputs[number] for number in range(len(outputs))])
        return Kernel(_integers(extents), tuple(reads), tuple(steps), in_order, tuple(writes))

    def routine(self, parts: Sequence[Syntax]) -> Routine:
        name, extents, rows, columns, *forms = parts
        outputs: list[Output] = []
        factors: tuple[int, ...] = ()
        transposed, kind = False, "float64"
        for form in forms:
            head, *rest = _items(form)
            match _name(head):
                case "output":
                    outputs.append(_output(rest[0]))
                case "factors":
                    factors = _integers(rest[0])
                case "transposed":
                    transposed = True
                case "kind":
                    kind = _name(rest[0])
        return Routine(
            _name(name),
            tuple(outputs),
            _integer(rows),
            _integer(columns),
            _integers(extents),
            factors,
            transposed,
            kind,
        )


_ENTRIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "float64": ("d", float), "float32": ("f", float), "int64": ("q", int), "int32": ("i", int), "bool": ("?", bool),
}  # fmt: skip
_NOWHERE = Slot("", "")
_NO_PART = ("immediate", "static", "data")  # heads of forms that are operands of a loop nest, not its parts


def _number_of_parts(words: Sequence[Syntax]) -> int:
    """The number of words that belong to a loop nest or routine itself: up to the last form that is not an operand."""
    ends = [
        index
        for index, word in enumerate(words)
        if isinstance(word, Form) and not (_is_named(word) and _name(word.items[0]) in _NO_PART)
    ]
    count = ends[-1] + 1
    # a routine has at least its name, extents, rows and columns
    return max(count, 4) if isinstance(words[0], Name) else count


def _is_named(form: Form) -> bool:
    return bool(form.items) and isinstance(form.items[0], Name)


def _begins(syntax: Syntax, word: str) -> bool:
    return isinstance(syntax, Form) and _is_named(syntax) and _name(syntax.items[0]) == word


def _integers_of(form: Syntax) -> tuple[int, ...]:
    """The numbers in (shape (2 3))."""
    return _integers(_items(form)[1])


def _access_and_kind(words: Sequence[Syntax]) -> tuple[Access | None, str]:
    access = _access(words[0]) if words and isinstance(words[0], Form) else None
    rest = words[access is not None :]
    return access, _name(rest[0]) if rest else "float64"


def _access(form: Syntax) -> Access:
    offset, *others = _items(form)
    strides = [_integer(word) for word in others if not isinstance(word, Form)]
    at = [(_value(_items(word)[0]), _integer(_items(word)[1])) for word in others if isinstance(word, Form)]
    return Access(_integer(offset), tuple(strides), tuple(at))


def _output(form: Syntax) -> Output:
    kind, size, *more = _items(form)
    given = {_name(word): more[index + 1] for index, word in enumerate(more) if index % 2 == 0}
    fill, base = given.get("fill"), given.get("base")
    return Output(
        None if isinstance(size, Name) else _integer(size),
        None if fill is None else _real(fill),
        None if base is None else _integer(base),
        _name(kind),
    )


def _write(output: int, words: list[Syntax]) -> Write:
    *others, value = words
    access = _access(others.pop(0)) if others and isinstance(others[0], Form) else None
    return Write(output, _value(value), access, _name(others[0])[:-1] if others else "")


def _is_value(syntax: Syntax) -> bool:
    return isinstance(syntax, Name) and syntax.symbol.name.startswith("%")


def _value(syntax: Syntax) -> int:
    return int(_name(syntax)[1:])


def _items(syntax: Syntax) -> tuple[Syntax, ...]:
    if not isinstance(syntax, Form) or syntax.tail is not None:
        raise _invalid("a list is wanted here", syntax)
    return syntax.items


def _name(syntax: Syntax) -> str:
    if not isinstance(syntax, Name):
        raise _invalid("a name is wanted here", syntax)
    return syntax.symbol.name


def _string(syntax: Syntax) -> str:
    if not isinstance(syntax, Literal) or type(syntax.value) is not String:
        raise _invalid("a string is wanted here", syntax)
    return syntax.value.text


def _real(syntax: Syntax) -> float:
    if not isinstance(syntax, Literal) or type(syntax.value) is not float:
        raise _invalid("a number is wanted here", syntax)
    return syntax.value


def _integer(syntax: Syntax) -> int:
    return int(_real(syntax))


def _integers(syntax: Syntax) -> tuple[int, ...]:
    return tuple(map(_integer, _items(syntax)))


def _kinds(syntax: Syntax) -> str:
    return "" if isinstance(syntax, Form) else _name(syntax)


def _invalid(why: str, syntax: Syntax) -> VladError:
    return VladError("invalid-core", f"Invalid first-order code: {why}", syntax.span)
