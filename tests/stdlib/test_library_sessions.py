"""Sessions share what the library's definitions expand to, and nothing else of it."""

from __future__ import annotations

import gc
import weakref

import pytest
from amounts import THOROUGH

import vlad
from vlad.core.nodes import Constant, GlobalReference, Lambda
from vlad.core.text import print_core
from vlad.data.values import Global, is_procedure
from vlad.expand.items import Item
from vlad.reader.parser import Syntax
from vlad.session import session as sessions
from vlad.session.library import Library
from vlad.session.top_level import TopLevel


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    """One that no session has used."""
    found = Library()
    monkeypatch.setattr(sessions, "the_library", lambda: found)
    return found


def loaded(names: list[str]) -> vlad.Session:
    session = vlad.Session(tier="evaluate")
    for name in names:
        session.library.cell(name)
    cores(session, names)
    return session


def cores(session: vlad.Session, names: list[str]) -> dict[str, Lambda]:
    values = {name: session.library.cells[name].value for name in names}
    return {name: session.machine.core_of(value[0]) for name, value in values.items() if is_procedure(value)}


@pytest.mark.own_tier
def test_a_later_session_has_the_same_core_over_its_own_globals(library: Library) -> None:
    names = [*library.names()][:: 1 if THOROUGH else 9]
    first, second, third = [loaded(names) for _ in range(3)]
    assert len(library._expanded) > len(names) - 5
    assert first.library.defined.keys() == second.library.defined.keys() == third.library.defined.keys()
    found = [cores(session, names) for session in (first, second, third)]
    assert found[0].keys() == found[2].keys() and len(found[0]) > len(names) - 20
    for name, core in found[2].items():
        assert print_core(core) == print_core(found[0][name]) == print_core(found[1][name])
    for session in (first, second):
        of_others = set(map(id, session.library.cells.values()))
        assert of_others.isdisjoint(map(id, third.library.cells.values()))


@pytest.mark.own_tier
def test_what_is_kept_has_no_values(library: Library) -> None:
    """It would keep the session alive to which they belong."""
    text = "((gradient (lambda (l) (fold + 0 (map (lambda (x) (* x x)) l)))) '(1 2))"
    of_sessions = []
    for _ in range(4):
        session = vlad.Session(tier="evaluate")
        assert session.eval(text) == [2.0, 4.0]
        of_sessions.append(weakref.ref(session.machine))
        session.close()
        del session
    gc.collect()
    assert "fold" in library._expanded and [one() for one in of_sessions] == [None] * 4


def test_a_definition_of_one_session_does_not_reach_another(library: Library) -> None:
    text = "(list (sum-of '(1 2 3)) (map car '((1) (2))))"
    for number in range(4):
        session = vlad.Session(tier="evaluate")
        session.eval(f"(define (fold f a l) {number}) (define (sum-of l) (fold + 0 l))")
        assert session.eval(text) == [float(number), [1.0, 2.0]]


def test_an_interrupt_while_names_are_loaded(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is loaded by its next use."""
    loaded(["gradient"])
    loaded(["gradient"])
    session = vlad.Session(tier="evaluate")
    was = session.library.cell

    def interrupted(name: str) -> Global:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(session.library, "cell", interrupted)
        library.expanded("gradient", session.library)
    assert session.library.cell == was and "gradient" not in session.library.defined
    assert session.eval("((gradient (lambda (x) (* x x))) 3)") == 6.0


def test_an_interrupt_while_a_procedure_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next call expands it again."""
    session = vlad.Session(tier="evaluate")
    code = session.library.cell("fold").value[0]

    def interrupted(self: TopLevel, name: str) -> list[Item]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(TopLevel, "_library_items", interrupted)
        session.machine.core_of(code)
    assert session.eval("(fold + 0 '(1 2))") == 3.0


def test_a_procedure_that_is_not_called_is_not_expanded(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    was = Library.data

    def data(self: Library, name: str) -> list[Syntax]:
        read.append(name)
        return was(self, name)

    monkeypatch.setattr(Library, "data", data)
    session = vlad.Session(tier="evaluate")
    assert session.eval("(if (= 1 1) (fold + 0 '(1 2)) (matrix-function sin 3))") == 3.0
    assert "fold" in read and "matrix-function" not in read
    assert "matrix-function" in session.library.defined


def test_what_a_procedure_needs_is_defined_before_it_is_expanded() -> None:
    """The compiler's thread may expand it, while values of the library are evaluated by the session's own thread only. What
    keywords expand to is not among the words of a definition: it must not need such a value, either.
    """
    session = vlad.Session(tier="evaluate")
    library, top_level = session._library, session._top_level
    values = {
        name
        for name in library.names()
        if not top_level._is_late(name) and not is_closed(session.library.cell(name).value)
    }
    assert "pi" in values and "%closures" in values

    def reached(name: str) -> set[str]:
        found, work = set(), [name]
        while work:
            one = work.pop()
            if one not in found:
                found.add(one)
                work += library.mentioned(one)
        return found

    wrong = []
    for name in library.names():
        if top_level._is_late(name):
            core = session.machine.core_of(session.library.cell(name).value[0])
            mentioned = set(library.mentioned(name))
            made = {one for one in referred(core) if one in library.index()} - mentioned
            wrong += [(name, one) for one in made if reached(one) & values]
    assert wrong == []


def is_closed(value: object) -> bool:
    return is_procedure(value) and len(value) == 1


def referred(core: object) -> set[str]:
    """The names of the globals in the core of a procedure."""
    found, work = set(), [core]
    while work:
        one = work.pop()
        if isinstance(one, GlobalReference):
            found.add(one.cell.name)
        elif isinstance(one, tuple):
            work += one
        elif hasattr(type(one), "__match_args__") and not isinstance(one, Constant):
            work += [getattr(one, field) for field in type(one).__match_args__]
    return found
