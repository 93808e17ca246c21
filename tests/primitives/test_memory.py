"""Limits of memory hold inside rows: memory_walk.py, in a process of its own, for all rows or a sample of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vlad.compile.native import toolchain
from vlad.primitives.table import TABLE

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
import memory_walk
from amounts import THOROUGH

# Rows that went beyond their limits once.
SAMPLE = {
    "evaluate": "softmax,log-softmax,logsumexp,variance,polygamma,split,cholesky,norm,normal,as-type,reshape",
    "compile": "softmax,variance,norm,cholesky,reshape",
}

linux = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="the system does not report peaks"
)


@linux
@pytest.mark.timeout(1200 if THOROUGH else 120)
@pytest.mark.parametrize("tier", SAMPLE)
def test_no_row_goes_beyond_its_limit_of_memory(tier: str) -> None:
    words = [] if THOROUGH else [SAMPLE[tier]]
    boxed = toolchain.boxed_compiler()
    compiler = {} if boxed is None else {"VLAD_CC": boxed}
    command = [sys.executable, memory_walk.__file__, tier, *words]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **compiler}, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) > (500 if THOROUGH else 15)
    assert [line for line in lines if not line.startswith("within")] == []


def test_the_walk_is_over_rows_that_there_are() -> None:
    assert {*memory_walk.CALLS, *",".join(SAMPLE.values()).split(",")} <= set(TABLE)
