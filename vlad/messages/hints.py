"""Clearer errors, in terms of the user's own text: the meant name of an unbound one; which call of the library failed; a
counterpart that takes the operands.

In: an error, and facts about its place.  Out: the same error, made clearer. Called by session/suggestions.py, after the
error. Or in: unsuitable operands.  Out: their description. Called where such an error is made (primitives/, evaluate/).
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from keyword import kwlist

from vlad.data.errors import NO_WAYS, Kind, VladError, unbound_message
from vlad.data.source import Source, Span, in_library, in_stdlib
from vlad.data.tables import Table
from vlad.data.tensors import Tensor, shape_text
from vlad.data.values import Backtrace, Boolean, Opaque, Role, String, Symbol, Value, look
from vlad.data.write import structure_of_python, written_in_message
from vlad.expand.arity import (
    FOR_TENSORS,
    RETURNING,
    Signature,
    Usage,
    has_own_form,
    hint_to_call_result,
    wrong_number,
)
from vlad.messages.other_languages import other_language_hint
from vlad.messages.spelling import among, suggestion
from vlad.reader.lexer import tokens
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax, read

NOTHING = "define it, or import the module that does"
OPERATORS = frozenset(["+", "-", "*", "/", "=", "<", ">", "<=", ">="])
LONGEST_SHOWN = 40
# They raise a user-error if a procedure is not all that they are given.
OF_PROCEDURES = frozenset(["derivative", "gradient", "hessian", "jacobian", "value-and-gradient"])
DERIVATIVES = frozenset(["derivative", "derivative-F", "derivative-R"])
OF_STRINGS = {"=": "equal?", "+": "string-append"}
LONGEST_LIST = 1000  # elements that are checked to decide whether it is a list
MORE = {"apply": " with a list; where x holds a pair of arguments, `(f x)` calls f with both"}
# These forms bind names in their first operands.
BINDERS = frozenset(["lambda", "define", "let", "let*", "letrec", "letrec*", "do"])
UNSUITED = frozenset(
    [
        "bundle-do-not-conform",
        "invalid-argument",
        "no-matching-pair",
        "not-a-procedure",
        "wrong-number-of-arguments",
    ]
)
# Errors of a call that do not depend on its operands.
OTHERWISE = frozenset(["unbound-variable", "not-permitted", "internal-error"])
# Compiled when they are first used: most programs start without.
_ASSIGNED = r"[ \t]*=[ \t]*\S"
_NUMERAL = r"[-+.]*\d"
_IDENTIFIER = r"\b[^\W\d]\w*"


def hint_for(name: str, known: Iterable[str], own: Iterable[str] = ()) -> str:
    """A hint for an unbound name: similar names that are known, or have a meaning there in the same text."""
    return suggestion(name, known, own) or NOTHING


def hint_to_import(name: str, module: str) -> str:
    """A hint for an unbound name that a module of the library exports."""
    other = other_language_hint(name)
    return f'`(import "{module}")` defines it' + (f"; otherwise, {other}" if other is not None else "")


def hint_at_choice(error: VladError) -> None:
    """Begin the hint of an error about a word, which should have been one of few, with what was meant."""
    meant = among(error.name, error.choices) if error.name is not None and error.choices else None
    if meant is not None:
        error.hint = f"{meant} {error.hint}" if error.hint else meant


def clarify(
    error: VladError,
    known: Iterable[str],
    keywords: Iterable[str],
    is_bound: Callable[[str], bool],
    own: Callable[[Span], Iterable[str]],
) -> None:
    """Add a hint to an error about an unbound name. Operands are evaluated before the operator is found to be unbound: if it was
    meant as a keyword, as in `(lamda (x) x)`, the error is about the operator, and not about an operand, such as an unbound x, or
    a value that cannot be called. `own`: the names that have a meaning at a place of its text.
    """
    head = None if error.span is None else _meant_as_keyword(error.span, keywords, is_bound)
    if head is not None:
        error.code, error.name = "unbound-variable", head.symbol.name
        error.reword(unbound_message(error.name))
        error.span, error.hint, error.irritants = head.span, suggestion(head.symbol.name, keywords), []
    elif error.code == "unbound-variable" and error.name is not None:
        name = error.name
        error.hint = (
            _as_assignment(error.span, name)
            or _as_bare_parameter(error.span, name)
            or _as_sequence(error.span, name)
            or other_language_hint(name)
            or _as_notation(name, set(known))
            or hint_for(name, {*known, *keywords}, () if error.span is None else own(error.span))
        )
    elif error.span is not None:
        error.hint = _as_elsewhere(error.span, set(known)) or error.hint


def describe_pattern(error: VladError, pattern: Span, name: str = "", value: Value = None) -> bool:
    """Make an error about a pattern `(list x y)` say that it takes a list of two. `name`: the procedure of which the pattern is a
    parameter; `value`: the whole value, if it is known, as the error has only the rest of it. Returns whether it did.
    """
    form = _form(pattern)
    if form is None or not pattern.text.startswith("(list ") or "..." in names_in(pattern.text):
        return False
    parts, left = form.items[1:], _short(" ".join(error.irritants))
    if value is not None:
        given = _as_list(value)
        error.irritants, error.kinds = [written_in_message(value, limit=200)], (kind(value),)
    elif error.code == "not-equivalent":
        given = f"`{left}` is left over"
    else:
        given = "this one is shorter" if left == "()" else f"`{left}` is no list, nor are several arguments"
    if all(isinstance(part, Name) for part in parts):
        example = " ".join(["(list", *map(str, range(1, len(parts) + 1))]) + ")"
        given = f"such a list is `{example}`; {given}"
    owner = f" of {name}" if name else ""
    error.reason, error.reason_code, error.hint = error.message, error.code, given
    error.reword(f"The parameter `{_short(pattern.text)}`{owner} takes a list of {len(parts)}")
    error.is_of_list = True
    return True


def _as_list(value: Value) -> str:
    """A description of the length of a list, or of another value."""
    count, rest = 0, look(value)
    while type(rest) is tuple and len(rest) == 2:
        count, rest = count + 1, look(rest[1])
    if rest == ():
        return f"this one has {count}"
    if count:
        return "this is none, nor are several arguments"
    return f"this is {kind_text(value)}{way_with('', (Kind.LIST,), [kind(value)])[0]}"


def _as_assignment(span: Span | None, name: str) -> str | None:
    """A hint for `x = 3`."""
    if span is None or not re.match(_ASSIGNED, span.source.text[span.end :]):
        return None
    line = span.source.text[: span.start].rpartition("\n")[2]
    return None if line.strip() else f"write `(define {name} VALUE)`"


def _as_bare_parameter(span: Span | None, name: str) -> str | None:
    """A hint for `(lambda x: x)`, which is a procedure of a whole argument list named `x:`."""
    if span is None or f"{name}:" not in span.source.text:  # the pattern of a long name takes long to compile
        return None
    if not re.search(rf"\(\s*lambda\s+{re.escape(name)}:", span.source.text):
        return None
    return f"write `(lambda ({name}) BODY)`"


def _as_sequence(span: Span | None, name: str) -> str | None:
    """A hint for `(let ((x 3) (y x)) y)`."""
    if span is None:
        return None
    for form in _around(span):
        head = form.items[0]
        if not (isinstance(head, Name) and head.symbol.name == "let" and len(form.items) > 2):
            continue
        bindings = form.items[1] if isinstance(form.items[1], Form) else form.items[2]
        if isinstance(bindings, Form) and _has_before(bindings, name, span):
            return "`let` gives all its names their values at once; `let*` one after the other"
    return None


def _as_notation(name: str, known: set[str]) -> str | None:
    """A hint for notation of other languages, or for names with the prefix of a module."""
    power = re.fullmatch(r"([^*^]+)(?:\*\*|\^)([^*^]+)", name)
    if power is not None:
        return f"write `(expt {power.group(1)} {power.group(2)})`"
    by_name = re.fullmatch(r":([a-z][-a-z]*)|([a-z][-a-z]*)=.*", name)
    if by_name is not None:
        return f"an operand by name is written `#:{by_name.group(1) or by_name.group(2)} VALUE`"
    if name.startswith(tuple("“”„‘’«")):
        return 'a text stands between straight quotes, `"…"`'
    if name.startswith(("//", "/*")):
        return "a comment begins with `;`"
    _, colon, rest = name.partition(":")
    return f"`{rest}` is not of that module; it is known by itself" if colon and rest in known else None


def _has_before(bindings: Form, name: str, span: Span) -> bool:
    """Whether a binding before the one that contains `span` binds the name."""
    before = [binding for binding in bindings.items if binding.span.end <= span.start]
    is_inside = any(binding.span.start <= span.start < binding.span.end for binding in bindings.items)
    return is_inside and any(
        isinstance(binding, Form) and binding.items and name in names_in(binding.items[0].span.text)
        for binding in before
    )


def _as_elsewhere(span: Span, known: set[str]) -> str | None:
    """A hint for a call in mathematical notation: `(1 + 2)`, or `f(3)`, where the list is called. If the
    operator is a known name, the error may be about something inside it.
    """
    form = _form(span)
    if form is None:
        return None
    texts = [item.span.text for item in form.items]
    if len(texts) > 2 and texts[1] in OPERATORS and texts[0] not in known:
        return f"the procedure comes first{':' if texts[3:] == [] else ', as in'} `({texts[1]} {texts[0]} {texts[2]})`"
    before = [token for token in tokens(span.source.text) if token.end == span.start]
    if not before or before[0].kind != "atom":
        return _as_data(form)
    name = span.source.text[before[0].start : before[0].end]
    return f"the procedure stands inside the parentheses: `({' '.join([name, *texts])})`"


def _form(span: Span) -> Form | None:
    """The form at a place; None if it is empty, or if there is something else."""
    try:
        found = read(Source("", span.text))
    except VladError:
        return None
    if len(found) == 1 and isinstance(found[0], Form) and found[0].items:
        return found[0]
    return None


def _as_data(form: Form) -> str | None:
    """A hint for `(1 2 3)`, where a list was meant."""
    if not isinstance(form.items[0], Literal):
        return None
    return f"only procedures can be called; a list of data has a quote before it: `'{_short(form.span.text)}`"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN and "\n" not in text else "(…)"


def describe_number(
    error: VladError,
    signature_of: Callable[[str], Signature | None],
    usage_of: Callable[[str], Usage | None],
) -> bool:
    """Make an error say that a procedure of the library, or a primitive, was called with the wrong number of arguments, if
    that caused it. By the tuple rule the last argument stood for all remaining ones, or the excess ones for one, and a part of it
    was unsuitable. `signature_of` covers the names with their standard meaning. Returns whether the number is wrong.
    """
    span = error.span
    if type(error) is not VladError or type(span) is not Span or error.code in OTHERWISE:
        return False
    form = _form(span)
    if form is None or form.tail is not None or not isinstance(form.items[0], Name):
        return False
    name, operands = form.items[0].symbol.name, _by_place(form)
    taken, count = signature_of(name), len(operands)
    if (
        taken is None
        or taken.rest
        or taken.name != name
        or count in (0, taken.count)
        or has_own_form(name, count)
    ):
        return False
    if count > taken.count:
        is_of_another = error.irritants in [[operand.span.text] for operand in operands[: taken.count - 1]]
        if is_of_another or _takes_more(usage_of(name)) or error.code == "user-error":
            return False
    if _is_local(span, name):
        return False
    found = wrong_number(taken, count, error)
    if found.message == error.message:
        return True
    if count < taken.count:
        found.hint = (
            f"{found.hint}; the last, `{_short(operands[-1].span.text)}`, stands for all that are left"
        )
    elif taken.count:
        found.hint = f"{found.hint}; the last {count - taken.count + 1} come as one"
    if error.reason is None:
        error.reason, error.reason_code = found.reason, found.reason_code
    error.code, error.hint, error.irritants, error.kinds = found.code, found.hint, [], ()
    error.name, error.expected, error.got, error.hinted = found.name, found.expected, found.got, found.hinted
    error.wording, error.names_itself, error.is_of_list = None, False, False
    error.reword(found.message)
    return True


def _takes_more(usage: Usage | None) -> bool:
    """May the last parameter stand for several? Primitives check it themselves."""
    return usage is None or usage.takes_more


def _by_place(form: Form) -> list[Syntax]:
    """The positional operands of a call."""
    found: list[Syntax] = []
    operands = iter(form.items[1:])
    for operand in operands:
        if isinstance(operand, Keyword):
            next(operands, None)
        else:
            found.append(operand)
    return found


def _is_local(span: Span, name: str) -> bool:
    """Whether an enclosing form may bind the name."""
    for form in _around(span):
        head = form.items[0]
        if isinstance(head, Name) and head.symbol.name in BINDERS:
            binding = [item for item in form.items[1:3] if not item.span.contains(span)]
        else:
            binding = []
        inside = [item.items[1] for item in form.items if _is_definition(item) and isinstance(item, Form)]
        if any(name in names_in(item.span.text) for item in [*binding, *inside]):
            return True
    return False


def _is_definition(item: Syntax) -> bool:
    head = item.items[0] if isinstance(item, Form) and len(item.items) > 1 else None
    return isinstance(head, Name) and head.symbol.name == "define"


def show_call(error: VladError, usage_of: Callable[[str], Usage | None], is_counted: bool) -> None:
    """For an error inside a procedure of the library, add the usage of that procedure: operands may be in the wrong order, or
    wrong. `usage_of` returns the usage of a name of the library. `is_counted`: does the error state their number already?
    """
    _show_way_for_tensors(error, usage_of)
    _show_result_called(error, usage_of)
    _show_procedure_of_none(error)
    if error.span is None or error.code not in UNSUITED:
        _show_excess(error, usage_of)
        return
    if error.is_of_list and error.span.text.startswith("(list "):
        return  # a pattern, not a call
    miscounted = None if is_counted else _miscounted(error.span, usage_of)
    if miscounted is not None:
        error.add_hint(miscounted)
        return
    if any(entry.span is None or not in_library(entry.span) for entry in error.backtrace[:1]):
        return
    form = _form(error.span)
    if form is not None and _is_derivative_of_several(form, error):
        error.add_hint("`derivative` is for procedures of one number, `gradient` for those of several")
    if form is None or not isinstance(form.items[0], Name):
        return
    name = form.items[0].symbol.name
    usage = usage_of(name)
    if usage is not None:
        error.add_hint(f"{name} is called as `{usage.text}`{MORE.get(name, '')}", piece=usage.text)


def _show_excess(error: VladError, usage_of: Callable[[str], Usage | None]) -> None:
    """For an error that the library raises by itself, say it if excess operands are one value, as in `(iota 3 1)`."""
    form = _form(error.span) if error.span is not None and error.code == "user-error" else None
    head = form.items[0] if form is not None and form.tail is None else None
    usage = usage_of(head.symbol.name) if isinstance(head, Name) else None
    if form is None or usage is None or usage.takes_more or not all(map(_is_inside, error.backtrace[:1])):
        return
    count = len(form.items) - 1
    if count > usage.count and not any(isinstance(item, Keyword) for item in form.items):
        taken = f"{usage.count} argument{'s' if usage.count > 1 else ''}"
        last = f"of which the last {count - usage.count + 1} come" if usage.count > 1 else "which come"
        error.add_hint(f"`{usage.text}` has {taken}; {count} are here, {last} as one")


def _show_way_for_tensors(error: VladError, usage_of: Callable[[str], Usage | None]) -> None:
    """Add the counterpart for tensors if `sort` was called with a tensor, or with nothing else."""
    name = error.name
    way = None if name is None else FOR_TENSORS.get(name)
    may_be = Kind.TENSOR in error.kinds or error.got == 1
    if way is not None and name is not None and may_be and usage_of(name) is not None:
        error.add_hint(way, piece=way)


def _show_result_called(error: VladError, usage_of: Callable[[str], Usage | None]) -> None:
    """Add the call that was meant by `(gradient f 3)`: that of the procedure which is returned."""
    if error.span is None or error.code not in ("user-error", "wrong-number-of-arguments"):
        return
    form = _form(error.span)
    if form is None or form.tail is not None or not isinstance(form.items[0], Name):
        return
    name, texts = form.items[0].symbol.name, [item.span.text for item in form.items[1:]]
    if error.code == "user-error" and name not in OF_PROCEDURES:
        return
    usage = usage_of(name)
    is_curried = usage is not None and usage.text.startswith(f"(({name} ")
    taken = 1 if is_curried else RETURNING.get(name, len(texts)) if error.name == name else len(texts)
    if taken < len(texts) and not _is_local(error.span, name):
        hint_to_call_result(error, name, taken, texts)


def _show_procedure_of_none(error: VladError) -> None:
    """Say it if a procedure of some arguments is called without any, elsewhere than at the place of the error."""
    form = _form(error.span) if error.span is not None and error.got == 0 and error.expected else None
    if form is not None and len(form.items) > 1 and error.code == "wrong-number-of-arguments":
        error.add_hint("it is called without arguments: a procedure of none is `(lambda () BODY)`")


def _is_derivative_of_several(form: Form, error: VladError) -> bool:
    """Whether it is `((derivative f) 1)`, where f takes several arguments."""
    head = form.items[0]
    derivative = head.items[0] if isinstance(head, Form) and head.items else None
    is_one = error.got == 1 and error.expected != 1
    return is_one and isinstance(derivative, Name) and derivative.symbol.name in DERIVATIVES


def _miscounted(span: Span, usage_of: Callable[[str], Usage | None]) -> str | None:
    """A hint for `(argmin f '(1 2))`: by the tuple rule the list stands for the two remaining arguments; or for an excess one,
    if the last parameter stands for all remaining ones.
    """
    for form in reversed(list(_around(span))):
        head, *operands = form.items
        usage = usage_of(head.symbol.name) if isinstance(head, Name) and operands else None
        if usage is None or form.tail is not None or usage.takes_more:
            continue
        call, taken = usage.text, usage.count
        if len(operands) > taken > 1 and not any(isinstance(operand, Keyword) for operand in operands):
            last = f"the last {len(operands) - taken + 1}"
            return f"`{call}` has {taken} arguments; {len(operands)} are here, of which {last} come as one"
        if len(operands) < taken and operands[-1].span.text.startswith(("'", "(list ", "(cons ")):
            here = "1 is" if len(operands) == 1 else f"{len(operands)} are"
            last = _short(operands[-1].span.text)
            return f"`{call}` has {taken} arguments; {here} here, and the last, `{last}`, stands for all that are left"
    return None


def _is_inside(entry: Backtrace) -> bool:
    return entry.span is not None and in_stdlib(entry.span)


def attribute_to_library(error: VladError, is_of_library: Callable[[str], bool]) -> None:
    """If an operand was unsuitable inside a procedure of the library, make the error name that procedure, as far as its
    name is written at the place of the error; the original message becomes the reason.
    """
    if error.wording is None or error.span is None or in_library(error.span) or error.reason is not None:
        return
    words = names_in(error.span.text)
    if error.name in words:
        return
    inside = [entry.name for entry in error.backtrace if _is_inside(entry)]
    for name in [*inside, *words[:1]]:
        if inside and name in words and is_of_library(name):
            attribute_to(name, error)
            return


def attribute_to(name: str, error: VladError) -> None:
    """Make an error about an unsuitable operand, if it is one, name this procedure."""
    if error.wording is not None and error.reason is None:
        if error.names_itself:
            error.hint, error.names_itself = f"inside it, {error.hint}", False
        error.reason, error.reason_code, error.name = error.message, error.code, name
        # of an operation inside, which may have got one value twice
        error.irritants = list(dict.fromkeys(error.irritants))
        error.reword(error.wording.format(name))


def names_in(text: str) -> list[str]:
    """The names in a text, with repetitions."""
    atoms = [text[token.start : token.end] for token in tokens(text) if token.kind == "atom"]
    return [atom for atom in atoms if not re.match(_NUMERAL, atom)]


def _meant_as_keyword(span: Span, keywords: Iterable[str], is_bound: Callable[[str], bool]) -> Name | None:
    """The first operator, of the enclosing forms from the outside in, that is unbound and similar to a
    keyword. A name that occurs twice in the text may be a local one.
    """
    keywords = list(keywords)
    words = names_in(span.source.text)
    for form in _around(span):
        head = form.items[0]
        if isinstance(head, Name) and head.span.start != span.start:
            name = head.symbol.name
            if words.count(name) == 1 and not is_bound(name) and suggestion(name, keywords) is not None:
                return head
    return None


def _around(span: Span) -> Iterator[Form]:
    """The enclosing forms of a place, from the outside in."""
    try:
        inside: Iterable[Syntax] = read(span.source)
    except VladError:
        return
    while True:
        found = [item for item in inside if item.span.start <= span.start and span.end <= item.span.end]
        if not found or not isinstance(found[0], Form) or not found[0].items:
            return
        yield found[0]
        inside = found[0].items


def is_short_list(value: Value) -> bool:
    """Whether it is a proper list, within a bounded number of elements."""
    for _ in range(LONGEST_LIST):
        if type(value) is not tuple or len(value) != 2:
            return type(value) is tuple and not value
        value = look(value[1])
    return False


_KINDS = {
    Boolean: Kind.BOOLEAN,
    Symbol: Kind.SYMBOL,
    String: Kind.STRING,
    Opaque: Kind.HOST,
    Table: Kind.TABLE,
}

_KINDS_OF_ROLES = {Role.RECORD: Kind.RECORD, Role.VECTOR: Kind.VECTOR}


def kind(value: Value) -> Kind:
    value = look(value)
    if type(value) is float:
        return Kind.REAL
    if type(value) is Tensor:
        return Kind.TENSOR
    of_python = structure_of_python(value)
    if of_python is not None:
        return Kind(of_python)
    if type(value) is not tuple:
        return _KINDS.get(type(value), Kind.OTHER)
    if not value:
        return Kind.NIL
    if is_short_list(value):
        return Kind.LIST
    if len(value) == 2:
        return Kind.PAIR
    return _KINDS_OF_ROLES.get(value[0].role, Kind.PROCEDURE)


def kind_text(value: Value) -> str:
    """A description of a value's kind, for a hint."""
    found = kind(value)
    if found is Kind.TENSOR:
        return f"{found.value} {shape_text(look(value).shape)}"
    return f"{found.value} of type {look(value)[0].name}" if found is Kind.RECORD else found.value


def expected_of(operands: tuple[Value, ...]) -> tuple[str, tuple[Kind, ...]]:
    """What a rule of reals and tensors takes: in a hint's words, and the kinds that these speak of."""
    if len(operands) == 1:
        return "a real", (Kind.REAL,)
    if any(type(look(operand)) is Tensor for operand in operands):
        return "reals and tensors", (Kind.REAL, Kind.TENSOR)
    return "reals", (Kind.REAL,)


# The ends of hints in Python functions.
_ARRAY = "; `np.array(l)` makes an array of a list, which is computed with as numbers are"
_EACH = f"; a comprehension computes it of each element{_ARRAY}"
_PARTS = "; `t[i]` is an entry of an array, `t.tolist()` a list of all"


def way_with(name: str, of: Collection[Kind], kinds: Collection[Kind]) -> tuple[str, str]:
    """What is for operands of these kinds, or how one comes from a list to a tensor, or back: in the language, and in Python;
    `of`: what the operation takes."""
    given = set(kinds)
    if name == "argmax" and Kind.PROCEDURE in given:
        return "; `argmin` of its negative finds where a procedure is greatest", ""
    if name == "argminimum" and Kind.PROCEDURE in given:
        return "; `argmin` finds where a procedure is least", ""
    if Kind.TENSOR in of and Kind.LIST in given:
        return "; `(tensor l)` makes one of a list", _ARRAY
    if Kind.REAL in of and list(kinds) == [Kind.REAL, Kind.NIL]:
        # the end of a list whose elements were taken as operands
        return f"; `(apply {name} l)` is for the elements of a list", _ARRAY
    if Kind.REAL in of and given == {Kind.LIST} and len(kinds) == 1:
        return f"; `(map {name} l)` computes it of each element", _EACH
    if Kind.REAL in of and given <= {Kind.LIST, Kind.REAL}:
        way = "; `v+` adds lists and `k*v` scales them; tensors, such as `(tensor l)`, are computed with as numbers are"
        return way, _ARRAY
    if given == {Kind.STRING} and name in OF_STRINGS:
        return f"; `{OF_STRINGS[name]}` is for strings", ""
    if Kind.TENSOR in given and (Kind.LIST in of or Kind.PAIR in of):
        return (
            "; `(tensor-ref t i)` takes an entry of a tensor, `(tensor->list t)` makes a list of one",
            _PARTS,
        )
    return NO_WAYS


def way_into(value: Value) -> tuple[str, str]:
    """A hint for a structure that was called to get an element, in the language, and in Python."""
    in_python = "; an element is `a[i]`, in square brackets"
    if type(look(value)) is Tensor:
        return "; `(tensor-ref t i)` takes an entry of a tensor", in_python
    is_list = is_short_list(value) and look(value)
    return ("; `(list-ref l i)` takes an element of a list", in_python) if is_list else NO_WAYS


def as_in_python(error: VladError) -> None:
    """Make the hint of an error in a Python function speak of what Python has."""
    way, in_python = error.ways
    if way and error.hint:
        error.hint, error.ways = error.hint.replace(way, in_python, 1), NO_WAYS
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError) and error.span is not None:
        word = error.span.text
        known = {*re.findall(_IDENTIFIER, error.span.source.text), *dir(builtins)} - {*kwlist}
        if word in known:  # it is the name itself
            error.hint = among(word, {one: one for one in known if one != word}) or error.hint
