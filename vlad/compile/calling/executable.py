"""A compiled procedure as a callable: its limits, its statuses and their meaning, and its origin.

In: the interface of compiled code and its library.  Out: `Compiled`, or `Launched` for a GPU, called with operands. Made by
compilation.py. An error of the program is `Failed`: tier 0 then runs the call again, and raises the error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from vlad.compile.analysis.strategy import DUE_TO_ZEROS
from vlad.compile.calling.fast_call import Quick, quick
from vlad.compile.calling.interface import Interface
from vlad.compile.calling.libraries import built
from vlad.compile.calling.marshal import Crossing, is_tensor_of
from vlad.compile.calling.outside import outside_of
from vlad.compile.calling.structures import passed_numbers
from vlad.compile.ir.program import Failure
from vlad.compile.ir.refusals import (
    Differing,
    Failed,
    Mismatch,
    Narrow,
    NotYet,
    Replaced,
    TooNested,
    Unbounded,
    Unsupported,
)
from vlad.compile.native import cache, toolchain
from vlad.compile.native.abi import (
    EXITED,
    FIRST_FAILURE,
    OUT_OF_FUEL,
    OUT_OF_MEMORY,
    OUTSIDE,
    PLACES_KEPT,
    STATUSES,
    STOPPED,
    TOO_DEEP,
    ffi,
)
from vlad.compile.native.reserve import is_narrow
from vlad.control.budget import has_room, room
from vlad.control.safe_import import import_safely
from vlad.core.types import Layout, Type, is_tensor
from vlad.data.errors import Exited, LimitExceeded, VladError
from vlad.data.tensors import Tensor, entries, entries_there, namespace
from vlad.data.values import Global, Value
from vlad.evaluate.limits import out_of_fuel, out_of_memory, too_deep

if TYPE_CHECKING:
    from vlad.compile.emit.definitions import Site
    from vlad.evaluate.machine import Machine

UNLIMITED = 1 << 60  # steps
LEAST_ROOM = 24 << 20  # bytes, the minimum for collecting a loop
BYTES_A_CALL, FIRST_CALLS = 64, 1000  # of the stack, for a limit of depth
# bytes of the stack for a frame of each function, not optimised: more than a text of 20 MB has
FRAMES = 1 << 26


class Compiled(Crossing):
    """Callable with operands that are values of the types for which it was compiled.

    Its library has state (arena, stack), so calls are serialised; a nested call, from a Python function used for
    output, raises Mismatch. The library is unloaded when this, and everything it returned, is unreferenced: there
    are no reference cycles, as a closed session must not wait for Python's collector.
    """

    def __init__(
        self,
        machine: Machine,
        interface: Interface,
        cells: Iterable[Global],
        handle: Any,
        given: Sequence[Tensor] = (),
    ) -> None:
        """`given`: the tensors whose entries are passed with each call."""
        super().__init__(interface)
        self.given = [entries(tensor) for tensor in given]
        self._largest = 0  # bytes of the largest array in this call whose size is not constant
        self.held: list[Any] = [*self.given]  # referents of words
        self.later: Later | None = None  # what makes better code, which nothing has begun to make yet
        self.is_quick = False  # is there to be better code?
        self.replacement: Compiled | None = None  # that code, once it is made
        self.cells = cells  # the globals whose values the code relies on
        self.sites: Sequence[Site] | None = None  # of code that says where it is
        self.outside = outside_of(machine) if interface.acts else None
        self.busy: list[
            object
        ] = []  # not empty during a call; shared with fast_call.py, which must not reference this object
        self.watch = machine.watch
        self.words = words = interface.words
        self._in = ffi.new("union vlad_word[]", words.count + 1)
        self._out = ffi.new("union vlad_word[]", words.fuel_left + 1)
        self.steps: list[float] | None = machine.steps if words.counts else None
        if words.multiplies:
            product = import_safely(
                "vlad.compile.native.blas"
            ).product  # 2 ms, only if matrices are multiplied
            first, found = words.products, product()
            self._in[first].p, self._in[first + 1].p = [
                ffi.cast("void *", address) for address in (found.address, found.single)
            ]
            self._in[first + 2].i = found.is_wide
            self._in[first + 3].p, self._in[first + 4].p = [
                ffi.cast("void *", address) for address in (found.set_threads, found.get_threads)
            ]
        if words.decomposes:
            routines = import_safely("vlad.compile.native.blas").lapack()
            if not routines.addresses:
                raise Unbounded(
                    "there is no LAPACK library to take matrices apart",
                    hint="NumPy has one, as pip installs it",
                )
            table = ffi.new("void *[]", [ffi.cast("void *", one) for one in routines.addresses])
            self.held.append(table)
            self._in[words.routines].p, self._in[words.routines + 1].i = table, routines.is_wide
        if words.calls_vectors:
            functions = import_safely("vlad.compile.native.vectors").functions()
            if functions:  # otherwise the word remains a null pointer
                table = ffi.new("void *[]", [ffi.cast("void *", one) for one in functions])
                self.held.append(table)
                self._in[words.functions].p = table
        for index, array in enumerate(self.given, start=words.entries):
            self._in[index].p = ffi.from_buffer(array)
        self._call = handle.vlad_call
        # frees the memory kept between calls; None if there is none
        self._give_back: Callable[[], int] | None = _exported(handle, "vlad_give_back")
        # returns its working memory after the result was read
        self.rest: Callable[[], int] | None = _exported(handle, "vlad_rest")
        self.handle = handle
        if _exported(handle, "vlad_threads") is not None:
            handle.vlad_threads = machine.threads
        self.stop: Callable[[], object] | None = _stopper(handle) if interface.stops else None
        self.entry: Any = None  # from reals and entries of tensors to a real, without state
        arguments = passed_numbers(interface.layout.types, interface.operands)
        result = interface.result
        # machine code also returns a real for a pair with one constant half
        is_real = result is not None and interface.layout.types.canonical(result).kind == "real"
        if interface.direct and arguments is not None and is_real:
            kinds = ", ".join(["void *" if is_tensor(type_) else "double" for type_ in arguments])
            pointer = ffi.cast(f"double(*)({kinds})", ffi.addressof(handle, "vlad_direct"))
            # keeps the library loaded while the pointer is in use
            self.entry = ffi.gc(pointer, lambda _: handle)
        # from reals to a real: without loops, and without a separate stack
        self.is_free = self.entry is not None and not any(map(is_tensor, arguments or ()))

    def places(self) -> list[Site]:
        """From another thread during a call: where the code is, the innermost place last; of a deep stack the innermost ones.
        Empty if the code does not say, or if no call is in progress."""
        if not self.sites or not self.busy:
            return []
        words = ffi.cast("int **", ffi.addressof(self.handle, "vlad_places"))[0]
        depth = words[1]
        first = max(0, depth - PLACES_KEPT)
        numbers = [words[2 + at % PLACES_KEPT] for at in range(first, depth)]
        return [self.sites[number] for number in (*numbers, words[0])]

    def improve(self, later: Later) -> None:
        """There is to be better code. Frames of this are large, and all of those between two that check the stack lie beyond the
        checked end."""
        self.later, self.is_quick = later, True
        if self.is_deep():
            self.handle.vlad_deepest -= FRAMES

    @cached_property
    def quick(self) -> Quick | None:
        """The fast path for Python, if it is allowed; made on first use."""
        return quick(self, self._in, self._out)

    def fits(self) -> bool:
        """Is there memory for its arrays? Only the largest one is checked, before it is written."""
        largest = self.interface.largest
        copied = largest if "p" in self.words.results else 0  # results are copied
        return has_room(largest + copied)

    def takes(self, operands: tuple[Value, ...]) -> bool:
        """Whether these are of the types for which it was compiled, as far as that is known during a call, whose sizes the
        library has."""
        with self.lock:
            return not self.busy and super().takes(operands)

    def __call__(self, *operands: Value) -> Value:
        """Call it with operands. Raises Mismatch, Failed or LimitExceeded."""
        with self.lock:
            if self.busy:
                raise Mismatch
            try:
                self.busy.append(self.lock)
                return self._called(operands)
            finally:  # always: boxes and values are freed, and their ids and addresses reused
                try:
                    self._made.clear()
                    self._seen.clear()
                    if self._give_back is not None and self.watch.limits.memory is not None:
                        self._give_back()
                    if self.rest is not None:
                        self.rest()
                finally:  # last: short calls of other threads do not take the lock
                    self.busy.clear()

    def _called(self, operands: tuple[Value, ...]) -> Value:
        leaves: list[Any] = []
        kept: list[Any] = []
        self._forget_lengths()
        for operand, type_ in zip(operands, self.interface.operands, strict=True):
            self._encode(operand, type_, leaves, kept)
        self._measure()
        if not has_room(self._largest * (1 + ("p" in self.words.results))):
            raise Narrow("its memory is small")
        for index, (kind, word) in enumerate(leaves):
            setattr(self._in[index], "i" if kind == "b" else kind, word)
        if self.stop is not None:
            self.handle.vlad_stop = 0
        if self.replacement is not None:  # it may have been made just before its stop was withdrawn
            raise Replaced
        for index in range(self.words.targets, self.words.count):
            self._in[index].p = ffi.NULL  # no address is requested: results are copied
        if self.outside is not None:
            self.handle.vlad_host_write = self.outside.write
            self.handle.vlad_host_read = self.outside.read
        if self.steps is not None:
            fuel = int(min(self.steps[1] - self.steps[0], UNLIMITED))
            self._in[self.words.fuel].i = fuel
        limits = self.watch.limits
        deep = limits.depth is not None and self.is_deep()
        most = room() if self._give_back is not None and limits.memory is not None else None
        if deep or most is not None:
            with self._limited(limits.depth if deep else None, most):
                status = self._call(self._in, self._out)
        else:
            status = self._call(self._in, self._out)
        if status == 0:
            assert self.interface.result is not None
            if self.steps is not None:
                self.steps[0] += fuel - self._out[self.words.fuel_left].i
            kinds = enumerate(self.words.results)
            if self.interface.is_late:
                count = len(self.interface.extents)
                found = ffi.new("long[]", count)
                self.handle.vlad_lengths(found)
                self._lengths = ffi.unpack(found, count)
            leaves = [getattr(self._out[i], "i" if kind == "b" else kind) for i, kind in kinds]
            return self._decode(self.interface.result, leaves)
        if self.steps is not None and status == OUT_OF_FUEL:
            self.steps[0] = self.steps[1] + 1
        raise self._exception(status, most is not None)

    def _exception(self, status: int, is_limited: bool) -> BaseException:
        """What ends a call with a status other than 0, under a limit of memory or without one. Raises the exception of an outside
        effect, or of a limit that stopped the call."""
        limits = self.watch.limits
        if status == OUTSIDE:
            assert self.outside is not None and self.outside.error is not None
            error, self.outside.error = self.outside.error, None
            if isinstance(error, VladError) and not isinstance(error, LimitExceeded):
                return Failed(error.message)
            raise error
        if status == OUT_OF_MEMORY and is_limited and not is_narrow():
            return out_of_memory(limits.memory)
        if status in (TOO_DEEP, OUT_OF_MEMORY) and is_narrow():
            return Narrow("its memory is small")
        if status == TOO_DEEP and self.is_quick:
            return NotYet("its calls are nested deeply")
        if status == TOO_DEEP and limits.depth is not None:
            # tier 0 may need less depth: it appends texts, for example, without recursion
            return TooNested("its calls are nested too deeply for the limit of depth")
        self.watch.raise_if_interrupted()  # a limit may have stopped it, whose exception is still pending
        if status == STOPPED and self.replacement is not None:
            return Replaced()
        return failure(status, self.interface)

    def _measure(self) -> None:
        interface = self.interface
        if not interface.sizes:
            return
        count = len(interface.extents)
        found = ffi.new("long[]", count + 1)
        if 0 in self._lengths or not self.handle.vlad_measure(self._lengths, found):
            raise Mismatch
        self._lengths = lengths = ffi.unpack(found, count + 1)
        if any(lengths[number] != length for number, length in self._others):
            raise Mismatch
        self._largest = lengths.pop()

    def is_taken(self) -> bool:
        """Is a call in progress in another thread?"""
        if self.lock.acquire(False):
            self.lock.release()
            return False
        return True

    def is_deep(self) -> bool:
        """Does it use a separate stack?"""
        return bool(_exported(self.handle, "vlad_deepest"))

    @contextlib.contextmanager
    def _limited(self, depth: int | None, most: float | None) -> Iterator[None]:
        """A context with limits on the number of nested calls, by the size of their stack, and on the bytes that
        they allocate.
        """
        handle, bounds = self.handle, {}
        if depth is not None:
            bounds["vlad_deepest"] = min(BYTES_A_CALL * (depth + FIRST_CALLS), handle.vlad_deepest)
        if most is not None and _exported(handle, "vlad_most") is not None:
            bounds["vlad_most"] = int(min(max(most, LEAST_ROOM), UNLIMITED))
        before = {name: getattr(handle, name) for name in bounds}
        try:
            for name, bound in bounds.items():
                setattr(handle, name, bound)
            yield
        finally:
            for name, bound in before.items():
                setattr(handle, name, bound)


def _stopper(handle: Any) -> Callable[[], object]:
    """A function that ends the library's call from another thread."""

    def stop() -> None:
        handle.vlad_stop = 1

    return stop


def _exported(handle: Any, name: str) -> Any:
    """An exported symbol of a library; None if it does not exist."""
    try:
        return getattr(handle, name)
    except (AttributeError, ffi.error):
        return None


class Launched(Crossing):
    """The same for a GPU: the output of cuda_unit.py, called with values on the GPU."""

    fits: Callable[[], bool] = staticmethod(lambda: True)  # it does not use the memory of the process

    is_free = False
    later = None
    quick: Any = None
    stop: Any = None  # Python's own interrupts suffice

    def is_taken(self) -> bool:
        return False

    def __init__(
        self, interface: Interface, cells: Iterable[Global], run: Callable[..., tuple[Any, ...]], xp: Any
    ) -> None:
        super().__init__(interface)
        self.cells = cells
        self.run = run
        self.xp = xp

    def __call__(self, *operands: Value) -> Value:
        """Call it with operands. Raises Mismatch or Failed."""
        words: list[Any] = []
        for operand, type_ in zip(operands, self.interface.operands, strict=True):
            self._encode(operand, type_, words, [])
        leaves = list(self.run(*[word for _, word in words]))
        assert self.interface.result is not None
        return self._decode(self.interface.result, leaves)

    def _entries(self, value: Value, layout: Layout, kept: list[Any]) -> Any:
        if not is_tensor_of(value, layout) or namespace(value.like) is not self.xp:
            raise Mismatch
        return entries_there(value, self.xp)

    def _tensor(self, leaf: Any, type_: Type) -> Value:
        return Tensor(self.xp.reshape(leaf, type_.of.shape))


class Later(NamedTuple):
    """What makes the optimised library of a text, of which there is another one. `quick`: the key of that in the cache."""

    text: str
    options: dict[str, Any]
    quick: str

    def compiled(self, machine: Machine, quick: Compiled) -> Compiled:
        """The code that replaces `quick`. Raises Unavailable."""
        library = built(self.text, self.options)
        key, _ = toolchain.address(self.text, **self.options)
        cache.discard(self.quick)
        cache.discard(key, cache.TEXT)
        found = Compiled(machine, quick.interface, quick.cells, library)
        found.shapes, found.fixed = quick.shapes, quick.fixed
        found.lock = quick.lock  # both use the types, which change while values are encoded
        return found


def failure(status: int, interface: Interface) -> BaseException:
    """The exception for a status other than 0."""
    if status >= EXITED:
        kind, own = divmod(status - EXITED, STATUSES)
        return Exited.of(own, at_once=bool(kind))
    if status >= FIRST_FAILURE:
        what, about = interface.failures[status - FIRST_FAILURE]
        if about in (Failure.UNFIT, Failure.LENGTH) and interface.may_differ:
            return Differing(what, may_fit=True)
        if about in (Failure.UNSUPPORTED, Failure.UNFIT, Failure.LENGTH):
            return Unsupported(what, about is Failure.LENGTH)
        return Failed(what, may_fit=interface.zeros_distinct is not None and about in DUE_TO_ZEROS)
    if status == TOO_DEEP:
        return too_deep()
    if status == OUT_OF_FUEL:
        return out_of_fuel()
    if status == OUT_OF_MEMORY:
        return LimitExceeded("out-of-memory", "The evaluation needs more memory than there is")
    return KeyboardInterrupt()
