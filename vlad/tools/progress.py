"""How far training is, in a line: the step, the value, the rate, and the time left.

In: what `show-progress` tells of a loop.  Out: a text, at most a few times a second, and how many steps need not be told. Used by
the command for a terminal, by the prompt and by notebooks, each of which has its place for the text. Nothing here knows it.

Rejected: a bar, which says less than the numbers in its place.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TextIO

PATIENCE = 1.0  # seconds until a loop is shown
EACH = 0.2  # seconds between two texts
MOST_SKIPPED = 1 << 24
_SMOOTHING = 0.3  # part of the newest rate in the one that is shown


class Progress:
    """The loop at work. Called with the number of its step, how many there are (0 if that is not known), and a value."""

    def __init__(self, show: Callable[[str], object] | None = None) -> None:
        self.show = show
        self.clock: Callable[[], float] = time.monotonic
        self.end()

    def end(self) -> None:
        """No loop is at work."""
        self.step = self.total = self.value = self.begun = self.now = self.shown = self.counted = 0.0
        self.rate: float | None = None

    def __call__(self, step: float, total: float, value: float) -> int:
        """Returns how many steps may pass until the next call."""
        now = self.clock()
        if step <= self.step or total != self.total or not self.begun:
            self.begun = self.shown = now
            self.counted, self.rate = step, None
            self.step, self.total, self.value, self.now = step, total, value, now
            return 0
        steps, seconds = step - self.step, now - self.now
        self.step, self.value, self.now = step, value, now
        if now - self.shown >= EACH:
            self._count(now)
            if self.show is not None and now - self.begun >= PATIENCE:
                self.show(self.text())
        return int(min(2 * steps, steps * EACH / 4 / seconds if seconds else MOST_SKIPPED, MOST_SKIPPED))

    def _count(self, now: float) -> None:
        newest = (self.step - self.counted) / (now - self.shown)
        self.rate = newest if self.rate is None else self.rate + _SMOOTHING * (newest - self.rate)
        self.shown, self.counted = now, self.step

    def text(self) -> str:
        """The line; "" where no loop has been at work for a while."""
        rate = self.rate
        if not rate or self.clock() - self.now > 2 + 3 / rate:
            return ""
        of = f" of {self.total:,.0f}" if self.total else ""
        left = f", {duration((self.total - self.step) / rate)} left" if self.total else ""
        return f"step {self.step:,.0f}{of}: {self.value:.6g}, {_rate(rate)}{left}"


def _rate(rate: float) -> str:
    return (
        f"{rate:,.0f} steps/s"
        if rate >= 10
        else f"{rate:.1f} steps/s"
        if rate >= 1
        else f"{1 / rate:.1f} s/step"
    )


def duration(seconds: float) -> str:
    """`7 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Line:
    """A terminal to which a program writes, and between that a line that is erased before anything else is written."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.fresh = True  # is the next character at the beginning of a line?
        self.shown = False

    def write(self, text: str) -> None:
        if text:
            self.wipe()
            self.stream.write(text)
            self.fresh = text.endswith("\n")

    def show(self, text: str) -> None:
        if self.fresh and text:
            self.shown = True
            self.stream.write("\r\x1b[K" + text[: shutil.get_terminal_size().columns - 1])
            self.stream.flush()

    def wipe(self) -> None:
        if self.shown:
            self.shown = False
            self.stream.write("\r\x1b[K")
            self.stream.flush()
