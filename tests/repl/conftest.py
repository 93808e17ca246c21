"""A shell in a folder of its own."""

from __future__ import annotations

import shutil
from os import terminal_size
from pathlib import Path

import pytest
from writing import Writing


@pytest.fixture
def writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Writing:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda fallback=(80, 24): terminal_size((80, 24)))
    return Writing()
