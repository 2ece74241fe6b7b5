"""The HTTP headers that go with a message, as its protocol era wants them.

A legacy message carries the session and the version that were agreed on; a modern one repeats what it says of itself
(version, method, the tool's name, and those arguments that the tool's schema marks), so that what stands between client
and server can route it without reading it.
"""

from collections.abc import Mapping
from typing import Any, cast

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    X_MCP_HEADER_KEY,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp_types import PROTOCOL_VERSION_META_KEY

from mcp_workbench.downstream.transports.exchange import params_of
from mcp_workbench.jsonrpc.codec import JSONObject

SESSION_HEADER = "mcp-session-id"
ACCEPTED = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
EVENTS = {"accept": "text/event-stream", "cache-control": "no-store"}


def modern_version(message: Mapping[str, Any]) -> str | None:
    """The protocol version in a modern message's envelope; None for a legacy message."""
    meta = params_of(message).get("_meta")
    version = cast("Mapping[str, Any]", meta).get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, Mapping) else None
    return version if isinstance(version, str) else None


class HeaderMaker:
    """Knows what was agreed on with one server, and which arguments its tools want repeated in headers."""

    def __init__(self) -> None:
        self.session: str | None = None
        self.version: str | None = None
        """The legacy version that was agreed on."""
        self._arguments: dict[str, dict[tuple[str, ...], str]] = {}

    def legacy(self) -> dict[str, str]:
        """What every legacy request carries after the handshake."""
        headers: dict[str, str] = {}
        if self.session is not None:
            headers[SESSION_HEADER] = self.session
        if self.version is not None:
            headers[MCP_PROTOCOL_VERSION_HEADER] = self.version
        return headers

    def of(self, message: Mapping[str, Any]) -> dict[str, str]:
        """The headers of one message."""
        version = modern_version(message)
        if version is not None:
            return {**ACCEPTED, **self._modern(message, version)}
        return {**ACCEPTED, **({} if message.get("method") == "initialize" else self.legacy())}

    def learn_tools(self, result: object) -> None:
        """Remember which arguments of a server's tools go into headers."""
        tools = cast("Mapping[str, Any]", result).get("tools") if isinstance(result, Mapping) else None
        for tool in cast("list[object]", tools if isinstance(tools, list) else []):
            if isinstance(tool, dict) and isinstance(name := cast(JSONObject, tool).get("name"), str):
                schema = cast(JSONObject, tool).get("inputSchema")
                marked = X_MCP_HEADER_KEY in repr(schema) and find_invalid_x_mcp_header(schema) is None
                if marked:
                    self._arguments[name] = x_mcp_header_map(schema)
                else:
                    self._arguments.pop(name, None)

    def _modern(self, message: Mapping[str, Any], version: str) -> dict[str, str]:
        method, params = str(message.get("method")), params_of(message)
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method}
        name = params.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            if method == "tools/call" and (marked := self._arguments.get(name)):
                headers |= mcp_param_headers(marked, params.get("arguments") or {})
        return headers
