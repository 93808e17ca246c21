"""What travels to other processes and back: procedures, closures, backpropagators, transformed values, tensors, errors."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

import numpy as np
import pytest

import vlad

DEFINITIONS = """
(define (cube x) (* x x x))
(define (scaled k) (lambda (x) (* k (cube x))))
(define (loss w x) (sum (square (- (* w x) 1))))
(define weights #[1 2 3])
(define (model x) (sum (* weights x)))
(define (deep x) (if (> x 1e9) (car x) (deep (* x x))))
"""

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session(tier="auto")
    session.eval(DEFINITIONS)
    return session


@pytest.fixture(scope="module", params=["spawn", "fork"])
def pool(request: pytest.FixtureRequest, session: vlad.Session) -> Iterator[Executor]:
    session.eval("(cube 3)")
    with ProcessPoolExecutor(2, multiprocessing.get_context(request.param)) as pool:
        yield pool


@pytest.mark.timeout(120)
def test_a_gradient_over_a_pool(pool: Executor, session: vlad.Session) -> None:
    points = [0.5 * i for i in range(40)]
    for f in (session["cube"], session.eval("(scaled 3)")):
        slope = vlad.grad(f)
        assert list(pool.map(slope, points, chunksize=4)) == [slope(x) for x in points]
        assert list(pool.map(f, points)) == [f(x) for x in points]


@pytest.mark.timeout(120)
def test_derivatives_of_every_kind(pool: Executor, session: vlad.Session) -> None:
    loss, x = session["loss"], np.array([1.0, 2.0, 3.0])
    arguments = (0.5, x)
    for f in (
        vlad.grad(loss),
        vlad.grad(loss, 0),
        vlad.grad(loss, (1, 0)),
        vlad.value_and_grad(loss),
        vlad.value_and_grad(loss, 1),
    ):
        _same(pool.submit(f, *arguments).result(), f(*arguments))
    value, back = vlad.vjp(loss, *arguments)
    assert value == loss(*arguments)
    _same(pool.submit(back, 2.0).result(), back(2.0))
    assert pool.submit(vlad.hessian(session["cube"]), 2.0).result() == 12
    assert pool.submit(vlad.hvp, session["cube"], 2.0, 10.0).result() == 120
    assert pool.submit(vlad.jvp, session["cube"], 2.0, 1.0).result() == (8, 12)


def _same(a: object, b: object) -> None:
    if isinstance(a, tuple) and isinstance(b, tuple):
        for one, other in zip(a, b, strict=True):
            _same(one, other)
    else:
        assert type(a) is type(b) and np.array_equal(a, b)  # type: ignore[arg-type]


@pytest.mark.timeout(120)
def test_transformed_values_and_tensors(pool: Executor, session: vlad.Session) -> None:
    reverse = session.eval("(J cube)")
    ask = session.eval("(lambda (f) (car (f (J 3))))")
    model = session.eval("(let ((w #[1 2 3])) (lambda (x) (+ (model x) (sum (* w x)))))")
    x = np.array([1.0, 0.5, 2.0])
    assert pool.submit(model, x).result() == model(x) == 16
    _same(pool.submit(vlad.grad(model), x).result(), vlad.grad(model)(x))
    forward = session.eval("(lambda (x) (unperturb (tangent ((j* cube) (bundle x (perturb 1))))))")
    assert pool.submit(forward, 2.0).result() == 12
    again = pickle.loads(pickle.dumps([reverse, ask]))
    assert str(again[1](again[0])) == str(ask(reverse)) == "<vlad procedure (reverse 27)>"
    backpropagator = session.eval("(cdr ((J cube) (J 2)))")
    there, here = pool.submit(backpropagator, 1.0).result(), backpropagator(1.0)
    assert there[0](3.0) == here[0](3.0) == 27 and there[1] == here[1] == 12


@pytest.mark.timeout(120)
def test_errors_come_back_as_they_are(pool: Executor, session: vlad.Session) -> None:
    for f, argument in ((session["deep"], 2.0), (session["cube"], "text")):
        with pytest.raises(vlad.VladError) as here:
            f(argument)
        with pytest.raises(vlad.VladError) as there:
            pool.submit(f, argument).result()
        assert type(there.value) is type(here.value)
        assert (there.value.code, str(there.value)) == (here.value.code, str(here.value))
    assert pool.submit(session["cube"], 2.0).result() == 8  # the pool is whole


def test_errors_pickle(session: vlad.Session) -> None:
    texts = [
        "(car 3)", "(deep 2)", "(nothing)", "(cube 1 2)", "(let-syntax ((m (syntax-rules () ((_ x) (car x))))) (m 3))", "(",
        '(error "e" (list 1 2))',
    ]  # fmt: skip
    for text in texts:
        with pytest.raises(vlad.VladError) as caught:
            session.eval(text)
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value) and str(again) == str(caught.value)
        assert vars(again).keys() == vars(caught.value).keys()
    for error in (KeyError, vlad.VladError):
        with pytest.raises(error) as missing:
            session["nothing"]
        assert type(pickle.loads(pickle.dumps(missing.value))) is type(missing.value)


def test_closing_the_session_of_unpickled_values_leads_to_another(session: vlad.Session) -> None:
    text = pickle.dumps(session["cube"])
    first = pickle.loads(text)
    assert pickle.loads(text) is first and first(2.0) == 8
    first.session.close()
    second = pickle.loads(text)
    assert second(2.0) == 8
    with pytest.raises(vlad.VladError, match="closed"):
        first(2.0)
