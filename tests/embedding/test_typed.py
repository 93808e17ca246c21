"""The public names as users with type checkers see them: annotated, documented; the sample program runs.

`mypy --strict tests/embedding/typed_sample.py` and `pyright tests/embedding/typed_sample.py` check it (CONTRIBUTING.md).
"""

from __future__ import annotations

import inspect
import runpy
import types
from pathlib import Path

import pytest

import vlad


def test_the_sample_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).with_name("typed_sample.py")), run_name="__main__")
    assert capsys.readouterr().out == "the types are right\n"


@pytest.mark.parametrize("name", sorted(set(vlad.__all__) - {"__version__"}))
def test_public_names_are_documented_and_annotated(name: str) -> None:
    public = getattr(vlad, name)
    if isinstance(public, types.ModuleType):
        from vlad.python.compiling import compile as public
    assert (inspect.getdoc(public) or "").strip()
    functions = [public] if inspect.isfunction(public) else []
    if inspect.isclass(public):
        functions = [
            function
            for own, function in vars(public).items()
            if inspect.isfunction(function) and not own.startswith("_")
        ]
    for function in functions:
        assert (inspect.getdoc(function) or "").strip(), function
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, function
        given = [parameter for own, parameter in signature.parameters.items() if own not in ("self", "cls")]
        assert all(parameter.annotation is not parameter.empty for parameter in given), function
