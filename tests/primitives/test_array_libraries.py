"""Tensors of another array library, one that has nothing but the array-API standard: every row answers what it does with NumPy,
with its derivatives, and answers it there. So nothing that only NumPy has slips in.

The same tests run on CuPy where there is a GPU (`.ci/gpu`), and everywhere on what pretends to be CuPy (pretended_cupy.py): it
lacks what CuPy lacks and minds what CuPy minds. array-api-strict has several pretended devices, so that most of what matters
with a GPU is tested without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import array_api_strict
import numpy as np
import pytest
from pretended_cupy import pretended
from running import refusal
from slopes import SETUP, procedure, random
from test_tensors import AXIS, BINARY, PRODUCTS, SHAPES, UNARY

import vlad
from vlad import VladError, devices
from vlad.compile.beside import BESIDE
from vlad.primitives import indexing, linear_algebra, reductions, tensors
from vlad.primitives import random as random_rows
from vlad.tensors import SORT, on_host

PLACES = [array_api_strict.Device(name) for name in ("CPU_DEVICE", "device1", "device2")]
STRICT, PRETENDED, OTHER = [devices.name_of(array_api_strict.zeros(1, device=place)) for place in PLACES]
gpu = pytest.param("cuda", marks=pytest.mark.gpu)
CUPY = "cuda, pretended"
# A weighted sum, so that every entry counts by itself: its gradient, and a curvature in each order of the modes.
ASKED = """
(define (weights y) (sin (+ 1 (reshape (arange (size y)) (shape y)))))
(define (scalar f) (lambda (x) (let ((y (f x))) (if (tensor? y) (sum (* (weights y) y)) y))))
(define (along f x) (lambda (t) (f (+ x (* t (cos x))))))
(define (slopes f x)
  (let ((h (scalar f)))
    (list ((gradient-R h) x) ((derivative-F (along h x)) 0)
          ((derivative-R (lambda (t) (sum ((gradient-R h) (+ x (* t (cos x))))))) 0)
          ((derivative-F (lambda (t) (sum ((gradient-R h) (+ x (* t (cos x))))))) 0))))
"""
# Rows that the functions of test_tensors.py leave out.
MORE = [
    "(lambda (x) (zeros '(2 3)))", "(lambda (x) (ones 2 #:dtype 'float32))", "(lambda (x) (full '(2 1) (sum x)))",
    "(lambda (x) (eye 3))", "(lambda (x) (* (linspace (sum x) 7 4) (arange 3 #:start 1 #:step 0.5)))",
    "(lambda (x) (tensor (list 1 #t)))", "(lambda (x) (tensor (list (list #t #f) (list #f #f))))", "(lambda (x) (> x 1))",
    "(lambda (x) (list (rank x) (size x) (shape x) (dtype x) (dtype (> x 1)) (tensor? x)))",
    "(lambda (x) (as-type x 'float32))", "(lambda (x) (as-type (as-type x 'int32) 'boolean))",
    "(lambda (x) (argmax x #:axis 0))", "(lambda (x) (argmax x))", "(lambda (x) (tensor-ref x 1))",
    "(lambda (x) (tensor-ref x -1 0))", "(lambda (x) (* (tensor-ref x 1 2) (tensor-ref x 0)))",
    "(lambda (x) (unstack x #:axis 1))", "(lambda (x) (split x 3 #:axis 1))", "(lambda (x) (slice x 0 3 #:axis 1 #:step 2))",
    "(lambda (x) (gather x (tensor '((0 1) (1 1)))))", "(lambda (x) (gather x 2 #:axis 1))",
    "(lambda (x) (gather x (as-type #[2 0] 'int64) #:axis 1))",
    "(lambda (x) (scatter-add x #[1 1 0] (gather (* x x) #[0 1 1])))",
    "(lambda (x) (scatter-add (* x x) (tensor '((2 2) (0 2))) (ones '(2 2 2)) #:axis 1))",
    "(lambda (x) (where #t x 1))", "(lambda (x) (where (> x 1) 1 0))", "(lambda (x) (where (> x 1) (exp x) 2))",
    "(lambda (x) (concatenate (list x #[[1 2 3]])))", "(lambda (x) (stack '(1 2)))", "(lambda (x) (transpose x #:axes '(1 0)))",
    "(lambda (x) (broadcast-to 3 '(2 2)))", "(lambda (x) (reshape 3 '(1 1)))", "(lambda (x) (sum (> x 1) #:axis 0))",
    "(lambda (x) (list (real-tensor? x) (real-tensor? (> x 1))))", "(lambda (x) (equal? x (+ x 0)))",
    "(lambda (x) (outer (tensor-ref x 0) (tensor-ref x 1)))", "(lambda (x) (relu x))",
    "(lambda (x) (uniform (random-key 1) '(3 5)))", "(lambda (x) (random-integer (random-key 1) 0 100 40))",
    "(lambda (x) (uniform (random-key 1) 40000 #:low (sum x) #:high 99))", "(lambda (x) (permutation (random-key 1) 50))",
    "(lambda (x) (split (random-key 1) 40))", "(lambda (x) (normal (random-key 1) 1000))", "(lambda (x) (gamma x))",
    "(lambda (x) (prod x #:axis 1 #:keep #t))", "(lambda (x) (softmax x #:axis '(0 1)))", "(lambda (x) (norm (sum x)))",
    "(lambda (x) (equal? (device x) (device (* 2 x))))", "(lambda (x) (to-device x \"cpu\"))",
]  # fmt: skip


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """The devices of array-api-strict, as if a program could ask for them; CuPy where a test wants it pretended."""
    monkeypatch.setattr(devices, "_found", {})
    for name, place in zip((STRICT, PRETENDED, OTHER), PLACES, strict=True):
        made = devices.Device(name, array_api_strict, device=place)
        monkeypatch.setitem(devices.DEVICES, name, lambda made=made: made)
    asked = getattr(request.node, "callspec", None)
    if asked is not None and asked.params.get("device") == CUPY:
        with pretended():
            yield
            BESIDE.rest()  # the compiler's thread may still look at what was asked
    else:
        yield
        BESIDE.rest()


def named(device: str) -> str:
    """What a program calls it."""
    return "cuda" if device == CUPY else device


sessions: dict[str, vlad.Session] = {}


def session_on(device: str) -> vlad.Session:
    if device not in sessions:
        if device == "cuda" and not devices_has_cuda():
            pytest.skip("no GPU, or no CuPy")
        sessions[device] = vlad.Session(device=named(device))
        sessions[device].eval(SETUP + ASKED)
    return sessions[device]


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def same(device: str, found: Any, expected: Any) -> None:
    """Equal to rounding, and every array on the device."""
    ours, theirs = list(leaves(found)), list(leaves(expected))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(other, np.ndarray):
            assert devices.name_of(one) == named(device)
            assert SORT[one.dtype] == SORT[other.dtype] and one.shape == other.shape
            np.testing.assert_allclose(on_host(one), other, rtol=1e-11, atol=1e-11)
        else:
            assert one == (pytest.approx(other, rel=1e-9, abs=1e-11) if isinstance(other, float) else other)


def there(device: str, x: Any) -> Any:
    return devices.device_named(named(device)).asarray(x) if isinstance(x, np.ndarray) else x


def check(device: str, text: str, *operands: Any) -> None:
    """A function of the last operand, given those before."""
    answers = []
    for name in ("cpu", device):
        session = session_on(name)
        *constants, x = [there(name, operand) for operand in operands]
        f = procedure(session, text)
        f = f(*constants) if constants else f
        answers.append([f(x), session["slopes"](f, x) if has_slopes(f(x)) else None])
    same(device, answers[1], answers[0])


def has_slopes(value: Any) -> bool:
    return isinstance(value, float) or (hasattr(value, "dtype") and SORT[value.dtype] == "f")


@pytest.mark.parametrize("device", [STRICT, PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("text", UNARY)
def test_unary(text: str, device: str) -> None:
    for shape in SHAPES[1:]:
        if 0 not in shape:
            check(device, text, random(1, shape, *UNARY[text]))


@pytest.mark.parametrize("device", [PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("text", BINARY)
def test_binary(text: str, device: str) -> None:
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 3), ()), ((), (2, 3))]
    for a, b in [(random(1, one, *BINARY[text]), random(2, other, *BINARY[text])) for one, other in shapes]:
        check(device, f"(lambda (c) (lambda (x) ({text} x c)))", a, b)
        check(device, f"(lambda (c) (lambda (x) ({text} c x)))", a, b)


@pytest.mark.parametrize("device", [PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("text", AXIS)
def test_along_an_axis(text: str, device: str) -> None:
    for shape, axis in (((3,), 0), ((2, 3), -1), ((2, 3, 2), 1)):
        check(device, f"(lambda (x) {text.replace(' A', f' {axis}')})", random(1, shape, *AXIS[text]))


@pytest.mark.parametrize("device", [PRETENDED, CUPY, gpu])
@pytest.mark.parametrize(
    ("text", "shapes"), [(text, pair) for text, pairs in PRODUCTS.items() for pair in pairs]
)
def test_products(text: str, shapes: Any, device: str) -> None:
    a, b = [random(k, shape, -1, 1) for k, shape in enumerate(shapes)]
    check(device, f"(lambda (c) (lambda (x) ({text} x c)))", b, a)
    check(device, f"(lambda (c) (lambda (x) ({text} c x)))", a, b)


@pytest.mark.parametrize("device", [STRICT, PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("text", MORE)
def test_more(text: str, device: str) -> None:
    if "cpu" in text:
        moved = session_on(device).eval(text)(there(device, np.ones((2, 3))))
        assert type(moved) is np.ndarray and moved.tolist() == [[1, 1, 1], [1, 1, 1]]
        return
    check(device, text, random(1, (2, 3), 0.5, 2.0))


@pytest.mark.parametrize("device", [STRICT, PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("shape", ["10", "'(300 400)"])
def test_the_same_random_numbers_everywhere(shape: str, device: str) -> None:
    """To the last bit; the normal distribution's middle, too, where there is no logarithm."""
    text = f"""(list (uniform (random-key 5) {shape}) (uniform (random-key 5) {shape} #:low -3 #:high 7)
      (random-integer (random-key 5) -1e15 1e15 {shape}) (permutation (random-key 5) 30000) (normal (random-key 5) {shape}))"""
    *exact, normal = [on_host(found) for found in session_on(device).eval(text)]
    *expected, normal_expected = session_on("cpu").eval(text)
    for found, other in zip(exact, expected, strict=True):
        assert found.dtype == other.dtype and np.array_equal(found, other)
    middle = np.abs(normal_expected) < 1.4
    assert np.array_equal(normal[middle], normal_expected[middle])
    np.testing.assert_allclose(normal, normal_expected, rtol=1e-14)


def test_every_row_is_among_them() -> None:
    named = set()
    for text in (*UNARY, *BINARY, *AXIS, *PRODUCTS, *MORE):
        named |= set(re.findall(r"[^\s()'#\[\]\"]+", text))
    rooms = (tensors, indexing, reductions, linear_algebra, random_rows)
    assert sorted({row.name for room in rooms for row in room.ROWS if not row.hidden} - named) == []


def on(device: str, text: str) -> Any:
    return vlad.Session(device=device).eval(text)


def test_what_a_program_makes_is_on_the_device_of_its_session() -> None:
    """Each session has its own, also when one calls another."""
    assert devices.name_of(on(PRETENDED, "#[1 2]")) == PRETENDED
    assert on(PRETENDED, "(device #[1 2])") == PRETENDED and on("cpu", "(device (zeros 3))") == "cpu"
    outer, inner = session_on(OTHER), session_on(PRETENDED)
    made = inner.eval("(lambda (n) (zeros n))")
    assert devices.name_of(made(2)) == PRETENDED
    assert devices.name_of(outer.eval("(lambda (n) (zeros n))")(2)) == OTHER
    with pytest.raises(VladError, match="Unbound"):
        inner.eval("(no-such-thing)")
    assert devices.CURRENT.get() == "cpu"


def test_to_device_and_back() -> None:
    """Linear both ways, of every order; the way back ends where it began."""
    session = vlad.Session()
    session["there"], session["here"] = PRETENDED, OTHER
    session.eval("""
(define x (to-device #[1 2 3] here))
(define (f x) (let ((y (to-device (* x x x) there))) (sum (* y y))))
(define ((along d) f x) ((derivative-F (lambda (t) (f (+ x (* t d))))) 0))""")
    assert session.eval("(list (device x) (device (to-device x there)))") == [OTHER, PRETENDED]
    gradient = session.eval("((gradient-R f) x)")
    assert devices.name_of(gradient) == OTHER
    assert on_host(gradient).tolist() == [6, 192, 1458]
    assert session.eval("((along x) f x)") == 6 + 384 + 4374
    for outer in "FR":
        curve = f"((derivative-{outer} (lambda (t) (sum ((gradient-R f) (+ x (* t x)))))) 0)"
        assert session.eval(curve) == 5 * (6 + 192 + 1458)
    assert session.eval("((gradient (lambda (x) (* 2 (to-device x there)))) 3)") == 2
    assert session.eval("((gradient (lambda (a) (sum (* (to-device #[1 2] there) a)))) 3)") == 3


APART = [
    "(+ a b)", "(- a b)", "(* a b)", "(/ a b)", "(max a b)", "(expt a b)", "(< a b)", "(where (> a 0) a b)", "(where a b 1)",
    "(dot a b)", "(outer a b)", "(matmul a b)", "(solve (outer a a) b)", "(concatenate (list a b))", "(stack (list a b))",
    "(tensor (list a b))", "(gather a b)", "(scatter-add a a b)", "(hypot a b)", "(scatter-add b b a)",
    "((cdr ((J (lambda (x) (* x x))) (J a))) b)",
]  # fmt: skip


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("text", APART)
def test_tensors_on_different_devices(text: str, tier: str) -> None:
    """One clear error that names both, on whichever side they stand."""
    session = vlad.Session(tier=tier)
    for here, elsewhere in ((PRETENDED, OTHER), ("cpu", PRETENDED), (PRETENDED, "cpu")):
        for name, place in (("a", here), ("b", elsewhere)):
            session[name] = devices.device_named(place).asarray([1.0, 2.0, 0.0])
        with pytest.raises(VladError) as caught:
            session.eval(f"(let ((f (lambda (a b) {text}))) (f a b))")
        assert caught.value.code == "wrong-device", caught.value
        assert here in caught.value.message and elsewhere in caught.value.message
        assert caught.value.hint and caught.value.span is not None


def test_equality_sees_the_numbers() -> None:
    session = session_on("cpu")
    session["there"] = PRETENDED
    assert session.eval("(equal? #[1 2] (to-device #[1 2] there))") is True
    assert session.eval("(equal? #[1 2] (to-device #[1 3] there))") is False


def test_it_prints_from_any_device() -> None:
    lines: list[str] = []
    session = vlad.Session(device=PRETENDED, write=lines.append)
    session.run_text("#[[1 2] [3 4]] (> #[1 2] 1) (as-type #[1] 'float32) (tensor->list #[[1 2] [3 4]])")
    assert (
        "".join(lines) == "#[[1 2] [3 4]]\n#<tensor boolean [#f #t]>\n#<tensor float32 [1]>\n((1 2) (3 4))\n"
    )


@pytest.mark.parametrize("name", ["tpu", "cuda"])
def test_a_device_that_is_not_there(name: str) -> None:
    if name == "cuda" and devices_has_cuda():
        pytest.skip("there is a GPU")
    for make in (
        lambda: vlad.Session().eval(f'(to-device #[1 2] "{name}")'),
        lambda: vlad.Session(device=name),
    ):
        with pytest.raises(VladError) as caught:
            make()
        assert caught.value.code == "no-device"
        assert caught.value.message == f"There is no device {name}" + (" here" if name == "cuda" else "")
        assert caught.value.hint


def devices_has_cuda() -> bool:
    try:
        devices.device_named("cuda")
    except VladError:
        return False
    return True


ERRORS = {
    "(to-device #[1 2] 'cpu)": "Argument to to-device is invalid",
    '(to-device \'a "cpu")': "Argument to to-device is invalid",
    '(device "cpu")': "Argument to device is invalid",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    error = refusal(text, "evaluate")
    assert error.message == ERRORS[text] and error.hint


def test_another_device_is_for_tier_0() -> None:
    """A procedure that was compiled for arrays in memory does not take others, and none is compiled elsewhere."""
    session = vlad.Session(tier="compile")
    session.eval("(define (f x) (sum (* x x)))")
    assert session["f"](np.array([1.0, 2.0])) == 5
    assert session["f"](there(PRETENDED, np.array([1.0, 3.0]))) == 10
    assert session["f"](np.array([1.0, 4.0])) == 17
    elsewhere = vlad.Session(tier="compile", device=PRETENDED)
    elsewhere.eval("(define (g x) (+ (ones 2) x)) (define (h x) (gather (list-tail x 0) 0))")
    assert devices.name_of(elsewhere["g"](2.0)) == PRETENDED
    assert elsewhere.eval("(map g (list 1 2))")[1].shape == (2,)
    assert elsewhere.eval("(let loop ((i 0) (x 0)) (if (= i 1000) x (loop (+ i 1) (+ x i))))") == 499500
