"""What a model's context holds: servers connected directly, and the same tools listed by the workbench.

Two tables. The first has a row a server: its tools as a client shows them that is connected directly (name,
description, input schema, and the server's instructions), as `open_toolbox` lists them, in full and compactly. The
second is about a task that needs three tools out of many: what the context holds before anything is opened, and after.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from benchmarks.figures import markdown_table
from benchmarks.raw_client import Json, RawClient
from benchmarks.tokens import TOKENIZER, count_tokens, tokens_are_counted
from mcp_workbench.config.loading import load_config
from mcp_workbench.config.models import ServerConfig, StdioServer, ToolboxConfig, WorkbenchConfig
from mcp_workbench.downstream.transports.environment import server_environment
from mcp_workbench.jsonrpc import codec
from mcp_workbench.toolboxes.listing import Contents, Form, ServerTools, entry, write_listing
from mcp_workbench.upstream.instructions import instructions
from mcp_workbench.upstream.tools import offered_tools

SHOWN_DIRECTLY = ("name", "description", "inputSchema")
TOOLS_PER_TOOLBOX = 20
FOUND = 5
"""Entries that a search answers with when nothing is said."""


@dataclass(frozen=True)
class Size:
    """How long a text is for a model."""

    characters: int
    tokens: int

    @classmethod
    def of(cls, text: str) -> "Size":
        return cls(len(text), count_tokens(text))

    def __add__(self, other: "Size") -> "Size":
        return Size(self.characters + other.characters, self.tokens + other.tokens)

    def cells(self, reference: "Size") -> list[str]:
        """The characters, as a multiple of a reference, and the tokens if they are counted."""
        ratio = f"{self.characters / reference.characters:.2f} x" if reference.characters else ""
        tokens = [f"{self.tokens:,}"] if tokens_are_counted() else []
        return [f"{self.characters:,}", ratio, *tokens]


@dataclass(frozen=True)
class Server:
    """What a published server says of itself."""

    name: str
    tools: Sequence[Json]
    instructions: str

    def directly(self) -> Size:
        return Size.of(shown_directly(self.tools)) + Size.of(self.instructions)

    def listed(self, form: Form) -> Size:
        """Its part of a listing; what stands around the servers' parts is there once, whatever their number."""
        return Size.of(ServerTools("dev", "server", self.tools).text(form)) + Size.of(self.instructions)


def context_tables(configs: Sequence[Path], directory: Path) -> str:
    """Both tables, over the servers of these configs; `directory` becomes the Git repository that they may work on."""
    subprocess.run(["git", "init", "-q", str(directory)], check=True)
    env = {**os.environ, "WORKBENCH_TEST_DIR": str(directory)}
    servers = [server for config in configs for server in _servers(config, env)]
    tools = [tool for server in servers for tool in server.tools]
    counted = TOKENIZER if tokens_are_counted() else "not counted; run with `uv run --with rs-bpe` to count them"
    tasks = [_task(tools, count) for count in (60, 600)]
    return "\n\n".join([_servers_table(servers), *tasks, f"Tokens: {counted}."])


def shown_directly(tools: Sequence[Json]) -> str:
    """Tools as a client shows them to its model."""
    return codec.compact([{key: tool[key] for key in SHOWN_DIRECTLY if tool.get(key) is not None} for tool in tools])


def _servers_table(servers: Sequence[Server]) -> str:
    rows: list[list[str]] = []
    total = [Size(0, 0)] * 3
    for server in servers:
        sizes = [server.directly(), server.listed(Form.FULL), server.listed(Form.SIGNATURES)]
        total = [sum_ + size for sum_, size in zip(total, sizes, strict=True)]
        rows.append(_row(server.name, len(server.tools), sizes))
    rows.append(_row("**all of them**", sum(len(server.tools) for server in servers), total))
    return markdown_table(["server", "tools", *_head("direct", "full", "compact")], rows)


def _row(name: str, tools: int, sizes: Sequence[Size]) -> list[str]:
    return [name, f"{tools}", *(cell for size in sizes for cell in size.cells(sizes[0]))]


def _head(*names: str) -> list[str]:
    tokens = ["tokens"] if tokens_are_counted() else []
    return [column for name in names for column in (f"{name}, characters", "ratio", *tokens)]


def _task(pool: Sequence[Json], count: int) -> str:
    """A task that needs three tools of so many, all of one toolbox; the tools are those of the servers, in turn."""
    tools = [{**tool, "name": f"{tool['name']}_{number}"} for number, tool in enumerate(islice(cycle(pool), count))]
    direct = Size.of(shown_directly(tools))
    before = _workbench(count // TOOLS_PER_TOOLBOX, search=False)
    mine = ServerTools("box-0", "server", tools[:TOOLS_PER_TOOLBOX])
    opened = {
        form: Size.of(write_listing(Contents("box-0", "For tests", {"server": mine}, 1), form, sys.maxsize).text)
        for form in (Form.FULL, Form.SIGNATURES)
    }
    found = Size.of(codec.compact([entry("box-0", "server", tool) for tool in tools[:FOUND]]))
    searching = _workbench(count // TOOLS_PER_TOOLBOX, search=True)
    rows = [
        _task_row("directly", direct, direct),
        _task_row("workbench, nothing opened", before, direct),
        _task_row("… one toolbox opened, full", before + opened[Form.FULL], direct),
        _task_row("… one toolbox opened, compact", before + opened[Form.SIGNATURES], direct),
        _task_row(f"… three searches of {FOUND} entries each instead", searching + found + found + found, direct),
    ]
    return markdown_table([f"3 tools of {count}", *_head("context")], rows)


def _task_row(what: str, size: Size, direct: Size) -> list[str]:
    return [what, *size.cells(direct)]


def _workbench(toolboxes: int, *, search: bool) -> Size:
    """What the workbench itself is: its tools and instructions."""
    boxes = {
        f"box-{number}": ToolboxConfig.model_validate({"description": "What this toolbox is for", "mcpServers": {}})
        for number in range(toolboxes)
    }
    config = WorkbenchConfig(toolboxes=boxes, tool_search=search)
    return Size.of(shown_directly(offered_tools(config))) + Size.of(instructions(boxes))


def _servers(config: Path, env: dict[str, str]) -> Iterator[Server]:
    for toolbox in load_config(config, env).config.toolboxes.values():
        for name, entry_ in toolbox.servers.items():
            try:
                yield _read_directly(name, entry_, env)
            except Exception as error:  # the others are worth a table
                sys.stderr.write(f"left out {name}: {type(error).__name__} {error}\n")


def _read_directly(name: str, entry_: ServerConfig, env: Json) -> Server:
    assert isinstance(entry_, StdioServer)
    environment = server_environment(entry_, env)
    with RawClient([entry_.command, *entry_.args], cwd=entry_.cwd, env=environment) as client:
        greeting = client.greet()
        tools: list[Json] = []
        page: Json = {"nextCursor": None}
        while "nextCursor" in page:
            cursor = page["nextCursor"]
            page = client.request("tools/list", {"cursor": cursor} if cursor else {})
            tools += page["tools"]
    sys.stderr.write(f"{name}: {len(tools)} tools\n")
    return Server(name, tools, greeting.get("instructions") or "")
