"""Why a server could not be connected, and what to do about it, in two lines for a person who wants to get on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_workbench.commands.remedies import NO_PACKAGE, next_step
from mcp_workbench.config.models import ServerConfig
from mcp_workbench.downstream.transports.environment import NOT_PASSED

_LONGEST = 300
# What runtimes and installers put around the one line that says what is wrong.
_FRAME = re.compile(
    r"^\s*(at |\^|[{}\]]|code:|requireStack|Node\.js v|File \"|Traceback|npm (warn|notice)|npm error (A complete|code))"
)
_BULLET = re.compile(r"^(\u00d7|\u2570\u2500\u25b6|\u2502|cause:)\s*")
_UV_REASONING = re.compile(r"^Because (.+?) and you require .*")
_COMPLAINT = re.compile(r"error|cannot|can't|not found|missing|required|invalid", re.IGNORECASE)


@dataclass(frozen=True)
class Diagnosis:
    """A failure in a line, and the next step in another."""

    cause: str
    next_step: str


def diagnose(reason: str, server: ServerConfig) -> Diagnosis:
    """Say what a reason for a failed connection means for this entry of the config."""
    return Diagnosis(_cause(reason), next_step(reason, server))


def _cause(reason: str) -> str:
    first, _, stderr = _without_hint(reason).partition("\n")
    first = re.sub(r" \((install it, or give its full path;.*|check the path\))", "", first)
    first = first.removesuffix("; the last lines of its stderr:")
    said = f"{first}: {telling}" if (telling := _telling_line(stderr)) else first
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"


def _without_hint(reason: str) -> str:
    """The reason without what the next step says too."""
    return "\n".join(line for line in reason.split("\n") if not NOT_PASSED.match(line))


def _telling_line(stderr: str) -> str:
    """Return the line of a server's last words that tells most: about a package, else an error, else the last."""
    lines = [_BULLET.sub("", line.strip()) for line in stderr.splitlines() if line.strip() and not _FRAME.match(line)]
    about_package = (_UV_REASONING.sub(r"\1", line) for line in lines if NO_PACKAGE.search(line))
    return next(about_package, None) or next(_complaints(lines), lines[-1] if lines else "")


def _complaints(lines: list[str]) -> Iterator[str]:
    # Backwards: the last exception of a traceback is the one that nobody caught.
    return (line for line in reversed(lines) if _COMPLAINT.search(line))
