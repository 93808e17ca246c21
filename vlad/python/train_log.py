"""Records of training for people and their tools: CSV, and the event files that TensorBoard shows.

In: a step and its value, as a report of `optimize` and the like.  Out: files. Called by programs (`vlad.TrainLog`).

The event files are written by the package tensorboardX, which needs neither TensorFlow nor PyTorch; it is imported when a log
asks for them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from vlad.control.safe_import import import_safely
from vlad.data.errors import MissingPackage, NoCounterpart, VladError


class TrainLog:
    """A record of training in a CSV file, with the columns step, value, seconds since the beginning, and steps per second.

    It is a report: pass it to a session, and by name to `optimize`, `train`, `train-epochs` or `lbfgs`. From Python it is
    called with a step and a value. A line is in the file as soon as it is reported. `append` continues a file, as where
    training continues from a checkpoint. `tensorboard` is a folder for event files of TensorBoard, in which the value is
    called `tag`; they need the package tensorboardX. Used in `with`, it closes its files at the end.

    Raises VladError if a file cannot be written, or the package is missing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        append: bool = False,
        tensorboard: str | os.PathLike[str] | None = None,
        tag: str = "loss",
    ) -> None:
        if not isinstance(path, str | os.PathLike):
            raise NoCounterpart("invalid-argument", f"The path of a file is a string, not {path!r}")
        self.path, self.tag = os.fspath(path), tag
        self._events = None if tensorboard is None else _events_in(os.fspath(tensorboard))
        try:
            self._file = open(self.path, "a" if append else "w", encoding="utf-8", buffering=1)  # noqa: SIM115 - `close` closes it
            if not self._file.tell():
                self._file.write("step,value,seconds,rate\n")
        except OSError as error:
            self._close_events()
            raise _cannot_write(self.path, error) from None
        self._clock: Callable[[], float] = time.monotonic
        self._begun = self._clock()
        self._last: tuple[float, float] | None = None  # step and seconds of the last report

    def __call__(self, step: float, value: float) -> None:
        """Record the value at a step."""
        if self.closed:
            raise VladError("invalid-argument", f"This log is closed: {self.path}")
        step, value = float(step), float(value)
        seconds = self._clock() - self._begun
        before, then = self._last or (0.0, 0.0)
        rate = (step - before) / (seconds - then) if step > before and seconds > then else 0.0
        self._last = step, seconds
        try:
            self._file.write(f"{step:.15g},{value!r},{seconds:.3f},{rate:.6g}\n")
        except OSError as error:
            raise _cannot_write(self.path, error) from None
        if self._events is not None:
            self._events.add_scalar(self.tag, value, int(step))
            self._events.add_scalar("steps per second", rate, int(step))

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self._file.closed

    def close(self) -> None:
        """Close the files. A closed log takes no more reports."""
        self._file.close()
        self._close_events()

    def _close_events(self) -> None:
        if self._events is not None:
            self._events.close()

    def __enter__(self) -> TrainLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<vlad training log {self.path}{', closed' if self.closed else ''}>"


def _events_in(folder: str) -> Any:
    """A writer of TensorBoard's events. Raises MissingPackage."""
    try:
        package = import_safely("tensorboardX")
    except ImportError as error:
        message = "Event files of TensorBoard need the package tensorboardX, which is not installed"
        raise MissingPackage("missing-package", message, hint="`pip install tensorboardX`") from error
    try:
        return package.SummaryWriter(folder)
    except OSError as error:
        raise _cannot_write(folder, error) from None


def _cannot_write(path: str, error: OSError) -> VladError:
    return VladError("cannot-write", f"Cannot write: {path}", hint=error.strerror or "")
