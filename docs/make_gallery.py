"""Draws the pictures of docs/gallery.md: docs/gallery/*.svg.

    python docs/make_gallery.py     draw them all (half a minute)

In: the inputs of the page, which stand in blocks `repl`.  Out: the files that its `,plot`s write. tests/test_documentation.py
compares them with those of its own run of the page.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

from vlad.repl.commands import enter
from vlad.repl.interrupts import Interrupts
from vlad.repl.shell import Shell
from vlad.repl.terminal import Terminal

import vlad

HERE = Path(__file__).resolve().parent
PAGE, FOLDER = HERE / "gallery.md", HERE / "gallery"


def inputs() -> Iterator[str]:
    """What is typed, in order: a prompt, and lines that are indented behind it."""
    for block in re.findall(
        r"^```repl\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        yield from re.findall(r"^\d+> (.*(?:\n {4,}.*)*)", block, re.MULTILINE)


def draw(folder: Path) -> None:
    """Draw the pictures into a folder."""
    shell = Shell(lambda write: vlad.Session(write=write), Terminal(io.StringIO()), Interrupts())
    with contextlib.chdir(folder):
        for typed in inputs():
            enter(shell, typed)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    draw(FOLDER)
    print(*sorted(os.listdir(FOLDER)), sep="\n")
