"""The fault run: one client, a real workbench, many servers that keep breaking, and not one call lost.

    uv run python tests/faults/run.py --seconds 120 --seed 7 --servers 20 --era modern

Prints a table; the exit status is 1 when a call was lost, delivered to the wrong caller, executed twice or failed with
the wrong sentence, when a server did not come back, or when processes, descriptors or memory grew.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import get_args

import anyio
import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script, as pytest runs it with tests/ on the path

from faults.chaos import Chaos
from faults.load import CallMaker, Request, Tally, Target, answer
from wire import (
    Era,
    Json,
    RpcError,
    ServerGoneError,
    WireClient,
    children_of,
    read_log,
    scripted,
    workbench,
    write_config,
)

IN_FLIGHT = 300
CALL_TIMEOUT = 2.0
ANSWER_WITHIN = 30.0
"""Far beyond the call timeout and every pause: a call without an answer by then is lost."""

WELL_AGAIN_WITHIN = 90.0
ERAS = ("legacy", "modern", "dual", "legacy-exits")
MEMORY_TOLERANCE = 24 * 1024 * 1024
"""Above what two minutes have been seen to take. A call that a modern client was asked about and then cancelled stays
parked for ten minutes, with the server it belonged to; tests of single leaks are in `test_leaks.py`."""

OPENERS = 3
HEALTHY = Target("quiet", "healthy")
"""A server that nobody harms; what its callers wait shows what the others' faults cost it."""

BETWEEN_HEALTHY_CALLS = 0.05


@dataclass(frozen=True)
class Resources:
    """What the workbench holds."""

    processes: int
    descriptors: int
    memory: int

    @classmethod
    def of(cls, pid: int) -> "Resources":
        process = psutil.Process(pid)
        return cls(len(children_of(pid)), process.num_fds(), process.memory_info().rss)


@dataclass(frozen=True)
class Report:
    """The outcome of a run."""

    seed: int
    era: Era
    seconds: float
    tally: Tally
    faults: Counter[str]
    executed_twice: int
    servers: int
    starts: int
    well_again: int
    before: Resources
    after: Resources
    waits: list[float]
    """Seconds that each call of a server which nobody harmed took."""

    @property
    def violations(self) -> list[str]:
        found = list(self.tally.violations)
        if self.well_again != self.servers:
            found.append(f"only {self.well_again} of {self.servers} servers are well again")
        if self.after.processes > self.before.processes:
            found.append(f"processes grew from {self.before.processes} to {self.after.processes}")
        if self.after.descriptors > self.before.descriptors:
            found.append(f"descriptors grew from {self.before.descriptors} to {self.after.descriptors}")
        if self.after.memory > self.before.memory + MEMORY_TOLERANCE:
            found.append(f"memory grew from {_megabytes(self.before.memory)} to {_megabytes(self.after.memory)}")
        return found

    def rows(self) -> Iterator[tuple[str, str]]:
        tally, before, after = self.tally, self.before, self.after
        yield "seed", str(self.seed)
        yield "the client's era", self.era
        yield "seconds", f"{self.seconds:g}"
        yield "faults", ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()))
        yield "calls", f"{tally.sent} ({tally.sent / self.seconds:.0f} per second)"
        yield "answered correctly", str(tally.correct)
        for sentence, count in sorted(tally.failed.items()):
            yield f"failed: {sentence} …", str(count)
        yield "cancelled by the client", str(tally.cancelled)
        yield "toolboxes opened again", str(tally.reopened)
        yield "lost", str(tally.lost)
        yield "delivered to the wrong caller", str(tally.misdelivered)
        yield "executed twice", str(self.executed_twice)
        yield "servers well again at the end", f"{self.well_again} of {self.servers}"
        yield "server starts", str(self.starts)
        yield "server processes", f"{before.processes} → {after.processes}"
        yield "file descriptors", f"{before.descriptors} → {after.descriptors}"
        yield (
            "longest wait of a healthy server's call",
            f"{max(self.waits):.2f} s (half of them: {median(self.waits):.2f} s)",
        )
        yield "resident memory", f"{_megabytes(before.memory)} → {_megabytes(after.memory)}"
        yield "violations", str(len(self.violations))

    def __str__(self) -> str:
        table = "\n".join(f"{name:<42} {value}" for name, value in self.rows())
        return "\n".join((table, *self.violations[:20])) + "\n"


class FaultRun:
    """One client's calls, while the servers break."""

    def __init__(self, client: WireClient, maker: CallMaker, chance: random.Random) -> None:
        self.tally = Tally()
        self._client = client
        self._maker = maker
        self._chance = chance
        self._ending = False
        self.waits: list[float] = []

    async def storm(self, seconds: float, toolboxes: list[str], chaos: Chaos | None = None) -> None:
        """Keep hundreds of calls in flight while harm is done; ends when every call has its answer."""
        self._ending = False
        async with anyio.create_task_group() as tasks:
            if chaos is not None:
                tasks.start_soon(chaos.run)
            async with anyio.create_task_group() as callers:
                for _ in range(IN_FLIGHT):
                    callers.start_soon(self._call_until_the_end)
                for _ in range(OPENERS):
                    callers.start_soon(self._open_until_the_end, toolboxes)
                callers.start_soon(self._watch_the_healthy_until_the_end)
                await anyio.sleep(seconds)
                self._ending = True
            tasks.cancel_scope.cancel()

    async def call(self, request: Request) -> bool:
        """Make one call and judge its answer; whether it succeeded."""
        self.tally.sent += 1
        correct_before = self.tally.correct
        handle = await self._client.start_call("use_tool", request.use_tool)
        if request.cancel_after is not None:
            await anyio.sleep(request.cancel_after)
            await handle.cancel()
            self.tally.cancelled += 1
            return False
        try:
            first = await handle.wait(ANSWER_WITHIN)
            final = await self._final_result(request, first)
            self.tally.judge(request, final, begun=final is not first)
        except (TimeoutError, ServerGoneError):
            self.tally.lost += 1
            self.tally.violations.append(f"{request.tool} {request.token} on {request.target} got no answer")
        except RpcError as error:
            self.tally.violations.append(f"{request.tool} {request.token} got a protocol error: {error}")
        return self.tally.correct > correct_before

    async def _final_result(self, request: Request, result: Json) -> Json:
        """The result of a call, after a modern client has answered what it asked."""
        while result.get("resultType") == "input_required":
            retry = {"name": "use_tool", "arguments": request.use_tool, **await self._client.answers_to(result)}
            handle = await self._client.start_request("tools/call", retry)
            result = await handle.wait(ANSWER_WITHIN)
        return result

    async def well_again(self, target: Target) -> bool:
        """Whether a server answers before long, now that nobody harms it."""
        with anyio.move_on_after(WELL_AGAIN_WITHIN):
            while not await self.call(self._maker.draw("echo", target)):  # noqa: ASYNC110 - a server tells no events
                await anyio.sleep(0.5)
            return True
        return False

    async def _call_until_the_end(self) -> None:
        while not self._ending:
            await self.call(self._maker.draw())
            # People and models pause; without it, refused calls would crowd out those that reach a server.
            await anyio.sleep(self._chance.uniform(0, 0.6))

    async def _watch_the_healthy_until_the_end(self) -> None:
        while not self._ending:
            began = anyio.current_time()
            if not await self.call(self._maker.draw("echo", HEALTHY)):
                self.tally.violations.append("a call of the healthy server failed")
            self.waits.append(anyio.current_time() - began)
            await anyio.sleep(BETWEEN_HEALTHY_CALLS)

    async def _open_until_the_end(self, toolboxes: list[str]) -> None:
        while not self._ending:
            handle = await self._client.start_call("open_toolbox", {"toolbox_name": self._chance.choice(toolboxes)})
            result = await handle.wait(ANSWER_WITHIN)
            self.tally.reopened += 1
            text: str = result["content"][0]["text"]
            if result.get("isError") and not text.startswith("Failed to connect to server"):
                self.tally.violations.append(f"open_toolbox failed with the wrong sentence: {text[:300]}")
            await anyio.sleep(0.5)


async def fault_run(directory: Path, *, seconds: float, seed: int, servers: int, era: Era = "legacy") -> Report:
    """Run it all in a directory of its own."""
    chance = random.Random(seed)
    targets = [Target(f"box{number % 4}", f"server{number}") for number in range(servers)]
    logs = {target: directory / f"{target.server}.jsonl" for target in targets}
    fail_files = {target.server: directory / f"{target.server}.fail" for target in targets}
    toolboxes: dict[str, Json] = {}
    for number, target in enumerate(targets):
        script = scripted(era=ERAS[number % len(ERAS)], log=str(logs[target]), fail_file=str(fail_files[target.server]))
        idle = {"idleTimeout": 0.3} if number % 10 == 9 else {}
        entry = script | {"callTimeout": CALL_TIMEOUT, "connectTimeout": 10} | idle
        toolboxes.setdefault(target.toolbox, {})[target.server] = entry
    toolboxes[HEALTHY.toolbox] = {HEALTHY.server: scripted(log=str(directory / "healthy.jsonl"))}
    command = workbench(write_config(directory, toolboxes))
    asked: Json = {"elicitation": {}}
    async with WireClient.spawn(command, era=era, capabilities=asked, close_within=15) as client:
        client.patience = ANSWER_WITHIN
        client.on_request["elicitation/create"] = answer
        for toolbox in toolboxes:
            await client.call_tool("open_toolbox", {"toolbox_name": toolbox})
        maker = CallMaker(chance, targets)
        await _warm_up(FaultRun(client, maker, chance), seconds / 8, targets, list(toolboxes))
        before = Resources.of(client.pid)
        run = FaultRun(client, maker, chance)
        healthy = read_log(directory / "healthy.jsonl", event="start")[0]["pid"]
        chaos = Chaos(chance, client.pid, fail_files, healthy)
        await run.storm(seconds, list(toolboxes), chaos)
        well_again = await _use_all(run, targets)
        after = Resources.of(client.pid)
    events = [event for log in (*logs.values(), directory / "healthy.jsonl") for event in _events(log)]
    executed_twice = _check_executions(run.tally, events)
    starts = sum(event["event"] == "start" for event in events)
    return Report(
        seed,
        era,
        seconds,
        run.tally,
        chaos.done,
        executed_twice,
        servers,
        starts,
        well_again,
        before,
        after,
        run.waits,
    )


async def _warm_up(run: FaultRun, seconds: float, targets: list[Target], toolboxes: list[str]) -> None:
    """Work without harm first, so that what grows later is not what any work takes."""
    await run.storm(seconds, toolboxes)
    await _use_all(run, targets)
    assert not run.tally.violations, run.tally.violations


async def _use_all(run: FaultRun, targets: list[Target]) -> int:
    """Use every server until it answers, all at once; how many did. Afterwards every server runs."""
    answered: list[Target] = []

    async def use(target: Target) -> None:
        if await run.well_again(target):
            answered.append(target)

    for _ in range(5):  # enough traffic for every buffer to have its size
        answered.clear()
        async with anyio.create_task_group() as tasks:
            for target in targets:
                tasks.start_soon(use, target)
    return len(answered)


def _check_executions(tally: Tally, events: list[Json]) -> int:
    """Compare what the servers did with what their callers were told; how many calls ran twice."""
    executed = Counter(event["token"] for event in events if event["event"] == "executed")
    # A modern server that asks is called once more with the answer, and knows by its own state that it was.
    again = Counter(event["token"] for event in events if event["event"] == "executed" and event["again"])
    twice = [token for token, count in executed.items() if again[token] > 1 or count - again[token] > 1]
    tally.violations += [f"{token} was executed {executed[token]} times" for token in twice]
    tally.violations += [f"{token} was answered but never executed" for token in tally.answered_tokens - set(executed)]
    told_otherwise = tally.refused_tokens & set(executed)
    tally.violations += [f"{token} was executed, but its caller was told that it was not" for token in told_otherwise]
    return len(twice)


def _events(log: Path) -> Iterator[Json]:
    """The starts and executions that a server logged; one that was killed may have left half a line."""
    for line in log.read_bytes().split(b"\n") if log.exists() else ():
        if line.startswith((b'{"event": "executed"', b'{"event": "start"')) and line.endswith(b"}"):
            yield json.loads(line)


def _megabytes(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--era", choices=get_args(Era), default="legacy", help="the protocol era of the client")
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="workbench-faults-") as directory:

        async def run() -> Report:
            return await fault_run(
                Path(directory),
                seconds=options.seconds,
                seed=options.seed,
                servers=options.servers,
                era=options.era,
            )

        report = anyio.run(run)
    sys.stdout.write(str(report))
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
