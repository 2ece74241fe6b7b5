"""Logins on disk: one file each in the user's data directory, readable by the user alone.

A file is replaced whole or not at all. A damaged one is put aside under another name, with a note in the log, and
counts as no login. Whoever changes a file holds its lock; whoever only reads needs none, since a file is always whole.
"""

import hashlib
import logging
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from mcp_workbench import directories, private_files
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
        self._seen: private_files.Signature | None = None
        self._record: Record | None = None

    @property
    def path(self) -> Path:
        """Where the login is kept."""
        return self._path

    def read(self) -> Record | None:
        """The login as it stands on disk now; None where there is none, or none that can be read."""
        try:
            signature = private_files.signature(self._path)
            if signature is None:
                self._record = None
            elif signature != self._seen:
                self._record = self._parsed()
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
        private_files.write_bytes(self._path, to_json(record))

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
        private_files.make_directory(self._directory)
        return locked(self._path.with_suffix(".lock"), patience=_LOCK_PATIENCE)

    def _parsed(self) -> Record | None:
        content = private_files.read_bytes(self._path, _LARGEST)
        record = from_json(content) if content is not None else None
        if record is None:
            aside = private_files.put_aside(self._path)
            _log.warning("a login could not be read and was put aside as %s: log in again", aside)
        return record


def _key(url: str, client_id: str | None, account: str | None) -> str:
    """A file name that tells servers and accounts apart and gives nothing away."""
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2].lower()
    identity = urlunsplit((parts.scheme.lower(), netloc, parts.path, parts.query, ""))
    return hashlib.sha256("\n".join((identity, client_id or "", account or "")).encode()).hexdigest()[:40]
