"""`(vmap f)` is the list of f over rows, put together: values and derivatives in every mode, on both tiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amounts import THOROUGH
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from programs import expressions

import vlad
from vlad.compile.analysis import fixpoint

DEFINITIONS = """
(define (by-rows f xs vs) (tensor (map (lambda (i) (f (tensor-ref xs i) (tensor-ref vs i))) (iota (car (shape xs))))))
(define (in-rows f xs vs) ((vmap f) xs vs))
(define ((loss batch f) c xs vs) (sum (* #[1 -2 0.5 3] (batch (f c) xs vs))))
(define ((modes batch f) c xs vs)
  (define l (loss batch f))
  (define d (cons* -0.7 #[0.3 -0.2 1 0.5] #[[1 2] [0.5 -1] [0.1 0] [-1 1]]))
  (define x (cons* c xs vs))
  (list (l c xs vs) ((gradient-R l) c xs vs) ((gradient-F l) c xs vs) (hvp-F l x d) (hvp-R l x d)
        (batch (lambda (x v) (sum (cdr ((gradient (f c)) x v)))) xs vs)))
"""
POINT = (0.6, np.array([-1.2, 0.3, 1.7, 2.4]), np.array([[0.5, 1.0], [-0.4, 2.0], [1.5, -1.0], [0.2, 0.1]]))


@st.composite
def procedures(draw: st.DrawFn) -> str:
    """Procedures of c that return procedures of a real and a vector, with loops whose lengths the real determines."""

    def inner(*variables: str) -> str:
        return draw(expressions(variables, draw(st.integers(1, 3))))

    loop = f"""(let turns ((i 0) (a {inner("x", "y", "c")}))
        (if (< i (+ 1 (* 2 (abs x)))) (turns (+ i 1) (sin (+ a {inner("a", "x", "c")}))) a))"""
    recursion = f"""(let down ((z (* 3 x))) (if (< z 1) {inner("x", "y", "c")} (* 0.7 (down (- z 1)))))"""
    nested = f"((derivative (lambda (w) {inner('w', 'x', 'y')})) (sin x))"
    parts = draw(
        st.lists(
            st.sampled_from([loop, recursion, nested, inner("x", "y", "z", "c")]), min_size=1, max_size=2
        )
    )
    return f"(lambda (c) (lambda (x v) (let ((y (tensor-ref v 0)) (z (tanh (sum v)))) (+ y z {' '.join(parts)}))))"


def session_on(tier: str) -> vlad.Session:
    session = vlad.Session(tier=tier)
    session.run_text(DEFINITIONS, "definitions.vlad")
    return session


@pytest.fixture(scope="module")
def evaluating() -> vlad.Session:
    return session_on("evaluate")


def same(a: Any, b: Any, tolerance: float = 1e-12) -> bool:
    """Equal up to rounding, of the same shapes and kinds."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        close = np.allclose(a, b, rtol=tolerance, atol=tolerance / 100, equal_nan=True)
        return bool(a.dtype == b.dtype and a.shape == b.shape and close)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b, [tolerance] * len(a)))
    if type(a) is float:
        return type(b) is float and bool(np.isclose(a, b, tolerance, tolerance / 100, equal_nan=True))
    return bool(type(a) is type(b) and a == b)


def close(a: Any, b: Any) -> bool:
    return same(a, b, 1e-7)


def random_programs(few: int, many: int) -> Any:
    health = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
    return settings(
        max_examples=many if THOROUGH else few, deadline=None, suppress_health_check=health, derandomize=True
    )


# Its second derivatives by c are zero, so the axes of the batch are in tapes that nothing shows to be of tensors.
WITHOUT_C = "(lambda (c) (lambda (x v) (let ((z (tanh (sum v)))) (+ (exp (sin z)) z))))"


@pytest.mark.own_tier
@random_programs(6, 1000)
@given(f=procedures())
def test_random_programs(evaluating: vlad.Session, f: str) -> None:
    expected, found = [evaluating.eval(f"(modes {batch} {f})")(*POINT) for batch in ("by-rows", "in-rows")]
    assert close(found, expected), f


@pytest.mark.own_tier
@pytest.mark.any_compiler
@random_programs(1, 300)
@example(f=WITHOUT_C)
@given(f=procedures())
def test_random_programs_compiled(evaluating: vlad.Session, f: str) -> None:
    """Wholly: nothing runs on tier 0."""
    compiling = session_on("compile")
    expected = evaluating.eval(f"(modes by-rows {f})")(*POINT)
    assert close(compiling.eval(f"(modes in-rows {f})")(*POINT), expected), f
    assert compiling.tiers.disagreements == 0
    assert [entry.reason for entry in compiling.tiers.entries.values() if entry.reason] == [], f


KEYS = "(stack (list (uniform (random-key 1) 2) (uniform (random-key 2) 2)))"
CASES = {
    # what is in the answers
    "((vmap (lambda (x) (list x (> x 1) '() 'a \"b\" (* x #[1 2])))) #[-1 2])": (
        [np.array([-1.0, 2]), np.array([False, True]), [], "a", "b", np.array([[-1.0, -2], [2, 4]])]
    ),
    "((vmap (lambda (x) (as-type (tensor (list x 1)) 'int64))) #[3 4])": np.array([[3, 1], [4, 1]]),
    "((vmap (lambda (x) (as-type x 'float32))) #[[3 4] [5 6]])": np.array([[3, 4], [5, 6]], "float32"),
    "((vmap (lambda (x) (let loop ((x x) (n 0)) (if (< x 100) (loop (* x 2) (+ n 1)) n)))) #[1 30 200])": np.array(
        [7.0, 2, 0]
    ),
    "(((vmap (lambda (a) (lambda (x) (* a x)))) #[2 3]) #[10 20])": np.array([20.0, 60]),
    # axes
    "((vmap dot #:axes 1) #[[1 2] [3 4]] #[[1 10] [1 1]])": np.array([4.0, 24]),
    "((vmap dot #:axes '(1 0)) #[[1 2] [3 4]] #[[1 10] [1 1]])": np.array([31.0, 6]),
    "((vmap (lambda (x y z) (+ x (* y z))) #:axes '(0 #f 0)) #[1 2] 10 #[3 4])": np.array([31.0, 42]),
    "((vmap (lambda (x v) (* x (sum v))) #:axes '(0 #f)) #[1 2] #[3 4])": np.array([7.0, 14]),
    "((vmap (lambda (l k) (+ (car l) (* k (sum (car (cdr l)))))) #:axes '((0 #f) 0)) (list #[1 2] #[3 4]) #[0 1])": (
        np.array([1.0, 9])
    ),
    "((vmap (lambda (x) (sum x)) #:axes -1) #[[1 2] [3 4]])": np.array([4.0, 6]),
    "((vmap (lambda (p k) (+ (car p) (* k (cdr p)))) #:axes '(list 0)) '((1 . 2) (3 . 4)) #[10 20])": np.array(
        [21.0, 83]
    ),
    # nesting, and no rows at all
    "((vmap (vmap *) #:axes '(0 #f)) #[[1 2] [3 4]] #[10 20])": np.array([[10.0, 40], [30, 80]]),
    "((vmap (lambda (v x) ((vmap (lambda (y) (+ x y))) v)) #:axes '(#f 0)) #[1 2 3] #[10 20])": (
        np.array([[11.0, 12, 13], [21, 22, 23]])
    ),
    "((vmap (lambda (x) (cons (> (sum x) 0) (* 2 x)))) (zeros '(0 3)))": (
        np.zeros(0, bool),
        np.zeros((0, 3)),
    ),
    # random numbers, one key a row
    "((vmap (lambda (k) (uniform k 2)) #:axes 'list) (list (random-key 1) (random-key 2)))": KEYS,
    "((vmap (lambda (k) (uniform k 2))) ((vmap random-key) #[1 2]))": KEYS,
    # derivatives, by the two ways
    "((vmap (derivative-F sin)) #[0 1])": np.cos([0.0, 1]),
    "(cdr (jvp (vmap sin) #[0 1] #[1 1]))": np.cos([0.0, 1]),
    "((gradient (lambda (a) (sum ((vmap (lambda (x) (* a x x))) #[1 2 3])))) 2)": 14.0,
    "((gradient (lambda (w) (sum ((vmap dot #:axes '(0 #f)) #[[1 2] [3 4]] w)))) #[0 0])": np.array([4.0, 6]),
    "((gradient (lambda (x) (sum (square ((vmap sum #:axes 1) x))))) #[[1 2] [3 4]])": np.array(
        [[8.0, 12], [8, 12]]
    ),
    "((hessian (lambda (x) (sum ((vmap cube) x)))) #[1 2])": np.array([[6.0, 0], [0, 12]]),
    "((gradient (lambda (x) (sum ((vmap (derivative (lambda (z) (* z z z)))) x)))) #[1 2])": np.array(
        [6.0, 12]
    ),
    "(round-to 6 ((vmap (lambda (a) (argmin (lambda (x) (square (- (* x x) a))) 1 1e-9))) #[1 4]))": np.array(
        [1.0, 2]
    ),
    "((vmap (lambda (x) (guard (e (#t -1)) (if (< x 0) (raise x) (sqrt x))))) #[4 -4 9])": np.array(
        [2.0, -1, 3]
    ),
    "(reset (+ 1 (sum ((vmap (lambda (x) (shift k (+ x (k x))))) #[1 2]))))": 7.0,
    "((vmap (lambda (x) (let ((r (ref x))) (set-ref! r (* 2 (deref r))) (deref r)))) #[1 2])": np.array(
        [2.0, 4]
    ),
    "((gradient (lambda (x) (sum ((vmap (lambda (x) (let ((r (ref x))) (set-ref! r (* x (deref r))) (deref r)))) x)))) #[1 2])": (
        np.array([2.0, 4])
    ),
    "((vmap (lambda (x) ((gradient (checkpointed (lambda (y) (* x y y)))) x))) #[1 2])": np.array([2.0, 8]),
}


@pytest.mark.own_tier
@pytest.mark.parametrize("text", CASES)
def test_values(evaluating: vlad.Session, text: str) -> None:
    assert same(evaluating.eval(text), expected_of(evaluating, text))


@pytest.mark.own_tier
@pytest.mark.any_compiler
def test_values_compiled(evaluating: vlad.Session) -> None:
    compiling = vlad.Session(tier="compile")
    for text in CASES:
        if any(word in text for word in ("guard", "reset", "checkpointed")):  # whose analysis takes seconds
            continue
        assert same(compiling.eval(text), expected_of(evaluating, text)), text


def expected_of(session: vlad.Session, text: str) -> Any:
    expected = CASES[text]
    return session.eval(expected) if expected is KEYS else expected


def test_derivatives_of_the_two_orders_are_equal(evaluating: vlad.Session) -> None:
    """The backpropagators of rows, as one, are the backpropagator of the batch."""
    outside = evaluating.eval("(cdr ((cdr ((J (vmap sin)) (J #[0 1]))) #[1 2]))")
    inside = evaluating.eval("(cdr ((cdr ((vmap (J sin)) (J #[0 1]))) #[1 2]))")
    assert same(outside, inside) and same(outside, np.cos([0.0, 1]) * [1, 2])
    values = evaluating.eval("(*j-inverse (car ((vmap (J sin)) (J #[0 1]))))")
    assert same(values, np.sin([0.0, 1]))


ERRORS = [
    ("((vmap (lambda (x) (if (< x 2) x (car x)))) #[0 1 2])", "car is invalid", (2,)),
    ("((vmap (gradient (lambda (x) (if (< x 2) x (car x))))) #[0 1 2])", "car is invalid", (2,)),
    ("(jvp (vmap (lambda (x) (if (< x 2) x (car x)))) #[0 2] #[1 1])", "car is invalid", (1,)),
    ('((vmap (vmap (lambda (x) (if (< x 2) x (error "bad"))))) #[[0 1] [2 0]])', "bad", (0, 1)),
    ("((vmap (lambda (x) (if (< x 2) x #[1 2]))) #[0 1 2])", "different structures", (2,)),
    ("((vmap zeros) #[2 2 3])", "different structures", (2,)),
    ('((vmap (lambda (x) (if (< x 2) "a" "b"))) #[0 1 2])', "different structures", (2,)),
    ("((vmap +) #[0 1 2] #[1 2])", "3 and 2 rows", ()),
    ("((vmap +) 1 2)", "no rows", ()),
    ("((vmap + #:axes 'list) 1 2)", "no rows", ()),
    ("((vmap + #:axes 1) #[1 2] 3)", "out of range", ()),
    ("(vmap + #:axes 0.5)", "vmap is invalid", ()),
    ("(vmap 3)", "vmap is invalid", ()),
]


@pytest.mark.parametrize(("text", "message", "rows"), ERRORS)
def test_errors_tell_the_row(
    evaluating: vlad.Session, text: str, message: str, rows: tuple[int, ...]
) -> None:
    with pytest.raises(vlad.VladError, match=message) as caught:
        evaluating.eval(text)
    assert caught.value.rows == rows
    assert (f"in row {rows[0]} of vmap" in str(caught.value)) if rows else "in row" not in str(caught.value)


@pytest.mark.own_tier
@pytest.mark.any_compiler
def test_errors_compiled(evaluating: vlad.Session) -> None:
    compiling = vlad.Session(tier="compile")
    for text, message, rows in ERRORS:
        with pytest.raises(vlad.VladError, match=message) as caught:
            compiling.eval(text)
        assert caught.value.rows == rows


def test_a_batch_costs_what_its_rows_do() -> None:
    """In operations, of the value and of its gradient."""
    session = vlad.Session(metered=True)
    session.run_text("(define (f x) (* x (sin x)))")

    def operations(text: str) -> int:
        session.eval(text)
        return sum(session.counts.values())

    for text in ("((vmap f) (arange {}))", "((gradient (lambda (x) (sum ((vmap f) x)))) (arange {}))"):
        few, more, most = [operations(text.format(n)) for n in (100, 200, 300)]
        assert most - more == more - few


@pytest.mark.own_tier
@pytest.mark.any_compiler
def test_any_number_of_rows_compiled(evaluating: vlad.Session) -> None:
    """None and one, too; the same array is no answer twice."""
    compiling = vlad.Session(tier="compile")
    text = """(lambda (x)
        (let ((y ((vmap (lambda (v) (list (sum v) (sum v) v v (> (sum v) 0)))) x)))
          (list (exp (list-ref y 2)) y ((gradient (lambda (x) (sum (sin ((vmap (lambda (v) (sum (* v v)))) x))))) x))))"""
    expected, found = evaluating.eval(text), compiling.eval(text)
    for rows in (1, 2, 5, 40, 0):
        x = np.cos(np.arange(3.0 * rows)).reshape(rows, 3)
        assert same(found(x), expected(x)), rows
    assert compiling.tiers.disagreements == 0


def test_analysis_of_many_kinds_of_values_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row raises values of many kinds, as far as the analysis knows: it looked at each with each, without end."""
    monkeypatch.setattr(fixpoint, "MOST_MEMBERS", 20_000)
    with vlad.Session(tier="compile") as session:
        found = session.eval("((vmap (lambda (x) (guard (e (#t -1)) (if (> x 1) (raise 'bad) x)))) #[1 2 3])")
    assert found.tolist() == [1, -1, -1]
