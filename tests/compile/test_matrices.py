"""Matrix decompositions: compiled programs return the results of tier 0, by the library's routines or those in runtime.c."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import agree, answer
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from test_kernels import HEAD, compiler  # noqa: F401

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.compile.ir.program import Each, statements
from vlad.compile.native import blas, toolchain
from vlad.compile.native.abi import ffi
from vlad.compile.native.blas import Lapack, lapack
from vlad.compile.runtime.functions import needed
from vlad.compile.runtime.sections import sections
from vlad.python.convert import from_python

pytestmark = pytest.mark.any_compiler

ROOT = Path(__file__).parents[2]

# Of one or several square matrices `a`, and `b` of as many rows: with derivatives to the third.
TEXTS = [
    "(lambda (a b) (solve a b))", "(lambda (a b) (solve (transpose a) b))",
    "(lambda (a b) (solve-triangular a b))", "(lambda (a b) (solve-triangular a b #:upper #t))", "(lambda (a b) (inverse a))",
    "(lambda (a b) (det a))", "(lambda (a b) (log-det a))", "(lambda (a b) (cholesky a))",
    "(lambda (a b) (let (((cons l v) (eigh (* a (+ 1 (arange (last (shape a)))))))) (einsum \"...ij,...j->...ij\" v (sin l))))",
    "(lambda (a b) (let (((cons q r) (qr a))) (matmul (sin q) (sin r))))",
    "(lambda (a b) (let (((list u s v) (svd (* a (+ 1 (arange (last (shape a)))))))) (matmul (matmul u (sin v)) v)))",
    "(lambda (a b) (solve (cholesky a) b))",
]  # fmt: skip
DERIVED = """(lambda (a b)
  (let* ((f {text})
         (h (lambda (a b) (sum (sin (f a b)))))
         (g (gradient (lambda (a) (h a b)))))
    (list (f a b) (g a) ((gradient (lambda (b) (h a b))) b) ((derivative-F (lambda (t) (h (+ a (* t (sin a))) (* t b)))) 1)
          ((gradient (lambda (a) (sum (* (sin a) (g a))))) a)
          ((derivative-F (lambda (t) ((gradient (lambda (a) (sum (* (cos a) (g (* t a)))))) a))) 1))))"""


@st.composite
def systems(draw: st.DrawFn) -> tuple[Any, Any]:
    """Matrices that are far from singular, and right-hand sides; leading axes are broadcast. What is drawn first, and alone
    unless the run is thorough, is the first of each: several matrices of three rows.
    """
    n = draw(st.sampled_from([3, 0, 1, 2, 3, 5]))
    batch = draw(st.sampled_from([(2,), (), (), (1,), (0,), (2, 1)]))
    right = draw(st.sampled_from([(n, 2), (n,), (n, 1), (n, 0), (2, n, 2), (1, n, 1)]))
    r = np.random.default_rng(draw(st.integers(0, 999)))
    a = r.normal(size=(*batch, n, n)) + 6 * np.eye(n)
    return (np.asfortranarray(a) if draw(st.booleans()) else a), r.normal(size=right)


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=drawn(8), deadline=None)
@given(system=systems())
def test_matrices_and_their_derivatives(text: str, system: tuple[Any, Any]) -> None:
    if text in TEXTS[4:11]:
        system = system[0], np.ones(1)
        text = text.replace("a)", "(+ a (sum (* 0 b))))")
    agree(DERIVED.format(text=text), *system)


@pytest.mark.parametrize("text", [TEXTS[place] for place in (0, 7)])
def test_matrices_of_nothing(text: str) -> None:
    agree(DERIVED.format(text=text.replace("a)", "(+ a (sum (* 0 b))))")), np.zeros((0, 0)), np.zeros(0))


def test_determinants_of_singular_matrices_have_derivatives() -> None:
    for a in (np.zeros((3, 3)), np.ones((3, 3)), np.diag([2.0, 0.0, 0.0]), np.diag([1.0, 2.0, 0.0]), np.zeros((1, 1)),
              np.zeros((0, 0)), np.arange(9.0).reshape(3, 3), np.stack([np.ones((2, 2)), np.eye(2)])):  # fmt: skip
        agree("(lambda (a) (list (det a) ((gradient (lambda (a) (sum (det a)))) a)))", a)
        agree("(lambda (a) (hvp (lambda (a) (sum (det a))) a (cos a)))", a)


def test_large_matrices() -> None:
    r = np.random.default_rng(1)
    a, b = r.normal(size=(70, 70)) + 20 * np.eye(70), r.normal(size=(70, 3))
    for text in TEXTS:
        agree(
            f"(lambda (a b) (let ((f {text})) (list (f a b) ((gradient (lambda (a) (sum (f (+ a (transpose a)) b)))) a))))",
            a,
            b,
        )


def test_third_derivatives_of_determinants() -> None:
    for a in (np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 2.0, 0.0])):
        agree("(lambda (a) (cdr (jvp-F (lambda (a) (hvp det a (cos a))) a (sin (+ 1 a)))))", a)


NAN, INF = np.nan, np.inf
STRANGE = [
    [[NAN, 1], [1, 2]], [[1, NAN], [NAN, 1]], [[2, 1], [1, NAN]], [[INF, 1], [1, 2]], [[4, 1], [1, -0.0]], [[0, 1], [1, 0]],
    [[1e-300, 0], [0, 1e-300]], [[1e200, 0], [0, 1e-200]], [[0, 0], [0, 0]],
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "(solve a #[1 2])",
        "(inverse a)",
        "(det a)",
        "(cholesky a)",
        "((gradient det) a)",
        "(hvp det a a)",
        "(eigh a)",
        "(qr a)",
        "(svd a)",
        "(solve-triangular a #[1 2])",
        "(log-det a)",
        "((gradient log-det) a)",
        "(solve-triangular a #[1 2] #:upper #t)",
        "((gradient (lambda (a) (sum (eigvalsh a)))) a)",
    ],
)
def test_strange_numbers(text: str) -> None:
    """Matrices with nan, with overflow, or that are singular, give the same on both tiers."""
    for a in STRANGE:
        agree(f"(lambda (a) {text})", np.array(a, float), compiled=False)


WRONG = {
    "(lambda (a) (solve a #[1 2 3]))": np.ones((3, 3)),
    "(lambda (a) (+ 1 (inverse a)))": np.stack([np.eye(3), np.diag([1.0, 0.0, 1.0])]),
    "(lambda (a) (cholesky a))": -np.eye(2),
    "(lambda (a) ((gradient (lambda (a) (sum (solve a #[1 2])))) a))": np.zeros((2, 2)),
    "(lambda (a) (solve a #[1 2]))": np.eye(3), "(lambda (a) (inverse a))": np.ones((2, 3)), "(lambda (a) (det a))": np.ones(2),
    "(lambda (a) (solve-triangular a #[1 2 3]))": np.stack([np.eye(3), np.diag([1.0, 0.0, 1.0])]),
    "(lambda (a) (solve-triangular a #[1 2]))": np.eye(3), "(lambda (a) (eigh a))": np.ones((2, 3)),
    "(lambda (a) (qr a))": np.ones(3), "(lambda (a) (svd a))": np.ones(3),
    "(lambda (a) ((gradient (lambda (a) (sum (car (qr a))))) a))": np.zeros((2, 3)),
    "(lambda (a) (cholesky a)) ": np.ones((2, 3)), "(lambda (a) (solve (ones '(2 3 3)) a))": np.ones((4, 3, 1)),
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_matrices_that_cannot_be_decomposed_are_the_same_error(text: str) -> None:
    found = agree(text, WRONG[text], compiled=False)
    assert any(str(found[0]).startswith(f"{what} given to ") for what in ("Matrix", "Shapes")), found
    assert found[1] is not None


def test_empty_solutions_are_those_of_numpy() -> None:
    """With no columns, whether the matrix is singular, as NumPy has it."""
    for shape in ((3, 0), (0, 3, 2)):
        agree("solve", np.zeros((3, 3)), np.zeros(shape))
        agree("(lambda (a b) (solve-triangular a b))", np.zeros((3, 3)), np.zeros(shape))
    agree("solve", np.zeros((0, 3, 3)), np.ones(3))


def routines_of(text: str, *operands: Any) -> list[str]:
    """The routines of a compiled procedure, in the order of its program."""
    session = vlad.Session(tier="evaluate")
    f = session.eval(text).value
    unit = Unit(
        session.machine, f[0], f[1 : 1 + len(f[0].environment)], tuple([from_python(o) for o in operands])
    )
    found = [one for function in unit.program.functions for one in statements(function.body)]
    return [one.routine.name for one in found if type(one) is Each and not one.is_loop]


def test_a_matrix_is_decomposed_once() -> None:
    """Its derivatives solve with the same matrix, or its transpose, for other right-hand sides; a triangle needs no factors."""
    a, b = np.eye(3), np.ones(3)
    gradient = "((gradient (lambda (a) (sum (sin (solve a b))))) a)"
    assert routines_of(f"(lambda (a b) {gradient})", a, b) == ["factors", "solution", "solution"]
    gradient = "(+ (* (log-det a) a) ((gradient log-det) a))"
    assert routines_of(f"(lambda (a b) {gradient})", a, b) == ["factors", "solution"]
    likelihood = (
        "(let ((l (cholesky a))) (+ (sum (square (solve l b))) (sum (log (sum (* l (eye 3)) #:axis 1)))))"
    )
    gradient = f"((gradient (lambda (a) {likelihood})) a)"
    assert routines_of(f"(lambda (a b) {gradient})", a, b) == ["triangle", *["triangular"] * 4]
    gradient = f"((gradient (lambda (a) {likelihood.replace('(solve l', '(solve-triangular l')})) a)"
    assert routines_of(f"(lambda (a b) {gradient})", a, b) == ["triangle", *["triangular"] * 4]


def test_without_a_library_tier_0_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "lapack", lambda: Lapack((), False))
    compiling = vlad.Session(tier="compile")
    found = answer(compiling, "solve", (np.eye(2) * 2, np.ones(2)))
    assert found[0].tolist() == [0.5, 0.5]
    (reason,) = {entry.reason for entry in compiling.tiers.entries.values()} - {None}
    assert reason == "there is no LAPACK library to take matrices apart"


ALONE = """
(define a #[[4 1 0.5] [1 3 -1] [0.25 -1 5]])
(define many (stack (list a (transpose a) (+ a (eye 3)))))
(round-to 9 (solve a #[1 2 3]))
(round-to 9 (solve (transpose a) #[[1] [2] [3]]))
(round-to 9 (solve many (reshape (arange 18) '(3 3 2))))
(round-to 9 (inverse many))
(round-to 9 (det many))
(round-to 9 (cholesky (matmul a (transpose a))))
(round-to 9 ((gradient det) a))
(round-to 9 ((gradient det) #[[1 2] [2 4]]))
(round-to 9 (hvp det a (sin a)))
(round-to 9 (log-det many))
(round-to 9 (solve-triangular many #[1 2 3] #:upper #t))
(round-to 9 (eigh many))
(round-to 9 (qr (slice many 0 2 #:axis 1)))
(round-to 9 (svd (slice many 0 2 #:axis 2)))
(round-to 9 (hvp (lambda (a) (sum (exp (eigvalsh a)))) a (sin a)))
(round-to 9 ((gradient (lambda (a) (sum (cholesky (matmul (transpose a) a))))) a))
(solve (- a a) #[1 2 3])
"""


@pytest.mark.system_compiler
def test_a_standalone_program_decomposes_matrices_itself(tmp_path: Path) -> None:
    path, command = tmp_path / "alone.vlad", [sys.executable, "-m", "vlad"]
    path.write_text(ALONE)
    subprocess.run([*command, "build", path, "-o", tmp_path / "alone"], cwd=ROOT, check=True)
    alone, run = [subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
                  for words in ([tmp_path / "alone"], [*command, path])]  # fmt: skip
    assert (
        alone.stdout.replace("-0 ", "0 ") == run.stdout.replace("-0 ", "0 ")
        and alone.stdout.count("\n") == 16
    )
    assert alone.returncode == run.returncode == 1
    assert "alone.vlad:20:1: Error: Matrix given to solve is singular" in alone.stderr.replace(
        f"{tmp_path}/", ""
    )
    assert "Matrix given to solve is singular" in run.stderr


# The routines of runtime.c by themselves: by the library, by one whose lengths have 32 bits, and their own.

NARROW = """
static void *wide[8];
static void narrow_factor(int *m, int *n, double *a, int *lda, int *rows, int *info) {
  long lengths[] = {*m, *n, *lda, 0}, found[64];
  ((void (*)(long *, long *, double *, long *, long *, long *))wide[0])(lengths, lengths + 1, a, lengths + 2, found, lengths + 3);
  for (int i = 0; i < *n; i++) rows[i] = found[i];
  *info = lengths[3];
}
static void narrow_solve(const char *t, int *n, int *m, double *a, int *lda, int *rows, double *b, int *ldb, int *info,
                         unsigned long one) {
  long lengths[] = {*n, *m, *lda, *ldb, 0}, found[64];
  for (int i = 0; i < *n; i++) found[i] = rows[i];
  ((void (*)(const char *, long *, long *, double *, long *, long *, double *, long *, long *, unsigned long))wide[1])(
      t, lengths, lengths + 1, a, lengths + 2, found, b, lengths + 3, lengths + 4, one);
  *info = lengths[4];
}
static void narrow_triangle(const char *u, int *n, double *a, int *lda, int *info, unsigned long one) {
  long lengths[] = {*n, *lda, 0};
  ((void (*)(const char *, long *, double *, long *, long *, unsigned long))wide[2])(
      u, lengths, a, lengths + 1, lengths + 2, one);
  *info = lengths[2];
}
static void narrow_singular(const char *j, int *m, int *n, double *a, int *lda, double *s, double *u, int *ldu, double *v,
                            int *ldv, double *work, int *room, int *more, int *info, unsigned long one) {
  long lengths[] = {*m, *n, *lda, *ldu, *ldv, *room, 0}, found[600];
  ((void (*)(const char *, long *, long *, double *, long *, double *, double *, long *, double *, long *, double *, long *,
             long *, long *, unsigned long))wide[3])(
      j, lengths, lengths + 1, a, lengths + 2, s, u, lengths + 3, v, lengths + 4, work, lengths + 5, found, lengths + 6, one);
  *info = lengths[6];
}
static void narrow_solve_triangle(const char *u, const char *t, const char *d, int *n, int *m, double *a, int *lda, double *b,
                                  int *ldb, int *info, unsigned long one, unsigned long two, unsigned long three) {
  long lengths[] = {*n, *m, *lda, *ldb, 0};
  ((void (*)(const char *, const char *, const char *, long *, long *, double *, long *, double *, long *, long *, unsigned long,
             unsigned long, unsigned long))wide[4])(
      u, t, d, lengths, lengths + 1, a, lengths + 2, b, lengths + 3, lengths + 4, one, two, three);
  *info = lengths[4];
}
static void narrow_spectrum(const char *v, const char *l, int *n, double *a, int *lda, double *s, double *work, int *room,
                            int *more, int *rooms, int *info, unsigned long one, unsigned long two) {
  long lengths[] = {*n, *lda, *room, *rooms, 0}, found[600];
  ((void (*)(const char *, const char *, long *, double *, long *, double *, double *, long *, long *, long *, long *,
             unsigned long, unsigned long))wide[5])(
      v, l, lengths, a, lengths + 1, s, work, lengths + 2, found, lengths + 3, lengths + 4, one, two);
  *info = lengths[4], *more = found[0];
}
static void narrow_reflections(int *m, int *n, double *a, int *lda, double *by, double *work, int *room, int *info) {
  long lengths[] = {*m, *n, *lda, *room, 0};
  ((void (*)(long *, long *, double *, long *, double *, double *, long *, long *))wide[6])(
      lengths, lengths + 1, a, lengths + 2, by, work, lengths + 3, lengths + 4);
  *info = lengths[4];
}
static void narrow_reflected(int *m, int *n, int *k, double *a, int *lda, double *by, double *work, int *room, int *info) {
  long lengths[] = {*m, *n, *k, *lda, *room, 0};
  ((void (*)(long *, long *, long *, double *, long *, double *, double *, long *, long *))wide[7])(
      lengths, lengths + 1, lengths + 2, a, lengths + 3, by, work, lengths + 4, lengths + 5);
  *info = lengths[5];
}
static void *narrow[] = {(void *)narrow_factor, (void *)narrow_solve, (void *)narrow_triangle, (void *)narrow_singular,
                         (void *)narrow_solve_triangle, (void *)narrow_spectrum, (void *)narrow_reflections,
                         (void *)narrow_reflected};
"""
CALL = """
int vlad_call(union vlad_word const *in, union vlad_word *out) {
  long count = in[2].i, n = in[3].i, m = in[4].i;
  double *a = in[5].p, *b = in[6].p, *c = in[7].p, *d = in[8].p;
  switch (in[0].i) {
    case 0: vlad_lapack = in[1].p; vlad_lapack_is_wide = in[2].i; return 0;
    case 1: for (long i = 0; i < 8; i++) wide[i] = ((void **)in[1].p)[i];
            vlad_lapack = narrow; vlad_lapack_is_wide = 0; return 0;
  }
  vlad_top = in[1].p;
  switch (in[0].i) {
    case 2: out[0].d = vlad_factor(count, n, a, b); break;
    case 3: case 4: vlad_solve(in[0].i == 4, n, m, a, b, c); break;
    case 5: out[0].d = vlad_determinant(n, a); break;
    case 6: out[0].d = vlad_triangle(count, n, a, b); break;
    case 8: case 9: vlad_solve_triangle(in[0].i == 9, n, m, a, b, c); break;
    case 7: vlad_singular(count, n, m, a, b, c, d); break;
    case 11: vlad_orthogonal(count, n, m, a, b, c); break;
    case 10: vlad_spectrum(count, n, a, b, c); break;
  }
  return vlad_top != in[1].p;
}
"""


def routines(kind: str) -> Callable[..., float]:
    """(number, n, m, arrays …) -> the real that it returns."""
    library = toolchain.build(
        "\n".join([needed(["exp", "fabs", "log", "sqrt"]), HEAD, sections()["matrices"], NARROW, CALL])
    )
    room, given, out = np.zeros(100_000), ffi.new("union vlad_word[]", 9), ffi.new("union vlad_word[]", 1)
    found = lapack()
    addresses = ffi.new("void *[]", [ffi.cast("void *", one) for one in found.addresses])

    def call(number: int, n: int, m: int, *arrays: Any, first: Any = None, count: int = 1) -> float:
        given[0].i, given[1].p = number, ffi.from_buffer("double[]", room) if first is None else first
        given[2].i, given[3].i, given[4].i = count, n, m
        for index, array in enumerate(arrays, start=5):
            assert array.flags.c_contiguous
            given[index].p = ffi.from_buffer("double[]", array)
        assert library.vlad_call(given, out) == 0, "room that was taken is given back"
        call.kept = addresses  # type: ignore[attr-defined]
        return float(out[0].d)

    if kind == "library":
        call(0, 0, 0, first=addresses, count=found.is_wide)
    elif kind == "narrow":
        assert found.is_wide
        call(1, 0, 0, first=addresses)
    return call


@pytest.mark.parametrize("kind", ["own", "library", "narrow"])
def test_the_routines(compiler: str, kind: str) -> None:  # noqa: F811
    call, r = routines(kind), np.random.default_rng(3)
    for n in (1, 2, 3, 5, 8, 20):
        for rank in {n, n, max(n - 1, 0), n // 2, 0}:
            a = r.normal(size=(n, rank)) @ r.normal(size=(rank, n))
            u, s, v = np.full((n, n), 7.0), np.full(n, 7.0), np.full((n, n), 7.0)
            call(7, n, n, a, u, s, v)
            assert np.allclose((u * s) @ v, a, atol=1e-13 * n) and np.allclose(
                s, np.linalg.svd(a)[1], atol=1e-13 * n
            )
            assert np.allclose(u @ u.T, np.eye(n), atol=1e-13 * n) and np.allclose(
                v @ v.T, np.eye(n), atol=1e-13 * n
            )
            symmetric, values, vectors = a + a.T, np.full(n, 7.0), np.full((n, n), 7.0)
            call(10, n, 0, symmetric, values, vectors)
            assert np.allclose((vectors * values) @ vectors.T, symmetric, atol=1e-13 * n)
            assert np.allclose(values, np.linalg.eigvalsh(symmetric), atol=1e-13 * n)
            assert np.allclose(vectors.T @ vectors, np.eye(n), atol=1e-13 * n)
            factors, definite, triangle = (
                np.zeros(n * n + n),
                a @ a.T + (rank == n) * np.eye(n),
                np.full((n, n), 7.0),
            )
            status = call(2, n, 0, a, factors)
            assert np.isclose(
                call(5, n, 0, factors), np.linalg.det(a), atol=1e-14 * np.prod(np.linalg.norm(a, axis=0))
            )
            if rank == n:
                assert status == 0.0 == call(6, n, 0, definite, triangle)
                assert np.allclose(triangle, np.linalg.cholesky(definite))
                for m in (1, 2, 5):
                    b, x = r.normal(size=(n, m)), np.full((n, m), 7.0)
                    call(3, n, m, factors, b, x)
                    assert np.allclose(a @ x, b, atol=1e-9)
                    call(4, n, m, factors, b, x)
                    assert np.allclose(a.T @ x, b, atol=1e-9)
                    call(8, n, m, triangle, b, x)
                    assert np.allclose(triangle @ x, b, atol=1e-9)
                    call(9, n, m, triangle, b, x)
                    assert np.allclose(triangle.T @ x, b, atol=1e-9)
            elif rank == 0:
                assert status != 0.0 and call(6, n, 0, a, triangle) != 0.0
    for n, m in ((1, 3), (3, 1), (2, 5), (5, 2), (7, 7), (30, 20), (20, 30)):
        k = min(n, m)
        for rank in {k, k - 1, 0}:
            a = np.stack([r.normal(size=(n, rank)) @ r.normal(size=(rank, m)), r.normal(size=(n, m))])
            u, s, v, q, t = [np.full((2, *shape), 7.0) for shape in ((n, k), (k,), (k, m), (n, k), (k, m))]
            call(7, n, m, a, u, s, v, count=2)
            call(11, n, m, a, q, t, count=2)
            assert np.allclose((u * s[:, None]) @ v, a, atol=1e-12) and np.allclose(q @ t, a, atol=1e-12)
            assert np.allclose(s, np.linalg.svd(a, compute_uv=False), atol=1e-12)
            for columns in (u, np.swapaxes(v, 1, 2), q):
                assert np.allclose(np.swapaxes(columns, 1, 2) @ columns, np.eye(k), atol=1e-12)
            assert np.array_equal(t, np.triu(t)) and (np.diagonal(t, axis1=1, axis2=2) >= 0).all()
    for size in (1e300, 1e-300):
        a, (u, s, v, q, t) = r.normal(size=(2, 2)) * size, np.zeros((5, 2, 2))
        call(7, 2, 2, a, u, s[0], v)
        call(11, 2, 2, a, q, t)
        assert np.allclose((u * (s[0] / size)) @ v, a / size) and np.allclose(q @ (t / size), a / size)
        call(10, 2, 0, a + a.T, s[0], v)
        assert np.allclose((v * (s[0] / size)) @ v.T, (a + a.T) / size)
    u, s, v, q, t = np.zeros((5, 2, 2))
    call(7, 2, 2, np.array([[1.0, 2.0], [-np.inf, 3.0]]), u, s[0], v)
    call(11, 2, 2, np.array([[1.0, 2.0], [np.nan, 3.0]]), q, t)
    assert all(np.isnan(found).all() for found in (u, v, q, t, s[0]))
    assert call(6, 2, 0, np.array([[1.0, np.nan], [np.nan, 2.0]]), np.zeros((2, 2))) != 0.0
    values, vectors = np.zeros(2), np.zeros((2, 2))
    for kind in (np.nan, np.inf):
        call(10, 2, 0, np.array([[1.0, kind], [kind, 2.0]]), values, vectors)
        assert np.isnan(values).all() and np.isnan(vectors).all()
    call(10, 2, 0, np.array([[1.0, -1.0], [-1.0, 1.0]]), values, vectors)
    assert np.allclose(vectors, np.sqrt(0.5) * np.array([[1, 1], [1, -1]]), atol=1e-15)
    many, found = np.stack([np.eye(3), 2 * np.eye(3)]), np.zeros((2, 3, 3))
    assert call(6, 3, 0, many, found, count=2) == 0.0 and np.array_equal(found, np.sqrt(many))


SINGLE = [
    *TEXTS, "(lambda (a b) ((gradient (lambda (a) (sum (solve a b)))) a))", "(lambda (a b) ((gradient det) a))",
    "(lambda (a b) ((gradient (lambda (a) (sum (cholesky a)))) a))",
    "(lambda (a b) ((gradient (lambda (a) (sum (square ((gradient det) a))))) a))",
    "(lambda (a b) ((gradient (lambda (a) (sum (square (inverse a))))) a))",
    "(lambda (a b) ((derivative-F (lambda (t) (sum (cholesky (* t a))))) 1))",
]  # fmt: skip


@pytest.mark.parametrize("text", SINGLE)
def test_of_single_precision(text: str) -> None:
    """LAPACK's routines are those of float64; results for float32 are converted back, as on tier 0."""
    a = (2 * np.eye(3) + 0.1).astype(np.float32)
    found = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        found.append(session.eval(text)(a, np.ones((3, 2), np.float32)))
        assert all(entry.reason is None for entry in session.tiers.entries.values())
    one, other = map(np.asarray, found)
    assert one.dtype == other.dtype and np.allclose(one, other, rtol=1e-5, atol=1e-5)
