"""The records of accepted tools on disk, in the user's data directory: clearing a cache must not reset trust.

One file a server, named by a hash of what starts it; a record is changed only under a lock that all workbenches share,
starting from what it says then. Where an entry of the config comes to start something else, the new server inherits
what was accepted at that place, so that an edit of the config accepts nothing. A record that is damaged, or cannot be
read, counts as one by which nothing was accepted.
"""

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from mcp_workbench import directories, private_files
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.file_lock import locked
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.toolboxes.trust import Pin, Pins, Record

logger = logging.getLogger(__name__)

LARGEST = 32 * 1024 * 1024
"""Bytes of a record; a larger one keeps the digests alone."""

_VERSION = 1
_LARGEST_POINTER = 1000


class TrustRecords:
    """The records of all servers. One is read again only when its file was replaced."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._read: dict[Path, tuple[private_files.Signature, Record | None]] = {}
        self._unreadable: set[Path] = set()

    def read(self, identity: str) -> Record | None:
        """What is recorded of a server; None when it was never seen, an empty record when that cannot be read."""
        try:
            path = self._file(identity)
        except WorkbenchError:  # no home directory: there can be no record
            return None
        try:
            return self._readable(path)
        except OSError as error:
            if path not in self._unreadable:
                self._unreadable.add(path)
                logger.warning("the record of accepted tools %s cannot be read: %s", path, error.strerror)
            return Record()

    def change(self, identity: str, change: Callable[[Record | None], Record]) -> Record:
        """Replace a record by what `change` makes of it, while no other workbench can; the new record.

        Raises:
            OSError: It cannot be read or written; it is as it was.
            WorkbenchError: Another workbench has been changing records for too long, or there is nowhere to keep them.
        """
        path = self._file(identity)
        private_files.make_directory(path.parent)
        with locked(path):
            before = self._readable(path)
            after = change(before)
            if after != before:
                self._keep_damaged(path)
                private_files.write_bytes(path, _content(identity, after))
            return after

    def at(self, place: str) -> str | None:
        """Which server, by the name of its file, was last seen at a place of a config."""
        with contextlib.suppress(OSError, WorkbenchError):
            content = private_files.read_bytes(self._pointer(place), _LARGEST_POINTER)
            return content.decode(errors="replace").strip() if content else None
        return None

    def inherited(self, place: str) -> Record | None:
        """The record of the server that was last seen at a place, whatever starts it now; None when there was none."""
        name = self.at(place)
        if name is None or not name.isalnum():
            return None
        try:
            return self._readable(self._trust / f"{name}.json")
        except OSError:
            return Record()

    def settle_at(self, place: str, identity: str) -> None:
        """Remember which server is at a place.

        Raises:
            OSError: It cannot be written.
            WorkbenchError: There is nowhere to keep it.
        """
        name = _hash(identity)
        if self.at(place) != name:
            private_files.write_bytes(self._pointer(place), name.encode())

    @property
    def _trust(self) -> Path:
        if self._directory is None:
            self._directory = directories.data_dir() / "trust"
        return self._directory

    def _file(self, identity: str) -> Path:
        return self._trust / f"{_hash(identity)}.json"

    def _pointer(self, place: str) -> Path:
        return self._trust / "places" / _hash(place)

    def _readable(self, path: Path) -> Record | None:
        signature = private_files.signature(path)
        if signature is None:
            return None
        known = self._read.get(path)
        if known is None or known[0] != signature:
            record = _record(private_files.read_bytes(path, LARGEST))
            if record is None:
                logger.warning(
                    "the record of accepted tools %s is damaged: all tools of its server wait for a review", path
                )
            known = self._read[path] = signature, record
        return known[1] or Record()

    def _keep_damaged(self, path: Path) -> None:
        """Leave a damaged record beside the one that replaces it."""
        known = self._read.get(path)
        if known is not None and known[1] is None:
            with contextlib.suppress(OSError):
                aside = path.with_suffix(".damaged")
                aside.unlink(missing_ok=True)
                os.link(path, aside)  # not renamed: without a record the server would look as if it was never seen


@lru_cache(maxsize=1024)
def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:40]


def _content(identity: str, record: Record) -> bytes:
    whole = _written(identity, record, with_definitions=True)
    return whole if len(whole) <= LARGEST else _written(identity, record, with_definitions=False)


def _written(identity: str, record: Record, *, with_definitions: bool) -> bytes:
    content = {
        "version": _VERSION,
        "server": identity,  # which holds no secret; it tells a person which file this is
        "accepted": _pins_as_json(record.accepted, with_definitions),
        "waiting": _pins_as_json(record.waiting, with_definitions),
    }
    return codec.compact(content).encode(errors="backslashreplace")


def _pins_as_json(pins: Pins, with_definitions: bool) -> JSONObject:
    return {
        name: {"digest": pin.digest, "definition": pin.definition}
        if with_definitions and pin.definition is not None
        else {"digest": pin.digest}
        for name, pin in pins.items()
    }


def _record(content: bytes | None) -> Record | None:
    """The record in a file's content; None where it is damaged."""
    try:
        value: object = json.loads(content or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or cast(JSONObject, value).get("version") != _VERSION:
        return None
    try:
        accepted, waiting = (_pins_of(cast(JSONObject, value)[key]) for key in ("accepted", "waiting"))
    except (KeyError, TypeError, AttributeError):
        return None
    return Record(accepted, waiting)


def _pins_of(value: Mapping[str, Mapping[str, Any]]) -> Pins:
    return {name: Pin(str(pin["digest"]), _mapping(pin.get("definition"))) for name, pin in value.items()}


def _mapping(value: object) -> Mapping[str, Any] | None:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else None
