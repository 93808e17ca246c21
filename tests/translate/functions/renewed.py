"""Lists that another name gets before a new one is made: nothing sees a change of the new one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def rolling_rows(x: float = 0.5, n: int = 5) -> float:
    """A table of which only the last row is kept."""
    before = [x] * n
    now = [0.0] * n
    for k in range(4):
        now[0] = math.sin(x * k)
        for j in range(1, n):
            now[j] = before[j - 1] + 0.5 * now[j - 1] * x
        before = now
        now = [0.0] * n
    return sum(before)


def rolling_arrays(x: float = 0.5) -> Any:
    before, kept = np.full(4, x), []
    now = np.zeros(4)
    for k in range(3):
        for j in range(4):
            now[j] = before[j] * x + k
        kept.append(now)
        before = now
        now = np.zeros(4)
    return [row.tolist() for row in kept], before.tolist()


def orders(n: int = 3) -> list[list[int]]:
    found: list[list[int]] = [[]]
    for number in range(n):
        more: list[list[int]] = []
        for order in found:
            for place in range(len(order) + 1):
                more.append(order[:place] + [number] + order[place:])
        found = more
    return found


def in_parts(n: int = 7, size: int = 3) -> list[list[int]]:
    parts, part = [], []
    for k in range(n):
        part.append(k)
        if len(part) == size:
            parts.append(part)
            part = []
    if part:
        parts.append(part)
    return parts


def made_in_the_same_arm(n: int = 4) -> list[list[float]]:
    rows, row = [], [1.0]
    for k in range(n):
        if k % 2 == 1:
            rows.append(row)
            for j in range(3):
                if j == 1:
                    break
            row = [2.0]
        row.append(k)
    return rows


def changed_after_the_loop(n: int = 3) -> Any:
    rows, row = [], [1.0]
    for k in range(n):
        row.append(k)
        rows.append(row)
        row = []
    row.append(4.0)
    return rows, row


def in_a_while(n: int = 3) -> Any:
    row, rows, k = [1.0], [], 0
    while k < n:
        row.append(k)
        rows.append(row)
        k += 1
        if k > 5:
            return rows
        row = []
    else:
        row.append(9.0)
    return rows, row


def returned_before(n: int = 3) -> Any:
    first = [1.0]
    kept = [first]
    first = [2.0]
    first.append(float(n))
    return kept, first


def words_of(text: str = "ab cd  e") -> list[list[str]]:
    words, letters = [], []
    for letter in text:
        if letter == " ":
            if letters:
                words.append(letters)
                letters = []
            continue
        letters.append(letter)
    words.append(letters)
    return words
