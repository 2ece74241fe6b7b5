"""Lines that a person types while something else is waited for too.

They are read past Python's own buffers, by a thread that may still be reading when the command ends: a buffer that it
held would be one that nobody could flush.
"""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

_STDIN = 0
_LONGEST = 64 * 1024


async def typed_lines() -> AsyncGenerator[str]:
    """The lines of standard input, until it ends."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def tell(line: str | None) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody wants to know any more
            loop.call_soon_threadsafe(lines.put_nowait, line)

    threading.Thread(target=_read, args=(tell,), daemon=True, name="typed lines").start()
    while (line := await lines.get()) is not None:
        yield line


def _read(tell: Callable[[str | None], None]) -> None:
    pending = b""
    while chunk := _chunk():
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            tell(line.decode(errors="replace").strip())
        pending = pending[-_LONGEST:]
    if pending.strip():
        tell(pending.decode(errors="replace").strip())
    tell(None)


def _chunk() -> bytes:
    try:
        return os.read(_STDIN, 4096)
    except OSError:
        return b""
