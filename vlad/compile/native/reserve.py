"""The memory of compiled calls: one reserve for all libraries of a process, sized by what is available.

In: the system's limits of addresses and memory.  Out: the `struct vlad_reserve` of runtime.c, from which every
library takes areas for the duration of a call. Areas are mapped on first use and touched where they are used: a
large one costs nothing, unless addresses are limited (RLIMIT_AS), or mapped memory counts as committed (overcommit).
"""

from __future__ import annotations

import functools
import os
from typing import Any

from vlad.compile.native.abi import ARENA_SIZE, STACK_SIZE, ffi
from vlad.control.budget import addresses_left

UNLIMITED = (1 << 63) - 1
SHARE = 4  # of the memory the system can still commit, if it does not overcommit


@functools.cache
def reserve() -> Any:
    """The reserve of the process."""
    made = ffi.new("struct vlad_reserve *")
    made.arena, made.stack = min(ARENA_SIZE, _memory() * 3 // 4), STACK_SIZE
    made.left = _mappable()
    return made


def is_narrow() -> bool:
    """Whether areas may be too small for some programs because addresses are limited."""
    return bool(reserve().left < UNLIMITED // 2)


def _mappable() -> int:
    """Bytes of addresses for areas: half of the remaining ones, as Python needs some, too."""
    left = addresses_left()
    found = UNLIMITED if left is None else left // 2
    if _number("/proc/sys/vm/overcommit_memory") == 2:
        memory = _entries("/proc/meminfo")
        left = (memory.get("CommitLimit", 0) - memory.get("Committed_AS", 0)) * 1024
        found = min(found, max(left, 0) // SHARE)
    return found


def _memory() -> int:
    """Bytes of memory of the machine, or of the container of this process."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        found = UNLIMITED
    folder = "/sys/fs/cgroup"
    files = [f"{folder}/memory.max", f"{folder}/memory/memory.limit_in_bytes"]
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            for line in file:
                _, kinds, own = line.rstrip("\n").split(":", 2)
                while own.strip("/"):  # enclosing groups have limits, too
                    if not kinds:
                        files.append(f"{folder}{own}/memory.max")
                    elif "memory" in kinds.split(","):
                        files.append(f"{folder}/memory{own}/memory.limit_in_bytes")
                    own = os.path.dirname(own)
    except (OSError, ValueError):
        pass
    limits = [number for number in map(_number, files) if number is not None]
    return min([found, *limits])


def _number(path: str) -> int | None:
    """The number in a file, if it contains one."""
    try:
        with open(path, encoding="utf-8") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _entries(path: str) -> dict[str, int]:
    """The lines `NAME: NUMBER kB` of a file."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.split() for line in file]
    except OSError:
        return {}
    return {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}
