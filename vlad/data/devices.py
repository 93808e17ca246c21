"""Devices on which tensors are stored, and transfer between them.

    cpu     NumPy
    cuda    CuPy, if it is installed and finds a GPU

A row makes its result on the device of its operands. A tensor without tensor operands, such as a literal, is made on the
session's device, which the session sets while it evaluates. Arrays from Python may belong to any library that follows the
array-API standard; the names of their devices can be read but not selected. A library is imported when its device is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

from vlad.data.errors import VladError
from vlad.data.tensors import SORT, Array, Tensor, load_numpy, namespace, on_host

COMPILED = ("cpu", "cuda")  # the devices with a compiler
CURRENT: ContextVar[str] = ContextVar("CURRENT", default="cpu")


class Device:
    """A device: its name, its array library, and the keyword arguments that place an array on it."""

    __slots__ = ("_where", "name", "xp")

    def __init__(self, name: str, xp: Any, **where: Any) -> None:
        self.name = name
        self.xp = xp
        self._where = where

    def make(self, function: str, *operands: Any, **keywords: Any) -> Array:
        """Call a creation function of the library (zeros, arange, …) on this device."""
        return getattr(self.xp, function)(*operands, **keywords, **self._where)

    def asarray(self, data: Any, dtype: Any = None) -> Array:
        return self.make("asarray", data, dtype=dtype)


def _cpu() -> Device:
    return Device("cpu", load_numpy())


def _cuda() -> Device:
    try:
        import cupy
    except ImportError as error:
        raise VladError(
            "no-device", "There is no device cuda here",
            hint=f"it needs CuPy, which `pip install cupy-cuda12x` installs ({error})",
        ) from None  # fmt: skip
    if not cupy.cuda.is_available():
        raise VladError("no-device", "There is no device cuda here", hint="CuPy finds no GPU that it can use")
    return Device("cuda", cupy)


DEVICES: dict[str, Callable[[], Device]] = {"cpu": _cpu, "cuda": _cuda}
_found: dict[str, Device] = {}


def device_named(name: str) -> Device:
    """Return the device named `name`. Raises VladError `no-device` if there is none."""
    found = _found.get(name)
    if found is None:
        if name not in DEVICES:
            known = " and ".join(DEVICES)
            raise VladError("no-device", f"There is no device {name}", hint=f"devices are {known}")
        found = _found[name] = DEVICES[name]()
    return found


def current() -> Device:
    """The device on which tensors without tensor operands are made."""
    return device_named(CURRENT.get())


def name_of(array: Array) -> str:
    """Return the name of an array's device."""
    library = namespace(array).__name__
    if library == "numpy":
        return "cpu"
    if library == "cupy":
        return "cuda" if array.device.id == 0 else f"cuda:{array.device.id}"
    return f"{library} {array.device}"


def device_of(array: Array) -> Device:
    """Return the device of an array."""
    name = name_of(array)
    return device_named(name) if name in DEVICES else Device(name, namespace(array), device=array.device)


def moved(array: Array, target: Device) -> Array:
    """Return the array on device `target`: itself if it is there already, else a copy."""
    if name_of(array) == target.name:
        return array
    if namespace(array) is target.xp and target.name not in DEVICES:
        return target.asarray(array)
    return target.asarray(on_host(array))


def add_at(array: Array, axis: int, indices: Array, updates: Array) -> None:
    """Add `updates[…, i, …]` to the part of `array` at `indices[i]` along `axis`, in place. Indices may repeat.

    The array-API standard has no such function. NumPy has one, CuPy has one for reals; other libraries add one part at a time.
    """
    xp, before = namespace(array), (slice(None),) * axis
    if xp.__name__ == "numpy" or (xp.__name__ == "cupy" and SORT[array.dtype] == "f"):
        xp.add.at(array, (*before, indices), updates)
        return
    for place in range(indices.shape[0]):
        array[(*before, int(indices[place]), ...)] += updates[(*before, place, ...)]


def stable_order(keys: Array, axis: int = -1) -> Array:
    """The indices that sort an array stably along an axis. The standard and CuPy always sort stably, NumPy only on request."""
    xp = namespace(keys)
    return xp.argsort(keys, axis=axis, stable=True) if xp.__name__ == "numpy" else xp.argsort(keys, axis=axis)


def sums_along(array: Array, axis: int) -> Array:
    """Cumulative sums along an axis. NumPy has the standard's name, `cumulative_sum`, only from version 2.1."""
    xp = namespace(array)
    return (xp.cumsum if hasattr(xp, "cumsum") else xp.cumulative_sum)(array, axis=axis)


def is_failure(error: Exception) -> bool:
    """Whether an exception comes from the GPU or from a library that uses it."""
    return type(error).__module__.partition(".")[0] in ("cupy", "cupyx", "cupy_backends")


def checking_singularity(array: Array) -> AbstractContextManager[Any]:
    """A context in which a singular matrix raises the library's LinAlgError. CuPy does not check by default, as checking
    synchronises.
    """
    if namespace(array).__name__ == "cupy":
        import cupyx

        errors: AbstractContextManager[Any] = cupyx.errstate(linalg="raise")
        return errors
    return nullcontext()


FEW = 64  # entries: tensors of at most so many are kept as they are


def outline_of(tensor: Tensor) -> Tensor:
    """A tensor of the same shape, kind and device without memory of its own. Reverse phases keep it of a tensor of which they
    need no entries, so a loop that changes a table does not keep each of them.
    """
    like = tensor.like
    if like.size <= FEW:
        return tensor
    if tensor.outline is None:
        zero = device_of(like).make("zeros", (), dtype=like.dtype)
        tensor.outline = Tensor(namespace(like).broadcast_to(zero, like.shape))
    return tensor.outline
