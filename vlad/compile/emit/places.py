"""Code that says where it is: a variant of c_function.py's text, for profiles.

In: as for `FunctionText`.  Out: the same statements, with stores of their places between them, for another thread to read: the
number of the place at work, and those of the calls in progress. A store is made where the line or the procedure changes, and none
inside the loops over tensors, so what is measured is the code that runs otherwise, and little more. The stores are volatile, as
the C compiler would drop all but the last.

Rejected: to sample the machine's program counter, which needs a signal handler for each system and the C compiler's tables of
lines, and names the lines of C.
"""

from __future__ import annotations

from vlad.compile.emit.c_function import FunctionText
from vlad.compile.emit.definitions import Site
from vlad.compile.ir.program import Block, Compute, Each, Effect, Function, Invoke, Slot
from vlad.compile.ir.row_loops import RowLoop
from vlad.compile.native.abi import PLACES_KEPT
from vlad.data.source import Span, in_library, is_ours

# [0] is the place at work, [1] the number of calls in progress, then their places
DEFINITIONS = f"""static int vlad_at[{2 + PLACES_KEPT}];
int const *const vlad_places = vlad_at;
#define VLAD_STORE(index, place) (*(int volatile *)(vlad_at + (index)) = (place))
#define VLAD_BEGINS int const vlad_depth = vlad_at[1];
#define VLAD_AT(place) VLAD_STORE(0, place)
#define VLAD_CALLS(place) (VLAD_STORE(2 + (vlad_depth & {PLACES_KEPT - 1}), place), VLAD_STORE(1, vlad_depth + 1))
#define VLAD_CALLED(place) (VLAD_STORE(1, vlad_depth), VLAD_STORE(0, place))
"""
BEGINS = "VLAD_BEGINS"


class PlacedText(FunctionText):
    """site    the place that was stored last on every way to the next statement; None if that is not known
    near    the last place in the user's own text
    """

    site: int | None = None
    near: Span | None = None

    def place(self, span: Span | None) -> None:
        """Store the place of what comes next; what the system does counts for the place before."""
        if span is None or is_ours(span):
            return
        if not in_library(span):
            self.near = span
        number = self.unit.site(Site(self.function.origin.callee, span, self.near))
        if number != self.site:
            self.site = number
            self.line(f"VLAD_AT({number});")

    def _place(self, function: Function) -> str:
        """The beginning of a function of C."""
        return f"{super()._place(function)} {BEGINS}"

    def _rows(self, loop: RowLoop) -> str:
        self.line(BEGINS)
        return super()._rows(loop)

    def block(self, block: Block, targets: tuple[Slot, ...]) -> None:
        self.site = None  # it may be reached in several ways, and so may what follows
        if block is self.function.body:
            self.place(self.function.span)  # it may begin with what has no place
        super().block(block, targets)
        self.site = None

    def compute(self, statement: Compute) -> None:
        self.place(statement.span)
        super().compute(statement)

    def each(self, statement: Each) -> None:
        self.place(statement.span)
        super().each(statement)

    def effect(self, statement: Effect) -> None:
        self.place(statement.span)
        super().effect(statement)

    def invoke(self, statement: Invoke) -> None:
        self.place(statement.span)
        super().invoke(statement)

    def called(self, call: str, callee: Function, result: str) -> None:
        if self.site is None:  # the call has no place of its own
            super().called(call, callee, result)
            return
        caller = self.site
        if (
            callee in self.members
        ):  # a recursion is one call, as its depth says little and each call of it would cost more
            super().called(f"{call} VLAD_AT({caller});", callee, result)
        else:
            self.line(f"VLAD_CALLS({caller});")
            super().called(f"{call} VLAD_CALLED({caller});", callee, result)
