"""Where tensors are: the devices that a program can name, and the way from one to another.

    cpu     NumPy
    cuda    CuPy, where that is installed (the extra `cuda`) and finds a GPU

A row makes a tensor where its operands are. What has none, a literal too, is made on the device of the session, which says so
for as long as it evaluates. Arrays from Python may be of any library that follows the array-API standard; the devices of those
have names that nobody can ask for, but see. A library is imported when its device is first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

from vlad.data.errors import VladError
from vlad.data.tensors import SORT, Array, load_numpy, namespace, on_host

COMPILED = ("cpu", "cuda")  # the devices for which there is a compiler
CURRENT: ContextVar[str] = ContextVar("CURRENT", default="cpu")


class Device:
    """A device: its name, its array library, and what that is told where to make an array."""

    __slots__ = ("_where", "name", "xp")

    def __init__(self, name: str, xp: Any, **where: Any) -> None:
        self.name = name
        self.xp = xp
        self._where = where

    def make(self, function: str, *operands: Any, **keywords: Any) -> Array:
        """What a function of the library makes here: zeros, arange, …"""
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
            hint=f"it needs CuPy, which `pip install 'vlad-lang[cuda]'` brings ({error})",
        ) from None  # fmt: skip
    if not cupy.cuda.is_available():
        raise VladError("no-device", "There is no device cuda here", hint="CuPy finds no GPU that it can use")
    return Device("cuda", cupy)


DEVICES: dict[str, Callable[[], Device]] = {"cpu": _cpu, "cuda": _cuda}
_found: dict[str, Device] = {}


def device_named(name: str) -> Device:
    """The device of a name. Raises VladError where there is none."""
    found = _found.get(name)
    if found is None:
        if name not in DEVICES:
            known = " and ".join(DEVICES)
            raise VladError("no-device", f"There is no device {name}", hint=f"devices are {known}")
        found = _found[name] = DEVICES[name]()
    return found


def current() -> Device:
    """Where a tensor is made that comes of no other."""
    return device_named(CURRENT.get())


def name_of(array: Array) -> str:
    """The name of an array's device."""
    library = namespace(array).__name__
    if library == "numpy":
        return "cpu"
    if library == "cupy":
        return "cuda" if array.device.id == 0 else f"cuda:{array.device.id}"
    return f"{library} {array.device}"


def device_of(array: Array) -> Device:
    """The device of an array."""
    name = name_of(array)
    return device_named(name) if name in DEVICES else Device(name, namespace(array), device=array.device)


def moved(array: Array, target: Device) -> Array:
    """The same numbers on a device."""
    if name_of(array) == target.name:
        return array
    if namespace(array) is target.xp and target.name not in DEVICES:
        return target.asarray(array)
    return target.asarray(on_host(array))


def add_at(array: Array, axis: int, indices: Array, updates: Array) -> None:
    """Add to the parts of an array at a vector of indices along an axis, which may name one several times.

    The standard has no such function. NumPy and, for reals, CuPy have one; else it is one part after the other.
    """
    xp, before = namespace(array), (slice(None),) * axis
    if xp.__name__ == "numpy" or (xp.__name__ == "cupy" and SORT[array.dtype] == "f"):
        xp.add.at(array, (*before, indices), updates)
        return
    for place in range(indices.shape[0]):
        array[(*before, int(indices[place]), ...)] += updates[(*before, place, ...)]


def stable_order(keys: Array, axis: int = -1) -> Array:
    """The indices that sort an array along an axis, equal ones in their order: always so by the standard and CuPy, by NumPy when
    asked."""
    xp = namespace(keys)
    return xp.argsort(keys, axis=axis, stable=True) if xp.__name__ == "numpy" else xp.argsort(keys, axis=axis)


def sums_along(array: Array, axis: int) -> Array:
    """The sums of all entries up to each along an axis; NumPy has the standard's name from 2.1 on only."""
    xp = namespace(array)
    return (xp.cumsum if hasattr(xp, "cumsum") else xp.cumulative_sum)(array, axis=axis)


def is_failure(error: Exception) -> bool:
    """Is an exception the GPU's, or that of a library on it?"""
    return type(error).__module__.partition(".")[0] in ("cupy", "cupyx", "cupy_backends")


def checking_singularity(array: Array) -> AbstractContextManager[Any]:
    """Within it a singular matrix is an error of the library, LinAlgError; CuPy would not look otherwise, for looking waits."""
    if namespace(array).__name__ == "cupy":
        import cupyx

        errors: AbstractContextManager[Any] = cupyx.errstate(linalg="raise")
        return errors
    return nullcontext()
