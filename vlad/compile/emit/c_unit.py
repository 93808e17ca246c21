"""First-order code → C text: one translation unit, with names from the program, and its positions in comments.

c_function.py emits the functions.

A unit for a session exports `vlad_call`, which reads and writes machine words, and `vlad_direct` as well if the entry maps its
operands to a double and has no state. A standalone unit is a program with a `main`, or a library with a procedure for each entry.
A tail call within a loop is a jump; booleans are ints; the toolchain's flags make floating point strict. A call returns a status:
0 for success, a limit that abi.py names, or from FIRST_FAILURE on the number of a `fail` of the program.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from vlad.compile.emit.c_function import FunctionText
from vlad.compile.emit.c_text import (
    C_TYPES,
    c_name,
    c_string,
    number_list,
    place_of_result,
)
from vlad.compile.emit.definitions import Definitions, Site
from vlad.compile.emit.loop_functions import function_texts
from vlad.compile.emit.needs import WORD
from vlad.compile.emit.part_functions import part_texts, parts_constants
from vlad.compile.emit.places import DEFINITIONS, PlacedText
from vlad.compile.ir.program import (
    Fail,
    Function,
    Program,
)
from vlad.compile.native.abi import (
    ARENA_SIZE,
    EXITED,
    FIRST_FAILURE,
    OUT_OF_FUEL,
    OUT_OF_MEMORY,
    OUTSIDE,
    STACK_SIZE,
    STATUSES,
    STOPPED,
    TOO_DEEP,
)
from vlad.compile.native.call_words import CallWords
from vlad.compile.runtime.functions import marked, needed
from vlad.compile.runtime.sections import alone, sections, shared
from vlad.core.extents import Extent
from vlad.core.loop_nests import SIZES
from vlad.data.tensors import Tensor
from vlad.data.write import LONGEST_AXIS

MOST_AT_ONCE = 1 << 16  # entries of an array, and turns of loops, of a short call
MOST_COUNTED = "0x1p50"  # entries, and turns: far from an overflow, and no memory has as many
SLIDES = 4096  # bytes from which an array is moved in place, rather than copied, by a collection
NURSERY = 16 << 20  # bytes that a loop allocates before its first collection
SOON = (
    1 << 20
)  # the same for a loop in a recursion, as each of its calls has so much; and what a loop may leave behind
KEPT = 128 << 20  # bytes of the area whose pages are kept between calls
# operands without words: cffi reads C types of some 400 parts, and few operands gain by it
MOST_DIRECT = 255
WORDS = {"d": "d", "b": "i", "p": "p"}


@dataclass(frozen=True, slots=True)
class Emitted:
    """A unit's text; the layout of the words of a call; its failures by status - FIRST_FAILURE; the tensors whose entries are
    passed with each call; the flags of calling/interface.Interface; and whether the code is plain: of scalars, without effects.
    Then its results do not depend on how far the C compiler optimises it. `sites`: as of Definitions."""

    text: str
    words: CallWords
    failures: Sequence[Fail] = ()
    given: Sequence[Tensor] = ()
    acts: bool = False
    stops: bool = False
    direct: bool = False
    largest: int = 0
    is_plain: bool = False
    sites: Sequence[Site] | None = None


def emit(
    program: Program,
    extents: Sequence[Extent] = (),
    sizes: int = 0,
    late: Sequence[Extent] = (),
    placed: bool = False,
) -> Emitted:
    """A program as a unit of a session. `extents`, `sizes`: as of calling/interface.Interface; `late`: the sizes that are
    determined within a call; `placed`: the code says where it is (places.py)."""
    unit = CUnit(program, extents=extents, sizes=sizes, late=late, placed=placed)
    text, needs, (entry,) = unit.text(unit.exports), unit.needs, program.entries
    return Emitted(
        text, unit.words(entry), unit.failures, unit.given, bool(unit.facts.acts), needs.stops or bool(needs.turns),
        unit.is_direct, needs.largest, unit.is_plain, unit.sites,
    )  # fmt: skip


def emit_program(program: Program, describe: Callable[[Fail], str]) -> str:
    """The text of a standalone program. `describe` returns the message of an error, in which character 1 stands for the text that
    is in the buffer at run time."""
    unit = CUnit(program, alone=True)
    return unit.text(lambda: unit.main(describe))


@dataclass(frozen=True, slots=True)
class Export:
    """A procedure of a library: from a double for each parameter to a double for each result of its entry."""

    name: str
    parameters: tuple[str, ...]


def emit_library(program: Program, exports: list[Export], describe: Callable[[Fail], str], name: str) -> str:
    """The text of a library: the first entry computes the globals, the others are exported."""
    unit = CUnit(program, alone=True)
    return unit.text(lambda: unit.library(exports, describe, name))


@cache
def printing() -> str:
    """The boundaries of the ranges of printable characters: their first characters, and the first ones after them."""
    found, prints = [], False
    for character in range(sys.maxunicode + 1):
        if chr(character).isprintable() is not prints:
            prints = not prints
            found.append(character)
    return ", ".join(map(str, found))


class CUnit(Definitions):
    def text(self, exports: Callable[[], str]) -> str:
        functions = self.program.functions
        function_text = FunctionText if self.sites is None else PlacedText
        bodies = [function_text(self, members).text() for members in self.facts.together]
        prototypes = [
            f"static {self.result_type(f.results)} {c_name(f)}({self.parameters(f)});" for f in functions
        ]
        facts = self.facts
        fails = bool(facts.fails) or self.alone
        of = sections()
        own = [*map(str, self.sizes), *map(str, self.late)]
        parts = [f"static long {', '.join(own)};"] if own else []
        if self.sites is not None:
            parts.append(DEFINITIONS)
        if self.late:
            parts.append("static int vlad_admits(void);")
        if fails:
            parts.append(self._constants())
        parts += self._state()
        parts += self._statics()
        if facts.acts or self.alone:
            parts.append(needed({*self.needs.functions, "vlad_real_text"}, self.has_kernels, self.chooses))
            # only quoting needs the table of printable characters, which takes 45 ms to compute
            prints = printing() if facts.quotes else "0"
            parts += [
                of["output"].replace("@printing@", prints),
                of["alone" if self.alone else "host"],
            ]
            if facts.shows_tensors:
                sizes = ", ".join(map(str, SIZES.values()))
                parts.append(of["tensors"].replace("@longest@", str(LONGEST_AXIS)).replace("@sizes@", sizes))
        else:
            parts.append(needed(self.needs.functions, self.has_kernels, self.chooses))
        if self.decomposes:
            parts.append(of["matrices"])
        parts += [structure.text for structure in self.structures.values()]
        parts += self.static_lines
        for cell, kinds in self.program.variables.items():
            names = self.variable_names(cell)
            parts += [f"static {C_TYPES[kind]} {name};" for kind, name in zip(kinds, names, strict=True)]
        parts += prototypes
        parts += part_texts(self.needs.parts)
        parts += function_texts(self.loop_functions)
        parts += bodies
        parts.append("union vlad_word { double d; long i; void *p; };")
        parts.append("static union vlad_word const *vlad_in; static union vlad_word *vlad_out;")
        parts.append(exports())
        return "\n".join([part for part in parts if part]) + "\n"

    def _statics(self) -> list[str]:
        """How static variables of C are declared of which each thread has its own: tcc knows none, and starts no threads."""
        if not self.needs.keeps and "vlad_argument_character" not in self.needs.functions:
            return []
        if not self.needs.threads:
            return ["#define VLAD_STATIC static"]
        of_threads = "static _Thread_local"
        return [
            f"#ifdef __TINYC__\n#define VLAD_STATIC static\n#else\n#define VLAD_STATIC {of_threads}\n#endif"
        ]

    def _state(self) -> list[str]:
        """The sections of the run-time that have state. Sections of threads are after those of the state of a thread."""
        facts, of = self.facts, sections()
        found: list[str] = []
        if facts.fails or self.alone:
            found.append(of["fail"])
        if facts.allocates or facts.recursive:
            found.append(of["reserve"])
        if facts.allocates:
            found.append(of["arena"])
        if self.has_arrays:
            found.append(of["arrays"])
        if self.multiplies:
            found.append(of["products"])
            found += [marked(of["product"], kind) for kind in sorted(self.multiplies)]
        if self.collects:
            tables = self._tables()
            fixed = "" if self.measured else "const"  # the sizes of arrays may be known only in a call
            slides = f"#define VLAD_SLIDES {SLIDES}\n" if self._has_large() else ""
            found.append(f"#define VLAD_FIXED {fixed}\n{slides}{of['collect']}{tables}")
        if self.enters:
            found.append(of["entering"])
        if self.packs or self.nested:
            found.append(of["pack"])
        if self.nested:
            found.append(of["nested"])
        if self.shared.remembering:
            if not facts.allocates:
                found.append("@own char *vlad_base, *vlad_top;\n")
            found.append(f"#define VLAD_OPERATIONS {len(self.shared.remembering)}\n{of['sharing']}")
        if facts.recursive:
            found.append(of["deep"])
        if facts.counts:
            found.append(of["fuel"])
        contractions = [of["contractions"]] if self.contracts else []
        contractions += [marked(of["contraction"], kind) for kind in sorted(self.contracts)]
        if not self.needs.threads:
            return [alone(text) for text in [*found, *contractions]]
        parts = [f"{parts_constants()}{of['parts']}"] if self.needs.parts else []
        return shared([*found, of["threads"], *parts, *contractions])

    def _constants(self) -> str:
        most = max([1, *[m.kinds.count("p") for members in self.program.members.values() for m in members]])
        values = {
            "VLAD_TOO_DEEP": TOO_DEEP, "VLAD_OUT_OF_MEMORY": OUT_OF_MEMORY, "VLAD_STOPPED": STOPPED,
            "VLAD_NURSERY": NURSERY, "VLAD_STACK_SIZE": f"{STACK_SIZE}UL", "VLAD_ARENA_SIZE": f"{ARENA_SIZE}UL",
            "VLAD_KEPT": KEPT, "VLAD_SOON": SOON,
            "VLAD_MOST_POINTERS": most, "VLAD_OUTSIDE": OUTSIDE, "VLAD_OUT_OF_FUEL": OUT_OF_FUEL,
            "VLAD_FIRST_FAILURE": FIRST_FAILURE, "VLAD_EXITED": EXITED, "VLAD_STATUSES": STATUSES,
        }  # fmt: skip
        if self.alone:
            values["VLAD_ALONE"] = 1
        if self.nested:
            values["VLAD_NESTED"] = self.nested  # here, as the state of a thread has an array of so many
        if self.needs.threads:
            flags = {
                "ALLOCATES": self.facts.allocates,
                "RECURSES": self.facts.recursive,
                "COUNTS": self.facts.counts,
            }
            values |= {f"VLAD_{name}": 1 for name, holds in {"SPREADS": True, **flags}.items() if holds}
        return "\n".join([f"#define {name} {value}" for name, value in values.items()])

    def _has_large(self) -> bool:
        """Are there arrays that a collection moves in place, or may there be? Valid after the tables have been made."""
        members = [member for cell in self.cells for member in self.program.members[cell]]
        return bool(self.measured) or any(member.entries and member.size >= SLIDES for member in members)

    def _tables(self) -> str:
        """The positions of pointers in boxes, for the collector."""
        members: list[str] = []
        cells: list[str] = []
        for cell in self.cells:
            boxed = [member for member in self.program.members[cell] if member.boxed or member.entries]
            cells.append(f"{{{len(members)}, {len(boxed)}}}")
            for member in boxed:
                at = [8 * (index + member.tagged) for index, kind in enumerate(member.kinds) if kind == "p"]
                numbers = [self.cell_number(c) for c in member.cells]
                size = member.size
                if type(size) is Extent:
                    self.measured.append((len(members), size))
                    size = 0
                members.append(f"{{{size}, {len(at)}, {{{number_list(at)}}}, {{{number_list(numbers)}}}}}")
        return (
            f"static VLAD_FIXED struct vlad_member vlad_members[] = {{{', '.join(members)}}};\n"
            f"static const struct vlad_cell vlad_cells[] = {{{', '.join(cells)}}};\n"
        )

    def parameters(self, function: Function) -> str:
        return ", ".join([self.slot_type(slot) for slot in function.parameters]) or "void"

    def exports(self) -> str:
        """The functions that a session calls."""
        (entry,) = self.program.entries
        facts = self.facts
        lines = [*self._call(entry in facts.fails), *self._enter(entry, "vlad_enter")]
        if self.late:
            lines += self._admit()
        if self.extents:
            lines += self._lengths()
        if self.sizes:
            lines += self._measure()
        lines.append(
            "int vlad_call(union vlad_word const *in, union vlad_word *out) { return vlad_run(vlad_enter_body, in, out); }"
        )
        if self.is_direct:
            kinds = [f"{C_TYPES[slot.kind]} x{index}" for index, slot in enumerate(entry.parameters)]
            names = ", ".join([f"x{index}" for index in range(len(kinds))])
            lines.append(
                f"double vlad_direct({', '.join(kinds) or 'void'}) {{ return {c_name(entry)}({names}); }}"
            )
        return "\n".join(lines)

    @property
    def is_direct(self) -> bool:
        """Can the entry be called without words, and returns it a double? Valid after the procedures have been emitted."""
        (entry,) = self.program.entries
        words = self.words(entry)
        is_plain = words.results == "d" and words.are_operands_only and not self.sizes
        return is_plain and entry not in self.facts.fails and len(entry.parameters) <= MOST_DIRECT

    @property
    def is_plain(self) -> bool:
        """As of Emitted. Valid after the procedures have been emitted."""
        of_tensors = self.has_kernels or self.has_arrays or self.decomposes or bool(self.multiplies)
        return not (of_tensors or self.needs.vectors or self.facts.acts)

    def words(self, entry: Function) -> CallWords:
        """The layout of the words of a call. A standalone unit takes only the leaves of the operands. Valid after the procedures
        have been emitted."""
        return CallWords(
            "".join([slot.kind for slot in entry.parameters]),
            entry.results,
            bool(self.facts.counts),
            bool(self.multiplies) and not self.alone,
            self.decomposes and not self.alone,
            self.needs.vectors and not self.alone,
            len(self.takes),
            tuple(self.places.values()),
        )

    def main(self, describe: Callable[[Fail], str]) -> str:
        """The function that the system calls."""
        (entry,) = self.program.entries
        lines = [*self._call(True), *self._enter(entry, "vlad_enter"), self._messages(describe)]
        takes_words = "vlad_argument_character" in self.needs.functions
        lines.append("int main(int count, char **words) {\n  vlad_word_count = count - 1, vlad_words = (void *)(words + 1);"
                     if takes_words else "int main(void) {")  # fmt: skip
        lines.append("""  int status = vlad_run(vlad_enter_body, 0, 0);
  vlad_flush();
  if (!status) return 0;
  if (status >= VLAD_EXITED) return (status - VLAD_EXITED) % VLAD_STATUSES;
  char text[VLAD_MESSAGE];
  vlad_write_text(2, text, vlad_message(status, text));
  return 1;
}""")
        return "\n".join(lines)

    def library(self, exports: list[Export], describe: Callable[[Fail], str], name: str) -> str:
        """The functions that other programs call."""
        first, *others = self.program.entries
        lines = [*self._call(True), *self._enter(first, "vlad_begin"), self._messages(describe)]
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
  int status = vlad_run(vlad_begin_body, 0, 0);
  vlad_begun = !status;""")
        if self.facts.allocates:
            lines.append("  if (vlad_begun) {\n    vlad_floor = vlad_top;\n    vlad_begin_at_floor();\n  }")
        lines.append("  return status;\n}")
        for number, (entry, export) in enumerate(zip(others, exports, strict=True)):
            lines += self._enter(entry, f"vlad_enter_{number}")
            names = export.parameters
            takes = ", ".join([f"double {name}" for name in names] + ["double *results"])
            lines.append(f"""VLAD_EXPORT int {export.name}({takes}) {{
  union vlad_word in[] = {{{", ".join([f"{{{name}}}" for name in names]) or "{0}"}}}, out[{max(1, len(entry.results))}];
  int status = vlad_begin_once();
  if (!status) status = vlad_run(vlad_enter_{number}_body, in, out);
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

    def _messages(self, describe: Callable[[Fail], str]) -> str:
        texts = [describe(fail) for fail in self.failures]
        lines = [f"  {c_string(text.encode('utf-8', 'surrogatepass'))}," for text in texts]
        return "\n".join(
            ["static const char *const vlad_messages[] = {", *lines, "  0};", sections()["messages"]]
        )

    def _admit(self) -> list[str]:
        """The function that returns whether the code serves the lengths that have been determined in the call so far. It also
        sets the sizes that depend on them, for the collector."""
        lines = []
        for relation, difference in self.late[0].guards.conditions:
            if difference.late:
                known = " && ".join([f"n{size.number}" for size in difference.late])
                lines.append(f"  if ({known} && !({difference.as_double()} {relation} 0)) return 0;")
        return ["static int vlad_admits(void) {", *lines, *self._resize(True), "  return 1;", "}"]

    def _lengths(self) -> list[str]:
        """The function that returns the present lengths of axes at the interface."""
        lines = [f"  extents[{index}] = {extent};" for index, extent in enumerate(self.extents)]
        return ["void vlad_lengths(long *extents) {", *lines, "}"]

    def _resize(self, late: bool) -> list[str]:
        """The statements that set the sizes of members that depend on lengths determined within a call, or on others only."""
        return [
            f"  vlad_members[{number}].size = {size};"
            for number, size in self.measured
            if bool(size.late) == late
        ]

    def _measure(self) -> list[str]:
        """The function to which the sizes of a call are passed before it. It returns 0 if the code does not serve them, 1 for a
        short call, 2 for a longer one. It computes the other extents at the interface, and last the bytes of the largest array
        whose size is not constant."""
        sizes = [str(size) for size in self.sizes]
        guards = self.sizes[0].guards.conditions
        lines = [f"  {name} = sizes[{index}];" for index, name in enumerate(sizes)]
        lines += [
            f"  if (!({difference.as_double()} {relation} 0)) return 0;"
            for relation, difference in guards
            if not difference.late
        ]
        known = [one for one in (*self.extents, *self.needs.rooms, *self.needs.turns) if not one.late]
        lines += [f"  if ({one.as_double()} > {MOST_COUNTED}) return 0;" for one in dict.fromkeys(known)]
        lines += [
            f"  extents[{index}] = {extent};" for index, extent in enumerate(self.extents) if not extent.late
        ]
        lines.append("  long largest = 0, bytes;")
        for room in [room for room in self.needs.rooms if not room.late]:
            lines.append(f"  bytes = {WORD} * {room}; if (bytes > largest) largest = bytes;")
        lines.append(f"  extents[{len(self.extents)}] = largest;")
        lines += self._resize(False)
        many = [
            f"largest > {MOST_AT_ONCE * WORD}",
            *[f"{turns} > {MOST_AT_ONCE}" for turns in self.needs.turns if not turns.late],
        ]
        is_long = "1" if self.needs.stops else " || ".join(many)
        return [
            "int vlad_measure(long const *sizes, long *extents) {",
            *lines,
            f"  return 1 + ({is_long});",
            "}",
        ]

    def _enter(self, entry: Function, name: str) -> list[str]:
        """A function without parameters that calls the entry, since it may be called on another stack; and one that prepares
        a call, and calls it."""
        arguments = ", ".join(
            [
                f"({C_TYPES[slot.kind]})vlad_in[{index}].{WORDS[slot.kind]}"
                for index, slot in enumerate(entry.parameters)
            ]
        )
        call = f"{c_name(entry)}({arguments})"
        lines = [f"static void {name}(void) {{"]
        words = self.words(entry)
        if words.multiplies:
            at = words.products
            lines.append(f"  vlad_gemm = vlad_in[{at}].p; vlad_gemmf = vlad_in[{at + 1}].p;")
            lines.append(f"  vlad_gemm_is_wide = vlad_in[{at + 2}].i;")
            lines.append(f"  vlad_gemm_set = vlad_in[{at + 3}].p; vlad_gemm_get = vlad_in[{at + 4}].p;")
        if words.decomposes:
            at = words.routines
            lines.append(f"  vlad_lapack = vlad_in[{at}].p; vlad_lapack_is_wide = vlad_in[{at + 1}].i;")
        if words.calls_vectors:
            lines.append(f"  vlad_vectors = vlad_in[{words.functions}].p;")
        for at, taken in enumerate(self.takes, start=words.entries):
            lines.append(f"  {taken} = vlad_in[{at}].p;")
        for at, index in enumerate(words.places, start=words.targets):
            lines.append(f"  {place_of_result(index)} = vlad_in[{at}].p;")
        lines += [f"  {length} = 0;" for length in self.late]
        if self.nested:
            lines.append("  memset(vlad_later, 0, sizeof vlad_later);")
        if words.counts:
            lines.append(f"  vlad_fuel = vlad_in[{words.fuel}].i;")
        if len(entry.results) == 0:
            lines.append(f"  {call};")
        elif len(entry.results) == 1:
            lines.append(f"  vlad_out[0].{WORDS[entry.results]} = {call};")
        else:
            lines.append(f"  {self.result_type(entry.results)} result = {call};")
            for index, kind in enumerate(entry.results):
                lines.append(f"  vlad_out[{index}].{WORDS[kind]} = result._{index};")
        if self.facts.counts:
            lines.append(f"  vlad_out[{words.fuel_left}].i = vlad_fuel;")
        lines.append("}")
        enters = f"vlad_on_stack({name});" if self.facts.recursive else f"{name}();"
        lines.append(
            f"static int {name}_body(void const *in, void *out) {{ vlad_prepare(in, out); {enters} return 0; }}"
        )
        return lines

    def _call(self, fails: bool) -> list[str]:
        facts = self.facts
        empties = ["vlad_empty_arena();"] * bool(facts.allocates) + ["vlad_trim_stack();"] * bool(
            facts.recursive
        )
        empties += ["vlad_empty_line();"] * bool(facts.acts)
        rests = ["vlad_rest_arena();"] * bool(facts.allocates) + ["vlad_rest_stack();"] * bool(
            facts.recursive
        )
        if self.shared.remembering:
            empties.append("vlad_forget();")
            rests.append("vlad_forget();")
        lines = []
        if empties and not self.alone:
            lines.append(f"long vlad_give_back(void) {{ {' '.join(empties)} return 0; }}")
        if rests and not self.alone:
            lines.append(f"long vlad_rest(void) {{ {' '.join(rests)} return 0; }}")
        lines.append("static inline void vlad_prepare(void const *in, void *out) {")
        if facts.allocates:
            lines.append("  if (!vlad_base) vlad_open_arena();")
            lines.append("  vlad_trim_arena();")
        if facts.recursive:
            lines.append("  if (!vlad_stack) vlad_open_stack();")
        if facts.acts or self.alone:
            lines.append("  vlad_filled = 0;")
        if self.sites is not None:
            lines.append("  vlad_at[0] = vlad_at[1] = 0;")
        lines += ["  vlad_in = in; vlad_out = out;", "}"]
        takes = "int (*body)(void const *, void *), void const *in, void *out"
        lines.append(f"static inline int vlad_run({takes}) {{ /* returns the status */")
        if fails:
            lines.append("  int status = vlad_try(in, out, body);")
            trims = (["vlad_trim_arena();"] if facts.allocates else []) + (
                ["vlad_trim_stack();"] if facts.recursive else []
            )
            if trims:
                lines.append(f"  if (__builtin_expect(status, 0)) {{ {' '.join(trims)} }}")
            lines += ["  return status;", "}"]
        else:
            lines += ["  return body(in, out);", "}"]
        return lines
