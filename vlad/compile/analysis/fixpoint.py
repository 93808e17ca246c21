"""Abstract interpretation of the program on types, including J, to a least fixed point.

In: a Code and the types of a call.  Out: instances, each a code with the types of its environment and operands, and of its
result. abstract_interpreter.py interprets core.

Termination. A call of a code that is being analysed further up is merged with that instance if only constants differ, if
something grows around an earlier value (a chain of backpropagators, a list), or if a dozen are active; a growing type
becomes a recursive one (core/types.py). Without such a bound, as for an n-th derivative, there may be one with
`unroll_certain_calls`: then calls that certainly happen are followed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from vlad.compile.analysis.abstract_interpreter import (
    AbstractInterpreter,
    Application,
    Callee,
    Instance,
    Result,
    locate,
)
from vlad.compile.analysis.strategy import Strategy
from vlad.compile.ir.program import Failure
from vlad.compile.ir.refusals import (
    CALL,
    GROWING,
    TO_BOUND,
    UNSETTLED,
    Exhausted,
    Repeating,
    Unbounded,
    UnknownGlobal,
    Unsettled,
)
from vlad.control.gil_yield import yield_gil
from vlad.core.loop_nests import Kernel, Routine
from vlad.core.types import (
    LARGER,
    LARGEST,
    LONGEST_CHAIN,
    Known,
    Recursion,
    TooLarge,
    Type,
    Types,
)
from vlad.data.values import ZERO, Code, Global, Primitive, Role, Value

if TYPE_CHECKING:
    from vlad.data.source import Span
    from vlad.evaluate.machine import Machine

MOST_ACTIVE = 12  # instances of one code on the stack, before they are merged unconditionally
MOST_UNROLLED = 1  # iterations that differ only in constants, before they become one loop
MOST_FOLLOWED = 40  # instances of one code, each certain to call the next, that are unrolled
MOST_ORDERS = 6  # transforms of one code, before their number counts as unbounded
MOST_ORDERS_FOLLOWED = 8  # the same, if they are certainly applied
MOST_TURNS = 2  # of a loop that applies one transform in each, before their number counts as unbounded
MOST_CONSTANTS = 4  # instances of one code that differ in constant reals only
# types of sensitivities with which one backpropagator is called, before they are joined
MOST_SENSITIVITIES = 8
MOST_GROWTHS = 3  # of the type at a point where paths meet, before it is widened
MOST_RUNS = 1_500  # of instances
# with certain calls followed, or recursive types for known lists: where this pays, hardly any instance runs twice
MOST_RUNS_WORTHWHILE = 2_500
MOST_RUNS_STRAIGHT = 12_500  # with certain calls followed, while hardly any instance has run twice:
LEAST_STRAIGHT = 20  # of so many runs at most one was due to a change of what an instance had seen
MOST_RUNS_PATIENT = 8_000  # if nothing else helps
MOST_RUNS_UNROLLED = 1_000  # with long operands unrolled: it pays only if the code is straightforward
LEAST_RUNS = 16  # between two searches for the instances that are live
MOST_RUNS_EACH = 10  # additional ones for each code: first attempts that settle take up to seven
MOST_RUNS_EACH_PATIENT = 20
# Members of unions on which code is run, one after the other. Programs that settle need some ten thousand.
MOST_MEMBERS = 400_000


class Variants:
    """Instances that differ only in constants: their number, their common constants, and how often these became fewer since
    only they count.
    """

    __slots__ = ("count", "fields", "growths", "operands")

    def __init__(self, fields: tuple[Type, ...], operands: tuple[Type, ...]) -> None:
        self.fields, self.operands = fields, operands
        self.count = self.growths = 0


class Analysis(AbstractInterpreter):
    """The fixed point. `solve` returns the instance of a call; results are in `Instance.result`."""

    def __init__(
        self,
        machine: Machine,
        strategy: Strategy = Strategy(),  # noqa: B008 - it is frozen
    ) -> None:
        super().__init__(machine, Types())
        self.strategy = strategy
        self.types.keep_zeros_distinct = strategy.zeros_distinct
        self.types.may_repeat = strategy.repeating
        self.longest = longest = strategy.longest
        self.longest_known = 1 if strategy.recursive else LONGEST_CHAIN
        self.follow_certain_calls(CALL)
        self._open = 0  # enclosing arms of branches that may not be taken
        self._opened: dict[Instance, int] = {}  # the same at the start of an active instance
        unrolls = longest > LONGEST_CHAIN
        self._most_active = longest + MOST_ACTIVE if unrolls else MOST_ACTIVE
        if strategy.unroll or strategy.recursive:
            self.most_runs, self.most_runs_each = MOST_RUNS_WORTHWHILE, 0
        else:
            most = MOST_RUNS_PATIENT if strategy.patient else MOST_RUNS
            self.most_runs = MOST_RUNS_UNROLLED if unrolls else most
            self.most_runs_each = MOST_RUNS_EACH_PATIENT if strategy.patient else MOST_RUNS_EACH
        self.instances: list[Instance] = []
        self.cells: dict[Global, Value] = {}  # globals whose values the result relies on
        # the same by instance, with the first place
        self.constants_read: dict[Instance, dict[Global, Span | None]] = {}
        self._readers: dict[Global, dict[Instance, None]] = {}
        self._of_key: dict[Any, Instance] = {}
        self._order: dict[Any, int] = {}  # of the keys, as they were made
        # the keys and instances with a type that may get another form
        self._mentioning: dict[Type, list[Any]] = {}
        self._key_epoch = 0
        self._active: dict[Callee, list[Instance]] = {}
        self._stack: list[Instance] = []  # those that are active
        self._variants: dict[Any, Variants] = {}
        # keys of variants with the constants that are operands, by those without
        self._positions: dict[Any, dict[Any, None]] = {}
        self._calls_back: dict[Any, list[Instance]] = {}  # of a backpropagator and a tape
        # the instance of a continuation, by what it captured and its operands but for constants
        self._resumed_with: dict[Any, Instance] = {}
        self._roots: dict[Any, Instance] = {}  # of the calls that are to be solved
        self._live: list[Instance] = []
        self._sweep_after = 0  # so many runs
        self._dirty: list[Instance] = []  # those that are live, too
        self._taken_for_loopless: dict[Callee, dict[Instance, None]] = {}
        self.runs = self.reruns = self.members_run = 0
        self._dealings = 0  # how often a rule has called, read a variable or had an effect

    def follow_certain_calls(self, part: object) -> None:
        """Follow the certain calls of a part, if the strategy requires it; and, since that is the last attempt, permit types to
        mix until they settle."""
        self.unroll_certain_calls = self.types.mixing = part in self.strategy.unroll

    def solve(
        self, callee: Callee, fields: tuple[Type, ...] = (), operands: tuple[Type, ...] = ()
    ) -> Instance:
        root = self._root(callee, fields, operands)
        if not root.ran:
            self._settle(root)
        while True:  # repeats over the live instances that may have seen another state of unions, until nothing changes
            self._sweep()
            epoch, before = self.types.epoch, len(self._live)
            is_current = self._current()
            for instance in self.instances[:]:
                if not instance.live or not instance.ran:
                    continue
                if instance in self.types.calling or not is_current(instance):
                    self._run(instance)
            changed = bool(self._dirty)
            self._drain()
            root = self._root(callee, fields, operands)
            if (
                not changed
                and (epoch, before) == (self.types.epoch, len(self._live))
                and not self.types.calling
            ):
                return root

    def _root(self, callee: Callee, fields: tuple[Type, ...], operands: tuple[Type, ...]) -> Instance:
        root = self._roots[callee, fields, operands] = self.find(callee, fields, operands)
        self._enliven(root)
        return root

    def _current(self) -> Callable[[Instance], bool]:
        """Whether what an instance has seen of types is as it was when it last began to run. It saw no more than what these types
        lead to: its own, those where its paths meet, those of its calls, and those of known values."""
        types = self.types
        epoch, last, count = types.epoch, types.epochs(), types.count

        def latest(seen: Iterable[Type | None]) -> int:
            found, work = 0, [one for one in seen if one is not None]
            while work:
                type_ = types.canonical(work.pop())
                if type_.serial <= count:
                    found = max(found, last.get(type_, 0))
                else:  # its present form was not made yet
                    work += type_.parts
            return found

        known = [type_ for _, type_ in self._values.values() if type_.mentions_cell]
        of_all = max(
            types.epoch_of_all, latest([types.rope, types.characters, *known, *self.variables.values()])
        )

        def is_current(instance: Instance) -> bool:
            if instance.epoch == types.epoch:
                return True
            if instance.dirty or instance.epoch < of_all or types.epoch != epoch:
                return False  # in the last case, because of an instance before it
            seen = [*instance.fields, *instance.operands, instance.result, *instance.joins.values()]
            for callee in instance.calls:
                seen += (*callee.fields, *callee.operands, callee.result)
            if latest(seen) > instance.epoch:
                return False
            instance.epoch = epoch
            return True

        return is_current

    def close(self) -> None:
        """Cut the references from instances to their callers, which make cycles. The analysis cannot go on."""
        for instance in self.instances:
            instance.dependents.clear()
            instance.calls.clear()
            instance.called_before.clear()
            instance.called = None
        self.types.forget_readers()

    # Instances.

    def find(self, callee: Callee, fields: tuple[Type, ...], operands: tuple[Type, ...]) -> Instance:
        types = self.types
        caller = self.instance if self.instance.active else None
        fields = types.all_rolled(fields, caller)
        operands = types.all_rolled(operands, caller)
        if self._key_epoch != types.epoch:
            self._rekey()
        key = (callee, fields, operands)
        instance = self._of_key.get(key)
        if instance is None:
            if type(callee) is Code:
                instance = (
                    self._merged(callee, fields, operands)
                    or self._generalised(callee, fields, operands)
                    or self._called_back(callee, fields, operands)
                    or self._resumed(callee, fields, operands)
                )
            if instance is None:
                instance = self._new(callee, fields, operands)
            self._set((callee, *self._now(fields, operands)), instance)
        return instance

    def _now(self, fields: tuple[Type, ...], operands: tuple[Type, ...]) -> tuple[Any, Any]:
        if self._key_epoch != self.types.epoch:
            self._rekey()
        return self.types.all_canonical(fields), self.types.all_canonical(operands)

    def _new(self, callee: Callee, fields: tuple[Type, ...], operands: tuple[Type, ...]) -> Instance:
        fields, operands = self._now(fields, operands)
        instance = Instance(callee, fields, operands, len(self.instances) + 1)
        self.instances.append(instance)
        self._index(instance, fields, operands)
        self._set((callee, fields, operands), instance)
        return instance

    def _set(self, key: Any, instance: Instance) -> None:
        if key not in self._of_key:
            self._order[key] = len(self._order)
            self._index(key, key[1], key[2])
        self._of_key[key] = instance

    def _index(self, owner: Any, fields: tuple[Type, ...], operands: tuple[Type, ...]) -> None:
        for type_ in (*fields, *operands):
            if type_.mentions_cell:
                self._mentioning.setdefault(type_, []).append(owner)

    def _rekey(self) -> None:
        """Make keys again after cells were unified: those with types that have another form now. Of two instances that became
        equal, the first stays."""
        types = self.types
        while self._key_epoch != types.epoch:
            self._key_epoch = types.epoch
            replaced, types.replaced = types.replaced, []
            owners = dict.fromkeys([one for type_ in replaced for one in self._mentioning.pop(type_, ())])
            for instance in owners:
                if type(instance) is Instance:
                    instance.fields = types.all_canonical(instance.fields)
                    instance.operands = types.all_canonical(instance.operands)
                    self._index(instance, instance.fields, instance.operands)
            keys = [one for one in owners if type(one) is not Instance and one in self._of_key]
            for key in sorted(keys, key=self._order.__getitem__):
                callee, fields, operands = key
                now = callee, types.all_canonical(fields), types.all_canonical(operands)
                instance = self._of_key.pop(key)
                if now not in self._of_key:
                    self._index(now, now[1], now[2])
                elif self._order[now] < self._order[key]:
                    continue
                self._of_key[now], self._order[now] = instance, self._order[key]

    def _generalised(
        self, code: Code, fields: tuple[Type, ...], operands: tuple[Type, ...]
    ) -> Instance | None:
        """For many instances that differ only in constants: an instance with the differing reals generalised. Those within
        structures come first: a real that is an operand itself may be a position, by which a part of a structure is chosen.
        """
        is_kept = code.backpropagator_of is None or self._has_positions(code, (*fields, *operands))
        general, within = self.types.general, self.types.general_within
        key = (code, tuple([general(f) for f in fields]), tuple([general(o) for o in operands]))
        chosen = self._varied(key, fields, operands, is_kept)
        if is_kept:
            narrower = (code, tuple([within(f) for f in fields]), tuple([within(o) for o in operands]))
            positions = self._positions.setdefault(key, {})
            if len(positions) <= MOST_CONSTANTS:
                positions[narrower] = None
            if narrower != key and len(positions) <= MOST_CONSTANTS:
                chosen = self._varied(narrower, fields, operands, is_kept)
        return chosen and (self._of_key.get(chosen) or self._called_back(*chosen) or self._new(*chosen))

    def _has_positions(self, code: Code, types: tuple[Type, ...]) -> bool:
        """Whether shapes, positions or axes may be among the constants of a backpropagator, as in those of tensor operations.
        One that was transformed hands them to what it returns, which may be for tensors if it is not."""
        if code.transforms or any(type_.mentions_tensor for type_ in types):
            return True
        _, tensors = self.types.heads_within(types)
        return bool(tensors)

    def _varied(
        self, key: Any, fields: tuple[Type, ...], operands: tuple[Type, ...], is_kept: bool
    ) -> Any | None:
        """The types of the instance for these and all earlier ones with this key; None while they are few."""
        most = MOST_FOLLOWED if self.unroll_certain_calls else MOST_CONSTANTS
        seen = self._variants.get(key)
        if seen is None:
            seen = self._variants[key] = Variants(fields, operands)
            seen.count = 1
            return None if is_kept else key
        seen.count += 1
        common = self.types.common
        now = (
            tuple([common(a, b) for a, b in zip(seen.fields, fields, strict=True)]),
            tuple([common(a, b) for a, b in zip(seen.operands, operands, strict=True)]),
        )
        if now != (seen.fields, seen.operands) and seen.count > most:
            seen.growths += 1
        seen.fields, seen.operands = now
        if seen.count <= most and is_kept:
            return None
        return (key[0], *self._now(*now)) if is_kept and seen.growths <= MOST_CONSTANTS else key

    def _called_back(
        self, code: Code, fields: tuple[Type, ...], operands: tuple[Type, ...]
    ) -> Instance | None:
        """For a backpropagator with one tape that is called with sensitivities of many types, such as lists of every length: an
        instance with all of them joined. It is linear, so little is known of its results in any case. Sensitivities of different
        procedures are kept apart, and so are tensors of several shapes, whose joined zeros would have none.
        """
        if code.backpropagator_of is None or self.unroll_certain_calls:
            return None
        procedures, _ = self.types.heads_within(operands)
        calls = self._calls_back.setdefault((code, fields, procedures), [])
        if len(calls) < MOST_SENSITIVITIES:
            instance = self._new(code, fields, operands)
            calls.append(instance)
            return instance
        _, tensors = self.types.heads_within((*operands, *calls[-1].operands))
        if len(tensors) > 1:
            return None
        return self._joined_with(calls[-1], fields, operands, self.types.widened)

    def _resumed(self, code: Code, fields: tuple[Type, ...], operands: tuple[Type, ...]) -> Instance | None:
        """For a continuation that is called with several constants, as the arms of a conditional return them: an instance with
        all of them joined, as where arms meet. What it goes on with would be analysed for each of them, and for each sequence of
        them that it collects.
        """
        if self.unroll_certain_calls or not self.machine.core_of(code).is_continuation:
            return None
        skeleton = tuple([self.types.skeleton(operand) for operand in operands])
        key = code, fields, skeleton
        resumed = self._resumed_with.get(key)
        if resumed is None:
            instance = self._resumed_with[key] = self._new(code, fields, operands)
            return instance
        return self._joined_with(resumed, fields, operands, self.types.widened)

    def _merged(self, code: Code, fields: tuple[Type, ...], operands: tuple[Type, ...]) -> Instance | None:
        active = self._active.get(code)
        if not active:
            return None
        if (
            self.unroll_certain_calls
            and len(active) < MOST_FOLLOWED
            and self._open == self._opened[active[-1]]
        ):
            return None  # it is certainly called
        general = self.types.general
        skeleton = [general(type_) for type_ in (*fields, *operands)]
        alike = [
            instance
            for instance in active
            if [general(type_) for type_ in (*instance.fields, *instance.operands)] == skeleton
        ]
        if not alike:
            given = (*fields, *operands)
            are_isomorphic = self.types.are_isomorphic
            alike = [one for one in active if are_isomorphic((*one.fields, *one.operands), given)]
        if len(alike) >= MOST_UNROLLED:
            instance = alike[-1]
        elif alike and len(active) < self._most_active:
            return None
        else:
            for instance in reversed(active):
                if len(active) >= self._most_active or self._continues(instance, fields, operands):
                    break
            else:
                return None
        merges = instance.growths["merged"] = instance.growths.get("merged", 0) + 1
        join = self.types.widened if merges > MOST_GROWTHS else self.types.join_both
        return self._joined_with(instance, fields, operands, join)

    def _joined_with(
        self,
        instance: Instance,
        fields: tuple[Type, ...],
        operands: tuple[Type, ...],
        join: Callable[[Type, Type], Type],
    ) -> Instance:
        """An instance, which also serves calls of these types from now on."""
        joined_fields = tuple([join(a, b) for a, b in zip(instance.fields, fields, strict=True)])
        joined_operands = tuple([join(a, b) for a, b in zip(instance.operands, operands, strict=True)])
        now = self._now(joined_fields, joined_operands)
        known = self._of_key.get((instance.callee, *now))
        if known is not None:
            return known
        instance.fields, instance.operands = now
        self._index(instance, *now)
        self._set((instance.callee, *now), instance)
        self._mark(instance)
        return instance

    def _continues(self, active: Instance, fields: tuple[Type, ...], operands: tuple[Type, ...]) -> bool:
        """Whether a new call of the same code is the next iteration of an active one, rather than another use of it."""
        types = self.types
        olds = [types.canonical(type_) for type_ in (*active.fields, *active.operands)]
        news = [*fields, *operands]
        if sum([new.size for new in news]) <= sum([old.size for old in olds]):
            return False  # an inner derivative has one more tag on its argument, but one procedure less around it
        if any(
            (old.kind == "pair" or (old.kind == "closure" and old.of.role is not Role.TAG))
            and types.contains(old, new)
            for old, new in zip(olds, news, strict=True)
        ):
            return False  # down a list, or back through a chain, of known length
        grows = False
        for old, new in zip(olds, news, strict=True):
            turns = self._turns(old, new)
            if turns is None:
                return False  # another use, from within a continuation that contains the first one
            grows = grows or turns
        return grows

    def _turns(self, old: Type, new: Type) -> bool | None:
        """Whether `new` may be the successor of `old` in the next iteration, and whether it grows; None if it is not."""
        types = self.types
        old, new = types.canonical(old), types.canonical(new)
        if types.general(old) is types.general(new) or old.of is ZERO or new.of is ZERO:
            return False
        is_procedure = old.kind == "closure" and old.of.role is not Role.TAG
        if (is_procedure or old.kind in ("pair", "union") or old is types.nil) and types.contains(new, old):
            return True
        if is_procedure and old.head == new.head and types.occurs_inside(new.of, new):
            return True  # around something that was joined with the earlier value
        if old.kind == "union" and new.kind != "union" and self._is_around_member(new, old):
            return True  # from another arm of an iteration, whose first one has widened the earlier value
        if types.contains(old, new) or old.kind == new.kind == "union":
            return False
        if old.head != new.head or not old.parts:
            return None
        turns = [self._turns(x, y) for x, y in zip(old.parts, new.parts, strict=True)]
        return None if None in turns else True in turns

    def _is_around_member(self, new: Type, union: Type) -> bool:
        """Whether a type contains a procedure or pair that is a member of a union."""
        return any(member.parts and self.types.contains(new, member) for member in self.types.members(union))

    # The fixed point.

    def _mark(self, instance: Instance) -> None:
        if not instance.dirty:
            instance.dirty = True
            if instance.live:
                self._dirty.append(instance)

    def _enliven(self, instance: Instance) -> None:
        """Note that calls lead to an instance, and so to those that it calls."""
        work = [instance]
        while work:
            one = work.pop()
            if not one.live:
                one.live = True
                self._live.append(one)
                if one.dirty:
                    self._dirty.append(one)
                work += one.calls

    def _sweep(self) -> None:
        """Find the instances to which calls lead. While types grow, calls of earlier types are replaced by others. What only
        those needed is not run again: it was most of the work of long analyses."""
        for one in self._live:
            one.live = False
        work = [*self._roots.values()]
        for active in self._active.values():
            work += active
        self._live = live = []
        while work:
            one = work.pop()
            if not one.live:
                one.live = True
                live.append(one)
                work += one.calls
                work += one.called_before
        self._dirty = [one for one in self._dirty if one.live]
        calling = self.types.calling
        for one in [one for one in calling if not one.live]:
            calling.discard(one)
            one.dirty = True  # if calls lead to it again
        self._sweep_after = self.runs + max(LEAST_RUNS, len(live) // 8)

    def _settle(self, instance: Instance) -> None:
        self._run(instance)
        self._drain()

    def _drain(self) -> None:
        while True:
            if self._dirty and self.runs > self._sweep_after:
                self._sweep()
            waiting = [instance for instance in self._dirty if not instance.active]
            if not waiting:
                return
            instance = waiting[-1]
            self._dirty.remove(instance)
            instance.dirty = False
            self.reruns += 1
            self._run(instance)

    def _run(self, instance: Instance) -> None:
        yield_gil()
        self.runs += 1
        is_straight = self.unroll_certain_calls and LEAST_STRAIGHT * self.reruns <= self.runs
        most_runs = MOST_RUNS_STRAIGHT if is_straight else self.most_runs
        parts = 1 + len(self.variables)
        if self.runs > most_runs * parts + self.most_runs_each * len(self._active):
            raise Exhausted(UNSETTLED, self.span, hint=TO_BOUND)
        above = self.instance, self.key, self.span
        self.instance = instance
        active = self._active.setdefault(instance.callee, [])
        active.append(instance)
        self._stack.append(instance)
        self.types.largest = LARGEST + LARGER * len(self._active)
        self._opened[instance] = self._open
        instance.active = instance.ran = True
        instance.acts = False
        instance.epoch = self.types.epoch
        instance.calls, instance.called_before = {}, instance.calls
        self.types.calling.discard(instance)
        try:
            operands = [Known(operand) for operand in instance.operands]
            if type(instance.callee) is Code:
                if len(instance.callee.transforms) > self._most_orders(instance):
                    self.unbounded(
                        "the order of its derivatives is not known before it runs",
                        for_number=True,
                        hint=f"an order written in the program is known; up to {MOST_ORDERS_FOLLOWED} are compiled",
                    )
                result = self.enter(instance.callee, [Known(field) for field in instance.fields], operands)
            else:
                assert type(instance.callee) is Recursion
                self.key = "recursion"
                result = instance.callee.rule(self, *operands)
        except Unbounded as unbounded:
            locate(unbounded, unbounded.span or self.span, instance)
            raise
        except (TooLarge, RecursionError) as error:
            kind = Repeating if isinstance(error, TooLarge) and error.repeats else Unsettled
            growing = kind(GROWING, self.span, hint=TO_BOUND)
            locate(growing, self.span, instance)
            raise growing from None
        finally:
            self.instance, self.key, self.span = above
            active.pop()
            self._stack.pop()
            instance.active = False
        for callee in instance.called_before:
            if callee not in instance.calls:
                callee.dependents.pop(instance, None)
        instance.called_before = {}
        old = instance.result
        instance.result = self._grown(instance, "result", old, result)
        if instance.result is not None and (old is None or instance.result is not self.types.canonical(old)):
            for dependent in instance.dependents:
                self._mark(dependent)
        self._mark_changed()

    def _most_orders(self, instance: Instance) -> int:
        """How many transforms of an instance's code may have been applied. A procedure that contains itself, and calls its own
        derivative, calls the derivative of that, and so on: this is a loop whose number of turns the types do not tell. (Each
        order takes longer to analyse than all before it.)
        """
        if self.unroll_certain_calls:
            return MOST_ORDERS_FOLLOWED if self._open == 0 else MOST_ORDERS
        code, fields = instance.callee, instance.fields
        assert type(code) is Code
        order, base = len(code.transforms), code.base
        if order < MOST_TURNS or not any(field.mentions_cell for field in fields):
            return MOST_ORDERS
        alike = [one.callee for one in self._stack if one.fields == fields]
        turns = {len(one.transforms) for one in alike if type(one) is Code and one.base is base}
        is_loop = turns.issuperset(range(order - MOST_TURNS, order))
        return order - 1 if is_loop and base in self.types.heads_within(fields)[0] else MOST_ORDERS

    def _mark_changed(self) -> None:
        changed = self.types.changed
        if changed:
            self.types.changed = []
            for instance in changed:
                self._mark(instance)

    def acting(self) -> set[Instance]:
        """The instances whose calls do more than compute a result."""
        found = {one for one in self.instances if one.acts or one.result is None}
        work = list(found)
        while work:
            new = work.pop().dependents.keys() - found
            found |= new
            work += new
        return found

    # Interpretation on types.

    def application(self, row: Primitive, operands: list[Known]) -> Result:
        """As `apply`. Most of what an instance applies to unions when it runs again has the operands that it had before: then the
        result is that of before."""
        is_of_unions = False
        for operand in operands:
            is_of_unions |= operand.type.kind == "union"
            if operand.line is not None or operand.transposed is not None:
                return self.apply(row, operands)  # it may depend on more than types
        if not is_of_unions:
            return self.apply(row, operands)
        instance, types, key = self.instance, self.types, self.key
        found = instance.applications.get(key)
        if found is not None and self._is_same(found, operands):
            instance.acts |= found.acts
            self.members_run += found.members
            return None if found.result is None else Known(types.canonical(found.result))
        given = tuple([operand.type for operand in operands])
        before = types.state, self._dealings, self.members_run
        above, acts = types.reads, instance.acts
        types.reads, instance.acts = [], False
        try:
            result = self.apply(row, operands)
            reads = types.reads
        finally:
            types.reads = above
        if reads and (types.state, self._dealings) == before[:2] and _is_plain(result, operands):
            instance.applications[key] = Application(
                given,
                reads,
                None if result is None else result.type,
                instance.acts,
                self.members_run - before[2],
                types.epoch_of_all,
            )
        elif found is not None:
            del instance.applications[key]
        instance.acts |= acts
        return result

    def _is_same(self, found: Application, operands: list[Known]) -> bool:
        """Whether an application would run as it did."""
        if found.epoch_of_all != self.types.epoch_of_all:
            return False
        for operand, type_ in zip(operands, found.operands, strict=True):
            if operand.type is not type_ or type_.now is not type_:
                return False
        members, instance = self.types.members, self.instance
        return all(union.now is union and members(union, instance) == seen for union, seen in found.reads)

    def each_two(self, a: Known, b: Known, rule: Callable[[Known, Known], Result]) -> Result:
        """For each member, all of other heads are one."""

        def of_one(a: Known) -> Result:
            others = 0

            def of_two(b: Known) -> Result:
                nonlocal others
                if a.type.head != b.type.head:
                    others += 1
                    if others > 1:
                        return None
                return rule(a, b)

            return self.each(b, of_two, "b")

        return self.each(a, of_one, "a")

    def fail(self, what: str, about: Failure = Failure.OTHER, name: str | None = None) -> Result:
        self.instance.acts = True
        return None

    def compute(self, row: Primitive, operands: Sequence[Known], result: Type) -> Known:
        return Known(result)

    def loops(
        self, kernel: Kernel | Routine, operands: Sequence[Known], results: Sequence[Type]
    ) -> list[Known]:
        self._on_device()
        if type(kernel) is Routine and self.machine.device != "cpu":
            self.left_out(f"`solve`, `argsort`, `cumsum` and their kin on {self.machine.device} are")
        return [Known(result) for result in results]

    def pair(self, car: Known, cdr: Known) -> Known:
        return Known(self.types.pair(*self.types.all_canonical((car.type, cdr.type))))

    def closure(self, code: Code, fields: Iterable[Known]) -> Known:
        parts = self.types.all_canonical(tuple([field.type for field in fields]))
        return Known(self.types.closure(code, parts))

    def part(self, value: Known, index: int) -> Known:
        type_ = value.type.parts[index]
        return Known(type_ if type_.now is type_ else self.types.canonical(type_))

    def parts(self, value: Known) -> list[Known]:
        return [Known(part) for part in self.types.all_canonical(value.type.parts)]

    def member(self, union: Known, type_: Type) -> Known:
        return Known(type_)

    def _grown(self, instance: Instance, key: Any, old: Type | None, value: Result) -> Type | None:
        """The join of the type so far with another; widened if it keeps growing."""
        if old is None or value is None:
            return old if value is None else value.type
        growths = instance.growths.get(key, 0)
        if growths >= MOST_GROWTHS:
            return self.types.widened(old, value.type)
        if old is value.type and old.now is old:
            return old
        joined = self.types.join_both(old, value.type)
        if joined.size > old.size:
            instance.growths[key] = growths + 1
        return joined

    def _join(self, key: Any, value: Result, exact: bool = False) -> Result:
        """The join of all types at this point so far. `exact` is `Types.exact`."""
        joins = self.instance.joins
        self.types.exact = exact
        joined = joins[key] = self._grown(self.instance, key, joins.get(key), value)
        self.types.exact = False
        return None if joined is None else Known(self.types.canonical(joined))

    def branch(
        self,
        key: Any,
        test: Known,
        consequent: Callable[[], Result],
        alternative: Callable[[], Result],
        tail: bool,
    ) -> Result:
        above = self.key, self.span
        self._open += 1
        self._join(key, consequent(), True)
        self.key, self.span = above
        joined = self._join(key, alternative(), True)
        self.key, self.span = above
        self._open -= 1
        return joined

    def dispatch(self, key: Any, union: Known, rule: Callable[[Known], Result], tail: bool) -> Result:
        instance = self.instance
        above = self.key
        self._open += 1
        members = self.types.members(union.type, instance)
        self.members_run += len(members)
        if self.members_run > MOST_MEMBERS * (1 + len(self.variables)):
            raise Exhausted(UNSETTLED, self.span, hint=TO_BOUND)
        of_numbers = not any(member.parts for member in members)
        for member in members:
            self.key = above
            self._join(key, rule(Known(member)), of_numbers)
        self.key = above
        self._open -= 1
        joined = instance.joins.get(key)
        return None if joined is None else Known(self.types.canonical(joined))

    def invoke(
        self, callee: Callee, fields: tuple[Known, ...], operands: Sequence[Known], tail: bool
    ) -> Result:
        self._dealings += 1
        caller = self.instance
        if type(callee) is Code and callee not in self.looping and self._active.get(callee):
            self.looping.add(callee)
            for reader in self._taken_for_loopless.get(callee, ()):
                self._mark(reader)
        instance = self.find(callee, tuple([f.type for f in fields]), tuple([o.type for o in operands]))
        caller.calls[instance] = None
        if not instance.live:
            self._enliven(instance)
        if not instance.ran:
            instance.called = caller, self.span
            self._settle(instance)
        instance.dependents[caller] = (
            None  # only now: the caller, which goes on with the result, need not run again for it
        )
        return None if instance.result is None else Known(self.types.canonical(instance.result))

    def loops_through(self, callee: Callee) -> bool:
        if callee in self.looping:
            return True
        self._dealings += 1
        self._taken_for_loopless.setdefault(callee, {})[self.instance] = None
        return False

    def relied_on(self, cell: Global, span: Span | None) -> None:
        self.cells[cell] = cell.value
        self.constants_read.setdefault(self.instance, {}).setdefault(cell, span)

    def load(self, cell: Global) -> Result:
        self._dealings += 1
        if cell in self.unknown:
            raise UnknownGlobal(f"`{cell.name}` is not known", self.span)
        self._readers.setdefault(cell, {})[self.instance] = None
        type_ = self.variables[cell]
        self.instance.acts |= type_ is None
        return None if type_ is None else Known(self.types.canonical(type_))

    def define(self, cell: Global, value: Known) -> None:
        self._dealings += 1
        self.instance.acts = True
        old = self.variables[cell]
        now = self.variables[cell] = self._grown(self.instance, cell, old, value)
        if old is None or now is not self.types.canonical(old):
            for reader in self._readers.get(cell, ()):
                self._mark(reader)

    def effect(
        self,
        what: str,
        operands: Sequence[Known] = (),
        text: str = "",
        result: Type | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> Result:
        self._dealings += 1
        self.instance.acts = True
        return self.unspecified if result is None else Known(result)


def _is_plain(result: Result, operands: list[Known]) -> bool:
    """Whether a result's type says all about it."""
    if result is None:
        return True
    has_facts = (result.line, result.transposed, result.test) != (None, None, None) or result.ruled_out
    return not has_facts and not any(result is operand for operand in operands)
