"""A plot in a window, by Matplotlib, in a process of its own: neither blocks the other.

In: curves.  Out: a `Window`, which exists until the user closes it or the prompt ends. The process runs `main`; it reads the
curves from its standard input, which stays open until the prompt ends, and writes a line that states whether there is a window.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterable

from vlad.data.errors import VladError

from .curves import Curve
from .pictures import draw

PATIENCE = 30.0  # seconds until the window opens
SHOWN = "shown"


class Window:
    """Raises VladError if no window can be opened."""

    def __init__(self, curves: Iterable[Curve]) -> None:
        path = os.pathsep.join([folder for folder in sys.path if folder])
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from vlad.repl.window import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C does not apply to it
        )
        try:
            result = self._reply(json.dumps([[curve.name, curve.points, curve.dots] for curve in curves]))
        except BaseException:
            self.close()
            raise
        if result != SHOWN:
            self.close()
            raise VladError(
                "no-program",
                "Matplotlib cannot open a window",
                hint=result or "its process ended; `,plot F text` draws here, `,plot F FILE` writes a file",
            )

    def _reply(self, text: str) -> str:
        """Its reply to a line, or "" if it ends or does not reply in time."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return ""
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        return self.process.stdout.readline().strip() if ready else ""

    @property
    def is_open(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def main() -> None:
    """The process of a window."""
    curves = [
        Curve(name, [(x, y) for x, y in points], dots)
        for name, points, dots in json.loads(sys.stdin.readline())
    ]
    try:
        from matplotlib import pyplot

        figure = pyplot.figure(num=" ".join([curve.name for curve in curves]))
        if figure.canvas.required_interactive_framework is None:  # Agg and the like only write files
            print("Matplotlib finds none of Qt, Tk, GTK or wx, with which it opens windows", flush=True)
            return
        draw(figure, curves)
        pyplot.show(block=False)
    except Exception as error:
        print(" ".join(f"{type(error).__name__}: {error}".split()), flush=True)
        return
    print(SHOWN, flush=True)
    threading.Thread(target=_end_with_prompt, daemon=True).start()
    pyplot.show()


def _end_with_prompt() -> None:
    """End when the prompt's end closes standard input."""
    sys.stdin.read()
    os._exit(0)
