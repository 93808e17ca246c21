"""The standard streams of a process, which may be closed, full, or pipes that nobody reads any more.

What Python makes of a closed one is None, and `print(…, file=None)` writes to the standard output; the number of a closed one is
given to the next file that is opened. `make_whole` ends both. The command does it first.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

STANDARD = (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))


def make_whole() -> None:
    """Open what is closed of the three: input is at its end, output cannot be written, messages are lost. (The flags of the
    second differ from its mode for that reason: writing fails, but only if there is something to be written.)"""
    for number, (name, mode, flags) in enumerate(STANDARD):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # the lowest number that is free is this one
            if mode == "w":
                setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - until the end


def same_everywhere() -> None:
    """Output is UTF-8 whatever the locale says, and what UTF-8 cannot hold is escaped, not an exception."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # no file, as where somebody captures what is written
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def read_line() -> str:
    """A line of standard input; nothing at its end, and where it is closed."""
    return "" if sys.stdin is None else sys.stdin.readline()


def say(message: str) -> None:
    """A message to the person, on standard error; where it cannot be written, nothing more is to be done."""
    stream = sys.stderr
    if stream is None:  # pythonw, or a host that has closed it
        return
    try:
        stream.write(message + "\n")
        stream.flush()
    except (OSError, ValueError):  # a ValueError is one of a stream that was closed in Python
        discard(stream)


def discard(stream: TextIO) -> None:
    """What is still in the buffer cannot be written: let the end of the process not try it again."""
    with suppress(OSError, ValueError):  # no file behind it: nothing will be tried
        number = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, number)
        finally:
            os.close(null)
