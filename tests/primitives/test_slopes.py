"""Tests of the derivative tests: their examples really have that many shapes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.errors import FailedHealthCheck
from slopes import EXAMPLES, at_shapes, only_once, seeds, shapes


def test_no_two_examples_are_of_the_same_shapes() -> None:
    found: list[Any] = []

    @at_shapes(shape=shapes(), seed=seeds)
    def collect(shape: Any, seed: int) -> None:
        only_once(shape)
        found.append(shape)

    collect()
    assert len(found) == len({*found}) == EXAMPLES
    assert found[0] == ()


@pytest.mark.parametrize("few", [[()], [(), (1,), (2,)]])
def test_too_few_shapes_are_noticed(few: Any) -> None:
    @at_shapes(shape=st.sampled_from(few), seed=seeds)
    def collect(shape: Any, seed: int) -> None:
        only_once(shape)

    with pytest.raises((AssertionError, FailedHealthCheck)):
        collect()


def test_missing_shapes_are_detected() -> None:
    @at_shapes(shape=shapes(), seed=seeds)
    def forget(shape: Any, seed: int) -> None:
        pass

    with pytest.raises(AssertionError, match="at 0 different shapes"):
        forget()


def test_an_example_that_fails_is_made_simpler() -> None:
    """Of the shapes of examples that did not fail, too."""
    failed: list[Any] = []

    @at_shapes(shape=st.integers(0, 1000), seed=st.integers(0, 1000))
    def fail(shape: int, seed: int) -> None:
        only_once(shape)
        if shape >= 10 and seed >= 7:
            failed.append((shape, seed))
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert failed[-1] == (10, 7)
