# pyright: basic, reportMissingImports=false
"""langchain-mcp-adapters with a session: one workbench for all calls."""

import anyio
from common import ARGS, COMMAND, OPEN, USE, report
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools


async def main() -> None:
    client = MultiServerMCPClient({"workbench": {"transport": "stdio", "command": COMMAND, "args": ARGS}})
    async with client.session("workbench") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        report(tools, await tools["open_toolbox"].ainvoke(OPEN), await tools["use_tool"].ainvoke(USE))


anyio.run(main)
