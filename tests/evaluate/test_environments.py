"""The program's text determines what a closure captures: however its variables are bound, closures of the same lambda over the
same values have the same environment, the same derivatives, zeros and sums, and the same saved text.
"""

from __future__ import annotations

import pytest
from amounts import THOROUGH, drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vlad

NAMES = ("a", "b", "c")
# Ways to bind the names to values around a lambda.
BINDERS = {
    "let": "(let ({bindings}) {body})",
    "let*": "(let* ({bindings}) {body})",
    "immediate lambda": "((lambda ({names}) {body}) {values})",
    "procedure call": "(let ((mk (lambda ({names}) {body}))) (mk {values}))",
    "called twice": "(let ((mk (lambda ({names}) {body}))) (let ((first (mk 7 8 9))) (mk {values})))",
    "internal define": "(let () {definitions} {body})",
    "loop": "(let loop ((i 0) {bindings}) (if (< i 1) (loop (+ i 1) {names}) {body}))",
    "macro": "(with ({bindings}) {body})",
    "branch": "(let ({bindings}) (if #t {body} #f))",
    "handed on": "(let ({bindings}) ((lambda (f) f) {body}))",
}  # fmt: skip
PRELUDE = """
(define-syntax with (syntax-rules () ((_ ((n v) ...) e) (let* ((n v) ...) e))))
(define (one r) 1)
(define (double r) (* 2 r))
(define (at-two f) (let ((y (f 2))) (if (real? y) (* y y) 0)))
(define (laws f)
  (list (environment f) (environment ((gradient-R at-two) f)) (environment ((gradient-F at-two) f)) (environment (zero f))
        (environment (plus f f)) ((plus f f) 2) (jvp at-two f (map-reals one f)) (environment (map-reals double f))
        (environment ((gradient-R (lambda (g) (cdr (jvp at-two g (map-reals one g))))) f))))
"""


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3, names: tuple[str, ...] = (*NAMES, "x")) -> str:
    """The text of an expression over numbers with these names, with opportunities for an optimiser."""
    if depth == 0:
        return draw(st.sampled_from([*names, "2", "0.5"]))
    e = expressions(depth - 1, names)
    kind = draw(st.integers(0, 9))
    if kind < 4:
        return f"({draw(st.sampled_from('+-*'))} {draw(e)} {draw(e)})"
    if kind == 4:
        return f"(if {draw(st.sampled_from(['#t', '#f', '(< 1 2)', '(< 0 x)']))} {draw(e)} {draw(e)})"
    inner = draw(expressions(depth - 1, (*names, "t")))
    return {
        5: f"(let ((t {draw(e)})) {inner})",
        6: f"(let ((unused {draw(e)})) {draw(e)})",
        7: f"(car (cons {draw(e)} {draw(e)}))",
        8: f"(let ((h (lambda (t) {inner}))) (h {draw(e)}))",
        9: f"(let ((h (lambda (t) {inner}))) (+ (h {draw(e)}) (h {draw(e)})))",
    }[kind]


def made(binder: str, body: str, values: list[str]) -> str:
    pairs = list(zip(NAMES, values, strict=True))
    return BINDERS[binder].format(
        body=body, names=" ".join(NAMES), values=" ".join(values),
        bindings=" ".join([f"({n} {v})" for n, v in pairs]),
        definitions=" ".join([f"(define {n} {v})" for n, v in pairs]),
    )  # fmt: skip


def captured(body: str, values: list[str]) -> list[float]:
    """The values that a lambda's text captures, by size: their order is not specified."""
    words = body.replace("(", " ").replace(")", " ").split()
    return sorted([float(values[NAMES.index(word)]) for word in set(words) if word in NAMES])


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session()
    session.run_text(PRELUDE, "prelude.vlad")
    return session


@settings(max_examples=drawn(210), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    body=expressions(),
    values=st.lists(st.sampled_from(["3", "0", "-1.5"]), min_size=3, max_size=3),
    binders=st.permutations(sorted(BINDERS)),
)
def test_it_does_not_matter_how_a_variable_is_bound(
    session: vlad.Session, body: str, values: list[str], binders: list[str]
) -> None:
    """Programs compared with a top-level procedure that makes closures of unknown values: 2,100 in the thorough run."""
    lambda_ = f"(lambda (x) {body})"
    session.run_text(f"(define (make a b c) {lambda_})", "make.vlad")
    expected = session.eval(f"(laws (make {' '.join(values)}))")
    assert sorted(expected[0]) == captured(body, values)
    for binder in binders if THOROUGH else binders[:3]:
        assert session.eval(f"(laws {made(binder, lambda_, values)})") == expected, binder


@pytest.mark.parametrize("binder", BINDERS)
def test_what_is_saved_holds_what_was_captured(session: vlad.Session, binder: str) -> None:
    body = "(lambda (x) (if #f (* c x) (+ (* a x) (let ((unused b)) 1))))"
    f = session.eval(made(binder, body, ["3", "4", "5"]))
    again = vlad.loads(vlad.dumps(f), session)
    assert session.environment(f) == session.environment(again) == [5.0, 3.0, 4.0]
    assert again(2) == f(2) == 7.0
