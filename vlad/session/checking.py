"""`vlad.check` for Python: the types in a call of a procedure, by line.

In: a procedure, or a translated Python function, and the arguments of a call.  Out: a `Checked`. The analysis is that of the
compiler (compile/programs/observe.py); here its places become lines, and the assignments of Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vlad.compile.programs.observe import Observation, observe
from vlad.core.types import Type, Types, found
from vlad.data.errors import VladError
from vlad.data.records import TUPLE
from vlad.data.source import Source, Span, in_library
from vlad.data.values import NIL
from vlad.python.compiling import example_operands
from vlad.python.convert import Procedure, from_python
from vlad.python.derivatives import (
    Derived,
    Gradient,
    Hessian,
    Jacobian,
    ValueAndGradient,
    session_procedure,
)
from vlad.python.functions import Function
from vlad.python.type_words import FLOAT, TypeWords, alternatives
from vlad.session import differentiating  # noqa: F401 - it takes plain functions
from vlad.translate.source import Node, Text
from vlad.translate.trees import walk

NEVER = "never returns"
UNKNOWN = "not known"
HEADS = (ast.FunctionDef, ast.Lambda, ast.For, ast.While, ast.If, ast.IfExp, ast.Match)
WIDEST = 60  # characters of a line of the program


@dataclass(frozen=True, slots=True)
class CheckedLine:
    """The type of a variable, or of a returned value, in a line of the program.

    file, line  the place; lines are counted from 1
    name        the variable; "return" for the value of a `return` statement
    type        `float`, `bool`, `str`, `None`, `list[float]`, `tuple[float, float]`, `array[3, 4]`, `function f`; `A | B` for one
                of two, `list[float] of 3` where the length is known
    text        the line, as the file has it
    """

    file: str
    line: int
    name: str
    type: str
    text: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The types in a call of a procedure; `str` makes a text of them.

    name        the procedure
    parameters  the types of the arguments, by name
    result      the type of the result; "never returns", with the reason, or "not known"
    lines       the types of variables, in the order of the program
    compiled    can the call be compiled?
    reason      otherwise: why it stays on tier 0, in one sentence
    place       and the place, FILE:LINE:COLUMN, if there is one
    hint        and what to write instead, if that is known
    errors      VladErrors that occur whenever they are reached
    """

    name: str
    parameters: dict[str, str]
    result: str
    lines: tuple[CheckedLine, ...]
    compiled: bool
    reason: str | None
    place: str | None
    hint: str | None
    errors: tuple[VladError, ...]

    def __str__(self) -> str:
        takes = ", ".join([f"{name}: {type_}" for name, type_ in self.parameters.items()])
        shown = [f"{self.name}({takes}) -> {self.result}"]
        width = min(WIDEST, max([len(one.text) for one in self.lines], default=0))
        file = at = None
        for one in self.lines:
            if one.file != file:
                shown.append(one.file)
            is_new = (one.file, one.line) != at
            number, text = (str(one.line), one.text) if is_new else ("", "")
            text = text if len(text) <= width else f"{text[: width - 1]}…"
            shown.append(f"{number:>5} | {text:{width}}  {one.name}: {one.type}")
            file, at = one.file, (one.file, one.line)
        shown += [str(error) for error in self.errors]
        if not self.compiled:
            place = f", at {self.place}" if self.place else ""
            shown.append(f"stays on tier 0: {self.reason}{place}")
            if self.hint:
                shown.append(f"  hint: {self.hint}")
        return "\n".join(shown)


def check(f: Any, *example: Any) -> Checked:
    """The types and shapes in a call, by line of the program, and what is wrong with it. Nothing is run.

    f        a translated Python function (`vlad.function`), a procedure of a session, or a result of `vlad.grad` and the like
    example  the arguments of the call; of numbers and arrays only type and shape matter

    Returns a `Checked`. Raises VladError if the function cannot be translated, or takes another number of arguments.
    """
    f = session_procedure(f, "checked")
    of = f
    while isinstance(of, Derived):
        of = of.of
    arguments = tuple([from_python(one, f._apply) for one in f.completed(example, {})])

    def observed(f: Procedure) -> Observation:
        return observe(f.session.machine, f.value, example_operands(f, example), arguments)

    with f.session._lock:
        seen = observed(f)
        return _checked(f, of, seen, seen if of is f else observed(of))


def _checked(f: Procedure, of: Procedure, seen: Observation, primal: Observation) -> Checked:
    """`of`: f, or that of which it is a derivative, whose variables are those of the program."""
    words = TypeWords(seen.types)
    takes = [words.of(seen.types.general(type_), is_part=False) for type_ in seen.arguments]
    functions = of.texts() if isinstance(of, Function) else []
    refusal = seen.refusal
    span = refusal.span if refusal is not None and refusal.span and not in_library(refusal.span) else None
    result = f"{NEVER}{seen.why}" if refusal is None else UNKNOWN
    if seen.result is not None:
        result = _result(f, seen, seen.result, takes)
    return Checked(
        f.__name__,
        dict(zip(of.taken().parameters, takes, strict=False)),
        result,
        tuple(_PythonLines(primal, functions).found() if functions else _lines(primal)),
        refusal is None,
        refusal.reason if refusal is not None else None,
        str(span) if span is not None else None,
        refusal.hint if refusal is not None else None,
        tuple({str(error): error for error in seen.errors}.values()),
    )


def _result(f: Procedure, seen: Observation, result: Type, takes: list[str]) -> str:
    """The type of a result as Python gets it: a gradient has the structure of the arguments."""
    types = seen.types
    words = TypeWords(types)
    if not isinstance(f, Gradient):
        return words.together([result])
    chosen = list(takes) if f.by is None else [takes[i] for i in ([f.by] if isinstance(f.by, int) else f.by)]
    is_one = isinstance(f.by, int) or (f.by is None and len(takes) == 1)
    if type(f) in (Gradient, ValueAndGradient):
        by = range(len(takes)) if f.by is None else [f.by] if isinstance(f.by, int) else f.by
        whole = result if type(f) is Gradient else _parts(types, result, 2)[-1]
        for at, (index, part) in enumerate(zip(by, _parts(types, whole, len(chosen)), strict=False)):
            if _states_tangents(types, seen.arguments[index]):
                chosen[at] = words.together([part])
    gradient = chosen[0] if is_one else f"tuple[{', '.join(chosen)}]"
    if type(f) is Gradient:
        return gradient
    if type(f) is ValueAndGradient:
        return f"tuple[{words.together(_parts(types, result, 2)[:1])}, {gradient}]"
    if type(f) is Jacobian:
        value, derivatives = _parts(types, result, 2)
        return _jacobian(words, value, derivatives, 1 if is_one else len(chosen))
    if is_one:
        return words.together([result])
    rows = []
    for part, take in zip(_parts(types, result, len(chosen)), chosen, strict=False):
        is_row = type(f) is Hessian and take == FLOAT
        rows.append(_row(words, part, len(chosen)) if is_row else words.together([part]))
    return f"tuple[{', '.join(rows)}]"


def _states_tangents(types: Types, type_: Type) -> bool:
    """Has it records whose types state their tangents? Derivatives by these are not of their structure."""
    work = [types.canonical(type_)]
    for one in work:  # grows during the loop
        if one.kind == "closure" and one.of.space is not None:
            return True
        parts = found(one.of).members.values() if one.kind == "union" else one.parts
        work += [part for each in parts if (part := types.canonical(each)) not in work]
    return False


def _row(words: TypeWords, type_: Type, count: int) -> str:
    """Derivatives by so many arguments."""
    texts = [words.together([one]) for one in _parts(words.types, type_, count)]
    return texts[0] if count == 1 else f"tuple[{', '.join(texts)}]"


def _jacobian(words: TypeWords, value: Type, rows: Type, count: int) -> str:
    """A value with each of its numbers replaced by derivatives, as Jacobian._over has it."""
    value, rows = words.types.canonical(value), words.types.canonical(rows)
    texts = []
    while value.kind == rows.kind == "pair":
        texts.append(_jacobian(words, value.parts[0], rows.parts[0], count))
        value, rows = words.types.canonical(value.parts[1]), words.types.canonical(rows.parts[1])
    if not texts:
        return _row(words, rows, count)
    if value.of == NIL:
        return f"list[{alternatives(texts)}] of {len(texts)}"
    if value.of is not TUPLE:
        texts.append(_jacobian(words, value, rows, count))
    return f"tuple[{', '.join(texts)}]"


def _parts(types: Types, type_: Type, count: int) -> list[Type]:
    """The types of the parts of a tuple of the language."""
    found: list[Type] = []
    type_ = types.canonical(type_)
    while len(found) + 1 < count and type_.kind == "pair":
        found.append(type_.parts[0])
        type_ = types.canonical(type_.parts[1])
    return [*found, type_]


def _lines(seen: Observation) -> Iterator[CheckedLine]:
    """The lines of a program of the language itself: each name where it is bound."""
    places: dict[tuple[Source, int, str], list[Type]] = {}
    for name, span, type_ in seen.variables:
        places.setdefault((span.source, span.line, name), []).append(type_)
    words = TypeWords(seen.types)
    for (source, line, name), types in sorted(places.items(), key=lambda one: (one[0][0].name, one[0][1])):
        yield CheckedLine(source.name, line, name, words.together(types), source.line(line).strip())


class _PythonLines:
    """The lines of Python functions: each target of an assignment, of a loop, of a comprehension, and each `return`."""

    def __init__(self, seen: Observation, functions: list[tuple[Node, Text]]) -> None:
        self.functions = functions
        self.words = TypeWords(seen.types)
        self.variables: dict[tuple[str, Source], list[tuple[Span, Type]]] = {}
        self.parts: dict[tuple[Source, int, int], dict[str, list[Type]]] = {}
        for name, span, type_ in seen.variables:
            self.variables.setdefault((name, span.source), []).append((span, type_))
            self.parts.setdefault(_key(span), {}).setdefault(name, []).append(type_)
        self.values: dict[tuple[Source, int, int], dict[object, list[Type]]] = {}
        for span, node, type_ in seen.values:
            of = self.values.setdefault(_key(span), {})
            of.setdefault(node, []).append(type_)
        # where names are bound, and the places of procedures, loops and branches, whose parameters have names, too
        self.extents: dict[str, list[Span]] = {}
        self.heads: set[tuple[Source, int, int]] = set()
        for node, text in self.functions:
            for one in walk(node):
                for target in _targets(one):
                    self.extents.setdefault(target.id, []).append(_extent(one, text))
                if isinstance(one, HEADS):
                    self.heads.add(_key(text.span(one)))
        # what is known of a name, and from where on
        self.known: dict[tuple[str, Source], list[tuple[int, str]]] = {}

    def found(self) -> Iterator[CheckedLine]:
        is_first = True
        for node, text in self.functions:
            for place, name, type_ in self._of_function(node, text, is_first):
                line = text.source.line(place.line).strip()
                yield CheckedLine(text.source.name, place.line, name, type_, line)
            is_first = False

    def _of_function(self, node: ast.AST, text: Text, is_first: bool) -> Iterator[tuple[Span, str, str]]:
        nodes = [one for one in walk(node) if hasattr(one, "lineno") or isinstance(one, ast.comprehension)]
        self._note_joins(nodes, text)
        shown: list[tuple[int, Span, str, str]] = []
        for one in sorted(nodes, key=lambda one: text.span(_placed(one)).start):
            span = text.span(_placed(one))
            if isinstance(one, ast.FunctionDef) and not (one is node and is_first):
                for argument in _parameters(one):
                    types = self._within(argument, text, span)
                    if types:
                        shown.append(
                            (span.start, span, argument, self._note(argument, text, span.start, types))
                        )
            elif isinstance(one, ast.Return) and one.value is not None:
                type_ = self._of_value(one.value, text)
                if type_ is not None:
                    shown.append((span.start, span, "return", type_))
            for target in _targets(one):
                type_ = self._of_target(target, one, text)
                if type_ is not None:
                    at = text.span(target)
                    shown.append((at.start, at, target.id, type_))
        for _, place, name, type_ in sorted(shown, key=lambda one: one[0]):
            yield place, name, type_

    def _of_target(self, target: ast.Name, node: ast.AST, text: Text) -> str | None:
        """The type of a name that a node binds."""
        extent = _extent(node, text)
        types = self._within(target.id, text, extent) or self._part(target, node, text)
        types = types or self._elsewhere(target.id, text)
        if types:
            return self._note(target.id, text, extent.end, types)
        if isinstance(node, ast.For | ast.comprehension) and node.target is target and _is_range(node.iter):
            return FLOAT  # a copy of the counter
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if value is None or target not in _plain_targets(node):
            return None
        type_ = self._of_value(value, text)
        if type_ is not None:
            self.known.setdefault((target.id, text.source), []).append((extent.end, type_))
        return type_

    def _part(self, target: ast.Name, node: ast.AST, text: Text) -> list[Type]:
        """The types of a name in a tuple of targets: the parts of a value have variables of their own, in order."""
        for around in walk(node):
            if isinstance(around, ast.Tuple | ast.List) and target in around.elts:
                parts = self.parts.get(_key(text.span(around)), {})
                if len(parts) == len(around.elts):
                    return [*parts.values()][around.elts.index(target)]
        return []

    def _note_joins(self, nodes: list[ast.AST], text: Text) -> None:
        """What holds of a name at the head of a loop, and after a statement whose paths meet."""
        for one in nodes:
            if isinstance(one, ast.If | ast.For | ast.While | ast.Match):
                span = text.span(one)
                last = text.span(one.body[-1]).end if hasattr(one, "body") else span.end
                for (name, source), events in self.variables.items():
                    if source is text.source:
                        types = [
                            type_ for at, type_ in events if (at.start, at.end) == (span.start, span.end)
                        ]
                        if types:
                            self._note(name, text, span.start, types)
                            self._note(name, text, last, types)

    def _note(self, name: str, text: Text, start: int, types: list[Type]) -> str:
        type_ = self.words.together(types)
        self.known.setdefault((name, text.source), []).append((start, type_))
        return type_

    def _within(self, name: str, text: Text, extent: Span) -> list[Type]:
        events = self.variables.get((name, text.source), ())
        return [type_ for span, type_ in events if extent.contains(span)]

    def _elsewhere(self, name: str, text: Text) -> list[Type]:
        """The types of a name whose value was computed in another place, as that of a call is in the called function."""
        own = self.extents.get(name, [])
        if len([extent for extent in own if extent.source is text.source]) != 1:
            return []
        return [
            type_
            for (of, _), events in self.variables.items()
            for span, type_ in events
            if of == name
            and not any(extent.contains(span) for extent in own)
            and _key(span) not in self.heads
        ]

    def _of_value(self, value: ast.expr, text: Text) -> str | None:
        span = text.span(value)
        types = self.values.get(_key(span))
        if types:
            return self.words.together([*types.values()][-1])
        if isinstance(value, ast.IfExp):
            arms = [self._of_value(arm, text) for arm in (value.body, value.orelse)]
            return None if None in arms else alternatives(filter(None, arms))
        if isinstance(value, ast.Constant):
            return (
                "None" if value.value is None else {bool: "bool", str: "str"}.get(type(value.value), "float")
            )
        if isinstance(value, ast.Name):
            events = self.known.get((value.id, text.source), ())
            before = [(start, type_) for start, type_ in events if start <= span.start]
            if before:
                return max(before, key=lambda one: one[0])[1]
            parameters = self.variables.get((value.id, text.source), ())
            return self.words.together([type_ for _, type_ in parameters]) if parameters else None
        return None


def _targets(node: ast.AST) -> list[ast.Name]:
    """The names that a node binds, without `_`, which is never read."""
    match node:
        case ast.Assign():
            targets: list[ast.expr] = node.targets
        case ast.AugAssign() | ast.AnnAssign() | ast.NamedExpr() | ast.For() | ast.comprehension():
            targets = [node.target]
        case _:
            return []
    return [
        one
        for target in targets
        for one in walk(target)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id != "_"
    ]


def _key(span: Span) -> tuple[Source, int, int]:
    return span.source, span.start, span.end


def _placed(node: ast.AST) -> ast.AST:
    """A node with a place of its own: the clause of a comprehension has none."""
    return node.target if isinstance(node, ast.comprehension) else node


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _plain_targets(node: ast.AST) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [getattr(node, "target")]  # noqa: B009


def _extent(node: ast.AST, text: Text) -> Span:
    """The extent in which a target gets its value: of a loop its head."""
    if isinstance(node, ast.For | ast.comprehension):
        first, last = text.span(node.target), text.span(node.iter)
        return Span(text.source, first.start, last.end)
    return text.span(node)


def _parameters(node: ast.FunctionDef) -> list[str]:
    taken = node.args
    return [one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
