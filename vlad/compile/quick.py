"""Arrays and floats of Python straight to machine code, and back.

In: a compiled procedure whose operands are reals and tensors of reals, and whose answer is one.  Out: a callable that Python's
`Procedure` asks first. It answers NotImplemented for whatever it is not made for, errors included: then the usual way is taken,
which converts, chooses among variants and explains. Limits of time and memory are kept there only (tiers.py asks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vlad.compile.abi import ffi
from vlad.compile.interrupts import Interruptible
from vlad.core.types import has_tangents, is_tensor

Quick = Callable[[tuple[Any, ...]], Any]


def quick(compiled: Any, words: Any, answers: Any) -> Quick | None:
    """The callable for a calls.Compiled, if there can be one. `words` and `answers` are what machine code reads and writes."""
    interface, lock, handle, stop = compiled.interface, compiled.lock, compiled.handle, compiled.stop
    call = handle.vlad_call
    result = interface.result
    if interface.acts or interface.counts or result is None:
        return None
    if not all(type_.kind == "real" or _is_of_reals(type_) for type_ in (*interface.operands, result)):
        return None
    if not any(is_tensor(type_) for type_ in (*interface.operands, result)):
        return None  # that is `vlad_direct`
    import numpy

    shapes = [type_.of.shape if is_tensor(type_) else None for type_ in interface.operands]
    count, float64, ndarray = len(shapes), numpy.dtype(numpy.float64), numpy.ndarray
    from_buffer, memmove, empty = ffi.from_buffer, ffi.memmove, numpy.empty
    shape = result.of.shape if is_tensor(result) else None
    size = 8 * result.of.size if shape is not None else 0
    places = list(enumerate(shapes))

    def called(arguments: tuple[Any, ...]) -> Any:
        if len(arguments) != count:
            return NotImplemented
        with lock:
            for index, wanted in places:
                argument = arguments[index]
                if wanted is None:
                    if type(argument) is not float:
                        return NotImplemented
                    words[index].d = argument
                    continue
                if type(argument) is not ndarray or argument.dtype is not float64 or argument.shape != wanted:
                    return NotImplemented
                if not argument.flags.aligned:
                    return NotImplemented
                try:
                    words[index].p = from_buffer(argument)  # the array outlives the call: the caller holds it
                except ValueError:
                    return NotImplemented  # its entries do not lie side by side
            if stop is None:
                status = call(words, answers)
            else:
                handle.vlad_stop = 0
                with Interruptible(stop):
                    status = call(words, answers)
            if status:
                return NotImplemented
            if shape is None:
                return answers[0].d
            found = empty(shape)
            memmove(from_buffer(found), answers[0].p, size)
        found.setflags(write=False)
        return found

    return called


def _is_of_reals(type_: Any) -> bool:
    return is_tensor(type_) and has_tangents(type_)
