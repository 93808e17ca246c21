"""An analysis that notes the types at the places of the program.

In: what any analysis takes.  Out: `bound` and `expressions`, for `vlad.check` (observe.py) and for editors (check.py). A variable
has a type wherever the analysis binds it: in each instance of the code, and in each transform of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vlad.compile.analysis.abstract_interpreter import Env, Result
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.analysis.strategy import Strategy
from vlad.core.nodes import Binding, Call, WrittenName
from vlad.core.type_text import FIRM, line, text_of
from vlad.core.types import Known, Type, Types
from vlad.data.source import Span, in_library
from vlad.data.values import Code

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine


MOST_TYPES = 3  # of one variable or expression


@dataclass(frozen=True, slots=True, eq=False)
class Typed:
    """The type of something in a program.

    span   its place: of the form that defines a name; of an expression itself; of a parameter, the procedure or loop that takes
           it; of another local variable, the expression that is its value
    name   the name, or the line and column of an expression
    gives  the text of the type, or of the result's for a procedure
    takes  the texts of a procedure's operands; None for other values, and where they are not known
    has_shape  is there a tensor in it?
    of_procedure  is it about the uses of a procedure that the program defines?
    """

    span: Span
    name: str
    gives: str
    takes: tuple[str, ...] | None = None
    has_shape: bool = False
    of_procedure: bool = False

    @property
    def type(self) -> str:
        """The text of the type, on one line."""
        text = self.gives if self.takes is None else " ".join([*self.takes, "->", self.gives])
        return text.replace(FIRM, " ")

    @property
    def text(self) -> str:
        """`name : type`, on as many lines as it needs."""
        return line(self.name, self.gives, self.takes)


class Noting(Analysis):
    """`bound`: the variables of the program by name and place, with each of their types: the place of the procedure or loop for
    its parameters, otherwise that of the expression. `expressions`: those in code that no transform made, by place, in the order
    in which they are computed; the last node of a place has the value of the whole expression.
    """

    def __init__(self, machine: Machine, strategy: Strategy) -> None:
        super().__init__(machine, strategy)
        self.bound: dict[tuple[str, Span, Type], None] = {}
        self.expressions: dict[tuple[Span, object, Type], None] = {}

    def enter(self, code: Code, fields: Sequence[Known], operands: Sequence[Known]) -> Result:
        lambda_ = self.machine.core_of(code)
        if lambda_.span is not None and not in_library(lambda_.span):
            for parameter, operand in zip(lambda_.parameters, operands, strict=True):
                if isinstance(parameter.name, WrittenName):
                    self.bound[parameter.name, lambda_.span, operand.type] = None
        return super().enter(code, fields, operands)

    def _rhs(self, binding: Binding, env: Env, code: Code) -> Result:
        found = super()._rhs(binding, env, code)
        span: Span | None = getattr(binding.rhs, "span", None)
        if found is not None and span is not None and not in_library(span):
            if is_written(code):
                self._note(span, binding, found.type)
            if isinstance(binding.variable.name, WrittenName):
                self.bound[binding.variable.name, span, found.type] = None
        return found

    def _call(self, key: Any, call: Call, env: Env, tail: bool) -> Result:
        found = super()._call(key, call, env, tail)
        callee = self.instance.callee
        is_primal = type(callee) is Code and is_written(callee)
        if is_primal and found is not None and call.span is not None and not in_library(call.span):
            self._note(call.span, call, found.type)
        return found

    def _note(self, span: Span, node: object, type_: Type) -> None:
        if type_.kind != "closure" or not type_.of.transforms:
            self.expressions[span, node, type_] = None

    def types_of_variables(self) -> Iterator[Typed]:
        """The types of the local variables of the program."""
        found: dict[tuple[Span, str], list[Type]] = {}
        for name, span, type_ in self.bound:
            found.setdefault((span, name), []).append(self.types.general(type_))
        for (span, name), types in found.items():
            has_shape = any(self.types.canonical(type_).mentions_tensor for type_ in types)
            yield Typed(span, name, _any_of(self.types, types), has_shape=has_shape)

    def types_of_expressions(self) -> Iterator[Typed]:
        """The types of the expressions of the program."""
        found: dict[Span, dict[object, list[Type]]] = {}
        for span, node, type_ in self.expressions:
            of = found.setdefault(span, {})
            of.setdefault(node, []).append(self.types.general_within(type_))
        for span, nodes in found.items():
            *_, last = nodes.values()
            yield Typed(span, f"{span.line}:{span.column}", _any_of(self.types, last))


def is_written(code: Code) -> bool:
    """Is this code as the program has it, neither transformed nor a backpropagator?"""
    return not code.transforms and code.backpropagator_of is None


def _any_of(types: Types, found: list[Type]) -> str:
    """The text of a type which is any of these."""
    texts = dict.fromkeys([text_of(types, type_) for type_ in found])
    if len(texts) > 1:  # numbers that are known, of several calls
        texts = dict.fromkeys([text_of(types, types.general(type_)) for type_ in found])
    shown = [*texts][:MOST_TYPES]
    return " or ".join([*shown, *["…"] * (len(texts) > MOST_TYPES)])
