"""Shared by type rules that take values apart: `w` is the compiler's AbstractInterpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.core.extents import Extent
from vlad.core.types import is_real
from vlad.data.values import FALSE

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def with_kinds(name: str, kinds: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for operands that are strings (s) or reals (r), at least one of them not constant; constants are folded."""

    def abstract(w: AbstractMachine, *operands: Any) -> Any:
        return after(w, operands, ())

    def after(w: AbstractMachine, operands: tuple[Any, ...], seen: tuple[Any, ...]) -> Any:
        """The rule for each combination of members of the operands after those in `seen`."""
        index = len(seen)
        if index == len(operands):
            is_known = all(operand.type.kind == "constant" for operand in seen)
            return w.folded(w.machine.table[name], seen) if is_known else rule(w, *seen)

        def one(x: Any) -> Any:
            fits = x.type.head == "string" if kinds[index] == "s" else is_real(x.type)
            # an extent's text is known in a call only
            known = w.unknown_real(x) if type(x.type.of) is Extent else x
            return after(w, operands, (*seen, known)) if fits else w.invalid(name)

        return w.each(operands[index], one, f"operand {index}")

    return abstract


def scalar(w: AbstractMachine, name: str, *operands: Any) -> Any:
    return w.scalar(w.machine.table[name], list(operands))


def choose(w: AbstractMachine, key: Any, test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    if test.type.kind == "constant":
        return no() if test.type.of is FALSE else yes()
    w.key = key
    return w.branch(key, test, yes, no, False)


def is_nil(x: Any) -> bool:
    return bool(x.type.kind != "pair")


def cons(w: AbstractMachine, character: Any, rest: Any) -> Any:
    return rest and w.pair(character, rest)
