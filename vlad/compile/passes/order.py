"""All passes over first-order code, in their order. They only change cost: results and errors stay the same.

In: a Program as analysis/specialize.py makes it.  Out: the same program, changed in place. Called by calling/pipeline.py and
programs/. core/passes.py runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vlad.compile.analysis.abstract_interpreter import locate
from vlad.compile.ir.check import check
from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import Each, Function, Program
from vlad.compile.ir.refusals import Unbounded
from vlad.compile.ir.representation import Representation
from vlad.compile.ir.rewriting import repeated
from vlad.compile.ir.text import program_text
from vlad.compile.passes.carried_values import spread_constants, store_unnegated
from vlad.compile.passes.common_subexpressions import share
from vlad.compile.passes.congruence import find_congruences
from vlad.compile.passes.dead_code import drop_dead
from vlad.compile.passes.forwarding import forward
from vlad.compile.passes.fuse_derivatives import fuse
from vlad.compile.passes.fuse_loops import fuse_kernels
from vlad.compile.passes.inlining import inline
from vlad.compile.passes.merge_functions import merge
from vlad.compile.passes.merge_unions import merge_unions
from vlad.compile.passes.peel_loops import peel
from vlad.compile.passes.ranges import use_ranges
from vlad.compile.passes.reboxing import keep_boxed, reuse_boxes
from vlad.compile.passes.rematerialization import rematerialize
from vlad.compile.passes.row_lanes import lay_out
from vlad.compile.passes.scalar_replacement import dissolve
from vlad.compile.passes.sparse import add_in_places
from vlad.compile.passes.step_counts import coalesce_steps
from vlad.compile.passes.thread_cases import thread_cases
from vlad.compile.passes.triangles import solve_triangles
from vlad.compile.passes.uniqueness import own, owning
from vlad.control.gil_yield import yield_gil
from vlad.core.extents import estimate
from vlad.core.loop_nests import Kernel
from vlad.core.passes import run_pass

Pass = Callable[[Program, Outlines], object]  # changes the program; returns False if it has not

FUSE = "fuse-derivatives"
# After it, which finds derivatives by the calls of their procedures.
FIRST: dict[str, Pass] = {"forwarding": forward}
# Repeated until the size stays about the same, at most ROUNDS times.
REPEATED: dict[str, Pass] = {
    "dead-code": drop_dead,
    "merge-functions": merge,
    "inlining": inline,
    "common-subexpressions": share,
    "scalar-replacement": dissolve,
    "thread-cases": thread_cases,
}
ROUNDS = 4
# After them, for equal values and types, and counters of loops, are found best in small code; if there are any, the others are
# repeated again.
ONCE: dict[str, Pass] = {
    "merge-unions": merge_unions,
    "constants": spread_constants,
    "congruence": find_congruences,
    "ranges": use_ranges,
}
# For C only: on a GPU, each row has a thread. If there were such rows, what is repeated runs again.
ROWS: dict[str, Pass] = {"row-lanes": lay_out}
LOOPS: dict[str, Pass] = {
    "sparse": add_in_places,
    "fuse-loops": fuse_kernels,
    "triangles": solve_triangles,
    "peel-loops": peel,
}
# Passes whose results would impede the others.
LAST: dict[str, Pass] = {
    "keep-boxed": keep_boxed,
    "unnegated": store_unnegated,
    "last-congruence": find_congruences,
    "rematerialization": rematerialize,
    "last-common-subexpressions": share,
    "last-dead-code": drop_dead,
    "reuse-boxes": reuse_boxes,
    "step-counts": coalesce_steps,
}
UNIQUENESS: dict[str, Pass] = {"uniqueness": own}
PASSES: dict[str, Pass] = {
    **FIRST,
    **REPEATED,
    **ONCE,
    **ROWS,
    **LOOPS,
    **LAST,
    **UNIQUENESS,
}  # those that need no more than the program
NAMES = (FUSE, *PASSES)

MANY, NEGLIGIBLE = 4_000, 64  # another round over so many statements is not worth one in so many

MOST_ZEROS = 256  # in a sensitivity, per entry that is read of a tensor at a time


def improved(program: Program, layout: Representation, writes_over: bool = True) -> Program:
    """A program after all passes. `writes_over`: whether arrays may reuse memory. Raises Unbounded."""
    outlines = Outlines()
    _run({FUSE: lambda program, outlines: fuse(program, layout), **FIRST}, program, outlines)
    _repeat(program, outlines)
    if any(_run(ONCE, program, outlines)):
        _repeat(program, outlines)
    if writes_over and any(_run(ROWS, program, outlines)):
        _repeat(program, outlines)
    _run({**LOOPS, **LAST}, program, outlines)
    if writes_over:
        _run(UNIQUENESS, program, outlines)
    _refuse_thin(program, outlines, writes_over)
    return program


def _repeat(program: Program, outlines: Outlines) -> None:
    """Run the repeated passes; not again those that would find nothing, as before, since nothing has changed since."""
    changes = 0
    found_nothing: dict[str, int] = {}  # by pass: after how many changes
    for _ in range(ROUNDS):
        before = size(program, outlines)
        for name, change in REPEATED.items():
            if found_nothing.get(name) == changes:
                continue
            (is_changed,) = _run({name: change}, program, outlines)
            if is_changed:
                changes += 1
            else:
                found_nothing[name] = changes
        if abs(size(program, outlines) - before) <= (before // NEGLIGIBLE if before > MANY else 0):
            break


def _run(passes: Mapping[str, Pass], program: Program, outlines: Outlines) -> list[object]:
    """Run passes; returns what they return: False if that is known to have changed nothing."""
    returned: list[object] = []

    def check_changed(program: Program, after: str) -> None:
        if returned[-1] is not False:
            check(program, after)

    for name, change in passes.items():

        def changed(program: Program, change: Pass = change) -> Program:
            returned.append(change(program, outlines))
            return program

        run_pass(name, changed, program, check_changed, program_text, in_place=True)
        yield_gil()
    return returned


def size(program: Program, outlines: Outlines | None = None) -> int:
    """The number of statements."""
    outlines = outlines or Outlines()
    return sum([len(outlines[function].statements) for function in program.functions])


def has_thin(program: Program) -> bool:
    """Whether a program has loops that `improved` may refuse; before all passes there are more than afterwards."""
    return next(_thin(program, Outlines()), None) is not None


def _thin(program: Program, outlines: Outlines) -> Iterator[tuple[Function, Each]]:
    for function in program.functions:
        for statement in outlines[function].statements:
            if type(statement) is Each and statement.is_loop and _is_thin(statement.kernel):
                yield function, statement


def _refuse_thin(program: Program, outlines: Outlines, writes_over: bool) -> None:
    """Raise Unbounded if a loop makes a sensitivity, or a copy of one, that is zero except at the few entries
    it reads: compiled code would write it in full in each iteration, while tier 0 stores only these entries.
    """
    thin = [*_thin(program, outlines)]
    if thin:
        owned = owning(program) if writes_over else {}
        again = repeated(program.functions)
        for function, statement in thin:
            if function in again and statement not in owned:
                refusal = Unbounded(
                    "sensitivities of large tensors that are read entry by entry are not compiled yet",
                    statement.span,
                    hint="operations on whole tensors are compiled, and loops over rows of them",
                )
                locate(refusal, statement.span, function.origin)
                raise refusal


def _is_thin(kernel: Kernel) -> bool:
    for write in kernel.writes:
        output = kernel.outputs[write.output]
        if (
            output.fill is not None
            and output.size is not None
            and write.access is not None
            and write.access.at
        ):
            return estimate(output.size) > MOST_ZEROS * max(estimate(kernel.turns), 1)
    return False
