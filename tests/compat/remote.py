"""The table of docs/remote-servers.md: published servers behind the workbench, over HTTP, against their stdio selves.

`uv run python tests/compat/remote.py` installs `@modelcontextprotocol/server-everything` into a temporary folder (or
uses the one that `--modules` names), runs it over streamable HTTP and SSE, on loopback, and compares every call of
`compat.everything` with the same calls made directly over stdio, for clients of both eras. Then it tries SDK servers of
both eras, stateful and stateless. Exit status 1 where something differs.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL

import anyio

sys.path.insert(0, str(Path(__file__).parents[1]))

from authority import free_port
from compat.everything import CAPABILITIES, STEPS, Recording, Seen, record
from compat.published import npm_install, program
from serving import opened, serving, using
from wire import Era, Json, WireClient, text_of

ERAS: tuple[Era, ...] = ("legacy", "modern")
SAME = {"PYTEST_CURRENT_TEST": "whichever"}
EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
SDK_HTTP_SERVER = Path(__file__).parents[1] / "servers" / "sdk_http_server.py"
OF_THE_PROCESS = {"environment"}
"""What tells of the server's own environment, which is another where it was not started by us."""


@dataclass
class Row:
    """One line of the table."""

    server: str
    transport: str
    client: str
    tools: str = ""
    calls: str = ""
    questions: str = ""
    progress: str = ""
    differing: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        cells = (self.server, self.transport, self.client, self.tools, self.calls, self.questions, self.progress)
        return f"| {' | '.join(cells)} |"


HEAD = Row("server", "transport", "client", "tools equal", "calls equal", "questions equal", "progress equal")


@asynccontextmanager
async def listening(command: Sequence[str], port: int, env: Mapping[str, str] | None = None) -> AsyncGenerator[None]:
    """Run a server until it takes connections, and end it with the block."""
    async with await anyio.open_process(
        command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, env={**os.environ, "PORT": str(port), **(env or {})}
    ) as process:
        try:
            with anyio.fail_after(90):
                while not await _takes_connections(port):  # noqa: ASYNC110 - it is another process
                    await anyio.sleep(0.1)
            yield
        finally:
            process.kill()


async def _takes_connections(port: int) -> bool:
    try:
        async with await anyio.connect_tcp("127.0.0.1", port):
            return True
    except OSError:
        return False


async def direct(entry: Json) -> Recording:
    """What a client sees that starts the server itself."""
    command = [entry["command"], *entry["args"]]
    async with WireClient.spawn(command, capabilities=CAPABILITIES, env=SAME) as client:
        tools = (await client.request("tools/list"))["tools"]
        return await record(client, tools, lambda tool, arguments: (tool, arguments))


async def behind(entry: Json, era: Era) -> Recording:
    """What a client sees through the workbench."""
    with tempfile.TemporaryDirectory() as folder:
        async with serving(
            Path(folder), {"dev": {"everything": entry}}, era, capabilities=CAPABILITIES, env=SAME
        ) as client:
            tools = (await opened(client, "dev"))["tools"]
            return await record(
                client, tools, lambda tool, arguments: ("use_tool", using("dev", "everything", tool, arguments))
            )


def compared(row: Row, expected: Recording, seen: Recording, era: Era) -> Row:
    """Fill the line in."""
    names = [tool["name"] for tool in seen.tools]
    schemas = {tool["name"]: tool["inputSchema"] for tool in expected.tools}
    equal = names == list(schemas) and all(tool["inputSchema"] == schemas[tool["name"]] for tool in seen.tools)
    row.tools = f"{len(names)}" if equal else "no"
    steps = [name for name in STEPS if name not in OF_THE_PROCESS]
    row.differing = [name for name in steps if _outcome(seen.steps[name]) != _outcome(expected.steps[name])]
    row.calls = f"{len(steps) - len(row.differing)} of {len(steps)}"
    asked = [name for name in steps if expected.steps[name].questions]
    as_sent = {name: _unattributed(seen.steps[name].questions) for name in asked}
    row.questions = _count(asked, lambda name: as_sent[name] == expected.steps[name].questions)
    told = [name for name in steps if expected.steps[name].progress]
    row.progress = _count(told, lambda name: seen.steps[name].progress == expected.steps[name].progress)
    return row


def _unattributed(questions: list[Json]) -> list[Json]:
    """The questions without the words in which the workbench tells the user whose they are."""
    return [json.loads(json.dumps(question).replace('"dev/everything asks: ', '"')) for question in questions]


def _outcome(seen: Seen) -> Json:
    result = seen.outcome.get("result")
    if result is None:
        return seen.outcome
    # A session over stdio has no id, and this server tells of it all the same.
    text = json.dumps({key: value for key, value in result.items() if key != "resultType"})
    return {"result": json.loads(text.replace("session undefined", "session <id>"))}


def _count(names: Sequence[str], is_equal: Callable[[str], bool]) -> str:
    return f"{sum(map(is_equal, names))} of {len(names)}"


def write(row: Row) -> None:
    """Show a line as soon as it is known."""
    differing = f"    differing: {', '.join(row.differing)}\n" if row.differing else ""
    sys.stdout.write(f"{row}\n{differing}")
    sys.stdout.flush()


async def everything_rows(modules: Path) -> list[Row]:
    """The everything server over both transports, for clients of both eras."""
    script = str(modules / EVERYTHING)
    entry: Json = {"command": program("node"), "args": [script]}
    expected = await direct(entry)
    rows: list[Row] = []
    for kind, path, transport in (("streamableHttp", "mcp", "http"), ("sse", "sse", "sse")):
        for era in ERAS:
            port = free_port()
            async with listening([entry["command"], script, kind], port):
                remote: Json = {"url": f"http://127.0.0.1:{port}/{path}", "transport": transport}
                seen = await behind(remote, era)
            rows.append(compared(Row("server-everything", kind, era), expected, seen, era))
            write(rows[-1])
    return rows


async def sdk_rows() -> list[Row]:
    """Servers of the Python SDK, which speak both eras: with sessions and without, with events and plain JSON."""
    rows: list[Row] = []
    for options in ((), ("--stateless",), ("--json",), ("--stateless", "--json")):
        for era in ERAS:
            port = free_port()
            async with AsyncExitStack() as stack:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                await stack.enter_async_context(
                    listening([sys.executable, str(SDK_HTTP_SERVER), *options, "--port", str(port)], port)
                )
                box: Json = {"dev": {"sdk": {"url": f"http://127.0.0.1:{port}/mcp"}}}
                client = await stack.enter_async_context(
                    serving(Path(folder), box, era, capabilities={"elicitation": {"form": {}}})
                )
                row = Row("Python SDK " + " ".join(options), "http", era)
                rows.append(await _tried(row, client))
            write(rows[-1])
    return rows


async def _tried(row: Row, client: WireClient) -> Row:
    async def answer(method: str, params: Json) -> Json:
        return {"action": "accept", "content": {"name": "Ada"}}

    row.tools = str(len((await opened(client, "dev"))["tools"]))
    wanted: dict[str, tuple[Json, str]] = {
        "add": ({"a": 2, "b": 3}, "5"),
        "ask": ({}, "Hello Ada"),
        "count": ({"to": 3}, "3"),
    }
    good: list[str] = []
    for tool, (arguments, text) in wanted.items():
        result = await client.call_tool_answering("use_tool", using("dev", "sdk", tool, arguments), answer)
        if text_of(result) == text:
            good.append(tool)
        else:
            row.differing.append(f"{tool}: {text_of(result)}")
    row.calls = f"{len(good)} of {len(wanted)}"
    row.questions = "1 of 1" if "ask" in good else "0 of 1"
    return row


async def main(modules: Path | None) -> int:
    """Print the table; the exit status."""
    sys.stdout.write(f"{HEAD}\n| --- | --- | --- | --- | --- | --- | --- |\n")
    rows = await sdk_rows()
    if modules is None:
        with tempfile.TemporaryDirectory() as folder:
            npm_install(Path(folder))
            rows += await everything_rows(Path(folder))
    else:
        rows += await everything_rows(modules)
    return 1 if any(row.differing for row in rows) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=Path, help="a folder in which the npm packages are installed already")
    sys.exit(anyio.run(main, parser.parse_args().modules))
