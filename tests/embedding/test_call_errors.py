"""Errors of failed calls from Python: in terms of the call, at the called procedure."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.control import debug

pytestmark = pytest.mark.any_compiler

TEXT = """\
(define (half x) (* 0.5 x))
(define (product x y) (* x y))
(define (nothing) 3)
(define (swapped p) (cons (cdr p) (car p)))
(define (first-of p) (car (car p)))
(define (any . all) (+ 1 all))
(define (loss t) (sum (* t t)))
(define (picked l) (last l))
(define (inner x) (product x))
(define (fails p) (error "Not today:" p))
"""


@pytest.fixture(scope="module", params=["evaluate", "compile"])
def session(request: Any) -> vlad.Session:
    session = vlad.Session(tier=request.param)
    session.eval(TEXT, "own.vlad")
    return session


def text_of(action: Callable[[], object]) -> str:
    with pytest.raises(vlad.VladError) as caught:
        action()
    return str(caught.value)


PRODUCT = """\
own.vlad:2:1: Error: product takes 2 arguments and got {}
    2 | (define (product x y) (* x y))
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: its parameter list is (product x y)"""
HALF = """\
own.vlad:1:1: Error: half takes 1 argument and got {}
    1 | (define (half x) (* 0.5 x))
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: its parameter list is (half x)"""


def test_wrong_numbers_of_arguments_are_counted(session: vlad.Session) -> None:
    half, product = session["half"], session["product"]
    for arguments in ((), (1.0,), (1.0, 2.0, 3.0)):
        assert text_of(lambda a=arguments: product(*a)) == PRODUCT.format(len(arguments) or "none")
    for arguments in ((), (1.0, 2.0)):
        assert text_of(lambda a=arguments: half(*a)) == HALF.format(len(arguments) or "none")
    assert "nothing takes no arguments and got 1" in text_of(lambda: session["nothing"](1.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda f: vlad.grad(f)(2.0),
        lambda f: vlad.grad(f, 0)(2.0),
        lambda f: vlad.value_and_grad(f)(2.0),
        lambda f: vlad.jacobian(f)(2.0),
        lambda f: vlad.hessian(f)(2.0),
        lambda f: vlad.jvp(f, 2.0, 1.0),
        lambda f: vlad.vjp(f, 2.0),
        lambda f: vlad.hvp(f, 2.0, 1.0),
        lambda f: vlad.hvp(f, (2.0,), (1.0,)),
    ],
)
def test_errors_of_derivatives_are_at_the_procedure(
    session: vlad.Session, call: Callable[[Any], Any]
) -> None:
    assert text_of(lambda: call(session["product"])) == PRODUCT.format(1)


def test_too_many_for_a_derivative(session: vlad.Session) -> None:
    assert text_of(lambda: vlad.grad(session["half"])(2.0, 3.0)) == HALF.format(2)


def test_what_the_tuple_rule_allows_is_not_counted(session: vlad.Session) -> None:
    """Several arguments are one tuple, so a procedure of a pair may be called with two."""
    assert session["swapped"](1.0, 2.0) == (2.0, 1.0)
    assert session["product"]((3.0, 4.0)) == 12.0
    assert "Argument to car is invalid" in text_of(lambda: session["first-of"](1.0, 2.0))
    assert "Argument to + is invalid" in text_of(lambda: session["any"](1.0, 2.0))
    assert "Not today: 1 2" in text_of(lambda: session["fails"](1.0, 2.0))


def test_a_wrong_call_in_the_program_is_reported_there(session: vlad.Session) -> None:
    assert text_of(lambda: session["inner"](1.0)).startswith(
        "own.vlad:9:19: Error: product takes 2 arguments and got 1"
    )


def test_failures_in_the_library_are_at_the_procedure(session: vlad.Session) -> None:
    text = text_of(lambda: vlad.hvp(session["loss"], np.array([1, 2]), np.array([1.0, 0.0])))
    assert text.startswith("own.vlad:7:1: Error: Arguments to hvp do not conform\n    7 | (define (loss t)")
    assert "a tensor of int64 has no tangents" in text and "<derivative>" not in text
    for along in (vlad.hvp, vlad.jvp):
        for point in (3.0, (3.0,), np.ones(3)):
            text = text_of(lambda along=along, point=point: along(session["loss"], point, np.ones(2)))
            assert text.startswith(f"own.vlad:7:1: Error: Arguments to {along.__name__} do not conform\n")
            assert "\n  in detail: Arguments to bundle do not conform\n" in text
    text = text_of(lambda: session["picked"]([]))
    assert text.startswith("own.vlad:8:20: Error: Argument to last is invalid\n")
    text = text_of(lambda: session["map"](session["half"], 3.0))
    assert text.startswith("Error: Argument to map is invalid\n  value: 3\n")
    assert "  in detail: Argument to cdr is invalid\n" in text and "  in loop at stdlib/prelude.vlad" in text


def test_an_unsuitable_argument_is_at_its_parameter_without_a_calling_text(session: vlad.Session) -> None:
    """But only the library, and Python; of a longer list than most, how long it is."""
    session.eval("(define (two (list x y)) (+ x y))")
    for call in (
        lambda: session["two"]([1.0, 2.0, 3.0]),
        lambda: session["gradient"](session["two"])([1.0, 2.0, 3.0]),
        lambda: session["map"](session["two"], [[1.0, 2.0], [1.0, 2.0, 3.0]]),
    ):
        text = text_of(call)
        assert text.startswith(
            "<expression>:1:14: Error: The parameter `(list x y)` of two takes a list of 2\n"
        ), text
        assert "  value: (1 2 3)\n  hint: such a list is `(list 1 2)`; this one has 3\n" in text
    assert "this one has 5000" in text_of(lambda: session["two"]([1.0] * 5000))


def test_a_traceback_has_the_frames_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    session = vlad.Session(tier="evaluate")
    session.eval("(define (g x) (car x))")
    double = session.function(lambda x: 2.0 * x)

    def refused(x: float) -> None:
        del x

    def names(call: Callable[[], object]) -> list[str]:
        with pytest.raises(vlad.VladError) as caught:
            call()
        return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]

    monkeypatch.setattr(debug, "rungs", frozenset())
    for call in (
        lambda: session.eval("(g 1)"),
        lambda: session["g"](1.0),
        lambda: vlad.grad(session["g"])(1.0),
        lambda: vlad.grad(refused),
        lambda: double(),
        lambda: double(y=1.0),
        lambda: session.load("nonesuch.vlad"),
    ):
        assert [name for name in names(call) if name not in ("__call__", "load")] == ["names", "<lambda>"]
    monkeypatch.setattr(debug, "rungs", frozenset([debug.TRACEBACKS]))
    assert len(names(lambda: session.eval("(g 1)"))) > 4


def test_a_tuple_is_not_the_rest_of_the_arguments_of_a_procedure_of_the_library(
    session: vlad.Session,
) -> None:
    optimize, hvp = session["optimize"], session["hvp"]
    for call in (
        lambda: optimize(session.eval("(sgd 0.1)"), session["half"], (0.0, 0.0)),
        lambda: hvp(session["half"], (1.0, 2.0)),
    ):
        assert "arguments and got" in text_of(call)
    assert session.eval("(lambda (x y z) (+ x (* y z)))")(1.0, (2.0, 3.0)) == 7.0


def test_a_wrong_call_of_a_function() -> None:
    f = vlad.Session(tier="evaluate").function(lambda x, y: x * y)
    with pytest.raises(TypeError, match="Wrong call of <lambda>: missing a required argument: 'y'") as caught:
        f(1.0)
    assert caught.value.hint == "it is called as <lambda>(x, y)"
    with pytest.raises(TypeError, match="Wrong call of <lambda>: got an unexpected keyword argument 'z'"):
        f(1.0, z=2.0)
    with pytest.raises(vlad.VladError, match="No derivative by argnums 'zz'") as of_name:
        vlad.grad(f, argnums="zz")
    assert of_name.value.span is not None and of_name.value.span.text == "lambda x, y: x * y"
    assert str(of_name.value.hint).endswith("these are x, y")
