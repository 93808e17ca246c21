"""Standalone programs, for `vlad build`; and code shared with libraries.

In: the steps of a program.  Out: its C text. Called by session.py, and by export.py for a library. Raises VladError if the
program cannot stand alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vlad.compile.analysis.abstract_interpreter import Instance
from vlad.compile.analysis.strategy import Settled, Strategy, fit
from vlad.compile.emit import c_unit
from vlad.compile.ir.program import Fail, Failure, Function, Invoke, Program, TailInvoke, blocks
from vlad.compile.passes.order import improved
from vlad.compile.programs.guards import refuse_caught_failures
from vlad.compile.programs.whole import Steps, Whole, check_order, settled
from vlad.data.errors import VladError
from vlad.data.source import Span, in_library

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine


def program_text(machine: Machine, steps: Steps) -> str:
    """The C text of a standalone program. Raises VladError."""

    def attempt(strategy: Strategy) -> tuple[str, Settled]:
        whole = Whole(machine, steps, strategy)
        program = standalone(whole)
        return c_unit.emit_program(program, error_text), fit(program, whole.analysis.types)

    return settled(attempt)


def standalone(whole: Whole, *others: Instance) -> Program:
    """Optimised first-order code: the steps, then the other entries. Raises Unbounded or VladError."""
    program = whole.program(*others)
    check_order(whole, program)
    refuse_caught_failures(program)
    _name_places(program)
    return improved(program, whole.layout)


def error_text(fail: Fail) -> str:
    """An error message of the program, in which character 1 stands for texts known only at run time."""
    if fail.about in (Failure.RAISED, Failure.REFUSED):
        return str(VladError("user-error", "\1", fail.span))
    hint = "read-real takes a number" if fail.about is Failure.INPUT else None
    return str(VladError("failed", fail.what, fail.span, hint=hint))


def _name_places(program: Program) -> None:
    """Set the place of errors in the library's procedures, and in primitives called as values, to the place in the program
    that leads to them, if it is unique.
    """
    calls: dict[Function, dict[str, tuple[Function, Span | None]]] = {}
    for function in program.functions:
        for block in blocks(function.body):
            for node in (*block.statements, block.end):
                if isinstance(node, Invoke | TailInvoke):
                    calls.setdefault(node.function, {})[str(node.span)] = function, node.span
    for function in program.functions:
        for block in blocks(function.body):
            if type(block.end) is Fail:
                block.end.span = _only_place(function, block.end.span, calls)


def _only_place(
    function: Function,
    span: Span | None,
    calls: Mapping[Function, Mapping[str, tuple[Function, Span | None]]],
) -> Span | None:
    own, seen = span, {function}
    while own is None or in_library(own):
        found = [*calls.get(function, {}).values()]
        if len(found) != 1 or found[0][0] in seen:
            return span
        function, own = found[0]
        seen.add(function)
    return own
