"""The libraries of C texts, and what is remembered of texts that the C compiler rejects.

In: a C text.  Out: its loaded library, optimised or made quickly. Called by executable.py and compilation.py. A rejection is
an entry of the cache, so that no later process waits for the C compiler in vain.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from typing import Any

from vlad.compile.ir.refusals import Rejected, Unavailable
from vlad.compile.native import cache, toolchain

# what entries of the cache lead to that are not of this version
FOREIGN = (ValueError, KeyError, TypeError, IndexError, zlib.error)
QUICKLY: dict[str, Any] = {"optimize": 0, "repeatable": True}
_without_quick: set[toolchain.Compiler] = set()  # those that failed so


def quickly_built(text: str, key: str, digest: str) -> Any:
    """The library of a text that is not optimised; None if the C compiler does not make it faster than the other, which has the
    given key, or cannot. That is remembered: the other one then has the reason, or does without."""
    compiler = toolchain.find_compiler()
    if compiler.kind == "tcc" or compiler in _without_quick or cache.has(key):
        return None
    try:
        return toolchain.build(text, **QUICKLY)
    except Unavailable:
        _without_quick.add(compiler)
        return None


def built(text: str, options: dict[str, Any]) -> Any:
    """The library of a text. Raises Unavailable; Rejected if the C compiler rejects the text, or did in an earlier process."""
    key, _ = toolchain.address(text, **options)
    _raise_if_rejected(key)
    try:
        return toolchain.build(text, **options)
    except Rejected as rejected:
        cache.store(key, rejection_entry(rejected), cache.REJECTED)
        raise


def rejection_entry(rejected: Rejected) -> bytes:
    return json.dumps({"rejected": str(rejected), "seconds": toolchain.COMPILE_SECONDS}).encode()


def _raise_if_rejected(key: str) -> None:
    """Raise Rejected if the C compiler has rejected the text with this key before, under the same limit."""
    data = cache.lookup(key, cache.REJECTED)
    if data is not None:
        with contextlib.suppress(*FOREIGN):
            raise_if(json.loads(data))


def raise_if(entry: Any) -> None:
    """Raise Rejected if that is what an entry of the cache says, and its limit was not shorter than it is now."""
    if "rejected" in entry and entry["seconds"] >= toolchain.COMPILE_SECONDS:
        raise Rejected(entry["rejected"])
