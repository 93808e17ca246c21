"""Layers and losses of sequences and images: CTC by enumeration and by occupancies, convolutions by their definition, groups,
cells that are stacked or run from both ends; values and derivatives on both tiers.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_nn import SETUP, expect_slopes

import vlad
from vlad import VladError
from vlad.compile.calling.notices import NotCompiledWarning

pytestmark = pytest.mark.any_compiler

TIERS = ["evaluate", "compile"]
Reals = NDArray[np.float64]


@pytest.fixture(scope="module")
def sessions() -> dict[str, vlad.Session]:
    made = {tier: vlad.Session(tier=tier) for tier in TIERS}
    for session in made.values():
        session.eval(SETUP)
        session.eval("(define (slope logits labels) ((gradient (lambda (l) (ctc-loss l labels))) logits))")
    return made


def log_sum(terms: list[float]) -> float:
    most = max(terms)
    return most if most == -np.inf else most + float(np.log(np.exp(np.array(terms) - most).sum()))


def log_probabilities(logits: Reals) -> Reals:
    shifted = logits - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def spelled(path: tuple[int, ...], blank: int) -> list[int]:
    return [label for label, _ in itertools.groupby(path) if label != blank]


def ctc(logits: Reals, labels: list[int]) -> tuple[float, Reals]:
    """The loss, and its gradient: the probabilities less the occupancies, which are of a forward and a backward recursion."""
    logs, places = log_probabilities(logits), [0]
    for label in labels:
        places += [label, 0]
    steps, n = len(logs), len(places)

    def recursion(logs: Reals, places: list[int]) -> Reals:
        a = np.full((steps, n), -np.inf)
        for t in range(steps):
            for s in range(n):
                terms = [0.0 if s < 2 else -np.inf] if t == 0 else [a[t - 1, s]]
                if t and s:
                    terms.append(a[t - 1, s - 1])
                if t and s > 1 and places[s] not in (0, places[s - 2]):
                    terms.append(a[t - 1, s - 2])
                a[t, s] = log_sum(terms) + logs[t, places[s]]
        return a

    forth, back = recursion(logs, places), recursion(logs[::-1], places[::-1])[::-1, ::-1]
    value = log_sum([float(x) for x in forth[-1, max(0, n - 2) :]])
    occupancies = np.zeros_like(logits)
    for s, label in enumerate(places):
        occupancies[:, label] += np.exp(forth[:, s] + back[:, s] - logs[:, label] - value)
    return -value, np.exp(logs) - occupancies


R = np.random.default_rng(4)
# Repeated labels, none, one step, as many steps as are needed.
SPOKEN = [
    (12, [1, 2, 2, 4], 5),
    (7, [], 3),
    (1, [2], 3),
    (7, [1, 1, 1, 1], 2),
    (30, [3, 1, 3, 3, 2, 4], 6),
    (41, [5] * 9, 7),
]


@pytest.mark.parametrize("tier", TIERS)
def test_ctc_and_its_gradient(sessions: dict[str, vlad.Session], tier: str) -> None:
    loss, slope = sessions[tier].eval("(lambda (l s) (ctc-loss l s))"), sessions[tier]["slope"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCompiledWarning)
        for steps, labels, classes in SPOKEN:
            logits = 3 * R.normal(size=(steps, classes))
            value, gradient = ctc(logits, labels)
            assert loss(logits, np.array(labels, float)) == pytest.approx(value, rel=1e-12), labels
            found = slope(logits, np.array(labels, float))
            np.testing.assert_allclose(found, gradient, atol=1e-12, err_msg=str(labels))


@pytest.mark.parametrize(("steps", "classes", "blank"), [(4, 3, 0), (5, 2, 1), (3, 3, 2)])
def test_ctc_is_the_sum_over_all_paths(
    sessions: dict[str, vlad.Session], steps: int, classes: int, blank: int
) -> None:
    logits = R.normal(size=(steps, classes))
    logs = log_probabilities(logits)
    by_labels: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(classes), repeat=steps):
        labels = tuple(spelled(path, blank))
        by_labels[labels] = by_labels.get(labels, 0.0) + float(np.exp(logs[np.arange(steps), path].sum()))
    loss = sessions["evaluate"].eval(f"(lambda (l s) (ctc-loss l s #:blank {blank}))")
    for labels, probability in by_labels.items():
        assert loss(logits, np.array(labels, float)) == pytest.approx(-np.log(probability), rel=1e-12)


@pytest.mark.parametrize("tier", TIERS)
def test_ctc_of_higher_orders_of_batches_and_of_impossible_classes(
    sessions: dict[str, vlad.Session], tier: str
) -> None:
    session = sessions[tier]
    session["l"] = R.normal(size=(6, 4))
    if tier == "evaluate":
        expect_slopes(session.eval("(all-slopes (lambda (l) (ctc-loss l #[1 3 3])) l)"))
    session["many"], session["spoken"] = R.normal(size=(3, 6, 4)), np.array([[1, 2], [3, 3], [2, 1]])
    found = session.eval("((vmap (lambda (l s) (ctc-loss l s))) many spoken)")
    wanted = [
        ctc(one, list(labels))[0] for one, labels in zip(session["many"], session["spoken"], strict=True)
    ]
    assert found == pytest.approx(wanted)
    masked = np.array(session["l"])
    masked[:, 2] = -np.inf  # a class that is never drawn
    without = ctc(np.delete(masked, 2, 1), [1, 2])
    assert session.eval("(lambda (l) (ctc-loss l #[1 3]))")(masked) == pytest.approx(without[0])
    slope = session["slope"](masked, np.array([1.0, 3.0]))
    np.testing.assert_allclose(np.delete(slope, 2, 1), without[1], atol=1e-12)
    assert not slope[:, 2].any()
    assert session["slope"](masked.astype("float32"), np.array([1, 3])).dtype == np.float32


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(ctc-loss (zeros '(3 4)) #[1 1 2])", r"need more steps; \(steps needed, steps\): \(4 3\)"),
        ("(ctc-loss (zeros '(3 4)) #[0])", "is the blank, class 0"),
        ("(ctc-loss (zeros '(3 4)) #[4])", "out of range"),
        ("(ctc-loss (zeros 4) #[1])", r"the shapes: \(4\) and \(1\)"),
        ("(conv1d (zeros '(1 2)) (zeros '(1 1 1)))", "conv1d takes sequences"),
        ("(conv1d (zeros '(1 2 3)) (zeros '(1 1 1)))", "do not fit"),
        ("(conv-transpose2d (zeros '(1 2 3 3)) (zeros '(1 1 1 1)))", "conv-transpose2d takes images"),
        (
            "(conv-transpose2d (ones '(1 1 2 2)) (ones '(1 1 2 2)) #:padding 'same)",
            "a whole number, or a list",
        ),
        ("((group-norm (ones '(2 2)) 0) (ones '(1 3 4)))", "the shapes:"),
    ],
)
@pytest.mark.parametrize("tier", TIERS)
def test_errors(sessions: dict[str, vlad.Session], tier: str, text: str, message: str) -> None:
    with pytest.raises(VladError, match=message):
        sessions[tier].eval(text)


def transposed(x: Reals, w: Reals, stride: Any, padding: Any, dilation: Any, groups: int) -> Reals:
    """Every number of an image, times every filter of its channel, at its place."""
    (n, channels, height, width), (_, out, rows, columns) = x.shape, w.shape
    pairs = [value if isinstance(value, tuple) else (value, value) for value in (stride, padding, dilation)]
    (down, across), (above, beside), (apart, away) = pairs
    size = (down * (height - 1) + apart * (rows - 1) + 1, across * (width - 1) + away * (columns - 1) + 1)
    result = np.zeros((n, out * groups, *size))
    for c, i, j, k, p, q in np.ndindex(channels, height, width, out, rows, columns):
        target = c // (channels // groups) * out + k
        result[:, target, down * i + apart * p, across * j + away * q] += x[:, c, i, j] * w[c, k, p, q]
    return result[:, :, above : size[0] - above, beside : size[1] - beside]


GEOMETRIES: list[tuple[Any, Any, Any, int]] = [
    (1, 0, 1, 1), (2, 1, 1, 1), ((1, 3), (0, 1), 2, 2), (3, 0, (2, 1), 2),
]  # fmt: skip


def written(value: Any) -> str:
    return f"'({value[0]} {value[1]})" if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), GEOMETRIES)
def test_transposed_convolutions(
    sessions: dict[str, vlad.Session], tier: str, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    session = sessions[tier]
    session["x"], session["w"] = x, w = R.normal(size=(2, 4, 3, 2)), R.normal(size=(4, 3, 2, 3))
    options = f"#:stride {written(stride)} #:padding {written(padding)} #:dilation {written(dilation)} #:groups {groups}"
    wanted = transposed(x, w, stride, padding, dilation, groups)
    np.testing.assert_allclose(session.eval(f"(conv-transpose2d x w {options})"), wanted, atol=1e-12)
    call = f"(weigh (square (conv-transpose2d x w {options})))"
    expect_slopes(session.eval(f"(all-slopes (lambda (x w) {call}) (cons x w))"))


@pytest.mark.parametrize("tier", TIERS)
def test_convolutions_along_time(sessions: dict[str, vlad.Session], tier: str) -> None:
    session = sessions[tier]
    session["x"], session["w"] = x, w = R.normal(size=(2, 4, 9)), R.normal(size=(6, 2, 3))
    padded = np.pad(x, ((0, 0), (0, 0), (2, 2)))
    wanted = np.zeros((2, 6, 5))
    for place, out in np.ndindex(5, 6):
        group = slice(0, 2) if out < 3 else slice(2, 4)
        window = padded[:, group, 2 * place : 2 * place + 5 : 2]
        wanted[:, out, place] = (window * w[out]).sum((1, 2))
    options = "#:stride 2 #:padding 2 #:dilation 2 #:groups 2"
    np.testing.assert_allclose(session.eval(f"(conv1d x w {options})"), wanted, atol=1e-12)
    expect_slopes(
        session.eval(f"(all-slopes (lambda (x w) (weigh (square (conv1d x w {options})))) (cons x w))")
    )
    same = session.eval("(conv1d x (slice w 0 6) #:padding 'same #:groups 2)")
    assert same.shape == (2, 6, 9)


@pytest.mark.parametrize("tier", TIERS)
def test_groups_of_channels(sessions: dict[str, vlad.Session], tier: str) -> None:
    session = sessions[tier]
    session["x"], session["gain"], session["bias"] = x, gain, bias = [
        R.normal(size=shape) for shape in ((2, 6, 3, 2), (3, 2), (3, 2))
    ]
    grouped = x.reshape(2, 3, 12)
    normal = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    wanted = gain.reshape(6, 1, 1) * normal.reshape(x.shape) + bias.reshape(6, 1, 1)
    np.testing.assert_allclose(session.eval("((group-norm gain bias) x)"), wanted, atol=1e-12)
    call = "(weigh (square ((group-norm gain bias) x)))"
    expect_slopes(session.eval(f"(all-slopes (lambda (x gain bias) {call}) (cons* x gain bias))"))


CELLS = """
(define inputs (unstack (normal (random-key 9) '(5 3))))
(define p (lstm-parameters (random-key 4) 3 2))
(define q (gru-parameters (random-key 5) 2 4))
(define back (gru-parameters (random-key 6) 3 2))
(define (both p back)
  (bidirectional (lstm p) (gru back) (cons (lstm-start p) #[0.5 -0.5]) inputs))
(define (layers p q) (unroll (stacked (list (lstm p) (gru q))) (stacked-start (list (lstm-start p) #[0 1 0 0])) inputs))
(define outputs (map car (unroll (lstm p) (lstm-start p) inputs)))
"""


@pytest.mark.parametrize("tier", TIERS)
def test_cells_that_are_stacked_or_run_from_both_ends(tier: str) -> None:
    session = vlad.Session(tier=tier)
    session.eval(SETUP)
    session.eval(CELLS)
    above = session.eval("(stack (unroll (gru q) #[0 1 0 0] outputs))")
    np.testing.assert_array_equal(session.eval("(stack (map cell-output (layers p q)))"), above)
    np.testing.assert_array_equal(
        session.eval("(car (cadr (last (layers p q))))"), session.eval("(last outputs)")
    )
    found = session.eval("(stack (both p back))")
    np.testing.assert_array_equal(found[:, :2], session.eval("(stack outputs)"))
    backwards = session.eval("(stack (unroll (gru back) #[0.5 -0.5] (reverse inputs)))")
    np.testing.assert_array_equal(found[:, 2:], backwards[::-1])
    slopes = {
        "both": "(lambda (p back) (weigh (stack (both p back))))",
        "layers": "(lambda (p q) (weigh (stack (map cell-output (layers p q)))))",
    }
    for name, f in slopes.items():
        start = "(cons p back)" if name == "both" else "(cons p q)"
        if tier == "evaluate":
            expect_slopes(session.eval(f"(all-slopes {f} {start})"))
        else:
            session.eval(f"(define along-it (along {f} {start} (random-like 5 {start})))")
            differences = session.eval("(/ (- (along-it 1e-5) (along-it -1e-5)) 2e-5)")
            found = session.eval(f"(first-R {f} {start} (random-like 5 {start}))")
            assert found == pytest.approx(differences, rel=1e-6), name
