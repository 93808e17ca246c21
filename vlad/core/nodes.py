"""The grammar of core, the one intermediate language, as frozen data compared by identity.

    atom    ::= variable | constant | global
    rhs     ::= atom | (operator operand ...) | (primitive operand ...) | (if atom body body) | (lambda (x ...) body)
              | (record owner atom ...) | (field owner i atom)
    binding ::= x = rhs  |  letrec (x = lambda) ...
    body    ::= binding* result          result ::= atom | call | if

Every operand is an atom, every variable is bound once, and a body is flat: the depth of nodes is the nesting of lambdas and
branches, not the length of a program. A lambda takes its parameters by the tuple rule: `(f a b c)` is f of (a . (b . c)), and
`(lambda (x y) …)` destructures its argument as (x . y); there is always at least one parameter, and deeper patterns
are bindings of its body. Variables are compared by identity; their names are for display.

`record` builds the environment sensitivity (or tangent) of a closure of its owner, a lambda: one field for each variable
of the owner's environment; `field` extracts one. They look like closures of that lambda (Pearlmutter & Siskind 2008,
section 4; the environment of a letrec's member is that of its group).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar, dataclass_transform, final

from vlad.data.source import Span
from vlad.data.values import Global, Primitive, TangentSpace, Value


class WrittenName(str):
    """The name of a variable as written in the program; all other names are generated."""

    __slots__ = ()


class DerivedName(str):
    """The name of a variable that a transform computes of another one, whose name is `of`: its tangent, its sensitivity."""

    __slots__ = ("of",)

    of: str

    def __new__(cls, of: str, suffix: str) -> DerivedName:
        name = super().__new__(cls, of + suffix)
        name.of = of
        return name

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


Node = TypeVar("Node")


@dataclass_transform(frozen_default=True, eq_default=False)
def _node(node: type[Node]) -> type[Node]:
    """Frozen for mypy. At run time a frozen dataclass would take three times as long to construct."""
    return dataclass(slots=True, eq=False)(node)


@dataclass_transform(frozen_default=True, eq_default=False)
def _node_with_weak_references(node: type[Node]) -> type[Node]:
    return dataclass(slots=True, eq=False, weakref_slot=True)(node)


RESULT = "result"  # what the sensitivity that a backpropagator is given is of


@final
class Variable:
    """A bound variable, compared by identity. Its name is a WrittenName if it is written in the program."""

    __slots__ = ("name", "__weakref__")

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


@final
@_node
class Constant:
    """A value known when the text is read: number, quoted datum, a primitive as a value."""

    value: Value


@final
@_node
class GlobalReference:
    """The value of a top-level name at the time of evaluation. Never captured."""

    cell: Global
    span: Span | None = None


Atom: TypeAlias = Variable | Constant | GlobalReference


@final
@_node
class Call:
    """(operator operand ...): apply an unknown procedure to at least one operand."""

    operator: Atom
    operands: tuple[Atom, ...]
    span: Span | None = None


@final
@_node
class Apply:
    """(primitive operand ...): apply a known primitive to as many operands as its row names."""

    primitive: Primitive
    operands: tuple[Atom, ...]
    span: Span | None = None


@final
@_node
class If:
    test: Atom
    consequent: Body
    alternative: Body
    span: Span | None = None


@final
@_node_with_weak_references
class Lambda:
    """The only node that captures variables. `free` lists them in the order in which closures hold them. A backpropagator, which
    the reverse transform made, has the name of its procedure in `backpropagator_of`; for all other lambdas that is None.
    `fields` are the names of the fields, one of which may be a RestField, if its closures are the records of a type, which has
    its name (expand/record_types.py).
    `space`: the rules of that type's tangents, if these are not by field: lambdas over nothing.
    `is_continuation`: is it the rest of a procedure, so that entering it is no step of its own (ad/control.py)?
    """

    parameters: tuple[Variable, ...]
    body: Body
    free: tuple[Variable, ...]
    name: str = ""
    span: Span | None = None
    backpropagator_of: str | None = None
    fields: tuple[str, ...] | None = None
    is_continuation: bool = False
    space: TangentSpace | None = None


@final
@_node
class Record:
    owner: Lambda
    fields: tuple[Atom, ...]
    span: Span | None = None


@final
@_node
class Field:
    """One field of a record over `width` variables."""

    owner: Lambda
    index: int
    width: int
    record: Atom
    span: Span | None = None


Rhs: TypeAlias = Atom | Call | Apply | If | Lambda | Record | Field
Result: TypeAlias = Atom | Call | If


@final
@_node
class Binding:
    variable: Variable
    rhs: Rhs


@final
@_node
class Letrec:
    """Procedures that may refer to each other. Their closures share one environment, `free`, the free variables of the
    group; the members themselves are not in it: a member finds its siblings through their codes.
    """

    members: tuple[tuple[Variable, Lambda], ...]
    free: tuple[Variable, ...]


@final
@_node
class Body:
    bindings: tuple[Binding | Letrec, ...]
    result: Result
