"""A first-order function → the text of a C function.

In: functions, and the definitions of their unit.  Out: `FunctionText`; its method `text` returns the text of the function. Loops
of the program become labels and jumps; a kernel becomes a loop of C (c_loops.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from vlad.compile.emit.c_loops import kernel_lines, when_over
from vlad.compile.emit.c_text import (
    C_TYPES,
    COUNTER,
    LONGEST_NAME,
    c_name,
    c_string,
    comment,
    constant_text,
    identifier,
    number_list,
    place_of,
    position,
    whole_constant_text,
)
from vlad.compile.emit.definitions import Definitions
from vlad.compile.emit.facts import drops, grows_only, hands_on
from vlad.compile.emit.lapack_calls import BESIDE_LAPACK, WITHOUT_LAPACK, routine_lines
from vlad.compile.emit.loop_functions import call_lines, is_long
from vlad.compile.emit.loop_text import Directive, expression_text
from vlad.compile.emit.row_threads import fewest, threaded
from vlad.compile.emit.sharing import MOST_WORDS, places_of_visits
from vlad.compile.ir.matrix_products import Contraction, by_library
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Data,
    Each,
    Effect,
    Fail,
    Failure,
    Function,
    Immediate,
    Invoke,
    Leaf,
    Load,
    Member,
    Return,
    Slot,
    Static,
    Store,
    Switch,
    TailInvoke,
    Unbox,
    Unreachable,
    Yield,
    sharing_of,
    statements,
)
from vlad.compile.ir.refusals import OTHER_LENGTH, SHORT_LENGTH, UNFIT_LENGTH
from vlad.compile.ir.rewriting import leaf_kind
from vlad.compile.ir.row_loops import RowLoop
from vlad.compile.loops.ir import Condition
from vlad.compile.loops.lower import Operand, Place
from vlad.compile.passes.buffer_reuse import places_taken
from vlad.core.expressions import chooses, read
from vlad.core.extents import LEAST, MOST, is_late
from vlad.core.loop_nests import SIZES, Routine, Step
from vlad.core.types import Cell, Sharing
from vlad.data.errors import INPUT_ENDED, INPUT_NOT_REAL

COMPARISONS = ("<", ">", "<=", ">=", "=")
Choice: TypeAlias = "tuple[Slot, Leaf, Leaf]"  # what a test selects, if it holds and otherwise


def operands_of(
    leaves: Sequence[Leaf], texts: Sequence[str], counters: frozenset[Slot] = frozenset()
) -> list[Operand]:
    """The operands of a kernel; `texts`: their C; `counters`: the slots that are integers. Constants are not the same operand if
    they are equal: 0.0 equals -0.0."""
    first: dict[Leaf, int] = {}
    found = []
    for number, (leaf, text) in enumerate(zip(leaves, texts, strict=True)):
        own = first.setdefault(leaf, number) if isinstance(leaf, Slot | Data | Static) else number
        known = leaf if type(leaf) is float and math.isfinite(leaf) else None
        found.append(Operand(own, text, known, leaf in counters))
    return found


class FunctionText:
    """The text of a function, or of several that call each other in tail position. Several become one C function with a label for
    each, so that their calls need no stack whatever the C compiler optimizes."""

    def __init__(self, unit: Definitions, members: list[Function]) -> None:
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
        self.keeps_addresses = any(f in unit.shared.careful for f in members)
        self.number = unit.shared.remembering.get(self.function)
        self.visiting = [] if self.number is None else places_of_visits(self.function, facts)
        self.releases = (
            self.allocates and "p" not in self.function.results and not keeps and not self.keeps_addresses
        )
        self.loops = len(members) > 1 or self.function in facts.loops
        self.indent = 1
        self.here: str | None = None
        self.taken = {loop: taken for f in members for loop, taken in places_taken(f).items()}
        for loop, output in unit.owning.items():
            self.taken.setdefault(loop, {}).setdefault(output, loop.kernel.outputs[output].base or 0)
        self.places = {slot: Place(index) for slot, index in unit.places.items()}
        makers = {
            slot: (loop, number)
            for f in members
            for loop in statements(f.body)
            if type(loop) is Each and loop.is_loop
            for number, slot in enumerate(loop.slots)
        }
        for slot in unit.places:
            if slot in makers:
                self._lead_back(slot, makers)
        self.rows: RowLoop | None = None
        self.enters = False  # does it collect when it calls itself?
        self.nested: int | None = None  # the number of a loop that a recursion runs, if it collects

    def _lead_back(self, slot: Slot, makers: Mapping[Slot, tuple[Each, int]]) -> None:
        """If a loop writes a result over an operand, that operand has to be stored at the place of the result, and so does what
        the operand's own loop writes over. If the operand's loop starts from another array (`base`), that is impossible, and the
        result is a new array."""
        loop, output = makers[slot]
        operand = self.taken.get(loop, {}).get(output)
        if operand is None:
            return
        leaf, place = loop.operands[operand], self.places[slot]
        condition = when_over(loop.kernel, operands_of(loop.operands, [""] * len(loop.operands)))
        if type(leaf) is not Slot or makers[leaf][0].kernel.outputs[makers[leaf][1]].base is not None:
            del self.taken[loop][output]
        elif condition is not None:
            if condition is not Condition.ALWAYS:
                place = place._replace(condition=condition)
            self.places[leaf] = place
            self._lead_back(leaf, makers)

    def text(self) -> str:
        facts, members = self.unit.facts, self.members
        if self.loops and len(members) == 1 and self.number is None and not self.keeps_addresses:
            self.rows = threaded(self.function, facts, self.taken)
        pointed = any(slot.kind == "p" for f in members for slot in f.parameters)
        keeps_all = self.keeps_addresses or (len(members) == 1 and grows_only(self.function, facts))
        self.gathers = self.loops and self.allocates and pointed and not keeps_all and self.rows is None
        self.drops = not self.keeps_addresses and any(drops(f, facts) for f in members)
        self.nests = any(f in facts.nested for f in members)
        # what a loop leaves behind is little, unless a recursion runs the loop again and again
        self.packs = self.drops or (self.nests and self.gathers and "p" in self.function.results)
        self.enters = (
            self.number is None
            and not self.keeps_addresses
            and len(members) == 1
            and hands_on(self.function, facts)
        )
        if self.enters:
            self.enter()
        rows = "" if self.rows is None else self._rows(self.rows)
        if self.allocates and (self.releases or self.packs or (self.loops and pointed and not rows)):
            self.line(f"char *const mark = {'first->mark' if self.enters else 'vlad_top'};")
        if self.gathers:
            self.unit.collects = True
            if self.nests:
                self.nested = self.unit.nested
                self.unit.nested += 1
            self.line(f"long limit = {self.first_limit()};")
        if self.packs:
            self.unit.collects = self.unit.packs = True
        if any(f in facts.recursive for f in members):
            self.line("VLAD_ENTER();")
            self.step()
        elif any(f in facts.long for f in members):
            self.step()
        if self.rows is not None:
            return f"{rows}\n{self._after_rows(self.rows)}"
        return self._one() if len(members) == 1 else self._several()

    def first_limit(self) -> str:
        """The bytes that a loop allocates before its first collection, or may leave behind."""
        return "VLAD_NURSERY" if self.nested is None else f"vlad_first_limit({self.nested})"

    def _rows(self, loop: RowLoop) -> str:
        """The turns of a loop over rows, from one value of the counter to before another. They leave nothing behind."""
        function = self.function
        given = f"{c_name(function)}_given"
        names = {at: self.name(slot) for at, slot in enumerate(function.parameters)}
        fields = [f"{self.unit.slot_type(function.parameters[at])} {names[at]};" for at in loop.given]
        counter, last = names[loop.counter], self.temporary("last")
        for at in loop.given:
            kind = self.unit.slot_type(function.parameters[at])
            self.line(f"{kind} {names[at]} = ((struct {given} *)given)->{names[at]};")
        if self.allocates:
            self.line("char *const mark = vlad_top;")
        begin, end = counter, last
        if function.parameters[loop.counter] in self.unit.counters:
            begin, end = self.temporary("begin"), self.temporary("end")
            self.line(f"{COUNTER} {counter} = {begin}, {last} = {end};")
        self.lines.append(f"{place_of(function)}:;")
        self.line(f"if ({counter} == {last}) return;")
        self.block(loop.again, ())
        lines, self.lines, self.here = self.lines, [], None
        head = f"static void {c_name(function)}_rows(void *given, double {begin}, double {end}) {{"
        return "\n".join([f"struct {given} {{ {' '.join(fields) or 'int none;'} }};", head, *lines, "}"])

    def _after_rows(self, loop: RowLoop) -> str:
        """The function that runs all of them, and what comes after the last."""
        function = self.function
        self.unit.needs.threads = True
        others = [self.name(function.parameters[at]) for at in loop.given]
        counter, last = self.name(function.parameters[loop.counter]), self.leaf(loop.end)
        name, few = c_name(function), fewest(loop, self.unit.facts)
        self.line("{")
        self.line(f"  struct {name}_given given = {{{', '.join(others) or '0'}}};")
        self.line(f"  if ({last} - {counter} < {few}.0) {name}_rows(&given, {counter}, {last});")
        self.line(f"  else vlad_spread({name}_rows, &given, {counter}, {last});")
        self.line("}")
        self.line(f"{counter} = {last};")
        self.block(loop.after, ())
        return "\n".join([self._head(name, self._parameters(function), function), *self.lines, "}"])

    def enter(self) -> None:
        """Free what a call's operands do not reach of all that was allocated since the first of the calls in progress."""
        function = self.function
        names = [self.name(slot) for slot in function.parameters if slot.kind == "p"]
        numbers = [self.unit.cell_number(cell) for cell in function.parameter_cells if cell is not None]
        self.unit.collects = self.unit.enters = True
        self.line("if (__builtin_expect(vlad_top - first->mark > first->limit, 0)) {")
        self.line(f"  void *roots[] = {{{', '.join(names) or '0'}}};")
        self.line(f"  static const short cells[] = {{{number_list(numbers)}}};")
        self.line(f"  first->limit = vlad_collect(first->mark, {len(names)}, roots, cells);")
        for index, name in enumerate(names):
            self.line(f"  {name} = roots[{index}];")
        self.line("}")

    def _one(self) -> str:
        if self.enters:
            return self._entered()
        function = self.function
        if self.loops:
            self.lines.append(f"{place_of(function)}:;")
        if function.body in self.visiting:
            self.recall()
        self.block(function.body, ())
        return "\n".join(
            [self._head(c_name(function), self._parameters(function), function), *self.lines, "}"]
        )

    def _entered(self) -> str:
        """The function that calls itself, and the one that others call."""
        function = self.function
        within, parameters = self._within(), self._parameters(function)
        if self.loops:
            self.lines.append(f"{place_of(function)}:;")
        self.block(function.body, ())
        takes = ", ".join([*([parameters] if parameters else []), "struct vlad_first *first"])
        given = ", ".join([*[self.name(slot) for slot in function.parameters], "&first"])
        result = "return " if function.results else ""
        inner = self._signature(within, takes, function)
        outer = self._signature(c_name(function), parameters, function)
        return "\n".join(
            [
                f"{inner};",
                f"{outer} {{\n  struct vlad_first first = {{vlad_top, VLAD_NURSERY}};\n  {result}{within}({given});\n}}",
                f"{inner} {{{self._place(function)}",
                *self.lines,
                "}",
            ]
        )

    def _within(self) -> str:
        return f"{c_name(self.function)}_within"

    def _several(self) -> str:
        """One function with a label for each member, and for each member a function that jumps there."""
        together = f"{c_name(self.function)}_together"
        texts = []
        for number, function in enumerate(self.members):
            actual = [
                self.name(slot) if one is function else "0" for one in self.members for slot in one.parameters
            ]
            call = f"{self.call(together, [str(number), *actual])};"
            result = f"return {call}" if function.results else call
            texts.append(
                f"{self._head(c_name(function), self._parameters(function), function)}\n  {result}\n}}"
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
        signature = self._signature(together, ", ".join(parameters), self.members[0])
        head = f"{signature} {{{self._place(self.members[0])}"
        return "\n".join([f"{signature};", *texts, head, *self.lines, "}"])

    def _parameters(self, function: Function) -> str:
        return ", ".join([f"{self.unit.slot_type(s)} {self.name(s)}" for s in function.parameters])

    def _head(self, name: str, parameters: str, function: Function) -> str:
        return f"{self._signature(name, parameters, function)} {{{self._place(function)}"

    def _signature(self, name: str, parameters: str, function: Function) -> str:
        return f"static {self.unit.result_type(function.results)} {name}({parameters or 'void'})"

    def _place(self, function: Function) -> str:
        return f" /* {position(function.span)} */" if function.span else ""

    def line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def step(self) -> None:
        self.line(self.unit.needs.stop())

    def recall(self) -> None:
        """Return at once from what was visited before."""
        addresses = self.addresses()
        if sharing_of(self.function) is Sharing.VISITS:
            result = "return 1;" if self.function.results else "return;"
            self.line(f"if (vlad_was_visited({addresses})) {result}")
        else:
            self.line(f"void *const known = vlad_recall({addresses});")
            self.line("if (__builtin_expect(known != 0, 0)) return known == VLAD_AGAIN ? 0 : known;")

    def begins(self, callee: Function) -> bool:
        """Does a call of it begin a structural operation that shares?"""
        careful = self.unit.shared.careful
        return callee in careful and self.function not in careful

    def addresses(self) -> str:
        names = [self.name(slot) for slot in self.function.parameters]
        return ", ".join([str(self.number), *names, *["0"] * (MOST_WORDS - len(names))])

    def name(self, slot: Slot) -> str:
        name = self.names.get(slot)
        if name is None:
            base = identifier(slot.name[:LONGEST_NAME])
            count = self.used[base] = self.used.get(base, 0) + 1
            name = self.names[slot] = f"{base}_{count}"
        return name

    def leaf(self, leaf: Leaf) -> str:
        """A leaf as its kind has it: a number as a double."""
        if type(leaf) is Slot:
            if leaf in self.unit.counters:
                self.unit.needs.functions.add("vlad_counted")
                return f"vlad_counted({self.name(leaf)})"
            return self.name(leaf)
        if type(leaf) is Data:
            return self.unit.data(leaf)
        return self.unit.static(leaf) if type(leaf) is Static else constant_text(leaf)

    def leaf_for(self, slot: Slot, leaf: Leaf) -> str:
        """A leaf as the value of a slot."""
        return (self.whole(leaf) if slot in self.unit.counters else None) or self.leaf(leaf)

    def whole(self, leaf: Leaf) -> str | None:
        """A leaf as an integer, if it is one."""
        if type(leaf) is Slot:
            return self.name(leaf) if leaf in self.unit.counters else None
        return whole_constant_text(leaf)

    def declare(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            self.line(f"{self.unit.slot_type(slot)} {self.name(slot)};")

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
                    self.branch(statement)
                case Switch():
                    self.switch(statement)
        self.end(block, targets)

    def arm(self, head: str, block: Block, targets: tuple[Slot, ...]) -> None:
        self.line(head)
        self.indent += 1
        visits = block in self.visiting
        if visits:
            self.recall()
        self.block(block, targets)
        if visits and targets and sharing_of(self.function) is Sharing.RESULTS:
            result = self.name(targets[0])
            self.line(f"{result} = vlad_remember({self.addresses()}, {result});")
        self.indent -= 1

    def branch(self, statement: Branch) -> None:
        test, slots = self.leaf(statement.test), statement.slots
        consequent, alternative = statement.consequent, statement.alternative
        choices = self.choices(statement)
        if choices:
            kept = self.choose(test, choices)
            if not kept:
                return
            slots = tuple([slot for slot, _, _ in kept])
            consequent = Block([], Yield(tuple([leaf for _, leaf, _ in kept])))
            alternative = Block([], Yield(tuple([leaf for _, _, leaf in kept])))
        self.declare(slots)
        if not slots and not consequent.statements and type(consequent.end) is Yield:
            self.arm(f"if (!{test}) {{", alternative, ())
        else:
            self.arm(f"if ({test}) {{", consequent, slots)
            self.arm("} else {", alternative, slots)
        self.line("}")

    def choices(self, statement: Branch) -> list[Choice]:
        """What a branch that computes nothing selects between; none if it computes."""
        one, other = statement.consequent, statement.alternative
        if one.statements or other.statements or one in self.visiting or other in self.visiting:
            return []
        if type(one.end) is not Yield or type(other.end) is not Yield:
            return []
        return [*zip(statement.slots, one.end.leaves, other.end.leaves, strict=True)]

    def choose(self, test: str, choices: list[Choice]) -> list[Choice]:
        """Compute from the test what it selects between two constants that stand for members of a union; returns the other
        choices. A minimum together with the number of its operand would be a jump, which no processor predicts; alone it is an
        instruction.
        """
        kept = []
        for slot, one, other in choices:
            if type(one) is Immediate and type(other) is Immediate:
                step = one.member - other.member
                value = f"{other.member + 1}L {'-' if step < 0 else '+'} {abs(step)}L * {test}"
                self.line(f"void *{self.name(slot)} = (void *)({value});")
            else:
                kept.append((slot, one, other))
        return kept

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
                    self.line(f"{self.name(slot)} = {self.leaf_for(slot, leaf)};")
            case Return():
                texts = [self.leaf(leaf) for leaf in end.leaves]
                self.return_(
                    self.packed(end.leaves, texts, self.function.result_cells) if self.packs else texts
                )
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

    def packed(self, leaves: Sequence[Leaf], texts: list[str], cells: Sequence[Cell | None]) -> list[str]:
        """The leaves of a result, or of the operands of a tail call, when what they do not reach is free. `texts`: their C;
        `cells`: the targets of those that are pointers.
        """
        kinds = [at for at, leaf in enumerate(leaves) if leaf_kind(leaf) == "p"]
        numbers = dict(zip(kinds, [cell for cell in cells if cell is not None], strict=True))
        pointers = [at for at in kinds if type(leaves[at]) is Slot]
        if not pointers:
            self.line("vlad_top = mark;")
            return texts
        least = "4096" if self.drops else self.first_limit()
        self.line(f"if (__builtin_expect(vlad_is_sparse(mark, {least}), 0)) {{")
        self.line(f"  void *roots[] = {{{', '.join([texts[at] for at in pointers])}}};")
        of_pointers = number_list([self.unit.cell_number(numbers[at]) for at in pointers])
        self.line(f"  static const short cells[] = {{{of_pointers}}};")
        if self.drops:
            self.line(f"  vlad_pack(mark, {len(pointers)}, roots, cells);")
        else:
            self.line(f"  vlad_collect_nested({self.nested}, mark, {len(pointers)}, roots, cells);")
        for number, at in enumerate(pointers):
            self.line(f"  {texts[at]} = roots[{number}];")
        self.line("}")
        return texts

    def return_(self, leaves: list[str]) -> None:
        if self.releases:
            self.line("vlad_top = mark;")
        if not leaves:
            self.line("return;")
        elif self.function.body in self.visiting and sharing_of(self.function) is Sharing.RESULTS:
            self.line(f"return vlad_remember({self.addresses()}, {leaves[0]});")
        elif len(leaves) == 1:
            self.line(f"return {leaves[0]};")
        else:
            self.line(f"return ({self.unit.result_type(self.function.results)}){{{', '.join(leaves)}}};")

    def tail_call(self, end: TailInvoke) -> None:
        texts = self.given(end)
        if self.packs:
            texts = self.packed(end.operands, texts, end.function.parameter_cells)
        if self.releases and not any(slot.kind == "p" for slot in end.function.parameters):
            self.line("vlad_top = mark;")
        call = f"{self.call(c_name(end.function), texts)};"
        if self.begins(end.function):
            result = ""
            if self.function.results:
                result = self.temporary("tail")
            self.called(call, end.function, result)
            self.line(f"return {result};")
        else:
            self.line(f"return {call}" if self.function.results else f"{call} return;")

    def given(self, call: Invoke | TailInvoke) -> list[str]:
        """The operands of a call."""
        parameters = call.function.parameters
        return [self.leaf_for(slot, leaf) for slot, leaf in zip(parameters, call.operands, strict=True)]

    def again(self, end: TailInvoke) -> None:
        """The next turn of a loop: assign the parameters, and free what they do not reach."""
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
                moved.append(
                    (self.name(slot), temporary, self.unit.slot_type(slot), self.leaf_for(slot, leaf))
                )
        for _, temporary, type_, text in moved:
            self.line(f"{type_} {temporary} = {text};")
        later = {name for name, _, _, _ in moved}
        for slot, leaf in changed:
            if self.name(slot) not in later:
                self.line(f"{self.name(slot)} = {self.leaf_for(slot, leaf)};")
        for name, temporary, _, _ in moved:
            self.line(f"{name} = {temporary};")
        names = [self.name(slot) for slot in target.parameters if slot.kind == "p"]
        if self.rows is not None and self.allocates:
            self.line("vlad_top = mark;")
        elif self.gathers and names:
            numbers = [self.unit.cell_number(cell) for cell in target.parameter_cells if cell is not None]
            self.line("if (__builtin_expect(vlad_top - mark > limit, 0)) {")
            self.line(f"  void *roots[] = {{{', '.join(names)}}};")
            self.line(f"  static const short cells[] = {{{number_list(numbers)}}};")
            given = f"mark, {len(names)}, roots, cells"
            if self.nested is None:
                self.line(f"  limit = vlad_collect({given});")
            else:
                self.line(f"  limit = vlad_collect_nested({self.nested}, {given});")
            for index, name in enumerate(names):
                self.line(f"  {name} = roots[{index}];")
            self.line("}")
        elif self.allocates and not names and self.releases:
            self.line("vlad_top = mark;")
        self.step()
        self.line(f"goto {place_of(target)};")

    # Statements.

    def compute(self, statement: Compute) -> None:
        slot, row = statement.slot, statement.row
        actual = dict(zip(row.operands, self.operands(statement), strict=True))
        text = expression_text(read(row.c), actual, self.unit.needs.functions)
        where = ""
        if statement.span is not None:
            here = position(statement.span)
            if here != self.here:
                self.here, where = here, f" /* {here} */"
        self.line(f"{self.unit.slot_type(slot)} {self.name(slot)} = {text};{where}")

    def operands(self, statement: Compute) -> list[str]:
        """The operands of a primitive: as integers where it counts, or compares counters, otherwise as their kinds have them."""
        operands, counters = statement.operands, self.unit.counters
        if statement.slot in counters or statement.row.name in COMPARISONS:
            whole = [text for leaf in operands if (text := self.whole(leaf)) is not None]
            if len(whole) == len(operands) and not counters.isdisjoint(operands):
                return whole
        return [self.leaf(leaf) for leaf in operands]

    def each(self, statement: Each) -> None:
        self.unit.has_arrays |= statement.allocates
        operands = [
            (self.whole(leaf) if type(leaf) is Slot else None) or self.leaf(leaf)
            for leaf in statement.operands
        ]
        outputs = [self.name(slot) for slot in statement.slots]
        if statement.span is not None:
            self.here = position(statement.span)
            self.line(f"/* {self.here} */")
        for line in self.work(statement, operands, outputs):
            self.lines.append(line if isinstance(line, Directive) else "  " * self.indent + line)

    def work(self, statement: Each, operands: list[str], outputs: list[str]) -> list[str]:
        unit = self.unit
        if type(statement.work) is Routine:
            if statement.work.name in WITHOUT_LAPACK:
                unit.needs.functions.update(WITHOUT_LAPACK[statement.work.name])
            else:
                unit.decomposes = True
                unit.needs.functions.update(BESIDE_LAPACK)
            return routine_lines(statement.work, operands, outputs, unit.needs)
        kernel = statement.kernel
        unit.has_kernels = True
        unit.chooses |= any(type(step) is Step and chooses(step.row.c) for step in kernel.steps)
        product = by_library(kernel)
        if product is not None:
            unit.multiplies.add(product.kind)
            if type(product) is Contraction:
                unit.contracts.add(product.kind)
        given = operands_of(statement.operands, operands, unit.counters)
        taken = self.taken.get(statement, {})
        places = {at: self.places[slot] for at, slot in enumerate(statement.slots) if slot in self.places}
        kinds = {at: unit.slot_type(one) for at, one in enumerate(statement.operands) if type(one) is Slot}

        def lines(operands: list[Operand], outputs: list[str]) -> list[str]:
            return kernel_lines(kernel, operands, outputs, unit.needs, taken, places, kinds)

        if unit.has_many_loops and product is None and not places and is_long(statement):
            return call_lines(statement, given, outputs, lines, kinds, unit.result_type, unit.loop_functions)
        return lines(given, outputs)

    def invoke(self, statement: Invoke) -> None:
        name, operands = c_name(statement.function), self.given(statement)
        if self.enters and statement.function is self.function:
            name, operands = self._within(), [*operands, "first"]
        call = self.call(name, operands)
        slots = statement.slots
        name = "" if not slots else self.name(slots[0]) if len(slots) == 1 else self.temporary("both")
        self.called(f"{call};", statement.function, name)
        if len(slots) > 1:
            for index, slot in enumerate(slots):
                self.line(f"{C_TYPES[slot.kind]} {self.name(slot)} = {name}._{index};")

    def called(self, call: str, callee: Function, result: str) -> None:
        """A call, and the variable of its result, if it has one. A structural operation may have to begin again."""
        begins = self.begins(callee)
        if begins:
            self.line("vlad_begin_visits();")
        assigned = f"{result} = {call}" if result else call
        self.line(f"{self.unit.result_type(callee.results)} {assigned}" if result else call)
        if begins:
            self.line(f"if (__builtin_expect(vlad_again, 0)) {{ vlad_begin_again(); {assigned} }}")
        elif callee in self.unit.shared.careful:
            again = f"!{result}" if callee.results == "p" else "vlad_again"
            self.line(f"if (__builtin_expect({again}, 0)) return {self.nothing()};")

    def call(self, name: str, operands: Iterable[str]) -> str:
        return f"{name}({', '.join(operands)})"

    def nothing(self) -> str:
        results = self.function.results
        return f"({self.unit.result_type(results)}){{0}}" if len(results) > 1 else "0" if results else ""

    def temporary(self, base: str) -> str:
        self.used[base] = self.used.get(base, 0) + 1
        return f"{base}_{self.used[base]}"

    def effect(self, statement: Effect) -> None:
        match statement.what:
            case "text":
                data = statement.text.encode("utf-8", "surrogatepass")
                if data:
                    self.line(f"vlad_put({c_string(data)}, {len(data)});")
            case "in":
                (slot,) = statement.slots
                reasons = (INPUT_NOT_REAL, INPUT_ENDED) if self.unit.alone else ()
                statuses = [
                    str(self.unit.failure(Fail(why, statement.span, Failure.INPUT))) for why in reasons
                ]
                self.line(f"double {self.name(slot)} = vlad_read({', '.join(statuses)});")
            case "tensor":
                assert statement.shape is not None
                kind, lengths = statement.text, statement.shape
                shape = f"(const long[]){{{', '.join(map(str, lengths))}}}"
                self.line(
                    f"vlad_put_tensor({self.leaf(statement.operands[0])}, {shape}, {len(lengths)}, {list(SIZES).index(kind)});"
                )
            case "out":
                self.line("vlad_out_line();")
            case "quoted":
                self.line(f"vlad_put_quoted({self.leaf(statement.operands[0])});")
            case "measure":
                assert statement.shape is not None
                (length,) = statement.shape
                count = self.leaf(statement.operands[0])
                tests = {OTHER_LENGTH: (f"{count} != (double){length}", Failure.LENGTH)}
                if is_late(length):
                    self.line(f"if (!{length}) {length} = (long){count};")
                    short, unfit = f"{count} < {LEAST}", f"{length} > {MOST}L || !vlad_admits()"
                    tests = {
                        SHORT_LENGTH: (short, Failure.UNSUPPORTED),
                        **tests,
                        UNFIT_LENGTH: (unfit, Failure.UNFIT),
                    }
                for what, (test, about) in tests.items():
                    failure = self.unit.failure(Fail(what, statement.span, about))
                    self.line(f"if ({test}) vlad_fail({failure});")
            case "exit":
                at_once = " + VLAD_STATUSES" if statement.text else ""
                self.line(f"vlad_fail(VLAD_EXITED{at_once} + (int){self.leaf(statement.operands[0])});")
            case "progress":
                self.line(f"vlad_put_progress({', '.join(map(self.leaf, statement.operands))});")
            case "step":
                self.line(f"vlad_step({statement.operands[0]:.0f});")
            case what:
                self.line(f"vlad_put_{what}({self.leaf(statement.operands[0])});")

    def box(self, statement: Box) -> None:
        type_ = self.unit.box_type(statement.member)
        name = self.name(statement.slot)
        self.line(f"{type_} *{name} = vlad_allocate(sizeof({type_}));")
        self.fill(statement)

    def fill(self, statement: Box) -> None:
        name = self.name(statement.slot)
        if statement.member.tagged:
            self.line(f"{name}->tag = {self.unit.box_tag(statement.member)};")
        for index, leaf in enumerate(statement.leaves):
            self.line(f"{name}->_{index} = {self.leaf(leaf)};")
