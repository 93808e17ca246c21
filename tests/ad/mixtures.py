"""Random programs of one number that mix records, tables, cells, guards, continuations, checkpointing and derivatives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

TYPES = """
(define-record-type point (make-point x y) point? (x point-x point-with-x) (y point-y))
(define-record-type scaled (make-scaled n v) scaled? (n scaled-n) (v scaled-v)
  #:tangent (lambda (n v dn dv) (* 10 dv)) #:fields (lambda (n v t) (list 0 (/ t 10))))
"""


class Mixture:
    """A program, drawn from its seed. Values stay of the size of 1, so that differences are meaningful."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.count = 0
        self.text = self.number(4, ["x"])

    def fresh(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def number(self, depth: int, known: list[str], cells: bool = True) -> str:
        """An expression. `cells`: may it have some? A checkpointed procedure refuses those that no pass makes variables."""
        if depth == 0:
            return self.draw.choice([*known, known[-1], "x", f"{self.draw.randint(1, 9) / 10}"])
        forms: list[Callable[..., str]] = [
            self.sum, self.product, self.sine, self.quotient, self.bound, self.record, self.scaled, self.table, self.guard,
            self.raised, self.reset, self.loop, self.nested, self.checkpointed, self.mapped, self.lists,
        ]  # fmt: skip
        if cells:
            forms.append(self.cell)
        return self.draw.choice(forms)(depth - 1, known, cells)

    def several(self, count: int, depth: int, known: list[str], cells: bool) -> list[str]:
        """Expressions, of which one is as deep as is allowed."""
        deep = self.draw.randrange(count)
        return [self.number(depth if at == deep else max(0, depth - 2), known, cells) for at in range(count)]

    def sum(self, *args: Any) -> str:
        return "(+ {} {})".format(*self.several(2, *args))

    def product(self, *args: Any) -> str:
        return "(* {} (sin {}))".format(*self.several(2, *args))

    def sine(self, depth: int, known: list[str], cells: bool) -> str:
        return f"(sin {self.number(depth, known, cells)})"

    def quotient(self, *args: Any) -> str:
        return "(/ {} (+ 2 (cos {})))".format(*self.several(2, *args))

    def bound(self, depth: int, known: list[str], cells: bool) -> str:
        name = self.fresh("v")
        value = self.number(depth, known, cells)
        return f"(let (({name} {value})) {self.number(depth, [*known, name], cells)})"

    def record(self, *args: Any) -> str:
        form = "(let ((p (make-point {} {}))) (+ (point-y p) (* (point-x p) (point-x (point-with-x p {})))))"
        return form.format(*self.several(3, *args))

    def scaled(self, *args: Any) -> str:
        form = "(match (make-scaled 2 {}) ((scaled n v) (* n (sin (+ v {})))))"
        return form.format(*self.several(2, *args))

    def table(self, *args: Any) -> str:
        form = "(let ((t (table 'a {} 'b {}))) (+ (table-ref t 'a) (table-ref (table-set t 'b {}) 'b) (table-ref t 'b)))"
        return form.format(*self.several(3, *args))

    def cell(self, *args: Any) -> str:
        name = self.fresh("c")
        form = "(let (({0} (ref {1}))) (set-ref! {0} (sin (+ (deref {0}) {2}))) (* (deref {0}) {3}))"
        return form.format(name, *self.several(3, *args))

    def guard(self, *args: Any) -> str:
        form = "(guard (e ((pair? e) (* (sin (car e)) {}))) (if (> {} 0.3) (raise (list {})) {}))"
        return form.format(*self.several(4, *args))

    def raised(self, *args: Any) -> str:
        return "(guard (e (#t (sin (+ e {})))) (raise {}))".format(*self.several(2, *args))

    def reset(self, *args: Any) -> str:
        name = self.fresh("k")
        form = "(reset (sin (+ {1} (shift {0} (* ({0} {2}) ({0} {3}))))))"
        return form.format(name, *self.several(3, *args))

    def loop(self, depth: int, known: list[str], cells: bool) -> str:
        name, state = self.fresh("loop"), self.fresh("s")
        body = self.number(depth, [*known, state], cells)
        turn = f"({name} (+ i 1) (sin {body}))"
        return f"(let {name} ((i 0) ({state} {self.number(0, known)})) (if (= i 3) {state} {turn}))"

    def nested(self, depth: int, known: list[str], cells: bool) -> str:
        mode, name = self.draw.choice(["derivative-R", "derivative-F"]), self.fresh("y")
        return f"(sin (({mode} (lambda ({name}) {self.number(depth, [*known, name], cells)})) {self.number(0, known)}))"

    def checkpointed(self, depth: int, known: list[str], cells: bool) -> str:
        name, argument = self.fresh("y"), self.number(max(0, depth - 1), known, cells)
        return f"((checkpointed (lambda ({name}) {self.number(depth, [*known, name], False)}) #:segments 3) {argument})"

    def mapped(self, depth: int, known: list[str], cells: bool) -> str:
        name = self.fresh("y")
        body = self.number(depth, [*known, name], cells)
        return f"(sin (fold + 0 (map (lambda ({name}) {body}) (list {self.number(0, known)} 0.4))))"

    def lists(self, *args: Any) -> str:
        form = "(match (list {} {}) ((list a b) (- a (* 0.5 b))))"
        return form.format(*self.several(2, *args))
