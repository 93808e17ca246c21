"""Procedures as models of ONNX: `vlad.to_onnx`, run by onnxruntime, and imported again."""

from __future__ import annotations

import importlib
from typing import Any

import numpy
import pytest
from sessions import shared

import vlad

pytest.importorskip("onnx", reason="pip install -e '.[test]'")
runtime = pytest.importorskip("onnxruntime", reason="pip install -e '.[test]'")
onnx_models = importlib.import_module("onnx_models")
ROWS = importlib.import_module("vlad.onnx.derivative_nodes").ROWS
Graph = importlib.import_module("vlad.onnx.nodes").Graph

pytestmark = [pytest.mark.any_compiler, pytest.mark.own_tier]

# The rows that each expression of x (3 4) and y (4), of float32, adds to those checked; x is within ±1.
EXPRESSIONS = {
    "(+ x (* 2 y))": "+ *",
    "(- (/ x (+ 3 y)) 1)": "- /",
    "(- x)": "negate",
    "(/ 1 (+ 2 x))": "reciprocal",
    "(expt (+ 2 x) y)": "expt",
    "(list (max x y) (min x 0))": "max min",
    "(list (exp x) (log (+ 2 x)) (sqrt (+ 2 x)))": "exp log sqrt",
    "(list (sin x) (cos x) (tan x) (asin x) (acos x))": "sin cos tan asin acos",
    "(list (sinh x) (cosh x) (tanh x) (asinh x) (acosh (+ 2 x)) (atanh x))": "sinh cosh tanh asinh acosh atanh",
    "(list (erf x) (sigmoid x) (relu x) (softplus x) (gelu x) (log1p x))": "erf sigmoid relu softplus gelu log1p",
    "(list (abs x) (sign x) (floor (* 3 x)) (ceiling (* 3 x)) (round (* 3 x)))": "abs sign floor ceiling round",
    "(list (matmul x y) (dot y y) (outer y y) (det (matmul (transpose x) x)))": "matmul dot outer det",
    "(list (= x y) (< x 0) (> x y) (<= x y) (>= (sum x) 0))": "= < > <= >=",
    "(list (where (> x 0) x (* 2 y)) (+ (> x 0) x))": "where",
    "(as-type (* 9 x) 'int64)": "as-type",
    "(list (reshape x '(2 -1)) (broadcast-to y '(2 4)) (transpose x))": "reshape broadcast-to transpose",
    "(list (concatenate (list x x) #:axis 1) (stack (list y (* 2 y)) #:axis 1))": "concatenate stack",
    "(list (slice x 0 3 #:step 2) (flipped x #:axis 1) (tensor-ref x 1) (tensor-ref x -1 2))": "slice flipped tensor-ref",
    "(append (unstack x #:axis 1) (split x 2 #:axis 1))": "unstack split",
    "(list (gather x #[2 0 -1]) (gather #[5 6 7] (argmax x #:axis 0)))": "gather argmax",
    "(list (argmax x) (argminimum x #:axis 1) (cumsum x #:axis 1 #:from-end #t))": "argminimum cumsum",
    "(list (sum x) (sum x #:axis 0) (mean x #:axis '(0 1) #:keep #t) (norm y))": "sum mean norm",
    "(list (maximum x #:axis 1) (minimum x) (prod y) (logsumexp x #:axis -1))": "maximum minimum prod logsumexp",
    "(list (variance x #:axis 1) (softmax x) (log-softmax x #:axis 0))": "variance softmax log-softmax",
    "(tensor-set x 1 y)": "set-entry",
    "(conv2d (reshape x '(1 1 3 4)) (reshape y '(1 1 2 2)) #:stride '(1 2) #:padding 'same)": "conv2d",
    "(list (max-pool x 2) (avg-pool (reshape x '(1 1 3 4)) 2 #:stride 1 #:padding 1))": "max-pool avg-pool",
    # what the library composes, and lists, closures and loops of known length
    "((sequential (list (lambda (x) (matmul x (outer y y))) tanh (layer-norm y y))) x)": "",
    "(let loop ((n 0) (x x)) (if (= n 3) x (loop (+ n 1) (sin (* n x)))))": "",
    "(list 2 (pad x 1 0) (fold + 0 (unstack x)))": "",
}


def run(model: Any, inputs: list[Any]) -> list[Any]:
    running = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [one.name for one in running.get_inputs()]
    found: list[Any] = running.run(None, dict(zip(names, inputs, strict=True)))
    return found


def compare(found: Any, expected: list[Any]) -> None:
    found = found if isinstance(found, list | tuple) else [found]
    for value, wanted in zip(found, expected, strict=True):
        value = numpy.asarray(value)
        assert value.shape == wanted.shape and (value.ndim == 0 or value.dtype == wanted.dtype)
        numpy.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def test_every_row_is_as_onnxruntime_has_it() -> None:
    rng = numpy.random.default_rng(7)
    x, y = [rng.uniform(-0.9, 0.9, dims).astype(numpy.float32) for dims in ((3, 4), 4)]
    session = shared("evaluate")
    for text in EXPRESSIONS:
        f = session.eval(f"(lambda (x y) {text})")
        model = vlad.to_onnx(f, x, y)
        expected = run(model, [x, y])
        compare(f(x, y), expected)
        again, parameters = vlad.from_onnx(model, session)
        compare(again(parameters, x, y), expected)
    own = {name for name, rule in ROWS.items() if rule.__module__ == "vlad.onnx.nodes"}
    assert {name for names in EXPRESSIONS.values() for name in names.split()} == own


def test_the_gradient_of_every_row_is_as_onnxruntime_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One gradient of the sum of all, and by whole numbers nothing; the inverse, for `det`, is missing in ONNX."""
    rng = numpy.random.default_rng(7)
    x, y = [rng.uniform(-0.9, 0.9, dims).astype(numpy.float32) for dims in ((3, 4), 4)]
    used, emit = set(), Graph.emit

    def watched(self: Any, row: Any, operands: Any, span: Any) -> Any:
        used.add(row.name)
        return emit(self, row, operands, span)

    monkeypatch.setattr(Graph, "emit", watched)
    session = shared("evaluate")
    session.eval(
        "(define (squares v) (cond ((pair? v) (fold + 0 (map squares v))) ((null? v) 0) (else (sum (* v v)))))"
    )
    texts = [
        text.replace("(det (matmul (transpose x) x))", "(norm x)")
        for text in EXPRESSIONS
        if "(= x y)" not in text
    ]
    f = session.eval(f"(lambda (x y) (+ {' '.join([f'(squares {text})' for text in texts])}))")
    by_x = vlad.grad(f)
    compare(by_x(x, y), run(vlad.to_onnx(by_x, x, y), [x, y]))
    curved = "(lambda (x) (sum (* (asinh x) (slice (asinh x) 1 2))))"
    along = session.eval(  # of second and third order, by both modes
        f"(lambda (x) (+ (hvp (lambda (x) (sum ((gradient {curved}) x))) x x) (hvp (lambda (x) (sum (tanh x))) x x)))"
    )
    compare(along(x), run(vlad.to_onnx(along, x), [x]))
    assert {name for name, rule in ROWS.items() if rule.__module__ != "vlad.onnx.nodes"} - used == set()


@pytest.mark.parametrize("name", ["squeezenet", "resnet", "bert", "gru"])
def test_what_was_imported_is_exported(name: str) -> None:
    sizes: dict[str, Any] = {"squeezenet": (32, 8, 10), "resnet": (32, (1, 1), 4, 10)}
    model, inputs = getattr(onnx_models, name)(*sizes.get(name, ()))
    f, parameters = vlad.from_onnx(model, shared("evaluate"))
    exported = vlad.to_onnx(f, parameters, *inputs, stored=[0])
    assert [one.name for one in exported.graph.initializer if one.name in parameters] == list(parameters)
    for value, wanted in zip(run(exported, inputs), run(model, inputs), strict=True):
        numpy.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)


def test_functions_of_python_and_structures() -> None:
    @vlad.function
    def model(p, x):  # type: ignore[no-untyped-def]
        for layer in p["layers"]:
            x = x @ layer + p["shift"]
        return x, (x * x).sum()

    rng = numpy.random.default_rng(8)
    p = {"layers": [rng.normal(size=(2, 2)), rng.normal(size=(2, 2))], "shift": numpy.ones(2)}
    x = rng.normal(size=(3, 2))
    exported = vlad.to_onnx(model, p, x)
    assert [one.name for one in exported.graph.input] == ["layers_0", "layers_1", "shift", "x"]
    found, total = run(exported, [*p["layers"], p["shift"], x])
    wanted = (x @ p["layers"][0] + 1) @ p["layers"][1] + 1
    assert found == pytest.approx(wanted) and total == pytest.approx((wanted**2).sum())

    @vlad.function
    def step(p, x):  # type: ignore[no-untyped-def]
        slopes = vlad.grad(lambda p: model(p, x)[1])(p)
        return {"shift": p["shift"] - 0.1 * slopes["shift"]}

    exported = vlad.to_onnx(step, p, x)
    assert [one.name for one in exported.graph.output] == ["output_shift"]
    assert run(exported, [*p["layers"], p["shift"], x])[0] == pytest.approx(step(p, x)["shift"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "(let loop ((x x)) (if (< (sum x) 0) x (loop (- x 1))))",
            "1:31: Error: There is no ONNX for a choice, or a loop",
        ),
        ("(sorted x)", "1:13: Error: There is no ONNX for `sorted`"),
        (
            "(reshape x (list (sum x)))",
            "There is no ONNX for `reshape` by a number that is known in the call only",
        ),
        ("(lambda (y) x)", "The result has parts that are neither tensors nor reals nor booleans"),
        ("(let loop ((x x)) (loop (- x 1)))", "more than"),
        ("((gradient (lambda (x) (det (matmul x (transpose x))))) x)", "There is no ONNX for `cofactor`"),
        ("(matmul x x)", "Shapes given to matmul do not fit"),
    ],
)
def test_what_has_no_form_is_refused_with_its_place(
    text: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vlad.onnx.tracing.MOST_CALLS", 1000)
    f = shared("evaluate").eval(f"(lambda (x) {text})")
    with pytest.raises(vlad.VladError) as raised:
        vlad.to_onnx(f, numpy.ones((2, 3), numpy.float32))
    assert told in str(raised.value)
