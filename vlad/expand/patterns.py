"""Parameter patterns → variables and bindings that destructure the argument.

The parameters of core's lambdas are variables, by the tuple rule; deeper patterns become bindings at the head of
the body (language: dialect, section 4). Called by expander.py for lambda, define and do, by
binding_forms.py for let and let*.
"""

from __future__ import annotations

from collections.abc import Mapping

from vlad.core.nodes import Apply, Binding, Body, Constant, Variable, WrittenName
from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import NIL, Boolean, Primitive, Value
from vlad.expand.macros import ProcedureSpan, made, text_of
from vlad.expand.normalize import Out, as_atom
from vlad.expand.record_types import RecordType
from vlad.expand.scope import Key, Scope, TopLevel, key_of, local_meaning, record_type_name
from vlad.reader.parser import Form, Literal, Name, Syntax, around_made, datum

SHAPES = "a parameter is a variable, a constant, (cons P P), (cons* P ...), (list P ...), or (TYPE P ...) of a type of records"


def invalid_parameter(syntax: Syntax, hint: str = SHAPES) -> VladError:
    return VladError("invalid-parameter", f"Invalid parameter: {text_of(syntax)}", syntax.span, hint=hint)


def tuple_pattern(formals: Syntax) -> Syntax:
    """The pattern of a parameter list: several parameters are those of a tuple."""
    if not isinstance(formals, Form):
        return formals
    names = formals.items if formals.tail is None else (*formals.items, formals.tail)
    if len(names) == 1:
        return names[0]
    return made("cons*", formals.span, *names)  # without any, the pattern of ()


def names_in(pattern: Syntax) -> list[Name]:
    """The names that a pattern binds."""
    if isinstance(pattern, Name):
        return [pattern]
    if not isinstance(pattern, Form) or not isinstance(pattern.items[0], Name):
        return []
    parts = pattern.items[1:] if pattern.tail is None else (*pattern.items[1:], pattern.tail)
    return [] if pattern.items[0].symbol.name == "quote" else [n for part in parts for n in names_in(part)]


def record_patterns(pattern: Form, type_: RecordType) -> list[tuple[int, Syntax]]:
    """The pattern of each field of a record, with the field's index. A rest is matched as the tuple that it is (`rest_count`)."""
    parts = pattern.items[1:]
    fixed = len(type_.parameters) - type_.has_rest
    has_tail = pattern.tail is not None
    if len(parts) < fixed or ((len(parts) > fixed or has_tail) and not type_.has_rest):
        shape = [type_.written.symbol.name, *[type_.fields[index] for index in type_.parameters]]
        dots = ["... or . P"] if type_.has_rest else []
        raise invalid_parameter(
            pattern, f"a pattern for each field of the record: ({' '.join(shape + dots)})"
        )
    found = list(zip(type_.parameters, parts[:fixed], strict=False))
    if type_.has_rest:
        found.append((type_.parameters[-1], tuple_pattern(Form(parts[fixed:], pattern.tail, pattern.span))))
    return found


def rest_count(pattern: Form, type_: RecordType) -> int | None:
    """How many arguments the pattern of a record takes for the field with the rest of the constructor's. (TYPE P ...) takes as
    many as there are patterns, though the last of them alone would take more. None for (TYPE P ... . P), which takes any number,
    and for a type without such a field.
    """
    if not type_.has_rest or pattern.tail is not None:
        return None
    return len(pattern.items) - len(type_.parameters)


class Patterns:
    """Binds the variables of one parameter list in a scope."""

    def __init__(self, scope: Scope, primitives: Mapping[str, Primitive], whole: Syntax) -> None:
        self.scope = scope
        self.primitives = primitives
        self.whole = whole
        self.seen: set[Key] = set()

    def variable(self, name: Name) -> Variable:
        return self.named(name, Variable(WrittenName(name.symbol.name)))

    def named(self, name: Name, variable: Variable) -> Variable:
        key = key_of(name)
        if key in self.seen:
            message = f"Duplicate variables: {text_of(self.whole)}"
            raise VladError("duplicate-variables", message, name.span, hint=f"`{name}` is bound twice here")
        self.seen.add(key)
        self.scope.bind(name, variable)
        return variable

    def bind(self, pattern: Syntax, variable: Variable, out: Out) -> None:
        """Bind a pattern to a variable that has its value: a name becomes another name of that variable."""
        if isinstance(pattern, Name):
            self.named(pattern, variable)
        else:
            self.destructure(pattern, variable, out)

    def parameters(self, name: str, out: Out) -> tuple[Variable, ...]:
        """The variables of a lambda with that name; the bindings that destructure them are added to `out`."""
        patterns: tuple[Syntax, ...] = (self.whole,)
        if isinstance(self.whole, Form):
            tail = self.whole.tail
            patterns = self.whole.items if tail is None else (*self.whole.items, tail)
        if not patterns:
            nothing = Variable("nothing")
            self.expect(nothing, Constant(NIL), ProcedureSpan(self.whole.span, name, self.whole), out)
            return (nothing,)
        patterns = self.flat(patterns)
        variables = []
        for pattern in patterns:
            variables.append(self.variable(pattern) if isinstance(pattern, Name) else Variable("argument"))
        for pattern, variable in zip(patterns, variables, strict=True):
            if not isinstance(pattern, Name):
                self.destructure(pattern, variable, out)
        return tuple(variables)

    def flat(self, patterns: tuple[Syntax, ...]) -> tuple[Syntax, ...]:
        """By the tuple rule a last parameter (cons a b) is two parameters."""
        found = list(patterns)
        while self.is_tuple(found[-1]):
            found += self.parts(found.pop())
        return tuple(found)

    def head(self, pattern: Form) -> str:
        first = pattern.items[0] if pattern.items and pattern.tail is None else None
        return first.symbol.name if isinstance(first, Name) else ""

    def is_tuple(self, pattern: Syntax) -> bool:
        """Whether it is (cons P P) or (cons* P P ...); (cons*) is the pattern of the empty list."""
        return (
            isinstance(pattern, Form) and self.head(pattern) in ("cons", "cons*") and len(pattern.items) > 1
        )

    def parts(self, pattern: Syntax) -> tuple[Syntax, ...]:
        parts = pattern.items[1:] if isinstance(pattern, Form) else ()
        if not isinstance(pattern, Form) or (self.head(pattern) == "cons" and len(parts) != 2):
            raise invalid_parameter(pattern)
        return parts

    def destructure(self, pattern: Syntax, value: Variable, out: Out) -> None:
        """Bind the variables of a pattern to the parts of a value."""
        if isinstance(pattern, Name):
            out.append(Binding(self.variable(pattern), value))
        elif isinstance(pattern, Literal) and (
            type(pattern.value) is float or isinstance(pattern.value, Boolean)
        ):
            self.expect(value, Constant(pattern.value), pattern.span, out)
        elif isinstance(pattern, Form):
            self.form(pattern, value, out)
        else:
            raise invalid_parameter(pattern)

    def form(self, pattern: Form, value: Variable, out: Out) -> None:
        head = self.head(pattern)
        if head == "quote" and len(pattern.items) == 2:
            self.expect(value, Constant(self.quoted(pattern)), pattern.span, out)
        elif head == "list" or (len(pattern.items) == 1 and head == "cons*"):
            for part in pattern.items[1:]:
                value = self.split(part, value, pattern.span, out)
            self.expect(value, Constant(NIL), pattern.span, out)
        elif head in ("cons", "cons*"):
            parts = self.parts(pattern)
            for part in parts[:-1]:
                value = self.split(part, value, pattern.span, out)
            self.destructure(parts[-1], value, out)
        elif (type_ := self.record_type(pattern)) is not None:
            known = Body((), value)
            count = rest_count(pattern, type_)
            checked = type_.if_one(self.primitives, text_of(pattern), value, known, pattern.span, out, count)
            record = as_atom(checked, out, "record")
            for index, part in record_patterns(pattern, type_):
                field = Variable(type_.fields[index])
                out.append(Binding(field, type_.field(record, index)))
                self.destructure(part, field, out)
        else:
            raise invalid_parameter(pattern)

    def record_type(self, pattern: Form) -> RecordType | None:
        """The type of records that the first word of a pattern names."""
        name = pattern.items[0] if pattern.items else None
        if not isinstance(name, Name):
            return None
        found = local_meaning(record_type_name(name), self.scope)
        if type(found) is TopLevel:
            found = found.module.record_type(name.symbol.name)
        return found if isinstance(found, RecordType) else None

    def quoted(self, pattern: Form) -> Value:
        if around_made(pattern.items[1]):
            raise invalid_parameter(
                pattern, "what a pattern compares with is no tensor and no vector; ask by `equal?`"
            )
        try:
            return datum(pattern.items[1])
        except VladError:
            raise invalid_parameter(pattern) from None

    def split(self, first: Syntax, value: Variable, span: Span, out: Out) -> Variable:
        """Match the first part of a pair with a pattern; return the variable of the rest."""
        car = self.variable(first) if isinstance(first, Name) else Variable("first")
        cdr = Variable("rest")
        out.append(Binding(car, Apply(self.primitives["match-car"], (value,), span)))
        out.append(Binding(cdr, Apply(self.primitives["match-cdr"], (value,), span)))
        if not isinstance(first, Name):
            self.destructure(first, car, out)
        return cdr

    def expect(self, value: Variable, constant: Constant, span: Span, out: Out) -> None:
        out.append(
            Binding(Variable("matched"), Apply(self.primitives["expect-constant"], (value, constant), span))
        )
