"""What is measured side by side: the direct call, a plain proxy on the SDK, and the workbench."""

import json
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.raw_client import Json, RawClient

HERE = Path(__file__).parent
BARE_SERVER = [sys.executable, str(HERE / "bare_server.py")]


def trivial_server(tools: int = 1) -> list[str]:
    # Without site the interpreter starts in half the time; the script needs the standard library alone.
    return [sys.executable, "-S", "-E", str(HERE / "trivial_server.py"), str(tools)]


def write_config(path: Path, *, servers: int, tools: int = 1) -> Path:
    command, *args = trivial_server(tools)
    entries = {f"s{number}": {"command": command, "args": args} for number in range(servers)}
    boxes = {"box": {"description": "What is measured", "mcpServers": entries}} if servers else {}
    path.write_text(json.dumps({"toolboxes": boxes}), encoding="utf-8")
    return path


def workbench(config: Path) -> list[str]:
    return [sys.executable, "-m", "mcp_workbench", "--config", str(config)]


def plain_proxy(servers: int) -> list[str]:
    return [sys.executable, str(HERE / "plain_proxy.py"), str(servers), *trivial_server()]


@dataclass(frozen=True)
class Contender:
    """A way to reach the tool `text` of one of several servers."""

    name: str
    client: RawClient
    servers: int

    def params(self, number: int, size: int) -> Json:
        """The params of the call with this number; the calls go round the servers."""
        server, own = number % self.servers, {"size": size}
        if self.name == "direct":
            return {"name": "text", "arguments": own}
        if self.name == "plain":
            return {"name": "use_tool", "arguments": {"server": server, "tool": "text", "arguments": own}}
        reference = {"toolbox": "box", "server": f"s{server}", "tool": "text"}
        return {"name": "use_tool", "arguments": {"tool": reference, "arguments": own}}


@contextmanager
def contenders(directory: Path, servers: int) -> Generator[list[Contender]]:
    """All three, greeted, with their servers connected; the direct one has but one server."""
    config = write_config(directory / f"workbench-{servers}.json", servers=servers)
    with ExitStack() as stack:
        direct = stack.enter_context(RawClient(trivial_server()))
        plain = stack.enter_context(RawClient(plain_proxy(servers)))
        bench = stack.enter_context(RawClient(workbench(config)))
        for client in (direct, plain, bench):
            client.greet()
        bench.call("open_toolbox", {"toolbox_name": "box"})
        yield [
            Contender("direct", direct, 1),
            Contender("plain", plain, servers),
            Contender("workbench", bench, servers),
        ]
