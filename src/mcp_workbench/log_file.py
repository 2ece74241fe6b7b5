"""The log file: what every workbench of this user did, one JSON object a line, oldest first.

It lies in the user's state directory, readable by the user alone, and never grows beyond `_MAX_SIZE` times the number
of files that are kept. Several workbenches append to it at once: each batch of lines is one write at the end of the
file, and whoever finds the file full puts it aside while the others notice and go on in the new one.
"""

import json
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

from mcp_workbench.directories import state_dir

_NAME = "log.jsonl"
_MAX_SIZE = 5_000_000
_KEPT = 2
"""How many full files are kept beside the one that is written to."""

_UNROTATED = 4
"""Times its size at which a file that cannot be put aside is written to no more."""

Record = dict[str, Any]


def log_path() -> Path:
    """Where the log file is."""
    return state_dir() / _NAME


class LogFile:
    """The writing end; to be used by one thread."""

    def __init__(self, path: Path, max_size: int = _MAX_SIZE) -> None:
        self.path = path
        self._max_size = max_size
        self._descriptor: int | None = None
        self._torn = False

    def append(self, records: Sequence[Record]) -> None:
        """Write records at the end of the file.

        Raises:
            OSError: They cannot be written; some of them may have been.
        """
        data = b"".join(_line(record) for record in records)
        descriptor = self._current()
        size = os.fstat(descriptor).st_size
        if size > self._max_size:
            descriptor = self._put_aside(descriptor)
            if size > _UNROTATED * self._max_size and descriptor == self._descriptor:
                return
        # What an earlier write could not finish must not swallow the next line.
        data = b"\n" + data if self._torn else data
        self._torn = os.write(descriptor, data) < len(data)

    def close(self) -> None:
        """Give the descriptor back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _current(self) -> int:
        """The file that has the name now; somebody may have put aside the one that is open."""
        if self._descriptor is not None and not _is_named(self._descriptor, self.path):
            self.close()
        if self._descriptor is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
            self._descriptor = os.open(self.path, flags, 0o600)
        return self._descriptor

    def _put_aside(self, descriptor: int) -> int:
        """Begin a new file, unless another process is about to."""
        with suppress(OSError), _alone(self.path.with_suffix(".lock")):
            if _is_named(descriptor, self.path):
                names = [self.path, *(_older(self.path, age) for age in range(1, _KEPT + 1))]
                for newer, older in reversed(list(pairwise(names))):
                    with suppress(FileNotFoundError):
                        os.replace(newer, older)
        return self._current()


class LogReader:
    """The reading end: first all that is there, oldest first, then what is appended, across changes of the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._unfinished = b""
        self._began = False

    def new(self) -> Iterator[Record]:
        """The records that were not returned yet; lines that are none are left out.

        Raises:
            OSError: They cannot be read.
        """
        if not self._began:
            self._began = True
            for age in range(_KEPT, 0, -1):
                with suppress(FileNotFoundError), open(_older(self._path, age), "rb") as file:
                    yield from filter(None, map(_record, file))
        if self._file is not None:
            was_put_aside = not _is_named(self._file.fileno(), self._path)
            yield from self._rest(self._file)
            if not was_put_aside:
                return
            self.close()
        with suppress(FileNotFoundError):
            self._file = open(self._path, "rb")  # noqa: SIM115 - `close` closes it
            yield from self._rest(self._file)

    def close(self) -> None:
        """Give the descriptor back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _rest(self, file: BinaryIO) -> Iterator[Record]:
        *lines, self._unfinished = (self._unfinished + file.read()).split(b"\n")
        yield from filter(None, map(_record, lines))


def _line(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace") + b"\n"


def _record(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast(Record, record) if isinstance(record, dict) else None


def _older(path: Path, age: int) -> Path:
    return path.with_suffix(f".{age}{path.suffix}")


def _is_named(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


if sys.platform == "win32":

    @contextmanager
    def _alone(path: Path) -> Generator[None]:
        yield  # an open file cannot be renamed there: if it can be, nobody else has it

else:
    import fcntl

    @contextmanager
    def _alone(path: Path) -> Generator[None]:
        """Hold a lock that the system releases when we die.

        Raises:
            OSError: Another process holds it.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(descriptor)
