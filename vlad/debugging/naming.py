"""The procedures of a text: which one a place is in, and how people call it.

In: a machine and places in codes.  Out: names such as `loop in slow` or `backpropagator of f`. Called by profile.py. Code that
was inlined is in another procedure than its place; there only the text says which procedure was written.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from vlad.core.names import lambdas_within
from vlad.data.source import Source, Span, is_internal, is_ours
from vlad.data.values import Code
from vlad.debugging.origins import described, is_top_level, root_of
from vlad.expand.macros import ProcedureSpan

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

TOP_LEVEL = "the top level"


class Procedures:
    """The procedures that a machine has met so far, by their texts."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        found: dict[Source, dict[tuple[int, int], ProcedureSpan]] = {}
        for code in machine.made():
            if code.lambda_ is not None:
                for one in (code.lambda_, *lambdas_within(code.lambda_.body)):
                    if type(one.span) is ProcedureSpan:
                        span = one.span
                        found.setdefault(span.source, {})[span.start, -span.end] = span
        # outer ones before inner ones
        self._of = {source: [spans[key] for key in sorted(spans)] for source, spans in found.items()}

    def around(self, span: Span) -> list[ProcedureSpan]:
        """The procedures whose text a place is in, outermost first."""
        spans = self._of.get(span.source, [])
        last = bisect_right(spans, span.start, key=lambda one: one.start)
        return [one for one in spans[:last] if one.contains(span)]

    def name_at(self, span: Span) -> str:
        """The name of the innermost procedure around a place, and of the one around that."""
        names = [one.name for one in self.around(span)]
        if not names:
            return TOP_LEVEL
        outer = [name for name in names[:-1] if name]
        own = names[-1] or "a lambda"
        return f"{own} in {outer[-1]}" if outer else own if names[-1] else f"{own} at top level"

    def names(self, code: Any, span: Span | None) -> list[tuple[str, Span]]:
        """The names of the procedures at work at a place of a code, with the place of each, outermost first: that of the code,
        and that whose text was inlined into it. None for those of the system, and for helpers of the library.
        """
        found: list[tuple[str, Span]] = []
        around = None
        if type(code) is Code:
            root = root_of(self.machine, code)
            around = self.machine.core_of(root).span
            if around is not None and is_shown(root.name, around):
                written = described(self.machine, code)
                plain = root.name or ("" if is_top_level(self.machine, root) else "an anonymous procedure")
                if plain and type(around) is ProcedureSpan:
                    written = written.removesuffix(plain) + self.name_at(around)
                found.append((written, around))
        inner = [] if span is None else [one for one in self.around(span) if not span.contains(one)]
        is_inlined = inner and (around is None or not inner[-1].contains(around))
        if is_inlined and is_shown(inner[-1].name, inner[-1]):
            found.append((self.name_at(inner[-1]), inner[-1]))
        return found


def is_shown(name: str, span: Span) -> bool:
    return not (is_ours(span) or is_internal(name))
