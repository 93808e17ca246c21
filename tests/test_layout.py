"""The order of the rooms: a room imports only rooms above it, a file only files above it in its room.

`ROOMS` is the one place that defines the order. Every import counts, including those inside functions and under TYPE_CHECKING;
only the lazy names of `vlad/__init__.py` are excepted. A second list defines which files may import other packages.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# From the first to the last; a file may import what stands above it or, in its line, before it.
ROOMS = (
    (
        "vlad.control",
        "debug surroundings standard_streams regular_files async_exceptions watcher frame_stack budget safe_import "
        "native_interrupts processors gil_yield",
    ),
    ("vlad.data", "source python_functions values records tensors tables write errors raised devices"),
    ("vlad.reader", "lexer parser"),
    (
        "vlad.core",
        "extents ranges expressions loop_nests nodes names text types type_text machines check passes resolve relink simplify "
        "local_calls cells",
    ),
    (
        "vlad.expand",
        "scope macros normalize record_types patterns arity items expander binding_forms data_forms "
        "conditional_forms control_forms match_forms forms",
    ),
    ("vlad.ad", "stated_tangents vector_space rules tangent_spaces reverse forward control stepping"),
    ("vlad.messages", "other_languages spelling hints"),
    (
        "vlad.primitives",
        "special erfc_tails error_function elementwise type_rules numbers walking ropes data numerals strings arrays "
        "products open_lists shaping tensors indexing reductions sorting linear_algebra determinants decompositions "
        "norms contractions networks random files control references vector_space_types transforms levels continuations "
        "raising reentry checkpointing batches_again batched_records batches workers table_types tables vectors tangent_spaces "
        "reading table",
    ),
    ("vlad.evaluate", "limits code_machine emit_python"),
    ("vlad.evaluate.errors", "tail_calls replay continuations miscounted explain"),
    ("vlad.evaluate", "entries system_procedures transforms machine prompts overtaking"),
    (
        "vlad.compile.ir",
        "refusals program check text parse representation outlines rewriting acting row_loops matrix_products reindex",
    ),
    (
        "vlad.compile.analysis",
        "strategy static_operands trees sizes table_types abstract_interpreter fixpoint specialize",
    ),
    (
        "vlad.compile.passes",
        "dead_code merge_functions merge_unions carried_values congruence inlining common_subexpressions scalar_replacement "
        "thread_cases reboxing "
        "rematerialization step_counts carried_entries peel_loops forwarding ranges fuse_derivatives "
        "fuse_loops row_lanes sparse uniqueness buffer_reuse triangles order",
    ),
    ("vlad.compile.native", "abi call_words reserve cache_folder cache toolchain blas vectors c_extension"),
    ("vlad.compile.runtime", "functions sections"),
    (
        "vlad.compile.loops",
        "ir walking text check values parts lower write_groups lower_parallel scaling divide_once mark_parallel "
        "multiple_accumulators split roots moved blocks vectorize order",
    ),
    (
        "vlad.compile.emit",
        "needs c_numbers c_names c_text loop_text part_functions c_rules blas_calls c_loops loop_functions "
        "lapack_calls facts counters row_threads results sharing definitions c_function places c_unit cuda_loops "
        "host_division cuda_functions row_launches cuda_unit",
    ),
    (
        "vlad.compile.calling",
        "cache_key interface marshal structures fast_call pipeline outside libraries executable code_cache compilation "
        "background compiling_process costs variants preemption effects notices finishing notifier entry_table variant_compiler "
        "variant_runner stages policy",
    ),
    ("vlad.compile.programs", "noting whole uses guards explained check observe build export"),
    (
        "vlad.translate",
        "trees syntax source refusals reads counted wholes heaps nodes names versions decorators nonlocals exchanges "
        "signatures apart guarded_statements guarded_loops handlers defaults default_values collecting joined_arrays "
        "imports named_attributes partial_calls desugar numpy_table arrays known iterations fresh inside expressions formats "
        "turns array_calls subscripts sequence_methods dicts sets module_calls ordering texts constructors records arguments "
        "exceptions partials counting derivatives calls checks effects memos conditions changes packing attempts handing "
        "generators assignments branches loops statements translation",
    ),
    (
        "vlad.python",
        "procedure_docs call_errors handles arrays structures convert places dump load callables differences stating rules host "
        "derivatives batches compiling functions type_words train_log",
    ),
    (
        "vlad.onnx",
        "values shapes attention control images selections operators model translation tangents tracing nodes "
        "derivative_nodes",
    ),
    (
        "vlad.session",
        "library installed session_lock lifecycle asynchronous files calls suggestions repeated top_level examples trying "
        "programs showing namespace functions session parts default models model_export executors parallel "
        "differentiating random own_derivatives checking building compiling survey",
    ),
    ("vlad.manual", "public help"),
    ("vlad.tools", "indentation layout formatting testing doctor new progress"),
    (
        "vlad.debugging",
        "origins frames instrumented retracing tracing stepping finite debugger commands sampling naming profile recording",
    ),
    ("vlad.bridges", "arrays torch jax modules"),
    (
        "vlad.repl",
        "words files lexer structure indentation editing display terminal interrupts knowledge shell history "
        "graph curves drawing pictures window plot sessions command asking measuring looking watching "
        "keeping settings commands startup completion plain prompt loop html notebook kernel kernel_files markdown bindings "
        "colouring checking_process typed_text analysis language_server explorer",
    ),
    ("vlad.bridges", "magic"),
    ("vlad", "command_line command __main__"),
)
ORDER = [f"{room}.{file}" for room, names in ROOMS for file in names.split()]

# Third-party packages, with the only files that may import them.
FOREIGN = {
    "numpy": (
        "vlad.primitives.",
        "vlad.data.tensors",
        "vlad.data.devices",
        "vlad.compile.calling.fast_call",
        "vlad.compile.calling.structures",
        "vlad.compile.native.blas",
        "vlad.compile.native.vectors",
        "vlad.bridges.arrays",
        "vlad.bridges.jax",
        "vlad.onnx.",
    ),
    "onnx": ("vlad.onnx.model",),
    "safetensors": ("vlad.primitives.files",),
    "torch": ("vlad.bridges.torch",),
    "distributed": ("vlad.session.executors",),
    "jax": ("vlad.bridges.jax",),
    "cupy": ("vlad.data.devices",),
    "cupyx": ("vlad.data.devices",),
    "cffi": ("vlad.compile.",),
    "_cffi_backend": ("vlad.compile.",),
    "platformdirs": ("vlad.compile.", "vlad.repl."),
    "pygls": ("vlad.repl.language_server",),
    "lsprotocol": ("vlad.repl.language_server",),
    "ipykernel": ("vlad.repl.kernel",),
    "jupyter_client": ("vlad.repl.kernel_files",),
    "pygments": ("vlad.repl.",),
    "prompt_toolkit": ("vlad.repl.",),
    "matplotlib": ("vlad.repl.pictures", "vlad.repl.window"),
}


def files() -> dict[str, Path]:
    """Every module of the project with its file; `repl/` and `stdlib/` under their installed names."""
    found = {}
    for folder, prefix in (("vlad", "vlad"), ("repl", "vlad.repl"), ("stdlib", "vlad.stdlib")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([prefix, *parts])] = path
    return found


FILES = files()


def imports(module: str) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that a file imports, wherever in it."""
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: -node.level]
                base = ".".join([*above, *base.split(".")]).rstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node.lineno, inner if inner in FILES else base


def programs() -> list[str]:
    return [module for module in FILES if not module.endswith(".__init__")]


def faults(module: str, names: Iterator[tuple[int, str]]) -> list[str]:
    """Imports of a file against the order."""
    above = ORDER[: ORDER.index(module)]
    return [
        f"{module}, line {line}: {name}"
        for line, name in names
        if name.split(".")[0] == "vlad" and name not in above and name != "vlad"
    ]


def test_no_two_test_modules_have_one_name() -> None:
    """pytest imports them by name, and leaves the second one out."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_file_has_its_place() -> None:
    assert sorted(set(programs()) - set(ORDER)) == []
    assert len(set(ORDER)) == len(ORDER)


@pytest.mark.parametrize("module", [module for module in ORDER if module in FILES])
def test_imports_go_upward(module: str) -> None:
    assert faults(module, imports(module)) == []


@pytest.mark.parametrize(
    "name", ["vlad.session.session", "vlad.evaluate.machine", "vlad.core.simplify", "repl.prompt"]
)
def test_the_test_finds_a_wrong_import(name: str) -> None:
    """An import downward is found; the top-level `repl`, which would be a second copy of vlad.repl, is refused below."""
    wrong = faults("vlad.core.nodes", iter([(1, name)]))
    assert bool(wrong) == name.startswith("vlad.")
    assert foreign_faults("vlad.core.nodes", iter([(1, name)])) == (
        [] if wrong else [f"vlad.core.nodes, line 1: {name}"]
    )


def test_the_package_itself_is_imported_for_the_version_only() -> None:
    for module in programs():
        text = FILES[module].read_text(encoding="utf-8")
        if not re.search(r"\bimport vlad\b|\bfrom vlad import\b", text):  # as the formatter writes it
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == "vlad" and not node.level:
                assert [alias.name for alias in node.names] == ["__version__"], module
            assert not (isinstance(node, ast.Import) and any(alias.name == "vlad" for alias in node.names)), (
                module
            )


def test_the_init_files_of_rooms_are_empty() -> None:
    inits = {
        name: path for name, path in FILES.items() if name.endswith(".__init__") and name != "vlad.__init__"
    }
    assert len(inits) >= 8
    assert [name for name, path in inits.items() if path.read_text(encoding="utf-8").strip()] == []


def foreign_faults(module: str, names: Iterator[tuple[int, str]]) -> list[str]:
    """Imports of packages that are neither ours, nor Python's, nor allowed to this file."""
    wrong = []
    for line, name in names:
        package = name.split(".")[0]
        allowed = package == "vlad" or package in sys.stdlib_module_names
        if not allowed and not module.startswith(FOREIGN.get(package, ())):
            wrong.append(f"{module}, line {line}: {name}")
    return wrong


@pytest.mark.parametrize("module", programs())
def test_other_packages_are_used_where_they_belong(module: str) -> None:
    assert foreign_faults(module, imports(module)) == []


def test_ad_names_no_primitive_module() -> None:
    """The transforms identify rows by their contents, not by name: nothing of vlad/primitives is imported there."""
    for module in programs():
        if module.startswith("vlad.ad."):
            assert not any(name.startswith("vlad.primitives") for _, name in imports(module)), module


# Imports each script with the path that `python SCRIPT` has, in a fork of a process in which vlad is loaded already.
LOADING = """
import os, runpy, sys, vlad, numpy, pytest
for script in sys.argv[1:]:
    if os.fork() == 0:
        sys.path[0], sys.argv[1:] = os.path.dirname(script), []
        runpy.run_path(script, run_name="imported")
        sys.stdout.flush()
        os._exit(0)
    if os.wait()[1]:
        print("cannot be loaded:", script)
"""


def test_the_scripts_of_the_tests_find_what_they_import() -> None:
    """Programs that compare tiers for hours are started by hand, as their docstrings say, where pytest adds no path."""
    scripts = [
        str(path)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if not path.name.startswith("test_") and '__name__ == "__main__"' in path.read_text()
    ]
    assert str(ROOT / "tests/compile/mixed_structures.py") in scripts and len(scripts) > 10
    done = subprocess.run([sys.executable, "-c", LOADING, *scripts], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
