"""The rows of the reals: arithmetic, comparisons, elementary and special functions.

A row states its partial derivatives once, in the language; both modes and every order follow (values.Primitive). Where a partial
chooses between constants, `broadcast-like` makes a tensor of them one of the result's kind. `python` is the
fast form, valid if an operand is known to be real; `value` is the complete rule. Values follow IEEE arithmetic and the C
library: no operation on reals raises an error (docs/conventions.md has kinks and singular points).

The file is long because the rows of one subject stand in one table.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection
from typing import Any

from vlad.core import ranges
from vlad.data.errors import Kind, VladError, unsuitable
from vlad.data.tensors import Tensor, operands_of, reals_of
from vlad.data.values import FALSE, TRUE, ZERO, Primitive, PrimitiveType, Value
from vlad.messages.hints import expected_of, kind, kind_text, way_with
from vlad.primitives.elementwise import Arrays, Formula, elementwise, formula, is_elementwise
from vlad.primitives.erfc_tails import (
    erfcx,
    erfcx_derivative,
    log_erfc,
    log_erfc_derivative,
    log_normal_cdf,
    log_normal_cdf_derivative,
)
from vlad.primitives.special import (
    binary_scale,
    conic,
    conic_slope,
    direction,
    gamma,
    gamma_curve,
    gamma_slope,
    gamma_third,
    gaussian,
    gaussian_curve,
    gaussian_slope,
    inversion,
    inversion_cross,
    inversion_curve,
    inversion_slope,
    log_gamma,
    one_plus_power,
    polygamma,
    power,
    power_log,
    power_scale,
    sec_squared,
    sech_squared,
    sharp_tanh,
    tanh_second,
    tanh_third,
)

INFINITY = math.inf
NAN = math.nan
MOST = sys.float_info.max


def invalid(name: str, expected: str, *operands: Value, of: Collection[Kind] = ()) -> VladError:
    """An operand of the wrong kind. `expected`: what the operation takes, in words; `of`: the kinds that these words speak of, as
    far as there is a way to one of them."""
    kinds = [kind(operand) for operand in operands]
    found = " and ".join([kind_text(operand) for operand in operands])
    ways = way_with(name, of, kinds)
    these = "this is" if len(operands) == 1 else "these are"
    error = unsuitable(
        name, f"{name} takes {expected}; {these} {found}{ways[0]}", operands, names_itself=True
    )
    error.kinds, error.ways = tuple(kinds), ways
    return error


def _real(value: Value) -> float | None:
    if type(value) is float:
        return value
    return 0.0 if value is ZERO else None


Rule1 = Callable[[float], float]
Rule2 = Callable[[float, float], float]


def _checked(
    name: str, rule: Callable[..., Value], apply: Formula | None = None, arrays_of: Arrays = reals_of
) -> Callable[..., Value]:
    """The complete rule of a function of reals: on tensors entry by entry, on anything else an error."""

    def value(*operands: Value) -> Value:
        reals = [_real(operand) for operand in operands]
        if None not in reals:
            return rule(*reals)
        if is_elementwise(operands):
            return elementwise(name, rule, apply, operands, arrays_of)
        expected, of = expected_of(operands)
        raise invalid(name, expected, *operands, of=of)

    return value


def only_reals(name: str, rule: Callable[..., Value]) -> Callable[..., Value]:
    """The same for a row that does not take tensors."""

    def value(*operands: Value) -> Value:
        reals = [_real(operand) for operand in operands]
        if None in reals:
            raise invalid(name, "a real" if len(operands) == 1 else "reals", *operands, of=(Kind.REAL,))
        return rule(*reals)

    return value


def _linear2(
    name: str,
    rule: Rule2,
    with_zero: Callable[[Value, Value], Value],
    apply: Formula,
    arrays_of: Arrays = operands_of,
) -> Callable[[Value, Value], Value]:
    """A rule for + - * /, which get the known zero in adjoint code and preserve it."""
    checked = _checked(name, rule, apply, arrays_of)

    def value(x: Value, y: Value) -> Value:
        if (x is ZERO or y is ZERO) and {type(x), type(y)} <= {float, Tensor, type(ZERO)}:
            return with_zero(x, y)
        return checked(x, y)

    return value


def _quick(rule: Callable[..., Value], value: Callable[..., Value], count: int) -> Callable[..., Value]:
    """The function that emitted code calls: the rule itself if the operands are reals."""

    def of_one(x: Value) -> Value:
        return rule(x) if type(x) is float else value(x)

    def of_two(x: Value, y: Value) -> Value:
        return rule(x, y) if type(x) is float and type(y) is float else value(x, y)

    def of_more(*operands: Value) -> Value:
        for operand in operands:
            if type(operand) is not float:
                return value(*operands)
        return rule(*operands)

    return of_one if count == 1 else of_two if count == 2 else of_more


def real_rule(name: str, rule: Callable[..., float], count: int) -> Callable[..., Value]:
    """The complete rule of a row from a function of `count` reals: direct on reals, entry by entry on tensors."""
    return _quick(rule, _checked(name, rule), count)


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


def log2(x: float) -> float:
    try:
        return math.log2(x)
    except ValueError:
        return -INFINITY if x == 0 else NAN


def log10(x: float) -> float:
    try:
        return math.log10(x)
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


def _integral(function: Callable[[float], int]) -> Rule1:
    def rule(x: float) -> float:
        if not math.isfinite(x):
            return x
        # an int has no -0.0; keep the sign of zero as the C library does
        return math.copysign(float(function(x)), x) if abs(x) < 1 and function(x) == 0 else float(function(x))

    return rule


def modulo(x: float, y: float) -> float:
    """x - y·floor(x/y), with the sign of y; zero has none, as it is that of whole numbers, which are most of what this is for."""
    if y == 0 or not math.isfinite(x) or y != y:
        return NAN
    if math.isinf(y):
        return x + 0.0 if x == 0 or (x < 0) == (y < 0) else y
    return x % y + 0.0


def remainder(x: float, y: float) -> float:
    """x - y·truncate(x/y), with the sign of x: C's fmod, but for the sign of zero, as in `modulo`."""
    try:
        return math.fmod(x, y) + 0.0
    except ValueError:
        return NAN


def quotient(x: float, y: float) -> float:
    """truncate(x/y), of the exact quotient: x/y itself may have been rounded up to an integer."""
    if math.isfinite(x) and math.isfinite(y) and y != 0:
        return truncate(_integer_nearest((x - math.fmod(x, y)) / y))
    return truncate(divide(x, y))


def _integer_nearest(x: float) -> float:
    return float(round(x)) if math.isfinite(x) else x


def sign(x: float) -> float:
    return x if x == 0 or x != x else math.copysign(1.0, x)


def larger(x: float, y: float) -> float:
    if x > y or x != x:
        return x
    return y if x < y or y != y else x + y if x == 0 else x  # of 0 and -0 it is 0


def smaller(x: float, y: float) -> float:
    if x < y or x != x:
        return x
    return y if x > y or y != y else -(-x - y) if x == 0 else x  # of 0 and -0 it is -0


def sigmoid(x: float) -> float:
    try:
        return 1 / (1 + math.exp(-x))
    except OverflowError:
        return 0.0


def softplus(x: float) -> float:
    return math.log1p(math.exp(-abs(x))) + (x if x > 0 else 0.0)


def gelu(x: float) -> float:
    return 0.5 * x * math.erfc(-0.7071067811865476 * x)


def third_over_square_of_root(x: float) -> float:
    root = math.cbrt(x)
    return root / x / 3.0 if x != 0 and math.isfinite(x) else divide(1.0, 3.0 * root * root)


def half_over_root(x: float) -> float:
    try:
        return 0.5 / math.sqrt(x)
    except ValueError:
        return NAN
    except ZeroDivisionError:
        return INFINITY


floor = _integral(math.floor)
ceiling = _integral(math.ceil)
truncate = _integral(math.trunc)


def _reals(
    name: str, operands: str, doc: str, rule: Callable[..., float], *, array: str = "", **columns: Any
) -> Primitive:
    """A function of reals, applied to tensors entry by entry. It states its partial derivatives."""
    names = operands.split()
    used = "_" + "".join([character if character.isalnum() else "_" for character in name])
    apply = formula(array, tuple(names)) if array else None
    value = _checked(name, rule, apply, operands_of if columns.get("whole") else reals_of)
    return Primitive(
        name, operands, doc, value=value, python=f"{used}({', '.join(names)})", uses={used: _quick(rule, value, len(names))},
        type=PrimitiveType(["number"] * len(names), "number"), array=array, **columns,
    )  # fmt: skip


def _function(
    name: str,
    doc: str,
    rule: Rule1,
    partial: str,
    c: str = "",
    array: str = "",
    whole: str = "",
    **columns: Any,
) -> Primitive:
    """A real function of one real."""
    return _reals(name, "x", doc, rule, partials={"x": partial}, c=c, array=array, whole=whole, **columns)


def _plane(name: str, doc: str, rule: Rule2, by_x: str, by_y: str, array: str = "") -> Primitive:
    """A hidden real function of two reals."""
    c = f"vlad_{name.replace('-', '_')}({{x}}, {{y}})"
    return _reals(name, "x y", doc, rule, partials={"x": by_x, "y": by_y}, hidden=True, c=c, array=array)


def _tail(name: str, doc: str, rule: Rule1, derivative: Rule2) -> list[Primitive]:
    """A function of one real, and the hidden row of its derivatives of all orders."""
    c = f"vlad_{name.replace('-', '_')}"
    higher, array = f"{name}-derivative", f"{name.replace('-', '_')}(xp, x)"
    return [
        _function(name, doc, rule, f"({higher} 1 x)", f"{c}({{x}})", array),
        _reals(
            higher, "n x", f"The n-th derivative of {name}, for constant n.", derivative,
            partials={"n": "zero", "x": f"({higher} (+ n 1) x)"}, hidden=True, c=f"{c}_derivative({{n}}, {{x}})",
        ),
    ]  # fmt: skip


def _comparison(
    name: str, doc: str, rule: Callable[[float, float], bool], python: str, array: str
) -> Primitive:
    return Primitive(
        name,
        "x y",
        doc,
        value=_checked(
            name, lambda x, y: TRUE if rule(x, y) else FALSE, formula(array, ("x", "y")), operands_of
        ),
        python=python,
        type="number number -> boolean",
        forward="zero",
        reverse={},
        variadic="chain",
        c=f"{{x}} {'==' if name == '=' else name} {{y}}",
        array=array,
    )


def _test(name: str, doc: str, rule: Callable[[float], bool], python: str, c: str) -> Primitive:
    return Primitive(
        name,
        "x",
        doc,
        value=only_reals(name, lambda x: TRUE if rule(x) else FALSE),
        python=python,
        uses={"isfinite": math.isfinite, "isinf": math.isinf, "isnan": math.isnan},
        type="real -> boolean",
        forward="zero",
        reverse={},
        c=c,
    )


def _negate(x: Value) -> Value:
    if type(x) is not float and type(x) is not Tensor:
        raise invalid("-", "reals", x, of=(Kind.REAL,))
    return -x


NEGATE = Primitive(
    "negate", "x", "The negative.", value=lambda x: ZERO if x is ZERO else _negate(x), python="-x",
    type="number -> number", partials={"x": "-1"}, hidden=True, c="-{x}", with_zero=lambda w, x: x, array="negative",
)  # fmt: skip


def _zero_plus(x: Value, y: Value) -> Value:
    return y if x is ZERO else x


def _zero_minus(x: Value, y: Value) -> Value:
    return x - y


def _zero_divide(x: Value, y: Value) -> Value:
    return x / y if x is ZERO else divide(x, 0.0)


def _zero_times(x: Value, y: Value) -> Value:
    return x * y if x is ZERO else y * x


_add, _subtract, _multiply, _divide = [formula(f"x {sign} y", ("x", "y")) for sign in "+-*/"]

QUOTIENT = _linear2("/", divide, _zero_divide, _divide, reals_of)

ROWS: list[Primitive] = [
    Primitive(
        "+", "x y",
        "Sum.\n(+ 1 2 3)  ⇒ 6\n(+ #[1 2] 10)  ⇒ #[11 12]",
        value=_linear2("+", lambda x, y: x + y, _zero_plus, _add), python="x + y",
        type="number number -> number", partials={"x": "1", "y": "1"}, variadic="left", unary="(+ x -0.0)", nullary=0.0,
        c="{x} + {y}", with_zero=lambda w, x, y: y if x.type.of is ZERO else x, array="add",
        range_of=ranges.sum_range,
    ),
    Primitive(
        "-", "x y",
        "Difference; on one operand its negative.\n(- 5 2 1)  ⇒ 2\n(- 5)  ⇒ -5",
        value=_linear2("-", lambda x, y: x - y, _zero_minus, _subtract),
        python="x - y", type="number number -> number", partials={"x": "1", "y": "-1"}, variadic="left", unary="(negate x)",
        c="{x} - {y}", array="subtract", range_of=ranges.difference_range,
        with_zero=lambda w, x, y: x if y.type.of is ZERO else w.scalar(NEGATE, [y]),
    ),
    Primitive(
        "*", "x y",
        "Product.\n(* 2 3 4)  ⇒ 24\n(* #[1 2] #[3 4])  ⇒ #[3 8]",
        value=_linear2("*", lambda x, y: x * y, _zero_times, _multiply), python="x * y",
        type="number number -> number", partials={"x": "y", "y": "x"}, variadic="left", unary="(* x 1)", nullary=1.0,
        c="{x} * {y}", with_zero=lambda w, x, y: x if x.type.of is ZERO else y, array="multiply",
        range_of=ranges.product_range,
    ),
    Primitive(
        "/", "x y", "Quotient; on one operand its reciprocal.\n(/ 12 3 2)  ⇒ 2\n(/ 4)  ⇒ 0.25", value=QUOTIENT,
        python="divide(x, y) if y == 0.0 else x / y", uses={"divide": QUOTIENT}, type="number number -> number",
        partials={"x": "(reciprocal y)", "y": ("r", "-1", "(reciprocal y)")}, variadic="left", unary="(/ 1 x)", c="{x} / {y}",
        with_zero=lambda w, x, y: x if x.type.of is ZERO else None, array="divide",
    ),
    # Compiled code divides: another division by the same divisor shares it.
    _reals("reciprocal", "x", "1 / x.", lambda x: divide(1.0, x), partials={"x": ("(* (* t r) r)", "-1")}, hidden=True,
           array="1 / x", c="1.0 / {x}", abstract=lambda w, x: w.apply(w.machine.table["/"], [w.constant(1.0), x])),
    NEGATE,
    Primitive(
        "real", "x", "x itself, which must be a real; hides a constant from the compiler.\n(real 3)  ⇒ 3",
        value=only_reals("real", lambda x: x), type="real -> real", partials={"x": "1"}, c="{x}",
        abstract=lambda w, x: w.each(x, lambda x: w.unknown_real(x)),
    ),
    Primitive(
        "unknown-real", "x", "x itself, hidden from the C compiler, too: of constants that rounds better than the C library.",
        value=only_reals("unknown-real", lambda x: x), type="real -> real", partials={"x": "1"}, hidden=True,
        c="vlad_unknown_real({x})",
    ),
    _function("sqrt",
        "Square root; nan for negative x.\n(sqrt 16)  ⇒ 4\n(sqrt #[1 4 9])  ⇒ #[1 2 3]",
        quiet(math.sqrt), "(half-over-root x)", "sqrt({x})", "sqrt"),
    _function("half-over-root", "1 / (2 sqrt x).", half_over_root, "(/ (* t (* -0.5 r)) x)",
              "vlad_half_over_root({x})", array="0.5 / xp.abs(xp.sqrt(x))", hidden=True),
    _function("exp", "e to the x.\n(exp 0)  ⇒ 1", quiet(math.exp), "r", "exp({x})", "exp"),
    _function("log", "Natural logarithm.\n(log 1)  ⇒ 0", log, "(/ t x)", "log({x})", "log"),
    _function("exp2", "2 to the x.\n(exp2 10)  ⇒ 1024", quiet(math.exp2), "(* r 0.6931471805599453)", "exp2({x})",
              "exp2(xp, x)"),
    _function("log2", "Logarithm to the base 2.\n(log2 8)  ⇒ 3", log2, "(* (/ t x) 1.4426950408889634)", "log2({x})", "log2"),
    _function("log10", "Logarithm to the base 10.\n(log10 1000)  ⇒ 3", log10, "(* (/ t x) 0.4342944819032518)", "log10({x})",
              "log10"),
    _function("cbrt", "Cube root, negative for negative x.\n(cbrt -8)  ⇒ -2", math.cbrt, "(third-over-square-of-root x)",
              "cbrt({x})", "cbrt(xp, x)"),
    _function("third-over-square-of-root", "1 / (3 cbrt² x).", third_over_square_of_root,
              "(/ (* t (* -0.6666666666666666 r)) x)", "vlad_third_over_square_of_root({x})", array="1 / (3 * cbrt(xp, x) ** 2)",
              hidden=True),
    _function("log1p",
        "log of 1 + x, accurate for small x.\n(log1p 0)  ⇒ 0", log1p, "(one-plus-power 1 1 x)", "log1p({x})", "log1p"),
    _reals("one-plus-power", "k u x", "(u + x) to the -k, for constant k and u; u is 1 or, where x is scaled down, less.",
        one_plus_power,
        partials={
            "k": "zero", "u": "zero",
            "x": """(if (= k 1)
                (let ((v (binary-scale 1 x))) (* (* (* t v) (negate (one-plus-power 2 v (* v x)))) v))
                (* t (* (negate k) (one-plus-power (+ k 1) u x))))""",
        },
        hidden=True, array="(u + x) ** -k", c="vlad_one_plus_power({k}, {u}, {x})",
    ),
    # A derivative that is a power of x may be out of range although its product with a sensitivity is not. So x is scaled to
    # be near 1, by a factor that counts as a constant in derivatives.
    _plane("binary-scale", "The power of two that brings the size of x or y, whichever is larger, between 1 and 2.", binary_scale,
        "zero", "zero", "binary_scale(xp, x, y)"),
    _function("expm1",
        "exp x - 1, accurate for small x.\n(expm1 0)  ⇒ 0", quiet(math.expm1), "(exp x)", "expm1({x})", "expm1"),
    _function("sin",
        "Sine of x in radians.\n(sin 0)  ⇒ 0\n((derivative sin) 0)  ⇒ 1",
        quiet(math.sin), "(cos x)", "sin({x})", "sin"),
    _function("cos", "Cosine of x in radians.\n(cos 0)  ⇒ 1", quiet(math.cos), "(negate (sin x))", "cos({x})", "cos"),
    _function("tan", "Tangent of x in radians.\n(tan 0)  ⇒ 0", quiet(math.tan), "(sec-squared x)", "tan({x})", "tan"),
    # the derivative of tan; in all its derivatives the terms have one sign
    _function(
        "sec-squared", "1 / cos² x.", sec_squared, "(* 2 (* r (tan x)))", "vlad_sec_squared({x})", hidden=True,
        array="1 / xp.cos(x) ** 2",
    ),
    _function(
        "asin", "Angle in [-pi/2, pi/2] whose sine is x.\n(asin 0)  ⇒ 0", quiet(math.asin), "(conic 1 -1 0 1 x)",
        "asin({x})", "asin",
    ),
    _function(
        "acos", "Angle in [0, pi] whose cosine is x.\n(acos 1)  ⇒ 0", quiet(math.acos), "(negate (conic 1 -1 0 1 x))",
        "acos({x})", "acos",
    ),
    # one row for the derivatives of four inverse functions: its own derivatives have the fewest roundings
    _reals("conic", "c d j k x", "x to the j times (c + d x x) to the -k/2, for constant c, d, j and k.", conic,
        partials={
            "c": "zero", "d": "zero", "j": "zero", "k": "zero",
            "x": """(if (= j 0)
                (let ((u (binary-scale 1 x)))
                  (let ((slope (negate (* (* k d) (conic (* c (* u u)) d 1 (+ k 2) (* u x))))))
                    (let ((scaled (* (* (* t u) slope) u))) (if (= k 1) scaled (* scaled u)))))
                (* t (conic-slope c d j k x)))""",
        },
        hidden=True, c="vlad_conic({c}, {d}, {j}, {k}, {x})",
    ),
    _reals("conic-slope", "c d j k x", "The derivative of conic by x, for j >= 1; it has zeros.", conic_slope,
        partials={
            "c": "zero", "d": "zero", "j": "zero", "k": "zero",
            "x": """(let ((first (if (= j 1) (negate (* (* k d) (conic c d 1 (+ k 2) x)))
                                     (* j (conic-slope c d (- j 1) k x)))))
                      (- first (* (* k d) (conic-slope c d (+ j 1) (+ k 2) x))))""",
        },
        hidden=True, c="vlad_conic_slope({c}, {d}, {j}, {k}, {x})",),
    _function("sinh",
        "Hyperbolic sine.\n(sinh 0)  ⇒ 0", quiet(math.sinh, _same_sign), "(cosh x)", "sinh({x})", "sinh"),
    _function("cosh", "Hyperbolic cosine.\n(cosh 0)  ⇒ 1", quiet(math.cosh), "(sinh x)", "cosh({x})", "cosh"),
    # 1 - r² would cancel
    _function("tanh",
        "Hyperbolic tangent.\n(tanh 0)  ⇒ 0\n((derivative tanh) 0)  ⇒ 1",
        quiet(math.tanh), "(sech-squared x)", "tanh({x})", "tanh"),
    _function(
        "sech-squared", "1 / cosh² x.", sech_squared, "(tanh-second x)", "vlad_sech_squared({x})", hidden=True,
        array="1 / xp.cosh(x) ** 2",
    ),
    _function("tanh-second", "The second derivative of tanh.", tanh_second, "(tanh-third x)", "vlad_tanh_second({x})",
              array="-2 * xp.tanh(x) / xp.cosh(x) ** 2", hidden=True),
    _function(
        "tanh-third", "The third derivative of tanh.", tanh_third,
        "(let ((a (sech-squared x)) (b (sharp-tanh x))) (* 4 (* b (* a (+ 1 (* 3 (- a (* b b))))))))",
        "vlad_tanh_third({x})", hidden=True,),
    _function(
        "sharp-tanh", "tanh x, to the last place: what its derivatives are made of.", sharp_tanh, "(sech-squared x)",
        "vlad_sharp_tanh({x})", array="tanh", hidden=True,
    ),
    _function(
        "asinh", "Inverse of sinh.\n(asinh 0)  ⇒ 0", quiet(math.asinh), "(conic 1 1 0 1 x)", "asinh({x})", "asinh"
    ),
    _function(
        "acosh", "Inverse of cosh, for x >= 1.\n(acosh 1)  ⇒ 0", quiet(math.acosh), "(conic -1 1 0 1 x)",
        "acosh({x})", "acosh",
    ),
    _function("atanh", "Inverse of tanh.\n(atanh 0)  ⇒ 0", atanh, "(conic 1 -1 0 2 x)", "atanh({x})", "atanh"),
    _function("erf",
        "The error function.\n(erf 0)  ⇒ 0\n(erf +inf.0)  ⇒ 1",
        math.erf, "(* 1.1283791670955126 (gaussian x))", "erf({x})", "erf(xp, x)"),
    _function(
        "erfc",
        "1 - erf x, accurate for large x.\n(erfc 0)  ⇒ 1",
        math.erfc, "(* -1.1283791670955126 (gaussian x))", "erfc({x})",
        "erfc(xp, x)",
    ),
    *_tail(
        "erfcx", "exp(x x) times erfc x, without overflow for large x.\n(round-to 9 (erfcx 1e8))  ⇒ 6e-9",
        erfcx, erfcx_derivative,
    ),
    *_tail(
        "log-erfc", "log of erfc x, accurate for large x.\n(round-to 4 (log-erfc 1e3))  ⇒ -1000007.4801",
        log_erfc, log_erfc_derivative,
    ),
    *_tail(
        "log-normal-cdf", "log of the normal distribution function at x, accurate in both tails.\n"
        "(round-to 4 (log-normal-cdf -40))  ⇒ -804.6084", log_normal_cdf, log_normal_cdf_derivative,
    ),
    _function(
        "gaussian", "exp(-x x).", gaussian, "(gaussian-slope x)", "vlad_gaussian({x})", array="xp.exp(-x * x)", hidden=True
    ),
    _function("gaussian-slope", "-2 x exp(-x x).", gaussian_slope, "(gaussian-curve x)",
              "vlad_gaussian_slope({x})", "-2 * xp.where((g := xp.exp(-x * x)) == 0, 0.0, x) * g", hidden=True),
    _function(
        "gaussian-curve", "(4 x x - 2) exp(-x x).", gaussian_curve,
        "(let ((g (gaussian x))) (let ((u (where (= g 0) 0 x))) (* g (* 4 (* u (- 3 (* 2 (* u u))))))))",
        "vlad_gaussian_curve({x})",  # 4 (x - 1/√2) (x + 1/√2), corrected for the rounding of 1/√2
        "4 * ((u := xp.abs(xp.where((g := xp.exp(-x * x)) == 0, 0.0, x))) - 0.7071067811865476 + 4.833646656726457e-17)"
        " * (u + 0.7071067811865476) * g", hidden=True,
    ),
    _function("sigmoid",
        "1 / (1 + exp(-x)).\n(sigmoid 0)  ⇒ 0.5\n((derivative sigmoid) 0)  ⇒ 0.25",
        sigmoid, "(* r (sigmoid (negate x)))", "1 / (1 + exp(-{x}))",
              "1 / (1 + xp.exp(-x))"),
    _function("softplus",
        "log(1 + exp x), without overflow.\n(round-to 4 (softplus 0))  ⇒ 0.6931", softplus, "(sigmoid x)",
              "log1p(exp(-fabs({x}))) + ({x} > 0 ? {x} : 0)", "xp.log1p(xp.exp(-xp.abs(x))) + xp.where(x > 0, x, 0.0)"),
    _function("relu",
        "x where it is above 0, else 0.\n(relu -2)  ⇒ 0\n(relu #[-1 0 3])  ⇒ #[0 0 3]",
        lambda x: 0.0 if x <= 0 else x, "(broadcast-like (where (> r 0) 1 0) r)",
              "({x} <= 0 ? 0 : {x})", "xp.where(x <= 0, 0.0, x)"),
    _function("gelu", "x times the normal distribution function at x.\n(gelu 0)  ⇒ 0", gelu,
              """(+ (* 0.5 (erfc (* x -0.7071067811865476)))
                    (* x (* 0.3989422804014327 (gaussian (* x 0.7071067811865476)))))""",
              "0.5 * {x} * erfc(-0.7071067811865476 * {x})", "0.5 * x * erfc(xp, -0.7071067811865476 * x)"),
    _function("gamma", "The gamma function.\n(gamma 5)  ⇒ 24", gamma, "(gamma-slope x)", "tgamma({x})"),
    _function("gamma-slope", "The derivative of gamma.", gamma_slope, "(gamma-curve x)",
              "vlad_gamma_slope({x})", hidden=True),
    _function("gamma-curve", "The second derivative of gamma.", gamma_curve, "(gamma-third x)",
              "vlad_gamma_curve({x})", hidden=True),
    _function(
        "gamma-third", "The third derivative of gamma.", gamma_third,
        """(let ((a (digamma x)) (b (polygamma 1 x)) (c (polygamma 2 x)))
             (* (gamma x) (+ (+ (* (* a a) (+ (* a a) (* 6 b))) (* 3 (* b b))) (+ (* 4 (* a c)) (polygamma 3 x)))))""",
        "vlad_gamma_third({x})", hidden=True,
    ),
    _function("lgamma", "log of |gamma x|.\n(lgamma 1)  ⇒ 0", log_gamma, "(digamma x)", "lgamma({x})"),
    _function("log-gamma",
        "log of |gamma x|.\n(round-to 4 (log-gamma 5))  ⇒ 3.1781", log_gamma, "(digamma x)", "lgamma({x})"),
    _function("digamma",
        "Derivative of log-gamma.\n(round-to 4 (digamma 1))  ⇒ -0.5772",
        lambda x: polygamma(0.0, x), "(polygamma 1 x)",
              "vlad_polygamma(0.0, {x})"),
    _reals("polygamma", "n x",
        "n-th derivative of digamma, n = 0, 1, 2, …\n(round-to 4 (polygamma 1 1))  ⇒ 1.6449", polygamma,
        partials={"n": "zero", "x": "(polygamma (+ n 1) x)"}, c="vlad_polygamma({n}, {x})",
    ),
    _reals("atan", "y x",
        "Angle of the point (x, y) in radians, in (-pi, pi].\n(atan 0 1)  ⇒ 0\n"
        "(round-to 4 (atan 1 1))  ⇒ 0.7854", math.atan2,
        partials={
            "y": "(let ((v (binary-scale x y))) (* (* t v) (inversion (* v x) (* v y))))",
            "x": ("(let ((v (binary-scale x y))) (* (* t v) (inversion (* v y) (* v x))))", "-1"),
        },
        c="atan2({y}, {x})", array="atan2",
    ),
    # with v = y/(x² + y²): the parts of 1/z, whose derivative is -1/z²
    _reals("inversion", "x y", "x / (x x + y y).", inversion,
        partials={
            "x": "(let ((v (binary-scale x y))) (* (* (* t v) (inversion-slope (* v x) (* v y))) v))",
            "y": "(let ((v (binary-scale x y))) (* (* (* t v) (inversion-cross (* v x) (* v y))) v))",
        },
        hidden=True, c="vlad_inversion({x}, {y})",
    ),
    _plane(
        "inversion-slope", "The derivative of inversion by x.", inversion_slope, "(inversion-curve x y)",
        "(negate (inversion-curve y x))",
    ),
    _plane(
        "inversion-cross", "The derivative of inversion by y.", inversion_cross, "(negate (inversion-curve y x))",
        "(negate (inversion-curve x y))",
    ),
    _plane(
        "inversion-curve", "2 x (x x - 3 y y) / (x x + y y)³.", inversion_curve,
        "(let ((a (inversion-slope x y)) (b (inversion-cross x y))) (* -6 (* (- a b) (+ a b))))",
        "(* -12 (* (inversion-slope x y) (inversion-cross x y)))",
    ),
    _reals("hypot", "x y", "Distance of (x, y) from the origin, without overflow.\n(hypot 3 4)  ⇒ 5", math.hypot,
        partials={"x": "(direction x y)", "y": "(direction y x)"}, c="hypot({x}, {y})", array="hypot",
    ),
    # its own derivative is (y/h)²/h; differentiating x/h would cancel
    _reals("direction", "x y", "x / hypot(x, y); 0 at the origin.", direction,
        partials={
            "x": """(let ((none (= (hypot x y) 0)))
                (let ((u (where none 1 x))) (where none +nan.0 (* (* t (inversion y u)) (direction y u)))))""",
            "y": """(let ((none (= (hypot x y) 0)))
                (let ((u (where none 1 x))) (where none +nan.0 (negate (* (* t (inversion y u)) r)))))""",
        },
        hidden=True, c="vlad_direction({x}, {y})",
    ),
    # outside its domain a formula is evaluated at another point, so that the branch that is not chosen has derivatives
    _reals("expt", "x y", "x to the y.\n(expt 2 10)  ⇒ 1024\n((derivative (lambda (x) (expt x 3))) 2)  ⇒ 12", power,
        partials={
            "x": """(let ((none (broadcast-like (where (= x 0) (where (= y 0) 1 0) 0) r)))
                (let ((v (power-scale x (- y 1))))
                  (where (= none 1) 0 (* (* t (* y (power-log (+ x none) y 1 0 1 v))) v))))""",
            "y": "(where (> x 0) (power-log (where (> x 0) x 1) y 0 1 0 1) (* 0 r))",
        },
        c="pow({x}, {y})", array="power(xp, x, y)",
    ),
    _plane("power-scale",
        "The power of two that brings the size of x between 1 and 2 if x to the y, below -1, may be out of range; else 1.",
        power_scale, "zero", "zero", "power_scale(xp, x, y)"),
    # if a power is out of range, the exponent one above the -1st is not: w powers of the scale v compensate
    _reals("power-log", "x y n m w v",
        "x to the (y - n), times log x to the m, times v to the -w, for constant n, m, w and v.", power_log,
        partials={
            "x": """(let ((next (+ n 1)) (all (where (= v 1) 1 (+ w 1))))
                (let ((none (broadcast-like (where (= x 0) (where (= y n) 1 0) 0) r)) (scale (power-scale x (- y next))))
                  (let ((first (where (= none 1) 0 (* (- y n) (power-log (+ x none) y next m all scale)))))
                    (let ((slope (if (= m 0) first (+ first (* m (power-log x y next (- m 1) all scale))))))
                      (* (* t slope) scale)))))""",
            "y": "(where (> x 0) (power-log (where (> x 0) x 1) y n (+ m 1) w v) (* 0 r))",
            "n": "zero", "m": "zero", "w": "zero", "v": "zero",
        },
        array="power_log(xp, x, y, n, m, w, v)", hidden=True, c="vlad_power_log({x}, {y}, {n}, {m}, {w}, {v})",
    ),
    _function("abs",
        "Absolute value.\n(abs -3)  ⇒ 3", abs, "(sign x)", "fabs({x})", "abs", "(long){x} < 0 ? -{x} : {x}"),
    _reals("max", "x y", "The larger one; nan if either is.\n(max 1 3 2)  ⇒ 3", larger,
        partials={"x": "(broadcast-like (where (> x y) 1 (where (= x y) 0.5 0)) r)",
                  "y": "(broadcast-like (where (> y x) 1 (where (= x y) 0.5 0)) r)"},
        variadic="left", unary="(max x x)", c="vlad_max({x}, {y})", array="larger(xp, x, y)",
        whole="(long){x} > (long){y} ? {x} : {y}", range_of=ranges.maximum_range,
    ),
    _reals("min", "x y", "The smaller one; nan if either is.\n(min 1 3 2)  ⇒ 1", smaller,
        partials={"x": "(broadcast-like (where (< x y) 1 (where (= x y) 0.5 0)) r)",
                  "y": "(broadcast-like (where (< y x) 1 (where (= x y) 0.5 0)) r)"},
        variadic="left", unary="(min x x)", c="vlad_min({x}, {y})", array="smaller(xp, x, y)",
        whole="(long){x} < (long){y} ? {x} : {y}", range_of=ranges.minimum_range,
    ),
    _function("floor",
        "The largest integer not above x.\n(floor 2.7)  ⇒ 2\n(floor -2.7)  ⇒ -3",
        floor, "zero", "floor({x})", "floor", "{x}", range_of=ranges.floor_range),
    _function("ceiling",
        "The smallest integer not below x.\n(ceiling 2.1)  ⇒ 3", ceiling, "zero", "ceil({x})", "ceil", "{x}"),
    _function("truncate",
        "x without its fraction.\n(truncate -2.7)  ⇒ -2", truncate, "zero", "trunc({x})", "trunc", "{x}"),
    _function("round",
        "The nearest integer; halves are rounded to even.\n(round 2.6)  ⇒ 3\n(round 2.5)  ⇒ 2",
        _integral(round), "zero", "rint({x})", "round", "{x}"),
    _function("sign",
        "-1, 0 or 1.\n(map sign '(-3 0 5))  ⇒ (-1 0 1)",
        sign, "zero", "vlad_sign({x})", "sign(xp, x)", "((long){x} > 0) - ((long){x} < 0)"),
    _reals("modulo", "x y", "x - y floor(x/y): the sign of y.\n(modulo 7 3)  ⇒ 1\n(modulo -7 3)  ⇒ 2", modulo,
        partials={"x": "1", "y": "(round (/ (- r x) y))"},
        c="vlad_modulo({x}, {y})", array="xp.remainder(x, y) + 0",
        whole="vlad_whole_modulo({x}, {y})", range_of=ranges.modulo_range,
    ),
    _reals("remainder", "x y",
        "x - y truncate(x/y): the sign of x.\n(remainder 7 3)  ⇒ 1\n(remainder -7 3)  ⇒ -1", remainder,
        partials={"x": "1", "y": "(round (/ (- r x) y))"}, c="vlad_remainder({x}, {y})",
    ),
    _reals("quotient", "x y", "truncate(x/y).\n(quotient 7 2)  ⇒ 3\n(quotient -7 2)  ⇒ -3", quotient,
        partials={"x": "zero", "y": "zero"}, c="vlad_quotient({x}, {y})",
    ),
    # `x <= y <= x` rather than `x == y`, which would not raise for an operand that is no real
    _comparison("=", "Equal reals?\n(= 1 1 1)  ⇒ #t\n(= 1 2)  ⇒ #f", lambda x, y: x == y, "x <= y <= x", "equal"),
    _comparison("<", "Increasing?\n(< 1 2 3)  ⇒ #t\n(< 1 1)  ⇒ #f", lambda x, y: x < y, "x < y", "less"),
    _comparison(">", "Decreasing?\n(> 3 2 1)  ⇒ #t", lambda x, y: x > y, "x > y", "greater"),
    _comparison("<=", "Not decreasing?\n(<= 1 1 2)  ⇒ #t", lambda x, y: x <= y, "x <= y", "less_equal"),
    _comparison(">=", "Not increasing?\n(>= 2 1 1)  ⇒ #t", lambda x, y: x >= y, "x >= y", "greater_equal"),
    _test("zero?", "Is x 0?\n(zero? 0)  ⇒ #t", lambda x: x == 0, "0.0 <= x <= 0.0", "{x} == 0"),
    _test("positive?",
        "Is x above 0?\n(positive? 0)  ⇒ #f\n(filter positive? '(-1 2 3))  ⇒ (2 3)",
        lambda x: x > 0, "x > 0.0", "{x} > 0"),
    _test("negative?", "Is x below 0?\n(negative? -1)  ⇒ #t", lambda x: x < 0, "x < 0.0", "{x} < 0"),
    _test("even?",
        "Is x an even whole number?\n(even? 4)  ⇒ #t",
        lambda x: x % 2.0 == 0.0, "x % 2.0 == 0.0", "vlad_remainder({x}, 2) == 0"),
    _test("odd?",
        "Is x an odd whole number?\n(odd? 4)  ⇒ #f",
        lambda x: x % 2.0 == 1.0, "x % 2.0 == 1.0", "fabs(vlad_remainder({x}, 2)) == 1"),
    _test("nan?", "Is x not a number?\n(nan? (/ 0 0))  ⇒ #t", math.isnan, "isnan(x)", "{x} != {x}"),
    _test("finite?",
        "Is x neither infinite nor nan?\n(finite? 1)  ⇒ #t\n(finite? (/ 1 0))  ⇒ #f",
        math.isfinite, "isfinite(x)", f"fabs({{x}}) <= {MOST}"),
    _test("infinite?",
        "Is x infinite?\n(infinite? (/ 1 0))  ⇒ #t", math.isinf, "isinf(x)", f"fabs({{x}}) > {MOST}"),
]  # fmt: skip
