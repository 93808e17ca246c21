"""Keywords that choose by the shape of a value: match and case-lambda.

In: a form, its scope, and the body under construction.  Out: its right-hand side, a chain of `if`s of core. Called by the
expander through the table in forms.py.

The tests of a clause are one condition, and what follows takes the value apart anew: so a clause needs no procedure for "none
of the others took it", and a loop whose turns end in clauses stays a loop. The parts are taken twice only where they are used.
"""

from __future__ import annotations

from vlad.core.nodes import Atom, Binding, Body, Call, Constant, If, Letrec, Result, Rhs, Variable
from vlad.data.source import Span
from vlad.data.values import FALSE, NIL, TRUE, Boolean, String, symbol
from vlad.expand.expander import Expander
from vlad.expand.macros import fresh_mark, invalid, made
from vlad.expand.normalize import Out, as_atom, as_result
from vlad.expand.patterns import Patterns, invalid_parameter, record_patterns, rest_count, tuple_pattern
from vlad.expand.scope import Scope
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax

SHAPE = "(match VALUE (PATTERN BODY ...) ... (else BODY ...))"
PATTERNS = (
    "a pattern is a variable, _, a constant, (cons P P), (cons* P ...), (list P ...), (TYPE P ...) of a type of records, "
    "(table KEY P ...), (? TEST P ...), (and P ...), (or P ...) or (not P)"
)
Step = Binding | Letrec | Atom  # a binding, or an atom that must be true


class _Clause:
    """A plain class, as a dataclass costs time when programs start."""

    __slots__ = ("body", "guard", "pattern", "whole")

    def __init__(self, pattern: Syntax, guard: Syntax | None, body: tuple[Syntax, ...], whole: Form) -> None:
        self.pattern = pattern
        self.guard = guard
        self.body = body
        self.whole = whole


def match(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 3:
        raise invalid(form, SHAPE)
    value = x.atom(form.items[1], scope, out, "value")
    clauses = [_clause(x, item, scope) for item in form.items[2:]]
    return _chosen(x, form, value, clauses, 0, scope, out)


def case_lambda(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    """A procedure that matches its argument, which is a tuple: clauses of more parameters come first, since a single one takes
    every tuple."""
    clauses = []
    for item in form.items[1:]:
        if not isinstance(item, Form) or len(item.items) < 2 or item.tail is not None:
            raise invalid(item, "(case-lambda ((PARAMETER ...) BODY ...) ...)")
        clauses.append((_count(item.items[0]), item))
    if not clauses:
        raise invalid(form, "(case-lambda ((PARAMETER ...) BODY ...) ...)")
    clauses.sort(key=lambda clause: -clause[0])
    argument = Name(symbol("arguments"), form.span, (fresh_mark(scope),))
    forms = [Form((tuple_pattern(item.items[0]), *item.items[1:]), None, item.span) for _, item in clauses]
    body = Form((*made("match", form.span, argument).items, *forms), None, form.span)
    return x.procedure(argument, (body,), scope, name, form)


def _count(parameters: Syntax) -> float:
    """The number of parameters; no parameter is more special than one."""
    if not isinstance(parameters, Form):
        return 1
    return len(parameters.items) + (parameters.tail is not None) or 1.5


def _clause(x: Expander, item: Syntax, scope: Scope) -> _Clause:
    if not isinstance(item, Form) or len(item.items) < 2 or item.tail is not None:
        raise invalid(
            item, f"a clause is (PATTERN BODY ...) or (PATTERN #:when TEST BODY ...), as in {SHAPE}"
        )
    pattern, *body = item.items
    if not isinstance(body[0], Keyword):
        return _Clause(pattern, None, tuple(body), item)
    if body[0].name != "when" or len(body) < 3:
        raise invalid(item, "a condition of a clause is (PATTERN #:when TEST BODY ...)")
    return _Clause(pattern, body[1], tuple(body[2:]), item)


def _chosen(
    x: Expander, form: Form, value: Atom, clauses: list[_Clause], at: int, scope: Scope, out: Out
) -> Rhs:
    """The value of the first clause that takes the value."""
    if at == len(clauses):
        arguments = as_atom(x.apply("cons", (Constant(String("No clause takes")), value), form.span), out)
        return x.apply("error", (arguments,), form.span)
    clause = clauses[at]
    is_else = x.is_word(clause.pattern, "else", scope)
    test = None if is_else else _test(x, clause, value, scope, out)
    if test is None:
        if at < len(clauses) - 1:
            raise invalid(clauses[at + 1].whole, "the clause before this one takes everything")
        return _taken(x, clause, value, scope, out)
    own: Out = []
    consequent = as_result(_taken(x, clause, value, scope, own), own)
    rest: Out = []
    alternative = as_result(_chosen(x, form, value, clauses, at + 1, scope, rest), rest)
    return If(test, Body(tuple(own), consequent), Body(tuple(rest), alternative), clause.whole.span)


def _taken(x: Expander, clause: _Clause, value: Atom, scope: Scope, out: Out) -> Rhs:
    inner = scope.inner()
    if not x.is_word(clause.pattern, "else", scope):
        steps: list[Step] = []
        _Matcher(x, inner, clause.pattern, steps, False).match(clause.pattern, value)
        out += [step for step in steps if isinstance(step, Binding | Letrec)]
    rhs = x.sequence(clause.body, inner, out, clause.whole)
    inner.leave()
    return rhs


def _test(x: Expander, clause: _Clause, value: Atom, scope: Scope, out: Out) -> Atom | None:
    """Does a clause take the value? None if it takes every value."""
    inner = scope.inner()
    steps: list[Step] = []
    _Matcher(x, inner, clause.pattern, steps, True).match(clause.pattern, value)
    if clause.guard is not None:
        own: Out = []
        guard = x.atom(clause.guard, inner, own, "guard")
        steps += [*own, guard]
    inner.leave()
    if all(isinstance(step, Binding | Letrec) for step in steps):
        return None
    return as_atom(_conjunction(steps, clause.whole.span, out), out, "test")


def _conjunction(steps: list[Step], span: Span, out: Out) -> Rhs:
    """Are all tests among the steps true, which are done in order up to the first that is not?"""
    result: Result = Constant(TRUE)
    bindings: Out = []
    is_last = True
    for step in reversed(steps):
        if isinstance(step, Binding | Letrec):
            if not is_last:
                bindings.append(step)  # what nothing is tested after is not needed
        elif is_last:
            result, is_last = step, False
        else:
            result = If(step, Body(tuple(reversed(bindings)), result), Body((), Constant(FALSE)), span)
            bindings = []
    out += reversed(bindings)
    return result


class _Matcher(Patterns):
    """The steps that match a pattern. `tests`: whether tests are among them; without them the value is known to match."""

    def __init__(self, x: Expander, scope: Scope, whole: Syntax, steps: list[Step], tests: bool) -> None:
        super().__init__(scope, x.module.primitives, whole)
        self.x = x
        self.steps = steps
        self.tests = tests

    def match(self, pattern: Syntax, value: Atom) -> None:
        if isinstance(pattern, Name):
            if pattern.symbol.name != "_":
                variable = self.variable(pattern)
                self.steps.append(Binding(variable, value))
        elif isinstance(pattern, Literal) and (
            type(pattern.value) in (float, String) or isinstance(pattern.value, Boolean)
        ):
            self.test("equal?", (value, Constant(pattern.value)), pattern.span)
        elif isinstance(pattern, Form) and (pattern.tail is None or self.record_type(pattern) is not None):
            self.of_form(pattern, value)
        else:
            raise invalid_parameter(pattern, PATTERNS)

    def of_form(self, pattern: Form, value: Atom) -> None:
        head, parts = self.head(pattern), pattern.items[1:]
        if head == "quote" and len(parts) == 1:
            constant = self.quoted(pattern)
            self.is_nil(value, pattern) if constant is NIL else self.test(
                "equal?", (value, Constant(constant)), pattern.span
            )
        elif head == "list" or (head == "cons*" and not parts):
            self.is_nil(self.in_front(parts, value, pattern), pattern)
        elif head in ("cons", "cons*"):
            parts = self.parts(pattern)
            self.match(parts[-1], self.in_front(parts[:-1], value, pattern))
        elif head == "and":
            for part in parts:
                self.match(part, value)
        elif head == "?" and parts:
            self.satisfies(parts[0], value, pattern)
            for part in parts[1:]:
                self.match(part, value)
        elif head == "or" and parts:
            self.one_of(parts, value, pattern)
        elif head == "not" and len(parts) == 1:
            self.add_test(self.x.apply("not", (self.holds(parts[0], value, self.steps),), pattern.span))
        elif head == "table" and self.record_type(pattern) is None:
            self.of_table(pattern, value)
        else:
            self.of_record(pattern, value)

    def of_table(self, pattern: Form, value: Atom) -> None:
        """Match the values of some keys of a table, which are expressions; it may have others."""
        parts = pattern.items[1:]
        if len(parts) % 2:
            raise invalid_parameter(
                pattern, "a pattern of a table has one for the value of each key: (table KEY P ...)"
            )
        self.test("table?", (value,), pattern.span)
        for expression, part in zip(parts[::2], parts[1::2], strict=True):
            own: Out = []
            key = self.x.atom(expression, self.scope, own, "key")
            self.steps += own
            self.test("table-contains?", (value, key), pattern.span)
            found = Variable("value")
            self.steps.append(Binding(found, self.x.apply("table-ref", (value, key), pattern.span)))
            self.match(part, found)

    def of_record(self, pattern: Form, value: Atom) -> None:
        """Match the fields of a record, in the order of the constructor's parameters."""
        type_ = self.record_type(pattern)
        if type_ is None:
            raise invalid_parameter(pattern, PATTERNS)
        fields = record_patterns(pattern, type_)
        if self.tests:
            own: Out = []
            test = type_.test(self.primitives, value, own)
            self.steps += own
            self.add_test(test)
        count = rest_count(pattern, type_)
        for index, part in fields:
            field = Variable(type_.fields[index])
            self.steps.append(Binding(field, type_.field(value, index)))
            if count is not None and index == type_.parameters[-1] and self.tests:
                counted: Out = []
                holds = type_.holds(self.primitives, field, count, counted)
                self.steps += counted
                self.add_test(holds)
            self.match(part, field)

    def in_front(self, parts: tuple[Syntax, ...], value: Atom, pattern: Form) -> Atom:
        """Match the first elements of a list, which are as many as the parts; the rest."""
        for part in parts:
            self.test("pair?", (value,), pattern.span)
            car, cdr = Variable("first"), Variable("rest")
            self.steps.append(Binding(car, self.x.apply("car", (value,), pattern.span)))
            self.steps.append(Binding(cdr, self.x.apply("cdr", (value,), pattern.span)))
            self.match(part, car)
            value = cdr
        return value

    def is_nil(self, value: Atom, pattern: Form) -> None:
        self.test("null?", (value,), pattern.span)

    def satisfies(self, predicate: Syntax, value: Atom, pattern: Form) -> None:
        if self.tests:
            own: Out = []
            operator = self.x.atom(predicate, self.scope, own, "predicate")
            self.steps += own
            self.add_test(Call(operator, (value,), pattern.span))

    def test(self, row: str, operands: tuple[Atom, ...], span: Span) -> None:
        if self.tests:
            self.add_test(self.x.apply(row, operands, span))

    def add_test(self, rhs: Rhs) -> None:
        if self.tests:
            variable = Variable("test")
            self.steps += [Binding(variable, rhs), variable]

    def one_of(self, parts: tuple[Syntax, ...], value: Atom, pattern: Form) -> None:
        result: Result = Constant(FALSE)
        bindings: Out = []
        for part in reversed(parts):
            own: list[Step] = []
            holds = self.holds(part, value, own)
            rest = Body(tuple(bindings), result)
            bindings = [step for step in own if isinstance(step, Binding | Letrec)]
            result = If(holds, Body((), Constant(TRUE)), rest, pattern.span)
        self.steps += bindings
        self.add_test(result)

    def holds(self, pattern: Syntax, value: Atom, steps: list[Step]) -> Atom:
        """Whether a pattern that binds no variable takes a value."""
        inner: list[Step] = []
        matcher = _Matcher(self.x, self.scope, self.whole, inner, True)
        matcher.match(pattern, value)
        if matcher.seen:
            raise invalid_parameter(
                pattern, "a part of `or` and `not` binds no variables; `_` takes anything"
            )
        out: Out = []
        test = as_atom(_conjunction(inner, pattern.span, out), out, "test")
        steps += out
        return test
