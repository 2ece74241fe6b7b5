"""Reading and writing file descriptors without blocking the event loop and, where the system allows, without threads.

A pipe, socket or terminal is waited for by the event loop itself; a thread hop per message would double the cost of a
tool call. What no selector can wait for (a regular file, anything on Windows) is read and written in a worker thread.
"""

import asyncio
import os
import stat
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from time import perf_counter

import anyio
import anyio.lowlevel
import anyio.to_thread

_CHUNK = 256 * 1024
MAX_LINE = 256 * 1024 * 1024
"""A line longer than this is no message; whoever sends it would otherwise fill the memory."""

BACKLOG = 1024 * 1024
"""How many unsent bytes a writer collects before `drain` makes its callers wait."""

_PIPE = 64 * 1024
"""Bytes that a pipe usually takes at once."""

_SLICE = 0.001
"""Seconds for which the lines of one source are handled before everybody else has a turn."""

Receive = Callable[[], Awaitable[bytes]]
"""Waits for the next bytes; empty at the end."""


class LineTooLong(Exception):
    """A line passed MAX_LINE without ending."""

    def __init__(self) -> None:
        super().__init__(f"a line of more than {MAX_LINE >> 20} MB")


def is_selectable(fd: int) -> bool:
    """Whether the event loop can wait for this descriptor."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


def receiver(fd: int) -> Receive:
    """The way to receive bytes from a descriptor."""

    async def receive_when_readable() -> bytes:
        await anyio.wait_readable(fd)
        return os.read(fd, _CHUNK)

    limiter = anyio.CapacityLimiter(1)  # the default one is shared, and twenty waiting readers would exhaust it

    async def receive_in_thread() -> bytes:
        return await anyio.to_thread.run_sync(os.read, fd, _CHUNK, abandon_on_cancel=True, limiter=limiter)

    return receive_when_readable if is_selectable(fd) else receive_in_thread


async def read_lines(receive: Receive) -> AsyncIterator[bytes]:
    """Every line until the end, without its line feed; an unfinished last line counts.

    Raises:
        LineTooLong: The peer sends a line that does not end.
    """
    pending: list[bytes] = []
    size = 0
    while chunk := await receive():
        first, *rest = chunk.split(b"\n")
        pending.append(first)
        size += len(first)
        if size > MAX_LINE:
            raise LineTooLong
        if not rest:
            continue
        async for line in _in_slices([b"".join(pending), *rest[:-1]]):
            yield line
        pending, size = [rest[-1]], len(rest[-1])
    if last := b"".join(pending):
        yield last


async def read_text_lines(receive: Receive, cut: Callable[[str], int] = len) -> AsyncIterator[str]:
    """Every line as text for people, in bounded memory: a very long one comes in pieces, bad bytes are replaced.

    Args:
        receive: Waits for the next bytes.
        cut: Where a line that goes on may be parted, such as `Redactor.cut`; 0 where that cannot be told yet.
    """
    pending = b""
    while chunk := await receive():
        *lines, pending = (pending + chunk).split(b"\n")
        if len(pending) > _CHUNK:
            piece, pending = _parted(pending, cut)
            lines = [*lines, piece]
        async for line in _in_slices(lines):
            yield line.decode(errors="replace").rstrip()
    if pending:
        yield pending.decode(errors="replace").rstrip()


def _parted(line: bytes, cut: Callable[[str], int]) -> tuple[bytes, bytes]:
    """The part of an unfinished line that may be handed on, and the rest; all of it once it is far too long."""
    text = line.decode(errors="surrogateescape")
    place = cut(text) if len(line) <= 4 * _CHUNK else len(text)
    return text[:place].encode(errors="surrogateescape"), text[place:].encode(errors="surrogateescape")


async def _in_slices(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    """The lines, with a turn for everybody else whenever handling them has taken a while.

    A chunk holds thousands of short lines. Handled in one go, those of a server that floods would hold up every other
    server's calls at each step of their way.
    """
    over = perf_counter() + _SLICE
    for line in lines:
        yield line
        if perf_counter() > over:
            await anyio.lowlevel.checkpoint()
            over = perf_counter() + _SLICE


class PipeWriter:
    """Sends bytes in order; `write` never blocks and never waits.

    Everything written in one turn of the event loop leaves together, at the turn's end: a system call per message would
    take a quarter of the time of a busy workbench. What the pipe does not take then is kept, and `run` sends it on.
    `drain` is how a caller respects a reader that is slower than itself.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._selectable = is_selectable(fd)
        self._loop = asyncio.get_running_loop()
        self._backlog: deque[memoryview] = deque()
        self._unsent = 0
        self._sending = False
        """Whether the turn's end, or `run`, is going to send what there is."""
        self._more = anyio.Event()
        self._progressed = anyio.Event()
        self._turn = anyio.Lock()
        self._broken = False
        self.blocked = False
        """Whether a thread is writing: closing the descriptor would have to wait for it."""
        self._thread = anyio.CapacityLimiter(1)
        self._was_blocking = os.get_blocking(fd) if self._selectable else True
        if self._selectable:
            os.set_blocking(fd, False)

    @property
    def unsent(self) -> int:
        """How many bytes wait for the reader."""
        return self._unsent

    def write(self, data: bytes) -> None:
        """Send this at the end of the turn, or when the reader takes it; a broken pipe swallows it."""
        if self._broken:
            return
        self._backlog.append(memoryview(data))
        self._unsent += len(data)
        if not self._sending:
            self._sending = True
            if self._selectable:
                self._loop.call_soon(self._send_at_once)
            else:
                self._more.set()

    async def drain(self) -> None:
        """Wait while the reader has fallen far behind; whoever waited first goes on first, and may then write."""
        if self._unsent > BACKLOG:
            async with self._turn:
                await self._until_at_most(BACKLOG)

    async def flush(self) -> None:
        """Wait until everything written has been taken."""
        await self._until_at_most(0)

    async def run(self) -> None:
        """Send on what could not leave at once, until cancelled."""
        while True:
            await self._more.wait()
            self._more = anyio.Event()
            while self._backlog:
                await self._send_when_possible()
            self._sending = False

    def give_up(self) -> None:
        """Drop what was not sent, and let go whoever waits for it."""
        self._broken = True
        self._backlog.clear()
        self._unsent = 0
        self._tell_progress()

    def restore(self) -> None:
        """Leave the descriptor as it was found: others may share it."""
        with suppress(OSError):
            os.set_blocking(self._fd, self._was_blocking)

    async def _until_at_most(self, unsent: int) -> None:
        while self._unsent > unsent:
            await self._progressed.wait()

    def _send_at_once(self) -> None:
        if self._backlog:  # unless it was given up
            self._sent(_write_some(self._fd, self._next_chunk()))
        if self._backlog:
            self._more.set()
        else:
            self._sending = False

    async def _send_when_possible(self) -> None:
        chunk = self._next_chunk()
        if self._selectable:
            await anyio.wait_writable(self._fd)
            self._sent(_write_some(self._fd, chunk))
        else:
            self.blocked = True
            self._sent(
                await anyio.to_thread.run_sync(
                    self._write_in_thread, chunk, abandon_on_cancel=True, limiter=self._thread
                )
            )

    def _write_in_thread(self, chunk: memoryview) -> int | None:
        try:
            return _write_some(self._fd, chunk)
        finally:
            self.blocked = False

    def _next_chunk(self) -> memoryview:
        """What comes first, with as many small messages behind it as a pipe takes at once."""
        parts = [self._backlog.popleft()]
        size = len(parts[0])
        while self._backlog and size + len(self._backlog[0]) <= _PIPE:
            parts.append(self._backlog.popleft())
            size += len(parts[-1])
        self._backlog.appendleft(parts[0] if len(parts) == 1 else memoryview(b"".join(parts)))
        return self._backlog[0]

    def _sent(self, count: int | None) -> None:
        """Forget what was sent; None: the reader is gone."""
        if count is None:
            self.give_up()
        elif self._backlog:  # unless it was given up meanwhile
            self._unsent -= count
            self._backlog[0] = self._backlog[0][count:]
            if not self._backlog[0]:
                self._backlog.popleft()
            self._tell_progress()

    def _tell_progress(self) -> None:
        if self._unsent <= BACKLOG:  # nobody waits for less
            self._progressed.set()
            self._progressed = anyio.Event()


def _write_some(fd: int, data: memoryview) -> int | None:
    """How many bytes the pipe took; None when nobody reads it any more."""
    try:
        return os.write(fd, data)
    except BlockingIOError:
        return 0
    except OSError:
        return None
