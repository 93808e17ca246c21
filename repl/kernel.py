"""A kernel for Jupyter: `python -m vlad.repl.kernel -f CONNECTION`, which Jupyter runs for notebooks in vlad.

In: Jupyter's messages, as ipykernel's `Kernel` takes them apart.  Out: their replies, from notebook.py.
https://jupyter-client.readthedocs.io/en/stable/messaging.html defines both. `vlad kernel install` (kernel_files.py) tells
Jupyter of it.
"""

from __future__ import annotations

import sys
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

from vlad import __version__
from vlad.session.session import Session

from .history import HistoryFile, default_path
from .notebook import Bundle, Notebook, state_of
from .shell import Leave
from .terminal import Terminal

EARLIER, PRESENT = 0, 1  # sessions, as histories number them


class VladKernel(Kernel):
    implementation, implementation_version = "vlad", __version__
    banner = f"vlad {__version__}: a language in which differentiation is an operator like any other"
    language_info = {
        "name": "vlad",
        "version": __version__,
        "mimetype": "text/x-scheme",
        "file_extension": ".vlad",
        "pygments_lexer": "vlad",
        "codemirror_mode": "scheme",
    }
    help_links = []

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # ipykernel sends what is written to this, from a thread of its own
        self.notebook = Notebook(self.session_of, Terminal(sys.stdout), self.publish, self.publish_progress)
        self.notebook.read = self.line
        self.file = HistoryFile(default_path())
        self.earlier = self.file.load()
        self.cells: list[tuple[int, str, str]] = []  # number, text, and result of each

    def set_parent(self, ident: Any, parent: Any, channel: str = "shell") -> None:
        """A request comes in; what is written from now on belongs to it."""
        super().set_parent(ident, parent, channel)
        if channel == "shell":
            for stream in (sys.stdout, sys.stderr):
                if hasattr(stream, "set_parent"):  # a stream of ipykernel's
                    stream.set_parent(parent)

    def session_of(self, write: Any) -> Session:
        return Session(write=write, read=self.line)

    def line(self) -> str:
        """A line from the user, or "" where a frontend cannot ask for one."""
        if not self._allow_stdin:
            return ""
        self.notebook.terminal.flush()
        return str(self.raw_input("")) + "\n"

    def publish(self, bundle: Bundle, is_result: bool) -> None:
        content: dict[str, Any] = {"data": bundle, "metadata": {}}
        if is_result:
            content["execution_count"] = self.execution_count
            self.result = bundle["text/plain"]
        self.send_response(self.iopub_socket, "execute_result" if is_result else "display_data", content)

    def publish_progress(self, text: str, first: bool) -> None:
        if not text:
            self.send_response(self.iopub_socket, "clear_output", {"wait": False})
            return
        place = {"display_id": f"vlad-progress-{self.execution_count}"}
        content = {"data": {"text/plain": text}, "metadata": {}, "transient": place}
        self.send_response(self.iopub_socket, "display_data" if first else "update_display_data", content)

    # Messages.

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, Any] | None = None,
        allow_stdin: bool = False,
        *,
        cell_meta: Any = None,
        cell_id: str | None = None,
    ) -> dict[str, Any]:
        self._allow_stdin, self.result = allow_stdin, ""  # which `raw_input` asks for
        payload: list[dict[str, Any]] = []
        failure = None
        try:
            failure = self.notebook.execute(code, self.execution_count, silent)
        except Leave:
            self.notebook.remark(
                "a notebook's kernel is ended, or started anew, by its menu; a console ends now"
            )
            self.notebook.terminal.flush()
            payload.append({"source": "ask_exit", "keepkernel": False})
        if store_history and not silent and code.strip():
            self.cells.append((self.execution_count, code, self.result))
            self.file.add(code)
        count = {"execution_count": self.execution_count}
        if failure is None:
            return {"status": "ok", **count, "payload": payload, "user_expressions": {}}
        error = {"ename": failure.kind, "evalue": failure.message, "traceback": failure.lines}
        if not silent:
            self.send_response(self.iopub_socket, "error", error)
        return {"status": "error", **count, **error}

    async def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        found = self.notebook.candidates(code[:cursor_pos])
        start = cursor_pos - found[0].length if found else cursor_pos
        kinds = [
            {"text": one.text, "type": "function", "start": start, "end": cursor_pos, "signature": one.beside}
            for one in found
        ]
        return {
            "status": "ok",
            "matches": [one.text for one in found],
            "cursor_start": start,
            "cursor_end": cursor_pos,
            "metadata": {"_jupyter_types_experimental": kinds},
        }

    async def do_inspect(
        self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()
    ) -> dict[str, Any]:
        text = self.notebook.explained(code, cursor_pos)
        data = {} if text is None else {"text/plain": text}
        return {"status": "ok", "found": text is not None, "data": data, "metadata": {}}

    async def do_is_complete(self, code: str) -> dict[str, Any]:
        state, indent = state_of(code)
        return {"status": state, "indent": indent} if state == "incomplete" else {"status": state}

    async def do_history(
        self,
        hist_access_type: str,
        output: bool,
        raw: bool,
        session: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        n: int | None = None,
        pattern: str | None = None,
        unique: bool = False,
    ) -> dict[str, Any]:
        cells = [(EARLIER, number, text, "") for number, text in enumerate(self.earlier, 1)]
        cells += [(PRESENT, *cell) for cell in self.cells]
        if hist_access_type == "range":
            # 0 is the present one, and negative ones count back from it
            wanted = PRESENT if session in (None, 0, PRESENT) else EARLIER
            cells = [cell for cell in cells if cell[0] == wanted and (start or 0) <= cell[1]]
            cells = [cell for cell in cells if stop is None or cell[1] < stop]
        else:
            if hist_access_type == "search":
                matches = glob(pattern or "*")
                cells = [cell for cell in cells if matches(cell[2])]
            if unique:
                cells = list({cell[2]: cell for cell in cells}.values())
            cells = cells[-n:] if n else cells
        found = [(of, number, (text, result) if output else text) for of, number, text, result in cells]
        return {"status": "ok", "history": found}


def glob(pattern: str) -> Any:
    """Does a text match a pattern with * and ? ?"""
    import re
    from fnmatch import translate

    return re.compile(translate(pattern)).match


def main() -> None:
    IPKernelApp.launch_instance(kernel_class=VladKernel)


if __name__ == "__main__":
    main()
