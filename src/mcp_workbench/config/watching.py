"""Noticing that files have changed, whoever writes them: in place, by renaming, or behind a symbolic link.

Looking at a handful of files costs nothing, and needs neither a thread nor what the platform offers for it. A change
counts once two looks in a row have seen the same, so that a file which is still being written is left alone.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

_Look: TypeAlias = tuple[tuple[object, ...], ...]


class Watch:
    """Some files, as they were when the config was read from them."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._known = self._last = self._look()

    def has_changed(self) -> bool:
        """Look once; whether the files are other ones than before, and have been the same for two looks."""
        previous, self._last = self._last, self._look()
        return self._last == previous and self._last != self._known

    def accept(self) -> None:
        """Take the files as known the way that they were last seen."""
        self._known = self._last

    def _look(self) -> _Look:
        return tuple(_signature(path) for path in self._paths)


def _signature(path: Path) -> tuple[object, ...]:
    """What differs when a file does: where links lead to, which file that is, its size and its times."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        return (type(error).__name__,)
    return (
        os.path.realpath(path),
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
