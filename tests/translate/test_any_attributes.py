"""Values outside with any attribute, as mocks and clients of databases have: a function that reads them is translated."""

from __future__ import annotations

from typing import Any

import pytest

import vlad


class Answering:
    """Each attribute is another such object."""

    def __getattr__(self, name: str) -> Answering:
        if name.startswith("__"):
            raise AttributeError(name)
        return Answering()

    def __call__(self, *operands: Any) -> Answering:
        return Answering()


class Tool:
    """Has a name of ours as an attribute, with another meaning."""

    python = "3.12"

    def __call__(self, x: float) -> float:
        return 2.0 * x


client = Answering()
tool = Tool()


def careful(x: float) -> float:
    if x > 1e300:
        client.log(x)
    return x * x


def handed(x: float, log: Any = client) -> float:
    return x * x


def used(x: float) -> float:
    return tool(x) + 1.0


def test_a_value_that_is_only_handed_on() -> None:
    translated = vlad.function(handed)
    assert translated(3.0) == 9.0
    assert vlad.grad(translated, argnums=0)(3.0) == 6.0


@pytest.mark.parametrize("function, name", [(careful, "client"), (used, "tool")])
def test_a_call_of_one_is_refused_by_name(function: Any, name: str) -> None:
    with pytest.raises(vlad.VladError, match=f"cannot have a call of {name}"):
        vlad.function(function)(3.0)
