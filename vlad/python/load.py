"""Text → values: restores in a session what dump.py wrote.

In: an untrusted text.  Out: the value; or one VladError with the place in the text. Called by programs
(`vlad.loads`) and, for pickle, by session.py.

It makes data, codes and cells, and evaluates nothing. core/check.py checks every lambda of a text before it is used.
Entries refer to earlier ones, so values are acyclic; only cells exist from the beginning. Every lambda lists its
captures, so that no analysis is needed, and the work is proportional to the text.

The file is long because it is the whole of one format's reader.
"""

from __future__ import annotations

import base64
import binascii
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from vlad.ad.vector_space import is_structure, zero
from vlad.core.check import Malformed, verify
from vlad.core.names import make_letrec
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
from vlad.data.devices import CURRENT, current
from vlad.data.errors import NoCounterpart, VladError
from vlad.data.records import EXCEPTIONS, is_record, record_of
from vlad.data.source import Source, Span
from vlad.data.tables import table_of
from vlad.data.tensors import load_numpy, made
from vlad.data.values import (
    FALSE,
    NIL,
    RECORDS,
    TRUE,
    UNSPECIFIED,
    ZERO,
    Boolean,
    Code,
    Global,
    RestField,
    String,
    Symbol,
    TangentSpace,
    Value,
    closure,
    list_of,
    look,
    symbol,
)
from vlad.evaluate.limits import deep_recursion
from vlad.python.convert import to_python
from vlad.python.dump import HEAD, KINDS, MOST_TRANSFORMS, RESERVED, TRANSFORMS, VERSION, array_of, plain_name
from vlad.python.places import Places, unpacked
from vlad.reader.parser import Form, Literal, Name, Syntax, read

Members = tuple[tuple[Variable, Lambda], ...]


def loads(text: str, session: Any) -> Any:
    """The value of a text that `dumps` wrote; its procedures belong to the session. Nothing in it is run.

    Raises VladError with the place in the text if that is not what `dumps` writes.
    """
    return _loaded(text, session, None)


def loads_with_places(text: str, places: bytes, session: Any) -> Any:
    """The value that `dumps_with_places` wrote; an older pickle has no places."""
    return _loaded(text, session, unpacked(places) if places else None)


def _loaded(text: str, session: Any, places: Places | None) -> Any:
    def restored() -> Any:
        reader = _Reader(session, blank=False, places=places)
        value = _read_by(reader, text)
        if not _is_tree(value):
            raise _wrong("a pair outside procedures is in two places", _beginning(text))
        calls = session._calls
        return to_python(value, calls.of_python() if reader.is_of_python else calls)

    if not isinstance(text, str):
        raise NoCounterpart(
            "invalid-argument", f"A saved value is a text; this is a Python {type(text).__name__}"
        )
    if not hasattr(session, "limited"):
        raise NoCounterpart(
            "invalid-argument",
            f"A saved value is read into a session; this is a Python {type(session).__name__}",
        )
    with session.limited(None), deep_recursion():
        return session.machine.guarded(restored)


def _is_tree(value: Value) -> bool:
    """Whether no pair outside procedures occurs twice. In Python it would be duplicated, with all its parts."""
    met: dict[int, Value] = {}
    work = [value]
    while work:
        item = look(work.pop())
        if type(item) is tuple and len(item) == 2:
            if id(item) in met:
                return False
            met[id(item)] = item
            work += item
    return True


def read_value(text: str, session: Any, blank: bool = False) -> Value:
    """The value of a text, made in a session; tensors on the session's device. `blank`: it may have tensors without entries,
    which are zeros.
    """
    return _read_by(_Reader(session, blank), text)


def _read_by(reader: _Reader, text: str) -> Value:
    before = CURRENT.set(reader.machine.device)
    try:
        return reader.text(text)
    finally:
        CURRENT.reset(before)


def _beginning(text: str) -> Span:
    return Span(Source("<saved>", text), 0, 1)


def _wrong(why: str, syntax: Syntax | Span, hint: str | None = None) -> VladError:
    span = syntax if isinstance(syntax, Span) else syntax.span
    return VladError("invalid-saved", f"Not a saved value: {why}", span, hint=hint)


def _items(syntax: Syntax, what: str, least: int = 0, most: float = math.inf) -> tuple[Syntax, ...]:
    """The items of a list. Raises VladError if it is none, or of another length."""
    if not isinstance(syntax, Form) or syntax.tail is not None:
        raise _wrong(f"{what} is a list", syntax)
    if not least <= len(syntax.items) <= most:
        raise _wrong(f"{what} has {least if least == most else 'other'} parts", syntax)
    return syntax.items


def _field(syntax: Syntax) -> str:
    """The name of a field of a type of records."""
    if _head(syntax) != "rest":
        return _word(syntax, "a field")
    return RestField(_word(_items(syntax, "a field that takes a rest", 2, 2)[1], "a field"))


def _head(syntax: Syntax) -> str:
    """The word at the head of a list; '' if there is none."""
    if isinstance(syntax, Form) and syntax.items and isinstance(syntax.items[0], Name):
        return syntax.items[0].symbol.name
    return ""


def _expect_class(own: Symbol, syntax: Syntax) -> None:
    """Raise VladError if a symbol is that of a class that is not imported: its instances could not be taken apart."""
    module, _, path = own.name.removeprefix("%").rpartition(".")
    if not own.name.startswith("%") or not module or own in RECORDS or own in EXCEPTIONS:
        return
    names = [path]
    while module and module not in sys.modules:
        module, _, first = module.rpartition(".")
        names.insert(0, first)
    kind: Any = sys.modules.get(module)
    for one in names:
        kind = getattr(kind, one, None)
    found: Any = None
    if isinstance(kind, type) and issubclass(kind, Exception):
        from vlad.translate.constructors import record_of_exception  # few saved functions raise exceptions
        from vlad.translate.source import lines_of

        found = record_of_exception(kind, lines_of)
    elif isinstance(kind, type) and is_record(kind):
        found = record_of(kind)
    if found is None or found.symbol is not own:
        why = f"the class {own.name.removeprefix('%')} of Python's is not known here"
        raise _wrong(why, syntax, "import its module before")


def _word(syntax: Syntax, what: str) -> str:
    if not isinstance(syntax, Name):
        raise _wrong(f"{what} is a name", syntax)
    return syntax.symbol.name


def _count(syntax: Syntax, what: str) -> int:
    value = syntax.value if isinstance(syntax, Literal) else None
    if type(value) is not float or not value.is_integer() or not 0 <= value < 1 << 53:
        raise _wrong(f"{what} is a whole number", syntax)
    return int(value)


class _Reader:
    """Reads one text: the meanings of its names so far. `places`: of its core, in the order of the text; those in the text
    itself by default."""

    def __init__(self, session: Any, blank: bool, places: Places | None = None) -> None:
        self.session = session
        self.blank = blank
        self.places = None if places is None else iter(places)
        self.is_of_python = (
            False  # are its procedures translated Python functions, whose arguments are converted for them?
        )
        self.machine = session.machine
        self.family = session.machine.family()
        self.globals: dict[str, Global] = {}
        self.variables: dict[str, Variable] = {}
        self.codes: dict[str, Code] = {}
        self.shared: dict[str, Value] = {}
        self.whole: set[Lambda] = set()  # labelled ones, which are well formed

    def text(self, text: str) -> Value:
        data = read(Source("<saved>", text))
        if len(data) != 1 or _head(data[0]) != HEAD:
            raise _wrong(f"one list ({HEAD} …) is expected", data[0] if data else _beginning(text))
        _, version, *entries = _items(data[0], "a saved value", 3)
        if not isinstance(version, Literal) or version.value != VERSION:
            raise _wrong(
                f"this is vlad's format {VERSION}", version, "it was saved by another version of vlad"
            )
        for entry in entries[:-1]:
            if _head(entry) == "global":
                self._declare(_items(entry, "a global", 2, 3)[1])
        for entry in entries[:-1]:
            self._entry(entry)
        return self.value(entries[-1])

    def _declare(self, syntax: Syntax) -> None:
        self._new(syntax, self.globals, "a global")
        name = _word(syntax, "a global")
        self.globals[name] = Global(plain_name(name))

    def _new(self, syntax: Syntax, names: dict[str, Any], what: str) -> str:
        name = _word(syntax, what)
        if name in names:
            raise _wrong(f"{name} is here twice", syntax)
        if name in RESERVED and names is not self.codes:
            raise _wrong(f"{name} has a meaning of its own", syntax)
        return name

    def _entry(self, entry: Syntax) -> None:
        match _head(entry):
            case "global":
                items = _items(entry, "a global", 2, 3)
                if len(items) == 3:
                    self.globals[str(items[1])].value = self.value(items[2])
            case "value":
                _, name, value = _items(entry, "a named value", 3, 3)
                self.shared[self._new(name, self.shared, "a value's name")] = self.value(value)
            case "code":
                _, label, *mark, lambda_ = _items(entry, "a code", 3, 4)
                self._code(label, self._lambda(lambda_), entry, mark)
            case "group":
                self._group(entry)
            case "tangents":
                self._tangents(entry)
            case "python":
                _items(entry, "the mark of Python functions", 1, 1)
                self.is_of_python = True
            case _:
                raise _wrong("an entry is a global, a value, a code or a group", entry)

    def _code(self, label: Syntax, lambda_: Lambda, entry: Syntax, marks: list[Syntax]) -> None:
        name = self._new(label, self.codes, "a label")
        self._verify(lambda_, entry)
        code = self._known(lambda_, marks[0]) if marks else None
        self.codes[name] = code or self.machine.code_of(lambda_, self.family)
        self.whole.add(lambda_ if code is None else self.machine.core_of(code))

    def _tangents(self, entry: Syntax) -> None:
        """What a type of records states of its tangents. A type that was known before has that already."""
        _, label, *rules = _items(entry, "what a type of records states of its tangents", 6, 6)
        code = self.codes.get(_word(label, "a label"))
        if code is None or (lambda_ := self.machine.core_of(code)).fields is None:
            raise _wrong("the label of a type of records is expected", label)
        read: list[Lambda | None] = []
        for rule in rules:
            if isinstance(rule, Literal) and rule.value is FALSE:
                read.append(None)
                continue
            stated = self._lambda_here(rule)
            self._verify(stated, entry)
            if stated.free:
                raise _wrong("what a type states of its tangents captures nothing", rule)
            read.append(stated)
        if lambda_.space is None:
            lambda_.space = TangentSpace(*read)  # nothing has run it yet
            code.space = self.machine.space_of(lambda_)

    def _known(self, lambda_: Lambda, mark: Syntax) -> Code | None:
        """The type of records with a mark, if it was saved or read before; otherwise the lambda gets the mark."""
        if not (isinstance(mark, Literal) and type(mark.value) is String) or lambda_.fields is None:
            raise _wrong("a text that marks a type of records is expected", mark)
        code: Code | None = self.machine.marked.get(mark.value.text)
        if code is None:
            made = self.machine.marked[mark.value.text] = self.machine.code_of(lambda_, self.family)
            self.machine.record_marks[made] = mark.value.text
            return None
        known = self.machine.core_of(code)
        if (known.name, known.fields) != (lambda_.name, lambda_.fields) or len(known.free) != len(
            lambda_.free
        ):
            raise _wrong(f"{lambda_.name} is not the type of records with this mark", mark)
        return code

    def _verify(self, lambda_: Lambda, entry: Syntax) -> None:
        try:
            verify(lambda_, known=self.whole)
        except Malformed as broken:
            raise _wrong(str(broken), entry) from None

    def _group(self, entry: Syntax) -> None:
        """Mutually recursive procedures. They are checked as a letrec."""
        triples = [_items(member, "a member of a group", 3, 3) for member in _items(entry, "a group", 2)[1:]]
        variables = [self._bound(variable) for _, variable, _ in triples]
        lambdas = [self._lambda(lambda_) for _, _, lambda_ in triples]
        letrec = make_letrec(tuple(zip(variables, lambdas, strict=True)))
        alone = Lambda((Variable("nothing"),), Body((letrec,), Constant(NIL)), letrec.free)
        self._verify(alone, entry)
        self.whole.update(lambdas)
        for (label, _, _), lambda_ in zip(triples, lambdas, strict=True):
            name = self._new(label, self.codes, "a label")
            self.codes[name] = self.machine.code_of(lambda_, self.family, letrec.members, letrec.free)

    # Core.

    def _bound(self, syntax: Syntax) -> Variable:
        """A variable where it is bound or captured. A name is the same variable everywhere."""
        name = _word(syntax, "a variable")
        found = self.variables.get(name)
        if found is None:
            self._new(syntax, self.globals, "a variable")
            found = self.variables[name] = Variable(plain_name(name))
        return found

    def _lambda(self, syntax: Syntax) -> Lambda:
        """(lambda [NAME] (VARIABLE ...) [(backpropagator-of [NAME])] [(record-of FIELD ...)] [(over VARIABLE ...)] BODY)

        A FIELD is NAME or (rest NAME).
        """
        if _head(syntax) != "lambda":
            raise _wrong("a lambda is expected", syntax)
        _, *items = _items(syntax, "a lambda", 3, 7)
        span = self._place(syntax)
        name = str(items.pop(0)) if isinstance(items[0], Name) else ""
        parameters = [self._bound(parameter) for parameter in _items(items[0], "a list of parameters", 1)]
        free: list[Variable] = []
        backpropagator_of = None
        if len(items) > 2 and _head(items[1]) == "backpropagator-of":
            source = _items(items.pop(1), "what a backpropagator is of", 1, 2)[1:]
            backpropagator_of = _word(source[0], "a procedure") if source else ""
        fields = None
        if len(items) > 2 and _head(items[1]) == "record-of":
            fields = tuple([_field(one) for one in _items(items.pop(1), "names of fields", 1)[1:]])
        if len(items) == 3:
            free = self._captured(items[1])
        elif len(items) != 2:
            raise _wrong("a lambda has parameters and a body", syntax)
        body = self._body(items[-1])
        return Lambda(tuple(parameters), body, tuple(free), name, span, backpropagator_of, fields)

    def _place(self, syntax: Syntax) -> Span | None:
        """The place of a form of core, or of a global in it, that is read now; each is asked for before those inside."""
        return syntax.span if self.places is None else next(self.places)

    def _captured(self, syntax: Syntax) -> list[Variable]:
        if _head(syntax) != "over":
            raise _wrong("(over VARIABLE ...) is expected", syntax)
        free = [self._bound(variable) for variable in _items(syntax, "what a lambda captures")[1:]]
        if len(set(free)) < len(free):
            raise _wrong("a variable is captured twice", syntax)
        return free

    def _body(self, syntax: Syntax) -> Body:
        bindings: list[Binding | Letrec] = []
        if _head(syntax) == "let*":
            _, bound, result = _items(syntax, "let*", 3, 3)
            for binding in _items(bound, "what let* binds"):
                bindings.append(self._binding(binding))
            syntax = result
        rhs = self._rhs(syntax)
        if not isinstance(rhs, Variable | Constant | GlobalReference | Call | If):
            raise _wrong("a result is an atom, a call or an if", syntax)
        return Body(tuple(bindings), rhs)

    def _binding(self, syntax: Syntax) -> Binding | Letrec:
        if _head(syntax) == "letrec":
            return self._letrec(syntax)
        name, rhs = _items(syntax, "a binding", 2, 2)
        made_of = self._rhs(rhs)
        return Binding(self._bound(name), made_of)

    def _letrec(self, syntax: Syntax) -> Letrec:
        pairs = [_items(member, "a member of letrec", 2, 2) for member in _items(syntax, "letrec", 2)[1:]]
        variables = [self._bound(name) for name, _ in pairs]
        lambdas = []
        for _, lambda_ in pairs:
            lambdas.append(self._labelled_or_new(lambda_))
        members = tuple(zip(variables, lambdas, strict=True))
        if any(member in self.whole for member in lambdas) and members != self._group_of(lambdas):
            raise _wrong("the labelled lambdas of a letrec are one whole group", syntax)
        return make_letrec(members)

    def _group_of(self, lambdas: list[Lambda]) -> Members:
        code = self.family.codes.get(lambdas[0])
        return () if code is None else code.group

    def _labelled_or_new(self, syntax: Syntax) -> Lambda:
        """(lambda LABEL [(over VARIABLE ...)]) is the lambda with that label."""
        items = _items(syntax, "a lambda")
        if _head(syntax) != "lambda" or len(items) not in (2, 3) or not isinstance(items[1], Name):
            return self._lambda(syntax)
        lambda_: Lambda = self.machine.core_of(self._code_of_label(items[1]))
        if lambda_.free != tuple(self._captured(items[2]) if len(items) == 3 else ()):
            raise _wrong("this lambda captures other variables", syntax)
        return lambda_

    def _rhs(self, syntax: Syntax) -> Rhs:
        if not isinstance(syntax, Form):
            return self._atom(syntax)
        items = _items(syntax, "an operation", 1)
        name = _head(syntax)
        match name:
            case "quote":
                return self._atom(syntax)
            case "lambda":
                return self._lambda_here(syntax)
            case "if":
                _, test, consequent, alternative = _items(syntax, "if", 4, 4)
                span, tested, holds = self._place(syntax), self._atom(test), self._body(consequent)
                return If(tested, holds, self._body(alternative), span)
            case "record":
                return self._record(syntax)
            case "field":
                return self._field(syntax)
        if name and name not in self.globals and name not in self.variables:
            return self._apply(name, items, syntax)
        span = self._place(syntax)
        operator, *atoms = self._atoms(items)
        if not atoms:
            raise _wrong("a call has an operand", syntax)
        return Call(operator, tuple(atoms), span)

    def _lambda_here(self, syntax: Syntax) -> Lambda:
        lambda_ = self._labelled_or_new(syntax)
        code = self.family.codes.get(lambda_)
        if code is not None and code.group:
            raise _wrong("the lambda of a group stands in a letrec", syntax)
        return lambda_

    def _apply(self, name: str, items: tuple[Syntax, ...], syntax: Syntax) -> Apply:
        row = self.machine.table.get(name)
        if row is None:
            raise _wrong(f"{name} is no variable, global or primitive", syntax)
        if len(items) - 1 != len(row.operands):
            raise _wrong(f"{name} takes {len(row.operands)} operands", syntax)
        span = self._place(syntax)
        return Apply(row, tuple(self._atoms(items[1:])), span)

    def _record(self, syntax: Syntax) -> Record:
        _, owner, *fields = _items(syntax, "a record", 2)
        span = self._place(syntax)
        return Record(self._owner(owner, len(fields)), tuple(self._atoms(fields)), span)

    def _field(self, syntax: Syntax) -> Field:
        _, owner, index, width, record = _items(syntax, "a field", 5, 5)
        span, most = self._place(syntax), _count(width, "the width of a record")
        lambda_ = self._owner(owner, most)
        return Field(lambda_, _count(index, "the place of a field"), most, self._atom(record), span)

    def _owner(self, syntax: Syntax, width: int) -> Lambda:
        code = self._root(syntax)
        if len(code.environment) != width:
            raise _wrong(f"the environment of this lambda has {len(code.environment)} variables", syntax)
        lambda_: Lambda = self.machine.core_of(code)
        self.family.codes[lambda_] = code
        if lambda_.fields is not None:
            self.machine.record_codes[lambda_] = code
        return lambda_

    def _atoms(self, items: Sequence[Syntax]) -> list[Atom]:
        found = []
        for item in items:
            found.append(self._atom(item))
        return found

    def _atom(self, syntax: Syntax) -> Atom:
        if isinstance(syntax, Literal):
            return Constant(syntax.value)
        if _head(syntax) == "quote":
            return Constant(self.value(_items(syntax, "a quotation", 2, 2)[1]))
        name = _word(syntax, "an operand")
        if name in self.variables:
            return self.variables[name]
        if name in self.globals:
            return GlobalReference(self.globals[name], self._place(syntax))
        if name == "zero":
            return Constant(ZERO)
        raise _wrong(f"{name} is no variable or global", syntax)

    # Codes.

    def _code_of(self, syntax: Syntax) -> Code:
        transforms = []
        while _head(syntax) in TRANSFORMS:
            transforms.append(_head(syntax))
            _, syntax = _items(syntax, "a transform", 2, 2)
            if len(transforms) > MOST_TRANSFORMS:
                raise _wrong(f"more than {MOST_TRANSFORMS} transforms", syntax)
        code = self._root(syntax)
        for transform in reversed(transforms):
            code = self.machine.derived_code(code, transform)
        return code

    def _root(self, syntax: Syntax) -> Code:
        return self._original(syntax) if isinstance(syntax, Form) else self._code_of_label(syntax)

    def _code_of_label(self, syntax: Syntax) -> Code:
        label = _word(syntax, "a label")
        if label not in self.codes:
            raise _wrong(f"no code of the label {label} stands before this", syntax)
        return self.codes[label]

    def _original(self, syntax: Syntax) -> Code:
        """A code that every session has."""
        _, name = _items(syntax, "a code that every session has", 2, 2)
        kind, word = _head(syntax), _word(name, "what every session has")
        code: Code | None = None
        if kind == "library":
            cell = self.session.library.lookup(word)
            value = getattr(cell, "value", None)
            if type(value) is tuple and value and len(value) != 2 and value[0].closed is value:
                code = value[0]
        else:
            code = self.machine.system.original(kind, word)
        if code is None:
            raise _wrong(f"there is no ({kind} {word})", syntax, "another version of vlad may have it")
        return code

    # Data.

    def value(self, syntax: Syntax) -> Value:
        done: list[Value] = []
        work: list[Syntax | _Making] = [syntax]
        while work:
            item = work.pop()
            if isinstance(item, _Making):
                first = len(done) - item.count
                made_of = done[first:]
                del done[first:]
                done.append(item.make(made_of))
                continue
            making, parts = self._begun(item)
            if not parts:
                done.append(making([]))
            else:
                work.append(_Making(making, len(parts)))
                work += reversed(parts)
        return done[0]

    def _begun(self, syntax: Syntax) -> tuple[Callable[[list[Value]], Value], Sequence[Syntax]]:
        """The constructor of a value, and the syntax of its parts."""
        if isinstance(syntax, Literal):
            value = syntax.value
        elif isinstance(syntax, Name):
            value = self._named(syntax)
        elif not _items(syntax, "a value"):
            value = NIL
        else:
            return self._made(syntax)
        return lambda _: value, ()

    def _named(self, syntax: Name) -> Value:
        name = syntax.symbol.name
        if name in ("zero", "unspecified"):
            return ZERO if name == "zero" else UNSPECIFIED
        if name not in self.shared:
            raise _wrong(f"no value of the name {name} stands before this", syntax)
        return self.shared[name]

    def _made(self, syntax: Syntax) -> tuple[Callable[[list[Value]], Value], Sequence[Syntax]]:
        items = _items(syntax, "a value", 1)
        match _head(syntax):
            case "list":
                return list_of, items[1:]
            case "cons*":
                return _chain, _items(syntax, "cons*", 3)[1:]
            case "table":
                return (lambda parts: _table(parts, syntax)), items[1:]
            case "closure":
                return self._closure(syntax)
            case "zero":
                return (lambda parts: _zero(parts[0], syntax)), _items(syntax, "a zero", 2, 2)[1:]
            case "quote":
                value: Value = symbol(_word(_items(syntax, "a symbol", 2, 2)[1], "a symbol"))
                if self.is_of_python:
                    _expect_class(value, syntax)
            case "tensor":
                value = _tensor(syntax)
            case "blank" if self.blank:
                _, kind, lengths = _items(syntax, "a tensor without entries", 3, 3)
                value = made(current().asarray(load_numpy().zeros(_shape(lengths), _kind(kind))))
            case "primitive" | "basis" | "library":
                value = self._original(syntax).closed
            case _:
                value = self._closed_system(syntax)
        return lambda _: value, ()

    def _closed_system(self, syntax: Syntax) -> Value:
        code = self._original(syntax) if _head(syntax) == "system" else None
        if code is None or code.closed is None:
            raise _wrong("this is no value", syntax)
        return code.closed

    def _closure(self, syntax: Syntax) -> tuple[Callable[[list[Value]], Value], Sequence[Syntax]]:
        _, of, *parts = _items(syntax, "a closure", 2)
        code = self._code_of(of)
        if len(parts) != len(code.environment):
            raise _wrong(f"this procedure is closed over {len(code.environment)} values", syntax)
        return (lambda held: closure(code, *held) if held else code.closed), parts


class _Making:
    """A value that waits for its parts."""

    __slots__ = ("count", "make")

    def __init__(self, make: Callable[[list[Value]], Value], count: int) -> None:
        self.make = make
        self.count = count


def _chain(parts: list[Value]) -> Value:
    value = parts[-1]
    for part in reversed(parts[:-1]):
        value = (part, value)
    return value


def _table(parts: list[Value], syntax: Syntax) -> Value:
    if len(parts) % 2:
        raise _wrong("a key of a table has a value", syntax)
    return table_of(zip(parts[::2], parts[1::2], strict=True))


def _zero(value: Value, syntax: Syntax) -> Value:
    """A deferred zero; for a value without parts it would take its memory at once."""
    if not is_structure(value):
        raise _wrong("this is the zero of a pair or a closure", syntax)
    return zero(value)


def _tensor(syntax: Syntax) -> Value:
    """(tensor KIND (LENGTH ...) ENTRY ...) or (tensor KIND (LENGTH ...) "BYTES")"""
    _, kind_word, lengths, *entries = _items(syntax, "a tensor", 3)
    kind, shape = _kind(kind_word), _shape(lengths)
    values = [entry.value if isinstance(entry, Literal) else None for entry in entries]
    try:
        if len(values) == 1 and type(values[0]) is String:
            array = _array_of_bytes(values[0].text, kind)
        else:
            array = array_of([_number(value) for value in values], kind)
        array = array.astype(kind).reshape(shape)
    except (ValueError, OverflowError, binascii.Error):
        raise _wrong(f"these are not the entries of a tensor of {kind} of this shape", syntax) from None
    return made(current().asarray(array))


def _kind(word: Syntax) -> str:
    kind = _word(word, "the kind of a tensor's numbers")
    if kind not in KINDS:
        raise _wrong(f"there is no kind of number {kind}", word)
    return kind


def _shape(lengths: Syntax) -> list[int]:
    return [_count(length, "the length of an axis") for length in _items(lengths, "a shape", 1)]


def _number(value: Value) -> Any:
    if isinstance(value, Boolean):
        return value is TRUE
    if type(value) is not float:
        raise ValueError
    return value


def _array_of_bytes(text: str, kind: str) -> Any:
    numpy = load_numpy()

    array = numpy.frombuffer(base64.b64decode(text, validate=True), numpy.dtype(kind).newbyteorder("<"))
    if kind == "bool" and (array.view("uint8") > 1).any():
        raise ValueError
    return array
