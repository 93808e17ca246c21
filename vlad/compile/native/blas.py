"""The libraries for products of large matrices and decompositions: the BLAS and LAPACK library in NumPy's package,
or the system's; for products, on an Intel processor, Intel's MKL if it is installed (from pip, or from Conda).
On AMD's (Zen 4) MKL is slower than OpenBLAS: by a tenth, and three times for matrices with ten columns. Decompositions use
tier 0's library: MKL returns numbers for a matrix with a nan.

Compiled code calls `cblas_dgemm` and `cblas_sgemm`, and a few routines of LAPACK, by their addresses, which are found
once per process. Without the first it uses its own loops; without the others code that needs them runs on tier 0.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import glob
import os
import site
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# The spellings of functions in OpenBLAS and MKL, and whether those take lengths of 64 bits.
OF_BLAS = {
    "scipy_cblas_{}64_": True,
    "cblas_{}64_": True,
    "cblas_{}_64": True,
    "scipy_cblas_{}": False,
    "cblas_{}": False,
}
OF_LAPACK = {"scipy_{}_64_": True, "{}_64_": True, "scipy_{}_": False, "{}_": False}


@dataclass(frozen=True, slots=True)
class Product:
    """The addresses of `cblas_dgemm` and `cblas_sgemm`, 0 if there is none; whether lengths have 64 bits; the file; the functions
    that set and return the number of threads, 0 if there are none. Without the second one, the first one returns the number
    before, and sets that of the calling thread."""

    address: int
    single: int
    is_wide: bool
    library: str = ""
    set_threads: int = 0
    get_threads: int = 0


@functools.cache
def product() -> Product:
    candidates = (_mkl, _numpys) if _is_intels() else (_numpys, _mkl)
    for library in _libraries(path for found in candidates for path in found()):
        for spelling, is_wide in OF_BLAS.items():
            if hasattr(library, spelling.format("dgemm")):
                double, single = [_address(library, spelling.format(name)) for name in ("dgemm", "sgemm")]
                name = os.path.basename(library._name)
                return Product(double, single, is_wide, name, *_of_threads(library))
    return Product(0, 0, False)


# How the names of OpenBLAS's functions that set and return the number of threads begin and end.
OF_THREADS = (("scipy_", "64_"), ("", "64_"), ("", "_64"), ("scipy_", ""), ("", ""))


def _of_threads(library: ctypes.CDLL) -> tuple[int, int]:
    for begin, end in OF_THREADS:
        names = [f"{begin}openblas_{what}_num_threads{end}" for what in ("set", "get")]
        if all(hasattr(library, name) for name in names):
            setter, getter = [_address(library, name) for name in names]
            return setter, getter
    return (_address(library, OF_MKL), 0) if hasattr(library, OF_MKL) else (0, 0)


OF_MKL = "MKL_Set_Num_Threads_Local"
ROUTINES = (
    "dgetrf",
    "dgetrs",
    "dpotrf",
    "dgesdd",
    "dtrtrs",
    "dsyevd",
    "dgeqrf",
    "dorgqr",
)  # in the order of runtime.c


@dataclass(frozen=True, slots=True)
class Lapack:
    """The addresses of ROUTINES, none if there is no library, and whether lengths have 64 bits."""

    addresses: tuple[int, ...]
    is_wide: bool


@functools.cache
def lapack() -> Lapack:
    for library in _libraries(_numpys()):
        for spelling, is_wide in OF_LAPACK.items():
            symbols = [spelling.format(name) for name in ROUTINES]
            if all(hasattr(library, symbol) for symbol in symbols):
                addresses = tuple([_address(library, symbol) for symbol in symbols])
                return Lapack(addresses, is_wide)
    return Lapack((), False)


def _address(library: ctypes.CDLL, symbol: str) -> int:
    return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0


def _libraries(candidates: Iterable[str]) -> Iterator[ctypes.CDLL]:
    for path in candidates:
        with contextlib.suppress(OSError):
            yield ctypes.CDLL(path)


def _is_intels() -> bool:
    """Whether the processor is Intel's. MKL is only used on Linux."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return "GenuineIntel" in file.read(4096)
    except OSError:
        return False


def _mkl() -> list[str]:
    """The folder of pip and Conda: beside Python, not among system libraries."""
    prefixes = [sys.prefix, *([site.getuserbase()] if site.ENABLE_USER_SITE else [])]
    return [path for prefix in prefixes for path in sorted(glob.glob(f"{prefix}/lib/libmkl_rt.so*"))]


def _numpys() -> Iterator[str]:
    """Those beside NumPy; the system's last, for which Python starts the C compiler."""
    import numpy

    beside = os.path.join(os.path.dirname(numpy.__file__) + ".libs", "*openblas*")
    within = os.path.join(os.path.dirname(numpy.__file__), ".dylibs", "*openblas*")
    yield from [*sorted(glob.glob(beside)), *sorted(glob.glob(within))]
    for name in ("openblas", "cblas", "blas"):
        found = ctypes.util.find_library(name)
        if found:
            yield found
