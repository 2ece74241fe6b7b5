"""The workbench's own entry in a client's file, in and out: texts to texts, nothing is read or written here.

What was put in can be taken out again, and what was taken out put back, whatever else happened to the file meanwhile:
a file that is still as we left it becomes what it was, to the byte; in any other only the entries concerned change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mcp_workbench.clients.documents import Format
from mcp_workbench.clients.entries import is_workbench
from mcp_workbench.clients.locations import Client
from mcp_workbench.clients.memory import Installed, Taken
from mcp_workbench.clients.reading import FoundServer, servers_path
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import NotJson
from mcp_workbench.errors import WorkbenchError

DEFAULT_NAME = "workbench"


@dataclass(frozen=True)
class Change:
    """A client's file before and after, and what to remember of it."""

    name: str
    before: str | None
    after: str
    record: Installed


def workbench_entry(client: Client, command: Sequence[str], env: Mapping[str, str]) -> dict[str, Json]:
    """Return the entry that starts the workbench, as the client writes entries."""
    variables = dict[str, Json](env)
    if client.id == "opencode":
        local: dict[str, Json] = {"type": "local", "command": list[Json](command), "enabled": True}
        return {**local, "environment": variables} if env else local
    entry: dict[str, Json] = {"type": "stdio"} if client.id == "vscode" else {}
    if client.id == "zed":
        entry["source"] = "custom"
    entry |= {"command": command[0], "args": list[Json](command[1:])}
    return {**entry, "env": variables} if env else entry


def put_in(
    client: Client,
    kind: Format,
    text: str | None,
    name: str | None,
    entry: dict[str, Json],
    doubles: Sequence[FoundServer],
    earlier: Installed,
) -> Change:
    """Return the change that puts the workbench into a client's text, and takes out what it starts itself too.

    Raises:
        NotJson: The text cannot be understood.
        UnsafeEdit: It cannot be changed without risk.
        WorkbenchError: It has something else under that name.
    """
    base = text if text and text.strip() else kind.empty
    keys, servers = servers_in(client, kind, base)
    chosen, merged = _entry_to_write(servers, client, name, entry)
    after = base
    for found in doubles:
        after = kind.remove_value(after, found.keys)
    after = kind.set_value(after, [*keys, chosen], merged)
    if after == base:
        after = text or ""
    taken = [*earlier.taken, *(Taken(found.keys, found.entry) for found in doubles)]
    added = [*(list(each) for each in earlier.added if list(each) != [*keys, chosen]), [*keys, chosen]]
    record = Installed(earlier.path, _as_it_was(kind, text, earlier), after, added, taken)
    return Change(chosen, text, after, record)


def taken_out(client: Client, kind: Format, text: str | None, earlier: Installed) -> str | None:
    """Return the text without the workbench and with what was taken out of it, or None if there was no file.

    Raises:
        NotJson: The text cannot be understood.
        UnsafeEdit: It cannot be changed without risk.
    """
    if text is not None and text == earlier.after and earlier.added:
        return earlier.before
    after = text if text and text.strip() else kind.empty
    keys, servers = servers_in(client, kind, after)
    ours = [[*keys, name] for name, entry in servers.items() if is_workbench(entry)]
    added = [list(each) for each in earlier.added]
    for path in ours:
        after = kind.remove_value(after, path) if not added or path in added else after
    after = _with_taken(kind, after, earlier)
    return text if after == kind.empty and not (text or "").strip() else after


def servers_in(client: Client, kind: Format, text: str) -> tuple[tuple[str, ...], dict[str, Json]]:
    """Return the keys that lead to the servers of a client's text, and the servers.

    Raises:
        NotJson: The text cannot be understood, or is not a client's.
    """
    document = kind.parse(text)
    if not isinstance(document, dict):
        raise NotJson("it does not hold a JSON object")
    keys = servers_path(client, document)
    servers: Json = document
    for key in keys:
        servers = cast("dict[str, Json]", servers).get(key, {})
        if not isinstance(servers, dict):
            raise NotJson(f"{key} is not a JSON object")
    return keys, cast("dict[str, Json]", servers)


def env_of(entry: Json) -> dict[str, Json]:
    """Return the variables that an entry sets."""
    env = entry.get("env", entry.get("environment")) if isinstance(entry, dict) else None
    return env if isinstance(env, dict) else {}


def _as_it_was(kind: Format, text: str | None, earlier: Installed) -> str | None:
    """What the file would be without us."""
    if not earlier.added:
        return text
    if text == earlier.after:
        return earlier.before
    without = text or kind.empty
    for path in earlier.added:
        without = kind.remove_value(without, path)
    return _with_taken(kind, without, earlier)


def _with_taken(kind: Format, text: str, earlier: Installed) -> str:
    for taken in earlier.taken:
        document = kind.parse(text)
        for key in taken.keys:
            document = document.get(key) if isinstance(document, dict) else None
        if document is None:  # an entry that came there since is the person's own
            text = kind.set_value(text, list(taken.keys), taken.entry)
    return text


def _entry_to_write(
    servers: dict[str, Json], client: Client, name: str | None, entry: dict[str, Json]
) -> tuple[str, dict[str, Json]]:
    """Return under which name the workbench goes in, and what stands there then: what is there already is kept."""
    chosen = name or DEFAULT_NAME
    if name is None and chosen not in servers:
        chosen = _other_name(servers, client, entry) or chosen
    present = servers.get(chosen)
    if present is None:
        return chosen, entry
    if not isinstance(present, dict) or not is_workbench(present):
        raise WorkbenchError(f"{client.title} has another server named '{chosen}': choose a name with --name")
    # Only what starts the workbench is ours to bring up to date; people add keys of their own.
    env = {**env_of(present), **env_of(entry)}
    variables = "environment" if client.id == "opencode" else "env"
    return chosen, {**present, **_start(entry), **({variables: env} if env else {})}


def _start(entry: Mapping[str, Json]) -> dict[str, Json]:
    return {key: entry[key] for key in ("command", "args") if key in entry}


def _other_name(servers: dict[str, Json], client: Client, entry: dict[str, Json]) -> str | None:
    for name, server in servers.items():
        if isinstance(server, dict) and is_workbench(server):
            if _start(server) == _start(entry):
                return name
            raise WorkbenchError(
                f"{client.title} has a workbench already, '{name}', that is started in another way. Bring it up to "
                f"date with --name {name}, or have a second one under another --name"
            )
    return None


def without_record(path: str) -> Installed:
    """Return the record of a file that nothing was done to so far."""
    return Installed(path, None, "")
