"""Files of programs: search and reading.

In: a name, and the folders to search.  Out: a path, or the text there; VladError if there is none. Called by top_level.py
for programs, modules and data, by the prompt for its own files, and by the command for standard input.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import TypeAlias

from vlad.data.errors import NoCounterpart, VladError
from vlad.data.source import Source, Span
from vlad.messages.spelling import nearest

Path: TypeAlias = str | os.PathLike[str]


def find(name: Path, folders: list[str], span: Span | None = None) -> str:
    """The path of a program or module, whose name may omit the extension."""
    name = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(name, str):
        raise NoCounterpart("invalid-argument", f"The path of a file is a string, not {name!r}")
    # `fit` beside `fit.vlad` may be the program built from it
    names = [name] if name.endswith(".vlad") else [name + ".vlad", name]
    return found(name, names, folders, span)


def found(name: str, candidates: list[str], folders: list[str], span: Span | None = None) -> str:
    """The first of the candidates that exists in one of the folders. Raises VladError if there is none."""
    for candidate in candidates:
        for folder in [""] if os.path.isabs(name) else folders:
            path = os.path.join(folder, candidate)
            if is_readable(path):
                return path
    places: dict[str, str] = {}
    for folder in folders:
        places.setdefault(os.path.realpath(folder), folder or ".")
    where = ", ".join(places.values())
    meant = _misspelt(candidates[0], folders) if name == os.path.basename(name) else ""
    raise VladError("cannot-find", f"Cannot find: {name}", span, hint=f"looked in {where}{meant}")


def is_readable(path: str) -> bool:
    """Whether it is a file, or a pipe such as the shell's <(…); no folder, and no device, which might be endless."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode)


def _misspelt(name: str, folders: Iterable[str]) -> str:
    """`; did you mean …?`, if there is a file with a similar name and the same extension."""
    stem, ending = os.path.splitext(name)
    stems = [os.path.splitext(file)[0] for file in _files_in(folders) if file.endswith(ending)]
    near = nearest(stem, stems)
    return f"; did you mean `{near[0]}{ending}`?" if near else ""


def _files_in(folders: Iterable[str]) -> list[str]:
    """The names of the files in folders, as far as these can be listed."""
    names = []
    for folder in folders:
        with suppress(OSError):
            names += os.listdir(folder or ".")
    return names


def load(path: str, span: Span | None = None) -> Source:
    """The text of a file. Raises VladError if it cannot be read or is no text."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        return Source(path, data.decode("utf-8-sig"))
    except OSError as error:
        raise VladError("cannot-read", f"Cannot read: {path}", span, hint=error.strerror or "") from None
    except UnicodeDecodeError as error:
        before = Source(path, data[: error.start].decode("utf-8-sig", "replace"))
        at = Span(before, len(before.text), len(before.text) + 1)
        raise VladError(
            "not-text",
            f"Not a text in UTF-8: {path}",
            at,
            hint="save the file as UTF-8; a program is plain text",
        ) from None


def not_read(error: OSError | UnicodeDecodeError) -> VladError:
    """The error that standard input cannot be read."""
    if isinstance(error, UnicodeDecodeError):
        return VladError("not-text", f"Standard input is not a text in UTF-8: {error.reason}")
    return VladError("cannot-read", "Cannot read standard input", hint=error.strerror or "")
