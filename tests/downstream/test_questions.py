"""Questions to the user during a tool call, in every pairing of eras, with a real process at both ends."""

import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from lone_connection import lone_connection
from mcp_workbench.config.models import StdioServer
from mcp_workbench.downstream.caller import Caller
from wire import (
    Era,
    Json,
    RpcError,
    WireClient,
    assert_gone,
    eventually,
    logged,
    read_log,
    scripted,
    text_of,
    workbench,
    write_config,
)

pytestmark = pytest.mark.anyio

ERAS: tuple[Era, ...] = get_args(Era)
EVERYTHING: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}
NAMED: Json = {"action": "accept", "content": {"name": "blue"}}
SAMPLED: Json = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}, "stopReason": "endTurn"}
ROOTED: Json = {"roots": [{"uri": "file:///home/you", "name": "home"}]}

four_pairings = pytest.mark.parametrize("server_era", ERAS, ids=lambda era: f"{era}-server")
both_clients = pytest.mark.parametrize("client_era", ERAS, ids=lambda era: f"{era}-client")


def use(tool: str, **arguments: Any) -> Json:
    return {"tool": {"toolbox": "dev", "server": "asker", "tool": tool}, "arguments": arguments}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "asker.jsonl"


@asynccontextmanager
async def opened(
    log: Path, client_era: Era, server_era: Era, capabilities: Json | None = None
) -> AsyncGenerator[WireClient]:
    """A client of one era with an open toolbox whose only server speaks the other, or the same."""
    config = write_config(log.parent, {"dev": {"asker": scripted(era=server_era, log=str(log))}})
    can = EVERYTHING if capabilities is None else capabilities
    async with WireClient.spawn(workbench(config), era=client_era, capabilities=can) as client:
        assert "isError" not in await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        yield client
    for start in read_log(log, event="start"):
        await assert_gone(start["pid"])


def asked_by_server(log: Path) -> list[Json]:
    """Every question that the server sent, in whichever way its era asks."""
    questions: list[Json] = []
    for event in read_log(log, event="sent"):
        message: Json = event["message"]
        if "method" in message and "id" in message:
            questions.append({"method": message["method"], "params": message["params"]})
        result: Json = message.get("result") or {}
        asked: Json = result.get("inputRequests", {})
        questions += asked.values()
    return questions


def received_by_server(log: Path, method: str) -> list[Json]:
    received = [event["message"] for event in read_log(log, event="received")]
    return [message for message in received if message.get("method") == method]


def answered_to_server(log: Path) -> list[Json]:
    """What a legacy server got for its questions, errors and results alike."""
    received = [event["message"] for event in read_log(log, event="received")]
    return [message.get("result") or message["error"] for message in received if "method" not in message]


async def paused(client: WireClient, tool: str = "ask", **arguments: Any) -> Json:
    result = await client.call_tool("use_tool", use(tool, **arguments))
    assert result["resultType"] == "input_required"
    return result


async def retry(client: WireClient, pause: Json, arguments: Json, **changed: Any) -> Json:
    """Answer a pause; `changed` replaces parts of the params."""
    answers = await client.answers_to(pause)
    return await client.request("tools/call", {"name": "use_tool", "arguments": arguments, **answers, **changed})


# Four pairings.


@four_pairings
@both_clients
@pytest.mark.parametrize(
    ("tool", "arguments", "method", "answer"),
    [
        pytest.param("ask", {}, "elicitation/create", NAMED, id="form"),
        pytest.param("ask", {"url": True}, "elicitation/create", {"action": "accept"}, id="url"),
        pytest.param("sample", {"message": "Sing"}, "sampling/createMessage", SAMPLED, id="sampling"),
        pytest.param("roots", {}, "roots/list", ROOTED, id="roots"),
    ],
)
async def test_a_question_reaches_the_client_as_it_was_asked_and_its_answer_comes_back(
    log: Path, client_era: Era, server_era: Era, tool: str, arguments: Json, method: str, answer: Json
) -> None:
    seen: list[Json] = []

    async def reply(method: str, params: Json) -> Json:
        seen.append({"method": method, "params": params})
        return answer

    async with opened(log, client_era, server_era) as client:
        result = await client.call_tool_answering("use_tool", use(tool, **arguments), reply)
    assert json.loads(text_of(result)) == [{"q1": answer}]
    if (client_era, server_era, arguments) == ("legacy", "modern", {"url": True}):
        assert seen[0]["params"].pop("elicitationId")  # the client's era requires what the server's does not have
    if method == "elicitation/create":  # the user is told who asks; everything else is as it was asked
        seen[0]["params"]["message"] = seen[0]["params"]["message"].removeprefix("dev/asker asks: ")
        assert seen[0]["params"]["message"] == "What is your name?"
    assert seen == asked_by_server(log)
    assert [question["method"] for question in seen] == [method]


async def test_questions_with_a_number_and_with_the_same_number_as_text_for_ids_are_two(log: Path) -> None:
    ask = '{"jsonrpc": "2.0", "id": %s, "method": "elicitation/create", "params": {"message": "%s"}}'
    lines = "\n".join(ask % (request_id, text) for request_id, text in (("1", "number"), ('"1"', "text")))

    async def reply(params: Json) -> Json:
        return {"action": "accept", "content": {"name": params["message"]}}

    async with opened(log, "modern", "legacy") as client:
        client.on_request["elicitation/create"] = reply
        pause = await paused(client, "raw_line", line=lines)
        assert len(pause["inputRequests"]) == 2
        again = {"name": "use_tool", "arguments": use("raw_line", line=lines), **await client.answers_to(pause)}
        await client.start_request("tools/call", again)
        with anyio.fail_after(client.patience):
            await eventually(lambda: len(answered_to_server(log)) == 2)
    received = [event["message"] for event in read_log(log, event="received")]
    answers = {json.dumps(each["id"]): each["result"]["content"]["name"] for each in received if "method" not in each}
    assert answers == {"1": "dev/asker asks: number", '"1"': "dev/asker asks: text"}


@four_pairings
@both_clients
async def test_a_call_may_ask_again_and_again(log: Path, client_era: Era, server_era: Era) -> None:
    count = iter(range(100))

    async def reply(_method: str, _params: Json) -> Json:
        return {"action": "accept", "content": {"name": f"blue {next(count)}"}}

    async with opened(log, client_era, server_era) as client:
        result = await client.call_tool_answering("use_tool", use("ask", times=3), reply)
    names = [answers["q1"]["content"]["name"] for answers in json.loads(text_of(result))]
    assert names == ["blue 0", "blue 1", "blue 2"]


@both_clients
async def test_a_legacy_server_may_ask_as_often_as_it_likes(log: Path, client_era: Era) -> None:
    async def reply(_method: str, _params: Json) -> Json:
        return NAMED

    async with opened(log, client_era, "legacy") as client:
        result = await client.call_tool_answering("use_tool", use("ask", times=50), reply, max_rounds=60)
    assert json.loads(text_of(result)) == [{"q1": NAMED}] * 50


async def test_a_modern_server_that_asks_for_ever_is_cut_off_for_a_client_that_is_asked_live(log: Path) -> None:
    async def reply(_method: str, _params: Json) -> Json:
        return NAMED

    async with opened(log, "legacy", "modern") as client:
        result = await client.call_tool_answering("use_tool", use("ask", times=1000), reply)
    assert result["isError"]
    assert text_of(result).endswith("it asked for input more than 20 times")


async def test_progress_reaches_a_client_while_it_is_asked(log: Path) -> None:
    report = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 0.5}}

    async def reply(_params: Json) -> Json:
        await client.call_tool("use_tool", use("raw_line", line=json.dumps(report), then_answer=True))
        assert await client.next_notification("notifications/progress") == {"progressToken": "mine", "progress": 0.5}
        return NAMED

    async with opened(log, "legacy", "legacy") as client:
        client.on_request["elicitation/create"] = reply
        result = await client.call_tool("use_tool", use("ask"), progress_token="mine")
    assert json.loads(text_of(result)) == [{"q1": NAMED}]
    assert received_by_server(log, "tools/call")[0]["params"]["_meta"]["progressToken"] == 1


async def test_a_modern_client_is_asked_only_what_it_declared_with_that_request(log: Path) -> None:
    async with opened(log, "modern", "legacy") as client:
        client.capabilities = {"sampling": {}}
        result = await client.call_tool("use_tool", use("ask"))
    assert json.loads(text_of(result))[0]["q1"]["error"]["message"] == "The client does not support elicitation"


@four_pairings
@both_clients
async def test_a_call_may_ask_several_things_at_once(log: Path, client_era: Era, server_era: Era) -> None:
    async def reply(_method: str, _params: Json) -> Json:
        return NAMED

    async with opened(log, client_era, server_era) as client:
        result = await client.call_tool_answering("use_tool", use("ask", together=3, times=2), reply)
    assert json.loads(text_of(result)) == [{"q1": NAMED, "q2": NAMED, "q3": NAMED}] * 2


@four_pairings
@both_clients
async def test_calls_that_ask_at_the_same_time_each_get_their_own_answers(
    log: Path, client_era: Era, server_era: Era
) -> None:
    results: dict[str, Json] = {}

    async def reply(params: Json) -> Json:
        return {"action": "accept", "content": {"name": params["message"]}}

    async with opened(log, client_era, server_era) as client, anyio.create_task_group() as calls:
        client.on_request["elicitation/create"] = reply

        async def ask(message: str) -> None:
            arguments = use("ask", message=message, times=2)
            results[message] = await client.call_tool_answering("use_tool", arguments, max_rounds=20)

        for number in range(5):
            calls.start_soon(ask, f"question {number}")
    for message, result in results.items():
        answer = {"action": "accept", "content": {"name": f"dev/asker asks: {message}"}}
        assert json.loads(text_of(result)) == [{"q1": answer}, {"q1": answer}]
    assert len(results) == 5


@four_pairings
@both_clients
async def test_declined_and_cancelled_questions_are_answers_too(log: Path, client_era: Era, server_era: Era) -> None:
    actions = iter(["decline", "cancel"])

    async def reply(_method: str, _params: Json) -> Json:
        return {"action": next(actions)}

    async with opened(log, client_era, server_era) as client:
        result = await client.call_tool_answering("use_tool", use("ask", times=2), reply)
    assert json.loads(text_of(result)) == [{"q1": {"action": "decline"}}, {"q1": {"action": "cancel"}}]


# Capabilities.


@four_pairings
@both_clients
@pytest.mark.parametrize(
    "declared",
    [
        pytest.param({}, id="none"),
        pytest.param({"elicitation": {}}, id="one"),
        pytest.param({**EVERYTHING, "sampling": {"tools": {}, "x-own": [1]}}, id="all"),
    ],
)
async def test_a_server_is_told_exactly_what_the_client_declared(
    log: Path, client_era: Era, server_era: Era, declared: Json
) -> None:
    # What else a client can do concerns the workbench alone.
    capabilities: Json = {**declared, "experimental": {"x": {}}}
    async with opened(log, client_era, server_era, capabilities) as client:
        result = await client.call_tool("use_tool", use("capabilities"))
    assert json.loads(text_of(result)) == declared


@both_clients
@pytest.mark.parametrize(
    ("tool", "arguments", "capabilities", "missing"),
    [
        pytest.param("ask", {}, {"sampling": {}, "roots": {}}, "elicitation", id="elicitation"),
        pytest.param("ask", {"url": True}, {"elicitation": {}}, "elicitation in url mode", id="url-not-declared"),
        pytest.param("ask", {}, {"elicitation": {"url": {}}}, "elicitation in form mode", id="form-not-declared"),
        pytest.param("sample", {}, {"elicitation": {}}, "sampling", id="sampling"),
        pytest.param("roots", {}, {"elicitation": {}}, "roots", id="roots"),
    ],
)
async def test_a_legacy_server_hears_at_once_that_a_client_cannot_be_asked(
    log: Path, client_era: Era, tool: str, arguments: Json, capabilities: Json, missing: str
) -> None:
    async with opened(log, client_era, "legacy", capabilities) as client:
        result = await client.call_tool("use_tool", use(tool, **arguments))
        assert not [message for message in client.received if "method" in message]
    (answers,) = json.loads(text_of(result))
    assert answers["q1"]["error"]["message"] == f"The client does not support {missing}"


@pytest.mark.parametrize(
    ("tool", "arguments", "capabilities", "missing"),
    [
        pytest.param("ask", {}, {"sampling": {}}, "elicitation", id="elicitation"),
        pytest.param("ask", {"url": True}, {"elicitation": {}}, "elicitation in url mode", id="url-not-declared"),
        pytest.param("sample", {}, {"elicitation": {}}, "sampling", id="sampling"),
    ],
)
async def test_a_modern_server_that_asks_all_the_same_fails_its_call_and_the_client_is_not_asked(
    log: Path, tool: str, arguments: Json, capabilities: Json, missing: str
) -> None:
    async with opened(log, "legacy", "modern", capabilities) as client:
        result = await client.call_tool("use_tool", use(tool, **arguments))
        assert not [message for message in client.received if "method" in message]
    assert result["isError"] is True
    assert text_of(result).endswith(f"it asked for {missing}, which the client does not support")


@pytest.mark.parametrize(
    ("questions", "reason"),
    [
        ([7], "its questions are not an object"),
        ({"q": 7}, "without a method"),
        ({"q": {"params": {}}}, "without a method"),
        ({"q": {"method": "elicitation/create", "params": "x"}}, "params that are not an object"),
        ({"q": {"method": "tools/call", "params": {}}}, "it asked for tools/call"),
    ],
    ids=json.dumps,
)
async def test_questions_that_are_none_fail_the_call_of_the_modern_server_that_asked_them(
    log: Path, questions: Any, reason: str
) -> None:
    async with opened(log, "legacy", "modern") as client:
        asking = {"resultType": "input_required", "inputRequests": questions}
        result = await client.call_tool("use_tool", use("raw", result=asking))
        assert not [message for message in client.received if "method" in message]
    assert text_of(result).startswith("Error executing tool 'raw' in server 'asker' (toolbox 'dev'): ")
    assert reason in text_of(result)


@both_clients
async def test_a_modern_server_refuses_what_its_client_cannot_answer(log: Path, client_era: Era) -> None:
    async with opened(log, client_era, "modern", {}) as client:
        result = await client.call_tool("use_tool", use("ask", polite=True))
    assert result["isError"] is True
    assert "The client cannot do elicitation" in text_of(result)


# A modern client and a legacy server: the call waits while the client thinks.


async def test_a_resumed_call_is_not_sent_again(log: Path) -> None:
    async with opened(log, "modern", "legacy") as client:
        client.on_request["elicitation/create"] = _named
        arguments = use("ask", times=3)
        result = await client.call_tool_answering("use_tool", arguments)
    assert len(json.loads(text_of(result))) == 3
    assert len(received_by_server(log, "tools/call")) == 1
    assert not received_by_server(log, "notifications/cancelled")


async def test_questions_left_unanswered_are_asked_again(log: Path) -> None:
    async with opened(log, "modern", "legacy") as client:
        client.on_request["elicitation/create"] = _named
        pause = await paused(client, together=2)
        while len(pause["inputRequests"]) < 2:  # the server's second question may arrive after the first was passed on
            pause = await retry(client, pause, use("ask", together=2), inputResponses={})
        first, second = pause["inputRequests"]
        again = await retry(client, pause, use("ask", together=2), inputResponses={first: NAMED})
        assert list(again["inputRequests"]) == [second]
        result = await retry(client, again, use("ask", together=2))
    assert json.loads(text_of(result)) == [{"q1": NAMED, "q2": NAMED}]


async def test_a_call_that_nobody_resumes_is_given_up_and_its_server_hears_a_cancelled_answer(log: Path) -> None:
    config = StdioServer.model_validate(scripted(log=str(log)))
    caller = Caller(declared={"elicitation": {}})
    async with anyio.create_task_group() as tasks:
        connection = lone_connection("dev", "asker", config, tasks, patience=0.05)
        with anyio.fail_after(20):
            pause = await connection.call("ask", {}, caller)
            assert pause["resultType"] == "input_required"
            await logged(log, event="cancelled")
            with pytest.raises(MCPError, match="no longer open"):
                await connection.call("ask", {}, Caller(state=pause["requestState"], answers={}))
            await connection.stop()
        tasks.cancel_scope.cancel()
    assert answered_to_server(log) == [{"action": "cancel"}]
    await assert_gone(read_log(log, event="start")[0]["pid"])


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("ask", {"action": "cancel"}),
        ("sample", {"code": -32600, "message": "The client did not answer"}),
    ],
)
async def test_shutdown_gives_up_a_call_that_waits_for_its_client(log: Path, tool: str, answer: Json) -> None:
    async with opened(log, "modern", "legacy") as client:
        await paused(client, tool)
    assert answered_to_server(log) == [answer]
    assert len(received_by_server(log, "notifications/cancelled")) == 1


async def test_a_server_that_dies_while_its_call_waits_fails_the_retry_and_lives_again(log: Path) -> None:
    async with opened(log, "modern", "legacy") as client:
        client.on_request["elicitation/create"] = _named
        pause = await paused(client)
        await _kill(log)
        result = await retry(client, pause, use("ask"))
        assert result["isError"] is True
        assert text_of(result).startswith("Error executing tool 'ask' in server 'asker' (toolbox 'dev'): ")
        assert len(received_by_server(log, "tools/call")) == 1
        again = await client.call_tool_answering("use_tool", use("ask"))
    assert json.loads(text_of(again)) == [{"q1": NAMED}]


@pytest.mark.parametrize(
    "answer", [pytest.param("blue", id="text"), {"action": "maybe"}, {"content": {"name": "blue"}}], ids=json.dumps
)
async def test_an_answer_that_is_none_is_refused_and_the_question_stays_open(log: Path, answer: Any) -> None:
    async with opened(log, "modern", "legacy") as client:
        client.on_request["elicitation/create"] = _named
        pause = await paused(client)
        (key,) = pause["inputRequests"]
        with pytest.raises(RpcError, match=r"-32602"):
            await retry(client, pause, use("ask"), inputResponses={key: answer})
        assert answered_to_server(log) == []
        result = await retry(client, pause, use("ask"))
    assert json.loads(text_of(result)) == [{"q1": NAMED}]


# State that a client echoes.


@four_pairings
@pytest.mark.parametrize("change", ["forged", "altered", "empty", "not text", "of another call"])
async def test_a_state_that_is_not_ours_is_an_error_and_touches_no_call(
    log: Path, server_era: Era, change: str
) -> None:
    async with opened(log, "modern", server_era) as client:
        client.on_request["elicitation/create"] = _named
        pause = await paused(client)
        other = await paused(client, message="Another?")
        state: str = pause["requestState"]
        middle = len(state) // 2
        wrong = {
            "forged": '{"call":"1"}',
            "altered": state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :],
            "empty": "",
            "not text": 7,
            "of another call": other["requestState"],
        }[change]
        before = len(read_log(log))
        with pytest.raises(RpcError, match=r"-32602"):
            await retry(client, pause, use("ask"), requestState=wrong)
        assert len(read_log(log)) == before
        result = await retry(client, pause, use("ask"))
        await retry(client, other, use("ask", message="Another?"))
    assert json.loads(text_of(result)) == [{"q1": NAMED}]


@four_pairings
async def test_a_state_from_before_a_restart_is_an_error(log: Path, server_era: Era) -> None:
    async with opened(log, "modern", server_era) as client:
        pause = await paused(client)
    async with opened(log, "modern", server_era) as client:
        client.on_request["elicitation/create"] = _named
        with pytest.raises(RpcError, match=r"-32602"):
            await retry(client, pause, use("ask"))
    assert len(received_by_server(log, "tools/call")) == 1


async def test_a_repeated_state_is_an_error_and_touches_no_call(log: Path) -> None:
    async with opened(log, "modern", "legacy") as client:
        client.on_request["elicitation/create"] = _named
        arguments = use("ask", times=2)
        first = await paused(client, times=2)
        second = await retry(client, first, arguments)
        with pytest.raises(RpcError, match="no longer open"):
            await retry(client, first, arguments)
        result = await retry(client, second, arguments)
        with pytest.raises(RpcError, match="no longer open"):
            await retry(client, second, arguments)
    assert json.loads(text_of(result)) == [{"q1": NAMED}, {"q1": NAMED}]
    assert len(received_by_server(log, "tools/call")) == 1


async def test_a_modern_servers_question_that_nobody_answers_holds_nothing(log: Path) -> None:
    async with opened(log, "modern", "modern") as client:
        await paused(client)
        assert text_of(await client.call_tool("use_tool", use("echo"))) == "{}"
    assert len(received_by_server(log, "tools/call")) == 2
    assert not received_by_server(log, "notifications/cancelled")


async def test_a_modern_server_judges_its_own_repeated_state(log: Path) -> None:
    async with opened(log, "modern", "modern") as client:
        client.on_request["elicitation/create"] = _named
        pause = await paused(client)
        results = [await retry(client, pause, use("ask")) for _ in range(2)]
    assert [json.loads(text_of(result)) for result in results] == [[{"q1": NAMED}]] * 2


async def test_a_modern_server_finds_its_own_state_in_the_retry_even_after_a_restart(log: Path) -> None:
    async with opened(log, "modern", "modern") as client:
        client.on_request["elicitation/create"] = _named
        pause = await paused(client)
        await _kill(log)
        result = await retry(client, pause, use("ask"))
    assert json.loads(text_of(result)) == [{"q1": NAMED}]
    sent: list[Json] = [event["message"].get("result") or {} for event in read_log(log, event="sent")]
    (state,) = [result["requestState"] for result in sent if "requestState" in result]
    assert received_by_server(log, "tools/call")[-1]["params"]["requestState"] == state
    assert pause["requestState"] != state


# A legacy client, asked while its call is open.


async def test_a_refusal_by_the_client_reaches_a_legacy_server_as_it_was(log: Path) -> None:
    async def refuse(_method: str, _params: Json) -> Json:
        raise RpcError(-1, "User rejected the request", {"why": "no"})

    async with opened(log, "legacy", "legacy") as client:
        result = await client.call_tool_answering("use_tool", use("sample"), refuse)
    error = {"code": -1, "message": "User rejected the request", "data": {"why": "no"}}
    assert json.loads(text_of(result)) == [{"q1": {"error": error}}]


async def test_a_refusal_by_the_client_ends_the_call_of_a_modern_server(log: Path) -> None:
    async def refuse(_method: str, _params: Json) -> Json:
        raise RpcError(-1, "User rejected the request")

    async with opened(log, "legacy", "modern") as client:
        result = await client.call_tool_answering("use_tool", use("sample"), refuse)
    assert result["isError"] is True
    assert "User rejected the request" in text_of(result)


@pytest.mark.parametrize("server_era", ERAS)
async def test_an_answer_that_is_no_object_is_a_refusal_not_a_wait(log: Path, server_era: Era) -> None:
    async with opened(log, "legacy", server_era) as client:

        async def reply(_params: Json) -> Any:
            return ["blue"]

        client.on_request["elicitation/create"] = reply
        result = await client.call_tool("use_tool", use("ask"))
        assert not client.strays
    assert "not a valid answer to elicitation/create" in text_of(result)


@pytest.mark.parametrize("server_era", ERAS)
async def test_a_client_that_never_answers_can_still_cancel_its_call(log: Path, server_era: Era) -> None:
    asked = anyio.Event()

    async def never(_params: Json) -> Json:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with opened(log, "legacy", server_era) as client:
        client.on_request["elicitation/create"] = never
        handle = await client.start_call("use_tool", use("ask"))
        with anyio.fail_after(20):
            await asked.wait()
        await handle.cancel()
        if server_era == "legacy":
            await logged(log, event="cancelled", tool="ask")
            assert answered_to_server(log) == [{"action": "cancel"}]
        assert text_of(await client.call_tool("use_tool", use("echo"))) == "{}"


@pytest.mark.parametrize("server_era", ERAS)
async def test_a_client_that_leaves_while_it_is_asked_gives_its_call_up(log: Path, server_era: Era) -> None:
    async def never(_params: Json) -> Json:
        await client.close_stdin()
        await anyio.sleep_forever()
        raise AssertionError

    async with opened(log, "legacy", server_era) as client:
        client.on_request["elicitation/create"] = never
        await client.start_call("use_tool", use("ask"))
        assert await client.wait_exit() == 0
    # A modern server is owed nothing between two rounds.
    assert answered_to_server(log) == ([{"action": "cancel"}] if server_era == "legacy" else [])
    assert len(received_by_server(log, "tools/call")) == 1


async def test_a_server_that_dies_while_its_question_is_open_fails_the_call_at_once(log: Path) -> None:
    async with opened(log, "legacy", "legacy") as client:

        async def never(_params: Json) -> Json:
            await _kill(log)
            await anyio.sleep_forever()
            raise AssertionError

        client.on_request["elicitation/create"] = never
        result = await client.call_tool("use_tool", use("ask"))
        assert result["isError"] is True
        assert text_of(result).startswith("Error executing tool 'ask' in server 'asker' (toolbox 'dev'): ")
        assert text_of(await client.call_tool("use_tool", use("echo"))) == "{}"


async def test_a_modern_server_that_dies_while_the_client_is_asked_for_it_fails_the_call_and_lives_again(
    log: Path,
) -> None:
    async def late(_params: Json) -> Json:
        await _kill(log)
        return NAMED

    async with opened(log, "legacy", "modern") as client:
        client.on_request["elicitation/create"] = late
        result = await client.call_tool("use_tool", use("ask"))
        assert result["isError"] is True
        assert text_of(result).startswith("Error executing tool 'ask' in server 'asker' (toolbox 'dev'): ")
        assert len(received_by_server(log, "tools/call")) == 1
        assert text_of(await client.call_tool("use_tool", use("echo"))) == "{}"


# Nobody to ask.


@both_clients
async def test_a_question_with_no_call_under_way_is_refused_at_once(log: Path, tmp_path: Path, client_era: Era) -> None:
    now = tmp_path / "now"
    async with opened(log, client_era, "legacy") as client:
        await client.call_tool("use_tool", use("ask_later", file=str(now)))
        now.touch()
        (event,) = await logged(log, event="answer")
        assert not [message for message in client.received if "method" in message]
    message = "No tool call is under way, so nobody can be asked"
    assert event["answer"] == {"error": {"code": -32600, "message": message}}


async def _named(_params: Json) -> Json:
    return NAMED


async def _kill(log: Path) -> None:
    pid = read_log(log, event="start")[-1]["pid"]
    os.kill(pid, signal.SIGKILL)
    with anyio.fail_after(20):
        await eventually(lambda: not os.path.exists(f"/proc/{pid}"))
