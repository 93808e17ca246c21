"""The standard streams of a process, which may be closed, full, or pipes without a reader.

For a closed stream Python sets None, and `print(…, file=None)` writes to the standard output; the next file that is opened gets
the descriptor of the closed one. `make_whole` prevents both. The command calls it first.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

STANDARD = (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))


def make_whole() -> None:
    """Open those of the three that are closed: input is at its end, writing output fails, messages are lost. (The second is
    opened for reading only, so that a process fails if it writes output, and only then.)"""
    for number, (name, mode, flags) in enumerate(STANDARD):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # the lowest free descriptor is this one
            if mode == "w":
                setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - until the end


def same_everywhere() -> None:
    """Make output UTF-8 in every locale, and escape characters that UTF-8 cannot encode instead of raising an exception."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # not a file, as where output is captured
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def read_line() -> str:
    """A line of standard input; the empty string at its end, and where it is closed."""
    return "" if sys.stdin is None else sys.stdin.readline()


def write_message(message: str) -> None:
    """Write a message to standard error; where that fails, it is lost."""
    stream = sys.stderr
    if stream is None:  # pythonw, or a host that closed it
        return
    try:
        stream.write(message + "\n")
        stream.flush()
    except (OSError, ValueError):  # ValueError: the stream was closed in Python
        discard(stream)


def discard(stream: TextIO) -> None:
    """Discard the rest of a buffer that cannot be written, so that Python does not try again at the end of the process."""
    with suppress(OSError, ValueError):  # not a file: nothing is written at the end
        number = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, number)
        finally:
            os.close(null)
