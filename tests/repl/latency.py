"""The time from a key to its effect on the screen, in a long text with a long history. A script: run it with Python.

python tests/repl/latency.py [LINES] [ENTRIES] [KEYS]
"""

from __future__ import annotations

import asyncio
import io
import random
import sys
import tempfile
import time
from pathlib import Path

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output
from vlad.repl.history import HistoryFile
from vlad.repl.interrupts import Interrupts
from vlad.repl.prompt import Prompt, no_full_collections
from vlad.repl.shell import Shell
from vlad.repl.terminal import Terminal

from vlad import Session

CLOCK = time.process_time  # of the processor: a busy machine does not count
TYPED = ["a", "(", ")", " ", "x", "1", '"', "\x7f", "\r", "\t"]
KEYS = [*TYPED, "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b(", "\x1b)", "\x1br", "\x1b[5~"]


def text_of(lines: int) -> str:
    """A program of `lines` lines: procedures of ten lines each."""
    body = "\n".join([f"    (let ((y{i} (* x {i}))) (+ y{i} (sin y{i})))" for i in range(8)])
    one = "(define (procedure-{} x) ; a comment\n  (list\n" + body + "))"
    return "\n".join([one.format(i) for i in range(lines // 10)])


async def measured(lines: int, entries: int, count: int) -> list[tuple[float, str]]:
    """Seconds for each of `count` random keys, with the key."""
    random.seed(1)
    stream = io.StringIO()
    found = []
    with tempfile.TemporaryDirectory() as folder, create_pipe_input() as keys:
        history = HistoryFile(str(Path(folder) / "history"))
        Path(history.path).write_text("".join([f'"(define x{i} (* {i} 2))"\n' for i in range(entries)]))
        output = Vt100_Output(stream, lambda: Size(50, 120))
        with create_app_session(input=keys, output=output):
            shell = Shell(lambda write: Session(write=write), Terminal(io.StringIO()), Interrupts())
            prompt = Prompt(shell, keys, output, history)
            painted = asyncio.Event()
            app = prompt.session.app
            app.after_render += lambda _: painted.set()
            running = asyncio.ensure_future(prompt.session.prompt_async())
            await painted.wait()
            buffer = prompt.session.default_buffer
            buffer.text = text_of(lines)
            buffer.cursor_position = len(buffer.text) // 2
            await asyncio.sleep(1)
            for _ in range(count):
                key = random.choice(KEYS)
                await asyncio.sleep(0.002)
                painted.clear()
                begun = CLOCK()
                keys.send_text(key + ("\x1b[I" if key == "\x1b" else ""))
                await painted.wait()
                found.append((CLOCK() - begun, key))
                stream.seek(0)
                stream.truncate()
            running.cancel()
    return found


def main() -> None:
    lines, entries, count = [int(word) for word in (*sys.argv[1:], "2000", "10000", "1000")[:3]]
    with no_full_collections():
        found = sorted(asyncio.run(measured(lines, entries, count)))
    for share in (0.5, 0.9, 0.99, 1.0):
        seconds, key = found[max(int(len(found) * share) - 1, 0)]
        print(f"{share:>5.0%} {seconds * 1000:7.2f} ms  {key!r}")


if __name__ == "__main__":
    main()
