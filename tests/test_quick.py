"""The list of quick tests: each is there, and every part of the project has some."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from quick import QUICK, TESTS, is_quick

PARTS = sorted(
    {path.parent for path in TESTS.rglob("test_*.py")} - {TESTS, TESTS / "embedding" / "adversary"}
)


@pytest.mark.parametrize("entry", QUICK)
def test_it_is_there(entry: str) -> None:
    file, *names = re.sub(r"\[.*", "", entry).split("::")
    text = (TESTS / file).read_text(encoding="utf-8")
    assert all(re.search(rf"^ *(def|class) {name}\b", text, re.MULTILINE) for name in names)


@pytest.mark.parametrize("folder", PARTS, ids=lambda folder: folder.name)
def test_every_folder_has_some(folder: Path) -> None:
    assert any((TESTS / entry).is_relative_to(folder) for entry in QUICK)


def test_the_list_is_in_order_and_has_no_entry_twice() -> None:
    assert list(QUICK) == sorted(set(QUICK))


def test_what_belongs_to_an_entry() -> None:
    """A case belongs to its function, a function to its file; a name that only begins like an entry does not."""
    assert is_quick(TESTS / "test_session.py", "test_anything")
    assert is_quick(TESTS / "test_command.py", "TestRunning::test_anything")
    assert is_quick(TESTS / "embedding" / "test_limits.py", "test_output[bomb]")
    assert not is_quick(TESTS / "embedding" / "test_limits.py", "test_output_up_to_the_last_character[auto]")
    assert not is_quick(TESTS / "test_command.py", "TestRunningOn::test_anything")
    assert not is_quick(TESTS / "test_site.py", "test_no_link_is_dead")
