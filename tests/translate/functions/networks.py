"""Neural networks, losses and optimizers, with lists and with NumPy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

Array = Any


class Layer(NamedTuple):
    w: Array
    b: Array


@dataclass(frozen=True)
class Network:
    layers: tuple[Layer, ...]
    slope: float = 0.1

    def activation(self, z: Array) -> Array:
        return np.where(z > 0, z, self.slope * z)

    def __call__(self, x: Array) -> Array:
        *hidden, last = self.layers
        for layer in hidden:
            x = self.activation(x @ layer.w + layer.b)
        return x @ last.w + last.b


@dataclass(frozen=True)
class Adam:
    rate: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.999
    m: float = 0.0
    v: float = 0.0
    t: int = 0

    def step(self, x: float, g: float) -> tuple[float, Adam]:
        t = self.t + 1
        m = self.beta1 * self.m + (1 - self.beta1) * g
        v = self.beta2 * self.v + (1 - self.beta2) * g**2
        m_hat, v_hat = m / (1 - self.beta1**t), v / (1 - self.beta2**t)
        return x - self.rate * m_hat / (math.sqrt(v_hat) + 1e-8), replace(self, m=m, v=v, t=t)


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def _relu(z: float) -> float:
    return max(0.0, z)


def perceptron(w: float = 0.5) -> float:
    weights, bias = [w, -0.3], 0.1
    data = [([1.0, 2.0], 1), ([2.0, 0.5], 0), ([0.0, 1.0], 1)]
    errors = 0.0
    for inputs, target in data:
        out = _sigmoid(sum(wi * xi for wi, xi in zip(weights, inputs)) + bias)
        errors += (target - out) ** 2
    return errors / len(data)


def layers_of_lists(w: float = 0.5) -> float:
    network = [([[w, 1.0], [-1.0, w]], [0.1, 0.2], _relu), ([[1.0, w]], [0.0], _sigmoid)]
    x = [1.0, 2.0]
    for weights, biases, activation in network:
        x = [activation(sum(wi * xi for wi, xi in zip(row, x)) + b) for row, b in zip(weights, biases)]
    return x[0]


def xor(w: float = 2.0) -> float:
    loss = 0.0
    for a, b, y in [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]:
        h = math.tanh(w * a + w * b - 1), math.tanh(w * a + w * b - 3)
        p = _sigmoid(2 * h[0] - 2 * h[1] - 1)
        loss -= y * math.log(p) + (1 - y) * math.log(1 - p)
    return loss / 4


def back_propagation(w: float = 0.5) -> float:
    """One step of training with gradients by hand."""
    v, rate = 0.3, 0.5
    for x, y in ((1.0, 0.5), (2.0, 0.8)):
        h = math.tanh(w * x)
        out = v * h
        d_out = out - y
        d_v, d_h = d_out * h, d_out * v
        d_w = d_h * (1 - h**2) * x
        v, w = v - rate * d_v, w - rate * d_w
    return w * v


def two_layers(w: float = 0.5) -> float:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    W1, b1 = np.array([[w, -1.0, 0.5], [1.0, w, 0.2]]), np.zeros(3)
    W2, b2 = np.ones((3, 1)) * w, np.array([0.1])
    h = np.tanh(X @ W1 + b1)
    y = (h @ W2 + b2).ravel()
    return np.mean((y - np.array([1.0, 1.0, 0.0])) ** 2)


def classes(w: float = 0.5) -> float:
    net = Network((Layer(np.array([[w, 1.0], [2.0, -w]]), np.zeros(2)), Layer(np.eye(2), np.array([w, 0.0]))))
    return float(np.sum(net(np.array([[1.0, -1.0], [0.5, 2.0]]))))


def cross_entropy(w: float = 0.5) -> float:
    logits = np.array([[w, 2.0, 0.1], [1.0, w * w, 0.3]])
    labels = np.array([1, 0])
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_probs[np.arange(len(labels)), labels].mean()


def one_hot(w: float = 0.5) -> float:
    labels = [0, 2, 1]
    onehot = np.eye(3)[labels]
    probs = np.array([[w, 0.3, 0.2], [0.1, 0.2, w], [0.3, w, 0.2]])
    return -(onehot * np.log(probs)).sum() / len(labels)


def softmax_rows(w: float = 0.5) -> float:
    def softmax(z: Array) -> Array:
        e = np.exp(z - np.max(z, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)

    p = softmax(np.array([[w, 1.0], [2.0, w * w]]))
    return float(p[0, 0] * p[1, 1])


def attention(w: float = 0.5) -> float:
    Q = np.array([[w, 1.0], [0.0, 1.0]])
    K = V = np.array([[1.0, 0.5], [w, 2.0], [0.3, 0.1]])
    scores = Q @ K.T / np.sqrt(K.shape[-1])
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return float((weights @ V).sum())


def layer_norm(w: float = 0.5) -> float:
    x = np.array([[w, 1.0, 2.0], [0.0, w, -1.0]])
    mu, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    y = (x - mu) / np.sqrt(var + 1e-5)
    return float(np.sum(y[:, 0] * np.array([1.0, 2.0])))


def recurrent(w: float = 0.5) -> float:
    Wx, Wh, h = np.array([[w, 0.1]]), np.array([[0.3, w], [0.1, 0.2]]), np.zeros((1, 2))
    outputs = []
    for x in [1.0, -1.0, 0.5]:
        h = np.tanh(np.array([[x]]) @ Wx + h @ Wh)
        outputs.append(h)
    return float(np.sum(np.stack(outputs)))


def lstm_cell(w: float = 0.5) -> float:
    h = c = 0.0
    for x in (1.0, 0.5, -1.0):
        i, f, o = (_sigmoid(w * x + k * h) for k in (0.1, 0.2, 0.3))
        c = f * c + i * math.tanh(w * x - h)
        h = o * math.tanh(c)
    return h


def convolution(w: float = 0.5) -> float:
    image = np.arange(16.0).reshape(4, 4) / 16
    kernel = np.array([[w, -1.0], [1.0, w]])
    out = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            out[i, j] = np.sum(image[i : i + 2, j : j + 2] * kernel)
    return float(np.maximum(out, 0).sum())


def max_pooling(w: float = 0.5) -> float:
    x = np.array([[1.0, w, 3.0, 0.0], [0.0, 2.0, w * 8, 1.0]])
    return float(x.reshape(1, 2, 2, 2).max(axis=(1, 3)).sum())


def adam(x: float = 2.0) -> float:
    opt = Adam(rate=0.05)
    for _ in range(4):
        x, opt = opt.step(x, 2 * x - 1)
    return x


def dropout(w: float = 0.5) -> float:
    mask = np.array([1, 0, 1, 1]) > 0
    h = np.array([w, 2.0, w * w, 1.0])
    return float((h * mask / 0.75).sum() + h[mask.tolist().index(False)])


def regularized(w: float = 0.5) -> float:
    params = {"w": np.array([w, 2.0]), "b": np.array([0.5])}
    penalty = sum(np.sum(p**2) for p in params.values())
    return 0.01 * penalty + sum(float(np.abs(p).sum()) for name, p in params.items() if name.startswith("w"))


def hinge(w: float = 0.5) -> float:
    data = [((1.0, 2.0), 1), ((-1.0, 0.3), -1), ((0.2, -0.1), -1)]
    return sum(max(0, 1 - y * (w * x[0] + 0.1 * x[1])) for x, y in data) + 0.5 * w**2


def huber(x: float = 0.5) -> float:
    def loss(r: float, delta: float = 1.0) -> float:
        return 0.5 * r * r if abs(r) <= delta else delta * (abs(r) - 0.5 * delta)

    return loss(x) + loss(3 * x) + loss(x, delta=0.1)


def embeddings(w: float = 0.5) -> float:
    table = np.array([[w, 1.0], [0.5, -w], [2.0, 0.0]])
    tokens = [0, 2, 2, 1]
    mean = np.mean([table[t] for t in tokens], axis=0)
    return float(mean @ mean)


def batches(w: float = 0.5) -> float:
    data = np.arange(10.0)
    total, size = 0.0, 4
    for start in range(0, len(data), size):
        batch = data[start : start + size]
        total += w * batch.mean() / len(batch)
    return total


def early_stopping(w: float = 3.0) -> float:
    best, patience = float("inf"), 0
    for epoch in range(20):
        w -= 0.2 * 2 * (w - 1)
        loss = (w - 1) ** 2
        if loss < best - 0.05:
            best, patience = loss, 0
        else:
            patience += 1
            if patience >= 3:
                break
    return w + epoch


def learning_rates(x: float = 1.0) -> list[float]:
    schedules = {
        "constant": lambda t: 0.1 * x,
        "decay": lambda t: 0.1 * x / (1 + t),
        "cosine": lambda t: 0.05 * x * (1 + math.cos(math.pi * t / 10)),
    }
    return [rate(t) for rate in schedules.values() for t in (0, 5)]


def _reached(graph: dict[int, list[int]], at: int, seen: list[bool], cost: float) -> list[float]:
    seen[at] = True
    found: list[float] = []
    for other in graph[at]:
        if not seen[other]:
            found += _reached(graph, other, seen, cost * (at + 1.0))
    return [cost, *found]


def parts_by_a_search_that_returns_what_it_finds(x: float = 0.7) -> list[list[float]]:
    graph = {0: [1, 2], 1: [0, 3], 2: [0], 3: [1], 4: [5], 5: [4]}
    seen = [False] * 6
    parts = []
    for start in range(6):
        if not seen[start]:
            parts.append(_reached(graph, start, seen, x + start))
    return parts
