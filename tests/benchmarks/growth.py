"""How cost grows with the number of open servers, of tools per server and with the size of results."""

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.contenders import WORKBENCH, Running, workbench, write_config
from benchmarks.figures import markdown_table
from benchmarks.raw_client import RawClient

MB = 1024 * 1024

Costs = tuple[float, float, float, float]
"""Milliseconds to open, milliseconds for a call, calls per second, megabytes."""


@dataclass(frozen=True)
class Step:
    """One line of the table."""

    servers: int = 1
    tools: int = 1
    size: int = 10


STEPS = [
    *(Step(servers=count) for count in (1, 5, 10, 20, 35, 50)),
    *(Step(tools=count) for count in (10, 100, 300, 1000)),
    *(Step(size=size) for size in (1_000, 10_000, 100_000, 1_000_000, 3_000_000, 10_000_000)),
]
SHORT_STEPS = [Step(), Step(servers=5), Step(tools=100), Step(size=1_000_000)]
ROUNDS = 5
IN_FLIGHT = 10
HEAD = [
    "servers",
    "tools each",
    "result",
    "open ms",
    "ms per server",
    "call p50 ms",
    "µs per kB",
    f"calls/s, {IN_FLIGHT} in flight",
    "memory MB",
]


def growth_table(directory: Path, *, short: bool) -> str:
    steps, rounds = (SHORT_STEPS, 1) if short else (STEPS, ROUNDS)
    found: dict[Step, list[Costs]] = {step: [] for step in steps}
    for _ in range(rounds):
        for step, costs in found.items():
            costs.append(_measure(directory, step))
    return markdown_table(HEAD, [_row(step, costs) for step, costs in found.items()])


def _measure(directory: Path, step: Step) -> Costs:
    config = write_config(directory / "growth.json", servers=step.servers, tools=step.tools)
    with RawClient(workbench(config)) as client:
        client.greet()
        began = time.perf_counter()
        client.call("open_toolbox", {"toolbox_name": "box"})
        opened = (time.perf_counter() - began) * 1000
        bench = Running(WORKBENCH, client, step.servers)
        call = _call_ms(bench, step.size)
        rate = bench.rate(_calls(step.size), IN_FLIGHT, step.size)
        return opened, call, rate, client.memory() / MB


def _row(step: Step, rounds: list[Costs]) -> list[str]:
    opened, call, rate, memory = map(median, zip(*rounds, strict=True))
    counts = [f"{step.servers}", f"{step.tools}", f"{step.size:,} B"]
    opening = [f"{opened:.0f}", f"{opened / step.servers:.1f}"]
    per_kb = f"{call * 1000 / (step.size / 1000):.2f}" if step.size >= 1000 else ""
    return [*counts, *opening, f"{call:.3f}", per_kb, f"{rate:,.0f}", f"{memory:.0f}"]


def _call_ms(bench: Running, size: int) -> float:
    calls = _calls(size)
    bench.time_calls(calls // 4, size)
    return median(bench.time_calls(calls, size)) * 1000


def _calls(size: int) -> int:
    """Fewer of those that take long."""
    return 300 if size <= 100_000 else 30
