"""Properties of the expander, on generated programs: values against a direct calculation, renaming, order of definitions."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from amounts import drawn
from expanding import core, items, printed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vlad.data.errors import VladError

MANY = settings(max_examples=drawn(150), deadline=None, suppress_health_check=list(HealthCheck))

# Macros whose templates bind, test and call; the programs below bind the same names that they use.
MACROS = """
(define (plus a b) (+ a b))
(define-syntax both (syntax-rules () ((_ a b) (let ((t a)) (let ((u b)) (plus t u))))))
(define-syntax first-true (syntax-rules () ((_ a b) (let ((t a)) (if (< 0 t) t b)))))
(define-syntax swapped (syntax-rules () ((_ a b e) (let ((t a)) (let ((a b)) (let ((b t)) e))))))
(define-syntax sums (syntax-rules (=>) ((_ => e) e) ((_ (n v) r ... => e) (let ((n v)) (plus n (sums r ... => e))))))
(define-syntax with (syntax-rules () ((_ ((n v) ...) e) ((lambda (n ...) e) v ...))))
"""
NAMES = ["t", "u", "x", "y", "plus", "let", "if", "lambda", "both", "cond", "<", "+"]


@dataclass
class Drawn:
    """A program under construction; `scope` has the values of its local names."""

    draw: st.DrawFn
    scope: dict[str, float] = field(default_factory=dict)

    def choose(self, *of: str) -> str:
        """A form whose keywords and names are not shadowed locally: `PLAIN:NEEDS …`."""
        free = [form for form in of if not any(name in self.scope for name in form.split(":")[1].split())]
        return self.draw(st.sampled_from(free)).split(":")[0]

    def name(self) -> str:
        return self.draw(st.sampled_from(NAMES))

    def bound(self, names: list[str], values: list[float]) -> Drawn:
        return Drawn(self.draw, {**self.scope, **dict(zip(names, values, strict=True))})


def expression(d: Drawn, depth: int) -> tuple[str, float]:
    """The text of an expression and its value."""
    if depth == 0:
        if d.scope and d.draw(st.booleans()):
            name = d.draw(st.sampled_from(sorted(d.scope)))
            return name, d.scope[name]
        number = d.draw(st.integers(-3, 3))
        return str(number), float(number)
    kind = d.choose(
        "leaf:", "add:+", "let:let", "let*:let*", "lambda:lambda", "if:if <", "cond:cond <", "case:case",
        "letrec:letrec lambda +", "define:let", "both:both", "first-true:first-true", "swapped:swapped", "sums:sums",
        "with:with", "named:let", "quasi:car",
    )  # fmt: skip
    if kind == "leaf":
        return expression(d, 0)
    a, value_a = expression(d, depth - 1)
    b, value_b = expression(d, depth - 1)
    n, m = d.name(), d.name()
    match kind:
        case "add":
            return f"(+ {a} {b})", value_a + value_b
        case "let" | "lambda" | "with" if n != m:
            e, value = expression(d.bound([n, m], [value_a, value_b]), depth - 1)
            form = {
                "let": f"(let (({n} {a}) ({m} {b})) {e})",
                "lambda": f"((lambda ({n} {m}) {e}) {a} {b})",
                "with": f"(with (({n} {a}) ({m} {b})) {e})",
            }[kind]
            return form, value
        case "let*":
            c, value_c = expression(d.bound([n], [value_a]), depth - 1)
            e, value = expression(d.bound([n], [value_a]).bound([m], [value_c]), depth - 1)
            return f"(let* (({n} {a}) ({m} {c})) {e})", value
        case "define":
            e, value = expression(d.bound([n], [value_a]), depth - 1)
            # the value of a definition sees its name
            return f"(let ((value {a})) (define {n} value) {e})", value
        case "if":
            return f"(if (< {a} {b}) {a} {b})", min(value_a, value_b)
        case "cond":
            return f"(cond ((< {a} {b}) {a}) (else {b}))", min(value_a, value_b)
        case "case":
            return f"(case {a} ((0 1) {b}) (else {a}))", value_b if value_a in (0, 1) else value_a
        case "both":
            return f"(both {a} {b})", value_a + value_b
        case "first-true":
            return f"(first-true {a} {b})", value_a if value_a > 0 else value_b
        case "swapped" if n != m and n in d.scope and m in d.scope:
            e, value = expression(d.bound([n, m], [d.scope[m], d.scope[n]]), depth - 1)
            return f"(swapped {n} {m} {e})", value
        case "sums":
            c, value_c = expression(d.bound([n], [value_a]), depth - 1)
            e, value = expression(d.bound([n], [value_a]).bound([m], [value_c]), depth - 1)
            return f"(sums ({n} {a}) ({m} {c}) => {e})", value_a + value_c + value
        case "letrec" if n != m and not {n, m} & {"+", "lambda"}:
            return (
                f"(letrec (({n} (lambda (k) ({m} (+ k {3})))) ({m} (lambda (k) k))) ({n} {d.draw(st.just(4))}))",
                7.0,
            )
        case "named" if n not in ("if", "let"):
            # the starting values of a named let see its name
            start = str(int(value_a)) if n in a else a
            return f"(let {n} ((k {start})) k)", value_a
        case "quasi":
            return f"(car `(,{a} b ,{b}))", value_a
    return a, value_a


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, float]:
    return expression(Drawn(draw), draw(st.integers(1, 4)))


@MANY
@given(programs())
def test_values_are_those_of_a_direct_calculation(program: tuple[str, float]) -> None:
    text, value = program
    assert printed(MACROS + text) == [str(int(value))]


@MANY
@given(programs())
def test_expansion_is_the_same_each_time(program: tuple[str, float]) -> None:
    assert core(MACROS + program[0]) == core(MACROS + program[0])


DATA = st.recursive(
    st.sampled_from(["1", "a", "()", '"s"', "#t", "quote", "if"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} . {pair[1]})"),
    ),
    max_leaves=12,
)


@MANY
@given(DATA)
def test_a_template_without_unquote_is_a_quotation(datum: str) -> None:
    assert core(f"`{datum}") == core(f"'{datum}")


@MANY
@given(DATA, DATA)
def test_a_macro_hands_on_what_it_gets(first: str, second: str) -> None:
    macro = "(define-syntax m (syntax-rules () ((_ a b ...) '(b ... (a . a)))))"
    assert core(f"{macro} (m {first} {second} {first})") == core(f"'({second} {first} ({first} . {first}))")


# Definitions: procedures and values that refer to each other.


@st.composite
def definitions(draw: st.DrawFn) -> list[tuple[bool, list[int]]]:
    """For each definition: is it a procedure, and which others it refers to."""
    count = draw(st.integers(1, 7))
    numbers = st.lists(st.integers(0, count - 1), max_size=3, unique=True)
    return draw(st.lists(st.tuples(st.booleans(), numbers), min_size=count, max_size=count))


def needed(start: int, all_: list[tuple[bool, list[int]]]) -> set[int]:
    """The values that a definition refers to, directly and through procedures."""
    found: set[int] = set()
    seen: set[int] = set()
    work = list(all_[start][1])
    while work:
        other = work.pop()
        if other in seen:
            continue
        seen.add(other)
        if all_[other][0]:
            work += all_[other][1]
        else:
            found.add(other)
    return found


@MANY
@given(definitions())
def test_definitions_in_any_order(all_: list[tuple[bool, list[int]]]) -> None:
    """Programs are accepted if each value has its dependencies; then every procedure and value is correct."""
    defines = []
    for at, (is_procedure, others) in enumerate(all_):
        parts = [f"(f{other} (- n 1))" if all_[other][0] else f"v{other}" for other in others]
        if is_procedure:
            defines.append(f"(define (f{at} n) (if (< n 0) 1 (+ 1 0 {' '.join(parts)})))")
        else:
            parts = [part.replace("(- n 1)", "2") for part in parts]
            defines.append(f"(define v{at} (+ 1 0 {' '.join(parts)}))")
    asked = [f"(f{at} 2)" if is_procedure else f"v{at}" for at, (is_procedure, _) in enumerate(all_)]
    program = f"((lambda () {' '.join(defines)} (list {' '.join(asked)})))"
    accepted = all(
        is_procedure or max(needed(at, all_), default=-1) < at for at, (is_procedure, _) in enumerate(all_)
    )
    if not accepted:
        with pytest.raises(VladError) as caught:
            items(program)
        assert caught.value.code == "used-before-definition"
        return
    values: dict[int, int] = {}

    def call(at: int, n: int) -> int:
        if n < 0:
            return 1
        return 1 + sum([call(other, n - 1) if all_[other][0] else values[other] for other in all_[at][1]])

    for at, (is_procedure, others) in enumerate(all_):
        if not is_procedure:
            values[at] = 1 + sum([call(other, 2) if all_[other][0] else values[other] for other in others])
    answers = [call(at, 2) if is_procedure else values[at] for at, (is_procedure, _) in enumerate(all_)]
    assert printed(program) == [f"({' '.join([str(answer) for answer in answers])})"]
