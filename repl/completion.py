"""Completion of a text being written: names, locals of the open forms, modules, files, commands.

In: the shell, and the text before the cursor.  Out: candidates, the likeliest first. prompt.py shows them; independent of
prompt-toolkit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vlad.data.write import written
from vlad.reader.lexer import tokens
from vlad.session.session import Session

from .command import COMMAND_NAMES, FILES, MODULES, WORDS
from .commands import COMMANDS
from .editing import Node, around, tree
from .knowledge import beside, keywords_of, names
from .shell import Shell
from .structure import Outline

MOST = 60  # candidates
_WORD = re.compile(r"""[^\s()\[\]"';`,|]*$""")
_QUESTION = re.compile(r"\s*\?\s*([^\s()\[\]\"';`,]*)$")
_COMMAND = re.compile(r"\s*,([\w-]*)$")
_COMMAND_AND_ARGUMENT = re.compile(r"\s*,([\w-]+)\s+(.*)$", re.DOTALL)
_MODULE_FORM = re.compile(r'\(\s*(import|include)\s*"[^"]*$')
PATTERN_WORDS = frozenset(["list", "cons", "cons*", "."])
BINDING_LISTS = frozenset(["let", "let*", "letrec", "letrec*", "do", "let-syntax", "letrec-syntax"])


@dataclass(frozen=True)
class Candidate:
    """`text` would replace the last `length` characters; `beside` describes it."""

    text: str
    length: int
    beside: str = ""


def candidates(shell: Shell, before: str) -> list[Candidate]:
    """The completions of the text before the cursor."""
    partial = _COMMAND.match(before)
    if partial is not None:
        return _matching(partial.group(1), ((name, COMMANDS[name].doc) for name in COMMANDS))
    question = _QUESTION.match(before)
    if question is not None:
        return _names(shell.session, question.group(1))
    full = _COMMAND_AND_ARGUMENT.match(before)
    if full is not None:
        found = [each for name, each in COMMANDS.items() if name.startswith(full.group(1))]
        takes = found[0].takes if len(found) == 1 or (found and found[0].name == full.group(1)) else ""
        special = _argument(shell, takes, found[0].words, full.group(2)) if takes else []
        return special if special is not None else in_program(shell.session, full.group(2))
    return in_program(shell.session, before)


def _argument(shell: Shell, takes: str, words: tuple[str, ...], text: str) -> list[Candidate] | None:
    """The completions of a command's operand; None if that is a program."""
    if takes == WORDS:
        return _matching(text, ((word, "") for word in words))
    if takes == COMMAND_NAMES:
        return _matching(text.removeprefix(","), ((name, each.doc) for name, each in COMMANDS.items()))
    if takes == MODULES:
        return _matching(text.strip('"'), modules(shell.session))
    return _files(text.strip('"')) if takes == FILES else None


def _matching(prefix: str, offered: Iterable[tuple[str, str]]) -> list[Candidate]:
    return [Candidate(word, len(prefix), beside) for word, beside in offered if word.startswith(prefix)][
        :MOST
    ]


# Programs.


def in_program(session: Session, before: str) -> list[Candidate]:
    """The completions of the text of a program before the cursor."""
    lines = before.split("\n")
    outline = Outline(lines)
    form = "\n".join(lines[outline.from_form(len(lines) - 1) :])
    last = None
    for token in tokens(form):
        last = token
    if last is not None and last.kind == "open-string":
        inside = form[last.start + 1 :]
        if _MODULE_FORM.search(form):
            return [*_matching(inside, modules(session)), *_files(inside, ".vlad")]
        return _files(inside)
    if last is not None and (
        last.kind == "open-comment" or (last.kind == "comment" and "\n" not in form[last.start :])
    ):
        return []
    word = _WORD.search(before)
    prefix = "" if word is None else word.group()
    if prefix.startswith("#"):
        return _keywords(session, form, prefix)
    return [*_locals(form, prefix), *_names(session, prefix)][:MOST]


def _keywords(session: Session, form: str, prefix: str) -> list[Candidate]:
    """The operands by name that the call around the end of a text takes and does not have yet."""
    call = around(tree(form), len(form) - len(prefix))
    given = [_text(form, child) for child in call.children]
    takes = keywords_of(session, given[0]) if given else {}
    return _matching(
        prefix,
        (
            (f"#:{name}", f"default {written(value)}")
            for name, value in takes.items()
            if f"#:{name}" not in given
        ),
    )


def _locals(form: str, prefix: str) -> list[Candidate]:
    own = [name for name in locals_of(form) if name.startswith(prefix) and name != prefix]
    return [Candidate(name, len(prefix), "local") for name in own]


def _names(session: Session, prefix: str) -> list[Candidate]:
    every = [name for name in names(session) if not name.startswith("%")]
    found = [name for name in every if name.startswith(prefix)]
    if not found and len(prefix) > 1:
        found = [name for name in every if prefix in name]
    return [Candidate(name, len(prefix), beside(session, name)) for name in found[:MOST]]


def locals_of(form: str) -> list[str]:
    """The names that the forms around the end of a text bind, the innermost first."""
    return list(dict.fromkeys([_text(form, node) for node in binders(form, len(form))]))


def binders(form: str, at: int, root: Node | None = None) -> Iterator[Node]:
    """Where the forms around a position bind names, the innermost first. `root`: the form's tree, if it is known."""
    node: Node | None = around(root or tree(form), at)
    while node is not None:
        yield from _bound(form, node, at)
        node = node.above


def _bound(text: str, node: Node, at: int) -> Iterator[Node]:
    """The names that a form, which may be unfinished, binds for a position in it."""
    children = node.children
    head = _text(text, children[0]) if children else ""
    if head in ("lambda", "define") and len(children) > 1:
        yield from _atoms(text, children[1])
    elif head in BINDING_LISTS and len(children) > 1:
        if children[1].inside < 0:
            yield children[1]
            children = children[1:]
        for binding in _visible(head, children[1].children, at) if len(children) > 1 else ():
            if binding.children:
                yield from _atoms(text, binding.children[0])
    for child in children:
        if len(child.children) > 1 and _text(text, child.children[0]) == "define" and node.above is not None:
            yield from list(_atoms(text, child.children[1]))[:1]


def _visible(head: str, bindings: list[Node], at: int) -> list[Node]:
    """The bindings whose names hold at a position: in their own values, those of `let` and `do` do not, and of `let*` the earlier
    ones."""
    for number, binding in enumerate(bindings):
        if binding.start < at <= binding.end and binding.children:
            pattern, *values = binding.children
            if at <= pattern.end:
                return [binding]
            is_step = head == "do" and len(values) > 1 and at >= values[1].start
            if head not in ("letrec", "letrec*", "letrec-syntax") and not is_step:
                return bindings[:number] if head == "let*" else []
    return bindings


def _text(text: str, node: Node) -> str:
    return text[node.start : node.end]


def _atoms(text: str, node: Node) -> Iterator[Node]:
    """The names in a parameter list or pattern."""
    work = [node]
    while work:
        item = work.pop()
        if item.inside < 0:
            name = _text(text, item)
            if name not in PATTERN_WORDS and not name[:1].isdigit() and name[:1] not in "\"#'":
                yield item
        work += reversed(item.children)


# Files.


def modules(session: Session) -> list[tuple[str, str]]:
    """The modules that can be imported by name, with their folders."""
    found: dict[str, str] = {}
    for folder in ("", *session.path, session._library.folder):
        for name in sorted(_listed(folder or ".")):
            if name.endswith(".vlad"):
                found.setdefault(name.removesuffix(".vlad"), folder or "here")
    library = session._library.folder
    return [(name, "library" if folder == library else folder) for name, folder in found.items()]


def _files(text: str, ending: str = "") -> list[Candidate]:
    """Files whose paths begin with a text."""
    folder, prefix = os.path.split(text)
    found = []
    for name in sorted(_listed(os.path.expanduser(folder) or ".")):
        if name.startswith(prefix) and (prefix.startswith(".") or not name.startswith(".")):
            path = os.path.join(os.path.expanduser(folder), name)
            if os.path.isdir(path):
                found.append(Candidate(name + "/", len(prefix), "folder"))
            elif name.endswith(ending):
                found.append(Candidate(name, len(prefix), "file"))
    return found[:MOST]


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (OSError, ValueError):
        return []
