"""What `for` and comprehensions go through: counters, lists, and several side by side.

In: the expression after `in`, translated in part.  Out: an `Iteration`: the variables that a loop carries for it, its test, the
value of a turn, and the next turn's variables. `range`, `enumerate`, `zip` and `reversed` make no list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vlad.data.source import Span
from vlad.reader.parser import Syntax
from vlad.translate.syntax import form, is_atom, literal, name

Several = tuple["Value", ...]
Value = Syntax | Several  # of a turn: one expression, or one for each of several targets
Fresh = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Iteration:
    """around  bindings around the loop
    starts  the loop's variables, with their first values
    tests   all of them hold if there is another turn
    value   of a turn
    steps   the next values of the variables
    """

    around: tuple[tuple[str, Syntax], ...]
    starts: tuple[tuple[str, Syntax], ...]
    tests: tuple[Syntax, ...]
    value: Value
    steps: tuple[Syntax, ...]


def counted(
    start: Syntax, stop: Syntax, step: Syntax, is_down: bool | None, span: Span, fresh: Fresh
) -> Iteration:
    """`range(start, stop, step)`. `is_down`: is the step negative? None if only a run decides."""
    around = []
    if not is_atom(stop):
        bound = fresh("stop")
        around.append((bound, stop))
        stop = name(bound, span)
    if not is_atom(step):
        bound = fresh("step")
        around.append((bound, step))
        step = name(bound, span)
    at = fresh("at")
    counter = name(at, span)
    if is_down is None:
        down, up = form(span, ">", counter, stop), form(span, "<", counter, stop)
        test = form(span, "if", form(span, "<", step, literal(0.0, span)), down, up)
    else:
        test = form(span, ">" if is_down else "<", counter, stop)
    return Iteration(tuple(around), ((at, start),), (test,), counter, (form(span, "+", counter, step),))


def listed(items: Syntax, span: Span, fresh: Fresh) -> Iteration:
    """The items of a list, a tuple, or a tensor's first axis. `items`: the list or tuple."""
    rest = fresh("rest")
    variable = name(rest, span)
    return Iteration(
        (), ((rest, items),), (form(span, "pair?", variable),), form(span, "car", variable), (form(span, "cdr", variable),),
    )  # fmt: skip


def all_but_last(items: Syntax, span: Span, fresh: Fresh) -> Iteration:
    """All items of a list or a tuple but the last one, without a copy."""
    rest = fresh("rest")
    variable = name(rest, span)
    following = form(span, "cdr", variable)
    tests = (form(span, "pair?", variable), form(span, "pair?", following))
    return Iteration((), ((rest, items),), tests, form(span, "car", variable), (following,))


def side_by_side(parts: list[Iteration]) -> Iteration:
    """`zip`: all of them, as long as all have another turn."""
    return Iteration(
        tuple([binding for part in parts for binding in part.around]),
        tuple([start for part in parts for start in part.starts]),
        tuple([test for part in parts for test in part.tests]),
        tuple([part.value for part in parts]),
        tuple([step for part in parts for step in part.steps]),
    )


def numbered(part: Iteration, start: Syntax, span: Span, fresh: Fresh) -> Iteration:
    """`enumerate`: a counter beside another iteration."""
    number = fresh("number")
    counter = name(number, span)
    return Iteration(
        part.around, ((number, start), *part.starts), part.tests, (counter, part.value),
        (form(span, "+", counter, literal(1.0, span)), *part.steps),
    )  # fmt: skip
