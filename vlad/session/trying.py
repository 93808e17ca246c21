"""The forms of a text that may have errors: one in one form does not affect the others.

In: the top level of a session, whose `note` records forms instead of executing them, and a text.  Out: its errors, of the reader
and the expander, and what to report of names without a meaning, which forms with errors may define. Called by survey.py and
programs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from vlad.data.errors import Notice, VladError, unbound_message
from vlad.data.source import Source, Span
from vlad.expand.items import Import, Include, Item, top_level_forms
from vlad.messages.hints import NOTHING
from vlad.reader.parser import read_parts, words_in
from vlad.session.top_level import TopLevel


@dataclass(eq=False)
class Tried:
    """The errors, each with the extent of its form. `is_read`: has the text a syntax without errors? `missing`: the imports and
    includes that failed."""

    errors: list[tuple[VladError, Span]]
    is_read: bool
    missing: list[Import | Include] = field(default_factory=list)

    @cached_property
    def _words(self) -> set[str]:
        return words_in([place for _, place in self.errors])

    def may_define(self, name: str) -> bool:
        """Whether a form with an error may give a name its meaning."""
        return name in self._words or bool(self._files_with(name))

    def _files_with(self, name: str) -> list[str]:
        """The files that failed and may define a name: with a prefix, only names that have it."""
        return [
            one.path
            for one in self.missing
            if isinstance(one, Include) or one.prefix is None or name.startswith(f"{one.prefix}:")
        ]

    def reported(self, error: VladError, suggest: Callable[[VladError], object]) -> VladError | None:
        """An error of a program that was tried, with its hint. Of a name without a meaning that a form with an error may define,
        nothing is reported; or a notice, if only a file that failed may define it, and its hint tells what else may be meant.
        """
        if error.code != "unbound-variable" or error.name is None:
            return error
        name = error.name
        if name in self._words:
            return None
        if error.hint is None:
            suggest(error)
        files = dict.fromkeys(self._files_with(name))
        if not files:
            return error
        if error.hint in (None, NOTHING):
            return None
        message = f"{unbound_message(name)}, unless {' or '.join(files)} defines it"
        return Notice("unbound-variable", message, error.span, hint=error.hint, name=name)


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
        if isinstance(item, Import | Include):
            tried.missing.append(item)
