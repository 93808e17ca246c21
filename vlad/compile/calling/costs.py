"""What the long calls of a program took in earlier runs, on either tier.

In: the texts that a session reads, and the seconds that its calls take.  Out: of a call, what it took in an earlier run of the
same texts. policy.py decides by that which tier a call starts on. It is kept in the cache, one entry for each program.

An entry is found by the texts that were read so far, not by what a call computes, so that a program without one pays next to
nothing. Where it does not apply, since the data differ, for example, a call starts on the slower tier.
"""

from __future__ import annotations

import os
import threading
import zlib
from typing import TYPE_CHECKING, Any

from vlad import __version__
from vlad.compile.native.cache_folder import COSTS, folder, is_off
from vlad.control.safe_import import import_safely
from vlad.data.source import Origin
from vlad.data.values import Value

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

FIELDS = 5  # of a line of an entry: the place of a call, and its Cost


class Cost:
    """Seconds of a call: on tier 0, or at least so many; and compiled, with loading, if it ran compiled. `is_kept`: is its unit
    in the cache? `is_refused`: can it not be compiled? (A dataclass would be a large part of the time in which vlad starts.)
    """

    __slots__ = ("evaluated", "compiled", "is_kept", "is_refused")

    def __init__(
        self,
        evaluated: float = 0.0,
        compiled: float | None = None,
        is_kept: bool = False,
        is_refused: bool = False,
    ) -> None:
        self.evaluated = evaluated
        self.compiled = compiled
        self.is_kept = is_kept
        self.is_refused = is_refused

    @property
    def pays(self) -> bool:
        """Whether the call takes less time if it runs compiled from the beginning."""
        if self.compiled is None:
            return self.is_kept
        return self.compiled < self.evaluated

    @property
    def saving(self) -> float:
        """The seconds that compiled code saves, at most."""
        return 0.0 if self.is_wasted else self.evaluated - (self.compiled or 0.0)

    @property
    def is_wasted(self) -> bool:
        """Whether compiling it was in vain."""
        return self.is_refused or (self.compiled is not None and not self.pays)


class Costs:
    """The costs of the calls of a session's program."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._program = f"{zlib.crc32(__version__.encode()):08x}"  # the key of the texts read so far
        self._known: dict[str, Cost] | None = None  # for this key; None: not looked up
        self._lock = threading.Lock()

    def reads(self, text: str) -> None:
        """Note a text that the program consists of."""
        data = text.encode("utf-8", "surrogatepass")
        self._program = f"{zlib.crc32(data, int(self._program[:8], 16)):08x}{len(data):x}"
        self._known = None

    def of(self, f: Value) -> Cost | None:
        """The cost of a call of a procedure in an earlier run; None if that is not known."""
        if self._known is None:
            self._known = self._read()
        return self._known.get(self._place(f) or "") if self._known else None

    @property
    def saving(self) -> float:
        """The seconds that compiled code saves in all calls that are known."""
        return sum([cost.saving for cost in (self._known or {}).values()])

    def note(self, f: Value, **found: Any) -> None:
        """Note fields of the cost of a call, in the thread that evaluates or in that of the compiler."""
        place = self._place(f)
        if place is None or is_off():
            return
        store = import_safely("vlad.compile.native.cache").store
        with self._lock:
            known = self._known or {}
            cost = known.get(place) or Cost()
            for name, value in found.items():
                setattr(cost, name, value)
            self._known = {**known, place: cost}
            lines = [" ".join([place, *_words(cost)]) for place, cost in self._known.items()]
            store(self._program, "\n".join(lines).encode(), COSTS)

    def update(self, f: Value, **found: Any) -> None:
        """`note`, if the cost of the call is known already."""
        if self.of(f) is not None:
            self.note(f, **found)

    def _read(self) -> dict[str, Cost]:
        if is_off() or not os.path.exists(os.path.join(folder(), self._program + COSTS)):
            return {}
        data = import_safely("vlad.compile.native.cache").lookup(self._program, COSTS) or b""
        lines = [line.split() for line in data.decode().split("\n")]
        return {words[0]: _cost(words[1:]) for words in lines if len(words) == FIELDS}

    def _place(self, f: Value) -> str | None:
        """Where a procedure stands in the program; None if it stands elsewhere."""
        span = self._machine.core_of(f[0].base).span
        if span is None or span.source.origin is not Origin.PROGRAM:
            return None
        name = os.path.basename(span.source.name).encode("utf-8", "surrogatepass")
        return f"{zlib.crc32(name):08x}-{span.start}"


def _words(cost: Cost) -> list[str]:
    compiled = "-" if cost.compiled is None else f"{cost.compiled:.6f}"
    return [f"{cost.evaluated:.6f}", compiled, str(int(cost.is_kept)), str(int(cost.is_refused))]


def _cost(words: list[str]) -> Cost:
    evaluated, compiled, is_kept, is_refused = words
    return Cost(
        float(evaluated), None if compiled == "-" else float(compiled), is_kept == "1", is_refused == "1"
    )
