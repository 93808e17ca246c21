"""Methods of texts with more arguments, formats, and whole numbers in bases and modulo others."""

from __future__ import annotations

from typing import Any

SAMPLES = ["  a b  c ", "xxaxbxx", "", "a,b,,c", "aaa", "Ab1\nc\r\nd\n", "--x--"]


def stripped(texts: list[str] = SAMPLES) -> list[Any]:
    return [[t.strip("x"), t.lstrip("xa"), t.rstrip("x-c "), t.strip(None), t.strip("")] for t in texts]


def found(texts: list[str] = SAMPLES) -> list[Any]:
    return [
        [t.find("a", 1), t.find("x", -2), t.find("", 2), t.find("b", 99), t.rfind("a"), t.rfind(""), t.rfind("zz")]
        for t in texts
    ]


def last_index(text: str = "abcabc") -> tuple[int, int]:
    return text.rindex("b"), text.rindex("bc")


def no_last_index(text: str = "abcabc") -> int:
    return text.rindex("d")


def split_times(texts: list[str] = SAMPLES) -> list[Any]:
    return [
        [t.split("a", 1), t.split(",", 2), t.split(None, 1), t.split(None), t.split("x", -1), t.split(None, -1), t.split("a", 0)]
        for t in texts
    ]


def no_separator(text: str = "a b") -> list[str]:
    return text.split("", 1)


def in_lines(texts: list[str] = SAMPLES) -> list[list[str]]:
    return [t.splitlines() for t in texts]


def without_ends(texts: list[str] = SAMPLES) -> list[Any]:
    return [
        [t.removeprefix("x"), t.removesuffix("x"), t.removeprefix(""), t.removesuffix(""), t.removesuffix("b,,c")]
        for t in texts
    ]


def starts_at(texts: list[str] = SAMPLES) -> list[Any]:
    return [[t.startswith("a", 1), t.startswith("x", -1), t.startswith("", 3), t.startswith(("b", "a"), 2)] for t in texts]


def replaced(texts: list[str] = SAMPLES) -> list[Any]:
    return [[t.replace("a", "z", 1), t.replace("x", "", 2), t.replace("a", "b", -1), t.replace("a", "b", 0)] for t in texts]


def parted(texts: list[str] = SAMPLES) -> list[Any]:
    return [[t.rpartition("a"), t.rpartition(","), t.casefold(), t.isdecimal(), "12".isnumeric()] for t in texts]


def formats(x: float = 3.14159, n: int = 42, word: str = "ab") -> list[str]:
    return [
        "{} and {}".format(word, n),
        "{:.2f}|{:>8.1f}|{:<5}|".format(x, x, word),
        "{1} {0} {1}".format(word, n),
        "{first:05d} {second!r} {{}}".format(first=n, second=word),
        "no fields".format(),
        format(x, ".3e"),
        format(n, "08b"),
        format(n, "x"),
        format(word, ">4"),
        format(n),
    ]


def in_bases(texts: list[str] = ["101", "-11", " 10 ", "0b11", "1_0", "+7", "ff", "0xff", "z", "", "0o7", "_1", "1__0"]) -> list[Any]:
    found: list[Any] = []
    for text in texts:
        for base in (2, 10, 16, 36, 0, 8):
            try:
                found.append(int(text, base))
            except ValueError as error:
                found.append(str(error))
    return found


def other_bases(x: float = 5.0) -> list[Any]:
    found: list[Any] = []
    for base in (1, 37, -2):
        try:
            found.append(int("1", base))
        except ValueError as error:
            found.append(str(error))
    try:
        found.append(int(x, 10))
    except TypeError as error:
        found.append(str(error))
    return [*found, int("12", base=3)]


def powers_modulo(m: int = 97) -> list[Any]:
    found: list[Any] = [pow(a, n, m) for a in (0, 1, 5, -3, 96) for n in (0, 1, 10, 1000)]
    found += [pow(3, -1, 7), pow(3, -2, 7), pow(2, 5, -7), pow(2, 0, 1), pow(7, 3, mod=5), pow(base=2, exp=9, mod=11)]
    for a, n, modulus in ((2, -1, 4), (2, 3, 0)):
        try:
            found.append(pow(a, n, modulus))
        except ValueError as error:
            found.append(str(error))
    return found


def whole_or_not(xs: list[float] = [1.0, 2.5, -3.0, 1e300, float("inf"), float("nan")]) -> list[bool]:
    return [x.is_integer() for x in xs]


def of_other_types(x: Any = 2.0) -> list[bool]:
    return [isinstance(x, bytes), isinstance(x, (complex, float)), isinstance(x, (bytes, bytearray)), isinstance("a", (bytes, str))]
