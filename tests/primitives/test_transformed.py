"""The rows' derivatives by the public way: forward and reverse, nested to order three, against mpmath."""

from __future__ import annotations

import pytest
from exact import CASES, LOOSER, Case
from test_accuracy import LARGEST, MOST_ULPS, _exact, distance

import vlad

SETUP = """
(define ((slope-R f) x) (cdr ((cdr ((*j f) (*j x))) 1)))
(define ((slope-F f) x) (unperturb (tangent ((bundle f (perturb (zero f))) (bundle x (perturb 1))))))
"""
MODES = ["R", "F", "RR", "RF", "FR", "FF", "RRR", "FFF", "FRF", "RFR"]
# In reverse a product is summed in another order than forward: half a unit each.
TOLERATED_ULPS = MOST_ULPS + 1.0


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session()
    session.eval(SETUP)
    return session


@pytest.mark.slow_compiled
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_every_nesting_of_modes(session: vlad.Session, case: Case) -> None:
    names = ["a", "b"][: len(case.where[0])]
    inner = [*names]
    inner[case.index] = "x"
    for modes in MODES:
        order = len(modes)
        procedure = f"(lambda (x) ({case.name} {' '.join(inner)}))"
        for mode in modes:
            procedure = f"(slope-{mode} {procedure})"
        nested = session.eval(f"(lambda ({' '.join(names)}) ({procedure} {names[case.index]}))")
        for point in case.points(8, "transformed"):
            exact = _exact(case, point)
            if exact is None or not abs(exact[order]) < LARGEST:
                continue
            found = nested(*point)
            assert isinstance(found, float)
            most = LOOSER.get((case.name, order), TOLERATED_ULPS)
            assert distance(found, exact[order]) <= most, (modes, point, found)
