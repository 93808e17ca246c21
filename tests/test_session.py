"""A session in Python programs: errors are VladErrors of the types that Python's protocols expect."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad


@pytest.fixture(scope="module", params=["evaluate", "compile"])
def session(request: pytest.FixtureRequest) -> vlad.Session:
    session = vlad.Session(tier=request.param)
    session.eval("(define (scale x by) (* x by))")
    return session


def test_a_name_that_is_not_there(session: vlad.Session) -> None:
    for kind in (vlad.VladError, KeyError):
        with pytest.raises(kind) as caught:
            session["scal"]
        assert caught.value.message == "Unbound variable: scal"
        assert caught.value.hint == "did you mean `scale`?"
        assert str(caught.value).startswith("Error: Unbound variable: scal\n")
    with pytest.raises(vlad.VladError):
        session[0]  # type: ignore[index]


def test_which_names_are_there(session: vlad.Session) -> None:
    assert "scale" in session and "sin" in session and "gradient" in session
    assert "scal" not in session and 3 not in session and "if" not in session
    assert hasattr(session, "scale") and not hasattr(session, "scal")
    assert not hasattr(session["scale"], "nothing")


def test_suggestions_do_not_name_internals(session: vlad.Session) -> None:
    assert not any(name.startswith("%") for name in session.known_names())


NO_COUNTERPARTS: dict[str, Any] = {
    "A Python complex": 1j, "A Python bytes": b"a", "A Python object": object(), "A Python set": {1},
    "A whole number of this size": 10**400, "An array of <U1": np.array(["a"]), "An array of complex128": np.array([1j]),
    "An array with a mask": np.ma.array([1.0], mask=[1]),
}  # fmt: skip


@pytest.mark.parametrize("what", NO_COUNTERPARTS)
def test_values_without_a_counterpart(session: vlad.Session, what: str) -> None:
    value = NO_COUNTERPARTS[what]
    uses: list[Callable[[], Any]] = [
        lambda: session["scale"](value, 2.0),
        lambda: session["scale"](2.0, [1.0, (value,)]),
        lambda: session.__setitem__("it", value),
    ]
    for use in uses:
        for kind in (vlad.VladError, TypeError):
            with pytest.raises(kind, match=f"{what} has no counterpart in the language") as caught:
                use()
        assert caught.value.hint


@pytest.mark.parametrize(
    ("arguments", "got"), [((), "none"), ((1.0,), "1"), ((1.0, 2.0, 3.0), "3"), ((np.ones(2),), "1")]
)
def test_a_wrong_number_of_arguments(session: vlad.Session, arguments: tuple[Any, ...], got: str) -> None:
    session["scale"](1.0, 2.0)  # from here on, machine code is called directly where there is some
    with pytest.raises(vlad.VladError, match=f"scale takes 2 arguments and got {got}") as caught:
        session["scale"](*arguments)
    assert caught.value.hint == "its parameter list is (scale x by)"


WRONG: dict[str, Callable[[vlad.Session], Any]] = {
    "tier is one of auto, compile, evaluate; not 'fast'": lambda _: vlad.Session(tier="fast"),
    "optimize is one of 0, 1, 2, 3; not 4": lambda _: vlad.Session(optimize=4),
    "There is no device tpu": lambda _: vlad.Session(device="tpu"),
    "path is a list of folders, not 'here'": lambda _: vlad.Session("here"),
    "path is a list of folders, not PosixPath('/here')": lambda _: vlad.Session(Path("/here")),  # type: ignore[arg-type]
    "capabilities are a list of names, not 'files'": lambda _: vlad.Session(capabilities="files"),
    "limits are vlad.Limits, not 3": lambda _: vlad.Session(limits=3),  # type: ignore[arg-type]
    "The limit seconds is 0 or more, not nan": lambda _: vlad.Limits(seconds=float("nan")),
    "The limit memory is 0 or more, not -1": lambda _: vlad.Limits(memory=-1),
    "limits are vlad.Limits, not {'seconds': 1}": lambda s: s.eval("1", limits={"seconds": 1}),  # type: ignore[arg-type]
    "The limit output is a number or None, not 'much'": lambda _: vlad.Limits(output="much"),  # type: ignore[arg-type]
    "The limit fuel is a number or None, not 'much'": lambda _: vlad.Limits(fuel="much"),  # type: ignore[arg-type]
    "A program is a text; this is a Python bytes": lambda s: s.eval(b"(+ 1 2)"),
    "A program is a text; this is a Python int": lambda s: s.run_text(3),
    "The path of a file is a string, not 3": lambda s: s.run(3),
    "A name is a string, not 3": lambda s: s.__setitem__(3, 1.0),
    "Cannot find: nowhere": lambda s: s.check("nowhere"),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_use(session: vlad.Session, message: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        WRONG[message](session)
    assert caught.value.message == message


def test_defined_names_are_those_of_the_program(session: vlad.Session) -> None:
    before = session.defined()
    session.eval("(define (area r) (* pi r r))")
    assert session.eval("(length (list (area 1)))") == 1
    session["rate"] = 0.5
    assert session.defined() == [*before, "area", "rate"]


def test_keywords_cannot_be_defined() -> None:
    session = vlad.Session()
    for action in (lambda: session.eval("(define if 3)"), lambda: session.__setitem__("if", 3)):
        with pytest.raises(vlad.VladError, match="if is a keyword and cannot be defined") as caught:
            action()
        assert caught.value.code == "reserved-name"
    with pytest.raises(vlad.VladError, match="when is a keyword"):
        session.eval("(define (when x) x)")
    with pytest.raises(vlad.VladError, match="if is a keyword and cannot be defined"):
        session.eval("(define-syntax if (syntax-rules () ((_ a b c) a)))")
    with pytest.raises(vlad.VladError, match="let is a keyword"):
        session.define(let)
    assert session.eval("(if #t 1 2)") == 1.0
    assert session.eval("(define (f if) (+ if 1)) (f 2)") == 3.0  # a local name
    assert session.eval("(let-syntax ((if (syntax-rules () ((_ a) a)))) (if 5))") == 5.0
    session["list"] = session.eval("(lambda all 'mine)")
    assert session.eval("(list 1 2)") == "mine"
    session["a name"] = 4
    assert session.eval("|a name|") == 4.0


def let(x: float) -> float:
    return x


def test_attributes_are_written_as_they_are_read() -> None:
    session = vlad.Session()
    session.eval("(define half-life 3) (define (twice x) (* 2 half-life))")
    session.foo = 3
    assert session["foo"] == session.foo == session.eval("foo") == 3.0
    session.half_life = 5
    assert session["half-life"] == 5.0 and "half_life" not in session and session.twice(0.0) == 10.0
    session.new_name = 1
    assert session["new_name"] == session.new_name == 1.0
    session.path = ["/somewhere"]
    assert "path" not in session and session.path == ["/somewhere"]
    with pytest.raises(AttributeError, match="A session has an attribute eval of its own") as caught:
        session.eval = 3  # type: ignore[method-assign, assignment]
    assert isinstance(caught.value, vlad.VladError) and caught.value.hint is not None
    assert 'session["eval"]' in caught.value.hint
    with pytest.raises(TypeError, match="has no counterpart"):
        session.limits = object()
    del session.foo
    assert "foo" not in session
    with pytest.raises(AttributeError, match="of its own"):
        del session.path


def test_subclasses_may_declare_attributes_of_their_own() -> None:
    class Notebook(vlad.Session):
        cells: list[str]

        def __init__(self) -> None:
            super().__init__()
            self.cells = []

    book = Notebook()
    book.cells.append("(+ 1 2)")
    assert book.cells == ["(+ 1 2)"] and "cells" not in book


def test_the_names_of_a_program_are_those_of_a_mapping() -> None:
    session = vlad.Session()
    assert list(session) == [] and len(session) == 0 and session
    session.eval("(define a 1) (define (f x) (* a x))")
    session["b"] = [1, 2]
    assert list(session) == session.keys() == ["a", "f", "b"] and len(session) == 3
    assert "a" in session and "car" in session
    values = dict(session)
    assert values["a"] == 1.0 and values["b"] == [1.0, 2.0] and values["f"](3.0) == 3.0
    assert repr(session) == "<vlad session of 3 definitions>"


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_definitions_can_be_deleted(tier: str) -> None:
    session = vlad.Session(tier=tier)
    session.eval("(define a 1) (define (f x) (* a x)) (define (square x) 'mine) (define (g x) (square x))")
    assert session["f"](3.0) == 3.0 and session["g"](3.0) == "mine"
    del session["a"]
    assert "a" not in session and list(session) == ["f", "square", "g"]
    with pytest.raises(vlad.VladError, match="Unbound variable: a"):
        session["f"](3.0)
    session["a"] = 2
    assert session["f"](3.0) == 6.0
    del session["square"]
    assert session["g"](3.0) == 9.0  # as in every program
    session["car"] = 1
    del session["car"]
    assert session.eval("(car '(5))") == 5.0
    with pytest.raises(KeyError, match="Unbound variable: nope"):
        del session["nope"]
    with pytest.raises(KeyError, match="Not defined by the program: car"):
        del session["car"]


def test_sessions_are_neither_copied_nor_pickled() -> None:
    session = vlad.Session()
    for action in (pickle.dumps, copy.copy, copy.deepcopy):
        for kind in (vlad.VladError, TypeError):
            with pytest.raises(kind, match="Cannot be saved or copied: a session") as caught:
                action(session)
        assert caught.value.code == "cannot-save"


def test_paths_may_be_those_of_pathlib(tmp_path: Path) -> None:
    (tmp_path / "area.vlad").write_text("(define (area r) (* pi r r))", encoding="utf-8")
    (tmp_path / "main.vlad").write_text('(import "area")\n(area 1)', encoding="utf-8")
    printed: list[str] = []
    session = vlad.Session([tmp_path], write=printed.append)
    session.load(tmp_path / "area.vlad")
    assert "area" in session
    session.run(tmp_path / "main.vlad")
    assert printed and session.path == [str(tmp_path)]
    session.eval('(import "area")')
    assert vlad.Session().check(tmp_path / "area.vlad")[1] == []
    assert list(vlad.Session().expand(tmp_path / "area.vlad"))


def test_an_error_in_a_module_names_the_form_that_led_there(tmp_path: Path) -> None:
    (tmp_path / "firsts.vlad").write_text(
        "(define (first-of x) (car x))\n(export first-of)", encoding="utf-8"
    )
    (tmp_path / "broken.vlad").write_text("(define (f x) (car x))\n(f 1)", encoding="utf-8")
    session = vlad.Session([tmp_path], tier="evaluate")
    text = '(import "firsts")\n(list 1\n  (map (lambda (x) (+ 1 (first-of x))) (list 2)))'
    for program, lines in {
        text: ["first-of", "loop", "the top level at main:3:25"],
        '(import "firsts")\n(first-of 2)': ["first-of", "the top level at main:2:1"],  # a tail call
        '(import "firsts")\n(define (g x) (+ 1 (first-of x)))\n(g 2)': [
            "first-of",
            "g at main:2:20",
            "the top level at main:3:1",
        ],
        "(list\n (car 2))": [],
        "(first-of 2)": ["first-of"],
        '(import "broken")': ["f", "the top level"],
        '1 (include "broken")': ["f", "the top level", "the include at main:1:3"],
    }.items():
        with pytest.raises(vlad.VladError) as caught:
            session.eval(program, "main")
        trace = caught.value.backtrace
        own = [line for line in trace if line.span is not None and line.span.source.name == "main"]
        assert [str(line) if line in own else line.procedure for line in trace] == lines
        assert all(str(caught.value).endswith(f"\n  in {line}") for line in own[-1:])


def test_limits_are_shown_as_they_are_written() -> None:
    assert (
        repr(vlad.Limits(seconds=1, fuel=10)) == "Limits(fuel=10, seconds=1)"
        and repr(vlad.Limits()) == "Limits()"
    )
