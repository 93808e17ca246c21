"""Python functions, host objects and primitives made of Python functions, in scripts."""

from __future__ import annotations

import gc
import itertools
import math
import os
import subprocess
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts

import vlad
from vlad.compile.calling.cache_key import Nameless, identity
from vlad.data.values import look
from vlad.evaluate import prompts
from vlad.primitives.table import TABLE

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


# Python functions as procedures.


def test_a_function_is_called_by_the_tuple_rule(session: vlad.Session) -> None:
    session["f"] = lambda x, y: x + 2 * y
    assert session.eval("(f 1 2)") == 5.0
    assert session.eval("(f (cons 1 2))") == 5.0
    assert session.eval("(map f '((1 . 2) (3 . 4)))") == [5.0, 11.0]
    assert session.eval("(let ((g f)) (g 1 2))") == 5.0
    assert session["f"](1, 2) == 5.0


def test_a_function_is_an_argument_and_a_result(session: vlad.Session) -> None:
    apply = session.eval("(lambda (f x) (f (f x)))")
    assert apply(lambda x: x * 3, 2.0) == 18.0
    session["adder"] = lambda n: lambda x: x + n
    assert session.eval("((adder 3) 4)") == 7.0
    session["call"] = lambda f: f(2.0) + f(3.0)
    assert session.eval("(call (lambda (x) (* x x)))") == 13.0


def test_parameters(session: vlad.Session) -> None:
    session["all"] = lambda *arguments: list(arguments)
    assert session.eval("(list (all) (all 1) (all 1 2))") == [[], [1.0], [1.0, 2.0]]
    assert session.eval("(list (all '(1 2)) (all 1 '(2)))") == [[[1.0, 2.0]], [[1.0, 2.0]]]
    session["power"] = lambda x, n=2: x**n
    assert session.eval("(power 3)") == 9.0
    session["now"] = lambda: 3
    assert session.eval("(now)") == 3.0
    assert error_of(lambda: session.eval("(now 1)")).hint == "<lambda> takes no argument"
    session["sine"] = np.sin
    assert session.eval("(sine #[0 1])").tolist() == [0.0, math.sin(1.0)]
    session.define(math.hypot)
    assert session.eval("(hypot 3 4)") == 5.0

    def named(x: float, *, unit: str) -> float:
        return x

    assert "by name" in error_of(lambda: session.define(named)).message


values = st.recursive(
    st.floats(allow_nan=False) | st.booleans() | texts(max_size=5) | st.none(),
    lambda parts: st.lists(parts, max_size=4) | st.tuples(parts, st.floats(0, 1)),
    max_leaves=8,
)
_shared = vlad.Session()
_got: list[Any] = []


def keep(x: Any) -> Any:
    _got.append(x)
    return x


_shared.define(keep)


@given(values)
@settings(max_examples=drawn(200), deadline=None)
def test_what_a_function_is_given_is_what_python_gets_back(value: Any) -> None:
    """Arguments and results are converted as those of procedures are."""
    plain = _shared.eval("(lambda (x) (cons x 0))")
    through = _shared.eval("(lambda (x) (cons (keep x) 0))")
    assert plain(value) == through(value)
    assert _got[-1] == plain(value)[0]


def test_arrays_are_not_copied_and_not_written_to(session: vlad.Session) -> None:
    seen: list[Any] = []
    session["see"] = lambda a: seen.append(a) or a
    array = np.arange(3.0)
    assert session["see"](array).tolist() == [0.0, 1.0, 2.0]
    assert np.shares_memory(seen[0], array)
    assert not seen[0].flags.writeable
    assert array.flags.writeable


def test_an_exception_is_an_error_at_its_place(session: vlad.Session) -> None:
    def bad(x: float) -> float:
        raise ValueError("no\nway")

    session.define(bad)
    error = error_of(lambda: session.eval("(define (g x)\n  (+ 1 (bad x)))\n(g 2)", "s.vlad"))
    assert (error.code, error.message) == (
        "python-error",
        "The Python function bad failed: ValueError: no way",
    )
    assert str(error.span) == "s.vlad:2:8"
    assert isinstance(error.__cause__, ValueError)
    assert [line.procedure for line in error.backtrace] == ["g"]


def test_an_error_of_an_inner_call_passes_through(session: vlad.Session) -> None:
    session["run"] = lambda text: session.eval(text, "inner.vlad")
    assert session.eval('(+ 1 (run "(* 2 3)"))') == 7.0
    error = error_of(lambda: session.eval('(define (f) (run "(car 3)")) (f)'))
    assert error.message == "Argument to car is invalid"
    assert str(error.span) == "inner.vlad:1:1"
    assert error.__cause__ is None


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_a_continuation_holds_no_call_of_a_python_function(tier: str) -> None:
    session = vlad.Session(tier=tier)
    session["twice"] = lambda f: f(1.0) + f(2.0)
    error = error_of(lambda: session.eval("(reset (+ 1 (twice (lambda (a) (shift k (k a))))))"))
    assert error.code == "shift-without-reset"
    assert error.message == "A Python function was called between this shift and its reset"
    assert "put the `reset` into the procedure that Python calls" in (error.hint or "")
    assert session.eval("(reset (+ 1 (twice (lambda (a) (reset (* 2 (shift k (k a))))))))") == 7.0
    assert session.eval("(reset (+ (shift k (+ (k 1) (k 2))) (twice (lambda (a) (* 10 a)))))") == 63.0
    assert session.eval("(twice (reset (* 2 (shift k k))))") == 6.0
    assert session.eval("(reset (guard (e (#t (* 2 e))) (twice (lambda (a) (raise a)))))") == 2.0
    assert error_of(lambda: session.eval("(lambda (x) (shift k x))")(2.0)).message.endswith(
        "outside of any reset"
    )


def test_a_continuation_of_call_cc_goes_up_to_the_call_from_python(session: vlad.Session) -> None:
    session["call"] = lambda f: f(5.0)
    counted = session.eval("""(define (counted n)
        (let ((r (call/cc (lambda (k) (cons k 0)))))
          (if (< (cdr r) n) ((car r) (cons (car r) (+ 1 (cdr r)))) (cdr r)))) counted""")
    assert counted(3.0) == 3.0
    assert session.eval("(+ 1 (call counted))") == 6.0
    # from a call of Python out to the form around, which is left and entered again
    assert session.eval("(+ 1 (call/cc (lambda (k) (* 0 (call (lambda (x) (k x)))))))") == 6.0
    again = "((car r) (cons (car r) (+ x (cdr r))))"
    text = f"(let ((r (call/cc (lambda (k) (cons k 0))))) (if (< (cdr r) 9) (call (lambda (x) {again})) (cdr r)))"
    assert session.eval(text) == 10.0
    # one that is kept, in Python and in a cell
    session.eval("(define kept (ref 0))")
    # out of the rest of a form that has ended, as of one that has not
    session.eval("(define again-here (ref 0))")
    rest = "(call/cc (lambda (k) (set-ref! again-here k))) (call (lambda (x) (return 'early))) 'not-reached"
    assert session.eval(f"(call/cc (lambda (return) {rest}))") == session.eval("'early")
    assert session.eval("(list ((deref again-here) 0))") == session.eval("'early")
    # past a reset that runs again
    past = (
        "(solutions (lambda () (call/cc (lambda (k) (let ((a (amb '(1 2 3)))) (call (lambda (x) (k a))))))))"
    )
    assert session.eval(past) == [1.0, 2.0, 3.0]
    past = "(stream->list (generate (lambda (yield) (call/cc (lambda (k) (yield 1) (call k))) (yield 2))))"
    assert session.eval(past) == [1.0, 2.0]
    assert session.eval("(* 2 (call/cc (lambda (k) (set-ref! kept k) 1)))") == 2.0
    k = session.eval("(deref kept)")
    assert (k(4.0), session.eval("(list ((deref kept) 6))"), session.eval("(call (deref kept))")) == (
        8.0,
        12.0,
        10.0,
    )
    # one that was made by a form that has ended within this one, which does not reach `call/cc`
    session["make"] = lambda: session.eval("(call/cc (lambda (k) (list k)))")
    session["first"] = lambda items: items[0]
    assert session.eval("(list 'lost (let ((k (first (make)))) (k 5)))") == 5.0
    for text in (
        "(let ((k (call/cc (lambda (k) k)))) (k k))",
        "(let ((k (guard (e (#t e)) (call/cc (lambda (k) k))))) (k k))",
    ):
        error = error_of(lambda text=text: session.eval(text, limits=vlad.Limits(fuel=2000)))
        assert error.code == "out-of-fuel"


def test_what_large_data_hold_may_call_call_cc(
    session: vlad.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are not searched, however large."""
    looked = Counter[str]()

    def counted(value: Any) -> Any:
        looked["parts"] += 1
        return look(value)

    session.eval("""(define (turns n)
        (let ((r (call/cc (lambda (k) (cons k 0)))))
          (if (< (cdr r) n) ((car r) (cons (car r) (+ 1 (cdr r)))) (cdr r))))""")
    of_last = session.eval("(let ((l (append (iota 2000) (list turns)))) (lambda (n) ((list-ref l 2000) n)))")
    monkeypatch.setattr(prompts, "look", counted)
    assert of_last(3.0) == 3.0 and looked["parts"] < 200


def test_results_of_python_functions_need_a_counterpart(session: vlad.Session) -> None:
    session["make"] = lambda: {1, 2}
    error = error_of(lambda: session.eval("(make)"))
    assert (
        "The result of the Python function <lambda> cannot be taken over: A Python set has no counterpart"
        in error.message
    )
    assert "vlad.Opaque" in (error.hint or "")


def test_interrupts_and_limits_go_through() -> None:
    def forever() -> None:
        while True:
            pass

    session = vlad.Session(limits=vlad.Limits(seconds=0.2))
    session.define(forever)
    assert error_of(lambda: session.eval("(forever)")).code == "out-of-time"

    def interrupt() -> None:
        raise KeyboardInterrupt

    session.define(interrupt)
    with pytest.raises(KeyboardInterrupt):
        session.eval("(interrupt)")


def test_calls_that_call_each_other_forever_are_an_error(session: vlad.Session) -> None:
    session["again"] = lambda x: session["f"](x)
    errors: list[vlad.VladError] = []
    run = lambda: errors.append(error_of(lambda: session.eval("(define (f x) (again x)) (f 1)")))  # noqa: E731
    thread = threading.Thread(target=run)  # with a smaller stack
    thread.start()
    thread.join()
    run()
    assert [error.code for error in errors] == ["too-deep", "too-deep"]
    assert session.eval("(+ 1 1)") == 2.0


def test_a_function_prints_as_its_name_and_is_itself(session: vlad.Session) -> None:
    def area(x: float) -> float:
        return x

    session["f"] = area
    session["g"] = area
    assert repr(session["f"]) == "<vlad procedure (area x)>"
    assert session.eval("(list (eq? f g) (procedure? f))") == [True, True]


def test_a_function_is_freed_with_its_last_reference() -> None:
    session = vlad.Session(tier="evaluate")  # a compiler caches its results

    class Held:
        def __call__(self, x: float) -> float:
            return x + 1

    held = Held()
    seen = weakref.ref(held)
    assert session.eval("(lambda (f) (f 1))")(held) == 2.0
    session["f"] = held
    assert session.eval("((derivative (lambda (x) (* x (f 1)))) 3)") == 2.0
    session["f"] = 0.0
    del held
    session.eval("((lambda (f) (f 1)) sin)")  # the machine's register holds the last tail call
    gc.collect()
    assert seen() is None


# Their derivatives are refused, where they matter.


def plain(x: Any) -> Any:
    return x


@pytest.mark.parametrize("mode", OPERATORS.values())
def test_a_function_is_not_differentiated(session: vlad.Session, mode: str) -> None:
    session.define(plain)
    error = error_of(lambda: session.eval(f"({mode.format('(lambda (x) (* 2 (plain x)))')} 1)"))
    assert (error.code, error.message) == ("no-derivative", "The Python function plain has no derivative")
    assert "vlad.primitive" in (error.hint or "")
    assert "with-derivative" in (error.hint or "")
    assert error_of(lambda: session.eval("((cdr ((J plain) (J 1))) 1)")).code == "no-derivative"
    assert (
        error_of(lambda: session.eval(f"({mode.format('(lambda (x) (car (plain (list x))))')} 1)")).code
        == "no-derivative"
    )


@pytest.mark.parametrize("mode", OPERATORS.values())
def test_a_function_of_what_is_constant_is_called(session: vlad.Session, mode: str) -> None:
    session["f"] = lambda x: x + 1
    session["length"] = len
    assert session.eval(f"({mode.format('(lambda (x) (* x (f 3)))')} 1)") == 4.0
    assert session.eval(f"({mode.format('(lambda (x) (* x (f (stop-gradient x))))')} 3)") == 4.0
    session.eval("(define (scaled name x) (* x (length name)))")
    assert session.eval(f"""({mode.format('(lambda (x) (scaled "abc" x))')} 1)""") == 3.0


@pytest.mark.parametrize("mode", OPERATORS.values())
def test_a_rule_in_the_language_gives_a_function_a_derivative(session: vlad.Session, mode: str) -> None:
    session["f"] = math.sin
    session.eval("(define g (with-derivative f #:forward (lambda (x dx) (* dx (cos x)))))")
    assert session.eval(f"({mode.format('g')} 1)") == math.cos(1.0)


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize(
    "rule",
    [
        "#:forward (lambda (x dx) (* dx (cos x)))",
        "#:reverse (lambda (x) (cons (g x) (lambda (s) (* s (cos x)))))",
    ],
)
def test_one_rule_is_enough_for_every_order(rule: str, tier: str) -> None:
    """The primal value in a derivative is that of the whole, not of the function alone, whose derivative is refused."""
    session = vlad.Session(tier=tier)
    session["f"] = math.sin
    session.eval(f"(define g (with-derivative f {rule}))")
    for modes in ("FF", "FR", "RF", "RR", "FRF", "RFR", "FFF", "RRR"):
        text = "g"
        for mode in modes:
            text = OPERATORS[mode].format(text)
        exact = -math.sin(1) if len(modes) == 2 else -math.cos(1)
        assert session.eval(f"({text} 1)") == pytest.approx(exact, rel=1e-12), modes


# Host objects.


class Thing:
    pass


def test_a_host_object_comes_back_as_the_very_same(session: vlad.Session) -> None:
    thing = Thing()
    session["x"] = vlad.Opaque(thing)
    assert session["x"] is thing
    assert session.eval("(car (list x))") is thing
    session["seen"] = lambda x: x is thing
    assert session.eval("(seen x)") is True
    session["make"] = lambda: vlad.Opaque(thing)
    assert session.eval("(eq? x (make))") is True
    assert session.eval("(equal? (list x) (list (make)))") is True
    session["y"] = vlad.Opaque(Thing())
    assert session.eval("(eq? x y)") is False


@pytest.mark.parametrize("held", [[1, 2], "text", {1: 2}, math.sin, np.ones(3), None, vlad.Session])
def test_anything_may_be_a_host_object(session: vlad.Session, held: Any) -> None:
    assert session.eval("(lambda (x) x)")(vlad.Opaque(held)) is held


def test_a_host_object_is_not_looked_into(session: vlad.Session) -> None:
    written: list[str] = []
    session = vlad.Session(write=written.append)
    session["x"] = vlad.Opaque(Thing())
    session.run_text("x (list 1 x)")
    assert "".join(written) == "#<host Thing>\n(1 #<host Thing>)\n"
    error = error_of(lambda: session.eval("(+ x 1)"))
    assert error.message == "Argument to + is invalid"
    assert error.hint == "+ takes reals; these are a host object and a real"
    assert error_of(lambda: session.eval("(x 1)")).code == "not-a-procedure"
    assert (
        session.eval("(map (lambda (p) (p x)) (list pair? procedure? real? string? null? symbol? boolean?))")
        == [False] * 7
    )
    with pytest.raises(TypeError, match="A Python Thing has no counterpart"):
        session["y"] = Thing()


@pytest.mark.parametrize("operator", ["gradient-R", "gradient-F"])
def test_a_host_object_has_no_tangent(session: vlad.Session, operator: str) -> None:
    thing = Thing()
    session["f"] = session.eval("(lambda (p) (* (car p) (car p)))")
    if operator == "gradient-R":
        assert vlad.grad(session["f"])((3.0, vlad.Opaque(thing))) == (6.0, thing)
    assert session.eval("(lambda (x) (jvp f (cons 3 x) (cons 1 x)))")(vlad.Opaque(thing)) == (9.0, 6.0)


def test_a_host_object_is_freed(session: vlad.Session) -> None:
    thing = Thing()
    seen = weakref.ref(thing)
    session["x"] = vlad.Opaque(thing)
    session["x"] = 0.0
    del thing
    gc.collect()
    assert seen() is None


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


def _arrays(kept: list[vlad.Session] = []) -> vlad.Session:  # noqa: B006
    if not kept:
        kept.append(vlad.Session())
        kept[0]["cube"] = vlad.primitive(
            "cube",
            forward=lambda x, dx: 3 * x * x * dx,
            reverse=lambda x, s: 3 * x * x * s,
            example=np.ones(2),
        )(lambda x: x**3)
    return kept[0]


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


# Sessions and names.


def test_the_table_is_not_touched() -> None:
    before = dict(TABLE)
    session, other = vlad.Session(), vlad.Session()
    twice = vlad.primitive("twice", partials="2")(lambda x: 2 * x)
    session.define(twice)
    assert session.eval("((derivative twice) 1)") == 2.0
    assert TABLE == before
    assert error_of(lambda: other.eval("(twice 1)")).code == "unbound-variable"
    other["twice"] = twice
    assert other.eval("((derivative twice) 1)") == 2.0
    assert twice(4.0) == 8.0


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_primitives_of_one_name_are_two(tier: str) -> None:
    session = vlad.Session(tier=tier)
    session["a"] = vlad.primitive("exp", partials="2", c="2 * {x}")(lambda x: 2 * x)
    session["b"] = vlad.primitive("exp", partials="3", c="3 * {x}")(lambda x: 3 * x)
    assert session.eval("(lambda (x) (list (a x) (b x) (exp x)))")(0.5) == [1.0, 1.5, math.exp(0.5)]
    assert session.eval("(lambda (x) (map (lambda (f) ((derivative f) x)) (list a b exp)))")(0.5) == [
        2.0,
        3.0,
        math.exp(0.5),
    ]


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_a_name_may_come_to_mean_another(tier: str) -> None:
    session = vlad.Session(tier=tier)
    session.eval("(define (g x) (+ 1 (f x)))")
    for factor in (2.0, 3.0):
        session["f"] = vlad.primitive("f", partials=str(factor), c=f"{factor} * {{x}}")(
            lambda x, k=factor: k * x
        )
        assert session["g"](1.0) == 1 + factor
        assert vlad.grad(session["g"])(1.0) == factor
    session["f"] = lambda x: -x
    assert session["g"](1.0) == 0.0
    session["exp"] = lambda x: 7
    assert session.eval("(exp 1)") == 7.0


@pytest.mark.parametrize("name", ["rule-1", "*", "car", "a b", "λ", "f:1", ""])
def test_a_primitive_may_have_any_name(session: vlad.Session, name: str) -> None:
    session["f"] = vlad.primitive(name or None, partials=lambda x: 2 * x)(lambda x: x * x)
    session["g"] = vlad.primitive(name or None, forward="(* 3 (* dx (* x x)))")(lambda x: x**3)
    assert session.eval("((derivative f) 3)") == 6.0
    assert session.eval("((derivative-R (derivative-R g)) 2)") == 12.0
    assert session.eval("(* 2 (car (list (f 3))))") == 18.0


def test_rules_that_are_added_later_count(session: vlad.Session) -> None:
    f = vlad.primitive("f", partials="1")(lambda x: x * x)
    assert error_of(lambda: session.__setitem__("f", f)).code == "wrong-derivative"
    f = vlad.primitive("f", example=[3.0])(lambda x: x * x)
    f.reverse("(* 2 (* s x))")
    session["f"] = f
    f.forward("(* dx x)")
    assert error_of(lambda: session.__setitem__("f", f)).code == "wrong-derivative"
    assert session.eval("((derivative f) 2)") == 4.0


def test_a_primitive_is_an_argument(session: vlad.Session) -> None:
    slope = session.eval("(lambda (f x) ((derivative f) x))")
    assert slope(vlad.primitive(partials="(cos x)")(math.sin), 1.0) == math.cos(1.0)


def test_an_exception_of_a_rule(session: vlad.Session) -> None:
    def rule(x: float, s: float) -> float:
        if x == 7:
            raise ZeroDivisionError("seven")
        return s

    session["f"] = vlad.primitive("f", reverse=rule)(lambda x: x)
    error = error_of(lambda: session.eval("((gradient (lambda (x) (f x))) 7)"))
    assert error.message == "The Python function f's rule failed: ZeroDivisionError: seven"
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.span is not None


def test_what_is_python_s_is_not_saved(session: vlad.Session) -> None:
    """Another process could not make it again."""
    session["f"] = plain
    session["g"] = vlad.primitive("g", partials="2")(lambda x: 2 * x)
    session["x"] = vlad.Opaque(Thing())
    for text, what in [
        ("(lambda (y) (list (f y)))", "the Python function plain"),
        ("(let ((h f)) (lambda (y) (h y)))", "the Python function plain"),
        ("(lambda (y) (g y))", "the Python function g"),
        ("(derivative-R g)", "the Python function g"),
        ("f", "the Python function plain"),
        ("(lambda (y) x)", "a Python Thing"),
    ]:
        error = error_of(lambda text=text: vlad.dumps(session.eval(text)))
        assert (error.code, error.message) == ("cannot-save", f"Cannot be saved: {what}")
    assert error_of(lambda: vlad.dumps(vlad.Opaque(Thing()))).message == "Cannot be saved: a Python Thing"
    assert error_of(lambda: vlad.dumps([plain])).code == "cannot-save"


# Tier 1.


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


def test_what_is_compiled_of_a_primitive_is_not_kept_for_other_processes(session: vlad.Session) -> None:
    """Another process may have another primitive of that name."""
    session["f"] = vlad.primitive("f", partials="2", c="2 * {x}")(lambda x: 2 * x)
    for text in ("(lambda (x) (f x))", "(lambda (x) (map f (list x)))", "(derivative-R f)"):
        with pytest.raises(Nameless):
            identity(session.machine, session.eval(text).value, [1.0], 24)


def test_what_calls_python_is_not_compiled() -> None:
    session = vlad.Session(tier="compile")
    session["f"] = lambda x: x + 1
    session.define(vlad.primitive(partials="(sigmoid x)")(softplus))
    session["h"] = vlad.primitive("h", reverse=lambda x, s: s * math.cos(x), c="sin({x})")(math.sin)
    session["x"] = vlad.Opaque(Thing())
    for text, value, reason in [
        ("(lambda (x) (* 2 (f x)))", 4.0, "the Python function <lambda> is not compiled yet"),
        ("(lambda (x) (softplus x))", softplus(1.0), "the Python function softplus is not compiled yet"),
        (
            "(lambda (x) ((derivative h) x))",
            math.cos(1.0),
            "derivatives of h that Python computes are not compiled yet",
        ),
        ("(lambda (x) (car (cons 1 (list x))))", 1.0, None),
        ("(lambda (y) (car (cons y x)))", 1.0, "host objects are not compiled yet"),
    ]:
        procedure = session.eval(text)
        assert procedure(1.0) == value
        assert session.tiers.entries[id(procedure.value)].reason == reason
    keep = session.eval("(lambda (x) (cons x 1))")
    thing = Thing()
    assert keep(vlad.Opaque(thing)) == (thing, 1.0)


def test_an_exception_for_a_constant_is_raised_when_it_runs() -> None:
    session = vlad.Session(tier="compile")
    session["f"] = vlad.primitive("f", partials="(/ 1 x)", c="log({x})")(lambda x: math.log(x))
    error = error_of(lambda: session.eval("(lambda (x) (+ x (f (real -1)) (f -1)))")(1.0))
    assert error.message == "The Python function f failed: ValueError: math domain error"


@pytest.mark.system_compiler
@pytest.mark.skipif(
    bool(os.environ.get("VLAD_CC")), reason="a compiler that cannot link programs may have been chosen"
)
def test_a_program_with_a_rule_in_c_runs_without_python(tmp_path: Any) -> None:
    (tmp_path / "p.vlad").write_text("(twice 4)\n((derivative (lambda (x) (* x (twice x)))) (real 3))\n")
    session = vlad.Session()
    session["twice"] = vlad.primitive("twice", partials="2", c="2 * {x}")(lambda x: 2 * x)
    output = str(tmp_path / "p")
    session.build(str(tmp_path / "p.vlad"), output)
    done = subprocess.run([output], capture_output=True, text=True, check=True)
    assert done.stdout == "8\n12\n"
    session["twice"] = lambda x: 2 * x
    assert "not compiled" in str(error_of(lambda: session.build(str(tmp_path / "p.vlad"), output)))


def test_a_wrong_rule_in_c_is_rejected() -> None:
    error = rejected(math.sin, partials="(cos x)", c="cos({x})", example=[0.5])
    assert error.code == "wrong-rule"
    assert (
        error.message
        == f"The rule of f in C is wrong: at (0.5) it gives {math.cos(0.5)}, Python {math.sin(0.5)}"
    )


@pytest.mark.parametrize("tier", ["evaluate", "compile", "auto"])
def test_each_effect_happens_once(tier: str) -> None:
    """Also where a call that Python makes on behalf of a script fails compiled, and runs again."""
    written: list[str] = []
    session = vlad.Session(tier=tier, write=written.append)
    calls: list[float] = []

    def inner(x: float) -> Any:
        calls.append(x)
        try:
            return session["noisy"](x)
        except vlad.VladError:
            return -1.0

    session.define(inner)
    session.eval("""
        (define (noisy x) (begin (write x) (if (< x 3) (car x) x)))
        (define (outer n) (begin (write 100) (let loop ((i 0) (sum 0)) (if (= i n) sum (loop (+ i 1) (+ sum (inner i)))))))""")
    assert session["outer"](5.0) == -3 + 3 + 4
    assert "".join(written).split() == ["100", "0", "1", "2", "3", "4"]
    assert calls == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_long_program_that_calls_python_runs_once() -> None:
    """It is never restarted, as effects of Python cannot be undone."""
    session = vlad.Session(tier="auto")
    calls: list[float] = []
    session["note"] = lambda x: calls.append(x)
    session.eval("""
        (define (work i) (if (= i 0) 0 (work (- i 1))))
        (define (run n) (let loop ((i 0)) (if (= i n) i (begin (note i) (work 20000) (loop (+ i 1))))))""")
    assert session["run"](200.0) == 200.0
    assert calls == list(map(float, range(200)))
