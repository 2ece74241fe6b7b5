"""`mcp-workbench check`: is the config right, and with `--connect`, does every server in it work?"""

import argparse
from typing import Any

from mcp_workbench.commands.check_report import as_json, progress, show_doubts, show_result, show_verdict
from mcp_workbench.commands.checkup import Checkup
from mcp_workbench.commands.loading import load, show_notes
from mcp_workbench.commands.login_offer import has_logged_in
from mcp_workbench.commands.session import with_manager
from mcp_workbench.commands.terminal import console, write_json
from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Says whether the config is valid, or everything that is wrong with it. With --connect, starts every server of "
        "every toolbox, all at once, and shows how long each took, what its tools cost a model, and for each that "
        "failed the cause and the next step. Exit status 0 only if all is well."
    )
    parser.add_argument("--connect", action="store_true", help="start every server, and end it again")
    parser.add_argument("--json", action="store_true", help="write the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    try:
        loaded = load(args, lambda toolbox, server: args.connect)
    except ConfigError as error:
        if not args.json:
            raise
        write_json(_rejection(error))
        return 1
    return _checked(args, loaded)


def _checked(args: argparse.Namespace, loaded: LoadedConfig) -> int:
    checkup = Checkup(loaded)
    if not args.json:
        show_notes(loaded)
        show_verdict(checkup, console())
    if args.connect:
        with progress(checkup):
            with_manager(loaded, checkup.connect)
    else:
        checkup.look()
    if args.json:
        write_json(as_json(checkup))
    elif args.connect:
        show_result(checkup, console(soft_wrap=False))
        if has_logged_in(loaded, [server.failure for server in checkup.servers if server.failure]):
            return _checked(args, loaded)
    else:
        show_doubts(checkup, console(soft_wrap=False))
        console().print("[dim]With --connect, every server is started to see whether it works.[/]")
    return 0 if checkup.is_fine else 1


def _rejection(error: ConfigError) -> dict[str, Any]:
    return {
        "config": error.source,
        "ok": False,
        "problems": [str(problem) for problem in error.placed],
        "notes": [],
        "servers": [],
    }
