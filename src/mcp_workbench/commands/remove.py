"""`mcp-workbench remove`: takes a toolbox or a server out of the config."""

import argparse
import os
from pathlib import Path

from mcp_workbench.clients.json_edit import UnsafeEdit, remove_value
from mcp_workbench.clients.preview import preview
from mcp_workbench.clients.safe_write import read_text, replace_text
from mcp_workbench.clients.takeover import existing_toolboxes, permissive
from mcp_workbench.commands.terminal import console, line, paragraph
from mcp_workbench.config.loading import load_config, parse_config
from mcp_workbench.config.locations import config_files
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.file_lock import locked
from mcp_workbench.suggestions import closest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Takes a server, or a whole toolbox, out of the config. Comments and layout stay, and a backup is kept beside "
        "it. Secrets stay in the env file: another server may use them."
    )
    parser.add_argument("toolbox", help="the toolbox to take out, or to take the server out of")
    parser.add_argument("server", nargs="?", help="the server to take out")
    parser.add_argument("--dry-run", action="store_true", help="show the change, and write nothing")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    target = _holder(args)
    with locked(target):
        before = read_text(target) or ""
        after = _removed(before, target, args)
        out = console()
        if args.dry_run:
            out.print(f"Nothing was written. This is what would change in {line(target)}:\n")
            out.print(paragraph(preview(before, after, target)))
            return 0
        backup = replace_text(target, before, after)
    place = args.toolbox if args.server is None else f"{args.toolbox}/{args.server}"
    out.print(f"Took {line(place)} out of {line(target)}.")
    if backup:
        out.print(f"The file as it was: {line(backup)}")
    return 0


def _holder(args: argparse.Namespace) -> Path:
    """The file that has it: of several the last one, whose word counts."""
    known: dict[str, list[str]] = {}
    for path in reversed(config_files(args.config, os.environ)):
        text = read_text(path)
        if text is None:
            load_config(path, os.environ)  # which says what there is to say about it
        parse_config(text or "", str(path), permissive(text or "", os.environ), tolerant=True)
        boxes = existing_toolboxes(text or "")
        if args.toolbox in boxes and (args.server is None or args.server in boxes[args.toolbox]):
            return Path(os.path.abspath(path))
        for name, servers in boxes.items():
            known.setdefault(name, []).extend(servers)
    if args.toolbox not in known:
        raise WorkbenchError(f"there is no toolbox '{args.toolbox}'{closest(args.toolbox, list(known), 'toolbox')}")
    servers = known[args.toolbox]
    raise WorkbenchError(
        f"toolbox '{args.toolbox}' has no server '{args.server}'{closest(args.server, servers, 'server')}"
    )


def _removed(text: str, target: Path, args: argparse.Namespace) -> str:
    path = ["toolboxes", args.toolbox, *(["mcpServers", args.server] if args.server is not None else [])]
    try:
        after = remove_value(text, path)
    except UnsafeEdit as error:
        raise WorkbenchError(f"{target} was not changed: {error}") from None
    parse_config(after, str(target), permissive(after, os.environ), tolerant=True)
    return after
