"""Procedures as Python sees them: names, documentation, signatures; compiled on demand; called straight from Python."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import pickle
import pydoc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad
import vlad.session.session

pytestmark = pytest.mark.any_compiler

TEXT = """\
;;; What a share is worth.
;;; learning-rate is a silly name here.
(define (price s learning-rate) (* s (exp (- 0 learning-rate))))

; a remark, no doc comment
(define plain (lambda (x)
  (* x x)))

;;; Adds.
(define (adder n) (lambda (m) (+ n m)))
  ;;; Indented.
  (define (indented (list a b) (cons c d) lambda) a)
(define (rest first . more) more)
(define (all . arguments) arguments)
(define (nothing) 3)
;;; Searches.
(define root (with-derivative (lambda (a) (sqrt a)) #:forward (lambda (a da) (/ da (* 2 (sqrt a))))))
(define twin (lambda (x x2 x*) x))
(define (loop x) (let turn ((i 0) (x x)) (if (= i 3) x (turn (+ i 1) (* x 0.5)))))
(define (linear x y) (+ (* 2 x) (* 3 y)))
(define (cube x) (* x x x))
(define (product x y z) (* x (sin y) z))
(define (loss w x) (sum (square (- (* w x) 1))))
(define (energy q) (+ (square (car q)) (* 3 (cdr q))))
"""


def made(tier: str) -> vlad.Session:
    session = vlad.Session(tier=tier)
    session.eval(TEXT, "shares.vlad")
    return session


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    return made("evaluate")


@pytest.fixture(scope="module")
def compiling() -> vlad.Session:
    return made("compile")


def refused(call: Any) -> vlad.VladError:
    with pytest.raises(vlad.VladError) as caught:
        call()
    return caught.value


# Documentation for Python.


@pytest.mark.parametrize(
    ("name", "signature", "shown", "doc"),
    [
        (
            "price", "(s, learning_rate, /)", "(price s learning-rate) at shares.vlad:3:1",
            "What a share is worth.\nlearning-rate is a silly name here.",
        ),
        ("plain", "(x, /)", "(plain x) at shares.vlad:6:15", None),
        ("adder", "(n, /)", "(adder n) at shares.vlad:10:1", "Adds."),
        ("(adder 1)", "(m, /)", "(λ m) at shares.vlad:10:19", None),
        (
            "indented", "(argument1, argument2, lambda_, /)",
            "(indented (list a b) (cons c d) lambda) at shares.vlad:12:3", "Indented.",
        ),
        ("rest", "(first, /, *more)", "(rest first . more) at shares.vlad:13:1", None),
        ("all", "(*arguments)", None, None),
        ("nothing", "()", "(nothing) at shares.vlad:15:1", None),
        ("twin", "(x, x2, x_, /)", None, None),
        ("root", "(a, /)", "(root a) at shares.vlad:17:31", "Searches."),
        ("sin", "(x, /)", "(sin x)", "Sine of x in radians."),
        ("+", "(*x)", "(+ x …)", None),
        ("cddr", "(x, /)", None, "(cddr x)\nThe cdr of the cdr"),
        ("(J cube)", "(x, /)", "(reverse cube)", None),
        ("(cdr ((J cube) (J 2)))", "(s, /)", "#<backpropagator of cube>", None),
    ],
)  # fmt: skip
def test_attributes_of_procedures(
    session: vlad.Session, name: str, signature: str, shown: str | None, doc: str | None
) -> None:
    f = session.eval(name)
    assert str(inspect.signature(f)) == signature
    assert shown is None or repr(f) == f"<vlad procedure {shown}>"
    if doc is not None:
        assert f.__doc__.startswith(doc)
    elif name != "+":
        assert f.__doc__ == repr(f)[len("<vlad procedure ") : -1]
    assert f.__doc__ in pydoc.plain(pydoc.render_doc(f)).replace("\n    ", "\n")


def test_names(session: vlad.Session) -> None:
    assert session["price"].__name__ == "price"
    assert session.eval("(lambda (x) x)").__name__ == "λ"
    assert vlad.Procedure.__name__ == "Procedure"
    assert "procedure of a session" in (vlad.Procedure.__doc__ or "")
    assert not hasattr(vlad.Procedure, "__signature__")


def test_a_python_function_keeps_its_documentation(session: vlad.Session) -> None:
    def area(width: float, s: float) -> float:
        """Of a rectangle."""
        return width * s

    session.define(area)
    f = session["area"]
    assert (f.__doc__, str(inspect.signature(f))) == ("Of a rectangle.", "(width, s, /)")
    error = refused(lambda: session.eval("(area 1)"))
    assert error.message == "area takes 2 arguments and got 1"
    assert error.hint == "its parameter list is (area width s)"


def test_gradients_are_named_after_their_procedure(session: vlad.Session) -> None:
    price = session["price"]
    gradient = vlad.grad(price)
    assert repr(gradient) == "<vlad procedure gradient of (price s learning-rate) at shares.vlad:3:1>"
    assert gradient.__doc__ == "The gradient of (price s learning-rate) at shares.vlad:3:1."
    assert gradient.__name__ == "gradient of price"
    assert inspect.signature(gradient) == inspect.signature(price)
    assert vlad.grad(price, 1).__name__ == "gradient by argument 1 of price"
    assert (
        vlad.value_and_grad(price, (0, 1)).__name__
        == "value and gradient by argument 0 and argument 1 of price"
    )
    assert vlad.hessian(price).__name__ == "hessian of price"


def test_a_doc_comment_is_of_the_definition_above_which_it_stands() -> None:
    session = vlad.Session()
    session.eval(
        ";;; One.\n(define (f x) (define (f y) y) (f x))\n;;; Other.\n\n(define (g x) x) (define (h x) x)"
    )
    assert session["f"].__doc__ == "One."
    assert session["g"].__doc__.startswith("(g x) at")
    session.eval("(define-syntax make (syntax-rules () ((_ n) (define (n x) x))))\n;;; No.\n(make made)")
    assert session["made"].__doc__.startswith("(made x) at")


# Parts of gradients.


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_gradients_by_some_arguments(tier: str) -> None:
    session = made(tier)
    f, point = session["product"], (2.0, 0.5, 3.0)
    exact = (3 * math.sin(0.5), 6 * math.cos(0.5), 2 * math.sin(0.5))
    for _ in range(3):  # first on the way on which everything is converted
        for number in range(-3, 3):
            assert vlad.grad(f, number)(*point) == pytest.approx(exact[number])
        for numbers in [(0,), (2, 0), (0, 1, 2), (-1, 1)]:
            expected = tuple([exact[number] for number in numbers])
            assert vlad.grad(f, numbers)(*point) == pytest.approx(expected)
            value, found = vlad.value_and_grad(f, numbers)(*point)
            assert (value, found) == (pytest.approx(6 * math.sin(0.5)), pytest.approx(expected))
    session["by-y"] = vlad.grad(f, 1)
    assert session.eval("(by-y 2 0.5 3)") == pytest.approx(exact[1])
    assert vlad.grad(vlad.grad(f, 1), 0)(*point) == pytest.approx(exact[1] / 2)
    nested = session.eval("(lambda (q x) (* x (energy q)))")
    assert vlad.grad(nested, 0)((2.0, 1.0), 10.0) == (40.0, 30.0)


THREE = "(lambda (q) (* (car q) (cadr q) (cddr q)))"
MORE = "(lambda (x y) (* x (car y) (cdr y)))"


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize(
    ("text", "by", "arguments", "expected"),
    [
        (THREE, 0, (2.0, 3.0, 4.0), (12.0, 8.0, 6.0)),
        (THREE, (0,), (2.0, 3.0, 4.0), ((12.0, 8.0, 6.0),)),
        (THREE, 0, ((2.0, 3.0, 4.0),), (12.0, 8.0, 6.0)),
        (MORE, 0, (2.0, 3.0, 4.0), 12.0),
        (MORE, 1, (2.0, 3.0, 4.0), (8.0, 6.0)),
        (MORE, (1,), (2.0, 3.0, 4.0), ((8.0, 6.0),)),
        (MORE, (0, 1), (2, 3, 4), (12.0, (8.0, 6.0))),
        (MORE, (1, 0), (2.0, (3.0, 4.0)), ((8.0, 6.0), 12.0)),
        ("(lambda (x y) (* x y y))", 0, ((2.0, 3.0),), 9.0),
        ("(lambda (x y) (* x y y))", (1,), ((2.0, 3.0),), (12.0,)),
        ("(lambda (x y z) (* x y z))", 2, (2.0, (3.0, 4.0)), 6.0),
        ("(lambda (x y z) (* x y z))", (0, 2), ((2.0, 3.0, 4.0),), (12.0, 6.0)),
        ("(lambda (x) 3.0)", 0, (), ()),
        ("(lambda (x) 3.0)", (0,), (), ((),)),
        ("(lambda (x y) (* x (list-sum y)))", (0, 1), ([2.0, 3.0, 4.0],), (7.0, [2.0, 2.0])),
    ],
)  # fmt: skip
def test_gradients_by_arguments_that_are_spread_or_packed(
    text: str, by: Any, arguments: tuple[Any, ...], expected: Any, tier: str
) -> None:
    """By the tuple rule several arguments may be those of one parameter, and one those of several."""
    f = vlad.Session(tier=tier).eval(text)
    for _ in range(3):
        same(vlad.grad(f, by)(*arguments), expected)
        same(vlad.jacobian(f, by)(*arguments), expected)
        same(vlad.value_and_grad(f, by)(*arguments), (f(*arguments), expected))
        if arguments:
            assert np.shape(vlad.hessian(f, 0)(*arguments)) == 2 * np.shape(vlad.grad(f, 0)(*arguments))


def test_a_hessian_by_what_has_no_derivative() -> None:
    """A tensor of integers stands in its own place, however often it is called."""
    text, point = "(lambda (x n) (* x x (sum n)))", (2.0, np.arange(3))
    expected = vlad.hessian(vlad.Session(tier="evaluate").eval(text))(*point)
    again = vlad.hessian(vlad.Session(tier="compile").eval(text))
    for _ in range(3):
        same(again(*point), expected)


@pytest.mark.parametrize("numbers", [3, -4, (0, 0), (0, -3), (), "other", (1.0,), ("x", 0)])
def test_there_is_no_such_argument(session: vlad.Session, numbers: Any) -> None:
    error = refused(lambda: vlad.grad(session["product"], numbers))
    assert error.code == "invalid-argument" and str(numbers) in error.message
    assert refused(lambda: vlad.grad(session["all"], 0)).hint == "wrap it in a lambda of so many"


def test_what_is_made_of_a_procedure_is_made_once(session: vlad.Session) -> None:
    cube = session["cube"]
    assert vlad.grad(cube).value is vlad.grad(session["cube"]).value
    assert vlad.grad(cube, 0).value is not vlad.grad(cube).value
    for index in range(600):  # others do not stay
        vlad.grad(session.eval(f"(lambda (x) (* x {index}))"))
    assert len(cube._apply.derived) < 600
    assert vlad.grad(cube)(2.0) == 12.0


# Straight to machine code.


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("price", (2.0, 0.5)), ("price", (2, 0.5)), ("price", (True, 0.5)), ("price", (np.float64(2), 1)),
        ("product", (1.0, 2.0, 3.0)), ("linear", (1.0, 2.0)), ("cube", (2.0,)), ("loop", (2.0,)), ("loop", (2,)),
        ("loss", (np.ones(3), np.arange(3.0))), ("loss", (2, np.arange(3.0))), ("loss", (2.0, np.arange(3))),
        ("energy", ((2.0, 3.0),)), ("rest", (1.0, 2.0)), ("rest", (1.0, 2.0, 3.0)), ("all", (1.0, 2.0)), ("all", ([1.0],)),
    ],
)  # fmt: skip
def test_all_ways_to_call_return_the_same(
    session: vlad.Session, compiling: vlad.Session, name: str, arguments: tuple[Any, ...]
) -> None:
    makers = [lambda f: f]
    if name not in ("rest", "all"):
        makers += [vlad.grad, vlad.value_and_grad, vlad.hessian]
    for make in makers:
        expected = outcome(make(session[name]), arguments)
        again = make(compiling[name])
        for _ in range(3):
            same(outcome(again, arguments), expected)


def outcome(f: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        return f(*arguments)
    except vlad.VladError as error:
        return error.code


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and not found.flags.writeable
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert found == (pytest.approx(expected, rel=1e-12) if isinstance(expected, float) else expected)


def test_machine_code_for_one_structure_is_not_called_with_another() -> None:
    session = vlad.Session(tier="compile")
    f = session.eval("(lambda (x) (if (pair? x) (car x) (* 100 x)))")
    for _ in range(2):
        assert (f([1.0]), f(3.0), f(1.0, 2.0), f((4.0, 5.0)), f(2)) == (1.0, 300.0, 1.0, 4.0, 200.0)


@pytest.mark.parametrize(
    "text",
    [
        "(cons 3 (* 2 x))", "(cons (* 2 x) 3)", "(list 3 (* 2 x))", "(list (* 2 x))", "(list (* 2 x) #t)", "(cons '() (* 2 x))",
        "(list (list (* 2 x)))", "(cons 3 (cons 4 (* 2 x)))", "(list 3)", "3", "(> x 3)", "(list x 3 x)", "(cons x (cons 3 x))",
    ],
)  # fmt: skip
@pytest.mark.parametrize("x", [0.5, np.array(0.5), np.array([0.5, 1.5])], ids=["real", "scalar", "array"])
def test_known_parts_of_a_result_are_part_of_it(text: str, x: Any) -> None:
    """However often it is called: machine code gives the other parts only."""
    for inside in (text, text.replace("x", "(sum x)")):
        expected = vlad.Session(tier="evaluate").eval(f"(lambda (x) {inside})")(x)
        f = vlad.Session(tier="compile").eval(f"(lambda (x) {inside})")
        for _ in range(3):
            same(f(x), expected)


def test_sensitivities_come_straight_from_machine_code(compiling: vlad.Session) -> None:
    for name, point in [
        ("product", (1.0, 2.0, 3.0)),
        ("linear", (1.0, 2.0)),
        ("loss", (np.ones(3), np.arange(3.0))),
    ]:
        for make in (vlad.grad, vlad.value_and_grad):
            gradient = make(compiling[name])
            gradient(*point)
            assert any(leaves(point) is not NotImplemented for leaves, _ in gradient.quicks), name


def test_numbers_beyond_reals_are_an_error_on_every_path(compiling: vlad.Session) -> None:
    for name in ("cube", "loop"):
        compiling[name](2.0)
        with pytest.raises(TypeError, match="A whole number of this size"):
            compiling[name](10**400)


# Compiled on demand.


def test_what_is_compiled_runs_compiled() -> None:
    session = made("auto")
    cube = vlad.compile(session["cube"], 2.0)
    assert cube(3.0) == 27.0 and cube.quicks
    assert repr(cube) == "<vlad compiled procedure (cube x) at shares.vlad:21:1>"
    assert session["cube"].options is None and not session.tiers.entries.get(id(cube.value))
    gradient = vlad.compile(vlad.grad(session["loss"]), np.ones(3), np.ones(3))
    assert len(gradient.quicks) == 1
    same(gradient(np.ones(3), np.arange(3.0)), vlad.grad(session["loss"])(np.ones(3), np.arange(3.0)))
    assert len(gradient.quicks) == 1
    same(gradient(np.ones(4), np.arange(4.0)), vlad.grad(session["loss"])(np.ones(4), np.arange(4.0)))
    assert len(gradient.quicks) == 2  # other types, another variant
    energy = vlad.compile(vlad.grad(session["energy"]), (1.0, 2.0))
    assert energy((2.0, 5.0)) == (4.0, 3.0)
    assert vlad.compile(vlad.grad(energy.session["product"], (2, 0)), 1.0, 2.0, 3.0)(1.0, 0.0, 3.0) == (
        0.0,
        0.0,
    )


def test_to_compile_again_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    session = made("auto")
    once = vlad.compile(session["cube"], 2.0)
    variants = session.tiers.entry(once.value, once.options).variants
    assert vlad.compile(session["cube"], 3.0).quicks is once.quicks
    assert vlad.compile(once, 3)(2.0) == 8.0
    assert len(variants) == 1


def test_options_are_those_of_the_c_compiler() -> None:
    session = vlad.Session(tier="auto", optimize=1, fast_math=True)
    session.eval("(define (f x) (* x x))")
    assert vlad.compile(session["f"], 1.0).options == (1, True)
    fast = vlad.compile(session["f"], 1.0, optimize=3, fast_math=False)
    assert fast.options == (3, False) and fast(3.0) == 9.0
    with pytest.raises(ValueError, match="optimize is one of"):
        vlad.compile(session["f"], 1.0, optimize=4)


def test_what_cannot_be_compiled_is_refused_with_the_reason() -> None:
    session = made("auto")
    session["python"] = lambda x: x
    calls = session.eval("(lambda (x)\n  (* 2 (python x)))", "calls.vlad")
    error = refused(lambda: vlad.compile(calls, 1.0))
    assert error.code == "not-compiled" and "the Python function <lambda> is not compiled" in error.message
    assert str(error.span) == "calls.vlad:2:8"
    error = refused(lambda: vlad.compile(session["cube"], "text"))
    assert error.message == "cube cannot be compiled: it never returns for arguments of these types"
    assert error.hint is not None and "`vlad.check` finds it" in error.hint
    cube = vlad.compile(session["cube"], 2.0)
    assert refused(lambda: cube("text")).code == "not-compiled"
    assert cube(2.0) == 8.0
    assert refused(lambda: vlad.compile(3.0, 1.0)).code == "not-a-procedure"
    assert "compiles nothing" in refused(lambda: vlad.compile(made("evaluate")["cube"], 1.0)).message
    assert (
        "counts operations"
        in refused(lambda: vlad.compile(vlad.Session(metered=True).eval("(lambda (x) x)"), 1.0)).message
    )


@pytest.mark.parametrize("examples", [(), (1.0,), (1.0, 2.0, 3.0)])
def test_examples_are_the_arguments_of_one_call(examples: tuple[float, ...]) -> None:
    session = made("auto")
    for f in (session["price"], vlad.grad(session["price"])):
        error = refused(lambda f=f: vlad.compile(f, *examples))
        assert error.message == f"price takes 2 arguments and got {len(examples) or 'none'}"


def test_an_example_may_be_a_list() -> None:
    session = vlad.Session(tier="auto")
    session.eval("(define (f x l) (* x (car l))) (define (g l) (car l)) (define (h x l) (if (null? l) x 0))")
    assert vlad.compile(session["f"], 2.0, [3.0, 4.0])(2.0, [5.0, 6.0]) == 10.0
    assert vlad.compile(session["f"], 2.0, (3.0, []))(2.0, (3.0, [])) == 6.0
    assert vlad.compile(session["g"], [3.0])([7.0]) == 7.0
    assert vlad.compile(session["h"], 2.0, [])(5.0, []) == 5.0
    for wrong in ((2.0,), ([2.0, 3.0],), (2.0, 3.0, [4.0], 5.0)):
        with pytest.raises(vlad.VladError):
            vlad.compile(session["f"], *wrong)


ODD: list[Any] = [
    10**39 + 7, 10**400, -(2**63), 2**64, True, "x", None, 1j, float("nan"), [1, 2], (1, 2), np.float32(2), np.int64(2**62),
    np.bool_(True), object(), {}, np.array([1.0]), np.array(["a"]), np.zeros(0), [[]], "1" * 40,
]  # fmt: skip


@pytest.mark.parametrize("tier", ["auto", "compile"])
def test_odd_arguments_change_nothing_for_later_calls(tier: str) -> None:
    session = vlad.Session(tier=tier)
    f = session.eval("(lambda (x y) (* x (+ y 1)))")
    f = vlad.compile(f, 2.0, 3.0) if tier == "auto" else f
    for odd in ODD:
        for arguments in ((odd, 3.0), (3.0, odd), (odd,), (odd, odd)):
            with contextlib.suppress(vlad.VladError):
                f(*arguments)
            assert f(2.0, 3.0) == 8.0
    entries = [entry for entry in session.tiers.entries.values() if entry.variants]
    assert entries and not any(entry.disagrees for entry in entries)


def test_errors_of_what_is_compiled_are_those_of_the_evaluator() -> None:
    session = vlad.Session(tier="auto")
    third = vlad.compile(
        session.eval('(lambda (l) (if (> (car l) 0) (car l) (error "too small:" (car l))))'), [1.0]
    )
    assert third([2.0]) == 2.0
    assert "too small: -1" in refused(lambda: third([-1.0])).message
    assert third([3.0]) == 3.0


def test_what_is_compiled_follows_redefinitions() -> None:
    session = vlad.Session(tier="auto")
    session.eval("(define k 2) (define (f x) (* k x))")
    f = vlad.compile(session["f"], 1.0)
    assert f(3.0) == 6.0
    session.eval("(define k 5)")
    assert not f.quicks
    assert f(3.0) == 15.0 and f.quicks


def test_what_is_compiled_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vlad.session.session, "_for_unpickled", lambda settings: travelled)
    monkeypatch.setattr(
        vlad.session.session, "_read_again", vlad.session.session._read_again.__wrapped__
    )  # which remembers nothing
    session, travelled = made("auto"), made("auto")
    for f in (vlad.compile(session["cube"], 1.0), vlad.compile(vlad.grad(session["cube"]), 1.0)):
        again = pickle.loads(pickle.dumps(f))
        assert again.options == f.options and again(2.0) == f(2.0) and again.quicks
        assert copy.deepcopy(f) is f
    session["fast"] = vlad.compile(session["cube"], 1.0)
    assert session.eval("(fast 2)") == 8.0


def test_the_compiler_is_a_package_too() -> None:
    from vlad.compile.calling import policy

    assert policy.POLICIES and callable(vlad.compile)
    assert sys.modules["vlad.compile"] is not vlad.compile
    assert "compile" in vlad.__all__ and vlad.compile is not compile


def test_globals_are_attributes(session: vlad.Session) -> None:
    session.eval("(define half-life 3) (define eval 4)")
    assert session.half_life == 3.0 and session.cube(2.0) == 8.0 and session.list_sum([1.0, 2.0]) == 3.0
    assert callable(session.eval)
    for name in ("nothing_like_that", "_module_", "__deepcopy__"):
        assert not hasattr(session, name)
    with pytest.raises(AttributeError, match="no attribute or global nope") as caught:
        _ = session.nope
    assert isinstance(caught.value, vlad.VladError)


def test_backpropagators_travel(session: vlad.Session) -> None:
    value, back = vlad.vjp(session["product"], 1.0, 2.0, 3.0)
    again = pickle.loads(pickle.dumps(back))
    assert again(2.0) == back(2.0) and value == 3 * math.sin(2.0)


def test_procedures_of_closed_sessions_raise_an_error() -> None:
    closed = made("auto")
    procedures = [closed["price"], vlad.grad(closed["price"]), vlad.compile(closed["cube"], 1.0)]
    closed.close()
    for f in procedures:
        assert "of a closed session" in repr(f) and "of a closed session" in f.__doc__
        assert str(inspect.signature(f)) == "(*arguments)" and f.__name__
        assert refused(lambda f=f: f(1.0, 2.0)).message == "The session is closed"
        assert refused(lambda f=f: vlad.compile(f, 1.0, 2.0)).message == "The session is closed"


def test_the_place_that_cannot_be_compiled_is_reported_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if an earlier process found out."""
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        f = vlad.Session(tier="auto").eval("(lambda (x) (sum (ones '(2 2)) #:axis (round x)))")
        with pytest.raises(vlad.VladError) as caught:
            vlad.compile(f, 0.1)
        assert caught.value.code == "not-compiled"
        assert caught.value.span is not None
        assert caught.value.span.text == "(sum (ones '(2 2)) #:axis (round x))"


def test_procedures_are_equal_that_are_the_same(session: vlad.Session) -> None:
    price = session["price"]
    assert (
        price == session["price"] and hash(price) == hash(session["price"]) and price is not session["price"]
    )
    assert vlad.grad(price) == vlad.grad(session["price"]) != price
    assert vlad.grad(price, 0) != vlad.grad(price, 1) and price != session["plain"] and price != 3
    assert len({price, session["price"], vlad.grad(price)}) == 2
    other = made("evaluate")
    assert other["price"] != price
