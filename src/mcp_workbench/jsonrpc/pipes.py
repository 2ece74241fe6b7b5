"""Reading and writing file descriptors without blocking the event loop and, where the system allows, without threads.

A pipe, socket or terminal is waited for by the event loop itself; a thread hop per message would double the cost of a
tool call. What no selector can wait for (a regular file, anything on Windows) is read and written in a worker thread.
"""

import os
import stat
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import anyio
import anyio.to_thread

_CHUNK = 256 * 1024
MAX_LINE = 256 * 1024 * 1024
"""A line longer than this is no message; whoever sends it would otherwise fill the memory."""

_BACKLOG = 1024 * 1024
"""How many unsent bytes a writer collects before `drain` makes its callers wait."""

Receive = Callable[[], Awaitable[bytes]]
"""Waits for the next bytes; empty at the end."""


class LineTooLong(Exception):
    """A line passed MAX_LINE without ending."""


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
        yield b"".join(pending)
        for line in rest[:-1]:
            yield line
        pending, size = [rest[-1]], len(rest[-1])
    if last := b"".join(pending):
        yield last


async def read_text_lines(receive: Receive) -> AsyncIterator[str]:
    """Every line as text for people, in bounded memory: a very long one comes in pieces, bad bytes are replaced."""
    pending = b""
    while chunk := await receive():
        *lines, pending = (pending + chunk).split(b"\n")
        if len(pending) > _CHUNK:
            # Between words, if there are any: whoever looks for a secret in the pieces must find it whole.
            piece, space, rest = pending.rpartition(b" ")
            lines, pending = ([*lines, piece], rest) if space else ([*lines, pending], b"")
        for line in lines:
            yield line.decode(errors="replace").rstrip()
    if pending:
        yield pending.decode(errors="replace").rstrip()


class PipeWriter:
    """Sends bytes in order; `write` never blocks and never waits.

    What the pipe does not take at once is kept, and `run` sends it on. `drain` is how a caller respects a reader that
    is slower than itself.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._selectable = is_selectable(fd)
        self._backlog: deque[memoryview] = deque()
        self._backlog_bytes = 0
        self._more = anyio.Event()
        self._progressed = anyio.Event()
        self._broken = False
        self._was_blocking = os.get_blocking(fd) if self._selectable else True
        if self._selectable:
            os.set_blocking(fd, False)

    def write(self, data: bytes) -> None:
        """Send now what the pipe takes, keep the rest for `run`; a broken pipe swallows it."""
        if self._broken:
            return
        rest = memoryview(data)
        if self._selectable and not self._backlog:
            rest = rest[self._write_some(rest) :]
        if rest and not self._broken:
            self._backlog.append(rest)
            self._backlog_bytes += len(rest)
            self._more.set()

    async def drain(self) -> None:
        """Wait while the peer has fallen far behind."""
        while self._backlog_bytes > _BACKLOG and not self._broken:
            await self._progressed.wait()

    async def flush(self) -> None:
        """Wait until everything written has been taken."""
        while self._backlog and not self._broken:
            await self._progressed.wait()

    async def run(self) -> None:
        """Send on what `write` could not, until cancelled."""
        while True:
            if not self._backlog:
                self._more = anyio.Event()
                await self._more.wait()
            await self._send_first()
            if self._backlog_bytes <= _BACKLOG:  # nobody waits for less
                self._progressed.set()
                self._progressed = anyio.Event()

    def give_up(self) -> None:
        """Drop what was not sent, and let go whoever waits for it."""
        self._broken = True
        self._backlog.clear()
        self._backlog_bytes = 0
        self._progressed.set()

    def restore(self) -> None:
        """Leave the descriptor as it was found: others may share it."""
        with suppress(OSError):
            os.set_blocking(self._fd, self._was_blocking)

    async def _send_first(self) -> None:
        if self._selectable:
            await anyio.wait_writable(self._fd)
            sent = self._write_some(self._backlog[0])
        else:
            sent = await anyio.to_thread.run_sync(self._write_some, self._backlog[0])
        if self._broken:
            self._backlog.clear()
            self._backlog_bytes = 0
            return
        self._backlog_bytes -= sent
        self._backlog[0] = self._backlog[0][sent:]
        if not self._backlog[0]:
            self._backlog.popleft()

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._broken = True
            return 0
