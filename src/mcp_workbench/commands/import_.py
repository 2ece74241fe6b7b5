"""`mcp-workbench import`: takes the servers of other clients into toolboxes."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mcp_workbench.clients.env_file import add_variables
from mcp_workbench.clients.json_edit import set_value
from mcp_workbench.clients.locations import CLIENTS, Machine
from mcp_workbench.clients.memory import Imported, imported_into, remember_imports
from mcp_workbench.clients.preview import preview
from mcp_workbench.clients.reading import ClientFile, FoundServer, client_files, named_file, this_machine
from mcp_workbench.clients.safe_write import FileProblem, read_text, replace_text
from mcp_workbench.clients.takeover import Known, Outcome, Takeover, Variable, existing_toolboxes, permissive
from mcp_workbench.clients.variables import ALWAYS_SET, escaped
from mcp_workbench.commands.import_report import Reading, Report, Result, ask, confirm, print_json
from mcp_workbench.commands.targets import EMPTY, Variables, config_to_change, make_place, top_level, variables_of
from mcp_workbench.commands.terminal import console
from mcp_workbench.config.document import Json
from mcp_workbench.config.loading import parse_config
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.file_lock import locked


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Reads the servers that other clients have, shows them, and writes them as toolboxes into the config; their "
        "secrets go into an env file beside it that only you can read. Nothing that the config has is changed, and the "
        "clients' own files are only read. What a project brings along is taken only if you name its file or say yes."
    )
    parser.add_argument("client", nargs="?", choices=list(CLIENTS), help="whose servers (default: everybody's)")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        action="append",
        help="read this file instead of the usual ones (may be repeated)",
    )
    parser.add_argument("--toolbox", type=_toolbox_name, metavar="NAME", help="put all of them into this toolbox")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    machine = this_machine()
    files = _files(args, machine)
    reading = _read(files)
    if not reading.servers and not reading.problems:
        raise WorkbenchError(_nothing_found(reading))
    people = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and not args.json
    confirmed = _confirmed(reading, by_name=bool(args.source), ask_person=people and not args.dry_run)
    target = config_to_change(args.config)
    answers: dict[str, str] = {}
    if people and not args.dry_run:  # nobody waits for the lock while a person thinks
        plan = _plan(target, reading, confirmed, args.toolbox)
        answers = ask([variable for variable in plan.variables if variable.value is None])
    if not args.dry_run:
        make_place(target)
    with locked(target):
        plan = _plan(target, reading, confirmed, args.toolbox)
        plan.answers.update(answers)
        result = _write(target, plan, dry_run=args.dry_run)
    if args.json:
        print_json(reading, plan.outcomes, result)
    else:
        Report(console(), reading, plan.outcomes, result).show()
    return 1 if reading.problems else 0


@dataclass
class _Plan:
    before: str | None
    after: str
    outcomes: list[Outcome]
    env: Variables
    answers: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def new(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.status == "new"]

    @property
    def variables(self) -> list[Variable]:
        """Every variable that the new servers need, once."""
        needed: dict[str, Variable] = {}
        for outcome in self.new:
            for variable in outcome.variables:
                needed.setdefault(variable.name, variable)
        return list(needed.values())

    @property
    def values(self) -> dict[str, str]:
        """What goes into the env file: secrets, answers, and what the shell has now and another program may not."""
        known = {each.name: each.value for each in self.variables if each.name not in ALWAYS_SET}
        return {name: value for name, value in known.items() if value is not None} | self.answers


def _toolbox_name(text: str) -> str:
    if not text.strip() or text.startswith("_"):
        raise argparse.ArgumentTypeError("a toolbox's name is not blank and does not start with '_'")
    return escaped(text)


def _files(args: argparse.Namespace, machine: Machine) -> list[ClientFile]:
    client = CLIENTS[args.client] if args.client else None
    if args.source:
        # Absolute, since what is remembered of an import must mean the same from everywhere.
        paths = [Path(os.path.abspath(os.path.expanduser(source))) for source in args.source]
        return [named_file(path, client, machine) for path in paths]
    return client_files([client] if client else CLIENTS.values(), machine)


def _read(files: Sequence[ClientFile]) -> Reading:
    servers: list[FoundServer] = []
    problems: list[str] = []
    for file in files:
        try:
            servers += file.read() or []
        except FileProblem as error:
            problems.append(str(error))
    return Reading(files, servers, problems)


def _nothing_found(reading: Reading) -> str:
    looked = [f"  {file.path} ({file.client.title}): {_state(file.path)}" for file in reading.files]
    return "\n".join(["no servers found. Looked in:", *looked, "Name another file with --from FILE."])


def _state(path: Path) -> str:
    return "no servers in it" if os.path.exists(path) else "no such file"


def _confirmed(reading: Reading, *, by_name: bool, ask_person: bool) -> frozenset[Path]:
    """The files whose servers are taken: a project's own, which may come from anywhere, only when a person says so."""
    files = {server.file for server in reading.servers}
    projects = {file.path for file in reading.files if file.scope == "project" and file.path in files}
    if by_name:
        return frozenset(files)
    agreed = {path for path in sorted(projects) if ask_person and confirm(reading, path)}
    return frozenset((files - projects) | agreed)


def _plan(target: Path, reading: Reading, confirmed: frozenset[Path], toolbox: str | None) -> _Plan:
    before = read_text(target)
    old = _checked(before, target)
    env = variables_of(target, old)
    known = Known(old, sys.platform, os.environ, env.known, imported_into(target))
    decided = iter(Takeover(known, toolbox).decide(each for each in reading.servers if each.file in confirmed))
    outcomes = [
        next(decided) if server.file in confirmed else Outcome(server, "unconfirmed", "", server.name)
        for server in reading.servers
    ]
    plan = _Plan(before, old, outcomes, env)
    if plan.new:
        plan.after = _merged(old, plan)
        parse_config(plan.after, str(target), permissive(plan.after, os.environ), tolerant=True)
    return plan


def _checked(before: str | None, target: Path) -> str:
    """Return the text to add to, which must be a config but for variables that are not set here."""
    if before is None or not before.strip():
        return EMPTY
    parse_config(before, str(target), permissive(before, os.environ), tolerant=True)
    return before


def _write(target: Path, plan: _Plan, *, dry_run: bool) -> Result:
    """Write the env file, then the config that refers to it, then what was done."""
    diff = preview(plan.before or "", plan.after, target)
    values = plan.values
    result = Result(target, plan.env.file, diff, sorted(values), plan.variables, answers=frozenset(plan.answers))
    if dry_run or not plan.new:
        return result
    if values:
        add_variables(plan.env.file, target, values)
    result.backup = replace_text(target, plan.before, plan.after)
    result.written = True
    try:
        remember_imports(_record(target, outcome) for outcome in plan.outcomes if outcome.status in {"new", "present"})
    except WorkbenchError as error:
        result.note = f"{error}. The next import may not know edited servers again"
    return result


def _record(target: Path, outcome: Outcome) -> Imported:
    return Imported(str(target), str(outcome.found.file), outcome.found.keys, outcome.toolbox, outcome.name)


def _merged(text: str, plan: _Plan) -> str:
    toolboxes = existing_toolboxes(text)
    for toolbox in dict.fromkeys(outcome.toolbox for outcome in plan.new):
        chosen = [outcome for outcome in plan.new if outcome.toolbox == toolbox]
        servers: dict[str, Json] = {outcome.name: cast("Json", outcome.entry) for outcome in chosen}
        if toolbox not in toolboxes:
            entry = {"description": f"{_lead(chosen)}: {_listed(servers)}", "mcpServers": servers}
            text = set_value(text, ["toolboxes", toolbox], entry)
            continue
        for name, server in servers.items():
            text = set_value(text, ["toolboxes", toolbox, "mcpServers", name], server)
        text = _described_again(text, toolbox, list(toolboxes[toolbox]), list(servers))
    text = plan.env.naming(text) if plan.values or plan.variables else text
    unset = [variable for variable in plan.variables if variable.value is None]
    return set_value(text, ["unsetVariables"], "skip") if unset and "unsetVariables" not in top_level(text) else text


def _lead(chosen: Sequence[Outcome]) -> str:
    """Say what is in it: that is what a model chooses a toolbox by, until somebody says it better."""
    if chosen[0].purpose:
        return chosen[0].purpose.description
    projects = {outcome.found.project for outcome in chosen}
    project = chosen[0].found.project if len(projects) == 1 else None
    sources = ", ".join(dict.fromkeys(outcome.found.client.title for outcome in chosen))
    return f"Servers for the project {escaped(project.name)}" if project else f"Servers from {escaped(sources)}"


def _listed(names: Sequence[str] | Mapping[str, Json]) -> str:
    return ", ".join(names)


def _described_again(text: str, toolbox: str, before: Sequence[str], new: Sequence[str]) -> str:
    """Bring a description up to date that is still as an import wrote it; a person's own words stay."""
    path = ["toolboxes", toolbox, "description"]
    box = cast("dict[str, dict[str, Json]]", top_level(text)["toolboxes"])[toolbox]
    description, listed = str(box.get("description")), f": {_listed(before)}"
    if not before or not description.endswith(listed):
        return text
    return set_value(text, path, f"{description.removesuffix(listed)}: {_listed([*before, *new])}")
