"""Running a command's work on the same manager of servers that the server uses, and leaving nothing behind."""

import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar, cast

import anyio

from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.signals import ending_signals
from mcp_workbench.toolboxes.manager import ClientManager

T = TypeVar("T")


@dataclass(frozen=True)
class _Interrupted:
    """A signal ended the work before it was done."""

    number: int


def with_manager(loaded: LoadedConfig, work: Callable[[ClientManager], Awaitable[T]]) -> T:
    """Run `work`; its servers are gone when this returns, raises, or is interrupted.

    Raises:
        WorkbenchError: What the work raised.
    """
    outcome = anyio.run(_Session(loaded).run, work)
    if isinstance(outcome, _Interrupted):
        if outcome.number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + outcome.number)
    if isinstance(outcome, WorkbenchError):
        raise outcome
    return outcome


class _Session:
    """One piece of work and the signals that may end it; errors are returned, since task groups would wrap them."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self._loaded = loaded
        self._signal: int | None = None

    async def run(self, work: Callable[[ClientManager], Awaitable[T]]) -> T | WorkbenchError | _Interrupted:
        """Return what came of the work."""
        outcome: T | WorkbenchError | None = None
        with ending_signals() as signals:
            async with anyio.create_task_group() as tasks:
                with anyio.CancelScope() as scope:
                    tasks.start_soon(self._cancel_on_signal, signals, scope)
                    async with ClientManager.running(self._loaded) as manager:
                        outcome = await _outcome(work, manager)
                tasks.cancel_scope.cancel()
        return cast("T | WorkbenchError", outcome) if self._signal is None else _Interrupted(self._signal)

    async def _cancel_on_signal(self, signals: AsyncIterator[signal.Signals], scope: anyio.CancelScope) -> None:
        # Only the first one counts. The servers are then being ended, in bounded time, and whoever presses Ctrl-C again
        # must not be left with some of them.
        async for number in signals:
            self._signal = self._signal or number
            scope.cancel()


async def _outcome(work: Callable[[ClientManager], Awaitable[T]], manager: ClientManager) -> T | WorkbenchError:
    try:
        return await work(manager)
    except WorkbenchError as error:
        return error
