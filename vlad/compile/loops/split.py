"""Splits loops over short rows of exponentials into whole vectors and the rest: by itself, gcc computes the rest one at a time.

In: a nest, its loops marked.  Out: the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vlad.compile.loops.ir import For, Nest, Statement, counted
from vlad.compile.loops.mark_parallel import calls_vectors
from vlad.compile.loops.multiple_accumulators import LANES, MOST_IN_LANES, is_short_row
from vlad.compile.loops.walking import is_innermost, mapped, with_body
from vlad.core.extents import at_most
from vlad.core.loop_nests import SHORT

FEWEST_LEFT = {"float32": 4, "float64": 2}  # the entries of the smallest vector


def split(nest: Nest) -> Nest:
    fewest = FEWEST_LEFT["float32" if "float32" in nest.outputs else "float64"]

    def change(statement: Statement) -> Sequence[Statement]:
        if type(statement) is not For or not is_innermost(statement) or at_most(nest.turns, SHORT):
            return [statement]
        if not at_most(statement.extent, MOST_IN_LANES - 1):
            return [statement]
        left = statement.extent % LANES
        is_short = left >= fewest and LANES < statement.extent
        if not is_short or is_short_row(nest, statement) or not calls_vectors(statement.body):
            return [statement]
        middle = counted(statement.end.value - left)
        return [replace(statement, end=middle), replace(statement, begin=middle)]

    return with_body(nest, mapped(nest.body, change))
