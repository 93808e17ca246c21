"""A procedure called from outside, and its compiled variants.

In: a procedure, and one after the other its compiled variants.  Out: `Entry`, which keeps them, the reason if there are none, and
the procedure's cost so far. Made by entry_table.py.
"""

from __future__ import annotations

import weakref
from typing import Any

from vlad.compile.ir.refusals import Unbounded
from vlad.core.types import FROM_NOTHING
from vlad.data.source import Span
from vlad.data.values import Global, Value

Options = tuple[int, bool]  # of the C compiler: the optimisation level, and whether it may reorder sums


class Entry:
    """A procedure as called from outside: its compiled variants, and its cost so far. `f` is kept alive, so that its id
    stays unique. `options`: the C compiler's optimisation level, and whether it may reorder sums.
    """

    __slots__ = (
        "f", "options", "variants", "reason", "place", "disagrees", "seconds", "cells", "callables", "quicks", "fixed",
        "misses", "lasts", "zeros_distinct", "keeps_apart", "exhausted", "trees", "unsized", "refusal",
        "lacks_room", "is_made", "last", "patience", "latest",
    )  # fmt: skip

    def __init__(self, f: Value, options: Options) -> None:
        self.f = f
        self.options = options
        self.variants: list[Any] = []
        self.latest: Any = None  # the one that took the last call that one of them took
        # the numbers among the operands that must be constants, by the operands' form (static_operands.py)
        self.fixed: dict[Any, tuple[int, ...]] = {}
        self.reason: str | None = None  # why it is not compiled,
        self.lasts = True  # whether for any operands,
        self.misses = 0  # or because a number is unknown that another call may have: how often
        self.place: Span | None = None  # and the place;
        self.refusal: Unbounded | None = None  # with both, if that is a property of the procedure
        self.lacks_room = False  # or did memory or time not suffice, this time?
        self.is_made = False  # or is its code in the cache, and not loaded, as no call waited for it?
        # what the known zero stays distinct from (analysis/strategy.py): from more after operands did not fit
        self.zeros_distinct = FROM_NOTHING
        self.exhausted: tuple[
            str, ...
        ] = ()  # the ways of analysing it that were in vain (analysis/strategy.py)
        self.keeps_apart = (
            False  # are two shapes of a value taken to differ (core/extents.py), as they did in a call?
        )
        self.trees: set[int] = set()  # the operands that are trees, of another shape in each call
        self.unsized = 0  # calls for which code for all lengths was sought in vain
        self.disagrees = False  # did tier 0 contradict compiled code?
        self.seconds = 0.0  # on tier 0, in all calls
        self.patience: float | None = (
            None  # after how many of them it is compiled, if an earlier run decides that
        )
        self.last = 0.0  # when a call on tier 0 has ended, by time.monotonic()
        self.cells: set[Global] = set()
        # Python's callables, by id, which call machine code directly
        self.callables: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        # the variants that these may call now (fast_call.py): they share this list
        self.quicks: list[Any] = []

    def add(self, compiled: Any) -> None:
        """Add a variant."""
        self.cells.update(compiled.cells)
        self.exhausted = compiled.interface.exhausted
        self.variants.append(compiled)

    def in_turn(self) -> list[Any]:
        """The variants in the order in which a call tries them. Most calls are like the one before."""
        others = [one for one in self.variants if one is not self.latest]
        return others if len(others) == len(self.variants) else [self.latest, *others]

    def connect(self, procedure: Any) -> None:
        """Let a Python callable call the variants that it may, including later ones."""
        self.callables[id(procedure)] = procedure
        procedure.connect(self.quicks)

    def forgotten(self) -> None:
        """Discard outdated code."""
        for reference in self.callables.valuerefs():
            procedure = reference()
            if procedure is not None:
                procedure.quicks = ()
        self.callables.clear()
        self.variants.clear()
        self.latest = None
        self.quicks.clear()
