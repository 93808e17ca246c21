"""Nodes that a translation adds to the trees of Python (desugar.py, handlers.py), and the places of added nodes.

They have methods of translation as Python's have.
"""

from __future__ import annotations

import ast
import copyreg
from types import FunctionType
from typing import Any


class Added(ast.expr):
    """A node that is no class of `ast`. It can be copied, as they can."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self),), vars(self)  # type: ignore[attr-defined]  # as of every other class


class Tested(Added):
    """A procedure of the library applied to operands. Its result is a boolean."""

    _fields = ("operands",)

    def __init__(self, procedure: str, operands: list[ast.expr]) -> None:
        super().__init__()
        self.procedure = procedure
        self.operands = operands


class Computed(Tested):
    """The same, with any result."""


class Given(Added):
    """A value of Python's that the text does not name."""

    _fields = ()

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Handed(Added):
    """A call that also returns the values of arguments which it changes in place.

    changed   the arguments
    kept      the arguments that something else may have afterwards
    function  what is called, outside or in the tree; its parameters are `own`
    is_shared  may the result be an item of such an argument? Then it must be a number or the like
    maybe     for each: are there changes, as `x += y`, that are none of the argument if it is a number?
    is_sure   is there an argument that is changed whatever it is?
    """

    _fields = ("call",)

    def __init__(
        self,
        call: ast.Call,
        changed: tuple[ast.Name, ...],
        kept: list[ast.expr],
        function: FunctionType | ast.FunctionDef,
        own: tuple[str, ...],
        is_shared: bool,
        maybe: tuple[bool, ...],
        is_sure: bool,
    ) -> None:
        super().__init__()
        self.maybe = maybe
        self.is_sure = is_sure
        self.call = call
        self.changed = changed
        self.kept = kept
        self.function = function
        self.own = own
        self.is_shared = is_shared


class Positional(Added):
    """The attribute that a class pattern compares by place."""

    _fields = ("subject", "kind")

    def __init__(self, subject: ast.expr, kind: ast.expr, place: int) -> None:
        super().__init__()
        self.subject = subject
        self.kind = kind
        self.place = place


class Capture(ast.NamedExpr):
    """An assignment within a condition, which holds whatever the value is."""


class KeptDefault(ast.Name):
    """The name of a default where it is evaluated: a function made afterwards has the value of that time."""


class Attempted(Added):
    """What evaluating an expression, `raise` or `assert` leads to: a value, or an error that is caught."""

    _fields = ("value",)

    def __init__(self, value: ast.expr | ast.Raise | ast.Assert) -> None:
        super().__init__()
        self.value = value


class Parts(Added):
    """The parts of a value that is unpacked, in a list. `targets`: what they are assigned to."""

    _fields = ("value",)

    def __init__(self, value: ast.expr, targets: list[ast.expr]) -> None:
        super().__init__()
        self.value = value
        self.targets = targets


class Outcome(Added):
    """The value that an attempt led to. `of`: the expression that has it."""

    _fields = ("attempt",)

    def __init__(self, attempt: ast.expr, of: ast.expr) -> None:
        super().__init__()
        self.attempt = attempt
        self.of = of


class Caught(Added):
    """Is what an attempt led to an exception of these kinds?"""

    _fields = ("attempt", "kinds")

    def __init__(self, attempt: ast.expr, kinds: list[ast.expr]) -> None:
        super().__init__()
        self.attempt = attempt
        self.kinds = kinds


class Constructed(Added):
    """What the constructor of a class of exceptions makes: its arguments and attributes, a tuple.

    call    the call of it
    kind    the class
    after   it is the next constructor of the class behind this one
    before  the arguments that the exception has until then
    """

    _fields = ("call", "before")

    def __init__(self, call: ast.Call, kind: type, after: FunctionType | None, before: ast.expr) -> None:
        super().__init__()
        self.call = call
        self.kind = kind
        self.after = after
        self.before = before


class Failure(Added):
    """In a handler: the attempt that led to the exception, which a function returns instead of a value."""

    _fields = ()


class HandedBack(Added):
    """The result of a call, which raises the exception again if it is a failure."""

    _fields = ("result",)

    def __init__(self, result: ast.expr) -> None:
        super().__init__()
        self.result = result


class Again(Added):
    """The exception that an attempt led to, to be raised again."""

    _fields = ("attempt",)

    def __init__(self, attempt: ast.expr) -> None:
        super().__init__()
        self.attempt = attempt


def at(node: Any, place: ast.AST) -> Any:
    """A new node, in the place of one of the text."""
    return ast.fix_missing_locations(ast.copy_location(node, place))


def between(node: Any, first: ast.AST, last: ast.AST) -> Any:
    """A new node, from the beginning of one to the end of another one."""
    node = ast.copy_location(node, first)
    node.end_lineno, node.end_col_offset = last.end_lineno, last.end_col_offset  # type: ignore[attr-defined]  # of the text
    return node


def name_at(own: str, place: ast.AST, context: ast.expr_context | None = None) -> ast.Name:
    found: ast.Name = at(ast.Name(own, context or ast.Load()), place)
    return found
