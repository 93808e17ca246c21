"""The derivative for which an operation was made: the origin of a code, and of an operation in it, in the user's program.

In: codes, as a machine evaluates them.  Out: the procedure of the program from which a code was derived, and a `Phase` in words.
Called by the debugger on demand; nothing is recorded while programs run. The transforms keep
the variables of their input (ad/reverse.py), so an operation of transformed code that binds a variable of the source
is the source's own, and every other one computes a derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from vlad.core.names import lambdas_within, sub_bodies
from vlad.core.nodes import Apply, Binding, Body, Lambda, Variable
from vlad.core.simplify import bound_in
from vlad.data.source import Span
from vlad.data.values import CONTROL, STEPPING, Code, Role
from vlad.expand.macros import ProcedureSpan

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

DEEPEST = 6  # nested transforms that are named
ORDERS = ("", "", "second", "third", "fourth", "fifth", "sixth", "seventh")


@dataclass(frozen=True, slots=True)
class Phase:
    """What an operation computes, and for which derivatives: their modes, outermost first; none for the program itself."""

    computes: str  # "primal", "tangent" or "sensitivity"
    modes: tuple[str, ...]

    @property
    def order(self) -> int:
        return len(self.modes)

    def __str__(self) -> str:
        if not self.modes:
            return "primal"
        name = "forward mode" if self.modes == ("forward",) else "reverse mode"
        if self.order > 1:
            name = f"a {ORDERS[min(self.order, 7)]} derivative, {' over '.join(self.modes)}"
        return f"{self.computes}, in {name}"


PRIMAL = Phase("primal", ())


def transforms(code: Code) -> tuple[Code, ...]:
    """The codes from the procedure's own to this one, each the transform of the one before."""
    paths: list[tuple[Code, ...]] = [(code.base,)]
    for path in paths:
        if path[-1] is code:
            return path
        if len(path) <= DEEPEST:
            made = (path[-1].tail, path[-1].forward, path[-1].control, path[-1].stepping)
            paths += [(*path, one) for one in made if one is not None]
    return (code,)


def source_of(code: Code) -> Code:
    """The code whose transform this one is; of a transform that was made anew since, the procedure's own."""
    path = transforms(code)
    return path[-2] if len(path) > 1 else code.base


def kinds_of(path: tuple[Code, ...]) -> list[str]:
    """The derivatives between the codes of a path, the last first."""
    steps = [(code, made) for code, made in pairwise(path) if made not in (code.control, code.stepping)]
    kinds = ["reverse" if code.tail is made else "forward" for code, made in steps]
    return kinds[::-1]


def maker_of(machine: Machine, code: Code) -> Code | None:
    """The transformed code that contains a backpropagator's or continuation's code; None for a procedure of the program."""
    lambda_: Lambda = machine.core_of(code.base)
    for other in list(code.family.codes.values()):
        if other.base is not other and other.lambda_ is not None and _makes(machine, other, lambda_):
            found: Code = other
            return found
    return None


def _makes(machine: Machine, code: Code, lambda_: Lambda) -> bool:
    if not any(inner is lambda_ for inner in lambdas_within(machine.core_of(code).body)):
        return False
    source = source_of(code)
    return not any(inner is lambda_ for inner in lambdas_within(machine.core_of(source).body))


def _made_by(maker: Code, reverse: str) -> tuple[str, ...]:
    """The word for what a transformed code contains and its source does not: `reverse`; a continuation computes no derivative."""
    return () if maker.transforms[0] in (CONTROL, STEPPING) else (reverse,)


def root_of(machine: Machine, code: Code) -> Code:
    """The procedure of the program from which a code was derived, or the code itself."""
    maker = maker_of(machine, code)
    while maker is not None:
        code = maker
        maker = maker_of(machine, code)
    return code.base


def modes_of(machine: Machine, code: Code) -> tuple[str, ...]:
    """The derivatives that a code computes, outermost first."""
    maker = maker_of(machine, code)
    inner: tuple[str, ...] = ()
    if maker is not None:
        inner = (*_made_by(maker, "reverse"), *modes_of(machine, source_of(maker)))
    return (*kinds_of(transforms(code)), *inner)


def phase_of(machine: Machine, code: Code, variable: Variable | None) -> Phase:
    """What the operation in this code that binds this variable computes."""
    path = transforms(code)
    while len(path) > 1 and path[-2].tail is path[-1]:
        path = path[
            :-1
        ]  # operations that the reverse transform adds to the forward phase compute no derivative yet
    own = [source for source in path if variable in bound_in(machine.core_of(source).body)]
    modes = modes_of(machine, own[0] if own else path[-1])
    if not modes:
        return PRIMAL
    return Phase("tangent" if modes[0] == "forward" else "sensitivity", modes)


def differentiated(machine: Machine, code: Code, span: Span | None) -> str:
    """The primitive of the program whose derivative the operation at this place belongs to; "" if there is none."""
    root = root_of(machine, code)
    if root.primitive is not None:
        return root.primitive.name
    work: list[Body] = [machine.core_of(root).body] if span is not None else []
    while work:
        body = work.pop()
        for binding in body.bindings:
            if isinstance(binding, Binding):
                if isinstance(binding.rhs, Apply) and binding.rhs.span is span:
                    return binding.rhs.primitive.name
                work += sub_bodies(binding.rhs)
        work += sub_bodies(body.result)
    return ""


def is_top_level(machine: Machine, code: Code) -> bool:
    """Whether a code is a form outside of all procedures."""
    span = machine.core_of(code).span
    return not code.name and span is not None and type(span) is not ProcedureSpan


def described(machine: Machine, code: Code) -> str:
    """The displayed name of a procedure, including derivatives of procedures."""
    if code.role is Role.TAG:
        return {"reverse": "a procedure that J made", "forward": "a procedure on forward values"}.get(
            code.name, code.name
        )
    if code.role is Role.BACKPROPAGATOR:
        return "the backpropagator that J hands out"
    root = root_of(machine, code)
    name = root.name or ("the top level" if is_top_level(machine, root) else "an anonymous procedure")
    kinds = kinds_of(transforms(code))
    maker = maker_of(machine, code)
    if maker is not None:
        kinds += [*_made_by(maker, "backpropagator"), *kinds_of(transforms(maker)[:-1])]
    return "".join([f"{kind} of " for kind in kinds]) + name
