"""Commands that configure the prompt."""

from __future__ import annotations

from vlad.compile.calling.policy import POLICIES
from vlad.data.devices import DEVICES, device_named
from vlad.data.errors import VladError, WrongOption
from vlad.evaluate.limits import LIMITS, Limits

from .command import WORDS, Theme, one_of
from .shell import Shell

THEME = Theme()


@THEME.command(
    "tier", "[auto|compile|evaluate]", "compile long computations, all, or nothing", WORDS, POLICIES
)
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


@THEME.command("device", "[cpu|cuda]", "where tensors are made", WORDS, tuple(DEVICES))
def _device(shell: Shell, argument: str) -> None:
    if argument:
        device_named(argument)
        shell.session.machine.device = argument
    shell.terminal.line(shell.session.machine.device)


@THEME.command(
    "limits", "[NAME N|NAME off|off]", "of each evaluation: fuel, seconds, memory, depth, output", WORDS,
    LIMITS,
)  # fmt: skip
def _limits(shell: Shell, argument: str) -> None:
    if argument == "off":
        shell.limits = Limits()
    elif argument:
        name, _, amount = argument.partition(" ")
        now = {slot: getattr(shell.limits, slot) for slot in LIMITS}
        now[one_of(name, LIMITS)] = limit(name, amount.strip())
        shell.limits = Limits(**now)
    for slot in LIMITS:
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
        given = f"not {text}" if text else f"write `,limits {name} N`"
        raise WrongOption("invalid-argument", f"A limit is a positive number, or off; {given}")
    return number if name in ("seconds", "memory") else int(number)


SHAPE = ("columns", "depth", "length", "total")


@THEME.command("format", "[NAME N]", "how much of a result is shown", WORDS, SHAPE)
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


@THEME.command("keys", "[emacs|vi]", "the editing keys of the prompt", WORDS, ("emacs", "vi"))
def _keys(shell: Shell, argument: str) -> None:
    if argument:
        shell.keys = one_of(argument, ("emacs", "vi"))
    shell.terminal.line(shell.keys)
