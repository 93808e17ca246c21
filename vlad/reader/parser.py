"""Tokens → syntax: data with their spans.

In: a Source.  Out: its data in order, each with its extent.  Called by the session, by the expander for quoted data, and by
core's reader; independent of the language's keywords. Nesting uses no stack: 10^6 parentheses are read like any other text.

Raises VladError for text that no continuation makes valid, and its subclass Incomplete if more text could.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from vlad.data.errors import Incomplete, VladError
from vlad.data.source import Source, Span
from vlad.data.values import FALSE, NIL, TRUE, String, Symbol, Value, symbol
from vlad.reader.lexer import Token, tokens


class Name:
    """An identifier. `marks` are set by the expander: they distinguish names in macro templates from the user's."""

    __slots__ = ("symbol", "span", "marks")

    def __init__(self, symbol: Symbol, span: Span, marks: tuple[int, ...] = ()) -> None:
        self.symbol = symbol
        self.span = span
        self.marks = marks

    def __repr__(self) -> str:
        return self.symbol.name


class Literal:
    """A real, boolean or string."""

    __slots__ = ("value", "span")

    def __init__(self, value: Value, span: Span) -> None:
        self.value = value
        self.span = span


class Form:
    """A list; `tail` is the datum after the dot, None in a proper list."""

    __slots__ = ("items", "tail", "span")

    def __init__(self, items: tuple[Syntax, ...], tail: Syntax | None, span: Span) -> None:
        self.items = items
        self.tail = tail
        self.span = span


@dataclass(frozen=True, slots=True, eq=False)
class Keyword:
    """#:name, before an operand."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class TensorLiteral:
    """#[...]; brackets inside nest without the #."""

    items: tuple[Syntax, ...]
    span: Span


Syntax: TypeAlias = Name | Literal | Form | Keyword | TensorLiteral

# Heads what a vector reads as, (VECTOR (ELEMENT ...)). It is not interned, so no name in a program is this one.
VECTOR = Symbol("#(")
_QUOTES = {"'": "quote", "`": "quasiquote", ",": "unquote", ",@": "unquote-splicing"}
_BOOLEANS = {"#t": TRUE, "#true": TRUE, "#f": FALSE, "#false": FALSE}
_STEPS = {
    "1+": "write `(+ x 1)`",
    "1-": "write `(- x 1)`",
    "-1+": "write `(- x 1)`",
}  # procedures of other Lisps
_SPECIAL_REALS = {"+inf.0": math.inf, "-inf.0": -math.inf, "+nan.0": math.nan, "-nan.0": math.nan}
_LINE_END = r"[ \t\r]*\n[ \t]*"  # after a backslash: the string continues on the next line
NO_DATUM = 'put a datum behind it; a text stands in double quotes, "so"'
LONGEST_QUOTED = 200  # characters of a text
MOST_ERRORS = 20  # of a text, that are found in one reading
_DECIMAL = frozenset("0123456789+-.eE")
_WHOLE_OR_FRACTION = (
    r"([+-]?)([0-9a-zA-Z]+)(?:/([0-9a-zA-Z]+))?"  # compiled when one is read: start-up is fast
)
MOST_DIGITS = 16  # of a character's number
_CODE = rf"[0-9a-fA-F]{{1,{MOST_DIGITS}}}"
_RADICES = {"b": 2, "o": 8, "x": 16}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", '"': '"', "\\": "\\", "|": "|"}

# The names of R7RS, behind #\.
CHARACTERS = {
    "alarm": "\a", "backspace": "\b", "delete": "\x7f", "escape": "\x1b", "newline": "\n", "null": "\0",
    "return": "\r", "space": " ", "tab": "\t",
}  # fmt: skip


class _Open:
    """An unfinished datum: a list, a tensor, a quotation or a datum comment, with its contents so far."""

    __slots__ = ("kind", "start", "end", "items", "dot", "tail")

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind = kind  # "(", "[", a quotation's name, or "#;"
        self.start = start
        self.end = end
        self.items: list[Syntax] = []
        self.dot: Token | None = None
        self.tail: Syntax | None = None


def read(source: Source) -> list[Syntax]:
    """All data of a text. Raises VladError, or Incomplete if the text ends inside a datum."""
    return _Parser(source).data()


def read_parts(source: Source) -> tuple[list[Syntax], list[tuple[VladError, Span]]]:
    """As `read`, but an error ends its datum at top level only: reading goes on at the next `(` in column 1. If that is inside a
    datum that does not end, the datum is taken to end before it. Returns the errors, too, each with the text that is left out.
    """
    parser, errors, at = _Parser(source), list[tuple[VladError, Span]](), 0
    while at < len(source.text) and len(errors) < MOST_ERRORS:
        wrong = parser.next_error(at)
        if wrong is None:
            break
        error, begin, at = wrong
        errors.append((error, Span(source, begin, at)))
        parser.stack.clear()
    return parser.found, errors


def first_datum(source: Source, start: int) -> tuple[Syntax | None, int]:
    """The datum that begins at or behind an offset, and the offset of its end; None if none does. What follows is not looked at.
    Raises as `read` does.
    """
    parser = _Parser(source)
    for token in tokens(source.text, start):
        parser.token(token)
        if parser.found:
            return parser.found[0], token.end
    if parser.stack:
        raise parser.unclosed(parser.stack[-1])
    return None, len(source.text)


def words_in(spans: Iterable[Span]) -> set[str]:
    """The words in texts that could not be read: any of them may define a name."""
    return {
        span.text[token.start : token.end].strip("|")
        for span in spans
        for token in tokens(span.text)
        if token.kind in ("atom", "symbol")
    }


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.found: list[Syntax] = []
        self.stack: list[_Open] = []

    def data(self) -> list[Syntax]:
        for token in tokens(self.text):
            self.token(token)
        if self.stack:
            raise self.unclosed(self.stack[-1])
        return self.found

    def next_error(self, at: int) -> tuple[VladError, int, int] | None:
        """Read on from an offset up to the next error: that, where its datum begins, and where reading may go on."""
        # the error and the place of the first `(` in column 1 inside the datum, if that does not end, or in a string in it
        inner: tuple[VladError, int] | None = None
        in_string: tuple[VladError, int] | None = None
        begin, where = at, len(self.text)
        try:
            for token in tokens(self.text, at):
                where = token.start
                if not self.stack:
                    begin, inner, in_string = where, None, None
                elif inner is None and token.kind == "open" and self.text[where - 1] == "\n":
                    inner = self.unclosed(self.stack[-1]), where
                if (
                    token.kind == "string"
                    and in_string is None
                    and (line := self._next_form(where)) < token.end
                ):
                    in_string = self._unended(token), line
                self.token(token)
            if not self.stack:
                return None
            error: VladError = self.unclosed(self.stack[-1])
        except VladError as found:
            error = found
            if not self.stack and not isinstance(found, Incomplete):
                return error, begin, token.end
            if in_string is not None and token.kind == "open-string":
                inner = in_string
        if inner is not None:
            return inner[0], begin, inner[1]
        return error, begin, self._next_form(where)

    def _next_form(self, where: int) -> int:
        """Where the next `(` in column 1 is."""
        end = self.text.find("\n(", where)
        return end + 1 if end >= 0 else len(self.text)

    def token(self, token: Token) -> None:
        kind = token.kind
        if kind in ("space", "comment"):
            return
        if kind == "open":
            self.stack.append(_Open("(", token.start, token.end))
        elif kind == "close":
            self._close(token)
        elif kind == "atom":
            self._atom(token)
        elif kind == "quote":
            self._expect_no_prime(token)
            self.stack.append(_Open(_QUOTES[self._of(token)], token.start, token.end))
        elif kind == "string":
            self._datum(Literal(String(self._unescaped(token)), self._span(token)))
        elif kind == "hash":
            self._hash(token)
        else:
            self._rare(token)

    def _expect_no_prime(self, token: Token) -> None:
        """Raise VladError for `(f' 2)`, which would apply f to a quoted 2 rather than its derivative to 2."""
        before = self.text[max(token.start - 1, 0) : token.start]
        behind = self.text[token.end : token.end + 1]
        if self._of(token) == "'" and (before.isalnum() or before in ("*", "?", "!")) and behind.isspace():
            raise self._wrong(
                token, "A quote has no blank behind it", "the derivative of f is written `(derivative f)`"
            )

    def _rare(self, token: Token) -> None:
        match token.kind:
            case "tensor":
                self.stack.append(_Open("[", token.start, token.end))
            case "vector":
                self.stack.append(_Open("#(", token.start, token.end))
            case "bracket":
                self._bracket(token)
            case "datumcomment":
                self.stack.append(_Open("#;", token.start, token.end))
            case "keyword":
                name = self._of(token)[2:]
                if not name:
                    raise self._wrong(token, "A keyword needs a name: #:", "write `#:name value`")
                self._datum(Keyword(name, self._span(token)))
            case "symbol":
                name = self._unescaped(token)
                self._datum(Name(symbol(name), self._span(token)))
            case "open-string":
                raise self._unended(token)
            case "open-comment":
                raise self._incomplete(token.start, "The comment does not end", "close it with `|#`")
            case _:
                self._wrong_character(token)

    def _wrong_character(self, token: Token) -> None:
        character = self._of(token)
        if character == "|":
            raise self._incomplete(token.start, "The name in bars does not end", "close it with `|`")
        code = f"U+{ord(character):04X}"
        raise self._wrong(token, f"The character {code} has no place in a program", "remove it")

    # Finished data.

    def _datum(self, datum: Syntax) -> None:
        """Add a finished datum to the enclosing one, which it may finish."""
        stack = self.stack
        while stack:
            top = stack[-1]
            if top.kind == "(":
                if top.dot is None:
                    top.items.append(datum)
                elif top.tail is None:
                    top.tail = datum
                else:
                    raise self._error(datum.span, "More than one datum after the dot", "write (a b . c)")
                return
            if top.kind in ("[", "#("):
                top.items.append(datum)
                return
            stack.pop()
            if top.kind == "#;":
                return
            span = Span(self.source, top.start, datum.span.end)
            name = Name(symbol(top.kind), Span(self.source, top.start, top.end))
            datum = Form((name, datum), None, span)
        self.found.append(datum)

    def _close(self, token: Token) -> None:
        if not self.stack:
            raise self._wrong(token, "Nothing is open that this `)` could close", "remove it")
        top = self.stack[-1]
        if top.kind == "[":
            raise self._wrong(token, "A tensor is closed with `]`", "write #[1 2 3]")
        if top.kind == "#(":
            self.stack.pop()
            span = Span(self.source, top.start, token.end)
            word = Name(VECTOR, Span(self.source, top.start, top.end))
            self._datum(Form((word, Form(tuple(top.items), None, span)), None, span))
            return
        if top.kind != "(":
            span = Span(self.source, top.start, top.end)
            raise self._error(
                span,
                f"Nothing follows `{self.text[top.start : top.end]}`",
                NO_DATUM,
            )
        if top.dot is not None and top.tail is None:
            raise self._wrong(top.dot, "Nothing follows the dot `.`", "write (a . b)")
        self.stack.pop()
        self._datum(Form(tuple(top.items), top.tail, Span(self.source, top.start, token.end)))

    def _bracket(self, token: Token) -> None:
        inside = bool(self.stack) and self.stack[-1].kind == "["
        if self._of(token) == "[":
            if not inside:
                raise self._wrong(token, "`[` has no meaning here", "write ( ) for lists, #[ ] for tensors")
            self.stack.append(_Open("[", token.start, token.end))
        elif not inside:
            raise self._wrong(token, "`]` closes nothing", "write ( ) for lists, #[ ] for tensors")
        else:
            top = self.stack.pop()
            self._datum(TensorLiteral(tuple(top.items), Span(self.source, top.start, token.end)))

    # Atoms.

    def _atom(self, token: Token) -> None:
        text = self._of(token)
        if text == ".":
            self._dot(token)
            return
        value = numeral(text)
        if value is not None:
            self._datum(Literal(value, self._span(token)))
        elif looks_like_number(text):
            raise self._wrong(
                token,
                f"Not a number of this language: {shortened(text)}",
                _STEPS.get(text, "write integers, decimals and fractions, 1 2.5 1e-3 1/2"),
            )
        else:
            self._datum(Name(symbol(text), self._span(token)))

    def _dot(self, token: Token) -> None:
        top = self.stack[-1] if self.stack else None
        if top is None or top.kind != "(" or not top.items or top.dot is not None:
            raise self._wrong(token, "The dot `.` stands at a wrong place", "write (a b . c)")
        top.dot = token

    def _hash(self, token: Token) -> None:
        text = self._of(token)
        if text in _BOOLEANS:
            self._datum(Literal(_BOOLEANS[text], self._span(token)))
            return
        if text.startswith("#\\"):
            self._datum(Literal(String(self._character(token)), self._span(token)))
            return
        if text == "#u8":
            raise self._wrong(
                token,
                "There are no bytes in this language",
                "a tensor holds numbers, #[1 2]; a list is '(1 2)",
            )
        value = prefixed_number(text)
        if value is None:
            raise self._wrong(
                token,
                f"Unknown syntax: {shortened(text)}",
                "after # come t, f, ;, |, :name, \\a, (, [ or b o d x e i and digits; a vector is #(1 a), a tensor #[1 2]",
            )
        self._datum(Literal(value, self._span(token)))

    def _character(self, token: Token) -> str:
        """A character, which as a value is a string of one."""
        name = self._of(token)[2:]
        code = -1 if len(name) == 1 or not re.fullmatch(f"x{_CODE}", name) else int(name[1:], 16)
        if len(name) == 1 or name in CHARACTERS:
            return CHARACTERS.get(name, name)
        if not is_code_point(code):
            names = " ".join(CHARACTERS)
            raise self._wrong(
                token,
                f"Unknown character: {shortened(self._of(token))}",
                rf"write #\a, #\x3bb or one of the names {names}",
            )
        return chr(code)

    def _unescaped(self, token: Token) -> str:
        body = self.text[token.start + 1 : token.end - 1]
        if "\\" not in body:
            return body
        out: list[str] = []
        at = 0
        while at < len(body):
            slash = body.find("\\", at)
            if slash < 0:
                break
            out.append(body[at:slash])
            character, at = self._escape(body, slash, token.start + 1)
            out.append(character)
        out.append(body[at:])
        return "".join(out)

    def _escape(self, body: str, slash: int, offset: int) -> tuple[str, int]:
        """The character for the escape at `slash`, and the offset after it."""
        kind = body[slash + 1]
        if kind in _ESCAPES:
            return _ESCAPES[kind], slash + 2
        span = Span(self.source, offset + slash, offset + slash + 2)
        if kind == "x":
            end = body.find(";", slash, slash + 3 + MOST_DIGITS)
            digits = body[slash + 2 : end] if end >= 0 else ""
            code = int(digits, 16) if re.fullmatch(_CODE, digits) else -1
            if not is_code_point(code):
                raise self._error(
                    span, "Not a character: \\x", "write \\x and the hexadecimal code and `;`: \\x3bb;"
                )
            return chr(code), end + 1
        line_end = re.compile(_LINE_END).match(body, slash + 1)
        if line_end is not None:
            return "", line_end.end()
        raise self._error(
            span,
            f"Unknown escape in a string: \\{kind}",
            'the escapes are \\n \\t \\r \\a \\b \\" \\\\ \\x41;',
        )

    # Errors.

    def _of(self, token: Token) -> str:
        return self.text[token.start : token.end]

    def _span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def _error(self, span: Span, message: str, hint: str) -> VladError:
        return VladError("invalid-syntax", message, span, hint=hint)

    def _wrong(self, token: Token, message: str, hint: str) -> VladError:
        return self._error(self._span(token), message, hint)

    def _incomplete(self, start: int, message: str, hint: str) -> Incomplete:
        return Incomplete("incomplete", message, Span(self.source, start, start + 1), hint=hint)

    def _unended(self, string: Token) -> Incomplete:
        return self._incomplete(string.start, "The string does not end", 'close it with `"`')

    def unclosed(self, top: _Open) -> Incomplete:
        opening = self.text[top.start : top.end]
        if top.kind in ("(", "[", "#("):
            closing = "]" if top.kind == "[" else ")"
            return self._incomplete(
                top.start, f"The `{opening}` is never closed", f"add the missing `{closing}`"
            )
        return self._incomplete(top.start, f"Nothing follows `{opening}`", NO_DATUM)


def is_code_point(code: float) -> bool:
    """Is it the number of a character? Halves of a pair in UTF-16 are none."""
    return 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF


def shortened(text: str) -> str:
    """The beginning of a text, for quoting in a message."""
    return text if len(text) <= LONGEST_QUOTED else text[:LONGEST_QUOTED] + "…"


def looks_like_number(text: str) -> bool:
    digit = text[1:2] if text[0] in "+-." else text[0]
    if text[0] in "+-" and digit == ".":
        digit = text[2:3]
    return digit.isdigit()


def number(text: str) -> float | None:
    """The real that a token denotes, or None."""
    first = text[0]
    if not (first in "0123456789" or (first in "+-." and len(text) > 1)):
        return None
    if text[1:2] in "iInN" and text.lower() in _SPECIAL_REALS:
        return _SPECIAL_REALS[text.lower()]
    if not _DECIMAL.issuperset(text) or not any(c in "0123456789" for c in text[:3]):
        return None
    try:
        return float(text)
    except ValueError:
        return None


def prefixed_number(text: str) -> float | None:
    """Parse #b101, #o17, #xff, #d10 and the like: a whole number or a fraction in a radix, or a decimal. A prefix #e or #i, of
    which R7RS takes one besides, changes nothing: all numbers are doubles.
    """
    radix = exactness = ""
    while text.startswith("#"):
        kind = text[1:2].lower()
        if kind and kind in "ei" and not exactness:
            exactness = kind
        elif kind and kind in "bodx" and not radix:
            radix = kind
        else:
            return None
        text = text[2:]
    if not text:
        return None
    return numeral(text) if radix in ("", "d") else _in_radix(text, _RADICES[radix])


def numeral(text: str) -> float | None:
    """The real that a literal without prefix denotes, or None: a decimal, or a fraction such as 1/2."""
    found = number(text)
    return _in_radix(text, 10) if found is None and "/" in text else found


def _in_radix(text: str, radix: int) -> float | None:
    """A whole number, or a fraction of two, rounded once; a special real, which has no radix."""
    if text.lower() in _SPECIAL_REALS:
        return _SPECIAL_REALS[text.lower()]
    match = re.fullmatch(_WHOLE_OR_FRACTION, text)
    if match is None:
        return None
    sign, numerator, denominator = match.groups()
    try:
        above, below = int(numerator, radix), int(denominator or "1", radix)
    except ValueError:  # another digit, or thousands of them in radix 10
        return None
    if below == 0:
        return None
    try:
        value = above / below
    except OverflowError:
        value = math.inf
    return -value if sign == "-" else value


def is_vector(syntax: Syntax) -> bool:
    """Is it a literal #(ELEMENT ...)?"""
    if not isinstance(syntax, Form) or not syntax.items:
        return False
    head = syntax.items[0]
    return isinstance(head, Name) and head.symbol is VECTOR


def around_made(syntax: Syntax) -> set[int]:
    """The ids of the data that are or contain literals of tensors or vectors, made at run time. Nesting uses no stack."""
    found: set[int] = set()
    work: list[tuple[Syntax, tuple[Any, ...]]] = [(syntax, ())]
    while work:
        item, around = work.pop()
        path = (item, around)
        if isinstance(item, TensorLiteral) or is_vector(item):
            while path and id(path[0]) not in found:
                found.add(id(path[0]))
                path = path[1]
        if isinstance(item, Form):
            parts = item.items if item.tail is None else (*item.items, item.tail)
            work += [(part, path) for part in parts]
    return found


def datum(syntax: Syntax) -> Value:
    """Convert syntax to quoted data: names become symbols, lists become pairs. Nesting uses no stack."""
    results: list[Value] = []
    work: list[tuple[Syntax | None, int, bool]] = [(syntax, 0, False)]
    while work:
        item, count, dotted = work.pop()
        if item is None:
            parts = results[len(results) - count :]
            del results[len(results) - count :]
            value: Value = parts.pop() if dotted else NIL
            for part in reversed(parts):
                value = (part, value)
            results.append(value)
        elif isinstance(item, Form):
            if is_vector(item):
                hint = "write `(vector ...)`, or take it apart by `vector-ref`"
                raise VladError("invalid-syntax", "A vector is no constant here", item.span, hint=hint)
            tail = () if item.tail is None else (item.tail,)
            work.append((None, len(item.items) + len(tail), bool(tail)))
            work += [(part, 0, False) for part in reversed((*item.items, *tail))]
        else:
            results.append(_leaf(item, work))
            if isinstance(item, TensorLiteral):
                results.pop()
    return results[0]


def _leaf(item: Syntax, work: list[tuple[Syntax | None, int, bool]]) -> Value:
    if isinstance(item, Name):
        return item.symbol
    if isinstance(item, Literal):
        return item.value
    if isinstance(item, TensorLiteral):
        work.append((None, len(item.items), False))
        work += [(part, 0, False) for part in reversed(item.items)]
        return NIL
    assert isinstance(item, Keyword)
    raise VladError(
        "invalid-syntax",
        f"A keyword is no datum: #:{item.name}",
        item.span,
        hint="write it before an operand",
    )
