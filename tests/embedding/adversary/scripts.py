"""A script of the corpus: its text, and its expected outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FINE = "none"


@dataclass(frozen=True, slots=True)
class Script:
    """ends     the code of its error; FINE where it ends with a value; several with `|` between, where it is a matter of the
             machine which limit is reached first
    value    then; None where it does not matter
    limits   that differ from the corpus's own
    """

    text: str | Callable[[], str]
    ends: str
    value: Any = None
    limits: tuple[tuple[str, float], ...] = ()

    @property
    def program(self) -> str:
        return self.text if isinstance(self.text, str) else self.text()


def script(text: str | Callable[[], str], ends: str = FINE, value: Any = None, **limits: float) -> Script:
    return Script(text, ends, value, tuple(limits.items()))


def endless(text: str | Callable[[], str], seconds: float = 0.15) -> Script:
    """A script that would run for ever, or for hours."""
    return script(text, "out-of-time", seconds=seconds)


def endless_in_steps(text: str) -> Script:
    return script(text, "out-of-fuel", fuel=20_000)


def growing(text: str | Callable[[], str], megabytes: float = 40) -> Script:
    """A script that would fill the memory of any machine."""
    return script(text, "out-of-memory", memory=megabytes, seconds=20)


def exponential(text: str | Callable[[], str]) -> Script:
    """A script that takes time and memory that are powers of two."""
    return script(text, "out-of-time|out-of-memory", seconds=0.2, memory=40)
