"""Running compiled code, and what becomes of calls that it cannot do: tier 0 runs them again.

In: a variant and operands.  Out: the result, from either tier. When compiled code meets an error of the program, it stops, and
tier 0 runs the call again to explain the error: messages are worded in one place. A base of the tier policy (policy.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.compile.calling.effects import Effects
from vlad.compile.calling.variant_compiler import VariantCompiler
from vlad.compile.calling.variants import Entry
from vlad.compile.ir.refusals import (
    CAUGHT,
    WAYS_OUT,
    Differing,
    Failed,
    Mismatch,
    Narrow,
    NotYet,
    Replaced,
    TooNested,
    Unbounded,
    Unsupported,
)
from vlad.control.native_interrupts import Interruptible
from vlad.data.errors import VladError
from vlad.data.values import Value
from vlad.evaluate.errors.explain import displayed_name

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MOST_UNSUPPORTED = 8  # calls that machine code of a variant begins and cannot do
ROOM = "a larger limit of memory, or smaller tensors, would do"
ADDRESSES = "the limit of the process's address space (ulimit -v) is what it lacks"
DISTINGUISH = "a procedure for each kind of value distinguishes them"


class VariantRunner(VariantCompiler):
    def __init__(self, machine: Machine, optimize: int, fast_math: bool) -> None:
        super().__init__(machine, optimize, fast_math)
        self.disagreements = 0  # failures of compiled code that tier 0 did not confirm
        self._effects = Effects()

    def _apply(self, f: Value, argument: Value, once: bool = False) -> Value:
        """The result of a call, on the tier that the policy chooses (policy.py)."""
        raise NotImplementedError

    def _run(
        self,
        compiled: Any,
        operands: tuple[Value, ...],
        f: Value,
        argument: Value,
        entry: Entry,
        surely: bool = False,
        once: bool = False,
    ) -> Value:
        """Run compiled code. Raises Mismatch; and an error if it is `surely` to run compiled and cannot for these operands.
        `once`: as of `apply`."""

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
                return self._run(compiled.replacement, operands, f, argument, entry, surely, once)
            return result
        except Failed as failed:
            self._effects.again(begun)
            if failed.may_fit:
                self._discard(entry, compiled, failed)
                if self.policy == "auto" and not surely:
                    return self._apply(f, argument, once)
                fresh = self.compile(entry, operands)
                if fresh is not None:
                    return self._run(fresh, operands, f, argument, entry, surely)
            caught = self.machine.caught
            result = self.machine.apply(f, argument)
            if isinstance(failed, NotYet):
                return result
            if self.machine.caught != caught:
                failed = Unsupported(CAUGHT, is_frequent=True)
            if isinstance(failed, Narrow):  # the compiled code is correct
                self._notice_call(entry, failed.what, ADDRESSES, surely)
                return result
            if isinstance(failed, Unsupported):  # for this argument only
                self._note_unsupported(entry, compiled, failed)
                if surely:
                    what = f"{displayed_name(f[0])} does not run compiled for this argument: {failed.what}"
                    raise VladError("not-compiled", what) from None
                self._notice_call(entry, failed.what, WAYS_OUT.get(failed.what))
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
                refusal = Unbounded(failed.what, hint=WAYS_OUT.get(failed.what))
                entry.reason, entry.lasts, entry.refusal = failed.what, True, refusal
                self._open(entry)

    def _discard(self, entry: Entry, compiled: Any, failed: Failed) -> None:
        """Discard a variant whose operands may fit later ones: in which zeros are kept distinct from more, or lengths apart."""
        with self.lock:
            if isinstance(failed, Differing):
                entry.keeps_apart = True
            else:
                entry.zeros_distinct = max(entry.zeros_distinct, compiled.interface.zeros_distinct)
            entry.variants = [one for one in entry.variants if one is not compiled]
            self._open(entry)
