"""Passes over loops as text: tests/passes/loops/PASS/what-it-shows.vlad holds operands, a program that defines f, `---`, and f's
loops as the pass leaves them. `pytest --update` rewrites the lower halves; git shows the difference.

The procedure is run, too: compiled as on tier 0.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.compile.loops.check import check, check_function
from vlad.compile.loops.ir import (
    VECTORS,
    Accumulate,
    Array,
    Element,
    GridFunction,
    Let,
    Loops,
    Nest,
    Origin,
    Position,
    Simd,
    StoreElement,
    Variables,
    counting,
)
from vlad.compile.loops.order import IN_THREADS, NAMES, PASSES, parallel_loops
from vlad.compile.loops.text import function_text
from vlad.core.expressions import Binary, Name
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.core.passes import observing
from vlad.data.values import look
from vlad.primitives.table import TABLE
from vlad.python.convert import from_python

CASES = sorted((Path(__file__).parent / "loops").glob("*/*.vlad"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_pass(path: Path, request: pytest.FixtureRequest) -> None:
    program, _, expected = path.read_text(encoding="utf-8").partition("\n---\n")
    found: list[Any] = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        session.run_text(program)
        operands = session.eval(f"(list {program.partition(chr(10))[0].lstrip('; ')})")
        found.append(session["f"](*operands))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-14)
    values = tuple([from_python(operand) for operand in operands])
    text = session.tiers.shown(look(session["f"].value), "loops", values, path.parent.name)
    if request.config.getoption("--update"):
        path.write_text(f"{program.rstrip()}\n---\n{text}\n", encoding="utf-8")
        return
    assert text + "\n" == expected


def test_every_pass_has_a_case() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {path.parent.name for path in CASES} == set(PASSES)


X, ALONG = Array(Origin.OPERAND, 0, "float64"), Position(0, (("i0", 1),))
READ, INNER = (
    Let("x0", "float64", Element(X, ALONG)),
    Let("x1", "float64", Binary("+", Name("x0"), Name("x0"))),
)


def loop(*body: Any, **marks: Any) -> Loops:
    nest = Nest((counting("i0", 9, body, **marks),), 9, ("float64",))
    return Loops((), (nest,), (), ("x",), ())


@pytest.mark.parametrize(
    "loops, is_allowed",
    [
        (loop(READ, INNER), True),
        (loop(INNER), False),  # of a variable that is not there
        (loop(READ, replace(INNER, kind="float32")), False),
        (loop(READ, replace(INNER, kind=VECTORS["float64"])), True),  # a number as a vector's entries
        (loop(READ, Accumulate(Name("x0"), Name("x0"), "+", "float64")), False),  # which does not change
        (loop(READ, Variables(("s",), "float64"), Accumulate(Name("s"), Name("x0"), "+", "float64")), True),
        (loop(READ, Variables(("s",), "float64"), Accumulate(Name("s"), Name("x0"), "^", "float64")), False),
        (loop(READ, StoreElement(Element(X, ALONG), Name("x0"))), False),  # an operand
        (loop(READ, simd=Simd()), True),
        (loop(counting("i1", 9, [READ]), simd=Simd()), False),
    ],
)
def test_the_grammar(loops: Loops, is_allowed: bool) -> None:
    if is_allowed:
        check(loops, "a-pass")
    else:
        with pytest.raises(AssertionError, match="a-pass"):
            check(loops, "a-pass")


def test_a_function_for_a_gpu_is_shown_and_checked() -> None:
    along = Access(0, (1,))
    kernel = Kernel(
        (40,),
        (Read(0, along), Read(1, None)),
        (Step(TABLE["*"], (0, 1)),),
        (Output(None),),
        (Write(0, 2, None, "+"),),
    )
    seen: list[GridFunction] = []
    with observing(lambda name, result: seen.append(result) if type(result) is GridFunction else None):
        (function,) = parallel_loops(kernel, "pd", "k").functions
    assert seen[-1] == function and len(seen) == len(IN_THREADS)
    check_function(function, "a-pass")
    lines = function_text(function).splitlines()
    assert lines[0] == "k_0: 1 blocks of 64 threads"
    assert "    x0: float64 = a0[i0]" in lines and "  x1: float64 = a1" in lines
    assert lines[-3:] == ["  together g0: + of 64 threads", "  first thread", "  o0[0] := float64(g0)"]
    assert [one.array.is_given for one in function.parameters] == [True, True, False]
    unbound = replace(function, nest=replace(function.nest, body=(READ, *function.nest.body)))
    with pytest.raises(AssertionError, match="a-pass"):
        check_function(unbound, "a-pass")
