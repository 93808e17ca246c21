"""A session repeats little of what an earlier one of the process has done with the library."""

from __future__ import annotations

from typing import Any

import pytest

import vlad
from vlad.evaluate import emit_python
from vlad.session import library

TEXT = "((gradient (lambda (l) (fold + 0 (map sin l)))) '(1 2))"


def test_the_library_is_read_and_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = vlad.Session(tier="evaluate").eval(TEXT)
    compiled = emit_python._compiled_before.cache_info().misses
    monkeypatch.setattr(library, "read", lambda source: pytest.fail(f"{source.name} is read again"))
    assert vlad.Session(tier="evaluate").eval(TEXT) == first
    assert emit_python._compiled_before.cache_info().misses == compiled


def test_functions_of_two_sessions_share_no_code() -> None:
    """Python adapts the instructions of a code object to its function's globals."""

    def native() -> Any:
        session = vlad.Session(tier="evaluate")
        session.run_text("(define (square x) (* x x))")
        assert session.eval("(square 3)") == 9
        return session.module.cells["square"].value[0].native

    one, other = native(), native()
    assert one.__code__ is not other.__code__ and one.__code__ == other.__code__
    assert one.__globals__ is not other.__globals__
