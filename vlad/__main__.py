"""`vlad`, and `python -m vlad`, as a process: Ctrl-C ends the command in the same way at any time.

While modules are imported, and at the end of the process, the signal handler ends the process: there is nothing
to clean up, and Python might only print an exception, within an import or at the end of the interpreter. Where nothing is left
to do, Python's own end is left out.
In between an interrupt is an exception, as everywhere in Python, but only the first: a second one ends the process.
"""

from __future__ import annotations

import os
import sys

# importing `signal` takes 3 ms without a handler
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType
    from typing import NoReturn

INTERRUPT = 130
INTERRUPTED = "Interrupted"
A_MOMENT = 0.005  # seconds


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit status. `argv` are the words after `vlad`."""
    from vlad.control.standard_streams import discard, make_whole, write_message

    make_whole()
    try:
        from vlad.command import main as command

        if getsignal(SIGINT) is _leave:
            signal(SIGINT, _raise_once)
        return command(argv)
    except KeyboardInterrupt:
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            discard(sys.stdout)
        write_message(INTERRUPTED)
        return INTERRUPT


def process() -> NoReturn:
    """Run the command as a process of its own."""
    try:
        # a command started in the background may have to ignore the signal
        if getsignal(SIGINT) is default_int_handler:
            signal(SIGINT, _leave)
            sys.unraisablehook = _unraised
        status = main()
        if getsignal(SIGINT) is _raise_once:
            signal(SIGINT, _leave)
    except KeyboardInterrupt:  # before the command was ready for it, or after it had ended
        _leave()
    _end(status)


def _end(status: int) -> NoReturn:
    """End the process as `sys.exit` does, but do not destroy each object of each module, which takes half as long as importing
    them did.
    """
    if sys.flags.inspect or sys.gettrace() or sys.getprofile():  # they look at what is left
        sys.exit(status)
    import atexit
    import threading

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(status)  # Python reports it
    os._exit(status)


def _leave(number: int = SIGINT, frame: FrameType | None = None) -> NoReturn:
    try:
        os.write(2, f"{INTERRUPTED}\n".encode())
    finally:
        os._exit(INTERRUPT)


def _raise_once(number: int, frame: FrameType | None) -> NoReturn:
    signal(SIGINT, _leave_at_once)
    raise KeyboardInterrupt


def _unraised(dropped: UnraisableHookArgs) -> None:
    """Python drops exceptions that cannot be caught, as in a finaliser. An interrupt is raised again a moment later."""
    if isinstance(dropped.exc_value, KeyboardInterrupt):
        import threading
        from signal import pthread_kill

        signal(SIGINT, _raise_once)
        main_thread = threading.main_thread().ident or 0
        threading.Timer(A_MOMENT, pthread_kill, (main_thread, SIGINT)).start()
    else:
        sys.__unraisablehook__(dropped)


def _leave_at_once(number: int, frame: FrameType | None) -> NoReturn:
    os._exit(INTERRUPT)


if __name__ == "__main__":
    process()
