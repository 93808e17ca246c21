"""The origin of a NaN: the first operation that makes an infinity or a NaN from finite numbers.

In: operands and results of operations on numbers.  Out: `Finding`s: the primitive, its operands, which entry of a tensor, the
place in the program, and the derivative for which it was computed. Called by instrumented code, for each operation; the
results are the program's, which continues.

Sums of sensitivities that are structures are computed on first access to a part (values.Deferred): the finding is then at that
place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from vlad.data.errors import VladError
from vlad.data.source import Span, in_library, in_stdlib
from vlad.data.tensors import Tensor, on_host
from vlad.data.values import Backtrace, Deferred, Primitive, Value
from vlad.data.write import real_text
from vlad.debugging.frames import active_frames, shortened
from vlad.debugging.instrumented import Place
from vlad.debugging.origins import Phase, differentiated, phase_of
from vlad.evaluate.errors.explain import placed
from vlad.evaluate.errors.miscounted import Counted

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MOST_PARTS = 10_000  # of a structure that are searched
MOST_NEW_PARTS = 100  # of a result: sums of structures are added at once no deeper (vector_space.AT_ONCE)
NO_NUMBERS = frozenset({"boolean", "procedure", "string", "symbol", "pair", "null", "unspecified"})
# These return an operand, or a structure that contains it.
CARRIERS = frozenset(
    {"cons", "write", "stop-gradient", "make-backpropagator", "make-forward", "*j", "perturb", "sensitize"}
)


class Finding:
    """The first infinity or NaN.

    kind        "infinity" or "NaN"
    made        whether it was made here, of finite operands. Otherwise it existed already: a constant, data, from Python
    primitive   the primitive that was applied
    operands    its operands, as text; of tensors, the entries at `index` if they have them
    result      the number, as text
    index       of the entry, if the result is a tensor
    phase       what it was computed for
    of          the primitive of the program to whose derivative this belongs, or ""
    span        the place in the program
    within      the place in the library, if the operation is there
    backtrace   the active procedures
    """

    __slots__ = (
        "kind", "made", "primitive", "operands", "result", "index", "phase", "of", "span", "within", "backtrace",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        made: bool,
        primitive: str,
        operands: list[str],
        result: str,
        index: tuple[int, ...] | None,
    ) -> None:
        self.kind, self.made = kind, made
        self.primitive, self.operands, self.result, self.index = primitive, operands, result, index
        self.phase = Phase("primal", ())
        self.of = ""
        self.span: Span | None = None
        self.within: Span | None = None
        self.backtrace: list[Backtrace] = []

    def __str__(self) -> str:
        """Formatted like an error: position and description, excerpt, and details."""
        applied = f"({' '.join([self.primitive, *self.operands])})"
        what = f"the derivative of `{self.of}`" if self.of else applied
        at = "" if self.index is None else f" at entry {' '.join(map(str, self.index))}"
        headline = f"The first {self.kind}: {what} is {self.result}{at}"
        lines = [headline if self.span is None else f"{self.span}: {headline}"]
        if self.span is not None:
            lines.append(self.span.excerpt())
            use = getattr(self.span, "use", None)
            if use is not None:
                lines.append(f"  in the expansion of the macro used at {use}")
        if self.phase.modes:
            lines.append(f"  a {self.phase}: {applied}")
        if not self.made:
            lines.append("  it was there before: a constant, data, or what a Python function gave")
        if self.within is not None:
            lines.append(f"  in the library, at {self.within}")
        return "\n".join(lines + [backtrace_line(entry) for entry in self.backtrace])


def backtrace_line(entry: Backtrace) -> str:
    if entry.backpropagator_of is None:
        return f"  in {entry}"
    name = f"{entry.derivation}the backpropagator of {entry.backpropagator_of or 'an anonymous procedure'}"
    return f"  in {Backtrace(name, entry.span)}"


class Finder:
    """Inspects results of operations. `found` is called with the first infinity and the first NaN of each evaluation."""

    def __init__(self, machine: Machine, found: Callable[[Finding], object]) -> None:
        self.machine = machine
        self.found = found
        self.resting = False
        self.beginning: tuple[Value, Value] | None = None
        self.seen: set[str] = set()

    def begin(self, beginning: tuple[Value, Value] | None) -> None:
        self.beginning = beginning
        self.seen = set()

    def observed(self, place: Place, row: Primitive, rule: Callable[..., Value]) -> Callable[..., Value]:
        if row.type.result in NO_NUMBERS or row.name in CARRIERS:
            return rule

        def observed(*operands: Value) -> Value:
            result = rule(*operands)
            if type(result) is float:
                if result - result != 0.0:
                    self.look(place, row.display_name, operands, result)
            elif type(result) is Tensor:
                if result.is_real and not result.is_sum and not all_finite(result):
                    self.look(place, row.display_name, operands, result)
            elif type(result) is tuple and len(result) == 2 and kind_within(result, MOST_NEW_PARTS):
                self.look(place, row.display_name, operands, result)
            return result

        return observed

    def observed_part(self, place: Place, part: Callable[[Value], Value]) -> Callable[[Value], Value]:
        """Inspect a part of a structure that was computed only now, as it may be a sum."""

        def observed_part(whole: Value) -> Value:
            result = part(whole)
            if type(whole) is Deferred and type(result) in (float, Tensor) and not is_finite(result):
                self.look(place, "accumulate", (), result)
            return result

        return observed_part

    def look(self, place: Place, primitive: str, operands: tuple[Value, ...], result: Value) -> None:
        """Report a result if it is the first of its kind, and whether it was made here."""
        if self.resting:
            return
        index, number = odd_entry(result)
        kind = "NaN" if number != number else "infinity"
        given = [kind_within(operand) for operand in operands]
        made = not any(given) if kind == "infinity" else "NaN" not in given
        # values that are not finite from the start pass through sums unchanged: only the first matters
        if kind in self.seen or (not made and (kind == "infinity" or self.seen)):
            return
        self.seen.add(kind)
        shown = [operand_text(operand, index, result) for operand in operands]
        finding = Finding(kind, made, primitive, shown, real_text(number), index)
        self.place(finding, place)
        self.found(finding)

    def place(self, finding: Finding, place: Place) -> None:
        """Set the place: as for an error, the user's text comes first."""
        machine = self.machine
        finding.phase = phase_of(machine, place.code, place.variable)
        if finding.phase.modes:
            finding.of = differentiated(machine, place.code, place.span)
        error = VladError("not-finite", finding.kind)
        placed(machine, Counted(error, active_frames(sys._getframe(1))), self.beginning)
        span = error.span
        if (span is None or in_library(span)) and self.beginning is not None:
            form = machine.core_of(self.beginning[0][0]).span
            span = span if form is None or in_library(form) else form
        finding.span, finding.backtrace = span, error.backtrace
        if place.span is not None and in_stdlib(place.span):
            finding.within = place.span


# Numbers.


def all_finite(tensor: Tensor) -> bool:
    array = tensor.array
    return bool(array.__array_namespace__().isfinite(array).all())


def is_finite(value: Value) -> bool:
    return not kind_within(value)


def kind_within(value: Value, most: int = MOST_PARTS) -> str:
    """ "NaN" or "infinity", if a number, a tensor or a structure contains one, NaN first; "" if all is finite. Deferred parts
    are not forced.
    """
    found, looked = "", 0
    work = [value]
    while work and looked < most:
        part = work.pop()
        looked += 1
        if type(part) is float:
            kind = "" if part - part == 0.0 else "NaN" if part != part else "infinity"
        elif type(part) is Tensor and part.is_real and not part.is_sum:
            kind = "" if all_finite(part) else _kind_in(part)
        else:
            kind = ""
            if type(part) is tuple and len(part) == 2:
                work += part
        if kind == "NaN":
            return kind
        found = found or kind
    return found


def _kind_in(tensor: Tensor) -> str:
    array = tensor.array
    return "NaN" if bool(array.__array_namespace__().isnan(array).any()) else "infinity"


def odd_entry(value: Value) -> tuple[tuple[int, ...] | None, float]:
    """A number that is not finite in a value, a NaN before an infinity, and its index in its tensor."""
    wanted = kind_within(value)
    work = [value]
    while work:
        part = work.pop()
        if kind_within(part) != wanted:
            continue
        if type(part) is float:
            return None, part
        if type(part) is Tensor:
            return _odd_entry(part, wanted)
        work += [part[1], part[0]]
    raise AssertionError("there is one")


def _odd_entry(tensor: Tensor, wanted: str) -> tuple[tuple[int, ...], float]:
    array = on_host(tensor.array)
    flat = array.reshape(-1)
    odd = flat != flat if wanted == "NaN" else abs(flat) == float("inf")
    at = int(odd.argmax())
    index = []
    for size in reversed(array.shape):
        index.append(at % size)
        at //= size
    index.reverse()
    return tuple(index), float(array[tuple(index)])


def operand_text(operand: Value, index: tuple[int, ...] | None, result: Value) -> str:
    """An operand as text; for an elementwise operand, the entry at `index`."""
    if index is None or type(operand) is not Tensor or operand.shape != result.shape:
        return shortened(operand)
    return real_text(float(on_host(operand.array)[index]))
