"""Streamable HTTP on the wire: what is sent in both eras, what is passed on, and how every failure is told."""

import gzip
import json
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from mcp_workbench.downstream.transports.transport import NoResponse
from remote_wire import Talk, talking
from servers.web_server import Asked, Handler, Reply, WebServer, mcp, web_server
from wire import LEGACY_VERSION, MODERN_VERSION, PATIENCE, Era, eventually

pytestmark = pytest.mark.anyio

ERAS: tuple[Era, ...] = ("legacy", "modern")
OK = {"content": [{"type": "text", "text": "ok"}]}


async def answer(asked: Asked, reply: Reply) -> None:
    await reply.result(OK)


async def answer_by_events(asked: Asked, reply: Reply) -> None:
    await reply.start_events()
    await reply.event_result(OK)
    await reply.end()


# What is sent.


async def test_a_legacy_session_is_kept_from_the_greeting_to_the_end() -> None:
    async with web_server(mcp(answer)) as server:
        async with talking(server.url) as talk:
            await talk.greet()
            await talk.call("a")
        first, *later = server.asked
    assert (first.rpc, "mcp-session-id" in first.headers, "mcp-protocol-version" in first.headers) == (
        "initialize",
        False,
        False,
    )
    assert {(asked.headers["mcp-session-id"], asked.headers["mcp-protocol-version"]) for asked in later} == {
        ("the-session", LEGACY_VERSION)
    }
    assert later[-1].method == "DELETE"


async def test_a_modern_request_repeats_in_headers_what_it_says_of_itself() -> None:
    async with web_server(mcp(answer)) as server, talking(server.url, "modern") as talk:
        await talk.greet()
        await talk.call("grüße")
    discover, call = server.asked
    assert (discover.headers["mcp-method"], discover.headers["mcp-protocol-version"]) == (
        "server/discover",
        MODERN_VERSION,
    )
    assert call.headers["mcp-method"] == "tools/call"
    assert call.headers["mcp-name"] == "=?base64?Z3LDvMOfZQ==?="
    assert not any("mcp-session-id" in asked.headers for asked in server.asked)


async def test_arguments_that_a_modern_tool_marks_go_into_headers_too() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

    async def tools(asked: Asked, reply: Reply) -> None:
        await reply.result({"tools": [{"name": "buy", "inputSchema": schema}]} if asked.rpc == "tools/list" else OK)

    async with web_server(mcp(tools)) as server, talking(server.url, "modern") as talk:
        await talk.request("tools/list")
        await talk.call("buy", {"region": "eu west"})
        assert server.asked[-1].headers["mcp-param-region"] == "eu west"


@pytest.mark.parametrize("era", ERAS)
async def test_the_headers_of_the_config_go_with_every_request(era: Era) -> None:
    key = {"X-Api-Key": "k-123456"}
    async with web_server(mcp(answer)) as server, talking(server.url, era, headers=key) as talk:
        await talk.greet()
        await talk.call("a")
    assert {asked.headers["x-api-key"] for asked in server.asked} == {"k-123456"}


async def test_nothing_follows_the_initialized_notification_before_the_server_has_it() -> None:
    held = anyio.Event()
    arrived: list[str] = []

    async def handler(asked: Asked, reply: Reply) -> None:
        arrived.append(asked.rpc)
        if asked.rpc == "notifications/initialized":
            await held.wait()
        await mcp(answer)(asked, reply)

    async with web_server(handler) as server, talking(server.url) as talk:
        await talk.greet()
        call = talk.start_call("a")
        with anyio.fail_after(5):
            await eventually(lambda: "notifications/initialized" in arrived)
        assert "tools/call" not in arrived
        held.set()
        assert isinstance(await talk.outcome(call), dict)


# What is passed on.


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answering", [answer, answer_by_events])
async def test_a_result_arrives_as_it_was_sent(era: Era, answering: Handler) -> None:
    strange = {"content": [{"type": "hologram", "x": 1e400}], "unknown": None, "_meta": {"a/b": [1.0, 10**30]}}

    async def call(asked: Asked, reply: Reply) -> None:
        text = json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], "result": strange})
        if answering is answer:
            await reply.send(200, text, content_type="application/json; charset=utf-8")
        else:
            await reply.start_events()
            await reply.event(text)
            await reply.end()

    async with web_server(mcp(call)) as server, talking(server.url, era) as talk:
        await talk.greet()
        assert await talk.call("a") == strange


async def test_what_comes_before_a_response_on_its_stream_is_passed_on_in_order() -> None:
    async def call(asked: Asked, reply: Reply) -> None:
        await reply.start_events()
        for step in range(3):
            await reply.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": step}})
        await reply.event({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": {}})
        await reply.event_result(OK)
        await reply.end()

    async with web_server(mcp(call)) as server, talking(server.url) as talk:
        await talk.greet()
        await talk.call("a")
        kinds = [message.get("method", "response") for message in talk.received[1:]]
        assert kinds == [*["notifications/progress"] * 3, "elicitation/create", "response"]
        talk.transport.send({"jsonrpc": "2.0", "id": "q1", "result": {"action": "accept"}})
        with anyio.fail_after(5):
            await eventually(lambda: server.asked[-1].message.get("id") == "q1")
        assert server.asked[-1].headers["mcp-session-id"] == "the-session"


async def test_a_server_is_heard_between_calls_and_again_from_where_its_stream_broke_off() -> None:
    told: list[str | None] = []

    async def listen(asked: Asked, reply: Reply) -> None:
        told.append(asked.headers.get("last-event-id"))
        await reply.start_events()
        await reply.chunk(b"retry: 10\n\n")
        change = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"n": len(told)}}
        await reply.event(change, id=f"e{len(told)}")
        if len(told) == 1:
            await reply.reset()
        await reply.gone()

    async with web_server(mcp(answer, listen=listen)) as server, talking(server.url) as talk:
        await talk.greet()
        changes = await talk.heard("notifications/tools/list_changed", 2)
        assert [change["params"]["n"] for change in changes] == [1, 2]
        assert told == [None, "e1"]


async def test_calls_run_at_the_same_time() -> None:
    waiting = 0
    all_there = anyio.Event()

    async def call(asked: Asked, reply: Reply) -> None:
        nonlocal waiting
        waiting += 1
        if waiting == 50:
            all_there.set()
        await all_there.wait()
        await reply.result({"n": asked.message["id"]})

    async with web_server(mcp(call)) as server, talking(server.url) as talk:
        await talk.greet()
        calls = [talk.start_call("a") for _ in range(50)]
        for number in calls:
            outcome = await talk.outcome(number)
            assert isinstance(outcome, dict)
            assert outcome["result"] == {"n": number}


@pytest.mark.parametrize("answering", [answer, answer_by_events])
async def test_calls_that_follow_each_other_share_a_connection(answering: Handler) -> None:
    async with web_server(mcp(answering)) as server, talking(server.url, "modern") as talk:
        for _ in range(5):
            await talk.call("a")
            await anyio.wait_all_tasks_blocked()  # the end of a stream comes after its response
        assert server.connections == 1


# Cancelling.


async def test_a_modern_request_is_cancelled_by_closing_its_response() -> None:
    begun, closed = anyio.Event(), anyio.Event()

    async def call(asked: Asked, reply: Reply) -> None:
        begun.set()
        await reply.gone()
        closed.set()

    async with web_server(mcp(call)) as server, talking(server.url, "modern") as talk:
        number = talk.start_call("a")
        with anyio.fail_after(5):
            await begun.wait()
            talk.cancel(number)
            await closed.wait()
        assert server.of("notifications/cancelled") == []
        assert talk.failures == []


async def test_a_legacy_request_is_cancelled_by_a_notification_and_then_closed() -> None:
    begun, closed = anyio.Event(), anyio.Event()

    async def call(asked: Asked, reply: Reply) -> None:
        await reply.start_events()
        begun.set()
        await reply.gone()
        closed.set()

    async with web_server(mcp(call)) as server, talking(server.url) as talk:
        await talk.greet()
        number = talk.start_call("a")
        with anyio.fail_after(5):
            await begun.wait()
            talk.cancel(number)
            await closed.wait()
        (told,) = server.of("notifications/cancelled")
        assert told.message["params"]["requestId"] == number
        assert talk.failures == []


# Streams that break.


@pytest.mark.parametrize("era", ERAS)
async def test_a_response_that_breaks_off_is_resumed_and_its_request_not_repeated(era: Era) -> None:
    resumed: list[str] = []

    async def call(asked: Asked, reply: Reply) -> None:
        await reply.start_events()
        await reply.chunk(b"retry: 10\n")
        await reply.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}, id="7")
        await reply.reset()

    async def listen(asked: Asked, reply: Reply) -> None:
        resumed.append(asked.headers.get("last-event-id", ""))
        if len(resumed) == 1:
            await reply.send(503)
            return
        await reply.start_events()
        await reply.event({"jsonrpc": "2.0", "id": number, "result": OK}, id="8")
        await reply.end()

    async with web_server(mcp(call, session=None, listen=listen)) as server, talking(server.url, era) as talk:
        await talk.greet()
        number = talk.start_call("a")
        outcome = await talk.outcome(number)
        assert isinstance(outcome, dict)
        assert outcome["result"] == OK
        assert resumed == ["7", "7"]
        assert len(server.of("tools/call")) == 1


async def test_a_server_may_close_a_stream_to_be_polled_and_is() -> None:
    polls = 0

    async def call(asked: Asked, reply: Reply) -> None:
        await reply.start_events()
        await reply.chunk(b"id: p0\nretry: 5\ndata:\n\n")
        await reply.end()

    async def listen(asked: Asked, reply: Reply) -> None:
        nonlocal polls
        polls += 1
        await reply.start_events()
        if polls == 8:
            await reply.event({"jsonrpc": "2.0", "id": number, "result": OK})
        await reply.end()

    async with web_server(mcp(call, session=None, listen=listen)) as server, talking(server.url) as talk:
        number = talk.start_call("a")
        assert isinstance(await talk.outcome(number), dict)
        assert polls == 8


async def test_a_response_that_cannot_be_resumed_ends_its_call_with_the_reason() -> None:
    async def call(asked: Asked, reply: Reply) -> None:
        await reply.start_events()
        await reply.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}, id="7")
        await reply.reset()

    async with web_server(mcp(call, session=None)) as server, talking(server.url) as talk:
        assert await talk.reason("tools/call", {"name": "a"}) == (
            "its response broke off and could not be resumed: 405 Method Not Allowed"
        )
        assert len(server.of("tools/call")) == 1


async def test_a_modern_subscription_is_taken_up_again_and_the_tools_are_taken_for_changed() -> None:
    async def call(asked: Asked, reply: Reply) -> None:
        await reply.start_events()
        await reply.chunk(b"retry: 10\n\n")
        if len(server.of("subscriptions/listen")) < 3:
            await reply.reset()
        await reply.gone()

    async with web_server(mcp(call)) as server, talking(server.url, "modern") as talk:
        talk.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        await talk.heard("notifications/tools/list_changed", 2)
        with anyio.fail_after(5):
            await eventually(lambda: len(server.of("subscriptions/listen")) == 3)
        assert talk.failures == []


# Sessions that are lost.


async def lost_by_404(asked: Asked, reply: Reply) -> None:
    await reply.send(404)


async def lost_by_400(asked: Asked, reply: Reply) -> None:
    error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
    await reply.json({"jsonrpc": "2.0", "error": error, "id": None}, 400)


@pytest.mark.parametrize("losing", [lost_by_404, lost_by_400])
async def test_every_request_that_meets_a_lost_session_was_not_taken_and_then_it_is_over(losing: Handler) -> None:
    async with web_server(mcp(losing)) as server:
        async with talking(server.url) as talk:
            await talk.greet()
            calls = [talk.start_call("a") for _ in range(10)]
            outcomes = [await talk.outcome(number) for number in calls]
            assert outcomes == [NoResponse(number, "its session was lost", not_taken=True) for number in calls]
            assert await talk.end() == "its session was lost"
        assert not any(asked.method == "DELETE" for asked in server.asked)


async def test_a_404_without_a_session_is_a_wrong_address() -> None:
    async with web_server(mcp(lost_by_404)) as server, talking(server.url, "modern") as talk:
        assert await talk.reason("tools/call", {"name": "a"}) == (
            "404 Not Found: there is nothing at this address (check the path of the URL)"
        )


# Failures of one call.


async def reset(asked: Asked, reply: Reply) -> None:
    await reply.reset()


async def hang_up(asked: Asked, reply: Reply) -> None:
    await reply.hang_up()


async def stop_in_the_middle(asked: Asked, reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
    await reply.hang_up()


async def end_without_result(asked: Asked, reply: Reply) -> None:
    await reply.start_events()
    await reply.end()


async def say_no_more(asked: Asked, reply: Reply) -> None:
    await reply.send(202)


async def send_a_page(asked: Asked, reply: Reply) -> None:
    await reply.send(200, "<html><title>Log in</title>", content_type="text/html")


async def send_half_json(asked: Asked, reply: Reply) -> None:
    await reply.send(200, '{"jsonrpc": "2.0", "id"', content_type="application/json")


async def send_a_batch(asked: Asked, reply: Reply) -> None:
    await reply.send(200, "[]", content_type="application/json")


async def send_bad_text(asked: Asked, reply: Reply) -> None:
    await reply.send(200, b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}', content_type="application/json")


async def send_another_id(asked: Asked, reply: Reply) -> None:
    await reply.json({"jsonrpc": "2.0", "id": 99, "result": {}})


async def send_unreadable_event(asked: Asked, reply: Reply) -> None:
    await reply.start_events()
    await reply.event('{"jsonrpc": "2.0", "id": 1, "result": {')
    await reply.end()


async def send_an_endless_body(asked: Asked, reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        await reply.chunk(b" " * 65536)


async def send_an_endless_event(asked: Asked, reply: Reply) -> None:
    await reply.start_events()
    await reply.chunk(b"data: ")
    while True:
        await reply.chunk(b"x" * 65536)


async def send_endless_headers(asked: Asked, reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\n")
    while True:
        await reply.raw(b"x-filler: " + b"y" * 8000 + b"\r\n")


async def speak_something_else(asked: Asked, reply: Reply) -> None:
    await reply.raw(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
    await reply.hang_up()


async def be_overloaded(asked: Asked, reply: Reply) -> None:
    await reply.send(429, retry_after="30")


async def break_down(asked: Asked, reply: Reply) -> None:
    await reply.send(500, "database is on fire\nand more", content_type="text/plain")


async def refuse(asked: Asked, reply: Reply) -> None:
    await reply.send(401, www_authenticate="Bearer")


async def forbid(asked: Asked, reply: Reply) -> None:
    await reply.send(403, "not yours", content_type="text/plain")


REASONS: dict[Callable[[Asked, Reply], Coroutine[Any, Any, None]], str] = {
    reset: "the connection to it broke off",
    hang_up: "it closed the connection without a response",
    stop_in_the_middle: "it closed the connection in the middle of its response",
    end_without_result: "its response ended before the result",
    say_no_more: "it took the request and said that it will not answer",
    send_a_page: "it sent a web page ('Log in') where JSON was due "
    "(a wrong URL, or a network or proxy that wants a login in the browser first?)",
    send_half_json: "its response cannot be read",
    send_a_batch: "its response cannot be read: it is a batch",
    send_bad_text: "its response cannot be read",
    send_another_id: "its response carries an id that was never asked",
    send_unreadable_event: "its response cannot be read",
    send_an_endless_body: "its response is larger than 1 MiB, and was not read to the end",
    send_an_endless_event: "its response is larger than 1 MiB, and was not read to the end",
    send_endless_headers: "it sent headers without end",
    speak_something_else: "what it sent is not HTTP",
    be_overloaded: "429 Too Many Requests; it asks to wait 30 s",
    break_down: "500 Internal Server Error: database is on fire",
    refuse: "401 Unauthorized: it wants credentials, or does not accept those it was sent",
    forbid: "403 Forbidden: the credentials do not allow this: not yours",
}


@pytest.mark.parametrize("failing", REASONS, ids=lambda failing: failing.__name__)
async def test_a_failure_ends_its_call_with_the_reason_and_no_other(
    failing: Callable[[Asked, Reply], Coroutine[Any, Any, None]],
) -> None:
    async def call(asked: Asked, reply: Reply) -> None:
        await (failing if asked.message["params"]["name"] == "bad" else answer)(asked, reply)

    async with web_server(mcp(call)) as server, talking(server.url, max_message=1024 * 1024) as talk:
        await talk.greet()
        good, bad = talk.start_call("good"), talk.start_call("bad")
        outcome = await talk.outcome(bad)
        assert isinstance(outcome, NoResponse)
        assert outcome.reason.startswith(REASONS[failing]), outcome.reason
        assert not outcome.not_taken
        assert isinstance(await talk.outcome(good), dict)
        assert await talk.call("good") == OK
        assert len([1 for asked in server.of("tools/call") if asked.message["params"]["name"] == "bad"]) == 1


async def test_an_error_in_the_body_of_a_refusal_is_the_response() -> None:
    async def call(asked: Asked, reply: Reply) -> None:
        await reply.json({"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "no", "data": [1]}}, 400)

    async with web_server(mcp(call)) as server, talking(server.url) as talk:
        await talk.greet()
        number = talk.start_call("a")
        outcome = await talk.outcome(number)
        assert isinstance(outcome, dict)
        assert outcome["error"] == {"code": -32602, "message": "no", "data": [1]}


async def test_a_server_that_is_gone_ends_the_transport_when_nothing_else_is_under_way() -> None:
    async with web_server(mcp(answer)) as server:
        url = server.url
    async with talking(url) as talk:
        reason = f"connection refused by '{url[7:-4]}' (is the server running, and is the port right?)"
        assert await talk.reason("tools/call", {"name": "a"}) == reason
        assert await talk.end() == reason


async def test_a_probe_that_an_older_server_does_not_know_is_answered_so_that_the_handshake_goes_on() -> None:
    async def handler(asked: Asked, reply: Reply) -> None:
        await reply.send(400, "Bad Request", content_type="text/plain")

    async with web_server(handler) as server, talking(server.url, "modern") as talk:
        outcome = await talk.outcome(talk.start("server/discover"))
        assert isinstance(outcome, dict)
        assert outcome["error"]["code"] == -32601


# The end.


async def test_leaving_closes_every_connection_and_waits_for_no_server() -> None:
    async def stubborn(asked: Asked, reply: Reply) -> None:
        await reply.gone()

    async def handler(asked: Asked, reply: Reply) -> None:
        await (stubborn if asked.method == "DELETE" else mcp(stubborn, listen=stubborn))(asked, reply)

    async with web_server(handler) as server:
        with anyio.fail_after(10):
            async with talking(server.url) as talk:
                await talk.greet()
                talk.start_call("a")
                await reached(server, "tools/call")
            await eventually(lambda: server.open_connections == 0)


async def test_leaving_with_calls_under_way_says_goodbye_all_the_same() -> None:
    async def never(asked: Asked, reply: Reply) -> None:
        await reply.gone()

    async with web_server(mcp(never)) as server:
        async with talking(server.url) as talk:
            await talk.greet()
            talk.start_call("a")
            await reached(server, "tools/call")
        assert server.asked[-1].method == "DELETE"


async def reached(server: WebServer, rpc: str) -> None:
    with anyio.fail_after(5):
        await eventually(lambda: bool(server.of(rpc)))


async def test_senders_wait_while_very_many_calls_are_under_way() -> None:
    held = anyio.Event()

    async def call(asked: Asked, reply: Reply) -> None:
        await held.wait()
        await reply.result(OK)

    async with web_server(mcp(call)) as server, talking(server.url, "modern") as talk:
        calls = [talk.start_call("a") for _ in range(300)]
        with anyio.move_on_after(0.05) as patience:
            await talk.transport.drain()
        assert patience.cancelled_caught
        held.set()
        with anyio.fail_after(10):
            await talk.transport.drain()
        await every(talk, calls)


async def every(talk: Talk, calls: list[int]) -> None:
    for number in calls:
        assert isinstance(await talk.outcome(number), dict)


async def test_a_refusal_whose_body_never_ends_is_known_by_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_workbench.downstream.transports.http_connections._BEGINNING", 0.1)

    async def dripping(asked: Asked, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 503 No\r\ncontent-length: 100\r\n\r\ntoo much")
        await reply.gone()

    async with web_server(mcp(dripping)) as server, talking(server.url) as talk:
        await talk.greet()
        assert await talk.reason("tools/list") == "503 Service Unavailable: too much"


async def test_what_a_server_never_takes_notice_of_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_workbench.downstream.transports.streamable_http._TELLING", 0.1)

    async def deaf(asked: Asked, reply: Reply) -> None:
        if asked.rpc == "notifications/roots/list_changed":
            await reply.gone()
        else:
            await mcp(answer_later)(asked, reply)

    async def answer_later(asked: Asked, reply: Reply) -> None:
        await reply.result({})

    async with web_server(deaf) as server, talking(server.url) as talk:
        await talk.greet()
        talk.notify("notifications/roots/list_changed")
        with anyio.fail_after(PATIENCE):
            await eventually(lambda: any("took no notice of" in note for note in talk.transport.stderr_tail()))


async def test_a_compressed_response_that_nobody_asked_for_is_not_unpacked() -> None:
    async def bomb(asked: Asked, reply: Reply) -> None:
        packed = gzip.compress(b" " * 50_000_000)
        await reply.send(200, packed, content_type="application/json", content_encoding="gzip")

    async with web_server(mcp(bomb)) as server, talking(server.url) as talk:
        await talk.greet()
        assert await talk.reason("tools/list") == (
            "its response is compressed, although it was asked for one that is not"
        )
