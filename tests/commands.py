"""`vlad` as a process whose modules are there already.

`command` runs the words of a command line in a process of its own, like `python -m vlad`, but one that is forked from a process
that has imported vlad and NumPy: the imports are most of the time that a short command takes. Tests of the start of a process,
of signals, of terminals, and of what is imported start Python themselves.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MOST = 100  # bytes of a message


def command(
    *words: str | Path,
    cwd: Path = ROOT,
    text: str | bytes = "",
    timeout: float = 100,
    environment: Mapping[str, str] = os.environ,
    is_joined: bool = False,
) -> subprocess.CompletedProcess[str]:
    """The result of `vlad WORD ...` in a folder, with a text as its input. Variables of the environment that Python reads when
    it starts have no effect. `is_joined`: errors are in the output, in order."""
    line = [os.fspath(word) for word in words]
    request = {"words": line, "cwd": str(cwd), "environment": dict(environment)}
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(4)]
        for file, contents in zip(files, (text, "", "", json.dumps(request)), strict=True):
            file.write(contents.encode() if isinstance(contents, str) else contents)
            file.seek(0)
        if is_joined:
            files[2] = files[1]
        status = _server().run([file.fileno() for file in files], timeout)
        out, err = [
            os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in files[1:3]
        ]
        return subprocess.CompletedProcess(["vlad", *line], status, out, "" if is_joined else err)


@contextlib.contextmanager
def interruptible(words: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that a signal interrupts, and that ends here in any case.

    What a shell runs in its background ignores SIGINT, and so do its children: if these tests run there, too.
    """

    def heed() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(words, preexec_fn=heed, **options) as process:
        try:
            yield process
        finally:
            process.kill()


class _Server:
    """The process that forks."""

    def __init__(self) -> None:
        self.socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with its:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(its.fileno())], pass_fds=[its.fileno()],
                env={**os.environ, "PYTHONPATH": path},                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def run(self, files: list[int], timeout: float) -> int:
        self.socket.settimeout(timeout)
        try:
            socket.send_fds(self.socket, [b"run"], files)
            return int(self.socket.recv(MOST))
        except BaseException as error:
            self.close()  # its answer is of no use to the next request
            raise (
                subprocess.TimeoutExpired(["vlad"], timeout) if isinstance(error, TimeoutError) else error
            ) from None

    def close(self) -> None:
        """End it, and what it has forked."""
        _server.cache_clear()
        os.killpg(self.process.pid, 9)
        self.process.wait()
        self.socket.close()


@functools.cache
def _server() -> _Server:
    server = _Server()
    atexit.register(lambda: server.process.poll() is None and server.close())
    return server


def _serve(connection: socket.socket) -> None:
    """Fork for each request, and send the exit status. Returns in the forked processes, which are set up as requested; ends
    with the tests.
    """
    while True:
        message, files, *_ = socket.recv_fds(connection, MOST, 4)
        if not message:
            os._exit(0)
        child = os.fork()
        if child == 0:
            break
        for number in files:
            os.close(number)
        _, status = os.waitpid(child, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    connection.close()
    with open(files[3], encoding="utf-8") as file:
        request = json.load(file)
    for number, stream in enumerate(files[:3]):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.argv = ["vlad", *request["words"]]
    sys.path[0] = request["cwd"]


if __name__ == "__main__":
    # before it is forked, what the command imports when it needs it
    import encodings.utf_8_sig  # noqa: F401

    import numpy  # noqa: F401

    import vlad.command
    import vlad.compile.calling.compilation
    import vlad.compile.calling.executable
    import vlad.compile.calling.stages
    import vlad.compile.native.c_extension
    import vlad.manual.help
    import vlad.session.programs
    import vlad.session.session  # noqa: F401
    from vlad.__main__ import process
    from vlad.session.library import the_library

    the_library().index()
    gc.freeze()  # no collection goes through it, which would copy its pages
    _serve(socket.socket(fileno=int(sys.argv[1])))
    process()
