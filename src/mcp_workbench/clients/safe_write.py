"""Reading and replacing a file that belongs to somebody else, so that nothing of it can be lost.

- The new text is complete on disk before it takes the old one's place, and the old one is kept as a backup beside it.
  When anything fails (a full disk, missing permission, Ctrl-C) the file is as it was, and no other file is left.
- Owner, group, mode and extended attributes stay, also when root runs this. A new file belongs to whom its directory
  belongs to.
- A symbolic link is followed: the file that it points to is the one that changes.
- A file with hard links is written in place, since replacing it would part it from its other names; so is one whose
  owner could not be kept, or whose directory admits no new file. If that fails midway, the old text is written back.
- A file that changed since it was read is left alone.
"""

import contextlib
import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from mcp_workbench.errors import WorkbenchError

MAX_BYTES = 64 * 1024 * 1024
"""No config of servers is larger; reading something that is would only take the machine's memory."""

_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)


class FileProblem(WorkbenchError):
    """A file that cannot be read or written as asked."""


def read_text(path: Path) -> str | None:
    """Return what a file says, exactly, with its line ends and byte order mark, or None when there is no such file.

    Raises:
        FileProblem: It is there but cannot be read as text: a directory, a pipe, not UTF-8, far too large.
    """
    try:
        return _read_bytes(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise FileProblem(f"{path} is not UTF-8 text: save it as UTF-8 and try again") from None
    except (OSError, ValueError) as error:
        raise FileProblem(f"{path} cannot be read: {_reason(error)}") from error


def replace_text(path: Path, before: str | None, after: str, *, backup: bool = True) -> Path | None:
    """Replace a file's text, which was `before`, and return the backup that holds it (None for a new file).

    Raises:
        FileProblem: The file was changed by someone else in the meantime, or cannot be written. It is untouched.
    """
    target = Path(os.path.realpath(path))
    try:
        with _uninterrupted(), contextlib.ExitStack() as undo:
            made = _replace(target, before, after, undo, backup=backup)
            undo.pop_all()
            return made
    except _Changed:
        raise FileProblem(f"{path} was changed by another program just now: nothing was written, try again") from None
    except OSError as error:
        raise FileProblem(f"{path} cannot be written: {_reason(error)}") from error


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all, in directories that only its owner may enter.

    Raises:
        FileProblem: It cannot be written; what was there is untouched.
    """
    target = Path(os.path.realpath(path))
    try:
        with _uninterrupted(), contextlib.ExitStack() as undo:
            _make_directories(target.parent, 0o700, undo)
            os.replace(_complete_copy(target, text, _Looks(_owner_of(target.parent)), undo), target)
            undo.pop_all()
    except OSError as error:
        raise FileProblem(f"{path} cannot be written: {_reason(error)}") from error


def remove_file(path: Path, before: str) -> None:
    """Delete a file whose text is still `before`.

    Raises:
        FileProblem: It says something else by now, or cannot be deleted.
    """
    target = Path(os.path.realpath(path))
    if read_text(target) != before:
        raise FileProblem(f"{path} was changed by another program just now: it was not deleted")
    try:
        target.unlink()
    except OSError as error:
        raise FileProblem(f"{path} cannot be deleted: {_reason(error)}") from error


class _Changed(Exception):
    """The file is not what it was."""


@dataclass(frozen=True)
class _Looks:
    """What a file should be like apart from its text.

    `like` is a file to take mode and attributes from; without one, only the owner may read and write it.
    """

    owner: tuple[int, int] | None
    like: Path | None = None


def _replace(target: Path, before: str | None, after: str, undo: contextlib.ExitStack, *, backup: bool) -> Path | None:
    if read_text(target) != before:
        raise _Changed
    if before is None:
        _make_directories(target.parent, 0o777, undo)
        _move_into_place(_complete_copy(target, after, _Looks(_owner_of(target.parent)), undo), target, None)
        return None
    if not os.access(target, os.W_OK):
        raise FileProblem(f"{target} cannot be written: it is read-only")
    state = target.stat()
    looks = _Looks((state.st_uid, state.st_gid), target)
    kept = _write_backup(target, before, looks, undo) if backup else None
    copy = _complete_copy_if_possible(target, after, looks, undo) if state.st_nlink == 1 else None
    if copy is not None:
        _move_into_place(copy, target, before)
    else:
        _write_in_place(target, before, after)
    return kept


def _move_into_place(copy: Path, target: Path, before: str | None) -> None:
    """The comparison comes last, so that another program has microseconds, not milliseconds, to be overlooked in."""
    if read_text(target) != before:
        raise _Changed
    os.replace(copy, target)


def _write_in_place(target: Path, before: str, after: str) -> None:
    if read_text(target) != before:
        raise _Changed
    descriptor = os.open(target, os.O_WRONLY | _BINARY)
    try:
        _overwrite(descriptor, after)
    except OSError:
        with contextlib.suppress(OSError):
            _overwrite(descriptor, before)
        raise
    finally:
        os.close(descriptor)


def _overwrite(descriptor: int, text: str) -> None:
    data = text.encode("utf-8")
    missing = len(data) - os.fstat(descriptor).st_size
    if missing > 0 and sys.platform == "linux":  # space first: a full disk is found out before anything is changed
        os.posix_fallocate(descriptor, len(data) - missing, missing)
    os.lseek(descriptor, 0, os.SEEK_SET)
    _write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _complete_copy_if_possible(target: Path, text: str, looks: _Looks, undo: contextlib.ExitStack) -> Path | None:
    """Return a file beside the target that may take its place, or None where there can be none like it."""
    try:
        return _complete_copy(target, text, looks, undo)
    except PermissionError:
        return None


def _complete_copy(target: Path, text: str, looks: _Looks, undo: contextlib.ExitStack) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    undo.callback(Path(name).unlink, missing_ok=True)
    _fill(descriptor, text)
    _dress(Path(name), looks)
    return Path(name)


def _write_backup(target: Path, text: str, looks: _Looks, undo: contextlib.ExitStack) -> Path | None:
    """Keep the old text beside the file, or nowhere when the directory admits no new file."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    for number in range(1, 1000):
        suffix = stamp if number == 1 else f"{stamp}-{number}"
        backup = target.with_name(f"{target.name}.{suffix}.bak")
        try:
            # Private from its first byte: the file may hold secrets.
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        except FileExistsError:
            continue
        except PermissionError:
            return None
        undo.callback(backup.unlink, missing_ok=True)
        _fill(descriptor, text)
        with contextlib.suppress(PermissionError):  # somebody else's file: its backup is ours, and private
            _dress(backup, looks)
        return backup
    raise FileProblem(f"{target} has too many backups beside it")


def _dress(path: Path, looks: _Looks) -> None:
    """Give a file its owner, then its attributes: changing the owner takes some of them away."""
    if looks.owner is not None and sys.platform != "win32":
        state = path.stat()
        if (state.st_uid, state.st_gid) != looks.owner:
            os.chown(path, *looks.owner)
    if looks.like is not None:
        shutil.copystat(looks.like, path)
        os.utime(path)


def _owner_of(directory: Path) -> tuple[int, int] | None:
    """Whom a new file belongs to when root makes it: whom its directory belongs to."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    state = directory.stat()
    return state.st_uid, state.st_gid


def _make_directories(directory: Path, mode: int, undo: contextlib.ExitStack) -> None:
    if directory.is_dir():
        return
    _make_directories(directory.parent, mode, undo)
    owner = _owner_of(directory.parent)
    directory.mkdir(mode=mode, exist_ok=True)
    undo.callback(_remove_if_empty, directory)
    if owner is not None and sys.platform != "win32":
        os.chown(directory, *owner)


def _remove_if_empty(directory: Path) -> None:
    with contextlib.suppress(OSError):
        directory.rmdir()


def _read_bytes(path: Path) -> bytes:
    # Without waiting: opening a pipe that nobody writes to would wait for ever.
    descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_WAITING)
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if stat.S_ISDIR(state.st_mode):
            raise FileProblem(f"{path} cannot be read: is a directory")
        if not stat.S_ISREG(state.st_mode):
            raise FileProblem(f"{path} cannot be read: it is not an ordinary file")
        if state.st_size > MAX_BYTES:
            raise FileProblem(f"{path} cannot be read: it is larger than {MAX_BYTES // 1024**2} MB")
        return file.read()


def _fill(descriptor: int, text: str) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextlib.contextmanager
def _uninterrupted() -> Generator[None]:
    """Let a Ctrl-C, or a request to end, wait for the few milliseconds that a write takes."""
    if sys.platform == "win32":
        yield
        return
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "this is not the name of a file" if isinstance(error, ValueError) else type(error).__name__
