"""The launches of kernels that execute turns of a program's loops (cuda_functions.py): their threads, their memory, their errors.

In: a `RowKernel`, and its function of CuPy.  Out: a callable from the first turn, the end and the operands, called by the Python
text of cuda_unit.py.

Each thread has a part of one area for what its turn allocates. If one was too small, the kernel, which is pure, runs again with
parts of four times the size, and with fewer threads at once if the area would become larger than a share of the free memory.
The size that was enough is kept for later calls.

A kernel with loops may run for any time. The host waits for it in Python, where Ctrl-C and limits raise their exceptions; then it
sets a word in its memory that the threads read from time to time (`TURNS` in cuda_functions.py), and waits for their end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from vlad.compile.emit.cuda_functions import CODES, RowKernel
from vlad.compile.ir.refusals import Failed
from vlad.compile.native.abi import FIRST_FAILURE

THREADS = 128  # of a block; fewer if there are few rows, so that they are spread over the processors
FEWEST = 32  # of a warp
SPREAD = 1 << 9  # blocks that keep a large GPU busy
FIRST_WORDS, GROWTH = 1 << 9, 4  # of a thread's part of the area
SHARE = 4  # the area takes at most this part of the free memory
MOST_THREADS = 1 << 18  # that have a part of the area: as many as a large GPU runs at once
NONE = (1 << 63) - 1  # a status without errors

AT_ONCE, NAP = 0.002, 0.0002  # seconds of waiting without a pause, and of a pause after them

Launcher = Callable[[float, float, tuple[Any, ...]], None]


def row_launcher(kernel: RowKernel, function: Callable[..., None], xp: Any) -> Launcher:
    words = FIRST_WORDS if kernel.allocates else 0
    reports = kernel.allocates or bool(kernel.failures)
    grids: dict[
        tuple[int, int], tuple[int, int]
    ] = {}  # asking for the free memory takes longer than a launch

    run = _stoppable(function, xp) if kernel.loops else _unstoppable(function)

    def launch(begin: float, end: float, operands: tuple[Any, ...]) -> None:
        nonlocal words
        if begin >= end or begin != int(begin):
            if begin != end:
                raise Failed("it never returns")
            return
        given = tuple([int(one) if type(one) is bool else one for one in operands])
        while True:
            wanted = int(end - begin), words
            blocks, threads = grids.get(wanted) or grids.setdefault(wanted, _grid(*wanted, xp))
            status = xp.full(2 if reports else 1, NONE, dtype=xp.int64)
            area = xp.empty(max(1, blocks * threads * words), dtype=xp.float64)
            run((blocks,), (threads,), (*given, int(begin), int(end), status, area, words))
            if not reports:
                return
            error, room = status.tolist()
            if room != NONE:
                words *= GROWTH
                if threads * words * 8 > _free(xp):
                    raise Failed("a row of vmap needs more memory than the GPU has")
            elif error != NONE:
                raise Failed(kernel.failures[(error & ((1 << CODES) - 1)) - FIRST_FAILURE])
            else:
                return

    return launch


def _unstoppable(function: Callable[..., None]) -> Callable[..., None]:
    return lambda blocks, threads, operands: function(blocks, threads, (*operands, 0))


def _stoppable(function: Callable[..., None], xp: Any) -> Callable[..., None]:
    """The function, which ends soon after an exception was raised here."""
    memory = xp.cuda.alloc_pinned_memory(8)
    stop = memoryview(memory).cast("B")[:8].cast("l")
    stop[0] = 0

    def run(blocks: tuple[int], threads: tuple[int], operands: tuple[Any, ...]) -> None:
        if stop[0]:  # another exception came while the kernel before was being ended
            _end(xp)
            stop[0] = 0
        ended = xp.cuda.Event(disable_timing=True)
        try:
            function(blocks, threads, (*operands, memory.ptr))
            ended.record()
            begun = time.perf_counter()
            while not ended.done:
                if time.perf_counter() - begun > AT_ONCE:
                    time.sleep(NAP)
        except BaseException:
            stop[0] = 1
            _end(xp)
            raise

    return run


def _end(xp: Any) -> None:
    xp.cuda.get_current_stream().synchronize()


def _grid(rows: int, words: int, xp: Any) -> tuple[int, int]:
    """The numbers of blocks and of threads of each."""
    threads = THREADS
    while threads > FEWEST and rows < threads * SPREAD:
        threads //= 2
    blocks = -(-rows // threads)
    if words:
        blocks = max(1, min(blocks, MOST_THREADS // threads, _free(xp) // (threads * words * 8)))
    return blocks, threads


def _free(xp: Any) -> int:
    """The bytes that an area may take."""
    free, _ = xp.cuda.Device().mem_info
    return int(free) // SHARE
