"""NumPy in translated functions: the values of NumPy, on both tiers; gradients; and each of its public names is known."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sessions import shared

import vlad
from vlad.translate import numpy_table
from vlad.translate.arrays import methods, numpy_syntax, rows_of
from vlad.translate.fresh import Fresh
from vlad.translate.known import instead_of, known
from vlad.translate.numpy_table import ATTRIBUTES, METHODS_REFUSED
from vlad.translate.reads import MISSING

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from array_expressions import EXPRESSIONS, OF_OTHERS
from python_texts import run

A, X = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([0.5, -1.5])
# Where differences are taken, no entry is at a step, and no two are equal.
NEAR_A, NEAR_X = np.array([[2.0, 1.1], [1.2, 3.0]]), np.array([0.53, -1.57])
WEIGHTS = np.cos(np.arange(1.0, 400.0))
WITHOUT_GRADIENT = ("np.logaddexp(-np.inf, -np.inf)",)  # of infinities


def exists(expression: str) -> bool:
    """Does this version of NumPy have the functions?"""
    return all(
        hasattr(np.linalg if around else np, name)
        for around, name in re.findall(r"\bnp\.(linalg\.)?(\w+)", expression)
    )


PARTS = [EXPRESSIONS[start : start + 25] for start in range(0, len(EXPRESSIONS), 25)]
PARTS = [[one for one in part if exists(one)] for part in PARTS]


def function_of(body: str) -> Any:
    names: dict[str, Any] = {"np": np, "norm": np.linalg.norm, "W": WEIGHTS, "__name__": "arrays"}
    run(f"def f(A, x):\n    {body}\n", f"arrays {body}", names)
    return names["f"]


def values_of(expressions: Sequence[str]) -> Any:
    return function_of(f"return [{', '.join(expressions)}]")


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.fixture(scope="module")
def evaluating() -> vlad.Session:
    return vlad.Session(tier="evaluate")


def expect_values(expressions: Sequence[str], session: vlad.Session) -> None:
    f = values_of(expressions)
    expected, found = f(A, X), session.function(f)(A, X)
    wrong = [(one, a, b) for one, a, b in zip(expressions, expected, found, strict=True) if not same(a, b)]
    assert wrong == []


@pytest.mark.parametrize("part", PARTS, ids=range(len(PARTS)))
def test_expressions_have_the_values_of_numpy(part: list[str], evaluating: vlad.Session) -> None:
    expect_values(part, evaluating)


@pytest.mark.any_compiler
@pytest.mark.parametrize("part", PARTS, ids=range(len(PARTS)))
def test_expressions_are_compiled(part: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", vlad.NotCompiledWarning)
        expect_values(part, shared("compile"))


OTHERS: dict[str, Any] = {
    "I": np.array([3, 1, 2]), "M": np.array([True, False, True]), "T": np.arange(24.0).reshape(2, 3, 4) / 7,
    "V": np.array([0.5, np.nan, -np.inf]), "E": np.zeros((0, 3)), "s": 2.5, "L": [1.0, 4.0, 2.0], "ax": 1,
}  # fmt: skip
PARTS_OF_OTHERS = [OF_OTHERS[start : start + 30] for start in range(0, len(OF_OTHERS), 30)]


@pytest.mark.any_compiler
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of infinities
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("part", PARTS_OF_OTHERS, ids=range(len(PARTS_OF_OTHERS)))
def test_expressions_of_other_arguments(part: list[str], tier: str) -> None:
    part = [one for one in part if exists(one)]
    names: dict[str, Any] = {"np": np, "__name__": "arrays"}
    run(f"def f({', '.join(OTHERS)}):\n    return [{', '.join(part)}]\n", f"others {part[0]}", names)
    expected = names["f"](**OTHERS)
    found = shared(tier).function(names["f"])(**OTHERS)
    assert [one for one, a, b in zip(part, expected, found, strict=True) if not same(a, b)] == []


def loss_of(expressions: Sequence[str]) -> Any:
    """The sum of all entries of the results, weighted."""
    terms = []
    for expression in expressions:
        value = np.asarray(function_of(f"return {expression}")(NEAR_A, NEAR_X))
        terms.append(f"np.sum(W[:{value.size}] * np.array({expression}).ravel())")
    return function_of(f"return {' + '.join(terms)}")


def differences(f: Any) -> list[Any]:
    """Central differences by all entries of A and x."""
    found = []
    for place, point in enumerate((NEAR_A, NEAR_X)):
        slopes = np.zeros_like(point)
        for index in np.ndindex(point.shape):
            values = []
            for step in (1e-6, -1e-6):
                moved = [NEAR_A.copy(), NEAR_X.copy()]
                moved[place][index] += step
                values.append(f(*moved))
            slopes[index] = (values[0] - values[1]) / 2e-6
        found.append(slopes)
    return found


def has_slopes(expression: str) -> bool:
    if expression in WITHOUT_GRADIENT:
        return False
    try:
        value = np.asarray(function_of(f"return {expression}")(NEAR_A, NEAR_X))
    except ValueError:  # a list of arrays of several shapes
        return False
    return value.dtype.kind == "f"


def wrong_gradients(expressions: Sequence[str], session: vlad.Session) -> list[str]:
    """The expressions whose gradients are not those of differences."""
    if not expressions:
        return []
    f = loss_of(expressions)
    gradients = vlad.grad(session.function(f))(NEAR_A, NEAR_X)
    if all(np.allclose(a, b, rtol=1e-4, atol=2e-5) for a, b in zip(differences(f), gradients, strict=True)):
        return []
    if len(expressions) == 1:
        return list(expressions)
    middle = len(expressions) // 2
    halves = expressions[:middle], expressions[middle:]
    return [one for half in halves for one in wrong_gradients(half, session)]


@pytest.mark.parametrize("part", PARTS, ids=range(len(PARTS)))
def test_gradients_are_those_of_differences(part: list[str], evaluating: vlad.Session) -> None:
    assert wrong_gradients([one for one in part if has_slopes(one)], evaluating) == []


@pytest.mark.any_compiler
@pytest.mark.parametrize("part", PARTS[::6], ids=range(len(PARTS[::6])))
def test_gradients_are_compiled(part: list[str]) -> None:
    assert wrong_gradients([one for one in part if has_slopes(one)], shared("compile")) == []


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_a_loss_has_the_gradient_of_its_formula(tier: str) -> None:
    names: dict[str, Any] = {"np": np, "__name__": "arrays"}
    run("def loss(w, A, x):\n    r = A @ w - x\n    return r @ r + 0.1 * np.sum(w**2)\n", "loss", names)
    loss, w = vlad.Session(tier=tier).function(names["loss"]), np.array([1.0, 2.0])
    gradient = vlad.grad(loss, argnums=0)(w, A, X)
    assert np.allclose(gradient, 2 * A.T @ (A @ w - X) + 0.2 * w)
    assert np.allclose(vlad.hessian(loss, argnums=0)(w, A, X), 2 * A.T @ A + 0.2 * np.eye(2))


def test_factors_are_those_of_the_matrix(evaluating: vlad.Session) -> None:
    """Up to signs, which NumPy chooses otherwise."""
    f = function_of("return np.linalg.qr(A), np.linalg.svd(A), np.linalg.eigh(A), np.linalg.lstsq(A, x)")
    (q, r), (u, s, v), (values, vectors), solution = evaluating.function(f)(A, X)
    assert np.allclose(q @ r, A) and np.allclose(q.T @ q, np.eye(2)) and np.allclose(np.tril(r, -1), 0)
    assert np.allclose((u * s) @ v, A) and np.allclose((vectors * values) @ vectors.T, A)
    expected = np.linalg.lstsq(A, X)
    assert all(np.allclose(a, b) for a, b in zip(solution, expected, strict=True))


# Expressions, and what an error says of them: the message, and the hint.
REFUSED = [
    ("np.fft.fft(x)", "np.fft.fft", "session.fft"),
    ("np.fft.fftshift(x)", "np.fft.fftshift", "python-functions.md"),
    ("np.sum(x, dtype=int)", "dtype", "float64"),
    ("np.sum(x, where=x > 0)", "by name", "keepdims"),
    ("np.zeros(3, dtype=complex)", "dtype", "float"),
    ("np.random.normal(x)", "np.random.normal", "vlad.random"),
    ("np.union1d(x, x)", "np.union1d", "np.where"),
    ("np.linalg.eig(A)", "np.linalg.eig", "real"),
    ("np.polyfit(x, x, 1)", "np.polyfit", "vander"),
    ("np.add.reduce(x)", "np.add.reduce", "np.sum"),
    ("np.einsum(str(x), A)", "constant text", "ij,jk->ik"),
    ('np.einsum("...i,i", A, x)', "this text", "letters"),
    ("np.diff(x, n=len(x))", "this n", "number"),
    ("np.meshgrid(x, x, sparse=True)", "sparse", "indexing"),
    ("x.sort()", "x.sort() here", "a statement of its own"),
    ("x.put(0, 1.0)", "method put", "assign"),
    ("x.flat", "attribute flat", "shape"),
    ("x.reshape(1, 2, order='F')", "order", "transpose"),
    ("np.sum(x, 0, None, x)", "out", "keepdims"),
    ("np.sum()", "0 arguments", "axis"),
    ("np.mgrid[0:2, x]", "index of a grid", "0:n"),
    ("np.linspace(0, 1, 5, True, True)", "retstep", "endpoint"),
    ("isinstance(x, np.floating)", "isinstance", "np.ndarray"),
    ("x[..., 0, ...]", "ellipses", "one stands"),
    ("list(map(np.random.rand, x))", "np.random.rand", "vlad.random"),
]


@pytest.mark.parametrize(("expression", "message", "hint"), REFUSED)
def test_what_is_missing_is_named(expression: str, message: str, hint: str, evaluating: vlad.Session) -> None:
    with pytest.raises(vlad.VladError) as caught:
        evaluating.function(function_of(f"return {expression}"))(A, X)
    error = caught.value
    assert error.code == "not-translated" and message in error.message and hint in (error.hint or "")
    assert error.span is not None and error.span.line == 2


# Expressions, and the exception of a call.
FAILING = [
    ("1 if x > 0 else 2", ValueError, "truth value"),
    ("x[A[0, :1] > 0]", IndexError, "did not match"),
    ("A[A > 0, 0]", IndexError, "alone"),
    ("x[2]", IndexError, "bounds"),
    ("A[0, 5]", IndexError, "bounds"),
    ("A[:, 5]", IndexError, "bounds"),
    ("A[[0, 1], [0, 2]]", IndexError, "bounds"),
    ("np.arange(24.0).reshape(2, 3, 4)[[0, 1], :, [0, 1]]", IndexError, "two steps"),
    ("x & x", TypeError, "masks|booleans"),
    ("np.linalg.svd(np.ones((2, 3)))", ValueError, "full_matrices"),
    ("np.split(x, 3)", ValueError, "equal division"),
    ("np.quantile(x, 2.0)", ValueError, "range"),
    ("np.expand_dims(x, 5)", ValueError, "axis"),
    ("np.cross(x, x)", ValueError, "dimension"),
]


@pytest.mark.parametrize(("expression", "kind", "message"), FAILING)
def test_an_error_of_a_call_is_pythons(
    expression: str, kind: type[Exception], message: str, evaluating: vlad.Session
) -> None:
    with pytest.raises(kind, match=message) as caught:
        evaluating.function(function_of(f"return {expression}"))(A, X)
    assert isinstance(caught.value, vlad.VladError) and caught.value.span is not None


def test_a_view_shares_its_entries(evaluating: vlad.Session) -> None:
    for made in ("np.reshape(x, (1, 2))", "np.asarray(x)", "np.split(x, 2)", "x.T"):
        body = f"x = 1.0 * x\n    y = {made}\n    x[0] = 5.0\n    return y"
        with pytest.raises(vlad.VladError, match="shares"):
            evaluating.function(function_of(body))(A, X)
    body = "x = 1.0 * x\n    y = np.exp(x)\n    b = np.isnan(x)\n    x[0] = 5.0\n    return y, b, x"
    assert same(list(evaluating.function(function_of(body))(A, X)), list(function_of(body)(A, X)))


def test_every_public_name_of_numpy_is_known() -> None:
    for module in (np, np.linalg):
        for name in dir(module):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(module, name, None)
            if not name.startswith("_") and callable(value):
                hint = instead_of(value)
                is_refused = hint is not None and "python-functions.md" not in hint
                assert known(value) or numpy_syntax(value) or is_refused, name


def test_every_method_of_arrays_is_known() -> None:
    for name in dir(np.ndarray):
        if not name.startswith("_") and callable(getattr(np.ndarray, name)):
            assert name in methods() or name in METHODS_REFUSED or name in ("reshape", "transpose"), name
    for name in ATTRIBUTES:
        assert hasattr(np.ndarray, name)


def test_a_generator_of_random_numbers_is_refused(evaluating: vlad.Session) -> None:
    names: dict[str, Any] = {"rng": np.random.default_rng(), "__name__": "arrays"}
    run(
        "import random\ndef f(A, x):\n    return rng.normal()\ndef g(A, x):\n    return random.gauss(0, 1)",
        "r",
        names,
    )
    for function in "fg":
        with pytest.raises(vlad.VladError) as caught:
            evaluating.function(names[function])(A, X)
        assert "vlad.random.normal(key" in (caught.value.hint or "")


def test_the_page_lists_every_function() -> None:
    page = (Path(__file__).parents[2] / "docs" / "python-functions.md").read_text(encoding="utf-8")
    listed = {
        word for line in page.split("\n") if line.startswith("| ") for word in re.findall(r"[\w.]+", line)
    }
    rows = {**rows_of(numpy_table.NUMBERS, ""), **rows_of(numpy_table.OTHERS, "")}
    names = {name.removeprefix("linalg.") for name in rows} | set(numpy_table.SYNTAX)
    assert names - listed == set()


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_the_gradient_of_an_array_of_a_list_that_a_loop_makes(tier: str) -> None:
    def path(k: float, seen: Any) -> Any:
        out, y = [], 1.0
        for _ in seen:
            y = y - 0.1 * k * y
            out.append(y)
        return np.mean((np.array(out) - seen) ** 2)

    def squares(x: float, n: float) -> Any:
        return np.sum(np.array([x * i for i in range(int(n))]) ** 2)

    session = vlad.Session(tier=tier)
    assert vlad.grad(session.function(squares), argnums=0)(1.0, 10.0) == 570.0
    for count in (5, 12):
        seen = np.exp(-0.1 * np.arange(float(count)))
        slope = (path(1.3 + 1e-6, seen) - path(1.3 - 1e-6, seen)) / 2e-6
        assert vlad.grad(session.function(path), argnums=0)(1.3, seen) == pytest.approx(slope, rel=1e-5)


def test_what_makes_an_array_shares_no_memory() -> None:
    """A result may be changed in place if it is no view of an argument, nor the argument itself."""

    def meaning(node: ast.AST) -> Any:
        text = ast.unparse(node)
        return eval(text, {"np": np}) if re.fullmatch(r"np(\.\w+)+", text) else MISSING

    fresh = Fresh(meaning, lambda method: False, lambda call, name: False, lambda: True)
    edge_cases = [
        "np.diff(x, 0)", "np.diff(x, n=0)", "np.einsum('ii->i', A)", "np.linalg.matrix_power(A, 1)", "np.polyder(x, 0)",
        "np.float64(x)", "x.conj()", "np.conj(x)", "x.astype(float)", "np.tile(x, 1)", "np.repeat(x, 1)", "np.roll(x, 0)",
        "np.pad(x, 0)", "np.concatenate([x])", "np.hstack([x])", "np.block([x])", "np.sum(A, axis=())", "np.append(x, [])",
        "np.clip(x, None, None)", "np.nan_to_num(x)", "x.round()", "x.repeat(1)", "np.sort(x)", "np.where(x < 9, x, x)",
    ]  # fmt: skip
    made = 0
    for text in [one for one in (*EXPRESSIONS, *edge_cases) if exists(one)]:
        node = ast.parse(text, mode="eval").body
        if isinstance(node, ast.Call) and fresh.makes(node):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                result = eval(text, {"np": np, "A": A, "x": X, "norm": np.linalg.norm})
            made += 1
            assert not any(np.shares_memory(result, one) for one in (A, X)), text
    assert made > 200
