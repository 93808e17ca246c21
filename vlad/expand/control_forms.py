"""Keywords of control: reset and shift; guard and with-cleanup; parameterize.

In: a form, its scope, and the body under construction.  Out: its right-hand side, a call of a procedure of the system on the
body of the form as a procedure. Called by the expander through the table in forms.py.
"""

from __future__ import annotations

from vlad.core.nodes import Atom, Binding, Body, Call, Constant, If, Lambda, Rhs, Variable, WrittenName
from vlad.data.source import Span
from vlad.data.values import NIL
from vlad.expand.conditional_forms import clauses
from vlad.expand.expander import Expander
from vlad.expand.macros import invalid
from vlad.expand.normalize import Out, as_atom, as_result
from vlad.expand.scope import Scope
from vlad.reader.parser import Form, Name, Syntax


def reset(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 2:
        raise invalid(form, "(reset E ...)")
    body = x.procedure(Form((), None, form.span), form.items[1:], scope, "", form)
    return _called(x, "%reset", body, form, out)


def shift(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 3 or not isinstance(form.items[1], Name):
        raise invalid(form, "(shift K E ...), where K is the name of the continuation")
    parameters = Form((form.items[1],), None, form.items[1].span)
    return _called(x, "%shift", x.procedure(parameters, form.items[2:], scope, "", form), form, out)


def _called(x: Expander, name: str, procedure: Lambda, form: Form, out: Out) -> Call:
    return Call(x.top_reference(name, form.span), (as_atom(procedure, out, "body"),), form.span)


def guard(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    """(let ((r (%attempt (lambda () BODY ...)))) (if (failed? r) … (cdr r))), where the field of r is (NAME . error)."""
    shape = "(guard (NAME CLAUSE ...) BODY ...), with clauses as those of cond"
    if len(form.items) < 3 or not isinstance(form.items[1], Form):
        raise invalid(form, shape)
    chosen = form.items[1]
    if not chosen.items or not isinstance(chosen.items[0], Name) or chosen.tail is not None:
        raise invalid(form, shape)
    result = _attempted(x, form, form.items[2:], scope, out)
    own: Out = []
    both = _part(x, "failed-field-1", result, form.span, own)
    raised = Variable(WrittenName(chosen.items[0].symbol.name))
    own.append(Binding(raised, x.apply("car", (both,), form.span)))
    error = _part(x, "cdr", both, form.span, own)
    inner = scope.inner()
    inner.bind(chosen.items[0], raised)
    otherwise = Call(x.top_reference("%raise-again", form.span), (raised, error), form.span)
    escapes = Variable("escapes")
    own.append(Binding(escapes, x.apply("escape?", (raised,), form.span)))
    clause: Out = []
    handled = as_result(clauses(x, chosen, 1, inner, clause, otherwise), clause)
    passed = Body((), Call(x.top_reference("%raise-again", form.span), (raised, error), form.span))
    handled = If(escapes, passed, Body(tuple(clause), handled), form.span)
    inner.leave()
    return _returned(x, result, Body(tuple(own), handled), form.span, out)


def parameterize(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    """(%with-parameters (list (cons PARAMETER VALUE) ...) (lambda () BODY ...))"""
    shape = "(parameterize ((PARAMETER VALUE) ...) BODY ...)"
    if len(form.items) < 3 or not isinstance(form.items[1], Form) or form.items[1].tail is not None:
        raise invalid(form, shape)
    pairs: list[Atom] = []
    for item in form.items[1].items:
        if not isinstance(item, Form) or len(item.items) != 2 or item.tail is not None:
            raise invalid(item, f"a binding is (PARAMETER VALUE), as in {shape}")
        both = [x.atom(part, scope, out) for part in item.items]
        pairs.append(as_atom(x.apply("cons", both, item.span), out, "pair"))
    bindings: Atom = Constant(NIL)
    for pair in reversed(pairs):
        bindings = as_atom(x.apply("cons", (pair, bindings), form.span), out, "bindings")
    body = as_atom(x.procedure(Form((), None, form.span), form.items[2:], scope, "", form), out, "body")
    return Call(x.top_reference("%with-parameters", form.span), (bindings, body), form.span)


def with_cleanup(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    """(%wind (lambda () '()) (lambda () BODY ...) (lambda (visit) CLEANUP))"""
    if len(form.items) < 3:
        raise invalid(form, "(with-cleanup CLEANUP BODY ...)")
    empty = Form((), None, form.span)
    parts = [
        Lambda((Variable("none"),), Body((), Constant(NIL)), (), "before", form.span),
        x.procedure(empty, form.items[2:], scope, "", form),
        x.procedure(empty, form.items[1:2], scope, "", form),
    ]
    operands = [as_atom(part, out, "part") for part in parts]
    return Call(x.top_reference("%wind", form.span), tuple(operands), form.span)


def _attempted(x: Expander, form: Form, body: tuple[Syntax, ...], scope: Scope, out: Out) -> Variable:
    """The result of the body: (#t . value), or that it failed with (raised . error)."""
    result = Variable("attempt")
    procedure = x.procedure(Form((), None, form.span), body, scope, "", form)
    out.append(Binding(result, _called(x, "%attempt", procedure, form, out)))
    return result


def _returned(x: Expander, result: Variable, otherwise: Body, span: Span, out: Out) -> If:
    own: Out = []
    value = _part(x, "cdr", result, span, own)
    return If(_part(x, "failed?", result, span, out), otherwise, Body(tuple(own), value), span)


def _part(x: Expander, row: str, pair: Variable, span: Span, out: Out) -> Variable:
    part = Variable("part")
    out.append(Binding(part, x.apply(row, (pair,), span)))
    return part
