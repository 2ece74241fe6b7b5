"""`mcp-workbench install CLIENT`: puts the workbench into a client's own config file."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.markup import escape

from mcp_workbench.clients.entries import is_workbench
from mcp_workbench.clients.json_edit import UnsafeEdit, set_value
from mcp_workbench.clients.locations import CLIENTS, Client, locations
from mcp_workbench.clients.preview import preview
from mcp_workbench.clients.reading import installed_location, this_machine
from mcp_workbench.clients.safe_write import read_text, replace_text
from mcp_workbench.commands.terminal import console
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import NotJson, parse
from mcp_workbench.config.loading import LoadedConfig, config_path, load_config
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.file_lock import locked

_DEFAULT_NAME = "workbench"
_ALWAYS_PASSED = frozenset({"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "APPDATA", "TEMP", "USERPROFILE"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Adds the workbench, with this config, to the servers that a client starts. Everything else in the client's "
        "file stays as it is, a backup is kept beside it, and running the command again changes nothing."
    )
    parser.add_argument("client", choices=list(CLIENTS)[:4], help="the client to put the workbench into")
    parser.add_argument("--name", metavar="NAME", help=f"what the client calls it (default: {_DEFAULT_NAME})")
    parser.add_argument("--dry-run", action="store_true", help="show the change, and write nothing")
    parser.add_argument(
        "--pass-env",
        action="store_true",
        help="write the values of the variables that the config needs into the client's file, for a client that does "
        "not pass on your shell's (Claude Desktop)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    client = CLIENTS[args.client]
    environ = _Recorder(os.environ)
    config = load_config(config_path(args.config, os.environ), environ)
    needed = sorted(environ.used - _ALWAYS_PASSED)
    entry = workbench_entry(client, config.path, {name: os.environ[name] for name in needed} if args.pass_env else {})
    path = _file(client)
    out = console()
    with locked(path):
        change = _plan(client, path, args.name, entry)
        if change.after == change.before:
            out.print(f"{client.title} has the workbench already, as '{escape(change.name)}': nothing to change.")
        elif args.dry_run:
            out.print(f"Nothing was written. This is what would change in {escape(str(change.path))}:\n")
            out.print(escape(preview(change.before or "", change.after, change.path)))
        else:
            _write(out, client, change)
    _advise(out, client, change, config, needed)
    return 0


def workbench_entry(client: Client, config: Path, env: Mapping[str, str]) -> dict[str, Json]:
    """Return the entry that starts the workbench from a client that knows neither PATH nor the current directory."""
    command = workbench_command()
    entry: dict[str, Json] = {"type": "stdio"} if client.id == "vscode" else {}
    entry |= {"command": command[0], "args": [*command[1:], "--config", os.path.abspath(config)]}
    return {**entry, "env": dict[str, Json](env)} if env else entry


def workbench_command() -> list[str]:
    """Return how to start the workbench by absolute paths: its executable, or this Python with the module."""
    suffix = ".exe" if sys.platform == "win32" else ""
    beside = Path(sys.executable).with_name(f"mcp-workbench{suffix}")
    if os.access(beside, os.X_OK) and beside.is_file():
        return [str(beside)]
    return [sys.executable, "-m", "mcp_workbench"]


@dataclass(frozen=True)
class _Change:
    path: Path
    name: str
    before: str | None
    after: str
    servers: Mapping[str, Json]


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


def _plan(client: Client, path: Path, name: str | None, entry: dict[str, Json]) -> _Change:
    before = read_text(path)
    text = before if before and before.strip() else "{}\n"
    try:
        servers = _servers(text, client, path)
        chosen, merged = _entry_to_write(servers, client, name, entry)
        after = set_value(text, [client.servers_key, chosen], merged) if servers.get(chosen) != merged else before
    except NotJson as error:
        raise WorkbenchError(f"{path} cannot be understood, so nothing was changed: {error}") from None
    except UnsafeEdit as error:
        raise WorkbenchError(_by_hand(path, client, name or _DEFAULT_NAME, entry, str(error))) from None
    return _Change(path, chosen, before, after or "", servers)


def _servers(text: str, client: Client, path: Path) -> dict[str, Json]:
    document = parse(text).value
    if not isinstance(document, dict):
        raise WorkbenchError(f"{path} does not hold a JSON object, so nothing was changed")
    servers = cast("dict[str, Json]", document).get(client.servers_key, {})
    if not isinstance(servers, dict):
        raise WorkbenchError(f"{path}: {client.servers_key} is not a JSON object, so nothing was changed")
    return servers


def _entry_to_write(
    servers: dict[str, Json], client: Client, name: str | None, entry: dict[str, Json]
) -> tuple[str, dict[str, Json]]:
    """Return under which name the workbench goes in, and what stands there then: what is there already is kept."""
    chosen = name or _DEFAULT_NAME
    if name is None and chosen not in servers:
        chosen = _other_name(servers, client, entry) or chosen
    present = servers.get(chosen)
    if present is None:
        return chosen, entry
    if not isinstance(present, dict) or not is_workbench(present):
        raise WorkbenchError(f"{client.title} has another server named '{chosen}': choose a name with --name")
    # Only what starts the workbench is ours to bring up to date; people add keys of their own.
    env = {**_env(present), **_env(entry)}
    started: dict[str, Json] = {"command": entry["command"], "args": entry["args"]}
    return chosen, {**present, **started, **({"env": env} if env else {})}


def _env(entry: Json) -> dict[str, Json]:
    env = entry.get("env") if isinstance(entry, dict) else None
    return env if isinstance(env, dict) else {}


def _other_name(servers: dict[str, Json], client: Client, entry: dict[str, Json]) -> str | None:
    for name, server in servers.items():
        if isinstance(server, dict) and is_workbench(server):
            if all(server.get(key) == entry[key] for key in ("command", "args")):
                return name
            raise WorkbenchError(
                f"{client.title} has a workbench already, '{name}', that is started in another way. Bring it up to "
                f"date with --name {name}, or have a second one under another --name"
            )
    return None


def _by_hand(path: Path, client: Client, name: str, entry: dict[str, Json], reason: str) -> str:
    shown: dict[str, Json] = {**entry, "env": dict[str, Json].fromkeys(_env(entry), "...")} if "env" in entry else entry
    snippet = json.dumps({client.servers_key: {name: shown}}, indent=2, ensure_ascii=False)
    return f"{path} was not changed: {reason}. Add this to it by hand:\n{snippet}"


def _write(out: Console, client: Client, change: _Change) -> None:
    backup = replace_text(change.path, change.before, change.after)
    out.print(f"Put the workbench into {client.title} as '{escape(change.name)}': {escape(str(change.path))}")
    if backup:
        out.print(f"The file as it was: {escape(str(backup))}")
    out.print(f"Restart {client.title} to use it.")


def _advise(out: Console, client: Client, change: _Change, config: LoadedConfig, needed: list[str]) -> None:
    env = _env(_servers(change.after, client, change.path).get(change.name))
    unseen = [name for name in needed if name not in env]
    if unseen and not client.passes_environment:
        out.print(
            f"{client.title} does not pass your shell's variables on, and the config uses {', '.join(unseen)}: put "
            "them into the entry's env, or run this command with --pass-env, which writes their values there."
        )
    twice = sorted({name for box in config.config.toolboxes.values() for name in box.servers} & change.servers.keys())
    if twice:
        out.print(
            f"{client.title} still starts these itself too: {escape(', '.join(twice))}. Remove them there, "
            "or the model sees their tools twice."
        )
    if "archive-v0" in Path(sys.executable).parts:
        out.print(
            "This workbench runs from uv's cache, which may be cleaned. Install it with `uv tool install`, then "
            "run this command again."
        )
