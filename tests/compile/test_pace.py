"""Compiling in the background leaves the evaluation its time, as far as both need Python's lock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vlad.control import gil_yield


class Clocks:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = self.used = 100.0
        self.pauses: list[float] = []

    def work(self, seconds: float, waiting: float = 0.0) -> None:
        """Work for a while, of which a part is spent waiting for the lock; then there is an opportunity to yield."""
        self.now += seconds
        self.used += seconds - waiting
        gil_yield.yield_gil()

    def sleep(self, seconds: float) -> None:
        self.pauses.append(round(seconds, 6))
        self.now += seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clocks]:
    clocks = Clocks()
    monkeypatch.setattr(gil_yield, "monotonic", lambda: clocks.now)
    monkeypatch.setattr(gil_yield, "thread_time", lambda: clocks.used)
    monkeypatch.setattr(gil_yield, "sleep", clocks.sleep)
    yield clocks
    gil_yield.end()


def test_a_thread_that_did_not_begin_never_pauses(clocks: Clocks) -> None:
    clocks.work(10, waiting=5)
    assert clocks.pauses == []


def test_pauses_are_in_proportion_to_what_was_waited_for(clocks: Clocks) -> None:
    gil_yield.begin()
    clocks.work(gil_yield.UNPAUSED_SECONDS + 0.01, waiting=0.3)  # work without duration is not counted
    begun = len(clocks.pauses)
    clocks.work(0.001, waiting=0.001)  # too early
    clocks.work(0.009, waiting=0.004)
    clocks.work(0.02, waiting=0.01)
    assert clocks.pauses[begun:] == [gil_yield.PAUSE_FACTOR * 0.005, gil_yield.PAUSE_FACTOR * 0.01]


def test_threads_that_do_not_need_the_lock_cause_no_pause(clocks: Clocks) -> None:
    gil_yield.begin()
    for _ in range(100):
        clocks.work(0.1)
    assert clocks.pauses == []


def test_no_pause_is_long(clocks: Clocks) -> None:
    gil_yield.begin()
    clocks.work(gil_yield.UNPAUSED_SECONDS)
    clocks.work(2, waiting=2)
    assert clocks.pauses == [gil_yield.LONGEST_PAUSE]


def test_after_the_end_there_is_no_pause(clocks: Clocks) -> None:
    gil_yield.begin()
    gil_yield.end()
    clocks.work(10, waiting=5)
    assert clocks.pauses == []
