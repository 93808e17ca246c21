"""A key of a call by its content: the same text for the same work in another process.

In: a procedure and operands.  Out: a digest of everything on which compiling such a call depends (the procedure's core, its
captured values, the globals it reaches, the kinds of its operands, the compiler itself), and those globals. Names of variables
and places in files do not count: a procedure that was moved in its file is the same. (The output of core/text.py is for display:
there, names matter.)
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from vlad.compile.analysis.static_operands import MOST_WRITTEN, Fixed
from vlad.compile.analysis.trees import Tree, keys_of_chain, nodes
from vlad.control.budget import expect_bytes
from vlad.core.extents import AnExtent
from vlad.core.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Constant,
    Field,
    GlobalReference,
    If,
    Lambda,
    Letrec,
    Record,
    Rhs,
    Variable,
)
from vlad.core.types import SHORTEST_CHAIN
from vlad.data.devices import name_of
from vlad.data.source import Span, in_library
from vlad.data.tables import KEY, VALUE, Table, is_few
from vlad.data.tensors import Tensor, kind_name, on_host
from vlad.data.values import (
    FALSE,
    NIL,
    TRUE,
    UNSPECIFIED,
    ZERO,
    Boolean,
    Code,
    Global,
    Primitive,
    String,
    Symbol,
    Value,
    list_of,
    look,
)
from vlad.evaluate.limits import deep_recursion

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MOST_WORDS = 200_000  # of a call's text: larger calls are not cached
BYTES_SPELT = 8  # memory per character of a text that is built and hashed

ATOMS = {
    id(TRUE): "#t",
    id(FALSE): "#f",
    id(UNSPECIFIED): "u",
    id(ZERO): "0",
    id(NIL): "()",
}


NO_SHAPES: Mapping[int, tuple[AnExtent, ...]] = {}


class Nameless(Exception):
    """A call contains something without a text, or is too large."""


class Within(NamedTuple):
    """A code that a call reaches, or, with a lambda, that of the lambda inside of it. `group`, `environment`: as of `Code`."""

    outer: Code
    lambda_: Lambda | None = None
    group: tuple[tuple[Variable, Lambda], ...] = ()
    environment: tuple[Variable, ...] | None = None

    def existing(self) -> Code | None:
        if self.lambda_ is None:
            return self.outer
        found: Code | None = self.outer.family.codes.get(self.lambda_)
        return found or self.outer.machine.record_codes.get(self.lambda_)

    def code(self) -> Code:
        outer, machine = self.outer, self.outer.machine
        if self.lambda_ is None:
            return outer
        found: Code = machine.code_of(self.lambda_, outer.family, self.group, self.environment)
        return found


class Identity(NamedTuple):
    """The digest of a call, the globals it reaches, and the large tensors, whose entries do not matter; and the places of its
    procedures in the program's own texts, in the order in which they are reached, with their names, and the codes of procedures.
    Calls with the same digest have the same number of each."""

    digest: str
    cells: list[Global]
    tensors: list[Tensor]
    places: list[tuple[Span | None, str]]
    procedures: list[Within]

    def numbers(self) -> dict[Code, int]:
        """The codes that exist, with their numbers."""
        found = [one.existing() for one in self.procedures]
        return {code: number for number, code in enumerate(found) if code is not None}

    def code(self, number: int) -> Code:
        return self.procedures[number].code()

    def written_place(self, span: Span | None) -> tuple[int, int, str] | None:
        """A place in the call's own texts, for another process, where they may be elsewhere: the number of the innermost
        procedure around it, the distance from that one's beginning, and the text."""
        around = [
            (one.end - one.start, number, one)
            for number, (one, _) in enumerate(self.places)
            if one is not None and span is not None and one.contains(span)
        ]
        if not around or span is None:
            return None
        _, number, outer = min(around, key=lambda one: one[:2])
        return number, span.start - outer.start, span.text

    def read_place(self, written: tuple[int, int, str] | None) -> tuple[Span | None, str]:
        """The place that `written_place` wrote, and the name of the outermost procedure with a name around it. If the text there
        has changed (in what is not part of the digest, such as names), the place of the whole procedure."""
        if written is None:
            return None, ""
        number, distance, text = written
        outer = self.places[number][0]
        if outer is None:
            return None, ""
        start = outer.start + distance
        span = Span(outer.source, start, start + len(text))
        span = span if span.text == text and outer.contains(span) else outer
        named = [
            (one.end - one.start, name)
            for one, name in self.places
            if name and one is not None and one.contains(span)
        ]
        return span, max(named, default=(0, ""))[1]


def identity(
    machine: Machine,
    f: Value,
    operands: Iterable[Value | Tree],
    longest: int,
    *more: str,
    shapes: Mapping[int, tuple[AnExtent, ...]] = NO_SHAPES,
) -> Identity:
    """The identity of a call, with further relevant texts `more`. The lengths of lists longer than `longest` do not matter.
    `shapes`: of tensors among the operands, by id, if not their own. Raises Nameless.
    """
    walk = _Walk(machine, shapes)
    with deep_recursion():
        walk.value(look(f))
        walk.rest()
        known: dict[int, str] = {}
        kinds = [_kind(walk, operand, longest, known) for operand in operands]
        walk.rest()
    text = json.dumps([_ourselves(), longest, more, kinds, walk.words])
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Identity(digest, walk.cells, walk.tensors, walk.places, walk.procedures)


@functools.cache
def _ourselves() -> str:
    """The version of this compiler: another one may compile the same call differently. A digest, as each identity has it."""
    folder = os.path.abspath(__file__)
    for _ in range(3):
        folder = os.path.dirname(folder)
    files = sorted(_files(folder)) + sorted(_files(os.path.join(os.path.dirname(folder), "stdlib")))
    text = " ".join([f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in files])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    if os.path.isdir(folder):
        with os.scandir(folder) as items:
            for item in items:
                if item.is_dir() and item.name != "__pycache__":
                    yield from _files(item.path)
                elif item.name.endswith((".py", ".c", ".vlad")):
                    yield item.path, item.stat()


def _kind_of_tree(walk: _Walk, value: Value) -> str:
    """The different parts of a tree, in the order in which they occur first."""
    found: dict[str, None] = {}
    for elements, end, _ in nodes(value):
        found[f"{min(len(elements), SHORTEST_CHAIN + 1)} {_kind(walk, end, SHORTEST_CHAIN, {})}"] = None
    return f"tree {'; '.join(found)}"


def _kind_of_table(walk: _Walk, table: Table, longest: int, known: dict[int, str]) -> str:
    is_known = is_few(table, True)
    entries = [
        f"{_atom(leaf[KEY]) if is_known else _kind(walk, leaf[KEY], longest, known)}: {_kind(walk, leaf[VALUE], longest, known)}"
        for leaf in table.leaves()
    ]
    return (
        f"table {'known' if is_known else 'any'} {' '.join(entries if is_known else dict.fromkeys(entries))}"
    )


def _kind(walk: _Walk, value: Value | Tree, longest: int, known: dict[int, str]) -> str:
    """The kind of an operand, without its reals and booleans; a long chain is the kinds of its parts, without their number.
    `known`: parts visited before.
    """
    if type(value) is Tree:
        return _kind_of_tree(walk, value.value)
    whole = value
    kind = known.get(id(whole)) if type(whole) is tuple else None
    if kind is not None:
        return kind
    parts: list[str] = []
    while True:
        value = look(value)
        if type(value) is Table:
            parts.append(_kind_of_table(walk, value, longest, known))
            value = NIL
        if type(value) is not tuple or len(value) <= 1:
            break
        if len(value) == 2:
            parts.append(f"({_kind(walk, value[0], longest, known)}")
            value = value[1]
        else:
            width = len(value[0].environment)
            parts.append(
                f"[{walk.code(value[0])} {' '.join([_kind(walk, part, longest, known) for part in value[1:width]])}"
            )
            value = value[width]
    if type(value) is Fixed:
        end = str(walk.shapes[id(value)][0]) if id(value) in walk.shapes else value.hex()
    elif type(value) is float:
        end = "real"
    elif type(value) is Boolean:
        end = "boolean"
    elif type(value) is String:
        end = "string"
    elif type(value) is tuple and value:
        end = walk.code(value[0])
    elif type(value) is Tensor:
        end = _layout(value, walk.shapes.get(id(value)))
    else:
        end = _atom(value)
    if len(parts) > longest:
        keys = keys_of_chain(look(whole))
        parts = [*parts[:keys], "chain", *dict.fromkeys(reversed(parts[keys:]))]
    kind = " ".join([*parts, end])
    if len(kind) > MOST_WORDS:
        raise Nameless
    if type(whole) is tuple and whole:
        known[id(whole)] = kind
    return kind


def _atom(value: Value) -> str:
    known = ATOMS.get(id(value))
    if known is not None:
        return known
    if type(value) is float:
        return value.hex()
    if type(value) is Symbol:
        expect_bytes(BYTES_SPELT * len(value.name))
        return "'" + _spelt(value.name)
    if type(value) is String:
        expect_bytes(BYTES_SPELT * len(value.text))
        return '"' + _spelt(value.text)
    if type(value) is Tensor:
        entries = on_host(value.array).reshape(-1).tolist()
        return f"{_layout(value)} {' '.join([e.hex() if type(e) is float else str(e) for e in entries])}"
    raise Nameless


def _layout(tensor: Tensor, shape: tuple[AnExtent, ...] | None = None) -> str:
    lengths = " ".join(map(str, tensor.shape if shape is None else shape))
    return f"tensor {kind_name(tensor.like.dtype)} {name_of(tensor.like)} {lengths}"


def _derivation(code: Code) -> str:
    """How differentiation made a code."""
    return f"{code.role.value}{code.derivation}{'' if code.backpropagator_of is None else 'backpropagator'}"


def _spelt(text: str) -> str:
    """A self-delimiting text: nothing that follows can be mistaken for a part of it."""
    return f"{len(text)}:{text}"


class _Walk:
    """Writes words. A repeated object is written as its number, so sharing and recursion need no special care."""

    def __init__(self, machine: Machine, shapes: Mapping[int, tuple[AnExtent, ...]]) -> None:
        self.machine = machine
        self.shapes = shapes
        self.words: list[str] = []
        self.cells: list[Global] = []
        self.tensors: list[Tensor] = []  # whose entries are passed with each call, by their numbers
        self.places: list[tuple[Span | None, str]] = []  # of the procedures, with their names
        self.procedures: list[Within] = []
        self._numbers: dict[int, str] = {}
        self._cells: dict[
            tuple[str, int], str
        ] = {}  # numbers of cells, by name and value: such cells are the same
        self._kept: list[Any] = []  # so that ids stay unique
        self._codes: list[Code] = []  # visited and not written
        self._different: list[Global] = []  # cells, of the same ones the first
        self._written = 0  # of these
        self._outer: Code  # whose lambda is being written

    def number(self, thing: Any) -> tuple[str, bool]:
        """The number of an object, and whether it is new."""
        number = self._numbers.get(id(thing))
        if number is not None:
            return number, False
        if len(self._kept) > MOST_WORDS:
            raise Nameless
        number = self._numbers[id(thing)] = str(len(self._kept))
        self._kept.append(thing)
        return number, True

    def value(self, value: Value) -> None:
        """A value with its parts, iterating over its last part."""
        while True:
            value = look(value)
            if type(value) is Tensor and value.like.size > MOST_WRITTEN:
                number, is_new = self.number(value)
                self.words.append(f"={number} {_layout(value)}")
                if is_new:
                    self.tensors.append(value)
                return
            if type(value) is Table:
                self.words.append("table")
                value = list_of([(leaf[KEY], leaf[VALUE]) for leaf in value.leaves()])
            if type(value) is not tuple or not value:
                self.words.append(_atom(value))
                return
            number, is_new = self.number(value)
            if not is_new:
                self.words.append("=" + number)
                return
            if len(value) == 2:
                self.words.append("(")
                self.value(value[0])
                value = value[1]
                continue
            self.words.append("[" + self.code(value[0]))
            width = len(value[0].environment)
            if width == 0:
                return
            for part in value[1:width]:
                self.value(part)
            value = value[width]

    def _cell(self, cell: Global) -> str:
        known = self._numbers.get(id(cell))
        if known is not None:
            return known
        self.cells.append(cell)
        same = cell.name, id(getattr(cell, "value", None))
        number = self._cells.get(same)
        if number is None:
            number, _ = self.number(cell)
            self._cells[same] = number
            self._different.append(cell)
        else:
            self._numbers[id(cell)] = number
        return number

    def code(self, code: Code) -> str:
        number, is_new = self.number(code)
        if is_new:
            self._codes.append(code)
            self.procedures.append(Within(code))
        return number

    def rest(self) -> None:
        """Write the codes and globals that were visited."""
        while self._codes or self._written < len(self._different):
            if self._codes:
                self._code(self._codes.pop())
                continue
            cell = self._different[self._written]
            self._written += 1
            self.words.append(f"global {_spelt(cell.name)}")
            if hasattr(cell, "value"):
                self.value(cell.value)
            if len(self.words) > MOST_WORDS:
                raise Nameless

    def _code(self, code: Code) -> None:
        words = self.words
        if code.primitive is not None:
            words.append(f"primitive {code.primitive.name}")
            self._given(code.primitive)
            return
        words.append(f"code {_spelt(code.name)} {_derivation(code)} {code.arity} {self.code(code.base)}")
        words += [self.number(variable)[0] for variable in code.environment]
        self._outer = code
        for member, lambda_ in code.group:
            words.append("member " + self.number(member)[0])
            self.procedures.append(Within(code, lambda_, code.group, code.environment))
            self._lambda(lambda_)
        self._lambda(self.machine.core_of(code))

    def _given(self, primitive: Primitive) -> None:
        """Inputs of an application other than operands: the session's arguments."""
        if primitive.name == "command-line-arguments":
            self.value(self.machine.arguments)
        if primitive.name == "has-workers?":
            self.value(TRUE if self.machine.spread is not None else FALSE)
        if primitive.rows:  # its rules exist in this process only
            raise Nameless

    def _lambda(self, lambda_: Lambda) -> None:
        number, is_new = self.number(lambda_)
        if not is_new:
            self.words.append("lambda " + number)
            return
        is_own = lambda_.span is not None and not in_library(lambda_.span)
        self.places.append((lambda_.span if is_own else None, lambda_.name))
        self._variables(
            "lambda" if lambda_.backpropagator_of is None else "backpropagator", lambda_.parameters
        )
        self._variables("over", lambda_.free)
        if lambda_.fields is not None:
            self.procedures.append(Within(self._outer, lambda_))
        for rule in lambda_.space.rules() if lambda_.space is not None else ():
            if rule is None:
                self.words.append("none")
            else:
                self.procedures.append(Within(self._outer, rule))
                self._lambda(rule)
        self._body(lambda_.body)

    def _variables(self, word: str, variables: Iterable[Variable]) -> None:
        self.words.append(word)
        self.words += [self.number(variable)[0] for variable in variables]

    def _body(self, body: Body) -> None:
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                self._variables("letrec", [member for member, _ in binding.members])
                for _, lambda_ in binding.members:
                    self.procedures.append(Within(self._outer, lambda_, binding.members, binding.free))
                    self._lambda(lambda_)
                self._variables("over", binding.free)
            else:
                self.words.append("let " + self.number(binding.variable)[0])
                self._rhs(binding.rhs)
        self.words.append("in")
        self._rhs(body.result)

    def _rhs(self, rhs: Rhs) -> None:
        match rhs:
            case Apply():
                self._given(rhs.primitive)
                self._atoms("apply " + rhs.primitive.name, rhs.operands)
            case Call():
                self._atoms("call", (rhs.operator, *rhs.operands))
            case If():
                self._atoms("if", (rhs.test,))
                self._body(rhs.consequent)
                self._body(rhs.alternative)
            case Lambda():
                self.procedures.append(Within(self._outer, rhs))
                self._lambda(rhs)
            case Record():
                self._lambda(rhs.owner)
                self._atoms("record", rhs.fields)
            case Field():
                self._lambda(rhs.owner)
                self._atoms(f"field {rhs.index} {rhs.width}", (rhs.record,))
            case _:
                self._atoms("", (rhs,))

    def _atoms(self, word: str, atoms: Iterable[Atom]) -> None:
        self.words.append(word)
        for atom in atoms:
            if type(atom) is Variable:
                self.words.append(self.number(atom)[0])
            elif type(atom) is GlobalReference:
                self.words.append("@" + self._cell(atom.cell))
            else:
                assert type(atom) is Constant
                self.value(atom.value)
        self.words.append(";")
