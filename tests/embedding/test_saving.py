"""`vlad.dumps`, `vlad.loads` and pickle: values read back equal the saved ones; an invalid text is one error."""

from __future__ import annotations

import copy
import math
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import texts

import vlad
from vlad.data.source import Source
from vlad.data.tensors import Tensor
from vlad.data.values import (
    FALSE,
    NIL,
    TRUE,
    UNSPECIFIED,
    ZERO,
    Code,
    Deferred,
    String,
    Symbol,
    Value,
    look,
    symbol,
)
from vlad.evaluate.limits import deep_recursion
from vlad.python.dump import dumps_with_places, write_value
from vlad.python.load import loads_with_places, read_value
from vlad.python.places import unpacked

sys.path.insert(0, str(Path(__file__).parent.parent / "ad"))
from programs import functions, points

DEFINITIONS = """
(define k 3)
(define (cube x) (* x x x))
(define (scaled a) (lambda (x) (* a (+ k (cube x)))))
(define (loop x n) (if (= n 0) x (loop (sin x) (- n 1))))
(define (even-steps n x) (if (= n 0) x (odd-steps (- n 1) (* 2 x))))
(define (odd-steps n x) (if (= n 0) (sin x) (even-steps (- n 1) (+ x 1))))
(define ((twice f) x) (f (f x)))
(define (makers a)
  (letrec ((up (lambda (n) (if (<= n 0) a (down (- n 1)))))
           (down (lambda (n) (if (<= n 0) (- a) (* 2 (up (- n 1)))))))
    (cons up down)))
(define (summed l) (fold + 0 (map (lambda (x) (* x x)) l)))
(define weights #[[1 2] [3 4]])
(define (layer x) (sum (tanh (matmul weights x))))
(define custom (with-derivative cube #:reverse (lambda (x) (cons (cube x) (lambda (s) (* 30 s))))))
(define (branches x) (let ((y (if (< x 1) (* x k) (sin x)))) (if (< y 0.5) (* y y) (+ y (cube y)))))
(define car-of-this (lambda (car) (car 2)))
"""

# Procedures with their arguments.
PROCEDURES: list[tuple[str, Any]] = [
    ("cube", 2.0),
    ("(scaled 2)", 1.5),
    ("(twice (scaled 2))", 0.5),
    ("(car (makers 5))", 3.0),
    ("(cdr (makers 5))", 3.0),
    ("even-steps", (5.0, 0.3)),
    ("branches", 0.7),
    ("layer", np.array([0.1, 0.2])),
    ("(lambda (x) (cons 'a (cons \"text\" (cons #t '()))))", 1.0),
    ("(gradient (scaled 2))", 2.0),
    ("(derivative (derivative cube))", 2.0),
    ("(lambda (x) ((derivative (lambda (y) (* x ((derivative cube) y)))) x))", 2.0),
    ("(hessian (lambda (x) (cube (* k x))))", 2.0),
    ("custom", 2.0),
    ("(derivative custom)", 2.0),
    ("(cdr ((J loop) (J (cons 1 30))))", 1.0),
    ("(cdr ((J even-steps) (J (cons 4 0.3))))", 1.0),
    ("(cdr ((J summed) (J '(1 2 3))))", 1.0),
    ("(cdr ((J branches) (J 0.7)))", 1.0),
    ("(cdr ((J (car (makers 5))) (J 3)))", 1.0),
    ("(cdr ((J layer) (J #[1 2])))", 1.0),
    ("(cdr ((J custom) (J 2)))", 1.0),
    ("(cdr ((J gradient) (J cube)))", None),
    ("(let ((back (cdr ((J cube) (J 2))))) (cdr ((J back) (J 1))))", (1.0, 1.0)),
    ("(cdr ((J (lambda (x) ((cdr ((J cube) (J x))) 1))) (J 2)))", (0.0, 1.0)),
    ("(cdr ((J (lambda (x) ((cdr ((J loop) (J (cons x 9)))) 1))) (J 2)))", ([], (1.0, 1.0))),
    ("(let ((back (cdr ((J (J cube)) (J (J 2)))))) (lambda (x) back))", None),
    ("(let ((z (zero '(1 2)))) (lambda (y) (plus z y)))", [3.0, -0.0]),
    ("(*j cube)", None),
    ("(*j (*j (twice cube)))", None),
    ("(j* (scaled 2))", None),
    ("(bundle cube (perturb cube))", None),
    ("(sensitize cube)", None),
    ("sin", 1.0),
    ("+", (1.0, 2.0)),
    ("J", None),
    ("j*", None),
    ("fold", None),
    ("list", [1.0]),
    ("gradient", None),
    ("(lambda (f) (f (lambda (x) x)))", None),
    ("(lambda (x) (not-defined x))", 1.0),
    ("(lambda (x) (+ x 'a))", 1.0),
    ("car-of-this", None),
]


def fresh(**options: Any) -> vlad.Session:
    return vlad.Session(**{"tier": "evaluate", **options})


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = fresh()
    session.eval(DEFINITIONS)
    return session


def again(value: Any, into: vlad.Session | None = None) -> Any:
    """A saved value in another session; saving it there gives the same text."""
    text = vlad.dumps(value)
    found = vlad.loads(text, into or fresh())
    assert vlad.dumps(found) == text
    return found


def answer(f: Callable[..., Any], argument: Any) -> str:
    """The result of a call, exactly; errors without their places."""
    try:
        found = f(*argument) if isinstance(argument, tuple) else f(argument)
    except vlad.VladError as error:
        return f"{error.code} {error.message} {error.irritants}"
    if hasattr(found, "tobytes"):
        return repr((found.dtype, found.tobytes()))
    return re.sub(r" at <\w+>:\d+:\d+", "", repr(found))


@pytest.mark.parametrize(("text", "argument"), PROCEDURES, ids=[text[:40] for text, _ in PROCEDURES])
def test_procedures(session: vlad.Session, text: str, argument: Any) -> None:
    f = session.eval(text)
    g = again(f)
    saved, places = dumps_with_places(f)
    same, found = dumps_with_places(
        loads_with_places(saved, places, session)
    )  # each place is that of the same part
    assert (same, [*map(str, unpacked(found))]) == (saved, [*map(str, unpacked(places))])
    if argument is not None:
        assert answer(g, argument) == answer(f, argument)
    if isinstance(argument, float):
        assert answer(vlad.grad(g), argument) == answer(vlad.grad(f), argument)


@pytest.mark.parametrize("text", ["(scaled 2)", "(gradient (scaled 2))", "(car (makers 5))", "branches"])
def test_loaded_procedures_are_compiled(session: vlad.Session, text: str) -> None:
    f = session.eval(text)
    g = again(f, fresh(tier="compile"))
    assert math.isclose(g(2.0), f(2.0), rel_tol=1e-14)
    assert math.isclose(vlad.grad(g)(2.0), vlad.grad(f)(2.0), rel_tol=1e-14)
    tiers = g.session.tiers
    entry = tiers.entries[id(g.value)]
    assert entry.variants, entry.reason


def test_a_compiled_procedure_is_saved() -> None:
    session = fresh(tier="compile")
    session.eval(DEFINITIONS)
    f = session.eval("(scaled 2)")
    expected = f(2.0)
    assert again(f)(2.0) == expected


@settings(max_examples=drawn(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(functions(), points())
def test_random_programs(program: str, point: tuple[float, float]) -> None:
    f = RANDOM.eval(program)
    g = again(f, OTHER)
    assert answer(g, point) == answer(f, point)
    assert answer(vlad.grad(g), point) == answer(vlad.grad(f), point)
    curried = RANDOM.eval(f"((lambda (f x) (lambda (y) (f x y))) {program} {point[0]})")
    assert answer(again(curried, OTHER), point[1]) == answer(f, point)
    back = RANDOM.eval(f"(cdr ((J {program}) (J (cons {point[0]} {point[1]}))))")
    assert answer(again(back, OTHER), 1.0) == answer(back, 1.0)
    outer = RANDOM.eval(f"(lambda (x) ((derivative (lambda (y) ({program} x y))) (* 0.5 x)))")
    assert answer(vlad.grad(again(outer, OTHER)), point[0]) == answer(vlad.grad(outer), point[0])


RANDOM, OTHER = fresh(), fresh()


# Values.


def kinds_of_tensors() -> st.SearchStrategy[Tensor]:
    shapes = st.lists(st.integers(0, 3), min_size=1, max_size=3)
    kinds = st.sampled_from(["float64", "float32", "int64", "int32", "uint64", "int8", "bool"])
    return st.builds(tensor_of_bytes, shapes, kinds, st.binary(min_size=256, max_size=256))


def tensor_of_bytes(shape: list[int], kind: str, data: bytes) -> Tensor:
    """Any bits whatever as entries."""
    count = math.prod(shape)
    if kind == "bool":
        return Tensor(np.frombuffer(data[:count], np.uint8).reshape(shape) > 127)
    return Tensor(np.frombuffer(data, kind)[:count].reshape(shape))


TEXTS = texts(max_size=60)
LEAVES = st.one_of(
    st.floats(allow_nan=False),
    st.just(math.nan),
    st.sampled_from([TRUE, FALSE, NIL, ZERO, UNSPECIFIED]),
    TEXTS.map(String),
    TEXTS.map(symbol),
    kinds_of_tensors(),
)


@st.composite
def graphs(draw: st.DrawFn) -> Value:
    """Values in which parts occur in several places: each is made of some of those before it."""
    made = draw(st.lists(LEAVES, min_size=1, max_size=4))
    machine = RANDOM.machine
    one, two, group, tag = (RANDOM[name].value for name in ("one", "two", "pair-of", "tag"))
    for _ in range(draw(st.integers(0, 12))):
        a, b = draw(st.sampled_from(made)), draw(st.sampled_from(made))
        match draw(st.integers(0, 5)):
            case 0 | 1:
                made.append((a, b))
            case 2:
                made.append(machine.apply(one, a))
            case 3:
                made.append(machine.apply(two, (a, b)))
            case 4:
                made.append(machine.apply(group, (a, b)))
            case 5:
                made.append(machine.apply(tag, a))
    return made[-1]


RANDOM.eval("""
(define (one a) (lambda (x) a))
(define (two a b) (lambda (x) (if x (cons b x) a)))
(define (pair-of a b) (letrec ((f (lambda (x) (g a))) (g (lambda (y) (if y (f b) a)))) (cons f g)))
(define tag *j)
""")


def same(a: Value, b: Value) -> bool:
    """Equal, with the same parts shared; procedures by their names, which a code of another session has too."""
    pairs: dict[int, int] = {}
    kept: list[Value] = []
    work = [(a, b)]
    while work:
        x, y = (look(value) for value in work.pop())
        kept += [x, y]
        if type(x) is tuple and len(x) > 1:
            if type(y) is not tuple or len(x) != len(y) or pairs.setdefault(id(x), id(y)) != id(y):
                return False
            if len(x) > 2 and described(x[0]) != described(y[0]):
                return False
            work += zip(x[len(x) > 2 :], y[len(y) > 2 :], strict=True)
        elif not same_leaf(x, y):
            return False
    return len(set(pairs.values())) == len(pairs)


def described(code: Code) -> tuple[object, ...]:
    return code.name, code.role, code.transforms, code.backpropagator_of


def same_leaf(x: Value, y: Value) -> bool:
    if type(x) is not type(y):
        return False
    if type(x) is float:
        return x.hex() == y.hex()
    if type(x) is String:
        return bool(x.text == y.text)
    if type(x) is Tensor:
        a, b = x.array, y.array
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    return x is y or (type(x) is tuple and (not x or x[0].name == y[0].name))


@settings(max_examples=drawn(500), deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_random_values(value: Value) -> None:
    text = write_value(value, RANDOM)
    found = read_value(text, OTHER)
    assert same(value, found)
    assert write_value(found, OTHER) == text


def test_the_comparison_itself() -> None:
    one: Value = (1.0, NIL)
    assert same((one, one), (one, one))
    assert not same((one, one), ((1.0, NIL), one))
    assert not same(((1.0, NIL), one), (one, one))
    assert not same((one, NIL), ((2.0, NIL), NIL))
    assert not same(0.0, -0.0)


def test_python_values_need_no_procedure() -> None:
    value = [1.0, -0.0, True, "text", (1.0, 2.0), None, [[]], np.arange(3), {"a": 1.0}]
    found = again(value)
    assert repr(found) == repr([*value[:-1], [("a", 1.0)]])


def test_tensors_keep_every_bit() -> None:
    big = np.linspace(0, 1, 1000, dtype=np.float32).reshape(10, 100)[:, ::-1]
    odd = np.array([np.nan, 0x7FF8000000000123, -0.0], dtype=np.float64)
    odd[1:2] = np.array([0x7FF8000000000123], np.uint64).view(np.float64)
    huge = np.array([2**63 - 1, -(2**63)])
    for array in (big, odd, huge, np.zeros((0, 3)), np.array([[True], [False]])):
        found = again(array)
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert vlad.dumps(np.array([0.1, 2.0])) == "(vlad-saved 1\n  (tensor float64 (2) 0.1 2))\n"
    assert '(tensor int64 (2) "' in vlad.dumps(huge)


def test_a_zero_that_was_not_accessed_stays_one(session: vlad.Session) -> None:
    f = again(session.eval("(let ((z (zero '(1 2)))) (lambda (y) (plus z y)))"))
    assert type(f.value[1]) is Deferred and f.value[1].zero_of is not None
    assert repr(f([-0.0, 3.0])) == "[-0.0, 3.0]"


# What travels with a procedure.


def test_globals_travel_with_it(session: vlad.Session) -> None:
    other = fresh()
    other.eval("(define k 1000) (define (cube x) 0) (define (* a b) 7)")
    f = again(session.eval("(scaled 2)"), other)
    assert f(1.0) == 8.0
    other.eval("(define (cube x) 5)")
    assert (f(1.0), other.eval("(cube 1)"), other["k"]) == (8.0, 5.0, 1000.0)


def test_a_name_that_the_program_gave_a_meaning_of_its_own() -> None:
    session = fresh()
    session.eval(
        "(define (sin x) (* 2 x)) (define (map f l) 'mine) (define (f x) (cons (sin x) (map sin '(1))))"
    )
    assert again(session["f"])(2.0) == (4.0, "mine")
    session.eval("(define (cos x) (sin (sin x)))")
    assert again(session["f"])(2.0) == (4.0, "mine")


def test_a_closure_from_before_a_redefinition() -> None:
    session = fresh()
    session.eval(
        "(define (f a) (lambda (x) (square (+ a x)))) (define old (f 1)) (define back (cdr ((J old) (J 2))))"
    )
    assert session["old"](2.0) == 9.0
    session.eval("(define (+ a b) (* a b)) (define both (cons old (f 5)))")
    old, new = session["both"]
    found = again([old, new, session["back"]])
    assert [answer(f, 2.0) for f in found] == [answer(f, 2.0) for f in (old, new, session["back"])]


def test_what_a_transform_made_travels_by_its_name() -> None:
    session = fresh()
    session.eval("(define (f a) (lambda (x) (+ a x))) (define old (f 1))")
    machine, old = session.machine, session["old"].value
    both = machine.forward_closure(machine.tail_closure(old))
    assert write_value(both, session).endswith("(closure (forward (tail procedure)) 1))\n")
    found = read_value(write_value(both, session), OTHER)
    assert found[0] is OTHER.machine.forward_code(OTHER.machine.tail_code(found[0].base))
    session.eval("(define (+ a b) (* a b))")  # the code is reset, and discards its derived codes
    assert write_value(both, session).endswith("(closure (forward (tail procedure)) 1))\n")


def test_what_is_shared_stays_one(session: vlad.Session) -> None:
    f = session.eval(
        "((lambda (l) (cons (lambda (x) l) ((lambda (m) (lambda (y) (eq? l m))) l))) (list 1 2))"
    )
    first, second = again(f)
    assert second(1.0) is True
    assert first.value[1] is second.value[1]


def test_a_closure_and_one_that_its_maker_makes_are_of_one_code(session: vlad.Session) -> None:
    maker, made = again(session.eval("(cons scaled (scaled 2))"))
    apply = maker.session.eval("(lambda (f g) (plus (f 5) g))")
    assert apply(maker, made)(1.0) == 7.0 * 4.0


def test_names_and_limits(session: vlad.Session) -> None:
    f = session.eval("(lambda (x) (loop x 1000000))")
    g = again(f, fresh(limits=vlad.Limits(fuel=1000)))
    with pytest.raises(vlad.LimitExceeded):
        g(1.0)
    assert again(session["scaled"]).__name__ == "scaled"


def test_errors_show_the_saved_text(session: vlad.Session) -> None:
    f = again(session.eval("(lambda (x) (+ x 'a))"))
    with pytest.raises(vlad.VladError, match=r"<saved>:4:\d+: Error: Argument to \+ is invalid"):
        f(1.0)


def test_errors_after_pickle_show_the_program(session: vlad.Session) -> None:
    """In terms of the parameters as they are written, in a macro's expansion, too."""
    session.eval(
        "(define-syntax made (syntax-rules () ((_ n) (define (n (list a b) x) (* a x))))) (made scaling)"
    )
    for name in ("scaling", "scaled"):
        for argument in ([1.0], {"a": 1.0}):
            errors = []
            for f in (session[name], pickle.loads(pickle.dumps(session[name]))):
                with pytest.raises(vlad.VladError) as caught:
                    f(argument)(argument)
                errors.append(str(caught.value))
            assert errors[0] == errors[1]


def test_nothing_is_run_while_reading() -> None:
    shown: list[str] = []
    session = fresh(metered=True, write=shown.append)
    session.eval("(define (shout x) (write-real x)) (define (f x) (shout (* 2 x)))")
    other = fresh(metered=True, write=shown.append)
    f = vlad.loads(vlad.dumps(session["f"]), other)
    assert (shown, other.steps, other.counts) == ([], 0, {})
    f(2.0)
    assert shown == ["4\n"]


def test_the_owner_of_a_record_that_has_no_code_yet() -> None:
    session = fresh()
    session.eval("""
      (define (f x)
        (letrec ((g (lambda (y) (if (< y 1) (* x y) (h (- y 1))))) (h (lambda (y) (* x (g (* 0.5 y))))))
          (g (* 3 x))))
      (define back (cdr ((J f) (J 2))))
    """)
    back = session["back"]
    expected, text = answer(back, 1.0), vlad.dumps(back)
    codes = back.value[1][0].family.codes
    for lambda_ in [lambda_ for lambda_, code in codes.items() if code.group]:
        del codes[lambda_]
    found = again(back)
    assert vlad.dumps(found) == text
    assert answer(found, 1.0) == expected


# Deep and long.

DEEP = {
    "list": "(define (make n) (if (= n 0) '() (cons n (make (- n 1)))))",
    "nest": "(define (make n) (if (= n 0) '() (cons (make (- n 1)) '())))",
    "closures": "(define (make n) (if (= n 0) (lambda (x) x) (let ((f (make (- n 1)))) (lambda (x) (f (+ x 1))))))",
    "sharing": "(define (make n) (if (= n 0) '() (let ((s (make (- n 1)))) (cons s s))))",
    "tape": "(define (f x n) (if (= n 0) x (f (sin x) (- n 1)))) (define (make n) (cdr ((J f) (J (cons 1 n)))))",
}


@pytest.mark.parametrize("kind", DEEP)
def test_deep_and_long_values(kind: str) -> None:
    session = fresh()
    session.eval(DEEP[kind])
    f = session.eval("((lambda (v) (lambda (x) v)) (make 20000))")
    limit = sys.getrecursionlimit()
    again(f)
    assert sys.getrecursionlimit() == limit


def ifs(n: int) -> str:
    return "(if x " * n + "x" + " 1)" * n


def lambdas(n: int) -> str:
    """Each captures one variable, so the text grows with n."""
    inner = "".join([f"(let* ((f{i} (lambda (x{i}) (over x{i - 1}) " for i in range(1, n)])
    return inner.replace("x0", "x") + f"x{n - 1}" + "".join([f"))) f{i})" for i in reversed(range(1, n))])


def code(body: str) -> str:
    return f"(vlad-saved 1 (code f (lambda (x) {body})) (closure f))"


TEXTS_OF_SIZE: dict[str, Callable[[int], str]] = {
    "list": lambda n: f"(vlad-saved 1 (code f (lambda (x) (quote (list {'1 ' * n})))) (closure f))",
    "nest": lambda n: code(f"(quote {'(list ' * n}{')' * n})"),
    "named": lambda n: (
        "(vlad-saved 1 (value a (list 1)) "
        + " ".join([f"(value a{i} (cons* {f'a{i - 1} a{i - 1}' if i else 'a a'}))" for i in range(n)])
        + f" (code f (lambda (x) (quote a{n - 1}))) (closure f))"
    ),
    "bindings": lambda n: code(f"(let* ({' '.join([f'(y{i} (sin x))' for i in range(n)])}) x)"),
    "ifs in line": lambda n: code(f"(let* ({' '.join([f'(y{i} (if x x x))' for i in range(n)])}) x)"),
    "ifs": lambda n: code(ifs(n)),
    "lambdas": lambda n: code(lambdas(n)),
    "one lambda in another": lambda n: (
        "(vlad-saved 1 (code f0 (lambda (x) x)) "
        + " ".join([f"(code f{i} (lambda (x{i}) (let* ((f (lambda f{i - 1}))) f)))" for i in range(1, n)])
        + f" (closure f{n - 1}))"
    ),
    "a group": lambda n: (
        "(vlad-saved 1 (group "
        + " ".join([f"(f{i} g{i} (lambda (x{i}) (over y g{(i + 1) % n}) (g{(i + 1) % n} y)))" for i in range(n)])
        + ") (code h (lambda (y) (let* ((letrec "
        + " ".join([f"(g{i} (lambda f{i} (over y g{(i + 1) % n})))" for i in range(n)])
        + ")) g0))) (closure h))"
    ),
    "names": lambda n: f'(vlad-saved 1 (quote |{"a" * n}|))',
    "escapes": lambda n: f'(vlad-saved 1 "{chr(92)}{chr(10)}' + f'{chr(92)}{chr(10)}' * n + '")',
    "tensor": lambda n: f"(vlad-saved 1 (tensor float64 ({n}) {'1 ' * n}))",
    "open": lambda n: "(" * n,
}  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS_OF_SIZE)
def test_reading_takes_time_in_proportion_to_the_text(kind: str) -> None:
    def seconds(n: int) -> float:
        text = TEXTS_OF_SIZE[kind](n)
        begin = time.process_time()
        try:
            vlad.loads(text, OTHER)
        except vlad.Incomplete:
            assert kind == "open"
        return time.process_time() - begin

    times = []
    for _ in range(4):  # again if something else took the time
        small, large = seconds(750), seconds(6000)
        times.append((small, large))
        if large < 8 * 3 * small + 0.03:
            return
    raise AssertionError(times)


# Invalid texts.

WRONG = {
    "": "one list (vlad-saved …) is expected",
    "(1 2)": "one list (vlad-saved …) is expected",
    "(vlad-saved 1 1) 2": "one list",
    "(vlad-saved 2 1)": "this is vlad's format 1",
    "(vlad-saved 1)": "parts",
    "(vlad-saved 1 a)": "no value of the name a",
    "(vlad-saved 1 (value a a) a)": "no value of the name a stands before this",
    "(vlad-saved 1 (value a b) (value b a) a)": "no value of the name b stands before this",
    "(vlad-saved 1 (value a 1) (value a 2) a)": "a is here twice",
    "(vlad-saved 1 (value zero 1) zero)": "zero has a meaning of its own",
    "(vlad-saved 1 (global if 1) 2)": "if has a meaning of its own",
    "(vlad-saved 1 (global x 1) (global x 2) 2)": "x is here twice",
    "(vlad-saved 1 (define x 1) 2)": "an entry is",
    "(vlad-saved 1 (list 1 . 2))": "a value is a list",
    "(vlad-saved 1 #[1 2])": "a value is a list",
    "(vlad-saved 1 #:x)": "a value is a list",
    "(vlad-saved 1 (cons* 1))": "parts",
    "(vlad-saved 1 (eval 1))": "this is no value",
    "(vlad-saved 1 ((list 1) 2))": "this is no value",
    "(vlad-saved 1 (quote 1))": "a symbol is a name",
    "(vlad-saved 1 (quote a b))": "parts",
    "(vlad-saved 1 (primitive no-such))": "there is no (primitive no-such)",
    "(vlad-saved 1 (library no-such))": "there is no (library no-such)",
    "(vlad-saved 1 (library __class__))": "there is no (library __class__)",
    "(vlad-saved 1 (system reverse))": "this is no value",
    "(vlad-saved 1 (system no-such))": "there is no (system no-such)",
    "(vlad-saved 1 (primitive 1))": "what every session has is a name",
    "(vlad-saved 1 (closure (system reverse)))": "closed over 1 values",
    "(vlad-saved 1 (closure (system reverse) 1 2))": "closed over 1 values",
    "(vlad-saved 1 (closure f))": "no code of the label f",
    "(vlad-saved 1 (closure 7))": "a label is a name",
    "(vlad-saved 1 (closure " + "(tail " * 40 + "(primitive sin)" + ")" * 42: "more than 32 transforms",
    "(vlad-saved 1 (zero 1))": "the zero of a pair or a closure",
    "(vlad-saved 1 (value a (list 1)) (list a a))": "a pair outside procedures is in two places",
    "(vlad-saved 1 (tensor float64 (2) 1))": "not the entries of a tensor",
    "(vlad-saved 1 (tensor float64 (2) 1 #t))": "not the entries of a tensor",
    "(vlad-saved 1 (tensor float64 () 1))": "a shape has",
    "(vlad-saved 1 (tensor float64 (1.5) 1))": "the length of an axis is a whole number",
    "(vlad-saved 1 (tensor float64 (-1) 1))": "the length of an axis is a whole number",
    "(vlad-saved 1 (tensor float64 (1e300) 1))": "the length of an axis is a whole number",
    "(vlad-saved 1 (tensor float64 (9007199254740991) 1))": "not the entries of a tensor",
    "(vlad-saved 1 (tensor float64 (0 9007199254740991 9007199254740991)))": "not the entries of a tensor",
    f"(vlad-saved 1 (tensor float64 ({'1 ' * 100}) 1))": "not the entries of a tensor",
    "(vlad-saved 1 (tensor int8 (1) 128))": "not the entries of a tensor",
    "(vlad-saved 1 (tensor int8 (1) 1.5))": "not the entries of a tensor",
    "(vlad-saved 1 (tensor int64 (1) +inf.0))": "not the entries of a tensor",
    "(vlad-saved 1 (tensor uint8 (1) -1))": "not the entries of a tensor",
    "(vlad-saved 1 (tensor bool (1) 1))": "not the entries of a tensor",
    '(vlad-saved 1 (tensor bool (1) "Ag=="))': "not the entries of a tensor",
    '(vlad-saved 1 (tensor float64 (1) "AAAA"))': "not the entries of a tensor",
    '(vlad-saved 1 (tensor float64 (1) "?"))': "not the entries of a tensor",
    '(vlad-saved 1 (tensor float64 (1) "λ"))': "not the entries of a tensor",
    "(vlad-saved 1 (tensor object (1) 1))": "there is no kind of number object",
    code(""): "parts",
    code("y"): "y is no variable or global",
    code("(x)"): "a call has an operand",
    code("(sin)"): "sin takes 1 operands",
    code("(sin x x)"): "sin takes 1 operands",
    code("(no-such x)"): "no-such is no variable, global or primitive",
    code("(let* x)"): "parts",
    code("(let* ((x 1)) x)"): "x is bound twice",
    code("(let* ((y 1)) (let* ((z 1)) z))"): "let* is no variable, global or primitive",
    code("(if x x)"): "parts",
    code("(if x (let* ((y x)) y) y)"): "y is used where it is not bound",
    code("(sin x)"): "a result is an atom, a call or an if",
    code("(let* ((f (lambda (y) x))) f)"): "x is used where it is not bound",
    code("(let* ((f (lambda (y) (over z) y))) f)"): "z is captured where it is not bound",
    code("(let* ((f (lambda (y) (over x x) y))) f)"): "a variable is captured twice",
    code("(let* ((f (lambda (y y) y))) f)"): "y is bound twice",
    code("(let* ((f (lambda () x))) f)"): "a list of parameters has",
    code("(let* ((f (lambda (1) x))) f)"): "a variable is a name",
    code("(let* ((f (lambda (y) (beyond x) y))) f)"): "(over VARIABLE ...) is expected",
    code("(let* ((f (lambda f))) f)"): "no code of the label f stands before this",
    code("(let* ((letrec)) x)"): "parts",
    code("(let* ((letrec (f (lambda (y) (over g) (g y))))) f)"): "g is captured where it is not bound",
    code("(let* ((r (record f x))) r)"): "no code of the label f stands before this",
    code("(let* ((r (record (system reverse)))) r)"): "the environment of this lambda has 1 variables",
    code("(let* ((r (field (system reverse) 1 1 x))) r)"): "a field outside its record",
    code("(let* ((r (field (system reverse) -1 1 x))) r)"): "the place of a field is a whole number",
    "(vlad-saved 1 (code f (lambda (x) (over y) y)) (code g (lambda (z) (let* ((f (lambda f))) f))) (closure g))": (
        "this lambda captures other variables"
    ),
    "(vlad-saved 1 (group (f g (lambda (x) (g x)))) (closure f))": "g is used where it is not bound",
    "(vlad-saved 1 (group (f g (lambda (x) x)) (h i (lambda (y) y))) "
    "(code k (lambda (z) (let* ((letrec (g (lambda f)))) g))) (closure k))": "one whole group",
    "(vlad-saved 1 (group (f g (lambda (x) x))) (code k (lambda (z) (let* ((a (lambda f))) a))) (closure k))": (
        "the lambda of a group stands in a letrec"
    ),
    "(vlad-saved 1 (global x 1) (code f (lambda (x) x)) (closure f))": "x is here twice",
    "(vlad-saved 1 (code f (lambda (x) x)) (code f (lambda (y) y)) (closure f))": "f is here twice",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG, ids=lambda text: re.sub(r"\W+", "-", text)[:60])
def test_wrong_texts(text: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        vlad.loads(text, OTHER)
    assert WRONG[text] in caught.value.message
    assert caught.value.span is not None and caught.value.span.source.name == "<saved>"
    assert "Traceback" not in str(caught.value)


TOKEN = re.compile(r'"[^"]*"|\|[^|]*\||[()]|[^\s()]+|\s+')


def fuzzing_texts() -> list[str]:
    session = fresh()
    session.eval(DEFINITIONS)
    return [vlad.dumps(session.eval(text)) for text, _ in PROCEDURES]


FUZZED = fuzzing_texts()


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A saved text with some of its words, or its characters, put elsewhere, left out or replaced."""
    text = draw(st.sampled_from(FUZZED))
    parts = TOKEN.findall(text) if draw(st.booleans()) else list(text)
    others = TOKEN.findall(draw(st.sampled_from(FUZZED)))
    for _ in range(draw(st.integers(1, 4))):
        at, to = (draw(st.integers(0, len(parts) - 1)) for _ in range(2))
        match draw(st.integers(0, 5)):
            case 0:
                del parts[at : at + draw(st.integers(1, 3))]
            case 1:
                parts[at] = parts[to]
            case 2:
                parts.insert(at, parts[to])
            case 3:
                parts[at] = draw(st.sampled_from(others))
            case 4:
                parts[at], parts[to] = parts[to], parts[at]
            case 5:
                parts[at] = draw(
                    st.sampled_from(["1e309", "-1", "()", "zero", "#t", '"', "|", "#[", "'", "\x00", "λ"])
                )
        parts = parts or ["("]
    return "".join(parts)


@settings(max_examples=drawn(3000), deadline=None, suppress_health_check=list(HealthCheck))
@given(mutated())
def test_mutated_texts(text: str) -> None:
    """Either a value, whose own text is then a normal form, or one error with its place."""
    try:
        with OTHER._lock, deep_recursion():
            value = read_value(text, OTHER)
    except vlad.VladError as error:
        assert error.span is not None and isinstance(error.span.source, Source)
        return
    normal = write_value(value, OTHER)
    assert write_value(read_value(normal, OTHER), OTHER) == normal


# Values without text.


def test_what_cannot_be_saved(session: vlad.Session) -> None:
    with pytest.raises(vlad.VladError, match="A Python builtin_function_or_method has no counterpart"):
        vlad.dumps([session["cube"], print])
    for value in ({1.0}, [frozenset()], {"seen": {"a"}}):
        with pytest.raises(vlad.VladError, match=r"Cannot be saved: A Python (frozen)?set") as caught:
            vlad.dumps(value)
        assert "such as `sorted(s)`" in (caught.value.hint or "")
    with pytest.raises(vlad.VladError, match="A saved value is a text; this is a Python bytes"):
        vlad.loads(b"(vlad-saved 1 1)", session)  # type: ignore[arg-type]
    with pytest.raises(vlad.VladError, match="Cannot be saved: a Python dict_keys"):
        vlad.dumps([session["cube"], vlad.Opaque({}.keys())])
    with pytest.raises(vlad.VladError, match="procedures of two sessions in one value"):
        vlad.dumps([session["cube"], fresh().eval("(lambda (x) x)")])
    with pytest.raises(vlad.VladError, match="half a character"):
        vlad.dumps("\ud800")


def test_functions_of_python_stay_where_they_are() -> None:
    session = fresh()
    session["of_python"] = lambda x: 2 * x
    session["cubed"] = vlad.primitive("cubed", partials={"x": "(* 3 (* x x))"})(lambda x: x * x * x)
    for text in (
        "of_python",
        "cubed",
        "(lambda (x) (of_python x))",
        "(lambda (x) (cubed x))",
        "(J cubed)",
        "(cdr ((J cubed) (J 2)))",
        "(gradient cubed)",
    ):
        with pytest.raises(
            vlad.VladError, match=r"Cannot be saved: the Python function (cubed|\S*lambda\S*|of_python)"
        ):
            vlad.dumps(session.eval(text))


def test_the_error_names_the_part() -> None:
    session = fresh()
    session.eval("(define held 1) (define (g x) (cons held x)) (define (f a) (lambda (x) (g (cons a x))))")
    f = session.eval("(f 1)")
    session.module.cells["held"].value = object()
    with pytest.raises(vlad.VladError) as caught:
        vlad.dumps(f)
    assert caught.value.message == "Cannot be saved: a Python object"
    assert caught.value.hint == "it is in the global held, in the global g"
    f = session.eval('(f "x")')
    session.module.cells["held"].value = 1.0
    f.value = (f.value[0], object(), None)
    with pytest.raises(vlad.VladError) as caught:
        vlad.dumps(f)
    assert caught.value.hint == "it is in a of the procedure without a name"


# Pickle.


def test_pickle_and_copy(session: vlad.Session) -> None:
    f = session.eval("(scaled 2)")
    assert copy.copy(f) is f and copy.deepcopy([f])[0] is f
    g, h = pickle.loads(pickle.dumps([f, session["cube"]]))
    assert (g(1.0), h(2.0)) == (8.0, 8.0)
    assert g.session is h.session is not session
    assert pickle.loads(pickle.dumps(f)) is g  # the same text is the same procedure
    assert pickle.loads(pickle.dumps(vlad.grad(f)))(1.0) == vlad.grad(f)(1.0)
    both = pickle.loads(pickle.dumps(vlad.value_and_grad(session["even-steps"])))
    assert both(5.0, 0.3) == vlad.value_and_grad(session["even-steps"])(5.0, 0.3)


def test_what_cannot_be_pickled(session: vlad.Session) -> None:
    f = session.eval("(scaled 2)")
    f.value = (f.value[0], object(), None)
    with pytest.raises(vlad.VladError, match="Cannot be saved: a Python object"):
        pickle.dumps(f)


def test_other_processes(session: vlad.Session) -> None:
    f = vlad.grad(session.eval("(scaled 2)"))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(f, [1.0, 2.0, 3.0]) == [f(1.0), f(2.0), f(3.0)]


def test_hash_seeds_do_not_matter(session: vlad.Session, tmp_path: Path) -> None:
    """The same program has the same text in every process."""
    program = (
        f"import vlad\ns = vlad.Session()\ns.eval({DEFINITIONS!r})\n"
        "print(vlad.dumps(s.eval('(cdr ((J even-steps) (J (cons 4 0.3))))')), end='')"
    )
    for seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(Path(vlad.__file__).parent.parent),
        }
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment
        )
        assert done.stdout == vlad.dumps(session.eval("(cdr ((J even-steps) (J (cons 4 0.3))))")), done.stderr


def test_symbols_and_strings_of_any_characters_read_back() -> None:
    for text in (
        "a b",
        "",
        "1x",
        "+",
        "..",
        "|",
        "\\",
        "tab\t",
        "\x07\x08\x00",
        "é",
        "日本",
        "\u2028",
        "#t",
        "'",
        "a\nb",
    ):
        for value in (symbol(text), String(text)):
            found = read_value(write_value(value, None), OTHER)
            assert type(found) is type(value)
            assert (found.name if isinstance(found, Symbol) else found.text) == text


def test_a_text_is_read_into_a_session() -> None:
    for kind in (vlad.VladError, TypeError):
        with pytest.raises(kind, match="A saved value is read into a session; this is a Python NoneType"):
            vlad.loads("(vlad-saved 1 2)", None)


def test_an_error_in_what_was_saved_is_the_one_that_was_saved() -> None:
    """The saved text has all operands in their places; in a program some of them have names."""
    f = vlad.Session().eval("(lambda (path) (load-csv path))")
    with pytest.raises(vlad.VladError) as caught:
        vlad.loads(vlad.dumps(f), vlad.Session())("/nowhere/numbers.csv")
    assert caught.value.code == "cannot-find"


def test_a_field_that_takes_a_rest_stays_one() -> None:
    with vlad.Session() as session, vlad.Session() as there:
        session.eval("(define-record-type many (many name . parts) many? (parts) (name))")
        text = vlad.dumps(session.eval("(many 'a 1 2)"))
        assert there.eval("write-to-string")(vlad.loads(text, there)) == "#<many 1 2 name: a>"


def test_a_record_that_is_called_stays_one() -> None:
    with vlad.Session() as session, vlad.Session() as there:
        session.eval("(define k 3)")
        session.eval(
            "(define-record-type line (line a b) line? (a) (b) #:call (lambda (a b x) (+ (* a x) b k)))"
        )
        assert (
            there.eval("(lambda (f) (f 10))")(vlad.loads(vlad.dumps(session.eval("(line 2 5)")), there)) == 28
        )


def test_records_are_of_one_type_in_all_texts() -> None:
    session, other = vlad.Session(), vlad.Session()
    for _ in range(2):  # two types with the same fields
        session.eval("(define-record-type point (make-point x y) point? (x point-x) (y point-y))")
        first, last = session["make-point"], session["point-x"]
        record = session.eval("(make-point 3 4)")
        for there in (other, session):
            found = vlad.loads(vlad.dumps(record), there)
            assert vlad.loads(vlad.dumps(last), there)(found) == 3
            assert vlad.loads(vlad.dumps(first), session)(1.0, 2.0).x == 1
        assert session["point?"](vlad.loads(vlad.dumps(found), session)) is True
    assert session["point?"](record) and not session["point?"](
        vlad.loads(vlad.dumps(other_record(session)), session)
    )


def other_record(session: vlad.Session) -> Any:
    return session.eval(
        "(begin (define-record-type point (make-it x y) it? (x it-x) (y it-y)) (make-it 1 2))"
    )


def test_a_forged_mark_of_another_type_is_an_error() -> None:
    session = vlad.Session()
    text = vlad.dumps(
        session.eval("(begin (define-record-type point (make-point x) point? (x point-x)) (make-point 3))")
    )
    with pytest.raises(vlad.VladError, match="is not the type of records with this mark"):
        vlad.loads(text.replace("(record-of x)", "(record-of z)"), session)
