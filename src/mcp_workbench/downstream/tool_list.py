"""The tools of one server, as it listed them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from mcp_types import METHOD_NOT_FOUND

from mcp_workbench.downstream.handshake import Greeting
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import BadAnswer, RemoteError
from mcp_workbench.jsonrpc.peer import Peer

_MAX_PAGES = 500
MAX_TOOLS = 10_000
MAX_SIZE = 64 * 1024 * 1024
"""Characters of JSON that the tools of one server may have together."""


class ToolList:
    """What a server offers, in its own order."""

    def __init__(self, tools: Iterable[JSONObject], source: "ToolList | None" = None) -> None:
        self._tools = {cast(str, tool["name"]): tool for tool in tools}
        self.source = source
        """The list that this one is a filtered view of."""

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def names(self) -> list[str]:
        """The tools' names."""
        return list(self._tools)

    @property
    def raw(self) -> list[JSONObject]:
        """The tools as the server sent them."""
        return list(self._tools.values())

    def filtered(self, admits: Callable[[str], bool]) -> "ToolList":
        """The tools whose names are admitted."""
        return ToolList((tool for name, tool in self._tools.items() if admits(name)), source=self)


async def read_tool_list(peer: Peer, greeting: Greeting, declared: Mapping[str, Any]) -> ToolList:
    """Every page of a server's tools; none when it offers none.

    Raises:
        RemoteError: The server refuses.
        BadAnswer: The list makes no sense, or never ends.
    """
    if not greeting.offers("tools"):
        return ToolList(())
    tools: list[JSONObject] = []
    size = 0
    cursors: set[str] = set()
    params: JSONObject = {}
    for _ in range(_MAX_PAGES):
        result = await _read_page(peer, greeting, declared, params)
        page = _named(result.get("tools"))
        tools += page
        size += sum(len(codec.compact(tool)) for tool in page)
        _refuse_excess(len(tools), size)
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str):
            return ToolList(tools)
        if cursor in cursors:
            raise BadAnswer(f"its tool list repeats the page {cursor!r:.60} for ever")
        cursors.add(cursor)
        params = {"cursor": cursor}
    raise BadAnswer(f"its tool list has not ended after {_MAX_PAGES} pages")


def _refuse_excess(tools: int, size: int) -> None:
    if tools > MAX_TOOLS:
        raise BadAnswer(f"its tool list has more than {MAX_TOOLS:,} tools")
    if size > MAX_SIZE:
        raise BadAnswer(f"its tool list has more than {MAX_SIZE >> 20} MB")


async def _read_page(peer: Peer, greeting: Greeting, declared: Mapping[str, Any], params: JSONObject) -> JSONObject:
    meta = greeting.stamp({}, declared)
    try:
        return await peer.request("tools/list", {**params, "_meta": meta} if meta else params)
    except RemoteError as refusal:
        if refusal.code == METHOD_NOT_FOUND and not params:
            return {"tools": []}
        raise


def _named(tools: object) -> list[JSONObject]:
    if not isinstance(tools, list):
        raise BadAnswer("its tool list is not a list")
    candidates = [cast(JSONObject, tool) for tool in cast(list[object], tools) if isinstance(tool, dict)]
    return [tool for tool in candidates if isinstance(tool.get("name"), str)]
