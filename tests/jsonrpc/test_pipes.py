"""Descriptors of every kind are read and written whole, in order, and without blocking the event loop."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.jsonrpc import pipes
from mcp_workbench.redaction import Redactor

pytestmark = pytest.mark.anyio


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    with ExitStack() as stack:
        stack.callback(close, reader)
        stack.callback(close, writer)
        yield reader, writer


def close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        return  # the test closed it itself


def chunks_of(chunks: list[bytes]) -> pipes.Receive:
    left = iter([chunk for chunk in chunks if chunk])

    async def receive() -> bytes:
        return next(left, b"")

    return receive


@given(st.lists(st.binary(max_size=6) | st.sampled_from([b"\n", b"a\n", b"\nb", b"\r\n"])))
def test_lines_are_the_same_however_the_bytes_arrive(chunks: list[bytes]) -> None:
    async def read() -> list[bytes]:
        return [line async for line in pipes.read_lines(chunks_of(chunks))]

    *whole, last = b"".join(chunks).split(b"\n")
    assert anyio.run(read) == whole + ([last] if last else [])


async def test_a_line_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "MAX_LINE", 10)
    lines = pipes.read_lines(chunks_of([b"good\n", b"xxxxx", b"xxxxx", b"x"]))
    assert await anext(lines) == b"good"
    with pytest.raises(pipes.LineTooLong):
        await anext(lines)


async def test_text_for_people_comes_without_line_ends_and_with_bad_bytes_replaced() -> None:
    chunks = [b"one\r\ntw", b"o \xff\n", b"\nlast"]
    assert [line async for line in pipes.read_text_lines(chunks_of(chunks))] == ["one", "two \ufffd", "", "last"]


async def test_text_without_a_line_end_is_handed_on_in_pieces() -> None:
    chunk = b"x" * 200_000
    pieces = [piece async for piece in pipes.read_text_lines(chunks_of([chunk] * 10))]
    assert len(pieces) > 1
    assert "".join(pieces) == "x" * 2_000_000


async def test_long_text_is_parted_where_no_secret_lies_across() -> None:
    secret = "k7Q2-" + "x1y2z3" * 20
    line = (b"-" * 200_000 + secret.encode()) * 8
    chunks = [line[start : start + 99_991] for start in range(0, len(line), 99_991)]
    redact = Redactor([secret])
    pieces = [piece async for piece in pipes.read_text_lines(chunks_of(chunks), redact.cut)]
    assert len(pieces) > 1
    assert "".join(pieces) == line.decode()
    assert "".join(map(redact, pieces)) == redact(line.decode())


async def test_a_line_that_can_be_parted_nowhere_is_handed_on_before_it_fills_the_memory() -> None:
    chunks = [b"x" * 200_000] * 10
    pieces = [piece async for piece in pipes.read_text_lines(chunks_of(chunks), lambda text: 0)]
    assert len(pieces) > 1
    assert "".join(pieces) == "x" * 2_000_000


async def test_bytes_that_are_no_text_survive_the_parting_of_a_line() -> None:
    line = b"\xff\xc3" + "ä".encode() * 400_000
    chunks = [line[start : start + 99_991] for start in range(0, len(line), 99_991)]
    pieces = [piece async for piece in pipes.read_text_lines(chunks_of(chunks), lambda text: len(text) - 3)]
    assert len(pieces) > 1
    assert "".join(pieces) == line.decode(errors="replace")


async def test_a_pipe_is_read_to_its_end(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.write(writer, b"one\ntwo")
    os.close(writer)
    with anyio.fail_after(5):
        assert [line async for line in pipes.read_lines(pipes.receiver(reader))] == [b"one", b"two"]


@pytest.mark.parametrize("content", [b"", b"one\ntwo"])
async def test_a_regular_file_is_read_to_its_end(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    with anyio.fail_after(5):
        lines = [line async for line in pipes.read_lines(pipes.receiver(fd))]
    os.close(fd)
    assert lines == content.split()


async def test_more_than_a_pipe_holds_arrives_whole_and_in_order(pipe: tuple[int, int]) -> None:
    reader, descriptor = pipe
    writer = pipes.PipeWriter(descriptor)
    lines = [b"%d " % number + b"x" * 100_000 for number in range(30)]
    received: list[bytes] = []
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                received.extend([line async for line in pipes.read_lines(pipes.receiver(reader))])
                tasks.cancel_scope.cancel()

            tasks.start_soon(writer.run)
            for line in lines:
                writer.write(line + b"\n")
            tasks.start_soon(read)
            await writer.drain()
            await writer.flush()
            os.close(descriptor)
    assert received == lines


async def test_what_is_written_in_one_turn_of_the_loop_leaves_in_one_system_call() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)  # each read gives what one write sent
    with ours, theirs, anyio.fail_after(5):
        writer = pipes.PipeWriter(ours.fileno())
        for number in range(3):
            writer.write(b"%d\n" % number)
        await anyio.wait_readable(theirs)
        writer.write(b"later\n")
        assert os.read(theirs.fileno(), 1000) == b"0\n1\n2\n"
        await anyio.wait_readable(theirs)
        assert os.read(theirs.fileno(), 1000) == b"later\n"


async def test_small_and_large_messages_arrive_in_their_order(pipe: tuple[int, int]) -> None:
    reader, descriptor = pipe
    writer = pipes.PipeWriter(descriptor)
    messages = [b"small\n", b"x" * 200_000, b"\n", b"small\n"]
    received = bytearray()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.run)
            for message in messages:
                writer.write(message)
            while len(received) < sum(map(len, messages)):
                await anyio.wait_readable(reader)
                received += os.read(reader, 1_000_000)
            tasks.cancel_scope.cancel()
    assert received == b"".join(messages)


async def test_those_who_wait_for_a_slow_reader_go_on_in_their_order(pipe: tuple[int, int]) -> None:
    reader, descriptor = pipe
    writer = pipes.PipeWriter(descriptor)
    order: list[int] = []
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:

            async def send(number: int) -> None:
                await writer.drain()
                order.append(number)
                writer.write(b"x" * 1_500_000)

            tasks.start_soon(writer.run)
            for number in range(6):
                tasks.start_soon(send, number)
            await anyio.wait_all_tasks_blocked()
            assert order == [0], "the others wait until this one has been read"
            while writer.unsent:
                await anyio.wait_readable(reader)
                os.read(reader, 1_000_000)
                await anyio.wait_all_tasks_blocked()
                assert writer.unsent < 3_000_000
            tasks.cancel_scope.cancel()
    assert order == list(range(6))


async def test_a_source_of_many_lines_gives_way_to_others_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "_SLICE", 0)
    turns = 0
    seen: list[int] = []
    async with anyio.create_task_group() as tasks:

        async def count_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await anyio.lowlevel.checkpoint()

        tasks.start_soon(count_turns)
        seen += [turns async for _ in pipes.read_lines(chunks_of([b"line\n" * 100]))]
        tasks.cancel_scope.cancel()
    assert len(set(seen)) > 90


async def test_a_reader_that_does_not_read_holds_up_whoever_drains_and_nobody_else(pipe: tuple[int, int]) -> None:
    reader, descriptor = pipe
    writer = pipes.PipeWriter(descriptor)
    drained = anyio.Event()
    left = 3_000_000
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:

            async def drain() -> None:
                await writer.drain()
                drained.set()

            tasks.start_soon(writer.run)
            writer.write(b"x" * left)
            tasks.start_soon(drain)
            await anyio.wait_all_tasks_blocked()
            assert not drained.is_set()
            while not drained.is_set():
                await anyio.wait_readable(reader)
                left -= len(os.read(reader, 100_000))
            tasks.cancel_scope.cancel()
    assert 0 < left <= 1_500_000


async def test_nobody_waits_for_a_reader_that_has_gone(pipe: tuple[int, int]) -> None:
    reader, descriptor = pipe
    writer = pipes.PipeWriter(descriptor)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.run)
            writer.write(b"x" * 3_000_000)
            tasks.start_soon(writer.drain)
            await anyio.wait_all_tasks_blocked()
            os.close(reader)
            await writer.flush()
            writer.write(b"into the void")
            await writer.flush()
            tasks.cancel_scope.cancel()


async def test_a_regular_file_is_written_whole(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "output", os.O_WRONLY | os.O_CREAT)
    writer = pipes.PipeWriter(fd)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.run)
            writer.write(b"one\n")
            writer.write(b"two\n")
            await writer.flush()
            tasks.cancel_scope.cancel()
    os.close(fd)
    assert (tmp_path / "output").read_bytes() == b"one\ntwo\n"


async def test_a_thread_that_writes_to_a_reader_that_does_not_read_holds_nobody_up(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, descriptor = pipe

    def never(_: int) -> bool:  # as on Windows
        return False

    monkeypatch.setattr(pipes, "is_selectable", never)
    writer = pipes.PipeWriter(descriptor)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.run)
            writer.write(b"x" * 1_000_000)
            await anyio.wait_all_tasks_blocked()
            assert writer.blocked
            tasks.cancel_scope.cancel()
        os.close(reader)  # as the end of the process at the other end does
        while writer.blocked:  # noqa: ASYNC110 - a thread tells no events
            await anyio.sleep(0.01)


async def test_a_descriptor_is_left_as_it_was_found(pipe: tuple[int, int]) -> None:
    _, descriptor = pipe
    writer = pipes.PipeWriter(descriptor)
    assert not os.get_blocking(descriptor)
    writer.restore()
    assert os.get_blocking(descriptor)


async def test_dev_null_and_files_need_a_thread_and_pipes_do_not(tmp_path: Path, pipe: tuple[int, int]) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", Path(os.devnull)):
        fd = os.open(path, os.O_RDONLY)
        assert not pipes.is_selectable(fd)
        os.close(fd)
    assert all(pipes.is_selectable(fd) for fd in pipe)
