"""Compiling variants of procedures: for operands at hand, in another process beside an evaluation, or from the cache.

In: an entry and operands.  Out: a new variant, or none, with the reason in the entry. A base of the tier policy (policy.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from vlad.compile.analysis.static_operands import MOST_WRITTEN, form
from vlad.compile.analysis.trees import is_plainly_tree, is_tree
from vlad.compile.calling.background import BACKGROUND, Superseded
from vlad.compile.calling.entry_table import EntryTable
from vlad.compile.calling.notifier import warn_once
from vlad.compile.calling.variants import Entry
from vlad.compile.ir.refusals import NoCompiler, Rejected, Unavailable, Unbounded
from vlad.control import debug
from vlad.control.budget import NoTime, budget, has_limited_addresses
from vlad.control.safe_import import import_safely, package_of
from vlad.data.errors import VladError
from vlad.data.values import Value, list_of

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MOST_UNSIZED = 3  # calls of a procedure for which code for all lengths was sought in vain
MOST_MISSES = 4  # of one procedure, because a number is unknown
COMPILER = "vlad.compile.calling.compilation"  # the module, imported on first use
COMPILER_ADDRESSES = 96 << 20  # bytes that importing it takes


class VariantCompiler(EntryTable):
    def __init__(self, machine: Machine, optimize: int, fast_math: bool) -> None:
        super().__init__(machine, optimize, fast_math)
        self.closed = False
        # the text of a value of the session, for another process; tensors with more entries are blank
        self.write_value: Callable[[Value, float], str] | None = None

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
        entry.lacks_room = entry.is_made = False
        optimize, fast_math = entry.options
        options = {
            "optimize": optimize,
            "fast_math": fast_math,
            "early": early,
            "variants": len(entry.variants),
            "fixed": entry.fixed.get(form_of, ()),
            "zeros_distinct": entry.zeros_distinct,
            "keeps_apart": entry.keeps_apart,
            "exhausted": entry.exhausted,
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
        except Superseded as superseded:
            entry.is_made = superseded.is_made
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
        entries = self._compiled_apart(f, operands, options) if apart else {}
        # 25 ms, only when something is compiled, and not before the other process has replied: the call may have ended then
        import_safely(COMPILER, COMPILER_ADDRESSES)
        from vlad.compile.calling.code_cache import NotKept
        from vlad.compile.calling.compilation import compile_call
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
        # neither a GPU's programs nor places are in the cache, and another process's memory is not that of the evaluation
        if self.write_value is None or machine.device != "cpu" or machine.placed or limit.most < math.inf:
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
        if not BACKGROUND.is_awaited() and reply.unbounded is None and reply.unavailable is None:
            is_off = import_safely("vlad.compile.native.cache_folder").is_off()
            raise Superseded(is_made=bool(reply.entries) and not is_off)
        if reply.entries and BACKGROUND.is_awaited():  # they have the reason, too, if it was refused
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
        for index, operand in enumerate(operands):
            is_of_trees = is_tree if variants else is_plainly_tree
            if not any(one.takes_one(index, operand) for one in variants) and is_of_trees(operand):
                entry.trees.add(index)
