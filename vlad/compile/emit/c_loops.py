"""Loops of the loop language → C text. The printer makes no decisions; compile/loops/ does.

In: a kernel, the C of its operands, the names of its outputs.  Out: lines, which declare the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vlad.compile.emit.blas_calls import product_lines
from vlad.compile.emit.loop_text import CStyle, LoopPrinter
from vlad.compile.emit.needs import Needs
from vlad.compile.ir.matrix_products import as_product
from vlad.compile.loops import order
from vlad.compile.loops.ir import (
    Alias,
    Allocate,
    Array,
    Body,
    For,
    If,
    Poll,
    Prefetch,
    Speculate,
    Statement,
    Versions,
)
from vlad.compile.loops.lower import Operand, Place, placed
from vlad.compile.loops.vectorize import HAS_VECTORS
from vlad.core.loop_nests import Kernel

SIMD = "#pragma omp simd"
NOWHERE: Mapping[str, Place] = {}
NO_PLACES: Mapping[int, int] = {}


def kernel_lines(
    kernel: Kernel,
    operands: Sequence[Operand],
    outputs: Sequence[str],
    needs: Needs,
    taken: Mapping[int, int] = NO_PLACES,
    places: Mapping[str, Place] = NOWHERE,
) -> list[str]:
    """The lines of a kernel. `needs` records what it uses of the run-time. `taken`, `places`: as in loops/lower.py."""
    printer = _Printer(needs)
    product = as_product(kernel)
    if product is not None:
        (output,), (name,) = kernel.outputs, outputs
        printer.body(placed(Array(name, output.kind), output, places.get(name)))
        texts = [operand.text for operand in operands]
        return [*printer.lines, *product_lines(product, kernel, texts, name, needs)]
    found = order.loops(kernel, operands, outputs, taken, places)
    printer.body(found.declared)
    for nest in found.nests:
        printer.body(nest.body)
    printer.body(found.converted)
    return printer.lines


def when_over(kernel: Kernel, operands: Sequence[Operand]) -> str | None:
    """The condition under which outputs overwrite operands; as in loops/order.py."""
    return None if as_product(kernel) is not None else order.when_over(kernel, operands)


class _Printer(LoopPrinter):
    def __init__(self, needs: Needs) -> None:
        style = CStyle()
        style.functions = needs.functions
        super().__init__(style)
        self.needs = needs

    def statement(self, statement: Statement) -> None:
        match statement:
            case Allocate():
                self.allocate(statement)
            case Alias():
                self.line(f"{self.kinds[statement.array.kind]} *{statement.array.name} = {statement.of};")
            case For():
                self.mark(statement)
                self.loop(statement)
            case Versions():
                self.versions(statement.cases, statement.otherwise)
            case Speculate():
                self.speculate(statement)
            case Poll():
                every = "" if statement.every == 1 else f"!({statement.index} % {statement.every}) && "
                self.line(self.needs.stop(every))
            case Prefetch():
                self.line(f"__builtin_prefetch(&{self.style.place(statement.entry)} + {statement.ahead});")
            case If():
                self.needs.vectors |= statement.test == HAS_VECTORS
                super().statement(statement)
            case _:
                super().statement(statement)

    def allocate(self, statement: Allocate) -> None:
        new = self.needs.room(statement.words)
        array, place = statement.array, statement.place
        where = f"{place} ? {place} : {new}" if place else new
        self.line(f"{self.kinds[array.kind]} *restrict {array.name} = {where};")

    def versions(self, cases: Sequence[tuple[str, Body]], otherwise: Body) -> None:
        for number, (condition, body) in enumerate(cases):
            self.line(f"#{'elif' if number else 'if'} {condition}")
            self.body(body)
        if otherwise:
            self.line("#else")
            self.body(otherwise)
        self.line("#endif")

    def speculate(self, statement: Speculate) -> None:
        flag = statement.flag
        self.line(f"int {flag} = {self.text(statement.far)};")
        for number, (condition, body) in enumerate(statement.attempts):
            self.line(f"#{'elif' if number else 'if'} {condition}")
            self.body(body)
        self.line("#else")
        self.line(f"{flag} = 1;")
        self.line("#endif")
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
            self.line(line)
