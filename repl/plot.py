"""The command `,plot`: which curves, and where they are drawn.

In: the operands.  Out: a picture inline, if the terminal supports it; else a window, if there is a
display; both by Matplotlib. Otherwise a drawing of characters, or, if a file is named, that file.
"""

from __future__ import annotations

import os
import sys

from vlad.data.errors import VladError, WrongOption

from . import pictures
from .curves import Curve, curves_of
from .drawing import as_svg, in_terminal
from .files import cannot_write, file_name, write_text
from .shell import Shell
from .window import Window

WHERE = ("inline", "window", "text")


def plot(shell: Shell, operands: list[str]) -> None:
    """Draw the operands of `,plot`. Raises VladError."""
    file, derivative, dots, where = "", False, False, ""
    while len(operands) > 1 and is_word(shell, operands[-1]):
        last = operands.pop()
        if last == "derivative":
            derivative = True
        elif last == "dots":
            dots = True
        elif last in WHERE:
            where = last
        else:
            file = file_name(last)
    curves = [curve for curve in curves_of(shell, operands, derivative) if curve.points]
    if not curves:
        raise VladError("invalid-command", "There is no finite number to plot")
    for curve in curves:
        curve.dots = dots
    if file:
        save(curves, file)
        shell.remark(f"written: {file}")
    else:
        show(shell, curves, where or configured())


def is_word(shell: Shell, operand: str) -> bool:
    """Whether an operand is an option rather than something to draw."""
    is_own = operand in shell.session
    return operand == "derivative" or is_file(operand) or (operand in ("dots", *WHERE) and not is_own)


def is_file(word: str) -> bool:
    return os.path.splitext(word.strip('"'))[1].lower() in (".svg", ".png", ".pdf", ".jpg")


def configured() -> str:
    """The value of $VLAD_PLOT; "" if it is unset. Raises VladError."""
    where = os.environ.get("VLAD_PLOT", "")
    if where not in ("", *WHERE):
        raise WrongOption("invalid-argument", f"$VLAD_PLOT is one of {', '.join(WHERE)}; not {where}")
    return where


def show(shell: Shell, curves: list[Curve], where: str) -> None:
    """Draw at the requested place, or else at the best one. Raises VladError."""
    if shell.picture is not None and where in ("", "inline"):
        shell.picture(as_svg(curves))
        return
    able = shell.terminal.live and pictures.is_installed()
    inline = pictures.protocol(os.environ)
    if where == "inline" or (not where and able and inline):
        if not inline:
            raise VladError(
                "invalid-command",
                "This terminal is not known to show pictures",
                hint="those of kitty and iTerm2 and their kin do, though not inside tmux or screen",
            )
        shell.terminal.line(pictures.shown_inline(pictures.as_png(curves), inline))
    elif where == "window" or (not where and able and pictures.has_display(os.environ, sys.platform)):
        in_window(shell, curves, must=bool(where))
    else:
        shell.terminal.line(in_terminal(curves, shell.terminal))


def in_window(shell: Shell, curves: list[Curve], must: bool) -> None:
    """Draw in a window; if that is impossible and not required, inline. Raises VladError."""
    if not pictures.is_installed():
        pictures.drawn(curves, "open a window")  # which raises the error
    try:
        window = Window(curves)
    except VladError as error:
        if must:
            raise
        shell.terminal.line(in_terminal(curves, shell.terminal))
        shell.remark(f"no window: {error.hint}")
        return
    shell.windows.append(window)
    shell.remark("drawn in a window")


def save(curves: list[Curve], path: str) -> None:
    """Write a plot. Raises VladError."""
    if path.lower().endswith(".svg"):
        write_text(path, as_svg(curves))
        return
    try:
        pictures.save(curves, path)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from None
