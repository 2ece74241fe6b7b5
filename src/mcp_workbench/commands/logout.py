"""`mcp-workbench logout TOOLBOX SERVER`: make a login worthless where it was given, and forget it here."""

import argparse

import anyio
from rich.markup import escape

from mcp_workbench.commands.loading import load, show_notes
from mcp_workbench.commands.remote_target import remote_target
from mcp_workbench.commands.terminal import console
from mcp_workbench.downstream.transports.login.ending import end_login
from mcp_workbench.downstream.transports.login.problems import LoginFailed
from mcp_workbench.downstream.transports.login.store import StoredLogin
from mcp_workbench.errors import WorkbenchError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Ends a login at a remote server: asks the server to make it worthless, where it can, and deletes it here, for "
        "all workbenches of this user."
    )
    parser.add_argument("toolbox", metavar="TOOLBOX", help="the toolbox")
    parser.add_argument("server", metavar="SERVER", help="the remote server in it")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    loaded = load(args)
    show_notes(loaded)
    target = remote_target(loaded, args.toolbox, args.server)
    place = f"server '{target.server}' of toolbox '{target.toolbox}'"
    stored = StoredLogin(target.url, target.client_id, target.account)
    try:
        told = anyio.run(end_login, target, stored)
    except LoginFailed as failure:
        raise WorkbenchError(f"Still logged in at {place}: {failure}") from None
    console().print(
        f"Nobody is logged in at {escape(place)}." if told is None else escape(f"Logged out of {place}: {told}.")
    )
    return 0
