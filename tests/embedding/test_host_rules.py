"""Primitives that are made of Python functions: the rules of their derivatives, in the language and in Python."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad

pytestmark = pytest.mark.any_compiler

POINTS = st.floats(-2, 2)
OPERATORS = {"R": "(derivative-R {})", "F": "(derivative-F {})"}


@pytest.fixture
def session() -> vlad.Session:
    return vlad.Session()


def error_of(run: Callable[[], Any]) -> vlad.VladError:
    with pytest.raises(vlad.VladError) as caught:
        run()
    return caught.value


# Primitives of reals, however their rules are stated.


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


slope = vlad.primitive("slope", partials="(* r (- 1 r))")(logistic)
WITH_ORDERS = {  # every order follows
    "text": {"partials": "(sigmoid x)"},
    "by name": {"partials": {"x": "(/ 1 (+ 1 (exp (negate x))))"}},
    "with a remark": {"reverse": "(* s (sigmoid x)) ; its slope"},
    "of the result": {"partials": "(- 1 (exp (negate r)))"},
    "forward text": {"forward": "(* dx (sigmoid x))"},
    "reverse text": {"reverse": "(* (sigmoid x) s)"},
    "reverse text by name": {"reverse": {"x": "(/ s (+ 1 (exp (negate x))))"}},
    "both": {"forward": "(* dx (sigmoid x))", "reverse": "(* s (sigmoid x))"},
    "branch": {"partials": "(if (< x 0) (sigmoid x) (- 1 (sigmoid (negate x))))"},
    "primitive": {"partials": slope},
    "primitive by name": {"partials": {"x": slope}},
}
OF_ORDER_ONE = {  # rules in Python
    "forward": {"forward": lambda x, dx: dx * logistic(x)},
    "reverse": {"reverse": lambda x, s: s * logistic(x)},
    "reverse by name": {"reverse": {"x": lambda s, x: s * logistic(x)}},
    "of the result": {"reverse": lambda r, s: s * (1 - math.exp(-r))},
    "partials": {"partials": logistic},
    "both": {"forward": lambda x, dx: dx * logistic(x), "reverse": lambda x, s: s * logistic(x)},
}
STATED = WITH_ORDERS | {f"Python {name}": rules for name, rules in OF_ORDER_ONE.items()}
NESTED = """
(define (inside x) (let ((g (lambda (y) (* x (softplus y))))) (g (* x x))))
(define (looped x) (let loop ((i 0) (y x)) (if (= i 3) y (loop (+ i 1) (softplus y)))))
"""


def made(**rules: Any) -> vlad.Session:
    session = vlad.Session()
    session.define(vlad.primitive(**rules)(softplus))
    session.eval(NESTED)
    return session


def orders(x: float) -> list[float]:
    """softplus and its derivatives."""
    p = logistic(x)
    return [softplus(x), p, p * (1 - p), p * (1 - p) * (1 - 2 * p)]


@pytest.mark.parametrize("rules", STATED.values(), ids=STATED)
def test_first_derivatives(rules: dict[str, Any]) -> None:
    session = made(**rules)
    modes = {mode: session.eval(text.format("softplus")) for mode, text in OPERATORS.items()}
    nested = {mode: session.eval(text.format("inside")) for mode, text in OPERATORS.items()}
    looped = {mode: session.eval(text.format("looped")) for mode, text in OPERATORS.items()}

    @given(POINTS)
    @settings(max_examples=25, deadline=None)
    def check(x: float) -> None:
        assert session["softplus"](x) == softplus(x)
        expected = softplus(x * x) + 2 * x * x * logistic(x * x)
        chain = logistic(x) * logistic(softplus(x)) * logistic(softplus(softplus(x)))
        for mode in OPERATORS:
            assert modes[mode](x) == pytest.approx(logistic(x), rel=1e-12)
            assert nested[mode](x) == pytest.approx(expected, rel=1e-12)
            assert looped[mode](x) == pytest.approx(chain, rel=1e-12)

    check()


@pytest.mark.parametrize("rules", WITH_ORDERS.values(), ids=WITH_ORDERS)
def test_higher_derivatives(rules: dict[str, Any]) -> None:
    session = made(**rules)
    texts = ["softplus"]
    derived = []
    for order in (1, 2, 3):
        texts = [operator.format(text) for text in texts for operator in OPERATORS.values()]
        derived += [(order, session.eval(text)) for text in texts]

    @given(POINTS)
    @settings(max_examples=15, deadline=None)
    def check(x: float) -> None:
        for order, function in derived:
            assert function(x) == pytest.approx(orders(x)[order], rel=1e-9, abs=1e-12)

    check()


@pytest.mark.parametrize("rules", OF_ORDER_ONE.values(), ids=OF_ORDER_ONE)
def test_a_rule_in_python_has_no_derivative(rules: dict[str, Any]) -> None:
    session = made(**rules)
    refusal = "There is no second derivative of softplus: its rule is Python's and has no rule of its own"
    for outer, inner in itertools.product(OPERATORS.values(), repeat=2):
        with pytest.raises(vlad.VladError) as caught:
            session.eval(f"({outer.format(inner.format('softplus'))} 1)")
        assert (caught.value.code, caught.value.message) == ("no-derivative", refusal)
    # a second derivative that does not go through it is none of its own
    linear = "(derivative (lambda (y) ((derivative (lambda (x) (* y (softplus x)))) 1)))"
    assert session.eval(f"({linear} 2)") == pytest.approx(logistic(1.0))


@pytest.mark.parametrize("name", STATED)
def test_reals_go_through_tensors_entry_by_entry(name: str) -> None:
    session = made(**STATED[name])
    x = np.array([[0.5, -1.0, 2.0], [0.0, 1.0, -0.25]])
    expected = np.vectorize(logistic)(x)
    np.testing.assert_allclose(session["softplus"](x), np.vectorize(softplus)(x))
    weighted = session.eval("(lambda (w x) (sum (* w (softplus x))))")
    w = np.arange(6.0).reshape(2, 3)
    if name == "branch":
        assert error_of(lambda: vlad.grad(weighted, 1)(w, x)).code == "not-a-condition"
        return
    np.testing.assert_allclose(vlad.grad(weighted, 1)(w, x), w * expected)
    np.testing.assert_allclose(vlad.jvp(session["softplus"], x, w)[1], w * expected)


def area(x: float, y: float) -> float:
    return x * math.exp(y)


TWO = {
    "partials": {"partials": {"x": "(exp y)", "y": "r"}},
    "forward text": {"forward": "(accumulate (* dx (exp y)) (* dy r))"},
    "reverse texts": {"reverse": {"x": "(* s (exp y))", "y": "(* s r)"}},
    "forward": {"forward": lambda x, y, dx, dy: dx * math.exp(y) + dy * x * math.exp(y)},
    "reverse": {"reverse": lambda x, y, s: (s * math.exp(y), s * x * math.exp(y))},
    "reverse by name": {"reverse": {"x": lambda y, s: s * math.exp(y), "y": "(* s r)"}},
    "mixed": {"partials": {"x": lambda y: math.exp(y), "y": "r"}},
}


@pytest.mark.parametrize("rules", TWO.values(), ids=TWO)
def test_two_operands(rules: dict[str, Any]) -> None:
    session = vlad.Session()
    session.define(vlad.primitive(**rules)(area))
    gradients = [session.eval("(gradient-R area)"), session.eval("(gradient-F area)")]

    @given(POINTS, POINTS)
    @settings(max_examples=25, deadline=None)
    def check(x: float, y: float) -> None:
        for gradient in gradients:
            assert gradient(x, y) == pytest.approx((math.exp(y), x * math.exp(y)))

    check()
    # a real and a tensor: the sensitivity of a broadcast operand is a sum
    x, y = 2.0, np.array([0.5, 1.0])
    for_x, for_y = vlad.grad(session.eval("(lambda (x y) (sum (area x y)))"))(x, y)
    assert for_x == pytest.approx(np.exp(y).sum())
    np.testing.assert_allclose(for_y, x * np.exp(y))


def test_a_rule_may_name_its_primitive(session: vlad.Session) -> None:
    """The derivatives of a family are members of the family."""

    @vlad.primitive(partials={"n": "zero", "x": "(negate (falling (+ n 1) x))"}, example=(1.0, 1.5))
    def falling(n: float, x: float) -> float:
        return math.gamma(n) / x**n

    session.define(falling)
    assert session.eval(
        "((derivative (derivative (derivative (lambda (x) (falling 1 x))))) 2)"
    ) == pytest.approx(-6 / 16)


def test_primitives_may_be_each_others_rules(session: vlad.Session) -> None:
    sine, cosine = vlad.primitive("sine")(math.sin), vlad.primitive("cosine")(math.cos)
    minus = vlad.primitive("minus", partials="-1")(lambda x: -x)
    minus_sine = vlad.primitive("minus-sine", forward="(negate (* dx (cos x)))")(lambda x: -math.sin(x))
    sine.forward("(* dx (cos x))")
    cosine.forward("(* dx 0)")
    assert error_of(lambda: session.define(cosine)).code == "wrong-derivative"
    sine.rules["forward"] = None
    sine.rules["partials"] = cosine
    cosine.rules["forward"] = None
    cosine.rules["partials"] = minus_sine
    session.define(sine)
    session.define(minus)
    assert session.eval("((derivative (derivative (derivative sine))) 1)") == pytest.approx(-math.cos(1.0))
    assert session.eval("(minus 3)") == -3.0


# Primitives of arrays.


def matrix_vector(a: Any, x: Any) -> Any:
    return a @ x


EXAMPLE = (np.arange(6.0).reshape(2, 3) - 2, np.array([0.5, -1.0, 2.0]))


def back(a: Any, x: Any, s: Any) -> Any:
    return np.outer(s, x), a.T @ s


def test_a_reverse_rule_gives_reverse_mode(session: vlad.Session) -> None:
    calls = []

    def counted(a: Any, x: Any, s: Any) -> Any:
        calls.append(1)
        return back(a, x, s)

    session["f"] = vlad.primitive(reverse=counted, example=EXAMPLE)(matrix_vector)
    a, x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([1.0, -1.0])
    calls.clear()
    for_a, for_x = vlad.grad(session.eval("(lambda (a x) (sum (square (f a x))))"))(a, x)
    assert len(calls) == 1  # for the sensitivities of both
    np.testing.assert_allclose(for_a, np.outer(2 * a @ x, x))
    np.testing.assert_allclose(for_x, 2 * a.T @ a @ x)
    error = error_of(lambda: vlad.jvp(session["f"], (a, x), (a, x)))
    assert error.message == "matrix_vector has no forward rule, and none can be derived of its reverse rule"
    error = error_of(
        lambda: session.eval("(lambda (g x) ((gradient (lambda (x) (sum ((gradient g) x)))) x))")(
            session.eval("(lambda (x) (sum (square (f #[[1 2] [3 4]] x))))"), x
        )
    )
    assert "no second derivative of matrix_vector" in error.message


def test_a_forward_rule_gives_forward_mode(session: vlad.Session) -> None:
    @vlad.primitive(example=EXAMPLE)
    def product(a: Any, x: Any) -> Any:
        return a @ x

    @product.forward
    def _(a: Any, x: Any, da: Any, dx: Any) -> Any:
        return da @ x + a @ dx

    session.define(product)
    a, x = EXAMPLE
    np.testing.assert_allclose(vlad.jvp(session["product"], (a, x), (a, x))[1], 2 * a @ x)
    np.testing.assert_allclose(
        vlad.jvp(session.eval("(lambda (x) (product #[[1 2 3]] x))"), x, x)[1], [[1, 2, 3] @ x]
    )
    error = error_of(lambda: vlad.grad(session.eval("(lambda (a x) (sum (product a x)))"))(a, x))
    assert error.message == "product has no reverse rule, and none can be derived of its forward rule"


def test_texts_give_arrays_every_order(session: vlad.Session) -> None:
    session["f"] = vlad.primitive(
        forward="(accumulate (matmul (complete a da) x) (matmul a (complete x dx)))",
        reverse={"a": "(outer s x)", "x": "(matmul s a)"},
        example=EXAMPLE,
    )(matrix_vector)
    session.eval("(define (g a x) (sum (exp (f a x))))")
    session.eval("(define (h a x) (sum (exp (matmul a x))))")
    a, x = EXAMPLE
    for_g, for_h = [vlad.grad(session[name])(a, x) for name in "gh"]
    np.testing.assert_allclose(for_g[0], for_h[0])
    np.testing.assert_allclose(for_g[1], for_h[1])
    of_x = {name: session.eval(f"(lambda (x) ({name} #[[1 2 3] [0 1 -1]] x))") for name in "gh"}
    np.testing.assert_allclose(vlad.hessian(of_x["g"])(x), vlad.hessian(of_x["h"])(x))
    third = {
        name: session.eval(
            "(lambda (g) (gradient (lambda (x) (sum ((gradient (lambda (x) (sum ((gradient g) x)))) x)))))"
        )(of_x[name])
        for name in "gh"
    }
    np.testing.assert_allclose(third["g"](x), third["h"](x))


def test_partials_of_arrays(session: vlad.Session) -> None:
    session["f"] = vlad.primitive(partials="(cos x)", example=np.ones(2))(lambda x: np.sin(x))
    x = np.array([[0.5, 1.0, -2.0]])
    np.testing.assert_allclose(vlad.grad(session.eval("(lambda (x) (sum (f x)))"))(x), np.cos(x))
    np.testing.assert_allclose(vlad.hvp(session.eval("(lambda (x) (sum (f x)))"), x, x), -np.sin(x) * x)
    assert vlad.grad(session.eval("(lambda (x) (f x))"))(0.5) == math.cos(0.5)


def test_a_linear_function_has_every_order_by_two_rules(session: vlad.Session) -> None:
    total = vlad.primitive("total", example=np.ones(3))(lambda x: np.cumsum(x))
    total.forward(lambda dx: np.cumsum(dx))
    total.reverse(lambda s: np.cumsum(s[::-1])[::-1])
    session["total"] = total
    session.eval("(define (f x) (sum (exp (total x))))")
    c = np.tril(np.ones((3, 3)))
    x = np.array([0.1, -0.2, 0.3])
    hessian = c.T @ np.diag(np.exp(c @ x)) @ c
    np.testing.assert_allclose(vlad.grad(session["f"])(x), c.T @ np.exp(c @ x))
    np.testing.assert_allclose(vlad.hessian(session["f"])(x), hessian)
    for inner in ("-R", "-F"):
        for outer in ("-R", "-F"):
            text = f"(gradient{outer} (lambda (x) (sum ((gradient{inner} f) x))))"
            np.testing.assert_allclose(session.eval(text)(x), hessian.sum(0))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_arrays_of_any_shape(shape: list[int], seed: int) -> None:
    """Reverse against forward, and against the language's own."""
    session = _arrays()
    draw = np.random.default_rng(seed)
    x, v, w = draw.normal(size=shape), draw.normal(size=shape), draw.normal(size=shape)
    gradient = vlad.grad(session.eval("(lambda (w x) (sum (* w (cube x))))"), 1)(w, x)
    tangent = vlad.jvp(session["cube"], x, v)[1]
    np.testing.assert_allclose(gradient, 3 * w * x * x)
    assert np.sum(w * tangent) == pytest.approx(np.sum(gradient * v))


@functools.cache
def _arrays() -> vlad.Session:
    session = vlad.Session()
    session["cube"] = vlad.primitive(
        "cube",
        forward=lambda x, dx: 3 * x * x * dx,
        reverse=lambda x, s: 3 * x * x * s,
        example=np.ones(2),
    )(lambda x: x**3)
    return session


def test_operands_that_have_no_tangents(session: vlad.Session) -> None:
    def scaled(x: Any, how: str, counts: Any) -> Any:
        return x * counts if how == "times" else x + counts

    session["f"] = vlad.primitive(
        forward=lambda dx, how, counts: dx * counts if how == "times" else dx,
        reverse=lambda s, how, counts: s * counts if how == "times" else s,
        example=[(np.ones(3), "times", np.array([1, 2, 3])), (np.ones(2), "plus", np.array([1, 2]))],
    )(scaled)
    x = np.array([0.5, 1.5])
    f = session.eval("""(lambda (n x) (sum (square (f x "times" n))))""")
    np.testing.assert_allclose(vlad.grad(f, 1)(np.array([3, 4]), x), 2 * x * [9, 16])


def test_results_of_rules_have_the_right_shape(session: vlad.Session) -> None:
    example = (np.ones(3),)
    session["f"] = vlad.primitive(
        "f",
        reverse=lambda x, s: (s * np.ones(3))[: len(x)] if len(x) == 3 else np.ones((2, 2)),
        example=example,
    )(lambda x: np.sum(x))
    assert vlad.grad(session["f"])(np.zeros(3)).tolist() == [1, 1, 1]
    error = error_of(lambda: vlad.grad(session["f"])(np.zeros(2)))
    assert (
        error.message
        == "The Python function f's rule returns what has the shape (2 2), where (2) is expected"
    )
    session["g"] = vlad.primitive("g", reverse=lambda x, s: s, example=example)(
        lambda x: x if len(x) == 3 else "no"
    )
    assert "neither a real nor an array" in error_of(lambda: session["g"](np.zeros(2))).message
    assert error_of(lambda: session.eval("(g (list 1 2))")).message == "Argument to g is invalid"


# A wrong primitive is rejected when it is passed to the session.


def rejected(function: Callable[..., Any], **rules: Any) -> vlad.VladError:
    session = vlad.Session()
    error = error_of(lambda: session.__setitem__("f", vlad.primitive("f", **rules)(function)))
    with pytest.raises(KeyError):
        session["f"]
    return error


WRONG = [
    {"partials": "(sin x)"},
    {"forward": "(* 2 (* dx (cos x)))"},
    {"reverse": "(negate (* s (cos x)))"},
    {"partials": lambda x: math.cos(x) + 1e-3},
    {"forward": lambda x, dx: -dx * math.cos(x)},
    {"reverse": lambda x, s: s * math.sin(x)},
    {"forward": "(* dx (cos x))", "reverse": "(* s (sin x))"},
    {"forward": "(* dx (sin x))", "reverse": "(* s (cos x))"},
    {"partials": "(cos x)", "reverse": lambda s: s},
    {"partials": "+nan.0"},
]  # fmt: skip


@pytest.mark.parametrize("rules", WRONG, ids=range(len(WRONG)))
def test_a_wrong_rule_is_rejected(rules: dict[str, Any]) -> None:
    error = rejected(math.sin, **rules)
    assert error.code == "wrong-derivative"
    assert "finite differences" in error.message


def test_the_message_has_the_numbers() -> None:
    error = rejected(lambda x: x * x, partials="(* 3 x)", example=[2.0])
    assert error.message.startswith(
        "A derivative rule of f is wrong: by x at (2) it gives 6, finite differences 4"
    )


def test_wrong_rules_of_arrays_are_rejected() -> None:
    def wrong(a: Any, x: Any, s: Any) -> Any:
        return np.outer(s, x), 1.001 * a.T @ s

    error = rejected(matrix_vector, reverse=wrong, example=EXAMPLE)
    assert "by x at (#[[-2 -1 0] [1 2 3]] #[0.5 -1 2])" in error.message
    assert "weighted at random" in error.message
    assert rejected(matrix_vector, forward=lambda a, dx: a @ dx, example=EXAMPLE).code == "wrong-derivative"
    assert (
        rejected(
            matrix_vector,
            forward="(matmul a dx)",
            reverse={"a": "(outer s x)", "x": "(matmul s a)"},
            example=EXAMPLE,
        ).code
        == "wrong-derivative"
    )


def LOG(x: float) -> float:
    return math.log(x)


@pytest.mark.parametrize(
    "function",
    [
        math.exp,
        math.sin,
        lambda x: 1e6 + x * x,
        lambda x: 1e-6 * math.sin(x),
        LOG,
        math.acosh,
        lambda x: math.sqrt(1 - x * x) / 1e3,
    ],
    ids=range(7),
)
def test_right_rules_of_steep_flat_and_partial_functions_are_not(
    function: Callable[[float], float], session: vlad.Session
) -> None:
    """And errors of a thousandth are detected, however large the values."""
    h = 1e-6

    def exact(x: float) -> float:
        return (function(x + h) - function(x - h)) / (2 * h)

    slopes = {
        math.exp: math.exp,
        math.sin: math.cos,
        LOG: lambda x: 1 / x,
        math.acosh: lambda x: 1 / math.sqrt(x * x - 1),
    }
    if function in slopes:
        right = slopes[function]
        session["f"] = vlad.primitive("f", partials=right)(function)
        assert rejected(function, partials=lambda x: right(x) * 1.001).code == "wrong-derivative"
    else:
        assert rejected(function, partials=lambda x: exact(x) * 1.01).code == "wrong-derivative"


def test_float32_is_checked_as_it_can_be(session: vlad.Session) -> None:
    example = np.array([0.5, 1.0, 2.0], dtype=np.float32)
    session["f"] = vlad.primitive("f", reverse=lambda x, s: s * np.cos(x), example=example)(
        lambda x: np.sin(x)
    )
    assert (
        rejected(
            lambda x: np.sin(x), reverse=lambda x, s: s * np.cos(x) * np.float32(1.05), example=example
        ).code
        == "wrong-derivative"
    )


BAD = [
    (math.sin, {}, "it has no derivative rule"),
    (math.sin, {"partials": "(cos y)"}, "(cos y): Unbound variable: y"),
    (math.sin, {"partials": "(cos x x)"}, "(cos x x): Unbound variable: cos"),
    (math.sin, {"partials": "(cos x"}, "(cos x"),
    (math.sin, {"partials": "((lambda (y) y) x)"}, "has a lambda in it"),
    (math.sin, {"partials": "(x x)"}, "it calls what is no primitive"),
    (math.sin, {"reverse": "(* s (cos x)) 3"}, "(* s (cos x)) 3: "),
    (math.sin, {"forward": "(* dx (cos x))) (+ 1 2"}, "(+ 1 2: "),
    (math.sin, {"forward": ""}, "one expression is expected"),
    (lambda let: let, {"partials": "1"}, "an operand is named let"),
    (math.sin, {"partials": 3}, "a rule is a int"),
    (math.sin, {"partials": {"x": "1", "y": "1"}}, "partials have a rule for y"),
    (area, {"partials": {"x": "(exp y)"}}, "partials have no rule for y"),
    (area, {"reverse": "(* s r)"}, "reverse is one rule for 2 operands"),
    (math.sin, {"reverse": lambda x, t: t}, "a parameter t"),
    (math.sin, {"reverse": lambda *all: 1}, "does not name its parameters"),
    (lambda r: r, {"partials": "1"}, "an operand is named r"),
    (lambda x, dx: x, {"partials": "1"}, "an operand is named dx"),
    (lambda: 1.0, {"partials": "1"}, "it has no operands"),
    (math.log, {"partials": "1"}, "it does not name its parameters"),
    (lambda x: x, {"partials": "1", "example": (1.0, 2.0)}, "its example has 2 operands"),
    (lambda x: "a", {"partials": "1"}, "it returns a finite number at no point"),
    (lambda x: x, {"partials": "1", "example": ("a",)}, "no operand of its example"),
    (lambda x: x.sum(), {"reverse": lambda x, s: s, "c": "{x}", "example": np.ones(2)}, "only functions of reals have"),
    (lambda x: np.sin(x), {"partials": "(cos x)", "forward": "dx", "example": np.ones(2)}, "forward and reverse in one"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "rules", "why"), BAD, ids=[why for _, _, why in BAD])
def test_what_is_not_understood(function: Callable[..., Any], rules: dict[str, Any], why: str) -> None:
    error = error_of(lambda: vlad.Session().define(vlad.primitive("f", **rules)(function)))
    assert error.code == "invalid-rule"
    assert why in error.message


def test_a_primitive_that_fails_at_its_example() -> None:
    error = rejected(lambda x: math.log(x), partials="(/ 1 x)", example=-1.0)
    assert error.message == "The Python function f failed: ValueError: math domain error"


# In C.


def test_a_primitive_with_c_is_compiled() -> None:
    plain, compiled = vlad.Session(tier="evaluate"), vlad.Session(tier="compile")
    for session in (plain, compiled):
        session.define(vlad.primitive(partials="(sigmoid x)", c="log1p(exp({x}))")(softplus))
        session.define(vlad.primitive(partials={"x": "(exp y)", "y": "r"}, c="{x} * exp({y})")(area))
        session.eval(NESTED)
        session.eval("""
            (define (both x y) (area (softplus x) (* y (inside x))))
            (define (entries t) (sum (area (softplus t) #[1 2 3])))""")
    texts = ["looped", "inside", "(derivative-R looped)", "(derivative-F inside)", "(derivative-R (derivative-F looped))",
             "(derivative-R (derivative-R (derivative-R softplus)))"]  # fmt: skip
    pairs = [
        (plain.eval(f"(lambda (x) ({text} x))"), compiled.eval(f"(lambda (x) ({text} x))")) for text in texts
    ]
    for x in np.linspace(-2, 2, 9).tolist():
        for a, b in pairs:
            assert b(x) == pytest.approx(a(x), rel=1e-12)
        assert vlad.grad(compiled["both"])(x, 0.5) == pytest.approx(vlad.grad(plain["both"])(x, 0.5))
        t = np.array([x, 2 * x, 1 - x])
        np.testing.assert_allclose(vlad.grad(compiled["entries"])(t), vlad.grad(plain["entries"])(t))
        np.testing.assert_allclose(vlad.hessian(compiled["entries"])(t), vlad.hessian(plain["entries"])(t))
    assert {entry.reason for entry in compiled.tiers.entries.values()} == {None}
    assert all(entry.variants for entry in compiled.tiers.entries.values())


def test_a_wrong_rule_in_c_is_rejected() -> None:
    error = rejected(math.sin, partials="(cos x)", c="cos({x})", example=[0.5])
    assert error.code == "wrong-rule"
    assert (
        error.message
        == f"The rule of f in C is wrong: at (0.5) it gives {math.cos(0.5)}, Python {math.sin(0.5)}"
    )
