"""When to compile: the policy between tier 0 and tier 1.

In: a procedure and its argument, from outside.  Out: its result, from either tier. Called by session/ in place of the machine's
own `apply`.

    evaluate   never
    compile    each call first, for the types of its operands; a call that cannot be compiled runs on tier 0, and `notify` is
               called with the place and the reason, once for each (notices.py). Where the C compiler would take long, the call
               runs code that is not optimised, until other code is made beside it (finishing.py); with the same results
    auto       a call starts on tier 0. If it runs longer than A_MOMENT, it is compiled meanwhile, in another process where
               that is possible, and restarts, compiled, as soon as that is done: code is pure, so the result is the same.
               If an earlier run of the program was faster compiled, the call starts compiled (costs.py)

A call runs on one tier from beginning to end. A program that cannot be compiled as a whole stays on tier 0, including the
procedures that take most of its time. Changing tiers within a call was tried, and is observable: sums differ in the last bit, so
results would depend on timing; and a pair that passes through machine code is copied, so `eq?` would depend on
it, too. (It was not faster either: the examples that stay on tier 0 took up to twice as long, because analysing a program of
tensors cost more than the calls.)

When compiled code meets an error of the program, it stops, and tier 0 runs the call again to explain the error: messages are
worded in one place. preemption.py implements the take-over by compiled code; effects.py makes effects happen once
although a call runs twice.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from vlad.compile.analysis.static_operands import MOST_WRITTEN, form
from vlad.compile.analysis.trees import is_tree
from vlad.compile.calling.background import BACKGROUND, Superseded
from vlad.compile.calling.effects import Effects
from vlad.compile.calling.preemption import Job, Switch, prefer_interrupt
from vlad.compile.calling.variants import Entry, Options
from vlad.compile.ir.refusals import (
    MOST_VARIANTS,
    Failed,
    Mismatch,
    Narrow,
    NoCompiler,
    NotYet,
    Rejected,
    Replaced,
    TooNested,
    Unavailable,
    Unbounded,
    Unsupported,
)
from vlad.control import debug
from vlad.control.budget import NoTime, budget, has_limited_addresses
from vlad.control.native_interrupts import Interruptible
from vlad.control.safe_import import import_safely, package_of
from vlad.control.standard_streams import write_message
from vlad.core.nodes import Apply, Binding, Body, Constant, GlobalReference, Variable
from vlad.data.errors import LimitExceeded, Notice, VladError, WrongOption
from vlad.data.source import in_library
from vlad.data.values import Code, Global, Primitive, Value, is_procedure, list_of, look
from vlad.evaluate.errors.explain import displayed_name
from vlad.evaluate.limits import AsyncException, too_deep

if TYPE_CHECKING:
    from vlad.compile.calling.costs import Cost, Costs
    from vlad.evaluate.machine import Machine

POLICIES = ("auto", "compile", "evaluate")
A_MOMENT = 0.1  # seconds on tier 0, before a call is compiled. To begin costs 20 ms, and nothing is compiled within 200
MOST_PROCEDURES = 512
MOST_UNSIZED = 3  # calls of a procedure for which code for all lengths was sought in vain
MOST_UNSUPPORTED = 8  # calls that machine code of a variant begins and cannot do
MOST_MISSES = 4  # of one procedure, because a number is unknown
LONGER = 1.5  # times as long as in an earlier run, for which compiling was in vain
LEAST_SECONDS = 0.1  # of a call whose cost is remembered
MOST_TEXTS = 16
STRAIGHT = (Variable, Constant, GlobalReference)
NEVER = "it never returns for arguments of these types"
FEWER_KINDS = "each number of axes, and each order of derivatives, is a kind; calls with these arguments remain compiled"
ROOM = "a larger limit of memory, or smaller tensors, would do"
ADDRESSES = "the limit of the process's address space (ulimit -v) is what it lacks"
DISTINGUISH = "a procedure for each kind of value distinguishes them"
COMPILER_ADDRESSES = 96 << 20  # bytes that importing the compiler takes
MOST_NESTED = 200  # calls that Python makes on behalf of calls: each takes some of the C stack


class Tiers:
    def __init__(
        self, machine: Machine, policy: str = "auto", optimize: int = 2, fast_math: bool = False
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"tier is one of {', '.join(POLICIES)}; not {policy}")
        self.machine = machine
        self.optimize, self.fast_math = optimize, fast_math
        self.policy = "evaluate" if machine.metered else policy
        self._is_overruled = machine.metered and policy == "compile"  # and is notice due of that?
        self.is_hurried = True  # may Python's callables call machine code directly? See `unhurried`
        self.entries: dict[Any, Entry] = {}  # by the id of a procedure, or that and options
        self.disagreements = 0  # failures of compiled code that tier 0 did not confirm
        self.closed = False
        self.lock = threading.RLock()  # protects entries and `job`, in both threads
        self._meanings = 0  # number of changes of globals
        self.job: Job | None = None  # the outermost call, while it runs on tier 0 and may be taken over
        # the text of a value of the session, for another process; tensors with more entries are blank
        self.write_value: Callable[[Value, float], str] | None = None
        self._costs: Costs | None = None
        self._texts: list[str] = []  # that were read before it was made
        self._effects = Effects()
        self._depth = 0
        self._are_effects_kept = False
        # called with a notice of what runs on tier 0 although it was to be compiled, once for each place and reason
        self.notify: Callable[[Notice], object] = _warn
        self._noticed: set[str] = set()
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
        if policy != "evaluate":
            self.keep_effects()

    def keep_effects(self) -> None:
        """Record the effects of evaluations from now on, so that they can be repeated without effects."""
        if not self._are_effects_kept:
            self._are_effects_kept = True
            self.machine.write = self._effects.once(self.machine.write, self)
            self.machine.read_word = self._effects.once(self.machine.read_word, self, remembered=True)

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
        if operands is None:
            return self.machine.apply(f, argument)
        entry = self.entry(f)
        for compiled in list(entry.variants):
            try:
                return self._run(compiled, operands, f, argument, entry)
            except Mismatch:
                continue
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
        if cost is not None and cost.pays:
            begun = time.monotonic()
            kept = self.compile(entry, operands, only_kept=True)
            if kept is not None:
                result = self._run(kept, operands, f, argument, entry)
                self.costs.note(f, compiled=time.monotonic() - begun)
                return result
        if has_limited_addresses():
            return self._timed(entry, operands, f, argument)
        return self._watched(entry, operands, f, argument, once, cost)

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
        for compiled in list(entry.variants):
            try:
                result = self._run(compiled, operands, f, argument, entry, surely=True)
                break
            except Mismatch:
                continue
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
            raise self._refusal(entry)
        return compiled

    def _refusal(self, entry: Entry) -> VladError:
        what = f"{displayed_name(entry.f[0])} cannot be compiled: {entry.reason}"
        hint = None if entry.refusal is None else entry.refusal.hint
        return VladError("not-compiled", what, entry.place, hint=hint)

    def _notice_refusal(self, entry: Entry, refusal: Unbounded) -> None:
        """Give notice that calls run on tier 0 for a reason that holds for all of a procedure."""
        from vlad.compile.calling.notices import notice_of  # only where something is not compiled

        self.give_notice(notice_of(refusal, entry.f[0]))

    def _notice_call(self, entry: Entry, reason: str, hint: str | None = None, surely: bool = False) -> None:
        """Give notice that this call runs on tier 0, where calls are to run compiled."""
        if surely or self.policy == "compile":
            from vlad.compile.calling.notices import notice_of_call

            self.give_notice(notice_of_call(entry.f[0], reason, hint))

    def give_notice(self, notice: Notice) -> None:
        """Give notice of something on tier 0, once."""
        text = str(notice)
        if text not in self._noticed:
            self._noticed.add(text)
            self.notify(notice)

    def entry(self, f: Value, options: Options | None = None) -> Entry:
        """The entry of a procedure, by itself or compiled with options."""
        key = id(f) if options is None else (id(f), options)
        entry = self.entries.get(key)
        if entry is None:
            if len(self.entries) >= MOST_PROCEDURES:
                self._remove(*next(iter(self.entries.items())))
            entry = self.entries[key] = self._new_entry(f, options)
        return entry

    def _new_entry(self, f: Value, options: Options | None = None) -> Entry:
        return Entry(f, options or (self.optimize, self.fast_math))

    def compile(
        self,
        entry: Entry,
        operands: tuple[Value, ...],
        apart: bool = False,
        only_kept: bool = False,
        early: bool = True,
    ) -> Any:
        """A new variant (executable.Compiled) for operands like these; None if it is impossible, with its `reason`, or if
        a global was redefined meanwhile. `apart`: in another process, if possible, beside an evaluation; `only_kept`: from the
        cache, or not at all; `early`: a call waits for it, unless `apart`, so that it may be replaced by better code.
        """
        # beside evaluations nothing is compiled where addresses are limited, and a call on tier 0 has a result in the end
        early = early and not (apart or only_kept or has_limited_addresses())
        with self.lock:  # not in the middle of `redefine`
            meanings = self._meanings
        form_of = form(operands)
        self._note_trees(entry, operands)
        entry.lasts = True
        entry.place = entry.refusal = None
        entry.lacks_room = False
        optimize, fast_math = entry.options
        options = {
            "optimize": optimize,
            "fast_math": fast_math,
            "early": early,
            "variants": len(entry.variants),
            "fixed": entry.fixed.get(form_of, ()),
            "zeros_distinct": entry.zeros_distinct,
            "trees": tuple(entry.trees),
        }
        try:
            compiled = self._of_all_lengths(entry, operands, options, apart, only_kept)
            if compiled is None:
                compiled = self._compiled(entry.f, operands, options, apart, only_kept)
        except Unbounded as unbounded:
            entry.reason, entry.place, entry.refusal = unbounded.reason, unbounded.span, unbounded.kept()
            entry.misses += unbounded.for_number
            entry.lasts = not unbounded.for_number or entry.misses >= MOST_MISSES
            return None
        except Superseded:
            return None
        except ModuleNotFoundError as missing:
            if missing.name is not None and missing.name.startswith("vlad"):
                raise
            package = package_of(missing)
            entry.reason = f"the package {package} is not installed"
            self._nothing_compiled(entry.reason, f"`pip install {package}`")
            return None
        except Unavailable as unavailable:
            entry.reason = str(unavailable)
            from vlad.compile.native import toolchain

            if not (toolchain.ending or self.closed):
                if isinstance(unavailable, NoCompiler) or self.policy != "compile":
                    self._nothing_compiled(entry.reason, unavailable.hint)
                else:
                    entry.refusal = Unbounded(entry.reason, hint=unavailable.hint)
            return None
        except (MemoryError, NoTime):
            entry.reason = (
                "to compile it would take more than there is, or than the limits of its evaluation allow"
            )
            entry.refusal = Unbounded(entry.reason, hint="larger limits of time and memory would do")
            entry.lacks_room = True
            return None
        except Exception as error:
            if debug.is_on(debug.TRACEBACKS):
                raise
            entry.reason = f"the compiler is at fault: {error!r}"
            entry.refusal = Unbounded(entry.reason, hint="please report it, with what VLAD_DEBUG=1 prints")
            if self.policy != "compile":
                warn_once(f"{entry.reason}; please report it. The program runs without compiling")
            return None
        if compiled is None:
            return None
        with self.lock:
            if meanings != self._meanings:  # it may have read the previous value of a global
                return None
            entry.add(compiled)
            entry.reason = None
            if form_of is not None:
                entry.fixed[form_of] = compiled.fixed
            self._open(entry)
        later, compiled.later = compiled.later, None
        if later is not None:
            from vlad.compile.calling.finishing import Finishing  # only where the C compiler takes long

            BACKGROUND.add(Finishing(self, entry, compiled, later))
        return compiled

    def replace(self, entry: Entry, quick: Any, better: Any) -> None:
        """Use better code from the next call on, and at once in a call in progress, unless the old code is out of date."""
        with self.lock:
            if quick not in entry.variants:
                return
            entry.variants = [better if one is quick else one for one in entry.variants]
            quick.replacement = better
            self._open(entry)
        if quick.stop is not None:
            quick.stop()

    def stays_quick(self, unavailable: Unavailable) -> None:
        """Give notice, once, that code is not optimised."""
        from vlad.compile.native import toolchain

        if not (toolchain.ending or self.closed):
            warn_once(f"running code that is not optimised: {unavailable}")

    def _nothing_compiled(self, reason: str, hint: str) -> None:
        """Give notice that there is no compiler."""
        if self.policy == "compile":
            self.give_notice(nothing_compiled(reason, hint))
        else:
            warn_once(f"running without compiling: {reason}")

    def _of_all_lengths(
        self,
        entry: Entry,
        operands: tuple[Value, ...],
        options: dict[str, Any],
        apart: bool,
        only_kept: bool,
    ) -> Any:
        """A variant for all lengths that differ from those of other variants; None if there is none."""
        earlier = tuple([one.shapes for one in entry.variants])
        if entry.unsized == MOST_UNSIZED or not earlier or self.machine.device == "cuda":
            return None
        for shapes in dict.fromkeys([earlier, earlier[-1:]]):  # the last variant may be more similar than all
            with suppress(Unbounded, Rejected):
                found = self._compiled(entry.f, operands, {**options, "earlier": shapes}, apart, only_kept)
                if found is not None and found.takes(operands):
                    return found
        entry.unsized += not only_kept
        return None

    def _compiled(
        self, f: Value, operands: tuple[Value, ...], options: dict[str, Any], apart: bool, only_kept: bool
    ) -> Any:
        """What `compile_call` returns; None if it is to be in the cache and is not."""
        import_safely(
            "vlad.compile.calling.executable", COMPILER_ADDRESSES
        )  # 25 ms, only when something is compiled
        entries = self._compiled_apart(f, operands, options) if apart else {}
        from vlad.compile.calling.executable import NotKept, compile_call
        from vlad.compile.native import cache

        with suppress(NotKept), cache.carried(entries) if entries else nullcontext():
            return compile_call(self.machine, f, operands, **options, only_kept=only_kept)
        return None

    def _compiled_apart(
        self, f: Value, operands: tuple[Value, ...], options: dict[str, Any]
    ) -> dict[str, bytes]:
        """The entries of the cache that another process makes for a call; none if it has to be compiled in this one. Raises what
        `compile_call` raises.
        """
        machine, limit = self.machine, budget()
        # a GPU's programs are not in the cache, and the memory of another process is not that of the evaluation
        if self.write_value is None or machine.device != "cpu" or limit.most < math.inf:
            return {}
        if debug.is_on(debug.TIMINGS) or debug.is_on(debug.TEXTS):  # its passes are to be seen
            return {}
        from vlad.compile.calling.compiling_process import PROCESS

        try:
            text = self.write_value(list_of([f, machine.arguments, *operands]), MOST_WRITTEN)
        except VladError:  # what exists in this process only
            return {}
        seconds = limit.end - time.monotonic()
        reply = PROCESS.compiled(text, machine.counting, seconds, options, BACKGROUND.expect_needed)
        if reply is None:
            return {}
        if reply.is_out_of_room:
            raise NoTime
        if reply.entries:  # they have the reason, too, if it was refused
            return reply.entries
        if reply.unavailable is not None:
            raise Unavailable(reply.unavailable)
        if reply.unbounded is not None:
            raise Unbounded(*reply.unbounded)
        return reply.entries

    @staticmethod
    def _note_trees(entry: Entry, operands: tuple[Value, ...]) -> None:
        """Note the operands that are trees, if no variant takes their shapes."""
        variants = list(entry.variants)
        for index, operand in enumerate(operands if variants else ()):
            if not any(one.takes_one(index, operand) for one in variants) and is_tree(operand):
                entry.trees.add(index)

    def has(self, procedure: Any) -> bool:
        """Whether there may be machine code for a Python callable, now or later."""
        return self.policy == "evaluate" or self._key(procedure) in self.entries

    @staticmethod
    def _key(procedure: Any) -> Any:
        key = id(procedure.value)
        return key if procedure.options is None else (key, procedure.options)

    def quicken(self, procedure: Any) -> None:
        """Let a Python callable call machine code directly, as far as that keeps the limits, until a global it relies
        on is redefined.
        """
        if self.chosen == "evaluate":
            procedure.quicks = []  # it need not try again
            return
        entry = self.entries.get(self._key(procedure))
        if entry is not None:
            with self.lock:
                entry.connect(procedure)
                self._open(entry)

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        """A context in which Python's callables take the general path, which enforces limits, for newly compiled code, too."""
        before = self.is_hurried
        try:
            self.is_hurried = False
            self._open_all()
            yield
        finally:
            self.is_hurried = before
            self._open_all()

    def _open_all(self) -> None:
        with self.lock:
            for entry in list(self.entries.values()):
                self._open(entry)

    def _open(self, entry: Entry) -> None:
        """Let existing callables call machine code directly, as far as that keeps the limits."""
        variants = entry.variants if entry.callables and self.policy != "evaluate" else []
        entry.quicks[:] = [
            compiled.quick
            for compiled in variants
            if self._may_be_quick(compiled) and compiled.quick is not None
        ]

    def _may_be_quick(self, compiled: Any) -> bool:
        """Whether a direct call keeps the limits: always for code without loops and stack, otherwise if no limits are set."""
        limits = self.machine.limits
        is_watched = limits.are_watched or (limits.depth is not None and compiled.is_deep())
        return compiled.is_free or (self.is_hurried and not is_watched)

    def shown(self, f: Value, stage: str, operands: tuple[Value, ...] = (), after: str | None = None) -> str:
        """The types of a procedure, its first-order code, its loops over tensors, or its C or CUDA text, for operands like these,
        or reals; or why there are none. `after`: first-order code as the pass of that name leaves it the last time, or the
        loops. Raises WrongOption where there is no such pass."""
        from vlad.compile.analysis.fixpoint import Analysis
        from vlad.compile.calling.pipeline import made
        from vlad.compile.emit.c_text import comment
        from vlad.compile.ir.program import Program
        from vlad.compile.ir.text import program_text
        from vlad.compile.loops import order as loop_order
        from vlad.compile.loops.ir import GridFunction, Loops
        from vlad.compile.loops.text import function_text, loops_text
        from vlad.compile.passes.order import NAMES
        from vlad.core.passes import observing
        from vlad.core.type_text import TypeText, heading, line

        code: Code = f[0]
        of_reals = "" if operands else " for reals"
        operands = operands or tuple([0.5] * code.arity)
        analysis = Analysis(self.machine)
        given = TypeText(analysis.types)
        takes = [given.of(analysis.argument_type(operand)) for operand in operands]
        name = code.name or "lambda"
        begins = heading(name, takes)
        after = after.replace("_", "-") if isinstance(after, str) else after
        names = loop_order.NAMES if stage == "loops" else NAMES
        if after is not None and after not in names:
            raise WrongOption("invalid-argument", f"No pass of that name: {after}", hint=", ".join(names))
        found: dict[str, str] = {}
        nests: list[str] = []

        def observe(name: str, result: object) -> None:
            if type(result) is Program:
                nests.clear()  # of an attempt before
                if name == after:
                    found[name] = program_text(result)
            elif name == (after or loop_order.LAST):
                if type(result) is Loops:
                    nests.append(loops_text(result))
                elif type(result) is GridFunction:
                    nests.append(function_text(result))

        try:
            with observing(observe):
                unit = made(self.machine, code, f[1 : 1 + len(code.environment)], operands)
        except Unbounded as unbounded:
            otherwise = ", but it may be for a number that is known" if unbounded.for_number else ""
            span = unbounded.span
            place = f", at {span.line}:{span.column}" if span is not None and not in_library(span) else ""
            return f"; {begins} -> not compiled: {unbounded.reason}{place}{otherwise}"
        if stage == "first-order":
            text = (
                program_text(unit.program) if after is None else found.get(after, "; this pass was not run")
            )
            return f"; {begins}\n{text}"
        if stage == "loops":
            return "\n\n".join([f"; {begins}", *nests])
        if stage == "c":
            return f"/* {comment(code.name)} */\n{unit.text}"
        if unit.interface.result is None:
            return line(name, f"never returns{of_reals}", takes)
        gives = TypeText(unit.interface.layout.types)
        return line(name, gives.of(unit.interface.result, is_part=False) + gives.where(), takes)

    def redefine(self, cell: Global, change: Callable[[], object]) -> None:
        """Change the value of a global, and forget what was compiled on the strength of the old one. In reverse order: an
        interrupt that comes between leaves the old value, and no compiled code that is out of date. If a thread
        compiles meanwhile, it began before `_meanings` changed, and its result is refused; or it waits for the lock, and reads
        the new value."""
        with self.lock:
            self._meanings += 1
            for key, entry in list(self.entries.items()):
                if cell in entry.cells or entry.reason is not None:
                    self._remove(key, entry)
            change()

    def forget(self) -> None:
        """Discard all compiled code."""
        with self.lock:
            self._meanings += 1
            for key, entry in list(self.entries.items()):
                self._remove(key, entry)

    def _remove(self, key: Any, entry: Entry) -> None:
        entry.forgotten()  # first: where this is interrupted, it is found again and repeated
        self.entries.pop(key, None)

    def close(self) -> None:
        """Discard everything for good, including work in the compiler's thread."""
        self.closed = True
        BACKGROUND.remove_all(self)
        while not BACKGROUND.wait_until_idle(self, A_MOMENT):
            from vlad.compile.native import toolchain

            thread = BACKGROUND.thread_compiling_for(self)
            if thread is not None:
                toolchain.give_up(thread)
                if "vlad.compile.calling.compiling_process" in sys.modules:
                    from vlad.compile.calling.compiling_process import PROCESS

                    PROCESS.end()
        self.forget()

    def is_compiling_here(self) -> bool:
        """Whether this is the compiler's thread, working for this object."""
        return BACKGROUND.thread_compiling_for(self) == threading.get_ident()

    def alone(self) -> None:
        """Reset the state in a forked child: the other threads do not exist there. Machine code that one of them ran is
        discarded.
        """
        self.lock = threading.RLock()
        for key, entry in list(self.entries.items()):
            if any(compiled.is_taken() for compiled in entry.variants):
                self._remove(key, entry)

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
        """Run compiled code. Raises Mismatch; and an error if it is `surely` to run compiled and cannot for these operands."""

        def run() -> Value:
            if not compiled.fits():  # the array may never be made: tier 0 decides
                self._notice_call(entry, "its largest array would not fit in memory", ROOM, surely)
                return self.machine.apply(f, argument)
            try:
                with Interruptible(compiled.stop):
                    return compiled(*operands)
            except (Mismatch, Replaced) as other:  # no error: its place is irrelevant
                return other

        begun = self._effects.at  # not 0 if Python makes the call on behalf of another
        try:
            result = self.machine.guarded(run, stop=compiled.stop)
            if type(result) is Mismatch:
                raise result
            if type(result) is Replaced:
                return self._run(compiled.replacement, operands, f, argument, entry, surely)
            return result
        except Failed as failed:
            self._effects.again(begun)
            if failed.may_fit:
                self._keep_zeros_distinct(entry, compiled)
                if self.policy == "auto" and not surely:
                    return self.machine.apply(f, argument)
                fresh = self.compile(entry, operands)
                if fresh is not None:
                    return self._run(fresh, operands, f, argument, entry, surely)
            result = self.machine.apply(f, argument)
            if isinstance(failed, NotYet):
                return result
            if isinstance(failed, Narrow):  # the compiled code is correct
                self._notice_call(entry, failed.what, ADDRESSES, surely)
                return result
            if isinstance(failed, Unsupported):  # for this argument only
                self._note_unsupported(entry, compiled, failed)
                if surely:
                    what = f"{displayed_name(f[0])} does not run compiled for this argument: {failed.what}"
                    raise VladError("not-compiled", what) from None
                self._notice_call(entry, failed.what)
                return result
            if isinstance(failed, TooNested):
                entry.reason = failed.what
                entry.refusal = Unbounded(
                    failed.what, hint="a larger limit of depth would do, and a loop needs none"
                )
            else:  # tier 0 succeeds: the analysis joined unrelated types
                entry.reason = f"its types are not distinguished: {failed.what}"
                entry.refusal = Unbounded(entry.reason, hint=DISTINGUISH)
            if self.policy == "compile":
                self._notice_refusal(entry, entry.refusal)
            entry.disagrees = entry.lasts = True  # not compiled again
            entry.forgotten()
            self.disagreements += 1
            return result

    def _note_unsupported(self, entry: Entry, compiled: Any, failed: Unsupported) -> None:
        """Discard a variant that does not do many calls."""
        compiled.unsupported += failed.is_frequent
        if compiled.unsupported > MOST_UNSUPPORTED:
            with self.lock:
                entry.variants = [one for one in entry.variants if one is not compiled]
                entry.reason, entry.lasts, entry.refusal = failed.what, True, Unbounded(failed.what)
                self._open(entry)

    def _keep_zeros_distinct(self, entry: Entry, compiled: Any) -> None:
        """Discard a variant whose operands may fit if zeros are kept distinct from more, as later variants do."""
        with self.lock:
            entry.zeros_distinct = max(entry.zeros_distinct, compiled.interface.zeros_distinct)
            entry.variants = [one for one in entry.variants if one is not compiled]
            self._open(entry)

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
        waiting = A_MOMENT if entry.seconds <= A_MOMENT else 0.0
        worth = 0.0
        if cost is not None:
            waiting, worth = (LONGER if cost.is_wasted else 0.0) * cost.evaluated, cost.evaluated
        job = Job(self, entry, operands, self.machine.steps[0], begun + waiting, once, worth)
        try:
            try:
                self.job = job
                BACKGROUND.add(job)
                result = self.machine.apply(f, argument, job)
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
                        self._finish(job)
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
            prefer_interrupt(switch, handled)
            self.machine.watch.raise_if_interrupted()
            assert job.compiled is not None
            self._effects.again(effects)
            self.machine.steps[0] = job.steps
            if job.compiled not in entry.variants:  # a global it relies on was redefined meanwhile
                return self._apply(f, argument)
            switched = time.monotonic()
            try:
                result = self._run(job.compiled, operands, f, argument, entry)
            except Mismatch:  # it is running already, for an enclosing call
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
        self.costs.note(
            entry.f,
            evaluated=seconds,
            is_kept=bool(entry.variants),
            is_refused=entry.reason is not None and not entry.lacks_room,
        )

    def _finish(self, job: Job) -> None:
        """Release a job."""
        job.withdraw()
        BACKGROUND.remove(job)
        self.job = None


def is_straight(body: Body, table: Mapping[str, Primitive]) -> bool:
    """Whether a body only applies primitives of the language, so that it neither loops nor takes long enough to be compiled."""
    for binding in body.bindings:
        rhs = binding.rhs if type(binding) is Binding else None
        is_known = type(rhs) is Apply and table.get(rhs.primitive.name) is rhs.primitive
        if not is_known and type(rhs) not in STRAIGHT:
            return False
    return type(body.result) in STRAIGHT


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


def nothing_compiled(reason: str, hint: str | None = None) -> Notice:
    return Notice("not-compiled", f"Nothing is compiled: {reason}", hint=hint)


def _warn(notice: Notice) -> None:
    from vlad.compile.calling.notices import warn  # only where something is not compiled

    warn(notice)


_warned: set[str] = set()


def warn_once(message: str) -> None:
    """One line on standard error; repetitions are suppressed."""
    if message not in _warned:
        _warned.add(message)
        write_message(f"vlad: {message}")
