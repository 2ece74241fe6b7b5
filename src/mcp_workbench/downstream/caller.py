"""Who asked for a tool call: what the client declared, and the ways to reach it while its request is open."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from mcp_types import LoggingLevel

from mcp_workbench.jsonrpc.codec import JSONObject

LOG_LEVELS: tuple[LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
"""Least severe first."""

CAPABILITY_OF = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""What a server may ask, and what a client declares that can be asked it."""

MIRRORED = tuple(CAPABILITY_OF.values())
"""The client capabilities that a downstream server is told about."""

Tell = Callable[[str, JSONObject], Awaitable[None]]
Ask = Callable[[str, JSONObject], Awaitable[JSONObject]]


async def _tell_nobody(method: str, params: JSONObject) -> None:
    """A caller without a channel hears nothing."""


@dataclass(frozen=True)
class Caller:
    """The client's side of one request."""

    declared: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its capabilities among MIRRORED, exactly as it declared them."""

    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its request's `_meta`, less what belongs to the hop between it and the workbench."""

    progress_token: str | int | None = None
    """The token under which it wants to hear of progress."""

    log_level: LoggingLevel | None = None
    """The least severe log messages it wants to hear."""

    tell: Tell = _tell_nobody
    """Sends it a notification that belongs to its request."""

    ask: Ask | None = None
    """Asks it something while its request is open; None when the era forbids that."""

    answers: Mapping[str, JSONObject] | None = None
    """On a retry: its answers to the questions of the round before."""

    state: str | None = None
    """On a retry: what the workbench gave it to hold, verified."""


def mirrored(capabilities: object) -> JSONObject:
    """The part of a client's capabilities that downstream servers are told."""
    if not isinstance(capabilities, Mapping):
        return {}
    declared = cast(Mapping[str, Any], capabilities)
    return {name: declared[name] for name in MIRRORED if isinstance(declared.get(name), Mapping)}


def missing_capability(declared: Mapping[str, Any], method: str, params: JSONObject) -> str | None:
    """What the client would have to declare to be asked this; an elicitation without modes means forms."""
    name = CAPABILITY_OF.get(method, method)
    capability = declared.get(name)
    if not isinstance(capability, Mapping):
        return name
    if name != "elicitation":
        return None
    mode = params.get("mode", "form")
    known: list[object] = [*capability]
    return None if mode in known or (mode == "form" and "url" not in known) else f"{name} in {mode} mode"
