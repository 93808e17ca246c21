"""`vlad.build` for Python: a procedure as a library of C.

In: a procedure, or a translated Python function, and the arguments of a call.  Out: a shared library and its header
(compile/programs/export.py). A library's functions take numbers: each number in the arguments becomes a parameter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from vlad.compile.emit.c_text import identifier
from vlad.compile.programs.export import Wanted, library_text
from vlad.compile.programs.whole import Steps
from vlad.data.errors import VladError, WrongOption
from vlad.data.source import Source
from vlad.data.tensors import is_array
from vlad.data.values import Value
from vlad.python.convert import Procedure, from_python
from vlad.python.derivatives import (
    Derived,
    Gradient,
    Hessian,
    Jacobian,
    ValueAndGradient,
    session_procedure,
)
from vlad.python.handles import Record
from vlad.python.structures import head_of, parts_of, tuple_of
from vlad.session import differentiating  # noqa: F401 - it takes plain functions
from vlad.session.files import Path
from vlad.session.programs import write_built

SUFFIXES: dict[type, str] = {
    Gradient: "gradient",
    Hessian: "hessian",
    Jacobian: "jacobian",
    ValueAndGradient: "value_and_gradient",
}
MOST_NUMBERS = 64  # in all arguments: each is a parameter in C


def build(
    f: Any,
    *example: Any,
    path: Path,
    name: str | None = None,
    derivatives: bool = False,
    native: bool = False,
) -> list[str]:
    """Build a library of C of a procedure, with a header beside it: `vlad build --lib`, from Python.

    f            a translated Python function (`vlad.function`), a procedure of a session, or a result of `vlad.grad` and its kin
    example      the arguments of a call. Each number in them becomes a parameter of type double: `x` is `x`, a list `xs` of two
                 is `xs_0` and `xs_1`, a dict `p` with a key `w` is `p_w`. Whatever is no number keeps the value that it has
                 here. A parameter with a default may be left out: it is a parameter in C all the same
    path         the library; the header has the same name with the suffix `.h`
    name         that of the function in C; by default the procedure's, with `_gradient` and the like
    derivatives  also export its derivatives, forward (`_jvp`) and reverse (`_vjp`)
    native       use all instructions of this machine's processor

    Returns the written files. Raises VladError with the reason if that is impossible.
    """
    f = session_procedure(f, "built")
    output = os.fspath(path)
    session = f.session
    f.renewed()
    arguments = f.completed(example, {})
    taken = f.taken()
    if not taken.takes_as_many(len(arguments)):
        raise VladError(
            "wrong-number-of-arguments",
            f"{f.__name__} takes {taken.takes}, and the example has {len(arguments)}",
            f.place(),
        )
    f.renewed_for(arguments)  # a record among them may be of a class that nothing has used before
    names, values, body = _Names(), [f.value], []
    for parameter, argument in zip(
        [*taken.parameters, *taken.parameters[-1:] * len(arguments)], arguments, strict=False
    ):
        body.append(_expression(argument, parameter, names, values, f))
    if not names.given:
        raise VladError(
            "not-exported", f"`{f.__name__}` cannot be exported: there is no number in the example", f.place()
        )
    own = " ".join([f"x{index}" for index in range(1, len(names.given) + 1)])
    text = f"(lambda ({own}) (f {' '.join(body)}))"
    with session._lock:
        return _built(f, text, values, names.given, name or _name(f), output, derivatives, native)


class _Names:
    """The names of the parameters in C, one for each number."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def add(self, name: str) -> str:
        self.given.append(name)
        return f"x{len(self.given)}"


def _expression(value: Any, name: str, names: _Names, values: list[Value], f: Procedure) -> str:
    """An argument as an expression of the language, made of parameters."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)  # of NumPy's numbers, some are
    if is_array(value) and not is_number:
        raise VladError(
            "not-exported",
            f"`{f.__name__}` cannot be exported: its argument {name} is an array",
            f.place(),
            hint="a function of a library takes numbers: pass a list of a few, and make the array in the function",
        )
    given = from_python(value, f._apply)
    if is_number:
        if len(names.given) == MOST_NUMBERS:
            raise VladError(
                "not-exported",
                f"`{f.__name__}` cannot be exported: its arguments have more than {MOST_NUMBERS} numbers",
                f.place(),
            )
        return names.add(name)
    parts = _parts(value)
    if not parts:
        values.append(given)
        return f"c{len(values) - 1}"
    own = [_expression(part, f"{name}_{_OTHERS.sub('_', key)}", names, values, f) for key, part in parts]

    def constant(value: Value) -> str:
        values.append(value)
        return f"c{len(values) - 1}"

    if isinstance(value, Record):
        return f"(with-environment {constant(given)} (list {' '.join(own)}))"
    is_of_python = f._apply.is_of_python
    if isinstance(value, dict):
        pairs = parts_of(given[1] if is_of_python else given, len(own) + 1)[:-1]
        own = [f"(cons {constant(pair[0])} {part})" for pair, part in zip(pairs, own, strict=True)]
    if isinstance(value, list | dict):
        made = f"(list {' '.join(own)})"
    elif isinstance(value, tuple) or not is_of_python:
        made = f"(cons* {' '.join(own)}{_TUPLE_END if is_of_python or len(own) == 1 else ''})"
    else:
        made = f"(list {' '.join(own)})"
    return f"(cons {constant(given[0])} {made})" if is_of_python and head_of(given) is not None else made


def _parts(value: Any) -> list[tuple[str, Any]]:
    """The parts of an argument, with their names."""
    if isinstance(value, Record):
        return [(field, getattr(value, field)) for field in dir(value)]
    if isinstance(value, dict):
        return [(str(key), part) for key, part in value.items()]
    if isinstance(value, list | tuple) and not hasattr(type(value), "_fields"):
        return [(str(index), part) for index, part in enumerate(value)]
    names: Iterable[str] = (
        *getattr(type(value), "_fields", ()),
        *getattr(type(value), "__dataclass_fields__", ()),
    )
    return [(name, getattr(value, name)) for name in names]


_OTHERS = re.compile(r"[^A-Za-z0-9]+")  # than characters of names in C
_TUPLE_END = " '%tuple"


def _name(f: Procedure) -> str:
    """`f_gradient` for the gradient of f."""
    kinds = []
    while isinstance(f, Derived):
        kinds.append(SUFFIXES.get(type(f), "derivative"))
        f = f.of
    own = f.__name__
    return "_".join([own if own.isidentifier() else "f", *kinds[::-1]])


def _built(
    f: Procedure,
    text: str,
    values: list[Value],
    parameters: list[str],
    name: str,
    output: str,
    derivatives: bool,
    native: bool,
) -> list[str]:
    session = f.session
    top_level, machine = session._top_level, session.machine
    if not isinstance(name, str) or identifier(name) != name:
        raise WrongOption("invalid-argument", f"name is a name of C, not {name!r}")

    def procedure(text: str, f: Value) -> Value:
        made = top_level.procedure(["f"], Source("<export>", text), top_level.library)
        return machine.apply(made, f)

    free = ["f", *[f"c{index}" for index in range(1, len(values))]]
    maker = top_level.procedure(free, Source("<export>", text), top_level.library)
    value = machine.apply(maker, tuple_of(values))
    wanted = Wanted(
        name, value, f.place(), lambda text: procedure(text, value), derivatives, tuple(parameters)
    )
    base = identifier(os.path.basename(output).partition(".")[0])
    made, header = library_text(machine, Steps([], [], []), [wanted], base)
    return write_built(session.tiers, made, output, header, f.__name__, native)
