"""Whole programs: `vlad check` prints their types, `vlad build` makes standalone programs and libraries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cffi
import numpy
import pytest
from amounts import THOROUGH
from commands import command
from shipped import EXAMPLES, NEED_TIER_0, ROOT

import vlad

PROGRAMS = {
    "output": """
(define (numbers n) (if (= n 0) '() (cons n (numbers (- n 1)))))
(define xs (numbers 5))
"text"
xs
(write (list 'a "b\\n" #t (real 0.1) (cons 1 2)))
(display "é ") (display xs) (newline)
(for-each write-real '(1e300 -0.0 5e-324))
((gradient (lambda (x y) (* x (sin y)))) 1 2)
numbers
(lambda (x) (* 2 x))
""",
    "globals": """
(define a (real 2))
(define (scaled x) (* a x))
(define b (scaled 3))
(define pairs (map (lambda (x) (cons x (scaled x))) '(1 2 3)))
(define slope (derivative scaled))
(define (both) (list a b (slope 1)))
pairs
(both)
(let loop ((i 0) (sum 0)) (if (= i 100000) sum (loop (+ i 1) (+ sum (car (car pairs))))))
""",
    "loops": """
(define (descend f x n) (if (= n 0) x (descend f (- x (* 0.1 ((derivative-R f) x))) (- n 1))))
(descend (lambda (x) (* (- x 3) (- x 3))) 0 200)
(define (collatz n k) (if (= n 1) k (collatz (if (even? n) (/ n 2) (+ 1 (* 3 n))) (+ k 1))))
(map (lambda (n) (collatz n 0)) '(1 7 27))
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(deep 100000)
""",
    "an error": '(write 1)\n(define (f x) (if (> x 2) (error "too large:" x \'sym) x))\n(f 1)\n(f 3)\n(f 1)',
    "a wrong kind": "(write 1)\n(define (f l) (if (null? l) 0 (car l)))\n(f (list (real 1)))\n(car (f '((1))))\n(car (f '()))",
    "no end": "(define (f x) (+ 1 (f x)))\n(f 1)",
    "tangents": """
(define a (real 2))
(define (f x y) (hvp (lambda (x) (sum (sin (if (> (tensor-ref x 0) 5) x y)))) x x))
(f (* a #[1 2 3]) (* a #[1 2]))
(f (* a #[3 2 3]) (* a #[1 2]))
(define (g x) (let loop ((i 0) (u (tensor-ref x 0))) (if (= i 2) (* u u) (loop (+ i 1) (* u a)))))
(hvp g #[1 2] #[1 0])
""",
    "a name with another meaning, and an end of its own": """
(define plus +)
(define (+ a b) (plus 1 (plus a b)))
(define also +)
(define (g x) (+ x 1))
(list (+ 1 2) (plus 1 2) (also 1 2) (g 1))
(define (leave x) (dynamic-wind (lambda () (display "in ")) (lambda () (when (> x 2) (exit (* x 2))))
  (lambda () (display "out "))))
((derivative (lambda (x) (leave x) (* x x))) 2)
((derivative (lambda (x) (leave x) (* x x))) 3)
(display "never")
""",
    "mechanics": """
(import "mechanics")
(define ((spring k) (up t q v)) (- (* 0.5 (square v)) (* 0.5 k (square q))))
(define start (up 0 1 0))
(define (after-a-second k) (coordinate (rk4-step (lambda (t s) ((Lagrangian->state-derivative (spring k)) s)) 0 start 0.5)))
(list (after-a-second 2) ((D after-a-second) 2) ((+ 1 sin) 0))
(rk4 (lambda (t s) ((Lagrangian->state-derivative (spring 2)) s)) 0 start 1 10)
""",
}


def built(path: Path, folder: Path, *options: str) -> Path:
    target = folder / "program"
    done = command("build", str(path), "-o", str(target), *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"written: {target}\n", "")
    return target


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_alone_prints_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "it.vlad"
    path.write_text(PROGRAMS[name], encoding="utf-8")
    expected = command("--tier", "evaluate", str(path))
    done = subprocess.run([built(path, tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.stdout == expected.stdout
    assert done.returncode == expected.returncode
    # an error has its place and message; the values, the hint and the callers need Python
    assert done.stderr.splitlines()[:3] == expected.stderr.splitlines()[: len(done.stderr.splitlines())][
        :3
    ] or (name == "no end" and "Recursion is too deep" in done.stderr)


@pytest.mark.parametrize("name", sorted(NEED_TIER_0))
def test_an_example_that_needs_tier_0(name: str, tmp_path: Path) -> None:
    done = command("build", str(ROOT / "examples" / f"{name}.vlad"), "-o", "it", cwd=tmp_path)
    assert done.returncode == 1 and "This cannot be compiled: " in done.stderr
    assert not (tmp_path / "it").exists()


# Where the part that is built ends, and the number of lines that it prints.
FIRST_PARTS = {"probabilistic": ("; The unknowns of maximum likelihood.", 5)}


@pytest.mark.parametrize("name", sorted({path.stem for path in EXAMPLES} - NEED_TIER_0))
def test_an_example_alone(name: str, tmp_path: Path) -> None:
    """Built without optimization, which takes half as long; other tests build with it. The parts of an example that take half a
    minute to compile are left to a thorough run; tests/test_examples.py runs them.
    """
    source = ROOT / "examples" / f"{name}.vlad"
    text, expected = source.read_text(), source.with_suffix(".expected").read_text()
    if name in FIRST_PARTS and not THOROUGH:
        end, count = FIRST_PARTS[name]
        assert text.count(end) == 1
        text, expected = text.partition(end)[0], "".join(expected.splitlines(True)[:count])
    path = tmp_path / f"{name}.vlad"
    path.write_text(text, encoding="utf-8")
    program = built(path, tmp_path, *([] if THOROUGH else ["--optimize", "0"]))
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)


WORDS = """(define words (command-line-arguments))
(map string->number words)
(define (total l) (if (null? l) 0 (+ (let ((n (string->number (car l)))) (if (real? n) n 0)) (total (cdr l)))))
(total words)
"""


@pytest.fixture(scope="module")
def worded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    (folder / "words.vlad").write_text(WORDS + "words", encoding="utf-8")
    return built(folder / "words.vlad", folder)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["1", "2.5", "-1e-3", "x"],
        ["", "ünï €", "𝄞", '"', "+inf.0"],
        [str(number) for number in range(200)],
        ["é" * 30_000],
        [
            b"\xff",
            b"\xe2\x82",
            b"\xed\xa0\x80",
            b"\xc0\xaf",
            b"a\xe2\x28",
            b"\xf4\x90\x80\x80",
            b"\xf0\x82\x82\xac",
        ],
    ],
)
def test_words_of_the_command_line(worded: Path, words: list[str]) -> None:
    script = str(worded.parent / "words.vlad")
    for tier in ("evaluate", "compile"):
        expected = subprocess.run(
            [sys.executable, "-m", "vlad", "--tier", tier, script, *words], capture_output=True, timeout=60
        )
        alone = subprocess.run([worded, *words], capture_output=True, timeout=60)
        assert (alone.returncode, alone.stdout, alone.stderr) == (0, expected.stdout, expected.stderr)


READING = """(define (sum n s) (if (= n 0) s (sum (- n 1) (+ s (read-real)))))
(define n (read-real))
(write n)
(sum n 0)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("input")
    (folder / "sum.vlad").write_text(READING, encoding="utf-8")
    return built(folder / "sum.vlad", folder)


class TestInput:
    @pytest.mark.parametrize(
        "text",
        [
            "2 10 20",
            "3\n1\n\n2 -3e2",
            "0",
            " 1 +inf.0 ",
            "1 -nan.0",
            "2 1 x",
            "",
            "1 1e",
            "1 0x10",
            "1 1_0",
            "1 " + "9" * 500,
        ],
    )
    def test_numbers_are_read_alike(self, program: Path, text: str) -> None:
        alone = subprocess.run([program], input=text, capture_output=True, text=True, timeout=60)
        expected = command("--tier", "evaluate", str(program.parent / "sum.vlad"), text=text)
        if len(text) < 400:
            assert alone.stdout == expected.stdout
            assert alone.returncode == expected.returncode
        assert alone.stderr.splitlines()[:3] == expected.stderr.splitlines()[:3] or len(text) > 400

    def test_output_to_a_full_disk(self, program: Path) -> None:
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [program], input="1 2", stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
            )
        assert done.returncode == 1 and done.stderr == "cannot write the output\n"


LIBRARY = """
(define scale (real 2))
(define offsets (map (lambda (x) (* scale x)) '(1 2 3)))
(define (total l) (if (null? l) 0 (+ (car l) (total (cdr l)))))
(define (f x y) (* scale (* x (sin (+ y (total offsets))))))
(define (both x y) (list (* x y) (cons x 7) 'label))
(define (square-root x) (if (< x 0) (error "negative:" x) (sqrt x)))
(define (list-of x) (if (> x 0) (list x) '()))
(define (positive x) (> x 0))
(define (of-list l) (car l))
(define (switch x) x)
(define-record-type point (make-point x y) point? (x point-x) (y point-y))
(define (recorded x) (list x (make-point x x)))
(define (tabled x) (table 'x x))
(write "not printed")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "it.vlad").write_text(LIBRARY, encoding="utf-8")
    names = [word for name in ("f", "both", "square-root") for word in ("--export", name)]
    done = command("build", "it.vlad", "--lib", *names, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "written: libit.so libit.h\n", "")
    return folder


class TestLibrary:
    def test_from_c(self, library: Path) -> None:
        (library / "main.c").write_text("""
#include <stdio.h>
#include "libit.h"
int main(void) {
  double r[6], rows[] = {1, 2, 3, 4}, out[2];
  printf("%d", f(1.5, 0.5, r));
  printf(" %.17g", r[0]);
  printf(" %d", f_jvp(1.5, 0.5, 1, 0, r));
  printf(" %.17g %.17g", r[0], r[1]);
  printf(" %d", f_vjp(1.5, 0.5, 2, r));
  printf(" %.17g %.17g %.17g\\n", r[0], r[1], r[2]);
  printf("%d", both_vjp(2, 3, 1, 10, 100, r));
  printf(" %g %g %g %g %g\\n", r[0], r[1], r[2], r[3], r[4]);
  int status = f_rows(2, rows, out);
  printf("%d %.9g %.9g\\n", status, out[0], out[1]);
  status = square_root(-4, r);
  printf("%d %s\\n", status != 0, libit_error(status));
  return 0;
}
""")
        compiler = shutil.which("cc") or "gcc"
        command = [compiler, "-Wall", "-Werror", "main.c", "-o", "main", "-L.", "-lit", "-Wl,-rpath,."]
        subprocess.run(command, cwd=library, check=True, timeout=60)
        printed = subprocess.run(["./main"], cwd=library, check=True, capture_output=True, text=True).stdout
        session = vlad.Session(tier="evaluate", write=lambda text: None)
        session.run_text(LIBRARY)
        value = session.eval("(f 1.5 0.5)")
        gx, gy = session.eval("((gradient f) 1.5 0.5)")
        first, second, third, fourth, *_ = printed.splitlines()
        assert [float(x) for x in first.split()] == pytest.approx(
            [0, value, 0, value, gx, 0, value, 2 * gx, 2 * gy], 1e-14
        )
        # x y, x, 7; 1 * (y, x) + 10 * (1, 0)
        assert second == "0 6 2 7 13 2"
        assert [float(x) for x in third.split()] == pytest.approx(
            [0, session.eval("(f 1 2)"), session.eval("(f 3 4)")], 1e-8
        )
        assert fourth == "1 it.vlad:7:37: Error: negative: -4"

    def test_from_numpy(self, library: Path) -> None:
        ffi = cffi.FFI()
        header = (library / "libit.h").read_text(encoding="utf-8")
        ffi.cdef("\n".join(line for line in header.splitlines() if line.endswith(";")))
        lib = ffi.dlopen(str(library / "libit.so"))
        x = numpy.random.default_rng(1).normal(size=(1000, 3))
        out = numpy.empty((1000, 3))
        status = lib.f_vjp_rows(
            len(x), ffi.from_buffer("double[]", x), ffi.from_buffer("double[]", out, True)
        )
        assert status == 0
        angle = x[:, 1] + 12
        expected = numpy.stack([
            2 * x[:, 0] * numpy.sin(angle), 2 * x[:, 2] * numpy.sin(angle), 2 * x[:, 2] * x[:, 0] * numpy.cos(angle)
        ], 1)  # fmt: skip
        assert numpy.allclose(out, expected, rtol=1e-13)

    def test_names_that_mean_something_in_c(self, tmp_path: Path) -> None:
        text = "(define (f new class) (* new class)) (define (h linux vlad_run) (+ linux vlad_run))"
        (tmp_path / "it.vlad").write_text(text, encoding="utf-8")
        words = ["--export", "f", "--export", "h", "-o", "3 d-x.so"]
        done = command("build", "it.vlad", "--lib", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        for compiler in (["gcc"], ["g++", "-x", "c++"]):
            header = subprocess.run(
                [*compiler, "-Wall", "-Werror", "-c", "3 d-x.h", "-o", "x.gch"],
                cwd=tmp_path,
                capture_output=True,
                text=True,
            )
            assert (header.returncode, header.stderr) == (0, "")

    @pytest.mark.parametrize(
        ("names", "called"),
        [(["f", "f_rows"], ["f", "f_rows_"]), (["f", "f_jvp"], ["f", "f_jvp_"]), (["vlad_run"], ["xvlad_run"]),
         (["memcpy"], ["memcpy_"]), (["switch"], ["switch_"]), (["new"], ["new_"]), (["libit_error"], ["libit_error_"]),
         (["main"], ["main_"])],
    )  # fmt: skip
    def test_names_that_are_taken(self, names: list[str], called: list[str], tmp_path: Path) -> None:
        text = " ".join([f"(define ({name} x) x)" for name in names])
        (tmp_path / "it.vlad").write_text(text, encoding="utf-8")
        words = [word for name in names for word in ("--export", name)]
        done = command("build", "it.vlad", "--lib", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        header = (tmp_path / "libit.h").read_text(encoding="utf-8")
        for name, found in zip(names, called, strict=True):
            assert f"int {found}_vjp(double x, double s, double *results);" in header
            assert name == found or f"/* In the program, {found} is {name}. */" in header

    def test_values_only(self, tmp_path: Path) -> None:
        (tmp_path / "it.vlad").write_text("(define (f x) (* x x)) (define (g x) x)", encoding="utf-8")
        done = command("build", "it.vlad", "--lib", "--export-value", "f", "--export", "g", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        header = (tmp_path / "libit.h").read_text(encoding="utf-8")
        assert "int f(" in header and "int f_rows(" in header and "f_jvp" not in header and "g_vjp" in header

    def test_parameters_with_the_names_of_tangents_and_sensitivities(self, tmp_path: Path) -> None:
        (tmp_path / "it.vlad").write_text("(define (f s d_s s1) (list (* s d_s) (* s s1)))", encoding="utf-8")
        done = command("build", "it.vlad", "--lib", "--export", "f", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        header = (tmp_path / "libit.h").read_text(encoding="utf-8")
        assert "f_vjp(double s, double d_s, double s1, double s1_, double s2, double *results)" in header
        assert (
            "f_jvp(double s, double d_s, double s1, double d_s_, double d_d_s, double d_s1, double *"
            in header
        )

    def test_two_libraries_do_not_meet(self, library: Path) -> None:
        names = subprocess.run(
            ["nm", "-D", "--defined-only", str(library / "libit.so")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        exported = {line.split()[-1] for line in names.splitlines()}
        assert exported == {"libit_error"} | {
            f"{name}{kind}{rows}"
            for name in ("f", "both", "square_root")
            for kind in ("", "_jvp", "_vjp")
            for rows in ("", "_rows")
        }

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("list-of", "its result is a structure whose size is not known"),
            ("positive", "its result is a boolean"),
            ("recorded", "its result is a record of type point: return a list of its fields"),
            ("tabled", "its result is a table: return a list of its values"),
            ("of-list", "it never returns when it is given reals"),
            ("nobody", "No procedure of that name: nobody"),
            ("scale", "No procedure of that name: scale"),
        ],
    )
    def test_what_cannot_be_exported(self, library: Path, name: str, message: str) -> None:
        done = command("build", "it.vlad", "--lib", "--export", name, "-o", "other.so", cwd=library)
        assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr
        assert not (library / "other.so").exists() and not (library / "other.h").exists()


STEPS = "(define x (ones '(20 4)))\n(define (loss w) (sum (square (matmul x w))))\n"
BATCHES = """(define data (cons (ones '(20 4)) (ones 20)))
(train-epochs (sgd 0.1) (lambda (w x y) (mean-squared-error (matmul x w) y)) (cons (ones {}) '()) data 5 (random-key 1) 3)"""
NETWORK = """(define network (sequential (list (dense (ones '(4 8)) (ones 8)) tanh (dense (ones '({} 1)) (ones 1)))))
(define (loss f) (mean (square (f (ones '(20 4))))))
(optimize (adam 0.1) loss network 10)"""

CHECKS = {
    # definitions and results
    """(define n 3)
(define (f x) (* n x))
(define xs (map f (list 1 (real 2))))
(f 1)
(define (g x) ((derivative f) x))
(list "a" (g (real 2)) (> (real 1) 0))
(define (unused x) x)
(display "nothing")""": """n : 3
f : real -> real
xs : (3 real)
4:1 : 3
g : real -> real
6:1 : ("a" 3 boolean)
unused : not used (parameter: x)""",
    "(define (f x) (if (> x 0) (+ x 'a) x))\n(f (real 1))": "2:1 : real\n1:27: Argument to + is invalid\n"
    "  hint: + takes reals; these are a real and a symbol",
    "(define (f x) (g x))\n(f 1)": "2:1 : never returns: Unbound variable: g, at 1:16\n1:16: Unbound variable: g",
    # why an expression never returns, if that is no type error
    "(define (f x) (f (+ x 1)))\n(define (g x) (* 2 (f x)))\n(g 1)": "3:1 : never returns: f calls itself without end",
    '(define (f x) (if (< x 9) (f (+ x 1)) (error "far")))\n(f (real 1))': "2:1 : never returns: f calls itself without end, "
    "or it raises an error: far, at 1:39",
    "(define (even n) (odd (- n 1)))\n(define (odd n) (even (- n 1)))\n(even 2)": "3:1 : never returns: even calls itself "
    "without end",
    # a certain error is reported with its message; `…` stands for text known at run time only
    '(define (f x) (error "no" x))\n(define y (+ 1 (f 1)))': "y : never returns: it raises an error: no 1, at 1:15\n"
    "1:15: no 1",
    '(error "no:" #[1 2] (read-real) "s" (> (read-real) 0))': '1:1: no: #[…] … "s" …',
    '(define (f x) (if (> x 0) (error "more") (error "less")))\n(f (read-real))': "1:27: more\n1:42: less\n"
    "  hint: whether the program comes there depends on values",
    '(define x (error "no"))\n(+ x 1)': "1:11: no",
    "(cross-entropy #[[1 2]] #[1 0])": "1:1: The logits and labels given to cross-entropy do not fit; their shapes: (1 2) and "
    "(2)",
    "(map-tensor + #[1] #[1 2])": "1:1: The tensors given to map-tensor have several shapes: (1) and (2)",
    "(mean-squared-error #[1 2] #[1 2 3])": "1:1: What is given to mean-squared-error has different shapes: (2) and (3)",
    "(batch-norm #[[1 2]] #[1 2 3] 0)": "1:1: The tensor and the scale given to batch-norm do not fit; their shapes: (1 2) and "
    "(3)",
    "(tensor-ref #[1 2] 5)": "1:1: Index given to tensor-ref is out of range",
    "(car (if (> (read-real) 0) 1 #t))": "1:1: Argument to car is invalid",
    # where shapes do not fit, indices do not matter
    "(scatter-add #[1 2] #[0 1] #[1])": "1:1 : never returns: Shapes given to scatter-add do not fit: (2) and (1), at 1:1\n"
    "1:1: Shapes given to scatter-add do not fit: (2) and (1)",
    # behind a condition, and in a loop that may have no iteration
    STEPS
    + "(optimize (sgd 0.1) loss (ones 3) 10)": "3:1 : tensor (3)\n2:31: Shapes given to matmul do not fit: (20 4) and (3)\n"
    "  hint: the last axis of the first and the last but one of the second have to be equal; whether the program comes "
    "there depends on values",
    STEPS + "(optimize (adam 0.1) loss (ones 4) 10)": "3:1 : tensor (4)",
    BATCHES.format(3): "2:61: Shapes given to matmul do not fit: (5 4) and (3)",
    BATCHES.format(4): "2:1 : (tensor (4))",
    "(define (f x) (if (null? x) 0 (+ (length x) (car 5))))\n(f (iota (read-real)))": "1:45: Argument to car is invalid",
    "(map (lambda (x) (car x)) (iota (read-real)))": "1:18: Argument to car is invalid",
    "(map (lambda (x) (car x)) (filter pair? (iota 100)))": "1:1 : ()",
    "(define (f x) (if (tensor? x) (matmul x #[1 2]) 0))\n(f 1)\n(f (ones '(3 2)))": "2:1 : 0\n3:1 : tensor (3)",
    "(define (f x) (if (pair? x) (car x) 0))\n(f (if (> (read-real) 0) 1 '(2)))": "2:1 : real",
    "(define (f flag x) (if flag (car x) x))\n(define (g flag) (f flag (if flag '(1) 2)))\n(f #f 5)\n(g (> (read-real) 0))": (
        "3:1 : 5"
    ),
    "(map (lambda (row) (map (lambda (x) (car x)) row)) (list (iota (read-real))))": "1:37: Argument to car is invalid",
    NETWORK.format(7): "2:32: Shapes given to matmul do not fit: (20 8) and (7 1)",
    NETWORK.format(8): "3:1 : [",
    # of backpropagators of several orders the right one meets the zero it is for
    "(define (f x) (sum (argmin (lambda (y) (sum (square (- y (* x x))))) x 1e-8)))\n"
    "((gradient-R (lambda (x) (sum (hvp-R f x #[1 1])))) #[1 2])": "2:1 : tensor (2)",
    "(define (f x) (+ x ((derivative-R (lambda (v) (newton (lambda (y) (+ 1 (cadr ((gradient-R (lambda (z) y)) (list v y)))))\n"
    " 0.3 1e-7))) x)))\n((derivative-R (derivative-R f)) (real 1))": "3:1 : real",
    # two lists end together; a test of one holds for the other
    "(define l (build-list 3 sin))\n(list (dot-product l '(1 2 3)) (map2 + l '(1 2 3)) (v+ l '(1 2 3)))": "2:1 : (real ",
    "(define (nth l n) (if (= n 0) (car l) (nth (cdr l) (- n 1))))\n(nth '(1 2 3) (read-real))": "2:1 : real",
    "(define (f l none) (if (null? l) (none) (car l)))\n(f (iota 3) #f)": "2:1 : real",
    # of a procedure of which only derivatives are used, the types with which they are
    "(define (f x y) (* x (sin y)))\n((gradient f) 1 2)": "f : (reverse real) (reverse real) -> (reverse real)",
    "(define (f x) (sum (sin x)))\n(hvp f #[1 2] #[3 4])": "f : (forward (reverse tensor (2))) -> (forward (reverse real))",
    "(define (f l) (car l))\n((derivative (lambda (x) (f (list x 'a)))) (real 2))": (
        "f : (forward '(real a)) -> (forward real)"
    ),
    "(define r ((J sin) (*j (real 1))))\n(cdr r)": (
        "r : ((reverse real) . [backpropagator of sin])\n2:1 : [backpropagator of sin]"
    ),
    # procedures have names, and what they have captured where that distinguishes two uses
    "(define (adder x) (lambda (y) (+ x y)))\n(define f (adder (real 1)))": (
        "adder : real -> [lambda in adder]\nf : [lambda in adder]"
    ),
    "(define (adder x) (lambda (y) (+ x y)))\n(define (at-1 f) (f 1))\n(at-1 (adder (real 1)))\n(at-1 (adder #[1 2]))": (
        "at-1 : [lambda in adder real] -> real\nat-1 : [lambda in adder tensor (2)] -> tensor (2)"
    ),
    "(define net (dense (ones '(3 2)) (ones 2)))\n(define (size f) (sum (f (ones '(1 3)))))\n(size net)": (
        "net : [dense tensor (3 2) tensor (2)]\nsize : [dense] -> real"
    ),
    "(define f (lambda (x) x))\n((lambda (g) (g f)) (lambda (h) h))": "2:1 : [f]",
    # long lines are broken between parts, long lists counted or cut, many uses cut
    "(define a (iota (real 3)))\n(list a (list a a a a a a))": "2:1 : ((list of real) ((list of real) ×6))",
    "(define m (map (lambda (i) (list i (* 2 i) 'column)) '(100000 200000 300000 400000)))\n(define n (list m m))": (
        "n : '(((100000 200000 column) (200000 400000 column) (300000 600000 column) (400000 800000 column))\n"
        "      ((100000 200000 column) (200000 400000 column) (300000 600000 column) (400000 800000 column)))"
    ),
    "(define (f x) x)\n" + "\n".join([f"(f '({'1 ' * n}))" for n in range(12)]): "f : … and 4 more",
    # names, including those in uncalled procedures
    "(define (f s) (lenght s))": "f : not used (parameter: s)\n1:16: Unbound variable: lenght\n  hint: did you mean `length`?",
    "(define (f s) (map (lambda (x) (if (> x 0) (g x) bar)) s))": "1:45: Unbound variable: g\n1:50: Unbound variable: bar",
    "(define (f s) (let loop ((s s)) (loop baz)))": "1:39: Unbound variable: baz",
    "(define (f x) (g (+ x later)))\n(define (g x) x)\n(define later 3)": "f : not used (parameter: x)",
    "(define-syntax both (syntax-rules () ((_ a b) (list b a))))\n(define (f x) (both x 2))": "f : not used (parameter: x)",
    "(define (f) x)\n(define y (f))\n(define x (real 1))": "1:13: Unbound variable: x",
    "(map (lambda (x) (car x)) (list 1 2))": "1:18: Argument to car is invalid\n  hint: car takes a pair; this is a real",
    "(+ 1 'a)\n((if (> (read-real) 0) 2 '(1)) 3)": "  value: a\n  hint: + takes reals; these are a real and a symbol\n"
    "2:1: Target is not a procedure",
    "(define (f (list a b) t) (+ a t))\n(define (g p) (f p 2))\n(list (g '(1 2)) ((gradient g) '(1 2 3)))": "2:15: "
    "The parameter `(list a b)` of f takes a list of 2\n  hint: such a list is `(list 1 2)`; this one has 3",
    "(list '#(1 #(a)) (vector (real 1) 2) (list->vector (iota 30)))": "1:1 : ((vector 1 (vector 'a)) (vector real 2) "
    "(vector of real))",
    "(define (f (list a b)) (+ a b))\n(f 3)\n(optimize (sgd 0.1) f '(1 2 3) 10)": "2:1: The parameter `(list a b)` of f takes "
    "a list of 2\n  value: 3\n  hint: such\n3:1: The parameter `(list a b)` of f takes a list of 2\n  hint: such a list is "
    "`(list 1 2)`; this one has 3\n  in detail: () was expected here",
    "(as-type #[1 2] 'int32)\n(as-type #[1 2] 'int64)": "1:1 : tensor (2) int32\n2:1 : tensor (2) int64",
    "(length 5)": "1:1: ",
    "(define (f a b) (+ a b))\n(define (g x) (* 2 (f x)))\n(g 1)": "2:20: f takes 2 arguments and got 1; its parameter list "
    "is (f a b)",
    "(define (f x) (+ x 1))\n(define (g x) (* 2 (f x 2)))\n(g 1)": "2:20: f takes 1 argument and got 2; its parameter list",
    "(define (f p) (+ (car p) (cdr p)))\n(f 1 '(2))": "1:15: Argument to + is invalid",
    "(define (f a b) (+ a b))\n((gradient f) 1)": "2:1: f takes 2 arguments and got 1",
    "(1 2)\n(define (area r) (* 2 r))\n(define (twice r) (+ r (area r)))\n(twice)": "1:1: Target is not a procedure\n"
    "4:1: twice takes 1 argument and got none; its parameter list is (twice r)",
    "(define (f x) x)\n(define f 2)": "2:1: f is defined a second time",
    "(define (f x) (+ x 1))\n(f 1)\n(define (+ a b) 42)": "1:16: + is used here before the program defines or "
    "imports it",
    '(define * +)\n(import "mechanics")\n(* 3 4)': "2:1: * is defined a second time",
    '(define (f x) (square x))\n(f 3)\n(import "mechanics")': "1:16: square is used here before the program defines or imports",
    "(define r (f 1))\n(define (f x) x)": "1:12: Unbound variable: f",
    "(define (f x) (if (> x 0) (g x) 0))\n(f -1)\n(define (g x) x)\n(f 1)": "2:1 : 0\n",
    # an error in one form does not affect the others
    "(define (f x)\n  (+ x 1)\n\n(define (g y) (car 5))\n(g 2)\n(f (lenght '()))": "5:1 : never returns: Argument to car is "
    "invalid, at 4:15\n1:1: The `(` is never closed\n  hint: add the missing `)`\n"
    "4:15: Argument to car is invalid\n6:5: Unbound variable: lenght\n",
    "(define (f x) (+ x\n(define (g x) (* x 2))\n(g 3)\n(f 2)\n(define y (f 3))\ny": "3:1 : 6\n"
    "4:1 : not known: f may be defined by a form with an error\ny : not known: f may be defined by a form with an error\n"
    "6:1 : not known\n1:15: The `(` is never closed",
    '(define (f x) (let ((y)) y))\n(car 1)\n(f 1)\n(import "none" as n)\n(define (g l) (lenght l))\n(import "no-file")\n'
    "(list (g '()) (n:g) unlike-any)": "2:1 : never returns: Argument to car is invalid, at 2:1\n"
    "1:21: \n2:1: Argument to car is invalid\n5:16: Note: Unbound variable: lenght, unless no-file defines it\n"
    "  hint: did you mean `length`?\n7:1 : not known: lenght may be defined by a form with an error",
    # no mistakes: whether they happen depends on values
    "(define (f l) (if (null? l) 0 (car l)))\n(f (if (> (real 1) 0) '() (list (real 2))))": "2:1 : real",
    '(define (f x) (if (> x 0) (error "no") x))\n(f (real 1))': "2:1 : real",
    "(define (f x) (if (pair? x) (car x) (+ x 1)))\n(f 1)\n(f '(2))": "2:1 : 2\n3:1 : 2",
    """(define (f l) (if (null? (cdr l)) 0 (+ (* (first l) (square (second l))) (f (rest l)))))
(define x (build-list 5 (lambda (i) (+ 1 i))))
(dot-product ((gradient f) x) x)
((hessian f) x)""": "3:1 : real",
    "((nth-derivative sin (read-real)) 1)\n(+ 1 2)": "1:1 : not known: the order\n2:1 : 3",
    "(define x ((nth-derivative sin (read-real)) 1))\n(+ 1 x)": "2:1 : not known: `x` is not known",
    "(define t (zeros 2 #:dtype 'float32))\n(define (f x) (sum (* t x)))\n(f 2)\n(+ 1 2)": "t : tensor (2) float32\n"
    "f : real -> real\n3:1 : real\n4:1 : 3",
}


PLACES = {
    '(define (f a b) (* 2 (einsum "ij,j->i" a b)))\n(f #[[1 2] [3 4]] #[1 2 3])': "1:22: Error: Shapes given to einsum",
    "(define (f l n) (+ 1 (list-ref l n)))\n(f '(1 2) (real 5))": "1:22: Error: There is no position 5 in a list of 2",
    "(define (f l n) (+ 1 (list-ref l n)))\n(define (g l n) (+ 2 (list-ref l n)))\n(define n (real 5))\n(f '(1) n)\n(g '(1) n)": (
        "stdlib/prelude.vlad:"  # which of the two it is, is not known
    ),
    "(define (f a b) a)\n(define (g x) (f x))\n(write 1)\n(g 2)": "2:15: Error: f takes 2 arguments and got 1",
}


@pytest.mark.parametrize("text", PLACES)
def test_a_program_alone_names_the_place_in_its_own_text(text: str, tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [built(tmp_path / "it.vlad", tmp_path)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 1 and PLACES[text] in done.stderr, done.stderr


@pytest.mark.parametrize("text", CHECKS)
def test_check(text: str, tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(text, encoding="utf-8")
    done = command("check", "it.vlad", cwd=tmp_path)
    output = done.stdout + done.stderr.replace("it.vlad:", "").replace(" Error:", "")
    for line in CHECKS[text].splitlines():
        assert line in output
    is_wrong = any(line[0].isdigit() and " : " not in line for line in CHECKS[text].splitlines())
    assert done.returncode == is_wrong, output
    assert is_wrong or ("not known" in CHECKS[text]) == ("Note: " in done.stderr)
    assert max(map(len, done.stdout.splitlines()), default=0) <= 100


SHAPES = """(define (predict w x) (matmul x w))
(define (loss w x) (mean (predict w x)))
(define (total l) (if (null? l) 0 (+ (car l) (total (cdr l)))))
(define weights (ones '(3 2)))
(define (ordered n) ((nth-derivative sin n) 1))
(total '(1 2))
"""

WITH = {
    # the types of the procedures that the program does not use, and errors in them
    (
        "weights (ones '(5 3))",
    ): "predict : tensor (3 2) tensor (5 3) -> tensor (5 2)\nloss : tensor (3 2) tensor (5 3) -> real",
    ("weights", "(ones '(5 4))"): "loss : tensor (3 2) tensor (5 4) -> never returns\n"
    "it.vlad:1:23: Error: Shapes given to matmul do not fit: (5 4) and (3 2)",
    # numbers, booleans and strings are examples; a named procedure may be used by the program, too
    ("(list 1 2 3)", "--name", "total"): "total : (real real real) -> real\ntotal : (real real) -> real",
    (
        "'(1 a)",
        "--name",
        "total",
    ): "total : '(real a) -> never returns\nit.vlad:3:35: Error: Argument to + is invalid",
    (
        "2",
        "--name",
        "ordered",
    ): "it.vlad:5:21: Note: Calls of ordered may run on tier 0: the order of its derivatives is not known",
    # nothing is evaluated
    ("(read-real)", "--name", "total"): "total : real -> never returns\nError: Argument to car is invalid",
    # errors in the arguments
    ("(car 5) 1",): "--with:1:1: Error: Argument to car is invalid",
    ("(ons 3) 1",): "--with:1:2: Error: Unbound variable: ons\n    1 | (ons 3) 1",
    ("1", "(ones"): "--with:2:1: Error: The `(` is never closed\n    2 | (ones",
    ("(define x 1)",): "--with:1:1: Error: This is no expression",
    (
        "1",
        "--name",
        "predict",
    ): "Error: predict takes 2 arguments and --with gives 1\n  hint: its parameter list is (predict w x)",
    ("1", "--name", "weights"): "Error: No procedure of that name in it.vlad: weights",
}


def given(words: tuple[str, ...]) -> list[str]:
    at = words.index("--name") if "--name" in words else len(words)
    return [word for text in words[:at] for word in ("--with", text)] + [*words[at:]]


@pytest.mark.parametrize("words", WITH)
def test_check_with_example_arguments(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(SHAPES, encoding="utf-8")
    done = command("check", "it.vlad", *given(words), cwd=tmp_path)
    for part in WITH[words].split("\n"):
        assert part in done.stdout + done.stderr
    assert done.returncode == ("Error: " in WITH[words])


SHOWN = {
    (
        "weights (ones '(5 3))",
    ): "predict : tensor (3 2) tensor (5 3) -> tensor (5 2)\nloss : tensor (3 2) tensor (5 3) -> real\n",
    ("weights (ones '(5 3))", "--name", "loss"): "loss : tensor (3 2) tensor (5 3) -> real\n",
    ("(list 1 2)", "--name", "total"): "total : (real real) -> real\n",
    ("3", "--name", "total"): "total : real -> never returns\n",
    ("(car weights) 1",): "--with:1:1: Error: Argument to car is invalid\n    1 | (car weights) 1\n",
    ("1 2 3",): "Error: No procedure of the file takes 3 arguments, as --with gives\n",
    (
        "1 2",
        "--name",
        "total",
    ): "Error: total takes 1 argument and --with gives 2\n  hint: its parameter list is (total l)\n",
    ("1", "--name", "weights"): "Error: No procedure of that name in it.vlad: weights\n",
}


@pytest.mark.parametrize("words", SHOWN)
def test_show_with_example_arguments(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(SHAPES, encoding="utf-8")
    done = command("show", "it.vlad", "--stage", "types", *given(words), cwd=tmp_path)
    assert (done.stdout + done.stderr).startswith(SHOWN[words]) and done.returncode == (
        "Error: " in SHOWN[words]
    )


def test_stages_with_example_arguments(tmp_path: Path) -> None:
    """All that depend on operands; and a procedure of any number of arguments."""
    (tmp_path / "it.vlad").write_text("(define (f x . more) (sum (sin x)))", encoding="utf-8")
    for stage, part in (
        ("first-order", "(function f"),
        ("loops", "sin("),
        ("c", "sin("),
        ("types", "f : tensor (7)"),
    ):
        done = command("show", "it.vlad", "--stage", stage, "--with", "(ones 7) 2 3", cwd=tmp_path)
        assert part in done.stdout and done.returncode == 0 and done.stderr == ""


def test_a_stage_with_an_extent_that_a_call_determines(tmp_path: Path) -> None:
    text = """(define (count n) (let loop ((i 0) (l '())) (if (< i n) (loop (+ i 1) (cons i l)) l)))
(define (last n) (let ((t (tensor (cons* 0 0 (count n))))) (tensor-ref t (+ n 1))))
"""
    (tmp_path / "it.vlad").write_text(text, encoding="utf-8")
    words = "show", "it.vlad", "--stage", "first-order", "--name", "last", "--with", "1000"
    done = command(*words, cwd=tmp_path)
    assert "(extent n0)" in done.stdout and done.returncode == 0 and done.stderr == ""


def test_wrong_uses_of_example_arguments(tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(SHAPES, encoding="utf-8")
    for words, message in (
        (["show", "it.vlad", "--with", "1"], "--with is for the stages types, first-order, loops, c"),
        (
            ["show", "it.vlad", "--stage", "types", "--with", " "],
            "--with needs an expression, such as (ones '(3 2))",
        ),
        (["--with", "1", "it.vlad"], "--with belongs to `vlad show`, `vlad check` and `vlad explore`"),
        (["check", "it.vlad", "--name", "total"], "--name of `vlad check` goes with --with"),
    ):
        done = command(*words, cwd=tmp_path)
        assert done.returncode == 2 and done.stderr == f"vlad: {message}\nTry `vlad --help`.\n"


def test_check_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(
        '(write (read-real))\n(display "text")\n(define (f x) (f x))\n(f 1)', encoding="utf-8"
    )
    done = command("check", "it.vlad", cwd=tmp_path)
    assert (
        done.stdout
        == "1:1 : real\nf : real -> never returns\n4:1 : never returns: f calls itself without end\n"
    )


def test_check_places_the_errors_of_a_module_at_its_use(tmp_path: Path) -> None:
    """The language server marks them there."""
    (tmp_path / "folds.vlad").write_text("(export twice)\n(define (twice x) (* 2 x))\n", encoding="utf-8")
    program = "(import \"folds\")\n(define (h x) (+ 1 (twice x)))\n(h 'a)\n(twice 'b)\n"
    (tmp_path / "it.vlad").write_text(program, encoding="utf-8")
    done = command("check", "it.vlad", cwd=tmp_path)
    assert "3:1 : never returns: Argument to * is invalid, at 2:20\n" in done.stdout
    assert re.findall(r"^\S*?:(\d+:\d+): Error", done.stderr, re.MULTILINE) == ["2:20", "4:1"]
    assert (
        done.stderr.count("these are a real and a symbol; it happens at ")
        == done.stderr.count("folds.vlad:2:19")
        == 2
    )


FILES = """(define table (load-tensor "table.npy"))
(define named (load-tensor "named.npz"))
(define rows (load-csv "rows.csv" #:skip 1))
(define (fit w) (sum (square (matmul table w))))
((gradient fit) (ones 3))
(save-tensor "other.npy" table)
(define late (load-tensor (if (> (tensor-ref rows 0 0) 0) "a.npy" "b.npy")))
(define missing (load-tensor "missing.npy"))
(define broken (load-csv "broken.csv"))
(sum late)
"""


def test_check_reads_files(tmp_path: Path) -> None:
    """The shapes in existing files are known, including files beside the program; none is written."""
    folder = tmp_path / "beside"
    folder.mkdir()
    (folder / "it.vlad").write_text(FILES, encoding="utf-8")
    numpy.save(folder / "table.npy", numpy.ones((5, 4), "int64"))
    numpy.savez(tmp_path / "named.npz", w=numpy.ones((2, 3)), b=numpy.ones(3, "float32"))
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    (tmp_path / "broken.csv").write_text("1,2\n3,x\n", encoding="utf-8")
    done = command("check", "beside/it.vlad", cwd=tmp_path)
    lines = done.stdout.replace("\n    ", " ")  # long ones are broken
    assert re.sub(r"\(looked in .*?\)", "(looked in …)", lines).splitlines() == [
        "table : tensor (5 4) int64",
        "named : '((w . tensor (2 3)) (b . tensor (3) float32))",
        "rows : tensor (2 2)",
        "fit : (reverse tensor (3)) -> never returns",
        "5:1 : never returns: Shapes given to matmul do not fit: (5 4) and (3), at 4:30",
        "late : not known: files of tensors are not compiled yet",
        "missing : not known: Cannot find: missing.npy (looked in …)",
        "broken : not known: Line 2 of broken.csv is no row of numbers (`x` is no number)",
        "10:1 : not known: `late` is not known",
    ]
    assert "it.vlad:4:30: Error: Shapes given to matmul do not fit: (5 4) and (3)" in done.stderr
    assert done.returncode == 1 and not (tmp_path / "other.npy").exists()


def test_check_does_not_read_files_that_the_program_writes(tmp_path: Path) -> None:
    """Whatever is there now, and wherever in the program that is; where it writes is not always known."""
    numpy.save(tmp_path / "own.npy", numpy.ones((5, 5)))
    numpy.save(tmp_path / "other.npy", numpy.ones((5, 5)))
    for name, others in (
        ('"own.npy"', "tensor (5 5)"),
        ("(car (list (number->string (read-real))))", "not known"),
    ):
        (tmp_path / "it.vlad").write_text(
            f"""(define t (load-tensor "./own.npy"))
(define u (load-tensor "other.npy"))
(define (keep x) (save-tensor {name} x))
(keep (ones '(2 2)))""",
            encoding="utf-8",
        )
        done = command("check", "it.vlad", cwd=tmp_path)
        first, second, *_ = done.stdout.splitlines()
        assert first == "t : not known: the program itself writes ./own.npy" and done.returncode == 0
        assert second.startswith(f"u : {others}")


def test_check_reads_small_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.npy")
    (tmp_path / "folder.npy").mkdir()
    with open(tmp_path / "sparse.npy", "wb") as file:
        file.truncate(1 << 40)
    numpy.savez(tmp_path / "many.npz", **{f"a{i}": numpy.ones((3, 2)) for i in range(40)})
    names = ("fifo.npy", "folder.npy", "sparse.npy", "many.npz")
    text = "\n".join([f'(define t{i} (load-tensor "{name}"))' for i, name in enumerate(names)])
    (tmp_path / "it.vlad").write_text(f"{text}\n(load-tensor 5)\n(load-csv 'a)", encoding="utf-8")
    done = command("check", "it.vlad", cwd=tmp_path)
    lines = done.stdout.replace("\n    ", " ").splitlines()
    assert all(line.startswith(f"t{i} : not known: ") for i, line in enumerate(lines[: len(names)]))
    assert "is too large to be looked at beforehand" in lines[2] and "too large" in lines[3]
    assert "5:1: Error: Argument to load-tensor is invalid" in done.stderr
    assert "6:1: Error: Argument to load-csv is invalid" in done.stderr and done.returncode == 1


def test_what_is_built_reads_no_files(tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text('(load-tensor "table.npy")', encoding="utf-8")
    numpy.save(tmp_path / "table.npy", numpy.ones(3))
    done = command("build", "it.vlad", cwd=tmp_path)
    assert done.returncode == 1 and "files of tensors are not compiled yet" in done.stderr


def test_check_reports_on_the_programs_own_files(tmp_path: Path) -> None:
    """Not on the library's modules, which have some two hundred definitions."""
    (tmp_path / "own.vlad").write_text("(define (twice x) (* 2 x))\n(define two (twice 1))\n")
    (tmp_path / "it.vlad").write_text(
        '(import "mechanics")\n(import "own.vlad")\n(define u (up 1 (twice 2)))\n(component u 1)\n'
    )
    done = command("check", "it.vlad", cwd=tmp_path)
    assert done.stdout.splitlines() == ["u : (up (1 . 4))", "4:1 : 4", "twice : real -> real", "two : 2"]


def test_check_of_types_as_deep_as_hundreds_of_lists(tmp_path: Path) -> None:
    nested = "(list " * 700 + "x" + ")" * 700
    (tmp_path / "it.vlad").write_text(f"(define (f x) {nested})\n(f 1.5)\n")
    done = command("check", "it.vlad", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["f : real -> ((((((…))))))", "2:1 : ((((((…))))))"]


def test_names_of_modules_are_checked(tmp_path: Path) -> None:
    (tmp_path / "part.vlad").write_text(
        "(export twice)\n(define (twice x) (* k (hidden x)))\n(define (hidden x) (unknown x))\n(define k (real 2))",
        encoding="utf-8",
    )
    (tmp_path / "more.vlad").write_text("(define (thrice x) (+ x (twice x) own))", encoding="utf-8")
    (tmp_path / "it.vlad").write_text(
        '(import "part" as p)\n(import "part")\n(include "more.vlad")\n(define own 3)\n(define (f x) (p:twice (p:once x)))',
        encoding="utf-8",
    )
    done = command("check", "it.vlad", cwd=tmp_path)
    output = re.findall(r"(\w+\.vlad:\S+) Error: (.*)", done.stderr)
    assert done.returncode == 1 and output == [
        ("part.vlad:3:21:", "Unbound variable: unknown"),
        ("it.vlad:5:25:", "Unbound variable: p:once"),
    ]
    done = command("check", "part.vlad", cwd=tmp_path)
    assert done.returncode == 1 and "part.vlad:3:21: Error: Unbound variable: unknown" in done.stderr
    done = command("check", "more.vlad", cwd=tmp_path)  # its definitions are in the file that includes it
    assert done.returncode == 1 and "more.vlad:1:35: Error: Unbound variable: own" in done.stderr


def test_modules_are_part_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "part.vlad").write_text(
        "(export k twice)\n(define k (real 3))\n(define (twice x) (* k (* 2 x)))\n(write 99)",
        encoding="utf-8",
    )
    (tmp_path / "more.vlad").write_text("(define z (twice 5))\n(write z)", encoding="utf-8")
    (tmp_path / "it.vlad").write_text(
        '(import "part" as p)\n(import "part")\n(include "more.vlad")\n(list (p:twice 1) p:k z)',
        encoding="utf-8",
    )
    expected = command("--tier", "evaluate", "it.vlad", cwd=tmp_path)
    done = subprocess.run([built(tmp_path / "it.vlad", tmp_path)], capture_output=True, text=True, timeout=60)
    assert expected.stderr == "" and (done.stdout, done.stderr) == (expected.stdout, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(define (f n) ((nth-derivative sin n) 1))\n(f (read-real))",
            "cannot be compiled: the order of its derivatives",
        ),
        (
            "(string->symbol (number->string (real 1)))",
            "cannot be compiled: `string->symbol` is not compiled yet",
        ),
        ("(car", "never closed"),
    ],
)
def test_what_cannot_be_built(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(text, encoding="utf-8")
    done = command("build", "it.vlad", cwd=tmp_path)
    assert done.returncode == 1 and message in done.stderr and "it.vlad:" in done.stderr
    assert not (tmp_path / "it").exists()


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text("1", encoding="utf-8")
    done = command("build", "it.vlad", "-o", "missing/it", cwd=tmp_path)
    assert done.returncode == 1 and "Cannot write: missing/it" in done.stderr


@pytest.mark.parametrize("option", [["--optimize", "0"], ["--optimize", "3", "--native"], ["--fast-math"]])
def test_choices(option: list[str], tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text("((derivative (lambda (x) (* x (sin x)))) (real 2))", encoding="utf-8")
    assert command("build", "it.vlad", *option, cwd=tmp_path).returncode == 0
    alone = subprocess.run([tmp_path / "it"], capture_output=True, text=True, timeout=60)
    assert float(alone.stdout) == pytest.approx(0.07700375373139725, rel=1e-14)
    run = command(
        "--tier", "compile", *[word for word in option if word != "--native"], "it.vlad", cwd=tmp_path
    )
    assert float(run.stdout) == pytest.approx(float(alone.stdout), rel=1e-14)


def test_a_program_is_not_built_over_its_source(tmp_path: Path) -> None:
    path = tmp_path / "it.vlad"
    path.write_text("(+ 1 2)\n", encoding="utf-8")
    for output in ("it.vlad", "./it.vlad", str(path)):
        done = command("build", "it.vlad", "-o", output, cwd=tmp_path)
        assert done.returncode == 1 and "the program that is to be built" in done.stderr
    assert path.read_text(encoding="utf-8") == "(+ 1 2)\n"


def test_what_was_built_does_not_hide_the_program(tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text("(+ 1 2)\n", encoding="utf-8")
    for words in (
        ("it",),
        ("build", "it"),
        ("it",),
        ("check", "it"),
        ("--quiet", "build", "it"),
        ("run", "it"),
    ):
        done = command(*words, cwd=tmp_path)
        assert done.returncode == 0 and done.stderr == "", words
        assert done.stdout == ("" if "--quiet" in words else "written: it\n") or "build" not in words
    assert done.stdout == "3\n"
