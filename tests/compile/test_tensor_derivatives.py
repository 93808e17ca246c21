"""Derivatives of programs with tensors: compiled they are those of tier 0."""

from __future__ import annotations

import random

import numpy as np
import pytest
from agreement import A, Q, V, agree, same
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad

pytestmark = pytest.mark.any_compiler


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
    """Of small images with several filters, whose sensitivities sum over several iterations of the outer loops."""
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


@pytest.mark.system_compiler
@pytest.mark.parametrize("optimize", [2, 3])
def test_convolutions_that_are_written_out(optimize: int) -> None:
    """Out of eight numbers in a vector gcc 12 took the wrong ones for one of these sums, from -O2 on."""
    parts = " ".join(["w"] * 20)
    images = f"(conv2d (reshape x '(2 1 3 1)) (reshape (slice (concatenate (list {parts})) 0 1) '(1 1 1 1)) #:padding 'same)"
    made = f"(conv2d {images} (ones '(2 1 1 1)))"
    text = f"""(lambda (x w v) (let ((f (lambda (x w) (sum (sin {made})))))
      (list {made} ((gradient (lambda (x) (f x w))) x) ((gradient (lambda (w) (f x w))) w)
        (hvp (lambda (x) (f x w)) x v) (hvp (lambda (w) (f x w)) w w))))"""
    x, w = np.random.default_rng(2).normal(size=6), np.random.default_rng(3).normal(size=13)
    found = vlad.Session(tier="compile", optimize=optimize).eval(text)(x, w, np.cos(x))
    assert same(found, vlad.Session(tier="evaluate").eval(text)(x, w, np.cos(x)))


@st.composite
def rows(draw: st.DrawFn) -> tuple[str, int, int]:
    """A row of small images x and of numbers w, whose places overlap, are left out or meet; how many of either."""
    count, channels, height, width = [draw(st.integers(1, most)) for most in (3, 3, 7, 7)]
    window, filters = (draw(st.integers(1, height)), draw(st.integers(1, width))), draw(st.integers(1, 3))
    padding = draw(st.sampled_from([0, 0, 1])) if min(window) > 1 else 0
    places = [draw(st.integers(0, height - 1)) for _ in range(draw(st.integers(1, 5)))]
    axis, step = draw(st.integers(0, 3)), draw(st.integers(1, 3))
    size, entries = filters * channels * window[0] * window[1], count * channels * height * width
    images, moved = (
        f"(reshape x '({count} {channels} {height} {width}))",
        f"#:stride {step} #:padding {padding}",
    )
    pool, filters_of_w = (
        f"'({window[0]} {window[1]})",
        f"(reshape w '({filters} {channels} {window[0]} {window[1]}))",
    )
    left = draw(st.sampled_from(["bck", "hw", "ckw", "b", "bhck", ""]))
    text = draw(
        st.sampled_from(
            [
                f"(max-pool {images} {pool} {moved})",
                f"(avg-pool {images} {pool} {moved})",
                f"(conv2d {images} {filters_of_w} {moved})",
                f"(conv2d (conv2d {images} {filters_of_w} #:padding 'same) (ones '(2 {filters} 1 1)))",
                f"(gather {images} #[{' '.join(map(str, places))}] #:axis 2)",
                f"(scatter-add (reshape {images} '(-1 {width})) #[{places[0]} {places[-1]}] (ones '(2 {width})))",
                f"(slice {images} {places[0]} {height} #:axis 2 #:step {step})",
                f'(einsum "bchw,bkhw->{left}" {images} {images})',
                f"(* (sum w) (softmax {images} #:axis {axis}))",
                f"(/ {images} (sum (exp {images}) #:axis {axis} #:keep #t))",
                f"(* {images} (logsumexp {images} #:axis {axis} #:keep #t))",
                f"(maximum (* {images} (tensor-ref w 0)) #:axis {axis})",
                f"(prod {images} #:axis {axis})",
                f"(transpose {images} #:axes '({axis} {' '.join(str(a) for a in range(4) if a != axis)}))",
                f"(concatenate (list {images} (sin {images})) #:axis {axis})",
            ]
        )
    )
    return text, entries, size


@settings(max_examples=drawn(60), deadline=None)
@given(rows())
def test_derivatives_of_rows(row: tuple[str, int, int]) -> None:
    """By either operand, and once more along a direction: where terms of a sum meet, and loops are written out."""
    text, entries, size = row
    x, w = [np.random.default_rng(n).normal(size=n) for n in (entries, size)]
    (found, _) = agree(
        f"""(lambda (x w) (let ((f (lambda (x w) (sum (sin {text})))))
          (list {text} ((gradient (lambda (x) (f x w))) x) ((gradient (lambda (w) (f x w))) w)
                (hvp (lambda (x) (f x w)) x (cos x)) (hvp (lambda (w) (f x w)) w (cos w)))))""",
        x, w,
    )  # fmt: skip
    assert len(found) == 5


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
    """Of constants, in the arm of a branch whose other one has another shape."""
    f = f"(lambda (x) (let ((u {chosen})) (sum (sin (if (pair? u) (car u) u)))))"
    agree(
        f"""(lambda (x y c) (let ((f {f})) (list
              (hvp f x x) (hvp-R f x x) ((gradient f) x) ((jacobian (gradient f)) x) (jvp-F f x x))))""",
        V * first, V[:2], first,
    )  # fmt: skip


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
    """Both tiers accept the same shapes, and raise the same errors."""
    for sensitivity in SENSITIVITIES:
        agree(f"(lambda (x) (cdr ((cdr ((J {f}) (J x))) {sensitivity})))", V[:2], compiled=False)


def test_few_entries_of_a_large_table_are_compiled() -> None:
    """The same where it is done once, or where a good part of the table is gathered."""
    once = "(gradient (lambda (t) (sum (square (gather t #[1 5 7])))))"
    many = """(lambda (t) (let loop ((i 0) (t t))
      (if (= i 3) t (loop (+ i 1) (v- t (k*v 0.1 ((gradient (lambda (t) (sum (square (gather t (arange 32)))))) t)))))))"""
    agree(once, np.ones((500, 8)))
    agree(many, np.ones((500, 8)))
