"""The rows and the procedures of the system for types of records that state their tangents; see ad/tangent_spaces.py.

What a type states is applied to values by ad/stated_tangents.py, and to types by vector_space_types.py. `tangent` and `fields`
are linear in a tangent: reverse mode transposes them by their own reverse derivatives, so a program writes each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.ad.stated_tangents import space_of, wrong_tangent
from vlad.data.values import FALSE, NIL, TRUE, ZERO, Primitive, Role, SystemCode, TangentSpace, Value, look
from vlad.primitives.numbers import invalid
from vlad.primitives.vector_space_types import space_of as space_of_type
from vlad.primitives.vector_space_types import wrong_tangent as abstract_wrong_tangent

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

# Of a record r, its fields as one argument tuple, a tangent d and a sensitivity s.
CODES: dict[str, SystemCode] = {
    "record-tangent": (Role.RULE, "", {"": "(lambda (r fields d) ((tangent-rule r) fields (complete fields d)))"}),
    "field-tangents": (
        Role.RULE, "", {"": "(lambda (r fields d) (check-tangents r ((fields-rule r) fields (complete r d))))"}
    ),
    "record-sensitivity": (
        Role.RULE,
        "",
        {
            "": """(lambda (r fields s)
                 (let* ((rule (tangent-rule r))
                        (linear (lambda (d) (rule fields d)))
                        (back (cdr ((tail-entry linear) identity (zero fields))))
                        (whole (complete r s))
                        (rule-level (begin-rule zero zero -1))
                        (both (back whole))
                        (end (end-rule zero)))
                   (cdr both)))"""
        },
    ),
    "field-sensitivity": (
        Role.RULE,
        "",
        {
            "": """(lambda (r fields s)
                 (let* ((rule (fields-rule r))
                        (linear (lambda (d) (check-tangents r (rule fields d))))
                        (back (cdr ((tail-entry linear) identity (zero r))))
                        (rule-level (begin-rule zero zero -1))
                        (both (back s))
                        (end (end-rule zero)))
                   (complete r (cdr both))))"""
        },
    ),
}  # fmt: skip


def _rule(name: str) -> Any:
    def rule(r: Value) -> Value:
        seen = look(r)
        if seen is ZERO:
            return ZERO
        space = space_of(seen)
        found = None if space is None else getattr(space, name)
        if found is None:
            raise invalid(f"{name}-rule", f"a record whose type states #:{name}", r)
        return found

    return rule


def _abstract_rule(name: str) -> Any:
    def rule(w: AbstractMachine, r: Any) -> Any:
        def of_one(r: Any) -> Any:
            if r.type.of is ZERO:
                return r
            space: TangentSpace | None = space_of_type(r.type)
            found = None if space is None else getattr(space, name)
            return w.invalid(f"{name}-rule") if found is None else w.closure(found[0], ())

        return w.each(r, of_one)

    return rule


def _states_tangent(x: Value) -> Value:
    space = space_of(look(x))
    return FALSE if space is None or space.tangent is None else TRUE


def _abstract_states_tangent(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        space = space_of_type(x.type)
        return w.truth(space is not None and space.tangent is not None)

    return w.each(x, of_one)


def _check_tangents(r: Value, tangents: Value) -> Value:
    seen, rest = look(r), look(tangents)
    if seen is ZERO:
        return tangents
    if space_of(seen) is None:
        raise invalid("check-tangents", "a record whose type states its tangents", r)
    count = 0
    while type(rest) is tuple and len(rest) == 2:
        rest, count = look(rest[1]), count + 1
    if rest != NIL or count != len(seen[0].environment):
        raise wrong_tangent("fields", seen, tangents, "a list of a tangent for each field")
    return tangents


def _abstract_check_tangents(w: AbstractMachine, r: Any, tangents: Any) -> Any:
    def of_one(r: Any) -> Any:
        if r.type.of is ZERO:
            return tangents
        if space_of_type(r.type) is None:
            return w.invalid("check-tangents")
        type_ = w.types.canonical(tangents.type)
        for _ in r.type.parts:
            if type_.kind != "pair":
                return abstract_wrong_tangent(w, "fields", r)
            type_ = w.types.canonical(type_.parts[1])
        return tangents if type_ is w.types.nil else abstract_wrong_tangent(w, "fields", r)

    return w.each(r, of_one)


ROWS: list[Primitive] = [
    *[
        Primitive(
            f"{name}-rule", "record", f"What the type of a record states as #:{name}.", value=_rule(name),
            type="any -> procedure", forward="zero", reverse={}, hidden=True, abstract=_abstract_rule(name),
        )
        for name in ("tangent", "fields")
    ],
    Primitive(
        "states-tangent?", "x", "Is x a record whose type states #:tangent?", value=_states_tangent, type="any -> boolean",
        forward="zero", reverse={}, hidden=True, abstract=_abstract_states_tangent,
    ),
    Primitive(
        "check-tangents", "record tangents", "A list of tangents, one for each field of a record.", value=_check_tangents,
        type="any any -> any", forward="dtangents", reverse={"tangents": "s"}, hidden=True, abstract=_abstract_check_tangents,
    ),
]  # fmt: skip
