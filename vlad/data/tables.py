"""Persistent tables: a hash trie from keys to values (Bagwell 2001, "Ideal hash trees"), which shares all but one path with the
table that it was made of.

A key is any value. Two keys are the same if `equal?` says so: `token` gives equal keys equal, hashable Python objects. The order
is that in which keys were first set, as in Python's dicts, so no result depends on hashes, which Python randomises for texts.
Finding, setting and removing take O(log n) steps of some tenths of a microsecond each.

A part of a trie is None; a leaf, of length LEAF; a branch of BRANCH parts; or a bucket, of length 1, with the tuple of leaves of
one hash. They are plain tuples, since Python copies and indexes these fastest (values.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vlad.data.tensors import Tensor, kind_name, on_host
from vlad.data.values import (
    NIL,
    TRUE,
    VECTOR_CODE,
    Boolean,
    Code,
    Deferred,
    String,
    Symbol,
    Value,
    character_list,
    is_pair,
    look,
)

BITS = 4
BRANCH = 1 << BITS  # parts of a branch
MASK = BRANCH - 1
HASH_BITS = 60
SPREAD = (
    0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio: neighbouring hashes part at once (Knuth, 6.4)
)
HASHES = (1 << HASH_BITS) - 1
Leaf = tuple[int, Any, Value, int, Value]  # hash, token, key, place in the order, value
LEAF = 5
TOKEN, KEY, PLACE, VALUE = 1, 2, 3, 4
Part = Any
NOTHING = (None,) * BRANCH
_NAN, _PAIR, _TENSOR, _TABLE = object(), object(), object(), object()


class Table:
    """A table; immutable. `size`: the number of its keys."""

    __slots__ = ("_next", "_root", "size")

    def __init__(self, root: Part = None, size: int = 0, next: int = 0) -> None:
        self._root = root
        self.size = size
        self._next = next  # the place of the next new key

    def find(self, key: Value) -> Leaf | None:
        """The leaf of a key; None if it has none."""
        return self.found(token(key))

    def found(self, token: Any) -> Leaf | None:
        """The leaf of the key with this token."""
        code = rest = _hash(token)
        part = self._root
        while part is not None:
            length = len(part)
            if length == BRANCH:
                part = part[rest & MASK]
                rest >>= BITS
            elif length == LEAF:
                leaf: Leaf = part
                return leaf if leaf[0] == code and leaf[TOKEN] == token else None
            else:
                return next((leaf for leaf in part[0] if leaf[TOKEN] == token), None)
        return None

    def with_key(self, key: Value, value: Value) -> Table:
        """The table in which the key has this value."""
        own = token(key)
        known = self.found(own)
        if known is not None:
            return Table(_put(self._root, (*known[:VALUE], value), 0), self.size, self._next)
        leaf = (_hash(own), own, key, self._next, value)
        return Table(_put(self._root, leaf, 0), self.size + 1, self._next + 1)

    def without(self, key: Value) -> Table:
        """The table without the key; itself if it has none such."""
        known = self.find(key)
        return self if known is None else Table(_cut(self._root, known, 0), self.size - 1, self._next)

    def leaves(self) -> list[Leaf]:
        """All leaves, in the order of their keys."""
        found: list[Leaf] = []
        work = [self._root]
        while work:
            part = work.pop()
            if part is None:
                continue
            if len(part) == LEAF:
                found.append(part)
            else:
                work += part if len(part) == BRANCH else part[0]
        found.sort(key=_place)
        return found

    def mapped(self, change: Callable[[Leaf], Value]) -> Table:
        """The table of the same keys with other values."""
        return Table(_mapped(self._root, change), self.size, self._next)

    def with_values(self, values: Iterable[Value]) -> Table:
        """The table of the same keys with these values, in the order of the keys."""
        by_place = dict(zip([leaf[PLACE] for leaf in self.leaves()], values, strict=True))
        return self.mapped(lambda leaf: by_place[leaf[PLACE]])

    def values(self) -> list[Value]:
        """The values, in the order of the keys."""
        return [leaf[VALUE] for leaf in self.leaves()]

    def merged(self, other: Table, add: Callable[[Value, Value], Value]) -> Table:
        """The table with the keys of both; `add` gives the value of a key that both have. Takes as many steps as the smaller one
        has keys.
        """
        larger, smaller = (self, other) if self.size >= other.size else (other, self)
        for leaf in smaller.leaves():
            known = larger.found(leaf[TOKEN])
            if known is None:
                larger = larger.with_key(leaf[KEY], leaf[VALUE])
            else:
                first, second = (known, leaf) if smaller is other else (leaf, known)
                changed = (*known[:VALUE], add(first[VALUE], second[VALUE]))
                larger = Table(_put(larger._root, changed, 0), larger.size, larger._next)
        return larger

    def paired(self, other: Table) -> list[tuple[Leaf, Value]] | None:
        """The leaves of this table, each with the value in the other; None if they have different keys."""
        if self.size != other.size:
            return None
        found = []
        for leaf in self.leaves():
            counterpart = other.found(leaf[TOKEN])
            if counterpart is None:
                return None
            found.append((leaf, counterpart[VALUE]))
        return found


EMPTY = Table()


def vector_of(elements: Iterable[Value], codes: Mapping[str, Code]) -> Value:
    """The vector of the elements. `codes`: those of the machine."""
    return codes[VECTOR_CODE], table_of((float(place), one) for place, one in enumerate(elements)), None


def elements(vector: Value) -> list[Value]:
    """The elements of a vector, in the order of their positions: of a sensitivity, those that it has."""
    items = look(vector[1])
    leaves = items.leaves() if type(items) is Table else []
    return [leaf[VALUE] for leaf in sorted(leaves, key=_key)]


def _key(leaf: Leaf) -> Any:
    return leaf[KEY]


def table_of(pairs: Iterable[tuple[Value, Value]]) -> Table:
    """The table of these keys and values; the last value of a key counts."""
    table = EMPTY
    for key, value in pairs:
        table = table.with_key(key, value)
    return table


def _place(leaf: Leaf) -> int:
    return leaf[PLACE]


def _hash(token: Any) -> int:
    mixed = hash(token) * SPREAD
    return (
        mixed ^ (mixed >> 58)
    ) & HASHES  # the lower bits of a product depend on lower bits alone, the upper ones on all


def _put(part: Part, leaf: Leaf, depth: int) -> Part:
    """A part with a leaf, in place of one with an equal key."""
    if part is None:
        return leaf
    if len(part) == BRANCH:
        index = (leaf[0] >> depth) & MASK
        return _with(part, index, _put(part[index], leaf, depth + BITS))
    if len(part) == LEAF:
        if part[0] != leaf[0]:
            return _put(_with(NOTHING, (part[0] >> depth) & MASK, part), leaf, depth)
        return leaf if part[TOKEN] == leaf[TOKEN] else ((part, leaf),)
    if part[0][0][0] != leaf[0]:
        return _put(_with(NOTHING, (part[0][0][0] >> depth) & MASK, part), leaf, depth)
    return ((*[other for other in part[0] if other[TOKEN] != leaf[TOKEN]], leaf),)


def _cut(part: Part, leaf: Leaf, depth: int) -> Part:
    """A part without a leaf that it has."""
    if len(part) == BRANCH:
        index = (leaf[0] >> depth) & MASK
        rest = _cut(part[index], leaf, depth + BITS)
        if rest is None or len(rest) != BRANCH:  # a branch has two leaves or more below it
            others = [other for at, other in enumerate(part) if other is not None and at != index]
            if rest is None and len(others) == 1 and len(others[0]) != BRANCH:
                return others[0]
            if not others:
                return rest
        return _with(part, index, rest)
    if len(part) == LEAF:
        return None
    left = tuple([other for other in part[0] if other is not leaf])
    return left[0] if len(left) == 1 else (left,)


def _with(branch: Part, index: int, part: Part) -> Part:
    changed = list(branch)
    changed[index] = part
    return tuple(changed)


def _mapped(part: Part, change: Callable[[Leaf], Value]) -> Part:
    if part is None:
        return None
    if len(part) == LEAF:
        return (*part[:VALUE], change(part))
    if len(part) == BRANCH:
        return tuple([_mapped(one, change) for one in part])
    return (tuple([_mapped(one, change) for one in part[0]]),)


def token(value: Value) -> Any:
    """A hashable Python object: equal for two values if `equal?` says that they are. (A text is a Python str, other atoms are
    themselves, a structure is a flat tuple.)
    """
    if type(value) is float:
        return value if value == value else _NAN
    if type(value) is String:
        return value.text
    if type(value) is Deferred:
        value = value.force()
    if type(value) is Tensor:
        entries = [_NAN if entry != entry else entry for entry in on_host(value.array).reshape(-1).tolist()]
        return _TENSOR, kind_name(value.like.dtype), value.shape, *entries
    if type(value) is Table:
        return _TABLE, frozenset([(leaf[TOKEN], token(leaf[VALUE])) for leaf in value.leaves()])
    return _structure(value) if type(value) is tuple and value else value


def _structure(value: Value) -> Any:
    """The parts of a structure from left to right, each pair and each closure announced: so no two structures have one token."""
    out: list[Any] = []
    work = [value]
    while work:
        part = work.pop()
        if type(part) is Deferred:
            part = part.force()
        if type(part) is not tuple or not part:
            out.append(token(part))
        elif len(part) == 2:
            out.append(_PAIR)
            work += (part[1], part[0])
        else:
            out.append(part[0])
            work += reversed(part[1:])
    return tuple(out)


# The same in compiled code: closures of three codes of the system (primitives/table_types.py). Hashes of keys equal those that
# compiled code computes, and are the same in every process, so a call is compiled once.

FEW = 24  # keys of a table whose type has each of them
TABLE_CODE, BRANCH_CODE, LEAF_CODE = "hash-table", "hash-branch", "hash-leaf"  # names of codes
WORD = (1 << 64) - 1
Placed = tuple[int, float, Leaf]  # with what is left of the hash, and the place in the order
MIXER = 0x9E3779B97F4A7C15
MIXER_OF_FIRST = 0xC2B2AE3D27D4EB4F
OF_NAN = 0x7FF8000000000000
# What is mixed into the hash of each kind of key.
OF_REAL, OF_BOOLEAN, OF_TABLE, OF_CLOSURE, OF_PAIR, OF_NIL, OF_SYMBOL, OF_TENSOR, OF_OTHERS = map(
    float, range(9)
)


def mixed_hash(a: float, b: float) -> float:
    """A whole number below 2**52 that depends on both reals, but not on the sign of a zero, nor on which nan it is.
    (`vlad_mixed_hash` in C.)
    """
    bits = (_bits(a) * MIXER_OF_FIRST + _bits(b)) & WORD
    bits ^= bits >> 32
    bits = (bits * MIXER) & WORD
    return float((bits ^ (bits >> 29)) >> 12)


def _bits(x: float) -> int:
    import struct  # not when vlad starts

    if x != x:
        return OF_NAN
    return int(struct.unpack("<Q", struct.pack("<d", x + 0.0))[0])


def hash_of(x: Value) -> float:
    """The hash of a key: the same for values that are `equal?`."""
    firsts: list[float] = []
    x = look(x)
    while is_pair(x):
        firsts.append(hash_of(x[0]))
        x = look(x[1])
    found = _hash_of_end(x)
    for first in reversed(firsts):
        found = mixed_hash(first, mixed_hash(found, OF_PAIR))
    return found


def _hash_of_end(x: Value) -> float:
    if type(x) is float:
        return mixed_hash(x, OF_REAL)
    if type(x) is Boolean:
        return mixed_hash(float(x is TRUE), OF_BOOLEAN)
    if type(x) is String:
        return hash_of(character_list(x.text))
    if type(x) is Symbol:
        from zlib import crc32  # not when vlad starts

        return mixed_hash(float(crc32(x.name.encode("utf-8", "surrogatepass"))), OF_SYMBOL)
    if type(x) is Tensor:
        return OF_TENSOR
    if type(x) is Table:
        return mixed_hash(float(x.size), OF_TABLE)
    if type(x) is tuple and x:
        found = OF_CLOSURE
        for part in reversed(x[1 : 1 + len(x[0].environment)]):
            found = mixed_hash(hash_of(part), found)
        return found
    return OF_NIL if x == NIL else OF_OTHERS


def is_few(table: Table, symbols: bool) -> bool:
    """Are a table's keys few, and, if asked, `symbols`?"""
    return table.size <= FEW and (not symbols or all(type(leaf[KEY]) is Symbol for leaf in table.leaves()))


def form_of(table: Table, codes: Mapping[str, Code]) -> Value:
    """The table as compiled code has it. `codes`: those of the machine."""
    leaves = [(int(hash_of(leaf[KEY])), float(place), leaf) for place, leaf in enumerate(table.leaves())]
    return codes[TABLE_CODE], _trie(leaves, codes), float(len(leaves)), float(len(leaves))


def _trie(leaves: list[Placed], codes: Mapping[str, Code]) -> Value:
    if not leaves:
        return NIL
    if all(h == leaves[0][0] for h, _, _ in leaves):
        chain: Value = NIL
        for _, place, leaf in reversed(leaves):
            chain = (codes[LEAF_CODE], leaf[KEY], place, leaf[VALUE], chain)
        return chain
    even, odd = [[(h >> 1, place, leaf) for h, place, leaf in leaves if h % 2 == side] for side in (0, 1)]
    return codes[BRANCH_CODE], _trie(even, codes), _trie(odd, codes)


def table_of_form(form: Value) -> Table:
    """The table of what compiled code returns."""
    leaves: list[tuple[Value, ...]] = []
    work = [look(form[1])]
    while work:
        part = work.pop()
        if part:
            if part[0].name == LEAF_CODE:
                leaves.append(part)
                work.append(look(part[4]))
            else:
                work += (look(part[1]), look(part[2]))
    leaves.sort(key=lambda leaf: leaf[2])
    return table_of([(leaf[1], leaf[3]) for leaf in leaves])
