"""The abstract interpreter of core, which the analysis (fixpoint.py) and specialize.py share.

In: core, and facts about the values of its variables.  Out: facts about its result. In the analysis a value is its type
alone; in the specialiser it has leaves, the machine's numbers, too. Where the two differ, this class declares methods for them to
implement. J needs no rule here: a tag is a closure of a system code, whose lambda is interpreted like any other, and the machine
makes the entries of transformed code on demand.

The file is long because it is one dispatch over the nodes of core, and the vocabulary of all rules for types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from vlad.compile.analysis.sizes import Sizes
from vlad.compile.analysis.static_operands import Fixed
from vlad.compile.analysis.table_types import type_of_table
from vlad.compile.analysis.trees import MOST_LEVELS, Tree, is_deep, keys_of_chain, nodes
from vlad.compile.ir.program import Failure
from vlad.compile.ir.refusals import NOT_COMPILED, UNKNOWN_LENGTH, Unbounded, Unsettled
from vlad.core.extents import MOST_LISTED, AnExtent, Extent, at_most, real_of
from vlad.core.loop_nests import SIZES, Kernel, Routine
from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
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
from vlad.core.type_text import name_in_program
from vlad.core.types import (
    LONGEST_CHAIN,
    SHORTEST_CHAIN,
    Known,
    Recursion,
    Type,
    Types,
    is_real,
    is_tensor,
)
from vlad.data.devices import COMPILED, name_of
from vlad.data.errors import VladError, unbound_message
from vlad.data.source import Span, in_library
from vlad.data.tables import Table
from vlad.data.tensors import Tensor, is_on_host, kind_name, shape_text
from vlad.data.values import (
    FALSE,
    UNSPECIFIED,
    ZERO,
    Boolean,
    Code,
    Deferred,
    Global,
    Opaque,
    Primitive,
    Reference,
    String,
    Value,
    is_pair,
    is_procedure,
    look,
    primitive_type,
)
from vlad.expand.arity import too_few
from vlad.primitives.files import Files
from vlad.primitives.references import LOCAL
from vlad.primitives.type_rules import drawn, entry_by_entry, result_of_extents

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MISFITS = ("invalid-argument", "wrong-shape")  # codes of errors
NO_SHAPES: Mapping[int, tuple[AnExtent, ...]] = {}
MOST_SHAPES = 4  # of the operands of a call, for each of which it is specialised separately

Callee = Code | Recursion
Result = Known | None  # None: this path never returns, or (specialising) has already returned
TEST = primitive_type("any -> boolean")  # of a primitive such as `pair?`
Env = dict[Variable, Known]


BUILT = "a structure that the program itself builds is compiled"


class Application:
    """What the analysis has found where a row was applied to these types, which depended on the members of these unions at that
    time. `acts`: as of `Instance`; `members`: how many were run."""

    __slots__ = ("acts", "epoch_of_all", "members", "operands", "reads", "result")

    def __init__(
        self,
        operands: tuple[Type, ...],
        reads: list[tuple[Type, list[Type]]],
        result: Type | None,
        acts: bool,
        members: int,
        epoch_of_all: int,
    ) -> None:
        self.operands, self.reads, self.result = operands, reads, result
        self.acts, self.members, self.epoch_of_all = acts, members, epoch_of_all


class Instance:
    """One code, or recursion, for one choice of types. `joins` has the types at the points where its paths meet, `applications`
    what was found where it applies rows to unions, by the variable of the result, `called` the instance that called it first, and
    the place, `epoch` that of the types when it last began to run. `acts`: whether its code itself may fail, has an effect, or
    calls what never returns. `calls`: what it calls, found by its last run, and if it is `active`, `called_before` by the one
    before. `live`: whether such calls lead to it."""

    __slots__ = (
        "callee", "fields", "operands", "result", "joins", "dependents", "growths", "active", "dirty", "ran", "serial",
        "called", "epoch", "acts", "calls", "called_before", "live", "applications",
    )  # fmt: skip

    def __init__(
        self, callee: Callee, fields: tuple[Type, ...], operands: tuple[Type, ...], serial: int
    ) -> None:
        self.callee = callee
        self.fields = fields
        self.operands = operands
        self.result: Type | None = None
        self.joins: dict[Any, Type | None] = {}
        self.applications: dict[Any, Application] = {}
        self.growths: dict[Any, int] = {}
        self.dependents: dict[Instance, None] = {}
        self.calls: dict[Instance, None] = {}
        self.called_before: dict[Instance, None] = {}
        self.active = self.dirty = self.ran = self.acts = self.live = False
        self.serial = serial
        self.epoch = -1
        self.called: tuple[Instance, Span | None] | None = None  # first by this instance, at this place

    @property
    def name(self) -> str:
        return self.callee.name

    def __repr__(self) -> str:
        return f"{self.name}#{self.serial}{list(self.operands)} -> {self.result}"


def locate(unbounded: Unbounded, span: Span | None, instance: Instance) -> None:
    """Note the place in the user's own text that leads to a refusal at a place in an instance, and the procedure there."""
    if unbounded.within:
        return
    at: tuple[Instance, Span | None] | None = instance, span
    place: Span | None = None
    while at is not None:
        one, span = at
        if place is None and span is not None and not in_library(span):
            place = unbounded.span = span
        if place is not None and type(one.callee) is Code:
            own = one.callee.machine.core_of(one.callee.base).span
            if own is not None and own.contains(place):  # otherwise the system made it for this place
                unbounded.within = name_in_program(one.callee)
                return
        at = one.called


class AbstractInterpreter:
    """Interprets core on facts about values. Rows' abstract rules get this as first argument."""

    def __init__(self, machine: Machine, types: Types) -> None:
        self.machine = machine
        self.types = types
        self.instance: Instance = Instance(Recursion("", lambda w: None), (), (), 0)
        self.key: Any = None  # the key of the current operation in `joins`
        self.span: Span | None = None
        self.variables: dict[Global, Type | None] = {}  # globals computed at run time (whole.py)
        self.longest = LONGEST_CHAIN  # in an operand,
        self.longest_known = LONGEST_CHAIN  # in a known value
        self.unroll_certain_calls = False  # are calls that certainly happen followed one by one?
        self.counting = machine.counting  # does each procedure entry count as a step of fuel?
        self.unknown: frozenset[Global] = frozenset()  # globals computed by steps that are not analysed
        self.devices: tuple[str, ...] = COMPILED  # with a compiler
        self.looping: set[Code] = set()  # recursive codes
        self.is_standalone = False  # do errors need their messages, because there is no tier 0?
        self.sizes: Sizes | None = None  # if lengths of lists may be determined within a call
        self.shapes = NO_SHAPES  # of tensors among the operands, by id, if not their own
        self.files: Files | None = None  # None: files are not inspected before the program runs
        self._values: dict[
            int, tuple[Value, Type]
        ] = {}  # by id; the value is kept alive so that its id stays unique

    # Differences between analysis and specialisation.

    def compute(self, row: Primitive, operands: Sequence[Known], result: Type) -> Known:
        """A scalar operation whose result is not constant."""
        raise NotImplementedError

    def loops(
        self, kernel: Kernel | Routine, operands: Sequence[Known], results: Sequence[Type]
    ) -> list[Known]:
        """The outputs of a kernel or routine."""
        raise NotImplementedError

    def branch(
        self,
        key: Any,
        test: Known,
        consequent: Callable[[], Result],
        alternative: Callable[[], Result],
        tail: bool,
    ) -> Result:
        """Either arm, by a boolean that is not constant."""
        raise NotImplementedError

    def dispatch(self, key: Any, union: Known, rule: Callable[[Known], Result], tail: bool) -> Result:
        """Apply the rule to each member of a union."""
        raise NotImplementedError

    def invoke(
        self, callee: Callee, fields: tuple[Known, ...], operands: Sequence[Known], tail: bool
    ) -> Result:
        """A call of an instance."""
        raise NotImplementedError

    def loops_through(self, callee: Callee) -> bool:
        """Whether a code is recursive."""
        return callee in self.looping

    def tail_result(self, value: Known) -> Result:
        """The value of a body in tail position."""
        return value

    def fail(self, what: str, about: Failure = Failure.OTHER, name: str | None = None) -> Result:
        """This operation always raises an error: nothing follows."""
        return None

    def no_procedure(self, operator: Known) -> Result:
        """As `fail`: this value cannot be called."""
        return self.fail("Target is not a procedure")

    def invalid(self, name: str) -> Result:
        """As `fail`: an operand is not of a kind that the row accepts."""
        return self.misfitting(f"Argument to {name} is invalid")

    def misfitting(self, what: str) -> Result:
        return self.fail(what, Failure.MISFIT)

    def misfit(self, name: str, *shapes: tuple[int, ...]) -> Result:
        """As `fail`: operands of these shapes do not match."""
        more = f": {' and '.join(map(shape_text, shapes))}" if shapes else ""
        return self.misfitting(f"Shapes given to {name} do not fit{more}")

    def unlike(self, name: str) -> Result:
        """As `fail`: the parts of two operands do not correspond."""
        return self.fail(f"Arguments to {name} do not conform", Failure.UNLIKE)

    def by_value(self, what: str) -> Result:
        """As `fail`: whether it happens depends on values, not on kinds or shapes."""
        return self.fail(what, Failure.VALUE)

    def unsupported(self, what: str) -> Result:
        """As `fail`: only tier 0 does this, for some values."""
        return self.fail(what, Failure.UNSUPPORTED)

    def raised(self, passes_guards: bool = False) -> Result:
        """As `fail`: the program's own error. `passes_guards`: none takes it."""
        return self.fail("error", Failure.REFUSED if passes_guards else Failure.RAISED)

    def ended(self, status: Known, at_once: bool) -> Result:
        """As `fail`: the program ends itself, with a status."""
        self.effect("exit", [status], text="at once" if at_once else "")
        return self.fail("exit", Failure.ENDED)

    def refused(self, error: VladError) -> Result:
        """As `fail`: the row's own rule raised this."""
        return self.fail(error.message, Failure.MISFIT if error.code in MISFITS else Failure.OTHER)

    def relied_on(self, cell: Global, span: Span | None) -> None:
        """The result depends on the present value of a global, which is read at a place."""

    def load(self, cell: Global) -> Result:
        """The value of a global that is computed at run time."""
        raise NotImplementedError

    def define(self, cell: Global, value: Known) -> None:
        """Define such a global."""
        raise NotImplementedError

    def effect(
        self,
        what: str,
        operands: Sequence[Known] = (),
        text: str = "",
        result: Type | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> Result:
        """An external effect: append a "text", "real", "boolean" or "tensor" to the line that "out" writes; read a
        real ("in"), or a "file" with contents of a type; show "progress"; or "exit". `what` is its name.
        """
        raise NotImplementedError

    # Values.

    def constant(self, value: Value) -> Known:
        return Known(self.types.constant(value))

    def truth(self, value: bool) -> Known:
        return Known(self.types.truth(value))

    @property
    def unspecified(self) -> Known:
        return Known(self.types.constant(UNSPECIFIED))

    @property
    def known_zero(self) -> Known:
        return Known(self.types.zero)

    def pair(self, car: Known, cdr: Known) -> Known:
        types = self.types.all_canonical((car.type, cdr.type))
        return Known(self.types.pair(*types), car.leaves + cdr.leaves)

    def closure(self, code: Code, fields: Iterable[Known]) -> Known:
        parts: list[Type] = []
        leaves: list[Any] = []
        for field in fields:
            parts.append(field.type)
            leaves += field.leaves
        return Known(self.types.closure(code, self.types.all_canonical(tuple(parts))), tuple(leaves))

    def part(self, value: Known, index: int) -> Known:
        """A part of a pair or closure whose type is no union."""
        raise NotImplementedError

    def parts(self, value: Known) -> list[Known]:
        return [self.part(value, index) for index in range(len(value.type.parts))]

    def rebuilt(self, like: Type, parts: list[Known]) -> Known:
        return self.pair(parts[0], parts[1]) if like.kind == "pair" else self.closure(like.of, parts)

    def each(self, value: Known, rule: Callable[[Known], Result], label: str = "") -> Result:
        """Apply the rule to the value, or to each member if it is a union. `label` distinguishes two uses in one rule."""
        type_ = value.type
        if type_.now is type_:
            if type_.kind != "union":
                return rule(value)
        else:
            type_ = self.types.canonical(type_)
            if type_.kind != "union":
                return rule(Known(type_, value.leaves))
        return self.dispatch((self.key, label), Known(type_, value.leaves), rule, False)

    def each_two(self, a: Known, b: Known, rule: Callable[[Known, Known], Result]) -> Result:
        """Apply the rule to each member of one value with each of another. It does the same for all two of different heads."""
        return self.each(a, lambda a: self.each(b, lambda b: rule(a, b), "b"), "a")

    def recursive(self, recursion: Recursion, *operands: Known) -> Result:
        """The recursion on these operands: a call if one is a union, in place if none is."""
        if any(self.types.canonical(operand.type).kind == "union" for operand in operands):
            return self.invoke(recursion, (), operands, False)
        result: Result = recursion.rule(self, *operands)
        return result

    def rope(self, value: Known) -> Known:
        """A string, or one of the forms of a rope, as a rope."""
        return Known(self.types.rope)

    def string(self, rope: Known) -> Known:
        """The string of a rope."""
        return Known(self.types.string)

    @property
    def no_characters(self) -> Known:
        """The empty list of characters, of the type of all."""
        return Known(self.types.characters)

    def system(self, name: str) -> Code:
        code: Code = self.machine.codes[name]
        return code

    def value(self, value: Value) -> Known:
        """An existing value: constants are known, structures part by part, long chains as one recursive type."""
        if type(value) is float:
            return Known(self.types.constant(value))
        kept = self._values.get(id(value))
        if kept is None:
            kept = self._values[id(value)] = value, self._type_of(value, False)
        return Known(self.types.canonical(kept[1]))

    def argument_type(self, value: Value | Tree) -> Type:
        """The type for which to compile a call on this value: its reals and booleans are generalised."""
        if type(value) is Tree:
            return self._type_of_tree(value.value)
        return self.types.canonical(self._type_of(value, True))

    def _type_of(self, value: Value, general: bool, known: dict[int, Type] | None = None) -> Type:
        """`known`: the types of shared parts, by their ids."""
        if known is None:
            known = {}
            if not general and is_pair(value) and is_deep(value):
                self.left_out(f"data of more than {MOST_LEVELS} levels are", hint=BUILT)
        given = value
        if id(given) in known:
            return self.types.canonical(known[id(given)])
        spine: list[tuple[Any, list[Type]]] = []
        while True:  # iterates over the last part of each structure, which may be long
            if type(value) is Deferred:
                value = look(value)
            if type(value) is not tuple or len(value) <= 1:
                break
            if len(value) == 2:
                spine.append((None, [self._type_of(value[0], general, known)]))
                value = value[1]
            else:
                width = len(value[0].environment)
                parts = [self._type_of(part, general, known) for part in value[1:width]]
                spine.append((value[0], parts))
                value = value[width]
        types = self.types
        result = self._type_of_atom(value, general)
        if len(spine) > (self.longest if general else self.longest_known):
            keys = keys_of_chain(look(given)) if general else 0
            union = types.union(result)
            for code, parts in reversed(spine[keys:]):
                whole = (*parts, union)
                types.join_both(union, types.pair(*whole) if code is None else types.closure(code, whole))
                union = types.canonical(union)
            known[id(given)] = result = union
            spine = spine[:keys]
        for code, parts in reversed(spine):
            whole = (*parts, result)
            result = types.pair(*whole) if code is None else types.closure(code, whole)
        if spine:
            known[id(given)] = result
        return result

    def _type_of_tree(self, value: Value) -> Type:
        """One recursive type of all parts of a structure."""
        types = self.types
        whole = types.union()
        for elements, end, _ in nodes(value):
            if is_procedure(end):
                type_ = self._type_of(end, True)
            else:
                type_ = self._type_of_atom(end, True)
            if len(elements) > SHORTEST_CHAIN:
                types.join_both(whole, type_)
                type_ = types.pair(types.canonical(whole), types.canonical(whole))
            else:
                for _ in elements:
                    type_ = types.pair(types.canonical(whole), types.canonical(type_))
            types.join_both(types.canonical(whole), type_)
        return types.canonical(whole)

    def _type_of_atom(self, value: Value, general: bool) -> Type:
        if general and type(value) is float:
            return self.types.real
        if type(value) is Fixed:
            shape = self.shapes.get(id(value))
            return self.types.constant(float(value) if shape is None else real_of(shape[0]))
        if general and type(value) is Boolean:
            return self.types.boolean
        if general and type(value) is String:
            return self.types.string
        if type(value) is tuple and value:
            return self.types.closure(value[0], ())
        if type(value) is Tensor:
            return self._type_of_tensor(value, self.shapes if general else NO_SHAPES)
        if type(value) is Reference:
            self.left_out("cells that come from outside are", hint=LOCAL)
        if type(value) is Table:
            return type_of_table(value, general, self.types, self.machine.codes, self._type_of)
        if type(value) is Opaque:
            self.left_out("host objects are", hint="calls without them are compiled")
        return self.types.constant(value)

    def _type_of_tensor(self, value: Tensor, shapes: Mapping[int, tuple[AnExtent, ...]]) -> Type:
        kind, where = kind_name(value.like.dtype), name_of(value.like)
        if where != self.machine.device:
            self.left_out(f"tensors on {where} are in a session on {self.machine.device}")
        self._on_device(where != "cpu" or is_on_host(value))
        if kind not in SIZES:
            self.left_out(f"tensors of {kind} are", hint=f"`as-type` makes one of {', '.join(SIZES)}")
        return self.types.tensor(shapes.get(id(value), value.shape), kind)

    def _on_device(self, reached: bool = True) -> None:
        """Note a tensor of the session's device."""
        if self.machine.device not in self.devices or not reached:
            self.left_out(f"tensors on other devices than {' and '.join(self.devices)} are")

    # Core.

    def atom(self, atom: Atom, env: Env) -> Result:
        if type(atom) is Variable:
            return env[atom]
        if type(atom) is Constant:
            return self.value(atom.value)
        assert type(atom) is GlobalReference
        is_variable = atom.cell in self.variables
        if is_variable or not hasattr(atom.cell, "value"):
            self.span = atom.span
        if is_variable:
            return self.load(atom.cell)
        if not hasattr(atom.cell, "value"):
            return self.fail(unbound_message(atom.cell.name), Failure.UNBOUND, atom.cell.name)
        self.relied_on(atom.cell, atom.span)
        return self.value(atom.cell.value)

    def atoms(self, atoms: Iterable[Atom], env: Env) -> list[Known] | None:
        found = []
        for atom in atoms:
            value = env[atom] if type(atom) is Variable else self.atom(atom, env)
            if value is None:
                return None
            found.append(value)
        return found

    def enter(self, code: Code, fields: Sequence[Known], operands: Sequence[Known]) -> Result:
        """The body of a code, in tail position."""
        lambda_: Lambda = self.machine.core_of(code)
        env: Env = dict(zip(lambda_.parameters, operands, strict=True))
        env.update(zip(code.environment, fields, strict=True))
        for member, member_lambda in code.group:
            env[member] = self.closure(
                self.machine.code_of(member_lambda, code.family, code.group, code.environment), fields
            )
        return self.body(lambda_.body, env, code, True)

    def body(self, body: Body, env: Env, code: Code, tail: bool) -> Result:
        for binding in body.bindings:
            if type(binding) is Letrec:
                self._letrec(binding, env, code)
                continue
            assert type(binding) is Binding
            value = self._rhs(binding, env, code)
            if value is None:
                return None
            env[binding.variable] = value
        result = body.result
        if type(result) is If:
            return self._if(result, result, env, code, tail)
        if type(result) is Call:
            return self._call(result, result, env, tail)
        assert not isinstance(result, If | Call)
        value = self.atom(result, env)
        if value is None:
            return None
        if value.ruled_out:
            return self._one_of_constants(body, value, tail)
        return self.tail_result(value) if tail else value

    def _one_of_constants(self, body: Body, value: Known, tail: bool) -> Result:
        """The result of a body, of which tests have ruled out members of a union. If only constants are left, it has their type,
        not that of the union: so the leaves of a tree that a procedure returns are no trees.
        """

        def result(value: Known) -> Result:
            return self.tail_result(value) if tail else value

        left = [
            one for one in self.types.members(value.type, self.instance) if one.head not in value.ruled_out
        ]
        constants = [one for one in left if one.kind == "constant"]
        if not constants or any(one.kind not in ("constant", "boolean") for one in left):
            return result(value)

        def of_one(member: Known) -> Result:
            # it is none of the others, for which any result will do
            return result(Known(constants[0]) if member.type.head in value.ruled_out else member)

        return self.dispatch((body, "left"), value, of_one, tail)

    def _letrec(self, group: Letrec, env: Env, code: Code) -> None:
        fields = [env[free] for free in group.free]
        for member, lambda_ in group.members:
            env[member] = self.closure(
                self.machine.code_of(lambda_, code.family, group.members, group.free), fields
            )

    def _rhs(self, binding: Binding, env: Env, code: Code) -> Result:
        rhs: Rhs = binding.rhs
        # no patterns: they take several times as long to be tried one after the other
        if type(rhs) is Apply:
            operands = self.atoms(rhs.operands, env)
            self.key, self.span = binding.variable, rhs.span
            if operands is None:
                return None
            if rhs.primitive.type is TEST and type(rhs.operands[0]) is Variable:
                return self._test(rhs.primitive, rhs.operands[0], operands[0])
            return self.application(rhs.primitive, operands)
        if type(rhs) is Call:
            return self._call(binding.variable, rhs, env, False)
        if type(rhs) is Lambda:
            return self.closure(self.machine.code_of(rhs, code.family), [env[free] for free in rhs.free])
        if type(rhs) is If:
            return self._if(binding.variable, rhs, env, code, False)
        if type(rhs) is Record:
            fields = self.atoms(rhs.fields, env)
            if fields is None:
                return None
            return self.closure(self.machine.code_of(rhs.owner, code.family), fields)
        if type(rhs) is Field:
            record = self.atom(rhs.record, env)
            self.key, self.span = binding.variable, rhs.span
            if record is None:
                return None
            return self.field(record, code.family.codes.get(rhs.owner), rhs.index)
        return self.atom(rhs, env)

    def field(self, record: Known, owner: Code | None, index: int) -> Result:
        """If a closure may be one of several, so may its tangent, and their correspondence is unknown. A tangent of another
        closure can only be the zero here, expanded where it was joined with this one's. `owner` is None if no such closure was
        made.
        """

        def of_one(record: Known) -> Result:
            if record.type.kind == "closure":
                mine = _share_environment(record.type.of.base, owner)
                return self.part(record, index) if mine else self.known_zero
            return self.known_zero if record.type.of is ZERO else self.fail("a record was expected")

        return self.each(record, of_one)

    def _if(self, key: Any, branch: If, env: Env, code: Code, tail: bool) -> Result:
        test = self.atom(branch.test, env)
        if test is None:
            return None
        self.key, self.span = (key, "test"), branch.span
        tested = test.test
        test = self.each(test, self._as_boolean)
        if test is None:
            return None
        if test.type.kind == "constant":
            return self.body(
                branch.alternative if test.type.of is FALSE else branch.consequent, env, code, tail
            )
        return self.branch(
            key,
            test,
            lambda: self.body(branch.consequent, self._narrowed(env, tested, True), code, tail),
            lambda: self.body(branch.alternative, self._narrowed(env, tested, False), code, tail),
            tail,
        )

    def _test(self, row: Primitive, variable: Variable, operand: Known) -> Result:
        """A test of a variable. It may be known from the tests before it that have ruled out members of a union."""
        if operand.ruled_out:
            results = [result for _, result in self._of_members(row, operand) or ()]
            if results and all(result is results[0] for result in results):
                return self.truth(results[0])
        result = self.application(row, [operand])
        if result is not None:
            result.test = row, variable
        return result

    def _of_members(self, row: Primitive, union: Known) -> list[tuple[Type, bool]] | None:
        """The members of a union that are not ruled out, and whether a test holds for each; None if that is not known."""
        members = [
            one for one in self.types.members(union.type, self.instance) if one.head not in union.ruled_out
        ]
        results = [self.on_types.apply(row, [Known(member)]) for member in members]
        found: list[tuple[Type, bool]] = []
        for member, result in zip(members, results, strict=True):
            if result is None or result.type.kind != "constant":
                return None
            found.append((member, result.type.of is not FALSE))
        return found

    def _narrowed(self, env: Env, tested: tuple[Primitive, Variable] | None, holds: bool) -> Env:
        """An environment in which a test holds, or does not: a variable whose type is a union has the type of the member for
        which that is so, if there is only one, and it is no structure. So a leaf does not have the type of a tree. What several
        tests rule out, one after the other, counts together.
        """
        if tested is None:
            return env
        row, variable = tested
        before = env[variable]
        known = Known(self.types.canonical(before.type), before.leaves)
        if known.type.kind != "union":
            return env
        known.ruled_out = before.ruled_out
        members = self._of_members(row, known)
        if members is None:
            return env
        left = [member for member, result in members if result == holds]
        if len(left) == 1 and not left[0].parts:
            return {**env, variable: self.member(known, left[0])}
        known.ruled_out = before.ruled_out.union([one.head for one, result in members if result != holds])
        return {**env, variable: known}

    @property
    def on_types(self) -> AbstractInterpreter:
        """The interpreter by which applying a row emits no code."""
        return self

    def member(self, union: Known, type_: Type) -> Known:
        """The value of a union, which is known to be of this member's type."""
        raise NotImplementedError

    def _as_boolean(self, value: Known) -> Result:
        """Only #f is false; a tensor of booleans is an error."""
        if is_tensor(value.type) and value.type.of.kind == "bool":
            return self.fail("A tensor of booleans is no condition")
        return value if value.type.head == "boolean" else self.truth(True)

    # Calls.

    def _call(self, key: Any, call: Call, env: Env, tail: bool) -> Result:
        operator = self.atom(call.operator, env)
        operands = self.atoms(call.operands, env)
        if operator is None or operands is None:
            return None
        self.key, self.span = key, call.span
        return self.call(operator, operands, tail)

    def call(self, operator: Known, operands: list[Known], tail: bool) -> Result:
        type_ = self.types.canonical(operator.type)
        if type_.kind == "union":
            key, span = self.key, self.span

            def call_member(member: Known) -> Result:
                self.key, self.span = key, span
                return self.call(member, operands, tail)

            return self.dispatch((key, "operator"), Known(type_, operator.leaves), call_member, tail)
        if type_.kind != "closure":
            return self.no_procedure(operator)
        if type_ is not operator.type:
            operator = Known(type_, operator.leaves)
        return self._fit(type_.of, self.parts(operator), operands, tail)

    def _fit(
        self, code: Code, fields: list[Known], operands: list[Known], tail: bool, given: int = 0
    ) -> Result:
        """The tuple rule: destructure the last operand, or pack excess ones. `given`: the original number of operands."""
        count, arity = len(operands), code.arity
        given = given or count
        is_identity = code is self.machine.codes.get("identity")
        if count == arity == 1 and not self.counting and is_identity:
            return self.tail_result(operands[0]) if tail else operands[0]
        if count == arity:
            return self._by_shapes(code, tuple(fields), operands, tail)
        if count > arity:
            packed = operands[-1]
            for operand in reversed(operands[arity - 1 : -1]):
                packed = self.pair(operand, packed)
            return self._by_shapes(code, tuple(fields), [*operands[: arity - 1], packed], tail)
        key, span = self.key, self.span

        def destructure(last: Known) -> Result:
            self.key, self.span = (key, "tuple"), span
            if last.type.of is ZERO:
                parts = [last, last]
            elif last.type.kind == "pair":
                parts = self.parts(last)
            else:
                error = too_few(self.machine, code, count, given, last.type.of == ())
                return self.fail(f"{error.message}; {error.hint}")
            return self._fit(code, fields, [*operands[:-1], *parts], tail, given)

        last = operands[-1]
        type_ = self.types.canonical(last.type)
        if type_.kind == "union":
            return self.dispatch((key, "tuple"), Known(type_, last.leaves), destructure, tail)
        return destructure(Known(type_, last.leaves))

    def _by_shapes(
        self,
        code: Code,
        fields: tuple[Known, ...],
        operands: list[Known],
        tail: bool,
        at: int = 0,
        most: int = MOST_SHAPES,
    ) -> Result:
        """A call; if an operand from `at` on is a tensor of one of several shapes, a call for each, if there are at most `most`:
        values that depend on its shape are then known inside. Not for recursive codes, which would become a loop for each shape;
        nor for backpropagators, whose shapes are those of their environments.
        """
        if code in self.looping or code.backpropagator_of is not None:
            return self.invoke(code, fields, operands, tail)
        while at < len(operands):
            type_ = self.types.canonical(operands[at].type)
            if type_.kind == "union":
                members = self.types.members(type_, self.instance)
                ways = len(members) if all(is_tensor(member) for member in members) else 0
                if 1 < ways <= most and not self.loops_through(code):
                    break
            at += 1
        else:
            return self.invoke(code, fields, operands, tail)
        key, span = self.key, self.span

        def of_one(member: Known) -> Result:
            self.key, self.span = (key, "shape"), span
            given = [*operands[:at], member, *operands[at + 1 :]]
            return self._by_shapes(code, fields, given, tail, at + 1, most // ways)

        return self.dispatch((key, "shape", at), Known(type_, operands[at].leaves), of_one, tail)

    # Primitives.

    def application(self, row: Primitive, operands: list[Known]) -> Result:
        """The right-hand side of a binding that applies a row."""
        return self.apply(row, operands)

    def apply(self, row: Primitive, operands: list[Known]) -> Result:
        if row.abstract is not None:
            result: Result = row.abstract(self, *operands)
            return result
        if row.c:
            return self.scalar(row, operands)
        if row.effect or row.needs_machine:
            raise Unbounded(f"`{row.name}` is not compiled yet", self.span)
        return self.folded(row, operands)

    def scalar(self, row: Primitive, operands: list[Known], at: int = 0) -> Result:
        """A row on reals: folded if all are constant, by the laws of the known zero if one is that; on tensors entry by
        entry.
        """
        has_tensors = any(is_tensor(operand.type) for operand in operands[:at])
        for index in range(at, len(operands)):
            operand = operands[index]
            type_ = self.types.canonical(operand.type)
            if type_.kind == "union":
                return self._scalar_by_member(row, operands, index, Known(type_, operand.leaves))
            if is_tensor(type_) and row.type.parameters[:1] == ("number",):
                has_tensors = True
            elif not is_real(type_):
                return self.invalid(row.name)
        types = [operand.type for operand in operands]
        if row.with_zero is not None and any(type_.of is ZERO for type_ in types):
            result: Result = row.with_zero(self, *operands)
            if result is not None:
                return result
        if has_tensors:
            result = entry_by_entry(self, row, operands)
            return result
        if all(type_.kind == "constant" for type_ in types):
            found = self._constant_result(row, [type_.of for type_ in types])
            if found is not None or not any(type(type_.of) is Extent for type_ in types):
                return found
        is_test = row.type.result == "boolean"
        found = self.compute(row, operands, self.types.boolean if is_test else self.types.real)
        found.line = drawn(row, operands)
        return found

    def _constant_result(self, row: Primitive, values: list[Value]) -> Result:
        """The result for constants; None for those among them that are extents if it is none itself."""
        if any(type(value) is Extent for value in values):
            value = result_of_extents(row, values)
            return None if value is None else self.value(value)
        try:
            return self.constant(row.value(*values))
        except VladError:  # of a Python function; tier 0 raises it
            return self.invalid(row.name)

    def _scalar_by_member(self, row: Primitive, operands: list[Known], index: int, union: Known) -> Result:
        return self.dispatch(
            (self.key, index),
            union,
            lambda member: self.scalar(row, [*operands[:index], member, *operands[index + 1 :]], index),
            False,
        )

    def as_real(self, boolean: Known) -> Known:
        """1 for true, 0 for false, to compute with in loops."""
        return Known(self.types.real, boolean.leaves)

    def is_listed(self, count: AnExtent) -> bool:
        """Whether a list of so many parts of a tensor has a known length."""
        return at_most(count, MOST_LISTED) if self.sizes is None else self.sizes.is_listed(count)

    def length_of_list(self, count: Known) -> AnExtent:
        """The length of a list, whose elements have been counted: in each call it is that of the first list that is counted at
        this place of the program. Raises Unbounded if lengths must be known."""
        if self.sizes is None:
            self.unbounded(UNKNOWN_LENGTH, for_number=True)
        length = self.sizes.length((self.instance.callee, self.key))
        self.effect("measure", [count], shape=(length,))
        return length

    def length_of_number(self, number: Known) -> AnExtent | None:
        """The length that a number gives, likewise; None if the lengths that numbers give must be known."""
        if self.sizes is None or not self.sizes.of_numbers or self.loops_through(self.instance.callee):
            return None
        return self.length_of_list(number)

    @property
    def seeks_numbers(self) -> bool:
        return self.sizes is not None and not self.sizes.of_numbers

    def unknown_real(self, value: Known) -> Result:
        """A real about which nothing else is known."""
        if not is_real(value.type):
            return self.invalid("real")
        return (
            value
            if value.type.kind == "real"
            else self.compute(self.machine.table["unknown-real"], [value], self.types.real)
        )

    def left_out(self, what: str, hint: str | None = None) -> NoReturn:
        """Leave this to tier 0."""
        raise Unbounded(f"{what} {NOT_COMPILED}", self.span, hint=hint)

    def unbounded(self, reason: str, for_number: bool = False, hint: str | None = None) -> NoReturn:
        raise Unsettled(reason, self.span, for_number, hint=hint)

    def folded(self, row: Primitive, operands: Sequence[Known]) -> Result:
        """A row that is only compiled on constants: strings, symbols."""
        values = []
        for operand in operands:
            type_ = self.types.canonical(operand.type)
            if type_.kind != "constant" or type(type_.of) is Extent:
                raise Unbounded(f"`{row.name}` is not compiled yet", self.span)
            values.append(type_.of)
        try:
            value = row.value(*values)
        except Exception:  # whatever it is, tier 0 raises it
            return self.invalid(row.name)
        return self.value(value)


def _share_environment(code: Code, other: Code | None) -> bool:
    return code is other or (other is not None and code.group != () and code.group is other.group)
