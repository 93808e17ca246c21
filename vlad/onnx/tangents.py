"""Zero, plus and completion of values whose numbers may be nodes of a graph: what derivatives do in a trace (tracing.py).

In: a row of the transforms, and operands.  Out: its result, as ad/vector_space.py defines it; sums are nodes. Structures are
taken apart at once, as a trace is not deferred. Cells have no form in a graph, so nothing here is about them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlad.ad.vector_space import complete, is_structure, nonconforming, parts_of, rebuilt, zero, zero_tangent
from vlad.data.tables import Table
from vlad.data.values import ZERO, look
from vlad.onnx.values import REALS

Add = Callable[[Any, Any], Any]
IsTraced = Callable[[Any], bool]


class Tangents:
    """codes                of the values of derivatives
    is_leaf, is_traced    is a value a node; does it hold one?
    add                     the node of a sum
    convert                 the node of a value as another kind of number
    example                 a value without nodes
    """

    def __init__(
        self,
        codes: Mapping[str, Any],
        is_leaf: IsTraced,
        is_traced: IsTraced,
        add: Add,
        convert: Add,
        example: Callable[[Any], Any],
    ) -> None:
        self.is_leaf, self.is_traced, self.add, self.example = is_leaf, is_traced, add, example
        self.codes, self.convert = codes, convert
        self.rules: dict[str, Callable[..., Any]] = {
            "zero": lambda x: zero(self.example(x)),
            "zero-tangent": self.zero_tangent,
            "plus": self.plus,
            "accumulate": self.plus,
            "complete": self.complete,
            "contents": lambda v, x: ZERO,
            "check-sensitivity": lambda y, s, held: s,
            "no-cells": lambda given, s: s,
            "target-sensitivity": self.complete,
            "argument-sensitivity": self.complete,
            "bundle": self.bundle,
            "tangent": self.tangent,
        }

    def zero_tangent(self, x: Any) -> Any:
        if self.is_leaf(x):
            return ZERO if x.kind in REALS else zero(x.example)
        x = look(x)
        if not self.is_traced(x) or (type(x) is tuple and len(x) > 2):
            return zero_tangent(x)
        return rebuilt(None, [self.zero_tangent(part) for part in parts_of(x)], x)

    def bundle(self, v: Any, p: Any) -> Any:
        """A value with the tangent that is in a perturbation."""
        p = look(p)
        if p is not ZERO and p[0] is not self.codes["perturbation"]:
            raise nonconforming("bundle", self.example(v), self.example(p))
        return self.codes["forward"], v, ZERO if p is ZERO else self.complete(v, p[1])

    def tangent(self, x: Any) -> Any:
        x = look(x)
        return ZERO if x is ZERO else (self.codes["perturbation"], self.complete(x[1], x[2]), None)

    def plus(self, a: Any, b: Any) -> Any:
        """a + b, part by part."""
        a, b = look(a), look(b)
        if a is ZERO:
            return b
        if b is ZERO or a is b is None:
            return a
        if is_structure(a) and is_structure(b):
            return self._with_parts(a, b, self.plus)
        if self._is_number(a) and self._is_number(b):
            return self.add(a, b)
        return a

    def complete(self, primal: Any, sensitivity: Any) -> Any:
        """A sensitivity in the full shape of its primal."""
        primal, sensitivity = look(primal), look(sensitivity)
        if not self.is_traced(primal) and not self.is_traced(sensitivity):
            return complete(primal, sensitivity)
        if self.is_leaf(primal):
            return self._of_kind(primal.example, sensitivity)
        if not is_structure(primal):
            return self._of_kind(primal, sensitivity) if self._is_number(primal) else primal
        if sensitivity is ZERO:
            parts = [self.complete(part, ZERO) for part in parts_of(primal)]
            return rebuilt(None if len(primal) == 2 else primal[0], parts, primal)
        return self._with_parts(primal, sensitivity, self.complete)

    def _of_kind(self, primal: Any, sensitivity: Any) -> Any:
        """A sensitivity of a number: of the primal's kind."""
        if sensitivity is ZERO:
            return zero(primal)
        own, given = [getattr(one, "array", None) for one in (primal, self.example(sensitivity))]
        if own is None or given is None or own.dtype == given.dtype:
            return sensitivity
        return self.convert(sensitivity, str(own.dtype))

    def _with_parts(self, a: Any, b: Any, f: Callable[[Any, Any], Any]) -> Any:
        if type(a) is Table or type(b) is Table or len(a) != len(b):
            raise nonconforming("plus", self.example(a), self.example(b))
        parts = [f(p, q) for p, q in zip(parts_of(a), parts_of(b), strict=True)]
        return rebuilt(None if len(a) == 2 else a[0], parts, a)

    def _is_number(self, value: Any) -> bool:
        return self.is_leaf(value) or type(value) is float or hasattr(value, "array")
