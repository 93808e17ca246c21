"""Instances → first-order code: the interpretation of fixpoint.py again, with known types and with leaves.

In: a finished analysis, and the instance of the call.  Out: a Program. Known values need no code:
pairs and closures are split into their leaves, tags vanish, a call goes to the one function of its instance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vlad.compile.analysis.abstract_interpreter import AbstractInterpreter, Callee, Instance, Result
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Data,
    Each,
    Effect,
    End,
    Fail,
    Failure,
    Function,
    Immediate,
    Invoke,
    Leaf,
    Load,
    Program,
    Return,
    Slot,
    Static,
    Store,
    Switch,
    TailInvoke,
    Unbox,
    Unreachable,
    Yield,
)
from vlad.compile.ir.representation import Representation
from vlad.control.gil_yield import yield_gil
from vlad.core.loop_nests import Kernel, Routine
from vlad.core.nodes import Variable
from vlad.core.types import Cell, Known, Recursion, Type, is_table
from vlad.data.source import Span
from vlad.data.tables import Table, form_of
from vlad.data.values import (
    NIL,
    TRUE,
    ZERO,
    Code,
    Deferred,
    Global,
    Primitive,
    String,
    Value,
    look,
    rope_of,
)
from vlad.primitives.type_rules import filled, kind_of

UNSOLVED = "A variable is used before it is defined"


class Specializer(AbstractInterpreter):
    def __init__(self, analysis: Analysis, drops_known: bool = False) -> None:
        """`drops_known`: calls whose results are known have no functions. (`vlad check` shows all calls of a program.)"""
        super().__init__(analysis.machine, analysis.types)
        self.analysis = analysis
        self._values, self.longest_known = analysis._values, analysis.longest_known
        self.variables, self.is_standalone = analysis.variables, analysis.is_standalone
        self.looping, self.files = analysis.looping, analysis.files
        self.counting, self.sizes = analysis.counting, analysis.sizes
        self.layout = Representation(analysis.types)
        self.functions: dict[Instance, Function] = {}
        self._acting = (
            analysis.acting() if drops_known else None
        )  # calls of the others need no function if their results are known
        self._waiting: list[Instance] = []
        self._statics: dict[tuple[int | str, Type], Leaf] = {}
        self._kept: list[Value] = []  # so that an id in `_statics` stays unique
        self.block = Block()
        self._row: Primitive | None = None  # that is being applied,
        self._applied: list[Known] = []  # and its operands

    def program(self, *roots: Instance) -> Program:
        return self._rest([self.function(root) for root in roots])

    def _rest(self, entries: list[Function]) -> Program:
        while self._waiting:
            self._write(self._waiting.pop())
        variables = {
            cell: self.layout.kinds(type_) for cell, type_ in self.variables.items() if type_ is not None
        }
        return Program(list(self.functions.values()), self.layout.members, entries, variables)

    def entry(self, root: Instance, environment: Sequence[Value]) -> Program:
        """The program of one call of a procedure with this environment. Tensors in it are data of the program."""
        if not any(self.layout.kinds(field) for field in root.fields):
            return self.program(root)
        begin = Instance(Recursion("entry", lambda w: None), (), root.operands, 0)
        begin.result, begin.ran = root.result, True
        entry = self.function(begin)
        self._waiting.remove(begin)
        self.instance, self.block = begin, entry.body
        fields = [
            Known(type_, self._static(value, type_))
            for value, type_ in zip(environment, root.fields, strict=True)
        ]
        operands = self._parameters(entry, root.operands)
        self.invoke(root.callee, tuple(fields), operands, True)
        return self._rest([entry])

    def function(self, instance: Instance) -> Function:
        function = self.functions.get(instance)
        if function is None:
            callee = instance.callee
            span: Span | None = None
            parameters: list[Slot] = []
            cells: list[Cell | None] = []
            names: list[str]
            if type(callee) is Code:
                lambda_ = self.machine.core_of(callee)
                span = lambda_.span
                names = [v.name for v in (*callee.environment, *lambda_.parameters)]
            else:
                names = [f"operand.{index}" for index in range(len(instance.operands))]
            for type_, name in zip((*instance.fields, *instance.operands), names, strict=True):
                parameters += [Slot(kind, name) for kind in self.layout.kinds(type_)]
                cells += self.layout.cells(type_)
            result = instance.result
            function = self.functions[instance] = Function(
                instance.name,
                len(self.functions),
                parameters,
                cells,
                "" if result is None else self.layout.kinds(result),
                [] if result is None else [*self.layout.cells(result)],
                Block(),
                span,
                instance,
            )
            self._waiting.append(instance)
        return function

    def _write(self, instance: Instance) -> None:
        yield_gil()
        function = self.functions[instance]
        self.instance, self.block = instance, function.body
        known = self._parameters(function, (*instance.fields, *instance.operands))
        width = len(instance.fields)
        if type(instance.callee) is Code:
            if self.counting and instance.callee.counts:
                self.block.statements.append(Effect("step", (), (1.0,), "", None))
            self.enter(instance.callee, known[:width], known[width:])
            return
        assert type(instance.callee) is Recursion
        self.key = "recursion"
        result = instance.callee.rule(self, *known)
        if result is not None:
            self.tail_result(result)

    def _parameters(self, function: Function, types: Sequence[Type]) -> list[Known]:
        """The values of a function's parameters, with these types."""
        leaves: list[Leaf] = list(function.parameters)
        known = []
        for type_ in types:
            count = len(self.layout.kinds(type_))
            known.append(Known(self.types.canonical(type_), tuple(leaves[:count])))
            del leaves[:count]
        return known

    # Blocks.

    def _end(self, end: End) -> Result:
        if type(self.block.end) is Unreachable:
            self.block.end = end
        return None

    def _arm(self, block: Block, value: Callable[[], Result], type_: Type | None, tail: bool) -> None:
        """Fill an inner block: it ends in a yield, or by itself."""
        outer, self.block = self.block, block
        key, span = self.key, self.span
        result = value()
        if result is not None:
            assert type_ is not None
            assert not tail
            self._end(Yield(self.coerced(result, type_)))
        self.block, self.key, self.span = outer, key, span

    def _slots(self, type_: Type | None, name: str) -> tuple[Slot, ...]:
        return () if type_ is None else tuple([Slot(kind, name) for kind in self.layout.kinds(type_)])

    def _name(self) -> str:
        key = self.key
        while type(key) is tuple:
            key = key[0]
        return key.name if type(key) is Variable else "t"

    def branch(
        self,
        key: object,
        test: Known,
        consequent: Callable[[], Result],
        alternative: Callable[[], Result],
        tail: bool,
    ) -> Result:
        type_ = None if tail else self._joined(key)
        above, self.key = self.key, key
        branch = Branch(self._slots(type_, self._name()), test.leaves[0], Block(), Block(), self.span)
        self.block.statements.append(branch)
        self.key = above
        self._arm(branch.consequent, consequent, type_, tail)
        self._arm(branch.alternative, alternative, type_, tail)
        return None if type_ is None else Known(type_, branch.slots)

    def dispatch(self, key: object, union: Known, rule: Callable[[Known], Result], tail: bool) -> Result:
        type_ = None if tail else self._joined(key)
        above = self.key
        self.key = key
        switch = Switch(self._slots(type_, self._name()), union.leaves[0], [], self.span)
        self.key = above
        self.block.statements.append(switch)
        for member, member_type in self.layout.members_of(union.type):
            block = Block()
            switch.cases.append((member, block))
            leaves: tuple[Leaf, ...] = ()
            if member.boxed:
                slots = tuple([Slot(kind, f"{self._name()}.{member.name}") for kind in member.kinds])
                block.statements.append(Unbox(slots, member, union.leaves[0]))
                leaves = slots
            known = Known(member_type, leaves)
            self._arm(block, lambda known=known: rule(known), type_, tail)  # type: ignore[misc]
            self.key = above
        return None if type_ is None else Known(type_, switch.slots)

    def _joined(self, key: object) -> Type | None:
        type_ = self.instance.joins.get(key)
        return None if type_ is None else self.types.canonical(type_)

    # Operations.

    def compute(self, row: Primitive, operands: Sequence[Known], result: Type) -> Known:
        slot = Slot(self.layout.kinds(result), self._name())
        kinds = ["b" if row.type.parameters[:1] == ("boolean",) or row.name == "not" else "d"] * len(operands)
        leaves = tuple([self._scalar(operand, kind) for operand, kind in zip(operands, kinds, strict=True)])
        self.block.statements.append(Compute(slot, row, leaves, self.span))
        return Known(result, (slot,))

    def loops(
        self, kernel: Kernel | Routine, operands: Sequence[Known], results: Sequence[Type]
    ) -> list[Known]:
        if type(kernel) is Kernel:
            for read in kernel.reads:
                assert read.operand is None or read.kind == (kind_of(operands[read.operand]) or "float64"), (
                    kernel
                )
            for output, result in zip(kernel.outputs, results, strict=True):
                assert output.size is None or output.kind == result.of.kind, kernel
        slots = tuple([Slot(self.layout.kinds(result), self._name()) for result in results])
        leaves = tuple([self._scalar(operand, "d") for operand in operands])
        self.block.statements.append(Each(slots, kernel, leaves, self.span))
        return [Known(result, (slot,)) for slot, result in zip(slots, results, strict=True)]

    def _scalar(self, operand: Known, kind: str) -> Leaf:
        leaf: Leaf = operand.leaves[0] if operand.leaves else self.layout.constant_leaf(operand.type, kind)
        return leaf

    def part(self, value: Known, index: int) -> Known:
        return self.layout.part(value, index)

    @property
    def on_types(self) -> AbstractInterpreter:
        return self.analysis

    def member(self, union: Known, type_: Type) -> Known:
        member, member_type = self.layout.member_for(union.type, type_)
        slots: tuple[Slot, ...] = ()
        if member.boxed:
            slots = tuple([Slot(kind, f"{self._name()}.{member.name}") for kind in member.kinds])
            self.block.statements.append(Unbox(slots, member, union.leaves[0]))
        return Known(member_type, slots)

    def invoke(
        self, callee: Callee, fields: tuple[Known, ...], operands: Sequence[Known], tail: bool
    ) -> Result:
        instance = self.analysis.find(
            callee, tuple([field.type for field in fields]), tuple([operand.type for operand in operands])
        )
        assert instance.ran, f"a call the analysis has not seen: {instance}"
        if instance.result is not None and self._is_known(instance, instance.result):
            value = Known(self.types.canonical(instance.result))
            return self.tail_result(value) if tail else value
        function = self.function(instance)
        leaves: list[Leaf] = []
        for known, type_ in zip((*fields, *operands), (*instance.fields, *instance.operands), strict=True):
            leaves += self.coerced(known, type_)
        if instance.result is None and tail and self.instance.result is None:
            return self._end(TailInvoke(function, tuple(leaves), self.span))  # an endless loop is a loop
        if instance.result is None:
            self.block.statements.append(Invoke((), function, tuple(leaves), self.span))
            return None
        type_ = self.types.canonical(instance.result)
        own = self.instance.result
        if tail and own is not None and self.types.canonical(own) is type_:
            return self._end(TailInvoke(function, tuple(leaves), self.span))
        slots = self._slots(type_, self._name())
        self.block.statements.append(Invoke(slots, function, tuple(leaves), self.span))
        value = Known(type_, slots)
        return self.tail_result(value) if tail else value

    def _is_known(self, instance: Instance, result: Type) -> bool:
        """Whether the type of a call's result says all about it, so that no code is made for the call."""
        acts = self._acting is None or instance in self._acting or self.counting
        return not acts and not self.layout.kinds(result)

    def tail_result(self, value: Known) -> Result:
        assert self.instance.result is not None
        return self._end(Return(self.coerced(value, self.types.canonical(self.instance.result))))

    def load(self, cell: Global) -> Result:
        type_ = self.variables[cell]
        if type_ is None:
            self.block.statements.append(Load((), cell, self.span))
            return self.fail(UNSOLVED, Failure.UNDEFINED)
        slots = tuple([Slot(kind, cell.name) for kind in self.layout.kinds(type_)])
        self.block.statements.append(Load(slots, cell, self.span))
        return Known(self.types.canonical(type_), slots)

    def define(self, cell: Global, value: Known) -> None:
        type_ = self.variables[cell]
        assert type_ is not None
        self.block.statements.append(Store(cell, self.coerced(value, type_)))

    def effect(
        self,
        what: str,
        operands: Sequence[Known] = (),
        text: str = "",
        result: Type | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> Result:
        kinds = {
            "real": "d",
            "boolean": "b",
            "character": "d",
            "quoted": "d",
            "tensor": "p",
            "measure": "d",
            "exit": "d",
            "progress": "d",
        }
        leaves = tuple([self._scalar(operand, kinds[what]) for operand in operands])
        slots = self._slots(result, self._name())
        self.block.statements.append(Effect(what, slots, leaves, text, self.span, shape))
        return self.unspecified if result is None else Known(result, slots)

    def fail(self, what: str, about: Failure = Failure.OTHER, name: str | None = None) -> Result:
        given = tuple([operand.type for operand in self._applied])
        return self._end(Fail(what, self.span, about, name, given, self._row))

    def no_procedure(self, operator: Known) -> Result:
        self._applied = [operator]
        result = super().no_procedure(operator)
        self._applied = []
        return result

    def application(self, row: Primitive, operands: list[Known]) -> Result:
        self._row, self._applied = row, operands
        result = self.apply(row, operands)
        self._row, self._applied = None, []
        return result

    # Values.

    def _coerced_by_member(self, value: Known, to: Type) -> tuple[Leaf, ...]:
        """Convert a value of a union to a type that covers each of its members."""
        slots = self._slots(to, self._name())
        switch = Switch(slots, value.leaves[0], [], self.span)
        self.block.statements.append(switch)
        outer = self.block
        for member, member_type in self.layout.members_of(value.type):
            self.block = Block()
            switch.cases.append((member, self.block))
            fields = tuple([Slot(kind, member.name) for kind in member.kinds]) if member.boxed else ()
            if member.boxed:
                self.block.statements.append(Unbox(fields, member, value.leaves[0]))
            self._end(Yield(self.coerced(Known(member_type, fields), to)))
        self.block = outer
        return slots

    def coerced(self, value: Known, type_: Type) -> tuple[Leaf, ...]:
        """Convert the leaves of a value to a type that covers its own."""
        from_, to = self.types.canonical(value.type), self.types.canonical(type_)
        if from_ is to:
            return value.leaves
        if from_.kind == "union":
            assert from_ is self.types.zero_or_real, f"{from_} as {to}"  # others were unified
            return self._coerced_by_member(Known(from_, value.leaves), to)
        if to.kind == "union":
            member, member_type = self.layout.member_for(to, from_)
            if not member.boxed:
                return (Immediate(member.index),)
            leaves = self.coerced(Known(from_, value.leaves), member_type)
            slot = Slot("p", member.name)
            self.block.statements.append(Box(slot, member, leaves))
            return (slot,)
        if to.kind == "string":
            # the zero of a string is the string itself, so its representation is never read
            text = self.value(String("")) if from_.of is ZERO else value
            return self.rope(text).leaves
        if to.kind == "tensor":
            zeros: Known = filled(self, to.of.shape, 0.0, to.of.kind)
            return zeros.leaves
        if to.kind in ("real", "boolean"):
            if from_.kind == to.kind:
                return value.leaves
            return (self.layout.constant_leaf(from_, self.layout.kinds(to)),)
        if not self.layout.kinds(to):
            return ()
        leaves = ()
        if from_.of is ZERO:
            for part in to.parts:
                leaves += self.coerced(Known(self.types.zero), part)
            return leaves
        for index, part in enumerate(to.parts):
            leaves += self.coerced(self.part(Known(from_, value.leaves), index), part)
        return leaves

    def rope(self, value: Known) -> Known:
        if value.type.kind == "string":
            return Known(self.types.rope, value.leaves)
        if value.type.head == "string":
            return Known(self.types.rope, self._static(value.type.of, self.types.string))
        return Known(self.types.rope, self.coerced(value, self.types.rope))

    def string(self, rope: Known) -> Known:
        return Known(self.types.string, self.rope(rope).leaves)

    @property
    def no_characters(self) -> Known:
        return Known(self.types.characters, self._static(NIL, self.types.characters))

    def value(self, value: Value) -> Known:
        known = super().value(value)
        return Known(known.type, self._static(value, known.type))

    def _static(self, value: Value, type_: Type) -> tuple[Leaf, ...]:
        """The leaves of an existing value: boxes become part of the program."""
        type_ = self.types.canonical(type_)
        if type_.kind == "real":
            return (float(look(value)),)
        if type_.kind == "boolean":
            return (value is TRUE,)
        if not type_.mentions_cell and not self.layout.kinds(type_):
            return ()
        if type(value) is Deferred:
            value = look(value)
        if type_.kind == "string":
            key = value.text, type_
            if key not in self._statics:
                self._statics[key] = self._static(rope_of(value.text), self.types.rope)[0]
            return (self._statics[key],)
        if type_.kind == "tensor":
            if (id(value), type_) not in self._statics:
                self._kept.append(value)
                self._statics[id(value), type_] = Data(value)
            return (self._statics[id(value), type_],)
        if type_.kind == "union":
            leaf = self._statics.get((id(value), type_))
            if leaf is None:
                self._kept.append(value)
                for member, member_type in self.layout.members_of(type_):
                    if self._is_of(value, member_type):
                        leaves = self._static(value, member_type)
                        leaf = Static(member, leaves) if member.boxed else Immediate(member.index)
                        break
                assert leaf is not None
                self._statics[id(value), type_] = leaf
            return (leaf,)
        if type(value) is Table:
            value = form_of(value, self.machine.codes)
        parts = value if type_.kind == "pair" else value[1 : 1 + len(type_.parts)]
        leaves = ()
        for part, part_type in zip(parts, type_.parts, strict=True):
            leaves += self._static(part, part_type)
        return leaves

    def _is_of(self, value: Value, type_: Type) -> bool:
        if type(value) is Table:
            return is_table(type_)
        if type(value) is tuple and value:
            return bool(type_.head == ("pair" if len(value) == 2 else value[0]))
        return bool(type_.head == self.value(value).type.head)
