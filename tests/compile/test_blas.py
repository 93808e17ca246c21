"""Where compiled code finds its products of matrices."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vlad
from vlad.compile.native import blas
from vlad.compile.native.toolchain import find_compiler

# MKL's names, with lengths of 64 bits; the product also records its calls.
MKL = """
long asked, threads = 4, with_threads;
int MKL_Set_Num_Threads_Local(int count) { int before = threads; threads = count; return before; }
void cblas_dgemm_64(int order, int ta, int tb, long m, long n, long k, double alpha, const double *a, long lda, const double *b,
                    long ldb, double beta, double *c, long ldc) {
  asked++;
  with_threads = threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      double sum = 0;
      for (long l = 0; l < k; l++)
        sum += (ta == 112 ? a[l * lda + i] : a[i * lda + l]) * (tb == 112 ? b[j * ldb + l] : b[l * ldb + j]);
      c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
    }
}
void cblas_sgemm_64(void) {}
void dgetrf_64_(void) {}
void dgetrs_64_(void) {}
void dpotrf_64_(void) {}
void dgesdd_64_(void) {}
void dtrtrs_64_(void) {}
"""


@pytest.fixture
def mkl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ctypes.CDLL:
    """A library that looks like MKL, installed beside Python."""
    (tmp_path / "lib").mkdir()
    text, library = tmp_path / "mkl.c", tmp_path / "lib" / "libmkl_rt.so.3"
    text.write_text(MKL)
    compiler = find_compiler()
    subprocess.run([*compiler.command, "-shared", "-fPIC", "-o", str(library), str(text)], check=True)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return ctypes.CDLL(str(library))


def test_matrices_are_decomposed_by_the_library_of_tier_0(mkl: ctypes.CDLL) -> None:
    assert blas.lapack.__wrapped__() == blas.lapack()
    assert ctypes.cast(mkl.dgetrf_64_, ctypes.c_void_p).value not in blas.lapack().addresses


def test_mkl_is_taken_where_it_is_installed(mkl: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_is_intels", lambda: True)
    found = blas.product.__wrapped__()
    assert found.address == ctypes.cast(mkl.cblas_dgemm_64, ctypes.c_void_p).value
    assert found.single == ctypes.cast(mkl.cblas_sgemm_64, ctypes.c_void_p).value
    assert found.is_wide
    assert found.library == "libmkl_rt.so.3"
    monkeypatch.setattr(blas, "product", lambda: found)
    session = vlad.Session(tier="compile")
    a, b = np.arange(6000.0).reshape(60, 100), np.arange(7000.0).reshape(100, 70)
    assert np.array_equal(session.eval("matmul")(a, b), a @ b)
    assert ctypes.c_long.in_dll(mkl, "asked").value == 1


def test_small_products_have_one_thread(mkl: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of MKL, which sets that of a thread, and of NumPy's, which sets that of the process."""

    def number(name: str) -> int:
        return ctypes.c_long.in_dll(mkl, name).value

    find = blas.product.__wrapped__
    monkeypatch.setattr(blas, "_is_intels", lambda: True)
    found = find()
    monkeypatch.setattr(blas, "_is_intels", lambda: False)
    of_numpy = find()
    monkeypatch.setattr(blas, "product", lambda: found)
    matmul = vlad.Session(tier="compile").eval("matmul")
    for size, used in ((60, 1), (180, 4)):
        a = np.ones((size, size))
        assert np.array_equal(matmul(a, a), a @ a)
        assert (number("with_threads"), number("threads")) == (used, 4)
    assert of_numpy.set_threads and of_numpy.get_threads
    monkeypatch.setattr(blas, "product", lambda: of_numpy)
    get = ctypes.CFUNCTYPE(ctypes.c_int)(of_numpy.get_threads)
    setter = ctypes.CFUNCTYPE(None, ctypes.c_int)(of_numpy.set_threads)
    before = get()
    setter(3)
    assert np.array_equal(vlad.Session(tier="compile").eval("matmul")(a, a), a @ a)
    assert get() == 3
    setter(before)


@pytest.mark.usefixtures("mkl")
def test_on_others_processors_the_library_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_is_intels", lambda: False)
    found = blas.product.__wrapped__()
    assert found.address and "mkl" not in found.library
    monkeypatch.setattr(blas, "_numpys", list)  # but before none
    assert "mkl" in blas.product.__wrapped__().library


def test_else_the_library_of_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    found = blas.product.__wrapped__()
    assert found.address and "mkl" not in found.library
