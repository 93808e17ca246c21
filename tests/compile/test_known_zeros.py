"""A tangent or sensitivity to which nothing contributed is known to be zero, and stays zero in every product: on both
tiers, in both modes, where paths meet, in calls and in captured values. A computed zero times infinity is nan.
"""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, same
from amounts import THOROUGH, drawn
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad
from vlad.core.types import Types

pytestmark = pytest.mark.any_compiler

DEAD = [  # slopes that are infinite at 0, of branches that do not contribute there
    "(sqrt (if (= x 0) 0 x))", "(sqrt (where (= x 0) 0 x))", "(if (= x 0) 0 (sqrt x))", "(where (= x 0) 0 (* 2 (sqrt x)))",
    "(sqrt (fold (lambda (e total) (if (> e 5) (* e x) total)) 0 (list x x)))",
    "(sqrt (let loop ((i 0) (y 0)) (if (> i 2) y (loop (+ i 1) (if (> i 5) x y)))))",
    "(fold (lambda (e total) (where (= e 0) total (+ total (log e)))) 0 (list x x))",
    "(where (= x 0) x (sqrt (+ x (* x x))))",
    "(sum (sqrt (if (= x 0) (zeros 2) (* x (ones 2)))))", "(where (>= x 0) (* 3 x) (sum (log (* x (ones 2)))))",
    "(where (>= x 0) 0 (norm (* x (ones 2))))", "(where (>= x 0) 0 (tensor-ref (sqrt (* x (ones 2))) 0))",
    "(sum (map-tensor (lambda (e) (where (= e 0) 0 (sqrt e))) (* x (ones 2))))",
    "(sum (map-tensor (lambda (e) (sqrt (if (= e 0) 0 e))) (* x (ones 2))))",
    "(log (log (if (= x 0) (exp 1) (- x x))))", "(sum (where (= x 0) (* x (ones 2)) (sqrt (* x (ones 2)))))",
    "(sum (where (> x 0) (log (* x (ones 2))) (* x #[2 3])))", "(sum (where #t (* x (ones 2)) (* 1e308 1e308 (* x (ones 2)))))",
    "(let loop ((i 0) (a (if (> x 0) (- x x) 1))) (if (= i 2) a (loop (+ i 1) (log a))))",
]  # fmt: skip


@pytest.mark.parametrize("text", DEAD)
def test_what_is_known_to_be_zero_stays_zero(text: str) -> None:
    """Also where it meets paths without known zeros: zero times infinity is nan only for a computed zero."""
    f = f"(lambda (x) {text})"
    found = agree(
        f"""(lambda (a) (list ((derivative-F {f}) a) ((derivative-R {f}) a) ((derivative-F (derivative-R {f})) a)
          ((derivative-R (derivative-F {f})) a) ((derivative-R (derivative-R {f})) a)))""",
        0.0,
    )[0]
    assert found[0] == found[1] and np.isfinite(found).all()


CAPTURED = [
    "(log y)", "(log (abs y))", "(/ 1 y)", "(square (/ 0 y))", "(/ x (* 2 y))", "(expt y -2)", "(sum (log (* y (ones 2))))",
    "(let ((g (lambda (z) (/ z y)))) (g 1))", "(fold + 0 (map log (list y y)))", "(norm (* y #[1 1]))",
]  # fmt: skip


@pytest.mark.parametrize("text", CAPTURED)
def test_what_a_procedure_has_captured_has_no_tangent(text: str) -> None:
    """Nothing contributed to it, be it a number of the program or one that came in."""
    taken = text.replace("(/ x", "(/ 3")
    found = agree(
        f"""(lambda (y) (let ((f (lambda (x y) {taken}))) (list ((derivative-F (lambda (x) (f x y))) 0)
          ((derivative-R (lambda (x) (f x y))) 0) ((derivative-F (lambda (x) {taken})) 0)
          ((derivative-F (derivative-R (lambda (x) (f x y)))) 0) ((derivative-F (derivative-F (lambda (x) {taken}))) 0))))""",
        0.0,
    )[0]
    assert found == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "arms", ["x y", "y x", "(* x x) y", "3 y", "(- y y) x", "(- x x) y", "y (list-ref (list x y) 0)"]
)
def test_the_zero_of_one_path_is_not_the_number_of_another(arms: str) -> None:
    """Also where that is the same number on all its paths."""
    text = f"(lambda (x y) (square (if (<= x 1) {arms})))"
    derivatives = "".join(
        f"((derivative-{mode} (lambda ({v}) (f x y))) {v}) ((derivative-{mode} (derivative-{mode} (lambda ({v}) (f x y)))) {v})"
        for mode in "FR"
        for v in "xy"
    )
    for x in (0.5, 2.0):
        found = agree(f"(lambda (x y) (let ((f {text})) (list {derivatives})))", x, 3.0)[0]
        assert found[:4] == found[4:]


def of_two(draw: st.DrawFn, depth: int, names: tuple[str, ...]) -> str:
    """An expression that branches at 0 and 1, where many of its slopes are infinite."""

    def part(*more: str) -> str:
        return of_two(draw, depth - 1, names + more)

    if depth == 0:
        return draw(st.sampled_from(["0", "1", "0.5", "(- x x)", "(* 0 x)", *names, *names]))
    sign, with_, at = (
        draw(st.sampled_from(signs)) for signs in (["=", "<", ">", "<="], names, ("0", "1", *names))
    )
    test = f"({sign} {with_} {at})"
    forms = [
        lambda: (
            f"({draw(st.sampled_from(['sqrt', 'log', 'abs', 'exp', 'square', 'tanh', 'relu']))} {part()})"
        ),
        lambda: f"({draw(st.sampled_from(['+', '*', '-', '/', 'max', 'expt']))} {part()} {part()})",
        lambda: f"(if {test} {part()} {part()})",
        lambda: f"(where {test} {part()} {part()})",
        lambda: f"(let ((u {part()})) {part('u')})",
    ]
    return draw(st.sampled_from(forms))()


@st.composite
def branching(draw: st.DrawFn) -> str:
    return of_two(draw, draw(st.integers(2, 4)), ("x", "y"))


@given(branching())
@settings(max_examples=drawn(50), deadline=None)
def test_derivatives_of_what_branches(body: str) -> None:
    """Without loops, and without nested reverse derivatives: compiled, the result of a call with several possible
    procedures, such as a backpropagator, is a number, and a zero known in one of them may be nan outside.
    """
    derivatives = [
        *[f"((derivative-{mode} (lambda ({v}) (f x y))) {v})" for mode in "RF" for v in "xy"],
        "((derivative-F (derivative-R (lambda (x) (f x y)))) x)",
        "((derivative-R (derivative-F (lambda (x) (f x y)))) x)",
    ]
    text = f"(lambda (x y) (let ((f (lambda (x y) {body}))) (list {' '.join(derivatives)})))"
    evaluated, compiled = [vlad.Session(tier=tier).eval(text) for tier in ("evaluate", "compile")]
    for x, y in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 0.5)]:
        assert same(evaluated(x, y), compiled(x, y)), (body, x, y)


# A zero that comes out of a derivative, or of `zero`, is the number 0: nothing depends on where it is from.
ZEROS = [
    "(zero 3)", "((derivative floor) 1.5)", "((derivative (lambda (t) 7)) 2)", "(car (zero '(1)))",
    "(cdr (jvp (lambda (t) 4) 1 1))", "(car ((gradient (lambda (l) (car (cdr l)))) '(1 2)))", "((derivative-R sign) 2)",
    "(let loop ((i 0) (s 3)) (if (= i 1) s (loop (+ i 1) (zero s))))", "(car (map-reals (lambda (r) (zero r)) '(4)))",
    "(car (environment (zero (curried 1 2))))", "(tensor-ref (zero #[1 2]) 1)", "((zero (curried 1 2)) 5)",
]  # fmt: skip
POINTS = {  # structures of two numbers, and what takes the first and the second out
    "(list {z} {w})": ("(car q)", "(car (cdr q))"),
    "(cons {w} {z})": ("(car q)", "(cdr q)"),
    "(curried {z} {w})": ("(q 0)", "(- (q 1) (q 0))"),
    "(list (list {z}) {w})": ("(car (car q))", "(car (cdr q))"),
    "(let loop ((i 0) (q (list {w} {w}))) (if (= i 2) q (loop (+ i 1) (list {z} {w}))))": ("(car q)", "(car (cdr q))"),
    "(map (lambda (r) (* r {w})) (list {z} {w}))": ("(car q)", "(car (cdr q))"),
}  # fmt: skip
OPERATORS = [
    "((gradient-R f) q)", "((gradient-F f) q)", "(hvp-F f q q)", "(hvp-R f q (map-reals (lambda (r) (+ r 1)) q))",
    "(jvp-F (gradient-R f) q q)", "(jvp-R (gradient-F f) q q)", "(jvp-F (gradient-F f) q q)", "(jvp-R f q q)",
    "((gradient-R (lambda (v) (cdr (jvp f (map-reals (lambda (r) (+ r 1)) q) v)))) q)",
    "((gradient-F (lambda (q) (f ((gradient-R f) q)))) q)", "((gradient-R (lambda (q) (f ((gradient-F f) q)))) q)",
    "((cdr (vjp (lambda (q) (map-reals (lambda (r) (* r (f q))) q)) q)) q)",
    "((cdr ((*j (lambda (s) ((cdr (vjp (lambda (q) (map-reals sin q)) q)) s))) (*j q))) q)",
]  # fmt: skip


@st.composite
def smooth(draw: st.DrawFn, depth: int = 3) -> str:
    """An expression of x and y that has all its derivatives at small numbers."""
    if depth == 0:
        return draw(st.sampled_from(["x", "y", "x", "y", "2", "0.5"]))
    part = smooth(depth - 1)
    form = draw(
        st.sampled_from(
            ["(+ {a} {b})", "(* {a} {b})", "(* {a} {a})", "(sin {a})", "(exp (sin {a}))", "(* x {a})", "(if (< x y) {a} {b})",
             "(let loop ((i 0) (t {a})) (if (= i 2) t (loop (+ i 1) (* t y))))", "((lambda (g) (g {a})) (lambda (u) (* u x)))"]
        )
    )  # fmt: skip
    return form.format(a=draw(part), b=draw(part))


@given(smooth(), st.sampled_from(sorted(POINTS)), st.permutations(ZEROS), st.permutations(OPERATORS))
@settings(max_examples=drawn(72), deadline=None)
def test_a_zero_that_a_program_gets_is_a_number(
    body: str, point: str, zeros: list[str], operators: list[str]
) -> None:
    """Three derivatives at a point with such zeros (in the thorough run all), compiled, are those at 0 on tier 0."""
    first, second = POINTS[point]
    operators = operators if THOROUGH else operators[:3]
    text = f"""(let* ((curried (lambda (a b) (lambda (n) (+ a (* b n)))))
                      (f (lambda (q) (let ((x {first}) (y {second})) {body}))) (q POINT))
                 (list {" ".join(operators)}))"""
    number, zero = [text.replace("POINT", point.format(z=z, w="0.75")) for z in ("0", zeros[0])]
    read = "(lambda (answers) (map (lambda (a) (real-parts a)) answers))"
    session, compiling = [vlad.Session(tier=tier) for tier in ("evaluate", "compile")]
    for each in (session, compiling):
        each.run_text(REAL_PARTS, "real-parts.vlad")
    expected = session.eval(f"({read} {number})")
    assert same(expected, session.eval(f"({read} {zero})")), zero
    assert same(expected, compiling.eval(f"({read} {zero})")), zero


REAL_PARTS = """
(define (real-parts a)
  (cond ((real? a) (list a))
        ((pair? a) (append (real-parts (car a)) (real-parts (cdr a))))
        ((procedure? a) (real-parts (environment a)))
        (else '())))
"""


def test_the_union_of_zero_and_a_real_is_one_type_that_never_grows() -> None:
    types = Types()
    shared = types.zero_or_real
    for other in types.real, types.zero, types.constant(2.0), shared:
        assert types.join_both(shared, other) is shared
        assert types.join_both(other, shared) is shared
    pair = types.pair(types.real, types.nil)
    for joined in (
        types.join_both(shared, pair),
        types.join_both(types.nil, shared),
        types.join_both(types.union(types.nil), shared),
        types.join_both(shared, types.union(types.nil, pair)),
    ):
        assert joined is not shared
        assert {types.zero.head, "real"} < {member.head for member in types.members(joined)}
    assert [member.head for member in types.members(shared)] == [types.zero.head, "real"]
