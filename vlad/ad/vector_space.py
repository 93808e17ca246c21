"""zero, plus, completion and conformance, over the structure of values (Pearlmutter & Siskind 2008, section 4).

Called by the rows of primitives/transforms.py and by emitted code. All functions take bare values: reals, pairs, closures (and
with them AD values, which are closures), tables, cells; the tangent space of any other value is a point, and the value itself
is its own zero. The tangent of a cell is a cell, that of a table a table with the same keys; within a derivative it lacks those
whose tangents are known zeros.

Structures are deferred: the zero of a list costs O(1), and another O(1) for each access; likewise a sum of
sensitivities. Sharing is preserved: a part that occurs twice in a value is one part of its zero. This keeps the cost of
a gradient within a constant factor of the program's (the paper's proviso of laziness and memoisation).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import ref

from vlad.ad.stated_tangents import is_of_type, space_of, stated_plus, stated_zero
from vlad.data.errors import VladError
from vlad.data.tables import KEY, TOKEN, VALUE, Leaf, Table
from vlad.data.tensors import Tensor, added, as_kind_of, kind_name, same_numbers, shape_text, zeros_like
from vlad.data.values import (
    ZERO,
    Boolean,
    Code,
    Deferred,
    Reference,
    Role,
    String,
    Symbol,
    Value,
    is_procedure,
    look,
)
from vlad.data.write import written

Memo = dict[object, Any]
Structure = Any  # a forced one: a tuple or a Table
Contents = dict[Reference, Value]


class Shadows(dict[Reference, Reference]):
    """Those of one level of differentiation: cells with the tangents or sensitivities of their contents. `before`: the contents
    that cells had where the reverse phase of the level ends, if it has one.
    """

    __slots__ = ("before",)

    def __init__(self, before: Contents | None = None) -> None:
        super().__init__()
        self.before: Contents = before or {}


NUMBER_TYPES = (float, Tensor)
MOST_SEARCHED = 1000  # parts, for a hint
LONGEST_SHOWN = 60  # characters of a value, in a hint


def is_structure(value: Value) -> bool:
    """Whether it has parts with tangents of their own: pairs, tables and closures over something; not primitives, not ()."""
    if type(value) is tuple:
        return len(value) > 1
    return type(value) is Deferred or type(value) is Table


def rebuilt(head: Value, parts: list[Value], like: Structure) -> Structure:
    """A structure of these parts, shaped like `like`: a table, a pair, or a closure with `head` and its padding."""
    if type(like) is Table:
        return like.with_values(parts)
    if len(like) == 2:
        return (parts[0], parts[1])
    return (head, *parts, None) if is_padded(like) else (head, *parts)


def is_padded(closure: tuple[Value, ...]) -> bool:
    return len(closure) == 3 and len(closure[0].environment) == 1


def parts_of(value: Structure) -> list[Value]:
    """The parts that have tangents: car and cdr, or the environment, or the values of a table."""
    if type(value) is Table:
        return value.values()
    if len(value) == 2:
        return [value[0], value[1]]
    return [value[1]] if is_padded(value) else list(value[1:])


def head_of(value: Structure) -> Code | None:
    return None if type(value) is Table or len(value) == 2 else value[0]


def pairs_of(x: Structure, y: Structure) -> list[tuple[Value, Value]]:
    """The parts at the same places of two forced structures that are alike."""
    if type(x) is Table:
        return [(leaf[VALUE], part) for leaf, part in x.paired(y) or ()]
    return list(zip(parts_of(x), parts_of(y), strict=True))


def zero(value: Value) -> Value:
    """The zero of a value's tangent space, shaped like it. Its numbers are reals, so programs can use them."""
    return _zero(value, False, None)


def zero_tangent(value: Value) -> Value:
    """The same for transformed code: numbers, and the values that a procedure captures, become known zeros. Programs
    get reals in their place (`complete`).
    """
    if type(value) is not tuple or len(value) <= 2:
        return _zero(value, True, None)
    if value[0].space is not None:
        return ZERO
    is_tagged = value[0].role is Role.TAG
    return rebuilt(value[0], [zero_tangent(part) if is_tagged else ZERO for part in parts_of(value)], value)


def _zero(value: Value, is_known: bool, memo: Memo | None) -> Value:
    if type(value) is float:
        return ZERO if is_known else 0.0
    if type(value) is Tensor:
        return ZERO if is_known else zeros_like(value) if value.is_real else value
    if type(value) is Reference:
        return ZERO if is_known else _zero_cell(value, {} if memo is None else memo)
    if not is_structure(value):
        return value
    if type(value) is Deferred and value.zero_of is not None and not is_known:
        return value
    if type(value) is tuple and len(value) > 2 and value[0].space is not None:
        stated = ZERO if is_known else stated_zero(value, zero)
        if stated is not None:
            return stated
    if memo is not None and id(value) in memo:
        found = memo[id(value)][0]()
        if found is not None:
            return found
    shared: Memo = {} if memo is None else memo

    def parts() -> Structure:
        seen = look(value)
        return rebuilt(head_of(seen), [_zero(part, is_known, shared) for part in parts_of(seen)], seen)

    result = Deferred(parts, (value,), None if is_known else value)
    if memo is not None:
        # keeps `value` alive, so that its id stays unique, but not the result: unused results are freed by their reference count,
        # as cycles are not collected during an evaluation
        memo[id(value)] = (ref(result), value)
    return result


def _zero_cell(cell: Reference, memo: Memo) -> Reference:
    """One for each cell, which may hold itself."""
    known = memo.get(("cell", cell))
    if known is None:
        known = memo["cell", cell] = Reference(ZERO)
        known.content = _zero(cell.content, False, memo)
    zero_cell: Reference = known
    return zero_cell


# Sensitivities of short paths into a structure are added at once; the sum of longer ones is deferred, so that adding costs
# O(1) whatever the structures are.
AT_ONCE = 32


def accumulate(a: Value, b: Value, most: int = AT_ONCE) -> Value:
    """a ⊕ b of two sensitivities of the same variable. Shapes are checked only as far as the structures are traversed."""
    cars = []
    while type(a) is tuple and type(b) is tuple and len(a) == 2 and len(b) == 2 and most > 0:
        x, y = a[0], b[0]
        if x is ZERO:
            cars.append(y)
        elif y is ZERO:
            cars.append(x)
        elif type(x) is float and type(y) is float:
            cars.append(x + y)
        else:
            most //= 2
            cars.append(accumulate(x, y, most))
        a, b = a[1], b[1]
        most -= 1
    total: Value
    if a is ZERO:
        total = b
    elif b is ZERO:
        total = a
    elif type(a) is tuple and type(b) is tuple and len(a) > 2 and len(a) == len(b) and a[0].space is None:
        total = rebuilt(a[0], [_later(x, y) for x, y in zip(parts_of(a), parts_of(b), strict=True)], a)
    else:
        total = _later(a, b)
    for car in reversed(cars):
        total = (car, total)
    return total


def _later(a: Value, b: Value) -> Value:
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    if type(a) is float and type(b) is float:
        return a + b
    if type(a) is Table and type(b) is Table:
        return a.merged(b, _later)
    if is_structure(a) and is_structure(b):
        return Deferred(lambda: _sum_parts(a, b), (a, b))
    if type(a) is Tensor and type(b) is Tensor and a.shape == b.shape:
        return added(a, b)
    if type(a) is Reference and type(b) is Reference:
        return Reference(_later(a.content, b.content))
    if type(a) in NUMBER_TYPES or type(b) in NUMBER_TYPES or is_structure(a) or is_structure(b):
        raise nonconforming("plus", a, b)
    return a


def _sum_parts(a: Value, b: Value) -> Structure:
    a, b = look(a), look(b)
    if type(a) is Table or type(b) is Table:
        if type(a) is not type(b):
            raise nonconforming("plus", a, b)
        return a.merged(b, _later)
    if len(a) != len(b):
        raise nonconforming("plus", a, b)
    if len(a) > 2 and a[0].space is not None and states_plus(a, b):
        return look(stated_plus(a, b))
    x, y = parts_of(a), parts_of(b)
    total = [_later(x[0], y[0])] if x else []
    # A value added to itself part by part, as sharing makes it, stays shared.
    for i in range(1, len(x)):
        total.append(total[0] if x[i] is x[0] and y[i] is y[0] else _later(x[i], y[i]))
    return rebuilt(head_of(a), total, a)


def states_plus(a: Structure, b: Structure) -> bool:
    """Are these records of one type that states how they are added?"""
    space = space_of(a)
    return space is not None and space.plus is not None and is_of_type(b, a)


def complete(primal: Value, sensitivity: Value, shadows: Shadows | None = None) -> Value:
    """A sensitivity (or tangent) in the full shape of its primal: known zeros become zeros, `()` and other points themselves; a
    tensor gets the kind of its primal. Those of cells are in `shadows`, if given, otherwise in the sensitivity.
    """
    return _complete(primal, sensitivity, None, shadows)


def _complete(primal: Value, sensitivity: Value, memo: Memo | None, shadows: Shadows | None) -> Value:
    if type(primal) is float:
        if type(sensitivity) is float:
            return sensitivity
        if sensitivity is ZERO:
            return 0.0
        raise nonconforming("plus", primal, sensitivity)
    if type(primal) is Tensor:
        return _complete_tensor(primal, sensitivity)
    if type(primal) is Reference:
        return _complete_cell(primal, sensitivity, {} if memo is None else memo, shadows)
    if not is_structure(primal):
        return primal
    if sensitivity is ZERO and not shadows:
        return _zero(primal, False, None)
    if type(primal) is tuple and len(primal) > 2 and primal[0].space is not None:
        return _complete_stated(primal, sensitivity, memo, shadows)
    if sensitivity is not ZERO and not is_structure(sensitivity):
        raise nonconforming("plus", primal, sensitivity)
    key = (id(primal), id(sensitivity))
    if memo is not None and key in memo:
        found = memo[key][0]()
        if found is not None:
            return found
    shared: Memo = {} if memo is None else memo

    def parts() -> Structure:
        x, s = look(primal), look(sensitivity)
        if type(x) is Table:
            return _complete_table(x, s, shared, shadows)
        if s is ZERO:
            return rebuilt(head_of(x), [_complete(part, ZERO, shared, shadows) for part in parts_of(x)], x)
        if type(s) is Table or len(x) != len(s):
            raise nonconforming("plus", x, s)
        completed = [_complete(p, q, shared, shadows) for p, q in zip(parts_of(x), parts_of(s), strict=True)]
        return rebuilt(head_of(x), completed, x)

    result = Deferred(parts, (primal, sensitivity))
    if memo is not None:
        memo[key] = (
            ref(result),
            primal,
            sensitivity,
        )  # keeps these alive, so that their ids stay unique; not the result
    return result


def _complete_stated(primal: Value, sensitivity: Value, memo: Memo | None, shadows: Shadows | None) -> Value:
    """The tangent of a record whose type states something of tangents: like its zero. One that the program adds is complete."""
    stated = stated_zero(primal, zero)
    like, found = look(primal if stated is None else stated), look(sensitivity)
    if found is ZERO:
        return _zero(primal, False, None)
    if space_of(like) is None:
        return _complete(like, sensitivity, memo, shadows)
    if not is_of_type(found, like):
        raise nonconforming("plus", like, found)
    if states_plus(like, found):
        return sensitivity
    if not is_of_type(like, primal):
        return _complete_stated(like, sensitivity, memo, shadows)
    parts = zip(parts_of(like), parts_of(found), strict=True)
    return rebuilt(head_of(like), [_complete(p, q, memo, shadows) for p, q in parts], like)


def _complete_cell(primal: Reference, sensitivity: Value, memo: Memo, shadows: Shadows | None) -> Value:
    """The cell's shadow itself, so that what outer levels know of it holds, with its content completed in place."""
    if shadows is not None:
        shadow = shadows.get(primal)
        if shadow is None:
            shadow = shadows[primal] = Reference(ZERO)
    elif sensitivity is ZERO:
        return _zero_cell(primal, memo)
    elif type(sensitivity) is Reference:
        if (
            sensitivity.content is not ZERO
        ):  # it was completed, and the primal cell may hold something else by now
            return sensitivity
        shadow = sensitivity
    else:
        raise nonconforming("plus", primal, sensitivity)
    if ("shadow", shadow) not in memo:
        memo["shadow", shadow] = True
        content = primal.content if shadows is None else shadows.before.get(primal, primal.content)
        shadow.content = _complete(content, shadow.content, memo, shadows)
    return shadow


def _complete_table(primal: Table, sensitivity: Value, memo: Memo, shadows: Shadows | None) -> Table:
    """What the sensitivity lacks is zero."""
    found = Table() if sensitivity is ZERO else sensitivity
    if type(found) is not Table or any(primal.found(leaf[TOKEN]) is None for leaf in found.leaves()):
        raise nonconforming("plus", primal, sensitivity)

    def completed(leaf: Leaf) -> Value:
        own = found.found(leaf[TOKEN])
        return _complete(leaf[VALUE], ZERO if own is None else own[VALUE], memo, shadows)

    return primal.mapped(completed)


def cells_of(*values: Value) -> Iterator[Reference]:
    """The cells that are parts of values, and of the contents of these cells; each once. Nothing in the values stays deferred."""
    work, seen = list(values), set()
    while work:
        x = work.pop()
        if (type(x) is Reference or is_structure(x)) and id(x) not in seen:
            seen.add(id(x))
            if type(x) is Reference:
                work.append(x.content)
                yield x
            else:
                work += parts_of(look(x))


def refuse_stated(value: Value, tangent: Value = None) -> None:
    """Raise if a record in a value states its tangents, and holds cells, which have theirs only after the record's is made.
    `tangent`: that of the value, if what is zero in it is harmless.
    """
    work, seen = [(value, tangent)], set()
    while work:
        x, t = work.pop()
        if type(x) is Reference:
            x, t = x.content, t.content if type(t) is Reference else None
        if t is ZERO or not is_structure(x) or (id(x), id(t)) in seen:
            continue
        seen.add((id(x), id(t)))
        p, q = look(x), look(t)
        if space_of(p) is not None and any(True for _ in cells_of(p)):
            raise VladError(
                "cells-in-record", "The derivative of a record that states its tangents, and holds cells, is not supported",
                hint="hold what is in the cells, or let the type state nothing", irritants=(p,), name=p[0].name,
            )  # fmt: skip
        fits = t is not None and is_structure(t) and alike(p, q)
        work += pairs_of(p, q) if fits else [(part, None) for part in parts_of(p)]


def contents(*values: Value) -> Contents:
    """What the cells of values hold now."""
    return {cell: cell.content for cell in cells_of(*values)}


def copied_cell(cell: Reference, levels: tuple[Shadows, Any] | None) -> Reference:
    """Another cell of the same content, with the same derivative in all levels."""
    copy, outer = Reference(cell.content), levels
    while outer is not None:
        shadows, outer = outer
        if cell in shadows:
            shadows[copy] = copied_cell(shadows[cell], levels)
    return copy


def note_shadows(
    shadows: Shadows,
    primal: Value,
    tangent: Value,
    held: Contents | None = None,
    copied_in: tuple[tuple[Shadows, Any] | None] | None = None,
) -> None:
    """Add the cells of a value to the shadows: each with the cell that is its tangent, or with a copy of that, with its shadows
    in the levels `copied_in`. `held`: the contents of cells, if they have others by now.
    """
    work, seen = [(primal, tangent)], set()
    while work:
        x, t = work.pop()
        if t is ZERO or (id(x), id(t)) in seen:
            continue
        if type(x) is Reference and type(t) is Reference:
            if x not in shadows:
                shadows[x] = t if copied_in is None else copied_cell(t, *copied_in)
                work.append((x.content if held is None else held.get(x, x.content), t.content))
        elif is_structure(x) and is_structure(t):
            seen.add((id(x), id(t)))
            p, q = look(x), look(t)
            if alike(p, q):
                work += pairs_of(p, q)


def _complete_tensor(primal: Tensor, sensitivity: Value) -> Value:
    if not primal.is_real:
        return primal
    if sensitivity is ZERO:
        return zeros_like(primal)
    if type(sensitivity) is not Tensor or sensitivity.shape != primal.shape:
        raise nonconforming("plus", primal, sensitivity)
    return as_kind_of(sensitivity, primal)


def plus(a: Value, b: Value) -> Value:
    """a ⊕ b of conforming values, checked. A side made by `zero` is not traversed. Raises VladError if the
    values do not conform.
    """
    if type(a) is Deferred and a.zero_of is not None:
        return b
    if type(b) is Deferred and b.zero_of is not None:
        return a
    try:
        return _plus(a, b, {})
    except VladError as error:
        if error.code != "plus-do-not-conform":
            raise
        raise nonconforming("plus", a, b) from None  # which names the place of the difference


def _plus(a: Value, b: Value, memo: Memo) -> Value:
    """Iterates over the last parts of structures, so that long lists use no stack."""
    begun: list[tuple[tuple[int, int], Value, Value, Structure, list[Value]]] = []
    while True:
        if type(a) is float and type(b) is float:
            total: Value = a + b
        elif a is ZERO or b is ZERO:
            total = b if a is ZERO else a
        elif type(a) is Tensor or type(b) is Tensor:
            total = _later(a, b)
        elif type(a) is Reference and type(b) is Reference:
            total = _sum_cell(a, b, memo)
        elif not is_structure(a) or not is_structure(b):
            if not _is_same_point(a, b):
                raise nonconforming("plus", a, b)
            total = a
        elif (id(a), id(b)) in memo:
            total = memo[id(a), id(b)][2]
        else:
            x, y = look(a), look(b)
            if not alike(x, y):
                raise nonconforming("plus", x, y)
            if type(x) is tuple and len(x) > 2 and x[0].space is not None and states_plus(x, y):
                total = stated_plus(x, y)
                break
            pairs = pairs_of(x, y)
            parts = [_plus(p, q, memo) for p, q in pairs[:-1]]
            if pairs:
                begun.append(((id(a), id(b)), a, b, x, parts))
                a, b = pairs[-1]
                continue
            total = x
        break
    for key, p, q, x, parts in reversed(begun):
        total = rebuilt(head_of(x), [*parts, total], x)
        memo[key] = (p, q, total)  # keeps p and q alive, so that their ids stay unique
    return total


def _sum_cell(a: Reference, b: Reference, memo: Memo) -> Reference:
    """A new cell with the sum of two contents; one for each two cells, which may hold themselves."""
    known = memo.get((a, b))
    if known is None:
        known = memo[a, b] = Reference(ZERO)
        known.content = _plus(a.content, b.content, memo)
    total: Reference = known
    return total


def alike(x: Structure, y: Structure) -> bool:
    """Whether two forced structures have one shape: pairs, closures of the same code, or tables with the same keys."""
    if type(x) is Table or type(y) is Table:
        return type(x) is type(y) and x.paired(y) is not None
    if len(x) != len(y):
        return False
    return len(x) == 2 or x[0].base is y[0].base


def fitting_tangent(primal: Value, tangent: Value) -> Value | None:
    """The tangent in the form that derivatives use; None if it is not in the tangent space of `primal`. The zero of the
    same value is accepted unchecked. A tensor that is not of reals may be its own zero, which becomes the known zero.
    """
    memo: Memo = {}
    if not _conforms(primal, tangent, memo):
        return None
    return _without_points(tangent) if POINTS in memo else tangent


POINTS = "points"  # memo key: the primal has tensors that are not of reals, or may have


def _without_points(tangent: Value) -> Value:
    """The tangent with known zeros in place of tensors that are not of reals."""
    if type(tangent) is Tensor and not tangent.is_real:
        return ZERO
    if not is_structure(tangent):
        return tangent

    def parts() -> Structure:
        seen = look(tangent)
        return rebuilt(head_of(seen), [_without_points(part) for part in parts_of(seen)], seen)

    return Deferred(parts, (tangent,), tangent.zero_of if type(tangent) is Deferred else None)


def _is_same_point(a: Value, b: Value) -> bool:
    """Whether two values without tangents are the same. Strings are compared by content."""
    if type(a) is String:
        return type(b) is String and a.text == b.text
    return a is b or a == () == b


def _conforms(primal: Value, tangent: Value, memo: Memo) -> bool:
    of_itself: Value = None
    while True:
        if type(primal) is float:
            return type(tangent) is float or tangent is ZERO
        if tangent is ZERO:
            return True
        if space_of(primal) is not None and tangent is not of_itself:
            stated = stated_zero(primal, zero)
            if stated is not None:
                # a zero of the same type is compared by field
                of_itself = tangent if is_of_type(look(stated), primal) else None
                primal = stated
                continue
        if type(tangent) is float:
            return False
        if type(primal) is Tensor and primal.is_real:
            return type(tangent) is Tensor and tangent.is_real and primal.shape == tangent.shape
        if type(primal) is Tensor:
            memo[POINTS] = ZERO
            return type(tangent) is Tensor and same_numbers(primal, tangent)
        if type(primal) is Reference and type(tangent) is Reference:
            if (primal, tangent) in memo:
                return True
            memo[primal, tangent] = True
            primal, tangent = primal.content, tangent.content
            continue
        if not is_structure(primal) or not is_structure(tangent):
            return _is_same_point(primal, tangent)
        if type(tangent) is Deferred and tangent.zero_of is primal:
            memo[POINTS] = ZERO  # there may be some: it is not traversed
            return True
        key = (id(primal), id(tangent))
        if key in memo:
            return True
        memo[key] = (primal, tangent)
        x, t = look(primal), look(tangent)
        if not alike(x, t):
            return False
        if type(x) is tuple and len(x) > 2 and x[0].space is not None and states_plus(x, t):
            return True
        pairs = pairs_of(x, t)
        for p, q in pairs[:-1]:
            if not _conforms(p, q, memo):
                return False
        if not pairs:
            return True
        primal, tangent = pairs[-1]


def shape(value: Value, depth: int = 3) -> str:
    """A description of a value's shape, for hints."""
    if type(value) is float:
        return "real"
    if value is ZERO:
        return "zero"
    value = look(value)
    if type(value) is tuple and len(value) == 2:
        if depth == 0:
            return "…"
        return f"({shape(value[0], depth - 1)} . {shape(value[1], depth - 1)})"
    if value == ():
        return "()"
    if type(value) is Tensor:
        return f"tensor {shape_text(value.shape)}"
    kinds = {String: "string", Symbol: "symbol", Boolean: "boolean", Table: "table"}
    return "procedure" if type(value) is tuple else kinds.get(type(value), "something else")


def _met_without_tangents(a: Value, b: Value) -> Tensor | None:
    """The first tensor that is not of reals in one of two values whose counterpart is a tensor, too."""
    work = [(a, b)]
    for _ in range(MOST_SEARCHED):
        if not work:
            return None
        x, y = map(look, work.pop())
        if type(x) is Tensor and type(y) is Tensor:
            if not (x.is_real and y.is_real) and not same_numbers(x, y):
                return y if x.is_real else x
        elif is_structure(x) and is_structure(y) and alike(x, y):
            work += reversed(pairs_of(x, y))
    return None


Place = tuple[tuple[str, ...], Value, Value]  # in words, from the inside out, and the two values there


def _first_difference(a: Value, b: Value) -> Place | None:
    """Where two values differ in shape, within a bounded search."""
    work: list[Place] = [((), a, b)]
    for _ in range(MOST_SEARCHED):
        if not work:
            return None
        way, x, y = work.pop()
        x, y = look(x), look(y)
        if is_structure(x) and is_structure(y) and alike(x, y):
            work += [((name, *way), p, q) for name, p, q in reversed(_paired(x, y))]
        elif (is_structure(x) and is_structure(y)) or not _conforms(x, y, {}):
            return way, x, y
    return None


def _paired(x: Structure, y: Structure) -> list[tuple[str, Value, Value]]:
    """The parts of two structures of one shape, with their descriptions: elements of lists, captured values of procedures, values
    of tables.
    """
    if type(x) is Table:
        return [
            (f"the value of {written(leaf[KEY], LONGEST_SHOWN)}", leaf[VALUE], part)
            for leaf, part in x.paired(y) or ()
        ]
    if len(x) > 2:
        owner = f"the {x[0].name} value" if x[0].role is Role.TAG else _described(x)
        pairs = zip(x[0].environment, parts_of(x), parts_of(y), strict=True)
        return [(f"`{variable.name}`, captured by {owner}", p, q) for variable, p, q in pairs]
    found: list[tuple[str, Value, Value]] = []
    while type(x) is tuple and type(y) is tuple and len(x) == len(y) == 2 and len(found) < MOST_SEARCHED:
        found.append((f"element {len(found)}", x[0], y[0]))
        x, y = look(x[1]), look(y[1])
    if len(found) == 1 and x != () and y != ():
        return [("the car", *found[0][1:]), ("the cdr", x, y)]
    return [*found, (f"what follows element {len(found) - 1}", x, y)]


def _described(value: Value) -> str:
    """A description of a value, for a hint: a procedure with its place."""
    if not is_procedure(value):
        return shape(value)
    code = value[0]
    if code.primitive is not None:
        return f"the primitive {code.name}"
    if code.role is Role.VECTOR:
        return "a vector"
    if code.role is Role.RECORD:
        return f"a record of type {code.name}"
    place = code.machine.core_of(code.base).span
    name = f"the procedure {code.name}" if code.name else "a procedure"
    return name if place is None else f"{name} at {place}"


def _difference(a: Value, b: Value) -> str:
    """A description of the difference of two values that do not conform. (Elements are counted from 0, as in `list-ref`.)"""
    way, x, y = _first_difference(a, b) or ((), look(a), look(b))
    first, second = _described(x), _described(y)
    if first == second:
        first, second = written(x, LONGEST_SHOWN), written(y, LONGEST_SHOWN)
    if way:
        return f"they differ in {' of '.join(way)}: {first} and {second}"
    is_shape = first == shape(x) and second == shape(y)
    return f"the first {'has the shape' if is_shape else 'is'} {first}, the second {second}"


def nonconforming(name: str, a: Value, b: Value) -> VladError:
    hint = _difference(a, b)
    pointlike = _met_without_tangents(a, b)
    if pointlike is not None:
        kind = kind_name(pointlike.like.dtype)
        hint = f"a tensor of {kind} has no tangents; `as-type` makes one of float64 of it, `astype(float)` in Python"
    wording = "Arguments to {} do not conform"
    error = VladError(f"{name}-do-not-conform", wording.format(name), hint=hint, irritants=(a, b), name=name)
    error.wording = wording
    return error
