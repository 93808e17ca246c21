"""Structural moves and edits, as in Paredit.

In: a text and a position in it.  Out: the new text and position, or None if nothing changes. An incomplete
text is treated as if its open lists were closed at its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vlad.reader.lexer import tokens

Edit = tuple[str, int]
BEFORE, BEHIND = re.compile(r"[^\s()\[\]\"';`,]*$"), re.compile(r"[^\s()\[\]\"';`,]*")  # the parts of a word


class Node:
    """An element of a text: an atom, or a list with its elements. `start` includes quotes before it."""

    __slots__ = ("start", "end", "inside", "above", "children", "is_closed")

    def __init__(self, start: int, end: int, inside: int, above: Node | None) -> None:
        self.start = start
        self.end = end
        self.inside = inside  # the start of a list's elements; -1 for an atom
        self.above = above
        self.children: list[Node] = []
        self.is_closed = False

    @property
    def last(self) -> int:
        """The offset of a list's closing bracket."""
        return self.end - 1 if self.is_closed else self.end


def tree(text: str) -> Node:
    """All elements of a text, below a node for the whole text."""
    root = Node(0, len(text), 0, None)
    top, begun = root, -1  # begun: the position of a quote before an element
    for token in tokens(text):
        if token.kind in ("space", "comment", "open-comment"):
            continue
        start = token.start if begun < 0 else begun
        if token.kind in ("quote", "datumcomment"):
            begun = start
            continue
        begun = -1
        opens = token.kind in ("open", "tensor", "vector") or text[token.start] == "["
        if opens:
            node = Node(start, len(text), token.end, top)
            top.children.append(node)
            top = node
        elif token.kind == "close" or text[token.start] == "]":
            if top.above is not None:
                top.end, top.is_closed = token.end, True
                top = top.above
        else:
            top.children.append(Node(start, token.end, -1, top))
    return root


def around(root: Node, at: int) -> Node:
    """The innermost list that contains a position; the whole text, if none does."""
    node = root
    while True:
        for child in node.children:
            if child.inside >= 0 and child.inside <= at <= child.last:
                node = child
                break
        else:
            return node


def word_at(text: str, at: int) -> tuple[str, int]:
    """The word around a position, "" for none, and where it begins."""
    line = text.rfind("\n", 0, at) + 1
    begun, rest = BEFORE.search(text[line:at]), BEHIND.match(text, at)
    assert begun is not None and rest is not None  # both may be empty
    return begun.group() + rest.group(), at - len(begun.group())


def element_at(root: Node, at: int) -> Node | None:
    """The element at a position, or after it, or else right before it, of the innermost list."""
    children = around(root, at).children
    for child in children:
        if at < child.end:
            return child
    return children[-1] if children else None


def slurp(text: str, at: int) -> Edit | None:
    """(a b|) c → (a b| c): the list takes in the next element."""
    root = tree(text)
    list_ = around(root, at)
    while list_.above is not None:
        siblings = list_.above.children
        index = siblings.index(list_)
        if index + 1 < len(siblings) and list_.is_closed:
            following = siblings[index + 1]
            taken = text[list_.end : following.end]
            if not list_.children:
                taken = taken.lstrip()
            return text[: list_.last] + taken + text[list_.last : list_.end] + text[following.end :], at
        list_ = list_.above
    return None


def barf(text: str, at: int) -> Edit | None:
    """(a b| c) → (a b|) c: the list expels its last element."""
    list_ = around(tree(text), at)
    if list_.above is None or not list_.children or not list_.is_closed:
        return None
    last = list_.children[-1]
    end = list_.children[-2].end if len(list_.children) > 1 else list_.inside
    gap = text[end : last.start] or " "
    result = (
        text[:end] + text[list_.last : list_.end] + gap + text[last.start : list_.last] + text[list_.end :]
    )
    return result, min(at, end)


def wrap(text: str, at: int) -> Edit | None:
    """a |b c → a (|b) c"""
    element = element_at(tree(text), at)
    if element is None or element.end < at:
        return text[:at] + "()" + text[at:], at + 1
    return (
        f"{text[: element.start]}({text[element.start : element.end]}){text[element.end :]}",
        element.start + 1,
    )


def splice(text: str, at: int) -> Edit | None:
    """(a (b| c) d) → (a b| c d): remove the brackets of the list."""
    list_ = around(tree(text), at)
    if list_.above is None:
        return None
    inner = text[list_.inside : list_.last]
    return text[: list_.start] + inner + text[list_.end :], list_.start + at - list_.inside


def raise_(text: str, at: int) -> Edit | None:
    """(a (b |c d)) → (a |c): the element replaces the list around it."""
    root = tree(text)
    element, list_ = element_at(root, at), around(root, at)
    if element is None or list_.above is None:
        return None
    inner = text[element.start : element.end]
    return text[: list_.start] + inner + text[list_.end :], list_.start + max(at - element.start, 0)


def kill(text: str, at: int) -> Edit | None:
    """a |b c → a |c"""
    list_ = around(tree(text), at)
    for child in list_.children:
        if at < child.end:
            return text[:at] + text[child.end :], at
    return None


def forward(text: str, at: int) -> Edit | None:
    """|(a b) c → (a b)| c"""
    ends = [child.end for child in around(tree(text), at).children if at < child.end]
    return (text, ends[0]) if ends else None


def backward(text: str, at: int) -> Edit | None:
    """(a b)| c → |(a b) c"""
    starts = [child.start for child in around(tree(text), at).children if child.start < at]
    return (text, starts[-1]) if starts else None


def up(text: str, at: int) -> Edit | None:
    """(a b| c) → |(a b c)"""
    list_ = around(tree(text), at)
    return None if list_.above is None else (text, list_.start)


def down(text: str, at: int) -> Edit | None:
    """a |b (c) → a b (|c)"""
    for child in around(tree(text), at).children:
        if at < child.end and child.inside >= 0:
            return text, child.inside
    return None


# Edits by their displayed names.
EDITS: dict[str, Callable[[str, int], Edit | None]] = {
    "slurp": slurp,
    "barf": barf,
    "wrap": wrap,
    "splice": splice,
    "raise": raise_,
    "kill": kill,
    "forward": forward,
    "backward": backward,
    "up": up,
    "down": down,
}
