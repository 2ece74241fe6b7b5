"""What the name given to `open_toolbox` stands for."""

from typing import Any

import pytest

from mcp_workbench.config.models import ToolboxConfig
from mcp_workbench.errors import UnknownServer
from mcp_workbench.toolboxes.selection import Selection, select


def box(*servers: str) -> ToolboxConfig:
    entries: dict[str, Any] = {server: {"command": "true"} for server in servers}
    return ToolboxConfig.model_validate({"description": "For tests", "mcpServers": entries})


TOOLBOXES = {
    "dev": box("files", "a/b", "files/old"),
    "dev/files": box("one"),
    "dev/web": box("files"),
    "web/": box("x"),
    "empty": box(),
}


@pytest.mark.parametrize(
    ("name", "selection"),
    [
        ("dev", Selection("dev")),
        ("dev/files", Selection("dev/files")),
        ("dev/files/one", Selection("dev/files", "one")),
        ("dev/web", Selection("dev/web")),
        ("dev/web/files", Selection("dev/web", "files")),
        ("dev/web/files/read", Selection("dev/web", "files", "read")),
        ("dev/a/b", Selection("dev", "a/b")),
        ("dev/a/b/c/d e", Selection("dev", "a/b", "c/d e")),
        ("web/", Selection("web/")),
        ("web//x", Selection("web/", "x")),
        ("nowhere", Selection("nowhere")),
        ("nowhere/files", Selection("nowhere/files")),
        ("dev/", Selection("dev/")),
        ("/dev", Selection("/dev")),
        ("", Selection("")),
    ],
)
def test_the_longest_names_win_and_a_toolbox_of_exactly_that_name_before_all(name: str, selection: Selection) -> None:
    assert select(name, TOOLBOXES) == selection


def test_a_server_that_the_toolbox_does_not_have_is_an_error_that_names_those_it_has() -> None:
    toolboxes = {"dev": box("files", "git")}
    with pytest.raises(
        UnknownServer, match=r"^Server 'database' not found in toolbox 'dev'. Available: 'files', 'git'"
    ):
        select("dev/database", toolboxes)
    with pytest.raises(UnknownServer, match="Did you mean 'files'"):
        select("dev/file", toolboxes)
    with pytest.raises(UnknownServer, match="There is no server"):
        select("empty/x", TOOLBOXES)
