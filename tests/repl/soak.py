"""Random keys, and random forms, at the prompt: it must neither end nor show anything of Python. A script:

python tests/repl/soak.py [KEYS] [FORMS] [SEED]
"""

from __future__ import annotations

import io
import os
import random
import signal
import sys
import tempfile
from types import FrameType

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from vlad.repl import commands
from vlad.repl.history import HistoryFile
from vlad.repl.interrupts import Interrupts
from vlad.repl.prompt import run_prompt
from vlad.repl.shell import Leave, Shell
from vlad.repl.terminal import Terminal

from vlad import Limits, Session

WORDS = [
    "(", ")", "(", ")", " ", " ", "\r", "'", '"', "#[", "]", "[", "1", "2", "x", "f", "car ",
    "(define ", "(lambda (x) ", "(let ((x 1)) ", "sin ", "gradient ", "map ", "iota ", "J ", "; ",
    "#|", "|#", "#;", "`", ",", ",@", ".", "|", "\\", "#t", "λ", "é", "漢", "🙂", "\u200b", "_", "_1",
    "#:x ", ",help ", ",doc ", ",core ", ",plot ", ",time ", ",count ", ",types ", ",names\r",
    ",tier ", ",format ",
]  # fmt: skip
CONTROLS = [
    *[chr(code) for code in range(1, 32) if code not in (4, 26)],  # but Ctrl-D, which leaves, and Ctrl-Z, which suspends
    "\x7f", "\t", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[H", "\x1b[F", "\x1b[3~", "\x1b[5~",
    "\x1b[6~", "\x1b[1;5C", "\x1b[1;5D", "\x1bOP", "\x1b[200~(a\nb) c\x1b[201~", "\x12", "\x13",
    "\x1b(", "\x1b)", "\x1b}", "\x1bs", "\x1br", "\x1bq", "\x1b\x06", "\x1b\x02", "\x1b\x15",
    "\x1b\x0b", "\x1by", "\x1bt", "\x1bd", "\x1bu", "\x1b.", "\x1b#", "\x1b3", "\x1b-", "\x1b<",
    "\x1b>", "\x18)", "\x18q", "\x18\x18", "\x16", "dd", "yy", "p", "cw", "ci(", "v", "V", "G",
    "gg", "3", "%", "/a\r", "u", "q", "@",
]  # fmt: skip
PATIENCE = 120  # seconds for two thousand keys, which take two on a machine that has time
ASKING = (
    "shell",
    "edit",
    "save",
    "load",
    "reload",
    "quit",
    "keys",
    "profile",
    "c",
)  # what reaches outside, or takes long


def some_keys(source: random.Random, count: int) -> str:
    """About `count` keys: words, now and then a control key."""
    return "".join([source.choice(WORDS if source.random() < 0.6 else CONTROLS) for _ in range(count)])


def confine(shell: Shell) -> None:
    """Disables commands with external effects; sets limits for all evaluations."""
    for name in ASKING:
        commands.COMMANDS.pop(name, None)
    os.environ["EDITOR"] = os.environ["VISUAL"] = "true"
    make = shell.make_session
    limits = Limits(seconds=0.5, memory=300, depth=2000, output=10_000)

    def confined(write: object) -> Session:
        session = make(write)  # type: ignore[arg-type]
        session.capabilities = frozenset()
        return session

    shell.make_session = confined
    shell.start()
    shell.limits = limits


class Stuck(BaseException):
    """The prompt takes no key any more."""


def give_up(number: int, frame: FrameType | None) -> None:
    raise Stuck


def survives(shell: Shell, mode: str, keys: str) -> bool:
    """Does the prompt, after all these keys, still evaluate? It is left by Ctrl-D at an empty line, as a person would."""
    kept = dict(commands.COMMANDS)
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    shell.keys = mode
    try:
        confine(shell)
        leave = "\x1b" if mode == "vi" else ""
        ending = "\x07\x03" * 3 + leave + "\x03" * 3
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text(keys + ending + "\x03(* 6 7)\r" + "\x03\x04")
            run_prompt(shell, pipe, DummyOutput(), HistoryFile(""))
    except Stuck:
        return False
    finally:
        signal.alarm(0)
        commands.COMMANDS.update(kept)
    return "\n42\n" in "\n" + shell.terminal.stream.getvalue()  # type: ignore[attr-defined]


def some_form(source: random.Random, depth: int = 0) -> str:
    """A random form, most often wrong in one way or another."""
    if depth > 5 or source.random() < 0.3:
        return source.choice(
            [
                "1",
                "2.5",
                "x",
                "'a",
                "'()",
                '"s"',
                "#t",
                "car",
                "sin",
                "+",
                "map",
                "J",
                "_",
                "#[1 2]",
                "gradient",
            ]
        )
    parts = [some_form(source, depth + 1) for _ in range(source.randrange(1, 5))]
    head = source.choice(
        [
            "",
            "",
            "lambda (x) ",
            "let ((x 1)) ",
            "if ",
            "define x ",
            "define (f x) ",
            "cond ",
            "* ",
            "map ",
            "gradient ",
        ]
    )
    text = f"({head}{' '.join(parts)})"
    return text if source.random() < 0.97 else text[: source.randrange(len(text))]


def new_shell() -> Shell:
    terminal = Terminal(io.StringIO())
    terminal.columns = 80
    return Shell(lambda write: Session(tier="evaluate", write=write), terminal, Interrupts())


def main() -> None:
    count, forms, seed = [int(word) for word in (*sys.argv[1:], "100000", "10000", "1")[:3]]
    source = random.Random(seed)
    os.chdir(tempfile.mkdtemp())
    for begun in range(0, count, 2000):
        shell = new_shell()
        keys = some_keys(source, 2000)
        assert survives(shell, source.choice(["emacs", "vi"]), keys), repr(keys)
        assert "mistake in vlad" not in shell.terminal.stream.getvalue(), keys  # type: ignore[attr-defined]
        print(f"{begun + 2000} keys", flush=True)
    shell = new_shell()
    confine(shell)
    for number in range(forms):
        text = some_form(source)
        try:
            commands.enter(shell, text)
        except Leave:
            raise AssertionError(text) from None
        shown = shell.terminal.stream.getvalue()  # type: ignore[attr-defined]
        assert "mistake in vlad" not in shown and "Traceback" not in shown, (text, shown)
        shell.terminal.stream.truncate(0)
        shell.terminal.stream.seek(0)
        if number % 1000 == 999:
            print(f"{number + 1} forms", flush=True)


if __name__ == "__main__":
    main()
