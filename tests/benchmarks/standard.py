"""The standard run: every figure of the workbench beside its reference, in interleaved rounds."""

import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contenders import BARE_SERVER, Contender, contenders, trivial_server, workbench, write_config
from benchmarks.figures import Figure, middle, percentile_99
from benchmarks.raw_client import INITIALIZE, RawClient

SIZES = {"small": 10, "10 kB": 10_000, "1 MB": 1_000_000}
MB = 1024 * 1024

Samples = defaultdict[str, list[float]]


@dataclass(frozen=True)
class Effort:
    """How much to measure."""

    rounds: int
    calls: int
    starts: int


FULL = Effort(rounds=8, calls=100, starts=7)
SHORT = Effort(rounds=2, calls=10, starts=1)


def standard_figures(directory: Path, effort: Effort) -> Generator[Figure]:
    """Measure everything that has a goal, and what explains it."""
    yield start_figure(directory, effort)
    for servers in (1, 5, 20):
        yield open_figure(directory, effort, servers)
    for servers in (1, 20):
        with contenders(directory, servers) as measured:
            if servers == 1:
                yield from call_figures(measured, effort)
            yield from flood_figures(measured, effort, servers)
    yield from memory_figures(directory, effort)
    yield shutdown_figure(directory, effort)


def start_figure(directory: Path, effort: Effort) -> Figure:
    config = write_config(directory / "start.json", servers=20)
    commands = {"bare": BARE_SERVER, "workbench": workbench(config)}
    samples = Samples(list)
    for _ in range(effort.starts):
        for name, command in commands.items():
            began = time.perf_counter()
            with RawClient(command) as client:
                client.greet()
                samples[name].append((time.perf_counter() - began) * 1000)
    return Figure("start to initialize", "ms", middles(samples), "bare", "≤ 1.05 x")


def open_figure(directory: Path, effort: Effort, servers: int) -> Figure:
    config = write_config(directory / "open.json", servers=servers)
    samples = Samples(list)
    for _ in range(effort.starts):
        samples["bare"].append(bare_spawn(servers) * 1000)
        with RawClient(workbench(config)) as client:
            client.greet()
            began = time.perf_counter()
            client.call("open_toolbox", {"toolbox_name": "box"})
            samples["workbench"].append((time.perf_counter() - began) * 1000)
    return Figure(
        f"open_toolbox, {counted(servers)}", "ms", middles(samples), "bare", "≤ 1.2 x" if servers == 20 else ""
    )


def bare_spawn(servers: int) -> float:
    """The seconds to have so many processes ready with no client at all: each finds its greeting in its pipe."""
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode() + b"\n"
    began = time.perf_counter()
    processes = [
        subprocess.Popen(trivial_server(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(servers)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(hello)
        process.stdin.flush()
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    seconds = time.perf_counter() - began
    for process in processes:
        process.communicate()
    return seconds


def call_figures(measured: list[Contender], effort: Effort) -> Generator[Figure]:
    for label, size in SIZES.items():
        calls = effort.calls if size < 1_000_000 else max(effort.calls // 10, 5)
        samples = Samples(list)
        for number in range(effort.rounds + 1):
            for one in measured:
                times = one.client.time_calls(calls, lambda call, one=one, size=size: one.params(call, size))
                samples[one.name] += [seconds * 1000 for seconds in times] if number else []  # the first warms up
        goal = "≤ 0.6 x" if label == "small" else ""
        yield Figure(f"call, {label}, p50", "ms", middles(samples), goal=goal)
        yield Figure(f"call, {label}, p99", "ms", {name: percentile_99(times) for name, times in samples.items()})


def flood_figures(measured: list[Contender], effort: Effort, servers: int) -> Generator[Figure]:
    for in_flight in (1, 50):
        calls = effort.calls * (1 if in_flight == 1 else 5)
        samples = Samples(list)
        for _ in range(effort.rounds):
            for one in measured:
                seconds = one.client.time_flood(calls, in_flight, lambda call, one=one: one.params(call, 10))
                samples[one.name].append(calls / seconds)
        goal = "≥ 2.5 x" if in_flight == 50 else ""
        what = f"calls, {in_flight} in flight, {counted(servers)}"
        yield Figure(what, "calls/s", middles(samples), goal=goal)


def memory_figures(directory: Path, effort: Effort) -> Generator[Figure]:
    config = write_config(directory / "memory.json", servers=20)
    idle, opened = Samples(list), Samples(list)
    for _ in range(min(effort.starts, 3)):
        with RawClient(BARE_SERVER) as bare, RawClient(workbench(config)) as bench:
            bare.greet()
            bench.greet()
            for name, client in {"bare": bare, "workbench": bench}.items():
                idle[name].append(client.memory() / MB)
            bench.call("open_toolbox", {"toolbox_name": "box"})
            opened["bare"].append(bare.memory() / MB)
            opened["workbench"].append(bench.memory() / MB)
    yield Figure("memory, idle", "MB", middles(idle), "bare")
    yield Figure("memory, 20 servers open", "MB", middles(opened), "bare", "≤ + 15 MB")


def shutdown_figure(directory: Path, effort: Effort) -> Figure:
    config = write_config(directory / "shutdown.json", servers=20)
    samples = Samples(list)
    for _ in range(min(effort.starts, 3)):
        bare, bench = RawClient(BARE_SERVER), RawClient(workbench(config))
        bare.greet()
        bench.greet()
        bench.call("open_toolbox", {"toolbox_name": "box"})
        samples["bare"].append(bare.close() * 1000)
        samples["workbench"].append(bench.close() * 1000)
    return Figure("shutdown, 20 servers open", "ms", middles(samples), "bare", "< 5 s")


def middles(samples: Samples) -> dict[str, float]:
    return {name: middle(values) for name, values in samples.items()}


def counted(servers: int) -> str:
    return "1 server" if servers == 1 else f"{servers} servers"
