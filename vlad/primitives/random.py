"""The rows of random numbers, which are pure: a number depends on a key and its index among the numbers drawn with it.

The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): with a key of
two words of 32 bits it maps each counter of four words to a block of four pseudo-random words. There is no state, so
numbers may be drawn in any order, on any device. All of it is integer arithmetic below 2^64, hence equal everywhere.

    key         a pair of whole reals below 2^32, Philox's key: it is printed, read and compared as such, may be part of any
                structure, and takes two registers in compiled code. No row has a derivative by a key. Its zero is that of
                any pair of reals, so a gradient step leaves a key in a structure unchanged
    counter     (block, block div 2^32, purpose, 0); each row has a purpose, so draws of two rows with one key are unrelated
    word        64 bits, of which a block has two

The file is long because generators, their rows and their rules for types stand together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from vlad.control.budget import expect_array, expect_arrays
from vlad.core.extents import MOST_LISTED, at_most
from vlad.core.loop_nests import Access, Kernel, Output, Read, Routine, Step, Write, contiguous
from vlad.core.types import Recursion, is_real, is_tensor
from vlad.data.devices import Device, current, stable_order
from vlad.data.errors import Kind, VladError
from vlad.data.tensors import Array, Tensor, made, namespace, on_host
from vlad.data.values import LARGEST_WHOLE, NIL, TRUE, ZERO, Primitive, PrimitiveType, Value, list_of, look
from vlad.primitives.arrays import FIRST, constant, dimensions, length_of, row, whole
from vlad.primitives.indexing import whole_places
from vlad.primitives.numbers import invalid, only_reals
from vlad.primitives.shaping import abstract_split, split_tensor
from vlad.primitives.type_rules import (
    conversion,
    known,
    known_lengths,
)
from vlad.primitives.walking import choose, scalar

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

UNIFORM, NORMAL, INTEGER, PERMUTATION, SPLIT = range(5)  # purposes
NO_RANGE = "Bounds given to {} make no range"
# Errors of compiled code for a computed key or seed.
NO_KEY = {
    name: f"Argument to {name} is no key"
    for name in ("split", "uniform", "normal", "random-integer", "permutation")
} | {"random-key": "Argument to random-key is no seed"}
NO_NUMBER = "Number of keys given to split is no whole number"
_LOW = (1 << 32) - 1
_FEW = 8  # up to this many blocks are drawn without arrays, 15 times faster for one
# Words per step: their intermediate results fit into the processor's cache; a GPU needs more parallel work.
AT_A_TIME = {"cpu": 1 << 14, "cuda": 1 << 26}

Key = tuple[int, int]
Words = tuple[Any, Any, Any, Any]  # Python integers, or arrays of uint64; each below 2^32


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
    """Words from an even index on; block numbers repeat from 2^32 on."""
    xp, block = there.xp, first // 2
    low = there.make("arange", block & _LOW, (block & _LOW) + (count + 1) // 2, dtype=xp.uint64)
    words = _words_of(philox((low, block >> 32, purpose, 0), key))
    return xp.reshape(xp.stack(words, axis=-1), (-1,))[:count]


def _drawn(key: Key, purpose: int, count: int, of_words: Callable[[Any, Array], Array]) -> Array:
    """A vector computed from words, entry by entry."""
    there = current()
    xp = there.xp
    if count <= 2 * _FEW:
        return of_words(xp, there.asarray(_few_words(key, purpose, count), xp.uint64))
    most = AT_A_TIME.get(there.name, count)
    expect_arrays(1, count)
    drawn = None
    for first in range(0, count, most):
        part = of_words(xp, _words(there, key, purpose, first, min(most, count - first)))
        if drawn is None:
            drawn = there.make("empty", count, dtype=part.dtype)
        drawn[first : first + most] = part
    return drawn


def _key(
    name: str,
    value: Value,
    expected: str = "a key, which random-key or split has made",
    of: Collection[Kind] = (),
) -> Key:
    pair = look(value)
    if type(pair) is tuple and len(pair) == 2 and type(pair[0]) is type(pair[1]) is float:
        a, b = pair
        if 0 <= a <= _LOW and 0 <= b <= _LOW and not a % 1 and not b % 1:
            return int(a), int(b)
    raise invalid(name, expected, value, of=of)


def _random_key(seed: Value) -> Value:
    number = whole("random-key", seed, "a seed")
    if not 0 <= number <= LARGEST_WHOLE:
        raise VladError(
            "out-of-range", f"Seed given to random-key is out of range: {number}", hint="a seed is from 0 to 2^53",
            name="random-key",
        )  # fmt: skip
    return float(number & _LOW), float(number >> 32)


BYTES_A_KEY = 280  # in a list, and in the Python list from which it is made


def _split(x: Value, n: Value, axis: Value) -> Value:
    if type(x) is Tensor:
        return split_tensor(x, n, axis)
    key, count = _key("split", x, "a tensor or a key", (Kind.TENSOR,)), length_of("split", n)
    expect_array((count,), BYTES_A_KEY)
    words = on_host(_drawn(key, SPLIT, count, lambda xp, words: words)).tolist()
    return list_of([(float(word >> 32), float(word & _LOW)) for word in words])


def _shaped(vector: Array, shape: tuple[int, ...]) -> Value:
    return made(namespace(vector).reshape(vector, shape))


def _uniform(key: Value, dims: Value, low: Value, high: Value) -> Value:
    bounds = [0.0 if bound is ZERO else bound for bound in (low, high)]
    a, b = bounds
    if type(a) is not float or type(b) is not float:
        raise invalid("uniform", "reals as bounds", *bounds, of=(Kind.REAL,))
    if not (a < b and b - a < math.inf):
        raise _no_range("uniform", a, b)
    words, shape = _key("uniform", key), dimensions("uniform", dims)

    def of_words(xp: Any, words: Array) -> Array:
        return a + (b - a) * _fractions(xp, words)

    return _shaped(_drawn(words, UNIFORM, math.prod(shape), of_words), shape)


def _no_range(name: str, low: Value, high: Value) -> VladError:
    return VladError(
        "out-of-range", NO_RANGE.format(name), irritants=(low, high),
        hint="the lower bound is below the upper one, at a finite distance", name=name,
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
    """The inverse of the normal distribution function at odd multiples of 2^-54, symmetric and never 0 or 1, by PPND16 (Wichura
    1988, "Algorithm AS 241: the percentage points of the normal distribution"). Between the probabilities 0.075 and 0.925 it uses
    arithmetic only, so the bits are the same everywhere; further out it uses the array library's logarithm.
    """
    offset = xp.astype(words >> 11, xp.int64) * 2 - (LARGEST_WHOLE - 1)
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
    if max(abs(a), abs(b)) > LARGEST_WHOLE:
        raise VladError(
            "out-of-range", "Bounds given to random-integer are out of range", hint="bounds are from -2^53 to 2^53",
            irritants=(low, high), name="random-integer",
        )  # fmt: skip
    if a >= b:
        raise _no_range("random-integer", low, high)
    words, shape = _key("random-integer", key), dimensions("random-integer", dims)

    def of_words(xp: Any, words: Array) -> Array:
        return xp.astype(_scaled(words, b - a), xp.int64) + a

    return _shaped(_drawn(words, INTEGER, math.prod(shape), of_words), shape)


def _scaled(words: Array, count: int) -> Array:
    """Map words evenly to the whole numbers below a count: the upper half of the product. The probability of a number differs
    from 1/count by less than 2^-64.
    """
    a, b = words >> 32, words & _LOW
    c, d = count >> 32, count & _LOW
    upper = a * d + (b * d >> 32)
    lower = b * c + (upper & _LOW)
    return a * c + (upper >> 32) + (lower >> 32)


def _permutation(key: Value, n: Value) -> Value:
    """The stable order of random words; a million words contain equal ones with a probability of 10^-8."""
    words = _drawn(
        _key("permutation", key), PERMUTATION, length_of("permutation", n), lambda xp, words: words
    )
    xp = namespace(words)
    expect_arrays(1.5, words.size)
    return made(xp.astype(stable_order(words), xp.int64, copy=False))


# The same in compiled code: a number depends on the key's words and its index.

WHOLE, HIGH, LOW = range(
    3
)  # parts of a word: the first 53 bits as a fraction of 1, or one half as a whole number
MOST_RANKED = 256  # entries that compiled code permutes by their ranks, in quadratic time; more on a GPU
MOST_RANKED_THERE, MOST_ORDERED = 2048, 1 << 20


def _word(k: float, m: float, i: float, purpose: float, part: float) -> float:
    if not (0 <= k <= _LOW and 0 <= m <= _LOW and 0 <= i < LARGEST_WHOLE and 0 <= purpose <= _LOW):
        return math.nan
    word = _words_of(
        philox((int(i) // 2 & _LOW, int(i) // 2 >> 32, int(purpose) & _LOW, 0), (int(k), int(m)))
    )[int(i) % 2]
    return (word >> 11) * 2.0**-53 if part == WHOLE else float(word >> 32 if part == HIGH else word & _LOW)


def _quantile(fraction: float) -> float:
    """The inverse of the normal distribution function at a fraction of 1 plus half a step."""
    q = (fraction * 2.0**53 * 2 - (LARGEST_WHOLE - 1)) * 2.0**-54
    if not abs(q) > 0.425:
        return float(_quotient(0.180625 - q * q, _MIDDLE)) * q
    radius = math.sqrt(-math.log(0.5 - abs(q))) if abs(q) < 0.5 else math.nan
    tail = _quotient(radius - 5.0, _FAR) if radius > 5.0 else _quotient(radius - 1.6, _TAIL)
    return float(-tail if q < 0 else tail)


def _below(high: float, low: float, count: float) -> float:
    """The whole number below a count for a word."""
    if not (0 <= high <= _LOW and 0 <= low <= _LOW and 0 <= count <= 2.0 * LARGEST_WHOLE):
        return math.nan
    return float((int(high) << 32 | int(low)) * int(count) >> 64)


def _hidden(name: str, operands: str, doc: str, rule: Callable[..., float], c: str) -> Primitive:
    """A function of reals that only type rules use, in loops."""
    names, used = operands.split(), "_" + name.replace("-", "_")
    value = only_reals(name, rule)
    return Primitive(
        name, operands, doc, value=value, python=f"{used}({', '.join(names)})", uses={used: value},
        type=PrimitiveType(["real"] * len(names), "real"), forward="zero", reverse={}, c=c, hidden=True,
    )  # fmt: skip


WORD = _hidden("random-word", "k m i purpose part", "Of a word under a key, the first 53 bits or a half.", _word,
               "vlad_random_word({k}, {m}, {i}, {purpose}, {part})")  # fmt: skip
QUANTILE = _hidden("normal-quantile", "fraction", "The normal number of a fraction of 1.", _quantile,
                   "vlad_normal_quantile({fraction})")  # fmt: skip
BELOW = _hidden("random-below", "high low count", "A word as a number below a count.", _below,
                "vlad_random_below({high}, {low}, {count})")  # fmt: skip


def _with_key(w: AbstractMachine, name: str, key: Any, rule: Callable[..., Any]) -> Any:
    """Apply the rule to the two words of a key."""
    error = NO_KEY[name]
    parts = w.parts(key) if key.type.kind == "pair" else []
    if len(parts) != 2 or not all(is_real(part.type) for part in parts):
        return w.by_value(error)
    outer, w.key = w.key, (w.key, "first word")

    def second(k: Any) -> Any:
        w.key = (outer, "second word")
        return whole_places(w, error, parts[1], 0, _LOW + 1, lambda m: rule(k, m))

    return whole_places(w, error, parts[0], 0, _LOW + 1, second)


def _of_words(
    w: AbstractMachine,
    k: Any,
    m: Any,
    purpose: int,
    shape: tuple[int, ...],
    parts: tuple[int, ...],
    steps: list[Step],
    *more: Any,
    kind: str = "float64",
) -> Any:
    """A tensor, or a real, that steps compute from parts of words. Values of the steps: the index, k, m, the purpose, the numbers
    of three parts, `more`, then the requested parts.
    """
    place = Access(0, contiguous(shape))
    given = [k, m, *[w.constant(float(number)) for number in (purpose, WHOLE, HIGH, LOW)], *more]
    reads = (Read(None, place), *[Read(number, None) for number in range(len(given))])
    own = [*[Step(WORD, (1, 2, 0, 3, 4 + part)) for part in parts], *steps]
    own += conversion(w, len(reads) + len(own) - 1, "float64", kind)
    size = math.prod(shape) if shape else None
    write = Write(0, len(reads) + len(own) - 1, place if shape else None)
    kernel = Kernel(shape, reads, tuple(own), (Output(size, kind=kind),), (write,))
    return w.loops(kernel, given, [w.types.tensor(shape, kind) if shape else w.types.real])[0]


def _abstract_key(w: AbstractMachine, seed: Any) -> Any:
    if not is_real(seed.type):
        return w.invalid("random-key")
    if seed.type.kind == "constant":
        first, second = _random_key(known(w, seed))
        return w.pair(w.constant(first), w.constant(second))

    def words(seed: Any) -> Any:
        """Its lower and upper half; scaling by a power of two is exact."""
        table, size = w.machine.table, w.constant(float(_LOW + 1))
        upper = w.apply(table["floor"], [w.apply(table["/"], [seed, size])])
        return w.pair(w.apply(table["-"], [seed, w.apply(table["*"], [upper, size])]), upper)

    beyond = LARGEST_WHOLE + 2  # the next real
    return whole_places(w, NO_KEY["random-key"], seed, 0, beyond, words)


def _abstract_uniform(w: AbstractMachine, key: Any, dims: Any, low: Any, high: Any) -> Any:
    shape, table = dimensions("uniform", known_lengths(w, dims)), w.machine.table
    if not is_real(low.type) or not is_real(high.type):
        return w.invalid("uniform")
    width = w.apply(table["-"], [high, low])

    def drawn(k: Any, m: Any) -> Any:
        fractions = _of_words(w, k, m, UNIFORM, shape, (WHOLE,), [])
        return w.apply(table["+"], [low, w.apply(table["*"], [width, fractions])])

    def with_range(test: Any) -> Any:
        if test.type.kind == "constant":
            return (
                _with_key(w, "uniform", key, drawn)
                if test.type.of is TRUE
                else w.by_value(NO_RANGE.format("uniform"))
            )
        return w.branch(
            (outer, "range"), test, lambda: _with_key(w, "uniform", key, drawn),
            lambda: w.by_value(NO_RANGE.format("uniform")), False,
        )  # fmt: skip

    outer = w.key
    zero = w.constant(0.0)
    # the width is positive and finite: only then is it above 0 and its product with 0 equal to 0
    is_range = w.apply(table["<"], [w.apply(table["*"], [width, zero]), width])
    return w.each(is_range, with_range, "range")


def _abstract_normal(w: AbstractMachine, key: Any, dims: Any) -> Any:
    shape = dimensions("normal", known_lengths(w, dims))

    def drawn(k: Any, m: Any) -> Any:
        return _of_words(w, k, m, NORMAL, shape, (WHOLE,), [Step(QUANTILE, (7,))])

    return _with_key(w, "normal", key, drawn)


def _abstract_integer(w: AbstractMachine, key: Any, low: Any, high: Any, dims: Any) -> Any:
    a, b = [whole("random-integer", known(w, bound), "a bound") for bound in (low, high)]
    if max(abs(a), abs(b)) > LARGEST_WHOLE or a >= b:
        return w.fail(NO_RANGE.format("random-integer"))
    if b - a > LARGEST_WHOLE:
        return w.left_out("random numbers from so wide a range are")
    shape, add = dimensions("random-integer", known_lengths(w, dims)), w.machine.table["+"]
    more = [w.constant(float(b - a)), w.constant(float(a))]

    def drawn(k: Any, m: Any) -> Any:
        steps = [Step(BELOW, (9, 10, 7)), Step(add, (11, 8))]
        return _of_words(w, k, m, INTEGER, shape, (HIGH, LOW), steps, *more, kind="int64")

    return _with_key(w, "random-integer", key, drawn)


def _abstract_permutation(w: AbstractMachine, key: Any, n: Any) -> Any:
    """The rank of each word is the position of its number; many words are sorted."""
    count, is_here = length_of("permutation", known(w, n)), w.machine.device == "cpu"
    if count > (MOST_ORDERED if is_here else MOST_RANKED_THERE):
        return w.left_out("permutations of so many numbers are")
    table = w.machine.table

    def drawn(k: Any, m: Any) -> Any:
        high, low = [_of_words(w, k, m, PERMUTATION, (count,), (part,), []) for part in (HIGH, LOW)]
        if is_here and count > MOST_RANKED:
            order = Routine("order", (Output(count, kind="int64"),), count, 1, ())
            return w.loops(order, [high, low], [w.types.tensor((count,), "int64")])[0]
        own, other = Access(0, (1, 0)), Access(0, (0, 1))
        halves = (Read(0, own), Read(0, other), Read(1, own), Read(1, other))
        reads = (*halves, Read(None, own), Read(None, other), Read(2, None), Read(3, None))
        less, equal, choose = table["<"], table["="], table["where"]
        steps = (
            Step(less, (5, 4)), Step(less, (3, 2)), Step(equal, (3, 2)), Step(less, (1, 0)), Step(equal, (1, 0)),
            Step(choose, (10, 8, 9)), Step(choose, (12, 13, 11)),
        )  # fmt: skip
        rank = Kernel((count, count), reads, steps, (Output(count),), (Write(0, 14, Access(0, (1, 0)), "+"),))
        zero, one = w.constant(0.0), w.constant(1.0)
        (ranks,) = w.loops(rank, [high, low, zero, one], [w.types.tensor((count,))])
        line = Access(0, (1,))
        put = Kernel(
            (count,),
            (Read(0, line), Read(None, line, "int64")),
            (),
            (Output(count, 0.0, kind="int64"),),
            (Write(0, 1, Access(0, (0,), ((0, 1),))),),
        )
        return w.loops(put, [ranks], [w.types.tensor((count,), "int64")])[0]

    return _with_key(w, "permutation", key, drawn)


def _abstract_split(w: AbstractMachine, x: Any, n: Any, axis: Any) -> Any:
    if is_tensor(x.type):
        return abstract_split(w, x, n, axis)
    type_ = w.types.canonical(n.type)
    is_computed = is_real(type_) and type_.kind != "constant" and not w.seeks_numbers
    count = None if is_computed else length_of("split", known(w, n))
    if count is None or not at_most(count, MOST_LISTED):
        return _with_key(w, "split", x, lambda k, m: _keys_of_number(w, k, m, n))

    def drawn(k: Any, m: Any) -> Any:
        result = w.constant(NIL)
        for place in reversed(range(count)):
            result = w.pair(_split_key(w, k, m, w.constant(float(place))), result)
        return result

    return _with_key(w, "split", x, drawn)


def _split_key(w: AbstractMachine, k: Any, m: Any, place: Any) -> Any:
    """One of the keys into which a key of two words is split."""
    purpose = w.constant(float(SPLIT))
    parts = [w.apply(WORD, [k, m, place, purpose, w.constant(float(part))]) for part in (HIGH, LOW)]
    return w.pair(*parts)


def _keys_of_number(w: AbstractMachine, k: Any, m: Any, n: Any) -> Any:
    """The list of as many keys as a number says when the call runs."""
    first, outer = w.unknown_real(w.constant(0.0)), w.key
    w.key = (outer, "number")

    def made(n: Any) -> Any:
        w.key = (outer, "keys")
        return w.invoke(KEYS, (), [k, m, first, n], False)

    return whole_places(w, NO_NUMBER, w.unknown_real(n), 0, LARGEST_WHOLE, made)


def _keys(w: AbstractMachine, k: Any, m: Any, place: Any, n: Any) -> Any:
    key = w.key

    def more() -> Any:
        w.key = (key, "key")
        one = _split_key(w, k, m, place)
        w.key = (key, "rest")
        others = w.invoke(KEYS, (), [k, m, scalar(w, "+", place, w.constant(1.0)), n], False)
        return others and w.pair(one, others)

    return choose(w, (key, "end"), scalar(w, "=", place, n), lambda: w.constant(NIL), more)


KEYS = Recursion("split-key", _keys)


ROWS: list[Primitive] = [
    constant("random-key", "seed",
        "The key for a seed, a whole number. Random numbers are drawn with keys.\n(random-key 7)  ⇒ (7 . 0)", _random_key,
             abstract=_abstract_key),
    WORD, QUANTILE, BELOW,
    row("split", "t n axis",
        "The list of n equal parts of a tensor along an axis; of a key, n new keys.\n"
        "(split #[1 2 3 4] 2)  ⇒ (#[1 2] #[3 4])\n(length (split (random-key 7) 3))  ⇒ 3", linear="t",
        value=_split, keywords=FIRST, abstract=_abstract_split, forward="(if (tensor? t) (split dt n axis) zero)",
        reverse={"t": "(if (tensor? t) (concatenate (complete r s) axis) zero)"}),
    row("uniform", "key dims low high",
        "Random numbers of a shape, uniform in [0, 1), or [low, high).\n"
        "(let ((u (uniform (random-key 7) 1000))) (< 0.4 (mean u) 0.6))  ⇒ #t\n"
        "(shape (uniform (random-key 7) '(2 3)))  ⇒ (2 3)",
        _uniform, abstract=_abstract_uniform, keywords={"low": 0.0, "high": 1.0},
        forward="(let ((u (uniform key dims 0 1))) (broadcast-like (accumulate (* dlow (- 1 u)) (* dhigh u)) r))",
        reverse={"low": "(sum-like (* s (- 1 (uniform key dims 0 1))) low)",
                 "high": "(sum-like (* s (uniform key dims 0 1)) high)"}),
    constant("normal", "key dims",
        "Random numbers of a shape, from the normal distribution with mean 0 and variance 1.\n"
        "(shape (normal (random-key 7) '(2 3)))  ⇒ (2 3)\n"
        "(equal? (normal (random-key 7) 3) (normal (random-key 7) 3))  ⇒ #t", _normal,
             abstract=_abstract_normal),
    constant("random-integer", "key low high dims",
        "Random whole numbers of a shape, from low up to high, exclusive.\n"
        "(random-integer (random-key 7) 0 6 4)  ⇒ #<tensor int64 [5 2 5 5]>",
             _random_integer, abstract=_abstract_integer),
    constant("permutation", "key n",
        "The whole numbers below n in random order.\n"
        "(permutation (random-key 7) 5)  ⇒ #<tensor int64 [3 1 4 2 0]>",
        _permutation, abstract=_abstract_permutation),
]  # fmt: skip
