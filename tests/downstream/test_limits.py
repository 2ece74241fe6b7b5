"""What a server lists and what a client calls and leaves unread is bounded, and each bound has its sentence."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCResponse

from mcp_workbench.config.loading import load_config
from mcp_workbench.downstream import connection, tool_list
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.downstream.handshake import Greeting
from mcp_workbench.errors import CallFailed
from mcp_workbench.jsonrpc import pipes
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import BadAnswer
from mcp_workbench.jsonrpc.peer import Peer
from mcp_workbench.toolboxes import manager
from mcp_workbench.toolboxes.manager import ClientManager, ToolReference
from mcp_workbench.upstream import stdio
from mcp_workbench.upstream.stdio import MessageWriter
from wire import scripted, write_config

pytestmark = pytest.mark.anyio


class Lister:
    """A server with an endless tool list, whatever else it is asked."""

    def __init__(self, tools_a_page: int, description: str) -> None:
        self.peer = Peer(self._send, self)
        self._page = [{"name": f"{number}", "description": description} for number in range(tools_a_page)]

    def _send(self, message: Mapping[str, Any]) -> None:
        page = {"tools": self._page, "nextCursor": f"{message['id']}"}
        self.peer.receive({"jsonrpc": "2.0", "id": message["id"], "result": page})

    def on_request(self, request_id: int | str, method: str, params: JSONObject) -> None: ...

    def on_notification(self, method: str, params: JSONObject) -> None: ...

    def on_unknown_response(self, message: JSONObject) -> None: ...


@pytest.mark.parametrize(
    ("tools", "description", "reason"),
    [(1000, "", "its tool list has more than 10,000 tools"), (1, "x" * 1_000_000, "its tool list has more than 64 MB")],
)
async def test_a_tool_list_that_is_too_long_or_too_large_is_refused(tools: int, description: str, reason: str) -> None:
    with pytest.raises(BadAnswer, match=reason):
        await tool_list.read_tool_list(Lister(tools, description).peer, Greeting("2025-11-25", {"tools": {}}), {})


@pytest.mark.parametrize(
    ("limited", "reason"),
    [
        (connection, "2 calls of this server are under way, as many as there may be"),
        (manager, "2 calls are under way, as many as there may be"),
    ],
)
async def test_a_call_beyond_those_that_may_be_under_way_fails_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limited: Any, reason: str
) -> None:
    monkeypatch.setattr(limited, "MAX_CALLS", 2)
    loaded = load_config(write_config(tmp_path, {"dev": {"one": scripted(log=str(tmp_path / "log"))}}), os.environ)
    with anyio.fail_after(90):
        async with ClientManager.running(loaded) as running, anyio.create_task_group() as calls:
            await running.open("dev", Caller())
            nothing: dict[str, Any] = {}
            for _ in range(2):
                calls.start_soon(running.call, ToolReference("dev", "one", "hang"), nothing, Caller())
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(CallFailed, match=reason):
                await running.call(ToolReference("dev", "one", "echo"), {}, Caller())
            calls.cancel_scope.cancel()


class SlowClient:
    """A client whose pipe is full until `reads` is set."""

    def __init__(self) -> None:
        self.reads = anyio.Event()
        self.lines: list[bytes] = []
        self.unsent = pipes.BACKLOG + 1

    def write(self, data: bytes) -> None:
        self.lines.append(data)

    async def drain(self) -> None:
        await self.reads.wait()


def result(number: int, size: int) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=number, result={"text": "x" * size})


async def test_a_result_beyond_those_that_may_wait_for_a_client_is_replaced_by_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio, "MAX_WAITING", 1000)
    client = SlowClient()
    writer = MessageWriter(cast(pipes.PipeWriter, client))
    leaving = JSONRPCError(jsonrpc="2.0", id=9, error=ErrorData(code=CONNECTION_CLOSED, message="Connection closed"))
    messages: list[JSONRPCMessage] = [result(1, 600), result(2, 600), leaving]
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for message in messages:
                tasks.start_soon(writer.send, SessionMessage(message))
            await anyio.wait_all_tasks_blocked()
            assert b"The result was dropped" in client.lines[0]
            assert b"Connection closed" in client.lines[1], "at the end nobody waits"
            client.reads.set()
    assert b"xxx" in client.lines[2]
