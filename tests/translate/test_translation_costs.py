"""What translating costs, in Python calls: `benchmarks/translating.py` measures the time of the same."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import translating


def test_the_texts_have_as_many_lines_as_they_should() -> None:
    lines = translating.TEN_LINES.partition("def f")[2].strip().split("\n")
    assert len(lines) == 10
    assert len(translating.long_text().partition("def f")[2].strip().split("\n")) == 200


def test_the_first_gradient_of_a_function_takes_few_calls() -> None:
    assert translating.first_gradient("calls") < 102_000


def test_a_function_of_200_lines_is_translated_in_few_calls() -> None:
    assert translating.translation("calls") < 98_000
