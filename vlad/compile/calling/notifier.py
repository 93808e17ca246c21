"""Notices of calls that run on tier 0 although they were to be compiled, each once.

In: an entry, and why a call of it is not compiled.  Out: a notice to `notify` (its text is from notices.py), or where a session
does not demand that calls are compiled, at most a line on standard error. The first base of the tier policy (policy.py).
"""

from __future__ import annotations

from collections.abc import Callable

from vlad.compile.calling.variants import Entry
from vlad.compile.ir.refusals import Unbounded
from vlad.control.standard_streams import write_message
from vlad.data.errors import Notice, VladError
from vlad.evaluate.errors.explain import displayed_name


class Notifier:
    policy: str  # of policy.POLICIES

    def __init__(self) -> None:
        # called with a notice of what runs on tier 0 although it was to be compiled, once for each place and reason
        self.notify: Callable[[Notice], object] = _warn
        self._noticed: set[str] = set()

    def _refusal(self, entry: Entry, hint: str | None = None) -> VladError:
        what = f"{displayed_name(entry.f[0])} cannot be compiled: {entry.reason}"
        if entry.refusal is not None:
            hint = entry.refusal.hint
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

    def _nothing_compiled(self, reason: str, hint: str) -> None:
        """Give notice that there is no compiler."""
        if self.policy == "compile":
            self.give_notice(nothing_compiled(reason, hint))
        else:
            warn_once(f"running without compiling: {reason}")


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
