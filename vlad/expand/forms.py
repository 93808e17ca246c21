"""Syntax → core: what each keyword means.

In: one top-level form and the module it stands in.  Out: items for the session to execute, in order; their bodies have no free
variables. Called by the session. The order of evaluation is fixed here: operator, then operands from left to right.

A keyword is a keyword only where no local name shadows it and no definition of the module does. Expanding costs Python frames for
nested forms, never C stack, so programs may nest as deeply as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

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
    WrittenName,
)
from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import FALSE, NIL, TRUE, UNSPECIFIED, String, symbol
from vlad.expand.arity import FOR_TENSORS, of_row, takes_lists, wrong_number
from vlad.expand.items import Definition, Export, Expression, Import, Include, Item
from vlad.expand.macros import (
    ExpandedSpan,
    Expansions,
    Macro,
    fresh_mark,
    invalid,
    parse_rules,
    text_of,
    user_span,
)
from vlad.expand.normalize import Defined, Group, Out, Pending, arrange, as_atom, as_result, for_effect
from vlad.expand.patterns import Patterns, ProcedureSpan, invalid_parameter
from vlad.expand.scope import Module, Scope, TopLevel, local_meaning
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax, TensorLiteral, around_tensors, datum

DEEPEST_EXPANSION = 20_000


def expand_form(syntax: Syntax, module: Module) -> list[Item]:
    """The items of one top-level form. Raises VladError where its syntax is wrong."""
    items: list[Item] = []
    _Expander(module).top_level(syntax, items)
    return items


Form_ = Callable[["_Expander", Form, Scope, Out, str], Rhs]
UNSPECIFIED_ATOM = Constant(UNSPECIFIED)


class _Core(Name):
    """A keyword that the expander itself inserts: it means the keyword whatever is bound."""

    __slots__ = ("meaning",)

    def __init__(self, keyword: str, span: Span) -> None:
        super().__init__(symbol(keyword), span)
        self.meaning = KEYWORDS[keyword]


def made(keyword: str, span: Span, *items: Syntax) -> Form:
    """A form that the expander itself makes up."""
    return Form((_Core(keyword, span), *items), None, span)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Of a body: a definition, with what its name means meanwhile, or an expression."""

    name: Name | None
    pending: Pending | None
    value: Syntax


class _Expander:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.outside = Scope(module)
        self.expansions = Expansions()

    # What a name means here.

    def meaning(self, name: Name, scope: Scope) -> Any:
        """A Variable or Pending, a Macro, a keyword's function, or a TopLevel name."""
        if type(name) is _Core:
            return name.meaning
        found = local_meaning(name, scope)
        if type(found) is not TopLevel:
            return found
        macro = found.module.macro(found.name)
        if macro is not None:
            return macro
        if found.name in KEYWORDS and found.module.is_inherited(found.name):
            return KEYWORDS[found.name]
        return found

    def same(self, a: Name, scope_of_a: Scope, b: Name, scope_of_b: Scope) -> bool:
        """Do two names mean the same, each in its scope?"""
        means_a, means_b = self.meaning(a, scope_of_a), self.meaning(b, scope_of_b)
        if type(means_a) is TopLevel and type(means_b) is TopLevel:
            return means_a.name == means_b.name
        return means_a is means_b

    def is_word(self, syntax: Syntax, word: str, scope: Scope) -> bool:
        """Is this `else` or `=>`, and not a local name that looks like it?"""
        if not isinstance(syntax, Name) or syntax.symbol.name != word:
            return False
        return type(self.meaning(syntax, scope)) is TopLevel

    def expanded(self, syntax: Syntax, scope: Scope) -> tuple[Syntax, Any]:
        """The syntax with macro uses at its head expanded, and what its operator then means, if that is a name."""
        while isinstance(syntax, Form):
            if isinstance(syntax.tail, Form):
                syntax = Form((*syntax.items, *syntax.tail.items), syntax.tail.tail, syntax.span)
                continue
            head = syntax.items[0] if syntax.items else None
            if not isinstance(head, Name):
                return syntax, None
            meaning = self.meaning(head, scope)
            if type(meaning) is not Macro:
                return syntax, meaning
            if type(syntax.span) is ExpandedSpan and syntax.span.depth >= DEEPEST_EXPANSION:
                raise endless(meaning, syntax.span)
            syntax = self.expansions.expand(meaning, syntax, scope, self.same)
        return syntax, None

    # Top level.

    def top_level(self, syntax: Syntax, items: list[Item]) -> None:
        work = [(syntax, True)]
        while work:
            syntax, last = work.pop()
            syntax, meaning = self.expanded(syntax, self.outside)
            if (
                isinstance(syntax, Form)
                and meaning is _begin
                and len(syntax.items) > 1
                and syntax.tail is None
            ):
                work += [(part, False) for part in reversed(syntax.items[1:])]
                work[-len(syntax.items) + 1] = (syntax.items[-1], last)
            elif isinstance(syntax, Form) and meaning in TOP_LEVEL:
                TOP_LEVEL[meaning](self, syntax, items)
            else:
                items.append(self.top_expression(syntax, last))

    def top_expression(self, syntax: Syntax, last: bool) -> Expression:
        """Only the last expression of a `begin` has a value to show."""
        out: Out = []
        rhs = self.expression(syntax, self.outside, out)
        if not last:
            for_effect(rhs, out)
            rhs = UNSPECIFIED_ATOM
        result = as_result(rhs, out)
        return Expression(Body(tuple(out), result), syntax.span)

    def top_define(self, form: Form, items: list[Item]) -> None:
        name, value = self.definition(form)
        text = name.symbol.name
        refuse_keyword(text, name.span)
        defined, macros = self.module.defined, self.module.macros
        was_defined, macro = text in defined, macros.pop(text, None)
        defined.setdefault(text)  # its value may speak of it, also where it is a keyword elsewhere
        try:
            out: Out = []
            result = as_result(self.expression(value, self.outside, out, text), out)
        except VladError:
            if not was_defined:
                del defined[text]
            if macro is not None:
                macros[text] = macro
            raise
        items.append(Definition(self.module.define(text), Body(tuple(out), result), form.span))

    def top_define_syntax(self, form: Form, items: list[Item]) -> None:
        name, macro = self.macro_definition(form, self.outside)
        refuse_keyword(name.symbol.name, name.span)
        self.module.define_macro(name.symbol.name, macro)

    def top_include(self, form: Form, items: list[Item]) -> None:
        items.append(Include(self.path(form, 2, '(include "FILE")'), form.span))

    def top_import(self, form: Form, items: list[Item]) -> None:
        shape = '(import "MODULE") or (import "MODULE" as NAME)'
        parts = form.items
        if len(parts) != 4:
            items.append(Import(self.path(form, 2, shape), None, form.span))
            return
        word, prefix = parts[2], parts[3]
        if not isinstance(word, Name) or word.symbol.name != "as" or not isinstance(prefix, Name):
            raise invalid(form, shape)
        items.append(Import(self.path(form, 4, shape), prefix.symbol.name, form.span))

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

    def top_export(self, form: Form, items: list[Item]) -> None:
        names = []
        for name in form.items[1:]:
            if not isinstance(name, Name) or form.tail is not None:
                raise invalid(form, "(export NAME ...)")
            names.append(name.symbol.name)
        items.append(Export(tuple(names), form.span))

    # Expressions.

    def expression(self, syntax: Syntax, scope: Scope, out: Out, name: str = "") -> Rhs:
        """The right-hand side of an expression; what it needs goes before it into `out`. A lambda takes the name."""
        if isinstance(syntax, Name):
            return self.reference(syntax, self.meaning(syntax, scope))
        if isinstance(syntax, Literal):
            return Constant(syntax.value)
        syntax, meaning = self.expanded(syntax, scope)
        if not isinstance(syntax, Form):
            return self.unlisted(syntax, scope, out, name)
        if not syntax.items:
            raise invalid(syntax, "the empty list as a value is written '()")
        if meaning is None or type(meaning) in _VALUES:
            return self.call(syntax, meaning, scope, out, name)
        if syntax.tail is not None:
            raise invalid(syntax, f"`{syntax.items[0]}` is a keyword: no dot in its form")
        rhs: Rhs = meaning(self, syntax, scope, out, name)
        return rhs

    def unlisted(self, syntax: Syntax, scope: Scope, out: Out, name: str) -> Rhs:
        if isinstance(syntax, TensorLiteral):
            check_tensor(syntax)
            return Call(self.top_reference("tensor", syntax.span), (Constant(datum(syntax)),), syntax.span)
        if isinstance(syntax, Keyword):
            raise invalid(syntax, f"#:{syntax.name} stands before an operand: (f x #:{syntax.name} value)")
        return self.expression(syntax, scope, out, name)

    def atom(self, syntax: Syntax, scope: Scope, out: Out, name: str = "t") -> Atom:
        return as_atom(self.expression(syntax, scope, out), out, name)

    def arm(self, syntax: Syntax, scope: Scope) -> Body:
        out: Out = []
        result = as_result(self.expression(syntax, scope, out), out)
        return Body(tuple(out), result)

    def reference(self, name: Name, meaning: Any) -> Atom:
        if type(meaning) is Variable:
            return meaning
        if type(meaning) is TopLevel:
            return GlobalReference(meaning.module.cell(meaning.name), name.span)
        if type(meaning) is Pending:
            return meaning.mention(name.span)
        if meaning in LIST_MAKERS:
            return self.top_reference(LIST_MAKERS[meaning], name.span)
        kind = "macro" if type(meaning) is Macro else "keyword"
        raise invalid(name, f"`{name}` is a {kind}, not a value: it stands first in a form")

    def top_reference(self, name: str, span: Span) -> GlobalReference:
        return GlobalReference(self.module.cell(name), span)

    def call(self, form: Form, meaning: Any, scope: Scope, out: Out, name: str) -> Rhs:
        items = form.items if form.tail is None else (*form.items, form.tail)
        first = items[0]
        if isinstance(first, Name):
            operator = self.reference(first, meaning)
        else:
            operator = self.atom(first, scope, out, "operator")
        if any(type(item) is Keyword for item in items):
            return self.keyword_call(form, operator, scope, out, name)
        operands = [self.atom(item, scope, out) for item in items[1:]]
        if isinstance(operator, GlobalReference):
            self.check_named(form, operator, operands)
            if self.module.is_inherited(operator.cell.name):
                return self.of_lists(operator, operands, form.span, out)
        return Call(operator, tuple(operands) or (Constant(NIL),), form.span)

    def check_named(self, form: Form, operator: GlobalReference, operands: list[Atom]) -> None:
        """What has a name is given by it. Without names it would be taken for that just where nothing is missing; any other
        number is told when the call fails. (Where an operand has no meaning yet, that is told first: `(sum t :axis 0)`.)"""
        row = operator.cell.primitive
        if (
            row is not None
            and row.keywords
            and form.tail is None
            and len(operands) == len(row.operands)
            and all(type(one) is not GlobalReference or hasattr(one.cell, "value") for one in operands)
        ):
            raise wrong_number(of_row(row), len(operands), span=form.span)

    def of_lists(self, operator: GlobalReference, operands: list[Atom], span: Span, out: Out) -> Rhs:
        """The library's append, map and for-each of any number of lists: by the tuple rule alone `(map f a b)` could not
        be told from a call on one list (a . b)."""
        name, count = operator.cell.name, len(operands)
        if takes_lists(name, count):
            if name == "append":
                result: Rhs = operands[-1] if operands else Constant(NIL)
                for operand in reversed(operands[:-1]):
                    result = Call(operator, (operand, as_atom(result, out)), span)
                return result
            operator = self.top_reference(f"{name}{count - 1}", operator.span or span)
        return Call(operator, tuple(operands) or (Constant(NIL),), span)

    def keyword_call(self, form: Form, operator: Atom, scope: Scope, out: Out, name: str) -> Rhs:
        """Operands by name are put in the order of the row, with defaults where they are missing. A lambda that is given a
        derivative takes the name: what it is called with is said of it."""
        if form.tail is not None:
            raise invalid(
                form.tail,
                "a call with operands by name has no dot: each operand is written, as in (f x #:axis 0)",
            )
        row = operator.cell.primitive if isinstance(operator, GlobalReference) else None
        operands: list[Atom] = []
        named: dict[str, Atom] = {}
        expected: Keyword | None = None
        for item in form.items[1:]:
            if isinstance(item, Keyword):
                if row is None or not row.keywords:
                    raise unknown_name(
                        form, item, f"takes no operand #:{item.name}{self.for_tensors(operator)}"
                    )
                if expected is not None or item.name not in row.keywords or item.name in named:
                    break
                expected = item
            elif expected is not None:
                named[expected.name] = self.atom(item, scope, out)
                expected = None
            else:
                own_name = name if row is not None and row.name == "with-derivative" else ""
                operands.append(as_atom(self.expression(item, scope, out, own_name), out, "t"))
        else:
            item = expected or form
        if row is None or item is not form:
            known = " ".join(["#:" + name for name in row.keywords]) if row is not None else ""
            raise unknown_name(form, item, f"knows the operands {known}, each once and before its value")
        taken = of_row(row)
        if len(operands) != taken.count:
            raise wrong_number(taken, len(operands), span=form.span)
        operands += [named.get(name, Constant(default)) for name, default in row.keywords.items()]
        return Call(operator, tuple(operands), form.span)

    def for_tensors(self, operator: Atom) -> str:
        """What may have been meant by the library's procedure of a name; those of tensors have operands by name."""
        if isinstance(operator, GlobalReference) and self.module.is_inherited(operator.cell.name):
            way = FOR_TENSORS.get(operator.cell.name)
            return f"; {way}" if way else ""
        return ""

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
        variables = patterns.parameters(name, out)
        result = self.body(body, inner, out, whole)
        inner.leave()
        return make_lambda(variables, result, name, ProcedureSpan(whole.span, name, parameters))

    def body(self, forms: tuple[Syntax, ...], scope: Scope, out: Out, whole: Form) -> Body:
        """A body: definitions, which see each other, and expressions; the value is the last one's."""
        result = as_result(self.sequence(forms, scope, out, whole), out)
        return Body(tuple(out), result)

    def sequence(self, forms: tuple[Syntax, ...], scope: Scope, out: Out, whole: Form, name: str = "") -> Rhs:
        if len(forms) == 1 and not isinstance(forms[0], Form):
            return self.expression(forms[0], scope, out, name)
        inner = scope.inner()
        group = Group()
        parts = self.parts(forms, inner, group)
        if not parts or parts[-1].name is not None:
            raise invalid(whole, "a body ends with an expression, its value")
        at = len(parts)
        while at and parts[at - 1].name is None:
            at -= 1
        self.recursive(parts[:at], inner, group, out)
        for part in parts[at:-1]:
            for_effect(self.expression(part.value, inner, out), out)
        rhs = self.expression(parts[-1].value, inner, out, name)
        inner.leave()
        return rhs

    def parts(self, forms: tuple[Syntax, ...], scope: Scope, group: Group) -> list[_Part]:
        """The forms of a body with macros expanded, `begin`s opened, names bound and local macros noted."""
        parts: list[_Part] = []
        work = list(reversed(forms))
        while work:
            form, meaning = self.expanded(work.pop(), scope)
            if isinstance(form, Form) and meaning is _begin and form.tail is None and len(form.items) > 1:
                work += reversed(form.items[1:])
            elif isinstance(form, Form) and meaning is _define_syntax:
                name, macro = self.macro_definition(form, scope)
                self.declare(name, macro, scope)
            elif isinstance(form, Form) and meaning is _define:
                name, value = self.definition(form)
                parts.append(self.pending(name, value, scope, group))
            else:
                parts.append(_Part(None, None, form))
        return parts

    def pending(self, name: Name, value: Syntax, scope: Scope, group: Group) -> _Part:
        pending = Pending(Variable(WrittenName(name.symbol.name)), group)
        self.declare(name, pending, scope)
        return _Part(name, pending, value)

    def declare(self, name: Name, meaning: Any, scope: Scope) -> None:
        if scope.has_own(name):
            message = f"Duplicate variables: {name}"
            raise VladError("duplicate-variables", message, name.span, hint=f"`{name}` is bound twice here")
        scope.bind(name, meaning)

    def recursive(self, parts: list[_Part], scope: Scope, group: Group, out: Out) -> None:
        """letrec*: expand the values, with all the names pending; put them in order; then the names are known."""
        items = []
        for part in parts:
            group.mentions = {}
            own: Out = []
            name = "" if part.name is None else part.name.symbol.name
            rhs = self.expression(part.value, scope, own, name)
            variable = None if part.pending is None else part.pending.variable
            items.append(Defined(variable, tuple(own), rhs, group.mentions))
        arrange(items, out)
        for part in parts:
            if part.name is not None and part.pending is not None:
                scope.bind(part.name, part.pending.variable)

    def definition(self, form: Form) -> tuple[Name, Syntax]:
        """The name and the value of a definition; curried heads become nested lambdas."""
        shape = "(define NAME VALUE) or (define (NAME PARAMETER ...) BODY ...)"
        if len(form.items) < 3 or form.tail is not None:
            raise invalid(form, shape)
        head, body = form.items[1], form.items[2:]
        if isinstance(head, Name):
            if len(body) != 1:
                raise invalid(form, shape)
            return head, body[0]
        while isinstance(head, Form) and head.items:
            parameters = Form(head.items[1:], head.tail, head.span)
            body = (made("lambda", form.span, parameters, *body),)
            head = head.items[0]
        if not isinstance(head, Name):
            raise invalid(form, shape)
        return head, body[0]

    def macro_definition(self, form: Form, scope: Scope) -> tuple[Name, Any]:
        if len(form.items) != 3 or not isinstance(form.items[1], Name) or form.tail is not None:
            raise invalid(form, "(define-syntax NAME (syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...))")
        return form.items[1], self.transformer(form.items[1], form.items[2], scope, scope)

    def transformer(self, name: Name, spec: Syntax, scope: Scope, defined_in: Scope) -> Any:
        """What a macro's name comes to mean: a Macro, or what another macro or keyword means."""
        spec, meaning = self.expanded(spec, scope)
        if isinstance(spec, Form) and meaning is _syntax_rules:
            return parse_rules(name.symbol.name, spec, defined_in)
        if isinstance(spec, Name):
            meaning = self.meaning(spec, scope)
            if type(meaning) not in _VALUES:
                return meaning
        raise invalid(
            spec, "a macro is (syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...) or another macro's name"
        )


def unknown_name(form: Form, item: Syntax, hint: str) -> VladError:
    """Of an operand by name; `hint`: what of the operator is to be known."""
    message = f"Invalid expression: {text_of(form)}"
    return VladError("unknown-keyword", message, item.span, hint=f"{text_of(form.items[0])} {hint}")


def endless(macro: Macro, span: Span) -> VladError:
    return VladError(
        "endless-macro", f"The macro {macro.name} expands without end", user_span(span),
        hint="one of its templates uses it again without getting smaller",
    )  # fmt: skip


def check_tensor(literal: TensorLiteral) -> None:
    """The entries of a tensor literal are numbers."""
    work: list[Syntax] = [literal]
    while work:
        item = work.pop()
        if isinstance(item, TensorLiteral):
            work += reversed(item.items)
        elif not isinstance(item, Literal) or type(item.value) is not float:
            if item.span.text.startswith(","):
                raise invalid(item, "the numbers of a tensor literal are separated by blanks")
            raise invalid(item, "a tensor literal holds numbers; compute with (tensor (list …))")


# The keywords. Each gets the expander, the form, its scope, the body under construction, and the name that the value will have.


def _quote(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 2:
        raise invalid(form, "(quote DATUM)")
    return quoted(x, form.items[1], form, scope, out)


def quoted(x: _Expander, syntax: Syntax, form: Syntax, scope: Scope, out: Out) -> Rhs:
    """A quoted datum: a constant, but for the tensors in it, which are made where the program runs."""
    try:
        return _quoted_part(x, syntax, around_tensors(syntax), scope, out)
    except VladError as error:
        if error.code != "invalid-syntax":
            raise
        raise VladError(
            "invalid-expression", f"Invalid expression: {text_of(form)}", error.span, hint=error.hint
        ) from None


def _quoted_part(x: _Expander, syntax: Syntax, around: Container[int], scope: Scope, out: Out) -> Rhs:
    if isinstance(syntax, TensorLiteral):
        return x.expression(syntax, scope, out)
    if not isinstance(syntax, Form) or id(syntax) not in around:
        return Constant(datum(syntax))
    tail = syntax.tail
    result: Rhs = Constant(NIL) if tail is None else _quoted_part(x, tail, around, scope, out)
    for item in reversed(syntax.items):
        part = as_atom(_quoted_part(x, item, around, scope, out), out)
        result = _put_before(x, False, part, result, syntax.span, out)
    return result


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


def _bound(x: _Expander, pattern: Syntax, value: Syntax, scope: Scope, out: Out) -> Variable:
    """The variable that has the value of an expression, for a pattern that is bound to it."""
    name = pattern.symbol.name if isinstance(pattern, Name) else ""
    rhs = x.expression(value, scope, out, name)
    variable = Variable(WrittenName(name) if name else "value")
    out.append(Binding(variable, rhs))
    return variable


def _let(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
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


def _named_let(x: _Expander, form: Form, name: Name, scope: Scope, out: Out) -> Rhs:
    """(letrec ((NAME (lambda (P ...) BODY ...))) (NAME E ...)): the starting values see NAME too."""
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


def _loop(x: _Expander, name: Name, procedure: Syntax, inner: Scope, out: Out) -> Variable:
    """Bind a name to a procedure that may call itself."""
    group = Group()
    part = x.pending(name, procedure, inner, group)
    x.recursive([part], inner, group, out)
    assert part.pending is not None
    return part.pending.variable


def _let_star(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
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


def _letrec(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
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


def _if(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 4:
        hint = "(if TEST THEN ELSE)" + (
            "; without ELSE write (when TEST THEN)" if len(form.items) == 3 else ""
        )
        raise invalid(form, hint)
    test = x.atom(form.items[1], scope, out, "test")
    consequent = x.arm(form.items[2], scope)
    return If(test, consequent, x.arm(form.items[3], scope), form.span)


def _and(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _conjunction(x, form, 1, scope, out) if len(form.items) > 1 else Constant(TRUE)


def _conjunction(x: _Expander, form: Form, at: int, scope: Scope, out: Out) -> Rhs:
    if at == len(form.items) - 1:
        return x.expression(form.items[at], scope, out)
    test = x.atom(form.items[at], scope, out, "test")
    own: Out = []
    result = as_result(_conjunction(x, form, at + 1, scope, own), own)
    return If(test, Body(tuple(own), result), Body((), Constant(FALSE)), form.span)


def _or(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _disjunction(x, form, 1, scope, out) if len(form.items) > 1 else Constant(FALSE)


def _disjunction(x: _Expander, form: Form, at: int, scope: Scope, out: Out) -> Rhs:
    if at == len(form.items) - 1:
        return x.expression(form.items[at], scope, out)
    test = x.atom(form.items[at], scope, out, "test")
    own: Out = []
    result = as_result(_disjunction(x, form, at + 1, scope, own), own)
    return If(test, Body((), test), Body(tuple(own), result), form.span)


def _cond(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 2:
        raise invalid(form, "(cond (TEST VALUE ...) ... (else VALUE ...))")
    return _clauses(x, form, 1, scope, out)


def _clauses(x: _Expander, form: Form, at: int, scope: Scope, out: Out) -> Rhs:
    if at == len(form.items):
        return UNSPECIFIED_ATOM
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
    result = as_result(_clauses(x, form, at + 1, scope, other), other)
    return If(test, consequent, Body(tuple(other), result), clause.span)


def _consequent(x: _Expander, clause: Form, value: Atom, scope: Scope) -> Body:
    """What stands behind the test of a clause: a body, or `=>` and a procedure that gets the value."""
    own: Out = []
    if not x.is_word(clause.items[1], "=>", scope):
        return x.body(clause.items[1:], scope, own, clause)
    if len(clause.items) != 3:
        raise invalid(clause, "(TEST => RECEIVER), where RECEIVER is a procedure of the test's value")
    receiver = x.atom(clause.items[2], scope, own, "receiver")
    return Body(tuple(own), Call(receiver, (value,), clause.span))


def _case(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 3:
        raise invalid(form, "(case VALUE ((DATUM ...) RESULT ...) ... (else RESULT ...))")
    return _cases(x, x.atom(form.items[1], scope, out, "key"), form, 2, scope, out)


def _cases(x: _Expander, key: Atom, form: Form, at: int, scope: Scope, out: Out) -> Rhs:
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


def _is_one_of(x: _Expander, key: Atom, data: Form, scope: Scope, out: Out) -> Rhs:
    """Is the key one of these data? They are tried from left to right."""
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


def _when(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    test, body = _conditional(x, form, scope, out)
    return If(test, body, Body((), UNSPECIFIED_ATOM), form.span)


def _unless(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    test, body = _conditional(x, form, scope, out)
    return If(test, Body((), UNSPECIFIED_ATOM), body, form.span)


def _conditional(x: _Expander, form: Form, scope: Scope, out: Out) -> tuple[Atom, Body]:
    if len(form.items) < 3:
        raise invalid(form, f"({form.items[0]} TEST BODY ...)")
    test = x.atom(form.items[1], scope, out, "test")
    own: Out = []
    return test, x.body(form.items[2:], scope, own, form)


def _begin(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 2:
        raise invalid(form, "(begin EXPRESSION ...)")
    return x.sequence(form.items[1:], scope, out, form, name)


def _do(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
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
        # a pattern reads as what it matches
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


def _quasiquote(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 2:
        raise invalid(form, "(quasiquote TEMPLATE)")
    return _template(x, form.items[1], 1, scope, out)


def _tag(syntax: Syntax) -> str:
    """The keyword of a form like (unquote E), '' of anything else."""
    if not isinstance(syntax, Form) or len(syntax.items) != 2 or syntax.tail is not None:
        return ""
    head = syntax.items[0]
    return head.symbol.name if isinstance(head, Name) and head.symbol.name in _LEVELS else ""


_LEVELS = {"quasiquote": 1, "unquote": -1, "unquote-splicing": -1}


def _template(x: _Expander, syntax: Syntax, level: int, scope: Scope, out: Out) -> Rhs:
    """A quasiquotation; parts in which nothing is computed stay constants."""
    if not isinstance(syntax, Form):
        return quoted(x, syntax, syntax, scope, out)
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


def _put_before(x: _Expander, splice: bool, part: Atom, rest: Rhs, span: Span, out: Out) -> Rhs:
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


def _stray(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    between = "; operands are separated by blanks" if form.span.text.startswith(",") else ""
    raise invalid(form, f"`{form.items[0]}` has a meaning only inside a quasiquotation `(…){between}")


def _assert(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 2:
        raise invalid(form, "(assert EXPRESSION)")
    test = x.atom(form.items[1], scope, out, "test")
    message = Constant(String(f"Assertion failed: {text_of(form.items[1])}"))
    failed = Variable("failed")
    fail = Body((Binding(failed, x.apply("error", (message,), form.span)),), failed)
    return If(test, Body((), UNSPECIFIED_ATOM), fail, form.span)


def _delay(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    """A promise is a procedure of no argument: evaluation has no effects that a second time would repeat."""
    if len(form.items) != 2:
        raise invalid(form, "(delay EXPRESSION)")
    return x.procedure(Form((), None, form.span), form.items[1:], scope, name, form)


def _cons_stream(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) != 3:
        raise invalid(form, "(cons-stream FIRST REST)")
    first = x.atom(form.items[1], scope, out, "first")
    rest = x.procedure(Form((), None, form.span), form.items[2:], scope, "", form)
    return x.apply("cons", (first, as_atom(rest, out, "rest")), form.span)


def _let_syntax(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _local_macros(x, form, scope, scope, out, name)


def _letrec_syntax(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    return _local_macros(x, form, scope, None, out, name)


def _local_macros(
    x: _Expander, form: Form, scope: Scope, seen_by_macros: Scope | None, out: Out, name: str
) -> Rhs:
    """`seen_by_macros` is the scope of the macros' templates; None for the scope that the macros themselves are in."""
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


def _syntax_rules(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "syntax-rules stands behind the name in define-syntax, let-syntax or letrec-syntax")


def _define(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    x.definition(form)
    raise invalid(form, "a definition stands at top level or in a body, not where a value is needed")


def _define_syntax(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "a macro's definition stands at top level or in a body, not where a value is needed")


def _include(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "`include` stands at top level only")


def _import(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "`import` stands at top level only")


def _export(x: _Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "`export` stands at top level only")


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


_VALUES = (Variable, Pending, TopLevel)  # what names mean that are values
LIST_MAKERS: dict[Any, str] = {_list: "list", _cons_star: "cons*"}
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
    "delay": _delay,
    "cons-stream": _cons_stream,
    "let-syntax": _let_syntax,
    "letrec-syntax": _letrec_syntax,
    "syntax-rules": _syntax_rules,
    "define": _define,
    "define-syntax": _define_syntax,
    "include": _include,
    "import": _import,
    "export": _export,
    "list": _list,
    "cons*": _cons_star,
}
# that look like any procedure, and may be defined as such
PROCEDURE_KEYWORDS = frozenset(LIST_MAKERS.values())


def refuse_keyword(name: str, span: Span | None = None) -> None:
    """Raises VladError for a name that no program may define."""
    if name in KEYWORDS and name not in PROCEDURE_KEYWORDS:
        hint = "give it another name; only a local variable may have this one"
        raise VladError("reserved-name", f"{name} is a keyword and cannot be defined", span, hint=hint)


TOP_LEVEL: dict[Any, Callable[[_Expander, Form, list[Item]], None]] = {
    _define: _Expander.top_define,
    _define_syntax: _Expander.top_define_syntax,
    _include: _Expander.top_include,
    _import: _Expander.top_import,
    _export: _Expander.top_export,
}
