"""Mutated programs end in results or in language errors: never in a Python exception, never in a hang.

Sources are the programs of tests/language and examples; mutations swap, drop, double and replace tokens and characters.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from amounts import drawn

import vlad
from vlad.reader.lexer import tokens

ROOT = Path(__file__).parents[2]
COUNT = drawn(20_000)
PARTS = 20
SPARE = [
    "(", ")", "'", "1", "0", "-1", "1e308", "#t", "#f", "()", "'()", "x", "f", "car", "cdr", "cons", "list", "lambda", "let",
    "letrec", "if", "define", "*j", "*j-inverse", "j*", "bundle", "perturb", "unperturb", "primal", "tangent",
    "sensitize", "unsensitize", "zero", "plus", "+", "*", "-", "/", "sin", "sqrt", "<", "=", "pair?", "map", "fold",
    "gradient", "derivative", "quote", "`", ",", ",@", "...", ".", "#:key", "#[1 2]", '"text"', "let*", "cond", "else",
]  # fmt: skip


def sources() -> list[list[str]]:
    """Forms of programs, each as the texts of its tokens."""
    found = []
    paths = [
        *sorted((ROOT / "tests" / "language").rglob("*.vlad")),
        *sorted((ROOT / "stdlib").glob("*.vlad")),
    ]
    for path in paths:
        for block in path.read_text(encoding="utf-8").split("\n("):
            text = "(" + block.lstrip("(")
            if len(text) < 400:
                found.append([text[t.start : t.end] for t in tokens(text)])
    return found


def mutated(words: list[str], random_: random.Random) -> str:
    words = list(words)
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        at = random_.randrange(len(words))
        match random_.randrange(6):
            case 0:
                del words[at]
            case 1:
                words.insert(at, words[random_.randrange(len(words))])
            case 2:
                words[at] = random_.choice(SPARE)
            case 3:
                words.insert(at, " " + random_.choice(SPARE) + " ")
            case 4:
                other = random_.randrange(len(words))
                words[at], words[other] = words[other], words[at]
            case 5:
                word = words[at]
                cut = random_.randrange(len(word) + 1)
                words[at] = (
                    word[:cut]
                    + chr(random_.choice([0, 40, 41, 92, 124, 35, 955, random_.randrange(32, 127)]))
                    + word[cut:]
                )
        if not words:
            return ""
    return "".join(words)


# Where everything is compiled a tenth of them is done for each change: errors are worded by tier 0 in any case.
@pytest.mark.parametrize(
    "part", [pytest.param(n, marks=() if n % 10 == 0 else pytest.mark.slow_compiled) for n in range(PARTS)]
)
def test_mutated_programs(part: int) -> None:
    random_ = random.Random(part)
    programs = sources()
    limits = vlad.Limits(fuel=20_000, seconds=5, memory=3_000, depth=5_000)
    for number in range(COUNT // PARTS):
        if number % 50 == 0:
            session = vlad.Session(limits=limits, write=lambda text: None, read=lambda: "")
        text = mutated(random_.choice(programs), random_)
        try:
            session.run_text(text)
        except vlad.VladError as error:
            str(error)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n{text}") from error
