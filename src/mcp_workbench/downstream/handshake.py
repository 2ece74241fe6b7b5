"""How the workbench and a downstream server agree on a protocol era.

A server is first asked with `server/discover`, then greeted with `initialize`. A server that does not answer the first
in good time gets the second as well, on the same pipe: one that is only slow to start answers the probe first, and one
that ignores methods it does not know answers the greeting.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from mcp_workbench import __version__
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import BadAnswer, RemoteError
from mcp_workbench.jsonrpc.peer import Peer, Request

_PROBE_PATIENCE = 1.0
"""Seconds to wait for an answer to the probe before the greeting is sent as well."""

CLIENT_INFO = {"name": "mcp-workbench", "version": __version__}


@dataclass(frozen=True)
class Greeting:
    """What a server said about itself."""

    version: str
    capabilities: JSONObject
    instructions: str | None = None
    """What it tells a model about itself."""

    @property
    def modern(self) -> bool:
        """Whether requests carry the envelope of 2026-07-28 and later."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    def offers(self, capability: str) -> bool:
        """Whether the server declared a capability, in whatever shape."""
        return self.capabilities.get(capability) is not None

    @property
    def announces_changes(self) -> bool:
        """Whether the server says when its tools change."""
        return bool(_object(self.capabilities.get("tools")).get("listChanged"))

    def stamp(self, meta: Mapping[str, Any], declared: Mapping[str, Any]) -> JSONObject:
        """A request's `_meta` as this server expects it, given what the client declared."""
        return {**meta, **envelope(self.version, declared)} if self.modern else dict(meta)


def envelope(version: str, declared: Mapping[str, Any]) -> JSONObject:
    """The `_meta` keys that every modern request carries."""
    return {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: CLIENT_INFO,
        CLIENT_CAPABILITIES_META_KEY: dict(declared),
    }


async def greet(peer: Peer, declared: Mapping[str, Any], *, legacy_first: bool) -> Greeting:
    """Agree on an era with a server that has just started.

    Raises:
        RemoteError: The server refuses to speak any version known here.
        BadAnswer: Its answer makes no sense.
        PeerGone: It is gone.
    """
    if legacy_first:
        try:
            return _initialized(peer, await _start_initialize(peer, declared).result())
        except RemoteError as refusal:
            if refusal.code != UNSUPPORTED_PROTOCOL_VERSION:
                raise
    probe = _start_discover(peer, declared, LATEST_MODERN_VERSION)
    with anyio.move_on_after(_PROBE_PATIENCE):
        await probe.wait()
    if not probe.settled:
        return await _greet_both_ways(peer, declared, probe)
    return await _discovered(peer, declared, probe) or _initialized(
        peer, await _start_initialize(peer, declared).result()
    )


async def _greet_both_ways(peer: Peer, declared: Mapping[str, Any], probe: Request) -> Greeting:
    """Wait for whichever of probe and greeting the server answers with a yes."""
    hello = _start_initialize(peer, declared)
    async with anyio.create_task_group() as either:

        async def leave_when_settled(request: Request) -> None:
            await request.wait()
            either.cancel_scope.cancel()

        either.start_soon(leave_when_settled, probe)
        either.start_soon(leave_when_settled, hello)
    if probe.settled and (greeting := await _discovered(peer, declared, probe)) is not None:
        return greeting
    try:
        return _initialized(peer, await hello.result())
    except RemoteError as refusal:
        # A server that was slow to answer the probe is modern by now, and refuses the greeting for it.
        await probe.wait()
        greeting = await _discovered(peer, declared, probe)
        if greeting is None:
            raise refusal from None
        return greeting


def _start_discover(peer: Peer, declared: Mapping[str, Any], version: str) -> Request:
    return peer.start("server/discover", {"_meta": envelope(version, declared)}, cancellable=False)


def _start_initialize(peer: Peer, declared: Mapping[str, Any]) -> Request:
    params = {
        "protocolVersion": LATEST_HANDSHAKE_VERSION,
        "capabilities": dict(declared),
        "clientInfo": CLIENT_INFO,
    }
    return peer.start("initialize", params, cancellable=False)


async def _discovered(peer: Peer, declared: Mapping[str, Any], probe: Request) -> Greeting | None:
    """What the probe's answer says; None when it is no evidence of a modern server."""
    try:
        result = probe.outcome()
    except RemoteError as refusal:
        version = _mutual_version(_supported(refusal.data))
        if refusal.code != UNSUPPORTED_PROTOCOL_VERSION or version is None:
            return None
        result = await _start_discover(peer, declared, version).result()
    except BadAnswer:
        return None
    version = _mutual_version(result.get("supportedVersions"))
    return None if version is None else _greeting(version, result)


def _initialized(peer: Peer, result: JSONObject) -> Greeting:
    version = result.get("protocolVersion")
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise BadAnswer(f"it speaks protocol version {version!r:.60}, which is not known here")
    peer.notify("notifications/initialized")
    return _greeting(version, result)


def _greeting(version: str, result: JSONObject) -> Greeting:
    instructions = result.get("instructions")
    said = instructions.strip() if isinstance(instructions, str) else ""
    return Greeting(version, _object(result.get("capabilities")), said or None)


def _supported(error_data: object) -> object:
    return cast(JSONObject, error_data).get("supported") if isinstance(error_data, dict) else None


def _mutual_version(offered: object) -> str | None:
    """The newest modern version that both sides speak."""
    if not isinstance(offered, list):
        return None
    return next((version for version in reversed(MODERN_PROTOCOL_VERSIONS) if version in offered), None)


def _object(value: object) -> JSONObject:
    return cast(JSONObject, value) if isinstance(value, dict) else {}
