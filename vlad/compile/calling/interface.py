"""The interface of a unit for callers: conversion between values and words, and the meaning of its statuses.

In: types and their layout, from the compiler, or a text from an earlier process.  Out: `Interface`, and that text. The types
determine the layout; the order of members is significant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from vlad.compile.ir.program import Failure
from vlad.compile.ir.representation import Representation
from vlad.compile.native.call_words import CallWords
from vlad.core.extents import LEAST, Extent, Guards
from vlad.core.types import Cell, Type, Types, found
from vlad.data.values import FALSE, NIL, TRUE, UNSPECIFIED, ZERO, Code, String, Symbol, Value, symbol

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine


class Unwritable(Exception):
    """A type contains a code that another process does not find: a derivative that is a result, for example."""


@dataclass(frozen=True, slots=True)
class Interface:
    """
    operands, result  the types; without a result, the code never returns
    words             the layout of the words of a call
    failures          by status - abi.FIRST_FAILURE: messages, and their kinds
    acts              the code writes or reads, by functions that the host passes in
    stops             it polls `vlad_stop`, and so can be interrupted
    direct            it has a second entry, `vlad_direct`, from doubles to a double
    largest           bytes of the largest array that it allocates
    exhausted         the ways of analysing a call that were tried in vain for long (analysis/strategy.py)
    zeros_distinct    what the known zero must stay distinct from so that more operands fit (analysis/strategy.py), if anything
    may_differ        two shapes of a value are taken to be equal; other code keeps them apart (core/extents.py)
    extents           the lengths of axes that are known only in a call: first the sizes, which axes of operands have, then others
    sizes             the number of the former
    is_late           some of the others are known only after the call
    """

    layout: Representation
    operands: tuple[Type, ...]
    result: Type | None
    words: CallWords
    failures: tuple[tuple[str, Failure], ...]
    acts: bool
    stops: bool
    direct: bool
    largest: int
    zeros_distinct: int | None = None
    extents: tuple[Extent, ...] = ()
    sizes: int = 0
    is_late: bool = False
    may_differ: bool = False
    exhausted: tuple[str, ...] = ()

    def text(self, codes: Mapping[Code, int]) -> str:
        """Serialize for another process. `codes`: the numbers of procedures. Raises Unwritable."""
        writer = _Writer(self.layout, self.extents, codes)
        fields = {
            "operands": [writer.type(type_) for type_ in self.operands],
            "result": None if self.result is None else writer.type(self.result),
            "words": asdict(self.words),
            "failures": [(what, about.name) for what, about in self.failures],
            "acts": self.acts,
            "stops": self.stops,
            "direct": self.direct,
            "largest": self.largest,
            "zeros_distinct": self.zeros_distinct,
            "extents": len(self.extents),
            "sizes": self.sizes,
            "is_late": self.is_late,
            "may_differ": self.may_differ,
            "exhausted": self.exhausted,
        }
        return json.dumps({"cells": writer.written(), **fields})


def read_interface(text: str, machine: Machine, code: Callable[[int], Code]) -> Interface:
    """Read the output of `Interface.text`. `code`: the procedure of a number."""
    fields = json.loads(text)
    reader = _Reader(fields["cells"], fields["extents"], machine, code)
    result = fields["result"]
    return Interface(
        Representation(reader.types),
        tuple([reader.type(type_) for type_ in fields["operands"]]),
        None if result is None else reader.type(result),
        CallWords(**{**fields["words"], "places": tuple(fields["words"]["places"])}),
        tuple([(what, Failure[about]) for what, about in fields["failures"]]),
        fields["acts"],
        fields["stops"],
        fields["direct"],
        fields["largest"],
        fields["zeros_distinct"],
        reader.extents,
        fields["sizes"],
        fields["is_late"],
        fields["may_differ"],
        tuple(fields["exhausted"]),
    )


ATOMS: dict[str, Value] = {
    "()": NIL,
    "#t": TRUE,
    "#f": FALSE,
    "unspecified": UNSPECIFIED,
    "zero": ZERO,
}


class _Writer:
    """Writes types as JSON; a union is the number of its cell."""

    def __init__(
        self, layout: Representation, extents: tuple[Extent, ...], codes: Mapping[Code, int]
    ) -> None:
        self.layout = layout
        self.codes = codes
        self.numbers = {extent: number for number, extent in enumerate(extents)}
        self.cells: dict[Cell, int] = {}
        self.unions: list[Type] = []

    def type(self, type_: Type) -> Any:
        type_ = self.layout.types.canonical(type_)
        match type_.kind:
            case "real" | "boolean" | "string":
                return type_.kind
            case "tensor":
                lengths = [
                    length if type(length) is int else [self.numbers[length]] for length in type_.of.shape
                ]
                return {"tensor": type_.of.kind, "shape": lengths}
            case "pair":
                return self.chain(type_)
            case "union":
                cell = found(type_.of)
                if cell not in self.cells:
                    self.cells[cell] = len(self.cells)
                    self.unions.append(type_)
                return self.cells[cell]
            case "constant":
                return self.constant(type_.of)
            case "closure":
                return {"closure": self.code(type_.of), "over": [self.type(part) for part in type_.parts]}
        raise Unwritable

    def code(self, code: Code) -> int | str:
        """The number of a procedure, or the name of one of the system."""
        if code in self.codes:
            return self.codes[code]
        name: str = code.name
        if code.machine.codes.get(name) is not code:
            raise Unwritable
        return name

    def chain(self, type_: Type) -> list[Any]:
        """The first parts of a chain of pairs, and its end; iterative, since lists may be long."""
        written = []
        while type_.kind == "pair":
            written.append(self.type(type_.parts[0]))
            type_ = self.layout.types.canonical(type_.parts[1])
        return [*written, self.type(type_)]

    def constant(self, value: Value) -> Any:
        for name, atom in ATOMS.items():
            if value is atom:
                return name
        if type(value) is Extent:
            return {"extent": self.numbers[value]}
        if type(value) is float:
            return {"real": value.hex()}
        if type(value) is Symbol:
            return {"symbol": value.name}
        if type(value) is String:
            return {"string": value.text}
        raise Unwritable

    def written(self) -> list[list[Any]]:
        """The members of every cell that was written."""
        cells: list[list[Any]] = []
        while len(cells) < len(self.unions):
            members = self.layout.members_of(self.unions[len(cells)])
            cells.append([self.type(type_) for _, type_ in members])
        return cells


class _Reader:
    def __init__(
        self, cells: list[list[Any]], extents: int, machine: Machine, code: Callable[[int], Code]
    ) -> None:
        self.types = Types()
        self.machine, self.code = machine, code
        guards = Guards()
        self.extents = tuple([guards.size(LEAST) for _ in range(extents)])
        self.unions = [self.types.union() for _ in cells]
        for union, members in zip(self.unions, cells, strict=True):
            for member in members:
                type_ = self.type(member)
                found(union.of).members[type_.head] = type_

    def type(self, written: Any) -> Type:
        types = self.types
        match written:
            case "real":
                return types.real
            case "boolean":
                return types.boolean
            case "string":
                return types.string
            case str():
                return types.constant(ATOMS[written])
            case int():
                return self.unions[written]
            case [*firsts, last]:
                type_ = self.type(last)
                for first in reversed(firsts):
                    type_ = types.pair(self.type(first), type_)
                return type_
            case {"extent": number}:
                return types.constant(self.extents[number])
            case {"real": text}:
                return types.constant(float.fromhex(text))
            case {"tensor": kind, "shape": shape}:
                lengths = [length if type(length) is int else self.extents[length[0]] for length in shape]
                return types.tensor(tuple(lengths), kind)
            case {"symbol": name}:
                return types.constant(symbol(name))
            case {"closure": which, "over": parts}:
                code = self.code(which) if type(which) is int else self.machine.codes[which]
                return types.closure(code, tuple([self.type(part) for part in parts]))
        return types.constant(String(written["string"]))
