"""`mcp-workbench add`: puts one server into the config, and its secrets into the env file beside it."""

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_workbench.clients.entries import hide_secrets
from mcp_workbench.clients.env_file import add_variables
from mcp_workbench.clients.json_edit import UnsafeEdit, set_value
from mcp_workbench.clients.preview import preview
from mcp_workbench.clients.purposes import purpose_of
from mcp_workbench.clients.safe_write import read_text, replace_text
from mcp_workbench.clients.takeover import existing_toolboxes, permissive, referenced
from mcp_workbench.clients.variables import variable_name
from mcp_workbench.commands.targets import EMPTY, Variables, config_to_change, make_place, variables_of
from mcp_workbench.commands.terminal import console, line, paragraph
from mcp_workbench.config.document import Json
from mcp_workbench.config.loading import parse_config
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.file_lock import locked

_ADDRESS = re.compile(r"(?i)https?://.+|\$\{.+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.usage = (
        "mcp-workbench add TOOLBOX SERVER [--env NAME=VALUE] [--header NAME=VALUE] (-- COMMAND [ARGS…] | URL)"
    )
    parser.description = (
        "Puts a server into the config: a program to start, after --, or the address of a remote one. Comments and "
        "layout stay. A toolbox that is not there is made. Values that look secret go into the env file beside the "
        "config, which only you can read; the config gets their variables."
    )
    parser.add_argument("toolbox", help="the toolbox to put it into")
    parser.add_argument("server", help="what to call the server")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for the program")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="a header for the address")
    parser.add_argument("--description", metavar="TEXT", help="what a new toolbox is for, which a model chooses it by")
    parser.add_argument("--force", action="store_true", help="replace a server of that name")
    parser.add_argument("--dry-run", action="store_true", help="show the change, and write nothing")
    parser.add_argument("arguments", nargs="*", metavar="-- COMMAND ARGS… | URL", help="what to start or connect to")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    entry = _entry(args)
    target = config_to_change(args.config)
    if not args.dry_run:
        make_place(target)
    with locked(target):
        change = _change(target, args, entry)
        if args.dry_run:
            _show(change, target)
        else:
            _write(change, target, args)
    return 0


@dataclass(frozen=True)
class _Change:
    before: str | None
    after: str
    env: Variables
    secrets: Mapping[str, str] = field(repr=False)


def _entry(args: argparse.Namespace) -> dict[str, Json]:
    words: Sequence[str] = args.arguments
    if not words:
        raise WorkbenchError("nothing to add: end with -- COMMAND ARGS…, or with the server's URL")
    for name in (args.toolbox, args.server):
        if not name.strip() or name.startswith("_"):
            raise WorkbenchError("a name is not blank and does not start with '_'")
    if len(words) == 1 and _ADDRESS.fullmatch(words[0]):
        return _remote(words[0], args)
    if args.header:
        raise WorkbenchError("--header is for a server that is reached at a URL; for a program use --env")
    env = dict[str, Json](_pairs(args.env, "--env", "="))
    entry: dict[str, Json] = {"command": words[0]}
    if words[1:]:
        entry["args"] = list[Json](words[1:])
    if env:
        entry["env"] = env
    return entry


def _remote(url: str, args: argparse.Namespace) -> dict[str, Json]:
    if args.env:
        raise WorkbenchError("--env is for a program to start; for a URL use --header")
    headers = dict[str, Json](_pairs(args.header, "--header", ":="))
    return {"url": url, **({"headers": headers} if headers else {})}


def _pairs(words: Sequence[str], option: str, joints: str) -> dict[str, str]:
    """`NAME=VALUE`, and for a header `NAME: VALUE` too, as it is written elsewhere."""
    pairs: dict[str, str] = {}
    for word in words:
        match = re.match(f"([^{joints}]+)[{joints}]\\s*(.*)", word, re.DOTALL)
        if match is None:
            raise WorkbenchError(f"{option} wants NAME=VALUE")  # without the word, which may be a secret
        pairs[match[1].strip()] = match[2]
    return pairs


def _change(target: Path, args: argparse.Namespace, entry: dict[str, Json]) -> _Change:
    before = read_text(target)
    old = before if before and before.strip() else EMPTY
    env = variables_of(target, old)
    parse_config(old, str(target), permissive(old, {**env.known, **os.environ}), tolerant=True)
    boxes = existing_toolboxes(old)
    if args.server in boxes.get(args.toolbox, {}) and not args.force:
        raise WorkbenchError(
            f"toolbox '{args.toolbox}' has a server '{args.server}' already: choose another name, or replace it with "
            "--force"
        )
    names = _Names(args, {**env.known, **os.environ}, referenced(old))
    after = _added(old, args, hide_secrets(args.server, entry, names.hide), is_new=args.toolbox not in boxes)
    after = env.naming(after) if names.secrets else after
    parse_config(after, str(target), permissive(after, {**names.secrets, **env.known, **os.environ}), tolerant=True)
    return _Change(before, after, env, names.secrets)


def _added(text: str, args: argparse.Namespace, entry: dict[str, Json], *, is_new: bool) -> str:
    try:
        if not is_new:
            text = set_value(text, ["toolboxes", args.toolbox, "mcpServers", args.server], entry)
            path = ["toolboxes", args.toolbox, "description"]
            return set_value(text, path, args.description) if args.description else text
        purpose = purpose_of(entry)
        described = args.description or (purpose.description if purpose else f"Servers added by hand: {args.server}")
        toolbox: dict[str, Json] = {"description": described, "mcpServers": {args.server: entry}}
        return set_value(text, ["toolboxes", args.toolbox], toolbox)
    except UnsafeEdit as error:
        raise WorkbenchError(f"the config was not changed: {error}") from None


class _Names:
    """Gives each secret a variable that means nothing else."""

    def __init__(self, args: argparse.Namespace, known: Mapping[str, str], used: set[str]) -> None:
        self._server = variable_name(f"{args.toolbox} {args.server}")
        self._known = known
        self._used = used
        self.secrets: dict[str, str] = {}

    def hide(self, preferred: str, secret: str, _place: str) -> str:
        longer = f"{self._server}_{preferred}"
        candidates = [preferred, longer, *(f"{longer}_{number}" for number in range(2, 100))]
        name = next(name for name in candidates if self._fits(name, secret))
        self.secrets[name] = secret
        return f"${{{name}}}"

    def _fits(self, name: str, secret: str) -> bool:
        known = self.secrets.get(name, self._known.get(name))
        return known == secret if known is not None else name not in self._used


def _show(change: _Change, target: Path) -> None:
    out = console()
    out.print(f"Nothing was written. This is what would change in {line(target)}:\n")
    out.print(paragraph(preview(change.before or "", change.after, target)))
    if change.secrets:
        out.print(f"And into {line(change.env.file)}: {line(', '.join(change.secrets))}")


def _write(change: _Change, target: Path, args: argparse.Namespace) -> None:
    if change.secrets:
        add_variables(change.env.file, target, change.secrets)
    backup = replace_text(target, change.before, change.after) if change.after != change.before else None
    out = console()
    out.print(f"Added {line(f'{args.toolbox}/{args.server}')} to {line(target)}.")
    if change.secrets:
        names = line(", ".join(change.secrets))
        out.print(f"Its secrets are in {line(change.env.file)}, which only you can read, as {names}.")
    if backup:
        out.print(f"The file as it was: {line(backup)}")
    out.print("Next: `mcp-workbench check --connect`.")
