"""How the thread that compiles leaves the one that evaluates its time, for both need Python's lock.

In: `begin` and `end` around work done beside an evaluation (background.py), and `make_way`, called now and then by the parts
of it that take long.  Out: pauses, as long as the lock was fought for. Nothing happens in a thread that did not
begin, such as one that compiles before it calls, nor where no other thread wants the lock.

What is analysed soon is not held up. What is not, belongs to programs that mostly end before it is done; they are not to take
three times as long for it. (Measured: examples/variational-autoencoder.vlad takes 2 to 2.3 s on tier 0, and on `auto` took 5.5 to
6.6 s, now 3.1. Pauses from the beginning on, or after 0.3 s, came too early for examples/particle.vlad, which then was compiled
too late to gain from it.)
"""

from __future__ import annotations

import math
import threading
from time import monotonic, sleep, thread_time

AT_ONCE = 0.5  # seconds of work without a pause: most procedures are analysed by then
AT_LEAST = 0.005  # seconds of work between two pauses
AT_MOST = 0.05  # seconds of a pause: who pauses does not hear that he is no longer wanted
SHARE = 3.0  # of the time that was spent waiting for the lock: how long to leave it alone


class _Mine(threading.local):
    since = math.inf  # when this thread's work goes on; never where it need not make way
    used = 0.0  # seconds of processor time, by then


_mine = _Mine()


def begin() -> None:
    """From here on this thread makes way."""
    _mine.since = monotonic() + AT_ONCE
    _mine.used = thread_time()


def end() -> None:
    _mine.since = math.inf


def make_way() -> None:
    """Pause, if it is time to."""
    worked = monotonic() - _mine.since
    if worked < AT_LEAST:
        return
    waited = worked - (thread_time() - _mine.used)
    if waited > 0:
        sleep(min(SHARE * waited, AT_MOST))
    _mine.since, _mine.used = monotonic(), thread_time()
