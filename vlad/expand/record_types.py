"""define-record-type: the procedures of a type of records, in core.

In: the form.  Out: the names that it defines, and the list of their values. Called by expander.py, for bodies and the top level.

A record is a value of the same kind as a closure: a code with the values of its environment, which are the fields. So equality,
zero, plus, both modes of differentiation, saved values and the types of the compiler need nothing for it: the sensitivity of a
record is a record, and its fields are variables in compiled code. The code is that of `_owner`, a lambda that stands nowhere
else; Record and Field of core, which the transforms use for environments, make a record and read a field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vlad.core.names import make_lambda
from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Constant,
    Field,
    If,
    Lambda,
    Record,
    Rhs,
    Variable,
    WrittenName,
)
from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import FALSE, NIL, Primitive, RestField, String, TangentSpace, symbol
from vlad.expand.macros import ProcedureSpan, invalid
from vlad.expand.normalize import Out, as_atom
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax

SHAPE = "(define-record-type NAME (CONSTRUCTOR FIELD ...) PREDICATE (FIELD ACCESSOR) ...)"
CONSTRUCTOR = "a constructor is (NAME FIELD ...) or (NAME FIELD ... . FIELD)"
# The procedures that a type may state of its tangents (data/values.TangentSpace), with their parameters.
PARAMETERS = {
    "zero": ["fields"],
    "plus": ["a", "b"],
    "tangent": ["fields", "tangents"],
    "fields": ["fields", "tangent"],
}
CALL = "call"  # what calling a record is
STATED = "a type of records may state #:call, #:zero, #:plus, and #:tangent with #:fields, each once and before a procedure"


Expanded = Callable[
    [Syntax, Out, str], Atom
]  # an expression's value, with bindings that it needs, and a name


class RecordType:
    """A record type as it is written: its name, and the names of its procedures, with the index of the field."""

    __slots__ = (
        "accessors", "call", "constructor", "field_names", "fields", "name", "owner", "parameters", "predicate", "span", "stated",
        "updaters", "written",
    )  # fmt: skip

    def __init__(self, form: Form) -> None:
        if len(form.items) < 4 or form.tail is not None or not isinstance(form.items[1], Name):
            raise invalid(form, SHAPE)
        self.span = form.span
        self.written = form.items[1]
        self.name = self.written.symbol.name.removeprefix("<").removesuffix(">")
        self.owner: Lambda | None = None  # to which its records belong, once it is defined
        self.fields: list[str] = []
        self.field_names: list[Name] = []  # as they are written
        self.accessors: list[tuple[Name, int]] = []
        self.updaters: list[tuple[Name, int]] = []
        self.stated: dict[
            str, Syntax
        ] = {}  # the rules of its tangents, and the meaning of calls until it is taken out
        items = iter(form.items[4:])
        for item in items:
            if isinstance(item, Keyword):
                procedure = next(items, None)
                if item.name not in (CALL, *PARAMETERS) or item.name in self.stated or procedure is None:
                    raise invalid(item, STATED)
                self.stated[item.name] = procedure
            else:
                self._field(item)
        self.call = self.stated.pop(CALL, None)
        if ("tangent" in self.stated) != ("fields" in self.stated):
            raise invalid(
                form, "#:tangent and #:fields are stated together: each is the way back of the other"
            )
        if self.stated and not self.fields:
            raise invalid(form, "a type without fields has no tangents")
        self.constructor, self.parameters = self._constructor(form.items[2])
        self.predicate = _name_or_none(form.items[3], "a predicate is a name, or #f")

    def _field(self, item: Syntax) -> None:
        parts = (item,) if isinstance(item, Name) else item.items if isinstance(item, Form) else ()
        names = [part for part in parts if isinstance(part, Name)]
        if not 1 <= len(names) == len(parts) <= 3 or (isinstance(item, Form) and item.tail is not None):
            raise invalid(item, "a field is (FIELD ACCESSOR), or (FIELD ACCESSOR UPDATER)")
        field, *procedures = names
        if field.symbol.name in self.fields:
            raise VladError("duplicate-variables", f"Duplicate variables: {field}", field.span)
        index = len(self.fields)
        self.fields.append(field.symbol.name)
        self.field_names.append(field)
        self.accessors += [(name, index) for name in procedures[:1]]
        for name in procedures[1:]:
            if name.symbol.name.endswith("!"):
                raise invalid(
                    item,
                    "a record never changes: a third name, which ends in no `!`, is that of a procedure of a record and a value "
                    "that returns another record",
                )
            self.updaters.append((name, index))

    def _constructor(self, item: Syntax) -> tuple[Name | None, list[int]]:
        """The name, and the index of the field for each parameter."""
        everything = list(range(len(self.fields)))
        if not isinstance(item, Form):
            return _name_or_none(item, f"{CONSTRUCTOR}, NAME, or #f"), everything
        parts = item.items if item.tail is None else (*item.items, item.tail)
        names = [part for part in parts if isinstance(part, Name)]
        if not names or len(names) != len(parts):
            raise invalid(item, CONSTRUCTOR)
        for name in names[1:]:
            if name.symbol.name not in self.fields:
                raise invalid(name, f"{self.name} has no field {name}")
        indices = [self.fields.index(name.symbol.name) for name in names[1:]]
        if sorted(indices) != everything:
            raise invalid(
                item, "each field is a parameter of the constructor, once: nothing is put into a record later"
            )
        if item.tail is not None:
            self.fields[indices[-1]] = RestField(self.fields[indices[-1]])
        return names[0], indices

    def names(self) -> list[Name]:
        """The names that it defines, in the order of `procedures`."""
        first = [name for name in (self.constructor, self.predicate) if name is not None]
        return first + [name for name, _ in (*self.accessors, *self.updaters)]

    def _space(self, primitives: Mapping[str, Primitive], expanded: Expanded) -> TangentSpace | None:
        """What it states of its tangents, as lambdas. They belong to the type, not to a scope: they capture nothing."""
        if not self.stated:
            return None
        rules: list[Lambda | None] = []
        for rule in PARAMETERS:
            written = self.stated.get(rule)
            if written is None:
                rules.append(None)
                continue
            parameters = tuple([Variable(name) for name in PARAMETERS[rule]])
            own: Out = []
            operands: list[Atom] = []
            for parameter in parameters:
                if parameter.name == "fields" or rule == "tangent":
                    operands += self._unpacked(primitives, parameter, own)
                else:
                    operands.append(parameter)
            procedure = expanded(written, own, rule)
            body = Body(tuple(own), Call(procedure, tuple(operands), written.span))
            stated = make_lambda(parameters, body, f"#:{rule} of {self.name}", written.span)
            if stated.free:
                raise invalid(written, self._captures(rule, stated.free[0].name))
            rules.append(stated)
        return TangentSpace(*rules)

    def _unpacked(self, primitives: Mapping[str, Primitive], packed: Atom, out: Out) -> list[Atom]:
        """The parts of an argument tuple that has one for each field."""
        parts: list[Atom] = []
        for name in self.fields[:-1]:
            parts.append(as_atom(Apply(primitives["car"], (packed,), self.span), out, name))
            packed = as_atom(Apply(primitives["cdr"], (packed,), self.span), out, "rest")
        return [*parts, packed]

    def procedures(self, primitives: Mapping[str, Primitive], expanded: Expanded, out: Out) -> Rhs:
        """The list of the procedures."""
        maker = _Maker(self, primitives)
        # what is stated may match records of the type
        maker.owner.space = self._space(primitives, expanded)  # type: ignore[misc]  # of a lambda that nothing has yet
        if self.call is not None:
            maker.owner.body = self._called(self.call, maker.owner, expanded)  # type: ignore[misc]  # as above
        return maker.procedures(out)

    def _called(self, written: Syntax, owner: Lambda, expanded: Expanded) -> Body:
        """The body of calls of records, which belongs to the type, not to a scope, as what is stated of its tangents does."""
        own: Out = []
        procedure = expanded(written, own, CALL)
        fields = owner.free if self.fields else ()
        body = Body(tuple(own), Call(procedure, (*fields, *owner.parameters), written.span))
        captured = make_lambda((*fields, *owner.parameters), body, self.name, written.span).free
        if captured:
            raise invalid(written, self._captures(CALL, captured[0].name))
        return body

    def _captures(self, rule: str, name: str) -> str:
        return (
            f"#:{rule} is used wherever records of the type are, so it refers to no variable of the procedure around the "
            f"type: this one to `{name}`. Define the type at top level"
        )

    @property
    def has_rest(self) -> bool:
        """Does the last parameter of the constructor take the rest of its arguments?"""
        return bool(self.parameters) and type(self.fields[self.parameters[-1]]) is RestField

    @property
    def width(self) -> int:
        """The number of values that a record holds."""
        assert self.owner is not None
        return len(self.owner.free)

    def test(self, primitives: Mapping[str, Primitive], value: Atom, out: Out) -> Apply:
        """Whether a value is a record of this type."""
        assert self.owner is not None
        other = as_atom(Record(self.owner, (Constant(NIL),) * self.width, self.span), out, "other")
        return Apply(primitives["same-code?"], (value, other), self.span)

    def if_one(
        self,
        primitives: Mapping[str, Primitive],
        taker: str,
        value: Atom,
        then: Body,
        span: Span | None,
        out: Out,
        count: int | None = None,
    ) -> If:
        """What follows for a record of this type; other values are an error of `taker`, which takes records only.
        `count`: how many arguments the field with the rest holds, where that matters.
        """
        test = as_atom(self.test(primitives, value, out), out, "test")
        wanted = f"a record of type {self.name}"
        before = len(self.parameters) - 1
        if count is not None:
            parts = before + count
            wanted += f" with {parts or 'no'} part{'' if parts == 1 else 's'}"
        words = Constant(String(taker)), Constant(String(wanted))

        def failed(rest: Atom | None = None) -> Body:
            own: Out = []
            row, more = ("no-record", ()) if rest is None else ("no-parts", (Constant(float(before)), rest))
            result = as_atom(Apply(primitives[row], (*words, value, *more), span), own, "failed")
            return Body(tuple(own), result)

        if count is None:
            return If(test, then, failed())
        own: Out = []
        rest = as_atom(self.field(value, self.parameters[-1]), own, "rest")
        fits = as_atom(self.holds(primitives, rest, count, own), own, "fits")
        result = as_atom(If(fits, then, failed(rest)), own, "counted")
        return If(test, Body(tuple(own), result), failed())

    def holds(
        self, primitives: Mapping[str, Primitive], parts: Atom, count: int, out: Out, is_whole: bool = True
    ) -> Rhs:
        """Whether an argument tuple, or what follows in one, has so many parts. One part is no pair, and as a whole not ()."""
        if count == 0:
            return Apply(primitives["null?"], (parts,), self.span)
        is_pair = as_atom(Apply(primitives["pair?"], (parts,), self.span), out, "is-pair")
        inner: Out = []
        if count == 1:
            if not is_whole:
                return Apply(primitives["not"], (is_pair,), self.span)
            is_nil = as_atom(Apply(primitives["null?"], (parts,), self.span), inner, "is-nil")
            one = as_atom(Apply(primitives["not"], (is_nil,), self.span), inner, "is-one")
            return If(is_pair, Body((), Constant(FALSE)), Body(tuple(inner), one))
        following = as_atom(Apply(primitives["cdr"], (parts,), self.span), inner, "rest")
        found = as_atom(self.holds(primitives, following, count - 1, inner, False), inner, "holds")
        return If(is_pair, Body(tuple(inner), found), Body((), Constant(FALSE)))

    def field(self, record: Atom, index: int) -> Field:
        assert self.owner is not None
        return Field(self.owner, index, self.width, record, self.span)


def _name_or_none(item: Syntax, shape: str) -> Name | None:
    if isinstance(item, Literal) and item.value is FALSE:
        return None
    if not isinstance(item, Name):
        raise invalid(item, shape)
    return item


class _Maker:
    """Makes the procedures of a type."""

    def __init__(self, type_: RecordType, primitives: Mapping[str, Primitive]) -> None:
        self.type = type_
        self.primitives = primitives
        self.owner = type_.owner = self._owner()

    def _owner(self) -> Lambda:
        """The lambda to which records belong. If the type does not state what calling one is, that is an error."""
        fields = tuple([Variable(WrittenName(name)) for name in self.type.fields]) or (Variable("nothing"),)
        out: Out = []
        values: Atom = Constant(NIL)
        for field in reversed(fields):
            values = as_atom(self.apply("cons", field, values), out)
        called = self.apply("no-procedure", Constant(String(self.type.name)), values)
        failed = as_atom(called, out, "failed")
        return Lambda(
            (Variable("argument"),), Body(tuple(out), failed), fields, self.type.name, self.type.span,
            fields=tuple(self.type.fields),
        )  # fmt: skip

    def apply(self, row: str, *operands: Atom) -> Apply:
        return Apply(self.primitives[row], operands, self.type.span)

    def record(self, fields: Sequence[Atom]) -> Record:
        return Record(self.owner, tuple(fields) or (Constant(NIL),), self.type.span)

    def is_one(self, record: Variable, out: Out) -> Atom:
        return as_atom(self.type.test(self.primitives, record, out), out, "test")

    def procedures(self, out: Out) -> Rhs:
        type_ = self.type
        made: list[Lambda] = []
        if type_.constructor is not None:
            made.append(self.constructor(type_.constructor))
        if type_.predicate is not None:
            made.append(self.predicate(type_.predicate))
        made += [self.accessor(name, index) for name, index in type_.accessors]
        made += [self.updater(name, index) for name, index in type_.updaters]
        atoms = [as_atom(lambda_, out, lambda_.name) for lambda_ in made]
        result: Rhs = Constant(NIL)
        for atom in reversed(atoms):
            result = self.apply("cons", atom, as_atom(result, out))
        return result

    def lambda_(
        self,
        name: Name,
        parameters: Sequence[Variable],
        body: Body,
        shown: Sequence[Name],
        has_rest: bool = False,
    ) -> Lambda:
        names = list(shown)
        rest = names.pop() if has_rest else None
        written = rest if rest is not None and not names else Form(tuple(names), rest, name.span)
        span = ProcedureSpan(self.type.span, name.symbol.name, written)
        return make_lambda(tuple(parameters), body, name.symbol.name, span)

    def constructor(self, name: Name) -> Lambda:
        names = [self.type.field_names[index] for index in self.type.parameters]
        parameters = [Variable(WrittenName(one.symbol.name)) for one in names]
        out: Out = []
        if not parameters:
            nothing = Variable("nothing")
            out.append(Binding(Variable("matched"), self.apply("expect-constant", nothing, Constant(NIL))))
            record = as_atom(self.record([]), out, "record")
            return self.lambda_(name, [nothing], Body(tuple(out), record), names)
        by_index = dict(zip(self.type.parameters, parameters, strict=True))
        record = as_atom(self.record([by_index[index] for index in range(len(parameters))]), out, "record")
        return self.lambda_(name, parameters, Body(tuple(out), record), names, self.type.has_rest)

    def predicate(self, name: Name) -> Lambda:
        value = Variable("value")
        out: Out = []
        test = self.is_one(value, out)
        return self.lambda_(name, [value], Body(tuple(out), test), [Name(symbol("value"), name.span)])

    def accessor(self, name: Name, index: int) -> Lambda:
        record = Variable("record")
        own: Out = []
        field = as_atom(self.type.field(record, index), own, "field")
        return self.lambda_(
            name, [record], self.of_one(name, record, Body(tuple(own), field)), [self.type.written]
        )

    def updater(self, name: Name, index: int) -> Lambda:
        record, value = Variable("record"), Variable("value")
        own: Out = []
        fields: list[Atom] = []
        for at in range(len(self.type.fields)):
            fields.append(value if at == index else as_atom(self.type.field(record, at), own, "field"))
        updated = as_atom(self.record(fields), own, "updated")
        body = self.of_one(name, record, Body(tuple(own), updated))
        return self.lambda_(name, [record, value], body, [self.type.written, self.type.field_names[index]])

    def of_one(self, name: Name, record: Variable, then: Body) -> Body:
        """The body of a procedure of a record."""
        out: Out = []
        # without a place: the error is about the call, which is in the frame around this one
        result = self.type.if_one(self.primitives, name.symbol.name, record, then, None, out)
        return Body(tuple(out), result)
