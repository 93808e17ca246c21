"""Python's own functions that have a counterpart: the one table of them.

In: a function object of Python.  Out: the library's procedure for each number of arguments. Functions whose call is syntax
(`range`, `enumerate`, …) are in iterations.py, calls.py and module_calls.py; NumPy's are in arrays.py. A function is found by
itself, not by its name, so it may be imported under any.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import copy
import functools
import heapq
import itertools
import math
import operator
import re
from dataclasses import dataclass
from typing import Any

from vlad.translate.arrays import Row, instead_in_numpy, is_of_numpy, numpy_row, rows_of


@dataclass(frozen=True, slots=True)
class Known:
    """name      the function in Python's words
    procedures  for each number of arguments: the procedure that takes them
    is_number   are its results reals, or arrays of numbers?
    is_real     are they reals?
    row         of a function whose arguments are bound by names; there are no `procedures` then
    takes_numbers  are its arguments numbers, and no arrays?
    as_value    the procedure that stands for it where it is a value, if there is one for one number of arguments only
    """

    name: str
    procedures: dict[int, str]
    is_number: bool = True
    is_real: bool = False
    row: Row | None = None
    takes_numbers: bool = False

    @property
    def keeps_nothing(self) -> bool:
        """Is the result surely no part of an argument?"""
        return not self.row.is_view if self.row is not None else self.is_number

    @property
    def as_value(self) -> str | None:
        """None if there are several."""
        return next(iter(self.procedures.values())) if len(self.procedures) == 1 else None


def _same(names: str, count: int = 1) -> dict[str, dict[int, str]]:
    return {name: {count: name} for name in names.split()}


_MATH: dict[str, dict[int, str]] = {
    **_same("asinh tanh erf cbrt"),
    **{name: {1: f"%py-{name}"} for name in ("sin", "cos", "tan", "expm1", "lgamma", "floor", "exp2")},
    "fabs": {1: "abs"}, "ceil": {1: "%py-ceiling"}, "trunc": {1: "%py-int"}, "comb": {2: "%py-comb"},
    "fsum": {1: "%py-fsum"}, "dist": {2: "%py-distance"},
    "erfc": {1: "erfc"}, "atan": {1: "%py-atan"}, "degrees": {1: "%py-degrees"}, "radians": {1: "%py-radians"},
    "sqrt": {1: "%py-sqrt"}, "exp": {1: "%py-exp"}, "sinh": {1: "%py-sinh"}, "cosh": {1: "%py-cosh"},
    "log": {1: "%py-log", 2: "%py-log-to"}, "log2": {1: "%py-log2"}, "log10": {1: "%py-log10"}, "log1p": {1: "%py-log1p"},
    "asin": {1: "%py-asin"}, "acos": {1: "%py-acos"}, "acosh": {1: "%py-acosh"}, "atanh": {1: "%py-atanh"},
    "gamma": {1: "%py-gamma"},
    "atan2": {2: "atan"}, "hypot": {0: "%py-zero", 1: "abs", 2: "hypot"}, "pow": {2: "%py-math-power"},
    "copysign": {2: "%py-copysign"},
    "fmod": {2: "%py-fmod"}, "gcd": {0: "%py-zero", 1: "%py-whole-size", 2: "%py-gcd"},
    "lcm": {0: "%py-one", 1: "%py-whole-size", 2: "%py-lcm"}, "isqrt": {1: "%py-isqrt"}, "ldexp": {2: "%py-ldexp"},
    "remainder": {2: "%py-remainder"}, "perm": {1: "%py-factorial", 2: "%py-perm"}, "sumprod": {2: "%py-sum-of-products"},
    "factorial": {1: "%py-factorial"},
}  # fmt: skip
_MATH_OTHERS = {"modf": {1: "%py-modf"}}
# Functions with arguments by name, as rows (numpy_table.py has the form).
_MATH_ROWS = """
prod %py-product-from .iterable .start=1
isclose %py-close? .a .b .rel_tol=1e-09 .abs_tol=0
"""
_BISECT_ROWS = """
bisect_left %py-bisect-left .a .x .lo=0 .hi=None
bisect_right %py-bisect-right .a .x .lo=0 .hi=None
"""
# The names of parameters, of functions whose arguments may be given by name.
NAMED = {"round": ("number", "ndigits"), "pow": ("base", "exp"), "sum": ("iterable", "start")}
_OF_ITERABLES = ("fsum", "dist", "sumprod")
_MATH_BOOLEANS = {"isnan": {1: "nan?"}, "isinf": {1: "infinite?"}, "isfinite": {1: "finite?"}}
_OPERATOR: dict[str, dict[int, str]] = {
    "add": {2: "%py-add"}, "sub": {2: "-"}, "mul": {2: "%py-multiply"}, "truediv": {2: "%py-divide"}, "neg": {1: "-"},
    "pow": {2: "%py-power"}, "mod": {2: "%py-modulo"}, "floordiv": {2: "%py-quotient"}, "abs": {1: "abs"},
    "matmul": {2: "matmul"}, "pos": {1: "+"}, "index": {1: "%py-whole"},
}  # fmt: skip
_OPERATOR_OTHERS = {
    "and_": {2: "%py-bit-and"}, "or_": {2: "%py-bit-or"}, "xor": {2: "%py-bit-xor"}, "inv": {1: "%py-bit-not"},
    "invert": {1: "%py-bit-not"}, "lshift": {2: "%py-shifted-left"},
    "rshift": {2: "%py-shifted-right"}, "truth": {1: "%py-true?"}, "contains": {2: "%py-contains?"},
    "countOf": {2: "%py-count-of"},
    "indexOf": {2: "%py-index-of"}, "concat": {2: "%py-concatenated"},
    "eq": {2: "%py-equal?"}, "ne": {2: "%py-unequal?"}, "lt": {2: "%py-less?"}, "le": {2: "%py-at-most?"},
    "gt": {2: "%py-greater?"}, "ge": {2: "%py-at-least?"}, "getitem": {2: "%py-index"}, "not_": {1: "%py-not"},
}  # fmt: skip
_BUILTINS: dict[str, dict[int, str]] = {
    "abs": {1: "abs"}, "len": {1: "%py-length"}, "float": {1: "%py-float"}, "int": {1: "%py-int"},
    "round": {1: "%py-round", 2: "%py-round-to"}, "pow": {2: "%py-power"},
}  # fmt: skip
_COPY = {"copy": {1: "%py-copy"}, "deepcopy": {1: "%py-copy"}}
_BUILTIN_OTHERS = {
    "bool": {1: "%py-true?"}, "min": {1: "%py-least", 2: "%py-least-of"}, "max": {1: "%py-greatest", 2: "%py-greatest-of"},
    "sum": {1: "%py-sum", 2: "%py-sum-from"}, "list": {0: "%py-no-list", 1: "%py-list"},
    "tuple": {0: "%py-no-tuple", 1: "%py-tuple"}, "set": {0: "%py-no-set", 1: "%py-set"},
    "frozenset": {0: "%py-no-frozenset", 1: "%py-frozenset"},
    "reversed": {1: "%py-reversed"}, "sorted": {1: "%py-sorted"}, "any": {1: "%py-any"}, "all": {1: "%py-all"},
    "map": {2: "%py-map"}, "filter": {2: "%py-filter"}, "str": {1: "%py-text"}, "repr": {1: "%py-written"},
    "divmod": {2: "%py-divmod"}, "callable": {1: "procedure?"}, "ord": {1: "%py-ord"}, "chr": {1: "%py-chr"},
    "bin": {1: "%py-bin"}, "oct": {1: "%py-oct"}, "hex": {1: "%py-hex"},
}  # fmt: skip
# Functions of two or more: of the first two, then of that and the third …
FOLDED = ("min", "max", "math.gcd", "math.lcm", "math.hypot")
# Of those, what a function of any number of arguments returns for none.
STARTS = {"math.gcd": 0.0, "math.lcm": 1.0, "math.hypot": 0.0}

_BITS = "numbers are doubles: `//`, `%` and `**` with powers of 2"
_IN_PLACE = "values are not changed: the operator without i"
_METHOD = "write a lambda that calls it"
_DECORATOR = "decorate the function outside"
# Other functions of these modules, by what there is instead.
_REFUSED: dict[Any, dict[str, str]] = {
    math: {_BITS: "frexp nextafter ulp", "`x * y + z`, which is rounded twice": "fma"},
    operator: {
        _IN_PLACE: "iadd iand iconcat ifloordiv imatmul imod imul ilshift ior irshift ipow isub itruediv ixor",
        _METHOD: "attrgetter methodcaller call",
        "values have no identity: operator.eq": "is_ is_not",
        "assign to the entry: `x[i] = …`": "setitem delitem",
        "`len`": "length_hint",
    },
    builtins: {
        "numbers are real here: compute with the two parts, or write it in Python, as a `vlad.primitive`": "complex",
        "records are changed by `_replace` and `dataclasses.replace`": "setattr delattr",
    },
    re: {
        "`find`, `split`, `replace`, `startswith` and the other methods of texts": "compile findall finditer fullmatch match"
        " search split sub subn escape template",
    },
    heapq: {"`sorted`": "merge"},
    collections: {
        "assign `Counter(xs)` to a name of its own": "Counter",
        "assign `defaultdict(list)` to a name of its own, of a type, a function or a lambda": "defaultdict",
        "`deque(xs)`, without maxlen": "deque",
        "a dict, which keeps the order": "OrderedDict",
        "a dict: `{**b, **a}`": "ChainMap",
    },
    functools: {
        _DECORATOR: "cache lru_cache cached_property singledispatch singledispatchmethod total_ordering update_wrapper wraps"
        " partialmethod",
        "sort by a key: `sorted(xs, key=…)`": "cmp_to_key",
    },
    itertools: {
        "it has no end: a loop over `range`, or `while`": "count cycle",
        "name the list twice": "tee",
    },
}


@functools.cache
def _table() -> dict[Any, Known]:

    found: dict[Any, Known] = {}
    for module, names, is_number in (
        (math, _MATH, True),
        (math, _MATH_OTHERS, False),
        (math, _MATH_BOOLEANS, False),
        (operator, _OPERATOR, True),
        (operator, _OPERATOR_OTHERS, False),
        (builtins, _BUILTINS, True),
        (builtins, _BUILTIN_OTHERS, False),
        (copy, _COPY, False),
    ):
        for name, procedures in names.items():
            prefix = "" if module is builtins else f"{module.__name__}."
            is_real = is_number and (module is math or name in ("len", "int", "float"))
            if hasattr(module, name):  # not in each version of Python
                takes_numbers = module is math and name not in _OF_ITERABLES
                found[getattr(module, name)] = Known(
                    prefix + name, procedures, is_number, is_real, takes_numbers=takes_numbers
                )
    for name, row in rows_of(_MATH_ROWS, "math.").items():
        found[getattr(math, name)] = Known(row.name, {}, is_number=name == "prod", row=row)
    for name, row in rows_of(_BISECT_ROWS, "bisect.").items():
        found[getattr(bisect, name)] = Known(row.name, {}, row=row)
    return found


@functools.cache
def _instead() -> dict[Any, str]:
    return {
        getattr(module, name): hint
        for module, hints in _REFUSED.items()
        for hint, names in hints.items()
        for name in names.split()
        if hasattr(module, name)  # not in each version of Python
    }


def instead_of(value: Any) -> str | None:
    """What there is instead of a function of Python's that has no counterpart; None if nothing is known of it."""
    try:
        return _instead().get(value) or instead_in_numpy(value)
    except TypeError:  # it has no hash
        return None


def known(value: Any) -> Known | None:
    """What is known of a function of Python; None if nothing is."""
    try:
        if is_of_numpy(value):
            found = numpy_row(value)
            return None if found is None else Known(found[0].name, {}, is_number=found[1], row=found[0])
        row = _random_row(value)
        if row is not None:
            is_number = row.name not in ("vlad.random.key", "vlad.random.split")
            return Known(row.name, {}, is_number, row=row)
        return _table().get(value)
    except TypeError:  # it has no hash
        return None


# vlad's public functions whose calls are syntax, by module: they are imported lazily. derivatives.py translates them.
_PUBLIC = {
    "vlad.python.derivatives": "grad value_and_grad hessian jacobian jvp vjp hvp",
    "vlad.session.differentiating": "value_and_grad",
    "vlad.python.batches": "vmap",
    "vlad.session.own_derivatives": "stop_gradient custom_derivative checkpointed",
}
# Those of `vlad.random`, as rows.
_RANDOM = """
key %py-random-key .seed
split %py-random-split .key .num=2
uniform %py-random-uniform .key low=0 high=1 .size=None
normal %py-random-normal .key loc=0 scale=1 .size=None
exponential %py-random-exponential .key scale=1 .size=None
integers %py-random-integers .key .low .high .size=None
permutation %py-random-permutation .key .n
choice %py-random-choice .key a .size=None
"""


@functools.cache
def _random_rows() -> dict[str, Row]:
    return rows_of(_RANDOM, "vlad.random.")


def _random_row(value: Any) -> Row | None:
    if getattr(value, "__module__", None) != "vlad.session.random":
        return None
    return _random_rows().get(getattr(value, "__name__", ""))


def public_name(value: Any) -> str | None:
    """The name of one of vlad's public functions whose calls are syntax; None for another value."""
    own = getattr(value, "__name__", None)
    module = getattr(value, "__module__", None)
    is_public = isinstance(own, str) and isinstance(module, str) and own in _PUBLIC.get(module, "").split()
    return own if is_public else None
