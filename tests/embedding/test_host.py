"""Python functions and host objects in scripts. test_host_rules.py has the rules of primitives that are made of functions."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import threading
import weakref
from collections import Counter
from typing import Any

import numpy as np
import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts
from test_host_rules import OPERATORS, error_of, softplus

import vlad
from vlad.compile.calling.cache_key import Nameless, identity
from vlad.data.values import look
from vlad.evaluate import prompts
from vlad.primitives.table import TABLE

pytestmark = pytest.mark.any_compiler


@pytest.fixture
def session() -> vlad.Session:
    return vlad.Session()


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
    assert [line.procedure for line in error.backtrace] == ["g", "the top level"]


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
    assert error_of(lambda: vlad.dumps(k)).message.startswith("Cannot be saved: a continuation of `call/cc`")
    session["caught"] = lambda f: error_of(lambda: f(1.0)).message
    assert session.eval("(call/cc (lambda (k) (caught k)))").startswith("A continuation was called")
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
