"""Records: the classes of Python's whose instances translated functions take apart, and the symbols that stand for them.

In: classes.  Out: `Record`s, for named tuples and frozen dataclasses, whose instances are the chain of their fields behind the
class's symbol (stdlib/python-structures.vlad), and for classes of exceptions. Translations decide by the records in use in their
session what an attribute means; so `InUse` is what calls compare (translate/reads.py).
"""

from __future__ import annotations

import weakref
from typing import Any

from vlad.data.python_functions import python_of
from vlad.data.values import RECORDS, String, Symbol, Value, is_procedure, look, symbol

# In translated Python functions: None; the end of a tuple; the beginning of a dict, of a set, of a frozenset, of an exception,
# (%exception CLASS message arguments field ... . %tuple). The symbol CLASS is a key of `EXCEPTIONS`, or the name of a class of
# Python's (data/raised.py). The message is a string, or a procedure that makes it; the arguments are a tuple.
NONE, TUPLE, DICT, EXCEPTION = symbol("%none"), symbol("%tuple"), symbol("%dict"), symbol("%exception")
SET, FROZENSET = HEADS_OF_SETS = symbol("%set"), symbol("%frozenset")
# The keys in `InUse` of all records, of those that define operators, of sets, and of classes of exceptions.
EVERY, OPERATED, OF_SETS, RAISED = "", "+", "{}", "!"


class Record:
    """What is known of a class; made once for each. A plain class, as a dataclass costs time when programs start.

    kind      the class
    symbol    which stands for it
    fields    their names, in order
    is_tuple  is it a named tuple?
    keys      its attributes, `EVERY`, and `OPERATED` if it defines operators; or, of exceptions, its attributes and `RAISED`
    """

    __slots__ = ("fields", "is_tuple", "keys", "kind", "symbol")

    def __init__(
        self, kind: type, own: Symbol, fields: tuple[str, ...], is_tuple: bool, keys: tuple[str, ...]
    ) -> None:
        self.kind = kind
        self.symbol = own
        self.fields = fields
        self.is_tuple = is_tuple
        self.keys = keys


# What a class must not define itself: then operators, loops and tests of its instances would not mean what they mean for fields.
_REPLACED = (
    "__init__", "__new__", "__post_init__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__len__",
    "__iter__", "__getitem__", "__contains__", "__getattr__", "__getattribute__", "__setattr__", "__reversed__", "__index__",
    "__float__", "__int__", "__round__", "__divmod__", "__rdivmod__", "__pos__", "__invert__", "__trunc__", "__floor__",
    "__ceil__", "__and__", "__rand__", "__or__", "__ror__", "__xor__", "__rxor__", "__lshift__", "__rlshift__", "__rshift__",
    "__rrshift__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__imatmul__",
    "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__",
)  # fmt: skip
# What it may define: the methods of operators, and of calls.
_BINARY = "add sub mul truediv floordiv mod pow matmul"
BINARY_OPERATORS = tuple([f"__{side}{name}__" for name in _BINARY.split() for side in ("", "r")])
OPERATORS = ("__call__", "__neg__", "__abs__", *BINARY_OPERATORS)
SETS = Record(set, SET, (), False, (OF_SETS,))  # that sets are in use
InUse = dict[str, tuple[Record, ...]]  # for each key: the records in use in a session that have it
EXCEPTIONS: dict[Symbol, Record] = {}  # those of classes of exceptions, by their symbols
_known: weakref.WeakKeyDictionary[type, Record] = weakref.WeakKeyDictionary()


class NoRecord(Exception):
    """A class that looks like a record, and cannot be one: what it is, and a hint."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def is_record(kind: type) -> bool:
    """Is a class a named tuple or a dataclass?"""
    is_named = issubclass(kind, tuple) and hasattr(kind, "_fields") and hasattr(kind, "_make")
    return is_named or hasattr(kind, "__dataclass_fields__")


def record_of(kind: type) -> Record:
    """What is known of such a class. Raises NoRecord."""
    found = _known.get(kind)
    if found is None:
        found = _known[kind] = _registered(kind)
    return found


def exception_record(kind: type, fields: tuple[str, ...]) -> Record:
    """What is known of a class of exceptions, whose constructor gives its instances these attributes."""
    found = _known.get(kind)
    if found is None:
        own = _own_symbol(kind)
        names = {*fields, *_names_in(kind)}
        found = EXCEPTIONS[own] = _known[kind] = Record(kind, own, fields, False, (*sorted(names), RAISED))
    return found


def _own_symbol(kind: type) -> Symbol:
    base, number = f"%{kind.__module__}.{kind.__qualname__}", 1
    own = symbol(base)
    while own in RECORDS or own in EXCEPTIONS:
        number += 1
        own = symbol(f"{base}.{number}")
    return own


def _names_in(kind: type) -> list[str]:
    """The names that a class and its bases define, as far as they are no classes of Python's own."""
    return [name for one in kind.__mro__ if one.__module__ != "builtins" for name in vars(one)]


def _registered(kind: type) -> Record:
    import inspect  # 10 ms, already imported where functions are translated

    is_tuple = issubclass(kind, tuple)
    fields: tuple[str, ...] = getattr(kind, "_fields", ()) if is_tuple else _expect_value(kind)
    for name in _REPLACED:
        if is_written(inspect.getattr_static(kind, name, None)):
            raise NoRecord(
                f"{kind.__name__}, which defines {name},", "instances are their fields, and no more"
            )
    own = _own_symbol(kind)
    names = {*fields, *_names_in(kind)}
    defines = any(is_written(inspect.getattr_static(kind, name, None)) for name in OPERATORS)
    keys = (*sorted(names), EVERY, *[OPERATED] * defines)
    found = RECORDS[own] = Record(kind, own, fields, is_tuple, keys)
    return found


def use(record: Record, in_use: InUse) -> None:
    """Note that a record is in use."""
    if record not in in_use.get(record.keys[-1], ()):
        for key in record.keys:
            in_use[key] = (*in_use.get(key, ()), record)


def _expect_value(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass whose instances are values. Raises NoRecord."""
    parameters: Any = kind.__dataclass_params__  # type: ignore[attr-defined]  # of each dataclass
    if not parameters.frozen:
        raise NoRecord(
            f"{kind.__name__}, a dataclass that can change,",
            "`@dataclass(frozen=True)` makes its instances values",
        )
    if not parameters.eq:
        raise NoRecord(
            f"{kind.__name__}, a dataclass with eq=False,", "its instances are compared by their fields"
        )
    import inspect
    from dataclasses import fields

    found = fields(kind)
    for one in found:
        if not one.init:
            raise NoRecord(f"{kind.__name__}, whose field {one.name} is no parameter,", "make it a property")
        if not one.compare:
            raise NoRecord(
                f"{kind.__name__}, whose field {one.name} is not compared,",
                "instances are compared by all fields",
            )
    names = tuple([one.name for one in found])
    if set(inspect.signature(kind).parameters) != set(names):
        raise NoRecord(f"{kind.__name__}, whose parameters are not its fields,", "pass the fields themselves")
    return names


def is_written(value: Any) -> bool:
    """Is it a function of a text, and none that a decorator made?"""
    import linecache
    from types import FunctionType

    value = getattr(value, "__func__", python_of(value))
    return isinstance(value, FunctionType) and bool(
        linecache.getlines(value.__code__.co_filename, value.__globals__)
    )


def exception_parts(value: Value) -> tuple[Value, ...] | None:
    """Class, message, arguments and fields of an exception of a translated function; None if a value is none."""
    chain: list[Value] = []
    while len(chain) < 4 and type(value) is tuple and len(value) == 2:
        chain.append(look(value[0]))
        value = look(value[1])
    if len(chain) < 4 or chain[0] is not EXCEPTION or type(chain[1]) is not Symbol:
        return None
    if not (type(chain[2]) is String or is_procedure(chain[2])) or not (
        _is_tuple(chain[3]) and _is_tuple(value)
    ):
        return None
    return (*chain[1:], value)


def _is_tuple(value: Value) -> bool:
    """Is it a tuple of a translated function?"""
    while type(value) is tuple and len(value) == 2:
        value = look(value[1])
    return value is TUPLE
