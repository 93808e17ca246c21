"""The end of a session, and its state in a forked process.

In: a session.  Out: a session that only raises errors. Called by session.py.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any, NoReturn
from weakref import WeakSet

from vlad.data.errors import VladError

_sessions: WeakSet[Any] = WeakSet()  # sessions that may evaluate
_counting = RLock()


class Gone:
    """Replaces the parts of a session that has ended: any access raises an error."""

    def __init__(self, message: str, hint: str) -> None:
        self._error = message, hint

    def refuse(self, *_: Any) -> NoReturn:
        message, hint = self._error
        raise VladError("session-closed", message, hint=hint)

    def __enter__(self) -> NoReturn:
        self.refuse()

    def __exit__(self, *_: object) -> NoReturn:
        self.refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python's own attributes
            raise AttributeError(name)
        self.refuse()


CLOSED = Gone(
    "The session is closed", "a closed session evaluates nothing, nor do its procedures; make another one"
)
LOST = Gone(
    "The session was evaluating in another thread when this process was forked",
    "that thread is not here, so the state of the session is unknown; make another one",
)


def born(session: Any) -> None:
    """Register a session."""
    with _counting:
        _sessions.add(session)


def is_gone(session: Any) -> bool:
    return type(session.machine) is Gone


def expect_open(session: Any) -> None:
    """Raise VladError if the session has ended."""
    if is_gone(session):
        session.machine.refuse()


def close(session: Any) -> None:
    """Release everything that a session holds, when it is its turn. Raises VladError if this thread is evaluating in it."""
    if is_gone(session):
        return
    with session._lock:
        if is_gone(session):  # another thread was faster
            return
        machine, tiers, modules = session.machine, session.tiers, session.modules()
        if machine.watch.active or tiers.is_compiling_here():
            raise VladError(
                "in-use", "The session is evaluating", hint="it can be closed when the evaluation has ended"
            )
        tiers.close()
        _leave(session, CLOSED)
        machine.close(CLOSED.refuse)
        for module in modules:
            module.close()


def _leave(session: Any, gone: Gone) -> None:
    with _counting:
        _sessions.discard(session)
    session._calls.close()
    session.machine = session.tiers = session.module = session.library = session.basis = gone
    session._lock = session._calls = session._top_level = gone


# Forked processes: other threads do not exist there, but their locks are held and their work is incomplete.

_held: list[Any] = []  # locks, during a fork


def _before() -> None:
    """Acquire the locks for making codes and sessions."""
    _hold(_counting)
    for session in list(_sessions):
        if not is_gone(session):
            _hold(session.machine.making)


def _hold(lock: Any) -> None:
    lock.acquire()
    _held.append(lock)


def _release() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _release()
    for session in list(_sessions):
        session.tiers.alone()
        if session._lock.acquire(False):
            session._lock.release()
        else:
            session.tiers.forget()
            _leave(session, LOST)


os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
