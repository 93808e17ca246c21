"""For the tests of tensors: a session in which derivatives of all kinds are defined."""

from __future__ import annotations

import pytest
from slopes import SETUP

import vlad


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session()
    session.eval(SETUP)
    return session
