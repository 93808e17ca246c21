"""Python values ↔ values of the language, and procedures as Python callables.

    float, int        real                 (a float comes back)
    bool              boolean
    str               string; a symbol comes back as its name
    None              the unspecified value
    list              list
    tuple             a tuple by the tuple rule: (a, b, c) is (a . (b . c)), and comes back as nested tuples of two. Named tuples
                      and dataclasses are the tuples of their fields
    dict              association list: the list of the pairs of key and value
    array             tensor, without a copy
    Table             table, both ways (handles.py)
    Record            a record of a program, both ways
    procedure         `Procedure`, which Python calls with any number of arguments
    callable          procedure of the session it is given to (host.py)
    Opaque(x)         host object, which comes back as x
    Reference         a cell, both ways

For translated Python functions (functions.py), which distinguish them, a tuple is the chain of its items that ends in the symbol
%tuple, None is the symbol %none, and dicts, sets, named tuples and frozen dataclasses begin with a symbol (data/records.py). All
come back as what they are.

Called by session/. Raises NoCounterpart, which is a VladError and a TypeError, for other Python values: a number
of another type, such as a Decimal, would not count as one in derivatives, so it does not become a host object implicitly.

Both directions of a conversion stand side by side. Arrays are in arrays.py, the parts of structures in structures.py.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from operator import is_not
from types import CellType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from vlad.compile.calling.variants import Options
from vlad.control.safe_import import import_safely
from vlad.data.errors import NoCounterpart, VladError, no_counterpart
from vlad.data.records import (
    DICT,
    EXCEPTION,
    FROZENSET,
    HEADS_OF_SETS,
    NONE,
    SET,
    SETS,
    TUPLE,
    exception_parts,
)
from vlad.data.source import Span
from vlad.data.tables import KEY, VALUE, elements, table_of
from vlad.data.tables import Table as TableValue
from vlad.data.tensors import Tensor, frozen, is_array
from vlad.data.values import (
    FALSE,
    NIL,
    TRUE,
    UNSPECIFIED,
    ZERO,
    Boolean,
    Opaque,
    Primitive,
    Reference,
    Role,
    String,
    Symbol,
    Unspecified,
    Value,
    is_procedure,
    list_of,
    look,
    symbol,
)
from vlad.evaluate.limits import deep_recursion
from vlad.expand.arity import Named, Signature, of_named, signature, wrong_number
from vlad.messages.spelling import among
from vlad.python.arrays import expect_exact, exported, is_beyond, tensor_of
from vlad.python.call_errors import reword_call, reword_rows
from vlad.python.handles import Record, Table
from vlad.python.procedure_docs import code_of, doc_of, headline, place_of, python_name, python_signature
from vlad.python.structures import (
    copied,
    fields_of,
    head_of,
    headed,
    none_of_sets,
    parts_held,
    parts_of,
    record_fields,
    tuple_of,
)

if TYPE_CHECKING:
    from vlad.data.records import Record as RecordClass

Guard = tuple[
    Any, ...
]  # (dictionary, name, value), (dictionary, name) for one without value, (a closure's cell, value)


def are_current(guards: Sequence[Guard]) -> bool:
    """Do names have these values? (c_extension.c has the same.)"""
    for first, *rest in guards:
        if isinstance(first, CellType):
            try:
                if first.cell_contents is not rest[0]:
                    return False
            except ValueError:
                return False
        elif (rest[0] in first) if len(rest) == 1 else (first.get(rest[0], guards) is not rest[1]):
            return False
    return True


class Apply(Protocol):
    """How Python calls procedures of a session (session/calls.py)."""

    session: Any
    repeats: bool  # whether an evaluation is repeated, whose effects are done
    guards: Sequence[Guard]  # of a translated Python function: names outside, and their values
    is_of_python: bool  # whether its procedures are translated Python functions
    derived: dict[Any, tuple[Value, Value]]

    def use(self, record: RecordClass) -> None: ...

    def __call__(self, procedure: Value, argument: Value, options: Options | None = None) -> Value: ...

    def python_result(self, procedure: Value, argument: Value, options: Options | None = None) -> Any: ...

    def procedure(self, function: Callable[..., Any]) -> Value: ...

    def named_of(self, procedure: Value) -> Named | None: ...

    def with_names(self, takes: Primitive | Named, named: Mapping[str, Value]) -> Value: ...

    def quicken(self, procedure: Procedure) -> None: ...

    def prepare(self, procedure: Procedure, operands: tuple[Value, ...]) -> None: ...

    def reduced(self, procedure: Value) -> Any: ...


P = TypeVar("P", bound="Procedure")
# Kinds of number, as Python and NumPy call them.
OF_PYTHON = {"float": "float64", "int": "int64", "bool": "boolean"}


# What determines the results of procedures, as in c_extension.c: machine code alone; `_shaped`; that or `_restructured`; or the
# structure of the arguments, for a gradient, or a value and a gradient.
PLAIN, RESHAPES, RESTRUCTURES, LIKE_ARGUMENTS, VALUE_LIKE_ARGUMENTS = range(5)
# Of a translated Python function: the names of the parameters, None for those given by place; their defaults; what is none.
Places = tuple[tuple[str | None, ...], tuple[Any, ...], Any]


class Procedure:
    """A procedure of a session. Calling it converts arguments and result; errors are VladErrors.

    Like a Python function it has a `__name__`, a `__doc__` (its doc comment), and a signature. With `options` it always runs
    compiled, or raises an error with the reason (compiling.py).
    """

    __slots__ = ("_apply", "guards", "options", "places", "quicks", "value", "__weakref__")

    reshapes = PLAIN  # what determines the result, beside machine code

    def __init__(self, value: Value, apply: Apply, options: Options | None = None) -> None:
        self.value = value
        self.options = options
        self._apply = apply
        # machine code (quick.Quick); once it is connected, the session's own list
        self.quicks: Sequence[Any] = ()
        # of translated Python functions: the names outside, which must have the values of when they were translated
        self.guards: Sequence[Guard] = apply.guards
        self.places: Places | None = None

    @property
    def session(self) -> Any:
        """The session that it belongs to."""
        return self._apply.session

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """As soon as there is machine code to call, c_extension.c's replaces this one, if available (`_by_c`)."""
        if named:
            return self._by_name(*arguments, **named)
        if self.quicks:
            _by_c()
        for leaves_of, shape in self.quicks if are_current(self.guards) else ():
            leaves = leaves_of(arguments)
            if leaves is not NotImplemented:
                result = self._shaped(leaves) if self.reshapes else shape(leaves)
                if result is not NotImplemented:
                    return result
        return self._otherwise(*arguments)

    def _otherwise(self, *arguments: Any) -> Any:
        """If there is no machine code for the arguments as they are."""
        try:
            return self._by_place(arguments)
        except VladError as error:
            error.leave()
            raise

    def _by_name(self, *arguments: Any, **named: Any) -> Any:
        """A call with names."""
        try:
            return self._with_names(arguments, named)
        except VladError as error:
            error.leave()
            raise

    def _by_place(self, arguments: tuple[Any, ...]) -> Any:
        if self.quicks:
            floats = with_floats(arguments)
            if floats is not None:
                return self(*floats)
        return self._slowly(arguments)

    def renewed(self) -> Value:
        """The procedure, made anew if it depends on what has changed outside (functions.py)."""
        return self.value

    def renewed_for(self, arguments: tuple[Any, ...]) -> Value:
        """The same for a call. Raises VladError if it has an attribute that nothing in use has; a record among the arguments may
        be of a class that nothing has used before.
        """
        self.renewed()
        if self.refusal() is not None:
            self.packed(arguments)
            self.renewed()
            error = self.refusal()
            if error is not None:
                raise error
        return self.value

    def refusal(self) -> VladError | None:
        """The error of a call, if it is known without one (functions.py)."""
        return None

    def completed(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call in the order of the parameters, with defaults, if it has names for them (functions.py)."""
        return arguments

    def _slowly(self, arguments: tuple[Any, ...]) -> Any:
        """The general path, with conversion, checks and explained errors."""
        try:
            result = self._call(arguments)
        except VladError as error:
            self.reword(error, arguments)
            raise
        if type(self.quicks) is tuple:
            self._apply.quicken(self)
        return result

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        count = len(arguments)
        if count == 1 and type(arguments[0]) is float:
            return self._apply.python_result(self.value, arguments[0], self.options)
        if count == 2 and type(arguments[0]) is float and type(arguments[1]) is float:
            return self._apply.python_result(self.value, arguments, self.options)  # the pair that they form
        packed = self.packed(arguments)  # first, as records among them may change the procedure
        return self._apply.python_result(self.renewed(), packed, self.options)

    def _with_names(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """A call with keyword operands of a primitive or of a procedure of the library: `#:axis 0` is `axis=0`. Raises VladError
        if it has no such keyword.
        """
        taken, takes = self.taken(), self._takes()
        names = {} if takes is None else {python_name(name): name for name in takes.keywords}
        for name in named:
            if name not in names:
                hint = f"it takes {' and '.join(names)}" if names else "its arguments are given by place"
                meant = among(name, dict(zip(names, names, strict=True)))
                hint = hint if meant is None else f"{meant} {hint}"
                message = f"{self.__name__} takes no argument by the name of {name}"
                raise VladError("unknown-keyword", message, self.place(), hint)
        if takes is None or len(arguments) != taken.count:
            expected = of_named(takes) if isinstance(takes, Named) else taken
            raise wrong_number(expected, len(arguments), span=self.place())
        values = [from_python(argument, self._apply) for argument in arguments]
        fixed: dict[str, Value] = {}  # a flag, or one of a few choices, is part of the primitive's procedure
        for by_name, name in names.items():
            default = takes.keywords[name]
            if by_name in named:
                value = _by_its_name(named[by_name], default, self._apply)
                is_fixed = isinstance(takes, Primitive) and isinstance(value, Boolean | Symbol)
                fixed[name] = value if is_fixed else UNSPECIFIED
                values += [] if is_fixed else [value]
            elif isinstance(takes, Named):
                values.append(default)
        try:
            with_names = self._apply.with_names(takes, fixed)
            return self._apply.python_result(with_names, tuple_of(values), self.options)
        except VladError as error:
            self.reword(error, arguments)
            raise

    def _takes(self) -> Primitive | Named | None:
        """Its primitive, or what a procedure of the library takes by name; None if it is neither."""
        if type(self) is not Procedure or self.session.closed:
            return None
        return code_of(self.value).primitive or self._apply.named_of(self.value)

    def _signature(self) -> Any:
        takes = self._takes()
        defaults = {} if takes is None else takes.keywords
        named = {python_name(name): to_python(value, self._apply) for name, value in defaults.items()}
        return python_signature(self.taken(), named)

    def reword(self, error: VladError, arguments: tuple[Any, ...]) -> None:
        """Reword an error of a call with these arguments in terms of the call."""
        if not isinstance(error, NoCounterpart):
            operands = [from_python(argument, self._apply) for argument in arguments]
            tuples = [value for value, given in zip(operands, arguments, strict=True) if type(given) is tuple]
            reword_call(error, self.taken(), self.place(), operands, tuples, self._apply.is_of_python)
            if self._apply.is_of_python:
                reword_rows(error)

    def connect(self, quicks: Sequence[Any]) -> None:
        """Call the machine code in this list from now on, including later entries."""
        if self.takes_places:
            self.quicks = quicks

    @property
    def takes_places(self) -> bool:
        """Are all arguments given by place, one for each parameter, as machine code takes them?"""
        return True

    def _shaped(self, leaves: tuple[Any, ...]) -> Any:
        """The result with these leaves; NotImplemented if they do not determine it. Called only if `reshapes` is set
        (derivatives.py).
        """
        raise NotImplementedError

    def _restructured(self, value: Value, arguments: tuple[Any, ...]) -> Any:
        """The result for arguments with a structure, from the value of the language. Called only if `reshapes` is at least
        `RESTRUCTURES`.
        """
        raise NotImplementedError

    def packed(self, arguments: Sequence[Any]) -> Value:
        """The arguments as one value of the language."""
        values = list[Value]()
        try:
            for argument in arguments:
                values.append(argument if type(argument) is float else from_python(argument, self._apply))
        except NoCounterpart as error:
            if self._apply.is_of_python:
                error.state_place(self._argument(len(values)), self.place())
            raise
        if len(values) > 1 and type(arguments[-1]) is tuple:
            self._expect_all(len(values))
        return values[0] if len(values) == 1 else tuple_of(values)

    def _expect_all(self, count: int) -> None:
        """Raise VladError if a procedure of the library is given several arguments, but not all: a tuple in the last place would
        be the rest of them, as in texts (expander.py)."""
        code = code_of(self.value)
        if code.primitive is not None or code in code.machine.of_library:
            taken = self.taken()
            if count < taken.count and not taken.rest:
                raise wrong_number(taken, count, span=self.place())

    def _argument(self, number: int) -> str:
        """An argument, counted from 0, in words."""
        taken = self.taken()
        own = taken.parameters[number] if number < len(taken.parameters) else str(number)
        return f"in the argument {own} of {taken.name}"

    def run(self, argument: Value) -> Value:
        """The result for a value of the language, as such a value."""
        return self._apply(self.renewed(), argument, self.options)

    def compiled(self: P, options: Options) -> P:
        """The same procedure, always compiled."""
        return type(self)(self.value, self._apply, options)

    def prepare(self, operands: tuple[Value, ...]) -> None:
        """Compile it for operands like these. Raises VladError if that is impossible."""
        self._apply.prepare(self, operands)

    @property
    def __name__(self) -> str:
        return (self.value[0] if self.session.closed else code_of(self.value)).name or "λ"

    def taken(self) -> Signature:
        """Its signature; unknown if the session is closed."""
        if self.session.closed:
            return Signature(self.__name__, "arguments", ("arguments",), True)
        code = code_of(self.value)
        return signature(code.machine, code)

    def counters(self) -> Mapping[str, Span]:
        """The parameters that are whole numbers, by which there is no derivative, each with the place of a use (functions.py)."""
        return {}

    def place(self) -> Span | None:
        """The place of its definition, if any."""
        return None if self.session.closed else place_of(code_of(self.value))

    def _summary(self) -> str:
        """The first line of its documentation."""
        return f"{self.__name__} of a closed session" if self.session.closed else headline(self.value)

    def _documented(self) -> str:
        return self._summary() if self.session.closed else doc_of(self.value)

    def __repr__(self) -> str:
        return f"<vlad {'compiled ' if self.options else ''}procedure {self._summary()}>"

    def __eq__(self, other: object) -> bool:
        """Whether it is the same procedure of the same session, with the same options."""
        if not isinstance(other, Procedure) or type(self) is not type(other):
            return NotImplemented
        return self.value is other.value and self._apply is other._apply and self.options == other.options

    def __hash__(self) -> int:
        return hash((id(self.value), self.options))

    def __copy__(self) -> Procedure:
        return self

    def __deepcopy__(self, memo: Any) -> Procedure:
        return self

    def __reduce__(self) -> Any:
        """For pickle: its text, which unpickling reads (dump.py). Raises VladError if it has none."""
        if self.options is not None:
            return _compiled_again, (Procedure(self.value, self._apply), self.options)
        return self._apply.reduced(self.value)

    def is_found_by_name(self) -> bool:
        """Does pickle save its name only? Then it belongs to another session where it is found (functions.py)."""
        return False

    def __init_subclass__(cls) -> None:
        for prepare in _for_classes:
            prepare(cls)


def _compiled_again(procedure: P, options: Options) -> P:
    """Restore a pickled compiled procedure."""
    return procedure.compiled(options)


@functools.cache
def _by_c() -> None:
    """Route calls through c_extension.c from now on, if it is available, including those of later classes."""
    from vlad.compile.native.c_extension import border

    in_c = border()
    if in_c is None:
        return

    def install(kind: Any) -> None:
        if kind is Procedure or "reshapes" in vars(kind):
            like = vars(type)["__call__"]
            slots = [vars(Procedure)[name] for name in ("quicks", "guards", "places")]
            kind.__call__ = in_c.method(kind, like, *slots, kind.reshapes, record_fields, copied, Tensor)

    kinds: list[Any] = [Procedure]
    for kind in kinds:
        install(kind)
        kinds += kind.__subclasses__()
    _for_classes.append(install)


class _Computed:
    """An attribute that procedures compute on access; `of_class` is that of their class."""

    def __init__(self, of_procedure: Callable[[Any], Any], of_class: Any = None) -> None:
        self.of_procedure = of_procedure
        self.of_class = of_class

    def __get__(self, procedure: Any, kind: type) -> Any:
        if procedure is not None:
            return self.of_procedure(procedure)
        if self.of_class is None:
            raise AttributeError
        return self.of_class


def _add_attributes(kind: type[Procedure]) -> None:
    """Make attributes that classes have themselves attributes of its procedures."""
    kind.__doc__ = _Computed(lambda procedure: procedure._documented(), kind.__doc__)  # type: ignore[assignment]
    kind.__signature__ = _Computed(lambda procedure: procedure._signature())  # type: ignore[attr-defined]


_add_attributes(Procedure)
_for_classes: list[Callable[[type[Procedure]], None]] = [_add_attributes]  # applied to each class


def with_floats(arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments with floats for other real numbers, but for whole ones beyond LARGEST_WHOLE; None if there are none."""
    found = []
    for argument in arguments:
        kind = type(argument)
        is_real = kind is not float and kind is not bool and isinstance(argument, float | int)
        found.append(float(argument) if is_real and not is_beyond(argument) else argument)
    return tuple(found) if any(map(is_not, found, arguments)) else None


def from_python(value: Any, apply: Apply | None = None) -> Value:
    """Convert a Python value to one of the language, in the session of `apply`. Raises NoCounterpart."""
    return _however_deep(_from_python, value, apply)


def _by_its_name(value: Any, default: Value, apply: Apply) -> Value:
    """A keyword operand: a symbol, list or #f in a program is a string, a tuple or None in Python; a
    kind of number may have NumPy's name.
    """
    if value is None and type(default) is not String:
        return FALSE if type(default) is not Symbol else default
    if type(default) is Symbol and not isinstance(value, str):
        name = getattr(value, "name", None) or getattr(value, "__name__", None)
        value = OF_PYTHON.get(name, name) if isinstance(name, str) else value
    if isinstance(value, str) and type(default) is not String:
        return symbol(value)
    return from_python(_listed(value), apply)


def _listed(value: Any) -> Any:
    """Tuples as lists, also within tuples."""
    return [_listed(item) for item in value] if type(value) is tuple else value


def _however_deep(convert: Callable[..., Any], value: Any, *more: Any) -> Any:
    """The result of a conversion. Nests deeper than Python's limit take longer, but no more of the C stack."""
    try:
        return convert(value, *more)
    except RecursionError:
        _refuse_cycles(value)
    with deep_recursion():
        return convert(value, *more)


def _refuse_cycles(value: Any) -> None:
    """Raise NoCounterpart if a value contains itself."""
    around: set[int] = set()
    done: dict[int, Any] = {}  # keeps it alive, so that its id stays unique
    work: list[tuple[Any, bool]] = [(value, False)]
    while work:
        item, is_done = work.pop()
        if is_done:
            around.discard(id(item))
            done[id(item)] = item
        elif id(item) in around:
            what = f"A {type(item).__name__} that holds itself"
            raise no_counterpart(what, "values of the language are finite trees")
        elif id(item) not in done and (parts := parts_held(item)):
            around.add(id(item))
            work.append((item, True))
            work += [(part, False) for part in parts]


def _from_python(value: Any, apply: Apply | None) -> Value:
    kind = type(value)
    if kind is float:
        return value
    if kind is bool:
        return TRUE if value else FALSE
    if isinstance(value, float | int):
        return _real(value, apply)
    if isinstance(value, str):
        return String(value if kind is str else str.__str__(value))
    if value is None:
        return UNSPECIFIED if apply is None or not apply.is_of_python else NONE
    if isinstance(value, Procedure):
        if value.session is getattr(apply, "session", None):
            return value.value
        if apply not in (None, value._apply):
            raise _of_another_session(f"{value.__name__} is a procedure")
        return value.value
    if isinstance(value, list | range):
        return list_of(_each_from(value, apply))
    if apply is not None and apply.is_of_python:
        structure = _structure_of_python(value, apply)
        if structure is not None:
            return structure
    if isinstance(value, tuple):
        return tuple_of(_each_from(value, apply))
    if isinstance(value, dict):
        return list_of([(_from_python(key, apply), _from_python(part, apply)) for key, part in value.items()])
    array = value if is_array(value) else exported(value)
    if array is not None:
        return _array(array, apply)
    fields = record_fields(value)
    if fields is not None:
        return _from_python(fields, apply)
    if isinstance(value, Opaque | Reference | Table | Record):
        return _kept(value, apply)
    if callable(value) and apply is not None:
        return apply.procedure(value)
    raise no_counterpart(
        f"A Python {kind.__name__}", f"{_way(value)}; `vlad.Opaque(…)` hands it over as it is"
    )


def _way(value: Any) -> str:
    """What to pass instead of a value that has no counterpart."""
    kind = type(value)
    if kind is set or kind is frozenset:
        return "pass a list, such as `sorted(s)`; functions of `vlad.function` take sets"
    if hasattr(value, "__dict__") and kind.__module__.partition(".")[0] not in sys.stdlib_module_names:
        return f"{OBJECTS}; or pass the numbers and arrays in it as arguments"
    return "numbers, booleans, strings, lists, tuples, dicts, dataclasses, arrays and procedures have"


# The way for classes.
OBJECTS = "instances are values: a NamedTuple, or a frozen dataclass, whose methods return new ones"


def _each_from(values: Sequence[Any], apply: Apply | None) -> list[Value]:
    parts = []
    for part in values:
        parts.append(part if type(part) is float else _from_python(part, apply))
    return parts


def _structure_of_python(value: Any, apply: Apply) -> Value | None:
    """A tuple, a dict or a record for a translated function; None for other values."""
    if isinstance(value, tuple):
        items = tuple_of([*_each_from(value, apply), TUPLE])
        return (_record_of(value, apply).symbol, items) if hasattr(type(value), "_fields") else items
    if isinstance(value, Counter):
        raise no_counterpart("A Python Counter", "a dict of it has: `dict(c)`")
    if isinstance(value, dict):
        return DICT, list_of([(_key(key, apply), _from_python(part, apply)) for key, part in value.items()])
    if isinstance(value, set | frozenset):
        return _set_of(value, apply)
    fields = record_fields(value)
    return None if fields is None else (_record_of(value, apply).symbol, list_of(_each_from(fields, apply)))


def _set_of(value: Set[Any], apply: Apply) -> Value:
    """A set or a frozenset, as python-sets.vlad has it: a table from what makes elements the same to the elements."""
    apply.use(SETS)
    elements = [_from_python(one, apply) for one in value]
    keys = [_element(made, one) for made, one in zip(elements, value, strict=True)]
    head = FROZENSET if isinstance(value, frozenset) else SET
    return head, table_of(zip(keys, elements, strict=True))


def _element(made: Value, value: Any) -> Value:
    """What two elements share if and only if they are the same: `%py-element`. `made`: the value, converted."""
    if type(made) is Boolean:
        return float(made is TRUE)
    if isinstance(value, frozenset):
        return FROZENSET, table_of([(leaf[KEY], TRUE) for leaf in look(made[1]).leaves()])
    fields = value if isinstance(value, tuple) else record_fields(value)
    if fields is None:
        return made
    parts, items, head = [], made, None
    if not isinstance(value, tuple) or hasattr(type(value), "_fields"):
        head, items = made
    for part in fields:
        parts.append(_element(items[0], part))
        items = items[1]
    keys = tuple_of([*parts, TUPLE]) if isinstance(value, tuple) else (head, list_of(parts))
    return keys


def _record_of(value: Any, apply: Apply) -> RecordClass:
    """What is known of the class of a record, which comes into use. Raises NoCounterpart."""
    from vlad.data.records import NoRecord, record_of

    try:
        record = record_of(type(value))
    except NoRecord as error:
        raise no_counterpart(f"An instance of {error.what}", error.hint) from None
    apply.use(record)
    return record


def _key(key: Any, apply: Apply) -> Value:
    """A key of a dict: a text is a symbol, which is part of the type."""
    if isinstance(key, str):
        if not key.startswith("%"):
            return symbol(key)
    elif isinstance(key, int | float | frozenset) or (
        isinstance(key, tuple) and key and not hasattr(key, "_fields")
    ):
        return _from_python(key, apply)
    hint = "texts that do not begin with %, numbers, booleans, and tuples have"
    raise no_counterpart(f"The key {key!r}", hint)


def _real(value: float, apply: Apply | None) -> float:
    if apply is not None and apply.is_of_python:
        expect_exact(value)
    try:
        return float(value)
    except OverflowError:
        raise no_counterpart("A whole number of this size", "reals go up to about 1.8e308") from None


def _array(array: Any, apply: Apply | None) -> Value:
    """An array as a tensor. Raises NoCounterpart if it is a translated function's and would be rounded."""
    if apply is not None and apply.is_of_python:
        expect_exact(array)
    return tensor_of(array)


def _of_another_session(what: str) -> NoCounterpart:
    hint = (
        "`vlad.loads(vlad.dumps(…), session)` makes the same of this one; "
        "`@session.function` decorates a Python function for it"
    )
    return NoCounterpart("other-session", f"{what} of another session", hint=hint)


def _kept(value: Any, apply: Apply | None) -> Value:
    """What stands for a value of the language, and keeps it, as that value; a table that Python made, as such."""
    if isinstance(value, Record):
        if apply not in (None, value._apply) and value._apply.session is not getattr(apply, "session", None):
            raise _of_another_session(f"{value!r} is a record")
        return value._value
    if not isinstance(value, Table):
        return value
    if value.value is not None:
        return value.value
    return table_of([(_from_python(key, apply), _from_python(part, apply)) for key, part in value.items()])


Leaf = Callable[[Any, Value], Any]


def like(model: Any, value: Value, apply: Apply, leaf: Leaf | None = None) -> Any:
    """A tangent or sensitivity of a Python value, as a Python value of the same structure; `leaf` converts the
    counterpart of a part without parts, from that part and the value.
    """
    if leaf is None and type(model) is float:
        return to_python(value, apply)
    return _however_deep(_like, model, value, leaf or (lambda _, part: _to_python(part, apply)))


def _like(model: Any, value: Value, leaf: Leaf) -> Any:
    end: Value = TUPLE if isinstance(model, tuple) else None  # what its parts may end with
    head: Symbol | None = None  # which a dict or a record of a translated function begins with
    if not isinstance(model, list) and parts_held(model):
        seen = look(value)
        head = head_of(seen)
        if head is not None:
            value, end = seen[1], TUPLE if isinstance(model, tuple) else NIL
    if isinstance(model, list):
        parts = []
        for item in model:
            part, value = look(value)
            parts.append(_like(item, part, leaf))
        return parts
    if isinstance(model, dict):
        named = {}
        for key, item in model.items():
            pair, value = look(value)
            named[key] = _like(item, look(pair)[1], leaf)
        return named
    if isinstance(model, tuple):
        parts = _like_each(model, value, leaf, end)
        return model._make(parts) if hasattr(model, "_make") else tuple(parts)
    if hasattr(type(model), "__dataclass_fields__"):
        parts = _like_each(tuple(fields_of(model).values()), value, leaf, end)
        return copied(model, parts) if head is None else headed(head, (), parts)
    if isinstance(model, set | frozenset):
        raise none_of_sets()
    return leaf(model, value)


def _like_each(models: tuple[Any, ...], value: Value, leaf: Leaf, end: Value) -> list[Any]:
    parts = []
    counterparts = parts_of(value, len(models))
    rest = look(counterparts[-1]) if models and end is not None else None
    if type(rest) is tuple and len(rest) == 2 and look(rest[1]) == end:
        counterparts[-1] = rest[0]
    for model, part in zip(models, counterparts, strict=True):
        parts.append(_like(model, part, leaf))
    return parts


def to_python(value: Value, apply: Apply) -> Any:
    """Convert to a Python value; proper lists become lists, other pairs tuples of two."""
    value = look(value)
    kind = type(value)
    if kind is float:
        return value
    if kind is Tensor:
        return frozen(value.array)
    try:
        return _to_python(value, apply)
    except RecursionError:
        with deep_recursion():
            return _to_python(value, apply)


def _to_python(value: Value, apply: Apply) -> Any:
    value = look(value)
    if type(value) is float:
        return value
    if isinstance(value, Boolean):
        return value is TRUE
    if isinstance(value, String):
        return value.text
    if isinstance(value, Symbol):
        return None if value is NONE else () if value is TUPLE else value.name
    if isinstance(value, Unspecified):
        return None
    if type(value) is Tensor:
        return frozen(value.array)
    if value == ():
        return []
    if type(value) is tuple and len(value) == 2:
        head = head_of(value)
        parts = exception_parts(value) if head is EXCEPTION else None
        if parts is not None:
            return _exception_to_python(parts, apply)
        if head is not None and head is not EXCEPTION:
            return _headed_to_python(head, look(value[1]), apply)
        return _pairs_to_python(value, apply)
    if is_procedure(value):
        if value[0].role is Role.VECTOR:
            return [to_python(one, apply) for one in elements(value)]
        return _record_to_python(value, apply) if value[0].role is Role.RECORD else Procedure(value, apply)
    if type(value) is TableValue:
        items = {}
        for leaf in value.leaves():
            items[_hashable(_to_python(leaf[KEY], apply))] = _to_python(leaf[VALUE], apply)
        return Table(items, value)
    if isinstance(value, Opaque):
        return value.object
    return 0.0 if value is ZERO else value


def _hashable(key: Any) -> Any:
    """A key of a dict: lists and arrays become tuples."""
    if isinstance(key, list | tuple):
        return tuple([_hashable(part) for part in key])
    return _hashable(key.tolist()) if is_array(key) else key


def _record_to_python(value: Value, apply: Apply) -> Record | Procedure:
    code = value[0]
    names = code.machine.core_of(code).fields
    if names is None:  # a part of a compiled table, which programs do not get
        return Procedure(value, apply)
    fields = {
        python_name(name): _to_python(part, apply) for name, part in zip(names, value[1:], strict=False)
    }
    return Record(code.name, fields, value, apply)


def _pairs_to_python(value: Value, apply: Apply) -> Any:
    parts = []
    while type(value) is tuple and len(value) == 2:
        parts.append(_to_python(value[0], apply))
        value = look(value[1])
    if type(value) is tuple and not value:
        return parts
    if value is TUPLE:
        return tuple(parts)
    result = _to_python(value, apply)
    for part in reversed(parts):
        result = (part, result)
    return result


def key_of(value: Value, apply: Apply) -> Any:
    """A key of a dict."""
    key = look(value)
    return key.name if type(key) is Symbol else _to_python(key, apply)


def _exception_to_python(parts: tuple[Value, ...], apply: Apply) -> Any:
    own, message, arguments, fields = parts
    words = look(apply(message, ()) if is_procedure(message) else message)
    given = [_to_python(one, apply) for one in (arguments, fields)]
    return import_safely("vlad.data.raised").python_exception(own.name, words.text, *given)


def _headed_to_python(head: Symbol, rest: Value, apply: Apply) -> Any:
    if head in HEADS_OF_SETS:
        elements = [_to_python(leaf[VALUE], apply) for leaf in look(rest).leaves()]
        return set(elements) if head is SET else frozenset(elements)
    keys, parts = [], []
    while type(rest) is tuple and rest:
        part, rest = look(rest[0]), look(rest[1])
        if head is DICT:
            keys.append(key_of(part[0], apply))
            part = part[1]
        parts.append(_to_python(part, apply))
    return headed(head, keys, parts)
