"""The machine as what emits code, and what explains its errors, uses it: a Protocol, for both stand above machine.py.

Types only; nothing here runs. It adds to core/machines.Evaluator, which names what rules of rows use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from vlad.core.machines import Evaluator
from vlad.core.nodes import Lambda, Variable
from vlad.data.values import Code, Primitive, Role, SystemCode, Value
from vlad.evaluate.limits import Limits


class SystemTexts(Protocol):
    """The procedures that every machine has (evaluate/system_procedures.py)."""

    @property
    def code_texts(self) -> Mapping[str, SystemCode]:
        """Of each code of AD values: its role, the names it is closed over, the texts of its lambdas."""

    def lambdas(self, texts: Iterable[str], environment: tuple[Variable, ...]) -> list[Lambda]:
        """The lambdas of these texts, closed over these variables, which the texts know by their names."""


class CodeMachine(Evaluator, Protocol):
    """An evaluator whose codes are made, emitted and explained."""

    @property
    def limits(self) -> Limits:
        """The limits that hold now."""

    @property
    def counting(self) -> bool:
        """Is each entry of a procedure a step?"""

    @property
    def metered(self) -> bool:
        """Are the applications of primitives counted?"""

    @property
    def selectors(self) -> Mapping[str, str]:
        """The rows that select a part of a pair, each with "car" or "cdr"."""

    @property
    def entry_rows(self) -> Mapping[str, str]:
        """The rows that make an entry, each with its kind, "tail", "forward", "control" or "stepping"."""

    @property
    def closure_makers(self) -> Mapping[str, Callable[[Value], Value]]:
        """By kind, what makes the entry of a procedure."""

    @property
    def makers(self) -> Mapping[str, Callable[[Code], Code]]:
        """By kind, what makes the entry of a code."""

    @property
    def making(self) -> AbstractContextManager[object]:
        """The lock under which codes are made."""

    @property
    def system(self) -> SystemTexts:
        """The procedures that every machine has."""

    def begin_cells(self) -> None:
        """From now on programs may use cells, for which transforms emit more code."""

    def family(self) -> Any:
        """A new evaluate.emit_python.Family, for the codes of one top-level form."""

    def make_code(
        self,
        family: Any,
        arity: int,
        make_lambda: Callable[[], Lambda],
        *,
        name: str = "",
        environment: tuple[Variable, ...] = (),
        base: Code | None = None,
        role: Role = Role.PROCEDURE,
        counts: bool = True,
    ) -> Code:
        """A new code that compiles itself when it is first called; `make_lambda` is called once, when its lambda is needed."""

    def code_of(
        self,
        lambda_: Lambda,
        family: Any,
        group: tuple[tuple[Variable, Lambda], ...] = (),
        environment: tuple[Variable, ...] | None = None,
    ) -> Code:
        """The code of a lambda that stands inside another of the family; the same one each time."""

    def bound(self, row: Primitive) -> Callable[..., Value]:
        """The value rule of a row that takes the machine, with the machine in place; the same object each time."""

    def rule(self, row: Primitive) -> Callable[..., Value]:
        """The value rule of any row as a function of its operands alone."""

    def counted(self, row: Primitive) -> Callable[..., Value]:
        """As `rule`, but calls are counted; the same object each time."""
