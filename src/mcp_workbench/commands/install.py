"""`mcp-workbench install CLIENT`: puts the workbench into a client's own config file."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from mcp_workbench.clients.documents import Format
from mcp_workbench.clients.doubles import ConfigText, Double, doubles
from mcp_workbench.clients.installing import (
    DEFAULT_NAME,
    Change,
    env_of,
    put_in,
    servers_in,
    without_record,
    workbench_entry,
)
from mcp_workbench.clients.json_edit import UnsafeEdit
from mcp_workbench.clients.locations import CLIENTS, Client, locations
from mcp_workbench.clients.memory import Installed, installed_in, remember_installed
from mcp_workbench.clients.preview import preview
from mcp_workbench.clients.reading import FoundServer, installed_location, this_machine
from mcp_workbench.clients.safe_write import read_text, replace_text
from mcp_workbench.clients.takeover import permissive
from mcp_workbench.clients.variables import ALWAYS_SET
from mcp_workbench.commands.targets import variables_of
from mcp_workbench.commands.terminal import console, line, paragraph
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import NotJson
from mcp_workbench.config.loading import load_config, parse_config
from mcp_workbench.config.locations import config_files
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.file_lock import locked

_OTHERS = 0o077


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Adds the workbench, with this config, to the servers that a client starts. Everything else in the client's "
        "file stays as it is, a backup is kept beside it, and running the command again changes nothing. "
        "`mcp-workbench uninstall CLIENT` undoes it."
    )
    parser.add_argument("client", choices=list(CLIENTS), help="the client to put the workbench into")
    parser.add_argument("--name", metavar="NAME", help=f"what the client calls it (default: {DEFAULT_NAME})")
    parser.add_argument(
        "--replace",
        action="store_true",
        help="take the servers that the workbench now has out of the client's file, so that none starts twice; "
        "uninstall puts them back",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the change, and write nothing")
    parser.add_argument(
        "--pass-env",
        action="store_true",
        help="write the values of the variables that the config needs into the client's file, for a client that does "
        "not pass on your shell's (Claude Desktop)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    client, machine = CLIENTS[args.client], this_machine()
    needs = _Needs.of(config_files(args.config, os.environ))
    passed = {name: os.environ[name] for name in needs.from_shell} if args.pass_env else {}
    entry = workbench_entry(client, _command_line(needs.paths), passed)
    path = _file(client)
    out = console()
    with locked(path):
        twice = doubles(client, needs.configs, machine)
        removable = [each.found for each in twice if args.replace and each.found.file == path and not each.shared]
        change = _plan(client, path, args.name, entry, removable)
        if change.after == change.before:
            out.print(f"{client.title} has the workbench already, as '{line(change.name)}': nothing to change.")
        elif args.dry_run:
            out.print(f"Nothing was written. This is what would change in {line(path)}:\n")
            out.print(paragraph(preview(change.before or "", change.after, path)))
        else:
            _write(out, client, path, change, [found.name for found in removable])
    left = [each for each in twice if each.found not in removable]
    _advise(out, client, path, change, needs)
    _name_doubles(out, client, path, left)
    return 0


def workbench_command() -> list[str]:
    """Return how to start the workbench by absolute paths: its executable, or this Python with the module."""
    suffix = ".exe" if sys.platform == "win32" else ""
    beside = Path(sys.executable).with_name(f"mcp-workbench{suffix}")
    if os.access(beside, os.X_OK) and beside.is_file():
        return [str(beside)]
    return [sys.executable, "-m", "mcp_workbench"]


@dataclass(frozen=True)
class _Needs:
    """The config, and the variables that it needs from elsewhere."""

    configs: Sequence[ConfigText]
    from_shell: Sequence[str]
    unset: Sequence[str]

    @property
    def paths(self) -> list[Path]:
        return [each.path for each in self.configs]

    @classmethod
    def of(cls, paths: Sequence[Path]) -> "_Needs":
        """Read the config, which must be one but for variables that are not set here.

        Raises:
            ConfigError: It is not.
        """
        configs: list[ConfigText] = []
        used: set[str] = set()
        for path in [Path(os.path.abspath(path)) for path in paths]:
            text = read_text(path)
            if text is None:
                load_config(path, os.environ)  # which says what there is to say about it
            variables = variables_of(path, text or "")
            environ = _Recorder(permissive(text or "", {**variables.known, **os.environ}))
            parse_config(text or "", str(path), environ, tolerant=True)
            configs.append(ConfigText(path, text or "", variables.known))
            used |= environ.used - variables.known.keys() - ALWAYS_SET
        return cls(configs, sorted(used & os.environ.keys()), sorted(used - os.environ.keys()))


class _Recorder(Mapping[str, str]):
    """The environment, remembering which of its variables were asked for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> str:
        value = self._environ[name]
        self.used.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)


def _command_line(configs: Sequence[Path]) -> list[str]:
    """How a client starts the workbench that knows neither PATH nor the current directory."""
    return [*workbench_command(), *(word for path in configs for word in ("--config", str(path)))]


def _file(client: Client) -> Path:
    machine = this_machine()
    found = installed_location(client, machine)
    if found is None:
        expected = [str(place.path) for place in locations(client, machine) if place.scope == "user"]
        raise WorkbenchError(
            f"{client.title} does not seem to be installed here: neither its file nor its directory exists "
            f"({', '.join(expected)}). Start it once, then try again"
        )
    return found


def _plan(client: Client, path: Path, name: str | None, entry: dict[str, Json], twice: Sequence[FoundServer]) -> Change:
    before = read_text(path)
    try:
        return put_in(client, Format.of(path), before, name, entry, twice, _earlier(client, path))
    except NotJson as error:
        raise WorkbenchError(f"{path} cannot be understood, so nothing was changed: {error}") from None
    except UnsafeEdit as error:
        raise WorkbenchError(_by_hand(path, client, name or DEFAULT_NAME, entry, str(error))) from None


def _earlier(client: Client, path: Path) -> Installed:
    records = (record for record in installed_in(client.id) if record.path == str(path))
    return next(records, without_record(str(path)))


def _by_hand(path: Path, client: Client, name: str, entry: dict[str, Json], reason: str) -> str:
    shown: dict[str, Json] = {key: value for key, value in entry.items() if key not in {"env", "environment"}}
    if env := env_of(entry):
        shown["env"] = dict[str, Json].fromkeys(env, "...")
    kind = Format.of(path)
    snippet = json.dumps({client.servers_key: {name: shown}}, indent=2, ensure_ascii=False)
    if kind is Format.TOML:
        snippet = kind.set_value("", [client.servers_key, name], shown)
    return f"{path} was not changed: {reason}. Add this to it by hand:\n{snippet}"


def _write(out: Console, client: Client, path: Path, change: Change, replaced: Sequence[str]) -> None:
    """Remember first: what was taken out and not remembered would be lost."""
    earlier = installed_in(client.id)
    remember_installed(client.id, [*(each for each in earlier if each.path != str(path)), change.record])
    try:
        backup = replace_text(path, change.before, change.after)
    except BaseException:
        remember_installed(client.id, earlier)
        raise
    out.print(f"Put the workbench into {client.title} as '{line(change.name)}': {line(path)}")
    if replaced:
        out.print(f"Took out what the workbench now starts: {line(', '.join(replaced))}")
    if backup:
        out.print(f"The file as it was: {line(backup)}")
    out.print(f"Restart {client.title} to use it. `mcp-workbench uninstall {client.id}` undoes this.")


def _advise(out: Console, client: Client, path: Path, change: Change, needs: _Needs) -> None:
    env = env_of(servers_in(client, Format.of(path), change.after)[1].get(change.name))
    unseen = [name for name in needs.from_shell if name not in env]
    if unseen and not client.passes_environment:
        out.print(
            f"{client.title} does not pass your shell's variables on, and the config uses {', '.join(unseen)}: put "
            "them into an env file that the config names, or run this command with --pass-env, which writes their "
            "values into the client's file."
        )
    if needs.unset:
        out.print(
            f"[yellow]Not set here:[/] {', '.join(needs.unset)}. The config needs them: set them where "
            f"{client.title} is started, or in an env file that the config names."
        )
    if env and path.exists() and sys.platform != "win32" and path.stat().st_mode & _OTHERS:
        out.print(f"[yellow]Other users can read {line(path)}[/], and it holds values now: chmod 600 {line(path)}")
    if "archive-v0" in Path(sys.executable).parts:
        out.print(
            "This workbench runs from uv's cache, which may be cleaned. Install it with `uv tool install`, then "
            "run this command again."
        )


def _name_doubles(out: Console, client: Client, path: Path, twice: Sequence[Double]) -> None:
    started = [each for each in twice if not each.found.disabled]
    if not started:
        return
    out.print(f"{client.title} still starts these itself too, so a model sees their tools twice:")
    for place, names in _by_place(started).items():
        out.print(f"  {line(', '.join(names))}  [dim]{line(place)}[/]")
    if any(each.found.file == path for each in started):
        out.print("Run this command with --replace to take them out; uninstall puts them back.")
    if any(each.shared for each in started):
        out.print("A project's file is shared with others, and left alone: switch its servers off in the client.")


def _by_place(twice: Sequence[Double]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for each in twice:
        local = each.found.project is not None and not each.shared
        place = f"{each.found.file}{f', for {each.found.project}' if local else ''}"
        places.setdefault(place, []).append(each.found.name)
    return places
