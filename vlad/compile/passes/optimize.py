"""The order of the passes that make no difference but in cost: what has no use goes, what is done twice is done once.

In: a Program as specialize.py makes it.  Out: the same program, changed in place, with the same answers and errors.
Called by pipeline.py: `optimize` before the passes on loops, `finish` behind them. Each pass has a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from vlad.compile.ir.program import Program, check, statements
from vlad.compile.passes.common_subexpressions import share
from vlad.compile.passes.dead_code import drop_dead
from vlad.compile.passes.inlining import inline
from vlad.compile.passes.merge_functions import merge
from vlad.compile.passes.reboxing import keep_boxed, reuse_boxes
from vlad.compile.passes.rematerialization import rematerialize
from vlad.compile.passes.scalar_replacement import dissolve
from vlad.compile.passes.step_counts import coalesce_steps
from vlad.control.gil_yield import make_way

Pass = Callable[[Program], None]
REPEATED: tuple[Pass, ...] = (drop_dead, merge, inline, share, dissolve)  # until the size stays the same
ROUNDS = 4  # at most
# What would hinder the rest, had it been done before.
LAST: tuple[Pass, ...] = (keep_boxed, rematerialize, share, drop_dead, reuse_boxes, coalesce_steps)
CHECKING = False  # on in the tests: each pass's result is checked


def optimize(program: Program) -> Program:
    for _ in range(ROUNDS):
        before = _size(program)
        _run(REPEATED, program, "")
        if _size(program) == before:
            break
    return program


def finish(program: Program) -> Program:
    _run(LAST, program, "the last ")
    return program


def _run(passes: tuple[Pass, ...], program: Program, which: str) -> None:
    for one in passes:
        one(program)
        make_way()
        if CHECKING:
            check(program, which + one.__name__)


def _size(program: Program) -> int:
    return sum([len(statements(function.body)) for function in program.functions])
