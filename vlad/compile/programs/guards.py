"""Guards in first-order code. An error inside one is no mistake of a program; nor can machine code catch it, as tier 0 does.

In: functions.  Out: which of them run the bodies of guards; refusals. Called by check.py, observe.py and build.py.
"""

from __future__ import annotations

from vlad.compile.analysis.abstract_interpreter import locate
from vlad.compile.ir.program import Fail, Failure, Function, Program, blocks
from vlad.compile.ir.refusals import NOT_COMPILED, Unbounded
from vlad.compile.ir.rewriting import callees
from vlad.data.values import Code

CATCHING = "catching an error of `error` or of the system is"
PASSING = (Failure.REFUSED, Failure.ENDED)  # what no guard takes
BY_RAISE = "what `raise` raises is caught in compiled code"


def is_guard(function: Function) -> bool:
    """Does it run the body of a guard? (primitives/raising.py)"""
    callee = function.origin.callee
    return type(callee) is Code and callee is callee.machine.codes["catch-errors"]


def caught_failure(function: Function) -> Unbounded | None:
    """The refusal of a function that never returns since the body of a guard never does."""
    work = [function]
    for one in work:  # grows during the loop
        if is_guard(one):
            return _refusal(one)
        work += [other for other in callees(one) if other.origin.result is None and other not in work]
    return None


def refuse_caught_failures(program: Program) -> None:
    """Raise Unbounded if the body of a guard may fail otherwise than by `raise`: standalone code would end there."""
    for guard in filter(is_guard, program.functions):
        reached = [guard]
        for one in reached:  # grows during the loop
            ends = [block.end for block in blocks(one.body)]
            if any(type(end) is Fail and end.about not in PASSING for end in ends):
                raise _refusal(guard)
            reached += [other for other in callees(one) if other not in reached]


def _refusal(guard: Function) -> Unbounded:
    refusal = Unbounded(f"{CATCHING} {NOT_COMPILED}", hint=BY_RAISE)
    locate(refusal, None, guard.origin)
    return refusal
