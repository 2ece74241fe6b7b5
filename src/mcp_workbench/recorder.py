"""Writing down what this workbench does: its lines in the log file, and its own file among the running workbenches.

Recording costs the event loop an append to a list. A thread gathers what came for a moment, then redacts it and writes
it. Nothing that happens to the files, a full disk or a directory without permission, is more than one warning.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from mcp_workbench.directories import state_dir
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.log_file import LogFile, Record, log_path
from mcp_workbench.redaction import Redactor
from mcp_workbench.running import Description, RunningFile, running_dir

logger = logging.getLogger(__name__)

_GATHERING = 0.2
"""Seconds for which lines are gathered; also what start-up is spared."""

_BETWEEN_DESCRIPTIONS = 1.0
_LAST_LINES = 0.5
"""Seconds for the last lines to be written before the process ends."""

_MOST_UNWRITTEN = 10_000
_LONGEST_TEXT = 2000


class Recorder:
    """Writes what it is told, from a thread of its own; `close` writes the rest."""

    def __init__(self, describe: Callable[[], Description], redact: Redactor) -> None:
        self._describe = describe
        self._redact = redact
        self._unwritten: deque[tuple[float, Record]] = deque(maxlen=_MOST_UNWRITTEN)
        self._changed = False
        self._something = threading.Event()
        self._closing = threading.Event()
        self._warned = False
        self._thread = threading.Thread(target=self._run, name="log file", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the limit of processes is reached
            self._warn(error)

    def record(self, event: str, **details: Any) -> None:
        """Add a line to the log; texts in it are redacted and cut, values that are None left out."""
        self._unwritten.append((time.time(), {"event": event, **details}))
        self._something.set()

    def changed(self) -> None:
        """Bring this workbench's own file up to date, soon."""
        self._changed = True
        self._something.set()

    def close(self) -> None:
        """Write what is left, unless that takes long, and take this workbench's own file away."""
        self._closing.set()
        self._something.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_LINES)

    # In the thread.

    def _run(self) -> None:
        self._closing.wait(_GATHERING)
        try:
            log, own = LogFile(log_path()), RunningFile(running_dir())
        except (OSError, WorkbenchError) as error:
            self._warn(error)
            return
        described = 0.0
        while not self._closing.is_set():
            self._something.wait()
            self._something.clear()
            self._closing.wait(_GATHERING)
            self._write_lines(log)
            if self._changed and not self._closing.is_set():
                self._closing.wait(described + _BETWEEN_DESCRIPTIONS - time.monotonic())
                self._write_description(own)
                described = time.monotonic()
        own.remove()
        self._write_lines(log)
        log.close()

    def _write_lines(self, log: LogFile) -> None:
        lines = [self._line(*self._unwritten.popleft()) for _ in range(len(self._unwritten))]
        if lines:
            self._try(lambda: log.append(lines))

    def _write_description(self, own: RunningFile) -> None:
        self._changed = False
        self._try(lambda: own.write(self._describe()))

    def _line(self, moment: float, details: Record) -> Record:
        when = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        shown = {
            key: self._redact.beginning(value, _LONGEST_TEXT) if isinstance(value, str) else value
            for key, value in details.items()
            if value is not None
        }
        return {"time": when, **shown}

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self._warn(error)
        except RuntimeError:  # what is described changed meanwhile; it will be described again
            self._changed = True

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            reason = error.strerror if isinstance(error, OSError) else str(error)
            logger.warning("the log file and `status` cannot be kept up to date in %s: %s", _place(), reason)


def _place() -> str:
    try:
        return str(state_dir())
    except WorkbenchError:
        return "the state directory"
