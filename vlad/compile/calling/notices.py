"""Notices of what runs on tier 0 although it was to be compiled: what, where, why, and the way out.

In: a reason.  Out: a notice, an error that is displayed and not raised; by default as a Python warning. Called by
notifier.py, where everything is to be compiled, and by session/programs.py for `vlad check`. Imported on first use.
"""

from __future__ import annotations

import sys
import warnings

from vlad.compile.ir.refusals import Unbounded, Unsettled
from vlad.core.type_text import name_in_program
from vlad.data.errors import Notice
from vlad.data.source import Span, in_library
from vlad.data.values import Code

SEVERAL, ONE = "Calls of {} run", "This runs"
ELSEWHERE = "computed by a top-level definition of its own, it leaves the rest of the program to the compiler"


class NotCompiledWarning(UserWarning):
    """Something runs on tier 0 although the session's tier is "compile". `notice` has the parts: `message`, `span`, `hint`."""

    def __init__(self, notice: Notice) -> None:
        super().__init__(str(notice))
        self.notice = notice


def warn(notice: Notice) -> None:
    """Display a notice as a Python warning, at the place in Python code that led to it."""
    warnings.warn(NotCompiledWarning(notice), stacklevel=_depth_of_caller())


def _depth_of_caller() -> int:
    """The number of frames from `warn` to the code that uses vlad."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        depth, frame = depth + 1, frame.f_back
    return depth


def _is_ours(module: str | None) -> bool:
    """Emitted code has no module."""
    return module is None or module == "vlad" or module.startswith("vlad.")


def notice_of_call(code: Code, reason: str, hint: str | None) -> Notice:
    """The notice that a call of a procedure runs on tier 0, because of its arguments."""
    return _notice("A call of {} runs", "This call runs", name_in_program(code), _place(code), reason, hint)


def notice_of(unbounded: Unbounded, code: Code) -> Notice:
    """The notice that calls run on tier 0: those that lead to the place of a refusal, or if it has none, those of a procedure."""
    name, span = unbounded.within, unbounded.span
    if span is None or in_library(span):
        name, span = name_in_program(code), _place(code)
    return _notice(SEVERAL, ONE, name, span, unbounded.reason, unbounded.hint or ELSEWHERE)


def notice_of_step(unbounded: Unbounded, span: Span) -> Notice:
    """The notice that a step of a program runs on tier 0; or that it may, if its types do not settle: a call is analysed with the
    numbers and lengths of lists that it has when it runs, of which a text has some only."""
    name = unbounded.within
    if unbounded.span is not None and not in_library(unbounded.span):
        span = unbounded.span
    several, one = (
        ("Calls of {} may run", "This may run") if isinstance(unbounded, Unsettled) else (SEVERAL, ONE)
    )
    return _notice(several, one, name, span, unbounded.reason, unbounded.hint or ELSEWHERE)


def _place(code: Code) -> Span | None:
    span: Span | None = code.machine.core_of(code).span
    return None if span is None or in_library(span) else span


def _notice(of: str, plain: str, name: str, span: Span | None, reason: str, hint: str | None) -> Notice:
    what = of.format(name) if name else plain
    return Notice("not-compiled", f"{what} on tier 0: {reason}", span, hint=hint)
