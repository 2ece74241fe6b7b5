"""What is over leaves nothing behind: no task, no question, no call that waits for somebody else's."""

import gc
import os
from pathlib import Path

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from lone_connection import lone_connection
from mcp_workbench.config.models import StdioServer
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.downstream.question import Question
from mcp_workbench.jsonrpc import pipes
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.upstream.stdio import MessageWriter
from wire import assert_gone, read_log, scripted

pytestmark = pytest.mark.anyio

ACCEPTED: JSONObject = {"action": "accept", "content": {"name": "blue"}}


def response(size: int) -> SessionMessage:
    return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "x" * size}))


def questions_in_memory() -> int:
    gc.collect()
    return sum(isinstance(thing, Question) for thing in gc.get_objects())


async def test_a_call_is_over_once_its_result_is_written_whether_or_not_the_client_has_read_it() -> None:
    reader, descriptor = os.pipe()
    writer = pipes.PipeWriter(descriptor)
    client = MessageWriter(writer)
    second_sent = anyio.Event()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:

            async def send_second() -> None:
                await client.send(response(10))
                second_sent.set()

            tasks.start_soon(writer.run)
            await client.send(response(3_000_000))
            tasks.start_soon(send_second)
            await anyio.wait_all_tasks_blocked()
            assert not second_sent.is_set(), "a client that has fallen far behind must be waited for"
            while not second_sent.is_set():
                await anyio.wait_readable(reader)
                os.read(reader, 100_000)
            tasks.cancel_scope.cancel()
    os.close(reader)
    os.close(descriptor)


async def test_a_paused_call_that_was_resumed_leaves_no_task_and_no_question(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = StdioServer.model_validate(scripted(log=str(log)))
    caller = Caller(declared={"elicitation": {}})
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            connection = lone_connection("dev", "asker", config, tasks)
            await connection.open(caller)
            await anyio.wait_all_tasks_blocked()
            before = len(anyio.get_running_tasks()), questions_in_memory()
            pause = await connection.call("ask", {}, caller)
            answers = dict.fromkeys(pause["inputRequests"], ACCEPTED)
            await connection.call("ask", {}, Caller(state=pause["requestState"], answers=answers))
            await anyio.wait_all_tasks_blocked()
            assert (len(anyio.get_running_tasks()), questions_in_memory()) == before
            await connection.stop()
            tasks.cancel_scope.cancel()
    await assert_gone(read_log(log, event="start")[0]["pid"])
