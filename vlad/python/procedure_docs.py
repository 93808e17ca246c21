"""Documentation of a procedure for Python: its name, its parameters, its doc comment, and its place.

In: procedures.  Out: texts, and signatures as in `inspect`. Called by convert.py on access, as passing a procedure
to Python must cost nothing.

A doc comment is the lines of `;;;` right above a definition, as in the library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from vlad.data.source import Span
from vlad.data.values import Code, Value, is_procedure, look
from vlad.data.write import written
from vlad.expand.arity import NAMELESS, Signature, signature

if TYPE_CHECKING:
    import inspect

MARK = ";;;"
LONGEST_TEXT = 100  # characters of a procedure without a name


def code_of(value: Value) -> Code:
    """The code of a procedure, or of the one passed to `with-derivative`."""
    while value[0] is value[0].machine.codes.get("with-derivative"):
        inner = look(value[1])
        if not is_procedure(inner):  # a forged one
            break
        value = inner
    code: Code = value[0]
    return code


def headline(value: Value) -> str:
    """The procedure in one line: its call and its place; a value of derivatives, such as a backpropagator, as it
    is written.
    """
    code = code_of(value)
    if code.is_derived:
        return written(value, LONGEST_TEXT)
    taken, place = signature(code.machine, code), place_of(code)
    text = taken.text
    if taken.name == NAMELESS:
        inner = text[1:-1] if text.startswith("(") else f". {text}"
        text = f"(λ {inner})" if inner else "(λ)"
    return text if place is None else f"{text} at {place}"


def place_of(code: Code) -> Span | None:
    """The place of the definition; None if no program wrote it."""
    place: Span | None = code.machine.core_of(code.base).span
    return place


def doc_of(value: Value) -> str:
    """The doc comment of a procedure, or the line of a primitive; without one, its headline."""
    code = code_of(value)
    if code.primitive is not None:
        return str(code.primitive.doc)
    place = None if code.is_derived else place_of(code)
    comment = None if place is None else doc_comment(place, code.name)
    return comment or headline(value)


def doc_comment(place: Span, name: str) -> str | None:
    """The comment above the definition of `name` that contains `place`; None if there is none."""
    text = place.source.text
    definition = re.compile(rf"^[ \t]*\(define[ \t]+\(*{re.escape(name)}[\s()]", re.MULTILINE)
    starts = [
        found.start() for found in definition.finditer(text, 0, place.end) if found.start() <= place.start
    ]
    if not name or not starts:
        return None
    lines = []
    for line in reversed(text[: starts[-1]].splitlines()):
        if not line.lstrip().startswith(MARK):
            break
        lines.append(line.lstrip().lstrip(";").removeprefix(" "))
    return "\n".join(reversed(lines)) or None


def python_signature(taken: Signature, named: Mapping[str, Any]) -> inspect.Signature:
    """The positional parameters, and the keyword ones with their defaults. Names are converted to
    Python's; a pattern becomes `argument`.
    """
    from inspect import Parameter  # 10 ms, only on access
    from inspect import Signature as PythonSignature

    kinds: list[Any] = [Parameter.POSITIONAL_ONLY] * taken.count
    if taken.rest:
        kinds[-1] = Parameter.VAR_POSITIONAL
    parameters = [Parameter(name, kind) for name, kind in zip(python_names(taken), kinds, strict=True)]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in named.items()
    ]
    return PythonSignature(parameters)


def python_name(name: str) -> str:
    """A name in Python's spelling: `learning-rate` becomes learning_rate."""
    return re.sub(r"\W", "_", name)


def python_names(taken: Signature) -> list[str]:
    """The parameters' names, made unique."""
    names: list[str] = []
    for number, parameter in enumerate(taken.parameters, 1):
        name = python_name(parameter)
        if parameter.startswith("(") or not name.strip("_"):
            name = f"argument{number}"
        if iskeyword(name) or not name.isidentifier():
            name = f"_{name}" if name[0].isdigit() else f"{name}_"
        while name in names:
            name += "_"
        names.append(name)
    return names
