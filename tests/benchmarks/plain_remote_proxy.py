"""A one-hop proxy to remote servers, written the plain way on the SDK: typed results, its own HTTP client.

The arguments are the addresses of the servers.
"""

import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult

clients: list[Client] = []


@asynccontextmanager
async def connected(_: MCPServer[None]) -> AsyncGenerator[None]:
    async with AsyncExitStack() as stack:
        for url in sys.argv[1:]:
            clients.append(await stack.enter_async_context(Client(url)))  # noqa: PERF401 - one after the other
        yield


server = MCPServer[None]("plain-remote-proxy", lifespan=connected)


@server.tool()
async def use_tool(server: int, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    """Use a tool of one of the servers."""
    return await clients[server].call_tool(tool, arguments)


if __name__ == "__main__":
    server.run()
