"""Programs with tensors: compiled they answer what they answer on tier 0, to the kind of every number."""

from __future__ import annotations

import ctypes
import itertools
import math
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad
from vlad import VladError
from vlad.compile import blas
from vlad.compile.blas import Product, product
from vlad.compile.calls import compile_call
from vlad.compile.products import FEWEST
from vlad.tensors import Tensor, same_numbers
from vlad.values import FALSE, ZERO

ROOT = Path(__file__).parents[2]


DOUBLES, FLOATS = (1e-9, 1e-11), (2e-6, 1e-6)  # relative and absolute


def same(a: Any, b: Any, tolerance: tuple[float, float] = DOUBLES) -> bool:
    """Equal up to rounding, of the same shapes and kinds."""
    if isinstance(a, np.ndarray):
        alike = isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
        if a.dtype.kind == "f":
            r, size = FLOATS if a.dtype == np.float32 else tolerance
            return alike and np.allclose(a, b, rtol=r, atol=size, equal_nan=True)
        return alike and np.array_equal(a, b)
    if type(a) is float:
        return type(b) is float and bool(np.isclose(a, b, *tolerance, equal_nan=True))
    if isinstance(a, list | tuple):
        return (
            type(a) is type(b)
            and len(a) == len(b)
            and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
        )
    return bool(type(a) is type(b) and a == b)


def answer(session: vlad.Session, text: str, operands: tuple[Any, ...]) -> list[Any]:
    """What a procedure answers the first time and the next; an error's message and place."""
    try:
        f = session.eval(text)
        return [f(*operands), f(*operands)]
    except VladError as error:
        place = None if error.span is None else (error.span.line, error.span.column)
        return [error.message, place]


def agree(text: str, *operands: Any, compiled: bool = True) -> list[Any]:
    """The answers of both tiers, which are the same. `compiled`: and the procedure is compiled, whose answer stands. What is
    made of floats has their precision."""
    evaluating, compiling = vlad.Session(tier="evaluate"), vlad.Session(tier="compile")
    expected, found = [answer(session, text, operands) for session in (evaluating, compiling)]
    has_floats = "float32" in text or any(getattr(x, "dtype", None) == np.float32 for x in operands)
    assert same(expected, found, FLOATS if has_floats else DOUBLES), (text, operands, expected, found)
    if compiled:
        assert compiling.tiers.disagreements == 0
        assert {entry.reason for entry in compiling.tiers.entries.values()} == {None}, text
    return found


A = np.arange(6.0).reshape(2, 3) + 0.5
V, W = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])

OF_ANY_KIND = [
    "(lambda (x) x)", "(lambda (x) (list x (dtype x) (shape x)))", "(lambda (x) (transpose x))", "(lambda (x) (slice x 0 1))",
    "(lambda (x) (tensor-ref x 0))", "(lambda (x) (tensor-ref x 0 1))", "(lambda (x) (reshape x '(3 2)))",
    "(lambda (x) (reshape (slice (tensor-ref x 0) 1 2) '()))", "(lambda (x) (gather x #[0 1 0]))", "(lambda (x) (unstack x))",
    "(lambda (x) (map unstack (unstack x)))", "(lambda (x) (matmul x (transpose x)))", "(lambda (x) (sum x #:axis 0))",
    "(lambda (x) (maximum x #:axis 1))", "(lambda (x) (prod x))", "(lambda (x) (* 2 x))", "(lambda (x) (+ x x))",
    "(lambda (x) (> x 1))", "(lambda (x) (where (> x 1) x 0))", "(lambda (x) (abs x))", "(lambda (x) (zero x))",
    "(lambda (x) (as-type x 'float64))", "(lambda (x) (argmax x #:axis 0))", "(lambda (x) (tensor->list x))",
    "(lambda (x) ((gradient (lambda (y) (sum (* y y)))) x))", "(lambda (x) (v+ x x))", "(lambda (x) (equal? x x))",
    "(lambda (x) (softmax x))", "(lambda (x) (concatenate (list x x)))", "(lambda (x) (mean x))",
]  # fmt: skip


ANYTHING = {
    "known zero": ZERO, "real": 1.5, "boolean": FALSE, "tensor": Tensor(np.ones((2, 3))), "row": Tensor(np.ones((1, 3))),
    "float32": Tensor(np.ones((2, 3), np.float32)), "booleans": Tensor(np.ones((2, 3), bool)),
}  # fmt: skip


@pytest.mark.parametrize("x", [name for name in ANYTHING if name != "boolean"])
@pytest.mark.parametrize("row", ["shape-witness", "sum-like", "broadcast-like"])
def test_what_undoes_broadcasting_is_the_same_on_both_tiers(row: str, x: str) -> None:
    """To the known zero, for a backpropagator that is compiled may be called on tier 0."""
    machine = vlad.Session(tier="evaluate").machine
    f = machine.system_procedure(f"(lambda (x like) ({row} x like))", "f", 2)
    for like, value in ANYTHING.items():
        operands = (ANYTHING[x], value)
        try:
            expected = machine.apply(f, (operands[0], operands[1]))
        except VladError:
            continue
        found = compile_call(machine, f, operands)(*operands)
        if type(expected) is Tensor:
            assert type(found) is Tensor and same_numbers(found, expected), like
        else:
            assert found is expected or (type(found) is float and found == expected), like


@pytest.mark.parametrize(
    "f", ["(lambda (y) (* k (sin y)))", "(lambda (y) (* y (sin y)))", "(lambda (y) (+ y 1))"]
)
def test_a_backpropagator_as_an_operand(f: str) -> None:
    """What it captured of shapes, or that there is nothing to know, are booleans and tensors like any other."""
    answers = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        back = session.eval(f"(lambda (x k) (cdr ((*j {f}) (*j x))))")(np.ones((2, 3)), 2 * np.ones((2, 3)))
        call = session.eval("(lambda (back s) (cdr (back s)))")
        answers.append(call(back, np.arange(6.0).reshape(2, 3)))
    assert session.tiers.entries[id(call.value)].reason is None
    assert same(*answers)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32", "uint8", "bool", ">f8", ">i4"])
def test_every_kind_of_number_stays_what_it_is(kind: str) -> None:
    for text in OF_ANY_KIND:
        agree(text, A.astype(kind), compiled=kind != "uint8")


def test_integers_that_are_no_doubles() -> None:
    large = np.array([2**53 + 1, -5])
    (found, _) = agree("(lambda (x) (list x (gather x #[0]) (+ x x) (maximum x #:axis 0 #:keep #t)))", large)
    assert found[0][0] == 2**53 + 1 == found[1][0] == found[3][0] and found[2][0] == 2**54 + 2
    agree("(lambda (x) (list (= x #[9007199254740992]) (= x (+ x 0)) (tensor-ref x 0) (sum x)))", large)


# Numbers of several kinds together. Integers wrap, and divide as NumPy has it.

Q, Z, Y, T = (
    A.astype("float32"),
    np.array([[-7, 0, 3], [5, -2, 2**62]]),
    np.array([[3, -2, 0]], "int32"),
    A > 2,
)
KINDS = {"a": A, "q": Q, "z": Z, "y": Y, "t": T}
MIXED = [
    "(+ q 0.1)", "(+ q a)", "(+ q y)", "(* z z)", "(* 4 z)", "(* y y)", "(+ z y)", "(- z q)", "(- t z)", "(- z)", "(abs z)",
    "(< q 0.1)", "(= q 0.1)", "(< z q)", "(= z y)", "(max z y)", "(min y 1)", "(max q y)", "(modulo z y)", "(modulo z 3)",
    "(modulo q 0.7)", "(quotient z y)", "(remainder z y)", "(/ z y)", "(/ q 3)", "(sign y)", "(floor z)", "(round q)",
    "(truncate (* q y))", "(sqrt z)", "(exp y)", "(exp q)", "(tanh q)", "(sigmoid q)", "(gelu q)", "(softplus q)", "(erf q)",
    "(log-gamma q)", "(expt q 2)", "(expt 2 y)", "(atan q y)", "(hypot q 2)", "(where t q y)", "(where z y 5)", "(where q z y)",
    "(sum z)", "(sum y)", "(sum z #:axis 0)", "(sum y #:axis 1)", "(sum q)", "(sum q #:axis 0)", "(sum t #:axis 0)", "(mean y)",
    "(mean z #:axis 0)", "(mean q #:axis 1)", "(prod y #:axis 0)", "(prod q)", "(maximum z)", "(minimum y #:axis 1)",
    "(maximum q #:axis 0)", "(maximum t)", "(logsumexp q)", "(logsumexp y #:axis 1)", "(softmax q)", "(log-softmax z)",
    "(argmax z #:axis 0)", "(argmax q)", "(argmax t #:axis 1)", "(norm q)", "(norm y)", "(matmul z (transpose y))",
    "(matmul y (transpose y))", "(matmul q (transpose a))", "(matmul q #[1 2 3])", "(matmul t (transpose q))",
    "(dot (tensor-ref y 0) (tensor-ref y 0))", "(dot (tensor-ref q 0) (tensor-ref q 1))",
    "(outer (tensor-ref q 0) (tensor-ref z 0))", '(einsum "ij->i" q)', '(einsum "ij,kj->ik" z z)', '(einsum "ij,kj->ik" q q)',
    '(einsum ",ij->j" 0.1 q)', '(einsum "ij->i" y)', '(einsum "ij,kj->" y z)', '(einsum "ij,j" z #[1 2 3])',
     "(as-type (* 1.6 y) 'int64)",
    "(as-type a 'float32)", "(as-type z 'float32)", "(as-type q 'boolean)", "(as-type (* 1e-300 a) 'boolean)",
    "(as-type t 'int32)", "(as-type 0.1 'float32)", "(as-type 2.7 'int64)", "(as-type 0.1 'boolean)",
     "(concatenate (list q y))", "(concatenate (list z y))", "(stack (list t (> q 1)))",
    "(stack (list z t))", "(tensor (list (tensor-ref q 0) (tensor-ref y 0)))", "(tensor (list (> 1 2) (< 1 2)))",
    "(tensor (list (> 1 2) 3))", "(tensor (list (list 1 2) (list (> 1 2) (< 1 2))))", "(tensor->list t)", "(tensor->list z)",
    "(zeros '(2 2) #:dtype 'float32)", "(ones 3 #:dtype 'int64)", "(ones '() #:dtype 'boolean)", "(ones '() #:dtype 'int32)",
    "(gather #[10 20 30] (modulo z 3))", "(gather q (argmax (transpose q) #:axis 1))",
    "(gather z (modulo (+ (argmax z #:axis 0) 1) 2))", "(scatter-add y #[0 0 0] (concatenate (list y z)))",
    "(scatter-add z #[0] y)", "(scatter-add z #[1 1] a)", "(scatter-add q #[1 1] a)", "(scatter-add t #[0 -1] q)",
    "(one-hot (modulo z 3) 3)", "(random-integer (random-key 1) -5 5 '(2 3))", "(permutation (random-key 1) 9)",
    "(* q (uniform (random-key 1) 3))", "(max-pool z 2)", "(max-pool q 2 #:stride 1 #:padding 1)", "(avg-pool y '(1 2))",
    "(avg-pool q 2 #:stride 1 #:padding 1)", "(conv2d (reshape q '(1 1 2 3)) (reshape (tensor-ref y 0) '(1 1 1 3)))",
    "(conv2d (reshape z '(1 1 2 3)) (reshape (slice z 0 2 #:axis 1) '(1 1 2 2)) #:padding 1)", "(transpose t)",
    "(unstack y #:axis 1)", "(let loop ((i 0) (x y)) (if (= i 40) x (loop (+ i 1) (* x 3))))",
    "(let loop ((i 0) (x q)) (if (= i 5) x (loop (+ i 1) (sin x))))", "(list (zero q) (v+ q q) (plus q a) (zero z))",
    "(if (tensor-ref t 0 0) q y)",
]  # fmt: skip
TOGETHER = 8  # expressions in one program


@pytest.mark.parametrize("first", range(0, len(MIXED), TOGETHER))
def test_kinds_mix_as_on_tier_0(first: int) -> None:
    found = agree(f"(lambda (a q z y t) (list {' '.join(MIXED[first : first + TOGETHER])}))", *KINDS.values())
    assert not isinstance(found[0], str), found


@pytest.mark.parametrize(
    "text",
    ["z 'int32", "(/ a (- a a)) 'int64", "(* 1e10 q) 'int32", "(tensor-ref z 1 2) 'int32", "(* 1e19 a) 'int64",
     "(- -2147483649.0 t) 'int32", "(- -2147483648.5 (zeros 2)) 'int32", "(+ 2147483647.5 (zeros 2)) 'int32", "(zeros 0) 'int32"],
)  # fmt: skip
def test_integers_that_a_kind_has_no_place_for(text: str) -> None:
    agree(f"(lambda (a q z y t) (as-type {text}))", *KINDS.values(), compiled=False)


def a_program(choose: random.Random, depth: int) -> str:
    """An expression whose value has the shape (2 3), or is a real; nothing in it depends on how sums are rounded."""
    if depth == 0:
        return choose.choice([*KINDS, *KINDS, "2", "-0.5", "3"])
    one, two, three = [a_program(choose, choose.randrange(depth)) for _ in range(3)]
    match choose.randrange(12):
        case 0 | 1 | 2:
            return f"({choose.choice(['+', '-', '*', '*', 'max', 'min'])} {one} {two})"
        case 3:
            return f"({choose.choice(['<', '=', '>', '<=', '>='])} (+ {one} {choose.choice('qzy')}) {two})"
        case 4:
            return f"(where (< {one} {two}) {two} {three})"
        case 5:
            return f"({choose.choice(['-', 'abs', 'sign', 'relu'])} (+ {one} q))"
        case 6:
            return f"(as-type (+ y (argmax (* {one} a) #:axis 0)) '{choose.choice(['int32', 'float32', 'float64', 'boolean'])})"
        case 7:
            combine = choose.choice(["sum", "maximum", "minimum", "prod"])
            return f"({combine} (* {one} {choose.choice('aqzyt')}) #:axis 0 #:keep #t)"
        case 8:
            return f"(transpose (transpose (+ {one} {choose.choice('aqzy')})))"
        case 9:
            return f"(gather (* {one} {choose.choice('aqz')}) (argmax (* a {two}) #:axis 0) #:axis 1)"
        case 10:
            return f"(modulo {one} {choose.choice('zy')})"
    return f"(matmul (matmul (+ {one} z) (reshape (modulo z 3) '(3 2))) {choose.choice('qz')})"


@pytest.mark.parametrize("seed", range(12))
def test_programs_of_several_kinds(seed: int) -> None:
    choose = random.Random(seed)
    found = [f"(let ((x {a_program(choose, 4)})) (list x (+ x q)))" for _ in range(TOGETHER)]
    operands = [A - 2.0, Q * 0.5 - 1, Z, Y, T]
    answers = agree(f"(lambda (a q z y t) (list {' '.join(found)}))", *operands)
    assert not isinstance(answers[0], str), answers


def a_convolution(pick: random.Random) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """Of images x with filters w, and the shapes of both."""
    groups, stride, dilation = pick.choice([1, 1, 2]), pick.choice([1, 1, 2, 3]), pick.choice([1, 1, 2])
    window = [pick.choice([1, 2, 3]), pick.choice([1, 2, 3])]
    size = [dilation * (length - 1) + pick.choice([1, 2, 4, 7]) for length in window]
    padding = pick.choice([0, 1, "'same", "'valid"])
    text = f"(conv2d x w #:padding {padding} #:stride {stride} #:dilation {dilation} #:groups {groups})"
    inner = pick.choice([1, 2, 3])
    return (
        text,
        (pick.choice([1, 2]), groups * inner, *size),
        (groups * pick.choice([1, 2, 3]), inner, *window),
    )


@pytest.mark.parametrize("seed", range(5))
def test_convolutions_and_their_derivatives(seed: int) -> None:
    """Of small images with several filters, too, in whose sensitivities several turns of the outer loops meet at one place."""
    pick, numbers = random.Random(seed), np.random.default_rng(seed)
    parts, names, operands = [], [], []
    for n in range(4):
        text, images, filters = a_convolution(pick)
        parts.append(f"""(let* ((f (lambda (x w) (sum (sin {text})))) (x x{n}) (w w{n}))
          (list {text} ((gradient (lambda (x) (f x w))) x) ((gradient (lambda (w) (f x w))) w)
            (hvp (lambda (x) (f x w)) x (cos x)) (hvp (lambda (w) (f x w)) w (cos w))))""")
        names += [f"x{n}", f"w{n}"]
        operands += [numbers.standard_normal(images), numbers.standard_normal(filters)]
    agree(f"(lambda ({' '.join(names)}) (list {' '.join(parts)}))", *operands)


@pytest.mark.parametrize("optimize", [2, 3])
def test_convolutions_that_are_written_out(optimize: int) -> None:
    """gcc 12 made wrong vectors of one of these sums, from -O2 on."""
    parts = " ".join(["w"] * 20)
    images = f"(conv2d (reshape x '(2 1 3 1)) (reshape (slice (concatenate (list {parts})) 0 1) '(1 1 1 1)) #:padding 'same)"
    made = f"(conv2d {images} (ones '(2 1 1 1)))"
    text = f"""(lambda (x w v) (let ((f (lambda (x w) (sum (sin {made})))))
      (list {made} ((gradient (lambda (x) (f x w))) x) ((gradient (lambda (w) (f x w))) w)
        (hvp (lambda (x) (f x w)) x v) (hvp (lambda (w) (f x w)) w w))))"""
    x, w = np.random.default_rng(2).normal(size=6), np.random.default_rng(3).normal(size=13)
    found = vlad.Session(tier="compile", optimize=optimize).eval(text)(x, w, np.cos(x))
    assert same(found, vlad.Session(tier="evaluate").eval(text)(x, w, np.cos(x)))


DERIVED = [
    "(sum (* y y))", "(sum (sin y))", "(logsumexp y)", "(sum (maximum y #:axis 0))", "(sum (tanh (* 2 y)))", "(prod y)",
    "(tensor-ref y 1 2)", "(sum (slice y 0 1))", "(sum (gather y #[0 0 1]))", "(sum (square (matmul y (transpose y))))",
    "(sum (square (concatenate (list y (as-type y 'float64)))))", "(sum (* y (as-type y 'float64)))",
    "(sum (* #[1 2 3] (* y y)))", "(sum (sin (as-type y 'float64)))", "(mean (relu (- y 1)))", "(sum (square (softmax y)))",
    "(sum (square (max-pool y 2)))", "(sum (sin (avg-pool y 2)))",
    "(sum (square (conv2d (reshape y '(1 1 2 3)) (ones '(1 1 2 2)))))", '(einsum "ij,kj->" y y)', "(norm y)",
    "(sum (cross-entropy y #[0 1]))", "(sum (expt y 3))", "(sum (log-gamma (+ 1 y)))", "(sum (exp (tensor (list y y))))",
    "(sum (gelu y))", "(sum (sigmoid y))", "(sum (sqrt y))", "(sum (/ 1 y))", "(sum (where (> y 1) (* y y) 0))",
    "(log (sum (exp y)))", "(sum (scatter-add (* y y) #[0 0] y))", "(sum (map-tensor (lambda (e) (* e e)) y))",
]  # fmt: skip


@pytest.mark.parametrize("text", DERIVED)
def test_derivatives_of_floats(text: str) -> None:
    """Of both modes and orders; the second one near to that of doubles."""
    by_v = text.replace(" y", " v").replace("(y", "(v")
    derivatives = f"""(lambda (x d) (list
      ((gradient-R (lambda (y) {text})) x)
      ((derivative-F (lambda (t) (let ((y (+ x (* t d)))) {text}))) 0)
      ((derivative-F (lambda (t) ((gradient-R (lambda (v) {by_v})) (+ x (* t d))))) 0)
      ((gradient-R (lambda (y) (sum (* d ((gradient-R (lambda (v) {by_v})) y))))) x)))"""
    x, d = 0.25 + Q / 4, np.cos(Q)
    (found, _) = agree(derivatives, x, d)
    assert found[0].dtype == found[2].dtype == found[3].dtype == np.float32
    expected = vlad.Session(tier="evaluate").eval(derivatives)(x.astype(float), d.astype(float))
    for one, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, exact, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32", "bool"])
def test_arrays_of_every_kind_cross_without_a_copy(kind: str) -> None:
    f = vlad.Session(tier="compile").eval(
        "(lambda (x) (list (where (> x 1) x 0) (sum x) (transpose x) (> x 1)))"
    )
    array = A.astype(kind)
    first = f(array)
    assert f.quicks and f.quicks[0].leaves((array,)) is not NotImplemented
    assert (
        f.quicks[0].leaves((array.astype("float32" if kind != "float32" else "float64"),)) is NotImplemented
    )
    again = f.quicks[0].shape(f.quicks[0].leaves((array,)))
    assert same(first, again) and again[2].dtype == kind and not again[2].flags.writeable


@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
def test_reals_made_of_small_arrays_need_no_words(kind: str) -> None:
    f = vlad.Session(tier="compile").eval(
        "(lambda (x k y) (+ (* k (sum (as-type x 'float64))) (tensor-ref y 1)))"
    )
    x, y = A.astype(kind), np.array([0.25, 0.5])
    assert f(x, 2.0, y) == 2 * x.sum() + 0.5
    (entry,) = f.session.tiers.entries.values()
    assert entry.variants[0].entry is not None
    leaves = f.quicks[0].leaves
    assert leaves((x, 2.0, y)) == (f(x, 2.0, y),)
    wrong = [
        (x, 2.0),
        (x.T, 2.0, y),
        (x[:1], 2.0, y),
        (x.astype(">i2"), 2.0, y),
        (np.asfortranarray(x), 2.0, y),
        (x, 2.0, "y"),
    ]
    for arguments in wrong:
        assert leaves(arguments) is NotImplemented
    assert f(np.asfortranarray(x), 2, y) == f(x, 2.0, y)


def test_the_library_multiplies_floats() -> None:
    session, r = vlad.Session(tier="compile"), np.random.default_rng(0)
    f = session.eval("(lambda (a b) (matmul a b))")
    a, b = [r.normal(size=(30, 30)).astype("float32") for _ in range(2)]
    assert a.size * 30 >= FEWEST
    np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-5, atol=1e-5)
    (entry,) = session.tiers.entries.values()
    assert entry.variants[0].interface.multiplies and product().single
    agree("(lambda (a b) (list (matmul a b) (matmul (transpose a) b) (matmul a (as-type b 'float64))))", a, b)


def test_sums_of_floats_are_those_of_doubles() -> None:
    x = (np.sin(np.arange(1e6)) + 1000).astype("float32")
    total, of_rows = vlad.Session(tier="compile").eval(
        "(lambda (x) (list (sum x) (sum (reshape x '(10 -1)) #:axis 1)))"
    )(x)
    assert total == np.float32(x.sum(dtype=float))
    assert np.array_equal(of_rows, x.reshape(10, -1).sum(axis=1, dtype=float).astype("float32"))


LAYOUTS = {
    "Fortran order": np.asfortranarray(A), "every other": A[:, ::2], "backwards": A[::-1], "transposed": A.T,
    "no rows": np.zeros((0, 3)), "no columns": np.zeros((2, 0)), "one entry, repeated": np.broadcast_to(np.float64(3), (2, 3)),
    "between words": np.frombuffer(b"x" + np.arange(4000.0).tobytes(), dtype=float, offset=1).reshape(40, 100),
    "big-endian": A.astype(">f8"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_of_every_layout(name: str) -> None:
    array = LAYOUTS[name]
    for text in [
        "(lambda (x) (* 2 (+ x 1)))",
        "(lambda (x) (sum x #:axis 0))",
        "(lambda (x) (list x (sum x)))",
        "(lambda (x) (sum (* x x)))",
    ]:
        agree(text, array)
    array.setflags(write=False)
    agree("(lambda (x) ((gradient (lambda (x) (sum (sin x)))) x))", array)


@pytest.mark.parametrize(
    "text",
    [
        "equal?", "(lambda (x y) (eq? x y))", "(lambda (x y) (equal? (list x 1) (list y 1)))",
        "(lambda (x y) (if (equal? x y) 1 2))",
        "(lambda (x y) (member x (list y x)))", "(lambda (x y) (assoc x (list (cons y 1) (cons x 2))))",
    ],
)  # fmt: skip
def test_equality_looks_at_the_entries(text: str) -> None:
    pairs = [(V, W), (V, V.copy()), (V, A), (np.zeros(0), np.zeros(0)), (np.array([np.nan, 0.0]), np.array([np.nan, -0.0])),
             (np.array([1, 2]), np.array([1, 3])), (np.array([True, False]), np.array([True, True])), (V, 1.0)]  # fmt: skip
    for pair in pairs:
        agree(text, *pair)


def test_a_tensor_that_grows_in_a_loop_has_a_gradient() -> None:
    text = """(lambda (x n) ((gradient (lambda (x)
      (sum (let loop ((i 0) (x x)) (if (= i n) x (loop (+ i 1) (concatenate (list x (sin x))))))))) x))"""
    agree(text, V, 3.0, compiled=False)


@pytest.mark.parametrize("indices", ["0", "b", "b b", "b c"])
def test_tangents_of_closures_that_differ_are_not_mixed_up(indices: str) -> None:
    """The first continuation of a loop has captured one, two or three variables, those of its turns three."""
    y = V if len(indices) == 1 else A
    found = agree(
        f"""(lambda (y d a b c)
          (hvp (lambda (y) (let loop ((i 0) (u (tensor-ref y {indices}))) (if (= i 2) (* u u) (loop (+ i 1) (* u a))))) y d))""",
        y, np.ones_like(y), 2.0, 0.0, 0.0,
    )  # fmt: skip
    expected = np.zeros_like(y)
    expected.flat[0] = 32
    assert same(found[0], expected), found


@pytest.mark.parametrize("other", ["(* 2 x)", "(transpose x)"])
def test_where_shapes_of_arms_do_not_fit_the_arms_of_others(other: str) -> None:
    """Choices between boxes, all of whose cases fail, are within choices between such."""
    found = agree(
        f"(lambda (x a) (let ((u (if (< a 0.5) (reshape x -1) {other}))) (sum (where (> u 0) u (* 2 u)))))",
        A,
        2.0,
    )
    assert found[0] == 2 * A.sum() / (1 if "2" in other else 2)


@pytest.mark.parametrize("first", [1.0, -1.0])
@pytest.mark.parametrize(
    "chosen",
    ["(if (> c 0) x y)", "(if (> (tensor-ref x 0) 0) (* c x) (* c y))", "(if (< c 0) (list y) x)"],
)
def test_tangents_that_are_zero_have_no_shape_of_others(chosen: str, first: float) -> None:
    """Of what does not change, in the arm of a branch whose other one has another shape."""
    f = f"(lambda (x) (let ((u {chosen})) (sum (sin (if (pair? u) (car u) u)))))"
    agree(
        f"""(lambda (x y c) (let ((f {f})) (list
              (hvp f x x) (hvp-R f x x) ((gradient f) x) ((jacobian (gradient f)) x) (jvp-F f x x))))""",
        V * first, V[:2], first,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        '(transpose "text")',
        "(transpose #t)",
        "(transpose '(1 2) #:axes '(0))",
        "(tensor->list 'a)",
        "(tensor->list #t)",
    ],
)
def test_what_is_no_number_has_no_entries(text: str) -> None:
    what = re.sub(r"\W*(\S+).*", r"\1", text)
    assert agree(f"(lambda () {text})") == [f"Argument to {what} is invalid", (1, 12)]


def test_arange_has_the_entries_of_numpy() -> None:
    for text, expected in [
        ("(lambda (x) (+ x (arange 3 #:start 0.1 #:step 0.1)))", np.arange(0.1, 3, 0.1)),
        ("(lambda (x) (+ x (arange -7 #:start 5.3 #:step -0.7)))", np.arange(5.3, -7, -0.7)),
    ]:
        found = agree(text, 0.0)[0]
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "(lambda (x) (* ((derivative-F (lambda (u) 3)) 0) x))",
        "(lambda (x) (/ ((derivative-R (lambda (u) (sum x))) 0) x))",
        "(lambda (x) (* 2 (* x ((derivative-F (lambda (u) (sum x))) 0))))",
        "(lambda (x) (- ((derivative-F (lambda (u) 3)) 0) x))",
        "(lambda (x) (+ x ((derivative-F (lambda (u) 3)) 0)))", "(lambda (x) ((derivative-F (lambda (u) x)) 1))",
        "(lambda (x) (shape ((derivative-F (lambda (u) x)) 1)))",
    ],
)  # fmt: skip
def test_a_derivative_that_is_zero_times_a_tensor_is_a_tensor(text: str) -> None:
    agree(text, V)
    agree(text, np.array([np.inf, np.nan]))


def test_a_sensitivity_is_only_put_where_it_fits() -> None:
    """Which branch was taken is not known to the types: that of the other one may come along."""
    text = """(lambda (c x) ((gradient-R (lambda (u)
      (sum (if (< c 0) x (slice (+ (zeros 8) u) 2 7 #:step 2))))) 0.5))"""
    agree(text, 0.3, A)
    agree(text, -0.3, A)


SENSITIVITIES = [
    "1",
    "#[1 2]",
    "#[1 2 3 4]",
    "#[1]",
    "#[[1 2] [3 4]]",
    "#[[1]]",
    "(list 1 2)",
    "(list #[1 2] #[1 2])",
    "'()",
    "#[]",
]


@pytest.mark.parametrize(
    "f",
    [
        "sin", "sum", "(lambda (x) (sum x #:axis 0))", "(lambda (x) (reshape x '(2 1)))", "(lambda (x) (slice x 0 1))",
        "(lambda (x) (concatenate (list x x)))", "(lambda (x) (stack (list x x)))", "(lambda (x) (tensor-ref x 0))",
        "(lambda (x) (gather x #[0 0 1]))", "(lambda (x) (broadcast-to x '(3 2)))", "(lambda (x) (matmul x #[1 2]))", "softmax",
        "(lambda (x) (unstack x))", "(lambda (x) (tensor (list x x)))", "prod", "(lambda (x) (mean x #:axis 0 #:keep #t))",
        "(lambda (x) (solve #[[2 1] [1 3]] x))", "(lambda (x) (solve (+ (eye 2) (outer x x)) x))",
        "(lambda (x) (det (outer x x)))", "(lambda (x) ((gradient det) (+ (eye 2) (outer x x))))",
        "(lambda (x) (cholesky (+ (eye 2) (outer x x))))", "(lambda (x) (inverse (+ (eye 2) (outer x x))))",
    ],
)  # fmt: skip
def test_sensitivities_of_any_shape(f: str) -> None:
    """What fits, and what the error is, is the same on both tiers."""
    for sensitivity in SENSITIVITIES:
        agree(f"(lambda (x) (cdr ((cdr ((J {f}) (J x))) {sensitivity})))", V[:2], compiled=False)


# x from `from` on, a number that only the running program knows, to a place at a known distance: in loops, with derivatives.
SLICED = [
    "(slice x from (+ from 2))", "(slice x (- from 1) (+ 2 from))", "(slice x (* 2 from) (* (+ from 1) 2))",
    "(slice x (- 4 from) (- 6 from))", "(slice x from (+ from 4) #:step 2)", "(slice x from from)",
    "(slice x from (+ from 3) #:axis 1)", "(slice x from (+ 3 from) #:axis -1 #:step 2)",
    "(let ((to (+ from 3))) (slice x (- to 2) to))", "(sin (slice (* x x) from (+ from 1)))",
]  # fmt: skip
TURNS = """(lambda (x first end)
  (let* ((f (lambda (x) (let loop ((from first) (total 0))
              (if (= from end) total (loop (+ from 1) (+ total (sum (sin {part}))))))))
         (g (gradient f)))
    (list (f x) (g x) ((derivative-F (lambda (t) (f (* t x)))) 1) ((gradient (lambda (x) (sum (* (g x) (cos x))))) x)
          ((derivative-F (lambda (t) (g (* t x)))) 1)
          ((derivative-F (lambda (t) ((gradient (lambda (x) (sum (* (g x) (cos x))))) (* t x)))) 1))))"""


@pytest.mark.parametrize("part", SLICED)
@settings(max_examples=4, deadline=None)
@given(
    st.integers(4, 6), st.integers(4, 5), st.sampled_from([(), (2,)]), st.integers(0, 2), st.integers(0, 3)
)
def test_slices_that_begin_anywhere(
    part: str, rows: int, columns: int, rest: tuple[int, ...], first: int, turns: int
) -> None:
    """Out of range, too, where they get there."""
    x = np.random.default_rng(0).normal(size=(rows, columns, *rest))
    agree(TURNS.format(part=part), x, float(first), float(first + turns))


@pytest.mark.parametrize(
    "text", ["(slice x n (+ n 2))", "(slice x (* n 0.5) (+ (* n 0.5) 2))", "(tensor-ref x n)"]
)
def test_bounds_that_are_no_bounds(text: str) -> None:
    for n in (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, np.nan, np.inf):
        agree(f"(lambda (x n) {text})", V, n)


def test_a_length_that_nobody_knows_is_for_tier_0() -> None:
    text = "(lambda (x n) (slice x 0 n))"
    agree(text, V, 2.0, compiled=False)
    session = vlad.Session(tier="compile")
    session.eval(text)(V, 2.0)
    (entry,) = session.tiers.entries.values()
    assert entry.reason == "the length of a slice is known only when the program runs"


def test_a_sensitivity_of_a_slice_that_is_repeated() -> None:
    for sensitivity in ("2", "#[2]", "#[1 2]", "#[1 2 3]"):
        text = f"(lambda (x n) (cdr ((cdr ((J (lambda (x) (slice x n (+ n 2)))) (J x))) {sensitivity})))"
        agree(text, V, 1.0, compiled=False)


TRAINING = """(lambda (x y n)
  (let* ((data (cons x y))
         (loss (lambda (w (cons x y)) (mean (square (- (matmul x w) y))))))
    (fold (lambda (batch w) (- w (* 0.1 ((gradient (lambda (w) (loss w batch))) w)))) (zeros 3) (batches data {n}))))"""


@pytest.mark.parametrize("n", [1, 4, 7, 13, 130, 200])
def test_minibatches(n: int) -> None:
    """As many as there may be; the last may be smaller."""
    r = np.random.default_rng(0)
    agree(TRAINING.format(n=n), r.normal(size=(130, 3)), r.normal(size=130), 0.0)


def test_rows_of_large_tensors_are_read_in_loops() -> None:
    """What is only read costs nothing on the way back; a sensitivity that is nearly all zeros is for tier 0."""
    x, w = np.random.default_rng(0).normal(size=(400, 3)), np.ones(3)
    loop = "(let loop ((i 0) (a 0)) (if (= i 400) a (loop (+ i 1) (+ a (sin (dot w (tensor-ref x i)))))))"
    agree(f"(lambda (x w) ((gradient (lambda (w) {loop})) w))", x, w)
    agree(f"(lambda (x w) ((gradient (lambda (x) {loop})) x))", x, w, compiled=False)


WRITTEN = [
    "#[1 2.5 -0.0]", "(> #[1 2] 1)", "(argmax #[[1 2] [4 3]] #:axis 1)", "(list #[[1 2] [3 4]] #[] (zeros '(2 0)) 3)",
    "(reshape (arange 12) '(2 3 2))", "(as-type #[1 -2.5] 'int64)", "(as-type #[0.1 2] 'float32)", "(as-type #[7] 'int32)",
    "(arange 1001)", "(reshape (arange 4004) '(2 1001 2))", "#[1e300 +nan.0 -inf.0]",
]  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN)
def test_tensors_are_written_alike(text: str) -> None:
    printed: dict[str, list[str]] = {"evaluate": [], "compile": []}
    for tier, lines in printed.items():
        session = vlad.Session(tier=tier, write=lines.append)
        session.eval(f"(lambda () (begin (write {text}) (display {text})))")()
        assert {entry.reason for entry in session.tiers.entries.values()} <= {None}
    assert printed["compile"] == printed["evaluate"] and "[" in printed["compile"][0]


def test_whether_an_index_that_is_computed_fits_is_no_matter_of_types(tmp_path: Path) -> None:
    program = "(tensor-ref #[1 2 3] (sum #[1 1]))\n(gather #[10 20] #[1 0])\n(scatter-add #[1 2] #[1] #[3])\n"
    path = tmp_path / "indices.vlad"
    for text, mistakes in ((program, 0), (program + "(tensor-ref #[1 2 3] 3)\n", 1)):
        path.write_text(text)
        run = subprocess.run(
            [sys.executable, "-m", "vlad", "check", path],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert (run.stdout + run.stderr).count("Error") == mistakes, run
        assert run.returncode == mistakes


def test_a_program_alone_writes_its_tensors(tmp_path: Path) -> None:
    path, lines = tmp_path / "alone.vlad", "\n".join(WRITTEN)
    path.write_text(
        lines
        + "\n(gather #[10 20] #[1 0])\n(let loop ((i 0) (w (zeros 3))) (if (= i 9) w (loop (+ i 1) (+ w #[1 2 3]))))\n"
    )
    command = [sys.executable, "-m", "vlad"]
    subprocess.run([*command, "build", path, "-o", tmp_path / "alone"], cwd=ROOT, check=True)
    alone, run = [
        subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for words in ([tmp_path / "alone"], [*command, path])
    ]
    assert alone == run and alone.endswith("#[20 10]\n#[9 18 27]\n")


PRODUCTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "(lambda (a b) (matmul a b))": ((40, 30), (30, 50)), "(lambda (a b) (matmul (transpose a) b))": ((30, 40), (30, 50)),
    "(lambda (a b) (matmul a (transpose b)))": ((40, 30), (50, 30)),
    "(lambda (a b) (transpose (matmul a b)))": ((40, 30), (30, 50)),
    "(lambda (a b) (matmul (transpose a) (transpose b)))": ((30, 40), (50, 30)),
    "(lambda (a b) (matmul (slice a 2 38 #:axis 1) (slice b 1 37)))": ((40, 50), (60, 50)),
    "(lambda (a b) (matmul (slice a 0 40 #:step 2) (slice b 0 60 #:axis 1 #:step 3)))": ((40, 30), (30, 60)),
    "(lambda (a b) (matmul (slice a 0 40 #:axis 1 #:step 2) b))": ((40, 40), (20, 30)),
    "(lambda (a b) (matmul a b)) ": ((3, 20, 30), (30, 40)), "(lambda (a b) (matmul b a))": ((30, 20), (3, 1, 40, 30)),
    "(lambda (a b) (matmul (reshape a '(30 40)) b))": ((60, 20), (40, 20)),
    "(lambda (a b) (matmul (tensor-ref a 1) (tensor-ref b 0)))": ((2, 30, 30), (3, 30, 30)),
    "(lambda (a b) (matmul a (+ 1 (sin b))))": ((40, 30), (30, 50)), "(lambda (a b) (matmul (* a a) a))": ((30, 30), (1,)),
    "(lambda (a b) (sum (* (matmul a b) (matmul a b)) #:axis 0))": ((40, 30), (30, 50)),
    "(lambda (a b) ((gradient (lambda (a) (sum (tanh (matmul a b))))) a))": ((40, 30), (30, 50)),
    "(lambda (a b) ((gradient (lambda (b) (sum (* (matmul a b) (matmul a b))))) b))": ((2, 20, 30), (30, 50)),
    "(lambda (a b) ((derivative-F (lambda (t) ((gradient (lambda (b) (sum (exp (matmul (* t a) b))))) b))) 0.1))":
        ((40, 30), (30, 50)),
}  # fmt: skip


@pytest.mark.parametrize("library", [True, False])
@pytest.mark.parametrize("text", PRODUCTS)
def test_large_products_in_every_layout(text: str, library: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not library:
        monkeypatch.setattr(blas, "product", lambda: Product(0, 0, False))
    r = np.random.default_rng(0)
    a, b = [r.normal(size=shape) / 6 for shape in PRODUCTS[text]]
    agree(text.strip(), a, b)
    agree(text.strip(), np.asfortranarray(a), b)


def test_the_library_multiplies() -> None:
    session = vlad.Session(tier="compile")
    f = session.eval("(lambda (a b) (matmul a b))")
    f(np.ones((30, 30)), np.ones((30, 30)))
    (entry,) = session.tiers.entries.values()
    assert entry.variants[0].interface.multiplies and product().address


LIBRARY = """
(define c (sin (reshape (arange 200) '(20 10))))
(define l (map (lambda (x) (list x (sin x))) (iota 50)))
(define many (+ 1 (zeros 20000000)))
(define (f x) (let ((d (* x c))) (sum (* (sum d #:axis 0) (maximum d #:axis 0)))))
(define (g x) (list-sum (map car (map (lambda (p) (list (* x (car p) (car (cdr p))))) l))))
(define (h x) (* x (tensor-ref many -1)))
"""


def test_a_library_keeps_what_it_has_defined(tmp_path: Path) -> None:
    """Calls take memory of their own, however much the definitions hold."""
    (tmp_path / "it.vlad").write_text(LIBRARY)
    exports = [word for name in "fgh" for word in ("--export-value", name)]
    subprocess.run(
        [sys.executable, "-m", "vlad", "build", tmp_path / "it.vlad", "--lib", *exports, "-o", tmp_path / "it"],
        cwd=ROOT, check=True,
    )  # fmt: skip
    library, result = ctypes.CDLL(str(tmp_path / "it")), (ctypes.c_double * 1)()
    session = vlad.Session(tier="evaluate")
    session.run_text(LIBRARY)
    for _ in range(3):
        for name in "fgh":
            assert getattr(library, name)(ctypes.c_double(0.7), result) == 0
            assert result[0] == pytest.approx(session[name](0.7), rel=1e-12), name


# What is cut and put together.


class Parts:
    """A program of tensors that are cut out of each other, put together and computed with, at random."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.shapes: dict[str, tuple[int, ...]] = {
            "x": self.r.choice([(1,), (5,), (9,), (4, 3), (2, 7), (3, 2, 2)])
        }
        self.bindings: list[str] = []
        self.given = self.shapes["x"]
        for _ in range(self.r.randrange(2, 9)):
            self.bind()

    def any(self, least: int = 0) -> str:
        return self.r.choice(
            [n for n, shape in self.shapes.items() if math.prod(shape) and len(shape) >= least]
        )

    def like(self, name: str, but: int | None = None) -> str:
        """One of the same shape, but for an axis."""

        def others(one: str) -> list[int]:
            return [n for axis, n in enumerate(self.shapes[one]) if axis != but]

        rank = len(self.shapes[name])
        alike = [n for n, s in self.shapes.items() if len(s) == rank and others(n) == others(name)]
        return self.r.choice(alike)

    def bind(self) -> None:
        a = self.any(1)
        shape, axis = self.shapes[a], self.r.randrange(len(self.shapes[a]))
        length, kind = shape[axis], self.r.randrange(10)
        if kind < 3:
            begin = self.r.randrange(length)
            end, step = self.r.randrange(begin + 1, length + 1), self.r.choice([1, 1, 1, 2])
            text = f"(slice {a} {begin} {end} #:axis {axis} #:step {step})"
            shape = (*shape[:axis], len(range(begin, end, step)), *shape[axis + 1 :])
        elif kind == 3:
            b = self.like(a, axis)
            text = f"(concatenate (list {a} {b} {a}) #:axis {axis})"
            shape = (*shape[:axis], 2 * length + self.shapes[b][axis], *shape[axis + 1 :])
        elif kind == 4:
            edge = (*shape[:axis], self.r.randrange(3), *shape[axis + 1 :])
            text = f"(concatenate (list (zeros '({' '.join(map(str, edge))})) {a}) #:axis {axis})"
            shape = (*shape[:axis], length + edge[axis], *shape[axis + 1 :])
        elif kind == 5 and len(shape) < 4:
            text, shape = (
                f"(stack (list {a} {self.like(a)}) #:axis {axis})",
                (*shape[:axis], 2, *shape[axis:]),
            )
        elif kind == 6 and len(shape) > 1:
            text, shape = f"(tensor-ref {a} {self.r.randrange(shape[0])})", shape[1:]
        elif kind == 7:
            flat = self.r.random() < 0.5
            text = f"(reshape {a} '(-1))" if flat else f"(transpose {a})"
            shape = (math.prod(shape),) if flat else shape[::-1]
        elif kind == 8:
            text = f"({self.r.choice(['sin', 'exp', 'square'])} (* 0.3 {a}))"
        else:
            text = f"({self.r.choice('+-*')} {a} {self.like(a)})"
        name = f"a{len(self.bindings)}"
        if math.prod(shape) < 200:
            self.shapes[name] = shape
            self.bindings.append(f"({name} {text})")

    def text(self, answer: str) -> str:
        return f"(lambda (x) (let* ({' '.join(self.bindings)}) {answer}))"


@pytest.mark.parametrize("seed", range(40))
def test_tensors_put_together_of_parts(seed: int) -> None:
    parts = Parts(seed)
    x = np.random.default_rng(seed).normal(size=parts.given)
    last, other = list(parts.shapes)[-1], parts.any()
    loss = parts.text(f"(+ (sum (sin {last})) (sum (* {other} {other})))")
    agree(parts.text(f"(list {last} {other})"), x)
    agree(f"(lambda (x) ((gradient-R {loss}) x))", x)
    agree(f"(lambda (x) ((derivative-F (lambda (t) ((gradient-R {loss}) (* t x)))) 0.7))", x)


LARGE = np.sin(np.arange(5000.0))


def test_large_answers_are_arrays_of_their_own() -> None:
    """They are written where they are to lie; no call changes what another one has answered."""
    session = vlad.Session(tier="compile")
    f = session.eval(
        "(lambda (x) (let ((y (* 2 x))) (list y (+ y 1) (sum y) y (matmul (reshape x '(100 50)) (ones '(50 50))))))"
    )
    first = f(LARGE)
    (entry,) = session.tiers.entries.values()
    assert sorted(entry.variants[0].interface.places) == [0, 1, 4]
    expected = [
        2 * LARGE,
        2 * LARGE + 1,
        (2 * LARGE).sum(),
        2 * LARGE,
        LARGE.reshape(100, 50) @ np.ones((50, 50)),
    ]
    for _ in range(3):
        f(LARGE + 1)
        f(LARGE[::-1])  # not side by side: the usual way
        assert all(np.allclose(a, b) for a, b in zip(first, expected, strict=True))
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations([*first[:2], *first[3:]], 2))
    assert not first[0].flags.writeable


def test_an_array_that_a_loop_makes_again_and_again_has_no_place() -> None:
    agree("(lambda (x n) (let loop ((i 0) (y x)) (if (= i n) y (loop (+ i 1) (* y x)))))", LARGE, 3.0)
    agree(
        "(lambda (x n) (let ((y (* 2 x))) (if (< n 0) y (let ((z (+ y y))) (if (< n 1) z (+ z y))))))",
        LARGE,
        1.0,
    )
