"""Derivatives of a session's procedures, for Python: `vlad.grad` and its kin.

In: procedures that a session handed out.  Out: Python functions; what they compute, the language's own operators compute
(stdlib/calculus.vlad), so derivatives nest, in Python as there. Arguments may be any structure of numbers and arrays: lists,
tuples, named tuples, dataclasses, dictionaries, closures. Sensitivities and tangents have the structure of what they belong
to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from vlad.convert import Procedure, from_python, like, parts_of, to_python, tuple_of
from vlad.errors import VladError
from vlad.tensors import is_array
from vlad.values import Value

Which = int | tuple[int, ...] | None


class Gradient(Procedure):
    """The gradient of a procedure, or the pair of value and gradient: a procedure of the session, which answers Python with the
    structure of the arguments."""

    __slots__ = ("of",)

    def __init__(self, value: Value, of: Procedure) -> None:
        super().__init__(value, of._apply)
        self.of = of

    def __reduce__(self) -> Any:
        return _again, (type(self), Procedure(self.value, self._apply), self.of)

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) == 1 and _is_plain(arguments[0]):
            return super().__call__(*arguments)
        return _chosen(_like_arguments(arguments, _answer(self, arguments), self), None)


class ValueAndGradient(Gradient):
    __slots__ = ()

    def __call__(self, *arguments: Any) -> Any:
        value, gradient = parts_of(_answer(self, arguments), 2)
        return to_python(value, self._apply), _chosen(_like_arguments(arguments, gradient, self), None)


def _again(kind: type[Gradient], procedure: Procedure, of: Procedure) -> Gradient:
    """A gradient that was pickled."""
    return kind(procedure.value, of)


def grad(f: Procedure, argnums: Which = None) -> Callable[..., Any]:
    """The gradient of a procedure that answers a real: a procedure of the same arguments.

    It answers the sensitivity of the one argument, or the tuple of those of several. `argnums` chooses among them: a number, or
    a tuple of numbers; then it is a Python function. Reverse mode (Pearlmutter & Siskind 2008, section 3). Raises VladError
    where `f` answers no real.
    """
    gradient = Gradient(_applied(f, "gradient").value, f)
    return gradient if argnums is None else partial(_gradient_chosen, gradient, f, argnums)


def value_and_grad(f: Procedure, argnums: Which = None) -> Callable[..., tuple[Any, Any]]:
    """As `grad`, answering the pair of the value and the gradient."""
    both = ValueAndGradient(_applied(f, "value-and-gradient").value, f)
    return both if argnums is None else partial(_value_and_gradient_chosen, both, f, argnums)


def jvp(f: Procedure, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The value of `f` and its derivative along `tangents`, by forward mode. `primals` and `tangents` are tuples of as many as
    `f` has arguments; for one argument it may stand alone."""
    points, directions = _as_tuple(primals), _as_tuple(tangents)
    _check_counts(points, directions)
    answer = _call(f, "jvp", _packed(points, f), _packed(directions, f))
    value, tangent = parts_of(answer, 2)
    return to_python(value, f._apply), to_python(tangent, f._apply)


def vjp(f: Procedure, *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The value of `f` and its backpropagator: a function from a sensitivity of the value to the tuple of those of the arguments,
    or to the bare one for one argument."""
    value, back = parts_of(_call(f, "vjp", _packed(primals, f)), 2)
    return to_python(value, f._apply), partial(_sensitivities, Procedure(back, f._apply), primals)


def hessian(f: Procedure) -> Callable[..., Any]:
    """The second derivatives of a procedure of one real, list of reals or tensor that answers a real: a real, a list of lists, a
    tensor of shape (*shape, *shape)."""
    return _applied(f, "hessian")


def hvp(f: Procedure, primals: Any, tangents: Any) -> Any:
    """The Hessian of `f` times a vector, without the Hessian: forward mode over reverse mode. Answers what `grad` answers."""
    points, directions = _as_tuple(primals), _as_tuple(tangents)
    _check_counts(points, directions)
    product = _call(f, "hvp", _packed(points, f), _packed(directions, f))
    return _chosen(_like_arguments(points, product, f), None)


# What `partial` hands to Python: functions of modules, for pickle knows no others.


def _gradient_chosen(gradient: Gradient, f: Procedure, argnums: Which, *arguments: Any) -> Any:
    return _chosen(_like_arguments(arguments, _answer(gradient, arguments), f), argnums)


def _value_and_gradient_chosen(
    both: ValueAndGradient, f: Procedure, argnums: Which, *arguments: Any
) -> tuple[Any, Any]:
    value, gradient = parts_of(_answer(both, arguments), 2)
    return to_python(value, f._apply), _chosen(_like_arguments(arguments, gradient, f), argnums)


def _sensitivities(back: Procedure, primals: tuple[Any, ...], sensitivity: Any) -> Any:
    answer = back._apply(back.value, from_python(sensitivity, back._apply))
    return _chosen(_like_arguments(primals, answer, back), None)


def _applied(f: Any, operator: str) -> Procedure:
    """What an operator of the library answers for a procedure: a procedure of the same session."""
    return Procedure(_call(f, operator), _session_procedure(f)._apply)


def _call(f: Any, operator: str, *operands: Value) -> Value:
    """What an operator of the library answers for a procedure and more operands."""
    f = _session_procedure(f)
    return f._apply(f.session.library_value(operator), tuple_of([f.value, *operands]))


def _session_procedure(f: Any) -> Procedure:
    if isinstance(f, Procedure):
        return f
    raise VladError(
        "not-a-procedure",
        f"A procedure of a session is differentiated; this is a {type(f).__name__} of Python's",
        hint='`session["f"]` and `session.eval("(lambda …)")` hand them out',
    )


def _answer(f: Procedure, arguments: tuple[Any, ...]) -> Value:
    return f._apply(f.value, _packed(arguments, f))


def _packed(arguments: tuple[Any, ...], f: Procedure) -> Value:
    return tuple_of([from_python(argument, f._apply) for argument in arguments])


def _like_arguments(arguments: tuple[Any, ...], value: Value, f: Procedure) -> tuple[Any, ...]:
    parts = parts_of(value, len(arguments))
    return tuple([like(argument, part, f._apply) for argument, part in zip(arguments, parts, strict=True)])


def _chosen(parts: tuple[Any, ...], argnums: Which) -> Any:
    if argnums is None:
        return parts[0] if len(parts) == 1 else parts
    return parts[argnums] if isinstance(argnums, int) else tuple([parts[number] for number in argnums])


def _is_plain(argument: Any) -> bool:
    """Does its sensitivity come back as it is?"""
    return type(argument) is float or is_array(argument)


def _as_tuple(points: Any) -> tuple[Any, ...]:
    return points if type(points) is tuple else (points,)


def _check_counts(points: tuple[Any, ...], directions: tuple[Any, ...]) -> None:
    if len(points) != len(directions):
        raise VladError(
            "invalid-argument",
            f"There are {len(points)} arguments and {len(directions)} tangents",
            hint="each argument has a tangent of its own structure",
        )
