"""`mcp-workbench init`: writes a first config, one that works at once."""

import argparse
import json
import os
import shlex
import sys
from pathlib import Path

from mcp_workbench.clients.safe_write import replace_text
from mcp_workbench.clients.variables import escaped
from mcp_workbench.commands.own_command import own_command
from mcp_workbench.commands.terminal import console, line
from mcp_workbench.config.document import Json
from mcp_workbench.config.loading import config_path, parse_config
from mcp_workbench.config.locations import FILE_NAME
from mcp_workbench.errors import WorkbenchError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Writes a first config with one toolbox, whose server is built into the workbench: it works without Node and "
        "without the network. A file that is there already is never overwritten."
    )


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    # Without a name it is a file here, even where the user has one of their own.
    named = args.config or os.environ.get("WORKBENCH_CONFIG")
    target = config_path(args.config, os.environ) if named else Path(FILE_NAME)
    if os.path.lexists(target):
        raise WorkbenchError(
            f"{target} exists, and init overwrites nothing. Look at it with `mcp-workbench check`, add servers to it "
            "with `mcp-workbench import`, or name another file with --config"
        )
    text = json.dumps(first_config(), indent=2, ensure_ascii=False) + "\n"
    parse_config(text, str(target), os.environ)
    replace_text(target, None, text)
    _show_next_steps(target, named=bool(args.config))
    return 0


def first_config() -> dict[str, Json]:
    """Return a config that works on this machine and explains itself."""
    return {
        "_comment": "Keys that start with an underscore are comments. A toolbox groups servers that are used together.",
        "unsetVariables": "skip",
        "toolboxes": {
            "example": {
                "description": "Try the workbench out: a small server that needs nothing installed",
                "mcpServers": {
                    "example": {
                        "_comment": "An entry is what other clients have under mcpServers; paste yours beside it. "
                        "Write secrets as ${NAME}, and the variable NAME is filled in when the workbench starts.",
                        "command": escaped(sys.executable),
                        "args": ["-m", "mcp_workbench.example_server"],
                    }
                },
            }
        },
    }


def _show_next_steps(target: Path, *, named: bool) -> None:
    out = console()
    option = f" --config {shlex.quote(str(target))}" if named else ""
    steps = {
        "check --connect": "start its server and see its tools",
        "import": "take over the servers that your other clients have",
        "install claude-desktop": "give it to a client (or claude-code, cursor, vscode)",
    }
    out.print(f"Wrote {line(target)}. What you can do next:\n")
    width = max(map(len, steps))
    for command, purpose in steps.items():
        out.print(f"  {line(own_command() + option)} {command:<{width}}  [dim]# {purpose}[/]")
