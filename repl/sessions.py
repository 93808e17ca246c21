"""A session of the prompt as a text, with its values: `,save FILE.saved`, and `,load` which restores it.

In: a shell.  Out: a text as vlad/python/dump.py writes it, of a list: `HEAD`, the number of the next input, loaded files,
inputs, and pairs of names and values. Definitions of procedures, macros and modules' names are evaluated again from the inputs,
so they keep their source, places, and references to other names. All other computed values, results `_N` too, are saved as
values, and not computed again; expressions evaluated for their effect are not, either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from vlad.data.errors import VladError
from vlad.data.source import Source
from vlad.data.values import String, Value, list_of, look
from vlad.evaluate.limits import deep_recursion
from vlad.python.dump import write_value
from vlad.python.load import read_value
from vlad.reader.parser import Form, Name, Syntax, read

from .shell import Shell

ENDING = ".saved"
HEAD = "session of the prompt, 1"
# forms that are evaluated again, like procedures' definitions
AGAIN = ("define-syntax", "import", "include", "export")


def session_text(shell: Shell) -> str:
    """The text of the session. Raises VladError for a value without a text."""
    values = [(name, shell.session.module.cell(name).value) for name in kept_names(shell)]
    parts = [
        String(HEAD),
        float(shell.number),
        list_of([String(path) for path in shell.loaded]),
        list_of([String(text) for text in shell.inputs]),
        list_of([(String(name), value) for name, value in values]),
    ]
    with shell.session.limited(shell.limits), deep_recursion():
        text: str = shell.session.machine.guarded(lambda: write_value(list_of(parts), shell.session))
        return text + "\n"


def restore(shell: Shell, text: str) -> None:
    """Restore a session into this one. Raises VladError."""
    with shell.session.limited(shell.limits), deep_recursion():
        value = shell.session.machine.guarded(lambda: read_value(text, shell.session))
    parts = elements(value)
    if len(parts) != 5 or not isinstance(parts[0], String) or parts[0].text != HEAD:
        refuse()
    number, loaded, inputs = parts[1], texts(parts[2]), texts(parts[3])
    values = [binding(pair) for pair in elements(parts[4])]
    if not isinstance(number, float):
        refuse()
    for path in loaded:
        with shell.session.limited(shell.limits):
            shell.session.load(path)
    for entered in inputs:
        shell.run(evaluated_again(entered), "<saved input>", lambda value: None)
    for name, bound in values:
        shell.session.bind(name, bound)
        if name[1:].isdigit():
            shell.results.append(name)
    shell.loaded += [path for path in loaded if path not in shell.loaded]
    shell.inputs += inputs
    shell.number = max(shell.number, int(number))


def refuse() -> NoReturn:
    raise VladError("invalid-saved", "No saved session of the prompt", hint="`,save NAME.saved` writes one")


def elements(value: Value) -> list[Value]:
    found = []
    value = look(value)
    while type(value) is tuple and len(value) == 2:
        found.append(look(value[0]))
        value = look(value[1])
    return found


def texts(value: Value) -> list[str]:
    found = []
    for element in elements(value):
        if not isinstance(element, String):
            refuse()
        found.append(element.text)
    return found


def binding(pair: Value) -> tuple[str, Value]:
    """A name and its value."""
    if type(pair) is not tuple or len(pair) != 2 or not isinstance(pair[0], String):
        refuse()
    return pair[0].text, pair[1]


# Which forms are evaluated again, and which names get their values.


def kept_names(shell: Shell) -> list[str]:
    """The names whose values are saved: those computed by an input, and results."""
    again: dict[str, bool] = {}
    for text in shell.inputs:
        for form in forms(text):
            name = defined_by(form)
            if name:
                again[name] = is_evaluated_again(form)
    computed = [name for name in again if not again[name]]
    return [name for name in [*computed, *shell.results, "_"] if name in shell.session]


def forms(text: str) -> Iterator[Syntax]:
    """The forms of an input, including those in `begin`."""
    work: list[Syntax] = read(Source("<saved input>", text))[::-1]
    while work:
        form = work.pop()
        if head(form) == "begin" and isinstance(form, Form):
            work += form.items[:0:-1]
        else:
            yield form


def head(form: Syntax) -> str:
    first = form.items[0] if isinstance(form, Form) and form.items else None
    return first.symbol.name if isinstance(first, Name) else ""


def is_evaluated_again(form: Syntax) -> bool:
    if head(form) != "define":
        return head(form) in AGAIN
    assert isinstance(form, Form)
    return len(form.items) > 1 and (isinstance(form.items[1], Form) or head(form.items[-1]) == "lambda")


def defined_by(form: Syntax) -> str:
    """The name that a form defines; "" for none."""
    if head(form) not in ("define", "define-syntax") or not isinstance(form, Form) or len(form.items) < 2:
        return ""
    target = form.items[1]
    while isinstance(target, Form) and target.items:  # (define ((f x) y) …)
        target = target.items[0]
    return target.symbol.name if isinstance(target, Name) else ""


def evaluated_again(text: str) -> str:
    """An input with only those forms left, each at its place."""
    left = list(text)
    for form in read(Source("<saved input>", text)):
        for at in range(form.span.start, form.span.end):
            left[at] = "\n" if text[at] == "\n" else " "
    for form in forms(text):
        if is_evaluated_again(form):
            left[form.span.start : form.span.end] = form.span.text
    return "".join(left)
