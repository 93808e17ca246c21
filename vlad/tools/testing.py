"""`vlad test`: the tests in programs.

In: a file, and a session of its own.  Out: an `Outcome` for each test, in order. A test is a form at top level: a call of
`test`, `test-error` or `check-gradient` (stdlib/modules/test.vlad), or an expression followed by comments, `; => VALUE` for each
line of its output, or `; error: WORDS` for a part of its error. Each form is executed by itself, so an error ends a form, not
the file. The examples of doc comments, `CALL  ⇒ VALUE` as in the library, are tests, too, at the end of their file.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias
from xml.etree import ElementTree

from vlad.data.errors import VladError
from vlad.data.source import Source, Span
from vlad.data.values import String
from vlad.reader.lexer import tokens
from vlad.reader.parser import Form, Literal, Name, Syntax, read
from vlad.session.files import load
from vlad.session.parts import run_part
from vlad.session.session import Session
from vlad.tools.formatting import programs

ENDING = "-test.vlad"
PROCEDURES = ("test", "test-error", "check-gradient")
LONGEST_NAME = 60
NUMBER = re.compile(r"(?<![\w.])([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w.])")
_EXAMPLE = re.compile(r";;;\s*(\(.*\)|\S+)?\s*⇒\s?(.*)")
_EXPORT = re.compile(r"^\(export\b", re.MULTILINE)
_NOTE = re.compile(r";\s*(=>|error:)\s?(.*)")
Start: TypeAlias = Callable[[Callable[[str], object]], Session]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test. `failure` is "" if it passed, None if it was not executed."""

    file: str
    place: str
    name: str
    failure: str | None
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.place}: {self.name}: {(self.failure or '').removeprefix(f'{self.name}: ')}"


def files_with_tests(paths: Iterable[str]) -> Iterator[str]:
    """The files among some paths; and in the folders among them those of tests, and the modules with examples."""
    for path in paths:
        is_folder = os.path.isdir(path)
        for file in programs([path]):
            if not is_folder or file.endswith(ENDING) or _is_module_with_examples(file):
                yield file


def _is_module_with_examples(path: str) -> bool:
    try:
        text = load(path).text
    except VladError:
        return False
    return _EXPORT.search(text) is not None and any(map(_EXAMPLE.match, text.splitlines()))


def outcomes(path: str, start: Start, pattern: str = "") -> Iterator[Outcome]:
    """Execute the tests of a file that have a pattern in their name or in the file's, and all that is no test. A definition or
    an import that fails is reported as a test, and so is another form if it has the pattern, too.
    """
    try:
        source = load(path)
        data = read(source)
    except VladError as error:
        yield Outcome(path, str(error.span or path), "reading", error.message)
        return
    output: list[str] = []
    with start(output.append) as session:
        for syntax, following in zip(data, [*data[1:], None], strict=True):
            end = len(source.text) if following is None else following.span.start
            notes = _notes(source.text[syntax.span.end : end])
            name = _name(syntax)
            is_test = bool(notes) or _head(syntax) in PROCEDURES
            is_selected = _matches(pattern, name, path)
            place = str(syntax.span)
            if is_test and not is_selected:
                yield Outcome(path, place, name, None)
                continue
            began = time.perf_counter()
            failure = _failure(session, syntax.span, notes, output)
            if failure and not (is_selected or _defines(syntax)):
                yield Outcome(path, place, name, None)
            elif is_test or failure:
                yield Outcome(path, place, name, failure, time.perf_counter() - began)
        for call, notes in _examples(source):
            began, name = time.perf_counter(), _short(call.text)
            if _matches(pattern, name, path):
                failure = _failure(session, call, notes, output)
                yield Outcome(path, str(call), name, failure, time.perf_counter() - began)
            else:
                yield Outcome(path, str(call), name, None)


def _examples(source: Source) -> list[tuple[Span, list[tuple[str, str]]]]:
    """The calls in doc comments, and what is said of their outcomes: `⇒ VALUE` for each line of output, or `⇒ Error: MESSAGE`."""
    found: list[tuple[Span, list[tuple[str, str]]]] = []
    for token in tokens(source.text):
        line = source.text[token.start : token.end]
        match = _EXAMPLE.match(line) if token.kind == "comment" else None
        if match is None:
            continue
        value = match[2].rstrip()
        note = ("error:", value.removeprefix("Error: ")) if value.startswith("Error: ") else ("=>", value)
        if match[1] is not None:
            place = Span(source, token.start + match.start(1), token.start + match.end(1))
            found.append((place, [note]))
        elif found:
            found[-1][1].append(note)
    return found


def _matches(pattern: str, *names: str) -> bool:
    return any(pattern.lower() in name.lower() for name in names)


def _defines(syntax: Syntax) -> bool:
    """Whether tests may need it: a definition, or an import."""
    return _head(syntax).startswith("define") or _head(syntax) in ("import", "include")


def _head(syntax: Syntax) -> str:
    head = syntax.items[0] if isinstance(syntax, Form) and syntax.items else None
    return head.symbol.name if isinstance(head, Name) else ""


def _name(syntax: Syntax) -> str:
    """The name that a test states, or its text."""
    if isinstance(syntax, Form) and _head(syntax) in ("test", "test-error") and len(syntax.items) > 1:
        stated = syntax.items[1]
        value = stated.value if isinstance(stated, Literal) else None
        text = value.text if isinstance(value, String) else stated.span.text.lstrip("'")
    else:
        text = syntax.span.text
    return _short(text)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _notes(text: str) -> list[tuple[str, str]]:
    """The kinds and words of the comments after a form."""
    lines = [text[token.start : token.end] for token in tokens(text) if token.kind == "comment"]
    found = [_NOTE.match(line) for line in lines]
    return [(match[1], match[2].rstrip()) for match in found if match is not None]


def _failure(session: Session, place: Span, notes: list[tuple[str, str]], output: list[str]) -> str:
    """Execute the form at a place; what is wrong with its outcome."""
    output.clear()
    line, column = place.source.position(place.start)
    text = "\n" * (line - 1) + " " * (column - 1) + place.text
    values = [words for kind, words in notes if kind == "=>"]
    errors = [words for kind, words in notes if kind == "error:"]
    try:
        run_part(session, Source(place.source.name, text))
    except VladError as error:
        if not errors:
            return _of_error(error, str(place), values)
        missing = [words for words in errors if words not in str(error)]
        return f"expected an error with: {missing[0]}; found: {error.message}" if missing else ""
    lines = "".join(output).splitlines()
    if errors:
        return f"expected an error with: {errors[0]}; found: {_joined(lines)}"
    if values and not (len(lines) == len(values) and all(map(same_text, lines, values))):
        return f"expected: {_joined(values)}; found: {_joined(lines)}"
    return ""


def _of_error(error: VladError, place: str, values: list[str]) -> str:
    """The message of an error, and its place if that is another."""
    expected = f"expected: {_joined(values)}; found the error: " if values else ""
    where = f" (at {error.span})" if error.span is not None and str(error.span) != place else ""
    hint = f"\n  hint: {error.hint}" if error.hint is not None else ""
    return f"{expected}{error.message}{where}{hint}"


def _joined(lines: list[str]) -> str:
    return " ⏎ ".join(lines) or "nothing"


def same_text(found: str, expected: str) -> bool:
    """Whether texts are equal, numbers up to their last digits, which vary with the machine."""
    ours, theirs = NUMBER.split(found.strip()), NUMBER.split(expected.strip())
    if len(ours) != len(theirs) or ours[::2] != theirs[::2]:
        return False
    pairs = zip(ours[1::2], theirs[1::2], strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-12) for a, b in pairs)


def summary(found: Iterable[Outcome]) -> str:
    """How many tests passed, failed and were not executed."""
    counts = {"passed": 0, "failed": 0, "not selected": 0}
    for outcome in found:
        counts["not selected" if outcome.failure is None else "failed" if outcome.failure else "passed"] += 1
    return ", ".join([f"{count} {word}" for word, count in counts.items() if count or word == "passed"])


def junit(found: Iterable[Outcome]) -> str:
    """The outcomes in the XML of JUnit, a suite for each file."""
    root = ElementTree.Element("testsuites")
    suites: dict[str, ElementTree.Element] = {}
    for outcome in found:
        if outcome.file not in suites:
            suites[outcome.file] = ElementTree.SubElement(
                root, "testsuite", name=outcome.file, tests="0", failures="0", skipped="0"
            )
        suite = suites[outcome.file]
        case = ElementTree.SubElement(
            suite,
            "testcase",
            name=_of_xml(outcome.name),
            classname=outcome.file,
            time=f"{outcome.seconds:.6f}",
        )
        kinds = ["tests"]
        if outcome.failure is None:
            ElementTree.SubElement(case, "skipped")
            kinds.append("skipped")
        elif outcome.failure:
            failed = ElementTree.SubElement(case, "failure", message=_of_xml(outcome.failure))
            failed.text = _of_xml(str(outcome))
            kinds.append("failures")
        for kind in kinds:
            suite.set(kind, str(int(suite.get(kind, "0")) + 1))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _of_xml(text: str) -> str:
    """A text without characters that XML excludes."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "�", text)
