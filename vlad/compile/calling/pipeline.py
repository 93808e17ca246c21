"""From a procedure and the types of its operands to C text: the compiler's stages, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from vlad.compile.analysis.abstract_interpreter import Instance
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.analysis.sizes import Sizes, extents_of, sizes_in_unions
from vlad.compile.analysis.specialize import Specializer
from vlad.compile.analysis.strategy import Settled, Strategy, best, fit
from vlad.compile.analysis.trees import Tree
from vlad.compile.calling.interface import Interface
from vlad.compile.emit import c_unit, cuda_unit
from vlad.compile.ir.program import Block, Function, Program
from vlad.compile.ir.refusals import (
    GROWING,
    TO_BOUND,
    UNKNOWN_LENGTH,
    NotWorthwhile,
    Unbounded,
    Unsettled,
)
from vlad.compile.native.call_words import CallWords
from vlad.compile.passes.order import improved, size
from vlad.core.extents import Resized
from vlad.core.types import LONGEST_CHAIN, TooLarge
from vlad.data.values import Code, Value
from vlad.evaluate.limits import deep_recursion

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

# With more statements before all passes, or lines of C, compiling unrolled calls takes longer than they save. The former bound
# holds for programs whose types settle only with patience, too: each procedure has many instances.
MOST_STATEMENTS, MOST_UNROLLED_LINES = 6_000, 8_000

TOO_LONG = "its code is too long"


def made(
    machine: Machine,
    code: Code,
    environment: tuple[Value, ...],
    operands: tuple[Value | Tree, ...],
    longest: int = LONGEST_CHAIN,
    zeros_distinct: int | None = None,
    sizes: Sizes | None = None,
    exhausted: tuple[str, ...] = (),
) -> Unit:
    """The unit of the best attempt. `zeros_distinct` and `exhausted`: as of `attempts` in analysis/strategy.py; `sizes`: of those
    operands whose lengths the code does not depend on. Raises Unbounded."""

    def attempt(strategy: Strategy, own: Sizes) -> tuple[Unit, Settled]:
        unit = Unit(machine, code, environment, operands, strategy, own)
        if strategy.unroll and unit.text.count("\n") > MOST_UNROLLED_LINES:
            unit.close()
            raise NotWorthwhile(TOO_LONG)
        settled = fit(unit.program, unit.analysis.types)
        unit.interface = replace(
            unit.interface, zeros_distinct=settled.zeros_distinct, exhausted=strategy.exhausted
        )
        return unit, replace(settled, fails=unit.interface.result is None)

    return best_with_sizes(attempt, longest, zeros_distinct, sizes, exhausted)


Made = TypeVar("Made")


def best_with_sizes(
    attempt: Callable[[Strategy, Sizes], tuple[Made, Settled]],
    longest: int = LONGEST_CHAIN,
    zeros_distinct: int | None = None,
    sizes: Sizes | None = None,
    exhausted: tuple[str, ...] = (),
) -> Made:
    """The result of the best attempt, with as many sizes as can be; parameters as of `made`. Raises Unbounded."""
    own = sizes or Sizes()
    try:
        return best(lambda strategy: attempt(strategy, own), longest, False, zeros_distinct, exhausted)
    except Unbounded:
        if exhausted:  # for other operands
            return best_with_sizes(attempt, longest, zeros_distinct, sizes)
        fewer = own.with_lists
        if fewer is None:
            raise
    except Resized as resized:
        if resized.is_needed and any(size.is_late for size in resized.values):
            raise Unsettled(UNKNOWN_LENGTH, for_number=True) from None
        fewer = own.with_values(resized.values)
    return best_with_sizes(attempt, longest, zeros_distinct, fewer, exhausted)


def settles(
    machine: Machine,
    code: Code,
    environment: tuple[Value, ...],
    operands: tuple[Value | Tree, ...],
    strategy: Strategy,
) -> bool:
    """Does the analysis of a call terminate?"""
    try:
        with deep_recursion():
            _solved(Analysis(machine, strategy), code, environment, operands)
        return True
    except (Unbounded, TooLarge, RecursionError):
        return False


def _solved(
    analysis: Analysis, code: Code, environment: tuple[Value, ...], operands: tuple[Value | Tree, ...]
) -> Instance:
    fields = tuple([analysis.value(value).type for value in environment])
    return analysis.solve(code, fields, tuple([analysis.argument_type(value) for value in operands]))


class Unit:
    """A compiled call before it is a library: its program, its text, its interface. Raises Unbounded."""

    def __init__(
        self,
        machine: Machine,
        code: Code,
        environment: tuple[Value, ...],
        operands: tuple[Value | Tree, ...],
        strategy: Strategy = Strategy(),  # noqa: B008 - it is frozen
        sizes: Sizes | None = None,
    ) -> None:
        self.analysis = Analysis(machine, strategy)
        self.sizes = sizes or Sizes()
        self.analysis.shapes = self.sizes.shapes
        self.analysis.sizes = self.sizes if machine.device == "cpu" else None
        self._functions: list[Function] = []  # before all passes, and after them
        try:
            self._make(self.analysis, code, environment, operands)
        except BaseException as error:
            self.close()
            if isinstance(error, TooLarge | RecursionError):
                raise Unsettled(GROWING, hint=TO_BOUND) from None
            raise
        self.cells = self.analysis.cells

    def close(self) -> None:
        """Cut the cycles of the program and its analysis, of which only the types remain. What is left is freed by reference
        counts; as cyclic garbage it took up to a fifth of the time of compiling.
        """
        self.analysis.close()
        for function in self._functions:
            function.body = Block()

    def _make(
        self,
        analysis: Analysis,
        code: Code,
        environment: tuple[Value, ...],
        operands: tuple[Value | Tree, ...],
    ) -> None:
        with deep_recursion():
            root = _solved(analysis, code, environment, operands)
            if root.result is None and not root.operands:
                raise Unbounded("it never returns")
            sizes = self.sizes
            if fixed := sizes_in_unions(analysis.types, root.operands):
                raise Resized({size: size.now for size in fixed})
            specializer = Specializer(analysis, drops_known=True)
            on_gpu = analysis.machine.device == "cuda" and analysis.types.has_tensors
            program = specializer.entry(root, environment)
            self._functions += program.functions
            is_last_resort = analysis.strategy.unroll or analysis.strategy.patient
            if is_last_resort and size(program) > MOST_STATEMENTS:
                raise NotWorthwhile(TOO_LONG)
            self.program: Program = improved(program, specializer.layout, not on_gpu)
            self._functions += self.program.functions
            self.cuda: cuda_unit.Emission | None = None  # for a GPU
            crossing = [*root.operands, *([root.result] if root.result is not None else [])]
            if on_gpu:
                self.cuda = cuda_unit.emit(self.program, analysis.types, crossing)
                (entry,) = self.program.entries
                kinds = "".join([slot.kind for slot in entry.parameters])
                emitted = c_unit.Emitted(self.cuda.text, CallWords(kinds, entry.results))
            else:
                extents = extents_of(sizes, analysis.types, crossing)
                placed = analysis.machine.placed
                emitted = c_unit.emit(self.program, extents, len(sizes.sizes), sizes.late, placed)
            self.text, self.given, self.is_plain = emitted.text, emitted.given, emitted.is_plain
            self.sites = emitted.sites
            self.interface = Interface(
                specializer.layout,
                root.operands[: len(operands)],
                root.result,
                emitted.words,
                tuple([(fail.what, fail.about) for fail in emitted.failures]),
                emitted.acts,
                emitted.stops,  # code without loops, recursion or allocation ends by itself
                emitted.direct,
                emitted.largest,
                extents=() if on_gpu else tuple(extents),
                sizes=0 if on_gpu else len(sizes.sizes),
                is_late=not on_gpu and any(extent.late for extent in extents),
                may_differ=sizes.guards.may_differ and not sizes.guards.keeps_apart,
            )
            sizes.guards.closed = True
