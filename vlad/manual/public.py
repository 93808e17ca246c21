"""Documentation of names of the Python interface: `vlad doc vlad.grad`, `vlad doc vlad.Session.eval`.

In: such a name.  Out: text. Called by help.py. This module contains no documentation: each text is the object's docstring,
which Python's `help` shows as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from vlad.evaluate.limits import LIMITS

PACKAGE = "vlad"
# The public members of classes that have further members for the package itself.
FOR_USERS: dict[str, tuple[str, ...]] = {
    f"{PACKAGE}.Procedure": ("session",),
    f"{PACKAGE}.Limits": LIMITS,
    f"{PACKAGE}.Debugger": (
        "break_at", "break_on", "clear", "close", "evaluate", "find_nan", "keep_errors", "resting", "retrace", "stepping",
        "trace", "untrace",
    ),
}  # fmt: skip


def public_names() -> list[str]:
    """The names that `import vlad` provides, with their prefix."""
    return [f"{PACKAGE}.{name}" for name in import_module(PACKAGE).__all__ if not name.startswith("_")]


def members(name: str) -> list[str]:
    """The members of a class, by its public name; none for any other name."""
    value = _value(name)
    if not isinstance(value, type) or issubclass(value, Exception):
        return []
    chosen = FOR_USERS.get(name) or [member for member in dir(value) if not member.startswith("_")]
    return [f"{name}.{member}" for member in chosen]


def is_public(name: str) -> bool:
    """Whether it belongs to the Python interface: the package, a name of it, or a member of such a class."""
    head = name.rpartition(".")[0]
    return name == PACKAGE or name in public_names() or (head in public_names() and name in members(head))


def public_lines(name: str) -> Iterator[str]:
    """The documentation of a name for which `is_public` holds."""
    value = _value(name)
    yield f"{name}{_signature(name, value)}    Python: {_kind(value)}"
    yield ""
    yield from [f"  {line}".rstrip() for line in (inspect.getdoc(value) or "").splitlines()]
    inside = public_names() if name == PACKAGE else members(name)
    if inside:
        yield ""
        width = max([len(each) for each in inside])
        yield from [f"  {each:{width}}  {_first_sentence(each)}".rstrip() for each in inside]


def _value(name: str) -> Any:
    """The object of a name."""
    _, *path = name.split(".")
    value: Any = import_module(PACKAGE)
    for part in path:
        value = getattr(value, part)
    return value


def _kind(value: Any) -> str:
    if isinstance(value, ModuleType):
        return "the package"
    if isinstance(value, type):
        return "an exception" if issubclass(value, Exception) else "a class"
    return "a function" if callable(value) else "an attribute"


def _signature(name: str, value: Any) -> str:
    """The signature without types; empty if programs do not call it."""
    if not callable(value) or name == f"{PACKAGE}.Procedure":
        return ""
    found = inspect.signature(value)
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
        if parameter.name != "self"
    ]
    return str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def _first_sentence(name: str) -> str:
    words = " ".join((inspect.getdoc(_value(name)) or "").split())
    end = words.find(". ")
    return words if end < 0 else words[: end + 1]
