"""`mcp-workbench demo`: everything once, with a real client in front of the workbench and a real server behind it."""

import argparse
import json
import os
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from mcp_workbench.clients.variables import escaped
from mcp_workbench.commands.context_cost import Cost, cost_of_server, cost_of_tools
from mcp_workbench.commands.own_command import own_command
from mcp_workbench.commands.terminal import console, line, write_folded
from mcp_workbench.errors import WorkbenchError

_PATIENCE = 60
_TOOLBOX = "everyday"
_SERVER = "pocket"
_TOOLBOXES = {
    _TOOLBOX: ("Sums, temperatures, dice and the time of day", [_SERVER]),
    "office": ("Mail, appointments, notes and tasks", ["mail", "calendar", "notes", "tasks"]),
    "code": ("Repositories, reviews, builds and errors in production", ["git", "reviews", "builds", "errors"]),
    "web": ("Search the web, read pages, look up places", ["search", "pages", "maps"]),
}
_SERVERS = sum(len(servers) for _, servers in _TOOLBOXES.values())
_DEMO_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("convert_temperature", {"degrees": 451, "unit": "fahrenheit", "to": "celsius"}),
    ("count_down", {"start": 3, "seconds_per_step": 0.2}),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Shows what the workbench does, in a few seconds: starts it as a client would, with a small server that is "
        "built in, opens a toolbox and calls tools. It needs no config, no Node and no network, and leaves nothing "
        "behind."
    )


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    with tempfile.TemporaryDirectory(prefix="mcp-workbench-demo-") as directory:
        config = Path(directory) / "workbench-config.json"
        config.write_text(json.dumps(_config(), indent=2), encoding="utf-8")
        try:
            anyio.run(_Demo(console()).show, config)
        except Exception as error:
            if isinstance(cause := _cause(error), OSError) and not isinstance(
                cause, TimeoutError
            ):  # our output cannot be written, or nobody reads it
                raise cause from None
            raise WorkbenchError(f"The demo did not get to its end: {_sentence(cause)}") from None
    return 0


def _config() -> dict[str, Any]:
    command = {"command": escaped(sys.executable), "args": ["-m", "mcp_workbench.example_server"]}
    entry = {**command, "inheritEnv": ["PYTHONPATH"]}
    return {
        "toolboxes": {
            name: {"description": description, "mcpServers": dict.fromkeys(servers, entry)}
            for name, (description, servers) in _TOOLBOXES.items()
        }
    }


class _Demo:
    """The steps, each told before it is taken."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._steps = 0

    async def show(self, config: Path) -> None:
        command = ["-m", "mcp_workbench", "--config", str(config), "--log-level", "warning"]
        kept = {name: str(config.parent) for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
        program = StdioServerParameters(command=sys.executable, args=command, env={**os.environ, **kept})
        self._step("A client starts the workbench, as Claude Code or Claude Desktop would.")
        self._say(f"Its config has {_SERVERS} servers in {len(_TOOLBOXES)} toolboxes (here all are one small program).")
        with anyio.fail_after(_PATIENCE):
            async with Client(program) as client:
                workbench = await self._meet(client)
                tools = await self._open_toolbox(client)
                for tool, arguments in _DEMO_CALLS:
                    await self._use_tool(client, tool, arguments)
                self._conclude(workbench, cost_of_tools(tools), len(tools))
        self._out.print("\nThe workbench and its server have ended. To begin with your own servers:\n")
        for command, purpose in _NEXT.items():
            write_folded(self._out, f"{line(own_command())} {command}  [dim]# {purpose}[/]", indent=2, hanging=2)

    async def _meet(self, client: Client) -> Cost:
        tools = (await client.list_tools()).tools
        names = " and ".join(tool.name for tool in tools)
        self._say(f"It offers two tools, {names}, and tells the model:")
        self._quote(client.instructions or "")
        return cost_of_server(tools, client.instructions)

    async def _open_toolbox(self, client: Client) -> list[Mapping[str, Any]]:
        arguments = {"toolbox_name": _TOOLBOX}
        self._step("The model opens a toolbox. Only now does the server in it start.")
        self._say(f"open_toolbox {json.dumps(arguments)}")
        opened = json.loads(_text(await client.call_tool("open_toolbox", arguments)))
        self._say(f"{opened['servers_connected']} server connected, {len(opened['tools'])} tools:")
        self._quote("\n".join(f"{tool['name']}: {tool['description']}" for tool in opened["tools"]))
        return opened["tools"]

    async def _use_tool(self, client: Client, tool: str, arguments: dict[str, Any]) -> None:
        identifier = {"toolbox": _TOOLBOX, "server": _SERVER, "tool": tool}
        self._step(f"The model uses {tool}.")
        request = {"tool": identifier, "arguments": arguments}
        self._say(f"use_tool {json.dumps(request)}")
        result = await client.call_tool("use_tool", request, progress_callback=self._progress)
        self._quote(_text(result))

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        self._say(f"progress {progress:g} of {total or 0:g}: {message or ''}")

    def _conclude(self, workbench: Cost, direct: Cost, tools: int) -> None:
        self._step("What it costs the model's context.")
        everything = Cost(_SERVERS * direct.characters)
        share = workbench.characters / everything.characters
        self._say(f"All {_SERVERS} servers connected directly, {_SERVERS * tools} tools: {everything}, always.")
        self._say(f"The workbench, two tools and the instructions: {workbench}, {share:.0%} of that.")
        self._say(f"Opening this toolbox added {direct}. The other {_SERVERS - 1} servers were never started.")

    def _step(self, title: str) -> None:
        self._steps += 1
        self._out.print(f"\n[bold cyan]{self._steps}. {escape(title)}[/]")

    def _say(self, text: str) -> None:
        self._print_indented(text, 3)

    def _quote(self, text: str) -> None:
        for each in text.splitlines():
            self._print_indented(each, 5, "green")

    def _print_indented(self, text: str, columns: int, style: str = "") -> None:
        wrap = textwrap.TextWrapper(
            self._out.width - 2, initial_indent=" " * columns, subsequent_indent=" " * (columns + 2)
        )
        self._out.print(Text(wrap.fill(text), style=style))


_NEXT = {
    "init": "write a first config",
    "check --connect": "see whether its servers work",
    "import": "take over the servers of your clients",
    "install claude-code --dry-run": "show the diff",
}


def _text(result: CallToolResult) -> str:
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    if result.is_error:
        raise WorkbenchError(text)
    return text


def _cause(error: BaseException) -> BaseException:
    """Return the one error that a person can use of those that task groups have wrapped."""
    if isinstance(error, BaseExceptionGroup):
        return _cause(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return error


def _sentence(error: BaseException) -> str:
    return f"no answer within {_PATIENCE} s" if isinstance(error, TimeoutError) else str(error)
