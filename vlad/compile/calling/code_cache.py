"""The code cache: the results of compiling a call, as entries of the cache for later processes.

In: the identity of a call (cache_key.py).  Out: its `Compiled`, or the reason why there is none, if an earlier process compiled
the same call. Called by compilation.py.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from typing import TYPE_CHECKING, Any

from vlad.compile.calling.cache_key import Identity
from vlad.compile.calling.executable import Compiled, Later
from vlad.compile.calling.interface import Unwritable, read_interface
from vlad.compile.calling.libraries import FOREIGN, raise_if
from vlad.compile.ir.refusals import Unbounded
from vlad.compile.native import cache, toolchain

if TYPE_CHECKING:
    from vlad.compile.calling.pipeline import Unit
    from vlad.evaluate.machine import Machine


class NotKept(Exception):
    """The cache does not have a call that must come from there. `has_key`: whether it could have it."""

    def __init__(self, has_key: bool) -> None:
        super().__init__()
        self.has_key = has_key


def store_call(call: Identity, unit: Unit, key: str, digest: str, later: Later | None) -> None:
    """Remember the library of a call, by its key and digest, unless a part of the unit has no text."""
    numbers = {id(tensor): number for number, tensor in enumerate(call.tensors)}
    if not all(id(tensor) in numbers for tensor in unit.given):
        return
    with contextlib.suppress(Unwritable):
        found: dict[str, Any] = {
            "library": key,
            "digest": digest,
            "interface": unit.interface.text(call.numbers()),
            "given": [numbers[id(tensor)] for tensor in unit.given],
        }
        if later is not None:  # for the next process, if this one ends before the other library is made
            found |= {"options": later.options, "quick": later.quick}
            cache.store(key, zlib.compress(unit.text.encode(), 1), cache.TEXT)
        cache.store(call.digest, json.dumps(found).encode(), cache.CALL)


def store_refusal(call: Identity, unbounded: Unbounded) -> None:
    """Remember why a call is not compiled, so that later processes need not analyse it again."""
    entry = {
        "unbounded": unbounded.reason,
        "for_number": unbounded.for_number,
        "hint": unbounded.hint,
        "place": call.written_place(unbounded.span),
    }
    cache.store(call.digest, json.dumps(entry).encode(), cache.CALL)


def kept_call(machine: Machine, call: Identity, early: bool) -> Compiled | None:
    """The result of an earlier process for the same call; None if there is none. `early`: as of `compile_call`. Raises Unbounded
    or Rejected if that process did, under the same limit."""
    data = cache.lookup(call.digest, cache.CALL)
    if data is None:
        return None
    try:
        entry = json.loads(data)
        if "unbounded" in entry:
            unbounded = Unbounded(entry["unbounded"], for_number=entry["for_number"], hint=entry["hint"])
            unbounded.span, unbounded.within = call.read_place(entry["place"])
            raise unbounded
        raise_if(entry)
        library = toolchain.loaded(entry["library"], entry["digest"])
        later = None
        if library is None and early and "quick" in entry:
            later = _kept_for_later(entry)
            library = None if later is None else toolchain.loaded(later.quick, entry["digest"])
        if library is None:
            return None
        given = [call.tensors[number] for number in entry["given"]]
        interface = read_interface(entry["interface"], machine, call.code)
    except FOREIGN:
        return None
    compiled = Compiled(machine, interface, call.cells, library, given)
    if later is not None:
        compiled.improve(later)
    return compiled


def _kept_for_later(entry: Any) -> Later | None:
    """What an earlier process, which ended too soon, left to do for a call; None if the C text is not kept."""
    text = cache.lookup(entry["library"], cache.TEXT)
    return None if text is None else Later(zlib.decompress(text).decode(), entry["options"], entry["quick"])
