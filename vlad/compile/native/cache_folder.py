"""Where the cache of compiled units is. Apart from cache.py, since a program that compiles nothing needs no more than this."""

from __future__ import annotations

import os
import sys

from vlad.control.safe_import import import_safely
from vlad.control.surroundings import located, setting

COSTS = ".costs"  # the suffix of an entry of calling/costs.py


def folder() -> str:
    """The folder of the entries: $VLAD_CACHE_DIR, or `vlad/compiled` in the user's cache folder."""
    named = setting("VLAD_CACHE_DIR")
    if named:
        return located(named)
    if sys.platform == "linux":  # as platformdirs has it, whose import takes 5 ms
        users = (setting("XDG_CACHE_HOME") or "").strip()
        if not users:
            users = os.path.join(setting("HOME") or os.path.expanduser("~"), ".cache")
        return located(os.path.join(users, "vlad", "compiled"))
    platformdirs = import_safely("platformdirs")
    return os.path.join(platformdirs.user_cache_dir("vlad"), "compiled")


def is_off() -> bool:
    return (setting("VLAD_CACHE") or "").lower() in ("off", "0", "no")
