"""Models of ONNX: each operator by ONNX's own cases, whole models by onnxruntime, what is refused, and `import-onnx`.

ONNX's package computes its cases when their modules are imported. Each is a model of one node, with inputs and outputs. Inputs of
which an operator needs to know the numbers become initial values of the model, as they are in models of users.
"""

from __future__ import annotations

import functools
import importlib
import re
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy
import pytest
from sessions import shared

import vlad

pytest.importorskip("onnx", reason="pip install -e '.[test]'")
import onnx
import onnx.backend.test.case.base as exporting
import onnx.backend.test.case.node as cases
import onnx_models
from onnx import TensorProto, helper, numpy_helper

from vlad.onnx.operators import OPERATORS

pytestmark = pytest.mark.any_compiler

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text(encoding="utf-8")
# Cases that are not made: of images of 32 x 32 x 32, for which the reference takes seconds. Others with three axes are small.
NOT_MADE = (
    "averagepool_3d_default", "lppool_3d_default", "maxpool_3d_default", "averagepool_3d_dilations_large",
    "maxpool_3d_dilations_use_ref_impl_large",
)  # fmt: skip
# Cases that are refused, by a part of their names, with the reason that docs/onnx.md has.
REFUSED = {
    "training_dropout": "random numbers need a key",
    "identity_sequence": "values that are no tensors",
    "identity_opt": "values that are no tensors",
    "if_seq": "values that are no tensors",
    "if_opt": "values that are no tensors",
    "loop13_seq": "values that are no tensors",
    "loop16_seq_none": "values that are no tensors",
    "scan_sum": "version 8",
    "reduce_max_empty_set": "the maximum of nothing is an error",
    "reduce_min_empty_set": "the minimum of nothing is an error",
}
# Cases that run on tier 0: of a list of no element or one, or of tensors of any shape.
NOT_COMPILED = ("loop11", "linear_attention_linear_t1", "compress_negative_axis", "nonmaxsuppression")
TOGETHER = 6  # operators in a model that is compiled
KINDS = {"float32", "float64", "int32", "int64", "bool"}


def version_only(node: Any, types: Any, name: str, opset_imports: Any = None) -> Any:
    """In place of the function of the package that also makes a case of the body of an operator that is a function."""
    version = onnx.defs.onnx_opset_version() if opset_imports is None else opset_imports[0].version
    return [], onnx.defs.get_schema(node.op_type, version, domain=node.domain).since_version


@functools.cache
def all_cases() -> list[tuple[str, Any]]:
    """Operator and case, of the operators that are imported."""
    folder = Path(str(cases.__file__)).parent

    def make(cls: Any, name: str, bases: Any, members: dict[str, Any]) -> None:
        """As the package does, without texts for its pages."""
        for key in members:
            if key.startswith("export") and key.removeprefix("export_") not in NOT_MADE:
                numpy.random.seed(seed=0)
                getattr(cls, key)()

    with (
        warnings.catch_warnings(action="ignore"),  # the references overflow on purpose
        patch.object(exporting._Exporter, "__init__", make),
        patch.object(cases, "function_testcase_helper", version_only),
    ):
        for file in sorted(folder.glob("*.py")):
            made = set(re.findall(r'(?:"|class )(\w+)', file.read_text(encoding="utf-8")))
            if made & OPERATORS.keys() and file.stem not in ("__init__", "flexattention"):
                importlib.import_module(f"onnx.backend.test.case.node.{file.stem}")
    found = {}
    for case in cases._NodeTestCases:
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATORS:
            found[case.name] = nodes[0].op_type, case
    return list(found.values())


def arrays(values: Any) -> list[Any]:
    return [numpy_helper.to_array(one) if isinstance(one, TensorProto) else one for one in values]


def is_supported(case: Any) -> bool:
    """Whether all values are tensors of kinds that vlad has."""
    values = [one for inputs, outputs in case.data_sets for one in (*arrays(inputs), *arrays(outputs))]
    return all(str(getattr(one, "dtype", "none")) in KINDS for one in values)


def together(cases: list[tuple[Any, tuple[int, ...]]], version: int) -> tuple[Any, list[Any], list[Any]]:
    """One model of the nodes of several cases, its inputs, and the expected outputs, each with its case. The inputs at some
    places of a node become initial values.
    """
    nodes, inputs, outputs, initial, given, wanted = [], [], [], [], [], []
    for number, (case, places) in enumerate(cases):
        graph, ((values, expected),) = case.model.graph, case.data_sets

        def renamed(name: str, number: int = number) -> str:
            return f"{name}_{number}" if name else ""

        (original,) = graph.node
        node = onnx.NodeProto()
        node.CopyFrom(original)
        node.input[:] = map(renamed, original.input)
        node.output[:] = map(renamed, original.output)
        nodes.append(node)
        known = [original.input[place] for place in places if place < len(original.input)]
        for one, array in zip(graph.input, arrays(values), strict=True):
            if one.name in known:
                initial.append(numpy_helper.from_array(array, renamed(one.name)))
            else:
                inputs.append(onnx.ValueInfoProto(name=renamed(one.name), type=one.type))
                given.append(array)
        outputs += [onnx.ValueInfoProto(name=renamed(one.name), type=one.type) for one in graph.output]
        wanted += [(case, array) for array in arrays(expected)]
    made = helper.make_graph(nodes, "cases", inputs, outputs, initial)
    imports = [helper.make_opsetid("", version)]
    return helper.make_model(made, opset_imports=imports, ir_version=10), given, wanted


def check(cases: list[tuple[Any, tuple[int, ...]]], session: vlad.Session) -> None:
    """Each of the cases, with the places of inputs that become initial values; in one model for each version of the operators."""
    versions: dict[int, list[tuple[Any, tuple[int, ...]]]] = {}
    for one in cases:
        versions.setdefault(one[0].model.opset_import[0].version, []).append(one)
    for number, some in versions.items():
        model, inputs, wanted = together(some, number)
        f, parameters = vlad.from_onnx(model, session)
        found = f(parameters, *inputs)
        for value, (case, expected) in zip(found if len(wanted) > 1 else [found], wanted, strict=True):
            value = numpy.asarray(value)
            assert value.shape == expected.shape, case.name
            assert value.ndim == 0 or value.dtype == expected.dtype, case.name
            numpy.testing.assert_allclose(value, expected, rtol=case.rtol, atol=1e-6, err_msg=case.name)


def is_refused(case: Any) -> bool:
    return any(part in case.name for part in REFUSED)


def passing_cases() -> dict[str, list[Any]]:
    """Those of each operator that are not refused."""
    found: dict[str, list[Any]] = {}
    for op, case in all_cases():
        if not is_refused(case) and is_supported(case):
            found.setdefault(op, []).append(case)
    return found


@pytest.mark.own_tier
def test_every_case_of_every_operator() -> None:
    passing = passing_cases()
    for op, cases_of_it in passing.items():
        check([(case, OPERATORS[op].fixed) for case in cases_of_it], shared("evaluate"))
    assert passing.keys() == OPERATORS.keys()
    assert sum(map(len, passing.values())) >= 960


@pytest.mark.own_tier
def test_all_other_cases_are_refused() -> None:
    refused = set()
    for op, case in all_cases():
        if is_refused(case) or not is_supported(case):
            with pytest.raises(vlad.VladError) as raised:
                check([(case, OPERATORS[op].fixed)], shared("evaluate"))
            assert raised.value.code == "cannot-import" or "empty_set" in case.name, case.name
            refused |= {part for part in REFUSED if part in case.name}
    assert refused == REFUSED.keys()


@pytest.mark.own_tier
@pytest.mark.filterwarnings("error::vlad.NotCompiledWarning")
def test_every_operator_compiled() -> None:
    """The last case of each. Whole numbers are initial values here: compiled code needs to know shapes."""
    last = []
    for op, cases_of_it in passing_cases().items():
        compiled = [case for case in cases_of_it if not any(part in case.name for part in NOT_COMPILED)]
        for case in compiled[-1:]:
            values = arrays(case.data_sets[0][0])
            whole = tuple([place for place, one in enumerate(values) if one.dtype.kind == "i"])
            is_shape = op in (
                "Expand",
                "Reshape",
                "Tile",
                "TopK",
                "Slice",
                "ConstantOfShape",
                "Range",
                "OneHot",
            )
            last.append((case, whole if is_shape else OPERATORS[op].fixed))
    for start in range(0, len(last), TOGETHER):
        check(last[start : start + TOGETHER], shared("compile"))


# Operators whose meaning changed after version 7 of the operator set, and that have the later one only.
LATER = {"GroupNormalization": 21, "Hardmax": 13, "Scan": 9}


def test_operators_are_those_of_all_versions_from_7_on() -> None:
    for op, operator in OPERATORS.items():
        versions = set()
        for version in range(7, onnx.defs.onnx_opset_version() + 1):
            try:
                versions.add(onnx.defs.get_schema(op, version, "").since_version)
            except onnx.defs.SchemaError:  # there is none yet, or no more
                continue
        later = LATER.get(op, 0)
        assert {one for one in versions if one < operator.since} == {
            one for one in versions if one < later
        }, op


def test_the_page_has_all_operators() -> None:
    table = DOCUMENTED.split("## Operators")[1].split("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", table.split("\n\n| ")[0])) == {*OPERATORS, "Constant"}


# Whole models.

SMALL: dict[str, Any] = {
    "squeezenet": lambda: onnx_models.squeezenet(32, 8, 10),
    "resnet": lambda: onnx_models.resnet(32, (1, 1), 4, 10),
    "mobilenet": lambda: onnx_models.mobilenet(32, ((1, 4, 1, 1), (6, 6, 2, 2)), 8, 16, 10),
    "bert": onnx_models.bert,
    "gru": onnx_models.gru,
    "control": onnx_models.control,
}


@pytest.mark.own_tier
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.filterwarnings("error::vlad.NotCompiledWarning")
def test_models_agree_with_onnxruntime_and_differences(name: str) -> None:
    """Values on both tiers, and compiled gradients by all parameters, along a random direction, with differences on tier 0."""
    runtime = pytest.importorskip("onnxruntime", reason="pip install -e '.[test]'")
    model, inputs = SMALL[name]()
    names = [one.name for one in model.graph.input]
    running = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = running.run(None, dict(zip(names, inputs, strict=True)))
    x, losses = " ".join(names), {}
    for tier in ("evaluate", "compile"):
        f, parameters = vlad.from_onnx(model, shared(tier))
        found = f(parameters, *inputs)
        for value, wanted in zip(found if len(expected) > 1 else [found], expected, strict=True):
            assert value.dtype == numpy.float32
            numpy.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)
        losses[tier] = shared(tier).eval(
            "(define (squares y) (if (pair? y) (fold + 0 (map squares y)) (sum (square y))))"
            f"(lambda (f) (lambda (p {x}) (squares (f p {x}))))"
        )(f)
    exact = {key: value.astype(float) for key, value in parameters.items()}
    inputs = [one.astype(float) if one.dtype == numpy.float32 else one for one in inputs]
    rng = numpy.random.default_rng(5)
    way = {key: rng.normal(size=value.shape) for key, value in exact.items()}
    gradient = vlad.grad(losses["compile"], argnums=0)(exact, *inputs)
    up, down = [
        losses["evaluate"]({k: v + h * way[k] for k, v in exact.items()}, *inputs) for h in (1e-6, -1e-6)
    ]
    along = sum((gradient[key] * way[key]).sum() for key in way)
    assert along == pytest.approx((up - down) / 2e-6, rel=1e-3)


@pytest.mark.own_tier
@pytest.mark.filterwarnings("error::vlad.NotCompiledWarning")
def test_many_parameters_of_many_shapes_are_compiled() -> None:
    """As many as no list of equals is unrolled for; and for batches of several sizes."""
    count = 132
    weights = {f"w{k}": numpy.full((k % 3 + 1, 3), k, numpy.float32) for k in range(count)}
    nodes = [
        helper.make_node("Concat", list(weights), ["all"], axis=0),
        helper.make_node("ReduceMax", ["all"], ["largest"], axes=[0], keepdims=0),
        helper.make_node("Mul", ["x", "largest"], ["y"]),
    ]
    f, parameters = vlad.from_onnx(one_node(nodes, ["n", 3], weights=weights), shared("compile"))
    for rows in (5, 2):
        x = numpy.ones((rows, 3), numpy.float32)
        assert numpy.array_equal(f(parameters, x), 131 * x)


# Refusals and checks.


def one_node(node: Any, dims: Any = (2, 3), version: int = 17, weights: Any = None) -> Any:
    weights = {} if weights is None else weights
    graph = helper.make_graph(
        node if isinstance(node, list) else [node], "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(dims))],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])


def dense() -> Any:
    weights = {"w": numpy.ones((3, 2), numpy.float32), "b": numpy.zeros(2, numpy.float32)}
    return one_node(helper.make_node("Gemm", ["x", "w", "b"], ["y"]), ["n", 3], weights=weights)


def message(call: Any) -> str:
    with pytest.raises(vlad.VladError) as raised:
        call()
    return str(raised.value)


def test_an_operator_that_is_missing_is_named_with_its_node() -> None:
    model = one_node(helper.make_node("Hardmxa", ["x"], ["y"], name="last", domain="mine"))
    model.opset_import.append(helper.make_opsetid("mine", 1))
    assert "The node last is of the operator Hardmxa, of the set mine" in message(
        lambda: vlad.from_onnx(model)
    )
    model = one_node(helper.make_node("Bernoulli", ["x"], ["y"], name="draw"))
    assert "The node draw is of the operator Bernoulli, which vlad does not have" in message(
        lambda: vlad.from_onnx(model)
    )
    model = one_node(helper.make_node("Hardmax", ["x"], ["y"]), version=9)
    assert "that makes y is of the operator Hardmax, of version 1" in message(lambda: vlad.from_onnx(model))


def parsed(text: str) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17, "own" : 1]>\n{text}')


def test_functions_and_branches_of_a_model() -> None:
    """A function of the model is its body; a branch that is never taken is not read."""
    model = parsed("""
        g (float[2] x) => (float[2] y) <int64 k = {3}, int64 three = {3}> {
            is_three = Equal (k, three)
            z = own.Twice (x)
            y = If (is_three) <
                then_branch = a () => (float[2] p) { p = own.Twice (z) },
                else_branch = b () => (float[2] q) { q = Bernoulli (z) }
            >
        }
        <opset_import: ["" : 17], domain: "own"> Twice (v) => (w) { w = Add (v, v) }
    """)
    f, _ = vlad.from_onnx(model, shared("evaluate"))
    assert f({}, numpy.array([1, 2], numpy.float32)).tolist() == [4, 8]
    model.graph.initializer[0].int64_data[:] = [2]
    assert "The node that makes q is of the operator Bernoulli" in message(lambda: vlad.from_onnx(model))


def test_a_loop_without_a_turn_is_an_empty_tensor() -> None:
    text = """
        g (int64 k, float[2] x) => (float[2] y, float[m, n] all) {
            y, all = Loop (k, , x) <
                body = b (int64 i, bool c, float[n] s) => (bool d, float[n] t, float[n] u)
                    { d = Identity (c)  t = Add (s, x)  u = Identity (t) }
            >
        }
    """
    f, _ = vlad.from_onnx(parsed(text), shared("evaluate"))
    y, every = f({}, 0, numpy.ones(2, numpy.float32))
    assert y.tolist() == [1, 1] and every.shape == (0, 2)
    grows = text.replace("t = Add (s, x)", "t = Concat <axis = 0> (s, x)").replace("float[2] y", "float[n] y")
    f, _ = vlad.from_onnx(parsed(grows), shared("evaluate"))
    assert f({}, 1, numpy.ones(2, numpy.float32))[0].tolist() == [1, 1, 1, 1]
    assert "a loop of the model has no turn" in message(lambda: f({}, 0, numpy.ones(2))).lower()


@pytest.mark.parametrize("name", ["cut", "noise", "empty", "inconsistent", "unsorted"])
def test_what_is_no_model_is_one_error(name: str, tmp_path: Path) -> None:
    whole = dense().SerializeToString()
    bad = dense()
    if name == "inconsistent":
        bad.graph.initializer[0].dims[0] = 4
    elif name == "unsorted":
        bad.graph.node[0].input[1] = "nowhere"
    text = {"cut": whole[:-20], "noise": bytes(range(256)), "empty": b""}.get(name, bad.SerializeToString())
    (tmp_path / "bad.onnx").write_bytes(text)
    said = message(lambda: vlad.from_onnx(tmp_path / "bad.onnx"))
    assert said.startswith("Error: Cannot read:") and said.count("\n") == 1
    assert "bad.onnx" in said


def test_shapes_and_parameters_are_checked() -> None:
    f, parameters = vlad.from_onnx(dense(), shared("evaluate"))
    x = numpy.ones((4, 3), numpy.float32)
    assert f(parameters, x).shape == (4, 2)
    assert "another shape of `x`; (given declared): ((4 2) (#f 3))" in message(
        lambda: f(parameters, x[:, :2])
    )
    turned = dict(reversed(parameters.items()))
    assert "by name and in its order" in message(lambda: f(turned, x))
    assert '("w" 3 2)' in message(lambda: f({**parameters, "w": numpy.ones((3, 3))}, x))


def test_a_function_of_python_trains_it() -> None:
    f, parameters = vlad.from_onnx(dense())

    @vlad.function
    def loss(p, x):  # type: ignore[no-untyped-def]
        return (f(p, x) ** 2).sum()

    gradient = vlad.grad(loss, argnums=0)(parameters, numpy.ones((1, 3), numpy.float32))
    assert gradient["b"].tolist() == [6, 6] and gradient["w"].dtype == numpy.float32


def test_the_language_imports(tmp_path: Path) -> None:
    onnx.save(dense(), str(tmp_path / "dense.onnx"))
    session = vlad.Session([tmp_path])
    session.eval('(define model (import-onnx "dense.onnx"))')
    assert session.eval("(map car (cdr model))") == ["w", "b"]
    loss = "(lambda (p) (sum ((car model) p #[[1 2 3]])))"
    assert session.eval(f"(second ((gradient {loss}) (cdr model)))")[1].tolist() == [1, 1]
    (tmp_path / "program.vlad").write_text(
        '(define model (import-onnx "dense.onnx"))\n(shape ((car model) (cdr model) #[[1 2 3]]))\n'
    )
    types, errors = session.check(tmp_path / "program.vlad")
    assert errors == [] and "(1 2)" in types[-1]
    assert "may not read files" in message(lambda: vlad.Session.confined().eval('(import-onnx "dense.onnx")'))


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match="needs ONNX, which is not installed"):
        vlad.from_onnx(b"")
