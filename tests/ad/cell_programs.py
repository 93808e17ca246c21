"""Random programs with cells, and what each of them means: the same program that passes its store along.

A program is an expression over the variable `x`, as a tree of nested tuples. `with_cells` prints it in the language as it is;
`with_store` prints the pure program: an address is a number, the store a list, and every expression is of a store and gives
(value . store). The store inside a derivative starts as that outside, is differentiated along with the value, and leaves it with
its primal part.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from hypothesis import strategies as st

Tree = Any
HELPERS = """
(define (%put l k v) (if (= k 0) (cons v (cdr l)) (cons (car l) (%put (cdr l) (- k 1) v))))
(define (%grow l v) (append l (list v)))
"""


@st.composite
def programs(draw: st.DrawFn) -> Tree:
    """The body of a procedure of x, a number, that makes at least one cell."""
    names = count()

    def number(
        depth: int, reals: tuple[str, ...], cells: tuple[str, ...], procedures: tuple[str, ...]
    ) -> Tree:
        kinds = ["variable", "variable", "constant", "deref", "deref"]
        if depth:
            kinds += [
                "+",
                "*",
                "sin",
                "set",
                "set",
                "set",
                "let",
                "if",
                "ref",
                "derivative",
                "lambda",
                "loop",
            ]
            kinds += ["call", "call"] if procedures else []
        kind = draw(st.sampled_from(kinds))

        def inner(more: tuple[str, ...] = (), cell: tuple[str, ...] = (), made: tuple[str, ...] = ()) -> Tree:
            return number(depth - 1, reals + more, cells + cell, procedures + made)

        match kind:
            case "variable":
                return "real", draw(st.sampled_from(reals))
            case "constant":
                return "real", draw(st.sampled_from(["2", "-1", "0.5", "3"]))
            case "deref":
                return "deref", address(cells)
            case "sin":
                return "sin", inner()
            case "+" | "*":
                return kind, inner(), inner()
            case "set":
                return "set", address(cells), inner(), inner()
            case "let":
                name = f"v{next(names)}"
                return "let", name, inner(), inner((name,))
            case "if":
                return "if", inner(), inner(), inner()
            case "ref":
                name = f"c{next(names)}"
                return "ref", name, inner(), inner((), (name,))
            case "derivative":
                name = f"y{next(names)}"
                return "derivative", draw(st.sampled_from("FR")), name, inner((name,)), inner()
            case "lambda":
                name, of = f"p{next(names)}", f"a{next(names)}"
                return "lambda", name, of, inner((of,)), inner((), (), (name,))
            case "loop":
                name = f"i{next(names)}"
                return "loop", name, address(cells), inner((name,)), inner()
        return "call", draw(st.sampled_from(procedures)), inner()

    def address(cells: tuple[str, ...]) -> Tree:
        if draw(st.booleans()):
            return "cell", draw(st.sampled_from(cells))
        return (
            "either",
            draw(st.sampled_from(("x", "(- 1 x)"))),
            *[draw(st.sampled_from(cells)) for _ in "ab"],
        )

    return (
        "ref",
        "c",
        ("real", "x"),
        ("ref", "d", ("real", "1"), number(draw(st.integers(2, 4)), ("x",), ("c", "d"), ())),
    )


def with_cells(tree: Tree) -> str:
    match tree:
        case "real", text:
            return str(text)
        case "cell", name:
            return str(name)
        case "either", test, a, b:
            return f"(if (< {test} 0) {a} {b})"
        case "deref", cell:
            return f"(deref {with_cells(cell)})"
        case "sin", a:
            return f"(sin {with_cells(a)})"
        case ("+" | "*") as operator, a, b:
            return f"(let* ((a {with_cells(a)}) (b {with_cells(b)})) ({operator} a b))"
        case "set", cell, a, rest:
            return f"(let ((v {with_cells(a)})) (set-ref! {with_cells(cell)} v) {with_cells(rest)})"
        case "let", name, a, rest:
            return f"(let (({name} {with_cells(a)})) {with_cells(rest)})"
        case "if", test, a, b:
            return f"(if (< {with_cells(test)} 0) {with_cells(a)} {with_cells(b)})"
        case "ref", name, a, rest:
            return f"(let (({name} (ref {with_cells(a)}))) {with_cells(rest)})"
        case "derivative", mode, name, body, at:
            return f"((derivative-{mode} (lambda ({name}) {with_cells(body)})) {with_cells(at)})"
        case "lambda", name, of, body, rest:
            return f"(let (({name} (lambda ({of}) {with_cells(body)}))) {with_cells(rest)})"
        case "call", name, a:
            return f"({name} {with_cells(a)})"
        case "loop", name, cell, a, rest:
            turn = f"(begin (let ((v {with_cells(a)})) (set-ref! {with_cells(cell)} v)) (loop (+ {name} 1)))"
            return f"(let loop (({name} 0)) (if (< {name} 2) {turn} {with_cells(rest)}))"
    raise AssertionError(tree)


def with_store(tree: Tree) -> str:
    """The text of an expression over the store `s` that gives (value . store)."""

    def of(a: Tree, then: str, name: str = "v") -> str:
        return f"(let (((cons {name} s) {with_store(a)})) {then})"

    match tree:
        case (("real" | "cell"), text):
            return f"(cons {text} s)"
        case "either", test, a, b:
            return f"(cons (if (< {test} 0) {a} {b}) s)"
        case "deref", cell:
            return of(cell, "(cons (list-ref s v) s)")
        case "sin", a:
            return of(a, "(cons (sin v) s)")
        case ("+" | "*") as operator, a, b:
            return of(a, of(b, f"(cons ({operator} left v) s)"), "left")
        case "set", cell, a, rest:
            put = f"(let ((s (%put s at v))) {with_store(rest)})"
            return of(a, of(cell, put, "at"))
        case "let", name, a, rest:
            return of(a, with_store(rest), name)
        case "if", test, a, b:
            return of(test, f"(if (< v 0) {with_store(a)} {with_store(b)})")
        case "ref", name, a, rest:
            return of(a, f"(let (({name} (length s)) (s (%grow s v))) {with_store(rest)})")
        case "derivative", mode, name, body, at:
            inner = f"(lambda ({name}) {with_store(body)})"
            slope = f"((derivative-{mode} (lambda (y) (car (f y)))) v)"
            return of(at, f"(let* ((f {inner}) (slope {slope})) (cons slope (cdr (f v))))")
        case "lambda", name, parameter, body, rest:
            return f"(let (({name} (lambda ({parameter} s) {with_store(body)}))) {with_store(rest)})"
        case "call", name, a:
            return of(a, f"({name} v s)")
        case "loop", name, cell, a, rest:
            turn = of(a, of(cell, f"(loop (+ {name} 1) (%put s at v))", "at"))
            return f"(let loop (({name} 0) (s s)) (if (< {name} 2) {turn} {with_store(rest)}))"
    raise AssertionError(tree)
