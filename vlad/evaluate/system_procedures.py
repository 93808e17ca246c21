"""Procedures of every machine: primitives as values, those of the basis, the codes of AD values.

In: rows of the table, and texts in the language.  Out: closures and codes of a machine, each made on first use; and
names by which another process finds the same ones (dump.py, load.py). Called by session.py; `machine.system` is this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from vlad.core.nodes import Lambda, Letrec, Variable
from vlad.core.text import constant_text, read_expression
from vlad.data.source import Origin, Source
from vlad.data.values import UNSPECIFIED, Code, Global, Primitive, Role, SystemCode, Value, closure
from vlad.reader.parser import Form, read

if TYPE_CHECKING:
    from vlad.evaluate.code_machine import CodeMachine


class SystemProcedures:
    def __init__(
        self,
        machine: CodeMachine,
        texts: Mapping[str, str],
        code_texts: Mapping[str, SystemCode],
    ) -> None:
        """`texts`: of the procedures of the basis; `code_texts`: of the codes of AD values."""
        self.machine = machine
        self.texts = texts
        self.code_texts = code_texts
        self._primitives: dict[str, Value] = {}
        self._with_names: dict[str, Value] = {}

    def primitive_value(self, row: Primitive) -> Value:
        """The first-class value of a primitive: a closure whose lambda applies it."""
        value = self._primitives.get(row.name)
        if value is None:
            arity = 1 if row.variadic else len(row.operands) - len(row.keywords)
            value = self._primitives[row.name] = self.procedure(_closed_form(row), row.name, arity)
            value[0].primitive = row
            if row.state:
                self.machine.begin_cells()
        return value

    def with_names(self, row: Primitive, named: Mapping[str, Value]) -> Value:
        """A primitive as a procedure with these values for its keyword operands; those that are UNSPECIFIED become its last
        parameters.
        """
        text = _by_place(row, {**row.keywords, **named})
        value = self._with_names.get(text)
        if value is None:
            by_place = len(row.operands) - len(row.keywords)
            arity = by_place + sum([each is UNSPECIFIED for each in {**row.keywords, **named}.values()])
            value = self._with_names[text] = self.procedure(text, row.name, arity)
        return value

    def procedure_value(self, name: str) -> Value:
        """A procedure of the basis, written in the language."""
        value = self._primitives.get(name)
        if value is None:
            text = self.texts[name]
            value = self._primitives[name] = self.procedure(text, name, _parameters(text))
        return value

    def origin(self, code: Code) -> tuple[str, str] | None:
        """The kind and name of a code that every machine has (dump.py); None for one that a program made."""
        row = code.primitive
        if row is not None:
            return ("primitive", row.name) if self.machine.table.get(row.name) is row else None
        own = self._primitives.get(code.name)
        if own is not None and own[0] is code:
            return "basis", code.name
        return ("system", code.name) if self.machine.codes.get(code.name) is code else None

    def original(self, kind: str, name: str) -> Code | None:
        """The code of that origin; None if there is none."""
        if kind == "primitive" and name in self.machine.table:
            primitive: Code = self.primitive_value(self.machine.table[name])[0]
            return primitive
        if kind == "basis" and name in self.texts:
            own: Code = self.procedure_value(name)[0]
            return own
        return self.machine.codes[name] if kind == "system" and name in self.code_texts else None

    def procedure(self, text: str, name: str, arity: int) -> Value:
        return self.machine.make_code(
            self.machine.family(), arity, lambda: self.lambdas((text,), ())[0], name=name
        ).closed

    def lambdas(self, texts: Iterable[str], environment: tuple[Variable, ...]) -> list[Lambda]:
        """Read the system's own texts: lambdas that capture the same variables."""
        lambdas = []
        for text in texts:
            names = {variable.name: variable for variable in environment}
            body = read_expression(text, names, self.machine.table, self._cell)
            (binding,) = body.bindings
            assert not isinstance(binding, Letrec) and isinstance(binding.rhs, Lambda)
            lambdas.append(replace(binding.rhs, free=environment))
        return lambdas

    def _cell(self, name: str) -> Global:
        """The cell of a name in the system's own texts: a code that is closed over nothing, or a procedure of the basis."""
        cell = Global(name)
        if name in self.code_texts:
            cell.value = closure(self.machine.codes[name])
        else:
            cell.value = self.procedure_value(name)
        return cell


class SystemCodes(dict[str, Code]):
    """The codes of AD values, read from their texts when first needed."""

    def __init__(self, machine: CodeMachine) -> None:
        super().__init__()
        self.machine = machine

    def __missing__(self, name: str) -> Code:
        with self.machine.making:
            return self[name] if name in self else self._make(name)

    def _make(self, name: str) -> Code:
        machine = self.machine
        role, captured, texts = machine.system.code_texts[name]
        environment = tuple([Variable(name) for name in captured.split()])
        family = machine.family()
        family.counts = role is not Role.RULE

        def main() -> Lambda:
            return machine.system.lambdas([texts[""]], environment)[0]

        code: Code = machine.make_code(
            family,
            _parameters(texts[""]),
            main,
            name=name,
            environment=environment,
            role=role,
            counts=family.counts,
        )
        self[name] = code  # its texts may call the code itself
        entries = {kind: text for kind, text in texts.items() if kind}
        for kind, entry in zip(entries, machine.system.lambdas(entries.values(), environment), strict=True):
            derived_code = machine.make_code(
                family,
                len(entry.parameters),
                _constant(entry),
                name=name,
                environment=environment,
                base=code,
                counts=family.counts,
            )
            setattr(code, kind, derived_code)
        return code


def _parameters(text: str) -> int:
    """The number of parameters of a lambda, the rest of which is read when it is first called."""
    (form,) = read(Source("<basis>", text, Origin.SYSTEM))
    assert isinstance(form, Form)
    parameters = form.items[1]
    assert isinstance(parameters, Form)
    return len(parameters.items)


def _constant(lambda_: Lambda) -> Callable[[], Lambda]:
    return lambda: lambda_


def _by_place(row: Primitive, named: Mapping[str, Value]) -> str:
    """A primitive as a procedure of its positional operands, and of the keyword operands whose value is UNSPECIFIED."""
    operands = row.operands[: len(row.operands) - len(row.keywords)]
    taken = [name for name, value in named.items() if value is UNSPECIFIED]
    given = [name if value is UNSPECIFIED else constant_text(value) for name, value in named.items()]
    return f"(lambda ({' '.join([*operands, *taken])}) ({' '.join([row.name, *operands, *given])}))"


def _closed_form(row: Primitive) -> str:
    """A primitive as a procedure. A variadic one folds over its argument, whatever its length; keyword operands
    have their defaults.
    """
    if not row.variadic:
        return _by_place(row, row.keywords)
    name = row.name
    alone = f"(let ((x t)) {row.unary})"
    if row.nullary is not None:
        alone = f"(if (null? t) {int(row.nullary)} {alone})"
    if row.variadic == "left":
        step, start, end = f"(turn ({name} so-far (car rest)) (cdr rest))", "(car t)", f"({name} so-far rest)"
    else:
        step = f"(turn (car rest) (cdr rest) (if ({name} so-far (car rest)) holds #f))"
        start, end = "(car t)", f"(if ({name} so-far rest) holds #f)"
        alone = (
            "(let* ((x (real t))) #t)" if row.nullary is None else "(if (null? t) #t (let ((x (real t))) #t))"
        )
    parameters, first = ("so-far rest", "") if row.variadic == "left" else ("so-far rest holds", " #t")
    return f"""(lambda (t)
        (if (pair? t)
            (letrec ((turn (lambda ({parameters}) (if (pair? rest) {step} {end}))))
              (turn {start} (cdr t){first}))
            {alone}))"""
