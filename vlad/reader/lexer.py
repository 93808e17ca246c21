"""Text → tokens.

In: a text.  Out: tokens in order, white space and comments included, so that their extents tile the text.
Called by parser.py, and by the prompt for highlighting and completion. It never fails: invalid text becomes tokens of
the kind "wrong". It handles neither nesting nor keywords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Token(NamedTuple):
    """kind: space, comment, open, tensor, vector, close, bracket, quote, string, hash, symbol, keyword, atom or wrong.
    "atom" is a number or an identifier; "hash" begins with `#` (booleans, prefixed numbers); an unterminated string
    or comment is "open-string" or "open-comment"."""

    kind: str
    start: int
    end: int


# Alternatives in order of frequency. A block comment nests, so its end is found by hand. Repetitions are possessive
# (`++`, `*+`): a string takes no memory per character, and an unterminated one is scanned once.
_KINDS = (
    r"(?P<space>[ \t\r\n\f\v]+)",
    r"(?P<open>\()",
    r"(?P<close>\))",
    r"""(?P<atom>[^\s()\[\]"';`,#|\x00-\x1f\x7f][^\s()\[\]"';`,|\x00-\x1f\x7f]*)""",
    r"(?P<quote>'|`|,@|,)",
    r"(?P<comment>;[^\n]*)",
    r'(?P<string>"(?:[^"\\]++|\\(?s:.))*+")',
    r'(?P<openstring>")',
    r"(?P<tensor>#\[)",
    r"(?P<vector>#\()",
    r"(?P<bracket>[\[\]])",
    r"(?P<datumcomment>#;)",
    r"(?P<blockcomment>#\|)",
    r"(?P<shebang>\A#![ \t]*/[^\n]*)",
    r"""(?P<keyword>#:[^\s()\[\]"';`,|]*)""",
    r"(?P<symbol>\|(?:[^|\\]++|\\(?s:.))*+\|)",
    r"""(?P<hash>#(?:\\.)?[^\s()\[\]"';`,]*)""",
    r"(?P<wrong>(?s:.))",
)
_TOKEN = re.compile("|".join(_KINDS))  # not verbose: start-up is fast
_COMMENT_EDGE = r"#\||\|#"  # compiled when there is such a comment: start-up is fast


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    """The tokens of a text from offset `start` on."""
    match_at = _TOKEN.match
    at, end = start, len(text)
    while at < end:
        match = match_at(text, at)
        assert match is not None
        kind, stop = match.lastgroup or "wrong", match.end()
        if kind == "blockcomment":
            stop = _comment_end(text, stop)
            kind = "comment" if stop >= 0 else "open-comment"
            stop = stop if stop >= 0 else end
        elif kind == "openstring":
            kind, stop = "open-string", end
        elif kind == "shebang":  # the system's line at the start of a script
            kind = "comment"
        yield Token(kind, at, stop)
        at = stop


def _comment_end(text: str, at: int) -> int:
    """The end of a block comment whose opening ends at `at`; -1 if there is none."""
    depth = 1
    while depth:
        edge = re.compile(_COMMENT_EDGE).search(text, at)
        if edge is None:
            return -1
        depth += 1 if edge.group() == "#|" else -1
        at = edge.end()
    return at
