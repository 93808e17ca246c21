"""Taking over a running evaluation: a call that runs on tier 0 gives way to what was compiled meanwhile.

In: a call that has begun, as a `Job`; the compiler's thread looks after it (background.py).  Out: `Switch`, raised in the thread
that evaluates, at a step where nothing else is cut short. Made by policy.py, which starts the call again, compiled.
"""

from __future__ import annotations

import contextlib
import threading
from types import FrameType
from typing import Any, Protocol

from vlad.compile.calling.variants import Entry
from vlad.control.async_exceptions import ask, ask_after, ask_no_more
from vlad.control.budget import budget, on_behalf
from vlad.data.errors import LimitExceeded
from vlad.data.values import Value
from vlad.evaluate.limits import AGAIN_SECONDS, Told
from vlad.evaluate.overtaking import called, is_own_step

UNTIL_IT_BEGINS = 0.05  # seconds, until a call that has not begun is looked at once more


class Switch(Told):
    """Raised in the evaluating thread when the compiled form is ready and may start instead."""


class Runner(Protocol):
    """What makes the calls, and compiles (policy.Tiers)."""

    machine: Any
    lock: threading.RLock
    job: Job | None

    def compile(self, entry: Entry, operands: tuple[Value, ...]) -> Any: ...


class Job:
    """A call that runs on tier 0 and may be overtaken."""

    __slots__ = (
        "tiers", "entry", "operands", "known", "thread", "due", "steps", "active", "acting", "switching", "compiled",
        "budget", "nesting", "is_asked",
    )  # fmt: skip

    def __init__(
        self, tiers: Runner, entry: Entry, operands: tuple[Value, ...], steps: float, due: float
    ) -> None:
        self.tiers = tiers
        self.entry = entry
        self.steps = steps  # at its beginning
        self.operands = operands
        self.known = len(entry.variants)  # which did not fit
        self.thread = threading.get_ident()
        self.due = due
        self.active = False  # may it be overtaken?
        self.acting = False  # is it doing something to the outside, which is not to be cut short?
        self.switching = False
        self.is_asked = False  # to switch, or only told: async_exceptions.py
        self.compiled: Any = None
        self.budget = budget()  # what is done for it counts as its own
        self.nesting: object = None

    def look(self) -> float | None:
        """It takes longer than a moment: compile it."""
        if self.compiled is None:
            with on_behalf(self.budget):
                self.compiled = self._made_meanwhile() or self.tiers.compile(self.entry, self.operands)
            if self.compiled is None:
                return None
        # again and again: what is raised while Python tidies up is lost
        return AGAIN_SECONDS if self.give() else UNTIL_IT_BEGINS

    def _made_meanwhile(self) -> Any:
        """A variant that was made for an earlier call, which had ended by then, and fits."""
        fresh = self.entry.variants[self.known :]
        return next((compiled for compiled in fresh if compiled.takes(self.operands)), None)

    def give(self) -> bool:
        """In the compiler's thread: what was compiled takes over from tier 0; False where that has not begun."""
        tiers = self.tiers
        with tiers.lock:
            if self.active:
                self.switching, self.is_asked = True, self.thread == threading.main_thread().ident
                if self.is_asked:
                    ask(self.asked)
                elif not self.acting:  # else it gives way itself, when it is done
                    tiers.machine.watch.tell(self.thread, Switch)
            return self.active

    def begin(self) -> None:
        """From here on Switch may be raised."""
        self.nesting = self.tiers.machine.watch.nesting(self.thread)
        self.active = True

    def is_innermost(self) -> bool:
        """Does no other evaluation go on inside it, by a signal's handler, a finalizer or a Python function?"""
        return bool(self.tiers.machine.watch.nesting(self.thread) == self.nesting)

    def asked(self, frame: FrameType) -> None:
        """Of the thread that evaluates, in the frame to which it has come. Raises Switch where that cuts nothing short but the
        evaluation."""
        if not self.active or self.tiers.machine.watch.reason is not None:
            return
        if is_own_step(frame) and self.is_innermost():
            raise Switch
        waits_for = called(frame)
        if waits_for is not None:
            ask_after(waits_for)

    def end(self) -> None:
        """From here on Switch is not raised: the result is there."""
        while self.active:
            with contextlib.suppress(Switch):
                self.keep()

    def keep(self) -> None:
        """It is too late to take over."""
        tiers = self.tiers
        with tiers.lock:
            if self.switching:
                if self.is_asked:
                    ask_no_more(self.asked)
                else:
                    tiers.machine.watch.take_back(self.thread)
            self.active = False


def give_way(switch: Switch, handled: BaseException | None = None) -> None:
    """Where an interrupt or a limit was on its way out already, it goes on."""
    context: BaseException | None = switch.__context__
    while context is not None and context is not handled:
        if isinstance(context, KeyboardInterrupt | LimitExceeded):
            raise context
        context = context.__context__
