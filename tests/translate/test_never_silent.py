"""What vlad cannot do as Python does it is an error at translation: never another result.

Each text is a module with a function f of no arguments, compared with plain Python: it is refused, or has the same result.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import function_of, same

# Definitions and the lines of f, separated by `; ` and `|`, as in test_aliases.py. A first part before `::` stands outside of f.
REFUSED = """
:: x = np.ones((2, 2)); d = {}|d[0, 1] = x[0]; x[0, 0] = 5.; return d[0, 1]
:: x = np.ones((2, 2)); y = [0.]; y[0] = np.flip(x[0]); x[0, 0] = 5.; return y
:: x = np.ones((2, 2)); y = np.flip(x[0]); x[0, 0] = 5.; return y
:: x = np.ones((2, 2)); y = np.linalg.matrix_power(x, 1); y[0, 0] = 5.; return x, y
:: x = np.ones(3); y = np.diff(x, n=0); y[0] = 5.; return x
:: x = np.ones((2, 2)); y = np.einsum("ij->ji", x); y[0, 1] = 5.; return x
:: x = np.ones(3); y = x.conj(); y[0] = 5.; return x
:: x = 2.; fs = [lambda y, k=x: y]; return fs[0](1., 3.)
:: x = 2.|def g(y, k=x, m=x): return y|fs = [g]; return fs[0](1., True)
:: x = 2.; from functools import reduce; return reduce(lambda a, b=x: a, [1., 2.])
:: x = 2.; fs = [lambda y, k=x: y]; return fs[0]([1.], np.zeros(2))
:: k = [1.]|def g(y, z=k):|    z.append(y)|    return z|return g(1.), g(2.)
:: x = 1.|def g(): return x|fs = [lambda: g()]; x = 2.; return fs[0]()
:: x = 1.|def g(): return x|def h(): return g()|k = h; x = 2.; return k()
:: ys = [0.]|def g(): return ys|ys = [7.]; zs = g(); zs.append(1.); return ys
:: a = np.zeros(2); rows = [a[:1]]|def g(): a[0] = 1.|g(); return rows[0]
:: a = np.zeros((2, 2)); row = a[0]|def g(): a[0, 0] = 1.|g(); return row
:: xs = [1.]|def g(): xs.append(3.)|for x in list(xs):|    if x < 2: g()|return xs
:: xs = [1.]; ys = xs|def g(): xs.append(2.)|g()|return ys
:: xs = [1.]|def g():|    xs.append(2.)|    return xs|a = g(); b = g(); return a, b
:: xs = [1.]|def g(ys):|    xs.append(2.)|    return len(ys)|return g(xs), xs
:: xs = [1.]; kept = []|def g():|    kept.append(xs)|    xs.append(2.)|g(); g(); return kept
:: xs = [1.]|def g(): xs.append(2.)|h = lambda: len(xs)|a = h(); g(); return a, h()
:: xs = [1.]|def g(): xs.append(2.)|f2 = g; f2(); g(); return xs
:: row = [5.]; rows = [row]|def g(): rows[0].append(1.)|g(); return row, rows
:: xs = [1.]|def g(): xs.append(3.)|for x in xs:|    if x < 2: g()|return xs
:: path = []; out = []|def g(k):|    out.append(path)|    path.append(k)|g(1.); g(2.); return out
:: xs = [1.]; d = {"a": xs}|def g(): xs.append(2.)|g(); return d
:: rows = [[1.], [2.]]|def g(i):|    rows.append([i])|    return rows[0]|r = g(3.); r.append(5.); return rows
def swap(xs, i, j): xs[i], xs[j] = xs[j], xs[i]:: xs = [1., 2.]; ys = xs; swap(xs, 0, 1); return ys
def each(xs):|    for i in range(len(xs)): yield xs[i]:: xs = [1., 2.]|for x in each(xs):|    if x < 5: xs.append(x * 2)|return xs
def drain(xs):|    while xs: yield xs.pop():: xs = [1., 2.]; ys = list(drain(xs)); return xs, ys
def paths(n):|    p = []|    for i in range(n):|        p.append(i)|        yield p:: return list(paths(3))
def up(n):|    for i in range(n): yield i:: g = up(3); return list(g), list(g)
def up(n):|    for i in range(n): yield i:: return list(zip(range(2), up(3)))
def rows(n):|    for i in range(n): yield [i]:: rs = []|for r in rows(2):|    r.append(1.)|    rs.append(r)|return rs
:: t = 0|def g():|    for i in range(3): yield i + t|for x in g():|    t += x|return t
:: xs = [1.]|def g():|    for x in xs: yield x|xs.append(3.)|return list(g())
def twice(xs, ys): xs[0] = ys[0] + 1.:: xs = [1., 2.]; twice(xs, xs); return xs
def both(xs, ys):|    xs.append(1.)|    ys.append(2.):: xs = []; both(xs, xs); return xs
def both(xs, ys):|    xs.append(1.)|    ys.append(2.):: xs = []; ys = xs; both(xs, ys); return xs, ys
def both(xs, ys):|    xs.append(1.)|    ys.append(2.):: xs = []; ys = []; zs = [xs]; both(xs, ys); return zs, ys
def both(xs, ys):|    ys.append(xs)|    xs.append(2.):: xs = [0.]; ys = []; both(xs, ys); xs.append(3.); return xs, ys
def both(xs, ys):|    ys.append(xs[0])|    xs.append([2.]):: xs = [[0.]]; ys = []; both(xs, ys); xs[0].append(3.); return xs, ys
def both(xs, ys):|    xs.append(1.)|    xs = ys|    xs.append(2.):: xs = []; ys = []; both(xs, ys); return xs, ys
def g(a, b):|    a.append(1.)|    b.append(2.)|    return a:: x = []; y = []; z = g(x, y); x.append(3.); return x, y, z
def g(a, b):|    a.append(1.)|    b.append(2.)|    return a or b:: x = []; y = []; z = g(x, y); y.append(3.); return x, y, z
def both(xs, ys):|    xs.append(1.)|    ys.append(2.):: rows = [[], []]; both(rows[0], rows[1]); return rows
def both(xs, ys):|    xs.append(1.)|    ys.append(2.):: rows = [[], []]; both(rows, rows[1]); return rows
def take(xs): return xs.pop():: xs = [[1.], [2.]]; x = take(xs) if len(xs) > 1 else xs[0]; x.append(3.); return xs, x
:: xs = [1., 2.]; y = xs or xs.pop(); xs.append(3.); return xs, y
:: xs = [1., 2.]; ys = [xs, xs.pop() if xs else 0.]; xs.append(4.); return xs, ys
:: xs = [1., 2.]; return [xs.pop() if x > 1. else 0. for x in [1., 2.]], xs
def take(xs): return xs.pop():: xs = [1., 2.]; return any(x > 1. and take(xs) > 0. for x in [1., 2.]), xs
def maybe(xs):|    if len(xs) > 1:|        xs = xs + [1.]|    xs[0] = 7.:: xs = [1., 2.]; maybe(xs); return xs
def push(xs, x):|    xs.append(x)|    return xs:: xs = []; ys = push(xs, 1.); push(xs, 2.); return ys
def up(xs): xs[1] += 1.|def g(xs):|    xs = up(xs)|    return None:: xs = [1., 2.]; g(xs); return xs
def p(xs):|    xs.append(1.)|    return xs|def g(xs, n): return p(xs) if n else xs:: xs = []; ys = g(xs, 1); p(xs); return ys
def push(xs):|    xs.append(1.)|    return xs:: xs = []; ys = xs if len(xs) > 5 else push(xs); ys.append(2.); return xs
def push(xs):|    xs.append(1.)|    return xs:: xs = []; ys = [xs, push(xs)] if len(xs) < 5 else xs; xs.append(2.); return ys
def go(g, s):|    s.append(0)|    for n in g: r = n|    return [r]:: g = [[1]]; s = []; t = go(g, s); t[0].append(3); return g
def push(xs):|    xs.append([1.])|    return xs:: xs = [[0.]]; ys = sorted(xs); xs = push(xs); xs[0].append(2.); return ys
def put(xs, row): xs.append(row):: xs = []; row = [1.]; put(xs, row); row.append(2.); return xs
def swap(xs, i, j): xs[i], xs[j] = xs[j], xs[i]:: xs = [1., 2.]; f2 = lambda: xs[0]; swap(xs, 0, 1); return f2()
def swap(xs, i, j): xs[i], xs[j] = xs[j], xs[i]:: rows = [[1., 2.]]; row = rows[0]; swap(row, 0, 1); return rows
def swap(xs, i, j): xs[i], xs[j] = xs[j], xs[i]:: xs = [1., 2.]|for x in xs:|    swap(xs, 0, 1)|return xs
def put(x): x[0, 0] = 1.:: x = np.zeros((2, 2)); row = x[0]; put(x); return row
def list(x): return x:: a = [1.]; b = list(a); b.append(2.); return a
def sorted(x): return x:: a = [1.]; b = sorted(a); b.append(2.); return a
def dict(x): return x:: a = {"a": 1.}; b = dict(a); b["b"] = 2.; return a
def array(x): return x|class M:|    array = staticmethod(array):: a = np.zeros(2); b = M.array(a); b[0] = 2.; return a
:: list = lambda x: x; a = [1.]; b = list(a); b.append(2.); return a
:: def sorted(x): return x|a = [1.]; b = sorted(a); b.append(2.); return a
:: a = [1.]; b = sum([], a); b.append(2.); return a
def g(xss, start): return sum(xss, start):: a = [1.]; b = g([], a); b.append(2.); return a
:: a = [1.]; s = 0.|for x in sum([], a):|    s += x|    if s < 5.:|        a.append(x)|return s
def f2(x, acc=[]):|    acc.append(x)|    return acc:: return [f2(1.), f2(2.)]
def f2(x, acc={}):|    acc["a"] = x|    return acc:: return f2(1.)
def f2(x, acc=np.zeros(2)):|    acc += x|    return acc:: return f2(1.)
def f2(x, *, acc=[]):|    acc.append(x)|    return sum(acc):: return f2(1.) + f2(2.)
def push(xs, x): xs.append(x)|def f2(x, acc=[]):|    push(acc, x)|    return x:: return f2(1.)
def fill(n, x): x[0] = n:: x = np.zeros(3); fill(*[1., x]); return x
def fill(x): x[0] = 1.:: x = np.zeros((2, 2)); fill(x[1]); return x
def fill(x): x[0] = 1.:: x = np.zeros((2, 2)); fill(x.T); return x
def fill(x): x[0] = 1.:: x = [[0.], [0.]]; fill(x[1]); return x
def fill(x): x[0] = 1.:: x = [[0.], [0.]]|for r in x:|    fill(r)|return x
def fill(x): x[0] = 1.:: x = [[0.], [0.]]; [fill(r) for r in x]; return x
def fill(x): x[0] = 1.:: x = [[0.], [0.]]; map(fill, x); return x
def fill(x): x[0] = 1.:: x = np.zeros(2); g = fill; g(x); return x
def fill(x): x[0] = 1.:: x = np.zeros(2); g = functools.partial(fill, x); g(); return x
def fill(x): x[0] = 1.|def same(x): return x:: x = np.zeros(2); fill(same(x)); return x
def bump(x):|    x += 1.|    return x:: x = np.zeros(2); y = bump(x); return x, y
def bump(x):|    x += 1.|    return x:: x = np.zeros(2)|for _ in range(2):|    y = bump(x)|return y
def bump(x):|    x += 1.|    return x:: rows = [np.zeros(2)]; ys = list(map(bump, rows)); return rows
def bump(x):|    x += 1.|    return x:: x = np.zeros(2); return bump(x) + x
def more(x): x += [1.]:: x = []; f = more; f(x); return x
def more(x):|    x += [1.]|    return x:: x = []; y = more(x); return x, y
def more(x):|    x -= {2.}|    return x:: x = {2.}; y = more(x); return x, y
def more(x): x += [1.]:: x = []; y = x; more(x); return y
def bump(x):|    x += 1.|    return x:: x = np.zeros(2); return [bump(x) for _ in range(2)]
TABLE = [1.]|def push(xs): xs.append(1.):: push(TABLE); return TABLE
:: put = lambda v: v.append(1.)|xs = []; put(xs); return xs
class A(NamedTuple):|    v: float|    def put(self, xs): xs.append(self.v):: xs = []; A(1.).put(xs); return xs
def put(rows, row): rows.append(row):: row = [1.]; put([], row); row.append(2.); return row
def rows(x): return [r for r in x]:: x = np.zeros((2, 2)); rs = rows(x); x[0, 1] = 5.; return rs
def part(x): return x[1:]:: x = np.zeros(2); y = part(x); x[1] = 5.; return y
def part(x):|    y = x[1:]|    return y:: x = np.zeros(2); y = part(x); x[1] = 5.; return y
def pick(x, n):|    y = [0.]|    if n > 0:|        y = x|    return y:: x = [1.]; y = pick(x, 1); x.append(2.); return y
def wrap(x): return [x]:: x = [1.]; y = wrap(x); x.append(2.); return y
:: x = [1.]; (y := x).append(2.); return x, y
:: fs = []|for i in range(3):|    def g(): return i|    fs.append(g)|return [h() for h in fs]
:: fs = []|for i in range(3):|    fs = fs + [lambda: i]|return [h() for h in fs]
:: fs = {}|for i in range(3):|    fs[i] = lambda: i|return [h() for h in fs.values()]
:: fs = []|for i in range(3):|    fs.append((i, lambda: i))|return [h() for _, h in fs]
:: return {i: (lambda: i) for i in range(3)}[0]()
def wrap(g): return g:: fs = []|for i in range(3):|    fs.append(wrap(lambda: i))|return [h() for h in fs]
def wrap(g): return [1., g]:: fs = []|for i in range(3):|    h = wrap(g=lambda: i)|    fs.append(h)|return [h[1]() for h in fs]
def wrap(g): return g:: fs = []|for i in range(3):|    def g(): return i|    fs.append(wrap(g))|return [h() for h in fs]
def wrap(g): return lambda: g():: return [h() for h in [wrap(lambda: i) for i in range(3)]]
def wrap(g): return g:: last = wrap(lambda: 5.)|for i in range(2):|    last = wrap(lambda: i)|i = 7.|return last()
:: fs = []|for i in range(3):|    fs.append(functools.partial(lambda a, b: a * b + i, 1.))|return [h(1.) for h in fs]
:: fs = []|for i in range(3):|    fs.append(list(map(lambda x: (lambda: x + i), [1.])))|return [h[0]() for h in fs]
class P(NamedTuple):|    g: object:: fs = []|for i in range(3):|    fs.append(P(lambda: i))|return [p.g() for p in fs]
:: n = 0.|def a():|    nonlocal n|    n += 1.|    return n|x = 1. if n > 5. else a()|return x, n
:: n = 0.|def a():|    nonlocal n|    n += 1.|    return n|return [a() for _ in range(3)]
:: n = 0.|def a():|    nonlocal n|    n += 1.|    return n|g = a; g(); return n
:: n = 0.|def a():|    nonlocal n|    n += 1.|    return n|n += a(); return n
:: n = [0.]; m = n|def a():|    nonlocal n|    n.append(1.)|a(); return n, m
:: n = [0.]; k = [5.]|def a():|    nonlocal n|    n = k|a(); n.append(1.); return n, k
:: d = {"a": [1.]}; x = d.setdefault("a", []); x.append(2.); return d
:: d = {"a": [1.]}; x = d.setdefault("a", []); d["a"].append(2.); return d, x
:: d = {}; x = [1.]; d.setdefault("a", x).append(2.); return x, d
:: xs = [1., 2., 3.]; xs[::2] = [7.]; return xs
:: x = np.ones(2); return math.atan2(x, 1.)
:: x = np.ones(2); return math.sin(x)
:: return max(*[1.])
:: x = np.array([1, 2], dtype=int); x[x > 1] += 0.5; return x
class P(NamedTuple):|    xs: list|    def __add__(self, o): return self.xs:: p = P([0.]); y = p + p; y.append(1.); return p.xs
class P(NamedTuple):|    xs: list|    def __neg__(self): return self.xs:: p = P([0.]); y = -p; y.append(1.); return p.xs
class P(NamedTuple):|    xs: list|    def __call__(self, v): v.append(1.):: p = P([0.]); y = []; p(y); return y
class P(NamedTuple):|    xs: list|    def copy(self): return self.xs:: p = P([0.]); y = p.copy(); y.append(1.); return p.xs
def g(xs=[]): return xs:: y = g(); y.append(1.); return g()
def g(x):|    y = [1.]|    y[0] = x|    return y:: x = [1.]; y = g(x); x.append(1.); return x, y
def g(x):|    x[0] += 1.|    return x:: x = y = np.zeros(2); x = g(x); return y
def g(x, y):|    x[0] += 1.|    return y:: x = np.zeros(2); y = np.ones(2); x = g(x, y); x[1] = 7.; return y
def keep(x):|    ys = []|    ys.append(x)|    return ys:: x = [1.]; y = keep(x); x.append(2.); return y
:: try:|    r = (-8.) ** 0.5|except Exception:|    r = 5.|return r
:: xs = ys = [1.]|try:|    xs += ys|except:|    xs = [5.]|return xs, ys
def grow(rows):|    rows.append([2.])|    return rows[0]:: rows = [[1.], [3.]]; a = grow(rows); a.append(3.); return rows
def grow(rows):|    rows.append([2.])|    return rows[0]:: rows = [[1.], [3.]]; return len(grow(rows)) + len(rows)
def keep(xs, ys=[]):|    ys.append(xs)|    return len(ys):: return keep([1.]) + keep([2.])
import copy:: xs = [[1.], [2.]]; ys = copy.copy(xs); ys[0][0] = 7.; return xs, ys
def pick(xs):|    xs.append(1.)|    return len(xs):: xs = [1.]; n = [xs, pick(xs), xs]; m = [len(xs), pick(xs), len(xs)]; return m
def pick(xs):|    xs.append(1.)|    return len(xs):: xs = [1.]; d = {}; d[pick(xs)] = pick(xs); return d, xs
def pick(xs):|    xs.append(1.)|    return len(xs):: xs = [1.]; ys = [0.] * 9; ys[pick(xs)] += pick(xs); return ys, xs
from collections import *:: d = defaultdict(list); y = d[1]; d[1].append(1.); return y
from collections import *:: d = defaultdict(list); y = d[1]; y.append(1.); return d
from collections import *:: d = defaultdict(list); d[1].append(1.); y = d[1]; d[1].append(2.); return y, len(d)
from collections import *:: d = defaultdict(list); d[1] = [1.]; e = {1: d[1]}; d[1].append(3.); return e
from collections import *:: q = deque([1.]); r = q; q.append(2.); return r
from collections import *:: q = deque([[1.]]); x = q[0]; q[0].append(2.); return x
from collections import *:: d = defaultdict(list)|def g(): return d[1]|y = g(); d[1].append(2.); return y
from collections import *:: c = Counter("aab"); d = c; c["a"] += 1; return d
from collections import *:: d = defaultdict(int); return len(d), d[5], len(d)
from collections import *:: d = defaultdict(int); ys = [d[i] for i in range(3)]; return dict(d)
from collections import *|def g(d): return d[5]:: d = defaultdict(int); return g(d)
from collections import *:: d = defaultdict(int); return str(d)
"""
SAME = """
:: x = np.zeros((3, 3)); v = np.arange(3.); v[0] = 5.; x[1:, 0] = v[1:]; v[1] = 7.; return x, v
:: x = np.arange(4.)|for k in range(1, 4): x[:k] += 2. * np.flip(x[:k])|return x
def two(x): return x, [x]:: xs = [0., 1.]; y = 0.; xs[1], y = two(3.); xs[0], xs[1] = two(xs[1]); return xs, y
:: x = np.arange(3.); m = np.minimum.outer(x, x + 0.5); s = np.subtract.outer(x[1:], m); return m, s.shape, s[1, 2]
:: x = np.ndarray((2, 2)); x[:, :] = 3.; y = np.ndarray(2, dtype=x.dtype); y[:] = 1.; return x, y
:: x = np.array([1., 2., 3.]); y = np.exp(x); y[0] = 7.; return x, y
:: x = np.array([3., 1., 2.]); y = np.sort(x); y[0] += x[0]; z = x.clip(0., 2.); z[1:] = 5.; return x, y, z
:: x = np.array([3., 1., 2.]); y = np.argsort(x); y[0] = 2.; return y, x.cumsum()
:: x = np.ones((2, 2)); y = x.dot(x); y[0, 1] = x[1, 1]; y[1] *= 2.; return x, y
:: x = np.ones(3); y = np.r_[x, 0.]; y[3] = 5.; z = np.c_[x, x]; z[:, 0] = 2.; return x, y, z
:: fs = []|for i in range(3): fs.append(lambda y, i=i: y + i)|return [f(10.) for f in fs]
:: k = 1.|def g(y, z=k): return y + z|k = 5.; return g(1.), g(1., 2.), g(z=3., y=1.)
:: k = [1.]|def g(y, z=k): return (y, z)|k = k + [2.]; h = g; return h((1., 2.))
:: fs = {n: (lambda y, n=n, *, m=n * 2.: y * n + m) for n in (1, 2)}; return fs[1](3.), fs[2](4.)
def p(xs):|    xs.append(1.)|    return xs|def g(xs, n): return p(xs) if n else xs:: xs = []; g(xs, 1); return g(xs, 2)
def p(xs, a, b):|    xs[a:b] = sorted(xs[a:b])|    return xs:: xs = [3., 1., 2.]|for i in range(3): xs = p(xs, i, 3)|return xs
def up(x, n):|    x[0] += n; a = up(x, n - 1) if n > 0 else 0.|    return n > 3 or a:: x = [1.]; y = up(x, 2.); return y, x
:: r = []|def put(xs, x):|    xs.append(x)|    r.append(len(xs))|a = [1.]; put(a, 2.); put(a, 3.); return a, r
:: n = 0.|def put(xs, x):|    nonlocal n|    n += x|    xs.append(n)|a = [1.]; put(a, 2.); put(a, 3.); return a, n
def pick(xs):|    xs.append(1.)|    return xs:: xs = [1.]; n = len(pick(xs)) + len(xs); return n, xs
def last(xs): return xs.pop():: xs = [1., 2.]; return [last(xs), last(xs)]
def pick(xs):|    xs.append(1.)|    return len(xs):: xs = [1.]; n = (pick(xs) if xs else 0) + 1; return n, xs
def take(xs): return xs.pop():: xs = [1., 2., 0.]; t = 5 < 3 < take(xs); return t, 1 < 2 < take(xs) < take(xs) + 9, xs
:: xs = [1., 2.]; t = 5 < 3 < xs.pop(); return t, xs
def g(x, y):|    if x is None: x = []|    x.append(1.)|    y.append(2.):: a = [0.]; g(None, a); g([], a); return a
def both(xs, *, ys):|    xs.append(1.)|    ys.append(2.):: xs = []; ys = []; both(ys=ys, xs=xs); return xs, ys
def g(d, s):|    d["a"] += 1.|    s.add(d["a"])|    return 2.:: d = {"a": 1.}; s = set(); t = 3. * g(d, s); return d, sorted(s), t
def both(xs, ys):|    xs += 1.|    ys[0] = 2.:: xs = 1.; ys = [0.]; both(xs, ys); return xs, ys
def pick(xs):|    xs.append(1.)|    return xs[0]:: xs = [1.]; n = xs[0] * 2. + pick(xs) + len(xs) + pick(xs); return n, xs
:: xs = [1.]|try:|    for x in [1., 0.]: xs[0] = 1. / x|except Exception:|    pass|return xs
:: n = 0.|try:|    try:|        for x in [1., 0.]: n /= x|    except KeyError:|        pass|except Exception:|    n += 1.|return n
def fill(x): x[0] = 1.:: x = np.zeros(3); fill(x); return x
def fill(x): x[0] = 1.|def fill2(y): fill(y):: x = np.zeros(3); fill2(x); return x
def fill(x): x[0] = 1.:: x = np.zeros(3); fill(x=x); return x
:: def put(v): v.append(1.)|xs = []; put(xs); return xs
def down(xs, n):|    if n > 0:|        xs.append(n)|        down(xs, n - 1):: xs = []; down(xs, 2); return xs
def e(xs, n):|    if n > 0:|        o(xs, n - 1)|def o(xs, n):|    xs.append(n)|    e(xs, n - 1):: xs = []; e(xs, 3); return xs
def swap(xs, i, j): xs[i], xs[j] = xs[j], xs[i]:: xs = [1., 2.]|for i in range(3):|    swap(xs, 0, 1)|return xs
def push(xs, x):|    xs.append(x)|    return xs:: xs = []; push(xs, 1.); push(xs, 2.); return xs
def note(d, k): d[k] = d.get(k, 0.) + 1.:: d = {}; note(d, "a"); note(d, "a"); return d
def take(x, d=7.):|    if len(x) > 1:|        x.pop()|    return d:: x = [1., 2.]; a = take(x); b = take(x, d=3.); return a, b, x
:: xs = []|def put(v, k=2.): v.append(k)|for i in range(2):|    put(xs)|    put(xs, k=i)|return xs
:: def g(x, n):|    x.append(n)|    if n > 0:|        g(x, n - 1)|        x.append(-n)|    return len(x)|return g([3.], 2)
:: def p(x, k):|    x.append(k)|    if k > 0.:|        q(x, k - 1.)|def q(x, k): p(x, k)|xs = []; p(xs, 3.); return xs
def fill(x, v):|    for i in range(len(x)): x[i] = v * i:: x = np.zeros(3); fill(x, 2.); y = x.copy(); fill(y, 3.); return x, y
def fill(x):|    x[0] = 1.|    return x:: return fill(np.zeros(2))
def fill(x):|    x[0] = 1.|    return x:: x = np.zeros(2); return fill(x)
def fill(x):|    x[0] = 1.|    return x:: x = np.zeros(2); x = fill(x); x[1] = 3.; return x
def fill(x):|    x[0] = 1.|    return x:: x = np.zeros(2); y = fill(x.copy()); return x, y
def fill(x):|    x = x.copy()|    x[0] = 1.|    return x:: x = np.zeros(2); y = fill(x); return x, y
def step(x, dt):|    x += dt|    return x:: x = 1.; y = step(x, 2.); return x, y
def step(x, dt):|    x += dt|    return x:: x = np.zeros(2)|for _ in range(3):|    x = step(x, 2.)|return x
def step(x, dt):|    x += dt|    return x:: return [step(v, 1.) for v in [1., 2.]]
def step(x):|    x += 1.|    return x:: return list(map(step, [1., 2.]))
def made(n):|    xs = []|    for i in range(n):|        xs.append(i * 1.)|    return xs:: ys = made(3); ys.append(7.); return ys
def mean(xs): return sum(xs) / len(xs):: xs = [1., 2.]; m = mean(xs); xs.append(m); return xs
def f2(x, acc=None):|    if acc is None:|        acc = []|    return acc + [x]:: return f2(1.) + f2(2.)
:: n = 0.|def inc(k):|    nonlocal n|    n += k|    return n|a = inc(2.)|b = inc(3.)|return a, b, n
:: n = 0.|def inc():|    nonlocal n|    n += 1.|    return n|for i in range(3):|    inc()|return inc() + inc() * 10., n
:: n = 0.|def a():|    nonlocal n|    n += 1.|    return n < 5.|while a():|    pass|return n
:: n = 0.|def visit(k):|    nonlocal n|    n += k|    if k > 0.:|        visit(k - 1.)|visit(3.)|return n
:: n = 0.|def a():|    nonlocal n|    def b():|        nonlocal n|        n += 1.|    b()|    n *= 2.|a(); a(); return n
:: n = 0.|def inc():|    nonlocal n|    n += 1.|def peek():|    return n|inc(); x = peek(); inc(); return x, peek()
:: n = 0.|def a(k=1., *more, z=0.):|    nonlocal n|    n += k + z + len(more)|a(); a(1., 2.); a(z=4.); a(*[1., 2.]); return n
:: n = 0.|def a(x):|    nonlocal n|    if x > 0.:|        return 5.|    n = x|r = a(1.); q = a(-1.); return r, q, n
:: d = {}|for w in ["a", "b", "a"]:|    d.setdefault(w, []).append(len(d))|return d.setdefault("z", 1.), d
:: xs = [1., 2., 3.]; return max(*xs), min(*xs), max(0., *xs), max(*[[1., 5.], [2.]])
:: xs = [1., 2., 3., 4.]; xs[::2] = [7., 8.]; xs[::-1] = xs; return xs
:: x = np.array([1., -2., 3.]); x[x > 0] **= 0.5; x[x < 0] += 5.; return x
:: x = np.array([1, 2, 3], dtype=int); x[x > 1] += 5; return x
:: x = [1., 2.]|match x:|    case [a, *b]:|        b.append(a)|        return x, b
:: x = 2.675; return f"{x:.2f} {x:8.1f} {-x:<8.0f}. {x:+.3f} {x:.1%} {x:08.3f} {x * 1000:,.2f} {'ab':>4} {3:03d} {x:.15f}"
def apply(g, x): return g(x):: ys = []|for i in range(3):|    ys.append(apply(lambda x: x * i, 2.))|return ys
def wrap(g): return lambda x: g(x) + 1.:: s = 0.|for i in range(3):|    h = wrap(lambda x: x * i)|    s += h(2.)|return s
def wrap(g): return lambda x: g(x) + 1.:: return [wrap(lambda x: x * i)(2.) for i in range(3)]
:: return [sorted([1., 3., 2.], key=lambda x: (x - i) ** 2) for i in range(3)]
:: return [list(map(lambda x: x * i, [1., 2.])) for i in range(3)]
:: return math.sin(True), math.atan2(1., 2.), math.floor(2.5)
def fact(n, so_far):|    if n < 1.:|        return so_far|    return fact(n - 1., so_far + [n]):: return fact(3., [])
from builtins import list as listed:: a = [1.]; b = listed(a); b.append(2.); return [a, b]
from numpy import zeros as nil:: a = nil(2); a[0] = 1.; return a
:: a = np.copy(np.zeros(2)); b = np.copy(a); b[0] = 1.; return [a, b]
:: a = [1.]; b = sum([[1.], [2.]], [3.]); return [a, b]
"""


def function(text: str) -> Any:
    outside, _, body = text.partition("::")
    lines = body.strip().replace("; ", "|").split("|")
    whole = (
        outside.replace("|", "\n")
        + "\ndef f():\n"
        + "\n".join(["    " + one.rstrip() for one in lines])
        + "\n"
    )
    names = {
        "math": math,
        "vlad": vlad,
        "functools": functools,
        "operator": operator,
        "NamedTuple": NamedTuple,
    }
    return function_of(whole, np=np, __name__="silent", **names)


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    return vlad.Session(tier="evaluate")


UNIONS = {  # of dicts: the bar separates lines above
    "c = d | {}; c['a'].append(2.0); return d, c": "not-translated",
    "c = {'b': d} | {}; c['b']['a'] = 2.0; return d, c": "not-translated",
    "c = d; c |= {'b': 2.0}; return d, c": "python-exception",
    "c = {'b': d}; d |= {'b': 2.0}; return c": "python-exception",
    "d |= {'b': d['a']}; d['a'].append(2.0); return d": "not-translated",
    "return d | [('b', 2.0)]": "python-exception",
}


@pytest.mark.parametrize("body", UNIONS)
def test_unions_share_their_parts(body: str, session: vlad.Session) -> None:
    f = function_of(f"def f():\n    d = {{'a': [1.0]}}\n    {body}\n")
    with pytest.raises(vlad.VladError) as caught:
        session.function(f)()
    assert caught.value.code == UNIONS[body]


def _cases(texts: str) -> list[str]:
    return [one for one in texts.split("\n") if one]


@pytest.mark.parametrize("text", _cases(REFUSED))
def test_what_differs_from_python_is_refused(text: str, session: vlad.Session) -> None:
    if "class " in text:  # what its methods mean holds for a whole session
        session = vlad.Session(tier="evaluate")
    with pytest.raises(vlad.VladError) as caught:
        session.function(function(text))()
    assert caught.value.code in ("not-translated", "python-exception") and caught.value.span is not None


@pytest.mark.parametrize("text", _cases(SAME))
def test_the_result_is_that_of_python(text: str, session: vlad.Session) -> None:
    expected = function(text)()
    found = session.function(function(text))()
    assert same(expected, found), (expected, found)
