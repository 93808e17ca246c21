"""Core ↔ text.

`print_core` shows a lambda or a body as an expression of the language itself; `read_core` reads it back; `read_expression` reads
nested expressions too and flattens them: derivative rules and the system's own procedures are written so. Called by the tests
of every pass, by `vlad show`, by ad/rules.py and evaluate/calls.py.

    (lambda (x y) (let* ((a (* x x)) (letrec (f (lambda …)) …) …) result))
    #1=(lambda …)  (record #1# a …)  (field #1# INDEX WIDTH r)     the owner of a record is named by a label
    #NAME#                                                        an owner that stands outside the text
    #zero                                                         the known zero
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from vlad.core.names import free_in_body, make_lambda, make_letrec, sub_bodies
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
from vlad.errors import VladError
from vlad.reader.parser import Form, Literal, Name, Syntax, datum, read
from vlad.source import Source
from vlad.values import NIL, TRUE, FALSE, ZERO, Boolean, Global, Primitive, String, Value, symbol
from vlad.write import symbol_text, written

WIDTH = 100

# Printing.


def print_core(node: Lambda | Body) -> str:
    """The text of a lambda or a body; names are made unique in order of appearance."""
    printer = _Printer()
    printer.name_owners(node)
    return printer.lambda_(node, 0) if isinstance(node, Lambda) else printer.body(node, 0)


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Variable, str] = {}
        self.taken: set[str] = set()
        self.labels: dict[Lambda, str] = {}
        self.inside: set[Lambda] = set()

    def name_owners(self, node: Lambda | Body) -> None:
        """Owners of records get labels when they stand in the text, else go by name."""
        owners: list[Lambda] = []
        bodies = [node.body if isinstance(node, Lambda) else node]
        if isinstance(node, Lambda):
            self.inside.add(node)
        while bodies:
            body = bodies.pop()
            for binding in body.bindings:
                lambdas = [m for _, m in binding.members] if isinstance(binding, Letrec) else [binding.rhs]
                for rhs in lambdas:
                    if isinstance(rhs, Lambda):
                        self.inside.add(rhs)
                        bodies.append(rhs.body)
                    elif isinstance(rhs, Record | Field):
                        owners.append(rhs.owner)
                    bodies += sub_bodies(rhs)
            bodies += sub_bodies(body.result)
        for owner in dict.fromkeys(owners):
            label = str(len(self.labels) + 1) if owner in self.inside else (owner.name or "outer")
            self.labels[owner] = label

    def name(self, variable: Variable) -> str:
        found = self.names.get(variable)
        if found is None:
            base = found = variable.name or "_"
            count = 0
            while found in self.taken:
                count += 1
                found = f"{base}.{count}"
            self.taken.add(found)
            self.names[variable] = found
        return symbol_text(found)

    def atom(self, atom: Atom) -> str:
        if isinstance(atom, Variable):
            return self.name(atom)
        if isinstance(atom, GlobalReference):
            return symbol_text(atom.cell.name)
        return constant_text(atom.value)

    def atoms(self, *atoms: Atom) -> str:
        return " ".join([self.atom(atom) for atom in atoms])

    def lambda_(self, node: Lambda, indent: int) -> str:
        label = f"#{self.labels[node]}=" if node in self.labels else ""
        head = f"{label}(lambda ({self.atoms(*node.parameters)})"
        return self.laid_out(head, [self.body(node.body, indent + 2)], indent)

    def body(self, body: Body, indent: int) -> str:
        if not body.bindings:
            return self.rhs(body.result, indent)
        lines = []
        for binding in body.bindings:
            lines.append(self.binding(binding, indent + 7))
        margin = "\n" + " " * (indent + 7)
        return f"(let* ({margin.join(lines)})\n{' ' * (indent + 2)}{self.rhs(body.result, indent + 2)})"

    def binding(self, binding: Binding | Letrec, indent: int) -> str:
        if isinstance(binding, Binding):
            name = self.name(binding.variable)
            return f"({name} {self.rhs(binding.rhs, indent + 2 + len(name))})"
        for variable, _ in binding.members:
            self.name(variable)
        members = []
        for variable, lambda_ in binding.members:
            members.append(f"({self.name(variable)} {self.lambda_(lambda_, indent + 10)})")
        margin = "\n" + " " * (indent + 8)
        return f"(letrec {margin.join(members)})"

    def rhs(self, rhs: Rhs | Result, indent: int) -> str:
        match rhs:
            case Call():
                return f"({self.atoms(rhs.operator, *rhs.operands)})"
            case Apply():
                return f"({symbol_text(rhs.primitive.name)} {self.atoms(*rhs.operands)})"
            case If():
                arms = []
                for arm in sub_bodies(rhs):
                    arms.append(self.body(arm, indent + 4))
                return self.laid_out(f"(if {self.atom(rhs.test)}", arms, indent + 2)
            case Lambda():
                return self.lambda_(rhs, indent)
            case Record():
                return f"(record #{self.labels[rhs.owner]}#{''.join([' ' + self.atom(a) for a in rhs.fields])})"
            case Field():
                owner = f"#{self.labels[rhs.owner]}#"
                return f"(field {owner} {rhs.index} {rhs.width} {self.atom(rhs.record)})"
        return self.atom(rhs)

    def laid_out(self, head: str, parts: list[str], indent: int) -> str:
        """In one line where it fits, else each part on a line of its own."""
        flat = " ".join([head, *parts]) + ")"
        if "\n" not in flat and len(flat) + indent <= WIDTH:
            return flat
        margin = "\n" + " " * (indent + 2)
        return head + "".join([margin + part for part in parts]) + ")"


def constant_text(value: Value) -> str:
    if value is ZERO:
        return "#zero"
    if type(value) is tuple and len(value) == 1 and value[0].primitive is not None:
        return symbol_text(value[0].primitive.name)
    text = written(value)
    return text if type(value) is float or isinstance(value, Boolean | String) else f"(quote {text})"


# Reading.

Cells = Callable[[str], Global]
_OWNER = re.compile(r"#([^\s()#=]+)#")
_LABEL = re.compile(r"#(\d+)=")


def read_core(
    text: str,
    cells: Cells | None,
    primitives: Mapping[str, Primitive],
    owners: Mapping[str, Lambda] | None = None,
) -> Lambda | Body:
    """The core that a text shows. A body that is just a lambda is answered as the lambda."""
    body = read_expression(text, {}, primitives, cells, owners)
    if len(body.bindings) == 1 and isinstance(body.bindings[0], Binding):
        (binding,) = body.bindings
        if isinstance(binding.rhs, Lambda) and body.result is binding.variable:
            return binding.rhs
    return body


def read_expression(
    text: str,
    variables: Mapping[str, Variable],
    primitives: Mapping[str, Primitive],
    cells: Cells | None = None,
    owners: Mapping[str, Lambda] | None = None,
) -> Body:
    """An expression over free variables, in A-normal form. `zero` that is not called is the known zero."""
    text = _OWNER.sub(r"|#\1|", _LABEL.sub(r"|=\1| ", text)).replace("#zero", "zero")
    source = Source("<core>", text)
    data = _labelled(read(source))
    if len(data) != 1:
        raise VladError("invalid-core", "A core text is one expression")
    return _Reader(primitives, cells, dict(owners or {})).body(data[0], dict(variables))


def _labelled(data: list[Syntax]) -> list[Syntax]:
    """`#1= (lambda …)` was read as two data: a label is put into the lambda's form behind its keyword."""
    out: list[Syntax] = []
    for item in data:
        if isinstance(item, Form):
            item = Form(tuple(_labelled(list(item.items))), item.tail, item.span)
        if out and isinstance(out[-1], Name) and out[-1].symbol.name.startswith("=") and out[-1].symbol.name[1:].isdigit():
            label = out.pop()
            assert isinstance(item, Form)
            item = Form((item.items[0], label, *item.items[1:]), None, item.span)
        out.append(item)
    return out


Scope = dict[str, Variable]


class _Reader:
    def __init__(
        self, primitives: Mapping[str, Primitive], cells: Cells | None, owners: dict[str, Lambda]
    ) -> None:
        self.primitives = primitives
        self.cells = cells
        self.owners = owners

    def body(self, syntax: Syntax, scope: Scope) -> Body:
        out: list[Binding | Letrec] = []
        result = self.result(syntax, scope, out)
        return Body(tuple(out), result)

    def result(self, syntax: Syntax, scope: Scope, out: list[Binding | Letrec]) -> Result:
        rhs = self.rhs(syntax, scope, out, "r")
        if isinstance(rhs, Variable | Constant | GlobalReference | Call | If):
            return rhs
        variable = Variable("r")
        out.append(Binding(variable, rhs))
        return variable

    def atom(self, syntax: Syntax, scope: Scope, out: list[Binding | Letrec]) -> Atom:
        rhs = self.rhs(syntax, scope, out, "t")
        if isinstance(rhs, Variable | Constant | GlobalReference):
            return rhs
        variable = Variable("t")
        out.append(Binding(variable, rhs))
        return variable

    def rhs(self, syntax: Syntax, scope: Scope, out: list[Binding | Letrec], name: str) -> Rhs:
        if isinstance(syntax, Literal):
            return Constant(syntax.value)
        if isinstance(syntax, Name):
            return self.reference(syntax, scope)
        if not isinstance(syntax, Form) or not syntax.items:
            raise VladError("invalid-core", "Invalid core", syntax.span)
        head = syntax.items[0]
        if isinstance(head, Name) and head.symbol.name not in scope:
            return self.special(head.symbol.name, syntax, scope, out)
        return self.call(syntax, scope, out)

    def reference(self, syntax: Name, scope: Scope) -> Atom:
        name = syntax.symbol.name
        if name in scope:
            return scope[name]
        if name == "zero":
            return Constant(ZERO)
        if self.cells is None:
            raise VladError("unbound-variable", f"Unbound variable: {name}", syntax.span)
        return GlobalReference(self.cells(name), syntax.span)

    def special(self, name: str, form: Form, scope: Scope, out: list[Binding | Letrec]) -> Rhs:
        match name:
            case "quote":
                return Constant(datum(form.items[1]))
            case "lambda":
                return self.lambda_(form, scope)
            case "let" | "let*":
                return self.let(form, scope, out, sequential=name == "let*")
            case "letrec":
                inner = self.letrec(form.items[1].items, scope, out)  # type: ignore[union-attr]
                return self.rhs(form.items[2], inner, out, "r")
            case "if":
                test = self.atom(form.items[1], scope, out)
                return If(test, self.body(form.items[2], dict(scope)), self.body(form.items[3], dict(scope)))
            case "record" | "field":
                return self.record(name, form, scope, out)
        row = self.primitives.get(name)
        if row is not None and len(row.operands) == len(form.items) - 1:
            operands = []
            for item in form.items[1:]:
                operands.append(self.atom(item, scope, out))
            return Apply(row, tuple(operands))
        return self.call(form, scope, out)

    def call(self, form: Form, scope: Scope, out: list[Binding | Letrec]) -> Rhs:
        atoms = []
        for item in form.items:
            atoms.append(self.atom(item, scope, out))
        return Call(atoms[0], tuple(atoms[1:]) or (Constant(NIL),))

    def lambda_(self, form: Form, scope: Scope, name: str = "") -> Lambda:
        items = list(form.items[1:])
        label = None
        if isinstance(items[0], Name):
            label = items.pop(0).symbol.name[1:]  # type: ignore[union-attr]
        parameters = items[0]
        assert isinstance(parameters, Form)
        variables = {str(p): Variable(str(p)) for p in parameters.items}
        lambda_ = make_lambda(tuple(variables.values()), self.body(items[1], {**scope, **variables}), name)
        if label is not None:
            self.owners[label] = lambda_
        return lambda_

    def let(self, form: Form, scope: Scope, out: list[Binding | Letrec], sequential: bool) -> Rhs:
        inner = dict(scope)
        bindings = form.items[1]
        assert isinstance(bindings, Form)
        for item in bindings.items:
            assert isinstance(item, Form)
            name = str(item.items[0])
            if name == "letrec":
                inner = self.letrec(item.items[1:], inner, out)
                continue
            rhs = self.named(item.items[1], inner if sequential else scope, out, name)
            if isinstance(rhs, Variable) and not sequential:
                inner[name] = rhs
                continue
            inner[name] = Variable(name)
            out.append(Binding(inner[name], rhs))
        return self.rhs(form.items[2], inner, out, "r")

    def named(self, syntax: Syntax, scope: Scope, out: list[Binding | Letrec], name: str) -> Rhs:
        is_lambda = isinstance(syntax, Form) and syntax.items and str(syntax.items[0]) == "lambda" not in scope
        return self.lambda_(syntax, scope, name) if is_lambda else self.rhs(syntax, scope, out, name)  # type: ignore[arg-type]

    def letrec(self, members: tuple[Syntax, ...], scope: Scope, out: list[Binding | Letrec]) -> Scope:
        inner = dict(scope)
        names = []
        for member in members:
            assert isinstance(member, Form)
            names.append(str(member.items[0]))
            inner[names[-1]] = Variable(names[-1])
        lambdas = []
        for name, member in zip(names, members, strict=True):
            assert isinstance(member, Form) and isinstance(member.items[1], Form)
            lambdas.append((inner[name], self.lambda_(member.items[1], inner, name)))
        out.append(make_letrec(tuple(lambdas)))
        return inner

    def record(self, kind: str, form: Form, scope: Scope, out: list[Binding | Letrec]) -> Rhs:
        owner = self.owners[str(form.items[1])[1:]]
        if kind == "record":
            fields = []
            for item in form.items[2:]:
                fields.append(self.atom(item, scope, out))
            return Record(owner, tuple(fields))
        index, width = form.items[2], form.items[3]
        assert isinstance(index, Literal) and isinstance(width, Literal)
        return Field(owner, int(index.value), int(width.value), self.atom(form.items[4], scope, out))


def _lambda_text(node: Lambda) -> str:
    return print_core(node)


Lambda.__str__ = _lambda_text  # type: ignore[method-assign]  # so that write.py need not know core
assert TRUE and FALSE and free_in_body and symbol
