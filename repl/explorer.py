"""`vlad explore`: one page of HTML that shows what becomes of a procedure.

In: a file, a procedure in it, and optional arguments.  Out: a page that needs nothing else: the program, its core, its
derivatives, types and C side by side, their parts with their places in the program, so that the page can light up what belongs
together; and for arguments, each operation of its gradient with its value, as a graph. explorer.html has what the page does.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from html import escape
from importlib.resources import files
from threading import Timer
from typing import Any

from vlad.compile.programs.noting import Typed
from vlad.core.nodes import Body, Lambda, Result, Rhs
from vlad.core.text import WIDTH, Printer
from vlad.data.errors import VladError
from vlad.data.source import Source, Span
from vlad.data.values import NIL, Global, Value, is_procedure, look
from vlad.debugging.recording import MOST, Recording, recorded
from vlad.evaluate.limits import deep_recursion
from vlad.expand.arity import signature
from vlad.expand.items import Definition, Expression
from vlad.python.structures import tuple_of
from vlad.reader.parser import words_in
from vlad.session.examples import OPTION, example_values, no_procedure, wrong_examples
from vlad.session.files import find, load
from vlad.session.programs import Program
from vlad.session.session import Session
from vlad.session.showing import core_at, procedure_at
from vlad.session.survey import references
from vlad.session.top_level import only_lambda

from .editing import tree
from .files import write_text
from .words import classed

# Around what has a place, in texts that are still to be laid out; no other text contains them, as control characters are escaped.
OPENS, CLOSES = "\x01", "\x02"
GENERATOR = b'<meta name="generator" content="vlad explore">'
LONG_SECONDS = 1.0  # before a line says what is evaluated
FIRST_NUMBER = 0xE000  # the character behind OPENS is this, and the number of the place


@dataclass
class Pane:
    """A text. `parts`: the beginning and the end of what has a place, and those of its place in the program; `classes`: those of
    words of the language, for colours."""

    title: str
    about: str
    text: str = ""
    parts: list[tuple[int, int, int, int]] = field(default_factory=list)
    classes: list[tuple[int, int, str]] = field(default_factory=list)


class Placed(Printer):
    """Prints core with marks around what has a place in a source."""

    def __init__(self, source: Source, is_redefined: Callable[..., bool]) -> None:
        super().__init__(is_redefined)
        self.source = source
        self.spans: list[Span] = []

    def rhs(self, rhs: Rhs | Result, indent: int) -> str:
        text = super().rhs(rhs, indent)
        span = getattr(rhs, "span", None)
        if span is None or span.source is not self.source or isinstance(rhs, Lambda):
            return text
        self.spans.append(span)
        return f"{OPENS}{chr(FIRST_NUMBER + len(self.spans) - 1)}{text}{CLOSES}"

    def laid_out(self, head: str, parts: list[str], indent: int) -> str:
        flat = " ".join([head, *parts]) + ")"
        if "\n" not in flat and self.width(flat) + indent <= WIDTH:
            return flat
        margin = "\n" + " " * (indent + 2)
        return head + "".join([margin + part for part in parts]) + ")"

    def width(self, text: str) -> int:
        return len(text) - 2 * text.count(OPENS) - text.count(CLOSES)

    def pane(self, title: str, about: str, name: str, node: Lambda) -> Pane:
        with deep_recursion():
            self.survey(node)
            marked = f"(define {name} {self.lambda_(node, 0)})"
        pane = Pane(title, about)
        written: list[str] = []
        opened: list[tuple[int, Span]] = []
        at = length = 0
        while at < len(marked):
            character = marked[at]
            if character == OPENS:
                opened.append((length, self.spans[ord(marked[at + 1]) - FIRST_NUMBER]))
                at += 1
            elif character == CLOSES:
                start, span = opened.pop()
                pane.parts.append((start, length, span.start, span.end))
            else:
                written.append(character)
                length += 1
            at += 1
        pane.text = "".join(written)
        pane.classes.extend(_classes(pane.text))
        return pane


def page(session: Session, path: str, name: str | None, arguments: str) -> str:
    """The page for a procedure of a file, or for the last one that it defines. What it uses is evaluated, and nothing else.
    `arguments`: a text, for the graph. Raises VladError."""
    top_level, machine = session._top_level, session.machine
    source = load(find(path, [""]))
    with top_level.within(source.name):
        cell = _defined(session, source, name, arguments)
        name, value = cell.name, cell.value
        session.tiers.policy = "evaluate"  # operations are recorded where code is evaluated
        recording = _recording(session, value, arguments) if arguments else None
    span = machine.core_of(look(value)[0]).span
    focus = (span.start, span.end) if span is not None else (0, len(source.text))
    panes = [
        Pane("Program", "the text", source.text, [*_elements(source.text)], [*_classes(source.text)]),
        *[
            Placed(source, top_level.is_redefined).pane(title, about, name, core_at(machine, value, stage))
            for title, about, stage in (
                ("Core", "the small language into which the program is translated first", "core"),
                ("J", "reverse mode: the value, with a backpropagator", "reverse"),
                ("j*", "forward mode: the value, with its tangent", "forward"),
            )
        ],
        _types(path, source),
        Pane("C", "what the compiler makes of it", procedure_at(top_level, value, "c", name, ())),
    ]
    data = {
        "title": f"{name} in {os.path.basename(source.name)}",
        "focus": focus,
        "panes": [asdict(pane) for pane in panes],
        "steps": _steps(recording, source) if recording is not None else [],
        "counts": _counts(recording, source) if recording is not None else [],
        "cut": MOST if recording is not None and recording.is_cut else 0,
        "hint": f"vlad explore {path} {name} --with ARGUMENTS draws the operations of the gradient at these arguments.",
    }
    template = files("vlad.repl").joinpath("explorer.html").read_text(encoding="utf-8")
    script = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return template.replace("{{title}}", escape(str(data["title"]))).replace("{{data}}", script)


def _defined(session: Session, source: Source, name: str | None, arguments: str) -> Global:
    """The procedure that a text defines: the last one, if there is no name. Of the other values that it defines, those that the
    procedure or the arguments use are evaluated; they may be the results of a training."""
    top_level = session._top_level
    made: list[Global] = []
    later: list[Definition] = []
    for item in top_level.items(source, top_level.module):
        if isinstance(item, Definition) and only_lambda(item.body) is None:
            later.append(item)
        elif not isinstance(item, Expression):
            top_level.execute(item, top_level.module, None)
            made += [item.cell] if isinstance(item, Definition) else []
    wanted = [one for one in made if name in (None, one.name)][-1:]
    wanted = wanted or [item.cell for item in later if name in (None, item.cell.name)]
    words = words_in([Span(text := Source(OPTION, arguments), 0, len(text.text))])
    needed = _used(session, later, [*wanted, *[item.cell for item in later if item.cell.name in words]])
    for item in later:
        if item.cell in needed:
            with announced(f"vlad explore: evaluates {item.cell.name}, which the page needs"):
                top_level.execute(item, top_level.module, None)
    procedures = [one for one in wanted if is_procedure(look(getattr(one, "value", NIL)))]
    if not procedures:
        known = [*[one.name for one in made], *[item.cell.name for item in later]]
        raise no_procedure(name or "", source.name, known)
    return procedures[-1]


def _used(session: Session, later: list[Definition], cells: Iterable[Global]) -> set[Global]:
    """The globals that these use, directly or not, and these."""
    bodies: dict[Global, list[Body]] = {}
    for item in later:
        bodies.setdefault(item.cell, []).append(item.body)
    found, work = set[Global](), [*cells]
    while work:
        cell = work.pop()
        value = look(getattr(cell, "value", NIL))
        own = cell in bodies or (cell.primitive is None and session.module.cells.get(cell.name) is cell)
        if cell in found or not own:
            continue
        found.add(cell)
        core = [session.machine.core_of(value[0]).body] if is_procedure(value) else []
        for body in [*core, *bodies.get(cell, [])]:
            work += [reference.cell for reference in references(body)]
    return found


@contextmanager
def announced(text: str) -> Iterator[None]:
    """A context that writes a line if it takes long."""
    timer = Timer(LONG_SECONDS, lambda: print(text, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _recording(session: Session, value: Value, arguments: str) -> Recording:
    """The operations of the gradient of a procedure at these arguments. Raises VladError."""
    top_level, machine = session._top_level, session.machine
    values = tuple(example_values(top_level, arguments))
    taken = signature(machine, look(value)[0])
    if not taken.takes_as_many(len(values)):
        raise wrong_examples(taken, len(values))
    names = machine.core_of(look(value)[0]).parameters
    gradient = top_level.procedure(["f", "x"], Source("<explore>", "((gradient f) x)"), top_level.library)

    def begin(recording: Recording) -> None:
        for number, one in enumerate(values):
            recording.argument(names[number].name if number < len(names) else str(number), one)
        machine.apply(gradient, tuple_of([value, tuple_of([*values])]))

    try:
        return recorded(machine, begin)
    except VladError as error:  # one inside the library is about the arguments
        top_level.suggestions.suggest(error, Span(Source(OPTION, arguments), 0, len(arguments)))
        raise


def _types(path: str, source: Source) -> Pane:
    """The types of the program, found without running it."""
    pane = Pane("Types", "what the compiler knows before the program runs")
    try:
        report = Program(Session(tier="evaluate", write=lambda text: None)._top_level, source).typed()
    except VladError as error:
        pane.text = f"; {error.message}"
        return pane
    lines: list[tuple[str, Span]] = []
    for one in sorted([*report.types, *report.variables], key=_place):
        if one.span.source is source:
            lines.append((one.text, one.span))
    at, texts = 0, []
    for text, span in lines:
        pane.parts.append((at, at + len(text), span.start, span.end))
        texts.append(text)
        at += len(text) + 1
    pane.text = "\n".join(texts)
    return pane


def _place(one: Typed) -> tuple[int, int]:
    return one.span.start, -one.span.end


def _elements(text: str) -> Iterable[tuple[int, int, int, int]]:
    """The expressions of a text, which are their own places: lists and names."""
    work = [*tree(text).children]
    for node in work:  # grows during the loop
        yield node.start, node.end, node.start, node.end
        work += node.children


def _classes(text: str) -> Iterable[tuple[int, int, str]]:
    """The words of a text with their classes, for colours."""
    for token, _, class_ in classed(text):
        if class_ not in ("space", "name"):
            yield token.start, token.end, class_


def _steps(recording: Recording, source: Source) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name, "variable": one.variable, "computes": one.computes, "operands": one.operands,
            "value": one.value,
            "span": [one.span.start, one.span.end] if one.span is not None and one.span.source is source else None,
        }
        for one in recording.operations
    ]  # fmt: skip


def _counts(recording: Recording, source: Source) -> list[tuple[int, int, int]]:
    """Lines of the program with the numbers of their operations: of the value, and of the sensitivities."""
    counts: Counter[tuple[int, str]] = Counter(
        (one.span.line, one.computes)
        for one in recording.operations
        if one.span is not None and one.span.source is source
    )
    lines = sorted({line for line, _ in counts})
    return [(line, counts[line, "primal"], counts[line, "sensitivity"]) for line in lines]


def explore(session: Session, path: str, name: str | None, arguments: str, output: str | None) -> str:
    """Write the page; returns its path. A file that is no page of this kind is not replaced. Raises VladError."""
    of_procedure = "" if name is None else "-" + re.sub(r"[^\w.-]", "-", name)
    output = output or os.path.splitext(os.path.basename(path))[0] + of_procedure + ".html"
    if os.path.isfile(output) and os.path.getsize(output) and not _is_page(output):
        hint = "it is another file than a page of `vlad explore`; `-o PAGE` names the page"
        raise VladError("cannot-write", f"Cannot write: {output}", hint=hint)
    write_text(output, page(session, path, name, arguments))
    return output


def _is_page(path: str) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        return GENERATOR in file.read(1000)
    return False
