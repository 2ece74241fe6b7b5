"""Remote servers that reset connections, hang, break off, lose sessions and answer nonsense, under load.

`uv run python tests/faults/remote.py [--calls N] [--seed N]` makes numbered calls, fifty at a time, to a server that
does all that by chance, and counts: every call must be answered, with its own result or with a reason, and none may be
executed twice. Exit status 1 where one was lost, misdelivered or executed twice.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[1]))

from servers.web_server import Asked, Reply, web_server
from serving import opened, serving, using
from wire import Era, Json, WireClient, text_of

TOOLS: Json = {"tools": [{"name": "number", "inputSchema": {"type": "object"}}]}
FAULTS = ("answer", "events", "reset", "hang", "break off", "lose the session", "nonsense", "503")
WEIGHTS = (10, 6, 1, 1, 1, 0.2, 1, 1)
"""A session is lost seldom: who meets two losses in a row is told so, since a call is sent once more and not twice."""
IN_FLIGHT = 50


class FaultyServer:
    """Executes a call before it fails, or refuses it before it is taken; keeps the books of both."""

    def __init__(self, seed: int) -> None:
        self.executed = Counter[int]()
        self.met = Counter[str]()
        self._chance = random.Random(seed)
        self._sessions = 0

    async def handle(self, asked: Asked, reply: Reply) -> None:
        if asked.method != "POST":
            await reply.send(405)
        elif "id" not in asked.message:
            await reply.send(202)
        elif asked.rpc == "initialize":
            self._sessions += 1
            version = asked.message["params"]["protocolVersion"]
            await reply.result(
                {"protocolVersion": version, "capabilities": {"tools": {}}}, mcp_session_id=str(self._sessions)
            )
        elif asked.rpc == "server/discover":
            await reply.json({"jsonrpc": "2.0", "id": asked.message["id"], "error": {"code": -32601, "message": "?"}})
        elif asked.headers.get("mcp-session-id") != str(self._sessions):
            await reply.send(404)
        elif asked.rpc == "tools/list":
            await reply.result(TOOLS)
        else:
            await self._call(asked, reply)

    async def _call(self, asked: Asked, reply: Reply) -> None:
        fault = self._chance.choices(FAULTS, WEIGHTS)[0]
        self.met[fault] += 1
        if fault == "lose the session":
            self._sessions += 1
            await reply.send(404)
            return
        number: int = asked.message["params"]["arguments"]["number"]
        self.executed[number] += 1
        result: Json = {"content": [{"type": "text", "text": str(number)}]}
        match fault:
            case "answer":
                await reply.result(result)
            case "events":
                await reply.start_events()
                await reply.event_result(result)
                await reply.end()
            case "reset":
                await reply.reset()
            case "hang":
                await reply.gone()
            case "break off":
                await reply.start_events()
                await reply.chunk(b'data: {"jsonrpc": "2.0"')
                await reply.hang_up()
            case "nonsense":
                await reply.send(200, "[[[", content_type="application/json")
            case _:
                await reply.send(503, "too much")


async def load(client: WireClient, calls: int) -> Counter[str]:
    """Make the calls; what became of them."""
    outcomes = Counter[str]()
    numbers = iter(range(calls))

    async def caller() -> None:
        for number in numbers:
            result = await client.call_tool("use_tool", using("dev", "faulty", "number", {"number": number}))
            if result.get("isError"):
                outcomes["failed with a reason"] += 1
            else:
                outcomes["answered" if text_of(result) == str(number) else "misdelivered"] += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(IN_FLIGHT):
            tasks.start_soon(caller)
    outcomes["lost"] = calls - outcomes.total()
    return outcomes


async def main(calls: int, seed: int) -> int:
    """Run it for clients of both eras; the exit status."""
    bad = 0
    eras: tuple[Era, ...] = ("legacy", "modern")
    for era in eras:
        faulty = FaultyServer(seed)
        with tempfile.TemporaryDirectory() as folder:
            async with web_server(faulty.handle) as server:
                box: Json = {"dev": {"faulty": {"url": server.url, "transport": "http", "callTimeout": 5}}}
                async with serving(Path(folder), box, era) as client:
                    await opened(client, "dev")
                    with anyio.fail_after(300):
                        outcomes = await load(client, calls)
        twice = sum(count > 1 for count in faulty.executed.values())
        bad += outcomes["lost"] + outcomes["misdelivered"] + twice
        counts = ", ".join(f"{name}: {outcomes[name]}" for name in ("answered", "failed with a reason", "lost"))
        met = ", ".join(f"{name}: {count}" for name, count in sorted(faulty.met.items()))
        sys.stdout.write(
            f"{era} client, {calls} calls: {counts}, misdelivered: {outcomes['misdelivered']}, "
            f"executed twice: {twice}\n"
            f"    the server's answers: {met}\n"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(anyio.run(main, options.calls, options.seed))
