"""For all tests: every pass's result is checked against core's grammar; `--update` rewrites expected texts.

Random tests draw the same examples in every run, so that a red run means that the change is at fault;
`--hypothesis-profile=search` draws fresh ones.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

import vlad.core.passes

vlad.core.passes.CHECKING = True

settings.register_profile("search", derandomize=False)
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the expected halves of tests/passes/*/*.core"
    )
