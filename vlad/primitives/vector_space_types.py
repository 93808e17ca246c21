"""zero, plus, completion and conformance on types: the compiler's side of ad/vector_space.py.

Called by the rows of transforms.py and levels.py. `w` is the compiler's AbstractInterpreter; a value there has a `type` with
`kind`, `of` and `parts`. Structures are traversed eagerly: unused results are dropped later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.core.types import Recursion, Sharing, has_tangents, is_table, is_tensor
from vlad.data.tables import LEAF_CODE
from vlad.data.values import ZERO, TangentSpace
from vlad.primitives.type_rules import as_kind, filled, kind_of, shape_of
from vlad.primitives.walking import choose

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def _with_parts(w: AbstractMachine, like: Any, parts: list[Any]) -> Any:
    return None if None in parts else w.rebuilt(like.type, parts)


def same_shape(a: Any, b: Any) -> bool:
    """Whether these are tensors of one shape."""
    return is_tensor(a.type) and is_tensor(b.type) and shape_of(a) == shape_of(b)


def space_of(type_: Any) -> TangentSpace | None:
    """What a type of records states of its tangents."""
    space: TangentSpace | None = type_.of.space if type_.kind == "closure" else None
    return space


def stated_zero(w: AbstractMachine, x: Any) -> Any:
    """As `stated_tangents.stated_zero`, of a type that states `zero` or `tangent`."""
    space = space_of(x.type)
    fields: list[Any] = w.parts(x)
    if space is None or space.zero is None:
        at, zeros = w.key, []
        for index, part in enumerate(fields):
            w.key = (at, "zero", index)
            zeros.append(w.recursive(ZERO_OF, part))
        w.key = (at, "stated")
        if None in zeros or space is None:
            return None
        return w.invoke(space.tangent[0], (), [_packed(w, fields), _packed(w, zeros)], False)
    found = w.invoke(space.zero[0], (), [_packed(w, fields)], False)
    if found is None or space.tangent is not None:
        return found
    return w.each(
        found, lambda found: found if _is_of_type(found.type, x.type) else wrong_tangent(w, "zero", x)
    )


def _packed(w: AbstractMachine, fields: list[Any]) -> Any:
    *others, packed = fields
    for field in reversed(others):
        packed = w.pair(field, packed)
    return packed


def _is_of_type(type_: Any, other: Any) -> bool:
    return bool(type_.kind == other.kind == "closure" and type_.of.base is other.of.base)


def _states_plus(x: Any, y: Any) -> bool:
    space = space_of(x)
    return space is not None and space.plus is not None and _is_of_type(x, y)


def _states_zero(type_: Any) -> bool:
    space = space_of(type_)
    return space is not None and (space.zero is not None or space.tangent is not None)


def wrong_tangent(w: AbstractMachine, rule: str, x: Any) -> Any:
    return w.fail(f"Result of #:{rule} of {x.type.of.name} is not a tangent of it")


def _stated_plus(w: AbstractMachine, a: Any, b: Any) -> Any:
    total = w.invoke(a.type.of.space.plus[0], (), [a, b], False)

    def checked(found: Any) -> Any:
        return found if _is_of_type(found.type, a.type) else wrong_tangent(w, "plus", a)

    return total and w.each(total, checked, "total")


def _zero_types(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        if _states_zero(x.type):
            return stated_zero(w, x)
        if x.type.head == "real":
            return w.constant(0.0)
        if is_tensor(x.type):
            return filled(w, shape_of(x), 0.0, kind_of(x)) if has_tangents(x.type) else x
        return _mapped(w, ZERO_OF, x)

    return w.each(x, of_one)


def _mapped(w: AbstractMachine, operation: Recursion, x: Any, *others: Any) -> Any:
    """The operation on the parts of x that may have tangents."""
    if not x.type.parts:
        return x
    first, last = _with_tangents(w, x.type)
    parts: list[Any] = w.parts(x)
    parts[first:last] = [w.recursive(operation, part, *others) for part in parts[first:last]]
    return _with_parts(w, x, parts)


def _with_tangents(w: AbstractMachine, type_: Any) -> tuple[int, int]:
    """The first part of a structure that may have a tangent, and the number of parts up to the last one. Of a table that is the
    trie, of a leaf its value and what follows it."""
    if is_table(type_):
        return 0, 1
    return (2, 4) if type_.of is w.system(LEAF_CODE) else (0, len(type_.parts))


def zero_tangent_type(w: AbstractMachine, x: Any) -> Any:
    """Transformed code takes it apart, so that its structure is that of x; one of unknown size is not traversed."""
    type_ = w.types.canonical(x.type)
    if type_.kind == "union" or type_.head == "real" or is_tensor(type_) or space_of(type_) is not None:
        return w.known_zero
    parts, (first, last) = w.parts(x), _with_tangents(w, type_)
    if is_table(type_) and w.types.canonical(parts[0].type).kind == "union":
        return w.known_zero
    parts[first:last] = [zero_tangent_type(w, part) for part in parts[first:last]]
    return w.rebuilt(type_, parts) if parts else x


ZERO_OF = Recursion("zero", _zero_types, Sharing.RESULTS)


def _sum_types(recursion: str, checked: bool) -> Any:
    def total(w: AbstractMachine, a: Any, b: Any) -> Any:
        def of_two(a: Any, b: Any) -> Any:
            x, y = a.type, b.type
            if x.of is ZERO or y.of is ZERO:
                return b if x.of is ZERO else a
            if x.head == y.head == "real":
                return w.apply(w.machine.table["+"], [a, b])
            if is_tensor(x) or is_tensor(y):
                return of_tensors(a, b)
            if is_table(x) and is_table(y):
                return of_tables(a, b)
            if _states_plus(x, y):
                return _stated_plus(w, a, b)
            if len(x.parts) != len(y.parts) or x.kind != y.kind or (checked and not _alike_types(x, y)):
                return w.unlike(recursion)
            if not x.parts:
                return _same_or_fail(w, a, b, recursion) if checked else a
            pairs = zip(w.parts(a), w.parts(b), strict=True)
            return _with_parts(w, a, [w.recursive(SUMS[recursion], p, q) for p, q in pairs])

        def of_tables(a: Any, b: Any) -> Any:
            key = w.key
            if not checked:
                return w.invoke(w.system("table-accumulate"), (), [a, b], False)
            test = w.invoke(w.system("same-keys?"), (), [a, b], False)
            return test and choose(
                w, (key, "keys"), test,
                lambda: w.invoke(w.system("table-plus"), (), [a, b], False), lambda: w.unlike(recursion),
            )  # fmt: skip

        def of_tensors(a: Any, b: Any) -> Any:
            if not same_shape(a, b):
                return w.unlike(recursion)
            return w.apply(w.machine.table["+"], [a, b]) if has_tangents(a.type) else a

        return w.each(a, lambda a: w.each(b, lambda b: of_two(a, b), "b"), "a")

    return total


def _same_or_fail(w: AbstractMachine, a: Any, b: Any, name: str) -> Any:
    """The tangent of a value without parts is the value itself."""
    if a.type.head != "boolean" or a.type.kind == b.type.kind == "constant":
        return a if a.type is b.type else w.unlike(name)
    key = w.key
    test = w.compute(w.machine.table["same-boolean?"], [a, b], w.types.boolean)
    return w.branch((key, "same"), test, lambda: a, lambda: w.unlike(name), False)


def _alike_types(x: Any, y: Any) -> bool:
    if x.kind == y.kind == "closure":
        return x.of.base is y.of.base
    return bool(x.kind == "pair" or x.head == y.head)


SUMS = {
    "plus": Recursion("plus", _sum_types("plus", True), Sharing.RESULTS),
    "accumulate": Recursion("accumulate", _sum_types("accumulate", False), Sharing.RESULTS),
}


def _complete_types(w: AbstractMachine, x: Any, s: Any) -> Any:
    def of_one(x: Any) -> Any:
        if x.type.head == "real":
            return w.each(s, real, "s")
        if is_tensor(x.type) and has_tangents(x.type):
            return w.each(s, lambda s: tensor(x, s), "s")
        if not x.type.parts:
            return x
        return w.each(s, lambda s: of_structure(x, s), "s")

    def real(s: Any) -> Any:
        if s.type.of is ZERO:
            return w.constant(0.0)
        return s if s.type.head == "real" else w.unlike("plus")

    def tensor(x: Any, s: Any) -> Any:
        if s.type.of is ZERO:
            return filled(w, shape_of(x), 0.0, kind_of(x))
        return as_kind(w, s, kind_of(x)) if same_shape(x, s) else w.unlike("plus")

    def of_structure(x: Any, s: Any) -> Any:
        if s.type.of is ZERO:
            return w.recursive(ZERO_OF, x)
        if space_of(x.type) is not None:
            return of_stated(x, s)
        if is_table(x.type):
            return of_table(x, s) if is_table(s.type) else w.unlike("plus")
        if len(s.type.parts) != len(x.type.parts):
            return w.unlike("plus")
        pairs = zip(w.parts(x), w.parts(s), strict=True)
        return _with_parts(w, x, [w.recursive(COMPLETE, p, q) for p, q in pairs])

    def of_stated(x: Any, s: Any) -> Any:
        at = w.key
        zero = stated_zero(w, x) if _states_zero(x.type) else x
        w.key = (at, "like")
        return zero and w.each(zero, lambda zero: like(x, zero, s), "like")

    def like(x: Any, zero: Any, s: Any) -> Any:
        if space_of(zero.type) is None:
            return w.recursive(COMPLETE, zero, s)
        if not _is_of_type(zero.type, s.type):
            return w.unlike("plus")
        if _states_plus(zero.type, s.type):
            return s
        if not _is_of_type(zero.type, x.type):
            return w.recursive(COMPLETE, zero, s)
        pairs = zip(w.parts(zero), w.parts(s), strict=True)
        return _with_parts(w, zero, [w.recursive(COMPLETE, p, q) for p, q in pairs])

    def of_table(x: Any, s: Any) -> Any:
        key = w.key
        test = w.invoke(w.system("has-keys?"), (), [x, w.part(s, 0)], False)
        return test and choose(
            w, (key, "keys"), test, lambda: _mapped(w, COMPLETE_TRIE, x, s), lambda: w.unlike("plus")
        )

    return w.each(x, of_one, "x")


COMPLETE = Recursion("complete", _complete_types, Sharing.RESULTS)


def _on_values(name: str, of_value: Recursion) -> Recursion:
    """An operation on two tables as one on the trie of the first, and the second one: on the values of each key."""

    def walk(w: AbstractMachine, trie: Any, other: Any) -> Any:
        def of_one(trie: Any) -> Any:
            if trie.type.of is not w.system(LEAF_CODE):
                return _mapped(w, operation, trie, other)
            at, (key, place, value, more) = w.key, w.parts(trie)
            own = w.apply(w.machine.table["table-part"], [other, key])
            w.key = at
            found: Any = own and w.recursive(of_value, value, own)
            rest: Any = found and w.recursive(operation, more, other)
            return rest and w.rebuilt(trie.type, [key, place, found, rest])

        return w.each(trie, of_one, "trie")

    operation = Recursion(name, walk)
    return operation


COMPLETE_TRIE = _on_values("complete-table", COMPLETE)


def _conforms_types(w: AbstractMachine, x: Any, d: Any) -> Any:
    """Like `conforms`, but a failure is an error at once."""

    def of_two(x: Any, d: Any, by_field: bool = False) -> Any:
        a, b = x.type, d.type
        if _states_zero(a) and b.of is not ZERO and not by_field:
            at = w.key
            zero = stated_zero(w, x)
            w.key = (at, "like")
            return zero and w.each(zero, lambda zero: of_two(zero, d, _is_of_type(zero.type, a)), "like")
        if _states_plus(a, b):
            return w.truth(True)
        if b.of is ZERO or a.head == b.head == "real" or (is_tensor(a) and a is b):
            return w.truth(True)
        if same_shape(x, d) and has_tangents(a) and has_tangents(b):
            return w.truth(True)
        if a.head == "real" or b.head == "real" or not _alike_types(a, b) or len(a.parts) != len(b.parts):
            return w.unlike("bundle")
        if not a.parts:
            return _same_or_fail(w, x, d, "bundle")
        if is_table(a):
            return of_tables(x, d)
        tests = [w.recursive(CONFORMS, p, q) for p, q in zip(w.parts(x), w.parts(d), strict=True)]
        return None if None in tests else w.truth(True)

    def of_tables(x: Any, d: Any) -> Any:
        key = w.key
        test = w.invoke(w.system("same-keys?"), (), [x, d], False)
        return test and choose(
            w, (key, "keys"), test,
            lambda: _mapped(w, CONFORMS_TRIE, x, d) and w.truth(True), lambda: w.unlike("bundle"),
        )  # fmt: skip

    return w.each(x, lambda x: w.each(d, lambda d: of_two(x, d), "d"), "x")


CONFORMS = Recursion("conforms", _conforms_types, Sharing.VISITS)
CONFORMS_TRIE = _on_values("conforms-table", CONFORMS)


def _without_points_types(w: AbstractMachine, d: Any) -> Any:
    """The tangent with known zeros in place of tensors that are not of reals."""

    def of_one(d: Any) -> Any:
        if is_tensor(d.type):
            return d if has_tangents(d.type) else w.known_zero
        return _mapped(w, WITHOUT_POINTS, d)

    return w.each(d, of_one)


WITHOUT_POINTS = Recursion("without-points", _without_points_types, Sharing.RESULTS)
