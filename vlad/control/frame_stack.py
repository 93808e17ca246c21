"""Space for the frames of Python's calls.

CPython keeps frames in chunks of 16 KB. A call that does not fit into the last chunk allocates another one, which returns to the
system as soon as that call returns. Where calls cross the end of a chunk again and again, as recursion does, each crossing costs
a page fault. That took a sixth of the time in which programs are analysed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# The size of a chunk is the next power of two above the need of its first frame. A frame that declares half a megabyte leaves as
# much for those after it, about two thousand. Untouched memory costs nothing; of 2 MB, Linux may map all with a huge page.
WORDS = 1 << 16


def with_room(call: Callable[..., T], *operands: object, **named: object) -> T:
    """The result of a call, with space for the calls that it makes."""
    return call(*operands, **named)


with_room.__code__ = with_room.__code__.replace(co_stacksize=WORDS)
