"""Tables in compiled code: values, derivatives and output as on tier 0; known keys cost nothing; hashes are those of Python."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import command

import vlad
from vlad.data.tables import EMPTY, hash_of
from vlad.data.values import FALSE, NIL, TRUE, String, list_of, symbol

HASHES = [
    1062138967012627.0,
    1936885164822065.0,
    2239349334594921.0,
    1177210370563669.0,
    5.0,
    1079342614891545.0,
    1205170331481939.0,
    1570497217763891.0,
    3873770329644131.0,
]
MODES = (
    "f",
    "(derivative-F f)",
    "(derivative-R f)",
    "(derivative-R (derivative-F f))",
)
PROGRAM = f"""
(define (all f x) (list {" ".join([f"({mode} x)" for mode in MODES])}))
(define (rest a b) (- a (* b (floor (/ a b)))))
(define (filled n x)
  (let loop ((i 0) (t (table)))
    (if (= i n) t (loop (+ i 1) (table-update t (rest i 7) (lambda (v) (+ (* v x) i)) x)))))
(define (emptied t) (let loop ((i 0) (t t)) (if (= i 5) t (loop (+ i 1) (table-remove t (* 2 i))))))
(define (total t) (table-fold (lambda (key v sum) (+ sum (* (+ 1 key) (sin v)))) 0 t))
(define (of-loops x) (total (table-merge * (filled 20 x) (emptied (filled 9 (* x x))))))
(define (known x) (let ((t (table 'a x 'b (* x x)))) (table-ref (table-update t 'a sin) 'a)))
(define (memo n x)
  (let walk ((n n) (seen (table)) (k (lambda (v seen) v)))
    (cond ((< n 2) (k x seen))
          ((table-contains? seen n) (k (table-ref seen n) seen))
          (else (walk (- n 1) seen (lambda (a seen)
                  (walk (- n 2) seen (lambda (b seen) (let ((v (+ a (* x b)))) (k v (table-set seen n v)))))))))))
(define (words x) (table-ref (fold (lambda (w t) (table-update t w (lambda (v) (* v x)) 1)) (table)
                                   (list "ab" (string-append "a" "b") "c")) "ab"))
(define (read t) (map (lambda (key) (table-ref t key 'none)) (list 1 -0.0 +nan.0 #t "s" '() '(1 (2)) 'a #[1 2] (table 1 2) 5)))
(define (by-key t) (list (equal? t (table 1 2 2 1)) (same-code? t (table 1 5 2 5)) (table-size t) (table-keys t)))
"""
CALLS = (
    "(all of-loops 0.9)",
    "(all known 2)",
    "(all (lambda (x) (memo 12 x)) 1.1)",
    "(all words 3)",
    "((gradient total) (table 3 1 2 5 30 4))",
    "((gradient (lambda (t) (* (table-ref t 'b) (table-ref t 'a)))) (table 'b 3 'a 4))",
    "((jacobian (lambda (t) (table-map (lambda (key v) (* key v)) t))) (table 3 1 2 5))",
    "(jvp total (table 3 1 2 5) (table 2 1 3 0))",
    "((gradient (lambda (x) (dot-product (filled 9 x) (filled 9 x)))) 1.5)",
    "(read (table 1 'one 0 'zero (- +inf.0 +inf.0) 'nan #t 'true))",
    "(read (table \"s\" 1 '() 2 '(1 (2)) 3 'a 4 #[1 2] 5 (table 1 2) 6))",
    "(map by-key (list (table 1 2 2 1) (table 2 1 1 2) (table 2 1) (table 1 2 2 3)))",
    "(begin (write (filled 20 1)) (display (table \"k\" (table 'a '(1)))) (filled 3 2))",
    "(map (lambda (n) (table-size (filled n 1))) (iota 9))",
)


@pytest.mark.any_compiler
def test_it_means_the_same_on_both_tiers() -> None:
    found, expected, notices = list[str](), list[str](), list[Any]()
    compiled = vlad.Session(tier="compile", write=found.append)
    evaluated = vlad.Session(tier="evaluate", write=expected.append)
    compiled.tiers.notify = notices.append
    for session in (compiled, evaluated):
        session.run_text(PROGRAM)
    for call in CALLS:
        compiled.run_text(call)
        evaluated.run_text(call)
    assert "".join(found) == "".join(expected)
    assert notices == [] and compiled.tiers.disagreements == 0


VECTOR = '\'#(3 -0.0 +inf.0 a "b" (4 5) 7)'
PLACES = (0.0, -0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
OUTSIDE = (7.0, -1.0, 0.5, float("nan"), float("inf"), True)


@pytest.mark.any_compiler
def test_positions_in_known_vectors() -> None:
    """Where elements are known when a call is compiled, a position that is not is found by comparisons."""
    answers = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        session.eval(f"(define (at k) (vector-ref {VECTOR} k))")
        session.eval("(define (row x y k) (let ((v (vector (* x y) (sin x) y (* 3 x) 5))) (vector-ref v k)))")
        session.eval(
            "(define (sum x y) (let loop ((k 0) (s 0)) (if (= k 5) s (loop (+ k 1) (+ s (* k (row x y k)))))))"
        )
        at = session["at"]
        answer = [repr(at(place)) for place in PLACES]
        for text in ("sum", "(gradient sum)", "(derivative-R (lambda (x) ((derivative-F (lambda (x) (sum x 3))) x)))",
                     "(lambda (k) ((gradient-R (lambda (x) (row x 3 k))) 2))"):  # fmt: skip
            f = session.eval(text)
            operands: list[tuple[float, ...]] = (
                [(2.0, 3.0)] if "sum" in text[:14] else [(2.0,), (3.0,), (0.0,)]
            )
            answer += [repr(f(*given)) for given in operands]
        for place in OUTSIDE:
            with pytest.raises(vlad.VladError) as caught:
                at(place)
            answer.append(str(caught.value))
        answers.append(answer)
        if tier == "compile":
            assert session.tiers.entry(at.value).reason is None
    assert answers[0] == answers[1]


@pytest.mark.any_compiler
def test_tables_cross() -> None:
    """Of known keys, of any number of other keys, inside of structures; in both directions."""
    notices: list[Any] = []
    session = vlad.Session(tier="compile")
    session.tiers.notify = notices.append
    grown = session.eval('(lambda (t) (table-set (table-map (lambda (key v) (* 2 v)) t) "more" 1))')
    for n in (1, 3, 40):
        items = {f"key {i}": float(i) for i in range(n)}
        expected = {**{key: 2 * v for key, v in items.items()}, "more": 1.0}
        assert dict(grown(vlad.Table(items))) == expected
        assert list(grown(vlad.Table(items))) == list(expected)
    first = session.eval("(lambda (xs) (table-ref (car xs) 'a))")
    assert first([session.eval("(table 'b 2 'a 3)")]) == 3.0
    total = session.eval("(gradient (lambda (t) (fold + 0 (table-values t))))")
    assert dict(total(vlad.Table({float(i): 1.0 for i in range(30)}))) == {float(i): 1.0 for i in range(30)}
    each = session.eval("(lambda (t) (map (lambda (key) (table->list (table-ref t key))) (table-keys t)))")
    for size in range(1, 9):
        # the form of a table was gone, and its place in memory taken, when the next one's was made
        tables = [{float(j): float(i * j) for j in range(i, i + size)} for i in range(5)]
        assert each(vlad.Table({float(i): vlad.Table(one) for i, one in enumerate(tables)})) == [
            list(one.items()) for one in tables
        ]
    assert notices == []


def test_hashes_depend_on_nothing_else() -> None:
    """Compiled code has them as constants, in the cache, too."""
    keys = [
        1.0,
        float("nan"),
        TRUE,
        FALSE,
        NIL,
        symbol("a"),
        String("ab"),
        list_of([1.0, list_of([2.0])]),
        EMPTY.with_key(1.0, 2.0),
    ]
    assert [hash_of(key) for key in keys] == HASHES
    assert hash_of(0.0) == hash_of(-0.0) and hash_of(float("nan")) == hash_of(-float("nan"))
    assert len({hash_of(float(i)) % 1024 for i in range(1024)}) > 600  # 647 for random numbers


def test_known_keys_cost_nothing(tmp_path: Path) -> None:
    text = "(define (f x) (let ((t (table 'a x 'b (* x x)))) (table-ref (table-update t 'a sin) 'a)))"
    (tmp_path / "it.vlad").write_text(f"{text}\n((derivative f) 2)\n")
    shown = command("show", "it.vlad", "--stage", "first-order", cwd=tmp_path).stdout
    assert "(sin x)" in shown and "hash" not in shown and "case" not in shown


def test_a_missing_key_is_an_error_in_a_built_program(tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(
        "(define t (table (read-real) 1))\n(write t)\n(table-ref t (read-real))\n"
    )
    assert command("build", "it.vlad", "-o", "it", cwd=tmp_path).returncode == 0
    for key, status in (("1", 0), ("2", 1)):
        done = subprocess.run(
            [tmp_path / "it"], input=f"1 {key}", text=True, capture_output=True, check=False
        )
        assert done.returncode == status and done.stdout.startswith("#<table 1: 1>"), done
        assert status == 0 or "Table does not have the key" in done.stderr
