"""The types in a text that is being edited, by what the last analysis found, whose text may be older.

In: that text and its `Typing`, and the present text.  Out: the type of a name or of an expression at an offset, and hints. What
has been changed since has no type; what is behind the change is where it is now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vlad.data.source import Source

from .bindings import Form, names_in
from .checking_process import At, Typing
from .editing import tree


class Hint(NamedTuple):
    """A type to display after a name that is bound."""

    at: int
    type: str


class TypedText:
    """The types of a text by place. `source`: the text that was analysed; `whole`: an earlier one without errors, whose types
    count where this one, which has errors, has none."""

    def __init__(self, source: Source, typing: Typing, whole: TypedText | None = None) -> None:
        self.source, self.typing, self.whole = source, typing, whole
        self.globals = by_name(typing.globals)
        self.locals = by_name(typing.locals)
        self.defined = {one.start: one for one in typing.globals if not one.is_procedure}
        self.values = {one.start: one for one in typing.values}

    def in_text(self, present: str) -> Present:
        return Present(self, present)


class Present:
    """The same for a text that may have been changed since: all changes are in one part of it."""

    def __init__(self, typed: TypedText, text: str) -> None:
        self.typed, self.text, old = typed, text, typed.source.text
        self.before = common(old, text)
        most = min(len(old), len(text)) - self.before
        self.behind = min(common(old[::-1], text[::-1]), most)
        self.moved = len(text) - len(old)
        self.whole = None if typed.whole is None else Present(typed.whole, text)

    def old(self, at: int) -> int | None:
        """The offset in the text that was analysed; None within what was changed."""
        if at <= self.before:
            return at
        return at - self.moved if at >= len(self.text) - self.behind else None

    def now(self, at: int) -> int | None:
        """The present offset."""
        if at <= self.before:
            return at
        return at + self.moved if at >= len(self.typed.source.text) - self.behind else None

    def of_local(self, name: str, bound: tuple[int, int]) -> str | None:
        """The type of a local variable, by the present offsets at which it is bound."""
        one = self._local(name, bound)
        if one is None:
            return None if self.whole is None else self.whole.of_local(name, bound)
        return one.type

    def _local(self, name: str, bound: tuple[int, int]) -> At | None:
        first, last = self.old(bound[0]), self.old(bound[1])
        found = self.typed.locals.get(name, [])
        if first is None or last is None or not found:
            return None
        text = self.typed.source.text
        for one in found:  # its value follows the name
            if one.start > last and text[last : one.start].isspace():
                return one
        around = [one for one in found if one.start <= first and last <= one.end]
        if around:  # a parameter of the innermost procedure or loop
            return min(around, key=lambda one: one.end - one.start)
        behind = [one for one in found if one.start > last]  # in a pattern, which is before the value
        return min(behind, key=lambda one: one.start) if behind else None

    def of_global(self, name: str) -> list[str]:
        """The lines on a name that the text defines at top level."""
        found = [one.lines for one in self.typed.globals.get(name, [])]
        return found if found or self.whole is None else self.whole.of_global(name)

    def of_expression(self, at: int) -> str | None:
        """The type of the expression that begins at an offset."""
        old = self.old(at)
        one = self.typed.values.get(old) if old is not None else None
        if one is None or self.now(one.end) is None:
            return None if self.whole is None else self.whole.of_expression(at)
        return one.type

    def hints(self, forms: Iterable[Form]) -> Iterator[Hint]:
        """Types to display in these forms: of names that are defined as values, and of local ones that have shapes."""
        forms = [*forms]
        found = {hint.at: hint for hint in self.whole.hints(forms)} if self.whole is not None else {}
        yield from (found | {hint.at: hint for hint in self._own_hints(forms)}).values()

    def _own_hints(self, forms: Iterable[Form]) -> Iterator[Hint]:
        for form in forms:
            for name in names_in(form.text):
                at, end = form.start + name.start, form.start + name.end
                if name.bound == (name.start, name.end):
                    one = self._local(self.text[at:end], (at, end))
                    if one is not None and one.has_shape:
                        yield Hint(end, one.type)
            yield from self._of_definitions(form)

    def _of_definitions(self, form: Form) -> Iterator[Hint]:
        """After the names that a form at top level defines as values."""
        for node in tree(form.text).children:
            old = self.old(form.start + node.start)
            one = None if old is None else self.typed.defined.get(old)
            if one is not None and len(node.children) > 1:
                name = node.children[1]
                if form.text[name.start : name.end] == one.name:
                    yield Hint(form.start + name.end, one.type)


def common(a: str, b: str) -> int:
    """The length of the longest text with which both begin."""
    least, most = 0, min(len(a), len(b))
    while least < most:
        middle = (least + most + 1) // 2
        if a[least:middle] == b[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def by_name(found: list[At]) -> dict[str, list[At]]:
    names: dict[str, list[At]] = {}
    for one in found:
        names.setdefault(one.name, []).append(one)
    return names
