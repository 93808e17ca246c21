"""First-order code → first-order code: a procedure and its derivative at the same point become one call.

In: a Program as specialize.py makes it.  Out: the same program, changed in place. Transformed code does everything that the
procedure does, by the same operations, and more; so `(f y)`, followed by the gradient of f at y as in every line
search, becomes one call of the transformed f, whose primal is the value. The derivative is then begun speculatively;
this costs at most as much as a derivative.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from vlad.compile.ir.acting import acting_functions
from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Function,
    Invoke,
    Leaf,
    Program,
    Slot,
    Statement,
    components,
    inner_blocks,
)
from vlad.compile.ir.representation import Representation
from vlad.compile.ir.rewriting import inline_calls, reachable, recursive, same_operands, substitute
from vlad.compile.passes.forwarding import forward
from vlad.compile.passes.inlining import LARGEST
from vlad.core.types import Type
from vlad.data.values import ZERO, Code

ROUNDS = 8  # levels of procedures around a derivative's call that are inlined
WRAPPER = 200  # statements of the largest of these

# For a transformed function: the functions it contains, each with the positions of its results among those of the transformed
# one.
Pairs = dict[Function, list[tuple[Function, list[int]]]]


def fuse(program: Program, layout: Representation) -> Program:
    pairs = _pairs(program, layout)
    if not pairs:
        return program
    plain = {v for contained in pairs.values() for v, _ in contained}
    containing: Pairs = {}
    for f, contained in pairs.items():
        for v, places in contained:
            containing.setdefault(v, []).append((f, places))
    forward(program, kept=plain | pairs.keys())
    _bring_up(program, pairs, containing, plain)
    for function in program.functions:
        _Fusion(pairs, plain, containing).walk(function)
    program.functions = reachable(program)
    return program


# Which functions contain which.


def _pairs(program: Program, layout: Representation) -> Pairs:
    acting = acting_functions(program.functions)
    by_code: dict[Code, list[Function]] = {}
    for function in program.functions:
        if type(function.origin.callee) is Code and function not in acting:
            by_code.setdefault(function.origin.callee, []).append(function)
    pairs: Pairs = {}

    def add(
        larger: Code | None, smaller: Code | None, contains: Callable[[Function, Function], list[int] | None]
    ) -> None:
        candidates: dict[object, list[Function]] = {}
        for v in by_code.get(smaller, ()) if smaller is not None else ():
            candidates.setdefault(key(v), []).append(v)
        for f in by_code.get(larger, ()) if candidates and larger is not None else ():
            for v in candidates.get(key(f), ()):
                places = contains(f, v)
                if places is not None:
                    pairs.setdefault(f, []).append((v, places))

    def key(function: Function) -> object:
        """The operands that both share: the environment, and the last operand."""
        types = (*function.origin.fields, function.origin.operands[-1])
        return tuple([layout.types.canonical(type_) for type_ in types])

    codes: dict[Code, None] = {}
    for code in by_code:
        near = (code, code.base, code.base.tail, code.base.forward)
        codes.update(dict.fromkeys([one for one in near if one is not None]))
    for code in codes:
        for derived, added in ((code.tail, 1), (code.forward, 2)):
            if derived is not None:
                add(derived, code, lambda f, v: _contains(f, v, layout))
                # and under an outer forward transform
                below = partial(_contains_below, added=added, layout=layout)
                add(derived.forward, code.forward, below)
    return pairs


def _contains(f: Function, v: Function, layout: Representation) -> list[int] | None:
    """The positions of v's results among f's, if f is the transform of v: f takes something before v's operands, and returns a
    pair of v's result and more.
    """
    same = layout.types.canonical
    f_result, v_result = f.origin.result, v.origin.result
    if f_result is None or v_result is None or not _same_types(f.origin.fields, v.origin.fields, layout):
        return None
    operands = f.origin.operands[len(f.origin.operands) - len(v.origin.operands) :]
    f_result = same(f_result)
    if not _same_types(operands, v.origin.operands, layout) or f_result.kind != "pair":
        return None
    if same(f_result.parts[0]) is not same(v_result) or len(f.parameters) != len(v.parameters):
        return None
    return list(range(len(v.results)))


def _contains_below(f: Function, v: Function, added: int, layout: Representation) -> list[int] | None:
    """As `_contains`, for both under another forward transform: v takes the tangents of itself and its argument before its
    operands, and returns (y . dy); f takes `added` more operands, whose tangents come first, and returns ((y . more) . (dy .
    dmore)).
    """
    types = layout.types
    f_result, v_result = f.origin.result, v.origin.result
    if f_result is None or v_result is None or not _same_types(f.origin.fields, v.origin.fields, layout):
        return None
    f_own, f_tangent, *f_rest = [types.canonical(operand) for operand in f.origin.operands]
    v_own, v_tangent, *v_rest = [types.canonical(operand) for operand in v.origin.operands]
    for _ in range(added):
        if f_tangent.kind == "pair":
            f_tangent = types.canonical(f_tangent.parts[1])
        elif f_tangent.of is not ZERO:
            return None
    # constants have no leaves either: only zeros are certainly equal
    own = f_own is v_own or (_is_nothing(f_own, layout) and _is_nothing(v_own, layout))
    if not own or f_tangent is not v_tangent or not _same_types(f_rest[added:], v_rest, layout):
        return None
    f_result, v_result = types.canonical(f_result), types.canonical(v_result)
    if f_result.kind != "pair" or v_result.kind != "pair" or len(f.parameters) != len(v.parameters):
        return None
    places: list[int] = []
    begin = 0
    for f_part, v_part in zip(f_result.parts, v_result.parts, strict=True):
        f_part, v_part = types.canonical(f_part), types.canonical(v_part)
        if f_part.kind == "pair" and types.canonical(f_part.parts[0]) is v_part:
            places += range(begin, begin + len(layout.kinds(v_part)))
        elif not (f_part.of is ZERO and v_part.of is ZERO):
            return None
        begin += len(layout.kinds(f_part))
    return places


def _is_nothing(tangent: Type, layout: Representation) -> bool:
    """Whether it is the known zero, or a closure of known zeros."""
    tangent = layout.types.canonical(tangent)
    return tangent.of is ZERO or (
        tangent.kind == "closure" and all(_is_nothing(part, layout) for part in tangent.parts)
    )


def _same_types(
    a: list[Type] | tuple[Type, ...], b: list[Type] | tuple[Type, ...], layout: Representation
) -> bool:
    same = layout.types.canonical
    return len(a) == len(b) and all(same(x) is same(y) for x, y in zip(a, b, strict=True))


# Callers of both.


def _bring_up(program: Program, pairs: Pairs, containing: Pairs, plain: set[Function]) -> None:
    """If a procedure calls one function of a pair, and the other through procedures around it, inline these, so
    that the two calls are in one function.
    """
    outlines = Outlines()
    for _ in range(ROUNDS):
        called = outlines.calls_of(program.functions)
        reached = _reached(program, called, pairs, plain, outlines)
        changed = [
            function
            for function in program.functions
            if any(reached.get(callee) for callee in called[function])
            and _bring_up_in(function, reached, pairs, containing, plain, outlines)
        ]
        program.functions = reachable(program, outlines.calls_of(program.functions))
        if not changed:
            return


def _bring_up_in(
    function: Function,
    reached: dict[Function, set[Function]],
    pairs: Pairs,
    containing: Pairs,
    plain: set[Function],
    outlines: Outlines,
) -> bool:
    """Inline such procedures in one function. Returns whether there were any."""

    def targets(callee: Function) -> set[Function]:
        """The functions of pairs that a call of this one reaches."""
        return {callee} if callee in pairs or callee in plain else reached.get(callee, set())

    calls = [call for call in outlines[function].calls if type(call) is Invoke]
    counts = Counter([target for call in calls for target in targets(call.function)])
    size = len(outlines[function].statements)

    def is_candidate(call: Invoke) -> bool:
        inner = reached.get(call.function)
        if not inner or call.function is function or size > LARGEST:
            return False

        def is_beside(target: Function) -> bool:
            """Whether another call reaches it."""
            return counts[target] > (target in inner)

        return any(is_beside(v) for f in inner for v, _ in pairs.get(f, ())) or any(
            is_beside(f) for v in inner for f, _ in containing.get(v, ())
        )

    def is_chosen(call: Invoke) -> bool:
        nonlocal size
        if not is_candidate(call):
            return False
        called = outlines[call.function]
        counts.subtract(reached[call.function])
        counts.update([target for callee in called.callees for target in targets(callee)])
        size += len(called.statements)
        return True

    if not any(map(is_candidate, calls)):
        return False
    inline_calls(function, is_chosen)
    outlines.changed(function)
    return True


def _reached(
    program: Program,
    called: dict[Function, list[Function]],
    pairs: Pairs,
    plain: set[Function],
    outlines: Outlines,
) -> dict[Function, set[Function]]:
    """For each procedure that could be inlined: the functions of pairs that it calls, directly or through such procedures."""
    number = components(program.functions, called)
    repeating = recursive(called, number)
    reached: dict[Function, set[Function]] = {
        f: set()
        for f in program.functions
        if not (f in repeating or f in pairs or f in plain or f in program.entries)
        and len(outlines[f].statements) <= WRAPPER
        and outlines[f].returns
    }
    for f in sorted(reached, key=lambda f: number[f]):  # callees first: none of these is recursive
        for callee in called[f]:
            if callee in pairs or callee in plain:
                reached[f].add(callee)
            else:
                reached[f] |= reached.get(callee, set())
    return reached


class _Fusion:
    """Rewrites the calls of one function."""

    def __init__(self, pairs: Pairs, plain: set[Function], containing: Pairs) -> None:
        self.pairs = pairs
        self.plain = plain
        self.replaced: dict[Slot, Leaf] = {}
        self.containing = containing  # the pairs, inverted

    def walk(self, function: Function) -> None:
        self.block(function.body, {})
        substitute(function.body, self.replaced)

    def block(self, block: Block, known: dict[object, Invoke]) -> None:
        """`known`: earlier calls of plain and of transformed functions, by function and operands."""
        kept: list[Statement] = []
        for statement in block.statements:
            if type(statement) is Invoke and len(statement.slots) == len(statement.function.results):
                if self.joined(statement, known):
                    continue
                if statement.function in self.plain or statement.function in self.pairs:
                    known[statement.function, same_operands(statement.operands)] = statement
            for inner in inner_blocks(statement):
                self.block(inner, dict(known))
            kept.append(statement)
        block.statements = kept

    def joined(self, call: Invoke, known: dict[object, Invoke]) -> bool:
        """Replace a call by an earlier one that contains it. Returns whether there is one."""
        operands = same_operands(call.operands)
        for v, places in self.pairs.get(call.function, ()):
            before = known.get((v, operands))
            if before is None or before.function is not v:
                continue
            slots = [Slot(slot.kind, slot.name) for slot in call.slots]
            for slot, place in zip(before.slots, places, strict=True):
                slots[place] = slot
            before.function, before.slots = call.function, tuple(slots)
            known[call.function, operands] = before
            self.replaced.update(zip(call.slots, slots, strict=True))
            return True
        for f, places in self.containing.get(call.function, ()):
            before = known.get((f, operands))
            if before is not None and before.function is f:
                self.replaced.update(
                    {slot: before.slots[place] for slot, place in zip(call.slots, places, strict=True)}
                )
                return True
        return False
