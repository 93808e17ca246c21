"""syntax-rules, hygienic: syntax → syntax.

A name that a template inserts gets a mark of this very expansion. A marked name that no local binding has is looked up without
its last mark where the macro was defined; so templates see their own surroundings, and what they bind captures nothing
of the user's (Clinger & Rees 1991, in the form of renaming). Called by forms.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vlad.errors import VladError
from vlad.expand.scope import Key, Scope, key_of
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax, TensorLiteral
from vlad.source import Span
from vlad.values import symbol
from vlad.write import written

Bindings = dict[Key, Any]  # pattern variable → syntax, or for each ellipsis a list
_MISSING = object()


def text_of(syntax: Syntax, limit: int = 60) -> str:
    """The source text of a datum, in one line."""
    text = " ".join(syntax.span.text[: 4 * limit].split())
    return text if len(text) <= limit else text[:limit] + "…"


def invalid(syntax: Syntax, hint: str) -> VladError:
    return VladError("invalid-expression", f"Invalid expression: {text_of(syntax)}", syntax.span, hint=hint)


class Macro:
    """The meaning of a keyword that `syntax-rules` defined."""

    def __init__(self, name: str, scope: Scope, ellipsis: Key, literals: set[Key]) -> None:
        self.name = name
        self.scope = scope
        self.ellipsis = ellipsis
        self.literals = literals
        self.rules: list[tuple[Form, Syntax]] = []


class Marks:
    """The marks given out, and the scope in which the macro that made each was defined."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []

    def fresh(self, scope: Scope) -> int:
        self.scopes.append(scope)
        return len(self.scopes) - 1


Resolve = Callable[[Name, Scope], Any]


def parse_rules(name: str, spec: Syntax, scope: Scope) -> Macro:
    """(syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...), with an ellipsis of one's own before the literals."""
    shape = "(syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...)"
    if not isinstance(spec, Form) or not spec.items or str(spec.items[0]) != "syntax-rules":
        raise invalid(spec, f"a macro is defined by {shape}")
    items = list(spec.items[1:])
    ellipsis = "..."
    if items and isinstance(items[0], Name):
        ellipsis = str(items.pop(0))
    if not items or not isinstance(items[0], Form):
        raise invalid(spec, shape)
    literals = items.pop(0)
    assert isinstance(literals, Form)
    if not all(isinstance(literal, Name) for literal in literals.items):
        raise invalid(literals, "literals are names")
    from_name = Name(symbol(ellipsis), spec.span)
    macro = Macro(name, scope, key_of(from_name), {key_of(n) for n in literals.items if isinstance(n, Name)})
    for rule in items:
        if not isinstance(rule, Form) or len(rule.items) != 2 or not isinstance(rule.items[0], Form):
            raise invalid(rule, "a rule is (PATTERN TEMPLATE)")
        macro.rules.append((rule.items[0], rule.items[1]))
    return macro


def expand_macro(macro: Macro, use: Form, scope: Scope, marks: Marks, resolve: Resolve) -> Syntax:
    """The use of a macro, expanded once."""
    matcher = _Matcher(macro, scope, resolve)
    for pattern, template in macro.rules:
        found: Bindings = {}
        # the keyword itself is not matched
        rest = Form(pattern.items[1:], pattern.tail, pattern.span)
        if matcher.form(rest, Form(use.items[1:], use.tail, use.span), found):
            return _Builder(macro, found, marks.fresh(macro.scope), use).build(template)
    forms = " or ".join([text_of(pattern) for pattern, _ in macro.rules[:3]]) or "nothing: it has no rules"
    raise VladError(
        "no-matching-rule", f"Invalid expression: {text_of(use)}", use.span, hint=f"{macro.name} matches {forms}"
    )


class _Matcher:
    def __init__(self, macro: Macro, scope: Scope, resolve: Resolve) -> None:
        self.macro = macro
        self.scope = scope
        self.resolve = resolve

    def match(self, pattern: Syntax, syntax: Syntax, found: Bindings) -> bool:
        if isinstance(pattern, Name):
            return self.name(pattern, syntax, found)
        if isinstance(pattern, Form):
            return isinstance(syntax, Form) and self.form(pattern, syntax, found)
        if isinstance(pattern, Literal):
            return isinstance(syntax, Literal) and written(pattern.value) == written(syntax.value)
        if isinstance(pattern, Keyword):
            return isinstance(syntax, Keyword) and pattern.name == syntax.name
        return False

    def name(self, pattern: Name, syntax: Syntax, found: Bindings) -> bool:
        key = key_of(pattern)
        if key in self.macro.literals:
            return isinstance(syntax, Name) and self.resolve(syntax, self.scope) == self.resolve(
                pattern, self.macro.scope
            )
        if pattern.symbol.name != "_":
            found[key] = syntax
        return True

    def is_ellipsis(self, syntax: Syntax) -> bool:
        return isinstance(syntax, Name) and key_of(syntax) == self.macro.ellipsis

    def form(self, pattern: Form, form: Form, found: Bindings) -> bool:
        at = next((i for i, item in enumerate(pattern.items) if self.is_ellipsis(item)), -1)
        if at < 0:
            return self.plain(pattern, form, found)
        before, after = pattern.items[: at - 1], pattern.items[at + 1 :]
        repeated = pattern.items[at - 1]
        count = len(form.items) - len(before) - len(after)
        if at == 0 or count < 0 or (pattern.tail is None) != (form.tail is None):
            return False
        for part, item in zip(before, form.items, strict=False):
            if not self.match(part, item, found):
                return False
        matches = []
        for item in form.items[len(before) : len(before) + count]:
            one: Bindings = {}
            if not self.match(repeated, item, one):
                return False
            matches.append(one)
        for key in pattern_names(repeated, self.macro):
            found[key] = [one[key] for one in matches]
        for part, item in zip(after, form.items[len(before) + count :], strict=True):
            if not self.match(part, item, found):
                return False
        return pattern.tail is None or (form.tail is not None and self.match(pattern.tail, form.tail, found))

    def plain(self, pattern: Form, form: Form, found: Bindings) -> bool:
        count = len(pattern.items)
        if pattern.tail is None:
            if form.tail is not None or len(form.items) != count:
                return False
        elif len(form.items) < count:
            return False
        for part, item in zip(pattern.items, form.items, strict=False):
            if not self.match(part, item, found):
                return False
        if pattern.tail is None:
            return True
        rest = form.items[count:]
        tail = form.tail if not rest and form.tail is not None else Form(rest, form.tail, form.span)
        return self.match(pattern.tail, tail, found)


def pattern_names(pattern: Syntax, macro: Macro) -> list[Key]:
    """The variables that a pattern binds."""
    names: list[Key] = []
    work: list[Syntax] = [pattern]
    while work:
        item = work.pop()
        if isinstance(item, Name):
            key = key_of(item)
            if key != macro.ellipsis and key not in macro.literals and item.symbol.name != "_":
                names.append(key)
        elif isinstance(item, Form):
            work += [*item.items, *([item.tail] if item.tail is not None else [])]
    return names


class _Builder:
    """Fills a template in. Everything made here has the place of the use; what the user wrote keeps its own."""

    def __init__(self, macro: Macro, found: Bindings, mark: int, use: Form) -> None:
        self.macro = macro
        self.found = found
        self.mark = mark
        self.use = use

    def build(self, template: Syntax) -> Syntax:
        return self.fill(template, self.found, escaped=False)

    def wrong(self, template: Syntax, why: str) -> VladError:
        return VladError(
            "invalid-template", f"Invalid expression: {text_of(self.use)}", template.span, hint=f"in the macro's template: {why}"
        )

    def is_ellipsis(self, syntax: Syntax) -> bool:
        return isinstance(syntax, Name) and key_of(syntax) == self.macro.ellipsis

    def fill(self, template: Syntax, found: Bindings, escaped: bool) -> Syntax:
        span: Span = self.use.span
        if isinstance(template, Name):
            value = found.get(key_of(template), _MISSING)
            if value is _MISSING:
                return Name(template.symbol, span, (*template.marks, self.mark))
            if isinstance(value, list):
                raise self.wrong(template, f"`{template}` needs an ellipsis ... behind it")
            result: Syntax = value
            return result
        if isinstance(template, Form):
            return self.form(template, found, escaped)
        if isinstance(template, TensorLiteral):
            items = []
            for item in template.items:
                items.append(self.fill(item, found, escaped))
            return TensorLiteral(tuple(items), span)
        return template

    def form(self, template: Form, found: Bindings, escaped: bool) -> Syntax:
        items = template.items
        if not escaped and len(items) == 2 and self.is_ellipsis(items[0]):
            return self.fill(items[1], found, escaped=True)
        out: list[Syntax] = []
        at = 0
        while at < len(items):
            depth = 0
            while not escaped and at + depth + 1 < len(items) and self.is_ellipsis(items[at + depth + 1]):
                depth += 1
            if depth:
                out += self.repeated(items[at], found, depth)
            else:
                out.append(self.fill(items[at], found, escaped))
            at += depth + 1
        if template.tail is None:
            return Form(tuple(out), None, self.use.span)
        tail = self.fill(template.tail, found, escaped)
        if isinstance(tail, Form):
            return Form((*out, *tail.items), tail.tail, self.use.span)
        return Form(tuple(out), tail, self.use.span)

    def repeated(self, template: Syntax, found: Bindings, depth: int) -> list[Syntax]:
        names = [key for key in pattern_names(template, self.macro) if isinstance(found.get(key), list)]
        if not names:
            raise self.wrong(template, "nothing before the ellipsis ... repeats")
        lengths = {len(found[key]) for key in names}
        if len(lengths) > 1:
            raise self.wrong(template, "what repeats together has different lengths")
        out: list[Syntax] = []
        for i in range(lengths.pop()):
            one = {**found, **{key: found[key][i] for key in names}}
            if depth > 1:
                out += self.repeated(template, one, depth - 1)
            else:
                out.append(self.fill(template, one, escaped=False))
        return out
