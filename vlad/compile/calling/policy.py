"""When to compile: the policy between tier 0 and tier 1.

In: a procedure and its argument, from outside.  Out: its result, from either tier. Called by session/ in place of the machine's
own `apply`.

    evaluate   never
    compile    each call first, for the types of its operands; a call that cannot be compiled runs on tier 0, and `notify` is
               called with the place and the reason, once for each (notices.py). Where the C compiler would take long, the call
               runs code that is not optimised, until other code is made beside it (finishing.py); with the same results
    auto       a call starts on tier 0. Once the calls of its procedure have taken A_MOMENT in all, it is compiled meanwhile, in
               another process where that is possible, and restarts, compiled, as soon as that is done: code is pure, so the
               result is the same. If it ends before, it is compiled for later calls, provided that its procedure was that hot
               when it began: the call that comes to A_MOMENT may be the last one. If an earlier run of the program was
               faster compiled, the call starts compiled (costs.py)

A call runs on one tier from beginning to end. A program that cannot be compiled as a whole stays on tier 0, including the
procedures that take most of its time. Changing tiers within a call was tried, and is observable: sums differ in the last bit, so
results would depend on timing; and a pair that passes through machine code is copied, so `eq?` would depend on
it, too. (It was not faster either: the examples that stay on tier 0 took up to twice as long, because analysing a program of
tensors cost more than the calls.)

Its bases, each of the next: notifier.py has the notices of what runs on tier 0, entry_table.py the procedures and their variants,
variant_compiler.py makes variants, variant_runner.py runs them. preemption.py implements the take-over by compiled code;
effects.py makes effects happen once although a call runs twice.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from vlad.compile.calling.background import BACKGROUND
from vlad.compile.calling.notifier import nothing_compiled
from vlad.compile.calling.preemption import Job, Switch, interrupt_before
from vlad.compile.calling.variant_compiler import COMPILER, COMPILER_ADDRESSES
from vlad.compile.calling.variant_runner import VariantRunner
from vlad.compile.calling.variants import Entry, Options
from vlad.compile.ir.refusals import MOST_VARIANTS, Mismatch
from vlad.control.budget import has_limited_addresses
from vlad.control.safe_import import import_safely
from vlad.core.nodes import Apply, Binding, Body, Constant, GlobalReference, Variable
from vlad.data.errors import LimitExceeded, VladError
from vlad.data.values import Code, Primitive, Reference, Value, is_procedure, look
from vlad.evaluate.limits import AsyncException, too_deep

if TYPE_CHECKING:
    from vlad.compile.calling.costs import Cost, Costs
    from vlad.evaluate.machine import Machine

POLICIES = ("auto", "compile", "evaluate")
# Seconds that calls of a procedure take on tier 0 before it is compiled. To begin costs 20 ms, and nothing is compiled within 200
A_MOMENT = 0.1
END_SECONDS = 0.1  # for the end of work in the compiler's thread, before it is asked for again
LONGER = 1.5  # times as long as in an earlier run, for which compiling was in vain
LEAST_SECONDS = 0.02  # of a call whose cost is remembered
LOADING_SECONDS = 0.08  # to import what finds and runs compiled code
MOST_TEXTS = 16
STRAIGHT = (Variable, Constant, GlobalReference)
NEVER = "it never returns for arguments of these types"
FEWER_KINDS = "each number of axes, and each order of derivatives, is a kind; calls with these arguments remain compiled"
MOST_NESTED = 200  # calls that Python makes on behalf of calls: each takes some of the C stack


class Tiers(VariantRunner):
    def __init__(
        self, machine: Machine, policy: str = "auto", optimize: int = 2, fast_math: bool = False
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"tier is one of {', '.join(POLICIES)}; not {policy}")
        super().__init__(machine, optimize, fast_math)
        self.policy = "evaluate" if machine.metered else policy
        self._is_overruled = machine.metered and policy == "compile"  # and is notice due of that?
        self.job: Job | None = None  # the outermost call, while it runs on tier 0 and may be taken over
        self.waiting: dict[int, Any] = {}  # jobs for later calls (background.py)
        self._costs: Costs | None = None
        self._texts: list[str] = []  # that were read before it was made
        self._depth = 0
        self._are_effects_kept = False
        self.choose(self.policy)

    @property
    def costs(self) -> Costs:
        """The costs of the session's program. Made on demand: most programs are short."""
        if self._costs is None:
            costs: Costs = import_safely("vlad.compile.calling.costs").Costs(self.machine)
            for text in self._texts:
                costs.reads(text)
            self._costs, self._texts = costs, []
        return self._costs

    def reads(self, text: str) -> None:
        """Note a text that the session's program consists of."""
        if self._costs is not None or len(self._texts) == MOST_TEXTS:
            self.costs.reads(text)
        else:
            self._texts.append(text)

    def choose(self, policy: str) -> None:
        """Change the policy, between two evaluations."""
        self.chosen = policy  # `policy` differs while it is paused
        self._follow(policy)
        if policy != "auto":
            self.waiting.clear()
        if policy != "evaluate":
            self.keep_effects()

    def keep_effects(self) -> None:
        """Record the effects of evaluations from now on, so that they can be repeated without effects."""
        if not self._are_effects_kept:
            self._are_effects_kept = True
            self.machine.write = self._effects.once(self.machine.write, self)
            self.machine.read_word = self._effects.once(self.machine.read_word, self, remembered=True)
            self.machine.will_change = self._will_change

    def _will_change(self) -> None:
        if self.job is not None:
            self.job.will_change()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A context in which nothing is compiled, and no compiled code is used."""
        before = self.policy
        try:
            self._follow("evaluate")
            yield
        finally:
            self._follow(before)

    def _follow(self, policy: str) -> None:
        self.policy = policy
        self._open_all()

    def apply(self, f: Value, argument: Value, options: Options | None = None, once: bool = False) -> Value:
        """As Machine.apply; with `options` by compiled code only. `once`: it is not called again. Raises VladError."""
        depth = self._depth
        if depth == 0:
            if self._effects.done:
                self._effects.begin()
        elif depth >= MOST_NESTED:
            raise too_deep()
        self._depth = depth + 1
        try:
            if options is not None:
                return self._surely(f, argument, options)
            if self.policy == "evaluate":
                if self._is_overruled:
                    self._is_overruled = False
                    self.give_notice(nothing_compiled("operations are counted"))
                return self.machine.apply(f, argument)
            return self._apply(look(f), argument, once)
        finally:
            self._depth = depth

    def words_read(self) -> dict[int, str]:
        """The input that the last evaluation has read, for `replayed`."""
        return self._effects.words

    def replayed(self, f: Value, argument: Value, words: dict[int, str]) -> Value:
        """The result of an earlier evaluation, repeated without its effects. Requires `keep_effects`."""
        self._effects.replay(words)
        self._depth += 1
        try:
            with self.paused():
                return self.machine.apply(f, argument)
        finally:
            self._depth -= 1

    def _apply(self, f: Value, argument: Value, once: bool = False) -> Value:
        if not is_procedure(f):
            return self.machine.apply(f, argument)
        operands = operands_of(f[0], argument)
        if operands is None or (once and is_constant(self.machine.core_of(f[0]).body)):
            return self.machine.apply(f, argument)
        entry = self.entry(f)
        for compiled in entry.in_turn():
            with suppress(Mismatch):
                result = self._run(compiled, operands, f, argument, entry, once=once)
                entry.latest = compiled
                return result
        is_refused = entry.reason is not None and entry.lasts
        if self.policy == "auto":
            if is_refused or len(entry.variants) >= MOST_VARIANTS:
                return self.machine.apply(f, argument)
            return self._faster(entry, operands, f, argument, once)
        if not is_refused and len(entry.variants) >= MOST_VARIANTS:
            reason = f"there is code for {MOST_VARIANTS} other kinds of arguments, the most of one procedure"
            self._notice_call(entry, reason, FEWER_KINDS)
            return self.machine.apply(f, argument)
        fresh = None if is_refused else self.compile(entry, operands)
        if fresh is None:
            if entry.refusal is not None:
                self._notice_refusal(entry, entry.refusal)
            return self.machine.apply(f, argument)
        self.costs.update(f, is_kept=True, is_refused=False)  # for runs on `auto`
        return self._run(fresh, operands, f, argument, entry)

    def _faster(
        self, entry: Entry, operands: tuple[Value, ...], f: Value, argument: Value, once: bool
    ) -> Value:
        """On the tier that took less time in an earlier run; if there was none, on tier 0, while the compiler may take over."""
        if self.job is not None:  # called from inside a call
            return self.machine.apply(f, argument)
        if once and is_straight(self.machine.core_of(f[0]).body, self.machine.table):
            return self.machine.apply(f, argument)
        cost = self.costs.of(f) if entry.seconds == 0 else None
        if cost is not None and cost.pays and self._pays_to_load():
            import_safely(COMPILER, COMPILER_ADDRESSES)  # once, and not by the call
            begun = time.monotonic()
            kept = self.compile(entry, operands, only_kept=True)
            if kept is not None:
                result = self._run(kept, operands, f, argument, entry, once=once)
                self.costs.note(f, compiled=time.monotonic() - begun)
                return result
            self.costs.note(f, compiled=None, is_kept=False)  # the cache has lost it
        if has_limited_addresses():
            return self._timed(entry, operands, f, argument)
        return self._watched(entry, operands, f, argument, once, cost)

    def _pays_to_load(self) -> bool:
        """Whether the program's calls save the time that the first compiled one takes to import the compiler."""
        return COMPILER in sys.modules or self.costs.saving > LOADING_SECONDS

    def _timed(self, entry: Entry, operands: tuple[Value, ...], f: Value, argument: Value) -> Value:
        """On tier 0, or compiled before the call if earlier calls took long: never compiled beside an evaluation, which may leave
        the compiler without memory. (A thread of CPython that has none may repeat one step for ever, and keep the interpreter's
        lock.)
        """
        if entry.seconds >= A_MOMENT:
            compiled = self.compile(entry, operands)
            if compiled is not None:
                return self._run(compiled, operands, f, argument, entry)
        begun = time.monotonic()
        try:
            return self.machine.apply(f, argument)
        finally:
            entry.seconds += time.monotonic() - begun

    def _surely(self, f: Value, argument: Value, options: Options) -> Value:
        operands = operands_of(f[0], argument)
        if operands is None:
            return self.machine.apply(f, argument)  # which raises the error
        entry = self.entry(f, options)
        for compiled in entry.in_turn():
            with suppress(Mismatch):
                result = self._run(compiled, operands, f, argument, entry, surely=True)
                entry.latest = compiled
                break
        else:
            fresh = self._surely_compiled(entry, operands)
            result = self._run(fresh, operands, f, argument, entry, surely=True)
        if entry.disagrees:
            raise self._refusal(entry)
        return result

    def prepare(self, f: Value, operands: tuple[Value, ...], options: Options) -> None:
        """Compile a procedure for operands like these. Raises VladError with the reason if that is impossible."""
        entry = self.entry(f, options)
        if not any(compiled.takes(operands) for compiled in entry.variants):
            self._surely_compiled(entry, operands, early=False)

    def _surely_compiled(self, entry: Entry, operands: tuple[Value, ...], early: bool = True) -> Any:
        if self.policy == "evaluate":
            why = "it counts operations" if self.machine.metered else "its tier is evaluate"
            hint = 'Session(tier="auto") does'
            raise VladError("not-compiled", f"This session compiles nothing: {why}", hint=hint)
        compiled = None if entry.disagrees else self.compile(entry, operands, early=early)
        if compiled is None:
            raise self._refusal(entry)
        if compiled.interface.result is None:
            entry.reason = NEVER
            entry.forgotten()
            raise self._refusal(entry, "a call with them raises the error, and `vlad.check` finds it")
        return compiled

    def shown(self, f: Value, stage: str, operands: tuple[Value, ...] = (), after: str | None = None) -> str:
        """As stages.shown."""
        from vlad.compile.calling import stages

        return stages.shown(self.machine, f, stage, operands, after)

    def close(self) -> None:
        """Discard everything for good, including work in the compiler's thread."""
        self.closed = True
        BACKGROUND.cancel(self)
        while not BACKGROUND.wait_until_idle(self, END_SECONDS):
            from vlad.compile.native import toolchain

            thread = BACKGROUND.thread_compiling_for(self)
            if thread is not None:
                toolchain.give_up(thread)
                if "vlad.compile.calling.compiling_process" in sys.modules:
                    from vlad.compile.calling.compiling_process import PROCESS

                    PROCESS.end()
            BACKGROUND.cancel(self)
        self.forget()

    def is_compiling_here(self) -> bool:
        """Whether this is the compiler's thread, working for this object."""
        return BACKGROUND.thread_compiling_for(self) == threading.get_ident()

    def _watched(
        self,
        entry: Entry,
        operands: tuple[Value, ...],
        f: Value,
        argument: Value,
        once: bool,
        cost: Cost | None,
    ) -> Value:
        """On tier 0, while the compiler may take over. `cost`: in an earlier run."""
        begun, effects = time.monotonic(), self._effects.at
        handled = sys.exception()  # the exception that the caller is handling, which does not propagate
        worth = 0.0
        if cost is not None:
            worth = cost.evaluated
            if cost.is_wasted:
                entry.patience = LONGER * worth
            elif self.costs.saving >= A_MOMENT:  # all its calls together are as long
                entry.patience = 0.0
        waiting = max(0.0, (A_MOMENT if entry.patience is None else entry.patience) - entry.seconds)
        job = Job(self, entry, operands, self.machine.steps[0], begun + waiting, once, worth, begun)
        is_for_later = False
        try:
            try:
                self.job = job
                self.machine.kept_until = next(Reference.births)
                BACKGROUND.add(job)
                result = self.machine.apply(f, argument, job)
                is_for_later = not once and waiting == 0.0
            except LimitExceeded:
                BACKGROUND.abandon(job)  # its time is used up
                raise
            finally:
                job.active = (
                    False  # a Switch that comes from here on was on its way; it is raised in `_finish`
                )
                late: KeyboardInterrupt | None = None
                while self.job is job:
                    try:
                        self._finish(job, is_for_later)
                    except AsyncException:
                        continue
                    except KeyboardInterrupt as interrupt:
                        late = interrupt
                if late is not None:
                    raise late
                entry.seconds += time.monotonic() - begun
            self.machine.watch.raise_if_interrupted()
            if time.monotonic() - begun >= LEAST_SECONDS:
                self._note_evaluated(entry, time.monotonic() - begun)
            return result
        except Switch as switch:
            sooner = interrupt_before(switch, handled)
        # behind the handler, so that no error in what follows has Switch as its context
        if sooner is not None:
            raise sooner
        self.machine.watch.raise_if_interrupted()
        assert job.compiled is not None
        self._effects.again(effects)
        self.machine.steps[0] = job.steps
        if job.compiled not in entry.variants:  # a global it relies on was redefined meanwhile
            return self._apply(f, argument, once)
        switched = time.monotonic()
        is_running = False  # already, for an enclosing call
        try:
            result = self._run(job.compiled, operands, f, argument, entry, once=once)
        except Mismatch:
            is_running = True
        if is_running:
            return self.machine.apply(f, argument)
        known = 0.0 if cost is None else cost.evaluated
        self.costs.note(
            f,
            evaluated=max(known, switched - begun),
            compiled=time.monotonic() - switched,
            is_kept=True,
            is_refused=False,
        )
        return result

    def _note_evaluated(self, entry: Entry, seconds: float) -> None:
        """Note what a call took on tier 0. Whether it can be compiled is known from an earlier run, if this one did not try."""
        found: dict[str, Any] = {"evaluated": seconds}
        if entry.variants:
            found |= {"is_kept": True, "is_refused": False}
        elif entry.reason is not None:
            found |= {"is_kept": False, "is_refused": not entry.lacks_room}
        self.costs.note(entry.f, **found)

    def _finish(self, job: Job, is_for_later: bool) -> None:
        """Release a job, or let it wait for later calls."""
        job.withdraw()
        if is_for_later and job.compiled is None:
            job.entry.last = time.monotonic()
            job.is_for_later = True
            BACKGROUND.keep(job)
        BACKGROUND.remove(job)
        self.machine.kept_until = -math.inf
        self.job = None


def is_straight(body: Body, table: Mapping[str, Primitive]) -> bool:
    """Whether a body only applies primitives of the language, so that it neither loops nor takes long enough to be compiled."""
    for binding in body.bindings:
        rhs = binding.rhs if type(binding) is Binding else None
        is_known = type(rhs) is Apply and table.get(rhs.primitive.name) is rhs.primitive
        if not is_known and type(rhs) not in STRAIGHT:
            return False
    return type(body.result) in STRAIGHT


def is_constant(body: Body) -> bool:
    """Whether a body returns data of the program's text, which may be large, or the value of a name: there is nothing to
    compute."""
    return not body.bindings and type(body.result) in STRAIGHT


def operands_of(code: Code, argument: Value) -> tuple[Value, ...] | None:
    """An argument taken apart for the parameters; None if it does not match."""
    operands = []
    for _ in range(code.arity - 1):
        argument = look(argument)
        if type(argument) is not tuple or len(argument) != 2:
            return None
        operands.append(argument[0])
        argument = argument[1]
    return (*operands, argument)
