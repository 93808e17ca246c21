"""The rows of pairs, predicates, symbols and strings.

Predicates inspect a value as it is; inside transformed code they get bare values and so apply to the primal. The derivatives
of rows that take pairs apart construct sensitivities, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from vlad.control.safe_import import import_safely
from vlad.core.types import Recursion, Sharing, is_table, is_tensor
from vlad.data.errors import Kind, VladError, unsuitable
from vlad.data.tables import VALUE, Table
from vlad.data.tensors import Tensor, holds, same_numbers
from vlad.data.values import (
    FALSE,
    NIL,
    TRUE,
    ZERO,
    Boolean,
    Code,
    Deferred,
    Primitive,
    Role,
    String,
    Symbol,
    Value,
    is_pair,
    is_procedure,
    look,
)
from vlad.data.write import written
from vlad.primitives.numbers import invalid
from vlad.primitives.ropes import same_texts
from vlad.primitives.type_rules import entry_by_entry, every, known

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator

NO_PROCEDURES = (Role.RECORD, Role.TABLE, Role.VECTOR)

# Type rules: operands (`k`, with a `type`) belong to the compiler's AbstractInterpreter (`w`, in compile/analysis/).


def _abstract_part(name: str, index: int) -> Callable[[Any, Any], Any]:
    def part(w: AbstractMachine, p: Any) -> Any:
        if p.type.now is p.type and p.type.kind == "pair":  # most are: `each` would do the same
            return w.part(p, index)

        def of_one(p: Any) -> Any:
            if p.type.kind == "pair":
                return w.part(p, index)
            return p if p.type.of is ZERO else w.invalid(name)

        return w.each(p, of_one)

    return part


def _by_type(test: Callable[[Any], bool]) -> Callable[[Any, Any], Any]:
    """A predicate that depends on the type alone."""
    return lambda w, x: w.each(x, lambda x: w.truth(test(x.type)))


def _abstract_integer(w: AbstractMachine, x: Any) -> Any:
    row = w.machine.table["whole?"]
    return w.each(x, lambda x: w.scalar(row, [x]) if x.type.head == "real" else w.truth(False))


def _abstract_not(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        if x.type.kind == "boolean":
            return w.compute(w.machine.table["not"], [x], w.types.boolean)
        if is_tensor(x.type) and x.type.of.kind == "bool":
            return w.fail("A tensor of booleans is no condition")
        return w.truth(x.type.of is FALSE)

    return w.each(x, of_one)


def _wraps_procedure_type(type_: Any) -> bool:
    while type_.kind == "closure" and type_.of.role is Role.TAG:
        code, type_ = type_.of, type_.parts[0]
        if _is_one_way(code) and type_.kind == "closure" and type_.of.primitive is not None:
            return False
    return bool(type_.kind == "closure" and type_.of.role not in NO_PROCEDURES)


def _abstract_same(w: AbstractMachine, a: Any, b: Any) -> Any:
    """eq?, on structures only if they are empty."""

    def of_two(a: Any, b: Any) -> Any:
        if a.type.head != b.type.head:
            return w.truth(False)
        if a.type.head == "real":
            return w.scalar(w.machine.table["same?"], [a, b])
        if a.type.kind == b.type.kind == "constant":
            return w.truth(same(a.type.of, b.type.of))
        if a.type.head == "string":
            return same_texts(w, a, b)
        if a.type.head == "boolean":
            return w.compute(w.machine.table["same-boolean?"], [a, b], w.types.boolean)
        if is_tensor(a.type):
            return every(w, entry_by_entry(w, w.machine.table["same?"], [a, b]))
        if a.type.parts:
            return w.unbounded(
                "`eq?` of structures is not compiled", hint="`equal?` is compiled; it compares the parts"
            )
        return w.truth(True)

    return w.each_two(a, b, of_two)


_NO_IDENTITY = (
    "in a translated function functions that are made inside of one are not compared, nor a plain function that is given with"
    " itself as the text names it: decorate it by vlad.function, or compare names or numbers that stand for functions"
)


def _is_one_function(
    ids: Mapping[Code, object], a: Code, b: Code, are_closed: bool, is_same: bool
) -> bool | None:
    """== of functions of Python, by their codes; None if it is not known. One that captures nothing is the same value each time
    it is made, and a plain function that is given is another value than its translation. `ids`: what tells those of Python apart.
    """
    if a is b and are_closed:
        return None if a.is_inside else True
    if _is_given(a) and _is_given(b):
        return ids[a] == ids[b]
    if _is_given(a) == _is_given(b):
        return is_same
    given, other = (a, b) if _is_given(a) else (b, a)
    is_other = ids[given] != ids[other] if other in ids else other.is_inside
    return False if is_other else None


def _is_given(code: Code) -> bool:
    """Is it a function that Python runs?"""
    return code.primitive is not None and code.primitive.effect


def _of_python(f: Value) -> Value:
    seen = look(f)
    return boolean(is_procedure(seen) and _is_given(seen[0]))


def _abstract_of_python(w: AbstractMachine, f: Any) -> Any:
    return w.each(f, lambda f: w.truth(f.type.kind == "closure" and _is_given(f.type.of)))


def _same_function(machine: Evaluator, a: Value, b: Value) -> Value:
    a, b = look(a), look(b)
    for one in (a, b):
        if not is_procedure(one):
            raise invalid("same-function?", "a procedure", one)
    found = _is_one_function(machine.ids_in_python, a[0], b[0], len(a) == len(b) == 1, same(a, b))
    if found is None:
        raise import_safely("vlad.data.raised").refusal("TypeError", _NO_IDENTITY)
    return boolean(found)


def _abstract_same_function(w: AbstractMachine, a: Any, b: Any) -> Any:
    def of_two(a: Any, b: Any) -> Any:
        if not a.type.kind == b.type.kind == "closure":
            return w.invalid("same-function?")
        one, other = a.type.of, b.type.of
        if one is other and a.type.parts:
            return _abstract_same(w, a, b)
        found = _is_one_function(w.machine.ids_in_python, one, other, one is other, False)
        return w.unsupported(_NO_IDENTITY) if found is None else w.truth(found)

    return w.each(a, lambda a: w.each(b, lambda b: of_two(a, b), "b"), "a")


def _equal_types(w: AbstractMachine, a: Any, b: Any) -> Any:
    def of_two(a: Any, b: Any) -> Any:
        if a.type.head != b.type.head or not a.type.parts:
            return _abstract_same(w, a, b)
        if is_table(a.type):
            return w.invoke(w.system("equal-tables?"), (), [a, b], False)
        return _equal_parts(w, w.parts(a), w.parts(b), 0)

    return w.each_two(a, b, of_two)


def _equal_parts(w: AbstractMachine, left: list[Any], right: list[Any], at: int) -> Any:
    """Whether two lists of parts are equal from a position on."""
    key = w.key
    test = w.recursive(EQUAL, left[at], right[at])
    if at + 1 == len(left) or test is None or test.type is w.types.false:
        return test
    w.key = key

    def others() -> Any:
        w.key = (key, "and", at)
        return _equal_parts(w, left, right, at + 1)

    if test.type is w.types.true:
        return others()
    return w.branch((key, "and", at), test, others, lambda: w.truth(False), False)


EQUAL = Recursion("equal?", _equal_types, Sharing.VISITS)


def _abstract_expect(w: AbstractMachine, x: Any, d: Any) -> Any:
    message = not_expected(known(w, d))

    def of_one(x: Any) -> Any:
        if x.type.head != d.type.head:
            return w.misfitting(message)
        key = w.key
        test = w.recursive(EQUAL, x, d)
        if test is None or test.type is w.types.false:
            return w.by_value(message)
        if test.type is w.types.true:
            return x
        return w.branch((key, "expected"), test, lambda: x, lambda: w.by_value(message), False)

    return w.each(x, of_one)


def not_expected(d: Value) -> str:
    """The message of an argument for a parameter that takes only this constant."""
    return f"{written(d)} was expected here"


def boolean(value: bool) -> Boolean:
    return TRUE if value else FALSE


def _part(name: str, index: int, mismatch: Callable[[Value], VladError]) -> Callable[[Value], Value]:
    def part(p: Value) -> Value:
        if p is ZERO:
            return ZERO
        seen = look(p)
        if type(seen) is not tuple or len(seen) != 2:
            raise mismatch(seen)
        return seen[index]

    return part


def _no_pair(value: Value) -> VladError:
    return VladError(
        "no-matching-pair",
        "A pair was expected here",
        hint="a parameter takes a pair or a list apart here; this is none, or too short",
        irritants=(value,),
    )


def _expect_constant(x: Value, d: Value) -> Value:
    if not equal(x, d):
        hint = (
            "a parameter takes a list apart here; this is longer, or no list"
            if d == ()
            else f"the parameter is the constant {written(d)}, which takes only an equal argument"
        )
        raise VladError("not-equivalent", not_expected(d), hint=hint, irritants=(x,))
    return x


def _refuse_derivative(message: Value, hint: Value, x: Value, s: Value) -> Value:
    if s is ZERO or (type(s) is Deferred and s.zero_of is not None) or not _may_vary(x):
        return ZERO
    raise VladError("no-derivative", message.text, hint=hint.text)


def _may_vary(x: Value) -> bool:
    """Whether it may have tangents other than zero. Structures are not searched."""
    if type(x) is Tensor:
        return x.is_real
    return type(x) in (float, Deferred, Table) or (type(x) is tuple and len(x) > 1)


def same(a: Value, b: Value) -> bool:
    """eq?: the same object; reals, strings, tensors and () by value."""
    if type(a) is float or type(b) is float:
        return type(a) is type(b) and (a == b or (a != a and b != b))
    if type(a) is String and type(b) is String:
        return bool(a.text == b.text)
    if type(a) is Tensor and type(b) is Tensor:
        return a is b or same_numbers(a, b)
    return a is b or (type(a) is tuple is type(b) and not a and not b)


def equal(a: Value, b: Value) -> bool:
    """equal?: pairs part by part, tables by their keys, procedures of the same code by their environments, anything else as eq?.

    Shared parts are compared once.
    """
    work = [(a, b)]
    seen: set[tuple[int, int]] = set()
    kept = []
    while work:
        x, y = work.pop()
        x, y = look(x), look(y)
        if x is y:
            continue
        if type(x) is tuple and type(y) is tuple and len(x) == len(y) > 1 and (len(x) == 2 or x[0] is y[0]):
            key = (id(x), id(y))
            if key not in seen:
                seen.add(key)
                kept.append((x, y))  # so that their ids stay unique
                work += [(x[k], y[k]) for k in range(len(x) - 1, -1, -1)]
        elif type(x) is Table and type(y) is Table:
            pairs = x.paired(y)
            if pairs is None:
                return False
            work += [(leaf[VALUE], part) for leaf, part in reversed(pairs)]
        elif not same(x, y):
            return False
    return True


def _wraps_procedure(value: Value) -> bool:
    """procedure?: an AD value is one if the value it wraps is; a perturbed or sensitized primitive is not."""
    value = look(value)
    while is_procedure(value) and value[0].role is Role.TAG:
        code, value = value[0], look(value[1])
        if _is_one_way(code) and is_procedure(value) and value[0].primitive is not None:
            return False
    return is_procedure(value) and value[0].role not in NO_PROCEDURES


def _is_one_way(code: Code) -> bool:
    """Is a tag that of perturbations or of sensitivities?"""
    codes = code.machine.codes
    return code is codes.get("perturbation") or code is codes.get("sensitivity")


def _predicate(
    name: str,
    doc: str,
    test: Callable[[Value], bool],
    python: str,
    abstract: Callable[..., Any],
    c: str = "",
    **uses: Any,
) -> Primitive:
    return Primitive(
        name, "x", doc, value=lambda x: boolean(test(x)), python=python, uses=uses, type="any -> boolean",
        forward="zero", reverse={}, abstract=abstract, c=c,
    )  # fmt: skip


def constant_row(
    name: str, operands: str, doc: str, value: Callable[..., Value], type: str, **columns: Any
) -> Primitive:
    """A row whose result has no tangents: symbols, strings, tests."""
    return Primitive(name, operands, doc, value=value, type=type, forward="zero", reverse={}, **columns)


def _no_record(name: Value, expected: Value, x: Value) -> Value:
    raise invalid(name.text, expected.text, x)


def _no_parts(name: Value, expected: Value, x: Value, before: Value, rest: Value) -> Value:
    parts, rest = int(before), look(rest)
    while type(rest) is tuple and len(rest) == 2:
        parts, rest = parts + 1, look(rest[1])
    parts += rest != NIL
    hint = f"{name.text} takes {expected.text}; this one has {parts or 'no'} part{'' if parts == 1 else 's'}"
    raise unsuitable(name.text, hint, (x,), names_itself=True)


def _no_procedure(name: Value, fields: Value) -> Value:
    hint = f"only procedures can be called, and records whose type states #:call; this is a record of type {name.text}"
    raise VladError("not-a-procedure", "Target is not a procedure", hint=hint)


def _is_null(value: Value) -> bool:
    return bool(look(value) == NIL)


def _is_false(value: Value) -> bool:
    return value is FALSE or not holds(value)


def _is_integer(value: Value) -> bool:
    return type(value) is float and value % 1.0 == 0.0


ROWS: list[Primitive] = [
    Primitive(
        "cons", "a d",
        "The pair of a and d.\n(cons 1 2)  ⇒ (1 . 2)\n(cons 1 '(2 3))  ⇒ (1 2 3)",
        value=lambda a, d: (a, d), python="(a, d)", type="any any -> pair",
        forward="(cons da dd)", reverse={"a": "(car s)", "d": "(cdr s)"}, abstract=lambda w, a, d: w.pair(a, d),
    ),
    Primitive(
        "car", "p",
        "The first part of a pair.\n(car '(1 2 3))  ⇒ 1",
        value=_part("car", 0, lambda p: invalid("car", "a pair", p, of=(Kind.PAIR,))),
        type="pair -> any", forward="(car dp)", reverse={"p": "(cons s zero)"},
        abstract=_abstract_part("car", 0),
    ),
    Primitive(
        "cdr", "p",
        "The second part of a pair.\n(cdr '(1 2 3))  ⇒ (2 3)\n(cdr '(1 . 2))  ⇒ 2",
        value=_part("cdr", 1, lambda p: invalid("cdr", "a pair", p, of=(Kind.PAIR,))),
        type="pair -> any", forward="(cdr dp)", reverse={"p": "(cons zero s)"},
        abstract=_abstract_part("cdr", 1),
    ),
    Primitive(
        "no-record", "name expected x", "The error of a procedure of records that is given another value.", value=_no_record,
        type="string string any -> any", forward="zero", reverse={}, effect=True, hidden=True,
        abstract=lambda w, name, expected, x: w.fail(f"Argument to {name.type.of.text} is invalid"),
    ),
    Primitive(
        "no-parts", "name expected x before rest",
        "The same, given a record of the right type with another number of parts: those before the last field, and in it.",
        value=_no_parts, type="string string any real any -> any", forward="zero", reverse={}, effect=True, hidden=True,
        abstract=lambda w, name, expected, x, before, rest: w.fail(f"Argument to {name.type.of.text} is invalid"),
    ),
    Primitive(
        "no-procedure", "name fields", "The error of calling a record whose type does not state what that is.",
        value=_no_procedure, type="string any -> any", forward="zero", reverse={}, effect=True, hidden=True,
        abstract=lambda w, name, fields: w.fail("Target is not a procedure"),
    ),
    Primitive(
        "match-car", "p", "The first part of an argument that a parameter destructures.", value=_part("", 0, _no_pair),
        type="pair -> any", forward="(car dp)", reverse={"p": "(cons s zero)"}, hidden=True,
        abstract=_abstract_part("match-car", 0),
    ),
    Primitive(
        "match-cdr", "p", "The second part of an argument that a parameter destructures.", value=_part("", 1, _no_pair),
        type="pair -> any", forward="(cdr dp)", reverse={"p": "(cons zero s)"}, hidden=True,
        abstract=_abstract_part("match-cdr", 1),
    ),
    Primitive(
        "expect-constant", "x d", "x, which must be equal to the constant d.", value=_expect_constant,
        type="some any -> any", forward="zero", reverse={}, effect=True, hidden=True, abstract=_abstract_expect,
    ),
    Primitive(
        "stop-gradient", "x",
        "x, with the derivative zero.\n((derivative (lambda (x) (* x (stop-gradient x)))) 3)  ⇒ 3",
        value=lambda x: x, type="any -> any", forward="zero",
        reverse={}, abstract=lambda w, x: x,
    ),
    Primitive(
        "refuse-derivative", "message hint x s", "Nothing if s is known to be zero or x has no tangents; else an error.",
        value=_refuse_derivative, type="string string any any -> any", forward="zero", reverse={}, hidden=True,
        abstract=lambda w, message, hint, x, s: w.left_out(
            "derivatives that Python computes are", hint="a derivative stated as a text of the language is compiled"
        ),
    ),
    _predicate(
        "null?",
        "Is x ()?\n(null? '())  ⇒ #t\n(null? '(1))  ⇒ #f",
        _is_null, "_is_null(x)", _by_type(lambda t: t.kind == "constant" and t.of == ()), _is_null=_is_null
    ),
    _predicate("boolean?", "Is x #t or #f?\n(boolean? #f)  ⇒ #t", lambda x: type(x) is Boolean, "type(x) is Boolean",
               _by_type(lambda t: t.head == "boolean"), Boolean=Boolean),
    _predicate("real?",
        "Is x a real?\n(real? 2.5)  ⇒ #t\n(real? #[1 2])  ⇒ #f", lambda x: type(x) is float, "type(x) is float",
               _by_type(lambda t: t.head == "real")),
    _predicate("integer?",
        "Is x a whole number?\n(integer? 3)  ⇒ #t\n(integer? 2.5)  ⇒ #f",
        _is_integer, "type(x) is float and x % 1.0 == 0.0", _abstract_integer),
    _predicate("number?", "Is x a real?\n(number? 3)  ⇒ #t", lambda x: type(x) is float, "type(x) is float",
               _by_type(lambda t: t.head == "real")),
    _predicate(
        "pair?", "Is x a pair?\n(pair? '(1 2))  ⇒ #t\n(pair? '())  ⇒ #f", is_pair,
        "type(x) is tuple and len(x) == 2 or type(x) is Deferred and is_pair(x)", _by_type(lambda t: t.kind == "pair"),
        Deferred=Deferred, is_pair=is_pair,
    ),
    _predicate("procedure?",
        "Can x be applied?\n(procedure? car)  ⇒ #t\n(procedure? 'car)  ⇒ #f",
        _wraps_procedure,
        "type(x) is tuple and (len(x) == 1 or len(x) > 2 and x[0].role is PROCEDURE) or wraps_procedure(x)",
        _by_type(_wraps_procedure_type), wraps_procedure=_wraps_procedure, PROCEDURE=Role.PROCEDURE),
    _predicate("symbol?", "Is x a symbol?\n(symbol? 'a)  ⇒ #t", lambda x: type(x) is Symbol, "type(x) is Symbol",
               _by_type(lambda t: type(t.of) is Symbol), Symbol=Symbol),
    _predicate("string?", "Is x a string?\n(string? \"a\")  ⇒ #t", lambda x: type(x) is String, "type(x) is String",
               _by_type(lambda t: t.head == "string"), String=String),
    _predicate("not",
        "#t for #f, else #f.\n(not #f)  ⇒ #t\n(not 0)  ⇒ #f",
        _is_false, "x is FALSE or x is not TRUE and not holds(x)", _abstract_not,
               c="!{x}", holds=holds),
    constant_row("eq?", "a b",
        "The same value? Reals and strings by value.\n(eq? 'a 'a)  ⇒ #t\n(eq? '(1) '(1))  ⇒ #f",
        lambda a, b: boolean(same(a, b)),
                  "any any -> boolean", abstract=_abstract_same),
    constant_row("eqv?", "a b", "As eq?.\n(eqv? 2 2)  ⇒ #t", lambda a, b: boolean(same(a, b)), "any any -> boolean",
                  abstract=_abstract_same),
    constant_row("equal?", "a b",
        "Equal part by part?\n(equal? '(1 (2 3)) '(1 (2 3)))  ⇒ #t",
        lambda a, b: boolean(equal(a, b)), "any any -> boolean",
                  abstract=_equal_types),
    constant_row("same-function?", "a b", "== of functions of Python.", _same_function, "procedure procedure -> boolean",
                  abstract=_abstract_same_function, needs_machine=True, effect=True, hidden=True),
    constant_row("of-python?", "f", "Is it a procedure that Python runs?", _of_python, "any -> boolean",
                  abstract=_abstract_of_python, hidden=True),
    constant_row("same?", "a b", "eq? of reals.", lambda a, b: boolean(same(a, b)), "real real -> boolean",
                  c="({a} == {b} || ({a} != {a} && {b} != {b}))", hidden=True),
    constant_row("same-boolean?", "a b", "eq? of booleans.", lambda a, b: boolean(a is b), "boolean boolean -> boolean",
                  c="{a} == {b}", hidden=True),
    constant_row("whole?", "x", "Is the real x a whole number?", lambda x: boolean(_is_integer(x)), "real -> boolean",
                  c="({x} - {x} == 0 && floor({x}) == {x})", hidden=True),
]  # fmt: skip
