"""Where functions of eight reals, or of sixteen floats, come from: Intel's SVML, which NumPy has brought along on Linux and calls
where a processor has vectors of 512 bits. They are off by less than 4 units in the last place, as those of the GNU C library
are.

Compiled code calls them by their addresses, which are found once a process; where there are none, it calls the C library's.
"""

from __future__ import annotations

import ctypes
import functools

from vlad.compile.functions import BETTER

SYMBOLS = ("__svml_{}8", "__svml_{}f16")  # of reals, of floats
NEEDED = "AVX512_SKX"  # as NumPy calls what the processor must have


@functools.cache
def functions() -> tuple[int, ...]:
    """The addresses in the order that functions.c has: those of reals, then those of floats. None where one is missing."""
    import numpy._core._multiarray_umath as within

    if not within.__cpu_features__.get(NEEDED):
        return ()
    library = ctypes.CDLL(within.__file__)
    symbols = [symbol.format(name) for symbol in SYMBOLS for name in BETTER]
    if not all(hasattr(library, symbol) for symbol in symbols):
        return ()
    return tuple([ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0 for symbol in symbols])
