"""Evaluation while an event loop runs: the base of `Session.aeval` and `Session.acall`.

In: work of a session, as a function.  Out: its result, awaited. Imported by session.py when it is first needed, because asyncio
takes a while to import.

Each evaluation has its own thread, which ends with it. Those of one session and one event loop form a queue, so that only one of
them at a time has a thread. If a task is cancelled, its evaluation is interrupted as by a limit, and the task ends after the
evaluation.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from vlad.evaluate.limits import AGAIN_SECONDS, Limits
from vlad.session.session_lock import abandon, cancelled, forget

Result = TypeVar("Result")

# By session and event loop: a queue, which exists while an evaluation is in it.
_queues: WeakValueDictionary[tuple[int, int], asyncio.Lock] = WeakValueDictionary()


async def evaluated(session: Any, work: Callable[[], Result], limits: Limits | None) -> Result:
    """The result of a function, called in another thread when the session is free."""

    def limited() -> Result:
        # also with the session's own limits: inside, machine code that cannot be interrupted is not called directly
        with session.limited(session.machine.limits if limits is None else limits):
            return work()

    async with _queue(session):
        return await _Evaluation(session, limited).result()


def _queue(session: Any) -> asyncio.Lock:
    key = id(session), id(asyncio.get_running_loop())
    queue = _queues.get(key)
    if queue is None:  # no race: only this thread uses the queues of this loop
        queue = _queues[key] = asyncio.Lock()
    return queue


class _Evaluation(Generic[Result]):
    """One call of `work`, in its own thread."""

    def __init__(self, session: Any, work: Callable[[], Result]) -> None:
        self.watch = session.machine.watch
        self.work = work
        self.context = contextvars.copy_context()
        self.loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Result] = self.loop.create_future()
        self.thread = threading.Thread(target=self._run, daemon=True, name="vlad-evaluation")

    async def result(self) -> Result:
        self.thread.start()
        try:
            return await asyncio.shield(self.outcome)
        except asyncio.CancelledError:
            await self._end()
            raise
        finally:
            self.thread.join()  # it has ended, or is about to

    async def _end(self) -> None:
        """Interrupt the evaluation, repeatedly, until it has ended."""
        thread = self.thread.ident
        assert thread is not None
        abandon(thread)
        while not self.outcome.done():
            self.watch.interrupt(cancelled(), thread)
            with contextlib.suppress(asyncio.CancelledError):  # the cancellation is under way
                await asyncio.wait([self.outcome], timeout=AGAIN_SECONDS)
        forget(thread)
        self.outcome.exception()  # retrieved, so that asyncio does not report it

    # In the thread.

    def _run(self) -> None:
        try:
            result = self.context.run(self.work)
        except BaseException as error:
            self._settle(self.outcome.set_exception, error)
        else:
            self._settle(self.outcome.set_result, result)

    def _settle(self, settle: Callable[[Any], object], outcome: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed
            self.loop.call_soon_threadsafe(settle, outcome)
