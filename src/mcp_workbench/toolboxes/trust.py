"""What a person accepted of a server's tools, and what differs from it now.

The first time that a server lists tools, they are accepted as they are. From then on a tool whose name, description,
input schema or annotations differ from the accepted ones, or that is new, is *waiting* until a person accepts exactly
what they were shown. Nothing else accepts: not seeing a change again, a restart, a reload, another workbench with the
same records, or an edit of the config. Tools that a server takes away stay accepted as they were, so one that
comes back in another form is a change. A server that lists no tools yet has not been seen.

This module knows definitions and records; `trust_records` keeps them on disk.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcp_workbench.toolboxes.masking import without_secrets

PINNED = ("name", "description", "inputSchema", "annotations")
"""What a model or a person goes by when a tool is used; a change of anything else is none."""

LONGEST_SHOWN = 100_000
"""Characters of a definition that are kept to be shown; a longer one is only known by its digest."""


@dataclass(frozen=True)
class Pin:
    """One definition of a tool: its digest, and itself as far as it can be kept to be shown."""

    digest: str
    definition: Mapping[str, Any] | None = field(default=None, compare=False)


Pins: TypeAlias = Mapping[str, Pin]
"""Definitions by the tools' names."""


@dataclass(frozen=True)
class Record:
    """What was accepted of a server's tools, and what of its last listing is waiting to be."""

    accepted: Pins = field(default_factory=dict[str, Pin])
    waiting: Pins = field(default_factory=dict[str, Pin])

    def differing(self, seen: Pins) -> Pins:
        """The tools of a listing that are not what was accepted."""
        return {name: pin for name, pin in seen.items() if self.accepted.get(name) != pin}

    def is_new(self, tool: str) -> bool:
        """Whether no definition of this tool was ever accepted."""
        return tool not in self.accepted

    def having_seen(self, seen: Pins) -> "Record":
        """The record after a listing, which accepts nothing."""
        return Record(self.accepted, self.differing(seen))

    def having_accepted(self, shown: Pins) -> "Record":
        """The record after a person accepted what they were shown; what has changed again since is still waiting."""
        agreed = {name: pin for name, pin in shown.items() if self.waiting.get(name) == pin}
        still = {name: pin for name, pin in self.waiting.items() if name not in agreed}
        return Record({**self.accepted, **agreed}, still)


def first_sight(seen: Pins) -> Record:
    """The record of a server that was never seen before."""
    return Record(accepted=seen)


def pins(tools: Iterable[Mapping[str, Any]], redact: Callable[[str], str]) -> Pins:
    """The definitions of tools. Secrets in them are masked first, so that no digest could be used to guess one."""
    return {str(tool["name"]): _pin(tool, redact) for tool in tools}


def _pin(tool: Mapping[str, Any], redact: Callable[[str], str]) -> Pin:
    definition = {key: tool[key] for key in PINNED if tool.get(key) is not None}
    # The order of an object's keys means nothing, and some servers write it differently each time.
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), default=str)
    masked = redact(text)
    digest = hashlib.sha256(masked.encode(errors="backslashreplace")).hexdigest()
    if len(text) > LONGEST_SHOWN:
        return Pin(digest)
    return Pin(digest, definition if masked == text else without_secrets(definition, redact))
