"""Scripts that loop, recurse, differentiate and fill the memory."""

from __future__ import annotations

from scripts import endless, endless_in_steps, exponential, growing, script

GROW = "(let loop ((i 0) (x {start})) (if (= i {count}) {answer} (loop (+ i 1) {step})))"


def grown(start: str, step: str, count: int, answer: str = "x") -> str:
    return GROW.format(start=start, step=step, count=count, answer=answer)


SHARED = "(define shared " + grown("'(1)", "(cons x x)", 64) + ")"
TOWER = "(define (tower n f) (if (= n 0) f (tower (- n 1) (derivative f))))"

LOOPS = {
    "a loop without end": endless("(let loop ((i 0)) (loop (+ i 1)))"),
    "a loop that counts its steps": endless_in_steps("(let loop ((i 0)) (loop (+ i 1)))"),
    "a loop that computes nothing": endless("(let loop () (loop))"),
    "two procedures that call each other": endless(
        "(define (ping x) (pong x)) (define (pong x) (ping x)) (ping 1)"
    ),
    "the same, counted": endless_in_steps("(define (ping x) (pong x)) (define (pong x) (ping x)) (ping 1)"),
    "through a procedure that is passed on": endless("((lambda (f) (f f)) (lambda (f) (f f)))"),
    "the fixed point of nothing": script(
        "(define (fix f) (f (lambda (x) ((fix f) x)))) ((fix (lambda (self) (lambda (x) (+ 1 (self x))))) 1)",
        "too-deep",
        depth=1000,
    ),
    "recursion without end": script(
        "(define (down n) (+ 1 (down (+ n 1)))) (down 0)", "too-deep", depth=5000
    ),
    "recursion through map": script(
        "(define (down n) (car (map (lambda (x) (+ 1 (down x))) (list n)))) (down 0)", "too-deep", depth=2000
    ),
    "recursion through fold": script(
        "(define (down n) (fold (lambda (a x) (+ x (down (+ a x)))) 0 '(1 2))) (down 0)",
        "too-deep",
        depth=2000,
    ),
    "two that recurse": script(
        "(define (a n) (+ 1 (b n))) (define (b n) (+ 1 (a n))) (a 0)", "too-deep", depth=2000
    ),
    "exponentially many calls": endless(
        "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 80)"
    ),
    "exponentially many calls, counted": endless_in_steps(
        "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 80)"
    ),
    "ackermann": script(
        "(define (ack m n) (cond ((= m 0) (+ n 1)) ((= n 0) (ack (- m 1) 1)) (else (ack (- m 1) (ack m (- n 1))))))"
        " (ack 4 2)",
        "out-of-time|too-deep",
        seconds=0.15,
        depth=5000,
    ),
    "an endless stream": endless("(define (go s) (go (stream-cdr s))) (go (stream-from 1))"),
    "all of an endless stream": script(
        "(stream->list (stream-from 1))",
        "out-of-memory|too-deep|out-of-time",
        memory=40,
        depth=10_000,
        seconds=0.3,
    ),
    "a loop in a local definition": endless("(define (f x) (define (g y) (g y)) (g x)) (f 1)"),
    "do without an end": endless("(do ((i 0 (+ i 1))) (#f i))"),
    "a loop in an argument": endless("(if (let loop () (loop)) 1 2)"),
    "sorting by a predicate that does not end": endless(
        "(sort '(3 2 1) (lambda (a b) (let loop () (loop))))"
    ),
    "a minimiser that never arrives": endless(
        "(let loop ((l '(1))) (loop (gradient-descent (lambda (x) (car x)) l 1e-9)))"
    ),
    "a limit that nothing swallows": endless(
        "(define f (with-derivative (lambda (x) (let loop () (loop))) #:reverse"
        " (lambda (x) (cons 1 (lambda (s) s))))) (f 1)"
    ),
}

MEMORY = {
    "a list that grows": growing(grown("'()", "(cons i x)", 10**9, "(length x)")),
    "a list that is doubled": growing(grown("'(1)", "(append x x)", 60, "(length x)")),
    "a list of lists": growing(grown("'()", "(cons (list i i i) x)", 10**9, "(length x)")),
    "a string that is doubled": growing(grown('"ab"', "(string-append x x)", 60, "x")),
    "names without end": growing(
        grown("'()", '(cons (string->symbol (string-append "a" (number->string i))) x)', 10**9, "(length x)")
    ),
    "names of megabytes": growing(
        grown("'()", "(cons (string->symbol (string-append (number->string i) wide)) x)", 10**9, "(length x)")
    ),
    "names of megabytes that are dropped": script(
        grown(
            "0",
            "(string-length (symbol->string (string->symbol (string-append (number->string i) wide))))",
            200,
        ),
        value=1048579.0,
    ),
    "closures over closures": growing(grown("(lambda (y) y)", "(lambda (y) (+ i (x y)))", 10**9, "(x 1)")),
    "make-list": growing("(length (make-list 1000000000 1))"),
    "iota": growing("(length (iota 1e12))"),
    "a tape without end": growing("((derivative-R (lambda (x) " + grown("x", "(sin x)", 10**9) + ")) 1)"),
    "recursion that takes memory before depth": script(
        "(define (down n) (+ 1 (down (+ n 1)))) (down 0)",
        "out-of-memory|too-deep",
        memory=40,
        depth=10_000_000,
        seconds=20,
    ),
    "a list in a loop that drops it": script(grown("0", "(length (iota 100))", 2000), value=100.0),
    "strings that are dropped": script(
        grown('"a"', '(substring (string-append x x "bcdefgh") 0 5)', 20_000, "(string-length x)"), value=5.0
    ),
    "what shares its parts, compared": script(
        SHARED + " (define other " + grown("'(1)", "(cons x x)", 64) + ") (equal? shared other)",
        value=True,
        seconds=5,
    ),
    "what shares its parts, as a value": exponential(SHARED + " shared"),
    "what shares its parts, counted": endless(
        SHARED + " (define (size x) (if (pair? x) (+ (size (car x)) (size (cdr x))) 1)) (size shared)"
    ),
    "what shares its parts, flattened": exponential(SHARED + " (length (flatten shared))"),
    "what shares its parts, as a tensor": script(
        "(tensor " + grown("'(1 2)", "(list x x)", 30) + ")",
        "out-of-time|out-of-memory",
        seconds=0.2,
        memory=40,
    ),
    "a closure over what shares its parts": script(
        SHARED + " (define (f y) (cons shared y)) (car (cdr (f '(1 2))))", value=1.0
    ),
    "the sum of what shares its parts": script(
        SHARED + " (define (f x) (car (plus shared shared))) (pair? (f 1))", "none|out-of-time", seconds=0.2
    ),
}

DERIVATIVES = {
    "a tower of derivatives": script(
        TOWER + " ((tower 50 (lambda (x) (* x (sin (exp x))))) 1)",
        "out-of-time|out-of-memory|too-deep",
        seconds=0.2,
        memory=100,
        depth=10_000,
    ),
    "J of J of J": script(
        "(define (js n f) (if (= n 0) f (js (- n 1) (J f)))) ((js 50 (lambda (x) (* x x))) 1)",
        "out-of-time|out-of-memory|too-deep|no-matching-pair|wrong-type-for-target|not-a-procedure",
        seconds=0.2,
        memory=100,
        depth=10_000,
    ),
    "j* of j*": script(
        "(define (js n f) (if (= n 0) f (js (- n 1) (j* f)))) ((js 40 (lambda (x) (* x x))) 1)",
        "out-of-time|out-of-memory|too-deep|no-matching-pair|wrong-type-for-target|not-a-procedure",
        seconds=0.2,
        memory=100,
        depth=10_000,
    ),
    "J within itself, in the text": script(
        lambda: "((lambda (x) " + "(J " * 60 + "x" + ")" * 60 + ") 1)",
        "none|out-of-time|out-of-memory",
        seconds=0.2,
    ),
    "the derivative of a loop without end": endless(
        "((derivative (lambda (x) (let loop ((y x)) (loop (* 1.0001 (sin y)))))) 1)", 0.2
    ),
    "forward mode of the same": endless(
        "((derivative-F (lambda (x) (let loop ((y x)) (loop (sin y))))) 1)", 0.2
    ),
    "a backpropagator without end": endless(
        "(define f (with-derivative (lambda (x) x) #:reverse (lambda (x) (cons x (lambda (s) (let loop () (loop)))))))"
        " ((derivative f) 1)"
    ),
    "a derivative that recurses": script(
        "(define (f x) (+ x ((derivative f) x))) (f 1)",
        "too-deep|out-of-memory|out-of-time",
        depth=2000,
        seconds=0.3,
        memory=100,
    ),
    "the gradient of itself": script(
        "(define (f x) ((gradient f) x)) (f 1)",
        "too-deep|out-of-memory|out-of-time",
        depth=2000,
        seconds=0.3,
        memory=100,
    ),
    "Taylor without end": script(
        "(taylor-coefficients exp 0 200)",
        "out-of-time|out-of-memory|too-deep|wrong-number-of-arguments",
        seconds=0.2,
        memory=100,
        depth=10_000,
    ),
    "a Hessian of many": endless("((hessian (lambda (l) (fold * 1 l))) (make-list 400 1))", 0.2),
}
