"""Tests of the derivative tests: their examples really have that many shapes, with all features of those that they are among."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from slopes import EXAMPLES, LAYOUTS, MOST, a_shape, at_shapes, examples, features, seed_of


def kept(drawn: Any) -> Any:
    return drawn


def none(drawn: Any) -> set[Any]:
    return set()


def test_no_two_examples_are_of_the_same_shapes() -> None:
    found: list[Any] = []

    @at_shapes(a_shape)
    def collect(drawn: Any, seed: int) -> None:
        found.append((drawn, seed))

    collect()
    assert len({shape for shape, _ in found}) == EXAMPLES
    assert [seed for _, seed in found] == [*range(EXAMPLES)]


@pytest.mark.parametrize("count", [8, 17, MOST])
def test_few_examples_have_the_features_of_many(count: int) -> None:
    for seed in map(str, range(50)):
        found = examples(a_shape, count, kept, none, seed)
        assert len(found) == len({*found}) == count
        assert {rank for shape in found for rank in features(shape)} == {
            *[f"{rank} axes" for rank in range(5)],
            "length 0",
            "length 1",
        }
    pairs = examples(lambda r: (a_shape(r), a_shape(r)), 8, kept, none, "")
    assert {rank for pair in pairs for rank in features(pair)} == {
        (place, feature) for place in range(2) for shape in found for feature in features(shape)
    }


def test_kinds_that_are_asked_for_occur() -> None:
    found = examples(
        lambda r: (a_shape(r), r.randrange(12)), 17, lambda drawn: drawn[0], lambda drawn: {drawn[1]}, ""
    )
    assert {kind for _, kind in found} == {*range(12)}


def test_examples_are_the_same_in_every_run() -> None:
    assert examples(a_shape, 17, kept, none, "sin") == examples(a_shape, 17, kept, none, "sin")
    assert examples(a_shape, 17, kept, none, "sin") != examples(a_shape, 17, kept, none, "cos")


def test_operands_lie_in_memory_in_all_combinations_of_ways() -> None:
    many = len(LAYOUTS)
    pairs = Counter((seed % many, seed_of(seed, 1) % many) for seed in range(many * many))
    assert len(pairs) == many * many
    assert (
        {seed % many for seed in range(8)} == {seed_of(seed, 1) % many for seed in range(8)} == {*range(many)}
    )


@pytest.mark.parametrize("few", [[()], [(), (1,), (2,)]])
def test_too_few_shapes_are_noticed(few: Any) -> None:
    @at_shapes(lambda r: r.choice(few), count=4)
    def collect(drawn: Any, seed: int) -> None:
        pass

    with pytest.raises(AssertionError, match=f"there are {len(few)} different shapes"):
        collect()


def test_a_failure_states_the_example() -> None:
    def draw(r: Random, least: int) -> int:
        return r.randrange(least, 1000)

    @at_shapes(draw, count=4)
    def fail(least: int, drawn: int, seed: int) -> None:
        assert drawn >= least
        if seed == 3:
            raise ValueError(drawn)

    with pytest.raises(ValueError) as caught:
        fail(least=7)
    assert caught.value.__notes__ == [f"This is the example {caught.value.args[0]}, with seed 3."]
