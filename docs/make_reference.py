"""Generates the pages docs/keywords.md, primitives.md, library.md, errors.md, glossary.md and benchmarks.md.

    python docs/make_reference.py    write the pages

vlad/manual/help.py reads the texts and documents their sources; `vlad doc NAME` shows the same. The benchmarks' tables
are those in benchmarks/. tests/test_help.py runs the examples and checks that the pages are up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from vlad.manual.help import FOLDER, LIBRARY, ROOMS, Entry, example_lines, library_lines, public

DOCS = Path(__file__).resolve().parent
MADE = "Made by `python docs/make_reference.py` from"


def of_manual(name: str) -> Callable[[], Iterator[str]]:
    """A page whose text is in vlad/manual, unchanged."""
    return lambda: iter((Path(FOLDER) / name).read_text(encoding="utf-8").splitlines())


def primitives() -> Iterator[str]:
    """The page of the table's rows."""
    themes = list(dict.fromkeys(ROOMS.values()))
    yield from ("# The primitives", "")
    yield "The built-in procedures, with their derivatives as stated in the table of primitives: in the language itself, over the"
    yield "same primitives. In these texts r is the result, s its sensitivity, and dx the tangent of an operand x; t is a tangent"
    yield "or a sensitivity to be multiplied, and several texts are factors. If only partial derivatives are stated, both modes"
    yield "are derived from them. Names that are not on this page are used only by such texts; `vlad doc NAME` describes them."
    yield from ("", f"{MADE} the rows in `vlad/primitives/`; the tests run each example.", "")
    yield from _contents(themes, lambda theme: [entry for entry in public() if entry.theme == theme])
    for theme in themes:
        yield from (f"## {theme}", "")
        for entry in public():
            if entry.theme == theme:
                yield from _described(entry)


def library() -> Iterator[str]:
    """The page of the procedures that are written in the language."""
    yield from ("# The library", "")
    yield from ("Every program sees these names; a definition is read when it is first used.", "")
    yield from (f"{MADE} the comments in `stdlib/`; the tests run each example.", "")
    yield from _contents(LIBRARY, _of_file)
    for file in LIBRARY:
        yield from (f"## {file}", "", *_introduction(file), "")
        for entry in _of_file(file):
            yield from _described(entry)


def benchmarks() -> Iterator[str]:
    """The page of the benchmarks: an explanation, and their tables."""
    yield from ("# How fast it is", "")
    yield "Programs with nested derivatives, compared with handwritten C and with other systems. A compiled call mostly takes"
    yield "less than twice the time of the C, including derivatives of any order, since tags, closures and pairs are eliminated"
    yield "before C is emitted. The evaluator, here called tier 0, is much slower, but starts at once: it is for code that runs"
    yield "once. On large tensors all systems take about the same time, since products of matrices use the same BLAS"
    yield "everywhere; the gains are in the fusion of the operations between the products, and on small arrays."
    yield ""
    yield "To measure on your own machine, run `benchmarks/run.py` and `benchmarks/tensors.py` in the project's folder; there,"
    yield "`benchmarks/DISTANCES.md` explains the remaining differences to C. The growth of the cost of derivatives, which is the"
    yield "same on every machine, is on another page: [What derivatives cost](complexity.md)."
    for title, file in (("Numbers and lists", "RESULTS.md"), ("Tensors", "TENSORS.md")):
        lines = (DOCS.parent / "benchmarks" / file).read_text(encoding="utf-8").splitlines()
        yield from (
            "",
            f"## {title}",
            *[f"#{line}" if line.startswith("## ") else line for line in lines[1:]],
        )


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "keywords.md": of_manual("keywords.md"),
    "primitives.md": primitives,
    "library.md": library,
    "errors.md": of_manual("errors.md"),
    "glossary.md": of_manual("glossary.md"),
    "benchmarks.md": benchmarks,
}


def page(name: str) -> str:
    """The whole text of a page."""
    return "\n".join(PAGES[name]()).rstrip() + "\n"


def _of_file(file: str) -> list[Entry]:
    return [entry for entry in public() if entry.theme == f"Library: {file}"]


def _contents(titles: list[str], of: Callable[[str], list[Entry]]) -> Iterator[str]:
    for title in titles:
        names = ", ".join([f"`{entry.name}`" for entry in of(title)])
        yield from (f"**[{title}](#{_anchor(title)})**: {names}", "")


def _anchor(title: str) -> str:
    """The anchor of a heading."""
    return "".join([c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-"])


def _introduction(file: str) -> Iterator[str]:
    """The lines of the comment at the top of a library file."""
    for line in library_lines(file):
        if not line.startswith(";"):
            return
        yield line[1:].strip()


def _no_heading(line: str) -> str:
    """A line of text that may begin with #f."""
    return rf"\{line}" if line.startswith("#") else line


def _described(entry: Entry) -> Iterator[str]:
    yield from (f"### `{entry.signature}`", "", *map(_no_heading, entry.text), "")
    if entry.derivative:
        rules = [f"{name} `{rule}`" for name, rule in entry.derivative]
        yield from (f"Derivative: {'; '.join(rules)}.", "")
    elif entry.kind == "primitive":
        yield from ("Derivative: zero.", "")
    yield "```scheme"
    for example in entry.examples:
        yield from example_lines(example)
    yield from ("```", "")


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / name).write_text(page(name), encoding="utf-8")
