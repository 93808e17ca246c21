"""Loops over arrays of a large unit → functions of C, one for all loops that are equal but for the names of their operands.

In: a loop, with its lines.  Out: the text of its function, which the unit keeps, and the line that calls it. A network of equal
layers has most loops several times, and the C compiler takes more time for a procedure of thousands of loops than for the
loops one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vlad.compile.emit.c_text import C_TYPES
from vlad.compile.emit.loop_text import C_KINDS
from vlad.compile.ir.program import Each, Program, statements
from vlad.compile.ir.rewriting import leaf_kind
from vlad.compile.loops.lower import Operand
from vlad.core.extents import at_most

MANY = 64  # loops in a unit; a small one is compiled sooner as it is
FEW = 64  # turns of a loop that a call would slow down
NAME = "@loops@"


def has_many(program: Program) -> bool:
    loops = [s for f in program.functions for s in statements(f.body) if type(s) is Each and s.is_loop]
    return len(loops) >= MANY


def is_long(statement: Each) -> bool:
    """Do its turns take longer than a call?"""
    return not at_most(statement.kernel.turns, FEW)


def call_lines(
    statement: Each,
    operands: Sequence[Operand],
    outputs: Sequence[str],
    lines: Callable[[list[Operand], list[str]], list[str]],
    types: Mapping[int, str],
    result_type: Callable[[str], str],
    functions: dict[str, str],
) -> list[str]:
    """The lines of a call. `lines`: those of the loop, for operands and outputs of these names; `types`: the types of C of
    operands that are variables; `result_type`: the one for results of these kinds; `functions`: the names by text of those that
    there are."""
    named = [one._replace(name=f"of_{number}") for number, one in enumerate(operands)]
    passed = [
        (named[number].name, one.name, types.get(number) or C_TYPES[leaf_kind(statement.operands[number])])
        for number, one in enumerate(operands)
        if one.number == number and one.known is None
    ]
    made = [f"out_{number}" for number in range(len(outputs))]
    kinds = "".join([slot.kind for slot in statement.slots])
    type_ = result_type(kinds)
    returned = made[0] if len(made) == 1 else f"({type_}){{{', '.join(made)}}}"
    parameters = ", ".join([f"{type_} {name}" for name, _, type_ in passed]) or "void"
    text = "\n".join(
        [
            f"static __attribute__((noinline)) {type_} {NAME}({parameters}) {{",
            *lines(named, made),
            f"return {returned};",
            "}",
        ]
    )
    name = functions.setdefault(text, f"vlad_loops_{len(functions) + 1}")
    call = f"{name}({', '.join([given for _, given, _ in passed])})"
    results = [
        "double " if output.size is None else f"{C_KINDS[output.kind]} *"
        for output in statement.kernel.outputs
    ]
    if len(made) == 1:
        return [f"{results[0]}{outputs[0]} = {call};"]
    both = f"{outputs[0]}_and"
    return [
        f"{type_} {both} = {call};",
        *[
            f"{own}{output} = {both}._{n};"
            for n, (own, output) in enumerate(zip(results, outputs, strict=True))
        ],
    ]


def function_texts(functions: dict[str, str]) -> list[str]:
    return [text.replace(NAME, name, 1) for text, name in functions.items()]
