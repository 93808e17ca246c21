"""What a text defines, and what is wrong with it, without running it: for editors.

In: a session, and the text of a program that may be unfinished.  Out: a `Survey`: definitions with their places, all errors of
the reader and the expander, and names without a meaning. An error in one form does not affect the others. The session then knows
the names of the program: procedures are made, and no other value is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vlad.core.names import lambdas_within, operands, sub_bodies
from vlad.core.nodes import Body, Letrec
from vlad.core.nodes import GlobalReference as Reference
from vlad.data.errors import Notice, VladError, unbound_variable
from vlad.data.source import Source, Span
from vlad.data.values import UNSPECIFIED
from vlad.expand.items import Definition, Expression
from vlad.session.session import Session
from vlad.session.top_level import only_lambda
from vlad.session.trying import try_forms


@dataclass(frozen=True, slots=True)
class Defined:
    """A name that a text defines, and the form that does it."""

    name: str
    span: Span
    is_procedure: bool


@dataclass(slots=True)
class Survey:
    source: Source
    definitions: list[Defined] = field(default_factory=list)
    errors: list[VladError] = field(default_factory=list)
    remarks: list[Notice] = field(default_factory=list)
    is_read: bool = True  # has the text a syntax without errors?


def survey(session: Session, source: Source) -> Survey:
    """Look at a text, in a session of its own."""
    found = Survey(source)
    top_level = session._top_level
    bodies: list[Body] = []

    def note(item: Definition | Expression, shown: bool) -> None:
        is_own = item.span.source is source
        if is_own:
            bodies.append(item.body)
        if isinstance(item, Definition):
            lambda_ = only_lambda(item.body)
            if is_own:
                found.definitions.append(Defined(item.cell.name, item.span, lambda_ is not None))
            made = UNSPECIFIED if lambda_ is None else top_level.machine.top_level(lambda_)
            top_level.define(item.cell, made)

    top_level.note, top_level.library.remark = note, found.remarks.append
    try:
        tried = try_forms(top_level, source)
    finally:
        top_level.note = None
    found.remarks[:] = [one for one in found.remarks if one.span is not None and one.span.source is source]
    found.is_read = tried.is_read
    for error, place in tried.errors:
        if error.span is None or error.span.source is not source:  # of a file that it imports
            error.span = place
        found.errors.append(error)
    for body in bodies:
        for reference in references(body):
            if not hasattr(reference.cell, "value"):
                unbound = unbound_variable(reference.cell.name, reference.span)
                reported = tried.reported(unbound, top_level.suggestions.suggest)
                if isinstance(reported, Notice):
                    found.remarks.append(reported)
                elif reported is not None:
                    found.errors.append(reported)
    return found


def references(body: Body) -> Iterator[Reference]:
    """The references to globals in a body, and in all procedures inside."""
    whole = [body]
    for outer in whole:
        whole += [lambda_.body for lambda_ in lambdas_within(outer)]
        arms = [outer]
        for one in arms:
            of_bindings = [binding.rhs for binding in one.bindings if not isinstance(binding, Letrec)]
            for rhs in (*of_bindings, one.result):
                yield from [atom for atom in operands(rhs) if type(atom) is Reference]
                arms += sub_bodies(rhs)
