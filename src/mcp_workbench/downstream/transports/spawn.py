"""Starting a program, and ending it with all that it has started, on each system.

Whatever goes wrong on the way to a running process, no descriptor and no child is left over, and the reason is a
sentence that says what to do.
"""

import asyncio
import errno
import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import anyio
import anyio.abc

from mcp_workbench.downstream.transports.transport import TransportFailed

_TERM_EXIT = 1.2
"""Seconds a server gets after SIGTERM, before SIGKILL; with the polite wait before it well under the five that a
shutdown may take."""

_LIMITS = {
    errno.EMFILE: "the limit of open files is reached (`ulimit -n`): raise it, or use fewer servers at a time",
    errno.ENFILE: "the system has as many files open as it allows",
    errno.EAGAIN: "the limit of processes is reached (`ulimit -u`): raise it, or end some",
    errno.ENOMEM: "there is not enough memory for another process",
    errno.E2BIG: "its arguments and environment are longer than the system allows",
}
"""What a person can do about the limits of the system that keep a program from starting."""


@dataclass(frozen=True)
class Program:
    """What to run."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None


async def spawn(program: Program) -> tuple[anyio.abc.Process, tuple[int, int, int]]:
    """Start the process; our ends of its stdin, stdout and stderr.

    Raises:
        TransportFailed: The process could not be started.
    """
    try:
        child_stdin, stdin, stdout, child_stdout, stderr, child_stderr = _make_pipes()
    except OSError as error:
        raise TransportFailed(_describe(program, error)) from None
    try:
        _make_ready_to_watch()
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
            raise TransportFailed(_describe(program, error)) from None
        raise
    finally:
        for fd in (child_stdin, child_stdout, child_stderr):
            os.close(fd)
    _keep_tree_together(process)
    return process, (stdin, stdout, stderr)


def _make_pipes() -> list[int]:
    """Both ends of three pipes, or none at all."""
    ends: list[int] = []
    try:
        for _ in range(3):
            ends += os.pipe()
    except OSError:
        for fd in ends:
            os.close(fd)
        raise
    return ends


def _describe(program: Program, error: OSError | ValueError) -> str:
    command = program.command
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if program.cwd is not None and not os.path.isdir(program.cwd):
            return f"working directory not found: '{program.cwd}'"
        if shutil.which(command, path=program.env.get("PATH", "")):
            return f"cannot run '{command}': the interpreter that its first line names was not found"
        return f"command not found: '{command}' ({_where_it_was_sought(program)})"
    if isinstance(error, PermissionError):
        if program.cwd is not None and not os.access(program.cwd, os.X_OK):
            return f"working directory cannot be entered: '{program.cwd}'"
        return f"not allowed to run '{command}' (is it an executable file?)"
    if isinstance(error, OSError) and error.errno in _LIMITS:
        return f"cannot run '{command}': {_LIMITS[error.errno]}"
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
    from subprocess import CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW

    from anyio import to_thread
    from mcp.os.win32 import utilities as windows

    async def _executable(command: str) -> str:
        return await to_thread.run_sync(windows.get_windows_executable_command, command)

    _CREATION_FLAGS = CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW

    def _make_ready_to_watch() -> None:
        """Windows tells of the end of a child by itself."""

    def _keep_tree_together(process: anyio.abc.Process) -> None:
        """Put the process into a job: it holds what the process starts, also when the process itself has exited."""
        windows._maybe_assign_process_to_job(process, windows._create_job_object())  # pyright: ignore[reportPrivateUsage]

    async def end_tree(process: anyio.abc.Process) -> None:
        """End the process and all that it has started; there is no gentle way here."""
        await windows.terminate_windows_process_tree(process)

else:
    from mcp.os.posix.utilities import terminate_posix_process_tree

    async def _executable(command: str) -> str:
        return command

    _CREATION_FLAGS = 0

    def _make_ready_to_watch() -> None:
        """See to it that asyncio can wait for a child before there is one: else the child would be left over.

        Raises:
            OSError: It cannot.
        """
        if not _has_process_descriptors():
            _start_a_thread()
        elif sys.version_info < (3, 12):  # later ones do so by themselves
            _use_process_descriptors()

    @cache
    def _has_process_descriptors() -> bool:
        """Whether the kernel tells of the end of a child through a descriptor; else asyncio needs a thread for each."""
        try:
            os.close(os.pidfd_open(os.getpid()))
        except (AttributeError, OSError):
            return False
        return True

    def _use_process_descriptors() -> None:
        policy = asyncio.get_event_loop_policy()  # pyright: ignore[reportDeprecated] - not where this is called
        watcher = policy.get_child_watcher()  # pyright: ignore[reportDeprecated]
        if not isinstance(watcher, asyncio.PidfdChildWatcher):
            watcher = asyncio.PidfdChildWatcher()
            watcher.attach_loop(asyncio.get_running_loop())
            policy.set_child_watcher(watcher)  # pyright: ignore[reportDeprecated]

    def _start_a_thread() -> None:
        thread = threading.Thread(target=int)
        try:
            thread.start()
        except RuntimeError:
            raise OSError(errno.EAGAIN, "can't start new thread") from None
        thread.join()

    def _keep_tree_together(process: anyio.abc.Process) -> None:
        """A process group of its own does so."""

    async def end_tree(process: anyio.abc.Process) -> None:
        """End the process and all that it has started: by SIGTERM, then by SIGKILL."""
        await terminate_posix_process_tree(process, _TERM_EXIT)
