"""Tables in compiled code: the hash trie as records of the language, and its operations as procedures in the language.

There a table is a closure of the code "hash-table" over its trie, the place of the next new key, and the number of its keys. A
trie is (); a "hash-branch" of the keys whose hash is even, and of the others, each by half of the hash from there on; or a
"hash-leaf" of a key, its place in the order, its value, and the leaves (in `more`) of other keys with the same hash.
vector_space_types.py has zero and plus of tables. So their derivatives, and C, need nothing more.

The hash of a constant is a constant, so a table of known keys has a known shape: `find`, `put` and `cut` follow it while they
compile, and reading the table costs nothing. What is not known is left to the procedures. data/tables.py makes tries of
tables, and tables of tries, with the same hashes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.core.types import Recursion, is_table, is_tensor
from vlad.data.tables import (
    BRANCH_CODE,
    LEAF_CODE,
    OF_BOOLEAN,
    OF_CLOSURE,
    OF_PAIR,
    OF_REAL,
    OF_TABLE,
    OF_TENSOR,
    TABLE_CODE,
    hash_of,
    mixed_hash,
)
from vlad.data.values import NIL, Primitive, Role, SystemCode, Value
from vlad.primitives.data import constant_row
from vlad.primitives.numbers import invalid
from vlad.primitives.ropes import listed
from vlad.primitives.transforms import abstract_test, record_rows, tag_test
from vlad.primitives.walking import scalar

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

_NO_PROCEDURE = {"": "(lambda (x) ((quote table) x))"}  # a table is not applied
# `h`: what is left of a hash in some depth of the trie; `scale`: 2 to the power of that depth.
_PROCEDURES: dict[str, str] = {
    "half-hash": "(lambda (h) (floor (/ h 2)))",
    "even-hash?": "(lambda (h half) (= h (* 2 half)))",
    "own-hash": "(lambda (leaf scale) (floor (/ (hash (hash-leaf-field-1 leaf)) scale)))",
    # The leaf of a key in a trie, or ().
    "find-leaf": """(lambda (trie h key)
        (if (hash-branch? trie)
            (let ((half (half-hash h)))
              (if (even-hash? h half)
                  (find-leaf (hash-branch-field-1 trie) half key)
                  (find-leaf (hash-branch-field-2 trie) half key)))
            (leaf-among trie key)))""",
    "leaf-among": """(lambda (leaf key)
        (if (null? leaf)
            leaf
            (if (equal? (hash-leaf-field-1 leaf) key) leaf (leaf-among (hash-leaf-field-4 leaf) key))))""",
    "with-leaf": """(lambda (trie h scale leaf)
        (if (null? trie)
            leaf
            (if (hash-branch? trie)
                (let ((half (half-hash h)))
                  (if (even-hash? h half)
                      (make-hash-branch (with-leaf (hash-branch-field-1 trie) half (* 2 scale) leaf)
                                        (hash-branch-field-2 trie))
                      (make-hash-branch (hash-branch-field-1 trie)
                                        (with-leaf (hash-branch-field-2 trie) half (* 2 scale) leaf))))
                (both-leaves trie (own-hash trie scale) leaf h))))""",
    "both-leaves": """(lambda (a g b h)
        (if (= g h)
            (leaf-beside a b)
            (let* ((half (half-hash g)) (other (half-hash h)))
              (if (even-hash? g half)
                  (if (even-hash? h other)
                      (make-hash-branch (both-leaves a half b other) (quote ()))
                      (make-hash-branch a b))
                  (if (even-hash? h other)
                      (make-hash-branch b a)
                      (make-hash-branch (quote ()) (both-leaves a half b other)))))))""",
    "leaf-beside": """(lambda (leaves leaf)
        (if (null? leaves)
            leaf
            (if (equal? (hash-leaf-field-1 leaves) (hash-leaf-field-1 leaf))
                (make-hash-leaf (hash-leaf-field-1 leaf) (hash-leaf-field-2 leaf) (hash-leaf-field-3 leaf)
                                (hash-leaf-field-4 leaves))
                (make-hash-leaf (hash-leaf-field-1 leaves) (hash-leaf-field-2 leaves) (hash-leaf-field-3 leaves)
                                (leaf-beside (hash-leaf-field-4 leaves) leaf)))))""",
    "without-leaf": """(lambda (trie h key)
        (if (hash-branch? trie)
            (let ((half (half-hash h)))
              (if (even-hash? h half)
                  (branch-of (without-leaf (hash-branch-field-1 trie) half key) (hash-branch-field-2 trie))
                  (branch-of (hash-branch-field-1 trie) (without-leaf (hash-branch-field-2 trie) half key))))
            (without-among trie key)))""",
    "without-among": """(lambda (leaf key)
        (if (null? leaf)
            leaf
            (if (equal? (hash-leaf-field-1 leaf) key)
                (hash-leaf-field-4 leaf)
                (make-hash-leaf (hash-leaf-field-1 leaf) (hash-leaf-field-2 leaf) (hash-leaf-field-3 leaf)
                                (without-among (hash-leaf-field-4 leaf) key)))))""",
    "branch-of": """(lambda (even odd)
        (if (null? even) (if (null? odd) odd (make-hash-branch even odd)) (make-hash-branch even odd)))""",
    # The list of the leaves, in the order of their places.
    "leaves-of": "(lambda (t) (ordered-leaves (hash-table-field-1 t)))",
    "ordered-leaves": """(lambda (trie)
        (if (null? trie)
            trie
            (if (hash-branch? trie)
                (merged-leaves (ordered-leaves (hash-branch-field-1 trie)) (ordered-leaves (hash-branch-field-2 trie)))
                (merged-leaves (cons trie (quote ())) (ordered-leaves (hash-leaf-field-4 trie))))))""",
    "merged-leaves": """(lambda (a b)
        (if (null? a)
            b
            (if (null? b)
                a
                (if (< (hash-leaf-field-2 (car b)) (hash-leaf-field-2 (car a)))
                    (cons (car b) (merged-leaves a (cdr b)))
                    (cons (car a) (merged-leaves (cdr a) b))))))""",
    "keys-of-table": "(lambda (t) (keys-of (leaves-of t)))",
    "keys-of": "(lambda (leaves) (if (null? leaves) leaves (cons (hash-leaf-field-1 (car leaves)) (keys-of (cdr leaves)))))",
    "table-environment": "(lambda (t) (values-of (leaves-of t)))",
    "values-of": "(lambda (leaves) (if (null? leaves) leaves (cons (hash-leaf-field-3 (car leaves)) (values-of (cdr leaves)))))",
    "table-with-environment": "(lambda (t values) (with-values t (leaves-of t) values))",
    "with-values": """(lambda (t leaves values)
        (if (null? leaves)
            (let ((end (expect-constant values (quote ())))) t)
            (with-values (table-set t (hash-leaf-field-1 (car leaves)) (match-car values))
                         (cdr leaves) (match-cdr values))))""",
    "same-keys?": "(lambda (t u) (if (= (hash-table-field-3 t) (hash-table-field-3 u)) (has-keys? u (hash-table-field-1 t)) #f))",
    # Has a table the keys of a trie?
    "has-keys?": """(lambda (t trie)
        (if (null? trie)
            #t
            (if (hash-branch? trie)
                (if (has-keys? t (hash-branch-field-1 trie)) (has-keys? t (hash-branch-field-2 trie)) #f)
                (if (table-contains? t (hash-leaf-field-1 trie)) (has-keys? t (hash-leaf-field-4 trie)) #f))))""",
    "equal-tables?": "(lambda (t u) (if (same-keys? t u) (equal-values? u (hash-table-field-1 t)) #f))",
    "equal-values?": """(lambda (t trie)
        (if (null? trie)
            #t
            (if (hash-branch? trie)
                (if (equal-values? t (hash-branch-field-1 trie)) (equal-values? t (hash-branch-field-2 trie)) #f)
                (if (equal? (table-ref t (hash-leaf-field-1 trie)) (hash-leaf-field-3 trie))
                    (equal-values? t (hash-leaf-field-4 trie))
                    #f))))""",
    # Sums: the leaves of the smaller table are added to the larger one.
    "table-plus": "(lambda (t u) (table-sum add-values t u))",
    "table-accumulate": "(lambda (t u) (table-sum accumulate-values t u))",
    "add-values": "(lambda (x y) (plus x y))",
    "accumulate-values": "(lambda (x y) (accumulate x y))",
    "table-sum": """(lambda (add t u)
        (if (< (hash-table-field-3 t) (hash-table-field-3 u))
            (with-leaves add u (hash-table-field-1 t))
            (with-leaves add t (hash-table-field-1 u))))""",
    "with-leaves": """(lambda (add t trie)
        (if (null? trie)
            t
            (if (hash-branch? trie)
                (with-leaves add (with-leaves add t (hash-branch-field-1 trie)) (hash-branch-field-2 trie))
                (let* ((key (hash-leaf-field-1 trie)) (v (hash-leaf-field-3 trie)))
                  (with-leaves add
                    (table-set t key (if (table-contains? t key) (add (table-ref t key) v) v))
                    (hash-leaf-field-4 trie))))))""",
}

CODES: dict[str, SystemCode] = {
    TABLE_CODE: (Role.TABLE, "trie next size", _NO_PROCEDURE),
    BRANCH_CODE: (Role.RECORD, "even odd", _NO_PROCEDURE),
    LEAF_CODE: (Role.RECORD, "key place value more", _NO_PROCEDURE),
    **{name: (Role.RULE, "", {"": text}) for name, text in _PROCEDURES.items()},
}


def _hash_types(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        if x.type.head == "real":
            return scalar(w, "mixed-hash", x, w.constant(OF_REAL))
        if x.type.kind == "boolean":
            return scalar(w, "mixed-hash", w.as_real(x), w.constant(OF_BOOLEAN))
        if x.type.kind == "string":
            characters = listed(w, x)
            return characters and w.recursive(HASH, characters)
        if x.type.kind == "constant":
            return w.constant(hash_of(x.type.of))
        if is_tensor(x.type):
            return w.constant(OF_TENSOR)
        if is_table(x.type):
            return scalar(w, "mixed-hash", w.part(x, 2), w.constant(OF_TABLE))
        found = w.constant(OF_PAIR if x.type.kind == "pair" else OF_CLOSURE)
        for part in reversed(w.parts(x)):
            own = w.recursive(HASH, part)
            if own is None:
                return None
            found = scalar(w, "mixed-hash", own, found)
        return found

    return w.each(x, of_one)


HASH = Recursion("hash", _hash_types)


def _mixed_hash(a: Value, b: Value) -> Value:
    if type(a) is not float or type(b) is not float:
        raise invalid("mixed-hash", "two reals", a, b)
    return mixed_hash(a, b)


# Tries of known shape.


def _is_known(w: AbstractMachine, trie: Any, h: Any) -> bool:
    return w.types.canonical(trie.type).kind != "union" and h.type.kind == "constant"


def find(w: AbstractMachine, trie: Any, h: Any, key: Any) -> Any:
    """The leaf of a key with this hash, or ()."""
    while _is_known(w, trie, h) and trie.type.of is w.system(BRANCH_CODE):
        trie, h = w.part(trie, int(h.type.of % 2)), w.constant(h.type.of // 2)
    if _is_known(w, trie, h):
        return w.invoke(w.system("leaf-among"), (), [trie, key], False)
    return w.invoke(w.system("find-leaf"), (), [trie, h, key], False)


def put(w: AbstractMachine, trie: Any, h: Any, leaf: Any, scale: float = 1.0) -> Any:
    """A trie with a leaf, by its hash."""
    if _is_known(w, trie, h):
        if trie.type is w.types.nil:
            return leaf
        if trie.type.of is w.system(BRANCH_CODE):
            return _changed(w, trie, h, lambda part, half: put(w, part, half, leaf, 2 * scale))
        own = w.apply(w.machine.table["hash"], [w.part(trie, 0)])
        if own.type.kind == "constant":
            return _branched(w, trie, own.type.of // scale, leaf, h.type.of)
    return w.invoke(w.system("with-leaf"), (), [trie, h, w.constant(scale), leaf], False)


def _changed(w: AbstractMachine, branch: Any, h: Any, change: Callable[[Any, Any], Any]) -> Any:
    parts, index = w.parts(branch), int(h.type.of % 2)
    parts[index] = change(parts[index], w.constant(h.type.of // 2))
    return None if None in parts else w.rebuilt(branch.type, parts)


def _branched(w: AbstractMachine, a: Any, g: float, b: Any, h: float) -> Any:
    """The trie of two leaves with these hashes."""
    if g == h:
        return w.invoke(w.system("leaf-beside"), (), [a, b], False)
    parts = [w.constant(NIL), w.constant(NIL)]
    if g % 2 == h % 2:
        parts[int(g % 2)] = _branched(w, a, g // 2, b, h // 2)
    else:
        parts[int(g % 2)], parts[int(h % 2)] = a, b
    return None if None in parts else w.closure(w.system(BRANCH_CODE), parts)


def cut(w: AbstractMachine, trie: Any, h: Any, key: Any) -> Any:
    """A trie without a key, by its hash."""
    if not _is_known(w, trie, h):
        return w.invoke(w.system("without-leaf"), (), [trie, h, key], False)
    if trie.type.of is w.system(BRANCH_CODE):
        return _changed(w, trie, h, lambda part, half: cut(w, part, half, key))
    return w.invoke(w.system("without-among"), (), [trie, key], False)


def _node_rows(code: str) -> list[Primitive]:
    operands = CODES[code][1]
    test = Primitive(
        f"{code}?", "x", f"Is x a part of a table, a {code}?", value=tag_test(code), type="any -> boolean", forward="zero",
        reverse={}, needs_machine=True, hidden=True, abstract=abstract_test(code),
    )  # fmt: skip
    return [test, *record_rows(code, operands, "A part of a table, as compiled code has it.")]


ROWS: list[Primitive] = [
    *_node_rows(TABLE_CODE),
    *_node_rows(BRANCH_CODE),
    *_node_rows(LEAF_CODE),
    constant_row(
        "hash", "x", "The hash of a key: a whole number, the same one for values that are `equal?`.", hash_of, "any -> real",
        hidden=True, abstract=_hash_types,
    ),
    constant_row(
        "mixed-hash", "a b", "A whole number that depends on both reals.", _mixed_hash, "real real -> real", hidden=True,
        c="vlad_mixed_hash({a}, {b})",
    ),
]  # fmt: skip
