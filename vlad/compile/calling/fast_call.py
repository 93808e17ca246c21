"""The fast path: arrays and floats of Python directly to machine code, and back.

In: a compiled procedure whose operands and result consist of what structures.py describes. An operand that determines a shape
(static_operands.py) must be the same number.
Out: `Quick`, which Python's `Procedure` tries first. Its `leaves` returns NotImplemented for any other arguments, and for errors:
then the general path converts the arguments, selects a variant and raises errors. Only that path enforces limits of time and
memory (entry_table.py checks them). Calls go through C, in c_extension.py, or, without it, through Python code generated here.
The interpreter's lock is released during calls, except short ones. Python code passes reals and tensors only.
"""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from vlad.compile.calling.structures import Foreign, Structure, Structures, is_constant, is_fixed, is_number
from vlad.compile.native.abi import ffi
from vlad.compile.native.c_extension import NOWHERE, border
from vlad.control.native_interrupts import Interruptible
from vlad.core.loop_nests import SIZES
from vlad.core.types import Type, is_tensor

Leaves = Callable[[tuple[Any, ...]], Any]
# Limits of calls through C: entries of the operands, the result and the largest array between; parts of both.
MOST_ENTRIES, MOST_PARTS = 1 << 16, 1 << 10


class Quick(NamedTuple):
    """`leaves`: from arguments to the reals and arrays of the result, in order; `shape`: from these to the result."""

    leaves: Leaves
    shape: Callable[[Sequence[Any]], Any]


def quick(compiled: Any, words: Any, results: Any) -> Quick | None:
    """The fast path of an executable.Compiled, if there is one. `words` and `results` are the buffers of machine code."""
    interface = compiled.interface
    if interface.acts or interface.words.counts or interface.result is None or interface.is_late:
        return None
    structures = Structures(interface.layout, interface.extents)
    try:
        given, result = structures.arguments(interface.operands), structures.value(interface.result)
    except Foreign:
        return None
    in_c = border() if len(given.leaves) + len(result.leaves) <= MOST_PARTS else None
    if in_c is not None:
        leaves = in_c.call(*_described(compiled, words, results, structures, given, result))
    elif (
        given.is_flat
        and result.is_row
        and not interface.sizes
        and are_numbers((*given.leaves, *result.leaves))
    ):
        leaves = _Writer(compiled, words, results, given.leaves, result.leaves).leaves()
    else:
        return None
    return Quick(leaves, list if result.is_list else _in_pairs)


def _ends_soon(compiled: Any, types: Sequence[Type]) -> bool:
    """Are calls short? Code that does not poll for interrupts has only short kernels; with few entries it takes microseconds."""
    if compiled.interface.sizes:
        return False
    entries = sum([type_.of.size for type_ in types if is_tensor(type_)])
    largest = compiled.interface.largest // SIZES["float64"]
    return compiled.stop is None and entries + largest <= MOST_ENTRIES


def _described(
    compiled: Any, words: Any, results: Any, structures: Structures, given: Structure, result: Structure
) -> tuple[Any, ...]:
    """The description of a call for c_extension.c."""
    types, elements = given.leaves, result.leaves
    interface = compiled.interface
    measure = ffi.addressof(compiled.handle, "vlad_measure") if interface.sizes else ffi.NULL
    numbers = itertools.count()
    parts = []
    for type_ in elements:
        is_passed = type_.kind != "constant"
        target = compiled.words.target(next(numbers)) if is_passed else None
        parts.append(structures.part(type_, NOWHERE if target is None else target))
    rest = ffi.NULL if compiled.rest is None else ffi.addressof(compiled.handle, "vlad_rest")
    addresses = [ffi.addressof(compiled.handle, "vlad_call"), rest, words, results]
    return (
        *[int(ffi.cast("long", address)) for address in addresses], compiled.busy,
        tuple(structures.nodes), given.node, result.node, given.is_flat, result.is_row,
        len(interface.operands), len(interface.words.parameters),
        tuple([structures.part(type_) for type_ in types]), tuple(parts),
        (compiled.handle, words, results, *compiled.held), () if _ends_soon(compiled, [*types, *elements]) else _turn(compiled),
        int(ffi.cast("long", measure)), interface.sizes, len(interface.extents),
    )  # fmt: skip


def _turn(compiled: Any) -> tuple[Any, ...]:
    """The description of a longer call for c_extension.c."""
    stop = compiled.stop
    stopped = 0 if stop is None else int(ffi.cast("long", ffi.addressof(compiled.handle, "vlad_stop")))
    return compiled.lock.acquire, compiled.lock.release, stop, stopped, Interruptible


def are_numbers(types: Sequence[Type]) -> bool:
    """Are all reals, tensors and numbers that are not passed?"""
    return all(is_number(type_) or is_constant(type_) for type_ in types)


def _in_pairs(leaves: Sequence[Any]) -> Any:
    """(a, (b, c))"""
    return functools.reduce(lambda rest, leaf: (leaf, rest), reversed(leaves))


class _Writer:
    """Generates the Python code of `leaves` for given types: a loop over them would cost as much as the sum of a small array."""

    def __init__(
        self, compiled: Any, words: Any, results: Any, types: Sequence[Type], elements: Sequence[Type]
    ) -> None:
        self.compiled = compiled
        self.words, self.results = words, results
        self.elements = elements
        # the names used in the text, and owners of addresses, kept alive during calls
        self.names: dict[str, Any] = {"kept": (compiled.handle, words, results, *compiled.held)}
        self.given = [(f"x{index}", type_) for index, type_ in enumerate(types)]
        words_for = [(x, type_) for x, type_ in self.given if not is_fixed(type_)]
        self.operands, self.types = [x for x, _ in words_for], [type_ for _, type_ in words_for]

    def leaves(self) -> Leaves:
        """The function from reals and arrays of the types to the reals and arrays of the elements."""
        if self.compiled.entry is not None:
            body = self._without_state()
        elif any(map(is_tensor, (*self.types, *self.elements))):
            body = self._in_turn(*self._word_by_word())
        else:
            body = self._in_turn(*self._at_once())
        count = len(self.given)
        lines = [f"if len(arguments) != {count}: return NotImplemented", *self._checks(), *body]
        text = "\n    ".join(["def leaves(arguments):", *lines])
        exec(text, self.names)
        leaves: Leaves = self.names["leaves"]
        return leaves

    def _checks(self) -> list[str]:
        """Tests of the types of arguments. Arrays are then replaced by the addresses of their entries; callers
        keep them alive.
        """
        lines = [f"{''.join([f'{x}, ' for x, _ in self.given])}= arguments"] if self.given else []
        for x, type_ in self.given:
            if is_fixed(type_):
                number = self._named("number", type_.of)
                lines.append(f"if type({x}) is not float or {x} != {number}: return NotImplemented")
                continue
            if not is_tensor(type_):
                lines.append(f"if type({x}) is not float: return NotImplemented")
                continue
            import numpy

            self.names.update({"ndarray": numpy.ndarray, "from_buffer": ffi.from_buffer})
            dtype = self._named("dtype", numpy.dtype(type_.of.kind))
            lines += [
                f"if type({x}) is not ndarray or {x}.dtype is not {dtype}: return NotImplemented",
                f"if {x}.shape != {type_.of.shape} or not {x}.flags.aligned: return NotImplemented",
                f"try: {x} = from_buffer({x})",
                "except ValueError: return NotImplemented  # its entries do not lie side by side",
            ]
        return lines

    def _without_state(self) -> list[str]:
        """The code of a call that returns a real, without the lock."""
        return [f"return ({self._named('entry', self.compiled.entry)}({', '.join(self.operands)}),)"]

    def _in_turn(self, before: list[str], after: list[str]) -> list[str]:
        """The code of a call under the lock: it writes the words, calls, and reads the results."""
        self.names.update(
            lock=self.compiled.lock, busy=self.compiled.busy, call=_caller(self.compiled),
            words=self.words, results=self.results,
        )  # fmt: skip
        if self.compiled.rest is not None:
            self.names["rest"] = self.compiled.rest
        inside = [*before, "if call(words, results): return NotImplemented", *after]
        return [
            "with lock:",
            "    if busy: return NotImplemented  # in this very thread",
            "    try:",
            "        busy.append(lock)",
            *[f"        {line}" for line in inside],
            "    finally:",
            "        busy.clear()",
            *["        rest()"] * (self.compiled.rest is not None),
        ]

    def _at_once(self) -> tuple[list[str], list[str]]:
        """The code before and after a call from reals to reals."""
        self.names["put"] = struct.Struct(f"{len(self.types)}d").pack_into
        self.names["take"] = struct.Struct(f"{len(self.compiled.words.results)}d").unpack_from
        self.names.update(operand_bytes=ffi.buffer(self.words), result_bytes=ffi.buffer(self.results))
        before = [f"put({', '.join(['operand_bytes', '0', *self.operands])})"]
        if not any(map(is_constant, self.elements)):
            return before, ["return take(result_bytes)"]
        numbers = itertools.count()
        found = [
            self._named("constant", type_.of) if is_constant(type_) else f"found[{next(numbers)}]"
            for type_ in self.elements
        ]
        return before, ["found = take(result_bytes)", f"return ({', '.join(found)},)"]

    def _word_by_word(self) -> tuple[list[str], list[str]]:
        """The code before and after a call with arrays."""
        before, after, found = [], [], []
        for index, (x, type_) in enumerate(zip(self.operands, self.types, strict=True)):
            before.append(
                f"{self._named('word', self.words[index])}.{'p' if is_tensor(type_) else 'd'} = {x}"
            )
        number = 0  # of the word
        for type_ in self.elements:
            if is_constant(type_):
                found.append(self._named("constant", type_.of))
                continue
            result = self._named("result", self.results[number])
            if not is_tensor(type_):
                found.append(f"{result}.d")
            else:
                y = f"y{number}"
                made = self._new_array(y, type_)
                at = self.compiled.words.target(number)
                if at is not None:  # the call writes its entries there itself
                    target = self._named("word", self.words[at])
                    before += [made, f"{target}.p = from_buffer({y})"]
                    after.append(f"{target}.p = NULL")
                else:
                    size = type_.of.size * SIZES[type_.of.kind]
                    after += [made, f"memmove(from_buffer({y}), {result}.p, {size})"]
                after.append(f"{y}.setflags(write=False)")
                found.append(y)
            number += 1
        return before, [*after, f"return ({', '.join(found)},)"]

    def _new_array(self, y: str, type_: Type) -> str:
        import numpy

        self.names.update(empty=numpy.empty, from_buffer=ffi.from_buffer, memmove=ffi.memmove, NULL=ffi.NULL)
        return f"{y} = empty({type_.of.shape}, {self._named('dtype', numpy.dtype(type_.of.kind))})"

    def _named(self, kind: str, value: Any) -> str:
        name = f"{kind}{len(self.names)}"
        self.names[name] = value
        return name


def _caller(compiled: Any) -> Callable[[Any, Any], int]:
    """The function that makes the call and returns its status; Ctrl-C ends a call that may take long."""
    stop, handle = compiled.stop, compiled.handle
    call: Callable[[Any, Any], int] = handle.vlad_call
    if stop is None:
        return call

    def stoppable(words: Any, results: Any) -> int:
        handle.vlad_stop = 0
        with Interruptible(stop):
            return call(words, results)

    return stoppable
