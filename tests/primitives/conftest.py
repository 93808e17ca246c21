"""For the tests of tensors: a session in which derivatives of all kinds are defined."""

from __future__ import annotations

import pytest
from slopes import SETUP

import vlad


@pytest.fixture(scope="module")
def session_of_all() -> vlad.Session:
    session = vlad.Session()
    session.eval(SETUP)
    return session


@pytest.fixture
def session(session_of_all: vlad.Session) -> vlad.Session:
    """Nothing is compiled yet: a procedure of SETUP is compiled for some kinds of procedures only, and then stays on tier 0."""
    session_of_all.tiers.forget()
    return session_of_all
