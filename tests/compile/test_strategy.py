"""What the compiler tries, and in which order: analysis/strategy.py is sent what each attempt has led to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vlad.compile.analysis.sizes import Sizes
from vlad.compile.analysis.strategy import Settled, Strategy, attempts, best, lengths
from vlad.compile.calling.pipeline import best_with_sizes
from vlad.compile.ir.refusals import CALL, Exhausted, NotWorthwhile, Repeating, Unbounded, Unsettled
from vlad.core.types import FROM_ALL, FROM_NOTHING, FROM_STRUCTURES, LONGEST_CHAIN
from vlad.data.errors import VladError

Outcome = Settled | Unbounded


def tried(*outcomes: Outcome, longest: int = LONGEST_CHAIN, leaves_out: bool = False) -> list[Strategy]:
    """The strategies of the attempts that lead to these outcomes; there is none after the last."""
    trying = attempts(longest, leaves_out)
    found = [next(trying)]
    for outcome in outcomes[:-1]:
        found.append(trying.send(outcome))
    with pytest.raises(StopIteration):
        trying.send(outcomes[-1])
    return found


def brief(strategy: Strategy) -> tuple[set[object], int, list[object]]:
    return set(strategy.unroll), strategy.zeros_distinct, [unbounded.part for unbounded in strategy.left_out]


def test_what_settles_at_once_is_tried_once() -> None:
    assert tried(Settled()) == [Strategy()]


def test_certain_calls_are_followed_where_types_do_not_settle() -> None:
    assert list(map(brief, tried(Unsettled("no"), Settled()))) == [(set(), 0, []), ({CALL}, 0, [])]
    assert len(tried(Unsettled("no"), Unsettled("no", for_number=True))) == 2  # once
    assert len(tried(Unbounded("a file is read"))) == 1  # unrolling would not help
    assert len(tried(Unsettled("no"), longest=LONGEST_CHAIN + 1)) == 1  # a long list that is taken apart


def test_then_known_lists_have_recursive_types() -> None:
    strategies = tried(Unsettled("no"), Unsettled("no"), Unsettled("no"))
    assert [(strategy.recursive, strategy.longest) for strategy in strategies] == [
        (False, LONGEST_CHAIN),
        (False, LONGEST_CHAIN),
        (True, 1),
    ]


def test_then_types_may_be_larger_where_they_repeated_their_parts() -> None:
    no, large = Unsettled("no"), Repeating("large")
    strategies = tried(no, large, no, Settled())
    assert strategies[3] == replace(strategies[1], repeating=True)
    strategies = tried(large, no, no, no)
    assert strategies[3] == replace(strategies[0], repeating=True)
    assert [one.repeating for one in tried(large, large, large, large)] == [False, False, False, True]
    assert not any(one.repeating for one in tried(large, Settled()))
    part = Repeating("large", part="first")
    assert [one.repeating for one in tried(part, part, part, Settled(), leaves_out=True)] == [
        False,
        False,
        True,
        False,
    ]


def test_zeros_stay_distinct_where_operands_may_not_fit() -> None:
    strategies = tried(Settled(FROM_STRUCTURES), Unsettled("no"), Settled(FROM_ALL), Settled())
    assert list(map(brief, strategies)) == [
        (set(), FROM_NOTHING, []),
        (set(), FROM_STRUCTURES, []),
        ({CALL}, FROM_STRUCTURES, []),
        (set(), FROM_ALL, []),
    ]


def test_steps_of_a_program_are_followed_one_more_at_a_time_and_left_out() -> None:
    first, second = Unsettled("no", part="first"), Unsettled("no", part="second")
    assert list(map(brief, tried(first, second, Settled()))) == [
        (set(), 0, []),
        ({"first"}, 0, []),
        ({"first", "second"}, 0, []),
    ]
    strategies = tried(first, first, Settled(FROM_STRUCTURES), first, first, second, second, leaves_out=True)
    assert list(map(brief, strategies)) == [
        (set(), FROM_NOTHING, []),
        ({"first"}, FROM_NOTHING, []),
        (set(), FROM_NOTHING, ["first"]),
        (set(), FROM_STRUCTURES, []),
        ({"first"}, FROM_STRUCTURES, []),
        (set(), FROM_STRUCTURES, ["first"]),
        ({"second"}, FROM_STRUCTURES, ["first"]),  # then no more is left out than without distinct zeros
    ]


def test_what_exhausts_the_analysis_is_not_tried_again() -> None:
    """Neither with other zeros kept distinct, nor for another variant of the same call."""
    tried: list[Strategy] = []

    def make(strategy: Strategy) -> tuple[Strategy, Settled]:
        tried.append(strategy)
        if strategy.unroll or strategy.recursive:
            return strategy, Settled(None if strategy.zeros_distinct else FROM_STRUCTURES)
        raise Exhausted("no")

    made = best(make)
    assert list(map(brief, tried)) == [(set(), 0, []), ({CALL}, 0, []), ({CALL}, 1, [])]
    tried.clear()
    assert best(make, exhausted=made.exhausted) == replace(made, zeros_distinct=FROM_STRUCTURES)
    assert list(map(brief, tried)) == [({CALL}, 0, []), ({CALL}, 1, [])]
    tried.clear()
    assert best(make, exhausted=(*made.exhausted, made.way)).recursive
    assert [strategy.recursive for strategy in tried] == [True, True]


def test_what_is_exhausted_takes_longer_if_nothing_else_helps() -> None:
    late, no = Exhausted("no"), NotWorthwhile("too long")
    strategies = tried(late, late, late, Settled())
    assert [strategy.patient for strategy in strategies] == [False, False, False, True]
    assert strategies[3] == replace(strategies[0], patient=True)
    assert [strategy.patient for strategy in tried(late, no, Settled())] == [False, False, True]
    assert not any(strategy.patient for strategy in tried(late, Unsettled("no"), Settled()))
    assert not any(strategy.patient for strategy in tried(Unsettled("no"), late, late))


def test_if_all_that_is_left_fails_what_was_exhausted_is_tried() -> None:
    """By other operands, which are simpler."""
    tried: list[bool] = []

    def attempt(strategy: Strategy, sizes: Sizes) -> tuple[str, Settled]:
        tried.append(bool(strategy.unroll))
        if strategy.unroll:
            raise NotWorthwhile("too long")
        return "made", Settled()

    assert best_with_sizes(attempt, exhausted=(Strategy().way,)) == "made" and tried == [True, False]


def test_zeros_are_kept_distinct_at_once_where_no_call_returns() -> None:
    """Otherwise only if the variants so far required it."""
    tried: list[int] = []

    def make(strategy: Strategy) -> tuple[int, Settled]:
        tried.append(strategy.zeros_distinct)
        return tried[-1], Settled(FROM_ALL if tried[-1] else FROM_STRUCTURES, fails=tried[-1] == FROM_NOTHING)

    assert best(make, zeros_distinct=FROM_NOTHING) == FROM_STRUCTURES
    assert tried == [FROM_NOTHING, FROM_STRUCTURES]


def test_the_last_attempt_that_succeeds_counts() -> None:
    def make(strategy: Strategy) -> tuple[str, Settled]:
        if strategy.zeros_distinct == FROM_ALL:
            raise VladError("failed", "not so")
        return f"zeros {strategy.zeros_distinct}", Settled(strategy.zeros_distinct + 1)

    assert best(make) == f"zeros {FROM_STRUCTURES}"


def test_the_reason_is_that_of_the_last_attempt_unless_it_is_too_large() -> None:
    def failing(last: Unbounded) -> Unbounded:
        def make(strategy: Strategy) -> tuple[str, Settled]:
            raise last if strategy.unroll else Unsettled("first", for_number=True)

        with pytest.raises(Unbounded) as caught:
            best(make)
        assert caught.value.for_number
        return caught.value

    assert failing(Unbounded("last")).reason == "last"
    assert failing(NotWorthwhile("too long")).reason == "first"


def test_lists_are_unrolled_for_one_length_first() -> None:
    assert lengths(0, 0) == lengths(8, 1) == [24]
    assert lengths(60, 0) == [60, 8] and lengths(20, 0) == [24, 8] and lengths(2000, 0) == [24, 8]
    assert lengths(60, 1) == [8] and lengths(60, 3) == lengths(2, 3) == [1]
