"""Example arguments of procedures, for `vlad show` and `vlad check`: the expressions of a text.

In: a text, as a user gives it with `--with`.  Out: its expressions, or their values as operands of a procedure. Called by
showing.py and programs.py. Imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterable

from vlad.compile.calling.policy import operands_of
from vlad.data.errors import VladError
from vlad.data.source import Source
from vlad.data.values import Code, Value
from vlad.expand.arity import Signature, signature
from vlad.expand.items import Expression
from vlad.messages.spelling import among
from vlad.python.structures import tuple_of
from vlad.session.top_level import TopLevel

OPTION = "--with"  # the name of the text in messages


def example_items(top_level: TopLevel, text: str) -> list[Expression]:
    """The expressions of a text. Raises VladError if it has none, or something else."""
    found = []
    for item in top_level.items(Source(OPTION, text), top_level.module):
        if not isinstance(item, Expression):
            raise VladError(
                "invalid-argument", "This is no expression", getattr(item, "span", None),
                hint=f"{OPTION} takes the arguments of a procedure",
            )  # fmt: skip
        found.append(item)
    if not found:
        raise VladError(
            "invalid-argument",
            f"There are no arguments in {OPTION}",
            hint=f'{OPTION} "(ones \'(3 2))", for example',
        )
    return found


def example_values(top_level: TopLevel, text: str) -> list[Value]:
    """The values of the expressions of a text."""
    return [top_level.execute(item, top_level.module, None) for item in example_items(top_level, text)]


def example_uses(
    top_level: TopLevel, codes: list[Code], text: str, is_wanted: bool
) -> dict[Code, tuple[Value, ...]]:
    """The values of the expressions of a text as operands of each procedure that takes so many. Raises VladError if none does;
    `is_wanted`: the one procedure was named."""
    values = example_values(top_level, text)
    found = {}
    for code in codes:
        taken = signature(top_level.machine, code)
        operands = operands_of(code, tuple_of(values)) if taken.takes_as_many(len(values)) else None
        if operands is not None:
            found[code] = operands
        elif is_wanted:
            raise wrong_examples(taken, len(values))
    if codes and not found:
        count = f"{len(values)} argument{'s' if len(values) > 1 else ''}"
        raise VladError(
            "wrong-number-of-arguments", f"No procedure of the file takes {count}, as {OPTION} gives"
        )
    return found


def no_procedure(name: str, file: str, known: Iterable[str] = ()) -> VladError:
    """The error of a name that a file does not define, as a procedure. `known`: names that it defines."""
    message = f"No procedure of that name in {file}: {name}"
    return VladError("unbound-variable", message, hint=among(name, {one: one for one in known}))


def wrong_examples(taken: Signature, count: int) -> VladError:
    """The error of another number of example arguments than a procedure takes."""
    return VladError(
        "wrong-number-of-arguments",
        f"{taken.name} takes {taken.takes} and {OPTION} gives {count}",
        hint=f"its parameter list is {taken.text}",
        name=taken.name,
    )
