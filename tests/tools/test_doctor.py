"""`vlad doctor`: what is found, and what helps where something is missing."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import command

from vlad import __version__
from vlad.tools import doctor

SUBJECTS = [subject for subject, _, _ in doctor.LOOKS] + [name for name, _ in doctor.PACKAGES]


def found(**changes: str) -> dict[str, dict[str, str]]:
    own = {name: value for name, value in os.environ.items() if name != "VLAD_CC"}
    done = command("doctor", "--json", environment={**own, **changes})
    assert (done.returncode, done.stderr) == (0, "")
    return {each["subject"]: each for each in json.loads(done.stdout)}


def test_what_there_is(tmp_path: Path) -> None:
    facts = found(VLAD_CACHE_DIR=str(tmp_path), VLAD_THREADS="3")
    assert list(facts) == SUBJECTS
    assert facts["vlad"]["found"].startswith(f"{__version__} in ")
    assert facts["C compiler"]["found"].endswith(")") and facts["BLAS"]["found"]
    assert facts["processors"]["found"].endswith("use 3 threads")
    assert facts["cache"]["found"] == f"{tmp_path}: 0 entries, 0.0 MB"
    assert facts["numpy"]["found"] >= "2"
    assert os.listdir(tmp_path) == []  # the trial of the compiler is not kept


def test_the_packages_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "installing.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([\w, -]+) \|.*\|.*\|$", page.partition("| package |")[2].partition("\n\n")[0], re.MULTILINE
    )
    required = {
        re.split(r"[<>=\[]", line)[0]
        for line in importlib.metadata.requires("vlad-lang") or []
        if "extra" not in line
    }
    listed = {name for name, _ in doctor.PACKAGES}
    assert {name for row in rows for name in row.split(", ")} == listed - required


def test_what_is_missing(tmp_path: Path) -> None:
    broken = tmp_path / "cc"
    broken.write_text(
        '#!/bin/sh\ntest "$1" = --version && echo gcc 99 && exit 0\necho "no stdio.h" >&2\nexit 1\n'
    )
    broken.chmod(0o755)
    facts = found(VLAD_CC=str(broken), VLAD_CACHE="off", VLAD_THREADS="x")
    assert facts["C compiler"]["found"] == "" and "stdio.h" in facts["C compiler"]["remedy"]
    assert facts["cache"]["remedy"] == "$VLAD_CACHE turns it off"
    assert facts["processors"]["remedy"] == "$VLAD_THREADS is no number of threads: x"
    lines = command("doctor", environment={**os.environ, "VLAD_CC": "nonsense"}).stdout.splitlines()
    at = lines.index(f"- C compiler{' ' * 8}none")
    assert lines[at + 1].strip().startswith("for programs as fast as C;") and "nonsense" in lines[at + 1]


def test_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = SimpleNamespace(getDeviceProperties=lambda number: {"name": b"H100"})
    device = SimpleNamespace(xp=SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(doctor, "device_named", lambda name: device)
    monkeypatch.setattr(doctor, "LOOKS", [look for look in doctor.LOOKS if look[0] == "GPU"])
    assert next(doctor.findings()).found == "H100"


def test_wrong_words() -> None:
    done = command("doctor", "x")
    assert (done.returncode, done.stderr.partition("\n")[0]) == (
        2,
        "vlad: `vlad doctor` takes no file; not x",
    )
    assert "did you mean `doctor`?" in command("docter").stderr
    assert "did you mean `format`?" in command("fromat", "x.vlad").stderr
