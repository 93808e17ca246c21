"""Routine → C text: calls of what runtime.c has around LAPACK, and of a sort.

In: a routine, the names of its operands and of its outputs.  Out: lines, which declare the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlad.core.kernels import Routine, contiguous

ORDER = "vlad_order"
ROOM = 3  # words that it takes for each that it sorts


def routine_lines(routine: Routine, operands: Sequence[str], outputs: Sequence[str]) -> list[str]:
    lines = [
        f"double *restrict {name} = vlad_array({output.size}L);"
        for name, output in zip(outputs, routine.outputs, strict=True)
        if output.size is not None
    ]
    n, count = routine.rows, 1
    for extent in routine.extents:
        count *= extent
    given = [f"(const double *){operand}" for operand in operands]
    match routine.name:
        case "order":
            (found,) = outputs
            room = f"vlad_array({ROOM * n}L)"
            return [*lines, f"{ORDER}({n}L, {', '.join(given)}, (long *){found}, {room});"]
        case "factors" | "triangle":
            name = "vlad_factor" if routine.name == "factors" else "vlad_triangle"
            found, status = outputs
            return [*lines, f"double {status} = {name}({count}L, {n}L, {given[0]}, {found});"]
        case "spectrum":
            return [*lines, f"vlad_spectrum({count}L, {n}L, {given[0]}, {', '.join(outputs)});"]
        case "orthogonal" | "singular":
            sides = f"{n}L, {routine.columns}L"
            return [*lines, f"vlad_{routine.name}({count}L, {sides}, {given[0]}, {', '.join(outputs)});"]
        case "determinant":
            if not lines:
                return [f"double {outputs[0]} = vlad_determinant({n}L, {given[0]});"]
            at = f"{outputs[0]}[i] = vlad_determinant({n}L, {given[0]} + {n * n + n} * i);"
            return [*lines, f"for (long i = 0; i < {count}; i++) {at}"]
    return [*lines, *_solutions(routine, given, outputs[0])]


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
    call = f"{name}({int(routine.transposed)}, {n}L, {m}L, {given[0]} + {factors}, {given[1]} + {at}, {output} + {at});"
    return [*["  " * depth + head for depth, head in enumerate(heads)], "  " * len(heads) + call]
