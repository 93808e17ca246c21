"""Arrays and floats of Python straight to machine code, and back.

In: a compiled procedure whose operands are reals and tensors, and whose answer is one, or a list of such.
Out: a callable that Python's `Procedure` asks first. It answers NotImplemented for whatever it is not made for, errors included:
then the usual way is taken, which converts, chooses among variants and explains. Limits of time and memory are kept there
only (tiers.py asks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vlad.compile.abi import ffi
from vlad.compile.interrupts import Interruptible
from vlad.core.kernels import SIZES
from vlad.core.types import is_tensor

Quick = Callable[[tuple[Any, ...]], Any]


def quick(compiled: Any, words: Any, answers: Any) -> Quick | None:
    """The callable for a calls.Compiled, if there can be one. `words` and `answers` are what machine code reads and writes."""
    interface, handle, stop = compiled.interface, compiled.handle, compiled.stop
    lock, busy = compiled.lock, compiled.busy
    call = handle.vlad_call
    result = interface.result
    if interface.acts or interface.counts or result is None:
        return None
    elements = _elements(interface.layout.types, result)
    if elements is None or not all(_is_number(type_) for type_ in interface.operands):
        return None
    if not any(is_tensor(type_) for type_ in (*interface.operands, *elements)):
        return None  # that is `vlad_direct`
    import numpy

    dtypes = {kind: numpy.dtype(kind) for kind in SIZES}
    shapes = [
        (type_.of.shape, dtypes[type_.of.kind]) if is_tensor(type_) else (None, None)
        for type_ in interface.operands
    ]
    count, ndarray = len(shapes), numpy.ndarray
    from_buffer, memmove, empty = ffi.from_buffer, ffi.memmove, numpy.empty
    places = [(index, *wanted) for index, wanted in enumerate(shapes)]

    def taken(index: int, type_: Any) -> Callable[[], Any]:
        word = answers[index]
        if not is_tensor(type_):
            return lambda: word.d
        shape, dtype = type_.of.shape, dtypes[type_.of.kind]
        size = type_.of.size * SIZES[type_.of.kind]

        def array() -> Any:
            found = empty(shape, dtype)
            memmove(from_buffer(found), word.p, size)
            found.setflags(write=False)
            return found

        return array

    targets = {index: compiled.behind + at for at, index in enumerate(interface.places)}
    fresh: dict[int, Any] = {}  # the arrays to which the call under way writes itself

    def placed(index: int) -> Callable[[], Any]:
        def array() -> Any:
            words[targets[index]].p = ffi.NULL
            found = fresh.pop(index)
            found.setflags(write=False)
            return found

        return array

    takers = [placed(i) if i in targets else taken(i, type_) for i, type_ in enumerate(elements)]
    only = takers[0] if result.kind != "pair" else None

    def answered(arguments: tuple[Any, ...]) -> Any:
        for index, wanted, dtype in places:
            argument = arguments[index]
            if wanted is None:
                if type(argument) is not float:
                    return NotImplemented
                words[index].d = argument
                continue
            if type(argument) is not ndarray or argument.dtype is not dtype or argument.shape != wanted:
                return NotImplemented
            if not argument.flags.aligned:
                return NotImplemented
            try:
                words[index].p = from_buffer(argument)  # the array outlives the call: the caller holds it
            except ValueError:
                return NotImplemented  # its entries do not lie side by side
        for index, target in targets.items():
            type_ = elements[index].of
            fresh[index] = found = empty(type_.shape, dtypes[type_.kind])
            words[target].p = from_buffer(found)
        if stop is None:
            status = call(words, answers)
        else:
            handle.vlad_stop = 0
            with Interruptible(stop):
                status = call(words, answers)
        if status:
            return NotImplemented
        return only() if only is not None else [take() for take in takers]

    def called(arguments: tuple[Any, ...]) -> Any:
        if len(arguments) != count:
            return NotImplemented
        with lock:
            if busy:
                return NotImplemented
            try:
                busy.append(lock)
                return answered(arguments)
            finally:
                busy.clear()

    return called


def _elements(types: Any, type_: Any) -> list[Any] | None:
    """The type itself, or those of the elements of a list: reals and tensors. None where there are others."""
    found = []
    while type_.kind == "pair":
        found.append(types.canonical(type_.parts[0]))
        type_ = types.canonical(type_.parts[1])
    if not found:
        found.append(type_)
    elif type_.of != ():
        return None
    return found if all(_is_number(one) for one in found) else None


def _is_number(type_: Any) -> bool:
    return bool(type_.kind == "real" or is_tensor(type_))
