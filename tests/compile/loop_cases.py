"""Kernels as loops: what the passes over the loop language make of them, as text; and what is emitted for programs."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vlad.compile.loops import order
from vlad.compile.loops.ir import Body, GridFunction, Loops, Nest
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
    return _emitted(make, Loops)


def functions_of(make: Callable[[], object]) -> list[GridFunction]:
    """The functions for a GPU that are emitted while a unit is made."""
    return _emitted(make, GridFunction)


def _emitted(make: Callable[[], object], kind: type) -> list[Any]:
    found: list[Any] = []

    def observe(name: str, result: object) -> None:
        if name == order.LAST and type(result) is kind:
            found.append(result)

    with observing(observe):
        make()
    return found


def of_type(loops: Sequence[Loops], kind: type) -> list[Any]:
    """Their declarations and statements of one type."""
    return [
        one
        for loop in loops
        for body in (loop.declared, *[nest.body for nest in loop.nests])
        for one in within(body, kind)
    ]


def within(body: Body, kind: type) -> list[Any]:
    """The statements of one type."""
    return [one for one in statements(body) if type(one) is kind]


def host_calls(host: str) -> list[str]:
    """The names of the functions and methods that the host's text calls."""
    calls = [node.func for node in ast.walk(ast.parse(host)) if type(node) is ast.Call]
    return [call.attr if type(call) is ast.Attribute else ast.unparse(call) for call in calls]


def loop_lines(
    kernel: Kernel, operands: Sequence[str], outputs: Sequence[str], after: str = order.LAST
) -> list[str]:
    """Their text, line by line, without the spaces in front."""
    texts = [loops_text(loops) for loops in _loops(kernel, operands, outputs, after)]
    return [line.strip() for line in "\n".join(texts).splitlines()]
