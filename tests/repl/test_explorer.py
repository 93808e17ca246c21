"""The page of `vlad explore`: what it contains, and in a browser, where one is installed, what it does."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import command
from vlad.repl.explorer import explore

import vlad

PROGRAM = """\
; the distance of a point from a curve
(define (curve t) (* t (sin t)))

(define (distance x y)
  (let* ((dx (- x 1))
         (dy (- y (curve x))))
    (sqrt (+ (* dx dx) (* dy dy)))))

(display "this is not run <b>")
((gradient distance) 2 3)
"""
GRADIENT = [0.5872987822790777, 0.7632749325811612]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorer")
    (folder / "p.vlad").write_text(PROGRAM, encoding="utf-8")
    done = command("explore", "p.vlad", "--with", "2 3", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "p.html\n", "")
    return folder / "p.html"


def data_of(page: Path) -> dict[str, Any]:
    text = page.read_text(encoding="utf-8")
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found.group(1))
    return data


def test_panes_have_places_in_the_program(page: Path) -> None:
    """Every part of a pane is what became of the text at its place."""
    data = data_of(page)
    panes = {pane["title"]: pane for pane in data["panes"]}
    assert [*panes] == ["Program", "Core", "J", "j*", "Types", "C"]
    assert panes["Program"]["text"] == PROGRAM
    found = {
        title: {(pane["text"][start:end], PROGRAM[first:last]) for start, end, first, last in pane["parts"]}
        for title, pane in panes.items()
    }
    assert ("(- x 1)", "(- x 1)") in found["Core"] and ("(* dx dx)", "(* dx dx)") in found["Core"]
    assert ("(curve x)", "(curve x)") in found["Core"]
    assert {("(- x 1)", "(- x 1)"), ("(negate t.tangent)", "(- y (curve x))")} <= found["j*"]
    assert ("(half-over-root t.3)", "(sqrt (+ (* dx dx) (* dy dy)))") in found["J"]
    assert ("dx : real", "(- x 1)") in found["Types"]
    assert "distance : (reverse real) (reverse real) -> (reverse real)" in panes["Types"]["text"]
    assert "double" in panes["C"]["text"] and "sqrt(" in panes["C"]["text"]
    assert {"\x01", "\x02"}.isdisjoint("".join([pane["text"] for pane in panes.values()]))
    for (
        pane
    ) in panes.values():  # as the page needs it: of two parts, one contains the other, or they are apart
        parts = sorted([(start, -end) for start, end, _, _ in pane["parts"]])
        open_: list[int] = []
        for start, end in parts:
            while open_ and open_[-1] <= start:
                open_.pop()
            assert not open_ or -end <= open_[-1]
            open_.append(-end)


def test_operations_of_the_gradient(page: Path) -> None:
    steps = data_of(page)["steps"]
    values = {one["variable"]: float(one["value"]) for one in steps}
    assert [values["x.sensitivity"], values["dy.sensitivity"]] == GRADIENT
    assert [one["variable"] for one in steps if one["computes"] == "argument"] == ["x", "y"]
    kinds = [one["computes"] for one in steps]
    assert kinds == sorted(kinds, key=["argument", "primal", "sensitivity"].index)
    for number, one in enumerate(steps):
        assert all(isinstance(operand, str) or operand < number for operand in one["operands"])
    (root,) = [one for one in steps if one["name"] == "sqrt"]
    (total,) = root["operands"]
    assert steps[total]["name"] == "+" and [steps[one]["name"] for one in steps[total]["operands"]] == [
        "*",
        "*",
    ]
    counts = {line: (primal, sensitivity) for line, primal, sensitivity in data_of(page)["counts"]}
    assert counts[2][0] == 2 and counts[7][0] == 4 and counts[5][0] == counts[6][0] == 1
    assert sum(sum(both) for both in counts.values()) == len(steps) - 2


def test_a_page_without_arguments_and_its_options(page: Path) -> None:
    folder = page.parent
    done = command("explore", "p.vlad", "curve", "-o", "c.html", cwd=folder)
    assert done.stdout == "c.html\n"
    data = data_of(folder / "c.html")
    assert data["title"] == "curve in p.vlad" and data["steps"] == []
    assert "(sin t)" in data["panes"][1]["text"] and "distance" not in data["panes"][1]["text"]
    (folder / "t.vlad").write_text("(define (loss v) (sum (square v)))\n")
    assert command("explore", "t.vlad", "--with", "#[3 4]", cwd=folder).stdout == "t.html\n"
    steps = data_of(folder / "t.html")["steps"]  # also those that the library's `square` makes
    assert [(one["name"], one["value"]) for one in steps] == [
        ("", "#[3 4]"),
        ("*", "#[9 16]"),
        ("sum", "25"),
        ("spread", "#[1 1]"),
        ("*", "#[3 4]"),
        ("accumulate", "#[6 8]"),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["p.vlad", "nope"], "No procedure of that name in p.vlad: nope"),
        (["p.vlad", "crve"], "did you mean `curve`?"),
        (["p.vlad", "cur"], "did you mean `curve`?"),
        (["p.vlad", "curve", "--with", "1 2"], "curve takes 1 argument and --with gives 2"),
        (["p.vlad", "curve", "distance"], "`vlad explore` takes a file and a procedure; too many: distance"),
        (["none.vlad"], "none.vlad"),
        (["p.vlad", "-o", "no/such/folder.html"], "Cannot write: no/such/folder.html"),
        (["p.vlad", "-o", "p.vlad"], "it is another file than a page of `vlad explore`"),
    ],
)
def test_errors(page: Path, words: list[str], message: str) -> None:
    done = command("explore", *words, cwd=page.parent)
    assert done.returncode and message in done.stderr and "Traceback" not in done.stderr


def test_an_error_of_arguments_is_placed_there(tmp_path: Path) -> None:
    (tmp_path / "p.vlad").write_text("(define (f l) (list-sum l))\n")
    with pytest.raises(vlad.VladError, match="tables, not a") as caught:
        explore(vlad.Session(tier="evaluate"), str(tmp_path / "p.vlad"), "f", "'a", str(tmp_path / "p.html"))
    assert str(caught.value.span) == "--with:1:1"


# What a reader does, and what the page then shows.
SCRIPT = """
<script>
const report = {};
const title = (one) => one.closest("section").querySelector("h2").firstChild.data;
const lit = () => [...document.querySelectorAll("pre .lit")].map((one) => [title(one), one.textContent]);
const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
report.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
report.sections = document.querySelectorAll("section").length;
report.end = document.getElementById("said").textContent;
press("Home");
report.first = document.getElementById("said").textContent;
report.later = document.querySelectorAll("g.later").length;
press("ArrowRight"); press("ArrowRight");
report.third = document.getElementById("said").textContent;
report.stepped = lit();
press("ArrowLeft");
report.second = document.getElementById("said").textContent;
const pane = document.querySelectorAll("pre")[1];
const part = [...pane.querySelectorAll("[data-first]")].find((one) => one.textContent === "(* dy dy)");
press("Home");
part.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
report.hovered = lit();
part.click();
pane.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
report.kept = lit();
report.graph = document.querySelectorAll("svg g").length;
report.scrolled = window.scrollY;
document.body.setAttribute("data-report", JSON.stringify(report));
</script>
"""


def test_only_what_the_page_needs_is_evaluated(tmp_path: Path) -> None:
    program = (
        '(define k 2)\n(define (f x) (* k x))\n(define trained (begin (display "trained ") 3))\n(define more (+ trained 1))\n'
        "(define ((scaled w) x) (* w x))\n(define g (scaled more))\n(define (h x) (+ x (g x)))\n"
    )
    (tmp_path / "p.vlad").write_text(program, encoding="utf-8")
    for words, printed in (
        (["f", "--with", "5"], "p-f.html"),
        (["f", "--with", "trained"], "trained p-f.html"),
        (["g"], "trained p-g.html"),
        ([], "trained p.html"),
    ):
        done = command("explore", "p.vlad", *words, cwd=tmp_path)
        assert (done.stdout, done.stderr) == (f"{printed}\n", "")


@pytest.mark.parametrize("width", [375, 1280])
def test_in_a_browser(page: Path, width: int) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium is installed")
    tried = page.with_name(f"tried{width}.html")
    tried.write_text(
        page.read_text(encoding="utf-8").replace("</body>", SCRIPT + "</body>"), encoding="utf-8"
    )
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent / 'profile'}",
            f"--window-size={width},900", "--dump-dom", tried.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = re.search(r'data-report="([^"]*)"', done.stdout)
    assert found is not None, done.stdout[-2000:]
    report = json.loads(html.unescape(found.group(1)))
    steps = data_of(page)["steps"]
    assert report["wide"] == 0 and report["scrolled"] == 0
    assert report["sections"] == 8 and report["graph"] == len(steps)
    assert report["end"].startswith(
        f"{len(steps)} of {len(steps)}, sensitivity: x.sensitivity = (accumulate "
    )
    assert report["first"].startswith("1 of ") and report["first"].endswith("argument: x = argument = 2")
    assert report["later"] == len(steps) - 1
    assert "primal: dx = (- x 1) = 1" in report["third"] and "argument: y" in report["second"]
    for title in ("Program", "Core", "J", "j*"):
        assert [title, "(- x 1)"] in report["stepped"]
        assert [title, "(* dy dy)"] in report["hovered"]
    assert ["J", "(accumulate product.1 product.1)"] in report["hovered"] or ["J", "(* part.1 dy)"] in report[
        "hovered"
    ]
    assert report["kept"] == report["hovered"]
