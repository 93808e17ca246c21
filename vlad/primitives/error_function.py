"""erf, erfc and related functions of arrays, which the array-API standard lacks. They use its operations, so that they
run on the array's device.

The polynomials interpolate at Chebyshev points, in 60 digits: (x + 4) exp(x²) erfc(x) in (4 - x)/(4 + x), and erf(x)/x in x² up
to 1. Each is within 1e-18 of its function. The results are within a few units in the last place.
"""

from __future__ import annotations

from typing import Any

_OUTER = (
    1.095995661000491, 0.976548729080882, 0.7732087022652369, 0.5408538313132364, 0.33085158787802316, 0.17401093723987535,
    0.07638151490917432, 0.026370053341514252, 0.006112055655702202, 0.000280958852635711, -0.0004550526719405232,
    -0.00017681273571898065, -3.63528461647584e-06, 1.8860551481196212e-05, 4.694949345363717e-06, -1.4233186100793242e-06,
    -8.47713563179967e-07, 7.407019635446572e-08, 1.2677662934663916e-07, 6.016272784957616e-10, -1.809226665950828e-08,
    -9.099957156835117e-10, 2.2805194672483525e-09, 1.5089725767857914e-10, -1.7885682033885665e-10, -1.189914052197152e-11,
)  # fmt: skip
_INNER = (
    1.1283791670955126, -0.37612638903183754, 0.11283791670955126, -0.026866170645131218, 0.005223977625441674,
    -0.0008548327023403001, 0.00012055332978879483, -1.4925650236967501e-05, 1.6462110782018636e-06, -1.636576864883207e-07,
    1.4806027146128752e-08, -1.2277734486795524e-09, 9.323723518153027e-11, -6.1967364287877e-12, 2.8067128195611264e-13,
)  # fmt: skip
_BEYOND = 30.0  # from here on erfc is 0
_BEYOND_NORMAL = 40.0  # and the upper tail of the normal distribution


def erfc(xp: Any, x: Any) -> Any:
    upper = _upper(xp, xp.abs(x))
    return xp.where(x < 0, 2 - upper, upper)


def erf(xp: Any, x: Any) -> Any:
    inner = x * _polynomial(_INNER, xp.where(xp.abs(x) < 1, x * x, 0.0))
    return xp.where(xp.abs(x) < 1, inner, xp.sign(x) * (1 - _upper(xp, xp.abs(x))))


def erfcx(xp: Any, x: Any) -> Any:
    upper = _scaled(xp, xp.abs(x))
    below = xp.where(x < -_BEYOND, -_BEYOND, xp.where(x < 0, x, 0.0))
    rough = xp.round(below * 16) / 16
    return xp.where(
        x < 0, 2 * xp.exp(rough * rough) * xp.exp((below - rough) * (below + rough)) - upper, upper
    )


def log_erfc(xp: Any, x: Any) -> Any:
    inner, outer = xp.where(x < 0.5, x, 0.0), xp.where(x < 0.5, 0.5, x)
    return xp.where(x < 0.5, xp.log1p(-erf(xp, inner)), xp.log(_scaled(xp, outer)) - outer * outer)


def log_normal_cdf(xp: Any, x: Any) -> Any:
    size = xp.abs(x)
    tail = _scaled(xp, size * 0.7071067811865476) / 2
    near = xp.where(size > _BEYOND_NORMAL, _BEYOND_NORMAL, size)
    rough = xp.round(near * 16) / 16
    density = xp.exp(-rough * rough / 2) * xp.exp((rough - near) * (rough + near) / 2)
    return xp.where(x < 0, xp.log(tail) - x * x / 2, xp.log1p(-tail * density))


def _upper(xp: Any, x: Any) -> Any:
    """erfc of x ≥ 0. x² is taken of x cut to few digits, so that it is exact; the rest is a factor near 1."""
    x = xp.where(x > _BEYOND, _BEYOND, x)
    rough = xp.round(x * 16) / 16
    power = xp.exp(-rough * rough) * xp.exp((rough - x) * (rough + x))
    return power * _polynomial(_OUTER, (4 - x) / (4 + x)) / (x + 4)


def _scaled(xp: Any, x: Any) -> Any:
    """erfcx of x ≥ 0."""
    return _polynomial(_OUTER, 8 / (4 + x) - 1) / (x + 4)


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """Horner's rule."""
    total = coefficients[-1] * x
    for coefficient in coefficients[-2:0:-1]:
        total += coefficient
        total *= x
    return total + coefficients[0]
