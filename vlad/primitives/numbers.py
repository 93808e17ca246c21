"""The rows of the reals: arithmetic, comparisons, elementary and special functions.

A row states its partial derivatives once, in the language; both modes and every order follow (values.Primitive). `python` is the
fast form, valid when an operand is known to be real; `value` is the complete rule. Values follow IEEE arithmetic and the C
library: no operation on reals ends in an error (docs/conventions.md has kinks and singular points).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from vlad.errors import VladError
from vlad.values import FALSE, TRUE, ZERO, Primitive, Value

INFINITY = math.inf
NAN = math.nan


def kind(value: Value) -> str:
    """What a value is, in a hint's words."""
    if type(value) is float:
        return "a real"
    if type(value) is tuple:
        return "()" if not value else "a pair" if len(value) == 2 else "a procedure"
    return {"Boolean": "a boolean", "Symbol": "a symbol", "String": "a string"}.get(
        type(value).__name__, "something else"
    )


def invalid(name: str, expected: str, *operands: Value) -> VladError:
    """An operand of the wrong kind."""
    found = " and ".join([kind(operand) for operand in operands])
    return VladError(
        "invalid-argument",
        f"Argument to {name} is invalid",
        hint=f"{name} takes {expected}; this is {found}",
        irritants=operands,
    )


def _real(value: Value) -> float | None:
    if type(value) is float:
        return value
    return 0.0 if value is ZERO else None


Rule1 = Callable[[float], float]
Rule2 = Callable[[float, float], float]


def _checked1(name: str, rule: Callable[[float], Value]) -> Callable[[Value], Value]:
    def value(x: Value) -> Value:
        real = _real(x)
        if real is None:
            raise invalid(name, "a real", x)
        return rule(real)

    return value


def _checked2(name: str, rule: Callable[[float, float], Value]) -> Callable[[Value, Value], Value]:
    def value(x: Value, y: Value) -> Value:
        a, b = _real(x), _real(y)
        if a is None or b is None:
            raise invalid(name, "reals", x, y)
        return rule(a, b)

    return value


def _linear2(
    name: str, rule: Callable[[float, float], float], with_zero: Callable[[Value, Value], Value]
) -> Callable[[Value, Value], Value]:
    """A rule for + - * /, which in adjoint code meet the known zero and keep it known."""
    checked = _checked2(name, rule)

    def value(x: Value, y: Value) -> Value:
        if x is ZERO or y is ZERO:
            if _real(x) is None or _real(y) is None:
                raise invalid(name, "reals", x, y)
            return with_zero(x, y)
        return checked(x, y)

    return value


def divide(x: float, y: float) -> float:
    """x / y by IEEE 754: a zero divisor gives a signed infinity, or nan."""
    if y:
        return x / y
    if x == 0 or x != x:
        return NAN
    return math.copysign(INFINITY, x) * math.copysign(1.0, y)


def quiet(function: Rule1, overflow: Callable[[float], float] = abs) -> Rule1:
    """A function of `math` without its exceptions: outside its domain nan, beyond the largest real `overflow(x)`·∞."""

    def quietly(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return NAN
        except OverflowError:
            return math.copysign(INFINITY, overflow(x))

    return quietly


def _same_sign(x: float) -> float:
    return x


def log(x: float) -> float:
    try:
        return math.log(x)
    except ValueError:
        return -INFINITY if x == 0 else NAN


def log1p(x: float) -> float:
    try:
        return math.log1p(x)
    except ValueError:
        return -INFINITY if x == -1 else NAN


def atanh(x: float) -> float:
    try:
        return math.atanh(x)
    except ValueError:
        return math.copysign(INFINITY, x) if abs(x) == 1 else NAN


def power(x: float, y: float) -> float:
    """x to the y, as C's pow."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INFINITY if x < 0 and y % 2 == 1 else INFINITY
    except ValueError:
        if x == 0:  # a negative power of zero
            return math.copysign(INFINITY, x) if y % 2 == 1 else INFINITY
        return NAN


def gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return INFINITY
    except ValueError:
        return math.copysign(INFINITY, x) if x == 0 else NAN


def log_gamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return INFINITY


# Bernoulli numbers B2, B4, … for the asymptotic series of the polygamma functions (Abramowitz & Stegun 6.4.11).
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138,
)  # fmt: skip
_ASYMPTOTIC_FROM = 15.0


def polygamma(n: float, x: float) -> float:
    """The n-th derivative of digamma: recurrence up to where the asymptotic series is exact, reflection for x < 0."""
    if n != math.floor(n) or n < 0 or x != x or n > 150:
        return NAN
    if x <= 0 and x == math.floor(x):
        return NAN if n == 0 or n % 2 == 0 else INFINITY
    if x < 0:
        return _reflected(int(n), x)
    if x == INFINITY:
        return INFINITY if n == 0 else 0.0
    return _polygamma_positive(int(n), x)


def _polygamma_positive(n: int, x: float) -> float:
    terms: list[float] = []
    sign = -1.0 if n % 2 == 0 else 1.0
    factorial = math.factorial(n)
    start = _ASYMPTOTIC_FROM + n
    while x < start:
        terms.append(sign * factorial * power(x, -(n + 1.0)))
        x += 1.0
    if n == 0:
        terms += [math.log(x), -0.5 / x]
        terms += [-b / (2 * k * x ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1)]
    else:
        terms += [sign * math.factorial(n - 1) / x**n, sign * factorial / (2 * x ** (n + 1))]
        for k, b in enumerate(_BERNOULLI, 1):
            terms.append(sign * b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) / x ** (2 * k + n))
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):
        return sum(terms)


def _reflected(n: int, x: float) -> float:
    """(-1)^n ψₙ(1-x) - ψₙ(x) = π dⁿ/dxⁿ cot πx."""
    sign = 1.0 if n % 2 == 0 else -1.0
    return sign * _polygamma_positive(n, 1.0 - x) - _cotangent_derivative(n, x)


def _cotangent_derivative(n: int, x: float) -> float:
    """The n-th derivative of π cot πx, as a polynomial in c = cot πx: dc/dx = -π (1 + c²)."""
    fraction = x - math.floor(x)
    cot = 1.0 / math.tan(math.pi * fraction) if fraction <= 0.5 else -1.0 / math.tan(math.pi * (1.0 - fraction))
    coefficients = [0.0, math.pi]
    for _ in range(n):
        derivative = [k * c for k, c in enumerate(coefficients)][1:]
        coefficients = [0.0] * (len(derivative) + 2)
        for k, c in enumerate(derivative):
            coefficients[k] -= math.pi * c
            coefficients[k + 2] -= math.pi * c
    total = 0.0
    for c in reversed(coefficients):
        total = total * cot + c
    return total


def real_round(x: float) -> float:
    """The nearest integer, halves to even."""
    return float(round(x)) if math.isfinite(x) else x


def _integral(function: Callable[[float], int]) -> Rule1:
    def rule(x: float) -> float:
        if not math.isfinite(x):
            return x
        # an int has no -0.0; keep the sign of zero as the C library does
        return math.copysign(float(function(x)), x) if abs(x) < 1 and function(x) == 0 else float(function(x))

    return rule


def modulo(x: float, y: float) -> float:
    """x - y·floor(x/y), with the sign of y."""
    if y == 0 or not math.isfinite(x) or y != y:
        return NAN
    if math.isinf(y):
        return x if x == 0 or (x < 0) == (y < 0) else y
    return x % y


def remainder(x: float, y: float) -> float:
    """x - y·truncate(x/y), with the sign of x: C's fmod."""
    try:
        return math.fmod(x, y)
    except ValueError:
        return NAN


def quotient(x: float, y: float) -> float:
    result = divide(x, y)
    return float(math.trunc(result)) if math.isfinite(result) else result


def sign(x: float) -> float:
    return x if x == 0 or x != x else math.copysign(1.0, x)


def larger(x: float, y: float) -> float:
    return x if x != x or x >= y else y


def smaller(x: float, y: float) -> float:
    return x if x != x or x <= y else y


def hypot(x: float, y: float) -> float:
    return math.hypot(x, y)


def _function(
    name: str, doc: str, rule: Rule1, partial: str, c: str = "", array: str = "", python: str = ""
) -> Primitive:
    """A real function of one real."""
    used = "_" + "".join([character if character.isalnum() else "_" for character in name])
    return Primitive(
        name,
        "x",
        doc,
        value=_checked1(name, rule),
        python=python or f"{used}(x)",
        uses={} if python else {used: rule},
        type="real -> real",
        partials={"x": partial},
        c=c,
        array=array,
    )


def _comparison(name: str, doc: str, rule: Callable[[float, float], bool], python: str) -> Primitive:
    return Primitive(
        name,
        "x y",
        doc,
        value=_checked2(name, lambda x, y: TRUE if rule(x, y) else FALSE),
        python=python,
        type="real real -> boolean",
        forward="zero",
        reverse={},
        variadic="chain",
        c=python.replace("x", "{x}").replace("y", "{y}"),
    )


def _test(name: str, doc: str, rule: Callable[[float], bool], python: str) -> Primitive:
    return Primitive(
        name,
        "x",
        doc,
        value=_checked1(name, lambda x: TRUE if rule(x) else FALSE),
        python=python,
        uses={"isfinite": math.isfinite, "isinf": math.isinf},
        type="real -> boolean",
        forward="zero",
        reverse={},
    )


def _zero_plus(x: Value, y: Value) -> Value:
    return y if x is ZERO else x


def _zero_minus(x: Value, y: Value) -> Value:
    return x - y


def _zero_divide(x: Value, y: Value) -> Value:
    return ZERO if x is ZERO else divide(x, 0.0)


ROWS: list[Primitive] = [
    Primitive(
        "+", "x y", "Sum.", value=_linear2("+", lambda x, y: x + y, _zero_plus), python="x + y",
        type="real real -> real", partials={"x": "1", "y": "1"}, variadic="left", unary="x", nullary=0.0,
        c="{x} + {y}", array="add",
    ),
    Primitive(
        "-", "x y", "Difference; on one operand its negative.", value=_linear2("-", lambda x, y: x - y, _zero_minus),
        python="x - y", type="real real -> real", partials={"x": "1", "y": "-1"}, variadic="left", unary="(negate x)",
        c="{x} - {y}", array="subtract",
    ),
    Primitive(
        "*", "x y", "Product.", value=_linear2("*", lambda x, y: x * y, lambda x, y: ZERO), python="x * y",
        type="real real -> real", partials={"x": "y", "y": "x"}, variadic="left", unary="x", nullary=1.0,
        c="{x} * {y}", array="multiply",
    ),
    Primitive(
        "/", "x y", "Quotient; on one operand its reciprocal.", value=_linear2("/", divide, _zero_divide),
        python="x / y if y else divide(x, y)", uses={"divide": divide}, type="real real -> real",
        partials={"x": "(/ 1 y)", "y": "(negate (/ r y))"}, variadic="left", unary="(/ 1 x)", c="{x} / {y}",
        array="divide",
    ),
    Primitive(
        "negate", "x", "The negative.", value=lambda x: ZERO if x is ZERO else _negate(x), python="-x",
        type="real -> real", partials={"x": "-1"}, hidden=True, c="-{x}", array="negative",
    ),
    Primitive(
        "real", "x", "x itself, which must be a real; hides a constant from the compiler.",
        value=_checked1("real", lambda x: x), type="real -> real", partials={"x": "1"},
    ),
    _function("sqrt", "Square root; nan of negatives.", quiet(math.sqrt), "(/ 0.5 r)", "sqrt({x})", "sqrt"),
    _function("exp", "e to the x.", quiet(math.exp), "r", "exp({x})", "exp"),
    _function("log", "Natural logarithm.", log, "(/ 1 x)", "log({x})", "log"),
    _function("log1p", "log of 1 + x, exact for small x.", log1p, "(/ 1 (+ 1 x))", "log1p({x})", "log1p"),
    _function("expm1", "exp x - 1, exact for small x.", quiet(math.expm1), "(exp x)", "expm1({x})", "expm1"),
    _function("sin", "Sine of x in radians.", quiet(math.sin), "(cos x)", "sin({x})", "sin"),
    _function("cos", "Cosine of x in radians.", quiet(math.cos), "(negate (sin x))", "cos({x})", "cos"),
    _function(
        "tan", "Tangent of x in radians.", quiet(math.tan), "(let ((c (cos x))) (/ 1 (* c c)))", "tan({x})", "tan"
    ),
    _function(
        "asin", "Angle in [-pi/2, pi/2] whose sine is x.", quiet(math.asin), "(/ 1 (sqrt (* (- 1 x) (+ 1 x))))",
        "asin({x})", "asin",
    ),
    _function(
        "acos", "Angle in [0, pi] whose cosine is x.", quiet(math.acos), "(/ -1 (sqrt (* (- 1 x) (+ 1 x))))",
        "acos({x})", "acos",
    ),
    _function("sinh", "Hyperbolic sine.", quiet(math.sinh, _same_sign), "(cosh x)", "sinh({x})", "sinh"),
    _function("cosh", "Hyperbolic cosine.", quiet(math.cosh), "(sinh x)", "cosh({x})", "cosh"),
    _function(
        "tanh", "Hyperbolic tangent.", quiet(math.tanh), "(let ((c (cosh x))) (/ (/ 1 c) c))", "tanh({x})", "tanh"
    ),
    _function(
        "asinh", "Inverse of sinh.", quiet(math.asinh), "(/ 1 (hypot 1 x))", "asinh({x})", "asinh"
    ),
    _function(
        "acosh", "Inverse of cosh, for x >= 1.", quiet(math.acosh), "(/ (/ 1 (sqrt (- x 1))) (sqrt (+ x 1)))",
        "acosh({x})", "acosh",
    ),
    _function("atanh", "Inverse of tanh.", atanh, "(/ 1 (* (- 1 x) (+ 1 x)))", "atanh({x})", "atanh"),
    _function(
        "erf", "The error function.", math.erf, "(* 1.1283791670955126 (exp (negate (* x x))))", "erf({x})"
    ),
    _function(
        "erfc", "1 - erf x, exact for large x.", math.erfc, "(* -1.1283791670955126 (exp (negate (* x x))))",
        "erfc({x})",
    ),
    _function("gamma", "The gamma function.", gamma, "(* r (polygamma 0 x))", "tgamma({x})"),
    _function("log-gamma", "log of |gamma x|.", log_gamma, "(polygamma 0 x)", "lgamma({x})"),
    _function("digamma", "Derivative of log-gamma.", lambda x: polygamma(0.0, x), "(polygamma 1 x)"),
    Primitive(
        "polygamma", "n x", "n-th derivative of digamma, n = 0, 1, 2, …", value=_checked2("polygamma", polygamma),
        type="real real -> real", partials={"n": "zero", "x": "(polygamma (+ n 1) x)"},
    ),
    Primitive(
        "atan", "y x", "Angle of the point (x, y) in radians, in (-pi, pi].", value=_checked2("atan", math.atan2),
        python="_atan2(y, x)", uses={"_atan2": math.atan2}, type="real real -> real",
        partials={
            "y": "(let ((h (hypot x y))) (/ (/ x h) h))",
            "x": "(let ((h (hypot x y))) (negate (/ (/ y h) h)))",
        },
        c="atan2({y}, {x})", array="atan2",
    ),
    Primitive(
        "hypot", "x y", "Distance of (x, y) from the origin, without overflow.", value=_checked2("hypot", hypot),
        python="_hypot(x, y)", uses={"_hypot": math.hypot}, type="real real -> real",
        partials={"x": "(if (= r 0) 0 (/ x r))", "y": "(if (= r 0) 0 (/ y r))"}, c="hypot({x}, {y})", array="hypot",
    ),
    Primitive(
        "expt", "x y", "x to the y.", value=_checked2("expt", power), python="_power(x, y)", uses={"_power": power},
        type="real real -> real",
        partials={
            "x": "(if (= y 0) 0 (* y (expt x (- y 1))))",
            "y": "(if (= x 0) (if (> y 0) 0 (* r (log x))) (* r (log x)))",
        },
        c="pow({x}, {y})", array="pow",
    ),
    _function("abs", "Absolute value.", abs, "(sign x)", "fabs({x})", "abs", "abs(x)"),
    Primitive(
        "max", "x y", "The larger one; nan if either is.", value=_checked2("max", larger), python="_larger(x, y)",
        uses={"_larger": larger}, type="real real -> real",
        partials={"x": "(if (> x y) 1 (if (= x y) 0.5 0))", "y": "(if (> y x) 1 (if (= x y) 0.5 0))"},
        variadic="left", unary="x", array="maximum",
    ),
    Primitive(
        "min", "x y", "The smaller one; nan if either is.", value=_checked2("min", smaller), python="_smaller(x, y)",
        uses={"_smaller": smaller}, type="real real -> real",
        partials={"x": "(if (< x y) 1 (if (= x y) 0.5 0))", "y": "(if (< y x) 1 (if (= x y) 0.5 0))"},
        variadic="left", unary="x", array="minimum",
    ),
    _function("floor", "The largest integer not above x.", _integral(math.floor), "zero", "floor({x})", "floor"),
    _function("ceiling", "The smallest integer not below x.", _integral(math.ceil), "zero", "ceil({x})", "ceil"),
    _function("truncate", "x without its fraction.", _integral(math.trunc), "zero", "trunc({x})", "trunc"),
    _function("round", "The nearest integer, halves to even.", _integral(round), "zero", "rint({x})", "round"),
    _function("sign", "-1, 0 or 1.", sign, "zero", "", "sign"),
    Primitive(
        "modulo", "x y", "x - y floor(x/y): the sign of y.", value=_checked2("modulo", modulo), python="_modulo(x, y)",
        uses={"_modulo": modulo}, type="real real -> real", partials={"x": "1", "y": "(negate (floor (/ x y)))"},
        array="remainder",
    ),
    Primitive(
        "remainder", "x y", "x - y truncate(x/y): the sign of x.", value=_checked2("remainder", remainder),
        python="_remainder(x, y)", uses={"_remainder": remainder}, type="real real -> real",
        partials={"x": "1", "y": "(negate (truncate (/ x y)))"}, c="fmod({x}, {y})",
    ),
    Primitive(
        "quotient", "x y", "truncate(x/y).", value=_checked2("quotient", quotient), type="real real -> real",
        partials={"x": "zero", "y": "zero"},
    ),
    # `x <= y <= x` rather than `x == y`, which would answer for an operand that is no real instead of raising
    _comparison("=", "Equal reals?", lambda x, y: x == y, "x <= y <= x"),
    _comparison("<", "Increasing?", lambda x, y: x < y, "x < y"),
    _comparison(">", "Decreasing?", lambda x, y: x > y, "x > y"),
    _comparison("<=", "Not decreasing?", lambda x, y: x <= y, "x <= y"),
    _comparison(">=", "Not increasing?", lambda x, y: x >= y, "x >= y"),
    _test("zero?", "Is x 0?", lambda x: x == 0, "0.0 <= x <= 0.0"),
    _test("positive?", "Is x above 0?", lambda x: x > 0, "x > 0.0"),
    _test("negative?", "Is x below 0?", lambda x: x < 0, "x < 0.0"),
    _test("integer?", "Is x a whole number?", lambda x: math.isfinite(x) and x == math.floor(x), ""),
    _test("even?", "Is x an even whole number?", lambda x: math.isfinite(x) and x % 2 == 0, ""),
    _test("odd?", "Is x an odd whole number?", lambda x: math.isfinite(x) and x % 2 == 1, ""),
    _test("nan?", "Is x not a number?", lambda x: x != x, ""),
    _test("finite?", "Is x neither infinite nor nan?", math.isfinite, "isfinite(x)"),
    _test("infinite?", "Is x infinite?", math.isinf, "isinf(x)"),
]  # fmt: skip


def _negate(x: Value) -> Value:
    if type(x) is not float:
        raise invalid("-", "reals", x)
    return -x
