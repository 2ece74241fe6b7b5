"""A workbench at work for tests: the real program in front of scripted servers, and the two tools in short."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from wire import Era, Json, WireClient, text_of, workbench, write_config


@asynccontextmanager
async def serving(
    tmp_path: Path, toolboxes: Json, era: Era = "legacy", *, options: Sequence[str] = (), **spawning: Any
) -> AsyncGenerator[WireClient]:
    """Run the workbench with these toolboxes; it must leave by itself, with status 0 and a clean stdout."""
    command = [*workbench(write_config(tmp_path, toolboxes)), *options]
    async with WireClient.spawn(command, era=era, **spawning) as client:
        yield client
    assert (client.returncode, client.killed, client.noise) == (0, False, []), client.stderr
    assert "Traceback" not in client.stderr, client.stderr


async def opened(client: WireClient, toolbox: str) -> Json:
    """What `open_toolbox` says of a toolbox that opens, once its servers' questions are answered."""
    result = await client.call_tool_answering("open_toolbox", {"toolbox_name": toolbox})
    assert not result.get("isError"), result
    return json.loads(text_of(result))


async def used(client: WireClient, toolbox: str, server: str, tool: str, arguments: Json | None = None) -> Json:
    """The raw result of `use_tool`."""
    return await client.call_tool("use_tool", using(toolbox, server, tool, arguments))


def using(toolbox: str, server: str, tool: str, arguments: Json | None = None) -> Json:
    """The arguments of `use_tool`."""
    return {"tool": {"toolbox": toolbox, "server": server, "tool": tool}, "arguments": arguments or {}}


def refusal(result: Json) -> str:
    """The sentence of a result that is an error of the workbench's."""
    assert result.get("isError") is True, result
    return text_of(result)


def names(listing: Json) -> list[str]:
    """The tools that `open_toolbox` showed."""
    return [tool["name"] for tool in listing["tools"]]
