"""Random programs of one number with `shift`, `reset`, `raise` and `guard`: as text, and in continuation-passing style by hand.

In: a tree that hypothesis draws.  Out: two expressions of x. The translation is that of Danvy and Filinski 1990: each
expression takes a text that stands for its continuation; a procedure of the program takes its continuation as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis import strategies as st

Tree = Any
Rest = Callable[[str], str]


def programs() -> st.SearchStrategy[Tree]:
    return st.deferred(lambda: _trees(("x",), (), (), 4)).map(
        lambda tree: ("guard", "e", ("reset", tree), ("*", "2", "e"))
    )


def _trees(
    numbers: tuple[str, ...], continuations: tuple[str, ...], procedures: tuple[str, ...], depth: int
) -> Any:
    """Expressions over these variables, nested so deep."""
    leaves = st.sampled_from([*numbers, *numbers, "0.5", "-1.5", "2"])
    if not depth:
        return leaves
    inner = st.deferred(lambda: _trees(numbers, continuations, procedures, depth - 1))
    name = f"v{depth}"

    def over(more: Any) -> Any:
        return st.deferred(lambda: _trees(*more, depth - 1))

    choices = [
        st.tuples(st.sampled_from("+*-"), inner, inner),
        st.tuples(st.just("if"), inner, inner, inner),
        st.tuples(st.just("sin"), inner),
        st.tuples(st.just("let"), st.just(name), inner, over(((*numbers, name), continuations, procedures))),
        st.tuples(
            st.just("procedure"), st.just("f" + name), st.just(name), over(((*numbers, name), continuations, procedures)),
            over((numbers, continuations, (*procedures, "f" + name))),
        ),
        st.tuples(st.just("reset"), inner),
        st.tuples(st.just("raise"), inner),
        st.tuples(st.just("guard"), st.just(name), inner, over(((*numbers, name), continuations, procedures))),
        st.tuples(st.just("shift"), st.just("k" + name), over((numbers, (*continuations, "k" + name), procedures))),
        st.tuples(st.just("shift"), st.just("k" + name), over((numbers, (*continuations, "k" + name), procedures))),
    ]  # fmt: skip
    if continuations:
        call = st.tuples(st.just("resume"), st.sampled_from(continuations), inner)
        choices += [call, call, call]
    if procedures:
        call = st.tuples(st.just("call"), st.sampled_from(procedures), inner)
        choices += [call, call]
    return st.one_of(leaves, *choices)


def with_shift(tree: Tree) -> str:
    match tree:
        case str():
            return tree
        case ("if", test, yes, no):
            return f"(if (< {with_shift(test)} 0.3) {with_shift(yes)} {with_shift(no)})"
        case ("let", name, value, body):
            return f"(let (({name} {with_shift(value)})) {with_shift(body)})"
        case ("procedure", f, name, own, body):
            return f"(let (({f} (lambda ({name}) {with_shift(own)}))) {with_shift(body)})"
        case ("shift", k, body):
            return f"(shift {k} {with_shift(body)})"
        case ("guard", name, body, handled):
            return f"(guard ({name} (#t {with_shift(handled)})) {with_shift(body)})"
        case ("resume" | "call", operator, operand):
            return f"({operator} {with_shift(operand)})"
        case (operator, *operands):
            return f"({operator} {' '.join([with_shift(operand) for operand in operands])})"
    raise AssertionError(tree)


def with_continuations(tree: Tree) -> str:
    """A procedure also takes a handler, for what is raised; a `reset` and a continuation return (#t . value) or (#f . raised)."""
    names = count()

    def fresh() -> str:
        return f"t{next(names)}"

    def bound(value: str, rest: Rest) -> str:
        name = fresh()
        return f"(let (({name} {value})) {rest(name)})"

    def plain(tree: Tree) -> str:
        handler = fresh()
        return f"(let (({handler} (lambda (e) (cons #f e)))) {of(tree, lambda value: f'(cons #t {value})', handler)})"

    def settled(result: str, rest: Rest, handler: str) -> str:
        return bound(result, lambda r: f"(if (car {r}) {bound(f'(cdr {r})', rest)} ({handler} (cdr {r})))")

    def continuation(rest: Rest) -> str:
        name = fresh()
        return f"(lambda ({name}) {rest(name)})"

    def of(tree: Tree, rest: Rest, handler: str) -> str:
        def after(tree: Tree, rest: Rest) -> str:
            return of(tree, rest, handler)

        match tree:
            case str():  # under a name of its own: what comes after may bind this one again
                return bound(tree, rest)
            case ("+" | "*" | "-" as operator, a, b):
                return after(a, lambda a: after(b, lambda b: bound(f"({operator} {a} {b})", rest)))
            case ("sin", a):
                return after(a, lambda a: bound(f"(sin {a})", rest))
            case ("if", test, yes, no):
                join = fresh()

                def joined(value: str) -> str:
                    return f"({join} {value})"

                arms = after(yes, joined), after(no, joined)
                chosen = after(test, lambda test: f"(if (< {test} 0.3) {arms[0]} {arms[1]})")
                return f"(let (({join} {continuation(rest)})) {chosen})"
            case ("guard", name, body, handled):
                join, own = fresh(), fresh()
                handle = f"(lambda ({name}) {after(handled, lambda value: f'({join} {value})')})"
                inner = of(body, lambda value: f"({join} {value})", own)
                return f"(let* (({join} {continuation(rest)}) ({own} {handle})) {inner})"
            case ("raise", operand):
                return after(operand, lambda value: f"({handler} {value})")
            case ("let", name, value, body):
                return after(value, lambda value: f"(let (({name} {value})) {after(body, rest)})")
            case ("procedure", f, name, own, body):
                k, h = fresh(), fresh()
                made = f"(lambda ({name} {k} {h}) {of(own, lambda value: f'({k} {value})', h)})"
                return f"(let (({f} {made})) {after(body, rest)})"
            case ("call", f, operand):
                return after(operand, lambda value: f"({f} {value} {continuation(rest)} {handler})")
            case ("reset", body):
                return settled(plain(body), rest, handler)
            case ("shift", k, body):
                return f"(let (({k} {continuation(rest)})) {plain(body)})"
            case ("resume", k, operand):
                return after(operand, lambda value: settled(f"({k} {value})", rest, handler))
        raise AssertionError(tree)

    return f"(cdr {plain(tree)})"
