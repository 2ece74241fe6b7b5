"""Where each client keeps its servers, as a pure function of the machine: no file is looked at here.

A path may hold a `*`: on Windows the folder of a packaged Claude Desktop carries an identifier in its name, and VS Code
has a folder for each profile. Where each path comes from is written beside the fixtures, in tests/clients/fixtures.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Literal, TypeAlias

Scope = Literal["user", "project"]
Place: TypeAlias = tuple[PurePath, PurePath]
"""A file, and the directory that exists when the client is installed, even if it has no such file yet."""

_EDITORS = ("Code", "Code - Insiders")
_CLINE_FILE = ("globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")


@dataclass(frozen=True)
class Client:
    """A program that starts MCP servers from a config file."""

    id: str
    title: str
    servers_key: str = "mcpServers"
    passes_environment: bool = True
    """Whether servers see the variables of the person's shell when the client starts them."""
    project_files: tuple[str, ...] = ()
    """The files that a project may bring along, relative to it."""


CLIENTS: Mapping[str, Client] = {
    client.id: client
    for client in (
        Client("claude-desktop", "Claude Desktop", passes_environment=False),
        Client("claude-code", "Claude Code", project_files=(".mcp.json",)),
        Client("cursor", "Cursor", project_files=(".cursor/mcp.json",)),
        Client("vscode", "VS Code", servers_key="servers", project_files=(".vscode/mcp.json",)),
        Client("windsurf", "Windsurf"),
        Client("zed", "Zed", servers_key="context_servers", project_files=(".zed/settings.json",)),
        Client("cline", "Cline"),
        # Codex gives a server a few basic variables and those that `env_vars` names.
        Client("codex", "Codex", "mcp_servers", passes_environment=False, project_files=(".codex/config.toml",)),
        Client("gemini-cli", "Gemini CLI", project_files=(".gemini/settings.json",)),
        Client("opencode", "opencode", servers_key="mcp", project_files=("opencode.json", "opencode.jsonc")),
        Client("lm-studio", "LM Studio", passes_environment=False),
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
    for relative in client.project_files:
        path = project / relative
        # In the home directory, Cursor's project file is its user file.
        if all(location.path != path for location in found):
            found.append(Location(client, "project", path, path.parent, project))
    return found


def _user_files(client_id: str, machine: Machine) -> list[Place]:
    return list(_PLACES[client_id](machine))


def _claude_desktop(machine: Machine) -> Iterator[Place]:
    for folder in (*_packaged_claude(machine), _app_data(machine) / "Claude"):
        yield folder / "claude_desktop_config.json", folder


def _claude_code(machine: Machine) -> Iterator[Place]:
    home, own = _pure(machine, machine.home), _moved(machine, "CLAUDE_CONFIG_DIR")
    yield (own / ".claude.json", own) if own else (home / ".claude.json", home / ".claude")


def _in_home(*relative: str) -> Callable[[Machine], Iterator[Place]]:
    """A client that has its file at the same place of every home, or else at the next."""

    def places(machine: Machine) -> Iterator[Place]:
        for path in relative:
            file = _pure(machine, machine.home) / path
            yield file, file.parent

    return places


def _codex(machine: Machine) -> Iterator[Place]:
    own = _moved(machine, "CODEX_HOME") or _pure(machine, machine.home) / ".codex"
    yield own / "config.toml", own


def _opencode(machine: Machine) -> Iterator[Place]:
    folder = _xdg_config(machine) / "opencode"
    yield folder / "opencode.json", folder
    yield folder / "opencode.jsonc", folder


def _vscode(machine: Machine) -> Iterator[Place]:
    for name in _EDITORS:
        folder = _app_data(machine) / name / "User"
        yield folder / "mcp.json", folder
    for name in _EDITORS:
        profile = _app_data(machine) / name / "User" / "profiles" / "*"
        yield profile / "mcp.json", profile


def _cline(machine: Machine) -> Iterator[Place]:
    """In an editor, and on its own in a terminal."""
    if moved := _moved(machine, "CLINE_MCP_SETTINGS_PATH"):
        yield moved, moved.parent
    for name in (*_EDITORS, "Cursor", "Windsurf"):
        path = _app_data(machine).joinpath(name, "User", *_CLINE_FILE)
        yield path, path.parent.parent
    own = _pure(machine, machine.home) / ".cline"
    yield own / "data" / "settings" / "cline_mcp_settings.json", own


def _zed(machine: Machine) -> Iterator[Place]:
    if machine.platform == "win32":
        folder = _app_data(machine) / "Zed"
    elif machine.platform == "darwin":  # ~/.config there too, without regard to XDG_CONFIG_HOME
        folder = _pure(machine, machine.home) / ".config" / "zed"
    else:
        folder = _xdg_config(machine) / "zed"
    yield folder / "settings.json", folder


def _xdg_config(machine: Machine) -> PurePath:
    return _moved(machine, "XDG_CONFIG_HOME") or _pure(machine, machine.home) / ".config"


def _app_data(machine: Machine) -> PurePath:
    home = _pure(machine, machine.home)
    match machine.platform:
        case "win32":
            return _moved(machine, "APPDATA") or home / "AppData" / "Roaming"
        case "darwin":
            return home / "Library" / "Application Support"
        case _:
            return _xdg_config(machine)


def _packaged_claude(machine: Machine) -> list[PurePath]:
    """A packaged Claude Desktop does not see %APPDATA%: Windows redirects it into the package's own folders."""
    if machine.platform != "win32":
        return []
    local = _moved(machine, "LOCALAPPDATA") or _pure(machine, machine.home) / "AppData" / "Local"
    return [
        local / "Claude-Data" / "claude_*",
        local / "Packages" / "Claude_*" / "LocalCache" / "Roaming" / "Claude",
    ]


def _moved(machine: Machine, variable: str) -> PurePath | None:
    """The place that a variable moves something to."""
    value = machine.environ.get(variable)
    return _pure(machine, value) if value else None


def _pure(machine: Machine, path: PurePath | str) -> PurePath:
    return PureWindowsPath(path) if machine.platform == "win32" else PurePosixPath(path)


_PLACES: Mapping[str, Callable[[Machine], Iterator[Place]]] = {
    "claude-desktop": _claude_desktop,
    "claude-code": _claude_code,
    "cursor": _in_home(".cursor/mcp.json"),
    "vscode": _vscode,
    "windsurf": _in_home(".codeium/windsurf/mcp_config.json", ".codeium/mcp_config.json"),
    "zed": _zed,
    "cline": _cline,
    "codex": _codex,
    "gemini-cli": _in_home(".gemini/settings.json"),
    "opencode": _opencode,
    "lm-studio": _in_home(".lmstudio/mcp.json", ".cache/lm-studio/mcp.json"),
}
