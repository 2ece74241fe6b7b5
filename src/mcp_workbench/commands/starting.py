"""Telling a person who waits which servers are still starting."""

import time
from contextlib import AbstractContextManager, nullcontext

from rich.live import Live
from rich.text import Text

from mcp_workbench.commands.terminal import console, shown_in_line
from mcp_workbench.downstream.connection import State
from mcp_workbench.toolboxes.manager import ClientManager

_SLOW = 0.3
"""Seconds after which a start is worth a line."""


def show_starting(manager: ClientManager, toolbox: str) -> AbstractContextManager[object]:
    """Show on stderr, if that is a terminal, which servers of a toolbox are starting; nothing of it stays."""
    err = console(stderr=True, soft_wrap=False)
    if not err.is_terminal:
        return nullcontext()
    return Live(_Starting(manager, toolbox), console=err, transient=True, refresh_per_second=8)


class _Starting:
    """The line as it is at the moment when it is drawn."""

    def __init__(self, manager: ClientManager, toolbox: str) -> None:
        self._manager = manager
        self._toolbox = toolbox
        self._began = time.monotonic()

    def __rich__(self) -> Text:
        waited = time.monotonic() - self._began
        names = [server for server, state in self._states().items() if state is State.CONNECTING]
        if waited < _SLOW or not names:
            return Text("")
        return Text(f"starting {shown_in_line(', '.join(names))} ({waited:.0f} s)", style="dim")

    def _states(self) -> dict[str, State]:
        try:
            connections = self._manager.connections(self._toolbox)
        except KeyError:  # opening it will say so
            return {}
        return {server: connection.state for server, connection in connections.items()}
