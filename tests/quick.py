"""The tests that `pytest -m quick` runs: some for every part of the project, in less than a minute.

Each entry is a file, or a class, a function or a case in one. Tests here take milliseconds, or cover something
that no other entry covers. conftest.py sets the marker; test_quick.py checks the list.
"""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent

QUICK = (
    "ad/test_derivatives.py::test_reverse_equals_forward_equals_differences",
    "compile/test_cache.py",
    "compile/test_emit_kernels.py::test_as_tier_0",
    "compile/test_expressions.py",
    "compile/test_names.py::test_comments_and_identifiers",
    "compile/test_names.py::test_what_is_shown_is_c",
    "compile/test_toolchain.py::test_a_library_is_built_kept_and_found_again",
    "compile/test_toolchain.py::test_no_compiler",
    "core/test_core.py",
    "debugging/test_retracing.py",
    "debugging/test_tracing.py",
    "embedding/adversary/test_forged.py::test_reading",
    "embedding/test_by_name.py",
    "embedding/test_conversions.py",
    "embedding/test_grad.py",
    "embedding/test_limits.py::test_a_confined_session_reaches_nothing",
    "embedding/test_limits.py::test_output",
    "embedding/test_saving.py::test_procedures",
    "embedding/test_saving.py::test_wrong_texts",
    "embedding/test_typed.py",
    "errors/test_kinds.py",
    "errors/test_misleading_names.py::test_saving_and_loading_keep_it",
    "errors/test_misleading_names.py::test_transforms_keep_it",
    "evaluate/test_environments.py",
    "evaluate/test_machine.py::test_fuel_is_the_same_every_time",
    "evaluate/test_machine.py::test_limits_end_endless_loops",
    "evaluate/test_machine.py::test_mutual_tail_calls_take_no_depth",
    "evaluate/test_room.py",
    "expand/test_core_text.py",
    "expand/test_errors.py",
    "expand/test_macros.py",
    "expand/test_properties.py",
    "language/test_programs.py::test_program[ad/captured.vlad-evaluate]",
    "language/test_programs.py::test_program[ad/values.vlad-evaluate]",
    "language/test_programs.py::test_program[ad/zeros.vlad-evaluate]",
    "language/test_programs.py::test_program[dialect/6-values.vlad-compile]",
    "language/test_programs.py::test_program[expressions/forms.vlad-evaluate]",
    "language/test_programs.py::test_program[tuples/tuples.vlad-compile]",
    "passes/test_passes.py",
    "primitives/test_conventions.py",
    "primitives/test_data.py",
    "primitives/test_products.py",
    "primitives/test_table.py::test_has_every_column",
    "primitives/test_table.py::test_is_total_on_reals",
    "reader/test_reader.py",
    "repl/test_commands.py",
    "repl/test_sessions.py",
    "repl/test_shell.py",
    "repl/test_structure.py",
    "stdlib/test_library.py::test_gradients_agree",
    "stdlib/test_library.py::test_minima_move_by_the_implicit_function_theorem",
    "stdlib/test_library.py::test_rosenbrock",
    "stdlib/test_library.py::test_structures",
    "stdlib/test_library.py::test_third_derivatives_in_all_mixtures",
    "test_command.py::TestExpressions",
    "test_command.py::TestLooking",
    "test_command.py::TestRunning",
    "test_command.py::TestStandardInput",
    "test_command.py::TestStartUp",
    "test_documentation.py::test_every_block_states_its_kind",
    "test_documentation.py::test_every_page_of_the_site_is_in_its_navigation_and_on_its_first_page",
    "test_documentation.py::test_links_lead_somewhere",
    "test_documentation.py::test_the_examples_of_a_page[README.md]",
    "test_documentation.py::test_the_examples_of_a_page[language-tour.md]",
    "test_documentation.py::test_the_examples_of_a_page[tutorial.md]",
    "test_help.py",
    "test_layout.py",
    "test_packaging.py::test_every_folder_is_a_package_of_the_wheel",
    "test_packaging.py::test_how_to_cite_it",
    "test_packaging.py::test_the_first_command_installs_what_users_need",
    "test_quick.py",
    "test_session.py",
    "test_spelling.py",
    "tools/test_format.py::test_layouts",
    "tools/test_testing.py::test_what_passes",
    "translate/test_checking.py",
    "translate/test_python_structures.py::test_values_go_in_and_come_out",
    "translate/test_refusals.py",
)
FILES: dict[Path, list[str]] = {}  # the tests of each file, by the beginnings of their names; "": all of them
for entry in QUICK:
    FILES.setdefault(TESTS / entry.partition("::")[0], []).append(entry.partition("::")[2])


def is_quick(path: Path, name: str) -> bool:
    """Whether a test of a file is one of them. Its name is pytest's after the path."""
    return any(
        not one or name == one or name.startswith((f"{one}::", f"{one}[")) for one in FILES.get(path, ())
    )
