"""Sharing in structures: the zero of a structure, a sum, a sensitivity costs its nodes, not the paths to them, on both tiers
and in built programs. Each structure here has 2^40 paths or more, so that a test that follows them would not end.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from agreement import agree
from commands import command

pytestmark = pytest.mark.any_compiler

BUILD = """
(define (build n x) (if (= n 0) x (let ((y (build (- n 1) x))) (cons y y))))
(define (twisted n x y) (if (= n 0) (cons x y) (let ((z (twisted (- n 1) x y))) (cons z (cons (cdr z) z)))))
(define (copies n x) (if (= n 0) '() (cons x (copies (- n 1) x))))
(define (rows n x) (copies n (copies n (copies n (copies n x)))))
(define (closures n f) (if (= n 0) f (let* ((g (closures (- n 1) f)) (h g)) (lambda (left?) (if left? (g #t) (h #f))))))
(define (leftmost t) (if (pair? t) (leftmost (car t)) t))
(define (rightmost t) (if (pair? t) (rightmost (cdr t)) t))
"""
OPERATIONS = {
    "zero": "(lambda (x) (leftmost (zero (build 40 x))))",
    "zero of zero": "(lambda (x) (rightmost (zero (zero (twisted 60 x 2)))))",
    "plus": "(lambda (x) (leftmost (plus (build 40 x) (build 40 (* x x)))))",
    "plus of two shapes of sharing": "(lambda (x) (rightmost (plus (twisted 40 x 2) (twisted 40 3 x))))",
    "chain of sums": "(lambda (x) (let loop ((i 0) (t (build 40 x))) (if (= i 50) (leftmost t) (loop (+ i 1) (plus t t)))))",
    "equal": "(lambda (x) (list (equal? (build 40 x) (build 40 x)) (equal? (twisted 40 x 2) (twisted 40 x 3))))",
    "lists of one list": "(lambda (x) (leftmost (plus (rows 200 x) (zero (rows 200 x)))))",
    "closures": """(lambda (x) (let ((leaf (lambda (left?) (if left? x 0))))
      ((plus (closures 40 leaf) (zero (closures 40 leaf))) #t)))""",
    "reverse": "(gradient (lambda (x) (leftmost (plus (build 40 x) (build 40 (* x x))))))",
    "forward": "(derivative-F (lambda (x) (leftmost (plus (build 40 x) (build 40 (* x x))))))",
    "reverse of reverse": """(gradient (lambda (x)
      (leftmost ((gradient (lambda (t) (* x x (leftmost (plus t t))))) (build 40 x)))))""",
    "by a structure": "(lambda (x) (leftmost ((gradient (lambda (t) (* x (leftmost t) (rightmost (cdr t))))) (build 40 x))))",
    "bundle": "(lambda (x) (cdr (jvp (lambda (t) (* 2 (leftmost t))) (build 40 x) (build 40 3))))",
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_structure_costs_its_nodes(name: str) -> None:
    agree(f"(let () {BUILD} {OPERATIONS[name]})", 1.5)


def test_trees_equal_what_tier_0_makes_of_them() -> None:
    """Without sharing nothing is kept: one pass marks what it visits, more than 2^16 times one after the other."""
    tree = "(define (tree n x) (if (= n 0) (* x x) (cons (tree (- n 1) x) (cons x (tree (- n 1) (+ x 1))))))"
    agree(f"(let () {tree} (lambda (x) (list (zero (tree 6 x)) (plus (tree 6 x) (tree 6 (+ x 1))))))", 1.5)
    total = "(define (total t) (if (pair? t) (+ (total (car t)) (total (cdr t))) t))"
    loop = """(let loop ((i 0) (s 0)) (if (= i 70000) s (loop (+ i 1) (+ s (total (plus (tree 1 i) (tree 1 x)))))))"""
    agree(f"(let () {tree} {total} (lambda (x) {loop}))", 1.5)


def test_an_error_is_found_behind_what_is_shared() -> None:
    unlike = "(lambda (x) (leftmost (plus (build 40 x) (cons (build 39 x) (build 38 x)))))"
    assert agree(f"(let () {BUILD} {unlike})", 1.5)[0] == "Arguments to plus do not conform"


@pytest.mark.system_compiler
def test_built_programs_share(tmp_path: Path) -> None:
    program = tmp_path / "shared.vlad"
    program.write_text(f"{BUILD}(leftmost (plus (build 40 1.5) (zero (build 40 1))))")
    command("build", str(program), "-o", str(tmp_path / "shared"))
    assert subprocess.run([tmp_path / "shared"], capture_output=True, text=True, check=True).stdout == "1.5\n"
