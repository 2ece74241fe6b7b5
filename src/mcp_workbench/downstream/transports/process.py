"""A server that is a program, as a transport: its pipes, the end of its stderr, its exit status, and ending it.

The SDK's `stdio_client` keeps the process to itself: it tells no exit status, hands stderr only to a real file, and
spends two task switches on every message. Users need the status and the last stderr lines in every error, so this
transport owns the process, and keeps the promises of the SDK's: a process group of its own, an end that is polite
first, then firm, always bounded, and that takes grandchildren along.
"""

import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel

from mcp_workbench.downstream.transports.spawn import Program, end_tree, spawn
from mcp_workbench.downstream.transports.transport import NoResponse, Received, with_tail
from mcp_workbench.jsonrpc import codec, pipes
from mcp_workbench.redaction import Redactor

_FLUSH = 0.2
"""Seconds for what was written to reach a server that is about to be stopped."""

_POLITE_EXIT = 1.2
"""Seconds a server gets to leave after its stdin closed, before it is ended."""

_REAP = 1.0
"""Seconds for the event loop to see a killed process gone."""

_LAST_OUTPUT = 0.5
"""Seconds for a dead server's last answers to be read; a surviving grandchild may hold the pipe open."""

_LAST_STDERR = 0.5
"""Seconds for the rest of its stderr, likewise."""

_TAIL_LINES = 12
_TAIL_LINE_LENGTH = 400

MAX_UNREAD = 4 * 1024 * 1024
"""Bytes of answers and notifications that wait, behind what may wait anyway, for a server that does not read."""

_QUOTED = 4000
"""Bytes of a line that cannot be read that are logged and quoted."""

OnStderr = Callable[[str], None]


class ProcessTransport:
    """Messages to and from a running program; a `Transport`. `run_process` makes it and ends it."""

    kind = "stdio"
    ends_at_unknown_methods = True

    def __init__(
        self, process: anyio.abc.Process, pipe_ends: tuple[int, int, int], on_stderr: OnStderr, redact: Redactor
    ) -> None:
        stdin, stdout, stderr = pipe_ends
        self._process = process
        self._pipe_ends = [*pipe_ends]
        self._writer = pipes.PipeWriter(stdin)
        self._receive = pipes.receiver(stdout)
        self._receive_stderr = pipes.receiver(stderr)
        self._on_stderr = on_stderr
        self._redact = redact
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._reading = anyio.CancelScope()
        self._stdout_ended = False
        self._failure = ""
        """Why we want nothing more of the process, should that be so before it ends."""
        self._unread = 0
        self._stderr_ended = anyio.Event()
        self._writing = anyio.CancelScope()

    # What a transport does.

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message, never waiting; a server that is gone swallows it, one that never reads is given up."""
        if self._writing.cancel_called or self._failure:
            return
        line = codec.encode(message)
        # Calls wait in `drain` until there is room. What is sent while there is none answers the server itself.
        self._unread = self._unread + len(line) if self._writer.unsent > pipes.BACKLOG else 0
        if self._unread > MAX_UNREAD:
            self._give_up(f"does not read its stdin: more than {MAX_UNREAD >> 20} MB of messages wait for it")
        else:
            self._writer.write(line)

    async def drain(self) -> None:
        """Wait while the server has fallen far behind in reading its stdin."""
        await self._writer.drain()

    async def messages(self) -> AsyncIterator[Received]:
        """What the server writes to stdout, until it closes it or exits."""
        try:
            async for line in pipes.read_lines(self._receive_until_exit):
                if self._failure:
                    return
                try:
                    yield codec.decode(line)
                except codec.Unreadable as problem:
                    for failed in self._take_unreadable(line, problem):
                        yield failed
        except pipes.LineTooLong as error:
            self._give_up(f"sent {error}")
        except OSError as error:
            self._give_up(f"has a stdout that cannot be read any more: {error}")

    async def end_reason(self) -> str:
        """How the process ended, with the last lines of its stderr; waits briefly for the exit and for those."""
        if self._failure:
            return with_tail(self._failure, self.stderr_tail())
        with anyio.move_on_after(_LAST_STDERR):
            await self._process.wait()
            await self._stderr_ended.wait()
        return with_tail(_describe_exit(self._process.returncode), self.stderr_tail())

    def stderr_tail(self) -> list[str]:
        """The last lines of stderr so far."""
        return list(self._tail)

    def note(self, text: str) -> None:
        """Log the beginning of a remark, and keep it for error messages."""
        self._on_stderr(self._kept(text))

    async def pump_stdin(self) -> None:
        """Send on what the server did not take at once."""
        with self._writing:
            await self._writer.run()

    async def pump_stderr(self) -> None:
        """Read stderr for as long as there is any, so that it never blocks the server."""
        try:
            async for line in pipes.read_text_lines(self._receive_stderr, self._redact.cut):
                self._kept(line)
                self._on_stderr(line)
        finally:
            self._stderr_ended.set()

    def _kept(self, line: str) -> str:
        shown = self._redact.beginning(line, _TAIL_LINE_LENGTH)
        if shown:
            self._tail.append(shown)
        return shown

    async def _receive_until_exit(self) -> bytes:
        """What comes next from stdout; nothing once the process has exited and had the time for its last answers."""
        if not self._stdout_ended:
            with anyio.CancelScope() as self._reading:
                return await self._receive()
        return b""

    def _take_unreadable(self, line: bytes, problem: codec.Unreadable) -> list[NoResponse]:
        """Note a line that is no message, refuse the requests in it, and say which of ours it would have answered."""
        if not line.strip():
            return []
        self.note(f"(on stdout, not a protocol message) {line[:_QUOTED].decode(errors='replace')}")
        for request_id in problem.requests:
            self.send(problem.refusal(request_id))
        return [NoResponse(request_id, f"its response cannot be read: {problem}") for request_id in problem.responses]

    # Its pipes and its end, in the tasks of `run_process`.

    async def end_reading_after_exit(self) -> None:
        """Let `messages` end when the process has exited, whatever its descendants do with its stdout."""
        await self._process.wait()
        await anyio.sleep(_LAST_OUTPUT)
        self._end_reading()

    def _give_up(self, reason: str) -> None:
        self._failure = self._failure or reason
        self._end_reading()

    def _end_reading(self) -> None:
        self._stdout_ended = True
        self._reading.cancel()

    async def stop(self) -> None:
        """End the process and all its descendants: politely, then firmly; every wait is bounded."""
        with anyio.move_on_after(_FLUSH):
            await self._writer.flush()
        self._writing.cancel()
        self._writer.give_up()
        await anyio.lowlevel.checkpoint()  # the pump must have let go of the descriptor before it is closed
        if not self._writer.blocked:
            self._close_first()
        with anyio.move_on_after(_POLITE_EXIT):
            await self._process.wait()
        await end_tree(self._process)
        with anyio.move_on_after(_REAP):
            await self._process.wait()

    def close(self) -> None:
        """Give the remaining descriptors back; call when no task reads them any more."""
        while self._pipe_ends:
            self._close_first()

    def _close_first(self) -> None:
        with suppress(OSError):
            os.close(self._pipe_ends.pop(0))


@asynccontextmanager
async def run_process(program: Program, on_stderr: OnStderr, redact: Redactor) -> AsyncGenerator[ProcessTransport]:
    """Run a program for as long as the block lasts; afterwards nothing of it is left.

    Raises:
        TransportFailed: The process could not be started.
    """
    process = ProcessTransport(*await spawn(program), on_stderr, redact)
    try:
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(process.pump_stdin)
            pumps.start_soon(process.pump_stderr)
            pumps.start_soon(process.end_reading_after_exit)
            try:
                yield process
            finally:
                with anyio.CancelScope(shield=True):
                    await process.stop()
                pumps.cancel_scope.cancel()
    finally:
        process.close()


def _describe_exit(returncode: int | None) -> str:
    if returncode is None:
        return "closed its stdout"
    if returncode >= 0:
        return f"exited with status {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"
