"""Tables as compiled code has them: hash tries of records of the language (primitives/table_types.py).

In: tables.  Out: the same as closures of three codes of the system, and back; the hashes of keys, equal to those that compiled
code computes. They are the same in every process, so a call is compiled once.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from zlib import crc32

from vlad.data.tables import KEY, VALUE, Leaf, Table, table_of
from vlad.data.tensors import Tensor
from vlad.data.values import NIL, TRUE, Boolean, Code, String, Symbol, Value, character_list, is_pair, look

FEW = 24  # keys of a table whose type has each of them
TABLE, BRANCH, LEAF = "hash-table", "hash-branch", "hash-leaf"  # names of codes
WORD = (1 << 64) - 1
Placed = tuple[int, float, Leaf]  # with what is left of the hash, and the place in the order
SPREAD = 0x9E3779B97F4A7C15
SPREAD_MORE = 0xC2B2AE3D27D4EB4F
OF_NAN = 0x7FF8000000000000
# What is mixed into the hash of each kind of key.
OF_REAL, OF_BOOLEAN, OF_TABLE, OF_CLOSURE, OF_PAIR, OF_NIL, OF_SYMBOL, OF_TENSOR, OF_OTHERS = map(
    float, range(9)
)


def mixed_hash(a: float, b: float) -> float:
    """A whole number below 2**52 that depends on both reals, but not on the sign of a zero, nor on which nan it is.
    (`vlad_mixed_hash` in C.)
    """
    bits = (_bits(a) * SPREAD_MORE + _bits(b)) & WORD
    bits ^= bits >> 32
    bits = (bits * SPREAD) & WORD
    return float((bits ^ (bits >> 29)) >> 12)


def _bits(x: float) -> int:
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
    return codes[TABLE], _trie(leaves, codes), float(len(leaves)), float(len(leaves))


def _trie(leaves: list[Placed], codes: Mapping[str, Code]) -> Value:
    if not leaves:
        return NIL
    if all(h == leaves[0][0] for h, _, _ in leaves):
        chain: Value = NIL
        for _, place, leaf in reversed(leaves):
            chain = (codes[LEAF], leaf[KEY], place, leaf[VALUE], chain)
        return chain
    even, odd = [[(h >> 1, place, leaf) for h, place, leaf in leaves if h % 2 == side] for side in (0, 1)]
    return codes[BRANCH], _trie(even, codes), _trie(odd, codes)


def table_of_form(form: Value) -> Table:
    """The table of what compiled code returns."""
    leaves: list[tuple[Value, ...]] = []
    work = [look(form[1])]
    while work:
        part = work.pop()
        if part:
            if part[0].name == LEAF:
                leaves.append(part)
                work.append(look(part[4]))
            else:
                work += (look(part[1]), look(part[2]))
    leaves.sort(key=lambda leaf: leaf[2])
    return table_of([(leaf[1], leaf[3]) for leaf in leaves])
