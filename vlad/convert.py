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
    procedure         `Procedure`, which Python calls with any number of arguments
    callable          procedure of the session that it is given to (host.py)
    Opaque(x)         host object, which comes back as x

Called by session.py. Raises NoCounterpart, which is a VladError and a TypeError, for a Python value that has none: what is a
number to Python alone, such as a Decimal, would not be one to derivatives, so nobody makes a host object of it unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vlad.errors import NoCounterpart
from vlad.tensors import SORT, Tensor, frozen, is_array, made
from vlad.values import (
    FALSE,
    NIL,
    TRUE,
    UNSPECIFIED,
    ZERO,
    Boolean,
    Opaque,
    String,
    Symbol,
    Unspecified,
    Value,
    is_procedure,
    list_of,
    look,
)
from vlad.write import written

Apply = Callable[[Value, Value], Value]
Direct = Callable[..., float]
Quick = Callable[[tuple[Any, ...]], Any]


class Procedure:
    """A procedure of a session. Calling it converts arguments and result; errors are VladErrors."""

    __slots__ = ("_apply", "direct", "quicks", "value", "__weakref__")

    @property
    def session(self) -> Any:
        """The session that it belongs to."""
        return self._apply.session  # type: ignore[attr-defined]

    @property
    def __name__(self) -> str:
        return self.value[0].name or "λ"

    def __init__(self, value: Value, apply: Apply) -> None:
        self.value = value
        self._apply = apply
        self.direct: Direct | None = None  # machine code from floats to a float, once there is some
        self.quicks: Sequence[Quick] = ()  # the same for floats and arrays; NotImplemented for others

    def __call__(self, *arguments: Any) -> Any:
        direct = self.direct
        if direct is not None:
            for argument in arguments:
                if type(argument) is not float:
                    break
            else:
                try:
                    return direct(*arguments)
                except TypeError:  # another number of them
                    return self._call(arguments)
        for quick in self.quicks:
            result = quick(arguments)
            if result is not NotImplemented:
                return result
        result = self._call(arguments)
        if direct is None and not self.quicks and (type(result) in (float, list) or hasattr(result, "shape")):
            quicken = getattr(self._apply, "quicken", None)
            if quicken is not None:
                quicken(self, len(arguments))
        return result

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        argument = tuple_of([from_python(a, self._apply) for a in arguments])
        return self._apply.answer(self.value, argument)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return written(self.value, 200)

    def __copy__(self) -> Procedure:
        return self

    def __deepcopy__(self, memo: Any) -> Procedure:
        return self

    def __reduce__(self) -> Any:
        """For pickle: its text, which unpickling reads (saving.py). Raises VladError where it has none."""
        return self._apply.reduced(self.value)  # type: ignore[attr-defined]


def tuple_of(values: list[Value]) -> Value:
    """The one argument that several make: (a . (b . c)); () for none."""
    if not values:
        return NIL
    packed = values[-1]
    for value in reversed(values[:-1]):
        packed = (value, packed)
    return packed


def from_python(value: Any, apply: Apply | None = None) -> Value:
    """The value of the language, of the session that `apply` belongs to. Deep nesting costs no C stack."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, float | int):
        return _real(value)
    if isinstance(value, str):
        return String(value)
    if value is None:
        return UNSPECIFIED
    if isinstance(value, Procedure):
        return value.value
    if isinstance(value, list):
        parts = []
        for part in value:
            parts.append(from_python(part, apply))
        return list_of(parts)
    if isinstance(value, tuple):
        parts = []
        for part in value:
            parts.append(from_python(part, apply))
        return tuple_of(parts)
    if isinstance(value, dict):
        return list_of([(from_python(key, apply), from_python(part, apply)) for key, part in value.items()])
    if is_array(value):
        return tensor_of(value)
    if hasattr(type(value), "__dataclass_fields__"):
        return tuple_of([from_python(part, apply) for part in _fields(value)])
    if isinstance(value, Opaque):
        return value
    if callable(value) and apply is not None:
        return apply.procedure(value)  # type: ignore[attr-defined]
    raise _no_counterpart(
        f"A Python {type(value).__name__}",
        "numbers, booleans, strings, lists, tuples, dicts, dataclasses, arrays and procedures have; `vlad.Opaque(…)` hands "
        "anything over as it is",
    )


def _real(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _no_counterpart("A whole number of this size", "reals go up to about 1.8e308") from None


def _no_counterpart(what: str, hint: str) -> NoCounterpart:
    return NoCounterpart("no-counterpart", f"{what} has no counterpart in the language", hint=hint)


def tensor_of(array: Any) -> Value:
    """An array of Python's as a tensor, without a copy if its numbers lie as this machine has them: nobody may write to it as
    long as the tensor lives. Raises NoCounterpart where its entries are no numbers or booleans."""
    if not SORT[array.dtype]:
        raise _no_counterpart(
            f"An array of {array.dtype}", "the entries of a tensor are reals, integers or booleans"
        )
    if hasattr(array, "mask"):
        raise _no_counterpart("An array with a mask", "`filled` makes one without")
    # a subclass of NumPy's may multiply in its own way
    if hasattr(array, "setflags") and type(array).__name__ != "ndarray":
        array = array.view(array.__array_namespace__().ndarray)
    if hasattr(array, "setflags") and not (array.flags.aligned and array.dtype.isnative):
        array = array.astype(array.dtype.newbyteorder("="))
    return made(frozen(array))


def parts_held(value: Any) -> list[Any]:
    """What of a Python value `from_python` converts in turn."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return list(value)
    return _fields(value) if hasattr(type(value), "__dataclass_fields__") else []


def _fields(record: Any) -> list[Any]:
    """The fields of a dataclass, in their order."""
    return [getattr(record, name) for name in record.__dataclass_fields__]


def parts_of(value: Value, count: int) -> list[Value]:
    """A tuple of so many taken apart, by the tuple rule."""
    parts = []
    for _ in range(count - 1):
        part, value = look(value)
        parts.append(part)
    return [*parts, value] if count else []


def like(model: Any, value: Value, apply: Apply) -> Any:
    """A tangent or sensitivity of a Python value, as a Python value of the same structure."""
    if isinstance(model, list | dict):
        parts = []
        for key in model:
            part, value = look(value)
            parts.append(
                like(key, part, apply) if isinstance(model, list) else like(model[key], look(part)[1], apply)
            )
        return parts if isinstance(model, list) else dict(zip(model, parts, strict=True))
    if isinstance(model, tuple):
        parts = [like(part, of, apply) for part, of in zip(model, parts_of(value, len(model)), strict=True)]
        return type(model)(*parts) if hasattr(model, "_fields") else tuple(parts)
    if hasattr(type(model), "__dataclass_fields__"):
        fields = _fields(model)
        parts = [like(part, of, apply) for part, of in zip(fields, parts_of(value, len(fields)), strict=True)]
        return type(model)(**dict(zip(model.__dataclass_fields__, parts, strict=True)))
    return to_python(value, apply)


def to_python(value: Value, apply: Apply) -> Any:
    """The Python value; proper lists become lists, other pairs tuples of two."""
    value = look(value)
    if type(value) is float:
        return value
    if isinstance(value, Boolean):
        return value is TRUE
    if isinstance(value, String):
        return value.text
    if isinstance(value, Symbol):
        return value.name
    if isinstance(value, Unspecified):
        return None
    if type(value) is Tensor:
        return frozen(value.array)
    if value == ():
        return []
    if type(value) is tuple and len(value) == 2:
        return _pairs_to_python(value, apply)
    if is_procedure(value):
        return Procedure(value, apply)
    if isinstance(value, Opaque):
        return value.object
    return 0.0 if value is ZERO else value


def _pairs_to_python(value: Value, apply: Apply) -> Any:
    parts = []
    while type(value) is tuple and len(value) == 2:
        parts.append(to_python(value[0], apply))
        value = look(value[1])
    if type(value) is tuple and not value:
        return parts
    result = to_python(value, apply)
    for part in reversed(parts):
        result = (part, result)
    return result
