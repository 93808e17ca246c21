"""The common base of the printers of loops in C (c_loops.py) and CUDA (cuda_loops.py): the loop language as C.

In: expressions and statements of the loop language.  Out: lines. The printers decide only on line breaks and parentheses, and
record the functions that are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vlad.compile.emit.c_numbers import real_text, whole_text
from vlad.compile.loops.ir import (
    ENTRIES,
    VECTORS,
    Accumulate,
    Array,
    Assign,
    Body,
    Element,
    For,
    If,
    Let,
    Local,
    Scope,
    Spread,
    Statement,
    StoreElement,
    Variables,
    counted,
)
from vlad.compile.loops.text import Style, power_text, text_of, with_level
from vlad.compile.runtime.functions import function_name
from vlad.core.expressions import UNARY, Binary, Call, Convert, Expression, Name, Number
from vlad.core.extents import Extent
from vlad.core.loop_nests import is_whole

C_KINDS = {
    "float64": "double",
    "float32": "float",
    "int64": "long",
    "int32": "int",
    "bool": "unsigned char",
    "uint64": "unsigned long",
    "index": "long",
    "flag": "int",
    "unsigned": "unsigned",
    "vector of float64": "vlad_wide",
    "vector of float32": "vlad_widef",
}


class CStyle(Style):
    """Prints expressions as C. `functions`: the functions called so far."""

    kinds: Mapping[str, str] = C_KINDS

    def __init__(self, operands: Sequence[str] = (), outputs: Sequence[str] = ()) -> None:
        super().__init__(operands, outputs)
        self.functions: set[str] = set()

    def number(self, number: Number) -> str:
        if type(number.value) is Extent:
            return (
                str(number.value)
                if number.kind in ("int", "index")
                else f"({self.kinds[number.kind]}){number.value}"
            )
        if number.kind in ("int", "index"):
            return str(int(number.value))
        if is_whole(number.kind):
            return whole_text(number.value)
        suffix = "f" if number.kind == "float32" else ""
        power = power_text(number.value)
        return f"{power}{suffix}" if power else real_text(number.value, suffix)

    def address(self, array: Array) -> str:
        """The address of an array's first entry."""
        name = self.array(array)
        return f"((const {self.kinds[array.kind]} *){name})" if array.is_given else name

    def entry(self, entry: Element) -> str:
        place = self.place(entry)
        if not entry.is_vector:
            return place
        return f"{self.called('vlad_wide_at', entry.array.kind)}(&{place})"

    def place(self, entry: Element) -> str:
        return f"{self.address(entry.array)}[{text_of(entry.position, self)}]"

    def at(self, name: str, stride: int) -> Expression:
        return Binary("*", counted(stride), Convert("int64", Name(name)))

    def called(self, function: str, kind: str) -> str:
        name = function_name(function, kind)
        self.functions.add(name)
        return name

    def function(self, call: Call) -> str:
        return self.called(call.function, call.kind)

    def convert(self, convert: Convert) -> str:
        if convert.rounds:
            return f"{self.called(f'vlad_as_{convert.kind}', 'float64')}({text_of(convert.operand, self)})"
        return f"({self.kinds[convert.kind]}){with_level(convert.operand, self, UNARY)}"

    def spread(self, spread: Spread) -> str:
        vector = "vlad_widef" if spread.kind == "float32" else "vlad_wide"
        return f"({text_of(spread.value, self)} - ({vector}){{0}})"


class Directive(str):
    """A line for the preprocessor, which is not indented."""


class LoopPrinter:
    """Prints statements that are the same in both languages. `index`: the type of indices."""

    def __init__(self, style: CStyle, index: str = "long") -> None:
        self.style = style
        self.kinds = {**style.kinds, "index": index}
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def directive(self, text: str) -> None:
        self.lines.append(Directive(text))

    def text(self, value: object) -> str:
        return text_of(value, self.style)  # type: ignore[arg-type]

    def body(self, body: Iterable[Statement]) -> None:
        for statement in body:
            self.statement(statement)

    def within(self, head: str, body: Body, end: str = "}") -> None:
        self.line(f"{head}{{")
        self.depth += 1
        self.body(body)
        self.depth -= 1
        self.line(end)

    def statement(self, statement: Statement) -> None:
        match statement:
            case Let():
                self.line(f"{self.kinds[statement.kind]} {statement.name} = {self.text(statement.value)};")
            case Variables():
                self.variables(statement)
            case Local():
                self.local(statement)
            case Assign():
                self.line(f"{statement.name} = {self.text(statement.value)};")
            case StoreElement():
                self.store(statement)
            case Accumulate():
                self.accumulate(statement)
            case For():
                self.loop(statement)
            case Scope():
                self.within("", statement.body)
            case If():
                self.within(f"if ({self.text(statement.test)}) ", statement.consequent)
                if statement.alternative:
                    self.within("else ", statement.alternative)
            case _:
                raise AssertionError(statement)

    def variables(self, variables: Variables) -> None:
        start = variables.start
        if start is None:
            names = list(variables.names)
        else:
            first = "{0}" if variables.kind in ENTRIES else self.text(start)
            names = [f"{name} = {first}" for name in variables.names]
        self.line(f"{self.kinds[variables.kind]} {', '.join(names)};")

    def local(self, local: Local) -> None:
        start = ""
        if local.start is not None:
            start = f" = {{{', '.join([self.text(local.start)] * local.size)}}}"
        keeps = "VLAD_STATIC " if local.keeps else ""
        name = self.style.array(local.array)
        self.line(f"{keeps}{self.kinds[local.array.kind]} {name}[{local.size}]{start};")

    def store(self, store: StoreElement) -> None:
        place = self.style.place(store.entry)
        if store.entry.is_vector:
            vector = self.kinds[VECTORS[store.entry.array.kind]]
            place = f"*({vector} *)&{place}"
        self.line(f"{place} = {self.text(store.value)};")

    def accumulate(self, statement: Accumulate) -> None:
        place, value = self.target(statement.target), self.text(statement.value)
        match statement.combine:
            case "max" | "min" as combine:  # nan is propagated
                sign = ">" if combine == "max" else "<"
                self.line(f"if ({value} {sign} {place} || {value} != {value}) {place} = {value};")
            case "greater" | "less" as combine:
                sign = ">" if combine == "greater" else "<"
                self.line(f"{place} = {value} {sign} {place} ? {value} : {place};")
            case "add" | "subtract" | "or" as combine:
                sign = {"add": "+", "subtract": "-", "or": "|"}[combine]
                self.line(f"{place} {sign}= {value};")
            case sign if is_whole(statement.kind):
                wrapping = self.kinds["uint64"]
                self.line(f"{place} = ({wrapping}){place} {sign} ({wrapping}){value};")
            case sign:
                self.line(f"{place} = {place} {sign} {value};")

    def target(self, target: Name | Element) -> str:
        return self.style.place(target) if type(target) is Element else target.name

    def loop(self, loop: For) -> None:
        if loop.unroll:
            self.directive(f"#pragma GCC unroll {loop.unroll}")
        index, begin = loop.index, ""
        if loop.begin is not None:
            begin = f"{self.kinds['index'] + ' ' if loop.declares else ''}{index} = {self.text(loop.begin)}"
        relation = "<=" if loop.is_closed else "<"
        match loop.step:
            case 0:
                step = ""
            case 1:
                step = f"{index}++"
            case int():
                step = f"{index} += {loop.step}"
            case _:
                step = f"{index} = {self.text(loop.step)}"
        self.within(f"for ({begin}; {index} {relation} {self.text(loop.end)}; {step}) ", loop.body)


def expression_text(expression: Expression, names: Mapping[str, str], functions: set[str]) -> str:
    """A row's formula; `names`: the C of its operands. The functions that it calls are added to `functions`."""
    style = _Named(names)
    text = text_of(expression, style)
    functions |= style.functions
    return text


class _Named(CStyle):
    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names

    def name(self, name: str) -> str:
        return self.names[name]
