"""A procedure that is called from outside, and what is compiled of it.

In: a procedure, and one after the other its compiled variants.  Out: `Entry`, which keeps them, why there are none, and what the
procedure cost so far. Made by policy.py.
"""

from __future__ import annotations

import weakref
from typing import Any

from vlad.data.source import Span
from vlad.data.values import Global, Value

Options = tuple[int, bool]  # of the C compiler: how hard it tries, and whether it may reorder sums


class Entry:
    """A procedure as it is called from outside: its compiled variants, and what it cost so far. `f` is kept, so that its id
    stays its own. `options`: how hard the C compiler tries, and whether it may reorder sums."""

    __slots__ = (
        "f", "options", "variants", "reason", "place", "disagrees", "seconds", "cells", "callables", "quicks", "fixed",
        "misses", "lasts",
    )  # fmt: skip

    def __init__(self, f: Value, options: Options) -> None:
        self.f = f
        self.options = options
        self.variants: list[Any] = []
        # which numbers among the operands have to be known, by the operands' form (static_operands.py)
        self.fixed: dict[Any, tuple[int, ...]] = {}
        self.reason: str | None = None  # why it is not compiled,
        self.lasts = True  # whatever it is called with,
        self.misses = 0  # or for want of a number that another call may have: how often
        self.place: Span | None = None  # and where that is
        self.disagrees = False  # did tier 0 know better?
        self.seconds = 0.0
        self.cells: set[Global] = set()
        # Python's callables, by their ids, which call machine code themselves
        self.callables: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        # what these may call now, of the variants (fast_call.py): they hold this very list
        self.quicks: list[Any] = []

    def add(self, compiled: Any) -> None:
        """One more variant."""
        self.cells.update(compiled.cells)
        self.variants.append(compiled)

    def connect(self, procedure: Any) -> None:
        """Let a callable of Python's call the variants that it may, those that there will be as well."""
        self.callables[id(procedure)] = procedure
        procedure.connect(self.quicks)

    def forgotten(self) -> None:
        """What was compiled is out of date."""
        for reference in self.callables.valuerefs():
            procedure = reference()
            if procedure is not None:
                procedure.quicks = ()
        self.callables.clear()
        self.variants.clear()
        self.quicks.clear()
