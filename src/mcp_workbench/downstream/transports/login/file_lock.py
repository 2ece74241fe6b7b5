"""A lock that processes share. The system releases it when its holder dies, whatever killed it."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio

_PAUSE = 0.05


class LockBusy(Exception):
    """Another process kept the lock for longer than we wait."""


@asynccontextmanager
async def locked(path: Path, *, patience: float) -> AsyncGenerator[None]:
    """Hold the lock at `path`; waiting for it blocks nobody else in this process.

    Raises:
        LockBusy: It could not be had within `patience` seconds.
        OSError: The file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        with anyio.move_on_after(patience) as waiting:
            while not _try(descriptor):  # noqa: ASYNC110 - nobody could set an event: it is another process
                await anyio.sleep(_PAUSE)
        if waiting.cancelled_caught:
            raise LockBusy
        try:
            yield
        finally:
            _release(descriptor)
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _try(descriptor: int) -> bool:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        with suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(descriptor: int) -> None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
