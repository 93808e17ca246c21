"""Active procedures, their places, and the values of their variables.

In: Python's frames of emitted code, at a stop or after an error.  Out: `Frame`s for display. The table of an emitted
function maps lines to operations and variables to Python locals (emit_python.Emission), so nothing is
recorded while a program runs.
"""

from __future__ import annotations

from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Any

from vlad.core.nodes import RESULT, Constant, DerivedName, GlobalReference, Variable, WrittenName
from vlad.core.simplify import bound_in
from vlad.data.source import Span, in_library
from vlad.data.values import Code, Role, Value, is_procedure, look
from vlad.data.write import written
from vlad.debugging.origins import described, root_of
from vlad.evaluate.emit_python import Emission, is_emitted
from vlad.evaluate.errors.replay import Frames, ReadFrame, Replay, emission_of, span_of

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MOST_FRAMES = 1000  # collected, the innermost of a very deep stack
MOST_OUTER_FRAMES = 100  # and after an error the outermost
LONGEST = 70  # characters of a value


def shortened(value: Value, longest: int = LONGEST) -> str:
    """A value as text on one line, truncated if it is long."""
    text = " ".join(written(value, longest).split("\n"))
    return text if len(text) <= longest else text[: longest - 1].rstrip("…") + "…"


def active_frames(frame: FrameType | None, most: int = MOST_FRAMES) -> Frames:
    """The active frames of emitted code, outermost first; of a very deep stack the innermost."""
    frames: Frames = []
    while frame is not None and len(frames) < most:
        if is_emitted(frame):
            frames.append((frame, frame.f_lineno))
        frame = frame.f_back
    return frames[::-1]


class Frame:
    """An active procedure.

    procedure   its displayed name, such as "f" or "backpropagator of f"
    span        where it is, or None
    """

    def __init__(self, machine: Machine, emission: Emission, frame: ReadFrame, line: int) -> None:
        self.machine = machine
        self.emission = emission
        self.code: Code = emission.code
        self._locals = dict(frame.f_locals)  # not the frame, which would keep all its callers alive
        self._operations = emission.sites.get(line, [])

    @cached_property
    def procedure(self) -> str:
        return described(self.machine, self.code)

    @property
    def span(self) -> Span | None:
        found = span_of(self._operations)
        return self.machine.core_of(self.code).span if found is None else found

    @property
    def is_users(self) -> bool:
        """Whether its text is in a program of the user's."""
        span = self.machine.core_of(root_of(self.machine, self.code)).span
        return span is not None and not in_library(span)

    @cached_property
    def _replay(self) -> Replay:
        """Values inlined into the line are computed again: they are pure. An error on the line is not repeated."""
        replay = Replay(self.machine, self.emission, self._locals)
        replay.error([(v, rhs) for v, rhs in self._operations if v is not None and not is_effect(rhs)])
        return replay

    def value(self, variable: Variable) -> Value:
        """The value of a variable; None if it has none yet, or no longer."""
        aliases = self.emission.aliases
        atom: Any = variable
        while isinstance(atom, Variable) and atom in aliases and atom not in self._replay.again:
            atom = aliases[atom]
        if isinstance(atom, Variable | Constant | GlobalReference):
            return self._replay.value(atom)
        return None

    def variables(self) -> dict[str, Value]:
        """The named variables that have values, the procedure's own first, then the captured ones;
        of several with one name the innermost. In a derivative also the values computed for them: `x.sensitivity`.
        """
        lambda_ = self.machine.core_of(self.code)
        inner = [*self.emission.locals, *self.emission.aliases]
        own = [variable for variable in inner if variable not in self.code.environment]
        members = [variable for variable, _ in self.code.group]
        ordered = [*lambda_.parameters, *own, *self.code.environment, *members]
        within = {*lambda_.parameters, *bound_in(lambda_.body)}
        found: dict[str, Value] = {}
        outer: dict[str, Value] = {}
        names = self._names()
        for variable in dict.fromkeys(ordered):
            if is_shown(variable, names):
                value = self.value(variable)
                if value is not None and variable in within:
                    found[str(variable.name)] = value
                elif value is not None:
                    outer.setdefault(str(variable.name), value)
        return found | {name: value for name, value in outer.items() if name not in found}

    def _names(self) -> frozenset[str]:
        """The names used in the procedure of the program from which this code was derived."""
        root = root_of(self.machine, self.code)
        lambda_ = self.machine.core_of(root)
        named = [*lambda_.parameters, *bound_in(lambda_.body), *root.environment]
        return frozenset([RESULT, *[v.name for v in named if isinstance(v.name, WrittenName)]])

    def __str__(self) -> str:
        return f"{self.procedure} at {self.span}" if self.span is not None else self.procedure


def is_effect(rhs: Any) -> bool:
    row = getattr(rhs, "primitive", None)
    return row is not None and row.effect


def is_shown(variable: Variable, names: frozenset[str]) -> bool:
    """Does the program name the variable, or that of which it is the tangent or the sensitivity?"""
    name = variable.name
    if not isinstance(name, DerivedName):
        return isinstance(name, WrittenName)
    return (name.of is RESULT or isinstance(name.of, WrittenName)) and name.of in names


def frames_of(machine: Machine, active: Frames, library: bool = False) -> list[Frame]:
    """The frames for display, innermost first; `library`: including those of the library and of the system."""
    found = []
    if len(active) > MOST_FRAMES + MOST_OUTER_FRAMES:
        active = [*active[:MOST_OUTER_FRAMES], *active[-MOST_FRAMES:]]
    for frame, line in reversed(active):
        emission = emission_of(frame)
        if emission is not None and emission.code.machine is machine:
            one = Frame(machine, emission, frame, line)
            if library or one.is_users:
                found.append(one)
    return found


def closed_over(machine: Machine, value: Value) -> dict[str, Value]:
    """The captured values of a procedure, by the names of its variables; of a backpropagator from J the procedure, its
    argument and its value, and the saved values of the reverse phase.
    """
    value = look(value)
    if not is_procedure(value):
        return {}
    code: Code = value[0]
    if code.role is Role.BACKPROPAGATOR:
        _, procedure, argument, result, back = value[:5]
        return {"procedure": procedure, "argument": argument, "value": result} | closed_over(machine, back)
    found: dict[str, Value] = {}
    for variable, part in zip(code.environment, value[1:], strict=False):
        if isinstance(variable.name, WrittenName) or not is_procedure(part):  # not the next backpropagator
            name = str(variable.name)
            while name in found:
                name += "'"
            found[name] = part
    return found
