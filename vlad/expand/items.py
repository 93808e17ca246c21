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


@dataclass(frozen=True, slots=True, eq=False)
class Include:
    path: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Import:
    path: str
    prefix: str | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Export:
    names: tuple[str, ...]
    span: Span


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
