"""The signals that ask the program to leave, and its servers with it."""

import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import contextmanager

import anyio


@contextmanager
def ending_signals() -> Generator[AsyncIterator[signal.Signals]]:
    """What asks us to leave, as it comes; a closed terminal too, unless whoever started us ignores that, as nohup does.

    While the block lasts none of them does anything by itself.
    """
    if sys.platform == "win32":
        yield _none()
        return
    asked = (signal.SIGINT, signal.SIGTERM)
    heard = asked if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (*asked, signal.SIGHUP)
    with anyio.open_signal_receiver(*heard) as signals:
        yield signals


async def _none() -> AsyncGenerator[signal.Signals]:
    """Windows has no signals that an event loop could wait for."""
    await anyio.sleep_forever()
    yield signal.SIGINT
