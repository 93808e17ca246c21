"""How many threads compiled code may use: the processors that this process may run on, or as many as $VLAD_THREADS says.

In: the environment, and the system's list of processors.  Out: a number. Called by session.py.
"""

from __future__ import annotations

import os
import sys

from vlad.control.surroundings import setting

MOST = 64  # as in runtime.c


def threads() -> int | None:
    """The default number; None if $VLAD_THREADS is none."""
    named = setting("VLAD_THREADS")
    if named:
        return min(int(named), MOST) if named.isdecimal() and int(named) > 0 else None
    return min(_processors(), MOST)


def _processors() -> int:
    if sys.platform == "linux":
        try:
            return len(os.sched_getaffinity(0))
        except OSError:  # more processors than it has a mask for
            pass
    return os.cpu_count() or 1
