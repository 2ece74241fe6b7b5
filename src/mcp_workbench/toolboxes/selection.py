"""What the name given to `open_toolbox` stands for: a toolbox, one of its servers, or one of that server's tools.

Names are compared exactly and may hold slashes themselves: a toolbox of exactly that name comes first, then the longest
names that fit.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_workbench.config.models import ToolboxConfig
from mcp_workbench.errors import UnknownServer
from mcp_workbench.suggestions import closest


@dataclass(frozen=True)
class Selection:
    """The part of a toolbox that is asked for."""

    toolbox: str
    server: str | None = None
    """None: all of them."""
    tool: str | None = None
    """None: all of the server's."""


def select(name: str, toolboxes: Mapping[str, ToolboxConfig]) -> Selection:
    """The toolbox, server or tool of this name. A toolbox that does not exist is the manager's to refuse.

    Raises:
        UnknownServer: It names a server that the toolbox does not have.
    """
    if name in toolboxes:
        return Selection(name)
    for toolbox, rest in _split(name, toolboxes):
        servers = toolboxes[toolbox].servers
        if rest in servers:
            return Selection(toolbox, rest)
        for server, tool in _split(rest, servers):
            return Selection(toolbox, server, tool)
    for toolbox, rest in _split(name, toolboxes):
        known = list(toolboxes[toolbox].servers)
        raise UnknownServer(f"Server '{rest}' not found in toolbox '{toolbox}'" + closest(rest, known, "server"))
    return Selection(name)


def _split(name: str, beginnings: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The names that a name can begin with before a slash, the longest first, each with what follows."""
    for beginning in sorted(beginnings, key=len, reverse=True):
        if name.startswith(f"{beginning}/") and (rest := name[len(beginning) + 1 :]):
            yield beginning, rest
