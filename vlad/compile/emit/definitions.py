"""The definitions that the functions of a unit of C share: structures, static data, numbers of failures, required parts of the
run-time.

In: a first-order program.  Out: `Definitions`, which grows while functions are emitted (c_function.py); its text precedes theirs
in the unit (c_unit.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from vlad.compile.analysis.static_operands import MOST_WRITTEN
from vlad.compile.emit.c_numbers import number_text
from vlad.compile.emit.c_text import (
    C_TYPES,
    COUNTER,
    LONGEST_NAME,
    constant_text,
    identifier,
    place_of_result,
)
from vlad.compile.emit.counters import counters
from vlad.compile.emit.facts import Facts
from vlad.compile.emit.loop_functions import has_many
from vlad.compile.emit.loop_text import C_KINDS
from vlad.compile.emit.needs import Needs
from vlad.compile.emit.results import results_made
from vlad.compile.emit.sharing import sharing_in
from vlad.compile.ir.program import (
    Data,
    Fail,
    Leaf,
    Member,
    Program,
    Slot,
    Static,
)
from vlad.compile.native.abi import FIRST_FAILURE
from vlad.compile.passes.uniqueness import owning
from vlad.core.extents import Extent
from vlad.core.types import Cell
from vlad.data.source import Span
from vlad.data.tensors import Tensor, kind_name
from vlad.data.values import Global


class Structure(NamedTuple):
    """A structure of C: the type, and its definition."""

    name: str
    text: str


class Site(NamedTuple):
    """Where code is, for profiles: the procedure of its function of C, its own place, and the last one in the user's own text."""

    callee: Any
    span: Span
    near: Span | None


class Definitions:
    """The definitions of one unit. `sites`: of code that says where it is (places.py), by number."""

    def __init__(
        self,
        program: Program,
        alone: bool = False,
        extents: Sequence[Extent] = (),
        sizes: int = 0,
        late: Sequence[Extent] = (),
        placed: bool = False,
    ) -> None:
        self.program = program
        self.sites: list[Site] | None = [] if placed else None
        self._numbers: dict[tuple[Any, ...], int] = {}
        self.alone = alone
        self.extents, self.sizes, self.late = extents, extents[:sizes], late
        self.measured: list[
            tuple[int, Extent]
        ] = []  # the members of cells whose sizes are known only in a call
        self.owning = owning(program)
        self.facts = Facts(program.functions, self.owning)
        self.shared = sharing_in(program.functions, self.facts)
        self.counters = counters(program.functions, program.entries)
        self.failures: list[Fail] = []
        self.structures: dict[str, Structure] = {}  # by the kinds of their fields
        self.statics: dict[int, tuple[Static, str]] = {}
        self.static_lines: list[str] = []
        self.needs = Needs()
        self.cells: dict[Cell, int] = {cell: number for number, cell in enumerate(program.members)}
        self.chooses = False  # do loops over arrays choose?
        self.decomposes = self.collects = self.packs = self.enters = self.has_arrays = self.has_kernels = (
            False
        )
        self.nested = 0  # loops that recursions run, and that collect
        self.multiplies: set[str] = set()  # kinds of numbers in products of matrices
        self.contracts: set[str] = set()  # in those over several axes
        self.has_many_loops = has_many(program)
        self.loop_functions: dict[str, str] = {}  # their names, by their texts
        self.given: list[Tensor] = []  # tensors whose entries the caller passes with each call,
        self.takes: list[str] = []  # and the variables that hold their addresses
        self.places = (
            {} if alone else results_made(program.entries[0], self.facts, self.owning)
        )  # the results' numbers
        self.static_lines += [f"static void *{place_of_result(index)};" for index in self.places.values()]
        self._data: dict[Data, str] = {}

    def site(self, site: Site) -> int:
        """The number of a site; those on one line of a procedure are one."""
        assert self.sites is not None
        key = (
            site.callee,
            site.span.source,
            site.span.line,
            None if site.near is None else (site.near.source, site.near.line),
        )
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.sites)
            self.sites.append(site)
        return number

    def variable_names(self, cell: Global) -> list[str]:
        number = list(self.program.variables).index(cell)
        return [
            f"g{number}_{identifier(cell.name[:LONGEST_NAME])}_{index}"
            for index in range(len(self.program.variables[cell]))
        ]

    def cell_number(self, cell: Cell) -> int:
        return self.cells.setdefault(cell, len(self.cells))

    def slot_type(self, slot: Slot) -> str:
        return COUNTER if slot in self.counters else C_TYPES[slot.kind]

    def result_type(self, kinds: str) -> str:
        if not kinds:
            return "void"
        if len(kinds) == 1:
            return C_TYPES[kinds]
        if kinds not in self.structures:
            name = f"struct vlad_{kinds}" if len(kinds) < 40 else f"struct vlad_{len(self.structures)}"
            fields = " ".join([f"{C_TYPES[kind]} _{index};" for index, kind in enumerate(kinds)])
            self.structures[kinds] = Structure(name, f"{name} {{ {fields} }};")
        return self.structures[kinds].name

    def box_type(self, member: Member) -> str:
        kinds = ("t" if member.tagged else "") + member.kinds
        key = "box " + kinds
        if key not in self.structures:
            name = f"struct vlad_box_{len(self.structures)}"
            tag = "long tag; " if member.tagged else ""
            words = {"d": "double", "b": "long", "p": "void *"}
            fields = " ".join([f"{words[kind]} _{index};" for index, kind in enumerate(member.kinds)])
            self.structures[key] = Structure(name, f"{name} {{ {tag}{fields} }};")
        return self.structures[key].name

    def box_tag(self, member: Member) -> int:
        """The index of a member among the boxed members of its union."""
        boxed = [m for m in self.program.members[member.cell] if m.boxed]
        return boxed.index(member)

    def failure(self, fail: Fail) -> int:
        self.failures.append(fail)
        return FIRST_FAILURE + len(self.failures) - 1

    def data(self, leaf: Data) -> str:
        """The name of a tensor's entries: part of the text if they are few, or if the unit stands alone."""
        if leaf not in self._data:
            array = leaf.tensor.array
            self._data[leaf] = name = f"vlad_data_{len(self._data)}"
            if array.size <= MOST_WRITTEN or self.alone:
                kind = kind_name(array.dtype)
                entries = ", ".join([number_text(entry, kind) for entry in array.reshape(-1).tolist()])
                self.static_lines.append(f"static const {C_KINDS[kind]} {name}[] = {{{entries or '0'}}};")
            else:
                self.static_lines.append(f"static const void *{name};")
                self.given.append(leaf.tensor)
                self.takes.append(name)
        return f"(void *){self._data[leaf]}"

    def static(self, leaf: Static) -> str:
        """The name of a box that is part of the program. What it points to is written before it, each box once."""
        work = [leaf]
        while work:
            one = work[-1]
            missing = [
                inner for inner in one.leaves if type(inner) is Static and id(inner) not in self.statics
            ]
            if missing:
                work += missing
                continue
            work.pop()
            if id(one) in self.statics:
                continue
            name = f"vlad_static_{len(self.statics)}"
            self.statics[id(one)] = one, name
            tag = f"{self.box_tag(one.member)}, " if one.member.tagged else ""
            leaves = ", ".join([self.static_leaf(inner) for inner in one.leaves])
            self.static_lines.append(f"static const {self.box_type(one.member)} {name} = {{{tag}{leaves}}};")
        return f"(void *)&{self.statics[id(leaf)][1]}"

    def static_leaf(self, leaf: Leaf) -> str:
        if type(leaf) is Data:
            return self.data(leaf)
        if type(leaf) is Static:
            return f"(void *)&{self.statics[id(leaf)][1]}"
        return constant_text(leaf)
