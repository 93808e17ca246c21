"""Keywords that make data: quotations, lists, promises and streams.

In: a form, its scope, and the body under construction.  Out: its right-hand side, a constant or an application of cons; bindings
it needs are added to the body. Called by the expander through the table in forms.py.
"""

from __future__ import annotations

from collections.abc import Container

from vlad.core.nodes import Atom, Call, Constant, Rhs
from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import FALSE, NIL, TRUE, Value
from vlad.expand.expander import Expander
from vlad.expand.macros import invalid, text_of
from vlad.expand.normalize import Out, as_atom
from vlad.expand.scope import Scope
from vlad.reader.parser import Form, Name, Syntax, TensorLiteral, around_made, datum, is_vector


def quote(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 2:
        raise invalid(form, "(quote DATUM)")
    return quoted(x, form.items[1], form, scope, out)


def quoted(x: Expander, syntax: Syntax, form: Syntax, scope: Scope, out: Out) -> Rhs:
    """A quoted datum: a constant, except for tensors and vectors in it, which are made at run time."""
    try:
        return _quoted_part(x, syntax, around_made(syntax), scope, out)
    except VladError as error:
        if error.code != "invalid-syntax":
            raise
        raise VladError(
            "invalid-expression", f"Invalid expression: {text_of(form)}", error.span, hint=error.hint
        ) from None


def _quoted_part(x: Expander, syntax: Syntax, around: Container[int], scope: Scope, out: Out) -> Rhs:
    if isinstance(syntax, TensorLiteral):
        return x.expression(syntax, scope, out)
    if isinstance(syntax, Form) and is_vector(syntax):
        return _vector_of(x, _quoted_part(x, syntax.items[1], around, scope, out), syntax, out)
    if not isinstance(syntax, Form) or id(syntax) not in around:
        return Constant(datum(syntax))
    tail = syntax.tail
    result: Rhs = Constant(NIL) if tail is None else _quoted_part(x, tail, around, scope, out)
    for item in reversed(syntax.items):
        part = as_atom(_quoted_part(x, item, around, scope, out), out)
        result = _put_before(x, False, part, result, syntax.span, out)
    return result


_LEVELS = {"quasiquote": 1, "unquote": -1, "unquote-splicing": -1}


def quasiquote(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 2:
        raise invalid(form, "(quasiquote TEMPLATE)")
    return _template(x, form.items[1], 1, scope, out)


def _template(x: Expander, syntax: Syntax, level: int, scope: Scope, out: Out) -> Rhs:
    """A quasiquotation; parts without computed values stay constants."""
    if not isinstance(syntax, Form):
        return quoted(x, syntax, syntax, scope, out)
    if is_vector(syntax):
        return _vector_of(x, _template(x, syntax.items[1], level, scope, out), syntax, out)
    tag = _tag(syntax)
    if tag == "unquote" and level == 1:
        return x.expression(syntax.items[1], scope, out)
    level += _LEVELS.get(tag, 0)
    parts: list[tuple[bool, Atom, Span]] = []
    for item in syntax.items:
        splice = _tag(item) == "unquote-splicing" and level == 1
        if splice:
            assert isinstance(item, Form)
            parts.append((True, x.atom(item.items[1], scope, out), item.span))
        else:
            parts.append((False, as_atom(_template(x, item, level, scope, out), out), item.span))
    result: Rhs = Constant(NIL) if syntax.tail is None else _template(x, syntax.tail, level, scope, out)
    for splice, part, span in reversed(parts):
        result = _put_before(x, splice, part, result, span, out)
    return result


def _tag(syntax: Syntax) -> str:
    """The keyword of a form like (unquote E), '' for other syntax."""
    if not isinstance(syntax, Form) or len(syntax.items) != 2 or syntax.tail is not None:
        return ""
    head = syntax.items[0]
    return head.symbol.name if isinstance(head, Name) and head.symbol.name in _LEVELS else ""


def _put_before(x: Expander, splice: bool, part: Atom, rest: Rhs, span: Span, out: Out) -> Rhs:
    if isinstance(rest, Constant):
        if splice and rest.value is NIL:
            return part
        if not splice and isinstance(part, Constant):
            return Constant((part.value, rest.value))
    atom = as_atom(rest, out)
    return (
        Call(x.top_reference("append", span), (part, atom), span)
        if splice
        else x.apply("cons", (part, atom), span)
    )


def stray(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    between = "; operands are separated by blanks" if form.span.text.startswith(",") else ""
    raise invalid(form, f"`{form.items[0]}` has a meaning only inside a quasiquotation `(…){between}")


def list_(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _made_list(x, form, scope, out, proper=True)


def cons_star(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _made_list(x, form, scope, out, proper=False)


def vector(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _vector_of(x, _made_list(x, form, scope, out, proper=True), form, out)


def vector_literal(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    """#(ELEMENT ...), whose elements are not evaluated."""
    return quoted(x, form, form, scope, out)


def _vector_of(x: Expander, elements: Rhs, form: Form, out: Out) -> Rhs:
    return Call(x.top_reference("%list->vector", form.span), (as_atom(elements, out, "elements"),), form.span)


def _made_list(x: Expander, form: Form, scope: Scope, out: Out, proper: bool) -> Rhs:
    """(list a ...) and (cons* a ... b) are nested applications of cons."""
    parts: list[Atom] = []
    for item in form.items[1:]:
        parts.append(x.atom(item, scope, out))
    if proper or not parts:
        parts.append(Constant(NIL))
    result: Rhs = parts[-1]
    for part in reversed(parts[:-1]):
        result = x.apply("cons", (part, as_atom(result, out)), form.span)
    return result


def delay(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    """The promise of a procedure without arguments: evaluation has no effects, so evaluating it twice is safe."""
    if len(form.items) != 2:
        raise invalid(form, "(delay EXPRESSION)")
    return _promise(x, FALSE, form, scope, out, name)


def delay_force(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    """The promise of what another promise gives."""
    if len(form.items) != 2:
        raise invalid(form, "(delay-force PROMISE)")
    return _promise(x, TRUE, form, scope, out, name)


def _promise(x: Expander, again: Value, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    computing = x.procedure(Form((), None, form.span), form.items[1:], scope, name, form)
    operands = (Constant(again), as_atom(computing, out, "computing"))
    return Call(x.top_reference("%promise", form.span), operands, form.span)


def cons_stream(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 3:
        raise invalid(form, "(cons-stream FIRST REST)")
    first = x.atom(form.items[1], scope, out, "first")
    rest = x.procedure(Form((), None, form.span), form.items[2:], scope, "", form)
    return x.apply("cons", (first, as_atom(rest, out, "rest")), form.span)
