"""Checks the grammar of the loop language, which the result of every pass satisfies.

In: the loops of a kernel, or a function for a GPU.  Out: nothing, or AssertionError. Every variable is bound where it is read,
and only `Variables` are changed; reals are computed from reals of their kind; operands are not written to; loops marked as
parallel are innermost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vlad.compile.loops.ir import (
    BLOCK_INDEX,
    COMBINES,
    ENTRIES,
    THREAD_INDEX,
    VECTORS,
    Accumulate,
    Assign,
    Body,
    For,
    GridFunction,
    Let,
    Loops,
    Scope,
    Speculate,
    Statement,
    StoreElement,
    Thread,
    Value,
    Variables,
)
from vlad.compile.loops.walking import inner_bodies, is_innermost, names_in, values_of
from vlad.core.expressions import Binary, Name, Unary


def check(loops: Loops, name: str) -> None:
    """`name`: the name of the pass whose result this is."""
    nests = [Scope(nest.body) for nest in loops.nests]
    _check_body((*loops.declared, *nests, *loops.converted), {}, set(), name)


def check_function(function: GridFunction, name: str) -> None:
    """The same for a function for a GPU; `pass` is the number of the run."""
    kinds = dict.fromkeys((BLOCK_INDEX, THREAD_INDEX, "pass"), "index")
    _check_body(function.nest.body, kinds, set(), name)


def _check_body(body: Body, known: dict[str, str], changing: set[str], name: str) -> None:
    known, changing = dict(known), set(changing)
    for statement in body:
        for value in values_of(statement):
            missing = set(names_in(value)) - known.keys() - _own(statement)
            assert not missing, f"{name}: {sorted(missing)} in {statement}"
        _check_statement(statement, changing, name)
        inner, changed = dict(known), set(changing)
        match statement:
            case Let():
                _check_kinds(statement, known, name)
                known[statement.name] = statement.kind
                changing.discard(statement.name)
            case Variables():
                known.update(dict.fromkeys(statement.names, statement.kind))
                changing.update(statement.names)
            case Thread():
                known[statement.name] = "index"
            case For():
                inner[statement.index] = "index"
            case Speculate():
                inner[statement.flag] = "flag"
                changed.add(statement.flag)
        for own in inner_bodies(statement):
            _check_body(own, inner, changed, name)


def _check_kinds(let: Let, known: Mapping[str, str], name: str) -> None:
    """Reals are computed from reals of their kind, vectors also from numbers of the kind of their entries."""
    if let.kind in VECTORS or let.kind in ENTRIES:
        for operand in _computed_of(let.value):
            assert known[operand] in (let.kind, ENTRIES.get(let.kind)), f"{name}: {operand} in {let}"


def _computed_of(value: Value) -> Iterator[str]:
    """The variables in sums, products and quotients, and in their negatives."""
    match value:
        case Binary(operator="+" | "-" | "*" | "/", left=left, right=right):
            for one in (left, right):
                yield from [one.name] if type(one) is Name else _computed_of(one)
        case Unary(operator="-", operand=operand):
            yield from [operand.name] if type(operand) is Name else _computed_of(operand)


def _own(statement: Statement) -> set[str]:
    """The variables that a statement binds in its own expressions."""
    return {statement.index} if type(statement) is For else set()


def _check_statement(statement: Statement, changing: set[str], name: str) -> None:
    match statement:
        case Assign():
            pass  # a real that is a result is declared outside
        case Accumulate():
            assert statement.combine in COMBINES, f"{name}: {statement}"
            if type(statement.target) is Name:
                assert statement.target.name in changing, f"{name}: {statement}"
        case StoreElement():
            assert not statement.entry.array.is_given, f"{name}: {statement}"
        case For() if statement.simd is not None:
            assert is_innermost(statement), f"{name}: {statement}"
