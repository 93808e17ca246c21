"""One call, analysed: the types of its variables by their places, for `vlad.check`.

In: a procedure and operands.  Out: an `Observation`. Called by session/checking.py. Nothing is run. A variable of the program has
a type wherever the analysis binds it: in each instance of the code, and in each transform of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from vlad.compile.analysis.sizes import Sizes, sizes_in_unions
from vlad.compile.analysis.specialize import Specializer
from vlad.compile.analysis.strategy import Settled, Strategy, fit
from vlad.compile.analysis.trees import Tree
from vlad.compile.calling.compilation import in_each_way
from vlad.compile.calling.pipeline import MOST_STATEMENTS, TOO_LONG, best_with_sizes
from vlad.compile.ir.program import Fail
from vlad.compile.ir.refusals import GROWING, TO_BOUND, NotWorthwhile, Unbounded, Unsettled
from vlad.compile.passes.order import has_thin, improved, size
from vlad.compile.programs.check import certain, endings, mistakes, why_never
from vlad.compile.programs.guards import caught_failure
from vlad.compile.programs.noting import Noting
from vlad.control.frame_stack import with_room
from vlad.core.extents import Resized
from vlad.core.types import TooLarge, Type, Types
from vlad.data.errors import VladError
from vlad.data.records import EXCEPTION
from vlad.data.source import Span
from vlad.data.values import Code, String, Value
from vlad.evaluate.limits import deep_recursion

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine


@dataclass(slots=True, eq=False)
class Observation:
    """arguments, result  their types; None: it never returns, or the analysis does not end
    variables         the types of the program's variables, by name and place: that of the procedure or loop for its
                      parameters, otherwise that of the expression
    values            the types of expressions, by place, in the order in which they are computed: the last node of a place
                      has the value of the whole expression. Not in transformed code, where it has a backpropagator, too
    errors            those that occur whenever they are reached
    why               why it never returns, as the end of a sentence
    refusal           why the call is not compiled
    """

    types: Types
    arguments: list[Type]
    result: Type | None = None
    variables: list[tuple[str, Span, Type]] = field(default_factory=list)
    values: list[tuple[Span, object, Type]] = field(default_factory=list)
    errors: list[VladError] = field(default_factory=list)
    why: str = ""
    refusal: Unbounded | None = None


def observe(
    machine: Machine, f: Value, operands: tuple[Value, ...], arguments: tuple[Value, ...]
) -> Observation:
    """The types in a call of a procedure on operands like these, which may pack the arguments of the call."""
    code: Code = f[0]
    environment = f[1 : 1 + len(code.environment)]
    latest: list[Noting] = []

    def attempt(
        values: tuple[Value | Tree, ...], strategy: Strategy, sizes: Sizes
    ) -> tuple[Observation, Settled]:
        analysis = Noting(machine, strategy)
        analysis.shapes = sizes.shapes
        analysis.sizes = sizes if machine.device == "cpu" else None
        latest[:] = [analysis]
        found = Observation(analysis.types, [analysis.argument_type(one) for one in arguments])
        given = tuple([analysis.argument_type(operand) for operand in values])
        fields = tuple([analysis.value(value).type for value in environment])
        try:
            with deep_recursion():
                root = with_room(lambda: analysis.solve(code, fields, given))
                if fixed := sizes_in_unions(analysis.types, root.operands):
                    raise Resized({size: size.now for size in fixed})
                specializer = Specializer(analysis)
                program = specializer.entry(root, environment)
        except (TooLarge, RecursionError):
            raise Unsettled(GROWING, hint=TO_BOUND) from None
        found.result = root.result
        found.errors = [error for _, error in mistakes(machine, analysis.types, program)]
        if root.result is None:
            refusal = caught_failure(program.entries[0])
            if refusal is not None:
                raise refusal
            endless, failures = endings(machine, program.entries[0])
            # an exception of Python has its message in no effect
            failures = [
                replace(
                    one,
                    words=one.words or _told(analysis.types, one.fail) or (one.span.text if one.span else ""),
                )
                for one in failures
            ]
            found.why = why_never(endless, failures)
            if not endless:
                found.errors += certain(machine, analysis.types, failures)
        settled = fit(program, analysis.types)
        if (strategy.unroll or strategy.patient) and size(program) > MOST_STATEMENTS:
            raise NotWorthwhile(TOO_LONG)
        if has_thin(program):
            improved(program, specializer.layout)
        return found, settled

    def observed(given: tuple[Value | Tree, ...], longest: int, sizes: Sizes) -> Observation:
        return best_with_sizes(partial(attempt, given), longest, None, sizes)

    try:  # as a call is compiled
        observation, _ = in_each_way(machine, f, operands, observed)
    except Unbounded as unbounded:
        (analysis,) = latest
        observation = Observation(analysis.types, [analysis.argument_type(one) for one in arguments])
        observation.refusal = unbounded.kept()
    analysis = next(one for one in latest)
    if analysis.types is observation.types:
        observation.variables, observation.values = list(analysis.bound), list(analysis.expressions)
    return observation


def _told(types: Types, fail: Fail) -> str | None:
    """The message of an exception of Python that is raised, as far as it is known before a run."""
    parts = list[Type]()
    rest = types.canonical(fail.given[0]) if fail.given else None
    while rest is not None and rest.kind == "pair" and len(parts) < 3:
        parts.append(types.canonical(rest.parts[0]))
        rest = types.canonical(rest.parts[1])
    if len(parts) < 3 or parts[0].of is not EXCEPTION:
        return None
    message = parts[2].of if parts[2].kind == "constant" else None
    return message.text if isinstance(message, String) else None
