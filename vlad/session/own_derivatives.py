"""Python functions with rules of their own for derivatives: `vlad.custom_derivative`, `vlad.checkpointed`, `vlad.stop_gradient`.

In: Python functions.  Out: procedures of the session of `vlad.function`. A call inside of a translated function is translated
(translate/derivatives.py); outside, a function that makes this call is written, and translated.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import linecache
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, overload

from vlad.data.errors import WrongOption
from vlad.python.convert import Procedure
from vlad.python.derivatives import Derived, made_by_operator
from vlad.python.functions import Function, Parameters, Result, python_function
from vlad.session.default import function
from vlad.translate.arguments import POSITIONAL
from vlad.translate.derivatives import wrong_rule

Value = TypeVar("Value")
_serial = itertools.count(1)


def stop_gradient(x: Value) -> Value:
    """The value itself. In a translated function it has the derivative zero."""
    return x


@overload
def custom_derivative(
    f: Callable[Parameters, Result], *, forward: Any = None, reverse: Any = None
) -> Function[Parameters, Result]: ...


@overload
def custom_derivative(
    *, forward: Any = None, reverse: Any = None
) -> Callable[[Callable[Parameters, Result]], Function[Parameters, Result]]: ...


def custom_derivative(f: Any = None, *, forward: Any = None, reverse: Any = None) -> Any:
    """A Python function with its own rules for derivatives, as a procedure like those of `vlad.function`.

    `forward` takes the arguments of f, then their tangents, and returns the tangent of the result; it must be linear in the
    tangents. `reverse` takes the arguments, and returns the tuple of the result and a function from its sensitivity to that of
    the argument, or to the tuple of those of several. One of them is enough. The rules are translated functions, too, so there
    are higher derivatives; they are not checked. Usable as a decorator: `@vlad.custom_derivative(forward=rule)`. Raises
    WrongOption if there is no rule, if one takes another number of arguments, or if f or a rule is no function written in Python.
    """
    if forward is None and reverse is None:
        raise WrongOption("invalid-argument", "custom_derivative takes a rule: forward= or reverse=")
    if f is None:
        return functools.partial(custom_derivative, forward=forward, reverse=reverse)
    rules = {"forward": forward, "reverse": reverse}
    given = {key: _python(rule) for key, rule in rules.items() if rule is not None}
    text = ", ".join([f"{key}={key}_rule" for key in given])
    count = len(inspect.signature(_python(f)).parameters)
    for key, rule in given.items():
        why = wrong_rule(key, inspect.signature(rule), count)
        if why is not None:
            raise WrongOption("invalid-argument", f"A rule of {_python(f).__name__}: {why[0]}", hint=why[1])
    names = {"custom_derivative": custom_derivative, **{f"{key}_rule": rule for key, rule in given.items()}}
    return _written(_python(f), f"custom_derivative(function, {text})", names)


_NOT_GIVEN: Any = object()


@overload
def checkpointed(
    f: Callable[Parameters, Result], *, snapshots: int | None = None, segments: int | None = None
) -> Function[Parameters, Result]: ...


@overload
def checkpointed(
    *, snapshots: int | None = None, segments: int | None = None
) -> Callable[[Callable[Parameters, Result]], Function[Parameters, Result]]: ...


def checkpointed(f: Any = _NOT_GIVEN, *, snapshots: int | None = None, segments: int | None = None) -> Any:
    """A function as a procedure whose reverse mode keeps few states of its run, and computes the rest again: less memory for
    more time. It is written in Python, or a procedure of a session. `snapshots` is the number of states, `segments` that of the
    parts that are differentiated one by one; without them memory grows with the logarithm of the length of the run. Usable as a
    decorator, with and without options. Raises WrongOption if f is neither, or an option no whole number from 1 on.
    """
    given = {"snapshots": snapshots, "segments": segments}
    for key, count in given.items():
        if count is not None and (type(count) is not int or count < 1):
            raise WrongOption(
                "invalid-argument", f"checkpointed: {key} is {count!r}", hint="a whole number from 1 on"
            )
    if f is _NOT_GIVEN:
        return functools.partial(checkpointed, **given)
    if isinstance(f, Procedure) and not isinstance(f, Function):
        words = "".join([f" #:{key} {count}" for key, count in given.items() if count is not None])
        text = f"(lambda (operator f) (checkpointed f{words}))" if words else ""
        return made_by_operator(Derived, f, "checkpointed", text)
    options = "".join([f", {key}={count}" for key, count in given.items() if count is not None])
    return _written(_python(f), f"checkpointed(function{options})", {"checkpointed": checkpointed})


def _python(f: Any) -> FunctionType:
    return python_function(f.python if isinstance(f, Function) else f)


def _written(f: FunctionType, made: str, names: dict[str, Any]) -> Function[..., Any]:
    """The procedure of a function with the parameters of f that calls what an expression makes of it."""
    parameters = inspect.signature(f).parameters
    for one in parameters.values():
        if one.kind not in POSITIONAL:
            message = f"{f.__name__}{inspect.signature(f)} takes more than arguments by place"
            raise WrongOption("invalid-argument", message, hint="write its parameters one by one")
    own = f.__name__ if f.__name__.isidentifier() else "function_"
    given = ", ".join(parameters)
    text = f"def {own}({given}):\n    return {made}({given})\n"
    file = f"<{own} {next(_serial)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    variables = {"function": f, "__name__": f.__module__, **names}
    exec(compile(text, file, "exec"), variables)
    written = variables[own]
    written.__doc__, written.__qualname__ = f.__doc__, f.__qualname__
    written.__defaults__ = tuple([one.default for one in parameters.values() if one.default is not one.empty])
    return function(written)
