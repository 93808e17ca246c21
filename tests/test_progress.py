"""Training that one watches: the line of its progress, its early end, its checkpoints, and its records."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from vlad.repl.notebook import Notebook
from vlad.repl.terminal import Terminal

import vlad
from vlad.command import _line_of_progress
from vlad.command_line import parse
from vlad.tools.progress import Line, Progress, duration

pytestmark = pytest.mark.any_compiler

SQUARE = "(optimize (sgd 1/4) square 8 {}{})"


def watched(tier: str) -> tuple[vlad.Session, list[tuple[float, ...]], list[str]]:
    seen: list[tuple[float, ...]] = []
    written: list[str] = []
    session = vlad.Session(tier=tier, write=written.append)

    def progress(*numbers: float) -> int:
        seen.append(numbers)
        return 2

    session.watch(progress)
    return session, seen, written


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_loops_show_their_progress(tier: str) -> None:
    """Compiled code skips as many steps as the function returns, and begins anew with each loop; results stay the same."""
    session, seen, written = watched(tier)
    session.tiers.notify = lambda notice: written.append(str(notice))
    every = 1 if tier == "evaluate" else 3
    assert session.eval(SQUARE.format(7, "")) == 8 / 2**7
    assert seen == [(step, 7, 64 / 4 ** (step - 1)) for step in range(1, 8, every)]
    seen.clear()
    plain = SQUARE.format(7, " #:progress #f")
    assert session.eval(plain) == 8 / 2**7
    assert session.eval(f"((lambda (optimize) {SQUARE.format(7, '')}) (lambda (a b c d) d))") == 7
    assert seen == []
    slope = f"((gradient (lambda (start) {SQUARE.replace('8', 'start').format(3, '')})) 8)"
    assert session.eval(slope) == 0.125
    assert seen and all(total == 3 for _, total, _ in seen)
    seen.clear()
    for search in ("lbfgs", "newton", "gradient-descent", "conjugate-gradients"):
        place = f"((derivative (lambda (a) ({search} (lambda (x) (square (- x (* a a)))) 0 1e-9{{}}))) 3)"
        if tier == "compile":  # it is the same text
            break
        assert session.eval(place.format("")) == pytest.approx(session.eval(place.format(" #:progress #f")))
        assert seen[-1][1] == 0
        seen.clear()
    assert (
        session.eval("(lbfgs (lambda (x) (square (- x 3))) 0 1e-9 #:stop-when (lambda (step value) #t))") == 0
    )
    assert session.eval("(begin (show-progress 1 9 0.5) 3)") == 3
    assert seen[-1] == (1, 9, 0.5)
    assert written == []


def test_without_watchers_nothing_is_shown() -> None:
    session = vlad.Session(tier="compile")
    assert session.eval("(begin (show-progress 1 9 0.5) 3)") == 3
    with pytest.raises(vlad.VladError, match="show-progress"):
        session.eval("(show-progress 'a 9 0.5)")


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_text_of_progress() -> None:
    shown: list[str] = []
    clock = Clock()
    progress = Progress(shown.append)
    progress.clock = clock
    for step in range(1, 21):
        clock.now += 0.1
        skipped = progress(step, 1200, 0.25)
    assert skipped == 0 and shown[-1] == "step 19 of 1,200: 0.25, 10 steps/s, 1 min 58 s left"
    assert shown[0].startswith("step 13 of") and len(shown) == 3  # from the first second on
    clock.now += 60
    assert progress.text() == ""
    assert progress(1, 0, 0.5) == 0  # another loop
    clock.now += 2
    progress(2, 0, 0.125)
    assert progress.text() == "step 2: 0.125, 2.0 s/step"
    clock.now += 1e-3
    assert progress(1002, 0, 0.125) == 2000
    assert [duration(s) for s in (7.4, 200, 7500)] == ["7 s", "3 min 20 s", "2 h 5 min"]


def test_the_line_is_erased_before_output(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    line = Line(stream)
    line.show("step 1")
    line.write("a")
    line.show("step 2")  # not within a line of the program
    line.write("b\n")
    assert stream.getvalue() == "\r\x1b[Kstep 1\r\x1b[Kab\n"
    monkeypatch.setenv("TERM", "xterm")
    assert _line_of_progress(parse(["a.vlad"])) is None  # no terminal
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    assert _line_of_progress(parse(["a.vlad"])) is not None
    for words in (["--quiet", "a.vlad"], ["check", "a.vlad"]):
        assert _line_of_progress(parse(words)) is None


def test_notebooks_erase_progress_before_other_output() -> None:
    events: list[object] = []

    def session_of(write: Callable[[str], object]) -> vlad.Session:
        return vlad.Session(
            tier="evaluate", write=write, read=lambda: notebook.show_progress("step 2") or "4"
        )

    terminal = Terminal(io.StringIO())
    notebook = Notebook(session_of, terminal, lambda *shown: None, lambda *shown: events.append(shown))
    begun = [("step 2", True), ("step 2", False)]
    assert notebook.execute("(define sum (+ (read-real) (read-real)))", 1) is None
    assert events == [*begun, ("", False)]  # at the end
    events.clear()
    notebook.execute("(begin (write (+ (read-real) (read-real))) (define next (read-real)))", 2)
    assert events == [*begun, ("", False)]  # before the output, and nothing behind it
    assert notebook.progress is not None and notebook.session.machine.progress is notebook.progress


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_training_ends_early(tier: str) -> None:
    session = vlad.Session(tier=tier)
    assert session.eval(SQUARE.format(1000, " #:stop-when (lambda (step value) (< value 5))")) == 2
    assert session.eval(SQUARE.format(1000, " #:stop-when (lambda (step value) (= step 3))")) == 2
    # no value is below the first
    assert session.eval("(optimize (sgd -1/4) square 8 1000 #:patience 2)") == 18
    epochs = "(car (train-epochs (sgd 0) mean-squared-error '(5 . ()) #[1 2 3 4 5] 2 (random-key 1) 9{}))"
    assert session.eval(epochs.format(" #:stop-when (lambda (step value) (= step 8))")) == 5
    for wrong in ("#:patience 0", "#:patience 1.5", "#:stop-when 3"):
        with pytest.raises(vlad.VladError, match="#:stop-when takes a procedure"):
            session.eval(SQUARE.format(3, f" {wrong}"))


TRAINING = """
(define key (random-key 1))
(define data (cons (normal key '(10 2)) #[1 0 1 0 1 0 1 0 1 0]))
(define (loss net x y) (mean (square (- (sum (net x) #:axis 1) y))))
(define start (let ((w #[[0.5 1] [2 3]])) (lambda (x) (tanh (matmul x w)))))
(define (trained times) (train-epochs (adam 0.05) loss (cons start '()) data 4 key times{}))
(define (saved (cons net state)) (cons (net #[[1 2]]) (length state)))
"""
SAVED = ' #:checkpoint "run.saved" #:checkpoint-every 2'


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_training_continues_from_a_checkpoint(
    tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With equal bits, in another session, in the middle of an epoch, although it was interrupted between checkpoints."""
    monkeypatch.chdir(tmp_path)

    def session(options: str, function: Callable[..., object] | None = None) -> vlad.Session:
        made = vlad.Session(tier=tier)
        made.tiers.notify = lambda notice: None
        made["function"] = function
        made.eval(TRAINING.replace("{}", options))
        return made

    def ended(session: vlad.Session) -> str:
        session.eval("(define end (trained 4))")
        return vlad.dumps(session.eval("(saved end)"))

    whole = ended(session(""))

    def interrupt(step: float, value: float) -> None:
        if step == 5:
            raise ZeroDivisionError

    with pytest.raises(vlad.VladError, match="function interrupt failed"):
        session(f"{SAVED} #:report function", interrupt).eval("(trained 4)")
    seen: list[float] = []
    resumed = session(f"{SAVED} #:report function", lambda step, value: seen.append(step))
    assert ended(resumed) == whole
    assert seen == list(range(5, 13))
    assert ended(resumed) == whole and len(seen) == 8  # it is complete
    notices: list[vlad.VladError] = []
    resumed.machine.remark = notices.append
    with pytest.raises(vlad.VladError, match=r"longer training; .*so many steps: \(12 9\)"):
        resumed.eval("(trained 3)")
    assert [notice.message for notice in notices] == ["Training continues from run.saved, after step 12"]
    with pytest.raises(vlad.VladError, match="of parameters of another structure"):
        resumed.eval("(define start (let ((w #[[0.5 1 2]])) (lambda (x) (tanh (matmul x w)))))\n(trained 4)")
    with pytest.raises(vlad.VladError, match="has no derivative"):
        slope = SQUARE.replace("8", "a").format(3, SAVED.replace("run", "slope"))
        resumed.eval(f"((gradient (lambda (a) {slope})) 8)")


def test_files_of_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = vlad.Session(tier="evaluate")
    assert (
        session.eval('(begin (save-value "f" (let ((a 3)) (lambda (x) (* a x)))) ((load-value "f") 2))') == 6
    )
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    refused = {
        '(load-value "none")': "Cannot find: none",
        '(save-value "none/f" 3)': "Cannot write: none/f",
        SQUARE.format(3, ' #:checkpoint "f"'): "This file has no checkpoint",
        SQUARE.format(3, ' #:checkpoint 3'): "#:checkpoint takes the name of a file",
        SQUARE.format(3, SAVED.replace("2", "0")): "#:checkpoint takes the name of a file",
    }  # fmt: skip
    for text, message in refused.items():
        with pytest.raises(vlad.VladError, match=message):
            session.eval(text)
    session.eval(SQUARE.format(5, SAVED))
    with pytest.raises(vlad.VladError, match="of a longer training"):
        session.eval(SQUARE.format(4, SAVED))
    (tmp_path / "f").write_text("(vlad-saved 1 (")
    with pytest.raises(vlad.VladError, match="Cannot read: "):
        session.eval('(load-value "f")')
    confined = vlad.Session(tier="evaluate", capabilities=())
    for text in (SQUARE.format(3, SAVED), '(save-value "g" 3)', '(load-value "f")'):
        with pytest.raises(vlad.VladError, match="may not"):
            confined.eval(text)


def test_a_log_of_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, events = tmp_path / "run.csv", list[object]()
    session = vlad.Session(tier="evaluate")
    with vlad.TrainLog(path) as log:
        session["log"] = log
        session.eval(SQUARE.format(4, " #:report log #:every 2"))
        log(np.int64(5), np.float32(0.5))
        assert path.read_text().count("\n") == 4  # it can be watched
    assert [line.split(",")[:2] for line in path.read_text().splitlines()[1:]] == [
        ["2", "16.0"],
        ["4", "1.0"],
        ["5", "0.5"],
    ]
    with pytest.raises(vlad.VladError, match="is closed"):
        log(5, 1.0)
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(vlad.VladError, match="need the package tensorboardX") as missing:
        vlad.TrainLog(path, tensorboard=tmp_path / "runs")
    assert missing.value.code == "missing-package" and "pip install tensorboardX" in str(missing.value)
    writer = SimpleNamespace(
        add_scalar=lambda *scalar: events.append(scalar), close=lambda: events.append("closed")
    )
    monkeypatch.setitem(sys.modules, "tensorboardX", SimpleNamespace(SummaryWriter=lambda folder: writer))
    with vlad.TrainLog(path, append=True, tensorboard=tmp_path / "runs", tag="error") as log:
        session["optimize"](session.eval("(sgd 1/4)"), session.eval("square"), 8.0, 1.0, report=log)
    assert events[0] == ("error", 64.0, 1) and events[-1] == "closed"
    assert path.read_text().count("step,value") == 1 and path.read_text().count("\n") == 5
    with pytest.raises(vlad.VladError, match="Cannot write"):
        vlad.TrainLog(tmp_path / "none" / "run.csv")
