"""Programs with tensors: compiled results equal those of tier 0, including the kind of every number."""

from __future__ import annotations

import ctypes
import itertools
import math
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from agreement import V, agree
from amounts import THOROUGH, drawn
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad
from vlad.compile.native import blas
from vlad.compile.native.blas import Product, product

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "text",
    [
        '(transpose "text")',
        "(transpose #t)",
        "(transpose '(1 2) #:axes '(0))",
        "(tensor->list 'a)",
        "(tensor->list #t)",
    ],
)
def test_what_is_no_number_has_no_entries(text: str) -> None:
    what = re.sub(r"\W*(\S+).*", r"\1", text)
    assert agree(f"(lambda () {text})") == [f"Argument to {what} is invalid", (1, 12)]


def test_arange_has_the_entries_of_numpy() -> None:
    for text, expected in [
        ("(lambda (x) (+ x (arange 3 #:start 0.1 #:step 0.1)))", np.arange(0.1, 3, 0.1)),
        ("(lambda (x) (+ x (arange -7 #:start 5.3 #:step -0.7)))", np.arange(5.3, -7, -0.7)),
    ]:
        found = agree(text, 0.0)[0]
        assert found.tolist() == expected.tolist()


# x from `from` on, a number known at run time only, up to a constant distance: in loops, with derivatives.
SLICED = [
    "(slice x from (+ from 2))", "(slice x (- from 1) (+ 2 from))", "(slice x (* 2 from) (* (+ from 1) 2))",
    "(slice x (- 4 from) (- 6 from))", "(slice x from (+ from 4) #:step 2)", "(slice x from from)",
    "(slice x from (+ from 3) #:axis 1)", "(slice x from (+ 3 from) #:axis -1 #:step 2)",
    "(let ((to (+ from 3))) (slice x (- to 2) to))", "(sin (slice (* x x) from (+ from 1)))",
]  # fmt: skip
TURNS = """(lambda (x first end)
  (let* ((f (lambda (x) (let loop ((from first) (total 0))
              (if (= from end) total (loop (+ from 1) (+ total (sum (sin {part}))))))))
         (g (gradient f)))
    (list (f x) (g x) ((derivative-F (lambda (t) (f (* t x)))) 1) ((gradient (lambda (x) (sum (* (g x) (cos x))))) x)
          ((derivative-F (lambda (t) (g (* t x)))) 1)
          ((derivative-F (lambda (t) ((gradient (lambda (x) (sum (* (g x) (cos x))))) (* t x)))) 1))))"""


@pytest.mark.any_compiler
@pytest.mark.parametrize("part", SLICED)
@settings(max_examples=drawn(8), deadline=None)
@given(
    st.sampled_from([6, 5, 4]), st.sampled_from([5, 4]), st.sampled_from([(), (2,)]), st.sampled_from([1, 0, 2]),
    st.sampled_from([2, 3, 1, 0]),
)  # fmt: skip
def test_slices_that_begin_anywhere(
    part: str, rows: int, columns: int, rest: tuple[int, ...], first: int, turns: int
) -> None:
    """Out of range, too, where they get there. What is drawn first, and alone unless the run is thorough, makes two turns within
    the range.
    """
    x = np.random.default_rng(0).normal(size=(rows, columns, *rest))
    agree(TURNS.format(part=part), x, float(first), float(first + turns))


@pytest.mark.parametrize(
    "text", ["(slice x n (+ n 2))", "(slice x (* n 0.5) (+ (* n 0.5) 2))", "(tensor-ref x n)"]
)
def test_bounds_that_are_no_bounds(text: str) -> None:
    for n in (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, np.nan, np.inf):
        agree(f"(lambda (x n) {text})", V, n)


def test_an_unknown_length_is_measured() -> None:
    agree("(lambda (x n) (slice x 0 (round n)))", V, 2.1)


def test_an_unknown_length_in_a_loop_is_left_to_tier_0() -> None:
    text = "(lambda (x n) (let loop ((i 0) (r 0)) (if (< i n) (loop (+ i 1) (+ r (sum (slice x 0 i)))) r)))"
    agree(text, V, 2.1, compiled=False)
    session = vlad.Session(tier="compile")
    session.eval(text)(V, 2.1)
    (entry,) = session.tiers.entries.values()
    assert entry.reason == "the length of a slice is known only when the program runs"


def test_a_sensitivity_of_a_slice_that_is_repeated() -> None:
    for sensitivity in ("2", "#[2]", "#[1 2]", "#[1 2 3]"):
        text = f"(lambda (x n) (cdr ((cdr ((J (lambda (x) (slice x n (+ n 2)))) (J x))) {sensitivity})))"
        agree(text, V, 1.0, compiled=False)


TRAINING = """(lambda (x y n)
  (let* ((data (cons x y))
         (loss (lambda (w (cons x y)) (mean (square (- (matmul x w) y))))))
    (fold (lambda (batch w) (- w (* 0.1 ((gradient (lambda (w) (loss w batch))) w)))) (zeros 3) (batches data {n}))))"""


@pytest.mark.any_compiler
@pytest.mark.parametrize("n", [1, 4, 7, 13, 130, 200])
def test_minibatches(n: int) -> None:
    """As many as there may be; the last may be smaller."""
    r = np.random.default_rng(0)
    agree(TRAINING.format(n=n), r.normal(size=(130, 3)), r.normal(size=130), 0.0)


def test_rows_of_large_tensors_are_read_in_loops() -> None:
    """Reading costs nothing in the reverse phase; a sensitivity that is nearly all zeros is left to tier 0."""
    x, w = np.random.default_rng(0).normal(size=(400, 3)), np.ones(3)
    loop = "(let loop ((i 0) (a 0)) (if (= i 400) a (loop (+ i 1) (+ a (sin (dot w (tensor-ref x i)))))))"
    agree(f"(lambda (x w) ((gradient (lambda (w) {loop})) w))", x, w)
    agree(f"(lambda (x w) ((gradient (lambda (x) {loop})) x))", x, w, compiled=False)


WRITTEN = [
    "#[1 2.5 -0.0]", "(> #[1 2] 1)", "(argmax #[[1 2] [4 3]] #:axis 1)", "(list #[[1 2] [3 4]] #[] (zeros '(2 0)) 3)",
    "(reshape (arange 12) '(2 3 2))", "(as-type #[1 -2.5] 'int64)", "(as-type #[0.1 2] 'float32)", "(as-type #[7] 'int32)",
    "(arange 1001)", "(reshape (arange 4004) '(2 1001 2))", "#[1e300 +nan.0 -inf.0]",
]  # fmt: skip


@pytest.mark.any_compiler
@pytest.mark.parametrize("text", WRITTEN)
def test_tensors_are_written_alike(text: str) -> None:
    printed: dict[str, list[str]] = {"evaluate": [], "compile": []}
    for tier, lines in printed.items():
        session = vlad.Session(tier=tier, write=lines.append)
        session.eval(f"(lambda () (begin (write {text}) (display {text})))")()
        assert {entry.reason for entry in session.tiers.entries.values()} <= {None}
    assert printed["compile"] == printed["evaluate"] and "[" in printed["compile"][0]


def test_whether_an_index_that_is_computed_fits_is_no_matter_of_types(tmp_path: Path) -> None:
    program = "(tensor-ref #[1 2 3] (sum #[1 1]))\n(gather #[10 20] #[1 0])\n(scatter-add #[1 2] #[1] #[3])\n"
    path = tmp_path / "indices.vlad"
    for text, mistakes in ((program, 0), (program + "(tensor-ref #[1 2 3] 3)\n", 1)):
        path.write_text(text)
        run = subprocess.run(
            [sys.executable, "-m", "vlad", "check", path],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert (run.stdout + run.stderr).count("Error") == mistakes, run
        assert run.returncode == mistakes


def test_a_program_alone_writes_its_tensors(tmp_path: Path) -> None:
    path, lines = tmp_path / "alone.vlad", "\n".join(WRITTEN)
    path.write_text(
        lines
        + "\n(gather #[10 20] #[1 0])\n(let loop ((i 0) (w (zeros 3))) (if (= i 9) w (loop (+ i 1) (+ w #[1 2 3]))))\n"
    )
    command = [sys.executable, "-m", "vlad"]
    subprocess.run([*command, "build", path, "-o", tmp_path / "alone"], cwd=ROOT, check=True)
    alone, run = [
        subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for words in ([tmp_path / "alone"], [*command, path])
    ]
    assert alone == run and alone.endswith("#[20 10]\n#[9 18 27]\n")


PRODUCTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "(lambda (a b) (matmul a b))": ((40, 30), (30, 50)), "(lambda (a b) (matmul (transpose a) b))": ((30, 40), (30, 50)),
    "(lambda (a b) (matmul a (transpose b)))": ((40, 30), (50, 30)),
    "(lambda (a b) (transpose (matmul a b)))": ((40, 30), (30, 50)),
    "(lambda (a b) (matmul (transpose a) (transpose b)))": ((30, 40), (50, 30)),
    "(lambda (a b) (matmul (slice a 2 38 #:axis 1) (slice b 1 37)))": ((40, 50), (60, 50)),
    "(lambda (a b) (matmul (slice a 0 40 #:step 2) (slice b 0 60 #:axis 1 #:step 3)))": ((40, 30), (30, 60)),
    "(lambda (a b) (matmul (slice a 0 40 #:axis 1 #:step 2) b))": ((40, 40), (20, 30)),
    "(lambda (a b) (matmul a b)) ": ((3, 20, 30), (30, 40)), "(lambda (a b) (matmul b a))": ((30, 20), (3, 1, 40, 30)),
    "(lambda (a b) (matmul (reshape a '(30 40)) b))": ((60, 20), (40, 20)),
    "(lambda (a b) (matmul (tensor-ref a 1) (tensor-ref b 0)))": ((2, 30, 30), (3, 30, 30)),
    "(lambda (a b) (matmul a (+ 1 (sin b))))": ((40, 30), (30, 50)), "(lambda (a b) (matmul (* a a) a))": ((30, 30), (1,)),
    "(lambda (a b) (sum (* (matmul a b) (matmul a b)) #:axis 0))": ((40, 30), (30, 50)),
    "(lambda (a b) ((gradient (lambda (a) (sum (tanh (matmul a b))))) a))": ((40, 30), (30, 50)),
    "(lambda (a b) ((gradient (lambda (b) (sum (* (matmul a b) (matmul a b))))) b))": ((2, 20, 30), (30, 50)),
    "(lambda (a b) ((derivative-F (lambda (t) ((gradient (lambda (b) (sum (exp (matmul (* t a) b))))) b))) 0.1))":
        ((40, 30), (30, 50)),
}  # fmt: skip


@pytest.mark.parametrize("library", [True, False])
@pytest.mark.parametrize("text", PRODUCTS)
def test_large_products_in_every_layout(text: str, library: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not library:
        monkeypatch.setattr(blas, "product", lambda: Product(0, 0, False))
    r = np.random.default_rng(0)
    a, b = [r.normal(size=shape) / 6 for shape in PRODUCTS[text]]
    agree(text.strip(), a, b)
    agree(text.strip(), np.asfortranarray(a), b)


def test_the_library_multiplies() -> None:
    session = vlad.Session(tier="compile")
    f = session.eval("(lambda (a b) (matmul a b))")
    f(np.ones((30, 30)), np.ones((30, 30)))
    (entry,) = session.tiers.entries.values()
    assert entry.variants[0].interface.words.multiplies and product().address


LIBRARY = """
(define c (sin (reshape (arange 200) '(20 10))))
(define l (map (lambda (x) (list x (sin x))) (iota 50)))
(define many (+ 1 (zeros 20000000)))
(define (f x) (let ((d (* x c))) (sum (* (sum d #:axis 0) (maximum d #:axis 0)))))
(define (g x) (list-sum (map car (map (lambda (p) (list (* x (car p) (car (cdr p))))) l))))
(define (h x) (* x (tensor-ref many -1)))
"""


def test_a_library_keeps_what_it_has_defined(tmp_path: Path) -> None:
    """Calls take memory of their own, however much the definitions hold."""
    (tmp_path / "it.vlad").write_text(LIBRARY)
    exports = [word for name in "fgh" for word in ("--export-value", name)]
    subprocess.run(
        [sys.executable, "-m", "vlad", "build", tmp_path / "it.vlad", "--lib", *exports, "-o", tmp_path / "it"],
        cwd=ROOT, check=True,
    )  # fmt: skip
    library, result = ctypes.CDLL(str(tmp_path / "it")), (ctypes.c_double * 1)()
    session = vlad.Session(tier="evaluate")
    session.run_text(LIBRARY)
    for _ in range(3):
        for name in "fgh":
            assert getattr(library, name)(ctypes.c_double(0.7), result) == 0
            assert result[0] == pytest.approx(session[name](0.7), rel=1e-12), name


# Slicing and concatenation.


class Parts:
    """A program of tensors that are cut out of each other, put together and computed with, at random."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.shapes: dict[str, tuple[int, ...]] = {
            "x": self.r.choice([(1,), (5,), (9,), (4, 3), (2, 7), (3, 2, 2)])
        }
        self.bindings: list[str] = []
        self.given = self.shapes["x"]
        for _ in range(self.r.randrange(2, 9)):
            self.bind()

    def any(self, least: int = 0) -> str:
        return self.r.choice(
            [n for n, shape in self.shapes.items() if math.prod(shape) and len(shape) >= least]
        )

    def like(self, name: str, but: int | None = None) -> str:
        """One of the same shape, but for an axis."""

        def others(one: str) -> list[int]:
            return [n for axis, n in enumerate(self.shapes[one]) if axis != but]

        rank = len(self.shapes[name])
        alike = [n for n, s in self.shapes.items() if len(s) == rank and others(n) == others(name)]
        return self.r.choice(alike)

    def bind(self) -> None:
        a = self.any(1)
        shape, axis = self.shapes[a], self.r.randrange(len(self.shapes[a]))
        length, kind = shape[axis], self.r.randrange(10)
        if kind < 3:
            begin = self.r.randrange(length)
            end, step = self.r.randrange(begin + 1, length + 1), self.r.choice([1, 1, 1, 2])
            text = f"(slice {a} {begin} {end} #:axis {axis} #:step {step})"
            shape = (*shape[:axis], len(range(begin, end, step)), *shape[axis + 1 :])
        elif kind == 3:
            b = self.like(a, axis)
            text = f"(concatenate (list {a} {b} {a}) #:axis {axis})"
            shape = (*shape[:axis], 2 * length + self.shapes[b][axis], *shape[axis + 1 :])
        elif kind == 4:
            edge = (*shape[:axis], self.r.randrange(3), *shape[axis + 1 :])
            text = f"(concatenate (list (zeros '({' '.join(map(str, edge))})) {a}) #:axis {axis})"
            shape = (*shape[:axis], length + edge[axis], *shape[axis + 1 :])
        elif kind == 5 and len(shape) < 4:
            text, shape = (
                f"(stack (list {a} {self.like(a)}) #:axis {axis})",
                (*shape[:axis], 2, *shape[axis:]),
            )
        elif kind == 6 and len(shape) > 1:
            text, shape = f"(tensor-ref {a} {self.r.randrange(shape[0])})", shape[1:]
        elif kind == 7:
            flat = self.r.random() < 0.5
            text = f"(reshape {a} '(-1))" if flat else f"(transpose {a})"
            shape = (math.prod(shape),) if flat else shape[::-1]
        elif kind == 8:
            text = f"({self.r.choice(['sin', 'exp', 'square'])} (* 0.3 {a}))"
        else:
            text = f"({self.r.choice('+-*')} {a} {self.like(a)})"
        name = f"a{len(self.bindings)}"
        if math.prod(shape) < 200:
            self.shapes[name] = shape
            self.bindings.append(f"({name} {text})")

    def text(self, answer: str) -> str:
        return f"(lambda (x) (let* ({' '.join(self.bindings)}) {answer}))"


@pytest.mark.any_compiler
@pytest.mark.parametrize("seed", range(40 if THOROUGH else 20))
def test_tensors_put_together_of_parts(seed: int) -> None:
    parts = Parts(seed)
    x = np.random.default_rng(seed).normal(size=parts.given)
    last, other = list(parts.shapes)[-1], parts.any()
    loss = parts.text(f"(+ (sum (sin {last})) (sum (* {other} {other})))")
    agree(parts.text(f"(list {last} {other})"), x)
    agree(f"(lambda (x) ((gradient-R {loss}) x))", x)
    agree(f"(lambda (x) ((derivative-F (lambda (t) ((gradient-R {loss}) (* t x)))) 0.7))", x)


LARGE = np.sin(np.arange(5000.0))


def test_large_results_of_loops_are_written_to_their_place() -> None:
    """A loop that changes arrays in place fills those of the caller. Of two that change places no one is the first."""
    session = vlad.Session(tier="compile")
    fill = session.eval(
        """(lambda (x)
             (let loop ((i 0) (y (* 2 x)) (z (zeros 5000)))
               (if (= i 5000) (list y z) (loop (+ i 1) (tensor-set y i i) (tensor-set z i (tensor-ref x i))))))"""
    )
    swap = session.eval(
        """(lambda (x)
             (let loop ((i 0) (y (* 2 x)) (z (zeros 5000)))
               (if (= i 5001) (list y z) (loop (+ i 1) (tensor-set z 0 i) (tensor-set y 1 i)))))"""
    )
    first, filled = fill(LARGE)
    swapped = [array.copy() for array in swap(LARGE)]
    places = [entry.variants[0].interface.words.places for entry in session.tiers.entries.values()]
    assert [sorted(one) for one in places] == [[0, 1], []]
    fill(-LARGE)
    assert np.array_equal(first, np.arange(5000.0)) and np.array_equal(filled, LARGE)
    other = vlad.Session(tier="evaluate").eval(
        """(lambda (x)
             (let loop ((i 4990) (y (tensor-set (tensor-set (* 2 x) 0 4989) 1 4988)) (z (tensor-set (zeros 5000) 1 4989)))
               (if (= i 5001) (list y z) (loop (+ i 1) (tensor-set z 0 i) (tensor-set y 1 i)))))"""
    )(LARGE)
    assert all(map(np.array_equal, swapped, other))


def test_large_results_are_separate_arrays() -> None:
    """They are written to their final place; no call changes the result of another one."""
    session = vlad.Session(tier="compile")
    f = session.eval(
        "(lambda (x) (let ((y (* 2 x))) (list y (+ y 1) (sum y) y (matmul (reshape x '(100 50)) (ones '(50 50))))))"
    )
    first = f(LARGE)
    (entry,) = session.tiers.entries.values()
    assert sorted(entry.variants[0].interface.words.places) == [0, 1, 4]
    expected = [
        2 * LARGE,
        2 * LARGE + 1,
        (2 * LARGE).sum(),
        2 * LARGE,
        LARGE.reshape(100, 50) @ np.ones((50, 50)),
    ]
    for _ in range(3):
        f(LARGE + 1)
        f(LARGE[::-1])  # not side by side: the usual way
        assert all(np.allclose(a, b) for a, b in zip(first, expected, strict=True))
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations([*first[:2], *first[3:]], 2))
    assert not first[0].flags.writeable


def test_an_array_that_a_loop_makes_again_and_again_has_no_place() -> None:
    agree("(lambda (x n) (let loop ((i 0) (y x)) (if (= i n) y (loop (+ i 1) (* y x)))))", LARGE, 3.0)
    agree(
        "(lambda (x n) (let ((y (* 2 x))) (if (< n 0) y (let ((z (+ y y))) (if (< n 1) z (+ z y))))))",
        LARGE,
        1.0,
    )
