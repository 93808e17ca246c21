"""Explicit vectors of C for innermost loops of sums, products and quotients, four vectors per turn, each of eight reals or
sixteen floats; and for loops that call functions with faster versions than the C library's (functions.py), and sum their results.

In: a nest, in which common divisors are inverted once (divide_once.py).  Out: the same, with another version of such loops.

The reciprocal in every fourth vector is computed by products and sums, while the processor divides for the others: it has one
divider, which is slow, and two units that multiply and add.

These are Newton's steps, from an approximation of 14 bits by the processor: 28 bits, then all but the last one, rounded upwards,
then all (P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990). A divisor whose bits are
all ones is the exception of that theorem: its reciprocal is too small if approached from below, but correct from above.

The loop does not test whether a number is too far from 1 for that: the processor sets flags on overflow, underflow and invalid
operations. If a flag is set, the loop is repeated with divisions; if none is, all results are as if exponents were unbounded. A
loop that overwrites its input is run in blocks (blocks.py).

A negation is postponed until it turns a sum into a difference, or its result is stored: -(a b) for (-a) b, and b - a for (-a) +
b, are the same to the last bit, including the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

from vlad.compile.loops.blocks import LAST, in_blocks, kept_entry
from vlad.compile.loops.divide_once import DIVIDED, FLAG, definitions_in
from vlad.compile.loops.ir import (
    VECTORS,
    Accumulate,
    Address,
    Assign,
    Body,
    Condition,
    Element,
    For,
    If,
    Lane,
    Let,
    Nest,
    Prefetch,
    Scope,
    Speculate,
    Spread,
    Statement,
    StoreElement,
    Value,
    Variables,
    Versions,
    counted,
    counting,
)
from vlad.compile.loops.mark_parallel import is_long_sum, is_sum
from vlad.compile.loops.moved import Moved
from vlad.compile.loops.roots import is_root
from vlad.compile.loops.scaling import constants, operand_name
from vlad.compile.loops.walking import (
    body_of,
    inner_bodies,
    is_innermost,
    statements,
    with_bodies,
    with_body,
)
from vlad.compile.runtime.functions import BETTER, OWN
from vlad.core.expressions import Binary, Call, Conditional, Expression, Name, Number, Unary
from vlad.core.extents import estimate
from vlad.core.loop_nests import SIZES, words

LENGTH, VECTORS_IN_TURN = 64, 4  # bytes of a vector, vectors in a turn of the loop
# The following are in words of 8 bytes: reals, or two floats.
FEWEST_WIDE = 256  # in a row: reading the processor's flags takes as long as some vectors
# Entries of long rows are prefetched so far ahead: the processor does that itself, but not beyond the end of a page.
FEWEST_FETCHED, AHEAD = 1 << 15, 384
# In longer rows, stores are aligned so that no vector crosses two lines of the cache; then most loads do not, either.
FEWEST_ALIGNED = 1 << 11
NONNEGATIVE = ("fabs", "exp", "sqrt")
HAS_VECTORS = Call("vlad_has_vectors", ())


class Quotient(NamedTuple):
    """A quotient of a turn, and the variable for its divisor's reciprocal."""

    dividend: Expression
    divisor: str
    reciprocal: str


class Division(NamedTuple):
    """The quotients of a turn; `kept`: the reciprocals that the kernel itself computes, by divisor."""

    quotients: Mapping[str, Quotient]
    kept: Mapping[str, str]
    kind: str = ""


NO_DIVISION = Division({}, {})


def vectorize(nest: Nest) -> Nest:
    outer = list(_outer(nest.body))
    lets = {one.name: one for one in statements(nest.body) if type(one) is Let}

    def change(statement: Statement) -> Sequence[Statement]:
        if type(statement) is Speculate:
            (plain,) = statement.otherwise
            (_, (attempt,)), *_ = statement.attempts
            if type(plain) is For and type(attempt) is For:
                division = _division(attempt.body, lets)
                if _fits(nest, plain, outer, division):
                    wide = _Wide(nest, plain, division).loops()
                    body: Body = (If(Unary("!", Name(FLAG)), (wide,)),) if nest.over else (wide,)
                    return [replace(statement, attempts=((Condition.VECTORS, body), *statement.attempts))]
        elif type(statement) is For and is_innermost(statement):
            return _versions(nest, statement, outer)
        return [statement]

    return with_body(nest, _loops_mapped(nest.body, change))


def _loops_mapped(body: Body, change: Callable[[Statement], Sequence[Statement]]) -> Body:
    """As ir.mapped, but without the insides of speculations: `change` handles their loops."""
    found: list[Statement] = []
    for statement in body:
        if type(statement) is Speculate or (type(statement) is For and is_innermost(statement)):
            found += change(statement)
        else:
            inner = inner_bodies(statement)
            found.append(
                with_bodies(statement, [_loops_mapped(one, change) for one in inner]) if inner else statement
            )
    return body_of(found, body)


def _outer(body: Body) -> Iterator[Let]:
    """The variables computed before the innermost loops."""
    for statement in body:
        if type(statement) is Let:
            yield statement
        elif not is_innermost(statement) and type(statement) is not Speculate:
            for inner in inner_bodies(statement):
                yield from _outer(inner)


def _division(attempt: Body, lets: Mapping[str, Let]) -> Division:
    """The quotients in a loop from divide_once.py."""
    quotients: dict[str, Quotient] = {}
    kept: dict[str, str] = {}
    kind = ""
    for let in definitions_in(attempt).values():
        if type(let.value) is Call and let.value.function == DIVIDED:
            dividend, divisor, reciprocal = let.value.operands
            one = Quotient(dividend, operand_name(divisor), operand_name(reciprocal))
            quotients[let.name], kind = one, let.kind
            if lets[one.reciprocal].number >= 0:
                kept[one.divisor] = one.reciprocal
    return Division(quotients, kept, kind)


def _versions(nest: Nest, loop: For, outer: Sequence[Let]) -> list[Statement]:
    if is_long_sum(loop) and _fits(nest, loop, outer):
        return [Versions(((Condition.VECTORS, (_Wide(nest, loop).loops(),)),), (loop,))]
    known = constants(nest)
    steps = [let for let in loop.body if type(let) is Let]
    if any(called(let.value) and not is_root(let.value, known) for let in steps) and _fits(nest, loop, outer):
        wide: Body = (_Wide(nest, loop).loops(),)
        if any(is_of_host(let.value) for let in steps):
            wide = (If(HAS_VECTORS, wide, (Scope((loop,)),)),)
        return [Versions(((Condition.VECTORS, wide),), (loop,))]
    return [loop]


def called(value: Value) -> str:
    """The function with a faster version that a value calls, "" if none."""
    is_better = type(value) is Call and value.function in BETTER and all(map(operand_name, value.operands))
    return value.function if is_better else ""  # type: ignore[union-attr]


def is_of_host(value: Value) -> bool:
    """Is that function one that the host may provide, rather than functions.c?"""
    return bool(called(value)) and (value.function, value.kind) not in OWN  # type: ignore[union-attr]


def _fits(nest: Nest, loop: For, outer: Sequence[Let], division: Division = NO_DIVISION) -> bool:
    """Does an innermost loop consist of such operations on contiguous entries, and only store, or sum if it calls functions?
    `outer`: the variables computed before it."""
    kind, index = nest.outputs[0], loop.index
    inner = definitions_in(loop.body)
    writes = [one for one in loop.body if type(one) is not Let]
    reads = [let.value for let in inner.values() if type(let.value) is Element]
    steps = [let.value for let in inner.values() if type(let.value) is not Element]
    calls = any(map(called, steps))
    divides = bool(division.quotients) or calls

    def is_beside(entry: Element) -> bool:
        return not entry.position.at and entry.position.stride(index) == 1

    return (
        kind in VECTORS
        and loop.begins_at_zero
        and (not division.quotients or (division.kind == kind and not calls))
        and estimate(words(loop.extent, kind)) >= FEWEST_WIDE
        and all(let.kind == kind for let in inner.values())
        and all(let.kind in VECTORS for let in outer)
        and all(output == kind for output in nest.outputs)
        and not nest.in_place
        and all(map(is_beside, reads))
        and all(is_sum(step) or called(step) or (divides and _is_quotient(step)) for step in steps)
        and all(
            (type(one) is StoreElement and is_beside(one.entry))
            or (
                type(one) is Accumulate
                and type(one.target) is Name
                and one.combine == "+"
                and calls
                and kind == "float64"  # sums of floats are accumulated in doubles: shorter vectors
            )
            for one in writes
        )
        and all(
            operand_name(one.value) in inner for one in writes if isinstance(one, StoreElement | Accumulate)
        )
    )


def _is_quotient(value: Value) -> bool:
    return (
        type(value) is Binary
        and value.operator == "/"
        and bool(operand_name(value.left))
        and bool(operand_name(value.right))
    )


def nonnegative(lets: Sequence[Let]) -> set[str]:
    """The variables that are not negative, such as sums of squares: a division by one can ignore its sign, and a zero sets a
    flag."""
    found: set[str] = set()

    def holds(value: Value) -> bool:
        match value:
            case Number():
                return value.value >= 0
            case Binary(operator="*", left=left, right=right) if left == right:
                return True
            case Binary(operator="+" | "*" | "/", left=left, right=right):
                return all(
                    holds(one) if type(one) is Number else operand_name(one) in found for one in (left, right)
                )
            case Call():
                return value.function in NONNEGATIVE
        return False

    for let in lets:
        if holds(let.value):
            found.add(let.name)
    return found


@final
@dataclass(slots=True)
class _Wide:
    """Makes the vector version of a loop. `plain`: the loop itself."""

    nest: Nest
    plain: For
    division: Division = NO_DIVISION
    inner: Mapping[str, Let] = field(init=False)
    kind: str = field(init=False)
    index: str = field(init=False)
    stores: list[StoreElement] = field(init=False)
    sums: list[Accumulate] = field(init=False)
    positive: set[str] = field(init=False)
    kept: dict[str, Let] = field(init=False)  # overwritten although the loop may be repeated
    moved: Moved = field(init=False)
    # variables of a turn that are vectors: its own, and the reciprocals of those
    lanes: set[str] = field(init=False)
    # in a turn: one if it calls functions, since the entries left over at both ends are computed one by one
    vectors: int = field(init=False)
    # variables that hold the negative of their value
    negated: set[str] = field(default_factory=set)
    found: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.inner = definitions_in(self.plain.body)
        self.kind, self.index = self.nest.outputs[0], self.plain.index
        self.stores = [one for one in self.plain.body if type(one) is StoreElement]
        self.sums = [one for one in self.plain.body if type(one) is Accumulate]
        self.positive = nonnegative([*_outer(self.nest.body), *self.inner.values()])
        self.kept = {name: let for name, let in self.inner.items() if self._is_over(let.value)}
        quotients = self.division.quotients.values()
        self.lanes = {*self.inner, *[one.reciprocal for one in quotients if one.divisor in self.inner]}
        writes = [
            operand_name(one.value) for one in self.plain.body if isinstance(one, StoreElement | Accumulate)
        ]
        kept = {
            name: one.reciprocal
            for name, one in self.division.quotients.items()
            if self.division.kept.get(one.divisor) in self.inner
        }
        self.moved = Moved(self.inner, writes, kept)
        self.vectors = 1 if any(called(let.value) for let in self.inner.values()) else VECTORS_IN_TURN

    def loops(self) -> Scope:
        """The loop over whole turns, and one over the entries left over at both ends."""
        extent, index, vector = self.plain.extent, self.index, VECTORS[self.kind]
        is_aligned = bool(self.stores) and estimate(words(extent, self.kind)) >= FEWEST_ALIGNED
        start: Value = counted(0)
        if is_aligned:
            start = Call("vlad_wide_start", (Address(self.stores[0].entry),), self.kind)  # type: ignore[arg-type]
        length = LENGTH // SIZES[self.kind]
        taken = length * self.vectors
        last = extent - taken
        place = Binary("+", Name("begin"), Binary("*", counted(length), Name("part")))
        turn = (Let(index, "index", place), *self._turn())
        parts = counting("part", self.vectors, turn, unroll=self.vectors)
        end = Name(LAST) if self.kept else counted(last)
        turns: list[Statement] = [For("begin", None, end, (parts,), step=taken, is_closed=True)]
        if self.division.quotients:
            noted = Call("vlad_wide_end", (Name("before"),))
            turns = [Let("before", "unsigned", Call("vlad_wide_begin", ())), *turns]
            if self.kept:
                again = tuple([self._from_kept(one) for one in self.plain.body])
                turns = in_blocks(turns, noted, again, index, [*self.kept.values()], last, taken, "begin")
            else:
                turns.append(Accumulate(Name(FLAG), noted, "or", "flag"))
        next_one = Binary("+", Name(index), counted(1))
        rest = For(
            index,
            Conditional(Name("start"), counted(0), Name("begin")),
            self.plain.end,
            self.plain.body,
            step=Conditional(Binary("==", next_one, Name("start")), Name("begin"), next_one),
            declares=False,
        )
        return Scope(
            (
                Variables((index,), "index", counted(0)),
                Let("start", "index", start),
                Variables(("begin",), "index", Name("start")),
                *self._before(),
                *[Variables((f"sum{number}",), vector, counted(0)) for number in range(len(self.sums))],
                *turns,
                *[
                    counting(
                        "lane",
                        length,
                        [Accumulate(one.target, Lane(f"sum{number}", "lane"), "add", one.kind)],
                    )
                    for number, one in enumerate(self.sums)
                ],
                rest,
            )
        )

    def _is_over(self, value: Value) -> bool:
        return type(value) is Element and value.array.is_given and value.array.of in self.nest.over

    def _from_kept(self, statement: Statement) -> Statement:
        if type(statement) is Let and statement.name in self.kept:
            return replace(statement, value=kept_entry(self.kept[statement.name], self.index))
        return statement

    def _turn(self) -> list[Statement]:
        """The statements for one vector."""
        vector = VECTORS[self.kind]
        if estimate(words(self.plain.extent, self.kind)) >= FEWEST_FETCHED:
            entries = [let.value for let in self.inner.values() if type(let.value) is Element]
            once = {entry.array: entry for entry in [*entries, *[store.entry for store in self.stores]]}
            ahead = 8 * AHEAD // SIZES[self.kind]
            self.found += [Prefetch(entry, ahead) for entry in once.values()]
        for name in self.moved.order:
            value = self.inner[name].value
            if name in self.moved.sources:
                source, _ = self.moved.sources[name]
                operands = Name(self._before_name(source)), Name(source)
                self._find(name, Call("vlad_wide_moved", operands, self.kind), self._is_moved_negated(name))
            elif type(value) is Element:
                self._find(name, replace(value, is_vector=True))
                if name in self.kept:
                    self.found.append(StoreElement(kept_entry(self.kept[name], self.index, True), Name(name)))
            else:
                self._find(name, *self._step(name, value))
        for store in self.stores:
            name = operand_name(store.value)
            self.found.append(StoreElement(replace(store.entry, is_vector=True), self._signed(name)))
        for number, one in enumerate(self.sums):
            name = operand_name(one.value)
            combine = "subtract" if name in self.negated else "add"
            self.found.append(Accumulate(Name(f"sum{number}"), Name(name), combine, vector))
        self.found += [Assign(self._before_name(source), Name(source)) for source in self._sources()]
        return self.found

    def _before_name(self, source: str) -> str:
        """The variable for the previous vector of one."""
        return f"before{self.inner[source].number}"

    def _signed(self, name: str) -> Expression:
        return Unary("-", Name(name)) if name in self.negated else Name(name)

    def _sources(self) -> list[str]:
        sources = {source for source, _ in self.moved.sources.values()}
        return [name for name in self.inner if name in sources]

    def _before(self) -> list[Statement]:
        """The values of the vector before the first one, of which only the last lane is used."""
        if not self.moved.sources:
            return []
        names = tuple([self._before_name(source) for source in self._sources()])
        found: list[Statement] = [Let(self.index, "index", Name("begin"))]
        found += [one for one in self.plain.body if type(one) is Let]
        for name, (source, _) in self.moved.sources.items():
            whole: Value = Spread(Name(name), self.kind)
            if self._is_moved_negated(name):
                whole = Unary("-", whole)  # type: ignore[arg-type]
            found.append(Assign(self._before_name(source), whole))
        return [Variables(names, VECTORS[self.kind]), Scope(tuple(found))]

    def _is_moved_negated(self, name: str) -> bool:
        """Does the variable from which a value is moved hold its negative?"""
        source, sign = self.moved.sources[name]
        return (sign < 0) != (source in self.negated)

    def _find(self, name: str, value: Value, is_negated: bool = False) -> None:
        quotient = next((one for one in self.division.quotients.values() if one.divisor == name), None)
        if is_negated and quotient is not None:
            value = Unary("-", value)  # type: ignore[arg-type]
        elif is_negated:
            self.negated.add(name)
        vector = VECTORS[self.kind]
        self.found.append(Let(name, vector, value))
        if quotient is not None and name not in self.division.kept:
            self.found.append(Let(quotient.reciprocal, vector, self._reciprocal(name)))

    def _reciprocal(self, divisor: str) -> Call:
        function = "vlad_wide_reciprocal_of_positive" if divisor in self.positive else "vlad_wide_reciprocal"
        is_in_steps = Binary("==", Name("part"), counted(self.vectors - 1))
        return Call(function, (Name(divisor), is_in_steps), self.kind)

    def _step(self, name: str, value: Value) -> tuple[Value, bool]:
        """A step on vectors, and whether its result is the negative of the value."""
        if name in self.division.kept.values():
            return self._reciprocal(operand_name(value.right)), False  # type: ignore[union-attr]
        if name in self.division.quotients:
            quotient = self.division.quotients[name]
            return self._quotient(quotient), operand_name(quotient.dividend) in self.negated
        if called(value):
            assert type(value) is Call
            operands = tuple([self._vector(self._with_sign(one)) for one in value.operands])
            return Call(f"vlad_wide_{value.function}", operands, self.kind), False
        match value:
            case Binary(operator="*", left=left, right=Number(value=factor, kind=kind)):
                is_negated = operand_name(left) in self.negated
                return Binary("*", left, Number(-factor if is_negated else factor, kind)), False
            case Unary(operator="-", operand=operand):
                return operand, operand_name(operand) not in self.negated
            case Binary(operator="*" | "/", left=left, right=right):
                return value, (operand_name(left) in self.negated) != (operand_name(right) in self.negated)
            case Binary(operator="+" | "-" as sign, left=left, right=right):
                return self._sum(sign, left, right)
        raise AssertionError(value)

    def _sum(self, sign: str, left: Expression, right: Expression) -> tuple[Value, bool]:
        """-(x + y) is not used for -x - y: a zero would have the other sign."""
        first = operand_name(left) in self.negated
        second = (operand_name(right) in self.negated) == (sign == "+")
        if sign == "+" and first and left == right:
            return Binary("+", left, right), True
        if first and not second:
            return Binary("-", right, left), False
        return Binary("-" if second else "+", Unary("-", left) if first else left, right), False

    def _quotient(self, quotient: Quotient) -> Call:
        is_positive = quotient.divisor in self.positive
        function = "vlad_wide_divided_by_positive" if is_positive else "vlad_wide_divided"
        given = quotient.dividend, Name(quotient.divisor), Name(quotient.reciprocal)
        return Call(function, tuple([self._vector(one) for one in given]), self.kind)

    def _with_sign(self, value: Expression) -> Expression:
        return Unary("-", value) if operand_name(value) in self.negated else value

    def _vector(self, value: Expression) -> Expression:
        """A value as a vector: numbers that are the same in all turns are spread."""
        name = operand_name(value.operand) if type(value) is Unary else operand_name(value)
        return value if name in self.lanes else Spread(value, self.kind)  # type: ignore[return-value]
