"""One expression, in a session of its own on some tier: its output, or its error."""

from __future__ import annotations

import pytest

import vlad
from vlad import VladError

TIERS = ["evaluate", "compile"]


def printed(text: str, tier: str) -> str:
    lines: list[str] = []
    vlad.Session(tier=tier, write=lines.append).run_text(text)
    return "".join(lines).strip()


def refusal(text: str, tier: str) -> VladError:
    with pytest.raises(VladError) as caught:
        vlad.Session(tier=tier).eval(text)
    assert caught.value.span is not None
    return caught.value
