"""What a model's context holds: servers connected directly, the workbench, and what each toolbox adds when opened."""

import json
import os
from pathlib import Path

from benchmarks.contenders import workbench
from benchmarks.figures import markdown_table
from benchmarks.raw_client import Json, RawClient
from mcp_workbench.config import ServerConfig
from mcp_workbench.config_file import load_config
from mcp_workbench.environment import server_environment

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English and JSON; exact counts differ from model to model."""

SHOWN = ("name", "description", "inputSchema")
"""The parts of a tool that clients put before a model."""


def context_table(config: Path) -> str:
    loaded = load_config(config, os.environ)
    rows: list[list[str]] = []
    direct_tools = direct_size = 0
    for toolbox, box in loaded.config.toolboxes.items():
        for name, entry in box.servers.items():
            greeting, tools = _read_directly(entry)
            size = _size(greeting, tools)
            direct_tools, direct_size = direct_tools + len(tools), direct_size + size
            rows.append(_row(f"directly: {toolbox}/{name}", len(tools), size))
    rows.append(_row("**directly: all of them, always**", direct_tools, direct_size))
    with RawClient(workbench(config)) as client:
        greeting = client.greet()
        tools = client.request("tools/list", {})["tools"]
        rows.append(_row("**the workbench, always**", len(tools), _size(greeting, tools)))
        for toolbox in loaded.config.toolboxes:
            text = client.call("open_toolbox", {"toolbox_name": toolbox})["content"][0]["text"]
            rows.append(_row(f"the workbench: opening `{toolbox}` adds", len(json.loads(text)["tools"]), len(text)))
    return markdown_table(["what the model's context holds", "tools", "characters", "tokens, about"], rows)


def _read_directly(entry: ServerConfig) -> tuple[Json, list[Json]]:
    """A server's greeting and all its tools, as a client without filters loads them."""
    environment = server_environment(entry, os.environ)
    with RawClient([entry.command, *entry.args], cwd=entry.cwd, env=environment) as client:
        greeting = client.greet()
        tools: list[Json] = []
        page: Json = {"nextCursor": None}
        while "nextCursor" in page:
            cursor = page["nextCursor"]
            page = client.request("tools/list", {"cursor": cursor} if cursor else {})
            tools += page["tools"]
        return greeting, tools


def _size(greeting: Json, tools: list[Json]) -> int:
    shown = [{part: tool[part] for part in SHOWN if part in tool} for tool in tools]
    compact = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return len(greeting.get("instructions") or "") + len(compact)


def _row(what: str, tools: int, characters: int) -> list[str]:
    return [what, f"{tools}", f"{characters:,}", f"{round(characters / CHARACTERS_PER_TOKEN):,}"]
