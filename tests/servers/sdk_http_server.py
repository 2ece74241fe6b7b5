"""A server of the SDK over streamable HTTP, in both eras: with sessions or without, with events or plain JSON."""

import argparse
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel

server = MCPServer("sdk-http")


class Person(BaseModel):
    """Who is greeted."""

    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def count(to: int, ctx: Context) -> int:
    """Count, and report every number."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to)
    return to


def who() -> Elicit[Person]:
    """The question, which each era asks in its own way."""
    return Elicit("Who are you?", Person)


@server.tool()
def ask(answer: Annotated[ElicitationResult[Person], Resolve(who)]) -> str:
    """Greet whoever answers."""
    return f"Hello {answer.data.name}" if isinstance(answer, AcceptedElicitation) else "Hello nobody"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    server.run("streamable-http", port=options.port, stateless_http=options.stateless, json_response=options.json)
