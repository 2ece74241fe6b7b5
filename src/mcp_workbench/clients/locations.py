"""Where each client keeps its servers, as a pure function of the machine: no file is looked at here.

A path may hold a `*`: on Windows the folder of a packaged Claude Desktop carries an identifier in its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Literal

Scope = Literal["user", "project"]


@dataclass(frozen=True)
class Client:
    """A program that starts MCP servers from a config file."""

    id: str
    title: str
    servers_key: str = "mcpServers"
    passes_environment: bool = True
    """Whether servers see the variables of the person's shell when the client starts them."""


CLIENTS: Mapping[str, Client] = {
    client.id: client
    for client in (
        Client("claude-desktop", "Claude Desktop", passes_environment=False),
        Client("claude-code", "Claude Code"),
        Client("cursor", "Cursor"),
        Client("vscode", "VS Code", servers_key="servers"),
    )
}


@dataclass(frozen=True)
class Machine:
    """What decides where files are: the operating system, the environment, the home and current directories."""

    platform: str
    environ: Mapping[str, str]
    home: PurePath
    cwd: PurePath


@dataclass(frozen=True)
class Location:
    """A file in which a client keeps servers."""

    client: Client
    scope: Scope
    path: PurePath
    sign: PurePath
    """The directory that exists when the client is installed, even if it has no such file yet."""
    project: PurePath | None = None


def locations(client: Client, machine: Machine) -> list[Location]:
    """Return every place where the client may keep servers, the one it reads first at the front."""
    project = _pure(machine, machine.cwd)
    found = [Location(client, "user", path, sign) for path, sign in _user_files(client.id, machine)]
    relative = {"claude-code": ".mcp.json", "cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json"}
    if client.id in relative:
        path = project / relative[client.id]
        # In the home directory, Cursor's project file is its user file.
        if all(location.path != path for location in found):
            found.append(Location(client, "project", path, path.parent, project))
    return found


def _user_files(client_id: str, machine: Machine) -> list[tuple[PurePath, PurePath]]:
    home = _pure(machine, machine.home)
    match client_id:
        case "claude-desktop":
            folders = [*_packaged_claude(machine), _app_data(machine) / "Claude"]
            return [(folder / "claude_desktop_config.json", folder) for folder in folders]
        case "claude-code":
            own = machine.environ.get("CLAUDE_CONFIG_DIR")
            if own:
                return [(_pure(machine, own) / ".claude.json", _pure(machine, own))]
            return [(home / ".claude.json", home / ".claude")]
        case "cursor":
            return [(home / ".cursor" / "mcp.json", home / ".cursor")]
        case _:
            folders = [_app_data(machine) / name / "User" for name in ("Code", "Code - Insiders")]
            return [(folder / "mcp.json", folder) for folder in folders]


def _app_data(machine: Machine) -> PurePath:
    home = _pure(machine, machine.home)
    match machine.platform:
        case "win32":
            return _pure(machine, machine.environ.get("APPDATA") or home / "AppData" / "Roaming")
        case "darwin":
            return home / "Library" / "Application Support"
        case _:
            return _pure(machine, machine.environ.get("XDG_CONFIG_HOME") or home / ".config")


def _packaged_claude(machine: Machine) -> list[PurePath]:
    """A packaged Claude Desktop does not see %APPDATA%: Windows redirects it into the package's own folders."""
    if machine.platform != "win32":
        return []
    home = _pure(machine, machine.home)
    local = _pure(machine, machine.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return [
        local / "Claude-Data" / "claude_*",
        local / "Packages" / "Claude_*" / "LocalCache" / "Roaming" / "Claude",
    ]


def _pure(machine: Machine, path: PurePath | str) -> PurePath:
    return PureWindowsPath(path) if machine.platform == "win32" else PurePosixPath(path)
