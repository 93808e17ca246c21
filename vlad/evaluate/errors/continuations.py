"""What is around code that runs by control entries: their calls leave no frames, but continuations, which have places.

In: a frame of emitted code, or an adapter's operands.  Out: the continuation there; the procedures whose rest it is, with
the places of their calls. Called by explain.py and miscounted.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vlad.control.safe_import import import_safely
from vlad.data.source import Span
from vlad.data.values import CONTROL, Code, Value, is_procedure, look
from vlad.evaluate.errors.replay import ReadFrame, Replay, emission_of
from vlad.primitives.reentry import TAKING

if TYPE_CHECKING:
    from vlad.evaluate.code_machine import CodeMachine

MOST_CALLS = 20  # that are shown


def takes_continuation(code: Code) -> bool:
    return code.transforms[:1] == (CONTROL,) or code is code.base.control


def continuation_in(machine: CodeMachine, frame: ReadFrame) -> Value:
    """The continuation of the code that runs in a frame; None if that has none."""
    emission = emission_of(frame)
    if emission is None:
        return None
    code, core = emission.code, machine.core_of(emission.code)
    takes_it = takes_continuation(code) or any(code is machine.codes[name] for name in TAKING)
    place = core.parameters[0] if takes_it else None
    if core.is_continuation:
        place = import_safely("vlad.ad.control").continuation_of(core)
    return None if place is None else Replay(machine, emission, frame.f_locals).value(place)


def calls_around(machine: CodeMachine, k: Value) -> Iterator[tuple[Code, Span | None]]:
    """The procedures that a continuation is the rest of, the innermost first, with the places of their calls."""
    for _ in range(MOST_CALLS):
        k = look(k)
        if not is_procedure(k):
            return
        code: Code = k[0]
        core = machine.core_of(code)
        if not core.is_continuation:
            return
        yield code, core.span
        after = import_safely("vlad.ad.control").continuation_of(core)
        if after is None:
            return
        k = k[code.environment.index(after) + 1]
