"""Documentation as Markdown, for editors that display it.

In: an `Entry` of vlad/manual/help.py.  Out: its text; programs are in blocks that editors colour.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from vlad.manual.help import Entry, example_lines

SPECIAL = re.compile(r"([\\*_<>\[\]#|~])")


def markdown(entry: Entry) -> str:
    """An entry as Markdown, without its first line, the signature."""
    return "\n\n".join(_parts(entry))


def _parts(entry: Entry) -> Iterator[str]:
    if entry.text:
        yield "\n".join(_escaped(entry.text))
    if entry.derivative:
        rules = [f"- {_plain(by)} `{rule}`" for by, rule in entry.derivative]
        where = f"\n\nwhere {_plain(', '.join(entry.letters))}" if entry.letters else ""
        yield "**Derivative**\n\n" + "\n".join(rules) + where
    examples = [line for example in entry.examples for line in example_lines(example)]
    if examples:
        yield block(examples)
    if entry.place:
        yield f"*{_plain(entry.place)}*"


def block(lines: Iterable[str]) -> str:
    """Lines of a program."""
    return "\n".join(["```vlad", *lines, "```"])


def _escaped(lines: Iterable[str]) -> Iterator[str]:
    """Lines of sentences; those that are indented are programs."""
    inside = False
    for line in lines:
        is_program = line.startswith("  ") and bool(line.strip())
        if is_program != inside and (is_program or line.strip()):
            yield "```vlad" if is_program else "```\n"
            inside = is_program
        yield line if is_program else "`".join(_outside_code(line))
    if inside:
        yield "```"


def _outside_code(line: str) -> Iterator[str]:
    for number, part in enumerate(line.split("`")):
        yield part if number % 2 else _plain(part)


def _plain(text: str) -> str:
    return SPECIAL.sub(r"\\\1", text)
