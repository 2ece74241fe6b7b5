"""Running the server until its client leaves or a signal comes, and leaving nothing behind."""

import signal
import sys

import anyio
from mcp.server import MCPServer

from mcp_workbench.config_file import LoadedConfig
from mcp_workbench.server import Workbench
from mcp_workbench.stdio import stdio_streams


def serve(loaded: LoadedConfig) -> None:
    """Serve over stdio until stdin ends or SIGINT or SIGTERM arrives."""
    anyio.run(_serve, Workbench(loaded).server())


async def _serve(server: MCPServer[None]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_on_signal, tasks.cancel_scope)
        async with stdio_streams() as (receive, send):
            # `MCPServer` offers no public way to run on streams of one's own; its low-level server does.
            lowlevel = server._lowlevel_server  # pyright: ignore[reportPrivateUsage]
            await lowlevel.run(receive, send, lowlevel.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    if sys.platform == "win32":
        await anyio.sleep_forever()
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()
            return
