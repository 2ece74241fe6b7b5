"""What happens to the servers of a fault run: killed, frozen, slowed to a crawl, or unable to start for a while."""

import random
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.abc
import psutil

from wire import children_of

_BETWEEN_FAULTS = (0.05, 0.4)


class Chaos:
    """Does harm at random, and can undo what lasts."""

    def __init__(self, chance: random.Random, workbench_pid: int, fail_files: dict[str, Path], spared: int) -> None:
        self.done: Counter[str] = Counter()
        self._spared = spared
        self._chance = chance
        self._workbench_pid = workbench_pid
        self._fail_files = fail_files

    async def run(self) -> None:
        """Do harm until cancelled, then put things right."""
        try:
            async with anyio.create_task_group() as tasks:
                while True:
                    await anyio.sleep(self._chance.uniform(*_BETWEEN_FAULTS))
                    self._harm(tasks)
        finally:
            self._put_right()

    def _harm(self, tasks: anyio.abc.TaskGroup) -> None:
        fault = self._chance.choices(("killed", "frozen", "slowed", "unable to start"), (5, 2, 2, 1))[0]
        seconds = self._chance.uniform(0.2, 3)
        if fault == "unable to start":
            self.done[fault] += 1
            tasks.start_soon(self._keep_from_starting, self._chance.choice(list(self._fail_files)), seconds)
        elif servers := [server for server in children_of(self._workbench_pid) if server.pid != self._spared]:
            self.done[fault] += 1
            victim = self._chance.choice(servers)
            if fault == "killed":
                _signal(victim, signal.SIGKILL)
            else:
                tasks.start_soon(_freeze if fault == "frozen" else _slow_down, victim, seconds)

    async def _keep_from_starting(self, server: str, seconds: float) -> None:
        self._fail_files[server].touch()
        for process in children_of(self._workbench_pid):
            with suppress(psutil.Error):
                if any(str(self._fail_files[server]) in word for word in process.cmdline()):
                    process.kill()
        await anyio.sleep(seconds)
        self._fail_files[server].unlink(missing_ok=True)

    def _put_right(self) -> None:
        for file in self._fail_files.values():
            file.unlink(missing_ok=True)
        for process in children_of(self._workbench_pid):
            _signal(process, signal.SIGCONT)


async def _freeze(process: psutil.Process, seconds: float) -> None:
    _signal(process, signal.SIGSTOP)
    await anyio.sleep(seconds)
    _signal(process, signal.SIGCONT)


async def _slow_down(process: psutil.Process, seconds: float) -> None:
    for _ in range(int(seconds / 0.1)):
        await _freeze(process, 0.08)
        await anyio.sleep(0.02)


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    with suppress(psutil.Error):
        process.send_signal(number)
