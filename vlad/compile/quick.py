"""Arrays and floats of Python straight to machine code, and back.

In: a compiled procedure whose operands are reals and tensors, and whose answer is one, a list or a tuple of such.
Out: `Quick`, which Python's `Procedure` asks first. Its `leaves` answers NotImplemented for whatever it is not made for, errors
included: then the usual way is taken, which converts, chooses among variants and explains. Limits of time and memory are kept
there only (tiers.py asks).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from vlad.compile.abi import ffi
from vlad.compile.interface import Interface
from vlad.compile.interrupts import Interruptible
from vlad.core.kernels import SIZES
from vlad.core.types import Type, is_tensor, value_of

Leaves = Callable[[tuple[Any, ...]], Any]


class Quick(NamedTuple):
    """`leaves`: from arguments to the reals and arrays of the answer, in their order; `shape`: from these to the answer."""

    leaves: Leaves
    shape: Callable[[Sequence[Any]], Any]


def quick(compiled: Any, words: Any, answers: Any) -> Quick | None:
    """For a calls.Compiled, if there can be one. `words` and `answers` are what machine code reads and writes."""
    interface = compiled.interface
    if interface.acts or interface.counts or interface.result is None:
        return None
    arguments = arguments_of(interface)
    spine = _spine(interface.layout.types, interface.result)
    if spine is None or arguments is None:
        return None
    elements, shape = spine
    if any(is_tensor(type_) for type_ in (*arguments, *elements)):
        return Quick(_of_arrays(compiled, words, answers, arguments, elements), shape)
    if compiled.direct is not None:
        return None  # that is quicker still
    return Quick(_of_reals(compiled, words, answers, len(arguments), elements), shape)


def arguments_of(interface: Interface) -> list[Type] | None:
    """The types of the reals and tensors, a word each, that Python calls it with; by the tuple rule the last operand may be
    several. None where there are others."""
    *found, last = [interface.layout.types.canonical(type_) for type_ in interface.operands]
    while last.kind == "pair":
        found.append(interface.layout.types.canonical(last.parts[0]))
        last = interface.layout.types.canonical(last.parts[1])
    found.append(last)
    return found if all(_is_number(type_) for type_ in found) else None


def _of_reals(compiled: Any, words: Any, answers: Any, count: int, elements: Sequence[Type]) -> Leaves:
    """From so many reals to reals."""
    lock, busy, call = compiled.lock, compiled.busy, _caller(compiled)
    operands, results = ffi.buffer(words), ffi.buffer(answers)
    put = struct.Struct(f"{count}d").pack_into
    take = struct.Struct(f"{len(compiled.interface.results)}d").unpack_from
    constants = {index: value_of(type_) for index, type_ in enumerate(elements) if type_.kind == "constant"}

    def leaves(arguments: tuple[Any, ...]) -> Any:
        if len(arguments) != count:
            return NotImplemented
        for argument in arguments:
            if type(argument) is not float:
                return NotImplemented
        with lock:
            if busy:  # in this very thread
                return NotImplemented
            try:
                busy.append(lock)
                put(operands, 0, *arguments)
                return NotImplemented if call(words, answers) else take(results)
            finally:
                busy.clear()

    if not constants:
        return leaves

    def with_constants(arguments: tuple[Any, ...]) -> Any:
        found = leaves(arguments)
        if found is NotImplemented:
            return found
        rest = iter(found)
        return tuple([constants[i] if i in constants else next(rest) for i in range(len(elements))])

    return with_constants


def _of_arrays(
    compiled: Any, words: Any, answers: Any, types: Sequence[Type], elements: Sequence[Type]
) -> Leaves:
    """From reals and arrays of these types to reals and arrays."""
    import numpy

    lock, busy, call = compiled.lock, compiled.busy, _caller(compiled)
    aim, takers = _takers(compiled, words, answers, elements)
    dtypes = {kind: numpy.dtype(kind) for kind in SIZES}
    arrays = [
        (index, words[index], type_.of.shape, dtypes[type_.of.kind])
        for index, type_ in enumerate(types)
        if is_tensor(type_)
    ]
    reals = [(index, words[index]) for index, type_ in enumerate(types) if not is_tensor(type_)]
    count, ndarray, from_buffer = len(types), numpy.ndarray, ffi.from_buffer
    only = takers[0] if len(takers) == 1 else None

    def leaves(arguments: tuple[Any, ...]) -> Any:
        """In one piece, for each call within costs as much as a product of small arrays."""
        if len(arguments) != count:
            return NotImplemented
        with lock:
            if busy:  # in this very thread
                return NotImplemented
            try:
                busy.append(lock)
                for index, word in reals:
                    argument = arguments[index]
                    if type(argument) is not float:
                        return NotImplemented
                    word.d = argument
                for index, word, shape, dtype in arrays:
                    argument = arguments[index]
                    if (
                        type(argument) is not ndarray
                        or argument.dtype is not dtype
                        or argument.shape != shape
                        or not argument.flags.aligned
                    ):
                        return NotImplemented
                    try:  # the array outlives the call: the caller holds it
                        word.p = from_buffer(argument)
                    except ValueError:
                        return NotImplemented  # its entries do not lie side by side
                if aim is not None:
                    aim()
                if call(words, answers):
                    return NotImplemented
                return (only(),) if only is not None else tuple([take() for take in takers])
            finally:
                busy.clear()

    return leaves


def _takers(
    compiled: Any, words: Any, answers: Any, elements: Sequence[Type]
) -> tuple[Callable[[], None] | None, list[Callable[[], Any]]]:
    """What takes each element of an answer; and what first says where arrays are to be written, if the call can write to a place
    of its caller's."""
    import numpy

    from_buffer, memmove, empty = ffi.from_buffer, ffi.memmove, numpy.empty
    fresh: dict[int, Any] = {}  # the arrays to which the call under way writes itself

    def taken(word: Any, type_: Type) -> Callable[[], Any]:
        if not is_tensor(type_):
            return lambda: word.d
        shape, dtype, size = type_.of.shape, numpy.dtype(type_.of.kind), type_.of.size * SIZES[type_.of.kind]

        def array() -> Any:
            found = empty(shape, dtype)
            memmove(from_buffer(found), word.p, size)
            found.setflags(write=False)
            return found

        return array

    def placed(target: int) -> Callable[[], Any]:
        def array() -> Any:
            words[target].p = ffi.NULL
            found = fresh.pop(target)
            found.setflags(write=False)
            return found

        return array

    def constant(type_: Type) -> Callable[[], Any]:
        value = value_of(type_)
        return lambda: value

    targets = {index: compiled.behind + at for at, index in enumerate(compiled.interface.places)}
    takers: list[Callable[[], Any]] = []
    number = 0  # of the word
    aims = []
    for type_ in elements:
        if type_.kind == "constant":
            takers.append(constant(type_))
            continue
        if number in targets:
            takers.append(placed(targets[number]))
            aims.append((targets[number], type_.of.shape, numpy.dtype(type_.of.kind)))
        else:
            takers.append(taken(answers[number], type_))
        number += 1

    def aim() -> None:
        for target, shape, dtype in aims:
            fresh[target] = found = empty(shape, dtype)
            words[target].p = from_buffer(found)

    return aim if aims else None, takers


def _caller(compiled: Any) -> Callable[[Any, Any], int]:
    """The call itself, for its status; Ctrl-C ends one that may take long."""
    call, stop, handle = compiled.handle.vlad_call, compiled.stop, compiled.handle
    if stop is None:
        return call

    def stoppable(words: Any, answers: Any) -> int:
        handle.vlad_stop = 0
        with Interruptible(stop):
            status: int = call(words, answers)
            return status

    return stoppable


def _spine(types: Any, type_: Type) -> tuple[list[Type], Callable[[Sequence[Any]], Any]] | None:
    """The types of the reals and tensors that an answer consists of, and what makes it of these: one alone, a list, or a tuple
    by the tuple rule. None where there are others."""
    found: list[Type] = []
    type_ = types.canonical(type_)
    while type_.kind == "pair":
        found.append(types.canonical(type_.parts[0]))
        type_ = types.canonical(type_.parts[1])
    is_list = type_.kind == "constant" and type_.of == ()
    if not is_list:
        found.append(type_)
    if not found or not all(_is_number(one) or _is_constant(one) for one in found):
        return None
    if is_list:
        return found, list
    return found, itemgetter(0) if len(found) == 1 else _nested


def _nested(leaves: Sequence[Any]) -> Any:
    """(a, (b, c)), as a tuple comes to Python."""
    result = leaves[-1]
    for leaf in reversed(leaves[:-1]):
        result = (leaf, result)
    return result


def _is_number(type_: Type) -> bool:
    return bool(type_.kind == "real" or is_tensor(type_))


def _is_constant(type_: Type) -> bool:
    return type_.kind == "constant" and type(value_of(type_)) is float
