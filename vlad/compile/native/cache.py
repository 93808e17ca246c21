"""Compiled units on disk, by content: `lookup`, `store`, and what `vlad cache` shows.

An entry is one file: KEY.so is a library, KEY.call says which library a call of the language became, so that it is not
analysed again. At its end stands a trailer with the digest of what precedes. It is written beside its
place and moved there in one step, so that concurrent writers, a kill or a full disk leave either a whole entry or none. What
is handed out are the bytes that were checked, never a name behind which somebody may have changed them meanwhile. The
folder must be ours, and nobody else's to write. Whatever goes wrong with the cache, the answer is "not there".
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import stat
import tempfile
import time
from dataclasses import dataclass

from vlad.control.async_exceptions import masked
from vlad.control.regular_files import open_regular
from vlad.control.safe_import import import_safely

MAGIC = b"\nvlad-unit-1 "
TRAILER = len(MAGIC) + 64
LIBRARY, CALL = ".so", ".call"
SUFFIXES = (LIBRARY, CALL)
DEFAULT_MEGABYTES = 256
STALE_SECONDS = 3600.0  # a temporary file so old belongs to a writer that was killed


@dataclass(frozen=True, slots=True)
class Entry:
    """`used`: when it was last looked up, in seconds since the epoch."""

    name: str
    bytes: int
    used: float


def folder() -> str:
    """Where entries are: $VLAD_CACHE_DIR, or `vlad/compiled` in the user's cache folder."""
    named = os.environ.get("VLAD_CACHE_DIR")
    if named:
        return named
    platformdirs = import_safely("platformdirs")  # 5 ms, only where it is needed
    return os.path.join(platformdirs.user_cache_dir("vlad"), "compiled")


def is_off() -> bool:
    return os.environ.get("VLAD_CACHE", "").lower() in ("off", "0", "no")


def _opened() -> str | None:
    """The folder, made if need be, if it is safe to use."""
    if is_off():
        return None
    try:
        path = folder()
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path if _is_ours(os.lstat(path), stat.S_ISDIR) else None
    except OSError:
        return None


def _is_ours(status: os.stat_result, kind: object) -> bool:
    assert callable(kind)
    return bool(kind(status.st_mode)) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def lookup(key: str, suffix: str = LIBRARY) -> bytes | None:
    """What was stored under a key, checked; None where there is none."""
    path = _opened()
    if path is None:
        return None
    name = os.path.join(path, key + suffix)
    try:
        descriptor = open_regular(name, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    with contextlib.suppress(OSError), open(descriptor, "rb") as file:
        if _is_ours(os.fstat(descriptor), stat.S_ISREG):
            data = file.read()
            if len(data) > TRAILER and data[-TRAILER:] == _trailer(data[:-TRAILER]):
                with contextlib.suppress(OSError):
                    os.utime(name)
                return data[:-TRAILER]
    with contextlib.suppress(OSError):
        os.unlink(name)  # damaged: it would only be read again
    return None


def _trailer(data: bytes) -> bytes:
    return MAGIC + hashlib.sha256(data).hexdigest().encode()


def store(key: str, data: bytes, suffix: str = LIBRARY) -> None:
    """Keep a library, or another entry, under a key; without a word where that is not possible."""
    path = _opened()
    if path is None:
        return

    def write() -> None:
        descriptor, temporary = tempfile.mkstemp(".tmp", key[:16] + "-", path)
        try:
            with open(descriptor, "wb") as file:
                file.write(data + _trailer(data))
            os.chmod(temporary, 0o700)
            os.replace(temporary, os.path.join(path, key + suffix))
        except BaseException:  # Ctrl-C, too
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    with contextlib.suppress(OSError):
        masked(write)  # a file that nobody knows of would stay open
        _trim_sometimes(path, len(data))


def _limit() -> float:
    try:
        return float(os.environ.get("VLAD_CACHE_SIZE", DEFAULT_MEGABYTES)) * 1e6
    except ValueError:
        return DEFAULT_MEGABYTES * 1e6


_added: dict[str, float] = {}  # to each folder since it was trimmed, in bytes


def _trim_sometimes(path: str, size: int) -> None:
    """At first, and then for each sixteenth of what may be kept: looking at all entries takes a while."""
    _added[path] = _added.get(path, math.inf) + size
    if _added[path] > _limit() / 16:
        _added[path] = 0.0
        _trim(path)


def _trim(path: str) -> None:
    """Remove what was used longest ago until the rest fits, and what killed writers left."""
    now, limit = time.time(), _limit()
    files = _files(path)
    for name, status in files:
        if name.endswith(".tmp") and now - status.st_mtime > STALE_SECONDS:
            _remove(path, name)
    kept = [(status.st_mtime, status.st_size, name) for name, status in files if name.endswith(SUFFIXES)]
    total = sum([size for _, size, _ in kept])
    for _, size, name in sorted(kept):
        if total <= limit:
            break
        _remove(path, name)
        total -= size


def _files(path: str) -> list[tuple[str, os.stat_result]]:
    """What stands in a folder where others write and remove meanwhile: what has gone since it was listed is not there."""
    found = []
    with os.scandir(path) as items:
        for item in items:
            with contextlib.suppress(FileNotFoundError):
                found.append((item.name, item.stat(follow_symlinks=False)))
    return found


def _remove(path: str, name: str) -> bool:
    """False where it was not there, or may not be removed."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(path, name))
        return True
    return False


def entries() -> list[Entry]:
    """What is there, the most recently used first."""
    path = _opened()
    found = []
    if path is not None:
        with contextlib.suppress(OSError):
            for name, status in _files(path):
                if name.endswith(SUFFIXES):
                    found.append(Entry(name, status.st_size, status.st_mtime))
    return sorted(found, key=lambda entry: -entry.used)


def clear() -> int:
    """Remove all entries; how many there were."""
    path = _opened()
    return sum([_remove(path, entry.name) for entry in entries()]) if path is not None else 0
