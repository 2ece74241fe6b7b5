"""From servers in four clients to all of them through one, and back: nothing is edited by hand on the way.

Twenty servers in six files. Only local ones are started; what is remote is taken over and left alone.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_workbench.clients.env_file import read_variables
from wire import WireClient, text_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="the home of this test is laid out as on Linux"),
]

EXAMPLE = ["-m", "mcp_workbench.example_server"]
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
SECRETS = [TOKEN, "sesame-open", "lin_oauth_0123456789", "notion-Secret-42", "key-of-cursor-7", "codex-token-99"]


def local(**more: object) -> dict[str, object]:
    return {"command": sys.executable, "args": EXAMPLE, **more}


def files(home: Path) -> dict[str, str]:
    """Six files of four clients, as their programs and people write them, comments and odd layout included."""
    desktop = {
        "calculator": local(env={"API_KEY": "sesame-open", "LOG": "debug"}),
        "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", str(home)]},
        "github": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-github"],
            "env": {"GITHUB_TOKEN": TOKEN},
        },
        "linear": {
            "command": "npx",
            "args": ["-y", "mcp-remote", "https://mcp.linear.app/sse", "--header", "Authorization:${AUTH}"],
            "env": {"AUTH": "Bearer lin_oauth_0123456789"},
        },
        "off": local(disabled=True),
    }
    user = {
        "sentry": {"type": "http", "url": "https://mcp.sentry.dev/mcp"},
        "notion": {
            "command": "npx",
            "args": ["-y", "@notionhq/notion-mcp-server"],
            "env": {"OPENAPI_MCP_HEADERS": '{"Authorization": "Bearer notion-Secret-42"}'},
        },
        "dice": local(),
    }
    here = {"notes": local(), "queue": {"type": "sse", "url": "http://127.0.0.1:9/sse"}}
    shared = {"mcpServers": {"team": local(), "docs": {"type": "http", "url": "https://mcp.context7.com/mcp"}}}
    cursor = {
        "postgres": {"command": "uvx", "args": ["postgres-mcp", "postgres://me:key-of-cursor-7@db/x"]},
        "clock": local(disabledTools=["roll_dice"]),
        "github": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-github"],
            "env": {"GITHUB_TOKEN": TOKEN},
        },
        "temperature": local(env={"REGION": "eu"}),
    }
    project = {"browser": {"command": "npx", "args": ["@playwright/mcp@latest"]}, "own": local()}
    codex = f"""# mine
model = "gpt-5" # a good one

[mcp_servers.counter]
command = "{sys.executable}"
args = ["-m", "mcp_workbench.example_server"]
enabled_tools = ["add", "count_down"]

# reached over the network
[mcp_servers.hosted]
url = "https://mcp.example.com/mcp"
http_headers = {{ "X-Token" = "codex-token-99" }}
"""
    return {
        ".config/Claude/claude_desktop_config.json": "{\r\n" + json.dumps({"mcpServers": desktop}, indent=2)[2:],
        ".claude.json": json.dumps(
            {"numStartups": 3, "mcpServers": user, "projects": {str(home / "app"): {"mcpServers": here}}}
        ),
        "app/.mcp.json": json.dumps(shared, indent="\t"),
        ".cursor/mcp.json": "// my servers\n" + json.dumps({"mcpServers": cursor}, indent=4) + "\n",
        "app/.cursor/mcp.json": json.dumps({"mcpServers": project}),
        ".codex/config.toml": codex,
    }


def run(home: Path, *words: str) -> str:
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-m", "mcp_workbench", *words],
        cwd=home / "app",
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert not [secret for secret in SECRETS if secret in done.stdout]
    return done.stdout


async def test_twenty_servers_of_four_clients_work_through_one_and_everything_comes_back(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    before = files(tmp_path)
    for name, text in before.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())

    run(tmp_path, "import")
    run(tmp_path, "import", "--from", ".mcp.json", "--from", ".cursor/mcp.json")
    config = tmp_path / ".config/mcp-workbench/workbench-config.json"
    boxes = {name: sorted(box["mcpServers"]) for name, box in json.loads(config.read_text())["toolboxes"].items()}
    assert boxes == {
        "claude-desktop": ["calculator", "off"],
        "files": ["filesystem"],
        "code": ["github"],
        "work": ["linear", "notion"],
        "monitoring": ["sentry"],
        "claude-code": ["dice"],
        "app": ["browser", "docs", "notes", "own", "queue", "team"],
        "databases": ["postgres"],
        "cursor": ["clock", "temperature"],
        "codex": ["counter", "hosted"],
    }
    assert not [secret for secret in SECRETS if secret in config.read_text()]
    assert sorted(read_variables(config.with_suffix(".env")).values()) == sorted(
        value for value in (*SECRETS, '{"Authorization": "Bearer notion-Secret-42"}') if value != "notion-Secret-42"
    )
    assert "Nothing new" in run(tmp_path, "import")
    run(tmp_path, "check")

    for client in ("claude-code", "codex"):
        run(tmp_path, "install", client, "--replace")
    entry = json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]
    assert list(entry) == ["workbench"]
    toml = tomllib.loads((tmp_path / ".codex/config.toml").read_text())["mcp_servers"]
    assert list(toml) == ["workbench"]
    for started in (entry["workbench"], toml["workbench"]):
        await call_through(started, tmp_path)

    for client in ("claude-code", "codex"):
        run(tmp_path, "uninstall", client)
    assert {name: (tmp_path / name).read_bytes().decode() for name in before} == before


async def call_through(entry: Mapping[str, Any], home: Path) -> None:
    """Start what the client would start, with nothing of this shell's, and use two servers."""
    command = ["env", "-i", f"HOME={home}", f"PATH={os.environ['PATH']}", entry["command"], *entry["args"]]
    with anyio.fail_after(90):
        async with WireClient.spawn(command) as client:
            for toolbox, server in (("claude-desktop", "calculator"), ("codex", "counter")):
                opened = await client.call_tool("open_toolbox", {"toolbox_name": toolbox})
                assert not opened.get("isError"), text_of(opened)
                tool = {"toolbox": toolbox, "server": server, "tool": "add"}
                result = await client.call_tool("use_tool", {"tool": tool, "arguments": {"a": 2, "b": 3}})
                assert text_of(result) == "5"
