"""Several divisions by one number in the turns of a loop: one reciprocal is computed, and the quotients by multiplication, to the
same last bit.

In: a nest.  Out: the same, its innermost loop, or the turn of a GPU's thread, first tried with products. A derivative of a
quotient divides three times by one number, and divisions are the bottleneck of its loops.

a/y from q = 1/y: t = aq is off by a unit or two in the last place, a - ty is exact by a fused multiply-add, and t + (a - ty)q
rounds as a/y does (P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990). No step may
overflow or underflow, so the loop detects numbers that are `far` from 1; if there is one, it is repeated with divisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from vlad.compile.loops.ir import (
    Accumulate,
    Body,
    Condition,
    For,
    Let,
    Nest,
    Scope,
    Speculate,
    Statement,
    Value,
)
from vlad.compile.loops.scaling import constants, is_power_of_two, operand_name
from vlad.compile.loops.walking import (
    body_of,
    is_innermost,
    mapped,
    statements,
    with_bodies,
    with_body,
)
from vlad.core.expressions import Binary, Call, Expression, Name, Number, Unary
from vlad.core.extents import at_most, estimate
from vlad.core.loop_nests import SHORT

FEWEST_TURNS = 64  # of an innermost loop that is worth emitting twice
# By kind, as powers of two: how far from 1 a divisor, and a dividend, may be.
FAR = {"float64": (100, 900), "float32": (24, 100)}
# Where it pays: floats, of which more are divided at a time, need the widest vectors as well.
PAYS = {"float64": Condition.FUSED, "float32": Condition.FUSED_FLOATS}
DIVIDED, IS_FAR, IS_FAR_DIVISOR = "vlad_divided", "vlad_is_far", "vlad_is_far_divisor"  # in functions.c
FLAG = "far"


@final
@dataclass(frozen=True, slots=True)
class Quotients:
    """`divisors`: the divisor of each variable that is a quotient. `reciprocals`: the variables 1/y, by divisor y; for those in
    `kept` they exist already. `dividends`: how far from 1 a dividend may be that is not such a quotient itself, by the name of
    the quotient."""

    divisors: Mapping[str, str]
    reciprocals: Mapping[str, str]
    kept: frozenset[str]
    dividends: Mapping[str, int]
    kind: str


def divide_once(nest: Nest) -> Nest:
    """For a processor: the loop is emitted twice only where that pays."""
    loop = _loop(nest)
    found = quotients(nest)
    return nest if loop is None or found is None else _speculating(nest, loop, found, PAYS[found.kind])


def divide_once_in_threads(nest: Nest) -> Nest:
    """For a GPU, on which each thread runs one turn and inverts a common divisor again."""
    turn = next((one for one in nest.body if type(one) is Scope), None)
    if turn is None or nest.in_place or _combines(nest):
        return nest
    found = _chosen(nest, definitions_in(turn.body), True)
    return nest if found is None else _speculating(nest, turn, found, Condition.ALWAYS)


def quotients(nest: Nest) -> Quotients | None:
    """The quotients that are worth it in a nest's innermost loop, which may be repeated only if it does nothing but store."""
    loop = _loop(nest)
    if (
        loop is None
        or at_most(nest.turns, SHORT)
        or estimate(loop.extent) < FEWEST_TURNS
        or nest.in_place
        or _combines(nest)
    ):
        return None
    return _chosen(nest, definitions_in(loop.body), False)


def _loop(nest: Nest) -> For | None:
    return next((one for one in statements(nest.body) if type(one) is For and is_innermost(one)), None)


def _combines(nest: Nest) -> bool:
    return any(type(one) is Accumulate for one in statements(nest.body))


def definitions_in(body: Body) -> dict[str, Let]:
    """The variables of a turn, in their order."""
    return {one.name: one for one in body if type(one) is Let}


def _chosen(nest: Nest, inner: Mapping[str, Let], in_each: bool) -> Quotients | None:
    """`in_each`: every turn inverts a divisor that is the same in all turns, so that it is worth no more than others."""
    known = constants(nest)
    lets = {one.name: one for one in statements(nest.body) if type(one) is Let}
    found: dict[str, dict[str, list[str]]] = {}
    kept: dict[str, str] = {}
    for let in lets.values():
        match let.value:
            case Binary(operator="/", left=left, right=Name(name=divisor)):
                dividend = operand_name(left)
            case _:
                continue
        if not dividend or let.kind not in FAR or lets[divisor].kind != let.kind:
            continue
        if divisor in known and is_power_of_two(known[divisor]):
            continue  # C compilers multiply by such a divisor's reciprocal themselves
        others = found.setdefault(let.kind, {})
        if known.get(dividend) == 1.0 and divisor not in kept and divisor not in others:
            kept[divisor] = let.name
        elif let.name in inner:
            others.setdefault(divisor, []).append(let.name)
    for kind, by_divisor in found.items():
        chosen = {
            name: divisor
            for divisor, names in by_divisor.items()
            for name in names
            if len(names) + (divisor in kept) > (in_each or divisor in inner)
        }
        dividends = _dividends(inner, chosen, *FAR[kind])
        if dividends:
            divisors = set(chosen.values())
            reciprocals = {y: kept.get(y, f"q{lets[y].number}") for y in divisors}
            return Quotients(chosen, reciprocals, frozenset(kept) & divisors, dividends, kind)
    return None


def _dividends(
    inner: Mapping[str, Let], chosen: Mapping[str, str], divisor: int, dividend: int
) -> dict[str, int]:
    """A quotient is farther from 1 than its dividend by at most its divisor. Empty if a chain of quotients is too long for that
    bound."""
    found: dict[str, int] = {}
    roots: dict[str, tuple[str, int]] = {}  # by quotient: the first of its turn, and how many come before
    for name in [name for name in inner if name in chosen]:
        root, before = roots.get(operand_name(inner[name].value.left), (name, -1))
        roots[name] = root, before + 1
        found[root] = min(found.get(root, dividend), dividend - (before + 1) * divisor)
    return found if min(found.values(), default=0) > 0 else {}


def _speculating(nest: Nest, turn: For | Scope, found: Quotients, condition: Condition) -> Nest:
    """The nest with a loop or turn that is first tried with products."""
    inner = definitions_in(turn.body)
    before = dict.fromkeys([y for y in _ordered(nest) if y in found.divisors.values() and y not in inner])
    far: Value = Number(0, "int")
    for number, divisor in enumerate(before):
        test = _is_far_divisor(divisor, found.kind)
        far = Binary("|", far, test) if number else test  # type: ignore[arg-type]
    attempt = replace(turn, body=tuple(_multiplying(turn.body, found)))

    def change(statement: Statement) -> Sequence[Statement]:
        if statement is turn:
            return [Speculate(FLAG, far, ((condition, (attempt,)),), (turn,))]
        if type(statement) is Let and statement.name in before and statement.name not in found.kept:
            return [statement, _reciprocal(statement.name, found)]
        return [statement]

    return with_body(nest, mapped(nest.body, change))


def _ordered(nest: Nest) -> list[str]:
    return [one.name for one in statements(nest.body) if type(one) is Let]


def _reciprocal(divisor: str, found: Quotients) -> Let:
    return Let(found.reciprocals[divisor], found.kind, Binary("/", Number(1, "int"), Name(divisor)))


def _multiplying(body: Body, found: Quotients) -> Iterator[Statement]:
    divisors = set(found.divisors.values())
    for statement in body:
        if type(statement) is not Let:
            yield statement
            continue
        name = statement.name
        if name in found.divisors:
            dividend = statement.value.left
            if name in found.dividends:
                yield _notes(Call(IS_FAR, (dividend, _power(found.dividends[name], found.kind)), found.kind))
            divisor = found.divisors[name]
            operands = dividend, Name(divisor), Name(found.reciprocals[divisor])
            statement = replace(statement, value=Call(DIVIDED, operands, found.kind))
        yield statement
        if name in divisors:
            if name not in found.kept:
                yield _reciprocal(name, found)
            yield _notes(_is_far_divisor(name, found.kind))


def _notes(test: Expression) -> Accumulate:
    return Accumulate(Name(FLAG), test, "or", "flag")


def _is_far_divisor(divisor: str, kind: str) -> Call:
    return Call(IS_FAR_DIVISOR, (Name(divisor), _power(FAR[kind][0], kind)), kind)


def _power(exponent: int, kind: str) -> Number:
    return Number(2.0**exponent, kind)


def fold_negations(nest: Nest) -> Nest:
    """The negative of such a quotient is computed with the negative divisor: gcc 12 replaces -fma(x, y, z) by another fma, which
    is 0 where that is -0."""
    known = constants(nest)

    def change(statement: Statement) -> Sequence[Statement]:
        if type(statement) is For or type(statement) is Scope:
            return [with_bodies(statement, [_folded(statement.body, known)])]
        return [statement]

    return with_body(nest, mapped(nest.body, change))


def _folded(body: Body, known: Mapping[str, float]) -> Body:
    divided: dict[str, Call] = {}
    found: list[Statement] = []
    for statement in body:
        if type(statement) is Let:
            of = divided.get(_negated(statement.value, known))
            if of is not None:
                negative = of._replace(operands=(of.operands[0], *map(_negative, of.operands[1:])))
                statement = replace(statement, value=negative)
            if type(statement.value) is Call and statement.value.function == DIVIDED:
                divided[statement.name] = statement.value
        found.append(statement)
    return body_of(found, body)


def _negative(value: Expression) -> Expression:
    return value.operand if type(value) is Unary else Unary("-", value)


def _negated(value: Value, known: Mapping[str, float]) -> str:
    """The variable whose negative a value is, "" if none."""
    match value:
        case Unary(operator="-", operand=operand):
            return operand_name(operand)
        case Binary(operator="*" | "/" as operator, left=left, right=right):
            first, last = operand_name(left), operand_name(right)
            if known.get(last) == -1.0:
                return first
            if operator == "*" and known.get(first) == -1.0:
                return last
    return ""
