"""Definition of primitives in Python: `vlad.primitive`.

In: a Python function and its derivative rules.  Out: a HostPrimitive, which holds them; host.py makes rows from it, for each
session it is passed to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, overload

from vlad.data.errors import VladError
from vlad.python.callables import name_of, parameters_of
from vlad.python.differences import wrong_rule

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
Rule = str | Callable[..., Any]  # a text of the language, a Python function, a HostPrimitive
Rules = Rule | Mapping[str, Rule] | None  # one, or one for each operand by its name
Stated = TypeVar("Stated", bound=Rules)

# The names of the result, its sensitivity and the known zero in rules; and names used in texts made from rules.
RESERVED = {"r", "s", "zero", "let", "car", "cdr", "accumulate", "complete"}


class HostPrimitive(Generic[Parameters, Answer]):
    """A Python function with derivative rules; made by `primitive`. Calling it calls the function.

    `forward` and `reverse` add a rule, and may be used as decorators.
    """

    def __init__(
        self,
        function: Callable[Parameters, Answer],
        name: str | None,
        forward: Rules,
        reverse: Rules,
        partials: Rules,
        c: str | None,
        example: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = name or name_of(function)
        self.function = function
        self.operands = parameters_of(function) or ()
        self.rules: dict[str, Rules] = {"forward": forward, "reverse": reverse, "partials": partials}
        self.c = c
        self.example = example
        self.version = 0  # of the rules
        self._check_names()

    def _check_names(self) -> None:
        own = set(self.operands)
        wrong = own & (RESERVED | {"d" + operand for operand in own})
        if not own:
            why = (
                "it does not name its parameters"
                if parameters_of(self.function) is None
                else "it has no operands"
            )
            raise wrong_rule(
                self.__name__, why, "wrap it in a function of parameters that are given by place"
            )
        if wrong:
            raise wrong_rule(
                self.__name__, f"an operand is named {min(wrong)}",
                "in rules r is the result, s its sensitivity, and dx the tangent of x: give the parameter another name",
            )  # fmt: skip

    def __call__(self, *arguments: Parameters.args, **named: Parameters.kwargs) -> Answer:
        return self.function(*arguments, **named)

    def __repr__(self) -> str:
        return f"<vlad primitive {self.__name__}>"

    def forward(self, rule: Stated) -> Stated:
        """State the forward rule: the result's tangent, from parameters with these names: the operands, `r`, and the tangents,
        `d` and the operand.
        """
        return self._state("forward", rule)

    def reverse(self, rule: Stated) -> Stated:
        """State the reverse rule: the sensitivity of the only operand, or the tuple of those of several, from parameters with
        these names: the operands, `r`, and `s`, the result's sensitivity.
        """
        return self._state("reverse", rule)

    def _state(self, kind: str, rule: Stated) -> Stated:
        self.rules[kind] = rule
        self.version += 1
        return rule


@overload
def primitive(name: Callable[Parameters, Answer], /) -> HostPrimitive[Parameters, Answer]: ...
@overload
def primitive(
    name: str | None = None,
    *,
    forward: Rules = None,
    reverse: Rules = None,
    partials: Rules = None,
    c: str | None = None,
    example: Any = None,
) -> Callable[[Callable[Parameters, Answer]], HostPrimitive[Parameters, Answer]]: ...
def primitive(
    name: Any = None,
    *,
    forward: Rules = None,
    reverse: Rules = None,
    partials: Rules = None,
    c: str | None = None,
    example: Any = None,
) -> Any:
    """Decorate a pure Python function of reals or arrays, to be a primitive with derivatives in the sessions it is passed to.

    name      its name there; by default the function's
    partials  each operand's partial derivative, by its name, or that of the only one. For functions of reals, and of arrays entry
              by entry. "zero" for a constant
    forward   the result's tangent
    reverse   the sensitivity of the only operand, or the tuple of those of several; or each operand's by its name
    c         a C expression of {operand}s that computes the same, for functions of reals: so that it can be compiled
    example   a tuple of operands at which rules are checked, or a list of such. Required unless all operands are reals

    A rule is a text of the language over the operands, r (the result), s (its sensitivity) and dx (the tangent of x); or a Python
    function whose parameters have these names; or a primitive whose parameters have them. Only texts and primitives have
    derivatives of their own. For a function of reals one rule suffices for all modes. When the primitive is passed to a session,
    each rule is compared with finite differences. Raises VladError there if they differ.
    """

    if name is not None and not isinstance(name, str) and not callable(name):
        raise VladError("invalid-argument", f"The name of a primitive is a string, not {name!r}")

    def decorate(function: Callable[..., Any]) -> HostPrimitive[..., Any]:
        given = name if isinstance(name, str) else None
        return HostPrimitive(function, given, forward, reverse, partials, c, example)

    return decorate(name) if callable(name) else decorate
