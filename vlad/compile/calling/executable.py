"""A compiled procedure as something to call: values → words, words → values, statuses → what they mean.

In: a procedure and operands.  Out: `Compiled`, from the cache where the same call was compiled before, else from the
compiler, which is loaded only then. Who compiles when is decided by policy.py; an error of the program itself is not
explained here: `Failed` says that tier 0 should run the call.
"""

from __future__ import annotations

import contextlib
import json
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from vlad.compile.analysis.static_operands import Places, needed, whole_numbers, with_fixed
from vlad.compile.calling.cache_key import Nameless, identity
from vlad.compile.calling.fast_call import Quick, arguments_of, is_fixed, quick
from vlad.compile.calling.interface import Interface, Unwritable, read_interface
from vlad.compile.ir.program import Member
from vlad.compile.ir.refusals import MOST_LENGTHS, Failed, Mismatch, Narrow, Unbounded
from vlad.compile.native import cache, toolchain
from vlad.compile.native.abi import FIRST_FAILURE, OUT_OF_FUEL, OUT_OF_MEMORY, OUTSIDE, TOO_DEEP, ffi
from vlad.compile.native.reserve import is_narrow
from vlad.control.budget import expect_bytes, has_room, room
from vlad.control.frame_stack import with_room
from vlad.control.safe_import import whole
from vlad.core.loop_nests import SIZES
from vlad.core.types import LONGEST_CHAIN, SHORTEST_CHAIN, UNROLLED_CHAIN, Layout, Type, is_tensor
from vlad.data.devices import device_named
from vlad.data.errors import LimitExceeded, VladError
from vlad.data.tensors import (
    Tensor,
    entries,
    entries_there,
    from_entries,
    is_on_host,
    kind_name,
    namespace,
)
from vlad.data.values import FALSE, TRUE, Deferred, Global, String, Value, character_list, look, text_of
from vlad.evaluate.limits import deep_recursion, out_of_fuel, out_of_memory, too_deep
from vlad.primitives.control import read_real

UNLIMITED = 1 << 60  # steps
LONGEST_CHARACTER = 4  # bytes of UTF-8
LEAST_ROOM = 24 << 20  # bytes, in which a loop can be collected
BYTES_A_CHARACTER = 160  # in a list, and in boxes
BYTES_A_CALL, FIRST_CALLS = 64, 1000  # of the stack: what a limit of depth leaves


class Outside:
    """What compiled code does to the outside, done by the machine. An exception there ends the call, and is raised again."""

    def __init__(self, machine: Any) -> None:
        self.machine = weakref.ref(machine)  # `_outsides` must not keep it; whoever calls has it
        self.error: BaseException | None = None
        # C does not keep this, nor do its own callbacks: whoever calls has it, and it goes with the machine
        own: Callable[[], Any] = weakref.ref(self)
        self.write = ffi.callback("int(char const *, long)", lambda text, length: own()._write(text, length))
        self.read = ffi.callback("int(double *)", lambda real: own()._read(real))

    def _machine(self) -> Any:
        machine = self.machine()
        assert machine is not None
        return machine

    def _write(self, text: Any, length: int) -> int:
        """Without a text: may so many bytes be written?"""
        try:
            if text == ffi.NULL:
                self._machine().watch.expects(length // LONGEST_CHARACTER)
                return 0
            self._machine().write(ffi.buffer(text, length)[:].decode("utf-8", "surrogatepass"))
        except BaseException as error:  # whatever it is: there is C on the stack
            self.error = error
            return 1
        return 0

    def _read(self, real: Any) -> int:
        try:
            real[0] = read_real(self._machine())
        except BaseException as error:
            self.error = error
            return 1
        return 0


_outsides: weakref.WeakKeyDictionary[Any, Outside] = weakref.WeakKeyDictionary()


def outside_of(machine: Any) -> Outside:
    outside = _outsides.get(machine)
    if outside is None:
        outside = _outsides[machine] = Outside(machine)
    return outside


class Crossing:
    """How values of known types become leaves, and leaves values. `fixed`: the places of the numbers that are constants to it."""

    fixed: Places = ()

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.lock = threading.RLock()
        self.layout, self.types = interface.layout, interface.layout.types
        # what is shared is written, and read, once a call: boxes by value, values by address
        self._made: dict[tuple[int, Type], Any] = {}
        self._seen: dict[tuple[int, Type], Value] = {}

    def takes(self, operands: tuple[Value, ...]) -> bool:
        """Are these of the types it was compiled for?"""
        with self.lock:
            try:
                for operand, type_ in zip(operands, self.interface.operands, strict=True):
                    self._encode(operand, type_, [], [])
                return True
            except Mismatch:
                return False
            finally:
                self._made.clear()
                self._seen.clear()

    # Values → words.

    def _encode(self, value: Value, type_: Type, words: list[Any], kept: list[Any]) -> None:
        """Append the leaves of a value, as (kind, word). Along the last part in a loop, for lists are long."""
        while True:
            type_ = self.types.canonical(type_)
            if type(value) is Deferred:
                value = value.force()
            if type_.kind == "real":
                if type(value) is not float:
                    raise Mismatch
                words.append(("d", value))
                return
            if type_.kind == "boolean":
                if value is not TRUE and value is not FALSE:
                    raise Mismatch
                words.append(("b", value is TRUE))
                return
            if type_.kind == "union":
                words.append(("p", self._boxed(value, type_, kept)))
                return
            if type_.kind == "string":
                if type(value) is not String:
                    raise Mismatch
                if not has_room(BYTES_A_CHARACTER * len(value.text)):
                    raise Narrow("there is no room for a string as a list of its characters")
                characters = character_list(value.text)
                kept.append(characters)  # so that its id in `_made` stays its own
                words.append(("p", self._boxed(characters, self.types.characters, kept)))
                return
            if type_.kind == "constant":
                if type(value) is Tensor or self.types.constant(value) is not type_:
                    raise Mismatch
                return
            if type_.kind == "tensor":
                words.append(("p", self._entries(value, type_.of, kept)))
                return
            parts = self._parts(value, type_)
            for part, part_type in zip(parts[:-1], type_.parts[:-1], strict=True):
                self._encode(part, part_type, words, kept)
            if not parts:
                return
            value, type_ = parts[-1], type_.parts[-1]

    def _entries(self, value: Value, layout: Layout, kept: list[Any]) -> Any:
        """The pointer to a tensor's entries in their order."""
        if not is_tensor_of(value, layout) or not is_on_host(value):
            raise Mismatch
        array = entries(value)
        buffer = ffi.from_buffer(array)
        kept.append(buffer)
        pointer = ffi.cast("void *", buffer)
        if array is value.like:
            self._seen[int(ffi.cast("long", pointer)), self.types.tensor(layout.shape, layout.kind)] = value
        return pointer

    def _tensor(self, pointer: Any, type_: Type) -> Value:
        """The tensor whose entries are there."""
        layout = type_.of
        value = self._seen.get((int(ffi.cast("long", pointer)), type_))
        if value is None:
            expect_bytes(layout.size * SIZES[layout.kind])
            given = ffi.buffer(pointer, layout.size * SIZES[layout.kind])
            value = from_entries(given, layout.shape, layout.kind)
        return value

    def _parts(self, value: Value, type_: Type) -> tuple[Value, ...]:
        if type(value) is not tuple or not value:
            raise Mismatch
        if type_.kind == "pair":
            if len(value) != 2:
                raise Mismatch
            return value
        if len(value) == 2 or value[0] is not type_.of:
            raise Mismatch
        return value[1 : 1 + len(type_.parts)]

    def _boxed(self, value: Value, union: Type, kept: list[Any]) -> Any:
        """The pointer for a value of a union. Boxes live in `kept`; a long list is written from its end."""
        pending: list[tuple[Member, list[Any]]] = []
        given = value = look(value)
        if (id(given), union) in self._made:
            return self._made[id(given), union]
        while True:
            value = look(value)
            member, member_type = self._member(value, union)
            if not member.boxed:
                pointer = ffi.cast("void *", member.index + 1)
                break
            last = self.types.canonical(member_type.parts[-1]) if member_type.parts else None
            words: list[Any] = []
            if last is union:
                parts = self._parts(value, member_type)
                for part, part_type in zip(parts[:-1], member_type.parts[:-1], strict=True):
                    self._encode(part, part_type, words, kept)
                pending.append((member, words))
                value = parts[-1]
                continue
            self._encode(value, member_type, words, kept)
            pointer = self._box(member, words, kept)
            break
        for member, words in reversed(pending):
            pointer = self._box(member, [*words, ("p", pointer)], kept)
        if type(given) is tuple:
            self._made[id(given), union] = pointer
        return pointer

    def _box(self, member: Member, words: list[Any], kept: list[Any]) -> Any:
        box = ffi.new("union vlad_word[]", len(words) + member.tagged)
        if member.tagged:
            box[0].i = [m for m in self.layout.members[member.cell] if m.boxed].index(member)
        for index, (kind, word) in enumerate(words):
            setattr(box[index + member.tagged], "i" if kind == "b" else kind, word)
        kept.append(box)
        return ffi.cast("void *", box)

    def _member(self, value: Value, union: Type) -> tuple[Member, Type]:
        members = self.layout.members_of(union)
        for member, type_ in members:
            if type(value) is tuple and value:
                if type_.head == ("pair" if len(value) == 2 else value[0]):
                    return member, type_
            elif type(value) is Tensor:
                if type_.head == ("tensor", value.shape, kind_name(value.like.dtype)):
                    return member, type_
            elif type_.head == self.types.constant(value).head:
                return member, type_
        raise Mismatch

    # Words → values.

    def _decode(self, type_: Type, leaves: list[Any]) -> Value:
        """The value of a type whose leaves come first in the list; they are taken off it."""
        spine: list[tuple[Type, list[Value]] | tuple[Type, int]] = []
        while True:
            type_ = self.types.canonical(type_)
            if type_.kind == "real":
                value: Value = leaves.pop(0)
                break
            if type_.kind == "boolean":
                value = TRUE if leaves.pop(0) else FALSE
                break
            if type_.kind == "constant":
                value = type_.of
                break
            if type_.kind == "tensor":
                value = self._tensor(leaves.pop(0), type_)
                break
            if type_.kind == "string":
                characters = self._decode(self.types.characters, [leaves.pop(0)])
                value = String(text_of(characters))
                break
            if type_.kind == "union":
                address = int(ffi.cast("long", leaves.pop(0)))
                if (address, type_) in self._seen:
                    value = self._seen[address, type_]
                    break
                spine.append((type_, address))
                type_, inner = self._unboxed(address, type_)
                if inner:
                    leaves[:0] = inner
                continue
            if not type_.parts:
                value = type_.of.closed or (type_.of,)
                break
            spine.append((type_, [self._decode(part, leaves) for part in type_.parts[:-1]]))
            type_ = type_.parts[-1]
        for outer, parts in reversed(spine):
            if type(parts) is int:
                self._seen[parts, outer] = value
                continue
            assert type(parts) is list
            if outer.kind == "pair":
                value = (parts[0], value)
            else:
                value = (outer.of, *parts, value) if parts else (outer.of, value, None)
        return value

    def _unboxed(self, address: int, union: Type) -> tuple[Type, list[Any]]:
        members = self.layout.members_of(union)
        if address < 4096:
            return members[address - 1][1], []
        boxed = [(member, type_) for member, type_ in members if member.boxed]
        words = ffi.cast("union vlad_word *", address)
        member, type_ = boxed[words[0].i if boxed[0][0].tagged else 0]
        first = int(member.tagged)
        return type_, [
            getattr(words[first + i], "i" if kind == "b" else kind) for i, kind in enumerate(member.kinds)
        ]


class Compiled(Crossing):
    """Call it with operands that are values of the types it was compiled for.

    Its library has a state (arena, stack), so calls take turns; a call that is made from within one, by a Python function to
    which the program writes, is a Mismatch. The library is unloaded when nobody has this, or what it hands out, any longer: there
    are no cycles here, for a session that is closed does not wait for Python's collector.
    """

    def __init__(
        self,
        machine: Any,
        interface: Interface,
        cells: Iterable[Global],
        handle: Any,
        given: Sequence[Tensor] = (),
    ) -> None:
        """`given`: the tensors whose entries the unit is handed with each call."""
        super().__init__(interface)
        self.given = [entries(tensor) for tensor in given]
        self.held: list[Any] = [*self.given]  # what words point to
        self.cells = cells  # the globals on whose values this relies
        self.outside = outside_of(machine) if interface.acts else None
        self.busy: list[object] = []  # is there a call under way? fast_call.py has this, too, but not us
        self.watch = machine.watch
        # where the words for places begin
        self.behind = len(interface.parameters) + interface.extra + len(self.given)
        self._in = ffi.new("union vlad_word[]", self.behind + len(interface.places) + 1)
        self._out = ffi.new("union vlad_word[]", len(interface.results) + 1)
        self.steps: list[float] | None = machine.steps if interface.counts else None
        if interface.multiplies:
            product = whole("vlad.compile.native.blas").product  # 2 ms, only where matrices are multiplied
            first, found = len(interface.parameters) + interface.counts, product()
            self._in[first].p, self._in[first + 1].p = [
                ffi.cast("void *", address) for address in (found.address, found.single)
            ]
            self._in[first + 2].i = found.is_wide
        if interface.takes_apart:
            routines = whole("vlad.compile.native.blas").lapack()
            first = len(interface.parameters) + interface.extra - interface.calls_vectors - 2
            if not routines.addresses:
                raise Unbounded("there is no LAPACK library to take matrices apart")
            table = ffi.new("void *[]", [ffi.cast("void *", one) for one in routines.addresses])
            self.held.append(table)
            self._in[first].p, self._in[first + 1].i = table, routines.is_wide
        if interface.calls_vectors:
            functions = whole("vlad.compile.native.vectors").functions()
            if functions:  # else the null pointer stays
                table = ffi.new("void *[]", [ffi.cast("void *", one) for one in functions])
                self.held.append(table)
                self._in[len(interface.parameters) + interface.extra - 1].p = table
        for index, array in enumerate(self.given, start=len(interface.parameters) + interface.extra):
            self._in[index].p = ffi.from_buffer(array)
        self._call = handle.vlad_call
        # gives the memory back that is kept from call to call; None where there is none
        self._give_back: Callable[[], int] | None = _exported(handle, "vlad_give_back")
        # hands back what it works in, when the answer has been read
        self.rest: Callable[[], int] | None = _exported(handle, "vlad_rest")
        self.handle = handle
        self.stop: Callable[[], object] | None = _stopper(handle) if interface.stops else None
        self.entry: Any = None  # from reals and entries of tensors to a real, without state
        arguments = arguments_of(interface)
        if arguments is not None:
            arguments = [type_ for type_ in arguments if not is_fixed(type_)]
        result = interface.result
        # of a pair of which one half is known, machine code answers the other alone, a real, too
        is_real = result is not None and interface.layout.types.canonical(result).kind == "real"
        if interface.direct and arguments is not None and is_real:
            kinds = ", ".join(["void *" if is_tensor(type_) else "double" for type_ in arguments])
            pointer = ffi.cast(f"double(*)({kinds})", ffi.addressof(handle, "vlad_direct"))
            # keeps the library, for as long as somebody calls it
            self.entry = ffi.gc(pointer, lambda _: handle)
        # from reals to a real: it has no loops, and no stack
        self.is_free = self.entry is not None and not any(map(is_tensor, arguments or ()))

    @cached_property
    def quick(self) -> Quick | None:
        """What Python calls, if it may be called so; made when somebody asks."""
        return quick(self, self._in, self._out)

    def fits(self) -> bool:
        """Is there room for what it makes? Where nothing else than an array is so large, nobody looks before it is written."""
        largest = self.interface.largest
        copied = largest if "p" in self.interface.results else 0  # what is answered is
        return has_room(largest + copied)

    def __call__(self, *operands: Value) -> Value:
        """Raises Mismatch, Failed or LimitExceeded."""
        with self.lock:
            if self.busy:
                raise Mismatch
            try:
                self.busy.append(self.lock)
                return self._called(operands)
            finally:  # however it ended: boxes and values go, and others come to lie where they lay
                self.busy.clear()
                self._made.clear()
                self._seen.clear()
                if self._give_back is not None and self.watch.limits.memory is not None:
                    self._give_back()
                if self.rest is not None:
                    self.rest()

    def _called(self, operands: tuple[Value, ...]) -> Value:
        words: list[Any] = []
        kept: list[Any] = []
        for operand, type_ in zip(operands, self.interface.operands, strict=True):
            self._encode(operand, type_, words, kept)
        for index, (kind, word) in enumerate(words):
            setattr(self._in[index], "i" if kind == "b" else kind, word)
        if self.stop is not None:
            self.handle.vlad_stop = 0
        for index in range(len(self.interface.places)):
            self._in[self.behind + index].p = ffi.NULL  # anywhere: what is answered is copied
        if self.outside is not None:
            self.handle.vlad_host_write = self.outside.write
            self.handle.vlad_host_read = self.outside.read
        if self.steps is not None:
            fuel = int(min(self.steps[1] - self.steps[0], UNLIMITED))
            self._in[len(self.interface.parameters)].i = fuel
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
            kinds = self.interface.results
            if self.steps is not None:
                self.steps[0] += fuel - self._out[len(kinds)].i
            leaves = [getattr(self._out[i], "i" if kind == "b" else kind) for i, kind in enumerate(kinds)]
            return self._decode(self.interface.result, leaves)
        if status == OUTSIDE:
            assert self.outside is not None and self.outside.error is not None
            error, self.outside.error = self.outside.error, None
            if isinstance(error, VladError) and not isinstance(error, LimitExceeded):
                raise Failed(error.message)
            raise error
        if status == OUT_OF_MEMORY and most is not None and not is_narrow():
            raise out_of_memory(limits.memory)
        if status in (TOO_DEEP, OUT_OF_MEMORY) and is_narrow():
            raise Narrow("its memory is small")
        if status == TOO_DEEP and limits.depth is not None:
            # tier 0 may do with less: it appends texts, for one, without going as deep as they are long
            raise Failed("it is too deep")
        if self.steps is not None and status == OUT_OF_FUEL:
            self.steps[0] = self.steps[1] + 1
        raise failure(status, self.interface.failures)

    def is_taken(self) -> bool:
        """Is there a call under way in another thread?"""
        if self.lock.acquire(False):
            self.lock.release()
            return False
        return True

    def is_deep(self) -> bool:
        """Has it a stack of its own?"""
        return bool(_exported(self.handle, "vlad_deepest"))

    @contextlib.contextmanager
    def _limited(self, depth: int | None, most: float | None) -> Iterator[None]:
        """Inside, so many calls may wait for each other: their stack is that much. What they make is so many bytes at most."""
        handle, bounds = self.handle, {}
        if depth is not None:
            bounds["vlad_deepest"] = BYTES_A_CALL * (depth + FIRST_CALLS)
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
    """What tells a library, from another thread, to end its call."""

    def stop() -> None:
        handle.vlad_stop = 1

    return stop


def _exported(handle: Any, name: str) -> Any:
    """What a library exports by a name; None where it does not."""
    try:
        return getattr(handle, name)
    except (AttributeError, ffi.error):
        return None


class Launched(Crossing):
    """The same on a GPU: what cuda_unit.py has emitted, called with values there."""

    fits: Callable[[], bool] = staticmethod(lambda: True)  # its memory is not the process's

    is_free = False
    quick: Any = None
    stop: Any = None  # Python's own interrupts reach it

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
        """Raises Mismatch or Failed."""
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


def is_tensor_of(value: Value, layout: Layout) -> bool:
    """Has a value the shape and kind?"""
    return type(value) is Tensor and (value.shape, kind_name(value.like.dtype)) == (layout.shape, layout.kind)


def failure(status: int, failures: tuple[str, ...]) -> BaseException:
    """What a status other than 0 means."""
    if status >= FIRST_FAILURE:
        return Failed(failures[status - FIRST_FAILURE])
    if status == TOO_DEEP:
        return too_deep()
    if status == OUT_OF_FUEL:
        return out_of_fuel()
    if status == OUT_OF_MEMORY:
        return LimitExceeded("out-of-memory", "The evaluation needs more memory than there is")
    return KeyboardInterrupt()


def compile_call(
    machine: Any,
    f: Value,
    operands: tuple[Value, ...],
    optimize: int = 2,
    fast_math: bool = False,
    variants: int = 0,
    tell_where: bool = False,
    fixed: Places = (),
) -> Compiled | Launched:
    """Compile a procedure for operands like these, when there are so many variants of it; `fixed`: the places of numbers that had
    to be known in operands of the same form. Raises Unbounded, with a place where somebody wants to be told, or
    toolchain.Unavailable."""
    with deep_recursion():
        known: dict[int, int] = {}
        length = max([longest_chain(operand, known) for operand in operands], default=0)
    *first, last = _limits(length, variants)

    def compiled(places: Places) -> Compiled | Launched:
        given = with_fixed(operands, places)
        for limit in first:
            with contextlib.suppress(Unbounded):
                return with_room(_compile, machine, f, given, limit, optimize, fast_math)
        return with_room(_compile, machine, f, given, last, optimize, fast_math, tell_where)

    if not set(fixed) <= set(whole_numbers(operands)):
        fixed = ()
    try:
        found = compiled(fixed)
    except Unbounded as unbounded:
        fixed = _shaping(machine, f, operands, last, fixed) if unbounded.for_number else ()
        if not fixed:
            raise
        found = compiled(fixed)
    found.fixed = fixed
    return found


def _shaping(machine: Any, f: Value, operands: tuple[Value, ...], longest: int, but: Places) -> Places:
    """The places of numbers that have to be known for shapes to be, if that is all that is wanting; not those that were tried."""
    places = whole_numbers(operands)
    if not places:
        return ()
    key: str | None = None
    with contextlib.suppress(Nameless):
        if not cache.is_off():
            # with the numbers themselves: one is a length, and another too large, say
            known = with_fixed(operands, places)
            key, _ = identity(machine, f, known, longest, "shaping", machine.device)
    kept = None if key is None else cache.lookup(key, cache.CALL)
    if kept is not None:
        found = tuple(json.loads(kept))
    else:
        settles = whole("vlad.compile.calling.pipeline").settles
        environment = f[1 : 1 + len(f[0].environment)]

        def is_enough(places: Places, unroll: bool) -> bool:
            given = with_fixed(operands, places)
            return bool(with_room(settles, machine, f[0], environment, given, longest, unroll))

        found = ()
        for unroll in (False, True):
            if is_enough(places, unroll):
                found = needed(places, partial(is_enough, unroll=unroll))
                break
        if key is not None:
            cache.store(key, json.dumps(found).encode(), cache.CALL)
    return found if found != but else ()


def longest_chain(value: Value, known: dict[int, int]) -> int:
    """Pairs in a row, or values captured in a row, in a value. `known`: parts that were met before."""
    given, length, longest = value, 0, 0
    if id(given) in known:
        return known[id(given)]
    while True:
        value = look(value)
        if type(value) is not tuple or len(value) <= 1:
            known[id(given)] = longest = max(length, longest)
            return longest
        width = 1 if len(value) == 2 else len(value[0].environment)
        for part in value[len(value) != 2 : width]:
            if type(part) is not float:
                longest = max(longest, longest_chain(part, known))
        value = value[width]
        length += 1


def _limits(length: int, variants: int) -> list[int]:
    """The lengths up to which lists are taken apart, to be tried in turn: without loops and boxes, code is several times as
    fast and takes as much longer to compile, for one length. So only the first variant is for one length of a list of any
    size, and after some more for short ones the last is for all."""
    if variants >= MOST_LENGTHS and length > 1:
        return [1]
    if length <= SHORTEST_CHAIN:
        return [LONGEST_CHAIN]
    if variants:
        return [SHORTEST_CHAIN]
    if length <= UNROLLED_CHAIN:
        return [max(length, LONGEST_CHAIN), SHORTEST_CHAIN]
    return [LONGEST_CHAIN, SHORTEST_CHAIN]


def _compile(
    machine: Any,
    f: Value,
    operands: tuple[Value, ...],
    longest: int,
    optimize: int,
    fast_math: bool,
    tell_where: bool = False,
) -> Compiled | Launched:
    key: str | None = None
    cells: list[Global] = []
    if not cache.is_off():
        with contextlib.suppress(Nameless):
            more = (
                str(optimize),
                str(fast_math),
                str(machine.counting),
                machine.device,
                toolchain.signature(),
            )
            key, cells = identity(machine, f, operands, longest, *more)
            try:
                kept = _kept(machine, key, cells)
            except Unbounded:
                if not tell_where:
                    raise
                kept = None  # places are not kept, for they do not count when calls are compared
            if kept is not None:
                return kept
    # 13 ms, only where something is to be compiled
    made = whole("vlad.compile.calling.pipeline").made
    try:
        unit = made(machine, f[0], f[1 : 1 + len(f[0].environment)], operands, longest)
    except Unbounded as unbounded:
        if key is not None:
            entry = {"unbounded": unbounded.reason, "for_number": unbounded.for_number}
            cache.store(key, json.dumps(entry).encode(), cache.CALL)
        raise
    if unit.cuda is not None:
        xp = device_named(machine.device).xp
        kernels = whole("vlad.compile.emit.cuda_unit").loaded(unit.cuda, xp)
        return Launched(unit.interface, unit.cells, kernels, xp)
    library = toolchain.build(unit.text, optimize=optimize, fast_math=fast_math)
    if key is not None:
        with contextlib.suppress(Unwritable):
            address, digest = toolchain.address(unit.text, optimize=optimize, fast_math=fast_math)
            entry = {"library": address, "digest": digest, "interface": unit.interface.text()}
            cache.store(key, json.dumps(entry).encode(), cache.CALL)
    return Compiled(machine, unit.interface, unit.cells, library, unit.given)


def _kept(machine: Any, key: str, cells: list[Global]) -> Compiled | None:
    """What an earlier process made of the same call; None where it is gone. Raises Unbounded, as that one did."""
    data = cache.lookup(key, cache.CALL)
    if data is None:
        return None
    entry = json.loads(data)
    if "unbounded" in entry:
        raise Unbounded(entry["unbounded"], for_number=entry["for_number"])
    library = toolchain.loaded(entry["library"], entry["digest"])
    if library is None:
        return None
    return Compiled(machine, read_interface(entry["interface"]), cells, library)
