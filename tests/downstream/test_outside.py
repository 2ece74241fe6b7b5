"""Roots that a server asks for while none of its calls is under way: at its start, and whenever they change."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_workbench.downstream.outside import OutsideQuestions
from mcp_workbench.downstream.question import Question
from mcp_workbench.jsonrpc.peer import Peer, PeerHandler
from serving import opened, serving, used
from wire import PATIENCE, Era, Json, RpcError, WireClient, logged, read_log, scripted

pytestmark = pytest.mark.anyio

ROOTS: Json = {"roots": [{"uri": "file:///home/you", "name": "home"}]}
OTHER_ROOTS: Json = {"roots": []}
DECLARED: Json = {"roots": {"listChanged": True}}
AT_START: Json = {"notifications/initialized": ["roots/list", {}]}
AGAIN: Json = {"notifications/roots/list_changed": ["roots/list", {}]}


async def _roots(_: Json) -> Json:
    return ROOTS


def asks(log: Path, **questions: Any) -> Json:
    return scripted(log=str(log), ask_on=questions)


@asynccontextmanager
async def client_of(
    tmp_path: Path, era: Era, servers: Json, capabilities: Json = DECLARED
) -> AsyncGenerator[WireClient]:
    async with serving(tmp_path, {"dev": servers}, era, capabilities=capabilities) as client:
        client.on_request["roots/list"] = _roots
        yield client


async def answers(log: Path, count: int = 1) -> list[Json]:
    """What the server was told, once it was told that often."""
    with anyio.fail_after(PATIENCE):
        while len(given := [m for m in _received(log) if "method" not in m]) < count:
            await logged(log, event="received", count=len(read_log(log, event="received")) + 1)
    return [{key: m[key] for key in ("result", "error") if key in m} for m in given]


def _received(log: Path) -> list[Json]:
    return [event["message"] for event in read_log(log, event="received")]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_that_asks_for_roots_as_it_starts_gets_them_before_its_toolbox_is_open(
    tmp_path: Path, era: Era
) -> None:
    logs = [tmp_path / name for name in ("one", "two")]
    async with client_of(tmp_path, era, {log.name: asks(log, **AT_START) for log in logs}) as client:
        listing = await client.call_tool_answering("open_toolbox", {"toolbox_name": "dev"})
        assert "isError" not in listing
        for log in logs:
            assert await answers(log) == [{"result": ROOTS}]
        questions = [m for m in client.received if m.get("method") == "roots/list"]
    assert len(questions) == (2 if era == "legacy" else 0)


async def test_an_opening_asks_a_modern_client_once_for_all_servers_and_shows_no_listing_before(tmp_path: Path) -> None:
    servers = {name: asks(tmp_path / name, **AT_START) for name in ("one", "two")}
    async with client_of(tmp_path, "modern", servers) as client:
        pause = await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        assert pause["resultType"] == "input_required"
        assert pause["inputRequests"] == {"roots/list": {"method": "roots/list", "params": {}}}


async def test_roots_that_changed_are_asked_for_again_with_no_request_open(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with client_of(tmp_path, "legacy", {"one": asks(log, **AGAIN)}) as client:
        await opened(client, "dev")
        await client.notify("notifications/roots/list_changed")
        assert await answers(log) == [{"result": ROOTS}]


async def test_the_last_answer_of_a_modern_client_stands_in_when_nothing_can_be_asked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    questions: Json = {**AT_START, "notifications/cancelled": ["roots/list", {}]}
    async with client_of(tmp_path, "modern", {"one": asks(log, **questions)}) as client:
        await client.call_tool_answering("open_toolbox", {"toolbox_name": "dev"})
        unwanted = await client.start_call("use_tool", {"tool": _tool("hang")})
        await logged(log, event="executed", tool="hang")
        await unwanted.cancel()
        assert await answers(log, 2) == [{"result": ROOTS}, {"result": ROOTS}]


def _tool(name: str) -> Json:
    return {"toolbox": "dev", "server": "one", "tool": name}


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_without_roots_is_not_asked_and_the_server_hears_so(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    async with client_of(tmp_path, era, {"one": asks(log, **AT_START)}, capabilities={}) as client:
        await opened(client, "dev")
        refusals = await answers(log)
        assert [m for m in client.received if m.get("method") == "roots/list"] == []
    assert refusals == [{"error": {"code": -32600, "message": "The client does not support roots"}}]


async def test_a_client_that_refuses_or_talks_nonsense_about_roots_fails_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    nonsense: list[Json] = [{"roots": "none"}, {"nothing": 1}]

    async def next_answer(_: Json) -> Json:
        if nonsense:
            return nonsense.pop()
        raise RpcError(-32603, "no roots today")

    async with client_of(tmp_path, "legacy", {"one": asks(log, **AGAIN)}) as client:
        client.on_request["roots/list"] = next_answer
        await opened(client, "dev")
        for count in (1, 2, 3):
            await client.notify("notifications/roots/list_changed")
            given = await answers(log, count)
        assert "isError" not in await used(client, "dev", "one", "echo")
    *nonsense_refused, refused = (answer["error"]["message"] for answer in given)
    assert refused == "no roots today"
    assert all("answer" in message for message in nonsense_refused), nonsense_refused


# How long a server waits, without a process.


class _Nothing(PeerHandler):
    def on_request(self, request_id: int | str, method: str, params: Json) -> None: ...
    def on_notification(self, method: str, params: Json) -> None: ...
    def on_unknown_response(self, message: Json) -> None: ...


@asynccontextmanager
async def outside_questions(sent: list[Any]) -> AsyncGenerator[tuple[OutsideQuestions, Question]]:
    question = Question(Peer(sent.append, _Nothing()), "q", "roots/list", {})
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(5):
            yield OutsideQuestions(tasks, patience=0.01), question
        tasks.cancel_scope.cancel()


async def test_a_client_that_never_answers_holds_no_server_up() -> None:
    sent: list[Any] = []

    async def never(method: str, params: Json) -> Json:
        await anyio.sleep_forever()
        raise AssertionError

    async with outside_questions(sent) as (outside, question):
        outside.ask = never
        outside.put("dev", question)
        await question.closed.wait()
    assert sent[0]["error"]["message"] == "The client did not answer within 0.01 s"


async def test_an_opening_that_never_comes_back_with_answers_holds_no_server_up() -> None:
    sent: list[Any] = []
    async with outside_questions(sent) as (outside, question):
        with outside.carried_by_opening("dev"):
            outside.put("dev", question)
            await outside.changed()
        assert outside.waiting_for("dev") != {}
        await question.closed.wait()
    assert sent[0]["error"]["message"] == "The client did not answer within 0.01 s"


async def test_a_question_with_nobody_to_carry_it_is_refused_at_once() -> None:
    sent: list[Any] = []
    async with outside_questions(sent) as (outside, question):
        outside.put("dev", question)
    assert sent[0]["error"]["message"] == "No request of the client is open, so nobody can be asked"


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage"])
async def test_nothing_but_roots_is_asked_outside_a_call(method: str) -> None:
    sent: list[Any] = []
    async with outside_questions(sent) as (outside, question):
        question.method = method
        outside.put("dev", question)
    assert sent[0]["error"]["message"] == "No tool call is under way, so nobody can be asked"
