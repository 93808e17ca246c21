"""Forged texts, not written by `vlad.dumps`: they resemble saved values, and attempt something else when read or called."""

from __future__ import annotations


def code(body: str, parameters: str = "x", more: str = "") -> str:
    """A saved procedure of this body."""
    return f"(vlad-saved 1 {more}(code f (lambda f ({parameters}) {body})) (closure f))"


def applied(row: str, operands: str) -> str:
    return code(f"(let* ((r ({row} {operands}))) r)")


# Texts that reading rejects.
UNREADABLE = {
    "nothing": "",
    "a program": "(define x 1)",
    "Python": "__import__('os').system('true')",
    "a pickle": "\x80\x04\x95cos\nsystem\n(S'true'\ntR.",
    "another version": "(vlad-saved 2 1)",
    "two values": "(vlad-saved 1 1) (vlad-saved 1 2)",
    "a value that holds itself": "(vlad-saved 1 (value a (list a)) a)",
    "a name from nowhere": "(vlad-saved 1 a)",
    "a code from nowhere": "(vlad-saved 1 (closure f))",
    "a primitive that there is not": "(vlad-saved 1 (primitive __import__))",
    "a library procedure that there is not": "(vlad-saved 1 (library ../session))",
    "a procedure of the system that there is not": "(vlad-saved 1 (system __class__))",
    "a closure without its values": "(vlad-saved 1 (closure (system backpropagator)))",
    "a closure of too many values": code("x").replace("(closure f)", "(closure f 1 2 3)"),
    "many transforms": "(vlad-saved 1 (closure " + "(tail " * 1000 + "(primitive sin)" + ")" * 1000 + "))",
    "deep parentheses": "(vlad-saved 1 " + "(list " * 50_000 + ")" * 49_999,
    "a tensor of objects": '(vlad-saved 1 (tensor object (1) "AAAA"))',
    "a tensor without end": "(vlad-saved 1 (tensor float64 (4503599627370496 4503599627370496) 1))",
    "a tensor of nothing and without end": "(vlad-saved 1 (tensor float64 (0 4503599627370496 "
    "4503599627370496 4503599627370496)))",
    "a tensor of other bytes": '(vlad-saved 1 (tensor float64 (2) "AAAA"))',
    "booleans that are none": '(vlad-saved 1 (tensor bool (4) "AgICAg=="))',
    "no base64": '(vlad-saved 1 (tensor float64 (1) "é"))',
    "a negative length": "(vlad-saved 1 (tensor float64 (-1)))",
    "a field of another record": code("(let* ((r (field (primitive sin) 5 9 x))) r)"),
    "a record of too many": code("(let* ((r (record (primitive sin) 1 2 3))) r)"),
    "a variable from nowhere": code("y"),
    "a variable twice": code("(let* ((y 1) (y 2)) y)"),
    "too few operands": applied("+", "x"),
    "what shares its parts": "(vlad-saved 1 (value a (list 1)) "
    + "".join([f"(value {'a' * (i + 2)} (list {'a' * (i + 1)} {'a' * (i + 1)}))" for i in range(60)])
    + "a" * 61
    + ")",
    "a lambda that captures twice": code("(let* ((g (lambda (y) (over x x) x))) g)"),
    "a result that is no atom": code("(lambda (y) y)"),
    "an escape": '(vlad-saved 1 "\\xffffffffff;")',
    "half a text": '(vlad-saved 1 (list 1 "',
}

# What can be read: then it is called, differentiated and compiled.
CALLABLE = {
    "rows of the system with what it never gives": [
        applied("as-row", "x"),
        applied("as-product", "x x x"),
        applied("reshape-like", "x x"),
        applied("as-columns", "x x"),
        applied("half-lower", "x"),
        applied("tensor-parts", "x x"),
        applied("split-like", "x x 0"),
        applied("is-own", "x 7"),
        applied("turned", "x x"),
        applied("contract", 'x x "ij,jk->ik" x'),
        applied("contract", 'x x "é" x'),
        applied("einsum-plan", "x x"),
        # a result that is longer than its parts
        "(vlad-saved 1 (code f (lambda f (x) (let* ((t (quote (tensor float64 (2) 1 2))) (u (zeros 300 (quote (quote float64)))) "
        '(r (contract t t "i,i->i" u))) r))) (closure f))',
        applied("inverse-axes", "x"),
        applied("unslice", "x x x x x x"),
        applied("numeral-state", "x 1e300"),
        applied("numeral-real", "x x x x x"),
        applied("real-character", "1 x"),
        applied("decimal-character", "x x x x"),
        applied("random-word", "x x x x x"),
        applied("tensor-put", "x x x"),
        applied("tail-entry", "x"),
        applied("forward-entry", "x"),
        applied("refuse-derivative", "x x x x"),
        applied("cofactor", "x"),
        applied("cofactors", "x"),
        applied("half", "x x"),
        applied("placed", "x 1"),
        applied("mirrored", "x"),
        applied("heading", "x x"),
        applied("along", "x 3 x"),
    ],
    "calls of what is no procedure": [code("(x x)"), code("(let* ((y (x 1))) (y y))")],
    "a loop": ["(vlad-saved 1 (code g (lambda g (x) (loop x))) (global loop (closure g)) (closure g))"],
    "values of the system that hold something else": [
        "(vlad-saved 1 (closure (system backpropagator) 1 2 3 4 5))",
        "(vlad-saved 1 (closure (system backpropagator) (primitive sin) 1 2 3 4))",
        "(vlad-saved 1 (closure (system reverse) 1))",
        '(vlad-saved 1 (closure (system forward) 1 "text"))',
        "(vlad-saved 1 (closure (system perturbation) (list 1)))",
        "(vlad-saved 1 (closure (system sensitivity) zero))",
        "(vlad-saved 1 (closure (system with-derivative) 1 2 3))",
        "(vlad-saved 1 (closure (tail (primitive sin))))",
        "(vlad-saved 1 (closure (forward (tail (primitive +)))))",
        "(vlad-saved 1 (system identity))",
    ],
    "names that would be Python or C": [
        "(vlad-saved 1 (code |x):\\n import os| (lambda |f():\\n import os\\n#| "
        "(|x):\\n import os|) (let* ((|y\\n| (sin |x):\\n import os|)))"
        " |y\\n|))) (closure |x):\\n import os|))",
        code("(let* ((|%s*/| (sin |*/ int main; /*|))) |%s*/|)", "|*/ int main; /*|"),
    ],
    "a file": [applied("load-tensor", '"/etc/passwd"'), applied("save-tensor", '"/tmp/vlad-adversary" x')],
    "a record that is none": [
        "(vlad-saved 1 (code g (lambda g (y) (over a b) a)) (code f (lambda f (x) (let* ((r (field g 1 2 x))) r))) (closure f))",
        "(vlad-saved 1 (code g (lambda g (y) (over a b) a)) (code f (lambda "
        "f (x) (let* ((r (record g x x)) (s (r x))) s))) (closure f))",
    ],
}
