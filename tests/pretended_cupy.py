"""CuPy without a GPU: a module `cupy` over NumPy for tests, which differs from NumPy as CuPy itself does.

    arrays      are of a type of their own, which NumPy's functions and operators reject, and which reject NumPy's arrays;
                an entry or a sum is an array of rank 0, not a number; arrays cannot be made read-only
    names       missing in CuPy 14 are missing here; if CuPy is installed, it is inspected (this needs no GPU), including
                its keyword parameters
    errors      systems of equations must have equal batch shapes, without broadcasting; a singular matrix is no error unless
                cupyx.errstate is set; neither are indices out of range
    RawModule   compiles CUDA text as C, or translates the assembly of NVIDIA's compiler to C (emulated_ptx.py), and
                runs the threads of a block one after the other up to each barrier, in alternating order

So it detects wrong uses of CuPy, not the behaviour of a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_ptx import translated
from nvidia import ARCHITECTURES, compiled, needed

MISSING = {
    "block", "einsum_path", "errstate", "insert", "matvec", "nditer", "spacing", "unstack", "vecdot", "vecmat",
    "linalg.diagonal", "linalg.matrix_norm", "linalg.multi_dot", "linalg.outer", "linalg.svdvals", "linalg.tensordot",
    "linalg.trace", "linalg.vecdot", "linalg.vector_norm", "setflags", "to_device", "ctypes",
}  # fmt: skip
ASK = """
import inspect, json, warnings
warnings.simplefilter("ignore")
import cupy, cupyx

def named(function):
    if type(function).__name__ == "ufunc":
        return ["out", "dtype", "casting"]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return None if any(p.kind == p.VAR_KEYWORD for p in parameters) else [p.name for p in parameters]

print(json.dumps({
    prefix + name: named(getattr(owner, name)) if callable(getattr(owner, name)) else None
    for prefix, owner in (
        ("", cupy), ("linalg.", cupy.linalg), ("ndarray.", cupy.ndarray), ("cuda.", cupy.cuda), ("add.", cupy.add),
        ("lib.stride_tricks.", cupy.lib.stride_tricks), ("cupyx.", cupyx),
    )
    for name in dir(owner)
}))
"""  # CuPy's contents, by name; for functions, the names of their operands, if available
IS_INSTALLED = importlib.util.find_spec("cupy") is not None
NUMBERS = (bool, int, float, np.generic)
WAYS = ("text", "ptx")  # in which kernels are run
settings = {"linalg": "ignore", "kernels": "text"}
pinned_ranges: list[int] = []  # starts and ends of memory of the host that kernels may read
kept_memory: list[Any] = []
running: list[Future[None]] = []  # kernels that the host does not wait for, in `asynchronous` tests


@functools.cache
def real() -> dict[str, list[str] | None] | None:
    """What CuPy itself has; None where it is not installed."""
    if not IS_INSTALLED:
        return None
    asked = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    found: dict[str, list[str] | None] = json.loads(asked.stdout)
    return found


def expect_name(path: str, keywords: Iterable[str] = ()) -> None:
    """That CuPy has a name, and its function operands of these names. Raises AttributeError, or TypeError."""
    known = real()
    if path.removeprefix("ndarray.") in MISSING or (known is not None and path not in known):
        raise AttributeError(f"module 'cupy' has no attribute '{path}'")
    taken = None if known is None else known[path]
    for keyword in keywords:
        if taken is not None and keyword not in taken:
            raise TypeError(f"{path}() got an unexpected keyword argument '{keyword}'")


class Array(np.lib.mixins.NDArrayOperatorsMixin):
    """An array "on the GPU"."""

    __array_priority__ = 100
    device = types.SimpleNamespace(id=0)

    def __init__(self, held: np.ndarray) -> None:
        self.held = held

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        return wrapped(getattr(ufunc, method)(*map(bare, operands), **bare(keywords)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        expect_name(f"ndarray.{name}")
        found = getattr(self.held, name)
        return checked(found, f"ndarray.{name}") if callable(found) else wrapped(found)

    def __getitem__(self, index: Any) -> Array:
        return Array(np.asarray(self.held[self._within(index)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.held[self._within(index)] = bare(value)

    def _within(self, index: Any) -> Any:
        """Places out of range are taken from the other end."""
        axes = index if isinstance(index, tuple) else (index,)
        found = []
        for axis, one in enumerate(axes):
            one = bare(one)
            if isinstance(one, np.ndarray) and one.dtype.kind in "iu" and Ellipsis not in axes[:axis]:
                one = one % self.held.shape[axis]
            found.append(one)
        return tuple(found)

    def __iter__(self) -> Iterator[Array]:
        return (self[place] for place in range(len(self.held)))

    def __len__(self) -> int:
        return len(self.held)

    def __float__(self) -> float:
        return float(self.held)

    def __int__(self) -> int:
        return int(self.held)

    def __bool__(self) -> bool:
        return bool(self.held)

    def get(self) -> np.ndarray:
        return self.held.copy()

    def item(self) -> Any:
        return self.held.item()


Array.__module__ = "cupy"


def wrapped(value: Any) -> Any:
    """Arrays and numbers of NumPy as those of the GPU."""
    if isinstance(value, np.ndarray | np.generic):
        return Array(np.asarray(value))
    if isinstance(value, tuple | list):
        found = [wrapped(part) for part in value]
        return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)
    return value


def bare(value: Any) -> Any:
    """What NumPy takes instead."""
    if isinstance(value, Array):
        return value.held
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, tuple | list):
        return type(value)([bare(part) for part in value])
    if isinstance(value, dict):
        return {name: bare(part) for name, part in value.items()}
    return value


def checked(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*operands: Any, **keywords: Any) -> Any:
        expect_name(path, keywords)
        with np.errstate(all="ignore"):
            return wrapped(function(*map(bare, operands), **bare(keywords)))

    return call


class Library(types.ModuleType):
    """A module whose functions are NumPy's, on its own arrays."""

    def __init__(self, name: str, numpy: Any, **own: Any) -> None:
        super().__init__(name)
        self.__dict__.update(own)
        self._numpy = numpy
        self._prefix = name.partition(".")[2]

    def __getattr__(self, name: str) -> Any:
        path = f"{self._prefix}.{name}".lstrip(".")
        if name.startswith("_"):
            raise AttributeError(f"module 'cupy' has no attribute '{path}'")
        expect_name(path)
        found = getattr(self._numpy, name)
        return checked(found, path) if callable(found) and not isinstance(found, type) else found


def asarray(data: Any, dtype: Any = None, **_: Any) -> Array:
    """From the host, too."""
    return Array(np.asarray(_held(data), dtype=dtype))


def array(data: Any, dtype: Any = None, copy: bool = True) -> Array:
    return Array(np.array(_held(data), dtype=dtype, copy=copy))


def _held(data: Any) -> Any:
    if isinstance(data, Array):
        return data.held
    return [_held(part) for part in data] if isinstance(data, list | tuple) else data


def take(array: Array, indices: Any, axis: int | None = None, out: Any = None, mode: str = "wrap") -> Array:
    return Array(np.asarray(np.take(bare(array), bare(indices), axis=axis, mode="wrap")))


def solve(a: Array, b: Array) -> Array:
    if b.ndim == 1:
        if a.shape[-1] != b.size:
            raise ValueError("a must have (..., M, M) shape and b must have (M,) for one-dimensional b")
    elif a.shape[:-1] != b.shape[:-1]:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")
    if a.ndim > 2 and a.size and b.shape[-1] == 0:
        raise ZeroDivisionError("division by zero")  # in batched_gesv
    return _forgiving(np.linalg.solve, a.held, b.held, shape=b.shape)


def inv(a: Array) -> Array:
    return _forgiving(np.linalg.inv, a.held, shape=a.shape)


def cholesky(a: Array) -> Array:
    return _forgiving(np.linalg.cholesky, a.held, shape=a.shape)


def _forgiving(rule: Callable[..., Any], *operands: Any, shape: Sequence[int]) -> Array:
    try:
        return Array(rule(*operands))
    except np.linalg.LinAlgError:
        if settings["linalg"] == "raise":
            raise
        return Array(np.full(shape, np.nan))


def add_at(array: Array, index: Any, updates: Any) -> None:
    np.add.at(array.held, array._within(index), bare(updates))


@contextlib.contextmanager
def errstate(linalg: str) -> Iterator[None]:
    before = settings["linalg"]
    settings["linalg"] = linalg
    try:
        yield
    finally:
        settings["linalg"] = before


# CUDA text, emulated.

EMULATION = """
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <ucontext.h>
#include <setjmp.h>
#define __global__ static
#define __device__
#define __shared__ static
struct vlad_dimension { unsigned x; };
static struct vlad_dimension blockIdx, threadIdx, blockDim, gridDim;
static ucontext_t emulated_here, emulated_threads[1024];
static char emulated_stacks[1024][32768];
static unsigned char emulated_shared[65536] __attribute__((aligned(16)));
struct emulated_range { uint64_t start, end; };
static struct emulated_range const *emulated_ranges; /* that a kernel may touch */
static int emulated_count, emulated_fault;
static int emulated_ended[1024];
static void __syncthreads(void) {
  int own = threadIdx.x;
  swapcontext(&emulated_threads[own], &emulated_here);
  threadIdx.x = own;
}
#define atomicAdd(place, value) (*(place) += (value))
#define atomicMin(place, value) (*(place) > (value) ? *(place) = (value) : 0)
static jmp_buf emulated_exits[1024];
static void emulated_exit(void) { longjmp(emulated_exits[threadIdx.x], 1); }
#define VLAD_EXIT emulated_exit()
"""
RUN = """
static void **emulated_operands;
static void emulated_NAME(int own) {
  if (!_setjmp(emulated_exits[own])) NAME(ACTUAL);
  emulated_ended[own] = 1;
}
int run_NAME(long blocks, long threads, void **operands, struct emulated_range const *ranges, long count) {
  emulated_operands = operands;
  emulated_ranges = ranges; emulated_count = count; emulated_fault = 0;
  blockDim.x = threads; gridDim.x = blocks;
  for (long block = 0; block < blocks; block++) {
    blockIdx.x = block;
    memset(emulated_ended, 0, sizeof emulated_ended);
    if (!MEETS) {
      for (long own = 0; own < threads; own++) { threadIdx.x = own; emulated_NAME(own); }
      continue;
    }
    for (long own = 0; own < threads; own++) {
      getcontext(&emulated_threads[own]);
      emulated_threads[own].uc_stack.ss_sp = emulated_stacks[own];
      emulated_threads[own].uc_stack.ss_size = sizeof emulated_stacks[own];
      emulated_threads[own].uc_link = &emulated_here;
      makecontext(&emulated_threads[own], (void (*)(void))emulated_NAME, 1, (int)own);
    }
    for (long round = 0, ended = 0; ended < threads; round++) {
      if (ended) return 1; /* some wait for others that have ended */
      for (long turn = 0; turn < threads; turn++) {
        long own = round % 2 ? threads - 1 - turn : turn;
        threadIdx.x = own;
        swapcontext(&emulated_here, &emulated_threads[own]);
        ended += emulated_ended[own];
      }
    }
  }
  return emulated_fault ? 2 : 0;
}
"""
FAULTS = {0: "", 1: "the threads part ways", 2: "a place beyond an array, or one that lies askew"}
C_KINDS = {"double": "float64", "float": "float32", "long": "int64", "int": "int32", "unsigned char": "bool"}
HEAD = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\) \{(.*?)\n\}', re.DOTALL)
_folder = tempfile.TemporaryDirectory(prefix="vlad-emulated-")
launched: list[str] = []  # the names of all functions that were run


class RawModule:
    def __init__(self, *, code: str, options: tuple[str, ...] = ()) -> None:
        self.code = code
        assert all(type(option) is str for option in options)

    @functools.cached_property
    def functions(self) -> dict[str, tuple[list[str], str]]:
        """The parameters and the body of each, by name."""
        return {
            name: (parameters.split(", ") if parameters else [], body)
            for name, parameters, body in HEAD.findall(self.code)
        }

    @functools.cached_property
    def library(self) -> Any:
        runs = []
        for name, (parameters, body) in self.functions.items():
            kinds = [parameter.rsplit(" ", 1)[0] for parameter in parameters]
            actual = ", ".join([f"*({kind} *)emulated_operands[{n}]" for n, kind in enumerate(kinds)])
            meets = str(int("__syncthreads" in body))
            runs.append(RUN.replace("NAME", name).replace("ACTUAL", actual).replace("MEETS", meets))
        code = self.code.replace('extern "C" ', "")
        if settings["kernels"] == "ptx":
            code = translated(compiled(self.code, ARCHITECTURES[-1]))
        text = "\n".join([EMULATION, code, *runs])
        path = Path(_folder.name) / hashlib.sha256(text.encode()).hexdigest()[:24]
        if not path.with_suffix(".so").exists():
            path.with_suffix(".c").write_text(text)
            subprocess.run(
                ["cc", "-O0", "-w", "-shared", "-nostdlib", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing",
                 "-mlong-double-64", "-o", path.with_suffix(".so"), path.with_suffix(".c"), "-lm"], check=True,
            )  # fmt: skip
        return ctypes.CDLL(str(path.with_suffix(".so")))

    def get_function(self, name: str) -> Callable[..., None]:
        run = getattr(self.library, f"run_{name}")
        parameters, _ = self.functions[name]

        def call(grid: tuple[int], block: tuple[int], operands: tuple[Any, ...]) -> None:
            assert type(grid) is type(block) is type(operands) is tuple and len(operands) == len(parameters)
            assert 0 < grid[0] < 1 << 31 and 0 < block[0] <= 1024 and block[0] % 32 == 0
            words: list[Any] = []
            ranges = pinned_ranges[:]
            for operand, parameter in zip(operands, parameters, strict=True):
                if isinstance(operand, Array):
                    kind = parameter.removeprefix("const ").partition(" *")[0]
                    is_part = re.fullmatch(r"p\d+", parameter.split()[-1]) is not None
                    assert kind == "void" or operand.held.dtype == ("float64" if is_part else C_KINDS[kind])
                    assert operand.held.flags.c_contiguous and "*" in parameter
                    start = operand.held.ctypes.data
                    words.append(ctypes.c_void_p(start))
                    ranges += [start, start + operand.held.nbytes]
                else:
                    kind = {float: "double", int: "long"}[type(operand)]
                    assert parameter.split()[0] == kind and "*" not in parameter
                    words.append(ctypes.c_double(operand) if kind == "double" else ctypes.c_long(operand))
            launched.append(name)
            addresses = (ctypes.c_void_p * max(1, len(words)))(*[ctypes.addressof(word) for word in words])
            known = (ctypes.c_uint64 * max(1, len(ranges)))(*ranges)
            shape = ctypes.c_long(grid[0]), ctypes.c_long(block[0])
            fault = FAULTS[run(*shape, addresses, known, ctypes.c_long(len(ranges) // 2))]
            assert not fault, fault

        return call


class Device:
    mem_info = (1 << 26, 1 << 30)  # bytes: free, and all


class Event:
    def __init__(self, disable_timing: bool) -> None:
        self.waits_for: list[Future[None]] = []

    def record(self) -> None:
        self.waits_for = running[-1:]

    @property
    def done(self) -> bool:
        return all(kernel.done() for kernel in self.waits_for)


class Stream:
    def synchronize(self) -> None:
        wait(running)


@contextlib.contextmanager
def asynchronous() -> Iterator[None]:
    """Kernels run as on a GPU: one after the other, beside the host, which continues at once."""
    launch = RawModule.get_function
    with ThreadPoolExecutor(1) as gpu, pytest.MonkeyPatch.context() as patch:
        gpu.submit(int).result()  # the thread begins outside of any evaluation

        def get_function(self: RawModule, name: str) -> Callable[..., None]:
            run = launch(self, name)
            return lambda *operands: running.append(gpu.submit(run, *operands))

        patch.setattr(RawModule, "get_function", get_function)
        yield
        running.clear()


def pinned(size: int) -> Any:
    """Memory of the host that kernels may read."""
    memory = type("Pinned", (ctypes.c_char * size,), {})()
    memory.ptr = ctypes.addressof(memory)
    pinned_ranges.extend([memory.ptr, memory.ptr + size])
    kept_memory.append(memory)
    return memory


def module() -> Library:
    return Library(
        "cupy", np, asarray=asarray, array=array, take=take, ndarray=Array, RawModule=RawModule, __version__="14.2.0",
        cuda=types.SimpleNamespace(
            is_available=lambda: True, Device=Device, Event=Event, alloc_pinned_memory=pinned,
            get_current_stream=Stream),
        linalg=Library("cupy.linalg", np.linalg, solve=solve, inv=inv, cholesky=cholesky),
        lib=types.SimpleNamespace(stride_tricks=types.SimpleNamespace(
            as_strided=checked(np.lib.stride_tricks.as_strided, "lib.stride_tricks.as_strided"))),
        add=types.SimpleNamespace(at=add_at),
    )  # fmt: skip


CUPY = module()


@contextlib.contextmanager
def pretended(way: str = "text") -> Iterator[Library]:
    """With the device cuda in this process; if NVIDIA's compiler is required and missing, the test is skipped."""
    from vlad.data import devices

    if way == "ptx":
        needed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(settings, "kernels", way)
        patch.setitem(sys.modules, "cupy", CUPY)
        patch.setitem(sys.modules, "cupyx", types.SimpleNamespace(errstate=errstate))
        patch.setattr(devices, "_found", {})
        yield CUPY
