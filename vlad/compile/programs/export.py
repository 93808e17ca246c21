"""Standalone libraries, for `vlad build --lib`: procedures and their derivatives, their names in C, the header.

In: the steps of a program, and the procedures to export.  Out: the C text and the header. Called by session.py.
Raises VladError if a procedure cannot be exported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.analysis.strategy import Settled, fit
from vlad.compile.emit import c_unit
from vlad.compile.emit.c_names import may_be_exported, may_be_parameter
from vlad.compile.emit.c_text import comment, identifier
from vlad.compile.ir.acting import returning_functions
from vlad.compile.programs.build import error_text, standalone
from vlad.compile.programs.whole import Steps, Whole, settled
from vlad.core.types import Type, is_table
from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import Role, Value

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """A procedure that a library exports. `make` converts a text with `f` free to a procedure. `parameters`: the names of its
    parameters, if they are not those in its text: a translated Python function's."""

    name: str
    f: Value
    span: Span | None
    make: Callable[[str], Value]
    derivatives: bool  # are they exported as well?
    parameters: tuple[str, ...] | None = None


def library_text(machine: Machine, steps: Steps, wanted: list[Wanted], name: str) -> tuple[str, str]:
    """The C text and the header of a library with these procedures and their derivatives. Raises VladError."""
    used = replace(steps, steps=[step for step in steps.steps if step.cell is not None])
    return settled(lambda strategy: _library(Whole(machine, used, strategy), wanted, name))


def _library(whole: Whole, wanted: list[Wanted], name: str) -> tuple[tuple[str, str], Settled]:
    """The text and the header, and the outcome of the attempt."""
    machine = whole.machine
    real = whole.analysis.types.real
    instances, exports, owners, header = [], [], [], [_HEAD.format(name=name, guard=name.upper())]
    taken = {f"{name}_error"}  # names in use in C
    for one in wanted:
        own_parameters = [parameter.name for parameter in machine.core_of(one.f[0]).parameters]
        if one.parameters is not None:
            own_parameters = list(one.parameters)
        parameters = _free_names(own_parameters, [])
        value = whole.solve(one.f, tuple([real] * len(parameters)), one.span).result
        if value is None:
            raise _no_export(one, "it never returns when it is given reals")
        shape = _Shape(whole.analysis, value, one)
        base, family = _exported_name(one, taken)
        taken |= family
        changed = _named(base, parameters, one, own_parameters)
        if changed:
            header.append(f"/* In the program, {changed}. */")
        for suffix, more, text, description in _variants(parameters, shape, one.derivatives):
            f = one.make(text)
            names = (*parameters, *more)
            instance = whole.solve(f, tuple([real] * len(names)), one.span)
            if instance.result is None:
                raise _no_export(one, "its derivative never returns")
            instances.append(instance)
            exports.append(c_unit.Export(base + suffix, names))
            owners.append(one)
            takes = ", ".join([f"double {parameter}" for parameter in names])
            header.append(f"/* {description} */\nint {base}{suffix}({takes}, double *results);")
            header.append(f"int {base}{suffix}_rows(long rows, const double *arguments, double *results);\n")
    program = standalone(whole, *instances)
    returning = returning_functions(program.functions)
    for entry, one in zip(program.entries[1:], owners, strict=True):
        if entry not in returning:
            raise _no_export(one, "it fails whatever reals it is given")
    text = c_unit.emit_library(program, exports, error_text, name)
    return (text, "\n".join(header) + _FOOT), fit(program, whole.analysis.types)


_HEAD = """\
/* {name}: procedures of the language vlad and their derivatives, made by `vlad build --lib`.
   Each returns 0, and stores its results in order; otherwise {name}_error describes the error. The form ..._rows computes so
   many rows of arguments, stored one after the other. One thread at a time. */
#ifndef VLAD_{guard}_H
#define VLAD_{guard}_H
#ifdef __cplusplus
extern "C" {{
#endif

const char *{name}_error(int status);
"""

_FOOT = """
#ifdef __cplusplus
}
#endif
#endif
"""

_UNIT = frozenset({"results", "in", "out", "status", "rows", "arguments"})  # names in use inside the unit
LONGEST_EXPORT = 60  # characters; C compilers distinguish at least 63


def _exported_name(wanted: Wanted, taken: set[str]) -> tuple[str, set[str]]:
    """The C name of a procedure: similar to the program's, but longer if a name of its family is in use. Also returns
    the family.
    """
    suffixes = ("", "_jvp", "_vjp") if wanted.derivatives else ("",)
    base = identifier(wanted.name)[:LONGEST_EXPORT]
    while True:
        own = {base + suffix + rows for suffix in suffixes for rows in ("", "_rows")}
        if own.isdisjoint(taken | _UNIT) and all(map(may_be_exported, own)):
            return base, own
        base += "_"


def _named(base: str, parameters: list[str], wanted: Wanted, own: list[str]) -> str:
    """The differences between the C names of a procedure and its parameters and those of the program; "" if there are none."""
    changed = [
        (one, name) for one, name in zip([base, *parameters], [wanted.name, *own], strict=True) if one != name
    ]
    return ", ".join([f"{one} is {comment(name)}" for one, name in changed])


def _free_names(wanted: list[str], taken: list[str]) -> list[str]:
    """These names as identifiers, extended if they are in use, or keywords of C or names of the unit."""
    names: list[str] = []
    for name in wanted:
        name = identifier(name)[:LONGEST_EXPORT]
        while name in taken or name in names or name in _UNIT or not may_be_parameter(name):
            name += "_"
        names.append(name)
    return names


class _Shape:
    """The reals in a result, as texts that access them. Raises VladError if their number is unknown."""

    def __init__(self, analysis: Analysis, type_: Type, wanted: Wanted) -> None:
        self.types = analysis.types
        self.wanted = wanted
        self.count = 0
        self.sensitivity = self._sensitivity(type_, "v")
        self._type = type_

    def reals(self, of: str) -> list[str]:
        found: list[str] = []
        self._reals(self._type, of, found)
        return found

    def _reals(self, type_: Type, path: str, found: list[str]) -> None:
        type_ = self.types.canonical(type_)
        if type_.kind == "pair":
            self._reals(type_.parts[0], f"(car {path})", found)
            self._reals(type_.parts[1], f"(cdr {path})", found)
        elif type_.head == "real":
            found.append(f"(real {path})")

    def _sensitivity(self, type_: Type, path: str) -> str:
        type_ = self.types.canonical(type_)
        if type_.kind == "pair":
            left = self._sensitivity(type_.parts[0], f"(car {path})")
            return f"(cons {left} {self._sensitivity(type_.parts[1], f'(cdr {path})')})"
        if type_.head == "real":
            self.count += 1
            return f"s{self.count}"
        if type_.kind == "constant":
            return f"(zero {path})"
        what = (
            _kind_of(type_, self.wanted) if type_.kind == "closure" else "a structure whose size is not known"
        )
        if type_.kind == "boolean":
            what = "a boolean"
        elif type_.kind == "union" and all(member.kind != "pair" for member in self.types.members(type_)):
            what = "now of one kind, now of another"
        raise _no_export(self.wanted, f"its result is {what}")


def _kind_of(closure: Type, wanted: Wanted) -> str:
    """What a closure is to the user."""
    if is_table(closure):
        of_python = wanted.parameters is not None
        return "a set: return a list" if of_python else "a table: return a list of its values"
    if closure.of.role is Role.VECTOR:
        return "a vector: return a list of its elements"
    if closure.of.role is Role.RECORD:
        return f"a record of type {closure.of.name}: return a list of its fields"
    return "a procedure"


OF_REALS = (
    "a procedure of a library takes reals, and returns a real or a structure of so many; "
    "around one that takes a list, export (define (g a b) (f (list a b)))"
)
OF_NUMBERS = "a function of a library returns a number, or tuples and lists of so many"


def _no_export(wanted: Wanted, reason: str) -> VladError:
    return VladError(
        "not-exported",
        f"`{wanted.name}` cannot be exported: {reason}",
        wanted.span,
        hint=OF_REALS if wanted.parameters is None else OF_NUMBERS,
    )


def _variants(
    parameters: list[str], shape: _Shape, derivatives: bool
) -> Iterator[tuple[str, list[str], str, str]]:
    """Suffix, further parameters, text and description of each function exported for a procedure."""
    xs = [f"x{index}" for index in range(1, len(parameters) + 1)]
    ds = [f"d{index}" for index in range(1, len(parameters) + 1)]
    ss = [f"s{index}" for index in range(1, shape.count + 1)]
    tangents = _free_names([f"d_{name}" for name in parameters], parameters)
    sensitivities = _free_names(["s"] if shape.count == 1 else ss, parameters)
    x, d = _tuple(xs), _tuple(ds)
    count = len(shape.reals("v"))
    values = f"results[0..{count - 1}]: its value" if count > 1 else "results[0]: its value"
    yield (
        "",
        [],
        f"(lambda ({' '.join(xs)}) (let ((v (f {' '.join(xs)}))) {_list_text(shape.reals('v'))}))",
        values,
    )
    if not derivatives:
        return
    yield (
        "_jvp",
        tangents,
        f"(lambda ({' '.join(xs + ds)}) (let ((y (jvp-F f {x} {d})))"
        f" {_list_text(shape.reals('(car y)') + shape.reals('(cdr y)'))}))",
        f"{values}; then its derivative along {', '.join(tangents)}",
    )
    places = []
    for index in range(len(xs)):
        path = "(cdr " * index + "g" + ")" * index
        places.append(f"(real (car {path}))" if index + 1 < len(xs) else f"(real {path})")
    yield (
        "_vjp",
        sensitivities,
        f"(lambda ({' '.join(xs + ss)}) (let* ((y (vjp-R f {x})) (v (car y)) (g ((cdr y) {shape.sensitivity})))"
        f" {_list_text(shape.reals('v') + places)}))",
        f"{values}; then the sensitivities of {', '.join(parameters)} to the value times {', '.join(sensitivities)}",
    )


def _tuple(names: list[str]) -> str:
    text = names[-1]
    for name in reversed(names[:-1]):
        text = f"(cons {name} {text})"
    return text


def _list_text(reals: list[str]) -> str:
    return _tuple([*reals, "'()"])
