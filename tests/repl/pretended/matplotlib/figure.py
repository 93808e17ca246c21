"""Figures that record drawing operations, and whose picture is that record."""

from __future__ import annotations

from typing import Any


class Axes:
    def __init__(self) -> None:
        self.lines: list[tuple[str, int, str]] = []

    def plot(self, x: Any, y: Any, label: str, marker: str = "", linestyle: str = "-") -> None:
        assert len(x) == len(y)
        self.lines.append((label, len(x), marker if linestyle else f"{marker} alone"))

    def legend(self) -> None:
        self.lines.append(("legend", 0, ""))


class Canvas:
    required_interactive_framework: str | None = "pretended"


class Figure:
    def __init__(self, **options: Any) -> None:
        self.axes = Axes()
        self.canvas = Canvas()

    def subplots(self) -> Axes:
        return self.axes

    def savefig(self, file: Any, format: str = "") -> None:
        data = f"picture of {self.axes.lines}".encode() * 100  # longer than one message to a terminal
        if isinstance(file, str):
            with open(file, "wb") as opened:
                opened.write(data)
        else:
            file.write(data)
