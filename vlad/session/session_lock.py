"""The lock of a session: one thread at a time evaluates in it.

In: threads that are about to evaluate.  Out: one of them at a time, which may take the lock again. Called by session.py.

An evaluation in one session may need another session: a Python function that a program calls may call procedures of any session.
So several threads may wait for each other in a cycle. A waiting thread checks for that at intervals, and raises an error; the
others continue.
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

_checking = threading.RLock()
_waiting: dict[int, SessionLock] = {}  # threads, and the locks for which they wait
_abandoned: set[int] = set()  # threads that must not wait any longer


class SessionLock(RLock):  # type: ignore[misc]
    """A re-entrant lock.

    It extends Python's own, and waits differently. So it is as fast where no thread waits, and no interrupt is raised between its
    release and the next instruction. (Type checkers treat the base class as final; it is not.)
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
        """Take the lock without waiting, unless another thread holds it. The caller calls `release`."""
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
        """The thread that holds the lock; 0 if none does. Python provides it only in the `repr` of a lock."""
        return int(repr(self).partition("owner=")[2].partition(" ")[0])

    def _enter_masked(self) -> None:
        """Take the lock within an evaluation, which may be interrupted anywhere, or after a wait. Whether it was taken is
        recorded, to release it after an interrupt."""
        taken: list[bool] = []

        def acquire(timeout: float = 0.0) -> bool:
            # taken and recorded in one call of C, so that no signal's handler runs in between
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
        """Raises VladError at a deadlock, or if the wait is abandoned."""
        me = get_ident()
        before = _waiting.get(me)  # of an interrupted wait, if this is a signal handler
        suspicious = False
        try:
            _waiting[me] = self
            while not acquire(A_WHILE):
                if me in _abandoned:
                    raise cancelled()
                with _checking:
                    if not self._is_mutual(me):
                        suspicious = False
                    elif not suspicious:
                        suspicious = True  # the locks may have changed during the check, so it is repeated
                    else:
                        del _waiting[me]  # otherwise the other threads would raise the error as well
                        raise VladError(
                            "deadlock",
                            "Sessions wait for each other",
                            hint="each of several threads evaluates in a session that another one calls",
                        )
        finally:
            _waiting.pop(me, None)
            if before is not None:
                _waiting[me] = before

    def _is_mutual(self, me: int) -> bool:
        """Does the thread that holds the lock wait for this one, directly or through others?"""
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
    """Prevent a thread from waiting for a lock, now or later, until `forget` is called."""
    _abandoned.add(thread)


def forget(thread: int) -> None:
    _abandoned.discard(thread)


def cancelled() -> VladError:
    """The error of an evaluation whose task was cancelled."""
    return VladError("cancelled", "The evaluation was cancelled")


def _reset_after_fork() -> None:
    """In the child: the other threads do not exist."""
    global _checking
    _checking = threading.RLock()
    _waiting.clear()
    _abandoned.clear()


os.register_at_fork(after_in_child=_reset_after_fork)
