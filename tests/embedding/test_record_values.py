"""Records of `define-record-type` in Python: they are handed back, differentiated and saved."""

from __future__ import annotations

import ctypes
import pickle
from pathlib import Path

import pytest

import vlad

pytestmark = pytest.mark.any_compiler

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


def test_a_record_shows_its_fields() -> None:
    session = vlad.Session()
    session.eval("(define-record-type point (make-point x the-y) point? (x point-x) (the-y point-y))")
    point = session["make-point"](3.0, [4.0])
    assert isinstance(point, vlad.Record) and (point.x, point.the_y, list(point)) == (
        3.0,
        [4.0],
        [3.0, [4.0]],
    )
    assert repr(point) == "point(x=3.0, the_y=[4.0])" and point == session["make-point"](3.0, [4.0])
    assert point != session["make-point"](3.0, [5.0]) and not callable(point)
    with pytest.raises(AttributeError, match="a record of type point has no field z: it has x, the_y"):
        _ = point.z
    with pytest.raises(TypeError, match="is a record of another session"):
        vlad.Session().eval("list")(point)
    slope = vlad.grad(session.eval("(lambda (p) (* (point-x p) (car (point-y p))))"))(point)
    assert (slope.x, slope.the_y) == (4.0, [3.0])
    copied = pickle.loads(pickle.dumps(point))
    assert (copied.x, copied.the_y) == (3.0, [4.0])


def test_a_table_is_a_mapping() -> None:
    session = vlad.Session()
    product = session.eval('(lambda (t) (* (table-ref t "a") (table-ref t "b")))')
    given = vlad.Table({"a": 3.0, "b": 4.0})
    assert product(given) == 12.0 and vlad.grad(product)(given) == {"a": 4.0, "b": 3.0}
    made = session.eval("(table 'a 1 '(1 2) #t 3 (table))")
    assert (
        made == {"a": 1.0, (1.0, 2.0): True, 3.0: {}}
        and list(made) == ["a", (1.0, 2.0), 3.0]
        and len(made) == 3
    )
    assert (
        session.eval("(lambda (t) (table-ref t 'a))")(made) == 1.0
    )  # it goes back as it came: 'a is a symbol
    assert repr(given) == "vlad.Table({'a': 3.0, 'b': 4.0})"
    for saved in (pickle.loads(pickle.dumps(given)), vlad.loads(vlad.dumps(given), session)):
        assert saved == given and product(saved) == 12.0
    assert session.eval("(lambda (t) (table-ref t 'a))")(vlad.loads(vlad.dumps(made), session)) == 1.0


STATED = """
(define-record-type sparse (make-sparse entries) sparse? (entries entries)
  #:zero (lambda (entries) (make-sparse '()))
  #:plus (lambda (a b) (match (list a b) ((list (sparse x) (sparse y)) (make-sparse (append x y))))))
(define-record-type angle (make-angle turns) angle? (turns angle-turns)
  #:tangent (lambda (turns dturns) (* 360 dturns)) #:fields (lambda (turns t) (list (/ t 360))))
(define (f a) (square (angle-turns a)))
"""


def test_what_a_type_states_of_its_tangents_is_saved() -> None:
    session = vlad.Session()
    session.run_text(STATED)
    saved = vlad.dumps(
        session.eval("(list f (gradient f) make-angle (make-angle 2) plus (make-sparse '(1)))")
    )
    for _ in range(2):  # also what was read before
        other = vlad.Session()
        for name in "xy":
            other[name] = vlad.loads(saved, other)
        for x, y in ("xx", "xy"):
            made = f"((list-ref {y} 2) 3)"
            assert other.eval(f"(list ((gradient (car {x})) {made}) ((cadr {x}) (list-ref {x} 3)))") == [
                1 / 60,
                1 / 90,
            ]
            assert other.eval(f"(write-to-string ((list-ref {x} 4) (list-ref {x} 5) (list-ref {y} 5)))") == (
                "#<sparse entries: (1 1)>"
            )
        saved = vlad.dumps(other["x"])


def test_a_gradient_by_a_record_may_be_of_another_kind() -> None:
    session = vlad.Session(tier="compile")
    session.run_text(STATED)
    angle = session["make-angle"](2.0)
    assert vlad.value_and_grad(session["f"])(angle) == (4.0, 4 / 360)
    assert vlad.compile(session.eval("(gradient f)"), angle)(angle) == 4 / 360


@pytest.mark.own_tier
def test_types_and_libraries_of_records(tmp_path: Path) -> None:
    """Also of one whose tangents are numbers."""
    session = vlad.Session()
    session.eval(TYPE)
    session.eval(
        """
        (define (product p) (* (point-x p) (point-x p) (point-y p)))
        (define-record-type sample (make-sample n the-x) sample? (n sample-n) (the-x sample-x)
          #:tangent (lambda (n x dn dx) dx) #:fields (lambda (n x t) (list 0 t)))
        (define (value s k) (* k (sample-n s) (sample-x s)))
        """
    )
    product, value = session["product"], session["value"]
    point, sample = session["make-point"](3.0, 4.0), session["make-sample"](2.0, 5.0)
    assert str(vlad.check(product, point)).startswith("product(p: point(x: float, y: float)) -> float")
    assert vlad.check(vlad.grad(product), point).result == "point(x: float, y: float)"
    assert vlad.check(value, sample, 1.0).parameters["s"] == "sample(n: float, the_x: float)"
    for argnums, shown in ((0, "float"), ((1, 0), "tuple[float, float]"), (1, "float")):
        assert vlad.check(vlad.grad(value, argnums=argnums), sample, 1.0).result == shown
    assert vlad.check(vlad.value_and_grad(value, argnums=(0, 1)), sample, 1.0).result == (
        "tuple[float, tuple[float, float]]"
    )
    for name, f, arguments, wanted in (
        ("plain", product, [point], 36.0),
        ("stated", vlad.grad(value, argnums=0), [sample, 3.0], 6.0),
    ):
        path = str(tmp_path / f"{name}.so")
        vlad.build(f, *arguments, path=path, name=name)
        numbers = [number for one in arguments for number in (one if isinstance(one, vlad.Record) else [one])]
        results = (ctypes.c_double * 1)()
        assert getattr(ctypes.CDLL(path), name)(*map(ctypes.c_double, numbers), results) == 0
        assert results[0] == wanted
    assert vlad.jvp(value, (sample, 3.0), (1.0, 0.0)) == (30.0, 6.0)
    assert session.eval("(jvp-R (lambda (s) (value s 3)) (make-sample 2 5) 1)") == (30.0, 6.0)
    assert vlad.vjp(session["make-sample"], 2.0, 5.0)[1](1.0) == (0.0, 1.0)
