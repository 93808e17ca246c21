"""The programs of benchmarks/gradbench: derivatives equal central differences of values, and values the formulas of GradBench."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks" / "gradbench"
sys.path.insert(0, str(FOLDER))

from tool import MODULES, Tool  # noqa: E402

pytestmark = pytest.mark.own_tier
R = np.random.default_rng(5)


def rows(*shape: int) -> Any:
    return R.normal(size=shape).tolist()


def hand() -> dict[str, Any]:
    """A hand of 22 bones with seven vertices, of which five points are near triangles."""
    bones = [np.eye(4) + np.pad(0.1 * R.normal(size=(3, 4)), ((0, 1), (0, 0))) for _ in range(44)]
    model = {
        "parents": [-1, 0, *[0 if bone % 4 == 2 else bone - 1 for bone in range(2, 22)]],
        "base_relatives": [bone.tolist() for bone in bones[:22]],
        "inverse_base_absolutes": [bone.tolist() for bone in bones[22:]],
        "base_positions": np.c_[R.normal(size=(7, 3)), np.ones(7)].tolist(),
        "weights": R.random((7, 22)).tolist(),
        "triangles": [[0, 1, 2], [2, 3, 4], [4, 5, 6]],
    }
    return {"model": model, "correspondences": [0, 2, 1, 1, 0], "points": rows(5, 3)}


BUNDLE = {"n": 2, "m": 3, "p": 4, "cam": rows(11), "x": rows(3), "w": 0.7, "feat": rows(2)}
INPUTS: dict[str, dict[str, Any]] = {
    "lse": {"x": rows(7)},
    "llsq": {"x": rows(5), "n": 9},
    "ode": {"x": (1 + R.random(4)).tolist(), "s": 8},
    "det": {"A": rows(16), "ell": 4},
    "kmeans": {"points": rows(30, 2), "centroids": rows(3, 2)},
    "gmm": {"d": 3, "k": 2, "n": 6, "x": rows(6, 3), "m": 1, "gamma": 0.8, "alpha": rows(2), "mu": rows(2, 3), "q": rows(2, 3),
            "l": rows(2, 3)},
    "lstm": {"main_params": rows(4, 12), "extra_params": rows(3, 3), "state": rows(4, 3),
             "sequence": (R.random((6, 3)) > 0.5).astype(int).tolist()},
    "ba": BUNDLE,
    "ht": {"theta": rows(26), "us": rows(5, 2), "data": hand()},
}  # fmt: skip


@pytest.fixture(scope="module")
def tool() -> Tool:
    return Tool({"tier": "evaluate"})


def output(tool: Tool, module: str, function: str, given: Any) -> Any:
    if module not in tool.sessions:
        assert tool.respond({"kind": "define", "module": module})["success"]
    response = tool.respond({"kind": "evaluate", "module": module, "function": function, "input": given})
    assert response["success"] and {timing["name"] for timing in response["timings"]} >= {
        "first call",
        "evaluate",
    }
    return json.loads(json.dumps(response["output"]))


def differences(tool: Tool, module: str, function: str, given: dict[str, Any], *names: str) -> np.ndarray:
    """By all entries of some fields of an input."""
    found = []
    for name in names:
        value = np.array(given[name], float)
        for place in np.ndindex(value.shape):
            both = []
            for step in (1e-6, -1e-6):
                moved = value.copy()
                moved[place] += step
                both.append(np.array(output(tool, module, function, {**given, name: moved.tolist()})))
            found.append((both[0] - both[1]) / 2e-6)
    return np.array(found)


def flat(value: Any) -> list[float]:
    return [part for one in value for part in flat(one)] if isinstance(value, list) else [value]


@pytest.mark.parametrize(("module", "function", "names"), [
    ("lse", "primal", ["x"]), ("llsq", "primal", ["x"]), ("det", "primal", ["A"]),
    ("gmm", "objective", ["alpha", "mu", "q", "l"]), ("lstm", "objective", ["main_params", "extra_params"]),
])  # fmt: skip
def test_gradients(tool: Tool, module: str, function: str, names: list[str]) -> None:
    given = INPUTS[module]
    derivative = "gradient" if function == "primal" else "jacobian"
    found = output(tool, module, derivative, given)
    if isinstance(found, dict):
        found = [found[name] for name in names]
    assert flat(found) == pytest.approx(
        differences(tool, module, function, given, *names), rel=1e-5, abs=1e-7
    )


def test_values(tool: Tool) -> None:
    x = np.array(INPUTS["lse"]["x"])
    assert output(tool, "lse", "primal", INPUTS["lse"]) == pytest.approx(np.log(np.exp(x).sum()))
    t = np.linspace(-1, 1, 9)
    residuals = np.sign(t) - np.polyval(INPUTS["llsq"]["x"][::-1], t)
    assert output(tool, "llsq", "primal", INPUTS["llsq"]) == pytest.approx(0.5 * (residuals**2).sum())
    matrix = np.array(INPUTS["det"]["A"]).reshape(4, 4)
    assert output(tool, "det", "primal", INPUTS["det"]) == pytest.approx(np.linalg.det(matrix))
    assert output(tool, "hello", "double", 3.5) == 7 and output(tool, "hello", "square", 3.0) == 9


def test_a_determinant_by_parts() -> None:
    """Seven and fewer columns are computed again in the reverse phase; the gradient has the cofactors."""
    compiled = Tool({"tier": "compile"})
    matrix = np.random.default_rng(2).random((8, 8))
    given = {"A": matrix.ravel().tolist(), "ell": 8}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, gradient = (output(compiled, "det", name, given) for name in ("primal", "gradient"))
    assert value == pytest.approx(np.linalg.det(matrix))
    cofactors = np.linalg.det(matrix) * np.linalg.inv(matrix).T
    np.testing.assert_allclose(np.reshape(gradient, (8, 8)), cofactors, rtol=1e-9, atol=1e-12)


def test_ode(tool: Tool) -> None:
    """The Runge-Kutta method is exact for polynomials of degree 4: y_i is the product of x_0 to x_i times t^(i+1) / (i+1)!."""
    x = np.array(INPUTS["ode"]["x"])
    values = [x[: i + 1].prod() * 2 ** (i + 1) / [1, 2, 6, 24][i] for i in range(4)]
    assert output(tool, "ode", "primal", INPUTS["ode"]) == pytest.approx(values)
    assert output(tool, "ode", "gradient", INPUTS["ode"]) == pytest.approx(values[3] / x)


def test_clusters(tool: Tool) -> None:
    """Newton's direction leads from each centroid to the mean of the points next to it."""
    points, centroids = (np.array(INPUTS["kmeans"][name]) for name in ("points", "centroids"))
    squares = ((points[:, None] - centroids) ** 2).sum(2)
    assert output(tool, "kmeans", "cost", INPUTS["kmeans"]) == pytest.approx(squares.min(1).sum())
    means = np.array([points[squares.argmin(1) == i].mean(0) for i in range(3)])
    np.testing.assert_allclose(output(tool, "kmeans", "dir", INPUTS["kmeans"]), centroids - means, rtol=1e-9)


def test_a_sparse_jacobian(tool: Tool) -> None:
    """The rows of one observation, by its camera, point and weight."""
    found = output(tool, "ba", "jacobian", BUNDLE)
    assert found["rows"] == [*range(0, 121, 15), 121, 122, 123, 124, 124]  # the last one is shown again
    assert found["cols"] == [*range(11), 22, 23, 24, 31] * 2 + [34]

    def errors(tool: Tool, given: dict[str, Any]) -> np.ndarray:
        found = output(tool, "ba", "objective", given)
        assert found["reproj_error"]["repeated"] == found["w_err"]["repeated"] == 4
        return np.array([*found["reproj_error"]["elements"], found["w_err"]["element"]])

    columns = []
    for name in ("cam", "x", "w"):
        value = np.atleast_1d(np.array(BUNDLE[name], float))
        for place in range(len(value)):
            both = []
            for step in (1e-6, -1e-6):
                moved = value.copy()
                moved[place] += step
                both.append(errors(tool, {**BUNDLE, name: moved.tolist() if name != "w" else moved[0]}))
            columns.append((both[0] - both[1]) / 2e-6)
    by_observation = np.array(columns).T
    assert found["vals"][:30] == pytest.approx(by_observation[:2].ravel(), rel=1e-4, abs=1e-6)
    assert found["vals"][30] == pytest.approx(by_observation[2, -1], rel=1e-6)


def test_a_hand(tool: Tool) -> None:
    given = INPUTS["ht"]
    found = np.array(output(tool, "ht", "jacobian", given))
    assert found.shape == (15, 28)
    np.testing.assert_allclose(
        found[:, 2:], differences(tool, "ht", "objective", given, "theta").T, rtol=1e-4, atol=1e-6
    )
    by_coordinates = differences(
        tool, "ht", "objective", given, "us"
    )  # of all points; a point depends on its own
    compressed = by_coordinates.reshape(5, 2, 5, 3)[np.arange(5), :, np.arange(5)]
    np.testing.assert_allclose(
        found[:, :2], compressed.transpose(0, 2, 1).reshape(15, 2), rtol=1e-4, atol=1e-6
    )
    simple = {**given, "us": []}
    assert np.array(output(tool, "ht", "jacobian", simple)).shape == (15, 26)


def test_messages() -> None:
    """Nested derivatives, compiled, through the protocol; and what the tool cannot do."""
    wanted = [
        {"kind": "start", "eval": "saddle"},
        {"kind": "define", "module": "saddle"},
        *[{"kind": "evaluate", "module": "saddle", "function": mode, "input": {"start": [1.0, 1.0], "min_runs": 2}}
          for mode in ("ff", "rr")],
        {"kind": "define", "module": "particle"},
        {"kind": "evaluate", "module": "particle", "function": "fr", "input": {"w": 0.0}},
        {"kind": "analysis", "of": 2, "valid": True},
        {"kind": "define", "module": "another"},
        {"kind": "evaluate", "module": "another", "function": "f", "input": {}},
        {"kind": "define", "module": "lse"},
        {"kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": []}},
    ]  # fmt: skip
    text = "".join([json.dumps({"id": number, **message}) + "\n" for number, message in enumerate(wanted)])
    done = subprocess.run(
        [sys.executable, FOLDER / "tool.py", "--multithreaded"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    assert done.stderr == ""  # all of it is compiled
    responses = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in responses] == list(range(len(wanted)))
    assert responses[0]["tool"] == "vlad"
    for one in responses[2:4]:
        assert one["output"] == pytest.approx([8.246324826140356e-06] * 4, rel=1e-6)
        assert [timing["name"] for timing in one["timings"]].count("evaluate") == 2
    assert responses[5]["output"] == pytest.approx(0.2071918746486116, rel=1e-6)
    for one in responses[7:9]:
        assert one["success"] is False and "another" in one["error"]
    assert responses[10]["success"] is False and "maximum" in responses[10]["error"]


def test_all_evals_have_a_program() -> None:
    assert sorted(MODULES) == (FOLDER / "evals.txt").read_text().split()
    assert {path.stem for path in (FOLDER / "programs").glob("*.vlad")} - {"descent"} == set(MODULES)
