"""Formats of numbers in f-strings: the texts are Python's, for random numbers, on both tiers."""

from __future__ import annotations

import math
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
import python_texts
from random_functions import outcome

SPECIAL = (
    0.0,
    -0.0,
    0.5,
    2.5,
    0.125,
    1e-5,
    999999.5,
    9.9995,
    1e16,
    5e-324,
    1.7e308,
    math.inf,
    -math.inf,
    math.nan,
)
KINDS = "feg%FEG"


def numbers(chance: random.Random) -> list[float]:
    sizes = [chance.choice((-1, 1)) * math.exp(chance.uniform(-40, 40)) for _ in range(12)]
    halves = [chance.randint(-(10**7), 10**7) + 0.5 for _ in range(4)]
    return [*SPECIAL, *sizes, *halves, *[chance.uniform(-1e3, 1e3) for _ in range(4)]]


def some_format(chance: random.Random) -> str:
    place = chance.choice(("", "<", ">", "^", "=", "*<", "*^", "0>", "x=")) + chance.choice(
        ("", "", "+", " ", "-")
    )
    zeros, width = chance.choice(("", "0")), chance.choice(("", "8", "12", "20"))
    group = "" if zeros else chance.choice(("", "", ",", "_"))
    return (
        place
        + zeros
        + width
        + group
        + chance.choice(("", ".0", ".1", ".3", ".7", ".12", ".17"))
        + chance.choice(KINDS)
    )


def function_of(formats: list[str]) -> Any:
    items = ", ".join([f'f"{{x:{one}}}"' for one in formats])
    return python_texts.function_of(f"def f(x):\n    return [{items}]\n")


@pytest.mark.parametrize(("tier", "count"), [("evaluate", 120), ("compile", 12)])
def test_formats_of_reals_are_pythons(tier: str, count: int) -> None:
    chance = random.Random(count)
    formats = [some_format(chance) for _ in range(count)]
    f = function_of(formats)
    translated = vlad.Session(tier=tier).function(f)
    for x in numbers(chance):
        for form, expected, found in zip(formats, f(x), translated(x), strict=True):
            assert expected == found, (form, x)


def test_formats_of_whole_numbers_are_pythons() -> None:
    formats = "d 5d +d 05d ,d >12_d b #b 08b #010x X #X o *^#12o 5 <7 + , 07 e g".split()  # noqa: SIM905
    f = function_of(formats)
    translated = vlad.Session(tier="evaluate").function(f)
    for x in (0, 1, -1, 7, 255, -4096, 123456, 1234567, 2**53 - 1, True):
        assert translated(x) == f(x)


def test_widths_and_digits_may_be_computed() -> None:
    text = "{x:>{w}.{d}f}|{x:{w}}|{d:^{w + 1}}|{x!r:<{w}}|{'ab':*^{w}}|{x:}"
    f = python_texts.function_of(f'def f(x, w, d):\n    return f"{text}"\n')
    translated = vlad.Session(tier="evaluate").function(f)
    for x, w, d in ((3.25, 12, 3), (-1.5e-7, 20, 0), (2.5e30, 3, 8)):
        assert translated(x, w, d) == f(x, w, d)
    with pytest.raises(TypeError):
        translated(1.0, 2.5, 3)
    evaluating = vlad.Session(tier="evaluate")
    given = [
        ("abc", 5, 2),
        ("abc", -5, 2),
        ("abc", 5, -1),
        ("a", 0, 120),
        (0.1, -8, 3),
        (0.1, 8, -2),
        (0.1, 0, 99),
    ]
    for text in (
        "{x:>{w}.{d}s}",
        "{x:{w}}|{w:{w}}|{x:>{w}}",
        "{x:.{d}f}|{x:{w}.{d}e}",
        "{x:0{w}}",
        "{x:+{w}.3f}",
    ):
        f = python_texts.function_of(f'def f(x, w, d):\n    return f"{text}"\n')
        expected = [outcome(partial(f, *one)) for one in given]
        assert [outcome(partial(evaluating.function(f), *one)) for one in given] == expected
    translated = evaluating.function(python_texts.function_of('def f(x, d):\n    return f"{x:.{d}e}"\n'))
    with pytest.raises(ValueError, match="up to 99 digits"):
        translated(0.1, 100)


@pytest.mark.parametrize("form", ["d", "x", "s"])
def test_what_a_value_has_no_format_of(form: str) -> None:
    f = function_of([form])
    for x in (1.5, "a", None):
        if form == "s" and x == "a":
            continue
        with pytest.raises((ValueError, TypeError)):
            f(x)
        with pytest.raises((ValueError, TypeError)):
            vlad.function(f)(x)
