"""Logins on disk: one file each in the user's data directory, readable by the user alone.

A file is replaced whole or not at all. A damaged one is put aside under another name, with a note in the log, and
counts as no login. Whoever changes a file holds its lock; whoever only reads needs none, since a file is always whole.
"""

import contextlib
import hashlib
import logging
import os
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from mcp_workbench import directories
from mcp_workbench.downstream.transports.login.file_lock import locked
from mcp_workbench.downstream.transports.login.record import Record, from_json, to_json

_log = logging.getLogger(__name__)

_LOCK_PATIENCE = 30.0
_LARGEST = 1_000_000


class StoredLogin:
    """The file of one login. Reading it again costs a `stat` while nobody has changed it."""

    def __init__(self, url: str, client_id: str | None = None, account: str | None = None) -> None:
        self._directory = directories.data_dir() / "logins"
        self._path = self._directory / f"{_key(url, client_id, account)}.json"
        self._seen: tuple[int, int, int] | None = None
        self._record: Record | None = None

    @property
    def path(self) -> Path:
        """Where the login is kept."""
        return self._path

    def read(self) -> Record | None:
        """The login as it stands on disk now; None where there is none, or none that can be read."""
        try:
            status = self._path.stat()
            signature = (status.st_mtime_ns, status.st_size, status.st_ino)
            if signature != self._seen:
                self._record = self._parsed(status.st_size)
                self._seen = signature
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                _log.warning("the login in %s cannot be read: %s", self._path, error.strerror)
            self._seen = self._record = None
        return self._record

    def write(self, record: Record) -> None:
        """Replace the file; the caller holds the lock.

        Raises:
            OSError: It cannot be written; what was there before still is.
        """
        self._make_directory()
        descriptor, name = tempfile.mkstemp(prefix=f".{self._path.stem[:16]}.", suffix=".tmp", dir=self._directory)
        try:
            with os.fdopen(descriptor, "wb") as file:  # mkstemp makes it 0600
                file.write(to_json(record))
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def keep(self, record: Record) -> None:
        """Go on with a login that could not be written, until the file changes."""
        self._record = record

    def forget(self) -> None:
        """Delete the file, and what was put aside as damaged; the caller holds the lock."""
        for path in (self._path, self._path.with_suffix(".damaged")):
            path.unlink(missing_ok=True)

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Keep other processes from changing this login.

        Raises:
            LockBusy: Another process keeps it for too long.
            OSError: The directory cannot be written.
        """
        self._make_directory()
        return locked(self._path.with_suffix(".lock"), patience=_LOCK_PATIENCE)

    def _parsed(self, size: int) -> Record | None:
        record = from_json(self._path.read_bytes()) if size <= _LARGEST else None
        if record is None:
            aside = self._path.with_suffix(".damaged")
            with contextlib.suppress(OSError):
                os.replace(self._path, aside)
            _log.warning("a login could not be read and was put aside as %s: log in again", aside)
        return record

    def _make_directory(self) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            self._directory.chmod(0o700)


def _key(url: str, client_id: str | None, account: str | None) -> str:
    """A file name that tells servers and accounts apart and gives nothing away."""
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2].lower()
    identity = urlunsplit((parts.scheme.lower(), netloc, parts.path, parts.query, ""))
    return hashlib.sha256("\n".join((identity, client_id or "", account or "")).encode()).hexdigest()[:40]
