"""What `check` shows: progress while servers start, then a table, what went wrong, and what the toolboxes save."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live

from mcp_workbench.commands.checkup import Checkup, ContextCosts, ServerCheck, State
from mcp_workbench.commands.context_cost import ESTIMATE, Cost
from mcp_workbench.commands.loading import counted
from mcp_workbench.commands.terminal import console, joined_names, line, rows, write_folded

_COLUMNS = (
    *((title, "left") for title in ("toolbox", "server", "state")),
    *((title, "right") for title in ("ready in", "tools", "characters", "tokens")),
)
_COST_COLUMNS = (("in the model's context", "left"), ("characters", "right"), ("tokens", "right"))
_STYLES = {State.READY: "green", State.FAILED: "red", State.LOGIN_NEEDED: "yellow", State.STARTING: "yellow"}


def show_verdict(checkup: Checkup, out: Console) -> None:
    """Say that the config is valid, and what is in it."""
    toolboxes, servers = len(checkup.loaded.config.toolboxes), len(checkup.servers)
    numbers = f"{counted(toolboxes, 'toolbox', 'toolboxes')}, {counted(servers, 'server')}"
    source, unset = line(checkup.loaded.source), len(checkup.loaded.unset)
    if unset:
        out.print(f"[red]{source}: {counted(unset, 'variable')} without a value[/] (see above): {numbers}.")
    else:
        out.print(f"[green]{source} is valid[/]: {numbers}.")
    if checkup.disabled:
        names = ", ".join(f"{server.toolbox}/{server.name}" for server in checkup.disabled)
        out.print(f"Left out, since disabled: {line(names)}.")


def progress(checkup: Checkup) -> AbstractContextManager[object]:
    """Show on stderr how the servers come up, if that is a terminal; nothing of it stays."""
    err = console(stderr=True, soft_wrap=False)
    if not err.is_terminal:
        return nullcontext()
    return Live(_Progress(checkup, err), console=err, transient=True, refresh_per_second=8)


class _Progress:
    """The table as it is at the moment when it is drawn."""

    def __init__(self, checkup: Checkup, out: Console) -> None:
        self._checkup = checkup
        self._out = out
        self._began = time.monotonic()

    def __rich__(self) -> RenderableType:
        return _table(self._out, self._checkup, waited=time.monotonic() - self._began)


def show_result(checkup: Checkup, out: Console) -> None:
    """Show the table, each failure with its next step, and what the servers cost a model."""
    if not checkup.servers:
        out.print("There is no server to start. `mcp-workbench import` takes over those of your other clients.")
        return
    out.print()
    out.print(_table(out, checkup))
    for server in checkup.servers:
        _show_trouble(out, server)
    if checkup.costs is not None and checkup.having(State.READY):
        _show_costs(out, checkup, checkup.costs)


def show_doubts(checkup: Checkup, out: Console) -> None:
    """Show what is odd about servers that were not started."""
    for server in checkup.servers:
        if server.doubt:
            names = joined_names(out, [line(server.toolbox), line(server.name)])
            write_folded(out, f"[yellow]{names}[/]: {line(server.doubt)}", hanging=2)


def as_json(checkup: Checkup) -> dict[str, Any]:
    """Return the report for another program to read."""
    loaded = checkup.loaded
    return {
        "config": str(loaded.path),
        "files": list(map(str, loaded.files)),
        "ok": checkup.is_fine,
        "problems": list(loaded.unset),
        "notes": [note for note in loaded.notes if note not in loaded.unset],
        "servers": [_server_as_json(server) for server in (*checkup.servers, *checkup.disabled)],
        **({"context": _costs_as_json(checkup.costs)} if checkup.costs else {}),
    }


def _table(out: Console, checkup: Checkup, waited: float = 0.0) -> RenderableType:
    remote = any(server.transport != "stdio" for server in checkup.servers)
    cells = [
        (
            *(line(server.toolbox), line(server.name)),
            *([server.transport] if remote else ()),
            *(_state(server.state), *_figures(server, waited)),
        )
        for server in checkup.servers
    ]
    columns = (*_COLUMNS[:2], ("transport", "left"), *_COLUMNS[2:]) if remote else _COLUMNS
    return rows(out, columns, cells)


def _state(state: State) -> str:
    return f"[{_STYLES.get(state, 'dim')}]{state.value}[/]"


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
        lines = [line(server.diagnosis.cause), f"[bold]Next:[/] {line(server.diagnosis.next_step)}"]
    else:
        lines = [line(sentence) for sentence in server.warnings.sentences(server.toolbox, server.name)]
    if lines:
        out.print()
        names = joined_names(out, [line(server.toolbox), line(server.name)])
        write_folded(out, f"[{'red' if server.diagnosis or server.warnings.misses else 'yellow'}]{names}[/]")
    for each in lines:
        write_folded(out, each, indent=2)


def _show_costs(out: Console, checkup: Checkup, costs: ContextCosts) -> None:
    tools = sum(len(server.offered) for server in checkup.servers)
    failed = len(checkup.failed)
    own = 3 if checkup.loaded.config.tool_search else 2
    cells = [
        _cost(f"directly: {counted(tools, 'tool')}, always", costs.directly),
        _cost(f"workbench: {own} tools and its instructions, always", costs.workbench),
        *(_cost(f"workbench: opening {toolbox} adds", cost) for toolbox, cost in costs.opening.items()),
    ]
    out.print()
    out.print(rows(out, _COST_COLUMNS, cells, names=1))
    out.print()
    write_folded(out, f"{_savings(costs)} {_reservations(failed)}")
    for toolbox, whole in costs.whole.items():
        if clients := costs.too_long_for(toolbox):
            write_folded(out, f"[yellow]{line(toolbox)}[/]: {_too_long(whole, clients)}")


def _cost(label: str, cost: Cost) -> tuple[str, ...]:
    return (line(label), f"{cost.characters:,}", f"{cost.tokens:,}")


def _savings(costs: ContextCosts) -> str:
    saved = costs.directly.tokens - costs.workbench.tokens
    if saved <= 0:
        return (
            "That saves nothing: the workbench's own texts are larger than these tools. With so few, connecting the "
            "servers directly is cheaper."
        )
    return f"[bold]That saves {saved:,} tokens[/] ({saved / costs.directly.tokens:.0%}) until a toolbox is opened."


def _too_long(whole: Cost, clients: Sequence[str]) -> str:
    return (
        f"its listing has {whole.characters:,} characters, more than {', '.join(clients)} can show, and is shortened "
        'for them. "listing": "compact", toolFilters or smaller toolboxes make it shorter.'
    )


def _reservations(failed: int) -> str:
    missing = f"; without the {counted(failed, 'server')} that failed" if failed else ""
    return f"[dim]({ESTIMATE}{missing})[/]"


def _server_as_json(server: ServerCheck) -> dict[str, Any]:
    report: dict[str, Any] = {"toolbox": server.toolbox, "server": server.name, "state": server.state.value}
    report["transport"] = server.transport
    if server.admitted is not None and server.time_to_ready is not None:
        report["secondsToReady"] = round(server.time_to_ready, 3)
        report |= {"tools": server.admitted.names, "toolsOffered": len(server.offered), **_cost_as_json(server.cost)}
    if server.doubt:
        report["warning"] = server.doubt
    if sentences := server.warnings.sentences(server.toolbox, server.name):
        report |= {"warning": "; ".join(sentences), **server.warnings.as_json()}
    if server.diagnosis:
        report |= {"cause": server.diagnosis.cause, "nextStep": server.diagnosis.next_step}
    return report


def _costs_as_json(costs: ContextCosts) -> dict[str, Any]:
    return {
        "directly": _cost_as_json(costs.directly),
        "workbench": _cost_as_json(costs.workbench),
        "opening": {toolbox: _cost_as_json(cost) for toolbox, cost in costs.opening.items()},
        "tooLongFor": {toolbox: clients for toolbox in costs.whole if (clients := costs.too_long_for(toolbox))},
    }


def _cost_as_json(cost: Cost) -> dict[str, int]:
    return {"characters": cost.characters, "estimatedTokens": cost.tokens}
