"""What is measured side by side: ways to reach the tool `text` of some servers."""

import json
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.raw_client import CallFailedError, Json, RawClient

HERE = Path(__file__).parent
TRIVIAL_SERVER = HERE / "trivial_server.py"
BARE_SERVER = [sys.executable, str(HERE / "bare_server.py")]


def trivial_server(tools: int = 1, script: Path = TRIVIAL_SERVER) -> list[str]:
    # Without site the interpreter starts in half the time; the script needs the standard library alone.
    return [sys.executable, "-S", "-E", str(script), str(tools)]


def server_entries(servers: int, tools: int = 1, script: Path = TRIVIAL_SERVER) -> Json:
    command, *args = trivial_server(tools, script)
    return {f"s{number}": {"command": command, "args": args} for number in range(servers)}


def write_config(path: Path, *, servers: int, tools: int = 1) -> Path:
    box = {"description": "What is measured", "mcpServers": server_entries(servers, tools)}
    path.write_text(json.dumps({"toolboxes": {"box": box}}), encoding="utf-8")
    return path


def workbench(config: Path) -> list[str]:
    return [sys.executable, "-m", "mcp_workbench", "--config", str(config)]


@dataclass(frozen=True)
class Contender:
    """A program that stands before some servers."""

    name: str
    command: Callable[[Path, int], list[str]]
    """How to run it, given a directory to write into and the number of servers."""

    params: Callable[[int, int], Json]
    """The params of a call, given the number of the server and the size of the result."""

    opening: Json | None = None
    """The params of a call that has to come first."""

    env: Mapping[str, str] | None = None
    """Its environment, when it shall not see ours."""


def _workbench_params(server: int, size: int) -> Json:
    reference = {"toolbox": "box", "server": f"s{server}", "tool": "text"}
    return {"name": "use_tool", "arguments": {"tool": reference, "arguments": {"size": size}}}


DIRECT = Contender(
    "direct",
    command=lambda directory, servers: trivial_server(),
    params=lambda server, size: {"name": "text", "arguments": {"size": size}},
)
"""One server and nothing before it, however many servers the others have."""

PLAIN = Contender(
    "plain",
    command=lambda directory, servers: [sys.executable, str(HERE / "plain_proxy.py"), str(servers), *trivial_server()],
    params=lambda server, size: {
        "name": "use_tool",
        "arguments": {"server": server, "tool": "text", "arguments": {"size": size}},
    },
)

WORKBENCH = Contender(
    "workbench",
    command=lambda directory, servers: workbench(write_config(directory / f"box-{servers}.json", servers=servers)),
    params=_workbench_params,
    opening={"name": "open_toolbox", "arguments": {"toolbox_name": "box"}},
)


class Running:
    """A contender whose servers are all connected: each has answered a call."""

    def __init__(self, contender: Contender, client: RawClient, servers: int) -> None:
        self.name = contender.name
        self.client = client
        self._contender = contender
        self._servers = servers

    def params(self, number: int, size: int) -> Json:
        """The params of the call with this number; the calls go round the servers."""
        return self._contender.params(number % self._servers, size)

    def time_calls(self, calls: int, size: int) -> list[float]:
        """The seconds of each of so many calls, one after the other."""
        return self.client.time_calls(calls, lambda number: self.params(number, size))

    def rate(self, calls: int, in_flight: int, size: int = 10) -> float:
        """Calls per second with so many always under way."""
        return calls / self.client.time_flood(calls, in_flight, lambda number: self.params(number, size))

    def carries(self, size: int) -> bool:
        """Whether a result of this size arrives whole: some programs cut long ones."""
        return len(str(self.client.request("tools/call", self.params(0, size)))) >= size


def start(contender: Contender, directory: Path, servers: int) -> RawClient:
    """Start a program and greet it."""
    client = RawClient(contender.command(directory, servers), cwd=directory, env=contender.env)
    try:
        client.greet()
    except BaseException:
        client.close()
        raise
    return client


def connect(contender: Contender, client: RawClient, servers: int) -> Running:
    """Have a tool of each of a program's servers answer, all at once."""
    if contender.opening is not None:
        client.call(**contender.opening)
    running = Running(contender, client, servers)
    client.time_flood(servers, servers, lambda number: running.params(number, 10))
    return running


@contextmanager
def all_running(contenders: Sequence[Contender], directory: Path, servers: int) -> Generator[list[Running]]:
    with ExitStack() as stack:
        clients = [stack.enter_context(start(one, directory, servers)) for one in contenders]
        running = [connect(one, client, servers) for one, client in zip(contenders, clients, strict=True)]
        for one in running:
            if "A line of" not in (result := str(one.client.request("tools/call", one.params(0, 10)))):
                raise CallFailedError(f"{one.name} does not pass the server's result on: {result}")
        yield running
