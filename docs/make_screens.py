"""Take pictures of the prompt, for docs/repl.md: docs/screens/*.svg.

    python docs/make_screens.py            take them all (ten seconds)
    python docs/make_screens.py NAME       one of them

Each scene starts `vlad` on a pseudo-terminal, types, waits for expected output, and draws the screen of
a terminal emulator (pyte): characters with their colours. tests/repl/test_screens.py repeats the scenes and compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import pyte
from pyte.screens import Char

HERE = Path(__file__).parent
FOLDER = HERE / "screens"
sys.path.insert(0, str(HERE.parent / "tests" / "repl"))
from terminals import DOWN, LEFT, Person  # noqa: E402

ENTER = "\r"
COLUMNS, ROWS = 84, 40


@dataclass(frozen=True)
class Scene:
    """A picture with a `title`. A step is the typed text, and the output to wait for."""

    title: str
    steps: tuple[tuple[str, str], ...]


SCENES = {
    "first": Scene(
        "Definitions, results, a derivative, a Hessian, a tensor",
        (
            ("(define (f x y) (+ (* x x) (* 3 x y)))" + ENTER, "2>"),
            ("(f 1 2)" + ENTER, "3>"),
            ("((gradient f) 1 2)" + ENTER, "4>"),
            ("(* 2 _2)" + ENTER, "5>"),
            ("(J f)" + ENTER, "6>"),
            ("#[[1 2] [3 4]]" + ENTER, "7>"),
        ),
    ),
    "writing": Scene(
        "A form of several lines: indented as it is written, brackets coloured by their depth, the bracket at the cursor "
        "marked with its partner",
        (
            ("(define (descend f x rate n)" + ENTER, "n)"),
            ("(if (= n 0) ; where it ends" + ENTER, "ends"),
            ("x" + ENTER + "(let ((slope ((gradient f) x)))" + ENTER, "slope"),
            ('(descend f (- x (* rate slope)) "not a number yet" 1))))', "1))))"),
            (LEFT, ""),
        ),
    ),
    "completion": Scene(
        "Completion: the names that begin so, with their parameters and their first sentence; the variable of the form around "
        "comes first",
        (("(define (train loss gradients)" + ENTER + "(grad", "gradient-descent"), (DOWN + DOWN, "")),
    ),
    "doc": Scene("What a name means, with its derivative", ((",doc hypot" + ENTER, "1>"),)),
    "error": Scene(
        "Errors: the place, the reason, a hint; and the tail calls that led there",
        (
            ("(+ 1 (lenght '(1 2)))" + ENTER, "2>"),
            ("(define (last-of l) (if (null? (cdr l)) (car l) (last-of (cdr l))))" + ENTER, "3>"),
            ("(* 2 (last-of '(2 3 5 . 7)))" + ENTER, "4>"),
        ),
    ),
    "reverse": Scene(
        "The derivative that J makes, as a program, and how its data flow",
        ((",reverse (lambda (x) (* x x))" + ENTER, "both))"), (",graph (lambda (x) (* x (sin x)))" + ENTER, "└─ x")),
    ),
    "plot": Scene(
        "A curve and its derivative, in any terminal", ((",plot sin 0 6 derivative" + ENTER, "sin ′"),)
    ),
    "debug": Scene(
        "Looking around where an error came",
        (
            ("(define (average l) (/ (list-sum l) (size l)))" + ENTER, "2>"),
            ("(define (size l) (if (null? l) none (+ 1 (size (cdr l)))))" + ENTER, "3>"),
            ("(average '(1 2 6))" + ENTER, "4>"),
            (",debug" + ENTER, "debug>"),
            ("where" + ENTER, "debug>"),
            ("locals" + ENTER, "debug>"),
            ("(list 'empty l)" + ENTER, "debug>"),
        ),
    ),
}  # fmt: skip


# Playing.


def played(scene: Scene) -> pyte.Screen:
    """What stands on the screen in the end."""
    with Person(columns=COLUMNS, rows=ROWS) as person:
        person.asks(1)
        for typed, seen in scene.steps:
            person.settles()
            person.type(typed)
            person.sees(seen)
        person.settles()
        screen = pyte.Screen(COLUMNS, ROWS)
        pyte.Stream(screen).feed(person.raw)
        return screen


def rows_of(screen: pyte.Screen) -> list[list[Char]]:
    """The characters on it, without blank rows at the end; the cursor's place in reverse."""
    rows = [[screen.buffer[row][column] for column in range(screen.columns)] for row in range(screen.lines)]
    cursor = screen.cursor
    at = rows[cursor.y][min(cursor.x, screen.columns - 1)]
    rows[cursor.y][min(cursor.x, screen.columns - 1)] = at._replace(reverse=True)
    while rows and all(character.data == " " and not character.reverse for character in rows[-1]):
        rows.pop()
    return rows


def text_of(rows: Iterable[list[Char]]) -> list[str]:
    return ["".join([character.data for character in row]).rstrip() for row in rows]


# Drawing.

WIDE, TALL, MARGIN = 8.4, 18, 12  # of a character; around all
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
PAPER, INK = "#1d1f24", "#d7dae0"
COLOURS = {
    "default": INK, "black": "#3b3f46", "red": "#e06c75", "green": "#98c379", "brown": "#d9b36c", "blue": "#6cb2f0",
    "magenta": "#c98be0", "cyan": "#5bc0c8", "white": "#d7dae0", "brightblack": "#8a919e",
}  # fmt: skip


def drawn(scene: Scene, rows: list[list[Char]]) -> str:
    """An SVG. Each row is a `g`, so that its text can be read again."""
    width, height = COLUMNS * WIDE + 2 * MARGIN, len(rows) * TALL + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'font-family="{escape(FONTS)}" font-size="14">',
        f"<title>{escape(scene.title)}</title>",
        f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>',
    ]
    for index, row in enumerate(rows):
        lines += [f'<g transform="translate({MARGIN} {MARGIN + index * TALL})">', *runs(row), "</g>"]
    return "\n".join([*lines, "</svg>"]) + "\n"


def runs(row: list[Char]) -> Iterator[str]:
    """Characters in a row that look alike, together."""
    column = 0
    for _, group in groupby(row, key=lambda character: character._replace(data="")):
        run = list(group)
        text = "".join([character.data for character in run])
        yield from run_of(text, run[0], column)
        column += len(run)


def run_of(text: str, look: Char, column: int) -> Iterator[str]:
    ink, paper = colour(look.fg, INK), colour(look.bg, PAPER)
    if look.reverse:
        ink, paper = paper, ink
    place, length = f"{column * WIDE:.1f}", f"{len(text) * WIDE:.1f}"
    if paper != PAPER:
        yield f'<rect x="{place}" width="{length}" height="{TALL}" fill="{paper}"/>'
    if not text.strip() and paper == PAPER and not look.underscore:
        return
    marks = [
        'font-weight="bold"' if look.bold else "",
        'font-style="italic"' if look.italics else "",
        'text-decoration="underline"' if look.underscore else "",
    ]
    style = "".join([f" {mark}" for mark in marks if mark])
    yield (
        f'<text x="{place}" y="13" textLength="{length}" xml:space="preserve" data-column="{column}" '
        f'fill="{ink}"{style}>{escape(text)}</text>'
    )


def colour(name: str, default: str) -> str:
    """Of pyte's names; those without a name of their own are six digits."""
    return default if name == "default" else COLOURS.get(name) or f"#{name}"


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in names or SCENES:
        scene = SCENES[name]
        (FOLDER / f"{name}.svg").write_text(drawn(scene, rows_of(played(scene))), encoding="utf-8")
        print(f"written: docs/screens/{name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
