"""What the repeated passes know of functions is so after each pass: a pass says which functions it has changed."""

from __future__ import annotations

import pytest

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.compile.ir.outlines import Flow, Outline, Outlines
from vlad.compile.ir.program import Program
from vlad.compile.passes import order
from vlad.core.passes import observing

# Trees, unions and derivatives; loops and closures; and an effect in one arm of several calls
PROGRAMS = (
    """(define (total s) (cond ((real? s) (* s s)) ((pair? s) (+ (total (car s)) (total (cdr s)))) (else 0)))
(lambda (n x)
  (let* ((s (let make ((n n)) (if (< n 1) (list x 'a) (cons (if (> x n) n (list n x)) (make (- n 1))))))
         (r ((gradient (lambda (q) (total (reverse q)))) s)))
    (list r (total r))))""",
    """(define (f x) (let loop ((i 0) (y x) (z 1)) (if (= i 5) (* y z) (loop (+ i 1) (sin y) (if (> y 0) (* z y) z)))))
(define (g x) (list-sum (map (lambda (y) (f (* y x))) (list x (f x) 2))))
(lambda (x y) (list ((derivative (derivative g)) x) (g (f y))))""",
    """(define (shown x) (if (> x 5) (begin (write x) x) (+ x 1)))
(lambda (x y) (let ((a (shown x)) (b (shown x)) (c (if (> y 0) (shown y) 2))) (if (> a 1) (* b c) (shown c))))""",
)


class Recorded(Outlines):
    last: Outlines | None = None

    def __init__(self) -> None:
        super().__init__()
        Recorded.last = self


@pytest.mark.parametrize("text", PROGRAMS)
def test_what_has_changed_is_known(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "Outlines", Recorded)
    session = vlad.Session(tier="evaluate")
    f = session.eval(text).value
    compared = changed = 0

    def compare(name: str, result: object) -> None:
        nonlocal compared, changed
        if type(result) is not Program or name not in order.REPEATED or Recorded.last is None:
            return
        kept = Recorded.last._of
        for function in result.functions:
            outline, now = kept.get(function), Outline(function)
            if outline is None:
                changed += 1
                continue
            compared += 1
            assert outline.statements == now.statements, (
                name,
                function.name,
            )  # nodes are compared by identity
            assert outline.blocks == now.blocks and outline.calls == now.calls and outline.ends == now.ends
            assert outline.callees == now.callees, (name, function.name)
            flow, flow_now = outline.flow, Flow(now)
            for field in ("reads", "results", "fields", "boxes", "roots", "slots", "members"):
                assert getattr(flow, field) == getattr(flow_now, field), (name, function.name, field)

    with observing(compare):
        Unit(session.machine, f[0], (), (0.5,) * f[0].arity)
    assert compared > changed > 0
