"""The process that compiles for another one: from its own side. compile/calling/compiling_process.py describes it.

In: calls as texts, on the standard input.  Out: the entries of the cache made for them, on the standard output.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import IO, Any, NoReturn

from vlad.compile.calling.code_cache import NotKept
from vlad.compile.calling.compilation import compile_call
from vlad.compile.calling.compiling_process import Reply, Request, receive, send
from vlad.compile.ir.refusals import Unavailable, Unbounded
from vlad.compile.native import cache, toolchain
from vlad.control import debug
from vlad.control.async_exceptions import masked, raise_in
from vlad.control.budget import Budget, NoTime, using_budget
from vlad.evaluate.limits import deep_recursion
from vlad.python.load import read_value
from vlad.session.session import Session

IDLE_SECONDS = 10.0  # without work, after which it ends
SWITCH_INTERVAL = 0.0005  # seconds until it notices a request, or the end of the other process
NICENESS = 10  # a tenth of the processor time that a process of usual priority gets


class Superseded(BaseException):
    """Raised in the thread that compiles when another request has arrived."""


def main() -> NoReturn:
    with suppress(OSError):
        os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_INTERVAL)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no reply
    server = Server(os.fdopen(os.dup(0), "rb"), output)
    from vlad.compile.calling import pipeline  # noqa: F401 - while the first request is written

    with suppress(Empty, OSError):
        server.work()
    _end()


def _end() -> NoReturn:
    toolchain.leave_nothing()
    os._exit(0)


class Server:
    """Replies to requests. A thread of its own reads them, since the other process may end, or need another call, while this
    one compiles.
    """

    def __init__(self, requests: IO[bytes], replies: IO[bytes]) -> None:
        self._replies = replies
        self._newest: Request | None = None
        self._done = 0  # the number of the last request with a reply
        self._arrivals: SimpleQueue[None] = SimpleQueue()
        self._is_working = False
        self._worker = threading.get_ident()
        self._session = Session(tier="evaluate")
        threading.Thread(target=self._read, args=(requests,), daemon=True).start()

    def work(self) -> NoReturn:
        """Compile what is requested. Raises Empty after a while without work, OSError if nothing reads the replies."""
        while True:
            with suppress(Superseded):  # which may arrive anywhere here
                while True:
                    request = self._newest
                    if request is None or request.number == self._done:
                        self._arrivals.get(timeout=IDLE_SECONDS)
                        continue
                    self._is_working = True
                    reply = compiled(self._session, request)
                    self._is_working = False
                    masked(partial(self._reply, reply))

    def _reply(self, reply: Reply) -> None:
        self._done = reply.number
        if not toolchain.ending:  # otherwise it says that a compiler was stopped
            send(self._replies, reply)

    def _read(self, stream: IO[bytes]) -> None:
        try:
            while True:
                self._newest = Request(*receive(stream))
                self._arrivals.put(None)
                if self._is_working:
                    toolchain.give_up(self._worker)
                    raise_in(self._worker, Superseded)
        except EOFError:
            _end()


def compiled(session: Session, request: Request) -> Reply:
    """Compile a call into the entries of a reply."""
    machine = session.machine
    machine.counting, debug.rungs = request.counting, frozenset(request.rungs)
    # What earlier requests have made: a type of records from there refers to their globals, so that the call had another key here
    # than in the other process, which then compiled it once more.
    machine.marked.clear()
    reply = Reply(request.number, {})
    end = math.inf if request.seconds == math.inf else time.monotonic() + request.seconds
    with cache.carried({}) as entries, using_budget(Budget(end=end)):
        try:
            with deep_recursion():
                f, (machine.arguments, rest) = read_value(request.text, session, blank=True)
            operands = _elements(rest)
            try:
                compile_call(machine, f, operands, **request.options, only_kept=True)
            except NotKept as missing:
                if missing.has_key:
                    compile_call(machine, f, operands, **request.options)
        except Unbounded as error:
            reply = reply._replace(unbounded=(error.reason, None, error.for_number))
        except Unavailable as error:
            reply = reply._replace(unavailable=str(error))
        except (MemoryError, NoTime):
            reply = reply._replace(is_out_of_room=True)
        except Exception:
            entries.clear()  # it is compiled again, and the error reported, where it was requested
    return reply._replace(entries=entries)


def _elements(rest: Any) -> tuple[Any, ...]:
    found = []
    while rest:
        found.append(rest[0])
        rest = rest[1]
    return tuple(found)
