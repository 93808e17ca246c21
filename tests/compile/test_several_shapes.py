"""Tensors of one of several shapes, such as batches with a shorter last one: one program, compiled for all of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.compile.analysis.abstract_interpreter import MOST_SHAPES
from vlad.compile.analysis.fixpoint import MOST_CONSTANTS, Analysis
from vlad.compile.analysis.strategy import Strategy
from vlad.compile.calling import pipeline
from vlad.core.type_text import text_of
from vlad.core.types import Types

pytestmark = pytest.mark.any_compiler

R = np.random.default_rng(3)
X, Y = R.normal(size=(23, 4)), R.integers(0, 3, 23).astype(float)
IMAGES = R.normal(size=(11, 1, 6, 6))


def compiled(text: str, *calls: tuple[Any, ...]) -> Any:
    """The results of calls of the last definition's f, compiled without unrolling, and those on tier 0."""
    answers = []
    for tier in ("compile", "evaluate"):
        session = vlad.Session(tier=tier)
        session.run_text(f'(import "data") (import "nn") (import "optimizers")\n{text}')
        f = session["f"]
        with monitored() as strategies:
            answers.append([f(*operands) for operands in calls])
        if tier == "compile":
            assert session.tiers.entry(f.value).reason is None
            assert strategies and not any(strategy.unroll for strategy in strategies)
    return answers


@contextmanager
def monitored() -> Iterator[list[Strategy]]:
    """The strategies of all attempts to compile within the context. One that unrolls follows one whose types do not settle."""
    strategies: list[Strategy] = []

    class Monitored(pipeline.Unit):
        def __init__(self, *operands: Any) -> None:
            strategies.extend([one for one in operands if type(one) is Strategy])
            super().__init__(*operands)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "Unit", Monitored)
        yield strategies


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


OF_BATCHES = {
    "product by a matrix": "(matmul b w)",
    "product of vectors": "(matmul (sum b #:axis 1) (sum b #:axis 1))",
    "system": "(solve (+ (matmul (transpose b) b) (* 3 (eye 4))) (sum b #:axis 0))",
    "reshaped by its shape": "(reshape (* b 2) (list (car (shape b)) 2 -1))",
    "as long as it is": "(* b (reshape (arange (size b)) (shape b)))",
    "with noise": "(* b (normal (random-key 1) (shape b)))",
    "product of all": "(prod b)",
    "products": "(prod b #:axis 0)",
    "cut": "(slice b 1 (car (shape b)))",
    "softmax": "(softmax (matmul b w) #:axis 0)",
}


TWICE = ("product by a matrix", "product of vectors", "reshaped by its shape")


def over_batches(name: str, answer: str) -> str:
    """A program of a loss and its gradient, by weights that all batches share."""
    return f"""
      (define (part w b) {OF_BATCHES[name].replace(" b", " (* b (sum w))")})
      (define (f w x)
        (let* ((loss (lambda (w) (fold-left (lambda (total b) (+ total (sum (sin (part w b))))) 0 (batches x 7))))
               (g (gradient loss)))
          {answer}))"""


@pytest.mark.parametrize("name", OF_BATCHES)
def test_values_and_gradients_over_batches(name: str) -> None:
    same(*compiled(over_batches(name, "(list (loss w) (g w))"), (R.normal(size=(4, 2)) / 4, X / 2)))


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives_over_batches(name: str) -> None:
    """Along a direction."""
    same(*compiled(over_batches(name, "(jvp g w (ones '(4 2)))"), (R.normal(size=(4, 2)) / 4, X / 2)))


DENSE = "(dense (dense-parameters (random-key 1) 4 3))"
TRAINED = {
    "dense": f"(sequential (list {DENSE} relu (dense (dense-parameters (random-key 2) 3 3))))",
    "normalised": f"(sequential (list {DENSE} (layer-norm (ones 3) (zeros 3))))",
    "reshaping": f"""(sequential (list (lambda (x) (reshape x (list (car (shape x)) 2 2)))
                                       (lambda (x) (reshape x (list (car (shape x)) -1))) {DENSE}))""",
}
CASES = [("dense", "(sgd 0.1)"), ("normalised", "(momentum 0.1 0.5)"), ("reshaping", "(adam 0.1)")]


@pytest.mark.parametrize(("network", "optimizer"), CASES)
def test_training_in_batches_of_two_sizes(network: str, optimizer: str) -> None:
    text = f"""
      (define (loss network x y) (mean (cross-entropy (network x) y)))
      (define (f x y)
        (let ((trained (car (train-epochs {optimizer} loss (cons {TRAINED[network]} '()) (cons x y) 5 (random-key 3) 6))))
          (trained x)))"""
    same(*compiled(text, (X, Y)))


def test_training_a_network_of_convolutions() -> None:
    text = """
      (define network
        (sequential (list (convolution (convolution-parameters (random-key 1) 1 2 3)) relu
                          (lambda (x) (max-pool x '(2 2))) (lambda (x) (avg-pool x '(2 2)))
                          (lambda (x) (reshape x (list (car (shape x)) -1))) (dense (dense-parameters (random-key 2) 2 3)))))
      (define (loss network x y) (mean (cross-entropy (network x) y)))
      (define (f x y) ((car (train-epochs (sgd 0.1) loss (cons network '()) (cons x y) 4 (random-key 3) 3)) x))"""
    same(*compiled(text, (IMAGES, Y[:11])))


def test_a_call_for_each_shape() -> None:
    """Within it the shape is known, and the other one's error is not there."""
    text = """
      (define (area x) (sum x #:axis (modulo (size x) 1)))
      (define (f a b first) (area (if first a b)))"""
    same(*compiled(text, *[(np.ones((2, 3)), np.ones((4, 2)), first) for first in (True, False)]))


def test_no_more_than_so_many_shapes() -> None:
    session = vlad.Session(tier="compile")
    session.run_text(
        "(define (area x) (sum x #:axis (modulo (size x) 1)))"
        "(define (f a b c d e i) (area (list-ref (list a b c d e) (floor i))))"
    )
    arrays = [np.ones(n) for n in range(1, MOST_SHAPES + 2)]
    assert session["f"](*arrays, 2.5) == 3
    assert "a shape or axis" in (session.tiers.entry(session["f"].value).reason or "")


def test_what_calls_itself_is_one_loop() -> None:
    """Not one for each shape that its state may have; nor is there an end to those, where they grow."""
    text = """
      (define (f n x)
        (let loop ((i 0) (x x) (total 0))
          (if (< i n) (loop (+ i 1) (if (odd? i) (ones 2) (ones '(2 2))) (+ total (sum (* x i)))) total)))"""
    same(*compiled(text, *[(n, np.ones(3)) for n in (0.5, 5.5)]))


def test_only_the_constants_that_differ_are_forgotten() -> None:
    """Of many uses of one procedure: here of a length, which is the same for all keys."""
    text = """
      (define (draw key n) (sum (normal key n)))
      (define (f x) (fold-left + x (map (lambda (key) (draw key 7)) (split (random-key 1) 9))))"""
    same(*compiled(text, (0.5,)))
    session = vlad.Session(tier="compile")
    session.run_text(
        "(define (g a b c) (* a (+ b c))) (define (f x) (list "
        + " ".join([f"(* x (g {i} 7 {i % 2}))" for i in range(9)])
        + "))"
    )
    analysis = Analysis(session.machine)
    analysis.solve(session["f"].value[0], (), (analysis.types.real,))
    found = [
        " ".join([text_of(analysis.types, x) for x in one.operands])
        for one in analysis.instances
        if one.name == "g"
    ]
    assert found == [f"{i} 7 {i % 2}" for i in range(MOST_CONSTANTS)] + ["real 7 real"]


def test_what_types_have_in_common() -> None:
    types = Types()
    one, two, three = [types.constant(x) for x in (1.0, 2.0, 3.0)]
    assert types.common(one, one) is one and types.common(one, two) is types.real
    assert types.common(types.pair(one, two), types.pair(one, three)) is types.pair(one, types.real)
    assert types.common(types.pair(types.real, two), types.pair(one, two)) is types.pair(types.real, two)
    tensor = types.tensor((2, 3))
    assert types.common(types.pair(tensor, one), types.pair(tensor, one)) is types.pair(tensor, one)


@pytest.mark.parametrize("text", [
    "(let ((y (* (- n 1) (tensor-ref t 3)))) (if (= 2 y) (sum t) y))",
    "(let ((y (* 0.5 n (- n 1)))) (if (or (= n y) (= n (+ y n)) (< (+ y 1) (- y n))) 1 (sum t)))",
    "(let ((y (- (* n 0.5) (* n 0.5)))) (if (< y n) (+ (* n y) (sum t)) 1))",
])  # fmt: skip
def test_lines_of_lengths(text: str) -> None:
    """A length times a real that is not known: the factor is an extent, and the offset a whole number."""
    same(
        *compiled(
            f"(define (f t) (let ((n (size t))) {text}))", *[(np.arange(float(n)),) for n in (30, 50, 80)]
        )
    )


@pytest.mark.system_compiler  # vectors are those of GCC
@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_reductions_of_functions(kind: str) -> None:
    """What the lanes of a sum leave over is a loop that does not begin at 0."""
    forms = ["(sum {})", "(sum {} #:axis 0)", "(sum {} #:axis -1)", "(maximum {})", "(sum (* 2 {} t))"]
    functions = ("exp", "tanh", "sin", "log1p")
    reductions = [form.format(f"({name} t)") for form in forms for name in functions]
    shapes = [
        (5, 10),
        (5, 32),
        (50, 10),
        (50, 32),
        (7, 11),
        (2, 3, 40),
        (5, 30, 4),
        (9, 8, 8),
        (40,),
        (90,),
        (700,),
    ]
    text = f"(define (f t) (list {' '.join(reductions)} ((gradient (lambda (t) (sum (exp t)))) t)))"
    calls = [(np.random.default_rng(1).random(shape).astype(kind),) for shape in shapes]
    found, expected = compiled(text, *calls)
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9 if kind == "float64" else 2e-5)


@pytest.mark.parametrize("form", [
    "(jacobian-F (lambda (x) (* x x)))", "(jacobian-R (lambda (x) (* x (sum x))))",
    "(hessian (lambda (x) (sum (* x x x))))", "(hessian-F (lambda (x) (prod (cos x))))",
])  # fmt: skip
def test_matrices_of_derivatives_by_many_entries(form: str) -> None:
    """The rows are a list whose length is known within the call only, and which is stacked and reshaped: it is as long as the
    number of entries demands.
    """
    sessions = [vlad.Session(tier=tier) for tier in ("compile", "evaluate")]
    with warnings.catch_warnings():
        warnings.simplefilter("error", vlad.NotCompiledWarning)
        for shape in ((15,), (16,), (20,), (40,), (130,), (4, 5), (2, 3, 4)):
            x = R.random(shape)
            found, expected = [session.eval(f"(lambda (x) ({form} x))")(x) for session in sessions]
            assert found.shape == (*shape, *shape)
            same(found, expected)
