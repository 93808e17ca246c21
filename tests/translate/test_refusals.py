"""What a translation refuses, and errors of calls: the message, the line, the column and the marked text in the Python file."""

from __future__ import annotations

import functools
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run

# A function f; the text that is marked; a part of the message, and of the hint. The arguments are 1.0 and [1.0, 2.0].
REFUSED = [
    (
        "def f(x, xs):\n    from math import nonesuch\n    return nonesuch(x)",
        "from math import nonesuch",
        "This import fails: cannot import name 'nonesuch' from 'math'",
        "",
    ),
    (
        "def f(x, xs):\n    def g(v, by=x): return v * by\n    h = g\n    return h(x) + g(x, 2.0)",
        "x",
        "this default inside",
        "by one name alone",
    ),
    (
        "def f(x, xs):\n    def g(v): xs.append(v)\n    h = g\n    h(x)\n    return xs",
        "xs.append(v)",
        "belongs outside",
        "return the new",
    ),
    ("def f(x, xs):\n    return [max]", "max", "max as a value", "lambda"),
    (
        "class Point:\n    def __init__(self, x): self.x = x\n    def move(self): self.x += 1\n"
        "def f(x, xs):\n    p = Point(x)\n    p.move()\n    return p.x",
        "Point",
        "a call of Point",
        "a NamedTuple, or a frozen dataclass",
    ),
    (
        "def f(x, xs):\n    return vlad.map(lambda y: x * y, xs)",
        "vlad.map(lambda y: x * y, xs)",
        "a call of vlad.map",
        "outside of translated functions",
    ),
    (
        "def f(x, xs):\n    return vlad.dumps(x)",
        "vlad.dumps(x)",
        "a call of vlad.dumps",
        "outside of translated",
    ),
    (
        "def f(x, xs):\n    ys = same(xs)\n    ys.append(1)\n    return xs",
        "ys.append(1)",
        "line 2 shares",
        ".copy()",
    ),
    (
        "def f(x, xs):\n    ys = same(xs)\n    xs.append(1)\n    return ys",
        "xs.append(1)",
        "line 2 shares",
        ".copy()",
    ),
    (
        "def f(x, xs):\n    a, b = xs, x\n    a.append(b)\n    return xs",
        "a.append(b)",
        "line 2 shares",
        ".copy()",
    ),
    (
        "def f(x, xs):\n    ys: list = xs\n    ys.append(1)\n    return xs",
        "ys.append(1)",
        "line 2 shares",
        ".copy()",
    ),
    (
        "def f(x, xs):\n    ys = [xs] * 2\n    xs.append(x)\n    return ys",
        "xs.append(x)",
        "line 2 shares",
        ".copy()",
    ),
    (
        "def f(x, xs):\n    for i, y in enumerate(zip(xs, xs)):\n        xs[i] = x\n    return xs",
        "xs",
        "in the loop",
        "list(xs)",
    ),
    (
        "def f(x, xs):\n    return [lambda y: y * i for i in xs][0](x)",
        "lambda y: y * i",
        "comprehension",
        "last value",
    ),
    (
        "def f(x, xs):\n    t = 1\n    g = same(lambda y: y * t)\n    t = 5\n    return g(x)",
        "lambda y: y * t",
        "captures t",
        "line 4",
    ),
    (
        "def f(x, xs):\n    k = 1\n    def h(y): return y * k\n    g = h\n    k = 5\n    return g(x)",
        "def h(y): return y * k",
        "captures k",
        "line 5",
    ),
    ("def f(x, xs):\n    return [scaled]", "scaled", "with defaults", "lambda"),
    ("def f(x, xs):\n    return x is same", "x is same", "`is` between values", "decorate the function"),
    (
        "def f(x, xs):\n    return zip(xs, xs, strict=x)",
        "zip(xs, xs, strict=x)",
        "this call of zip",
        "by place",
    ),
    (
        "from functools import partial\ndef f(x, xs):\n    def g(a, *b): return b\n    return list(map(partial(g, x), xs))",
        "partial(g, x)",
        "a partial function of any number of arguments as a value",
        "write a lambda",
    ),
    (
        "def f(x, xs):\n    return '{} {}'.format(*xs)",
        "'{} {}'.format(*xs)",
        "format with * or ** here",
        "an f-string",
    ),
    (
        "def f(x, xs):\n    return '{0.real}'.format(x)",
        "'{0.real}'.format(x)",
        "the field {0.real} here",
        "an f-string",
    ),
    (
        "def f(x, xs):\n    return '{1} {0}'.format(x + 1, x + 2)",
        "'{1} {0}'.format(x + 1, x + 2)",
        "this order of fields",
        "an f-string",
    ),
    (
        "def f(x, xs):\n    return format(x, xs[0])",
        "format(x, xs[0])",
        "this call of format",
        "a format that is written",
    ),
    ("def f(x, xs):\n    with open(x) as g:\n        return 1", "with open(x) as g:", "`with`", "outside"),
    (
        "def f(x, xs):\n    def g():\n        xs[0] = x\n        raise ValueError()\n"
        "    try:\n        g()\n    except ValueError: pass\n    return xs[0]",
        "g()",
        "xs as an argument that g changes",
        "return the new value",
    ),
    (
        "def f(x, xs):\n    def g():\n        nonlocal x\n        x += 1\n"
        + "        x /= 2\n" * 201
        + "    try: g()\n    except ValueError: pass\n    return x",
        "def g():",
        "so many ways through a `try`",
        "g is called within `try`, and may raise an exception after a change of x: put a part of it into a function",
    ),
    (
        "def f(x, xs):\n    try:\n        return x\n    finally:\n        return 1",
        "return 1",
        "a way out of `finally`",
        "after the `try`",
    ),
    (
        "def f(x, xs):\n    t = 0\n    try:\n        for y in xs: t = x.y = 1\n    except KeyError:\n        return t\n    x = 1",
        "return t",
        "a read of t, which the loop within",
        "into a function",
    ),
    (
        "def f(x, xs):\n    try:\n        for y in xs:\n            if y: return y\n    finally:\n        print(x)",
        "for y in xs:",
        "a way out of this loop",
        "into a function",
    ),
    *[
        (
            f"def f(x, xs):\n    try:\n        {text}\n    except {kind}:\n        x = 1\n    return x",
            marked,
            message,
            hint,
        )
        for text, kind, marked, message, hint in (
            ("raise OSError(x, xs)", "OSError", "OSError(x, xs)", "several arguments", "one text"),
            ("x = same(x)", "KeyboardInterrupt", "KeyboardInterrupt", "the class", "from Exception"),
            ("x = same(x)", "xs", "xs", "a handler of xs", "classes of exceptions"),
            ("x.y = x", "ValueError", "x.y", "this target within", "to a name"),
            ("x = (x.y, xs) = x", "ValueError", "(x.y, xs)", "this target within", "to a name"),
        )
    ],
    (
        "def f(x, xs):\n    import no_module\n    return x",
        "import no_module",
        "This import fails: No module named 'no_module'",
        "",
    ),
    (
        "def f(x, xs):\n    import math\n    math = x\n    return x",
        "import math",
        "`import`",
        "top of the file",
    ),
    ("def f(x, xs):\n    global y\n    y = x\n    return x", "global y", "`global`", "return the new value"),
    (
        "def f(x, xs):\n    def g():\n        nonlocal x\n        x = 1\n    return map(g, xs)",
        "nonlocal x",
        "`nonlocal`",
        "return",
    ),
    (
        "def f(x, xs):\n    def g():\n        nonlocal x\n        x = 1\n        return x\n    return x + g()",
        "g()",
        "as it changes x",
        "before",
    ),
    (
        "def f(x, xs):\n    def g(n):\n        y = yield n\n    return list(g(x))",
        "yield n",
        "the value of `yield`",
        "statement",
    ),
    (
        "def f(x, xs):\n    def g(n):\n        yield n\n        return n\n    return list(g(x))",
        "return n",
        "a generator returns",
        "yield it",
    ),
    (
        "def f(x, xs):\n    def g(n):\n        try:\n            yield n\n        except KeyError: pass\n    return list(g(x))",
        "try:",
        "`yield` within `try`",
        "after",
    ),
    (
        "def f(x, xs):\n    def g(n):\n        yield n\n    return g(x)",
        "g(x)",
        "a generator as a value",
        "list(g(x))",
    ),
    (
        "def f(x, xs):\n    def g(n):\n        yield n\n    return [g]",
        "g",
        "a generator function, as a value",
        "list",
    ),
    (
        "def f(x, xs):\n    def g(n):\n        yield n\n    return list(zip(xs, g(x)))",
        "g(x)",
        "this place of zip",
        "first",
    ),
    (
        "def f(x, xs):\n    def g(n):\n        yield n\n    return x in g(x)",
        "g(x)",
        "a generator as a value",
        "list",
    ),
    ("def f(x, xs):\n    class A: pass\n    return x", "class A: pass", "a class", "outside"),
    ("def f(x, xs):\n    del x\n    return 1", "del x", "`del`", "items are deleted"),
    (
        "def f(x, xs):\n    s = {x}\n    t = s\n    t.add(1)\n    return s",
        "t.add(1)",
        "line 3 shares",
        ".copy()",
    ),
    (
        "def f(x, xs):\n    s = set(xs)\n    for y in s:\n        s.add(y)\n    return s",
        "s",
        "in the loop over it",
        "list(s)",
    ),
    (
        "def f(x, xs):\n    s = set()\n    return [s.add(y) for y in xs]",
        "s.add(y)",
        "s.add(y) here",
        "before",
    ),
    ("def f(x, xs):\n    return {'%a': 1}", "'%a'", "this key", "begin with %"),
    ("def f(x, xs):\n    return cached(x)", "cached", "the cache of cached", "calls itself"),
    (
        "def f(x, xs):\n    @functools.cache\n    def g(n):\n        nonlocal x\n        x = g(n)\n    return g(5)",
        "functools.cache",
        "a cache of a function that uses a variable",
        "as an argument",
    ),
    (
        "def f(x, xs):\n    @same\n    def g(n):\n        return 1 if n == 0 else x * g(n - 1)\n    return g(5)",
        "same",
        "a decorator of a function inside that calls itself",
        "another function",
    ),
    ("def f(x, xs):\n    return list(map(cached, xs))", "cached", "the cache of cached", "a table"),
    ("def f(x, xs):\n    return 9007199254740993", "9007199254740993", "this whole number", "2**53"),
    ("def f(x, xs):\n    return 1j", "1j", "a complex", "numbers"),
    ("def f(x, xs):\n    return complex(x, 1.0)", "complex", "`complex`", "two parts"),
    (
        "def f(x, xs):\n    return getattr(xs, str(x))",
        "getattr(xs, str(x))",
        "this call of getattr",
        "in quotes",
    ),
    (
        "def f(x, xs):\n    return hasattr(xs, '__len__')",
        "hasattr(xs, '__len__')",
        "hasattr of __len__",
        "isinstance",
    ),
    ("def f(x, xs):\n    return NotImplemented", "NotImplemented", "NotImplemented here", "operator"),
    ("def f(x, xs):\n    return b'a'", "b'a'", "a bytes", "strings"),
    ("def f(x, xs):\n    return x is xs", "x is xs", "`is`", "=="),
    ("def f(x, xs):\n    return f'{x:.3n}'", "f'{x:.3n}'", "the format .3n", "there are f"),
    ("def f(x, xs):\n    return f'{x:{x!r}.2f}'", "f'{x:{x!r}.2f}'", "format that is computed", "width"),
    ("def f(x, xs):\n    return x + (x := 2)", "x := 2", "`:=`", "statement"),
    ("def f(x, xs):\n    return same(lambda *a: a)(x)", "lambda *a: a", "any number", "its parameters"),
    ("def f(x, xs):\n    return print(x, file=xs)", "file=xs", "by name", "sep and end"),
    ("def f(x, xs):\n    return x.imag", "x.imag", "attribute imag", "shape"),
    ("def f(x, xs):\n    return xs.item(1, 2)", "xs.item(1, 2)", "item with 2 arguments", "it takes"),
    ("def f(x, xs):\n    return math.nothing(x)", "math.nothing", "`math.nothing`", "nothing of that name"),
    ("def f(x, xs):\n    return math.sqr(x)", "math.sqr", "`math.sqr`", "did you mean `math.sqrt`?"),
    ("def f(x, xs):\n    return math", "math", "the module math", "name what"),
    ("def f(x, xs):\n    return sorted(xs, cmp=x)", "cmp=x", "the argument cmp", "`reverse`"),
    ("def f(x, xs):\n    return range(1, 2, 0)", "range(1, 2, 0)", "step 0", "another"),
    ("def f(x, xs):\n    return isinstance(x, range)", "range", "isinstance", "float"),
    ("def f(x, xs):\n    xs[None] = x\n    return xs", "None", "the index of a change", "each other axis"),
    ("def f(x, xs):\n    xs.a[0] = x\n    return xs", "xs.a", "a change of xs.a", "assign it to a name"),
    (
        "def f(x, xs):\n    t = [[x] * 2] * 2\n    t[0][1] = x\n    return t",
        "t[0][1] = x",
        "parts line 2 shares",
        "own",
    ),
    (
        "def f(x, xs):\n    t = [[x], [x]]\n    u = t[0]\n    t[0][0] = 5\n    return u",
        "t[0][0] = 5",
        "parts line 3 shares",
        "own",
    ),
    (
        "def f(x, xs):\n    t = []\n    t.append(xs)\n    t[0][0] = 5\n    return t",
        "t[0][0] = 5",
        "parts line 3 shares",
        "own",
    ),
    (
        "def f(x, xs):\n    t = [[x]]\n    for u in t:\n        x += u[0]\n        t[0][0] = 5\n    return t",
        "t",
        "in the loop over it",
        "list(t)",
    ),
    (
        "def f(x, xs):\n    t = [[x], [x]]\n    kept = [u for u in t]\n    t[0].append(x)\n    return kept",
        "t[0].append(x)",
        "parts line 3 shares",
        "own",
    ),
    (
        "def f(x, xs):\n    t = [[x], [x]]\n    kept = [u or xs for u, _ in zip(t, xs)]\n    t[0].append(x)\n    return kept",
        "t[0].append(x)",
        "parts line 3 shares",
        "own",
    ),
    (
        "def f(x, xs):\n    t = [[x], [x]]\n    for i, u in enumerate(t):\n        xs = u\n    t[0].append(x)\n    return xs",
        "t[0].append(x)",
        "parts line 3 shares",
        "own",
    ),
    (
        "def f(x, xs):\n    t = [[x], [x]]\n    t[0], t[1] = t[1], t[1]\n    t[0].append(x)\n    return t",
        "t[0].append(x)",
        "parts line 3 shares",
        "own",
    ),
    (
        "def f(x, xs):\n    t = [[x], [x]]\n    best = max(t, [x], key=lambda u: t[0])\n    t[0].append(x)\n    return best",
        "t[0].append(x)",
        "line 3 shares",
        "copy",
    ),
    (
        "def f(x, xs):\n    ys = [x]\n    zs, ys = ys, xs\n    ys.append(x)\n    return zs",
        "ys.append(x)",
        "line 3 shares",
        "copy",
    ),
    ("def f(x, xs):\n    return xs[0] + xs.pop()", "xs.pop()", "xs.pop() here", "of its own"),
    ("def f(x, xs):\n    return lambda: xs.pop()", "xs.pop()", "xs.pop() here", "of its own"),
    (
        "import collections\ndef f(x, xs):\n    return [collections.Counter(xs)]",
        "collections.Counter(xs)",
        "a counter as a value here",
        "a name of its own",
    ),
    (
        "from collections import Counter\ndef f(x, xs):\n    c = Counter(xs)\n    return same(c)",
        "c",
        "c, a counter, as a value here",
        "dict(c)",
    ),
    (
        "from collections import Counter\ndef f(x, xs):\n    c = Counter(xs)\n    def g(): c.update(xs)\n    g()\n    return c",
        "c.update(xs)",
        "this call of update",
        "in the function that has the counter",
    ),
    (
        "from collections import deque\ndef f(x, xs):\n    return deque(xs, 3)",
        "deque",
        "`deque`",
        "without maxlen",
    ),
    (
        "from collections import defaultdict\ndef f(x, xs):\n    d = defaultdict(list)\n    print(d)\n    return x",
        "d",
        "d, a dict with defaults, as a value here",
        "dict(d)",
    ),
    (
        "from collections import defaultdict\ndef f(x, xs):\n    d = defaultdict(int) if x else {}\n    return d[x]",
        "defaultdict(int)",
        "a dict with defaults as a value here",
        "a name of its own",
    ),
    (
        "from collections import defaultdict\ndef f(x, xs):\n    d = defaultdict(lambda: defaultdict(int))\n"
        "    y = d[x][x] if x else 0\n    return len(d)",
        "d[x][x]",
        "d[x][x] here",
        ".get(k",
    ),
    (
        "from collections import OrderedDict\ndef f(x, xs):\n    return OrderedDict()",
        "OrderedDict",
        "`OrderedDict`",
        "a dict, which keeps the order",
    ),
    (
        "import heapq\ndef f(x, xs):\n    return list(heapq.merge(xs, xs))",
        "heapq.merge",
        "`heapq.merge`",
        "sorted",
    ),
    (
        "import heapq\ndef f(x, xs):\n    return list(map(heapq.heappop, [xs]))",
        "heapq.heappop",
        "changes its argument heap in place, as a value",
        "return a new value",
    ),
    ("def f(x, xs):\n    return [xs.pop() for _ in range(2)]", "xs.pop()", "xs.pop() here", "of its own"),
    (
        "def f(x, xs):\n    xs.sort(abs)\n    return xs",
        "xs.sort(abs)",
        "this call of sort",
        "it takes 0",
    ),
    ("def f(x, xs):\n    xs.insert(x)\n    return xs", "xs.insert(x)", "this call of insert", "it takes 2"),
    ("def f(x, xs):\n    ys = xs\n    del xs[0]\n    return ys", "del xs[0]", "line 2 shares", "copy"),
    ("def f(x, xs):\n    ys = xs\n    xs.reverse()\n    return ys", "xs.reverse()", "line 2 shares", "copy"),
    (
        "def f(x, xs):\n    ys = xs\n    ys.append(x)\n    return xs",
        "ys.append(x)",
        "line 2 shares",
        ".copy()",
    ),
    ("def f(x, xs):\n    a = [xs]\n    xs[0] = x\n    return a", "xs[0] = x", "line 2 shares", ".copy()"),
    (
        "def f(x, xs):\n    g = lambda: xs\n    xs.append(x)\n    return g()",
        "lambda: xs",
        "captures xs",
        "line 3",
    ),
    (
        "def f(x, xs):\n    for y in xs:\n        xs.append(y)\n    return xs",
        "xs",
        "in the loop over it",
        "list(xs)",
    ),
    (
        "def f(x, xs):\n    g = lambda y: y + x\n    x = 2.0\n    return g(x)",
        "lambda y: y + x",
        "captures x",
        "line 3",
    ),
    (
        "def f(x, xs):\n    gs = []\n    for i in xs:\n        gs.append(lambda: i)\n    return gs[0]()",
        "lambda: i",
        "kept",
        "last value",
    ),
    ("def f(x, xs):\n    return (y for y in xs)", "(y for y in xs)", "generator", "list"),
    ("def f(x, xs):\n    def g(y):\n        return y\n    return g()", "g()", "this call of g", "takes y"),
    ("def f(x, xs):\n    raise RuntimeError", "", "RuntimeError", ""),
    ("def f(x, xs):\n    raise RuntimeError(x, xs)", "", "RuntimeError", ""),
    ("def f(x, xs):\n    raise ValueError(why=x)", "why=x", "by name of an exception", "by place"),
    ("def f(x, xs):\n    raise math", "raise math", "this `raise`", "an exception"),
    *[
        (
            f"class E(Exception):\n    def __init__(self, a):\n        {text}\n\ndef f(x, xs):\n    raise E(x)",
            marked,
            message,
            hint,
        )
        for text, marked, message, hint in (
            ("self.b = a; self.b += self.c", "self.c", "self.c in a constructor", "has assigned"),
            ("self.span = a", "self.span", "an attribute span", "another name"),
            ("super().__init__(self)", "self", "self as a value", "only its attributes"),
            ("if a: return", "return", "`return` in a constructor", "`else`"),
            ("a.append(1)", "a.append(1)", "a change in a constructor", "before"),
        )
    ],
    ("def f(x, xs):\n    return helper(x)", "helper(x)", "this call of helper", "missing"),
    ("def f(x, xs):\n    return open(x)", "open", "a call of open", "Python"),
    ("def f(x, xs):\n    a = b = [x]\n    a.append(x)\n    return b", "a.append(x)", "shares", ".copy()"),
    (
        "def f(x, xs):\n    return [y for z in xs if (y := z) > 1], y",
        "y",
        "which a comprehension",
        "another name",
    ),
    ("def f(x, xs):\n    f.y = x\n    return x", "f.y", "target", "names"),
    (
        "def f(x, xs):\n    return vlad.grad(helper, argnums=0)(x)",
        "vlad.grad(helper, argnums=0)(x)",
        "this call of vlad.grad",
        "missing",
    ),
]
# The same, for errors of calls: the class of Python's.
FAILING = [
    ("def f(x, xs):\n    return x / (x - 1)", "x / (x - 1)", ZeroDivisionError),
    ("def f(x, xs):\n    return {(1, xs): x}", "(1, xs)", TypeError),
    ("def f(x, xs):\n    return {1: x}.get((1, (2, xs)))", "{1: x}.get((1, (2, xs)))", TypeError),
    ("def f(x, xs):\n    return {(1, 2): x}[1, xs]", "{(1, 2): x}[1, xs]", TypeError),
    ("def f(x, xs):\n    d = {}\n    d[x, xs] = x\n    return d", "d[x, xs] = x", TypeError),
    ("def f(x, xs):\n    return (x, [x]) in {1: x}", "(x, [x]) in {1: x}", TypeError),
    ("def f(x, xs):\n    return xs in {1: x}", "xs in {1: x}", TypeError),
    ("def f(x, xs):\n    return x % 0", "x % 0", ZeroDivisionError),
    ("def f(x, xs):\n    return x // 0", "x // 0", ZeroDivisionError),
    ("def f(x, xs):\n    return 0 ** -x", "0 ** -x", ZeroDivisionError),
    ("def f(x, xs):\n    return xs[2]", "xs[2]", IndexError),
    ("import heapq\ndef f(x, xs):\n    return heapq.heappop([])", "heapq.heappop([])", IndexError),
    ("def f(x, xs):\n    return xs[-3]", "xs[-3]", IndexError),
    ("def f(x, xs):\n    xs[2] = x\n    return xs", "xs[2] = x", IndexError),
    ("def f(x, xs):\n    return xs[0.5]", "xs[0.5]", TypeError),
    ("def f(x, xs):\n    return xs.index(7)", "xs.index(7)", ValueError),
    ("def f(x, xs):\n    return x.count(7)", "x.count(7)", AttributeError),
    ("def f(x, xs):\n    return 'abc'.index('z')", "'abc'.index('z')", ValueError),
    ("def f(x, xs):\n    return ', '.join(xs)", "', '.join(xs)", TypeError),
    ("def f(x, xs):\n    return 'abc'.split('')", "'abc'.split('')", ValueError),
    ("def f(x, xs):\n    return float('abc')", "float('abc')", ValueError),
    ("def f(x, xs):\n    return float('1/2')", "float('1/2')", ValueError),
    ("def f(x, xs):\n    return int('1.5')", "int('1.5')", ValueError),
    ("def f(x, xs):\n    return 1 << -len(xs)", "1 << -len(xs)", ValueError),
    ("def f(x, xs):\n    return list(zip(xs, [x], strict=True))", "zip(xs, [x], strict=True)", ValueError),
    ("def f(x, xs):\n    return x[0]", "x[0]", TypeError),
    ("def f(x, xs):\n    return len(x)", "len(x)", TypeError),
    ("def f(x, xs):\n    return [y for y in x]", "x", TypeError),
    ("def f(x, xs):\n    return xs + 'a'", "xs + 'a'", TypeError),
    ("def f(x, xs):\n    return range(0.5)", "0.5", TypeError),
    ("def f(x, xs):\n    return xs < 'a'", "xs < 'a'", TypeError),
    ("def f(x, xs):\n    ys = xs\n    ys += [x]\n    return xs", "ys += [x]", TypeError),
    (
        "def f(x, xs):\n    for y in xs:\n        xs += [y]\n        if len(xs) > 4: raise TypeError\n    return xs",
        "xs += [y]",
        TypeError,
    ),
    ("def f(x, xs):\n    a, b, c = xs\n    return a", "a, b, c", ValueError),
    ("def f(x, xs):\n    a, = xs\n    return a", "a,", ValueError),
    ("def f(x, xs):\n    return math.sqrt(-x)", "math.sqrt(-x)", ValueError),
    ("def f(x, xs):\n    return math.log(0)", "math.log(0)", ValueError),
    ("def f(x, xs):\n    return math.exp(1000 * x)", "math.exp(1000 * x)", OverflowError),
    ("def f(x, xs):\n    return max([])", "max([])", ValueError),
    ("def f(x, xs):\n    if x > 2:\n        y = 1\n    return y", "y", UnboundLocalError),
    ("def f(x, xs):\n    z = y\n    y = 1\n    return z", "y", UnboundLocalError),
    ("def f(x, xs):\n    return unknown + x", "unknown", NameError),
    ("def f(x, xs):\n    assert x > 2, 'small'\n    return x", "assert x > 2, 'small'", AssertionError),
    ("def f(x, xs):\n    raise ValueError('no')", "raise ValueError('no')", ValueError),
    ("def f(x, xs):\n    raise KeyError", "raise KeyError", KeyError),
    ("def f(x, xs):\n    return helper(x, 0.0)", "x / y", ZeroDivisionError),
    ("def f(x, xs):\n    return ~(x / 2)", "~(x / 2)", TypeError),
    ("def f(x, xs):\n    return x & x / 2", "x & x / 2", TypeError),
]
HELPER = """def helper(x, y): return x / y
def same(x): return x
def scaled(x, k=2): return x * k
@functools.cache
def cached(x): return x if x < 1 else same(other(x - 1))
def other(x): return cached(x)"""


def function_of(text: str, name: str) -> Any:
    names: dict[str, Any] = {"math": math, "functools": functools, "vlad": vlad, "__name__": "refusals"}
    run(HELPER + "\n\n" + text + "\n", name, names)
    return names["f"]


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    return vlad.Session(tier="evaluate")


def _later(line: re.Match[str]) -> str:
    """The number of a line in the file, where others stand before it."""
    return f"line {int(line.group(1)) + HELPER.count(chr(10)) + 2}"


@pytest.mark.parametrize(("text", "marked", "message", "hint"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_outside_the_language_is_refused(
    text: str, marked: str, message: str, hint: str, session: vlad.Session
) -> None:
    f = session.function(function_of(text, f"refused-{hash(text)}.py"))
    with pytest.raises(vlad.VladError) as caught:
        f(1.0, [1.0, 2.0])
    error = caught.value
    if not marked:  # a class of exceptions of Python's is translated
        assert isinstance(error, RuntimeError) and error.code == "python-exception"
        return
    assert error.code == "not-translated" and error.span is not None
    message, hint = [re.sub(r"line (\d)", _later, one) for one in (message, hint)]
    assert error.span.text == marked and message in error.message and hint in (error.hint or "")
    assert error.span.source.name.startswith("refused-") and error.span.line > 4


@pytest.mark.parametrize(("text", "marked", "kind"), FAILING, ids=range(len(FAILING)))
def test_an_exception_is_pythons(
    text: str, marked: str, kind: type[Exception], session: vlad.Session
) -> None:
    python = function_of(text, f"failing-{hash(text)}.py")
    if "+=" not in text:  # which changes the list in Python
        with pytest.raises(kind):
            python(1.0, [1.0, 2.0])
    f = session.function(python)
    with pytest.raises(vlad.VladError) as caught:
        f(1.0, [1.0, 2.0])
    error = caught.value
    assert isinstance(error, kind) and error.code == "python-exception"
    assert error.span is not None and error.span.text == marked
    assert error.span.source.name.startswith("failing-")


def test_remainders_of_inexact_whole_numbers_are_refused(session: vlad.Session) -> None:
    """Python has the exact number, and doubles do not."""
    text = "def f(x, xs):\n    n = len(xs) * 94906267 * 94906267\n    return {}"
    for tried in ("n % 10", "n // 10", "divmod(n, 10)", "1 << 60"):
        with pytest.raises(OverflowError, match="beyond 2"):
            session.function(function_of(text.format(tried), f"inexact-{tried}.py"))(1.0, [1.0, 2.0])
    for tried in ("n % 1", "n // 1 > 1e15", "1e300 % 0.5"):
        session.function(function_of(text.format(tried), f"inexact-{tried}.py"))(1.0, [1.0, 2.0])


def test_only_functions_written_in_python_are_translated(session: vlad.Session) -> None:
    for other in (3, vlad.Session, session, None):
        with pytest.raises(ValueError, match="is not translated"):
            session.function(other)


def test_a_generator_is_no_procedure(session: vlad.Session) -> None:
    def f(x: float) -> Any:
        yield x

    with pytest.raises(ValueError, match="A generator function is no procedure"):
        session.function(f)


def test_a_function_without_text_is_refused(session: vlad.Session) -> None:
    names: dict[str, Any] = {}
    exec("def f(x): return x\ng = lambda x: x\nasync def h(x): return x", names)
    for name in "fgh":
        with pytest.raises(vlad.VladError, match="is not known"):
            session.function(names[name])(1.0)


class Model:
    """An ordinary class."""

    def __init__(self) -> None:
        self.w = 2.0

    def loss(self, x: float) -> float:
        return self.w * x


def test_a_method_of_an_object_that_is_no_value(session: vlad.Session) -> None:
    with pytest.raises(
        TypeError, match="A Python Model, on which loss is called, has no counterpart"
    ) as caught:
        session.function(Model().loss)(1.0)
    assert isinstance(caught.value, vlad.VladError) and caught.value.span is None
    assert "a frozen dataclass" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("helpr.bar(x)", "did you mean `helper`?"),
        ("mth.pi.real + x", "did you mean `math`?"),
        ("nothing.of(x)", None),
    ],
)
def test_the_name_before_a_dot_is_not_defined(text: str, hint: str | None, session: vlad.Session) -> None:
    f = session.function(
        function_of(f"def f(x, xs):\n    return {text}  # math", f"undefined-{hash(text)}.py")
    )
    with pytest.raises(NameError, match=f"name '{text.split('.')[0]}' is not defined") as caught:
        f(1.0, [1.0, 2.0])
    assert isinstance(caught.value, vlad.VladError) and caught.value.hint == hint
    assert caught.value.span is not None and caught.value.span.text == text.split(".")[0]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("x + xs", "these are a real and a list; `np.array(l)` makes an array of a list, which"),
        ("abs(xs)", "this is a list; a comprehension computes it of each element; `np.array(l)`"),
        ("xs(0)", "; an element is `a[i]`, in square brackets"),
    ],
)
def test_hints_speak_of_python(text: str, hint: str, session: vlad.Session) -> None:
    f = session.function(function_of(f"def f(x, xs):\n    return {text}", f"hinting-{hash(text)}.py"))
    with pytest.raises(vlad.VladError) as caught:
        f(1.0, [1.0, 2.0])
    assert hint in (caught.value.hint or "")
