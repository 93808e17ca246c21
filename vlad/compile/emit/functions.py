"""Which C definitions expressions need: the library's prototypes, and what functions.c has beyond it.

A unit includes no header, for reading headers costs more than compiling a small program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache

ONE = """acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp expm1 fabs floor lgamma log log10 log1p log2 rint sin
sinh sqrt tan tanh tgamma trunc""".split()  # noqa: SIM905
TWO = ["atan2", "copysign", "fmod", "hypot", "pow"]
OTHER = {
    "ldexp": "double ldexp(double, int);",
    "snprintf": "int snprintf(char *, unsigned long, const char *, ...);",
    "strtod": "double strtod(const char *, char **);",
    "logl": "long double logl(long double);",
    "powl": "long double powl(long double, long double);",
    "cosl": "long double cosl(long double);",
    "sinl": "long double sinl(long double);",
}
RESULTS = "long double|double|float|int|long|unsigned|vlad_widef?"
HOSTS = {"snprintf", "strtod", "vlad_argument_character"}
_NAME = re.compile(r"\b[a-z_][a-z_0-9]*(?=\()")


@cache
def _definitions() -> dict[str, str]:
    """The functions of functions.c, in order, each with those that stand under one comment with it."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "functions.c")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found: dict[str, str] = {}
    for part in re.split(r"\n(?=/\*)", text)[1:]:
        names = re.findall(rf"static inline (?:{RESULTS}) (vlad_\w+)\(", part)
        assert names and found.keys().isdisjoint(names), part
        found.update(dict.fromkeys(names, part.strip()))
        if names[0] in SINGLE and names[0] not in OTHERWISE:
            found.update(dict.fromkeys([f"{name}f" for name in names], single(part.strip())))
    return found


# What the GNU C library computes for several numbers at once, to 4 units in the last place, from version 2.35 on.
VECTOR = """acos acosh asin asinh atan atanh cos cosh erf erfc exp expm1 log log10 log1p log2 sin sinh tan tanh atan2 hypot
pow""".split()  # noqa: SIM905
# Those of them of which there are better ones, for eight reals or sixteen floats: functions.c's own, and those of which the host
# may know (vectors.py). They take 0.60, 0.65 and 0.49 of the time (Zen 4, glibc 2.36); for the rest, the host's took as long.
BETTER = ("exp", "log", "pow")
OWN = {("exp", "float64")}
MARK = """#ifdef VLAD_VECTOR_MATH
#define VLAD_VECTOR __attribute__((simd("notinbranch")))
#else
#define VLAD_VECTOR
#endif"""
MARKED = {*VECTOR, *(f"{name}f" for name in VECTOR)}
# On processors that have vectors of 512 bits, these functions are a third faster by them, and other loops are not slower; the C
# compiler would choose half of that.
WIDE = """#ifdef __AVX512F__
#pragma GCC target("prefer-vector-width=512")
#endif"""


# The functions of functions.c that are as right for floats, where all in them is of floats.
SINGLE = """vlad_max vlad_min vlad_sign vlad_half_over_root vlad_binary_scale vlad_power_scale vlad_sum_error
vlad_ratio vlad_sech_squared vlad_sharp_tanh vlad_gaussian vlad_root vlad_product vlad_divided vlad_is_far
vlad_is_far_divisor vlad_wide_at vlad_wide_moved vlad_wide_start vlad_wide_add vlad_wide_less vlad_wide_rest
vlad_wide_reciprocal_of_positive vlad_wide_divided_by_positive vlad_wide_signed vlad_wide_reciprocal vlad_wide_divided
vlad_wide_exp vlad_wide_log vlad_wide_pow""".split()  # noqa: SIM905 (a list would be longer)
# of these: functions.c has a definition for floats, too
OTHERWISE = ("vlad_binary_scale", "vlad_power_scale", "vlad_wide_exp")
_SINGLE = re.compile(
    rf"\b(?:(?:{'|'.join([*ONE, *TWO, 'fma', *SINGLE])})(?=\()|\d+\.\d*(?:e[-+]?\d+)?(?![\w.])|vlad_wide\b)"
    r"|\bdouble\b|(?<=\dp)d\b"
)


def single(c: str) -> str:
    """A C text of doubles as one of floats. Functions that are there for doubles only stay: their answers are rounded."""
    return _SINGLE.sub(lambda match: {"double": "float", "d": "s"}.get(match[0], f"{match[0]}f"), c)


def applied(c: str, operands: Mapping[str, str]) -> str:
    """A row's C expression on operands that are C expressions."""
    return re.sub(r"\{(\w+)\}", lambda match: operands[match.group(1)], c)


def _used(expressions: Iterable[str]) -> set[str]:
    """The names of the functions that C expressions use, themselves and through others."""
    known = _definitions()
    used: set[str] = set()
    work = [name for text in expressions for name in _NAME.findall(text)]
    while work:
        name = work.pop()
        if name not in used:
            used.add(name)
            work += _NAME.findall(known.get(name, ""))
    return used


def needed(expressions: Iterable[str], in_loops: bool = False) -> str:
    """The prototypes and definitions that C expressions use; `in_loops`: over arrays."""
    used = _used(expressions)
    lines = [WIDE] if in_loops else []
    lines += [MARK] if in_loops and not used.isdisjoint(MARKED) else []
    for names, parameters in ((ONE, "double"), (TWO, "double, double"), (["fma"], "double, double, double")):
        for name in names:
            mark = "VLAD_VECTOR " if in_loops and name in VECTOR else ""
            prototype = f"double {name}({parameters});"
            lines += [mark + prototype] if name in used else []
            lines += [mark + single(prototype)] if f"{name}f" in used else []
    lines += [text for name, text in OTHER.items() if name in used]
    lines += _among(used)
    return "\n".join(lines)


def definitions(expressions: Iterable[str]) -> str:
    """The definitions alone, where the library's functions are known."""
    return "\n".join(_among(_used(expressions)))


def is_vectored(expressions: Iterable[str]) -> bool:
    """Is some of it computed by the C library for several numbers at once?"""
    return not MARKED.isdisjoint(_used(expressions))


def is_for_hosts(expression: str) -> bool:
    """Does it need what only a process has?"""
    return not HOSTS.isdisjoint(_used([expression]))


def _among(used: set[str]) -> list[str]:
    return list(dict.fromkeys([text for name, text in _definitions().items() if name in used]))
