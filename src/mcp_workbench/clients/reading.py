"""The servers that clients' files name, as found: nothing is judged or changed here."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import cast

from mcp_workbench.clients.locations import CLIENTS, Client, Location, Machine, locations
from mcp_workbench.clients.safe_write import FileProblem, read_text
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import NotJson, parse


@dataclass(frozen=True)
class FoundServer:
    """An entry of a client's file, and where it stands."""

    client: Client
    file: Path
    name: str
    entry: Json = field(repr=False)
    project: PurePath | None = None
    inputs: Mapping[str, Mapping[str, Json]] = field(default_factory=dict[str, Mapping[str, Json]])
    disabled: bool = False


@dataclass(frozen=True)
class ClientFile:
    """A file that may hold servers."""

    client: Client
    path: Path
    project: PurePath | None = None

    def read(self) -> list[FoundServer] | None:
        """Return the servers of the file, or None when there is no such file.

        Raises:
            FileProblem: It is there but cannot be understood.
        """
        text = read_text(self.path)
        if text is None:
            return None
        return list(self._servers(_document(text, self.path))) if text.strip() else []

    def _servers(self, document: dict[str, Json]) -> Iterator[FoundServer]:
        inputs = _inputs(document)
        for name, entry in _object(document, self.client.servers_key, self.path).items():
            yield FoundServer(self.client, self.path, name, entry, self.project, inputs)
        if self.client.id == "claude-code":
            for project, settings in _object(document, "projects", self.path).items():
                if isinstance(settings, dict):
                    yield from self._project_servers(PurePath(project), settings)

    def _project_servers(self, project: PurePath, settings: dict[str, Json]) -> Iterator[FoundServer]:
        switched_off = settings.get("disabledMcpServers")
        for name, entry in _object(settings, "mcpServers", self.path).items():
            disabled = isinstance(switched_off, list) and name in switched_off
            yield FoundServer(self.client, self.path, name, entry, project, disabled=disabled)


def this_machine() -> Machine:
    """Return the machine that we run on."""
    return Machine(sys.platform, os.environ, Path.home(), Path.cwd())


def client_files(clients: Iterable[Client], machine: Machine) -> list[ClientFile]:
    """Return the files to look at, whether or not they exist; where names vary, those that do."""
    places = [location for client in clients for location in locations(client, machine)]
    return [ClientFile(place.client, path, place.project) for place in places for path in matching(place.path)]


def named_file(path: Path, client: Client | None, machine: Machine) -> ClientFile:
    """Return a file that a person named; whose it is shows in what it holds, unless they say so.

    Raises:
        FileProblem: There is no such file, or it is not a client's.
    """
    text = read_text(path)
    if text is None:
        raise FileProblem(f"{path} does not exist")
    document = _document(text, path) if text.strip() else {}
    if "toolboxes" in document:
        raise FileProblem(f"{path} is a workbench config already: use it with --config")
    return ClientFile(client or _guess(document, path), path, _project_of(path, machine))


def installed_location(client: Client, machine: Machine) -> Path | None:
    """Return the user's file of a client, which may not exist yet, or None when the client is not on this machine."""
    for place in locations(client, machine):
        if place.scope == "user" and (found := _installed(place)):
            return found
    return None


def matching(pattern: PurePath) -> list[Path]:
    """Return the path, or where it holds a `*` the existing directories' ones that fit."""
    wild = [index for index, part in enumerate(pattern.parts) if "*" in part]
    if not wild:
        return [Path(pattern)]
    base, rest = Path(*pattern.parts[: wild[0]]), pattern.parts[wild[0] : -1]
    return [folder / pattern.name for folder in sorted(base.glob("/".join(rest)))]


def _installed(place: Location) -> Path | None:
    if "*" in str(place.path):
        return next(iter(matching(place.path)), None)
    return Path(place.path) if Path(place.path).exists() or Path(place.sign).is_dir() else None


def _document(text: str, path: Path) -> dict[str, Json]:
    try:
        value = parse(text).value
    except NotJson as error:
        raise FileProblem(f"{path} cannot be understood: {error}") from None
    if not isinstance(value, dict):
        raise FileProblem(f"{path} does not hold a JSON object")
    return cast("dict[str, Json]", value)


def _object(parent: Mapping[str, Json], key: str, path: Path) -> dict[str, Json]:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FileProblem(f"{path}: {key} is not a JSON object")
    return value


def _inputs(document: Mapping[str, Json]) -> dict[str, Mapping[str, Json]]:
    listed = document.get("inputs")
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return {str(item["id"]): item for item in items if "id" in item}


def _guess(document: Mapping[str, Json], path: Path) -> Client:
    if path.name == "claude_desktop_config.json":
        return CLIENTS["claude-desktop"]
    if "projects" in document or path.name == ".mcp.json":
        return CLIENTS["claude-code"]
    if "servers" in document and "mcpServers" not in document:
        return CLIENTS["vscode"]
    return CLIENTS["cursor"] if path.parent.name == ".cursor" else Client("file", path.name)


def _project_of(path: Path, machine: Machine) -> PurePath | None:
    absolute = path.absolute()
    if absolute.name == ".mcp.json":
        return absolute.parent
    if absolute.parent.name in {".cursor", ".vscode"} and absolute.parent.parent != Path(machine.home):
        return absolute.parent.parent
    return None
