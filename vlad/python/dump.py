"""Values → text for another process, machine or time: closures with everything they reach. docs/saving.md has the format.

In: a value of a Python program.  Out: the text, which load.py reads. Called by programs (`vlad.dumps`) and, for pickle, by
session/calls.py.

It traverses the reachable values twice. The first time records values that occur more than once, lambdas that need a name, and
reachable globals; the second time writes each entry after the ones it refers to.

Procedures that every session has (rows, the basis, the library) are saved by name; every other lambda is saved as core, with the
globals that it reaches. A code made by a transform is saved as the transform's name and made again
when it is first called. Values may be deep and long, so the traversal is not recursive; the nesting of code is that of
Python's calls, which limits.deep_recursion bounds by memory only.

The file is long because it is the whole of one format's writer.
"""

from __future__ import annotations

import base64
import math
import os
import re
from collections.abc import Iterator
from typing import Any

from vlad.core.names import operands
from vlad.core.nodes import (
    Apply,
    Atom,
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
from vlad.core.simplify import walk
from vlad.core.text import KEYWORDS, Printer
from vlad.data.errors import NoCounterpart, VladError
from vlad.data.tables import KEY, VALUE, Table
from vlad.data.tensors import Tensor, kind_name, load_numpy, on_host, quiet, shape_text
from vlad.data.values import (
    UNSPECIFIED,
    ZERO,
    Boolean,
    Code,
    Deferred,
    Global,
    Opaque,
    Primitive,
    Reference,
    RestField,
    String,
    Symbol,
    Value,
    look,
)
from vlad.data.write import real_text, string_text, symbol_text
from vlad.evaluate.limits import deep_recursion
from vlad.primitives.reentry import Captured, Frame
from vlad.python.convert import Procedure, from_python
from vlad.python.handles import Record as RecordHandle
from vlad.python.places import Places, packed
from vlad.python.structures import parts_held
from vlad.reader.parser import number

HEAD = "vlad-saved"
VERSION = 1
WIDTH = 100  # of the lines of data; those of core are text.py's
RESERVED = KEYWORDS | {"unspecified"}  # names not used for variables or globals in a text
# their kinds, by transform
ENTRIES = {"reverse": "tail", "forward": "forward", "control": "control", "stepping": "stepping"}
TRANSFORMS = tuple(ENTRIES.values())
MOST_TRANSFORMS = 32  # of one lambda
MOST_WRITTEN = 64  # entries of a tensor that are written in readable form
_NUMBERED = re.compile(r"(.+)\.[0-9]+", re.DOTALL)
SHORT = 32  # characters of a string that is repeated at each occurrence
WHOLE_KINDS = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
KINDS = ("float64", "float32", *WHOLE_KINDS, "bool")


def dumps(value: Any) -> str:
    """The text of a procedure, or of any other value that Python and the language share. `loads` reads it.

    Raises VladError if a part has no text: a Python object, or procedures of two sessions.
    """
    return _dumped(value)[0]


def dumps_with_places(value: Any) -> tuple[str, bytes]:
    """The same, with the places of its core in the texts of the program, for `loads_with_places`."""
    text, places = _dumped(value)
    return text, packed(places)


def _dumped(value: Any) -> tuple[str, Places]:
    procedures = procedures_in(value)
    if not procedures:
        with deep_recursion():
            return write_value(_value_of(value), None), []
    for one in procedures:
        if isinstance(one, RecordHandle):
            continue
        one.renewed()
        refusal = one.refusal()
        if refusal is not None:
            raise refusal
    session, of_python = procedures[0]._apply.session, {one._apply.is_of_python for one in procedures}
    if len(of_python) > 1:
        hint = "their arguments are converted in two ways: save them one by one"
        raise _cannot_save("translated Python functions and other procedures together", hint)

    def written() -> tuple[str, Places]:
        writer = _Writer(_Survey(_value_of(value), session), is_of_python=True in of_python)
        return writer.text(_value_of(value)), writer.places

    with session.limited(None), deep_recursion():
        found: tuple[str, Places] = session.machine.guarded(written)
        return found


def _value_of(value: Any) -> Value:
    try:
        return from_python(value)
    except NoCounterpart as error:
        raise _cannot_save(error.message, error.hint or "") from None


def procedures_in(value: Any) -> list[Procedure | RecordHandle]:
    """The procedures in a Python value, and the records, which have codes, too."""
    found: list[Procedure | RecordHandle] = []
    work = [value]
    while work:
        item = work.pop()
        if isinstance(item, Procedure | RecordHandle):
            found.append(item)
        work += reversed(parts_held(item))
    return found


def plain_name(name: str) -> str:
    """The name of a variable or global from its name in a text, which may end in a number. The writer appends one to every name
    that ends in a number of its own, so that `x.1` is a second `x`, and `x.1.1` the name `x.1`."""
    numbered = _NUMBERED.fullmatch(name)
    return numbered[1] if numbered else name


def _cannot_save(what: str, hint: str | None = None) -> VladError:
    return VladError("cannot-save", f"Cannot be saved: {what}", hint=hint)


# Writing: the first time.

# The transforms that made a code, the last one first, and the original code.
Origin = tuple[list[str], Code]
# Where a value is: (the code of a closure, the index of its variable, the place of that), (a global, the place of that), or None.
Whence = tuple[Any, ...] | None


def _held(whence: Whence) -> str | None:
    """A description of where something is: the innermost places."""
    places: list[str] = []
    while whence is not None and len(places) < 4:
        holder = whence[0]
        if isinstance(holder, Global):
            places.append(f"the global {holder.name}")
        else:
            variable = holder.environment[whence[1]]
            places.append(f"{variable} of the procedure {holder.name or 'without a name'}")
        whence = whence[-1]
    return f"it is in {', in '.join(places)}" if places else None


def _parts(value: Value) -> tuple[Value, ...]:
    """The parts of a value in its text."""
    if type(value) is Deferred:
        return (value.zero_of,)
    if type(value) is Table:
        return tuple([part for leaf in value.leaves() for part in (leaf[KEY], leaf[VALUE])])
    if type(value) is not tuple or len(value) == 0:
        return ()
    return value if len(value) == 2 else value[1 : len(value[0].environment) + 1]


def _unforced(value: Value) -> Value:
    """The value itself. A deferred zero stays one: adding it costs nothing."""
    if type(value) is Deferred and value.zero_of is not None:
        return value
    return look(value)


def _can_be_shared(value: Value) -> bool:
    """Whether it is written once and then named: not if it is as short as its name."""
    if type(value) is tuple:
        return len(value) == 2 or (len(value) > 2 and bool(value[0].environment))
    return type(value) in (Tensor, Deferred, Table) or (type(value) is String and len(value.text) > SHORT)


class _Survey:
    """All reachable values, in a fixed order."""

    def __init__(self, value: Value, session: Any) -> None:
        self.session = session
        self.shared: set[int] = set()  # ids of values that occur twice
        self.origins: dict[Code, Origin] = {}
        self.names: dict[Code, str] = {}  # of codes that every session has
        self.labelled: dict[Lambda, tuple[tuple[Variable | None, Lambda], ...]] = {}  # each with its group
        self.owners: dict[Lambda, Code] = {}
        self.types: dict[Lambda, Code] = {}  # of records
        self.cells: dict[Global, Global] = {}  # each with the representative of all with its name and value
        self.rows: set[str] = set()
        self._cells: dict[tuple[str, int], Global] = {}
        self._groups: dict[Lambda, Letrec] = {}
        self._walked: set[Lambda] = set()
        self._met: dict[int, Value] = {}  # kept alive, so that ids stay unique
        self._work: list[tuple[Value, Whence]] = [(value, None)]
        while self._work:
            self._value(*self._work.pop())

    def _value(self, value: Value, whence: Whence) -> None:
        value = _unforced(value)
        if _can_be_shared(value):
            if id(value) in self._met:
                self.shared.add(id(value))
                return
            self._met[id(value)] = value
        if type(value) is tuple and value and len(value) != 2:
            self.code(value[0], whence)
            parts = _parts(value)
            self._work += [(parts[at], (value[0], at, whence)) for at in reversed(range(len(parts)))]
            return
        _refuse(value, whence)
        self._work += [(part, whence) for part in reversed(_parts(value))]

    def code(self, code: Code, whence: Whence) -> None:
        if code in self.origins:
            return
        if self.session is None or code.machine is not self.session.machine:
            raise _cannot_save("procedures of two sessions in one value", "save them one by one")
        transforms, root = self.origins[code] = _origin(code)
        if len(transforms) > MOST_TRANSFORMS:
            raise _cannot_save(f"a procedure that was transformed {len(transforms)} times", _held(whence))
        if root not in self.names and not self._name(root):
            lambda_ = code.machine.core_of(root)
            if lambda_.fields is not None:
                self.types[lambda_] = root
            self._label(lambda_, root.group, root, whence)

    def _name(self, code: Code) -> bool:
        """Record the standard name of a code; False if only this session has it."""
        found = code.machine.system.origin(code)
        if found is None and code.closed is not None:
            cell = self.session.library.cells.get(code.name)
            if cell is not None and getattr(cell, "value", None) is code.closed:
                found = "library", code.name
        if found is not None:
            self.names[code] = f"({found[0]} {symbol_text(found[1])})"
        return found is not None

    def _label(
        self, lambda_: Lambda, group: tuple[tuple[Variable, Lambda], ...], code: Code, whence: Whence
    ) -> None:
        """Label a lambda that has its own entry in the text, and those of its group."""
        if lambda_ in self.labelled:
            return
        letrec = self._groups.get(lambda_)
        members = group or (letrec.members if letrec is not None else ((None, lambda_),))
        for _, member in members:
            self.labelled[member] = members
        for _, member in members:
            self._walk(member, code, whence)

    def _walk(self, lambda_: Lambda, code: Code, whence: Whence) -> None:
        """Record what a lambda refers to. A lambda that two of them refer to is labelled."""
        if lambda_ in self._walked:
            return
        self._walked.add(lambda_)

        def enter(inner: Lambda) -> bool:
            if inner in self._walked:
                self._label(inner, (), code, whence)
                return False
            self._walked.add(inner)
            return True

        walk(lambda_, lambda rhs: self._visit(rhs, code, whence), enter)
        for rule in lambda_.space.rules() if lambda_.space is not None else ():
            if rule is not None and enter(rule):
                walk(rule, lambda rhs: self._visit(rhs, code, whence), enter)

    def _visit(self, rhs: Rhs | Result | Letrec, code: Code, whence: Whence) -> None:
        match rhs:
            case Letrec():
                self._note_group(rhs)
            case Apply():
                self._row(rhs.primitive, whence)
            case Record() | Field():
                self._owner(rhs.owner, code, whence)
        for atom in () if isinstance(rhs, Lambda | Letrec) else operands(rhs):
            if isinstance(atom, Constant):
                self._work.append((atom.value, whence))
            elif isinstance(atom, GlobalReference):
                self._cell(atom.cell, whence)

    def _row(self, row: Primitive, whence: Whence) -> None:
        if self.session.machine.table.get(row.name) is not row:
            raise _cannot_save(f"the Python function {row.display_name}", _held(whence))
        self.rows.add(row.name)

    def _note_group(self, rhs: Rhs | Result | Letrec) -> None:
        if isinstance(rhs, Letrec):
            self._groups |= {member: rhs for _, member in rhs.members}

    def _owner(self, owner: Lambda, code: Code, whence: Whence) -> None:
        """The lambda that owns a record's environment. Its code, if it exists, is in the same family."""
        found = code.family.codes.get(owner) or code.machine.record_codes.get(owner)
        if found is None and owner.fields is not None:
            found = code.machine.code_of(owner, code.family)
        if found is None:
            for known in list(code.family.codes):
                walk(known, self._note_group, lambda _: True)
            self._label(owner, (), code, whence)
            return
        self.owners[owner] = found
        self.code(found, whence)

    def _cell(self, cell: Global, whence: Whence) -> None:
        if cell in self.cells:
            return
        value = getattr(cell, "value", None)  # Python's None is no value of the language
        self.cells[cell] = standing = self._cells.setdefault((cell.name, id(value)), cell)
        if standing is cell and value is not None:
            self._work.append((value, (cell, whence)))


def _refuse(value: Value, whence: Whence) -> None:
    """Raise VladError for a value without a text."""
    if type(value) is Tensor:
        kind = kind_name(value.like.dtype)
        if kind not in KINDS:
            raise _cannot_save(f"a tensor of {kind}", _held(whence))
    elif isinstance(value, String | Symbol):
        text = value.text if isinstance(value, String) else value.name
        if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
            raise _cannot_save(f"a text with half a character in it, {text[:40]!a}", _held(whence))
    elif type(value) is Reference:
        raise _cannot_save("a cell", _held(whence))
    elif type(value) is Opaque:
        if isinstance(value.object, Captured | Frame):
            hint = "it is a part of an evaluation in this process: save what it is called with"
            raise _cannot_save("a continuation of `call/cc`, or of `shift` in a form with that", hint)
        raise _cannot_save(f"a Python {type(value.object).__name__}", _held(whence))
    elif (
        type(value) not in (float, tuple, Boolean, Deferred, Table)
        and value is not ZERO
        and value is not UNSPECIFIED
    ):
        raise _cannot_save(f"a Python {type(value).__name__}", _held(whence))


def _origin(code: Code) -> Origin:
    work: list[Origin] = [([], code.base)]
    while work:
        path, found = work.pop()
        if found is code:
            return path[::-1], code.base
        for transform in TRANSFORMS:
            derived = getattr(found, transform)
            if derived is not None:
                work.append(([*path, transform], derived))
    # It was made before a primitive was redefined that its base relied on.
    return [ENTRIES[transform] for transform in code.transforms], code.base


# Writing: the second time.


def write_value(value: Value, session: Any, most_entries: float = math.inf) -> str:
    """The text of a value of a session, or of one without procedures. Of a tensor with more entries it has the shape alone
    (`blank`), which `loads` refuses.
    """
    return _Writer(_Survey(value, session), most_entries).text(value)


class _Writer(Printer):
    """Entries in dependency order; only globals may be referred to before their entry."""

    def __init__(self, reached: _Survey, most_entries: float = math.inf, is_of_python: bool = False) -> None:
        super().__init__()
        self.reached = reached
        self.most_entries = most_entries
        self.taken |= RESERVED | reached.rows
        self.entries: list[str] = ["(python)"] if is_of_python else []
        self.shared: dict[int, str] = {}  # names of values
        self.labelled: dict[Lambda, str] = {}
        self.places: Places = []  # of what the reader gives places, in the order of the text
        self._labels: set[str] = set()
        self._counts: dict[tuple[int, str], int] = {}
        self.globals = {
            cell: self._unused(cell.name, self.taken, plain_name(cell.name) != cell.name)
            for cell in dict.fromkeys(reached.cells.values())
        }

    def text(self, value: Value) -> str:
        for cell, name in self.globals.items():
            content = ""
            if hasattr(cell, "value"):
                self._settle(cell.value)
                content = " " + self.value(cell.value)
            self.entries.append(f"(global {symbol_text(name)}{content})")
        self._settle(value)
        self._write_tangents()
        body = "".join([f"\n  {entry}" for entry in self.entries])
        return f"({HEAD} {VERSION}{body}\n  {self.value(value)})\n"

    def _unused(self, base: str, taken: set[str], is_numbered: bool = False) -> str:
        """The name, numbered if it is taken, or in any case. Tries each number once."""
        key, name = (id(taken), base), base
        while is_numbered or name in taken:
            is_numbered = False
            self._counts[key] = self._counts.get(key, 0) + 1
            name = f"{base}.{self._counts[key]}"
        taken.add(name)
        return name

    def name(self, variable: Variable) -> str:
        found = self.names.get(variable)
        if found is None:
            name = variable.name
            found = self.names[variable] = self._unused(name, self.taken, plain_name(name) != name)
        return symbol_text(found)

    # Dependencies.

    def _settle(self, value: Value) -> None:
        """Write all entries that the text of a value refers to, directly or indirectly."""
        self._settle_all(self._needs_of_value(value))

    def _write_tangents(self) -> None:
        """What types of records state of their tangents: entries of their own, as these procedures may refer to the type."""
        done: set[Lambda] = set()
        while todo := [one for one in self.labelled if one.space is not None and one not in done]:
            for owner in todo:
                assert owner.space is not None
                done.add(owner)
                rules = owner.space.rules()
                self._settle_all(self._needs_of_lambdas([rule for rule in rules if rule is not None]))
                texts = [f"\n    {self.lambda_(rule, 4) if rule is not None else '#f'}" for rule in rules]
                self.entries.append(f"(tangents {self.labelled[owner]}{''.join(texts)})")

    def _settle_all(self, needs: Iterator[Value | Lambda]) -> None:
        work = _not_ready(needs)
        while work:
            item, is_ready = work.pop()
            if self._is_written(item):
                continue
            if is_ready:
                self._entry(item)
                continue
            needs = self._needs_of_group(item) if isinstance(item, Lambda) else self._needs_of_parts(item)
            work.append((item, True))
            work += _not_ready(needs)

    def _is_written(self, item: Value | Lambda) -> bool:
        return item in self.labelled if isinstance(item, Lambda) else id(item) in self.shared

    def _needs_of_value(self, value: Value) -> Iterator[Value | Lambda]:
        value = _unforced(value)
        if id(value) in self.reached.shared:
            yield value
        else:
            yield from self._needs_of_parts(value)

    def _needs_of_parts(self, value: Value) -> Iterator[Value | Lambda]:
        """The named parts of a value without a name."""
        work = [value]
        while work:
            item = work.pop()
            if type(item) is tuple and item and len(item) != 2:
                _, root = self.reached.origins[item[0]]
                if root not in self.reached.names:
                    yield root.machine.core_of(root)
            for part in map(_unforced, _parts(item)):
                if id(part) in self.reached.shared:
                    yield part
                else:
                    work.append(part)

    def _needs_of_group(self, lambda_: Lambda) -> Iterator[Value | Lambda]:
        """The named values in a lambda and its group, excluding the group."""
        members = [member for _, member in self.reached.labelled[lambda_]]
        for need in self._needs_of_lambdas(members):
            if not any(need is member for member in members):
                yield need

    def _needs_of_lambdas(self, members: list[Lambda]) -> Iterator[Value | Lambda]:
        """The named values in some lambdas."""
        found: list[Value | Lambda] = []

        def enter(inner: Lambda) -> bool:
            if inner in self.reached.labelled:
                found.append(inner)
                return False
            return True

        def visit(rhs: Rhs | Result | Letrec) -> None:
            if isinstance(rhs, Record | Field) and rhs.owner in self.reached.labelled:
                found.append(rhs.owner)
            for atom in () if isinstance(rhs, Lambda | Letrec) else operands(rhs):
                if isinstance(atom, Constant):
                    found.extend(self._needs_of_value(atom.value))

        for member in members:
            if member in self.reached.labelled or enter(member):
                walk(member, visit, enter)
        yield from found

    def _entry(self, item: Value | Lambda) -> None:
        if not isinstance(item, Lambda):
            name = self.shared[id(item)] = f"shared.{len(self.shared) + 1}"
            self.entries.append(f"(value {name} {self._whole(item)})")
            return
        members = self.reached.labelled[item]
        for _, member in members:
            self.labelled[member] = symbol_text(self._unused(member.name or "procedure", self._labels))
        if members[0][0] is None:
            code = self.reached.types.get(item)
            mark = "" if code is None else f" {string_text(self._mark(code))}"
            self.entries.append(f"(code {self.labelled[item]}{mark}\n    {self._lambda_text(item, 4)})")
            return
        for variable, _ in members:
            assert variable is not None
            self.name(variable)
        lines = []
        for variable, member in members:
            assert variable is not None
            head = f"({self.labelled[member]} {self.name(variable)}"
            lines.append(f"\n    {head}\n      {self._lambda_text(member, 6)})")
        self.entries.append(f"(group{''.join(lines)})")

    def _mark(self, code: Code) -> str:
        """The mark of a type of records. What is read from this text has the type that was saved or read with the mark before.
        It is drawn at random, as types of equal fields differ.
        """
        mark: str = code.machine.record_marks.setdefault(code, os.urandom(8).hex())
        code.machine.marked[mark] = code
        return mark

    # Core.

    def lambda_(self, node: Lambda, indent: int) -> str:
        label = self.labelled.get(node)
        return self._lambda_text(node, indent) if label is None else f"(lambda {label}{self._over(node)})"

    def _lambda_text(self, node: Lambda, indent: int) -> str:
        self.places.append(node.span)
        name = f" {symbol_text(node.name)}" if node.name else ""
        parameters = self.atoms(*node.parameters)
        head = f"(lambda{name} ({parameters}){_backpropagator(node)}{_fields(node)}{self._over(node)}"
        return self.laid_out(head, [self.body(node.body, indent + 2)], indent)

    def rhs(self, rhs: Rhs | Result, indent: int) -> str:
        if isinstance(rhs, Call | Apply | If | Record | Field):
            self.places.append(rhs.span)
        return super().rhs(rhs, indent)

    def _over(self, node: Lambda) -> str:
        return f" (over {self.atoms(*node.free)})" if node.free else ""

    def owner(self, owner: Lambda) -> str:
        label = self.labelled.get(owner)
        return self.reached.names[self.reached.owners[owner]] if label is None else label

    def atom(self, atom: Atom) -> str:
        if isinstance(atom, Variable):
            return self.name(atom)
        if isinstance(atom, GlobalReference):
            self.places.append(atom.span)
            return symbol_text(self.globals[self.reached.cells[atom.cell]])
        value = look(atom.value)
        text = self.value(value)
        return (
            text if type(value) in (float, Boolean) or value is ZERO or text[0] == '"' else f"(quote {text})"
        )

    # Data.

    def value(self, value: Value) -> str:
        value = _unforced(value)
        return self.shared.get(id(value)) or self._whole(value)

    def _whole(self, value: Value) -> str:
        """The text of a value without a name, though its parts may have one."""
        words: list[str] = []
        work = self._pieces(value)
        while work:
            item = work.pop()
            if isinstance(item, _Word):
                words.append(item.text)
                continue
            item = _unforced(item)
            name = self.shared.get(id(item))
            if name is not None:
                words.append(name)
            else:
                work += self._pieces(item)
        return _filled(words)

    def _pieces(self, value: Value) -> list[Value | _Word]:
        """The words and parts of a value, the last one first."""
        if type(value) is tuple and len(value) == 2:
            return self._list(value)
        if type(value) is tuple and value:
            return self._procedure(value)
        if type(value) is Deferred:
            return [_Word(")"), value.zero_of, _Word("(zero")]
        if type(value) is Table:
            return [_Word(")"), *reversed(_parts(value)), _Word("(table")]
        if type(value) is Tensor and value.like.size > self.most_entries:
            return [_Word(f"(blank {kind_name(value.like.dtype)} {shape_text(value.shape)})")]
        return [_Word(_atom_text(value))]

    def _list(self, value: Value) -> list[Value | _Word]:
        """Pairs up to one that is named."""
        elements = [value[0]]
        rest = _unforced(value[1])
        while type(rest) is tuple and len(rest) == 2 and id(rest) not in self.shared:
            elements.append(rest[0])
            rest = _unforced(rest[1])
        if rest == ():
            return [_Word(")"), *reversed(elements), _Word("(list")]
        return [_Word(")"), rest, *reversed(elements), _Word("(cons*")]

    def _procedure(self, value: Value) -> list[Value | _Word]:
        code = value[0]
        transforms, root = self.reached.origins[code]
        if code.closed is not None and not transforms and root in self.reached.names:
            return [_Word(self.reached.names[root])]
        return [_Word(")"), *reversed(_parts(value)), _Word(f"(closure {self._code_text(transforms, root)}")]

    def _code_text(self, transforms: list[str], root: Code) -> str:
        text = self.reached.names.get(root) or self.labelled[root.machine.core_of(root)]
        return "".join([f"({transform} " for transform in transforms]) + text + ")" * len(transforms)


def _fields(node: Lambda) -> str:
    """The names of the fields of the records to which a lambda belongs."""
    if node.fields is None:
        return ""
    words = [symbol_text(one) for one in node.fields]
    words = [
        f"(rest {word})" if type(one) is RestField else word
        for one, word in zip(node.fields, words, strict=True)
    ]
    return f" (record-of {' '.join(words)})"


def _backpropagator(node: Lambda) -> str:
    """Of which procedure a lambda is the backpropagator."""
    if node.backpropagator_of is None:
        return ""
    return f" (backpropagator-of{node.backpropagator_of and ' ' + symbol_text(node.backpropagator_of)})"


def _not_ready(needs: Iterator[Value | Lambda]) -> list[tuple[Value | Lambda, bool]]:
    """The dependencies in reverse, for a stack."""
    return [(need, False) for need in needs][::-1]


class _Word:
    """A piece of text among the parts of a value."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _filled(words: list[str]) -> str:
    """Words in lines, separated by spaces except before a closing parenthesis."""
    out: list[str] = []
    column = 0
    for word in words:
        if out and word != ")":
            wraps = column + len(word) > WIDTH
            out.append("\n    " if wraps else " ")
            column = 4 if wraps else column + 1
        out.append(word)
        column += len(word)
    return "".join(out)


def _atom_text(value: Value) -> str:
    if type(value) is float:
        return real_text(value)
    if type(value) is Tensor:
        return _tensor_text(value)
    if type(value) is String:
        return string_text(value.text)
    if type(value) is Symbol:
        return f"(quote {symbol_text(value.name)})"
    if value is ZERO or value is UNSPECIFIED:
        return "zero" if value is ZERO else "unspecified"
    return "()" if value == () else repr(value)


def _tensor_text(tensor: Tensor) -> str:
    """Its entries as numbers if these are few and exact, else their bytes."""
    array = on_host(tensor.array).reshape(-1)
    kind = kind_name(array.dtype)
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    entries = [] if array.size > MOST_WRITTEN else [_entry_text(entry) for entry in array.tolist()]
    if len(entries) < array.size or not _is_exact(entries, kind, data):
        entries = [f'"{base64.b64encode(data).decode("ascii")}"']
    return f"(tensor {' '.join([kind, shape_text(tensor.shape), *entries])})"


def _entry_text(entry: Any) -> str:
    return ("#t" if entry else "#f") if isinstance(entry, bool) else real_text(float(entry))


def _is_exact(entries: list[str], kind: str, data: bytes) -> bool:
    """Whether these texts read back as these bytes."""
    try:
        return bool(array_of([_entry(text) for text in entries], kind).tobytes() == data)
    except (ValueError, OverflowError):
        return False


def _entry(text: str) -> Any:
    return text == "#t" if text in ("#t", "#f") else number(text)


def array_of(entries: list[Any], kind: str) -> Any:
    """A vector of numbers from a text. Raises ValueError or OverflowError if they are not of the kind."""
    numpy = load_numpy()

    if any((type(entry) is bool) != (kind == "bool") for entry in entries):
        raise ValueError
    if kind in WHOLE_KINDS:
        if not all(entry.is_integer() for entry in entries):
            raise ValueError
        entries = [int(entry) for entry in entries]
    with quiet():
        return numpy.array(entries, numpy.dtype(kind).newbyteorder("<"))
