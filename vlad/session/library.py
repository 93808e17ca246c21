"""The standard library's files. A definition is read when its name is first used, or its procedure is first needed.

Out: texts, data and core, by the names that they define. Called by top_level.py and suggestions.py. One index serves all
sessions of a process: the files are read once, by the first thread that needs them, and from the second session on that uses a
definition it is not expanded again: what it expands to differs only in the cells of the globals.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable

from vlad.data.source import Origin, Source
from vlad.data.values import Global
from vlad.expand.arity import Usage, usage
from vlad.expand.items import Definition, Item
from vlad.expand.scope import Module
from vlad.primitives.references import OF_CELLS
from vlad.reader.parser import Syntax, read

# Not compiled until a name of the library is used. It begins with characters, which are searched for three times as fast as `^`
_DEFINITION = r"\n\(define \(*([^\s()]+)"
_HEAD = r"\(define \([^\s()]+((?: [^\s()#\"'.][^\s()]*)*)\)"  # of a procedure whose parameters are names
_WORD = r""";[^\n]*|"(?:\\.|[^"\\])*"|[^\s()"';`,]+"""
Place = tuple[str, int, int]  # a file, and the extent of a definition in it


class Library:
    def __init__(self) -> None:
        self._index: dict[str, Place] | None = None
        self._texts: dict[str, str] = {}
        self._data: dict[str, list[Syntax]] = {}
        self._mentioned: dict[str, list[str]] = {}
        self._with_cells: set[str] = set()  # of these
        self._used: set[str] = set()  # the definitions that a session has expanded
        self._expanded: dict[str, Definition] = {}  # over cells that belong to no session
        # beside this package in a checkout, inside it when installed; importlib.resources would cost 10 ms
        parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        beside = os.path.join(os.path.dirname(parent), "stdlib")
        inside = os.path.join(parent, "stdlib")
        self.folder = os.path.realpath(inside if os.path.isdir(inside) else beside)
        self.modules = os.path.join(self.folder, "modules")  # those that programs import

    def index(self) -> dict[str, Place]:
        """For each name: its file, and the extent of its definition there."""
        if self._index is None:
            index: dict[str, Place] = {}
            pattern = re.compile(_DEFINITION)
            for name in sorted(os.listdir(self.folder)):
                if name.endswith(".vlad"):
                    with open(f"{self.folder}{os.sep}{name}", encoding="utf-8") as file:
                        self._texts[name] = file.read()
                    found, before = _definitions(pattern, name, self._texts[name]), len(index)
                    index.update(found)
                    if len(index) != before + len(found):
                        raise _defined_twice(self._texts)
            self._index = index  # assigned when complete, as other threads read it
        return self._index

    def names(self) -> Iterable[str]:
        return self.index().keys()

    def names_in(self, file: str) -> list[str]:
        return [name for name, place in self.index().items() if place[0] == file]

    def exporting(self, name: str) -> str | None:
        """The module of the library that exports a name, if one does."""
        for file in sorted(os.listdir(self.modules)):
            with open(os.path.join(self.modules, file), encoding="utf-8") as opened:
                exported = re.search(r"^\(export ([^()]*)\)", opened.read(), re.MULTILINE)
            if exported is not None and name in exported.group(1).split():
                return file.removesuffix(".vlad")
        return None

    def definition(self, name: str) -> Source | None:
        """The text of a definition, with its doc comment, at the lines of its file."""
        place = self.index().get(name)
        if place is None:
            return None
        file, start, end = place
        text = self._texts[file]
        while start > 0 and text.startswith(";;;", line := text.rfind("\n", 0, start - 1) + 1):
            start = line
        lines = "\n" * text.count("\n", 0, start)
        return Source(f"stdlib/{file}", lines + text[start:end], Origin.LIBRARY)

    def arity(self, name: str) -> int | None:
        """The number of parameters of a procedure whose parameters are names; None for other definitions."""
        place = self.index().get(name)
        if place is None:
            return None
        file, start, end = place
        head = re.compile(_HEAD).match(self._texts[file], start, end)
        return None if head is None else max(1, len(head.group(1).split()))

    def mentioned(self, name: str) -> list[str]:
        """The names of the library among the words of a definition, including its own variables of such a name."""
        found = self._mentioned.get(name)
        if found is None:
            index = self.index()
            file, start, end = index[name]
            words = dict.fromkeys(re.compile(_WORD).findall(self._texts[file], start, end))
            found = self._mentioned[name] = [word for word in words if word in index]
            if not words.keys().isdisjoint(OF_CELLS):
                self._with_cells.add(name)
        return found

    def uses_cells(self, name: str) -> bool:
        """Does a definition mention what makes, reads or changes cells?"""
        self.mentioned(name)
        return name in self._with_cells

    def data(self, name: str) -> list[Syntax]:
        """The data of a definition with a text, which is read once in a process."""
        found = self._data.get(name)
        if found is None:
            source = self.definition(name)
            found = self._data[name] = [] if source is None else read(source)
        return found

    def keep(self, name: str, items: list[Item]) -> None:
        """Keep what a definition expands to, if a session before expanded it, too: a process with one session has no use for
        it.
        """
        if name not in self._used:
            self._used.add(name)
            return
        from vlad.core.relink import (  # the first session, which starts fast, needs neither
            HasRecord,
            relinked,
        )

        (item,) = items
        assert isinstance(item, Definition)
        cells: dict[str, Global] = {}
        try:
            body = relinked(item.body, lambda cell: cells.setdefault(cell.name, Global(cell.name)))
        except HasRecord:
            return
        self._expanded[name] = Definition(Global(name), body, item.span)

    def expanded(self, name: str, module: Module) -> list[Item] | None:
        """The items of a definition in the library's module of a session, as the expander makes them; None if they are not
        kept. The names that it mentions are loaded.
        """
        kept = self._expanded.get(name)
        if kept is None:
            return None
        from vlad.core.relink import relinked

        was_defined = name in module.defined
        module.defined.setdefault(name)  # its value may refer to it
        try:
            body = relinked(kept.body, lambda cell: module.cell(cell.name))
        except BaseException:  # interrupts, too
            if not was_defined:
                module.defined.pop(name, None)
            raise
        return [Definition(module.define(name), body, kept.span)]

    def usage(self, name: str) -> Usage | None:
        """How a procedure is called: the first line of its doc comment."""
        source = self.definition(name)
        first = "" if source is None else source.text.lstrip("\n").partition("\n")[0]
        return usage(first.removeprefix(";;; ")) if first.startswith(";;; (") else None


def _definitions(pattern: re.Pattern[str], file: str, text: str) -> list[tuple[str, Place]]:
    found = list(pattern.finditer("\n" + text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [(match.group(1), (file, match.start(), end)) for match, end in zip(found, ends, strict=True)]


def _defined_twice(texts: dict[str, str]) -> RuntimeError:
    """The error of a name with two definitions. A program may define a name again; in the library the last definition would
    silently be that of every caller.
    """
    files: dict[str, list[str]] = {}
    pattern = re.compile(_DEFINITION)
    for file, text in texts.items():
        for name, _ in _definitions(pattern, file, text):
            files.setdefault(name, []).append(file)
    twice = [f"{name} ({', '.join(found)})" for name, found in files.items() if len(found) > 1]
    return RuntimeError(f"The library defines a name twice: {'; '.join(twice)}")


@functools.cache
def the_library() -> Library:
    """The library, shared by all sessions of a process."""
    return Library()
