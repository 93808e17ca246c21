"""The lock of a session, for which threads that share it wait.

In: threads that are about to evaluate.  Out: one of them at a time, re-entrantly. Called by session.py.

An evaluation in one session may need another session: a Python function that a program calls may call procedures of any. So
threads may each hold the lock that the next one waits for. A waiting thread checks for such a cycle from time to time, and raises
an error; the others continue.
"""

from __future__ import annotations

import os
import threading
from _thread import RLock
from collections.abc import Callable
from threading import get_ident

from vlad.control.async_exceptions import undisturbed
from vlad.data.errors import VladError
from vlad.evaluate.limits import evaluating

A_WHILE = 0.1  # seconds of waiting before the check for a cycle

_looking = threading.RLock()
_waiting: dict[int, Turns] = {}  # threads, and the lock each waits for
_abandoned: set[int] = set()  # threads that must stop waiting


class Turns(RLock):  # type: ignore[misc]
    """A re-entrant lock.

    One of Python's own, extended only in the waiting: so it is as fast without contention, and no interrupt can occur between
    the release and the next instruction. (It cannot be a base class; the declaration is for type checkers only.)
    """

    __slots__ = ()

    def __enter__(self) -> bool:  # type: ignore[override]
        if evaluating and get_ident() in evaluating:  # usually none is
            self._enter_undisturbed()
        elif not self.acquire(False):
            self._wait(self.acquire)
        return True

    def owner(self) -> int:
        """The thread that holds it; 0 for none. Python exposes this only in the repr of a lock."""
        return int(repr(self).partition("owner=")[2].partition(" ")[0])

    def _enter_undisturbed(self) -> None:
        """Acquire within an evaluation, which may be interrupted anywhere, so that it is known whether the lock was acquired."""
        taken: list[bool] = []

        def acquire(*, timeout: float = 0.0) -> bool:
            undisturbed(lambda: taken.append(self.acquire(timeout=timeout)))
            return taken[-1]

        try:
            if not acquire():
                self._wait(acquire)
        except BaseException:
            if taken and taken[-1]:
                self.release()
            raise

    def _wait(self, acquire: Callable[..., bool]) -> None:
        """Raise VladError if the wait would never end, or if it is abandoned."""
        me = get_ident()
        before = _waiting.get(me)  # of an interrupted wait, if this is a signal handler
        suspicious = False
        try:
            _waiting[me] = self
            while not acquire(timeout=A_WHILE):
                if me in _abandoned:
                    raise cancelled()
                with _looking:
                    if not self._is_mutual(me):
                        suspicious = False
                    elif not suspicious:
                        suspicious = True  # the state observed while following the chain may have changed
                    else:
                        del _waiting[me]  # so that the others need not give up, too
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
        """Whether the holder waits, directly or through others, for this thread."""
        turns: Turns | None = self
        for _ in range(len(_waiting)):
            if turns is None:
                return False
            owner = turns.owner()
            if owner == me:
                return True
            turns = _waiting.get(owner)
        return False


def abandon(thread: int) -> None:
    """Make a thread stop waiting for its turn, now or later; until `forget`."""
    _abandoned.add(thread)


def forget(thread: int) -> None:
    _abandoned.discard(thread)


def cancelled() -> VladError:
    """The error that ends an evaluation whose result is no longer needed."""
    return VladError("cancelled", "The evaluation was cancelled")


def _alone() -> None:
    """Reset the state in a forked child: the other threads do not exist there."""
    global _looking
    _looking = threading.RLock()
    _waiting.clear()
    _abandoned.clear()


os.register_at_fork(after_in_child=_alone)
