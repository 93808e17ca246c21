"""Whose turn it is in a session: threads that share one wait for each other.

In: threads that are about to evaluate.  Out: one of them at a time, the same one as often as it likes. Called by session.py.

Who evaluates in one session may want another: a Python function that a program calls may call procedures of any. So threads may
each hold what the next one waits for. Whoever waits looks now and then whether that is so, and gives up with an error; the
others go on.
"""

from __future__ import annotations

import os
import threading
from _thread import RLock
from collections.abc import Callable
from threading import get_ident

from vlad.control.async_exceptions import masked
from vlad.data.errors import VladError
from vlad.evaluate.limits import evaluating

A_WHILE = 0.1  # seconds of waiting, before somebody looks whether that can end

_looking = threading.RLock()
_waiting: dict[int, Turns] = {}  # threads, and for whose end they wait
_abandoned: set[int] = set()  # threads that are no longer to wait


class Turns(RLock):  # type: ignore[misc]
    """A lock that the same thread may take again.

    One of Python's own, to which only the waiting is added: so it is as quick where nobody waits, and no interrupt comes between
    its giving back and whatever follows. (That it could not be a base is what type checkers are told, not what is so.)
    """

    __slots__ = ()

    def __enter__(self) -> bool:  # type: ignore[override]
        if evaluating and get_ident() in evaluating:  # mostly nobody is
            self._enter_undisturbed()
        elif not self.acquire(False):
            self._wait(self.acquire)
        return True

    def owner(self) -> int:
        """The thread that has it; 0 for none. Python tells nobody but people who look at a lock."""
        return int(repr(self).partition("owner=")[2].partition(" ")[0])

    def _enter_undisturbed(self) -> None:
        """Within an evaluation, which may be interrupted anywhere: it is known whether the lock was taken."""
        taken: list[bool] = []

        def acquire(*, timeout: float = 0.0) -> bool:
            masked(lambda: taken.append(self.acquire(timeout=timeout)))
            return taken[-1]

        try:
            if not acquire():
                self._wait(acquire)
        except BaseException:
            if taken and taken[-1]:
                self.release()
            raise

    def _wait(self, acquire: Callable[..., bool]) -> None:
        """Raises VladError where this would never end, or where it is abandoned."""
        me = get_ident()
        before = _waiting.get(me)  # of a signal's handler that interrupts another wait
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
                        suspicious = (
                            True  # what was so while we looked from one to the next need not be so now
                        )
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
        """Does the one who has it wait, perhaps through others, for us?"""
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
    """A thread that waits for its turn, or is about to, is told not to; until `forget`."""
    _abandoned.add(thread)


def forget(thread: int) -> None:
    _abandoned.discard(thread)


def cancelled() -> VladError:
    """What ends an evaluation that nobody waits for any longer."""
    return VladError("cancelled", "The evaluation was cancelled")


def _alone() -> None:
    """In a process that was forked: the other threads are not there."""
    global _looking
    _looking = threading.RLock()
    _waiting.clear()
    _abandoned.clear()


os.register_at_fork(after_in_child=_alone)
