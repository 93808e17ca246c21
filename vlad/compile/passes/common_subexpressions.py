"""First-order code → first-order code: common subexpression elimination, with constant folding.

In: a Program.  Out: the same, changed in place. Called by order.py. All operations are pure, so operations and calls on the same
operands are done once if one dominates the others: results of a block are available in the rest of it, blocks within it
included. Operations on constants become constants, operations that return an operand as it is become that, and a branch or switch
with a known test becomes that arm.
"""

from __future__ import annotations

from vlad.compile.ir.acting import acting_functions
from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Fail,
    Function,
    Immediate,
    Invoke,
    Leaf,
    Program,
    Slot,
    Statement,
    Static,
    Switch,
    Unbox,
    Yield,
    inner_blocks,
    leaves_read,
    slots_bound,
)
from vlad.compile.ir.rewriting import operation, replace_leaves
from vlad.control.gil_yield import yield_gil
from vlad.core.extents import Extent
from vlad.data.values import TRUE, Boolean


def share(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether anything changed."""
    outlines = outlines or Outlines()
    acting = acting_functions(program.functions, outlines)
    changed = False
    for function in program.functions:
        outline = outlines[function]
        acting_callees = outline.called & acting
        if outline.unchanged_by.get(__name__) == acting_callees:
            continue
        yield_gil()
        sharing = _Sharing(acting)
        sharing.walk(function.body, {}, set())
        if sharing.changed:
            changed = True
            outlines.changed(function)
        else:
            outline.unchanged_by[__name__] = acting_callees
    return changed


class _Sharing:
    """Gives all operations of a function on the same operands one slot, within the scope of the first. Operations after a test
    that has not failed are placed after the test, not within it, which extends their scope.
    """

    __slots__ = ("acting", "boxes", "changed", "replaced", "signless")

    def __init__(self, acting: set[Function]) -> None:
        self.acting = acting
        self.replaced: dict[Slot, Leaf] = {}
        self.boxes: dict[Slot, Box] = {}
        self.signless: set[Leaf] = set()  # numbers that are never -0.0
        self.changed = False

    def new(self, leaf: Leaf) -> Leaf:
        while type(leaf) is Slot and leaf in self.replaced:
            leaf = self.replaced[leaf]
            self.changed = True
        return leaf

    def walk(self, block: Block, known: dict[object, tuple[Slot, ...]], own: set[Leaf]) -> None:
        """`own`: the results of scalar operations of the block itself."""
        replaced, boxes, new = self.replaced, self.boxes, self.new
        kept: list[Statement] = []
        for statement in block.statements:
            if replaced:
                replace_leaves(statement, new)
            if type(statement) is Compute:
                own.add(statement.slot)
                constant = self.folded(statement)
                if constant is not None:
                    replaced[statement.slot] = constant
                    continue
                if self.is_signless(statement):
                    self.signless.add(statement.slot)
            key, slots = operation(statement, leaves_read(statement)), slots_bound(statement)
            if type(statement) is Invoke and statement.function in self.acting:
                key = None
            found = known.get(key) if key is not None else None
            if found is not None and len(found) == len(slots):
                replaced.update(zip(slots, found, strict=True))
                continue
            if key is not None:
                known[key] = slots
            if type(statement) is Unbox and type(statement.pointer) is Slot:
                made = boxes.get(statement.pointer)
                if made is not None and made.member is statement.member:
                    replaced.update(zip(statement.slots, made.leaves, strict=True))
                    continue
            if type(statement) is Box:
                boxes[statement.slot] = statement
            settled = _settled(statement, boxes)
            if settled is not None:
                self.changed = True
                self.walk(settled, known, own)
                kept += settled.statements
                if type(settled.end) is Yield:
                    assert type(statement) in (Branch, Switch)
                    replaced.update(zip(statement.slots, settled.end.leaves, strict=True))  # type: ignore[union-attr]
                    continue
                block.end = settled.end
                break
            guarded = _guarded(statement)
            if guarded is not None:
                assert type(statement) is Branch
                guard, rest, holds = guarded
                self.changed |= bool(rest.statements or type(rest.end) is not Yield or statement.slots)
                self.walk(guard.alternative if holds else guard.consequent, dict(known), set())
                kept.append(guard)
                if type(guard.test) is Slot and guard.test in own:
                    replaced[guard.test] = holds
                self.walk(rest, known, own)
                kept += rest.statements
                if type(rest.end) is Yield:
                    replaced.update(zip(statement.slots, rest.end.leaves, strict=True))
                    continue
                block.end = rest.end
                break
            for inner in inner_blocks(statement):
                self.walk(inner, dict(known), set())
            kept.append(statement)
        self.changed |= len(kept) < len(block.statements)
        block.statements = kept
        replace_leaves(block.end, new)

    def folded(self, statement: Compute) -> Leaf | None:
        """The result of an operation on constants; None if it is unknown, or must not be computed."""
        row = statement.row
        same = self.unchanged(row.name, statement.operands)
        if same is not None:
            return same
        if row.name == "unknown-real" or not all(type(leaf) in (float, bool) for leaf in statement.operands):
            return None
        if any(type(leaf) is bool for leaf in statement.operands):
            first = statement.operands[0]
            return not first if row.name == "not" else None
        value = row.value(*statement.operands)
        return value is TRUE if isinstance(value, Boolean) else float(value)

    def unchanged(self, name: str, operands: tuple[Leaf, ...]) -> Leaf | None:
        """The operand that an operation returns as it is, to the last bit. Derivatives multiply by 1 often, and add to 0."""
        if name not in ("*", "/", "+", "-"):
            return None
        x, y = operands
        if name == "*" and x == 1.0 and type(x) is float:
            return y
        if name in ("*", "/") and y == 1.0 and type(y) is float:
            return x
        if name == "+" and _is_zero(x) and self.has_no_sign(y):  # 0 + -0 is 0
            return y
        if (name == "+" and _is_zero(y) and self.has_no_sign(x)) or (name == "-" and _is_zero(y)):
            return x
        return None

    def is_signless(self, statement: Compute) -> bool:
        """Is a result never -0.0? A sum is that only if both operands are, a difference only if the first one is."""
        name = statement.row.name
        return (name == "+" and any(map(self.has_no_sign, statement.operands))) or (
            name == "-" and self.has_no_sign(statement.operands[0])
        )

    def has_no_sign(self, leaf: Leaf) -> bool:
        if type(leaf) is float:
            return leaf.hex() != "-0x0.0p+0"
        return type(leaf) is Extent or leaf in self.signless


def _guarded(statement: Statement) -> tuple[Branch, Block, bool] | None:
    """For a branch with one arm that is only an error: the branch, the other arm, and the result of the test that selects it."""
    if type(statement) is not Branch:
        return None
    arms = statement.consequent, statement.alternative
    fails = [type(arm.end) is Fail for arm in arms]
    if fails[0] == fails[1]:
        return None
    rest = arms[fails.index(False)]
    if not rest.statements and type(rest.end) is Yield and not statement.slots:
        return statement, rest, not fails[0]
    nothing = Block([], Yield(()))
    if fails[0]:
        return Branch((), statement.test, arms[0], nothing, statement.span), rest, False
    return Branch((), statement.test, nothing, arms[1], statement.span), rest, True


def _is_zero(leaf: Leaf) -> bool:
    return type(leaf) is float and leaf.hex() == "0x0.0p+0"


def _settled(statement: Statement, boxes: dict[Slot, Box]) -> Block | None:
    """The arm that a branch or switch is known to take."""
    if type(statement) is Switch and type(statement.pointer) is Slot and statement.pointer in boxes:
        made = boxes[statement.pointer].member
        return next(block for member, block in statement.cases if member is made)
    if type(statement) is Branch and type(statement.test) is bool:
        return statement.consequent if statement.test else statement.alternative
    if type(statement) is Switch and type(statement.pointer) in (Immediate, Static):
        index = statement.pointer.member if type(statement.pointer) is Immediate else -1
        for member, block in statement.cases:
            if member.index == index or (
                type(statement.pointer) is Static and member is statement.pointer.member
            ):
                return block
    if type(statement) is Switch and len(statement.cases) == 1:
        return statement.cases[0][1]
    return None
