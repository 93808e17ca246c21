"""First-order code → C text: one translation unit, names from the program, comments with its positions.

A unit for a session exports `vlad_call`, which takes and gives machine words, and where the entry maps doubles to one double
also `vlad_direct`; one that stands alone is a program with a `main`, or a library with a procedure for each entry. A
tail call within a loop is a jump; booleans are ints; strict floating point is the toolchain's flags.
Statuses: 0 is an answer, those that abi.py names are limits, from FIRST_FAILURE on they number the program's own `fail`s.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from vlad.compile.abi import FIRST_FAILURE, OUT_OF_FUEL, OUT_OF_MEMORY, OUTSIDE, STOPPED, TOO_DEEP
from vlad.compile.emit_kernels import C_KINDS, kernel_lines, looks, number_text, products_text
from vlad.compile.emit_routines import routine_lines
from vlad.compile.first_order import (
    Block,
    Box,
    Branch,
    Compute,
    Data,
    Each,
    Effect,
    Fail,
    Function,
    Immediate,
    Invoke,
    Leaf,
    Load,
    Member,
    Program,
    Return,
    Slot,
    Statement,
    Static,
    Store,
    Switch,
    TailInvoke,
    Unbox,
    Unreachable,
    Yield,
    blocks,
    components,
    inner_blocks,
    leaves_read,
    makes,
    statements,
)
from vlad.compile.functions import ONE, OTHER, TWO, applied, needed, single
from vlad.compile.identity import MOST_WRITTEN
from vlad.compile.products import as_product
from vlad.compile.rewriting import leaf_kind
from vlad.core.kernels import SIZES, Routine
from vlad.core.types import Cell
from vlad.source import Span
from vlad.tensors import Tensor, kind_name
from vlad.values import Global
from vlad.write import LONGEST_AXIS

NURSERY = 16 << 20  # bytes a loop allocates before it is collected for the first time
STACK_SIZE = 1 << 30
KEPT = 128 << 20  # bytes of the area whose pages stay from call to call
LARGE_ANSWER = 4096  # entries of an array that is written where the host wants it
LONGEST_NAME, LONGEST_COMMENT = 40, 200  # characters of what a program names, in C
C_TYPES = {"d": "double", "b": "int", "p": "void *"}
WORDS = {"d": "d", "b": "i", "p": "p"}


def emit(program: Program) -> tuple[str, list[Fail], list[Tensor], tuple[int, ...]]:
    """The unit's text, its failures by status - FIRST_FAILURE, the tensors whose entries it is handed with each call, and the
    results for whose entries it takes places."""
    unit = _Unit(program)
    return unit.text(unit.exports), unit.failures, unit.given, tuple(unit.places.values())


def emit_program(program: Program, told: Callable[[Fail], str]) -> str:
    """The text of a program that stands alone. `told` words its errors, with a character 1 for what is in the line."""
    unit = _Unit(program, alone=True)
    return unit.text(lambda: unit.main(told))


@dataclass(frozen=True, slots=True)
class Export:
    """A procedure of a library: from so many doubles to as many as the entry has results."""

    name: str
    parameters: tuple[str, ...]


def emit_library(program: Program, exports: list[Export], told: Callable[[Fail], str], name: str) -> str:
    """The text of a library: the first entry computes the globals, the others are exported."""
    unit = _Unit(program, alone=True)
    return unit.text(lambda: unit.library(exports, told, name))


def _sections() -> dict[str, str]:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runtime.c")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = {}
    for match in re.finditer(r"/\* section: (\w+)\n(.*?)(?=/\* section|/\* end)", text, re.DOTALL):
        found[match.group(1)] = "/* " + match.group(2).strip() + "\n"
    return found


@cache
def printing() -> str:
    """The characters at which those that print begin and end by turns."""
    found, prints = [], False
    for character in range(sys.maxunicode + 1):
        if chr(character).isprintable() is not prints:
            prints = not prints
            found.append(character)
    return ", ".join(map(str, found))


class Facts:
    """What holds of functions together: who allocates, who calls itself outside tail position, who can fail."""

    def __init__(self, functions: list[Function]) -> None:
        calls: dict[Function, list[Function]] = {}
        tails: dict[Function, list[Function]] = {}
        self.allocates: set[Function] = set()
        self.fails: set[Function] = set()
        self.loops: set[Function] = set()
        self.acts: set[Function] = set()
        self.counts = self.quotes = self.shows_tensors = False
        for function in functions:
            all_statements = statements(function.body)
            calls[function] = [s.function for s in all_statements if type(s) is Invoke]
            ends = [block.end for block in blocks(function.body)]
            tails[function] = [end.function for end in ends if type(end) is TailInvoke]
            if any(makes(s) for s in all_statements):
                self.allocates.add(function)
            if function in tails[function]:
                self.loops.add(function)
            effects = {s.what for s in all_statements if type(s) is Effect}
            self.counts |= "step" in effects
            self.quotes |= "quoted" in effects
            self.shows_tensors |= "tensor" in effects
            if effects - {"step"}:
                self.acts.add(function)
            takes_long = any(type(s) is Each and s.is_loop and looks(s.kernel) for s in all_statements)
            if effects or takes_long or any(type(end) in (Fail, Unreachable) for end in ends):
                self.fails.add(function)
        self.callees = {function: [*calls[function], *tails[function]] for function in functions}
        self.component = components(functions, self.callees)
        self.recursive = {
            f for f in functions if any(self.component[f] == self.component[g] for g in calls[f])
        }
        by_number: dict[int, list[Function]] = {}
        tail_component = components(functions, tails)
        for function in functions:
            by_number.setdefault(tail_component[function], []).append(function)
        self.together = list(by_number.values())  # loops of several functions are one
        self.loops |= {f for members in self.together if len(members) > 1 for f in members}
        self._spread(self.allocates, functions)
        self.fails |= self.loops | self.recursive | self.allocates
        self._spread(self.fails, functions)

    def _spread(self, has: set[Function], functions: list[Function]) -> None:
        """To callers."""
        grown = True
        while grown:
            grown = False
            for function in functions:
                if function not in has and any(callee in has for callee in self.callees[function]):
                    has.add(function)
                    grown = True


def grows_only(function: Function, facts: Facts) -> bool:
    """Does a loop keep all that it allocates, as one that writes a tape does? Then there is nothing to collect in it."""
    parameters = [slot for slot in function.parameters if slot.kind == "p"]
    turns: list[tuple[TailInvoke, list[Statement]]] = []
    work: list[tuple[Block, list[Statement]]] = [(function.body, [])]
    while work:
        block, before = work.pop()
        path = [*before, *block.statements]
        for index, statement in enumerate(block.statements):
            work += [(inner, [*before, *block.statements[: index + 1]]) for inner in inner_blocks(statement)]
        if type(block.end) is TailInvoke and block.end.function is function:
            turns.append((block.end, path))
    outside = {slot: slot for slot in parameters}  # what leads only to boxes that were there before the loop
    taken = {s.pointer: s for _, path in turns for s in path if type(s) is Unbox}
    source = {slot: unbox.pointer for unbox in taken.values() for slot in unbox.slots}
    changed = True
    while changed:
        changed = False
        for end, _ in turns:
            for slot, leaf in zip(function.parameters, end.operands, strict=True):
                while type(leaf) is Slot and leaf in source:
                    leaf = source[leaf]
                if slot in outside and not (isinstance(leaf, Immediate | Static) or leaf in outside):
                    del outside[slot]
                    changed = True
    for end, path in turns:
        boxes: dict[Leaf, tuple[Leaf, ...]] = {s.slot: s.leaves for s in path if type(s) is Box}
        boxes |= {slot: () for s in path if type(s) is Each for slot in s.slots if slot.kind == "p"}
        inner = [s for s in path for block in inner_blocks(s) for s in statements(block)]
        if any(
            type(s) is Invoke and s.function in facts.allocates and "p" in s.function.results for s in path
        ):
            return False
        if any(makes(s) for s in inner if s not in path):
            return False
        kept: set[Leaf] = set()
        reach = [leaf for leaf in end.operands if type(leaf) is Slot]
        while reach:
            leaf = reach.pop()
            if leaf not in kept:
                kept.add(leaf)
                reach += [inner for inner in boxes[leaf] if type(inner) is Slot] if leaf in boxes else []
        if not kept.issuperset(boxes) or any(slot not in kept for slot in parameters if slot not in outside):
            return False
    return True


class _Unit:
    def __init__(self, program: Program, alone: bool = False) -> None:
        self.program = program
        self.alone = alone
        self.facts = Facts(program.functions)
        self.failures: list[Fail] = []
        self.structures: dict[str, str] = {}
        self.statics: dict[int, tuple[Static, str]] = {}
        self.static_lines: list[str] = []
        self.expressions: list[str] = []
        self.cells: dict[Cell, int] = {cell: number for number, cell in enumerate(program.members)}
        self.takes_apart = self.collects = self.has_arrays = self.has_kernels = False
        self.multiplies: set[str] = set()  # kinds of numbers of which there are products of matrices
        self.takes: list[str] = []  # what is done with the words that come after the operands
        self.given: list[Tensor] = []  # tensors whose entries the host hands over with each call
        self.places = {} if alone else _answers_made(program.entries[0], self.facts)  # the results' numbers
        self.static_lines += [f"static void *{_place(index)};" for index in self.places.values()]
        self._data: dict[Data, str] = {}

    def text(self, exports: Callable[[], str]) -> str:
        functions = self.program.functions
        bodies = [_Body(self, members).text() for members in self.facts.together]
        prototypes = [
            f"static {self.result_type(f.results)} {c_name(f)}({self.parameters(f)});" for f in functions
        ]
        facts = self.facts
        fails = bool(facts.fails) or self.alone
        sections = _sections()
        parts = []
        if fails:
            parts += [self._constants(), sections["fail"]]
        if facts.allocates or facts.recursive:
            arena = sections["arena"]
            parts.append(arena if facts.allocates else arena[: arena.index("static char *vlad_base")])
        if self.has_arrays:
            parts.append(sections["arrays"])
        if self.multiplies:
            parts.append(products_text(sections["products"], self.multiplies))
        if self.collects:
            parts.append(sections["collect"] + self._tables())
        if facts.recursive:
            parts.append(sections["deep"])
        if facts.counts:
            parts.append(sections["fuel"])
        if facts.acts or self.alone:
            parts.append(needed([*self.expressions, "vlad_real_text()"], self.has_kernels))
            # only who quotes has to know what prints: finding that out takes 45 ms
            prints = printing() if facts.quotes else "0"
            parts += [
                sections["output"].replace("@printing@", prints),
                sections["alone" if self.alone else "host"],
            ]
            if facts.shows_tensors:
                sizes = ", ".join(map(str, SIZES.values()))
                parts.append(
                    sections["tensors"].replace("@longest@", str(LONGEST_AXIS)).replace("@sizes@", sizes)
                )
        else:
            parts.append(needed(self.expressions, self.has_kernels))
        if self.takes_apart:
            parts.append(sections["matrices"])
        parts += self.structures.values()
        parts += self.static_lines
        for cell, kinds in self.program.variables.items():
            names = self.variable_names(cell)
            parts += [f"static {C_TYPES[kind]} {name};" for kind, name in zip(kinds, names, strict=True)]
        parts += prototypes
        parts += bodies
        parts.append("union vlad_word { double d; long i; void *p; };")
        parts.append("static union vlad_word const *vlad_in; static union vlad_word *vlad_out;")
        parts.append(exports())
        return "\n".join([part for part in parts if part]) + "\n"

    def variable_names(self, cell: Global) -> list[str]:
        number = list(self.program.variables).index(cell)
        return [
            f"g{number}_{identifier(cell.name[:LONGEST_NAME])}_{index}"
            for index in range(len(self.program.variables[cell]))
        ]

    def _constants(self) -> str:
        most = max([1, *[m.kinds.count("p") for members in self.program.members.values() for m in members]])
        values = {
            "VLAD_TOO_DEEP": TOO_DEEP, "VLAD_OUT_OF_MEMORY": OUT_OF_MEMORY, "VLAD_STOPPED": STOPPED,
            "VLAD_NURSERY": NURSERY, "VLAD_STACK_SIZE": f"{STACK_SIZE}UL", "VLAD_KEPT": KEPT,
            "VLAD_MOST_POINTERS": most, "VLAD_OUTSIDE": OUTSIDE, "VLAD_OUT_OF_FUEL": OUT_OF_FUEL,
            "VLAD_FIRST_FAILURE": FIRST_FAILURE,
        }  # fmt: skip
        return "\n".join([f"#define {name} {value}" for name, value in values.items()])

    def _tables(self) -> str:
        """Where the pointers in boxes are, for the collector."""
        members: list[str] = []
        cells: list[str] = []
        for cell in self.cells:
            boxed = [member for member in self.program.members[cell] if member.boxed or member.entries]
            cells.append(f"{{{len(members)}, {len(boxed)}}}")
            for member in boxed:
                at = [8 * (index + member.tagged) for index, kind in enumerate(member.kinds) if kind == "p"]
                numbers = [self.cell_number(c) for c in member.cells]
                members.append(f"{{{member.size}, {len(at)}, {{{_list(at)}}}, {{{_list(numbers)}}}}}")
        return (
            f"static const struct vlad_member vlad_members[] = {{{', '.join(members)}}};\n"
            f"static const struct vlad_cell vlad_cells[] = {{{', '.join(cells)}}};\n"
        )

    def cell_number(self, cell: Cell) -> int:
        return self.cells.setdefault(cell, len(self.cells))

    def result_type(self, kinds: str) -> str:
        if not kinds:
            return "void"
        if len(kinds) == 1:
            return C_TYPES[kinds]
        if kinds not in self.structures:
            name = f"struct vlad_{kinds}" if len(kinds) < 40 else f"struct vlad_{len(self.structures)}"
            fields = " ".join([f"{C_TYPES[kind]} _{index};" for index, kind in enumerate(kinds)])
            self.structures[kinds] = f"{name} {{ {fields} }};"
        return self.structures[kinds].split(" {")[0]

    def box_type(self, member: Member) -> str:
        kinds = ("t" if member.tagged else "") + member.kinds
        key = "box " + kinds
        if key not in self.structures:
            name = f"struct vlad_box_{len(self.structures)}"
            tag = "long tag; " if member.tagged else ""
            words = {"d": "double", "b": "long", "p": "void *"}
            fields = " ".join([f"{words[kind]} _{index};" for index, kind in enumerate(member.kinds)])
            self.structures[key] = f"{name} {{ {tag}{fields} }};"
        return self.structures[key].split(" {")[0]

    def box_tag(self, member: Member) -> int:
        """The number of a member among the boxed ones."""
        boxed = [m for m in self.program.members[member.cell] if m.boxed]
        return boxed.index(member)

    def parameters(self, function: Function) -> str:
        return ", ".join([C_TYPES[slot.kind] for slot in function.parameters]) or "void"

    def failure(self, fail: Fail) -> int:
        self.failures.append(fail)
        return FIRST_FAILURE + len(self.failures) - 1

    def data(self, leaf: Data) -> str:
        """The name of a tensor's entries: part of the text where they are few, or where there is no host."""
        if leaf not in self._data:
            array = leaf.tensor.array
            self._data[leaf] = name = f"vlad_data_{len(self._data)}"
            if array.size <= MOST_WRITTEN or self.alone:
                kind = kind_name(array.dtype)
                entries = ", ".join(
                    [number_text(entry, kind, constant_text) for entry in array.reshape(-1).tolist()]
                )
                self.static_lines.append(f"static const {C_KINDS[kind]} {name}[] = {{{entries or '0'}}};")
            else:
                self.static_lines.append(f"static const void *{name};")
                self.given.append(leaf.tensor)
                self.takes.append(f"{name} = vlad_in[{{}}].p;")
        return f"(void *){self._data[leaf]}"

    def static(self, leaf: Static) -> str:
        """The name of a box that is part of the program. Long lists are written from their end."""
        order: list[Static] = []
        work = [leaf]
        while work:
            one = work.pop()
            if id(one) not in self.statics:
                order.append(one)
                work += [inner for inner in one.leaves if type(inner) is Static]
        for one in reversed(order):
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

    def exports(self) -> str:
        """What a session calls."""
        (entry,) = self.program.entries
        facts = self.facts
        lines = self._enter(entry, "vlad_enter")
        lines += self._call(entry in facts.fails)
        lines.append(
            "int vlad_call(union vlad_word const *in, union vlad_word *out) { return vlad_run(vlad_enter, in, out); }"
        )
        if entry not in facts.fails and entry.results == "d" and all(p.kind == "d" for p in entry.parameters):
            parameters = ", ".join([f"double x{index}" for index in range(len(entry.parameters))]) or "void"
            names = ", ".join([f"x{index}" for index in range(len(entry.parameters))])
            lines.append(f"double vlad_direct({parameters}) {{ return {c_name(entry)}({names}); }}")
        return "\n".join(lines)

    def main(self, told: Callable[[Fail], str]) -> str:
        """What the system calls."""
        (entry,) = self.program.entries
        lines = [*self._enter(entry, "vlad_enter"), *self._call(True), self._told(told)]
        takes_words = any("vlad_argument_character(" in text for text in self.expressions)
        lines.append("int main(int count, char **words) {\n  vlad_word_count = count - 1, vlad_words = (void *)(words + 1);"
                     if takes_words else "int main(void) {")  # fmt: skip
        lines.append("""  int status = vlad_run(vlad_enter, 0, 0);
  vlad_flush();
  if (!status) return 0;
  char text[VLAD_MESSAGE];
  vlad_say(2, text, vlad_message(status, text));
  return 1;
}""")
        return "\n".join(lines)

    def library(self, exports: list[Export], told: Callable[[Fail], str], name: str) -> str:
        """What other programs call."""
        first, *others = self.program.entries
        lines = [*self._enter(first, "vlad_begin"), *self._call(True), self._told(told)]
        lines.append(f"""#define VLAD_EXPORT __attribute__((visibility("default")))
VLAD_EXPORT const char *{name}_error(int status) {{
  static char text[VLAD_MESSAGE];
  if (!status) return "";
  text[vlad_message(status, text) - 1] = 0;
  return text;
}}""")
        lines.append("""static int vlad_begun;
static int vlad_begin_once(void) {
  if (vlad_begun) return 0;
  int status = vlad_run(vlad_begin, 0, 0);
  vlad_begun = !status;""")
        if self.facts.allocates:
            lines.append("  if (vlad_begun) vlad_floor = vlad_top;")
        lines.append("  return status;\n}")
        for number, (entry, export) in enumerate(zip(others, exports, strict=True)):
            lines += self._enter(entry, f"vlad_enter_{number}")
            names = export.parameters
            takes = ", ".join([f"double {name}" for name in names] + ["double *results"])
            lines.append(f"""VLAD_EXPORT int {export.name}({takes}) {{
  union vlad_word in[] = {{{", ".join([f"{{{name}}}" for name in names]) or "{0}"}}}, out[{max(1, len(entry.results))}];
  int status = vlad_begin_once();
  if (!status) status = vlad_run(vlad_enter_{number}, in, out);
  if (status) return status;""")
            for index, kind in enumerate(entry.results):
                lines.append(f"  results[{index}] = out[{index}].{WORDS[kind]};")
            lines.append("  return 0;\n}")
            row = ", ".join([f"arguments[{index}]" for index in range(len(names))] + ["results"])
            lines.append(f"""VLAD_EXPORT int {export.name}_rows(long rows, const double *arguments, double *results) {{
  for (; rows > 0; rows--, arguments += {len(names)}, results += {len(entry.results)}) {{
    int status = {export.name}({row});
    if (status) return status;
  }}
  return 0;
}}""")
        return "\n".join(lines)

    def _told(self, told: Callable[[Fail], str]) -> str:
        texts = [told(fail) for fail in self.failures]
        lines = [f"  {c_string(text.encode('utf-8', 'surrogatepass'))}," for text in texts]
        return "\n".join(
            ["static const char *const vlad_told[] = {", *lines, "  0};", _sections()["telling"]]
        )

    def _enter(self, entry: Function, name: str) -> list[str]:
        """A procedure without parameters, which can be called on another stack."""
        arguments = ", ".join(
            [
                f"({C_TYPES[slot.kind]})vlad_in[{index}].{WORDS[slot.kind]}"
                for index, slot in enumerate(entry.parameters)
            ]
        )
        call = f"{c_name(entry)}({arguments})"
        lines = [f"static void {name}(void) {{"]
        first = len(entry.parameters) + self.facts.counts
        if self.multiplies and not self.alone:
            words = [f"vlad_in[{first + index}]" for index in range(3)]
            lines.append(
                f"  vlad_gemm = {words[0]}.p; vlad_gemmf = {words[1]}.p; vlad_gemm_is_wide = {words[2]}.i;"
            )
            first += 3
        if self.takes_apart and not self.alone:
            lines.append(f"  vlad_lapack = vlad_in[{first}].p; vlad_lapack_is_wide = vlad_in[{first + 1}].i;")
            first += 2
        takes = [*self.takes, *[f"{_place(index)} = vlad_in[{{}}].p;" for index in self.places.values()]]
        lines += [f"  {take.format(number)}" for number, take in enumerate(takes, start=first)]
        if self.facts.counts:
            lines.append(f"  vlad_fuel = vlad_in[{len(entry.parameters)}].i;")
        if len(entry.results) == 0:
            lines.append(f"  {call};")
        elif len(entry.results) == 1:
            lines.append(f"  vlad_out[0].{WORDS[entry.results]} = {call};")
        else:
            lines.append(f"  {self.result_type(entry.results)} answer = {call};")
            for index, kind in enumerate(entry.results):
                lines.append(f"  vlad_out[{index}].{WORDS[kind]} = answer._{index};")
        if self.facts.counts:
            lines.append(f"  vlad_out[{len(entry.results)}].i = vlad_fuel;")
        lines.append("}")
        return lines

    def _call(self, fails: bool) -> list[str]:
        facts = self.facts
        empties = ["vlad_empty_arena();"] * bool(facts.allocates) + ["vlad_trim_stack();"] * bool(
            facts.recursive
        )
        lines = [f"long vlad_give_back(void) {{ {' '.join(empties)} return 0; }}"] if empties else []
        lines += [
            "static int vlad_run(void (*enter)(void), union vlad_word const *in, union vlad_word *out) {"
        ]
        if fails:
            lines.append("  int status = _setjmp(vlad_escape);")
            trims = (["vlad_trim_arena();"] if facts.allocates else []) + (
                ["vlad_trim_stack();"] if facts.recursive else []
            )
            lines.append(f"  if (status) {{ {' '.join(trims)} return status; }}")
        if facts.allocates:
            lines.append("  if (!vlad_base) vlad_open_arena();")
            lines.append("  vlad_trim_arena();")
        if facts.acts or self.alone:
            lines.append("  vlad_filled = 0;")
        lines.append("  vlad_in = in; vlad_out = out;")
        if facts.recursive:
            lines.append("  if (!vlad_stack) vlad_open_stack();")
            lines.append("  vlad_on_stack(enter);")
        else:
            lines.append("  enter();")
        lines.append("  return 0;")
        lines.append("}")
        return lines


def _list(numbers: Iterable[int]) -> str:
    return ", ".join([str(number) for number in numbers]) or "0"


@cache
def own_names() -> frozenset[str]:
    """What a unit declares itself: no procedure of a library may bear such a name."""
    names = [f"{name}(" for name in [*ONE, *TWO, *OTHER, "fma"]]
    text = "\n".join([*_sections().values(), needed([*names, *map(single, names)])])
    return frozenset(re.findall(r"\b([a-z_]\w*)\(", text)) | {"main"}


def identifier(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "t"


def c_name(function: Function) -> str:
    return f"v{function.serial}_{identifier(function.name[:LONGEST_NAME])}"


def place_of(function: Function) -> str:
    """Where to go for another turn."""
    return f"again_{function.serial}"


def constant_text(leaf: Leaf) -> str:
    if type(leaf) is bool:
        return "1" if leaf else "0"
    if type(leaf) is Immediate:
        return f"(void *){leaf.member + 1}L"
    assert type(leaf) is float
    if leaf != leaf:
        return "(0.0 / 0.0)"
    if leaf in (float("inf"), float("-inf")):
        return "(1.0 / 0.0)" if leaf > 0 else "(-1.0 / 0.0)"
    text = repr(leaf)
    return f"({text})" if text.startswith("-") else text


class _Body:
    """The text of a function, or of several that call each other in tail position: these are one C function with a place to
    jump to for each, so that no C compiler has to see that their calls need no stack."""

    def __init__(self, unit: _Unit, members: list[Function]) -> None:
        self.unit = unit
        self.members = members
        self.function = members[0]
        self.lines: list[str] = []
        self.names: dict[Slot, str] = {}
        self.used: dict[str, int] = {}
        facts = unit.facts
        self.allocates = any(f in facts.allocates for f in members)
        keeps = any(
            type(s) is Store and "p" in map(leaf_kind, s.leaves) for f in members for s in statements(f.body)
        )
        self.releases = self.allocates and "p" not in self.function.results and not keeps
        self.loops = len(members) > 1 or self.function in facts.loops
        self.indent = 1
        self.here: str | None = None
        self.only_readers: dict[Function, dict[Leaf, Each]] = {}

    def text(self) -> str:
        facts, members = self.unit.facts, self.members
        pointed = any(slot.kind == "p" for f in members for slot in f.parameters)
        if self.allocates and (self.releases or (self.loops and pointed)):
            self.line("char *const mark = vlad_top;")
        keeps_all = len(members) == 1 and grows_only(self.function, facts)
        self.gathers = self.loops and self.allocates and pointed and not keeps_all
        if self.gathers:
            self.unit.collects = True
            self.line("long limit = VLAD_NURSERY;")
        if any(f in facts.recursive for f in members):
            self.line("VLAD_ENTER();")
            self.step()
        return self._one() if len(members) == 1 else self._several()

    def _one(self) -> str:
        function = self.function
        if self.loops:
            self.lines.append(f"{place_of(function)}:;")
        self.block(function.body, ())
        return "\n".join(
            [self._head(c_name(function), self._parameters(function), function), *self.lines, "}"]
        )

    def _several(self) -> str:
        """One function with a place for each, and a function for each that goes there."""
        together = f"{c_name(self.function)}_together"
        texts = []
        for number, function in enumerate(self.members):
            actual = [
                self.name(slot) if one is function else "0" for one in self.members for slot in one.parameters
            ]
            call = f"{together}({', '.join([str(number), *actual])});"
            answer = f"return {call}" if function.results else call
            texts.append(
                f"{self._head(c_name(function), self._parameters(function), function)}\n  {answer}\n}}"
            )
        self.line("switch (which) {")
        for number, function in enumerate(self.members):
            self.line(f"{'default' if number == 0 else f'case {number}'}: goto {place_of(function)};")
        self.line("}")
        for function in self.members:
            self.function = function
            self.lines.append(f"{place_of(function)}:;")
            self.line("{")
            self.block(function.body, ())
            self.line("}")
        parameters = ["int which", *[self._parameters(f) for f in self.members if f.parameters]]
        head = self._head(together, ", ".join(parameters), self.members[0])
        prototype = f"{head.partition(' {')[0]};"
        return "\n".join([prototype, *texts, head, *self.lines, "}"])

    def _parameters(self, function: Function) -> str:
        return ", ".join([f"{C_TYPES[s.kind]} {self.name(s)}" for s in function.parameters])

    def _head(self, name: str, parameters: str, function: Function) -> str:
        where = f" /* {position(function.span)} */" if function.span else ""
        return f"static {self.unit.result_type(function.results)} {name}({parameters or 'void'}) {{{where}"

    def line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def step(self) -> None:
        self.line("if (__builtin_expect(vlad_stop, 0)) vlad_fail(VLAD_STOPPED);")

    def name(self, slot: Slot) -> str:
        name = self.names.get(slot)
        if name is None:
            base = identifier(slot.name[:LONGEST_NAME])
            count = self.used[base] = self.used.get(base, 0) + 1
            name = self.names[slot] = f"{base}_{count}"
        return name

    def leaf(self, leaf: Leaf) -> str:
        if type(leaf) is Slot:
            return self.name(leaf)
        if type(leaf) is Data:
            return self.unit.data(leaf)
        return self.unit.static(leaf) if type(leaf) is Static else constant_text(leaf)

    def declare(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            self.line(f"{C_TYPES[slot.kind]} {self.name(slot)};")

    # Blocks.

    def block(self, block: Block, targets: tuple[Slot, ...]) -> None:
        for statement in block.statements:
            match statement:
                case Compute():
                    self.compute(statement)
                case Each():
                    self.each(statement)
                case Invoke():
                    self.invoke(statement)
                case Effect():
                    self.effect(statement)
                case Load():
                    names = self.unit.variable_names(statement.cell)
                    for slot, name in zip(statement.slots, names, strict=True):
                        self.line(f"{C_TYPES[slot.kind]} {self.name(slot)} = {name};")
                case Store():
                    names = self.unit.variable_names(statement.cell)
                    for name, leaf in zip(names, statement.leaves, strict=True):
                        self.line(f"{name} = {self.leaf(leaf)};")
                case Box():
                    self.box(statement)
                case Unbox():
                    box = self.unit.box_type(statement.member)
                    pointer = self.leaf(statement.pointer)
                    for index, slot in enumerate(statement.slots):
                        self.line(
                            f"{C_TYPES[slot.kind]} {self.name(slot)} = ((const {box} *){pointer})->_{index};"
                        )
                case Branch():
                    self.declare(statement.slots)
                    test, consequent = self.leaf(statement.test), statement.consequent
                    if not statement.slots and not consequent.statements and type(consequent.end) is Yield:
                        self.arm(f"if (!{test}) {{", statement.alternative, ())
                    else:
                        self.arm(f"if ({test}) {{", consequent, statement.slots)
                        self.arm("} else {", statement.alternative, statement.slots)
                    self.line("}")
                case Switch():
                    self.switch(statement)
        self.end(block, targets)

    def arm(self, head: str, block: Block, targets: tuple[Slot, ...]) -> None:
        self.line(head)
        self.indent += 1
        self.block(block, targets)
        self.indent -= 1

    def switch(self, statement: Switch) -> None:
        self.declare(statement.slots)
        pointer = self.leaf(statement.pointer)
        cases = sorted(statement.cases, key=lambda case: case[0].boxed)
        for index, (member, block) in enumerate(cases):
            last = index == len(cases) - 1
            if last and index == 0:
                self.arm("{", block, statement.slots)
                break
            test = self.is_member(pointer, member)
            head = "else {" if last else f"if ({test}) {{" if index == 0 else f"else if ({test}) {{"
            self.arm(head if index == 0 else "} " + head, block, statement.slots)
        self.line("}")

    def is_member(self, pointer: str, member: Member) -> str:
        if not member.boxed:
            return f"{pointer} == (void *){member.index + 1}L"
        if not member.tagged:
            return f"(unsigned long){pointer} > 4095"
        return f"*(long *){pointer} == {self.unit.box_tag(member)}"

    def end(self, block: Block, targets: tuple[Slot, ...]) -> None:
        end = block.end
        match end:
            case Yield():
                for slot, leaf in zip(targets, end.leaves, strict=True):
                    self.line(f"{self.name(slot)} = {self.leaf(leaf)};")
            case Return():
                self.answer([self.leaf(leaf) for leaf in end.leaves])
            case TailInvoke():
                if end.function in self.members and self.loops:
                    self.again(end)
                else:
                    self.tail_call(end)
            case Fail():
                number = self.unit.failure(end)
                self.line(f"vlad_fail({number}); /* {comment(end.what)} */")
            case Unreachable():
                self.line("vlad_fail(VLAD_STOPPED);")

    def answer(self, leaves: list[str]) -> None:
        if self.releases:
            self.line("vlad_top = mark;")
        if not leaves:
            self.line("return;")
        elif len(leaves) == 1:
            self.line(f"return {leaves[0]};")
        else:
            self.line(f"return ({self.unit.result_type(self.function.results)}){{{', '.join(leaves)}}};")

    def tail_call(self, end: TailInvoke) -> None:
        operands = ", ".join([self.leaf(leaf) for leaf in end.operands])
        if self.releases and not any(slot.kind == "p" for slot in end.function.parameters):
            self.line("vlad_top = mark;")
        call = f"{c_name(end.function)}({operands});"
        self.line(f"return {call}" if self.function.results else f"{call} return;")

    def again(self, end: TailInvoke) -> None:
        """A turn of a loop: the parameters change, what nothing reaches is freed."""
        target = end.function
        changed = [
            (slot, leaf)
            for slot, leaf in zip(target.parameters, end.operands, strict=True)
            if leaf is not slot
        ]
        parameters = set(target.parameters)
        read = {leaf for _, leaf in changed if type(leaf) is Slot and leaf in parameters}
        moved = []
        for slot, leaf in changed:
            if len(changed) > 1 and slot in read:
                self.used["next"] = self.used.get("next", 0) + 1
                temporary = f"next_{self.used['next']}"
                moved.append((self.name(slot), temporary, slot.kind, self.leaf(leaf)))
        for _, temporary, kind, text in moved:
            self.line(f"{C_TYPES[kind]} {temporary} = {text};")
        later = {name for name, _, _, _ in moved}
        for slot, leaf in changed:
            if self.name(slot) not in later:
                self.line(f"{self.name(slot)} = {self.leaf(leaf)};")
        for name, temporary, _, _ in moved:
            self.line(f"{name} = {temporary};")
        names = [self.name(slot) for slot in target.parameters if slot.kind == "p"]
        if self.gathers and names:
            numbers = [self.unit.cell_number(cell) for cell in target.parameter_cells if cell is not None]
            self.line("if (__builtin_expect(vlad_top - mark > limit, 0)) {")
            self.line(f"  void *roots[] = {{{', '.join(names)}}};")
            self.line(f"  static const short cells[] = {{{_list(numbers)}}};")
            self.line(f"  limit = vlad_collect(mark, {len(names)}, roots, cells);")
            for index, name in enumerate(names):
                self.line(f"  {name} = roots[{index}];")
            self.line("}")
        elif self.allocates and not names and self.releases:
            self.line("vlad_top = mark;")
        self.step()
        self.line(f"goto {place_of(target)};")

    # Statements.

    def compute(self, statement: Compute) -> None:
        actual = {
            name: self.leaf(leaf)
            for name, leaf in zip(statement.row.operands, statement.operands, strict=True)
        }
        text = applied(statement.row.c, actual)
        self.unit.expressions.append(statement.row.c)
        slot = statement.slot
        where = ""
        if statement.span is not None:
            here = position(statement.span)
            if here != self.here:
                self.here, where = here, f" /* {here} */"
        self.line(f"{C_TYPES[slot.kind]} {self.name(slot)} = {text};{where}")

    def each(self, statement: Each) -> None:
        self.unit.has_arrays |= statement.allocates
        operands = [self.leaf(leaf) for leaf in statement.operands]
        outputs = [self.name(slot) for slot in statement.slots]
        if statement.span is not None:
            self.here = position(statement.span)
            self.line(f"/* {self.here} */")
        for line in self.work(statement, operands, outputs):
            self.lines.append(line if line.startswith("#") else "  " * self.indent + line)

    def work(self, statement: Each, operands: list[str], outputs: list[str]) -> list[str]:
        unit = self.unit
        if type(statement.work) is Routine:
            unit.takes_apart = True
            unit.expressions.append("exp() fabs() log() sqrt()")  # that runtime.c uses
            return routine_lines(statement.work, operands, outputs)
        kernel, places = statement.kernel, unit.places
        unit.has_kernels = True
        product = as_product(kernel)
        if product is not None:
            unit.multiplies.add(product.kind)
        return kernel_lines(
            kernel,
            operands,
            outputs,
            constant_text,
            unit.expressions,
            self.given_up(statement),
            {self.name(slot): _place(places[slot]) for slot in statement.slots if slot in places},
        )

    def given_up(self, statement: Each) -> list[int]:
        """The operands that are new arrays which only this statement reads, and only as what an output begins as."""
        if self.function not in self.only_readers:
            self.only_readers[self.function] = _only_readers(self.function)
        only, reads = self.only_readers[self.function], {read.operand for read in statement.kernel.reads}
        return [
            output.base
            for output in statement.kernel.outputs
            if output.base is not None
            and output.base not in reads
            and only.get(statement.operands[output.base]) is statement
        ]

    def invoke(self, statement: Invoke) -> None:
        call = f"{c_name(statement.function)}({', '.join([self.leaf(leaf) for leaf in statement.operands])})"
        slots = statement.slots
        if not slots:
            self.line(f"{call};")
        elif len(slots) == 1:
            self.line(f"{C_TYPES[slots[0].kind]} {self.name(slots[0])} = {call};")
        else:
            self.used["both"] = self.used.get("both", 0) + 1
            name = f"both_{self.used['both']}"
            self.line(f"{self.unit.result_type(statement.function.results)} {name} = {call};")
            for index, slot in enumerate(slots):
                self.line(f"{C_TYPES[slot.kind]} {self.name(slot)} = {name}._{index};")

    def effect(self, statement: Effect) -> None:
        match statement.what:
            case "text":
                data = statement.text.encode("utf-8", "surrogatepass")
                if data:
                    self.line(f"vlad_put({c_string(data)}, {len(data)});")
            case "in":
                (slot,) = statement.slots
                status = ""
                if self.unit.alone:
                    status = str(self.unit.failure(Fail("Value read is not real", statement.span)))
                self.line(f"double {self.name(slot)} = vlad_read({status});")
            case "tensor":
                kind, *lengths = statement.text.split()
                shape = f"(const long[]){{{', '.join(lengths)}}}"
                self.line(
                    f"vlad_put_tensor({self.leaf(statement.operands[0])}, {shape}, {len(lengths)}, {list(SIZES).index(kind)});"
                )
            case "out":
                self.line("vlad_out_line();")
            case "quoted":
                self.line(f"vlad_put_quoted({self.leaf(statement.operands[0])});")
            case "step":
                self.line(f"vlad_step({statement.operands[0]:.0f});")
            case what:
                self.line(f"vlad_put_{what}({self.leaf(statement.operands[0])});")

    def box(self, statement: Box) -> None:
        type_ = self.unit.box_type(statement.member)
        name = self.name(statement.slot)
        self.line(f"{type_} *{name} = vlad_allocate(sizeof({type_}));")
        if statement.member.tagged:
            self.line(f"{name}->tag = {self.unit.box_tag(statement.member)};")
        for index, leaf in enumerate(statement.leaves):
            self.line(f"{name}->_{index} = {self.leaf(leaf)};")


def _answers_made(entry: Function, facts: Facts) -> dict[Slot, int]:
    """The arrays that are results of an entry, large enough not to be copied, and that it makes once in a call: the number of the
    result."""
    is_called = any(entry in callees for callees in facts.callees.values())
    if is_called or entry in facts.loops or type(entry.body.end) is not Return:
        return {}
    made = {
        slot
        for statement in entry.body.statements
        if type(statement) is Each and statement.is_loop
        for slot, output in zip(statement.slots, statement.kernel.outputs, strict=True)
        if output.base is None and (output.size or 0) >= LARGE_ANSWER
    }
    numbered = reversed(list(enumerate(entry.body.end.leaves)))
    return {leaf: index for index, leaf in numbered if type(leaf) is Slot and leaf in made}


def _place(index: int) -> str:
    """Where the host wants the entries of a result; null if it does not care."""
    return f"vlad_place_{index}"


def _only_readers(function: Function) -> dict[Leaf, Each]:
    """For each array that a kernel makes and one kernel reads, that one."""
    readers: dict[Leaf, list[object]] = {}
    for block in blocks(function.body):
        for node in (*block.statements, block.end):
            for leaf in leaves_read(node):
                readers.setdefault(leaf, []).append(node)
    made = {slot for s in statements(function.body) if type(s) is Each for slot in s.slots}
    found: dict[Leaf, Each] = {}
    for leaf, nodes in readers.items():
        if leaf in made and len(nodes) == 1 and type(nodes[0]) is Each:
            found[leaf] = nodes[0]
    return found


def c_string(data: bytes) -> str:
    """A C string literal, whatever the bytes: octal escapes end after three digits, and there are no trigraphs."""
    return '"' + "".join([chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in data]) + '"'


def position(span: Span) -> str:
    return comment(f"{os.path.basename(span.source.name)}:{span.line}:{span.column}")


def comment(text: str) -> str:
    """Text that a script controls, made harmless within a C comment."""
    return re.sub(r"[^A-Za-z0-9 .:_<>-]", "?", text[:LONGEST_COMMENT])
