"""Python's expressions → syntax.

In: expressions of a Python function, and the names that are bound where they stand.  Out: syntax with their places. One class
translates a function; its subjects are in files that extend each other: turns.py, calls.py, checks.py, statements.py.

Python's operators dispatch on their operands' types; so `+`, `*`, comparisons, truth and indices are procedures of the library
(stdlib/python.vlad), which do likewise. Where an operand surely is a number or an array, the primitive stands instead. Operands
are evaluated from left to right in both languages.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from vlad.data.errors import VladError
from vlad.data.python_functions import python_of
from vlad.data.records import InUse, Record
from vlad.data.source import Span
from vlad.data.values import FALSE, LARGEST_WHOLE, TRUE
from vlad.messages.spelling import among
from vlad.reader.parser import Form, Syntax
from vlad.translate.decorators import CACHED, uncached
from vlad.translate.heaps import in_python
from vlad.translate.known import Known, instead_of, known, public_name
from vlad.translate.names import Function
from vlad.translate.nodes import Caught, Computed, Given, Outcome, Tested
from vlad.translate.nonlocals import Passing
from vlad.translate.numpy_table import ATTRIBUTES
from vlad.translate.reads import MISSING, Read
from vlad.translate.refusals import outside, refused
from vlad.translate.signatures import has_defaults, is_flexible, static_part
from vlad.translate.source import Text
from vlad.translate.syntax import form, is_atom, let, literal, name, quoted, string
from vlad.translate.versions import is_version

# Symbols: the values None and NotImplemented; what a tuple ends with
NONE, NOT_IMPLEMENTED, END = "%none", "%not-implemented", "%tuple"

ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {  # the primitive, if it may stand, and the library's procedure
    ast.Add: ("+", "%py-add"), ast.Sub: ("-", "-"), ast.Mult: ("*", "%py-multiply"), ast.Div: ("", "%py-divide"),
    ast.FloorDiv: ("", "%py-quotient"), ast.Mod: ("", "%py-modulo"), ast.Pow: ("", "%py-power"),
    ast.MatMult: ("matmul", "matmul"),
}  # fmt: skip
POWERS: dict[float, str] = {
    2: "%py-squared",
    3: "%py-cubed",
    4: "%py-fourth-power",
}  # by the exponent: a few products, for a call of pow
# Of booleans, arrays of them, whole numbers, sets; of dicts, too, `|`.
BITS: dict[type[ast.operator], str] = {
    ast.BitAnd: "%py-and", ast.BitOr: "%py-or", ast.BitXor: "%py-exclusive-or", ast.LShift: "%py-shifted-left",
    ast.RShift: "%py-shifted-right",
}  # fmt: skip
# The primitive of two reals; the library's procedure of any two values, and that whose result is a boolean, as it is tested.
COMPARISONS: dict[type[ast.cmpop], tuple[str, str, str]] = {
    ast.Lt: ("<", "%py-less", "%py-less?"), ast.LtE: ("<=", "%py-at-most", "%py-at-most?"),
    ast.Gt: (">", "%py-greater", "%py-greater?"), ast.GtE: (">=", "%py-at-least", "%py-at-least?"),
    ast.Eq: ("=", "%py-equal", "%py-equal?"), ast.NotEq: ("", "%py-unequal", "%py-unequal?"),
}  # fmt: skip
OTHER, ARRAY, REAL = 0, 1, 2  # what an expression surely is: anything, a real or an array of numbers, a real
_WITHOUT_KIND = frozenset(
    {ast.Subscript, ast.ListComp, ast.Tuple, ast.List, ast.Compare}
)  # many nodes are OTHER at once
ATTRIBUTES_OF_VALUES = {**ATTRIBUTES, "args": "%py-exception-arguments"}
TYPES = {
    float: "real?",
    int: "%py-int?",
    bool: "boolean?",
    str: "string?",
    list: "%py-list?",
    tuple: "%py-tuple?",
    dict: "%py-dict?",
    set: "%py-changing-set?",
    frozenset: "%py-frozenset?",
}


Emit = Callable[["Scope"], Syntax]
_METHODS: dict[type[ast.expr], str] = {}  # those that translate the kinds of expressions


class Outside(Protocol):
    """What a translation asks of the session that will evaluate it."""

    in_use: InUse
    effects: dict[int, Any]  # what is known of functions (effects.py), by id

    def lines_of(self, function: types.FunctionType) -> list[str]:
        """The lines of the file of a function, when it was defined."""

    def use(self, record: Record) -> None:
        """Note that a record is in use."""

    def is_taken(self, name: str) -> bool:
        """Does a name mean something in the language?"""

    def cell(
        self,
        value: Any,
        name: str,
        span: Span,
        is_optional: bool = False,
        handing: tuple[str, ...] | None = None,
    ) -> str:
        """The name of the global that has a value of Python. Raises VladError if there is no such value. `is_optional`: it may be
        a function without a translation, whose calls then raise an error. `handing`: the parameters whose values it returns, too.
        """


class Scope:
    """The names that are bound at a place. Immutable; a plain class, as each assignment makes one.

    names   for each name of Python, its name in the translation
    maybe   those that have a value on some ways to the place only
    known   nested functions, by name: their calls may give arguments by name
    """

    __slots__ = ("names", "maybe", "known")

    def __init__(
        self,
        names: Mapping[str, str],
        maybe: frozenset[str] = frozenset(),
        known: Mapping[str, Function] | None = None,
    ) -> None:
        self.names = names
        self.maybe = maybe
        self.known = known

    def bind(self, python: str, own: str) -> Scope:
        names, maybe, known = self.names, self.maybe, self.known
        if names.get(python) != own:
            names = {**names, python: own}
        if python in maybe:
            maybe -= {python}
        if known and python in known:
            known = {key: node for key, node in known.items() if key != python}
        return Scope(names, maybe, known)

    def without(self, names: Collection[str]) -> Scope:
        """The scope of a function or a comprehension inside that binds names: they are its own from its beginning."""
        kept = [one for one in self.names if one not in names]
        known = {key: node for key, node in (self.known or {}).items() if key not in names}
        return Scope({one: self.names[one] for one in kept}, self.maybe.difference(names), known)

    def knowing(self, python: str, node: Function) -> Scope:
        return Scope(self.names, self.maybe, {**(self.known or {}), python: node})


NOWHERE = Scope({})


class Expressions(ABC):
    """The translation of one Python function.

    function    the function
    text        its text
    span        the place of a node in it
    outside     the session's side
    captured    the names of its free variables that are captured, since their values are no functions
    """

    def __init__(self, function: types.FunctionType, text: Text, outside_: Outside) -> None:
        self.function = function
        self.text = text
        self.span = text.span
        self.outside = outside_
        self.captured: list[str] = []
        # by names: the class that a class method is of, and what the function imports
        self.fixed: dict[str, Any] = {}
        self.reads: dict[str, Read] = {}  # the names outside that were looked up
        self.refusals: list[VladError] = []  # of attributes, which hold unless a class comes into use
        self.cells: dict[str, types.CellType] = {}  # of the closure
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.cells[variable] = cell
        self.locals_: frozenset[str] = frozenset()  # the names that the functions around this place bind
        self.own_locals: frozenset[str] = frozenset()  # those that the innermost function binds
        self.is_outermost = True  # is this place in no function inside?
        self.kinds: Mapping[str, int] = {}  # of the innermost function: what its variables surely hold
        self._serial: dict[str, int] = {}
        self._of_comprehensions: set[str] = set()  # the variables of the comprehensions around

    # Names.

    def own_name(self, python: str) -> str:
        """A variable's name in the translation: another one if it means something in the language."""
        return python + "." if self.outside.is_taken(python) else python

    def fresh(self, base: str) -> str:
        """A name that is no other's."""
        self._serial[base] = self._serial.get(base, 0) + 1
        return f"{base}.{self._serial[base]}"

    def fresh_loop(self) -> str:
        """The name of a loop, which errors and profiles show."""
        return self.fresh(f"{self.function.__name__}.loop")

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
        if node.id in self.locals_ or node.id in self._of_comprehensions:
            is_own = node.id in self.own_locals or node.id in self._of_comprehensions
            failure = "%py-unassigned" if is_own else "%py-unknown"
            return form(span, failure, string(node.id, span))
        value = self.global_value(node.id)
        if value is MISSING:
            return form(span, "%py-unknown", string(node.id, span))
        if node.id in self.captured:
            return name(self.own_name(node.id), span)
        return self.constant_of(value, node.id, node)

    def global_value(self, key: str) -> Any:
        """The value of a name that no function here binds; MISSING if there is none."""
        if key in self.fixed:
            return in_python(uncached(self.fixed[key]))
        cell = self.cells.get(key)
        if cell is not None:
            try:
                value = cell.cell_contents
            except ValueError:
                value = MISSING
            self.reads[key] = Read(None, key, cell, value)
            return in_python(uncached(value))
        names = self.function.__globals__
        value = names.get(key, MISSING)
        if key not in self.reads:
            self.reads[key] = Read(names, key, None, value)
        return getattr(builtins, key, MISSING) if value is MISSING else in_python(uncached(value))

    def note_import(self, own: str, module: types.ModuleType, part: str | None) -> None:
        """A name is that of a module, or of a part of one."""
        self.fixed[own] = module if part is None else getattr(module, part)
        if part is not None:
            # what the module makes when it is asked for has no entry
            now = vars(module).get(part, MISSING)
            self.reads[f"{module.__name__}.{part}"] = Read(vars(module), part, None, now)

    def constant_of(self, value: Any, key: str, node: ast.expr, is_called: bool = False) -> Syntax:
        """A value of Python's that the text names. `is_called`: is it the function of a call?"""
        span = self.span(node)
        found = known(value)
        if found is not None:
            return self.known_value(found, node)
        if public_name(value) is not None:
            raise self.refuse(f"{ast.unparse(node)} as a value", node, "write a lambda that calls it")
        if value is None:
            return quoted(NONE, span)
        if value is NotImplemented:
            return self.not_implemented(node)
        if isinstance(value, functools.partial):
            return self.partial_value(value, node)
        instead = instead_of(value)
        if instead is not None:
            raise self.refuse(f"`{ast.unparse(node)}`", node, instead)
        if isinstance(value, CACHED):
            hint = "it calls itself by another function, so that each result would be computed anew many times: fill a table"
            raise self.refuse(f"the cache of {ast.unparse(node)}", node, hint)
        if isinstance(value, types.ModuleType):
            raise self.refuse(f"the module {key} as a value", node, "name what is in it")
        if not is_called and inspect.isgeneratorfunction(python_of(value)):
            raise self._generator(node)
        if not is_called and has_defaults(value):
            raise self._with_defaults(node)
        return name(self.outside.cell(value, key, span), span)

    @abstractmethod
    def not_implemented(self, node: ast.expr) -> Syntax:
        """NotImplemented, which the methods of operators return (records.py)."""

    @abstractmethod
    def partial_value(self, value: functools.partial[Any], node: ast.expr) -> Syntax:
        """A partial function outside, as a value (partials.py)."""

    @abstractmethod
    def known_value(self, found: Known, node: ast.expr) -> Syntax:
        """A function of Python's as a value."""

    def object_of(self, node: ast.AST, scope: Scope) -> Any:
        """The value of a name outside, or of an attribute of a module; MISSING if the expression is another one."""
        if isinstance(node, ast.Name):
            is_own = node.id in scope.names or node.id in self.locals_ or node.id in self.captured
            is_own = is_own or node.id in self._of_comprehensions
            return MISSING if is_own else self.global_value(node.id)
        if isinstance(node, Given):
            return node.value
        if isinstance(node, ast.Attribute):
            around = self.object_of(node.value, scope)
            if isinstance(around, types.ModuleType):
                value, key = getattr(around, node.attr, MISSING), f"{around.__name__}.{node.attr}"
                if key not in self.reads:
                    now = vars(around).get(node.attr, MISSING)
                    self.reads[key] = Read(vars(around), node.attr, None, now)
                return in_python(uncached(value))
            if isinstance(around, type) and not hasattr(type, node.attr):
                return static_part(around, node.attr)
            if around is sys.float_info:
                return getattr(around, node.attr, MISSING)
        return MISSING

    def is_undefined(self, node: ast.AST, scope: Scope) -> bool:
        """Whether an expression is a name that nothing defines, or attributes of one."""
        while isinstance(node, ast.Attribute):
            node = node.value
        if not isinstance(node, ast.Name) or node.id in scope.names or node.id in self.locals_:
            return False
        is_own = node.id in self.captured or node.id in self._of_comprehensions
        return not is_own and self.global_value(node.id) is MISSING

    def with_name(self, attribute: str) -> tuple[Record, ...]:
        """The records in use that have an attribute."""
        found = self.outside.in_use.get(attribute, MISSING)
        key = "." + attribute
        if key not in self.reads:
            self.reads[key] = Read(self.outside.in_use, attribute, None, found)
        return found if isinstance(found, tuple) else ()

    # Expressions.

    def expression(self, node: ast.expr, scope: Scope) -> Syntax:
        kind = type(node)
        called = _METHODS.get(kind)
        if called is None:
            called = _METHODS[kind] = f"_{kind.__name__.lower()}"
        method = getattr(self, called, None)
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
            if abs(value) > LARGEST_WHOLE:
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
        if own is not None and is_version(own):
            raise self._generator(node)
        if own is not None and is_flexible(own):
            raise self._with_defaults(node)
        return self.variable(node, scope)

    def _generator(self, node: ast.expr) -> VladError:
        what = f"{ast.unparse(node)}, a generator function, as a value"
        return self.refuse(what, node, "write a function that returns a list")

    def _with_defaults(self, node: ast.expr) -> VladError:
        what = f"{ast.unparse(node)}, a function with defaults, as a value"
        return self.refuse(what, node, "write a lambda that calls it")

    def _namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Syntax:
        raise self.refuse("`:=` here", node, "assign in a statement of its own before")

    def _passing(self, node: Passing, scope: Scope) -> Syntax:
        what = f"a call of {ast.unparse(node.call.func)} here, as it changes {', '.join(node.names)}"
        raise self.refuse(what, node, "call it in a statement of its own before")

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Syntax:
        span = self.span(node)
        if any(isinstance(one, ast.Starred) for one in node.elts):
            return self._spread(node.elts, quoted(END, span), scope)
        return self.tuple_of(self.operands(node.elts, scope), span)

    def tuple_of(self, items: Sequence[Syntax], span: Span) -> Syntax:
        return form(span, "cons*", *items, quoted(END, span)) if items else quoted(END, span)

    def _list(self, node: ast.List | ast.Set, scope: Scope) -> Syntax:
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
            value = (
                self.argument(node.value, scope)
                if isinstance(node, ast.Starred)
                else self.expression(node, scope)
            )
            kept = name(self.fresh("item"), span)
            bindings.append((kept, form(span, "%py-items", value) if is_spread else value))
            parts.append(("%py-joined" if is_spread else "cons", kept, span))
        for procedure, kept_item, span in reversed(parts):
            result = form(span, procedure, kept_item, result)
        return self.bound(bindings, result, self.span(nodes[0]))

    def _binop(self, node: ast.BinOp, scope: Scope) -> Syntax:
        left, right = [self.operand(one, node.op, scope) for one in (node.left, node.right)]
        return self.binary(node.op, left, right, (self.kind(node.left), self.kind(node.right)), node)

    def operand(self, node: ast.expr, operator: ast.operator, scope: Scope) -> Syntax:
        """An operand, which is a number if it is a truth: `x * (y > 0)`."""
        value = self.expression(node, scope)
        is_truth = isinstance(node, ast.Compare) or self.is_boolean(node)
        return (
            form(self.span(node), "%py-number", value) if is_truth and type(operator) in ARITHMETIC else value
        )

    def binary(
        self, operator: ast.operator, left: Syntax, right: Syntax, kinds: tuple[int, int], node: ast.AST
    ) -> Syntax:
        """An operator applied to operands of these kinds."""
        if type(operator) in BITS:
            return form(self.span(node), BITS[type(operator)], left, right)
        if isinstance(operator, ast.Pow) and (few := _small_power(node)) is not None:
            return form(self.span(node), few, left)
        primitive, procedure = ARITHMETIC[type(operator)]
        # the sum of a number is one; a product of a number may repeat a list
        is_certain = (max if isinstance(operator, ast.Add) else min)(kinds) > OTHER
        return form(self.span(node), primitive if primitive and is_certain else procedure, left, right)

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Syntax:
        span = self.span(node)
        if isinstance(node.op, ast.Not):
            return form(span, "not", self.test(node.operand, scope))
        if isinstance(node.op, ast.Invert):
            return form(span, "%py-bit-not", self.expression(node.operand, scope))
        if isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float):
            self._constant(node.operand, scope)  # which refuses what is too large
            return literal(float(ast.literal_eval(node)), span)
        operand = self.operand(node.operand, ast.Sub(), scope)
        if isinstance(node.op, ast.USub):
            return (
                self.negated(operand, span) if self.kind(node.operand) == OTHER else form(span, "-", operand)
            )
        return form(span, "+", operand)

    def negated(self, x: Syntax, span: Span) -> Syntax:
        """-x, of any value."""
        return form(span, "-", x)

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

    def bound(self, bindings: Sequence[tuple[Syntax, Syntax]], body: Syntax, span: Span) -> Syntax:
        """A body with bindings around it, the first outermost."""
        for binding in reversed(bindings):
            body = self.let([binding], body, span)
        return body

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
        outside_ = (
            [self.object_of(one, scope) for one in nodes]
            if isinstance(node.ops[0], ast.Is | ast.IsNot)
            else []
        )
        if len(outside_) == 2 and MISSING not in outside_:
            is_same = (outside_[0] is outside_[1]) == isinstance(node.ops[0], ast.Is)
            return literal(TRUE if is_same else FALSE, span)
        values: list[Syntax] = []
        bindings: list[tuple[Syntax, Syntax]] = []
        for number, one in enumerate(nodes):
            is_set = (
                number > 0
                and isinstance(node.ops[number - 1], ast.In | ast.NotIn)
                and isinstance(one, ast.Set)
            )
            is_compared = isinstance(node.ops[max(number - 1, 0)], tuple(COMPARISONS))
            if is_set and isinstance(one, ast.Set):
                value = self._list(one, scope)
            else:
                value = self.compared(one, scope) if is_compared else self.expression(one, scope)
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
            tests.append(self._comparison(operator, values[number], values[number + 1], way, node, scope))
        result = tests[0] if len(tests) == 1 else form(span, "and", *tests)
        for binding in reversed(bindings):
            result = self.let([binding], result, span)
        return result

    def compared(self, node: ast.expr, scope: Scope) -> Syntax:
        """An operand of a comparison by value."""
        return self.expression(node, scope)

    def _comparison(
        self,
        operator: ast.cmpop,
        left: Syntax,
        right: Syntax,
        way: int,
        node: ast.Compare,
        scope: Scope,
    ) -> Syntax:
        """`way`: which of COMPARISONS."""
        span = self.span(node)
        if isinstance(operator, ast.Is | ast.IsNot):
            known_ = [
                one.value if isinstance(one, ast.Constant) else self.object_of(one, scope)
                for one in (node.left, *node.comparators)
            ]
            if not any(one is None or isinstance(one, bool) for one in known_):
                is_function = any(
                    one is not MISSING and callable(one) and not isinstance(one, type) for one in known_
                )
                hint = "decorate the function by vlad.function, and use ==" if is_function else "use =="
                raise self.refuse("`is` between values", node, f"values have no identity: {hint}")
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

    @abstractmethod
    def chosen(self, test: ast.expr, scope: Scope, then: Emit, otherwise: Emit, span: Span) -> Syntax:
        """One of two, by a condition that may assign (conditions.py)."""

    def _tested(self, node: Tested, scope: Scope) -> Syntax:
        return form(self.span(node), node.procedure, *self.operands(node.operands, scope))

    _computed = _tested

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Syntax:
        self.expect_known_calls(node)
        return self.procedure(node, scope)

    @abstractmethod
    def expect_known_calls(self, node: ast.Lambda) -> None:
        """Raise VladError if a lambda of any number of arguments is a value, which its calls do not know."""

    @abstractmethod
    def procedure(self, node: Function, scope: Scope) -> Syntax:
        """A nested function."""

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Syntax:
        value = self.object_of(node, scope)
        if value is not MISSING:
            return self.constant_of(value, node.attr, node)
        if isinstance(self.object_of(node.value, scope), types.ModuleType):
            module = ast.unparse(node.value)
            meant = among(
                node.attr, {one: f"{module}.{one}" for one in dir(self.object_of(node.value, scope))}
            )
            hint = f"the module has nothing of that name{f'; {meant}' if meant else ''}"
            raise self.refuse(f"`{ast.unparse(node)}`", node, hint)
        procedure = ATTRIBUTES_OF_VALUES.get(node.attr)
        if procedure is None:
            raise self.refuse(f"the attribute {node.attr}", node, f"an array has {', '.join(ATTRIBUTES)}")
        return form(self.span(node), procedure, self.expression(node.value, scope))

    @abstractmethod
    def argument(self, node: ast.expr, scope: Scope) -> Syntax:
        """What consumes an iterable at once is given: a generator is a list then (turns.py)."""

    @abstractmethod
    def class_of(self, node: ast.expr, scope: Scope) -> ast.expr | None:
        """The value of whose class an expression is (exceptions.py)."""

    @abstractmethod
    def class_name(self, value: ast.expr, scope: Scope, is_whole: bool = False) -> Syntax:
        """The name of the class of a value."""

    @abstractmethod
    def index(self, node: ast.expr, scope: Scope) -> Syntax:
        """An index, or a key."""

    # What is known without running.

    def is_boolean(self, node: ast.expr) -> bool:
        """Is the value surely a boolean? A comparison of arrays is none, and is no test in Python, either."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, bool)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not)
        if isinstance(node, Tested):
            return not isinstance(node, Computed)
        if isinstance(node, Caught):
            return True
        if isinstance(node, Outcome):
            return self.is_boolean(node.of)
        if isinstance(node, ast.BoolOp):
            return all(self.is_boolean(value) for value in node.values)
        if isinstance(node, ast.Compare):
            others = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            plain = all(isinstance(operator, others) for operator in node.ops)
            reals = all(self.kind(one) == REAL for one in (node.left, *node.comparators))
            return plain or reals or len(node.ops) > 1
        return False

    def has_other_result(self, node: ast.UnaryOp | ast.BinOp) -> bool:
        """May the result of an operator be neither a number nor an array, as what is in use gives it another meaning?"""
        return False

    def kind(self, node: ast.expr) -> int:
        """What the value surely is, unless evaluating it is an error."""
        if type(node) in _WITHOUT_KIND:
            return OTHER
        match node:
            case ast.Constant():
                return REAL if type(node.value) in (int, float) else OTHER
            case ast.Name():
                if node.id in self._of_comprehensions:
                    return OTHER
                if node.id in self.locals_:
                    return self.kinds.get(node.id, OTHER)
                return REAL if type(self.object_of(node, NOWHERE)) is float else OTHER
            case Outcome(of=value):
                return self.kind(value)
            case ast.UnaryOp():
                if isinstance(node.op, ast.Not | ast.Invert) or self.has_other_result(node):
                    return OTHER
                return max(ARRAY, self.kind(node.operand))
            case ast.IfExp():
                return min(self.kind(node.body), self.kind(node.orelse))
            case ast.BinOp():
                if type(node.op) in BITS or self.has_other_result(node):
                    return OTHER
                kinds = self.kind(node.left), self.kind(node.right)
                if isinstance(node.op, ast.Add):
                    return min(kinds) if OTHER not in kinds else min(ARRAY, max(kinds))
                return min(kinds) if isinstance(node.op, ast.Mult) else max(ARRAY, min(kinds))
            case ast.Call() | ast.Attribute():
                value = self.object_of(node.func if isinstance(node, ast.Call) else node, NOWHERE)
                if isinstance(node, ast.Attribute):
                    return REAL if type(value) is float else OTHER
                found = known(value)
                if found is None or not found.is_number:
                    return OTHER
                return REAL if found.is_real else ARRAY
        return OTHER


def _small_power(node: ast.AST) -> str | None:
    """The procedure of `x ** 3` and `x **= 3`, if there is one."""
    match node:
        case ast.BinOp(right=ast.Constant(value=int() | float() as exponent)):
            return POWERS.get(exponent)
        case ast.AugAssign(value=ast.Constant(value=int() | float() as exponent)):
            return POWERS.get(exponent)
    return None
