"""Values and gradients of every row of tensors compared with JAX's, in double precision."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from slopes import random

import vlad
from vlad.primitives import (
    contractions,
    decompositions,
    determinants,
    indexing,
    linear_algebra,
    networks,
    norms,
    numbers,
    reductions,
    shaping,
    sorting,
    tensors,
)
from vlad.primitives import random as primitives_random
from vlad.primitives.random import INTEGER, NORMAL, PERMUTATION, SPLIT, UNIFORM

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
jnp, jsp, lax, nn = jax.numpy, jax.scipy.special, jax.lax, jax.nn
solve_triangular = jax.scipy.linalg.solve_triangular

Shape = tuple[int, ...]
Case = tuple[
    str, Callable[..., Any], list[list[Shape]], float, float
]  # with the shapes of the operands, and a range

ANY: list[list[Shape]] = [[()], [(3,)], [(2, 3)], [(0, 2)], [(2, 1, 3)], [(4, 2, 2)], [(5, 1)]]
FULL: list[list[Shape]] = [[(3,)], [(2, 3)], [(2, 1, 3)], [(4, 2, 2)], [(5, 1)]]
PAIRS: list[list[Shape]] = [
    [(3,), (3,)],
    [(2, 3), (3,)],
    [(2, 1, 3), (4, 1)],
    [(), (2, 2)],
    [(3, 1), ()],
    [(0, 2), (1, 2)],
]
SQUARES: list[list[Shape]] = [[(3, 3)], [(1, 1)], [(2, 3, 3)], [(4, 4)], [(2, 1, 2, 2)]]
OBLONG: list[list[Shape]] = [[(3, 3)], [(4, 2)], [(1, 1)], [(2, 3, 2)], [(5, 3)]]
CHANNELS: list[list[Shape]] = [[(4, 3)], [(2, 3, 2)], [(1, 1)], [(3, 0)], [(2, 1, 3, 2)]]
IMAGES = ("NCHW", "OIHW", "NCHW")


def regular(a: Any) -> Any:
    """A matrix far from singular ones; the same in both languages."""
    return a + 3 * jnp.eye(a.shape[-1])


def definite(a: Any) -> Any:
    return regular(a @ jnp.swapaxes(a, -1, -2))


REGULAR = "(+ a (* 3 (eye (last (shape a)))))"


def of_spectrum(a: Any) -> Any:
    """Functions that do not depend on the signs of eigenvectors."""
    values, vectors = jnp.linalg.eigh(regular(a))
    return vectors * vectors * jnp.sin(values)[..., None, :]


def of_orthogonal(a: Any) -> Any:
    """With a positive diagonal, as ours has; JAX has no slopes of those with more columns than rows."""
    q, r = jnp.linalg.qr(a)
    signs = jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1))
    return jnp.sin(q * signs[..., None, :]) @ jnp.sin(r * signs[..., None])


def of_singular(a: Any) -> Any:
    """Functions that do not depend on the signs of singular vectors."""
    u, s, v = jnp.linalg.svd(a, full_matrices=False)
    return jnp.einsum("...ik,...k,...kj->...ij", u, jnp.sin(s), v)


DEFINITE = '(+ (einsum "...ij,...kj->...ik" a a) (* 3 (eye (last (shape a)))))'


def conv(**keywords: Any) -> Callable[..., Any]:
    given = {"window_strides": (1, 1), "padding": "VALID", "dimension_numbers": IMAGES, **keywords}
    return lambda a, b: lax.conv_general_dilated(a, b, **given)


def pooled(start: float, step: Any, window: Shape, strides: Shape, padding: Any) -> Callable[..., Any]:
    def apply(a: Any) -> Any:
        return lax.reduce_window(a, start, step, (1, 1, *window), (1, 1, *strides), padding)

    return apply


def averaged(window: Shape, strides: Shape, padding: Any) -> Callable[..., Any]:
    total = pooled(0.0, lax.add, window, strides, padding)
    return lambda a: total(a) / total(jnp.ones_like(a))


def normed(a: Any, b: Any) -> Any:
    centre, variance = a.mean((0, 2), keepdims=True), a.var((0, 2), keepdims=True)
    return (a - centre) / jnp.sqrt(variance + 1e-5) * b[:, None] + 0.5


def normed_with(a: Any, b: Any) -> Any:
    centre, scale, shift = [v.reshape(-1, *[1] * (a.ndim - 2)) for v in (jnp.sin(b), b, jnp.exp(b))]
    return (a - centre) / jnp.sqrt(scale * scale + 1e-5) * scale + shift


def others(a: Any) -> Shape:
    """All axes but that of the channels."""
    return (0, *range(2, a.ndim))


def words(seed: int, purpose: int, count: int) -> Any:
    """Of 64 bits: Philox4x32-10 in JAX, by the key that `random-key` makes of a seed. JAX's own numbers come from another
    generator, so that they could be compared by their distributions alone."""
    k, m = seed & 0xFFFFFFFF, seed >> 32
    block = jnp.arange((count + 1) // 2, dtype=jnp.uint32)
    zero = jnp.zeros_like(block)
    a, b, c, d = block, zero, zero + jnp.uint32(purpose), zero
    for _ in range(10):
        p, q = [jnp.uint64(factor) * x for factor, x in ((0xD2511F53, a), (0xCD9E8D57, c))]
        halves = [(x >> 32).astype(jnp.uint32) for x in (p, q)]
        a, b, c, d = (
            halves[1] ^ b ^ jnp.uint32(k),
            q.astype(jnp.uint32),
            halves[0] ^ d ^ jnp.uint32(m),
            p.astype(jnp.uint32),
        )
        k, m = (k + 0x9E3779B9) & 0xFFFFFFFF, (m + 0xBB67AE85) & 0xFFFFFFFF
    pairs = [high.astype(jnp.uint64) << 32 | low for high, low in ((a, b), (c, d))]
    return jnp.stack(pairs, axis=1).reshape(-1)[:count]


def drawn(seed: int, purpose: int, shape: Shape) -> Any:
    return words(seed, purpose, math.prod(shape)).reshape(shape)


def uniform(seed: int, shape: Shape) -> Any:
    return (drawn(seed, UNIFORM, shape) >> 11).astype(float) * 2.0**-53


def normal(seed: int, shape: Shape) -> Any:
    """By JAX's inverse of the distribution, of the half of it where a probability has all its digits."""
    away = ((drawn(seed, NORMAL, shape) >> 11).astype(jnp.int64) * 2 - (2**53 - 1)).astype(float) * 2.0**-54
    return -jnp.sign(away) * jsp.ndtri(0.5 - jnp.abs(away))


def integers(seed: int, low: int, high: int, shape: Shape) -> Any:
    """The upper half of a product of 64 by 32 bits."""
    found, count = drawn(seed, INTEGER, shape), jnp.uint64(high - low)
    return ((((found & 0xFFFFFFFF) * count >> 32) + (found >> 32) * count) >> 32).astype(jnp.int64) + low


def permutation(seed: int, count: int) -> Any:
    return jnp.argsort(words(seed, PERMUTATION, count), stable=True)


def split(seed: int, count: int) -> list[int]:
    """The seeds that make the new keys."""
    return [int(word) >> 32 | (int(word) & 0xFFFFFFFF) << 32 for word in words(seed, SPLIT, count)]


def entropy(a: Any) -> Any:
    return -jnp.take_along_axis(nn.log_softmax(a), jnp.array([[0], [2]]), axis=-1)[:, 0]


def scattered(a: Any) -> Any:
    return jnp.asarray(a).at[jnp.array([0, 0])].add(2 * a[jnp.array([0, -1])])


_ELEMENTWISE: list[tuple[str, Any, float, float]] = [
    ("sqrt", jnp.sqrt, 0.2, 3), ("exp", jnp.exp, -3, 3), ("log", jnp.log, 0.2, 3), ("log1p", jnp.log1p, -0.8, 3),
    ("exp2", jnp.exp2, -3, 3), ("log2", jnp.log2, 0.2, 3), ("log10", jnp.log10, 0.2, 3), ("cbrt", jnp.cbrt, 0.2, 3),
    ("expm1", jnp.expm1, -3, 3), ("sin", jnp.sin, -3, 3), ("cos", jnp.cos, -3, 3), ("tan", jnp.tan, -1.3, 1.3),
    ("asin", jnp.arcsin, -0.9, 0.9), ("acos", jnp.arccos, -0.9, 0.9), ("sinh", jnp.sinh, -3, 3), ("cosh", jnp.cosh, -3, 3),
    ("tanh", jnp.tanh, -3, 3), ("asinh", jnp.arcsinh, -3, 3), ("acosh", jnp.arccosh, 1.1, 4), ("atanh", jnp.arctanh, -0.9, 0.9),
    ("erf", jsp.erf, -3, 3), ("erfc", jsp.erfc, -3, 5), ("sigmoid", nn.sigmoid, -9, 9), ("softplus", nn.softplus, -9, 9),
    ("relu", nn.relu, -2, 2), ("gelu", lambda a: nn.gelu(a, approximate=False), -4, 4), ("gamma", jsp.gamma, 0.3, 4),
    ("lgamma", jsp.gammaln, 0.3, 4), ("log-gamma", jsp.gammaln, 0.3, 4), ("digamma", jsp.digamma, 0.3, 4),
    ("polygamma 1", lambda a: jsp.polygamma(1, a), 0.5, 4), ("abs", jnp.abs, -2, 2), ("floor", jnp.floor, -3, 3),
    ("ceiling", jnp.ceil, -3, 3), ("truncate", jnp.trunc, -3, 3), ("round", jnp.round, -3, 3), ("sign", jnp.sign, -3, 3),
]  # fmt: skip
_BROADCAST: list[tuple[str, Any, float, float]] = [
    ("+", jnp.add, -2, 2), ("-", jnp.subtract, -2, 2), ("*", jnp.multiply, -2, 2), ("/", jnp.divide, 0.3, 2),
    ("expt", jnp.power, 0.3, 2), ("atan", jnp.arctan2, 0.3, 2), ("hypot", jnp.hypot, 0.3, 2), ("max", jnp.maximum, -2, 2),
    ("min", jnp.minimum, -2, 2), ("modulo", jnp.mod, 0.3, 3), ("remainder", jnp.fmod, 0.3, 3),
    ("quotient", lambda a, b: jnp.trunc(a / b), 0.3, 3),
]  # fmt: skip
CASES: list[Case] = [
    *[(f"({name} a)", of, ANY, low, high) for name, of, low, high in _ELEMENTWISE],
    *[(f"({name} a b)", of, PAIRS, low, high) for name, of, low, high in _BROADCAST],
    ("(where (> a b) (* a a) (sin b))", lambda a, b: jnp.where(a > b, a * a, jnp.sin(b)), PAIRS, -2, 2),
    ("(where (<= a b) a (* 2 b))", lambda a, b: jnp.where(a <= b, a, 2 * b), PAIRS, -2, 2),
    ("(* a (where (>= a b) 1 0) (where (< a b) 1 2) (where (= a b) 1 3))",
     lambda a, b: a * jnp.where(a >= b, 1, 0) * jnp.where(a < b, 1, 2) * jnp.where(a == b, 1, 3), PAIRS, -2, 2),
    # making and shaping
    ("(tensor (list (* a a) a))", lambda a: jnp.stack([a * a, a]), ANY, -2, 2),
    ("(tensor (map (lambda (x) (* x x)) (tensor->list a)))", lambda a: a * a, [[(3,)]], -2, 2),
    ("(as-type (* a a) 'float64)", lambda a: a * a, ANY, -2, 2),
    ("(full '(2 3) (sin a))", lambda a: jnp.full((2, 3), jnp.sin(a)), [[()]], -2, 2),
    ("(linspace a b 5)", lambda a, b: jnp.linspace(a, b, 5), [[(), ()]], -2, 2),
    ("(* a (+ (zeros 3) (ones 3) (arange 3) (eye 3)))", lambda a: a * (1 + jnp.arange(3) + jnp.eye(3)),
     [[(3,)], [(3, 3)]], -2, 2),
    ("(reshape (* a a) -1)", lambda a: jnp.ravel(a * a), FULL, -2, 2),
    ("(transpose (* a a))", lambda a: jnp.transpose(a * a), FULL, -2, 2),
    ("(transpose a #:axes '(1 2 0))", lambda a: jnp.transpose(a, (1, 2, 0)), [[(2, 3, 4)]], -2, 2),
    ("(broadcast-to a '(2 4 3))", lambda a: jnp.broadcast_to(a, (2, 4, 3)), [[(3,)], [(4, 3)], [(2, 1, 3)], [()]], -2, 2),
    ("(concatenate (list a b) #:axis -1)", lambda a, b: jnp.concatenate([a, b], -1), [[(3,), (2,)], [(2, 3), (2, 1)]], -2, 2),
    ("(stack (list a b (* a b)) #:axis 1)", lambda a, b: jnp.stack([a, b, a * b], 1), [[(3,), (3,)], [(2, 3), (2, 3)]], -2, 2),
    ("(car (cdr (split (* a a) 2 #:axis 1)))", lambda a: jnp.split(a * a, 2, 1)[1], [[(2, 4)], [(1, 2, 3)]], -2, 2),
    ("(car (cdr (unstack (* a a) #:axis 1)))", lambda a: (a * a)[:, 1], [[(2, 4)], [(1, 2, 3)]], -2, 2),
    # indexing
    ("(tensor-ref (* a a) 1 -1)", lambda a: (a * a)[1, -1], [[(2, 4)], [(3, 2, 3)]], -2, 2),
    ("(slice (* a a) 1 4 #:axis 1 #:step 2)", lambda a: (a * a)[:, 1:4:2], [[(2, 4)], [(3, 5, 3)]], -2, 2),
    ("(gather (* a a) #[[0 -1] [1 0]] #:axis 1)", lambda a: jnp.take(a * a, jnp.array([[0, -1], [1, 0]]), axis=1, mode="wrap"),
     [[(2, 4)], [(3, 2, 3)]], -2, 2),
    ("(scatter-add a #[0 0] (* 2 (gather a #[0 -1])))", scattered, [[(3,)], [(2, 3)]], -2, 2),
    # reducing
    ("(sum (* a a))", lambda a: jnp.sum(a * a), ANY, -2, 2),
    ("(mean (* a a) #:axis -1)", lambda a: jnp.mean(a * a, -1), FULL, -2, 2),
    ("(sum (* a a) #:axis '(0 -1) #:keep #t)", lambda a: jnp.sum(a * a, (0, -1), keepdims=True), FULL[1:], -2, 2),
    ("(prod a #:axis 0)", lambda a: jnp.prod(a, 0), FULL, -2, 2), ("(prod a)", jnp.prod, ANY, -2, 2),
    ("(maximum a #:axis -1)", lambda a: jnp.max(a, -1), FULL, -2, 2), ("(minimum a)", jnp.min, FULL, -2, 2),
    ("(* a (argmax a))", lambda a: a * jnp.argmax(a), FULL, -2, 2),
    ("(* a (argminimum a))", lambda a: a * jnp.argmin(a), FULL, -2, 2),
    ("(cumsum (* a a))", lambda a: jnp.cumsum(a * a, 0), FULL, -2, 2),
    ("(cumsum (* a a) #:axis -1 #:from-end #t)", lambda a: lax.cumsum(a * a, a.ndim - 1, reverse=True), FULL, -2, 2),
    ("(flipped (* a a) #:axis -1)", lambda a: jnp.flip(a * a, -1), FULL, -2, 2),
    ("(diagonal (* a a))", lambda a: jnp.diagonal(a * a, 0, -2, -1), FULL[1:], -2, 2),
    ("(trace (* a a))", lambda a: jnp.trace(a * a, 0, -2, -1), FULL[1:], -2, 2),
    ("(tril (* a a))", lambda a: jnp.tril(a * a), FULL[1:], -2, 2),
    ("(triu (* a a))", lambda a: jnp.triu(a * a), FULL[1:], -2, 2),
    ("(variance a)", jnp.var, FULL, -2, 2), ("(variance a #:axis -1)", lambda a: jnp.var(a, -1), FULL, -2, 2),
    ("(pad (* a a) 2 (sin b))", lambda a, b: jnp.pad(a * a, 2, constant_values=jnp.sin(b)),
     [[shape, ()] for (shape,) in FULL], -2, 2),
    ("(* a (argsort a))", lambda a: a * jnp.argsort(a), FULL, -2, 2),
    ("(* a (sorted (* a a) #:axis 0))", lambda a: a * jnp.sort(a * a, 0), FULL, -2, 2),
    ("(norm a)", jnp.linalg.norm, [[(3,)]], -2, 2),
    ("(logsumexp a #:axis -1)", lambda a: jsp.logsumexp(a, -1), FULL, -9, 9),
    ("(softmax a)", nn.softmax, FULL, -9, 9), ("(log-softmax a #:axis 0)", lambda a: nn.log_softmax(a, 0), FULL, -9, 9),
    # linear algebra
    ("(dot a b)", jnp.dot, [[(3,), (3,)], [(0,), (0,)]], -2, 2), ("(outer a b)", jnp.outer, [[(3,), (2,)]], -2, 2),
    ("(matmul a b)", jnp.matmul, [[(2, 3), (3, 4)], [(3,), (3, 2)], [(2, 3), (3,)], [(4, 1, 2, 3), (5, 3, 1)]], -2, 2),
    (f"(solve {REGULAR} b)", lambda a, b: jnp.linalg.solve(regular(a), b),
     [[(3, 3), (3,)], [(3, 3), (3, 2)], [(2, 3, 3), (2, 3, 1)]], -1, 1),
    *[(f"(solve-triangular {REGULAR} b{keyword})", lambda a, b, lower=lower: solve_triangular(regular(a), b, lower=lower),
       [[(3, 3), (3,)], [(3, 3), (3, 2)], [(2, 3, 3), (2, 3, 1)]], -1, 1)
      for keyword, lower in (("", True), (" #:upper #t", False))],
    (f"(inverse {REGULAR})", lambda a: jnp.linalg.inv(regular(a)), SQUARES, -1, 1), ("(det a)", jnp.linalg.det, SQUARES, -1, 1),
    (f"(log-det {REGULAR})", lambda a: jnp.linalg.slogdet(regular(a))[1], SQUARES, -1, 1),
    (f"(cholesky {DEFINITE})", lambda a: jnp.linalg.cholesky(definite(a)), SQUARES, -1, 1),
    (f'(let (((cons l v) (eigh {REGULAR}))) (einsum "...ij,...ij,...j->...ij" v v (sin l)))', of_spectrum, SQUARES, -1, 1),
    ("(let (((cons q r) (qr a))) (matmul (sin q) (sin r)))", of_orthogonal, OBLONG, -1, 1),
    ('(let (((list u s v) (svd a))) (einsum "...ik,...k,...kj->...ij" u (sin s) v))', of_singular,
     [*OBLONG, [(2, 4)], [(2, 1, 3)]], -1, 1),
    *[(f'(einsum "{spec}" a b)', lambda a, b, spec=spec: jnp.einsum(spec, a, b), [shapes], -2, 2) for spec, shapes in {
        "ij,jk->ik": [(2, 3), (3, 4)], "bij,bjk->bik": [(2, 2, 3), (2, 3, 1)], "...ij,...jk->...ik": [(4, 1, 2, 3), (5, 3, 2)],
        "iij,ji->": [(2, 2, 3), (3, 2)], "i,j": [(2,), (3,)], "bi,bi->b": [(4, 3), (4, 3)], "ii,jj->ij": [(2, 2), (3, 3)]
    }.items()],
    # networks
    ("(conv2d a b)", conv(), [[(2, 3, 5, 4), (4, 3, 2, 3)], [(1, 1, 3, 3), (1, 1, 1, 1)]], -1, 1),
    ("(conv2d a b #:stride '(2 1) #:padding 'same)", conv(window_strides=(2, 1), padding="SAME"),
     [[(2, 3, 5, 4), (4, 3, 3, 2)], [(2, 1, 6, 7), (2, 1, 2, 4)]], -1, 1),
    ("(conv2d a b #:padding '(1 2) #:dilation 2 #:groups 2)",
     conv(padding=[(1, 1), (2, 2)], rhs_dilation=(2, 2), feature_group_count=2), [[(2, 4, 5, 4), (6, 2, 2, 3)]], -1, 1),
    ("(max-pool a 2)", pooled(-np.inf, lax.max, (2, 2), (2, 2), "VALID"), [[(2, 3, 5, 4)]], -1, 1),
    ("(max-pool a '(3 2) #:stride 1 #:padding 'same)", pooled(-np.inf, lax.max, (3, 2), (1, 1), "SAME"),
     [[(2, 1, 4, 5)]], -1, 1),
    ("(avg-pool a 3 #:stride 2 #:padding 1)", averaged((3, 3), (2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)]),
     [[(2, 2, 6, 5)]], -1, 1),
    ("(batch-norm a b 0.5)", normed, [[(4, 3, 2), (3,)]], -2, 2), ("(cross-entropy a #[0 2])", entropy, [[(2, 3)]], -9, 9),
    ("(* a (one-hot #[0 2] 3))", lambda a: a * nn.one_hot(jnp.array([0, 2]), 3), [[(2, 3)], [(3,)]], -2, 2),
    ("(batch-norm-with a (cons (sin b) (* b b)) b (exp b))", normed_with,
     [[(4, 3, 2), (3,)], [(0, 2), (2,)], [(2, 4), (4,)]], 0.3, 2),
    ("(car (batch-statistics (* a a)))", lambda a: jnp.mean(a * a, others(a)), CHANNELS, -2, 2),
    ("(cdr (batch-statistics (* a a)))", lambda a: jnp.var(a * a, others(a)), CHANNELS, -2, 2),
    # random numbers, by their scale and shift
    ("(uniform (random-key 7) '(2 3) #:low (sin a) #:high (+ 2 (* b b)))",
     lambda a, b: jnp.sin(a) + (2 + b * b - jnp.sin(a)) * uniform(7, (2, 3)), [[(), ()]], -2, 2),
    ("(+ a (* b (normal (random-key 7) (shape (+ a b)))))",
     lambda a, b: a + b * normal(7, jnp.broadcast_shapes(np.shape(a), np.shape(b))), PAIRS, -2, 2),
    ("(* a (random-integer (random-key 7) -3 9 (shape a)))", lambda a: a * integers(7, -3, 9, np.shape(a)), ANY, -2, 2),
    ("(gather (* a a) (permutation (random-key 7) (car (shape a))))",
     lambda a: (a * a)[permutation(7, len(a))], FULL, -2, 2),
    ("(* a (uniform (list-ref (split (random-key 7) 3) 1) (shape a)))",
     lambda a: a * uniform(split(7, 3)[1], np.shape(a)), ANY, -2, 2),
    ("(map-tensor (lambda (x y) (* x (sin y))) a b)", lambda a, b: a * jnp.sin(b), [[(2, 3), (2, 3)]], -2, 2),
]  # fmt: skip


def weighted(of: Callable[..., Any], w: Any) -> Callable[..., Any]:
    return lambda *values: jnp.sum(w * of(*values))


# Rows that describe a tensor or move it: there is nothing to compare.
WITHOUT_DERIVATIVE = {"tensor?", "real-tensor?", "shape", "rank", "size", "dtype", "device", "to-device"}


def test_every_row_of_tensors_is_compared() -> None:
    rooms = (
        tensors,
        shaping,
        indexing,
        reductions,
        sorting,
        linear_algebra,
        determinants,
        decompositions,
        norms,
        contractions,
        networks,
        primitives_random,
    )
    rows = [row for room in rooms for row in room.ROWS] + [
        row for row in numbers.ROWS if "number" in (*row.type.parameters, row.type.result)
    ]
    names = {row.name for row in rows if not row.hidden} | set(contractions.PROCEDURES)
    compared = {word for text, *_ in CASES for word in re.split(r"[\s()']+", text)}
    assert names - compared - WITHOUT_DERIVATIVE == set()


@pytest.mark.parametrize("seed", [0, 1, 7, 2**32 - 1, 2**32, 2**53])
def test_random_numbers_beside_jax(session: vlad.Session, seed: int) -> None:
    """Two thousand of each: to the last bit, and normal ones as near as two approximations are."""
    key = session.eval(f"(random-key {seed})")
    assert np.array_equal(session["uniform"](key, 2000), uniform(seed, (2000,)))
    assert session["normal"](key, 2000) == pytest.approx(np.asarray(normal(seed, (2000,))), rel=1e-13)
    for low, high in ((0, 2), (-3, 9), (-5, 2**31)):
        found = session["random-integer"](key, float(low), float(high), 2000)
        assert np.array_equal(found, integers(seed, low, high, (2000,)))
    assert np.array_equal(session["permutation"](key, 2000), permutation(seed, 2000))
    keys = session.eval(f"(split (random-key {seed}) 3)")
    assert [int(k) | int(m) << 32 for k, m in keys] == split(seed, 3)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0]))
def test_beside_jax(session: vlad.Session, case: Case) -> None:
    text, reference, shapes, low, high = case
    for seed, operands in enumerate(shapes * 3):
        values = [random(seed + 7 * k, shape, low, high) for k, shape in enumerate(operands)]
        names = " ".join("ab"[: len(values)])
        expected = reference(*values)
        assert session.eval(f"(lambda ({names}) {text})")(*values) == pytest.approx(
            np.asarray(expected), rel=1e-10, abs=1e-12
        )
        w = random(seed + 3, np.shape(expected), -1, 1)
        slope = session.eval(f"(lambda (w) (gradient (lambda ({names}) (sum (* w {text})))))")(w)(*values)
        places = tuple(range(len(values)))
        slopes = jax.grad(weighted(reference, w), argnums=places)(*[jnp.asarray(value) for value in values])
        for found, wanted in zip(slope if len(values) > 1 else [slope], slopes, strict=True):
            assert found == pytest.approx(np.asarray(wanted), rel=1e-9, abs=1e-11), (seed, operands)
