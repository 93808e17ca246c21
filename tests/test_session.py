"""A session as Python programs use it: what goes wrong is a VladError, and what Python's protocols expect it to be."""

from __future__ import annotations

from collections.abc import Callable
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


def test_suggestions_do_not_speak_of_what_is_inside(session: vlad.Session) -> None:
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
