# pyright: basic, reportMissingImports=false
"""llama-index-tools-mcp: a fresh workbench for every call."""

import anyio
from common import ARGS, COMMAND, OPEN, USE, report
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


async def main() -> None:
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(BasicMCPClient(COMMAND, ARGS)).to_tool_list_async()}
    report(tools, await tools["open_toolbox"].acall(**OPEN), await tools["use_tool"].acall(**USE))


anyio.run(main)
