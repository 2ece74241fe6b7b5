"""Why a server could not be connected, and what to do about it, for a person who wants to get on."""

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from mcp_workbench.config import ServerConfig

_LONGEST = 300
_INSTALLERS = {
    "npx": "install Node.js, which brings it: https://nodejs.org",
    "npm": "install Node.js, which brings it: https://nodejs.org",
    "node": "install Node.js: https://nodejs.org",
    "bunx": "install Bun: https://bun.sh",
    "uvx": "install uv, which brings it: https://docs.astral.sh/uv",
    "uv": "install uv: https://docs.astral.sh/uv",
    "pipx": "install pipx: https://pipx.pypa.io",
    "docker": "install Docker: https://docs.docker.com/get-docker",
}
_NO_PACKAGE = re.compile(
    r"\bE404\b|404 Not Found|not found in the package registry|no versions of|Could not find a version", re.IGNORECASE
)
_NO_FILE = re.compile(r"Cannot find module|No such file|can't open file|ENOENT|No module named", re.IGNORECASE)
_NO_EXECUTABLE = re.compile(r"could not determine executable|An executable named", re.IGNORECASE)
# What runtimes put around the one line that says what is wrong.
_FRAME = re.compile(
    r"^\s*(at |\^|[{}\]]|code:|requireStack|Node\.js v|File \"|Traceback|npm (warn|notice)|npm error A c)"
)


@dataclass(frozen=True)
class Diagnosis:
    """A failure in a line, and the next step in another."""

    cause: str
    next_step: str


def diagnose(reason: str, server: ServerConfig) -> Diagnosis:
    """Say in two lines what a reason for a failed connection means for this entry of the config."""
    cause = _cause(reason)
    for fits, advise in _ADVICE:
        if fits(reason) and (step := advise(server)):
            return Diagnosis(cause, step)
    return Diagnosis(cause, f"run it yourself and see: {_command_line(server)}")


def _cause(reason: str) -> str:
    first, _, rest = reason.partition("\n")
    first = re.sub(r" \(install it, or give its full path;.*", "", first)
    telling = _telling_line(rest)
    said = f"{first.removesuffix('; the last lines of its stderr:')}: {telling}" if telling else first
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"


def _telling_line(stderr: str) -> str:
    """Return the line of a server's last words that tells most: the first that speaks of an error, else the last."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not _FRAME.match(line)]
    errors = (line for line in lines if _NO_PACKAGE.search(line) and " " in line.removeprefix("npm error code "))
    return next(errors, None) or next(_with_error(lines), lines[-1] if lines else "")


def _with_error(lines: list[str]) -> Iterator[str]:
    # The last exception of a Python traceback is the one that was not caught; Node's comes first and stands alone.
    return (line for line in reversed(lines) if re.search(r"error|cannot|can't|not found|missing", line, re.IGNORECASE))


def _about_command(server: ServerConfig) -> str:
    name = Path(server.command).name
    if os.sep in server.command:
        return f"correct the path in command: {server.command} does not exist or is not a program"
    if name in _INSTALLERS:
        return f"{_INSTALLERS[name]}; or give its full path as command"
    if similar := _similar_on_path(name):
        return f"did you mean {similar} ({shutil.which(similar)})? Otherwise install {name} or give its full path"
    return f"install {name}, or give its full path as command"


def _similar_on_path(name: str) -> str | None:
    programs = {program for folder in os.get_exec_path() for program in _names_in(folder)}
    matches = get_close_matches(
        name, sorted(programs & (_INSTALLERS.keys() | {"python", "python3", "deno", "bun"})), n=1
    )
    return next((match for match in matches if shutil.which(match)), None)


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _about_package(server: ServerConfig) -> str:
    package = next((arg for arg in server.args if not arg.startswith("-")), "")
    where = "PyPI" if Path(server.command).name in ("uvx", "uv", "pipx", "pip") else "npm"
    return f"check the spelling of the package '{package}': {where} does not have it, or not for you"


def _about_executable(server: ServerConfig) -> str:
    package = next((arg for arg in server.args if not arg.startswith("-")), "")
    return f"the package '{package}' has no program of that name: look up how its authors start it"


def _about_path(server: ServerConfig) -> str | None:
    start = Path(server.cwd or ".")
    paths = [arg for arg in server.args if os.sep in arg and not arg.startswith(("-", "@")) and "://" not in arg]
    if missing := [path for path in paths if not (start / path).exists()]:
        return f"correct the path in args: {', '.join(missing)} does not exist (seen from {start.resolve()})"
    return None


def _about_directory(server: ServerConfig) -> str:
    return f"correct cwd: {server.cwd} is not a directory"


def _about_time(server: ServerConfig) -> str:
    longer = f'give it longer ("connectTimeout": {max(60, round(server.connect_timeout * 2))})'
    if Path(server.command).name in ("npx", "uvx", "docker", "bunx", "pipx", "uv"):
        return f"a first start downloads the package: try again, {longer}, or run {_command_line(server)}"
    return f"is it an MCP server on stdio? If so, {longer}; to see what it does, run {_command_line(server)}"


def _about_protocol(server: ServerConfig) -> str:
    return (
        f"this does not seem to be an MCP server on stdio: look up how its authors start it ({_command_line(server)})"
    )


def _command_line(server: ServerConfig) -> str:
    return shlex.join([server.command, *server.args])


_ADVICE: tuple[tuple[Callable[[str], object], Callable[[ServerConfig], str | None]], ...] = (
    (lambda reason: reason.startswith(("command not found", "cannot run")), _about_command),
    (lambda reason: reason.startswith("working directory"), _about_directory),
    (lambda reason: reason.startswith("no answer to"), _about_time),
    (lambda reason: reason.startswith("it refused"), _about_protocol),
    (_NO_PACKAGE.search, _about_package),
    (_NO_EXECUTABLE.search, _about_executable),
    (_NO_FILE.search, _about_path),
)
