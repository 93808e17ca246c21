"""Python's expressions → syntax.

In: expressions of a Python function, and the names that are bound where they stand.  Out: syntax with their places. Statements
are in statements.py, which extends this class.

Python's operators dispatch on their operands' types; so `+`, `*`, comparisons, truth and indices are procedures of the library
(stdlib/python.vlad), which do likewise. Where an operand surely is a number or an array, the primitive stands instead. Operands
are evaluated from left to right in both languages.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import FALSE, TRUE
from vlad.data.values import Value as Value_
from vlad.reader.parser import Form, Keyword, Syntax
from vlad.translate.iterations import Iteration, Value, counted, listed, numbered, side_by_side
from vlad.translate.known import Known, known, operator_of
from vlad.translate.names import Function, parameters, targets
from vlad.translate.reads import MISSING, Read
from vlad.translate.refusals import outside, refused
from vlad.translate.source import Text
from vlad.translate.syntax import form, is_atom, let, literal, name, quoted, string

LARGEST = 2**53  # beyond it, not every whole number is a double
NONE, END = "%none", "%tuple"  # symbols: the value None; what a tuple ends with

ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {  # the primitive, if it may stand, and the library's procedure
    ast.Add: ("+", "%py-add"), ast.Sub: ("-", "-"), ast.Mult: ("*", "%py-multiply"), ast.Div: ("", "%py-divide"),
    ast.FloorDiv: ("", "%py-quotient"), ast.Mod: ("", "%py-modulo"), ast.Pow: ("", "%py-power"),
    ast.MatMult: ("matmul", "matmul"),
}  # fmt: skip
# The primitive of two reals; the library's procedure of any two values, and that whose result is a boolean, as it is tested.
COMPARISONS: dict[type[ast.cmpop], tuple[str, str, str]] = {
    ast.Lt: ("<", "%py-less", "%py-less?"), ast.LtE: ("<=", "%py-at-most", "%py-at-most?"),
    ast.Gt: (">", "%py-greater", "%py-greater?"), ast.GtE: (">=", "%py-at-least", "%py-at-least?"),
    ast.Eq: ("=", "%py-equal", "%py-equal?"), ast.NotEq: ("", "%py-unequal", "%py-unequal?"),
}  # fmt: skip
OTHER, ARRAY, REAL = 0, 1, 2  # what an expression surely is: anything, a real or an array of numbers, a real
TYPES = {
    float: "real?",
    int: "%py-int?",
    bool: "boolean?",
    str: "string?",
    list: "%py-list?",
    tuple: "%py-tuple?",
}
ATTRIBUTES = {"T": "transpose", "shape": "%py-shape", "ndim": "rank", "size": "size"}  # of an array
METHODS = {
    "copy": "%py-copy",
    "sum": "sum",
    "mean": "mean",
    "max": "maximum",
    "min": "minimum",
    "tolist": "tensor->list",
    "item": "real",
}


class Outside(Protocol):
    """What a translation asks of the session that will evaluate it."""

    def is_taken(self, name: str) -> bool:
        """Does a name mean something in the language?"""

    def cell(self, value: Any, name: str, span: Span) -> str:
        """The name of the global that has a value of Python. Raises VladError if there is no such value."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that are bound at a place.

    names   for each name of Python, its name in the translation
    maybe   those that have a value on some ways to the place only
    known   nested functions, by name: their calls may give arguments by name
    """

    names: Mapping[str, str]
    maybe: frozenset[str] = frozenset()
    known: Mapping[str, Function] | None = None

    def bind(self, python: str, own: str) -> Scope:
        without = (
            {} if self.known is None else {key: node for key, node in self.known.items() if key != python}
        )
        return Scope({**self.names, python: own}, self.maybe - {python}, without)

    def knowing(self, python: str, node: Function) -> Scope:
        return replace(self, known={**(self.known or {}), python: node})


class Expressions(ABC):
    """The translation of one Python function.

    function    the function
    text        its text
    outside     the session's side
    captured    the names of its free variables that are captured, since their values are no functions
    """

    def __init__(self, function: types.FunctionType, text: Text, outside_: Outside) -> None:
        self.function = function
        self.text = text
        self.outside = outside_
        self.captured: list[str] = []
        self.reads: dict[str, Read] = {}  # the names outside that were looked up
        self.cells: dict[str, types.CellType] = {}  # of the closure
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.cells[variable] = cell
        self.kinds: Mapping[str, int] = {}  # of the innermost function: what its variables surely hold
        self._serial: dict[str, int] = {}
        self._of_comprehensions: set[str] = set()  # the variables of the comprehensions around

    # Names.

    def span(self, node: ast.AST) -> Span:
        return self.text.span(node)

    def own_name(self, python: str) -> str:
        """A variable's name in the translation: another one if it means something in the language."""
        return python + "." if self.outside.is_taken(python) else python

    def fresh(self, base: str) -> str:
        """A name that is no other's."""
        self._serial[base] = self._serial.get(base, 0) + 1
        return f"{base}.{self._serial[base]}"

    def refuse(self, what: str, node: ast.AST, hint: str) -> VladError:
        return refused(what, self.span(node), hint)

    def variable(self, node: ast.Name, scope: Scope) -> Syntax:
        span = self.span(node)
        own = scope.names.get(node.id)
        if own is not None:
            if node.id in scope.maybe:
                check = "%py-assigned" if node.id in self.own_locals else "%py-assigned-outside"
                return form(span, check, name(own, span), string(node.id, span))
            return name(own, span)
        if node.id in self.locals_:
            failure = "%py-unassigned" if node.id in self.own_locals else "%py-unknown"
            return form(span, failure, string(node.id, span))
        value = self.global_value(node.id)
        if value is MISSING:
            return form(span, "%py-unknown", string(node.id, span))
        if node.id in self.captured:
            return name(self.own_name(node.id), span)
        return self.constant_of(value, node.id, node)

    @property
    @abstractmethod
    def locals_(self) -> frozenset[str]:
        """The names that the functions around this place bind."""

    @property
    @abstractmethod
    def own_locals(self) -> frozenset[str]:
        """The names that the innermost function binds."""

    def global_value(self, key: str) -> Any:
        """The value of a name that no function here binds; MISSING if there is none."""
        cell = self.cells.get(key)
        if cell is not None:
            try:
                value = cell.cell_contents
            except ValueError:
                value = MISSING
            self.reads[key] = Read(None, key, cell, value)
            return value
        names = self.function.__globals__
        value = names.get(key, MISSING)
        self.reads[key] = Read(names, key, None, value)
        return getattr(builtins, key, MISSING) if value is MISSING else value

    def constant_of(self, value: Any, key: str, node: ast.AST, is_called: bool = False) -> Syntax:
        """A value of Python's that the text names. `is_called`: is it the function of a call?"""
        span = self.span(node)
        found = known(value)
        if found is not None:
            if found.as_value is None:
                raise self.refuse(f"{found.name} as a value", node, "write a lambda of the arguments")
            return name(found.as_value, span)
        operator = operator_of(value) if callable(value) else None
        if operator is not None:
            return name(operator, span)
        if isinstance(value, types.ModuleType):
            raise self.refuse(f"the module {key} as a value", node, "name what is in it")
        if not is_called and _has_defaults(value):
            raise self._with_defaults(node) if isinstance(node, ast.expr) else AssertionError
        return name(self.outside.cell(value, key, span), span)

    def object_of(self, node: ast.AST, scope: Scope) -> Any:
        """The value of a name outside, or of an attribute of a module; MISSING if the expression is another one."""
        if isinstance(node, ast.Name):
            is_own = node.id in scope.names or node.id in self.locals_ or node.id in self.captured
            return MISSING if is_own else self.global_value(node.id)
        if isinstance(node, ast.Attribute):
            around = self.object_of(node.value, scope)
            if isinstance(around, types.ModuleType):
                value = getattr(around, node.attr, MISSING)
                self.reads[f"{around.__name__}.{node.attr}"] = Read(
                    vars(around), node.attr, None, vars(around).get(node.attr, MISSING)
                )
                return value
        return MISSING

    # Expressions.

    def expression(self, node: ast.expr, scope: Scope) -> Syntax:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise outside(node, self.span(node))
        found: Syntax = method(node, scope)
        return found

    def operands(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Syntax]:
        return [self.expression(node, scope) for node in nodes]

    def _constant(self, node: ast.Constant, scope: Scope) -> Syntax:
        value, span = node.value, self.span(node)
        if value is None:
            return quoted(NONE, span)
        if isinstance(value, bool):
            return literal(TRUE if value else FALSE, span)
        if isinstance(value, int):
            if abs(value) > LARGEST:
                raise self.refuse("this whole number", node, "numbers are doubles: whole ones go up to 2**53")
            return literal(float(value), span)
        if isinstance(value, float):
            return literal(value, span)
        if isinstance(value, str):
            return string(value, span)
        kind = "..." if value is ... else f"a {type(value).__name__}"
        raise self.refuse(f"{kind} as a constant", node, "use numbers, strings, booleans and None")

    def _name(self, node: ast.Name, scope: Scope) -> Syntax:
        """A variable as a value, which its calls do not know."""
        own = (scope.known or {}).get(node.id)
        if own is not None and (own.args.defaults or own.args.kwonlyargs):
            raise self._with_defaults(node)
        return self.variable(node, scope)

    def _with_defaults(self, node: ast.expr) -> VladError:
        what = f"{ast.unparse(node)}, a function with defaults, as a value"
        return self.refuse(what, node, "write a lambda that calls it")

    def _namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Syntax:
        raise self.refuse("`:=` here", node, "assign in a statement of its own before")

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Syntax:
        span = self.span(node)
        if any(isinstance(one, ast.Starred) for one in node.elts):
            return self._spread(node.elts, quoted(END, span), scope)
        return self.tuple_of(self.operands(node.elts, scope), span)

    def tuple_of(self, items: Sequence[Syntax], span: Span) -> Syntax:
        return form(span, "cons*", *items, quoted(END, span)) if items else quoted(END, span)

    def _list(self, node: ast.List, scope: Scope) -> Syntax:
        span = self.span(node)
        if any(isinstance(one, ast.Starred) for one in node.elts):
            return self._spread(node.elts, form(span, "quote", Form((), None, span)), scope)
        return form(span, "list", *self.operands(node.elts, scope))

    def _spread(self, nodes: Sequence[ast.expr], end: Syntax, scope: Scope) -> Syntax:
        """A list or a tuple with `*xs` among its items, which are evaluated from left to right."""
        bindings: list[tuple[Syntax, Syntax]] = []
        result = end
        parts: list[tuple[str, Syntax, Span]] = []
        for node in nodes:
            span, is_spread = self.span(node), isinstance(node, ast.Starred)
            value = self.expression(node.value if isinstance(node, ast.Starred) else node, scope)
            kept = name(self.fresh("item"), span)
            bindings.append((kept, form(span, "%py-items", value) if is_spread else value))
            parts.append(("%py-joined" if is_spread else "cons", kept, span))
        for procedure, kept_item, span in reversed(parts):
            result = form(span, procedure, kept_item, result)
        return self.bound(bindings, result, self.span(nodes[0]))

    def _binop(self, node: ast.BinOp, scope: Scope) -> Syntax:
        left, right = self.expression(node.left, scope), self.expression(node.right, scope)
        return self.binary(node.op, left, right, (self.kind(node.left), self.kind(node.right)), node)

    def binary(
        self, operator: ast.operator, left: Syntax, right: Syntax, kinds: tuple[int, int], node: ast.AST
    ) -> Syntax:
        """An operator applied to operands of these kinds."""
        if type(operator) not in ARITHMETIC:
            raise self.refuse("operators on bits", node, "numbers are doubles")
        primitive, procedure = ARITHMETIC[type(operator)]
        # the sum of a number is one; a product of a number may repeat a list
        is_certain = (max if isinstance(operator, ast.Add) else min)(kinds) > OTHER
        return form(self.span(node), primitive if primitive and is_certain else procedure, left, right)

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Syntax:
        span = self.span(node)
        if isinstance(node.op, ast.Not):
            return form(span, "not", self.test(node.operand, scope))
        if isinstance(node.op, ast.Invert):
            raise self.refuse("operators on bits", node, "numbers are doubles")
        if isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float):
            self._constant(node.operand, scope)  # which refuses what is too large
            return literal(float(ast.literal_eval(node)), span)
        operand = self.expression(node.operand, scope)
        return form(span, "-" if isinstance(node.op, ast.USub) else "+", operand)

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> Syntax:
        """As a value: that of the operand that decides."""
        span = self.span(node)
        if all(self.is_boolean(value) for value in node.values):
            return self.test(node, scope)
        result: Syntax = self.expression(node.values[-1], scope)
        for operand in reversed(node.values[:-1]):
            value = self.expression(operand, scope)
            kept = value if is_atom(value) else name(self.fresh("value"), span)
            test = kept if self.is_boolean(operand) else form(span, "%py-true?", kept)
            arms = (kept, result) if isinstance(node.op, ast.Or) else (result, kept)
            result = form(span, "if", test, *arms)
            if kept is not value:
                result = self.let([(kept, value)], result, span)
        return result

    def let(self, bindings: Sequence[tuple[Syntax, Syntax]], body: Syntax, span: Span) -> Syntax:
        pairs = [Form(binding, None, span) for binding in bindings]
        return let(pairs, body, span)

    def test(self, node: ast.expr, scope: Scope) -> Syntax:
        """An expression where its truth matters: a boolean."""
        span = self.span(node)
        if isinstance(node, ast.BoolOp):
            operator = "and" if isinstance(node.op, ast.And) else "or"
            return form(span, operator, *[self.test(value, scope) for value in node.values])
        if isinstance(node, ast.Compare):
            return self._compare(node, scope, is_tested=True)
        value = self.expression(node, scope)
        return value if self.is_boolean(node) else form(span, "%py-true?", value)

    def _compare(self, node: ast.Compare, scope: Scope, is_tested: bool = False) -> Syntax:
        span = self.span(node)
        nodes = [node.left, *node.comparators]
        values: list[Syntax] = []
        bindings: list[tuple[Syntax, Syntax]] = []
        for number, one in enumerate(nodes):
            value = self.expression(one, scope)
            if 0 < number < len(node.ops) and not is_atom(value):  # it is compared twice
                kept = name(self.fresh("value"), span)
                bindings.append((kept, value))
                value = kept
            values.append(value)
        if bindings:  # what stands left of it is evaluated before
            kept = name(self.fresh("value"), span)
            bindings.insert(0, (kept, values[0]))
            values[0] = kept
        tests = []
        for number, operator in enumerate(node.ops):
            are_reals = self.kind(nodes[number]) == self.kind(nodes[number + 1]) == REAL
            way = 0 if are_reals else 2 if is_tested or len(node.ops) > 1 else 1
            tests.append(self._comparison(operator, values[number], values[number + 1], way, node))
        result = tests[0] if len(tests) == 1 else form(span, "and", *tests)
        for binding in reversed(bindings):
            result = self.let([binding], result, span)
        return result

    def _comparison(
        self, operator: ast.cmpop, left: Syntax, right: Syntax, way: int, node: ast.Compare
    ) -> Syntax:
        """`way`: which of COMPARISONS."""
        span = self.span(node)
        if isinstance(operator, ast.Is | ast.IsNot):
            if not any(
                isinstance(one, ast.Constant) and one.value is None for one in (node.left, *node.comparators)
            ):
                raise self.refuse("`is` between values", node, "values have no identity: use ==")
            same = form(span, "eq?", left, right)
            return same if isinstance(operator, ast.Is) else form(span, "not", same)
        if isinstance(operator, ast.In | ast.NotIn):
            found = form(span, "%py-in?", left, right)
            return found if isinstance(operator, ast.In) else form(span, "not", found)
        procedures = COMPARISONS[type(operator)]
        return form(span, procedures[way] or procedures[2], left, right)

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Syntax:
        arms = self.expression(node.body, scope), self.expression(node.orelse, scope)
        return form(self.span(node), "if", self.test(node.test, scope), *arms)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Syntax:
        return self.procedure(node, scope)

    @abstractmethod
    def procedure(self, node: Function, scope: Scope) -> Syntax:
        """A nested function."""

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Syntax:
        parts: list[Syntax] = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                if value.format_spec is not None:
                    raise self.refuse(
                        "a format in an f-string", node, "round the number, or format the result"
                    )
                writes = value.conversion == ord("r")
                text = self.expression(value.value, scope)
                parts.append(form(self.span(value), "%py-written" if writes else "%py-text", text))
            else:
                parts.append(self.expression(value, scope))
        return form(self.span(node), "string-append", *parts) if parts else string("", self.span(node))

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Syntax:
        value = self.object_of(node, scope)
        if value is not MISSING:
            return self.constant_of(value, node.attr, node)
        if isinstance(self.object_of(node.value, scope), types.ModuleType):
            raise self.refuse(f"`{ast.unparse(node)}`", node, "the module has nothing of that name")
        procedure = ATTRIBUTES.get(node.attr)
        if procedure is None:
            raise self.refuse(f"the attribute {node.attr}", node, f"an array has {', '.join(ATTRIBUTES)}")
        return form(self.span(node), procedure, self.expression(node.value, scope))

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Syntax:
        value, span = self.expression(node.value, scope), self.span(node)
        if isinstance(node.slice, ast.Slice):
            bounds = [
                quoted(NONE, span) if one is None else self.expression(one, scope)
                for one in (node.slice.lower, node.slice.upper)
            ]
            if node.slice.step is None:
                return form(span, "%py-slice", value, *bounds)
            return form(span, "%py-slice-by", value, *bounds, self.expression(node.slice.step, scope))
        if isinstance(node.slice, ast.Tuple):
            if any(isinstance(one, ast.Slice) for one in node.slice.elts):
                raise self.refuse("slices of several axes", node, "index one axis after the other")
            return form(span, "%py-entry", value, form(span, "list", *self.operands(node.slice.elts, scope)))
        return form(span, "%py-index", value, self.expression(node.slice, scope))

    # Calls.

    def _call(self, node: ast.Call, scope: Scope) -> Syntax:
        span = self.span(node)
        if any(isinstance(one, ast.Starred) for one in node.args) or any(
            one.arg is None for one in node.keywords
        ):
            raise self.refuse("`*` in a call", node, "write the arguments one by one")
        value = self.object_of(node.func, scope)
        if value is not MISSING:
            return self._outer_call(node, value, scope)
        if isinstance(node.func, ast.Attribute):
            if isinstance(self.object_of(node.func.value, scope), types.ModuleType):
                return self._attribute(node.func, scope)  # which refuses it
            return self._method(node, node.func, scope)
        callee = (
            self.variable(node.func, scope)
            if isinstance(node.func, ast.Name)
            else self.expression(node.func, scope)
        )
        own = (scope.known or {}).get(node.func.id) if isinstance(node.func, ast.Name) else None
        if isinstance(node.func, ast.Lambda):
            own = node.func
        if own is not None:
            return form(span, callee, *self._for_parameters(node, own, scope))
        if node.keywords:
            hint = "give them by place: which function it is, is known only in a call"
            raise self.refuse("arguments by name here", node.keywords[0], hint)
        return form(span, callee, *self.operands(node.args, scope))

    def _for_parameters(self, node: ast.Call, own: Function, scope: Scope) -> list[Syntax]:
        """The arguments of a call of a nested function, in the order of its parameters."""
        names = parameters(own)
        given: dict[str, Syntax] = dict(zip(names, self.operands(node.args, scope), strict=False))
        for keyword in node.keywords:
            assert keyword.arg is not None
            if keyword.arg in given or keyword.arg not in names:
                raise self._wrong_arguments(node, names)
            given[keyword.arg] = self.expression(keyword.value, scope)
        by_place = [argument.arg for argument in (*own.args.posonlyargs, *own.args.args)]
        defaults: dict[str, ast.expr] = {}
        if own.args.defaults:
            defaults.update(zip(by_place[-len(own.args.defaults) :], own.args.defaults, strict=True))
        for argument, default in zip(own.args.kwonlyargs, own.args.kw_defaults, strict=True):
            if default is not None:
                defaults[argument.arg] = default
        for one in names:
            if one not in given and one in defaults:
                given[one] = self.expression(defaults[one], scope)
        if len(node.args) > len(names) or set(given) != set(names):
            raise self._wrong_arguments(node, names)
        return [given[one] for one in names]

    def _wrong_arguments(self, node: ast.Call, names: Sequence[str]) -> VladError:
        what = f"this call of {ast.unparse(node.func)}"
        return self.refuse(what, node, f"the function takes {', '.join(names) or 'no argument'}")

    def _outer_call(self, node: ast.Call, value: Any, scope: Scope) -> Syntax:
        """A call of a function of Python's, or of a global one."""
        span = self.span(node)
        special = SPECIAL.get(value) if isinstance(value, types.BuiltinFunctionType | type) else None
        if special is not None:
            return special(self, node, scope)
        found = known(value)
        if found is not None:
            return self._known_call(node, found, scope)
        operator = operator_of(value) if callable(value) else None
        if operator is not None:
            return self._derived(node, operator, scope)
        callee = self.constant_of(value, ast.unparse(node.func), node.func, is_called=True)
        signature = _signature(value)
        if signature is None:
            if node.keywords:
                raise self.refuse("arguments by name here", node.keywords[0], "give them by place")
            return form(span, callee, *self.operands(node.args, scope))
        return form(span, callee, *self._bound(node, signature, scope))

    def _bound(self, node: ast.Call, signature: inspect.Signature, scope: Scope) -> list[Syntax]:
        """The arguments of a call of a function with a signature, in its order."""
        try:
            bound = signature.bind(*node.args, **{str(one.arg): one.value for one in node.keywords})
        except TypeError as error:
            raise self.refuse(f"this call of {ast.unparse(node.func)}", node, f"{error}") from None
        found = []
        for parameter in signature.parameters.values():
            if parameter.name in bound.arguments:
                found.append(self.expression(bound.arguments[parameter.name], scope))
            else:
                found.append(self.value_of(parameter.default, parameter.name, node))
        return found

    def value_of(self, value: Any, key: str, node: ast.AST) -> Syntax:
        """A value that the text does not name, such as a default."""
        span = self.span(node)
        if value is None or isinstance(value, bool | int | float | str):
            return self._constant(ast.copy_location(ast.Constant(value), node), Scope({}))
        return name(self.outside.cell(value, key, span), span)

    def _known_call(self, node: ast.Call, found: Known, scope: Scope) -> Syntax:
        span, count = self.span(node), len(node.args)
        named: list[Syntax] = []
        for keyword in node.keywords:
            assert keyword.arg is not None  # `**` was refused
            if keyword.arg not in found.keywords:
                taken = (
                    f"it takes {', '.join(found.keywords)} by name"
                    if found.keywords
                    else "give them by place"
                )
                raise self.refuse(f"{found.name} with the argument {keyword.arg} by name", keyword, taken)
            own = Keyword(found.keywords[keyword.arg], self.span(keyword))
            named += [own, self.expression(keyword.value, scope)]
        if count in found.procedures:
            return form(span, found.procedures[count], *self.operands(node.args, scope), *named)
        if found.name in ("min", "max") and count > 2:
            procedure = found.procedures[2]
            result: Syntax = self.expression(node.args[0], scope)
            for one in node.args[1:]:
                result = form(span, procedure, result, self.expression(one, scope))
            return result
        counts = " or ".join([str(number) for number in found.procedures])
        raise self.refuse(f"{found.name} with {count} arguments", node, f"it takes {counts}")

    def _derived(self, node: ast.Call, operator: str, scope: Scope) -> Syntax:
        """`vlad.grad(f)` and its kin, by all arguments of f. By several arguments the result is a tuple."""
        if len(node.args) != 1 or node.keywords:
            hint = "differentiate a lambda of the arguments in question"
            raise self.refuse("a derivative by chosen arguments", node, hint)
        span, given = self.span(node), node.args[0]
        count = self._arity(given, scope)
        derived = form(span, operator, self.expression(given, scope))
        if count == 1 and operator != "value-and-gradient":
            return derived
        if count > 1 and operator in ("hessian", "jacobian"):
            raise self.refuse(f"the {operator} by several arguments", node, "take one list or array")
        own, names = name(self.fresh("derived"), span), [name(self.fresh("x"), span) for _ in range(count)]
        parts = [name(self.fresh("part"), span) for _ in range(count)]
        pattern: Syntax = parts[0] if count == 1 else form(span, "cons*", *parts)
        result = self.tuple_of(parts, span) if count > 1 else parts[0]
        if operator == "value-and-gradient":
            value = name(self.fresh("value"), span)
            pattern, result = form(span, "cons", value, pattern), self.tuple_of([value, result], span)
        called = self.let([(pattern, form(span, own, *names))], result, span)
        body = form(span, "lambda", Form(tuple(names), None, span), called)
        return form(span, "let", Form((Form((own, derived), None, span),), None, span), body)

    def _arity(self, node: ast.expr, scope: Scope) -> int:
        """The number of arguments of a function that is differentiated; 1 if it is not known."""
        if isinstance(node, ast.Lambda):
            return len(parameters(node))
        own = (scope.known or {}).get(node.id) if isinstance(node, ast.Name) else None
        if own is not None:
            return len(parameters(own))
        signature = _signature(self.object_of(node, scope))
        return 1 if signature is None else len(signature.parameters)

    def _method(self, node: ast.Call, method: ast.Attribute, scope: Scope) -> Syntax:
        procedure = METHODS.get(method.attr)
        if procedure is None or node.args or node.keywords:
            what = f"the method {method.attr}" if procedure is None else f"{method.attr} with arguments"
            hint = (
                "`append` is a statement of its own"
                if method.attr == "append"
                else f"there are {', '.join(METHODS)}"
            )
            raise self.refuse(what, node, hint)
        return form(self.span(node), procedure, self.expression(method.value, scope))

    # Comprehensions.

    def _listcomp(self, node: ast.ListComp, scope: Scope) -> Syntax:
        return self.listed(node, scope)

    def _generatorexp(self, node: ast.GeneratorExp, scope: Scope) -> Syntax:
        raise self.refuse("a generator as a value", node, "make a list: [… for … in …]")

    def listed(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Syntax:
        """The list of a comprehension."""
        span, so_far = self.span(node), self.fresh("items")
        start = form(span, "quote", Form((), None, span))

        def added(scope: Scope) -> Syntax:
            return form(span, "cons", self.expression(node.elt, scope), name(so_far, span))

        return form(span, "reverse", self._turns(node.generators, scope, so_far, start, added))

    def folded(
        self,
        node: ast.GeneratorExp,
        scope: Scope,
        base: str,
        start: Syntax,
        step: Callable[[Syntax, Syntax], Syntax],
    ) -> Syntax:
        """The items of a generator, combined one after the other, without a list."""
        span, so_far = self.span(node), self.fresh(base)

        def combined(scope: Scope) -> Syntax:
            return step(name(so_far, span), self.expression(node.elt, scope))

        return self._turns(node.generators, scope, so_far, start, combined)

    def _turns(
        self,
        generators: Sequence[ast.comprehension],
        scope: Scope,
        so_far: str,
        start: Syntax,
        inner: Callable[[Scope], Syntax],
    ) -> Syntax:
        """Nested loops that carry a value."""
        generator = generators[0]
        span = self.span(generator.target)
        if generator.is_async:
            raise self.refuse("`async for`", generator.target, "write `for`")
        iteration = self.iteration(generator.iter, scope)
        loop = self.fresh("loop")
        bindings, within = self.turn_bindings(generator.target, iteration.value, scope)
        before, self._of_comprehensions = (
            self._of_comprehensions,
            {*self._of_comprehensions, *targets(generator.target)},
        )
        if len(generators) > 1:
            carried = self._turns(generators[1:], within, so_far, name(so_far, span), inner)
        else:
            carried = inner(within)
        again = form(span, loop, *iteration.steps, carried)
        for test in reversed(generator.ifs):
            skipped = form(span, loop, *iteration.steps, name(so_far, span))
            again = form(span, "if", self.test(test, within), again, skipped)
        self._of_comprehensions = before
        return self.loop(
            loop, iteration, [(so_far, start)], self.bound(bindings, again, span), name(so_far, span), span
        )

    def loop(
        self,
        loop: str,
        iteration: Iteration,
        carried: Sequence[tuple[str, Syntax]],
        turn: Syntax,
        end: Syntax,
        span: Span,
    ) -> Syntax:
        """A loop over an iteration that carries more variables."""
        starts = [Form((name(own, span), value), None, span) for own, value in (*iteration.starts, *carried)]
        tests = iteration.tests
        test = tests[0] if len(tests) == 1 else form(span, "and", *tests)
        turns = form(span, "if", test, turn, end)
        result: Syntax = form(span, "let", loop, Form(tuple(starts), None, span), turns)
        for own, value in reversed(iteration.around):
            result = self.let([(name(own, span), value)], result, span)
        return result

    def bound(self, bindings: Sequence[tuple[Syntax, Syntax]], body: Syntax, span: Span) -> Syntax:
        """A body with bindings around it, the first outermost."""
        for binding in reversed(bindings):
            body = self.let([binding], body, span)
        return body

    def turn_bindings(
        self, target: ast.expr, value: Value, scope: Scope
    ) -> tuple[list[tuple[Syntax, Syntax]], Scope]:
        """The bindings of a target to the value of a turn, or of an assignment, and the scope in which they hold."""
        span = self.span(target)
        if isinstance(target, ast.Name):
            own = self.own_name(target.id)
            whole = (
                self.tuple_of([self._whole(part, span) for part in value], span)
                if isinstance(value, tuple)
                else value
            )
            return [(name(own, span), whole)], scope.bind(target.id, own)
        if not isinstance(target, ast.Tuple | ast.List):
            raise self.refuse("this target", target, "assign to names")
        parts = target.elts
        bindings: list[tuple[Syntax, Syntax]] = []
        if not (isinstance(value, tuple) and len(value) == len(parts)) or any(
            isinstance(one, ast.Starred) for one in parts
        ):
            given = self._whole(value, span)
            value, unpacking = self._unpacked(parts, given, target)
            bindings += unpacking
        for part, one in zip(parts, value, strict=True):
            more, scope = self.turn_bindings(
                part.value if isinstance(part, ast.Starred) else part, one, scope
            )
            bindings += more
        return bindings, scope

    def _whole(self, value: Value, span: Span) -> Syntax:
        return (
            self.tuple_of([self._whole(part, span) for part in value], span)
            if isinstance(value, tuple)
            else value
        )

    def _unpacked(
        self, parts: Sequence[ast.expr], given: Syntax, target: ast.expr
    ) -> tuple[tuple[Syntax, ...], list[tuple[Syntax, Syntax]]]:
        """Variables for the parts of a value, and the binding that checks their number."""
        span = self.span(target)
        stars = [number for number, part in enumerate(parts) if isinstance(part, ast.Starred)]
        variables = [name(self.fresh("part"), span) for _ in parts]
        if stars:
            before, after = stars[0], len(parts) - 1 - stars[0]
            counts = (literal(float(before), span), literal(float(after), span))
            checked = form(span, "%py-unpacked-around", given, *counts)
        else:
            checked = form(span, "%py-unpacked", given, literal(float(len(parts)), span))
        return tuple(variables), [(form(span, "list", *variables), checked)]

    def iteration(self, node: ast.expr, scope: Scope) -> Iteration:
        """What a loop goes through."""
        span = self.span(node)
        value = self.object_of(node.func, scope) if isinstance(node, ast.Call) else MISSING
        if isinstance(node, ast.Call) and value in (range, enumerate, zip):
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            starts = [*node.args[1:], *([named["start"]] if value is enumerate and "start" in named else [])]
            is_plain = not any(isinstance(one, ast.Starred) for one in node.args) and len(
                node.keywords
            ) == len(starts[len(node.args[1:]) :])
            if is_plain and value is range and 1 <= len(node.args) <= 3:
                return self._range(node, scope)
            if is_plain and value is enumerate and node.args and len(starts) <= 1:
                start = self.expression(starts[0], scope) if starts else literal(0.0, span)
                return numbered(self.iteration(node.args[0], scope), start, span, self.fresh)
            if is_plain and value is zip and node.args:
                return side_by_side([self.iteration(one, scope) for one in node.args])
            raise self.refuse(f"this call of {ast.unparse(node.func)}", node, "write its arguments by place")
        if isinstance(node, ast.Call) and value is reversed and len(node.args) == 1 and not node.keywords:
            return listed(form(span, "%py-reversed", self._items(node.args[0], scope)), span, self.fresh)
        return listed(self._items(node, scope), span, self.fresh)

    def _items(self, node: ast.expr, scope: Scope) -> Syntax:
        """What a loop goes through, as a list or a tuple."""
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            return self.listed(node, scope)
        value = self.expression(node, scope)
        if isinstance(node, ast.List | ast.Tuple):
            return value
        return form(self.span(node), "%py-items", value)

    def _range(self, node: ast.Call, scope: Scope) -> Iteration:
        span = self.span(node)
        given = [self._whole_number(one, scope) for one in node.args]
        start = given[0] if len(given) > 1 else literal(0.0, span)
        stop = given[1] if len(given) > 1 else given[0]
        step = given[2] if len(given) > 2 else literal(1.0, span)
        is_down: bool | None = False
        if len(given) > 2:
            constant = _number(node.args[2])
            is_down = None if constant is None else constant < 0
            if constant is None:
                step = form(span, "%py-step", step)
            if constant == 0:
                raise self.refuse("a range with the step 0", node, "a step is another number")
        return counted(start, stop, step, is_down, span, self.fresh)

    def _whole_number(self, node: ast.expr, scope: Scope) -> Syntax:
        value = self.expression(node, scope)
        constant = _number(node)
        if constant is not None and constant == int(constant):
            return value
        return form(self.span(node), "%py-whole", value)

    # What is known without running.

    def is_boolean(self, node: ast.expr) -> bool:
        """Is the value surely a boolean? A comparison of arrays is none, and is no test in Python, either."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, bool)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not)
        if isinstance(node, ast.BoolOp):
            return all(self.is_boolean(value) for value in node.values)
        if isinstance(node, ast.Compare):
            others = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            plain = all(isinstance(operator, others) for operator in node.ops)
            reals = all(self.kind(one) == REAL for one in (node.left, *node.comparators))
            return plain or reals or len(node.ops) > 1
        return False

    def kind(self, node: ast.expr) -> int:
        """What the value surely is, unless evaluating it is an error."""
        match node:
            case ast.Constant():
                return REAL if type(node.value) in (int, float) else OTHER
            case ast.Name():
                if node.id in self._of_comprehensions:
                    return OTHER
                if node.id in self.locals_:
                    return self.kinds.get(node.id, OTHER)
                return REAL if type(self.object_of(node, Scope({}))) is float else OTHER
            case ast.UnaryOp():
                return OTHER if isinstance(node.op, ast.Not) else max(ARRAY, self.kind(node.operand))
            case ast.IfExp():
                return min(self.kind(node.body), self.kind(node.orelse))
            case ast.BinOp():
                kinds = self.kind(node.left), self.kind(node.right)
                if isinstance(node.op, ast.Add):
                    return min(kinds) if OTHER not in kinds else min(ARRAY, max(kinds))
                return min(kinds) if isinstance(node.op, ast.Mult) else max(ARRAY, min(kinds))
            case ast.Call() | ast.Attribute():
                value = self.object_of(node.func if isinstance(node, ast.Call) else node, Scope({}))
                if isinstance(node, ast.Attribute):
                    return REAL if type(value) is float else OTHER
                found = known(value)
                if found is None or not found.is_number:
                    return OTHER
                return REAL if found.is_real else ARRAY
        return OTHER


def _number(node: ast.expr) -> float | None:
    """The value of a constant number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = _number(node.operand)
        return None if found is None else -found
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return node.value if is_number and isinstance(node, ast.Constant) else None  # type: ignore[return-value]  # tested in the line above


def _has_defaults(value: Any) -> bool:
    """Does a call of a Python function, by place, leave something out?"""
    signature = _signature(value)
    if signature is None:
        return False
    return any(
        one.default is not one.empty or one.kind is one.KEYWORD_ONLY for one in signature.parameters.values()
    )


def _signature(value: Any) -> inspect.Signature | None:
    """The signature of a Python function that is translated in turn."""
    function = getattr(value, "python", value)
    if not isinstance(function, types.FunctionType):
        return None
    signature = inspect.signature(function)
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return None if any(parameter.kind in kinds for parameter in signature.parameters.values()) else signature


# Functions whose calls are syntax.


def _print(x: Expressions, node: ast.Call, scope: Scope) -> Syntax:
    if node.keywords:
        raise x.refuse("print with arguments by name", node.keywords[0], "join the texts")
    span = x.span(node)
    return form(span, "%py-print", form(span, "list", *x.operands(node.args, scope)))


def _isinstance(x: Expressions, node: ast.Call, scope: Scope) -> Syntax:
    span = x.span(node)
    if len(node.args) != 2 or node.keywords:
        raise x.refuse("this call of isinstance", node, "it takes a value and a type")
    given = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    predicates = []
    for one in given:
        kind = x.object_of(one, scope)
        if not isinstance(kind, type) or kind not in TYPES:
            hint = f"there are {', '.join([known_type.__name__ for known_type in TYPES])}"
            raise x.refuse(f"isinstance with {ast.unparse(one)}", one, hint)
        predicates.append(TYPES[kind])
    value = x.expression(node.args[0], scope)
    kept = value if is_atom(value) else name(x.fresh("value"), span)
    tests = [form(span, predicate, kept) for predicate in predicates]
    result = tests[0] if len(tests) == 1 else form(span, "or", *tests)
    return result if kept is value else x.let([(kept, value)], result, span)


def _of_items(
    procedure: str, start: float | None, step: str | None
) -> Callable[[Expressions, ast.Call, Scope], Syntax]:
    """A function of the items of a generator, which makes no list if there are a start and a step."""

    def call(x: Expressions, node: ast.Call, scope: Scope) -> Syntax:
        found = known(x.object_of(node.func, scope))
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
            assert found is not None
            return x._known_call(node, found, scope)
        span, generator = x.span(node), node.args[0]
        if start is None or step is None:
            return form(span, procedure, x.listed(generator, scope))
        adds = "+" if x.kind(generator.elt) > OTHER else step
        return x.folded(
            generator, scope, "sum", literal(start, span), lambda so_far, item: form(span, adds, so_far, item)
        )

    return call


def _tested(keyword: str, start: Value_) -> Callable[[Expressions, ast.Call, Scope], Syntax]:
    """`any` and `all`: of a generator, no item is evaluated after the one that decides."""

    def call(x: Expressions, node: ast.Call, scope: Scope) -> Syntax:
        found = known(x.object_of(node.func, scope))
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
            assert found is not None
            return x._known_call(node, found, scope)
        span, generator = x.span(node), node.args[0]

        def step(so_far: Syntax, item: Syntax) -> Syntax:
            return form(span, keyword, so_far, form(span, "%py-true?", item))

        return x.folded(generator, scope, "found", literal(start, span), step)

    return call


def _sorted(x: Expressions, node: ast.Call, scope: Scope) -> Syntax:
    span = x.span(node)
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    if len(node.args) != 1 or set(named) - {"key", "reverse"}:
        raise x.refuse("this call of sorted", node, "it takes a list, `key` and `reverse`")
    items = x._items(node.args[0], scope)
    key = (
        form(span, "%py-sorted-by", x.expression(named["key"], scope), items)
        if "key" in named
        else form(span, "%py-sorted", items)
    )
    if "reverse" not in named:
        return key
    if not (
        isinstance(named["reverse"], ast.Constant) and named["reverse"].value is True and "key" not in named
    ):
        raise x.refuse("sorted with `reverse` here", named["reverse"], "reverse=True, without a key")
    return form(span, "reverse", key)


def _as_list(x: Expressions, node: ast.Call, scope: Scope) -> Syntax:
    """list(range(n)) and list(zip(a, b)): what is no value of itself."""
    found = known(x.object_of(node.func, scope))
    assert found is not None
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Call | ast.GeneratorExp):
        return x._known_call(node, found, scope)
    span = x.span(node)
    if isinstance(node.args[0], ast.GeneratorExp):
        return form(span, found.procedures[1], x.listed(node.args[0], scope))
    return form(span, found.procedures[1], collected(x, node.args[0], scope))


def collected(x: Expressions, node: ast.Call, scope: Scope) -> Syntax:
    """The items of `range`, `zip` or `enumerate` as a list; another call as it is."""
    span = x.span(node)
    if x.object_of(node.func, scope) not in (range, zip, enumerate):
        return x.expression(node, scope)
    iteration = x.iteration(node, scope)
    so_far, loop = x.fresh("items"), x.fresh("loop")
    added = form(span, "cons", x._whole(iteration.value, span), name(so_far, span))
    start = form(span, "quote", Form((), None, span))
    again = form(span, loop, *iteration.steps, added)
    return form(span, "reverse", x.loop(loop, iteration, [(so_far, start)], again, name(so_far, span), span))


def _lazy(x: Expressions, node: ast.Call, scope: Scope) -> Syntax:
    """`range(n)` and the like as values: lists, which behave alike where they are read."""
    return collected(x, node, scope)


def _float(x: Expressions, node: ast.Call, scope: Scope) -> Syntax:
    """float("inf") and the like, which Python has no literals for."""
    found = known(float)
    assert found is not None
    match node:
        case ast.Call(args=[ast.Constant(value=str() as text)], keywords=[]) if _SPECIAL_NUMBER.fullmatch(
            text.strip().lower()
        ):
            return literal(float(text), x.span(node))
    return x._known_call(node, found, scope)


_SPECIAL_NUMBER = re.compile(r"[+-]?(inf|infinity|nan)")
SPECIAL: dict[Any, Callable[[Expressions, ast.Call, Scope], Syntax]] = {
    print: _print,
    isinstance: _isinstance,
    float: _float,
    sum: _of_items("%py-sum", 0.0, "%py-add"),
    min: _of_items("%py-least", None, None),
    max: _of_items("%py-greatest", None, None),
    any: _tested("or", FALSE),
    all: _tested("and", TRUE),
    sorted: _sorted,
    list: _as_list,
    tuple: _as_list,
    range: _lazy,
    zip: _lazy,
    enumerate: _lazy,
}
