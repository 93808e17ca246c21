"""How the thread that compiles yields to the one that evaluates, since both need the interpreter's lock.

In: `begin` and `end` around work in the background of an evaluation (background.py), and `yield_gil`, called at intervals by its
long-running parts.  Out: pauses in proportion to the time for which the lock was contended. Nothing happens in a thread that did
not call `begin`, such as one that compiles before it calls, or while no other thread waits for the lock.

Short analyses are not delayed. Long ones belong to programs that mostly end before their analysis does, and must not take three
times as long because of it. (Measured: examples/variational-autoencoder.vlad takes 2 to 2.3 s on tier 0, and on `auto` took 5.5
to 6.6 s, now 3.1. Pauses from the beginning on, or after 0.3 s, came too early for examples/particle.vlad, which then was
compiled too late to gain from it.)
"""

from __future__ import annotations

import math
import threading
from time import monotonic, sleep, thread_time

UNPAUSED_SECONDS = 0.5  # seconds of work without a pause: most procedures are analysed by then
LEAST_WORK = 0.005  # seconds of work between two pauses
LONGEST_PAUSE = (
    0.05  # seconds of a pause: while it sleeps, the thread does not notice that its job was abandoned
)
PAUSE_FACTOR = 3.0  # length of a pause per second spent waiting for the lock


class _PerThread(threading.local):
    since = math.inf  # when this thread last began or paused; infinite in a thread that does not yield
    used = 0.0  # seconds of processor time at that moment


_this_thread = _PerThread()


def begin() -> None:
    """Make this thread yield until `end`."""
    _this_thread.since = monotonic() + UNPAUSED_SECONDS
    _this_thread.used = thread_time()


def end() -> None:
    _this_thread.since = math.inf


def yield_gil() -> None:
    """Pause, if a pause is due."""
    worked = monotonic() - _this_thread.since
    if worked < LEAST_WORK:
        return
    waited = worked - (thread_time() - _this_thread.used)
    if waited > 0:
        sleep(min(PAUSE_FACTOR * waited, LONGEST_PAUSE))
    _this_thread.since, _this_thread.used = monotonic(), thread_time()
