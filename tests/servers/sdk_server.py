"""A downstream server on the official SDK, in both eras: a second opinion beside the scripted one."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel

server = MCPServer("sdk-server", version="1.0", instructions="Echoes and asks.")


class Person(BaseModel):
    name: str


def who() -> Elicit[Person]:
    return Elicit("What is your name?", Person)


@server.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool()
def greet(greeting: str, answer: Annotated[ElicitationResult[Person], Resolve(who)]) -> str:
    """Ask for the user's name and greet them, or say how they refused."""
    if isinstance(answer, AcceptedElicitation):
        return f"{greeting}, {answer.data.name}"
    return answer.action


if __name__ == "__main__":
    server.run("stdio")
