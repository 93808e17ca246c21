"""One expression, on some tier: its output, or its error."""

from __future__ import annotations

import pytest
from sessions import shared_for, written

from vlad import VladError

TIERS = ["evaluate", "compile"]


def printed(text: str, tier: str) -> str:
    shared_for(text, tier).run_text(text)
    return "".join(written).strip()


def refusal(text: str, tier: str) -> VladError:
    with pytest.raises(VladError) as caught:
        shared_for(text, tier).eval(text)
    assert caught.value.span is not None
    return caught.value
