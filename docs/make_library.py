"""stdlib/*.vlad → docs/library.md: the manual of the library, from the doc comments beside the code.

A doc comment is the lines of `;;; ` right above a definition: first the shape of a call, then sentences and
examples, `CALL ⇒ VALUE`. Names that begin with % are the library's own and are left out. Run without arguments to write the
page; tests/stdlib imports `entries` (to run the examples) and `page` (to see that the file is up to date).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "library.md"
NAMES = "prelude streams calculus optimize optimizers linear-algebra tensors nn data differential-equations"
FILES = NAMES.split()
DEFINITION = re.compile(r"\(define \(*([^\s()]+)")
ARROW = "⇒"


@dataclass(frozen=True, slots=True)
class Entry:
    """One definition at top level of a library file, with its doc comment taken apart."""

    file: str
    line: int
    name: str
    signature: str
    text: tuple[str, ...]
    examples: tuple[tuple[str, str], ...]


def definitions(file: str) -> Iterator[Entry]:
    """Every top-level definition of a library file, private ones included, in order."""
    comment: list[str] = []
    path = ROOT / "stdlib" / f"{file}.vlad"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = DEFINITION.match(line)
        if line.startswith(";;; "):
            comment.append(line[4:])
            continue
        if match:
            yield entry(file, number, match.group(1), comment)
        comment = []


def entry(file: str, line: int, name: str, comment: list[str]) -> Entry:
    """The entry of a definition from the lines of its doc comment."""
    examples = []
    text = []
    for part in comment[1:]:
        call, arrow, value = part.partition(f"  {ARROW} ")
        if arrow:
            examples.append((call.strip(), value.strip()))
        else:
            text.append(part)
    return Entry(file, line, name, comment[0] if comment else "", tuple(text), tuple(examples))


def entries() -> list[Entry]:
    """The public entries of all files."""
    return [entry for file in FILES for entry in definitions(file) if not entry.name.startswith("%")]


def introduction(file: str) -> Iterator[str]:
    """The lines of the comment at the top of a library file."""
    for line in (ROOT / "stdlib" / f"{file}.vlad").read_text(encoding="utf-8").splitlines():
        if not line.startswith(";"):
            return
        yield line[1:].strip()


def section(file: str) -> Iterator[str]:
    """A file's part of the page."""
    title, *more = introduction(file)
    yield from (f"## {file}", "", title, *more, "")
    for entry in entries():
        if entry.file == file:
            yield from (f"### `{entry.signature}`", "", *entry.text, "", "```scheme")
            yield from (f"{call}  {ARROW} {value}" for call, value in entry.examples)
            yield from ("```", "")


def page() -> str:
    """The whole page."""
    lines = [
        "# The library",
        "",
        "Every program sees these names; a definition is read when it is first used.",
        "",
    ]
    lines += [
        "Made by `python docs/make_library.py` from the comments in `stdlib/`; the tests run each example.",
        "",
    ]
    for file in FILES:
        names = ", ".join(f"`{entry.name}`" for entry in entries() if entry.file == file)
        lines += [f"**[{file}](#{file})**: {names}", ""]
    for file in FILES:
        lines += section(file)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
