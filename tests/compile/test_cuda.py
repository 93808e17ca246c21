"""Kernels for a GPU, without one: their CUDA text is compiled as C and run thread by thread (pretended_cupy.py), and computes
the results of a plain interpreter of kernels. If NVIDIA's compiler is found (`pip install nvidia-cuda-nvrtc-cu12`; it needs no
GPU), it compiles all of these texts, and its output is run in the same way (emulated_ptx.py).
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pretended_cupy
import pytest
from amounts import drawn
from loop_cases import functions_of, host_calls, within
from nvidia import ARCHITECTURES, compiled
from test_kernels import COMBINED, a_product, answered, each, interpreted, made, same

from vlad.compile.emit import cuda_loops, cuda_unit
from vlad.compile.ir import matrix_products
from vlad.compile.ir.program import Block, Function, Program, Return, Slot
from vlad.compile.loops import lower_parallel, order
from vlad.compile.loops.ir import For, Let, Together
from vlad.compile.loops.text import text_of
from vlad.compile.loops.write_groups import Unfit
from vlad.compile.runtime.functions import is_for_hosts
from vlad.core.expressions import Call, all_parts, functions_called
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write, contiguous
from vlad.core.types import Types
from vlad.data.tensors import on_host
from vlad.data.values import FALSE, NUMBERS, TRUE
from vlad.primitives.table import TABLE


@pytest.fixture(params=pretended_cupy.WAYS)
def cupy(request: pytest.FixtureRequest) -> Iterator[Any]:
    with pretended_cupy.pretended(request.param) as module:
        yield module


# Kernels.

Case = tuple[Kernel, list[Any]]


def program(cases: Sequence[Case], pick: Callable[[Sequence[Any]], Any]) -> tuple[Program, list[Any]]:
    """All kernels, one after the other, and their operands; some reals come from another kernel, so that they are on the GPU."""
    parameters: list[Slot] = []
    statements: list[Any] = []
    given: list[Any] = []
    answers: list[Slot] = []
    for kernel, operands in cases:
        leaves = []
        for operand in operands:
            slot = Slot("d" if np.shape(operand) == () else "p", "x")
            parameters.append(slot)
            given.append(operand)
            if slot.kind == "d" and pick([False, True]):
                copy = each(Kernel((), (Read(0, None),), (), (Output(None),), (Write(0, 0, None),)), [slot])
                statements.append(copy)
                (slot,) = copy.slots
            leaves.append(slot)
        statement = each(kernel, leaves)
        statements.append(statement)
        answers += statement.slots
    kinds = "".join([slot.kind for slot in answers])
    cells: list[Any] = [None] * len(parameters)
    body = Block(statements, Return(tuple(answers)))
    function = Function("all", 0, parameters, cells, kinds, [None] * len(kinds), body, None)
    return Program([function], {}, [function]), given


def emitted(cases: Sequence[Case]) -> tuple[cuda_unit.Emission, list[Any]]:
    whole, given = program(cases, random.Random(0).choice)
    return cuda_unit.emit(whole, Types(), []), given


def launched(cases: Sequence[Case], xp: Any) -> list[Any]:
    """The results of the kernels, as NumPy arrays and reals."""
    emission, given = emitted(cases)
    run = cuda_unit.loaded(emission, xp)
    found = run(*[float(x) if np.shape(x) == () else xp.asarray(x) for x in given])
    return [on_host(x) if isinstance(x, xp.ndarray) else x for x in found]


def check(cases: Sequence[Case], xp: Any, expected: Sequence[Any] | None = None) -> None:
    """`expected`: what the interpreter returns, if that is known."""
    found = iter(launched(cases, xp))
    expected = wanted(cases) if expected is None else expected
    for (kernel, operands), answer in zip(cases, expected, strict=True):
        mine = [
            x if o.size is not None else answered(o, [x]) for o, x in zip(kernel.outputs, found, strict=False)
        ]
        assert same(mine, answer), (kernel, operands)


def wanted(cases: Sequence[Case]) -> list[Any]:
    return [interpreted(kernel, operands) for kernel, operands in cases]


@functools.cache
def random_cases(seed: int, count: int) -> list[Case]:
    pick = random.Random(seed).choice
    return [made(lambda choices: pick(list(choices))) for _ in range(count)]


@functools.cache
def random_answers(seed: int, count: int) -> list[Any]:
    return wanted(random_cases(seed, count))


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts, blocks and library calls for few entries, as otherwise for many."""
    monkeypatch.setattr(lower_parallel, "FEWEST_TERMS", {"thread": 2, "block": 1})
    monkeypatch.setattr(lower_parallel, "WANTED", 1 << 8)


DRAWN = drawn(450)


@pytest.mark.parametrize("seed", range(4))
def test_kernels_at_random(seed: int, cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        small(monkeypatch)
    check(random_cases(seed, DRAWN), cupy, random_answers(seed, DRAWN))


def reduction(
    shape: tuple[int, ...], axes: Sequence[int], combine: str, order: Sequence[int] | None = None
) -> Case:
    """The entries and their squares combined over some axes, the axes of the array in another order."""
    strides = [0] * len(shape)
    order = range(len(shape)) if order is None else order
    for axis, stride in zip(order, contiguous([shape[axis] for axis in order]), strict=True):
        strides[axis] = stride
    left = [1 if axis in axes else length for axis, length in enumerate(shape)]
    places = [0 if axis in axes else stride for axis, stride in enumerate(contiguous(left))]
    write = Access(0, tuple(places))
    kernel = Kernel(
        shape, (Read(0, Access(0, tuple(strides))),), (Step(TABLE["*"], (0, 0)),),
        (Output(int(np.prod(left))), Output(None if len(axes) == len(shape) else int(np.prod(left)))),
        (Write(0, 1, write, combine), Write(1, 0, None if len(axes) == len(shape) else write, combine)),
    )  # fmt: skip
    r = np.random.default_rng(len(shape))
    return kernel, [r.normal(size=int(np.prod(shape))) + (1.0 if combine == "*" else 0.0)]


REDUCTIONS = [
    ((700,), (0,)), ((3, 300), (1,)), ((300, 3), (0,)), ((40, 50), (0, 1)), ((5, 64, 7), (1,)), ((5, 64, 7), (0, 2)),
    ((2, 33), (1,)), ((600, 2), (1,)), ((1, 500), (1,)),
]  # fmt: skip


@functools.cache
def reductions() -> tuple[list[Case], list[Any]]:
    """And what the interpreter returns for each."""
    cases = [
        reduction(shape, axes, combine, order)
        for (shape, axes), combine in itertools.product(REDUCTIONS, COMBINED)
        for order in (None, list(reversed(range(len(shape)))))
        if order is None or combine == "+"  # how entries are found does not depend on how they are combined
    ]
    return cases, wanted(cases)


@pytest.mark.parametrize("parts", [False, True])
def test_reductions_of_every_shape(parts: bool, cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a thread or by a block, at once or in parts, of rows and of columns."""
    if parts:
        small(monkeypatch)
    functions = functions_of(lambda: check(reductions()[0], cupy, reductions()[1]))
    together = [one for function in functions for one in within(function.nest.body, Together)]
    loops = [one for function in functions for one in within(function.nest.body, For)]
    assert len(together) > 20 and (len([one for one in loops if one.index == "part"]) > 20) is parts


def test_what_is_not_a_number_stays_in_a_maximum(cupy: Any) -> None:
    for place in (0, 31, 32, 255, 256, 699):
        kernel, (array,) = reduction((700,), (0,), "max")
        array[place] = np.nan
        (squares, greatest) = launched([(kernel, [array])], cupy)
        assert np.isnan(squares).all() and np.isnan(greatest)


def test_sums_that_meet_are_done_one_after_the_other(cupy: Any) -> None:
    """As windows that overlap: the same to the last bit whichever thread is first."""
    access = Access(0, (2, 1))
    kernel = Kernel((40, 5), (Read(0, Access(0, (5, 1))),), (), (Output(83),), (Write(0, 0, access, "+"),))
    check([(kernel, [np.arange(200.0)])], cupy)
    (text,) = [
        line for line in emitted([(kernel, [np.arange(200.0)])])[0].host.splitlines() if "range" in line
    ]
    assert "range(5)" in text and "atomic" not in emitted([(kernel, [np.arange(200.0)])])[0].cuda


def test_what_cannot_be_done_at_once_is_left_to_tier_0() -> None:
    plain = Write(0, 0, Access(0, (0,)))
    many = Kernel((4,), (Read(0, Access(0, (1,))),), (), (Output(1),), (plain,))
    reads = tuple([Read(number, None) for number in range(600)])
    writes = tuple([Write(0, number, Access(number, ())) for number in range(600)])
    wide = Kernel((), reads, (), (Output(600),), writes)
    for kernel, kinds in ((many, "p"), (wide, "d" * 600)):
        with pytest.raises(Unfit):
            cuda_loops.launches(kernel, kinds, "k", set())


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-300, 1e300, -1e200, 1.0]


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_a_thread_divides_once_by_a_number_to_the_same_bits(kind: str, cupy: Any) -> None:
    """Where a number is too far from 1 it divides again. (Floats that lose digits for being small are zeros, as CuPy has it.)"""
    along = Access(0, (1,))
    reads = tuple([Read(number, along, kind) for number in range(3)])
    divide = TABLE["/"]
    steps = Step(divide, (0, 2), kind), Step(divide, (1, 2), kind), Step(TABLE["negate"], (4,), kind)
    outputs = Output(400, kind=kind), Output(400, kind=kind)
    kernel = Kernel((400,), reads, steps, outputs, (Write(0, 3, along), Write(1, 5, along)))
    r, width = np.random.default_rng(1), 12 if kind == "float32" else 120
    with np.errstate(all="ignore"):
        a, b, y = [
            np.append(r.choice(SPECIAL, 100), 10.0 ** r.uniform(-width, width, 300)).astype(kind)
            for _ in range(3)
        ]
        expected = a / y, -(b / y)
    (function,) = functions_of(lambda: emitted([(kernel, [a, b, y])]))
    calls = [
        call for let in within(function.nest.body, Let) for call in all_parts(let.value) if type(call) is Call
    ]
    assert [call.function for call in calls] == ["vlad_divided"] * 3
    for found, wanted in zip(launched([(kernel, [a, b, y])], cupy), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))


def test_what_all_terms_have_in_common_is_found_before_them() -> None:
    """And what a function's writes do not need is not found."""
    rows, along = Access(0, (1, 0)), Access(0, (80, 1))
    steps = Step(TABLE["exp"], (0,)), Step(TABLE["*"], (1, 3)), Step(TABLE["sin"], (1,))
    kernel = Kernel(
        (9, 80), (Read(0, rows), Read(1, along), Read(2, along)), steps, (Output(9), Output(720)),
        (Write(0, 4, rows, "+"), Write(1, 5, along)),
    )  # fmt: skip
    first, second = order.parallel_loops(kernel, "ppp", "k").functions
    (loop,) = within(first.nest.body, For)
    before = {text_of(let.value) for let in first.nest.body if type(let) is Let}
    inside = {text_of(let.value) for let in within(loop.body, Let)}
    after = {text_of(let.value) for let in within(second.nest.body, Let)}
    assert "exp(x0)" in before and "x1 * x3" in inside
    assert "sin(x1)" not in before | inside and "sin(x1)" in after and "exp(x0)" not in after
    assert [[one.number for one in function.parameters] for function in (first, second)] == [
        [0, 1, 3],
        [1, 4],
    ]


def large(shape: tuple[int, int]) -> Kernel:
    rows, columns = shape
    steps = (Step(TABLE["exp"], (0,)),)
    return Kernel(
        shape,
        (Read(0, Access(0, (columns, 1))),),
        steps,
        (Output(rows * columns),),
        (Write(0, 1, Access(0, (columns, 1))),),
    )


def test_numbers_that_no_int_holds() -> None:
    for shape, index in (((1 << 10, 1 << 10), "int"), ((1 << 16, 1 << 15), "long")):
        (launch,) = cuda_loops.launches(large(shape), "p", "k", set()).launches
        assert f"{index} i = blockIdx.x * ({index})blockDim.x" in launch.text
        assert launch.blocks * launch.threads >= shape[0] * shape[1]


def test_library_products_at_random(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_products, "FEWEST", 1)
    pick = random.Random(5).choice
    cases = [a_product(lambda choices: pick(list(choices))) for _ in range(200)]
    assert host_calls(emitted(cases)[0].host).count("matmul") > 20
    check(cases, cupy)


# Rows.

TAKES_ANY = [
    -2.5,
    -1.0,
    -0.5,
    -0.0,
    0.0,
    0.3,
    0.5,
    1.0,
    1.5,
    2.0,
    7.25,
    40.0,
    float("inf"),
    float("-inf"),
    float("nan"),
]
# The first operands of `conic` and similar rows are whole numbers of a small range (numbers.py); the others are arbitrary.
FIRST = {
    "conic": (1.0, 1.0, 1.0, 3.0),
    "conic-slope": (1.0, -1.0, 2.0, 3.0),
    "polygamma": (2.0,),
    "one-plus-power": (2.0, 1.0),
    **{f"{name}-derivative": (2.0,) for name in ("erfcx", "log-erfc", "log-normal-cdf")},
}
ROWS = [
    row for row in TABLE.values()
    if row.c and row.type.parameters[0] in ("number", "real", "any") and not is_for_hosts(functions_called(row.c))
]  # fmt: skip
# Long doubles are doubles on a GPU: polygamma and functions based on it have fewer digits there.
TOLERANCE = dict.fromkeys(["polygamma", "digamma", "gamma-slope", "gamma-curve", "gamma-third"], 1e-12)


def row_case(row: Any) -> Case:
    first = FIRST.get(row.name, ())
    free = len(row.operands) - len(first)
    points = list(itertools.product(TAKES_ANY, repeat=free)) if free < 3 else [(x,) * free for x in TAKES_ANY]
    columns = np.array([(*first, *point) for point in points]).T
    if row.type.parameters[0] == "any":  # a truth
        columns[0] = columns[0] > 0
    count, access = columns.shape[1], Access(0, (1,))
    reads = tuple([Read(number, access) for number in range(len(row.operands))])
    steps = (Step(row, tuple(range(len(row.operands)))),)
    kernel = Kernel((count,), reads, steps, (Output(count),), (Write(0, len(reads), access),))
    return kernel, [np.ascontiguousarray(column) for column in columns]


def test_every_row_computes_the_same(cupy: Any) -> None:
    cases = [row_case(row) for row in ROWS]
    for row, (_, columns), found in zip(ROWS, cases, launched(cases, cupy), strict=True):
        for place, x in enumerate(found):
            given = [float(column[place]) for column in columns]
            if row.type.parameters[0] == "any":
                given[0] = TRUE if given[0] else FALSE  # type: ignore[call-overload]
            expected = row.value(*given)
            expected = 1.0 if expected is TRUE else 0.0 if expected is FALSE else expected
            apart = max(
                TOLERANCE.get(row.name, 1e-13) * abs(expected), 1e-300
            )  # as of `approx`, which is slow
            is_near = (
                x == expected or (x != x and expected != expected) or abs(x - expected) <= apart < math.inf
            )
            assert is_near, (row.name, given, x, expected)


@pytest.mark.parametrize(
    "row", [row for row in TABLE.values() if row.c and not row.needs_machine], ids=lambda row: row.name
)
def test_rows_of_reals_that_python_keeps(row: Any) -> None:
    """Between kernels reals are Python's: the fast form of a row must equal its rule exactly."""
    takes = row.type.parameters
    points = itertools.product(*[TAKES_ANY if kind in NUMBERS else [False, True] for kind in takes])
    value = cuda_unit._on_floats(row)
    for given in itertools.islice(points, 300):
        boxed = [x if type(x) is float else TRUE if x else FALSE for x in given]
        expected = row.value(*boxed)
        expected = True if expected is TRUE else False if expected is FALSE else expected
        found = value(*given)
        assert type(found) is type(expected) and (
            found == expected or found != found != expected != expected
        ), given


# NVIDIA's compiler.


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_its_compiler_takes_all_kernels(architecture: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        with pytest.MonkeyPatch.context() as patch:
            if seed % 2:
                small(patch)
            emission, _ = emitted(random_cases(seed, DRAWN))
        found = compiled(emission.cuda, architecture)
        assert found.count(".visible .entry") == len(emission.kernels)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_its_compiler_takes_all_rows(architecture: int) -> None:
    emission, _ = emitted([row_case(row) for row in ROWS])
    found = compiled(emission.cuda, architecture)
    assert found.count(".visible .entry") == len(emission.kernels)
    assert (
        "fma.rn.f64" in found
    )  # from the C library's functions and from functions.c, which uses it explicitly


def test_products_and_sums_are_not_fused() -> None:
    access = Access(0, (1,))
    kernel = Kernel(
        (9,), tuple([Read(n, access) for n in range(3)]), (Step(TABLE["*"], (0, 1)), Step(TABLE["+"], (3, 2))), (Output(9),),
        (Write(0, 4, access),),
    )  # fmt: skip
    assert "fma" not in compiled(emitted([(kernel, [np.ones(9)] * 3)])[0].cuda, ARCHITECTURES[-1])
