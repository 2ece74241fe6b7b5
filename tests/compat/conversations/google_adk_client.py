# pyright: basic, reportMissingImports=false
"""google-adk's toolset."""

import anyio
from common import ARGS, COMMAND, OPEN, USE, report
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from mcp import StdioServerParameters


async def main() -> None:
    server = StdioServerParameters(command=COMMAND, args=ARGS)
    toolset = McpToolset(connection_params=StdioConnectionParams(server_params=server, timeout=60))
    tools = {tool.name: tool for tool in await toolset.get_tools()}
    opened = await tools["open_toolbox"].run_async(args=OPEN, tool_context=None)
    used = await tools["use_tool"].run_async(args=USE, tool_context=None)
    report(tools, opened, used)
    await toolset.close()


anyio.run(main)
