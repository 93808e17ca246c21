"""Keywords that bind local names: lambda, the kinds of let, do, let-syntax.

In: a form, its scope, and the body under construction.  Out: its right-hand side; bindings it needs are added to the body. Called
by the expander through the table in forms.py. Each opens a scope, binds names or patterns in it, and leaves it again.
"""

from __future__ import annotations

from vlad.core.nodes import Binding, Call, Constant, Rhs, Variable, WrittenName
from vlad.data.values import NIL, UNSPECIFIED, symbol
from vlad.expand.expander import Expander
from vlad.expand.macros import fresh_mark, invalid, made
from vlad.expand.normalize import Group, Out
from vlad.expand.patterns import Patterns, invalid_parameter, tuple_pattern
from vlad.expand.scope import Scope
from vlad.reader.parser import Form, Literal, Name, Syntax


def lambda_(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 3:
        raise invalid(form, "(lambda (PARAMETER ...) BODY ...)")
    return x.procedure(form.items[1], form.items[2:], scope, name, form)


def let(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    shape = "(let ((NAME VALUE) ...) BODY ...)"
    if len(form.items) > 3 and isinstance(form.items[1], Name):
        return _named_let(x, form, form.items[1], scope, out)
    if len(form.items) < 3:
        raise invalid(form, shape)
    values = []
    for pattern, value in _pairs(form, form.items[1], shape):
        values.append((pattern, _bound(x, pattern, value, scope, out)))
    inner = scope.inner()
    patterns = Patterns(inner, x.module.primitives, form.items[1])
    for pattern, variable in values:
        patterns.bind(pattern, variable, out)
    rhs = x.sequence(form.items[2:], inner, out, form, name)
    inner.leave()
    return rhs


def let_values(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _let_values(x, form, "let", scope, out, name)


def let_star_values(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _let_values(x, form, "let*", scope, out, name)


def _let_values(x: Expander, form: Form, plain: str, scope: Scope, out: Out, name: str) -> Rhs:
    """Several values are a tuple, as several operands are: so a `let` with patterns takes them apart."""
    shape = f"({form.items[0]} (((NAME ...) VALUES) ...) BODY ...)"
    if len(form.items) < 3:
        raise invalid(form, shape)
    pairs = [
        Form((tuple_pattern(formals), value), None, formals.span)
        for formals, value in _pairs(form, form.items[1], shape)
    ]
    bindings = Form(tuple(pairs), None, form.items[1].span)
    return x.expression(made(plain, form.span, bindings, *form.items[2:]), scope, out, name)


def receive(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 4:
        raise invalid(form, "(receive (NAME ...) VALUES BODY ...)")
    _, formals, value, *body = form.items
    bindings = Form((Form((tuple_pattern(formals), value), None, formals.span),), None, formals.span)
    return x.expression(made("let", form.span, bindings, *body), scope, out, name)


def _named_let(x: Expander, form: Form, name: Name, scope: Scope, out: Out) -> Rhs:
    """(letrec ((NAME (lambda (P ...) BODY ...))) (NAME E ...)): NAME is in scope in the starting values, too."""
    pairs = _pairs(form, form.items[2], "(let NAME ((VARIABLE VALUE) ...) BODY ...)")
    parameters = Form(tuple([pattern for pattern, _ in pairs]), None, form.items[2].span)
    procedure = made("lambda", form.span, parameters, *form.items[3:])
    inner = scope.inner()
    loop = _loop(x, name, procedure, inner, out)
    values = []
    for pattern, value in pairs:
        values.append(x.atom(value, inner, out, pattern.symbol.name if isinstance(pattern, Name) else "t"))
    inner.leave()
    return Call(loop, tuple(values) or (Constant(NIL),), form.span)


def let_star(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    shape = "(let* ((NAME VALUE) ...) BODY ...)"
    if len(form.items) < 3:
        raise invalid(form, shape)
    inner = scope.inner()
    for pattern, value in _pairs(form, form.items[1], shape):
        variable = _bound(x, pattern, value, inner, out)
        Patterns(inner, x.module.primitives, pattern).bind(pattern, variable, out)
    rhs = x.sequence(form.items[2:], inner, out, form, name)
    inner.leave()
    return rhs


def letrec(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    shape = f"({form.items[0]} ((NAME VALUE) ...) BODY ...)"
    if len(form.items) < 3:
        raise invalid(form, shape)
    inner = scope.inner()
    group = Group()
    parts = []
    for pattern, value in _pairs(form, form.items[1], shape):
        if not isinstance(pattern, Name):
            raise invalid_parameter(pattern, f"{form.items[0]} binds names")
        parts.append(x.pending(pattern, value, inner, group))
    x.recursive(parts, inner, group, out)
    rhs = x.sequence(form.items[2:], inner, out, form, name)
    inner.leave()
    return rhs


def do(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    shape = "(do ((VARIABLE START STEP) ...) (TEST RESULT ...) BODY ...)"
    if len(form.items) < 3 or not isinstance(form.items[1], Form) or not isinstance(form.items[2], Form):
        raise invalid(form, shape)
    end, span = form.items[2], form.span
    if not end.items or end.tail is not None or form.items[1].tail is not None:
        raise invalid(form, shape)
    patterns, starts, steps = [], [], []
    for item in form.items[1].items:
        if not isinstance(item, Form) or len(item.items) not in (2, 3) or item.tail is not None:
            raise invalid(item, f"a variable of do is (VARIABLE START STEP), as in {shape}")
        patterns.append(item.items[0])
        starts.append(x.atom(item.items[1], scope, out))
        # a pattern is also the expression for the value it matches
        steps.append(item.items[-1] if len(item.items) == 3 else item.items[0])
    loop = Name(symbol("do"), span, (fresh_mark(scope),))
    results = end.items[1:] or (Literal(UNSPECIFIED, span),)
    turn = made("begin", span, *form.items[3:], Form((loop, *steps), None, span))
    choice = made("if", span, end.items[0], made("begin", span, *results), turn)
    parameters = Form(tuple(patterns), None, form.items[1].span)
    inner = scope.inner()
    variable = _loop(x, loop, made("lambda", span, parameters, choice), inner, out)
    inner.leave()
    return Call(variable, tuple(starts) or (Constant(NIL),), span)


def _loop(x: Expander, name: Name, procedure: Syntax, inner: Scope, out: Out) -> Variable:
    """Bind a name to a procedure that may call itself."""
    group = Group()
    part = x.pending(name, procedure, inner, group)
    x.recursive([part], inner, group, out)
    assert part.pending is not None
    return part.pending.variable


def _pairs(form: Form, bindings: Syntax, shape: str) -> list[tuple[Syntax, Syntax]]:
    """The bindings ((P E) ...) of a let."""
    if not isinstance(bindings, Form) or bindings.tail is not None:
        raise invalid(form, shape)
    pairs = []
    for item in bindings.items:
        if not isinstance(item, Form) or len(item.items) != 2 or item.tail is not None:
            raise invalid(item, f"a binding is (NAME VALUE), as in {shape}")
        pairs.append((item.items[0], item.items[1]))
    return pairs


def _bound(x: Expander, pattern: Syntax, value: Syntax, scope: Scope, out: Out) -> Variable:
    """The variable for the value of an expression that a pattern is bound to."""
    name = pattern.symbol.name if isinstance(pattern, Name) else ""
    rhs = x.expression(value, scope, out, name)
    variable = Variable(WrittenName(name) if name else "value")
    out.append(Binding(variable, rhs))
    return variable


def let_syntax(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _local_macros(x, form, scope, scope, out, name)


def letrec_syntax(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _local_macros(x, form, scope, None, out, name)


def _local_macros(
    x: Expander, form: Form, scope: Scope, seen_by_macros: Scope | None, out: Out, name: str
) -> Rhs:
    """`seen_by_macros` is the scope of the macros' templates; None for the scope of the macros themselves."""
    shape = f"({form.items[0]} ((NAME (syntax-rules …)) ...) BODY ...)"
    if len(form.items) < 3:
        raise invalid(form, shape)
    inner = scope.inner()
    for keyword, spec in _pairs(form, form.items[1], shape):
        if not isinstance(keyword, Name):
            raise invalid(keyword, f"a macro has a name, as in {shape}")
        x.declare(keyword, x.transformer(keyword, spec, scope, seen_by_macros or inner), inner)
    rhs = x.sequence(form.items[2:], inner, out, form, name)
    inner.leave()
    return rhs
