"""Neural networks: layers compared with NumPy's arithmetic, their derivatives by parameters and inputs, initial weights; data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vlad
from vlad import VladError

pytestmark = pytest.mark.any_compiler

# Along a direction in a structure of any kind: the derivative in both modes, and the second one in all four mixtures.
SETUP = """
(define (random-like seed x) (map-reals (lambda (x) (if (real? x) 0.7 (normal (random-key seed) (shape x)))) x))
(define (along f x d) (lambda (t) (f (v+k*v x t d))))
(define (first-F f x d) ((derivative-F (along f x d)) 0))
(define (first-R f x d) (dot-product ((gradient f) x) d))
(define (second outer inner f x d) (outer (lambda (x) (inner f x d)) x d))
(define (all-slopes f x)
  (let* ((d (random-like 5 x)) (on-line (along f x d)))
    (list (list (first-R f x d) (first-F f x d) (/ (- (on-line 1e-5) (on-line -1e-5)) 2e-5))
          (list (second first-R first-R f x d) (second first-R first-F f x d)
                (second first-F first-R f x d) (second first-F first-F f x d)
                (/ (- (first-R f (v+k*v x 1e-5 d) d) (first-R f (v+k*v x -1e-5 d) d)) 2e-5)))))
(define key (random-key 1))
(define x (normal (random-key 2) '(4 3)))
(define (weigh y) (sum (* y (normal (random-key 3) (shape y)))))
"""

TIERS = ["evaluate", "compile"]

# A model as a procedure, and a real of it.
MODELS = {
    "(dense (dense-parameters key 3 2))": "(weigh (tanh (m x)))",
    "(sequential (list (dense (dense-parameters key 3 5)) tanh (dense (dense-parameters key 5 2))))": "(weigh (m x))",
    "(layer-norm (random-like 7 (cons (zeros 3) (zeros 3))))": "(weigh (m x))",
    "(lstm (lstm-parameters key 3 2))": "(weigh (stack (map car (unroll m (cons #[0.1 -0.2] #[0.3 0.4]) (unstack x)))))",
    "(gru (gru-parameters key 3 2))": "(weigh (stack (unroll m #[0 0.5] (unstack x))))",
    "(embedding (normal key '(6 3)))": "(weigh (sin (m #[0 5 5 2])))",
    "(multi-head-attention (attention-parameters key 6 2))": "(weigh (m (reshape (sin (arange 24)) '(4 6)) (causal-mask 4)))",
    "(convolution (convolution-parameters key 2 2 3))": "(weigh (tanh (m (reshape (sin (arange 32)) '(1 2 4 4)))))",
}


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session()
    session.eval(SETUP)
    return session


def expect_slopes(slopes: Any) -> None:
    first, second = slopes
    assert first[:2] == pytest.approx([first[2]] * 2, rel=1e-6, abs=1e-6)
    assert first[0] == pytest.approx(first[1], rel=1e-11)
    assert second[:4] == pytest.approx([second[4]] * 4, rel=1e-5, abs=1e-5)
    assert second[1:4] == pytest.approx([second[0]] * 3, rel=1e-9, abs=1e-11)


@pytest.mark.slow_compiled
@pytest.mark.parametrize("model", MODELS)
def test_derivatives_by_a_model_that_is_a_procedure(session: vlad.Session, model: str) -> None:
    expect_slopes(session.eval(f"(all-slopes (lambda (m) {MODELS[model]}) {model})"))


@pytest.mark.parametrize("model", [model for model in MODELS if "x" in MODELS[model]])
def test_derivatives_by_the_inputs(session: vlad.Session, model: str) -> None:
    expect_slopes(session.eval(f"(let ((m {model})) (all-slopes (lambda (x) {MODELS[model]}) x))"))


@pytest.mark.parametrize("layer", ["dense", "layer-norm", "lstm", "gru"])
def test_a_model_is_trained_alike_closed_over_its_parameters_or_a_procedure_of_them(
    session: vlad.Session, layer: str
) -> None:
    parameters = {"layer-norm": "(cons (ones 3) (zeros 3))"}.get(layer, f"({layer}-parameters key 3 3)")
    start = {"lstm": "(cons #[0 0 0] #[0 0 0])", "gru": "#[0 0 0]"}.get(layer, "")
    use = {"lstm": f"(car (m {start} #[1 2 3]))", "gru": f"(m {start} #[1 2 3])"}.get(layer, "(m #[1 2 3])")
    session.eval(f"(define (use m) {use})")
    session.eval("(define (loss m) (mean (square (- (use m) #[0.5 0.1 -0.3]))))")
    session.eval(f"(define p {parameters})")
    closed = session.eval(f"(use (optimize (adam 0.01) loss ({layer} p) 20))")
    session.eval(f"(define q (optimize (adam 0.01) (lambda (p) (loss ({layer} p))) p 20))")
    assert closed == pytest.approx(session.eval(f"(use ({layer} q))"), rel=1e-12)
    assert session.eval(f"(< (loss ({layer} q)) (loss ({layer} p)))") is True


# Layers compared with NumPy.


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("seed", range(5))
def test_layers_agree_with_the_papers(seed: int) -> None:
    r = np.random.default_rng(seed)
    n, k, h = r.integers(1, 5, 3)
    session = vlad.Session()
    session["x"], session["h"], session["c"] = x, state, c = (
        r.normal(size=(n, k)),
        r.normal(size=(n, h)),
        r.normal(size=(n, h)),
    )
    session["w"], session["u"], session["b"] = w, u, b = (
        r.normal(size=(k, 4 * h)),
        r.normal(size=(h, 4 * h)),
        r.normal(size=4 * h),
    )
    i, f, g, o = np.split(x @ w + state @ u + b, 4, axis=-1)
    memory = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    output, kept = session.eval("((lstm w u b) (cons h c) x)")
    assert kept == pytest.approx(memory)
    assert output == pytest.approx(sigmoid(o) * np.tanh(memory))
    session["w"], session["u"], session["b"] = w, u, b = w[:, : 3 * h], u[:, : 3 * h], b[: 3 * h]
    reset, keep = sigmoid((x @ w + state @ u + b)[:, : 2 * h]).reshape(n, 2, h).transpose(1, 0, 2)
    candidate = np.tanh((x @ w + b)[:, 2 * h :] + (reset * state) @ u[:, 2 * h :])
    assert session.eval("((gru w u b) h x)") == pytest.approx(keep * state + (1 - keep) * candidate)
    session["gain"], session["bias"] = gain, bias = r.normal(size=k), r.normal(size=k)
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    assert session.eval("((layer-norm gain bias) x)") == pytest.approx(gain * normal + bias)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_head_by_head(masked: bool) -> None:
    r = np.random.default_rng(3)
    heads, n, width, head = 2, 5, 6, 3
    session = vlad.Session()
    x = r.normal(size=(4, n, width))
    weights = [r.normal(size=(heads, width, head)) for _ in range(3)] + [r.normal(size=(heads, head, width))]
    session["x"] = x
    for name, value in zip("qkvo", weights, strict=True):
        session[name] = value
    expected = np.zeros_like(x)
    for q, k, v, o in zip(*weights, strict=True):
        scores = (x @ q) @ (x @ k).transpose(0, 2, 1) / np.sqrt(head)
        if masked:
            scores[:, np.triu(np.ones((n, n), dtype=bool), 1)] = -np.inf
        share = np.exp(scores - scores.max(-1, keepdims=True))
        expected += share / share.sum(-1, keepdims=True) @ (x @ v) @ o
    mask = "(causal-mask 5)" if masked else "#f"
    assert session.eval(f"((multi-head-attention q k v o) x {mask})") == pytest.approx(expected)


def test_a_causal_mask_hides_what_comes_later(session: vlad.Session) -> None:
    session.eval("(define attend (multi-head-attention (attention-parameters key 6 3)))")
    session.eval("(define s (reshape (sin (arange 30)) '(5 6)))")
    reach = session.eval("((gradient (lambda (s) (weigh (tensor-ref (attend s (causal-mask 5)) 2)))) s)")
    assert np.all(np.abs(reach[:3]).sum(-1) > 0) and np.all(reach[3:] == 0)


def test_how_weights_begin(session: vlad.Session) -> None:
    weights = session.eval("(glorot key '(300 500))")
    assert np.abs(weights).max() <= np.sqrt(6 / 800) and weights.var() == pytest.approx(2 / 800, rel=0.02)
    assert session.eval("(he key '(300 500))").var() == pytest.approx(2 / 300, rel=0.02)
    assert session.eval("(he key '(50 20 5 5))").var() == pytest.approx(2 / 500, rel=0.03)
    assert session.eval("(glorot key '(50 20 5 5))").var() == pytest.approx(2 / (70 * 25), rel=0.03)
    for rows, columns in ((40, 40), (60, 7), (7, 60), (1, 1), (1, 4)):
        q = session.eval(f"(orthogonal key {rows} {columns})")
        inner = q.T @ q if rows >= columns else q @ q.T
        assert q.shape == (rows, columns) and inner == pytest.approx(np.eye(min(rows, columns)), abs=1e-12)
    bias = session.eval("(cddr (lstm-parameters key 3 2))")
    assert list(bias) == [0, 0, 1, 1, 0, 0, 0, 0]
    different = session.eval("(cadr (gru-parameters key 3 2))")
    assert not np.allclose(different[:, :2], different[:, 2:4])


def test_dropout(session: vlad.Session) -> None:
    dropped = session.eval("((dropout key 0.3) (ones '(200 500)))")
    assert set(np.unique(dropped)) == {0, 1 / 0.7} and dropped.mean() == pytest.approx(1, abs=0.01)
    assert np.array_equal(dropped, session.eval("((dropout key 0.3) (ones '(200 500)))"))
    slope = session.eval("((gradient (lambda (x) (sum ((dropout key 0.5) x)))) (ones 50))")
    assert np.array_equal(slope, session.eval("((dropout key 0.5) (ones 50))"))
    # neither the rate nor the key is a parameter
    session.eval("(define d (dropout key 0.5))")
    assert session.eval("(environment ((gradient (lambda (d) (sum (d (ones 50))))) d))") == session.eval(
        "(environment (zero d))"
    )


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_numbers_stay_of_their_kind(tier: str, kind: str) -> None:
    session = vlad.Session(tier=tier)
    session["x"], session["soft"] = np.eye(3, dtype=kind) * 2, np.full((3, 3), 1 / 3, dtype=kind)
    session["t"] = np.arange(3)
    for text in (
        "((dropout (random-key 1) 0.5) x)", "(cross-entropy x #[0 1 2])", "(cross-entropy x t)", "(cross-entropy x soft)",
        "((gradient (lambda (x) (sum ((dropout (random-key 1) 0.5) x)))) x)",
        "((gradient (lambda (x) (sum (cross-entropy x t)))) x)",
    ):  # fmt: skip
        assert session.eval(text).dtype == kind, text
    assert session.eval("(cross-entropy x t)") == pytest.approx([np.log(1 + 2 * np.exp(-2))] * 3, rel=1e-6)
    assert session.eval("((dropout (random-key 1) 0) 3)") == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(glorot key 5)", "two axes"), ("(he key '(5))", "two axes"), ("(glorot key '())", "two axes"),
        ("(attention-parameters key 6 4)", "divide"), ("((dense (dense-parameters key 3 2)) #[1 2])", "do not fit"),
        ("((embedding #[[1 2]]) #[1])", "out of range"), ("(batches (cons #[1 2] #[1 2 3]) 2)", "as many examples"),
        ("(batches (list #[1 2] 'a) 2)", "Data are tensors"), ("(examples #[1 2] 3 4)", "out of range"),
        ("(examples #[1 2 3] 5 9)", "out of range"),
        *[(f"(dropout key {rate})", "The rate of dropout is a chance, from 0") for rate in (1.5, 1, -1, "+nan.0", "#[0.5]")],
        *[(f"(batches #[1 2 3] {n})", "whole number, at least 1. Not:") for n in (0, -1, 1.5, "+inf.0", "'a")],
        ("(train-epochs (sgd 1) mean-squared-error '(0 . ()) #[1 2] 0 key 1)", "at least 1"),
        ("(unroll 3 0 '(1))", "not a procedure"),
        ("(dense 2 8)", r"dense-parameters key in out.*Not: 2 8"), ("(dense #[[1]] #[2] 3)", "dense-parameters"),
        ("(dense (list #[[1]] #[2]))", "dense-parameters"), ("(convolution 3 8)", "convolution-parameters"),
        ("(sequential relu)", r"as in \(sequential \(list"), ("(sequential relu tanh)", r"as in \(sequential \(list"),
        ("(sequential (list relu (dense-parameters key 2 8)))", r"as in \(sequential \(list"),
    ],
)  # fmt: skip
def test_mistakes(session: vlad.Session, text: str, message: str) -> None:
    with pytest.raises(VladError, match=message):
        session.eval(text)


# Data.


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7])
@pytest.mark.parametrize("size", [1, 3, 10])
def test_batches_are_all_the_data(session: vlad.Session, count: int, size: int) -> None:
    inputs, labels = np.arange(2.0 * count).reshape(count, 2), np.arange(count)
    session["inputs"], session["labels"] = inputs, labels
    parts = session.eval(f"(batches (cons inputs labels) {size})")
    assert [len(part[1]) for part in parts] == [size] * (count // size) + [count % size] * (count % size > 0)
    for k, (x, y) in enumerate(parts):
        assert np.array_equal(x, inputs[k * size : (k + 1) * size]) and np.array_equal(
            y, labels[k * size : (k + 1) * size]
        )
    x, y = session.eval("(shuffled key (cons inputs labels))")
    assert sorted(y) == list(range(count)) and np.array_equal(x, inputs[y])


def test_epochs_go_through_everything_in_new_orders(session: vlad.Session) -> None:
    """An optimizer that records: its parameters are the list of the elements it got."""
    seen = session.eval("""(car (train-epochs (lambda (x g state) (cons x (cons g state))) (lambda (x n) (* x (sum (* n n))))
                                              (cons 1 '()) (arange 6) 2 key 2))""")
    assert seen == 1
    sums = session.eval("""(cdr (train-epochs (lambda (x g state) (cons x (cons g state))) (lambda (x n) (* x (sum (* n n))))
                                              (cons 1 '()) (arange 6) 2 key 2))""")
    assert len(sums) == 6 and sum(sums[:3]) == sum(sums[3:]) == 55 and sums[:3] != sums[3:]


@pytest.mark.parametrize("tier", TIERS)
def test_standardized_columns_that_do_not_vary_are_zero(tier: str) -> None:
    """Even if their rounded mean differs from their entry; the derivatives are not affected."""
    session = vlad.Session(tier=tier)
    for kind in ("float64", "float32"):
        session["x"] = np.array([[0.1, 5, 1e-200, 1], [0.1, 5, 1e-200, 2], [0.1, 5, 1e-200, 6]]).astype(kind)
        answer = session.eval("(standardized x)")
        assert answer.dtype == kind and np.array_equal(answer[:, :3], np.zeros((3, 3)))
        assert answer[:, 3] == pytest.approx((np.array([1, 2, 6]) - 3) / np.sqrt(14 / 3))
    assert session.eval("(standardized #[0.1 0.1 0.1])").tolist() == [0, 0, 0]
    assert session.eval("(standardized #[[3 1]])").tolist() == [[0, 0]]
    assert session.eval("(standardized (zeros '(0 2)))").shape == (0, 2)
    assert np.isnan(session.eval("(standardized #[1 +nan.0])")).all()
    session.eval("(define (entry x) (tensor-ref (standardized x) 0 1))")
    session.eval("(define (alone x) (tensor-ref (standardized x) 0))")
    for mode in ("F", "R"):
        slope = session.eval(f"((gradient-{mode} entry) #[[5 1 0.1] [5 2 0.1] [5 4 0.1]])")
        assert slope[:, 1] == pytest.approx(session.eval(f"((gradient-{mode} alone) #[1 2 4])"))
        assert slope[0, 1] > 0 and not slope[:, (0, 2)].any()
    curve = session.eval("((gradient (lambda (x) (sum (square ((gradient entry) x))))) #[[5 1] [5 2] [5 4]])")
    assert np.isfinite(curve).all() and curve[0, 1] != 0


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("loss", ["binary-cross-entropy", "mean-squared-error"])
def test_losses_of_different_shapes_are_refused(loss: str, tier: str) -> None:
    """A column minus a row would be a table, which makes no sense as a loss."""
    session = vlad.Session(tier=tier)
    for operands in ("#[[1] [2]] #[1 0]", "#[1 2] #[1 0 1]"):
        with pytest.raises(vlad.VladError, match=f"What is given to {loss} has different shapes"):
            session.eval(f"({loss} {operands})")
    assert session.eval(f"(shape ({loss} #[1 2] 1))") == session.eval(f"(shape ({loss} #[1 2] #[1 1]))")


@pytest.mark.parametrize("tier", TIERS)
def test_accuracy_of_one_example_and_of_many(tier: str) -> None:
    """A column of labels with a row of predictions would be a table of comparisons."""
    session = vlad.Session(tier=tier)
    assert session.eval("(list (accuracy #[2 1] 0) (accuracy #[2 1] 1))") == [1, 0]
    session["logits"] = np.array([[[2, 1, 0], [0, 3, 0]], [[5, 4, 0], [1, 2, 3]]], dtype="float32")
    assert session.eval("(accuracy logits (as-type #[[0 1] [0 0]] 'int64))") == 0.75
    for operands in (
        "#[[2 1] [0 3]] #[[0] [1]]",
        "#[[2 1] [0 3]] 0",
        "#[2 1] #[0]",
        "#[[2 1] [0 3]] #[0 1 1]",
    ):
        with pytest.raises(
            VladError, match="The logits and labels given to accuracy do not fit; their shapes"
        ):
            session.eval(f"(accuracy {operands})")
