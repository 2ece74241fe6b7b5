"""Published servers from npm and PyPI behind the real program, in both eras."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from wire import WireClient, text_of, workbench

CONFIG = Path(__file__).parents[2] / "workbench-config.test.json"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.node,
    pytest.mark.pypi,
    pytest.mark.skipif(shutil.which("npx") is None, reason="npx is not installed: these servers need Node.js"),
    pytest.mark.skipif(shutil.which("uvx") is None, reason="uvx is not installed"),
]

PATIENCE = 200.0
"""Seconds: the first run installs every server."""


@pytest.fixture
def playground(tmp_path: Path) -> Path:
    """A Git repository with one commit and one file."""
    (tmp_path / "hello.txt").write_text("hello from a real file\n")
    for command in (
        ["git", "init", "-q", "-b", "main"],
        ["git", "add", "hello.txt"],
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "first commit"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


def calls(directory: Path) -> list[tuple[str, str, str, dict[str, Any], str]]:
    """A call of every server, with what its answer must hold."""
    entity = {"name": "blue", "entityType": "colour", "observations": ["seen in the sky"]}
    return [
        ("files", "filesystem", "read_text_file", {"path": str(directory / "hello.txt")}, "hello from a real file"),
        ("files", "git", "git_log", {"repo_path": str(directory)}, "first commit"),
        ("knowledge", "work", "create_entities", {"entities": [entity]}, "blue"),
        ("knowledge", "work", "read_graph", {}, "seen in the sky"),
        ("knowledge", "home", "read_graph", {}, '"entities"'),
        ("playground", "everything", "echo", {"message": "echo, echo"}, "echo, echo"),
        (
            "playground",
            "time",
            "convert_time",
            {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
            "21:00",
        ),
    ]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_every_toolbox_opens_and_every_server_answers(playground: Path, era: Any) -> None:
    env = {"WORKBENCH_TEST_DIR": str(playground)}
    async with WireClient.spawn(workbench(CONFIG), env=env, era=era, patience=PATIENCE) as client:
        opened: dict[str, Any] = {}
        for toolbox in ("files", "knowledge", "playground"):
            result = await client.call_tool("open_toolbox", {"toolbox_name": toolbox})
            opened[toolbox] = json.loads(text_of(result))
            assert "_errors" not in opened[toolbox]
            assert opened[toolbox]["servers_connected"] == 2
        for toolbox, server, tool, arguments, expected in calls(playground):
            reference = {"toolbox": toolbox, "server": server, "tool": tool}
            result = await client.call_tool("use_tool", {"tool": reference, "arguments": arguments})
            assert not result.get("isError"), result
            assert expected in json.dumps(result)
        filtered = [tool["name"] for tool in opened["playground"]["tools"] if tool["source_server"] == "time"]
        assert filtered == ["get_current_time", "convert_time"]
        home = await client.call_tool(
            "use_tool", {"tool": {"toolbox": "knowledge", "server": "home", "tool": "read_graph"}, "arguments": {}}
        )
        assert "blue" not in json.dumps(home)
    assert client.returncode == 0
    assert client.noise == []
