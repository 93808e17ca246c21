"""Plots: their contents, and their place: in the terminal, inline, in a window, in a file."""

from __future__ import annotations

import os
import re
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from xml.dom import minidom

import pytest
from terminals import SCREENS, Person
from vlad.repl import pictures
from vlad.repl.curves import Curve, curves_of
from writing import Writing

PRETENDED = str(Path(__file__).parent / "pretended")
pytestmark = pytest.mark.xdist_group("terminal")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever terminal the tests are run in."""
    for name in os.environ:
        if name.startswith(SCREENS) and name != "TERM":
            monkeypatch.delenv(name)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A mock of Matplotlib whose pictures are texts."""
    import sys

    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("matplotlib")}
    monkeypatch.syspath_prepend(PRETENDED)
    yield
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        del sys.modules[name]
    sys.modules.update(kept)


class TestCurves:
    def test_in_the_terminal(self, writing: Writing) -> None:
        lines = writing.output(",plot sin 0 6").splitlines()
        assert len(lines) == 18 and "⠀" < max(lines[0]) <= "⣿"
        assert max(map(len, lines)) <= 80
        text = writing.output(",plot sin 0 6 derivative")
        assert "* sin   + sin ′" in text

    @pytest.mark.parametrize(
        "operands",
        ["'(3 1 4)", "#[1 2 4]", "'((0 . 1) (1 . 3))", "'((1 2 3) (2 3 4))", "#[[1 2] [3 4]]",
         "'(1 +nan.0 +inf.0)", "'(5)", "'(1e308 -1e308)", "(lambda (x) (/ 1 x)) -1 1", "log -1 1",
         "(list->vector '(3 1 4))", "(list #(0 1) #(1 3))"],
    )  # fmt: skip
    def test_what_can_be_drawn(self, writing: Writing, operands: str) -> None:
        assert "└──" in writing.output(f",plot {operands}")

    @pytest.mark.parametrize(
        ("operand", "expected"),
        [
            ("(list #[0 1 4] #[5 6 7])", [[(0, 5), (1, 6), (4, 7)]]),  # numbers over numbers
            ("'((0 1 4) (5 6 7))", [[(0, 5), (1, 6), (4, 7)]]),
            ("(list #[0 1] #[2 3])", [[(0, 1), (2, 3)]]),  # points
            ("#[[0 1 4] [5 6 7]]", [[(0, 0), (1, 5)], [(0, 1), (1, 6)], [(0, 4), (1, 7)]]),  # columns
            ("(list #[0 1 4] #[5 6 7] #[1 1 1])", [[(0, 0), (1, 5), (2, 1)], [(0, 1), (1, 6), (2, 1)], [(0, 4), (1, 7), (2, 1)]]),
        ],
    )  # fmt: skip
    def test_of_data(self, writing: Writing, operand: str, expected: list[list[tuple[float, float]]]) -> None:
        assert [curve.points for curve in curves_of(writing.shell, [operand], False)] == expected

    @pytest.mark.parametrize(
        "operands", ["5", "'()", "'(a)", "sin 1 0", "sin '(1)", "(lambda (x) (list x x))", "'(+nan.0)"]
    )
    def test_what_cannot(self, writing: Writing, operands: str) -> None:
        assert "Error: " in writing.output(f",plot {operands}")

    def test_a_procedure_that_takes_no_number(self, writing: Writing) -> None:
        """The error is in the library's `map`, which the user did not call."""
        text = writing.output(",plot (lambda (x y) (+ x y)) 0 6", ",plot car")
        assert "`,plot` calls (lambda (x y) (+ x y)) with one number, from 0 to 6" in text
        assert "`,plot` calls car with one number, from -5 to 5" in text and "stdlib" not in text

    def test_an_interval_of_one_end(self, writing: Writing) -> None:
        assert "as in `,plot sin 0 6`" in writing.output(",plot sin 0")

    def test_as_svg(self, writing: Writing, tmp_path: Path) -> None:
        assert (
            writing.output(',plot (lambda (x) (if (< x 0) 0 x)) sin -1 1 "a b.svg"') == "; written: a b.svg\n"
        )
        svg = minidom.parse(str(tmp_path / "a b.svg"))
        assert len(svg.getElementsByTagName("polyline")) == 2

    def test_dots_have_no_line_through_them(self, writing: Writing, tmp_path: Path) -> None:
        assert writing.output(",plot '((0 . 0) (4 . 2) (8 . 0)) dots a.svg") == "; written: a.svg\n"
        svg = minidom.parse(str(tmp_path / "a.svg"))
        assert not svg.getElementsByTagName("polyline")
        assert [path.getAttribute("d").count("M") for path in svg.getElementsByTagName("path")] == [3]
        drawn = writing.output(",plot '((0 . 0) (4 . 2) (8 . 0)) dots")
        assert sum("\u2800" <= c <= "\u28ff" for c in drawn) == 3
        assert "; written" in writing.output("(define dots '((0 . 1) (2 . 3)))", ",plot dots b.svg")

    def test_other_files_need_matplotlib(self, writing: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
        assert "Only Matplotlib can write out.png" in writing.output(",plot sin out.png")

    @pytest.mark.parametrize("where", ["inline", "window"])
    def test_pictures_need_matplotlib(
        self, writing: Writing, monkeypatch: pytest.MonkeyPatch, where: str
    ) -> None:
        monkeypatch.setenv("KITTY_WINDOW_ID", "1")
        monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
        monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
        text = writing.output(f",plot sin {where}")
        assert "and it is not installed" in text and "hint: `pip install matplotlib`" in text
        assert "└──" in writing.output(",plot sin")

    def test_words_that_the_program_defines_are_its_own(self, writing: Writing) -> None:
        text = writing.output("(define (window x) (* x x))", ",plot sin window 0 1", ",plot sin window")
        assert text.count("* sin   + window") == 2

    def test_a_wrong_variable_of_the_environment(
        self, writing: Writing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("VLAD_PLOT", "wall")
        assert "$VLAD_PLOT is one of inline, window, text; not wall" in writing.output(",plot sin")


class TestTerminalsThatShowPictures:
    @pytest.mark.parametrize(
        ("environment", "expected"),
        [
            ({"TERM": "xterm-256color"}, ""),
            ({}, ""),
            ({"TERM": "xterm-kitty"}, "kitty"),
            ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
            ({"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}, "kitty"),
            ({"TERM_PROGRAM": "iTerm.app", "TERM": "xterm-256color"}, "iterm"),
            ({"TERM_PROGRAM": "WezTerm"}, "iterm"),
            ({"LC_TERMINAL": "iTerm2"}, "iterm"),  # which ssh hands on
            ({"KONSOLE_VERSION": "220401"}, "kitty"),
            ({"KONSOLE_VERSION": "210800"}, ""),
            ({"TERM_PROGRAM": "Apple_Terminal"}, ""),
            ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, ""),
            ({"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, ""),
        ],
    )
    def test_by_their_variables(self, environment: dict[str, str], expected: str) -> None:
        assert pictures.protocol(environment) == expected

    @pytest.mark.parametrize("size", [1, 3071, 3072, 3073, 10_000])
    def test_kitty(self, size: int) -> None:
        png = bytes(range(256)) * 40
        shown = pictures.shown_inline(png[:size], "kitty")
        messages = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", shown)
        assert "".join(f"\x1b_G{keys};{text}\x1b\\" for keys, text in messages) == shown
        assert b64decode("".join(text for _, text in messages)) == png[:size]
        assert max(len(text) for _, text in messages) <= 4096
        assert [keys for keys, _ in messages] == [
            ("f=100,a=T,q=2," if at == 0 else "") + f"m={int(at < len(messages) - 1)}"
            for at in range(len(messages))
        ]

    def test_iterm(self) -> None:
        shown = pictures.shown_inline(b"some picture", "iterm")
        assert (
            shown.startswith("\x1b]1337;File=inline=1;size=12;preserveAspectRatio=1:") and shown[-1] == "\a"
        )
        assert b64decode(shown.partition(":")[2][:-1]) == b"some picture"

    @pytest.mark.parametrize(
        ("environment", "platform", "expected"),
        [
            ({"DISPLAY": ":0"}, "linux", True),
            ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
            ({"DISPLAY": ""}, "linux", False),
            ({}, "linux", False),
            ({}, "darwin", True),
            ({"SSH_CONNECTION": "1"}, "darwin", False),
        ],
    )
    def test_screens(self, environment: dict[str, str], platform: str, expected: bool) -> None:
        assert pictures.has_display(environment, platform) == expected


class TestPictures:
    def test_what_is_drawn(self, writing: Writing, pretended: None, tmp_path: Path) -> None:
        assert writing.output(",plot sin 0 1 derivative out.pdf") == "; written: out.pdf\n"
        text = (tmp_path / "out.pdf").read_text()
        assert "[('sin', 240, ''), ('sin ′', 240, ''), ('legend', 0, '')]" in text

    def test_the_steps_of_a_way_are_marked(self, writing: Writing, pretended: None, tmp_path: Path) -> None:
        writing.output(",plot '((0 . 1) (2 . 0) (1 . 0.5)) way.png", ",plot '(3 1 2) sequence.png")
        assert ", 3, '.')" in (tmp_path / "way.png").read_text()
        assert ", 3, '')" in (tmp_path / "sequence.png").read_text()
        writing.output(",plot '(3 1 2) dots dots.png")
        assert ", 3, '. alone')" in (tmp_path / "dots.png").read_text()

    def test_inline_where_the_terminal_cannot(self, writing: Writing, pretended: None) -> None:
        assert "not known to show pictures" in writing.output(",plot sin inline")

    @pytest.mark.filterwarnings("default")
    def test_by_matplotlib_itself(self) -> None:
        curves = [Curve("a", [(0.0, 1.0), (1.0, 2.0), (0.5, 1.5)]), Curve("$broken_{", [(0.0, 1.0)])]
        assert pictures.as_png(curves[:1]).startswith(b"\x89PNG\r\n")


def plotting(**environment: str) -> Person:
    return Person(
        columns=80, PYTHONPATH=os.pathsep.join([PRETENDED, str(Path(PRETENDED).parents[2])]), **environment
    )


class TestOnATerminal:
    @pytest.mark.parametrize(
        ("environment", "expected"),
        [
            ({"TERM": "xterm-kitty"}, "\x1b_Gf=100,a=T,q=2,m=1;"),
            ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]1337;File=inline=1;"),
            ({"TERM_PROGRAM": "iTerm.app", "DISPLAY": ":0"}, "\x1b]1337;File=inline=1;"),
            ({"TERM_PROGRAM": "iTerm.app", "VLAD_PLOT": "text"}, "└──"),
            ({"TMUX": "/tmp/tmux", "KITTY_WINDOW_ID": "1"}, "└──"),
            ({}, "└──"),
            ({"TERM": "dumb", "KITTY_WINDOW_ID": "1"}, "└──"),
        ],
    )
    def test_what_is_chosen(self, environment: dict[str, str], expected: str) -> None:
        with plotting(**environment) as person:
            person.asks(1)
            person.line(",plot sin 0 6")
            person.sees("\n1>")
            found = [kind for kind in ("\x1b_G", "\x1b]1337", "└──") if kind in person.raw]
            assert len(found) == 1 and expected in person.raw
            person.says("(+ 1 2)", "\n3\n")

    def test_the_picture_arrives_whole(self) -> None:
        with plotting(TERM="xterm-kitty") as person:
            person.asks(1)
            person.says(",plot '(3 1 4)", "\n1>")
            text = b64decode("".join(re.findall(r"\x1b_G[^;]*;([^\x1b]*)\x1b\\", person.raw))).decode()
            assert text.startswith("picture of [(\"'(3 1 4)\", 3, '')") and text.count("picture") == 100

    def test_a_window(self, tmp_path: Path) -> None:
        shown = tmp_path / "shown"
        with plotting(DISPLAY=":0", SHOWN=str(shown)) as person:
            person.asks(1)
            person.says(",plot sin", "; drawn in a window")
            number, _, lines = shown.read_text().partition(" ")
            assert lines == "[('sin', 240, ''), ('legend', 0, '')]"
            person.asks(1)
            person.interrupt()  # applies to the prompt alone
            person.says("(+ 1 2)", "\n3\n")
            os.kill(int(number), 0)
            person.asks(2)
            person.type("\x04")
            assert person.leaves() == 0
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)

    def test_a_window_ends_with_a_prompt_that_is_killed(self, tmp_path: Path) -> None:
        shown = tmp_path / "shown"
        with plotting(DISPLAY=":0", SHOWN=str(shown)) as person:
            person.asks(1)
            person.says(",plot sin", "; drawn in a window")
        number = int(shown.read_text().partition(" ")[0])
        for _ in range(200):
            if (
                not Path(f"/proc/{number}/cmdline").exists()
                or not Path(f"/proc/{number}/cmdline").read_bytes()
            ):
                break
            time.sleep(0.1)  # a process ends when it ends
        else:
            raise AssertionError("the window is still there")

    @pytest.mark.parametrize(
        ("display", "why"), [(":nobody", "couldn't connect to display"), (":agg", "none of Qt, Tk")]
    )
    def test_where_there_can_be_no_window(self, tmp_path: Path, display: str, why: str) -> None:
        with plotting(DISPLAY=display, SHOWN=str(tmp_path / "shown")) as person:
            person.asks(1)
            person.says(",plot sin", "└──")
            person.sees("; no window: ")
            person.sees(why)
            person.asks(1)
            person.says(",plot sin window", "Error: Matplotlib cannot open a window")
            person.sees(why)
