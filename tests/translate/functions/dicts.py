"""Dicts with keys that are texts, numbers and tuples."""

from __future__ import annotations

from typing import Any


def a_display(x: float = 2.0) -> float:
    d = {"w": x, "b": x * x, "n": {"k": [x, 1.0]}}
    return d["w"] * d["b"] + d["n"]["k"][0]


def unions(x: float = 2.0) -> tuple[Any, ...]:
    d = {"a": x, "b": 2.0}
    c = d | {"b": 3.0, "c": x * x}
    c["a"] = 7.0
    d["b"] = 8.0
    return d, c, {} | d, d | {}, {1: x} | {2: 1.0} | {1: 3.0}, (x > 0) | False, 5 | 2


def of_an_argument(params: dict[str, Any] = {"w": 2.0, "layers": [{"a": 1.0}, {"a": 3.0, "b": 0.5}]}, x: float = 0.5) -> float:
    total = params["w"] * x
    for layer in params["layers"]:
        for key in layer:
            total += layer[key] * x
    return total


def changes(x: float = 2.0) -> tuple[dict[str, float], float]:
    d = {"w": x, "b": 2.0}
    d["w"] += 1.0
    d["c"] = d["w"] * d["b"]
    d |= {"c": x, "f": 1.0}
    d.update({"b": 5.0}, e=x)
    d.update(b=d["b"] + 1)
    total = 0.0
    for key in d:
        total += d[key] * len(key)
    for key, value in d.items():
        total += value * len(key)
    for value in d.values():
        total -= value
    return d, total


def methods(x: float = 2.0) -> list[Any]:
    d = {"a": x, "b": 1.0}
    return [
        d.get("a"), d.get("z"), d.get("z", x), "a" in d, "z" not in d, len(d), list(d), list(d.keys()), list(d.values()),
        list(d.items()), sorted(d), sum(d.values()), max(d), [k for k in d], d.copy(), bool(d), not {}, bool({}),
        dict(d), dict(d, c=x), dict(c=x), dict([("p", x), ("q", 1.0)]), dict(zip(["u", "v"], [x, 2.0])), dict(),
        tuple(d.items()), isinstance(d, dict), isinstance([1.0], dict), isinstance(d, list), any(v > 1 for v in d.values()),
    ]  # fmt: skip


def spread(x: float = 2.0) -> list[Any]:
    d = {"a": x, "b": 1.0}
    return [{**d}, {**d, "b": 3.0, "c": x}, {"b": 0.0, **d}, {"a": 1.0, "a": x}, {**d, **{"b": x}, "a": 0.0}]


def comprehensions(x: float = 2.0, grads: dict[str, float] = {"w": 0.5, "b": 1.0}) -> list[Any]:
    params = {"w": x, "b": 1.0}
    return [
        {k: v * x for k, v in params.items()}, {k: params[k] - 0.1 * grads[k] for k in params},
        {k + "2": i for i, k in enumerate(params)}, {i: i * x for i in range(3)}, {k: v for k, v in params.items() if v > 1},
        {(i, j): i * j for i in range(2) for j in range(2)}, {k % 2: k for k in range(4)},
    ]  # fmt: skip


def other_keys(x: float = 2.0) -> list[Any]:
    d = {}
    for i in range(3):
        d[i] = x * i
    d[1, 2] = x
    d["t"] = 1.0
    return [d[2.0], d[(1, 2)], d["t"], 1 in d, 5 in d, (1, 2) in d, "1" in d, d[True], len(d)]


def a_memory(n: int = 12, x: float = 1.5) -> float:
    memory = {0: x, 1: 1.0}
    for i in range(2, n):
        memory[i] = memory[i - 1] + memory[i - 2]
    return memory[n - 1]


def counted(letters: str = "abracadabra") -> dict[str, int]:
    counts = {}
    for letter in letters:
        counts[letter] = counts.get(letter, 0) + 1
    return counts


def equal(x: float = 2.0) -> list[bool]:
    d = {"a": x, "b": [1.0, x]}
    return [d == {"b": [1.0, 2.0], "a": 2.0}, d == {"a": 2.0}, d != {"a": 2.0, "b": 3.0}, {} == {}, {} == [], d == 3.0, [d] == [d]]


def missing(x: float = 2.0) -> float:
    return {"a": x}["b"]


def missing_number(x: float = 2.0) -> float:
    return {1: x}[2]


def no_hash(x: float = 2.0) -> Any:
    return {k: x for k in [[1.0]]}


def of_a_number(x: float = 2.0) -> float:
    return x["a"]


def no_pairs(x: float = 2.0) -> Any:
    return x.items()


def in_branches(x: float = 2.0) -> dict[str, float]:
    state = {"lo": 0.0, "hi": 4.0}
    for _ in range(30):
        mid = 0.5 * (state["lo"] + state["hi"])
        if mid * mid < x:
            state["lo"] = mid
        else:
            state = {**state, "hi": mid}
    return state


def adam(x: float = 3.0, steps: int = 5) -> float:
    params = {"a": x, "b": -1.0}
    m = {k: 0.0 for k in params}
    v = {k: 0.0 for k in params}
    for step in range(1, steps + 1):
        grads = {"a": 2 * params["a"], "b": params["b"] + params["a"]}
        m = {k: 0.9 * m[k] + 0.1 * grads[k] for k in params}
        v = {k: 0.99 * v[k] + 0.01 * grads[k] ** 2 for k in params}
        params = {k: params[k] - 0.1 * (m[k] / (1 - 0.9**step)) / ((v[k] / (1 - 0.99**step)) ** 0.5 + 1e-8) for k in params}
    return params["a"] * params["b"]


def written(x: str = "a") -> str:
    return f"{({x: 'b'})} {({})}"


def changed_while_looping(x: float = 2.0) -> list[Any]:
    d, e, f = {"a": x, "b": 1.0}, {"a": x, "b": 1.0}, {"a": x, "b": 1.0}
    for key in d:
        d[key] = d[key] * 2
    for key, value in e.items():
        e[key] = value + e["a"]
    for key in f.keys():
        f[key] -= 1.0
    return [d, e, f]


def views_as_sets(x: float = 1.0) -> list[Any]:
    d, e = {"a": x, "b": 2.0}, {"b": 2.0, "a": x, "c": 3.0}
    return [
        d.keys() == e.keys(), d.keys() == {"b", "a"}, {"a"} != d.keys(), d.keys() < e.keys(), d.keys() & {"a", "z"}, d.keys() | e.keys(),
        e.keys() - d.keys(), d.items() == e.items(), d.items() <= e.items(), d.keys() ^ e.keys(), "a" in d.keys(), {"a", "b"} - d.keys(),
    ]  # fmt: skip
