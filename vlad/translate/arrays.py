"""NumPy's functions and methods as rows: the table of numpy_table.py, read.

In: a function object of NumPy's, or the name of a method.  Out: a `Row`, or what there is instead. NumPy need not be installed.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from vlad.translate import numpy_table

Constant = float | bool | str | None


class Use(Enum):
    """What becomes of an argument."""

    ARRAY = "an array or a number"
    PLAIN = "passed as it is"
    OPTION = "passed as it is; may be left out"
    KEYWORD = "passed by name; may be left out"
    DTYPE = "float64"
    CAST = "the type that the result is converted to"
    REFUSED = "must be left out"


@dataclass(frozen=True, slots=True)
class Parameter:
    """names    in Python: the first, and another one, if there is one
    use
    default  of an OPTION
    keyword  of a KEYWORD: the procedure's name
    """

    names: tuple[str, ...]
    use: Use
    default: Constant = None
    keyword: str = ""

    @property
    def is_required(self) -> bool:
        return self.use in (Use.ARRAY, Use.PLAIN)


@dataclass(frozen=True, slots=True)
class Row:
    """name       the function in Python's words
    procedure  the library's
    parameters in Python's order
    is_view    may the result share the entries of an argument in Python?
    """

    name: str
    procedure: str
    parameters: tuple[Parameter, ...]
    is_view: bool = False

    @property
    def takes(self) -> str:
        return ", ".join([one.names[0] for one in self.parameters if one.use is not Use.REFUSED])


_MARKS = {".": Use.PLAIN, "-": Use.DTYPE, "~": Use.CAST, "!": Use.REFUSED}


def _constant(text: str) -> Constant:
    words: dict[str, Constant] = {"None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    return text[1:-1] if text.startswith("'") else float(text)


def _parameter(text: str) -> Parameter:
    mark = _MARKS.get(text[0])
    name, has_default, default = text.removeprefix(text[0] if mark else "").partition("=")
    name, _, keyword = name.partition(":")
    names = tuple(name.split("|"))
    if keyword:
        return Parameter(names, Use.KEYWORD, keyword=keyword)
    if has_default:
        return Parameter(names, Use.OPTION, _constant(default))
    return Parameter(names, mark or Use.ARRAY)


def rows_of(text: str, prefix: str) -> dict[str, Row]:
    """The rows of a table's text, by name. `prefix`: of the names in messages."""
    found = {}
    views = numpy_table.VIEWS.split()
    for line in text.split("\n"):
        if line:
            name, procedure, *parameters = line.split()
            row = Row(prefix + name, procedure, tuple([_parameter(one) for one in parameters]), name in views)
            found[name] = row
    return found


@functools.cache
def _rows() -> tuple[dict[str, Row], dict[str, Row]]:
    return rows_of(numpy_table.NUMBERS, "np."), rows_of(numpy_table.OTHERS, "np.")


@functools.cache
def methods() -> dict[str, Row]:
    """The methods of arrays; the first parameter is the array."""
    numbers, others = _rows()
    found = {
        name: _as_method(numbers.get(name) or others[name])
        for name in numpy_table.METHODS_AS_FUNCTIONS.split()
    }
    return {**found, **rows_of(numpy_table.METHODS, "")}


def _as_method(row: Row) -> Row:
    return replace(row, name=row.name.removeprefix("np."))


def _objects(names: Sequence[str]) -> dict[Any, str]:
    """NumPy's objects of these names, as far as it has them."""
    numpy = importlib.import_module("numpy")
    found: dict[Any, str] = {}
    for name in names:
        around, _, own = name.rpartition(".")
        value = getattr(getattr(numpy, around) if around else numpy, own, None)
        if value is not None:
            found.setdefault(value, name)
    return found


@functools.cache
def _functions() -> dict[Any, tuple[Row, bool]]:
    """The rows, and whether their results are numbers; called when NumPy has been imported."""
    numbers, others = _rows()
    found = {}
    for rows, is_number in ((numbers, True), (others, False)):
        for value, name in _objects(list(rows)).items():
            found[value] = rows[name], is_number
    return found


@functools.cache
def _refused() -> dict[Any, str]:
    found: dict[Any, str] = {}
    hint = ""
    for line in numpy_table.REFUSED.strip().split("\n"):
        if line.endswith("::"):
            hint = line.removesuffix("::")
        else:
            found.update(dict.fromkeys(_objects(line.split()), hint))
    return found


@functools.cache
def _of_syntax() -> dict[Any, str]:
    return _objects(numpy_table.SYNTAX)


def package_of(value: Any) -> str:
    """The package of a function or type; "" for a value without one, such as a function of a text that was executed
    without a `__name__`."""
    module = getattr(value, "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_of_numpy(value: Any) -> bool:
    """Is it a function or a type of NumPy's?"""
    return type(value).__name__ == "ufunc" or package_of(value) == "numpy"


def is_array_type(value: Any) -> bool:
    """Is it `np.ndarray`?"""
    return isinstance(value, type) and value.__module__ == "numpy" and value.__name__ == "ndarray"


def numpy_row(value: Any) -> tuple[Row, bool] | None:
    """The row of a function of NumPy's, and whether its results are numbers."""
    return _functions().get(value)


def numpy_syntax(value: Any) -> str | None:
    """The name of a function of NumPy's whose call is syntax."""
    return _of_syntax().get(value)


_DRAWING = (
    "random numbers are drawn with keys: `vlad.random.normal(key, size=shape)`, `vlad.random.split(key)`"
)


_BY_INDEX = "`np.meshgrid`, `np.arange`, `np.linspace`"
_OTHERWISE = "docs/python-functions.md has the functions of NumPy that there are"


def is_drawing(value: Any) -> bool:
    """Does it belong to a generator of random numbers of Python's or of NumPy's?"""
    owner = getattr(value, "__self__", value)
    modules = [
        getattr(owner, "__module__", None),
        getattr(value, "__module__", None),
        getattr(type(owner), "__module__", None),
    ]
    return any(
        isinstance(one, str) and (one in ("random", "secrets") or one.startswith("numpy.random"))
        for one in modules
    )


def instead_in_numpy(value: Any) -> str | None:
    """What there is instead of a function of NumPy's, or of a generator of random numbers; None if nothing is known of it."""
    if is_drawing(value):
        return _DRAWING
    if type(value).__module__.startswith("numpy.lib."):  # np.mgrid, np.ogrid, …
        return _BY_INDEX
    return _refused().get(value, _OTHERWISE) if is_of_numpy(value) and callable(value) else None
