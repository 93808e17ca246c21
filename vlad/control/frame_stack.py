"""Room for the frames of Python's calls.

CPython keeps frames in pieces of memory of 16 KB. A call that does not fit into the last piece begins another one, which goes
back to the system as soon as that call returns: where calls go to and fro over the end of a piece, as in recursion they do, each
is followed by a page fault. That took a sixth of the time in which programs are analysed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# A piece is as large as the next power of two after what the frame needs that begins it: one that seems to need half a megabyte
# leaves as much for those after it, two thousand or so. Memory that nobody touches costs nothing; of 2 MB Linux may touch all.
WORDS = 1 << 16


def with_room(call: Callable[..., T], *operands: object, **named: object) -> T:
    """What a procedure answers, with room for the calls that it makes."""
    return call(*operands, **named)


with_room.__code__ = with_room.__code__.replace(co_stacksize=WORDS)
