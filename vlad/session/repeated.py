"""Texts that are evaluated again and again, as in `session.eval("(step 0.1)")` in a loop of Python.

In: a text of one expression, evaluated for the second time.  Out: a procedure without arguments, which later evaluations call:
nothing is read and expanded again, and the procedure is compiled once it has taken long enough, as others are. A procedure sees
what the globals are now, so it means what the text does, until names or keywords get another kind of meaning.
"""

from __future__ import annotations

from typing import TypeAlias

from vlad.data.source import Source, Span
from vlad.data.values import Value
from vlad.expand.scope import Module

MOST_TEXTS, LONGEST = 64, 1_000  # that are kept, and of so many characters

Text: TypeAlias = tuple[str, str]  # its name, and itself
Kept: TypeAlias = tuple[Value, Span]


class RepeatedTexts:
    """Those of one module. The oldest is forgotten first."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._kept: dict[Text, Kept | None] = {}  # None: evaluated once
        self._meanings = self._meanings_now()

    def _meanings_now(self) -> tuple[set[str], dict[str, object], dict[str, object]]:
        module = self.module
        return set(module.defined), dict(module.macros), dict(module.record_types)

    def has(self, source: Source) -> bool:
        """Whether the text was evaluated before, and still means the same."""
        names, macros, record_types = self._meanings
        module = self.module
        if names != module.defined.keys() or macros != module.macros or record_types != module.record_types:
            self._kept.clear()
            self._meanings = self._meanings_now()
        return (source.name, source.text) in self._kept

    def get(self, source: Source) -> Kept | None:
        return self._kept.get((source.name, source.text))

    def keep(self, source: Source, kept: Kept | None) -> None:
        """Note a text that is one expression, and its procedure, if that was made."""
        if len(source.text) > LONGEST:
            return
        if len(self._kept) >= MOST_TEXTS:
            del self._kept[next(iter(self._kept))]
        self._kept[source.name, source.text] = kept
