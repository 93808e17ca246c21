"""What calls took in earlier runs of a program, and which tier they start on because of it."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vlad
from vlad.compile.calling import policy
from vlad.compile.calling.background import BACKGROUND
from vlad.compile.calling.costs import Cost, Costs
from vlad.compile.native import cache
from vlad.compile.native.cache_folder import folder

PROGRAM = """(define (turns n) (let loop ((i 0) (x 0.5)) (if (< i n) (loop (+ i 1) (sin (+ x i))) x)))
(turns 1000)"""


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    BACKGROUND.wait_until_idle()
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "cache"))
    yield
    BACKGROUND.wait_until_idle()


class Noted:
    """Notes what the calls of a session start on."""

    def __init__(self) -> None:
        self.session = vlad.Session(tier="auto")
        self.starts: list[str] = []
        self.due = math.nan  # seconds until the last call on tier 0 is compiled
        compile_, apply = self.session.tiers.compile, self.session.machine.apply

        def compiling(*operands: Any, **more: Any) -> Any:
            self.starts.append("kept" if more.get("only_kept") else "compiled")
            return compile_(*operands, **more)

        def applying(f: Any, argument: Any, job: Any = None) -> Any:
            if job is not None:
                self.starts.append("evaluated")
                self.due = job.due - time.monotonic()
            return apply(f, argument, job)

        self.session.tiers.compile = compiling  # type: ignore[method-assign]
        self.session.machine.apply = applying  # type: ignore[method-assign]

    def __enter__(self) -> Noted:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()

    def eval(self, text: str) -> Any:
        return self.session.eval(text)


def remember(text: str, **cost: Any) -> None:
    """An earlier run of a program, with the cost of its last form."""
    with vlad.Session(tier="auto") as session:
        costs = Costs(session.machine)
        noting: list[Any] = []
        apply = session.tiers.apply
        session.tiers.apply = lambda f, *rest, **more: (noting.append(f), apply(f, *rest, **more))[1]  # type: ignore
        session.eval(text)
        costs.reads(text)
        costs.note(noting[-1], **cost)


def kept(text: str) -> None:
    """An earlier run, compiled."""
    with vlad.Session(tier="compile") as session:
        session.eval(text)


def test_a_program_without_an_earlier_run_starts_on_tier_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "LEAST_SECONDS", 10.0)  # on a machine under load, too
    with Noted() as session:
        session.eval(PROGRAM)
        assert session.starts == ["evaluated"] and 0 < session.due <= policy.A_MOMENT
    assert not os.path.exists(folder())  # nothing took long


def test_what_was_faster_compiled_starts_compiled() -> None:
    kept(PROGRAM)
    remember(PROGRAM, evaluated=10.0, compiled=0.1)
    with Noted() as session:
        session.eval(PROGRAM)
        assert session.starts == ["kept"]


def test_what_is_kept_and_was_never_tried_starts_compiled() -> None:
    kept(PROGRAM)
    remember(PROGRAM, evaluated=10.0, is_kept=True)
    for known in (None, float):
        with Noted() as session:
            session.eval(PROGRAM)
            assert session.starts == ["kept"]
            (cost,) = (session.session.tiers.costs._known or {}).values()
            assert known is None or type(cost.compiled) is known


def test_after_a_compiled_run_the_next_one_starts_compiled() -> None:
    remember(PROGRAM, evaluated=10.0)
    kept(PROGRAM)
    with Noted() as session:
        session.eval(PROGRAM)
        assert session.starts == ["kept"]


@pytest.mark.parametrize(("seconds", "start"), [(0.03, "evaluated"), (0.3, "kept")])
def test_calls_that_save_less_than_loading_the_compiler_takes_stay(
    seconds: float, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(PROGRAM)
    remember(PROGRAM, evaluated=seconds, is_kept=True)
    monkeypatch.delitem(sys.modules, policy.COMPILER)
    with Noted() as session:
        session.eval(PROGRAM)
        assert session.starts == [start]


@pytest.mark.parametrize("cost", [{"compiled": 11.0}, {"is_refused": True}])
def test_an_evaluation_forgets_nothing_about_compiling(
    cost: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "LEAST_SECONDS", 0.0)
    remember(PROGRAM, evaluated=10.0, **cost)
    for _ in range(2):
        with Noted() as session:
            session.eval(PROGRAM)
            (found,) = (session.session.tiers.costs._known or {}).values()
            assert found.evaluated < 10.0 and [getattr(found, name) for name in cost] == [*cost.values()]


@pytest.mark.parametrize("cost", [{"compiled": 11.0}, {"is_refused": True}])
def test_where_compiling_was_in_vain_it_begins_only_if_a_call_takes_longer(cost: dict[str, Any]) -> None:
    kept(PROGRAM)
    remember(PROGRAM, evaluated=10.0, **cost)
    with Noted() as session:
        session.eval(PROGRAM)
        assert session.starts == ["evaluated"] and session.due > 10.0


def test_what_took_long_and_was_not_compiled_in_time_is_compiled_at_once() -> None:
    remember(PROGRAM, evaluated=10.0)
    with Noted() as session:
        session.eval(PROGRAM)
        assert session.starts[0] == "evaluated" and session.due <= 0


def test_what_the_cache_has_lost_starts_on_tier_0() -> None:
    remember(PROGRAM, evaluated=10.0, compiled=0.1)
    with Noted() as session:
        assert session.eval(PROGRAM) == vlad.Session(tier="evaluate").eval(PROGRAM)
        assert session.starts[:2] == ["kept", "evaluated"]


def test_another_text_is_another_program() -> None:
    kept(PROGRAM)
    remember(PROGRAM, evaluated=10.0, compiled=0.1)
    for before in ("1", "(define x 2)"):
        with Noted() as session:
            session.eval(before)
            session.eval(PROGRAM)
            assert session.starts[-1] == "evaluated"


def test_what_a_call_takes_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(policy, "A_MOMENT", math.inf)
    with vlad.Session(tier="auto") as session:
        session.eval(PROGRAM)
        (cost,) = (session.tiers.costs._known or {}).values()
        assert cost.evaluated > 0 and cost.compiled is None and not (cost.is_kept or cost.is_refused)
    assert [entry.name[-6:] for entry in cache.entries()] == [".costs"]
    assert cache.clear() == 1


def test_a_call_that_is_overtaken_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "A_MOMENT", 0.0)
    text = PROGRAM.replace("(turns 1000)", "(turns 100000000)")
    with vlad.Session(tier="auto") as session:
        session.eval(text)
        (cost,) = (session.tiers.costs._known or {}).values()
        assert cost.evaluated > 0 and cost.compiled is not None and cost.is_kept


def test_without_a_cache_nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLAD_CACHE", "off")
    monkeypatch.setattr(policy, "LEAST_SECONDS", 0.0)
    with vlad.Session(tier="auto") as session:
        session.eval(PROGRAM)
    assert not os.path.exists(folder())


@pytest.mark.parametrize(
    "cost, pays, is_wasted",
    [
        (Cost(1.0), False, False),
        (Cost(1.0, is_kept=True), True, False),
        (Cost(1.0, 0.5), True, False),
        (Cost(1.0, 1.5), False, True),
        (Cost(1.0, is_refused=True), False, True),
    ],
)
def test_what_pays(cost: Cost, pays: bool, is_wasted: bool) -> None:
    assert (cost.pays, cost.is_wasted) == (pays, is_wasted)


HOT = "(lambda (n) (let loop ((i 0) (x 0.5)) (if (< i n) (loop (+ i 1) (sin (+ x i))) x)))"
REFUSED = "(lambda (n) (begin (string->symbol (number->string n)) n))"


def hot(session: Noted, text: str) -> Any:
    """A procedure of the program whose calls have taken long together, once the compiler is done with it."""
    f = session.eval(text)
    session.session.tiers.entry(f.value).seconds = 10.0
    f(10.0)
    BACKGROUND.wait_until_idle()
    return session.session.tiers.costs.of(f.value)


def test_a_procedure_of_many_short_calls_is_remembered() -> None:
    with Noted() as session:
        cost = hot(session, HOT)
        assert cost.evaluated >= 10.0 and cost.is_kept and cost.pays
    with Noted() as session:
        f = session.eval(HOT)
        session.starts.clear()
        assert f(10.0) == f(10.0) and session.starts == ["kept"]


def test_one_that_cannot_be_compiled_is_remembered_for_all_calls() -> None:
    with Noted() as session:
        cost = hot(session, REFUSED)
        assert cost.evaluated >= 10.0 and cost.is_refused and cost.is_wasted
    with Noted() as session:
        f = session.eval(REFUSED)
        for _ in range(3):
            f(10.0)
            assert session.due > 10.0
