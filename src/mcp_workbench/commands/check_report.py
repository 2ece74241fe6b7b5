"""What `check` shows: progress while servers start, then a table, what went wrong, and what the toolboxes save."""

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from mcp_workbench.commands.checkup import Checkup, ContextCosts, ServerCheck, State
from mcp_workbench.commands.context_cost import ESTIMATE, Cost
from mcp_workbench.commands.loading import counted
from mcp_workbench.commands.terminal import console

_STYLES = {State.READY: "green", State.FAILED: "red", State.STARTING: "yellow"}


def show_verdict(checkup: Checkup, out: Console) -> None:
    """Say that the config is valid, and what is in it."""
    toolboxes, servers = len(checkup.loaded.config.toolboxes), len(checkup.servers)
    numbers = f"{counted(toolboxes, 'toolbox', 'toolboxes')}, {counted(servers, 'server')}"
    out.print(f"[green]{escape(str(checkup.loaded.path))} is valid[/]: {numbers}.")
    if checkup.disabled:
        names = ", ".join(f"{server.toolbox}/{server.name}" for server in checkup.disabled)
        out.print(f"Left out, since disabled: {escape(names)}.")


def progress(checkup: Checkup) -> AbstractContextManager[object]:
    """Show on stderr how the servers come up, if that is a terminal; nothing of it stays."""
    err = console(stderr=True, soft_wrap=False)
    if not err.is_terminal:
        return nullcontext()
    return Live(_Progress(checkup), console=err, transient=True, refresh_per_second=8)


class _Progress:
    """The table as it is at the moment when it is drawn."""

    def __init__(self, checkup: Checkup) -> None:
        self._checkup = checkup
        self._began = time.monotonic()

    def __rich__(self) -> Table:
        return _table(self._checkup, waited=time.monotonic() - self._began)


def show_result(checkup: Checkup, out: Console) -> None:
    """Show the table, each failure with its next step, and what the servers cost a model."""
    if not checkup.servers:
        out.print("There is no server to start. `mcp-workbench import` takes over those of your other clients.")
        return
    out.print()
    out.print(_table(checkup))
    for server in checkup.servers:
        _show_trouble(out, server)
    if checkup.costs is not None and checkup.having(State.READY):
        _show_costs(out, checkup, checkup.costs)


def as_json(checkup: Checkup) -> dict[str, Any]:
    """Return the report for another program to read."""
    loaded = checkup.loaded
    return {
        "config": str(loaded.path),
        "ok": not checkup.having(State.FAILED),
        "problems": [],
        "notes": list(loaded.notes),
        "servers": [_server_as_json(server) for server in (*checkup.servers, *checkup.disabled)],
        **({"context": _costs_as_json(checkup.costs)} if checkup.costs else {}),
    }


def _table(checkup: Checkup, waited: float = 0.0) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("toolbox", "server"):
        table.add_column(title, overflow="fold")
    table.add_column("state", no_wrap=True)
    for title in ("ready in", "tools", "characters", "tokens"):
        table.add_column(title, justify="right", no_wrap=True)
    for server in checkup.servers:
        state = f"[{_STYLES.get(server.state, 'dim')}]{server.state.value}[/]"
        table.add_row(escape(server.toolbox), escape(server.name), state, *_figures(server, waited))
    return table


def _figures(server: ServerCheck, waited: float) -> tuple[str, ...]:
    if server.state is State.STARTING:
        return (f"[dim]{waited:.0f} s[/]",)
    if server.admitted is None or server.time_to_ready is None:
        return ()
    tools, offered = len(server.admitted), len(server.offered)
    number = str(tools) if tools == offered else f"{tools} of {offered}"
    return (f"{server.time_to_ready:.1f} s", number, f"{server.cost.characters:,}", f"{server.cost.tokens:,}")


def _show_trouble(out: Console, server: ServerCheck) -> None:
    lines: list[str] = []
    if server.diagnosis:
        lines = [escape(server.diagnosis.cause), f"[bold]Next:[/] {escape(server.diagnosis.next_step)}"]
    elif server.warning:
        lines = [escape(server.warning)]
    if lines:
        out.print(f"\n[{'red' if server.diagnosis else 'yellow'}]{escape(f'{server.toolbox}/{server.name}')}[/]")
    for line in lines:
        out.print(Padding(line, (0, 0, 0, 2), expand=False))


def _show_costs(out: Console, checkup: Checkup, costs: ContextCosts) -> None:
    tools = sum(len(server.offered) for server in checkup.servers)
    failed = len(checkup.having(State.FAILED))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("in the model's context", overflow="fold")
    for title in ("characters", "tokens"):
        table.add_column(title, justify="right", no_wrap=True)
    _add_cost(table, f"directly: {counted(tools, 'tool')}, always", costs.directly)
    _add_cost(table, "workbench: 2 tools and its instructions, always", costs.workbench)
    for toolbox, cost in costs.opening.items():
        _add_cost(table, f"workbench: opening {toolbox} adds", cost)
    out.print()
    out.print(table)
    out.print(f"\n{_savings(costs)} {_reservations(failed)}")


def _add_cost(table: Table, label: str, cost: Cost) -> None:
    table.add_row(escape(label), f"{cost.characters:,}", f"{cost.tokens:,}")


def _savings(costs: ContextCosts) -> str:
    saved = costs.directly.tokens - costs.workbench.tokens
    if saved <= 0:
        return (
            "That saves nothing: the workbench's own texts are larger than these tools. With so few, connecting the "
            "servers directly is cheaper."
        )
    return f"[bold]That saves {saved:,} tokens[/] ({saved / costs.directly.tokens:.0%}) until a toolbox is opened."


def _reservations(failed: int) -> str:
    missing = f"; without the {counted(failed, 'server')} that failed" if failed else ""
    return f"[dim]({ESTIMATE}{missing})[/]"


def _server_as_json(server: ServerCheck) -> dict[str, Any]:
    report: dict[str, Any] = {"toolbox": server.toolbox, "server": server.name, "state": server.state.value}
    if server.admitted is not None and server.time_to_ready is not None:
        report["secondsToReady"] = round(server.time_to_ready, 3)
        report |= {"tools": server.admitted.names, "toolsOffered": len(server.offered), **_cost_as_json(server.cost)}
    if server.warning:
        report["warning"] = server.warning
    if server.diagnosis:
        report |= {"cause": server.diagnosis.cause, "nextStep": server.diagnosis.next_step}
    return report


def _costs_as_json(costs: ContextCosts) -> dict[str, Any]:
    return {
        "directly": _cost_as_json(costs.directly),
        "workbench": _cost_as_json(costs.workbench),
        "opening": {toolbox: _cost_as_json(cost) for toolbox, cost in costs.opening.items()},
    }


def _cost_as_json(cost: Cost) -> dict[str, int]:
    return {"characters": cost.characters, "estimatedTokens": cost.tokens}
