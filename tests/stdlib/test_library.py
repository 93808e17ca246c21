"""The library: behaviour beyond the examples of its doc comments, which tests/test_help.py runs."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

import vlad
from vlad.data.source import is_internal
from vlad.manual.help import LIBRARY, definitions
from vlad.primitives.table import PROCEDURES, TABLE
from vlad.session.library import Library, the_library

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    """For all programs: so the library's procedures are transformed only once."""
    return vlad.Session()


def printed(text: str) -> list[str]:
    """The lines that a program prints."""
    output: list[str] = []
    vlad.Session(write=output.append).run_text(text)
    return "".join(output).splitlines()


def test_names_are_unique() -> None:
    seen: dict[str, str] = {}
    for file in LIBRARY:
        for entry in definitions(file):
            assert entry.name not in seen, f"{entry.name} is in {file} and in {seen[entry.name]}"
            assert entry.name not in TABLE, f"{entry.name} in {file} hides a primitive"
            seen[entry.name] = file
    for name in the_library().index():
        hidden = TABLE.get(name[1:]) if is_internal(name) else None
        assert hidden is None or not hidden.hidden, name
        assert name not in {**TABLE, **PROCEDURES}, name


@pytest.mark.parametrize(
    "texts", [["(define (f x) x)\n(define a 1)\n(define f 2)\n"], ["(define (f) 1)\n", "(define f 2)\n"]]
)
def test_two_definitions_of_a_name_are_an_error(texts: list[str], tmp_path: Path) -> None:
    """In the library; a program may define a name again."""
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.vlad").write_text(text)
    library = Library()
    library.folder = str(tmp_path)
    with pytest.raises(RuntimeError, match=r"defines a name twice: f \(0.vlad, [01].vlad\)"):
        library.index()
    assert vlad.Session().eval("(define f 1) (define f 2) f") == 2


def test_every_file_is_in_the_manual() -> None:
    """If it defines a name that is not the library's own."""
    library = the_library()
    files = {path.stem for path in (ROOT / "stdlib").glob("*.vlad")}
    public = {file for file in files if not all(map(is_internal, library.names_in(f"{file}.vlad")))}
    own = (
        {
            f"python-{one}"
            for one in (
                "arrays",
                "changes",
                "formats",
                "generators",
                "modules",
                "packing",
                "sequences",
                "sets",
                "structures",
            )
        }
        | {f"onnx-{name}" for name in ("attention", "control", "images", "selections")}
        | {"python", "onnx"}
    )
    assert public == set(LIBRARY) and files - public == own


# Depth and cost.


@pytest.mark.parametrize(
    "text",
    [
        "(length (append (iota 200000) '(1)))",
        "(length (map square (iota 200001)))",
        "(length (filter (lambda (x) #t) (iota 200001)))",
        "(length (fold-right cons '() (iota 200001)))",
        "(length (sort (reverse (iota 50001)) <))",
        "(length (map-reals square (iota 200001)))",
        "(length (v+ (iota 200001) (iota 200001)))",
        "(length (flatten (zip (iota 100000) (iota 100001)))) ",
        "(apply + (map (constantly 1) (iota 200001)))",
        "(length (stream-take (stream-from 0) 200001))",
    ],
)
def test_long_lists(text: str) -> None:
    expected = "200000" if "flatten" in text else "50001" if "sort" in text else "200001"
    assert printed(text) == [expected]


@pytest.mark.parametrize("n", [100, 1000])
def test_gradient_through_the_library_is_linear(n: int) -> None:
    session = vlad.Session(metered=True)
    session.eval(
        "(define (f l) (dot-product (map square l) (sort (filter (lambda (x) #t) (append l '())) <)))"
    )
    session.eval(f"(define l (iota {n}))")
    session.eval("(f l)")
    function = sum(session.counts.values())
    session.eval("((gradient f) l)")
    assert sum(session.counts.values()) <= 6 * function


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_an_infinity_is_close_to_itself_alone(tier: str) -> None:
    session = vlad.Session(tier=tier)
    session.eval("(define (both x y) (list (close? x y 0.1) (close? (reshape x '(1)) (reshape y '(1)) 0.1)))")
    infinity, nan = math.inf, math.nan
    for x, y, expected in (
        (1, infinity, False), (-infinity, infinity, False), (infinity, 1e308, False), (infinity, infinity, True),
        (-infinity, -infinity, True), (nan, nan, False), (nan, infinity, False), (1e308, 1.05e308, True), (0, -0.1, True),
    ):  # fmt: skip
        session["x"], session["y"] = float(x), float(y)
        assert session.eval("(both x y)") == [expected, expected], (x, y)
    assert session.eval("(close? #[1 +inf.0 2] #[1 +inf.0 2] 0)") is True
    assert session.eval("(close? #[1 +inf.0 2] #[1 +inf.0 3] 1e-9)") is False


# Sorting and the like against Python's.


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 1000])
def test_sort(n: int) -> None:
    numbers = [math.floor(1000 * math.sin(k * k)) for k in range(n)]
    session = vlad.Session()
    session["l"] = [[float(x // 10), float(x)] for x in numbers]
    result = session.eval("(sort l (lambda (x y) (< (car x) (car y))))")
    assert result == sorted([[float(x // 10), float(x)] for x in numbers], key=lambda pair: pair[0])


# Derivatives: every mode of every procedure agrees, nested in each other too.

FUNCTION = "(define (f l) (* (sin (first l)) (exp (* (second l) (third l)))))"
POINT = "'(0.5 0.3 -0.7)"


def gradient_by_hand() -> list[float]:
    x, y, z = 0.5, 0.3, -0.7
    e = math.exp(y * z)
    return [math.cos(x) * e, math.sin(x) * z * e, math.sin(x) * y * e]


@pytest.mark.parametrize(
    "name", ["gradient", "gradient-F", "gradient-R", "jacobian", "jacobian-F", "jacobian-R"]
)
def test_gradients_agree(session: vlad.Session, name: str) -> None:
    session.eval(FUNCTION)
    assert session.eval(f"(({name} f) {POINT})") == pytest.approx(gradient_by_hand(), rel=1e-14)


@pytest.mark.parametrize("inner", ["F", "R"])
@pytest.mark.parametrize("outer", ["F", "R"])
def test_hessians_agree(session: vlad.Session, outer: str, inner: str) -> None:
    session.eval(FUNCTION)
    x, y, z = 0.5, 0.3, -0.7
    e, s, c = math.exp(y * z), math.sin(x), math.cos(x)
    expected = [
        [-s * e, c * z * e, c * y * e],
        [c * z * e, s * z * z * e, s * (1 + y * z) * e],
        [c * y * e, s * (1 + y * z) * e, s * y * y * e],
    ]
    result = session.eval(f"((jacobian-{outer} (gradient-{inner} f)) {POINT})")
    for row, expected_row in zip(result, expected, strict=True):
        assert row == pytest.approx(expected_row, rel=1e-13)
    laplacian = sum(expected[i][i] for i in range(3))
    assert session.eval(f"((laplacian-{outer} f) {POINT})") == pytest.approx(laplacian, rel=1e-13)
    product = [sum(a * b for a, b in zip(row, [1, 2, 3], strict=True)) for row in expected]
    assert session.eval(f"(hvp-{outer} f {POINT} '(1 2 3))") == pytest.approx(product, rel=1e-13)
    assert session.eval(f"((hessian-{outer} f) {POINT})")[1] == pytest.approx(expected[1], rel=1e-13)


@pytest.mark.parametrize("order", ["FFF", "FFR", "FRF", "FRR", "RFF", "RFR", "RRF", "RRR"])
def test_third_derivatives_in_all_mixtures(session: vlad.Session, order: str) -> None:
    nest = "exp-sin"
    for mode in order:
        nest = f"(derivative-{mode} {nest})"
    session.eval("(define (exp-sin x) (exp (sin x)))")
    s, c = math.sin(0.4), math.cos(0.4)
    expected = math.exp(s) * (c**3 - 3 * s * c - c)
    assert session.eval(f"({nest} 0.4)") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('((gradient-F (lambda (x) (* (car x) 3))) \'(2 #t sym "s" ()))', '(3 #t sym "s" ())'),
        ('((gradient-R (lambda (x) (* (car x) 3))) \'(2 #t sym "s" ()))', '(3 #t sym "s" ())'),
        ("((car ((gradient-F (lambda (x) (* ((car x) 2) (cdr x)))) (cons ((curry *) 5) 3))) 1)", "6"),
        ("((car ((gradient-R (lambda (x) (* ((car x) 2) (cdr x)))) (cons ((curry *) 5) 3))) 1)", "6"),
        ("((cddr (jvp-F (lambda (x) (cons x (lambda (y) (* x y)))) 2 1)) 10)", "10"),
        ("((gradient (lambda () 3)))", "()"),
        ("((cdr (vjp-F square 3)) 2)", "12"),
        ("(map (lambda (h) (h 1)) ((jacobian-F (lambda (g) (list (g 1) (g 2)))) ((curry *) 7)))", "(1 2)"),
        ("(map (lambda (h) (h 1)) ((jacobian-R (lambda (g) (list (g 1) (g 2)))) ((curry *) 7)))", "(1 2)"),
        ("((laplacian (lambda (l) (dot-product l l))) (iota 10))", "20"),
        ("((derivative (lambda (x) ((derivative (lambda (y) (* x y))) 3))) 5)", "1"),
    ],
)
def test_structures(text: str, value: str) -> None:
    assert printed(text) == [value]


@pytest.mark.parametrize("name", ["gradient", "gradient-F", "gradient-R", "hessian"])
def test_gradient_of_a_list_is_refused(name: str) -> None:
    with pytest.raises(vlad.VladError, match="whose value is a real"):
        vlad.Session().eval(f"(({name} (lambda (x) (list x x))) 3)")


# Optimization.

ROSENBROCK = "(define (rosenbrock x y) (+ (square (- 1 x)) (* 100 (square (- y (* x x))))))"


@pytest.mark.parametrize("name", ["newton", "conjugate-gradients", "argmin"])
def test_rosenbrock(session: vlad.Session, name: str) -> None:
    session.eval(ROSENBROCK)
    assert session.eval(f"({name} rosenbrock '(-1.2 . 1) 1e-6)") == pytest.approx((1, 1), abs=1e-5)


@pytest.mark.parametrize(
    "name",
    ["newton", "conjugate-gradients", "gradient-descent"],
)
@pytest.mark.parametrize("mode", ["F", "R"])
def test_minima_move_by_the_implicit_function_theorem(session: vlad.Session, name: str, mode: str) -> None:
    session.eval(f"(define (at a) ({name} (lambda (x y) (+ (* a (square (- x (exp a)))) (square (- y (* x a)))))"
                 " '(0 . 0) 1e-9))")  # fmt: skip
    a = 0.7
    e = math.exp(a)
    assert session.eval(f"(at {a})") == pytest.approx((e, a * e), abs=1e-7)
    assert session.eval(f"((derivative-{mode} at) {a})") == pytest.approx((e, (1 + a) * e), abs=1e-6)
    second = session.eval(f"((derivative-{mode} (derivative-F at)) {a})")
    assert second == pytest.approx((e, (2 + a) * e), abs=1e-5)


@pytest.mark.parametrize("name", ["golden-section", "parabolic-section"])
@pytest.mark.parametrize("mode", ["F", "R"])
def test_line_searches_are_differentiable(session: vlad.Session, name: str, mode: str) -> None:
    session.eval(f"(define (at a) ({name} (lambda (x) (* a (square (- x (* a a))))) -1 30 1e-8))")
    assert session.eval("(at 3)") == pytest.approx(9, abs=1e-5)
    assert session.eval(f"((derivative-{mode} at) 3)") == pytest.approx(6, abs=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "(gradient-descent (lambda (x) (abs x)) 3 1e-6)",
        "(conjugate-gradients (lambda (x) (expt x 4)) 3 1e-6)",
        "(newton (lambda (x) (expt x 4)) 3 1e-6)",
        "(newton (lambda (x) 7) 3 1e-6)",
        "(golden-line-search (lambda (x) (/ 0 0)) 1e-6)",
        "(parabolic-line-search (lambda (x) (- 0 (* x (* x x)))) 1e-6)",
    ],
)
def test_searches_end(text: str) -> None:
    session = vlad.Session(limits=vlad.Limits(seconds=20))
    assert isinstance(session.eval(text), float)


@pytest.mark.parametrize("name", ["newton", "argmin", "minimize"])
def test_newton_reports_a_missing_minimum(name: str) -> None:
    session = vlad.Session(limits=vlad.Limits(seconds=20))
    with pytest.raises(vlad.VladError, match="No minimum is found: after 1000 steps"):
        session.eval(f"({name} (lambda (x) (- 0 x)) 0 1e-6)")


@pytest.mark.parametrize(
    "f",
    [
        "sum",
        "(lambda (x) (- (sum (exp x))))",
        "(lambda (x) (log (tensor-ref x 0)))",
        "(lambda (x) (sum (log x)))",
        "(lambda (x) (- 0 (sum (* x x))))",
    ],
)
def test_lbfgs_reports_an_unbounded_function(f: str) -> None:
    """If it ends before the limit of steps because no step is possible."""
    session = vlad.Session(limits=vlad.Limits(seconds=60))
    with pytest.raises(
        vlad.VladError, match="No minimum is found: as far as L-BFGS went, the function falls"
    ):
        session.eval(f"(lbfgs {f} #[1 2] 1e-6)")
    # far away, though not without end
    assert session.eval("(lbfgs (lambda (x) (square (- x 1e9))) 0 1e-9)") == pytest.approx(1e9)


def test_searches_report_useless_values() -> None:
    session = vlad.Session(limits=vlad.Limits(seconds=60))
    for call in (
        "argmin (lambda (x) (log x)) 1", "newton (lambda (x) (sqrt x)) -1", "lbfgs (lambda (x) (sqrt x)) -1",
        "lbfgs (lambda (x) (* x +nan.0)) 1", "newton (lambda (x) (* x +nan.0)) 1", "argmin (lambda (x) (* x +nan.0)) 1",
        "lbfgs (lambda (x) (sqrt (- x 2))) 1", "lbfgs (lambda (x) (sum (exp (* x x)))) #[30 1]",
    ):  # fmt: skip
        with pytest.raises(vlad.VladError, match="No minimum is found: where the search ended"):
            session.eval(f"({call} 1e-8)")


def test_bracket_holds_a_minimum(session: vlad.Session) -> None:
    for center in (-1000.0, -3.0, -0.5, 0.0, 0.5, 7.0, 12345.0):
        session["center"] = center
        a, b, c = session.eval("(bracket-minimum (lambda (x) (square (- x center))) 0 1)")
        assert min(a, c) <= center <= max(a, c)
        assert min(a, c) < b < max(a, c)


def test_saddle_point_nests_and_differentiates(session: vlad.Session) -> None:
    session.eval(
        "(define (play a) (saddle-point (lambda (x y) (+ (square (- x a)) (- (* x y) (square y)))) 3 4 1e-9))"
    )
    assert session.eval("(play 1)") == pytest.approx([0.8, 0.4], abs=1e-7)
    assert session.eval("((derivative play) 1)") == pytest.approx([0.8, 0.4], abs=1e-6)


# Linear algebra and differential equations.


@pytest.mark.slow_compiled
def test_linear_algebra_agrees_with_itself(session: vlad.Session) -> None:
    session.eval("(define m '((0 2 1) (4 8 -1) (2 5 3)))")
    session.eval("(define spd (matrix*matrix m (matrix-transpose m)))")
    identity = [[float(i == j) for j in range(3)] for i in range(3)]
    for text in ("(matrix*matrix m (matrix-inverse m))", "(matrix*matrix (matrix-inverse m) m)"):
        for row, expected in zip(session.eval(text), identity, strict=True):
            assert row == pytest.approx(expected, abs=1e-13)
    assert session.eval("(determinant m)") == pytest.approx(-24.0)
    assert session.eval("(distance (matrix*vector m (solve-linear m '(1 2 3))) '(1 2 3))") < 1e-13
    residual = (
        "(magnitude (v- spd (matrix*matrix (cholesky-factor spd) (matrix-transpose (cholesky-factor spd)))))"
    )
    assert session.eval(residual) < 1e-12
    # Jacobi: the derivative of the determinant is the determinant times the transposed inverse
    gap = "(magnitude (v- ((gradient determinant) m) (k*v (determinant m) (matrix-transpose (matrix-inverse m)))))"
    assert session.eval(gap) < 1e-12
    with pytest.raises(vlad.VladError, match="singular"):
        session.eval("(matrix-inverse '((1 2) (2 4)))")
    with pytest.raises(vlad.VladError, match="positive definite"):
        session.eval("(cholesky-factor '((1 2) (2 1)))")
    with pytest.raises(vlad.VladError, match="not of one shape"):
        session.eval("(v+ '(1 2) '(1 2 3))")


def test_orders_of_the_methods(session: vlad.Session) -> None:
    session.eval("(define (grow t y) (* y (cos t)))")
    exact = math.exp(math.sin(2))
    for method, order, steps in (("euler", 1, 40), ("rk4", 4, 40), ("gauss-legendre", 6, 4)):
        error = [abs(session.eval(f"({method} grow 0 1 2 {n})") - exact) for n in (steps, 2 * steps)]
        assert 0.8 * 2**order < error[0] / error[1] < 1.25 * 2**order
    # the energy of an oscillator stays within its bounds for 10,000 steps
    assert session.eval(
        "(let ((end (leapfrog (lambda (x) (- 0 x)) 1 0 0.1 10000)))"
        " (+ (square (car end)) (square (cdr end))))"
    ) == pytest.approx(1, abs=0.003)
    # the derivative of the end of a solution by its start, through the loop
    assert session.eval("((derivative-R (lambda (y0) (rk4 grow 0 y0 2 50))) 3)") == pytest.approx(
        exact, rel=1e-6
    )


def test_a_step_beyond_the_iteration_is_an_error(session: vlad.Session) -> None:
    with pytest.raises(vlad.VladError, match="take shorter steps"):
        session.eval("(gauss-legendre-step (lambda (t y) (* 100 (sin y))) 0 1 1)")


def test_derivatives_where_the_first_guess_is_the_solution(session: vlad.Session) -> None:
    """At a state of rest the iteration ends at once, but the derivative is not that of no iteration."""
    session.eval("(define (end y) (gauss-legendre (lambda (t y) (* 2 (sin y))) 0 y 1 10))")
    for derivative in ("derivative-F", "derivative-R"):
        assert session.eval(f"(({derivative} end) 0)") == pytest.approx(math.exp(2), rel=1e-6)


def test_taylor_coefficients_of_the_exponential(session: vlad.Session) -> None:
    result = session.eval("(taylor-coefficients exp 0 8)")
    assert result == pytest.approx([1 / math.factorial(k) for k in range(9)], rel=1e-15)


# Whatever a program does with the library, its derivative by reverse mode, by forward mode and by differences agree.

PROGRAMS = [
    "(list-sum (map sin l))",
    "(list-product l)",
    "(fold-right (lambda (x total) (+ x (* 0.5 total))) 0 l)",
    "(fold-left (lambda (total x) (- (* total x) 1)) 1 l)",
    "(fold2 (lambda (x y total) (+ total (* x (sin y)))) 0 l (reverse l))",
    "(reduce (lambda (x y) (* x (cos y))) 0 l)",
    "(dot-product (map2 * l (cdr l)) '(1 2 3))",
    "(list-sum (map3 (lambda (x y z) (* x (* y z))) l (cdr l) (cddr l)))",
    "(let ((s (sort l <))) (- (* 3 (first s)) (square (last s))))",
    "(list-sum (filter positive? (map (lambda (x) (* x x x)) l)))",
    "(let ((both (partition positive? l))) (- (list-product (car both)) (list-product (cdr both))))",
    "(list-sum (append* (list l (cdr l) (map square l))))",
    "(list-sum (append-map (lambda (x) (list x (* x x))) l))",
    "(* (list-ref l 2) (list-ref (list-set l 1 (first l)) 1))",
    "(apply (lambda (a b c d) (- (* a b) (* c d))) l)",
    "(iterate (lambda (x) (sin (+ x (second l)))) 5 (first l))",
    "(cdr (assoc 2 (map-indexed (lambda (i x) (cons i (* x x))) l)))",
    "(list-sum (map (lambda (p) (* (first p) (second p))) (zip l (reverse l))))",
    "(second (first (unzip (zip (map exp l) l))))",
    "(clamp (first l) -5 5)",
    "((compose sin ((curry *) (first l))) (second l))",
    "(list-sum (flatten (list (car l) (list (cdr l) l))))",
    "(list-sum (stream-take (stream-map2 * (stream-iterate (lambda (x) (* x (first l))) 1) (stream-from 1)) 5))",
    "(stream-limit (stream-iterate (lambda (x) (cos (* (first l) x))) 1) 1e-13)",
    "(list-ref (stream-take (stream-scan + 0 (list->stream l)) 5) 3)",
    "(magnitude (unit-vector (v+ l (k*v (first l) '(1 2 3 4)))))",
    "(distance l (map square l))",
    "(determinant (list (take l 2) (drop l 2)))",
    "(first (solve-linear (list (list 3 (first l)) (list (second l) 2)) (drop l 2)))",
    "(matrix-trace (matrix-inverse (v+ (diagonal-matrix '(4 5 6 7)) (outer-product l l))))",
    "(list-sum (matrix-diagonal (cholesky-factor (v+ (diagonal-matrix '(4 5 6 7)) (outer-product l l)))))",
    "(list-sum (vector*matrix l (matrix-transpose (list l (reverse l) l (reverse l)))))",
    "(first (rk4 (lambda (t y) (list (second y) (- 0 (* (first l) (sin (first y)))))) 0 (drop l 2) 1 10))",
    "(first (gauss-legendre (lambda (t y) (list (second y) (- 0 (* (first l) (sin (first y)))))) 0 (drop l 2) 1 3))",
    "(euler (lambda (t y) (* y (sin (+ t (first l))))) 0 (second l) (+ 1 (third l)) 10)",
    "(car (leapfrog (lambda (x) (- 0 (* (third l) x))) (first l) (second l) 0.1 10))",
    "(integrate (lambda (x) (exp (* (first l) x))) (second l) (third l) 4)",
    "((derivative (lambda (x) (* (sin (* x (first l))) (second l)))) (third l))",
    "(dot-product l ((gradient (lambda (l) (list-sum (map cube l)))) (map sin l)))",
    "(hvp (lambda (x) (exp (* x (first l)))) (second l) (third l))",
    "((laplacian (lambda (l) (list-product l))) (map square l))",
    "((laplacian (lambda (x y) (* (exp x) (* y (first l))))) (second l) (third l))",
    "(list-sum (taylor-coefficients (lambda (x) (exp (* x (first l)))) (second l) 3))",
    "((divergence (lambda (x y) (cons (* x (* y (first l))) (sin (* x y))))) (second l) (third l))",
    "(second (argmin (lambda (p) (+ (exp (- (first p) (first l))) (exp (- (second l) (first p)))"
    " (square (- (second p) (* (first p) (third l)))))) '(0 0) 1e-10))",
    "(minimize (lambda (x) (+ (square (square (- x (first l)))) (square (* x (second l))))) 0 1e-10)",
    "(maximize (lambda (x) (- (* x (first l)) (exp x))) 0 1e-10)",
    "(first (solve-symmetric (lambda (v) (list (+ (* 3 (first v)) (* (first l) (second v)))"
    " (+ (* (first l) (first v)) (* 2 (second v))))) (cdr (cdr l))))",
    "(first (saddle-point (lambda (x y) (+ (square (- x (first l))) (- (* x y) (square (- y (second l))))))"
    " 0 0 1e-10))",
]


# Each derivative takes the compiler many seconds, if everything is compiled.
SLOW_COMPILED = (
    "(sort l", "solve-linear", "matrix-inverse", "(second (argmin", "saddle-point", "stream-scan", "(determinant (list",
    "(append* (list", "(cholesky-factor", "(stream-map2", "(append-map", "(partition",
)  # fmt: skip


def marked(program: str) -> Any:
    is_slow = any(word in program for word in SLOW_COMPILED)
    return pytest.param(program, marks=pytest.mark.slow_compiled if is_slow else ())


@pytest.mark.parametrize("program", [marked(program) for program in PROGRAMS])
def test_derivatives_through_the_library(session: vlad.Session, program: str) -> None:
    f, h = session.eval(f"(lambda (l) {program})"), 1e-5
    point = [0.7, -0.4, 0.9, 0.25] if "maximize" not in program else [0.7, 0.4, 0.9, 0.25]
    reverse, forward = session["gradient-R"](f)(point), session["gradient-F"](f)(point)
    assert reverse == pytest.approx(forward, rel=1e-9, abs=1e-9)
    for i in range(len(point)):
        up, down = [*point], [*point]
        up[i] += h
        down[i] -= h
        assert reverse[i] == pytest.approx((f(up) - f(down)) / (2 * h), rel=1e-5, abs=1e-6)
    along = [1.0, -2.0, 0.5, 3.0]
    second = session["hvp-R"](f, point, along)
    assert second == pytest.approx(session["hvp-F"](f, point, along), rel=1e-7, abs=1e-7)


@pytest.mark.own_tier
def test_no_name_is_defined_twice() -> None:
    """The later file would take the place of the earlier one."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "stdlib").glob("*.vlad")]
    names = [name for text in texts for name in re.findall(r"^\(define \(*([^ ()]+)", text, re.MULTILINE)]
    assert sorted(names) == sorted(set(names))
