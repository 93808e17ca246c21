"""A program's text → the same program, well laid out.

In: a `Source`.  Out: a text with the same tokens and comments in the same order: only space between them differs. Called by
formatting.py. Line breaks are the writer's: a list that fits as it was broken stays so, and lines get the columns of
indentation.py, as at the prompt. A list that is too wide is broken at its elements: at the parts of a body, at the operands of a
call, or, if all are short words, where lines are full. Comments are neither wrapped nor moved to other lines.

The best layout of a list depends on its column and on the width of what follows on its last line, for which it is
kept: so time is proportional to the number of data, for a width.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from vlad.data.source import Source
from vlad.evaluate.limits import deep_recursion
from vlad.expand.forms import KEYWORDS
from vlad.reader.lexer import Token, tokens
from vlad.reader.parser import looks_like_number, read
from vlad.tools.indentation import Opening, before_body, column_inside

WIDTH = 100
MOST_BLANK = 1  # blank lines inside a list
MOST_BLANK_OUTSIDE = 2
MOST_ROUNDS = 8
NEAR = 2  # the most space before a comment beyond the width


class Style(Enum):
    """How a list is broken into lines."""

    WRITTEN = "as it is"
    FILLED = "as it is, and where a line is full"
    OPERANDS = "after the first operand, or before the body"
    ALL = "after the operator"


@dataclass(slots=True, eq=False)
class Item:
    """A datum or a comment.

    kind      "word" (a name or a number), "other" (any other atom), "list",
              "line" (a comment that ends its line) or "remark" (other comments)
    text      of a list: its opening bracket, and quotations before that
    breaks    ends of lines before it, as it was written
    gap       of a comment behind code: the space between them, as it was written
    flat      width on one line; None if it was written on several, or contains a comment that ends a line
    """

    kind: str
    text: str
    breaks: int
    gap: int = 0
    flat: int | None = None
    items: list[Item] = field(default_factory=list)

    @property
    def closing(self) -> str:
        return ")" if self.text.endswith("(") else "]"

    @property
    def is_data(self) -> bool:
        """Whether it is a tensor, or quoted."""
        return self.text.endswith("[") or self.text[-2:] in ("'(", "`(")

    @property
    def first_width(self) -> int:
        """The least width of its first line."""
        if self.kind != "list":
            return len(self.text.partition("\n")[0])
        first = self.items[0] if self.items else None
        return len(self.text) + (0 if first is None or first.kind == "list" else first.first_width)


def laid_out(source: Source, width: int = WIDTH) -> str:
    """The text of a program, laid out. Raises VladError if it cannot be read."""
    read(source)  # raises the error of a text that is wrong
    line_end = "\r\n" if source.text.partition("\n")[0].endswith("\r") else "\n"
    with deep_recursion():
        text = source.text
        for _ in range(MOST_ROUNDS):  # what does not fit may find another place among the new lines
            layout = _Layout(width)
            before, text = text, layout.text(_items(text))
            if layout.over == 0 or text == before:
                break
    if line_end != "\n":
        text = text.replace("\r\n", "\n").replace("\n", line_end)
    if list(_written(text)) != list(_written(source.text)):
        raise RuntimeError(f"the layout of {source.name} would change the program")
    return text


def _written(text: str) -> Iterator[tuple[str, str]]:
    """What must not change: every token but space, by kind and text."""
    for token in tokens(text):
        if token.kind != "space":
            yield token.kind, text[token.start : token.end].replace("\r\n", "\n").rstrip()


# Tokens to items.


def _items(text: str) -> list[Item]:
    """The data and comments of a text that can be read."""
    reader = _Reader(text)
    for token in tokens(text):
        reader.token(token)
    return reader.outside.items


class _Reader:
    def __init__(self, text: str) -> None:
        self.source_text = text
        self.outside = Item("list", "", 0)
        # lists, quotations and datum comments that have not ended, with their start
        self.open: list[tuple[Item, int]] = []
        self.breaks = 0  # since the last token
        self.gap = 0

    def token(self, token: Token) -> None:
        kind, start, end = token
        text = self.source_text[start:end]
        if kind == "space":
            self.breaks, self.gap = text.count("\n"), len(text) - text.rfind("\n") - 1
        else:
            if kind in ("open", "tensor", "vector", "quote", "datumcomment") or (
                kind == "bracket" and text == "["
            ):
                self._open(kind, text, start)
            elif kind in ("close", "bracket"):
                self._add(self._closed(), end)
            elif kind == "comment" and not text.startswith("#|"):
                self._add(self._item("line", text.rstrip()), end)
            elif kind == "comment":
                self._add(self._item("remark", text), end)
            else:
                self._add(self._item("word" if kind in ("atom", "symbol") else "other", text), end)
            self.breaks = self.gap = 0

    def _item(self, kind: str, text: str) -> Item:
        flat = None if kind == "line" or "\n" in text else len(text)
        return Item(kind, text, self.breaks, self.gap, flat)

    def _open(self, kind: str, text: str, start: int) -> None:
        kind = {"quote": "quotation", "datumcomment": "remark"}.get(kind, "list")
        self.open.append((self._item(kind, text), start))

    def _closed(self) -> Item:
        item, _ = self.open.pop()
        widths = [each.flat for each in item.items]
        is_flat = not any(each.breaks for each in item.items) and None not in widths
        brackets = len(item.text) + 1
        spaces = max(len(widths) - 1, 0)
        item.flat = brackets + sum([width or 0 for width in widths]) + spaces if is_flat else None
        return item

    def _add(self, item: Item, end: int) -> None:
        """Add what ends here to what it is in, which it may end."""
        while self.open:
            around, start = self.open[-1]
            if around.kind == "list":
                break
            if item.kind in ("line", "remark"):  # between a quotation and its datum
                around.items.append(item)
                return
            self.open.pop()
            item = self._joined(around, item, self.source_text[start:end])
        (self.open[-1][0] if self.open else self.outside).items.append(item)

    def _joined(self, around: Item, item: Item, text: str) -> Item:
        """A quotation with its datum, or a datum comment, which is not changed."""
        if around.kind == "remark" or around.items:
            kind = "remark" if around.kind == "remark" else "other"
            flat = None if "\n" in text else len(text)
            return Item(kind, text, around.breaks, around.gap, flat)
        item.text = around.text + item.text
        item.breaks, item.gap = around.breaks, around.gap
        item.flat = None if item.flat is None else item.flat + len(around.text)
        item.kind = "other" if item.kind == "word" else item.kind
        return item


# Items to lines.


@dataclass(slots=True)
class _Laid:
    """What is known of something that has been laid out: lines beyond the width, the last one excepted, the column behind it, and
    whether it has several lines."""

    over: int
    end: int
    is_long: bool


class _Layout:
    def __init__(self, width: int) -> None:
        self.width = width
        self.over = 0  # lines beyond the width
        self.best: dict[tuple[Item, int, int], tuple[Style, _Laid]] = {}

    def text(self, items: list[Item]) -> str:
        """The text of a program."""
        out: list[str] = []
        at, previous = 0, None
        for item in items:
            is_behind = item.kind == "line" and not item.breaks
            if previous is not None and not (is_behind or self._is_joined(previous, item, at)):
                out.append("\n" * (1 + min(max(item.breaks - 1, 0), MOST_BLANK_OUTSIDE)))
                at = 0
            elif previous is not None:
                out.append(" " * (space := self._space(item, at)))
                at += space
            laid = self._place(item, at, 0, out)
            at = laid.end
            self.over += laid.over + (at > self.width and item.kind != "line")
            previous = item
        return "".join([*out, "\n"]) if items else ""

    def _is_joined(self, previous: Item, item: Item, at: int) -> bool:
        """Whether something outside of all lists stays on the line of what is before it."""
        if item.breaks or previous.kind == "line" or None in (previous.flat, item.flat):
            return False
        return at + 1 + (item.flat or 0) <= self.width

    def _space(self, item: Item, at: int) -> int:
        """The space between an item and what is before it on its line."""
        if item.kind != "line":
            return 1
        return max(item.gap, 1) if at + item.gap < self.width else min(max(item.gap, 1), NEAR)

    def _place(self, item: Item, at: int, tail: int, out: list[str] | None) -> _Laid:
        """Lay out an item at a column, with a tail on its last line. Its text is added to `out`, if that is given."""
        if item.kind != "list":
            if out is not None:
                out.append(item.text)
            first, *more = item.text.split("\n")
            if not more:
                return _Laid(0, at + len(first), False)
            return _Laid(int(at + len(first) > self.width), len(more[-1]), True)
        key = (item, at, tail)
        if key not in self.best:
            self.best[key] = self._chosen(item, at, tail)
        style, laid = self.best[key]
        return laid if out is None else _Walk(self, item, at, tail, style, out).laid()

    def _chosen(self, item: Item, at: int, tail: int) -> tuple[Style, _Laid]:
        """The first style in which everything fits, or in which the fewest lines do not."""
        is_one = item.flat is not None
        if is_one and at + (item.flat or 0) + tail <= self.width:
            return Style.WRITTEN, _Laid(0, at + (item.flat or 0), False)
        best = None
        styles = _styles(item)
        for style in styles if at < self.width else styles[-1:]:  # beyond the width lines are broken soon
            laid = _Walk(self, item, at, tail, style, None).laid()
            over = laid.over + (laid.end + tail > self.width)
            if best is None or over < best[0]:
                best = over, style, laid
            if over == 0:
                break
        assert best is not None
        return best[1:]


def _styles(form: Item) -> list[Style]:
    """The styles to try for a list that does not fit on its line."""
    styles = list(Style)
    if form.items and form.items[0].kind == "word" and form.items[0].text in KEYWORDS:
        styles.remove(Style.ALL)
    if not any(item.breaks and item.kind != "line" for item in form.items[1:]):
        styles.remove(Style.FILLED)
    if form.flat is not None and len(form.items) > 1:
        styles.remove(Style.WRITTEN)
    return styles


class _Walk:
    """Lays out a list in a style, element by element."""

    def __init__(
        self, layout: _Layout, form: Item, start: int, tail: int, style: Style, out: list[str] | None
    ) -> None:
        self.layout = layout
        self.items = form.items
        self.form = form
        self.tail = tail
        self.style = style
        self.is_written = style in (Style.WRITTEN, Style.FILLED)
        self.out = out
        self.at = start + len(form.text)
        self.over = 0
        self.elements = -1  # after the head, so far
        self.is_long = False
        first, second, *_ = [*form.items, None, None]
        head = first.text if first is not None and first.kind == "word" else None
        is_named = second is not None and second.kind == "word" and not (self.is_written and second.breaks)
        self.opening = Opening(self.at - 1, form.is_data, head, None, is_named)
        before = before_body(self.opening)
        is_call = not (head is None or form.is_data or looks_like_number(head))
        # the number of elements after the head that stay on its line where lines are broken anew
        self.kept = before if before is not None else int(is_call and style is not Style.ALL)
        self.is_call = is_call
        self.is_filled = not self.is_written and before is None and all(map(_is_short, form.items))

    def laid(self) -> _Laid:
        self._write(self.form.text)
        for index, item in enumerate(self.items):
            is_begun = self._is_broken(index, self.elements) or self._is_full(index)
            if is_begun:
                self._new_line(item.breaks, index)
            elif index or item.kind == "line":
                self._write(" " * (space := self.layout._space(item, self.at)))
                self.at += space
            self._note_second(item)
            laid = self.layout._place(item, self.at, self._behind(index), self.out)
            self.over += laid.over + (laid.is_long and not is_begun and self._is_squeezed(index))
            self.at = laid.end
            self.is_long |= laid.is_long
            self.elements += item.kind not in ("line", "remark")
        if self.items and self.items[-1].kind == "line":
            self._new_line(0, len(self.items))
        self._write(self.form.closing)
        return _Laid(self.over, self.at + 1, self.is_long)

    def _write(self, text: str) -> None:
        if self.out is not None:
            self.out.append(text)

    def _new_line(self, breaks: int, index: int) -> None:
        if index and self.items[index - 1].kind != "line":  # comments may be longer
            self.over += self.at > self.layout.width
        self.at = column_inside(self.opening, self.elements)
        self._write("\n" * (1 + min(max(breaks - 1, 0), MOST_BLANK)) + " " * self.at)
        self.is_long = True

    def _note_second(self, item: Item) -> None:
        """Note what follows the head on its line."""
        is_comment = item.kind == "line" or item.text.startswith("#|")
        if self.elements == 0 and not (self.is_long or is_comment or self.opening.second is not None):
            self.opening = self.opening._replace(second=self.at, is_named=item.kind == "word")

    def _is_broken(self, index: int, elements: int) -> bool:
        """Whether an item begins a line. Before it there are so many elements after the head."""
        item = self.items[index]
        if index and self.items[index - 1].kind == "line":
            return True
        if item.kind in ("line", "remark") or self.is_written:
            return item.breaks > 0 and (index > 0 or item.kind == "line")
        return not self.is_filled and self._may_be_broken(index, elements)

    def _may_be_broken(self, index: int, elements: int) -> bool:
        is_test = self.opening.head == "do" and elements == 1
        return index > 0 and not _is_joining(self.items[index - 1]) and (elements >= self.kept or is_test)

    def _is_full(self, index: int) -> bool:
        """Whether a line has no room for the next item."""
        if not (self.is_filled or self.style is Style.FILLED) or not self._may_be_broken(
            index, self.elements
        ):
            return False
        if self.elements == 0 and self.style is Style.ALL and self.is_call:
            return True
        end = self.at
        for item in self.items[index : index + 2]:
            end += 1 + (item.first_width if item.flat is None else item.flat)
            if not _is_joining(item):
                break
        is_last = index + 1 == len(self.items)
        return end + (1 + self.tail if is_last else 0) > self.layout.width

    def _behind(self, index: int) -> int:
        """The width of what must follow an item on its last line."""
        if self.items[index].kind != "list":
            return 0
        width, elements = 0, self.elements + 1
        for at in range(index + 1, len(self.items)):
            item = self.items[at]
            if item.kind == "line" or self._is_broken(at, elements):
                return width
            width += 1 + item.first_width
            if item.kind == "list":
                return width
            elements += item.kind != "remark"
        return width + 1 + self.tail

    def _is_squeezed(self, index: int) -> bool:
        """Whether something was broken because the writer's line has no room for it, and had better begin a line."""
        is_whole = self.items[index].flat is not None
        return self.is_written and is_whole and self._may_be_broken(index, self.elements)


def _is_joining(item: Item) -> bool:
    """Whether an item stays on the line of what follows it: the dot of a pair, the name of an operand."""
    return item.kind != "list" and (item.text == "." or item.text.startswith("#:"))


def _is_short(item: Item) -> bool:
    return item.kind in ("word", "other") and item.flat is not None
