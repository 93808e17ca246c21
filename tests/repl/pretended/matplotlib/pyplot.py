"""Windows: their contents are written to a file named in the environment, and so is their end."""

from __future__ import annotations

import os
import time

from matplotlib.figure import Figure

FIGURES: list[Figure] = []


def figure(num: str) -> Figure:
    if os.environ["DISPLAY"] == ":nobody":
        raise RuntimeError("couldn't connect to display :nobody")
    FIGURES.append(Figure())
    if os.environ["DISPLAY"] == ":agg":
        FIGURES[0].canvas.required_interactive_framework = None
    return FIGURES[0]


def show(block: bool = True) -> None:
    if block:
        time.sleep(1000)  # a window that is never closed
    else:
        with open(os.environ["SHOWN"], "w", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {FIGURES[0].axes.lines}")
