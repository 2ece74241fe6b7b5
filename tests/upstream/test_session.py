"""What is known of a client, and what it is told and asked."""

import json
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from mcp_workbench.upstream.session import ClientInfo, ClientSession, without_hop_keys

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
PREFIX = "io.modelcontextprotocol/"


class Reader:
    """A client that reads when it is let."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.reads = anyio.Event()

    def write(self, data: bytes) -> None:
        self.lines.append(data)

    async def drain(self) -> None:
        await self.reads.wait()

    @property
    def messages(self) -> list[Json]:
        return [json.loads(line) for line in self.lines]


def greeted(reader: Reader, **capabilities: Any) -> ClientSession:
    session = ClientSession(reader)
    session.greet({"clientInfo": {"name": "wire"}, "capabilities": capabilities})
    return session


def test_a_client_of_the_older_era_is_known_by_its_greeting() -> None:
    session = greeted(Reader(), roots={}, sampling={"tools": {}}, experimental={})
    session.set_log_level("error")
    caller = session.caller({"_meta": {"progressToken": 7, PREFIX + "related-task": 1, "own": 2}}, modern=False)
    assert session.info({}, modern=False) == ClientInfo("wire", {"sampling": {"tools": {}}, "roots": {}}, "error")
    assert (caller.declared, caller.log_level) == ({"sampling": {"tools": {}}, "roots": {}}, "error")
    assert (caller.meta, caller.progress_token, caller.state) == ({"own": 2}, 7, None)
    assert caller.ask is not None


def test_a_modern_client_is_known_by_each_request() -> None:
    session = ClientSession(Reader())
    meta: Json = {
        PREFIX + "clientInfo": {"name": "Cline"},
        PREFIX + "clientCapabilities": {"roots": {}},
        PREFIX + "logLevel": "info",
    }
    assert session.info({"_meta": meta}, modern=True) == ClientInfo("Cline", {"roots": {}}, "info")
    assert session.info({}, modern=True) == ClientInfo()
    caller = session.caller({"_meta": meta, "requestState": "s", "inputResponses": {"q": {}}}, modern=True)
    assert (caller.ask, caller.state, caller.answers, caller.meta) == (None, "s", {"q": {}}, {})


@pytest.mark.parametrize(
    "info", [None, "Cline", [], {}, {"name": None}, {"name": 5}, {"name": ""}, {"name": ["Cline"]}]
)
def test_a_client_may_keep_its_name_to_itself(info: Any) -> None:
    assert ClientInfo.greeting({"clientInfo": info}).name == ""


def test_of_a_name_of_a_megabyte_only_the_beginning_is_kept() -> None:
    name = ClientInfo.greeting({"clientInfo": {"name": "cline" + "x" * 10**6}}).name
    assert name.startswith("cline")
    assert len(name) == 200


async def test_notifications_for_a_client_that_does_not_read_are_bounded_by_their_size_not_their_number() -> None:
    reader = Reader()
    session = greeted(reader)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run)
            for number in range(50):
                session.notify("dev/one", "notifications/x", {"n": number, "data": "x" * 1_000_000})
            for number in range(2000):
                session.notify("dev/one", "notifications/x", {"n": 50 + number})
            await anyio.wait_all_tasks_blocked()
            reader.reads.set()
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    told = [message["params"]["n"] for message in reader.messages]
    assert told == list(range(2050 - len(told), 2050))
    assert len(told) > 2000
    assert 3_000_000 < sum(map(len, reader.lines)) <= 4 * 1024 * 1024


async def test_a_notification_that_is_larger_than_the_bound_is_dropped_and_the_next_one_comes() -> None:
    reader = Reader()
    session = greeted(reader)
    reader.reads.set()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.run)
        session.notify("dev/one", "notifications/x", {"data": "x" * 5_000_000})
        await anyio.wait_all_tasks_blocked()
        session.notify("dev/one", "notifications/x", {"n": 1})
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert [message["params"] for message in reader.messages] == [{"n": 1}]


async def test_a_client_that_was_not_greeted_the_older_way_is_told_nothing_of_its_own_accord() -> None:
    reader = Reader()
    session = ClientSession(reader)
    reader.reads.set()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.run)
        session.notify("dev/one", "notifications/x", {})
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert reader.lines == []


async def test_nothing_that_cannot_be_written_ends_the_task_that_tells() -> None:
    reader = Reader()
    reader.reads.set()
    session = greeted(reader)
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.run)
        for data in (deep, {1, 2}, object()):
            session.notify("dev/one", "notifications/x", {"data": data})
            await session.tell("notifications/x", {"data": data})
        session.notify("dev/one", "notifications/x", {"n": 1})
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert [message["params"] for message in reader.messages] == [{"n": 1}]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"error": {"code": -32601, "message": "no"}}, -32601),
        ({"error": {"code": "odd", "message": "half \ud83d"}}, -32600),
        ({"error": 5}, -32600),
        ({"result": [1]}, -32600),
        ({}, -32600),
    ],
)
async def test_a_refusal_or_a_misshapen_answer_is_told_as_one(answer: Json, code: int) -> None:
    reader = Reader()
    reader.reads.set()
    session = greeted(reader)
    refusals: list[MCPError] = []

    async def ask() -> None:
        try:
            await session.ask("roots/list", {})
        except MCPError as error:
            refusals.append(error)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            session.receive_answer({"jsonrpc": "2.0", "id": reader.messages[-1]["id"], **answer})
    assert [refusal.code for refusal in refusals] == [code]


async def test_a_client_that_leaves_answers_nothing_any_more() -> None:
    reader = Reader()
    reader.reads.set()
    session = greeted(reader)
    session.close()
    with pytest.raises(MCPError, match="left"):
        await session.ask("roots/list", {})
    assert reader.lines == []


def test_what_a_result_says_of_its_hop_ends_with_the_hop() -> None:
    assert without_hop_keys({"a": 1}) == {"a": 1}
    assert without_hop_keys({"_meta": {}}) == {"_meta": {}}
    assert without_hop_keys({"_meta": {PREFIX + "serverInfo": {}, "b": 2}}) == {"_meta": {"b": 2}}
    assert without_hop_keys({"a": 1, "_meta": {PREFIX + "serverInfo": {}}}) == {"a": 1}
    assert without_hop_keys({"_meta": "odd"}) == {"_meta": "odd"}
