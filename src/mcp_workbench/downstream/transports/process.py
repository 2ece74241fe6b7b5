"""One downstream server as a process: its pipes, its last words, its exit status and its end.

The SDK's `stdio_client` keeps the process to itself: it tells no exit status, hands stderr only to a real file, and
spends two task switches on every message. Users need the status and the last stderr lines in every error, so this
transport owns the process, and keeps the promises of the SDK's: a process group of its own, an end that is polite
first, then firm, always bounded, and that takes grandchildren along.
"""

import os
import shutil
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
import anyio.abc
import anyio.lowlevel

from mcp_workbench.jsonrpc import pipes
from mcp_workbench.redaction import Redactor

_FLUSH = 0.2
"""Seconds for what was written to reach a server that is about to be stopped."""

_POLITE_EXIT = 1.2
"""Seconds a server gets to leave after its stdin closed."""

_TERM_EXIT = 1.2
"""Seconds it gets after SIGTERM, before SIGKILL; with the above well under the five that a shutdown may take."""

_REAP = 1.0
"""Seconds for the event loop to see a killed process gone."""

_LAST_WORDS = 0.5
"""Seconds to wait for the rest of a dead server's stderr; a surviving grandchild may hold the pipe open."""

_TAIL_LINES = 12
_TAIL_LINE_LENGTH = 400

OnStderr = Callable[[str], None]


@dataclass(frozen=True)
class Program:
    """What to run."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None


class SpawnFailed(Exception):
    """The process could not be started; `str()` is the reason a person reads."""


class ServerProcess:
    """A running server process. `run_process` makes it and ends it."""

    def __init__(
        self, process: anyio.abc.Process, pipe_ends: tuple[int, int, int], on_stderr: OnStderr, redact: Redactor
    ) -> None:
        stdin, stdout, stderr = pipe_ends
        self._process = process
        self._pipe_ends = pipe_ends
        self._writer = pipes.PipeWriter(stdin)
        self._receive = pipes.receiver(stdout)
        self._receive_stderr = pipes.receiver(stderr)
        self._on_stderr = on_stderr
        self._redact = redact
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._stderr_ended = anyio.Event()
        self._writing = anyio.CancelScope()

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._process.returncode

    def lines(self) -> AsyncIterator[bytes]:
        """What the server writes to stdout, line by line, until it closes it."""
        return pipes.read_lines(self._receive)

    def write(self, data: bytes) -> None:
        """Send bytes to the server's stdin, never waiting."""
        if not self._writing.cancel_called:
            self._writer.write(data)

    async def drain(self) -> None:
        """Wait while the server has fallen far behind in reading its stdin."""
        await self._writer.drain()

    async def wait(self) -> None:
        """Wait for the process to exit, whatever its descendants do."""
        await self._process.wait()

    async def last_words(self) -> list[str]:
        """The last lines of stderr, waiting briefly for the exit and the rest of them."""
        with anyio.move_on_after(_LAST_WORDS):
            await self.wait()
            await self._stderr_ended.wait()
        return self.stderr_tail()

    def stderr_tail(self) -> list[str]:
        """The last lines of stderr so far."""
        return list(self._tail)

    def note(self, line: str) -> None:
        """Log the beginning of a line, and keep it for error messages."""
        self._on_stderr(self._kept(line))

    async def pump_stdin(self) -> None:
        """Send on what the server did not take at once."""
        with self._writing:
            await self._writer.run()

    async def pump_stderr(self) -> None:
        """Read stderr for as long as there is any, so that it never blocks the server."""
        try:
            async for line in pipes.read_text_lines(self._receive_stderr):
                self._kept(line)
                self._on_stderr(line)
        finally:
            self._stderr_ended.set()

    def _kept(self, line: str) -> str:
        shown = self._redact.beginning(line, _TAIL_LINE_LENGTH)
        if shown:
            self._tail.append(shown)
        return shown

    async def stop(self) -> None:
        """End the process and all its descendants: politely, then firmly; every wait is bounded."""
        with anyio.move_on_after(_FLUSH):
            await self._writer.flush()
        self._writing.cancel()
        self._writer.give_up()
        await anyio.lowlevel.checkpoint()  # the pump must have let go of the descriptor before it is closed
        os.close(self._pipe_ends[0])
        with anyio.move_on_after(_POLITE_EXIT):
            await self.wait()
        await _end_tree(self._process)
        with anyio.move_on_after(_REAP):
            await self.wait()

    def close(self) -> None:
        """Give the remaining descriptors back; call when no task reads them any more."""
        for fd in self._pipe_ends[1:]:
            with suppress(OSError):
                os.close(fd)


@asynccontextmanager
async def run_process(program: Program, on_stderr: OnStderr, redact: Redactor) -> AsyncGenerator[ServerProcess]:
    """Run a server process for as long as the block lasts; afterwards nothing of it is left.

    Raises:
        SpawnFailed: The process could not be started.
    """
    process = ServerProcess(*await _spawn(program), on_stderr, redact)
    try:
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(process.pump_stdin)
            pumps.start_soon(process.pump_stderr)
            try:
                yield process
            finally:
                with anyio.CancelScope(shield=True):
                    await process.stop()
                pumps.cancel_scope.cancel()
    finally:
        process.close()


async def _spawn(program: Program) -> tuple[anyio.abc.Process, tuple[int, int, int]]:
    """Start the process; our ends of its stdin, stdout and stderr."""
    child_stdin, stdin = os.pipe()
    stdout, child_stdout = os.pipe()
    stderr, child_stderr = os.pipe()
    try:
        process = await anyio.open_process(
            [await _executable(program.command), *program.args],
            stdin=child_stdin,
            stdout=child_stdout,
            stderr=child_stderr,
            env=program.env,
            cwd=program.cwd,
            start_new_session=True,
            creationflags=_CREATION_FLAGS,
        )
    except BaseException as error:
        for fd in (stdin, stdout, stderr):
            os.close(fd)
        if isinstance(error, OSError | ValueError):
            raise SpawnFailed(_describe(program, error)) from None
        raise
    finally:
        for fd in (child_stdin, child_stdout, child_stderr):
            os.close(fd)
    return process, (stdin, stdout, stderr)


def _describe(program: Program, error: OSError | ValueError) -> str:
    command = program.command
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if program.cwd is not None and not os.path.isdir(program.cwd):
            return f"working directory not found: '{program.cwd}'"
        if shutil.which(command, path=program.env.get("PATH", "")):
            return f"cannot run '{command}': the interpreter that its first line names was not found"
        return f"command not found: '{command}' ({_where_it_was_sought(program)})"
    if isinstance(error, PermissionError):
        return f"not allowed to run '{command}' (is it an executable file?)"
    if isinstance(error, OSError):
        return f"cannot run '{command}': {error.strerror or error}"
    return f"cannot run '{command}': {error}"


def _where_it_was_sought(program: Program) -> str:
    if os.path.dirname(program.command):
        return "check the path"
    return (
        "install it, or give its full path; the PATH it was looked for in, which may be shorter than your shell's, is "
        f"{program.env.get('PATH', 'empty')}"
    )


if sys.platform == "win32":
    from subprocess import CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, DEVNULL

    from anyio import to_thread
    from mcp.os.win32.utilities import get_windows_executable_command

    async def _executable(command: str) -> str:
        return await to_thread.run_sync(get_windows_executable_command, command)

    _CREATION_FLAGS = CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW

    async def _end_tree(process: anyio.abc.Process) -> None:
        if process.returncode is None:
            await anyio.run_process(
                ["taskkill", "/F", "/T", "/PID", str(process.pid)], check=False, stdout=DEVNULL, stderr=DEVNULL
            )

else:
    from mcp.os.posix.utilities import terminate_posix_process_tree

    async def _executable(command: str) -> str:
        return command

    _CREATION_FLAGS = 0

    async def _end_tree(process: anyio.abc.Process) -> None:
        await terminate_posix_process_tree(process, _TERM_EXIT)
