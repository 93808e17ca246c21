"""The cache on disk: whole entries or none, whatever happens to the folder, the disk or the writers."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from amounts import drawn

from vlad.compile.native import cache

ROUNDS = drawn(48)
DATA = b"\x7fELF" + bytes(range(256)) * 40


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


found = cache.lookup


def test_what_is_stored_is_found(folder: Path) -> None:
    assert found("a") is None
    cache.store("a", DATA)
    assert found("a") == DATA
    (entry,) = cache.entries()
    assert entry.name == "a.so" and entry.bytes == len(DATA) + cache.TRAILER
    assert folder.stat().st_mode & 0o777 == 0o700
    assert cache.clear() == 1
    assert cache.entries() == [] and found("a") is None


@pytest.mark.parametrize("at", [0, 1, 5000, len(DATA) - 1, len(DATA), len(DATA) + 3, -1])
def test_a_flipped_bit(folder: Path, at: int) -> None:
    cache.store("a", DATA)
    path = folder / "a.so"
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)
    assert found("a") is None
    assert not path.exists(), "a damaged entry stays"


@pytest.mark.parametrize("length", [0, 1, 70, 100, len(DATA)])
def test_a_truncated_entry(folder: Path, length: int) -> None:
    cache.store("a", DATA)
    os.truncate(folder / "a.so", length)
    assert found("a") is None


def test_links_are_refused(folder: Path, tmp_path: Path) -> None:
    cache.store("a", DATA)
    (folder / "a.so").rename(tmp_path / "elsewhere")
    (folder / "a.so").symlink_to(tmp_path / "elsewhere")
    assert found("a") is None
    assert (tmp_path / "elsewhere").exists()


def _put(kind: str, path: Path) -> None:
    """Something that is no entry, in an entry's place."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "full folder":
        path.mkdir()
        (path / "file").touch()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))  # an address has 108 bytes at most
    elif kind == "dangling link":
        path.symlink_to("nowhere")
    elif kind == "link to itself":
        path.symlink_to(path)
    elif kind == "link to a device":
        path.symlink_to("/dev/zero")
    else:
        assert kind == "no permission"
        path.write_bytes(DATA)
        path.chmod(0)


@pytest.mark.parametrize(
    "kind",
    [
        "pipe", "folder", "full folder", "socket", "dangling link", "link to itself", "link to a device", "no permission",
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", cache.SUFFIXES)
def test_what_is_no_file(folder: Path, kind: str, suffix: str) -> None:
    """It is not waited for, nothing of it stays open, and where it can be replaced, it is."""
    cache.store("other", DATA)
    _put(kind, folder / f"a{suffix}")
    descriptors = os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd") else []
    for _ in range(3):
        assert found("a", suffix) is None
    assert not descriptors or os.listdir("/proc/self/fd") == descriptors
    cache.store("a", DATA, suffix)
    assert found("a", suffix) == (None if "folder" in kind else DATA)
    assert cache.entries() and cache.clear() >= 1 and found("other") is None


def test_the_device_of_an_entry_is_not_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What opens is looked at before it is read, whatever it is."""
    cache.store("a", DATA)
    usual = os.open
    monkeypatch.setattr(os, "open", lambda path, flags, mode=0o777: usual("/dev/zero", os.O_RDONLY))
    assert found("a") is None


def test_a_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "real")
    cache.store("a", DATA)
    assert found("a") is None and list((tmp_path / "real").iterdir()) == []


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_is_refused(folder: Path, mode: int) -> None:
    cache.store("a", DATA)
    folder.chmod(mode)
    assert found("a") is None
    cache.store("b", DATA)
    folder.chmod(0o700)
    assert found("a") is not None and found("b") is None


def test_a_folder_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("a", DATA)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert found("a") is None


def test_a_folder_that_is_a_file(folder: Path) -> None:
    folder.write_text("in the way")
    cache.store("a", DATA)
    assert found("a") is None and cache.entries() == [] and cache.clear() == 0


@pytest.mark.parametrize("operation", ["replace", "chmod", "makedirs", "scandir"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_trouble_with_the_disk(
    folder: Path, operation: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, operation, fail)
        cache.store("a", DATA)
        cache.lookup("a")
    if folder.exists():
        assert not list(folder.glob("*.tmp"))
    assert found("a") in (None, DATA)


def test_the_least_recently_used_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLAD_CACHE_SIZE", str(3.5 * len(DATA) / 1e6))
    for name in "abc":
        cache.store(name, DATA)
        os.utime(folder / f"{name}.so", (time.time() - 100 + ord(name), time.time() - 1000 + ord(name)))
    assert found("a") is not None  # used now
    cache.store("d", DATA)
    assert {entry.name for entry in cache.entries()} == {"a.so", "c.so", "d.so"}


def test_what_killed_writers_left_goes(folder: Path) -> None:
    cache.store("a", DATA)
    old, new = folder / "old.tmp", folder / "new.tmp"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    cache._added.clear()  # as in a new process
    cache.store("b", DATA)
    assert not old.exists() and new.exists()


@pytest.mark.parametrize("gone", range(6))
def test_files_that_go_while_the_folder_is_read(
    folder: Path, gone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer moved its temporary file, or removed an entry, between the listing and the look at it."""
    for name in "abcde":
        cache.store(name, DATA)
    listing = os.scandir

    class Vanishing:
        def __init__(self, path: str) -> None:
            self.items = listing(path)

        def __enter__(self) -> Vanishing:
            return self

        def __exit__(self, *_: object) -> None:
            self.items.close()

        def __iter__(self) -> Iterator[os.DirEntry[str]]:
            with self.items as items:
                for index, item in enumerate(sorted(items, key=lambda item: item.name)):
                    if index == gone:
                        os.unlink(item.path)
                    yield item

    monkeypatch.setattr(os, "scandir", Vanishing)
    monkeypatch.setenv("VLAD_CACHE_SIZE", str(2.5 * len(DATA) / 1e6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.store("f", DATA)
        monkeypatch.undo()
        monkeypatch.setenv("VLAD_CACHE_DIR", str(folder))
    assert len(cache.entries()) == 2


def test_entries_are_listed_while_they_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        cache.store(name, DATA)
    looked = os.DirEntry.stat

    class Item:
        def __init__(self, item: os.DirEntry[str]) -> None:
            self.name, self.path, self.item = item.name, item.path, item

        def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
            if self.name == "b.so":
                os.unlink(self.path)
            return looked(self.item, follow_symlinks=follow_symlinks)

    listing = os.scandir

    @contextlib.contextmanager
    def wrapped(path: str) -> Iterator[list[Item]]:
        with listing(path) as items:
            yield [Item(item) for item in items]

    monkeypatch.setattr(os, "scandir", wrapped)
    assert {entry.name for entry in cache.entries()} == {"a.so", "c.so"}


def test_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLAD_CACHE", "off")
    cache.store("a", DATA)
    assert found("a") is None and not folder.exists()


WRITER = """
import hashlib, os, random, sys
from vlad.compile.native import cache
draw = random.Random(int(sys.argv[1]))
while True:
    key = "k%d" % draw.randrange(6)
    data = hashlib.sha256(key.encode()).digest() * draw.choice([100, 3000])
    if draw.random() < 0.5:
        cache.store(key, data)
    else:
        read = cache.lookup(key)
        if read is not None:
            unit = hashlib.sha256(key.encode()).digest()
            if read != unit * (len(read) // 32):
                print("WRONG", key, flush=True)
"""


def test_writers_that_are_killed(folder: Path) -> None:
    """Four at a time, killed at any moment, with bits flipped between: no wrong entry is ever read, and nothing raises."""
    draw = random.Random(7)
    root = str(Path(__file__).parent.parent.parent)
    for round_ in range(ROUNDS):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(round_ * 10 + i)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": root, "VLAD_CACHE_SIZE": "0.3"}, text=True,
            )
            for i in range(4)
        ]  # fmt: skip
        time.sleep(0.15 + 0.1 * draw.random())
        if folder.exists() and draw.random() < 0.5:
            with contextlib.suppress(OSError, ValueError):
                for victim in sorted(folder.glob("*.so"))[:1]:
                    data = bytearray(victim.read_bytes())
                    data[draw.randrange(len(data))] ^= 1
                    victim.write_bytes(data)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            said, complained = writer.communicate()
            assert said == "" and complained == "", (said, complained)
    for key in [f"k{i}" for i in range(6)]:
        data = found(key)
        if data is not None:
            unit = hashlib.sha256(key.encode()).digest()
            assert data == unit * (len(data) // 32)


def test_a_store_scans_all_entries_only_sometimes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(cache, "_trim", looked.append)
    for number in range(50):
        cache.store(f"a{number}", DATA)
    assert len(looked) == 1
    monkeypatch.setenv("VLAD_CACHE_SIZE", str(16 * 10 * len(DATA) / 1e6))
    for number in range(55):
        cache.store(f"b{number}", DATA)
    assert len(looked) in (6, 7)
