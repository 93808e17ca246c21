"""Keywords of control: reset and shift.

In: a form, its scope, and the body under construction.  Out: its right-hand side, a call of a procedure of the system on the
body of the form as a procedure. Called by the expander through the table in forms.py.
"""

from __future__ import annotations

from vlad.core.nodes import Call, Lambda, Rhs
from vlad.expand.expander import Expander
from vlad.expand.macros import invalid
from vlad.expand.normalize import Out, as_atom
from vlad.expand.scope import Scope
from vlad.reader.parser import Form, Name


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
