"""Optimised code for a procedure that runs already: made beside its calls, and used from the next one on.

In: a variant whose C text was too long to be optimised before its first call (executable.Later).  Out: nothing; the variant is
replaced. A job of the compiler's thread (background.py), which waits for the C compiler. variant_compiler.py
adds it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from vlad.compile.calling.variants import Entry
from vlad.compile.ir.refusals import Unavailable
from vlad.control.surroundings import Surroundings

if TYPE_CHECKING:
    from vlad.compile.calling.executable import Compiled, Later
    from vlad.evaluate.machine import Machine


class Owner(Protocol):
    """The object that has the variants (variant_compiler.VariantCompiler)."""

    machine: Machine
    closed: bool

    def replace(self, entry: Entry, quick: Compiled, better: Compiled) -> None: ...

    def stays_quick(self, unavailable: Unavailable) -> None: ...


class Finishing:
    """The job for a variant of a procedure."""

    once = False
    worth = 0.0
    due = 0.0  # at once
    heat = 0.0

    def __init__(self, tiers: Owner, entry: Entry, quick: Compiled, later: Later) -> None:
        self.tiers = tiers
        self.entry = entry
        self.quick = quick
        self.later = later
        self.surroundings: Surroundings | None = Surroundings()

    @property
    def thread(self) -> int:
        """The thread that it is for: any, so that a forked child, which has a copy of the variant, finishes that as well."""
        return threading.get_ident()

    def is_needed(self) -> bool:
        return True

    def poll(self) -> None:
        """In the compiler's thread: make the code, and replace the variant."""
        tiers = self.tiers
        if tiers.closed or self.quick not in self.entry.variants:  # it is out of date
            return
        try:
            better = self.later.compiled(tiers.machine, self.quick)
        except Unavailable as unavailable:
            tiers.stays_quick(unavailable)
            return
        tiers.replace(self.entry, self.quick, better)
