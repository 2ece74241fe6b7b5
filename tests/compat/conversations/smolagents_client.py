# pyright: basic, reportMissingImports=false
"""smolagents' tools."""

from common import ARGS, COMMAND, OPEN, USE, report
from mcp import StdioServerParameters
from smolagents import MCPClient

with MCPClient(StdioServerParameters(command=COMMAND, args=ARGS), structured_output=False) as found:
    tools = {tool.name: tool for tool in found}
    report(tools, tools["open_toolbox"](**OPEN), tools["use_tool"](**USE))
