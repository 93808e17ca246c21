"""Which parameters of functions are whole numbers that count or select, so that there is no derivative by them.

In: the tree of a function.  Out: the place of a use of each such parameter: in `range`, as an index, as a bound of a slice, as
the length of an array, as the number of copies of a list, or as the key of a cache. A function that is called with the parameter
decides, too. What is computed of parameters by arithmetic makes counters of them; what `int(x)`, `round(x)` and the like return
does not. A parameter that gets another value is none, as nothing is known of it.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from vlad.data.python_functions import python_of
from vlad.data.source import Span
from vlad.translate.decorators import own_cache
from vlad.translate.expressions import NOWHERE
from vlad.translate.joined_arrays import counterpart
from vlad.translate.names import Function, locals_of, parameters, read_in, targets
from vlad.translate.partials import Partials
from vlad.translate.trees import COMPREHENSIONS, children, walk

Counters = Mapping[str, Span]
# Functions of NumPy whose first argument is a shape.
SHAPED = frozenset(("zeros", "ones", "empty", "full", "eye", "identity"))
WHOLE = (
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.FloorDiv,
    ast.Mod,
    ast.LShift,
    ast.RShift,
)  # of whole numbers, they are whole


class Counting(Partials):
    """The part of a translation that is about counters."""

    @abstractmethod
    def another(self, function: FunctionType) -> tuple[Counting, Function] | None:
        """The translation of another function, and its tree; None if its text is not known (effects.py)."""

    def counters_of(self, function: Any) -> Counters:
        """The counters of a function outside; none if it is not one that is translated."""
        return self._counters_outside(python_of(function), {})

    def counters(self, node: Function) -> Counters:
        """The counters of a function whose tree is known here."""
        return self._counters_inside(node, {}, {})

    def _counters_outside(self, function: Any, known: dict[object, dict[str, Span]]) -> Counters:
        if not isinstance(function, FunctionType):
            return {}
        if function not in known:
            found = known[function] = dict[str, Span]()  # a function that calls itself adds nothing
            other = self.another(function)
            if other is not None:
                whole, node = other
                if own_cache(function) is not None:
                    found.update(dict.fromkeys(parameters(node), whole.span(node)))
                found.update(whole._counters_inside(node, known, found))
        return known[function]

    def _counters_inside(
        self, node: Function, known: dict[object, dict[str, Span]], found: dict[str, Span]
    ) -> dict[str, Span]:
        bound = {one.id for one in walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        own = frozenset(parameters(node)) - bound
        named = {one.name: one for one in walk(node) if isinstance(one, ast.FunctionDef) and one is not node}
        known[node] = found
        calls = list[tuple[ast.Call, frozenset[str]]]()
        for one, visible in _visible(node, own):
            for used in self._counting(one, locals_of(node)):
                for name in _counted(used) & visible:
                    found.setdefault(name, self.span(one))
            if isinstance(one, ast.Call):
                calls.append((one, visible))
        for call, visible in calls:
            own_names = locals_of(node)
            inner = named.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if inner is not None:
                its: Counters = known[inner] if inner in known else self._counters_inside(inner, known, {})
                taken = parameters(inner)
            else:
                called = self._object(call.func, own_names)
                its = self._counters_outside(python_of(called), known)
                taken = list(its and self._parameters(called))
            given = [
                *zip(taken, call.args, strict=False),
                *[(one.arg, one.value) for one in call.keywords if one.arg],
            ]
            for parameter, argument in given:
                if parameter in its and not isinstance(argument, ast.Starred):
                    for name in _counted(argument) & visible:
                        found.setdefault(name, its[parameter])
        return found

    def _parameters(self, function: Any) -> list[str]:
        other = self.another(python_of(function))
        return [] if other is None else parameters(other[1])

    def _object(self, node: ast.AST, own: frozenset[str]) -> Any:
        """The value of a name outside; None if the function binds it."""
        return None if not read_in(node).isdisjoint(own) else self.object_of(node, NOWHERE)

    def _counting(self, node: ast.AST, own: frozenset[str]) -> Sequence[ast.AST]:
        """The parts of a node that must be whole numbers."""
        match node:
            case ast.Subscript(slice=index):
                return [] if counterpart(node, lambda one: self._object(one, own)) else [index]
            case ast.BinOp(op=ast.Mult(), left=ast.List() | ast.Tuple(), right=count):
                return [count]
            case ast.BinOp(op=ast.Mult(), left=count, right=ast.List() | ast.Tuple()):
                return [count]
            case ast.Call(func=called, args=[first, *_] as given):
                value = self._object(called, own)
                if value is range:
                    return given
                name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
                if name in SHAPED and isinstance(module, str) and module.partition(".")[0] == "numpy":
                    return [first]
        return []


def _visible(node: Function, own: frozenset[str]) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """The nodes of a function, each with the parameters of the function that names in it mean."""
    work = [(one, own) for one in children(node) if not isinstance(one, ast.arguments)]
    while work:
        one, visible = work.pop()
        yield one, visible
        if isinstance(one, ast.FunctionDef | ast.Lambda):
            visible = visible - frozenset(parameters(one))
        elif isinstance(one, COMPREHENSIONS):
            visible = visible.difference(*[targets(generator.target) for generator in one.generators])
        work += [(below, visible) for below in children(one)]


def _counted(node: ast.AST) -> set[str]:
    """The names of which a whole number is computed by arithmetic."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, WHOLE):
            return _counted(left) | _counted(right)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _counted(operand)
        case ast.Tuple() | ast.List() | ast.Slice():
            return set().union(*map(_counted, children(node)))
        case ast.IfExp(body=yes, orelse=no):
            return _counted(yes) | _counted(no)
    return set()
