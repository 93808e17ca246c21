"""The emulation of the output of NVIDIA's compiler: PTX instructions, each compared with its manual, and detected faults."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pretended_cupy
import pytest
from emulated_ptx import translated

C_KINDS = {np.dtype("f8"): "double", np.dtype("f4"): "float", np.dtype("i8"): "long", np.dtype("i4"): "int"}


@pytest.fixture
def cupy() -> Iterator[Any]:
    with pretended_cupy.pretended("ptx") as module:
        yield module


def run(cupy: Any, body: str, out: Any, *operands: Any, threads: int = 32) -> np.ndarray:
    """The contents of `out` after a kernel; operands are a, b, …"""
    arrays = [np.asarray(x) for x in operands]
    parameters = [
        f"const {C_KINDS[x.dtype]} *__restrict__ {name}" for name, x in zip("abc", arrays, strict=False)
    ]
    place = cupy.asarray(np.asarray(out))
    head = ", ".join([f"{C_KINDS[np.asarray(out).dtype]} *__restrict__ out", *parameters])
    text = f'extern "C" __global__ void kernel_0({head}) {{\n  int i = threadIdx.x;\n  {body}\n}}\n'
    call = cupy.RawModule(code=text).get_function("kernel_0")
    call((1,), (threads,), (place, *[cupy.asarray(x) for x in arrays]))
    found: np.ndarray = place.get()
    return found


X, Y = np.array([1.5, -2.25, 1e300, 1 / 3]), np.array([1 / 3, 3.0, -1e-300, 2 / 3])
N = np.array([5, -7, 2**31 - 1, -(2**31)], np.int32)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i] * b[i]", X * Y),
        ("a[i] / b[i]", [4.5, -0.75, -math.inf, 0.5]),
        ("fma(b[i], 3, -1)", [-(2.0**-54) * 1, 8, -1, 1 - 2.0**-53]),
        ("fmin(a[i], b[i])", np.fmin(X, Y)),
        ("copysign(a[i], b[i])", np.copysign(X, Y)),
        ("-fabs(a[i])", -abs(X)),
        ("floor(a[i]) + ceil(b[i])", np.floor(X) + np.ceil(Y)),
        ("rint(a[i])", np.rint(X)),
        ("trunc(b[i])", np.trunc(Y)),
        ("sqrt(fabs(a[i]))", np.sqrt(abs(X))),
        ("(float)b[i]", Y.astype(np.float32).astype(float)),
        ("a[i] < b[i] ? 1 : 2", np.where(X < Y, 1, 2)),
        ("isnan((1e300 * a[i] - 1e300 * a[i])) ? 1 : 0", [0, 0, 1, 0]),
        ("exp(b[i])", np.exp(Y)),
        ("sin(1e9 * b[i])", [math.sin(1e9 * y) for y in Y]),
    ],
)
def test_reals(cupy: Any, text: str, expected: Any) -> None:
    found = run(cupy, f"if (i < 4) out[i] = {text};", np.zeros(4), X, Y)
    assert found == pytest.approx(np.asarray(expected, float), rel=4e-16, abs=0)


def directed(x: float, y: float, upward: bool) -> float:
    """A sum rounded in a direction: the nearest number, or its neighbour."""
    nearest = x + y
    exact = Fraction(x) + Fraction(y)
    if upward:
        return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


def test_rounding_to_one_side(cupy: Any) -> None:
    a, b = np.array([1.0, -1.0, 0.1, 0.7]), np.array([1e-30, 1e-30, 0.2, 0.1])
    up = run(cupy, "if (i < 4) out[i] = __dadd_ru(a[i], b[i]);", np.zeros(4), a, b)
    down = run(cupy, "if (i < 4) out[i] = __dadd_rd(a[i], b[i]);", np.zeros(4), a, b)
    assert up.tolist() == [directed(x, y, True) for x, y in zip(a, b, strict=True)]
    assert down.tolist() == [directed(x, y, False) for x, y in zip(a, b, strict=True)]
    assert (up > down).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i] + 1", [6, -6, -(2**31), 1 - 2**31]), ("a[i] * 3", [15, -21, 2**31 - 3, -(2**31)]),
        ("a[i] >> 1", N >> 1), ("(unsigned)a[i] >> 3", [int(n) % 2**32 >> 3 for n in N]),
        ("a[i] / 3", [1, -2, (2**31 - 1) // 3, -715827882]),
        ("a[i] % 3", [2, -1, 1, -2]), ("__clz(a[i])", [29, 0, 1, 0]), ("__mulhi(a[i], a[i])", [int(n) ** 2 >> 32 for n in N]),
        ("abs(a[i] + 1)", [6, 6, -(2**31), 2**31 - 1]), ("min(a[i], 6)", [5, -7, 6, -(2**31)]),
        ("(int)(a[i] * 1e10)", [2**31 - 1, -(2**31), 2**31 - 1, -(2**31)]), ("(int)(0.0 / (a[i] - a[i]))", [0] * 4),
        ("(int)(((long)a[i] * a[i]) >> 5)", [((int(n) ** 2 >> 5) + 2**31) % 2**32 - 2**31 for n in N]),
    ],
)  # fmt: skip
def test_whole_numbers(cupy: Any, text: str, expected: Any) -> None:
    found = run(cupy, f"if (i < 4) out[i] = {text};", np.zeros(4, np.int32), N)
    assert found.tolist() == np.asarray(expected).astype(np.int64).tolist()


def test_small_floats_are_zero(cupy: Any) -> None:
    """As CuPy requests."""
    given = np.array([1e-39, -1e-39, 1e-30, 1.0], np.float32)
    found = run(cupy, "if (i < 4) out[i] = a[i] * 0.5f;", np.ones(4, np.float32), given)
    assert found.tolist() == [0, 0, np.float32(0.5e-30), 0.5] and np.signbit(found[1])


def test_threads_meet_and_share(cupy: Any) -> None:
    body = "__shared__ double kept[32]; kept[i] = i; __syncthreads(); out[i] = kept[31 - i] + kept[0];"
    assert run(cupy, body, np.zeros(32)).tolist() == list(range(31, -1, -1))


def test_adding_at_one_place(cupy: Any) -> None:
    assert run(cupy, "atomicAdd(out + i % 2, 1.5);", np.zeros(2)).tolist() == [24, 24]


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = 1;", "out[-1] = 1;", "out[0] = a[3 + i];", "*(double *)((char *)out + 4) = 1;",
        "__shared__ double kept[32]; kept[i + 1] = i; __syncthreads(); out[0] = kept[i];",
    ],
)  # fmt: skip
def test_what_a_gpu_would_trap_at_is_a_fault(cupy: Any, body: str) -> None:
    with pytest.raises(AssertionError, match="a place beyond an array, or one that lies askew"):
        run(cupy, body, np.zeros(4), np.ones(4))


def test_what_is_not_known_is_an_error() -> None:
    for text in ("tex.1d.v4.f32 %f1, [a];", "add.sat.s32 %r1, %r1, %r1;", "mov.u32 %r1, %clock;"):
        with pytest.raises((ValueError, KeyError)):
            translated(f".visible .entry kernel_0(\n)\n{{\n.reg .b32 %r<9>;\n{text}\nret;\n}}\n")
