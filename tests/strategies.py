"""Strategies of hypothesis that several files of tests use."""

from __future__ import annotations

from hypothesis import strategies as st

# Whatever UTF-8 can encode, as in `st.text()`, which encodes each character there is: two seconds in every process.
CHARACTERS = st.characters(exclude_categories=["Cs"])


def texts(max_size: int | None = None) -> st.SearchStrategy[str]:
    """Texts of any characters but surrogates."""
    return st.text(CHARACTERS, max_size=max_size)
