"""Where products of large matrices come from: the BLAS library that NumPy has brought along, or the system's.

Compiled code calls `cblas_dgemm` and `cblas_sgemm` of it by their addresses, which are found once a process. Without these it
multiplies itself.
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
    """The addresses of `cblas_dgemm` and `cblas_sgemm`, 0 where there is none, and whether lengths are of 64 bits."""

    address: int
    single: int
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
                found = [getattr(library, name) for name in (symbol, symbol.replace("dgemm", "sgemm"))]
                addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in found]
                return Product(addresses[0], addresses[1], symbol.endswith("64_"))
    return Product(0, 0, False)


def _candidates() -> list[str]:
    import numpy

    beside = os.path.join(os.path.dirname(numpy.__file__) + ".libs", "*openblas*")
    within = os.path.join(os.path.dirname(numpy.__file__), ".dylibs", "*openblas*")
    found = [ctypes.util.find_library(name) for name in ("openblas", "cblas", "blas")]
    return [*sorted(glob.glob(beside)), *sorted(glob.glob(within)), *[name for name in found if name]]
