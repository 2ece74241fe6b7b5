# pyright: basic, reportMissingImports=false
"""openai-agents: the schemas as they come, or made strict where they can be, as the last argument says."""

import json

import anyio
from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio
from agents.mcp.util import MCPUtil
from agents.tool_context import ToolContext
from common import ARGS, COMMAND, OPEN, USE, report

*ARGS, STRICT = ARGS


async def main() -> None:
    async with MCPServerStdio(params={"command": COMMAND, "args": ARGS}, client_session_timeout_seconds=60) as server:
        agent = Agent(name="a", mcp_servers=[server])
        found = await MCPUtil.get_all_function_tools([server], STRICT == "strict", RunContextWrapper(None), agent)
        tools = {tool.name: tool for tool in found}

        async def call(name: str, arguments: dict) -> object:
            text = json.dumps(arguments)
            context = ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=text)
            return await tools[name].on_invoke_tool(context, text)

        report(tools, await call("open_toolbox", OPEN), await call("use_tool", USE))


anyio.run(main)
