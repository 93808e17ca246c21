"""The text of a Python function: its tree, and the places of its parts.

In: a Python function.  Out: its node, and a `Text`, which makes spans in the function's file. The text is found as debuggers find
it (linecache): in files, cells of notebooks, and texts that are registered there.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import tokenize
from types import CodeType, FunctionType

from vlad.control.surroundings import shown_file
from vlad.data.errors import VladError
from vlad.data.source import Origin, Source, Span
from vlad.translate.trees import walk

Node = ast.FunctionDef | ast.Lambda


class Text:
    """The text of a file, in which Python counts columns in bytes."""

    def __init__(self, name: str, text: str, origin: Origin) -> None:
        self.source = Source(name, text, origin, is_python=True)
        self._is_plain = text.isascii()  # then bytes are characters
        self._starts = self.source.line_starts()

    def span(self, node: ast.AST) -> Span:
        """The extent of a node, or of the first line of a statement with a body."""
        if isinstance(node, ast.expr) and self._is_plain and node.end_lineno is not None:  # most nodes
            starts = self._starts
            end = starts[node.end_lineno - 1] + (node.end_col_offset or 0)
            return Span(self.source, starts[node.lineno - 1] + node.col_offset, end)
        start = self._offset(getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
        if isinstance(node, ast.FunctionDef):
            start = self.source.text.find("def", start)
        end_line, end_column = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        if end_line is None or end_column is None:
            return Span(self.source, start, start + 1)
        end = self._offset(end_line, end_column)
        if isinstance(node, ast.stmt) and (hasattr(node, "body") or hasattr(node, "cases")):
            line_end = self.source.text.find("\n", start)
            end = min(end, line_end if line_end >= 0 else end)
        return Span(self.source, start, end)

    def _offset(self, line: int, column: int) -> int:
        start = self._starts[line - 1]
        if self._is_plain:
            return start + column
        text = self.source.line(line)
        return start + (column if text.isascii() else len(text.encode()[:column].decode()))


def lines_of(function: FunctionType) -> list[str]:
    """The lines of a function's file at present. They are kept, as a function is translated later: another cell of the same
    name, or a file that is edited meanwhile, has another text."""
    return linecache.getlines(function.__code__.co_filename, function.__globals__)


def node_of(function: FunctionType, lines: list[str]) -> tuple[Node, Text]:
    """The tree and the text of a function in a file of these lines. Raises VladError if the text is not to be found."""
    code = function.__code__
    text = "".join(lines)
    if not text:
        raise no_source(function, "write it to a file: what is typed at Python's own prompt is not kept")
    found = _lambda_in(code, text) if function.__name__ == "<lambda>" else _definition_in(code, text)
    if found is None:
        raise no_source(function, "its file has changed since it was imported: import it again")
    if isinstance(found, ast.AsyncFunctionDef):
        raise no_source(function, "an `async` function has no counterpart")
    package = (function.__module__ or "").partition(".")[0]  # a text that is executed may have none
    origin = Origin.LIBRARY if package == "vlad" else Origin.PROGRAM  # that of heaps.py
    return found, _text(shown_file(code.co_filename), text, origin)


def no_source(function: FunctionType, hint: str) -> VladError:
    what = f"The text of the Python function {function.__name__} is not known"
    return VladError("no-source", what, hint=hint)


@functools.lru_cache(maxsize=64)
def _text(name: str, text: str, origin: Origin) -> Text:
    return Text(name, text, origin)


def _definition_in(code: CodeType, text: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition that begins, with its decorators, in the first line of the code. Only its lines are parsed."""
    lines = [line + "\n" for line in text.split("\n")]  # as Python: other separators may stand in strings
    at = code.co_firstlineno - 1
    if at >= len(lines):
        return None
    tree = _parsed(_indented_block(lines[at:]), at)
    if tree is None:  # a line of a string, or with a bracket, stands to the left
        try:
            tree = _parsed(inspect.getblock(lines[at:]), at)
        except (SyntaxError, tokenize.TokenError):
            return None
        if tree is None:
            return None
    first: ast.AST = tree
    while statements := getattr(first, "body", None):
        first = statements[0]
        if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef):
            return first if first.name == code.co_name else None
    return None


def _parsed(block: list[str], at: int) -> ast.Module | None:
    """The tree of lines that stand after `at` others in a file; None if they are no statement."""
    if not block:
        return None
    text = "".join(block)
    try:  # where it stands in the file: a line before keeps the columns of what is indented
        return ast.parse("\n" * (at - 1) + "if 1:\n" + text if text[0] in " \t" else "\n" * at + text)
    except SyntaxError:
        return None


def _indented_block(lines: list[str]) -> list[str]:
    """The lines of a definition up to the next line that is not indented more: less than all of it, which has an open bracket
    or string then, if that line is inside of one. `inspect.getblock`, which reads tokens, takes several times as long as parsing.
    """
    indent, is_inside = len(lines[0]) - len(lines[0].lstrip(" ")), False
    for number, line in enumerate(lines):
        rest = line.lstrip(" ")
        if is_inside and rest[0] not in "\n#\t\f\r" and len(line) - len(rest) <= indent:
            return lines[:number]
        is_inside = is_inside or rest.startswith(("def ", "async def "))
    return lines


@functools.lru_cache(maxsize=16)
def _lambdas(text: str) -> list[ast.Lambda]:
    try:
        return [node for node in walk(ast.parse(text)) if isinstance(node, ast.Lambda)]
    except SyntaxError:
        return []


def _lambda_in(code: CodeType, text: str) -> ast.Lambda | None:
    """The lambda whose expression the instructions fill; of several, the innermost that has them all."""
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line is not None and end_line is not None and column is not None and end_column
    ]
    if not places:
        return None
    first, last = min(start for start, _ in places), max(end for _, end in places)
    found = None
    for node in _lambdas(text):  # outer ones first
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = tuple([argument.arg for argument in arguments])
        start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
        if names == code.co_varnames[: len(names)] and start <= first and last <= end:
            body = node.body
            if (body.lineno, body.col_offset) == first and (body.end_lineno, body.end_col_offset) == last:
                return node
            found = node
    return found
