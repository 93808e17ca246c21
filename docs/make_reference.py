"""Generates the pages docs/keywords.md, primitives.md, library.md, errors.md and benchmarks.md.

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


def keywords() -> Iterator[str]:
    """The page of the keywords: the text in vlad/manual, as it is."""
    yield from (Path(FOLDER) / "keywords.md").read_text(encoding="utf-8").splitlines()


def errors() -> Iterator[str]:
    """The page of the kinds of error: the text in vlad/manual, unchanged."""
    yield from (Path(FOLDER) / "errors.md").read_text(encoding="utf-8").splitlines()


def primitives() -> Iterator[str]:
    """The page of the table's rows."""
    themes = list(dict.fromkeys(ROOMS.values()))
    yield from ("# The primitives", "")
    yield "What is built in, with its derivative as it is written in the one table of the program: in the language itself,"
    yield "over the same primitives. In these texts r is the result, s its sensitivity, and dx the tangent of an operand x;"
    yield "t is a tangent or a sensitivity that is multiplied, and several texts are factors."
    yield "Where only partial derivatives stand, both modes follow from them. Names that are not on this page are used by such"
    yield "texts only; `vlad doc NAME` tells what they are."
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
    yield "Programs with derivatives inside derivatives, against C that was written by hand and against other systems. A compiled"
    yield "call is mostly within twice of the C, derivatives of any order included, for tags, closures and pairs are gone before"
    yield "C is written. The evaluator, here called tier 0, is far slower, and starts at once: it is for what runs once. On large"
    yield "tensors the libraries of all systems meet, for a product of matrices is the same BLAS everywhere; what is gained there"
    yield "is fusion of what lies between the products, and small arrays."
    yield ""
    yield "To measure on your own machine, run `benchmarks/run.py` and `benchmarks/tensors.py` in the project's folder."
    yield "What is left of each distance to C, and why, is told by `benchmarks/DISTANCES.md` there. How the work of a derivative"
    yield "grows, which is the same on every machine, is on another page: [What derivatives cost](complexity.md)."
    for title, file in (("Numbers and lists", "RESULTS.md"), ("Tensors", "TENSORS.md")):
        lines = (DOCS.parent / "benchmarks" / file).read_text(encoding="utf-8").splitlines()
        yield from (
            "",
            f"## {title}",
            *[f"#{line}" if line.startswith("## ") else line for line in lines[1:]],
        )


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "keywords.md": keywords,
    "primitives.md": primitives,
    "library.md": library,
    "errors.md": errors,
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
    """How a heading is linked to."""
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
