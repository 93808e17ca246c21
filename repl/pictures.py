"""Curves as pictures by Matplotlib, if it is installed, and terminals that show pictures inline.

In: curves, and the environment variables of the terminal.  Out: files, or the characters by which a terminal shows a picture: the
protocol of kitty (also of Ghostty and Konsole) or that of iTerm2 (also of WezTerm and mintty). Importing Matplotlib takes half a
second, so it is imported when there is something to draw.
"""

from __future__ import annotations

import importlib.util
import io
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vlad.data.errors import VladError

from .curves import Curve

LONGEST_CHUNK = 4096  # characters of a picture in one message to kitty
INCHES, DOTS = (6.4, 4.0), 100  # the size of a picture, and dots per inch


def is_installed() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def draw(figure: Any, curves: Iterable[Curve]) -> None:
    """Draw on a Matplotlib figure. A path that turns back, such as an optimiser's, shows its steps."""
    axes = figure.subplots()
    for curve in curves:
        marks = {"marker": "."} if curve.dots or turns_back(curve) else {}
        if curve.dots:
            marks["linestyle"] = ""
        axes.plot(*zip(*curve.points, strict=True), label=curve.name, **marks)
    axes.legend()


def turns_back(curve: Curve) -> bool:
    """Whether a curve turns back, so that it is not the graph of a function."""
    places = [x for x, _ in curve.points]
    return places != sorted(places)


def drawn(curves: Iterable[Curve], what: str) -> Any:
    """A Matplotlib figure. Raises VladError if it is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise VladError(
            "no-program",
            f"Only Matplotlib can {what}, and it is not installed",
            hint="`pip install matplotlib`; a text or a .svg needs nothing",
        ) from None
    figure = Figure(figsize=INCHES, dpi=DOTS)
    draw(figure, curves)
    return figure


def save(curves: Iterable[Curve], path: str) -> None:
    """Write a file in any format of Matplotlib's. Raises VladError, OSError, ValueError."""
    drawn(curves, f"write {path}").savefig(path)


def as_png(curves: Iterable[Curve]) -> bytes:
    file = io.BytesIO()
    drawn(curves, "draw a picture").savefig(file, format="png")
    return file.getvalue()


# Terminals.


def protocol(environment: Mapping[str, str]) -> str:
    """The terminal's protocol for pictures: "kitty", "iterm", or "" for none. tmux and screen do not pass any through."""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if "TMUX" in environment or term.startswith(("screen", "tmux")):
        return ""
    if "KITTY_WINDOW_ID" in environment or term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return "kitty"
    if program in ("iTerm.app", "WezTerm", "mintty") or environment.get("LC_TERMINAL") == "iTerm2":
        return "iterm"
    konsole = environment.get("KONSOLE_VERSION", "")
    return "kitty" if konsole.isdigit() and int(konsole) >= 220400 else ""


def shown_inline(png: bytes, how: str) -> str:
    """The text by which a terminal shows a picture."""
    text = b64encode(png).decode()
    return "".join(for_kitty(text)) if how == "kitty" else for_iterm(text, len(png))


def for_kitty(text: str) -> Iterator[str]:
    """Messages that carry a PNG, the first with its instructions. (q=2: the terminal sends no reply, which would
    be read as keys.)
    """
    keys = "f=100,a=T,q=2,"
    for at in range(0, len(text), LONGEST_CHUNK):
        more = int(at + LONGEST_CHUNK < len(text))
        yield f"\x1b_G{keys}m={more};{text[at : at + LONGEST_CHUNK]}\x1b\\"
        keys = ""


def for_iterm(text: str, size: int) -> str:
    return f"\x1b]1337;File=inline=1;size={size};preserveAspectRatio=1:{text}\a"


def has_display(environment: Mapping[str, str], platform: str) -> bool:
    """Whether a window can be opened."""
    if platform == "darwin":
        return "SSH_CONNECTION" not in environment
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
