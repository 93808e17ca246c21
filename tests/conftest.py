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
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from vlad.compile.native import toolchain
from vlad.compile.native.c_extension import border
from vlad.control import debug
from vlad.control.frame_stack import with_room
from vlad.evaluate import emit_python

sys.path.insert(0, str(Path(__file__).parent))
from amounts import THOROUGH
from distribution import ByFile, begin_elsewhere, by_length, send_in_batches
from quick import FILES, is_quick

debug.rungs = frozenset([debug.TRACEBACKS, debug.CHECKS])

# Tests call from so deep within pytest that most procedures cross the end of a chunk of frames repeatedly. (Pytest's own hooks
# around a test are generators, whose frames are elsewhere: so the method is replaced.)
_run = pytest.Function.runtest
pytest.Function.runtest = lambda self: with_room(_run, self)  # type: ignore[method-assign]

# The many sessions of tests emit the same texts: half of the time in which these were compiled went into texts compiled before.
emit_python._compiled_before = functools.lru_cache(maxsize=16_384)(emit_python._compiled)

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

# No test is timed: the deadline of an example failed on a busy machine.
settings.register_profile("search", derandomize=False, deadline=None)
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: a test that waits leaves its processor to another."""
    return (
        len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)) + 1
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    if config.getoption("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # the order is that of `pytest_collection_modifyitems`
    return ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Without collecting cyclic garbage, as there is hardly any."""
    begin_elsewhere(session.config)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    send_in_batches(session.config)


def pytest_collection_finish() -> None:
    """Compile the module by which Python calls machine code before any test, with the system's compiler: the quickest one lacks
    headers. Collecting cyclic garbage took an eighth of the time: objects that exist before the first test are frozen, and later
    ones are collected less often.
    """
    border()
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000_000, 20, 20)


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
    is compiled.
    """
    for item in items:
        if is_quick(item.path, item.nodeid.partition("::")[2]):
            item.add_marker("quick")
        callspec = getattr(item, "callspec", None)
        if callspec is not None and "tier" in callspec.params:
            item.add_marker("own_tier")
    if hasattr(config, "workerinput"):
        by_length(items)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the expected halves of tests/passes/*/*.core"
    )
