"""The raw client and the downstream servers that the other tests stand on do what they say."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from wire import (
    PREFIX,
    SDK_SERVER,
    Era,
    RpcError,
    ServerGoneError,
    WireClient,
    alive,
    assert_gone,
    children_of,
    command_of,
    logged,
    read_log,
    scripted,
    text_of,
    workbench,
    write_config,
)

pytestmark = pytest.mark.anyio

both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])
BLUE: dict[str, Any] = {"action": "accept", "content": {"name": "blue"}}


def server(**options: Any) -> list[str]:
    return command_of(scripted(**options))


async def blue(_params: dict[str, Any]) -> dict[str, Any]:
    return BLUE


@both_eras
@pytest.mark.parametrize("offered", ["own", "dual"])
async def test_a_scripted_server_shakes_hands_lists_its_tools_and_runs_one(era: Era, offered: str) -> None:
    serves = era if offered == "own" else "dual"
    async with WireClient.spawn(server(era=serves, name="box", instructions="Read me"), era=era) as client:
        tools = (await client.request("tools/list"))["tools"]
        result = await client.call_tool("add", {"a": 1, "b": 2})
    assert client.server_info["name"] == "box"
    assert client.instructions == "Read me"
    assert "we__ird-na.me/with spaces é" in [tool["name"] for tool in tools]
    assert result["structuredContent"] == {"sum": 3}
    assert result.get("resultType") == ("complete" if era == "modern" else None)
    assert (client.returncode, client.killed, client.noise) == (0, False, [])
    await assert_gone(client.pid)


@both_eras
async def test_the_sdk_server_agrees_with_the_raw_client_about_calls_and_questions(era: Era) -> None:
    command = [sys.executable, str(SDK_SERVER)]
    capabilities: dict[str, Any] = {"elicitation": {"form": {}}}
    answers = {"elicitation/create": blue}
    async with WireClient.spawn(command, era=era, capabilities=capabilities, on_request=answers) as client:
        assert text_of(await client.call_tool("echo", {"text": "hé"})) == "hé"
        result = await client.call_tool_answering("greet", {"greeting": "Hello"})
    assert text_of(result) == "Hello, blue"
    assert client.returncode == 0
    await assert_gone(client.pid)


async def test_a_modern_server_refuses_the_old_handshake_and_names_what_it_speaks() -> None:
    async with WireClient.spawn(server(era="modern"), handshake=False) as client:
        with pytest.raises(RpcError) as refusal:
            await client.greet()
    assert refusal.value.code == -32022
    assert refusal.value.data == {"supported": ["2026-07-28"], "requested": "2025-11-25"}


async def test_a_modern_server_refuses_a_request_without_its_envelope() -> None:
    async with WireClient.spawn(server(era="modern"), handshake=False) as client:
        with pytest.raises(RpcError) as refusal:
            await client.request("tools/list")
    assert refusal.value.code == -32602


@pytest.mark.parametrize("serves", ["legacy", "dual"])
async def test_a_connection_begun_with_initialize_does_not_know_discover(serves: str) -> None:
    async with WireClient.spawn(server(era=serves)) as client:
        with pytest.raises(RpcError) as refusal:
            await client.request("server/discover")
    assert refusal.value.code == -32601


async def test_a_server_that_exits_on_discover_exits_with_status_3() -> None:
    async with WireClient.spawn(server(era="legacy-exits"), era="modern", handshake=False) as client:
        with pytest.raises(ServerGoneError):
            await client.greet()
        assert await client.wait_exit() == 3


async def test_a_server_that_is_silent_about_unknown_methods_answers_initialize() -> None:
    async with WireClient.spawn(server(era="legacy-silent"), handshake=False) as client:
        unknown = await client.start_request("server/discover")
        await client.greet()
        assert not unknown.done


@both_eras
@pytest.mark.parametrize("ask", [{}, {"times": 3}, {"together": 2}, {"url": True}])
async def test_questions_are_answered_in_either_eras_way(era: Era, ask: dict[str, Any]) -> None:
    questions: list[dict[str, Any]] = []

    async def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert method == "elicitation/create"
        questions.append(params)
        return BLUE

    async with WireClient.spawn(server(era=era), era=era) as client:
        rounds = json.loads(text_of(await client.call_tool_answering("ask", ask, answer)))
    together, times = ask.get("together", 1), ask.get("times", 1)
    assert rounds == [{f"q{number + 1}": BLUE for number in range(together)}] * times
    assert {question["mode"] for question in questions} == {"url" if ask.get("url") else "form"}
    assert len(questions) == together * times


@both_eras
@pytest.mark.parametrize(("tool", "method"), [("sample", "sampling/createMessage"), ("roots", "roots/list")])
async def test_sampling_and_roots_are_asked_for_too(era: Era, tool: str, method: str) -> None:
    async def answer(asked: str, _params: dict[str, Any]) -> dict[str, Any]:
        return {"asked": asked}

    async with WireClient.spawn(server(era=era), era=era) as client:
        rounds = json.loads(text_of(await client.call_tool_answering(tool, {}, answer)))
    assert rounds == [{"q1": {"asked": method}}]


async def test_a_refused_question_reaches_the_server_as_an_error() -> None:
    async with WireClient.spawn(server()) as client:
        (answers,) = json.loads(text_of(await client.call_tool("ask")))
    assert answers["q1"]["error"]["code"] == -32601


async def test_a_forged_state_is_refused() -> None:
    async with WireClient.spawn(server(era="modern"), era="modern") as client:
        with pytest.raises(RpcError) as refusal:
            await client.request("tools/call", {"name": "ask", "requestState": "forged!"})
    assert refusal.value.code == -32602


async def test_a_question_outside_any_call_is_asked_once_its_file_exists(tmp_path: Path) -> None:
    log, gate = tmp_path / "log", tmp_path / "gate"
    async with WireClient.spawn(server(log=str(log)), on_request={"elicitation/create": blue}) as client:
        assert text_of(await client.call_tool("ask_later", {"file": str(gate)})) == "later"
        gate.touch()
        (event,) = await logged(log, event="answer")
    assert event["answer"] == {"result": BLUE}


@both_eras
async def test_progress_comes_in_order_under_the_callers_token(era: Era) -> None:
    async with WireClient.spawn(server(era=era), era=era) as client:
        await client.call_tool("progress", {"n": 3}, progress_token="mine")
        reports = [await client.next_notification("notifications/progress") for _ in range(3)]
    assert [(report["progressToken"], report["progress"]) for report in reports] == [("mine", n) for n in (1, 2, 3)]


async def test_without_a_token_no_progress_is_sent() -> None:
    async with WireClient.spawn(server()) as client:
        await client.call_tool("progress", {"n": 3})
    assert client.notifications == []


@both_eras
async def test_a_cancelled_call_is_logged_and_never_answered(era: Era, tmp_path: Path) -> None:
    log, gate = tmp_path / "log", tmp_path / "gate"
    async with WireClient.spawn(server(era=era, log=str(log)), era=era) as client:
        call = await client.start_call("slow", {"token": "t1", "file": str(gate)})
        await logged(log, event="executed", tool="slow", token="t1")
        await call.cancel()
        await logged(log, event="cancelled", requestId=call.id, tool="slow")
        gate.touch()
        await client.call_tool("slow", {"file": str(gate)})
        assert not call.done


async def test_calls_run_at_the_same_time(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with WireClient.spawn(server()) as client:
        waiting = [await client.start_call("slow", {"file": str(gate)}) for _ in range(5)]
        assert text_of(await client.call_tool("echo", {"n": 1})) == '{"n": 1}'
        assert not any(call.done for call in waiting)
        gate.touch()
        for call in waiting:
            assert text_of(await call.wait()) == "waited"


@both_eras
async def test_a_raw_result_arrives_as_it_was_given(era: Era) -> None:
    odd: dict[str, Any] = {"content": [{"type": "hologram", "x": [1.5, None, "é\ud800"]}], "structuredContent": 7}
    async with WireClient.spawn(server(era=era), era=era) as client:
        assert await client.call_tool("raw", {"result": odd}) == odd


async def test_failures_errors_and_big_results_have_their_shapes() -> None:
    async with WireClient.spawn(server()) as client:
        assert (await client.call_tool("fail", {"text": "no"}))["isError"] is True
        assert len(text_of(await client.call_tool("big", {"n": 3_000_000}))) == 3_000_000
        with pytest.raises(RpcError) as broken:
            await client.call_tool("error", {"code": -32050, "message": "odd", "data": [1]})
        with pytest.raises(RpcError, match="Unknown tool: nothing"):
            await client.call_tool("nothing")
    assert (broken.value.code, broken.value.message, broken.value.data) == (-32050, "odd", [1])


async def test_wrong_double_and_raw_answers_are_kept_apart_from_proper_ones() -> None:
    async with WireClient.spawn(server()) as client:
        misled = await client.start_call("wrong_id")
        assert text_of(await client.call_tool("double")) == "first"
        await client.call_tool("raw_line", {"line": "not { json", "then_answer": True})
        assert not misled.done
    assert [text_of(stray["result"]) for stray in client.strays if stray["id"] == "no-such-request"] != []
    assert [text_of(stray["result"]) for stray in client.strays if stray["id"] != "no-such-request"] == ["second"]
    assert client.noise == [b"not { json"]


async def test_a_crash_ends_the_call_with_its_status_and_stderr(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with WireClient.spawn(server(log=str(log))) as client:
        with pytest.raises(ServerGoneError):
            await client.call_tool("crash", {"status": 7, "stderr": "out of cheese\n"})
        assert await client.wait_exit() == 7
    assert client.stderr == "out of cheese\n"
    assert read_log(log, event="exit")[0]["status"] == 7


async def test_pages_are_cut_to_size_and_lead_on_to_one_another() -> None:
    tools = [{"name": f"t{number}", "inputSchema": {"type": "object"}} for number in range(5)]
    seen: list[Any] = []
    async with WireClient.spawn(server(tools=tools, pages=2)) as client:
        page = await client.request("tools/list")
        while "nextCursor" in page:
            seen.append(page["tools"])
            page = await client.request("tools/list", {"cursor": page["nextCursor"]})
    assert [*seen, page["tools"]] == [tools[:2], tools[2:4], tools[4:]]


@pytest.mark.parametrize(("option", "distinct"), [("endless_pages", 4), ("repeat_cursor", 1)])
async def test_pages_that_never_end(option: str, distinct: int) -> None:
    cursors: list[str] = []
    async with WireClient.spawn(server(**{option: True})) as client:
        for _ in range(4):
            page = await client.request("tools/list", {"cursor": cursors[-1]} if cursors else {})
            cursors.append(page["nextCursor"])
    assert len(set(cursors)) == distinct


@both_eras
async def test_a_server_without_tools_offers_neither_capability_nor_method(era: Era) -> None:
    async with WireClient.spawn(server(era=era, no_tools=True), era=era) as client:
        with pytest.raises(RpcError) as refusal:
            await client.request("tools/list")
    assert refusal.value.code == -32601
    assert "tools" not in client.handshake["capabilities"]


@both_eras
async def test_a_changed_tool_list_is_announced_and_the_new_tool_works(era: Era) -> None:
    expected: dict[str, Any] = {}
    async with WireClient.spawn(server(era=era), era=era) as client:
        if era == "modern":
            wanted = {"notifications": {"toolsListChanged": True}}
            listening = await client.start_request("subscriptions/listen", wanted)
            expected = {"_meta": {PREFIX + "subscriptionId": listening.id}}
            await client.next_notification("notifications/subscriptions/acknowledged")
        await client.call_tool("change_tools", {"name": "brand new"})
        assert await client.next_notification("notifications/tools/list_changed") == expected
        assert text_of(await client.call_tool("brand new", {"a": 1})) == '{"a": 1}'


async def test_log_messages_keep_to_the_level_that_was_asked_for() -> None:
    loud, quiet = {"level": "error", "data": {"k": 1}, "logger": "db"}, {"level": "debug", "data": "x"}
    async with WireClient.spawn(server()) as client:
        await client.request("logging/setLevel", {"level": "warning"})
        await client.call_tool("log", quiet)
        await client.call_tool("log", loud)
    assert [message["params"] for message in client.notifications] == [loud]


async def test_a_modern_server_logs_only_for_a_request_that_asked() -> None:
    message = {"level": "error", "data": "x"}
    async with WireClient.spawn(server(era="modern"), era="modern") as client:
        await client.call_tool("log", message)
        await client.call_tool("log", message, meta={PREFIX + "logLevel": "info"})
    assert [notification["params"] for notification in client.notifications] == [message]


@both_eras
async def test_a_server_tells_what_it_was_told_of_the_client(era: Era) -> None:
    capabilities: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "roots": {}}
    async with WireClient.spawn(server(era=era), era=era, capabilities=capabilities) as client:
        assert json.loads(text_of(await client.call_tool("capabilities"))) == capabilities
        meta = json.loads(text_of(await client.call_tool("meta", meta={"traceparent": "00-1"})))
    assert meta["traceparent"] == "00-1"
    assert (PREFIX + "protocolVersion" in meta) == (era == "modern")


async def test_the_log_holds_both_directions_of_the_wire_as_they_were(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = server(log=str(log), log_env=["FLAVOUR"])
    async with WireClient.spawn(command, env={"FLAVOUR": "mint"}) as client:
        await client.call_tool("echo", {"text": "é"})
    (start,) = read_log(log, event="start")
    assert (start["pid"], start["env"]) == (client.pid, {"FLAVOUR": "mint"})
    assert [event["message"] for event in read_log(log, event="received")] == client.sent
    assert [event["message"] for event in read_log(log, event="sent")] == client.received
    assert read_log(log)[-1]["event"] == "exit"


async def test_a_line_that_is_no_json_is_logged_and_survived(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with WireClient.spawn(server(log=str(log))) as client:
        await client.send_raw(b"\xff junk")
        await client.send_raw("[1, 2]")
        await client.call_tool("echo")
    assert len(read_log(log, event="junk")) == 2


async def test_a_server_can_fail_at_its_start_until_a_file_goes(tmp_path: Path) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    command = server(fail_file=str(trouble), stderr_at_start="no luck\n")
    async with WireClient.spawn(command, handshake=False) as client:
        assert await client.wait_exit() == 1
    assert client.stderr == "no luck\n"
    trouble.unlink()
    async with WireClient.spawn(command) as client:
        await client.call_tool("echo")


async def test_a_server_can_be_noisy_and_slow_and_hang_on_one_method() -> None:
    options: dict[str, Any] = {"stdout_noise": ["Hello!", ""], "slow_start": 0.05, "stderr_flood": 300_000}
    async with WireClient.spawn(server(**options, hang_on=["tools/list"])) as client:
        listing = await client.start_request("tools/list")
        await client.call_tool("echo")
        assert not listing.done
    assert client.noise == [b"Hello!", b""]
    assert len(client.stderr) >= 600_000


async def test_a_method_can_be_given_an_error_or_a_result_of_the_wrong_shape() -> None:
    faults: dict[str, Any] = {"error_on": {"ping": {"code": 5, "message": "no"}}, "result_on": {"tools/list": [1]}}
    async with WireClient.spawn(server(**faults)) as client:
        assert await client.request("tools/list") == [1]
        with pytest.raises(RpcError, match="5: no"):
            await client.request("ping")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to catch or ignore")
async def test_a_polite_server_dies_of_sigterm_and_a_stubborn_one_needs_the_kill(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with WireClient.spawn(server()) as client:
        client.signal(signal.SIGTERM)
        assert await client.wait_exit() == -signal.SIGTERM
    stubborn = server(log=str(log), ignore_sigterm=True, ignore_stdin_eof=True)
    async with WireClient.spawn(stubborn, close_within=0.2) as client:
        client.signal(signal.SIGTERM)
        await client.call_tool("echo")
    assert (client.killed, client.returncode) == (True, -signal.SIGKILL)
    assert read_log(log, event="stdin closed") != []
    await assert_gone(client.pid)


@pytest.mark.parametrize("how", [True, "inherits"])
async def test_a_grandchild_that_outlives_its_parent_fails_the_test_and_is_ended(how: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def use() -> None:
        async with WireClient.spawn(server(log=str(log), grandchild=how)) as client:
            assert [child.pid for child in children_of(client.pid)] == [read_log(log, event="grandchild")[0]["pid"]]

    with pytest.raises(AssertionError, match="outlived"):
        await use()
    await assert_gone(read_log(log, event="grandchild")[0]["pid"])


async def test_a_failure_inside_the_client_comes_out_as_itself_and_the_process_is_gone() -> None:
    pids: list[int] = []

    async def use() -> None:
        async with WireClient.spawn(server()) as client:
            pids.append(client.pid)
            raise KeyError("from the test")

    with pytest.raises(KeyError, match="from the test"):
        await use()
    await assert_gone(pids[0])


async def test_a_client_that_is_cancelled_leaves_no_process() -> None:
    pids: list[int] = []
    with anyio.CancelScope() as scope:
        async with WireClient.spawn(server(ignore_stdin_eof=True)) as client:
            pids.append(client.pid)
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    await assert_gone(pids[0])


async def test_a_wait_that_takes_too_long_is_ended() -> None:
    async with WireClient.spawn(server()) as client:
        call = await client.start_call("hang")
        with pytest.raises(TimeoutError):
            await call.wait(within=0.05)
        client.patience = 0.05
        with pytest.raises(TimeoutError):
            await client.next_notification("notifications/progress")


async def test_a_living_process_is_not_taken_for_gone() -> None:
    async with WireClient.spawn(server()) as client:
        assert alive(psutil.Process(client.pid))
        with pytest.raises(AssertionError, match="still running"):
            await assert_gone(client.pid, within=0.05)


async def test_twenty_servers_can_be_up_at_once() -> None:
    async def use(number: int) -> None:
        async with WireClient.spawn(server(name=f"box-{number}")) as client:
            assert client.server_info["name"] == f"box-{number}"

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(use, number)


def test_a_config_may_give_a_toolbox_as_its_servers_alone(tmp_path: Path) -> None:
    full: dict[str, Any] = {"description": "All of it", "mcpServers": {}}
    path = write_config(tmp_path, {"dev": {"one": scripted(name="one")}, "full": full})
    written = json.loads(path.read_text(encoding="utf-8"))["toolboxes"]
    assert written["dev"]["mcpServers"]["one"]["command"] == sys.executable
    assert written["dev"]["description"]
    assert written["full"] == full
    assert workbench(path)[-2:] == ["--config", str(path)]
