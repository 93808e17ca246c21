"""The types of tables that are values.

In: a table.  Out: its type, that of the closures by which compiled code has it (data/tables.py). Called by
abstract_interpreter.py, which gives the types of keys and values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vlad.core.types import Type, Types
from vlad.data.tables import BRANCH_CODE, KEY, LEAF_CODE, TABLE_CODE, VALUE, Table, form_of, is_few
from vlad.data.values import Code, Value

TypeOf = Callable[[Value, bool], Type]  # of a key or value; is it to be general?


def type_of_table(
    table: Table, general: bool, types: Types, codes: Mapping[str, Code], type_of: TypeOf
) -> Type:
    """The type of a table has its keys if they are few symbols, or few and part of the program; otherwise it is that of all
    tables with such keys and values."""
    if is_few(table, general):
        _, trie, next, size = form_of(table, codes)
        of_trie = _type_of_trie(trie, general, types, codes, type_of)
        return types.closure(codes[TABLE_CODE], (of_trie, types.constant(next), types.constant(size)))
    chain, trie_type = types.union(types.nil), types.union(types.nil)
    for leaf in table.leaves():
        key, held = type_of(leaf[KEY], general), type_of(leaf[VALUE], general)
        leaf_type = types.closure(
            codes[LEAF_CODE], tuple(map(types.canonical, (types.general(key), types.real, held, chain)))
        )
        for union in (chain, trie_type):
            types.join_both(union, types.canonical(leaf_type))
        trie_type = types.canonical(trie_type)
        types.join_both(trie_type, types.closure(codes[BRANCH_CODE], (trie_type, trie_type)))
    return types.closure(codes[TABLE_CODE], (types.canonical(trie_type), types.real, types.real))


def _type_of_trie(
    trie: Value, general: bool, types: Types, codes: Mapping[str, Code], type_of: TypeOf
) -> Type:
    """The type of a part of a table, in which keys and their order are known."""

    def of_part(part: Value) -> Type:
        return _type_of_trie(part, general, types, codes, type_of)

    if not trie:
        return types.nil
    if trie[0] is codes[BRANCH_CODE]:
        return types.closure(trie[0], (of_part(trie[1]), of_part(trie[2])))
    _, key, place, held, more = trie
    parts = (type_of(key, False), types.constant(place), type_of(held, general), of_part(more))
    return types.closure(trie[0], parts)
