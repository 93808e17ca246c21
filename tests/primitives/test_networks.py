"""Neural networks: convolution, pooling and composed procedures, compared with loops over their definitions."""

from __future__ import annotations

import itertools
import math
from random import Random
from typing import Any

import numpy as np
import pytest
from slopes import Drawn, a_length, a_shape, at_shapes, check, operand, procedure, random, seed_of

import vlad
from vlad import VladError

pytestmark = [pytest.mark.slow_compiled, pytest.mark.any_compiler]
Pads = list[tuple[int, int]]


def paddings(padding: Any, shape: tuple[int, ...], window: Any, stride: Any, dilation: Any) -> Pads:
    """Padding before and after the height and the width."""
    if padding == "'valid":
        return [(0, 0), (0, 0)]
    if padding == "'same":
        found = []
        for length, size, step, apart in zip(shape, window, stride, dilation, strict=True):
            missing = max(0, (int(np.ceil(length / step)) - 1) * step + apart * (size - 1) + 1 - length)
            found.append((missing // 2, missing - missing // 2))
        return found
    return [(number, number) for number in padding]


def windows(x: Any, window: Any, stride: Any, pads: Pads, dilation: Any, fill: float) -> Any:
    """(…, windows down, windows across, window height, window width), an entry after the other."""
    x = np.pad(x, [(0, 0)] * (x.ndim - 2) + pads, constant_values=fill)
    extents = [apart * (size - 1) + 1 for size, apart in zip(window, dilation, strict=True)]
    starts = [
        range(0, length - extent + 1, step)
        for length, extent, step in zip(x.shape[-2:], extents, stride, strict=True)
    ]
    found = np.zeros((*x.shape[:-2], len(starts[0]), len(starts[1]), *window))
    for (i, top), (j, left) in itertools.product(enumerate(starts[0]), enumerate(starts[1])):
        for a, b in itertools.product(range(window[0]), range(window[1])):
            found[..., i, j, a, b] = x[..., top + a * dilation[0], left + b * dilation[1]]
    return found


def convolved(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    pads = paddings(padding, x.shape[2:], w.shape[2:], stride, dilation)
    seen = windows(x, w.shape[2:], stride, pads, dilation, 0.0)
    channels, filters = w.shape[1], w.shape[0] // groups
    parts = [
        np.einsum(
            "ncijab,ocab->noij",
            seen[:, g * channels : (g + 1) * channels],
            w[g * filters : (g + 1) * filters],
        )
        for g in range(groups)
    ]
    return np.concatenate(parts, axis=1)


def listed(pair: Any) -> str:
    """A pair as the language writes it; a number for two that are equal."""
    if isinstance(pair, str):
        return pair
    return str(pair[0]) if pair[0] == pair[1] else f"'({pair[0]} {pair[1]})"


def pair(r: Random) -> tuple[int, int]:
    return r.randint(1, 3), r.randint(1, 3)


def convolutions(r: Random) -> Any:
    groups, stride, dilation, window = r.randint(1, 2), pair(r), pair(r), pair(r)
    padding = r.choice(["'same", "'valid", (0, 0), (1, 1), (0, 2)])
    height, width = [
        apart * (size - 1) + 1 + r.randint(0, 3) for size, apart in zip(window, dilation, strict=True)
    ]
    channels, filters = r.randint(1, 2), r.randint(1, 2)
    x = (r.randint(0, 2), groups * channels, height, width)
    return x, (groups * filters, channels, *window), stride, padding, dilation, groups


def kinds_of_convolution(drawn: Any) -> set[Any]:
    _, _, stride, padding, dilation, groups = drawn
    return {padding, ("groups", groups), ("stride", *stride), ("dilation", *dilation)}


@at_shapes(convolutions, key=lambda drawn: drawn[:2], kinds=kinds_of_convolution)
def test_conv2d(session: vlad.Session, drawn: Any, seed: int) -> None:
    x_shape, w_shape, stride, padding, dilation, groups = drawn
    x, w = [operand("conv2d", seed_of(seed, k), shape, -1, 1) for k, shape in enumerate((x_shape, w_shape))]
    keywords = f"#:stride {listed(stride)} #:padding {listed(padding)} #:dilation {listed(dilation)} #:groups {groups}"
    by_x = procedure(session, f"(lambda (w) (lambda (x) (conv2d x w {keywords})))")(w)
    by_w = procedure(session, f"(lambda (x) (lambda (w) (conv2d x w {keywords})))")(x)
    assert by_x(x) == pytest.approx(convolved(x, w, stride, padding, dilation, groups), rel=1e-12, abs=1e-12)
    check(session, by_x, x, seed)
    check(session, by_w, w, seed)
    both = procedure(session, f"(lambda (w) (lambda (x) (conv2d (* x x) (* w (sum x)) {keywords})))")(w)
    check(session, both, x, seed)


def poolings(r: Random) -> Any:
    window, stride = pair(r), r.choice([None, pair(r)])
    fitting = [
        pad
        for pad in ["'same", "'valid", (0, 0), (1, 1), (1, 0)]
        if isinstance(pad, str) or max(pad) < min(window)
    ]
    leading = [r.randint(0, 2) for _ in range(r.randint(0, 2))]
    return (*leading, *[size + r.randint(0, 3) for size in window]), window, stride, r.choice(fitting)


@pytest.mark.parametrize("name", ["max-pool", "avg-pool"])
@at_shapes(poolings, key=lambda drawn: drawn[0], kinds=lambda drawn: {*drawn[1:3], drawn[3]})
def test_pooling(session: vlad.Session, name: str, drawn: Any, seed: int) -> None:
    shape, window, stride, padding = drawn
    x = operand(name, seed, shape, -1, 1)
    step = f"#:stride {listed(stride)}" if stride else ""
    f = procedure(session, f"(lambda (x) ({name} x {listed(window)} {step} #:padding {listed(padding)}))")
    pads = paddings(padding, shape[-2:], window, stride or window, (1, 1))
    seen = windows(x, window, stride or window, pads, (1, 1), np.nan)
    expected = (np.nanmax if name == "max-pool" else np.nanmean)(seen, axis=(-2, -1))
    assert f(x) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    check(session, f, x, seed)


def test_what_is_largest_shares_equally(session: vlad.Session) -> None:
    slope = session.eval("(gradient (lambda (x) (sum (max-pool x 2 #:stride 1 #:padding 1))))")
    assert slope(np.zeros((1, 2))).tolist() == [[3.0, 3.0]]


def channels(r: Random, least: int = 1, most: int = 4) -> tuple[int, ...]:
    """Of axis 1, at most this number; statistics need at least one."""
    count, others = a_length(r, most=most), a_shape(r, least, shortest=1, most=12 // most)
    return (others[0], count, *others[1:])


def classes(r: Random) -> tuple[tuple[int, ...], Any]:
    """Logits, and a class for each vector of them, as a number or a whole one."""
    leading, count = a_shape(r, most=3)[1:], a_length(r, 1)
    chosen = [r.randrange(count) for _ in range(math.prod(leading))]
    labels = np.reshape(chosen, leading).astype(r.choice(["float64", "int64"]))
    return (*leading, count), labels if leading else float(labels)


def alone(draw: Drawn, *bounds: int) -> Drawn:
    return lambda r: (draw(r, *bounds), None)


# Functions of x, and of c, which is drawn with its shape, or is nothing.
COMPOSED: dict[str, Drawn] = {
    "(batch-norm x 2 0.5)": alone(channels),
    "(batch-norm x (exp (car (batch-statistics x))) (cdr (batch-statistics x)))": alone(channels),
    "(batch-norm-with x (cons 0.5 2) 1.5 (sum x))": alone(channels, 0),
    "(let ((v (+ 2 (arange (list-ref (shape x) 1))))) (batch-norm-with (* x x) (cons v v) v (* v (sum x))))": alone(channels, 0),
    "(car (batch-statistics x))": alone(channels), "(cdr (batch-statistics x))": alone(channels),
    "(cross-entropy x (softmax (* x x)))": alone(a_shape, 0, 1), "(cross-entropy x c)": classes,
    "(cross-entropy (* x x) c)": classes,
    "(map-tensor (lambda (y) (* y (sin y))) x)": alone(a_shape),
    "(map-tensor (lambda (y z) (if (< y z) (* y z) (exp y))) x (* x x))": alone(a_shape),
    "(map-tensor (lambda (y a b) (* y (+ a (sum x)))) x x x)": alone(a_shape),
    "(map-tensor (lambda (y) (tensor (list y (* y y)))) x)": alone(a_shape, 1),
}  # fmt: skip


@pytest.mark.parametrize("text", COMPOSED)
@at_shapes(lambda r, text: COMPOSED[text](r), key=lambda drawn: drawn[0])
def test_composed(session: vlad.Session, text: str, drawn: Any, seed: int) -> None:
    shape, given = drawn
    f = procedure(session, f"(lambda (c) (lambda (x) {text}))")(given)
    check(session, f, operand(text, seed, shape, -2, 2), seed)


def by_channel(r: Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = channels(r, most=12)
    return shape, r.choice([shape[1:2], ()])


@pytest.mark.parametrize("name", ["batch-norm", "batch-norm-with"])
@at_shapes(by_channel)
def test_batch_norm_by_what_else_it_is_given(session: vlad.Session, name: str, drawn: Any, seed: int) -> None:
    x, c = operand(name, seed, drawn[0], -2, 2), operand(name, seed_of(seed, 1), drawn[1], 0.5, 2)
    given = "(cons (sin v) (* v v))" if name == "batch-norm-with" else ""
    made = procedure(session, f"(lambda (x) (lambda (v) ({name} x {given} (exp v) (* v v v))))")
    check(session, made(x), c, seed)


def test_batch_norm(session: vlad.Session) -> None:
    x, scale, shift = random(1, (5, 3, 2), -1, 4), np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0])
    centre, variance = x.mean(axis=(0, 2), keepdims=True), x.var(axis=(0, 2), keepdims=True)
    expected = (x - centre) / np.sqrt(variance + 1e-5) * scale[:, None] + shift[:, None]
    assert session.eval("(lambda (x a b) (batch-norm x a b))")(x, scale, shift) == pytest.approx(
        expected, rel=1e-12
    )


def test_cross_entropy(session: vlad.Session) -> None:
    logits, classes = random(1, (4, 3), -5, 5), np.array([0, 2, 1, 1])
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    expected = -logs[np.arange(4), classes]
    entropy = session["cross-entropy"]
    for labels in (classes, classes.astype(float), np.eye(3)[classes]):
        assert entropy(logits, labels) == pytest.approx(expected, rel=1e-12)
    slope = session.eval("(lambda (labels) (gradient (lambda (x) (sum (cross-entropy x labels)))))")(classes)
    assert slope(logits) == pytest.approx(np.exp(logs) - np.eye(3)[classes], abs=1e-12)
    assert slope(np.array([[1e4, 0, -1e4]] * 4)) == pytest.approx(
        np.array([[1, 0, 0]] * 4) - np.eye(3)[classes]
    )
    assert entropy(np.array([0.0, -np.inf]), 0.0) == 0
    by_labels = session.eval("(gradient (lambda (p) (cross-entropy #[1 2] p)))")
    assert by_labels(np.array([0.0, 1.0])) == pytest.approx([np.log(1 + np.e), np.log(1 + 1 / np.e)])


def test_map_tensor_hands_sensitivities_to_what_its_procedure_holds(session: vlad.Session) -> None:
    slope = session.eval(
        "(gradient (lambda (c d) (sum (map-tensor (lambda (x) (* c (expt x d))) #[1 2 3]))))"
    )
    assert slope(2.0, 2.0) == pytest.approx((14.0, 2 * (4 * np.log(2) + 9 * np.log(3))))
    assert list(session.eval("(map-tensor (lambda (x) (> x 1)) #[1 2])")) == [False, True]


@pytest.mark.parametrize("name", ["max-pool", "avg-pool", "conv2d"])
def test_kinds_of_number(session: vlad.Session, name: str) -> None:
    """A sensitivity has the kind of its primal; whole numbers become reals if necessary."""
    text = "(conv2d x #[[[[1 2] [3 4]]]])" if name == "conv2d" else f"({name} x 2 #:stride 1 #:padding 1)"
    single = np.ones((1, 1, 3, 3), dtype=np.float32)
    assert session.eval(f"(gradient (lambda (x) (sum {text})))")(single).dtype == np.float32
    f = session.eval(f"(lambda (x) {text})")
    assert f(np.ones((1, 1, 3, 3), dtype=np.int64)) == pytest.approx(f(np.ones((1, 1, 3, 3))))


ERRORS = {
    "(conv2d #[1 2] #[1])": "Shapes given to conv2d do not fit: (2) and (1)",
    "(conv2d (ones '(1 3 4 4)) (ones '(2 2 2 2)))": "Shapes given to conv2d do not fit: (1 3 4 4) and (2 2 2 2)",
    "(conv2d (ones '(1 4 4 4)) (ones '(3 2 2 2)) #:groups 2)": "Shapes given to conv2d do not fit: (1 4 4 4) and (3 2 2 2)",
    "(conv2d (ones '(1 1 2 2)) (ones '(1 1 3 3)))": "Window given to conv2d does not fit: (3 3) in (2 2)",
    "(conv2d (ones '(1 1 2 2)) (ones '(1 1 0 2)))": "Filters given to conv2d are empty: (1 1 0 2)",
    "(conv2d (ones '(1 1 2 2)) (ones '(1 1 2 2)) #:stride 0)": "Argument to conv2d is invalid",
    "(conv2d (ones '(1 1 2 2)) (ones '(1 1 2 2)) #:groups 0)": "Argument to conv2d is invalid",
    "(conv2d (ones '(1 1 2 2)) (ones '(1 1 2 2)) #:padding 'full)": "Argument to conv2d is invalid",
    "(conv2d (ones '(1 1 2 2)) (ones '(1 1 2 2)) #:padding '(1 1 1))": "Argument to conv2d is invalid",
    "(conv2d 1 2)": "Shapes given to conv2d do not fit: () and ()", "(conv2d 'a 2)": "Argument to conv2d is invalid",
    "(max-pool #[1 2] 1)": "Shape given to max-pool is too short: (2)",
    "(max-pool #[[1 2]] 0.5)": "Argument to max-pool is invalid",
    "(avg-pool #[[1 2]] 1 #:padding 1)": "Argument to avg-pool is invalid",
    "(avg-pool #[[1]] 2)": "Window given to avg-pool does not fit",
    "(one-hot #[0 3] 3)": "Label given to one-hot is out of range",
    "(one-hot #[0.5] 3)": "Label given to one-hot is out of range",
    "(one-hot #[-1] 3)": "Label given to one-hot is out of range",
    "(one-hot #[+nan.0] 3)": "Label given to one-hot is out of range",
    "(cross-entropy #[[1 2]] #[2])": "Label given to one-hot is out of range",
    "(cross-entropy #[[1 2]] #[1 0])": "The logits and labels given to cross-entropy do not fit",
    "(cross-entropy #[1 2] #[[1 2]])": "The logits and labels given to cross-entropy do not fit",
    **{f"({name} #[1 2])": f"{name} takes a matrix, or several along more axes; the shape that is given: (2)"
       for name in ("diagonal", "trace", "tril", "triu")},
    "(trace 1)": "trace takes a matrix, or several along more axes; the shape that is given: ()",
    "(variance '(1 2 3))": "Argument to variance is invalid",
    "(variance #[1 2] #:axis 1)": "Axis given to variance is out of range: 1",
    "(pad #[1 2] '(1 2) 0)": "The widths given to pad are no list of one for each axis; the shape, and they: ((2) (1 2))",
    "(pad #[1 2] -1 0)": "For each axis pad takes how many entries come before and behind, or one number for both; not -1",
    "(map-tensor + #[1 2] #[1 2 3])": "The tensors given to map-tensor have several shapes",
    "(batch-norm #[[1 2]] #[1 2 3] 0)": "The tensor and the scale given to batch-norm do not fit; their shapes: (1 2) and (3)",
    "(batch-norm #[[1 2]] 1 #[1 2 3])": "The tensor and the shift given to batch-norm do not fit; their shapes: (1 2) and (3)",
    "(batch-norm-with #[[1 2]] (cons #[1 2] #[1 2 3]) 1 0)": "The tensor and the variances given to "
    "batch-norm-with do not fit; their shapes: (1 2) and (3)",
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    with pytest.raises(VladError) as caught:
        vlad.Session().eval(text)
    assert caught.value.message.startswith(ERRORS[text])
    assert caught.value.span is not None
