"""`mcp-workbench list`: the toolboxes and servers of the config, or the tools of one toolbox or server."""

import argparse
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp_workbench.commands.loading import counted, load, only, show_notes
from mcp_workbench.commands.login_offer import has_logged_in
from mcp_workbench.commands.paging import paged
from mcp_workbench.commands.session import with_manager
from mcp_workbench.commands.starting import show_starting
from mcp_workbench.commands.terminal import console, line, paragraph, write_folded, write_json
from mcp_workbench.commands.tool_view import show_tools
from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.config.models import ServerConfig, StdioServer
from mcp_workbench.config.start_values import spelled
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.errors import ToolboxFailed
from mcp_workbench.redaction import Redactor
from mcp_workbench.toolboxes.listing import Form, contents_of, write_listing
from mcp_workbench.toolboxes.manager import ClientManager
from mcp_workbench.toolboxes.opening import OpenedToolbox


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Shows the toolboxes and servers of the config, without starting any. With the name of a toolbox, opens it "
        "and shows its tools with their arguments, those that a tool can do without in brackets, and what they cost a "
        "model; with a server too, starts and shows that one alone."
    )
    parser.add_argument("toolbox", nargs="?", metavar="TOOLBOX", help="the toolbox to open")
    parser.add_argument("server", nargs="?", metavar="SERVER", help="the server in it to start")
    parser.add_argument("--json", action="store_true", help="write JSON; for a toolbox, what open_toolbox returns")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    loaded = load(args, lambda toolbox, server: toolbox == args.toolbox)
    show_notes(loaded)
    if args.toolbox is None:
        _show_config(loaded, as_json=args.json)
        return 0
    if args.server is not None:
        loaded = only(loaded, args.toolbox, args.server)

    async def open_toolbox(manager: ClientManager) -> OpenedToolbox:
        with show_starting(manager, args.toolbox):
            return await manager.open(args.toolbox, Caller())

    opened = _opened(loaded, open_toolbox, offer=not args.json)
    if args.json:
        write_json(json.loads(write_listing(contents_of(opened), Form.FULL, sys.maxsize).text))
    else:
        out = console(soft_wrap=False)
        with paged(out):
            show_tools(out, opened)
        for error in opened.errors.values():
            console(stderr=True).print(f"[red]{paragraph(error)}[/]")
    return 1 if opened.errors else 0


def _opened(
    loaded: LoadedConfig, work: Callable[[ClientManager], Awaitable[OpenedToolbox]], *, offer: bool
) -> OpenedToolbox:
    """Open the toolbox; once more after a login that one of its servers wants, if the person makes it."""
    try:
        opened = with_manager(loaded, work)
    except ToolboxFailed as failure:
        if not offer or not has_logged_in(loaded, failure.failures):
            raise
        return with_manager(loaded, work)
    return with_manager(loaded, work) if offer and has_logged_in(loaded, opened.errors.values()) else opened


def _show_config(loaded: LoadedConfig, *, as_json: bool) -> None:
    redact = Redactor(loaded.secrets)
    if as_json:
        boxes = loaded.config.toolboxes.items()
        described = [
            {"name": name, "description": box.description, "servers": _described(box.servers, redact)}
            for name, box in boxes
        ]
        write_json({"config": str(loaded.path), "files": list(map(str, loaded.files)), "toolboxes": described})
        return
    out = console(soft_wrap=False)
    write_folded(out, f"[dim]Read from {line(loaded.source)}[/]")
    if not loaded.config.toolboxes:
        write_folded(out, f"{line(loaded.source)} has no toolbox yet: `mcp-workbench import` takes over your servers.")
    with paged(out):
        for name, box in loaded.config.toolboxes.items():
            head = f"[bold]{line(name)}[/] ({counted(len(box.servers), 'server')}): {line(_flat(box.description))}"
            write_folded(out, head, hanging=4)
            for server, config in box.servers.items():
                started = f"[dim]{line(redact(config.describe()))}[/]"
                write_folded(out, f"[cyan]{line(server)}[/]  {started}{_filter(config)}", indent=2, hanging=4)


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
        return {"command": redact(spelled(config.command)), "args": [redact(spelled(arg)) for arg in config.args]}
    return {"url": redact(config.describe())}


def _filter(config: ServerConfig) -> str:
    if config.tool_filters is None or config.filters.admits_all:
        return ""
    return f"  (only {line(', '.join(config.tool_filters))})" if config.tool_filters else "  (none of its tools)"


def _flat(text: str) -> str:
    return " ".join(text.split())
