"""Indices and slices of values, and of several axes of arrays.

In: `x[…]`.  Out: syntax. Each index stands for an axis, so an expression is a chain of procedures of one axis each: first those
behind an ellipsis, whose axes are counted from the end, then the others, the last first, so that none moves the axis of another.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from vlad.data.source import Span
from vlad.reader.parser import Syntax
from vlad.translate.expressions import NONE, REAL, Expressions, Scope
from vlad.translate.syntax import form, literal, quoted


def subscript(x: Expressions, node: ast.Subscript, scope: Scope) -> Syntax:
    """A value that is read: `x[i]`, `x[a:b]`, `x[i, 1:]`."""
    span, index = x.span(node), node.slice
    value = x.expression(node.value, scope)
    if isinstance(index, ast.Slice):
        bounds = [_bound(x, one, span, scope) for one in (index.lower, index.upper)]
        if index.step is None:
            return form(span, "%py-slice", value, *bounds)
        return form(span, "%py-slice-by", value, *bounds, x.expression(index.step, scope))
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    if not any(isinstance(one, ast.Slice) or _is_new(x, one, scope) or _is_rest(one) for one in items):
        if isinstance(index, ast.Tuple):
            return form(span, "%py-entry", value, form(span, "list", *x.operands(items, scope)))
        return form(span, "%py-index", value, x.expression(index, scope))
    return _of_axes(x, value, items, span, scope)


def _bound(x: Expressions, node: ast.expr | None, span: Span, scope: Scope) -> Syntax:
    return quoted(NONE, span) if node is None else x.expression(node, scope)


def _is_new(x: Expressions, node: ast.expr, scope: Scope) -> bool:
    """Is it None, or `np.newaxis`?"""
    if isinstance(node, ast.Constant):
        return node.value is None
    return isinstance(node, ast.Attribute | ast.Name) and x.object_of(node, scope) is None


def _is_rest(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _of_axes(x: Expressions, value: Syntax, items: Sequence[ast.expr], span: Span, scope: Scope) -> Syntax:
    rests = [number for number, one in enumerate(items) if _is_rest(one)]
    if len(rests) > 1:
        raise x.refuse("several ellipses in an index", items[rests[1]], "one stands for all other axes")
    before = items[: rests[0]] if rests else items
    behind = items[rests[0] + 1 :] if rests else []
    whole = {id(one) for one in items if not _is_slice_like(x, one, scope)}
    groups = _groups(x, items, scope)
    is_alone = len(groups) < 2
    taking = sum([_takes(x, one, scope) for one in behind])
    position = 0
    while position < len(behind):  # the axes are counted from the end, so those behind stay
        one = behind[position]
        run = _run(behind, position, whole)
        if _is_new(x, one, scope):
            rest = behind[position + 1 :]
            # the axes that follow, of which those that are indexed are still there
            axis = -1 - sum([_takes(x, other, scope) for other in rest])
            value = form(span, "%py-np-expand-dims", value, literal(float(axis), span))
            position += 1
            continue
        axis = -taking
        value = _step(x, value, behind[position : position + run], axis, is_alone, span, scope)
        taking -= run
        position += run
    steps: list[tuple[Sequence[ast.expr], int]] = []
    axis = position = 0
    while position < len(before):
        run = _run(before, position, whole)
        steps.append((before[position : position + run], axis))
        axis += 0 if _is_new(x, before[position], scope) else run
        position += run
    for run_of, axis in reversed(steps):
        if _is_new(x, run_of[0], scope):
            value = form(span, "%py-np-expand-dims", value, literal(float(axis), span))
        else:
            value = _step(x, value, run_of, axis, is_alone, span, scope)
    return value


def _is_slice_like(x: Expressions, node: ast.expr, scope: Scope) -> bool:
    return isinstance(node, ast.Slice) or _is_rest(node) or _is_new(x, node, scope)


def _takes(x: Expressions, node: ast.expr, scope: Scope) -> int:
    """The number of axes that an index stands for."""
    return 0 if _is_new(x, node, scope) else 1


def _groups(x: Expressions, items: Sequence[ast.expr], scope: Scope) -> list[int]:
    """Where indices that are no slices begin: NumPy moves the axes of arrays in several such groups."""
    return [
        number
        for number, one in enumerate(items)
        if not _is_slice_like(x, one, scope) and (number == 0 or _is_slice_like(x, items[number - 1], scope))
    ]


def _run(items: Sequence[ast.expr], position: int, whole: set[int]) -> int:
    """How many indices side by side, from one on, may be arrays that belong together."""
    count = 1
    if id(items[position]) in whole:
        while position + count < len(items) and id(items[position + count]) in whole:
            count += 1
    return count


def _step(
    x: Expressions,
    value: Syntax,
    items: Sequence[ast.expr],
    axis: int,
    is_alone: bool,
    span: Span,
    scope: Scope,
) -> Syntax:
    """The index of one axis, or those of several side by side."""
    at, (first, *others) = literal(float(axis), span), items
    if isinstance(first, ast.Slice):
        parts = [_bound(x, one, span, scope) for one in (first.lower, first.upper, first.step)]
        return form(span, "%py-slice-along", value, at, *parts)
    if others:
        indices = form(span, "list", *x.operands(items, scope))
        return form(span, "%py-at-each" if is_alone else "%py-at-each-alone", value, indices, at)
    is_number = x.kind(first) == REAL
    procedure = "%py-along" if is_alone or is_number else "%py-along-alone"
    return form(span, procedure, value, x.expression(first, scope), at)
