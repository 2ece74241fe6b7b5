"""`mcp-workbench import`: takes the servers of other clients into toolboxes."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.markup import escape

from mcp_workbench.clients.json_edit import set_value
from mcp_workbench.clients.locations import CLIENTS, Machine
from mcp_workbench.clients.preview import preview
from mcp_workbench.clients.reading import ClientFile, FoundServer, client_files, named_file, this_machine
from mcp_workbench.clients.safe_write import FileProblem, read_text, replace_text
from mcp_workbench.clients.takeover import Outcome, Takeover, Variable, existing_toolboxes, permissive
from mcp_workbench.clients.variables import escaped
from mcp_workbench.commands.loading import counted
from mcp_workbench.commands.terminal import console
from mcp_workbench.config.document import Json
from mcp_workbench.config.loading import config_path, parse_config
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.file_lock import locked

_EMPTY = '{\n  "toolboxes": {}\n}\n'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Reads the servers that other clients have, shows them, and writes them as toolboxes into the config. Secrets "
        "stay out of it: each becomes a variable to export. Nothing that the config has is changed, and the "
        "clients' own files are only read."
    )
    parser.add_argument("client", nargs="?", choices=list(CLIENTS), help="whose servers (default: everybody's)")
    parser.add_argument("--from", dest="source", metavar="FILE", help="read this file instead of the usual ones")
    parser.add_argument("--toolbox", type=_toolbox_name, metavar="NAME", help="put all of them into this toolbox")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    machine = this_machine()
    reading = _read(_files(args, machine))
    if not reading.servers and not reading.problems:
        raise WorkbenchError(_nothing_found(reading))
    target = config_path(args.config, os.environ)
    with locked(target):
        before = read_text(target)
        takeover = Takeover(_checked(before, target), sys.platform, os.environ, args.toolbox)
        outcomes = takeover.decide(reading.servers)
        result = _write(target, before, outcomes, dry_run=args.dry_run)
    if args.json:
        _print_json(reading, outcomes, result)
    else:
        _Report(console(), reading, outcomes, result).show()
    return 1 if reading.problems else 0


@dataclass(frozen=True)
class _Reading:
    files: Sequence[ClientFile]
    servers: Sequence[FoundServer]
    problems: Sequence[str]


@dataclass(frozen=True)
class _Result:
    target: Path
    after: str
    diff: str
    written: bool
    backup: Path | None


def _toolbox_name(text: str) -> str:
    if not text.strip() or text.startswith("_"):
        raise argparse.ArgumentTypeError("a toolbox's name is not blank and does not start with '_'")
    return escaped(text)


def _files(args: argparse.Namespace, machine: Machine) -> list[ClientFile]:
    client = CLIENTS[args.client] if args.client else None
    if args.source is not None:
        return [named_file(Path(args.source).expanduser(), client, machine)]
    return client_files([client] if client else CLIENTS.values(), machine)


def _read(files: Sequence[ClientFile]) -> _Reading:
    servers: list[FoundServer] = []
    problems: list[str] = []
    for file in files:
        try:
            servers += file.read() or []
        except FileProblem as error:
            problems.append(str(error))
    return _Reading(files, servers, problems)


def _nothing_found(reading: _Reading) -> str:
    looked = [f"  {file.path} ({file.client.title}): {_state(file.path)}" for file in reading.files]
    return "\n".join(["no servers found. Looked in:", *looked, "Name another file with --from FILE."])


def _state(path: Path) -> str:
    return "no servers in it" if path.exists() else "no such file"


def _checked(before: str | None, target: Path) -> str:
    """Return the text to add to, which must be a config but for variables that are not set here."""
    if before is None or not before.strip():
        return _EMPTY
    parse_config(before, str(target), permissive(before, os.environ))
    return before


def _write(target: Path, before: str | None, outcomes: Sequence[Outcome], *, dry_run: bool) -> _Result:
    old = _checked(before, target)
    after = _merged(old, [outcome for outcome in outcomes if outcome.status == "new"])
    parse_config(after, str(target), permissive(after, os.environ))
    changed = after != old
    backup = replace_text(target, before, after) if changed and not dry_run else None
    return _Result(target, after, preview(before or "", after, target), changed and not dry_run, backup)


def _merged(text: str, new: Sequence[Outcome]) -> str:
    toolboxes = existing_toolboxes(text)
    for toolbox in dict.fromkeys(outcome.toolbox for outcome in new):
        chosen = [outcome for outcome in new if outcome.toolbox == toolbox]
        servers: dict[str, Json] = {outcome.name: cast("Json", outcome.entry) for outcome in chosen}
        if toolbox not in toolboxes:
            entry = {"description": _description(chosen), "mcpServers": servers}
            text = set_value(text, ["toolboxes", toolbox], entry)
            continue
        for name, server in servers.items():
            text = set_value(text, ["toolboxes", toolbox, "mcpServers", name], server)
    return text


def _description(chosen: Sequence[Outcome]) -> str:
    """Say what is in it: that is what a model chooses a toolbox by, until somebody says it better."""
    projects = {outcome.found.project for outcome in chosen}
    project = chosen[0].found.project if len(projects) == 1 else None
    sources = ", ".join(dict.fromkeys(outcome.found.client.title for outcome in chosen))
    origin = f"for the project {escaped(project.name)}" if project else f"from {escaped(sources)}"
    return f"Servers {origin}: {', '.join(outcome.name for outcome in chosen)}"


def _variables(outcomes: Sequence[Outcome]) -> Mapping[str, Variable]:
    needed: dict[str, Variable] = {}
    for outcome in outcomes:
        for variable in outcome.variables:
            needed.setdefault(variable.name, variable)
    return needed


def _print_json(reading: _Reading, outcomes: Sequence[Outcome], result: _Result) -> None:
    document = {
        "config": str(result.target),
        "written": result.written,
        "backup": str(result.backup) if result.backup else None,
        "servers": [_as_json(outcome) for outcome in outcomes],
        "variables": [
            {"name": variable.name, "source": variable.source, "set": variable.is_set}
            for variable in _variables(outcomes).values()
        ],
        "problems": list(reading.problems),
    }
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {
        "client": outcome.found.client.id,
        "file": str(outcome.found.file),
        "name": outcome.found.name,
        "status": outcome.status,
        "toolbox": outcome.toolbox,
        "server": outcome.name,
        "reason": outcome.reason or None,
        "entry": outcome.entry or None,
        "notes": list(outcome.notes),
    }


class _Report:
    """What a person reads: what was found and where it goes, what does not, and what is left to do."""

    def __init__(self, out: Console, reading: _Reading, outcomes: Sequence[Outcome], result: _Result) -> None:
        self._out = out
        self._reading = reading
        self._outcomes = outcomes
        self._result = result

    def show(self) -> None:
        for file in dict.fromkeys(outcome.found.file for outcome in self._outcomes):
            self._file([outcome for outcome in self._outcomes if outcome.found.file == file])
        for problem in self._reading.problems:
            self._out.print(f"[red]Not read:[/] {escape(problem)}")
        self._exports()
        self._ending()

    def _file(self, outcomes: Sequence[Outcome]) -> None:
        found = outcomes[0].found
        client = "" if found.client.title == found.file.name else f"[bold]{escape(found.client.title)}[/] "
        self._out.print(f"{client}{escape(str(found.file))}")
        for outcome in outcomes:
            self._out.print(f"  {self._line(outcome)}")
            for note in outcome.notes:
                self._out.print(f"      note: {escape(note)}")
        self._out.print()

    def _line(self, outcome: Outcome) -> str:
        name = escape(outcome.found.name)
        place = escape(f"{outcome.toolbox}/{outcome.name}")
        match outcome.status:
            case "new":
                off = " (disabled)" if outcome.entry.get("disabled") else ""
                return f"[green]+[/] {name} -> {place}{off}  [dim]{escape(_command(outcome.entry))}[/]"
            case "present":
                return f"[dim]=[/] {name}: already there as {place}"
            case "duplicate" | "itself":
                return f"[dim]=[/] {name}: {escape(outcome.reason)}"
            case "conflict":
                return f"[yellow]![/] {name}: not taken over: {place} {escape(outcome.reason)}"
            case "refused":
                return f"[yellow]![/] {name}: not taken over: {escape(outcome.reason)}"

    def _exports(self) -> None:
        missing = [variable for variable in _variables(self._outcomes).values() if not variable.is_set]
        if not missing:
            return
        self._out.print("[bold]Variables to set[/] before the workbench starts, each with where its value is:")
        for variable in missing:
            self._out.print(f"  export {variable.name}=...   [dim]# {escape(variable.source)}[/]")
        self._out.print()

    def _ending(self) -> None:
        result, new = self._result, [outcome for outcome in self._outcomes if outcome.status == "new"]
        path = escape(str(result.target))
        if not new:
            self._out.print(f"Nothing new: {path} is unchanged.")
            return
        if not result.written:
            self._out.print(f"Nothing was written. This is what would change in {path}:\n")
            self._out.print(escape(result.diff))
            return
        self._out.print(f"Wrote {counted(len(new), 'server')} to {path}.")
        if result.backup:
            self._out.print(f"The file as it was: {escape(str(result.backup))}")
        self._out.print("Next: say in each toolbox's description what it is for, then `mcp-workbench check --connect`.")


def _command(entry: Mapping[str, Json]) -> str:
    args = entry.get("args")
    return " ".join([str(entry["command"]), *map(str, args if isinstance(args, list) else [])])
