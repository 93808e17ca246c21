"""What passes over loops share: the parts of statements and values, and rewriting by them.

In: statements, values.  Out: their parts; statements with other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from vlad.compile.loops.ir import (
    LEAVES,
    Accumulate,
    Address,
    Assign,
    Body,
    Element,
    For,
    If,
    Lane,
    Let,
    Local,
    Nest,
    Position,
    Prefetch,
    Scalar,
    Scope,
    Speculate,
    Spread,
    Statement,
    StoreElement,
    Value,
    Variables,
    Versions,
)
from vlad.core.expressions import Expression, Name, parts

NESTING = frozenset({For, Scope, If, Versions, Speculate})  # statements that contain others


def inner_bodies(statement: Statement) -> Sequence[Body]:
    if type(statement) not in NESTING:
        return ()
    match statement:
        case For() | Scope():
            return (statement.body,)
        case If():
            return statement.consequent, statement.alternative
        case Versions():
            return *[body for _, body in statement.cases], statement.otherwise
        case Speculate():
            return *[body for _, body in statement.attempts], statement.otherwise
    return ()


def with_bodies(statement: Statement, found: Sequence[Body]) -> Statement:
    """The statement with other bodies; itself if these are its own."""
    if all(one is other for one, other in zip(inner_bodies(statement), found, strict=True)):
        return statement
    match statement:
        case For() | Scope():
            return replace(statement, body=found[0])
        case If():
            return If(statement.test, *found)
        case Versions():
            cases = zip([condition for condition, _ in statement.cases], found, strict=False)
            return Versions(tuple(cases), found[-1])
        case Speculate():
            attempts = zip([condition for condition, _ in statement.attempts], found, strict=False)
            return replace(statement, attempts=tuple(attempts), otherwise=found[-1])
    return statement


def with_body(nest: Nest, body: Body) -> Nest:
    """The nest with another body; itself if this is its own."""
    return nest if body is nest.body else replace(nest, body=body)


def statements(body: Body) -> Iterator[Statement]:
    """All statements, nested ones included, in the order of the text."""
    for statement in body:
        yield statement
        if type(statement) in NESTING:
            for inner in inner_bodies(statement):
                yield from statements(inner)


def mapped(body: Body, change: Callable[[Statement], Sequence[Statement]]) -> Body:
    """Each statement replaced by others, the inner ones first."""
    found: list[Statement] = []
    for statement in body:
        inner = inner_bodies(statement)
        changed = with_bodies(statement, [mapped(one, change) for one in inner]) if inner else statement
        found += change(changed)
    return body_of(found, body)


def body_of(found: Sequence[Statement], body: Body) -> Body:
    """These statements as a body; `body` itself if they are its own."""
    is_same = len(found) == len(body) and all(one is other for one, other in zip(found, body, strict=True))
    return body if is_same else tuple(found)


def is_innermost(statement: Statement) -> bool:
    return type(statement) is For and not any(type(one) is For for one in statements(statement.body))


def values_of(statement: Statement) -> Sequence[Value]:
    """The expressions of a statement itself."""
    match statement:
        case Let():
            return (statement.value,)
        case Variables():
            return () if statement.start is None else (statement.start,)
        case Local():
            return () if statement.start is None else (statement.start,)
        case Assign():
            return (statement.value,)
        case StoreElement():
            return statement.entry, statement.value
        case Accumulate():
            return statement.target, statement.value
        case For():
            ends = [statement.begin, statement.end, statement.step]
            return [one for one in ends if one is not None and type(one) is not int]
        case If():
            return (statement.test,)
        case Speculate():
            return (statement.far,)
        case Prefetch():
            return (statement.entry,)
    return ()


def within(value: Value) -> Iterator[Value]:
    """A value and all its parts."""
    yield value
    match value:
        case Element():
            yield value.position
        case Spread():
            yield from within(value.value)
        case Address():
            yield from within(value.entry)
        case Position() | Scalar() | Lane():
            pass
        case _:
            for part in parts(value):
                yield from within(part)


def operands_of(value: Value) -> Sequence[Expression]:
    """The operands of an operation; none for other values."""
    return () if isinstance(value, LEAVES) else parts(value)


def names_in(value: Value) -> Iterator[str]:
    """The variables in a value."""
    for one in within(value):
        match one:
            case Name():
                yield one.name
            case Position():
                yield from [name for name, _ in (*one.strides, *one.at)]
            case Lane():
                yield from (one.vector, one.index)


def retargeted(body: Body, targets: Mapping[str, Name | Element]) -> Body:
    """A body that accumulates elsewhere what it accumulated in some variables."""

    def change(statement: Statement) -> Sequence[Statement]:
        if (
            type(statement) is Accumulate
            and type(statement.target) is Name
            and statement.target.name in targets
        ):
            return [replace(statement, target=targets[statement.target.name])]
        return [statement]

    return mapped(body, change)
