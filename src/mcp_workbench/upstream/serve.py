"""Running the server until its client leaves or a signal comes, and leaving nothing behind."""

import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import anyio

from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.signals import ending_signals

if TYPE_CHECKING:
    from mcp.server import MCPServer

_STDERR = 2

_LAST_STEPS = 0.2
"""Seconds for a thread to end that has nothing more to do."""


def serve(loaded: LoadedConfig) -> None:
    """Serve over stdio until stdin ends or a signal asks us to leave."""
    _occupy_standard_descriptors()
    anyio.run(_serve, _build(loaded))
    _leave_blocked_threads()


def _leave_blocked_threads() -> None:
    """End at once if a thread still writes to a client that reads no more: the interpreter would wait for it."""
    threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    for thread in threads:
        if not thread.daemon:
            thread.join(_LAST_STEPS)
    if any(thread.is_alive() and not thread.daemon for thread in threads):
        logging.shutdown()
        os._exit(0)


def _occupy_standard_descriptors() -> None:
    """Open what the client left closed: no server's pipe may get the number of a standard stream."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(descriptor)


def _build(loaded: LoadedConfig) -> "MCPServer[None]":
    """Import the SDK and make the server, without looking for garbage meanwhile, and without rich.

    Imports only add objects that stay, and looking through them again and again is a tenth of the time to start.
    Frozen, they are not looked through later either. An `MCPServer` would set up logging with rich where there is any:
    ours is set up already, and every start would pay for the import.
    """
    gc.disable()
    sys.modules["rich"] = None  # pyright: ignore[reportArgumentType] - how Python is told that there is no such module
    try:
        from mcp_workbench.upstream.server import Workbench

        return Workbench(loaded).server()
    finally:
        del sys.modules["rich"]
        gc.freeze()
        gc.enable()


async def _serve(server: "MCPServer[None]") -> None:
    from mcp_workbench.upstream.stdio import stdio_streams

    with ending_signals() as signals:  # until the very end: a second signal must not cut the servers' shutdown short
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_on_signal, signals, tasks.cancel_scope)
            async with stdio_streams() as (receive, send):
                # `MCPServer` offers no public way to run on streams of one's own; its low-level server does.
                lowlevel = server._lowlevel_server  # pyright: ignore[reportPrivateUsage]
                await lowlevel.run(receive, send, lowlevel.create_initialization_options())
            tasks.cancel_scope.cancel()


async def _cancel_on_signal(signals: AsyncIterator[signal.Signals], scope: anyio.CancelScope) -> None:
    await anext(signals)
    scope.cancel()
