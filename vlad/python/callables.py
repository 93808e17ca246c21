"""Python functions as rows: calling one with values of the language, and refusing its derivative.

In: Python callables.  Out: rows of primitives (values.Primitive) outside the table, and their procedures. Called by host.py.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vlad.core.names import make_lambda
from vlad.core.nodes import Apply, Binding, Body, Variable, WrittenName
from vlad.data.errors import NoCounterpart, VladError
from vlad.data.tensors import Tensor, is_array, shape_text
from vlad.data.values import NIL, Primitive, PrimitiveType, String, Value, is_pair, look
from vlad.data.write import written
from vlad.primitives.data import not_expected
from vlad.python.arrays import expect_exact, tensor_of
from vlad.python.convert import Apply as ApplyProcedure
from vlad.python.convert import from_python, to_python

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

Function = Callable[..., Any]

SERIAL = itertools.count(1)  # row names are unique: two functions may have one name


def name_of(function: Function) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def parameters_of(function: Function) -> tuple[str, ...] | None:
    """The parameters without defaults, which are positional; None: any number of arguments."""
    count = getattr(function, "nin", None)  # of a NumPy ufunc
    if isinstance(count, int):
        return tuple([f"x{index + 1}" for index in range(count)])
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, without a signature
        return None
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    if any(parameter.kind is parameter.KEYWORD_ONLY for parameter in needed):
        raise VladError(
            "invalid-rule", f"The Python function {name_of(function)} has to be given arguments by name",
            hint="scripts give them by place: wrap it in a function or a `functools.partial`",
        )  # fmt: skip
    return tuple([parameter.name for parameter in needed])


def function_row(function: Function, apply: ApplyProcedure) -> Primitive:
    """The row of a Python function: it may be called, but not differentiated."""
    name, parameters = name_of(function), parameters_of(function)
    call = calling(function, name, apply, acts=True)
    message = f"The Python function {name} has no derivative"
    hint = "give it a rule, with `vlad.primitive` in Python or `with-derivative` here; `stop-gradient` makes of it a constant"
    return refusing_row(
        f"{name}:{next(SERIAL)}", len(parameters) if parameters else 1, doc_of(function),
        call if parameters else of_chain(call, name, parameters), message, hint, effect=True,
        abstract=left_out(f"the Python function {name} is", IN_C), display_name=name,
    )  # fmt: skip


def doc_of(function: Function) -> str:
    return inspect.getdoc(function) or f"{name_of(function)} of Python."


def shown_parameters(function: Function) -> tuple[str, ...]:
    """The displayed parameters: one name if there is any number of arguments."""
    parameters = parameters_of(function)
    if parameters is None:
        return ("arguments",)
    return tuple(map(WrittenName, parameters)) or ("nothing",)


def refusing_row(
    name: str,
    count: int,
    doc: str,
    value: Function,
    message: str,
    hint: str,
    linear: Sequence[int] = (),
    refused: Sequence[int] | None = None,
    **columns: Any,
) -> Primitive:
    """A row of `count` operands whose derivative by those at the positions `refused`, by default all, is an error. It is linear
    in those at the positions `linear`, so forward mode is the row itself.
    """
    operands = [f"a{index + 1}" for index in range(count)]
    refusal = f"(refuse-derivative {quoted(message)} {quoted(hint)} "
    places = range(count) if refused is None else refused
    terms = [f"{refusal}{operands[place]} d{operands[place]})" for place in places]
    if linear:
        given = ["d" + x if place in linear else x for place, x in enumerate(operands)]
        terms.append(f"(itself {' '.join(given)})")
    row = Primitive(
        name, " ".join(operands), doc, value=value, type=PrimitiveType(["any"] * count, "any"),
        forward=functools.reduce("(accumulate {} {})".format, terms or ["zero"]),
        reverse={operands[place]: f"{refusal}{operands[place]} s)" for place in (*places, *linear)}, **columns,
    )  # fmt: skip
    if linear:
        row.rows = {"itself": row}
    return row


def quoted(text: str) -> str:
    return written(String(text))


IN_C = "`vlad.primitive(c=…)` states a function of reals in C, which is compiled"
IN_TEXT = "a derivative stated as a text of the language is compiled"


def left_out(what: str, hint: str) -> Function:
    return lambda w, *operands: w.left_out(what, hint)


def calling(function: Function, name: str, apply: ApplyProcedure, acts: bool = False) -> Function:
    """The function on values of the language. `acts`: it may have effects, which are not repeated."""

    def call(*operands: Value) -> Value:
        if acts and apply.repeats:
            raise VladError("not-permitted", f"The Python function {name} is not called again")
        arguments = [x if type(x) is float else to_python(x, apply) for x in operands]
        result = protected(name, function, arguments)
        return result if type(result) is float else returned(name, result, apply, is_exact=not acts)

    return call


def protected(name: str, function: Function, arguments: Sequence[Any]) -> Any:
    """Call a Python function; its exceptions become errors of the program."""
    try:
        return function(*arguments)
    except (VladError, MemoryError):
        raise
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise VladError("python-error", f"The Python function {name} failed: {what}") from error


def returned(name: str, result: Any, apply: ApplyProcedure, is_exact: bool = True) -> Value:
    """The result of a function. `is_exact`: whole numbers that reals would round are an error."""
    try:
        if is_exact:
            expect_exact(result)
        return tensor_of(result) if is_array(result) else from_python(result, apply)
    except NoCounterpart as error:
        message = f"The result of the Python function {name} cannot be taken over: {error.message}"
        raise VladError("python-error", message, hint=error.hint) from None


def of_chain(call: Function, name: str, parameters: tuple[str, ...] | None) -> Function:
    """A function of any number of arguments, or of none, on its one operand: (a . (b . c)) is three, a list is one."""

    def of_chain(packed: Value) -> Value:
        seen = look(packed)
        if parameters is not None and seen != NIL:
            raise VladError(
                "not-equivalent", not_expected(NIL), hint=f"{name} takes no argument",
                irritants=(packed,),
            )  # fmt: skip
        return call(*arguments_of(seen))

    return of_chain


def arguments_of(packed: Value) -> list[Value]:
    parts: list[Value] = []
    rest = packed
    while is_pair(rest):
        part, rest = look(rest)
        parts.append(part)
    rest = look(rest)
    if rest == NIL:
        return [packed] if parts else []
    return [*parts, rest]


# Results of functions.


def real_function(
    name: str, function: Function, part: int | None = None, count: int | None = None
) -> Function:
    """A Python function of reals that must return one; `part`: of several results; `count`: of the first operands only."""

    def rule(*operands: float) -> float:
        result = protected(name, function, operands[:count])
        if part is not None:
            result = part_of(name, result, part)
            if result is None:
                return 0.0
        if type(result) is float:
            return result
        try:
            expect_exact(result)
            return float(result)
        except NoCounterpart as error:
            message = f"The result of the Python function {name} cannot be taken over: {error.message}"
            raise VladError("python-error", message, hint=error.hint) from None
        except (TypeError, ValueError):
            raise VladError(
                "python-error", f"The Python function {name} returns no real: {type(result).__name__}"
            ) from None

    return rule


def part_of(name: str, result: Any, part: int) -> Any:
    """One of several results; None means nothing."""
    if not isinstance(result, tuple | list) or len(result) <= part:
        raise VladError(
            "python-error",
            f"The Python function {name} does not return a tuple of a sensitivity for each operand",
        )
    return result[part]


def as_number(name: str, result: Value) -> Value:
    if type(result) not in (float, Tensor):
        raise VladError(
            "python-error",
            f"The Python function {name} returns neither a real nor an array: {written(result, 60)}",
        )
    return result


def fitting(name: str, result: Value, like: Value = None) -> Value:
    """A result with the shape of `like`. Raises VladError."""
    number = as_number(name, result)
    if like is not None and shape_of(number) != shape_of(like):
        raise VladError(
            "wrong-shape",
            f"The Python function {name} returns what has the shape {shape_text(shape_of(number))}, "
            f"where {shape_text(shape_of(like))} is expected",
            hint="tangents have the shape of the result, sensitivities those of the operands",
        )
    return number


def shape_of(value: Value) -> tuple[int, ...]:
    return value.shape if type(value) is Tensor else ()


# Procedures.


def procedure_of(machine: Machine, row: Primitive, name: str, shown: Sequence[str] | None = None) -> Value:
    """A procedure that applies a row to its parameters, whose displayed names are `shown`."""
    parameters, result = tuple([Variable(operand) for operand in shown or row.operands]), Variable("r")
    body = Body((Binding(result, Apply(row, parameters)),), result)
    lambda_ = make_lambda(parameters, body, name)
    code = machine.make_code(machine.family(), len(parameters), lambda: lambda_, name=name)
    code.primitive = row
    return code.closed
