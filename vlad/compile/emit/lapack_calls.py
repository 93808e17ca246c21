"""Routine → C text: calls of the wrappers of LAPACK in runtime.c, and of a sort; and sums along an axis.

In: a routine, the names of its operands and of its outputs.  Out: lines, which declare the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlad.compile.emit.c_numbers import long_text
from vlad.compile.emit.loop_text import C_KINDS
from vlad.compile.emit.needs import Needs
from vlad.core.extents import Extent
from vlad.core.loop_nests import Routine, contiguous, is_whole

# The functions of functions.c that routines other than LAPACK's need.
WITHOUT_LAPACK: dict[str, tuple[str, ...]] = {
    "order": ("vlad_order",),
    "places": ("vlad_places",),
    "sums": (),
}
BESIDE_LAPACK = ("exp", "fabs", "log", "sqrt")  # used by the wrappers in runtime.c
ROOM = 4  # words of temporary memory that a sort needs for each number


def routine_lines(
    routine: Routine, operands: Sequence[str], outputs: Sequence[str], needs: Needs
) -> list[str]:
    lines = [
        f"{C_KINDS[output.kind]} *restrict {name} = {needs.array(output)};"
        for name, output in zip(outputs, routine.outputs, strict=True)
        if output.size is not None
    ]
    turns = routine.turns
    if type(turns) is Extent:
        needs.turns[turns] = None
    n, count = routine.rows, 1
    for extent in routine.extents:
        count *= extent
    given = [f"(const double *){operand}" for operand in operands]
    match routine.name:
        case "order":
            (found,) = outputs
            room = needs.room(ROOM * n)
            return [
                *lines,
                f"vlad_order({long_text(n)}, {', '.join(given)}, {found}, {room}, &vlad_stop);",
                needs.stop(turns=routine.turns),
            ]
        case "places" | "sums":
            return [*lines, *_along_an_axis(routine, operands[0], outputs[0], count, needs)]
        case "factors" | "triangle":
            name = "vlad_factor" if routine.name == "factors" else "vlad_triangle"
            found, status = outputs
            return [
                *lines,
                f"double {status} = {name}({long_text(count)}, {long_text(n)}, {given[0]}, {found});",
            ]
        case "spectrum":
            return [
                *lines,
                f"vlad_spectrum({long_text(count)}, {long_text(n)}, {given[0]}, {', '.join(outputs)});",
            ]
        case "orthogonal" | "singular":
            sides = f"{long_text(n)}, {long_text(routine.columns)}"
            return [
                *lines,
                f"vlad_{routine.name}({long_text(count)}, {sides}, {given[0]}, {', '.join(outputs)});",
            ]
        case "determinant":
            if not lines:
                return [f"double {outputs[0]} = vlad_determinant({long_text(n)}, {given[0]});"]
            at = f"{outputs[0]}[i] = vlad_determinant({long_text(n)}, {given[0]} + {n * n + n} * i);"
            return [*lines, f"for (long i = 0; i < {count}; i++) {at}"]
    return [*lines, *_solutions(routine, given, outputs[0])]


def _along_an_axis(routine: Routine, operand: str, output: str, count: int, needs: Needs) -> list[str]:
    """A loop over parts of the array; the current one begins at `at`."""
    n, m, kind = routine.rows, routine.columns, C_KINDS[routine.kind]
    rows, columns, entries = long_text(n), long_text(m), long_text(n * m)
    stop = needs.stop(turns=routine.turns)
    given = f"((const {kind} *){operand})"
    parts = f"for (long at = 0; at < {long_text(count * n * m)}; at += {entries}) {{"
    if routine.name == "places":
        are_reals = int(not is_whole(routine.kind))
        call = f"vlad_places({rows}, {columns}, {are_reals}, {given} + at + i, {output} + at + i, room, &vlad_stop);"
        room = f"unsigned long *room = {needs.room(ROOM * n)};"
        return ["{", room, parts, f"for (long i = 0; i < {m}; i++) {{", call, stop, "}", "}", "}"]
    if routine.transposed:
        first, rest, before = (
            f"i = {long_text(n * m - 1)}; i >= {long_text(n * m - m)}; i--",
            f"i = {long_text(n * m - m - 1)}; i >= 0; i--",
            f"+ {columns}",
        )
    else:
        first, rest, before = (
            f"i = 0; i < {columns}; i++",
            f"i = {columns}; i < {entries}; i++",
            f"- {columns}",
        )
    wrapping = "(unsigned long)" if is_whole(routine.kind) else ""
    return [
        parts, stop, f"for (long {first}) {output}[at + i] = {given}[at + i];",
        f"for (long {rest}) {output}[at + i] = {wrapping}{output}[at + i {before}] + {given}[at + i];", "}",
    ]  # fmt: skip


def _solutions(routine: Routine, given: Sequence[str], output: str) -> list[str]:
    """A call for each index of the batch."""
    n, m, axes = routine.rows, routine.columns, range(len(routine.extents))
    heads = [f"for (long i{axis} = 0; i{axis} < {routine.extents[axis]}; i{axis}++)" for axis in axes]

    def place(strides: Sequence[int], size: int) -> str:
        terms = [f"{stride * size} * i{axis}" for axis, stride in enumerate(strides) if stride]
        return " + ".join(terms) or "0"

    is_triangle = routine.name == "triangular"
    factors = place(routine.factors, n * n if is_triangle else n * n + n)
    at = place(contiguous(routine.extents), n * m)
    name = "vlad_solve_triangle" if is_triangle else "vlad_solve"
    rows, columns = long_text(n), long_text(m)
    call = f"{name}({int(routine.transposed)}, {rows}, {columns}, {given[0]} + {factors}, {given[1]} + {at}, {output} + {at});"
    return [*["  " * depth + head for depth, head in enumerate(heads)], "  " * len(heads) + call]
