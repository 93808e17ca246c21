"""Kernels as loops: what the passes over the loop language make of them, as text."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vlad.compile.loops import order
from vlad.compile.loops.ir import Loops, Nest
from vlad.compile.loops.lower import Operand
from vlad.compile.loops.text import loops_text
from vlad.compile.loops.walking import statements
from vlad.core.loop_nests import Kernel
from vlad.core.passes import observing


def given(texts: Sequence[str]) -> list[Operand]:
    """Operands by their C; numbers are known."""
    found = []
    for text in texts:
        known = None
        with contextlib.suppress(ValueError):
            known = float(text)
        found.append(Operand(texts.index(text), text, known))
    return found


def nests(
    kernel: Kernel,
    operands: Sequence[str],
    outputs: Sequence[str],
    after: str = order.LAST,
    taken: Mapping[int, int] | None = None,
) -> list[Nest]:
    """The nests of a kernel as a pass leaves them."""
    return [nest for loops in _loops(kernel, operands, outputs, after, taken) for nest in loops.nests]


def _loops(
    kernel: Kernel,
    operands: Sequence[str],
    outputs: Sequence[str],
    after: str,
    taken: Mapping[int, int] | None = None,
) -> list[Loops]:
    found: list[Loops] = []

    def observe(name: str, result: object) -> None:
        if name == after and type(result) is Loops:
            found.append(result)

    with observing(observe):
        order.loops(kernel, given(operands), outputs, taken or {}, {})
    return found


def loops_of(make: Callable[[], object]) -> list[Loops]:
    """The loops that are emitted while a unit is made."""
    found: list[Loops] = []

    def observe(name: str, result: object) -> None:
        if name == order.LAST and type(result) is Loops:
            found.append(result)

    with observing(observe):
        make()
    return found


def of_type(loops: Sequence[Loops], kind: type) -> list[Any]:
    """Their declarations and statements of one type."""
    bodies = [body for one in loops for body in (one.declared, *[nest.body for nest in one.nests])]
    return [statement for body in bodies for statement in statements(body) if type(statement) is kind]


def loop_lines(
    kernel: Kernel, operands: Sequence[str], outputs: Sequence[str], after: str = order.LAST
) -> list[str]:
    """Their text, line by line, without the spaces in front."""
    texts = [loops_text(loops) for loops in _loops(kernel, operands, outputs, after)]
    return [line.strip() for line in "\n".join(texts).splitlines()]
