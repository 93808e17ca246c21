"""Texts, words and numbers that are written."""

from __future__ import annotations

from typing import Any

import math


def counted_letters(x: float = 0.5) -> dict[str, int]:
    counts: dict[str, int] = {}
    for letter in "abracadabra":
        counts[letter] = counts.get(letter, 0) + 1
    return counts


def entropy(x: float = 0.5) -> float:
    text = "abracadabra"
    total = 0.0
    for c in dict.fromkeys(text):
        p = text.count(c) / len(text)
        total -= p * math.log2(p) * x
    return total


def reversed_words(x: float = 0.5) -> str:
    words = ["one", "two", "three"]
    return " ".join(word[::-1] for word in words)


def split_words(x: float = 0.5) -> list[int]:
    return [len(w) for w in "the quick  brown fox".split()] + [len("a,b,,c".split(","))]


def cases(x: float = 0.5) -> list[str]:
    return ["Abc".upper(), "Abc".lower(), " abc ".strip(), "abc".replace("b", "x"), "abc".replace("", "-"), "aXbX".replace("X", "")]


def tests_of_texts(x: float = 0.5) -> list[bool]:
    s = "hello"
    return [s.startswith("he"), s.startswith("hello!"), s.endswith("x"), s.endswith(""), s == s[::-1], "ll" in s]


def positions(x: float = 0.5) -> list[int]:
    return ["hello".find("l"), "hello".find("z"), "hello".index("e"), "hello".count("l")]


def palindromes(x: float = 0.5) -> list[str]:
    def is_palindrome(s: str) -> bool:
        return len(s) < 2 or (s[0] == s[-1] and is_palindrome(s[1:-1]))

    return [w for w in ("level", "word", "noon", "") if is_palindrome(w)]


def parsed_numbers(x: float = 0.5) -> float:
    return sum(float(part) for part in "1.5 2 -3e1".split()) * x + int("42")


def postfix(x: float = 0.5) -> float:
    operators = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
    stack: list[float] = []
    for token in "x 2 * 3 + x -".split():
        if token in operators:
            b, a = stack.pop(), stack.pop()
            stack.append(operators[token](a, b))
        else:
            stack.append(x if token == "x" else float(token))
    return stack[-1]


def roman(n: int = 1994) -> str:
    table = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]  # fmt: skip
    out = ""
    for value, letters in table:
        while n >= value:
            out += letters
            n -= value
    return out


def from_roman(x: float = 0.5) -> int:
    values = {"I": 1, "V": 5, "X": 10, "C": 100, "M": 1000}
    total = 0
    text = "MCXIV"
    for a, b in zip(text, text[1:] + "I"):
        total += -values[a] if values[a] < values[b] else values[a]
    return total


def digits_of(n: int = 9875) -> list[int]:
    digits = []
    while n:
        n, d = divmod(n, 10)
        digits.append(d)
    return digits[::-1]


def digit_sum(n: int = 9875) -> int:
    return sum(int(d) for d in str(n))


def binary(n: int = 37) -> str:
    bits = ""
    while n > 0:
        bits = str(n % 2) + bits
        n //= 2
    return bits or "0"


def from_binary(x: float = 0.5) -> float:
    value = 0
    for bit in "100101":
        value = 2 * value + (bit == "1")
    return x * value


def run_lengths(x: float = 0.5) -> list[tuple[str, int]]:
    runs: list[tuple[str, int]] = []
    for c in "aaabccd":
        if runs and runs[-1][0] == c:
            runs[-1] = (c, runs[-1][1] + 1)
        else:
            runs.append((c, 1))
    return runs


def caesar(x: float = 0.5) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return "".join(alphabet[(alphabet.index(c) + 3) % 26] if c in alphabet else c for c in "hello, xyz")


def scored_words(x: float = 0.5) -> float:
    weights = {"good": x, "bad": -x, "great": 2 * x}
    return sum(weights.get(word, 0.0) for word in "a good day and a great night not bad".split(" "))


def hamming(x: float = 0.5) -> float:
    a, b = "karolin", "kathrin"
    return x * sum(p != q for p, q in zip(a, b)) + sum(1 for p, q in zip(a, b) if p == q)


def joined_numbers(x: float = 0.5) -> str:
    return ", ".join(str(n) for n in [1, 2, 3]) + "-".join(map(str, (4, 5)))


def characters(text: str = "aZ z") -> list[Any]:
    return [[ord(one) for one in text], [chr(ord(one) + 1) for one in text], ord("\\"), ord('"'), chr(97)]


def numerals(n: int = 37) -> list[str]:
    return [bin(n), hex(n), oct(n), bin(-n), hex(0), bin(True)]


def two_characters(text: str = "ab") -> int:
    return ord(text)


def classes_of_characters(text: str = "aZ 09_\n-") -> list[Any]:
    words = [*text, text, "", "ab", "AB", "aB", "a1", "A1", "11", " \t", "a b", "HELLO world", "it's 2nd-rate"]
    return [
        (w.isalpha(), w.isdigit(), w.isalnum(), w.isspace(), w.isupper(), w.islower(), w.capitalize(), w.title(), w.swapcase())
        for w in words
    ]


def padded_texts(n: int = 6) -> list[Any]:
    return [
        [w.zfill(n), w.ljust(n), w.rjust(n, "."), w.center(n), w.center(n + 1, "*"), w.center(n - 1), w.ljust(1), w.partition("-"), w.partition("b")]
        for w in ("", "a", "-5", "+12", "abc", "a-b-c", "abcdefgh")
    ]


def two_letters_to_fill_with(n: int = 6) -> str:
    return "a".center(n, "ab")


def _read(text: str) -> list[Any]:
    found: list[Any] = []
    try:
        found.append(float(text))
    except ValueError as error:
        found.append(str(error))
    try:
        found.append(int(text))
    except ValueError as error:
        found.append(str(error))
    return found


def numbers_of_texts(words: str = "nan inf -Infinity +inf infinity iNf infinit -x - + . 5. -.5 1e400 -0 12 0x10 1e e5 1__0") -> list[Any]:
    others = "1_0 _1 1_ 1_.5 1._5 1e1_0 1e_1 -1_000 --1 +-1 it's \\".split(" ")
    return [_read(text) for text in [*words.split(" "), *others, "", " \t7\n", "1 2", "\n nan ", "é"]]


def _of_key(key: Any) -> str:
    try:
        raise KeyError(key)
    except LookupError as error:
        return str(error)


def written_texts(text: str = "it's") -> list[Any]:
    texts = [text, 'a"b', "it's \"q\"", "\t\n\r\\\x00\x7f\x1f\x0fé", ""]
    keys = [_of_key("k"), _of_key(text), _of_key(3), _of_key(("a", text))]
    return [[repr(one) for one in texts], str(texts), str({text: "\\"}), str({text}), f"{text!r:>9}|{(text,)}|{text}", keys]


def printed_with_separators(x: float = 1.5) -> tuple[bool, bool, bool, str]:
    print(x, "a", sep="-", end="!")
    print(x, end="\n", sep=None)
    n, rem = divmod(10, -2)
    return "bcd".startswith(("a", "bc")), "bcd".endswith(("x", "c")), "a".startswith(()), str(rem) + str(n)
