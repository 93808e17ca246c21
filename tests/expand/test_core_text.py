"""Text → core text: what each form becomes. Each pair is a program and the core of its definitions and expressions, a line
each."""

from __future__ import annotations

import pytest
from expanding import core

# Constants and names.
CONSTANTS_AND_NAMES = [
    ("1", "1"),
    ('"a"', '"a"'),
    ("'(1 x . 2)", "(quote (1 x . 2))"),
    ("x", "x"),
    ("#[1 2]", "(tensor (quote (1 2)))"),
    ("#[[1 2] [3 4]]", "(tensor (quote ((1 2) (3 4))))"),
]

# Calls: operator, then operands from left to right; tuples are not built.
CALLS = [
    ("(f)", "(f (quote ()))"),
    ("(f a b)", "(f a b)"),
    ("(f (g 1) (h 2))", "(let* ((t (g 1)) (t.1 (h 2))) (f t t.1))"),
    ("((f 1) 2)", "(let* ((operator (f 1))) (operator 2))"),
    ("(f a . (b))", "(f a b)"),
    ("(f a . b)", "(f a b)"),
]

# Lambda: by the tuple rule.
LAMBDA = [
    (
        "(lambda () 1)",
        (
            "(let* ((result (lambda (nothing) (let* ((matched (expect-constant nothing (quote ())))) 1)))) "
            "result)"
        ),
    ),
    ("(lambda (x) x)", "(let* ((result (lambda (x) x))) result)"),
    ("(lambda x x)", "(let* ((result (lambda (x) x))) result)"),
    ("(lambda (x y . z) z)", "(let* ((result (lambda (x y z) z))) result)"),
    ("(lambda ((cons a b)) b)", "(let* ((result (lambda (a b) b))) result)"),
    ("(lambda (x (cons a b)) b)", "(let* ((result (lambda (x a b) b))) result)"),
    ("(lambda (x (cons* a b (cons c d))) b)", "(let* ((result (lambda (x a b c d) b))) result)"),
    (
        "(lambda ((cons a b) x) b)",
        (
            "(let* ((result (lambda (argument x) (let* ((a (match-car argument)) (rest (match-cdr argument)) "
            "(b rest)) b)))) result)"
        ),
    ),
    (
        "(lambda ((list a b)) b)",
        (
            "(let* ((result (lambda (argument) (let* ((a (match-car argument)) (rest (match-cdr argument)) "
            "(b (match-car rest)) (rest.1 (match-cdr rest)) (matched (expect-constant rest.1 (quote ())))) "
            "b)))) result)"
        ),
    ),
    ("(lambda ((cons* a)) a)", "(let* ((result (lambda (a) a))) result)"),
    (
        "(lambda ((cons*)) 1)",
        (
            "(let* ((result (lambda (argument) (let* ((matched (expect-constant argument (quote ())))) 1)))) "
            "result)"
        ),
    ),
    (
        "(lambda (1 #t 'x) 2)",
        (
            "(let* ((result (lambda (argument argument.1 argument.2) (let* ((matched (expect-constant "
            "argument 1)) (matched.1 (expect-constant argument.1 #t)) (matched.2 (expect-constant argument.2 "
            "(quote x)))) 2)))) result)"
        ),
    ),
]

# Let.
LET = [
    ("(let ((x 1) (y 2)) (f x y))", "(let* ((x 1) (y 2)) (f x y))"),
    ("(let ((x (let ((y 1)) (+ y 2)))) x)", "(let* ((y 1) (x (+ y 2))) x)"),
    (
        "(let (((cons a b) p)) a)",
        "(let* ((value p) (a (match-car value)) (rest (match-cdr value)) (b rest)) a)",
    ),
    ("(let ((x 1) (y x)) y)", "(let* ((x.1 1) (y x)) y)"),
    ("(let* ((x 1) (x (f x))) x)", "(let* ((x 1) (x.1 (f x))) x.1)"),
    ("(let* () 1)", "1"),
    ("(let () 1)", "1"),
    ("(let ((x y)) (f x))", "(let* ((x y)) (f x))"),
]

# Named let: the loop's name is seen by the starting values.
NAMED_LET = [
    ("(let f ((x 1)) x)", "(let* ((f (lambda (x) x))) (f 1))"),
    (
        "(let f ((x 1)) (f (+ x 1)))",
        "(let* ((letrec (f (lambda (x) (let* ((t (+ x 1))) (f t)))))) (f 1))",
    ),
    (
        "(let f () 1)",
        (
            "(let* ((f (lambda (nothing) (let* ((matched (expect-constant nothing (quote ())))) 1)))) (f "
            "(quote ())))"
        ),
    ),
    ("(let f ((x f)) x)", "(let* ((f (lambda (x) x))) (f f))"),
]

# Letrec: split by dependency, only what reaches itself stays a group.
LETREC = [
    (
        "(letrec ((f (lambda (x) (g x))) (g (lambda (x) x))) f)",
        "(let* ((g (lambda (x) x)) (f (lambda (x.1) (g x.1)))) f)",
    ),
    (
        "(letrec ((f (lambda (x) (g x))) (g (lambda (x) (f x))) (h (lambda (x) (f x)))) h)",
        ("(let* ((letrec (f (lambda (x) (g x))) (g (lambda (x.1) (f x.1)))) (h (lambda (x.2) (f x.2)))) h)"),
    ),
    (
        "(letrec* ((a 1) (f (lambda (x) (g a))) (b (f 1)) (g (lambda (x) (f x)))) b)",
        "(let* ((a 1) (letrec (f (lambda (x) (g a))) (g (lambda (x.1) (f x.1)))) (b (f 1))) b)",
    ),
]

# Definitions in bodies.
DEFINITIONS_IN_BODIES = [
    ("(lambda (x) (define y x) (f y))", "(let* ((result (lambda (x) (let* ((y x)) (f y))))) result)"),
    (
        "(lambda (x) (define (g y) (h y)) (define (h y) (g y)) (g x))",
        (
            "(let* ((result (lambda (x) (let* ((letrec (g (lambda (y) (h y))) (h (lambda (y.1) (g y.1))))) "
            "(g x))))) result)"
        ),
    ),
    (
        "(lambda (x) (define a (f x)) (define (g y) a) (define b (g x)) b)",
        "(let* ((result (lambda (x) (let* ((a (f x)) (g (lambda (y) a)) (b (g x))) b)))) result)",
    ),
    (
        "(lambda (x) (define f (let ((n x)) (lambda (y) (f n)))) f)",
        "(let* ((result (lambda (x) (let* ((n x) (letrec (f (lambda (y) (f n))))) f)))) result)",
    ),
    (
        "(lambda (x) (f 1) (define y 2) (f y) y)",
        "(let* ((result (lambda (x) (let* ((ignored (f 1)) (y 2) (ignored.1 (f y))) y)))) result)",
    ),
    ("(lambda (x) (begin (define y x)) y)", "(let* ((result (lambda (x) (let* ((y x)) y)))) result)"),
]

# Branches.
BRANCHES = [
    ("(if a b c)", "(if a b c)"),
    ("(if (f) (g 1) (h 2))", "(let* ((test (f (quote ())))) (if test (g 1) (h 2)))"),
    ("(f (if a b c))", "(let* ((t (if a b c))) (f t))"),
    ("(and)", "#t"),
    ("(and a)", "a"),
    ("(and a b c)", "(if a (if b c #f) #f)"),
    ("(or)", "#f"),
    ("(or (f) b c)", "(let* ((test (f (quote ())))) (if test test (if b b c)))"),
    ("(when a b c)", "(if a (let* ((ignored b)) c) #unspecified)"),
    ("(unless a b)", "(if a #unspecified b)"),
]

# Cond and case.
COND_AND_CASE = [
    (
        "(cond (a 1) ((b 1) => f) ((c 1)) (else 2 (f) 3))",
        (
            "(if a 1 (let* ((test (b 1))) (if test (f test) (let* ((test.1 (c 1))) (if test.1 test.1 (let* "
            "((ignored (f (quote ())))) 3))))))"
        ),
    ),
    ("(cond (a 1))", "(if a 1 #unspecified)"),
    (
        "(case (f 1) ((1 x) 2) (() 5) (else 3))",
        (
            "(let* ((key (f 1)) (same (equal? key 1)) (test (if same #t (let* ((same.1 (equal? key (quote "
            "x)))) same.1)))) (if test 2 (if #f 5 3)))"
        ),
    ),
    ("(case a ((1) => f) (else => g))", "(let* ((same (equal? a 1))) (if same (f a) (g a)))"),
]

# Begin and do.
BEGIN_AND_DO = [
    ("(f (begin (g 1) a 2))", "(let* ((ignored (g 1)) (ignored.1 a)) (f 2))"),
    (
        "(begin a (f 1) 1)",
        ("(let* ((ignored a) (ignored.1 (f 1))) 1)"),
    ),
    (
        "(do ((i 0 (+ i 1)) (s 0)) ((= i 3) s) (f i))",
        (
            "(let* ((letrec (do (lambda (i s) (let* ((test (= i 3))) (if test s (let* ((ignored (f i)) (t (+ "
            "i 1))) (do t s)))))))) (do 0 0))"
        ),
    ),
    (
        "(do ((i 0 (+ i 1))) ((= i 3)))",
        (
            "(let* ((letrec (do (lambda (i) (let* ((test (= i 3))) (if test #unspecified (let* ((t "
            "(+ i 1))) (do t)))))))) (do 0))"
        ),
    ),
]

# Quasiquote: constant parts stay constant.
QUASIQUOTE = [
    ("`(1 2)", "(quote (1 2))"),
    (
        "`(1 ,x ,@y z)",
        "(let* ((t (append y (quote (z)))) (t.1 (cons x t)) (result (cons 1 t.1))) result)",
    ),
    ("`(1 ,@y)", "(let* ((result (cons 1 y))) result)"),
    ("`(1 . ,x)", "(let* ((result (cons 1 x))) result)"),
    (
        "`(a `(b ,(c ,d)))",
        (
            "(let* ((t (cons d (quote ()))) (t.1 (cons (quote c) t)) (t.2 (cons t.1 (quote ()))) (t.3 (cons "
            "(quote unquote) t.2)) (t.4 (cons t.3 (quote ()))) (t.5 (cons (quote b) t.4)) (t.6 (cons t.5 "
            "(quote ()))) (t.7 (cons (quote quasiquote) t.6)) (t.8 (cons t.7 (quote ()))) (result (cons "
            "(quote a) t.8))) result)"
        ),
    ),
    ("`(,@a ,@b)", "(append a b)"),
]

# Lists: list and cons* in operator position are applications of cons.
LISTS = [
    ("(list)", "(quote ())"),
    ("(list 1 a)", "(let* ((t (cons a (quote ()))) (result (cons 1 t))) result)"),
    ("(cons* 1 a)", "(let* ((result (cons 1 a))) result)"),
    ("(cons* a)", "a"),
    ("(cons*)", "(quote ())"),
    ("(map list x)", "(map list x)"),
    ("(lambda (list) (list 1 2))", "(let* ((result (lambda (list) (list 1 2)))) result)"),
]

# The others.
THE_OTHERS = [
    (
        "(assert (f x))",
        (
            '(let* ((test (f x))) (if test #unspecified (let* ((failed (error "Assertion failed: '
            '(f x)"))) failed)))'
        ),
    ),
    (
        "(delay x)",
        (
            "(let* ((computing (lambda (nothing) (let* ((matched (expect-constant nothing (quote ())))) x)))) "
            "(%promise #f computing))"
        ),
    ),
    (
        "(cons-stream 1 s)",
        (
            "(let* ((rest (lambda (nothing) (let* ((matched (expect-constant nothing (quote ())))) s))) "
            "(result (cons 1 rest))) result)"
        ),
    ),
]

# Definitions at top level.
DEFINITIONS_AT_TOP_LEVEL = [
    ("(define x 1)", "x = 1"),
    ("(define (f x) x)", "f = (let* ((result (lambda (x) x))) result)"),
    (
        "(define ((f x) y) x)",
        "f = (let* ((result (lambda (x) (let* ((result.1 (lambda (y) x))) result.1)))) result)",
    ),
    ("(define (f . xs) xs)", "f = (let* ((result (lambda (xs) xs))) result)"),
    ("(define f (let ((n 1)) (lambda (x) n)))", "f = (let* ((n 1) (result (lambda (x) n))) result)"),
    (
        "(define (list x) x) (list 1 2)",
        ("list = (let* ((result (lambda (x) x))) result)\n(list 1 2)"),
    ),
    (
        "(begin (define x 1) (f x) 2)",
        ("x = 1\n(let* ((ignored (f x))) 2)"),
    ),
]

# Keywords can be shadowed by local names.
KEYWORDS_CAN_BE_SHADOWED = [
    ("(lambda (if) (if 1 2 3))", "(let* ((result (lambda (if.1) (if.1 1 2 3)))) result)"),
    (
        "(lambda (else) (cond (else 1)))",
        "(let* ((result (lambda (else) (if else 1 #unspecified)))) result)",
    ),
    (
        "(define (f when) (when 1))",
        "f = (let* ((result (lambda (when) (when 1)))) result)",
    ),
    ("(let ((quote f)) (quote 1))", "(let* ((quote.1 f)) (quote.1 1))"),
    ("(lambda (define) (define f 1))", "(let* ((result (lambda (define) (define f 1)))) result)"),
]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        *CONSTANTS_AND_NAMES,
        *CALLS,
        *LAMBDA,
        *LET,
        *NAMED_LET,
        *LETREC,
        *DEFINITIONS_IN_BODIES,
        *BRANCHES,
        *COND_AND_CASE,
        *BEGIN_AND_DO,
        *QUASIQUOTE,
        *LISTS,
        *THE_OTHERS,
        *DEFINITIONS_AT_TOP_LEVEL,
        *KEYWORDS_CAN_BE_SHADOWED,
    ],
)
def test_core(program: str, expected: str) -> None:
    assert core(program) == expected
