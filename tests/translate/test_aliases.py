"""What two names have: a change through one of them is never lost for the other: it has Python's result, or is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sessions import shared

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import function_of, same

# Bodies of a function of no arguments: what is refused, or raises a TypeError, may not be translated otherwise.
REFUSED = """
g = [[1.], [2.]]; row = g[0]; g[0].append(5.); return row
g = [[]] * 3; g[0].append(5.); return g
row = [0.]; g = [row for _ in range(3)]; g[0].append(5.); return g
row = [1.]; g = [row, row]; g[0].append(5.); return g
r = [1.]; h = [r]; h[0].append(2.); return r
g = [[1.]]; h = g.copy(); h[0].append(5.); return g
g = [[1.]]; h = list(g); h[0].append(5.); return g
g = [[1.]]; h = g + [[3.]]; h[0].append(5.); return g
g = [[1.]]; h = [r for r in g]; h[0].append(5.); return g
g = {"a": [1.]}; h = {**g}; h["a"].append(5.); return g
d = {"a": [1.]}; f = d.get("a"); d["a"].append(5.); return f
d = {"a": [1.]}; f = list(d.values()); d["a"].append(5.); return f
g = [[1., 3.]]; row = g[0]; del g[0][0]; return row
g = [[1., 3.]]; row = g[0]; g[0].pop(); return row
d = {"a": [2., 1.]}; row = d["a"]; d["a"].sort(); return row
row = [1.]; d = {"a": row}; d["a"] += [5.]; return row
g = [[1.]]; r = g[0]; g[0] *= 2; return r
g = [[[1.]]]; r = g[0][0]; g[0][0].append(2.); return r
g = [[[0., 0.], [0., 0.]]]; y = g[0].copy(); g[0][0][0] = 5.; return y
row = [1., 2.]; g = []; g.extend([row]); g[0][0] = 5.; return row
x = np.zeros((2, 2)); row = x[0][:]; x[0, 1] = 5.; return row
x = np.zeros((2, 2)); row = x[0].T; x[0, 1] = 5.; return row
x = np.zeros((2, 2)); row = x[0].reshape(2); x[0, 1] = 5.; return row
x = np.zeros((2, 2)); row = x[0:2][1]; x[1, 1] = 5.; return row
x = np.zeros((2, 2)); rows = [x[i] for i in range(2)]; x[0, 1] = 5.; return rows
x = np.zeros((2, 2)); rows = [r for r in x]; x[0, 1] = 5.; return rows
x = np.zeros((2, 2)); rows = list(x); x[0, 1] = 5.; return rows
x = np.zeros((2, 2)); rows = [*x]; x[0, 1] = 5.; return rows
x = np.zeros(4); w = [x[i:i + 2] for i in range(3)]; x[1] = 5.; return w
x = np.zeros(4); w = x[1:]; x[1] = 5.; return w
x = np.zeros((2, 2)); row = x[0]; x += 1.; return row
x = np.array([1., 2., 3.]); xs = [x]; xs[0] += 1.; return x
x = np.array([1., 2., 3.]); y = x; y += 1.; return x
xs = [1., 2., 3.]; xs[:][0] = 9.; return xs
xs = [1., 2., 3.]; xs[1:].append(9.); return xs
xs = [1., 2., 3.]; y = xs[:2].pop(); return xs
x = np.zeros((2, 2)); x[[0, 1]][0] = 3.; return x
ys = xs = [1.]; xs *= 2; return ys
xs = [1., 2., 3.]; xs[-1] += xs.pop(); return xs
x = 5.; x += (x := 2.); return x
s = [[1.], [2.], [3.]]; s[-2].append(s.pop()); return s
a = [1.]; b = [2.]; u = a; a, b = b, a; b.append(5.); return u
x = np.array([1, 2], dtype=int); x += 0.5; return x
x = np.zeros(2); x += np.ones((2, 2)); return x
x = np.array([1., 2., 3.])|for i, v in enumerate(x[:-1]):|    x[i + 1] += v|return x
x = np.array([1., 2., 3.])|for i, (a, b) in enumerate(zip(x[1:], x[:-1])):|    x[i + 1] = a + b|return x
x = np.array([[1., 2.], [3., 4.]])|for row in list(x):|    x[1, 0] += row[0]|return x
x = np.zeros((2, 2))|for r in x:|    last = r|x[1, 1] = 5.|return last
x = np.zeros((2, 2))|for i, r in enumerate(x[:]):|    x[1] = 3.|return r
x = np.zeros((2, 2)); d = {i: x[i] for i in range(2)}; x[0, 1] = 5.; return d
x = np.zeros((2, 2)); rows = [x[i] for i in range(2)]; x += 1.; return rows
xs = [[1.], [0.]]; s = 0.|for r in xs[:]:|    xs[1].append(5.)|    s += sum(r)|return s
d = {"a": 1.}|for k in d:|    del d[k]|return d
grid = [[1.], [2.]]; out = []|for r in grid:|    out.append(r)|grid[0].append(5.)|return out
x = np.zeros(3); y = x[:]; y[0] = 1.; return x
x = np.zeros((2,2)); y = x.T; y[0,1] = 1.; return x
x = np.zeros((2,2)); y = x.reshape(4); y[0] = 1.; return x
x = np.zeros((2,2)); y = x.ravel(); y[0] = 1.; return x
x = np.zeros((2,2)); y = x[0]; y[0] = 1.; return x
x = np.zeros((2,2)); y = np.asarray(x); y[0,0] = 1.; return x
x = np.zeros((2,2)); y = np.transpose(x); y[0,1] = 1.; return x
x = np.zeros((2,2)); y = np.squeeze(x); y[0,1] = 1.; return x
x = np.zeros(3); y = [x, x]; y[0][1] = 4.; return y
x = np.zeros(3); y = (x, 1.); x[0] = 4.; return y
x = np.zeros(3); f = lambda: x[0]; x[0] = 4.; return f()
"""
ACCEPTED = """
return ["a" in "abc", "c" in "abc", "z" in "abc", "" in "abc", "a" not in "abc", "ab" in "abc"]
acc = np.zeros(3)|for i in range(3):|    acc += np.array([1., 2., 3.])|    acc *= 2.|return acc
v = np.ones(2); x = np.zeros(2)|for _ in range(5):|    v -= 0.1 * x|    x += 0.1 * v|return [x, v]
p = [0., 1., 2.]; c = [0.] * 3|for i in range(4):|    for j in range(3):|        c[j] = p[j] + i|    p, c = c, p|return p
x = np.zeros((2, 2)); x[1, 1] = 2.; return x[1]
A = np.array([[1., 2.], [3., 4.]]); A[0] = A[1]; return A
A = np.array([[1., 2.], [3., 4.]]); A[[0, 1]] = A[[1, 0]]; return A
x = np.array([1., 2., 3.]); x[1:] = x[:-1]; return x
xs = [1., 2.]; ys = xs[:]; ys.append(1.); xs[0] = 7.; return [xs, ys]
A = [[1., 2.], [3., 4.]]; U = [row[:] for row in A]; U[0][1] = 9.; return [A, U]
stack = [1.]; z = stack[-1] if stack else 0.; stack.append(2.); return [z, stack]
x = np.array([3., 9., 1.]); i = x.argmax(); x[i] = 0.; return x
env = {"a": 1.}; s = [5., 6.]; env["b"] = s.pop(); return [env, s]
xs = [1., 2., 3.]; xs[0] = xs.pop(); return xs
xs = [1., 2., 3.]; a = b = xs.pop(); return [a, b, xs]
s = [1., 2., 3., 4.]; return {s.pop(): s.pop(), s.pop(): s.pop()}
x = np.zeros((2, 2)); x[[0, 1]] = np.array([1., 2.]); return x
x = np.zeros((2, 2)); np.add.at(x, [0, 1, 0], np.array([1., 2.])); return x
x = np.zeros(3, dtype=int); x[0] = 2.7; x[1] = 3; return x
x = np.zeros(3, dtype=bool); x[0] = 5; x[1] = True; return x
x = np.array([1., 2., 3.]); m = x > 1; m[1:] = False; return m
x = np.array([1, 2], dtype=int); x += 1; x[0] *= 3; return x
t = np.zeros((2, 3)); t[0] += 1.; t[1][2] -= 4.; t[:, 1] *= 5.; return t
counts = {}|for w in ["a", "b", "a"]:|    counts[w] = counts.get(w, 0) + 1|return counts
groups = {"a": [], "b": []}|for i, k in enumerate(["a", "b", "a"]):|    groups[k].append(float(i))|return groups
xs = [1., 2.]|for v in xs[:]:|    xs.append(v)|return xs
x = np.zeros((2, 2)); y = x.copy(); y[0, 1] = 1.; return [x, y]
x = np.zeros((2, 2)); y = np.array(x); y[0, 1] = 1.; return [x, y]
g = [[0.] * 3 for _ in range(2)]|for i in range(2):|    for j in range(3):|        g[i][j] += i + j|return g
"""


def function(body: str) -> Any:
    """The function of a body: its statements are separated by `; `, its lines, with their indentation, by `|`."""
    text = "\n".join(["    " + one for one in body.replace("; ", "|").split("|")])
    return function_of(f"def f():\n{text}\n", np=np)


@pytest.mark.parametrize("body", REFUSED.strip().split("\n"))
def test_a_change_that_another_name_sees_is_an_error(body: str) -> None:
    f = function(body)
    with pytest.raises(vlad.VladError):
        shared("evaluate").function(f)()


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("body", ACCEPTED.strip().split("\n"))
def test_changes_of_its_own_are_those_of_python(body: str, tier: str) -> None:
    f = function(body)
    expected = f()
    found = shared(tier).function(f)()
    assert same(expected, found), (expected, found)
