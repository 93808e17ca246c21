"""The rows of vectors, which are sequences of values of any kind with access by position.

A vector is a record of the system that holds a table from positions to elements (tables.py). So zero, plus, both modes of
differentiation, equality, saved values and the types of the compiler need nothing for it: a sensitivity is a vector of a table
that lacks the elements without one, hence that of one element costs O(log n), not n. So does access; an array in the place of
the table would make it O(1), and each sensitivity O(n).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.core.types import is_real
from vlad.data.errors import Kind, VladError
from vlad.data.tables import BRANCH_CODE, VALUE, Table
from vlad.data.values import FILLED, NIL, VECTOR_CODE, Primitive, Role, SystemCode, Value, look
from vlad.primitives.numbers import invalid
from vlad.primitives.tables import by_leaf, on_tables
from vlad.primitives.transforms import abstract_test, machine_row, record_rows, tag_test
from vlad.primitives.type_rules import provided
from vlad.primitives.walking import scalar

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator

OUTSIDE = "Position outside the vector"

CODES: dict[str, SystemCode] = {
    VECTOR_CODE: (Role.VECTOR, "items", {"": "(lambda (x) ((quote vector) x))"}),  # a vector is not applied
    FILLED: (
        Role.PROCEDURE,
        "",
        {"": "(lambda (l) (fill-vector l 0 (empty-table (quote ()))))"},
    ),
    # The element at a position in a tree of known elements: (() . element), or (position low . high), where `low` has the
    # elements before the position. The type of a tree is its shape, so compiled code consists of the comparisons.
    "%element-at": (
        Role.RULE,
        "",
        {
            "": """(lambda (tree k)
                (if (null? (car tree))
                    (cdr tree)
                    (if (< k (car tree)) (%element-at (car (cdr tree)) k) (%element-at (cdr (cdr tree)) k))))"""
        },
    ),
}

SYSTEM_PROCEDURES: dict[str, str] = {
    "fill-vector": """(lambda (l k items)
        (if (null? l) (make-vector-items items) (fill-vector (cdr l) (+ k 1) (table-set items k (car l)))))""",
}


def items_of(machine: Evaluator, name: str, x: Value) -> Table:
    seen = look(x)
    if type(seen) is not tuple or len(seen) != 3 or seen[0] is not machine.codes[VECTOR_CODE]:
        raise invalid(name, "a vector, as `#(1 2)` and `vector` make it", x)
    items: Table = look(seen[1])
    return items


def _at(name: str, items: Table, v: Value, k: Value) -> Value:
    leaf = items.find(k) if type(k) is float else None
    if leaf is None:
        if type(k) is not float:
            raise invalid(name, "a position, which is a real", k, of=(Kind.REAL,))
        raise VladError(
            "out-of-range", OUTSIDE, irritants=(v, k), name=name,
            hint=f"the vector has {items.size} elements, and positions are counted from 0",
        )  # fmt: skip
    return leaf[VALUE]


def _ref(machine: Evaluator, v: Value, k: Value) -> Value:
    return _at("vector-ref", items_of(machine, "vector-ref", v), v, k)


def _set(machine: Evaluator, v: Value, k: Value, x: Value) -> Value:
    items = items_of(machine, "vector-set", v)
    _at("vector-set", items, v, k)
    return (machine.codes[VECTOR_CODE], items.with_key(k, x), None)


def _length(machine: Evaluator, v: Value) -> Value:
    return float(items_of(machine, "vector-length", v).size)


def _on_vectors(name: str, rule: Callable[..., Any]) -> Any:
    """The abstract rule of a row of a vector, and of other operands; `rule` takes the type of the table."""

    def checked(w: AbstractMachine, v: Any, *others: Any) -> Any:
        def of_one(v: Any) -> Any:
            return rule(w, w.part(v, 0), *others) if v.type.of is w.system(VECTOR_CODE) else w.invalid(name)

        return w.each(v, of_one)

    return checked


def _outside(w: AbstractMachine, t: Any, k: Any, *others: Any) -> Any:
    return w.by_value(OUTSIDE)


def _changed(w: AbstractMachine, t: Any, k: Any, x: Any, leaf: Any) -> Any:
    items = w.apply(w.machine.table["table-set"], [t, k, x])
    return items and w.closure(w.system(VECTOR_CODE), [items])


def _elements(w: AbstractMachine, t: Any) -> list[Any] | None:
    """The elements of the table of a vector, in their order, if its positions are known."""
    found: dict[float, Any] = {}
    work = [w.part(t, 0)]
    while work:
        trie = work.pop()
        if w.types.canonical(trie.type).kind == "union":
            return None
        if trie.type is w.types.nil:
            continue
        if trie.type.of is w.system(BRANCH_CODE):
            work += w.parts(trie)
            continue
        key, _, element, more = w.parts(trie)
        if key.type.kind != "constant" or type(key.type.of) is not float:
            return None
        found[key.type.of] = element
        work.append(more)
    places = [float(place) for place in range(len(found))]
    return [found[place] for place in places] if places and all(place in found for place in places) else None


def _tree(w: AbstractMachine, elements: list[Any], start: int) -> Any:
    if len(elements) == 1:
        return w.pair(w.constant(NIL), elements[0])
    half = len(elements) // 2
    low, high = _tree(w, elements[:half], start), _tree(w, elements[half:], start + half)
    return w.pair(w.constant(float(start + half)), w.pair(low, high))


def _at_position(w: AbstractMachine, t: Any, k: Any) -> Any:
    """The element at a position that is known when the program runs: a few comparisons of it where the elements are known, in
    place of the hash's bits."""
    elements = _elements(w, t) if is_real(k.type) and k.type.kind != "constant" else None
    if elements is None:
        return _by_hash(w, t, k)
    tests = [
        scalar(w, "<=", w.constant(0.0), k),
        scalar(w, "<", k, w.constant(float(len(elements)))),
        scalar(w, "=", k, scalar(w, "floor", k)),
    ]
    tree = _tree(w, elements, 0)
    return provided(w, tests, OUTSIDE, lambda: w.invoke(w.system("%element-at"), (), [tree, k], False))


_by_hash = by_leaf(_outside, lambda w, t, k, leaf: w.part(leaf, 2))
_REF = on_tables("vector-ref", _at_position)
_SET = on_tables("vector-set", by_leaf(_outside, _changed))

ROWS: list[Primitive] = [
    machine_row(
        "vector?", "x", "Is x a vector?\n(vector? #(1 2))  ⇒ #t\n(vector? '(1 2))  ⇒ #f", tag_test(VECTOR_CODE),
        type="any -> boolean", forward="zero", reverse={}, abstract=abstract_test(VECTOR_CODE),
    ),
    machine_row(
        "vector-length", "v", "The number of elements.\n(vector-length #(a b c))  ⇒ 3", _length, type="any -> real",
        forward="zero", reverse={},
        abstract=_on_vectors("vector-length", lambda w, t: w.apply(w.machine.table["table-size"], [t])),
    ),
    machine_row(
        "vector-ref", "v k",
        "The element at position k, counted from 0. Takes time that grows with the logarithm of the length.\n"
        "(vector-ref #(a b c) 2)  ⇒ c\n((gradient (lambda (v) (* 5 (vector-ref v 1)))) #(1 2 3))  ⇒ #(0 5 0)", _ref,
        type="any real -> any", forward="(table-part (vector-items-field-1 dv) k)",
        reverse={"v": "(make-vector-items (only-part k s))"}, abstract=_on_vectors("vector-ref", _REF),
    ),
    machine_row(
        "vector-set", "v k x",
        "The vector v with x at position k; v stays as it is.\n(vector-set #(a b c) 1 'z)  ⇒ #(a z c)", _set,
        type="any real any -> any", forward="(make-vector-items (with-part (vector-items-field-1 dv) k dx))",
        reverse={
            "v": "(make-vector-items (without-part (vector-items-field-1 s) k))",
            "x": "(table-part (vector-items-field-1 s) k)",
        },
        abstract=_on_vectors("vector-set", _SET),
    ),
    *record_rows(VECTOR_CODE, "items", "The vector of the values of a table from positions."),
]  # fmt: skip
