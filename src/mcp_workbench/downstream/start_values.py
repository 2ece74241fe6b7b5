"""The values of a server's entry that are known only when it starts: what `${cmd: command args}` prints.

No shell is involved. Every command of an entry runs at each start of its server, all at once, with the workbench's own
environment, and is ended when it takes too long, says too much or is no longer wanted. What it printed is a secret.
"""

import os
import shlex
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.abc
from pydantic import ValidationError

from mcp_workbench.config.document import show_path
from mcp_workbench.config.models import ServerConfig

S = TypeVar("S", bound=ServerConfig)

_PATIENCE = 30.0
_LONGEST_OUTPUT = 65_536
_LONGEST_COMPLAINT = 2_000


class NoStartValue(Exception):
    """A command did not give a value; `str()` says which and why."""


async def with_start_values(entry: S, learn: Callable[[Iterable[str]], None]) -> S:
    """The entry with the output of its commands in place; `learn` is told what is secret before anybody uses it.

    Raises:
        NoStartValue: A command gave no value, or one that cannot stand where it should.
    """
    commands = sorted(entry.commands)
    if not commands:
        return entry
    outcomes: dict[str, str | NoStartValue] = {}

    async def run(command: str) -> None:
        try:
            outcomes[command] = await _output_of(command)
        except NoStartValue as failure:
            outcomes[command] = failure

    async with anyio.create_task_group() as tasks:
        for command in commands:
            tasks.start_soon(run, command)
    failures = [str(outcome) for outcome in outcomes.values() if isinstance(outcome, NoStartValue)]
    if failures:
        raise NoStartValue("; ".join(failures))
    outputs = {command: outcome for command, outcome in outcomes.items() if isinstance(outcome, str)}
    learn(outputs.values())
    try:
        return entry.with_outputs(outputs)
    except ValidationError as error:
        keys = ", ".join(show_path(detail["loc"]) for detail in error.errors(include_url=False, include_input=False))
        raise NoStartValue(f"what {', '.join(map(_shown, commands))} printed cannot be used for {keys}") from None


async def _output_of(command: str) -> str:
    process = await _started(command)
    try:
        with anyio.fail_after(_PATIENCE):
            output, complaint = await _communicate(process)
            status = await process.wait()
    except TimeoutError:
        raise NoStartValue(f"{_shown(command)} did not end within {_PATIENCE:g} s") from None
    finally:
        await _end(process)
    if len(output) > _LONGEST_OUTPUT:
        raise NoStartValue(f"{_shown(command)} printed more than {_LONGEST_OUTPUT:,} bytes, which is no value")
    if status != 0:
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise NoStartValue(f"{_shown(command)} failed with exit status {status}{f': {last}' if last else ''}")
    return _value(output, command)


async def _started(command: str) -> anyio.abc.Process:
    try:
        words = shlex.split(command)
    except ValueError:
        raise NoStartValue(f"{_shown(command)} cannot be split into words: a quote is not closed") from None
    try:
        return await anyio.open_process(words, stdin=subprocess.DEVNULL, start_new_session=os.name == "posix")
    except FileNotFoundError:
        raise NoStartValue(f"{_shown(command)}: command not found: '{words[0]}'") from None
    except (OSError, ValueError) as error:
        raise NoStartValue(f"{_shown(command)} cannot be started ({error})") from None


async def _communicate(process: anyio.abc.Process) -> tuple[bytes, bytes]:
    """What the process prints, until it has said enough, and the last of what it complained about."""
    output, complaint = bytearray(), bytearray()
    assert process.stdout is not None
    assert process.stderr is not None

    async def hear(stream: anyio.abc.ByteReceiveStream) -> None:
        async for data in stream:
            complaint.extend(data)
            del complaint[:-_LONGEST_COMPLAINT]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hear, process.stderr)
        async for data in process.stdout:
            output.extend(data)
            if len(output) > _LONGEST_OUTPUT:
                tasks.cancel_scope.cancel()
                process.kill()
                break
    return bytes(output), bytes(complaint)


async def _end(process: anyio.abc.Process) -> None:
    """End the command, and whatever it has started, if it has not ended by itself."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            if os.name == "posix":
                os.killpg(process.pid, 9)
            else:
                process.kill()
    with anyio.CancelScope(shield=True):
        await process.aclose()


def _value(output: bytes, command: str) -> str:
    try:
        text = output.decode()
    except UnicodeDecodeError:
        raise NoStartValue(f"{_shown(command)} printed something that is not UTF-8 text") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise NoStartValue(f"{_shown(command)} printed nothing")
    return text


def _shown(command: str) -> str:
    return f"${{cmd: {command}}}"
