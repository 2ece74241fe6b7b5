"""Files of our own that only their user may read: logins, accepted tools, the catalog.

A file is written whole or not at all, 0600 in a directory 0700, so whoever reads needs no lock. Nothing but an ordinary
file of a sensible size is read: a pipe would wait for ever, and a giant would take the machine's memory.
"""

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import TypeAlias

_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)

Signature: TypeAlias = tuple[int, int, int]
"""Differs whenever a file was replaced."""


def signature(path: Path) -> Signature | None:
    """What tells one version of a file from the next without reading it; None when there is none.

    Raises:
        OSError: It cannot be looked at.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_bytes(path: Path, largest: int) -> bytes | None:
    """Return a file's content, or None for what is no file of ours: not an ordinary file, or a larger one.

    Raises:
        OSError: It is not there, or cannot be read.
    """
    # Without waiting: opening a pipe that nobody writes to would wait for ever.
    descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_WAITING)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        return file.read() if stat.S_ISREG(status.st_mode) and status.st_size <= largest else None


def write_bytes(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a file, whole or not at all, making its directory if need be.

    With `durable`, it is on disk when this returns, even if the power fails a moment later.

    Raises:
        OSError: It cannot be written; what was there before still is.
    """
    make_directory(path.parent)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.stem[:16]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:  # mkstemp makes it 0600
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def make_directory(directory: Path) -> None:
    """Make a directory that only its user may enter.

    Raises:
        OSError: It cannot be made.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        directory.chmod(0o700)


def put_aside(path: Path) -> Path:
    """Give a damaged file another name beside its own, as far as that is possible; that name."""
    aside = path.with_suffix(".damaged")
    with contextlib.suppress(OSError):
        os.replace(path, aside)
    return aside
