"""What forms are made of is the library's, whatever a program calls by the same names."""

from __future__ import annotations

import pytest

import vlad

pytestmark = pytest.mark.any_compiler

# A definition of a name that the form's expansion uses, the form, and its value.
FORMS = [
    ("(define (append a b) 'mine)", "`(1 ,@(list 2 3) 4)", [1, 2, 3, 4]),
    ("(define (map2 f a b) 'mine)", "(map + '(1 2) '(3 4))", [4, 6]),
    ("(define (%median t axis) 'mine)", "(median #[1 9] #:axis 0)", 5),
    ("(define (%covariance-of-two a b) 'mine)", "(covariance #[1 3] #[2 6])", 4),
    ("(define (%with-parameters bindings body) 'mine)", "(let ((p (make-parameter 1))) (parameterize ((p 2)) (p)))", 2),
    ("(define (%raise-again raised error) 'mine)", "(guard (e (#t 'outer)) (guard (e (#f 'inner)) (raise 1)))", "outer"),
    ("(define (%wind before f after) 'mine)", "(with-cleanup 0 3)", 3),
    ("(define (%list->vector l) 'mine)", "(vector->list `#(1 ,(+ 1 1)))", [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("definition, form, value", FORMS)
def test_a_definition_does_not_reach_into_forms(definition: str, form: str, value: object, tier: str) -> None:
    session = vlad.Session(tier=tier)
    assert session.eval(form) == value
    session.eval(definition)
    assert session.eval(form) == value
    assert session.eval(f"(define (later) {form}) (later)") == value
