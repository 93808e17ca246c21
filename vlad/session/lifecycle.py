"""The end of a session, and what becomes of it in a process that was forked.

In: a session.  Out: nothing of it but an error for whoever asks it for something. Called by session.py.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any, NoReturn
from weakref import WeakSet

from vlad.data.errors import VladError

_sessions: WeakSet[Any] = WeakSet()  # that may evaluate
_counting = RLock()


class Gone:
    """What a session has in place of its parts when it has none any longer: to ask for anything is an error."""

    def __init__(self, message: str, hint: str) -> None:
        self._told = message, hint

    def refuse(self, *_: Any) -> NoReturn:
        message, hint = self._told
        raise VladError("session-closed", message, hint=hint)

    def __enter__(self) -> NoReturn:
        self.refuse()

    def __exit__(self, *_: object) -> NoReturn:
        self.refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python's own questions
            raise AttributeError(name)
        self.refuse()


CLOSED = Gone(
    "The session is closed", "a closed session evaluates nothing, nor do its procedures; make another one"
)
LOST = Gone(
    "The session was evaluating in another thread when this process was forked",
    "that thread is not here, so nobody can tell what the session holds; make another one",
)


def born(session: Any) -> None:
    """From here on the session is looked after."""
    with _counting:
        _sessions.add(session)


def is_gone(session: Any) -> bool:
    return type(session.machine) is Gone


def expect_open(session: Any) -> None:
    """Raises VladError for a session that is gone."""
    if is_gone(session):
        session.machine.refuse()


def close(session: Any) -> None:
    """Let go of all that a session holds, when it is its turn. Raises VladError where this very thread is evaluating in it."""
    if is_gone(session):
        return
    with session._lock:
        if is_gone(session):  # somebody was quicker
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


# Processes that are forked. Other threads are not there, but what they held is held, and what they were at is half done.

_held: list[Any] = []  # locks, while the process is copied


def _before() -> None:
    """Nobody is making a code, or a session, meanwhile."""
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
