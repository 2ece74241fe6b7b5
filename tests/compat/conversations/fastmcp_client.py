# pyright: basic, reportMissingImports=false
"""fastmcp's client."""

import anyio
from common import ARGS, COMMAND, OPEN, USE, report
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    async with Client(StdioTransport(COMMAND, ARGS)) as client:
        tools = [tool.name for tool in await client.list_tools()]
        report(tools, await client.call_tool("open_toolbox", OPEN), await client.call_tool("use_tool", USE))


anyio.run(main)
