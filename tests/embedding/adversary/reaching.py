"""Scripts that try to access Python, C, files and other sessions, and names that try to break generated code."""

from __future__ import annotations

from scripts import Script, script

from vlad.expand.forms import KEYWORDS

# Names that are defined, called, captured, differentiated and compiled.
NAMES = [
    "__import__",
    "__class__",
    "__builtins__",
    "self",
    "None",
    "True",
    "lambda*",
    "def",
    "class",
    "import",
    "main",
    "int",
    "double",
    "return",
    "static",
    "while",
    "vlad_fail",
    "vlad_stop",
    "vlad_call",
    "_start",
    "printf",
    "exit",
    "T",
    "S",
    "bounce",
    "FAMILY",
    "|*/ int main(void){} /*|",
    "|*/ /*|",
    "|2d|",
    "|1|",
    "NULL",
    "EOF",
    '|"|',
    "|\\n#include <stdio.h>\\n|",
    "|??/|",
    "|//|",
    "|\\x0;|",
    "|%s%n|",
    "|a b|",
    "||",
    "|a\\|b|",
    "λ",
    "日本語",
    "x" * 5000,
    "|" + "-" * 5000 + "|",
    "|(|",
    "|#|",
    "|'''|",
    '|"""|',
    "|\\\\|",
    "|${x}|",
    "|{0.__class__}|",
]
USES = (
    "(define ({0} {0}x) (if (< {0}x 1) ({0} (+ {0}x 1)) (* {0}x {0}x))) (define (user-of it) (lambda (y) (it y)))"
    " (+ ((user-of {0}) 3) ((derivative {0}) 2))"
)


def used(name: str) -> str:
    inner = name[:-1] + "x|" if name.endswith("|") else name + "x"
    return USES.replace("{0}x", inner).replace("{0}", name)


def outcome(name: str) -> Script:
    if name in KEYWORDS:  # of the language, too
        return script(used(name), "reserved-name")
    return script(used(name), value=13.0, seconds=20)


HOSTILE_NAMES = {f"the name {name[:40]!r}": outcome(name) for name in NAMES}

FORBIDDEN = [
    '(load-csv "/etc/passwd")',
    '(load-csv "../../etc/passwd")',
    '(load-tensor "/dev/stdin")',
    '(load-tensor "/dev/zero")',
    '(load-tensor "a\\x0;b")',
    '(load-csv "/proc/self/environ")',
    '(save-tensor "/tmp/vlad-adversary.npy" #[1 2])',
    '(include "/etc/passwd")',
    '(include "/dev/stdin")',
    '(include "../../../etc/passwd")',
    '(import "/etc/passwd")',
    '(import "../vlad/session")',
    '(import "./prelude")',
    '(import "/dev/stdin")',
    '(import "../stdlib/prelude")',
    "(read-real)",
    '(include "~/.bashrc")',
    '(load-csv "file:///etc/passwd")',
    '(load-csv "http://localhost/")',
    '(include "$HOME/x")',
    '(load-tensor "")',
]
NAMELESS = [
    '(include "a\\x0;b")',
    '(import "a\\x0;b")',
    '(include "")',
    '(import "")',
    "(include 1)",
    "(import car)",
]
UNKNOWN = [
    "(__import__ 1)",
    "(eval 1)",
    "(exec 1)",
    "(open 1)",
    "(getattr car 1)",
    "(system 1)",
    "(globals)",
    "(compile 1)",
    "(vars)",
    "(as-product 1 2 3)",
    "(tensor-parts 1 2)",
    "(unslice 1 2)",
    "(shape-witness 1 2)",
    "(tail-entry car)",
    "(record 1 2)",
    "(%map 1)",
]

REACHING = {
    **{f"what is forbidden: {text}": script(text, "not-permitted") for text in FORBIDDEN},
    **{f"what is no file: {text}": script(text, "invalid-expression") for text in NAMELESS},
    **{
        f"what is not there: {text}": script(text, "unbound-variable")
        for text in UNKNOWN
        if not text.startswith("(%")
    },
    "attributes": script("car.__class__", "unbound-variable"),
    "attributes of a call": script('("".format 1)', "unbound-variable|not-a-procedure|invalid-syntax"),
    "a number as a procedure": script("(1 2)", "not-a-procedure"),
    "a string as a procedure": script('("__import__" 2)', "not-a-procedure"),
    "a form as a value": script("(define x if)", "invalid-expression"),
    "a form that is redefined": script("(define (if a b c) 1) (if 1 2 3)", "reserved-name"),
    "a primitive that is redefined": script("(define (* a b) 666) (* 1 2)", value=666.0),
    "a library procedure that is redefined": script("(define (map f l) 'mine) (map car '(1))", value="mine"),
    "the library's own helper": script("(%map 1)", "unbound-variable|not-a-procedure|no-matching-pair|none"),
    "what the host gave": script("(car (host-object))", "not-a-procedure|no-matching-pair"),
    "what the host gave, compared": script("(eq? host-object host-object)", value=True),
    "what the host gave, differentiated": script(
        "((derivative (lambda (x) (begin host-object x))) 1)", value=1.0
    ),
    "what the host gave, printed": script("(begin (write host-object) 1)", value=1.0),
    "what the host gave, in arithmetic": script("(+ 1 host-object)", "invalid-argument"),
    "a host's function with what it does not take": script("(host-call 1 2)", "python-error"),
    "a host's function that fails": script("(host-failure 1)", "python-error"),
    "a host's function, differentiated": script("((derivative host-function) 1)", "no-derivative"),
    "a host's function that comes back": script(
        '(host-again "(let loop () (loop))")', "out-of-time", seconds=0.2
    ),
    "the same, again and again": script(
        "(define (f x) (host-call f x)) (f 1)", "too-deep|python-error", depth=2000
    ),
    "a host's function that is given a loop": script(
        "(host-call (lambda (x) (let loop () (loop))) 1)", "out-of-time", seconds=0.2
    ),
    "a loop around a host's function": script(
        "(let loop () (begin (host-function 1) (loop)))", "out-of-time", seconds=0.2
    ),
    "a definition that fails half-way": script(
        "(define kept 43) (car 1)", "no-matching-pair|invalid-argument"
    ),
    "what compiled code relies on, redefined": script(
        "(define (g x) (* 2 x)) (define (f x) (g x)) (define a (f 1)) (define (g x) (* 3 x)) (cons a (f 1))",
        value=(2.0, 3.0),
    ),
    "what is printed as C": script('(begin (display "*/ #include </etc/passwd> /*") 1)', value=1.0),
    "what is C, as a string": script(
        '(string-length (string-append "\\\\" "\\"; system(0); //"))', value=17.0
    ),
    "what is C, as a symbol": script("(eq? '|*/ x /*| '|*/ x /*|)", value=True),
    "what is C, as an error": script('(error "*/ #error x /*")', "user-error"),
    "numbers at the edges": script("(+ 4.9e-324 1.7976931348623157e308 -0.0)", value=1.7976931348623157e308),
    "no numbers": script("(let ((x +nan.0)) (if (= x x) 1 2))", value=2.0),
}
