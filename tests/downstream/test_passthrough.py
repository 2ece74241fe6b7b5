"""What a call carries besides its question: progress, cancellation, log messages, `_meta` and the result, untouched."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import pytest

from wire import (
    PREFIX,
    Era,
    Json,
    WireClient,
    assert_gone,
    logged,
    read_log,
    scripted,
    text_of,
    workbench,
    write_config,
)

pytestmark = pytest.mark.anyio

ERAS: tuple[Era, ...] = get_args(Era)
both_servers = pytest.mark.parametrize("server_era", ERAS, ids=lambda era: f"{era}-server")
both_clients = pytest.mark.parametrize("client_era", ERAS, ids=lambda era: f"{era}-client")


def use(tool: str, /, **arguments: Any) -> Json:
    return {"tool": {"toolbox": "dev", "server": "tools", "tool": tool}, "arguments": arguments}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "tools.jsonl"


@asynccontextmanager
async def opened(log: Path, client_era: Era, server_era: Era) -> AsyncGenerator[WireClient]:
    config = write_config(log.parent, {"dev": {"tools": scripted(era=server_era, log=str(log))}})
    async with WireClient.spawn(workbench(config), era=client_era) as client:
        assert "isError" not in await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        yield client
    for start in read_log(log, event="start"):
        await assert_gone(start["pid"])


def of_method(messages: list[Json], method: str) -> list[Json]:
    return [message for message in messages if message.get("method") == method]


# Progress.


@both_servers
@both_clients
@pytest.mark.parametrize("token", ["mine", 0, 77], ids=repr)
async def test_progress_comes_in_order_under_the_clients_own_token_before_the_result(
    log: Path, client_era: Era, server_era: Era, token: str | int
) -> None:
    async with opened(log, client_era, server_era) as client:
        seen = len(client.received)
        result = await client.call_tool("use_tool", use("progress", n=20), progress_token=token)
        during = client.received[seen:]
    assert text_of(result) == "done"
    assert [message["params"] for message in during[:-1]] == [
        {"progressToken": token, "progress": step, "total": 20, "message": f"step {step}"} for step in range(1, 21)
    ]
    assert "result" in during[-1]


@both_servers
@both_clients
async def test_without_a_token_no_progress_is_asked_for_or_sent(log: Path, client_era: Era, server_era: Era) -> None:
    async with opened(log, client_era, server_era) as client:
        await client.call_tool("use_tool", use("progress", n=3))
        assert client.notifications == []
    (call,) = of_method([event["message"] for event in read_log(log, event="received")], "tools/call")
    assert "progressToken" not in call["params"].get("_meta", {})


@both_servers
@both_clients
async def test_two_calls_at_once_do_not_mix_their_progress(log: Path, client_era: Era, server_era: Era) -> None:
    async with opened(log, client_era, server_era) as client:
        handles = [
            await client.start_call("use_tool", use("progress", n=10, interval=0.005), progress_token=token)
            for token in ("first", "second")
        ]
        for handle in handles:
            await handle.wait()
    for token in ("first", "second"):
        reports = [report["params"] for report in client.notifications if report["params"]["progressToken"] == token]
        assert [report["progress"] for report in reports] == list(range(1, 11))


# Cancellation.


@both_servers
@both_clients
async def test_cancelling_a_call_cancels_it_at_the_server_and_nothing_else(
    log: Path, client_era: Era, server_era: Era, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    async with opened(log, client_era, server_era) as client:
        other = await client.start_call("use_tool", use("slow", file=str(go)))
        handle = await client.start_call("use_tool", use("slow", token="doomed"))
        (executed,) = await logged(log, event="executed", token="doomed")
        await handle.cancel()
        (cancelled,) = await logged(log, event="cancelled")
        go.touch()
        assert text_of(await other.wait()) == "waited"
    assert (cancelled["requestId"], cancelled["tool"]) == (executed["id"], "slow")


# Log messages.


@both_servers
async def test_log_messages_carry_their_origin_to_a_legacy_client_at_the_level_it_set(
    log: Path, server_era: Era
) -> None:
    async with opened(log, "legacy", server_era) as client:
        await client.request("logging/setLevel", {"level": "warning"})
        await client.call_tool("use_tool", use("log", level="info", data="too quiet"))
        await client.call_tool("use_tool", use("log", level="error", data={"why": [1]}, logger="db"))
        await client.call_tool("use_tool", use("log", level="warning", data="no logger"))
        first = await client.next_notification("notifications/message")
        second = await client.next_notification("notifications/message")
    assert first == {"level": "error", "data": {"why": [1]}, "logger": "dev/tools/db"}
    assert second == {"level": "warning", "data": "no logger", "logger": "dev/tools"}
    assert len(client.notifications) == 2


async def test_a_legacy_client_that_set_no_level_hears_what_a_legacy_server_sends(log: Path) -> None:
    async with opened(log, "legacy", "legacy") as client:
        await client.call_tool("use_tool", use("log", level="debug", data="hello"))
        message = await client.next_notification("notifications/message")
    assert message == {"level": "debug", "data": "hello", "logger": "dev/tools"}


async def test_the_level_a_legacy_client_set_reaches_servers_that_start_later(log: Path) -> None:
    config = write_config(log.parent, {"dev": {"tools": scripted(log=str(log))}})
    async with WireClient.spawn(workbench(config)) as client:
        await client.request("logging/setLevel", {"level": "error"})
        await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        await client.call_tool("use_tool", use("echo"))
    received = [event["message"] for event in read_log(log, event="received")]
    assert [message["params"] for message in of_method(received, "logging/setLevel")] == [{"level": "error"}]


@both_servers
async def test_log_messages_carry_their_origin_to_a_modern_client_at_the_level_of_its_request(
    log: Path, server_era: Era
) -> None:
    level = {PREFIX + "logLevel": "warning"}
    async with opened(log, "modern", server_era) as client:
        await client.call_tool("use_tool", use("log", level="info", data="too quiet"), meta=level)
        await client.call_tool("use_tool", use("log", level="error", data=None, logger="db"), meta=level)
        await client.call_tool("use_tool", use("log", level="error", data="not asked for"))
    assert [message["params"] for message in client.notifications] == [
        {"level": "error", "data": None, "logger": "dev/tools/db"}
    ]


NASTY_DATA = {
    "a key that is half an emoji": '{"\\ud83d": "\\udc00"}',
    "a number of 5,000 digits": "9" * 5000,
    "deep": "[" * 190 + "]" * 190,
    "deeper than any message may be": "[" * 255 + "]" * 255,
    "no numbers": "[NaN, Infinity, 1e999]",
    "nothing": "null",
}
"""What a log message may hold that a model, a parser or a serialiser could choke on."""


@both_clients
async def test_no_notification_of_a_server_ends_more_than_itself(log: Path, client_era: Era) -> None:
    told = '{"jsonrpc": "2.0", "method": "%s", "params": {"level": "error", "elicitationId": "1", "data": %s}}'
    meta = {PREFIX + "logLevel": "debug"}
    async with opened(log, client_era, "legacy") as client:
        for method in ("notifications/message", "notifications/elicitation/complete", "notifications/\\ud83d"):
            for data in NASTY_DATA.values():
                line = told % (method, data)
                await client.call_tool("use_tool", use("raw_line", line=line, then_answer=True), meta=meta)
        assert text_of(await client.call_tool("use_tool", use("echo"))) == "{}"
    assert client.returncode == 0
    heard = [line.decode() for line in client.stdout_lines if b'"notifications/message"' in line]
    data = [line.partition('"data":')[2].removesuffix(',"logger":"dev/tools"}}') for line in heard]
    assert data == ['{"\\ud83d":"\\udc00"}', "9" * 5000, "[" * 190 + "]" * 190, "[null,null,null]", "null"]


# Questions that were answered in a browser.


@both_clients
async def test_a_legacy_client_hears_that_a_question_by_url_is_settled(log: Path, client_era: Era) -> None:
    settled: Json = {"elicitationId": "login-7", "x-by": None}
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": settled})
    async with opened(log, client_era, "legacy") as client:
        await client.call_tool("use_tool", use("raw_line", line=line, then_answer=True))
        await client.call_tool("use_tool", use("echo"))
        if client_era == "legacy":
            assert await client.next_notification("notifications/elicitation/complete") == settled
    # The newer protocol has no such message: its client is told by the answer to its retry.
    assert len(of_method(client.received, "notifications/elicitation/complete")) == (client_era == "legacy")


# The request's `_meta`.


@both_servers
@both_clients
async def test_the_meta_of_a_request_reaches_the_server_less_what_belongs_to_the_hop(
    log: Path, client_era: Era, server_era: Era
) -> None:
    own: Json = {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        "tracestate": "x=1",
        "baggage": "user=someone",
        "example.com/custom": {"deep": [1, None, "é"]},
    }
    hop = {PREFIX + "related-task": {"taskId": "7"}, "progressToken": "the client's"}
    async with opened(log, client_era, server_era) as client:
        result = await client.call_tool("use_tool", use("meta"), meta={**own, **hop})
    received = json.loads(text_of(result))
    assert received.pop("progressToken") != "the client's"
    stamped = {key: received.pop(key) for key in list(received) if key.startswith(PREFIX)}
    assert received == own
    envelope = {PREFIX + name for name in ("protocolVersion", "clientInfo", "clientCapabilities")}
    assert set(stamped) == (envelope if server_era == "modern" else set())
    if server_era == "modern":
        assert stamped[PREFIX + "clientInfo"]["name"] == "mcp-workbench"


# Results.

TEXT: Json = {"type": "text", "text": "plain"}
RESULTS: dict[str, Json] = {
    "text": {
        "content": [{**TEXT, "annotations": {"audience": ["user"], "priority": 0.5, "x-own": 1}, "_meta": {"a": 1}}]
    },
    "image": {"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]},
    "audio": {"content": [{"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/wav"}]},
    "resource link": {"content": [{"type": "resource_link", "uri": "file:///a b", "name": "a", "size": 3}]},
    "embedded text": {"content": [{"type": "resource", "resource": {"uri": "x:/y", "mimeType": "t/p", "text": "é\n"}}]},
    "embedded blob": {"content": [{"type": "resource", "resource": {"uri": "x:/y", "blob": "AA=="}}]},
    "unknown type": {"content": [{"type": "hologram", "beams": [1, {"deep": None}]}, TEXT]},
    "malformed block": {"content": [{"type": "image"}, {}, 7, None, "text", ["nested"]]},
    "no content": {"structuredContent": {"only": "this"}},
    "empty": {"content": []},
    "unknown fields": {"content": [{**TEXT, "x-extra": {"y": []}}], "x-result": [None], "zeta": 1, "alpha": 2},
    "is error": {"content": [TEXT], "isError": True},
    "is not error": {"content": [TEXT], "isError": False},
    "meta": {"content": [TEXT], "_meta": {"example.com/k": {"v": [1]}, PREFIX + "serverInfo": {"name": "s"}}},
    "structured object": {"content": [], "structuredContent": {"b": 1, "a": [1.0, 1e300, -0.0, 12345678901234567890]}},
    "structured list": {"content": [], "structuredContent": [1, "two", None]},
    "structured text": {"content": [], "structuredContent": "text"},
    "structured number": {"content": [], "structuredContent": 1.5},
    "structured boolean": {"content": [], "structuredContent": False},
    "structured null": {"content": [], "structuredContent": None},
    "lone surrogate": {"content": [{"type": "text", "text": "cut \ud83d here"}], "_meta": {"\udc00": "\ud800"}},
    "odd characters": {"content": [{"type": "text", "text": "\u0000\u2028\u2029\ufeff\U0001f600 \\u0041 \x7f"}]},
    "5 MB": {"content": [{"type": "text", "text": "päge " * 1_000_000}]},
}


@both_servers
@both_clients
async def test_results_arrive_as_the_server_sent_them(log: Path, client_era: Era, server_era: Era) -> None:
    async with opened(log, client_era, server_era) as client:
        for name, result in RESULTS.items():
            own = result if server_era == "legacy" else {"resultType": "complete", **result}
            await client.call_tool("use_tool", use("raw", result=own))
            received = client.received[-1]["result"]
            sent = read_log(log, event="sent")[-1]["message"]["result"]
            assert sent == own
            assert exactly(received) == exactly(as_seen_by(client_era, sent)), name


def as_seen_by(client_era: Era, result: Json) -> Json:
    """A result as a client gets it: the type of result is the modern era's, and what belongs to a hop stays there."""
    seen = {key: value for key, value in result.items() if key != "resultType" or client_era == "modern"}
    if "_meta" in seen:
        seen["_meta"] = {key: value for key, value in seen["_meta"].items() if not key.startswith(PREFIX)}
    return {**seen, **({"resultType": "complete"} if client_era == "modern" and "resultType" not in seen else {})}


@both_clients
async def test_a_meta_that_is_all_about_the_hop_is_none(log: Path, client_era: Era) -> None:
    own = {"content": [TEXT], "_meta": {PREFIX + "serverInfo": {"name": "s"}, PREFIX + "related-task": {"taskId": "1"}}}
    async with opened(log, client_era, "legacy") as client:
        result = await client.call_tool("use_tool", use("raw", result=own))
    assert "_meta" not in result


@both_servers
@both_clients
async def test_numbers_that_json_cannot_hold_fail_nothing_and_arrive_as_null(
    log: Path, client_era: Era, server_era: Era
) -> None:
    async with opened(log, client_era, server_era) as client:
        result = await client.call_tool("use_tool", use("echo", n=float("nan"), m=float("inf")))
        assert text_of(result) == '{"n": null, "m": null}'
        for number in ("NaN", "-Infinity", "1e999"):
            odd = f'{{"resultType": "complete", "content": [], "structuredContent": {{"mean": {number}}}}}'
            received = await client.call_tool("use_tool", use("raw", json=odd))
            assert received["structuredContent"] == {"mean": None}


async def test_a_schema_with_a_number_that_json_cannot_hold_keeps_no_toolbox_shut(log: Path) -> None:
    tool: Json = {"name": "odd", "inputSchema": {"type": "object", "properties": {"n": {"maximum": float("inf")}}}}
    config = write_config(log.parent, {"dev": {"tools": scripted(log=str(log), tools=[tool])}})
    async with WireClient.spawn(workbench(config)) as client:
        listing = json.loads(text_of(await client.call_tool("open_toolbox", {"toolbox_name": "dev"})))
    assert listing["tools"][0]["inputSchema"] == {"type": "object", "properties": {"n": {"maximum": None}}}


@both_clients
async def test_a_legacy_result_is_complete_whatever_it_says(log: Path, client_era: Era) -> None:
    """Rounds are unknown to its era; a client must not be made to answer questions that nobody asked."""
    own = {"content": [TEXT], "resultType": "input_required", "requestState": "the server's own"}
    async with opened(log, client_era, "legacy") as client:
        result = await client.call_tool("use_tool", use("raw", result=own))
    assert result == as_seen_by(client_era, {**own, "resultType": "complete"})


@both_clients
async def test_any_kind_of_modern_result_is_passed_on(log: Path, client_era: Era) -> None:
    """A result type from an extension or a later protocol is the client's to understand."""
    own = {"resultType": "task", "task": {"taskId": "7", "status": "working"}}
    async with opened(log, client_era, "modern") as client:
        result = await client.call_tool("use_tool", use("raw", result=own))
    assert result == as_seen_by(client_era, own)


@both_servers
@both_clients
async def test_arguments_reach_the_server_as_the_client_sent_them(log: Path, client_era: Era, server_era: Era) -> None:
    arguments = {"z": 1.0, "a": [None, {"\ud800": "cut \udc00"}], "n": 12345678901234567890, "tool": {"server": "x"}}
    async with opened(log, client_era, server_era) as client:
        await client.call_tool("use_tool", use("echo", **arguments))
    received = [event["message"] for event in read_log(log, event="received")]
    assert exactly(of_method(received, "tools/call")[-1]["params"]["arguments"]) == exactly(arguments)


def exactly(value: Any) -> str:
    """A text that is equal only for equal JSON values: `1`, `1.0` and `true` differ, and so does the order of keys."""
    return json.dumps(value)
