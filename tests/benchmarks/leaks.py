"""Whether calls leave anything behind: resident memory after some and after ten times as many, of each kind of call."""

from collections.abc import Callable, Generator
from pathlib import Path

from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.version import LATEST_MODERN_VERSION

from benchmarks.contenders import workbench, write_config
from benchmarks.figures import markdown_table
from benchmarks.raw_client import INITIALIZE, CallFailedError, Json, RawClient

SOME, SOME_SHORT = 2000, 20
MANY = 10
"""How many times as many."""

BATCH = 20
"""Calls under way at once where a call does not end by itself."""

HEAD = ["calls", "memory after", "MB", "memory after", "MB", "bytes kept per call"]
OPEN: Json = {"name": "open_toolbox", "arguments": {"toolbox_name": "box"}}
MODERN: Json = {
    PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
    CLIENT_INFO_META_KEY: INITIALIZE["clientInfo"],
    CLIENT_CAPABILITIES_META_KEY: {"elicitation": {}},
}

Calls = Callable[[RawClient, int], None]


def leak_table(directory: Path, *, short: bool) -> str:
    config = write_config(directory / "leaks.json", servers=1, tools=3)
    return markdown_table(HEAD, list(_rows(config, SOME_SHORT if short else SOME)))


def _rows(config: Path, some: int) -> Generator[list[str]]:
    for what, calls in KINDS.items():
        with RawClient(workbench(config)) as client:
            _open(client, modern=calls is _paused)
            calls(client, some)
            before = client.memory()
            calls(client, some * (MANY - 1))
            after = client.memory()
        kept = (after - before) / (some * (MANY - 1))
        yield [what, f"{some:,}", _mb(before), f"{some * MANY:,}", _mb(after), f"{kept:.0f}"]


def _open(client: RawClient, *, modern: bool) -> None:
    """Open the toolbox in an era, for which a connection then stays."""
    if modern:
        client.request("tools/call", {**OPEN, "_meta": MODERN})
    else:
        client.greet(capabilities={"elicitation": {}})
        client.call(**OPEN)


def _mb(size: int) -> str:
    return f"{size / 1024**2:.1f}"


def _use(tool: str, **arguments: int) -> Json:
    reference = {"toolbox": "box", "server": "s0", "tool": tool}
    return {"name": "use_tool", "arguments": {"tool": reference, "arguments": arguments}}


def _answered(client: RawClient, count: int) -> None:
    client.time_flood(count, BATCH, lambda _: _use("text"))


def _large(client: RawClient, count: int) -> None:
    client.time_flood(count // 10, BATCH, lambda _: _use("text", size=100_000))


def _opened_again(client: RawClient, count: int) -> None:
    client.time_flood(count, BATCH, lambda _: OPEN)


def _cancelled(client: RawClient, count: int) -> None:
    for _ in range(count // BATCH):
        for number in [client.begin("tools/call", _use("wait")) for _ in range(BATCH)]:
            client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        client.request("ping", {})


def _asked_live(client: RawClient, count: int) -> None:
    for _ in range(count):
        number = client.begin("tools/call", _use("ask"))
        question = client.next_message()
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
        if client.next_message().get("id") != number:
            raise CallFailedError("a question was answered, and the call was not")


def _paused(client: RawClient, count: int) -> None:
    params = {**_use("ask"), "_meta": MODERN}
    for _ in range(count):
        pause = client.request("tools/call", params)
        answers = {key: {"action": "decline"} for key in pause["inputRequests"]}
        client.request("tools/call", {**params, "inputResponses": answers, "requestState": pause["requestState"]})


KINDS: dict[str, Calls] = {
    "answered": _answered,
    "answered with 100 kB (a tenth as many)": _large,
    "cancelled by the client": _cancelled,
    "with a question, answered live": _asked_live,
    "with a question, paused and resumed": _paused,
    "`open_toolbox` again": _opened_again,
}
