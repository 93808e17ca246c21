"""`vlad format`: the files of programs, laid out in place.

In: paths.  Out: files with a new layout, or, if only that is asked for, whether they would get one. A file gets its text in one
step, so that an interrupt leaves the old or the new one, and keeps its mode.
"""

from __future__ import annotations

import codecs
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from vlad.data.errors import VladError
from vlad.data.source import Source
from vlad.session.files import load
from vlad.tools.layout import laid_out

ENDING = ".vlad"


def programs(paths: Iterable[str]) -> Iterator[str]:
    """The files among some paths, and those of programs in the folders among them, in order. Hidden folders are left
    out, and the copies that pip makes in a folder `build` beside `pyproject.toml`."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, inner, files in os.walk(path):
            built = {"build"} if "pyproject.toml" in files else set()
            inner[:] = sorted([name for name in inner if not name.startswith(".") and name not in built])
            yield from [
                os.path.normpath(os.path.join(folder, name))
                for name in sorted(files)
                if name.endswith(ENDING)
            ]


def formatted_text(text: str, name: str) -> str:
    """A text, laid out. Raises VladError."""
    return laid_out(Source(name, text))


def formatted(path: str, check: bool) -> bool:
    """Lay out a file, or only look whether that would change it; returns whether it does. Raises VladError."""
    source = load(path)
    text = laid_out(source)
    if text == source.text:
        return False
    if not check:
        with _writing(path):
            _replace(os.path.realpath(path), text)
    return True


def written_out(path: str, text: str) -> None:
    """Write a file. Raises VladError."""
    with _writing(path), open(path, "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """A context in which failures to write a file are errors of the language."""
    try:
        yield
    except OSError as error:
        raise VladError("cannot-write", f"Cannot write: {path}", hint=error.strerror or "") from None


def _replace(path: str, text: str) -> None:
    """Replace the text of a file by a file beside it."""
    with open(path, "rb") as file:
        mark = codecs.BOM_UTF8 if file.read(3) == codecs.BOM_UTF8 else b""
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    descriptor, beside = tempfile.mkstemp(".tmp", f".{os.path.basename(path)}-", os.path.dirname(path))
    try:
        with open(descriptor, "wb") as file:
            file.write(mark + text.encode())
            os.fchmod(descriptor, mode)
            file.flush()
            os.fsync(descriptor)
        os.replace(beside, path)
    except BaseException:  # including Ctrl-C
        with suppress(OSError):
            os.unlink(beside)
        raise
