"""What a model's context holds: servers connected directly, the workbench, and what each toolbox adds when opened."""

import json
import os
import subprocess
from pathlib import Path

import anyio

from benchmarks.contenders import workbench
from benchmarks.figures import markdown_table
from benchmarks.raw_client import Json, RawClient
from mcp_workbench.commands.context_cost import Cost, cost_of_tools, cost_of_workbench
from mcp_workbench.config.loading import load_config
from mcp_workbench.config.models import ServerConfig, StdioServer
from mcp_workbench.downstream.transports.environment import server_environment

HEAD = ["what the model's context holds", "tools", "characters", "tokens, about"]


def context_table(config: Path, directory: Path) -> str:
    """The table for a config; `directory` becomes the Git repository that its servers may work on."""
    subprocess.run(["git", "init", "-q", str(directory)], check=True)
    env = {**os.environ, "WORKBENCH_TEST_DIR": str(directory)}
    loaded = load_config(config, env)
    rows: list[list[str]] = []
    tools, cost = 0, Cost(0)
    for toolbox, box in loaded.config.toolboxes.items():
        for name, entry in box.servers.items():
            listed, own = _read_directly(entry, env)
            tools, cost = tools + listed, cost + own
            rows.append(_row(f"directly: {toolbox}/{name}", listed, own))
    rows.append(_row("**directly: all of them, always**", tools, cost))
    rows.append(_row("**the workbench, always**", 2, anyio.run(cost_of_workbench, loaded)))
    with RawClient(workbench(config), env=env) as client:
        client.greet()
        for toolbox in loaded.config.toolboxes:
            text = client.call("open_toolbox", {"toolbox_name": toolbox})["content"][0]["text"]
            opened: Json = json.loads(text)
            assert "_errors" not in opened, opened["_errors"]
            rows.append(_row(f"the workbench: opening `{toolbox}` adds", len(opened["tools"]), Cost(len(text))))
    return markdown_table(HEAD, rows)


def _read_directly(entry: ServerConfig, env: Json) -> tuple[int, Cost]:
    """How many tools a client without filters loads from a server, and what they and its instructions cost."""
    assert isinstance(entry, StdioServer)
    environment = server_environment(entry, env)
    with RawClient([entry.command, *entry.args], cwd=entry.cwd, env=environment) as client:
        greeting = client.greet()
        tools: list[Json] = []
        page: Json = {"nextCursor": None}
        while "nextCursor" in page:
            cursor = page["nextCursor"]
            page = client.request("tools/list", {"cursor": cursor} if cursor else {})
            tools += page["tools"]
    return len(tools), cost_of_tools(tools) + Cost(len(greeting.get("instructions") or ""))


def _row(what: str, tools: int, cost: Cost) -> list[str]:
    return [what, f"{tools}", f"{cost.characters:,}", f"{cost.tokens:,}"]
