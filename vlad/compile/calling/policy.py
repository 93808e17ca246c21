"""When to compile: the policy between tier 0 and tier 1.

In: a procedure and its argument, from outside.  Out: its answer, whoever computed it. Called by session.py in place of the
machine's own `apply`.

    evaluate   never
    compile    each call first, for the types of its operands; what cannot be compiled runs on tier 0
    auto       everything starts on tier 0. What runs longer than a moment is compiled beside it, in another thread, and
               once that is done starts again, compiled: code is pure, so nobody can tell

A call runs on one tier from its beginning to its end. What cannot be compiled as a whole is left to tier 0, the procedures that
take its time, too: to change over in the middle was tried, and people can tell. Tiers differ in the last bit of a sum, so that
answers would depend on the clock; and of a pair that machine code was handed and answers, another copy comes back, so that `eq?`
would. (Measured, too: what the examples have to leave to tier 0 took up to twice as long, for programs of tensors make their
analysis cost more than the calls did.)

An error of the program makes compiled code give up, and tier 0 runs the call again to say what it is: there is one place
that words errors. Whoever runs a call again goes through the effects that it had already without having them: what
was printed is not printed again, what was read is read from memory. So they happen once and in order.
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from vlad.compile.analysis.static_operands import form
from vlad.compile.calling.background import BESIDE
from vlad.compile.ir.refusals import MOST_VARIANTS, Failed, Mismatch, Narrow, Unavailable, Unbounded
from vlad.compile.native.interrupts import Interruptible
from vlad.control.async_exceptions import ask, ask_after, ask_no_more
from vlad.control.budget import NoTime, budget, on_behalf
from vlad.control.safe_import import package_of, whole
from vlad.control.standard_streams import say
from vlad.data.errors import LimitExceeded, VladError
from vlad.data.source import Span
from vlad.data.values import Code, Global, Value, is_procedure, look
from vlad.evaluate.errors.explain import tell
from vlad.evaluate.limits import AGAIN_SECONDS, Told, too_deep
from vlad.evaluate.overtaking import called, is_own_step
from vlad.primitives.numerals import LONG
from vlad.primitives.strings import BEYOND

Options = tuple[int, bool]  # of the C compiler: how hard it tries, and whether it may reorder sums
POLICIES = ("auto", "compile", "evaluate")
A_MOMENT = 0.05  # seconds on tier 0, before it is worth compiling
MOST_PROCEDURES = 512
MOST_MISSES = 4  # of one procedure, for want of a number
NEVER = "it never answers for arguments of these types"
LEFT_TO_TIER_0 = frozenset({BEYOND, LONG})  # errors of compiled code that say nothing of the types
MOST_NESTED = 200  # calls that Python makes on behalf of calls: each takes some of the C stack
RAISING = False  # on in the tests: a fault of the compiler itself is an error


class Switch(Told):
    """Raised in the evaluating thread when the compiled form is ready and may start instead."""


class Entry:
    """A procedure as it is called from outside: its compiled variants, and what it cost so far. `f` is kept, so that its id
    stays its own. `options`: how hard the C compiler tries, and whether it may reorder sums."""

    __slots__ = (
        "f", "options", "variants", "reason", "place", "disagrees", "seconds", "cells", "callables", "quicks", "fixed",
        "misses", "lasts",
    )  # fmt: skip

    def __init__(self, f: Value, options: Options) -> None:
        self.f = f
        self.options = options
        self.variants: list[Any] = []
        # which numbers among the operands have to be known, by the operands' form (static_operands.py)
        self.fixed: dict[Any, tuple[int, ...]] = {}
        self.reason: str | None = None  # why it is not compiled,
        self.lasts = True  # whatever it is called with,
        self.misses = 0  # or for want of a number that another call may have: how often
        self.place: Span | None = None  # and where that is
        self.disagrees = False  # did tier 0 know better?
        self.seconds = 0.0
        self.cells: set[Global] = set()
        # Python's callables, by their ids, which call machine code themselves
        self.callables: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        # what these may call now, of the variants (fast_call.py): they hold this very list
        self.quicks: list[Any] = []

    def add(self, compiled: Any) -> None:
        """One more variant."""
        self.cells.update(compiled.cells)
        self.variants.append(compiled)

    def connect(self, procedure: Any) -> None:
        """Let a callable of Python's call the variants that it may, those that there will be as well."""
        self.callables[id(procedure)] = procedure
        procedure.connect(self.quicks)

    def forgotten(self) -> None:
        """What was compiled is out of date."""
        for reference in self.callables.valuerefs():
            procedure = reference()
            if procedure is not None:
                procedure.quicks = ()
        self.callables.clear()
        self.variants.clear()
        self.quicks.clear()


class Job:
    """A call that runs on tier 0 and may be overtaken."""

    __slots__ = (
        "tiers", "entry", "operands", "known", "thread", "due", "steps", "active", "acting", "switching", "compiled",
        "budget", "nesting", "is_asked",
    )  # fmt: skip

    def __init__(
        self, tiers: Tiers, entry: Entry, operands: tuple[Value, ...], steps: float, due: float
    ) -> None:
        self.tiers = tiers
        self.entry = entry
        self.steps = steps  # at its beginning
        self.operands = operands
        self.known = len(entry.variants)  # which did not fit
        self.thread = threading.get_ident()
        self.due = due
        self.active = False  # may it be overtaken?
        self.acting = False  # is it doing something to the outside, which is not to be cut short?
        self.switching = False
        self.is_asked = False  # to switch, or only told: async_exceptions.py
        self.compiled: Any = None
        self.budget = budget()  # what is done for it counts as its own
        self.nesting: object = None

    def look(self) -> float | None:
        """It takes longer than a moment: compile it."""
        if self.compiled is None:
            with on_behalf(self.budget):
                self.compiled = self._made_meanwhile() or self.tiers.compile(self.entry, self.operands)
            if self.compiled is None:
                return None
        # again and again: what is raised while Python tidies up is lost
        return AGAIN_SECONDS if self.tiers.give(self) else A_MOMENT

    def _made_meanwhile(self) -> Any:
        """A variant that was made for an earlier call, which had ended by then, and fits."""
        fresh = self.entry.variants[self.known :]
        return next((compiled for compiled in fresh if compiled.takes(self.operands)), None)

    def begin(self) -> None:
        """From here on Switch may be raised."""
        self.nesting = self.tiers.machine.watch.nesting(self.thread)
        self.active = True

    def is_innermost(self) -> bool:
        """Does no other evaluation go on inside it, by a signal's handler, a finalizer or a Python function?"""
        return bool(self.tiers.machine.watch.nesting(self.thread) == self.nesting)

    def asked(self, frame: FrameType) -> None:
        """Of the thread that evaluates, in the frame to which it has come. Raises Switch where that cuts nothing short but the
        evaluation."""
        if not self.active or self.tiers.machine.watch.reason is not None:
            return
        if is_own_step(frame) and self.is_innermost():
            raise Switch
        waits_for = called(frame)
        if waits_for is not None:
            ask_after(waits_for)

    def end(self) -> None:
        """From here on nobody raises Switch: the answer is there."""
        while self.active:
            with contextlib.suppress(Switch):
                self.tiers.keep(self)


class Effects:
    """What the outermost call has done to the outside, and how far it has come if it runs again."""

    __slots__ = ("done", "at", "words")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.done: float = 0
        self.at = 0
        self.words: dict[int, str] = {}  # that were read, by their places among the effects

    def again(self, at: int) -> None:
        self.at = at

    def replay(self, words: dict[int, str]) -> None:
        """All effects from here on are those of a call that was made before."""
        self.done, self.at, self.words = math.inf, 0, words


class Tiers:
    def __init__(
        self, machine: Any, policy: str = "auto", optimize: int = 2, fast_math: bool = False
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"tier is one of {', '.join(POLICIES)}; not {policy}")
        self.machine = machine
        self.optimize, self.fast_math = optimize, fast_math
        self.policy = "evaluate" if machine.metered else policy
        self.is_hurried = True  # may Python's callables call machine code themselves? See `unhurried`
        self.entries: dict[Any, Entry] = {}  # by the id of a procedure, or that and options
        self.disagreements = 0  # failures of compiled code that tier 0 could not confirm
        self.closed = False
        self._lock = threading.RLock()
        self._meanings = 0  # how often a global's value changed
        self._job: Job | None = None
        self._effects = Effects()
        self._depth = 0
        self._are_effects_kept = False
        self.choose(self.policy)

    def choose(self, policy: str) -> None:
        """Change the policy, between two evaluations."""
        self.chosen = policy  # `policy` is another one where it is paused
        self._follow(policy)
        if policy != "evaluate":
            self.keep_effects()

    def keep_effects(self) -> None:
        """Know from now on what an evaluation has done to the outside, so that it can be run again without doing it."""
        if not self._are_effects_kept:
            self._are_effects_kept = True
            self.machine.write = self._effect(self.machine.write)
            self.machine.read_word = self._effect(self.machine.read_word, remembered=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, nothing is compiled, nor is what was compiled used."""
        before = self.policy
        try:
            self._follow("evaluate")
            yield
        finally:
            self._follow(before)

    def _follow(self, policy: str) -> None:
        self.policy = policy
        self._open_all()

    def _effect(self, act: Callable[..., Any], remembered: bool = False) -> Callable[..., Any]:
        effects = self._effects

        def effect(*operands: Any) -> Any:
            if effects.at < effects.done:
                effects.at += 1
                return effects.words.get(effects.at, "")
            job = self._job
            if job is not None:
                # a signal's handler, say, that is evaluated inside does not give way
                gives_way = job.is_innermost()
                with self._lock:
                    if job.switching and gives_way:
                        raise Switch
                    acting, job.acting = job.acting, True
            try:
                answer = act(*operands)
                effects.at += 1
                effects.done += 1
                if remembered:
                    effects.words[effects.at] = answer
            finally:
                if job is not None:
                    with self._lock:
                        job.acting = acting
                        switching = job.switching
            if job is not None and switching and gives_way:
                raise Switch
            return answer

        return effect

    def apply(self, f: Value, argument: Value, options: Options | None = None) -> Value:
        """As Machine.apply; with `options` by compiled code, or not at all. Raises VladError."""
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
                return self.machine.apply(f, argument)
            return self._apply(look(f), argument)
        finally:
            self._depth = depth

    def words_read(self) -> dict[int, str]:
        """What the last evaluation has read, for `replayed`."""
        return self._effects.words

    def replayed(self, f: Value, argument: Value, words: dict[int, str]) -> Value:
        """The answer of an evaluation that was made before, evaluated again without its effects. `keep_effects` was asked for."""
        self._effects.replay(words)
        self._depth += 1
        try:
            with self.paused():
                return self.machine.apply(f, argument)
        finally:
            self._depth -= 1

    def _apply(self, f: Value, argument: Value) -> Value:
        if not is_procedure(f):
            return self.machine.apply(f, argument)
        operands = operands_of(f[0], argument)
        if operands is None:
            return self.machine.apply(f, argument)
        entry = self.entry(f)
        for compiled in list(entry.variants):
            try:
                return self._run(compiled, operands, f, argument, entry)
            except Mismatch:
                continue
        if (entry.reason is not None and entry.lasts) or len(entry.variants) >= MOST_VARIANTS:
            return self.machine.apply(f, argument)
        if self.policy == "auto":
            return self._watched(entry, operands, f, argument)
        fresh = self.compile(entry, operands)
        if fresh is None:
            return self.machine.apply(f, argument)
        return self._run(fresh, operands, f, argument, entry)

    def _surely(self, f: Value, argument: Value, options: Options) -> Value:
        operands = operands_of(f[0], argument)
        if operands is None:
            return self.machine.apply(f, argument)  # which says what is wrong
        entry = self.entry(f, options)
        for compiled in list(entry.variants):
            try:
                answer = self._run(compiled, operands, f, argument, entry, surely=True)
                break
            except Mismatch:
                continue
        else:
            fresh = self._surely_compiled(entry, operands)
            answer = self._run(fresh, operands, f, argument, entry, surely=True)
        if entry.disagrees:
            raise self._refusal(entry)
        return answer

    def prepare(self, f: Value, operands: tuple[Value, ...], options: Options) -> None:
        """Compile a procedure for operands like these. Raises VladError with the reason where that cannot be."""
        entry = self.entry(f, options)
        if not any(compiled.takes(operands) for compiled in entry.variants):
            self._surely_compiled(entry, operands)

    def _surely_compiled(self, entry: Entry, operands: tuple[Value, ...]) -> Any:
        if self.policy == "evaluate":
            why = "it counts operations" if self.machine.metered else "its tier is evaluate"
            hint = 'Session(tier="auto") does'
            raise VladError("not-compiled", f"This session compiles nothing: {why}", hint=hint)
        compiled = None if entry.disagrees else self.compile(entry, operands, tell_where=True)
        if compiled is None:
            raise self._refusal(entry)
        if compiled.interface.result is None:
            entry.reason = NEVER
            entry.forgotten()
            raise self._refusal(entry)
        return compiled

    def _refusal(self, entry: Entry) -> VladError:
        return VladError(
            "not-compiled", f"{tell(entry.f[0])} cannot be compiled: {entry.reason}", entry.place
        )

    def entry(self, f: Value, options: Options | None = None) -> Entry:
        """What is known of a procedure, by itself or as it is compiled with options."""
        key = id(f) if options is None else (id(f), options)
        entry = self.entries.get(key)
        if entry is None:
            if len(self.entries) >= MOST_PROCEDURES:
                self.entries.pop(next(iter(self.entries))).forgotten()
            entry = self.entries[key] = self._new_entry(f, options)
        return entry

    def _new_entry(self, f: Value, options: Options | None = None) -> Entry:
        return Entry(f, options or (self.optimize, self.fast_math))

    def compile(self, entry: Entry, operands: tuple[Value, ...], tell_where: bool = False) -> Any:
        """A new variant (calls.Compiled) for operands like these; None where there is none, and `reason` says why (and `place`
        where, if that is asked), or where a global was redefined meanwhile."""
        try:
            whole("vlad.compile.calling.executable")  # 25 ms, only where something is worth compiling
        except ModuleNotFoundError as missing:
            entry.reason = f"the package {package_of(missing)} is not installed"
            warn_once(f"running without compiling: {entry.reason}")
            return None
        from vlad.compile.calling.executable import compile_call
        from vlad.compile.native import toolchain

        meanings, form_of = self._meanings, form(operands)
        entry.lasts = True
        entry.place = None
        try:
            compiled = compile_call(
                self.machine,
                entry.f,
                operands,
                *entry.options,
                variants=len(entry.variants),
                tell_where=tell_where,
                fixed=entry.fixed.get(form_of, ()),
            )
        except Unbounded as unbounded:
            entry.reason, entry.place = unbounded.reason, unbounded.span
            entry.misses += unbounded.for_number
            entry.lasts = not unbounded.for_number or entry.misses >= MOST_MISSES
            return None
        except Unavailable as unavailable:
            entry.reason = str(unavailable)
            if not (toolchain.ending or self.closed):
                warn_once(f"running without compiling: {unavailable}")
            return None
        except (MemoryError, NoTime):
            entry.reason = (
                "to compile it would take more than there is, or than the limits of its evaluation allow"
            )
            return None
        except Exception as error:
            if RAISING:
                raise
            entry.reason = f"the compiler is at fault: {error!r}"
            warn_once(f"{entry.reason}; please report it. The program runs without compiling")
            return None
        with self._lock:
            if meanings != self._meanings:  # it may have read what a global was before
                return None
            entry.add(compiled)
            entry.reason = None
            if form_of is not None:
                entry.fixed[form_of] = compiled.fixed
            self._open(entry)
        return compiled

    def knows(self, procedure: Any) -> bool:
        """Might there be machine code for a Python callable, or is there never any?"""
        return self.policy == "evaluate" or self._key(procedure) in self.entries

    @staticmethod
    def _key(procedure: Any) -> Any:
        key = id(procedure.value)
        return key if procedure.options is None else (key, procedure.options)

    def quicken(self, procedure: Any) -> None:
        """Let a Python callable call machine code itself, as far as that keeps the limits; it is taken back when what it relies
        on is redefined."""
        if self.chosen == "evaluate":
            procedure.quicks = []  # it need not ask again
            return
        entry = self.entries.get(self._key(procedure))
        if entry is not None:
            with self._lock:
                entry.connect(procedure)
                self._open(entry)

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        """Inside, Python's callables take the way on which limits are kept, to what is compiled there, too."""
        before = self.is_hurried
        try:
            self.is_hurried = False
            self._open_all()
            yield
        finally:
            self.is_hurried = before
            self._open_all()

    def _open_all(self) -> None:
        with self._lock:
            for entry in list(self.entries.values()):
                self._open(entry)

    def _open(self, entry: Entry) -> None:
        """Let callables, where there are any, call machine code themselves, as far as that keeps the limits."""
        variants = entry.variants if entry.callables and self.policy != "evaluate" else []
        entry.quicks[:] = [
            compiled.quick
            for compiled in variants
            if self._may_be_quick(compiled) and compiled.quick is not None
        ]

    def _may_be_quick(self, compiled: Any) -> bool:
        """Need nobody watch any limits? Of what is free, never."""
        limits = self.machine.limits
        is_watched = limits.are_watched or (limits.depth is not None and compiled.is_deep())
        return compiled.is_free or (self.is_hurried and not is_watched)

    def shown(self, f: Value, stage: str, operands: tuple[Value, ...] = ()) -> str:
        """The types of a procedure, or its C or CUDA text, for operands like these, or reals; or why there are none."""
        from vlad.compile.analysis.fixpoint import Analysis
        from vlad.compile.calling.pipeline import made
        from vlad.compile.emit.c_text import comment
        from vlad.core.types import described

        code: Code = f[0]
        operands = operands or tuple([0.5] * code.arity)
        type_of = Analysis(self.machine).argument_type
        takes = f"{code.name or 'λ'} : {' '.join([described(type_of(operand)) for operand in operands])}"
        try:
            unit = made(self.machine, code, f[1 : 1 + len(code.environment)], operands)
        except Unbounded as unbounded:
            otherwise = ", but it may be for a number that is known" if unbounded.for_number else ""
            return f"; {takes} -> not compiled: {unbounded.reason}{otherwise}"
        if stage == "c":
            return f"/* {comment(code.name)} */\n{unit.text}"
        result = "never answers" if unit.interface.result is None else described(unit.interface.result)
        return f"{takes} -> {result}"

    def redefined(self, cell: Global, primitive: bool = False) -> None:
        """A global's value changed: what was compiled on the strength of the old one is forgotten. Who used a primitive is
        not known, for it left no trace: then all is."""
        if primitive:
            self.forget()
            return
        with self._lock:
            self._meanings += 1
        for key, entry in list(self.entries.items()):
            if cell in entry.cells or entry.reason is not None:
                self.entries.pop(key).forgotten()

    def forget(self) -> None:
        """Start anew: nothing that was compiled is right any longer."""
        with self._lock:
            self._meanings += 1
        for key in list(self.entries):
            self.entries.pop(key).forgotten()

    def close(self) -> None:
        """Forget everything for good, and what the compiler's thread is at for us, too."""
        self.closed = True
        while not BESIDE.rest(self, A_MOMENT):
            from vlad.compile.native import toolchain

            thread = BESIDE.thread(self)
            if thread is not None:
                toolchain.give_up(thread)
        self.forget()

    def is_compiling_here(self) -> bool:
        """Is this the compiler's thread, at work for us?"""
        return BESIDE.thread(self) == threading.get_ident()

    def alone(self) -> None:
        """In a process that was forked: the other threads are not there. Machine code that one of them ran is forgotten."""
        self._lock = threading.RLock()
        for key, entry in list(self.entries.items()):
            if any(compiled.is_taken() for compiled in entry.variants):
                self.entries.pop(key).forgotten()

    # Running.

    def _run(
        self,
        compiled: Any,
        operands: tuple[Value, ...],
        f: Value,
        argument: Value,
        entry: Entry,
        surely: bool = False,
    ) -> Value:
        """Raises Mismatch; and an error where it is `surely` to run compiled and cannot for these operands."""

        def run() -> Value:
            if not compiled.fits():  # it may be what is never made: tier 0 knows
                return self.machine.apply(f, argument)
            try:
                with Interruptible(compiled.stop):
                    return compiled(*operands)
            except Mismatch as mismatch:  # no error: nobody needs to look where it was
                return mismatch

        begun = self._effects.at  # not 0 where Python makes the call on behalf of another
        try:
            answer = self.machine.guarded(run, stop=compiled.stop)
            if type(answer) is Mismatch:
                raise answer
            return answer
        except Failed as failed:
            self._effects.again(begun)
            answer = self.machine.apply(f, argument)
            if isinstance(failed, Narrow):  # nothing is wrong with what is compiled
                return answer
            if failed.what in LEFT_TO_TIER_0:  # for this argument only
                if surely:
                    what = f"{tell(f[0])} does not run compiled for this argument: {failed.what}"
                    raise VladError("not-compiled", what) from None
                return answer
            # tier 0 knows better: types were joined that do not belong together. Not again
            entry.reason = f"its types are not told apart: {failed.what}"
            entry.disagrees = entry.lasts = True
            entry.forgotten()
            self.disagreements += 1
            return answer

    def _watched(self, entry: Entry, operands: tuple[Value, ...], f: Value, argument: Value) -> Value:
        """On tier 0, while the compiler has an eye on it."""
        if self._job is not None:  # called from inside a call
            return self.machine.apply(f, argument)
        begun, effects = time.monotonic(), self._effects.at
        handled = sys.exception()  # by whoever evaluates: it is not on its way out
        waiting = A_MOMENT if entry.seconds <= A_MOMENT else 0.0
        job = Job(self, entry, operands, self.machine.steps[0], begun + waiting)
        try:
            try:
                self._job = job
                BESIDE.add(job)
                answer = self.machine.apply(f, argument, job)
            except LimitExceeded:
                BESIDE.abandon(job)  # it has had its share
                raise
            finally:
                job.active = False  # what is told from here on was on its way; a call is where it arrives
                while self._job is job:
                    try:
                        self._finish(job)
                    except Told:
                        continue
                entry.seconds += time.monotonic() - begun
            self.machine.watch.heed()
            return answer
        except Switch as switch:
            _give_way(switch, handled)
            self.machine.watch.heed()
            assert job.compiled is not None
            self._effects.again(effects)
            self.machine.steps[0] = job.steps
            if job.compiled not in entry.variants:  # what it relies on was redefined meanwhile
                return self._apply(f, argument)
            try:
                return self._run(job.compiled, operands, f, argument, entry)
            except Mismatch:  # it is at work already, for a call around this one
                return self.machine.apply(f, argument)

    def _finish(self, job: Job) -> None:
        """Nobody looks after a job any longer."""
        self.keep(job)
        BESIDE.remove(job)
        self._job = None

    def keep(self, job: Job) -> None:
        """It is too late to take over."""
        with self._lock:
            if job.switching:
                if job.is_asked:
                    ask_no_more(job.asked)
                else:
                    self.machine.watch.take_back(job.thread)
            job.active = False

    # In the compiler's thread.

    def give(self, job: Job) -> bool:
        """What was compiled takes over from tier 0; False where that has not begun."""
        with self._lock:
            if job.active:
                job.switching, job.is_asked = True, job.thread == threading.main_thread().ident
                if job.is_asked:
                    ask(job.asked)
                elif not job.acting:  # else it gives way itself, when it is done
                    self.machine.watch.tell(job.thread, Switch)
            return job.active


def _give_way(switch: Switch, handled: BaseException | None = None) -> None:
    """Where an interrupt or a limit was on its way out already, it goes on."""
    context: BaseException | None = switch.__context__
    while context is not None and context is not handled:
        if isinstance(context, KeyboardInterrupt | LimitExceeded):
            raise context
        context = context.__context__


def operands_of(code: Code, argument: Value) -> tuple[Value, ...] | None:
    """An argument taken apart for as many parameters; None where it does not fit."""
    operands = []
    for _ in range(code.arity - 1):
        argument = look(argument)
        if type(argument) is not tuple or len(argument) != 2:
            return None
        operands.append(argument[0])
        argument = argument[1]
    return (*operands, argument)


_warned: set[str] = set()


def warn_once(message: str) -> None:
    """One line on standard error; the same one only once."""
    if message not in _warned:
        _warned.add(message)
        say(f"vlad: {message}")
