"""The Jupyter kernel: by jupyter_kernel_test, which is Jupyter's own test of kernels, and by notebooks as nbclient runs them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import command

jupyter_kernel_test = pytest.importorskip("jupyter_kernel_test", reason="pip install -e '.[test]'")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

ROOT = Path(__file__).parent.parent.parent
# jupyter_client leaves sockets and loops to the collector
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.xdist_group("jupyter")]


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kernel is installed where Jupyter looks for it."""
    folder = tmp_path_factory.mktemp("jupyter")
    done = command("kernel", "install", "--prefix", folder)
    assert done.stdout == f"installed: {folder}/share/jupyter/kernels/vlad\n", done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder / "share" / "jupyter"))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        patch.setenv("VLAD_HISTORY", "")
        patch.setenv(
            "PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        )
        yield folder


class TestKernel(jupyter_kernel_test.KernelTests):  # type: ignore[name-defined, misc]
    kernel_name = language_name = "vlad"
    file_extension = ".vlad"
    code_hello_world = '(begin (display "hello, world") (newline))'
    completion_samples = [
        {"text": "(gradient-d", "matches": {"gradient-descent"}},
        {"text": "(let ((velocity 3)) (* velo", "matches": {"velocity"}},
        {"text": ",prof", "matches": {"profile"}},
    ]
    complete_code_samples = ["(+ 1 2)", "1 2", ",doc car", "; a comment", ""]
    incomplete_code_samples = ["(define (f x)", '"abc', "(+ 1 #|"]
    invalid_code_samples = ["(+ 1))", "(1 . 2 3)"]
    code_generate_error = "(car 5)"
    code_execute_result = [
        {"code": "(+ 1 2)", "result": "3"},
        {"code": "#[[1 2] [3 4]]", "result": "#[[1 2] [3 4]]  ; tensor of 2×2 float64"},
        {"code": "#[[1 2] [3 4]]", "mime": "text/html"},
        {"code": "(lambda (x) x)", "mime": "text/html"},
    ]
    code_display_data = [{"code": ",plot sin 0 6", "mime": "image/svg+xml"}]
    code_inspect_sample = "(fold + 0 "
    code_history_pattern = "(+*"
    supported_history_operations = ("tail", "range", "search")

    def outputs(self, code: str, **options: Any) -> list[tuple[str, Any]]:
        self.flush_channels()
        _, messages = self.execute_helper(code, **options)
        return [(message["msg_type"], message["content"]) for message in messages]

    def test_an_error_has_place_line_and_hint(self) -> None:
        ((kind, error),) = self.outputs("(define (f l)\n  (lenght l))\n(f '(1))")
        assert kind == "error" and error["ename"] == "unbound-variable"
        first, *others = error["traceback"]
        assert re.fullmatch(r"<input \d+>:2:4: Error: Unbound variable: lenght", first)
        assert "  hint: did you mean `length`?" in others and "Traceback" not in "".join(others)

    def test_values_output_and_remarks_are_in_order(self) -> None:
        found = self.outputs('(+ 1 2) (display "a") (* 2 3) (define (f x) x) f')
        texts = [content.get("text") or content["data"]["text/plain"] for _, content in found]
        assert texts[:3] == ["3", "a\n", "6"] and texts[3].startswith("f  ; procedure (f x), <input ")
        assert "<code>(f x)</code>" in found[3][1]["data"]["text/html"]

    def test_the_last_value_has_a_name(self) -> None:
        self.outputs("(* 6 7)")
        assert self.outputs("(+ _ 1)")[0][1]["data"]["text/plain"] == "43"

    def test_a_name_is_explained_where_the_cursor_is(self) -> None:
        for text, at, found in (("(fold + 0 l)", 2, "(fold f start l)"), ("(map car (", 10, "(map f l")):
            self.kc.inspect(text, at)
            reply = self.get_non_kernel_info_reply()["content"]
            assert reply["found"] and reply["data"]["text/plain"].startswith(found)
        self.kc.inspect("nothing-such", 3)
        assert not self.get_non_kernel_info_reply()["content"]["found"]

    def test_the_next_line_of_a_form_is_indented(self) -> None:
        self.kc.is_complete("(define (f x)")
        assert self.get_non_kernel_info_reply()["content"] == {"status": "incomplete", "indent": "  "}

    def test_an_interrupt_ends_the_cell_only(self) -> None:
        self.outputs("(define kept 5)")
        number = self.kc.execute("(let loop ((i 0)) (loop (+ i 1)))")
        time.sleep(0.5)
        self.km.interrupt_kernel()
        reply = self.get_non_kernel_info_reply(timeout=15)
        assert reply["parent_header"]["msg_id"] == number and reply["content"]["ename"] == "interrupted"
        assert self.outputs("kept")[0][1]["data"]["text/plain"] == "5"

    def test_a_program_reads_from_the_frontend(self) -> None:
        self.flush_channels()
        self.kc.execute("(* 2 (read-real))", allow_stdin=True)
        assert self.kc.get_stdin_msg(timeout=15)["msg_type"] == "input_request"
        self.kc.input("21")
        assert self.get_non_kernel_info_reply(timeout=15)["content"]["status"] == "ok"
        self.kc.execute("(read-real)", allow_stdin=False)
        error = self.get_non_kernel_info_reply(timeout=15)["content"]
        assert error["status"] == "error" and "The input has ended" in "".join(error["traceback"])

    def test_commands_of_the_prompt(self) -> None:
        assert "Sine of x" in self.outputs(",doc sin")[0][1]["text"]
        ((kind, error),) = self.outputs(",plto sin")
        assert kind == "error" and "did you mean `,plot`" in "".join(error["traceback"])

    def test_other_programs_have_no_terminal(self) -> None:
        self.outputs("(define (f x) x)")
        ((kind, error),) = self.outputs(",edit f")
        assert kind == "error" and "An editor needs a terminal: `,edit` is for the prompt" in error["evalue"]
        ((_, stream),) = self.outputs(",shell cat; echo there; exit 3")
        assert stream["text"] == "there\n; status 3\n"
        ((_, stream),) = self.outputs(",quit")
        assert "a notebook's kernel is ended, or started anew, by its menu" in stream["text"]

    def test_large_tensors_are_cut_and_deep_ones_are_several_tables(self) -> None:
        ((_, content),) = self.outputs("(ones '(100 50))")
        html = content["data"]["text/html"]
        assert html.count("<tr>") == 21 and html.count("<td>") == 21 * 13 and "100×50" in html
        ((_, content),) = self.outputs("(ones '(3 2 2 2))")
        html = content["data"]["text/html"]
        assert html.count("<table>") == 4 and "[1 1]" in html and "… 2 more" in html


def executed(cells: list[Any]) -> Any:
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(notebook, timeout=60, kernel_name="vlad")
    client.execute()
    return notebook


def shown(cell: Any) -> list[str]:
    """What a cell shows, as text."""
    return [output.get("text") or output["data"]["text/plain"] for output in cell.get("outputs", ())]


def test_the_example_runs_and_shows_what_it_has_stored() -> None:
    stored = nbformat.read(ROOT / "examples" / "notebooks" / "first-steps.ipynb", as_version=4)
    nbformat.validate(stored)
    before = [shown(cell) for cell in stored.cells]
    for cell in stored.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    assert [shown(cell) for cell in executed(stored.cells).cells] == before
    assert sum(map(len, before)) >= 9


def test_run_all_stops_at_the_cell_that_fails() -> None:
    cells = [nbformat.v4.new_code_cell(text) for text in ("(display 1)", "(car 5)", "(display 3)")]
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="Argument to car is invalid"):
        executed(cells)
    assert shown(cells[0]) == ["1\n"] and cells[1].outputs[0]["ename"] == "invalid-argument"
    assert cells[2].get("outputs", []) == []


def test_the_command_installs_and_removes(tmp_path: Path) -> None:
    environment = {**os.environ, "JUPYTER_DATA_DIR": str(tmp_path), "JUPYTER_PATH": ""}
    done = command("kernel", "install", environment=environment)
    assert done.stdout == f"installed: {tmp_path}/kernels/vlad\n"
    assert (tmp_path / "kernels" / "vlad" / "kernel.json").exists()
    assert (
        command("kernel", "uninstall", environment=environment).stdout
        == f"removed: {tmp_path}/kernels/vlad\n"
    )
    again = command("kernel", "uninstall", environment=environment)
    assert again.returncode == 1 and again.stderr.startswith("Error: Jupyter knows no kernel of vlad")
    (tmp_path / "file").write_text("")
    refused = command("kernel", "install", "--prefix", tmp_path / "file")
    assert refused.returncode == 1 and refused.stderr.startswith("Error: Cannot write: ")
    assert "takes `install` or `uninstall`" in command("kernel").stderr
    assert command("kernel", "install", "--prefix", tmp_path).returncode == 0
    done = command("kernel", "uninstall", "--prefix", tmp_path)
    assert done.stdout == f"removed: {tmp_path}/share/jupyter/kernels/vlad\n"
    again = command("kernel", "uninstall", "--prefix", tmp_path)
    assert again.returncode == 1 and again.stderr.startswith(
        f"Error: There is no kernel of vlad in {tmp_path}\n"
    )
