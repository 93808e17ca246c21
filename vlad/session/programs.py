"""Whole programs, for `vlad check` and `vlad build`: everything that a file does, in order, without running it.

In: a file.  Out: the types of its names, or files with machine code (compile/programs/). Called by session.py
on first use, as the modules that check and build take time to import.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from vlad.compile.calling.notices import notice_of_step
from vlad.compile.calling.policy import Tiers
from vlad.compile.emit.c_text import identifier
from vlad.compile.ir.refusals import Unavailable
from vlad.compile.programs.build import program_text
from vlad.compile.programs.check import Examples, Report, check
from vlad.compile.programs.export import Wanted, library_text
from vlad.compile.programs.whole import Defined, Named, Step, Steps
from vlad.core.nodes import Body, Constant, GlobalReference
from vlad.data.errors import VladError
from vlad.data.source import Source, Span
from vlad.data.values import NIL, Global, Value, is_procedure
from vlad.expand.arity import signature
from vlad.expand.items import Definition, Expression
from vlad.session.examples import example_items, no_procedure, wrong_examples
from vlad.session.files import Path, find, load
from vlad.session.top_level import TopLevel, is_written, only_lambda
from vlad.session.trying import try_forms


class Program:
    """The top level of a file, or of a text that an editor has changed. `errors`: those of the reader and the expander, and names
    that are defined twice; an error in one form does not affect the others."""

    def __init__(self, top_level: TopLevel, program: Path | Source) -> None:
        self._top_level = top_level
        self._steps = Steps([], [], [], lambda name: self._tried.may_define(name))
        top_level.note, top_level.note_import = self._note, self._note_import
        try:
            self._source = program if isinstance(program, Source) else load(find(program, [""]))
            self._tried = try_forms(top_level, self._source)
        finally:
            top_level.note = top_level.note_import = None
        self.errors = [error for error, _ in self._tried.errors]

    def _note(self, item: Definition | Expression, shown: bool) -> None:
        """Record a form, instead of executing it. Procedures are made at once."""
        top_level, steps = self._top_level, self._steps
        cell = item.cell if isinstance(item, Definition) else None
        if cell is not None:
            self._expect_new(cell, item.span)
            lambda_ = only_lambda(item.body)
            if lambda_ is not None:
                replaces = hasattr(cell, "value")
                top_level.define(cell, top_level.machine.top_level(lambda_))
                steps.defined.append(Defined(cell, steps.count, replaces, cell.value, item.span))
                return
        body = _with_present_meaning(item.body)
        thunk = top_level.thunk(body, item.span)
        shown = shown and cell is None
        is_import = isinstance(item, Definition) and item.is_import
        steps.steps.append(Step(cell, thunk, item.span, shown, is_written(body), steps.count, is_import))

    def _note_import(self, cell: Global, span: Span) -> None:
        """Record that a name gets the value that a module gives it."""
        self._expect_new(cell, span)
        self._steps.imported.append(Named(cell, self._steps.count, hasattr(cell, "value")))

    def _expect_new(self, cell: Global, span: Span) -> None:
        if self._steps.defines(cell):
            raise VladError(
                "defined-twice",
                f"{cell.name} is defined a second time",
                span,
                hint="a program that is checked or built as a whole defines each name once",
            )

    def check(self, arguments: str, name: str | None) -> tuple[list[str], list[VladError]]:
        """The types of definitions and expressions, a line each, and the type errors. Notice is given of what is not compiled.
        `arguments`: a text of example arguments, for the procedure of this name, or for those that the program does not use."""
        with self._top_level.within(self._source.name):
            examples = self._examples(arguments, name) if arguments or name else None
            report = self._clarified(check(self._top_level.machine, self._steps, examples))
        for unbounded, span in report.refusals:
            self._top_level.tiers.give_notice(notice_of_step(unbounded, span))
        lines = [typed.text for typed in report.types]
        return lines, list({str(error): error for error in (*self.errors, *report.errors)}.values())

    def typed(self) -> Report:
        """The same as data, with the types of local variables and of all expressions."""
        with self._top_level.within(self._source.name):
            return self._clarified(check(self._top_level.machine, self._steps, places=True))

    def _clarified(self, report: Report) -> Report:
        """A report whose errors suggest other names, without names that forms with errors may define."""
        suggest = self._top_level.suggestions.suggest
        reported = [self._tried.reported(one, suggest) for one in report.errors]
        report.errors[:] = [one for one in reported if one is not None]
        return report

    def _examples(self, arguments: str, name: str | None) -> Examples:
        top_level = self._top_level
        steps = [
            Step(None, top_level.thunk(item.body, item.span), item.span)
            for item in example_items(top_level, arguments)
        ]
        if name is None:
            return Examples(steps, None)
        wanted = next((one for one in self._steps.defined if one.cell.name == name), None)
        if wanted is None:
            known = [one.cell.name for one in self._steps.defined]
            raise no_procedure(name, self._source.name, known)
        taken = signature(top_level.machine, wanted.value[0])
        if not taken.takes_as_many(len(steps)):
            raise wrong_examples(taken, len(steps))
        return Examples(steps, wanted)

    def build(self, output: str, exports: Mapping[str, bool], library: bool, native: bool) -> list[str]:
        """Build a program, or a library of what it `exports`, with derivatives if the value is true; returns the written
        files.
        """
        if self.errors:
            raise self.errors[0]
        top_level, machine = self._top_level, self._top_level.machine
        if os.path.realpath(output) == os.path.realpath(self._source.name):
            raise VladError(
                "cannot-write", f"Cannot write: {output}", hint="it is the program that is to be built"
            )
        header = None
        if library:
            base = identifier(os.path.basename(output).partition(".")[0])
            wanted = [self._wanted(name, derivatives) for name, derivatives in exports.items()]
            text, header = library_text(machine, self._steps, wanted, base)
        else:
            text = program_text(machine, self._steps)
        return write_built(top_level.tiers, text, output, header, self._source.name, native)

    def _wanted(self, name: str, derivatives: bool) -> Wanted:
        """A procedure that a library exports, with the means to derive others from it."""
        top_level = self._top_level
        cell = top_level.module.cells.get(name)
        value: Value = getattr(cell, "value", NIL)
        if not is_procedure(value):
            raise VladError(
                "unbound-variable",
                f"No procedure of that name: {name}",
                hint="--export names one that the file defines",
            )

        def make(text: str) -> Value:
            procedure = top_level.procedure(["f"], Source("<export>", text), top_level.library)
            return top_level.machine.apply(procedure, value)

        return Wanted(name, value, top_level.machine.core_of(value[0]).span, make, derivatives)


def _with_present_meaning(body: Body) -> Body:
    """A body that is another name of a procedure, with the procedure: the program may define that name anew."""
    if body.bindings or type(body.result) is not GlobalReference:
        return body
    value: Value = getattr(body.result.cell, "value", NIL)
    return Body((), Constant(value)) if is_procedure(value) else body


def write_built(
    tiers: Tiers, text: str, output: str, header: str | None, name: str, native: bool
) -> list[str]:
    """Compile the C text of the program or procedure `name`; with a `header`, which is written beside it, it is a library's.
    Returns the written files. Raises VladError."""
    from vlad.compile.native import toolchain  # subprocess; `check` does not need it

    written_to = [output]
    try:
        toolchain.build_executable(
            text,
            output,
            optimize=tiers.optimize,
            fast_math=tiers.fast_math,
            native=native,
            shared=header is not None,
        )
        if header is not None:
            beside = os.path.splitext(output)[0] + ".h"
            written_to.append(beside)
            with open(beside, "w", encoding="utf-8") as file:
                file.write(header)
    except Unavailable as unavailable:
        raise VladError("no-compiler", f"Cannot build {name}: {unavailable}") from None
    except OSError as error:
        raise VladError("cannot-write", f"Cannot write: {output}", hint=error.strerror or "") from None
    return written_to
