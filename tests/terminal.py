"""The commands as a person meets them: the real program, with its output in pipes or in a terminal of any width."""

import errno
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import psutil
import pytest

from starting import PROGRAM, open_process, run_process
from wire import PATIENCE, Json, alive, assert_gone, described, eventually, kill_all, read_log, scripted

_ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07)")
_COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7])m")


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    status: int
    out: str
    err: str

    def __post_init__(self) -> None:
        assert "Traceback" not in self.err, self.err


async def run(*words: str, cwd: Path, env: Mapping[str, str] | None = None) -> Finished:
    """Run a command with its output in pipes and no input."""
    with anyio.fail_after(PATIENCE):
        done = await run_process([*PROGRAM, *words], cwd=cwd, env=environment(env))
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


class Terminal:
    """A command in a terminal, and all that it has shown there."""

    def __init__(self, process: anyio.abc.Process, keyboard: int) -> None:
        self.process = process
        self.raw = ""
        self._keyboard = keyboard

    @property
    def text(self) -> str:
        """What was shown, without colours and movements."""
        return _ESCAPE.sub("", self.raw).replace("\r", "")

    @property
    def is_coloured(self) -> bool:
        return _COLOUR.search(self.raw) is not None

    async def shows(self, text: str) -> None:
        """Wait until a text has been shown."""
        with anyio.fail_after(PATIENCE):
            await eventually(lambda: text in self.text)

    def type(self, line: str) -> None:
        os.write(self._keyboard, line.encode() + b"\n")

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    async def status(self) -> int:
        """Wait for the end."""
        with anyio.fail_after(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def terminal(
    *words: str, cwd: Path, columns: int = 80, env: Mapping[str, str] | None = None
) -> AsyncGenerator[Terminal]:
    """Run a command whose input and output are a terminal; its whole output is there when the block is left."""
    if sys.platform == "win32":
        pytest.skip("needs a pseudo-terminal")
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    try:
        process = await open_process(
            [*PROGRAM, *words], cwd=cwd, env=environment({"TERM": "xterm-256color", **(env or {})}),
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(theirs)
    shown = Terminal(process, ours)
    try:
        async with anyio.create_task_group() as reading:
            reading.start_soon(_read, ours, shown)
            yield shown
            await shown.status()
    finally:
        os.close(ours)
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()
        left = _running_in(cwd)
        names = [described(other) for other in left]
        kill_all(left)
    assert not left, f"left behind: {names}"
    assert "Traceback" not in shown.text, shown.text


def _running_in(folder: Path) -> list[psutil.Process]:
    """What a command left there: its servers take over the folder that it is started in."""

    def is_there(process: psutil.Process) -> bool:
        try:
            return process.pid != os.getpid() and Path(process.cwd()) == folder.resolve() and alive(process)
        except psutil.Error:
            return False

    return [process for process in psutil.process_iter() if is_there(process)]


def logging(tmp_path: Path, name: str = "server", **options: Any) -> Json:
    """An entry for a scripted server whose life can be read in `log_of`."""
    return scripted(log=str(log_of(tmp_path, name)), **options)


def log_of(tmp_path: Path, name: str = "server") -> Path:
    return tmp_path / f"{name}.log"


async def assert_none_left(tmp_path: Path, *names: str) -> None:
    """Every process that these servers ever were has started, and is gone."""
    for name in names or ("server",):
        started = read_log(log_of(tmp_path, name), event="start") + read_log(log_of(tmp_path, name), event="grandchild")
        assert started, f"{name} never started"
        for event in started:
            await assert_gone(event["pid"])


def rows(output: str, *, under: Sequence[str] = ("toolbox", "server")) -> list[list[str]]:
    """The cells of a table, found by the first words of its header."""
    lines = iter(output.splitlines())
    found: list[list[str]] = []
    for line in lines:
        if line.split()[: len(under)] == list(under):
            break
    for line in lines:
        if not line.strip():
            break
        found.append(re.split(r"\s{2,}", line.strip()))
    return found


async def _read(descriptor: int, shown: Terminal) -> None:
    pending = b""
    while True:
        await anyio.wait_readable(descriptor)
        try:
            chunk = os.read(descriptor, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # how Linux says that the last writer has gone
                return
            raise
        if not chunk:
            return
        pending += chunk
        shown.raw = pending.decode(errors="replace")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The test's own environment without what changes how commands look and write."""
    unwanted = ("WORKBENCH_", "UV_RUN_", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_", "PYTHONUNBUFFERED")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**inherited, **(extra or {})}
