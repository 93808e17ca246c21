"""The forms of a text that may have errors: one in one form does not affect the others.

In: the top level of a session, whose `note` records forms instead of executing them, and a text.  Out: its errors, of the reader
and the expander, and which names may be those of forms with errors. Called by survey.py and programs.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from vlad.data.errors import VladError
from vlad.data.source import Source, Span
from vlad.data.values import Global
from vlad.expand.items import Import, Include, Item, top_level_forms
from vlad.reader.parser import read_parts, words_in
from vlad.session.top_level import TopLevel


@dataclass(eq=False)
class Tried:
    """The errors, each with the extent of its form. `is_read`: has the text a syntax without errors? `is_short`: is one of the
    errors in a file that it names?"""

    errors: list[tuple[VladError, Span]]
    is_read: bool
    is_short: bool = False

    @cached_property
    def _words(self) -> set[str]:
        return words_in([place for _, place in self.errors])

    def may_define(self, name: str) -> bool:
        """Whether a form with an error may give a name its meaning."""
        return self.is_short or name in self._words

    def is_unbound(self, cell: Global) -> bool:
        return not hasattr(cell, "value") and not self.may_define(cell.name)


def try_forms(top_level: TopLevel, source: Source) -> Tried:
    """Record what can be read."""
    top_level.tiers.reads(source.text)
    with top_level.within(source.name):
        data, errors = top_level.machine.guarded(lambda: read_parts(source))
        tried = Tried(errors, not errors)
        for syntax in top_level_forms(data):
            try:
                items = top_level.expanded(syntax, top_level.module)
            except VladError as error:
                error.span = error.span or syntax.span
                errors.append((error, syntax.span))
                continue
            for item in items:
                _try(top_level, item, tried)
    errors.sort(key=lambda one: one[1].start)
    return tried


def _try(top_level: TopLevel, item: Item, tried: Tried) -> None:
    try:
        top_level.execute(item, top_level.module, top_level.print)
    except VladError as error:
        tried.errors.append((error, item.span))
        tried.is_short |= isinstance(item, Import | Include)
