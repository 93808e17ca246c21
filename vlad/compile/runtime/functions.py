"""The C definitions that calls need: prototypes of the C library, and functions from functions.c.

In: the names of functions that are called.  Out: C text. functions.c has marks in code that exists for doubles and floats
(MARKS), and states before each text the functions that it defines and calls; tests/compile/test_functions.py compares that with
the text.

A unit includes no header, since reading headers costs more than compiling a small program.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

ONE = """acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p log2
rint sin sinh sqrt tan tanh tgamma trunc""".split()  # noqa: SIM905
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
LONG_DOUBLES = {"logl", "powl", "cosl", "sinl"}
HOSTS = {"snprintf", "strtod", "vlad_argument_character"}
# The marks in C that exists for doubles and for floats: the type, the suffix of functions and constants, and the suffix of
# instructions.
MARKS = {
    "float64": {"@real": "double", "@f": "", "@d": "d"},
    "float32": {"@real": "float", "@f": "f", "@d": "s"},
}


class Definition(NamedTuple):
    """The text of a function in C, and the functions that it calls."""

    text: str
    calls: frozenset[str]


def marked(text: str, kind: str) -> str:
    """C with marks, as code for one kind of number."""
    for mark, instead in MARKS[kind].items():
        text = text.replace(mark, instead)
    return text


@cache
def _definitions() -> dict[str, Definition]:
    """The functions of functions.c, in order, each with those that share its text."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "functions.c")
    with open(path, encoding="utf-8") as file:
        _, *parts = file.read().split("\n/* functions: ")
    found: dict[str, Definition] = {}
    for part in parts:
        for kind in MARKS:
            defined, called, text = marked(part, kind).split("\n", 2)
            if found.keys().isdisjoint(defined.split()):  # otherwise they exist for doubles only
                calls = frozenset(called.removeprefix("   calls:").split())
                found.update(dict.fromkeys(defined.split(), Definition(f"/* {text.strip()}", calls)))
    return found


# Functions that the GNU C library computes for several numbers at once, to 4 units in the last place, from version 2.35 on.
VECTOR = """acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 sin sinh tan tanh atan2
hypot pow""".split()  # noqa: SIM905
# Those of them with faster versions, for eight reals or sixteen floats: in functions.c, or in libraries that the host may have
# (vectors.py). They take 0.60, 0.65 and 0.49 of the time (Zen 4, glibc 2.36); for the other functions, the host's were no faster.
BETTER = ("exp", "log", "pow")
OWN = {("exp", "float64")}
MARK = """#ifdef VLAD_VECTOR_MATH
#define VLAD_VECTOR __attribute__((simd("notinbranch")))
#else
#define VLAD_VECTOR
#endif"""
MARKED = {*VECTOR, *(f"{name}f" for name in VECTOR)}
# On processors with vectors of 512 bits, these functions are a third faster with them, and other loops are not slower; by default
# the C compiler uses 256 bits.
WIDE = """#ifdef __AVX512F__
#pragma GCC target("prefer-vector-width=512")
#endif"""


# Nothing reads the flags of exceptions, so what only one arm of a choice computes may be computed in each lane. The values stay
# the same. gcc assumes that they are read, and leaves loops with such choices as they are.
LANES = '#pragma GCC optimize("no-trapping-math")'


def function_name(function: str, kind: str) -> str:
    """The C function for numbers of a kind. If it exists only for doubles, the caller rounds its results."""
    single = f"{function}f"
    has_single = function in ONE or function in TWO or function == "fma" or single in _definitions()
    return single if kind == "float32" and has_single else function


def _used(functions: Iterable[str]) -> set[str]:
    """These functions, and those that they use."""
    known = _definitions()
    used: set[str] = set()
    work = list(functions)
    while work:
        name = work.pop()
        if name not in used:
            used.add(name)
            work += known[name].calls if name in known else ()
    return used


def needed(functions: Iterable[str], in_loops: bool = False, chooses: bool = False) -> str:
    """The prototypes and definitions of functions, and of those that they use; `in_loops`: over arrays, which may choose."""
    used = _used(functions)
    lines = [WIDE, *([LANES] if chooses else [])] if in_loops else []
    lines += [MARK] if in_loops and not used.isdisjoint(MARKED) else []
    for names, count in ((ONE, 1), (TWO, 2), (["fma"], 3)):
        for name in names:
            mark = "VLAD_VECTOR " if in_loops and name in VECTOR else ""
            for real, own in (("double", name), ("float", f"{name}f")):
                if own in used:
                    lines.append(f"{mark}{real} {own}({', '.join([real] * count)});")
    lines += [text for name, text in OTHER.items() if name in used]
    lines += _among(used)
    return "\n".join(lines)


def definitions(functions: Iterable[str]) -> str:
    """The definitions without prototypes, for a compiler that declares the C library's functions itself."""
    return "\n".join(_among(_used(functions)))


def is_vectored(functions: Iterable[str]) -> bool:
    """Does the C library compute any of these for several numbers at once?"""
    return not MARKED.isdisjoint(_used(functions))


def is_for_hosts(functions: Iterable[str]) -> bool:
    """Does any of these need the process, which a GPU lacks?"""
    return not HOSTS.isdisjoint(_used(functions))


def uses_long_doubles(functions: Iterable[str]) -> bool:
    """Does any of these call the library's functions of long doubles?"""
    return not LONG_DOUBLES.isdisjoint(_used(functions))


def _among(used: set[str]) -> list[str]:
    return list(dict.fromkeys([one.text for name, one in _definitions().items() if name in used]))
