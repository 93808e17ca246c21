"""Functions of whole numbers of Python's that are written in Python: `int(text, base)` and `pow(a, n, m)`. calls.py calls them.

In: texts and whole numbers.  Out: whole numbers; one beyond 2**53 is an error, as `//` and `%` of it are.
"""

from __future__ import annotations

from typing import Any


def int_in_base(text: Any, base: Any) -> Any:
    if not isinstance(text, str):
        raise TypeError("int() can't convert non-string with explicit base")
    if base < 0 or base == 1 or base > 36:
        raise ValueError("int() base must be >= 2 and <= 36, or 0")
    digits = text.strip().lower()
    sign = 1
    if digits[:1] in ("+", "-") and digits != "":
        sign = -1 if digits[0] == "-" else 1
        digits = digits[1:]
    given, is_plain = base, base == 0
    for prefix, own in (("0b", 2), ("0o", 8), ("0x", 16)):
        if (base == own or base == 0) and digits.startswith(prefix):
            base, digits, is_plain = own, digits[2:], False
            digits = digits[1:] if digits.startswith("_") else digits
            break
    if is_plain:
        base = 10
    value = 0
    before = "_"
    for letter in digits:
        digit = "0123456789abcdefghijklmnopqrstuvwxyz".find(letter)
        if letter == "_" and before != "_":
            before = letter
            continue
        if digit < 0 or digit >= base:
            raise ValueError(f"invalid literal for int() with base {given}: {text!r}")
        value = value * base + digit
        if value % 2 > 1:  # never: but it is an error if the value is not exact
            break
        before = letter
    if before == "_" or (is_plain and len(digits) > 1 and digits[0] == "0" and value != 0):
        raise ValueError(f"invalid literal for int() with base {given}: {text!r}")
    return sign * value


def power_modulo(base: Any, exponent: Any, modulus: Any) -> Any:
    if modulus == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    if exponent < 0:
        base, exponent = _inverse(base % modulus, modulus), -exponent
    result = 1 % modulus
    square = base % modulus
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * square % modulus
        exponent = exponent // 2
        if exponent > 0:
            square = square * square % modulus
    return result


def _inverse(a: Any, modulus: Any) -> Any:
    """What makes 1 with a, by Euclid's algorithm."""
    r, s, x, y = modulus, a, 0, 1
    while s != 0:
        q = r // s
        r, s, x, y = s, r - q * s, y, x - q * y
    if abs(r) != 1:
        raise ValueError("base is not invertible for the given modulus")
    return x * r % modulus
