"""Compiled units on disk, by content: `lookup`, `store`, and the entries for `vlad cache`.

An entry is one file: KEY.so is a library; KEY.call names the library for a call of the language, so that it is not analysed
again, or has the reason why the call is not compiled; KEY.text is the C text of a library that is yet to be made; KEY.rejected
has the reason why the C compiler rejected a text; KEY.costs has what the calls of a program took (calling/costs.py). It ends with
a trailer, the digest of the preceding bytes. It is written beside its place and renamed, so that concurrent writers, a kill or a
full disk leave either a complete entry or none. Lookups return the checked bytes, never a file name, whose contents might be
changed meanwhile. The folder must belong to the user, and be writable by no other. Any failure of the cache counts as a miss.

Entries also travel from one process to another: within `carried`, a thread finds them in a dictionary, and adds to it those that
it stores.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from vlad.compile.native.cache_folder import COSTS, is_off
from vlad.compile.native.cache_folder import folder as folder
from vlad.control.async_exceptions import masked
from vlad.control.regular_files import open_regular
from vlad.control.surroundings import setting

MAGIC = b"\nvlad-unit-1 "
TRAILER = len(MAGIC) + 64
LIBRARY, CALL, TEXT, REJECTED = ".so", ".call", ".text", ".rejected"
SUFFIXES = (LIBRARY, CALL, TEXT, REJECTED, COSTS)
DEFAULT_MEGABYTES = 256
STALE_SECONDS = 3600.0  # an older temporary file belongs to a writer that was killed


class _PerThread(threading.local):
    carried: dict[str, bytes] | None = None


_this_thread = _PerThread()


@contextlib.contextmanager
def carried(entries: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    """A context in which this thread finds these entries, too, and adds those that it stores, even if the cache is off."""
    before = _this_thread.carried
    _this_thread.carried = entries
    try:
        yield entries
    finally:
        _this_thread.carried = before


@dataclass(frozen=True, slots=True)
class Entry:
    """`used`: the last lookup, in seconds since the epoch."""

    name: str
    bytes: int
    used: float


def is_used() -> bool:
    """Whether this thread may find entries."""
    return _this_thread.carried is not None or not is_off()


def _opened() -> str | None:
    """The folder, created on demand, if it is safe to use."""
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
    """The checked contents of an entry; None if there is none."""
    if _this_thread.carried is not None and key + suffix in _this_thread.carried:
        return _this_thread.carried[key + suffix]
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
                if _this_thread.carried is not None:
                    _this_thread.carried[key + suffix] = data[:-TRAILER]
                return data[:-TRAILER]
    with contextlib.suppress(OSError):
        os.unlink(name)  # damaged: otherwise it would be read again
    return None


def has(key: str, suffix: str = LIBRARY) -> bool:
    """Whether there seems to be an entry: it may be damaged."""
    if _this_thread.carried is not None and key + suffix in _this_thread.carried:
        return True
    path = _opened()
    return path is not None and os.path.exists(os.path.join(path, key + suffix))


def _trailer(data: bytes) -> bytes:
    return MAGIC + hashlib.sha256(data).hexdigest().encode()


def store(key: str, data: bytes, suffix: str = LIBRARY) -> None:
    """Store a library, or another entry, under a key; failures are ignored."""
    if _this_thread.carried is not None:
        _this_thread.carried[key + suffix] = data
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
        except BaseException:  # including Ctrl-C
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    with contextlib.suppress(OSError):
        masked(write)  # an interrupt between opening and assignment would leak the file
        _trim_sometimes(path, len(data))


def discard(key: str, suffix: str = LIBRARY) -> None:
    """Remove an entry, if there is one."""
    if _this_thread.carried is not None:
        _this_thread.carried.pop(key + suffix, None)
    path = _opened()
    if path is not None:
        _remove(path, key + suffix)


def _limit() -> float:
    try:
        return float(setting("VLAD_CACHE_SIZE") or DEFAULT_MEGABYTES) * 1e6
    except ValueError:
        return DEFAULT_MEGABYTES * 1e6


_added: dict[str, float] = {}  # by folder since it was trimmed, in bytes


def _trim_sometimes(path: str, size: int) -> None:
    """At first, and then after each sixteenth of the limit: scanning all entries takes time."""
    _added[path] = _added.get(path, math.inf) + size
    if _added[path] > _limit() / 16:
        _added[path] = 0.0
        _trim(path)


def _trim(path: str) -> None:
    """Remove the least recently used entries until the rest fits, and files of killed writers."""
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
    """The files of a folder that others change concurrently: files removed since the listing are omitted."""
    found = []
    with os.scandir(path) as items:
        for item in items:
            with contextlib.suppress(FileNotFoundError):
                found.append((item.name, item.stat(follow_symlinks=False)))
    return found


def _remove(path: str, name: str) -> bool:
    """Returns False if it does not exist, or must not be removed."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(path, name))
        return True
    return False


def entries() -> list[Entry]:
    """All entries, the most recently used first."""
    path = _opened()
    found = []
    if path is not None:
        with contextlib.suppress(OSError):
            for name, status in _files(path):
                if name.endswith(SUFFIXES):
                    found.append(Entry(name, status.st_size, status.st_mtime))
    return sorted(found, key=lambda entry: -entry.used)


def clear() -> int:
    """Remove all entries; returns their number."""
    path = _opened()
    return sum([_remove(path, entry.name) for entry in entries()]) if path is not None else 0
