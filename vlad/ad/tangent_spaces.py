"""The derivatives of making a record and of reading a field, for types of records that state a tangent space of their own.

In: Record and Field of a lambda with a `space` (data/values.TangentSpace).  Out: bindings of a body under construction. Called by
forward.py and reverse.py. What is linear in a tangent is transposed by its own reverse derivative: the procedures of the system
that do it are in primitives/tangent_spaces.py. A type that only states `zero` or `plus` has tangents that are records of the
type, which are kept complete, as `plus` is a procedure of the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlad.ad.rules import KNOWN_ZERO, Basis, Builder
from vlad.core.nodes import Atom, Call, Constant, Field, Record, Variable
from vlad.data.source import Span
from vlad.data.values import NIL


def packed(basis: Basis, builder: Builder, parts: Sequence[Atom], span: Span | None) -> Atom:
    """The argument tuple of these parts."""
    whole = parts[-1]
    for part in reversed(parts[:-1]):
        whole = builder.apply("fields", basis.cons, part, whole, span=span)
    return whole


def _called(basis: Basis, builder: Builder, name: str, *operands: Atom, span: Span | None) -> Variable:
    return builder.bind(Call(Constant(basis.procedure(name)), operands, span), name)


def record_tangent(
    basis: Basis, builder: Builder, record: Variable, rhs: Record, tangents: Sequence[Atom]
) -> Atom:
    """The tangent of a record from those of its fields."""
    span, space = rhs.span, rhs.owner.space
    if space is None or space.tangent is None:
        whole: list[Atom] = []
        for field, tangent in zip(rhs.fields, tangents, strict=True):
            whole.append(builder.apply("field.tangent", basis.complete, field, tangent, span=span))
        return builder.bind(Record(rhs.owner, tuple(whole), span), "record.tangent")
    fields = packed(basis, builder, rhs.fields, span)
    given = packed(basis, builder, tangents, span)
    return _called(basis, builder, "record-tangent", record, fields, given, span=span)


def _fields(basis: Basis, builder: Builder, field: Variable, rhs: Field) -> Atom:
    """All fields of the record of which one is read."""
    parts: list[Atom] = []
    for index in range(rhs.width):
        other = Field(rhs.owner, index, rhs.width, rhs.record, rhs.span)
        parts.append(field if index == rhs.index else builder.bind(other, "field"))
    return packed(basis, builder, parts, rhs.span)


def field_tangent(basis: Basis, builder: Builder, field: Variable, rhs: Field, tangent: Atom) -> Atom:
    """The tangent of a field from that of the record."""
    space = rhs.owner.space
    if space is None or space.tangent is None:
        return builder.bind(Field(rhs.owner, rhs.index, rhs.width, tangent, rhs.span), "field.tangent")
    fields = _fields(basis, builder, field, rhs)
    rest = _called(basis, builder, "field-tangents", rhs.record, fields, tangent, span=rhs.span)
    for _ in range(rhs.index):
        rest = builder.apply("rest", basis.cdr, rest, span=rhs.span)
    return builder.apply("field.tangent", basis.car, rest, span=rhs.span)


def fields_sensitivity(
    basis: Basis, builder: Builder, record: Variable, rhs: Record, sensitivity: Atom
) -> Variable:
    """The sensitivities of a record's fields, packed as an argument tuple, from that of the record; for a type that states
    `tangent`."""
    fields = packed(basis, builder, rhs.fields, rhs.span)
    return _called(basis, builder, "record-sensitivity", record, fields, sensitivity, span=rhs.span)


def record_sensitivity(
    basis: Basis, builder: Builder, field: Variable, rhs: Field, sensitivity: Atom
) -> Atom:
    """The sensitivity of a record from that of one of its fields."""
    span, space = rhs.span, rhs.owner.space
    if space is not None and space.tangent is not None:
        seeds: Atom = Constant(NIL)
        for index in reversed(range(rhs.width)):
            seed = sensitivity if index == rhs.index else KNOWN_ZERO
            seeds = builder.apply("seeds", basis.cons, seed, seeds, span=span)
        fields = _fields(basis, builder, field, rhs)
        return _called(basis, builder, "field-sensitivity", rhs.record, fields, seeds, span=span)
    whole: list[Atom] = []
    for index in range(rhs.width):
        if index == rhs.index:
            whole.append(builder.apply("field", basis.complete, field, sensitivity, span=span))
        else:
            other = builder.bind(Field(rhs.owner, index, rhs.width, rhs.record, span), "field")
            whole.append(builder.apply("zero", basis.zero, other, span=span))
    return builder.bind(Record(rhs.owner, tuple(whole), span), "record")
