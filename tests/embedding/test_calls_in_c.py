"""Calls of machine code by c_extension.c: which calls use it, their results, their leaks, and calls without it."""

from __future__ import annotations

import gc
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.compile.calling.fast_call import MOST_ENTRIES, MOST_PARTS
from vlad.compile.native.c_extension import border
from vlad.control.native_interrupts import Interruptible
from vlad.data.tensors import Tensor
from vlad.python.derivatives import Gradient

pytestmark = pytest.mark.any_compiler

PROGRAM = """
(define (wave x) (sin (cos x)))
(define (slope x y) (* x (sin y)))
(define (parts x a) (list (* 2 x) (+ a x) 3 (sum a)))
(define (pairs x a) (cons x (cons (* a x) (cons 7 (sum a)))))
(define (places a b) (list (+ a b) a (* (as-type a 'float32) 2)))
(define (first-of a) (tensor-ref a 0 0))
(define (refused a) (if (> (sum a) 0) (* 2 a) (error "too small:" (sum a))))
(define (nothing) 3)
(define (halves (cons a b)) (list (* a b) (list a (cons b (list 7 a))) '(5)))
(define (both x l) (cons (list (* x (car l))) (cons (cadr l) x)))
(define (mixed (list a t) (list (cons x y)) z) (list (* a t) (* x y z)))
(define (turns n) (let loop ((i 0) (s 0)) (if (< i n) (loop (+ i 1) (+ s (sin i))) s)))
"""
A = np.arange(6.0).reshape(2, 3)
Two = namedtuple("Two", ["a", "b"])


@dataclass(frozen=True)
class Point:
    x: float
    y: float


@pytest.fixture
def session() -> vlad.Session:
    session = vlad.Session(tier="compile")
    session.eval(PROGRAM)
    return session


def is_in_c(procedure: Any) -> bool:
    return any(type(leaves).__module__ == "vlad.compile.native.c_extension" for leaves, _ in procedure.quicks)


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(found, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(found, np.ndarray):
        assert (found.dtype, found.shape, found.flags.writeable) == (expected.dtype, expected.shape, False)
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected or (math.isnan(found) and math.isnan(expected))


CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("wave", (0.8,)),
    ("wave", (math.nan,)),
    ("slope", (0.5, -0.0)),
    ("parts", (0.5, A)),
    ("parts", (0.5, np.float64(2.0))),
    ("pairs", (0.5, A)),
    ("pairs", (0.5, np.empty((0, 3)))),
    ("places", (A, A[:, :1].copy())),
    ("places", (np.float32(1) * np.arange(3, dtype="float32"), np.arange(3, dtype="float32"))),
    ("first-of", (A,)),
    ("first-of", (np.array([[True, False]]),)),
    ("nothing", ()),
    ("halves", (2.0, 3.0)),
    ("halves", ((2.0, -0.0),)),
    ("halves", (Two(2.0, np.float64(3)),)),
    ("halves", (Point(2.0, 3),)),
    ("both", (0.5, [2.0, 3.0])),
    ("mixed", ([2.0, A], [(3.0, 4)], 5.0)),
    ("mixed", ([2, A], [Point(3.0, 4.0)], math.inf)),
]


def test_what_is_called_in_c(session: vlad.Session) -> None:
    """Where there are headers of Python's, and a compiler that reads them."""
    for name, arguments in CALLS:
        procedure = session[name]
        first = procedure(*arguments)
        assert procedure.quicks and is_in_c(procedure) == (border() is not None), name
        for _ in range(3):
            same(procedure(*arguments), first)


def test_ctrl_c_ends_a_call_that_takes_long(session: vlad.Session) -> None:
    turns = session["turns"]
    for _ in range(3):
        expected = turns(10.0)
    assert is_in_c(turns) == (border() is not None)
    for _ in range(20):
        sender = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        sender.start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            turns(1e13)
        assert time.monotonic() - begun < 1
        sender.join()
        assert turns(10.0) == expected
    assert Interruptible._stops == []
    assert signal.set_wakeup_fd(-1) == -1  # as it was before


def test_an_earlier_wakeup_descriptor_gets_the_signals_of_the_call(session: vlad.Session) -> None:
    """Such as the event loop of asyncio."""
    turns = session["turns"]
    for _ in range(3):
        turns(10.0)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        signal.set_wakeup_fd(writer.fileno())
        sender = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
        sender.start()
        turns(3e7)
        sender.join()
        reader.settimeout(5)
        assert reader.recv(8) == bytes([signal.SIGUSR1])
    finally:
        assert signal.set_wakeup_fd(-1) == writer.fileno()
        signal.signal(signal.SIGUSR1, before)
        reader.close()
        writer.close()


def test_what_comes_between_in_the_same_thread_does_not_get_at_the_words(
    session: vlad.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finalizer may, wherever Python makes objects, or a signal's handler."""
    turns, many = session["turns"], 1e5
    expected = [turns(many), turns(11.0)]
    for _ in range(20):  # calls that take microseconds are not registered
        turns(many)
    wake, inside, is_inside = Interruptible._wake, [], [False]

    def wake_and_call(descriptor: int) -> int:
        if not is_inside[0]:
            is_inside[0] = True
            inside.append(turns(11.0))
            is_inside[0] = False
        return wake(descriptor)

    monkeypatch.setattr(Interruptible, "_wake", staticmethod(wake_and_call))
    assert [turns(many) for _ in range(20)] == expected[:1] * 20
    assert inside == expected[1:] * 40


def test_others_go_on_while_a_call_takes_long(session: vlad.Session) -> None:
    """And a thread that is not the main one calls as well, for all have the same words."""
    turns = session["turns"]
    expected = [turns(10.0**power) for power in range(6)]
    for _ in range(2):
        turns(10.0)
    wrong: list[float] = []

    def call(power: int) -> None:
        for _ in range(300):
            if turns(10.0**power) != expected[power]:
                wrong.append(power)

    threads = [threading.Thread(target=call, args=(power,)) for power in range(3, 6)]
    for thread in threads:
        thread.start()
    counted = 0
    while any(thread.is_alive() for thread in threads):
        counted += 1
    for thread in threads:
        thread.join()
    assert not wrong and counted > 1000


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_interrupted_as_well(session: vlad.Session) -> None:
    turns = session["turns"]
    for _ in range(3):
        turns(10.0)
    child = os.fork()
    if child == 0:
        outcome = 1
        try:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            for _ in range(3):
                turns(10.0)
            turns(1e13)
        except KeyboardInterrupt:
            outcome = 0
        finally:
            os._exit(outcome)
    # one that hears nothing is not waited for
    end = threading.Timer(20, os.kill, (child, signal.SIGKILL))
    end.start()
    outcome = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    end.cancel()
    assert outcome == 0


@pytest.mark.parametrize("name, arguments", CALLS, ids=range(len(CALLS)))
def test_later_calls_return_the_same_as_the_evaluator(
    session: vlad.Session, name: str, arguments: tuple[Any, ...]
) -> None:
    other = vlad.Session(tier="evaluate")
    other.eval(PROGRAM)
    for _ in range(3):
        same(session[name](*arguments), other[name](*arguments))


@pytest.mark.parametrize("by", [None, 0, 1, (0,), (1, 0)])
@pytest.mark.parametrize("make", [vlad.grad, vlad.value_and_grad, vlad.jacobian])
def test_derivatives_have_their_forms(session: vlad.Session, make: Callable[..., Any], by: Any) -> None:
    other = vlad.Session(tier="evaluate")
    other.eval(PROGRAM)
    expected = make(other["slope"], by)(0.5, 0.25)
    found = make(session["slope"], by)
    for _ in range(3):
        same(found(0.5, 0.25), expected)
    same(found(0.5, np.float64(0.25)), expected)


STRUCTURED: list[tuple[str, tuple[Any, ...]]] = [
    ("(lambda (x l) (* x x (car l) (cadr l)))", (2.0, [3.0, 4.0])),
    ("(lambda ((cons a b)) (* a a b))", ((3.0, 4.0),)),
    ("(lambda ((cons a b)) (* a a b))", (Point(3.0, 4.0),)),
    ("(lambda ((cons a b)) (* a a b))", (Two(3.0, 4.0),)),
    ("(lambda ((list a t) x) (* a a x (sum (* t t))))", ([2.0, A], 3.0)),
    ("(lambda (l) (* (car l) (cadr l) (caddr l)))", ([2.0, 3.0, 4.0],)),
]


@pytest.mark.parametrize("text, arguments", STRUCTURED, ids=range(len(STRUCTURED)))
@pytest.mark.parametrize("make", [vlad.grad, vlad.value_and_grad, vlad.jacobian, vlad.hessian])
def test_derivatives_have_the_structure_of_the_arguments(
    make: Callable[..., Any], text: str, arguments: tuple[Any, ...]
) -> None:
    expected = make(vlad.Session(tier="evaluate").eval(text))(*arguments)
    found = make(vlad.Session(tier="compile").eval(text))
    for _ in range(3):
        assert repr(found(*arguments)) == repr(expected)
    assert is_in_c(found) == (border() is not None)


class Backwards(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(self[::-1])


@dataclass
class Emptying:
    """Reading its field empties a list."""

    y: Any

    def __getattribute__(self, name: str) -> Any:
        if name == "y":
            GIVEN.clear()
            return 4.0
        return object.__getattribute__(self, name)


GIVEN: list[Any] = []


@dataclass
class Mapping(dict[str, float]):
    x: float = 1.0
    y: float = 2.0


@dataclass
class Text(str):
    x: float = 1.0
    y: float = 2.0


@dataclass
class Last(list[Any]):
    x: float = 1.0
    y: float = 2.0

    def __iter__(self) -> Iterator[Any]:
        return iter([1.0])


class Incomparable(type):
    def __eq__(cls, other: object) -> bool:
        return False


@dataclass
class Unhashable(metaclass=Incomparable):
    x: float = 1.0
    y: float = 2.0


class Interrupting:
    """Its first reading of a field is interrupted."""

    __dataclass_fields__ = Point.__dataclass_fields__
    y = 2.0

    def __init__(self) -> None:
        self.reads = 0

    @property
    def x(self) -> float:
        self.reads += 1
        if self.reads == 1:
            raise KeyboardInterrupt
        return 1.0


def test_what_is_a_dataclass_and_something_else_is_converted_alike(session: vlad.Session) -> None:
    other = vlad.Session(tier="evaluate")
    other.eval(PROGRAM)
    makers: list[Callable[[Any], Any]] = [lambda f: f, vlad.grad]
    for make in makers:
        text = "(lambda ((cons a b)) (+ a (* 2 b)))"
        found, expected = make(session.eval(text)), make(other.eval(text))
        for _ in range(3):
            found((1.0, 2.0))
        for given in (Point(1.0, 2.0), Mapping(), Text(), Last(), Unhashable(), None, "text", {"a": 1.0}):
            outcomes = []
            for f in (found, expected):
                try:
                    outcomes.append(repr(f(given)))
                except (vlad.VladError, TypeError) as error:
                    outcomes.append(str(error).partition("\n")[0])
            assert outcomes[0] == outcomes[1], type(given)


def test_an_interrupt_while_fields_are_read_is_raised(session: vlad.Session) -> None:
    halves = session["halves"]
    for _ in range(3):
        halves(1.0, 2.0)
    given = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        halves(given)
    assert halves(given) == halves(1.0, 2.0)


def test_arguments_of_other_structures_take_the_usual_way(session: vlad.Session) -> None:
    both, halves, mixed = session["both"], session["halves"], session["mixed"]
    for _ in range(3):
        assert both(0.5, [2.0, 3.0]) == ([1.0], (3.0, 0.5))
        assert both(0.5, Backwards([2.0, 3.0])) == ([1.5], (2.0, 0.5))
        assert halves(2.0, 3.0) == halves((2.0, 3.0)) == [6.0, [2.0, [3.0, 7.0, 2.0]], [5.0]]
        assert both(0.5, [2.0, 3.0, 4.0]) == ([1.0], (3.0, 0.5))
        mixed([2.0, A], [(3.0, 4.0)], 5.0)
    for _ in range(3):
        GIVEN[:] = [Emptying(4.0), 3.0]
        with pytest.raises(vlad.VladError):
            both(0.5, GIVEN)
        nested: Any = 1.0
        for _ in range(100_000):
            nested = (nested,)
        assert both(nested, [2.0, 3.0]) == ([2.0], (3.0, 1.0))
        around: list[Any] = [2.0]
        around.append(around)
        with pytest.raises(vlad.VladError):
            both(0.5, around)
        for wrong in (
            (),
            (0.5,),
            (0.5, [2.0]),
            (0.5, []),
            (0.5, (2.0, 3.0)),
            (0.5, ["a", "b"]),
            ([2.0, 3.0], 0.5),
        ):
            with pytest.raises(vlad.VladError):
                both(*wrong)


def test_what_it_is_not_made_for_takes_the_usual_way(session: vlad.Session) -> None:
    wave, places, refused = session["wave"], session["places"], session["refused"]
    for _ in range(3):
        assert wave(1) == wave(1.0) == wave(np.float32(1)) == wave(np.float64(1))
        same(places(A, A), places(np.asfortranarray(A), A))
        same(places(A[::-1], A), places(A[::-1].copy(), A))
        same(refused(A), frozen(2 * A))
    for wrong in ((), (1.0, 2.0), (True,), ("text",), (10**400,), (None,)):
        with pytest.raises((vlad.VladError, TypeError)):
            wave(*wrong)
    with pytest.raises(vlad.VladError, match="wave takes no argument by the name of x"):
        wave(x=1.0)
    with pytest.raises(vlad.VladError, match=r"too small: -15"):
        refused(-A)
    same(refused(A), frozen(2 * A))


def frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


def test_what_is_large_is_called_in_c_but_not_what_has_many_parts(session: vlad.Session) -> None:
    twice = session.eval("(lambda (a) (* 2 a))")
    for size in (MOST_ENTRIES // 4, MOST_ENTRIES):
        for _ in range(3):
            assert twice(np.ones(size)).sum() == 2 * size
    in_c = [type(leaves).__module__ == "vlad.compile.native.c_extension" for leaves, _ in twice.quicks]
    assert in_c == [border() is not None] * 2
    many = session.eval(f"(lambda (x) (list {' '.join(['(+ x 1)'] * (MOST_PARTS + 1))}))")
    assert many(1.0) == many(1.0) == [2.0] * (MOST_PARTS + 1)
    assert not is_in_c(many)


def test_nothing_is_left_behind(session: vlad.Session) -> None:
    """Reference counts of operands, results, constants and dtypes are balanced, even if a call is refused."""
    parts, places, dtype, turns = session["parts"], session["places"], A.dtype, session["turns"]
    twice, many = session.eval("(lambda (a) (* 2 a))"), np.ones(MOST_ENTRIES)
    mixed, point, pair = session["mixed"], Point(3.0, 4.0), [2.0, A]
    parts(0.5, A), places(A, A), turns(2.0), twice(many), mixed(pair, [point], 5.0)
    with pytest.raises(vlad.VladError):
        mixed(pair, [point, 2.0], 5.0)
    gc.collect()
    watched = (
        A,
        dtype,
        NotImplemented,
        many,
        None,
        Interruptible,
        Interruptible._writer,
        Interruptible._stops,
        point,
        pair,
        Point,
    )
    before = [sys.getrefcount(one) for one in watched]
    for _ in range(1000):
        parts(0.5, A)
        places(A, A)
        turns(2.0)
        twice(many)
        mixed(pair, [point], 5.0)
        with pytest.raises(vlad.VladError):
            parts()
        with pytest.raises(vlad.VladError):
            mixed(pair, [point, 2.0], 5.0)
    gc.collect()
    after = [sys.getrefcount(one) for one in watched]
    assert max([abs(one - other) for one, other in zip(before, after, strict=True)]) < 50


def test_calls_within_calls_and_beside_each_other(session: vlad.Session) -> None:
    """A library's words belong to one call at a time: a concurrent call takes the general path, and waits."""
    pairs = session["pairs"]
    expected = {x: pairs(x, A) for x in (0.5, 1.5, 2.5, 3.5)}
    wrong: list[Any] = []

    def call(x: float) -> None:
        for _ in range(2000):
            try:
                same(pairs(x, A), expected[x])
            except AssertionError as error:
                wrong.append(error)

    threads = [threading.Thread(target=call, args=(x,)) for x in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_redefinition_while_a_result_is_built(
    session: vlad.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of callable variants is released, and with it the one that was just called."""
    session.eval("(define (k x) (* 2 x)) (define (h x y) (* (k x) (k (car y)) (k (cdr y))))")
    gradient = vlad.grad(
        session["h"], 1
    )  # a parameter that gets two arguments, whose leaves do not show that
    for _ in range(2):
        assert gradient(1.0, 2.0, 3.0) == (24.0, 16.0)
    assert gradient.quicks
    shaped, kind = Gradient._shaped, type(gradient)

    def redefining(self: Gradient, leaves: tuple[Any, ...]) -> Any:
        monkeypatch.setattr(kind, "_shaped", shaped)
        session.eval("(define (k x) (* 3 x))")
        return shaped(self, leaves)

    monkeypatch.setattr(kind, "_shaped", redefining)
    for _ in range(2):
        assert gradient(1.0, 2.0, 3.0) == (81.0, 54.0)


@pytest.mark.parametrize("size", [3, MOST_ENTRIES])
def test_redefinitions_while_other_threads_call(size: int) -> None:
    """A library stays loaded while it is in use."""
    session = vlad.Session(tier="compile")
    session.eval("(define (k x) (* 2 x)) (define (l x) (list (k x) (k (k x))))")
    array, procedure = np.ones(size), session["l"]
    found: set[float] = set()
    ending = threading.Event()

    def call() -> None:
        while not ending.is_set():
            found.add(float(procedure(array)[0][0]))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(40):
        session.eval(f"(define (k x) (* {turn % 3} x))")
        procedure(array)
    ending.set()
    for thread in threads:
        thread.join()
    assert found <= {0.0, 1.0, 2.0}


DOUBLING = "(define (f0 x) (sin (+ x 1)))" + "".join(
    [f"(define (f{i} x) (f{i - 1} (f{i - 1} x)))" for i in range(1, 31)]
)


def test_straight_code_that_takes_long_is_no_call_in_c() -> None:
    """Each procedure takes twice as long as the one before, without a loop. Limits hold, and other threads get Python's lock."""
    session = vlad.Session(tier="compile")
    session.eval(DOUBLING)
    short, long = session["f4"], session["f30"]
    short(1.0)
    assert is_in_c(short) == (border() is not None)
    for _ in range(2):
        with session.limited(vlad.Limits(seconds=0.1)), pytest.raises(vlad.LimitExceeded):
            long(1.0)
        assert not is_in_c(long)


def test_numbers_of_user_classes_are_converted_by_their_methods(session: vlad.Session) -> None:
    class Odd(float):
        def __float__(self) -> float:
            return 42.0

    wave = session["wave"]
    assert [wave(Odd(1.0)) for _ in range(3)] == [wave(42.0)] * 3


def test_a_value_without_derivative_is_returned_itself() -> None:
    values = vlad.jacobian(vlad.Session(tier="compile").eval("(lambda (x) (> x 0))"), (0,))
    for _ in range(3):
        np.testing.assert_array_equal(values(np.ones(2)), [True, True])


LATE = """
import vlad
session = vlad.Session(tier="compile")
session.eval("(define (f x y) (* x y))")
f = session["f"]
print([f(1.0, 2.0) for _ in range(3)])
slopes = [vlad.jacobian(f, argnums=1), vlad.grad(f, argnums=(1,)), vlad.value_and_grad(f)]
for slope in slopes:
    print([slope(3.0, 2.0) for _ in range(3)])
"""


def test_a_class_has_the_call_in_its_slot(session: vlad.Session) -> None:
    """A method of another kind is searched for by its name at each call."""
    wave = session["wave"]
    slope = vlad.grad(wave)
    assert wave(1.0) and slope(1.0) and is_in_c(wave) and is_in_c(slope)
    for kind in (vlad.Procedure, type(slope)):
        assert type(kind.__call__) is type(type.__call__)


def test_classes_that_are_made_later_call_in_c_as_well() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], stdout=subprocess.PIPE, text=True, check=True)
    values = ("2.0", "3.0", "(3.0,)", "(6.0, (2.0, 3.0))")
    assert done.stdout.splitlines() == [f"[{', '.join([value] * 3)}]" for value in values]


WITHOUT = """
from vlad.compile.native import c_extension as border
border.headers = lambda: None
import numpy as np, vlad
session = vlad.Session(tier="compile")
session.eval('''(define (f x a) (list (* 2 x) (+ a x))) (define (g x y) (* x (sin y)))''')
f, g = session["f"], session["g"]
slope = vlad.grad(g, (1,))
for _ in range(3):
    print(f(0.5, np.arange(2.0)), slope(2, 0.0), g(1.0, 0.0))
assert f.quicks and slope.quicks and g.quicks and border.border() is None
"""


def test_without_headers_python_makes_the_calls() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "[1.0, array([0.5, 1.5])] (2.0,) 0.0\n" * 3


def test_a_call_is_busy_until_it_has_freed_its_memory(session: vlad.Session) -> None:
    f = session.eval("(define (shares a) ((gradient-R logsumexp) a)) shares")
    assert np.allclose(f(np.ones(100)), 0.01)
    compiled = session.tiers.entries[id(f.value)].variants[0]
    rest, busy = compiled.rest, []
    compiled.rest = lambda: (busy.append(bool(compiled.busy)), rest())[1]
    compiled(Tensor(np.ones(100)))
    assert busy == [True] and not compiled.busy
