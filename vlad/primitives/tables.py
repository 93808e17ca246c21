"""The rows of tables, which are persistent maps from keys of any kind to values (data/tables.py).

Keys have no derivatives. A tangent or sensitivity of a table is a table, in which transformed code leaves out keys whose values
have none: so the sensitivity of one value is a table of one key, adding it to others takes O(log n) steps, and the rules below
read and change such tables by rows of their own, for which a missing key is a known zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.core.types import is_table
from vlad.data.errors import VladError
from vlad.data.tables import EMPTY, KEY, LEAF_CODE, TABLE_CODE, VALUE, Table
from vlad.data.values import FALSE, NIL, TRUE, ZERO, Primitive, Value, list_of, look
from vlad.data.write import written
from vlad.primitives.numbers import invalid
from vlad.primitives.table_types import cut, find, put
from vlad.primitives.walking import scalar

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

LONGEST_SHOWN = 60  # characters of a key, in a message


def _of_table(name: str, x: Value) -> Table:
    seen = look(x)
    if type(seen) is not Table:
        error = invalid(name, "a table, as `table` makes it", x)
        if type(seen) is tuple and len(seen) == 2:
            error.add_hint(
                "`list->table` makes one of a list of pairs; in Python, `vlad.Table(…)` makes one of a dict"
            )
        raise error
    return seen


def _ref(t: Value, key: Value) -> Value:
    leaf = _of_table("table-ref", t).find(key)
    if leaf is None:
        raise VladError(
            "missing-key", f"Table has no key {written(key, LONGEST_SHOWN)}", irritants=(t,), name="table-ref",
            hint="(table-ref t key default) has a value for a missing key, and `table-contains?` tests for it",
        )  # fmt: skip
    return leaf[VALUE]


def _ref_default(t: Value, key: Value, default: Value) -> Value:
    leaf = _of_table("table-ref", t).find(key)
    return default if leaf is None else leaf[VALUE]


def _contains(t: Value, key: Value) -> Value:
    return FALSE if _of_table("table-contains?", t).find(key) is None else TRUE


def _keys(t: Value) -> Value:
    return list_of([leaf[KEY] for leaf in _of_table("table-keys", t).leaves()])


# Tangents and sensitivities of tables: known zeros, or tables in which a missing key is one.


def _part(d: Value, key: Value) -> Value:
    leaf = None if d is ZERO else _of_table("table-ref", d).find(key)
    return ZERO if leaf is None else leaf[VALUE]


def _only(key: Value, v: Value) -> Value:
    return ZERO if v is ZERO else EMPTY.with_key(key, v)


def _with_part(d: Value, key: Value, v: Value) -> Value:
    if v is ZERO:
        return _without_part(d, key)
    return (EMPTY if d is ZERO else _of_table("table-set", d)).with_key(key, v)


def _without_part(d: Value, key: Value) -> Value:
    return ZERO if d is ZERO else _of_table("table-remove", d).without(key)


def on_tables(name: str, rule: Callable[..., Any]) -> Any:
    """The abstract rule of a row of a table, and of other operands."""

    def checked(w: AbstractMachine, t: Any, *others: Any) -> Any:
        return w.each(t, lambda t: rule(w, t, *others) if is_table(t.type) else w.invalid(name))

    return checked


def by_leaf(missing: Callable[..., Any], found: Callable[..., Any]) -> Any:
    """The abstract rule that depends on whether a table has a key. `found` also takes the leaf."""

    def rule(w: AbstractMachine, t: Any, key: Any, *others: Any) -> Any:
        place, trie, h = w.key, w.part(t, 0), w.apply(w.machine.table["hash"], [key])
        leaf = h and find(w, trie, h, key)
        if leaf is None:
            return None

        def of_one(leaf: Any) -> Any:
            w.key = place
            if leaf.type.of is w.system(LEAF_CODE):
                return found(w, t, key, *others, leaf)
            return (
                missing(w, t, key, *others) if leaf.type is w.types.nil else w.fail("No leaf")
            )  # which never happens

        return w.each(leaf, of_one, "leaf")

    return rule


def _type_with_new(w: AbstractMachine, t: Any, key: Any, v: Any) -> Any:
    trie, next, size = w.parts(t)
    one = w.constant(1.0)
    trie = put(
        w,
        trie,
        w.apply(w.machine.table["hash"], [key]),
        w.closure(w.system(LEAF_CODE), [key, next, v, w.constant(NIL)]),
    )
    return trie and w.rebuilt(t.type, [trie, scalar(w, "+", next, one), scalar(w, "+", size, one)])


def _type_with_old(w: AbstractMachine, t: Any, key: Any, v: Any, leaf: Any) -> Any:
    key, place, _, _ = w.parts(leaf)
    h = w.apply(w.machine.table["hash"], [key])
    trie = put(w, w.part(t, 0), h, w.closure(w.system(LEAF_CODE), [key, place, v, w.constant(NIL)]))
    return trie and w.rebuilt(t.type, [trie, *w.parts(t)[1:]])


def _type_without(w: AbstractMachine, t: Any, key: Any, leaf: Any) -> Any:
    trie, next, size = w.parts(t)
    trie = cut(w, trie, w.apply(w.machine.table["hash"], [key]), key)
    return trie and w.rebuilt(t.type, [trie, next, scalar(w, "-", size, w.constant(1.0))])


def _default(w: AbstractMachine, t: Any, key: Any, default: Any) -> Any:
    return default


def _missing_key(w: AbstractMachine, t: Any, key: Any) -> Any:
    return w.by_value("Table does not have the key")


def _empty_type(w: AbstractMachine) -> Any:
    nothing = w.constant(0.0)
    return w.closure(w.system(TABLE_CODE), [w.constant(NIL), nothing, nothing])


def _of_part(rule: Callable[..., Any]) -> Any:
    """The abstract rule of a row on a sensitivity of a table, `d`, and a key."""
    return lambda w, d, key, *others: w.each(d, lambda d: rule(w, d, key, *others), "d")


def _part_type(w: AbstractMachine, d: Any, key: Any) -> Any:
    if d.type.of is ZERO:
        return d
    return w.apply(w.machine.table["table-ref-default"], [d, key, w.known_zero])


def _without_part_type(w: AbstractMachine, d: Any, key: Any) -> Any:
    return d if d.type.of is ZERO else w.apply(w.machine.table["table-remove"], [d, key])


def _with_part_type(w: AbstractMachine, d: Any, key: Any, v: Any) -> Any:
    def of_one(v: Any) -> Any:
        if v.type.of is ZERO:
            return _without_part_type(w, d, key)
        whole = _empty_type(w) if d.type.of is ZERO else d
        return w.apply(w.machine.table["table-set"], [whole, key, v])

    return w.each(v, of_one, "v")


def _row(name: str, operands: str, doc: str, value: Any, result: str = "any", **columns: Any) -> Primitive:
    type_ = f"{' '.join(['any'] * len(operands.split()))} -> {result}"
    return Primitive(name, operands, doc, value=value, type=type_, **columns)


ROWS: list[Primitive] = [
    Primitive(
        "table?", "x", "Is x a table?\n(table? (table 'a 1))  ⇒ #t\n(table? '((a . 1)))  ⇒ #f",
        value=lambda x: TRUE if type(look(x)) is Table else FALSE,
        type="any -> boolean", forward="zero", reverse={}, abstract=lambda w, x: w.each(x, lambda x: w.truth(is_table(x.type))),
    ),
    _row(
        "empty-table", "x", "The table without keys.", lambda x: EMPTY, hidden=True, forward="zero", reverse={},
        abstract=lambda w, x: _empty_type(w),
    ),
    _row(
        "table-ref", "t key",
        "The value of a key, which is compared with `equal?`; also (table-ref t key default), with a value for a missing key.\n"
        "(table-ref (table 'a 1 'b 2) 'b)  ⇒ 2\n(table-ref (table '(1 2) \"x\") (list 1 2))  ⇒ \"x\"\n"
        "(table-ref (table 'a 1) 'c 0)  ⇒ 0\n"
        "((gradient (lambda (t) (* (table-ref t 'a) (table-ref t 'b)))) (table 'a 3 'b 4))  ⇒ #<table a: 4 b: 3>", _ref,
        forward="(table-part dt key)", reverse={"t": "(only-part key s)"},
        abstract=on_tables("table-ref", by_leaf(_missing_key, lambda w, t, key, leaf: w.part(leaf, 2))),
    ),
    _row(
        "table-ref-default", "t key default", "The value of a key, or a default for a missing one.", _ref_default, hidden=True,
        forward="(if (table-contains? t key) (table-part dt key) ddefault)",
        reverse={
            "t": "(if (table-contains? t key) (only-part key s) zero)",
            "default": "(if (table-contains? t key) zero s)",
        },
        abstract=on_tables("table-ref-default", by_leaf(_default, lambda w, t, key, default, leaf: w.part(leaf, 2))),
    ),
    _row(
        "table-set", "t key v",
        "The table t with this value for the key; t stays as it is.\n(table-set (table 'a 1) 'b 2)  ⇒ #<table a: 1 b: 2>\n"
        "(let ((t (table 'a 1))) (list (table-set t 'a 5) t))  ⇒ (#<table a: 5> #<table a: 1>)",
        lambda t, key, v: _of_table("table-set", t).with_key(key, v),
        forward="(with-part dt key dv)", reverse={"t": "(without-part s key)", "v": "(table-part s key)"},
        abstract=on_tables("table-set", by_leaf(_type_with_new, _type_with_old)),
    ),
    _row(
        "table-remove", "t key",
        "The table t without the key.\n(table-remove (table 'a 1 'b 2) 'a)  ⇒ #<table b: 2>\n"
        "(table-remove (table 'a 1) 'c)  ⇒ #<table a: 1>", lambda t, key: _of_table("table-remove", t).without(key),
        forward="(without-part dt key)", reverse={"t": "(without-part s key)"},
        abstract=on_tables("table-remove", by_leaf(lambda w, t, key: t, _type_without)),
    ),
    _row(
        "table-contains?", "t key",
        "Has the table this key?\n(table-contains? (table 'a 1) 'a)  ⇒ #t\n(table-contains? (table 'a 1) 'b)  ⇒ #f",
        _contains, "boolean", forward="zero", reverse={},
        abstract=on_tables("table-contains?", by_leaf(lambda w, t, key: w.truth(False), lambda w, t, key, leaf: w.truth(True))),
    ),
    _row(
        "table-size", "t", "The number of keys.\n(table-size (table 'a 1 'b 2))  ⇒ 2",
        lambda t: float(_of_table("table-size", t).size), forward="zero", reverse={},
        abstract=on_tables("table-size", lambda w, t: w.part(t, 2)),
    ),
    _row(
        "table-keys", "t",
        "The list of the keys, in the order in which they were first set.\n(table-keys (table 'b 1 'a 2))  ⇒ (b a)", _keys,
        forward="zero", reverse={},
        abstract=on_tables("table-keys", lambda w, t: w.invoke(w.system("keys-of-table"), (), [t], False)),
    ),
    _row(
        "table-part", "d key", "The tangent of the value of a key.", _part, hidden=True,
        forward="(table-part dd key)", reverse={"d": "(only-part key s)"}, abstract=_of_part(_part_type),
    ),
    _row(
        "only-part", "key v", "The sensitivity of a table of which one value has one.", _only, hidden=True,
        forward="(only-part key dv)", reverse={"v": "(table-part s key)"},
        abstract=lambda w, key, v: _with_part_type(w, w.known_zero, key, v),
    ),
    _row(
        "with-part", "d key v", "A tangent of a table with that of one value.", _with_part, hidden=True,
        forward="(with-part dd key dv)", reverse={"d": "(without-part s key)", "v": "(table-part s key)"},
        abstract=_of_part(_with_part_type),
    ),
    _row(
        "without-part", "d key", "A tangent of a table without that of one value.", _without_part, hidden=True,
        forward="(without-part dd key)", reverse={"d": "(without-part s key)"}, abstract=_of_part(_without_part_type),
    ),
]  # fmt: skip

PROCEDURES: dict[str, str] = {
    "table": """;;; (table key value ...)
        ;;; The table of these keys and values.
        ;;; (table 'a 1 'b 2)  ⇒ #<table a: 1 b: 2>
        ;;; (table)  ⇒ #<table>
        ;;; (table 2 '(x y) "two" sqrt)  ⇒ #<table 2: (x y) "two": sqrt>
        (lambda (x) (if (null? x) (empty-table x) (table-set (empty-table x) (car x) (cdr x))))""",
}
