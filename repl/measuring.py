"""Commands that measure the cost of an evaluation."""

from __future__ import annotations

import time

from vlad.primitives.table import TABLE

from .command import Theme
from .shell import Shell

THEME = Theme()


@THEME.command("time", "EXPRESSION", "evaluate, and show the time")
def _time(shell: Shell, argument: str) -> None:
    entries = sum(len(entry.variants) for entry in shell.session.tiers.entries.values())
    begun = time.perf_counter()
    shell.run(argument, "<command>", shell.show)
    seconds = time.perf_counter() - begun
    now = sum(len(entry.variants) for entry in shell.session.tiers.entries.values())
    compiled = "; compiled meanwhile" if now > entries else ""
    shell.remark(f"{seconds:.3g} s{compiled}" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs{compiled}")


@THEME.command("count", "EXPRESSION", "evaluate, and count the applications of each primitive")
def _count(shell: Shell, argument: str) -> None:
    with shell.session.metering():
        shell.run(argument, "<command>", shell.show)
        counts = dict(shell.session.counts)
    for name in TABLE:
        if counts.get(name):
            shell.terminal.line(f"{counts[name]:>9} {name}")
    shell.remark(f"{sum(counts.values())} in all")


@THEME.command("profile", "EXPRESSION", "evaluate, and show where the time is spent")
def _profile(shell: Shell, argument: str) -> None:
    from vlad.debugging.profile import profile, table
    from vlad.debugging.sampling import sampled

    with sampled(shell.session) as samples:
        shell.run(argument, "<command>", shell.show)
    shell.terminal.line(table(profile(samples, shell.session.machine)))
