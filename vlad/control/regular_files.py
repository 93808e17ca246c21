"""Files of ours, in folders of the user's where something else may stand in their place: a pipe, a folder, a device, a link."""

from __future__ import annotations

import errno
import os
import stat


def open_regular(path: str, flags: int, mode: int = 0o600) -> int:
    """A descriptor of a regular file. Raises OSError where it is none, and never waits: to open a pipe takes somebody at its
    other end, and to open a device may do anything."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, mode)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file", path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
