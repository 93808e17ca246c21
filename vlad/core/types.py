"""The lattice of the compiler's types: constant, real, pair, closure of types, union; join and related operations.

The vocabulary of the compiler's abstract interpretation. Types are hash-consed: equal types are one object, so an instance's
key is cheap. A union is a cell: a mutable set of members with distinct heads, unified with other cells (union-find). A
recursive type is a cell that can be reached from one of its own members: a list of reals is {(), (real . this cell)}, the
accumulated backpropagators of a loop are {identity, the loop's step over this cell}. Types that mention a cell become
stale when cells are unified; `canonical` returns their present form.

AD values need no types of their own: a tag is a closure of one of the system's codes, so it costs nothing at run time, and the
known zero is a constant, which joins with any type by the rules of sensitivities.

The file is long because it has all operations of one lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

from vlad.core.extents import AnExtent, Extent, keep_apart
from vlad.core.nodes import Variable
from vlad.data.tensors import dtype_name, shape_text
from vlad.data.values import (
    FALSE,
    NIL,
    TRUE,
    UNSPECIFIED,
    ZERO,
    Boolean,
    Primitive,
    Role,
    String,
    Symbol,
    Value,
)
from vlad.data.write import atom_text

Head = Any  # distinguishes the members of a union: a word, a Code, or a constant's value


class Type:
    """One hash-consed type. `kind` is 'constant', 'real', 'boolean', 'string', 'tensor', 'pair', 'closure' or 'union'; `of` is
    the constant's value, the closure's Code, the union's Cell, the cell of a string's rope, or the tensor's Layout; `parts`
    are a pair's two types or the types of a closure's environment.
    """

    __slots__ = (
        "kind", "of", "parts", "head", "size", "mentions_cell", "mentions_tensor", "heads", "inside", "nested", "general", "now",
        "users", "serial",
    )  # fmt: skip

    kind: str
    of: Any
    parts: tuple[Type, ...]
    head: Head
    size: int
    mentions_cell: bool
    mentions_tensor: bool  # cells are not entered
    # by a bit for each head, which others may share (`Types.bit`); cells are not entered:
    heads: int  # those of it and the structures inside
    inside: int  # those of the structures inside only
    nested: int  # those of closures that may occur inside one of the same code
    general: Type | None  # the type with its constant reals generalised, once it is made
    now: Type | None  # itself, or what replaces it since cells were unified; None if that is not made yet
    users: list[Type]  # of one that mentions a cell: the types of which it is a part, until it is replaced
    serial: int

    def __repr__(self) -> str:
        return shown(self)


class Cell:
    """The members of a union, by head. After unification `link` leads to the cell that represents this one."""

    __slots__ = ("serial", "members", "link", "readers", "callers", "depth", "epoch")

    def __init__(self, serial: int) -> None:
        self.serial = serial  # 0: the ropes of strings
        self.members: dict[Head, Type] = {}
        self.link: Cell | None = None
        self.depth = 0  # how many cells are around it, each in a member of the next with one head
        self.epoch = 0  # `Types.epoch` since another cell was last unified with it
        self.readers: dict[Any, None] = {}  # the instances whose results depend on the members, in order
        self.callers: dict[Any, None] = {}  # and those that call with a closure which is none of the members


class Layout:
    """The layout of a tensor: its lengths and the kind of its numbers, one of core/loop_nests.SIZES. `cell` identifies the target
    of pointers to its entries.
    """

    __slots__ = ("shape", "kind", "cell")

    def __init__(self, shape: tuple[AnExtent, ...], kind: str, cell: Cell) -> None:
        self.shape = shape
        self.kind = kind
        self.cell = cell

    @property
    def size(self) -> AnExtent:
        return math.prod(self.shape)


def found(cell: Cell) -> Cell:
    """The cell that represents this one now."""
    while cell.link is not None:
        cell = cell.link
    return cell


def constant_key(value: Value) -> Any:
    """A key, equal for constants that programs cannot distinguish."""
    if type(value) is float:
        return "nan" if value != value else (value, math.copysign(1.0, value))
    if type(value) is String:
        return ("string", value.text)
    if type(value) is Extent:
        return ("extent", value)
    return id(value)


def constant_head(value: Value) -> Head:
    """The head of a constant's type."""
    if type(value) in (float, Extent):
        return "real"
    if type(value) is Boolean:
        return "boolean"
    if type(value) is String:
        return "string"
    return ("constant", constant_key(value))


# Types from which the known zero is kept distinct, as a member of a union, where paths meet: none; tensors, as the zero may have
# another shape, and structures, as the zero may be of another kind, as with the backpropagator of a lower order; or all, as in a
# list of mixed kinds it may be the zero of another element. Each level generates more code than the one before.
FROM_NOTHING, FROM_STRUCTURES, FROM_ALL = range(3)

LARGEST = 40_000  # nodes of one type, cells not entered,
# and so many more for each procedure of the program: a backpropagator contains those of all calls
LARGER = 20
# The same where parts may occur many times, as the environments of derivatives in each other do: so many nodes in all, of which
# at most LARGEST are distinct.
LARGEST_REPEATING = 1_000_000
REPEATED = 8  # times that a part occurs, on average, in a type that repeats its parts

HEAD_BITS = 60

DEEPEST = 300  # nested joins
DEEPEST_UNIONS = 8  # unions with a common head, each inside of a member of the next

LONGEST_CHAIN = 24  # nested pairs or closures of a known value before they become one recursive type
SHORTEST_CHAIN = 8  # the same, if the lengths of operands are to be ignored
UNROLLED_CHAIN = 128  # the same, if they are to be distinguished
UNROLLED_NAMES = 2_048  # the same for lists of named parts


class TooLarge(Exception):
    """A type grew beyond the limit. `repeats`: its parts occur many times in it, so a larger limit may do."""

    repeats = False


class Types:
    """All types of one analysis. `changed` collects the readers of cells that grew, `calling` their callers."""

    def __init__(self) -> None:
        self._table: dict[Any, Type] = {}
        self._kept: list[Value] = []  # constants whose ids are keys
        self._bits: dict[Head, int] = {}
        self._layouts: dict[tuple[tuple[AnExtent, ...], str], Layout] = {}
        self.epoch = 0  # how often what was read of types may have changed: with each unification of cells
        self.epoch_of_all = 0  # the last one that is due to no cell
        self._unions: list[Type] = []
        self._took_points_for_absent = False
        # the types that have another form since; tables of types take them away
        self.replaced: list[Type] = []
        self.largest = LARGEST
        self.may_repeat = False  # is the limit one of distinct nodes?
        self._absorbing: set[tuple[Cell, Type, Type]] = set()
        self._cells = -1
        self._zero_or_real: Type | None = None
        self.changed: list[Any] = []
        # where not None: the unions whose members are read, with these
        self.reads: list[tuple[Type, list[Type]]] | None = None
        self.calling: set[Any] = set()
        self.folding = False  # does every closure that occurs inside itself become a cell's member?
        self._joining = 0
        # do tails of a list's elements count as further tails of the list? The analysis ends more often, with less precision
        self.mixing = False
        self.widening = False  # does a join keep zero distinct from a structure, as a union?
        self.keep_zeros_distinct = FROM_NOTHING  # or another of these
        # and from numbers? Zero times infinity is `+nan.0`, except for the known zero
        self.exact = False
        self.taken = False  # has the known zero been taken for the zero of something else,
        self.filled = False  # of a tensor or a structure?
        self.real = self._make("real", None, (), "real")
        self.boolean = self._make("boolean", None, (), "boolean")
        self.zero = self.constant(ZERO)
        self.nil = self.constant(NIL)
        self.true = self.constant(TRUE)
        self.false = self.constant(FALSE)
        # a computed string is a rope (primitives/ropes.py)
        self.rope = self.union(self.nil, self.real)
        self._absorb(found(self.rope.of), self.pair(self.real, self.pair(self.rope, self.rope)))
        self.string = self._make("string", found(self.rope.of), (), "string")
        self.characters = self.union(self.nil)
        self._absorb(found(self.characters.of), self.pair(self.real, self.characters))

    def _make(self, kind: str, of: Any, parts: tuple[Type, ...], head: Head, key: Any = None) -> Type:
        table_key = (kind, of if key is None else key, parts)
        type_ = self._table.get(table_key)
        if type_ is None:
            type_ = Type()
            type_.kind, type_.of, type_.parts, type_.head = kind, of, parts, head
            type_.size = 1 + sum([part.size for part in parts])
            if type_.size > self.largest:
                self._expect_repeating(type_)
            type_.mentions_cell = kind in ("union", "string", "tensor") or any(
                part.mentions_cell for part in parts
            )
            type_.mentions_tensor = kind == "tensor" or any(part.mentions_tensor for part in parts)
            type_.serial = len(self._table) + 1
            type_.now, type_.general = type_, None
            self._note_heads(type_)
            if type_.mentions_cell:
                self._note_users(type_)
            self._table[table_key] = (
                type_  # complete: an exception from another thread may end the analysis anywhere
            )
        return type_

    def _expect_repeating(self, type_: Type) -> None:
        """Raise TooLarge, unless the parts of a large type may occur many times, and do."""
        seen: dict[Type, None] = dict.fromkeys(type_.parts)
        work = list(seen)
        for one in work:  # grows during the loop
            if len(seen) > LARGEST:
                raise TooLarge
            new = [part for part in one.parts if part not in seen]
            seen.update(dict.fromkeys(new))
            work += dict.fromkeys(new)
        if self.may_repeat and type_.size <= LARGEST_REPEATING:
            return
        error = TooLarge()
        error.repeats = not self.may_repeat and REPEATED * len(seen) < type_.size
        raise error

    def bit(self, head: Head) -> int:
        """The bit of a head of structures in `Type.heads`. There are few: a bit for each would take space in each type."""
        found = self._bits.get(head)
        if found is None:
            found = self._bits[head] = 1 << len(self._bits) % HEAD_BITS
        return found

    def _note_heads(self, type_: Type) -> None:
        inside = nested = own = 0
        for part in type_.parts:
            inside |= part.heads
            nested |= part.nested
        if type_.kind == "pair":
            own = self.bit("pair")
        elif type_.kind == "closure":
            own = self.bit(type_.head)
            nested |= own & inside
        type_.heads, type_.inside, type_.nested = inside | own, inside, nested

    @staticmethod
    def _note_users(type_: Type) -> None:
        type_.users = []
        for part in type_.parts:
            if part.mentions_cell:
                if part.now is not part:
                    type_.now = None
                part.users.append(type_)

    def constant(self, value: Value) -> Type:
        key = constant_key(value)
        if type(key) is int:
            self._kept.append(value)
        return self._make("constant", value, (), constant_head(value), key)

    def pair(self, car: Type, cdr: Type) -> Type:
        parts = car, cdr
        return self._table.get(("pair", None, parts)) or self._make("pair", None, parts, "pair")

    def tensor(self, shape: tuple[AnExtent, ...], kind: str = "float64") -> Type:
        layout = self._layouts.get((shape, kind))
        if layout is None:
            if self._took_points_for_absent and not is_of_reals(kind):
                self.epoch += 1  # what has run runs again
                self.epoch_of_all = self.epoch
                self._took_points_for_absent = False
            self._cells += 1
            layout = self._layouts[shape, kind] = Layout(shape, kind, Cell(self._cells))
        return self._make("tensor", layout, (), layout)

    @property
    def state(self) -> tuple[int, int, int]:
        """Equal to an earlier one if no union was made, unified or extended in between."""
        return self._cells, self.epoch, len(self.changed)

    @property
    def count(self) -> int:
        """How many types there are: the serial number of the last one."""
        return len(self._table)

    @property
    def has_tensors(self) -> bool:
        return bool(self._layouts)

    @property
    def has_points(self) -> bool:
        """Whether there are tensors that are not of reals and therefore have no tangents."""
        found = any(not is_of_reals(kind) for _, kind in self._layouts)
        self._took_points_for_absent |= not found
        return found

    def closure(self, code: Any, parts: tuple[Type, ...]) -> Type:
        return self._table.get(("closure", code, parts)) or self._make("closure", code, parts, code)

    def like(self, type_: Type, parts: tuple[Type, ...]) -> Type:
        """A pair or closure like `type_` with these parts."""
        if parts == type_.parts:
            return type_
        return self._make(type_.kind, type_.of, parts, type_.head)

    def truth(self, value: bool) -> Type:
        return self.true if value else self.false

    # Unions.

    def union(self, *members: Type) -> Type:
        """A new cell of these members, whose heads must differ."""
        self._cells += 1
        cell = Cell(self._cells)
        for member in members:
            self._keep_apart(cell, member)
            cell.members[member.head] = member
        union = self._union_of(cell)
        self._unions.append(union)
        return union

    @staticmethod
    def _keep_apart(cell: Cell, member: Type) -> None:
        """Note that a tensor has another shape than the tensors among the members of a union."""
        if is_tensor(member):
            for other in cell.members.values():
                if is_tensor(other) and len(other.of.shape) == len(member.of.shape):
                    keep_apart(other.of.shape, member.of.shape)

    @property
    def zero_or_real(self) -> Type:
        """The known zero, or another real. There is one such type, to which nothing is added: the union with more is another one.
        So instances do not multiply that differ in the identity of such unions."""
        if self._zero_or_real is None:
            self._zero_or_real = self.union(self.zero, self.real)
        return self._zero_or_real

    def _union_of(self, cell: Cell) -> Type:
        return self._make("union", cell, (), cell)

    def members(self, union: Type, reader: Any = None) -> list[Type]:
        """The present members; `reader` is added to `changed` when members are added."""
        cell = found(union.of)
        if reader is not None:
            cell.readers[reader] = None
        members = [self.canonical(member) for member in list(cell.members.values())]
        if self.reads is not None:
            self.reads.append((union, members))
        return members

    def forget_readers(self) -> None:
        """Cut the references to what is not a part. No cells can be unified afterwards."""
        for type_ in self._table.values():
            if type_.kind == "union":
                type_.of.readers.clear()
                type_.of.callers.clear()
            if type_.mentions_cell:
                type_.users.clear()

    def canonical(self, type_: Type) -> Type:
        """The present form of a type, with unified cells replaced."""
        if type_.now is type_:
            return type_
        at = type_
        while (now := at.now) is not at:
            if now is None:
                if at.kind == "union":
                    now = self._union_of(found(at.of))
                else:
                    now = self.like(at, tuple([self.canonical(part) for part in at.parts]))
                at.now = now
            at = now
        type_.now = at
        return at

    def all_canonical(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        """The present forms of types. Most are current: only for the others it calls `canonical`."""
        for type_ in types:
            if type_.now is not type_:
                return tuple([self.canonical(one) for one in types])
        return types

    def _replace(self, union: Type) -> None:
        """Note that a union, and whatever mentions it, has another present form."""
        work = [union]
        while work:
            type_ = work.pop()
            if type_.now is type_:
                type_.now = None
                self.replaced.append(type_)
                work += type_.users
                type_.users = []

    # The lattice.

    def join(self, a: Type | None, b: Type | None) -> Type | None:
        """The least upper bound of both; None is the bottom type, of expressions that never return."""
        if a is None or b is None:
            return b if a is None else a
        return self.join_both(a, b)

    def join_both(self, a: Type, b: Type) -> Type:
        if a.now is not a:
            a = self.canonical(a)
        if b.now is not b:
            b = self.canonical(b)
        if a is b:
            return a
        self._joining += 1
        if self._joining > DEEPEST:
            raise TooLarge
        try:
            return self._join_different(a, b)
        finally:
            self._joining -= 1

    def _join_different(self, a: Type, b: Type) -> Type:
        if a is self.zero or b is self.zero:
            other = b if a is self.zero else a
            if not self.widening or not other.parts:
                return self.or_zero(other)
        if a.kind != "union" or a is self._zero_or_real:
            a, b = b, a
        if a is self._zero_or_real:  # and b is no union
            return a if b.head == "real" or b is self.zero else self._with_zero_and_real(b)
        if b is self._zero_or_real:
            if a.kind != "union":
                return b if a.head == "real" else self._with_zero_and_real(a)
            self._absorb(found(a.of), self.zero)
            self._absorb(found(a.of), self.real)
            return self.canonical(a)
        if a.kind == "union":
            if b.kind == "union":
                self._unify(found(a.of), found(b.of))
            else:
                self._absorb(found(a.of), b)
            return self.canonical(a)
        if a.head != b.head:
            return self.union(a, b)
        if a.head == "real":
            return self.real
        if a.head == "boolean":
            return self.boolean
        if a.head == "string":
            return self.string
        parts = [
            x if x is y and x.now is x else self.join_both(x, y)
            for x, y in zip(a.parts, b.parts, strict=True)
        ]
        return self.canonical(self.like(a, self.all_canonical(tuple(parts))))

    def _with_zero_and_real(self, type_: Type) -> Type:
        union = self.union(self.zero, self.real)
        self._absorb(found(union.of), type_)
        return self.canonical(union)

    def widened(self, a: Type, b: Type) -> Type:
        """A join that terminates: a structure that grows where zero was becomes a recursive type."""
        outer, self.widening = self.widening, True
        try:
            joined = self.join_both(a, b)
            if not self.grows(joined):
                return joined
            self.folding = True
            return self.canonical(self.folded(joined, {}))
        finally:
            self.widening, self.folding = outer, False

    def folded(self, type_: Type, known: dict[Head, Cell]) -> Type:
        """Fold a type so that no closure's code occurs inside itself except through a cell, whose members the inner ones become.
        `known` maps the codes, or the pairs of a list, above to their cells.
        """
        if type_.now is type_ and not self._folds(type_, known):
            return type_
        parts = []
        last = len(type_.parts) - 1
        for index, part in enumerate(type_.parts):
            part = self.canonical(part)
            is_chain = part.kind == "closure" or (
                part.kind == "pair" and type_.kind == "pair" and index == last
            )
            if is_chain and part.head in known:
                cell = known[part.head]
                self._absorb(cell, part)
                part = self._union_of(found(cell))
            elif self.folding and part.kind == "closure" and self.occurs_inside(part.of, part):
                whole = self.union()
                cell = found(whole.of)
                self._absorb(cell, part)
                part = self.canonical(whole)
            elif part.parts:
                stays = self.mixing or part.kind != "pair"
                part = self.folded(part, known if stays else _without_pairs(known))
            parts.append(part)
        return self.like(type_, tuple([self.canonical(part) for part in parts])) if parts else type_

    def _folds(self, type_: Type, known: dict[Head, Cell]) -> bool:
        """Whether a type may have a part that `folded` changes."""
        if self.folding and type_.nested:
            return True
        return any(type_.inside & self.bit(head) for head in known)

    def grows(self, type_: Type) -> bool:
        """Whether a closure of a code occurs inside another of the same code: the sign of a growing chain."""
        return bool(type_.nested) and _nests(type_)

    def occurs_inside(self, code: Any, type_: Type) -> bool:
        """Whether a closure of the code occurs strictly inside a type. Cells are not entered."""
        return bool(type_.inside & self.bit(code)) and _occurs_inside(code, type_)

    def rolled(self, type_: Type, caller: Any = None) -> Type:
        """A closure over a chain of closures of its own code becomes a link of that chain. `caller` is added to `calling` when
        that may have changed."""
        type_ = self.canonical(type_)
        if type_.kind == "closure" and type_.of.role is not Role.TAG:
            for part in type_.parts:
                if part.now is not part:
                    part = self.canonical(part)
                if part.kind != "union":
                    continue
                cell = found(part.of)
                if type_.head in cell.members:
                    self._absorb(cell, type_)
                    return self.canonical(part)
                if caller is not None:
                    cell.callers[caller] = None
        return type_

    def all_rolled(self, types: tuple[Type, ...], caller: Any) -> tuple[Type, ...]:
        """`rolled` for each. Only for closures, and for what is not current, it calls that."""
        for type_ in types:
            if type_.now is not type_ or type_.kind == "closure":
                return tuple([self.rolled(one, caller) for one in types])
        return types

    def or_zero(self, type_: Type) -> Type:
        """A sensitivity that may also be the known zero: if the structure is plain, the zero is written out in it."""
        if type_ is self._zero_or_real:
            return type_
        if type_.kind == "union":
            self._absorb(found(type_.of), self.zero)
            return self.canonical(type_)
        if is_table(type_):  # the zero of a table has its keys
            return self.union(self.zero, type_)
        if self.keep_zeros_distinct == FROM_ALL:
            return self.zero_or_real if type_ is self.real else self.union(self.zero, type_)
        self.taken = True
        if type_.head == "real":
            if type_ is self.constant(0.0) and not self.exact:
                return type_
            if not self.exact:
                return self.real
            return self.zero_or_real if type_ is self.real else self.union(self.zero, type_)
        if type_.kind == "tensor" or type_.parts:
            if self.keep_zeros_distinct or (self.exact and type_.kind == "tensor"):
                return self.union(self.zero, type_)
            self.filled = True
        if type_.parts:
            return self.like(type_, tuple([self.or_zero(self.canonical(part)) for part in type_.parts]))
        return type_

    def _absorb(self, cell: Cell, member: Type) -> None:
        cell = found(cell)
        if member.parts and not self._is_as_long(cell.members.get(member.head), member):
            member = self.folded(member, {member.head: cell})
            cell = found(cell)
        old = cell.members.get(member.head)
        if old is None:
            self._keep_apart(cell, member)
            cell.members[member.head] = member
            self._notify(cell)
            self._nest(cell, member)
            return
        old = self.canonical(old)
        member = self.canonical(member)
        if old is member or (cell, old, member) in self._absorbing:
            return  # in the second case, by a call around this one
        self._absorbing.add((cell, old, member))
        try:
            joined = self._join_members(old, member)
        finally:
            self._absorbing.discard((cell, old, member))
        joined, met = self.canonical(joined), old
        while True:  # the joins may change this very member, and so may joining again
            cell = found(cell)
            now = self.canonical(cell.members[member.head])
            if now is joined or now is self.canonical(met):
                break
            joined, met = self.canonical(self._join_members(joined, now)), now
        cell.members[member.head] = joined
        if joined is not self.canonical(old):
            self._notify(cell)
            self._nest(cell, joined)

    def _nest(self, cell: Cell, member: Type) -> None:
        """Bound the nesting of unions: what a recursive procedure returns may grow by a union for each call, such as a list that
        is empty, or of one element, or of two."""
        for part in member.parts:
            part = self.canonical(part)
            inner = found(part.of) if part.kind == "union" else cell
            if inner is not cell and member.head in inner.members:
                inner.depth = max(inner.depth, cell.depth + 1)
                if inner.depth > DEEPEST_UNIONS:
                    self._unify(cell, inner)
                    cell = found(cell)

    def _is_as_long(self, old: Type | None, new: Type) -> bool:
        """Whether it equals a member except for constants, or is a list as long as the one that is a member, or the first one.
        Then nothing grows, and a tuple is not taken for a list of its elements. With `mixing`, only the former counts.
        """
        if old is not None and self.general(old) is self.general(new):
            return True
        if self.mixing:
            return False
        if old is None:
            return new.kind == "pair"
        while old.kind == new.kind == "pair":
            old, new = self.canonical(old.parts[1]), self.canonical(new.parts[1])
        return old is new is self.nil

    def _join_members(self, a: Type, b: Type) -> Type:
        """In a union zero is kept distinct from structures: a structure that grows there is recursive."""
        outer, self.widening = self.widening, True
        try:
            return self.join_both(a, b)
        finally:
            self.widening = outer

    def _unify(self, a: Cell, b: Cell) -> None:
        if a is b:
            return
        if b.serial < a.serial:
            a, b = b, a
        union = self._union_of(b)
        b.link = a
        self.epoch += 1
        a.epoch = self.epoch
        self._replace(union)
        self._notify(a)
        self._notify(b)
        a.readers |= b.readers
        a.callers |= b.callers
        for member in list(b.members.values()):
            self._absorb(found(a), self.canonical(member))

    def epochs(self) -> dict[Type, int]:
        """When each type that is still current last got another form inside: the last epoch of the cells that it leads to, by its
        parts and the members of unions. Those that lead to no unified cell are left out."""
        self._unions = unions = [union for union in self._unions if union.now is union]
        holders: dict[Type, list[Type]] = {}  # the unions by their members
        for union in unions:
            for member in union.of.members.values():
                holders.setdefault(self.canonical(member), []).append(union)
        last: dict[Type, int] = {}
        for seed in sorted([union for union in unions if union.of.epoch], key=lambda union: -union.of.epoch):
            work = [seed]
            while work:
                type_ = work.pop()
                if type_ not in last:
                    last[type_] = seed.of.epoch
                    work += type_.users
                    work += holders.get(type_, ())
        return last

    def _notify(self, cell: Cell) -> None:
        self.changed += cell.readers
        self.calling.update(cell.callers)

    # Queries.

    def general(self, type_: Type) -> Type:
        """The type with its constant reals generalised."""
        if type_.now is not type_:
            type_ = self.canonical(type_)
        known = type_.general
        if known is None:
            if type_.head == "real":
                known = self.real
            elif type_.parts:
                known = self.like(type_, tuple([self.general(part) for part in type_.parts]))
            else:
                known = type_
            type_.general = known
        return known

    def skeleton(self, type_: Type) -> Type:
        """The type with all its constants generalised, and symbols taken for texts: those are one type where they are joined."""
        type_ = self.canonical(type_)
        if type_.kind == "constant":
            value = type_.of
            if type(value) in (Symbol, String):
                return self.string
            if type(value) is Boolean:
                return self.boolean
            return self.general(type_)
        if not type_.parts:
            return type_
        return self.like(type_, tuple([self.skeleton(part) for part in type_.parts]))

    def general_within(self, type_: Type) -> Type:
        """The same, but for a type that is a constant real itself."""
        type_ = self.canonical(type_)
        return type_ if type_.head == "real" else self.general(type_)

    def are_isomorphic(self, some: tuple[Type, ...], others: tuple[Type, ...]) -> bool:
        """Whether types are equal but for constant reals and the identity of unions; for recursive types, a bisimulation."""
        assumed: set[tuple[Cell, Cell]] = set()
        work = list(zip(some, others, strict=True))
        while work:
            a, b = work.pop()
            a, b = self.canonical(a), self.canonical(b)
            if a is b:
                continue
            if a.size != b.size or a.mentions_cell != b.mentions_cell:
                return False
            if not a.mentions_cell:
                if self.general(a) is not self.general(b):
                    return False
                continue
            if a.kind == b.kind == "union":
                one, other = found(a.of), found(b.of)
                if (one, other) in assumed:
                    continue
                if one.members.keys() != other.members.keys():
                    return False
                assumed.add((one, other))
                work += [(member, other.members[head]) for head, member in one.members.items()]
            elif a.kind == "union" or b.kind == "union" or a.head != b.head:
                return False
            else:
                work += zip(a.parts, b.parts, strict=True)
        return True

    def heads_within(self, types: Iterable[Type]) -> tuple[frozenset[Head], frozenset[Head]]:
        """The heads of the closures, and those of the tensors, in types and in their unions."""
        seen: set[Type] = set()
        work = [*types]
        while work:
            type_ = work.pop()
            if type_.now is not type_:
                type_ = self.canonical(type_)
            if type_ not in seen:
                seen.add(type_)
                work += found(type_.of).members.values() if type_.kind == "union" else type_.parts
        closures = frozenset([type_.head for type_ in seen if type_.kind == "closure"])
        return closures, frozenset([type_.head for type_ in seen if is_tensor(type_)])

    def common(self, a: Type, b: Type) -> Type:
        """Generalise two types that differ in constant reals only: equal constants are kept."""
        a, b = self.canonical(a), self.canonical(b)
        general = self.general(a)
        if a is b or a is general:  # the latter has no constant left
            return a
        if not a.parts or len(a.parts) != len(b.parts):
            return general
        return self.like(a, tuple([self.common(x, y) for x, y in zip(a.parts, b.parts, strict=True)]))

    def contains(self, outer: Type, inner: Type) -> bool:
        """Whether `inner` is a proper part of `outer`. Cells are not entered."""
        return any(
            part is inner or (part.size > inner.size and self.contains(part, inner)) for part in outer.parts
        )


def _without_pairs(known: dict[Head, Cell]) -> dict[Head, Cell]:
    """Remove the pairs, for a pair that is no link of the chain above it, such as an element of the list."""
    return {head: cell for head, cell in known.items() if head != "pair"}


NO_HEADS: frozenset[Head] = frozenset()


class Known:
    """The facts about a value: its type and, when specialising, its leaves; and, if found, four more: a real is
    factor·base + offset (`line`: the three), a tensor of matrices is another one transposed (`transposed`: the other), a
    boolean is the result of a test of a variable (`test`: the row and the variable), and a value of a union is none of the
    members with some heads (`ruled_out`).
    """

    __slots__ = ("leaves", "line", "ruled_out", "test", "transposed", "type")

    def __init__(self, type_: Type, leaves: tuple[Any, ...] = ()) -> None:
        self.type = type_
        self.leaves = leaves
        self.line: tuple[Known, float, float] | None = None
        self.transposed: Known | None = None
        self.test: tuple[Primitive, Variable] | None = None
        self.ruled_out = NO_HEADS

    def __repr__(self) -> str:
        return f"{shown(self.type)}{list(self.leaves) or ''}"


class Sharing(Enum):
    """What a structural operation does at a part, or two parts of two structures, that it has visited before in the same call."""

    RESULTS = "it returns the same result again"
    VISITS = "nothing, or it returns true: had the first visit failed, the whole operation would have ended"


class Recursion:
    """A structural operation (zero, plus, complete, …) on recursive types: a recursive procedure made of the rules themselves.
    `sharing`: how compiled code treats parts to which there are many paths."""

    __slots__ = ("name", "rule", "sharing")

    def __init__(self, name: str, rule: Callable[..., Any], sharing: Sharing | None = None) -> None:
        self.name = name
        self.rule = rule
        self.sharing = sharing


def _nests(type_: Type, above: tuple[Any, ...] = ()) -> bool:
    if type_.kind == "closure" and type_.of.role is not Role.TAG:  # tags nest as deep as J was applied
        if type_.of in above:
            return True
        above = (*above, type_.of)
    return any(part.size > 1 and _nests(part, above) for part in type_.parts)


def _occurs_inside(code: Any, type_: Type) -> bool:
    return any(part.of is code or (part.size > 1 and _occurs_inside(code, part)) for part in type_.parts)


def is_tensor(type_: Type) -> bool:
    return type_.kind == "tensor"


def is_table(type_: Type) -> bool:
    return type_.kind == "closure" and type_.of.role is Role.TABLE


def is_of_reals(kind: str) -> bool:
    return kind in ("float64", "float32")


def has_tangents(tensor: Type) -> bool:
    """Whether a tensor is of reals. Any other is its own zero."""
    return is_of_reals(tensor.of.kind)


def is_real(type_: Type) -> bool:
    """Whether it is a real, or the known zero, which stands for one."""
    return type_.head == "real" or type_.of is ZERO


def cells_of(type_: Type) -> Iterator[Cell]:
    """The cells that a type mentions directly."""
    if type_.kind in ("union", "string"):
        yield found(type_.of)
    elif type_.kind == "tensor":
        yield type_.of.cell
    elif type_.mentions_cell:
        for part in type_.parts:
            yield from cells_of(part)


def shown(type_: Type, depth: int = 5) -> str:
    """The form of a type for debugging: `(real real)`, `[f real]` for a closure of f over a real. (type_text.py: for people.)"""
    if type_.kind in ("real", "boolean", "string"):
        return type_.kind
    if type_.kind == "tensor":
        kind = "" if type_.of.kind == "float64" else f" {dtype_name(type_.of.kind)}"
        return f"tensor {shape_text(type_.of.shape)}{kind}"
    if type_.kind == "constant":
        if type_.of is ZERO:
            return "zero"
        return (
            "()"
            if type_.of == ()
            else "unspecified"
            if type_.of is UNSPECIFIED
            else str(type_.of)
            if type(type_.of) is Extent
            else atom_text(type_.of, True)
        )
    if depth == 0:
        return "…"
    if type_.kind == "union":
        cell = found(type_.of)
        return f"#{cell.serial}"
    if type_.kind == "pair":
        return _shown_list(type_, depth)
    parts = [shown(part, depth - 1) for part in type_.parts]
    name = f"{type_.of.role.value}{type_.of.derivation}{type_.of.name or 'λ'}"
    return f"[{name}{''.join([' ' + part for part in parts])}]"


def _shown_list(type_: Type, depth: int) -> str:
    """Pairs as `write` shows them, the first few."""
    parts: list[str] = []
    while type_.kind == "pair":
        if len(parts) == 12:
            return f"({' '.join(parts)} …)"
        parts.append(shown(type_.parts[0], depth - 1))
        type_ = type_.parts[1]
    end = "" if type_.of == () else f" . {shown(type_, depth - 1)}"
    return f"({' '.join(parts)}{end})"
