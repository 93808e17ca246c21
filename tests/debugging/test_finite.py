"""The NaN finder names the correct primitive at the correct place, in any derivative: seeded programs.

In each program «…» marks the faulty operation. The results of both tiers are those without the finder.
"""

from __future__ import annotations

import pytest

import vlad
from vlad.data.tensors import Tensor, load_numpy
from vlad.debugging.debugger import Debugger
from vlad.debugging.finite import Finding, kind_within, odd_entry

PRIMAL, FORWARD, REVERSE = "primal", "tangent, in forward mode", "sensitivity, in reverse mode"


def second(what: str, outer: str, inner: str) -> str:
    return f"{what}, in a second derivative, {outer} over {inner}"


# Name, program, kind, primitive (of the program: in a derivative the one that is differentiated), phase, index.
CASES: list[tuple[str, str, str, str, str, tuple[int, ...] | None]] = [
    # The program itself.
    ("0/0", "(define (f x) (+ 1 «(/ x x)»)) (f 0)", "NaN", "/", PRIMAL, None),
    ("1/0", "(define (f x) (* 2 «(/ 1 x)»)) (f 0)", "infinity", "/", PRIMAL, None),
    ("log 0", "(define (f x) (+ x «(log x)»)) (f 0)", "infinity", "log", PRIMAL, None),
    ("log of a negative number", "(define (f x) «(log (- x))») (f 2)", "NaN", "log", PRIMAL, None),
    ("sqrt of a negative number", "(define (f x) (* «(sqrt x)» 2)) (f -1)", "NaN", "sqrt", PRIMAL, None),
    ("exp overflows", "(define (f x) (- «(exp x)» 1)) (f 1000)", "infinity", "exp", PRIMAL, None),
    ("a product overflows", "(define (f x) «(* x x)») (f 1e200)", "infinity", "*", PRIMAL, None),
    ("a sum overflows", "(define (f x y) (sin «(+ x y)»)) (f 1e308 1e308)", "infinity", "+", PRIMAL, None),
    ("a power overflows", "(define (f x) «(expt 10 x)») (f 400)", "infinity", "expt", PRIMAL, None),
    ("acos beyond 1", "(define (f x) (+ «(acos x)» 1)) (f 2)", "NaN", "acos", PRIMAL, None),
    ("the pole of tan's inverse", "(define (f x) «(atanh x)») (f 1)", "infinity", "atanh", PRIMAL, None),
    ("gamma at a pole", "(define (f x) «(gamma x)») (f 0)", "infinity", "gamma", PRIMAL, None),
    ("the sine of an overflow", "(define (f x) (sin «(exp x)»)) (f 1000)", "infinity", "exp", PRIMAL, None),
    ("modulo 0", "(define (f x y) «(modulo x y)») (f 1 0)", "NaN", "modulo", PRIMAL, None),
    (
        "in a branch",
        "(define (f x) (if (> x 0) (log x) «(/ 1 (+ x 1))»)) (f -1)",
        "infinity", "/", PRIMAL, None,
    ),
    (
        "in a loop's third turn",
        "(let loop ((i 2) (acc 0)) (if (< i -3) acc (loop (- i 1) (+ acc «(/ 1 i)»))))",
        "infinity", "/", PRIMAL, None,
    ),
    ("in a closure", "(define ((g a) x) «(/ x a)») (map (g 0) '(1 2))", "infinity", "/", PRIMAL, None),
    (
        "in a procedure of the program, through the library",
        "(map (lambda (x) «(log x)») '(1 0))",
        "infinity", "log", PRIMAL, None,
    ),
    ("in a fold", "(fold (lambda (a x) (+ x «(/ 1 a)»)) 0 '(0 0))", "infinity", "/", PRIMAL, None),
    ("a constant that is folded", "(define (f x) (+ x «(/ 1 0)»)) (f 1)", "infinity", "/", PRIMAL, None),
    (
        "in a macro",
        "(define-syntax inverse (syntax-rules () ((_ e) (/ 1 e)))) (define (f x) (inverse (* x 2))) (f 0)",
        "infinity", "/", PRIMAL, None,
    ),
    (
        "a mean of nothing",
        "(define (mean-of l) «(/ (list-sum l) (length l))») (mean-of '())",
        "NaN", "/", PRIMAL, None,
    ),
    # Tensors.
    (
        "an entry of a logarithm",
        "(define (f v) (sum «(log v)»)) (f #[1 2 0])",
        "infinity", "log", PRIMAL, (2,),
    ),
    ("an entry of a matrix", "(define (f m) «(sqrt m)») (f #[[1 2] [3 -4]])", "NaN", "sqrt", PRIMAL, (1, 1)),
    (
        "softmax as one first writes it",
        "(define (soft v) (let ((e «(exp v)»)) (/ e (sum e)))) (soft #[1 1000 2])",
        "infinity", "exp", PRIMAL, (1,),
    ),
    (
        "division by a variance of 0",
        "(define (z v) (let* ((d (- v (mean v))) (s (sqrt (mean (square d))))) «(/ d s)»)) (z #[2 2 2])",
        "NaN", "/", PRIMAL, (0,),
    ),
    (
        "a sum of entries overflows",
        "(define (f v) «(sum v)») (f #[1e308 1e308])",
        "infinity", "sum", PRIMAL, None,
    ),
    (
        "a product of matrices overflows",
        "(define (f m) «(matmul m m)») (f #[[1e200 0] [0 1]])",
        "infinity", "matmul", PRIMAL, (0, 0),
    ),
    (
        "solving what is nearly singular",
        "(define (f m b) «(solve m b)») (f #[[1e-310 0] [0 1]] #[1 1])",
        "infinity", "solve", PRIMAL, (0,),
    ),
    # Reverse mode.
    ("sqrt at 0, backwards", "(define (f x) «(sqrt x)») ((gradient f) 0)", "infinity", "sqrt", REVERSE, None),
    (
        "a norm at 0, backwards",
        "(define (f x y) «(sqrt (+ (* x x) (* y y)))») ((gradient f) 0 0)",
        "infinity", "sqrt", REVERSE, None,
    ),
    (
        "atan at the origin, backwards",
        "(define (f y x) (* 2 «(atan y x)»)) ((gradient f) 0 0)",
        "NaN", "atan", REVERSE, None,
    ),
    (
        "asin at 1, backwards",
        "(define (f x) (* 3 «(asin x)»)) ((gradient f) 1)",
        "infinity", "asin", REVERSE, None,
    ),
    (
        "a fractional power at 0, backwards",
        "(define (f x) (+ x «(expt x 0.5)»)) ((gradient f) 0)",
        "infinity", "expt", REVERSE, None,
    ),
    (
        "an overflow on the way back only",
        "(define (f x) (* 1e300 «(* 1e300 x)»)) ((gradient f) 1e-310)",
        "infinity", "*", REVERSE, None,
    ),
    (
        "in a callee, backwards",
        "(define (g x) «(sqrt x)») (define (f x) (+ 1 (* 2 (g x)))) ((gradient f) 0)",
        "infinity", "sqrt", REVERSE, None,
    ),
    (
        "in a loop, backwards",
        "(define (f x) (let loop ((i 0) (y x)) (if (= i 3) y (loop (+ i 1) «(sqrt y)»)))) ((gradient f) 0)",
        "infinity", "sqrt", REVERSE, None,
    ),
    (
        "in a branch's value, backwards",
        "(define (f x) (* 2 (if (< x 1) «(sqrt x)» x))) ((gradient f) 0)",
        "infinity", "sqrt", REVERSE, None,
    ),
    (
        "in a closure, backwards",
        "(define (f x) (list-sum (map (lambda (y) (* y «(sqrt x)»)) '(1 2)))) ((gradient f) 0)",
        "infinity", "sqrt", REVERSE, None,
    ),
    (
        "entries, backwards",
        "(define (f v) (sum «(sqrt v)»)) ((gradient f) #[4 0 1])",
        "infinity", "sqrt", REVERSE, (1,),
    ),
    (
        "the library, backwards: the user's call",
        "(define (f m) (caar «(matrix-inverse m)»)) ((gradient f) '((1e-200)))",
        "infinity", "/", REVERSE, None,
    ),
    # Forward mode.
    (
        "sqrt at 0, forwards",
        "(define (f x) (* 2 «(sqrt x)»)) ((derivative f) 0)",
        "infinity", "sqrt", FORWARD, None,
    ),
    (
        "acos at 1, forwards",
        "(define (f x) (+ 2 «(acos x)»)) ((derivative f) 1)",
        "infinity", "acos", FORWARD, None,
    ),
    (
        "in a callee, forwards",
        "(define (g x) «(sqrt x)») (define (f x) (* x (g x))) ((derivative f) 0)",
        "infinity", "sqrt", FORWARD, None,
    ),
    (
        "entries, forwards",
        "(define (f t) (sum «(sqrt (* t #[1 1]))»)) ((derivative f) 0)",
        "infinity", "sqrt", FORWARD, (0,),
    ),
    # Nested.
    (
        "a second derivative, forward over forward",
        "(define (f x) «(expt x 1.5)») ((derivative (derivative f)) 0)",
        "infinity", "expt", second("tangent", "forward", "forward"), None,
    ),
    (
        "a second derivative, reverse over reverse",
        "(define (f x) «(expt x 1.5)») ((gradient (gradient f)) 0)",
        "infinity", "expt", second("sensitivity", "reverse", "reverse"), None,
    ),
    (
        "a second derivative, forward over reverse",
        "(define (f x) «(expt x 1.5)») ((derivative (gradient f)) 0)",
        "infinity", "expt", second("tangent", "forward", "reverse"), None,
    ),
    (
        "a second derivative, reverse over forward",
        "(define (f x) «(expt x 1.5)») ((gradient (derivative f)) 0)",
        "infinity", "expt", second("sensitivity", "reverse", "forward"), None,
    ),
    (
        "the primal of a second derivative",
        "(define (f x) (* x «(log x)»)) ((derivative (gradient f)) 0)",
        "infinity", "log", PRIMAL, None,
    ),
]  # fmt: skip


def run(marked: str, tier: str | None = None) -> tuple[list[Finding], str, int]:
    """The findings, the evaluated text, and the position of the operation in it (-1: unspecified)."""
    text = marked.replace("«", "").replace("»", "")
    session = vlad.Session(tier=tier, write=lambda text: None)
    found: list[Finding] = []
    debugger = Debugger(session, found=found.append)
    debugger.find_nan()
    session.run_text(text, "seeded")
    debugger.close()
    return found, text, marked.find("«")


@pytest.mark.parametrize(
    ("name", "marked", "kind", "primitive", "phase", "index"), CASES, ids=[c[0] for c in CASES]
)
def test_seeded(
    name: str, marked: str, kind: str, primitive: str, phase: str, index: tuple[int, ...] | None
) -> None:
    findings, _, start = run(marked)
    first = findings[0]
    assert first.kind == kind and first.made
    assert (first.of or first.primitive) == primitive
    assert str(first.phase) == phase
    assert first.index == index
    assert first.span is not None and first.span.source.name == "seeded"
    if start >= 0:
        end = marked.find("»") - 1
        assert (first.span.start, first.span.end) == (start, end), first.span.text
    assert str(first).startswith(f"{first.span}: The first {kind}: ")


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("tier", ["evaluate", "auto"])
def test_results_stay_the_same(tier: str) -> None:
    """With the finder, the program's output is unchanged."""
    for _, marked, *_ in CASES:
        text = marked.replace("«", "").replace("»", "")
        printed: list[list[str]] = []
        for watched in (False, True):
            lines: list[str] = []
            session = vlad.Session(tier=tier, write=lines.append)
            if watched:
                Debugger(session, found=lambda finding: None).find_nan()
            session.run_text(text)
            printed.append(lines)
        assert printed[0] == printed[1], text


def test_the_infinity_comes_before_the_nan() -> None:
    findings, _, _ = run("(define (soft v) (let ((e (exp v))) (/ e (sum e)))) (soft #[1000 0])")
    assert [(f.kind, f.primitive, f.operands) for f in findings] == [
        ("infinity", "exp", ["1000"]),
        ("NaN", "/", ["+inf.0", "+inf.0"]),
    ]


def test_each_evaluation_has_its_own_first() -> None:
    findings, _, _ = run(
        "(log 0) (+ 1 2) (log 0) (let loop ((i 0)) (if (= i 5) (log 0) (+ 0 (loop (+ i 1)))))"
    )
    assert [f.primitive for f in findings] == ["log", "log", "log"]


def test_values_that_existed_before_are_marked() -> None:
    findings, _, _ = run("(define x +nan.0) (* 2 (+ x 1))")
    assert [(f.kind, f.made, f.primitive) for f in findings] == [("NaN", False, "+")]
    assert "it was there before" in str(findings[0])
    findings, _, _ = run("(define x +inf.0) (list (* 2 (+ x 1)) (min x 3) (- x x))")
    assert [(f.kind, f.made, f.primitive) for f in findings] == [("NaN", True, "-")]


def test_nothing_is_found_where_all_is_finite() -> None:
    findings, _, _ = run(
        "(define (f x y) (atan y x)) ((gradient f) 1 2) (map sqrt '(1 4)) (lbfgs (lambda (x) (* x x)) 3 1e-9)"
    )
    assert findings == []


def test_a_python_function_is_named() -> None:
    session = vlad.Session()
    found: list[Finding] = []

    @session.define
    def measure(x: float) -> float:
        return float("nan")

    debugger = Debugger(session, found=found.append)
    debugger.find_nan()
    session.eval("(+ 1 (measure 2))")
    assert [(f.primitive, f.made) for f in found] == [("measure", True)]


def test_a_sum_that_is_computed_on_access() -> None:
    """Sensitivities of long structures are added lazily: where a part of the sum is looked at, it is found."""
    program = """(define (part l) (let loop ((l l)) (if (null? (cdr l)) (* 1e308 (car l)) (loop (cdr l)))))
                 (define (f l) (+ (part l) (part l)))
                 (define g ((gradient f) LIST))
                 (fold (lambda (a x) (+ a x)) 0 g)"""
    findings, _, _ = run(program.replace("LIST", f"'({'0 ' * 99}0.5)"))
    assert findings and findings[0].kind == "infinity"
    assert findings[0].primitive == "accumulate" and findings[0].made


def test_library_positions_are_reported_as_well() -> None:
    findings, _, _ = run("(define (f v) (cons 1 (unit-vector v))) (f '(0 0))")
    within = findings[0].within
    assert within is not None and within.source.name.startswith("stdlib/")
    assert f"in the library, at {within}" in str(findings[0])


def test_numbers_in_structures() -> None:
    numpy = load_numpy()
    matrix = numpy.zeros((2, 3))
    matrix[1, 2] = numpy.inf
    assert kind_within((1.0, (2.0, ()))) == ""
    assert kind_within((float("inf"), (float("nan"), ()))) == "NaN"
    assert odd_entry((1.0, (float("-inf"), ()))) == (None, float("-inf"))
    assert odd_entry((1.0, Tensor(matrix))) == ((1, 2), float("inf"))
    matrix[0, 1] = numpy.nan
    index, number = odd_entry(Tensor(matrix))
    assert index == (0, 1) and number != number
