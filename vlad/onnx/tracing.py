"""A procedure as a graph of ONNX: core is evaluated on examples whose tensors and reals are not numbers but nodes.

In: a procedure, and the examples.  Out: the nodes that its value consists of (nodes.py has an entry for each row that becomes
some). Lists, closures and whatever is known without the arguments are evaluated as they always are, so a loop whose number of
turns is known is as many nodes. A choice by a value that is known in a call only has no form in straight lines: it is refused,
with its place. Each traced value has the value for the example, from which shapes and kinds of number follow, and which
finds errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from vlad.core.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Constant,
    Field,
    GlobalReference,
    If,
    Lambda,
    Letrec,
    Record,
    Rhs,
    Variable,
)
from vlad.data.errors import VladError, unbound_variable
from vlad.data.source import Span, in_library
from vlad.data.values import FALSE, Code, Primitive, Symbol, Value, closure, is_pair, is_procedure, look
from vlad.onnx.tangents import Tangents

MOST_CALLS = 1_000_000

Frame = dict[Variable, Any]


class Traced:
    """A value that the graph computes: its name there, and its value for the example."""

    __slots__ = ("example", "kind", "name")

    def __init__(self, name: str, kind: str, example: Value) -> None:
        self.name, self.kind, self.example = name, kind, example


class Tracer(Protocol):
    """What the machine does, as far as it is needed here."""

    table: Mapping[str, Primitive]
    codes: Mapping[str, Code]

    def core_of(self, code: Code) -> Lambda: ...
    def code_of(self, lambda_: Lambda, family: Any, group: Any = (), environment: Any = None) -> Code: ...
    def rule(self, row: Primitive) -> Callable[..., Value]: ...


Emit = Callable[[Primitive, Sequence[Any], Span | None], Any]

# Rows that only pass values on, so that parts of structures may be traced.
PASSING = {
    "*j", "*j-inverse", "strip-reverse", "reverse?", "perturb", "unperturb", "strip-perturbation", "perturbation?", "sensitize",
    "unsensitize", "strip-sensitivity", "sensitivity?", "make-forward", "primal", "tangent-part", "forward?", "strip-forward",
    "forward-result", "tail-entry", "forward-entry", "make-backpropagator", "closed?", "environment", "tangent-environment",
    "with-environment", "same-code?", "with-derivative", "make-with-derivative", "begin-rule", "end-rule",
    "cons", "car", "cdr", "match-car", "match-cdr", "pair?", "null?", "procedure?", "symbol?", "string?", "stop-gradient",
    "vector-ref", "vector?", "vector-length",
}  # fmt: skip
# Rows whose result depends only on the kind and shape of what they are given.
BY_SHAPE = {
    "shape-witness", "is-own", "shape", "rank", "size", "dtype", "real?", "number?", "tensor?", "real-tensor?", "boolean?",
    "device", "same-rank",
}  # fmt: skip


def holds_traced(value: Any) -> bool:
    """Whether some part of a value is traced."""
    work = [value]
    while work:
        one = look(work.pop())
        if type(one) is Traced:
            return True
        if type(one) is tuple:
            work += one[1:] if one and type(one[0]) is Code else one
    return False


def example_of(value: Any) -> Value:
    """The value with examples in place of what is traced."""
    value = look(value)
    if type(value) is Traced:
        return value.example
    if type(value) is tuple and holds_traced(value):
        return tuple([part if type(part) is Code else example_of(part) for part in value])
    return value


class Tracing:
    """`emit` makes nodes of a row's application."""

    def __init__(self, machine: Tracer, apply: Callable[[Value, Value], Value], emit: Emit) -> None:
        self.machine, self.apply, self.emit = machine, apply, emit
        self.calls = 0
        plus, as_type = machine.table["+"], machine.table["as-type"]
        self.tangents = Tangents(
            machine.codes,
            lambda x: type(x) is Traced,
            holds_traced,
            lambda a, b: self.row(plus, [a, b], None),
            lambda x, kind: self.row(as_type, [x, Symbol(kind)], None),
            example_of,
        ).rules

    def call(self, f: Any, operands: list[Any], span: Span | None) -> Any:
        """The value of a call. Raises VladError."""
        while True:
            f = look(f)
            if not is_procedure(f):
                refuse("a call of what is no procedure", span)
            self.calls += 1
            if self.calls > MOST_CALLS:
                refuse(f"more than {MOST_CALLS} calls, as of a loop without end", span)
            if not any(map(holds_traced, (f, *operands))):
                return self.apply(f, _packed(operands))
            code = f[0]
            lambda_ = self.machine.core_of(code)
            frame: Frame = dict(zip(lambda_.parameters, _fitting(code, operands, span), strict=True))
            frame |= zip(code.environment, f[1:], strict=False)
            for member, member_lambda in code.group:
                frame[member] = (
                    self.machine.code_of(member_lambda, code.family, code.group, code.environment),
                    *f[1:],
                )
            result = self.body(lambda_.body, frame, code)
            if type(result) is not _TailCall:
                return result
            f, operands, span = result.f, result.operands, result.span

    def body(self, body: Body, frame: Frame, code: Code) -> Any:
        """The value of a body, or the tail call that it ends with."""
        while True:
            for binding in body.bindings:
                if type(binding) is Letrec:
                    for member, member_lambda in binding.members:
                        own = self.machine.code_of(member_lambda, code.family, binding.members, binding.free)
                        frame[member] = closure(own, *[frame[free] for free in binding.free])
                else:
                    frame[binding.variable] = self.value(binding.rhs, frame, code)
            end = body.result
            if type(end) is If:
                body = self._chosen(end, frame)
                continue
            if type(end) is Call:
                operands = [self.atom(one, frame) for one in end.operands]
                return _TailCall(self.atom(end.operator, frame), operands, end.span)
            return self.atom(end, frame)

    def value(self, rhs: Rhs, frame: Frame, code: Code) -> Any:
        if type(rhs) is Apply:
            return self.row(rhs.primitive, [self.atom(one, frame) for one in rhs.operands], rhs.span)
        if type(rhs) is Call:
            return self.call(
                self.atom(rhs.operator, frame), [self.atom(one, frame) for one in rhs.operands], rhs.span
            )
        if type(rhs) is If:
            found = self.body(self._chosen(rhs, frame), frame, code)
            return self.call(found.f, found.operands, found.span) if type(found) is _TailCall else found
        if type(rhs) is Lambda:
            return closure(self.machine.code_of(rhs, code.family), *[frame[free] for free in rhs.free])
        if type(rhs) is Record:
            own = self.machine.code_of(rhs.owner, code.family)
            return closure(own, *[self.atom(one, frame) for one in rhs.fields])
        if type(rhs) is Field:
            return look(self.atom(rhs.record, frame))[rhs.index + 1]
        return self.atom(rhs, frame)

    def _chosen(self, choice: If, frame: Frame) -> Body:
        test = self.atom(choice.test, frame)
        if type(test) is Traced:
            refuse(
                "a choice, or a loop, by a value that is known in the call only",
                choice.span,
                "`where` chooses by entry",
            )
        return choice.alternative if test is FALSE else choice.consequent

    def atom(self, atom: Atom, frame: Frame) -> Any:
        if type(atom) is Variable:
            return frame[atom]
        if type(atom) is Constant:
            return atom.value
        assert type(atom) is GlobalReference
        if not hasattr(atom.cell, "value"):
            raise unbound_variable(atom.cell.name, atom.span)
        return atom.cell.value

    def row(self, row: Primitive, operands: list[Any], span: Span | None) -> Any:
        """The result of a primitive: computed, as far as that is possible, or nodes."""
        if not any(map(holds_traced, operands)) or row.name in PASSING or "-field-" in row.name:
            return self._computed(row, operands, span)
        if row.name in self.tangents:
            return self.tangents[row.name](*operands)
        if row.name in BY_SHAPE:
            return self._computed(row, [example_of(one) for one in operands], span)
        return self.emit(row, operands, span)

    def _computed(self, row: Primitive, operands: Sequence[Any], span: Span | None) -> Value:
        try:
            return self.machine.rule(row)(*operands)
        except VladError as error:
            error.span = error.span or span
            raise


class _TailCall:
    __slots__ = ("f", "operands", "span")

    def __init__(self, f: Any, operands: list[Any], span: Span | None) -> None:
        self.f, self.operands, self.span = f, operands, span


def _packed(operands: list[Any]) -> Any:
    """One argument, by the tuple rule."""
    packed = operands[-1]
    for operand in reversed(operands[:-1]):
        packed = (operand, packed)
    return packed


def _fitting(code: Code, operands: list[Any], span: Span | None) -> list[Any]:
    """As many operands as the code takes, by the tuple rule."""
    given = list(operands)
    while len(given) < code.arity:
        last = look(given[-1])
        if not is_pair(last):
            refuse(f"a call of {code.name or 'a procedure'} with too few operands", span)
        given[-1:] = [last[0], last[1]]
    return [*given[: code.arity - 1], _packed(given[code.arity - 1 :])]


def refuse(what: str, span: Span | None, hint: str | None = None) -> NoReturn:
    """Raise the error that a program has no form in ONNX."""
    place = (
        "" if span is None or not in_library(span) else f", in the library at {span.source.name}:{span.line}"
    )
    raise VladError("cannot-export", f"There is no ONNX for {what}{place}", span, hint=hint)
