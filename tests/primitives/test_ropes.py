"""The ropes of compiled strings: their texts in the language, run here on tier 0, where what they make can be counted."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from typing import Any

import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad
from vlad.data.values import Rope, rope_of, rope_size
from vlad.python.convert import from_python

LENGTHS = 10, 1_000, 30_000


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    return vlad.Session(tier="evaluate")


def applied(session: vlad.Session, name: str, *operands: Any) -> Any:
    argument = operands[-1]
    for operand in reversed(operands[:-1]):
        argument = (operand, argument)
    return session.machine.apply(session.machine.codes[f"%rope-{name}"].closed, argument)


def nodes(rope: Rope) -> Iterator[Rope]:
    """The nodes and characters, in order."""
    work = [rope] if rope != () else []
    while work:
        one = work.pop()
        yield one
        if type(one) is tuple:
            work += (one[1][1], one[1][0])


def text(rope: Rope) -> str:
    return "".join([chr(int(one)) for one in nodes(rope) if type(one) is float])


def is_balanced(rope: Rope) -> bool:
    sides = [(rope_size(one[1][0]), rope_size(one[1][1])) for one in nodes(rope) if type(one) is tuple]
    return all(max(pair) <= 3 * min(pair) for pair in sides)


@settings(max_examples=drawn(40), deadline=None)
@given(st.lists(st.tuples(st.text("ab", max_size=40), st.floats(0, 1), st.floats(0, 1)), max_size=6))
def test_parts_and_sums(session: vlad.Session, given: list[tuple[str, float, float]]) -> None:
    rope, expected = rope_of(""), ""
    for more, *ends in given:
        rope, expected = applied(session, "append", rope, rope_of(more)), expected + more
        assert text(rope) == expected and is_balanced(rope)
        start, end = sorted([round(end * len(expected)) for end in ends])
        part, within = applied(session, "part", rope, float(start), float(end)), expected[start:end]
        assert text(part) == within and is_balanced(part)
        assert applied(session, "before?", part, rope, 0.0, float(len(within))) is from_python(
            within < expected
        )
        assert applied(session, "same?", part, rope_of(within)) is from_python(True)
        last = float(len(expected) - len(within))
        assert applied(session, "search", part, float(len(within)), rope, 0.0, last) == expected.find(within)


@pytest.mark.parametrize("length", LENGTHS)
def test_costs_grow_with_the_logarithm(session: vlad.Session, length: int) -> None:
    rope = rope_of("x" * length)
    levels = log2(length)
    old = {id(one) for one in nodes(rope)}
    for name, operands in {
        "append": (rope, 1.0),
        "part": (rope, float(length // 3), float(length - 1)),
        "of one": (rope, 3.0, 4.0),
    }.items():
        made = applied(session, "part" if name == "of one" else name, *operands)
        assert len([one for one in nodes(made) if id(one) not in old]) <= 4 * levels + 4, name


def test_a_character_more_each_time(session: vlad.Session) -> None:
    """A text that grows by a character at either end stays balanced."""
    rope = rope_of("")
    for turn in range(400):
        rope = applied(session, "append", *((rope, 1.0) if turn % 3 else (2.0, rope)))
        assert turn % 50 or is_balanced(rope)
    assert is_balanced(rope) and rope_size(rope) == 400
