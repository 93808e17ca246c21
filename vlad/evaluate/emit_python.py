"""Core → Python: one lambda becomes one Python function, when it is first called.

In: a Code, whose lambda is core.  Out: its native function, which takes the closure (for its environment) and the parameters.
Called by entries.py, which has entries and tail calls; independent of derivatives.

How core is laid out in Python:
- variables are Python locals; those of the environment are loaded from the closure's tuple at the head;
- arithmetic is Python's own, without checks if a wrong kind makes Python itself raise: `Site`s map lines to core
  operations, and errors/explain.py finds the error by the rows' complete rules. Lists and tuples would
  add and compare, so `+` and `<` test one operand, unless one is known to be real;
- an operation whose value is used once is inlined into the expression that uses it, never across an effect;
- a tail call of the procedure to itself is a `while` loop; any other is stored in the machine's
  register T, and T is returned; each non-tail call tests for that.

The file is long because it is one dispatch over the nodes of core.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from vlad.core.names import make_lambda, operands
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
    Result,
    Rhs,
    Variable,
)
from vlad.data.values import FALSE, NIL, NUMBERS, TRUE, ZERO, Code, Primitive, Value

if TYPE_CHECKING:
    from vlad.evaluate.code_machine import CodeMachine

MOST_OPERANDS = 4  # of an entry; more are packed into the last. T has as many registers
MOST_OPERATIONS, MOST_CHARACTERS = 20, 2000  # of an expression
DEEPEST_BLOCK = 60  # Python allows 100
Operation = tuple[Variable | None, Rhs]  # what a line computes, for explaining its errors


_NAME = "emitted"  # of each function in its text
_MARK = object()
_OTHER = r"[^0-9A-Za-z]"  # compiled when a name has such a character: start-up is fast


def marked() -> dict[str, Any]:
    """The globals by which emitted functions and adapters are known; nothing else has them."""
    return {"EMITTED": _MARK}


def is_emitted(frame: FrameType) -> bool:
    """Is it the frame of an emitted function or of an adapter (entries.py)?"""
    return frame.f_globals.get("EMITTED") is _MARK


class Family:
    """Shared by the codes of one top-level form: the Python globals of their functions, and the codes themselves."""

    def __init__(self, machine: CodeMachine, shared: dict[str, Any]) -> None:
        self.machine = machine
        self.names: dict[str, Any] = dict(shared)
        self.names |= marked()
        self.names["FAMILY"] = self
        self.codes: dict[Lambda, Code] = {}
        self.emissions: dict[str, Emission] = {}
        self._named: dict[int, str] = {}
        self.counts = True  # are entries of codes in it steps?
        self.outermost: Code | None = None  # the code of the whole form, if that is a procedure

    def close(self) -> None:
        """Release everything: functions and their globals form reference cycles."""
        self.names.clear()
        self.names |= marked()  # what is active stays known as emitted
        self.codes.clear()
        self.emissions.clear()

    def name_of(self, value: Any, prefix: str) -> str:
        """The Python global that holds this object."""
        name = self._named.get(id(value))
        if name is None:
            name = f"{prefix}{len(self._named)}"
            self._named[id(value)] = name
            self.names[name] = value
        return name


class Emission:
    """The table of an emitted function: the operations of each line, and the Python names of variables."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.sites: dict[int, list[Operation]] = {}
        self.locals: dict[Variable, str] = {}
        self.aliases: dict[Variable, Atom] = {}  # variables that are copies of others, or constants


class _Pending:
    """An expression that is not emitted yet, as its value is used once, further down."""

    def __init__(self, text: str, value: str, operations: list[Operation]) -> None:
        self.text = text  # for a test: a Python bool
        self.value = value  # for a test: TRUE or FALSE, or the tensor that results from tensors
        self.operations = operations


class Target(NamedTuple):
    """What a call calls: the expressions for the code and for the closure; how many operands an entry of the code takes; and
    whether the procedure takes exactly the operands of the call, one by one."""

    code: str
    closure: str
    operands: int
    is_exact: bool

    @property
    def function(self) -> str:
        return f"{self.code}.{'native' if self.is_exact else f'entry{self.operands}'}"


class Template:
    """A row's Python form, split at the operands' names. `once`: whether each occurs at most once; `tests_identity`: of objects,
    so that it needs TRUE, not True; `is_chain`: of comparisons; `takes_tuples`: Python's sums and comparisons are defined for
    tuples, too."""

    _cache: WeakKeyDictionary[Primitive, Template] = (
        WeakKeyDictionary()
    )  # weak: rows of Python functions are temporary

    def __init__(self, row: Primitive) -> None:
        form = ast.parse(row.python, mode="eval").body
        nodes = [*ast.walk(form)]
        named = [node for node in nodes if isinstance(node, ast.Name) and node.id in row.operands]
        comparisons = [one for node in nodes if isinstance(node, ast.Compare) for one in node.ops]
        identities = [one for one in comparisons if isinstance(one, ast.Is | ast.IsNot)]
        self.pieces = _cut(row.python, named)
        self.once = len({node.id for node in named}) == len(named)
        self.tests_identity = bool(identities)
        self.is_chain = isinstance(form, ast.Compare) and len(form.ops) > 1
        sums = [node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)]
        self.takes_tuples = bool(sums) or len(comparisons) > len(identities)

    @classmethod
    def of(cls, row: Primitive) -> Template:
        found = cls._cache.get(row)
        if found is None:
            found = cls._cache[row] = cls(row)
        return found

    def fill(self, actual: dict[str, str]) -> str:
        pieces = [*self.pieces]
        pieces[1::2] = [actual[name] for name in pieces[1::2]]
        return "".join(pieces)


def _cut(text: str, names: list[ast.Name]) -> list[str]:
    """A text in ASCII, cut before and after each of these names in it: every second piece is a name."""
    pieces, end = [], 0
    for node in sorted(names, key=lambda node: node.col_offset):
        pieces += [text[end : node.col_offset], node.id]
        end = node.col_offset + len(node.id)
    return [*pieces, text[end:]]


def accepts_only_numbers(row: Primitive) -> bool:
    types = row.type.parameters
    return bool(types) and NUMBERS.issuperset(types)


def returns_number(row: Primitive) -> bool:
    return row.type.result in NUMBERS


def returns_boolean(row: Primitive) -> bool:
    return row.type.result == "boolean"


def is_pure(row: Primitive) -> bool:
    return not row.effect


def _compiled(text: str) -> CodeType:
    """The code of a function from its Python text."""
    (found,) = [part for part in compile(text, "<vlad>", "exec").co_consts if type(part) is CodeType]
    return found


_compiled_before = functools.lru_cache(maxsize=2048)(_compiled)  # other sessions emit the same texts
LONGEST_KEPT = 4000  # characters


def emit(code: Code) -> Callable[..., Value]:
    """Compile a code's lambda. The function's globals are its family's names."""
    return Emitter(code).function()


@functools.lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    """A Python name that is like this one."""
    is_plain = not name or (name.isalnum() and name.isascii())
    return (name if is_plain else re.sub(_OTHER, "_", name))[:40]


class Emitter:
    """Emits one function. debugging/instrumented.py has a subclass that reports what the function does."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.family: Family = code.family
        self.machine = code.machine
        self.emission = Emission(code)
        self.lines: list[str] = []
        self.indent = 1
        self.names: dict[Variable, str] = {}
        self.globals: dict[str, str] = {}  # by the names in the family, those in the text
        self.aliases: dict[Variable, Atom] = {}
        self.pending: dict[Variable, _Pending] = {}
        self.entries: dict[Variable, tuple[tuple[str, ...], Atom]] = {}
        self.made: dict[Variable, list[Operation]] = {}  # the operations that make each entry
        self.known: dict[Variable, Code] = {}
        self.numbers: set[Variable] = set()
        self.uses: dict[Variable, int] = {}
        self.loops = False
        self.counter = 0
        self.operations: list[Operation] = []

    # The frame of the function.

    def function(self) -> Callable[..., Value]:
        lambda_: Lambda = self.code.lambda_
        self._count(lambda_.body)
        parameters = [self.local(p) for p in lambda_.parameters]
        for member, member_lambda in self.code.group:
            self.known[member] = self.machine.code_of(
                member_lambda, self.family, self.code.group, self.code.environment
            )
        name = f"e{len(self.family.emissions)}_{_plain(self.code.name)}"
        self.family.emissions[name] = self.emission
        self.parameters = parameters
        self._load_environment()
        head, self.lines = self.lines, []
        self.indent = 2
        self.body(lambda_.body)
        body = self.lines
        lines = self._assemble([f"def {_NAME}({', '.join(['self', *parameters])}):", *head], body)
        self.emission.locals, self.emission.aliases = self.names, self.aliases
        return FunctionType(self._code(name, "\n".join(lines)), self.family.names, name)

    def _code(self, name: str, text: str) -> CodeType:
        """The code object of a text, in which the family's names replace those of the text: equal functions of other families
        have equal texts, which are compiled once.
        """
        compiled = _compiled_before(text) if len(text) <= LONGEST_KEPT else _compiled(text)
        meant = {short: long for long, short in self.globals.items()}
        # a copy in any case, as Python adapts the instructions of a code object to the globals of its function
        return compiled.replace(
            co_name=name,
            co_qualname=name,
            co_names=tuple([meant.get(one, one) for one in compiled.co_names]),
        )

    def _assemble(self, head: list[str], body: list[str]) -> list[str]:
        """Head, steps, loop and body. The sites were recorded as lines of the body and move with it."""
        if self.loops:
            head.append(" while True:")
        else:
            body = [line[1:] for line in body]
        if self.machine.counting and self.code.counts:
            margin = "  " if self.loops else " "
            head += [margin + "S[0] += 1", margin + "if S[0] > S[1]: exhausted()"]
        offset = len(head)
        self.emission.sites = {line + offset: ops for line, ops in self.emission.sites.items()}
        return head + body

    def _load_environment(self) -> None:
        for index, variable in enumerate(self.code.environment):
            if variable in self.uses:
                self.lines.append(f" {self.local(variable)} = self[{index + 1}]")

    def _count(self, body: Body) -> None:
        """Count the uses of each variable; being captured by a group counts twice, as each member reads it."""
        for binding in body.bindings:
            if type(binding) is Letrec:
                for variable in binding.free:
                    self.uses[variable] = self.uses.get(variable, 0) + 2
            else:
                self._count_rhs(binding.rhs)
        self._count_rhs(body.result)

    def _count_rhs(self, rhs: Rhs | Result) -> None:
        for atom in operands(rhs):
            if type(atom) is Variable:
                self.uses[atom] = self.uses.get(atom, 0) + 1
        if type(rhs) is If:
            self._count(rhs.consequent)
            self._count(rhs.alternative)

    # Lines and names.

    def name_of(self, value: Any, prefix: str) -> str:
        """The Python global that holds this object, as the text names it: numbered in the order of the text."""
        name = self.family.name_of(value, prefix)
        found = self.globals.get(name)
        if found is None:
            found = self.globals[name] = f"{prefix}{len(self.globals)}"
        return found

    def line(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)
        if self.operations:
            self.emission.sites[len(self.lines)] = self.operations
            self.operations = []

    def local(self, variable: Variable) -> str:
        name = self.names.get(variable)
        if name is None:
            self.counter += 1
            name = self.names[variable] = f"{_plain(variable.name)}_{self.counter}"
            if not (name[0].isalpha() or name[0] == "_"):
                name = self.names[variable] = "v" + name
        return name

    def temporary(self) -> str:
        self.counter += 1
        return f"t_{self.counter}"

    def constant(self, value: Value) -> str:
        if type(value) is float and value - value == 0.0:
            text = repr(value)
            return f"({text})" if text[0] == "-" else text
        if type(value) is tuple and not value:
            return "()"
        if value is TRUE or value is FALSE or value is ZERO:
            return repr(value) if value is ZERO else ("TRUE" if value is TRUE else "FALSE")
        return self.name_of(value, "K")

    def object(self, atom: Atom, text: str) -> str:
        """The text of an atom, for an identity test: Python warns about identity tests of literals."""
        return self.name_of(atom.value, "K") if type(atom) is Constant else text

    def text(self, atom: Atom) -> str:
        """The atom as an expression, to be emitted exactly once."""
        if type(atom) is Constant:
            return self.constant(atom.value)
        if type(atom) is GlobalReference:
            self.operations.append((None, atom))
            return self.name_of(atom.cell, "G") + ".value"
        assert type(atom) is Variable
        if atom in self.aliases:
            meant = self.aliases[atom]
            text = self.text(meant)
            self.operations.append((atom, meant))
            return text
        if atom in self.entries:
            return self.entry_closure(atom)
        pending = self.pending.pop(atom, None)
        if pending is not None:
            self.operations += pending.operations
            return pending.value or pending.text
        if atom in self.known and atom not in self.names:
            return self.own_closure(atom)
        return self.local(atom)

    def is_constant(self, atom: Atom) -> bool:
        while type(atom) is Variable and atom in self.aliases:
            atom = self.aliases[atom]
        return type(atom) is Constant

    def own_closure(self, member: Variable) -> str:
        """A member of the procedure's own group as a value: its code over the group's environment, which is at hand."""
        code = self.known[member]
        if code.closed is not None:
            return self.name_of(code.closed, "K")
        name = self.name_of(code, "C")
        return f"(self if self[0] is {name} else ({name}, *self[1:]))"

    def entry_closure(self, variable: Variable) -> str:
        """An entry as a value, if it is used other than by calls."""
        kinds, target = self.entries[variable]
        text = self.text(target)
        self.operations += self.made[variable]
        for kind in kinds:
            text = f"{self.name_of(self.machine.closure_makers[kind], 'M')}({text})"
        return text

    def name(self, atom: Atom) -> str:
        """The atom as an expression that may be emitted more than once."""
        if type(atom) is Variable:
            while atom in self.aliases and type(self.aliases[atom]) is Variable:
                atom = self.aliases[atom]
            if atom in self.pending:
                return self.settle(atom)
            if atom in self.names:
                return self.names[atom]
        if type(atom) is Constant:
            return self.constant(atom.value)
        saved, self.operations = self.operations, []
        name, text = self.temporary(), self.text(atom)
        self.line(f"{name} = {text}")
        self.operations = saved
        return name

    def settle(self, variable: Variable) -> str:
        """Emit a pending expression; the one under construction keeps its own operations."""
        saved, self.operations = self.operations, []
        text, name = self.text(variable), self.local(variable)
        self.line(f"{name} = {text}")
        self.operations = saved
        return name

    def settle_all(self) -> None:
        """Emit all pending expressions before an effect, so that none moves behind it."""
        for variable in list(self.pending):
            if variable in self.pending:
                self.settle(variable)

    # Bodies.

    def body(self, body: Body) -> None:
        self.bindings(body)
        self.result(body.result)

    def bindings(self, body: Body) -> None:
        skip: Binding | None = None
        for index, binding in enumerate(body.bindings):
            if type(binding) is Letrec:
                self.letrec(binding)
            elif binding is not skip:
                following = body.bindings[index + 1] if index + 1 < len(body.bindings) else None
                skip = self.both_parts(binding, following)
                if skip is None:
                    self.binding(binding.variable, binding.rhs)

    def both_parts(self, one: Binding, other: Binding | Letrec | None) -> Binding | None:
        """Combine car and cdr of the same pair, one after the other, into one instruction."""
        rows = self.machine.selectors
        if type(other) is not Binding or self.machine.metered:
            return None
        a, b = one.rhs, other.rhs
        if type(a) is not Apply or type(b) is not Apply or a.operands != b.operands:
            return None
        if rows.get(a.primitive.name) != "car" or rows.get(b.primitive.name) != "cdr":
            return None
        text = self.text(a.operands[0])
        self.operations += [(one.variable, a), (other.variable, b)]
        self.line(f"{self.local(one.variable)}, {self.local(other.variable)} = {text}")
        return other

    def binding(self, variable: Variable, rhs: Rhs) -> None:
        match rhs:
            case Apply():
                self.apply(variable, rhs)
            case Call():
                self.call(variable, rhs)
            case If():
                self.branch(variable, rhs)
            case Lambda():
                self.lambda_(variable, rhs)
            case Record():
                code = self.name_of(self.machine.code_of(rhs.owner, self.family), "C")
                fields = [self.text(field) for field in rhs.fields]
                self.keep(variable, self.tuple_of(code, fields), rhs)
            case Field():
                is_constant = self.is_constant(rhs.record)
                record = self.text(rhs.record)
                if is_constant:  # Python would warn of the index of a number, which is never reached
                    record = f"(*({record},),)[0]"
                self.keep(variable, f"{record}[{rhs.index + 1}]", rhs)
            case _:
                self.copy(variable, rhs)

    def copy(self, variable: Variable, atom: Atom) -> None:
        if type(atom) is GlobalReference and not self.uses.get(variable, 0):
            self.keep(variable, self.text(atom), atom)  # it may have no value, which is an error
            return
        if type(atom) is Variable:
            if atom in self.pending:
                self.settle(atom)
            self.uses[atom] = self.uses.get(atom, 0) + self.uses.get(variable, 0)
            if atom in self.numbers:
                self.numbers.add(variable)
        self.aliases[variable] = atom

    @staticmethod
    def tuple_of(head: str, parts: list[str]) -> str:
        if len(parts) == 1:
            return f"({head}, {parts[0]}, None)"
        return f"({head}, {', '.join(parts)})" if parts else f"({head},)"

    def keep(self, variable: Variable, text: str, rhs: Rhs, value: str = "") -> None:
        """A pure value: pending if it is used once, else a line of its own. `value`: the value of a test."""
        operations, self.operations = [*self.operations, (variable, rhs)], []
        self.pending[variable] = _Pending(text, value, operations)
        if (
            self.uses.get(variable, 0) != 1
            or len(operations) > MOST_OPERATIONS
            or len(text) > MOST_CHARACTERS
        ):
            self.settle(variable)

    # Primitives.

    def apply(self, variable: Variable, rhs: Apply) -> None:
        row = rhs.primitive
        if self.machine.metered:
            self.metered(variable, rhs)
        elif row.name in self.machine.selectors:
            self.select(variable, rhs, self.machine.selectors[row.name])
        elif row.name in self.machine.entry_rows:
            self.entry(variable, rhs)
        elif row.python:
            self.inline(variable, rhs)
        else:
            self.general(variable, rhs)

    def entry(self, variable: Variable, rhs: Apply) -> None:
        """An entry that is only called is not built: the call goes to its code directly."""
        target = rhs.operands[0]
        if type(target) is Variable and target in self.pending:
            self.settle(target)
        kind = self.machine.entry_rows[rhs.primitive.name]
        kinds, target = self.entered(target)
        made = self.made.get(rhs.operands[0], []) if type(rhs.operands[0]) is Variable else []
        self.entries[variable] = ((*kinds, kind), target)
        self.made[variable] = [*made, (variable, rhs)]

    def entered(self, operator: Atom) -> tuple[tuple[str, ...], Atom]:
        """The operand of an entry operator, and the kinds of entries applied to it."""
        if type(operator) is Variable and operator in self.entries:
            return self.entries[operator]
        return (), operator

    def derived(self, code: Code, kinds: tuple[str, ...]) -> Code:
        for kind in kinds:
            code = self.machine.derived_code(code, kind)
        return code

    def select(self, variable: Variable, rhs: Apply, part: str) -> None:
        text, name = self.text(rhs.operands[0]), self.local(variable)
        self.operations.append((variable, rhs))
        self.line(f"{name}, _ = {text}" if part == "car" else f"_, {name} = {text}")

    def inline(self, variable: Variable, rhs: Apply) -> None:
        row, template = rhs.primitive, Template.of(rhs.primitive)
        self.family.names.update(row.uses)
        guarded = self.guard(rhs)
        if template.once and not guarded:
            actual = [self.text(operand) for operand in rhs.operands]
        else:
            actual = [self.name(operand) for operand in rhs.operands]
        if template.tests_identity:
            actual = [self.object(*pair) for pair in zip(rhs.operands, actual, strict=True)]
        text = value = template.fill(dict(zip(row.operands, actual, strict=True)))
        is_test = returns_boolean(row)
        # a chain of comparisons is no operator, so it does not support tensors
        is_chain = bool(row.array) and template.is_chain
        general = f"{self.function_of(row)}({', '.join(actual)})" if guarded or is_chain else ""
        if is_test:
            value = (
                general if is_chain else f"BOOLEANS[{text}]" if row.array else f"TRUE if {text} else FALSE"
            )
        if guarded:
            value = f"{value} if type({actual[0]}) is float else {general}"
            text = f"{text} if type({actual[0]}) is float else condition({general})"
        if accepts_only_numbers(row):
            self.numbers.update([operand for operand in rhs.operands if type(operand) is Variable])
        if returns_number(row):
            self.numbers.add(variable)
        self.keep(variable, f"({text})" if is_test else f"({value})", rhs, f"({value})" if is_test else "")

    def guard(self, rhs: Apply) -> bool:
        """Whether Python's operator accepts operands that the language's does not: tuples add and compare."""
        row = rhs.primitive
        if len(rhs.operands) < 2 or not accepts_only_numbers(row) or not Template.of(row).takes_tuples:
            return False
        return not any(self.is_number(operand) for operand in rhs.operands)

    def is_number(self, atom: Atom) -> bool:
        return (type(atom) is Constant and type(atom.value) is float) or atom in self.numbers

    def function_of(self, row: Primitive) -> str:
        if row.needs_machine:
            return self.name_of(self.machine.bound(row), "P")
        return self.name_of(row.value, "P")

    def general(self, variable: Variable, rhs: Apply) -> None:
        """Call the row's complete rule."""
        actual = [self.text(operand) for operand in rhs.operands]
        text = f"{self.function_of(rhs.primitive)}({', '.join(actual)})"
        if returns_number(rhs.primitive):
            self.numbers.add(variable)
        if is_pure(rhs.primitive):
            self.keep(variable, text, rhs)
        else:
            self.effect(variable, text, rhs)

    def effect(self, variable: Variable, text: str, rhs: Rhs) -> None:
        self.settle_all()
        self.operations.append((variable, rhs))
        self.line(f"{self.local(variable)} = {text}")

    def metered(self, variable: Variable, rhs: Apply) -> None:
        actual = [self.text(operand) for operand in rhs.operands]
        text = f"{self.name_of(self.machine.counted(rhs.primitive), 'N')}({', '.join(actual)})"
        self.effect(variable, text, rhs)

    # Procedures.

    def lambda_(self, variable: Variable, rhs: Lambda) -> None:
        code = self.machine.code_of(rhs, self.family)
        if code.closed is not None:
            self.aliases[variable] = Constant(code.closed)
        else:
            captured = [self.text(free) for free in rhs.free]
            self.keep(variable, self.tuple_of(self.name_of(code, "C"), captured), rhs)
            if variable not in self.pending:
                self.known[variable] = code

    def letrec(self, group: Letrec) -> None:
        for free in group.free:
            if free in self.pending:
                self.settle(free)
        for member, member_lambda in group.members:
            code = self.machine.code_of(member_lambda, self.family, group.members, group.free)
            if code.closed is not None:
                self.aliases[member] = Constant(code.closed)
            else:
                captured = [self.name(free) for free in group.free]
                text = self.tuple_of(self.name_of(code, "C"), captured)
                self.line(f"{self.local(member)} = {text}")
                self.known[member] = code

    def target(self, call: Call) -> Target:
        kinds, operator = self.entered(call.operator)
        if kinds and type(call.operator) is Variable:
            self.operations += self.made[call.operator]
        count = min(len(call.operands), MOST_OPERANDS)
        code = self.code_behind(operator)
        if code is not None:
            code = self.derived(code, kinds)
            name = self.name_of(code, "C")
            closure = "self" if operator in self.known and operator not in self.names else self.name(operator)
            return Target(name, closure, count, code.arity == len(call.operands))
        closure = self.subscriptable(operator)
        behind = f"{closure}[0]"
        for index, kind in enumerate(kinds):
            maker = self.name_of(self.machine.makers[kind], "M")
            behind = f"{maker}({behind})" if index else f"({behind}.{kind} or {maker}({behind}))"
        return Target(behind, closure, count, False)

    def subscriptable(self, operator: Atom) -> str:
        """A name for an operator. Python warns about subscripted literals at compile time."""
        name = self.name(operator)
        if type(operator) is not Constant or name[0].isalpha():
            return name
        saved, self.operations = self.operations, []
        held = self.temporary()
        self.line(f"{held} = {name}")
        self.operations = saved
        return held

    def code_behind(self, operator: Atom) -> Code | None:
        """The code of a procedure that is known here: of the own group, a lambda bound above, a constant."""
        if type(operator) is Variable:
            aliased = self.aliases.get(operator)
            return self.code_behind(aliased) if aliased is not None else self.known.get(operator)
        if type(operator) is Constant and type(operator.value) is tuple and len(operator.value) == 1:
            code: Code = operator.value[0]
            return code if code.primitive is None else None
        return None

    def packed(self, atoms: tuple[Atom, ...], exact: bool) -> list[str]:
        texts = [self.text(atom) for atom in atoms]
        if exact or len(texts) <= MOST_OPERANDS:
            return texts
        rest = texts[-1]
        for text in reversed(texts[MOST_OPERANDS - 1 : -1]):
            rest = f"({text}, {rest})"
        return [*texts[: MOST_OPERANDS - 1], rest]

    def call(self, variable: Variable, call: Call) -> None:
        target = self.target(call)
        arguments = self.packed(call.operands, target.is_exact)
        self.settle_all()
        self.operations.append((variable, call))
        name = self.local(variable)
        # via a variable: Python calls attributes as methods, which is slower here
        operations = self.operations
        self.line(f"{name} = (e := {target.function})({', '.join([target.closure, *arguments])})")
        self.operations = operations  # an error behind a tail call is attributed to this line
        self.line(f"if {name} is T: {name} = bounce()")

    def test(self, atom: Atom) -> str:
        if type(atom) is Variable and atom in self.pending and self.pending[atom].value:
            pending = self.pending.pop(atom)
            self.operations += pending.operations
            return pending.text
        name = self.object(atom, self.name(atom))
        return f"{name} is TRUE or ({name} is not FALSE and holds({name}))"

    def branch(self, variable: Variable, branch: If) -> None:
        test = self.settled_test(branch)
        name = self.local(variable)
        self.line(f"if {test}:")
        self.arm(branch.consequent, name)
        self.line("else:")
        self.arm(branch.alternative, name)

    def settled_test(self, branch: If) -> str:
        test = self.test(branch.test)
        self.settle_all()
        self.operations.append((None, branch.test))
        return test

    def hoisted(self, body: Body) -> Body:
        """Beyond Python's limit of nested blocks: the arm becomes a procedure of its own, called at once."""
        if self.indent < DEEPEST_BLOCK or not (body.bindings or type(body.result) is If):
            return body
        arm = Variable("arm")
        lambda_ = make_lambda(
            (Variable("nothing"),), body, self.code.name, backpropagator_of=self.code.backpropagator_of
        )
        return Body((Binding(arm, lambda_),), Call(arm, (Constant(NIL),)))

    def arm(self, body: Body, name: str) -> None:
        body = self.hoisted(body)
        self.indent += 1
        numbers = set(self.numbers)
        self.bindings(body)
        if type(body.result) is Variable or not isinstance(body.result, Call | If):
            text = self.text(body.result)
            self.settle_all()
            self.line(f"{name} = {text}")
        else:
            result = Variable("r")
            self.names[result] = name
            self.uses[result] = 2
            if type(body.result) is Call:
                self.call(result, body.result)
            else:
                self.branch(result, body.result)
        self.numbers = numbers
        self.indent -= 1

    def result(self, result: Result) -> None:
        if type(result) is If:
            self.line(f"if {self.settled_test(result)}:")
            self.indent += 1
            numbers = set(self.numbers)
            self.body(self.hoisted(result.consequent))
            self.numbers = numbers
            self.indent -= 1
            self.body(result.alternative)
        elif type(result) is Call:
            self.tail_call(result)
        else:
            text = self.text(result)
            self.settle_all()
            self.line(f"return {self.returned(text)}")

    def returned(self, text: str) -> str:
        """Return the value of the procedure."""
        return text

    def tail_call(self, call: Call) -> None:
        if self.is_itself(call) and len(call.operands) == self.code.arity:
            self.jump(call)
            return
        target = self.target(call)
        if len(call.operands) > MOST_OPERANDS:  # than T has registers for
            target = target._replace(is_exact=False)
        if self.own_global(call):
            self.settle_all()
            self.line(f"if {target.closure}[0] is {self.name_of(self.code.base, 'C')}:")
            self.indent += 1
            self.jump(call)
            self.indent -= 1
        arguments = self.packed(call.operands, target.is_exact)
        self.settle_all()
        self.operations.append((None, call))
        registers = "".join(
            [
                f"; T.{r} = {a}"
                for r, a in zip(("f", "a", "b", "c", "d"), [target.closure, *arguments], strict=False)
            ]
        )
        self.line(f"T.e = {target.function}{registers}; T.n = {len(arguments)}; return T")

    def is_itself(self, call: Call) -> bool:
        kinds, operator = self.entered(call.operator)
        if type(operator) is not Variable or operator in self.names or operator not in self.known:
            return False
        code = self.known[operator]
        return self.derived(code, kinds) is self.code

    def own_global(self, call: Call) -> bool:
        """Whether a closed procedure calls itself by its top-level name. (The name may be redefined.)"""
        kinds, operator = self.entered(call.operator)
        if type(operator) is not GlobalReference or len(call.operands) != self.code.arity:
            return False
        held = getattr(operator.cell, "value", None)
        if type(held) is not tuple or len(held) != 1 or held[0] is not self.code.base:
            return False
        return self.derived(held[0], kinds) is self.code

    def jump(self, call: Call) -> None:
        """A tail call to itself: assign the parameters, and continue the loop."""
        self.loops = True
        texts = [self.text(atom) for atom in call.operands]
        changed = [(p, t) for p, t in zip(self.parameters, texts, strict=True) if p != t]
        self.settle_all()
        if changed:
            self.line(f"{', '.join([p for p, _ in changed])} = {', '.join([t for _, t in changed])}")
        self.line("continue")
