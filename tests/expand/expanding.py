"""Shared helpers of the expander's tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import vlad
from vlad.core.check import check
from vlad.core.names import make_lambda
from vlad.core.nodes import Body, Variable
from vlad.core.text import print_core
from vlad.data.source import Source
from vlad.data.write import written
from vlad.expand.forms import expand_form
from vlad.expand.items import Definition, Expression, Item, top_level_forms
from vlad.expand.scope import Module
from vlad.primitives.table import TABLE
from vlad.reader.parser import read


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Python frames without a limit, as the session allows them."""
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(old)


def items(text: str, module: Module | None = None) -> list[Item]:
    """Everything that a text expands to, in a module of its own; each body is well-formed core without free variables."""
    module = module or Module("test", None, TABLE)
    found: list[Item] = []
    for form in top_level_forms(read(Source("test.vlad", text))):
        found += expand_form(form, module)
    for item in found:
        if isinstance(item, Definition | Expression):
            closed(item.body)
    return found


def closed(body: Body) -> None:
    lambda_ = make_lambda((Variable("nothing"),), body)
    assert not lambda_.free
    check(lambda_, "expanding")


def core(text: str) -> str:
    """The core of each definition and expression, each on a line."""
    lines = []
    for item in items(text):
        if isinstance(item, Definition | Expression):
            shown = " ".join(print_core(item.body).split())
            lines.append(f"{item.cell.name} = {shown}" if isinstance(item, Definition) else shown)
    return "\n".join(lines)


def printed(text: str) -> list[str]:
    """The output of a program."""
    output: list[str] = []
    session = vlad.Session(write=output.append)
    session.run_text(text, "test.vlad")
    return "".join(output).splitlines()


__all__ = ["core", "deep_recursion", "items", "printed", "written"]
