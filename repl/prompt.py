"""The prompt with keys, colours and completion, on prompt-toolkit.

In: keys.  Out: inputs, one after the other, for the shell. editing.py and indentation.py have the effects of keys on a text,
completion.py the completions, words.py the colours; this module connects them to prompt-toolkit, so
that a key costs little however long the text is: a line is tokenised and coloured once.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer, CompletionState
from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    get_common_complete_suffix,
)
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import Condition, emacs_mode, has_focus, is_done, vi_mode
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_bindings import Binding
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.layout.processors import (
    ConditionalProcessor,
    Processor,
    Transformation,
    TransformationInput,
)
from prompt_toolkit.layout.utils import explode_text_fragments
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from .commands import enter
from .completion import candidates
from .editing import EDITS
from .history import HistoryFile, default_path
from .indentation import indentation, indented
from .shell import Leave, Shell, unexpected
from .structure import Outline, Place, is_closing, is_complete, is_opening, line_of
from .words import class_of, expects_name

RAINBOW = 6  # colours of brackets
STYLE = Style.from_dict(
    {
        "vlad.comment": "ansibrightblack italic",
        "vlad.string": "ansigreen",
        "vlad.number": "ansicyan",
        "vlad.boolean": "ansicyan",
        "vlad.operand": "ansiyellow",
        "vlad.keyword": "ansimagenta bold",
        "vlad.builtin": "ansiblue",
        "vlad.defined": "bold",
        "vlad.quote": "ansiyellow",
        "vlad.wrong": "ansired underline",
        "vlad.level0": "ansired",
        "vlad.level1": "ansiyellow",
        "vlad.level2": "ansigreen",
        "vlad.level3": "ansicyan",
        "vlad.level4": "ansiblue",
        "vlad.level5": "ansimagenta",
        "vlad.pair": "bold underline reverse",
        "vlad.prompt": "bold",
    }
)
# Keys of the structural edits: after Escape (or with Alt) in Emacs mode, after Ctrl-X in vi mode.
KEYS = {
    ")": "slurp", "}": "barf", "(": "wrap", "s": "splice", "r": "raise", "c-k": "kill", "c-f": "forward", "c-b": "backward",
    "c-u": "up", "c-d": "down",
}  # fmt: skip
SHORTEST = 2  # characters of a name, before completions are offered automatically


@lru_cache(maxsize=4)
def outline_of(text: str) -> Outline:
    return Outline(text.split("\n"))


@lru_cache(maxsize=4)
def pair_at(text: str, row: int, column: int) -> tuple[Place, Place] | None:
    """The bracket at a place, and its partner; called for each painted line."""
    return outline_of(text).pair(row, column)


class Colours(Lexer):
    """Fragments of a line; computed only for visible lines."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        outline = outline_of(document.text)

        def line(row: int) -> StyleAndTextTuples:
            if row >= len(outline.lines):
                return []
            return coloured(outline.lines[row].text, outline.states[row], outline.depths[row] % RAINBOW)

        return line


@lru_cache(maxsize=5_000)
def coloured(text: str, state: str, depth: int) -> StyleAndTextTuples:
    """The fragments of a line that begins in a state, at a depth."""
    line = line_of(text, state)
    fragments: StyleAndTextTuples = []
    defining = False
    for token in line.tokens:
        word = line.text[token.start : token.end]
        kind = class_of(token.kind, word)
        if is_opening(token, line.text):
            kind, depth = f"level{depth % RAINBOW}", depth + 1
        elif is_closing(token, line.text):
            depth -= 1
            kind = f"level{depth % RAINBOW}"
        elif defining and kind in ("name", "builtin"):
            kind, defining = "defined", False
        elif kind != "space":
            defining = expects_name(kind, word)
        fragments.append((f"class:vlad.{kind}", word))
    return fragments


class Brackets(Processor):
    """Highlights the bracket at the cursor, and its partner."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        document, row = transformation_input.document, transformation_input.lineno
        fragments = transformation_input.fragments
        pair = pair_at(document.text, document.cursor_position_row, document.cursor_position_col)
        columns = [place.column for place in pair or () if place.row == row]
        if columns:
            fragments = explode_text_fragments(fragments)
            for column in columns:
                at = transformation_input.source_to_display(column)
                if at < len(fragments):
                    fragments[at] = (fragments[at][0] + " class:vlad.pair", fragments[at][1])
        return Transformation(fragments)


class Names(Completer):
    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        for candidate in candidates(self.shell, document.text_before_cursor):
            if complete_event.completion_requested or candidate.length >= SHORTEST:
                yield Completion(candidate.text, -candidate.length, display_meta=candidate.beside)


class Past(History):
    """The history of a file for prompt-toolkit, which reads the newest first."""

    def __init__(self, file: HistoryFile) -> None:
        super().__init__()
        self.file = file
        self.newest = ""

    def load_history_strings(self) -> Iterable[str]:
        entries = self.file.load()
        self.newest = entries[-1] if entries else ""
        return reversed(entries)

    def append_string(self, string: str) -> None:
        """Store an input, unless it repeats the previous one or begins with a blank."""
        if string.strip() and string != self.newest and not string.startswith(" "):
            self.newest = string
            super().append_string(string)

    def store_string(self, string: str) -> None:
        self.file.add(string)


class Prompt:
    """Reads inputs. `input` and `output` replace the terminal in tests."""

    def __init__(
        self,
        shell: Shell,
        input: Input | None = None,
        output: Output | None = None,
        history: HistoryFile | None = None,
    ) -> None:
        self.shell = shell
        self.past = Past(history or HistoryFile(default_path()))
        shell.recall = self.recall
        self.session: PromptSession[str] = PromptSession(
            self.message,
            multiline=True,
            lexer=Colours(),
            completer=Names(shell),
            history=self.past,
            key_bindings=bindings(),
            style=STYLE,
            include_default_pygments_style=False,
            enable_history_search=True,
            search_ignore_case=True,
            enable_suspend=input is None,
            enable_open_in_editor=True,
            tempfile_suffix=".vlad",
            input_processors=[ConditionalProcessor(Brackets(), ~is_done)],
            prompt_continuation=lambda width, line, wrapped: " " * width,
            editing_mode=self.mode,
            input=input,
            output=output,
        )
        # prompt-toolkit supports either these or the history by prefix, not both
        self.session.default_buffer.complete_while_typing = Condition(is_newest)
        outlive(self.session.app)

    @property
    def mode(self) -> EditingMode:
        return EditingMode.VI if self.shell.keys == "vi" else EditingMode.EMACS

    def message(self) -> StyleAndTextTuples:
        return [("class:vlad.prompt", f"{self.shell.number}> ")]

    def recall(self, text: str) -> list[str]:
        """The entries of the history that contain a text, oldest first."""
        return [entry for entry in self.past.get_strings() if text in entry]

    def read(self) -> str:
        """The next input. Raises EOFError at Ctrl-D, KeyboardInterrupt at Ctrl-C."""
        self.session.editing_mode = self.mode
        self.session.layout.focus(DEFAULT_BUFFER)  # focus moved, if the last input ended during a search
        text = ""
        while True:
            try:
                with no_full_collections():
                    return self.session.prompt(default=text)
            except (EOFError, KeyboardInterrupt):
                raise
            except Exception as error:  # the text written so far is kept
                text = self.session.default_buffer.text
                self.shell.complain(unexpected(error))


def outlive(app: Application[str]) -> None:
    """Keep errors in key bindings from ending the prompt or printing a Python traceback: in prompt-toolkit's own bindings
    (some of vi's fail if an operand is missing) the key does nothing; in ours the prompt shows the error.
    """
    processor = app.key_processor
    call = processor._call_handler

    def guarded(handler: Binding, key_sequence: list[KeyPress]) -> None:
        try:
            call(handler, key_sequence)
        except Exception as error:
            processor.arg = app.vi_state.operator_func = app.vi_state.operator_arg = None
            if is_of_prompt_toolkit(error):
                app.output.bell()
            else:
                give_up(error)

    def give_up(error: BaseException | None) -> None:
        if app.is_running and not app.is_done:
            app.exit(exception=error or RuntimeError("unknown error"))

    # prompt-toolkit has no public interface for this: an exception in a key binding ends the program with a traceback
    processor._call_handler = guarded  # type: ignore[method-assign]
    app._handle_exception = lambda loop, context: give_up(context.get("exception"))  # type: ignore[method-assign]


def is_of_prompt_toolkit(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("prompt_toolkit.")


@contextmanager
def no_full_collections() -> Iterator[None]:
    """A context in which Python's collector visits young objects only: a full collection takes 30 ms between two keys."""
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, 1_000_000)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)


def is_newest() -> bool:
    """Whether completions may be offered automatically: not while a history entry is shown."""
    buffer = get_app().current_buffer
    return buffer.working_index == len(buffer._working_lines) - 1


def run_prompt(
    shell: Shell, input: Input | None = None, output: Output | None = None, history: HistoryFile | None = None
) -> None:
    """Evaluate inputs until the user leaves."""
    prompt = Prompt(shell, input, output, history)
    while True:
        shell.terminal.fresh_line()
        shell.terminal.flush()
        try:
            text = prompt.read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        shell.interrupts.expect()
        shell.terminal.echoed()
        try:
            enter(shell, text)
        except Leave:
            return


# Keys.


def bindings() -> KeyBindings:
    keys = KeyBindings()
    writing = has_focus(DEFAULT_BUFFER)
    keys.add("enter", filter=writing)(on_enter)
    keys.add("tab", filter=writing)(on_tab)
    keys.add("up", filter=writing & Condition(is_only_offered))(on_up)
    keys.add("escape", "q", filter=writing & emacs_mode)(on_indent)
    keys.add("c-x", "q", filter=writing & vi_mode)(on_indent)
    for key, name in KEYS.items():
        keys.add("escape", key, filter=writing & emacs_mode)(structural(name))
        keys.add("c-x", key, filter=writing & vi_mode)(structural(name))
    return keys


def structural(name: str) -> Callable[[KeyPressEvent], None]:
    """The key binding of a structural edit."""

    def change(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        outline = outline_of(buffer.text)
        lines = buffer.document.lines
        row = min(buffer.document.cursor_position_row, len(lines) - 1)
        first, last = outline.from_form(row), outline.behind_form(row)
        before = "\n".join(lines[:first]) + ("\n" if first else "")
        form = "\n".join(lines[first:last])
        after = buffer.text[len(before) + len(form) :]
        edit = EDITS[name](form, buffer.cursor_position - len(before))
        if edit is None:
            return
        text, at = edit
        if text != form:
            buffer.save_to_undo_stack()
        at = max(0, min(at, len(text)))
        buffer.document = Document(before + text + after, len(before) + at)

    return change


def on_enter(event: KeyPressEvent) -> None:
    """Accept a complete input; else begin a line."""
    buffer = event.current_buffer
    if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
        buffer.complete_state = None
        return
    document = buffer.document
    text = document.text
    is_command = text.lstrip().startswith(",") and "\n" not in text
    is_at_end = document.on_last_line or not document.text_after_cursor.strip()
    if is_command or (is_at_end and is_complete(text)):
        buffer.validate_and_handle()
        return
    new_line(event)


def new_line(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    behind = buffer.document.current_line_after_cursor
    buffer.delete(len(behind) - len(behind.lstrip(" \t")))
    outline = Outline([*buffer.document.text_before_cursor.split("\n"), ""])
    column = indentation(outline, len(outline.lines) - 1)
    buffer.insert_text("\n" + " " * (column or 0))


def is_only_offered() -> bool:
    """Whether completions are shown automatically and none is selected."""
    state = get_app().current_buffer.complete_state
    return state is not None and state.complete_index is None


def on_up(event: KeyPressEvent) -> None:
    """Back in the history: Down and Tab select offered completions."""
    event.current_buffer.complete_state = None
    event.current_buffer.auto_up(event.arg)


def on_tab(event: KeyPressEvent) -> None:
    """Indent a line if the cursor is at its beginning; else complete."""
    buffer = event.current_buffer
    if buffer.complete_state is not None:
        buffer.complete_next()
    elif buffer.document.current_line_before_cursor.strip():
        complete(buffer)
    else:
        row = buffer.document.cursor_position_row
        indent(event, row, row + 1)


def complete(buffer: Buffer) -> None:
    """Insert the common prefix of all completions, or else offer them."""
    asked = CompleteEvent(completion_requested=True)
    found = list(buffer.completer.get_completions(buffer.document, asked))
    common = get_common_complete_suffix(buffer.document, found)
    if len(found) == 1:
        buffer.apply_completion(found[0])
    elif common:
        buffer.insert_text(common)
    elif found:
        buffer.complete_state = CompletionState(buffer.document, found)
        buffer.on_completions_changed.fire()


def on_indent(event: KeyPressEvent) -> None:
    """Indent the form around the cursor."""
    buffer = event.current_buffer
    outline = outline_of(buffer.text)
    row = buffer.document.cursor_position_row
    indent(event, outline.from_form(row), outline.behind_form(row))


def indent(event: KeyPressEvent, first: int, last: int) -> None:
    buffer = event.current_buffer
    document = buffer.document
    lines = indented(document.lines, first, last, document.cursor_position_row)
    row, old = document.cursor_position_row, document.current_line
    moved = len(lines[row]) - len(old)
    blank = len(lines[row]) - len(lines[row].lstrip(" \t"))
    column = max(
        document.cursor_position_col + moved, blank if not old.strip() or lines[row] != old else 0, 0
    )
    at = sum(len(line) + 1 for line in lines[:row]) + min(column, len(lines[row]))
    buffer.document = Document("\n".join(lines), at)
