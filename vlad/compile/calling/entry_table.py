"""The table of the procedures called from outside, with their compiled variants: made on demand, and invalidated.

In: procedures, and changes of globals.  Out: their entries (variants.py); of which Python's callables call machine code directly,
as far as that keeps the limits. A base of the tier policy (policy.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vlad.compile.calling.notifier import Notifier
from vlad.compile.calling.variants import Entry, Options
from vlad.data.values import Global, Value

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MOST_PROCEDURES = 512


class EntryTable(Notifier):
    def __init__(self, machine: Machine, optimize: int, fast_math: bool) -> None:
        super().__init__()
        self.machine = machine
        self.optimize, self.fast_math = optimize, fast_math
        self.is_hurried = True  # may Python's callables call machine code directly? See `unhurried`
        self.entries: dict[Any, Entry] = {}  # by the id of a procedure, or that and options
        self.lock = threading.RLock()  # protects entries and `job`, in both threads
        self._meanings = 0  # number of changes of globals
        self.chosen: str  # the policy, which differs while it is paused

    def entry(self, f: Value, options: Options | None = None) -> Entry:
        """The entry of a procedure, by itself or compiled with options."""
        key = id(f) if options is None else (id(f), options)
        entry = self.entries.get(key)
        if entry is None:
            if len(self.entries) >= MOST_PROCEDURES:
                self._remove(*next(iter(self.entries.items())))
            entry = self.entries[key] = self._new_entry(f, options)
        return entry

    def is_current(self, entry: Entry) -> bool:
        """Whether calls still use an entry."""
        return any(other is entry for other in list(self.entries.values()))

    def _new_entry(self, f: Value, options: Options | None = None) -> Entry:
        return Entry(f, options or (self.optimize, self.fast_math))

    def redefine(self, cell: Global, change: Callable[[], object]) -> None:
        """Change the value of a global, and forget what was compiled on the strength of the old one. In reverse order: an
        interrupt that comes between leaves the old value, and no compiled code that is out of date. If a thread
        compiles meanwhile, it began before `_meanings` changed, and its result is refused; or it waits for the lock, and reads
        the new value."""
        with self.lock:
            self._meanings += 1
            for key, entry in list(self.entries.items()):
                if cell in entry.cells or entry.reason is not None:
                    self._remove(key, entry)
            change()

    def forget(self) -> None:
        """Discard all compiled code."""
        with self.lock:
            self._meanings += 1
            for key, entry in list(self.entries.items()):
                self._remove(key, entry)

    def _remove(self, key: Any, entry: Entry) -> None:
        entry.forgotten()  # first: where this is interrupted, it is found again and repeated
        self.entries.pop(key, None)

    def alone(self) -> None:
        """Reset the state in a forked child: the other threads do not exist there. Machine code that one of them ran is
        discarded.
        """
        self.lock = threading.RLock()
        for key, entry in list(self.entries.items()):
            if any(compiled.is_taken() for compiled in entry.variants):
                self._remove(key, entry)

    def has(self, procedure: Any) -> bool:
        """Whether there may be machine code for a Python callable, now or later."""
        return self.policy == "evaluate" or self._key(procedure) in self.entries

    @staticmethod
    def _key(procedure: Any) -> Any:
        key = id(procedure.value)
        return key if procedure.options is None else (key, procedure.options)

    def quicken(self, procedure: Any) -> None:
        """Let a Python callable call machine code directly, as far as that keeps the limits, until a global it relies
        on is redefined.
        """
        if self.chosen == "evaluate":
            procedure.quicks = []  # it need not try again
            return
        entry = self.entries.get(self._key(procedure))
        if entry is not None:
            with self.lock:
                entry.connect(procedure)
                self._open(entry)

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        """A context in which Python's callables take the general path, which enforces limits, for newly compiled code, too."""
        before = self.is_hurried
        try:
            self.is_hurried = False
            self._open_all()
            yield
        finally:
            self.is_hurried = before
            self._open_all()

    def _open_all(self) -> None:
        with self.lock:
            for entry in list(self.entries.values()):
                self._open(entry)

    def _open(self, entry: Entry) -> None:
        """Let existing callables call machine code directly, as far as that keeps the limits."""
        variants = entry.variants if entry.callables and self.policy != "evaluate" else []
        entry.quicks[:] = [
            compiled.quick
            for compiled in variants
            if self._may_be_quick(compiled) and compiled.quick is not None
        ]

    def _may_be_quick(self, compiled: Any) -> bool:
        """Whether a direct call keeps the limits: always for code without loops and stack, otherwise if no limits are set."""
        limits = self.machine.limits
        is_watched = limits.are_watched or (limits.depth is not None and compiled.is_deep())
        return compiled.is_free or (self.is_hurried and not is_watched)
