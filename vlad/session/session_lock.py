"""The lock of a session: one thread at a time evaluates in it.

In: threads that are about to evaluate.  Out: one of them at a time, which may take the lock again. Called by session.py.

An evaluation in one session may need another session, for a Python function that a program calls may call procedures of any. So
each of several threads may hold the lock for which the next one waits. A thread that waits checks for that at intervals, and
gives up with an error; the others go on.
"""

from __future__ import annotations

import os
import threading
from _thread import RLock
from collections.abc import Callable
from contextlib import suppress
from threading import get_ident

from vlad.control.async_exceptions import masked
from vlad.data.errors import VladError
from vlad.evaluate.limits import evaluating

A_WHILE = 0.1  # seconds between two checks for a deadlock

_looking = threading.RLock()
_waiting: dict[int, SessionLock] = {}  # threads, and the locks for which they wait
_abandoned: set[int] = set()  # threads that must not wait any longer


class SessionLock(RLock):  # type: ignore[misc]
    """A re-entrant lock.

    It is Python's own, with another way of waiting. So it is as quick where no thread waits, and no interrupt comes between its
    release and what follows. (Type checkers take that class for final; it is not.)
    """

    __slots__ = ()

    def __enter__(self) -> bool:  # type: ignore[override]
        if evaluating and get_ident() in evaluating:  # rarely so
            self._enter_masked()
        else:
            try:
                taken = self.acquire(False)
            except (
                BaseException
            ):  # an interrupt: Python raises it when a call has returned, here that of `acquire`
                self._release_if_taken()
                raise
            if not taken:
                self._enter_masked()
        return True

    def enter_if_free(self) -> bool:
        """Take the lock without waiting, unless another thread holds it. `release` gives it back."""
        try:
            taken = self.acquire(False)
        except BaseException:
            self._release_if_taken()
            raise
        return taken

    def _release_if_taken(self) -> None:
        with suppress(RuntimeError):  # another thread holds it
            self.release()

    def owner(self) -> int:
        """The thread that holds it; 0 for none. Python has no other means for that than the text of a lock."""
        return int(repr(self).partition("owner=")[2].partition(" ")[0])

    def _enter_masked(self) -> None:
        """Within an evaluation, which may be interrupted anywhere, or where it has to wait: record whether the lock was taken."""
        taken: list[bool] = []

        def acquire(timeout: float = 0.0) -> bool:
            # taken and recorded in one call of C, between whose parts no signal's handler runs
            masked(lambda: taken.extend(map(self.acquire, (True,), (timeout,))))
            return taken[-1]

        try:
            if not acquire():
                self._wait(acquire)
        except BaseException:
            if taken and taken[-1]:
                self.release()
            raise

    def _wait(self, acquire: Callable[..., bool]) -> None:
        """Raises VladError at a deadlock, or where the wait is abandoned."""
        me = get_ident()
        before = _waiting.get(me)  # of an interrupted wait, if this is a signal handler
        suspicious = False
        try:
            _waiting[me] = self
            while not acquire(A_WHILE):
                if me in _abandoned:
                    raise cancelled()
                with _looking:
                    if not self._is_mutual(me):
                        suspicious = False
                    elif not suspicious:
                        suspicious = True  # seen while the locks changed, it need not be so
                    else:
                        del _waiting[me]  # so that the others do not give up, too
                        raise VladError(
                            "deadlock",
                            "Sessions wait for each other",
                            hint="each of several threads evaluates in a session that another one wants to call",
                        )
        finally:
            _waiting.pop(me, None)
            if before is not None:
                _waiting[me] = before

    def _is_mutual(self, me: int) -> bool:
        """Does the thread that holds it wait, perhaps through others, for this one?"""
        lock: SessionLock | None = self
        for _ in range(len(_waiting)):
            if lock is None:
                return False
            owner = lock.owner()
            if owner == me:
                return True
            lock = _waiting.get(owner)
        return False


def abandon(thread: int) -> None:
    """Let a thread not wait for a lock, now or later, until `forget`."""
    _abandoned.add(thread)


def forget(thread: int) -> None:
    _abandoned.discard(thread)


def cancelled() -> VladError:
    """The error of an evaluation whose task was cancelled."""
    return VladError("cancelled", "The evaluation was cancelled")


def _alone() -> None:
    """In the child: the other threads do not exist."""
    global _looking
    _looking = threading.RLock()
    _waiting.clear()
    _abandoned.clear()


os.register_at_fork(after_in_child=_alone)
