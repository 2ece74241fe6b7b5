"""A lock on a file that is about to be changed, held against other workbenches of the same machine.

On POSIX the lock is on the file's directory, so nothing is left behind and a file that does not exist yet can be locked
too. Other programs know nothing of it: against those, `clients/safe_write` compares a file just before it replaces it.
"""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path

from mcp_workbench.errors import WorkbenchError

_PATIENCE = 20.0
_PAUSE = 0.02
_NOT_POSSIBLE_HERE = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF})


class FileBusy(WorkbenchError):
    """Another workbench has been changing the file for too long."""


@contextlib.contextmanager
def locked(path: Path, patience: float = _PATIENCE) -> Generator[None]:
    """Keep other workbenches from changing the file while the block lasts; links are followed.

    A directory that cannot be locked (a network file system, one that may not be read) is used without a lock.

    Raises:
        FileBusy: Another one did not finish in time.
    """
    directory = _existing_directory(Path(os.path.realpath(path)).parent)
    with contextlib.ExitStack() as held:
        descriptor = _open(directory)
        if descriptor is not None:
            held.callback(os.close, descriptor)
            _acquire(descriptor, path, patience)
        yield


def _existing_directory(directory: Path) -> Path:
    while not directory.is_dir() and directory != directory.parent:
        directory = directory.parent
    return directory


if sys.platform == "win32":
    import msvcrt
    import tempfile
    import zlib

    def _open(directory: Path) -> int | None:
        """Windows cannot open directories: a file in the user's own temporary directory stands for it."""
        number = zlib.crc32(os.path.normcase(directory).encode())
        try:
            return os.open(Path(tempfile.gettempdir(), f"mcp-workbench-{number:08x}.lock"), os.O_RDWR | os.O_CREAT)
        except OSError:
            return None

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _open(directory: Path) -> int | None:
        try:
            return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _acquire(descriptor: int, path: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            _try_lock(descriptor)
        except OSError as error:
            if error.errno in _NOT_POSSIBLE_HERE:
                return
            if time.monotonic() > deadline:
                raise FileBusy(f"{path} is being changed by another mcp-workbench: try again when it is done") from None
            time.sleep(_PAUSE)
        else:
            return
