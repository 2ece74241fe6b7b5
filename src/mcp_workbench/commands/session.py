"""Running a command's work on the same manager of servers that the server uses, and leaving nothing behind."""

import signal
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from mcp.shared.exceptions import MCPError

from mcp_workbench.client_manager import ClientManager
from mcp_workbench.config_file import LoadedConfig
from mcp_workbench.errors import WorkbenchError

T = TypeVar("T")


def with_manager(loaded: LoadedConfig, work: Callable[[ClientManager], Awaitable[T]]) -> T:
    """Run `work`; its servers are gone when this returns, raises, or is interrupted.

    Raises:
        WorkbenchError: What the work raised.
    """
    outcome = anyio.run(_work, loaded, work)
    if isinstance(outcome, WorkbenchError):
        raise outcome
    return outcome


async def _work(loaded: LoadedConfig, work: Callable[[ClientManager], Awaitable[T]]) -> T | WorkbenchError:
    # Errors are returned rather than raised: the task groups on the way out would wrap them.
    outcome: T | WorkbenchError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_on_sigterm, tasks.cancel_scope)
        async with ClientManager.running(loaded) as manager:
            try:
                outcome = await work(manager)
            except WorkbenchError as error:
                outcome = error
            except MCPError as error:
                outcome = WorkbenchError(error.message)
        tasks.cancel_scope.cancel()
    if outcome is None:
        sys.exit(128 + signal.SIGTERM)
    return outcome


async def _cancel_on_sigterm(scope: anyio.CancelScope) -> None:
    if sys.platform == "win32":
        return
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()
            return
