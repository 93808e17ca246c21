"""The attempts of the analysis: the strategy of each, and which one comes next.

In: the outcome of an attempt.  Out: the `Strategy` of the next. `best` runs the attempts, for calls (calling/pipeline.py) and for
whole programs (programs/).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from vlad.compile.ir.program import Fail, Failure, Program, blocks
from vlad.compile.ir.refusals import (
    CALL,
    MOST_LENGTHS,
    TO_BOUND,
    UNSETTLED,
    Exhausted,
    NotWorthwhile,
    Repeating,
    Unbounded,
    Unsettled,
)
from vlad.core.types import (
    FROM_ALL,
    FROM_NOTHING,
    FROM_STRUCTURES,
    LONGEST_CHAIN,
    SHORTEST_CHAIN,
    UNROLLED_CHAIN,
    UNROLLED_NAMES,
    Types,
)
from vlad.data.errors import VladError


@dataclass(frozen=True, slots=True)
class Strategy:
    """One attempt to bound the types of a program. A part is a step of a whole program, or `CALL`.

    longest         lists among the operands are unrolled up to this length
    unroll          the parts in which certain calls are followed one by one
    zeros_distinct  what the known zero stays distinct from where paths meet: FROM_NOTHING …, of core/types.py
    left_out        the reason for each part that is left out
    recursive       known lists have a recursive type, too, whatever their lengths
    patient         more steps are made before the analysis counts as exhausted
    repeating       types may be larger by parts that occur in them many times
    exhausted       the ways that were tried before, and exhausted the analysis
    """

    longest: int = LONGEST_CHAIN
    unroll: frozenset[object] = frozenset()
    zeros_distinct: int = FROM_NOTHING
    left_out: tuple[Unbounded, ...] = ()
    recursive: bool = False
    patient: bool = False
    repeating: bool = False
    exhausted: tuple[str, ...] = ()

    @property
    def way(self) -> str:
        """The strategy, whatever zeros are distinct from: what exhausts the analysis does so for all of these."""
        followed = sorted([part if isinstance(part, str) else str(id(part)) for part in self.unroll])
        left_out = [str(id(unbounded)) for unbounded in self.left_out]
        kinds = [kind for kind in ("recursive", "patient", "repeating") if getattr(self, kind)]
        return " ".join([str(self.longest), *kinds, *followed, "/", *left_out])

    def unrolling(self, part: object) -> Strategy:
        """This strategy, with certain calls followed in one more part."""
        return replace(self, unroll=self.unroll | {part})

    def without(self, unbounded: Unbounded) -> Strategy:
        """A strategy that leaves out one more part."""
        return Strategy(self.longest, frozenset(), self.zeros_distinct, (*self.left_out, unbounded))


@dataclass(frozen=True, slots=True)
class Settled:
    """An attempt has succeeded. `zeros_distinct`: what the known zero must stay distinct from so that more operands fit; None if
    they fit already, or if no attempt would change that. `fails`: no operands fit, since no call returns."""

    zeros_distinct: int | None = None
    fails: bool = False


def attempts(
    longest: int = LONGEST_CHAIN,
    leaves_out: bool = False,
    zeros_distinct: int | None = None,
    exhausted: Mapping[str, Unbounded] = MappingProxyType({}),
) -> Generator[Strategy, Settled | Unbounded]:
    """The strategies, in order; receives the outcome of each attempt. First the cheapest analysis; with certain calls followed if
    types do not settle; with recursive types for known lists; then for longer, if they did not settle in time; with larger types,
    if these repeated their parts; without a part that stays unbounded, if it may be left out; then with zeros kept distinct, if
    operands may not fit otherwise. With `zeros_distinct` zeros are kept distinct from that, and from more if no call returns. No
    way is tried that is in `exhausted`, to which others may be added meanwhile."""
    zeros = FROM_NOTHING if zeros_distinct is None else zeros_distinct
    left_out_before: set[object] | None = None
    while True:
        strategy = Strategy(longest, zeros_distinct=zeros)
        may_take_longer = False
        too_large: Strategy | None = None
        while True:
            outcome = exhausted.get(strategy.way) or (yield replace(strategy, exhausted=tuple(exhausted)))
            if not isinstance(outcome, Unbounded):
                break
            part = outcome.part
            is_unsettled = isinstance(outcome, Unsettled) and longest <= LONGEST_CHAIN
            is_first = not (strategy.recursive or strategy.patient or strategy.repeating)
            if is_unsettled and is_first and isinstance(outcome, Repeating):
                too_large = strategy
            if is_unsettled and is_first and not strategy.unroll:
                may_take_longer = isinstance(outcome, Exhausted)
            if is_unsettled and is_first and part not in strategy.unroll:
                strategy = strategy.unrolling(part)
            elif is_unsettled and is_first and part is CALL and not outcome.for_number:
                strategy = Strategy(1, zeros_distinct=zeros, recursive=True)
            elif may_take_longer:
                may_take_longer = False
                strategy = Strategy(longest, zeros_distinct=zeros, left_out=strategy.left_out, patient=True)
            elif too_large is not None:
                strategy, too_large = replace(too_large, repeating=True), None
            elif leaves_out and part is not CALL and (left_out_before is None or part in left_out_before):
                strategy = strategy.without(outcome)
            else:
                return
        left_out_before = {unbounded.part for unbounded in strategy.left_out}
        if outcome.zeros_distinct is None or (zeros_distinct is not None and not outcome.fails):
            return
        zeros = outcome.zeros_distinct


Made = TypeVar("Made")


def best(
    make: Callable[[Strategy], tuple[Made, Settled]],
    longest: int = LONGEST_CHAIN,
    leaves_out: bool = False,
    zeros_distinct: int | None = None,
    exhausted: Iterable[str] = (),
) -> Made:
    """The result of the last attempt that succeeds; parameters as of `attempts`. Raises Unbounded or VladError if none does."""
    found: list[Made] = []
    ways: dict[str, Unbounded] = dict.fromkeys(exhausted, Exhausted(UNSETTLED, hint=TO_BOUND))
    failure: Unbounded | VladError | None = next(iter(ways.values()), None)
    outcome: Settled | Unbounded = Settled()
    trying = attempts(longest, leaves_out, zeros_distinct, ways)
    with contextlib.suppress(StopIteration):
        strategy = next(trying)
        while True:
            try:
                made, outcome = make(strategy)
                found.append(made)
            except Unbounded as unbounded:
                # without its traceback, whose frames hold it: the cycle would keep a closed session
                failure = outcome = _combined(failure, unbounded).with_traceback(None)
                if isinstance(unbounded, Exhausted):
                    ways[strategy.way] = failure
            except VladError as error:
                failure = error.with_traceback(None)
                break
            strategy = trying.send(outcome)
    if found:
        return found[-1]
    assert failure is not None
    try:
        raise failure
    finally:
        del failure, outcome, trying


def _combined(before: Unbounded | VladError | None, unbounded: Unbounded) -> Unbounded:
    """The reason of the last attempt, or of the one before if the last one was only too large."""
    if not isinstance(before, Unbounded):
        return unbounded
    if isinstance(unbounded, NotWorthwhile):
        return before
    unbounded.for_number |= before.for_number
    return unbounded


# The kinds of failures that may be due to a known zero that was not kept distinct from something else.
DUE_TO_ZEROS = frozenset({Failure.MISFIT, Failure.UNLIKE})
# Those that show, in code that has not run, that zeros may have to be kept distinct from this. What takes a structure apart may
# fail in many programs that never do: only a call that fails in this way is a reason to keep zeros distinct from numbers, too.
SIGNS = {FROM_STRUCTURES: DUE_TO_ZEROS, FROM_ALL: frozenset({Failure.UNLIKE})}


def fit(program: Program, types: Types) -> Settled:
    """The outcome of an attempt that produced a program. Operands of the program may not fit if the known zero, the tangent of a
    constant, was treated as the zero of a tensor or a structure, or of another element of a list."""
    ends = [block.end for function in program.functions for block in blocks(function.body)]
    failures = {end.about for end in ends if type(end) is Fail}
    distinct = types.keep_zeros_distinct
    for more, has_been in (FROM_STRUCTURES, types.filled), (FROM_ALL, types.taken):
        if distinct < more and has_been and failures & SIGNS[more]:
            return Settled(more)
    return Settled()


def lengths(longest: int, variants: int, atoms: int = 0, is_named: bool = False) -> list[int]:
    """The lengths up to which lists are unrolled, to be tried in turn, for a call whose longest list has this length, and
    whose largest operand has so many atoms. Code for one length, without loops and boxes, is several times as fast, and takes as
    much longer to compile; not so if each procedure passes hundreds of numbers to the next, as with a list of records. So only
    the first variant is for a single length of any size; after some more for short lists, the last variant is for all lengths. A
    list of named parts is a structure with a part for each name, whose types differ, as of a network: each variant is for one
    length."""
    if variants >= MOST_LENGTHS and longest > 1:
        return [1]
    if is_named and longest <= UNROLLED_NAMES:
        return [max(longest, LONGEST_CHAIN), SHORTEST_CHAIN]
    if longest <= SHORTEST_CHAIN:
        return [LONGEST_CHAIN]
    if variants:
        return [SHORTEST_CHAIN]
    if max(longest, atoms) <= UNROLLED_CHAIN:
        return [max(longest, LONGEST_CHAIN), SHORTEST_CHAIN]
    return [LONGEST_CHAIN, SHORTEST_CHAIN]


def with_and_without_unrolling(longest: int) -> Iterator[Strategy]:
    """The strategies for a call of which only some operands are known, to decide whether those suffice."""
    plain = Strategy(longest)
    yield plain
    yield plain.unrolling(CALL)
