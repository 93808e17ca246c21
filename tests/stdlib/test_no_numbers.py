"""Derivatives by and of values that are no numbers: all modes raise the same error, on both tiers and from
Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import vlad
from vlad.session.session import Session

pytestmark = pytest.mark.any_compiler

OF_NUMBERS = [
    "derivative",
    "derivative-F",
    "derivative-R",
    "jacobian",
    "jacobian-F",
    "jacobian-R",
    "divergence",
]
OF_REALS = [
    "gradient", "gradient-F", "gradient-R", "value-and-gradient", "value-and-gradient-F", "value-and-gradient-R",
    "hessian", "hessian-F", "hessian-R", "laplacian", "laplacian-F", "laplacian-R",
]  # fmt: skip
ALONG = ["jvp", "jvp-F", "jvp-R", "directional-derivative"]
BACK = ["vjp", "vjp-F", "vjp-R"]
PRODUCTS = ["hvp", "hvp-F", "hvp-R"]
ALL = [*OF_NUMBERS, *OF_REALS, *ALONG, *BACK, *PRODUCTS]

NOT_OF = "This derivative is of numbers in tensors, lists, pairs, records and tables, not of"
NOT_REAL = "A gradient is that of a procedure whose value is a real; of others there is `jacobian`. Not:"
NOT_BY = "Derivatives are taken with respect to numbers in tensors, lists, pairs, records and tables, not"
SHIFT = "(lambda (u) (lambda (f) (lambda (x) (f (+ x u)))))"


def program(operator: str, f: str, x: str, v: str) -> str:
    if operator in ALONG + PRODUCTS:
        return f"({operator} {f} {x} {v})"
    return f"({operator} {f} {x})" if operator in BACK else f"(({operator} {f}) {x})"


@pytest.fixture(scope="module", params=["evaluate", "compile"])
def session(request: pytest.FixtureRequest) -> Session:
    return vlad.Session(tier=request.param)


def refusal(session: Session, text: str) -> tuple[str, str, int]:
    """The code, the message and the length of the place, which is the whole program."""
    with pytest.raises(vlad.VladError) as caught:
        session.eval(text)
    error = caught.value
    assert error.span is not None and error.span.text == text, str(error)
    return error.code, error.message, len(error.irritants)


@pytest.mark.own_tier
@pytest.mark.parametrize("value", ['"text"', "#t", "(lambda (y) (* x y))", "(list x sin)"])
def test_values(session: Session, value: str) -> None:
    """At a number: where the value is none, nor a structure of numbers."""
    is_procedure = value.startswith("(")
    for operators, words in [
        (OF_NUMBERS, NOT_OF),
        (OF_REALS + PRODUCTS, NOT_REAL),
        ([] if is_procedure else ALONG + BACK, NOT_OF),
    ]:
        found = {
            refusal(session, program(operator, f"(lambda (x) {value})", "3", "1")) for operator in operators
        }
        assert len(found) == (1 if operators else 0), found
        for code, message, irritants in found:
            assert (code, irritants) == ("user-error", 0) and message.startswith(words)


@pytest.mark.own_tier
@pytest.mark.parametrize("x", ['"text"', "'symbol"])
def test_arguments(session: Session, x: str) -> None:
    operators = [operator for operator in ALL if not operator.startswith("derivative")]
    found = {refusal(session, program(operator, "(lambda (x) 1)", x, x)) for operator in operators}
    assert found == {("user-error", f"{NOT_BY} {x.lstrip(chr(39))}", 0)}


@pytest.mark.parametrize("x", ["'(1 2)", "(as-type #[1 2] 'int64)", "'()", "sin", '"text"', "#t"])
def test_derivatives_by_several_numbers(session: Session, x: str) -> None:
    """`derivative` is by one number, in both modes."""
    found = set()
    for operator in ["derivative", "derivative-F", "derivative-R"]:
        code, message, _ = refusal(session, f"(({operator} (lambda (x) x)) {x})")
        found.add((code, message.partition(" takes one number")[0]))
    assert found == {("user-error", "What `derivative` returns")}


@pytest.mark.own_tier
@pytest.mark.parametrize("v", ["#[1 2]", "'(1 0 0)"])
def test_directions(session: Session, v: str) -> None:
    """A direction that is not like the argument is none, in both modes."""
    for operator in ALONG + PRODUCTS:
        for x in ["3", "'(1 2)"]:
            code, message, _ = refusal(session, f"({operator} (lambda (x) 1) {x} {v})")
            assert (code, message) == ("bundle-do-not-conform", f"Arguments to {operator} do not conform")


def test_the_divergence_is_of_what_is_like_the_argument(session: Session) -> None:
    for value in ["#[1 2]", "'(1)", "(as-type #[1 2] 'int64)", "(cons 1 2)"]:
        code, message, _ = refusal(session, f"((divergence (lambda (x) {value})) 3)")
        assert (code, message) == ("bundle-do-not-conform", "Arguments to divergence do not conform")


def test_the_confusion_of_closures(session: Session) -> None:
    """Manzyuk et al. (2019), section 1: the derivative of a curried shift operator, applied to a function. A tangent
    of a closure is no function to apply, so both modes raise an error; by the number alone they agree.
    """
    session.run_text(f"(define s {SHIFT})")
    for mode in ["", "-F", "-R"]:
        code, message, _ = refusal(session, f"((derivative{mode} s) 0)")
        assert code == "user-error" and message.startswith(NOT_OF)
        assert session.eval(f"((derivative{mode} (lambda (u) (((s u) sin) 1))) 0)") == pytest.approx(
            0.5403023058681398
        )
        twice = f"((derivative{mode} (lambda (u) (((s u) (derivative{mode} sin)) 1))) 0)"
        assert session.eval(twice) == pytest.approx(-0.8414709848078965)


@pytest.mark.parametrize(
    ("f", "x", "value"),
    [
        ("(lambda (x) (list x (* x x)))", "3", [1.0, 6.0]),
        ('(lambda (x) (cons (list \'a x) (cons "b" x)))', "3", (["a", 1.0], ("b", 1.0))),
        ("(lambda (x) '())", "3", []),
        ("(lambda (x) (list #[1 2] #t))", "3", None),
    ],
)
def test_structures_of_numbers_have_derivatives(session: Session, f: str, x: str, value: Any) -> None:
    found = [session.eval(f"(({operator} {f}) {x})") for operator in OF_NUMBERS if operator != "divergence"]
    shown = {repr(one) for one in found}
    assert len(shown) == 1
    if value is not None:
        assert shown == {repr(value)} or found[0] == value


def test_procedures_have_tangents(session: Session) -> None:
    """By `jvp` and `vjp`: they capture the tangents of the value's captured values."""
    session.run_text("(define (scaled u) (lambda (x) (* (* u u) x)))")
    for mode in ["", "-F", "-R"]:
        assert session.eval(f"(environment (cdr (jvp{mode} scaled 3 1)))") == [1.0]
        assert session.eval(f"((cdr (vjp{mode} scaled 3)) (car (vjp{mode} scaled 5)))") == 5.0


BY_PYTHON: list[Callable[[Any, Any], Any]] = [
    lambda f, x: vlad.grad(f)(x),
    lambda f, x: vlad.value_and_grad(f)(x),
    lambda f, x: vlad.jacobian(f)(x),
    lambda f, x: vlad.hessian(f)(x),
    lambda f, x: vlad.jvp(f, (x,), (x,)),
    lambda f, x: vlad.vjp(f, x),
    lambda f, x: vlad.hvp(f, (x,), (x,)),
]


def test_arguments_of_python(session: Session) -> None:
    f = session.eval("(lambda (x) 1)")
    for operator in BY_PYTHON:
        with pytest.raises(vlad.VladError, match=NOT_BY) as caught:
            operator(f, "text")
        assert caught.value.code == "user-error"


@pytest.mark.parametrize("value", ['"text"', "(lambda (y) (* x y))"])
def test_values_for_python(session: Session, value: str) -> None:
    f = session.eval(f"(lambda (x) {value})")
    for number, operator in enumerate(BY_PYTHON):
        if number in (4, 5) and value.startswith("("):
            continue  # procedures have tangents
        with pytest.raises(vlad.VladError) as caught:
            operator(f, 3.0)
        assert caught.value.message.startswith(NOT_OF if number in (2, 4, 5) else NOT_REAL)


def test_parts_stay_as_they_are(session: Session) -> None:
    """Results in Python next to numbers, and within them."""
    f = session.eval('(lambda (x name) (if (equal? name "twice") (* 2 x) x))')
    assert vlad.grad(f)(3.0, "twice") == (2.0, "twice")
    assert vlad.grad(session.eval("(lambda (l) (car l))"))([3.0, "a", True]) == [1.0, "a", True]
