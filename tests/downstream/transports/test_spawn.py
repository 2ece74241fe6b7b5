"""A program that cannot be started leaves nothing behind and says why; one that misbehaves is given up in bounds."""

import os
import resource
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import pytest

from mcp_workbench.downstream.transports import spawn
from mcp_workbench.downstream.transports.process import MAX_UNREAD, run_process
from mcp_workbench.downstream.transports.spawn import Program
from mcp_workbench.downstream.transports.transport import TransportFailed
from mcp_workbench.jsonrpc import pipes
from mcp_workbench.redaction import Redactor

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX"),
]

NOTHING_TO_HIDE = Redactor(())


def python(code: str) -> Program:
    return Program(sys.executable, ["-S", "-E", "-c", code], dict(os.environ), None)


def ignore(_: str) -> None:
    """Nobody reads these remarks."""


def open_descriptors() -> set[int]:
    return {fd for fd in range(1024) if is_open(fd)}


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


@contextmanager
def descriptors_left(count: int) -> Generator[None]:
    """No more than this many descriptors can be opened."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [fd for fd in range(1024) if not is_open(fd)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[count], limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("left", range(8))
async def test_at_the_limit_of_open_files_nothing_is_left_open_and_the_reason_says_what_to_do(left: int) -> None:
    async with run_process(python("pass"), ignore, NOTHING_TO_HIDE):
        """What a first start opens for good is open now."""
    before = open_descriptors()
    with descriptors_left(left), anyio.fail_after(30), pytest.raises(TransportFailed) as failure:
        async with run_process(python("pass"), ignore, NOTHING_TO_HIDE):
            """It cannot be started."""
    assert "limit of open files is reached (`ulimit -n`)" in str(failure.value)
    assert open_descriptors() == before


async def test_where_no_thread_can_be_started_to_watch_a_child_there_is_no_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(spawn, "_has_process_descriptors", lambda: False)
    monkeypatch.setattr(threading.Thread, "start", refused)
    before = open_descriptors()
    with pytest.raises(TransportFailed, match=r"the limit of processes is reached \(`ulimit -u`\)"):
        async with run_process(python("pass"), ignore, NOTHING_TO_HIDE):
            """It cannot be started."""
    assert open_descriptors() == before


async def test_a_server_that_asks_without_end_and_never_reads_gets_a_bounded_number_of_answers() -> None:
    flood = 'while True: print(\'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\')'
    answered = 0
    with anyio.fail_after(90):
        async with run_process(python(flood), ignore, NOTHING_TO_HIDE) as process:
            async for _ in process.messages():
                answered += 1
                process.send({"jsonrpc": "2.0", "id": 1, "result": {"text": "x" * 10_000}})
            reason = await process.end_reason()
    assert reason == "does not read its stdin: more than 4 MB of messages wait for it"
    assert answered * 10_000 < 2 * MAX_UNREAD


async def test_a_server_that_is_slow_to_read_a_long_message_is_not_given_up() -> None:
    with anyio.fail_after(60):
        async with run_process(python("import sys; print(len(sys.stdin.read()))"), ignore, NOTHING_TO_HIDE) as process:
            process.send({"text": "x" * 3 * MAX_UNREAD})
            process.send({"text": "x" * (MAX_UNREAD // 2)})
            await process.drain()


async def test_a_line_that_never_ends_ends_its_server_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "MAX_LINE", 1024 * 1024)
    endless = "while True: print('x' * 1000, end='')"
    with anyio.fail_after(60):
        async with run_process(python(endless), ignore, NOTHING_TO_HIDE) as process:
            assert [message async for message in process.messages()] == []
            assert await process.end_reason() == "sent a line of more than 1 MB"
