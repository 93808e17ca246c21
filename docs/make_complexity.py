"""Count the cost of gradients, and write docs/complexity.md.

    python docs/make_complexity.py            rewrite the table (half a minute)
    python docs/make_complexity.py 100 1000   print it for these sizes instead

Primitive operations and evaluator steps (procedure entries and loop iterations) are counted, not time: they are the same on every
machine. The claim: a gradient does a constant factor more work than its function, for any function. tests/ad/test_complexity.py
checks it for the smaller sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import vlad

SIZES = (100, 1_000, 10_000, 100_000)


class Program(NamedTuple):
    """A family of functions: `setup` defines f and the argument x for the size n."""

    name: str
    setup: str


PROGRAMS = [
    Program(
        "sum over a list",
        """(define (f l) (if (null? l) 0 (+ (car l) (f (cdr l)))))
           (define x (iota n))""",
    ),
    Program(
        "product over a list",
        """(define (f l) (let loop ((l l) (p 1)) (if (null? l) p (loop (cdr l) (* p (car l))))))
           (define x (map (lambda (i) (+ 1 (/ i (* n n)))) (iota n)))""",
    ),
    Program(
        "list-ref in a loop",
        """(define (f l) (let loop ((i 0) (k 0) (s 0))
             (if (= i n) s (loop (+ i 1) (if (= k 31) 0 (+ k 1)) (+ s (* (list-ref l k) (list-ref l k)))))))
           (define x (iota 32))""",
    ),
    Program(
        "map and fold",
        """(define (f l) (fold + 0 (map (lambda (v) (* v (sin v))) l)))
           (define x (iota n))""",
    ),
    Program(
        "polynomial",
        """(define (f a) (fold (lambda (c s) (+ c (* s (car a)))) 0 (cdr a)))
           (define x (cons 0.5 (iota n)))""",
    ),
    Program(
        "loop with a trip count from the data",
        """(define (f v) (let loop ((v v) (k 0)) (if (< v 1) (* v k) (loop (- v (car step)) (+ k 1)))))
           (define step (list 1))
           (define x n)""",
    ),
    Program(
        "binary tree",
        """(define (tree k) (if (<= k 1) k (let ((h (floor (/ k 2)))) (cons (tree h) (tree (- k h))))))
           (define (f t) (if (pair? t) (+ (f (car t)) (f (cdr t))) (* t t)))
           (define x (tree n))""",
    ),
    Program(
        "closures built in a loop",
        """(define (f v) (let loop ((i 0) (g (lambda (u) u)))
             (if (= i n) (g v) (loop (+ i 1) (lambda (u) (g (+ u (* 1e-9 v))))))))
           (define x 1)""",
    ),
    Program(
        "a value doubled by sharing",
        """(define (f v) (let loop ((i 0) (p v)) (if (= i n) (first-of p) (loop (+ i 1) (cons p p)))))
           (define (first-of p) (if (pair? p) (first-of (car p)) p))
           (define x 1)""",
    ),
    Program(
        "Hessian-vector product",
        """(define (g l) (let loop ((l l) (s 0)) (if (null? l) s (loop (cdr l) (+ s (* (car l) (* (car l) (car l))))))))
           (define ones (map (lambda (i) 1) (iota n)))
           (define (dot a b) (let loop ((a a) (b b) (s 0))
             (if (null? a) s (loop (cdr a) (cdr b) (+ s (* (car a) (car b)))))))
           (define (f l) (dot ones (gradient-of g l)))
           (define x (iota n))""",
    ),
]

GRADIENT = "(define (gradient-of f x) (cdr ((cdr ((*j f) (*j x))) 1)))"
# forcing every part of the result counts towards the gradient's cost, as its parts are computed on demand
LOOK = "(define (look t) (if (pair? t) (begin (look (car t)) (look (cdr t))) t))"


class Cost(NamedTuple):
    operations: int
    steps: int


def cost(session: vlad.Session, text: str) -> Cost:
    """What evaluating a text costs."""
    before = session.steps
    session.eval(text)
    return Cost(sum(session.counts.values()), session.steps - before)


def ratios(program: Program, size: int) -> tuple[Cost, float, float]:
    """The function's cost at a size, and the gradient's relative to it, in operations and in steps."""
    session = vlad.Session(metered=True)
    session.eval(GRADIENT + LOOK + f"(define n {size})" + program.setup)
    function, gradient = cost(session, "(f x)"), cost(session, "(gradient-of f x)")
    return function, gradient.operations / function.operations, gradient.steps / function.steps


def table(sizes: Sequence[int]) -> str:
    head = "".join(f" | n = {size:,}" for size in sizes)
    lines = [f"| program{head} |", "|---" * (len(sizes) + 1) + "|"]
    for program in PROGRAMS:
        cells = []
        for size in sizes:
            _, operations, steps = ratios(program, size)
            cells.append(f"{operations:.2f} / {steps:.2f}")
        lines.append(f"| {program.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


TEXT = """# What a gradient costs

Each cell is (gradient) / (function): first counted in primitive operations, then in evaluator steps (procedure entries and
loop turns). The rows are flat: a gradient costs a constant times its function, however large the data and however
long the loop. The last row is the Hessian-vector product, relative to a gradient taken inside the function.

Made by `python docs/make_complexity.py`; `tests/ad/test_complexity.py` checks that the rows are flat within 10 %.

{table}

The programs are in `docs/make_complexity.py`.
"""


def main() -> None:
    if len(sys.argv) > 1:
        print(table([int(word) for word in sys.argv[1:]]))
    else:
        (Path(__file__).parent / "complexity.md").write_text(
            TEXT.format(table=table(SIZES)), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
