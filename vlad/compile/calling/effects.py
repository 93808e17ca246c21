"""Performs effects once although an evaluation runs again.

In: the functions by which the machine writes and reads.  Out: the same, counted. An evaluation that runs again skips the effects
of the first run: nothing is printed twice, and input that was read is taken from memory. So each effect happens once, in order.
Called by policy.py and variant_runner.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from vlad.compile.calling.preemption import Runner, Switch


class Effects:
    """The number of effects of the outermost call so far, and the position of a repeated run among them."""

    __slots__ = ("done", "at", "words")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.done: float = 0
        self.at = 0
        self.words: dict[int, str] = {}  # input, by its position among the effects

    def again(self, at: int) -> None:
        self.at = at

    def replay(self, words: dict[int, str]) -> None:
        """Skip all effects from here on, as those of an earlier call."""
        self.done, self.at, self.words = math.inf, 0, words

    def apart(self, act: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        """The result of an effect. Evaluations within it, by a host's function that writes, count their own effects: one that
        runs again skips no others."""
        outer = self.done, self.at, self.words
        self.begin()
        try:
            return act(*operands)
        finally:
            self.done, self.at, self.words = outer

    def once(self, act: Callable[..., Any], tiers: Runner, remembered: bool = False) -> Callable[..., Any]:
        """`act`, skipped where an evaluation runs again; with `remembered`, its result is kept for that. Switch is not raised
        during the effect."""
        effects = self

        def effect(*operands: Any) -> Any:
            if effects.at < effects.done:
                effects.at += 1
                return effects.words.get(effects.at, "")
            job = tiers.job
            if job is not None:
                # an evaluation inside this one, as of a signal's handler, is not restarted
                may_switch = job.is_innermost()
                with tiers.lock:
                    if job.switching and may_switch:
                        raise Switch
                    acting, job.acting = job.acting, True
            try:
                result = effects.apart(act, operands)
                effects.at += 1
                effects.done += 1
                if remembered:
                    effects.words[effects.at] = result
            finally:
                if job is not None:
                    with tiers.lock:
                        job.acting = acting
                        switching = job.switching
            if job is not None and switching and may_switch:
                raise Switch
            return result

        return effect
