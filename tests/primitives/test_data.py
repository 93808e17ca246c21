"""Pairs, predicates, equality, strings and output, as programs see them; and derivatives through them."""

from __future__ import annotations

import io

import pytest

import vlad
from vlad.data.values import NIL, TRUE, Deferred, String
from vlad.data.write import written
from vlad.primitives.data import equal
from vlad.primitives.table import TABLE

SETUP = """
(define ((slope f) x) (cdr ((cdr ((*j f) (*j x))) 1)))
(define (f x) x)
"""


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session()
    session.eval(SETUP)
    return session


TRUTHS = """
(null? '()) (null? (zero '())) (not #f) (boolean? #f) (pair? (cons 1 2)) (pair? (zero (cons 1 2))) (pair? '(1))
(real? 3) (number? 3) (integer? 3) (even? 4) (even? 0) (odd? 3) (odd? -3) (even? 1e300) (zero? -0.0) (positive? 1)
(negative? -inf.0) (nan? (/ 0 0)) (finite? 1e308) (infinite? (/ -1 0)) (symbol? 'a) (string? "a")
(procedure? f) (procedure? sin) (procedure? (lambda (x) x)) (procedure? (*j f)) (procedure? (*j sin))
(procedure? (perturb f)) (procedure? (sensitize f)) (procedure? (bundle f (perturb (zero f))))
(procedure? (cdr ((*j f) (*j 1)))) (procedure? (perturb (*j +)))
(eq? 'a 'a) (eq? 1 1.0) (eq? '() '()) (eq? "a" "a") (eqv? +nan.0 +nan.0) (eq? 0 -0.0)
(let ((p (cons 1 2))) (eq? p p)) (equal? '(1 (a "b") . c) '(1 (a "b") . c)) (equal? (*j 3) (*j 3)) (equal? f f)
(let ((make (lambda (a) (lambda (b) a)))) (equal? (make 1) (make 1)))
(string=? "a" "a") (string<? "a" "b") (equal? (string-append "a" "b" "c") "abc") (equal? (string-append "a") "a")
(= (string-length "abc") 3) (equal? (substring "abcd" 1 3) "bc") (equal? (substring "abcd" 4 4) "")
(eq? (string->symbol "a b") (string->symbol "a b")) (equal? (symbol->string 'abc) "abc")
(equal? (number->string 0.5) "0.5") (equal? (number->string 3) "3") (= (string->number "1e3") 1000)
(equal? (string-upcase "aB") "AB") (equal? (string-downcase "aB") "ab") (= (string-search "cd" "abcd") 2)
(= 1 1 1) (< 1 2 3) (>= 3 3 2) (= (max 1 7 3) 7) (= (min 4) 4) (= (+) 0) (= (*) 1) (= (- 3) -3) (= (/ 4) 0.25)
(= (+ (cons 3 4)) 7) (= (modulo -7 3) 2) (= (remainder -7 3) -1) (= (quotient -7 3) -2) (= (round 2.5) 2)
"""

FALSEHOODS = """
(null? '(1)) (null? #f) (null? (zero (cons 1 2))) (not 0) (not '()) (boolean? '()) (pair? '()) (pair? f) (pair? (*j (cons 1 2)))
(real? (*j 3)) (real? "3") (integer? 3.5) (integer? "a") (integer? +inf.0) (even? 3) (odd? 2.5) (even? +inf.0)
(nan? 1) (finite? +nan.0) (infinite? 1) (symbol? "a") (string? 'a) (null? (*j '())) (boolean? (*j #t))
(procedure? 3) (procedure? (cons 1 2)) (procedure? '()) (procedure? (*j 3)) (procedure? (perturb 3))
(procedure? (perturb +)) (procedure? (sensitize +)) (procedure? (*j (perturb +))) (procedure? (*j '()))
(eq? 'a 'b) (eq? 1 2) (eq? "1" 1) (eq? '() #f) (equal? '(1 2) '(1 3)) (equal? '(1) '(1 2))
(equal? (*j 3) (*j 4)) (equal? f sin) (equal? (*j 3) (perturb 3)) (string=? "a" "b") (string<? "b" "a")
(string->number "abc") (string->number "1_0") (string->number "") (string-search "x" "abc") (= 1 2) (= 1 1 2) (< 1 3 2)
(= +nan.0 +nan.0) (< +nan.0 1) (>= +nan.0 1)
"""

ERRORS = [
    ("(car '())", "Argument to car is invalid"),
    ("(cdr 3)", "Argument to cdr is invalid"),
    ("(car (*j (cons 1 2)))", "Argument to car is invalid"),
    ("(+ 1 #t)", "Argument to + is invalid"),
    ("(+ '(1) '(2))", "Argument to + is invalid"),
    ("(< '(1) '(2))", "Argument to < is invalid"),
    ("(= '() '())", "Argument to = is invalid"),
    ("(= 'a 'a)", "Argument to = is invalid"),
    ("(+ 'a)", "Argument to + is invalid"),
    ("(- 'a)", "Argument to - is invalid"),
    ("(sqrt '(1 2))", "Argument to sqrt is invalid"),
    ("(sin (*j 1))", "Argument to sin is invalid"),
    ("(zero? 'a)", "Argument to zero? is invalid"),
    ("(even? '(1 2))", "Argument to even? is invalid"),
    ("(real '())", "Argument to real is invalid"),
    ("(atan 'a 1)", "Argument to atan is invalid"),
    ('(string-append "a" 1)', "Argument to string-append is invalid"),
    ('(string-length 1)', "Argument to string-length is invalid"),
    ('(substring "abc" 2 1)', "Argument to substring is invalid"),
    ('(substring "abc" 0 1.5)', "Argument to substring is invalid"),
    ("(symbol->string 1)", "Argument to symbol->string is invalid"),
    ("(number->string 'a)", "Argument to number->string is invalid"),
    ("(write-real 'a)", "Argument to write-real is invalid"),
    ("(newline 1)", "An output port is expected, as `open-output-string` makes one, not 1"),
    ("(read-real 1)", "read-real takes no arguments and got 1"),
    ('(error "bad thing:" 1 \'(2 3) "text")', 'bad thing: 1 (2 3) "text"'),
    ("(error (string-append \"no\" \"t\") 'a \"b c\")", 'not a "b c"'),
    ('(error "bad list:" \'(1 2))', "bad list: (1 2)"),
    ('(error "nothing else")', "nothing else"),
    ("(error 'who 1)", "who 1"),
]  # fmt: skip


def data(text: str) -> list[str]:
    """The parenthesised expressions of a text."""
    out, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character == "(":
            start = at if depth == 0 else start
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                out.append(text[start : at + 1])
    return out


@pytest.mark.parametrize("expression", data(TRUTHS))
def test_true(session: vlad.Session, expression: str) -> None:
    assert session.eval(expression) is True


@pytest.mark.parametrize("expression", data(FALSEHOODS))
def test_false(session: vlad.Session, expression: str) -> None:
    assert session.eval(expression) is False


@pytest.mark.parametrize(("expression", "message"), ERRORS)
def test_error(session: vlad.Session, expression: str, message: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        session.eval(expression)
    assert message in caught.value.message
    assert caught.value.span is not None


def test_derivatives_through_data(session: vlad.Session) -> None:
    assert session.eval("((slope (lambda (x) (car (cons (* x x) 1)))) 3)") == 6.0
    assert session.eval("((slope (lambda (x) (cdr (cons (* x x) x)))) 3)") == 1.0
    assert session.eval("((slope (lambda (x) (if (equal? (cons x 1) (cons 3 1)) (* x x) 0))) 3)") == 6.0
    assert session.eval("((slope (lambda (x) (string-length (number->string x)))) 3)") == 0.0
    assert session.eval("((slope (lambda (x) (* x (stop-gradient x)))) 3)") == 3.0
    assert session.eval("((slope (lambda (x) (real (* x x)))) 3)") == 6.0


@pytest.mark.own_tier
def test_long_structures() -> None:
    """Equality needs no stack, and visits shared parts once."""
    a: object = NIL
    b: object = NIL
    for k in range(200_000):
        a, b = (float(k), a), (float(k), b)
    assert equal(a, b)
    assert not equal((a, 1.0), (b, 2.0))
    x: object = 1.0
    y: object = 1.0
    for _ in range(200):
        x, y = (x, x), (y, y)
    assert equal(x, y)
    assert equal(Deferred(lambda: (String("a"), TRUE)), (String("a"), TRUE))


def output_of(text: str, typed: str = "") -> tuple[str, str]:
    """A program's output, and its value."""
    out = io.StringIO()
    session = vlad.Session(write=out.write, read=io.StringIO(typed).readline)
    session.eval(SETUP)
    value = session.eval(text)
    return out.getvalue(), written(value) if isinstance(value, float) else repr(value)


def test_output() -> None:
    assert output_of('(write (list 1 "a\\n" \'b))')[0] == '(1 "a\\n" b)\n'
    assert output_of("(write 5)") == ("5\n", "5")
    assert output_of("(write-real 0.5)") == ("0.5\n", "0.5")
    assert output_of('(display (list "a" 2))')[0] == "(a 2)"
    assert output_of('(write-string "a b")')[0] == "a b"
    assert output_of("(newline)")[0] == "\n"


def test_output_inside_a_derivative_shows_primals_once() -> None:
    assert output_of("((slope (lambda (x) (* 2 (write-real (* x x))))) 3)") == ("9\n", "12")
    assert output_of("((slope (lambda (x) (* 2 (write (* x x))))) 3)") == ("9\n", "12")


def test_input() -> None:
    assert output_of("(+ (read-real) (read-real))", "1.5 2\n") == ("", "3.5")
    assert output_of("((slope (lambda (x) (* x (read-real)))) 3)", "4") == ("", "4")
    for wrong in ("abc", "", "1_0"):
        message = "Value read is not real" if wrong else "The input has ended"
        with pytest.raises(vlad.VladError, match=message):
            output_of("(read-real)", wrong)


CHARACTERS = {
    "char-alphabetic?": "is-ascii-letter",
    "char-numeric?": "is-ascii-digit",
    "char-whitespace?": "is-ascii-space",
    "char-upper-case?": "is-ascii-capital",
    "char-lower-case?": "is-ascii-small",
}


@pytest.mark.parametrize("name", CHARACTERS)
def test_compiled_code_knows_each_character_of_ascii(name: str) -> None:
    codes = [float(code) for code in range(128)]
    texts = [String(chr(code)) for code in range(128)]
    expected = [TABLE[name].value(text) for text in texts]
    assert [TABLE[CHARACTERS[name]].value(code) for code in codes] == expected
    assert TRUE in expected
