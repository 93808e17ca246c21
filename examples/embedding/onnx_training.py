"""A network in ONNX's format is imported, trained further, and exported again.

Another program has written a small classifier of points in the plane: two dense layers. Its weights separate the two
classes badly. vlad imports it as a procedure of its parameters and of the points, so the loss is an ordinary function, and its
gradient trains all weights but those of the first layer, which shall stay. The trained network is exported: a file that any
runtime of ONNX runs. It is imported once more here, to see that it is the same function.

    python examples/embedding/onnx_training.py
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import vlad


def write_classifier(path: str) -> None:
    """The file that is given: as PyTorch or another system would export it."""
    rng = np.random.default_rng(3)
    weights = {
        "first.weight": rng.normal(size=(2, 16)),
        "first.bias": rng.normal(size=16),
        "second.weight": 0.1 * rng.normal(size=(16, 2)),
        "second.bias": np.zeros(2),
    }
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["points", "first.weight", "first.bias"], ["sums"], name="first"),
            helper.make_node("Relu", ["sums"], ["hidden"], name="bend"),
            helper.make_node("Gemm", ["hidden", "second.weight", "second.bias"], ["logits"], name="second"),
        ],
        "classifier",
        [helper.make_tensor_value_info("points", TensorProto.FLOAT, ["n", 2])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)


def examples() -> tuple[Any, Any]:
    """Points, and whether they are inside of a circle."""
    points = np.random.default_rng(4).uniform(-1, 1, (200, 2)).astype(np.float32)
    return points, ((points**2).sum(axis=1) < 0.5).astype(np.int64)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "classifier.onnx")
        write_classifier(path)
        network, parameters = vlad.from_onnx(path)
        print("parameters:", ", ".join([f"{name} {array.shape}" for name, array in parameters.items()]))

        # the loss, as a procedure of the session that the network belongs to
        make = network.session.eval(
            "(lambda (network) (lambda (p points labels) (mean (cross-entropy (network p points) labels))))"
        )
        loss = make(network)
        slope = vlad.grad(loss, argnums=0)
        points, labels = examples()

        def correct(p: dict[str, Any]) -> int:
            return int((network(p, points).argmax(axis=1) == labels).sum())

        print(f"before: {correct(parameters)} of {len(labels)} right")
        for _ in range(300):
            slopes = slope(parameters, points, labels)
            for name in ("second.weight", "second.bias"):
                parameters[name] = parameters[name] - 0.5 * slopes[name]
        print(f"after:  {correct(parameters)} of {len(labels)} right")

        trained = vlad.to_onnx(network, parameters, points, stored=[0])
        print("exported:", " ".join([node.op_type for node in trained.graph.node]))
        again, kept = vlad.from_onnx(trained, network.session)
        difference = np.abs(again(kept, points) - network(parameters, points)).max()
        print("the same function:", bool(difference < 1e-5))


if __name__ == "__main__":
    main()
