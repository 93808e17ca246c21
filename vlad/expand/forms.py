"""Syntax → core: what each keyword means.

In: one top-level form and the module it stands in.  Out: items for the session to execute, in order; their bodies have no free
variables. Called by the session. The order of evaluation is fixed here: operator, then operands from left to right.

A keyword is a keyword only where no local name shadows it and no definition of the module does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from vlad.core.names import make_lambda
from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Constant,
    GlobalReference,
    If,
    Lambda,
    Rhs,
    Variable,
)
from vlad.errors import VladError
from vlad.expand.macros import Macro, Marks, expand_macro, invalid, parse_rules, text_of
from vlad.expand.normalize import Defined, Out, arrange, as_atom, as_result
from vlad.expand.patterns import Patterns
from vlad.expand.scope import Module, Scope, key_of
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax, TensorLiteral, datum
from vlad.source import Span
from vlad.values import FALSE, NIL, TRUE, UNSPECIFIED, Global, String, symbol

DEEPEST_EXPANSION = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    cell: Global
    body: Body
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    body: Body
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Include:
    path: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Import:
    path: str
    prefix: str | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Export:
    names: tuple[str, ...]
    span: Span


Item: TypeAlias = Definition | Expression | Include | Import | Export


def top_level_forms(data: Iterable[Syntax]) -> Iterator[Syntax]:
    """The forms of a program: `===>` and the datum after it, a test driver's expectation, are no part of it."""
    skip = False
    for item in data:
        if skip:
            skip = False
        elif isinstance(item, Name) and item.symbol.name == "===>":
            skip = True
        else:
            yield item


def expand_form(syntax: Syntax, module: Module) -> list[Item]:
    """The items of one top-level form. Raises VladError where its syntax is wrong."""
    expander = _Expander(module)
    items: list[Item] = []
    expander.top_level(syntax, Scope(None, module), items)
    return items


Form_ = Callable[["_Expander", Form, Scope, Out, str], Rhs]
UNSPECIFIED_ATOM = Constant(UNSPECIFIED)


class _Core(Name):
    """A keyword that the expander itself inserts: it means the keyword whatever is bound."""

    __slots__ = ("meaning",)

    def __init__(self, name: Any, span: Span, meaning: Any) -> None:
        super().__init__(name, span)
        self.meaning = meaning


class _Expander:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.marks = Marks()
        self.depth = 0

    # What a name means here.

    def resolve(self, name: Name, scope: Scope) -> Any:
        """A Variable, a Macro, a keyword's function, or the text of a top-level name."""
        if type(name) is _Core:
            return name.meaning
        marks = name.marks
        while True:
            found = scope.find((name.symbol, marks))
            if found is not None:
                return found
            if not marks:
                break
            scope = self.marks.scopes[marks[-1]] if marks[-1] < len(self.marks.scopes) else scope
            marks = marks[:-1]
        text = name.symbol.name
        module = scope.module
        macro = module.macro(text)
        if macro is not None:
            return macro
        if text in KEYWORDS and module.is_inherited(text):
            return KEYWORDS[text]
        return text

    def head(self, form: Form, scope: Scope) -> Any:
        """What the operator of a form means, when it is a name."""
        first = form.items[0] if form.items else None
        return self.resolve(first, scope) if isinstance(first, Name) else None

    def expanded(self, syntax: Syntax, scope: Scope) -> Syntax:
        """The syntax with macro uses at its head expanded."""
        count = 0
        while isinstance(syntax, Form) and syntax.items:
            macro = self.head(syntax, scope)
            if not isinstance(macro, Macro):
                break
            count += 1
            if count + self.depth > DEEPEST_EXPANSION:
                raise VladError(
                    "endless-macro", f"The macro {macro.name} expands without end", syntax.span,
                    hint="one of its templates uses it again without getting smaller",
                )  # fmt: skip
            syntax = expand_macro(macro, syntax, scope, self.marks, self.resolve)
        return syntax

    def is_form(self, syntax: Syntax, keyword: str, scope: Scope) -> bool:
        return (
            isinstance(syntax, Form)
            and bool(syntax.items)
            and isinstance(syntax.items[0], Name)
            and self.resolve(syntax.items[0], scope) is KEYWORDS[keyword]
        )

    # Top level.

    def top_level(self, syntax: Syntax, scope: Scope, items: list[Item]) -> None:
        syntax = self.expanded(syntax, scope)
        if isinstance(syntax, Form) and syntax.items:
            head = self.head(syntax, scope)
            if head is KEYWORDS["begin"] and len(syntax.items) > 1:
                for part in syntax.items[1:]:
                    self.top_level(part, scope, items)
                return
            special = TOP_LEVEL.get(head) if callable(head) else None
            if special is not None:
                special(self, syntax, scope, items)
                return
        out: Out = []
        result = as_result(self.expression(syntax, scope, out), out)
        items.append(Expression(Body(tuple(out), result), syntax.span))

    def top_define(self, form: Form, scope: Scope, items: list[Item]) -> None:
        name, value, span = self.definition(form)
        self.module.defined.setdefault(name.symbol.name)
        out: Out = []
        result = as_result(self.value(value, scope, out, name), out)
        cell = self.module.define(name.symbol.name)
        items.append(Definition(cell, Body(tuple(out), result), span))

    def top_define_syntax(self, form: Form, scope: Scope, items: list[Item]) -> None:
        name, macro = self.macro_definition(form, scope)
        self.module.macros[name.symbol.name] = macro

    def top_include(self, form: Form, scope: Scope, items: list[Item]) -> None:
        items.append(Include(self.path(form, 2, '(include "FILE")'), form.span))

    def top_import(self, form: Form, scope: Scope, items: list[Item]) -> None:
        shape = '(import "MODULE") or (import "MODULE" as NAME)'
        parts = form.items
        prefix = None
        if len(parts) == 4 and str(parts[2]) == "as" and isinstance(parts[3], Name):
            prefix = parts[3].symbol.name
        elif len(parts) != 2:
            raise invalid(form, shape)
        items.append(Import(self.path(form, len(parts), shape), prefix, form.span))

    def path(self, form: Form, count: int, shape: str) -> str:
        if len(form.items) != count or form.tail is not None:
            raise invalid(form, shape)
        path = form.items[1]
        if not isinstance(path, Literal) or type(path.value) is not String:
            raise invalid(form, shape)
        text: str = path.value.text
        if not text or "\0" in text:
            raise invalid(form, "a file has a name")
        return text

    def top_export(self, form: Form, scope: Scope, items: list[Item]) -> None:
        if not all(isinstance(name, Name) for name in form.items):
            raise invalid(form, "(export NAME ...)")
        items.append(Export(tuple([str(name) for name in form.items[1:]]), form.span))

    # Expressions.

    def expression(self, syntax: Syntax, scope: Scope, out: Out, name: str = "") -> Rhs:
        """The right-hand side of an expression; what it needs goes before it into `out`."""
        syntax = self.expanded(syntax, scope)
        if isinstance(syntax, Name):
            return self.reference(syntax, scope)
        if isinstance(syntax, Literal):
            return Constant(syntax.value)
        if isinstance(syntax, TensorLiteral):
            return Call(self.top_reference("tensor", syntax.span), (Constant(datum(syntax)),), syntax.span)
        if isinstance(syntax, Keyword):
            raise invalid(syntax, "#:name stands before an operand: (f x #:name value)")
        if not syntax.items:
            raise invalid(syntax, "the empty list as a value is written '()")
        self.depth += 1
        meaning = self.head(syntax, scope)
        if callable(meaning):
            if syntax.tail is not None:
                raise invalid(syntax, "no dot here")
            rhs: Rhs = meaning(self, syntax, scope, out, name)
        else:
            rhs = self.call(syntax, meaning, scope, out)
        self.depth -= 1
        return rhs

    def value(self, syntax: Syntax, scope: Scope, out: Out, name: Name) -> Rhs:
        """The expression that a name is bound to; a lambda takes the name."""
        return self.expression(syntax, scope, out, name.symbol.name)

    def atom(self, syntax: Syntax, scope: Scope, out: Out, name: str = "t") -> Atom:
        return as_atom(self.expression(syntax, scope, out), out, name)

    def arm(self, syntax: Syntax, scope: Scope) -> Body:
        out: Out = []
        result = as_result(self.expression(syntax, scope, out), out)
        return Body(tuple(out), result)

    def reference(self, name: Name, scope: Scope) -> Atom:
        meaning = self.resolve(name, scope)
        if isinstance(meaning, Variable):
            return meaning
        if isinstance(meaning, Macro) or callable(meaning):
            text = name.symbol.name
            if text in LIST_MAKERS:
                return self.top_reference(text, name.span)
            raise VladError(
                "invalid-expression", f"Invalid expression: {text}", name.span, hint=f"`{text}` is a keyword, not a value"
            )
        return self.top_reference(meaning, name.span)

    def top_reference(self, name: str, span: Span) -> GlobalReference:
        return GlobalReference(self.module.cell(name), span)

    def call(self, form: Form, meaning: Any, scope: Scope, out: Out) -> Rhs:
        items = form.items if form.tail is None else (*form.items, form.tail)
        operator = self.atom(items[0], scope, out, "operator")
        if any(isinstance(item, Keyword) for item in items):
            return self.keyword_call(form, operator, scope, out)
        operands = []
        for item in items[1:]:
            operands.append(self.atom(item, scope, out))
        return Call(operator, tuple(operands) or (Constant(NIL),), form.span)

    def keyword_call(self, form: Form, operator: Atom, scope: Scope, out: Out) -> Rhs:
        """Operands by name are put in the order of the row, with defaults where they are missing."""
        row = operator.cell.primitive if isinstance(operator, GlobalReference) else None
        if row is None or not row.keywords:
            keyword = next(item for item in form.items if isinstance(item, Keyword))
            raise VladError(
                "unknown-keyword", f"Invalid expression: {text_of(form)}", keyword.span,
                hint=f"{text_of(form.items[0])} takes no operand #:{keyword.name}",
            )  # fmt: skip
        operands: list[Atom] = []
        named: dict[str, Atom] = {}
        items = list(form.items[1:])
        while items:
            item = items.pop(0)
            if not isinstance(item, Keyword):
                operands.append(self.atom(item, scope, out))
                continue
            if item.name not in row.keywords or not items or isinstance(items[0], Keyword):
                known = " ".join(["#:" + name for name in row.keywords])
                hint = f"{row.name} has the operands {known}, each before its value; not #:{item.name}"
                raise VladError("unknown-keyword", f"Invalid expression: {text_of(form)}", item.span, hint=hint)
            named[item.name] = self.atom(items.pop(0), scope, out)
        operands += [named.get(name, Constant(default)) for name, default in row.keywords.items()]
        return Call(operator, tuple(operands), form.span)

    def apply(self, name: str, operands: tuple[Atom, ...], span: Span) -> Apply:
        """A primitive itself, whatever its name means in the program."""
        return Apply(self.module.primitives[name], operands, span)

    # Bodies.

    def procedure(
        self, parameters: Syntax, body: tuple[Syntax, ...], scope: Scope, name: str, whole: Form
    ) -> Lambda:
        inner = scope.inner()
        out: Out = []
        patterns = Patterns(inner, self.module.primitives, parameters)
        if isinstance(parameters, Form):
            variables = patterns.parameters(parameters.items, parameters.tail, out)
        else:
            variables = patterns.parameters((parameters,), None, out)
        return make_lambda(variables, self.body(body, inner, out, whole), name, whole.span)

    def body(self, forms: tuple[Syntax, ...], scope: Scope, out: Out, whole: Form) -> Body:
        """A body: definitions, which see each other, and expressions; the value is the last one's."""
        rhs = self.sequence(forms, scope, out, whole)
        result = as_result(rhs, out)
        return Body(tuple(out), result)

    def sequence(self, forms: tuple[Syntax, ...], scope: Scope, out: Out, whole: Form) -> Rhs:
        if len(forms) == 1 and not isinstance(forms[0], Form):
            return self.expression(forms[0], scope, out)
        scope = scope.inner()
        parts = self.spliced(forms, scope)
        if not parts or self.is_form(parts[-1], "define", scope):
            raise invalid(whole, "a body ends with an expression, its value")
        if any(self.is_form(part, "define", scope) for part in parts):
            self.definitions(parts[:-1], scope, out, whole)
        else:
            for part in parts[:-1]:
                as_atom(self.expression(part, scope, out), out, "ignored")
        return self.expression(parts[-1], scope, out)

    def spliced(self, forms: tuple[Syntax, ...], scope: Scope) -> list[Syntax]:
        """The forms of a body with macros expanded, `begin`s opened and local macros noted."""
        parts: list[Syntax] = []
        work = list(reversed(forms))
        while work:
            part = self.expanded(work.pop(), scope)
            if self.is_form(part, "begin", scope):
                assert isinstance(part, Form)
                work += reversed(part.items[1:])
            elif self.is_form(part, "define-syntax", scope):
                assert isinstance(part, Form)
                name, macro = self.macro_definition(part, scope)
                scope.bindings[key_of(name)] = macro
            else:
                parts.append(part)
        return parts

    def definitions(self, parts: list[Syntax], scope: Scope, out: Out, whole: Form) -> None:
        named: list[tuple[Name | None, Syntax, Span]] = []
        for part in parts:
            if self.is_form(part, "define", scope):
                assert isinstance(part, Form)
                named.append(self.definition(part))
            else:
                named.append((None, part, part.span))
        self.recursive(named, scope, out, whole)

    def recursive(
        self, named: list[tuple[Name | None, Syntax, Span]], scope: Scope, out: Out, whole: Syntax
    ) -> None:
        """letrec*: bind all names, expand all values, put them in order."""
        variables: list[Variable | None] = []
        for name, _, _ in named:
            if name is not None and isinstance(scope.bindings.get(key_of(name)), Variable):
                message = f"Duplicate variables: {text_of(whole)}"
                raise VladError("duplicate-variables", message, name.span, hint=f"`{name}` is bound twice here")
            variables.append(None if name is None else scope.bind(name, Variable(name.symbol.name)))
        items = []
        for (name, syntax, span), variable in zip(named, variables, strict=True):
            own: Out = []
            rhs = self.expression(syntax, scope, own, "" if name is None else name.symbol.name)
            items.append(Defined(variable, tuple(own), rhs, span))
        if items:
            arrange(items, out)

    def definition(self, form: Form) -> tuple[Name, Syntax, Span]:
        """The name and the value of a definition; curried heads become nested lambdas."""
        shape = "(define NAME VALUE) or (define (NAME PARAMETER ...) BODY ...)"
        if len(form.items) < 3 or form.tail is not None:
            raise invalid(form, shape)
        head, body = form.items[1], form.items[2:]
        if isinstance(head, Name):
            if len(body) != 1:
                raise invalid(form, shape)
            return head, body[0], form.span
        while isinstance(head, Form) and head.items:
            keyword = _Core(symbol("lambda"), form.span, KEYWORDS["lambda"])
            parameters = Form(head.items[1:], head.tail, head.span)
            body = (Form((keyword, parameters, *body), None, form.span),)
            head = head.items[0]
            if isinstance(head, Name):
                return head, body[0], form.span
        raise invalid(form, shape)

    def macro_definition(self, form: Form, scope: Scope) -> tuple[Name, Macro]:
        shape = "(define-syntax NAME (syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...))"
        if len(form.items) != 3 or not isinstance(form.items[1], Name):
            raise invalid(form, shape)
        return form.items[1], parse_rules(str(form.items[1]), form.items[2], scope)


# The keywords.


def _quote(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 2:
        raise invalid(form, "(quote DATUM)")
    return Constant(datum(form.items[1]))


def _lambda(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 3:
        raise invalid(form, "(lambda (PARAMETER ...) BODY ...)")
    return x.procedure(form.items[1], form.items[2:], scope, name, form)


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


def _put(patterns: Patterns, pattern: Syntax, rhs: Rhs, out: Out) -> None:
    if isinstance(pattern, Name):
        out.append(Binding(patterns.variable(pattern), rhs))
    else:
        value = Variable("value")
        out.append(Binding(value, rhs))
        patterns.destructure(pattern, value, out)


def _let(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    shape = "(let ((NAME VALUE) ...) BODY ...)"
    if len(form.items) > 3 and isinstance(form.items[1], Name):
        return _named_let(x, form, scope, out)
    if len(form.items) < 3:
        raise invalid(form, shape)
    inner = scope.inner()
    patterns = Patterns(inner, x.module.primitives, form.items[1])
    values = []
    for pattern, value in _pairs(form, form.items[1], shape):
        rhs = x.expression(value, scope, out, str(pattern) if isinstance(pattern, Name) else "")
        if not isinstance(pattern, Name) or isinstance(rhs, Call | If):
            rhs = as_atom(rhs, out, str(pattern) if isinstance(pattern, Name) else "value")
        values.append((pattern, rhs))
    for pattern, rhs in values:
        _put(patterns, pattern, rhs, out)
    return x.sequence(form.items[2:], inner, out, form)


def _named_let(x: _Expander, form: Form, scope: Scope, out: Out) -> Rhs:
    shape = "(let NAME ((VARIABLE VALUE) ...) BODY ...)"
    pairs = _pairs(form, form.items[2], shape)
    values = []
    for _, value in pairs:
        values.append(x.atom(value, scope, out))
    name = form.items[1]
    assert isinstance(name, Name)
    parameters = Form(tuple([pattern for pattern, _ in pairs]), None, form.items[2].span)
    keyword = _Core(symbol("lambda"), form.span, KEYWORDS["lambda"])
    loop = Form((keyword, parameters, *form.items[3:]), None, form.span)
    inner = scope.inner()
    x.recursive([(name, loop, form.span)], inner, out, form)
    return Call(inner.bindings[key_of(name)], tuple(values) or (Constant(NIL),), form.span)


def _let_star(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    shape = "(let* ((NAME VALUE) ...) BODY ...)"
    if len(form.items) < 3:
        raise invalid(form, shape)
    inner = scope.inner()
    for pattern, value in _pairs(form, form.items[1], shape):
        rhs = x.expression(value, inner, out, str(pattern) if isinstance(pattern, Name) else "")
        _put(Patterns(inner, x.module.primitives, pattern), pattern, rhs, out)
    return x.sequence(form.items[2:], inner, out, form)


def _letrec(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    shape = "(letrec ((NAME VALUE) ...) BODY ...)"
    if len(form.items) < 3:
        raise invalid(form, shape)
    inner = scope.inner()
    named: list[tuple[Name | None, Syntax, Span]] = []
    for pattern, value in _pairs(form, form.items[1], shape):
        if not isinstance(pattern, Name):
            raise VladError(
                "invalid-parameter", f"Invalid parameter: {text_of(pattern)}", pattern.span, hint="letrec binds names"
            )
        named.append((pattern, value, value.span))
    x.recursive(named, inner, out, form)
    return x.sequence(form.items[2:], inner, out, form)


def _if(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 4:
        hint = "(if TEST THEN ELSE)" + (" — without ELSE write (when TEST THEN)" if len(form.items) == 3 else "")
        raise invalid(form, hint)
    test = x.atom(form.items[1], scope, out, "test")
    consequent = x.arm(form.items[2], scope)
    return If(test, consequent, x.arm(form.items[3], scope), form.span)


def _and(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _conjunction(x, form.items[1:], form, scope, out)


def _conjunction(x: _Expander, parts: tuple[Syntax, ...], form: Form, scope: Scope, out: Out) -> Rhs:
    if not parts:
        return Constant(TRUE)
    if len(parts) == 1:
        return x.expression(parts[0], scope, out)
    test = x.atom(parts[0], scope, out, "test")
    own: Out = []
    result = as_result(_conjunction(x, parts[1:], form, scope, own), own)
    return If(test, Body(tuple(own), result), Body((), Constant(FALSE)), form.span)


def _or(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _disjunction(x, form.items[1:], form, scope, out)


def _disjunction(x: _Expander, parts: tuple[Syntax, ...], form: Form, scope: Scope, out: Out) -> Rhs:
    if not parts:
        return Constant(FALSE)
    if len(parts) == 1:
        return x.expression(parts[0], scope, out)
    test = x.atom(parts[0], scope, out, "test")
    own: Out = []
    result = as_result(_disjunction(x, parts[1:], form, scope, own), own)
    return If(test, Body((), test), Body(tuple(own), result), form.span)


def _cond(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 2:
        raise invalid(form, "(cond (TEST VALUE ...) ... (else VALUE ...))")
    return _clauses(x, form.items[1:], form, scope, out)


def _is_word(x: _Expander, syntax: Syntax, word: str, scope: Scope) -> bool:
    return isinstance(syntax, Name) and syntax.symbol.name == word and x.resolve(syntax, scope) == word


def _clauses(x: _Expander, clauses: tuple[Syntax, ...], form: Form, scope: Scope, out: Out) -> Rhs:
    if not clauses:
        return UNSPECIFIED_ATOM
    clause = clauses[0]
    if not isinstance(clause, Form) or not clause.items or clause.tail is not None:
        raise invalid(clause, "a clause of cond is (TEST VALUE ...) or (else VALUE ...)")
    first, rest = clause.items[0], clause.items[1:]
    if _is_word(x, first, "else", scope):
        if len(clauses) > 1 or not rest:
            raise invalid(form, "(else VALUE ...) is the last clause of cond")
        return x.sequence(rest, scope, out, clause)
    test = x.atom(first, scope, out, "test")
    own: Out = []
    if not rest:
        consequent = Body((), test)
    elif len(rest) == 2 and _is_word(x, rest[0], "=>", scope):
        receiver = x.atom(rest[1], scope, own, "receiver")
        consequent = Body(tuple(own), Call(receiver, (test,), clause.span))
    else:
        consequent = x.body(rest, scope, own, clause)
    other: Out = []
    result = as_result(_clauses(x, clauses[1:], form, scope, other), other)
    return If(test, consequent, Body(tuple(other), result), clause.span)


def _case(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 3:
        raise invalid(form, "(case VALUE ((DATUM ...) RESULT ...) ... (else RESULT ...))")
    return _cases(x, x.atom(form.items[1], scope, out, "key"), form.items[2:], form, scope, out)


def _cases(x: _Expander, key: Atom, clauses: tuple[Syntax, ...], form: Form, scope: Scope, out: Out) -> Rhs:
    if not clauses:
        return UNSPECIFIED_ATOM
    clause = clauses[0]
    if not isinstance(clause, Form) or len(clause.items) < 2:
        raise invalid(clause, "a clause of case is ((DATUM ...) RESULT ...) or (else RESULT ...)")
    data, rest = clause.items[0], clause.items[1:]
    if _is_word(x, data, "else", scope):
        if len(clauses) > 1:
            raise invalid(form, "(else RESULT ...) is the last clause of case")
        return x.sequence(rest, scope, out, clause)
    if not isinstance(data, Form):
        raise invalid(clause, "a clause of case is ((DATUM ...) RESULT ...) or (else RESULT ...)")
    test: Atom = Constant(FALSE)
    for item in data.items:
        same = as_atom(x.apply("equal?", (key, Constant(datum(item))), item.span), out, "same")
        test = same if len(data.items) == 1 else as_atom(
            If(same, Body((), Constant(TRUE)), Body((), test), item.span), out, "test"
        )  # fmt: skip
    own: Out = []
    consequent = x.body(rest, scope, own, clause)
    other: Out = []
    result = as_result(_cases(x, key, clauses[1:], form, scope, other), other)
    return If(test, consequent, Body(tuple(other), result), clause.span)


def _when(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _conditional(x, form, scope, out, "when")


def _unless(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _conditional(x, form, scope, out, "unless")


def _conditional(x: _Expander, form: Form, scope: Scope, out: Out, keyword: str) -> Rhs:
    if len(form.items) < 3:
        raise invalid(form, f"({keyword} TEST BODY ...)")
    test = x.atom(form.items[1], scope, out, "test")
    own: Out = []
    body, nothing = x.body(form.items[2:], scope, own, form), Body((), UNSPECIFIED_ATOM)
    return If(test, body, nothing, form.span) if keyword == "when" else If(test, nothing, body, form.span)


def _begin(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 2:
        raise invalid(form, "(begin EXPRESSION ...)")
    return x.sequence(form.items[1:], scope, out, form)


def _do(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    shape = "(do ((VARIABLE START STEP) ...) (TEST RESULT ...) BODY ...)"
    if len(form.items) < 3 or not isinstance(form.items[1], Form) or not isinstance(form.items[2], Form):
        raise invalid(form, shape)
    end = form.items[2]
    if not end.items:
        raise invalid(form, shape)
    names, starts, steps = [], [], []
    for item in form.items[1].items:
        if not isinstance(item, Form) or len(item.items) not in (2, 3):
            raise invalid(item, f"a variable of do is (VARIABLE START STEP), as in {shape}")
        names.append(item.items[0])
        starts.append(x.atom(item.items[1], scope, out))
        steps.append(item.items[-1] if len(item.items) == 3 else item.items[0])
    loop = Name(symbol("do"), form.span, (len(x.marks.scopes),))
    x.marks.fresh(scope)

    def made(keyword: str, *items: Syntax) -> Form:
        return Form((_Core(symbol(keyword), form.span, KEYWORDS[keyword]), *items), None, form.span)

    again = Form((loop, *steps), None, form.span)
    ending = made("begin", *end.items[1:]) if len(end.items) > 1 else made("when", Literal(FALSE, form.span), Literal(FALSE, form.span))
    turn = made("begin", *form.items[3:], again)
    procedure = made("lambda", Form(tuple(names), None, form.items[1].span), made("if", end.items[0], ending, turn))
    inner = scope.inner()
    x.recursive([(loop, procedure, form.span)], inner, out, form)
    return Call(inner.bindings[key_of(loop)], tuple(starts) or (Constant(NIL),), form.span)


def _quasiquote(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 2:
        raise invalid(form, "(quasiquote TEMPLATE)")
    return _template(x, form.items[1], 1, scope, out)


def _template(x: _Expander, syntax: Syntax, level: int, scope: Scope, out: Out) -> Rhs:
    if not isinstance(syntax, Form):
        return Constant(datum(syntax))
    head = str(syntax.items[0]) if syntax.items and isinstance(syntax.items[0], Name) else ""
    if head in ("unquote", "quasiquote") and len(syntax.items) == 2:
        if head == "unquote" and level == 1:
            return x.expression(syntax.items[1], scope, out)
        inner = _template(x, syntax.items[1], level + (1 if head == "quasiquote" else -1), scope, out)
        rest = x.apply("cons", (as_atom(inner, out), Constant(NIL)), syntax.span)
        return x.apply("cons", (Constant(symbol(head)), as_atom(rest, out)), syntax.span)
    parts: list[tuple[bool, Atom]] = []
    for item in syntax.items:
        if isinstance(item, Form) and len(item.items) == 2 and str(item.items[0]) == "unquote-splicing" and level == 1:
            parts.append((True, x.atom(item.items[1], scope, out)))
        else:
            parts.append((False, as_atom(_template(x, item, level, scope, out), out)))
    result: Rhs = Constant(NIL) if syntax.tail is None else _template(x, syntax.tail, level, scope, out)
    for splice, part in reversed(parts):
        rest_atom = as_atom(result, out)
        if splice:
            result = Call(x.top_reference("append", syntax.span), (part, rest_atom), syntax.span)
        else:
            result = x.apply("cons", (part, rest_atom), syntax.span)
    return result


def _stray(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, f"`{form.items[0]}` has a meaning only inside a quasiquotation `(…)")


def _assert(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 2:
        raise invalid(form, "(assert EXPRESSION)")
    test = x.atom(form.items[1], scope, out, "test")
    message = Constant(String(f"Assertion failed: {text_of(form.items[1])}"))
    failed = Variable("failed")
    fail = Body((Binding(failed, x.apply("error", (message,), form.span)),), failed)
    return If(test, Body((), UNSPECIFIED_ATOM), fail, form.span)


def _let_syntax(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    shape = "(let-syntax ((NAME (syntax-rules …)) ...) BODY ...)"
    if len(form.items) < 3:
        raise invalid(form, shape)
    inner = scope.inner()
    recursive = str(form.items[0]) == "letrec-syntax"
    for keyword, spec in _pairs(form, form.items[1], shape):
        if not isinstance(keyword, Name):
            raise invalid(keyword, "a macro has a name")
        inner.bindings[key_of(keyword)] = parse_rules(str(keyword), spec, inner if recursive else scope)
    return x.sequence(form.items[2:], inner, out, form)


def _misplaced(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    where = "in a body" if str(form.items[0]) in ("define", "define-syntax") else "at top level"
    if str(form.items[0]) == "define":
        x.definition(form)
    raise invalid(form, f"`{form.items[0]}` stands at top level or {where}" if "body" in where else f"`{form.items[0]}` stands {where}")


def _define(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _misplaced(x, form, scope, out, name)


def _define_syntax(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _misplaced(x, form, scope, out, name)


def _include(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _misplaced(x, form, scope, out, name)


def _import(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _misplaced(x, form, scope, out, name)


def _export(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _misplaced(x, form, scope, out, name)


def _list(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _made_list(x, form, scope, out, proper=True)


def _cons_star(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _made_list(x, form, scope, out, proper=False)


def _made_list(x: _Expander, form: Form, scope: Scope, out: Out, proper: bool) -> Rhs:
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


LIST_MAKERS = {"list", "cons*"}
KEYWORDS: dict[str, Form_] = {
    "quote": _quote,
    "lambda": _lambda,
    "let": _let,
    "let*": _let_star,
    "letrec": _letrec,
    "letrec*": _letrec,
    "if": _if,
    "and": _and,
    "or": _or,
    "cond": _cond,
    "case": _case,
    "when": _when,
    "unless": _unless,
    "begin": _begin,
    "do": _do,
    "quasiquote": _quasiquote,
    "unquote": _stray,
    "unquote-splicing": _stray,
    "assert": _assert,
    "let-syntax": _let_syntax,
    "letrec-syntax": _let_syntax,
    "define": _define,
    "define-syntax": _define_syntax,
    "include": _include,
    "import": _import,
    "export": _export,
    "list": _list,
    "cons*": _cons_star,
}
TOP_LEVEL: dict[Any, Callable[[_Expander, Form, Scope, list[Item]], None]] = {
    _define: _Expander.top_define,
    _define_syntax: _Expander.top_define_syntax,
    _include: _Expander.top_include,
    _import: _Expander.top_import,
    _export: _Expander.top_export,
}
