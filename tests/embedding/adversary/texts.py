"""Scripts that are hard to read, to expand, to compile or to print."""

from __future__ import annotations

from scripts import endless, script

DEEP = 50_000
MACRO = "(define-syntax double (syntax-rules () ((_ x) (begin x x)))) "


def nested(count: int, before: str, after: str, core: str = "1") -> str:
    return before * count + core + after * count


READING = {
    "parentheses": script(lambda: nested(DEEP, "(", ")"), "too-deep|out-of-time|out-of-memory", seconds=1),
    "parentheses that are never closed": script(lambda: "(" * DEEP, "incomplete"),
    "parentheses that were never open": script(lambda: ")" * DEEP, "invalid-syntax"),
    "quoted parentheses": script(
        lambda: "(define deep '" + nested(DEEP, "(", ")") + ") (pair? deep)", value=True, seconds=20
    ),
    "the same as a value": script(lambda: "'" + nested(DEEP, "(", ")"), "none|out-of-memory", seconds=20),
    "quotes": script(lambda: "(pair? " + "'" * 30_000 + "x)", value=True, seconds=20),
    "quotes of nothing": script(lambda: "'" * DEEP, "incomplete"),
    "quasi-quotes": script(
        lambda: nested(20_000, "`(", ")"), "none|out-of-time|too-deep|out-of-memory", seconds=0.2
    ),
    "unquotes": script(lambda: "`" + "," * 20_000 + "x", "invalid-expression", seconds=5),
    "tensors in tensors": script(
        lambda: nested(DEEP, "[", "]").replace("[", "#[", 1), "wrong-shape|too-many-axes", seconds=20
    ),
    "vectors of Scheme": script(lambda: "(vector? #" + nested(DEEP, "(", ")") + ")", value=True, seconds=20),
    "vectors in vectors": script(
        lambda: "(vector? " + nested(10_000, "#(", ")") + ")",
        "none|out-of-time|too-deep|out-of-memory",
        seconds=2,
    ),
    "a fraction of megabytes": script(lambda: "(/ #x1/" + "f" * 1_000_000 + ")", "none", value=float("inf")),
    "a character with a name of megabytes": script(lambda: "#\\" + "a" * 1_000_000, "invalid-syntax"),
    "datum comments": script(lambda: "#;" * 50_000 + "x " * 50_000 + "7", value=7.0, seconds=20),
    "comments in comments": script(lambda: nested(DEEP, "#|", "|#") + "7", value=7.0, seconds=20),
    "comments that never end": script(lambda: "#|" * DEEP, "incomplete"),
    "a string of megabytes": script(
        lambda: '(string-length "' + "a" * 10_000_000 + '")', value=1e7, seconds=20
    ),
    "a string of escapes": script(lambda: '(string-length "' + "\\n" * 300_000 + '")', value=3e5, seconds=20),
    "a string that never ends": script(lambda: '"' + "\\n" * 1_000_000, "incomplete"),
    "a name that never ends": script(lambda: "|" + "a" * 1_000_000, "incomplete"),
    "a hundred names that never end": script(lambda: '"' + "|a\\" * 100, "incomplete"),
    "a number of megabytes": script(lambda: "(* 0 (/ " + "1" * 3_000_000 + "))", value=0.0, seconds=20),
    "a number that is no number": script(lambda: "1" * 1_000_000 + "x", "invalid-syntax"),
    "digits behind the point": script(lambda: "0." + "3" * 3_000_000, value=0.3333333333333333, seconds=20),
    "a large exponent": script("1e99999", value=float("inf")),
    "an exponent of megabytes": script(lambda: "1e" + "9" * 1_000_000, value=float("inf")),
    "a small exponent of megabytes": script(lambda: "1e-" + "9" * 1_000_000, value=0.0),
    "bits": script(lambda: "#b" + "1" * 1_000_000, value=float("inf")),
    "digits of hexadecimal": script(lambda: "#x" + "f" * 1_000_000, value=float("inf")),
    "a character of megabytes": script(lambda: '"\\x' + "0" * 1_000_000 + '41;"', "invalid-syntax"),
    "a character that is none": script('"\\x000000000zz;"', "invalid-syntax"),
    "half a character": script('"\\xd800;"', "invalid-syntax"),
    "zeros": script(lambda: '(string-length "\x00")', value=1.0),
    "a zero between forms": script("(+ 1 2) \x00 (+ 3 4)", "invalid-syntax"),
    "directions of writing": script('(string-length "\u202e\u2066abc")', value=5.0),
    "a name of a megabyte": script(
        lambda: "(define " + "x" * 1_000_000 + " 7) " + "x" * 1_000_000, value=7.0, seconds=20
    ),
    "an unknown name of a megabyte": script(lambda: "x" * 1_000_000, "unbound-variable", seconds=20),
    "many names": script(
        lambda: "(+ " + " ".join(f"(let ((a{i} {i})) a{i})" for i in range(1500)) + ")",
        value=1124250.0,
        seconds=20,
    ),
    "a string read as a number": script(
        '(string->number (let loop ((i 0) (s "1")) (if (< i 20) (loop (+ i 1) (string-append s s)) s)))',
        "none|out-of-time",
        seconds=10,
    ),
    "a search for what is not there": script(
        '(let loop ((i 0) (s "a")) (if (< i 16) (loop (+ i 1) (string-append s s))'
        ' (string-search (string-append (substring s 0 30000) "b") s)))',
        "none|out-of-time",
        seconds=3,
    ),
}

EXPANDING = {
    "a macro that doubles": script(
        MACRO + nested(60, "(double ", ")"),
        "endless-macro|out-of-time|out-of-memory",
        seconds=0.2,
        memory=100,
    ),
    "a macro that uses itself": script(
        "(define-syntax again (syntax-rules () ((_ x) (again (x x))))) (again y)",
        "endless-macro|out-of-time|out-of-memory",
        seconds=0.2,
        memory=100,
    ),
    "a macro that does not grow": script(
        "(define-syntax again (syntax-rules () ((_ x) (again x)))) (again y)",
        "endless-macro|out-of-time",
        seconds=0.2,
    ),
    "macros that use each other": script(
        "(define-syntax ping (syntax-rules () ((_ x) (pong x x)))) (define-syntax pong (syntax-rules () ((_ x ...)"
        " (list (ping x) ...)))) (ping 1)",
        "endless-macro|out-of-time|out-of-memory",
        seconds=0.2,
        memory=100,
    ),
    "ellipses of ellipses": script(
        "(define-syntax all (syntax-rules () ((_ (a ...) ...) '((a ... a ...) ...)))) (pair? (all (1 2) (3 4)))",
        value=True,
    ),
    "doubling patterns": script(
        "(define-syntax grow (syntax-rules () ((_ () x ...) (length '(x ...))) ((_ (a b ...) x ...) (grow (b ...) x ... x ...))))"
        " (grow (1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1) 1)",
        "endless-macro|out-of-time|out-of-memory",
        seconds=0.2,
        memory=100,
    ),
    "quasi-quotation of what is quoted": script(
        lambda: "(length `(" + "1 ,(+ 1 1) " * 2000 + "))", value=4000.0, seconds=20
    ),
    "a file that includes itself": script('(include "loop.vlad")', "not-permitted"),
    "let in let": script(lambda: nested(2000, "(let ((x 1)) ", ")", "x"), value=1.0, seconds=20),
    "lambda in lambda": script(lambda: nested(500, "(lambda (x) ", ")", "x") + " 7", value=7.0, seconds=20),
    "if in if": script(
        lambda: "(define (f x) " + nested(2000, "(if (< x 1) ", " 0)", "5") + ") (f 0)", value=5.0, seconds=30
    ),
    "if in the test of if": script(
        lambda: "(define (f x) " + nested(1000, "(if ", " #t #f)", "(< x 1)") + ") (f 0)",
        value=True,
        seconds=30,
    ),
    "a long cond": script(
        lambda: "(define (f x) (cond " + "".join([f"((= x {i}) {i})" for i in range(2000)]) + ")) (f 1999)",
        value=1999.0,
        seconds=30,
    ),
    "a sum of many": script(lambda: "(+ " + "1 " * 20_000 + ")", value=20_000.0, seconds=30),
    "a deep sum": script(
        lambda: "(define (f x) " + nested(3000, "(+ 1 ", ")", "x") + ") (f 0)", value=3000.0, seconds=30
    ),
    "many parameters": script(
        lambda: (
            "((lambda (" + " ".join([f"p{i}" for i in range(500)]) + ") p499) " + " ".join(["1"] * 500) + ")"
        ),
        value=1.0,
        seconds=30,
    ),
    "many definitions": script(
        lambda: (
            "".join([f"(define (f{i} x) (f{i + 1} x))" for i in range(500)]) + "(define (f500 x) x) (f0 7)"
        ),
        value=7.0,
        seconds=30,
    ),
    "types that explode": script(
        "(define (grow n x) (if (= n 0) (lambda (y) x) (grow (- n 1) (cons x (lambda (y) x))))) (pair? ((grow 400 1) 2))",
        value=True,
        seconds=30,
    ),
    "instances that explode": endless(
        "(define (t n f) (if (= n 0) f (t (- n 1) (lambda (x) (f (f x)))))) ((t 60 (lambda (x) (+ x 1))) 0)"
    ),
    "orders that explode": script(
        "(define (d n f) (if (= n 0) f (d (- n 1) (lambda (x) ((derivative f) (* x x)))))) ((d 9 sin) 0.9)",
        "none|out-of-time|out-of-memory",
        seconds=0.2,
    ),
    "what could be found beforehand": script(  # and a C compiler does
        "(define (f n) (if (= n 0) 1 (+ (f (- n 1)) (f (- n 1))))) (f 70)",
        "none|out-of-time",
        value=2.0**70,
        seconds=0.3,
    ),
    "constants that could be found beforehand": script(
        '(define (f x) (string-length (let loop ((i 0) (s "ab")) (if (< i 40) (loop (+ i 1) (string-append s s)) s)))) (f 1)',
        "out-of-memory|out-of-time",
        seconds=3,
        memory=40,
    ),
}

PRINTING = {
    "one after the other": script("(let loop () (begin (display 1) (loop)))", "too-much-output"),
    "a long string": script(
        '(let loop ((i 0) (s "ab")) (if (< i 15) (loop (+ i 1) (string-append s s)) (display s)))',
        "too-much-output",
    ),
    "a long list": script("(display (iota 100000))", "too-much-output", seconds=20),
    "what shares its parts": script(
        "(let loop ((i 0) (l '(1))) (if (< i 60) (loop (+ i 1) (list l l)) (write l)))", "too-much-output"
    ),
    "a large tensor": script("(display (ones (list 100 100 10)))", "too-much-output"),
    "a tensor that is repeated": script("(display (broadcast-to 1 (list 900 900 2)))", "too-much-output"),
    "many lines": script("(let loop () (begin (newline) (loop)))", "too-much-output"),
    "without a limit of output": script(
        "(let loop ((i 0) (l '(1))) (if (< i 60) (loop (+ i 1) (list l l)) (begin (write l) 1)))",
        "out-of-time|out-of-memory",
        output=10**12,
        seconds=0.2,
        memory=60,
    ),
    "an error with a large value": script("(car (ones (list 300 300)))", "no-matching-pair|invalid-argument"),
    "an error with what shares its parts": script(
        "(let loop ((i 0) (l '(1))) (if (< i 60) (loop (+ i 1) (list l l)) (+ 1 l)))", "invalid-argument"
    ),
    "an error of many words": script("(error (make-list 1000 'a) (iota 100000))", "user-error", seconds=20),
    "an error of a long message": script(
        '(let loop ((i 0) (s "ab")) (if (< i 20) (loop (+ i 1) (string-append s s)) (error s)))',
        "user-error",
        seconds=20,
    ),
    "formats": script('(begin (display "%s%s%n%x {0} {} \\\\n") 1)', value=1.0),
    "zeros in what is printed": script('(begin (display "a\\x0;b") 1)', value=1.0),
}
