"""First-order code → first-order code: calls of procedures without statements become what these pass on.

In: a Program.  Out: the same, changed in place. Called by order.py and, for all calls but those that it looks for, by
fuse_derivatives.py. Most instances of a procedure on structures of known shape only rearrange leaves, or pass them on in a tail
call. Without them the program is a fraction in size, and so is the time of the other passes.
"""

from __future__ import annotations

from collections.abc import Collection

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Function,
    Invoke,
    Leaf,
    Program,
    Return,
    Slot,
    Statement,
    TailInvoke,
    blocks,
    components,
)
from vlad.compile.ir.rewriting import reachable, replace_leaves
from vlad.compile.passes.inlining import taping

Forwards = dict[Function, Return | TailInvoke]  # the ends of functions without statements


def forward(program: Program, outlines: Outlines | None = None, kept: Collection[Function] = ()) -> None:
    """Replace such calls, callees first. Calls in a cycle stay, and those of functions at whose return memory is freed, or that
    are `kept`.
    """
    outlines = outlines or Outlines()
    called = outlines.calls_of(program.functions)
    stay = taping(program.functions, outlines).union(kept)
    number = components(program.functions, called)
    forwards: Forwards = {}
    for function in sorted(program.functions, key=lambda function: number[function]):
        if any(callee in forwards for callee in called[function]):
            _rewrite(function, forwards)
        end = function.body.end
        if function.body.statements or function in stay:
            continue
        if type(end) is Return or (type(end) is TailInvoke and number[end.function] != number[function]):
            forwards[function] = end
    left = set(reachable(program))
    program.functions = [f for f in program.functions if f in left]  # inlining depends on the order
    outlines.forget()


def _rewrite(function: Function, forwards: Forwards) -> None:
    replaced: dict[Slot, Leaf] = {}

    def new(leaf: Leaf) -> Leaf:
        return replaced.get(leaf, leaf) if type(leaf) is Slot else leaf

    for block in blocks(function.body):
        kept: list[Statement] = []
        for statement in block.statements:
            if replaced:
                replace_leaves(statement, new)
            if type(statement) is Invoke and statement.function in forwards:
                end, given = _passed_on(statement, forwards)
                if type(end) is Return:
                    replaced.update(zip(statement.slots, given, strict=True))
                    continue
                statement.function, statement.operands = end.function, given
            kept.append(statement)
        block.statements = kept
        if replaced:
            replace_leaves(block.end, new)
        _rewrite_end(block, forwards)


def _rewrite_end(block: Block, forwards: Forwards) -> None:
    if type(block.end) is TailInvoke and block.end.function in forwards:
        end, given = _passed_on(block.end, forwards)
        block.end = Return(given) if type(end) is Return else TailInvoke(end.function, given, block.end.span)


def _passed_on(call: Invoke | TailInvoke, forwards: Forwards) -> tuple[Return | TailInvoke, tuple[Leaf, ...]]:
    """The end of the called function, and its leaves in terms of the call's operands."""
    given = dict(zip(call.function.parameters, call.operands, strict=True))
    end = forwards[call.function]
    leaves = end.leaves if type(end) is Return else end.operands
    return end, tuple([given.get(leaf, leaf) if type(leaf) is Slot else leaf for leaf in leaves])
