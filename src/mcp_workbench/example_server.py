"""A small MCP server to try the workbench with: `python -m mcp_workbench.example_server`.

It needs neither network nor files. `mcp-workbench demo` and the config that `mcp-workbench init` writes use it.
"""

import secrets
from datetime import datetime, timedelta, timezone
from typing import Annotated, Literal

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import Field

from mcp_workbench import __version__

Unit = Literal["celsius", "fahrenheit", "kelvin"]

server = MCPServer("example", version=__version__, instructions="A few harmless tools to try a client with.")


@server.tool(structured_output=False)
def add(
    a: Annotated[float, Field(description="The first number")],
    b: Annotated[float, Field(description="The second number")],
) -> str:
    """Add two numbers."""
    return f"{a + b:g}"


@server.tool(structured_output=False)
def convert_temperature(
    degrees: Annotated[float, Field(description="The temperature to convert")],
    unit: Annotated[Unit, Field(description="The unit it is in")],
    to: Annotated[Unit, Field(description="The unit you want")],
) -> str:
    """Convert a temperature between Celsius, Fahrenheit and Kelvin."""
    celsius = {"celsius": degrees, "fahrenheit": (degrees - 32) / 1.8, "kelvin": degrees - 273.15}[unit]
    wanted = {"celsius": celsius, "fahrenheit": celsius * 1.8 + 32, "kelvin": celsius + 273.15}[to]
    return f"{wanted:.2f} {to}"


@server.tool(structured_output=False)
def roll_dice(
    count: Annotated[int, Field(ge=1, le=100, description="How many dice")] = 2,
    sides: Annotated[int, Field(ge=2, le=1000, description="How many sides each has")] = 6,
) -> str:
    """Roll some dice and add them up."""
    rolls = [secrets.randbelow(sides) + 1 for _ in range(count)]
    return f"{' + '.join(map(str, rolls))} = {sum(rolls)}"


@server.tool(structured_output=False)
def current_time(
    utc_offset: Annotated[float, Field(gt=-24, lt=24, description="Hours ahead of UTC, for example -5 or 5.5")] = 0,
) -> str:
    """Tell the date and time at an offset from UTC."""
    return datetime.now(timezone(timedelta(hours=utc_offset))).isoformat(timespec="seconds")


@server.tool(structured_output=False)
async def count_down(
    context: Context,
    start: Annotated[int, Field(ge=1, le=100, description="The number to count down from")] = 5,
    seconds_per_step: Annotated[float, Field(ge=0, le=10, description="How long each step takes")] = 0.5,
) -> str:
    """Count down slowly and report progress on the way."""
    for left in range(start, 0, -1):
        await context.report_progress(start - left, start, f"{left}…")
        await anyio.sleep(seconds_per_step)
    await context.report_progress(start, start, "done")
    return f"Counted down from {start}."


if __name__ == "__main__":
    server.run()
