"""The lengths of operands' axes that differ from call to call: which ones the compiler takes as sizes (core/extents.py).

In: the shapes of the tensors in the operands of a call, and in those of earlier calls of the procedure.  Out: `Sizes`, with a
shape for each tensor. Axes that had equal lengths in each of the calls have one size in common. The first variant of a procedure
is always compiled for its own lengths, of which the C compiler makes use; short axes, whose loops are unrolled, keep theirs in
several variants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from vlad.compile.analysis.static_operands import Fixed
from vlad.compile.analysis.trees import Tree
from vlad.core.extents import (
    LEAST,
    MOST_LISTED,
    TYPICAL,
    AnExtent,
    Extent,
    Guards,
    Size,
    at_most,
    is_late,
    replaced,
)
from vlad.core.types import Type, Types, found, is_tensor
from vlad.data.tensors import Tensor, kind_name
from vlad.data.values import Value, look

SHORT_AXIS = 8  # the greatest length of an axis that is at first compiled by itself,
MOST_SHORT = 4  # and the number of variants that differ in such lengths only
FEW_LISTED = 16  # parts of a tensor in a list of known length at first: loops over more are as fast, and compiled sooner
MOST_TENSORS = 256  # among the operands of a call that has sizes

# The kind and the shape of each tensor; for a number that determines shapes, itself
Shapes: TypeAlias = "tuple[tuple[str, tuple[int, ...]], ...]"


def tensors_of(operands: Iterable[Value | Tree]) -> list[Tensor | Fixed]:
    """The tensors in values, including those in the environments of closures, and the numbers that determine shapes, in a fixed
    order; none if there are too many."""
    found_tensors: list[Tensor | Fixed] = []
    seen: set[int] = set()
    work = list(operands)
    work.reverse()
    while work:
        value = look(work.pop())
        if type(value) in (Tensor, Fixed):
            found_tensors.append(value)
            if len(found_tensors) > MOST_TENSORS:
                return []
        elif type(value) is tuple and len(value) > 1 and id(value) not in seen:
            seen.add(id(value))
            parts = value if len(value) == 2 else value[1 : 1 + len(value[0].environment)]
            work += reversed(parts)
    return found_tensors


def shapes_of(operands: Iterable[Value | Tree]) -> Shapes:
    """The kinds and shapes of the tensors in the operands of a call, and its numbers that determine shapes."""
    return tuple([
        ("number", (int(one),)) if type(one) is Fixed else (kind_name(one.like.dtype), one.shape)
        for one in tensors_of(operands)
    ])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a call. `shapes`: of the tensors among its operands, by id; for a number that determines shapes, itself.
    `lengths`: of lists that are counted within the call, by the place in the program; with `of_numbers`, also those that are
    given by numbers that the call computes. `listed`: the number of parts of a tensor up to which a list of them has a known
    length; `opened`: has a list none for that reason alone?"""

    guards: Guards = field(default_factory=Guards)
    sizes: tuple[Size, ...] = ()
    shapes: Mapping[int, tuple[AnExtent, ...]] = field(default_factory=dict)
    lengths: dict[Hashable, AnExtent] = field(default_factory=dict)
    of_numbers: bool = False
    listed: int = FEW_LISTED
    opened: set[int] = field(default_factory=set)

    def is_listed(self, count: AnExtent) -> bool:
        """Whether a list of so many parts of a tensor has a known length."""
        if not at_most(count, self.listed) and at_most(count, MOST_LISTED):
            self.opened.add(count)
        return at_most(count, self.listed)

    @property
    def with_lists(self) -> Sizes | None:
        """The same with known lengths of more lists; None if there are no more."""
        return replace(self, listed=MOST_LISTED, opened=set()) if self.opened else None

    def length(self, place: Hashable) -> AnExtent:
        """The length of the list that is counted at a place."""
        if place not in self.lengths:
            self.lengths[place] = self.guards.size(TYPICAL, is_late=True)
        return self.lengths[place]

    @property
    def late(self) -> tuple[Extent, ...]:
        """The lengths of lists that are determined within the call."""
        return tuple(
            dict.fromkeys([one for one in self.lengths.values() if type(one) is Extent and is_late(one)])
        )

    def with_values(self, values: Mapping[Size, AnExtent]) -> Sizes:
        """The sizes after some were replaced."""
        self.guards.conditions.clear()  # the decisions are repeated
        left = tuple([size for size in self.sizes if size not in values])
        shapes = {
            key: tuple([replaced(length, values) for length in shape]) for key, shape in self.shapes.items()
        }
        lengths = {place: replaced(length, values) for place, length in self.lengths.items()}
        return replace(self, sizes=left, shapes=shapes, lengths=lengths)

    @property
    def extents(self) -> list[Extent]:
        return [Extent(self.guards, {(size,): 1}) for size in self.sizes]


def sizes_between(earlier: Sequence[Shapes], operands: Sequence[Value | Tree]) -> Sizes:
    """The sizes by which a call differs from earlier ones, which have tensors of the same kinds and ranks, or lists of such."""
    if not earlier:
        return Sizes()
    own = shapes_of(operands)
    alike = [shapes for shapes in earlier if _form(shapes) == _form(own)]
    if alike:
        places = list(range(len(own)))
    else:  # lists of other lengths, of tensors of the same shapes
        different = _different(own)
        alike = [shapes for shapes in map(_different, earlier) if _form(shapes) == _form(different)]
        places = [different.index(one) for one in own]
    guards = Guards()
    sizes: dict[tuple[int, ...], Extent] = {}
    shapes: dict[int, tuple[AnExtent, ...]] = {}
    for number, tensor, (_, known) in zip(places, tensors_of(operands), own, strict=True):
        shape: list[AnExtent] = []
        for axis, length in enumerate(known):
            lengths = (*[one[number][1][axis] for one in alike], length)
            if (
                len(set(lengths)) == 1
                or length < LEAST
                or (max(lengths) <= SHORT_AXIS and len(alike) < MOST_SHORT)
            ):
                shape.append(length)
            else:
                if lengths not in sizes:
                    sizes[lengths] = guards.size(length)
                shape.append(sizes[lengths])
        shapes.setdefault(id(tensor), tuple(shape))
    return Sizes(guards, tuple([size for extent in sizes.values() for size in extent.sizes]), shapes)


def _different(shapes: Shapes) -> Shapes:
    """Each kind and shape once."""
    return tuple(dict.fromkeys(shapes))


def _form(shapes: Shapes) -> list[tuple[str, int]]:
    return [(kind, len(shape)) for kind, shape in shapes]


def extents_of(sizes: Sizes, types: Types, crossing: Iterable[Type]) -> list[Extent]:
    """The sizes of a call, then the other extents of the tensors in types that cross between a caller and compiled code."""
    extents = dict.fromkeys(sizes.extents)
    for shape in _shapes_within(types, crossing):
        extents.update(dict.fromkeys([length for length in shape if type(length) is Extent]))
    return list(extents)


def _shapes_within(types: Types, given: Iterable[Type]) -> list[tuple[AnExtent, ...]]:
    """The shapes of the tensors in types and in their unions, and the numbers that are extents."""
    seen: set[Type] = set()
    work = list(given)
    while work:
        type_ = types.canonical(work.pop())
        if type_ not in seen:
            seen.add(type_)
            work += found(type_.of).members.values() if type_.kind == "union" else type_.parts
    ordered = sorted(seen, key=lambda type_: type_.serial)
    return [
        type_.of.shape if is_tensor(type_) else (type_.of,)
        for type_ in ordered
        if is_tensor(type_) or type(type_.of) is Extent
    ]


def sizes_in_unions(types: Types, operands: Iterable[Type]) -> set[Size]:
    """The sizes within unions that operands do not determine: of numbers, and of tensors whose shapes tell members apart. (If
    there is one tensor of a kind and number of axes, or if it is a part of a member, as in a list of any length, it determines
    its sizes.)"""
    sizes: set[Size] = set()
    seen: set[Type] = set()
    work = [types.canonical(type_) for type_ in operands]
    while work:
        type_ = work.pop()
        if type_ in seen:
            continue
        seen.add(type_)
        if type_.kind != "union":
            work += [types.canonical(part) for part in type_.parts]
            continue
        members = [types.canonical(member) for member in found(type_.of).members.values()]
        tensors = [member.of for member in members if is_tensor(member)]
        forms = Counter([(one.kind, len(one.shape)) for one in tensors])
        lengths = [
            length for one in tensors if forms[one.kind, len(one.shape)] > 1 for length in one.shape
        ] + [member.of for member in members]
        sizes.update([size for length in lengths if type(length) is Extent for size in length.sizes])
        work += [member for member in members if not is_tensor(member)]
    return sizes
