"""How a person is shown tools: what each takes, as one would type it, what it does, and what it costs a model."""

import re
import textwrap
from collections.abc import Mapping
from typing import Any, cast

from rich.console import Console

from mcp_workbench.commands.arguments import describe_values
from mcp_workbench.commands.context_cost import Cost, cost_of_tools
from mcp_workbench.commands.loading import counted
from mcp_workbench.commands.terminal import line, write_folded
from mcp_workbench.toolboxes.manager import OpenedToolbox

_LONG_LINE = 100


def show_tools(out: Console, opened: OpenedToolbox) -> None:
    """Show the tools of every server of a toolbox."""
    costs = {server: cost_of_tools(tools.raw) for server, tools in opened.tools.items()}
    for server, tools in opened.tools.items():
        told = f"{counted(len(tools), 'tool')}{_cost(costs[server])}"
        write_folded(out, f"[bold]{line(opened.name)} / {line(server)}[/]: {told}", hanging=4)
        for tool in tools.raw:
            _show_tool(out, tool)
    if sum(bool(cost.characters) for cost in costs.values()) > 1:
        write_folded(out, f"[dim]All of them: {sum(costs.values(), Cost(0))}[/]", hanging=4)


def _cost(cost: Cost) -> str:
    return f", {cost}" if cost.characters else ""


def _show_tool(out: Console, tool: Mapping[str, Any]) -> None:
    signature = line(" ".join(_signature(tool.get("inputSchema"))))
    write_folded(out, f"[cyan]{line(tool['name'])}[/] {signature}".rstrip(), indent=2, hanging=4)
    if isinstance(description := tool.get("description"), str) and description.strip():
        write_folded(out, line(_summary(description)), indent=6)


def _signature(schema: object) -> list[str]:
    """Return each argument as one would type it, with what it takes; those that may be left out in brackets."""
    if not isinstance(schema, dict):
        return []
    root = cast("dict[str, Any]", schema)
    properties, required = root.get("properties"), root.get("required")
    declared = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
    needed = cast("list[Any]", required) if isinstance(required, list) else []
    typed = {name: f"{name}={describe_values(each, root)}" for name, each in declared.items()}
    return [text if name in needed else f"[{text}]" for name, text in typed.items()]


def _summary(description: str) -> str:
    """Return the first line, or of a long one the first sentence; models read it all, and so does --json."""
    first = description.strip().splitlines()[0]
    if len(first) > _LONG_LINE:
        first = re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0]
    return textwrap.shorten(first, 2 * _LONG_LINE, placeholder=" …")
