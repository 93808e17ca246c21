"""For all tests: every pass's result is checked against core's grammar; `--update` rewrites expected texts.

Random tests draw the same examples in every run, so that a red run means that the change is at fault;
`--hypothesis-profile=search` draws fresh ones.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadGroupScheduling

from vlad.compile.native import toolchain
from vlad.compile.native.c_extension import border
from vlad.control import debug
from vlad.control.frame_stack import with_room
from vlad.evaluate import emit_python

sys.path.insert(0, str(Path(__file__).parent))
from amounts import THOROUGH
from quick import FILES, is_quick

debug.rungs = frozenset([debug.TRACEBACKS, debug.CHECKS])

# Tests call from so deep within pytest that most procedures cross the end of a chunk of frames repeatedly. (Pytest's own hooks
# around a test are generators, whose frames are elsewhere: so the method is replaced.)
_run = pytest.Function.runtest
pytest.Function.runtest = lambda self: with_room(_run, self)  # type: ignore[method-assign]

# The many sessions of tests emit the same texts: half of the time in which these were compiled went into texts compiled before.
_code_of = functools.lru_cache(maxsize=4096)(emit_python._compiled)


def _compiled_once(text: str) -> CodeType:
    """A copy, as Python adapts the instructions of a code object to the function that has it."""
    return _code_of(text).replace()


emit_python._compiled = _compiled_once

# Tier 0, unless a test selects another, as programs, examples and tests/compile do.
os.environ.setdefault("VLAD_TIER", "evaluate")

# A thorough run takes its time.
if THOROUGH:
    os.environ["PYTEST_TIMEOUT"] = "0"

# Compiled code of tests is not in the user's cache.
_kept = tempfile.TemporaryDirectory(prefix="vlad-tests-")
os.environ.setdefault("VLAD_CACHE_DIR", os.path.join(_kept.name, "cache"))

# Without bytecode each of the many processes that tests start compiles what it imports, and each worker rewrites all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The C compiler of tests marked with `any_compiler`, if $VLAD_CC names none.
QUICKEST = toolchain.boxed_compiler()

settings.register_profile("search", derandomize=False)
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: a test that waits leaves its processor to another."""
    return (
        len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)) + 1
    )


# The files that take longest, the longest first.
LONGEST = [
    "test_programs.py", "test_whole.py", "test_examples.py", "test_tiers.py", "test_tensors.py", "test_adversary.py",
    "test_packaging.py", "test_translated.py", "test_cuda.py", "test_matrices.py", "test_owned.py", "test_tensor_programs.py",
    "test_auto.py", "test_kernels.py", "test_documentation.py", "test_cuda_programs.py", "test_read_back.py",
    "test_structures.py", "test_tensor_derivatives.py", "test_terminal.py", "test_calls_in_c.py", "test_several_shapes.py",
    "test_dask.py", "test_memory.py", "test_accuracy.py", "test_differentiable_curry.py", "test_complexity.py",
    "test_trees.py", "test_strings.py", "test_plots.py", "test_forged.py", "test_emit_kernels.py", "test_cells.py",
    "test_addresses.py", "test_cache.py", "test_derivatives.py", "test_lengths.py", "test_machine.py",
    "test_matrix_functions.py", "test_raising.py", "test_range.py", "test_optimizers.py", "test_checkpointed.py",
    "test_mixed_structures.py", "test_screens.py", "test_analysis.py", "test_cuda_rows.py", "test_compiling_process.py",
    "test_sizes.py", "test_kernel.py", "test_saving.py", "test_interrupts.py", "test_gradbench.py", "test_surroundings.py",
]  # fmt: skip


class _ByFile(LoadGroupScheduling):  # type: ignore[misc]
    """The tests of a group, or else of a file, run in one process, as they share fixtures, caches and expected results. When
    they were spread over three processes, they took a quarter more time.
    """

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        return group.partition("::")[0] if group == nodeid else group


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _ByFile | None:
    if config.getoption("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # the order is that of `pytest_collection_modifyitems`
    return _ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without collecting cyclic garbage, as there is hardly any."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Compile the module by which Python calls machine code before any test, with the system's compiler: the quickest one lacks
    headers. Collecting cyclic garbage took an eighth of the time: objects that exist before the first test are frozen, and later
    ones are collected less often.
    """
    border()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    try:
        return (yield from _with_its_compiler(item))
    finally:
        if nextitem is not None and nextitem.path != item.path:
            # what is left of a file stays, in caches: later collections need not go through it
            gc.collect()
            gc.freeze()


def _with_its_compiler(item: pytest.Item) -> Generator[None, object, object]:
    """Select the C compiler before the fixtures of any scope compile."""
    is_any = item.get_closest_marker("any_compiler") and not item.get_closest_marker("system_compiler")
    if QUICKEST is None or "VLAD_CC" in os.environ or not is_any:
        return (yield)
    os.environ["VLAD_CC"] = QUICKEST
    try:
        return (yield)
    finally:
        del os.environ["VLAD_CC"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m quick` reads the files of quick tests alone; to read the others takes ten seconds."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if config.option.markexpr == "quick" and is_test and collection_path not in FILES else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Quick tests are those of quick.py. Tests that select their tier need not be repeated in runs where everything
    is compiled. Several processes begin with the files that take longest, lest one of them is the last to end.
    """
    for item in items:
        if is_quick(item.path, item.nodeid.partition("::")[2]):
            item.add_marker("quick")
        callspec = getattr(item, "callspec", None)
        if callspec is not None and "tier" in callspec.params:
            item.add_marker("own_tier")
    if hasattr(config, "workerinput"):
        rank = {name: place for place, name in enumerate(LONGEST)}
        number = Counter(item.path for item in items)
        items.sort(key=lambda item: (rank.get(item.path.name, len(rank)), -number[item.path], item.path))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the expected halves of tests/passes/*/*.core"
    )
