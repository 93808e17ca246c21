"""Effects that happen once, though a program starts again.

In: what the machine writes and reads by.  Out: the same, counted. An evaluation that runs again goes through the effects that it
has had without having them: what was printed is not printed again, what was read is read from memory. So they happen once and in
order. Called by policy.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from vlad.compile.calling.preemption import Runner, Switch


class Effects:
    """What the outermost call has done to the outside, and how far it has come if it runs again."""

    __slots__ = ("done", "at", "words")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.done: float = 0
        self.at = 0
        self.words: dict[int, str] = {}  # that were read, by their places among the effects

    def again(self, at: int) -> None:
        self.at = at

    def replay(self, words: dict[int, str]) -> None:
        """All effects from here on are those of a call that was made before."""
        self.done, self.at, self.words = math.inf, 0, words

    def once(self, act: Callable[..., Any], tiers: Runner, remembered: bool = False) -> Callable[..., Any]:
        """`act`, which an evaluation that runs again does not do again; what it answers is `remembered` for that. While it acts
        nothing takes over."""
        effects = self

        def effect(*operands: Any) -> Any:
            if effects.at < effects.done:
                effects.at += 1
                return effects.words.get(effects.at, "")
            job = tiers.job
            if job is not None:
                # a signal's handler, say, that is evaluated inside does not give way
                gives_way = job.is_innermost()
                with tiers.lock:
                    if job.switching and gives_way:
                        raise Switch
                    acting, job.acting = job.acting, True
            try:
                answer = act(*operands)
                effects.at += 1
                effects.done += 1
                if remembered:
                    effects.words[effects.at] = answer
            finally:
                if job is not None:
                    with tiers.lock:
                        job.acting = acting
                        switching = job.switching
            if job is not None and switching and gives_way:
                raise Switch
            return answer

        return effect
