"""All passes over loops, in their order. They change costs, not results.

In: a kernel.  Out: its loops in the loop language, optimized, for the printers in emit/. Each pass has its own file;
core/passes.py runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from vlad.compile.loops.check import check, check_function
from vlad.compile.loops.divide_once import divide_once, divide_once_in_threads, fold_negations
from vlad.compile.loops.ir import Condition, GridFunction, Loops, Nest, Speculate
from vlad.compile.loops.lower import Operand, Place, lower, lower_pieces
from vlad.compile.loops.lower_parallel import Parallel, lower_parallel
from vlad.compile.loops.mark_parallel import mark_parallel
from vlad.compile.loops.multiple_accumulators import accumulate_in_several
from vlad.compile.loops.roots import take_roots
from vlad.compile.loops.scaling import scale
from vlad.compile.loops.split import split
from vlad.compile.loops.text import function_text, loops_text
from vlad.compile.loops.vectorize import vectorize
from vlad.compile.loops.walking import statements
from vlad.core.extents import at_most
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
IN_A_THREAD: dict[str, Pass] = {"scaling": scale, "fold-negations": fold_negations}
NAMES = tuple(dict.fromkeys([*PASSES, *IN_THREADS]))
LAST = "fold-negations"  # in both orders


def loops(
    kernel: Kernel,
    operands: Sequence[Operand],
    outputs: Sequence[str],
    taken: Mapping[int, int],
    places: Mapping[int, Place],
    divides: bool = False,
) -> Loops:
    """The loops of a kernel for a processor. `outputs`, `taken`, `places`, `divides`: as in lower.py."""
    condition = when_over(kernel, operands, divides) if taken else None
    found = lower(kernel, operands, outputs, condition, taken, places, divides)
    if condition is Condition.VECTORS:
        over = frozenset([operands[operand].number for operand in taken.values()])
        found = replace(found, nests=tuple([replace(nest, over=over) for nest in found.nests]))
    for name, change in PASSES.items():
        found = run_pass(name, partial(_on_nests, change), found, check, loops_text)
    return found


def loops_in_a_thread(
    kernel: Kernel, operands: Sequence[Operand], outputs: Sequence[str], taken: Mapping[int, int]
) -> Loops:
    """The loops of a kernel that one thread of a GPU runs; parameters as of `loops`."""
    found = lower(kernel, operands, outputs, None, taken, {})
    for name, change in IN_A_THREAD.items():
        found = run_pass(name, partial(_on_nests, change), found, check, loops_text)
    return found


def _on_nests(change: Pass, loops: Loops) -> Loops:
    nests = tuple([change(nest) for nest in loops.nests])
    is_same = all(one is other for one, other in zip(nests, loops.nests, strict=True))
    return loops if is_same else replace(loops, nests=nests)


def parallel_loops(kernel: Kernel, kinds: str, name: str) -> Parallel:
    """The functions of a kernel for a GPU; parameters as in lower_parallel.py. Raises Unfit."""
    found = lower_parallel(kernel, kinds, name)
    return replace(found, functions=tuple([_in_threads(function) for function in found.functions]))


def _in_threads(function: GridFunction) -> GridFunction:
    for name, change in IN_THREADS.items():
        function = run_pass(name, partial(_on_nest, change), function, check_function, function_text)
    return function


def _on_nest(change: Pass, function: GridFunction) -> GridFunction:
    nest = change(function.nest)
    return function if nest is function.nest else replace(function, nest=nest)


def when_over(kernel: Kernel, operands: Sequence[Operand], divides: bool) -> Condition | None:
    """The condition under which outputs overwrite operands that they may reuse; None for never."""
    pieces = lower_pieces(kernel, operands, [""] * len(kernel.outputs), divides)
    conditions = {_when_over(piece.nest()) for piece in pieces}
    is_one = len(conditions) == 1 and (len(pieces) == 1 or Condition.ALWAYS in conditions)
    return conditions.pop() if is_one else None


def _when_over(nest: Nest) -> Condition | None:
    """None if a loop may be repeated, unless its vector version keeps the operands until then; and for short loops, which are
    unrolled: the C compiler vectorizes them by itself if outputs do not overlap operands."""
    if at_most(nest.turns, SHORT):
        return None
    for change in PASSES.values():
        nest = change(nest)
    repeated = [one for one in statements(nest.body) if type(one) is Speculate]
    if not repeated:
        return Condition.ALWAYS
    conditions = [condition for one in repeated for condition, _ in one.attempts]
    return Condition.VECTORS if Condition.VECTORS in conditions else None
