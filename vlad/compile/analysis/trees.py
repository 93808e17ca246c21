"""Operands that are trees: calls with trees of different shapes share one recursive type, and so one compiled variant.

In: an operand.  Out: whether it is a tree; a mark that its shape does not matter. The first variant of a procedure is for one
shape, which is faster, and right for structures of parameters, unless the operand is plainly a tree, for one shape of
which a gradient of hundreds of lines would be compiled in vain; variant_compiler.py marks an operand that has another
shape in a later call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import final

from vlad.data.records import DICT
from vlad.data.tensors import Tensor
from vlad.data.values import NIL, RECORDS, String, Symbol, Value, is_pair, is_procedure, look

FEWEST_LEVELS = 4  # of lists in lists: a structure of fewer levels may be an array
# Lists, and forms of those that have both lists and atoms as elements: parameters have fewer, or lists that are alike.
FEWEST_LISTS, FEWEST_FORMS = 12, 4
MOST_SEEN = (
    1000  # elements of an operand that tell whether it plainly is a tree: it may be a list of millions
)
MOST_LEVELS = 2000  # of data in a program: to compile one takes a tenth of a millisecond


@final
@dataclass(frozen=True, slots=True)
class Tree:
    """An operand whose shape does not matter."""

    value: Value


def nodes(value: Value, most: float = inf) -> Iterator[tuple[list[Value], Value, int]]:
    """The lists of a structure, each as its elements, its end and its level; once, if shared. An atom is the end of a list
    without elements. After `most` elements, what remains of a list is its end."""
    seen: set[int] = set()
    work = [(look(value), 0)]
    while work:
        value, level = work.pop()
        if is_pair(value):
            if id(value) in seen:
                continue
            seen.add(id(value))
        elements = []
        while is_pair(value) and most > 0:
            elements.append(look(value[0]))
            value = look(value[1])
            most -= 1
        yield elements, value, level
        work += [(element, level + 1) for element in reversed(elements)]


def is_deep(value: Value) -> bool:
    """Does a structure have so many levels that to follow them takes longer than a program that reads it does?"""
    return any(level > MOST_LEVELS for _, _, level in nodes(value))


def keys_of_chain(value: Value) -> int:
    """The number of first pairs that are no part of a list, however long it is: dicts, items of dicts and records begin with a
    symbol."""
    return int(is_pair(value) and type(look(value[0])) is Symbol)


def is_tree(value: Value) -> bool:
    """Has a list both lists and atoms as elements, or are there many levels? Nothing with a dict or a record in it is a tree: one
    type of all parts would not tell the symbols in these from structures."""
    is_mixed = False
    for elements, end, level in nodes(value):
        parts = elements if end is NIL else [*elements, end]
        if any(part is DICT or part in RECORDS for part in parts if type(part) is Symbol):
            return False
        is_mixed |= level >= FEWEST_LEVELS or len({is_pair(part) for part in parts}) > 1
    return is_mixed


def is_plainly_tree(value: Value) -> bool:
    """Is this a tree, whatever the shape of the next operand? It has many lists, of several forms on each level, and no parts
    that are rather parameters, such as procedures, parts with a name, and tensors of different shapes."""
    count, forms, shapes = 0, set(), set()
    for elements, end, level in nodes(value, MOST_SEEN):
        parts = elements if end is NIL else [*elements, end]
        if elements and type(elements[0]) in (Symbol, String):  # a record, a dict, or an item of one
            return False
        for part in parts:
            if is_procedure(part):
                return False
            if type(part) is Tensor:
                shapes.add(part.shape)
        form = tuple([is_pair(part) for part in parts])
        if len(set(form)) > 1:
            forms.add((level, form))
        count += bool(elements)
    return count >= FEWEST_LISTS and len(forms) >= FEWEST_FORMS and len(shapes) <= 1
