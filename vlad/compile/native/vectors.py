"""Where functions of eight reals, or of sixteen floats, come from that functions.c has not itself: Intel's SVML, which NumPy has
brought along on Linux and calls where a processor has vectors of 512 bits. They are off by less than 4 units in the last place,
as those of the GNU C library are.

Compiled code calls them by their addresses, which are found once a process; where there are none, it calls the C library's.
"""

from __future__ import annotations

import ctypes
import functools

SYMBOLS = ("__svml_log8", "__svml_pow8", "__svml_expf16", "__svml_logf16", "__svml_powf16")
NEEDED = "AVX512_SKX"  # as NumPy calls what the processor must have


@functools.cache
def functions() -> tuple[int, ...]:
    """The addresses in the order that functions.c has, which is that of SYMBOLS. None where one is missing."""
    import numpy._core._multiarray_umath as within

    if not within.__cpu_features__.get(NEEDED):
        return ()
    library = ctypes.CDLL(within.__file__)
    if not all(hasattr(library, symbol) for symbol in SYMBOLS):
        return ()
    return tuple([ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0 for symbol in SYMBOLS])
