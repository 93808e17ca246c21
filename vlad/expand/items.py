"""The items of a top-level form, which the session executes.

Made by forms.py; bodies have no free variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from vlad.core.nodes import Body
from vlad.data.source import Span
from vlad.data.values import Global
from vlad.reader.parser import Name, Syntax


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """`is_import`: the name gets the value of a module's name."""

    cell: Global
    body: Body
    span: Span
    is_import: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    body: Body
    span: Span


class Include:
    """A plain class, as the next two: a dataclass would cost every start."""

    __slots__ = ("path", "span")

    def __init__(self, path: str, span: Span) -> None:
        self.path = path
        self.span = span


class Import:
    __slots__ = ("path", "prefix", "span")

    def __init__(self, path: str, prefix: str | None, span: Span) -> None:
        self.path = path
        self.prefix = prefix
        self.span = span


class Export:
    __slots__ = ("names", "span")

    def __init__(self, names: tuple[str, ...], span: Span) -> None:
        self.names = names
        self.span = span


Item: TypeAlias = Definition | Expression | Include | Import | Export


def top_level_forms(data: Iterable[Syntax]) -> Iterator[Syntax]:
    """The forms of a program, without each `===>` and the datum after it, which is a test driver's expectation."""
    skip = False
    for item in data:
        if skip:
            skip = False
        elif isinstance(item, Name) and item.symbol.name == "===>":
            skip = True
        else:
            yield item
