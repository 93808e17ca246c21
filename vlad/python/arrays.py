"""Arrays of Python as tensors: what other libraries export, and what may become a real.

In: an array, or an object that has one.  Out: a tensor that shares its memory. Called by convert.py and callables.py.
"""

from __future__ import annotations

from typing import Any

from vlad.data.errors import no_counterpart
from vlad.data.tensors import SORT, frozen, is_array, kind_name, load_numpy, made, namespace
from vlad.data.values import LARGEST_WHOLE, Value

INEXACT = (
    "whole numbers are exact up to 2**53: `float(n)` and `x.astype(float)` round, `math.inf` is beyond all"
)


def is_beyond(value: float) -> bool:
    """Is it a whole number, as such, that need not be a real?"""
    return isinstance(value, int) and not -LARGEST_WHOLE <= value <= LARGEST_WHOLE


def expect_exact(value: Any) -> None:
    """Raise NoCounterpart if a number, or one of an array, is a whole one beyond LARGEST_WHOLE, which reals would round: a
    number that is read from an array is a real.
    """
    if is_beyond(value):
        is_short = abs(value) < 10**40
        raise no_counterpart(
            f"The whole number {value}" if is_short else "A whole number of this size", INEXACT
        )
    if not is_array(value) or kind_name(value.dtype) not in ("int64", "uint64") or not value.size:
        return
    xp = namespace(value)
    if int(xp.max(value)) > LARGEST_WHOLE or int(xp.min(value)) < -LARGEST_WHOLE:
        what = f"An array of {kind_name(value.dtype)} with a whole number beyond 2**53"
        raise no_counterpart(what, INEXACT)


def exported(value: Any) -> Any:
    """The array that an object of another library exports: by DLPack (PyTorch) or as a buffer without a copy, or by `__array__`
    (columns of pandas, polars and pyarrow). None for other objects. Raises NoCounterpart if the object refuses.
    """
    kind = type(value)
    if kind is memoryview or kind.__module__ == "array":
        return load_numpy().asarray(value)
    refusal: Exception | None = None
    if hasattr(kind, "__dlpack__"):
        try:
            return load_numpy().from_dlpack(value)
        except (
            Exception
        ) as error:  # whatever the library raises, as of a tensor that records gradients, or is on a GPU
            refusal = error
    if hasattr(kind, "__array__"):
        try:
            return load_numpy().asarray(value)
        except Exception as error:
            refusal = refusal or error
    if refusal is not None:
        raise no_counterpart(f"This {kind.__name__}", f"its library does not export it: {refusal}")
    return None


def tensor_of(array: Any) -> Value:
    """An array as a tensor, without a copy if its layout matches this machine's: it must not be modified while
    the tensor exists. Numbers of 16 bits become those of 32. Raises NoCounterpart if its entries are no numbers or booleans.
    """
    if kind_name(array.dtype) == "float16":
        xp = namespace(array)
        array = xp.astype(array, xp.float32)
    if not SORT[array.dtype]:
        raise no_counterpart(
            f"An array of {array.dtype}", "the entries of a tensor are reals, integers or booleans"
        )
    if hasattr(array, "mask"):
        raise no_counterpart("An array with a mask", "`filled` makes one without")
    # a subclass of NumPy's may redefine operators
    if hasattr(array, "setflags") and type(array).__name__ != "ndarray":
        array = array.view(array.__array_namespace__().ndarray)
    if hasattr(array, "setflags") and not (array.flags.aligned and array.dtype.isnative):
        array = array.astype(array.dtype.newbyteorder("="))
    return made(frozen(array))
