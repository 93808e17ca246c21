"""The two machines as Protocols: `Evaluator` computes values, `AbstractMachine` computes abstract values.

Types only; nothing here runs. A rule of a row takes one of the two as its first argument, but precedes both in the order of
imports. The implementations are evaluate/machine.Machine and compile/analysis/abstract_interpreter.AbstractInterpreter; folders
after an implementation use that class itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, NoReturn, Protocol

from vlad.core.extents import AnExtent
from vlad.core.loop_nests import Kernel, Routine
from vlad.core.nodes import Lambda
from vlad.core.types import Known, Recursion, Type, Types
from vlad.data.errors import Notice, VladError
from vlad.data.values import Code, Primitive, Value


class OutputRoom(Protocol):
    """The rest of the limit on output."""

    def room(self) -> int | None:
        """The number of characters that may still be written; None without a limit."""


class Evaluator(Protocol):
    """The interface of the evaluator for rules of rows and readers of codes: codes, transforms on demand, input and output."""

    @property
    def table(self) -> Mapping[str, Primitive]:
        """Every row by its name."""

    @property
    def codes(self) -> Mapping[str, Code]:
        """The codes of AD values by name, each made when it is first looked up. Raises KeyError for another name."""

    @property
    def device(self) -> str:
        """The name of the device on which the session's tensors lie, "cpu" or "cuda"."""

    @property
    def progress(self) -> Callable[[float, float, float], int | None] | None:
        """Shows how far a loop is: the number of a step, how many there are, or 0, and a value. Returns how many steps need not
        be shown. None if progress is not shown."""

    @property
    def remark(self) -> Callable[[Notice], object] | None:
        """Called with what a run notes. None if remarks are not shown."""

    @property
    def arguments(self) -> Value:
        """The words behind the script's name, as a list of strings; the same object each time."""

    spread: Callable[[Value, Value], Value] | None
    """The values of a procedure at the elements of a list, which the session's executor computes; None if it has none."""

    import_onnx: Callable[[str], Value]
    """The pair of the procedure and the parameters of the model of ONNX in a file."""

    save: Callable[[Value], str]
    """The text of a value, with all that it reaches."""

    restore: Callable[[str], Value]
    """The value of such a text."""

    apart: Callable[[Value], Value]
    """The result of a procedure of no argument, on either tier, whatever the tier of the caller."""

    @property
    def uses_cells(self) -> bool:
        """May programs use cells?"""

    @property
    def ids_in_python(self) -> MutableMapping[Code, object]:
        """Identities of the functions of Python that codes are given or translated from."""

    shadows: tuple[Any, Any] | None
    """The shadows of cells of the innermost level of differentiation, and the levels around it."""

    rules: tuple[float, Any, Any, Callable[[Value], VladError]] | None
    """Of what runs and may not use cells from outside, a rule of `with-derivative` or a step of a checkpointed procedure: its
    first cell, the levels and the rules around it, and the error of an older cell."""

    visits: list[tuple[Any, Value]]
    """The cells of the parameters that have another value now, and what they held before, the latest last: an evaluation that a
    limit or an interrupt ends puts that back."""

    handlers: tuple[Any, Any] | None
    """What takes the next `raise-continuable`, the innermost first: the cell that holds a handler, or None for a `guard`."""

    frames: Any
    """What is around code that runs by control entries, up to a prompt (primitives/reentry.Frame); None if code runs as it is."""

    changed: float
    """The number of the oldest cell that was changed since the innermost `guard` began."""

    kept_until: float
    """The number of the first cell that a call which may be started again has made; before an older one changes, `will_change`
    is called."""

    will_change: Callable[[], None]

    @property
    def watch(self) -> OutputRoom:
        """The limits of the evaluation that runs."""

    outward: Callable[[Value], Any]
    """The counterpart of a value in Python."""

    def write(self, text: str, /) -> object:
        """Write to the session's output; the result is unused. Raises LimitExceeded in place of writing more than is allowed, and
        VladError where programs may not use the standard streams."""

    def read_word(self) -> str:
        """The next word of the input, '' at its end. Raises VladError if programs may not use the standard streams."""

    def find(self, name: str, /) -> str:
        """The path of a file that a program names. Raises VladError if there is none, or if programs may not read files."""

    def permit(self, capability: str, what: str, /) -> object:
        """Raises VladError if the session forbids the capability; the result is unused."""

    def core_of(self, code: Code) -> Lambda:
        """The lambda that the code evaluates, made on first use."""

    def derived_code(self, code: Code, kind: str) -> Code:
        """The code of the "tail", "forward", "control" or "stepping" entry of a code, made on first use."""

    def attempt(self, f: Value) -> tuple[Value, VladError | None]:
        """The result of a procedure of no argument, or its error. Limits and interrupts pass."""

    def attempt_but(
        self, f: Value, takes: Callable[[Any, Any, Value], bool], place: Any
    ) -> tuple[Value, Value | None]:
        """The result of a procedure of no argument, or what it raised, if `takes` is true of the machine, the place and that.
        All else passes.
        """

    def check_depth(self, k: Value) -> Value:
        """Raises LimitExceeded if calls are nested more deeply in a continuation than is allowed; else an unspecified value."""

    def tail_closure(self, f: Value) -> Value:
        """The tail entry of a procedure; the known zero for itself. Raises VladError for any other value."""

    def forward_closure(self, f: Value) -> Value:
        """The forward entry of a procedure; otherwise as `tail_closure`."""

    def control_closure(self, f: Value) -> Value:
        """The control entry of a procedure; otherwise as `tail_closure`."""

    def stepping_closure(self, f: Value) -> Value:
        """The stepping entry of a procedure; otherwise as `tail_closure`."""


class KnownFiles(Protocol):
    """The files that `vlad check` reads (primitives/files.Files)."""

    @property
    def found(self) -> dict[Any, tuple[str, Value]]:
        """By row and operands: the name of the file, and the value that was read from it."""

    def write(self, name: str | None) -> None:
        """Record that the program writes this file; None: a file whose name is not known."""

    def is_written(self, name: str) -> bool:
        """May the program write this file?"""


class AbstractMachine(Protocol):
    """The machine that runs the rules of rows on abstract values.

    A rule returns the abstract value of its result, or None if there is none: every path ends in an error, or (when specialising)
    has returned already. The machine emits code as a side effect. Members that can end in an error may return None for that
    reason, and a rule that continues after one of them has to test for it.

    Any member that makes a type may raise core/types.TooLarge.
    """

    instance: Any  # is run again when members are added to a union that it has read
    key: Any  # identifies the current operation; a rule that dispatches twice extends it, to distinguish the results

    @property
    def machine(self) -> Evaluator:
        """The evaluator of the same session."""

    @property
    def types(self) -> Types:
        """All types of this analysis."""

    @property
    def counting(self) -> bool:
        """Does each entry of a procedure count as a step?"""

    @property
    def is_standalone(self) -> bool:
        """Does an error write its own message, because there is no evaluator that could repeat the call?"""

    @property
    def files(self) -> KnownFiles | None:
        """The files that are read during the analysis; None if none are."""

    # Abstract values.

    @property
    def unspecified(self) -> Known:
        """The value of an effect."""

    @property
    def known_zero(self) -> Known:
        """The known zero."""

    def is_listed(self, count: AnExtent) -> bool:
        """Whether a list of so many parts of a tensor has a known length."""

    def length_of_list(self, count: Known) -> AnExtent:
        """The length of a list whose elements have been counted. Raises Unbounded if lengths must be known."""

    def length_of_number(self, number: Known) -> AnExtent | None:
        """The length that a number gives; None if it must be known."""

    def constant(self, value: Value) -> Known:
        """A known atom."""

    def truth(self, value: bool) -> Known:
        """A known boolean."""

    def value(self, value: Value) -> Known:
        """An existing value, with all its parts. Raises Unbounded if it has a part that is not compiled."""

    def argument_type(self, value: Value) -> Type:
        """The type of a value, in which reals, booleans and strings are unknown. Raises Unbounded as `value` does."""

    def pair(self, car: Known, cdr: Known) -> Known:
        """The pair of these two."""

    def closure(self, code: Code, fields: Iterable[Known]) -> Known:
        """The closure of the code over these values."""

    def part(self, value: Known, index: int) -> Known:
        """A part of a pair or closure, not of a union."""

    def parts(self, value: Known) -> list[Known]:
        """All parts of a pair or closure, not of a union."""

    def rebuilt(self, like: Type, parts: list[Known]) -> Known:
        """The pair or closure of these parts, as in the type `like`."""

    def rope(self, value: Known) -> Known:
        """A string, or one of the forms of a rope, as a rope (primitives/ropes.py)."""

    def string(self, rope: Known) -> Known:
        """The string of a rope."""

    @property
    def no_characters(self) -> Known:
        """The empty list of characters, of the type of all."""

    def as_real(self, boolean: Known) -> Known:
        """A boolean as 1 or 0."""

    @property
    def seeks_numbers(self) -> bool:
        """Whether a number that a list's length depends on is first sought among the operands of the call."""

    def unknown_real(self, value: Known) -> Known | Any:
        """The real, with its value unknown. None if the value is not a real, which the type leaves open, as for `apply`."""

    def system(self, name: str) -> Code:
        """A code of AD values. Raises KeyError for another name."""

    # Operations.

    def apply(self, row: Primitive, operands: list[Known]) -> Known | Any:
        """A row on these operands. Raises Unbounded if it is not compiled. None if it does not take them, which the type leaves
        open: a rule that has checked its operands applies rows to each other's results without a test."""

    def scalar(self, row: Primitive, operands: list[Known]) -> Known | None:
        """A row with a `c` on reals, or on tensors entry by entry; folded if all operands are known."""

    def folded(self, row: Primitive, operands: Sequence[Known]) -> Known | None:
        """A row on constants, by its value rule. Raises Unbounded if an operand is not constant."""

    def compute(self, row: Primitive, operands: Sequence[Known], result: Type) -> Known:
        """A row with a `c`, applied when the program runs."""

    def loops(
        self, kernel: Kernel | Routine, operands: Sequence[Known], results: Sequence[Type]
    ) -> list[Known]:
        """The outputs of a kernel or routine, one for each of `results`. Raises Unbounded if the device does not support it."""

    def each(self, value: Known, rule: Callable[[Known], Known | None], label: str = "") -> Known | None:
        """The rule on the value; for a union, on each member, with the results joined. `label` distinguishes two uses in one
        rule."""

    def each_two(self, a: Known, b: Known, rule: Callable[[Known, Known], Known | None]) -> Known | None:
        """The same for two values, and each member of one with each of the other. The rule does the same for all two of different
        heads."""

    def branch(
        self,
        key: Any,
        test: Known,
        consequent: Callable[[], Known | None],
        alternative: Callable[[], Known | None],
        tail: bool,
    ) -> Known | None:
        """A conditional on an unknown boolean, with the results joined. `key` is unique within the rule."""

    def invoke(
        self, callee: Code | Recursion, fields: tuple[Known, ...], operands: Sequence[Known], tail: bool
    ) -> Known | None:
        """A call of a code over these fields, or of a recursion, as a separate instance."""

    def recursive(self, recursion: Recursion, *operands: Known) -> Known | None:
        """The recursion on these operands: a call if one is a union, otherwise in place."""

    def effect(
        self,
        what: str,
        operands: Sequence[Known] = (),
        text: str = "",
        result: Type | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> Known | None:
        """An effect, named by `what`. Returns the value that is read, of type `result`, or the unspecified value."""

    # Errors of the program: the result is None, since nothing follows.

    def fail(self, what: str) -> Known | None:
        """An error with this message."""

    def invalid(self, name: str) -> Known | None:
        """The error of an operand of a kind that the row of this name does not take."""

    def misfitting(self, what: str) -> Known | None:
        """The error of an operand of another kind or shape than the operation takes."""

    def misfit(self, name: str, *shapes: tuple[int, ...]) -> Known | None:
        """The error of operands of these shapes, which do not fit."""

    def unlike(self, name: str) -> Known | None:
        """The error of two operands whose parts do not correspond."""

    def by_value(self, what: str) -> Known | None:
        """An error that depends on values, not on kinds or shapes."""

    def unsupported(self, what: str) -> Known | None:
        """A case that only tier 0 handles, for some values."""

    def raised(self, passes_guards: bool = False) -> Known | None:
        """The program's own error. `passes_guards`: none takes it."""

    def ended(self, status: Known, at_once: bool) -> Known | None:
        """The program ends itself, with a status; `at_once`: by `emergency-exit`."""

    def refused(self, error: VladError) -> Known | None:
        """An error that a rule raised."""

    # Operations that are not compiled. These do not return.

    def left_out(self, what: str, hint: str | None = None) -> NoReturn:
        """Raises Unbounded: this is evaluated, not compiled. `hint`: what to write instead."""

    def unbounded(self, reason: str, for_number: bool = False, hint: str | None = None) -> NoReturn:
        """Raises Unsettled: the analysis needs more information; `for_number`: on a number."""
