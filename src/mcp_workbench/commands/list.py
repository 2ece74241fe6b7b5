"""`mcp-workbench list`: the toolboxes and servers of the config, or the tools of one toolbox."""

import argparse
import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any, cast

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from mcp_workbench.commands.loading import counted, load, show_notes
from mcp_workbench.commands.session import with_manager
from mcp_workbench.commands.terminal import console, write_json
from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.config.models import ServerConfig, StdioServer
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.redaction import Redactor
from mcp_workbench.toolboxes.manager import ClientManager, OpenedToolbox

_LONG_LINE = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Shows the toolboxes and servers of the config, without starting any. With the name of a toolbox, opens it "
        "and shows its tools; arguments that a tool can do without are in brackets."
    )
    parser.add_argument("toolbox", nargs="?", metavar="TOOLBOX", help="the toolbox to open")
    parser.add_argument("--json", action="store_true", help="write JSON; for a toolbox, what open_toolbox returns")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    loaded = load(args)
    show_notes(loaded)
    if args.toolbox is None:
        _show_config(loaded, as_json=args.json)
        return 0

    async def open_toolbox(manager: ClientManager) -> OpenedToolbox:
        return await manager.open(args.toolbox, Caller())

    opened = with_manager(loaded, open_toolbox)
    if args.json:
        write_json(json.loads(opened.as_json()))
    else:
        _show_tools(opened)
    return 1 if opened.errors else 0


def _show_config(loaded: LoadedConfig, *, as_json: bool) -> None:
    redact = Redactor(loaded.secrets)
    if as_json:
        boxes = loaded.config.toolboxes.items()
        described = [
            {"name": name, "description": box.description, "servers": _described(box.servers, redact)}
            for name, box in boxes
        ]
        write_json({"config": str(loaded.path), "toolboxes": described})
        return
    out = console(soft_wrap=False)
    if not loaded.config.toolboxes:
        out.print(f"{escape(str(loaded.path))} has no toolbox yet: `mcp-workbench import` takes over your servers.")
    for name, box in loaded.config.toolboxes.items():
        out.print(f"[bold]{escape(name)}[/] ({counted(len(box.servers), 'server')}): {escape(_flat(box.description))}")
        for server, config in box.servers.items():
            line = f"  [cyan]{escape(server)}[/]  [dim]{escape(redact(config.describe()))}[/]{_filter(config)}"
            out.print(line, soft_wrap=True)  # to be copied whole


def _described(servers: Mapping[str, ServerConfig], redact: Redactor) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            **_started_by(config, redact),
            "toolFilters": config.tool_filters,
        }
        for name, config in servers.items()
    ]


def _started_by(config: ServerConfig, redact: Redactor) -> dict[str, Any]:
    if isinstance(config, StdioServer):
        return {"command": redact(config.command), "args": [redact(arg) for arg in config.args]}
    return {"url": redact(config.describe())}


def _filter(config: ServerConfig) -> str:
    if config.tool_filters is None or config.filters.admits_all:
        return ""
    return f"  (only {escape(', '.join(config.tool_filters))})" if config.tool_filters else "  (none of its tools)"


def _show_tools(opened: OpenedToolbox) -> None:
    out = console(soft_wrap=False)
    for server, tools in opened.tools.items():
        out.print(f"[bold]{escape(opened.name)} / {escape(server)}[/] ({counted(len(tools), 'tool')})")
        for tool in tools.raw:
            _show_tool(out, tool)
    for error in opened.errors.values():
        console(stderr=True).print(f"[red]{escape(str(error))}[/]")


def _show_tool(out: Console, tool: Mapping[str, Any]) -> None:
    line = f"[cyan]{escape(str(tool['name']))}[/] {escape(_signature(tool.get('inputSchema')))}"
    out.print(_indented(line.rstrip(), 2))
    if isinstance(description := tool.get("description"), str) and description.strip():
        out.print(_indented(escape(_summary(description)), 6))


def _indented(line: str, columns: int) -> Padding:
    return Padding(line, (0, 0, 0, columns), expand=False)


def _signature(schema: object) -> str:
    """Return the arguments as one would type them, the optional ones in brackets."""
    if not isinstance(schema, dict):
        return ""
    declared = cast("dict[str, Any]", schema)
    properties, required = declared.get("properties"), declared.get("required")
    names = list(cast("dict[str, Any]", properties)) if isinstance(properties, dict) else []
    needed = cast("list[Any]", required) if isinstance(required, list) else []
    return " ".join(f"{name}=…" if name in needed else f"[{name}=…]" for name in names)


def _summary(description: str) -> str:
    """Return the first line, or of a long one the first sentence; models read it all, and so does --json."""
    line = description.strip().splitlines()[0]
    if len(line) > _LONG_LINE:
        line = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]
    return textwrap.shorten(line, 2 * _LONG_LINE, placeholder=" …")


def _flat(text: str) -> str:
    return " ".join(text.split())
