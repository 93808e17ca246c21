"""The C rules of the real rows, against their Python rules, at thousands of points each."""

from __future__ import annotations

import itertools
import math
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlad.compile.emit.loop_text import expression_text
from vlad.compile.native.abi import ffi
from vlad.compile.native.toolchain import build
from vlad.compile.runtime import functions
from vlad.compile.runtime.functions import needed
from vlad.core.expressions import of_kind, read
from vlad.data.values import TRUE, Boolean, Primitive
from vlad.primitives.special import binary_scale
from vlad.primitives.table import TABLE

FILE = Path(functions.__file__).with_name("functions.c")
HEAD = re.compile(r"/\* functions: (.*)\n   calls:(.*)\n")
DEFINED = re.compile(r"^static inline [\w @]*? \*?(\w+(?:@f)?)\(", re.MULTILINE)
CALLED = re.compile(r"\b([a-z_]\w*(?:@f)?)(?=\()")
# Called by functions.c, but no functions that a unit declares: C, macros, and instructions of the processor.
OTHERS = re.compile(r"_mm\w*|__\w+|sizeof|defined|vector_size|aligned|volatile|v|target")


def test_the_file_of_functions_says_what_each_text_defines_and_calls() -> None:
    _, *parts = re.split(r"\n(?=/\* functions: )", FILE.read_text(encoding="utf-8"))
    heads = [HEAD.match(part) for part in parts]
    assert all(heads)
    known = {*functions.ONE, *functions.TWO, *functions.OTHER, *functions.HOSTS, "fma"}
    known |= {name for head in heads if head for name in head[1].replace("@f", "").split()}
    for head, part in zip(heads, parts, strict=True):
        assert head is not None
        code = re.sub(r'/\*.*?\*/|"[^"]*"', "", part, flags=re.DOTALL)
        defined, called = head[1].split(), head[2].split()
        assert DEFINED.findall(code) == defined
        found = {name for name in CALLED.findall(code) if name not in defined and not OTHERS.fullmatch(name)}
        assert sorted(found) == called
        assert {name.replace("@f", "") for name in called} <= known, head[1]


POINTS = 2_000
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.0, math.inf, -math.inf, math.nan, 5e-324, 1e-308, 1e308, -1e308,
           1e-10, 10.0, 0.25, 1e5, 2.0**53 - 1, -(2.0**53), 2.0**53 + 2]  # fmt: skip


def takes_reals(row: Primitive) -> bool:
    types = set(row.type.parameters)
    return bool(types) and types <= {"real", "number"} and row.type.result in ("real", "number", "boolean")


ROWS = [row for row in TABLE.values() if takes_reals(row) and row.name != "write-real"]


def point(draw: random.Random) -> float:
    kind = draw.random()
    if kind < 0.25:
        return draw.choice(SPECIAL)
    if kind < 0.5:
        return draw.uniform(-3, 3)
    if kind < 0.6:
        return float(draw.randint(-20, 20))
    if kind < 0.9:
        return draw.uniform(-50, 50)
    return float(draw.choice([-1, 1]) * 10 ** draw.uniform(-300, 300))


def operands(row: Primitive, draw: random.Random) -> list[float]:
    """Points; where an operand is a constant of a formula, such constants."""
    if row.name.startswith("conic"):
        j = draw.randint(1 if row.name == "conic-slope" else 0, 5)
        signs = [float(draw.choice([1, -1])), float(draw.choice([1, -1]))]
        order = float(draw.randint(j + 1, j + 6))
        if draw.random() < 0.3:  # x is scaled down, and c with it
            return [
                signs[0] * 2.0 ** (-2 * draw.randint(1, 60)),
                signs[1],
                float(j),
                order,
                draw.uniform(1.001, 2),
            ]
        return [*signs, float(j), order, point(draw)]
    if row.name == "power-log":
        x, y, n, m = point(draw), point(draw), float(draw.randint(0, 4)), float(draw.randint(0, 4))
        w = float(draw.choice([0, 0, 1, 2, 3]))
        return [x, y, n, m, w, binary_scale(x, 0.0) if w else 1.0]
    if row.name == "one-plus-power":
        x = point(draw)
        return [
            float(draw.randint(1, 5)),
            *draw.choice([[1.0, x], [2.0 ** -draw.randint(1, 80), draw.uniform(1.001, 2)]]),
        ]
    if row.name == "polygamma":
        return [float(draw.randint(0, 12)), point(draw)]
    if row.name.endswith("-derivative"):
        return [float(draw.randint(1, 5)), point(draw)]
    return [point(draw) for _ in row.operands]


@pytest.fixture(scope="module")
def library() -> Any:
    """One function for all rows: in[8] says which; those of numbers also in floats, counted on."""
    cases: list[str] = []
    called: set[str] = set()
    for index, row in enumerate([*ROWS, *ROWS]):
        real, kind = ("double", "float64") if index < len(ROWS) else ("float", "float32")
        names = " ".join([f"{real} v_{name} = in[{k}].d;" for k, name in enumerate(row.operands)])
        expression = printed(row.c, kind, called)
        cases.append(f"case {index}: {{ {names} return ({real})({expression}); }}")
    text = (
        "#define VLAD_STATIC static\n"  # as in units without threads
        + needed(called)
        + """
        union vlad_word {{ double d; long i; void *p; }};
        static double value(const union vlad_word *in) {{ switch (in[8].i) {{ {} }} return 0; }}
        int vlad_call(const union vlad_word *in, union vlad_word *out) {{ out->d = value(in); return 0; }}
        """.format("\n".join(cases))
    )
    return build(text, native=False)


def both(library: Any, first: int, row: Primitive, point: list[float]) -> tuple[float, float]:
    """The result of a row's rule, and its C, whose index is counted from a given first one."""
    given, answer = ffi.new("union vlad_word[9]"), ffi.new("union vlad_word[1]")
    given[8].i = first + ROWS.index(row)
    for index, x in enumerate(point):
        given[index].d = x
    library.vlad_call(given, answer)
    expected = row.value(*point)
    return float(expected is TRUE) if isinstance(expected, Boolean) else expected, answer[0].d


OF_NUMBERS = [row for row in ROWS if row.type.parameters[0] == "number"]


@pytest.mark.parametrize("row", OF_NUMBERS, ids=lambda row: row.name)
def test_c_of_floats_is_near_to_that_of_doubles(row: Primitive, library: Any) -> None:
    """To five digits where arguments are rounded on the way, as in exp(-x x)."""
    draw = random.Random(row.name)
    for _ in range(POINTS // 4):
        with np.errstate(over="ignore"):
            point = [float(np.float32(x)) for x in operands(row, draw)]
        if max([abs(x) for x in point if math.isfinite(x)], default=0.0) > 1e12:
            continue
        if row.name.endswith("-scale") and any(
            0 < abs(x) < 2.0**-126 for x in point
        ):  # whose scale is no float
            continue
        expected, found = both(library, len(ROWS), row, point)
        with np.errstate(over="ignore"):
            wanted = np.float32(expected)
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-36, err_msg=str((row.name, point)))


def test_every_real_row_has_a_rule() -> None:
    assert [row.name for row in ROWS if not row.c] == []


# Points far from the origin in both operands are not drawn often.
FAR = [x for x in SPECIAL if x != 5e-324]  # a quotient of which has few digits
PLANE = ("atan", "hypot", "direction", "inversion", "inversion-slope", "inversion-cross", "inversion-curve")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_c_equals_python(row: Primitive, library: Any) -> None:
    draw = random.Random(row.name)
    points = [operands(row, draw) for _ in range(POINTS)]
    if row.name in PLANE:
        points += [list(pair) for pair in itertools.product([*FAR, 1.7e308, -1.7e308], repeat=2)]
    for point in points:
        expected, found = both(library, 0, row, point)
        assert agree(found, expected), (row.name, point, found, expected)


def agree(a: float, b: float) -> bool:
    """Equal to 1e-12, signs of zeros included where both are zero; subnormal ones roughly."""
    if a != a or b != b or math.isinf(a) or math.isinf(b):
        return (a != a and b != b) or a == b
    if a == b == 0:
        return math.copysign(1, a) == math.copysign(1, b)
    return abs(a - b) <= max(1e-12 * abs(b), 1e-317)


def printed(text: str, kind: str, called: set[str]) -> str:
    """A row's text on numbers of a kind, its operands v_x, v_y, …"""
    expression = read(text)
    names = {name: f"v_{name}" for name in re.findall(r"{(\w+)}", text)}
    return expression_text(of_kind(expression, kind), names, called)


def test_texts_of_floats() -> None:
    called: set[str] = set()
    found = printed("0.5 * {x} * erfc(-7.5e-1 * {x})", "float32", called)
    assert found == "0.5f * v_x * erfcf(-0.75f * v_x)"
    found = printed("vlad_max({x}, {y}) + vlad_conic({x}) + 1", "float32", called)
    assert found == "vlad_maxf(v_x, v_y) + vlad_conic(v_x) + 1"
    assert called == {"erfcf", "vlad_maxf", "vlad_conic"}
    assert needed(["expf"]) == "float expf(float);"
    assert "double" not in needed(["vlad_sharp_tanhf"])


def test_only_what_is_used_is_there() -> None:
    assert needed(["sin"]) == "double sin(double);"
    assert needed([]) == ""
    assert "vlad_ratio" in needed(["vlad_direction"])
    assert "vlad_conic" not in needed(["vlad_direction"])
