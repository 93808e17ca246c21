"""External effects of compiled code: it writes and reads by the machine.

In: a machine.  Out: `Outside`, with the two functions that C calls. Used by executable.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.compile.native.abi import ffi
from vlad.primitives.control import read_real

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

LONGEST_CHARACTER = 4  # bytes of UTF-8
MOST_SKIPPED = 2**31 - 1  # steps: an int of C


class Outside:
    """External effects of compiled code, performed by the machine. An exception there ends the call, and is raised again."""

    def __init__(self, machine: Machine) -> None:
        self.machine = weakref.ref(machine)  # weak, as `_outsides` must not keep it alive; callers do
        self.error: BaseException | None = None
        # neither C nor its own callbacks keep this alive: callers do, and it is freed with the machine
        own: Callable[[], Any] = weakref.ref(self)

        def failed(_: type[BaseException], error: BaseException, __: object) -> None:
            """An exception that arrives before `_write` or `_read` can catch it, as a limit's may: cffi would drop it."""
            own().error = error

        self.write = ffi.callback(
            "int(char const *, long)",
            lambda text, length: own()._write(text, length),
            error=1,
            onerror=failed,
        )
        self.read = ffi.callback("int(double *)", lambda real: own()._read(real), error=1, onerror=failed)

    def _machine(self) -> Any:
        machine = self.machine()
        assert machine is not None
        return machine

    def _write(self, text: Any, length: int) -> int:
        """Write a text. Without one, check that `length` bytes may be written. If that is negative, show the progress that three
        numbers tell. Returns 1 after an exception, otherwise minus the number of steps whose progress need not be shown."""
        try:
            if length < 0:
                show = self._machine().progress
                if show is None:
                    return -MOST_SKIPPED
                skipped = show(*ffi.unpack(ffi.cast("double *", text), 3)) or 0
                return -max(0, min(skipped, MOST_SKIPPED))
            if text == ffi.NULL:
                self._machine().watch.expects(length // LONGEST_CHARACTER)
                return 0
            self._machine().write(ffi.buffer(text, length)[:].decode("utf-8", "surrogatepass"))
        except BaseException as error:  # any exception must not pass through C frames
            self.error = error
            return 1
        return 0

    def _read(self, real: Any) -> int:
        try:
            real[0] = read_real(self._machine())
        except BaseException as error:
            self.error = error
            return 1
        return 0


_outsides: weakref.WeakKeyDictionary[Any, Outside] = weakref.WeakKeyDictionary()


def outside_of(machine: Machine) -> Outside:
    outside = _outsides.get(machine)
    if outside is None:
        outside = _outsides[machine] = Outside(machine)
    return outside
