# pyright: basic, reportMissingImports=false
"""autogen-ext: `McpWorkbench`, one workbench for all calls."""

import anyio
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams
from common import ARGS, COMMAND, OPEN, USE, report


async def main() -> None:
    params = StdioServerParams(command=COMMAND, args=ARGS, read_timeout_seconds=60)
    async with McpWorkbench(params) as workbench:
        tools = [tool["name"] for tool in await workbench.list_tools()]
        opened, used = await workbench.call_tool("open_toolbox", OPEN), await workbench.call_tool("use_tool", USE)
        report(tools, opened.to_text(), used.to_text())


anyio.run(main)
