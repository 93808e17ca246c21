"""Tables mean what Python's dicts mean, and their derivatives are those of the polynomials that they hold."""

from __future__ import annotations

import math
from typing import Any

import pytest
from amounts import THOROUGH
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vlad
from vlad.data.tables import BRANCH, EMPTY, KEY, VALUE, Table, table_of
from vlad.data.values import Opaque

MODES = ["f", "(derivative-F f)", "(derivative-R f)"] + [
    f"(derivative-{outer} (derivative-{inner} f))" for outer in "FR" for inner in "FR"
]
KEYS = ["'a", "'b", "1", "2.5", '"s"', "'(1 2)", "#t"]
Polynomial = tuple[int, ...]  # the coefficients, the constant one first


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    made = vlad.Session(tier="evaluate")
    made.eval(f"(define (all f x) (list {' '.join(f'({mode} x)' for mode in MODES)}))")
    return made


def plus(p: Polynomial, q: Polynomial) -> Polynomial:
    width = max(len(p), len(q))
    return tuple([a + b for a, b in zip(padded(p, width), padded(q, width), strict=True)])


def padded(p: Polynomial, width: int) -> Polynomial:
    return p + (0,) * (width - len(p))


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    result = [0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            result[i + j] += a * b
    return tuple(result)


def derived(p: Polynomial) -> Polynomial:
    return tuple([i * a for i, a in enumerate(p)][1:]) or (0,)


def at(p: Polynomial, x: float) -> float:
    return sum(a * x**i for i, a in enumerate(p))


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, Polynomial]:
    """A procedure of x that changes a table again and again, as text, and the polynomial that is the sum of its values."""
    held: dict[str, Polynomial] = {}
    lines = []
    for _ in range(draw(st.integers(1, 9))):
        key = draw(st.sampled_from(KEYS))
        number = draw(st.integers(-3, 3))
        match draw(st.sampled_from(["set", "set", "default", "update", "remove", "merge", "map"])):
            case "set":
                held[key] = (0, number)
                lines.append(f"(table-set t {key} (* x {number}))")
            case "default":
                held["'c"] = plus(held.get(key, (0, 0, 1)), (number,))
                lines.append(f"(table-set t 'c (+ (table-ref t {key} (* x x)) {number}))")
            case "update" if all(len(p) < 6 for p in held.values()):
                held[key] = times(held.get(key, (0, 1)), held.get(key, (0, 1)))
                lines.append(f"(table-update t {key} square x)")
            case "remove":
                held.pop(key, None)
                lines.append(f"(table-remove t {key})")
            case "merge":
                held[key] = plus(held.get(key, (0,)), (number, 2))
                lines.append(f"(table-merge + t (table {key} (+ (* 2 x) {number})))")
            case "map":
                held = {name: plus(p, (0, number)) for name, p in held.items()}
                lines.append(f"(table-map (lambda (key v) (+ v (* x {number}))) t)")
    text = "".join([f"(t {line})" for line in lines])
    total: Polynomial = (0,)
    for weight, p in enumerate(held.values(), 1):
        total = plus(total, times((weight,), p))
    weights = f"(map (lambda (i) (+ i 1)) (iota {len(held)}))"
    return f"(lambda (x) (let* ((t (table)) {text}) (dot-product (table-values t) {weights})))", total


@pytest.mark.own_tier
@settings(max_examples=2000 if THOROUGH else 15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(change=changes(), x=st.sampled_from([2.0, -1.0, 0.5]))
def test_derivatives_are_those_of_the_values(
    session: vlad.Session, change: tuple[str, Polynomial], x: float
) -> None:
    text, value = change
    first = derived(value)
    expected = [at(value, x), *[at(first, x)] * 2, *[at(derived(first), x)] * 4]
    found = session.eval("all")(session.eval(text), x)
    assert all(
        math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(found, expected, strict=True)
    ), text


class Colliding:
    """A key whose hash many others have."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return self.number % 3


def as_dict(table: Table) -> dict[Any, Any]:
    return {leaf[KEY]: leaf[VALUE] for leaf in table.leaves()}


SHARED = [Colliding(number) for number in range(8)]
ANY_KEY = st.one_of(
    st.floats(allow_nan=False),
    st.integers(-40, 40).map(float),
    st.sampled_from(SHARED),
    st.sampled_from([Opaque(one) for one in SHARED]),
)


@pytest.mark.own_tier
@settings(max_examples=2000 if THOROUGH else 100, deadline=None)
@given(steps=st.lists(st.tuples(ANY_KEY, st.booleans(), st.integers(0, 10)), max_size=60))
def test_it_is_a_dict_that_never_changes(steps: list[tuple[Any, bool, int]]) -> None:
    """Also its order; and every older table is as it was."""
    kept: list[tuple[Table, dict[Any, Any]]] = [(EMPTY, {})]
    for key, is_set, back in steps:
        table, model = kept[max(0, len(kept) - 1 - back)]
        changed = dict(model)
        if is_set:
            changed[key] = len(kept)
            table = table.with_key(key, len(kept))
        else:
            changed.pop(key, None)
            table = table.without(key)
        kept.append((table, changed))
    for table, model in kept:
        assert list(as_dict(table).items()) == list(model.items()) and table.size == len(model)
        assert table.mapped(lambda leaf: leaf[VALUE]).values() == list(model.values())
        both = table.merged(kept[-1][0], lambda a, b: a + b)
        last = kept[-1][1]
        assert as_dict(both) == {
            **model,
            **last,
            **{key: model[key] + last[key] for key in model.keys() & last.keys()},
        }


def depth(part: Any) -> int:
    return 1 + max(map(depth, part)) if part is not None and len(part) == BRANCH else 0


@pytest.mark.own_tier
def test_tries_are_shallow() -> None:
    """For whole numbers, multiples of a power of two and fractions, whose hashes are regular."""
    for keys in (
        range(20_000),
        [i * 2.0**40 for i in range(2_000)],
        [i / 4096 for i in range(5_000)],
        [-i * 16.0 for i in range(5_000)],
    ):
        table = table_of([(float(key), 0.0) for key in keys])
        assert table.size == len(keys)
        assert depth(table._root) <= 2 + 1.7 * math.log(len(keys), BRANCH)


def test_gradients_through_tables_are_linear() -> None:
    """A loop that sets keys and one that reads them takes as many steps a turn, whatever the size."""
    metered = vlad.Session(metered=True, tier="evaluate")
    metered.run_text("""
        (define (built x n) (let loop ((t (table)) (i 0)) (if (= i n) t (loop (table-set t i (* i x)) (+ i 1)))))
        (define (total t n) (let loop ((s 0) (i 0)) (if (= i n) s (loop (+ s (* (table-ref t i) (table-ref t i))) (+ i 1)))))
        (define (f x n) (total (built x n) n))
        (define (slope n) ((derivative-R (lambda (x) (f x n))) 1))
    """)
    merged = []

    def steps(n: int) -> int:
        before = metered.steps
        merged.append(metered.eval(f"(slope {n})"))
        return metered.steps - before

    small, large = steps(100), steps(1000)
    assert merged == [2.0 * sum(i * i for i in range(n)) for n in (100, 1000)]
    assert large < 10.5 * small


def test_merging_takes_as_long_as_the_smaller_table(monkeypatch: pytest.MonkeyPatch) -> None:
    large = table_of([(float(i), 1.0) for i in range(3000)])
    looked_up: list[Any] = []
    found = Table.found

    def counted(self: Table, token: Any) -> Any:
        looked_up.append(token)
        return found(self, token)

    monkeypatch.setattr(Table, "found", counted)
    for a, b in ((large, table_of([(7.0, 2.0)])), (table_of([(7.0, 2.0)]), large)):
        looked_up.clear()
        total = a.merged(b, lambda x, y: x + y)
        assert len(looked_up) < 4
        assert found(total, 7.0)[VALUE] == 3.0 and total.size == 3000
