"""Python functions, translated: values, exceptions and gradients are Python's, on both tiers.

The functions in `functions/`, by subject, have their arguments as defaults. random_functions.py makes more.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from amounts import THOROUGH
from random_functions import differences, outcome, same

HERE = Path(__file__).parent


def functions() -> list[Any]:
    """The functions of the files, as parameters of a test."""
    found = []
    for path in sorted((HERE / "functions").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"translated_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where dataclasses look for it
        spec.loader.exec_module(module)
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                found.append(pytest.param(value, id=f"{path.stem}.{name}"))
    return found


FUNCTIONS = functions()
# Tables of lists, lists of unknown length, and a dict with numbers as keys take seconds to compile: those are compiled in
# thorough runs.
LONG = (
    "dynamic_programming", "heaps.shortest_paths", "matches.assigned_in_a_comprehension", "matrices", "quadrature", "samples",
    "sorting", "texts",
)  # fmt: skip
COMPILED = [one for one in FUNCTIONS if not str(one.id).startswith(LONG)][::7]
COMPILED += [one for one in FUNCTIONS if str(one.id).startswith("raising_closures") and one not in COMPILED]


@pytest.fixture(scope="module")
def evaluating() -> vlad.Session:
    return vlad.Session(tier="evaluate")


@pytest.fixture(scope="module")
def compiling() -> vlad.Session:
    return vlad.Session(tier="compile")


def central_difference(f: Callable[..., Any], arguments: tuple[Any, ...], place: int) -> float | None:
    """The derivative by one argument of a function that returns a real; None where it returns something else."""
    found = []
    for step in (1e-6, -1e-6):
        value = f(*arguments[:place], arguments[place] + step, *arguments[place + 1 :])
        if type(value) is not float:
            return None
        found.append(value)
    return (found[0] - found[1]) / 2e-6


def compare(f: Callable[..., Any], session: vlad.Session) -> None:
    translated = session.function(f)
    taken = inspect.signature(f).parameters.values()
    arguments = tuple([one.default for one in taken if one.kind is not one.KEYWORD_ONLY])
    expected, found = outcome(lambda: f(*arguments)), outcome(lambda: translated(*arguments))
    assert same(expected, found), (expected, found)
    if type(expected) is not float:
        return
    for place, argument in enumerate(arguments):
        slope = central_difference(f, arguments, place) if type(argument) is float else None
        if slope is not None:
            gradient = vlad.grad(translated, argnums=place)(*arguments)
            assert gradient == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_function_is_evaluated_as_by_python(f: Callable[..., Any], evaluating: vlad.Session) -> None:
    compare(f, evaluating)


@pytest.mark.any_compiler
@pytest.mark.parametrize("f", FUNCTIONS if THOROUGH else COMPILED)
def test_a_function_is_compiled(f: Callable[..., Any], compiling: vlad.Session) -> None:
    compare(f, compiling)


@pytest.mark.parametrize("start", range(0, 5000 if THOROUGH else 120, 20))
def test_random_functions(start: int, evaluating: vlad.Session) -> None:
    assert {
        seed: found for seed in range(start, start + 20) if (found := differences(seed, [evaluating]))
    } == {}
