"""The commands of the prompt: `,name` and what follows.

In: a line, and the shell it was entered in.  Out: what the command writes. `COMMANDS` is the one table; `,help` prints it, and
completion reads from it what may follow a command. A command raises VladError for what is wrong; the shell says it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass

from vlad.compile.tiers import POLICIES
from vlad.devices import DEVICES, device_named
from vlad.errors import VladError, WrongOption
from vlad.evaluate.limits import Limits
from vlad.help import KINDS, Entry, is_elsewhere, lines_of, told
from vlad.hints import hint_for
from vlad.primitives.table import TABLE
from vlad.reader.parser import read
from vlad.source import Source
from vlad.values import Value, is_procedure
from vlad.write import string_text

from .files import write_text
from .knowledge import first_sentence, known, names
from .shell import Leave, Shell
from .structure import is_blank

NAMES, FILES, MODULES, WORDS, COMMAND_NAMES, EXPRESSION, NOTHING = (
    "names", "files", "modules", "words", "commands", "expression", "",
)  # fmt: skip
# What people type who come from other prompts, unless the program has such a name.
LEAVING = ("exit", "quit", "(exit)", "(quit)", "exit()", "quit()")
HELPING = ("help", "(help)", "help()", "?")
MOST_FOUND = 40  # names that apropos shows


@dataclass(frozen=True)
class Command:
    """`operands` as people read them; `takes` is what completion offers behind the name: one of the kinds above, or words."""

    name: str
    operands: str
    doc: str
    run: Callable[[Shell, str], None]
    takes: str
    words: tuple[str, ...]
    more: str

    @property
    def usage(self) -> str:
        return f",{self.name} {self.operands}".rstrip()


COMMANDS: dict[str, Command] = {}
Run = Callable[[Shell, str], None]


def command(
    name: str, operands: str, doc: str, takes: str = EXPRESSION, words: tuple[str, ...] = (), more: str = ""
) -> Callable[[Run], Run]:
    def add(run: Run) -> Run:
        COMMANDS[name] = Command(name, operands, doc, run, takes, words, more)
        return run

    return add


def enter(shell: Shell, text: str) -> bool:
    """Do what an input asks for: a command, or forms to evaluate. Did all go well? Raises Leave."""
    stripped = text.strip()
    if not stripped or is_blank(stripped):
        return True
    if stripped in (*LEAVING, *HELPING) and stripped.strip("()") not in shell.session:
        if stripped in LEAVING:
            raise Leave
        stripped = ",help"
    if not stripped.startswith(","):
        return shell.evaluate(text)
    return shell.attempt(lambda: run(shell, stripped))


def run(shell: Shell, text: str) -> None:
    """Run a command. Raises VladError."""
    name, _, argument = text[1:].partition(" ")
    found_command(shell, name.strip()).run(shell, argument.strip())


def found_command(shell: Shell, name: str) -> Command:
    """The command of a name, or of the beginning of one. Raises VladError."""
    if name in COMMANDS:
        return COMMANDS[name]
    near = beginning_with(name)
    if len(near) == 1:
        return COMMANDS[near[0]]
    import difflib  # 5 ms, only for an error

    if not near and name and known(shell.session, name) is not None:
        near = [f"doc {name}"]
    near = near or difflib.get_close_matches(name, list(COMMANDS), 3, 0.5)
    hint = (
        f"did you mean {' or '.join('`,' + other + '`' for other in near)}?" if near else "`,help` lists them"
    )
    raise VladError("invalid-command", f"There is no command `,{name}`", hint=hint)


def beginning_with(text: str) -> list[str]:
    """The commands whose names begin with a text."""
    return [name for name in COMMANDS if text and name.startswith(text)]


def needs(argument: str, name: str) -> str:
    """The argument, if there is one. Raises VladError."""
    if not argument:
        raise VladError("invalid-command", f"`,{name}` needs more", hint=f"write {COMMANDS[name].usage}")
    return argument


# Getting help.


@command("help", "[COMMAND]", "list the commands, or say more about one", COMMAND_NAMES)
def _help(shell: Shell, argument: str) -> None:
    if argument:
        if not argument.startswith(",") and not beginning_with(argument) and known(shell.session, argument):
            _doc(shell, argument)
            return
        found = found_command(shell, argument.removeprefix(","))
        lines = [found.usage, f"  {found.doc}", *[f"  {line}" for line in found.more.split("\n") if line]]
        shell.terminal.line("\n".join(lines))
        return
    width = max(len(each.usage) for each in COMMANDS.values()) + 2
    for each in COMMANDS.values():
        shell.terminal.line(f"{each.usage:<{width}}{shell.terminal.paint(each.doc, 'remark')}")
    shell.terminal.line(
        "\nAnything else is evaluated; then _ is its value, _3 that of input 3, _error the last error's text.\n"
        "The beginning of a command's name will do. Ctrl-C cancels, Ctrl-D leaves."
    )


@command("doc", "NAME", "what a name, or the code of an error, means", NAMES)
def _doc(shell: Shell, argument: str) -> None:
    name = needs(argument, "doc")
    if known(shell.session, name) is None and is_elsewhere(name):
        shell.terminal.line(told(name))
        return
    first, *others = lines_of(wanted(shell, name))
    shell.terminal.line("\n".join([shell.terminal.paint(first, "name"), *others]))


def wanted(shell: Shell, name: str) -> Entry:
    """What is known of a name. Raises VladError where that is nothing."""
    found = known(shell.session, name)
    if found is None:
        raise VladError(
            "unbound-variable", f"Nothing is known of {name}", hint=hint_for(name, set(names(shell.session)))
        )
    return found


@command("apropos", "TEXT", "names in which, or in whose description, a text occurs", NAMES)
def _apropos(shell: Shell, argument: str) -> None:
    text = needs(argument, "apropos").lower()
    found = [each for name in names(shell.session) if (each := known(shell.session, name)) is not None]
    by_name = [each for each in found if text in each.name.lower()]
    others = [each for each in found if each not in by_name and text in " ".join(each.text).lower()]
    every = [*by_name, *others]
    for each in every[:MOST_FOUND]:
        head = each.signature or each.name
        room = max(shell.terminal.width - len(head) - 2, 10)
        shell.terminal.line(
            f"{head}  {shell.terminal.paint(textwrap.shorten(first_sentence(each), room, placeholder=' …'), 'remark')}"
        )
    if len(every) > MOST_FOUND:
        shell.remark(f"and {len(every) - MOST_FOUND} more")
    if not every:
        shell.remark("nothing found")


@command("source", "NAME", "the text of a definition", NAMES)
def _source(shell: Shell, argument: str) -> None:
    found = wanted(shell, needs(argument, "source"))
    if not found.source:
        raise VladError(
            "invalid-command",
            f"{found.name} has no text: it is {KINDS[found.kind]}",
            hint=f"try `,doc {found.name}`",
        )
    shell.remark(found.place)
    shell.terminal.line(found.source)


@command("names", "", "what you have defined", NOTHING)
def _names(shell: Shell, argument: str) -> None:
    for macro in shell.session.module.macros:
        shell.terminal.line(f"{macro}  {shell.terminal.paint('macro', 'remark')}")
    for name in shell.session.module.defined:
        if not name.startswith("_"):
            found = known(shell.session, name)
            shell.terminal.line((found.signature if found is not None else "") or name)


@command("error", "", "the last error again", NOTHING)
def _error(shell: Shell, argument: str) -> None:
    shell.terminal.line("there was none" if shell.error is None else str(shell.error))


# What it costs.


@command("time", "EXPRESSION", "evaluate, and tell how long it took")
def _time(shell: Shell, argument: str) -> None:
    needs(argument, "time")
    entries = sum(len(entry.variants) for entry in shell.session.tiers.entries.values())
    begun = time.perf_counter()
    shell.run(argument, "<command>", shell.show)
    seconds = time.perf_counter() - begun
    now = sum(len(entry.variants) for entry in shell.session.tiers.entries.values())
    compiled = "; compiled meanwhile" if now > entries else ""
    shell.remark(f"{seconds:.3g} s{compiled}" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs{compiled}")


@command("count", "EXPRESSION", "evaluate, and tell how often each primitive was applied")
def _count(shell: Shell, argument: str) -> None:
    needs(argument, "count")
    with shell.session.metering():
        shell.run(argument, "<command>", shell.show)
        counts = dict(shell.session.counts)
    for name in TABLE:
        if counts.get(name):
            shell.terminal.line(f"{counts[name]:>9} {name}")
    shell.remark(f"{sum(counts.values())} in all")


@command("profile", "EXPRESSION", "evaluate, and tell in which procedures the time goes")
def _profile(shell: Shell, argument: str) -> None:
    from .profile import profiled

    needs(argument, "profile")
    report = profiled(shell.session, lambda: shell.run(argument, "<command>", shell.show))
    shell.terminal.line("\n".join(report))


# Looking inside.


@command("expand", "FORM", "what a form is in core, the language inside")
def _expand(shell: Shell, argument: str) -> None:
    for text in shell.session.expand_source(Source("<command>", needs(argument, "expand"))):
        shell.terminal.line(text)


def _stage(stage: str, doc: str, operands: str = "F") -> None:
    def show(shell: Shell, argument: str) -> None:
        name, value, more = procedure(shell, needs(argument, stage))
        shell.terminal.line(shell.session.stage(value, stage, name, tuple(more)))

    command(stage, operands, doc, NAMES)(show)


def procedure(shell: Shell, text: str) -> tuple[str, Value, list[Value]]:
    """The first expression of a text, which is a procedure, with its name if it is one, and the values of the others. Raises
    VladError."""
    first, *others = expressions(text)
    value = shell.value_of(first)
    if not is_procedure(value):
        raise VladError("not-a-procedure", f"Not a procedure: {first}", irritants=[value])
    name = first if not first.startswith(("(", "'")) else ""
    return name, value, [shell.value_of(other) for other in others]


def expressions(text: str) -> list[str]:
    """The texts of the expressions in a text. Raises VladError."""
    found = [syntax.span.text for syntax in read(Source("<command>", text))]
    if not found:
        raise VladError("invalid-command", "There is nothing to evaluate")
    return found


_stage("core", "a procedure in core, the language inside")
_stage("reverse", "its reverse derivative, which J makes, in core")
_stage("forward", "its forward derivative, which j* makes, in core")
_stage("types", "the types that the compiler finds", "F [OPERAND ...]")
_stage("c", "the C text that the compiler makes of it", "F [OPERAND ...]")


@command("graph", "F [reverse|forward] [FILE]", "the flow of its data; FILE: .dot, .svg, .png", NAMES)
def _graph(shell: Shell, argument: str) -> None:
    from . import graph

    first, *others = expressions(needs(argument, "graph"))
    _, value, _ = procedure(shell, first)
    stage = others.pop(0) if others and others[0] in ("reverse", "forward", "core") else "core"
    core = shell.session.core_at(value, stage)
    if not others:
        shell.terminal.line(graph.as_text(core))
        return
    written = graph.save(graph.as_dot(core), file_name(others[0]))
    shell.remark(f"written: {written}")


PLOTS = """\
,plot sin                      a procedure of a number, from -5 to 5
,plot sin cos 0 6              two, from 0 to 6
,plot sin 0 6 derivative       with its derivative
,plot '(3 1 4 1 5)             a list or tensor of numbers, such as the losses of a training
,plot '((0 . 1) (2 . 3))       points, such as the way of an optimizer
,plot sin 0 6 sine.svg         into a file: .svg, or what Matplotlib writes (.png, .pdf)"""


@command(
    "plot",
    "F ... [LOW HIGH]",
    "draw procedures of a number, a list, points; see `,help plot`",
    NAMES,
    more=PLOTS,
)
def _plot(shell: Shell, argument: str) -> None:
    from . import plot

    plot.plot(shell, expressions(needs(argument, "plot")))


def file_name(text: str) -> str:
    """A file's name, in quotes or without."""
    return os.path.expanduser(text.strip().strip('"'))


# Watching.


@command("trace", "[NAME ...]", "show the calls of procedures, and of their derivatives", NAMES)
def _trace(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.trace(argument))


@command("untrace", "[NAME ...]", "no longer", NAMES)
def _untrace(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.untrace(argument))


@command("break", "[NAME|FILE:LINE ...]", "stand still there, and look around", NAMES)
def _break(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.break_at(argument))


@command("clear", "", "remove all breakpoints", NOTHING)
def _clear(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.clear())


@command("step", "EXPRESSION", "evaluate step by step")
def _step(shell: Shell, argument: str) -> None:
    needs(argument, "step")
    with shell.debugger.stepping():
        shell.run(argument, "<command>", shell.show)


@command("nan", "[on|off]", "tell which operation makes the first NaN or infinity", WORDS, ("on", "off"))
def _nan(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.nan(argument))


@command("debug", "", "look around where the last error came", NOTHING)
def _debug(shell: Shell, argument: str) -> None:
    text = shell.debugger.debug()
    if text:
        shell.terminal.line(text)


# Files and the session.


@command("load", "FILE", "evaluate a file", FILES)
def _load(shell: Shell, argument: str) -> None:
    path = file_name(needs(argument, "load"))
    with shell.session.limited(shell.limits):
        shell.session.load(path)
    if path not in shell.loaded:
        shell.loaded.append(path)


@command("reload", "", "evaluate loaded files and imported modules again", NOTHING)
def _reload(shell: Shell, argument: str) -> None:
    with shell.session.limited(shell.limits):
        again = shell.session.import_again()
        for path in shell.loaded:
            shell.session.load(path)
    shell.remark(f"reloaded: {', '.join([*again, *shell.loaded]) or 'nothing was loaded'}")


@command("import", "MODULE [as PREFIX]", "make the names of a module known", MODULES)
def _import(shell: Shell, argument: str) -> None:
    module, _, prefix = needs(argument, "import").partition(" as ")
    named = f" as {prefix.strip()}" if prefix.strip() else ""
    text = f"(import {string_text(file_name(module))}{named})"
    shell.run(text, "<command>", shell.show)
    shell.inputs.append(text)


@command("reset", "", "forget all definitions and results", NOTHING)
def _reset(shell: Shell, argument: str) -> None:
    shell.start()


@command("save", "FILE", "write what you entered, and went well, as a program", FILES)
def _save(shell: Shell, argument: str) -> None:
    path = file_name(needs(argument, "save"))
    path = path if path.endswith(".vlad") else path + ".vlad"
    loads = [f"(include {string_text(os.path.abspath(loaded))})" for loaded in shell.loaded]
    write_text(path, "\n".join(["; entered at the prompt of vlad", *loads, *shell.inputs]) + "\n")
    shell.remark(f"written: {path}")


@command("edit", "[NAME|FILE]", "write in your editor ($VISUAL, $EDITOR), then evaluate", FILES)
def _edit(shell: Shell, argument: str) -> None:
    path = file_name(argument)
    if argument and (os.path.exists(path) or path.endswith(".vlad")):
        edit_file(path)
        _load(shell, path)
        return
    begun = wanted(shell, argument).source if argument else (shell.inputs[-1] if shell.inputs else "")
    with tempfile.TemporaryDirectory(prefix="vlad-") as folder:
        scratch = os.path.join(folder, "input.vlad")
        write_text(scratch, begun + "\n")
        edit_file(scratch)
        with open(scratch, encoding="utf-8", errors="replace") as file:
            text = file.read()
    if text.strip() and text.strip() != begun.strip():
        shell.run(text, f"<input {shell.number}>", shell.show)
        shell.number += 1
        shell.inputs.append(text.strip())


def edit_file(path: str) -> None:
    """Let the user edit a file. Raises VladError."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        status = subprocess.run([*shlex.split(editor), path]).returncode
    except (OSError, ValueError) as error:
        raise VladError("no-program", f"Cannot start the editor: {editor}", hint=str(error)) from None
    if status:
        raise VladError("no-program", f"The editor ended with status {status}: {editor}")


@command("shell", "COMMAND", "run a command of the system's shell", FILES)
def _shell(shell: Shell, argument: str) -> None:
    shell.terminal.flush()
    status = subprocess.run(needs(argument, "shell"), shell=True).returncode
    if status:
        shell.remark(f"status {status}")


@command("history", "[TEXT]", "what you entered, or those entries that contain a text", NOTHING)
def _history(shell: Shell, argument: str) -> None:
    for entry in shell.recall(argument):
        shell.terminal.line(entry)


# Settings.


def one_of(argument: str, allowed: tuple[str, ...]) -> str:
    if argument not in allowed:
        raise WrongOption("invalid-argument", f"One of {', '.join(allowed)}; not {argument}")
    return argument


@command("tier", "[auto|compile|evaluate]", "compile what runs long, all, or nothing", WORDS, POLICIES)
def _tier(shell: Shell, argument: str) -> None:
    if argument:
        one_of(argument, POLICIES)
        if shell.session.machine.instrument is not None:
            raise VladError(
                "invalid-command",
                "Nothing is compiled while something is watched",
                hint="`,untrace`, `,clear`, `,nan off`",
            )
        shell.session.tiers.choose(argument)
    shell.terminal.line(shell.session.tiers.policy)


@command("device", "[cpu|cuda]", "where tensors are made", WORDS, tuple(DEVICES))
def _device(shell: Shell, argument: str) -> None:
    if argument:
        device_named(argument)
        shell.session.machine.device = argument
    shell.terminal.line(shell.session.machine.device)


@command(
    "limits", "[NAME N|NAME off]", "of each evaluation: fuel, seconds, memory, depth, output", WORDS,
    Limits.NAMES,
)  # fmt: skip
def _limits(shell: Shell, argument: str) -> None:
    if argument:
        name, _, amount = argument.partition(" ")
        now = {slot: getattr(shell.limits, slot) for slot in Limits.NAMES}
        now[one_of(name, Limits.NAMES)] = limit(name, amount.strip())
        shell.limits = Limits(**now)
    for slot in Limits.NAMES:
        amount = getattr(shell.limits, slot)
        shell.terminal.line(f"{slot:<8} {'off' if amount is None else f'{amount:g}'}")


def limit(name: str, text: str) -> float | None:
    if text == "off":
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 2e9:
        raise WrongOption(
            "invalid-argument", f"A limit is a positive number, or off; not {text or 'nothing'}"
        )
    return number if name in ("seconds", "memory") else int(number)


SHAPE = ("columns", "depth", "length", "total")


@command("format", "[NAME N]", "how much of a result is shown", WORDS, SHAPE)
def _format(shell: Shell, argument: str) -> None:
    if argument:
        name, _, amount = argument.partition(" ")
        one_of(name, SHAPE)
        if not amount.strip().isdigit() or not 0 < int(amount) <= 1_000_000:
            raise WrongOption(
                "invalid-argument", f"{name} needs a positive whole number; not {amount or 'nothing'}"
            )
        if name == "columns":
            shell.terminal.columns = int(amount)
        else:
            setattr(shell.format, name, int(amount))
    for name in SHAPE:
        shown = shell.terminal.width if name == "columns" else getattr(shell.format, name)
        shell.terminal.line(f"{name:<8} {shown}")


@command("keys", "[emacs|vi]", "by which keys the prompt is edited", WORDS, ("emacs", "vi"))
def _keys(shell: Shell, argument: str) -> None:
    if argument:
        shell.keys = one_of(argument, ("emacs", "vi"))
    shell.terminal.line(shell.keys)


@command("quit", "", "leave; so does Ctrl-D", NOTHING)
def _quit(shell: Shell, argument: str) -> None:
    raise Leave
