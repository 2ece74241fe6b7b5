# pyright: basic, reportMissingImports=false
"""pydantic-ai, with a model that calls what it is told to, and sees what a model would."""

import anyio
from common import ARGS, COMMAND, OPEN, USE, report
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

CALLS = [("open_toolbox", OPEN), ("use_tool", USE)]
seen: dict = {"returned": []}


def model(messages, info):
    seen["tools"] = [tool.name for tool in info.function_tools]
    parts = [part for message in messages for part in message.parts]
    seen["returned"] = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    done = len(seen["returned"])
    return ModelResponse(parts=[ToolCallPart(*CALLS[done]) if done < len(CALLS) else TextPart("done")])


async def main() -> None:
    async with Agent(
        FunctionModel(model), toolsets=[MCPToolset(StdioTransport(COMMAND, ARGS), init_timeout=60)]
    ) as agent:
        await agent.run("Add.")
    report(seen["tools"], *seen["returned"])


anyio.run(main)
