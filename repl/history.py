"""The history of inputs, in a file; several prompts may write to it at once.

Each line is an entry, as JSON, so entries may have several lines. An entry is appended by one write while the file
is locked, so nothing of another process is lost or mixed in. A file that is too long is cut by its next reader.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from vlad.control.regular_files import open_regular

MOST = 10_000  # entries in the file
LONGEST = 100_000  # characters of an entry


def default_path() -> str:
    """In the user's state folder; $VLAD_HISTORY names another file, or disables the history if it is empty."""
    named = os.environ.get("VLAD_HISTORY")
    if named is not None:
        return named
    from platformdirs import user_state_dir

    return os.path.join(user_state_dir("vlad", False), "history")


class HistoryFile:
    """The entries of a file. If it cannot be read or written, there is no history, and no error: `trouble` has the reason."""

    def __init__(self, path: str) -> None:
        self.path = "" if path == os.devnull else path
        self.trouble = ""

    def load(self) -> list[str]:
        """All entries, oldest first. Invalid lines, from other programs, are skipped."""
        if not self.path:
            return []
        try:
            with open(open_regular(self.path, os.O_RDONLY), "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return []
        entries = list(_entries(lines))
        if len(entries) > MOST * 2:
            self._cut(entries[-MOST:])
        return entries[-MOST:]

    def add(self, text: str) -> None:
        """Add an entry."""
        if not self.path or len(text) > LONGEST:
            return
        try:
            with self._locked() as descriptor:
                os.write(descriptor, json.dumps(text).encode() + b"\n")
        except OSError as error:
            self.trouble = error.strerror or str(error)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file, locked exclusively, for appending."""
        os.makedirs(os.path.dirname(self.path) or ".", mode=0o700, exist_ok=True)
        while True:
            descriptor = open_regular(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if _is_still(self.path, descriptor):  # else another process has replaced it by a shorter one
                    yield descriptor
                    return
            finally:
                os.close(descriptor)

    def _cut(self, entries: list[str]) -> None:
        """Keep only these, and entries that others have added meanwhile."""
        try:
            with self._locked():
                with open(self.path, "rb") as file:
                    entries = list(_entries(file.read().split(b"\n")))[-MOST:]
                beside = f"{self.path}.{os.getpid()}"
                with open(beside, "w", encoding="utf-8") as file:
                    file.writelines([json.dumps(entry) + "\n" for entry in entries])
                os.chmod(beside, 0o600)
                os.replace(beside, self.path)
        except OSError as error:
            self.trouble = error.strerror or str(error)


def _entries(lines: list[bytes]) -> Iterator[str]:
    for line in lines:
        if line.strip():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, str):
                yield entry


def _is_still(path: str, descriptor: int) -> bool:
    try:
        return os.stat(path).st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
