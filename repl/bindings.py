"""What each name in a form means: a local variable, and where it is bound, or a global.

In: the text of a top-level form, which may be unfinished.  Out: its names, with offsets. Names that `match`, macros and other
forms of UNFOLLOWED (analysis.py) bind are not known here: they count as globals.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .completion import binders
from .editing import Node, tree


class Form(NamedTuple):
    """A top-level form: its text, and its offset."""

    text: str
    start: int


class Name(NamedTuple):
    """A name in a form. `bound`: the offsets in the form at which it is bound, if it is local; `is_parameter`: of a procedure."""

    start: int
    end: int
    bound: tuple[int, int] | None
    is_parameter: bool


@lru_cache(maxsize=8192)
def names_in(text: str) -> tuple[Name, ...]:
    """The names in a form, without those of quoted data, in no order. Forms that did not change are not read again."""
    form, root, found = Form(text, 0), tree(text), []
    for node in atoms(text, root):
        name = text[node.start : node.end]
        if name[:1] not in '0123456789#"':
            bound = binder_of(form, root, name, node.start)
            offsets = None if bound is None else (bound.start, bound.end)
            found.append(Name(node.start, node.end, offsets, bound is not None and is_parameter(text, bound)))
    return tuple(found)


def binder_in(form: Form, root: Node, name: str, at: int) -> tuple[int, int] | None:
    """The offsets at which a form binds a name for a position in it, if it does."""
    node = binder_of(form, root, name, at)
    return None if node is None else (form.start + node.start, form.start + node.end)


def binder_of(form: Form, root: Node, name: str, at: int) -> Node | None:
    """The element by which a form binds a name for a position in it, if it does."""
    for node in binders(form.text, at - form.start, root):
        if form.text[node.start : node.end] == name and not is_global(form.text, node):
            return node
    return None


def is_parameter(text: str, node: Node) -> bool:
    """Is this where a parameter of a procedure is named?"""
    above = node.above
    while above is not None and above.above is not None:
        form = above.above
        if len(form.children) > 1 and form.children[1] is above:
            head = form.children[0]
            return text[head.start : head.end] in ("lambda", "define") and above.children[0] is not node
        above = form
    return False


def atoms(text: str, root: Node) -> Iterator[Node]:
    """The atoms in a tree, without those of quoted data."""
    work = [root]
    while work:
        node = work.pop()
        if node.inside < 0:
            yield node
        elif node.above is None or not text.startswith("'", node.start):
            work += reversed(node.children)


def is_global(text: str, node: Node) -> bool:
    """Is this the name in a definition at top level?"""
    while node.above is not None and node.above.children[0] is node:
        node = node.above
    form = node.above
    if form is None or form.above is None or form.above.above is not None:
        return False
    head = form.children[0]
    return text[head.start : head.end] == "define" and form.children[1] is node
