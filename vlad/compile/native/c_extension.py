"""c_extension.c, compiled once a machine: what calls machine code without any of Python's own in between.

In: nothing.  Out: a module of two functions, or None where there are no headers of Python's, or no compiler that reads them:
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

CONSTANT, REAL, TENSOR = range(3)  # as c_extension.c has them
ALONE, LIST, TUPLE = range(3)
NOWHERE = -1


@functools.cache
def border() -> Any:
    """The module: `call(address, rest, words, answers, busy, form, operands, results, kept, turn)` makes a call of machine
    code, whose parts are (kind, constant or dtype, shape, number, target), and `method(class, slot, reshapes)` makes of classes
    of procedures what calls such."""
    folders = _headers()
    if folders is None:
        return None
    try:
        library = _library(folders)
    except Unavailable:
        return None
    import ctypes  # 3 ms; numpy, which most callers have, has it, too

    address = int(ffi.cast("long", ffi.addressof(library, "vlad_border")))
    module = ctypes.PYFUNCTYPE(ctypes.py_object)(address)()
    # whose types are asked for until the process has ended
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    return module


def _headers() -> list[str] | None:
    """The folders of Python's headers and NumPy's; None where one is missing, where machine code is loaded in another way, or
    where there is no lock that keeps the words together."""
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
    """The loaded library, without asking a compiler anything where it was made before. Raises Unavailable."""
    text = f"/* {sys.version} */\n{(Path(__file__).parent / 'c_extension.c').read_text(encoding='utf-8')}"
    key = hashlib.sha256("\0".join([text, *folders, toolchain.signature()]).encode()).hexdigest()
    known = cache.lookup(key, cache.CALL)
    if known is not None:
        kept = toolchain.loaded(*json.loads(known))
        if kept is not None:
            return kept
    # it finds no headers of the system's, on which Python's rely
    if toolchain.find_compiler().kind == "tcc":
        raise Unavailable("tcc reads no headers of Python's")
    library = toolchain.build(text, optimize=1, include=folders)
    address = toolchain.address(text, optimize=1, include=folders)
    cache.store(key, json.dumps(address).encode(), cache.CALL)
    return library
