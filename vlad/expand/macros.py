"""syntax-rules, hygienic: syntax → syntax.

A name that a template inserts gets a mark of its expansion. A marked name without local binding is looked up without
its last mark in the scope of the macro's definition; so templates refer to their own scope, and their bindings capture none
of the user's names (Clinger & Rees 1991, in the form of renaming). Called by expander.py.

Syntax from a template keeps the template's span, with the span of the use (`ExpandedSpan`); the user's syntax keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

from vlad.data.errors import VladError
from vlad.data.source import Span, in_library
from vlad.data.values import String, Value, symbol
from vlad.expand.scope import Key, Mark, Scope, key_of
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax, TensorLiteral

LARGEST_EXPANSION = 1_000_000  # data that one use of a macro may make
MOST_EXPANSION = 100_000_000  # and all uses in a top-level form together
SHAPE = "(syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...)"
_numbers = count()


def text_of(syntax: Syntax, limit: int = 60) -> str:
    """The source text of a datum, on one line."""
    return _on_a_line(syntax.span.text, limit)


def _on_a_line(text: str, limit: int) -> str:
    text = " ".join(text[: 4 * limit].split())
    return text if len(text) <= limit else text[:limit] + "…"


def invalid(syntax: Syntax, hint: str) -> VladError:
    return VladError("invalid-expression", f"Invalid expression: {text_of(syntax)}", syntax.span, hint=hint)


class ExpandedSpan(Span):
    """The extent of a part of a macro's template, in an expansion of the macro; `use` is the place of the use."""

    __slots__ = ("use", "depth")

    def __init__(self, template: Span, use: Span) -> None:
        self.source, self.start, self.end = template.source, template.start, template.end
        self.use = use
        self.depth: int = use.depth + 1 if type(use) is ExpandedSpan else 1  # enclosing expansions


class ProcedureSpan(Span):
    """The extent of a procedure, or of its parameter list, with its name ('' for none) and its parameters as
    written, for errors.
    """

    __slots__ = ("name", "parameters", "use")

    def __init__(self, span: Span, name: str, parameters: Syntax) -> None:
        super().__init__(span.source, span.start, span.end)
        self.name = name
        self.parameters = parameters
        self.use: Span | None = getattr(span, "use", None)  # as in ExpandedSpan


def expanded_span(template: Span, use: Span) -> Span:
    """The extent of a part of a template in an expansion: that of the use, for a macro of the library."""
    return use if in_library(template) else ExpandedSpan(template, use)


def user_span(span: Span) -> Span:
    """The place in the program, outside all macros."""
    while isinstance(span, ExpandedSpan):
        span = span.use
    return span


def fresh_mark(scope: Scope) -> Mark:
    """A fresh mark, for a macro that was defined in this scope."""
    mark = Mark(next(_numbers))
    mark.scope = scope
    return mark


# Parsed patterns and templates.


class _Any:
    """The pattern _."""

    __slots__ = ()


class _Variable:
    __slots__ = ("key",)

    def __init__(self, key: Key) -> None:
        self.key = key


class _Word:
    """A name of the literals: matches a name with the same meaning."""

    __slots__ = ("name",)

    def __init__(self, name: Name) -> None:
        self.name = name


class _Datum:
    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class _KeywordPattern:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class _List:
    """`before`, then `repeated` any number of times (None without an ellipsis), then `after`, and `tail` behind the dot. `keys`
    are the variables in `repeated`.
    """

    __slots__ = ("after", "before", "keys", "repeated", "tail")

    def __init__(
        self,
        before: tuple[_Pattern, ...],
        repeated: _Pattern | None,
        keys: tuple[Key, ...],
        after: tuple[_Pattern, ...],
        tail: _Pattern | None,
    ) -> None:
        self.before = before
        self.repeated = repeated
        self.keys = keys
        self.after = after
        self.tail = tail


_Pattern: TypeAlias = _Any | _Variable | _Word | _Datum | _KeywordPattern | _List


class _Element:
    """A part of a template's list. `loops`: for each ellipsis after it, outermost first, the variables it iterates over;
    `keys`: all variables in it.
    """

    __slots__ = ("keys", "loops", "template")

    def __init__(
        self, template: _Template, loops: tuple[tuple[Key, ...], ...], keys: tuple[Key, ...]
    ) -> None:
        self.template = template
        self.loops = loops
        self.keys = keys


class _Rebuilt:
    """A list that a template makes."""

    __slots__ = ("elements", "span", "tail")

    def __init__(self, elements: tuple[_Element, ...], tail: _Template | None, span: Span) -> None:
        self.elements = elements
        self.tail = tail
        self.span = span


_Template: TypeAlias = _Variable | _Rebuilt | Name | Literal | Keyword | TensorLiteral
Found = dict[Key, Any]  # pattern variable → syntax; a list for each ellipsis after it


class Macro:
    """The meaning of a keyword defined by `syntax-rules`."""

    __slots__ = ("name", "scope", "rules", "shapes")

    def __init__(self, name: str, scope: Scope) -> None:
        self.name = name
        self.scope = scope
        self.rules: list[tuple[_List, _Template]] = []
        self.shapes: list[str] = []


# Definition.


def parse_rules(name: str, spec: Form, scope: Scope) -> Macro:
    """(syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...), with an optional custom ellipsis before the literals."""
    items = list(spec.items[1:])
    ellipsis: Name | None = None
    if items and isinstance(items[0], Name):
        ellipsis = items.pop(0)  # type: ignore[assignment]
    if not items or not isinstance(items[0], Form) or spec.tail is not None:
        raise invalid(spec, SHAPE)
    literals = items.pop(0)
    assert isinstance(literals, Form)
    for literal in literals.items:
        if not isinstance(literal, Name):
            raise invalid(literals, f"literals are names, as in {SHAPE}")
    macro = Macro(name, scope)
    for rule in items:
        if not isinstance(rule, Form) or len(rule.items) != 2 or rule.tail is not None:
            raise invalid(rule, f"a rule is (PATTERN TEMPLATE), as in {SHAPE}")
        pattern, template = rule.items
        if not isinstance(pattern, Form) or not pattern.items:
            raise invalid(pattern, "a pattern is a form that begins with the macro's name: (_ PATTERN ...)")
        reader = _Rule(ellipsis, {key_of(n) for n in literals.items if isinstance(n, Name)})
        # the keyword itself is not matched
        matched = reader.list_pattern(Form(pattern.items[1:], pattern.tail, pattern.span), 0)
        macro.rules.append((matched, reader.template(template, 0, False)))
        behind = pattern.items[0].span.end - pattern.span.start  # what stands for the macro's name
        macro.shapes.append(_on_a_line(f"({name}{pattern.span.text[behind:]}", 60))
    return macro


class _Rule:
    """Parses one rule. `depths` maps each variable of its pattern to its number of ellipses."""

    def __init__(self, ellipsis: Name | None, literals: set[Key]) -> None:
        self.ellipsis = ellipsis
        self.literals = literals
        self.depths: dict[Key, int] = {}

    def is_ellipsis(self, syntax: Syntax) -> bool:
        if not isinstance(syntax, Name) or key_of(syntax) in self.literals:
            return False
        return (
            syntax.symbol.name == "..." if self.ellipsis is None else key_of(syntax) == key_of(self.ellipsis)
        )

    def pattern(self, syntax: Syntax, depth: int) -> _Pattern:
        if isinstance(syntax, Name):
            return self.name_pattern(syntax, depth)
        if isinstance(syntax, Form):
            return self.list_pattern(syntax, depth)
        if isinstance(syntax, Literal):
            return _Datum(syntax.value)
        if isinstance(syntax, Keyword):
            return _KeywordPattern(syntax.name)
        raise invalid(syntax, "a tensor is no pattern")

    def name_pattern(self, name: Name, depth: int) -> _Pattern:
        key = key_of(name)
        if key in self.literals:
            return _Word(name)
        if name.symbol.name == "_":
            return _Any()
        if self.is_ellipsis(name):
            raise invalid(name, f"`{name}` follows what it repeats, once in a list")
        if key in self.depths:
            message = f"Duplicate variables: {name}"
            raise VladError(
                "duplicate-variables", message, name.span, hint=f"`{name}` is twice in one pattern"
            )
        self.depths[key] = depth
        return _Variable(key)

    def list_pattern(self, form: Form, depth: int) -> _List:
        items = form.items
        at = 1
        while at < len(items) and not self.is_ellipsis(items[at]):
            at += 1
        if at >= len(items):
            before = self.patterns(items, depth)
            tail = None if form.tail is None else self.pattern(form.tail, depth)
            return _List(before, None, (), (), tail)
        before = self.patterns(items[: at - 1], depth)
        known = set(self.depths)
        repeated = self.pattern(items[at - 1], depth + 1)
        keys = tuple([key for key in self.depths if key not in known])
        after = self.patterns(items[at + 1 :], depth)
        tail = None if form.tail is None else self.pattern(form.tail, depth)
        return _List(before, repeated, keys, after, tail)

    def patterns(self, items: tuple[Syntax, ...], depth: int) -> tuple[_Pattern, ...]:
        patterns = []
        for item in items:
            patterns.append(self.pattern(item, depth))
        return tuple(patterns)

    def template(self, syntax: Syntax, depth: int, escaped: bool) -> _Template:
        """A template below `depth` ellipses; in an escaped one, (... TEMPLATE), the ellipsis is an ordinary name."""
        if isinstance(syntax, Form):
            return self.list_template(syntax, depth, escaped)
        if not isinstance(syntax, Name):
            return syntax
        wanted = self.depths.get(key_of(syntax))
        if wanted is None:
            if not escaped and self.is_ellipsis(syntax):
                raise self.wrong(syntax, f"nothing stands before `{syntax}`")
            return syntax
        if wanted > depth:
            raise self.wrong(syntax, f"`{syntax}` needs an ellipsis ... behind it")
        return _Variable(key_of(syntax))

    def list_template(self, form: Form, depth: int, escaped: bool) -> _Template:
        items = form.items
        if not escaped and len(items) == 2 and form.tail is None and self.is_ellipsis(items[0]):
            return self.template(items[1], depth, True)
        elements: list[_Element] = []
        at = 0
        while at < len(items):
            dots = 0
            while not escaped and at + dots + 1 < len(items) and self.is_ellipsis(items[at + dots + 1]):
                dots += 1
            template = self.template(items[at], depth + dots, escaped)
            elements.append(self.element(items[at], template, depth, dots))
            at += dots + 1
        tail = None if form.tail is None else self.template(form.tail, depth, escaped)
        return _Rebuilt(tuple(elements), tail, form.span)

    def element(self, syntax: Syntax, template: _Template, depth: int, dots: int) -> _Element:
        """A variable with n ellipses in the pattern is iterated over by the n innermost ellipses around it in the template."""
        if not dots:
            return _Element(template, (), ())
        loops: list[dict[Key, None]] = [{} for _ in range(dots)]
        keys: dict[Key, None] = {}
        work = [(template, depth + dots)]
        while work:
            part, at = work.pop()
            if isinstance(part, _Variable):
                keys[part.key] = None
                for level in range(max(0, at - self.depths[part.key] - depth), dots):
                    loops[level][part.key] = None
            elif isinstance(part, _Rebuilt):
                work += [(inner.template, at + len(inner.loops)) for inner in part.elements]
                if part.tail is not None:
                    work.append((part.tail, at))
        if not all(loops):
            raise self.wrong(syntax, "nothing before the ellipsis ... repeats")
        return _Element(template, tuple([tuple(loop) for loop in loops]), tuple(keys))

    def wrong(self, syntax: Syntax, why: str) -> VladError:
        message = f"Invalid expression: {text_of(syntax)}"
        return VladError("invalid-template", message, syntax.span, hint=f"in a macro's template: {why}")


# Use.

Same = Callable[[Name, Scope, Name, Scope], bool]


class Expansions:
    """Expands uses of macros, for one top-level form."""

    def __init__(self) -> None:
        self.size = 0  # data made so far

    def expand(self, macro: Macro, use: Form, scope: Scope, same: Same) -> Syntax:
        """Expand a use of a macro once. `same`: whether two names mean the same, each in its scope."""
        matcher = _Matcher(macro, scope, same)
        for pattern, template in macro.rules:
            found: Found = {}
            if matcher.list(pattern, use.items, 1, use.tail, use.span, found):
                builder = _Builder(use.span, fresh_mark(macro.scope))
                expanded = builder.fill(template, found)
                self.size += builder.size
                if self.size > MOST_EXPANSION:
                    raise builder.too_large()
                return expanded
        shapes = " or ".join(macro.shapes[:4])
        hint = f"{macro.name} is used as {shapes}" if shapes else f"{macro.name} has no rules"
        raise VladError("no-matching-rule", f"Invalid expression: {text_of(use)}", use.span, hint=hint)


class _Matcher:
    def __init__(self, macro: Macro, scope: Scope, same: Same) -> None:
        self.macro = macro
        self.scope = scope
        self.same = same

    def match(self, pattern: _Pattern, syntax: Syntax, found: Found) -> bool:
        if type(pattern) is _Variable:
            found[pattern.key] = syntax
            return True
        if type(pattern) is _List:
            if not isinstance(syntax, Form):
                return False
            return self.list(pattern, syntax.items, 0, syntax.tail, syntax.span, found)
        if type(pattern) is _Word:
            return isinstance(syntax, Name) and self.same(syntax, self.scope, pattern.name, self.macro.scope)
        if type(pattern) is _Datum:
            return isinstance(syntax, Literal) and _equal(syntax.value, pattern.value)
        if type(pattern) is _KeywordPattern:
            return isinstance(syntax, Keyword) and syntax.name == pattern.name
        return True

    def list(
        self,
        pattern: _List,
        items: tuple[Syntax, ...],
        start: int,
        tail: Syntax | None,
        span: Span,
        found: Found,
    ) -> bool:
        """Match the items from `start` on, and the tail behind the dot."""
        while isinstance(tail, Form):
            items, tail = (*items[start:], *tail.items), tail.tail
            start = 0
        fixed = len(pattern.before) + len(pattern.after)
        available = len(items) - start
        if available < fixed or (pattern.repeated is None and pattern.tail is None and available > fixed):
            return False
        if pattern.tail is None and tail is not None:
            return False
        for part in pattern.before:
            if not self.match(part, items[start], found):
                return False
            start += 1
        if pattern.repeated is not None:
            end = len(items) - len(pattern.after)
            if not self.repeated(pattern, items, start, end, found):
                return False
            start = end
            for part in pattern.after:
                if not self.match(part, items[start], found):
                    return False
                start += 1
        if pattern.tail is None:
            return True
        rest = tail if start == len(items) and tail is not None else Form(items[start:], tail, span)
        return self.match(pattern.tail, rest, found)

    def repeated(self, pattern: _List, items: tuple[Syntax, ...], start: int, end: int, found: Found) -> bool:
        assert pattern.repeated is not None
        if type(pattern.repeated) is _Variable:
            found[pattern.repeated.key] = list(items[start:end])
            return True
        matches = []
        for at in range(start, end):
            one: Found = {}
            if not self.match(pattern.repeated, items[at], one):
                return False
            matches.append(one)
        for key in pattern.keys:
            found[key] = [one[key] for one in matches]
        return True


def _equal(a: Value, b: Value) -> bool:
    if type(a) is String and type(b) is String:
        return a.text == b.text
    return a is b or (type(a) is float and type(b) is float and a == b)


class _Builder:
    """Instantiates a template."""

    def __init__(self, use: Span, mark: Mark) -> None:
        self.use = use
        self.mark = mark
        self.size = 0

    def fill(self, template: _Template, found: Found) -> Syntax:
        if type(template) is _Variable:
            syntax: Syntax = found[template.key]
            return syntax
        if type(template) is _Rebuilt:
            return self.rebuilt(template, found)
        if type(template) is Name:
            span = expanded_span(template.span, self.use)
            return Name(template.symbol, span, (*template.marks, self.mark))
        assert not isinstance(template, _Rebuilt | _Variable)
        return template

    def rebuilt(self, template: _Rebuilt, found: Found) -> Syntax:
        out: list[Syntax] = []
        for element in template.elements:
            if element.loops:
                self.repeat(element, 0, found, out)
            else:
                out.append(self.fill(element.template, found))
        self.size += len(out) + 1
        if self.size > LARGEST_EXPANSION:
            raise self.too_large()
        tail = None if template.tail is None else self.fill(template.tail, found)
        while isinstance(tail, Form):
            out += tail.items
            tail = tail.tail
        return Form(tuple(out), tail, expanded_span(template.span, self.use))

    def too_large(self) -> VladError:
        return VladError(
            "endless-macro", "The expansion of this macro grows without end", user_span(self.use),
            hint="one of its templates uses it again and gets larger each time",
        )  # fmt: skip

    def repeat(self, element: _Element, level: int, found: Found, out: list[Syntax]) -> None:
        names = element.loops[level]
        lengths = {len(found[key]) if type(found[key]) is list else -1 for key in names}
        if len(lengths) != 1 or -1 in lengths:
            message = "Invalid expression: what this macro repeats together has different lengths"
            hint = "look at the ellipses of " + " and ".join([f"`{key[0].name}`" for key in names])
            raise VladError("invalid-template", message, self.use, hint=hint)
        last = level + 1 == len(element.loops)
        if last and type(element.template) is _Variable:
            out += found[element.template.key]
            return
        for at in range(lengths.pop()):
            one: Found = {key: found[key] for key in element.keys}
            for key in names:
                one[key] = found[key][at]
            if last:
                out.append(self.fill(element.template, one))
            else:
                self.repeat(element, level + 1, one, out)


class CoreName(Name):
    """A keyword that the expander inserts: it means the keyword whatever is bound."""

    __slots__ = ()


def made(keyword: str, span: Span, *items: Syntax) -> Form:
    """A form that the expander generates."""
    return Form((CoreName(symbol(keyword), span), *items), None, span)
