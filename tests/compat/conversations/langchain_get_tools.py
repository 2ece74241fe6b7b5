# pyright: basic, reportMissingImports=false
"""langchain-mcp-adapters with `get_tools`: a fresh workbench for every call."""

import anyio
from common import ARGS, COMMAND, OPEN, USE, report
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main() -> None:
    client = MultiServerMCPClient({"workbench": {"transport": "stdio", "command": COMMAND, "args": ARGS}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    report(tools, await tools["open_toolbox"].ainvoke(OPEN), await tools["use_tool"].ainvoke(USE))


anyio.run(main)
