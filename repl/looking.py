"""Commands that show procedures in other forms: core, derivatives, types, C, the data flow, curves."""

from __future__ import annotations

from vlad.data.errors import VladError
from vlad.data.source import Source
from vlad.data.values import Value, is_procedure
from vlad.reader.parser import read

from .command import NAMES, Theme
from .files import file_name
from .shell import Shell

THEME = Theme()


@THEME.command("expand", "FORM", "a form in core, the intermediate language")
def _expand(shell: Shell, argument: str) -> None:
    for text in shell.session.expand_source(Source("<command>", argument)):
        shell.terminal.line(text)


def _stage(stage: str, doc: str, operands: str = "F") -> None:
    def show(shell: Shell, argument: str) -> None:
        name, value, more = procedure(shell, argument)
        shell.terminal.line(shell.session.stage(value, stage, name, tuple(more)))

    THEME.command(stage, operands, doc, NAMES)(show)


def procedure(shell: Shell, text: str) -> tuple[str, Value, list[Value]]:
    """The first expression of a text, which must be a procedure, with its name if it is one, and the values of the others. Raises
    VladError.
    """
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


_stage("core", "a procedure in core, the intermediate language")
_stage("reverse", "its reverse derivative, which J makes, in core")
_stage("forward", "its forward derivative, which j* makes, in core")
_stage("control", "how it runs inside a `reset`, in core")
_stage("stepping", "how it runs where it is `checkpointed`, in core")
_stage("types", "the types that the compiler finds", "F [OPERAND ...]")
_stage("c", "the C text that the compiler makes of it", "F [OPERAND ...]")


@THEME.command("graph", "F [reverse|forward] [FILE]", "the flow of its data; FILE: .dot, .svg, .png", NAMES)
def _graph(shell: Shell, argument: str) -> None:
    from . import graph

    first, *others = expressions(argument)
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
,plot (list xs ys)             the numbers ys over the numbers xs, each a list or tensor
,plot points dots              the same without a line through them
,plot sin 0 6 sine.svg         into a file: .svg, or what Matplotlib writes (.png, .pdf)
,plot sin window               in a window, by Matplotlib; `inline`: in the terminal, if it shows
                               pictures; `text`: of characters. What is best, without these"""


@THEME.command(
    "plot",
    "F ... [LOW HIGH]",
    "draw procedures of a number, a list, points; see `,help plot`",
    NAMES,
    more=PLOTS,
)
def _plot(shell: Shell, argument: str) -> None:
    from . import plot

    plot.plot(shell, expressions(argument))
