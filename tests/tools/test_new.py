"""`vlad new`, and where modules are found."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from commands import command

import vlad


def test_a_new_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = command("new", "two-fold", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "two-fold/two_fold/two-fold.vlad" in done.stdout.splitlines()
    assert command("format", "--check", ".", cwd=tmp_path).returncode == 0
    shutil.copytree(
        tmp_path / "two-fold" / "two_fold", tmp_path / "two-fold" / "build" / "lib"
    )  # as pip does
    done = command("test", cwd=tmp_path / "two-fold")
    assert (done.returncode, done.stdout) == (0, "4 passed\n")
    monkeypatch.syspath_prepend(tmp_path / "two-fold")
    from two_fold import twice

    @vlad.function
    def scaled(x: float) -> float:
        return twice(x) * x

    @vlad.function
    def within(x: float) -> float:
        from two_fold import twice

        return twice(x) * x

    assert twice(4.0) == 8.0 and vlad.grad(scaled)(3.0) == vlad.grad(within)(3.0) == 12.0
    names: dict[str, object] = {}
    exec("from two_fold import *\nimport two_fold", names)
    assert names["twice"] is twice and dir(names["two_fold"]) == ["twice"]
    with pytest.raises(ImportError, match="cannot import name 'thrice'"):
        from two_fold import thrice  # noqa: F401 - the import itself is tested


def test_the_path(tmp_path: Path) -> None:
    for folder, value in (("first", 1), ("second", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.vlad").write_text(f"(define m {value})")
    paths = {**os.environ, "VLAD_PATH": os.pathsep.join(["", str(tmp_path / "first")])}
    words = ["-e", '(import "m")', "-e", "m"]
    assert command(*words, environment=paths).stdout == "1\n"
    assert command("-I", str(tmp_path / "second"), *words, environment=paths).stdout == "2\n"
    assert "Cannot find: m" in command(*words).stderr


def test_an_installed_module_whose_name_is_similar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = tmp_path / "beam_theory-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: beam-theory\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[vlad.modules]\nbeam-theory = beam_theory\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(vlad.VladError, match="did you mean the installed module `beam-theory`"):
        vlad.Session().eval('(import "beam-theroy")')


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Two", "Not a name for a module: Two"), ("../x", "Not a name for a module: ../x"), ("taken", "Cannot write: taken"),
        ("lists", "The library has a module lists"), ("test", "The library has a module test"),
        ("numpy", "There is a Python package numpy"), ("vlad", "There is a Python package vlad"),
    ],
)  # fmt: skip
def test_wrong_names(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    done = command("new", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert os.listdir(tmp_path) == ["taken"] and os.listdir(tmp_path / "taken") == []
