"""Tensors whose lengths differ from call to call: one variant serves them all, and gives the evaluator's results."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import THOROUGH

import vlad
from tests.compile.sized_programs import are_close, differences, flat

pytestmark = pytest.mark.any_compiler

R = np.random.default_rng(5)
W, V, SQUARE = R.normal(size=(7, 3)), R.normal(size=(20, 9)), R.normal(size=(7, 7)) / 3
LAYERS = [V, R.normal(size=9), R.normal(size=(9, 3))]


def normal(*shape: int) -> Any:
    return R.normal(size=shape)


# A program, and the operands of `f` for two lengths.
PROGRAMS: dict[str, tuple[str, Callable[[int, int], tuple[Any, ...]]]] = {
    "step of a regression": (
        "(define (loss w x y) (mean (square (- (tanh (matmul x w)) y))))"
        "(define (f w x y) ((gradient (lambda (w) (loss w x y))) w))",
        lambda n, m: (W, normal(n, 7), normal(n, 3)),
    ),
    "step of a network": (
        "(define (loss p x y) (sum (square (- (matmul (tanh (+ (matmul x (car p)) (cadr p))) (caddr p)) y))))"
        "(define (f p x y) ((gradient (lambda (p) (loss p x y))) p))",
        lambda n, m: (LAYERS, normal(n, 20), normal(n, 3)),
    ),
    "rows of softmax": (
        "(define (f x) ((gradient (lambda (x) (sum (square (softmax x #:axis 1))))) x))",
        lambda n, m: (normal(n, m),),
    ),
    "largest and sums of logarithms": (
        "(define (f x) (list (maximum x) (argmax x) (logsumexp x #:axis 0) ((gradient logsumexp) x)))",
        lambda n, m: (normal(n, m),),
    ),
    "shape as numbers": (
        "(define (f x) (list (shape x) (size x) (reshape x (list -1 2)) (/ (sum x) (car (shape x)))"
        " (reshape (* 2 x) (list (* 2 (car (shape x)))))))",
        lambda n, m: (normal(n, 2),),
    ),
    "entry by entry": (
        "(define (sines x) (let loop ((i 0) (r 0)) (if (= i (size x)) r (loop (+ i 1) (+ r (sin (* i (tensor-ref x i))))))))"
        "(define (f x) ((gradient sines) x))",
        lambda n, m: (normal(n),),
    ),
    "table of distances": (
        "(define (row above c x) (let loop ((j 0) (left 0) (r above)) (if (= j (size c)) (+ left (sum r))"
        " (loop (+ j 1) (min (+ left (abs (- x (tensor-ref c j)))) (tensor-ref above j)) r))))"
        "(define (total b c) (let loop ((i 0) (r 0)) (if (= i (size b)) r (loop (+ i 1) (+ r (row c c (tensor-ref b i)))))))"
        "(define (f b c) (list (total b c) ((gradient (lambda (b) (total b c))) b)))",
        lambda n, m: (normal(n), normal(m)),
    ),
    "product with a Hessian": (
        "(define (f x v) (jvp (gradient (lambda (x) (sum (* (exp x) x)))) x v))",
        lambda n, m: (normal(n), normal(n)),
    ),
    "joined and cut": (
        "(define (f x y) (list (slice (concatenate (list x y)) 1 (+ (size x) 1)) (slice y 0 2) (stack (list x (* 2 x)))))",
        lambda n, m: (normal(n), normal(m)),
    ),
    "in order": (
        "(define (f x) (list (sorted x #:axis 1) (cumsum x) ((gradient (lambda (x) (dot (sorted x) (arange (size x)))))"
        " (sum x #:axis 1))))",
        lambda n, m: (normal(n, m),),
    ),
    "solved": (
        "(define (f x b) (let ((a (+ (matmul (transpose x) x) (* 3 (eye (cadr (shape x))))))) (list (solve a b) (log-det a))))",
        lambda n, m: (normal(n, m), normal(m)),
    ),
    "integers and floats": (
        "(define (f i x) (list (sum i) (* i 2) (as-type i 'float64) (mean x) (gather x i)))",
        lambda n, m: (R.integers(0, m, n), normal(m).astype(np.float32)),
    ),
    "recurrent network": (
        '(import "nn") (define (cell w s x) (tanh (+ (matmul (car w) s) (matmul (cadr w) x))))'
        "(define (run w x) (stack (unroll (lambda (s x) (cell w s x)) (zeros 7) (unstack x))))"
        "(define (f w x y) (list (run w x) ((gradient (lambda (w x) (mean (square (- (run w x) y))))) w x)))",
        lambda n, m: ([SQUARE, W], normal(n, 3), normal(n, 7)),
    ),
    "direction through a recurrent network": (
        '(import "nn") (define (run w x) (stack (unroll (lambda (s x) (sin (+ (* w s) x))) (zeros 3) (unstack x))))'
        "(define (loss w x) (sum (square (run w x))))"
        "(define (f w x) (jvp (gradient (lambda (x) (loss w x))) x x))",
        lambda n, m: (0.5, normal(n, 3)),
    ),
    "lists of reals": (
        "(define (g x) (dot (tensor (map (lambda (r) (sum (sin r))) (unstack x))) (arange (car (shape x)))))"
        "(define (f x) (list (g x) ((gradient g) x) (tensor (map exp (tensor->list (sum x #:axis 1))))))",
        lambda n, m: (normal(n, m),),
    ),
    "parts joined": (
        "(define (joined x) (concatenate (map (lambda (r) (* r (sum r))) (unstack x #:axis 1))))"
        "(define (f x) (list (joined x) ((gradient (lambda (x) (norm (joined x)))) x)"
        " (stack (map sin (unstack x #:axis 1)) #:axis 1)))",
        lambda n, m: (normal(n, m),),
    ),
    "filtered": (
        "(define (f x) (let ((rows (filter (lambda (r) (> (sum r) 0)) (unstack x)))) (list (stack rows) (length rows))))",
        lambda n, m: (np.concatenate([normal(n, 3), np.ones((2, 3))]),),
    ),
    "closures": (
        "(define (f g x) ((gradient (g 2)) x)) (define ((make y) k) (lambda (x) (* k (dot x (sin y)))))"
        "(define (with y) (make y))",
        lambda n, m: (None, normal(n)),
    ),
}  # fmt: skip


def sessions(text: str) -> tuple[vlad.Session, vlad.Session]:
    both = vlad.Session(tier="compile"), vlad.Session(tier="evaluate")
    for session in both:
        session.run_text(text)
    return both


def variants(session: vlad.Session, name: str = "f") -> list[Any]:
    (entry,) = [entry for entry in session.tiers.entries.values() if entry.f[0].name == name]
    assert entry.reason is None and not entry.disagrees
    return entry.variants


def agree(one: Any, other: Any, within: float = 1e-9) -> bool:
    return len(flat(one)) == len(flat(other)) and all(
        are_close(a, b, within) for a, b in zip(flat(one), flat(other), strict=True)
    )


def outcome(session: vlad.Session, *operands: object) -> list[object]:
    """The leaves of `(f . operands)`, or its error message."""
    try:
        return flat(session["f"](*operands))
    except vlad.VladError as error:
        return [str(error)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_variant_serves_all_lengths(name: str) -> None:
    """Tier 0 takes most of the time: it computes a tenth of them."""
    text, operands = PROGRAMS[name]
    compiled, evaluated = sessions(text)
    lengths = [(37, 25), (48, 12), *[(int(n), int(m)) for n, m in R.integers(3, 90, (100, 2)) if n != m]]
    for turn, (n, m) in enumerate(lengths):
        given = operands(n, m)
        results = []
        for session in (compiled, evaluated) if turn < 3 or turn % 10 == 0 or THOROUGH else (compiled,):
            own = (session["with"](given[-1]), *given[1:]) if name == "closures" else given
            results.append(session["f"](*own))
        assert agree(results[0], results[-1], within=1e-5 if name == "integers and floats" else 1e-9), (n, m)
    assert len(variants(compiled)) == 2  # one for the first lengths, and one for all


def test_axes_that_are_always_equal_have_one_size_others_have_a_guard() -> None:
    compiled, evaluated = sessions("(define (f x y) (sum (* x (sum y)))) (define (g x y) (sum (* x y)))")
    for n, m in (20, 30), (25, 35), (40, 40), (50, 60):
        x, y = normal(n), normal(m)
        assert agree(compiled["f"](x, y), evaluated["f"](x, y))
    for n in 20, 30, 40:
        x, y = normal(n), normal(n)
        assert agree(compiled["g"](x, y), evaluated["g"](x, y))
    assert len(variants(compiled)) == len(variants(compiled, "g")) == 2
    with pytest.raises(vlad.VladError) as raised:
        compiled["g"](normal(30), normal(31))
    with pytest.raises(vlad.VladError) as expected:
        evaluated["g"](normal(30), normal(31))
    assert str(raised.value) == str(expected.value)


def test_lengths_with_a_meaning_of_their_own() -> None:
    """An axis of length 1 is repeated; there is no largest entry of none."""
    compiled, evaluated = sessions(
        "(define (f x y) (list (* x y) ((gradient (lambda (x) (sum (* x y y)))) x) (maximum y)))"
    )
    y = normal(3, 12)
    for n in 12, 1, 12, 1:
        x = normal(3, n)
        assert agree(compiled["f"](x, y), evaluated["f"](x, y))
    for n in 30, 40, 0:
        x, y = normal(3, n), normal(3, n)
        assert agree(outcome(compiled, x, y), outcome(evaluated, x, y))


def test_short_axes_have_variants_of_their_own_at_first() -> None:
    compiled, _ = sessions("(define (f x) (sum (* x x)))")
    for n in 2, 3, 4, 5, 6, 7, 8, 2, 6:
        assert compiled["f"](np.ones(n)) == n
    assert len(variants(compiled)) == 5


def test_a_comparison_of_lengths_is_decided_for_each_variant() -> None:
    text = "(define (f x y) (if (< (size x) (size y)) (sum x) (slice y 0 (car (shape y)))))"
    compiled, evaluated = sessions(text)
    for n, m in (10, 20), (12, 25), (25, 12), (30, 11), (9, 100):
        x, y = normal(n), normal(m)
        assert agree(compiled["f"](x, y), evaluated["f"](x, y))


def test_a_slice_of_constant_bounds_admits_what_is_long_enough() -> None:
    compiled, evaluated = sessions("(define (f x) (sum (slice x 2 12)))")
    for n in 20, 30, 12, 13:
        x = normal(n)
        assert agree(compiled["f"](x), evaluated["f"](x))
    assert len(variants(compiled)) == 2
    with pytest.raises(vlad.VladError, match="out of range"):
        compiled["f"](normal(11))


def test_a_tensor_of_the_program_keeps_its_length() -> None:
    """It may be the same array as an operand."""
    x, y = normal(30), normal(40)
    compiled, evaluated = sessions("(define x #f) (define (f y) (list (+ (sum x) (sum y)) (* x 2) y))")
    for session in (compiled, evaluated):
        session["x"] = x
    given = [session["x"] for session in (compiled, evaluated)]
    assert agree(compiled["f"](y), evaluated["f"](y))
    assert agree(compiled["f"](given[0]), evaluated["f"](given[1]))
    assert np.shape(compiled["f"](normal(35))[1]) == (30,)


def test_lists_that_change_their_lengths_within_a_call() -> None:
    """Compiled code takes lists of one length in a call; otherwise, and for lists of one element, the evaluator does the call."""
    text = """
      (define (firsts n x) (if (= n 0) '() (cons (tensor-ref x n) (firsts (- n 1) x))))
      (define (f k x) (let loop ((i 0) (r 0)) (if (= i 3) r (loop (+ i 1) (+ r (sum (stack (firsts (+ 2 (* i k)) x))))))))"""
    compiled, evaluated = sessions(text)
    x = normal(40, 3)
    for k in 0, 0, 5, 0, 7:
        assert agree(compiled["f"](k, x), evaluated["f"](k, x))
    assert variants(compiled)
    for _ in range(10):
        assert agree(compiled["f"](3, x), evaluated["f"](3, x))
    (entry,) = [entry for entry in compiled.tiers.entries.values() if entry.f[0].name == "f"]
    assert not entry.variants and entry.reason is not None and "change their lengths" in entry.reason


OF_LISTS = {
    "layers": ("(fold-left (lambda (x w) (tanh (matmul x w))) x l)", lambda n, m: normal(3, 3)),
    "sequences": (
        "(map (lambda (y) (tanh (sum (matmul x (transpose y)) #:axis 1))) l)",
        lambda n, m: normal(m, 3),
    ),
    "pairs": (
        "((gradient (lambda (x) (list-sum (map (lambda (p) (sum (square (- (matmul (car p) (sum x #:axis 0)) (cadr p))))) l))))"
        " x)",
        lambda n, m: [normal(m, 3), normal(m)],
    ),
}


@pytest.mark.parametrize("name", OF_LISTS)
def test_lists_of_any_length_of_tensors_of_any_length(name: str) -> None:
    """One variant serves both, beside those for the first lists, and for equal lengths; the list determines its tensors'."""
    text, element = OF_LISTS[name]
    compiled, evaluated = sessions(f"(define (f x l) {text})")
    for n, m in (4, 11), (7, 12), (15, 15), *R.integers(9, 30, (20, 2)):
        operands = normal(n, 3), [element(n, m) for _ in range(n - 1)]
        assert agree(compiled["f"](*operands), evaluated["f"](*operands))
    assert len(variants(compiled)) <= 5
    for operands in (normal(4, 3), []), (normal(4, 3), [element(4, 9), element(4, 10)]):
        assert agree(outcome(compiled, *operands), outcome(evaluated, *operands))


IN_BATCHES = {
    "product of parts": "(fold-left (lambda (r b) (+ r (dot (car b) (cdr b)))) 0 (batches (cons x y) 4))",
    "steps": """(fold-left (lambda (w b) (- w ((gradient (lambda (w) (mean (square (- (* w (car b)) (cdr b)))))) w)))
                  0.5 (batches (shuffled (random-key 1) (cons x y)) 4))""",
    "means": "(map (lambda (b) (/ (sum b) (size b))) (batches x 4))",
}


@pytest.mark.parametrize("name", IN_BATCHES)
def test_batches_of_any_number_of_rows(name: str) -> None:
    """The last batch is shorter, or there is none such. A single row is left to the evaluator, without further effects."""
    compiled, evaluated = sessions(f'(import "data") (define (f x y) {IN_BATCHES[name]})')
    for n in (11, *range(10, 60)):
        x, y = normal(n), normal(n)
        assert agree(compiled["f"](x, y), evaluated["f"](x, y))
    (entry,) = [entry for entry in compiled.tiers.entries.values() if entry.f[0].name == "f"]
    assert len(entry.variants) == 2 and entry.reason is None


OVER_ROWS = {
    "by a number": "((gradient (lambda (a) (sum (fold-left (lambda (s r) (tanh (+ (* a s) r))) (zeros 2) (unstack x))))) 0.5)",
    "by the rows": "((gradient (lambda (x) (sum (fold-left (lambda (s r) (tanh (+ s r))) (zeros 2) (unstack x))))) x)",
    "in a loop": """((gradient (lambda (a) (let loop ((rows (unstack x)) (s #[0 0]))
                      (if (null? rows) (sum s) (loop (cdr rows) (tanh (+ (* a s) (car rows)))))))) 0.5)""",
}


@pytest.mark.parametrize("name", OVER_ROWS)
def test_gradients_through_many_rows(name: str) -> None:
    """Sensitivities that are stacked have the shape of the tensor that was unstacked: no call is left to the evaluator."""
    compiled, evaluated = sessions(f"(define (f x) {OVER_ROWS[name]})")
    x = normal(40, 2)
    assert agree(compiled["f"](x), evaluated["f"](x))
    (entry,) = [entry for entry in compiled.tiers.entries.values() if entry.f[0].name == "f"]
    assert len(entry.variants) == 1 and not entry.keeps_apart and entry.variants[0].unsupported == 0


OF_NUMBERS = {
    "fraction of the length": "(let ((k (floor (* 0.8 (size x))))) (list (sum (slice x 0 k)) (slice x k (size x))))",
    "keys": "(map (lambda (key) (normal key '(2))) (split (random-key 1) (+ 2 (argmax x))))",
    "as many keys as parts": """(map2 (lambda (key r) (* r (normal key '())))
                                   (split (random-key 1) (length (filter positive? (tensor->list x)))) (tensor->list x))""",
    "slice": "(slice (sorted x) 0 (+ 2 (argmax x)))",
    "gradient of a slice": "((gradient (lambda (x) (sum (square (slice x 0 (+ 2 (argmax x))))))) x)",
    "slice with a step": "(let ((k (+ 1 (argmax x)))) (slice x 1 (+ 4 k) #:step 2))",
    "noise": "(sum (normal (random-key 1) (list (+ 5 (argmax x)) 3)))",
    "product of ones and a slice": "(let ((k (+ 2 (argmax x)))) (* (ones k) (slice x 0 k)))",
    "range": "(let ((k (+ 2 (argmax x)))) (list (arange k) (reshape (linspace 0 1 k) (list -1 1))))",
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_lengths_that_a_call_computes(name: str) -> None:
    compiled, evaluated = sessions(f"(define (f x) {OF_NUMBERS[name]})")
    for n in 30, 41, *R.integers(10, 200, 30):
        x = normal(n)
        x[-8:] = 0  # so that each slice is within it
        assert agree(compiled["f"](x), evaluated["f"](x))
    assert len(variants(compiled)) == 2
    for x in np.eye(1, 9, 8)[0], np.array([np.nan, 1.0, 2.0]):
        assert agree(outcome(compiled, x), outcome(evaluated, x))


def test_axes_that_a_call_computes_are_left_to_the_evaluator() -> None:
    compiled, evaluated = sessions("(define (f x) (sum (reshape x '(5 2)) #:axis (if (> (argmax x) 3) 1 0)))")
    for _ in range(3):
        x = normal(10)
        assert agree(compiled["f"](x), evaluated["f"](x))


def test_arrays_of_any_length_are_collected() -> None:
    """The collector copies whole arrays, whose lengths are determined by the call, or within it."""
    text = """
      (define (f x n)
        (let loop ((i 0) (t x) (r 0))
          (if (= i n)
              (list t r)
              (let ((s (stack (map (lambda (row) (* 0.999 (sin (+ row i)))) (unstack t)))))
                (loop (+ i 1) s (+ r (sum s)))))))
      (define (g x n)
        (let loop ((i 0) (t x) (l '())) (if (= i n) (list t l) (loop (+ i 1) (sin (+ t i)) (if (= i 9) (list t) l)))))"""
    compiled, evaluated = sessions(text)
    for rows in 30, 41, 55:
        x = normal(rows, 30)
        for name, turns in (("f", 6), ("g", 8_000)):
            compiled[name](x, turns)
    x = normal(50, 30)
    assert agree(compiled["f"](x, 700), evaluated["f"](x, 700))
    assert agree(compiled["g"](x, 4_000), evaluated["g"](x, 4_000))
    assert len(variants(compiled)) == len(variants(compiled, "g")) == 2


def test_a_call_from_within_a_call_of_other_lengths() -> None:
    """Python's function, which compiled code calls to write, calls it again."""
    found = []

    def write(text: str) -> None:
        if text.strip() and len(found) < 3:
            found.append(0)
            session["f"](np.ones(25 + len(found)))

    session = vlad.Session(tier="compile", write=write)
    session.run_text("(define (f x) (write (size x)) (newline) (list (* x 2) (sum x)))")
    for n in 20, 30, 40, 33:
        found.clear()
        doubled, total = session["f"](np.ones(n))
        assert doubled.shape == (n,) and total == n and list(doubled) == [2.0] * n


def test_a_length_that_is_written_or_becomes_a_text() -> None:
    text = """
      (define (f x n) (display (shape x)) (display (list n (size x))) (newline) (slice x 0 n))
      (define (g x) (display (shape (zeros (+ 2 (argmax x))))) (newline) (string-append "n = " (number->string (size x))))"""
    written: list[list[str]] = []
    for tier in ("compile", "evaluate"):
        written.append([])
        session = vlad.Session(tier=tier, write=written[-1].append)
        session.run_text(text)
        for n in 12, 15, 30:
            session["f"](np.ones(40 + n), n)
            written[-1].append(session["g"](np.arange(float(n))))
    assert "".join(written[0]) == "".join(written[1])


@pytest.mark.parametrize(
    "text",
    [
        "(let ((h (quotient (size x) 2))) (+ (slice x 0 h) (slice x h (size x))))",
        "(reshape x (list (quotient (size x) 2) 2))",
        "(let ((t (tensor (map sin (tensor->list x))))) (slice t (quotient (size t) 3) (size t)))",
        "(reshape x (list (+ 2 (argmax (slice x 0 1))) -1))",
    ],
)
def test_quotients_of_lengths(text: str) -> None:
    compiled, evaluated = sessions(f"(define (f x) {text})")
    for n in 20, 22, 40, 12, 2, 100:
        assert agree(compiled["f"](normal(n) * 0 + 1), evaluated["f"](normal(n) * 0 + 1))
    assert variants(compiled)


HUGE = [
    ("(sum (zeros (list n n n)))", (1 << 21, 1 << 22, 1 << 30, 1e18)),
    ("(size (zeros (list n n n n)))", (1 << 14, 1 << 15, 1 << 16)),
    ("(+ 1 (zeros (list n (* n n))))", (1 << 21, 1 << 31, 1e300)),
    ("(sum (slice (ones 50) 0 n))", (2.0**63, 1e19, 1e300, np.inf)),
]


@pytest.mark.parametrize(("text", "numbers"), HUGE)
def test_huge_lengths(text: str, numbers: tuple[float, ...]) -> None:
    """Products of lengths do not overflow."""
    compiled, evaluated = sessions(f"(define (f n) {text})")
    for n in 20, 30:
        assert agree(compiled["f"](n), evaluated["f"](n))
    for n in numbers:
        messages = []
        for session in (compiled, evaluated):
            with pytest.raises(vlad.VladError) as raised:
                session["f"](n)
            messages.append(raised.value.message)
        assert messages[0] == messages[1]


def test_one_call_unlike_the_others_costs_no_more_than_its_variant() -> None:
    compiled, evaluated = sessions(
        "(define (f x) (reshape x (list (quotient (size x) (cadr (shape x))) -1)))"
    )
    for n, m in (10, 12), (11, 12), (20, 15), *[(n, 12) for n in range(30, 60)]:
        x = normal(n, m)
        assert agree(compiled["f"](x), evaluated["f"](x))
    assert len(variants(compiled)) <= 4


def test_a_stack_of_no_elements() -> None:
    compiled, evaluated = sessions("(define (f x) (stack (filter (lambda (r) (> (sum r) 0)) (unstack x))))")
    for n in 12, 20, 30:
        assert agree(compiled["f"](np.ones((n, 2))), evaluated["f"](np.ones((n, 2))))
    for rows in np.zeros((9, 2)), np.concatenate([np.zeros((9, 2)), np.ones((1, 2))]):
        assert agree(outcome(compiled, rows), outcome(evaluated, rows))


def test_elements_of_several_shapes_are_left_to_the_evaluator() -> None:
    compiled, evaluated = sessions(
        "(define (parts n) (if (= n 0) '() (cons (if (= n 7) (zeros 2) (ones 3)) (parts (- n 1)))))"
        "(define (f n) (concatenate (parts n)))"
    )
    for n in 12, 5, 20:
        assert agree(compiled["f"](n), evaluated["f"](n))


def test_code_for_all_lengths_is_found_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("VLAD_CACHE", str(tmp_path / "cache"))
    text, operands = PROGRAMS["step of a network"]
    for number in range(2):
        compiled, evaluated = sessions(text)
        for n in 31, 37 + number, 41, 59:
            given = operands(n, 2)
            assert agree(compiled["f"](*given), evaluated["f"](*given))
        assert len(variants(compiled)) == 2


@pytest.mark.parametrize("seed", range(400 if os.environ.get("VLAD_THOROUGH") else 8))
def test_random_programs(seed: int) -> None:
    found, note = differences(seed)
    assert not found and note.endswith("variants")
