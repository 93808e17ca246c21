"""Sessions that tests share, where each test would make one of its own only to evaluate expressions.

What the library's procedures and their derivatives are made into is kept by a session: made anew for each test, it took from
a tenth to a third of the time. Tests that define names, or that are about what a session counts, limits or has compiled before,
make their own.
"""

from __future__ import annotations

import functools

import vlad

written: list[str] = []  # by the last session that was asked for


def _made(tier: str) -> vlad.Session:
    return vlad.Session(tier=tier, write=written.append)


_of_tier = functools.cache(_made)


def shared(tier: str) -> vlad.Session:
    """The session of a tier that is shared in this process. No procedure is compiled for it yet: what is in its table of entries
    after a call is that call's.
    """
    session = _of_tier(tier)
    with session.tiers.lock:
        for key, entry in list(session.tiers.entries.items()):
            session.tiers._remove(key, entry)
    session.tiers.disagreements = 0
    written.clear()
    return session


def shared_for(text: str, tier: str) -> vlad.Session:
    """The same for a text that defines nothing, else one of its own."""
    if "(define" not in text:
        return shared(tier)
    written.clear()
    return _made(tier)
