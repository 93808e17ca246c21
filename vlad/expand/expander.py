"""The expander: expressions, calls and bodies → core, in a scope.

In: syntax, its scope, and the meanings of keywords.  Out: right-hand sides, and bindings in the body that they need. Called by
forms.py for each top-level form, and by the functions of keywords (binding_forms.py, conditional_forms.py, data_forms.py) for
the parts of their forms. It handles only the keywords of bodies itself: begin, define, define-syntax, syntax-rules.

The order of evaluation is fixed here: operator, then operands from left to right. Nested forms use Python frames
but no C stack, so programs may nest as deeply as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from vlad.core.names import make_lambda
from vlad.core.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Constant,
    GlobalReference,
    Lambda,
    Letrec,
    Rhs,
    Variable,
    WrittenName,
)
from vlad.data.errors import Notice, VladError
from vlad.data.source import Origin, Span, is_internal
from vlad.data.values import NIL, TRUE, UNSPECIFIED, Code, Primitive, String, Value, symbol
from vlad.expand.arity import (
    APPLIED,
    AS_VALUE,
    BY_NUMBER,
    FOR_TENSORS,
    NAMED,
    NESTED,
    OF_MANY,
    PROGRESS,
    RETURNING,
    TAKING,
    Named,
    Signature,
    hint_to_call_result,
    is_nested,
    of_named,
    of_row,
    signature,
    wrong_number,
)
from vlad.expand.macros import (
    CoreName,
    ExpandedSpan,
    Expansions,
    Macro,
    ProcedureSpan,
    fresh_mark,
    invalid,
    made,
    parse_rules,
    text_of,
    user_span,
)
from vlad.expand.normalize import Defined, Group, Out, Pending, arrange, as_atom, as_result, for_effect
from vlad.expand.patterns import Patterns, names_in, tuple_pattern
from vlad.expand.record_types import RecordType
from vlad.expand.scope import Module, Scope, TopLevel, local_meaning, record_type_name
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax, TensorLiteral, datum

DEEPEST_EXPANSION = 20_000
UNSPECIFIED_ATOM = Constant(UNSPECIFIED)
_VALUES = (Variable, Pending, TopLevel)  # meanings of names that are values

# The meaning of a keyword. Arguments: the expander, the form, its scope, the body under construction, and the name for the
# value.
KeywordFunction: TypeAlias = Callable[["Expander", Form, Scope, Out, str], Rhs]


class _Special(Name):
    """The operator of a form that the expander makes of data, with its meaning."""

    __slots__ = ("function",)

    def __init__(self, name: str, span: Span, function: KeywordFunction) -> None:
        super().__init__(symbol(name), span)
        self.function = function


class _Part:
    """A part of a body: a definition, with the pending meaning of its name, or an expression. `is_own`: stands the expression in
    the body as the program has it, or did a macro put it there? A plain class, as a dataclass costs time when programs start."""

    __slots__ = ("is_own", "name", "pending", "value")

    def __init__(
        self, name: Name | None, pending: Pending | None, value: Syntax, is_own: bool = False
    ) -> None:
        self.is_own = is_own
        self.name = name
        self.pending = pending
        self.value = value


class Expander:
    """The state of expanding one top-level form.

    keywords        the meaning of each keyword
    as_values       the procedures for keywords that are also used as values
    being_defined   the name whose definition is being expanded, or ""
    """

    def __init__(
        self, module: Module, keywords: Mapping[str, KeywordFunction], as_values: Mapping[Any, str]
    ) -> None:
        self.module = module
        self.keywords = keywords
        self.as_values = as_values
        self.outside = Scope(module)
        self.expansions = Expansions()
        self.being_defined = ""
        self.is_watched = module.library().watched

    # Meanings of names.

    def meaning(self, name: Name, scope: Scope) -> Any:
        """A Variable or Pending, a Macro, a keyword's function, or a TopLevel name."""
        if type(name) is CoreName:
            return self.keywords[name.symbol.name]
        if type(name) is _Special:
            return name.function
        found = local_meaning(name, scope)
        if type(found) is not TopLevel:
            return found
        macro = found.module.macro(found.name)
        if macro is not None:
            return macro
        if found.name in self.keywords and found.module.is_inherited(found.name):
            return self.keywords[found.name]
        return found

    def same(self, a: Name, scope_of_a: Scope, b: Name, scope_of_b: Scope) -> bool:
        """Whether two names mean the same, each in its scope."""
        means_a, means_b = self.meaning(a, scope_of_a), self.meaning(b, scope_of_b)
        if type(means_a) is TopLevel and type(means_b) is TopLevel:
            return means_a.name == means_b.name
        return means_a is means_b

    def is_word(self, syntax: Syntax, word: str, scope: Scope) -> bool:
        """Whether this is `else` or `=>`, and not a local name spelled like it."""
        if not isinstance(syntax, Name) or syntax.symbol.name != word:
            return False
        return type(self.meaning(syntax, scope)) is TopLevel

    def expanded(self, syntax: Syntax, scope: Scope) -> tuple[Syntax, Any]:
        """Expand macro uses at the head of the syntax. Returns the result and the meaning of its operator, if that is a name."""
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

    # Expressions.

    def expression(self, syntax: Syntax, scope: Scope, out: Out, name: str = "") -> Rhs:
        """The right-hand side of an expression; bindings it needs are added to `out`. A lambda gets the name."""
        if isinstance(syntax, Name):
            return self.as_value(self.reference(syntax, self.meaning(syntax, scope)))
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
        if meaning in self.as_values:
            return self.top_reference(self.as_values[meaning], name.span)
        kind = "macro" if type(meaning) is Macro else "keyword"
        raise invalid(name, f"`{name}` is a {kind}, not a value: it stands first in a form")

    def as_value(self, atom: Atom) -> Atom:
        """A name where it is no operator."""
        if type(atom) is GlobalReference and atom.cell.name in AS_VALUE:
            name, span = atom.cell.name, atom.span
            if span is not None and self.module.is_inherited(name):
                return self.top_reference(AS_VALUE[name], span)
        return atom

    def top_reference(self, name: str, span: Span) -> GlobalReference:
        """To a procedure of the library, whatever its name means in the program."""
        return GlobalReference(self.module.library().cell(name), span)

    def call(self, form: Form, meaning: Any, scope: Scope, out: Out, name: str) -> Rhs:
        items = form.items if form.tail is None else (*form.items, form.tail)
        first = items[0]
        if isinstance(first, Name):
            operator = self.reference(first, meaning)
        else:
            operator = self.atom(first, scope, out, "operator")
        if Keyword in map(type, items):
            return self.keyword_call(form, operator, scope, out, name)
        watched = self.watched_by(operator)
        if watched is not None and form.tail is None and len(items) == 1 + len(watched.operands):
            return self.keyword_call(form, operator, scope, out, name)
        operands = [self.atom(item, scope, out) for item in items[1:]]
        if isinstance(operator, GlobalReference):
            self.check_named(form, operator, operands)
            if len(operands) > 1 and form.tail is None:
                self.check_missing(form, operator, len(operands))
            if operator.cell.name in BY_NUMBER and self.module.is_inherited(operator.cell.name):
                return self.by_number(form, operator, operands, out)
        return Call(operator, tuple(operands) or (Constant(NIL),), form.span)

    def check_named(self, form: Form, operator: GlobalReference, operands: list[Atom]) -> None:
        """Raise VladError if an operand that requires its keyword is given by position. It would be taken for that operand only
        if no other is missing; other numbers are reported when the call fails. (An operand without meaning is reported first:
        `(sum t :axis 0)`.)
        """
        row = self.row_of(operator)
        if row is None:
            library = self.named_of(operator)
            if library is not None and form.tail is None and len(operands) > len(library.operands):
                raise wrong_number(of_named(library), len(operands), span=form.span)
        elif (
            row.keywords
            and form.tail is None
            and len(operands) == len(row.operands)
            and all(type(one) is not GlobalReference or hasattr(one.cell, "value") for one in operands)
        ):
            error = wrong_number(of_row(row), len(operands), span=form.span)
            if row.name in RETURNING:
                texts = [item.span.text for item in form.items[1:]]
                hint_to_call_result(error, row.name, RETURNING[row.name], texts)
            raise error

    def check_missing(self, form: Form, operator: GlobalReference, count: int) -> None:
        """Raise VladError if a procedure that every program has is given several operands, but not all. A pair in the last place
        would be the rest of them, such as the point where a search begins, and the number of its steps. What passes on the rest
        of a tuple says so: (f x . rest). A lone operand is the tuple of all, as in (define (g all) (f all))."""
        name, value = operator.cell.name, getattr(operator.cell, "value", NIL)
        code = value[0] if type(value) is tuple and value else None
        if type(code) is not Code or is_internal(name) or not self.module.is_inherited(name):
            return
        library = NAMED.get(name)
        if count >= (code.arity if library is None else len(library.operands)) or (name, count) in TAKING:
            return
        taken = signature(code.machine, code) if library is None else of_named(library)
        if count < taken.count and not taken.rest:
            raise wrong_number(taken, count, span=form.span)

    def by_number(self, form: Form, operator: GlobalReference, operands: list[Atom], out: Out) -> Rhs:
        """A call of a procedure that every program has, some of which depend on the number of operands as written: append, map
        and for-each of any number of lists, tables of any number of keys, a default for a missing key, and what the tables in
        arity.py list. By the tuple rule alone `(map f a b)` would be the same as a call on one list (a . b).
        """
        name, count, span = operator.cell.name, len(operands), form.span
        if name == "table" and count % 2 == 0:
            made = self.apply("empty-table", (Constant(NIL),), span)
            for key, value in zip(operands[::2], operands[1::2], strict=True):
                made = self.apply("table-set", (as_atom(made, out, "t"), key, value), span)
            return made
        if name == "table":
            raise invalid(form, "(table KEY VALUE ...): a value follows each key")
        if name == "update-ref!" and count == 2:
            content = self.apply("deref", operands[:1], span)
            changed = Call(operands[1], (as_atom(content, out, "t"),), span)
            return self.apply("set-ref!", (operands[0], as_atom(changed, out, "t")), span)
        if name == "table-ref" and count == 3:
            return self.apply("table-ref-default", operands, span)
        if name == "string-append" and not operands:
            return Constant(String(""))
        if name == "apply" and count > 1:
            applied = self.applied(operands, span, out)
            if applied is not None:
                return applied
        if name in OF_MANY and count > 2 and (name, count) not in TAKING:
            lists = self.made_list(operands[1:], Constant(NIL), span, out)
            return Call(self.top_reference(OF_MANY[name], operator.span or span), (operands[0], lists), span)
        if is_nested(name, count):
            result: Rhs = operands[-1] if operands else Constant(NESTED[name])
            for operand in reversed(operands[:-1]):
                result = Call(operator, (operand, as_atom(result, out)), span)
            return result
        if (name, count) in TAKING:
            operator = self.top_reference(TAKING[name, count], operator.span or span)
        return Call(operator, tuple(operands) or (Constant(NIL),), span)

    def applied(self, operands: list[Atom], span: Span, out: Out) -> Rhs | None:
        """A call of `apply` with the name of a procedure that `by_number` is about; None with others."""
        f = operands[0]
        if not isinstance(f, GlobalReference) or not self.module.is_inherited(f.cell.name):
            return None
        if f.cell.name not in APPLIED and f.cell.name not in OF_MANY:
            return None
        arguments = self.made_list(operands[1:-1], operands[-1], span, out)
        if f.cell.name in APPLIED:
            return Call(self.top_reference(APPLIED[f.cell.name], f.span or span), (arguments,), span)
        parts = [as_atom(self.apply(row, (arguments,), span), out) for row in ("car", "cdr")]
        return Call(self.top_reference(OF_MANY[f.cell.name], f.span or span), tuple(parts), span)

    def made_list(self, elements: list[Atom], rest: Atom, span: Span, out: Out) -> Atom:
        for element in reversed(elements):
            rest = as_atom(self.apply("cons", (element, rest), span), out)
        return rest

    def keyword_call(self, form: Form, operator: Atom, scope: Scope, out: Out, name: str) -> Rhs:
        """Put keyword operands in the order of the row, with defaults for missing ones. A lambda that is given a
        derivative gets `name`, for error messages.
        """
        if form.tail is not None:
            raise invalid(
                form.tail,
                "a call with operands by name has no dot: each operand is written, as in (f x #:axis 0)",
            )
        row = self.row_of(operator)
        takes = row if row is not None else self.named_of(operator)
        keywords: Mapping[str, Value] = takes.keywords if takes is not None else {}
        operands: list[Atom] = []
        named: dict[str, Atom] = {}
        expected: Keyword | None = None
        for item in form.items[1:]:
            if isinstance(item, Keyword):
                if not keywords:
                    taken = self.signature_of(operator)
                    hint = f"takes no operand #:{item.name}{self.for_tensors(operator)}"
                    raise unknown_name(form, item, hint, {}, taken)
                if expected is not None or item.name not in keywords or item.name in named:
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
        if takes is None or item is not form:
            hint = f"takes the operands {' '.join(map(by_name, keywords))}, each once and before its value"
            raise unknown_name(form, item, hint, keywords, self.signature_of(operator))
        taken = of_named(takes) if isinstance(takes, Named) else of_row(takes)
        if len(operands) != taken.count:
            raise wrong_number(taken, len(operands), span=form.span)
        defaults = {**keywords, PROGRESS: TRUE} if self.watched_by(operator) is not None else keywords
        operands += [named.get(name, Constant(default)) for name, default in defaults.items()]
        if isinstance(takes, Named):
            operator = self.top_reference(takes.procedure, form.span)
        return Call(operator, tuple(operands), form.span)

    def named_of(self, operator: Atom) -> Named | None:
        """What a procedure of the library that an operator names takes by name; None for other names."""
        named = NAMED.get(operator.cell.name) if isinstance(operator, GlobalReference) else None
        return named if named is not None and self.module.is_inherited(named.name) else None

    def signature_of(self, operator: Atom) -> Signature | None:
        """The signature of the procedure that an operator names, if it is known already."""
        named, row = self.named_of(operator), self.row_of(operator)
        if named is not None or row is not None:
            return of_named(named) if named is not None else of_row(row) if row is not None else None
        value = getattr(operator.cell, "value", NIL) if isinstance(operator, GlobalReference) else NIL
        code = value[0] if type(value) is tuple and value else None
        return signature(code.machine, code) if type(code) is Code else None

    def watched_by(self, operator: Atom) -> Named | None:
        """What a loop of the library takes by name, if the operator names one and someone watches its progress; else None."""
        named = self.named_of(operator) if self.is_watched else None
        return named if named is not None and PROGRESS in named.keywords else None

    def row_of(self, operator: Atom) -> Primitive | None:
        """The row of the primitive that an operator names; None for other names, also within a definition that gives the name
        of a primitive another meaning.
        """
        if not isinstance(operator, GlobalReference):
            return None
        cell = operator.cell
        is_being_defined = cell.name == self.being_defined and self.module.cells.get(cell.name) is cell
        return None if is_being_defined else cell.primitive

    def for_tensors(self, operator: Atom) -> str:
        """A hint at the counterpart for tensors of a procedure of the library, which has keyword operands."""
        if isinstance(operator, GlobalReference) and self.module.is_inherited(operator.cell.name):
            way = FOR_TENSORS.get(operator.cell.name)
            return f"; {way}" if way else ""
        return ""

    def apply(self, name: str, operands: Sequence[Atom], span: Span) -> Apply:
        """Apply a primitive, whatever its name means in the program."""
        return Apply(self.module.primitives[name], tuple(operands), span)

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
        """A body: mutually visible definitions, and expressions; its value is the last one's."""
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
        self.for_effects([(part.value, part.is_own) for part in parts[at:]], inner, out)
        rhs = self.expression(parts[-1].value, inner, out, name)
        inner.leave()
        return rhs

    def for_effects(self, forms: list[tuple[Syntax, bool]], scope: Scope, out: Out) -> None:
        """The expressions of a body before its last one: their values are not used. Where one has no effect either, and stands
        there as the program has it, a remark is made, on the first of them."""
        remark, idle = self.module.library().remark, None
        for at, (form, is_own) in enumerate(forms[:-1]):
            before = len(out)
            rhs = self.expression(form, scope, out)
            if is_own and remark is not None and idle is None and self.is_idle(form, rhs, out[before:]):
                idle = at
            for_effect(rhs, out)
        if remark is not None and idle is not None:
            remark(unused_value([form for form, _ in forms[idle:]]))

    def is_idle(self, form: Syntax, rhs: Rhs, made: Out) -> bool:
        """Has an expression of the program's text no effect? `made`: what was bound for it."""
        if type(form.span) is not Span or form.span.source.origin is not Origin.PROGRAM:
            return False
        return all(type(one) is Letrec or self.is_pure(one.rhs) for one in made) and self.is_pure(rhs)

    def is_pure(self, rhs: Rhs) -> bool:
        if isinstance(rhs, Call):
            row = self.row_of(rhs.operator)
        elif isinstance(rhs, Apply):
            row = rhs.primitive
        else:
            return isinstance(rhs, Variable | GlobalReference | Lambda) or (
                isinstance(rhs, Constant) and rhs.value is not UNSPECIFIED
            )
        return row is not None and not (row.effect or row.state or row.io or row.needs_machine)

    def parts(self, forms: tuple[Syntax, ...], scope: Scope, group: Group) -> list[_Part]:
        """The forms of a body with macros expanded, `begin`s spliced, names bound and local macros defined."""
        parts: list[_Part] = []
        work = [(form, True) for form in reversed(forms)]
        while work:
            form, is_own = work.pop()
            form, meaning = self.expanded(form, scope)
            if isinstance(form, Form) and meaning is begin and form.tail is None and len(form.items) > 1:
                is_own = is_own and type(form.span) is Span
                work += [(item, is_own) for item in reversed(form.items[1:])]
            elif isinstance(form, Form) and meaning is define_syntax:
                name, macro = self.macro_definition(form, scope)
                self.declare(name, macro, scope)
            elif isinstance(form, Form) and meaning is define:
                name, value = self.definition(form)
                parts.append(self.pending(name, value, scope, group))
            elif isinstance(form, Form) and meaning in SEVERAL_DEFINITIONS:
                several = SEVERAL_DEFINITIONS[meaning](form)
                parts += self.values_parts(form, several, scope, group)
                if several.type is not None:
                    scope.bind(record_type_name(several.type.written), several.type)
            else:
                parts.append(_Part(None, None, form, is_own))
        return parts

    def values_parts(self, form: Form, several: Several, scope: Scope, group: Group) -> list[_Part]:
        """The names of several definitions, and in front of them a hidden one for what they are parts of."""
        whole = Name(symbol("values"), form.span, (fresh_mark(scope),))
        parts = [self.pending(whole, several.value, scope, group)]
        for name in several.names:
            binding = Form((Form((several.pattern, whole), None, form.span),), None, form.span)
            parts.append(self.pending(name, made("let", form.span, binding, name), scope, group))
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
        """letrec*: expand the values, with all the names pending; put them in order; then the names are defined."""
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
        """The meaning of a macro's name: a Macro, or the meaning of another macro or keyword."""
        spec, meaning = self.expanded(spec, scope)
        if isinstance(spec, Form) and meaning is syntax_rules:
            return parse_rules(name.symbol.name, spec, defined_in)
        if isinstance(spec, Name):
            meaning = self.meaning(spec, scope)
            if type(meaning) not in _VALUES:
                return meaning
        raise invalid(
            spec, "a macro is (syntax-rules (LITERAL ...) (PATTERN TEMPLATE) ...) or another macro's name"
        )


def unknown_name(
    form: Form, item: Syntax, hint: str, keywords: Iterable[str], taken: Signature | None
) -> VladError:
    """The error of an unknown keyword operand; `hint`: which `keywords` the operator takes."""
    message = f"Invalid expression: {text_of(form)}"
    error = VladError("unknown-keyword", message, item.span, hint=f"{text_of(form.items[0])} {hint}")
    if isinstance(item, Keyword) and item.name not in keywords:
        error.name = item.name
        error.choices = dict.fromkeys(taken.parameters, taken.text) if taken is not None else {}
        error.choices |= {name: by_name(name) for name in keywords}
    return error


def by_name(keyword: str) -> str:
    return f"#:{keyword}"


OPERATORS = frozenset(["+", "-", "*", "/", "=", "<", ">", "<=", ">="])


def in_prefix(forms: Sequence[Syntax]) -> str:
    """The call that is meant by expressions such as `2 + 3`, one operator between the operands; "" if these are none."""
    operators = [one.symbol.name for one in forms[1::2] if isinstance(one, Name)]
    if len(forms) % 2 == 0 or len(operators) != len(forms) // 2 or len(set(operators)) != 1:
        return ""
    call = f"({' '.join([operators[0], *map(text_of, forms[::2])])})"
    return call if operators[0] in OPERATORS and len(call) < 60 else ""


def unused_value(forms: list[Syntax]) -> Notice:
    """The remark on the first of the forms that end a body."""
    hint, call = "only the value of the last expression is returned", in_prefix(forms[:3])
    hint += f"; the procedure comes first in a call: `{call}`" if call else ""
    return Notice("unused-value", "The value of this expression is not used", forms[0].span, hint=hint)


def endless(macro: Macro, span: Span) -> VladError:
    return VladError(
        "endless-macro", f"The macro {macro.name} expands without end", user_span(span),
        hint="one of its templates uses it again without getting smaller",
    )  # fmt: skip


def check_tensor(literal: TensorLiteral) -> None:
    """Raise VladError unless the entries of a tensor literal are numbers."""
    work: list[Syntax] = [literal]
    while work:
        item = work.pop()
        if isinstance(item, TensorLiteral):
            work += reversed(item.items)
        elif not isinstance(item, Literal) or type(item.value) is not float:
            if item.span.text.startswith(","):
                raise invalid(item, "the numbers of a tensor literal are separated by blanks")
            raise invalid(item, "a tensor literal holds numbers; compute with (tensor (list …))")


# The keywords of bodies, which `Expander.parts` handles by their meaning. These functions run where a value is expected.


def begin(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    if len(form.items) < 2:
        raise invalid(form, "(begin EXPRESSION ...)")
    return x.sequence(form.items[1:], scope, out, form, name)


NO_VALUE = "a definition stands at top level or in a body, not where a value is needed"


def define(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    x.definition(form)
    raise invalid(form, NO_VALUE)


class Several:
    """What defines several names: these, the pattern of their values, and the expression; and the type of records that it
    defines, if it does.
    """

    __slots__ = ("names", "pattern", "type", "value")

    def __init__(
        self, names: list[Name], pattern: Syntax, value: Syntax, type_: RecordType | None = None
    ) -> None:
        self.names = names
        self.pattern = pattern
        self.value = value
        self.type = type_


SEVERAL_DEFINITIONS: dict[Any, Callable[[Form], Several]] = {}  # by the keyword's function


def _several(definition: Callable[[Form], Several]) -> KeywordFunction:
    """The function of a keyword that defines several names."""

    def keyword(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
        definition(form)
        raise invalid(form, NO_VALUE)

    SEVERAL_DEFINITIONS[keyword] = definition
    return keyword


def _values_definition(form: Form) -> Several:
    shape = "(define-values (NAME ...) VALUES)"
    if len(form.items) != 3 or form.tail is not None:
        raise invalid(form, shape)
    pattern = tuple_pattern(form.items[1])
    names = names_in(pattern)
    if not names:
        raise invalid(form, shape)
    return Several(names, pattern, form.items[2])


def _record_definition(form: Form) -> Several:
    type_ = RecordType(form)

    def procedures(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
        def expanded(written: Syntax, own: Out, rule: str) -> Atom:
            return x.atom(written, scope, own, rule)

        return type_.procedures(x.module.primitives, expanded, out)

    names = type_.names()
    value = Form((_Special("record-type", form.span, procedures),), None, form.span)
    return Several(names, made("list", form.span, *names), value, type_)


define_values, define_record_type = _several(_values_definition), _several(_record_definition)


def define_syntax(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "a macro's definition stands at top level or in a body, not where a value is needed")


def syntax_rules(x: Expander, form: Form, scope: Scope, out: Out, name: str) -> Rhs:
    raise invalid(form, "syntax-rules follows the name in define-syntax, let-syntax or letrec-syntax")
