"""Lines that a person types while something else is waited for too.

They are read past Python's own buffers, by a thread that may still be reading when the command ends: a buffer that it
held would be one that nobody could flush.
"""

import asyncio
import os
import select
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

_STDIN = 0
_LONGEST = 64 * 1024
_GLANCE = 0.1
"""Seconds between two looks at whether the lines are still wanted."""


async def typed_lines() -> AsyncGenerator[str]:
    """The lines of standard input, until it ends."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def tell(line: str | None) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody wants to know any more
            loop.call_soon_threadsafe(lines.put_nowait, line)

    stopped = threading.Event()
    threading.Thread(target=_read, args=(tell, stopped), daemon=True, name="typed lines").start()
    try:
        while (line := await lines.get()) is not None:
            yield line
    finally:
        stopped.set()


def _read(tell: Callable[[str | None], None], stopped: threading.Event) -> None:
    pending = b""
    while chunk := _chunk(stopped):
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            tell(line.decode(errors="replace").strip())
        pending = pending[-_LONGEST:]
    if pending.strip():
        tell(pending.decode(errors="replace").strip())
    tell(None)


def _chunk(stopped: threading.Event) -> bytes:
    """What is typed next; nothing once it is wanted no more, so that whoever reads next gets all of it."""
    try:
        while sys.platform != "win32" and not select.select([_STDIN], [], [], _GLANCE)[0]:
            if stopped.is_set():
                return b""
        return b"" if stopped.is_set() else os.read(_STDIN, 4096)
    except OSError:
        return b""
