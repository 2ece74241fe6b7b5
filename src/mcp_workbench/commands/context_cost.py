"""What tools cost a model: how much of its context their definitions fill."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import Tool

from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.jsonrpc import codec

ESTIMATE = "tokens are estimated as characters / 4"

_CHARACTERS_PER_TOKEN = 4
_SHOWN_TO_A_MODEL = ("name", "description", "inputSchema")


@dataclass(frozen=True)
class Cost:
    """A text's size in a model's context."""

    characters: int

    @property
    def tokens(self) -> int:
        """About how many tokens that is; tokenizers differ, the order of magnitude does not."""
        return round(self.characters / _CHARACTERS_PER_TOKEN)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.characters + other.characters)

    def __str__(self) -> str:
        return f"{self.characters:,} characters (about {self.tokens:,} tokens)"


def cost_of_tools(tools: Iterable[Mapping[str, Any]]) -> Cost:
    """Return what tools cost a client that is connected to their server directly: what it shows a model of each."""
    shown = [{key: tool[key] for key in _SHOWN_TO_A_MODEL if tool.get(key) is not None} for tool in tools]
    return Cost(len(codec.compact(shown)) if shown else 0)


def cost_of_server(tools: Iterable[Tool], instructions: str | None) -> Cost:
    """Return what a server costs in tools and instructions together."""
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return cost_of_tools(listed) + Cost(len(instructions or ""))


async def cost_of_workbench(loaded: LoadedConfig) -> Cost:
    """Return what the workbench costs with this config: its tools and its instructions."""
    from mcp_workbench.upstream.instructions import instructions
    from mcp_workbench.upstream.tools import offered_tools

    said = instructions(loaded.config.toolboxes, searches=loaded.config.tool_search)
    return cost_of_tools(offered_tools(loaded.config)) + Cost(len(said))
