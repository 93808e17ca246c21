"""Parts of files, executed by themselves.

In: a session, and a text that stands in a file, at its place there.  Out: its effects, as those of the whole file. Called by
tools/testing.py.
"""

from __future__ import annotations

from vlad.data.source import Source
from vlad.session.session import Session


def run_part(session: Session, part: Source) -> None:
    """Run a part of a file: names of files in it are relative to that file."""
    top_level = session._top_level
    with session._lock, top_level.within(part.name):
        top_level.run(part, session.module, top_level.print)
