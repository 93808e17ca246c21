"""Passes as text: tests/passes/PASS/what-it-shows.core has the input, `---`, and the output.

A `stays-` file has no lower half: the pass must not change it. `pytest --update` rewrites the lower halves; git shows the
difference. A text fixes the form, not the semantics, so each case is also run, before and after, on sample arguments: by the
reference semantics of core, and, for the transforms, against differences.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))
from reference import Reference, outcome

from vlad.ad.forward import forward_entry
from vlad.ad.reverse import tail_entry
from vlad.ad.rules import Basis, Rules
from vlad.core.cells import promote
from vlad.core.check import check
from vlad.core.names import make_lambda
from vlad.core.nodes import Binding, Body, Lambda, Variable
from vlad.core.resolve import resolve
from vlad.core.simplify import simplify, tidy
from vlad.core.text import print_core, read_core
from vlad.data.errors import VladError
from vlad.data.values import NIL, Code, Global, Role, Symbol, Value, closure
from vlad.primitives.table import TABLE

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("*/*.core"))
SAMPLES: list[list[Value]] = [
    [0.5, 1.5], [-2.0, 0.25], [(0.5, 1.5), 2.0], [NIL, NIL], [0.0, (1.0, (2.0, NIL))],
]  # fmt: skip


# Procedures of the library, as their core is.
LIBRARY = {
    "for-each": """(lambda (f l)
      (let* ((test (null? l)))
        (if test #unspecified (let* ((a (car l)) (ignored (f a)) (rest (cdr l))) (for-each f rest)))))""",
    "map": """(lambda (f l)
      (let* ((letrec (loop (lambda (l.1 done)
               (let* ((test (null? l.1)))
                 (if test done (let* ((a (car l.1)) (v (f a)) (rest (cdr l.1)) (more (cons v done))) (loop rest more)))))))
             (none (quote ())))
        (loop l none)))""",
}
GLOBALS = {name: Global(name) for name in LIBRARY}


def cells(name: str) -> Global:
    """A global of this name: the primitive where the table has it, a procedure of LIBRARY, else nothing is known of it."""
    cell = GLOBALS.get(name) or Global(name)
    cell.primitive = TABLE.get(name)
    return cell


def read_case(path: Path, text: str) -> Lambda:
    """Upper halves of `resolve` are as the expander leaves them: every name of a primitive is a global."""
    primitives = {} if path.parent.name == "resolve" else TABLE
    lambda_ = read_core(text, cells, primitives)
    assert isinstance(lambda_, Lambda), path
    check(lambda_)
    return lambda_


def identity() -> Value:
    x = Variable("x")
    return procedure(make_lambda((x,), Body((), x), "identity"))


def procedure(lambda_: Lambda) -> Value:
    code = Code()
    code.lambda_, code.name, code.primitive = lambda_, lambda_.name, None
    code.environment, code.group, code.base = (), (), code
    code.role, code.transforms, code.backpropagator_of = Role.PROCEDURE, (), None
    return closure(code)


for name, text in LIBRARY.items():
    read = read_core(text, cells, TABLE)
    assert isinstance(read, Lambda)
    GLOBALS[name].value = procedure(replace(read, name=name))

BASIS = Basis(TABLE, lambda _: identity())
RULES = Rules(BASIS)


def user_lambdas(lambda_: Lambda) -> frozenset[Lambda]:
    found = [b.rhs for b in lambda_.body.bindings if isinstance(b, Binding) and isinstance(b.rhs, Lambda)]
    return frozenset([lambda_, *found])


def transformed(transform: Callable[..., Lambda]) -> Callable[[Lambda], Lambda]:
    def run(lambda_: Lambda) -> Lambda:
        entry = transform(lambda_, lambda_.free, (), lambda_, BASIS, RULES, None)
        check(entry)
        return tidy(entry, user_lambdas(lambda_), lambda_)

    return run


def without_cells(lambda_: Lambda) -> Lambda:
    def known(cell: Global) -> Lambda | None:
        return GLOBALS[cell.name].value[0].lambda_ if cell.name in GLOBALS else None

    promoted = promote(lambda_, TABLE, known)
    return promoted if promoted is lambda_ else tidy(promoted, frozenset())


def made(cell: Global, value: Value) -> Value | None:
    """What stands for a vector where there is no machine."""
    return (Symbol("vector"), value) if cell.name == "%list->vector" else None


PASSES: dict[str, Callable[[Lambda], Lambda]] = {
    "resolve": lambda it: resolve(it, lambda cell: None, TABLE, made),
    "simplify": simplify,
    "promote-cells": without_cells,
    "tidy": lambda it: tidy(it, frozenset()),
    "reverse": transformed(tail_entry),
    "forward": transformed(forward_entry),
}


def halves(path: Path) -> tuple[str, str, str]:
    """The comment, the upper half, the lower half (in a `stays-` file the upper half again)."""
    text = path.read_text(encoding="utf-8")
    upper, _, lower = text.partition("\n---\n")
    lines = upper.split("\n")
    comment = [line for line in lines if line.startswith(";")]
    upper = "\n".join(lines[len(comment) :]).strip()
    return "\n".join(comment), upper, upper if path.name.startswith("stays-") else lower.strip()


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_pass(path: Path, request: pytest.FixtureRequest) -> None:
    comment, upper, lower = halves(path)
    assert comment.startswith(f"; {path.parent.name}: "), "the first line says what the case shows"
    before = read_case(path, upper)
    after = PASSES[path.parent.name](before)
    check(after)
    if request.config.getoption("--update") and not path.name.startswith("stays-"):
        path.write_text(f"{comment}\n{print_core(before)}\n---\n{print_core(after)}\n", encoding="utf-8")
    else:
        assert print_core(after) == lower
    TRUTH[path.parent.name](path, before, after)


# Truth.


def same_meaning(path: Path, before: Lambda, after: Lambda) -> None:
    """Equal results, errors and output, and no more primitives applied."""
    for sample in SAMPLES:
        first, second = outcome(before, sample), outcome(after, sample)
        assert second[:2] == first[:2], sample
        assert second[2] <= first[2], sample


def same_where_defined(path: Path, before: Lambda, after: Lambda) -> None:
    for sample in SAMPLES:
        first, second = outcome(before, sample), outcome(after, sample)
        assert first[0].startswith("error") or second[:2] == first[:2], sample


def same_as_called(path: Path, before: Lambda, after: Lambda) -> None:
    """Resolved code against the same text read with the table, where calls were applications at once."""
    _, upper, _ = halves(path)
    direct = read_core(upper, cells, TABLE)
    assert isinstance(direct, Lambda)
    for sample in SAMPLES:
        first, second = outcome(direct, sample), outcome(after, sample)
        assert first[0].startswith("error unbound") or second[0] == first[0], sample


STEP = 1e-6
POINT = [0.5, 1.5]


class Differentiating(Reference):
    """The reference meaning, with the entries of closures."""

    def derived(self, f: Value, transform: Callable[..., Lambda]) -> Value:
        code = f[0]
        if code.name == "identity":
            return f
        entry = transform(code.lambda_, code.environment, code.group, code.lambda_, BASIS, RULES, None)
        return self.closure(entry, dict(zip(code.environment, f[1:], strict=False)))

    def tail_closure(self, f: Value) -> Value:
        return self.derived(f, tail_entry)

    def forward_closure(self, f: Value) -> Value:
        return self.derived(f, forward_entry)


def slope(lambda_: Lambda, place: int) -> float:
    values = []
    for step in (STEP, -STEP):
        point = list(POINT)
        point[place] += step
        machine = Reference()
        values.append(machine.apply(machine.closure(lambda_, {}), list(point)))
    return float((values[0] - values[1]) / (2 * STEP))


def gradient_by_reverse(path: Path, before: Lambda, after: Lambda) -> None:
    machine = Differentiating()
    answer = machine.apply(machine.closure(after, {}), [closure(identity()[0]), *POINT])
    plain = Reference()
    assert answer[0] == plain.apply(plain.closure(before, {}), list(POINT))
    _, parts = machine.apply(answer[1], [1.0])
    for place, part in enumerate(parts):
        assert float(part) == pytest.approx(slope(before, place), rel=1e-5, abs=1e-6)


def gradient_by_forward(path: Path, before: Lambda, after: Lambda) -> None:
    for place, direction in enumerate([(1.0, 0.0), (0.0, 1.0)]):
        machine = Differentiating()
        answer = machine.apply(machine.closure(after, {}), [NIL, direction, *POINT])
        assert float(answer[1]) == pytest.approx(slope(before, place), rel=1e-5, abs=1e-6)


TRUTH: dict[str, Callable[[Path, Lambda, Lambda], None]] = {
    "resolve": same_as_called,
    "simplify": same_meaning,
    "promote-cells": same_where_defined,
    "tidy": same_where_defined,
    "reverse": gradient_by_reverse,
    "forward": gradient_by_forward,
}


def test_every_pass_has_cases() -> None:
    assert {path.parent.name for path in CASES} == set(PASSES)


def test_resolve_reports_the_cells_that_it_relied_on() -> None:
    relied: list[str] = []
    text = "(lambda (x) (let* ((a (sin x)) (b (+ a)) (c (f x))) (+ a b c)))"
    lambda_ = read_core(text, cells, {})
    assert isinstance(lambda_, Lambda)
    resolve(lambda_, lambda cell: relied.append(cell.name), TABLE, made)
    assert set(relied) == {"sin", "+"}


def test_a_rule_that_raises_is_left_to_the_run() -> None:
    lambda_ = read_core("(lambda (x) (if x (car 1) (+ 1 #t)))", cells, TABLE)
    assert isinstance(lambda_, Lambda)
    with pytest.raises(VladError, match=r"matching|invalid"):
        Reference().apply(Reference().closure(simplify(lambda_), {}), [1.0])
