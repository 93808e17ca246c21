"""NVIDIA's compiler of CUDA text, which needs no GPU: the package nvidia-cuda-nvrtc-cu12, or the system's."""

from __future__ import annotations

import ctypes
import functools
import sys
from pathlib import Path
from typing import Any

import pytest

from vlad.compile.emit import cuda_loops

FROM_CUPY = ("-ftz=true", "--device-as-default-execution-space")  # what CuPy 14 adds to all
ARCHITECTURES = (60, 90)  # the first to add up doubles atomically, and one of today


@functools.cache
def _library() -> Any:
    folders = [Path(folder) for folder in sys.path if folder]
    found = [str(path) for folder in folders for path in folder.glob("nvidia/*/lib/libnvrtc.so.*")]
    for path in [*found, "libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13"]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def needed() -> Any:
    """The compiler's library; where there is none, the test is skipped."""
    if _library() is None:
        pytest.skip("NVIDIA's compiler is not here: pip install nvidia-cuda-nvrtc-cu12")
    return _library()


@functools.cache
def _oldest() -> int:
    """The oldest architecture of which the compiler is able: each release drops some."""
    count = ctypes.c_int()
    assert needed().nvrtcGetNumSupportedArchs(ctypes.byref(count)) == 0
    supported = (ctypes.c_int * count.value)()
    assert needed().nvrtcGetSupportedArchs(supported) == 0
    return min(supported)


@functools.lru_cache(maxsize=64)
def compiled(text: str, architecture: int) -> str:
    """The text for a GPU of the architecture, or of the oldest that is supported if that is newer, as assembly (PTX)."""
    library, unit, size = needed(), ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(unit), text.encode(), b"vlad.cu", 0, None, None) == 0
    given = (*cuda_loops.OPTIONS, *FROM_CUPY, f"--gpu-architecture=compute_{max(architecture, _oldest())}")
    options = [option.encode() for option in given]
    status = library.nvrtcCompileProgram(unit, len(options), (ctypes.c_char_p * len(options))(*options))
    if status:
        library.nvrtcGetProgramLogSize(unit, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(unit, log)
        raise AssertionError(log.value.decode())
    library.nvrtcGetPTXSize(unit, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    library.nvrtcGetPTX(unit, found)
    library.nvrtcDestroyProgram(ctypes.byref(unit))
    return found.value.decode()
