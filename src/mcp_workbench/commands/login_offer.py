"""Offering a login to the person at the terminal when a command meets a server that wants one."""

import sys
from collections.abc import Iterable

import anyio

from mcp_workbench.commands.terminal import console, line
from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.errors import LoginRequired, WorkbenchError


def has_logged_in(loaded: LoadedConfig, failures: Iterable[Exception]) -> bool:
    """Offer the logins that are wanted among these failures; whether any was made, so that trying again makes sense.

    Nothing is offered where nobody sits at a terminal.
    """
    wanted = [failure for failure in failures if isinstance(failure, LoginRequired)]
    if not wanted or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    made = [_made(loaded, each) for each in wanted]
    return any(made)


def _made(loaded: LoadedConfig, wanted: LoginRequired) -> bool:
    from mcp_workbench.commands.login import log_in
    from mcp_workbench.commands.remote_target import remote_target

    err = console(stderr=True)
    place = f"server '{wanted.server}' of toolbox '{wanted.toolbox}'"
    err.print(f"{line(place[0].upper() + place[1:])} wants you to log in. Now? [dim](y/n)[/] ", end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        return False
    try:
        anyio.run(log_in, remote_target(loaded, wanted.toolbox, wanted.server), True)
    except WorkbenchError as failure:
        err.print(f"[red]{line(failure)}[/]")
        return False
    return True
