"""Lists that loops read and change by index: as Python has them, whatever their items are, and in linear time."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from amounts import THOROUGH
from python_texts import function_of, same

# Bodies of functions of a list xs and a whole number n.
TEXT = """
s = 0.
for i in range(n): s += xs[i] * xs[n - 1 - i]
return s
---
s = 0.
for i in range(len(xs)):
    for j in range(i, len(xs)):
        s += xs[i] * xs[j] + xs[-1]
return s
---
ys = [0.] * n
for i in range(n): ys[i] = xs[i] * xs[i]
return ys
---
ys = [0.] * n
ys[0] = xs[0]
for i in range(1, n):
    ys[i] = 0.5 * ys[i - 1] + xs[i]
    ys[i] += ys[i - 1]
return [ys, len(ys), sum(ys)]
---
ys = list(xs)
for i in range(n):
    for j in range(n - 1 - i):
        if ys[j] > ys[j + 1]: ys[j], ys[j + 1] = ys[j + 1], ys[j]
return ys
---
ys = xs.copy()
i = 0
while i < len(ys):
    ys[i] = ys[i] + 1.
    if ys[i] > 2.5: break
    i += 1
else:
    ys = [9.]
return [ys, i]
---
ys = list(xs)
for i in range(n):
    if xs[i] > 1.: return ys[i]
    ys[i] = -xs[i]
return ys
---
ys = [0.] * n
for i in range(n):
    if i == 1: continue
    ys[i] = (xs[i], i) if i % 2 else xs[i]
return ys
---
ys = [0.] * n
for i in range(n): ys[i] = None if i == 1 else xs[i] > 1.
return ys
---
ys = [0.] * n
for i in range(n): ys[i] = f"{i}"
return ys
---
ys = [1, 2, 3, 4, 5, 6]
for i in range(n): ys[i] *= 2
return ys
---
return sum([xs[i] * xs[n - 1 - i] for i in range(n)]) + sum(xs[k] for k in range(n))
---
return [xs[i] for i in range(n) for j in range(2) if xs[j] != xs[i]]
---
return [[xs[i] - xs[j] for j in range(n)] for i in range(n)]
---
t = tuple(xs)
s = 0.
for i in range(n): s += t[i] * t[-i]
return s
---
a = np.array(xs)
s = 0.
for i in range(n):
    a[i] = a[i] + a[n - 1 - i]
    s = s + a[i]
return [a, s]
---
d = {0: 1., 1: 2.}
for i in range(2): d[i] = d[1 - i] + xs[i]
return [d[0], d[1]]
---
word, s = "abcdefghi", ""
for i in range(n): s += word[i]
return s
---
rows = [[x, 2. * x] for x in xs]
s = 0.
for i in range(n): s += rows[i][0] * rows[i][1] + sum(rows[i])
return s
---
table = [[0.] * n for _ in range(n)]
for i in range(n):
    for j in range(n):
        table[i][j] = xs[i] * xs[j]
return table
---
ys = []
for i in range(len(ys)): ys[i] = 1.
return [ys, [ys[i] for i in range(0)]]
---
ys = list(xs)
total = 0.
for i in range(n):
    ys[i] = ys[i] * 2.
    for y in ys: total += y
return total
---
ys = list(xs)
for i in range(n):
    ys[i] = ys[i] + 1.
    if len(ys) > 100: return ys
return ys
---
ys = list(xs)
f = lambda k: ys[k] * 2.
return [f(i) + ys[i] for i in range(n)]
---
ys = list(xs)
for i in range(n):
    zs = ys
    s = zs[i] + ys[i]
return [ys, zs, s]
---
best = 0
for i in range(1, n):
    best = i if xs[i] > xs[best] else best
return [best, xs[best]]
---
ys, zs = list(xs), list(xs)
for i in range(n): ys[i], zs[i] = zs[i] + 1., ys[i] * 2.
return [ys, zs]
---
ys = list(xs)
for i, x in enumerate(xs): ys[i] = x * xs[i] * ys[-1 - i]
return ys
---
ys = list(xs)
for i in range(n):
    for k in range(2):
        ys[i] += 1.
    else:
        ys[i] += 10.
else:
    ys[0] = 100.
return ys
---
count = [0] * 3
for x in xs: count[int(abs(x)) % 3] += 1
return count
---
flags = [True] * 6
for i in range(n): flags[i] = not flags[i]
return flags
---
ys = list(xs)
for i in range(n):
    if i == 1: ys = [7.] * n
    ys[i] = ys[i] + 1.
return ys
---
ys = [xs[0]]
for i in range(1, n): ys.append(0.5 * ys[-1] + ys[i - 1] * xs[i])
return ys
---
ys = list(xs)
while len(ys) < 9: ys.append(0.5 * ys[-1] + 0.25 * ys[-2])
return ys
---
ys = []
for x in xs:
    if not ys or x > ys[-1]: ys.append(x)
return ys
---
stack = [1.]
for x in xs:
    stack.append(x)
    a = stack.pop()
    b = stack.pop()
    stack.append(a + 2. * b)
    stack.append(a)
return stack
---
stack, total = list(xs), 0.
while stack:
    x = stack.pop()
    total += x * len(stack)
    if x > 1.5: stack.append(x - 1.)
return [total, stack]
---
ys = [0.]
for x in xs:
    for k in range(2): ys.append(ys[-1] + x)
    ys.append(x)
return ys
---
ys, zs = [1.], []
for x in xs:
    ys.append(x * ys[0])
    for k in range(len(ys)): zs.append(ys[k])
return [ys, zs, len(zs)]
---
ys = [xs[0]]
for x in xs:
    if x > 2.5: return ys
    ys.append(x + sum(ys) + ys[0])
else:
    ys.append(100.)
return ys
---
ys = [0.]
for x in xs:
    if x < 0.: continue
    ys.append(ys[-1] + x)
    if len(ys) > 3: break
return [ys, ys[-2:], ys[0]]
---
ys = [(0, 1.)]
for i in range(n): ys.append((i, ys[-1][1] * 2., "x"))
return ys
---
ys = [[1.]]
for i in range(n): ys.append([ys[-1][0] + xs[i], 1.])
return ys
---
ys = [None, True]
for i in range(n): ys.append(ys[-1])
return ys
---
ys = [1.]
for x in xs:
    ys.append(x)
    zs = [y * 2. for y in ys] + ys[1:]
return [ys, zs]
---
ys = [1.]
for x in xs:
    ys.append(x)
    ys[0] = ys[0] + ys[-1]
return ys
---
ys = [1.]
for x in xs:
    ys.append(x + ys[-1])
    ys = ys + [0.5]
return ys
---
ys = list(xs)
i = 0
while i < len(ys):
    if ys[i] > 2.2: ys.append(ys[i] - 1.)
    i += 1
return ys
---
steps, pairs = [xs[0]], [[0., xs[0]]]
for i in range(n):
    last = pairs[-1]
    pairs.append([last[0] + 0.1 * last[1], last[1] - 0.1 * last[0]])
    steps.append(pairs[-1][0] + steps[-1])
return steps
"""
BODIES = TEXT.split("---\n")
RAISING = [
    ("s = 0.\nfor i in range(n + 1): s += xs[i]\nreturn s", IndexError),
    ("ys = list(xs)\nfor i in range(n + 1): ys[i] = 1.\nreturn ys", IndexError),
    ("s = 0.\nfor i in range(n): s += xs[-1 - i - n]\nreturn s", IndexError),
    ("s = 0.\nfor i in range(n): s += xs[0.5 * i]\nreturn s", TypeError),
    ("return [xs[i] for i in range(n + 1)]", IndexError),
    ("ys = [1.]\nfor x in xs:\n    ys.append(ys[-3])\nreturn ys", IndexError),
    ("ys = [1.]\nfor x in xs:\n    ys.append(ys[2])\nreturn ys", IndexError),
    ("ys = []\nfor x in xs:\n    y = ys.pop()\nreturn ys", IndexError),
    ("a = np.zeros(3)\nfor x in xs:\n    a.append(a[0])\nreturn a", AttributeError),
]


def made(body: str) -> Any:
    text = "import numpy as np\n\n\ndef f(xs, n):\n" + "".join(
        [f"    {line}\n" for line in body.strip().split("\n")]
    )
    return function_of(text)


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_items_are_those_of_python(tier: str) -> None:
    session = vlad.Session(tier=tier)
    wrong = []
    for body in BODIES if THOROUGH or tier == "evaluate" else BODIES[::4]:
        python = made(body)
        f = session.function(python)
        for xs in ([0.5, 2.0, -1.0, 3.0], [1.5, 0.25]):
            if not same(found := f(list(xs), len(xs)), expected := python(list(xs), len(xs)), 1e-12):
                wrong.append((body, xs, found, expected))
    assert not wrong


def weighed(body: str, is_list: bool) -> Any:
    """A function that returns the number that a body does, or the sum of such numbers with weights."""
    inner = "".join([f"        {line}\n" for line in body.strip().split("\n")])
    whole = "sum([math.sin(k + 1.0) * found[k] for k in range(len(found))])" if is_list else "found"
    head = "import math\n\nimport numpy as np\n\n\ndef f(xs, n):\n    def inner(xs, n):\n"
    return function_of(f"{head}{inner}    found = inner(xs, n)\n    return {whole}\n")


def test_derivatives_are_those_of_differences() -> None:
    session, xs, step, count = vlad.Session(tier="evaluate"), [0.5, 2.0, -1.0, 3.0], 1e-6, 0
    directions = [math.cos(k) for k in range(4)]
    for body in BODIES:
        found = made(body)(xs, 4)
        is_list = isinstance(found, list) and all(type(one) is float for one in found)
        if not is_list and type(found) is not float:
            continue
        python = weighed(body, is_list)
        near, far = [
            python([x + h * d for x, d in zip(xs, directions, strict=True)], 4) for h in (step, -step)
        ]
        gradient = vlad.grad(session.function(python), 0)(xs, 4)
        slope = sum(map(math.prod, zip(gradient, directions, strict=True)))
        assert slope == pytest.approx((near - far) / (2 * step), rel=1e-6, abs=1e-7), body
        count += 1
    assert count >= 15


@pytest.mark.parametrize(("body", "error"), RAISING)
def test_errors_are_those_of_python(body: str, error: type[Exception]) -> None:
    python = made(body)
    f = vlad.Session(tier="evaluate").function(python)
    for call in (python, f):
        with pytest.raises(error):
            call([0.5, 2.0, 3.0], 3)


LINEAR = [
    "ys = [1.] * n\nfor i in range(1, n): ys[i] = 0.5 * ys[i - 1] + xs[i]\nreturn ys[-1]",
    "s = 0.\nfor i in range(n): s += xs[i] * xs[n - 1 - i]\nreturn s",
    "return sum([xs[i] * xs[n - 1 - i] for i in range(n)])",
    "ys = [1.]\nfor i in range(1, n): ys.append(0.5 * ys[-1] + xs[i] * ys[i - 1])\nreturn ys[-1]",
    "ys = [1., 1.]\nwhile len(ys) < n:\n    ys.append(0.5 * ys[-1] + 0.4 * ys[-2])\nreturn ys[-1]",
    "stack, s = list(xs), 0.\nwhile stack:\n    s += stack.pop()\nreturn s",
    "ys, i = list(xs), 0\nwhile i < len(ys):\n    ys[i] += 1.\n    i += 1\nreturn ys[i - 1]",
]


@pytest.mark.parametrize("body", LINEAR)
def test_a_loop_over_items_takes_time_in_proportion_to_its_turns(body: str) -> None:
    """Counted in calls on tier 0, of the value and of the gradient."""
    for count in (100, 1600):
        session = vlad.Session(tier="evaluate", limits=vlad.Limits(fuel=300 * count))
        f = session.function(made(body))
        xs = [1.0 / (k + 1) for k in range(count)]
        f(xs, count)
        vlad.grad(f, 0)(xs, count)
