"""What an evaluation may still take: asked by operations that nobody can interrupt, before they begin.

In: the limits of memory and time of the evaluation in this thread (evaluate/limits.py).  Out: an exception where an operation
would go beyond them. One operation of an array library may fill the memory of the machine, or take minutes, between two steps
of Python; so whoever makes a large array says how large, and whoever does what takes more than time in proportion to its
operands says about how long. Without limits nothing is refused here.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

A_LOT = 1 << 20  # bytes: what is less is seen by whoever watches, soon enough
A_WHILE = 0.05  # seconds, the same
REAL = 8  # bytes
BYTES_A_SECOND = 1e9  # of memory that nobody has used yet, to fill it


class NoRoom(MemoryError):
    """An operation needs more memory than its evaluation may take."""


class NoTime(Exception):
    """An operation takes longer than its evaluation may."""


@dataclass(frozen=True, slots=True)
class Budget:
    """most: bytes of memory that the process may take; end: when time is over, by time.monotonic()."""

    most: float = math.inf
    end: float = math.inf

    def within(self, other: Budget) -> Budget:
        return Budget(min(self.most, other.most), min(self.end, other.end))


UNLIMITED = Budget()


class _Mine(threading.local):
    budget = UNLIMITED


_mine = _Mine()


def budget() -> Budget:
    """This thread's."""
    return _mine.budget


def spend(given: Budget) -> None:
    """From here on this thread has another budget."""
    _mine.budget = given


@contextmanager
def on_behalf(given: Budget) -> Iterator[None]:
    """Inside, this thread works for an evaluation in another one that has this budget."""
    before = _mine.budget
    _mine.budget = given
    try:
        yield
    finally:
        _mine.budget = before


def resident_bytes() -> float:
    """Resident memory of this process; where the system does not tell, the most that there was."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return _peak_bytes()


try:
    from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit

    def _most_addresses() -> int | None:
        most = getrlimit(RLIMIT_AS)[0]
        return None if most == RLIM_INFINITY else most
except ImportError:  # not on every system

    def _most_addresses() -> int | None:
        return None


def mapped_bytes() -> int:
    """Bytes of addresses that this process has; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * 4096
    except OSError:
        return 0


def addresses_left() -> int | None:
    """Bytes of addresses that the process may still map; None where nothing limits them (RLIMIT_AS)."""
    most = _most_addresses()
    return None if most is None else max(0, most - mapped_bytes())


def expect_addresses(count: int) -> None:
    """Raises MemoryError where so many bytes more cannot be mapped."""
    left = addresses_left()
    if left is not None and left < count:
        raise MemoryError


def _peak_bytes() -> float:
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def room() -> float:
    """How many bytes more may be taken."""
    return max(0.0, _mine.budget.most - resident_bytes())


def has_room(count: float) -> bool:
    """May so many bytes more be taken?"""
    most = _mine.budget.most
    return count < A_LOT or most == math.inf or resident_bytes() + count <= most


def expect_bytes(count: float) -> None:
    """Raises NoRoom where an operation that fills so many bytes would be too much; or NoTime."""
    if count >= A_LOT:
        if not has_room(count):
            raise NoRoom
        expect_seconds(count / BYTES_A_SECOND)


def expect_arrays(count: float, entries: int) -> None:
    """The same for so many arrays of as many reals."""
    expect_bytes(count * entries * REAL)


def expect_array(shape: Iterable[int], size: int = REAL) -> None:
    """The same for an array of a shape whose entries take so many bytes."""
    expect_bytes(float(math.prod(shape)) * size)


def expect_seconds(estimate: float) -> None:
    """Raises NoTime where an operation that takes about so long would end too late."""
    if estimate > A_WHILE and time.monotonic() + estimate > _mine.budget.end:
        raise NoTime
