"""zero, plus, completion and conformance on types: the compiler's side of ad/vector_space.py.

Called by the rows of transforms.py and levels.py. `w` is the compiler's AbstractInterpreter; a value there has a `type` with
`kind`, `of` and `parts`. Structures are traversed eagerly: unused results are dropped later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.core.types import Recursion, Sharing, has_tangents, is_tensor
from vlad.data.values import ZERO
from vlad.primitives.type_rules import as_kind, filled, kind_of, shape_of

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def _with_parts(w: AbstractMachine, like: Any, parts: list[Any]) -> Any:
    return None if None in parts else w.rebuilt(like.type, parts)


def same_shape(a: Any, b: Any) -> bool:
    """Whether these are tensors of one shape."""
    return is_tensor(a.type) and is_tensor(b.type) and shape_of(a) == shape_of(b)


def _zero_types(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        if x.type.head == "real":
            return w.constant(0.0)
        if is_tensor(x.type):
            return filled(w, shape_of(x), 0.0, kind_of(x)) if has_tangents(x.type) else x
        return _with_parts(w, x, [w.recursive(ZERO_OF, part) for part in w.parts(x)]) if x.type.parts else x

    return w.each(x, of_one)


def zero_tangent_type(w: AbstractMachine, x: Any) -> Any:
    """Transformed code takes it apart, so that its structure is that of x; one of unknown size is not traversed."""
    type_ = w.types.canonical(x.type)
    if type_.kind == "union" or type_.head == "real" or is_tensor(type_):
        return w.known_zero
    parts = [zero_tangent_type(w, part) for part in w.parts(x)]
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
            if len(x.parts) != len(y.parts) or x.kind != y.kind or (checked and not _alike_types(x, y)):
                return w.unlike(recursion)
            if not x.parts:
                return _same_or_fail(w, a, b, recursion) if checked else a
            pairs = zip(w.parts(a), w.parts(b), strict=True)
            return _with_parts(w, a, [w.recursive(SUMS[recursion], p, q) for p, q in pairs])

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
        if len(s.type.parts) != len(x.type.parts):
            return w.unlike("plus")
        pairs = zip(w.parts(x), w.parts(s), strict=True)
        return _with_parts(w, x, [w.recursive(COMPLETE, p, q) for p, q in pairs])

    return w.each(x, of_one, "x")


COMPLETE = Recursion("complete", _complete_types, Sharing.RESULTS)


def _conforms_types(w: AbstractMachine, x: Any, d: Any) -> Any:
    """Like `conforms`, but a failure is an error at once."""

    def of_two(x: Any, d: Any) -> Any:
        a, b = x.type, d.type
        if b.of is ZERO or a.head == b.head == "real" or (is_tensor(a) and a is b):
            return w.truth(True)
        if same_shape(x, d) and has_tangents(a) and has_tangents(b):
            return w.truth(True)
        if a.head == "real" or b.head == "real" or not _alike_types(a, b) or len(a.parts) != len(b.parts):
            return w.unlike("bundle")
        if not a.parts:
            return _same_or_fail(w, x, d, "bundle")
        tests = [w.recursive(CONFORMS, p, q) for p, q in zip(w.parts(x), w.parts(d), strict=True)]
        return None if None in tests else w.truth(True)

    return w.each(x, lambda x: w.each(d, lambda d: of_two(x, d), "d"), "x")


CONFORMS = Recursion("conforms", _conforms_types, Sharing.VISITS)


def _without_points_types(w: AbstractMachine, d: Any) -> Any:
    """The tangent with known zeros in place of tensors that are not of reals."""

    def of_one(d: Any) -> Any:
        if is_tensor(d.type):
            return d if has_tangents(d.type) else w.known_zero
        return (
            _with_parts(w, d, [w.recursive(WITHOUT_POINTS, part) for part in w.parts(d)])
            if d.type.parts
            else d
        )

    return w.each(d, of_one)


WITHOUT_POINTS = Recursion("without-points", _without_points_types, Sharing.RESULTS)
