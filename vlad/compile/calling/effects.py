"""Effects that happen once although a program restarts.

In: the machine's output and input functions.  Out: the same, counted. A repeated evaluation passes through the effects that
already happened without repeating them: output is not printed again, input is read from memory. So they happen once and in
order. Called by policy.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from vlad.compile.calling.preemption import Runner, Switch


class Effects:
    """The external effects of the outermost call, and its progress through them if it is repeated."""

    __slots__ = ("done", "at", "words")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.done: float = 0
        self.at = 0
        self.words: dict[int, str] = {}  # words that were read, by their positions among the effects

    def again(self, at: int) -> None:
        self.at = at

    def replay(self, words: dict[int, str]) -> None:
        """All effects from here on are those of an earlier call."""
        self.done, self.at, self.words = math.inf, 0, words

    def once(self, act: Callable[..., Any], tiers: Runner, remembered: bool = False) -> Callable[..., Any]:
        """Wrap `act`, so that a repeated evaluation does not repeat it; its result is `remembered` for that. While it runs
        the evaluation cannot be taken over.
        """
        effects = self

        def effect(*operands: Any) -> Any:
            if effects.at < effects.done:
                effects.at += 1
                return effects.words.get(effects.at, "")
            job = tiers.job
            if job is not None:
                # an evaluation inside, such as a signal handler's, does not allow it
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
