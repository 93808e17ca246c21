"""Scripts that do one long or large thing: operations on tensors."""

from __future__ import annotations

from scripts import exponential, growing, script

LARGE = "(list 100000 100000)"


def long(text: str, seconds: float = 0.2) -> object:
    """An operation that would take much longer, in as much memory as is needed."""
    return script(text, "out-of-time", seconds=seconds, memory=1000)


TENSORS = {
    "zeros": growing(f"(zeros {LARGE})"),
    "ones": growing(f"(sum (ones {LARGE}))"),
    "full": growing(f"(full {LARGE} 3)"),
    "eye": growing("(eye 100000)"),
    "arange": growing("(sum (arange 1e10))"),
    "linspace": growing("(linspace 0 1 1e10)"),
    "uniform": growing(f"(uniform (random-key 1) {LARGE})"),
    "normal": growing(f"(normal (random-key 1) {LARGE})"),
    "random integers": growing("(random-integer (random-key 1) 0 10 1e10)"),
    "a permutation": growing("(permutation (random-key 1) 1e9)"),
    "keys": growing("(length (split (random-key 1) 1e9))"),
    "a shape that is no number": script("(ones (list 1e300 1e300))", "wrong-shape"),
    "a negative shape": script("(ones (list -5))", "wrong-shape"),
    "a shape of many axes": script("(ones (make-list 1000 1))", "wrong-shape"),
    "an outer product": growing("(outer (ones 100000) (ones 100000))"),
    "a broadcast sum": growing("(let ((a (ones (list 100000 1)))) (+ a (transpose a)))"),
    "a broadcast comparison": growing("(let ((a (ones (list 100000 1)))) (< a (transpose a)))"),
    "a broadcast choice": growing("(let ((a (ones (list 100000 1)))) (where (< a 0) a (transpose a)))"),
    "a broadcast power": growing("(let ((a (ones (list 100000 1)))) (expt a (transpose a)))"),
    "what is repeated": growing("(sum (+ 1 (broadcast-to 1 (list 100000 100000))))"),
    "what is repeated again and again": growing(
        "(let ((a (broadcast-to (ones (list 1 1 1)) (list 2000 2000 2000)))) (* a a))"
    ),
    "a product of matrices": growing("(matmul (ones (list 100000 1)) (ones (list 1 100000)))"),
    "a large einsum": growing('(einsum "i,j->ij" (list (ones 100000) (ones 100000)))'),
    "an einsum of many": growing(
        '(einsum "i,j,k,l->ijkl" (list (ones 1000) (ones 1000) (ones 1000) (ones 1000)))'
    ),
    "an einsum of sums": script(
        '(einsum "i,j,k,l->" (list (ones 1000) (ones 1000) (ones 1000) (ones 1000)))', value=1e12, seconds=20
    ),
    "one tensor many times": growing("(let ((a (ones 100000))) (concatenate (make-list 100000 a)))"),
    "one tensor, stacked": growing("(let ((a (ones 100000))) (stack (make-list 100000 a)))"),
    "gathering": growing("(gather (ones (list 10 100000)) (zeros 100000))"),
    "an order": growing(f"(argsort (broadcast-to 1 {LARGE}))"),
    "entries in order": growing("(sorted (broadcast-to #[2 1] (list 5000000000 2)))"),
    "sums along an axis": growing(f"(cumsum (broadcast-to 1 {LARGE}))"),
    "one-hot": growing("(one-hot (zeros 100000) 100000)"),
    "windows": exponential("(max-pool (ones (list 1 1 1000 1000)) 500 #:stride 1)"),
    "a convolution in padding": growing(
        "(conv2d (ones (list 1 1 10 10)) (ones (list 1 1 3 3)) #:padding 50000)"
    ),
    "all entries as a list": growing("(length (tensor->list (ones 3000000)))"),
    "a tensor that grows": growing("(let loop ((t (ones 10))) (loop (concatenate (list t t))))"),
    "tensors that are kept": growing(
        "(let loop ((l '()) (i 0)) (if (= i 1e9) (length l) (loop (cons (+ i (ones 100000)) l) (+ i 1))))"
    ),
    "the product of all others": script(
        "(sum ((gradient (lambda (t) (prod t))) (ones 10000)))",
        "none|out-of-memory",
        value=1e4,
        memory=40,
        seconds=20,
    ),
    "a Jacobian": growing("((jacobian (lambda (t) (* t t))) (ones 100000))"),
    "large products": long("(let loop ((a (ones (list 2000 2000)))) (loop (matmul a a)))"),
    "a product with what is repeated": long(
        "(sum (matmul (broadcast-to 1 (list 3000 3000)) (broadcast-to 1 (list 3000 3000))))"
    ),
    "a large product of integers": long("(let ((a (as-type (ones (list 1500 1500)) 'int64))) (matmul a a))"),
    "a large batch of products": long(
        "(let ((a (ones (list 50 500 500)))) (let loop ((b a)) (loop (matmul a b))))"
    ),
    "large contractions": long(
        '(let ((a (ones (list 1500 1500)))) (let loop ((b a)) (loop (einsum "ij,jk,kl->il" (list a b a)))))'
    ),
    "large systems": long(
        "(let ((a (+ (ones (list 2500 2500)) (* 2500 (eye 2500))))) (let loop ((b (ones 2500))) (loop (solve a b))))"
    ),
    "a large inverse": long(
        "(let loop ((a (+ (ones (list 1500 1500)) (* 1500 (eye 1500))))) (loop (inverse a)))"
    ),
    "a large determinant": long(
        "(let ((a (+ (ones (list 2000 2000)) (* 2000 (eye 2000))))) (let loop () (if (> (det a) 0) (loop) 1)))"
    ),
    "its derivative": long("(sum ((gradient det) (+ (ones (list 1500 1500)) (* 1500 (eye 1500)))))"),
    "large factors": long(
        "(let loop ((a (+ (ones (list 2000 2000)) (* 2000 (eye 2000))))) (loop (+ a (cholesky a))))"
    ),
    "a large convolution": long(
        "(let loop ((s 0)) (loop (sum (conv2d (ones (list 1 64 128 128)) (ones (list 256 64 3 3))))))"
    ),
    "a large permutation": long("(sum (permutation (random-key 1) 50000000))"),
    "orders without end": long(
        "(let ((t (uniform (random-key 1) 1000000))) (let loop ((x t)) (loop (+ t (argsort x)))))"
    ),
    "many random numbers": long("(sum (normal (random-key 1) 100000000))"),
    "sums without end": long("(let loop ((t (ones 1000))) (loop (+ t 1)))"),
    "large sums without end": long("(let loop ((t (ones 1000000))) (loop (sin t)))"),
    "a gradient of a long loop": long(
        "((gradient (lambda (t) (let loop ((i 0) (t t)) (if (= i 1e9) (sum t) (loop (+ i 1) (sin t)))))) (ones 1000))"
    ),
    **{
        f"what {name} makes on the way": script(text, "out-of-memory|none", memory=48, seconds=20)
        for name, text in {
            "softmax": "(shape (softmax big))",
            "log-softmax": "(shape (log-softmax big))",
            "logsumexp": "(logsumexp big)",
            "variance": "(variance big)",
            "norm": "(norm big)",
            "polygamma": "(shape (polygamma 2 (slice big 0 10000)))",
            "split": "(length (split (random-key 1) 1000000))",
            "normal": "(shape (normal (random-key 1) (size big)))",
            "as-type": "(shape (as-type big 'int64))",
            "argmax": "(argmax big)",
            "cholesky": "(shape (cholesky (+ (reshape big '(-1 2 2)) (* 8 (eye 2)))))",
            "reshape": "(shape (reshape (transpose (reshape big '(2048 -1))) (list (size big))))",
        }.items()
    },
    "optimising without end": long(
        "(let loop ((w (ones 100))) (loop (- w (* 0.1 ((gradient (lambda (w) (sum (* w w)))) w)))))"
    ),
}
