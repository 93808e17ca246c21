"""Preemption: a call that runs on tier 0 is abandoned for its compiled form, as soon as that is ready.

In: a call that has begun, as a `Job`; the background compiler polls it (background.py).  Out: `Switch`, raised in the thread that
evaluates, where it interrupts nothing but the evaluation. policy.py makes jobs, and starts the call again, compiled.

In the main thread, where signal handlers run, a probe searches for such a place. In another thread `Switch` is raised at any
bytecode: programs that call Python functions with effects are not compiled, so it interrupts pure code, or effects.py defers it.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from vlad.compile.calling.background import STILL_CALLED_SECONDS
from vlad.compile.calling.variants import Entry
from vlad.control.async_exceptions import probe_after, probe_main_thread, withdraw_probe
from vlad.control.budget import budget, using_budget
from vlad.data.errors import LimitExceeded
from vlad.data.values import Value
from vlad.evaluate.limits import AGAIN_SECONDS, AsyncException
from vlad.evaluate.overtaking import called, is_own_step

if TYPE_CHECKING:
    from vlad.compile.calling.costs import Costs
    from vlad.control.surroundings import Surroundings
    from vlad.evaluate.machine import Machine

NOT_BEGUN_SECONDS = 0.05  # seconds until a call that has not begun is polled again


class Switch(AsyncException):
    """Raised in the evaluating thread when the compiled form is ready to start instead."""


class Runner(Protocol):
    """The object that makes the calls, and compiles (policy.Tiers)."""

    machine: Machine
    lock: threading.RLock
    job: Job | None
    waiting: dict[int, Any]

    def is_current(self, entry: Entry) -> bool: ...

    @property
    def costs(self) -> Costs: ...

    def compile(self, entry: Entry, operands: tuple[Value, ...], *, apart: bool) -> Any: ...


class Job:
    """A call that runs on tier 0 and may be preempted."""

    __slots__ = (
        "tiers", "entry", "operands", "known", "thread", "due", "once", "worth", "steps", "active", "acting", "switching",
        "compiled", "budget", "nesting", "is_probed", "begun", "is_for_later", "surroundings", "has_changed",
    )  # fmt: skip

    def __init__(
        self,
        tiers: Runner,
        entry: Entry,
        operands: tuple[Value, ...],
        steps: float,
        due: float,
        once: bool = False,
        worth: float = 0.0,
        begun: float = math.inf,
    ) -> None:
        self.tiers = tiers
        self.entry = entry
        self.steps = steps  # at its beginning
        self.operands = operands
        self.known = len(entry.variants)  # variants so far, none of which fits
        self.thread = threading.get_ident()
        self.due = due
        self.once = once  # is its procedure not called again?
        self.worth = worth  # seconds that it took in an earlier run
        self.active = False  # may it be preempted?
        self.acting = False  # is an effect in progress, which must not be interrupted?
        self.switching = False
        self.is_probed = False  # is Switch raised by a probe, or asynchronously (async_exceptions.py)?
        self.compiled: Any = None
        self.budget = budget()  # compiling it counts towards its limits
        self.nesting: object = None
        self.begun = begun
        self.is_for_later = False  # has its call ended, so that it is compiled for later ones?
        self.surroundings: Surroundings | None = None
        self.has_changed = False  # a cell from before it: then it is not started again

    @property
    def heat(self) -> float:
        """The seconds that calls of its procedure have taken, with this one."""
        elapsed = 0.0 if self.is_for_later else max(0.0, time.monotonic() - self.begun)
        return self.entry.seconds + elapsed

    def is_needed(self) -> bool:
        """Is the procedure to be compiled for later calls still?"""
        entry, now = self.entry, time.monotonic()
        is_open = not entry.variants[self.known :] and (entry.reason is None or not entry.lasts)
        is_called = now - entry.last <= STILL_CALLED_SECONDS
        return is_open and is_called and now < self.budget.end and self.tiers.is_current(entry)

    def poll(self) -> float | None:
        """In the compiler's thread, after the call has run for a moment, or when it has ended: compile it, and switch."""
        if self.compiled is None:
            with using_budget(self.budget):
                self.compiled = self._made_meanwhile() or self.tiers.compile(
                    self.entry, self.operands, apart=True
                )
            if self.compiled is None:
                if not self.entry.lacks_room:
                    self._note(is_refused=self.entry.reason is not None, is_kept=self.entry.is_made)
                return None
            self._note(is_refused=False, is_kept=True)
        if self.is_for_later or self.has_changed:
            return None
        # repeated: an exception that is raised in a finalizer is lost
        return AGAIN_SECONDS if self.request_switch() else NOT_BEGUN_SECONDS

    def _note(self, **found: bool) -> None:
        """Note the outcome for later runs: of a long call, which notes its seconds itself, or of all calls of a procedure."""
        costs = self.tiers.costs
        if self.is_for_later:
            costs.note(self.entry.f, evaluated=self.entry.seconds, **found)
        else:
            costs.update(self.entry.f, **found)

    def _made_meanwhile(self) -> Any:
        """A variant that fits, compiled for an earlier call since this one began."""
        fresh = self.entry.variants[self.known :]
        return next((compiled for compiled in fresh if compiled.takes(self.operands)), None)

    def request_switch(self) -> bool:
        """In the compiler's thread: request that the compiled form replaces tier 0; False if tier 0 has not begun."""
        tiers = self.tiers
        with tiers.lock:
            if self.active and not self.has_changed:
                self.switching, self.is_probed = True, self.thread == threading.main_thread().ident
                if self.is_probed:
                    probe_main_thread(self.probe)
                elif not self.acting:  # otherwise the effect raises Switch itself, at its end
                    tiers.machine.watch.raise_in_evaluation(self.thread, Switch)
            return self.active

    def begin(self) -> None:
        """Permit Switch to be raised from here on."""
        self.nesting = self.tiers.machine.watch.nesting(self.thread)
        self.active = True

    def will_change(self) -> None:
        """Before a cell changes that is older than the call: raises Switch if that is requested, and prevents it from then on.
        Compiled code changes none, but it may end at a `guard`, and then tier 0 runs the call from its beginning."""
        if self.active and self.is_innermost():
            with self.tiers.lock:
                if self.switching:
                    raise Switch
                self.has_changed = True

    def is_innermost(self) -> bool:
        """Is no other evaluation in progress inside this call, in a signal handler, a finalizer or a Python function?"""
        return bool(self.tiers.machine.watch.nesting(self.thread) == self.nesting)

    def probe(self, frame: FrameType) -> None:
        """In the main thread, with its current frame: raises Switch if that interrupts nothing but the evaluation."""
        if not self.active or self.tiers.machine.watch.reason is not None:
            return
        if is_own_step(frame) and self.is_innermost():
            raise Switch
        waits_for = called(frame)
        if waits_for is not None:
            probe_after(waits_for)

    def end(self) -> None:
        """Prevent Switch from being raised from here on, since there is a result."""
        while self.active:
            with contextlib.suppress(Switch):
                self.withdraw()

    def withdraw(self) -> None:
        """Withdraw the request to switch."""
        tiers = self.tiers
        with tiers.lock:
            if self.switching:
                if self.is_probed:
                    withdraw_probe(self.probe)
                else:
                    tiers.machine.watch.raise_pending(self.thread)
            self.active = False


def interrupt_before(switch: Switch, handled: BaseException | None = None) -> BaseException | None:
    """The interrupt or the limit that was propagating already when Switch was raised, if there was one."""
    context: BaseException | None = switch.__context__
    while context is not None and context is not handled:
        if isinstance(context, KeyboardInterrupt | LimitExceeded):
            return context
        context = context.__context__
    return None
