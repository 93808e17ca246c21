"""From a procedure and the types of its operands to C text: the compiler's stages, one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from vlad.compile.analysis.abstract_interpreter import Instance
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.analysis.specialize import Specializer
from vlad.compile.calling.interface import Interface
from vlad.compile.emit import c_unit, cuda_unit
from vlad.compile.ir.program import Fail, Failure, Program, blocks
from vlad.compile.ir.refusals import Unbounded, Unsettled
from vlad.compile.passes.order import improved
from vlad.core.types import FROM_ALL, FROM_NOTHING, FROM_STRUCTURES, LONGEST_CHAIN, TooLarge, Types
from vlad.data.values import Code, Value
from vlad.evaluate.limits import deep_recursion


class Fit:
    """Whether the operands of a program may mismatch because the known zero, a tangent of a constant, was taken for
    the zero of something else (`Types.keep_zeros_distinct`). `misfits`: of a tensor or a structure; `mixes`: of another
    element of a list.
    """

    def __init__(self, program: Program, types: Types) -> None:
        ends = [block.end for function in program.functions for block in blocks(function.body)]
        failures = {end.about for end in ends if type(end) is Fail}
        self.misfits = types.filled and bool(failures & {Failure.MISFIT, Failure.UNLIKE})
        self.mixes = types.taken and Failure.UNLIKE in failures


def fitting(make: Callable[[int], tuple[Made, Fit]], given_up: type[Exception]) -> Made:
    """The result of `make`, with zeros kept distinct if operands might mismatch otherwise, and if that succeeds."""
    made, fit = make(FROM_NOTHING)
    with contextlib.suppress(given_up):
        if fit.misfits:
            made, fit = make(FROM_STRUCTURES)
        if fit.mixes:
            made, _ = make(FROM_ALL)
    return made


Made = TypeVar("Made")
MOST_PATIENT_LINES = 8_000  # of C: with more, compiling unrolled calls takes longer than they save


def made(
    machine: Any,
    code: Code,
    environment: tuple[Value, ...],
    operands: tuple[Value, ...],
    longest: int = LONGEST_CHAIN,
) -> Unit:
    """Compile, unrolling certain calls if necessary, and with zeros kept distinct if they might mismatch otherwise. Raises
    Unbounded.
    """

    def settled(distinct: int) -> tuple[Unit, Fit]:
        unit = tried(distinct)
        return unit, unit.fit

    def tried(distinct: int) -> Unit:
        try:
            return Unit(machine, code, environment, operands, longest, distinct=distinct)
        except Unsettled as unsettled:
            if longest > LONGEST_CHAIN:
                raise
            try:
                unit = Unit(
                    machine,
                    code,
                    environment,
                    operands,
                    longest,
                    unroll=True,
                    distinct=distinct,
                )
            except Unbounded as unbounded:
                unbounded.for_number |= unsettled.for_number
                raise
            if unit.text.count("\n") > MOST_PATIENT_LINES:
                raise
            return unit

    return fitting(settled, Unbounded)


def settles(
    machine: Any,
    code: Code,
    environment: tuple[Value, ...],
    operands: tuple[Value, ...],
    longest: int,
    unroll: bool,
) -> bool:
    """Whether the analysis of a call terminates."""
    try:
        with deep_recursion():
            _solved(Analysis(machine, longest, unroll), code, environment, operands)
        return True
    except (Unbounded, TooLarge, RecursionError):
        return False


def _solved(
    analysis: Analysis, code: Code, environment: tuple[Value, ...], operands: tuple[Value, ...]
) -> Instance:
    fields = tuple([analysis.value(value).type for value in environment])
    return analysis.solve(code, fields, tuple([analysis.argument_type(value) for value in operands]))


class Unit:
    """The compiler's output for a call before the C compiler runs: its program, its text, its interface. Lists among the
    operands that are no longer than `longest` are unrolled; `unroll` and `distinct` are the analysis's. Raises Unbounded.
    """

    def __init__(
        self,
        machine: Any,
        code: Code,
        environment: tuple[Value, ...],
        operands: tuple[Value, ...],
        longest: int = LONGEST_CHAIN,
        unroll: bool = False,
        distinct: int = FROM_NOTHING,
    ) -> None:
        try:
            self._make(
                Analysis(machine, longest, unroll, distinct),
                code,
                environment,
                operands,
            )
        except (TooLarge, RecursionError):
            raise Unsettled("its types grow without bound") from None
        self.cells = self.analysis.cells
        self.fit = Fit(self.program, self.analysis.types)

    def _make(
        self, analysis: Analysis, code: Code, environment: tuple[Value, ...], operands: tuple[Value, ...]
    ) -> None:
        with deep_recursion():
            self.analysis = analysis
            root = _solved(analysis, code, environment, operands)
            if root.result is None and not root.operands:
                raise Unbounded("it never answers")
            specializer = Specializer(self.analysis)
            on_gpu = analysis.machine.device == "cuda" and analysis.types.has_tensors
            program = specializer.entry(root, environment)
            self.program: Program = improved(program, specializer.layout, not on_gpu)
            (entry,) = self.program.entries
            self.cuda: cuda_unit.Emission | None = None  # for a GPU
            if on_gpu:
                crossing = [*root.operands, *([root.result] if root.result is not None else [])]
                self.cuda = cuda_unit.emit(self.program, analysis.types, crossing)
                emitted = c_unit.Emitted(self.cuda.text)
            else:
                emitted = c_unit.emit(self.program)
            self.text, self.given = emitted.text, emitted.given
            self.interface = Interface(
                specializer.layout,
                root.operands[: len(operands)],
                root.result,
                "".join([slot.kind for slot in entry.parameters]),
                entry.results,
                tuple([fail.what for fail in emitted.failures]),
                emitted.acts,
                emitted.stops,  # code without loops, recursion or allocation ends by itself
                emitted.direct,
                emitted.counts,
                emitted.multiplies,
                emitted.takes_apart,
                emitted.calls_vectors,
                emitted.places,
                emitted.largest,
            )
