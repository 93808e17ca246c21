"""Fourier transforms: values as NumPy's for every kind of length, on both tiers, and derivatives by their adjoint."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vlad
from vlad.compile.calling.notices import NotCompiledWarning
from vlad.data.errors import VladError

pytestmark = pytest.mark.any_compiler

R = np.random.default_rng(0)
# Powers of two, products, primes that are small, and such that the transform is a convolution (67, 134), in no order.
LENGTHS = [67, 1, 32, 100, 17, 2, 134, 1024, 221]


@pytest.fixture(scope="module")
def sessions() -> dict[str, vlad.Session]:
    return {tier: vlad.Session(tier=tier) for tier in ("evaluate", "compile")}


def close(found: Any, wanted: NDArray[np.complex128], what: object) -> None:
    re, im = found
    assert re.shape == im.shape == wanted.shape, what
    bound = 1e-14 * max(1.0, float(np.abs(wanted).max(initial=0)))
    np.testing.assert_allclose(re, wanted.real, atol=bound, rtol=0, err_msg=str(what))
    np.testing.assert_allclose(im, wanted.imag, atol=bound, rtol=0, err_msg=str(what))


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_values_are_those_of_numpy(sessions: dict[str, vlad.Session], tier: str) -> None:
    session = sessions[tier]
    fft, ifft, rfft, irfft = [
        session.eval(f"(lambda (x) ({name} x))") for name in ("fft", "ifft", "rfft", "irfft")
    ]
    across = session.eval("(lambda (x) (ifft x #:axis 1))")
    sized = session.eval("(lambda (x) (irfft (rfft x) #:length (size x)))")
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCompiledWarning)
        for n in LENGTHS:
            x, y = R.normal(size=n), R.normal(size=n)
            close(fft(x), np.fft.fft(x), n)
            close(ifft((x, y)), np.fft.ifft(x + 1j * y), n)
            close(rfft(x), np.fft.rfft(x), n)
            np.testing.assert_allclose(sized(x), x, atol=1e-13, err_msg=str(n))
        x, y = R.normal(size=(2, 12, 3)), R.normal(size=(2, 12, 3))
        close(across((x, y)), np.fft.ifft(x + 1j * y, axis=1), "axis 1")
        x, y = R.normal(size=(2, 7)), R.normal(size=(2, 7))  # the imaginary parts of both ends have no effect
        np.testing.assert_allclose(irfft((x, y)), np.fft.irfft(x + 1j * y), atol=1e-14)
        found = fft(np.arange(6, dtype=np.float32))
        assert found[0].dtype == found[1].dtype == np.float32
        close(fft(np.arange(4)), np.fft.fft(np.arange(4)), "integers")


def test_of_no_entries_there_are_none(sessions: dict[str, vlad.Session]) -> None:
    for name in ("fft", "ifft", "rfft"):
        re, im = sessions["evaluate"][name](np.zeros((2, 0)))
        assert re.shape == im.shape == (2, 0)


def test_quarters_of_a_turn_are_exact(sessions: dict[str, vlad.Session]) -> None:
    found = sessions["evaluate"].eval("(fft #[1 0 0 0 1 0 0 0])")
    assert found[0].tolist() == [2, 0, 2, 0, 2, 0, 2, 0] and not found[1].any()


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("n", [12, 67])
def test_derivatives(sessions: dict[str, vlad.Session], tier: str, n: int) -> None:
    """A transform is linear, so what is compared is its adjoint: along v and back, of orders 1 and 2, and over rows."""
    x, v, w = R.normal(size=(3, n))
    matrix = np.fft.fft(np.eye(n))
    f = "(lambda (y) (let (((cons re im) (fft y))) (sum (+ (* re re re) (* w im im)))))"
    re, im = matrix.real @ x, matrix.imag @ x
    slope = matrix.real.T @ (3 * re * re) + matrix.imag.T @ (2 * w * im)
    bend = matrix.real.T @ (6 * re * (matrix.real @ v)) + matrix.imag.T @ (2 * w * (matrix.imag @ v))
    texts = {
        f"((gradient {f}) x)": slope,
        f"(unperturb (tangent ((j* {f}) (bundle x (perturb v)))))": v @ slope,
        f"((gradient (lambda (x) (sum (* v ((gradient-R {f}) x))))) x)": bend,
        f"((gradient (lambda (x) ((derivative-F (lambda (t) ({f} (+ x (* t v))))) 0))) x)": bend,
        "((gradient (lambda (x) (sum (* w (irfft (rfft x) #:length " + str(n) + "))))) x)": w,
        "((gradient (lambda (x) (sum (* w (car (ifft (cons x x))))))) x)": (matrix.conj() / n).real.T @ w
        - (matrix.conj() / n).imag.T @ w,
    }
    for text, wanted in texts.items():
        found = sessions[tier].eval(f"(lambda (x v w) {text})")(x, v, w)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max(), err_msg=text)
    rows = sessions[tier].eval("(lambda (x) ((vmap (lambda (row) (cdr (fft row)))) x))")(np.array([x, v]))
    np.testing.assert_allclose(rows, np.fft.fft([x, v]).imag, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [("(fft 3)", "A tensor is transformed, or the pair of a real and an imaginary part; not 3"),
     ("(ifft '(1 2))", "A tensor is transformed, or the pair of a real and an imaginary part; not (1 2)"),
     ("(fft (cons #[1 2] #[1 2 3]))", "The real and the imaginary part differ in shape: (2) and (3)"),
     ("(fft #[1 2] #:axis 1)", "The tensor has no such axis: 1"),
     ("(rfft (cons #[1] #[1]))", "rfft transforms a real tensor; the pair of parts is for fft"),
     ("(irfft #[1 2 3] #:length 9)", "irfft takes n / 2 + 1 entries for a length of n; the number and the length: (3 9)"),
     ("(irfft #[1])", "irfft takes n / 2 + 1 entries for a length of n; the number and the length: (1 0)")],
)  # fmt: skip
def test_errors(sessions: dict[str, vlad.Session], text: str, message: str) -> None:
    with pytest.raises(VladError) as raised:
        sessions["evaluate"].eval(text)
    assert raised.value.message == message
