"""The servers that clients' files name, as found: nothing is judged or changed here."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from mcp_workbench.clients.documents import Format
from mcp_workbench.clients.locations import CLIENTS, Client, Location, Machine, Scope, locations
from mcp_workbench.clients.safe_write import FileProblem, read_text
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import NotJson
from mcp_workbench.errors import WorkbenchError


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
    keys: tuple[str, ...] = ()
    """The keys that lead to the entry in its file."""


@dataclass(frozen=True)
class ClientFile:
    """A file that may hold servers."""

    client: Client
    path: Path
    project: PurePath | None = None
    scope: Scope = "user"

    def read(self) -> list[FoundServer] | None:
        """Return the servers of the file, or None when there is no such file.

        Raises:
            FileProblem: It is there but cannot be understood.
        """
        text = read_text(self.path)
        if text is None:
            return None
        return self.servers_in(text)

    def servers_in(self, text: str) -> list[FoundServer]:
        """Return the servers that a text names which this file holds or is to hold.

        Raises:
            FileProblem: It cannot be understood.
        """
        return list(self._servers(_document(text, self.path))) if text.strip() else []

    def _servers(self, document: dict[str, Json]) -> Iterator[FoundServer]:
        inputs, keys = _inputs(document), servers_path(self.client, document)
        off = _switched_off(document)
        for name, entry in _objects(document, keys, self.path).items():
            disabled = off is not None and off(name)
            yield FoundServer(
                self.client, self.path, name, entry, self.project, inputs, disabled=disabled, keys=(*keys, name)
            )
        if self.client.id == "claude-code":
            for project, settings in _object(document, "projects", self.path).items():
                if isinstance(settings, dict):
                    yield from self._project_servers(project, settings)

    def _project_servers(self, project: str, settings: dict[str, Json]) -> Iterator[FoundServer]:
        switched_off = settings.get("disabledMcpServers")
        for name, entry in _object(settings, "mcpServers", self.path).items():
            disabled = isinstance(switched_off, list) and name in switched_off
            keys = ("projects", project, "mcpServers", name)
            yield FoundServer(self.client, self.path, name, entry, PurePath(project), disabled=disabled, keys=keys)


def servers_path(client: Client, document: Mapping[str, Json]) -> tuple[str, ...]:
    """The keys that lead to the servers in a client's document."""
    if client.id == "opencode":
        # Its second version has them one level deeper.
        outer = document.get("mcp")
        inner = outer.get("servers") if isinstance(outer, dict) else None
        if isinstance(inner, dict) and "type" not in inner:
            return ("mcp", "servers")
    return (client.servers_key,)


def this_machine() -> Machine:
    """Return the machine that we run on.

    Raises:
        WorkbenchError: There is no home directory, or the current directory is gone.
    """
    try:
        home = Path.home()
    except RuntimeError:
        raise WorkbenchError("there is no home directory to look for clients in: set HOME") from None
    try:
        return Machine(sys.platform, os.environ, home, Path.cwd())
    except OSError:
        raise WorkbenchError("the current directory is gone: change to one that exists") from None


def client_files(clients: Iterable[Client], machine: Machine) -> list[ClientFile]:
    """Return the files to look at, whether or not they exist; where names vary, those that do."""
    places = [location for client in clients for location in locations(client, machine)]
    return [
        ClientFile(place.client, path, place.project, place.scope) for place in places for path in matching(place.path)
    ]


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
    """Return the user's file of a client, which may not exist yet, or None when the client is not on this machine.

    Raises:
        FileProblem: The places cannot be looked at.
    """
    places = [place for place in locations(client, machine) if place.scope == "user"]
    return next((found for place in places if (found := _installed(place, places))), None)


def matching(pattern: PurePath) -> list[Path]:
    """Return the path, or where it holds a `*` the existing directories' ones that fit."""
    wild = [index for index, part in enumerate(pattern.parts) if "*" in part]
    if not wild:
        return [Path(pattern)]
    base, rest = Path(*pattern.parts[: wild[0]]), pattern.parts[wild[0] : -1]
    return [folder / pattern.name for folder in sorted(base.glob("/".join(rest)))]


def _installed(place: Location, places: Sequence[Location]) -> Path | None:
    if "*" in str(place.path):
        return next(iter(matching(place.path)), None)
    if _exists(place.path):
        return Path(place.path)
    if not _exists(place.sign):
        return None
    # A client that reads two names has the one that is there.
    others = (other.path for other in places if other.sign == place.sign and _exists(other.path))
    return Path(next(others, place.path))


def _exists(path: PurePath) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        raise FileProblem(f"{path} cannot be looked at: {(error.strerror or 'no access').lower()}") from None
    return True


def _document(text: str, path: Path) -> dict[str, Json]:
    try:
        value = Format.of(path).parse(text)
    except NotJson as error:
        raise FileProblem(f"{path} cannot be understood: {error}") from None
    if not isinstance(value, dict):
        raise FileProblem(f"{path} does not hold a JSON object")
    return value


def _objects(document: dict[str, Json], keys: Sequence[str], path: Path) -> dict[str, Json]:
    for key in keys:
        document = _object(document, key, path)
    return document


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


def _switched_off(document: Mapping[str, Json]) -> Callable[[str], bool] | None:
    """Gemini CLI has lists of the servers that it starts, and of those that it does not."""
    lists = document.get("mcp")
    if not isinstance(lists, dict):
        return None
    allowed, excluded = lists.get("allowed"), lists.get("excluded")
    if not isinstance(allowed, list) and not isinstance(excluded, list):
        return None
    return lambda name: (
        (isinstance(allowed, list) and name not in allowed) or (isinstance(excluded, list) and name in excluded)
    )


_FILE_NAMES = {
    "claude_desktop_config.json": "claude-desktop",
    "cline_mcp_settings.json": "cline",
    "mcp_config.json": "windsurf",
    "opencode.json": "opencode",
    "opencode.jsonc": "opencode",
}
_FOLDERS = {".cursor": "cursor", ".gemini": "gemini-cli", ".lmstudio": "lm-studio", ".zed": "zed"}


def _guess(document: Mapping[str, Json], path: Path) -> Client:
    if path.name in _FILE_NAMES:
        return CLIENTS[_FILE_NAMES[path.name]]
    if path.suffix == ".toml" or "mcp_servers" in document:
        return CLIENTS["codex"]
    if "projects" in document or path.name == ".mcp.json":
        return CLIENTS["claude-code"]
    if "context_servers" in document:
        return CLIENTS["zed"]
    if "servers" in document and "mcpServers" not in document:
        return CLIENTS["vscode"]
    folder = path.absolute().parent.name
    return CLIENTS[_FOLDERS[folder]] if folder in _FOLDERS else Client("file", path.name)


def _project_of(path: Path, machine: Machine) -> PurePath | None:
    absolute = path.absolute()
    if any(absolute == Path(place.path) for client in CLIENTS.values() for place in locations(client, machine)[:1]):
        return None
    for client in CLIENTS.values():
        for relative in client.project_files:
            folder = absolute.parents[len(PurePath(relative).parts) - 1]
            if absolute == folder / relative and folder != Path(machine.home):
                return folder
    return None
