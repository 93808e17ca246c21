"""Frames of Python's calls in one piece of memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from vlad.control.frame_stack import with_room


def down(depth: int, turns: int) -> int:
    """Calls at every depth, some of which cross the end of a chunk repeatedly."""
    for _ in range(turns):
        wide(depth)
    return down(depth - 1, turns) + 1 if depth else 0


def wide(a: int) -> tuple[int, ...]:
    return a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a + 1


def faults(turns: int) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert with_room(down, 1000, turns) == 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_operands_results_and_exceptions_pass() -> None:
    assert with_room(divmod, 7, 3) == (2, 1)
    assert with_room(sorted, [1, 3, 2], reverse=True) == [3, 2, 1]
    with pytest.raises(ZeroDivisionError):
        with_room(divmod, 1, 0)


def test_no_more_page_faults_for_more_calls() -> None:
    """In a process of its own, without other allocations; without reuse there are some in each iteration."""
    text = "import sys; sys.setrecursionlimit(5000); from test_room import *; print(faults(1), faults(500), faults(1))"
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    once, often, again = map(int, done.stdout.split())
    assert often <= max(once, again) + 200
