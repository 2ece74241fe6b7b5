"""The catalog: what every server offered when it last listed its tools, so that they can be searched without it.

One file a server in the user's cache directory, named by a hash of what starts the server: with another command, other
arguments or another address it is another server. Files are replaced whole, so workbenches may share them without a
lock; the last one to list a server's tools is right. A damaged file is thrown away with a note in the log, and clearing
the directory costs nothing but the search until the servers have run again. No secret is written.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from mcp_workbench import directories, private_files
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.toolboxes.masking import without_secrets

logger = logging.getLogger(__name__)

LARGEST = 16 * 1024 * 1024
"""Bytes of one server's tools; what is larger is not kept."""

MOST_FILES = 1000
"""Servers that are remembered; beyond them, the ones that were written longest ago are forgotten."""

_VERSION = 1
_KEPT = ("name", "title", "description", "inputSchema", "annotations")


class Catalog:
    """The tool lists on disk. A list is read again only when its file was replaced."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._read: dict[str, tuple[private_files.Signature, ToolList | None]] = {}
        self._pruned = False

    @property
    def directory(self) -> Path:
        """Where the files are."""
        if self._directory is None:
            self._directory = directories.cache_dir() / "catalog"
        return self._directory

    def read(self, identity: str) -> ToolList | None:
        """The tools that a server listed last; None when it was never seen, or its file cannot be read."""
        try:
            path = self._path(identity)
            signature = private_files.signature(path)
            if signature is None:
                return None
            known = self._read.get(identity)
            if known is None or known[0] != signature:
                known = self._read[identity] = signature, _read_file(path)
            return known[1]
        except (OSError, WorkbenchError) as error:
            logger.warning("the catalog cannot be read: %s", error)
            return None

    def write(self, identity: str, tools: Sequence[Mapping[str, Any]], redact: Callable[[str], str]) -> None:
        """Remember what a server has just listed; what cannot be written is noted in the log, and not found later."""
        content = _content(tools, redact)
        try:
            path = self._path(identity)
            if len(content) > LARGEST:
                path.unlink(missing_ok=True)
                logger.warning("tools of %s bytes are too many for the catalog: they cannot be searched", len(content))
            elif not _holds(path, content):
                private_files.write_bytes(path, content, durable=False)
                self._prune()
        except (OSError, WorkbenchError) as error:
            logger.warning("the catalog cannot be written: %s", error)

    def _path(self, identity: str) -> Path:
        digest = hashlib.sha256(identity.encode(errors="backslashreplace")).hexdigest()
        return self.directory / f"{digest[:40]}.json"

    def _prune(self) -> None:
        """Forget the oldest files, once in a process's life: servers come and go over the years."""
        if self._pruned:
            return
        self._pruned = True
        files = sorted(self.directory.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in files[MOST_FILES:]:
            file.unlink(missing_ok=True)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return private_files.read_bytes(path, LARGEST) == content
    except FileNotFoundError:
        return False


def _content(tools: Sequence[Mapping[str, Any]], redact: Callable[[str], str]) -> bytes:
    kept = [{key: tool[key] for key in _KEPT if key in tool} for tool in tools]
    text = codec.compact({"version": _VERSION, "tools": kept})
    if redact(text) != text:
        text = codec.compact({"version": _VERSION, "tools": without_secrets(kept, redact)})
    return text.encode(errors="backslashreplace")


def _read_file(path: Path) -> ToolList | None:
    content = private_files.read_bytes(path, LARGEST)
    tools = _tools_in(content) if content is not None else None
    if tools is None:
        logger.warning("the catalog's file %s is damaged and was thrown away", path)
        path.unlink(missing_ok=True)
        return None
    return ToolList(tools)


def _tools_in(content: bytes) -> Iterable[JSONObject] | None:
    try:
        value: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or cast(JSONObject, value).get("version") != _VERSION:
        return None
    tools: object = cast(JSONObject, value).get("tools")
    if not isinstance(tools, list):
        return None
    entries = cast(list[object], tools)
    if not all(isinstance(tool, dict) and isinstance(cast(JSONObject, tool).get("name"), str) for tool in entries):
        return None
    return cast(list[JSONObject], entries)
