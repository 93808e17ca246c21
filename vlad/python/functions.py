"""Python functions as procedures: `vlad.function`.

In: a Python function, and its translation (session/functions.py).  Out: a `Function`, which is called like the Python function:
with arguments by name, defaults, tuples and None.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import sys
from collections.abc import Mapping
from sys import intern
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar

from vlad.compile.calling.variants import Options
from vlad.data.errors import VladError, WrongCall, WrongOption
from vlad.data.python_functions import PythonFunction
from vlad.data.source import Span
from vlad.data.values import Value
from vlad.expand.arity import Signature
from vlad.python.convert import Apply, Places, Procedure
from vlad.translate.decorators import CACHED, bare, with_caches
from vlad.translate.source import Node, Text

BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Linked(Protocol):
    """The translation of one Python function, as a session keeps it."""

    @property
    def apply(self) -> Apply:
        """How Python calls it."""

    def value(self) -> Value:
        """The procedure, with the present values of the names outside. Raises VladError if it cannot be translated."""

    def text(self) -> str:
        """The translation."""

    refusal: VladError | None

    def texts(self) -> list[tuple[Node, Text]]:
        """The tree and the text of this Python function, and of all that it calls."""

    def counters(self) -> Mapping[str, Span]:
        """The parameters that are counters, each with the place of a use."""


class Function(Procedure, PythonFunction, Generic[Parameters, Result]):
    """A Python function that is translated and differentiated; it is translated when it is first used.

    python  the function itself, which Python runs
    text    the translation, as text of the language
    """

    __slots__ = ("python", "_linked", "_python_signature", "_seen", "__dict__")

    python: Any  # the function; `FunctionType` would be taken for a method

    def __init__(self, python: FunctionType, linked: Linked, options: Options | None = None) -> None:
        self.python = python
        self.options = options
        self._linked = linked
        self._apply = linked.apply
        self._python_signature = inspect.signature(python, follow_wrapped=False)
        self._seen: Value = None  # the procedure to whose machine code calls may go
        self.quicks = ()
        self.guards = linked.apply.guards
        self.places = _places(self._python_signature)
        self.__module__ = python.__module__
        self.__qualname__ = python.__qualname__
        self.__wrapped__ = python

    @property
    def value(self) -> Value:
        return self._linked.value()

    @property
    def text(self) -> str:
        """The translation, as text of the language."""
        return self._linked.text()

    def texts(self) -> list[tuple[Node, Text]]:
        """The tree and the text of the function itself, and of all others that it calls, which are translated with it."""
        return self._linked.texts()

    if TYPE_CHECKING:

        def __call__(self, *arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
            raise NotImplementedError

    def refusal(self) -> VladError | None:
        return self._linked.refusal

    def renewed(self) -> Value:
        value = self.value
        self.guards = self._apply.guards
        if value is not self._seen:
            self._seen, self.quicks = value, ()
        return value

    @property
    def takes_places(self) -> bool:
        return self.places is not None

    def _by_place(self, arguments: tuple[Any, ...]) -> Any:
        arguments = self.completed(arguments, {})
        self.renewed_for(arguments)
        return super()._by_place(arguments)

    def _with_names(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        arguments = self.completed(arguments, named)
        self.renewed_for(arguments)
        return super()._by_place(arguments)

    def completed(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters, with defaults. Raises WrongCall, a TypeError as Python's, if they do
        not fit.
        """
        count = len(arguments)
        if not named and self.places is not None and len(self.places[1]) >= count:
            missing = self.places[1][count:]
            if inspect.Parameter.empty not in missing:
                return arguments + missing if missing else arguments
        try:
            bound = self._python_signature.bind(*arguments, **named)
        except TypeError as error:
            message = f"Wrong call of {self.__name__}: {self._excess(arguments, named) or error}"
            hint = f"it is called as {self._summary()}"
            raise WrongCall("wrong-number-of-arguments", message, self.place(), hint=hint) from None
        bound.apply_defaults()
        return tuple([bound.arguments[name] for name in self._python_signature.parameters])

    def _excess(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> TypeError | None:
        """The error of an argument that is too much, which Python names before one that is missing."""
        assert self._python_signature is not None
        try:
            self._python_signature.bind_partial(*arguments, **named)
        except TypeError as error:
            return error
        return None

    def __get__(self, instance: Any, kind: type | None = None) -> Any:
        """As a function in a class: a method of its instances."""
        return self if instance is None else MethodType(self, instance)

    def taken(self) -> Signature:
        names = tuple(self._python_signature.parameters)
        return Signature(self.__name__, self._summary(), names, False)

    def counters(self) -> Mapping[str, Span]:
        return self._linked.counters()

    def compiled(self, options: Options) -> Function[Parameters, Result]:
        return Function(self.python, self._linked, options)

    @property
    def __name__(self) -> str:
        return str(self.python.__name__)

    def _signature(self) -> Any:
        return self._python_signature

    def _summary(self) -> str:
        return f"{self.__name__}{self._python_signature}"

    def _documented(self) -> str:
        return inspect.getdoc(self.python) or ""

    def __repr__(self) -> str:
        return f"<vlad function {self._summary()}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Function):
            return NotImplemented
        return self.python is other.python and self._linked is other._linked and self.options == other.options

    def __hash__(self) -> int:
        return hash((self.python, self.options))

    def __reduce__(self) -> Any:
        """For pickle: its name in its module, as for a Python function; or else its text."""
        return self.__qualname__ if self.is_found_by_name() else super().__reduce__()

    def is_found_by_name(self) -> bool:
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        return found is self


def _places(signature: inspect.Signature) -> Places | None:
    """The parameters, for c_extension.c; None if not each argument is given by place."""
    parameters = signature.parameters.values()
    if any(one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
        return None
    names = [None if one.kind is one.POSITIONAL_ONLY else intern(one.name) for one in parameters]
    return tuple(names), tuple([one.default for one in parameters]), inspect.Parameter.empty


def python_function(f: Any) -> FunctionType:
    """The argument, if it is a function that is written in Python. Raises WrongOption otherwise."""
    if type(f) is CACHED and isinstance(bare(f), FunctionType):
        with_caches.add(bare(f))
        f = bare(f)
    if isinstance(f, FunctionType):
        if inspect.isgeneratorfunction(f):
            hint = "call it in a translated function, `list(…)` of it; it needs no decorator"
            raise WrongOption("not-translated", "A generator function is no procedure of its own", hint=hint)
        return f
    if callable(f) and not isinstance(f, type):
        return _calling(f)
    hint = "a function that is written in Python: `def` or `lambda`"
    raise WrongOption("not-translated", f"A {type(f).__name__} is not translated", hint=hint)


def _calling(f: Any) -> FunctionType:
    """A function that calls what is called like a function and is none: a method of an object, `np.sin`, `math.sin`, a
    `functools.partial`. For the same object it is the same function.
    """
    key = (id(f.__self__), id(f.__func__)) if isinstance(f, MethodType) else (id(f), 0)
    found = _made.get(key)
    if found is None:
        found = _made[key] = f, _made_of(f)
    return found[1]


# By the ids of what they call, which they keep alive.
_made: dict[tuple[int, int], tuple[Any, FunctionType]] = {}


def _made_of(f: Any) -> FunctionType:
    operands = _operands_of(f)
    called, scope, given = _name_of(f), dict[str, Any](), list(operands)
    called += "_" * (called in operands)
    if isinstance(f, functools.partial):
        scope = {f"given{place}": one for place, one in enumerate([*f.args, *f.keywords.values()])}
        named = [f"{key}={place}" for key, place in zip(f.keywords, [*scope][len(f.args) :], strict=True)]
        given = [*[*scope][: len(f.args)], *operands, *named]
        scope[called] = f.func
    elif isinstance(f, MethodType) and not isinstance(f.__self__, type):
        scope, called = {"self": f.__self__}, f"self.{f.__name__}"
    elif isinstance(vars(type(f)).get("__call__"), FunctionType):
        scope, called = {"self": f}, "self.__call__"
    else:
        scope = {called: f}
    text = f"lambda {', '.join(operands)}: {called}({', '.join(given)})"
    file = f"<{text}>"
    linecache.cache[file] = len(text), None, [text + "\n"], file
    made = eval(compile(text, file, "eval"), {"__name__": getattr(f, "__module__", None), **scope})
    assert isinstance(made, FunctionType)
    made.__dict__[CALLED] = f
    return made


CALLED = "called by vlad"  # the attribute of such a function that says what it calls


def object_called(function: FunctionType, name: str) -> str | None:
    """Which object a name is in a function that was made for a method of it, in words; None in other functions."""
    called = vars(function).get(CALLED)
    if name != "self" or called is None:
        return None
    return f"on which {called.__name__} is called" if isinstance(called, MethodType) else "which is called"


def _name_of(f: Any) -> str:
    name = getattr(f, "__name__", type(f).__name__)
    return name if name.isidentifier() else "f"


def _operands_of(f: Any) -> list[str]:
    """The names of the parameters that are given by place. Raises WrongOption if they are not known."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:
        parameters = None
    names = (
        []
        if parameters is None
        else [one.name for one in parameters if one.kind in BY_PLACE and one.default is one.empty]
    )
    if parameters is None or (not names and any(one.kind is one.VAR_POSITIONAL for one in parameters)):
        hint = f"call it in a function of yours: `lambda x, y: {_name_of(f)}(x, y)`"
        raise WrongOption("not-translated", f"The parameters of {_name_of(f)} are not known", hint=hint)
    return names
