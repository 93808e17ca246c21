"""The structures of values that cross between Python and machine code without Python code in between.

In: the types of an interface.  Out: their description for c_values.c: a graph of nodes, as types are in the language, with what
Python has for their atoms: the ends of tuples, the beginnings of dicts and records, keys. Some types need the general path
(marshal.py): those of procedures, of texts, and of lists of arrays whose lengths are known only in a call.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from sys import intern
from typing import Any, NamedTuple

from vlad.compile.ir.representation import Representation
from vlad.compile.native.c_extension import (
    ATOM,
    BOOLEAN,
    CONSTANT,
    LEAF,
    LENGTH,
    MOST_MEMBERS,
    NOWHERE,
    OBJECT,
    PAIR,
    POINTER,
    REAL,
    TENSOR,
    UNION,
)
from vlad.core.extents import Extent
from vlad.core.types import Type, Types, is_tensor
from vlad.data.records import DICT, NONE, TUPLE
from vlad.data.values import NIL, RECORDS, TRUE, Boolean, Symbol, Unspecified

# What an atom is, as in c_values.c.
OF_EMPTY, OF_NONE, OF_TUPLE, OF_DICT, OF_RECORD, OF_NAME = range(6)
_ROLES = {NONE: OF_NONE, TUPLE: OF_TUPLE, DICT: OF_DICT}
_NO_RECORDS = (float, int, str, list, dict)  # whose instances are converted as such
MOST_NODES = 1 << 16
A_PAIR, A_PART, A_UNION, THE_END, A_SYMBOL = "PLUES"  # in forms

Part = tuple[int, Any, tuple[int, ...], int]


class Foreign(Exception):
    """A type needs the general path."""


class Structure(NamedTuple):
    """The structure of a value.

    node    the number of its node
    form    pairs, before their halves, and what is no pair: a letter each
    leaves  the types of its parts outside of unions, and the unions, in order
    """

    node: int
    form: str
    leaves: list[Type]

    @property
    def is_flat(self) -> bool:
        """Is it (a . (b . c)), of parts?"""
        return self.form == (A_PAIR + A_PART) * (len(self.leaves) - 1) + A_PART

    @property
    def is_list(self) -> bool:
        """Is it a list of parts?"""
        return self.form == (A_PAIR + A_PART) * len(self.leaves) + THE_END

    @property
    def is_row(self) -> bool:
        return self.is_flat or self.is_list


class Structures:
    """The nodes of types. `lengths`: the numbers of the extents that are known only in a call."""

    def __init__(self, layout: Representation, extents: Sequence[Extent]) -> None:
        self.layout, self.types = layout, layout.types
        self.lengths: Mapping[Extent, int] = {extent: number for number, extent in enumerate(extents)}
        self.nodes: list[tuple[Any, ...]] = []
        self._numbers: dict[tuple[Type, bool], int] = {}

    def value(self, type_: Type) -> Structure:
        """The structure of a result. Raises Foreign."""
        form, leaves = form_of(self.types, type_)
        return Structure(self._node(type_), form, leaves)

    def arguments(self, types: Sequence[Type]) -> Structure:
        """The structure of arguments, as one value by the tuple rule. Raises Foreign."""
        form, leaves = form_of_operands(self.types, types)
        if any(is_constant(leaf) and not is_fixed(leaf) for leaf in leaves):
            raise Foreign
        *before, node = [self._node(type_) for type_ in types]
        for first in reversed(before):
            self.nodes.append((PAIR, first, node))
            node = len(self.nodes) - 1
        return Structure(node, form, leaves)

    def part(self, type_: Type, target: int = NOWHERE) -> Part:
        """A part of the operands or of the result. Raises Foreign."""
        if type_.kind == "union":
            return POINTER, None, (), NOWHERE
        if is_length(type_):
            return LENGTH, None, (-1 - self.lengths[type_.of],), NOWHERE
        if is_tensor(type_):
            import numpy

            lengths = [
                length if type(length) is int else -1 - self.lengths[length] for length in type_.of.shape
            ]
            return TENSOR, numpy.dtype(type_.of.kind), tuple(lengths), target
        if type_.kind in ("real", "boolean"):
            return REAL if type_.kind == "real" else BOOLEAN, None, (), NOWHERE
        if type_.kind != "constant":
            raise Foreign
        if type(type_.of) is float:
            return CONSTANT, type_.of, (), NOWHERE
        if isinstance(type_.of, Boolean):
            return OBJECT, type_.of is TRUE, (), NOWHERE
        if isinstance(type_.of, Unspecified):
            return OBJECT, None, (), NOWHERE
        raise Foreign

    def _node(self, type_: Type, is_inside: bool = False) -> int:
        """The number of the node of a type, within a union or not. Iterates over the last part, as lists are long."""
        spine = []
        while True:
            type_ = self.types.canonical(type_)
            known = self._numbers.get((type_, is_inside))
            if known is not None or type_.kind != "pair":
                break
            number = self._numbers[type_, is_inside] = self._new()
            spine.append((number, type_, self._node(type_.parts[0], is_inside)))
            type_ = type_.parts[1]
        node = self._other(type_, is_inside) if known is None else known
        for number, _, first in reversed(spine):
            self.nodes[number] = (PAIR, first, node)
            node = number
        return node

    def _new(self) -> int:
        if len(self.nodes) == MOST_NODES:
            raise Foreign
        self.nodes.append(())
        return len(self.nodes) - 1

    def _other(self, type_: Type, is_inside: bool) -> int:
        """The number of the new node of a type that is no pair."""
        number = self._numbers[type_, is_inside] = self._new()
        if type_.kind == "union":
            self.nodes[number] = self._union(type_)
        elif type_.kind == "constant" and type_.of == NIL:
            self.nodes[number] = (ATOM, OF_EMPTY, None, None, NIL, False)
        elif type_.kind == "constant" and type(type_.of) is Symbol:
            self.nodes[number] = self._symbol(type_.of)
        else:
            part = self.part(type_)
            if is_inside and any(length < 0 for length in part[2]):
                raise Foreign
            value = type_.of if type_.kind == "constant" and part[0] == OBJECT else None
            self.nodes[number] = (LEAF, part, value)
        return number

    def _union(self, type_: Type) -> tuple[Any, ...]:
        members = self.layout.members_of(type_)
        if len(members) > MOST_MEMBERS:
            raise Foreign
        boxed = [member for member, _ in members if member.boxed]
        described = []
        for member, member_type in members:
            tag = boxed.index(member) if member.boxed else NOWHERE
            described.append((self._node(member_type, True), len(member.kinds), tag))
        return UNION, bool(boxed) and boxed[0].tagged, tuple(described)

    def _symbol(self, own: Symbol) -> tuple[Any, ...]:
        role = _ROLES.get(own)
        if role is not None:
            return ATOM, role, None, None, own, False
        record = RECORDS.get(own)
        if record is None:
            return ATOM, OF_NAME, None, intern(own.name), own, False
        if issubclass(record.kind, _NO_RECORDS):
            raise Foreign
        names = tuple([intern(name) for name in record.fields])
        return ATOM, OF_RECORD, record.kind, names, own, record.is_tuple


def form_of(types: Types, type_: Type) -> tuple[str, list[Type]]:
    """The form of a type, and its leaves, as of `Structure`."""
    form, leaves, work = list[str](), list[Type](), [type_]
    while work:
        type_ = types.canonical(work.pop())
        if type_.kind == "pair":
            form.append(A_PAIR)
            work += reversed(type_.parts)
        elif type_.kind == "constant" and (type_.of == NIL or type(type_.of) is Symbol):
            form.append(THE_END if type_.of == NIL else A_SYMBOL)
        else:
            form.append(A_UNION if type_.kind == "union" else A_PART)
            leaves.append(type_)
    return "".join(form), leaves


def form_of_operands(types: Types, operands: Sequence[Type]) -> tuple[str, list[Type]]:
    """The same for arguments, by the tuple rule."""
    found = [form_of(types, operand) for operand in operands]
    *before, (last, _) = found
    form = "".join([*[A_PAIR + one for one, _ in before], last])
    return form, [leaf for _, leaves in found for leaf in leaves]


def passed_numbers(types: Types, operands: Sequence[Type]) -> list[Type] | None:
    """The types of the words of operands, if these consist of reals, tensors and fixed numbers."""
    _, leaves = form_of_operands(types, operands)
    if not all(is_number(one) or is_fixed(one) or is_length(one) for one in leaves):
        return None
    return [one for one in leaves if not is_fixed(one)]


def is_number(type_: Type) -> bool:
    return bool(type_.kind == "real" or is_tensor(type_))


def is_length(type_: Type) -> bool:
    """Is it a number that is an extent, which operands determine?"""
    return type(type_.of) is Extent


def is_constant(type_: Type) -> bool:
    return type_.kind == "constant" and type(type_.of) is float


def is_fixed(type_: Type) -> bool:
    """Is the operand a number that is not passed? Zeros of both signs are equal, and nan is equal to no number, so these are left
    to the general path.
    """
    return is_constant(type_) and type_.of != 0 and not math.isnan(type_.of)
