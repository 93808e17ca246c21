"""The budget of an evaluation: memory and time that an operation checks before it begins, because it cannot be interrupted.

In: the limits of memory and time of the evaluation in this thread (evaluate/limits.py).  Out: an exception where an operation
would exceed them. One operation of an array library may fill the memory of the machine, or take minutes, between two bytecodes
of Python. So code that makes a large array states its size first, and code whose time is more than proportional to its operands
states an estimate. Without limits nothing is refused here.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

UNCHECKED_BYTES = 1 << 20  # allocations below this are left to the thread that watches limits
UNCHECKED_SECONDS = 0.05  # the same for operations
REAL = 8  # bytes
BYTES_A_SECOND = 1e9  # at which fresh memory is filled


class NoRoom(MemoryError):
    """An operation needs more memory than the limit of its evaluation leaves."""


class NoTime(Exception):
    """An operation would take longer than the limit of its evaluation leaves."""


class Budget:
    """most: resident bytes that the process may have; end: the deadline, by time.monotonic(). A plain class, as a dataclass costs
    time when programs start."""

    __slots__ = ("end", "most")

    def __init__(self, most: float = math.inf, end: float = math.inf) -> None:
        self.most = most
        self.end = end

    def __eq__(self, other: object) -> bool:
        return type(other) is Budget and (self.most, self.end) == (other.most, other.end)

    def __hash__(self) -> int:
        return hash((self.most, self.end))

    def within(self, other: Budget) -> Budget:
        return Budget(min(self.most, other.most), min(self.end, other.end))


UNLIMITED = Budget()


class _PerThread(threading.local):
    budget = UNLIMITED


_this_thread = _PerThread()


def budget() -> Budget:
    """The budget of this thread."""
    return _this_thread.budget


def set_budget(given: Budget) -> None:
    """Give this thread another budget."""
    _this_thread.budget = given


@contextmanager
def using_budget(given: Budget) -> Iterator[None]:
    """Inside, this thread works for an evaluation in another thread, under that evaluation's budget."""
    before = _this_thread.budget
    _this_thread.budget = given
    try:
        yield
    finally:
        _this_thread.budget = before


def resident_bytes() -> float:
    """Resident memory of this process; where the system does not report it, the peak so far."""
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


def has_limited_addresses() -> bool:
    """Is the address space of this process limited?"""
    return _most_addresses() is not None


def mapped_bytes() -> int:
    """Bytes of address space that this process has mapped; 0 where the system does not report it."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * 4096
    except OSError:
        return 0


def addresses_left() -> int | None:
    """Bytes of address space that the process may still map; None without a limit (RLIMIT_AS)."""
    most = _most_addresses()
    return None if most is None else max(0, most - mapped_bytes())


def expect_addresses(count: int) -> None:
    """Raises MemoryError where so many more bytes cannot be mapped."""
    left = addresses_left()
    if left is not None and left < count:
        raise MemoryError


def _peak_bytes() -> float:
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def room() -> float:
    """How many more bytes this thread's evaluation may use."""
    return max(0.0, _this_thread.budget.most - resident_bytes())


def has_room(count: float) -> bool:
    """May this thread's evaluation use so many more bytes?"""
    most = _this_thread.budget.most
    return count < UNCHECKED_BYTES or most == math.inf or resident_bytes() + count <= most


def expect_bytes(count: float) -> None:
    """Raises NoRoom where an operation that fills so many bytes exceeds the budget of memory, NoTime where that of time."""
    if count >= UNCHECKED_BYTES:
        if not has_room(count):
            raise NoRoom
        expect_seconds(count / BYTES_A_SECOND)


def expect_arrays(count: float, entries: int) -> None:
    """The same for a number of arrays, each with so many reals."""
    expect_bytes(count * entries * REAL)


def expect_array(shape: Iterable[int], size: int = REAL) -> None:
    """The same for an array of a shape and a size of entries in bytes."""
    expect_bytes(float(math.prod(shape)) * size)


def expect_seconds(estimate: float) -> None:
    """Raises NoTime where an operation with this estimate would end after the deadline."""
    if estimate > UNCHECKED_SECONDS and time.monotonic() + estimate > _this_thread.budget.end:
        raise NoTime
