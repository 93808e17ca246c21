"""Files that vlad keeps in folders of the user, where a pipe, a folder, a device or a link may be in their place."""

from __future__ import annotations

import errno
import os
import stat


def open_regular(path: str, flags: int, mode: int = 0o600) -> int:
    """A descriptor of a regular file. Raises OSError where the path is not one, and never blocks: opening a pipe waits for the
    other end, and opening a device may have any effect."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, mode)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file", path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
