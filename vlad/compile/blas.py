"""Where products of large matrices come from: the BLAS library that NumPy has brought along, or the system's.

Compiled code calls `cblas_dgemm` of it by its address, which is found once a process. Without one it multiplies itself.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import glob
import os
from dataclasses import dataclass

SYMBOLS = ("scipy_cblas_dgemm64_", "cblas_dgemm64_", "scipy_cblas_dgemm", "cblas_dgemm")


@dataclass(frozen=True, slots=True)
class Product:
    """`cblas_dgemm`: its address, 0 where there is none, and whether lengths are of 64 bits."""

    address: int
    is_wide: bool


@functools.cache
def product() -> Product:
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for symbol in SYMBOLS:
            if hasattr(library, symbol):
                address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
                return Product(address or 0, symbol.endswith("64_"))
    return Product(0, False)


def _candidates() -> list[str]:
    import numpy

    beside = os.path.join(os.path.dirname(numpy.__file__) + ".libs", "*openblas*")
    within = os.path.join(os.path.dirname(numpy.__file__), ".dylibs", "*openblas*")
    found = [ctypes.util.find_library(name) for name in ("openblas", "cblas", "blas")]
    return [*sorted(glob.glob(beside)), *sorted(glob.glob(within)), *[name for name in found if name]]
