"""Tensors: values compared with NumPy's; derivatives in both modes, nested, compared with each other and with differences."""

from __future__ import annotations

import itertools
import math
import string
import warnings
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running import TIERS, printed, refusal
from slopes import (
    EXAMPLES,
    Drawn,
    a_length,
    a_shape,
    at_shapes,
    check,
    operand,
    procedure,
    random,
    seed_of,
    several,
    words,
)

import vlad
from vlad import VladError
from vlad.data.values import Primitive
from vlad.data.write import written
from vlad.primitives import (
    batches,
    checkpointing,
    contractions,
    data,
    files,
    levels,
    numerals,
    references,
    strings,
    tables,
    transforms,
)
from vlad.primitives.elementwise import formula
from vlad.primitives.numbers import ROWS
from vlad.primitives.table import TABLE
from vlad.primitives.vectors import ROWS as OF_VECTORS

pytestmark = pytest.mark.any_compiler

# Functions of x, and of c if there is one; with the shapes of x and c, or generators of them, and their ranges.
UNARY = {
    **dict.fromkeys(["sigmoid", "softplus", "gelu"], (-3.0, 3.0)),
    "(lambda (x) (variance (* x x)))": (-2.0, 2.0), "(lambda (x) (prod (+ x 1)))": (-0.5, 0.5),
    **dict.fromkeys(["sin", "cos", "exp", "exp2", "expm1", "sinh", "cosh", "tanh", "asinh", "erf", "erfc"], (-2.0, 2.0)),
    **dict.fromkeys(["erfcx", "log-erfc", "log-normal-cdf"], (-2.0, 3.0)),
    **dict.fromkeys(["log", "log2", "log10", "sqrt", "cbrt", "log1p"], (0.3, 2.0)), "tan": (-1.2, 1.2),
    "abs": (-2.0, 2.0), "relu": (-2.0, 2.0),
    **dict.fromkeys(["gamma", "lgamma", "log-gamma", "digamma", "(lambda (x) (polygamma 1 x))"], (0.5, 3.0)),
    "asin": (-0.8, 0.8), "acos": (-0.8, 0.8), "atanh": (-0.8, 0.8), "acosh": (1.2, 3.0),
    "(lambda (x) (- x))": (-2.0, 2.0), "(lambda (x) (/ x))": (0.4, 2.0), "(lambda (x) (expt x 3))": (-2.0, 2.0),
    "(lambda (x) (expt x -0.5))": (0.4, 2.0), "(lambda (x) (expt 2 x))": (-2.0, 2.0), "(lambda (x) (max x 0.1))": (0.3, 2.0),
    "(lambda (x) (where (> x 1) (* x x) (sin x)))": (0.0, 2.0), "(lambda (x) (* x (sum x)))": (-1.0, 1.0),
    "(lambda (x) (sum x))": (-1.0, 1.0), "(lambda (x) (* (mean (* x x)) 2))": (0.5, 1.0),
    "(lambda (x) (logsumexp x))": (-3.0, 3.0), "(lambda (x) (norm x))": (0.5, 1.0),
    "(lambda (x) (reshape (* x x) (list (size x))))": (-1.0, 1.0), "(lambda (x) (transpose (* x x)))": (-1.0, 1.0),
    "(lambda (x) (maximum (* x x)))": (0.5, 2.0), "(lambda (x) (minimum (sin x)))": (0.1, 1.0),
    "(lambda (x) (stack (list x (* x x) (sin x)) #:axis -1))": (-1.0, 1.0),
    "(lambda (x) (broadcast-to (sin x) (cons 2 (shape x))))": (-1.0, 1.0),
    "(lambda (x) (tensor (list (sin x) (* x x))))": (-1.0, 1.0), "(lambda (x) (tensor->list (exp x)))": (-1.0, 1.0),
    "(lambda (x) (if (= (size x) 1) (list x) (unstack (sin x))))": (-1.0, 1.0),
    "(lambda (x) (+ (* x (floor x) (sign x)) (* x (ceiling x) (truncate x) (round (+ x 0.5)))))": (-2.0, 2.0),
    "(lambda (x) (as-type (* x x) 'float64))": (-1.0, 1.0),
}  # fmt: skip
BINARY = {
    "+": (-2.0, 2.0), "-": (-2.0, 2.0), "*": (-2.0, 2.0), "/": (0.4, 2.0), "atan": (0.4, 2.0), "hypot": (0.4, 2.0),
    "expt": (0.4, 2.0), "max": (-2.0, 2.0), "min": (-2.0, 2.0), "(lambda (a b) (modulo (- a 8) (+ b 3)))": (0.0, 0.4),
    "(lambda (a b) (remainder (- a 8) (+ b 3)))": (0.0, 0.4), "(lambda (a b) (* a b (quotient (- a 8) (+ b 3))))": (0.0, 0.4),
    "(lambda (a b) (where (> a b) (* a b) (+ a b)))": (-2.0, 2.0),
}  # fmt: skip
AXIS = {
    "(sum x #:axis A)": (-2.0, 2.0), "(sum (* x x) #:axis A #:keep #t)": (-2.0, 2.0), "(mean (* x x) #:axis A)": (-2.0, 2.0),
    "(maximum x #:axis A)": (-2.0, 2.0), "(minimum x #:axis A #:keep #t)": (-2.0, 2.0), "(softmax x #:axis A)": (-3.0, 3.0),
    "(prod x #:axis A)": (-2.0, 2.0), "(variance x #:axis A)": (-2.0, 2.0), "(variance (* x x) #:axis A #:keep #t)": (-2.0, 2.0),
    "(log-softmax x #:axis A)": (-3.0, 3.0), "(logsumexp x #:axis A)": (-3.0, 3.0),
    "(concatenate (list x (* x x) (sin x)) #:axis A)": (-1.0, 1.0), "(stack (list x (sin x)) #:axis A)": (-1.0, 1.0),
    "(unstack (* x x) #:axis A)": (-1.0, 1.0), "(sorted x #:axis A)": (-2.0, 2.0), "(sorted (* x x) #:axis A)": (0.5, 2.0),
    "(flipped (* x x) #:axis A)": (-1.0, 1.0), "(cumsum (* x x) #:axis A)": (-1.0, 1.0),
    "(cumsum (sin x) #:axis A #:from-end #t)": (-1.0, 1.0),
    "(gather (* x x) #[0 0 -1] #:axis A)": (-1.0, 1.0), "(slice (sin x) 0 1 #:axis A)": (-1.0, 1.0),
    "(split (* x x) 1 #:axis A)": (-1.0, 1.0), "(scatter-add (* x x) 0 (gather (sin x) 0 #:axis A) #:axis A)": (-1.0, 1.0),
}  # fmt: skip
# Of a and b, with entries up to 1, a matrix whose symmetric part has eigenvalues that are not near each other.
APART_VALUES = "(+ (* b a) (let ((n (last (shape a)))) (* 9 (* (arange n) (eye n)))))"
# A matrix with as many rows and columns as a, whose columns, and singular values, are as far apart.
APART_COLUMNS = """(+ (* b a) (let (((list m n) (list-tail (shape a) (- (rank a) 2))))
    (* 9 (* (+ 1 (arange n)) (slice (slice (eye 12) 0 m) 0 n #:axis 1)))))"""
OBLONG: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 2), ()),
    ((2, 3), (2, 3)),
    ((3, 3), (3, 1)),
    ((2, 1, 3, 2), (3, 1)),
    ((1, 1), ()),
    ((0, 2), ()),
    ((3, 0), ()),
]
PRODUCTS: dict[str, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "matmul": [((2, 3), (3, 4)), ((3,), (3, 2)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 2)),
               ((4, 1, 2, 3), (5, 3, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((5, 2, 3), (3,))],
    "dot": [((3,), (3,)), ((1,), (1,)), ((0,), (0,))],
    "outer": [((3,), (2,)), ((1,), (4,)), ((0,), (2,))],
    "(lambda (a b) (solve (+ a (* 4 (eye (last (shape a))))) b))": [
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 1, 3, 3), (4, 3, 2)), ((0, 3, 3), (3, 1)), ((3, 3), (2, 3, 0))],
    "(lambda (a b) (solve-triangular (+ a (* 4 (eye (last (shape a))))) b))": [
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 1, 3, 3), (4, 3, 2)), ((0, 3, 3), (3, 1))],
    "(lambda (a b) (solve-triangular (+ a (* 4 (eye (last (shape a))))) b #:upper #t))": [
        ((3, 3), (3,)), ((5, 5), (5, 2)), ((2, 1, 3, 3), (4, 3, 2)), ((1, 1), (1,))],
    "(lambda (a b) (matmul (inverse (+ a (* 4 (eye (last (shape a)))))) b))": [
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 1))],
    "(lambda (a b) (* (det a) (sum b)))": [((3, 3), (2,)), ((1, 1), ()), ((0, 0), (2,)), ((2, 3, 3), (2,)), ((0, 2, 2), (2,))],
    "(lambda (a b) (* (log-det (+ a (* 4 (eye (last (shape a)))))) (sum b)))": [
        ((3, 3), (2,)), ((1, 1), ()), ((0, 0), (2,)), ((2, 3, 3), (2,)), ((0, 2, 2), (2,))],
    "(lambda (a b) (cholesky (+ (* b a) (* 6 (eye (last (shape a)))))))": [
        ((3, 3), ()), ((3, 3), (3, 3)), ((2, 1, 3, 3), (3, 1))],
    f"(lambda (a b) (let (((cons l v) (eigh {APART_VALUES}))) (einsum \"...ij,...j->...ij\" (+ 1 v) (sin l))))": [
        ((3, 3), ()), ((2, 2), (2, 2)), ((2, 1, 3, 3), (3, 1)), ((1, 1), ()), ((0, 0), ())],
    f"(lambda (a b) (let (((cons q r) (qr {APART_COLUMNS}))) (matmul (sin q) (sin r))))": OBLONG,
    f'(lambda (a b) (let (((list u s v) (svd {APART_COLUMNS}))) (einsum "...ik,...k,...kj->...ij" (sin u) (sin s) (sin v))))':
    OBLONG,
}  # fmt: skip
EINSUMS = {
    "ij,jk->ik": [(2, 3), (3, 4)], "ij,jk": [(2, 3), (3, 4)], "ba,ab": [(2, 3), (3, 2)], "i,i": [(3,), (3,)],
    "i,j->ji": [(2,), (3,)], ",ij->j": [(), (2, 3)], "bij,bjk->bik": [(2, 2, 3), (2, 3, 1)], "bi,bi->b": [(4, 3), (4, 3)],
    "...ij,...jk->...ik": [(4, 1, 2, 3), (5, 3, 2)], "...i,i": [(2, 3, 4), (4,)], "i...->...": [(3, 2)],
    "ii": [(3, 3)], "ii->i": [(3, 3)], "iij,ji->": [(2, 2, 3), (3, 2)], "iii->i": [(2, 2, 2)], "ij->": [(2, 3)],
    "ijk->kij": [(2, 3, 4)], "ij": [(2, 3)], "ba": [(2, 3)], "iji,jkk->k": [(2, 3, 2), (3, 2, 2)], "ij,ij->ij": [(2, 3), (2, 3)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)], "a,b,c->abc": [(2,), (3,), (2,)],
    "i,ij,j": [(2,), (2, 3), (3,)], "ij,jk->i": [(0, 3), (3, 2)], "ij, jk -> ik": [(2, 0), (0, 3)],
    "i...j,...->j...": [(2, 1, 3), (4,)], "ij,kj,kl,lm->im": [(2, 3), (4, 3), (4, 2), (2, 5)],
}  # fmt: skip
Shape = tuple[int, ...]
Pair = tuple[Shape, Shape]
SHAPES: list[Shape] = [(), (1,), (3,), (0,), (2, 3), (1, 1), (3, 1), (0, 2), (2, 1, 3), (4, 2, 2)]

NOTHING = {"variance", "mean", "maximum", "minimum"}  # of nothing, they are not defined


def from_least(r: Random, text: str) -> tuple[int, ...]:
    return a_shape(r, least=1 if words(text) & {*NOTHING, "logsumexp"} else 0)


@pytest.mark.parametrize("text", UNARY)
@at_shapes(from_least)
def test_unary(session: vlad.Session, text: str, drawn: Shape, seed: int) -> None:
    check(session, procedure(session, text), operand(text, seed, drawn, *UNARY[text]), seed)


def with_an_empty_axis(r: Random) -> Shape:
    shape = a_shape(r, shortest=1)
    place = r.randrange(len(shape))
    return (*shape[:place], 0, *shape[place + 1 :])


@pytest.mark.parametrize("text", [text for text in UNARY if words(text) & NOTHING])
@at_shapes(with_an_empty_axis)
def test_of_nothing(session: vlad.Session, text: str, drawn: Shape, seed: int) -> None:
    for f in (text, f"(gradient-R {text})", f"(lambda (x) (jvp {text} x x))"):
        with pytest.raises(VladError, match="of nothing"):
            procedure(session, f)(np.zeros(drawn))


def broadcast(r: Random, whole: Shape) -> Pair:
    """Two shapes that broadcast to this one; one of them has all axes."""
    found = [tuple([1 if r.randrange(3) == 0 else length for length in whole]) for _ in range(2)]
    shorter = r.randrange(2)
    found[shorter] = found[shorter][r.choice([0, 0, 1, 2, 3]) :]
    return found[0], found[1]


def check_both(session: vlad.Session, text: str, shapes: Pair, seed: int, low: float, high: float) -> None:
    """By either operand, with the other constant."""
    a, b = [operand(text, seed_of(seed, k), shape, low, high, k) for k, shape in enumerate(shapes)]
    for x, c, order in ((a, b, "x c"), (b, a, "c x")):
        made = procedure(session, f"(lambda (c) (lambda (x) ({text} {order})))")
        check(session, made(c), x, seed)


@pytest.mark.parametrize("text", BINARY)
@at_shapes(lambda r: broadcast(r, a_shape(r)))
def test_binary(session: vlad.Session, text: str, drawn: Pair, seed: int) -> None:
    check_both(session, text, drawn, seed, *BINARY[text])


def axes(r: Random, least: int = 0) -> tuple[Shape, int]:
    """A shape and one of its axes, of at least this length."""
    shape = [*a_shape(r, shortest=1)]
    axis = r.randrange(-len(shape), len(shape))
    shape[axis] = a_length(r, least)
    return tuple(shape), axis


def axes_of(r: Random, text: str) -> tuple[Shape, int]:
    # logsumexp of no entries is infinite, and has no differences
    return axes(r, least=1 if words(text) & {*NOTHING, "gather", "slice", "logsumexp"} else 0)


@pytest.mark.parametrize("text", AXIS)
@at_shapes(axes_of, key=lambda drawn: drawn[0], kinds=lambda drawn: {drawn[1]})
def test_along_an_axis(session: vlad.Session, text: str, drawn: tuple[Shape, int], seed: int) -> None:
    shape, axis = drawn
    f = procedure(session, f"(lambda (x) {text.replace(' A', f' {axis}')})")
    check(session, f, operand(text, seed, shape, *AXIS[text]), seed)


Part = tuple[Shape, tuple[Any, ...]]  # the shape of x, and what else there is


def indices(r: Random) -> Part:
    """Indices along an axis, negative and repeated ones, too; twice, of one shape."""
    shape, axis = axes(r)
    length = shape[axis]
    many = (0,) if length == 0 else r.choice([(), (2,), (5,), (0,), (1, 3), (2, 2)])
    found = [[float(r.randrange(-length, length)) for _ in range(math.prod(many))] for _ in range(2)]
    return shape, (axis, *[np.reshape(of, many) if many else of[0] for of in found])


def steps(r: Random) -> Part:
    shape, axis = axes(r)
    start, stop = sorted([r.randint(0, shape[axis]), r.randint(0, shape[axis])])
    return shape, (axis, start, stop, r.randint(1, 3))


def equal_parts(r: Random) -> Part:
    shape, axis = axes(r)
    whole, parts = [*shape], r.randint(1, 4)
    whole[axis] = parts * a_length(r, most=2)
    return tuple(whole), (axis, parts)


def orders(r: Random) -> Part:
    shape = tuple([a_length(r) for _ in range(r.randint(0, 4))])
    order = r.sample(range(len(shape)), len(shape))
    return shape, ([axis - len(shape) if r.randrange(2) else axis for axis in order],)


def places(r: Random) -> Part:
    """Two places in a tensor, by one to four indices each."""
    whole, rest = a_shape(r, least=1, shortest=1), a_shape(r, most=2)
    found = [[r.randrange(-length, length) for length in whole] for _ in range(2)]
    return (*whole, *rest), tuple(found)


def paddings(r: Random) -> Part:
    """Padding of a tensor: on both sides of all axes, or of some, or on each side of each."""
    shape = a_shape(r, most=3)
    each = [r.choice([r.randint(0, 2), [r.randint(0, 2), r.randint(0, 2)]]) for _ in shape]
    return shape, (r.choice([r.randint(0, 2), each]),)


def alone(r: Random) -> Part:
    return a_shape(r), ()


def matrices(r: Random) -> Part:
    return a_shape(r, shortest=2), ()


def of_any_shape(r: Random) -> Part:
    return (), ([*a_shape(r)], r.randint(0, 2**53))


# Of x and of numbers that are drawn with its shape.
PARTS: dict[str, Drawn] = {
    "((axis k l) (gather (* x x) k #:axis axis))": indices,
    "((k l) (apply tensor-set (append (cons (* x x) k) (list (sin (apply tensor-ref (cons x l)))))))": places,
    "((k l) (apply tensor-set (append (cons (* x x) k) (list (sin (sum x))))))": places,
    "((axis start stop step) (slice-set (sin x) start stop (slice (* x x) start stop #:axis axis #:step step) #:axis axis"
    " #:step step))": steps,
    "((axis start stop step) (slice-set (sin x) start stop (sum (* x x)) #:axis axis #:step step))": steps,
    "((axis k l) (scatter-add (* x x) k (gather (sin x) l #:axis axis) #:axis axis))": indices,
    "((axis start stop step) (slice (* x x) start stop #:axis axis #:step step))": steps,
    "((axis n) (split (* x x) n #:axis axis))": equal_parts, "((axes) (transpose (* x x) #:axes axes))": orders,
    "((k l) (* (apply tensor-ref (cons (* x x) k)) (apply tensor-ref (cons x l))))": places,
    "((dims seed) (full dims (sin x)))": of_any_shape,
    "((dims seed) (uniform (random-key seed) dims #:low (sin x) #:high (+ 2 (* x x))))": of_any_shape,
    '(() (to-device (sin x) "cpu"))': alone,
    "((widths) (pad (* x x) widths 3))": paddings,
    "((dims seed) (pad (ones dims) 1 (sin x)))": of_any_shape,
    **{f"(() ({name} (* x x)))": matrices for name in ("diagonal", "trace", "tril", "triu")},
    "((n) (linspace (sin x) (* x x) n))": lambda r: ((), (r.randint(0, 70),)),
}  # fmt: skip


def key_of_part(drawn: Part) -> Any:
    """Results from a real may have any shape, which is given."""
    shape, given = drawn
    return shape or (tuple(given[0]) if given and isinstance(given[0], list) else str(given[:1]))


@pytest.mark.parametrize("text", PARTS)
@at_shapes(lambda r, text: PARTS[text](r), key=key_of_part)
def test_parts(session: vlad.Session, text: str, drawn: Part, seed: int) -> None:
    shape, given = drawn
    names, body = text[1:-1].split(") ", 1)
    f = procedure(session, f"(lambda {names}) (lambda (x) {body}))")(*given)
    check(session, f, operand(text, seed, shape, -1, 1), seed)


def factors(r: Random) -> Pair:
    """A matrix, several, or a vector, by such."""
    n, k, m = [a_length(r, most=3) for _ in range(3)]
    left, right = broadcast(r, several(r))
    return r.choice([(k,), (*left, n, k)]), r.choice([(k,), (*right, k, m)])


def vectors(r: Random) -> Pair:
    n = r.randint(0, 70)
    return (n,), (n,)


def two_vectors(r: Random) -> Pair:
    return (r.randint(0, 8),), (r.randint(0, 8),)


def square(r: Random) -> Pair:
    """Square matrices, and a factor of any shape."""
    n = a_length(r)
    return (*several(r), n, n), a_shape(r)


def systems(r: Random) -> Pair:
    n, m = a_length(r, most=3), a_length(r, most=3)
    left, right = broadcast(r, several(r))
    return (*left, n, n), r.choice([(n,), (*right, n, m)])


def beside(r: Random) -> Pair:
    """Square matrices, and operands that broadcast with them."""
    n = a_length(r, most=3)
    return oblong(r, n, n)


def oblong(r: Random, m: int | None = None, n: int | None = None) -> Pair:
    """Matrices, and operands that broadcast with them."""
    m, n = a_length(r, most=3) if m is None else m, a_length(r, most=3) if n is None else n
    left, right = broadcast(r, several(r))
    return (*left, m, n), r.choice([(), (*right, m, 1), (*right, 1, n), (*right, m, n)])


DRAWN: dict[str, Drawn] = dict(zip(PRODUCTS, [
    factors, vectors, two_vectors, systems, systems, systems, systems, square, square, beside, beside, oblong, oblong,
], strict=True))  # fmt: skip


@pytest.mark.slow_compiled
@pytest.mark.parametrize("text", PRODUCTS)
@at_shapes(lambda r, text: DRAWN[text](r))
def test_products(session: vlad.Session, text: str, drawn: Pair, seed: int) -> None:
    check_both(session, text, drawn, seed, -1, 1)


def check_einsum(session: vlad.Session, spec: str, shapes: tuple[Shape, ...], seed: int) -> None:
    """Compared with NumPy's; by each of the tensors, which are separate operands or in a list."""
    operands = [operand(spec, seed_of(seed, k), shape, -1, 1) for k, shape in enumerate(shapes)]
    names = [f"x{place}" for place in range(len(operands))]
    given = f"(list {' '.join(names)})" if seed % 2 else " ".join(names)
    for place, name in enumerate(names):
        others = [other for other in names if other != name]
        rest = [operand for k, operand in enumerate(operands) if k != place]
        text = f'(lambda ((list {" ".join(others)})) (lambda ({name}) (einsum "{spec}" {given})))'
        f = procedure(session, text)(rest)
        assert f(operands[place]) == pytest.approx(np.einsum(spec, *operands), rel=1e-12, abs=1e-12)
        check(session, f, operands[place], seed)


def sized(r: Random, spec: str) -> tuple[Shape, ...]:
    """Shapes for a specification: each letter has a length; those of `...` are broadcast."""
    terms = spec.split("->")[0].replace(" ", "").split(",")
    length = {letter: a_length(r, most=5) for letter in sorted({*spec} & {*string.ascii_letters})}
    free = several(r)
    shapes = []
    for term in terms:
        before, dots, behind = term.partition("...")
        kept = free[r.randint(0, len(free)) :] if dots else ()
        apart = [1 if r.randrange(2) else one for one in kept]
        shapes.append((*[length[c] for c in before], *apart, *[length[c] for c in behind]))
    return tuple(shapes)


def specification(r: Random) -> str:
    """One to three terms of up to three letters each, and the letters of the result."""
    terms = ["".join(r.choices("ijk", k=r.randint(0, 3))) for _ in range(r.randint(1, 3))]
    letters = sorted({*"".join(terms)})
    kept = "".join(r.sample(letters, r.randint(0, len(letters))))
    dotted = [r.randint(0, 2 * len(term) + 1) for term in terms]
    terms = [
        term[:at] + "..." + term[at:] if at <= len(term) else term
        for term, at in zip(terms, dotted, strict=True)
    ]
    if any("..." in term for term in terms):
        kept = r.choice(["..." + kept, kept + "..."])
    return ",".join(terms) + ("->" + kept if r.randrange(4) else "")


@pytest.mark.slow_compiled
@pytest.mark.parametrize("spec", EINSUMS)
@at_shapes(sized, count=min(5, EXAMPLES))
def test_einsum(session: vlad.Session, spec: str, drawn: tuple[Shape, ...], seed: int) -> None:
    check_einsum(session, spec, drawn, seed)


def specified(r: Random) -> tuple[str, tuple[Shape, ...]]:
    spec = specification(r)
    return spec, sized(r, spec)


@pytest.mark.slow_compiled
@at_shapes(specified, key=lambda drawn: drawn[1])
def test_einsum_of_any_specification(
    session: vlad.Session, drawn: tuple[str, tuple[Shape, ...]], seed: int
) -> None:
    check_einsum(session, *drawn, seed)


# Rows whose derivatives are not tested here.
EXCEPT = {
    "conv2d": "tests/primitives/test_networks.py", "max-pool": "there, too", "avg-pool": "there, too",
    "real": "of a real only, which it is", **dict.fromkeys(["write", "write-real"], "these print"),
}  # fmt: skip


def test_every_row_with_a_derivative_is_checked() -> None:
    """Hidden ones are used by the derivatives of these."""
    rooms = (data, strings, numerals, files, references, tables, transforms, levels, checkpointing, batches)
    no_tensors = {row.name for rows in (OF_VECTORS, *[room.ROWS for room in rooms]) for row in rows}
    checked = {"einsum"}.union(*[words(text) for text in (*UNARY, *BINARY, *AXIS, *PARTS, *PRODUCTS)])
    named = [row for row in TABLE.values() if not row.hidden and row.name not in no_tensors]
    with_derivative = {row.name for row in named if row.partials or row.reverse} | {*contractions.PROCEDURES}
    assert with_derivative - checked == {*EXCEPT}


@pytest.mark.own_tier
@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.array and row.partials is not None], ids=lambda row: str(row.name)
)
def test_entry_by_entry_it_is_the_rule_of_reals(row: Primitive) -> None:
    """NumPy's functions compared with the C library's, which the rules use; also at the edges."""
    r, edges = Random(row.name), [0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan]
    constants = {"n": [1.0, 2.0], "m": [0.0, 1.0], "k": [1.0, 2.0]}
    if row.name == "power-log":  # v is what brings x near 1, or 1
        constants |= {"v": [1.0], "w": [0.0, 1.0]}
    apply = formula(row.array, row.operands)
    at_edges = itertools.product(*[constants.get(name, edges) for name in row.operands])
    points = [*at_edges] if len(row.operands) < 3 else r.sample([*at_edges], 64)
    for _ in range(100):
        reals = [
            r.choice([r.uniform(-50, 50), r.uniform(-1, 1), 10 ** r.uniform(-320, 1), *edges[:2]])
            for _ in row.operands
        ]
        points.append(
            tuple([r.choice(constants.get(name, [x])) for name, x in zip(row.operands, reals, strict=True)])
        )
    for operands in points:
        expected = row.value(*operands)
        with np.errstate(all="ignore"):
            found = float(apply(np, *[np.asarray([x]) for x in operands])[0])
        same_kind = math.isnan(found) == math.isnan(expected)
        assert same_kind and (math.isnan(found) or found == pytest.approx(expected, rel=1e-9, abs=1e-300)), (
            operands
        )


def test_the_curve_of_the_gaussian_of_arrays_is_right_at_its_zero() -> None:
    row, r = TABLE["gaussian-curve"], np.random.default_rng(0)
    x = np.concatenate([r.uniform(0.7071, 0.70711, 1000), [math.sqrt(0.5), 0.7071067811865475, 0.0]])
    for points in (x, -x):
        found = formula(row.array, row.operands)(np, points)
        expected = np.array([row.value(float(point)) for point in points])
        assert found.shape == expected.shape
        assert (np.abs(found - expected) <= np.maximum(1e-14 * np.abs(expected), 1e-12)).all()


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_the_error_function_of_arrays(session: vlad.Session, name: str) -> None:
    """Compared with the C library's: within five units in the last place, down to the least numbers; in single precision, too."""
    r = np.random.default_rng(0)
    x = np.concatenate(
        [
            r.normal(0, 1, 20_000),
            r.uniform(-28, 28, 20_000),
            10 ** r.uniform(-320, 2, 5_000),
            np.linspace(0.9, 1.1, 999),
        ]
    )
    expected = np.array([getattr(math, name)(one) for one in x])
    assert (np.abs(session[name](x) - expected) <= 5 * np.spacing(np.abs(expected))).all()
    single = session[name](x.astype(np.float32))
    exact = np.array([getattr(math, name)(float(one)) for one in x.astype(np.float32)])
    assert single.dtype == np.float32 and single.shape == exact.shape
    assert (np.abs(single - exact) <= np.maximum(2e-6 * np.abs(exact), 1e-37)).all()


ALONG = ("argsort", "sorted", "cumsum", "flipped")
ERRORS = {
    "((gradient sum) (as-type #[1 2] 'int64))": "Derivatives are taken with respect to reals",
    "((gradient (lambda (x) (mean-squared-error x #[[1] [2]]))) #[1 2])": "What is given to mean-squared-error has",
    "(+ #[1 2] #[1 2 3])": "Shapes given to + do not fit: (2) and (3)",
    "(define a #[1 2]) (define b #[1 2 3]) (let ((x a) (y b)) (* x y))": "Shapes given to * do not fit: (2) and (3)",
    "(hypot #[1 2] #[1 2 3])": "Shapes given to hypot do not fit: (2) and (3)",
    "(if (> #[1 2] 0) 1 2)": "A tensor of booleans is no condition",
    "((lambda (a b) (if (= a b) 1 2)) #[1 2] #[1 2])": "A tensor of booleans is no condition",
    "(let ((m (> #[1 2] 5))) (begin (write m) (if m 1 2)))": "A tensor of booleans is no condition",
    "(let ((m (> #[1 2] 5))) (cond (m 1) (else 2)))": "A tensor of booleans is no condition",
    "(not (> #[1 2] 5))": "A tensor of booleans is no condition",
    "(map not (list (> #[1 2] 5)))": "A tensor of booleans is no condition",
    "((lambda (m) (if (not m) 1 2)) (> #[1 2] 5))": "A tensor of booleans is no condition",
    "(tensor (list 1 (list 2)))": "Shapes given to tensor do not fit: () and (1)",
    "#[[1 2] [3]]": "Shapes given to tensor do not fit: (2) and (1)",
    "(tensor '(1 a))": "Argument to tensor is invalid",
    "(reshape #[1 2 3] '(2 2))": "Shapes given to reshape do not fit: (3) and (2 2)",
    "(reshape #[1 2 3] '(-1 -1))": "Shapes given to reshape do not fit",
    "(broadcast-to #[1 2] 3)": "Shapes given to broadcast-to do not fit: (2) and (3)",
    "(concatenate (list #[1] #[[1]]))": "Shapes given to concatenate do not fit: (1) and (1 1)",
    "(stack '())": "List given to stack is empty",
    "(split #[1 2 3] 2)": "An axis of length 3 cannot be split into 2",
    "(tensor-ref #[1 2] 2)": "Index given to tensor-ref is out of range: 2",
    "(tensor-ref #[1 2] 0.5)": "Argument to tensor-ref is invalid",
    "(tensor-ref #[1 2] 0 0)": "Too many indices given to tensor-ref: 2",
    "(slice #[1 2] 1 3)": "Slice given to slice is out of range: from 1 to 3 by 1",
    "(tensor-ref #[1 2] 'a)": "Argument to tensor-ref is invalid",
    "(tensor-set #[1 2] 2 0)": "Index given to tensor-set is out of range: 2",
    **dict.fromkeys(
        ["(tensor-set #[1 2] 0.5 0)", "(tensor-set #[1 2] 'a 0)", "(tensor-set '(1 2) 0 0)", "(tensor-set #[1 2] 0 'a)"],
        "Argument to tensor-set is invalid",
    ),
    "(tensor-set #[1 2] 0 0 0)": "Too many indices given to tensor-set: 2",
    "(tensor-set #[1 2] 0)": "tensor-set takes 3 arguments and got 2",
    "(tensor-set #[[1 2] [3 4]] 0 #[1 2 3])": "Shapes given to tensor-set do not fit: (2) and (3)",
    "(slice-set #[1 2] 1 3 0)": "Slice given to slice-set is out of range: from 1 to 3 by 1",
    "(slice-set #[1 2 3] 0 3 #[1])": "Shapes given to slice-set do not fit: (3) and (1)",
    "(slice-set 5 0 3 #[1])": "Argument to slice-set is invalid", "(slice-set #[5] 0 1 'a)": "Argument to slice-set is invalid",
    "(gather #[1 2] #[0 2])": "Index given to gather is out of range",
    "(gather #[1 2] #[0 1e20])": "Index given to gather is out of range",
    "(scatter-add #[1 2] #[0 1] #[1])": "Shapes given to scatter-add do not fit: (2) and (1)",
    "(sum #[1 2] #:axis 1)": "Axis given to sum is out of range: 1",
    "(maximum (zeros 0))": "maximum of nothing",
    "(argmax (zeros 0))": "argmax of nothing", "(argminimum (zeros '(2 0)) #:axis 1)": "argminimum of nothing",
    **{
        f"({name} (zeros '{shape}) {axis})": f"{name} of nothing"
        for name in ("maximum", "minimum", "argmax", "argminimum")
        for shape, axis in (("(0 3)", ""), ("(0 3)", "#:axis 0"), ("(3 0)", "#:axis -1"), ("(2 0 3)", "#:axis 1"))
    },
    "(argminimum #[1 2] #:axis 1)": "Axis given to argminimum is out of range: 1",
    "(argminimum '(1 2))": "Argument to argminimum is invalid",
    **{f"({name} #[[1 2]] #:axis -3)": f"Axis given to {name} is out of range: -3" for name in ALONG},
    **{f"({name} #[[1 2]] #:axis '(0 1))": f"Argument to {name} is invalid" for name in ALONG},
    **{f"({name} #[1 2] #:axis 0.5)": f"Argument to {name} is invalid" for name in ALONG},
    **{f"({name} (sum #[1]))": f"Axis given to {name} is out of range: " for name in ALONG},
    **{f"({name} '(3 1 2))": f"Argument to {name} is invalid" for name in ALONG},
    "(cumsum #[1 2] 0)": "cumsum takes 1 argument and got 2",
    "(matmul #[1 2] #[1 2 3])": "Shapes given to matmul do not fit: (2) and (3)",
    "(dot #[1 2] #[1 2 3])": "Shapes given to dot do not fit: (2) and (3)",
    "(solve #[[1 2]] #[1])": "Shapes given to solve do not fit: (1 2) and (1)",
    "(inverse #[[1 2] [2 4]])": "Matrix given to inverse is singular",
    "(solve #[[1 2] [2 4]] #[1 2])": "Matrix given to solve is singular", "(det #[1 2])": "Shapes given to det do not fit: (2)",
    "(solve (ones '(2 3 3)) (ones '(4 3 1)))": "Shapes given to solve do not fit: (2 3 3) and (4 3 1)",
    "(log-det #[1 2])": "Shapes given to log-det do not fit: (2)", "(log-det 'a)": "Argument to log-det is invalid",
    "((gradient log-det) #[[1 2] [2 4]])": "Matrix given to log-det is singular",
    "(solve-triangular #[[1 2]] #[1])": "Shapes given to solve-triangular do not fit: (1 2) and (1)",
    "(solve-triangular #[[1 2] [2 0]] #[1 2])": "Matrix given to solve-triangular is singular",
    "(solve-triangular 'a #[1] #:upper #t)": "Argument to solve-triangular is invalid",
    "(inverse 2)": "Shapes given to inverse do not fit: ()", "(cholesky 'a)": "Argument to cholesky is invalid",
    "(cholesky #[[1 2] [2 1]])": "Matrix given to cholesky is not positive definite",
    "(eigh #[[1 2 3] [4 5 6]])": "Shapes given to eigh do not fit: (2 3)", "(eigh 'a)": "Argument to eigh is invalid",
    "(qr #[1 2])": "Shapes given to qr do not fit: (2)", "(qr 'a)": "Argument to qr is invalid",
    "((gradient (lambda (a) (sum (cdr (qr a))))) (zeros '(3 2)))": "Matrix given to qr is singular",
    "(svd 2)": "Shapes given to svd do not fit: ()", "(svd 'a)": "Argument to svd is invalid",
    "(eigvalsh #[1 2])": "Shapes given to eigh do not fit: (2)",
    '(einsum "ij,jk" #[[1 2]] #[[1 2]])': "Shapes given to einsum do not fit: (1 2) and (1 2)",
    '(einsum "ij,j" #[1 2] #[1])': "Shapes given to einsum do not fit: (2) and (1)",
    "(einsum 'ij #[1])": "Argument to einsum is invalid",
    '(einsum "i,j" #[1 2])': "Argument to einsum is invalid", '(einsum "i->k" #[1])': "Argument to einsum is invalid",
    '(einsum "i->ii" #[1])': "Argument to einsum is invalid", '(einsum "i;" #[1])': "Argument to einsum is invalid",
    '(einsum "...i->i" #[[1]])': "Shapes given to einsum do not fit: (1 1)", '(einsum "i" "a")': "Argument to einsum is invalid",
    '(einsum "...,..." #[1 2] #[1 2 3])': "Shapes given to einsum do not fit: (2) and (3)",
    "(as-type #[1] 'float128)": "Argument to as-type is invalid",
    "(zeros '(100000 100000 100000))": "Shape given to zeros is impossible",
    "(zeros -1)": "Shape given to zeros is impossible: (-1)",
    "(arange 5 #:step 0)": "Range given to arange has no end",
    "(+ #[1 2] '(1 2))": "Argument to + is invalid",
    "(prod #[[1]] #:axis '(0 1))": "Argument to prod is invalid",
    "(eye '(2 3))": "Argument to eye is invalid", "(linspace 0 1 '(2 3))": "Argument to linspace is invalid",
    "(zeros '(0 1e300))": "Shape given to zeros is impossible", "(sum #[[1 2]] #:axis '(0 0))": "Argument to sum is invalid",
    "(reshape #[1] (map (lambda (i) 1) (iota 40)))": "Too many axes given to reshape", "'#[1 x]": "Invalid expression",
    "(letrec ((nest (lambda (n x) (if (= n 0) x (nest (- n 1) (list x)))))) (tensor (nest 100000 1)))": "Too many axes given",
    "(where 1 2 3)": "Argument to where is invalid", '(where #t "a" 2)': "Argument to where is invalid",
    "(gather #[1 2] #[+nan.0])": "Argument to gather is invalid",
    "(sum 'a)": "Argument to sum is invalid",
    "((gradient (lambda (x) (* x 2))) #[1 2])": "A gradient is that of a procedure whose value is a real",
    "((derivative-F sin) #[1 2])": "What `derivative` returns takes one number; by several take `gradient`",
    "((cdr ((J sin) (J #[1 2]))) 1)": "Arguments to plus do not conform",
}  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str, tier: str) -> None:
    error = refusal(text, tier)
    assert error.message.startswith(ERRORS[text])
    assert error.hint or "`gradient`" in error.message or "gradient" in text


MATRICES = {
    "(inverse #[[1 2] [2 4]])": "the matrix, of shape (2 2), has the determinant 0",
    "(solve (zeros '(3 3)) #[1 2 3])": "the matrix, of shape (3 3), has the determinant 0",
    "(solve (stack (list (eye 2) (zeros '(2 2)))) #[1 2])": "one of the matrices, of shape (2 2 2), has the determinant 0",
    "((gradient (lambda (a) (sum (inverse a)))) (ones '(2 2)))": "the matrix, of shape (2 2), has the determinant 0",
    "((gradient (lambda (a) (sum (cdr (qr a))))) (zeros '(3 2)))": "there are no slopes where one of the first columns",
    "(solve-triangular (zeros '(3 2 2)) #[1 2])": "one of the matrices, of shape (3 2 2), has a 0 on its diagonal",
    "(cholesky #[[1 2] [2 1]])": "the matrix, of shape (2 2), has an eigenvalue that is not positive",
    "(cholesky (- (ones '(4 2 2))))": "one of the matrices, of shape (4 2 2), has an eigenvalue that is not positive",
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", MATRICES)
def test_an_error_states_the_shape_of_the_matrix(text: str, tier: str) -> None:
    assert str(refusal(text, tier).hint).startswith(MATRICES[text])


def in_one_scale(numbers: Any) -> tuple[Any, int]:
    """The numbers as whole multiples of a power of two, to avoid exponents out of range."""
    power = min([0, *[math.frexp(float(x))[1] - 53 for x in numbers if x]])
    return [Fraction(float(x)) / Fraction(2) ** power for x in numbers], power


def norm_and_slope(x: Any) -> tuple[float, Any]:
    """Exact except for the last rounding: with 200 bits behind the point."""
    whole, power = in_one_scale(x)
    total = sum([one * one for one in whole])
    root = Fraction(math.isqrt(int(total * 2**400)), 2**200)
    try:
        size = float(root * Fraction(2) ** power)
    except OverflowError:
        size = math.inf
    return size, np.array([float(one / root) for one in whole])


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("tier", TIERS)
def test_norms_of_all_magnitudes(tier: str, kind: str) -> None:
    """Squares overflow, or lose their digits, long before the norm does."""
    session, r = vlad.Session(tier=tier), np.random.default_rng(4)
    norm, slope, along = [
        session.eval(text) for text in ("norm", "(gradient norm)", "(lambda (x e) (cdr (jvp-F norm x e)))")
    ]
    digits, lowest, highest = (53, -1074, 1022) if kind == "float64" else (24, -149, 126)
    exact = 4 * 2.0**-digits
    for power in {*range(lowest, highest, highest // 20), *range(lowest, lowest + 5), highest - 1, highest}:
        for spread in (0, 3, 60):
            x = np.ldexp(r.normal(size=3), power - r.integers(0, spread + 1, size=3)).astype(kind)
            if not x.any():
                continue
            size, direction = norm_and_slope(x)
            assert norm(x) == pytest.approx(size, rel=exact, abs=2.0**lowest), x
            assert np.allclose(slope(x), direction, rtol=exact, atol=2.0 ** (lowest + digits)), x
            for e in (x, np.array([1, 0, 0], kind), (direction / 2 * 2.0**highest).astype(kind)):
                expected = float(
                    sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(direction, e, strict=True))
                )
                near = exact * float(np.max(np.abs(e))) + 8 * 2.0**lowest
                assert along(x, e) == pytest.approx(expected, rel=8 * exact, abs=near), (x, e)


STRANGE_NORMS = {
    "(norm #[+nan.0 -inf.0 1])": "+inf.0",
    "(norm #[+nan.0 1e300])": "+nan.0",
    "(norm #[])": "0",
    "(norm -3)": "3",
    "(norm -1e300)": "1e300",
    "((gradient norm) -1e-300)": "-1",
    "(round-to 9 ((gradient norm) #[3e200 4e200]))": "#[0.6 0.8]",
    "((gradient norm) #[1e-170 0])": "#[1 0]",
    "((gradient norm) #[5e-324 0])": "#[1 0]",
    "((gradient norm) #[3e-320 4e-320])": "#[0.6 0.8]",
    "((gradient norm) #[+inf.0 1])": "#[+nan.0 0]",
    "(round-to 9 ((gradient norm) #[1.5e308 1.5e308]))": "#[0.707106781 0.707106781]",
    "((hessian norm) #[0 0])": "#[[+nan.0 +nan.0] [+nan.0 +nan.0]]",
    "((hessian (lambda (x) (expt (norm x) 2))) #[0 0])": "#[[+nan.0 +nan.0] [+nan.0 +nan.0]]",
    "((gradient (lambda (x) (expt (norm x) 2))) #[0 0])": "#[0 0]",
    "((hessian norm-squared) #[0 0])": "#[[2 0] [0 2]]",
    "((hessian-F norm-squared) #[0 0])": "#[[2 0] [0 2]]",
    "(round-to 3 (* 1e-50 (norm-squared (as-type #[3e25 4e25] 'float32))))": "25",
    "((gradient norm-squared) (as-type #[1 2] 'float32))": "#<tensor float32 [2 4]>",
    "((hessian norm) (zeros 0))": "#[]",
    "((hessian (lambda (x) (norm (as-type x 'float32)))) #[0 0])": "#[[+nan.0 +nan.0] [+nan.0 +nan.0]]",
    "(nan? (tensor-ref ((jacobian (hessian norm)) #[0 0]) 0 1 1))": "#t",
    "(round-to 3 (* 1e200 ((hessian norm) #[3e200 4e200])))": "#[[0.128 -0.096] [-0.096 0.072]]",
    "(round-to 3 (* 1e-200 ((hessian norm) #[3e-200 4e-200])))": "#[[0.128 -0.096] [-0.096 0.072]]",
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", STRANGE_NORMS)
def test_strange_norms(text: str, tier: str) -> None:
    assert printed(text, tier) == STRANGE_NORMS[text]


def slope_of_det(a: Any, *along: Any) -> Any:
    """The gradient of det, differentiated along `directions`: from the sum over all permutations."""
    n = len(a)
    slope = np.zeros((n, n))
    for places in itertools.permutations(range(n)):
        sign = np.linalg.det(np.eye(n)[list(places)])
        for rows in itertools.permutations(range(n), len(along) + 1):
            factors = [e[row, places[row]] for e, row in zip(along, rows[1:], strict=True)]
            factors += [a[row, places[row]] for row in set(range(n)) - set(rows)]
            slope[rows[0], places[rows[0]]] += sign * math.prod(factors)
    return slope


DET_SLOPES = {
    1: ["(hvp det a e)", "((gradient (lambda (a) (sum (* e ((gradient det) a))))) a)"],
    2: [
        "(cdr (jvp-F (lambda (a) (hvp det a e)) a f))",
        "((gradient (lambda (a) (sum (* f (hvp det a e))))) a)",
    ],
    3: [
        "(cdr (jvp-F (lambda (a) (cdr (jvp-F (lambda (a) (hvp det a e)) a f))) a g))",
        "((gradient (lambda (a) (sum (* g ((gradient (lambda (a) (sum (* f (hvp det a e))))) a))))) a)",
    ],
}


@pytest.mark.parametrize("order", DET_SLOPES)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_determinants_have_derivatives_at_matrices_of_all_ranks(
    n: int, order: int, session: vlad.Session
) -> None:
    r = np.random.default_rng(n)
    for text in DET_SLOPES[order]:
        f = session.eval(f"(lambda (a e f g) {text})")
        for rank in range(n + 1):
            a, along = r.normal(size=(n, rank)) @ r.normal(size=(rank, n)), r.normal(size=(3, n, n))
            assert np.allclose(f(a, *along), slope_of_det(a, *along[:order]), rtol=1e-9, atol=1e-10)
        for low in (1e-14, 1e-20, 1e-100):  # it is a question of scale what rank that is
            a, along = np.diag([1.0, *[low] * (n - 1)]), r.normal(size=(3, n, n))
            expected = slope_of_det(a, *along[:order])
            assert np.allclose(f(a, *along), expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected)))


def test_determinants_of_several_matrices_have_derivatives(session: vlad.Session) -> None:
    r = np.random.default_rng(1)
    many, along = np.stack([np.zeros((3, 3)), np.ones((3, 3)), np.eye(3)]), r.normal(size=(3, 3, 3))
    found = session.eval("(lambda (a e) (hvp (lambda (a) (sum (det a))) a e))")(many, along)
    assert np.allclose(found, [slope_of_det(a, e) for a, e in zip(many, along, strict=True)])


PRINTED = {
    "(hvp det (zeros '(2 2)) #[[1 2] [3 4]])": "#[[4 -3] [-2 1]]",
    "#[]": "#[]", "#[[1 -2.5] [+inf.0 +nan.0]]": "#[[1 -2.5] [+inf.0 +nan.0]]", "(> #[1 2] 1)": "#<tensor boolean [#f #t]>",
    "(as-type #[1 2] 'float32)": "#<tensor float32 [1 2]>", "(sum #[1 2])": "3", "(maximum (> #[1 2] 1))": "1",
    "(map sum (list #[1 2] #[3 4]))": "(3 7)", "(map zeros '(1 2))": "(#[0] #[0 0])", "(shape #[[1 2]])": "(1 2)",
    "(equal? #[1 2] #[1 2])": "#t", "(equal? #[1 2] #[[1 2]])": "#f", "(eq? #[1] #[1])": "#t", "(tensor? 1)": "#f",
    "(argmin (lambda (x) (sum (square (- x #[1 2])))) #[0 0] 1e-6)": "#[1 2]", "(magnitude (list 3 #[4]))": "5",
    "(round-to 6 ((gradient (lambda (c) (sum (argmin (lambda (x) (sum (square (- x (* c #[1 2]))))) #[0 0] 1e-9)))) 3))": "3",
    "((gradient (lambda (x) (sum (as-type x 'int64)))) #[1.5 2.5])": "#[0 0]", "(/ #[1 -2] 0)": "#[+inf.0 -inf.0]",
    "((derivative-F (lambda (t) (sum (as-type (* t #[1.5 2.5]) 'int64)))) 1)": "0", "(where #f #[1 2] 2)": "#[2 2]",
    "(scatter-add (as-type #[1 2] 'int64) #[0] #[1.5])": "#[2.5 2]", "((gradient (lambda (t) (sum (/ #[1 2] t)))) 0)": "-inf.0",
    "(expt (as-type #[2 3] 'int64) (as-type #[-1 2] 'int64))": "#[0.5 9]", "(v+ (list 1 #[1 2]) (list 1 #[1 2]))": "(2 #[2 4])",
    "(letrec ((f (lambda (x n) (if (= n 0) x (f (+ x x) (- n 1)))))) ((gradient (lambda (x) (tensor-ref (f x 40) 0))) #[1 2]))":
    "#[1099511627776 0]", "(dtype ((gradient (lambda (x) (mean (sqrt x)))) (as-type #[1 4] 'float32)))": "float32",
    "(dtype (arange 3))": "float64", "((gradient prod) #[0 2 3])": "#[6 0 0]",
    "((gradient prod) #[[0 2] [0 3]])": "#[[0 0] [0 0]]",
    "((derivative (lambda (t) ((gradient prod) (+ #[0 0 3] (* t #[1 1 0]))))) 0)": "#[3 3 0]", "(prod (zeros 0))": "1",
    "(hvp (lambda (x) (sum (erf x))) #[1e308 1e200 1e155 30] (ones 4))": "#[-0 -0 -0 -0]",
    "(+ 0 (hvp-F (lambda (x) (sum (cdr (jvp-F erf x #[1])))) #[1e160] #[1]))": "#[0]",
    "(argmax (sum #[1 2]))": "0", "(argminimum (sum #[1 2]))": "0", "(argminimum #[3 1 1 2])": "1",
    "(argminimum #[3 +nan.0 -inf.0 +nan.0])": "1", "(argminimum (> #[1 2 0 1] 1))": "0",
    "(argminimum (as-type #[5 -9 -9] 'int64))": "1", "(argminimum #[[1 2] [4 3]] #:axis -1)": "#<tensor int64 [0 1]>",
    "(argminimum (as-type #[[1 2] [1 0.5]] 'float32) #:axis 0)": "#<tensor int64 [0 1]>",
    "(argsort #[2 +nan.0 0 -inf.0 -0.0 +nan.0 +inf.0])": "#<tensor int64 [3 2 4 0 6 1 5]>",
    "(sorted #[1 -0.0 0 -1 0])": "#[-1 -0 0 0 1]",
    "(argsort (> #[3 1 2 0] 1))": "#<tensor int64 [1 3 0 2]>", "(sorted (> #[3 1 2 0] 1))": "#<tensor boolean [#f #f #t #t]>",
    "(sorted (as-type #[[3 1] [2 4]] 'int32) #:axis 0)": "#<tensor int32 [[2 1] [3 4]]>", "(sorted (zeros '(2 0)))": "#[[] []]",
    "(dtype (argsort (zeros '(0 2)) #:axis 0))": "int64",
    "((gradient (lambda (x) (sum (* #[1 10 100] (sorted x))))) #[2 2 1])": "#[10 100 1]",
    "((gradient (lambda (x) (sum (* x (argsort x))))) #[3 1 2])": "#[1 2 0]",
    "((gradient (lambda (x) (sum (* x (sorted (as-type #[3 -1 2] 'int32)))))) #[1 1 2])": "#[-1 2 3]",
    "(cumsum #[[1 2] [3 4]])": "#[[1 2] [4 6]]", "(cumsum #[[1 2] [3 4]] #:axis -1 #:from-end #t)": "#[[3 2] [7 4]]",
    "(cumsum (> #[3 1 2 0] 1))": "#[1 1 2 2]",
    "(cumsum (as-type #[2000000000 2000000000] 'int32))": "#<tensor int64 [2000000000 4000000000]>",
    "(cumsum #[-0.0 -0.0])": "#[-0 -0]", "(cumsum (zeros '(2 0)) #:axis 0)": "#[[] []]",
    "(dtype (cumsum (as-type #[1] 'float32)))": "float32",
    "((gradient (lambda (x) (sum (* x (cumsum (as-type #[3 -1 2] 'int32)))))) #[1 1 2])": "#[3 2 4]",
    "((gradient (lambda (x) (sum (relu x)))) #[-1 0 2])": "#[0 0 1]", "(dtype (argmax #[[1 2] [4 3]] #:axis 1))": "int64",
    "(argmax #[[1 2] [4 3]] #:axis 1)": "#<tensor int64 [1 0]>",
    "(transpose (reshape (arange 6) '(1 2 3)) #:axes '(2 0 1))": "#[[[0 3]] [[1 4]] [[2 5]]]",
    "(sum (reshape (arange 8) '(2 2 2)) #:axis '(0 -1))": "#[10 18]", "((gradient sum) #[1 2])": "#[1 1]",
    "(det #[[2 0] [1 3]])": "6", "(det (stack (list (eye 2) #[[0 1] [1 0]])))": "#[1 -1]", "(det (zeros '(0 0)))": "1",
    "((gradient det) (zeros '(3 3)))": "#[[0 0 0] [0 0 0] [0 0 0]]",
    "((gradient (lambda (a) (sum (det a)))) (tensor (list #[[+nan.0 1] [1 2]] (eye 2))))":
    "#[[[+nan.0 +nan.0] [+nan.0 +nan.0]] [[1 0] [0 1]]]", "(cholesky #[[4 2] [2 10]])": "#[[2 0] [1 3]]",
    "(cholesky #[[4 4] [0 10]])": "#[[2 0] [1 3]]", "(solve (> #[[1 0] [0 1]] 0) (> #[1 0] 0))": "#[1 0]",
    "(log-det (zeros '(0 0)))": "0", "(log-det (zeros '(2 2)))": "-inf.0", "(log-det #[[1 +nan.0] [1 2]])": "+nan.0",
    "(log-det (stack (list (eye 2) (ones '(2 2)))))": "#[0 -inf.0]",
    "(round-to 6 (list (log-det (* -1e300 (eye 100))) (log-det (* 1e-300 (eye 100)))))": "(69077.55279 -69077.55279)",
    "(solve-triangular #[[1 +nan.0] [0 2]] #[1 4])": "#[1 2]", "(solve-triangular #[[2 1] [0 1]] #[5 1] #:upper #t)": "#[2 1]",
    "(solve-triangular (zeros '(0 0)) (zeros '(0 2)))": "#[]", "(solve-triangular (eye 2) (zeros '(2 0)))": "#[[] []]",
    "((gradient (lambda (a) (sum (solve-triangular a #[1 2])))) #[[1 9] [0 2]])": "#[[-1 0] [-0.5 -0.5]]",
    '(einsum "ij,jk->ik" #[[1 2] [3 4]] #[[0 1] [1 0]])': "#[[2 1] [4 3]]", '(einsum "ii" #[[1 2] [3 4]])': "5",
    """((gradient (lambda (a) (einsum "ii" a))) #[[1 2] [3 4]])""": "#[[1 0] [0 1]]",
    "((cdr (vjp unstack (zeros '(0 2)))) '())": "#[]", "(not #[1 2])": "#f", "(if (not #[1 2]) 1 2)": "2",
    "(zero (cons #[1 2] 'a))": "(#[0 0] . a)", "(norm #[3 4])": "5", "((gradient norm) #[0 0])": "#[0 0]",
    "((gradient (lambda (x) (sum (/ x)))) #[0 1])": "#[-inf.0 -1]", "(logsumexp #[-inf.0 -inf.0])": "-inf.0",
    "((gradient logsumexp) #[1000 1000])": "#[0.5 0.5]", "(let ((m (> #[1 2] 1))) (where m 1 0))": "#[0 1]",
    "((gradient (lambda (x) (sum (softmax x)))) #[1000 0])": "#[0 0]", "(real? (tensor-ref #[1] 0))": "#t",
}  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", PRINTED)
def test_prints(text: str, tier: str) -> None:
    assert printed(text, tier) == PRINTED[text]


BESIDE_NUMPY = {
    "(argminimum x)": np.argmin, "(argminimum x #:axis 1)": lambda x: x.argmin(1),
    "(argsort x)": lambda x: x.argsort(stable=True),
    "(sorted x #:axis 0)": lambda x: np.sort(x, 0), "(cumsum x)": lambda x: np.cumsum(x, 0),
    "(cumsum x #:axis -1 #:from-end #t)": lambda x: np.flip(np.cumsum(np.flip(x, -1), -1), -1),
    "(flipped x #:axis 1)": lambda x: np.flip(x, 1), "(diagonal x)": lambda x: np.diagonal(x, 0, -2, -1),
    "(trace x)": lambda x: np.trace(x, 0, -2, -1), "(tril x)": np.tril, "(triu x)": np.triu, "(variance x)": np.var,
    "(variance x #:axis -1)": lambda x: np.var(x, -1), "(variance x #:axis '(0 1))": lambda x: np.var(x, (0, 1)),
    "(pad x 1 7)": lambda x: np.pad(x, 1, constant_values=7),
    "(pad x (cons '(0 2) (cdr (map (lambda (n) 1) (shape x)))) 7)":
    lambda x: np.pad(x, ((0, 2), *[(1, 1)] * (x.ndim - 1)), constant_values=7),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("text", BESIDE_NUMPY)
def test_beside_numpy(session: vlad.Session, text: str, kind: str) -> None:
    """Of stacks of matrices of every form."""
    f = procedure(session, f"(lambda (x) {text})")
    for shape in ((3, 3), (2, 4), (4, 2), (1, 1), (2, 3, 2), (2, 1, 2, 3)):
        x = (10 * random(math.prod(shape), shape, -1, 1)).astype(kind)
        found, expected = f(x), BESIDE_NUMPY[text](x)
        assert np.shape(found) == expected.shape
        np.testing.assert_allclose(
            found, expected, rtol=1e-12 if kind != "float32" else 1e-5, atol=1e-5 if kind == "float32" else 0
        )


@pytest.mark.parametrize("tier", TIERS)
def test_triangles_from_vectors(tier: str) -> None:
    """Row by row, with and without the diagonal, and back; the sensitivity of a vector is the entries of the matrix's."""
    session = vlad.Session(tier=tier)
    for side in ("lower", "upper"):
        fill, entries = session[f"fill-{side}"], session[f"{side}-entries"]
        back = session.eval(f"(lambda (v n m) ((gradient (lambda (v) (sum (* m (fill-{side} v n))))) v))")
        for n, without, kind in itertools.product((1, 2, 3, 6), (0, 1), ("float64", "float32", "int64")):
            places = np.tril_indices(n, -without) if side == "lower" else np.triu_indices(n, without)
            v, expected = np.arange(1, len(places[0]) + 1).astype(kind), np.zeros((n, n), kind)
            expected[places] = v
            found = fill(v, n)
            assert found.dtype == expected.dtype and (found == expected).all()
            if not without:
                assert (entries(expected) == v).all()
            if kind == "float64":
                m = random(n * n, (n, n), -1, 1)
                assert (back(v, n, m) == m[places]).all()
        for wrong in (np.ones(4), np.ones((2, 2)), 1.0):
            with pytest.raises(vlad.VladError, match=f"fill-{side} takes a vector of "):
                fill(wrong, 2)
        with pytest.raises(vlad.VladError, match=f"{side}-entries takes a square matrix"):
            entries(np.ones((2, 3)))


@pytest.mark.parametrize("tier", TIERS)
def test_cross_products(tier: str) -> None:
    session = vlad.Session(tier=tier)
    cross = session["cross"]
    a, b = random(3, (3,), -1, 1), random(12, (4, 3), -1, 1)
    for one, other in ((a, b[0]), (b, a), (a, b), (b, b[::-1])):
        np.testing.assert_allclose(cross(one, other), np.cross(one, other), rtol=1e-12, atol=1e-15)
    assert cross(list(a), list(b[0])) == pytest.approx(np.cross(a, b[0]))
    # the triple product's gradient by its first factor is the cross product of the others
    slope = session.eval("(lambda (a b c) ((gradient (lambda (a) (dot c (cross a b)))) a))")
    np.testing.assert_allclose(slope(a, b[0], b[1]), np.cross(b[0], b[1]), rtol=1e-12)


def test_arrays_cross_without_a_copy(session: vlad.Session) -> None:
    given = np.arange(1e6)
    got = session.eval("(lambda (x) x)")(given)
    assert np.shares_memory(got, given)
    assert not got.flags.writeable and given.flags.writeable
    for array in (np.array(["a"]), np.array([1j]), np.array([None])):
        with pytest.raises(TypeError):
            session["flat"](array)


def test_overflow_is_no_warning(session: vlad.Session) -> None:
    """Sums of sensitivities are arithmetic like any other."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slope = session.eval("(gradient-R (lambda (x) (sum (* 1e308 (+ (* x 1.5) (* x x))))))")
        assert slope(np.array([1e5])) == np.inf


OVERFLOWS = [
    "(outer d #[1e200])", "(outer single d)", "((gradient (lambda (x) (sum (* 1e308 (outer x d))))) d)",
    "(scatter-add d #[0 0] #[1e308 1e308])", "(scatter-add single #[0] #[1e300])",
    "((gradient (lambda (x) (sum (* 1e308 (gather x #[0 0]))))) d)",
    "((gradient (lambda (x) (sum (* 1e308 (scatter-add x #[0 0] (slice x 0 2)))))) d)",
    "((gradient (lambda (x) (sum (* 1e308 (+ x #[[1] [2] [3]]))))) d)",
    "((gradient (lambda (x) (sum (* 1e308 (min d x))))) single)",
    "((gradient (lambda (x) (* 1e308 (sum x)))) single)", "((gradient (lambda (x) (sum (* 1e308 (stack (list d x)))))) single)",
    "((gradient (lambda (x) (sum (* 1e308 ((hessian prod) x))))) d)",
]  # fmt: skip


@pytest.mark.own_tier
@pytest.mark.parametrize("text", OVERFLOWS)
def test_what_moves_entries_is_silent_on_overflow(text: str) -> None:
    session = vlad.Session(tier="evaluate")
    session["d"], session["single"] = np.full(3, 1e308), np.full(3, 3e38, dtype="float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.eval(text)


def test_masks_are_refused(session: vlad.Session) -> None:
    with pytest.raises(TypeError, match="mask"):
        session["sum"](np.ma.array([1.0, 2.0], mask=[0, 1]))


def test_kinds_of_number(session: vlad.Session) -> None:
    """A sensitivity has the kind of its primal; other kinds have none."""
    single = np.array([1.0, 2.0], dtype=np.float32)
    got = session.eval("(gradient-R (lambda (x) (sum (* (exp x) #[1 2]))))")(single)
    assert got.dtype == np.float32 and got == pytest.approx(np.exp(single) * [1, 2], rel=1e-6)
    assert session.eval("(lambda (x) (* 2 x))")(single).dtype == np.float32
    whole = np.array([1, 2])
    parts = session.eval("(gradient-R (lambda (p) (sum (* (car p) (cdr p)))))")((whole, np.array([3.0, 4.0])))
    assert parts[0].dtype == whole.dtype and list(parts[1]) == [1, 2]


@pytest.mark.parametrize("tier", TIERS)
@given(
    st.sampled_from([32, 64]),
    st.lists(st.floats(width=32), max_size=5),
    st.sampled_from(["float64", "float32"]),
)
@settings(max_examples=50, deadline=None)
def test_as_type_truncates_or_reports_values_out_of_range(
    tier: str, bits: int, entries: list[float], kind: str
) -> None:
    session = vlad.Session(tier=tier)
    array = np.array(entries, dtype=kind)
    least = -(2.0 ** (bits - 1))
    misfits = [x for x in entries if not (math.isfinite(x) and least <= math.trunc(x) < -least)]
    as_type = session.eval(f"(lambda (t) (as-type t 'int{bits}))")
    if not misfits:
        assert as_type(array).tolist() == [math.trunc(x) for x in entries]
        return
    with pytest.raises(VladError, match=f"A value given to as-type is no int{bits}") as caught:
        as_type(array)
    assert caught.value.irritants == [written(misfits[0])]


KINDS = [np.dtype(name) for name in ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_as_type_of_whole_numbers(tier: str, kind: np.dtype[Any]) -> None:
    """From any kind that Python may pass, at the ends of its range."""
    session = vlad.Session(tier=tier)
    ends = [0, 1] if kind.kind == "b" else [int(np.iinfo(kind).min), int(np.iinfo(kind).max)]
    for bits in (32, 64):
        as_type = session.eval(f"(lambda (t) (as-type t 'int{bits}))")
        for end in ends:
            array = np.array([end], dtype=kind)
            if -(2 ** (bits - 1)) <= end < 2 ** (bits - 1):
                assert as_type(array).tolist() == [end] and as_type(array).dtype == f"int{bits}"
            else:
                with pytest.raises(VladError, match="A value given to as-type is no"):
                    as_type(array)


MIXED = {
    "int32 int64": "int64", "int32 float32": "float64", "int64 float32": "float64", "float32 float64": "float64",
    "boolean int32": "float64", "boolean float32": "float64", "boolean boolean": "float64", "int32 int32": "int32",
    "float32 float32": "float32", "int64 float64": "float64",
}  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kinds", MIXED)
def test_mixed_kinds(kinds: str, tier: str) -> None:
    """The statements of docs/tensors.md about them."""
    session = vlad.Session(tier=tier)
    a, b = kinds.split()
    for x, y in ((a, b), (b, a)):
        assert session.eval(f"(dtype (+ (as-type #[1 2] '{x}) (as-type #[1 2] '{y})))") == MIXED[kinds]
    expected = a if a.startswith("float") else "float64"
    assert session.eval(f"(dtype (* 2 (as-type #[1 2] '{a})))") == expected


CONSTANT = {
    "((derivative-F (lambda (t) (sum (* whole t)))) 2)": "6",
    "((derivative-F (lambda (t) (sum (* (> whole 1) t)))) 2)": "2",
    "(jvp (lambda (a b) (sum (* a b))) (cons whole #[1 1 1]) (cons whole #[0 0 0]))": "(6 . 0)",
    "(jvp (lambda (a b) (sum (* a b))) (cons whole #[1 1 1]) (cons whole #[1 0 0]))": "(6 . 1)",
    "(jvp (lambda (p) (sum (* (car p) (cdr p)))) (cons (> whole 1) #[1 1 1]) (cons (> whole 1) #[0 0 1]))": "(2 . 1)",
    "((gradient (lambda (p) (sum (* (car p) (cdr p))))) (cons whole #[1 1 1]))": "(#<tensor int64 [1 2 3]> . #[1 2 3])",
}  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", CONSTANT)
def test_what_is_not_of_reals_is_constant(text: str, tier: str) -> None:
    """In forward mode, too, where such a tensor may be given as its own tangent."""
    assert printed(f"(define whole (as-type #[1 2 3] 'int64)) {text}", tier) == CONSTANT[text]


@pytest.mark.own_tier
def test_a_gradient_through_indices_costs_as_much_as_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The contributions of all entries are added up in one array."""
    import vlad.data.tensors

    session = vlad.Session(tier="evaluate")

    totals = 0
    total = vlad.data.tensors._total

    def counted(tensor: vlad.data.tensors.Tensor) -> Any:
        nonlocal totals
        totals += 1
        return total(tensor)

    monkeypatch.setattr(vlad.data.tensors, "_total", counted)
    session.eval("""(define (squares x)
      (let loop ((i 0) (s 0)) (if (= i (size x)) s (loop (+ i 1) (+ s (* i (tensor-ref x i) (tensor-ref x i)))))))""")
    for count in (10, 20_000):
        totals = 0
        x = np.ones(count)
        assert np.array_equal(session.eval("(gradient-R squares)")(x), 2 * np.arange(count))
        assert totals == 1


@pytest.mark.slow_compiled
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_determinants_of_singular_matrices_have_derivatives(session: vlad.Session, rank: int) -> None:
    """Compared with the expanded polynomial; if the rank allows it, of higher orders, too."""
    session.eval("""(define (cubic a)
      (define (at i j) (tensor-ref a (modulo i 3) (modulo j 3)))
      (list-sum (map (lambda (i) (* (at 0 i) (- (* (at 1 (+ i 1)) (at 2 (+ i 2))) (* (at 1 (+ i 2)) (at 2 (+ i 1))))))
                     (iota 3))))""")
    det, cubic = session.eval("det"), session["cubic"]
    for seed in range(5):
        r = np.random.default_rng(seed)
        a, d, e = r.normal(size=(3, rank)) @ r.normal(size=(rank, 3)), *r.normal(size=(2, 3, 3))
        assert session["first-R"](det, a, d) == pytest.approx(session["first-R"](cubic, a, d), abs=1e-12)
        if rank > 1:
            for name in ("second-RR", "second-RF", "second-FR", "second-FF"):
                second = session[name](det, a, d, e)
                assert second == pytest.approx(session[name](cubic, a, d, e), abs=1e-10), name
            assert session["third-R"](det, a, d) == pytest.approx(session["third-R"](cubic, a, d), abs=1e-9)


def test_what_is_large_is_not_written_for_an_error(session: vlad.Session) -> None:
    """An error shows the beginning of a tensor; and where there is none, nothing is written."""
    import vlad.data.write

    entries = 0
    entry = vlad.data.write.entry_text

    def counted(number: Any) -> str:
        nonlocal entries
        entries += 1
        return entry(number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vlad.data.write, "entry_text", counted)
        gradient = session.eval("(gradient-R (lambda (x) (mean (* x x))))")
        assert gradient(np.ones((300, 300))).shape == (300, 300)
        assert entries == 0
        with pytest.raises(VladError) as caught:
            session.eval("(lambda (x) (list-ref x 1))")(np.ones((300, 300)))
        assert 0 < entries <= 600 and any("#[[1 1" in text for text in caught.value.irritants)


def test_long_axes_are_cut() -> None:
    expected = "#[[0 1] [2 3] [4 5] … [1996 1997] [1998 1999] [2000 2001]]\n#[0 1 2 … 998 999 1000]"
    assert printed("(reshape (arange 2002) '(1001 2)) (arange 1001)", "evaluate") == expected


def test_training(session: vlad.Session) -> None:
    """Logistic regression by gradient descent finds the line between two clouds."""
    r = np.random.default_rng(0)
    x = np.concatenate([r.normal(-1, 0.5, (50, 2)), r.normal(1, 0.5, (50, 2))])
    y = np.repeat([0.0, 1.0], 50)
    session.eval("""
(define (loss w x y)
  (let ((z (+ (matmul x (slice w 0 2)) (tensor-ref w 2)))) (mean (- (log (+ 1 (exp z))) (* y z)))))
(define (train x y steps)
  (let loop ((i 0) (w (zeros 3)))
    (if (= i steps) w (loop (+ i 1) (- w ((gradient-R (lambda (w) (loss w x y))) w))))))""")
    w = session["train"](x, y, 200)
    assert ((x @ w[:2] + w[2] > 0) == (y > 0.5)).mean() >= 0.98


def test_an_array_that_multiplies_in_its_own_way(session: vlad.Session) -> None:
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix)
    assert session.eval("(lambda (x) (* x x))")(matrix).tolist() == [[1, 4], [9, 16]]


def test_a_condition_when_operations_are_counted() -> None:
    with pytest.raises(VladError, match="A tensor of booleans is no condition"):
        vlad.Session(metered=True).eval("(if (> #[1 2] 0) 1 2)")


def test_any_other_tensor_is_a_true_value(session: vlad.Session) -> None:
    assert list(session.eval("(let ((found #[0 1])) (if found found 2))")) == [0, 1]


@pytest.mark.parametrize(
    "of", ["(reshape X '(1 2))", "(tensor->list X)", "(transpose (stack (list X)))", "X"]
)
@pytest.mark.parametrize("order", ["RR", "RF", "FR", "FF"])
def test_a_sum_of_what_was_broadcast_has_a_derivative_of_its_shape(
    session: vlad.Session, of: str, order: str
) -> None:
    """(1 + t²)² + (2 + t²)²: the way back sums over the axis, so the way back of that has to repeat."""
    inner = of.replace("X", "(+ #[1 2] (* t t))")
    f = f"(lambda (t) (dot-product {inner} {inner}))"
    slope = session.eval(f"((derivative-{order[0]} (derivative-{order[1]} {f})) 0.3)")
    assert slope == pytest.approx(2 * 2 * (3 + 2 * 0.09) + 2 * (2 * 0.3) ** 2 * 2)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "maximum", "minimum", "logsumexp"])
def test_a_real_reduced_is_itself(name: str, tier: str) -> None:
    session = vlad.Session(tier=tier)
    alone, of_one_axis = session.eval(f"(list {name} (lambda (x) ({name} (* x 1) #:axis '())))")
    for f in (alone, of_one_axis):
        for x in (-0.0, 0.0, 1.5, math.inf, -math.inf, math.nan):
            assert repr(f(x)) == repr(x)
