"""The process that compiles for this one, and takes nothing of Python's lock: from this side.

In: a call as a text, with what compiling it depends on.  Out: the entries of the cache that it makes, from which the call is
compiled here without analysis or C compiler. session/compiling.py is the other side. Called by
variant_compiler.py, in the compiler's thread.

The process is a fresh interpreter: a copy of this one (`fork`) would have locks of threads that it does not have. It is started
with the first call, serves all sessions, and ends when it has had no work for a while, or when the pipe to it is closed, as at
the end of this process, however that ends. Then it stops its C compiler and removes its files. It is in a session of its own,
so that Ctrl-C at the terminal does not reach it; and its priority is low: where there are too few processors, the evaluation
keeps nine tenths of one.
"""

from __future__ import annotations

import atexit
import marshal
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import IO, Any, NamedTuple

from vlad.compile.calling.background import BACKGROUND, Superseded
from vlad.compile.ir.refusals import Unavailable
from vlad.control import debug
from vlad.control.async_exceptions import masked
from vlad.control.surroundings import Surroundings

MAIN = "import sys; sys.path[:] = sys.argv[1:]; from vlad.session.compiling import main; main()"
LOOK_SECONDS = 0.02  # between two chances to abandon the work
# milliseconds of processor time, of which its priority gives it little under load; after that it is killed
END_SECONDS = 15.0
HAS_ENDED = "the process that compiles has ended"
LENGTH = struct.Struct("<Q")  # of a message, before it


class Request(NamedTuple):
    """A call to compile; work on earlier ones ends when it arrives. `text`: the procedure, the session's arguments and the
    operands, as saved (python/dump.py), where tensors whose entries do not matter are blank. `options` are those of
    `compile_call`; `seconds`: the most that it may take; `rungs`: levels of diagnostics.
    """

    number: int
    text: str
    counting: bool
    rungs: tuple[int, ...]
    seconds: float
    options: dict[str, Any]


class Reply(NamedTuple):
    """`number`: that of the request. `entries`: those of the cache, by key and suffix; none if the call has no key.
    `unbounded`: the operands of that exception; `unavailable`: why there is no library; `is_out_of_room`: whether time or
    memory did not suffice.
    """

    number: int
    entries: dict[str, bytes]
    unbounded: tuple[str, None, bool] | None = None
    unavailable: str | None = None
    is_out_of_room: bool = False


def send(stream: IO[bytes], message: Request | Reply) -> None:
    data = marshal.dumps(tuple(message))
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message. Raises EOFError at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return marshal.loads(data)


class CompilingProcess:
    """The process, started on demand. `compiled` is called by one thread at a time, `end` by any."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._surroundings: Surroundings | None = None  # in which it was started
        self._lock = threading.RLock()
        self._is_impossible = False
        self._number = 0

    def compiled(
        self, text: str, counting: bool, seconds: float, options: dict[str, Any], check: Callable[[], None]
    ) -> Reply | None:
        """The reply to a request; None if no process can be started. `check` is called meanwhile, and raises Superseded if the
        reply is not needed. Raises that also if the process was ended here, and Unavailable if it failed.
        """
        self._number += 1
        request = Request(self._number, text, counting, tuple(debug.rungs), seconds, options)
        is_needed = True
        try:
            for _ in range(2):
                if not self._is_started():
                    is_needed = False
                    return None
                reply = self._reply(request, check)
                if reply is not None:
                    is_needed = False
                    return reply
                self._expect_idle()
            raise Unavailable(HAS_ENDED)
        except (Superseded, Unavailable):
            is_needed = False
            raise
        finally:
            if is_needed:  # an exception of another thread: it works on what nothing needs
                self.end()

    def end(self) -> None:
        """End the process, and wait for that."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            masked(lambda: _ended(process))

    def leave(self) -> None:
        """At the end of the program: the same without waiting. The process ends by itself, since the pipe is closed."""
        BACKGROUND.stop()  # it would start another one
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            _close(process)
            process.returncode = 0  # nothing waits for it any more

    def after_fork(self) -> None:
        """In a forked child: the process belongs to the parent, whose end it has to notice."""
        process, self._process = self._process, None
        self._lock = threading.RLock()
        if process is not None:
            _close(process)
            process.returncode = 0  # so that it is not waited for

    def _is_started(self) -> bool:
        surroundings = Surroundings()
        with self._lock:
            if self._process is not None and self._surroundings == surroundings:
                return True
        self.end()
        if self._is_impossible or not _is_python(sys.executable):
            return False
        self._surroundings = surroundings
        masked(
            partial(self._start, surroundings)
        )  # an exception between start and assignment would leave the process running
        return not self._is_impossible

    def _start(self, surroundings: Surroundings) -> None:
        folder = surroundings.folder
        if folder is not None and not os.path.isdir(folder):  # it was removed since
            folder = None
        command = [sys.executable, *(["-I"] if sys.flags.isolated else []), "-c", MAIN, *sys.path]
        with self._lock:
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    start_new_session=True, env=surroundings.environment, cwd=folder,
                )  # fmt: skip
            except OSError:
                self._is_impossible = True

    def _reply(self, request: Request, check: Callable[[], None]) -> Reply | None:
        """None if the process has ended."""
        process = self._process
        if process is None:
            return None
        assert process.stdin is not None and process.stdout is not None
        output = process.stdout
        try:
            masked(partial(send, process.stdin, request))
            poll = select.poll()
            poll.register(output, select.POLLIN)
            found: list[Any] = []
            while not found or found[-1].number != request.number:
                while not poll.poll(LOOK_SECONDS * 1000):
                    check()
                masked(lambda: found.append(Reply(*receive(output))))
            reply: Reply = found[-1]
            return reply
        except (OSError, ValueError, EOFError):  # the pipe was closed, there or here
            return None

    def _expect_idle(self) -> None:
        """The process has ended: without work, before it got a request. Raises Unavailable if it failed, and Superseded if it
        was ended here.
        """
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            raise Superseded
        masked(lambda: _ended(process))
        if process.returncode != 0:
            raise Unavailable(HAS_ENDED)


def _is_python(path: str | None) -> bool:
    """Whether a program is Python, and not one that embeds it, or was made of it."""
    name = os.path.basename(path or "").lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _ended(process: subprocess.Popen[bytes]) -> None:
    if not _has_ended(process, END_SECONDS):
        process.kill()
        process.wait()


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Close the pipe to a process; whether it has ended within so many seconds. (`wait` alone notices it late.)"""
    assert process.stdin is not None and process.stdout is not None
    end = time.monotonic() + seconds
    with suppress(OSError):
        process.stdin.close()
    with suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN)
        while poll.poll(max(0.0, end - time.monotonic()) * 1000) and os.read(
            process.stdout.fileno(), 1 << 16
        ):
            pass
    _close(process)
    try:
        process.wait(max(0.001, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


PROCESS = CompilingProcess()
os.register_at_fork(after_in_child=PROCESS.after_fork)

atexit.register(PROCESS.leave)
