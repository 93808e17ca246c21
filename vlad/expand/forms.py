"""Syntax → core: the table of keywords, and the items of a top-level form.

In: one top-level form and its module.  Out: items for the session to execute, in order; their bodies have no free
variables. Called by the session.

The meaning of a keyword is a function. Those functions are grouped by the purpose of their forms, in binding_forms.py,
conditional_forms.py, control_forms.py, match_forms.py and data_forms.py: hardly any keyword is rewritten into others, nearly all
become core directly. The expander, which they call for the parts of a form, comes before them and gets the table as an argument,
so imports go one way.

A local name or a definition of the module shadows a keyword.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from vlad.core.nodes import Binding, Body, GlobalReference, Rhs, Variable
from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import Global, String
from vlad.expand import binding_forms, conditional_forms, control_forms, data_forms, match_forms
from vlad.expand.expander import (
    SEVERAL_DEFINITIONS,
    UNSPECIFIED_ATOM,
    Expander,
    KeywordFunction,
    begin,
    define,
    define_record_type,
    define_syntax,
    define_values,
    syntax_rules,
)
from vlad.expand.items import Definition, Export, Expression, Import, Include, Item
from vlad.expand.macros import invalid, text_of
from vlad.expand.normalize import Out, as_result, for_effect
from vlad.expand.patterns import Patterns
from vlad.expand.scope import Module, Scope
from vlad.reader.parser import VECTOR, Form, Literal, Name, Syntax


def expand_form(syntax: Syntax, module: Module) -> list[Item]:
    """The items of one top-level form. Raises VladError if its syntax is wrong."""
    items: list[Item] = []
    _top_level(Expander(module, _MEANINGS, LIST_MAKERS), syntax, items)
    return items


def visible_names(forms: Iterable[Syntax], module: Module, place: Span) -> set[str]:
    """The names that have a meaning at the place of a name, beside those of the module: local ones, and those that the forms at
    top level of its text define. A value that is being defined has none yet. Nothing is defined by this.
    """
    found = set[str]()
    for form in forms:
        if not isinstance(form, Form) or len(form.items) < 2:
            continue
        is_around, head = form.span.contains(place), form.items[0]
        word = head.symbol.name if isinstance(head, Name) else ""
        if is_around or word.startswith("define"):
            looking = _Looking(Module(module.name, module), place)
            with suppress(VladError):
                _top_level(looking, form, [])
            found |= looking.found
            if not is_around or word != "define" or isinstance(form.items[1], Form):
                found |= {*looking.module.defined, *looking.module.macros}
    return found


class _Looking(Expander):
    """Notes the local names that have a meaning at a place."""

    def __init__(self, module: Module, place: Span) -> None:
        module.autoload = lambda name: False  # this module stands for the library, which would make remarks
        super().__init__(module, _MEANINGS, LIST_MAKERS)
        self.place = place
        self.found: set[str] = set()

    def meaning(self, name: Name, scope: Scope) -> Any:
        if name.span.start == self.place.start and name.span.end == self.place.end:
            self.found = scope.names()
        return super().meaning(name, scope)


def _top_level(x: Expander, syntax: Syntax, items: list[Item]) -> None:
    work, span, expressions = [(syntax, True)], syntax.span, list[tuple[Syntax, bool]]()
    while work:
        syntax, is_own = work.pop()
        syntax, meaning = x.expanded(syntax, x.outside)
        if isinstance(syntax, Form) and meaning is begin and len(syntax.items) > 1 and syntax.tail is None:
            is_own = is_own and type(syntax.span) is Span
            work += [(item, is_own) for item in reversed(syntax.items[1:])]
        elif isinstance(syntax, Form) and meaning in _TOP_LEVEL:
            if expressions:
                items.append(_top_expression(x, expressions, span, False))
                expressions = []
            _TOP_LEVEL[meaning](x, syntax, items)
        else:
            expressions.append((syntax, is_own))
    if expressions:
        items.append(_top_expression(x, expressions, span, True))


def _top_expression(
    x: Expander, expressions: list[tuple[Syntax, bool]], span: Span, last: bool
) -> Expression:
    """Expressions at top level, of which a `begin` may have several between its definitions: each has the next ones in its
    continuation. Only the last one of the `begin` has a value to show. With each: does it stand there as the program has it?
    """
    out: Out = []
    x.for_effects(expressions, x.outside, out)
    (ending, _) = expressions[-1]
    rhs = x.expression(ending, x.outside, out)
    if not last:
        for_effect(rhs, out)
        rhs = UNSPECIFIED_ATOM
    result = as_result(rhs, out)
    return Expression(Body(tuple(out), result), span if len(expressions) > 1 else ending.span)


def _top_define(x: Expander, form: Form, items: list[Item]) -> None:
    name, value = x.definition(form)
    text = name.symbol.name
    refuse_keyword(text, name.span)
    defined, macros = x.module.defined, x.module.macros
    was_defined, macro = text in defined, macros.pop(text, None)
    defined.setdefault(text)  # its value may refer to it, even if it is a keyword elsewhere
    x.being_defined = text
    try:
        out: Out = []
        result = as_result(x.expression(value, x.outside, out, text), out)
    except BaseException:  # interrupts, too
        if not was_defined:
            defined.pop(text, None)
        if macro is not None:
            macros[text] = macro
        raise
    finally:
        x.being_defined = ""
    items.append(Definition(x.module.define(text), Body(tuple(out), result), form.span))


def _top_define_values(x: Expander, form: Form, items: list[Item]) -> None:
    """A cell that has no name holds the values, and each name is defined as a part of them."""
    _, meaning = x.expanded(form, x.outside)
    several = SEVERAL_DEFINITIONS[meaning](form)
    out: Out = []
    known = x.module.record_types
    before = dict(known)
    if several.type is not None:  # what it states of its tangents may match its records
        known[several.type.written.symbol.name] = several.type
    try:
        result = as_result(x.expression(several.value, x.outside, out), out)
    except BaseException:  # interrupts, too
        known.clear()
        known.update(before)
        raise
    values = Global(text_of(form.items[1]))
    items.append(Definition(values, Body(tuple(out), result), form.span))
    for name in several.names:
        text = name.symbol.name
        refuse_keyword(text, name.span)
        own: Out = [Binding(whole := Variable("values"), GlobalReference(values, form.span))]
        inner = x.outside.inner()
        Patterns(inner, x.module.primitives, several.pattern).bind(several.pattern, whole, own)
        part = x.reference(name, x.meaning(name, inner))
        inner.leave()
        items.append(Definition(x.module.define(text), Body(tuple(own), as_result(part, own)), form.span))


def _top_define_syntax(x: Expander, form: Form, items: list[Item]) -> None:
    name, macro = x.macro_definition(form, x.outside)
    refuse_keyword(name.symbol.name, name.span)
    x.module.define_macro(name.symbol.name, macro)


def _top_include(x: Expander, form: Form, items: list[Item]) -> None:
    items.append(Include(_path(form, 2, '(include "FILE")'), form.span))


def _top_import(x: Expander, form: Form, items: list[Item]) -> None:
    shape = '(import "MODULE") or (import "MODULE" as NAME)'
    parts = form.items
    if len(parts) != 4:
        items.append(Import(_path(form, 2, shape), None, form.span))
        return
    word, prefix = parts[2], parts[3]
    if not isinstance(word, Name) or word.symbol.name != "as" or not isinstance(prefix, Name):
        raise invalid(form, shape)
    items.append(Import(_path(form, 4, shape), prefix.symbol.name, form.span))


def _path(form: Form, count: int, shape: str) -> str:
    if len(form.items) > 1 and all(isinstance(item, Form) for item in form.items[1:]):
        raise invalid(form, f"what R7RS has is there without an import; modules: {shape}")
    if len(form.items) != count or form.tail is not None:
        raise invalid(form, shape)
    path = form.items[1]
    if not isinstance(path, Literal) or type(path.value) is not String:
        raise invalid(form, shape)
    text: str = path.value.text
    if not text or "\0" in text:
        raise invalid(form, "a file has a name")
    return text


def _top_export(x: Expander, form: Form, items: list[Item]) -> None:
    names = []
    for name in form.items[1:]:
        if not isinstance(name, Name) or form.tail is not None:
            raise invalid(form, "(export NAME ...)")
        names.append(name.symbol.name)
    items.append(Export(tuple(names), form.span))


# Keywords that are mistakes where a value is expected.


def _include(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "`include` stands at top level only")


def _import(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "`import` stands at top level only; a module is a file, without `define-library`")


def _export(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "`export` stands at top level only; a module is a file, without `define-library`")


_TOP_LEVEL: dict[Any, Callable[[Expander, Form, list[Item]], None]] = {
    define: _top_define,
    define_values: _top_define_values,
    define_record_type: _top_define_values,
    define_syntax: _top_define_syntax,
    _include: _top_include,
    _import: _top_import,
    _export: _top_export,
}

# as values they are procedures of the library
LIST_MAKERS: dict[Any, str] = {
    data_forms.list_: "list",
    data_forms.cons_star: "cons*",
    data_forms.vector: "vector",
}
# Each keyword with its meaning and, if it has a body, the number of parts before that: lines are indented by it.
_FORMS: dict[str, tuple[KeywordFunction, int | None]] = {
    "quote": (data_forms.quote, None),
    "lambda": (binding_forms.lambda_, 1),
    "let": (binding_forms.let, 1),
    "let*": (binding_forms.let_star, 1),
    "letrec": (binding_forms.letrec, 1),
    "letrec*": (binding_forms.letrec, 1),
    "let-values": (binding_forms.let_values, 1),
    "let*-values": (binding_forms.let_star_values, 1),
    "receive": (binding_forms.receive, 2),
    "case-lambda": (match_forms.case_lambda, 0),
    "match": (match_forms.match, 1),
    "if": (conditional_forms.if_, None),
    "and": (conditional_forms.and_, None),
    "or": (conditional_forms.or_, None),
    "cond": (conditional_forms.cond, None),
    "case": (conditional_forms.case, 1),
    "when": (conditional_forms.when, 1),
    "unless": (conditional_forms.unless, 1),
    "begin": (begin, 0),
    "do": (binding_forms.do, 2),
    "quasiquote": (data_forms.quasiquote, None),
    "unquote": (data_forms.stray, None),
    "unquote-splicing": (data_forms.stray, None),
    "assert": (conditional_forms.assert_, None),
    "guard": (control_forms.guard, 1),
    "with-cleanup": (control_forms.with_cleanup, 1),
    "parameterize": (control_forms.parameterize, 1),
    "reset": (control_forms.reset, 0),
    "shift": (control_forms.shift, 1),
    "delay": (data_forms.delay, 0),
    "delay-force": (data_forms.delay_force, 0),
    "cons-stream": (data_forms.cons_stream, 1),
    "let-syntax": (binding_forms.let_syntax, 1),
    "letrec-syntax": (binding_forms.letrec_syntax, 1),
    "syntax-rules": (syntax_rules, 1),
    "define": (define, 1),
    "define-values": (define_values, 1),
    "define-record-type": (define_record_type, 1),
    "define-syntax": (define_syntax, 1),
    "include": (_include, None),
    "import": (_import, None),
    "export": (_export, None),
    "list": (data_forms.list_, None),
    "cons*": (data_forms.cons_star, None),
    "vector": (data_forms.vector, None),
}
KEYWORDS: dict[str, KeywordFunction] = {name: meaning for name, (meaning, _) in _FORMS.items()}
_MEANINGS = {**KEYWORDS, VECTOR.name: data_forms.vector_literal}  # that of a literal has no name in programs
BEFORE_BODY = {name: before for name, (_, before) in _FORMS.items() if before is not None}
# these look like procedures, and may be defined
PROCEDURE_KEYWORDS = frozenset((*LIST_MAKERS.values(), "match", "receive", "guard", "reset", "shift"))


def refuse_keyword(name: str, span: Span | None = None) -> None:
    """Raise VladError for a name that programs may not define."""
    if name in KEYWORDS and name not in PROCEDURE_KEYWORDS:
        hint = "give it another name; only a local variable may have this one"
        raise VladError("reserved-name", f"{name} is a keyword and cannot be defined", span, hint=hint)
