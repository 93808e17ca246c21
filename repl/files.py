"""Files that commands read and write."""

from __future__ import annotations

import os

from vlad.data.errors import VladError


def write_text(path: str, text: str) -> None:
    """Write a file. Raises VladError."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as error:  # the name may contain invalid characters
        raise cannot_write(path, error) from None


def cannot_write(path: str, error: Exception) -> VladError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return VladError("cannot-write", f"Cannot write: {path}", hint=reason)


def file_name(text: str) -> str:
    """A file's name as written after a command, with or without quotes."""
    return os.path.expanduser(text.strip().strip('"'))
