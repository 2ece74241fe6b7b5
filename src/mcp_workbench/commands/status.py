"""`mcp-workbench status`: the workbenches that run for this user, and how their servers are."""

import argparse
import time
from collections.abc import Mapping
from typing import Any, cast

from rich.console import Console

from mcp_workbench.commands.loading import counted
from mcp_workbench.commands.terminal import console, line, rows, write_folded, write_json
from mcp_workbench.running import Description, running_dir, running_workbenches

_UNITS = (("d", 86_400), ("h", 3600), ("min", 60))
_COLUMNS = (
    *((title, "left") for title in ("toolbox", "server", "state")),
    *((title, "right") for title in ("for", "calls", "failed")),
)
_STYLES = {"ready": "green", "connecting": "yellow", "waiting": "red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Shows each workbench that runs for you: its process, its client, its config, and of each server the state, "
        "for how long it has been in it, how often it was called and how many of these calls failed. Nothing is asked "
        "of the workbenches: each keeps a small file about itself."
    )
    parser.add_argument("--json", action="store_true", help="write it as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    workbenches = list(running_workbenches(running_dir()))
    if args.json:
        write_json({"workbenches": [_as_json(each) for each in workbenches]})
        return 0
    out = console(soft_wrap=False)
    if not workbenches:
        out.print("No workbench is running: a client starts one by itself when it needs it.")
    for number, workbench in enumerate(workbenches):
        if number:
            out.print()
        _show(out, workbench)
    return 0


def _as_json(workbench: Description) -> Description:
    return {key: value for key, value in workbench.items() if key != "process"}


def _show(out: Console, workbench: Description) -> None:
    now = time.time()
    client = _mapping(workbench.get("client"))
    name = " ".join(str(client[key]) for key in ("name", "version") if client.get(key)) or "a client without a name"
    running = _duration(now - _number(workbench, "since"))
    write_folded(out, f"[bold]{line(name)}[/], process {workbench['pid']}, for {running}", hanging=2)
    for path in _list(workbench.get("config")):
        write_folded(out, f"[dim]{line(path)}[/]")
    servers = [_mapping(server) for server in _list(workbench.get("servers"))]
    used = [server for server in servers if server.get("since")]
    if used:
        out.print(rows(out, _COLUMNS, [_cells(server, now) for server in used]))
    if unused := len(servers) - len(used):
        out.print(f"[dim]{counted(unused, 'server')} not started[/]")


def _cells(server: Mapping[str, Any], now: float) -> tuple[str, ...]:
    state = str(server.get("state"))
    return (
        line(server.get("toolbox")),
        line(server.get("server")),
        f"[{_STYLES.get(state, 'dim')}]{line(state)}[/]",
        _duration(now - _number(server, "since")),
        line(server.get("calls")),
        line(server.get("errors") or ""),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _number(values: Mapping[str, Any], key: str) -> float:
    value = values.get(key)
    return float(value) if isinstance(value, int | float) else 0.0


def _duration(seconds: float) -> str:
    """Return how long that is, in the largest unit that fits."""
    for unit, length in _UNITS:
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
