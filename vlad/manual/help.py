"""Documentation of names: `vlad doc NAME`, the prompt, and the generated pages of docs/.

In: a name of the language or of the Python interface, or the code of an error.  Out: an `Entry`, or the text of one. This
module contains no documentation: each text is stored with its subject, and read from there on request.

    primitives      the rows of the table (values.Primitive: doc, examples, operands, partials, forward, reverse)
    the library     the doc comments of stdlib/*.vlad, and of the procedures of the basis that are texts
    keywords        manual/keywords.md
    errors          manual/errors.md
    words           manual/glossary.md, of what is no name of the language
    Python          the documentation of the public names (public.py)

A doc comment is lines of `;;; ` above a definition: the shape of a call, then sentences and examples. An example is a line
`CALL  ⇒ VALUE`, followed by a line `⇒ VALUE` for each further line of output; `Error: MESSAGE` stands for an error.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType

from vlad.ad.rules import steps_of
from vlad.data.errors import VladError
from vlad.data.source import is_internal
from vlad.data.values import Primitive
from vlad.expand.arity import of_row
from vlad.manual.public import is_public, members, public_lines, public_names
from vlad.messages.hints import hint_to_import
from vlad.messages.spelling import suggestion
from vlad.primitives import (
    batches,
    checkpointing,
    continuations,
    contractions,
    control,
    data,
    decompositions,
    determinants,
    files,
    indexing,
    levels,
    linear_algebra,
    networks,
    norms,
    numbers,
    numerals,
    raising,
    random,
    reading,
    reductions,
    reentry,
    references,
    ropes,
    shaping,
    sorting,
    strings,
    table_types,
    tables,
    tangent_spaces,
    tensors,
    transforms,
    vectors,
    workers,
)
from vlad.session.library import the_library

ARROW = "⇒"
WIDEST = 100  # characters of a line of sentences
FOLDER = os.path.dirname(os.path.abspath(__file__))
# Themes: primitives by their rooms, the library by its files, in reading order.
ROOMS: dict[ModuleType, str] = {
    numbers: "Numbers",
    data: "Pairs, booleans, symbols",
    strings: "Strings",
    ropes: "Strings",
    numerals: "Strings",
    transforms: "Derivatives: the operators",
    levels: "Derivatives: the operators",
    tensors: "Tensors: making them",
    shaping: "Tensors: shapes",
    indexing: "Tensors: parts",
    reductions: "Tensors: sums and the like",
    sorting: "Tensors: order",
    linear_algebra: "Tensors: linear algebra",
    determinants: "Tensors: linear algebra",
    decompositions: "Tensors: linear algebra",
    norms: "Tensors: linear algebra",
    contractions: "Tensors: linear algebra",
    networks: "Tensors: images and labels",
    random: "Random numbers",
    files: "Files of numbers",
    control: "Input, output, errors",
    reading: "Input, output, errors",
    references: "Cells",
    continuations: "Errors that are caught",
    raising: "Errors that are caught",
    reentry: "Errors that are caught",
    checkpointing: "Derivatives in little memory",
    batches: "Many at once",
    workers: "Many at once",
    tables: "Tables",
    vectors: "Vectors",
    table_types: "Tables",
    tangent_spaces: "Derivatives: the operators",
}
_FILES = """prelude lists numbers tables vectors characters texts streams dynamic ports control calculus optimize optimizers
linear-algebra tensors arrays fourier matrix-functions nn parallel data differential-equations differentiable-curry"""
LIBRARY = _FILES.split()
ALIASES = {"J": "*j"}
_DEFINITION = re.compile(r"\(define \(*([^\s()]+)")
_LINK = r"\[([^]]*)\]\([^)]*\)"
_BESIDE = rf" \({_LINK}\)"
_WORD = re.compile(r"[^\s()'`,\[\]]+")


@dataclass(frozen=True, slots=True)
class Example:
    """A call, or several forms, and the lines of their output."""

    call: str
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """The documentation of a name.

    kind        "keyword", "primitive", "library"; at the prompt also "program" and "macro"
    theme       the group of names it belongs to
    signature   the shape of a call
    derivative  for a primitive: with respect to what, and the rule in the language; empty if the derivative is zero
    letters     the meaning of the letters in the rules
    place       the file and line of the definition
    source      its definition, if that is in the language
    hidden      whether it occurs in the system's own texts only
    """

    name: str
    kind: str
    theme: str
    signature: str
    text: tuple[str, ...]
    examples: tuple[Example, ...]
    derivative: tuple[tuple[str, str], ...] = ()
    letters: tuple[str, ...] = ()
    place: str = ""
    source: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """The documentation of a kind of error: its code, its group, and lines of text with examples in blocks."""

    code: str
    group: str
    lines: tuple[str, ...]


# Queries.


@cache
def entries() -> dict[str, Entry]:
    """All entries by name, theme after theme."""
    return {entry.name: entry for entry in (*_keywords(), *_primitives(), *_library())}


@cache
def kinds() -> dict[str, Kind]:
    """The kinds of error, by code, group after group."""
    return {name: Kind(name, group, lines) for group, name, lines in _sections("errors.md")}


@cache
def words() -> dict[str, str]:
    """The words of the documentation, each with its meaning."""
    with open(os.path.join(FOLDER, "glossary.md"), encoding="utf-8") as opened:
        rows = [line.strip("|\n ").split(" | ", 1) for line in opened if line.startswith("| ")][1:]
    return {word: re.sub(_LINK, r"\1", re.sub(_BESIDE, "", meaning)) for word, meaning in rows}


def public() -> list[Entry]:
    """The entries of the names that programs may use."""
    return [entry for entry in entries().values() if not entry.hidden]


def entry_of(name: str) -> Entry | None:
    """The entry of a name, or of the name it is an alias of."""
    found = entries().get(ALIASES.get(name, name))
    if found is None or name not in ALIASES:
        return found
    return replace(found, name=name, signature=found.signature.replace(found.name, name))


def documentation(name: str) -> str:
    """The documentation of a name, of the language or of the Python interface, of the code of an error, or of a word, as text.
    Raises VladError if it is none of these.
    """
    entry = entry_of(name)
    if entry is not None and not entry.hidden:
        return "\n".join(lines_of(entry))
    if name in kinds():
        return "\n".join(_kind_lines(kinds()[name]))
    if is_public(name):
        return "\n".join(public_lines(name))
    if name in words():
        return "\n".join([f"{name}    a word of the documentation", *_part("", _wrapped([words()[name]]))])
    known = [*[entry.name for entry in public()], *ALIASES, *kinds(), *words(), *python_names_like(name)]
    hint = suggestion(name, known)
    if entry is None:
        module = the_library().exporting(name)
        hint = (
            hint_to_import(name, module)
            if module is not None
            else hint or "`vlad doc` lists the names by theme"
        )
        raise VladError("unbound-variable", f"Nothing is known by the name {name}", hint=hint)
    own = f"Programs cannot use this name, which is of vlad's own texts{f': {hint}' if hint else ''}"
    return "\n".join([*_wrapped([own]), "", *lines_of(entry)])


def is_elsewhere(name: str) -> bool:
    """Whether there is documentation, although programs of the language cannot use the name."""
    return name in kinds() or is_public(name)


def python_names_like(name: str) -> list[str]:
    """Similar names of the Python interface."""
    owner = name.rpartition(".")[0]
    return [*public_names(), *(members(owner) if owner in public_names() else [])]


def summary(entry: Entry) -> str:
    """The first sentence or two of an entry, for a line beside its name."""
    return entry.text[0] if entry.text else ""


def listing(width: int = WIDEST) -> str:
    """Every public name, theme by theme."""
    lines = []
    for theme, names in themes().items():
        lines += [theme, *_filled(names, width), ""]
    lines += ["Python, after `import vlad`", *_filled(public_names(), width), ""]
    lines += ["Kinds of error", *_filled(kinds(), width), ""]
    lines += [
        "Words of the documentation",
        *_filled(words(), width),
        "",
        "`vlad doc NAME` explains one of them.",
    ]
    return "\n".join(lines)


def themes() -> dict[str, list[str]]:
    """The public names of each theme."""
    found: dict[str, list[str]] = {}
    for entry in public():
        others = [alias for alias, name in ALIASES.items() if name == entry.name]
        found.setdefault(entry.theme, []).extend([*others, entry.name])
    return found


# Formatting.


KINDS = {
    "keyword": "syntax", "primitive": "built in", "library": "of the library", "program": "of the program", "macro": "a macro",
}  # fmt: skip


def lines_of(entry: Entry) -> Iterator[str]:
    """The lines of an entry."""
    what = ": ".join([part for part in (KINDS[entry.kind], entry.theme) if part])
    yield f"{entry.signature}    {what}"
    yield from _part("", _wrapped(entry.text))
    if entry.kind == "primitive":
        yield from _part("Derivative", _derivative_lines(entry))
    examples = [line for example in entry.examples for line in example_lines(example)]
    yield from _part("Examples" if examples else "", examples)
    yield from _part(f"Defined in {entry.place}" if entry.place else "", entry.source.splitlines())


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Wrap paragraphs, and the items of lists, whose further lines are indented. Other indented lines are left unchanged."""
    joined: list[str] = []
    for line in lines:
        is_indented, in_item = line.startswith(" "), bool(joined) and joined[-1].startswith("- ")
        if in_item and is_indented:
            joined[-1] += f" {line.strip()}"
        elif not line or is_indented or line.startswith("- "):
            joined.append(line)
        elif joined and joined[-1] and not in_item and not joined[-1].startswith(" "):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    for text in joined:
        indent = "  " if text.startswith("- ") else ""
        kept = [text] if not text or text.startswith(" ") else []
        yield from kept or textwrap.wrap(
            text, WIDEST, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )


def _derivative_lines(entry: Entry) -> Iterator[str]:
    width = max([len(by) for by, _ in entry.derivative], default=0)
    yield from [f"{by:{width}}  {rule}" for by, rule in entry.derivative]
    if entry.letters:
        yield f"where {', '.join(entry.letters)}"
    if not entry.derivative:
        yield "zero: the result does not vary with the operands"


def _kind_lines(kind: Kind) -> Iterator[str]:
    yield f"{kind.code}    kind of error: {kind.group}"
    yield from _part("", [line for line in kind.lines if not line.startswith("```")])
    if any(line.startswith("report(") for line in kind.lines):
        yield from _part("", ["(`report` calls its argument, and prints the error.)"])


def _part(title: str, lines: Iterable[str]) -> Iterator[str]:
    lines = list(lines)
    if title or lines:
        yield ""
    if title:
        yield title
    yield from [f"  {line}".rstrip() for line in lines]


def example_lines(example: Example) -> Iterator[str]:
    """An example as it is written."""
    first, *more = example.shown
    yield f"{example.call}  {ARROW} {first}".rstrip()
    yield from [f"{ARROW} {line}".rstrip() for line in more]


def _filled(words: Iterable[str], width: int) -> Iterator[str]:
    line = " "
    for word in words:
        if len(line) + len(word) + 1 > width:
            yield line
            line = " "
        line += " " + word
    yield line


# Reading: texts.


def text_and_examples(lines: Iterable[str]) -> tuple[tuple[str, ...], tuple[Example, ...]]:
    """Split lines of documentation into sentences and examples."""
    text, examples = [], []
    for line in lines:
        call, arrow, value = line.partition(ARROW)
        if not arrow:
            text.append(line)
        elif call.strip():
            examples.append(Example(call.strip(), (value.strip(),)))
        else:
            last = examples.pop()
            examples.append(Example(last.call, (*last.shown, value.strip())))
    return tuple(text), tuple(examples)


def _sections(file: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Split a page of the manual at headings of the third level: the heading above it, its own, and the lines below."""
    with open(os.path.join(FOLDER, file), encoding="utf-8") as opened:
        page = opened.read()
    group = ""
    for part in re.split(r"^(?=###? )", page, flags=re.MULTILINE)[1:]:
        heading, *lines = part.rstrip().splitlines()
        if heading.startswith("## "):
            group = heading[3:]
        else:
            yield group, heading[4:].strip("`"), tuple(lines[1:])


def _keywords() -> Iterator[Entry]:
    for group, signature, lines in _sections("keywords.md"):
        text, examples = text_and_examples([line for line in lines if not line.startswith("```")])
        while text and not text[-1]:
            text = text[:-1]
        yield Entry(_name(signature), "keyword", group, signature, text, examples)


def _name(signature: str) -> str:
    """The name at the beginning of the shape of a call."""
    match = _WORD.search(signature)
    assert match is not None, signature
    return match.group()


# Reading: the table.


def _primitives() -> Iterator[Entry]:
    for room, theme in ROOMS.items():
        place = room.__name__.replace(".", "/") + ".py"
        for row in room.ROWS:
            text, examples = text_and_examples([row.doc, *row.examples.splitlines()])
            yield Entry(
                row.name, "primitive", theme, of_row(row).text, text, examples,
                derivative=tuple(_rules(row)), letters=tuple(_letters(row)), place=place, hidden=row.hidden,
            )  # fmt: skip
        for name, source in getattr(room, "PROCEDURES", {}).items():
            lines = source.splitlines()
            comment = [line.strip()[4:] for line in lines if line.strip().startswith(";;; ")]
            body = [line for line in lines if not line.strip().startswith(";;; ")]
            text, examples = text_and_examples(comment[1:])
            yield Entry(
                name, "library", theme, comment[0], text, examples, place=place, source=_dedented(body)
            )


def _rules(row: Primitive) -> Iterator[tuple[str, str]]:
    """The derivative rules of a primitive's row: with respect to what, and the rule, on one line."""
    if row.partials is not None:
        stated = [
            (f"by {x}", " · ".join(steps_of(partial)))
            for x, partial in row.partials.items()
            if partial != "zero"
        ]
    else:
        stated = [("forward", row.forward)] if row.forward != "zero" else []
        stated += [(f"reverse, {x}", rule) for x, rule in (row.reverse or {}).items()]
    yield from [(by, " ".join(rule.split())) for by, rule in stated]


def _letters(row: Primitive) -> Iterator[str]:
    """The meaning of the letters used in a row's derivative."""
    used = set(_WORD.findall(" ".join([rule for _, rule in _rules(row)])))
    meanings = {
        "r": "r is the result",
        "s": "s is the sensitivity of the result",
        "t": "t is the tangent of the operand or the sensitivity of the result",
    }
    for x in row.operands:
        meanings["d" + x] = f"d{x} is the tangent of {x}"
        meanings["~" + x] = f"~{x} is {x}, for its shape"
    yield from [text for name, text in meanings.items() if name in used and name not in row.operands]


def _dedented(lines: list[str]) -> str:
    """Lines without the indentation of all but the first."""
    indents = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    least = min(indents, default=0)
    return "\n".join([lines[0].strip(), *[line[least:] for line in lines[1:]]])


# Reading: the library.


@dataclass(frozen=True, slots=True)
class Definition:
    """A top-level definition of a library file: its place, the lines of its doc comment, and its text."""

    file: str
    line: int
    name: str
    comment: tuple[str, ...]
    source: str


def library_lines(file: str) -> list[str]:
    """The lines of a library file."""
    with open(os.path.join(the_library().folder, f"{file}.vlad"), encoding="utf-8") as opened:
        return opened.read().splitlines()


def definitions(file: str) -> Iterator[Definition]:
    """Every top-level definition of a library file, including private ones, in order."""
    comment: list[str] = []
    lines = library_lines(file)
    for number, line in enumerate(lines, 1):
        match = _DEFINITION.match(line)
        if line.startswith(";;; "):
            comment.append(line[4:])
            continue
        if match:
            yield Definition(file, number, match.group(1), tuple(comment), _form(lines[number - 1 :]))
        comment = []


def _form(lines: list[str]) -> str:
    """The definition that begins on the first line: the following lines that are indented, or empty before an indented one."""
    count = 1
    for number, line in enumerate(lines[1:], 2):
        if line.startswith(" "):
            count = number
        elif line:
            break
    return "\n".join(lines[:count])


def _library() -> Iterator[Entry]:
    for file in LIBRARY:
        for found in definitions(file):
            signature, *lines = found.comment or (f"({found.name})",)
            text, examples = text_and_examples(lines)
            yield Entry(
                found.name, "library", f"Library: {file}", signature, text, examples,
                place=f"stdlib/{file}.vlad:{found.line}", source=found.source, hidden=is_internal(found.name),
            )  # fmt: skip
