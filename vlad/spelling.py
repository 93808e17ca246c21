"""Words that somebody may have meant: known ones that are written much like a word, and what stands here for those of others.

In: a word that means nothing, and the words that do.  Out: what to suggest. Called where an error is made, never before.
"""

from __future__ import annotations

from collections.abc import Iterable

# What people write who come from Python, R, JavaScript, or another Lisp, and what to write here.
ELSEWHERE = {
    "!=": "write `(not (= a b))`",
    "%": "write `(modulo a b)`",
    "&&": "write `(and a b)`",
    "**": "write `(expt x y)`",
    "->": "a procedure is `(lambda (x) BODY)`",
    "<-": "write `(define NAME VALUE)`, or `(let ((NAME VALUE)) BODY)` for a local name",
    "==": "write `(= a b)` for numbers, `(equal? a b)` for anything",
    "False": "write `#f`",
    "None": "write `'()`, or `#f`",
    "True": "write `#t`",
    "^": "write `(expt x y)`",
    "arctan": "write `(atan y x)`",
    "array": "a tensor is written `#[1 2 3]`, or `(tensor '(1 2 3))`",
    "call-with-values": "write `(let (((cons a b) VALUE)) BODY)`, where VALUE answers `(cons a b)`",
    "call/cc": "there are no first-class continuations",
    "clip": "write `(clamp x low high)`",
    "concat": "write `append` for lists, `string-append` for strings",
    "def": "write `(define (NAME PARAMETER ...) BODY)`",
    "defn": "write `(define (NAME PARAMETER ...) BODY)`",
    "defun": "write `(define (NAME PARAMETER ...) BODY)`",
    "diag": "`(diagonal t)` takes the diagonal of a matrix; `(* v (eye n))` makes a matrix of one",
    "diff": "write `(derivative f)` or `(gradient f)`",
    "e": "write `(exp 1)`",
    "doc": "`vlad doc NAME`, at a prompt `,doc NAME` or `?NAME`, tells what a name means",
    "eig": "write `(eigh a)`, for a symmetric matrix: the pair of the eigenvalues and the eigenvectors",
    "eigenvalues": "write `(eigvalsh a)`, for a symmetric matrix",
    "elif": "write `(cond (TEST VALUE) ... (else VALUE))`",
    "else": "`else` begins the last clause of a `cond` or a `case`",
    "exit": "a program ends with its last form; at a prompt press Ctrl-D",
    "false": "write `#f`",
    "fliplr": "write `(flipped t #:axis 1)`",
    "flipud": "write `(flipped t #:axis 0)`",
    "fn": "write `(lambda (PARAMETER ...) BODY)`",
    "for": "a loop is a named `let`, or `map`, `for-each`, `fold` over a list",
    "format": "write `string-append` and `number->string`",
    "function": "write `(lambda (PARAMETER ...) BODY)`",
    "grad": "write `(gradient f)`",
    "guard": "an error ends the evaluation; programs in Python catch it, as a `vlad.VladError`",
    "hash-ref": "a table is a list of pairs: `(cdr (assoc KEY TABLE))`",
    "head": "write `car` or `first`",
    "isnan": "`(nan? x)` asks that of a number; in a tensor `(= t t)` is false there",
    "logcdf": "write `(log-normal-cdf x)`",
    "log_ndtr": "write `(log-normal-cdf x)`",
    "len": "write `length` for lists, `size` or `shape` for tensors",
    "let-values": "write `(let (((cons a b) VALUE)) BODY)`, where VALUE answers `(cons a b)`",
    "help": "`vlad doc NAME`, at a prompt `,doc NAME` or `?NAME`, tells what a name means; there, `,help` lists the commands",
    "ln": "write `log`",
    "load": 'write `(import "FILE")`, or at a prompt `,load FILE`; `load-tensor` and `load-csv` read data',
    "lstsq": "write `(solve-triangular r (matmul (transpose q) b) #:upper #t)`, where `(qr a)` is `(cons q r)`",
    "mod": "write `modulo`",
    "nil": "write `'()`",
    "nth": "write `(list-ref LIST I)`, which counts from 0",
    "null": "write `'()`, and `(null? x)` to ask for it",
    "plot": "at a prompt, `,plot F LOW HIGH` draws a procedure",
    "pow": "write `(expt x y)`",
    "print": "write `(write x)` or `(display x)`",
    "printf": "write `(display x)`",
    "quit": "a program ends with its last form; at a prompt press Ctrl-D",
    "raise": "write `(error MESSAGE VALUE ...)`",
    "rand": "random numbers come from a key: `(uniform (random-key 1) 3)` makes three",
    "randn": "random numbers come from a key: `(normal (random-key 1) 3)` makes three",
    "random": "random numbers come from a key: `(uniform (random-key 1) 3)` makes three",
    "ref": "write `(list-ref LIST I)` or `(tensor-ref TENSOR I)`",
    "return": "the value of a procedure is that of its last expression",
    "save": "at a prompt, `,save FILE` writes what you entered; `save-tensor` writes data",
    "set!": "no value ever changes: bind a new name with `let`, or hand the new value to the next turn of a loop",
    "setq": "no value ever changes: bind a new name with `let`, or hand the new value to the next turn of a loop",
    "slogdet": "write `(log-det a)`, the logarithm of the absolute determinant",
    "sqr": "write `square`",
    "std": "write `(sqrt (variance t))`",
    "str": "write `number->string` or `symbol->string`",
    "tail": "write `cdr` or `rest`",
    "then": "write `(if TEST THEN ELSE)`, without a word between",
    "throw": "write `(error MESSAGE VALUE ...)`",
    "true": "write `#t`",
    "try": "an error ends the evaluation; programs in Python catch it, as a `vlad.VladError`",
    "values": "write `(cons a b)` or `(list a b)`, which a parameter of the same shape takes apart",
    "var": "write `(define NAME VALUE)`, or `(let ((NAME VALUE)) BODY)` for a local name; or `(variance t)`",
    "vector": "write `(list ...)` or a tensor `#[...]`",
    "vector-ref": "write `(list-ref LIST I)` or `(tensor-ref TENSOR I)`",
    "vmap": "operations of tensors go over all axes in front; `map` goes over a list, `map-tensor` over entries",
    "while": "a loop is a named `let` or a `do`",
    "with-exception-handler": "an error ends the evaluation; programs in Python catch it, as a `vlad.VladError`",
    "||": "write `(or a b)`",
}
# What is for tensors, where the library's procedure of a name is for lists or for procedures.
FOR_TENSORS = {
    "argmin": "`(argminimum t)` is for tensors",
    "reverse": "`(flipped t)` is for tensors",
    "sort": "`(sorted t)` is for tensors",
}
MOST_TOLD = 3


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """What a hint says of a word that means nothing; None where nothing is like it."""
    near = nearest(word, known)
    if word in ELSEWHERE and not (near and edits(word, near[0], 1) <= 1 and len(word) > 4):
        return ELSEWHERE[word]
    if not near:
        return None
    names = [f"`{name}`" for name in near]
    return f"did you mean {' or '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)}?"


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """The likeliest of the known words that are the fewest edits away: at most three, and none that has little in common with
    the word."""
    if len(word) < 2:  # a variable of mathematics: nothing to know a name by
        return []
    most = 1 if len(word) < 5 else 2 if len(word) < 9 else 3
    letters = set(word)
    found: list[tuple[tuple[object, ...], str]] = []
    for name in known:
        if name != word and abs(len(name) - len(word)) <= most and len(letters ^ set(name)) <= 2 * most:
            count = edits(word, name, most)
            if count < max(len(word), len(name)) and count <= most:
                found.append((_unlikeliness(word, name, count), name))
                most = min(most, count)
    found.sort()
    return [name for rank, name in found if rank == found[0][0]][:MOST_TOLD]


def _unlikeliness(word: str, name: str, count: int) -> tuple[object, ...]:
    """What is small for a word that was probably meant: few edits, none of them the first character, no letter more or less."""
    return count, word[:1] != name[:1], set(word) != set(name)


def edits(a: str, b: str, most: int) -> int:
    """How many characters have to be put in, left out, replaced or swapped with their neighbours to get from one word to
    another; any number above `most` stands for all of them (Damerau 1964; each place is edited once)."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]
