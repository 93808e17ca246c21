"""The rows of random numbers, which are pure: a number follows from a key and its place among the numbers drawn with it.

The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): under a key of
two words of 32 bits it turns each counter of four words into a block of four words that look random. There is no state, so
numbers may be drawn in any order, on any device. All of it is arithmetic of whole numbers below 2^64, hence equal everywhere.

    key         a pair of whole reals below 2^32, Philox's key: it prints, reads back and is compared as what it is, may be held
                by anything, and will be two registers in compiled code. No row has a slope by a key. Its zero is that of
                any pair of reals, so a step down a gradient leaves the key in a structure what it was
    counter     (block, block div 2^32, purpose, 0); each row has a purpose, so what two rows draw with one key is unrelated
    word        64 bits, of which a block has two
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from vlad.core.types import is_tensor
from vlad.devices import Device, current, stable_order
from vlad.errors import VladError
from vlad.primitives.arrays import FIRST, constant, dimensions, length_of, row, whole
from vlad.primitives.numbers import invalid
from vlad.primitives.tensors import abstract_split, split_tensor
from vlad.tensors import Array, Tensor, made, namespace, on_host
from vlad.values import ZERO, Primitive, Value, list_of, look

UNIFORM, NORMAL, INTEGER, PERMUTATION, SPLIT = range(5)  # purposes
LARGEST_EXACT = 1 << 53  # whole reals up to here are told apart
_LOW = (1 << 32) - 1
_FEW = 8  # as many blocks are drawn without arrays, which is 15 times faster for one
# As many words at a time fit into the processor's cache with all that is computed of them; a GPU has more to do at a time.
AT_A_TIME = {"cpu": 1 << 14, "cuda": 1 << 26}

Key = tuple[int, int]
Words = tuple[Any, Any, Any, Any]  # integers of Python, or arrays of uint64; each below 2^32


def philox(counter: Words, key: Key) -> Words:
    """A block: ten rounds of two multiplications."""
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        p, q = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (q >> 32) ^ b ^ k, q & _LOW, (p >> 32) ^ d ^ m, p & _LOW
        k, m = (k + 0x9E3779B9) & _LOW, (m + 0xBB67AE85) & _LOW
    return a, b, c, d


def _words_of(block: Words) -> tuple[Any, Any]:
    a, b, c, d = block
    return a << 32 | b, c << 32 | d


def _few_words(key: Key, purpose: int, count: int) -> list[int]:
    found: list[int] = []
    for block in range((count + 1) // 2):
        found += _words_of(philox((block, 0, purpose, 0), key))
    return found[:count]


def _words(there: Device, key: Key, purpose: int, first: int, count: int) -> Array:
    """Some words from an even one on; the numbers of their blocks are alike from 2^32 on."""
    xp, block = there.xp, first // 2
    low = there.make("arange", block & _LOW, (block & _LOW) + (count + 1) // 2, dtype=xp.uint64)
    words = _words_of(philox((low, block >> 32, purpose, 0), key))
    return xp.reshape(xp.stack(words, axis=-1), (-1,))[:count]


def _drawn(key: Key, purpose: int, count: int, of_words: Callable[[Any, Array], Array]) -> Array:
    """A vector of what is computed of words, entry by entry."""
    there = current()
    xp = there.xp
    if count <= 2 * _FEW:
        return of_words(xp, there.asarray(_few_words(key, purpose, count), xp.uint64))
    parts, most = [], AT_A_TIME.get(there.name, count)
    for first in range(0, count, most):
        parts.append(of_words(xp, _words(there, key, purpose, first, min(most, count - first))))
    return xp.concat(parts)


def _key(name: str, value: Value, expected: str = "a key, which random-key or split has made") -> Key:
    pair = look(value)
    if type(pair) is tuple and len(pair) == 2 and type(pair[0]) is type(pair[1]) is float:
        a, b = pair
        if 0 <= a <= _LOW and 0 <= b <= _LOW and not a % 1 and not b % 1:
            return int(a), int(b)
    raise invalid(name, expected, value)


def _random_key(seed: Value) -> Value:
    number = whole("random-key", seed, "a seed")
    if not 0 <= number <= LARGEST_EXACT:
        raise VladError(
            "out-of-range", f"Seed given to random-key is out of range: {number}", hint="a seed is from 0 to 2^53"
        )  # fmt: skip
    return float(number & _LOW), float(number >> 32)


def _split(x: Value, n: Value, axis: Value) -> Value:
    if type(x) is Tensor:
        return split_tensor(x, n, axis)
    key, count = _key("split", x, "a tensor or a key"), length_of("split", n)
    words = on_host(_drawn(key, SPLIT, count, lambda xp, words: words)).tolist()
    return list_of([(float(word >> 32), float(word & _LOW)) for word in words])


def _shaped(vector: Array, shape: tuple[int, ...]) -> Value:
    return made(namespace(vector).reshape(vector, shape))


def _uniform(key: Value, dims: Value, low: Value, high: Value) -> Value:
    bounds = [0.0 if bound is ZERO else bound for bound in (low, high)]
    a, b = bounds
    if type(a) is not float or type(b) is not float:
        raise invalid("uniform", "reals as bounds", *bounds)
    if not (a < b and b - a < math.inf):
        raise _no_range("uniform", a, b)
    words, shape = _key("uniform", key), dimensions("uniform", dims)

    def of_words(xp: Any, words: Array) -> Array:
        return a + (b - a) * _fractions(xp, words)

    return _shaped(_drawn(words, UNIFORM, math.prod(shape), of_words), shape)


def _no_range(name: str, low: Value, high: Value) -> VladError:
    return VladError(
        "out-of-range", f"Bounds given to {name} make no range", irritants=(low, high),
        hint="the lower bound is below the upper one, at a finite distance",
    )  # fmt: skip


def _fractions(xp: Any, words: Array) -> Array:
    """Multiples of 2^-53 from 0 to just below 1."""
    return xp.astype(words >> 11, xp.float64) * 2.0**-53


def _normal(key: Value, dims: Value) -> Value:
    words, shape = _key("normal", key), dimensions("normal", dims)
    return _shaped(_drawn(words, NORMAL, math.prod(shape), _normals), shape)


# The coefficients of PPND16, from the lowest power up: numerator and denominator, near the middle, in the tails, and far out.
_MIDDLE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def _quotient(x: Array, coefficients: tuple[tuple[float, ...], ...]) -> Array:
    above, below = [_polynomial(x, each) for each in coefficients]
    return above / below


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    total = coefficients[-1] * x
    for coefficient in coefficients[-2:0:-1]:
        total += coefficient
        total *= x
    total += coefficients[0]
    return total


def _normals(xp: Any, words: Array) -> Array:
    """The inverse of the normal distribution at odd multiples of 2^-54, symmetrical and never 0 or 1, by PPND16 (Wichura 1988,
    "Algorithm AS 241: the percentage points of the normal distribution"). Above a probability of 0.075 and below 0.925 there is
    nothing but arithmetic and so the same bits everywhere; further out the logarithm is the array library's.
    """
    offset = xp.astype(words >> 11, xp.int64) * 2 - (LARGEST_EXACT - 1)
    q = xp.astype(offset, xp.float64) * 2.0**-54  # the probability less a half, exactly
    normals = _quotient(0.180625 - q * q, _MIDDLE) * q
    is_outer = xp.abs(q) > 0.425
    outer = q[is_outer]
    radius = xp.sqrt(-xp.log(0.5 - xp.abs(outer)))
    tails, is_far = _quotient(radius - 1.6, _TAIL), radius > 5.0
    if bool(xp.any(is_far)):  # one number in 3·10^10
        tails = xp.where(is_far, _quotient(radius - 5.0, _FAR), tails)
    normals[is_outer] = xp.where(outer < 0, -tails, tails)
    return normals


def _random_integer(key: Value, low: Value, high: Value, dims: Value) -> Value:
    a, b = [whole("random-integer", bound, "a bound") for bound in (low, high)]
    if max(abs(a), abs(b)) > LARGEST_EXACT:
        raise VladError(
            "out-of-range", "Bounds given to random-integer are out of range", hint="bounds are from -2^53 to 2^53",
            irritants=(low, high),
        )  # fmt: skip
    if a >= b:
        raise _no_range("random-integer", low, high)
    words, shape = _key("random-integer", key), dimensions("random-integer", dims)

    def of_words(xp: Any, words: Array) -> Array:
        return xp.astype(_scaled(words, b - a), xp.int64) + a

    return _shaped(_drawn(words, INTEGER, math.prod(shape), of_words), shape)


def _scaled(words: Array, count: int) -> Array:
    """From words evenly to the whole numbers below a count: the upper half of the product. What a number's probability lacks of
    1/count, or has too much, is less than 2^-64."""
    a, b = words >> 32, words & _LOW
    c, d = count >> 32, count & _LOW
    upper = a * d + (b * d >> 32)
    lower = b * c + (upper & _LOW)
    return a * c + (upper >> 32) + (lower >> 32)


def _permutation(key: Value, n: Value) -> Value:
    """The order of random words; equal ones, of which a million have a chance of 10^-8, keep theirs."""
    words = _drawn(
        _key("permutation", key), PERMUTATION, length_of("permutation", n), lambda xp, words: words
    )
    xp = namespace(words)
    return made(xp.astype(stable_order(words), xp.int64, copy=False))


def _left_out(w: Any, *operands: Any) -> Any:
    return w.left_out("random numbers are")


def _abstract_split(w: Any, x: Any, n: Any, axis: Any) -> Any:
    return abstract_split(w, x, n, axis) if is_tensor(x.type) else _left_out(w)


ROWS: list[Primitive] = [
    constant("random-key", "seed", "The key of a seed, a whole number: where random numbers come from.", _random_key,
             abstract=_left_out),
    row("split", "t n axis", "The list of n equal parts of a tensor along an axis; of a key, n new keys.", linear="t",
        value=_split, keywords=FIRST, abstract=_abstract_split, forward="(if (tensor? t) (split dt n axis) zero)",
        reverse={"t": "(if (tensor? t) (concatenate (complete r s) axis) zero)"}),
    row("uniform", "key dims low high", "Random numbers of a shape, evenly from 0, or low, up to but without 1, or high.",
        _uniform, abstract=_left_out, keywords={"low": 0.0, "high": 1.0},
        forward="(let ((u (uniform key dims 0 1))) (broadcast-like (accumulate (* dlow (- 1 u)) (* dhigh u)) r))",
        reverse={"low": "(sum-like (* s (- 1 (uniform key dims 0 1))) low)",
                 "high": "(sum-like (* s (uniform key dims 0 1)) high)"}),
    constant("normal", "key dims", "Random numbers of a shape, of the normal distribution with mean 0 and variance 1.", _normal,
             abstract=_left_out),
    constant("random-integer", "key low high dims", "Random whole numbers of a shape, from low up to but without high.",
             _random_integer, abstract=_left_out),
    constant("permutation", "key n", "The whole numbers below n in random order.", _permutation, abstract=_left_out),
]  # fmt: skip
