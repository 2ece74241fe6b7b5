"""`mcp-workbench uninstall CLIENT`: takes the workbench out of a client's file, and puts back what `install` took."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from mcp_workbench.clients.documents import Format
from mcp_workbench.clients.installing import taken_out, without_record
from mcp_workbench.clients.json_edit import UnsafeEdit
from mcp_workbench.clients.locations import CLIENTS, Client
from mcp_workbench.clients.memory import Installed, installed_in, remember_installed
from mcp_workbench.clients.preview import preview
from mcp_workbench.clients.reading import installed_location, this_machine
from mcp_workbench.clients.safe_write import read_text, remove_file, replace_text
from mcp_workbench.commands.terminal import console, line, paragraph
from mcp_workbench.config.json_text import NotJson
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.file_lock import locked


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Takes the workbench out of the servers that a client starts, and puts back the ones that `install --replace` "
        "took out. A file that nobody has changed since is then what it was, to the byte; in any other only these "
        "entries change. A backup is kept beside it."
    )
    parser.add_argument("client", choices=list(CLIENTS), help="the client to take the workbench out of")
    parser.add_argument("--dry-run", action="store_true", help="show the change, and write nothing")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    client = CLIENTS[args.client]
    out = console()
    records = installed_in(client.id)
    changed = [_undo(out, client, record, dry_run=args.dry_run) for record in records or _guessed(client)]
    if not any(changed):
        out.print(f"{client.title} has no workbench: nothing to change.")
    elif not args.dry_run:
        out.print(f"Restart {client.title}.")
    if not args.dry_run:
        remember_installed(client.id, [])
    return 0


def _guessed(client: Client) -> Sequence[Installed]:
    """Where an entry would be that nobody has remembered."""
    path = installed_location(client, this_machine())
    return [without_record(str(path))] if path else []


def _undo(out: Console, client: Client, record: Installed, *, dry_run: bool) -> bool:
    path = Path(record.path)
    with locked(path):
        before = read_text(path)
        after = _without_workbench(client, path, before, record)
        if after == before:
            return False
        if dry_run:
            out.print(f"Nothing was written. This is what would change in {line(path)}:\n")
            out.print(paragraph(preview(before or "", after or "", path)))
            return True
        _write(out, client, path, before, after)
    if record.taken:
        out.print(f"Put back: {line(', '.join(str(taken.keys[-1]) for taken in record.taken))}")
    return True


def _without_workbench(client: Client, path: Path, text: str | None, record: Installed) -> str | None:
    try:
        return taken_out(client, Format.of(path), text, record)
    except NotJson as error:
        raise WorkbenchError(f"{path} cannot be understood, so nothing was changed: {error}") from None
    except UnsafeEdit as error:
        raise WorkbenchError(f"{path} was not changed: {error}. Take the workbench out of it by hand") from None


def _write(out: Console, client: Client, path: Path, before: str | None, after: str | None) -> None:
    if after is None:
        remove_file(path, before or "")
        out.print(
            f"Took the workbench out of {client.title}, and its file with it, which held nothing else: {line(path)}"
        )
        return
    backup = replace_text(path, before, after)
    out.print(f"Took the workbench out of {client.title}: {line(path)}")
    if backup:
        out.print(f"The file as it was: {line(backup)}")
