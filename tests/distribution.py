"""How pytest-xdist distributes the tests to its processes: files as a whole, the longest first; one message for each test.

Used by conftest.py. For 17,000 tests, the six messages about each, and searches in the list of all tests, took longer than many
files of tests.
"""

from __future__ import annotations

import pickle
from bisect import bisect
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

# The files that take longest, the longest first.
LONGEST = [
    "test_programs.py", "test_tensors.py", "test_adversary.py", "test_translated.py", "test_examples.py", "test_tiers.py",
    "test_forged.py", "test_cuda.py", "test_auto.py", "test_optimizers.py", "test_documentation.py", "test_owned.py",
    "test_library.py", "test_packaging.py", "test_several_shapes.py", "test_arrays.py", "test_cuda_programs.py",
    "test_compiling_process.py", "test_tensor_programs.py", "test_tensor_derivatives.py", "test_scheme_programs.py",
    "test_structures.py", "test_sizes.py", "test_values_in_c.py", "test_saving.py", "test_checkpointed.py", "test_cuda_rows.py",
    "test_terminal.py", "test_read_back.py", "test_matrices.py", "test_accuracy.py", "test_onnx.py", "test_recurrences.py",
    "test_fourier.py", "test_analysis.py", "test_mixed_structures.py", "test_matrix_functions.py", "test_host.py",
    "test_host_rules.py", "test_calls_in_c.py", "test_memory.py", "test_command.py", "test_known_zeros.py",
    "test_machine.py", "test_interrupts.py",
    "test_range.py", "test_life.py", "test_trees.py", "test_addresses.py", "test_kernels.py", "test_jacobians.py",
    "test_guards.py", "test_mutations.py", "test_gradbench.py", "test_surroundings.py", "test_threads.py", "test_strings.py",
    "test_tensor_kinds.py", "test_depth.py", "test_functions.py", "test_numbers_of_arguments.py", "test_limits.py",
    "test_parallel.py", "test_prompt.py", "test_complexity.py", "test_aliases.py", "test_everyday_arrays.py", "test_plots.py",
    "test_cells.py", "test_screens.py", "test_dask.py", "test_differentiable_curry.py", "test_emit_kernels.py",
    "test_lengths.py", "test_whole.py", "test_raising.py",
]  # fmt: skip


def begin_elsewhere(config: pytest.Config) -> None:
    """Let each worker collect the files of tests from another one on: in a new checkout each of them rewrites and compiles its
    part of the files, and reads what the others have written. (`by_length` gives all the same order of tests.)
    """
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths") or config.option.markexpr == "quick":
        return
    files = sorted(
        file for folder in config.args for file in Path(config.rootpath, folder).rglob("test_*.py")
    )
    ends = list(accumulate(file.stat().st_size for file in files))
    share = int(worker["workerid"].removeprefix("gw")) / worker["workercount"]
    first = bisect(ends, share * ends[-1])
    config.args = [str(file) for file in files[first:] + files[:first]]


def by_length(items: list[pytest.Item]) -> None:
    """Several processes begin with the files that take longest, lest one of them is the last to end."""
    rank = {name: place for place, name in enumerate(LONGEST)}
    number = Counter(item.path for item in items)
    items.sort(key=lambda item: (rank.get(item.path.name, len(rank)), -number[item.path], item.path))


class _Collection(list[str]):
    """The tests that a process has collected; the place of each is looked up."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self._places = {name: place for place, name in enumerate(names)}

    def index(self, name: str, *bounds: Any) -> int:
        return self._places[name]


class ByFile(LoadGroupScheduling):  # type: ignore[misc]
    """The tests of a group, or else of a file, run in one process, as they share fixtures, caches and expected results. When
    they were spread over three processes, they took a quarter more time.
    """

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        return group.partition("::")[0] if group == nodeid else group

    def add_node_collection(self, node: WorkerController, collection: list[str]) -> None:
        super().add_node_collection(node, _Collection(collection))
        if node in self.registered_collections:
            self.registered_collections[node] = _Collection(collection)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """The number of tests left. Files that have ended are forgotten: this is called after each test."""
        for file in [file for file, tests in workload.items() if all(tests.values())]:
            del workload[file]
        pending: int = super()._pending_of(workload)
        return pending


BATCHED = {"logstart", "logfinish", "testreport", "warning_recorded"}  # events while a test runs
BATCH = "batch"


class Batches:
    """In place of a worker's `sendevent`: sends the events of each test together, when it has ended."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel
        self.events: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, name: str, **details: Any) -> None:
        self.events.append((name, details))
        if name not in BATCHED:
            events, self.events = self.events, []
            # pickled, as execnet's own format is written and read in Python
            self.channel.send((BATCH, {"events": pickle.dumps(events)}) if len(events) > 1 else events[0])


def send_in_batches(config: pytest.Config) -> None:
    """Let a worker send batches. (If tests are named as they begin, with -v, they are named at once.)"""
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor" and config.get_verbosity() <= 0:
            plugin.sendevent = Batches(plugin.channel)


_process = WorkerController.process_from_remote


def _process_batch(self: WorkerController, event: Any) -> None:
    if isinstance(event, tuple) and event[0] == BATCH:
        for single in pickle.loads(event[1]["events"]):
            _process(self, single)
    else:
        _process(self, event)


WorkerController.process_from_remote = _process_batch
