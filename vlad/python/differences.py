"""Derivative rules of Python functions, compared with finite differences.

In: a row with its rules, and points.  Out: nothing, or an error with the numbers. Called by host.py when a primitive is passed to
a session.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vlad.ad.vector_space import complete
from vlad.data.errors import VladError
from vlad.data.tensors import Tensor, kind_name, namespace
from vlad.data.values import ZERO, Primitive, Value, closure, look
from vlad.data.write import written
from vlad.python.callables import Function, fitting, procedure_of, protected, real_function
from vlad.python.convert import Apply as ApplyProcedure
from vlad.python.convert import from_python
from vlad.python.structures import parts_of, tuple_of

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

Point = tuple[Value, ...]

MOST_POINTS = 6
MOST_DRAWN = 60


def wrong_rule(name: str, why: str, hint: str | None = None) -> VladError:
    return VladError("invalid-rule", f"The primitive {name} is not understood: {why}", hint=hint)


def point_text(point: Sequence[Value]) -> str:
    return f"({' '.join([written(x, 60) for x in point])})"


class Points:
    """Points for checking a primitive: the kinds of its operands, and points in its domain.

    kinds       of the operands: "number" if they may vary, "any" if they have no tangents
    are_reals   it is a function of reals to a real
    given       the examples; points near them, or drawn at random if there are none, may be outside the domain
    """

    def __init__(
        self, name: str, function: Function, operands: tuple[str, ...], example: Any, apply: ApplyProcedure
    ) -> None:
        self.name = name
        self.function = function
        self.operands = operands
        self.example = example
        self.random = random.Random(name)
        self.given = [self._converted(example, apply) for example in self._examples()]
        first = self.given[0] if self.given else (0.0,) * len(operands)
        self.kinds = [
            "number" if type(x) is float or (type(x) is Tensor and x.is_real) else "any" for x in first
        ]
        if "number" not in self.kinds:
            raise wrong_rule(name, "no operand of its example is a real or an array of reals")
        self.are_reals = all(type(x) is float for x in first) and (
            not self.given or self._returns_real(first)
        )

    def _examples(self) -> list[tuple[Any, ...]]:
        example = self.example
        if example is None:
            return []
        examples = example if isinstance(example, list) else [example]
        return [one if isinstance(one, tuple) else (one,) for one in examples]

    def _converted(self, example: tuple[Any, ...], apply: ApplyProcedure) -> Point:
        operands = self.operands
        if len(example) != len(operands):
            raise wrong_rule(
                self.name, f"its example has {len(example)} operands", f"it takes {' '.join(operands)}"
            )
        return tuple([from_python(x, apply) for x in example])

    def _returns_real(self, point: Point) -> bool:
        result = protected(self.name, self.function, point)
        return not getattr(result, "shape", ())

    def values(self) -> list[tuple[Point, float]]:
        """Points of a function of reals, with its values."""
        function = real_function(self.name, self.function)
        found = [(point, function(*point)) for point in self.given]
        failure: VladError | None = None
        for point in self.tries():
            if len(found) >= MOST_POINTS:
                break
            try:
                value = function(*point)
            except VladError as error:
                failure = error
                continue
            if math.isfinite(value):
                found.append((point, value))
        if not found:
            why = "" if failure is None else f": {failure.message}"
            raise wrong_rule(
                self.name, f"it returns a finite number at no point that was tried{why}", NO_POINTS
            )
        return found

    def tries(self) -> Iterator[Point]:
        """Points at which the function may be undefined."""
        for index in range(MOST_DRAWN):
            if self.given:
                near = self.given[index % len(self.given)]
                yield tuple([x * self.random.uniform(0.9, 1.1) for x in near])
            else:
                low, high = ((-2.0, 2.0), (0.1, 0.9), (1.1, 3.0))[index % 3 if index > 5 else 0]
                yield tuple([self.random.uniform(low, high) for _ in self.operands])

    def all(self) -> list[Point]:
        return [point for point, _ in self.values()] if self.are_reals else self.given


NO_POINTS = "`example=` gives the points: a tuple of operands, or a list of some"


class Check:
    """Compares the rules of a row with finite differences, operand by operand. Operands declared constant are
    not checked.
    """

    def __init__(
        self,
        machine: Machine,
        name: str,
        row: Primitive,
        varying: Sequence[str],
        points: Points,
        modes: Sequence[str],
    ) -> None:
        self.machine = machine
        self.name = name
        self.row = row
        self.varying = varying
        self.points = points
        self.modes = modes
        self.procedure = procedure_of(machine, row, name)

    def run(self) -> None:
        points = self.points.all()
        compared = [self._at(point, x) for point in points for x in self.varying]
        if self.varying and not any(compared):
            raise wrong_rule(
                self.name, "there was no point at which its derivative could be checked", NO_POINTS
            )

    def _at(self, point: Point, x: str) -> bool:
        """Compare at a point. Returns whether a comparison was possible there."""
        place = self.row.operands.index(x)
        weight = self._random_like(self.row.value(*point))
        direction = self._random_like(point[place])
        try:
            expected, error = self._difference(point, place, direction, weight)
        except VladError:
            if point in self.points.given:
                raise
            return False
        if not math.isfinite(expected):
            return False
        for mode in self.modes:
            found = (self._forward if mode == "forward" else self._reverse)(point, place, direction, weight)
            allowed = error + _precision(point[place]) ** 0.4 * max(abs(found), abs(expected))
            if not abs(found - expected) <= allowed:
                raise self._wrong(x, point, found, expected)
        return True

    def _wrong(self, x: str, point: Point, found: float, expected: float) -> VladError:
        along = "" if self.points.are_reals else " (weighted at random)"
        return VladError(
            "wrong-derivative",
            f"A derivative rule of {self.name} is wrong: by {x} at {point_text(point)} "
            f"it gives {found:.6g}, finite differences {expected:.6g}{along}",
        )

    def _difference(self, point: Point, place: int, direction: Value, weight: Value) -> tuple[float, float]:
        """The central difference, extrapolated (Richardson), and an estimate of its error."""

        def at(step: float) -> float:
            moved = [*point]
            moved[place] = point[place] + direction * step
            return dot(weight, self.row.value(*moved))

        def slope(step: float) -> float:
            return (at(step) - at(-step)) / (2 * step)

        precision = _precision(point[place])
        step = precision**0.2 * max(0.1, _largest(point[place]))
        coarse, fine = slope(step), slope(step / 2)
        rounding = 10 * precision * abs(at(0.0)) / step
        return (4 * fine - coarse) / 3, 10 * abs(fine - coarse) + rounding

    def _forward(self, point: Point, place: int, direction: Value, weight: Value) -> float:
        tangents = [direction if index == place else complete(x, ZERO) for index, x in enumerate(point)]
        entry = self.machine.forward_closure(self.procedure)
        both = self.machine.apply(entry, (ZERO, (tuple_of(tangents), tuple_of(list(point)))))
        return dot(weight, look(both)[1])

    def _reverse(self, point: Point, place: int, direction: Value, weight: Value) -> float:
        identity = closure(self.machine.codes["identity"])
        entry = self.machine.tail_closure(self.procedure)
        both = look(self.machine.apply(entry, (identity, tuple_of(list(point)))))
        packed = look(self.machine.apply(both[1], weight))[1]
        return dot(direction, parts_of(packed, len(point))[place])

    def _random_like(self, value: Value) -> Value:
        draw = self.points.random
        if type(value) is not Tensor:
            return 1.0
        xp = namespace(value.like)
        numbers = [draw.gauss(0, 1) for _ in range(math.prod(value.shape))]
        return Tensor(xp.reshape(xp.asarray(numbers, dtype=value.like.dtype), value.shape))


def _precision(value: Value) -> float:
    """The relative precision of a number of this kind."""
    return 2.0**-23 if type(value) is Tensor and kind_name(value.like.dtype) == "float32" else 2.0**-52


def _largest(value: Value) -> float:
    if type(value) is not Tensor:
        size: float = abs(value)
        return size
    return float(namespace(value.like).max(abs(value.array))) if 0 not in value.shape else 0.0


def dot(a: Value, b: Value) -> float:
    """The inner product of a tangent and a sensitivity of one value. Raises VladError if they do not match."""
    if a is ZERO or b is ZERO:
        return 0.0
    product = fitting("of the derivative", b, a) * a
    return float(namespace(product.like).sum(product.array)) if type(product) is Tensor else product
