"""The shutdown table: how the workbench ends, by what ends it and by what kind of servers it has.

    uv run python tests/faults/shutdown.py

Prints a Markdown table of seconds, exit status and processes left over, each cell measured with a workbench of its own,
and how many processes remain after a SIGKILL, which no program can answer. The exit status is 1 when a workbench took
longer than five seconds, ended with another status than 0, or left a process behind.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script, as pytest runs it with tests/ on the path

from plain_client import PlainClient
from wire import Json, alive, children_of, kill_all, read_log, scripted, write_config

PROMISED = 5.0
GIVEN = 15.0
"""Seconds after which a workbench that has not ended is counted as one that never does."""

Prepare = Callable[[PlainClient, Path], None]


@dataclass(frozen=True)
class Kind:
    """Servers of one kind, and how to bring them into the state in which they are ended."""

    name: str
    servers: list[Json]
    prepare: Prepare


@dataclass(frozen=True)
class End:
    """How one workbench ended."""

    seconds: float
    status: int | None
    left: int

    @property
    def as_promised(self) -> bool:
        return self.seconds <= PROMISED and self.status == 0 and not self.left

    def __str__(self) -> str:
        figures = f"{self.seconds:.1f} s, status {self.status}, {self.left} left"
        return figures if self.as_promised else f"**{figures}**"


def is_open(client: PlainClient, _log: Path) -> None:
    result = client.open("dev")
    assert not result.get("isError"), result


def is_busy(client: PlainClient, log: Path) -> None:
    is_open(client, log)
    client.start_use("dev", "server0", "hang")
    wait_for(log, event="executed", tool="hang")


def is_asking(client: PlainClient, log: Path) -> None:
    is_open(client, log)
    client.start_use("dev", "server0", "ask")
    wait_for(log, event="executed", tool="ask")


def is_frozen(client: PlainClient, log: Path) -> None:
    is_open(client, log)
    os.kill(read_log(log, event="start")[0]["pid"], signal.SIGSTOP)


def is_connecting(client: PlainClient, log: Path) -> None:
    client.start("tools/call", {"name": "open_toolbox", "arguments": {"toolbox_name": "dev"}})
    wait_for(log, event="start")


def are_connecting(client: PlainClient, log: Path) -> None:
    """All twenty have been started, and those that can be connected are."""
    client.start("tools/call", {"name": "open_toolbox", "arguments": {"toolbox_name": "dev"}})
    wait_for(log, event="start", count=20)
    wait_for(log, event="sent", count=45)  # a refused probe, a greeting and a tool list each


def is_not_heard(client: PlainClient, log: Path) -> None:
    """The client reads no more, and the pipe to it is full."""
    is_open(client, log)
    for _ in range(5):
        client.start_use("dev", "server0", "big", {"n": 3_000_000})
    wait_for(log, event="executed", count=5, tool="big")


def is_cut_off(client: PlainClient, log: Path) -> None:
    """The client has closed our stdout while calls are under way."""
    is_busy(client, log)
    client.close_stdout()
    client.start_use("dev", "server0", "big", {"n": 3_000_000})
    wait_for(log, event="executed", tool="big")


def wait_for(log: Path, *, count: int = 1, **wanted: Any) -> None:
    """Wait until the servers have logged it."""
    give_up = time.monotonic() + GIVEN
    while len(read_log(log, **wanted)) < count:
        assert time.monotonic() < give_up, wanted
        time.sleep(0.01)


_DEAF: Json = {"ignore_stdin_eof": True}
_STUBBORN: Json = {"ignore_stdin_eof": True, "ignore_sigterm": True}
_HUNG: Json = {"hang_at_start": True}
_PARENT: Json = {"grandchild": True}

KINDS = [
    Kind("none", [], is_open),
    Kind("ordinary", [{}], is_open),
    Kind("ordinary, modern", [{"era": "modern"}], is_open),
    Kind("ignores the end of its stdin", [_DEAF], is_open),
    Kind("ignores SIGTERM", [{"ignore_sigterm": True}], is_open),
    Kind("ignores both", [_STUBBORN], is_open),
    Kind("has a child", [_PARENT], is_open),
    Kind("has a child that holds its pipes; both ignore both", [{"grandchild": "inherits", **_STUBBORN}], is_open),
    Kind("busy in a call", [{}], is_busy),
    Kind("busy in a call, ignores both", [_STUBBORN], is_busy),
    Kind("waits for its user's answer", [{}], is_asking),
    Kind("frozen", [{}], is_frozen),
    Kind("hangs at its start", [_HUNG], is_connecting),
    Kind("hangs at its start, ignores SIGTERM", [{"ignore_sigterm": True, **_HUNG}], is_connecting),
    Kind("floods its stdout", [{"stdout_flood": True}], is_open),
    Kind("floods its stdout, ignores both", [{"stdout_flood": True, **_STUBBORN}], is_open),
    Kind("ordinary, and the client reads no more", [{}], is_not_heard),
    Kind("ignores both, and the client reads no more", [_STUBBORN], is_not_heard),
    Kind("busy in a call, and the client closed our stdout", [{}], is_cut_off),
    Kind(
        "twenty: 5 ordinary, 5 with a child, 5 ignore both, 5 hang at their start",
        [*[{}] * 5, *[_PARENT] * 5, *[_STUBBORN] * 5, *[_HUNG] * 5],
        are_connecting,
    ),
]
WAYS = ["end of stdin", "SIGINT", "SIGTERM"]


@contextmanager
def running(kind: Kind) -> Generator[tuple[PlainClient, list[psutil.Process]]]:
    """A workbench with servers of this kind, and all the processes below it."""
    with tempfile.TemporaryDirectory(prefix="workbench-shutdown-") as directory:
        log = Path(directory) / "log"
        servers = {f"server{number}": scripted(log=str(log), **options) for number, options in enumerate(kind.servers)}
        config = write_config(Path(directory), {"dev": servers})
        with PlainClient(config, capabilities={"elicitation": {}}, stderr=subprocess.DEVNULL) as client:
            kind.prepare(client, log)
            below = children_of(client.process.pid)
            try:
                yield client, below
            finally:
                kill_all(below)


def measure(kind: Kind, way: str) -> End:
    """End one workbench and look at what is left of it."""
    with running(kind) as (client, below):
        began = time.monotonic()
        if way == "end of stdin":
            client.close_stdin()
        else:
            client.process.send_signal(signal.Signals[way])
        status = wait_for_exit(client)
        return End(time.monotonic() - began, status, sum(map(alive, below)))


def wait_for_exit(client: PlainClient) -> int | None:
    try:
        return client.process.wait(GIVEN)
    except subprocess.TimeoutExpired:
        return None


def measure_kill(kind: Kind) -> str:
    """Kill one workbench; how many of the processes below it are there after a while."""
    with running(kind) as (client, below):
        client.process.kill()
        client.process.wait()
        psutil.wait_procs(below, timeout=PROMISED)
        return f"{sum(map(alive, below))} of {len(below)}"


def write_row(*cells: object) -> None:
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


def main() -> int:
    as_promised = True
    write_row("servers", *WAYS, "left by SIGKILL")
    write_row(*["---"] * (len(WAYS) + 2))
    for kind in KINDS:
        ends = [measure(kind, way) for way in WAYS]
        write_row(kind.name, *ends, measure_kill(kind))
        as_promised = as_promised and all(end.as_promised for end in ends)
    return 0 if as_promised else 1


if __name__ == "__main__":
    sys.exit(main())
