"""A process that has imported the program once, and forks the real program as often as it is asked to.

It is no test double: what it forks has a process id, standard streams, environment, working directory and session of
its own, runs `python -m mcp_workbench` from its first line, and ends as the interpreter ends a program. Only imports
are shared. `starting.py` is its client, and says when a start must not be shared.

`argv[1]` is the descriptor of a socket. Each message on it is a start: JSON, and the descriptors that become standard
input, output and error, and one on which the answer is given: the process id, and later how the process ended, a line
each. The end of the socket ends this process, not those that it has forked.
"""

import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

MESSAGE_SIZE = 1 << 20
_STDERR = 2
_FIRST_OTHER = 3
_LAST_OTHER = 1 << 16


def main() -> None:
    """Answer starts until nobody can ask any more; in a forked process, be the program."""
    import_the_program()
    start = forked_starts(int(sys.argv[1]))
    if start is not None:
        become(start)
        runpy.run_module("mcp_workbench", run_name="__main__", alter_sys=True)


def import_the_program() -> None:
    """Import all that a serving workbench or one of its commands will."""
    import mcp_workbench

    gc.disable()
    for module in pkgutil.walk_packages(mcp_workbench.__path__, "mcp_workbench."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # what an extra brings need not be there
                importlib.import_module(module.name)
    importlib.import_module("anyio._backends._asyncio")
    gc.freeze()
    gc.enable()


def forked_starts(descriptor: int) -> dict[str, Any] | None:
    """Fork for every start that comes; returns the start in a forked process, and None here at the end."""
    poll, answers = select.poll(), dict[int, tuple[int, int]]()
    poll.register(descriptor, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready in answers:
                poll.unregister(ready)
                _answer_end(ready, *answers.pop(ready))
                continue
            start, streams = _next_start(descriptor)
            if start is None:
                return None
            pid = os.fork()
            if pid == 0:
                start["streams"] = streams[:3]
                return start
            os.write(streams[3], b"%d\n" % pid)
            watched = os.pidfd_open(pid)
            answers[watched] = (pid, streams[3])
            poll.register(watched, select.POLLIN)
            for stream in streams[:3]:
                os.close(stream)


def _next_start(descriptor: int) -> tuple[dict[str, Any] | None, list[int]]:
    channel = socket.socket(fileno=descriptor)
    try:
        message, streams, _, _ = socket.recv_fds(channel, MESSAGE_SIZE, 4)
    finally:
        channel.detach()
    return (json.loads(message) if message else None), streams


def _answer_end(watched: int, pid: int, answer: int) -> None:
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(BrokenPipeError):  # whoever started it has stopped waiting
        os.write(answer, b"%d\n" % status)
    os.close(watched)
    os.close(answer)


def become(start: dict[str, Any]) -> None:
    """Make this process what a freshly started interpreter would be."""
    for number, stream in enumerate(start["streams"]):
        os.dup2(stream, number)
    os.closerange(_FIRST_OTHER, _LAST_OTHER)
    if start["session"]:
        os.setsid()
    os.umask(start["umask"])
    os.chdir(start["cwd"])
    os.environ.clear()
    os.environ.update(start["env"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = sys.__stdin__ = _standard_stream(0, "r", sys.stdin)
    sys.stdout = sys.__stdout__ = _standard_stream(1, "w", sys.stdout)
    sys.stderr = sys.__stderr__ = _standard_stream(2, "w", sys.stderr)
    sys.path[0] = os.getcwd()
    sys.argv[1:] = start["arguments"]


def _standard_stream(descriptor: int, mode: str, like: Any) -> io.TextIOWrapper:
    """A standard stream as the interpreter makes it."""
    unbuffered = mode == "w" and bool(os.environ.get("PYTHONUNBUFFERED"))
    raw = open(descriptor, f"{mode}b", buffering=0 if unbuffered else -1, closefd=False)  # noqa: SIM115 - never closed
    line_buffering = descriptor == _STDERR or os.isatty(descriptor)
    return io.TextIOWrapper(
        raw, encoding=like.encoding, errors=like.errors, line_buffering=line_buffering, write_through=unbuffered
    )


if __name__ == "__main__":
    main()
