"""c_extension.c, with c_values.c and c_watch.c, compiled once per machine: calls machine code without Python code in between.

In: nothing.  Out: a module of two functions, or None without Python's headers, or without a compiler that supports them:
fast_call.py then does the same in Python.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

from vlad.compile.ir.refusals import Unavailable
from vlad.compile.native import cache, toolchain
from vlad.compile.native.abi import ffi

CONSTANT, REAL, TENSOR, LENGTH, BOOLEAN, OBJECT, POINTER = range(7)  # as in c_values.c
PAIR, ATOM, LEAF, UNION = range(4)
MOST_MEMBERS = 127
NOWHERE = -1
PARTS = ("c_values.c", "c_watch.c")


@functools.cache
def border() -> Any:
    """The module: `call(address, rest, words, results, busy, nodes, given, form, is_flat, is_row, arity, given_words, operands,
    parts, kept, turn, measure, sizes, lengths)` calls machine code, whose parts are (kind, constant or dtype, shape, target), and
    `method(class, like, quicks, guards, places, reshapes, fields, copied, tensor)` makes classes of procedures call this way.
    """
    folders = headers()
    if folders is None:
        return None
    try:
        library = _library(folders)
    except Unavailable:
        return None
    import ctypes  # 3 ms; already imported by numpy, in most programs

    address = int(ffi.cast("long", ffi.addressof(library, "vlad_border")))
    module = ctypes.PYFUNCTYPE(ctypes.py_object)(address)()
    # its types are used until the process ends
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    return module


def headers() -> list[str] | None:
    """The folders of Python's headers and NumPy's; None if one is missing, if machine code is loaded in another way, or
    if there is no global lock, which protects the words.
    """
    if sys.implementation.name != "cpython" or sys.platform != "linux" or "t" in sys.abiflags:
        return None
    import sysconfig

    numpy = importlib.util.find_spec("numpy")
    parts = (numpy and numpy.submodule_search_locations) or []
    folders = [sysconfig.get_path("include"), *[os.path.join(part, "_core", "include") for part in parts]]
    files = ["Python.h", "numpy/arrayobject.h"]
    if len(folders) != len(files):
        return None
    there = all(os.path.isfile(os.path.join(*pair)) for pair in zip(folders, files, strict=True))
    return folders if there else None


def _library(folders: list[str]) -> Any:
    """The loaded library, without running a compiler if it is cached. Raises Unavailable."""
    here = Path(__file__).parent
    text = f"/* {sys.version} */\n{(here / 'c_extension.c').read_text(encoding='utf-8')}"
    for part in PARTS:
        text = text.replace(f'#include "{part}"', (here / part).read_text(encoding="utf-8"))
    key = hashlib.sha256("\0".join([text, *folders, toolchain.signature()]).encode()).hexdigest()
    known = cache.lookup(key, cache.CALL)
    if known is not None:
        kept = toolchain.loaded(*json.loads(known))
        if kept is not None:
            return kept
    # it lacks system headers that Python's headers include
    if toolchain.find_compiler().kind == "tcc":
        raise Unavailable("tcc reads no headers of Python's")
    library = toolchain.build(text, optimize=1, include=folders)
    address = toolchain.address(text, optimize=1, include=folders)
    cache.store(key, json.dumps(address).encode(), cache.CALL)
    return library
