"""Loops of the loop language → C text. The printer makes no decisions; compile/loops/ does.

In: a kernel, the C of its operands, the names of its outputs.  Out: lines, which declare the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vlad.compile.emit.blas_calls import contraction_lines, product_lines
from vlad.compile.emit.c_text import place_of_result
from vlad.compile.emit.loop_text import CStyle, LoopPrinter
from vlad.compile.emit.needs import Needs
from vlad.compile.emit.part_functions import call_in_parts, variables_read
from vlad.compile.ir.matrix_products import FEWEST, as_contraction, as_product, by_library
from vlad.compile.loops import order
from vlad.compile.loops.ir import (
    Alias,
    Allocate,
    Array,
    Body,
    Condition,
    For,
    If,
    Local,
    Origin,
    Poll,
    Prefetch,
    Speculate,
    Statement,
    Versions,
)
from vlad.compile.loops.lower import Operand, Place, placed
from vlad.compile.loops.vectorize import HAS_VECTORS
from vlad.core.extents import Extent
from vlad.core.loop_nests import Kernel

SIMD = "#pragma omp simd"
CONDITIONS = {
    Condition.ALWAYS: "1",
    Condition.VECTORS: "defined(VLAD_WIDE)",
    Condition.FAST_MATH: "defined(VLAD_FAST_MATH)",
    Condition.FUSED: "defined(__FP_FAST_FMA)",
    Condition.FUSED_FLOATS: "defined(__FP_FAST_FMAF) && defined(__AVX512F__)",
}
NOWHERE: Mapping[int, Place] = {}
NO_PLACES: Mapping[int, int] = {}
NO_VARIABLES: Mapping[int, str] = {}


def kernel_lines(
    kernel: Kernel,
    operands: Sequence[Operand],
    outputs: Sequence[str],
    needs: Needs,
    taken: Mapping[int, int] = NO_PLACES,
    places: Mapping[int, Place] = NOWHERE,
    kinds: Mapping[int, str] = NO_VARIABLES,
) -> list[str]:
    """The lines of a kernel. `needs` records what it uses of the run-time. `taken`, `places`: as in loops/lower.py; `kinds`: the
    C types of the operands that are variables of the function, by number."""
    names = [operand.name for operand in operands]
    printer = CLoopPrinter(names, outputs, needs)
    turns = kernel.turns
    if type(turns) is Extent:
        needs.turns[turns] = None
    product = as_product(kernel)
    called: list[str] = []
    if product is not None:
        called = product_lines(product, kernel, names, outputs[0], needs)
        if type(turns) is int:
            (output,) = kernel.outputs
            printer.body(placed(Array(Origin.OUTPUT, 0, output.kind), output, places.get(0)))
            return [*printer.lines, *called]
    contraction = as_contraction(kernel) if product is None else None
    if contraction is not None:
        (output,) = kernel.outputs
        printer.body(placed(Array(Origin.OUTPUT, 0, output.kind), output, places.get(0)))
        return [*printer.lines, *contraction_lines(contraction, kernel, names, outputs[0], needs)]
    found = order.loops(kernel, operands, outputs, taken, places, divides=product is None)
    printer.body(found.declared)
    if product is not None:
        printer.lines += [f"if ({turns} >= {FEWEST}) {{", *called, "} else {"]
    for nest in found.nests:
        if nest.parts is None:
            printer.body(nest.body)
            continue
        inner = CLoopPrinter(names, outputs, needs)
        given = variables_read(nest, names, outputs, taken, kinds)
        printer.lines += call_in_parts(nest, given, inner, needs)
    printer.body(found.converted)
    return [*printer.lines, "}"] if product is not None else printer.lines


def when_over(kernel: Kernel, operands: Sequence[Operand]) -> Condition | None:
    """The condition under which outputs overwrite operands; as in loops/order.py."""
    return None if by_library(kernel) is not None else order.when_over(kernel, operands, True)


class CLoopPrinter(LoopPrinter):
    def __init__(self, operands: Sequence[str], outputs: Sequence[str], needs: Needs) -> None:
        style = CStyle(operands, outputs)
        style.functions = needs.functions
        super().__init__(style)
        self.needs = needs

    def statement(self, statement: Statement) -> None:
        match statement:
            case Allocate():
                self.allocate(statement)
            case Alias():
                self.alias(statement)
            case For():
                self.mark(statement)
                self.loop(statement)
            case Versions():
                self.versions(statement.cases, statement.otherwise)
            case Speculate():
                self.speculate(statement)
            case Poll():
                every = "" if statement.every == 1 else f"!({statement.index} % {statement.every}) && "
                self.line(self.needs.stop(every, statement.turns))
            case Local():
                self.needs.keeps |= statement.keeps
                super().statement(statement)
            case Prefetch():
                self.line(f"__builtin_prefetch(&{self.style.place(statement.entry)} + {statement.ahead});")
            case If():
                self.needs.vectors |= statement.test == HAS_VECTORS
                super().statement(statement)
            case _:
                super().statement(statement)

    def allocate(self, statement: Allocate) -> None:
        new = self.needs.room(statement.words)
        where = new
        if statement.place is not None:
            place = place_of_result(statement.place)
            where = f"{place} ? {place} : {new}"
        kind = self.kinds[statement.array.kind]
        self.line(f"{kind} *restrict {self.style.array(statement.array)} = {where};")

    def alias(self, statement: Alias) -> None:
        array, of = self.style.array(statement.array), self.style.array(statement.of)
        self.line(f"{self.kinds[statement.array.kind]} *{array} = {of};")

    def versions(self, cases: Sequence[tuple[Condition, Body]], otherwise: Body) -> None:
        for number, (condition, body) in enumerate(cases):
            self.directive(f"#{'elif' if number else 'if'} {CONDITIONS[condition]}")
            self.body(body)
        if otherwise:
            self.directive("#else")
            self.body(otherwise)
        self.directive("#endif")

    def speculate(self, statement: Speculate) -> None:
        flag = statement.flag
        self.line(f"int {flag} = {self.text(statement.far)};")
        for number, (condition, body) in enumerate(statement.attempts):
            self.directive(f"#{'elif' if number else 'if'} {CONDITIONS[condition]}")
            self.body(body)
        self.directive("#else")
        self.line(f"{flag} = 1;")
        self.directive("#endif")
        self.within(f"if ({flag}) ", statement.otherwise)

    def mark(self, loop: For) -> None:
        """The pragmas by which the turns may run in parallel."""
        simd = loop.simd
        if simd is None:
            return
        clauses = [f" reduction({sign}: {', '.join(names)})" for sign, names in simd.reductions]
        pragma = f"{SIMD}{''.join(clauses)}"
        if simd.is_left:
            lines = ["#ifndef VLAD_FAST_MATH", pragma, "#endif"]
        elif simd.unrolls:
            several = ["#pragma GCC ivdep", f"#pragma GCC unroll {simd.unrolls}"]
            lines = ["#ifdef VLAD_UNROLLS", *several, "#else", pragma, "#endif"]
        else:
            lines = [pragma]
        for line in lines:
            self.directive(line)
