# pyright: basic, reportMissingImports=false
"""autogen-ext: `mcp_server_tools`, a fresh workbench for every call."""

import anyio
from autogen_core import CancellationToken
from autogen_ext.tools.mcp import StdioServerParams, mcp_server_tools
from common import ARGS, COMMAND, OPEN, USE, report


async def main() -> None:
    params = StdioServerParams(command=COMMAND, args=ARGS, read_timeout_seconds=60)
    tools = {tool.name: tool for tool in await mcp_server_tools(params)}
    token = CancellationToken()
    opened = await tools["open_toolbox"].run_json(OPEN, token)
    used = await tools["use_tool"].run_json(USE, token)
    report(tools, tools["open_toolbox"].return_value_as_string(opened), tools["use_tool"].return_value_as_string(used))


anyio.run(main)
