"""The content of a file that a person named: read whole, if it has an end, and without waiting for ever.

A pipe is read as a shell's `<(…)` makes one, if somebody writes to it. A device is refused: some of them never end.
"""

import errno
import os
import select
import stat
from pathlib import Path

_PATIENCE = 5.0
"""Seconds for whoever writes to a pipe to begin."""


def read_content(path: Path) -> bytes:
    """Return what a file or a pipe holds.

    Raises:
        OSError: It cannot be read; `strerror` says why.
    """
    with open(path, "rb", opener=_open) as file:
        return file.read()


def _open(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode):
            _await_writer(descriptor)
        elif not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a file")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _await_writer(descriptor: int) -> None:
    if not select.select([descriptor], [], [], _PATIENCE)[0]:
        raise OSError(errno.ETIMEDOUT, "it is a pipe that nobody writes to")
    os.set_blocking(descriptor, True)
