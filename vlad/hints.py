"""What an unbound name was meant to be: the hint of such an error, and sometimes its place.

In: an error, and what is known where it happened.  Out: the same error, made clearer. Called by session.py, once it is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from vlad.errors import VladError
from vlad.reader.lexer import tokens
from vlad.reader.parser import Form, Name, Syntax, read
from vlad.source import Span
from vlad.spelling import suggestion

NOTHING = "define it, or import the module that does"
_NUMERAL = re.compile(r"[-+.]*\d")


def hint_for(name: str, known: Iterable[str], span: Span | None = None) -> str:
    """What may have been meant by an unbound name: one of those that are known, or that stand in the same text."""
    beside = names_in(span.source.text) if span is not None else []
    return suggestion(name, {*known, *beside}) or NOTHING


def clarify(
    error: VladError, known: Iterable[str], keywords: Iterable[str], is_bound: Callable[[str], bool]
) -> None:
    """Give an error about an unbound name its hint. Operands are evaluated before it is noticed that nothing bears the name of
    the operator: where that was meant as a keyword, as in `(lamda (x) x)`, it is what is wrong, and not what was found in an
    operand: that nothing bears the name x, or that what is no call cannot be called."""
    head = None if error.span is None else _meant_as_keyword(error.span, keywords, is_bound)
    if head is not None:
        error.code, error.message = "unbound-variable", f"Unbound variable: {head.symbol.name}"
        error.args = (error.message,)
        error.span, error.hint, error.irritants = head.span, suggestion(head.symbol.name, keywords), []
    elif error.code == "unbound-variable":
        error.hint = hint_for(error.message.rpartition(" ")[2], {*known, *keywords}, error.span)


def names_in(text: str) -> list[str]:
    """The names that stand in a text, each as often as it does."""
    atoms = [text[token.start : token.end] for token in tokens(text) if token.kind == "atom"]
    return [atom for atom in atoms if not _NUMERAL.match(atom)]


def _meant_as_keyword(span: Span, keywords: Iterable[str], is_bound: Callable[[str], bool]) -> Name | None:
    """The operator, of the forms around a place from the outside in, that nothing bears the name of, and that is much like a
    keyword. A name that stands in the text a second time may be a local one."""
    keywords = list(keywords)
    words = names_in(span.source.text)
    for form in _around(span):
        head = form.items[0]
        if isinstance(head, Name) and head.span.start != span.start:
            name = head.symbol.name
            if words.count(name) == 1 and not is_bound(name) and suggestion(name, keywords) is not None:
                return head
    return None


def _around(span: Span) -> Iterator[Form]:
    """The forms around a place, from the outside in."""
    try:
        inside: Iterable[Syntax] = read(span.source)
    except VladError:
        return
    while True:
        found = [item for item in inside if item.span.start <= span.start and span.end <= item.span.end]
        if not found or not isinstance(found[0], Form) or not found[0].items:
            return
        yield found[0]
        inside = found[0].items
