"""What `,core`, `,reverse` and `,forward` print is read back, and computes the same: the whole library, by its own examples.

Each procedure of the library, or its derivative, is replaced by what is read of its text. Then the examples of its
documentation run, and must print what they say.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vlad import Session
from vlad.core.nodes import Lambda
from vlad.core.text import Printer, read_core
from vlad.help import public
from vlad.library import the_library
from vlad.values import Code, Value, is_procedure


def read_back(session: Session, lambda_: Lambda) -> Lambda:
    """The lambda that its text stands for. Its text is printed again to see that it is the same."""
    printer = Printer()
    printer.survey(lambda_)
    text = printer.lambda_(lambda_, 0)
    owners = {label: owner for owner, label in printer.labels.items() if owner not in printer.inside}
    found = read_core(text, session.library.cell, session.machine.table, owners)
    assert isinstance(found, Lambda)
    again = Printer()
    again.survey(found)
    assert again.lambda_(found, 0) == text
    return Lambda(found.parameters, found.body, found.free, lambda_.name, lambda_.span)


def procedures(session: Session) -> Iterator[tuple[str, Value]]:
    for name in the_library().names():
        value = session.library.cell(name).value
        if is_procedure(value) and len(value) == 1:  # closed over nothing: it is its text
            yield name, value


def replace(session: Session, code: Code) -> None:
    """Let a code evaluate what is read of its text."""
    found = read_back(session, session.machine.core_of(code))
    code.lambda_ = found
    code.family.codes[found] = code
    session.machine.await_first_call(code)


def examples_of(session: Session, names: set[str]) -> int:
    """Run the examples of these names; how many there were."""
    count = 0
    for entry in public():
        if entry.name in names:
            for example in entry.examples:
                printed: list[str] = []
                session.machine.write = printed.append
                session.run_text(example.call)
                assert "".join(printed).splitlines() == list(example.shown), (entry.name, example)
                count += 1
    return count


@pytest.mark.parametrize("stage", ["core", "reverse", "forward"])
def test_the_library_read_back_computes_the_same(stage: str) -> None:
    session = Session(tier="evaluate")
    names = set()
    for name, value in procedures(session):
        code = value[0]
        if stage == "reverse":
            code = session.machine.tail_code(code)
        elif stage == "forward":
            code = session.machine.forward_code(code)
        replace(session, code)
        names.add(name)
    assert len(names) > 250
    assert examples_of(session, names) > 250
