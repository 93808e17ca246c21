"""Limits, on every tier: each ends in its own exception, and the session goes on."""

from __future__ import annotations

from typing import Any

import pytest

import vlad

TIERS = ("evaluate", "auto", "compile")
BOMBS = {
    "one line after the other": "(let loop ((i 0)) (if (< i 100000) (begin (write i) (loop (+ i 1))) 3))",
    "a list that shares itself": "(let loop ((i 0) (l '(1))) (if (< i 60) (loop (+ i 1) (cons l l)) (display l)))",
    "a long string": '(let loop ((i 0) (s "ab")) (if (< i 12) (loop (+ i 1) (string-append s s)) (display s)))',
    "a tensor": "(display (list (ones 1000) (ones 1000) (iota 1000)))",
}


def session_of(tier: str, **limits: Any) -> tuple[vlad.Session, list[str]]:
    written: list[str] = []
    return vlad.Session(tier=tier, limits=vlad.Limits(**limits), write=written.append), written


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("bomb", BOMBS)
def test_output(bomb: str, tier: str) -> None:
    session, written = session_of(tier, output=1000)
    with pytest.raises(vlad.LimitExceeded, match="writes more than 1000 characters") as caught:
        session.eval(BOMBS[bomb])
    assert caught.value.code == "too-much-output" and caught.value.span is not None
    assert len("".join(written)) <= 1000
    written.clear()
    session.eval('(display "as much as before, in the next evaluation")')
    assert written == ["as much as before, in the next evaluation"]


@pytest.mark.parametrize("tier", TIERS)
def test_output_up_to_the_last_character(tier: str) -> None:
    session, written = session_of(tier, output=10)
    session.eval('(begin (display "12345") (display "67890"))')
    assert "".join(written) == "1234567890"
    with pytest.raises(vlad.LimitExceeded):
        session.eval('(begin (display "12345") (display "67890") (display "1"))')
