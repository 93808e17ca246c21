"""C rules stated by users: accepted ones compute in C the same as in Python, and no others are accepted."""

from __future__ import annotations

import math
import random

import pytest

from vlad.compile.emit.c_rules import read_expression
from vlad.compile.emit.loop_text import expression_text
from vlad.compile.native.abi import ffi
from vlad.compile.native.toolchain import build
from vlad.compile.runtime.functions import ONE, TWO, needed
from vlad.core.expressions import read
from vlad.data.errors import VladError

OPERANDS = ("x", "y")
OPERATORS = ["+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!=", "&&", "||"]
COUNT, POINTS = 150, 20


def expression(draw: random.Random, depth: int) -> str:
    """Random text, with as few parentheses as C allows, to test precedence."""
    kind = draw.random()
    if depth == 0 or kind < 0.2:
        return draw.choice(["{x}", "{y}", "2", ".5", "1e-1", "3.", "7"])
    a, b, c = [expression(draw, depth - 1) for _ in range(3)]
    if kind < 0.6:
        return f"{a} {draw.choice(OPERATORS)} {b}"
    if kind < 0.7:
        return f"({a})"
    if kind < 0.78:
        return f"{draw.choice(['-', '!', '+'])}({a})"
    if kind < 0.85:
        return f"{draw.choice(ONE)}({a})"
    if kind < 0.92:
        return f"{draw.choice(TWO)}({a}, {b})"
    return f"{a} ? {b} : {c}"


def test_c_computes_what_python_does() -> None:
    draw = random.Random(1)
    texts = [expression(draw, 4) for _ in range(COUNT)]
    found = [read_expression("f", text, OPERANDS) for text in texts]
    inputs = {"x": "in[0].d", "y": "in[1].d"}
    called: set[str] = set()
    bodies = [expression_text(read(c), inputs, called) for c, _ in found]
    cases = [f"case {index}: return {body};" for index, body in enumerate(bodies)]
    text = (
        needed(called)
        + """
        union vlad_word {{ double d; long i; void *p; }};
        static double value(const union vlad_word *in) {{ switch (in[8].i) {{ {} }} return 0; }}
        int vlad_call(const union vlad_word *in, union vlad_word *out) {{ out->d = value(in); return 0; }}
        """.format("\n".join(cases))
    )
    library = build(text, native=False)
    compared = 0
    for index, (_, computed) in enumerate(found):
        for _ in range(POINTS):
            x, y = draw.uniform(-3, 3), draw.uniform(-3, 3)
            words, out = ffi.new("union vlad_word[9]"), ffi.new("union vlad_word[1]")
            words[0].d, words[1].d, words[8].i = x, y, index
            library.vlad_call(words, out)
            try:
                expected = computed(x, y)
            except ValueError:  # a nan that is rounded
                continue
            if math.isfinite(expected):
                assert out[0].d == pytest.approx(expected, rel=1e-9, abs=1e-12), texts[index]
                compared += 1
    assert compared > COUNT * POINTS / 4


def test_whole_numbers_are_doubles() -> None:
    c, computed = read_expression("f", "1/2*{x}", OPERANDS)
    assert c == "1.0 / 2.0 * {x}"
    assert computed(3.0, 0.0) == 1.5


REFUSED = {
    "system(1)": "`system` is no function that may be used",
    "snprintf({x}, 1)": "`snprintf` is no function",
    "vlad_max({x}, 1)": "`vlad_max` is no function",
    "x": "the operand is written {x}",
    "{z}": "{z} is no operand; there is x y",
    "{x}; 1": "`;` is no part",
    "{x} = 1": "`=` is no part",
    "{x}[0]": "`[` is no part",
    '"a"': '`"` is no part',
    "{x} /* */": "an operand is missing before `*`",
    "1 +": "an operand is missing at its end",
    "": "an operand is missing at its end",
    "(1": "`)` is missing before its end",
    "1 2": "`2` is not expected",
    "1 ? 2": "`:` is missing",
    "sin({x}, 1)": "`)` is missing before `,`",
    "pow({x})": "`,` is missing before `)`",
    "sin": "`(` is missing",
    "1e999": "1e999 is too large",
    "0x10": "`x10` is not expected",
    "1.5f": "`f` is not expected",
    "{x} % 2": "`%` is no part",
    "{x} & 1": "`&` is no part",
    "(" * 100 + "1" + ")" * 100: "nests too deeply",
    "-" * 100 + "1": "nests too deeply",
    "+".join(["1"] * 1500): "nests too deeply",
    "1 ? 1 : " * 400 + "1": "nests too deeply",
    "1" * 5000: "longer than 4000 characters",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(VladError) as caught:
        read_expression("f", text, OPERANDS)
    assert caught.value.code == "invalid-rule"
    assert caught.value.message.startswith("The rule of f in C is not understood: ")
    assert REFUSED[text] in caught.value.message
