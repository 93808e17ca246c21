"""Whole programs: one analysis of everything at their top level, for `vlad check` and `vlad build`.

In: the steps of a program in order, as session/programs.py records them; its procedures are values already.  Out: their types,
and first-order code. Called by check.py, build.py and export.py. A global that is not a procedure is computed when the program
runs: it is stored once, and loaded where it is used. Raises Unbounded if the analysis does not terminate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vlad.compile.analysis.abstract_interpreter import AbstractInterpreter, Instance, Result
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.analysis.specialize import Specializer
from vlad.compile.analysis.strategy import Made, Settled, Strategy, best
from vlad.compile.ir.program import Function, Invoke, Load, Program, Store, statements
from vlad.compile.ir.refusals import CALL, GROWING, TO_BOUND, Unbounded, Unsettled
from vlad.compile.ir.rewriting import callees
from vlad.control.frame_stack import with_room
from vlad.core.types import Known, Recursion, TooLarge, Type
from vlad.data.errors import VladError, unbound_variable
from vlad.data.source import Span, in_library
from vlad.data.values import NIL, UNSPECIFIED, Code, Global, Value
from vlad.evaluate.limits import deep_recursion
from vlad.primitives.control import WRITTEN
from vlad.primitives.files import Files

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A top-level form to execute: it defines a global, or returns a value, which may be `shown`, unless the form has
    `written` it itself. `thunk` is a procedure without arguments. `order`: its number among the forms; None: after all of them.
    `is_import`: the global gets the value of a module's.
    """

    cell: Global | None
    thunk: Value
    span: Span
    shown: bool = False
    written: bool = False
    order: int | None = None
    is_import: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A name that gets a constant value. `order`: how many forms come before; `replaces`: whether the name had another meaning
    before, that of the library."""

    cell: Global
    order: int
    replaces: bool


@dataclass(frozen=True, slots=True, eq=False)
class Defined(Named):
    """A top-level procedure."""

    value: Value
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """All steps and definitions of a program, and the names that it imports. `may_be_hidden`: may a form with an error, which is
    left out, define a name?"""

    steps: list[Step]
    defined: list[Defined]
    imported: list[Named]
    may_be_hidden: Callable[[str], bool] = lambda name: False

    @property
    def count(self) -> int:
        return len(self.steps) + len(self.defined)

    def defines(self, cell: Global) -> bool:
        return any(step.cell is cell for step in self.steps) or any(one.cell is cell for one in self.defined)


# Semantics.


def _show(w: AbstractInterpreter, x: Known) -> Result:
    def one(x: Known) -> Result:
        if x.type.of is UNSPECIFIED:
            return x
        return w.recursive(WRITTEN, x) and w.effect("text", text="\n") and w.effect("out") and w.unspecified

    return w.each(x, one)


def _step(step: Step) -> Recursion:
    """A step as a separate procedure, so that its allocations are freed at its end."""
    shown = Recursion("show", _show)

    def rule(w: AbstractInterpreter) -> Result:
        w.span = step.span
        value = w.invoke(step.thunk[0], (), [w.constant(NIL)], False)
        if value is None or step.cell is not None:
            return value
        return w.recursive(shown, value) if step.shown and not step.written else w.unspecified

    return Recursion(step.cell.name if step.cell is not None else "expression", rule)


def _main(whole: Whole, continues: bool) -> Recursion:
    """All steps in order; if it `continues` after one that never returns, further errors are found."""
    parts = [(step, _step(step)) for step in whole.steps.steps]

    def rule(w: AbstractInterpreter) -> Result:
        for index, (step, part) in enumerate(parts):
            whole.at = step
            whole.analysis.follow_certain_calls(step)
            w.key, w.span = ("step", index), step.span
            value = w.invoke(part, (), [], False)
            if value is None and not continues:
                return None
            if value is not None and step.cell is not None:
                w.define(step.cell, value)
        return w.unspecified

    return Recursion("main", rule)


class Whole:
    """The analysis of a program. Raises Unbounded. `left_out`: steps that are not analysed; if it is given, steps after one that
    never returns are analysed as well. `files`: the contents of the files that the program reads, if they are used. `analysis`:
    the kind that is made."""

    def __init__(
        self,
        machine: Machine,
        steps: Steps,
        strategy: Strategy,
        left_out: Sequence[Step] | None = None,
        files: Files | None = None,
        analysis: type[Analysis] = Analysis,
    ) -> None:
        self.machine = machine
        self.steps = steps
        self.analysis = analysis(machine, strategy)
        self.analysis.is_standalone, self.analysis.files = True, files
        self.analysis.devices = ("cpu",)
        self.analysis.counting = False  # a standalone program has no limits
        self.analysis.variables = {
            step.cell: None for step in (*steps.steps, *(left_out or ())) if step.cell is not None
        }
        self.analysis.unknown = frozenset([step.cell for step in left_out or () if step.cell is not None])
        self.at: object = CALL  # the part being analysed
        main = _main(self, left_out is not None)
        self.main = self._solved(lambda: self.analysis.solve(main))
        self.at = CALL

    def _solved(self, solve: Callable[[], Instance]) -> Instance:
        try:
            with deep_recursion():
                return with_room(solve)
        except Unbounded as unbounded:
            unbounded.part = self.at
            raise
        except (TooLarge, RecursionError):
            raise Unsettled(GROWING, part=self.at, hint=TO_BOUND) from None

    def instance(self, f: Value, operands: tuple[Type, ...], part: object = CALL) -> Instance:
        """Analyse one more procedure, on operands of these types, as a part of the program. Raises Unbounded."""
        code: Code = f[0]
        fields = tuple([self.analysis.value(value).type for value in f[1 : 1 + len(code.environment)]])
        self.analysis.follow_certain_calls(part)
        self.at = part
        return self._solved(lambda: self.analysis.solve(code, fields, operands))

    def instance_of(self, step: Step) -> Instance:
        """The code of a step that was analysed."""
        return self.analysis.find(step.thunk[0], (), (self.analysis.types.constant(NIL),))

    def solve(self, f: Value, operands: tuple[Type, ...], span: Span | None) -> Instance:
        """Analyse one more procedure, on operands of these types. Raises VladError."""
        try:
            return self.instance(f, operands)
        except Unbounded as unbounded:
            if unbounded.span is None or in_library(unbounded.span):
                unbounded.span = span
            raise refusal(unbounded) from None

    def program(self, *others: Instance) -> Program:
        """First-order code: the steps, then the other entries."""

        def again(other: Instance) -> Instance:  # later analyses may have changed earlier results
            return self._solved(lambda: self.analysis.solve(other.callee, other.fields, other.operands))

        main = again(self.main) if others else self.main
        entries = [again(other) for other in others]
        specializer = Specializer(self.analysis)
        self.layout = specializer.layout
        return specializer.program(main, *entries)


def refusal(unbounded: Unbounded) -> VladError:
    """The error of a program that cannot be compiled, at a place in the user's own text."""
    span, step = unbounded.span, unbounded.part
    return VladError(
        "not-compiled",
        f"This cannot be compiled: {unbounded.reason}",
        step.span if type(step) is Step and (span is None or in_library(span)) else span,
        hint="; ".join(filter(None, [unbounded.hint, "`vlad FILE` runs the program all the same"])),
    )


def settled(attempt: Callable[[Strategy], tuple[Made, Settled]]) -> Made:
    """The result of the best attempt. Raises VladError."""
    try:
        return best(attempt)
    except Unbounded as unbounded:
        raise refusal(unbounded) from None


def check_order(whole: Whole, program: Program, stored: Iterable[Global] = ()) -> None:
    """Raise VladError if a global is used before its definition; `stored` are defined already."""
    _check_order_of_procedures(whole)
    stored = set(stored)

    def look_through(function: Function) -> None:
        reached = {function: None}
        work = [function]
        for one in work:
            for statement in statements(one.body):
                if type(statement) is Load and statement.cell not in stored:
                    hint = "it is used here before the place where it is defined"
                    raise unbound_variable(statement.cell.name, statement.span, hint)
            for callee in callees(one):
                if callee not in reached:
                    reached[callee] = None
                    work.append(callee)

    for statement in statements(program.entries[0].body):
        if type(statement) is Store:
            stored.add(statement.cell)
        elif type(statement) is Invoke:
            look_through(statement.function)


def _check_order_of_procedures(whole: Whole) -> None:
    """The same for top-level procedures, which are constants of the analysis: what runs before a definition must not read it."""
    named = {one.cell: one for one in (*whole.steps.imported, *whole.steps.defined)}
    reads, seen = whole.analysis.constants_read, set[Instance]()
    for step in whole.steps.steps:
        if step.order is None:
            return
        work = [whole.instance_of(step)]
        for one in work:
            if one in seen:
                continue
            seen.add(one)
            work += one.calls
            for cell, span in reads.get(one, {}).items():
                later = named.get(cell)
                if later is not None and later.order > step.order:
                    raise _used_before(later, span)


def _used_before(later: Named, span: Span | None) -> VladError:
    name = later.cell.name
    if not later.replaces:
        return unbound_variable(name, span, "it is used here before the place where it is defined")
    return VladError(
        "defined-twice",
        f"{name} is used here before the program defines or imports it",
        span,
        hint=f"a program that is checked or built as a whole has one meaning for each name: move the "
        f"definition or import of {name} up, or take another name",
        name=name,
    )
