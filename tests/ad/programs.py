"""Random programs over reals, as text, for the property tests of the transforms.

Every generated expression is smooth away from its branches and keeps its values moderate, so that differences are
accurate. All parts of the language with derivatives occur: arithmetic, branches, closures over outer variables, procedures
that return procedures, pairs, lists, loops and recursion.
"""

from __future__ import annotations

from hypothesis import strategies as st

LITERALS = ["0.5", "-1.25", "2", "0.75", "-0.3", "1"]


@st.composite
def expressions(draw: st.DrawFn, variables: tuple[str, ...], depth: int) -> str:
    """An expression of these variables, with bounded nesting, whose value is a real."""
    if depth == 0:
        return draw(st.sampled_from([*variables, *variables, *LITERALS]))

    def inner(*more: str) -> str:
        return draw(expressions((*variables, *more), depth - 1))

    fresh = f"v{len(variables)}"
    shape = draw(st.integers(0, 17))
    match shape:
        case 0 | 1:
            operator = draw(st.sampled_from(["+", "-", "*"]))
            return f"({operator} {inner()} {inner()})"
        case 2:
            return f"(/ {inner()} (+ 1.5 (* {fresh} {fresh})))".replace(
                fresh, draw(st.sampled_from(variables))
            )
        case 3:
            function = draw(st.sampled_from(["sin", "cos", "tanh"]))
            return f"({function} {inner()})"
        case 4:
            return f"(exp (sin {inner()}))"
        case 5:
            return f"(let (({fresh} {inner()})) (sqrt (+ 1 (* {fresh} {fresh}))))"
        case 6:
            return f"(if (< {inner()} {inner()}) {inner()} {inner()})"
        case 7:
            return f"(let (({fresh} {inner()})) {inner(fresh)})"
        case 8:
            return f"((lambda ({fresh} w) {inner(fresh, 'w')}) {inner()} {inner()})"
        case 9:
            return f"(let (({fresh}f (lambda ({fresh}) {inner(fresh)}))) (+ ({fresh}f {inner()}) ({fresh}f {inner()})))"
        case 10:
            return f"(((lambda ({fresh}) (lambda (w) {inner(fresh, 'w')})) {inner()}) {inner()})"
        case 11:
            return f"(let (({fresh} (cons {inner()} {inner()}))) (* (car {fresh}) (cdr {fresh})))"
        case 12:
            return (
                f"(let {fresh}loop ((i 0) ({fresh} {inner()}))"
                f" (if (< i 3) ({fresh}loop (+ i 1) (sin (+ {fresh} {inner(fresh)}))) {fresh}))"
            )
        case 13:
            return (
                f"(letrec (({fresh}rec (lambda (i) (if (<= i 0) {inner()} (+ 0.25 (* 0.5 ({fresh}rec (- i 1))))))))"
                f" ({fresh}rec 3))"
            )
        case 14:
            return f"(fold + 0 (map (lambda ({fresh}) {inner(fresh)}) (list {inner()} {inner()})))"
        case 15:
            return (
                f"(letrec (({fresh}a (lambda (i {fresh}) (if (<= i 0) {fresh} ({fresh}b (- i 1) (sin {inner(fresh)})))))"
                f" ({fresh}b (lambda (i {fresh}) (if (<= i 0) (* 2 {fresh}) ({fresh}a (- i 1) (cos {fresh}))))))"
                f" ({fresh}a 3 {inner()}))"
            )
        case 16:
            return f"(let (({fresh}p (cons sin (lambda (w) {inner('w')})))) ((cdr {fresh}p) ((car {fresh}p) {inner()})))"
    return f"(atan {inner()} (+ 2 (abs {inner()})))"


def functions(depth: int = 3) -> st.SearchStrategy[str]:
    """Procedures from two reals to a real."""
    return expressions(("x", "y"), depth).map(lambda body: f"(lambda (x y) {body})")


def points() -> st.SearchStrategy[tuple[float, float]]:
    coordinate = st.floats(-2, 2).map(lambda v: round(v, 3) + 0.0005)
    return st.tuples(coordinate, coordinate)
