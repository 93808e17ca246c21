"""All passes over loops, in their order. They change costs, not results.

In: a kernel.  Out: its loops in the loop language, optimized, for the printers in emit/. Each pass has its own file;
core/passes.py runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from vlad.compile.loops.check import check
from vlad.compile.loops.ir import Nest, Speculate
from vlad.compile.loops.lower import Lowered, Operand, Place, lower, lower_pieces
from vlad.compile.loops.lower_parallel import Parallel, lower_parallel
from vlad.compile.loops.multiple_accumulators import accumulate_in_several
from vlad.compile.loops.quotients import divide_once, divide_once_in_threads, fold_negations
from vlad.compile.loops.roots import take_roots
from vlad.compile.loops.scaling import scale
from vlad.compile.loops.simd import mark_parallel
from vlad.compile.loops.split import split
from vlad.compile.loops.text import nest_text
from vlad.compile.loops.vectorize import WIDE, runs_twice_in_vectors, vectorize
from vlad.compile.loops.walking import statements
from vlad.core.loop_nests import SHORT, Kernel
from vlad.core.passes import run_pass

Pass = Callable[[Nest], Nest]

PASSES: dict[str, Pass] = {
    "scaling": scale,
    "divide-once": divide_once,
    "mark-parallel": mark_parallel,
    "split": split,
    "multiple-accumulators": accumulate_in_several,
    "vectorize": vectorize,
    "roots": take_roots,
    "fold-negations": fold_negations,
}
IN_THREADS: dict[str, Pass] = {
    "scaling": scale,
    "divide-once-in-threads": divide_once_in_threads,
    "fold-negations": fold_negations,
}
NAMES = tuple(dict.fromkeys([*PASSES, *IN_THREADS]))
LAST = "fold-negations"  # in both orders


def improved(nest: Nest, passes: Mapping[str, Pass] = PASSES) -> Nest:
    for name, change in passes.items():
        nest = run_pass(name, change, nest, check, nest_text)
    return nest


def loops(
    kernel: Kernel,
    operands: Sequence[Operand],
    outputs: Sequence[str],
    taken: Mapping[int, int],
    places: Mapping[str, Place],
) -> Lowered:
    """The loops of a kernel for a processor. `taken`, `places`: as in lower.py."""
    condition = when_over(kernel, operands) if taken else None
    found = lower(kernel, operands, outputs, condition, taken, places)
    over = [operands[operand].text for operand in taken.values()] if condition == WIDE else []
    nests = [improved(replace(nest, over=frozenset(over))) for nest in found.nests]
    return replace(found, nests=tuple(nests))


def parallel_loops(kernel: Kernel, kinds: str, name: str) -> Parallel:
    """The functions of a kernel for a GPU; parameters as in lower_parallel.py. Raises Unfit."""
    found = lower_parallel(kernel, kinds, name)
    functions = [replace(one, nest=improved(one.nest, IN_THREADS)) for one in found.functions]
    return replace(found, functions=tuple(functions))


def when_over(kernel: Kernel, operands: Sequence[Operand]) -> str | None:
    """The condition under which outputs overwrite operands that they may reuse: one of the preprocessor, "" for always, None for
    never."""
    pieces = lower_pieces(kernel, operands, [""] * len(kernel.outputs))
    conditions = {_when_over(piece.nest()) for piece in pieces}
    return conditions.pop() if len(conditions) == 1 and (len(pieces) == 1 or "" in conditions) else None


def _when_over(nest: Nest) -> str | None:
    """None if a loop may be repeated, unless its vector version keeps the operands until then; and for short loops, which are
    unrolled: the C compiler vectorizes them by itself if outputs do not overlap operands."""
    if nest.turns <= SHORT:
        return None
    divided = divide_once(scale(nest))
    if not any(type(one) is Speculate for one in statements(divided.body)):
        return ""
    return WIDE if runs_twice_in_vectors(vectorize(divided)) else None
