"""The grammar of the loop language, checked: what a pass must leave behind it.

In: a nest.  Out: nothing, or AssertionError. Every variable is known where it is read, and only those that change are changed;
numbers that are combined are of kinds; loops that may be taken in parallel are innermost.
"""

from __future__ import annotations

from vlad.compile.loops.ir import (
    COMBINES,
    Accumulate,
    Alias,
    Allocate,
    Assign,
    Body,
    For,
    Let,
    Local,
    Nest,
    Speculate,
    Statement,
    Store,
    Thread,
    Variables,
    inner_bodies,
    is_innermost,
    names_in,
    values_of,
)
from vlad.core.expressions import Name

OUTSIDE = ("pass", "blockIdx.x", "threadIdx.x")  # what a GPU's functions are given


def check(nest: Nest, name: str) -> None:
    """`name`: of the pass that made it."""
    changing = {variable for variable, _ in nest.gathered}
    _check_body(nest.body, {*changing, *OUTSIDE}, changing, name)


def _check_body(body: Body, known: set[str], changing: set[str], name: str) -> None:
    known, changing = set(known), set(changing)
    for statement in body:
        for value in values_of(statement):
            missing = set(names_in(value)) - known - _own(statement)
            assert not missing, f"{name}: {sorted(missing)} in {statement}"
        _check_statement(statement, changing, name)
        inner, changed = set(known), set(changing)
        match statement:
            case Let():
                known.add(statement.name)
                changing.discard(statement.name)
            case Variables():
                known.update(statement.names)
                changing.update(statement.names)
            case Local() | Alias() | Allocate():
                known.add(statement.array.name)
            case Thread():
                known.add(statement.name)
            case For():
                inner.add(statement.index)
            case Speculate():
                inner.add(statement.flag)
                changed.add(statement.flag)
        for own in inner_bodies(statement):
            _check_body(own, inner, changed, name)


def _own(statement: Statement) -> set[str]:
    """What a statement binds for its own expressions."""
    return {statement.index} if type(statement) is For else set()


def _check_statement(statement: Statement, changing: set[str], name: str) -> None:
    match statement:
        case Assign():
            pass  # a real that is answered is declared outside
        case Accumulate():
            assert statement.combine in COMBINES, f"{name}: {statement}"
            if type(statement.target) is Name:
                assert statement.target.name in changing, f"{name}: {statement}"
        case Store():
            assert not statement.entry.array.is_given, f"{name}: {statement}"
        case For() if statement.simd is not None:
            assert is_innermost(statement), f"{name}: {statement}"
