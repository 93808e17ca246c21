"""Random programs, as people lay them out: any breaks, comments and blank lines between any tokens."""

from __future__ import annotations

import random

WORDS = [
    "x",
    "y",
    "total",
    "n",
    "f",
    "else",
    "=>",
    "#t",
    "1",
    "-2.5",
    "1e-3",
    "...",
    "+",
    "λ",
    "%helper",
    "#xff",
    "|a b|",
]
HEADS = [
    "f",
    "define",
    "let",
    "let*",
    "lambda",
    "if",
    "cond",
    "case",
    "do",
    "begin",
    "match",
    "when",
    "receive",
]
HEADS += ["case-lambda", "list", "+", "sum", "define-record-type", "guard"]
SPACES = [" "] * 12 + ["\n", "\n", "\n  ", "\n\n", "\n\n\n\n", "  ", "\t", " \n"]
STRINGS = ['"a string"', '"; no comment"', '"two\n   lines"', '"\\"(\\""', '""']
COMMENTS = ["; a comment (\n", ";\n", ";;; two words \n", "#| (block |#", "#| of\n  #| two |# lines |#"]
COMMENTS += ["#;(not read) ", "#; x ", "#;\n(a\nb) "]


def program(seed: int, size: int = 60) -> str:
    """A text that can be read, of about so many tokens."""
    chosen = random.Random(seed)
    parts = []
    while size > 0:
        datum = _datum(chosen, 0)
        size -= len(datum)
        parts += [*datum, chosen.choice(["\n", "\n\n", " ", "\n\n\n", " ; => 3\n", "\n; of its own\n"])]
    return "".join(parts)


def _datum(chosen: random.Random, depth: int) -> list[str]:
    roll = chosen.random()
    if roll < 0.4 or depth > 6:
        return [_atom(chosen)]
    if roll < 0.5:
        return [" ", chosen.choice(["'", "`", ",", ",@", "'", "'#;x "]), *_datum(chosen, depth + 1)]
    if roll < 0.56:
        return ["#[", *_inside(chosen, [["1"] for _ in range(chosen.randrange(40))]), "]"]
    elements = [_datum(chosen, depth + 1) for _ in range(chosen.choice([0, 1, 2, 3, 3, 4, 5, 9]))]
    if chosen.random() < 0.7:
        elements.insert(0, [chosen.choice(HEADS)])
    if len(elements) > 2 and chosen.random() < 0.2:
        elements[-1:-1] = [["#:axis"]]
    if len(elements) > 1 and elements[-2] != ["#:axis"] and chosen.random() < 0.1:
        elements[-1:-1] = [["."]]
    return ["(", *_inside(chosen, elements), ")"]


def _inside(chosen: random.Random, elements: list[list[str]]) -> list[str]:
    """Elements with space, and now and then a comment, between them."""
    parts = []
    for element in elements:
        parts += element
        parts.append(chosen.choice(SPACES) if chosen.random() < 0.95 else " " + chosen.choice(COMMENTS))
    if parts and parts[-1].isspace() and chosen.random() < 0.8:
        parts.pop()
    return parts


def _atom(chosen: random.Random) -> str:
    roll = chosen.random()
    if roll < 0.1:
        return chosen.choice(STRINGS)
    if roll < 0.15:
        return "long-" * chosen.randrange(1, 25) + "name"
    return chosen.choice(WORDS)
