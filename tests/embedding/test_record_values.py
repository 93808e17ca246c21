"""Records of `define-record-type` in Python: they are handed back, differentiated and saved."""

from __future__ import annotations

import vlad

TYPE = "(define-record-type point (make-point x y) point? (x point-x) (y point-y))"


def test_a_record_is_handed_back() -> None:
    session = vlad.Session()
    session.eval(TYPE)
    session.eval("(define (product p) (* (point-x p) (point-y p)))")
    point = session.eval("(make-point 3 4)")
    assert session["product"](point) == 12
    slope = session.eval("(gradient product)")(point)
    assert session["point-x"](slope) == 4 and session["point-y"](slope) == 3
    session["p"] = slope
    assert session.eval("(write-to-string p)") == "#<point x: 4 y: 3>"


def test_a_saved_record_and_its_procedures_are_of_one_type() -> None:
    """Also where no record was read yet, and where the type was never used."""
    session = vlad.Session()
    session.eval(TYPE)
    session.eval("(define (f p) (* 2 (point-x p)))")
    for made in ("(make-point 3 4)", "'()"):
        other = vlad.Session()
        other["saved"] = vlad.loads(vlad.dumps(session.eval(f"(list f make-point {made})")), other)
        assert other.eval("((car saved) ((cadr saved) 3 4))") == 6
    other["saved"] = vlad.loads(vlad.dumps(session.eval("(cons f (make-point 3 4))")), other)
    assert other.eval("((car saved) (cdr saved))") == 6
    assert other.eval("(write-to-string ((gradient (car saved)) (cdr saved)))") == "#<point x: 2 y: 0>"
