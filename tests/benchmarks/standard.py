"""The standard run: every figure of the workbench beside its references, in interleaved rounds."""

import subprocess
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.contenders import (
    BARE_SERVER,
    DIRECT,
    PLAIN,
    WORKBENCH,
    Contender,
    Running,
    all_running,
    connect,
    start,
    trivial_server,
)
from benchmarks.figures import Figure, figure_of_rounds, percentile_99
from benchmarks.raw_client import RawClient

SIZES = {"small": 10, "10 kB": 10_000, "1 MB": 1_000_000}
MB = 1024 * 1024

Samples = defaultdict[str, list[float]]


@dataclass(frozen=True)
class Effort:
    """How much to measure."""

    rounds: int
    calls: int
    starts: int
    servers: tuple[int, ...]
    """Few to many; what is measured with one number of servers alone is measured with the most."""


FULL = Effort(rounds=15, calls=100, starts=9, servers=(1, 5, 20))
SHORT = Effort(rounds=2, calls=10, starts=1, servers=(1, 3))


@dataclass(frozen=True)
class Standard:
    """One run: where it may write, how much it measures, and what stands beside the workbench."""

    directory: Path
    effort: Effort
    peers: Sequence[Contender] = ()

    @property
    def proxies(self) -> list[Contender]:
        """Everything that stands before servers."""
        return [PLAIN, WORKBENCH, *self.peers]

    def figures(self) -> Generator[Figure]:
        """Measure everything that has a goal, and what explains it."""
        most = self.effort.servers[-1]
        yield self._start(most)
        for servers in self.effort.servers:
            yield self._open(servers)
            yield self._first_answers(servers)
        with all_running([DIRECT, *self.proxies], self.directory, 1) as running:
            yield from self._calls(running)
            yield from self._floods(running, 1)
        with all_running([DIRECT, *self.proxies], self.directory, most) as running:
            yield from self._floods(running, most)
        yield from self._memory(most)
        yield self._shutdown(most)

    def _start(self, servers: int) -> Figure:
        commands = {"bare": BARE_SERVER, "workbench": WORKBENCH.command(self.directory, servers)}
        samples = Samples(list)
        for _ in range(self.effort.starts):
            for name, command in commands.items():
                began = time.perf_counter()
                with RawClient(command) as client:
                    client.greet()
                    samples[name].append(milliseconds_since(began))
        return figure_of_rounds("start to initialize", "ms", samples, "bare", "≤ 1.05 x")

    def _open(self, servers: int) -> Figure:
        samples = Samples(list)
        for _ in range(self.effort.starts):
            samples["spawn only"].append(milliseconds_to_spawn(servers))
            with start(WORKBENCH, self.directory, servers) as client:
                began = time.perf_counter()
                client.call("open_toolbox", {"toolbox_name": "box"})
                samples["workbench"].append(milliseconds_since(began))
        goal = "≤ 1.2 x" if servers == 20 else ""
        return figure_of_rounds(f"open_toolbox, {counted(servers)}", "ms", samples, "spawn only", goal)

    def _first_answers(self, servers: int) -> Figure:
        samples = Samples(list)
        for _ in range(min(self.effort.starts, 5)):
            samples["direct"].append(milliseconds_to_first_answers(servers))
            for one in self.proxies:
                began = time.perf_counter()
                with start(one, self.directory, servers) as client:
                    connect(one, client, servers)
                    samples[one.name].append(milliseconds_since(began))
        return figure_of_rounds(f"start to first answers, {counted(servers)}", "ms", samples)

    def _calls(self, running: Sequence[Running]) -> Generator[Figure]:
        for label, size in SIZES.items():
            calls = self.effort.calls if size < 1_000_000 else max(self.effort.calls // 5, 5)
            measured = [one for one in running if one.carries(size)]
            half, slowest = Samples(list), Samples(list)
            for number in range(self.effort.rounds + 1):
                for one in measured:
                    times = [seconds * 1000 for seconds in one.time_calls(calls, size)]
                    if number:  # the first round warms up
                        half[one.name].append(median(times))
                        slowest[one.name].append(percentile_99(times))
            goal = "≤ 0.6 x" if label == "small" else ""
            yield figure_of_rounds(f"call, {label}, p50", "ms", half, goal=goal)
            yield figure_of_rounds(f"call, {label}, p99", "ms", slowest)

    def _floods(self, running: Sequence[Running], servers: int) -> Generator[Figure]:
        for in_flight in (1, 50):
            most = self.effort.calls * (1 if in_flight == 1 else 3)
            calls = {one.name: about_a_second(one, in_flight, most) for one in running}
            samples = Samples(list)
            for _ in range(self.effort.rounds):
                for one in running:
                    samples[one.name].append(one.rate(calls[one.name], in_flight))
            goal = "≥ 2.5 x" if in_flight == 50 else ""
            what = f"calls, {in_flight} in flight, {counted(servers)}"
            yield figure_of_rounds(what, "calls/s", samples, goal=goal)

    def _memory(self, servers: int) -> Generator[Figure]:
        idle, opened = Samples(list), Samples(list)
        for _ in range(min(self.effort.starts, 3)):
            with ExitStack() as stack:
                bare = stack.enter_context(RawClient(BARE_SERVER))
                bare.greet()
                idle["bare"].append(bare.memory() / MB)
                opened["bare"].append(bare.memory() / MB)
                for one in self.proxies:
                    client = stack.enter_context(start(one, self.directory, servers))
                    idle[one.name].append(client.memory() / MB)
                    connect(one, client, servers)
                    opened[one.name].append(client.memory() / MB)
        del idle["plain"]  # it connects its servers before it answers: it is never idle
        yield figure_of_rounds("memory, idle", "MB", idle, "bare")
        yield figure_of_rounds(f"memory, {counted(servers)} open", "MB", opened, "bare", "≤ + 15 MB")

    def _shutdown(self, servers: int) -> Figure:
        samples = Samples(list)
        for _ in range(min(self.effort.starts, 3)):
            for one in self.proxies:
                with start(one, self.directory, servers) as client:
                    connect(one, client, servers)
                    samples[one.name].append(client.close() * 1000)
        return figure_of_rounds(f"shutdown, {counted(servers)} open", "ms", samples, goal="< 5 s")


def milliseconds_to_spawn(servers: int) -> float:
    """The time until so many processes, started at once, are up with no client: each says so when it begins to read."""
    began = time.perf_counter()
    # In sessions of their own like the workbench's: a busy Linux shares its processors out by session.
    processes = [
        subprocess.Popen(
            [*trivial_server(), "announce"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        for _ in range(servers)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.read(1), "the server ended before it began to read"
    elapsed = milliseconds_since(began)
    for process in processes:
        process.communicate()
    return elapsed


def milliseconds_to_first_answers(servers: int) -> float:
    """The time until a client that starts so many servers itself, all at once, has an answer of each."""
    began = time.perf_counter()
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(trivial_server())) for _ in range(servers)]
        for client in clients:
            client.greet()
            client.request("tools/list", {})
            client.call("text", {})
        return milliseconds_since(began)


def about_a_second(one: Running, in_flight: int, most: int) -> int:
    """How many calls to measure in a round: fewer of a program that takes seconds for them."""
    return max(min(most, round(one.rate(in_flight, in_flight))), in_flight)


def milliseconds_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def counted(servers: int) -> str:
    return "1 server" if servers == 1 else f"{servers} servers"
