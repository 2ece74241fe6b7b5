"""Logging to stderr: one record after the other, without secrets, and without waiting for whoever reads it."""

import logging
import os
import select
import threading
from collections import deque
from contextlib import suppress

from mcp_workbench.errors import WorkbenchError
from mcp_workbench.hidden_characters import shown
from mcp_workbench.redaction import Redactor

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

COMMAND_LOG_LEVEL = "error"
"""Commands say themselves what happened: log lines would only tear up what they show."""

_PREFIX = "mcp-workbench: "
_CONTINUED = "\n    "
_STDERR = 2
_MAX_UNWRITTEN = 1024 * 1024
"""Bytes kept for a reader that is slow; what a client that never reads would get beyond them is dropped."""

_LAST_LINES = 0.3
"""Seconds for the last lines to be written before the process ends."""


def log_to_stderr(option: str | None, redact: Redactor, *, default: str = "info") -> None:
    """Log at the level of the option, else of `$WORKBENCH_LOG_LEVEL`, else at the default.

    Raises:
        WorkbenchError: The variable holds something else.
    """
    level = option or os.environ.get("WORKBENCH_LOG_LEVEL", "").lower() or default
    if level not in LEVELS:
        raise WorkbenchError(f"WORKBENCH_LOG_LEVEL must be one of {', '.join(LEVELS)}")
    handler = StderrHandler()
    handler.setFormatter(_RedactingFormatter(redact))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("mcp_workbench").setLevel(LEVELS[level])


def redact_log_with(redact: Redactor) -> None:
    """Keep out of the log what this redactor hides, whatever it may still learn."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, StderrHandler):
            handler.setFormatter(_RedactingFormatter(redact))


class StderrHandler(logging.Handler):
    """Writes from a thread of its own: a client that leaves the pipe full must not stop the server.

    It writes to the descriptor, since a thread that is stuck in `sys.stderr` would keep the interpreter from ending.
    """

    def __init__(self, descriptor: int = _STDERR) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._changed = threading.Condition()
        self._lines: deque[bytes] = deque()
        self._unwritten = 0
        self._dropped = 0
        self._writer: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line for the writer, or drop it when too many are kept already."""
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        with self._changed:
            self._keep(line)
            if self._writer is None:
                self._start_writer()
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait, but not for long, until everything is written."""
        with self._changed:
            while self._writer is None and self._lines and self._takes_more():
                _write_whole(self._descriptor, self._lines.popleft())
            self._changed.wait_for(lambda: not self._lines, timeout=_LAST_LINES)

    def _start_writer(self) -> None:
        """Start the thread. Where the system allows no more of them, the next line tries again."""
        writer = threading.Thread(target=self._write, name="stderr", daemon=True)
        with suppress(RuntimeError):
            writer.start()
            self._writer = writer

    def _takes_more(self) -> bool:
        return bool(select.select([], [self._descriptor], [], 0)[1])

    def _keep(self, text: str) -> None:
        line = f"{text}\n".encode(errors="backslashreplace")
        if self._unwritten + len(line) > _MAX_UNWRITTEN:
            self._dropped += 1
            return
        self._lines.append(line)
        self._unwritten += len(line)

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                line = self._lines[0]
            _write_whole(self._descriptor, line)
            with self._changed:
                self._unwritten -= len(self._lines.popleft())
                if self._dropped and not self._lines:
                    self._keep(f"{_PREFIX}WARNING: {self._dropped} log lines were dropped: nobody read them in time")
                    self._dropped = 0
                self._changed.notify_all()


def _write_whole(descriptor: int, line: bytes) -> None:
    """Write for as long as it takes; a pipe that nobody reads any more swallows it."""
    while line:
        try:
            line = line[os.write(descriptor, line) :]
        except BlockingIOError:  # whoever shares the descriptor made it non-blocking
            select.select([], [descriptor], [])
        except OSError:
            return


class _RedactingFormatter(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__(f"{_PREFIX}%(levelname)s: %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        # A server has a part in most lines. What it says must not steer a terminal, nor look like a line of ours.
        return shown(self._redact(super().format(record))).replace("\n", _CONTINUED)
