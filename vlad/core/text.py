"""Core ↔ text.

`print_core` prints a lambda or a body as an expression of the language itself; `read_core` reads it back; `read_expression` reads
nested expressions too and flattens them: derivative rules and the system's own procedures are written this way. Called by the
tests of every pass, by `vlad show`, by ad/rules.py and evaluate/machine.py.

    (lambda (x y) (let* ((a (* x x)) (letrec (f (lambda …)) …) …) result))
    (lambda (x) (over y z) body)                                  a closure captures y and z, whatever the body reads
    #1=(lambda …)  (record #1# a …)  (field #1# INDEX WIDTH r)     the owner of a record is named by a label
    #NAME#                                                        an owner outside the text
    #zero                                                         the known zero
    #unspecified                                                  the value of an effect
    #global:NAME                                                  a top-level name that has another meaning without this mark
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from functools import cache, lru_cache

from vlad.core.names import free_in_body, make_lambda, make_letrec, operands, sub_bodies
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
from vlad.data.errors import VladError, unbound_variable
from vlad.data.source import Origin, Source, Span
from vlad.data.tables import vector_of
from vlad.data.values import (
    FILLED,
    NIL,
    UNSPECIFIED,
    ZERO,
    Boolean,
    Code,
    Global,
    Primitive,
    Role,
    String,
    Value,
    is_procedure,
    look,
)
from vlad.data.write import symbol_text, written
from vlad.reader.parser import Form, Literal, Name, Syntax, around_made, datum, is_vector, read

WIDTH = 100
DEEPEST = 60  # columns of indentation: beyond it, deep nests would be quadratic in size
KEYWORDS = frozenset(["lambda", "let", "let*", "letrec", "if", "quote", "record", "field", "zero"])

# Printing.


def print_core(node: Lambda | Body, is_redefined: Callable[[Global], bool] = lambda cell: False) -> str:
    """The text of a lambda or a body; names are made unique in order of appearance. Top-level names that a program has
    redefined are marked.
    """
    printer = Printer(is_redefined)
    printer.survey(node)
    return printer.lambda_(node, 0) if isinstance(node, Lambda) else printer.body(node, 0)


class Printer:
    """Prints core, with names made unique in order of appearance. (dump.py writes lambdas in its own format.)"""

    def __init__(self, is_redefined: Callable[[Global], bool] = lambda cell: False) -> None:
        self.is_redefined = is_redefined
        self.names: dict[Variable, str] = {}
        self.taken: set[str] = set(KEYWORDS)
        self.labels: dict[Lambda, str] = {}
        self.inside: set[Lambda] = set()

    def survey(self, node: Lambda | Body) -> None:
        """Reserve the names of globals and primitives, and label the owners of records within the text. Other owners are
        referred to by name.
        """
        owners: dict[Lambda, None] = {}
        bodies = [node.body if isinstance(node, Lambda) else node]
        if isinstance(node, Lambda):
            self.inside.add(node)
        while bodies:
            body = bodies.pop()
            rhss: list[Rhs | Result] = [body.result]
            for binding in body.bindings:
                if isinstance(binding, Letrec):
                    rhss += [member for _, member in binding.members]
                else:
                    rhss.append(binding.rhs)
            for rhs in rhss:
                self.survey_rhs(rhs, owners)
                if isinstance(rhs, Lambda):
                    bodies.append(rhs.body)
                bodies += sub_bodies(rhs)
        self.label(owners)

    def survey_rhs(self, rhs: Rhs | Result, owners: dict[Lambda, None]) -> None:
        if isinstance(rhs, Lambda):
            self.inside.add(rhs)
            return
        if isinstance(rhs, Record | Field):
            owners[rhs.owner] = None
        if isinstance(rhs, Apply):
            self.taken.add(rhs.primitive.name)
        for atom in operands(rhs):
            if isinstance(atom, GlobalReference):
                self.taken.add(atom.cell.name)
            elif isinstance(atom, Constant) and _is_named(atom.value):
                self.taken.add(procedure_name(atom.value))

    def label(self, owners: dict[Lambda, None]) -> None:
        inside, used = 0, set[str]()
        for owner in owners:
            if owner in self.inside:
                inside += 1
                self.labels[owner] = str(inside)
            else:
                name = re.sub(_ODD, "_", owner.name) or "outer"
                label = unused("_" + name if name.isdigit() else name, used)
                used.add(label)
                self.labels[owner] = label

    def name(self, variable: Variable) -> str:
        found = self.names.get(variable)
        if found is None:
            found = unused(variable.name or "_", self.taken)
            self.taken.add(found)
            self.names[variable] = found
        return symbol_text(found)

    def atom(self, atom: Atom) -> str:
        if isinstance(atom, Variable):
            return self.name(atom)
        if isinstance(atom, GlobalReference):
            return self.global_(atom.cell)
        return (
            constant_text(atom.value) if isinstance(atom, Constant) else f"#<{type(atom).__name__}>"
        )  # malformed

    def global_(self, cell: Global) -> str:
        is_marked = cell.name in KEYWORDS or cell.name.startswith("#") or self.is_redefined(cell)
        return f"{_GLOBAL if is_marked else ''}{symbol_text(cell.name)}"

    def atoms(self, *atoms: Atom) -> str:
        return " ".join([self.atom(atom) for atom in atoms])

    def lambda_(self, node: Lambda, indent: int) -> str:
        indent = min(indent, DEEPEST)
        label = f"#{self.labels[node]}=" if node in self.labels else ""
        head = f"{label}(lambda ({self.atoms(*node.parameters)})"
        if node.free != free_in_body(node.body, node.parameters):
            head += f" (over {self.atoms(*node.free)})"
        return self.laid_out(head, [self.body(node.body, indent + 2)], indent)

    def body(self, body: Body, indent: int) -> str:
        if not body.bindings:
            return self.rhs(body.result, indent)
        indent = min(indent, DEEPEST)
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
                fields = "".join([" " + self.atom(field) for field in rhs.fields])
                return f"(record {self.owner(rhs.owner)}{fields})"
            case Field():
                return f"(field {self.owner(rhs.owner)} {rhs.index} {rhs.width} {self.atom(rhs.record)})"
        return self.atom(rhs)

    def owner(self, owner: Lambda) -> str:
        return f"#{self.labels[owner]}#"

    def laid_out(self, head: str, parts: list[str], indent: int) -> str:
        """On one line if it fits, else each part on its own line."""
        if sum([len(part) for part in parts]) < WIDTH:
            flat = " ".join([head, *parts]) + ")"
            if "\n" not in flat and len(flat) + indent <= WIDTH:
                return flat
        margin = "\n" + " " * (indent + 2)
        return head + "".join([margin + part for part in parts]) + ")"


def unused(base: str, taken: set[str]) -> str:
    """The name, numbered where it is taken."""
    name, count = base, 0
    while name in taken:
        count += 1
        name = f"{base}.{count}"
    return name


def procedure_name(procedure: Value) -> str:
    """The name of a procedure that is a constant: a primitive as a value, the identity."""
    code = procedure[0]
    return code.primitive.name if code.primitive is not None else code.name or "procedure"


def constant_text(value: Value) -> str:
    if value is ZERO or value is UNSPECIFIED:
        return _ZERO if value is ZERO else _UNSPECIFIED
    if _is_named(value):
        return symbol_text(procedure_name(value))
    text = written(value)
    return text if type(value) is float or isinstance(value, Boolean | String) else f"(quote {text})"


def _is_named(value: Value) -> bool:
    """Whether a constant is a procedure, which stands by its name, and not a vector."""
    seen = look(value)
    return is_procedure(seen) and not (
        type(seen) is tuple and type(seen[0]) is Code and seen[0].role is Role.VECTOR
    )


# Reading.

Cells = Callable[[str], Global]
_ODD = r"[\s()\[\]#=|\"\\';`,]"  # compiled when a name is read: start-up is fast
_ZERO, _UNSPECIFIED, _GLOBAL = "#zero", "#unspecified", "#global:"
_OURS = "\0"
_LABEL, _OWNER, _TOP = _OURS + "=", _OURS + ":", _OURS + "global:"


@cache
def _mark() -> re.Pattern[str]:
    """Strings and names in bars are kept; core's additional notation is read as symbols that no program contains. Compiled on
    use, since most programs read no core.
    """
    return re.compile(
        r'"(?:[^"\\]|\\.)*"|\|(?:[^|\\]|\\.)*\||#(\d+)=|#([^\s()#=|"]+)#|#global:(?:\|((?:[^|\\]|\\.)*)\||([^\s()|"]+))'
        r"|#zero|#unspecified",
        re.DOTALL,
    )


def _as_symbol(mark: re.Match[str]) -> str:
    label, owner, barred, plain = mark.groups()
    if label is not None:
        return f"|{_LABEL}{label}| "
    if owner is not None:
        return f"|{_OWNER}{owner}|"
    if barred is not None or plain is not None:
        return f"|{_TOP}{plain or barred}|"
    return f"|{_OURS}{mark.group()}|" if mark.group() in (_ZERO, _UNSPECIFIED) else mark.group()


def read_core(
    text: str,
    cells: Cells | None,
    primitives: Mapping[str, Primitive],
    owners: Mapping[str, Lambda] | None = None,
    variables: Mapping[str, Variable] | None = None,
    marked: Cells | None = None,
) -> Lambda | Body:
    """Read the text of a lambda, if it begins with `lambda`, or of a body. `owners` are those outside the text
    by name, `variables` the free ones; `marked` has the cells of marked names, if they differ from `cells`.
    """
    reader = _Reader(primitives, cells, marked or cells, dict(owners or {}))
    syntax, scope = _one_expression(text), dict(variables or {})
    head = syntax.items[0] if isinstance(syntax, Form) and syntax.items else None
    if isinstance(head, Name) and head.symbol.name == "lambda" and "lambda" not in scope:
        lambda_ = reader.rhs(syntax, scope, [], "")
        assert isinstance(lambda_, Lambda)
        return lambda_
    return reader.body(syntax, scope)


def read_expression(
    text: str,
    variables: Mapping[str, Variable],
    primitives: Mapping[str, Primitive],
    cells: Cells | None = None,
    owners: Mapping[str, Lambda] | None = None,
    marked: Cells | None = None,
) -> Body:
    """Read an expression over free variables, in A-normal form. `zero` as an operand is the known zero."""
    reader = _Reader(primitives, cells, marked or cells, dict(owners or {}))
    return reader.body(_row_expression(text), dict(variables))


@lru_cache(maxsize=1024)
def _row_expression(text: str) -> Syntax:
    """A text of a row or of the system, of which there are few, and which each session reads."""
    return _one_expression(text)


def _one_expression(text: str) -> Syntax:
    data = _labelled(read(Source("<core>", _mark().sub(_as_symbol, text), Origin.SYSTEM)))
    if len(data) != 1:
        raise invalid_core("one expression is expected", None)
    return data[0]


def _labelled(data: list[Syntax]) -> list[Syntax]:
    """`#1= (lambda …)` was read as two data: move the label into the lambda's form, after its keyword."""
    out: list[Syntax] = []
    for item in data:
        if isinstance(item, Form):
            item = Form(tuple(_labelled(list(item.items))), item.tail, item.span)
            if out and isinstance(out[-1], Name) and out[-1].symbol.name.startswith(_LABEL):
                label = out.pop()
                item = Form((item.items[0], label, *item.items[1:]), None, item.span)
        out.append(item)
    return out


Scope = dict[str, Variable]


class _Reader:
    def __init__(
        self,
        primitives: Mapping[str, Primitive],
        cells: Cells | None,
        marked: Cells | None,
        owners: dict[str, Lambda],
    ) -> None:
        self.primitives = primitives
        self.cells = cells
        self.marked = marked
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
            raise invalid_core("neither an atom nor an operation", syntax.span)
        head = syntax.items[0]
        if isinstance(head, Name) and head.symbol.name not in scope:
            return self.special(head.symbol.name, syntax, scope, out)
        return self.call(syntax, scope, out)

    def reference(self, syntax: Name, scope: Scope) -> Atom:
        name = syntax.symbol.name
        if name in scope:
            return scope[name]
        if name in ("zero", _OURS + _ZERO):
            return Constant(ZERO)
        if name == _OURS + _UNSPECIFIED:
            return Constant(UNSPECIFIED)
        cells = self.marked if name.startswith(_TOP) else self.cells
        name = name.removeprefix(_TOP)
        if cells is None:
            raise unbound_variable(name, syntax.span)
        return GlobalReference(cells(name), syntax.span)

    def datum(self, syntax: Syntax, around: Container[int]) -> Value:
        """A datum; `around` has what contains vectors, which are those of the session to which the cells belong."""
        if id(syntax) not in around:
            return datum(syntax)
        filled = None if self.cells is None else getattr(self.cells(FILLED), "value", None)
        if not isinstance(syntax, Form) or filled is None:
            raise invalid_core("no constant", syntax.span)
        if is_vector(syntax):
            elements = syntax.items[1]
            assert isinstance(elements, Form)
            return vector_of([self.datum(item, around) for item in elements.items], filled[0].machine.codes)
        made = NIL if syntax.tail is None else self.datum(syntax.tail, around)
        for item in reversed(syntax.items):
            made = (self.datum(item, around), made)
        return made

    def special(self, name: str, form: Form, scope: Scope, out: list[Binding | Letrec]) -> Rhs:
        match name:
            case "quote":
                return Constant(self.datum(form.items[1], around_made(form.items[1])))
            case "lambda":
                return self.lambda_(form, scope)
            case "let" | "let*":
                return self.let(form, scope, out, sequential=name == "let*")
            case "letrec":
                inner = self.letrec(form_of(form.items[1]).items, scope, out)
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
            label = str(items.pop(0)).removeprefix(_LABEL)
        parameters = form_of(items[0])
        variables = {str(p): Variable(str(p)) for p in parameters.items}
        body = self.body(items[-1], {**scope, **variables})
        lambda_ = make_lambda(tuple(variables.values()), body, name)
        if len(items) == 3:
            captured = tuple([scope[str(variable)] for variable in form_of(items[1]).items[1:]])
            lambda_ = Lambda(lambda_.parameters, body, captured, name)
        if label is not None:
            self.owners[label] = lambda_
        return lambda_

    def let(self, form: Form, scope: Scope, out: list[Binding | Letrec], sequential: bool) -> Rhs:
        inner = dict(scope)
        for binding in form_of(form.items[1]).items:
            item = form_of(binding)
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
        if isinstance(syntax, Form) and syntax.items and str(syntax.items[0]) == "lambda" not in scope:
            return self.lambda_(syntax, scope, name)
        return self.rhs(syntax, scope, out, name)

    def letrec(self, members: tuple[Syntax, ...], scope: Scope, out: list[Binding | Letrec]) -> Scope:
        inner = dict(scope)
        names = []
        for member in members:
            names.append(str(form_of(member).items[0]))
            inner[names[-1]] = Variable(names[-1])
        lambdas = []
        for name, member in zip(names, members, strict=True):
            lambdas.append((inner[name], self.lambda_(form_of(form_of(member).items[1]), inner, name)))
        out.append(make_letrec(tuple(lambdas)))
        return inner

    def record(self, kind: str, form: Form, scope: Scope, out: list[Binding | Letrec]) -> Rhs:
        label = str(form.items[1]).removeprefix(_OWNER)
        owner = self.owners.get(label)
        if owner is None:
            raise invalid_core(f"no lambda #{label}# before this", form.span)
        if kind == "record":
            fields = []
            for item in form.items[2:]:
                fields.append(self.atom(item, scope, out))
            return Record(owner, tuple(fields))
        index, width = form.items[2], form.items[3]
        if not isinstance(index, Literal) or not isinstance(width, Literal):
            raise invalid_core("a field has an index and a width", form.span)
        return Field(owner, int(index.value), int(width.value), self.atom(form.items[4], scope, out))


def form_of(syntax: Syntax) -> Form:
    if not isinstance(syntax, Form):
        raise invalid_core("a list is expected", syntax.span)
    return syntax


def invalid_core(why: str, span: Span | None) -> VladError:
    return VladError("invalid-core", f"Invalid core: {why}", span)


def _lambda_text(node: Lambda) -> str:
    return print_core(node)


Lambda.__str__ = _lambda_text  # type: ignore[method-assign, assignment]  # so that write.py need not know core
