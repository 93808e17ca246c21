"""For all tests: every pass's result is checked against core's grammar; `--update` rewrites expected texts."""

from __future__ import annotations

import pytest

import vlad.core.passes

vlad.core.passes.CHECKING = True


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the expected halves of tests/passes/*/*.core"
    )
