"""The two machines as Protocols: `Evaluator` computes values, `AbstractMachine` computes what is known of them.

Types only; nothing here runs. A rule of a row takes one of the two as its first argument, but stands above both in the order of
imports. The implementations are evaluate/machine.Machine and compile/analysis/abstract_interpreter.AbstractInterpreter; rooms
below an implementation name that class itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from vlad.core.loop_nests import Kernel, Routine
from vlad.core.nodes import Lambda
from vlad.core.types import Known, Recursion, Type, Types
from vlad.data.errors import VladError
from vlad.data.values import Code, Primitive, Value


class OutputRoom(Protocol):
    """What is left of the limit on output."""

    def room(self) -> int | None:
        """How many characters may still be written; None without a limit."""


class Evaluator(Protocol):
    """The machine that evaluates, as far as rules of rows and readers of codes need it: codes, transforms on demand, input and
    output."""

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
    def arguments(self) -> Value:
        """The words behind the script's name, as a list of strings; the same object each time."""

    @property
    def watch(self) -> OutputRoom:
        """The limits of the evaluation that runs."""

    def write(self, text: str, /) -> object:
        """Write to the session's output; the result is unused. Raises LimitExceeded in place of writing more than is allowed, and
        VladError where programs may not use the standard streams."""

    def read_word(self) -> str:
        """The next word of the input, '' at its end. Raises VladError where programs may not use the standard streams."""

    def find(self, name: str, /) -> str:
        """The path of a file that a program names. Raises VladError where there is none, or programs may not read files."""

    def permit(self, capability: str, what: str, /) -> object:
        """Raises VladError where the session forbids the capability; the result is unused."""

    def core_of(self, code: Code) -> Lambda:
        """The lambda that the code evaluates, made when it is first asked for."""

    def derived_code(self, code: Code, kind: str) -> Code:
        """The code of the "tail" or "forward" entry of a code; the same one each time."""

    def tail_closure(self, f: Value) -> Value:
        """The tail entry of a procedure; of the known zero, itself. Raises VladError for any other value."""

    def forward_closure(self, f: Value) -> Value:
        """The forward entry of a procedure; otherwise as `tail_closure`."""


class KnownFiles(Protocol):
    """The files that a check of a program looks at (primitives/files.Files)."""

    @property
    def found(self) -> dict[Any, tuple[str, Value]]:
        """By row and operands: the name of the file, and what was read from it."""

    def write(self, name: str | None) -> None:
        """Record that the program writes this file; None: one whose name is not known."""

    def is_written(self, name: str) -> bool:
        """May the program write this file?"""


class AbstractMachine(Protocol):
    """The machine that runs the rules of rows on what is known of their operands.

    A rule returns what is known of its result, or None where no result follows: every path ends in an error, or (specialising)
    has returned already. What is emitted on the way is the machine's part. Members that can end in an error have None as a
    result for that reason, and a rule that goes on after one of them tests for it.

    Any member that makes a type may raise core/types.TooLarge.
    """

    key: Any  # names the operation in hand; a rule that dispatches twice extends it, so that the results stay apart

    @property
    def machine(self) -> Evaluator:
        """The evaluator of the same session."""

    @property
    def types(self) -> Types:
        """All types of this analysis."""

    @property
    def is_standalone(self) -> bool:
        """Does an error write its own message, because there is no evaluator that could repeat the call?"""

    @property
    def files(self) -> KnownFiles | None:
        """The files that are looked at beforehand; None where none is."""

    # What is known of values.

    @property
    def unspecified(self) -> Known:
        """The value of an effect."""

    @property
    def known_zero(self) -> Known:
        """The known zero."""

    def constant(self, value: Value) -> Known:
        """An atom that is known."""

    def truth(self, value: bool) -> Known:
        """A boolean that is known."""

    def value(self, value: Value) -> Known:
        """A value that exists, its structure part by part. Raises Unbounded where it has a part that is not compiled."""

    def argument_type(self, value: Value) -> Type:
        """The type of a value whose reals, booleans and strings are not to be known. Raises Unbounded as `value` does."""

    def pair(self, car: Known, cdr: Known) -> Known:
        """The pair of these two."""

    def closure(self, code: Code, fields: Iterable[Known]) -> Known:
        """The closure of the code over these values."""

    def part(self, value: Known, index: int) -> Known:
        """A part of a pair or closure, which is no union."""

    def parts(self, value: Known) -> list[Known]:
        """All parts of a pair or closure, which is no union."""

    def rebuilt(self, like: Type, parts: list[Known]) -> Known:
        """The pair or closure of these parts, by the type of one like it."""

    def characters(self, string: Known) -> Known:
        """The list of a string's characters."""

    def string(self, characters: Known) -> Known:
        """The string of a list of characters."""

    def as_real(self, boolean: Known) -> Known:
        """A boolean as 1 or 0."""

    def unknown_real(self, value: Known) -> Known | Any:
        """The real, with nothing more known of it. None where it is no real; the type leaves that open, as
        that of `apply` does."""

    def system(self, name: str) -> Code:
        """A code of AD values. Raises KeyError for another name."""

    # Operations.

    def apply(self, row: Primitive, operands: list[Known]) -> Known | Any:
        """A row on these operands. Raises Unbounded where it is not compiled. None where it does not take them, which the type
        leaves open: a rule that has checked its operands applies rows to each other's results without a test."""

    def scalar(self, row: Primitive, operands: list[Known]) -> Known | None:
        """A row with a `c` on reals, or on tensors entry by entry; folded where all are known."""

    def folded(self, row: Primitive, operands: Sequence[Known]) -> Known | None:
        """A row on constants, by its value rule. Raises Unbounded where one is not constant."""

    def compute(self, row: Primitive, operands: Sequence[Known], result: Type) -> Known:
        """A row with a `c`, applied when the program runs."""

    def loops(
        self, kernel: Kernel | Routine, operands: Sequence[Known], results: Sequence[Type]
    ) -> list[Known]:
        """The outputs of a kernel or routine, one for each of `results`. Raises Unbounded where the device has none such."""

    def each(self, value: Known, rule: Callable[[Known], Known | None], label: str = "") -> Known | None:
        """The rule on the value; on each member, the results joined, where it is a union. `label` tells two uses in one rule
        apart."""

    def branch(
        self,
        key: Any,
        test: Known,
        consequent: Callable[[], Known | None],
        alternative: Callable[[], Known | None],
        tail: bool,
    ) -> Known | None:
        """Either of two, by a boolean that is not known, the results joined. `key` is unique within the rule."""

    def invoke(
        self, callee: Code | Recursion, fields: tuple[Known, ...], operands: Sequence[Known], tail: bool
    ) -> Known | None:
        """A call of a code over these fields, or of a recursion, as an instance of its own."""

    def recursive(self, recursion: Recursion, *operands: Known) -> Known | None:
        """The recursion on these operands: a call where one is a union, in place where none is."""

    def effect(
        self,
        what: str,
        operands: Sequence[Known] = (),
        text: str = "",
        answer: Type | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> Known | None:
        """An effect, named by `what`; the value that is read, of type `answer`, or the unspecified one."""

    # Errors of the program: the result is None, for nothing follows.

    def fail(self, what: str) -> Known | None:
        """An error with this message."""

    def invalid(self, name: str) -> Known | None:
        """An operand is not of a kind that the row of this name takes."""

    def misfitting(self, what: str) -> Known | None:
        """An operand is of another kind or shape than the operation takes."""

    def misfit(self, name: str, *shapes: tuple[int, ...]) -> Known | None:
        """Operands of these shapes do not fit each other."""

    def unlike(self, name: str) -> Known | None:
        """The parts of two operands do not correspond."""

    def by_value(self, what: str) -> Known | None:
        """An error that depends on values, not on kinds or shapes."""

    def unsupported(self, what: str) -> Known | None:
        """What only tier 0 does, for some values."""

    def raised(self) -> Known | None:
        """The program's own error."""

    def refused(self, error: VladError) -> Known | None:
        """The error that a rule raised."""

    # What is not compiled. These do not return.

    def left_out(self, what: str) -> NoReturn:
        """Raises Unbounded: this is evaluated, not compiled."""

    def unbounded(self, reason: str, for_number: bool = False) -> NoReturn:
        """Raises Unsettled: more would have to be known; `for_number`: of a number."""
