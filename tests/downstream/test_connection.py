"""The life of a downstream server as its users see it: death and return, pauses, timeouts, idleness, bad behaviour."""

import json
import os
import re
import signal
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_workbench.config.loading import load_config
from mcp_workbench.downstream.backoff import pause_after
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.downstream.connection import State
from mcp_workbench.errors import CallFailed
from mcp_workbench.toolboxes.manager import ClientManager, ToolReference
from serving import names, opened, refusal, serving, used, using
from wire import (
    PATIENCE,
    Era,
    Json,
    WireClient,
    assert_gone,
    eventually,
    logged,
    read_log,
    scripted,
    text_of,
    write_config,
)

pytestmark = pytest.mark.anyio

both_servers = pytest.mark.parametrize("server_era", ["legacy", "modern"])
BEGINS = "Error executing tool '{}' in server 'one' (toolbox 'dev'): "
FAILED = "Failed to connect to server 'one' in toolbox 'dev': "
LIST_CHANGED = '{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "one.jsonl"


@asynccontextmanager
async def dev(log: Path, server: Json, *more: str, **spawning: Any) -> AsyncGenerator[WireClient]:
    """A workbench whose toolbox `dev` is open and has the server `one`; afterwards nothing of it is left."""
    async with serving(log.parent, {"dev": {"one": server}}, options=more, **spawning) as client:
        await opened(client, "dev")
        yield client
    await assert_all_gone(log)


async def assert_all_gone(log: Path) -> None:
    for event in read_log(log):
        if event["event"] in ("start", "grandchild"):
            await assert_gone(event["pid"])


def starts(log: Path) -> int:
    return len(read_log(log, event="start"))


def received(log: Path, method: str) -> list[Json]:
    return [event["message"] for event in read_log(log, event="received") if event["message"].get("method") == method]


async def in_log_of(client: WireClient, words: str) -> None:
    """Wait until the workbench has logged these words."""
    with anyio.fail_after(20):
        await eventually(lambda: words in client.stderr)


# Death and return.


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no signals")
@both_servers
async def test_a_killed_server_fails_its_calls_with_the_signal_and_returns_with_the_next_use(
    log: Path, server_era: Era
) -> None:
    async with dev(log, scripted(era=server_era, log=str(log))) as client:
        await used(client, "dev", "one", "stderr", {"text": "the last words\n"})
        waiting = [await client.start_call("use_tool", using("dev", "one", "hang")) for _ in range(3)]
        await logged(log, event="executed", count=3, tool="hang")
        os.kill(read_log(log, event="start")[0]["pid"], signal.SIGKILL)
        for handle in waiting:
            sentence = refusal(await handle.wait())
            assert sentence.startswith(BEGINS.format("hang") + "was killed by SIGKILL")
            assert sentence.endswith('["the last words"]')
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert starts(log) == 2
    assert len(received(log, "tools/list")) == 2
    assert len(read_log(log, event="executed", tool="hang")) == 3


@both_servers
async def test_a_server_that_returns_has_the_tools_of_its_new_life(log: Path, server_era: Era) -> None:
    async with dev(log, scripted(era=server_era, log=str(log))) as client:
        await used(client, "dev", "one", "change_tools", {"name": "fresh"})
        assert "fresh" in names(await opened(client, "dev"))
        refusal(await used(client, "dev", "one", "crash"))
        sentence = refusal(await used(client, "dev", "one", "fresh"))
        assert sentence.startswith("Tool 'fresh' not found in server 'one' (toolbox 'dev')")
        assert "fresh" not in names(await opened(client, "dev"))


async def test_a_dead_server_stays_dead_while_nobody_asks_for_it(log: Path, tmp_path: Path) -> None:
    servers = {"one": scripted(log=str(log)), "two": scripted()}
    async with serving(tmp_path, {"dev": servers}) as client:
        await opened(client, "dev")
        refusal(await used(client, "dev", "one", "crash"))
        await in_log_of(client, "dev/one: lost")
        for _ in range(100):
            await used(client, "dev", "two", "echo")
        assert starts(log) == 1
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert starts(log) == 2


async def test_a_server_that_closes_its_stdout_is_lost_though_it_lives(log: Path) -> None:
    async with dev(log, scripted(log=str(log), close_stdout_on=["tools/call"])) as client:
        sentence = refusal(await used(client, "dev", "one", "hang"))
        assert sentence.startswith(BEGINS.format("hang") + "closed its stdout")
        await assert_gone(read_log(log, event="start")[0]["pid"])
        assert (await opened(client, "dev"))["servers_connected"] == 1
    assert starts(log) == 2


async def test_blank_lines_do_not_push_the_reason_out_of_a_servers_last_words(log: Path) -> None:
    async with dev(log, scripted(log=str(log))) as client:
        sentence = refusal(await used(client, "dev", "one", "crash", {"stderr": "the reason\n" + "\n" * 20}))
    assert sentence.endswith('exited with status 1; the last lines of its stderr: ["the reason"]')


async def test_a_child_that_holds_the_pipes_of_a_dead_server_delays_nothing(log: Path) -> None:
    async with dev(log, scripted(log=str(log), grandchild="inherits")) as client:
        sentence = refusal(await used(client, "dev", "one", "crash", {"status": 4, "stderr": "no memory\n"}))
        assert sentence.startswith(BEGINS.format("crash") + "exited with status 4")
        assert sentence.endswith('["no memory"]')
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        await assert_gone(read_log(log, event="grandchild")[0]["pid"])


# Pauses.

PAUSING = re.compile(r"it failed (\d+) times in a row, and the next try is due in (\d+) s; the last time: ")


def is_left_alone(sentence: str) -> bool:
    """Whether the sentence announces a pause, one that its number of failures allows."""
    if (found := PAUSING.search(sentence)) is None:
        return False
    failures, seconds = int(found[1]), int(found[2])
    assert failures >= 2
    assert 1 <= seconds <= pause_after(failures)
    return True


def test_pauses_grow_from_nothing_to_a_minute() -> None:
    assert [pause_after(failures) for failures in range(1, 11)] == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert pause_after(10_000) == 60


async def test_a_server_that_cannot_start_is_left_alone_for_a_while_and_recovers_by_itself(
    log: Path, tmp_path: Path
) -> None:
    obstacle = tmp_path / "obstacle"
    obstacle.touch()
    servers = {"one": scripted(log=str(log), fail_file=str(obstacle), stderr_at_start="no database\n")}
    async with serving(tmp_path, {"dev": servers}) as client:
        cause = 'exited with status 1 before it was ready; the last lines of its stderr: ["no database"]'
        for _ in range(2):
            assert refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"})) == FAILED + cause
        said, tried = cause, starts(log)
        while not is_left_alone(said):  # on a busy machine a short pause may be over when we come
            tried = starts(log)
            said = refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
            assert said.startswith(FAILED)
            assert said.endswith(cause)
        assert starts(log) == tried
        obstacle.unlink()
        with anyio.fail_after(20):
            while (await client.call_tool("open_toolbox", {"toolbox_name": "dev"})).get("isError"):
                pass
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert starts(log) == tried + 1
    await assert_all_gone(log)


@both_servers
async def test_a_server_that_dies_of_every_call_is_left_alone_for_a_while(log: Path, server_era: Era) -> None:
    async with dev(log, scripted(era=server_era, log=str(log))) as client:
        said, calls = "", 0
        while not is_left_alone(said):  # on a busy machine a short pause may be over when we come
            assert said.startswith(BEGINS.format("crash") if said else "")
            said, calls = refusal(await used(client, "dev", "one", "crash")), calls + 1
        assert calls > 2
        assert said.startswith(FAILED + "it failed ")
        assert said.endswith("; the last time: exited with status 1")
    assert len(read_log(log, event="executed", tool="crash")) == calls - 1


async def test_a_server_that_works_between_its_deaths_is_not_made_to_wait(log: Path) -> None:
    async with dev(log, scripted(log=str(log))) as client:
        for _ in range(4):
            refusal(await used(client, "dev", "one", "crash"))
            assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert starts(log) == 5


# Timeouts.


@both_servers
@pytest.mark.parametrize("method", ["server/discover", "initialize", "tools/list"])
async def test_a_server_that_does_not_answer_is_given_up_after_its_connect_timeout(
    log: Path, server_era: Era, method: str
) -> None:
    greeting = ["server/discover", "initialize"]
    hang_on = greeting if method in greeting else [method]
    server = scripted(era=server_era, log=str(log), hang_on=hang_on, stderr_at_start="loading...\n")
    async with serving(log.parent, {"dev": {"one": server | {"connectTimeout": 1.5}}}) as client:
        sentence = refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
    awaited = "tools/list" if method == "tools/list" else "initialize"
    assert sentence.startswith(f"{FAILED}no answer to {awaited} within 1.5 s")
    assert sentence.endswith('["loading..."]')
    await assert_all_gone(log)


@both_servers
async def test_a_call_that_takes_too_long_fails_and_its_server_is_told(log: Path, server_era: Era) -> None:
    async with dev(log, scripted(era=server_era, log=str(log)) | {"callTimeout": 0.4}) as client:
        sentence = refusal(await used(client, "dev", "one", "slow", {"token": "late"}))
        assert sentence == BEGINS.format("slow") + "no answer within 0.4 s (callTimeout)"
        cancelled, *_ = await logged(log, event="cancelled")
        with anyio.fail_after(PATIENCE):  # the timeout is for every call, and a busy machine may take that long for one
            while (result := await used(client, "dev", "one", "echo")).get("isError"):
                assert refusal(result) == BEGINS.format("echo") + "no answer within 0.4 s (callTimeout)"
        assert text_of(result) == "{}"
    (executed,) = read_log(log, event="executed", token="late")
    assert (cancelled["requestId"], cancelled["tool"]) == (executed["id"], "slow")
    assert received(log, "notifications/cancelled")[0]["params"]["reason"] == "timed out after 0.4 s"
    assert starts(log) == 1


@both_servers
async def test_progress_restarts_the_clock_of_a_call(log: Path, server_era: Era) -> None:
    async with dev(log, scripted(era=server_era, log=str(log)) | {"callTimeout": 1.5}) as client:
        assert text_of(await used(client, "dev", "one", "progress", {"n": 17, "interval": 0.1})) == "done"


async def test_each_server_has_its_own_timeout(log: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    servers = {"one": scripted() | {"callTimeout": 0.3}, "patient": scripted()}
    async with serving(tmp_path, {"dev": servers}) as client:
        await opened(client, "dev")
        waiting = await client.start_call("use_tool", using("dev", "patient", "slow", {"file": str(gate)}))
        assert "callTimeout" in refusal(await used(client, "dev", "one", "slow"))
        assert not waiting.done
        gate.touch()
        assert text_of(await waiting.wait()) == "waited"


# Idleness.


@both_servers
async def test_an_unused_server_is_stopped_and_comes_back_with_the_next_call(log: Path, server_era: Era) -> None:
    async with dev(log, scripted(era=server_era, log=str(log)) | {"idleTimeout": 0.3}) as client:
        before = await opened(client, "dev")
        await in_log_of(client, "dev/one: stopped after 0.3 s without use")
        await assert_all_gone(log)
        known = starts(log)
        assert await opened(client, "dev") == before
        assert starts(log) == known
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert starts(log) == known + 1


async def test_no_server_is_stopped_in_the_middle_of_a_call(log: Path, tmp_path: Path) -> None:
    gate, other = tmp_path / "gate", tmp_path / "other.jsonl"
    servers = {"one": scripted(log=str(log)), "two": scripted(log=str(other))}
    async with serving(
        tmp_path, {"dev": {name: server | {"idleTimeout": 0.3} for name, server in servers.items()}}
    ) as client:
        await opened(client, "dev")
        waiting = await client.start_call("use_tool", using("dev", "one", "slow", {"file": str(gate)}))
        await logged(log, event="executed", tool="slow")
        lives = starts(log)
        await used(client, "dev", "two", "echo")
        await stopped(other)  # two was used later, and has been unused for long enough
        gate.touch()
        assert text_of(await waiting.wait()) == "waited"
        assert starts(log) == lives


async def stopped(log: Path) -> None:
    """Wait until every life of a server has ended."""
    with anyio.fail_after(PATIENCE):
        await eventually(lambda: len(read_log(log, event="exit")) == starts(log))


@pytest.mark.parametrize("client_era", ["legacy", "modern"])
@both_servers
async def test_no_server_is_stopped_in_the_middle_of_a_question(
    log: Path, tmp_path: Path, server_era: Era, client_era: Era
) -> None:
    other = tmp_path / "other.jsonl"
    servers = {"one": scripted(era=server_era, log=str(log)), "two": scripted(log=str(other))}
    idle = {name: server | {"idleTimeout": 0.4} for name, server in servers.items()}
    lives: list[int] = []

    async def answer(_method: str, _params: Json) -> Json:
        lives.append(starts(log))
        await client.start_call("use_tool", using("dev", "two", "echo"))
        await logged(other, event="executed")
        await stopped(other)  # two was used later, and has been unused for long enough
        assert len(read_log(log, event="exit")) == lives[0] - 1
        return {"action": "accept", "content": {"name": "blue"}}

    async with serving(tmp_path, {"dev": idle}, client_era, capabilities={"elicitation": {}}) as client:
        await opened(client, "dev")
        result = await client.call_tool_answering("use_tool", using("dev", "one", "ask"), answer)
        assert "blue" in text_of(result)
        assert [starts(log)] == lives


@both_servers
async def test_a_server_whose_question_was_answered_is_stopped_like_any_other(log: Path, server_era: Era) -> None:
    async def answer(_method: str, _params: Json) -> Json:
        return {"action": "accept", "content": {"name": "blue"}}

    server = scripted(era=server_era, log=str(log)) | {"idleTimeout": 0.3}
    async with serving(log.parent, {"dev": {"one": server}}, "modern", capabilities={"elicitation": {}}) as client:
        await opened(client, "dev")
        await client.call_tool_answering("use_tool", using("dev", "one", "ask"), answer)
        await in_log_of(client, "dev/one: stopped after 0.3 s without use")
    await assert_all_gone(log)


# What a server says of itself and asks, in shapes that nobody expects.


@both_servers
@pytest.mark.parametrize("offer", [True, {"listChanged": "yes"}, [], ""])
async def test_an_odd_offer_of_tools_is_an_offer(log: Path, server_era: Era, offer: Any) -> None:
    said: Json = {
        "protocolVersion": "2025-11-25",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": offer},
    }
    method = "initialize" if server_era == "legacy" else "server/discover"
    async with dev(log, scripted(era=server_era, log=str(log), result_on={method: said})) as client:
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        assert "echo" in names(await opened(client, "dev"))
    assert starts(log) == 1


@pytest.mark.parametrize("mode", [["form"], {"form": {}}, 5, None])
async def test_a_question_in_an_odd_mode_is_refused_and_the_connection_lives(log: Path, mode: Any) -> None:
    question = {"jsonrpc": "2.0", "id": "odd", "method": "elicitation/create", "params": {"mode": mode}}
    can: Json = {"elicitation": {"form": {}, "url": {}}}
    async with dev(log, scripted(log=str(log)), capabilities=can) as client:
        line = {"line": json.dumps(question), "then_answer": True}
        assert text_of(await used(client, "dev", "one", "raw_line", line)) == "answered"
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    answers = [event["message"] for event in read_log(log, event="received") if event["message"].get("id") == "odd"]
    assert [answer["error"]["code"] for answer in answers] == [-32600]
    assert starts(log) == 1


# Tools that change.


@both_servers
async def test_a_tool_that_a_server_adds_can_be_used_and_one_that_it_removes_cannot(log: Path, server_era: Era) -> None:
    async with dev(log, scripted(era=server_era, log=str(log))) as client:
        before = names(await opened(client, "dev"))
        if server_era == "modern":
            await until_subscribed(log)
        await used(client, "dev", "one", "change_tools", {"name": "fresh"})
        assert text_of(await used(client, "dev", "one", "fresh", {"a": 1})) == '{"a": 1}'
        await used(client, "dev", "one", "change_tools", {"name": "add", "remove": True})
        assert refusal(await used(client, "dev", "one", "add")).startswith("Tool 'add' not found in server 'one'")
        after = names(await opened(client, "dev"))
    assert after == [*(name for name in before if name != "add"), "fresh"]
    assert starts(log) == 1


async def until_subscribed(log: Path) -> None:
    with anyio.fail_after(20):
        await eventually(lambda: bool(received(log, "subscriptions/listen")))


async def test_a_flood_of_announcements_is_read_a_few_times_and_holds_nobody_up(log: Path) -> None:
    flood = "\n".join([LIST_CHANGED] * 5000)
    async with dev(log, scripted(log=str(log))) as client:
        answered = await used(client, "dev", "one", "raw_line", {"line": flood, "then_answer": True})
        assert text_of(answered) == "answered"
        for _ in range(20):
            assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        assert (await opened(client, "dev"))["servers_connected"] == 1
    assert len(received(log, "tools/list")) < 50


@both_servers
async def test_a_server_that_announces_changes_all_the_time_is_read_now_and_then(log: Path, server_era: Era) -> None:
    chatty = ["tools/list", "tools/call"]
    async with dev(log, scripted(era=server_era, log=str(log), announce_on=chatty)) as client:
        for _ in range(200):
            assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        assert (await opened(client, "dev"))["servers_connected"] == 1
    assert 1 < len(received(log, "tools/list")) < 100


@both_servers
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"endless_pages": True}, "its tool list has not ended after 500 pages"),
        ({"repeat_cursor": True}, "its tool list repeats the page 'page-0' for ever"),
        ({"result_on": {"tools/list": {"tools": "many"}}}, "its tool list is not a list"),
        ({"error_on": {"tools/list": {"code": -32000, "message": "no licence"}}}, "no licence"),
    ],
    ids=["endless", "circular", "absurd", "refused"],
)
async def test_a_tool_list_that_makes_no_sense_is_an_error_that_says_so(
    log: Path, server_era: Era, options: Json, reason: str
) -> None:
    server = scripted(era=server_era, log=str(log), **options)
    async with serving(log.parent, {"dev": {"one": server}}) as client:
        sentence = refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
    assert sentence == f"{FAILED}it refused tools/list: {reason}"
    await assert_all_gone(log)


# Responses that cannot be used.


@both_servers
async def test_a_response_under_an_unknown_id_is_dropped_and_noted_and_ends_no_call(log: Path, server_era: Era) -> None:
    gate = log.parent / "gate"
    async with dev(log, scripted(era=server_era, log=str(log)), "--log-level", "debug") as client:
        waiting = await client.start_call("use_tool", using("dev", "one", "slow", {"file": str(gate)}))
        await logged(log, event="executed", tool="slow")
        misanswered = await client.start_call("use_tool", using("dev", "one", "wrong_id"))
        await in_log_of(client, "dropped its response to a request that was never sent")
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        gate.touch()
        assert text_of(await waiting.wait()) == "waited"
        assert not misanswered.done
        await misanswered.cancel()
        await logged(log, event="cancelled")
    assert starts(log) == 1


@both_servers
async def test_a_late_error_without_an_id_fails_no_other_call(log: Path, server_era: Era) -> None:
    gate, late = log.parent / "gate", '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "Late"}}'
    async with dev(log, scripted(era=server_era, log=str(log))) as client:
        unwanted = await client.start_call("use_tool", using("dev", "one", "hang"))
        await logged(log, event="executed", tool="hang")
        await unwanted.cancel()
        await logged(log, event="cancelled")
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        waiting = await client.start_call("use_tool", using("dev", "one", "slow", {"file": str(gate)}))
        await logged(log, event="executed", tool="slow")
        answered = await used(client, "dev", "one", "raw_line", {"line": late, "then_answer": True})
        assert text_of(answered) == "answered"
        gate.touch()
        assert text_of(await waiting.wait()) == "waited"


@pytest.mark.parametrize("answered_under", [None, 0, ""])
@both_servers
async def test_errors_that_a_server_sends_about_notifications_fail_no_call(
    log: Path, server_era: Era, answered_under: Any
) -> None:
    gate = log.parent / "gate"
    async with dev(log, scripted(era=server_era, log=str(log), answer_notifications=answered_under)) as client:
        waiting = await client.start_call("use_tool", using("dev", "one", "slow", {"file": str(gate)}))
        unwanted = await client.start_call("use_tool", using("dev", "one", "slow"))
        await logged(log, event="executed", count=2, tool="slow")
        await unwanted.cancel()
        await logged(log, event="cancelled")
        gate.touch()
        assert text_of(await waiting.wait()) == "waited"
    assert starts(log) == 1


@pytest.mark.parametrize("code", ["E_FULL", -32000.0])
async def test_an_error_with_an_odd_code_keeps_its_message(log: Path, code: Any) -> None:
    async with dev(log, scripted(log=str(log))) as client:
        sentence = refusal(await used(client, "dev", "one", "error", {"code": code, "message": "the disk is full"}))
    assert sentence == BEGINS.format("error") + f"the disk is full (code {code})"


@both_servers
async def test_second_answers_are_dropped_however_many_calls_are_under_way(log: Path, server_era: Era) -> None:
    async with dev(log, scripted(era=server_era, log=str(log))) as client:
        tools = ["double", "echo"] * 10
        handles = [await client.start_call("use_tool", using("dev", "one", tool)) for tool in tools]
        said = [text_of(await handle.wait()) for handle in handles]
    assert said == ["first", "{}"] * 10


# Connecting.


@both_servers
@pytest.mark.parametrize("method", ["initialize", "server/discover", "tools/list"])
async def test_a_server_that_dies_while_it_connects_says_how(log: Path, server_era: Era, method: str) -> None:
    fatal = {"tools/list": 7} if method == "tools/list" else {"initialize": 7, "server/discover": 7}
    server = scripted(era=server_era, log=str(log), exit_on=fatal, stderr_at_start="cannot go on\n")
    async with serving(log.parent, {"dev": {"one": server}}) as client:
        sentence = refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
    reason = 'exited with status 7 before it was ready; the last lines of its stderr: ["cannot go on"]'
    assert sentence == FAILED + reason
    await assert_all_gone(log)


async def test_what_was_learned_about_an_older_server_is_remembered(log: Path) -> None:
    async with dev(log, scripted(era="legacy-exits", log=str(log))) as client:
        assert starts(log) == 2
        refusal(await used(client, "dev", "one", "crash"))
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert starts(log) == 3


async def test_a_modern_server_is_greeted_in_its_own_era_in_every_life(log: Path) -> None:
    async with dev(log, scripted(era="modern", log=str(log))) as client:
        refusal(await used(client, "dev", "one", "crash"))
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert len(received(log, "server/discover")) == 2
    assert not received(log, "initialize")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX file modes and messages")
async def test_programs_that_cannot_be_run_say_why_and_keep_no_other_server_from_connecting(tmp_path: Path) -> None:
    plain, script, folder = tmp_path / "plain", tmp_path / "script", tmp_path / "folder"
    plain.write_text("no program")
    script.write_text("#!/nowhere/interpreter\n")
    script.chmod(stat.S_IRWXU)
    folder.mkdir()
    servers: Json = {
        "unknown": {"command": "no-such-program-anywhere"},
        "absent": {"command": str(tmp_path / "absent")},
        "plain": {"command": str(plain)},
        "folder": {"command": str(folder)},
        "script": {"command": str(script)},
        "lost": scripted() | {"cwd": str(tmp_path / "absent")},
        "misplaced": scripted() | {"cwd": str(plain)},
        "good": scripted(),
    }
    async with serving(tmp_path, {"dev": servers}) as client:
        listing = await opened(client, "dev")
    reasons = [error.split(" in toolbox 'dev': ")[1] for error in listing["_errors"]]
    assert listing["servers_connected"] == 1
    assert reasons[0].startswith("command not found: 'no-such-program-anywhere' (install it, or give its full path; ")
    assert os.environ["PATH"] in reasons[0]
    assert reasons[1:] == [
        f"command not found: '{tmp_path / 'absent'}' (check the path)",
        f"not allowed to run '{plain}' (is it an executable file?)",
        f"not allowed to run '{folder}' (is it an executable file?)",
        f"cannot run '{script}': the interpreter that its first line names was not found",
        f"working directory not found: '{tmp_path / 'absent'}'",
        f"working directory not found: '{plain}'",
    ]


# Much, and too much.


@both_servers
async def test_long_lines_pass_in_both_directions(log: Path, server_era: Era) -> None:
    text = "päge " * 1_000_000
    async with dev(log, scripted(era=server_era)) as client:
        assert json.loads(text_of(await used(client, "dev", "one", "echo", {"text": text}))) == {"text": text}
        assert len(text_of(await used(client, "dev", "one", "big", {"n": 20_000_000}))) == 20_000_000


async def test_a_server_that_reads_no_more_costs_only_its_own_calls(log: Path, tmp_path: Path) -> None:
    servers = {"one": scripted(log=str(log), deaf_on=["tools/call"]), "two": scripted()}
    async with serving(tmp_path, {"dev": servers}) as client:
        await opened(client, "dev")
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        unread = [
            await client.start_call("use_tool", using("dev", "one", "echo", {"text": "x" * 1_500_000}))
            for _ in range(3)
        ]
        assert text_of(await used(client, "dev", "two", "echo")) == "{}"
        assert not any(handle.done for handle in unread)
        for handle in unread:
            await handle.cancel()
        assert text_of(await used(client, "dev", "two", "echo")) == "{}"
    await assert_all_gone(log)


async def test_a_server_that_reads_no_more_fails_its_calls_after_the_call_timeout(log: Path) -> None:
    async with dev(log, scripted(log=str(log), deaf_on=["tools/call"]) | {"callTimeout": 0.5}) as client:
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        unread = [
            await client.start_call("use_tool", using("dev", "one", "echo", {"text": "x" * 1_500_000}))
            for _ in range(2)
        ]
        said = [refusal(await handle.wait()) for handle in unread]
    reasons = [sentence.removeprefix(BEGINS.format("echo")) for sentence in said]
    assert reasons == [
        "no answer within 0.5 s (callTimeout)",
        "not sent within 0.5 s (callTimeout): the server does not read its input",
    ]


async def test_a_server_that_floods_its_stdout_is_still_answered_and_ended(log: Path) -> None:
    async with dev(log, scripted(log=str(log), stdout_flood=True)) as client:
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"


async def test_every_line_a_server_writes_is_in_the_debug_log_under_its_name(log: Path) -> None:
    async with dev(log, scripted(log=str(log)), "--log-level", "debug") as client:
        await used(client, "dev", "one", "stderr", {"text": "one\ntwo\n"})
        await used(client, "dev", "one", "raw_line", {"line": "Listening...", "then_answer": True})
    for line in ("one", "two", "(on stdout, not a protocol message) Listening..."):
        assert f"mcp-workbench: DEBUG: dev/one: stderr: {line}\n" in client.stderr


# What people see of it.


async def test_each_transition_is_a_line_in_the_log(log: Path, tmp_path: Path) -> None:
    obstacle = tmp_path / "obstacle"
    server = scripted(log=str(log), fail_file=str(obstacle)) | {"idleTimeout": 0.5}
    async with dev(log, server, "--log-level", "debug") as client:
        await in_log_of(client, "dev/one: stopped after 0.5 s without use")
        refusal(await used(client, "dev", "one", "crash", {"status": 3}))
        obstacle.touch()
        refusal(await used(client, "dev", "one", "echo"))
    story = [line for line in client.stderr.splitlines() if ": dev/one: " in line and "stderr:" not in line]
    words = [line.removeprefix("mcp-workbench: ").partition(" (")[0] for line in story]
    assert words == [
        "DEBUG: dev/one: starting",
        "INFO: dev/one: started",
        "INFO: dev/one: stopped after 0.5 s without use",
        "DEBUG: dev/one: starting",
        "INFO: dev/one: started",
        "WARNING: dev/one: lost",
        "DEBUG: dev/one: starting",
        "WARNING: dev/one: could not be started",
        "DEBUG: dev/one: stopped: the workbench is shutting down",
    ]
    assert "lost (the next use tries again): exited with status 3" in client.stderr
    assert "could not be started (the next use tries again, after 1 s at the earliest): exited with status 1" in (
        client.stderr
    )


async def test_by_default_the_log_has_a_line_for_each_server_started_or_lost(log: Path) -> None:
    async with dev(log, scripted(log=str(log))) as client:
        refusal(await used(client, "dev", "one", "crash"))
        await in_log_of(client, "lost")
    assert [line.partition(" (")[0] for line in client.stderr.splitlines()] == [
        "mcp-workbench: INFO: dev/one: started",
        "mcp-workbench: WARNING: dev/one: lost",
    ]


async def test_the_state_of_a_connection_is_visible(log: Path) -> None:
    server = scripted(log=str(log), slow_start=0.2) | {"idleTimeout": 0.5}
    loaded = load_config(write_config(log.parent, {"dev": {"one": server}}), os.environ)
    with anyio.fail_after(30):
        async with ClientManager.running(loaded) as manager:
            connection = manager.connections("dev")["one"]
            seen = [connection.state]
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(manager.open, "dev", Caller())
                await eventually(lambda: connection.state is not seen[-1])
                seen.append(connection.state)
            seen.append(connection.state)
            await eventually(lambda: connection.state is not seen[-1])
            seen.append(connection.state)
            with pytest.raises(CallFailed):
                await manager.call(ToolReference("dev", "one", "crash"), {}, Caller())
            await eventually(lambda: connection.state is not State.READY)
            seen.append(connection.state)
        seen.append(connection.state)
    assert seen == [State.IDLE, State.CONNECTING, State.READY, State.IDLE, State.WAITING, State.STOPPED]
    await assert_all_gone(log)
