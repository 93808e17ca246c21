"""Values to machine words, and machine words to values.

In: values and the types of an interface, or the result words of machine code.  Out: leaves, as pairs of kind and word,
with the boxes that they point to; or a value. Raises Mismatch if a value is not of its type. Called by executable.py, whose
`Compiled` is a callable `Crossing`.
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from array import array
from collections.abc import Iterator
from typing import Any

from vlad.compile.analysis.sizes import Shapes
from vlad.compile.analysis.static_operands import Places
from vlad.compile.calling.interface import Interface
from vlad.compile.ir.program import Member
from vlad.compile.ir.refusals import Mismatch, Narrow
from vlad.compile.native.abi import ffi
from vlad.control.budget import expect_bytes, has_room
from vlad.core.extents import LEAST, MOST, AnExtent, Extent
from vlad.core.loop_nests import SIZES
from vlad.core.types import Layout, Type, constant_head, constant_key, is_table
from vlad.data.tables import Table, form_of, table_of_form
from vlad.data.tensors import Tensor, entries, from_entries, is_on_host, kind_name
from vlad.data.values import FALSE, NIL, TRUE, Deferred, Role, String, Value, look

BYTES_A_CHARACTER = 400  # in a rope, and in boxes
BYTES_READ = 12  # of a character of a result: what is gathered, and its string
UTF_32 = f"utf-32-{sys.byteorder[0]}e"
WORDS_A_NODE = 4
FIRST_ADDRESS = 4096  # below, a pointer is the number of a member without leaves
SHORT_STRING, MOST_STRINGS = 64, 1024  # whose characters stay, and how many


class Crossing:
    """Conversion of values of known types to leaves and back. `fixed`: the positions of the numbers that are constants of the
    code.
    """

    fixed: Places = ()
    unsupported = 0  # calls that it began and could not do, for a reason that many calls may have
    shapes: Shapes = ()  # of the tensors in the operands for which it was compiled

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.lock = threading.RLock()
        self.layout, self.types = interface.layout, interface.layout.types
        # shared parts are written, and read, once per call: boxes by value, values by address
        self._made: dict[
            tuple[int | str, Type], tuple[Any, Value]
        ] = {}  # with the value, whose id is of no other meanwhile
        self._seen: dict[tuple[int, Type], Value] = {}
        self._strings: dict[str, tuple[Any, list[Any]]] = {}  # pointers, and what they need kept
        # the numbers of the lengths that are known only in a call, and their values in this one, 0 if not yet known
        self._numbers = {extent: number for number, extent in enumerate(interface.extents)}
        self._lengths = [0] * interface.sizes
        self._others: list[tuple[int, int]] = []  # numbers and actual lengths of those that are not sizes

    def takes(self, operands: tuple[Value, ...]) -> bool:
        """Whether these are of the types for which it was compiled."""
        with self._aside():
            for operand, type_ in zip(operands, self.interface.operands, strict=True):
                self._encode(operand, type_, [], [])
            self._measure()
            return True
        return False

    def _forget_lengths(self) -> None:
        self._lengths = [0] * self.interface.sizes
        self._others = []

    def _measure(self) -> None:
        """Compute the lengths that depend on sizes, after all operands were converted. Raises Mismatch if the code does not serve
        these sizes."""

    def _fits(self, value: Value, layout: Layout) -> bool:
        """Whether a value is a tensor of this layout; its sizes are noted."""
        if type(value) is not Tensor or kind_name(value.like.dtype) != layout.kind:
            return False
        if not self._numbers:
            return bool(value.shape == layout.shape)
        return len(value.shape) == len(layout.shape) and all(map(self._is_length, value.shape, layout.shape))

    def _is_length(self, length: int, extent: AnExtent) -> bool:
        if type(extent) is int:
            return length == extent
        number = self._numbers[extent]  # type: ignore[index]  # not an int
        if number >= self.interface.sizes:
            self._others.append((number, length))
            return True
        known = self._lengths[number]
        if not known and length >= LEAST:
            self._lengths[number] = known = length
        return known == length

    def _shape(self, layout: Layout) -> tuple[int, ...]:
        """The shape of a result in this call."""
        numbers, lengths = self._numbers, self._lengths
        return tuple([
            extent if type(extent) is int else lengths[numbers[extent]] for extent in layout.shape  # type: ignore[index]
        ])  # fmt: skip

    def takes_one(self, index: int, operand: Value) -> bool:
        """Whether the operand with this index is of the type for which it was compiled."""
        with self._aside():
            self._encode(operand, self.interface.operands[index], [], [])
            return True
        return False

    @contextlib.contextmanager
    def _aside(self) -> Iterator[None]:
        """A context for trying operands, possibly during a call, of which it keeps what was written. Suppresses Mismatch."""
        with self.lock:
            kept = self._made, self._seen, self._lengths, self._others
            self._made, self._seen, self._others = {}, {}, []
            self._forget_lengths()
            try:
                yield
            except Mismatch:
                pass
            finally:
                self._made, self._seen, self._lengths, self._others = kept

    # Values → words.

    def _encode(self, value: Value, type_: Type, words: list[Any], kept: list[Any]) -> None:
        """Append the leaves of a value, as (kind, word). Iterates over the last part, as lists are long."""
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
                words.append(("p", self._string(value.text, kept)))
                return
            if type(type_.of) is Extent:
                if type(value) is not float or not LEAST <= value < MOST or value % 1:
                    raise Mismatch
                if not self._is_length(int(value), type_.of):
                    raise Mismatch
                return
            if type_.kind == "constant":
                if type(value) is Tensor or constant_key(value) != constant_key(type_.of):
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

    def _string(self, text: str, kept: list[Any]) -> Any:
        """The pointer to the rope of a string. Those of short ones, such as the keys of parameters, stay for later
        calls."""
        if text in self._strings:
            return self._strings[text][0]
        key = text, self.types.string
        if key in self._made:
            return self._made[key][0]
        if not has_room(BYTES_A_CHARACTER * len(text)):
            raise Narrow("there is no room for a string as a tree of its characters")
        stays = len(text) <= SHORT_STRING and len(self._strings) < MOST_STRINGS
        own: list[Any] = [] if stays else kept
        pointer = self._rope(text, own) if text else self._boxed((), self.types.rope, own)
        if stays:
            self._strings[text] = pointer, own
        else:
            self._made[key] = pointer, NIL
        return pointer

    def _rope(self, text: str, kept: list[Any]) -> Any:
        """The balanced rope of a text; equal characters are one box."""
        characters = {
            character: self._boxed(float(ord(character)), self.types.rope, kept) for character in set(text)
        }
        if len(text) == 1:
            return characters[text]
        size = WORDS_A_NODE * ffi.sizeof("union vlad_word")
        words = ffi.new("union vlad_word[]", WORDS_A_NODE * (len(text) - 1))
        kept.append(words)
        first = int(ffi.cast("long", words))
        addresses = {character: int(ffi.cast("long", box)) for character, box in characters.items()}
        filled, tag = array("q"), self._tag_of_node
        lengths: dict[int, int] = {}  # as words

        def between(start: int, end: int) -> int:
            if end - start == 1:
                return addresses[text[start]]
            half = (start + end) // 2
            left, right = between(start, half), between(half, end)
            length = end - start
            if length not in lengths:
                lengths[length] = array("q", array("d", [length]).tobytes())[0]
            filled.extend((tag, lengths[length], left, right))
            return int(first + size * (len(filled) // WORDS_A_NODE - 1))

        whole = between(0, len(text))
        ffi.buffer(words)[:] = filled.tobytes()
        return ffi.cast("void *", whole)

    def _text(self, pointer: Any) -> String:
        """The string of a rope. A node that is in it several times is read once; so the time is that of the text, at most."""
        address = int(ffi.cast("long", pointer))
        if address < FIRST_ADDRESS:
            return String("")
        key = address, self.types.string
        found = self._seen.get(key)
        if type(found) is not String:
            found = self._seen[key] = String(self._characters(pointer))
        return found

    def _characters(self, pointer: Any) -> str:
        """Raises NoRoom if there is no memory for them."""
        cast, tag = ffi.cast, self._tag_of_node
        whole = cast("union vlad_word *", pointer)
        if whole[0].i == tag:
            expect_bytes(BYTES_READ * whole[1].d)
        characters = array("I")  # UTF-32
        begins: dict[int, int] = {}  # of the nodes that are read
        work = [pointer]
        while work:
            words = cast("union vlad_word *", work.pop())
            if words[0].i != tag:
                characters.append(int(words[1].d))
                continue
            address, length = int(cast("long", words)), words[1].d
            begin = begins.get(address)
            if begin is not None:
                characters += characters[begin : begin + int(length)]
                continue
            if length >= SHORT_STRING:
                begins[address] = len(characters)
            work += (words[3].p, words[2].p)
        return characters.tobytes().decode(UTF_32, "surrogatepass")

    @property
    def _tag_of_node(self) -> int:
        """The first word of a node of a rope. A length and two sides follow; in the box of a character, its code point."""
        boxed = [type_.kind for member, type_ in self.layout.members_of(self.types.rope) if member.boxed]
        return int(boxed.index("pair"))

    def _entries(self, value: Value, layout: Layout, kept: list[Any]) -> Any:
        """The pointer to a tensor's entries in row-major order."""
        if not self._fits(value, layout) or not is_on_host(value):
            raise Mismatch
        array = entries(value)
        buffer = ffi.from_buffer(array)
        kept.append(buffer)
        pointer = ffi.cast("void *", buffer)
        if array is value.like:
            self._seen[int(ffi.cast("long", pointer)), self.types.tensor(layout.shape, layout.kind)] = value
        return pointer

    def _tensor(self, pointer: Any, type_: Type) -> Value:
        """The tensor with the entries at a pointer."""
        layout = type_.of
        value = self._seen.get((int(ffi.cast("long", pointer)), type_))
        if value is None:
            shape = self._shape(layout)
            count = math.prod(shape) * SIZES[layout.kind]
            expect_bytes(count)
            value = from_entries(ffi.buffer(pointer, count), shape, layout.kind)
        return value

    def _parts(self, value: Value, type_: Type) -> tuple[Value, ...]:
        if type(value) is Table and is_table(type_):
            value = form_of(value, type_.of.machine.codes)
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
        """The pointer for a value of a union. Boxes are kept alive in `kept`; a long list is written from its end."""
        pending: list[tuple[Member, list[Any]]] = []
        given = value = look(value)
        if (id(given), union) in self._made:
            return self._made[id(given), union][0]
        while True:
            value = look(value)
            member, member_type = self._member(value, union)
            if not member.boxed:
                self._encode(value, member_type, [], kept)  # a pair has constants that its head does not tell
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
            self._made[id(given), union] = pointer, given
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
            elif type(value) is Table:
                if is_table(type_):
                    return member, type_
            elif type(value) is Tensor:
                if type_.kind == "tensor" and self._is_member(value, type_.of):
                    return member, type_
            elif type_.head == constant_head(value):
                return member, type_
        raise Mismatch

    def _is_member(self, value: Tensor, layout: Layout) -> bool:
        """Whether a tensor is a member of a union with this layout; if its shape has sizes, no other member has so many axes."""
        is_sized = any(type(length) is Extent for length in layout.shape)
        return self._fits(value, layout) if is_sized else is_tensor_of(value, layout)

    # Words → values.

    def _decode(self, type_: Type, leaves: list[Any]) -> Value:
        """The value of a type whose leaves are first in the list; they are removed from it."""
        spine: list[tuple[Type, list[Value]] | tuple[Type, int]] = []
        while True:
            type_ = self.types.canonical(type_)
            if type_.kind == "real":
                value: Value = leaves.pop(0)
                break
            if type_.kind == "boolean":
                value = TRUE if leaves.pop(0) else FALSE
                break
            if type(type_.of) is Extent:
                value = float(self._lengths[self._numbers[type_.of]])
                break
            if type_.kind == "constant":
                value = type_.of
                break
            if type_.kind == "tensor":
                value = self._tensor(leaves.pop(0), type_)
                break
            if type_.kind == "string":
                value = self._text(leaves.pop(0))
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
                if outer.of.role is Role.TABLE:
                    value = table_of_form(value)
        return value

    def _unboxed(self, address: int, union: Type) -> tuple[Type, list[Any]]:
        members = self.layout.members_of(union)
        if address < FIRST_ADDRESS:
            return members[address - 1][1], []
        boxed = [(member, type_) for member, type_ in members if member.boxed]
        words = ffi.cast("union vlad_word *", address)
        member, type_ = boxed[words[0].i if boxed[0][0].tagged else 0]
        first = int(member.tagged)
        return type_, [
            getattr(words[first + i], "i" if kind == "b" else kind) for i, kind in enumerate(member.kinds)
        ]


def is_tensor_of(value: Value, layout: Layout) -> bool:
    """Whether a value has this shape and kind."""
    return type(value) is Tensor and (value.shape, kind_name(value.like.dtype)) == (layout.shape, layout.kind)
