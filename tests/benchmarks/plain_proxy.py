"""A one-hop proxy written the plain way on the SDK: typed results, its own stdio transports, nothing tuned.

`argv[1]` is the number of downstream servers, the rest the command of each.
"""

import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from mcp_types import CallToolResult

clients: list[Client] = []


@asynccontextmanager
async def connected(_: MCPServer[None]) -> AsyncGenerator[None]:
    command, *args = sys.argv[2:]
    async with AsyncExitStack() as stack:
        for _number in range(int(sys.argv[1])):
            client = Client(StdioServerParameters(command=command, args=args))
            clients.append(await stack.enter_async_context(client))
        yield


server = MCPServer[None]("plain-proxy", lifespan=connected)


@server.tool()
async def use_tool(server: int, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    """Use a tool of one of the servers."""
    return await clients[server].call_tool(tool, arguments)


if __name__ == "__main__":
    server.run()
