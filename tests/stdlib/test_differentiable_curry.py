"""stdlib/differentiable-curry.vlad: both sets of combinators compute what `gradient` does, and obey the laws."""

from __future__ import annotations

import pytest

import vlad

SETS = ("recorded-calls", "environment-tangents")

# Terms that are also procedures of the language, of one real each, and points.
TERMS = (
    "(lambda (x) 3)",
    "(lambda (x) x)",
    "(lambda (x) (+ (* x x) (/ (sin x) (exp x))))",
    "(lambda (x) (let ((y (* x x))) (- (* y y) (sqrt y))))",
    "(lambda (x) ((lambda (y) (* x y)) (tanh x)))",
    "(lambda (x) (((lambda (y) (lambda (z) (* y (- z x)))) (cos x)) (log x)))",
    "(lambda (x) (car (cons (* x x) (sin x))))",
    "(lambda (x) (let (((cons a b) (cons x (* 2 x)))) (* a (* b b))))",
    "(lambda (x) (let ((f (lambda (y) (* x y)))) (f (f (f x)))))",
    "(lambda (x) (let ((twice (lambda (f) (lambda (y) (f (f y)))))) ((twice (twice (lambda (y) (* x (sin y))))) x)))",
    "(lambda (x) (let ((apply (lambda (f a b) (f a b)))) (* (apply * x 3) (apply (lambda (a b) (- (* a a) b)) x x))))",
    "(lambda (x) ((cdr ((lambda (y) (cons y (lambda (z) (* y z)))) x)) x))",
    "(lambda (x) (let ((f sin)) (* (f x) (f (* 2 x)))))",
    "(lambda (x) ((lambda (*) (* 2 x)) (lambda (a b) (- b a))))",
)  # fmt: skip
# compiled, this one takes seconds
LONG = "(lambda (x) (let ((g (lambda (f) (* x (f x))))) (let ((h (lambda (y) (* y x)))) (g (lambda (z) (+ (h z) (g h)))))))"

LAWS = """
(define (made set term k) (car (rep-vjp set (rep-function set term) k)))
(define (laws combinators functions)
  (define set combinators)
  (define wave (made functions '(lambda (k) (lambda (x) (sin (* k x)))) 3))
  (define power (made functions '(lambda (k) (lambda (x) (* k (* x x)))) 5))
  (define twice (rep-function functions '(lambda (f) (lambda (x) (f (f (* 2 x)))))))
  (define call (rep-function functions '(lambda (f x) (* (f x) (f 1)))))
  (list (identity-law? set wave 0.4 2)
        (identity-law? set call (cons wave 0.4) 2)
        (associativity-law? set wave power wave 0.4 2)
        (associativity-law? set twice (rep-function functions '(lambda (f) (cons f (f 2)))) call wave 0.4)
        (product-law? set wave power 0.4 2 3)
        (pairing-law? set (rep-function functions '(lambda (x) (cons (* x x) (sin x)))) 0.4 '(2 . 3))
        (constant-law? set wave 3 0.4 2)
        (evaluation-law? set call (cons wave 0.4) 2)
        (curry-law? set twice (cons wave 0.4) 2)
        (substitution-law? set twice call (cons wave 0.4) 2)
        (partial-application-law? set call (cons wave 0.4) 2)
        (forgetting-law? set (cons (cons wave power) 2) 0.75)
        (summing-law? set (cons wave 2) 0.75)))
(define ((but set name broken) it) (if (eq? it name) broken (set it)))
"""


@pytest.fixture(scope="module", params=["evaluate", "compile"])
def tier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def session(tier: str) -> vlad.Session:
    session = vlad.Session(tier=tier)
    session.run_text(LAWS)
    return session


@pytest.mark.any_compiler
@pytest.mark.parametrize("name", SETS)
def test_gradients_are_those_of_j(session: vlad.Session, tier: str, name: str) -> None:
    terms = TERMS if tier == "compile" else (*TERMS, LONG)
    pairs = [
        f"(cons ((rep-gradient {name} (rep-function {name} '{term})) x) ((gradient {term}) x))"
        for term in terms
    ]
    for found, expected in session.eval(f"(let ((x 0.7)) (list {' '.join(pairs)}))"):
        assert found == pytest.approx(expected, rel=1e-12), TERMS


@pytest.mark.any_compiler
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("mode", ["derivative-F", "derivative-R"])
def test_second_derivatives(session: vlad.Session, tier: str, name: str, mode: str) -> None:
    for term in TERMS[5:6] if tier == "compile" else (TERMS[5], TERMS[9], LONG):
        found = session.eval(f"(({mode} (rep-gradient {name} (rep-function {name} '{term}))) 0.7)")
        assert found == pytest.approx(session.eval(f"((derivative (derivative {term})) 0.7)"), rel=1e-11), (
            term
        )


@pytest.mark.any_compiler
@pytest.mark.parametrize("name", SETS)
def test_the_laws_hold(session: vlad.Session, name: str) -> None:
    assert session.eval(f"(laws {name} {name})") == [True] * 13


# What is broken: the combinator instead, and by number the laws above that fail.
BROKEN = {
    "a curry that forgets": (
        "curry",
        """(lambda (f)
             (lambda (a) (cons (car (((recorded-calls 'curry) f) a)) (lambda (s) ((recorded-calls 'zero) a)))))""",
        {7, 8, 10},
    ),
    "an evaluation that forgets the function": (
        "evaluation",
        "(lambda ((cons f x)) (let (((cons y back) (f x))) (cons y (lambda (s) (cons '() (back s))))))",
        {7, 10},
    ),
    "a product without sum": (
        "product",
        """(lambda (f g)
             (lambda (x)
               (let (((cons a back) (f x)) ((cons b no) (g x))) (cons (cons a b) (lambda ((cons s t)) (back s))))))""",
        {4, 5, 7, 12},
    ),
}


@pytest.mark.own_tier
@pytest.mark.parametrize("name", BROKEN)
def test_laws_fail_of_a_broken_set(name: str) -> None:
    session = vlad.Session(tier="evaluate")
    session.run_text(LAWS)
    combinator, text, failing = BROKEN[name]
    found = session.eval(f"(laws (but recorded-calls '{combinator} {text}) recorded-calls)")
    assert failing <= {index for index, holds in enumerate(found) if not holds}, found


@pytest.mark.any_compiler
def test_equivalence_of_calls(session: vlad.Session) -> None:
    session.run_text("(define sine ((recorded-calls 'primitive) sin))")
    for one, other, expected in (
        ("()", "((1 . 0))", True),
        ("((1 . 2) (3 . 4))", "((3 . 4) (1 . 2))", True),
        ("((1 . 2) (1 . 3))", "((1 . 5))", True),
        ("((1 . 2) (1 . -2))", "()", True),
        ("((1 . 2))", "()", False),
        ("((1 . 2) (3 . 4))", "((1 . 4) (3 . 2))", False),
        ("((1 . 2))", "((1 . 2) (2 . 1))", False),
    ):
        assert session.eval(f"(same-tangent? recorded-calls sine '{one} '{other})") is expected, (one, other)
        pair = f"(same-tangent? recorded-calls (cons sine 1) '({one} . 5) '({other} . 5))"
        assert session.eval(pair) is expected


def test_calls_with_functions_are_compared_by_what_was_called() -> None:
    """The function that is called takes a function, and its result is one."""
    session = vlad.Session(tier="evaluate")
    session.run_text(LAWS)
    session.run_text("(define f (rep-function recorded-calls '(lambda (g) (lambda (x) (g (g x))))))")
    session.run_text("(define (wave k) (made recorded-calls '(lambda (k) (lambda (x) (sin (* k x)))) k))")
    calls = "(list (cons (wave 3) (list (cons 1 2) (cons 1 4))))"
    assert session.eval(f"(same-tangent? recorded-calls f {calls} (list (cons (wave 3) '((1 . 6)))))") is True
    assert (
        session.eval(f"(same-tangent? recorded-calls f {calls} (list (cons (wave 4) '((1 . 6)))))") is False
    )


def test_costs() -> None:
    """Recorded calls run a function for each call, and twice as often for each function around it; environments never do."""
    session = vlad.Session(metered=True)

    def sines(name: str, depth: int) -> int:
        term = "(sin x)"
        for _ in range(depth):
            term = f"((lambda (y) {term.replace('(sin x)', '(* y (sin x))')}) x)"
        session.eval(f"((rep-gradient {name} (rep-function {name} '(lambda (x) {term}))) 0.5)")
        return int(session.counts["sin"])

    for depth in range(5):
        assert sines("environment-tangents", depth) == 1
        assert sines("recorded-calls", depth) == 2**depth


def test_mistakes() -> None:
    session = vlad.Session(tier="evaluate")
    with pytest.raises(vlad.VladError, match="No combinator of that name: uncurry"):
        session.eval("(recorded-calls 'uncurry)")
    with pytest.raises(vlad.VladError, match="Unbound variable in a term: y"):
        session.eval("(rep-function environment-tangents '(lambda (x) (* x y)))")
    for set_ in ("recorded-calls", "environment-tangents"):
        with pytest.raises(
            vlad.VladError, match=r"is quoted, as in \(rep-function set '\(lambda \(x\) x\)\)"
        ):
            session.eval(f"(rep-gradient {set_} (rep-function {set_} (lambda (x) (* x x))) 3)")
    for text in ("(rep-vjp recorded-calls sin 2)", "((rep-gradient recorded-calls sin) 2)"):
        with pytest.raises(vlad.VladError, match="This is no rep-function"):
            session.eval(text)
