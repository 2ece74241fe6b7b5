"""Starting programs for tests. What a test gets is always a real process over real pipes, or a real terminal.

Starting the workbench costs half a second of imports, and the tests start it more than a thousand times. So on Linux
`python -m mcp_workbench` is forked from a process that has done the imports (`forking_server.py`), once for every
process that runs tests. Any other command, another platform, an environment that changes how Python itself starts, and
a test that asks for it (`fresh`) get a process of the operating system's making. With `WORKBENCH_TESTS_FRESH=1` all do.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
import anyio.abc
import anyio.lowlevel

PROGRAM = (sys.executable, "-m", "mcp_workbench")
_SERVER = Path(__file__).parent / "forking_server.py"
_OF_THE_INTERPRETER = ("PYTHON", "COVERAGE", "LC_", "LANG", "LD_", "DYLD_")
_HARMLESS = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")  # the first is heeded when the standard streams are made
_LONGEST_START = 100_000
_CHUNK = 65536


@dataclass(frozen=True)
class Completed:
    """What a process that has ended left behind."""

    returncode: int
    stdout: bytes
    stderr: bytes


async def open_process(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | Path | None = None,
    stdin: int = PIPE, stdout: int = PIPE, stderr: int = PIPE, start_new_session: bool = False, fresh: bool = False,
) -> anyio.abc.Process:  # fmt: skip
    """Start a program, as `anyio.open_process` does.

    Args:
        command: The program and its arguments.
        env: Its whole environment; without it this process's own.
        cwd: Where to run it.
        stdin: What it reads.
        stdout: Where it writes.
        stderr: Where it complains.
        start_new_session: Whether it leads a session and process group of its own.
        fresh: Whether its interpreter must start for it alone.
    """
    whole = dict(os.environ if env is None else env)
    if fresh or not _may_be_forked(command, whole):
        return await anyio.open_process(
            list(command), env=whole, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr,
            start_new_session=start_new_session,
        )  # fmt: skip
    return _fork(command, whole, str(cwd or Path.cwd()), (stdin, stdout, stderr), start_new_session)


async def run_process(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | Path | None = None,
    stdin: int = DEVNULL, stdout: int = PIPE, stderr: int = PIPE, fresh: bool = False,
) -> Completed:  # fmt: skip
    """Run a program to its end; whoever is cancelled meanwhile takes it along."""
    process = await open_process(command, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, fresh=fresh)
    read = [bytearray(), bytearray()]
    async with process, anyio.create_task_group() as reading:
        for stream, into in zip((process.stdout, process.stderr), read, strict=True):
            if stream is not None:
                reading.start_soon(_read_all, stream, into)
    status = await process.wait()
    return Completed(status, bytes(read[0]), bytes(read[1]))


async def _read_all(stream: anyio.abc.ByteReceiveStream, into: bytearray) -> None:
    async for chunk in stream:
        into += chunk


def _may_be_forked(command: Sequence[str], env: Mapping[str, str]) -> bool:
    if sys.platform != "linux" or tuple(command[: len(PROGRAM)]) != PROGRAM:
        return False
    if os.environ.get("WORKBENCH_TESTS_FRESH") or any(name.startswith("COVERAGE") for name in os.environ):
        return False
    size = sum(map(len, command)) + sum(len(name) + len(value) for name, value in env.items())
    return _shaping(env) == _shaping(os.environ) and size < _LONGEST_START


def _shaping(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that an interpreter reads when it starts; a forked one has read them already."""
    shaping = (name for name in env if name.startswith(_OF_THE_INTERPRETER) and name not in _HARMLESS)
    return {name: env[name] for name in shaping}


@cache
def _forking_server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, str(_SERVER), str(theirs.fileno())], pass_fds=[theirs.fileno()],
            cwd=_SERVER.parent, stdin=DEVNULL, stdout=DEVNULL, start_new_session=True,
        )  # fmt: skip
    atexit.register(_end, server, ours)
    return ours


def _end(server: subprocess.Popen[bytes], channel: socket.socket) -> None:
    channel.close()
    server.wait()


def _fork(
    command: Sequence[str], env: Mapping[str, str], cwd: str, streams: tuple[int, int, int], session: bool
) -> "ForkedProcess":
    umask = os.umask(0)
    os.umask(umask)
    start = {"arguments": command[len(PROGRAM) :], "env": env, "cwd": cwd, "session": session, "umask": umask}
    answer, theirs = os.pipe()
    ends = [_end_for(stream, reads=number == 0) for number, stream in enumerate(streams)]
    socket.send_fds(_forking_server(), [json.dumps(start).encode()], [*(end.theirs for end in ends), theirs])
    for end in ends:
        if end.to_close:
            os.close(end.theirs)
    os.close(theirs)
    pid = os.read(answer, 32)
    assert pid, f"{_SERVER.name} has ended; see its traceback"
    return ForkedProcess(int(pid), answer, [end.ours for end in ends])


@dataclass(frozen=True)
class _End:
    theirs: int
    ours: int | None = None
    to_close: bool = True


def _end_for(stream: int, *, reads: bool) -> _End:
    if stream == DEVNULL:
        return _End(os.open(os.devnull, os.O_RDWR))
    if stream != PIPE:
        return _End(stream, to_close=False)
    read, write = os.pipe()
    theirs, ours = (read, write) if reads else (write, read)
    os.set_blocking(ours, False)
    return _End(theirs, ours)


class _Reader(anyio.abc.ByteReceiveStream):
    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    async def receive(self, max_bytes: int = _CHUNK) -> bytes:
        if self._descriptor is None:
            raise anyio.ClosedResourceError
        await anyio.wait_readable(self._descriptor)
        if chunk := os.read(self._descriptor, max_bytes):
            return chunk
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            anyio.notify_closing(descriptor)
            os.close(descriptor)


class _Writer(anyio.abc.ByteSendStream):
    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        rest = memoryview(item)
        while rest:
            if self._descriptor is None:
                raise anyio.ClosedResourceError
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._descriptor)
            except BrokenPipeError as error:
                raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            anyio.notify_closing(descriptor)
            os.close(descriptor)
        await anyio.lowlevel.checkpoint()


class ForkedProcess(anyio.abc.Process):
    """A process whose parent tells us how it ended."""

    def __init__(self, pid: int, answer: int, ours: Sequence[int | None]) -> None:
        self._pid = pid
        self._answer = answer
        self._returncode: int | None = None
        self._waiting = anyio.Lock()
        self._stdin = None if ours[0] is None else _Writer(ours[0])
        self._stdout = None if ours[1] is None else _Reader(ours[1])
        self._stderr = None if ours[2] is None else _Reader(ours[2])

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def returncode(self) -> int | None:
        if self._returncode is None:
            poll = select.poll()
            poll.register(self._answer, select.POLLIN)
            if poll.poll(0):
                self._take_status()
        return self._returncode

    @property
    def stdin(self) -> anyio.abc.ByteSendStream | None:
        return self._stdin

    @property
    def stdout(self) -> anyio.abc.ByteReceiveStream | None:
        return self._stdout

    @property
    def stderr(self) -> anyio.abc.ByteReceiveStream | None:
        return self._stderr

    async def wait(self) -> int:
        await anyio.lowlevel.checkpoint()
        async with self._waiting:
            while (status := self.returncode) is None:
                await anyio.wait_readable(self._answer)
        return status

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, signal: int) -> None:
        if self.returncode is None:
            os.kill(self._pid, signal)

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True) as scope:
            for stream in (self._stdin, self._stdout, self._stderr):
                if stream is not None:
                    await stream.aclose()
            scope.shield = False
            try:
                await self.wait()
            except BaseException:
                scope.shield = True
                self.kill()
                await self.wait()
                raise

    def _take_status(self) -> None:
        self._returncode = int(os.read(self._answer, 32))
        os.close(self._answer)
