"""The servers that a client starts although the workbench has them too, in every scope of that client."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_workbench.clients.locations import Client, Machine
from mcp_workbench.clients.memory import imported_into
from mcp_workbench.clients.reading import FoundServer, client_files
from mcp_workbench.clients.safe_write import FileProblem
from mcp_workbench.clients.takeover import Known, Takeover


@dataclass(frozen=True)
class ConfigText:
    """A config file with its text and the variables of its env files."""

    path: Path
    text: str = field(repr=False)
    variables: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class Double:
    """A server that would start twice."""

    found: FoundServer
    shared: bool
    """Whether it stands in a file that belongs to a project, and so to others too."""


def doubles(client: Client, configs: Sequence[ConfigText], machine: Machine) -> list[Double]:
    """Return the servers of a client's files that a config has too; a file that cannot be read has none."""
    found: list[Double] = []
    for file in client_files([client], machine):
        try:
            servers = file.read() or []
        except FileProblem:
            continue
        found += [Double(server, file.scope == "project") for server in _present(servers, configs)]
    return found


def _present(servers: Iterable[FoundServer], configs: Sequence[ConfigText]) -> list[FoundServer]:
    known = [
        Takeover(Known(each.text, sys.platform, os.environ, each.variables, imported_into(each.path)))
        for each in configs
    ]
    return [server for server in servers if any(takeover.has(server) for takeover in known)]
