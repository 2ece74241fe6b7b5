"""The next step after a failed connection: the first of the remedies below that fits the reason and the entry."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from mcp_workbench.commands.remote_remedies import remote_step
from mcp_workbench.config.models import ServerConfig, StdioServer
from mcp_workbench.downstream.transports.environment import NOT_PASSED, server_environment

NO_PACKAGE = re.compile(
    r"\bE404\b|404 Not Found|not found in the package registry|no versions of|Could not find a version", re.IGNORECASE
)
_NO_NETWORK = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED .*:443|dns error|error sending request|Failed to fetch|network is unreachable",
    re.IGNORECASE,
)
_UNKNOWN_HOST = re.compile(r"(?:ENOTFOUND|EAI_AGAIN) ([\w-]+(?:\.[\w-]+)+)")
_REGISTRY = re.compile(r"npmjs|pypi|pythonhosted|docker|ghcr|github|yarnpkg|jsr\.io|deno\.land|nodejs\.org")
_INSTALLER = re.compile(r"npm err|Failed to fetch|error sending request|pip\b|docker:", re.IGNORECASE)
_NO_EXECUTABLE = re.compile(
    r"could not determine executable|An executable named|not provide any executables", re.IGNORECASE
)
_NO_FILE = re.compile(r"Cannot find module|No such file|can't open file|ENOENT|not exist|not found", re.IGNORECASE)
_NO_MODULE = re.compile(r"No module named '?([\w.]+)")
_NO_DAEMON = re.compile(r"connect to the docker (daemon|API)", re.IGNORECASE)
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_IS_MISSING = re.compile(r"environment|variable|required|missing|not set|must be set|must set|undefined", re.IGNORECASE)

_HOMES = {
    "npx": "install Node.js, which brings it (https://nodejs.org)",
    "npm": "install Node.js, which brings it (https://nodejs.org)",
    "node": "install Node.js (https://nodejs.org)",
    "bunx": "install Bun, which brings it (https://bun.sh)",
    "uvx": "install uv, which brings it (https://docs.astral.sh/uv)",
    "uv": "install uv (https://docs.astral.sh/uv)",
    "pipx": "install pipx (https://pipx.pypa.io)",
    "docker": "install Docker (https://docs.docker.com/get-docker)",
}
_RUNNERS = ("npx", "uvx", "node", "python3", "python", "uv", "docker", "bunx", "deno", "pipx")
_DOWNLOADERS = ("npx", "uvx", "docker", "bunx", "pipx", "uv")
_FROM_PYPI = ("uvx", "uv", "pipx")

Remedy = Callable[[str, StdioServer], str | None]


def next_step(reason: str, server: ServerConfig) -> str:
    """Return what to do about a server that could not be connected for this reason."""
    if not isinstance(server, StdioServer):
        return remote_step(reason, server)
    steps = (remedy(reason, server) for remedy in _REMEDIES)
    return next((step for step in steps if step), f"run it yourself and see: {_command_line(server)}")


def _find_command(reason: str, server: StdioServer) -> str | None:
    if not reason.startswith("command not found"):
        return None
    name = Path(server.command).name
    path = server_environment(server, os.environ).get("PATH", "")
    if found := shutil.which(name, path=path):
        return f"correct the path in command: {name} is at {found}"
    if name != server.command:
        return f"correct the path in command: there is no {server.command}"
    if similar := get_close_matches(name, _programs(path), n=1, cutoff=0.75):
        return f"did you mean {similar[0]} ({shutil.which(similar[0], path=path)})? Else install {name}"
    known = [runner for runner in _RUNNERS if shutil.which(runner, path=path)]
    on_path = f"; on PATH are {', '.join(known)}" if known else ""
    return f"{_HOMES.get(name, f'install {name}')}, or give its full path as command{on_path}"


def not_on_path(server: ServerConfig) -> str | None:
    """What is wrong with a server's command, as far as one sees without starting it, and what to do."""
    if not isinstance(server, StdioServer):
        return None
    path = server_environment(server, os.environ).get("PATH", "")
    place = os.path.join(server.cwd or "", server.command) if os.path.dirname(server.command) else server.command
    if shutil.which(place, path=path) or os.path.exists(place):
        return None
    reason = f"command not found: '{server.command}'"
    return f"{reason}; {_split_command(reason, server) or _find_command(reason, server)}"


def _programs(path: str) -> list[str]:
    """Return the names on a PATH, the runners of servers first, since those are what people mean."""
    names: set[str] = set()
    for folder in path.split(os.pathsep):
        with suppress(OSError):  # there is no such directory, or it may not be read
            names.update(os.listdir(folder or "."))
    return [*(runner for runner in _RUNNERS if runner in names), *sorted(names - set(_RUNNERS))]


def _allow_command(reason: str, server: StdioServer) -> str | None:
    if reason.startswith("not allowed to") and os.path.isdir(server.command):
        return f"correct command: {server.command} is a directory"
    if reason.startswith("not allowed to"):
        return f"make it a program: chmod +x {shlex.quote(server.command)}"
    return f"correct command: {server.command} is not a program" if reason.startswith("cannot run") else None


def _correct_directory(reason: str, server: StdioServer) -> str | None:
    if reason.startswith("working directory cannot be entered"):
        return f"allow yourself to enter {server.cwd}, or give another directory as cwd"
    return f"correct cwd: {server.cwd} is not a directory" if reason.startswith("working directory") else None


def _wait_longer(reason: str, server: StdioServer) -> str | None:
    if not reason.startswith("no answer to"):
        return None
    longer = f'give it longer ("connectTimeout": {max(60, round(server.connect_timeout * 2))})'
    if Path(server.command).name in _DOWNLOADERS:
        return f"a first start downloads the package: try again, {longer}, or run {_command_line(server)}"
    return f"is it an MCP server on stdio? If so, {longer}; to see what it does, run {_command_line(server)}"


def _start_another_way(reason: str, server: StdioServer) -> str | None:
    if not reason.startswith("it refused"):
        return None
    return f"it does not seem to be an MCP server on stdio: look up how its authors start it ({_command_line(server)})"


def _spell_package(reason: str, server: StdioServer) -> str | None:
    if not NO_PACKAGE.search(reason):
        return None
    registry = "PyPI" if Path(server.command).name in _FROM_PYPI else "npm"
    return f"check the spelling of the package '{_package(server)}': {registry} does not have it, or it is private"


def _name_program(reason: str, server: StdioServer) -> str | None:
    if not _NO_EXECUTABLE.search(reason):
        return None
    return f"the package '{_package(server)}' has no program of that name: look up how its authors start it"


def _reach_network(reason: str, server: StdioServer) -> str | None:
    if not _NO_NETWORK.search(reason):
        return None
    host = unknown[1] if (unknown := _UNKNOWN_HOST.search(reason)) else ""
    if host and not _REGISTRY.search(host) and not _INSTALLER.search(reason):
        return f"it cannot reach {host}: check that name, the network, and HTTPS_PROXY if you are behind a proxy"
    if Path(server.command).name not in _DOWNLOADERS:
        return None
    return "its package cannot be downloaded: check the network, and HTTPS_PROXY if you are behind a proxy"


def _start_docker(reason: str, server: StdioServer) -> str | None:
    return "start Docker, then try again" if _NO_DAEMON.search(reason) else None


def _correct_path(reason: str, server: StdioServer) -> str | None:
    start = Path(server.cwd or ".")
    paths = [arg for arg in server.args if _is_path(arg, reason) and _is_missing(start / arg)]
    if not paths:
        return None
    if paths[0].startswith("~"):
        return f"write ${{HOME}}{paths[0][1:]} instead of {paths[0]} in args: only a shell knows what ~ is"
    seen_from = "" if Path(paths[0]).is_absolute() else f" (seen from {start.resolve()})"
    return f"correct the path in args: {paths[0]} does not exist{seen_from}"


def _is_missing(path: Path) -> bool:
    """Whether there certainly is nothing; what may not be looked at may well be there."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _is_path(arg: str, reason: str) -> bool:
    """Whether an argument is meant as a path: it looks like one, or the server complains of it as one."""
    if arg.startswith(("-", "@")) or "://" in arg or any(letter.isspace() for letter in arg):
        return False
    if arg.startswith(("~/", "./", "../")) or Path(arg).is_absolute():
        return True
    return "/" in arg and arg in reason and _NO_FILE.search(reason) is not None


def _install_module(reason: str, server: StdioServer) -> str | None:
    if not (module := _NO_MODULE.search(reason)):
        return None
    return f"install the module {module[1]} for {server.command}, or give as command a Python that has it"


def _give_variable(reason: str, server: StdioServer) -> str | None:
    not_passed = NOT_PASSED.findall(reason)
    for line in reason.splitlines():
        missing = next((name for name in _VARIABLE.findall(line) if name not in server.env), None)
        if missing and _IS_MISSING.search(line):
            return _naming(missing, is_set=missing in os.environ or missing in not_passed)
    return _naming(not_passed[0], is_set=True) if not_passed else None


def _naming(variable: str, *, is_set: bool) -> str:
    known = ": it is set in your shell, but a server gets only what its entry names" if is_set else ""
    return f'give it the variable with "env": {{"{variable}": "${{{variable}}}"}}{known}'


def _split_command(reason: str, server: StdioServer) -> str | None:
    """Return the entry that a whole command line in `command` should have been."""
    program, *rest = server.command.split()
    if not reason.startswith("command not found") or not rest or os.path.dirname(server.command):
        return None
    args = json.dumps([*rest, *server.args], ensure_ascii=False)
    return f'split it: "command": "{program}", "args": {args}'


def _package(server: StdioServer) -> str:
    """Return the argument that names the package: what --from or --package says, else the first that is no option."""
    for option, value in zip(server.args, server.args[1:], strict=False):
        if option in ("--from", "--package", "-p", "--spec"):
            return value
    return next((arg for arg in server.args if not arg.startswith("-")), "")


def _command_line(server: StdioServer) -> str:
    return shlex.join([server.command, *server.args])


_REMEDIES: Sequence[Remedy] = (
    _split_command,
    _find_command,
    _allow_command,
    _correct_directory,
    _reach_network,
    _wait_longer,
    _start_another_way,
    _spell_package,
    _name_program,
    _start_docker,
    _correct_path,
    _install_module,
    _give_variable,
)
