"""Reading and replacing a config file so that no interruption can leave half of it, or lose what it said.

A symbolic link is followed: the file that it points to is the one that changes. The mode bits stay.
"""

import contextlib
import difflib
import os
import stat
import tempfile
from datetime import datetime
from pathlib import Path

from mcp_workbench.clients.jsonc import parse
from mcp_workbench.clients.secrets import mask
from mcp_workbench.errors import WorkbenchError


class FileProblem(WorkbenchError):
    """A file that cannot be read or written as asked."""


def read_text(path: Path) -> str | None:
    """Return what a file says, exactly, or None when there is no such file.

    Raises:
        FileProblem: It is there but cannot be read as text.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise FileProblem(f"{path} is not UTF-8 text: save it as UTF-8 and try again") from None
    except OSError as error:
        raise FileProblem(f"{path} cannot be read: {_reason(error)}") from error


def replace_text(path: Path, before: str | None, after: str) -> Path | None:
    """Replace a file's text, which was `before`, and return the backup that holds it (None for a new file).

    Raises:
        FileProblem: The file was changed by someone else in the meantime, or cannot be written. It is untouched.
    """
    target = Path(os.path.realpath(path))
    try:
        if read_text(target) != before:
            raise FileProblem(f"{path} was changed by another program just now: nothing was written, try again")
        if before is None:
            target.parent.mkdir(parents=True, exist_ok=True)
            _write_atomically(target, after, None)
            return None
        if not os.access(target, os.W_OK):
            raise FileProblem(f"{path} cannot be written: it is read-only")
        mode = stat.S_IMODE(target.stat().st_mode)
        backup = _write_backup(target, before, mode)
        try:
            _write_atomically(target, after, mode)
        except BaseException:
            backup.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileProblem(f"{path} cannot be written: {_reason(error)}") from error
    return backup


def preview(before: str, after: str, path: Path) -> str:
    """Return a change as a diff that is fit for a screen: both texts' secrets are blotted out."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="")
    diff = "\n".join(lines)
    for text in (before, after):
        diff = mask(diff, parse(text).value) if text.strip() else diff
    return diff


def _write_backup(target: Path, text: str, mode: int) -> Path:
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    for number in range(1, 1000):
        suffix = stamp if number == 1 else f"{stamp}-{number}"
        backup = target.with_name(f"{target.name}.{suffix}.bak")
        with contextlib.suppress(FileExistsError):
            # Private from its first byte: the file may hold secrets.
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            _fill(descriptor, text)
            backup.chmod(mode)
            return backup
    raise FileProblem(f"{target} has too many backups beside it")


def _write_atomically(target: Path, text: str, mode: int | None) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        _fill(descriptor, text)
        if mode is not None:
            Path(name).chmod(mode)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _fill(descriptor: int, text: str) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())


def _reason(error: OSError) -> str:
    return error.strerror.lower() if error.strerror else type(error).__name__
