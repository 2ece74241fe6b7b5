"""`mcp-workbench review`: what changed of servers' tools since they were accepted, and accepting it.

It works on the records alone and starts nothing: what is shown is what was seen last, and exactly that is accepted. If
a server has changed its tools again since, they wait again.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from mcp_workbench.commands.differences import differences
from mcp_workbench.commands.loading import counted, load, show_notes
from mcp_workbench.commands.terminal import console, line, write_json
from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.errors import UnknownServer, UnknownTool, UnknownToolbox
from mcp_workbench.suggestions import closest
from mcp_workbench.toolboxes.admissions import place_of
from mcp_workbench.toolboxes.trust import Pins, Record
from mcp_workbench.toolboxes.trust_records import TrustRecords


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Shows which tools changed or came new since they were accepted, and how. With --accept, what is shown is "
        "accepted. Nothing is started: it is about the tools that servers listed last. Exit status 1 while something "
        "waits."
    )
    parser.add_argument("toolbox", nargs="?", metavar="TOOLBOX", help="only this toolbox")
    parser.add_argument("server", nargs="?", metavar="SERVER", help="only this server of it")
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="only this tool of it")
    parser.add_argument("--accept", action="store_true", help="accept what is shown")
    parser.add_argument("--json", action="store_true", help="write JSON")


@dataclass(frozen=True)
class Waiting:
    """The tools of one server that wait to be accepted, of those that were asked for."""

    toolbox: str
    server: str
    identity: str
    record: Record
    shown: Pins


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    loaded = load(args)
    if not args.json:
        show_notes(loaded)
    records = TrustRecords()
    waiting = list(_waiting(loaded, records, args))
    if args.json:
        write_json([_as_json(own, accepted=args.accept) for own in waiting])
    else:
        _show(waiting, args)
    if args.accept:
        for own in waiting:
            _accept(records, own)
        waiting = list(
            _waiting(loaded, records, argparse.Namespace(toolbox=args.toolbox, server=args.server, tool=None))
        )
    return 1 if waiting else 0


def _waiting(loaded: LoadedConfig, records: TrustRecords, args: argparse.Namespace) -> Iterator[Waiting]:
    """What waits, by server.

    Raises:
        UnknownToolbox, UnknownServer, UnknownTool: The arguments name what is not there.
    """
    for toolbox, server in _servers(loaded, args.toolbox, args.server):
        identity = loaded.config.toolboxes[toolbox].servers[server].identity()
        record = records.read(identity) or records.inherited(place_of(loaded, toolbox, server)) or Record()
        shown = record.waiting
        if args.tool is not None:
            if args.tool not in {*record.accepted, *record.waiting}:
                known = [*record.accepted, *record.waiting]
                raise UnknownTool(
                    f"Tool '{args.tool}' was never seen in server '{server}' (toolbox '{toolbox}')"
                    + closest(args.tool, known, "tool")
                )
            shown = {name: pin for name, pin in shown.items() if name == args.tool}
        if shown:
            yield Waiting(toolbox, server, identity, record, shown)


def _servers(loaded: LoadedConfig, toolbox: str | None, server: str | None) -> Iterator[tuple[str, str]]:
    boxes = loaded.config.toolboxes
    if toolbox is not None and toolbox not in boxes:
        raise UnknownToolbox(
            f"Toolbox '{toolbox}' not found in configuration" + closest(toolbox, list(boxes), "toolbox")
        )
    for name, box in boxes.items():
        if toolbox not in (None, name):
            continue
        if server is not None and server not in box.servers:
            raise UnknownServer(
                f"Server '{server}' not found in toolbox '{name}'" + closest(server, list(box.servers), "server")
            )
        yield from ((name, own) for own in box.servers if server in (None, own))


def _accept(records: TrustRecords, own: Waiting) -> None:
    records.change(own.identity, lambda found: (found or own.record).having_accepted(own.shown))


def _show(waiting: list[Waiting], args: argparse.Namespace) -> None:
    out = console(soft_wrap=False)
    for own in waiting:
        out.print(f"[bold]{line(own.toolbox)} / {line(own.server)}[/]")
        for name in own.shown:
            _show_tool(out, own, name)
    number = sum(len(own.shown) for own in waiting)
    if not waiting:
        out.print("Nothing waits: all tools that were seen are as they were accepted.")
    elif args.accept:
        out.print(f"[green]Accepted {counted(number, 'tool')}.[/]")
    else:
        out.print(f"{counted(number, 'tool')} to look at. The same command with --accept accepts what is shown.")


def _show_tool(out: Console, own: Waiting, name: str) -> None:
    what = "new" if own.record.is_new(name) else "changed"
    out.print(f"  [cyan]{line(name)}[/] [yellow]{what}[/]")
    before = own.record.accepted.get(name)
    for text, style in differences(before.definition if before else {}, own.shown[name].definition):
        out.print(f"    [{style}]{line(text)}[/]" if style else f"    {line(text)}")


def _as_json(own: Waiting, *, accepted: bool) -> Mapping[str, Any]:
    return {
        "toolbox": own.toolbox,
        "server": own.server,
        "accepted": accepted,
        "tools": [
            {
                "name": name,
                "change": "new" if own.record.is_new(name) else "changed",
                "before": before.definition if (before := own.record.accepted.get(name)) else None,
                "after": pin.definition,
            }
            for name, pin in own.shown.items()
        ],
    }
