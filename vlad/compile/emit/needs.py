"""The parts of the run-time and of the host that the C functions of a unit use, recorded while they are emitted.

In: calls from the emitters.  Out: what the unit declares (c_unit.py), and what its caller has to provide (calling/interface.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vlad.core.extents import AnExtent, Extent
from vlad.core.loop_nests import Output, words

WORD = 8  # bytes


@dataclass(slots=True)
class Needs:
    """`functions`: the C functions that are called, and so declared; `stops`: calls poll `vlad_stop`, and so can be interrupted;
    `vectors`: they use vector functions that the caller passes; `largest`: bytes of the largest array of constant size that is
    allocated; `rooms`: the words of the others; `turns`: of loops whose numbers are known only in a call, which may be
    interrupted if there are many; `threads`: loops over rows, or parts of loops over arrays, may run in
    several threads; `parts`: the functions that run the latter, by text the name; `keeps`: loops have arrays that stay in
    place between calls (`Local`), one for each thread."""

    functions: set[str] = field(default_factory=set)
    stops: bool = False
    vectors: bool = False
    threads: bool = False
    keeps: bool = False
    parts: dict[str, str] = field(default_factory=dict)
    largest: int = 0
    turns: dict[Extent, None] = field(default_factory=dict)
    rooms: dict[Extent, None] = field(default_factory=dict)

    def stop(self, condition: str = "", turns: AnExtent = 0) -> str:
        """A statement that ends the call when `vlad_stop` is set. `condition`: C that limits how often that is polled, followed
        by `&& `. `turns`: of the loops that poll."""
        self.stops |= type(turns) is int
        return f"if ({condition}__builtin_expect(vlad_stop, 0)) vlad_fail(VLAD_STOPPED);"

    def array(self, output: Output) -> str:
        """A new array for an output of a loop nest."""
        return self.room(words(output.size or 0, output.kind))

    def room(self, count: AnExtent) -> str:
        """A new array of so many words."""
        if type(count) is Extent:
            self.rooms[count] = None
            return f"vlad_array({count})"
        assert type(count) is int
        self.largest = max(self.largest, WORD * count)
        return f"vlad_array({count}L)"
