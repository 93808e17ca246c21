"""Numbers among the operands of a call that determine shapes, or an order of differentiation: they are constants of the compiled
code, like the shapes of its tensors.

In: the operands.  Out: the same, with some numbers marked as constants for the compiler. They are found by
trial: those without which a shape would depend on run-time values, and no others, as each choice of numbers needs
code of its own. So `(f x n)` of `(slice x 0 n)` is compiled again for another n, but not for another x. Loops, buffers and
products then have constant lengths, which helps the C compiler and vectorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, final

from vlad.data.tensors import Tensor
from vlad.data.values import Value, is_pair, look

MOST_WRITTEN = (
    64  # entries of a tensor that are part of a unit's text (c_unit.py); larger ones are passed at run time
)

MOST_NUMBERS = 16  # whole ones among the operands, for which the trial is run
MOST_LOOKED_AT = 1_000  # parts of the operands, for the trial
LARGEST = 1 << 31  # that counts as a length

Places: TypeAlias = tuple[int, ...]  # of reals among the operands, counted from 0 in their order


@final
class Fixed(float):
    """A real of an operand that the compiler treats as a constant."""


def _parts(operands: tuple[Value, ...]) -> list[Value] | None:
    """All parts of the operands, pairs before their contents; None if there are too many."""
    found: list[Value] = []
    work = [*reversed(operands)]
    while work:
        if len(found) == MOST_LOOKED_AT:
            return None
        value = look(work.pop())
        found.append(value)
        if is_pair(value):
            work += [value[1], value[0]]
    return found


def whole_numbers(operands: tuple[Value, ...]) -> Places:
    """The positions of whole numbers that may determine shapes; none if there are too many for a trial."""
    reals = [part for part in _parts(operands) or () if type(part) is float]
    found = [place for place, real in enumerate(reals) if real.is_integer() and abs(real) < LARGEST]
    return tuple(found) if len(found) <= MOST_NUMBERS else ()


def form(operands: tuple[Value, ...]) -> Any:
    """The structure of operands, for which positions mean the same; None if there are too many parts."""
    parts = _parts(operands)
    if parts is None:
        return None
    return tuple([(type(part), len(part.shape) if type(part) is Tensor else is_pair(part)) for part in parts])


def with_fixed(operands: tuple[Value, ...], places: Places) -> tuple[Value, ...]:
    """The operands with the reals at these positions marked."""
    if not places:
        return operands
    last, place = max(places), -1

    def marked(value: Value) -> Value:
        nonlocal place
        firsts: list[Value] = []
        value = look(value)
        while is_pair(value) and place < last:  # lists are long, not deep
            firsts.append(marked(value[0]))
            value = look(value[1])
        if type(value) is float:
            place += 1
            value = Fixed(value) if place in places else value
        for first in reversed(firsts):
            value = (first, value)
        return value

    return tuple([marked(operand) for operand in operands])


def needed(places: Places, settles: Callable[[Places], bool], kept: Places = ()) -> Places:
    """A minimal subset of positions that settles a question, together with `kept`: by testing half of them at a time
    (U. Junker, QuickXplain, 2004).
    """
    if not places or settles(kept):
        return ()
    if len(places) == 1:
        return places
    middle = len(places) // 2
    first, second = places[:middle], places[middle:]
    these = needed(first, settles, (*kept, *second))
    return (*these, *needed(second, settles, (*kept, *these)))
