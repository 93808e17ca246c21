"""Vector functions of eight reals, or of sixteen floats, in addition to those in functions.c: Intel's SVML, which NumPy's package
contains on Linux and uses on processors with vectors of 512 bits. Their error is below 4 units in the last place,
like that of the GNU C library.

Compiled code calls them by their addresses, which are found once per process; without them it calls the C library.
"""

from __future__ import annotations

import ctypes
import functools

SYMBOLS = ("__svml_log8", "__svml_pow8", "__svml_expf16", "__svml_logf16", "__svml_powf16")
NEEDED = "AVX512_SKX"  # NumPy's name for the required features


@functools.cache
def functions() -> tuple[int, ...]:
    """The addresses in the order of functions.c, which is that of SYMBOLS. None if one is missing."""
    import numpy._core._multiarray_umath as within

    if not within.__cpu_features__.get(NEEDED):
        return ()
    library = ctypes.CDLL(within.__file__)
    if not all(hasattr(library, symbol) for symbol in SYMBOLS):
        return ()
    return tuple([ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0 for symbol in SYMBOLS])
