"""NumPy in translated functions: the values of NumPy, on both tiers; gradients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run

A, X = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([0.5, -1.5])
# Expressions of A and x.
EXPRESSIONS = [
    "A@x",
    "np.sum(A,axis=0)",
    "np.dot(x,x)",
    "np.linalg.solve(A,x)",
    "A.T[0]",
    "A[1,0]*x[-1]",
    "np.where(x>0,x,-x)",
    "np.maximum(x,0.0)",
    "np.mean(A,axis=1,keepdims=True)",
    "[r.sum() for r in A]",
    "norm(x)+np.linalg.det(A)",
    "np.array([x[0],2.0])",
    "np.zeros((2,3))",
    "x[1:]",
    "np.exp(x)*2-1",
    "A.shape",
    "len(A)",
    "np.concatenate([x,x])",
    "np.stack((x,x))",
    "np.clip(x,-1,1)",
    "x**2",
    "np.reshape(A,(4,))",
    "np.outer(x,x)",
    "np.sqrt(np.abs(x))",
    "x[::-1]",
    "np.linspace(0,1,5)",
    "max(x)",
    "sum(x)",
    "A.sum()",
    "x/0.5",
    "-x",
    "A[0]",
    "np.cumsum(x)",
    "np.linalg.inv(A)",
    "np.eye(3)",
    "2*A+1",
    "np.arctan2(x, 2.0)",
    "np.hypot(x, x)",
    "np.power(np.abs(x), 1.5)",
    "np.var(A, axis=0)",
    "np.prod(x)",
    "np.max(A, axis=1)",
    "np.amin(x)",
    "np.argmax(x)",
    "np.cumsum(A, axis=0)",
    "np.trace(A)",
    "np.tril(A)",
    "np.linalg.cholesky(A)",
    "np.full((2,), 3.0)",
    "np.arange(3)",
    "np.zeros_like(A)",
    "np.ones_like(x)",
    "np.ravel(A)",
    "np.divide(x, 2.0)",
    "np.sign(x)",
    "np.transpose(A)",
    "np.ones(2)",
    "np.diagonal(A)",
    "[a * b for a, b in zip(x, A[0])]",
    "x.mean()",
    "np.log1p(np.square(x))",
    "np.dot(A, x)",
    "np.arcsin(x / 2)",
    "np.floor(x)",
    "np.asarray([[1.0, 2.0]])",
    "np.min(A, keepdims=True)",
    "x if x[0] > x[1] else A",
]


def function_of(expression: str) -> Any:
    names: dict[str, Any] = {"np": np, "norm": np.linalg.norm, "__name__": "arrays"}
    run(f"def f(A, x):\n    return {expression}\n", f"arrays {expression}", names)
    return names["f"]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_has_the_value_of_numpy(expression: str) -> None:
    f = function_of(expression)
    assert same(f(A, X), vlad.Session(tier="evaluate").function(f)(A, X))


@pytest.mark.any_compiler
def test_expressions_are_compiled() -> None:
    """One function of all whose results are arrays or numbers, so that it is compiled once."""
    whole = function_of("[" + ", ".join(one for one in EXPRESSIONS if one not in ("A.shape",)) + "]")
    assert same(whole(A, X), vlad.Session(tier="compile").function(whole)(A, X))


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_a_loss_has_the_gradient_of_its_formula(tier: str) -> None:
    names: dict[str, Any] = {"np": np, "__name__": "arrays"}
    run("def loss(w, A, x):\n    r = A @ w - x\n    return r @ r + 0.1 * np.sum(w**2)\n", "loss", names)
    loss, w = vlad.Session(tier=tier).function(names["loss"]), np.array([1.0, 2.0])
    gradient = vlad.grad(loss, argnums=0)(w, A, X)
    assert np.allclose(gradient, 2 * A.T @ (A @ w - X) + 0.2 * w)
    assert np.allclose(vlad.hessian(loss, argnums=0)(w, A, X), 2 * A.T @ A + 0.2 * np.eye(2))


def test_what_is_missing_is_named() -> None:
    for expression, part in (
        ("np.fft.fft(x)", "fft"),
        ("np.sum(x, dtype=float)", "dtype"),
        ("np.random.normal(x)", "random"),
    ):
        with pytest.raises(vlad.VladError, match=part):
            vlad.Session(tier="evaluate").function(function_of(expression))(A, X)
    with pytest.raises(ValueError, match="truth value"):
        vlad.Session(tier="evaluate").function(function_of("1 if x > 0 else 2"))(A, X)
