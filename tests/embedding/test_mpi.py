"""Processes of MPI as executor, where mpi4py is installed, with an `mpiexec` on the path or beside Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
SEARCHED = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
MPIEXEC = shutil.which("mpiexec", path=SEARCHED)
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")

PROGRAM = """
import numpy as np
from mpi4py.futures import MPIPoolExecutor

import vlad

if __name__ == "__main__":
    with vlad.Session(tier="compile") as session, MPIPoolExecutor(max_workers=2) as pool:
        cube = session.eval("(lambda (x) (* x x x))")
        assert vlad.map(cube, list(range(9)), executor=pool) == [x**3 for x in range(9)]
        assert vlad.map(session.eval("(gradient (lambda (x) (* x x x)))"), [1.0, 2.0], executor=pool) == [3.0, 12.0]
        xs = np.random.default_rng(0).random(200)
        loss = session.eval("(lambda (w x) (sum (square (- (* w x) 1))))")
        alone, shared = [
            vlad.value_and_grad(loss, data=xs, reduce="sum", chunks=8, executor=one)(0.5) for one in (None, pool)
        ]
        assert alone == shared
        try:
            vlad.map(session.eval("(lambda (x) (if (= x 3) (car x) x))"), [1, 2, 3, 4], executor=pool)
        except vlad.VladError as error:
            assert "car is invalid" in str(error)
        else:
            raise AssertionError("no error")
    print("as alone")
"""


def test_a_pool_of_two(tmp_path: Path) -> None:
    """Results, derivatives and sums have the bits of this process; an error of an item comes back."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [str(MPIEXEC), "-n", "3", sys.executable, "-m", "mpi4py.futures", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "as alone"
