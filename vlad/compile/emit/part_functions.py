"""The functions of C that run a nest for a part of a kernel's indices, and for all parts, in several threads (loops/parts.py).

In: a nest, and a printer of its loops.  Out: the text of the functions, and the lines of the call. The parts of a reduction are
joined in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vlad.compile.emit.loop_text import C_KINDS, LoopPrinter
from vlad.compile.emit.needs import Needs
from vlad.compile.loops import parts as of
from vlad.compile.loops.ir import Accumulate, Element, Gathered, Nest, Origin, Scalar, Variables
from vlad.compile.loops.parts import COUNT, FIRST
from vlad.compile.loops.walking import statements, values_of, within
from vlad.core.expressions import Name

NAME = "@parts@"


def parts_constants() -> str:
    """What the section `parts` of the run-time uses."""
    values = {"VLAD_STEPS_OF_A_PART": of.STEPS_OF_A_PART, "VLAD_MOST_PARTS": of.MOST_PARTS}
    return "".join([f"#define {name} {value}\n" for name, value in values.items()])


def part_texts(parts: Mapping[str, str]) -> list[str]:
    return [text.replace(NAME, name) for text, name in parts.items()]


def call_in_parts(nest: Nest, given: Mapping[str, str], printer: LoopPrinter, needs: Needs) -> list[str]:
    """The lines of the call. `given`: the variables that the loops read, and their types; `printer`: for its functions, whose
    text is added to `needs`."""
    needs.threads = True
    text = _functions(NAME, nest, given, printer, needs)
    name = needs.parts.setdefault(text, f"vlad_loop_{len(needs.parts) + 1}")
    reals = [one.name for one in nest.gathered]
    return [
        "{",
        f"  struct {name}_given given = {{{', '.join([*given, *reals])}}};",
        f"  {name}_in_parts(&given);",
        *[f"  {real} = given.{real};" for real in reals],
        "}",
    ]


def variables_read(
    nest: Nest,
    names: Sequence[str],
    outputs: Sequence[str],
    taken: Mapping[int, int],
    kinds: Mapping[int, str],
) -> dict[str, str]:
    """The variables of C that a nest reads, and their types. `names`: of operands; `taken`, `kinds`: as in c_loops.py."""
    values = [value for one in statements(nest.body) for value in values_of(one)]
    found: dict[str, str] = {}
    for part in [part for value in values for part in within(value)]:
        array = part.array if type(part) is Element else None
        if array is not None and array.origin is Origin.OUTPUT:
            assert type(array.of) is int
            lies_alone = "" if array.of in taken else "restrict"
            found[outputs[array.of]] = f"{C_KINDS[array.kind]} *{lies_alone}"
        number = part.number if type(part) is Scalar else array.of if array and array.is_given else None
        if type(number) is int and number in kinds:
            found[names[number]] = kinds[number]
    return found


def _functions(name: str, nest: Nest, given: Mapping[str, str], printer: LoopPrinter, needs: Needs) -> str:
    parts, gathered = nest.parts, nest.gathered
    assert parts is not None
    fields = [f"{type_} {variable};" for variable, type_ in given.items()]
    fields += [f"{C_KINDS[one.kind]} {one.name};" for one in gathered]
    fields += [f"{C_KINDS[one.kind]} *{_all(one)};" for one in gathered]
    each = f"long rows = {parts.rows}, each = vlad_rows_of_part(rows, {parts.steps}, {parts.least})"
    lines = [
        f"struct {name}_given {{ {' '.join(fields)} }};",
        f"static void {name}(void *all, double part, double last) {{",
        f"  struct {name}_given *given = all;",
        *[f"  {type_} {variable} = given->{variable};" for variable, type_ in given.items()],
        f"  {each};",
        "  for (; part < last; part++) {",
        f"    {needs.stop()}",
        f"    long {FIRST} = (long)part * each, {COUNT} = rows - {FIRST} < 2 * each ? rows - {FIRST} : each;",
    ]
    printer.depth = 2
    printer.body([Variables((one.name,), one.kind, one.start) for one in gathered])
    printer.body(nest.body)
    lines += printer.lines
    lines += [f"    given->{_all(one)}[(long)part] = {one.name};" for one in gathered]
    lines += ["  }", "}"]
    lines += [f"static __attribute__((noinline)) void {name}_in_parts(struct {name}_given *given) {{"]
    lines += [f"  {each}, parts = rows < each ? 1 : rows / each;"]
    for one in gathered:
        lines.append(f"  {C_KINDS[one.kind]} {_all(one)}[{of.MOST_PARTS}], {one.name} = given->{one.name};")
        lines.append(f"  given->{_all(one)} = {_all(one)};")
    lines.append(f"  vlad_spread({name}, given, 0.0, (double)parts);")
    if gathered:
        printer.lines = []
        printer.body(
            [Accumulate(Name(one.name), Name(f"{_all(one)}[part]"), one.combine, one.of) for one in gathered]
        )
        lines += ["  for (long part = 0; part < parts; part++) {", *printer.lines, "  }"]
        lines += [f"  given->{one.name} = {one.name};" for one in gathered]
    return "\n".join([*lines, "}"])


def _all(gathered: Gathered) -> str:
    """The results of all parts."""
    return f"{gathered.name}_of"
