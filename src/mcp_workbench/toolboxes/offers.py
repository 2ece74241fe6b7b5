"""What a search is given: a query, and the tools that servers offer."""

from dataclasses import dataclass

from mcp_workbench.downstream.tool_list import ToolList

MOST = 20
USUAL = 5
"""How many tools an answer holds at the most, and when nothing is said."""


@dataclass(frozen=True)
class Query:
    """What is looked for."""

    text: str
    limit: int = USUAL
    toolbox: str | None = None
    """The only toolbox to search; None for all."""


@dataclass(frozen=True)
class Offer:
    """The tools that a server offers, as far as they are known."""

    toolbox: str
    server: str
    tools: ToolList | None

    @property
    def name(self) -> str:
        """Toolbox and server."""
        return f"{self.toolbox}/{self.server}"
