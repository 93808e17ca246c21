"""Conditional keywords: if, and, or, cond, case, when, unless, assert.

In: a form, its scope, and the body under construction.  Out: its right-hand side, mostly an `if` of core; bindings it needs are
added to the body. Called by the expander through the table in forms.py.
"""

from __future__ import annotations

from vlad.core.nodes import Atom, Binding, Body, Call, Constant, If, Rhs, Variable
from vlad.data.values import FALSE, TRUE, String
from vlad.expand.data_forms import quoted
from vlad.expand.expander import UNSPECIFIED_ATOM, Expander
from vlad.expand.macros import invalid, text_of
from vlad.expand.normalize import Out, as_atom, as_result
from vlad.expand.scope import Scope
from vlad.reader.parser import Form


def if_(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 4:
        hint = "(if TEST THEN ELSE)" + (
            "; without ELSE write (when TEST THEN)" if len(form.items) == 3 else ""
        )
        raise invalid(form, hint)
    test = x.atom(form.items[1], scope, out, "test")
    consequent = x.arm(form.items[2], scope)
    return If(test, consequent, x.arm(form.items[3], scope), form.span)


def and_(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _conjunction(x, form, 1, scope, out) if len(form.items) > 1 else Constant(TRUE)


def _conjunction(x: Expander, form: Form, at: int, scope: Scope, out: Out) -> Rhs:
    if at == len(form.items) - 1:
        return x.expression(form.items[at], scope, out)
    test = x.atom(form.items[at], scope, out, "test")
    own: Out = []
    result = as_result(_conjunction(x, form, at + 1, scope, own), own)
    return If(test, Body(tuple(own), result), Body((), Constant(FALSE)), form.span)


def or_(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _disjunction(x, form, 1, scope, out) if len(form.items) > 1 else Constant(FALSE)


def _disjunction(x: Expander, form: Form, at: int, scope: Scope, out: Out) -> Rhs:
    if at == len(form.items) - 1:
        return x.expression(form.items[at], scope, out)
    test = x.atom(form.items[at], scope, out, "test")
    own: Out = []
    result = as_result(_disjunction(x, form, at + 1, scope, own), own)
    return If(test, Body((), test), Body(tuple(own), result), form.span)


def cond(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 2:
        raise invalid(form, "(cond (TEST VALUE ...) ... (else VALUE ...))")
    return clauses(x, form, 1, scope, out, UNSPECIFIED_ATOM)


def clauses(x: Expander, form: Form, at: int, scope: Scope, out: Out, otherwise: Rhs) -> Rhs:
    """The value of the first clause whose test holds, from a place of the form on; `otherwise` if there is none."""
    if at == len(form.items):
        return otherwise
    clause = form.items[at]
    if not isinstance(clause, Form) or not clause.items or clause.tail is not None:
        raise invalid(clause, "a clause of cond is (TEST VALUE ...), (TEST => RECEIVER) or (else VALUE ...)")
    if x.is_word(clause.items[0], "else", scope):
        if at < len(form.items) - 1 or len(clause.items) == 1:
            raise invalid(clause, "(else VALUE ...) is the last clause of cond")
        return x.sequence(clause.items[1:], scope, out, clause)
    test = x.atom(clause.items[0], scope, out, "test")
    consequent = Body((), test) if len(clause.items) == 1 else _consequent(x, clause, test, scope)
    other: Out = []
    result = as_result(clauses(x, form, at + 1, scope, other, otherwise), other)
    return If(test, consequent, Body(tuple(other), result), clause.span)


def case(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 3:
        raise invalid(form, "(case VALUE ((DATUM ...) RESULT ...) ... (else RESULT ...))")
    return _cases(x, x.atom(form.items[1], scope, out, "key"), form, 2, scope, out)


def _cases(x: Expander, key: Atom, form: Form, at: int, scope: Scope, out: Out) -> Rhs:
    if at == len(form.items):
        return UNSPECIFIED_ATOM
    clause = form.items[at]
    shape = "a clause of case is ((DATUM ...) RESULT ...) or (else RESULT ...)"
    if not isinstance(clause, Form) or len(clause.items) < 2 or clause.tail is not None:
        raise invalid(clause, shape)
    data = clause.items[0]
    if x.is_word(data, "else", scope):
        if at < len(form.items) - 1:
            raise invalid(clause, "(else RESULT ...) is the last clause of case")
        last = _consequent(x, clause, key, scope)
        out += last.bindings
        return last.result
    if not isinstance(data, Form) or data.tail is not None:
        raise invalid(clause, shape)
    test = as_atom(_is_one_of(x, key, data, scope, out), out, "test")
    consequent = _consequent(x, clause, key, scope)
    other: Out = []
    result = as_result(_cases(x, key, form, at + 1, scope, other), other)
    return If(test, consequent, Body(tuple(other), result), clause.span)


def _is_one_of(x: Expander, key: Atom, data: Form, scope: Scope, out: Out) -> Rhs:
    """Test whether the key is one of these data, from left to right."""
    rest: Body | None = None
    for item in reversed(data.items):
        same = Variable("same")
        own: Out = []
        constant = as_atom(quoted(x, item, item, scope, own), own)
        own.append(Binding(same, x.apply("equal?", (key, constant), item.span)))
        rest = Body(tuple(own), same if rest is None else If(same, Body((), Constant(TRUE)), rest, item.span))
    if rest is None:
        return Constant(FALSE)
    out += rest.bindings
    return rest.result


def _consequent(x: Expander, clause: Form, value: Atom, scope: Scope) -> Body:
    """The consequent of a clause: a body, or `=>` and a procedure that takes the value."""
    own: Out = []
    if not x.is_word(clause.items[1], "=>", scope):
        return x.body(clause.items[1:], scope, own, clause)
    if len(clause.items) != 3:
        raise invalid(clause, "(TEST => RECEIVER), where RECEIVER is a procedure of the test's value")
    receiver = x.atom(clause.items[2], scope, own, "receiver")
    return Body(tuple(own), Call(receiver, (value,), clause.span))


def when(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    test, body = _conditional(x, form, scope, out)
    return If(test, body, Body((), UNSPECIFIED_ATOM), form.span)


def unless(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    test, body = _conditional(x, form, scope, out)
    return If(test, Body((), UNSPECIFIED_ATOM), body, form.span)


def _conditional(x: Expander, form: Form, scope: Scope, out: Out) -> tuple[Atom, Body]:
    if len(form.items) < 3:
        raise invalid(form, f"({form.items[0]} TEST BODY ...)")
    test = x.atom(form.items[1], scope, out, "test")
    own: Out = []
    return test, x.body(form.items[2:], scope, own, form)


def assert_(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 2:
        raise invalid(form, "(assert EXPRESSION)")
    test = x.atom(form.items[1], scope, out, "test")
    message = Constant(String(f"Assertion failed: {text_of(form.items[1])}"))
    failed = Variable("failed")
    fail = Body((Binding(failed, x.apply("error", (message,), form.span)),), failed)
    return If(test, Body((), UNSPECIFIED_ATOM), fail, form.span)
